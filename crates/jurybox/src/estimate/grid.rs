//! Search for the piece of a piecewise function that contains a number, by a grid and bisections
//! without unpredictable branches.
//!
//! A uniform grid over the knots gives the first piece to try. Bisections lead from there to the
//! right piece, as many as the fullest cell needs. One monotone function assigns numbers and knots
//! to cells, so the answer is exactly the count of knots at or below the number, whatever the
//! rounding.

/// The maximum number of pieces: an index fits in a byte, and the compiler knows that it is in
/// bounds.
pub(crate) const PIECES: usize = 256;
/// The maximum number of knots of a table, so that no search reads beyond its end.
pub(crate) const MOST_KNOTS: usize = 190;
/// The maximum number of bisections after a grid lookup. Without a useful grid there are 8.
pub(crate) const MOST_HALVINGS: usize = 6;
const CELLS: usize = 512;
/// The sum of this and a number from 0 to 2^51 has the nearest integer in its lowest bits.
const WHOLE: f64 = (1_u64 << 52) as f64;

/// The knots of a piecewise function, with a grid over them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    low: f64,
    per_unit: f64,
    /// The number of knots in earlier cells.
    first: [u8; CELLS],
    /// Piece i starts at `knots[i]`. Piece 0 has no start; its entry is the first knot. Entries
    /// beyond the last knot are infinite.
    knots: [f64; PIECES],
    halvings: usize,
}

impl Default for Grid {
    fn default() -> Self {
        Grid::new(&[])
    }
}

impl Grid {
    /// A grid over increasing knots, up to [`MOST_KNOTS`] of them.
    pub(crate) fn new(at: &[f64]) -> Self {
        let at = &at[..at.len().min(MOST_KNOTS)];
        let mut grid =
            Grid { low: 0.0, per_unit: 0.0, first: [0; CELLS], knots: [f64::INFINITY; PIECES], halvings: 0 };
        grid.knots[0] = at.first().copied().unwrap_or(0.0);
        grid.knots[1..=at.len()].copy_from_slice(at);
        // Where tails are long, their knots may share the outermost cells, which leaves more cells
        // for the middle.
        let cuts =
            [(0, 0), (0, at.len() / 8), (at.len() / 8, 0), (at.len() / 8, at.len() / 8), (0, at.len() / 3)];
        let mut least = usize::MAX;
        for (below, above) in cuts {
            if least <= 3 || at.len() < 2 {
                break;
            }
            let (low, high) = (at[below], at[at.len() - 1 - above]);
            let per_unit = (CELLS - 1) as f64 / (high - low);
            if !per_unit.is_normal() {
                continue;
            }
            let fullest = fullest_cell(at, low, per_unit);
            if fullest < least {
                (least, grid.low, grid.per_unit) = (fullest, low, per_unit);
            }
        }
        if least > 63 {
            // No grid helps: the search bisects over all pieces.
            (grid.per_unit, grid.halvings) = (0.0, if at.is_empty() { 0 } else { 8 });
            return grid;
        }
        grid.halvings = (usize::BITS - least.leading_zeros()) as usize;
        let mut cell = 0;
        for (piece, &knot) in at.iter().enumerate() {
            let own = cell_of(knot, grid.low, grid.per_unit);
            if own > cell {
                grid.first[cell + 1..=own].fill(piece as u8);
                cell = own;
            }
        }
        grid.first[cell + 1..].fill(at.len() as u8);
        grid
    }

    /// The number of bisections that a search needs. [`piece`](Self::piece) also accepts more, up
    /// to [`MOST_HALVINGS`].
    pub(crate) fn halvings(&self) -> usize {
        self.halvings
    }

    /// The start of a piece; see `knots`.
    #[inline]
    pub(crate) fn knot(&self, piece: usize) -> f64 {
        self.knots[piece % PIECES]
    }

    /// The number of knots at or below x.
    #[inline]
    pub(crate) fn piece<const HALVINGS: usize>(&self, x: f64) -> usize {
        let mut piece = usize::from(self.first[cell_of(x, self.low, self.per_unit)]);
        for halving in (0..HALVINGS).rev() {
            let next = self.knots[(piece + (1 << halving)) % PIECES];
            piece += usize::from(next <= x) << halving;
        }
        piece
    }
}

/// The grid cell of a number, monotone in it; the first cell for NaN.
#[inline]
fn cell_of(x: f64, low: f64, per_unit: f64) -> usize {
    let place = (x - low) * per_unit;
    // Comparisons that compile to one instruction each; `f64::max` and `f64::min` take more,
    // because they treat NaN.
    let place = if place > 0.0 { place } else { 0.0 };
    let place = if place < (CELLS - 1) as f64 { place } else { (CELLS - 1) as f64 };
    (place + WHOLE).to_bits() as usize % CELLS
}

fn fullest_cell(at: &[f64], low: f64, per_unit: f64) -> usize {
    let (mut fullest, mut here, mut last) = (0, 0, usize::MAX);
    for &knot in at {
        let cell = cell_of(knot, low, per_unit);
        here = if cell == last { here + 1 } else { 1 };
        last = cell;
        fullest = fullest.max(here);
    }
    fullest
}

/// Expands code with the number of bisections as a constant, which is not below the requested one.
macro_rules! with_halvings {
    ($halvings:expr, $n:ident => $body:expr) => {
        match $halvings {
            0 | 1 => {
                const $n: usize = 1;
                $body
            }
            2 => {
                const $n: usize = 2;
                $body
            }
            3 => {
                const $n: usize = 3;
                $body
            }
            4 => {
                const $n: usize = 4;
                $body
            }
            5 | 6 => {
                const $n: usize = 6;
                $body
            }
            _ => {
                const $n: usize = 8;
                $body
            }
        }
    };
}
pub(crate) use with_halvings;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agrees(at: &[f64], x: f64) {
        let grid = Grid::new(at);
        let expected = at.partition_point(|&knot| knot <= x);
        for halvings in grid.halvings()..=if grid.halvings() == 8 { 8 } else { 6 } {
            let found = with_halvings!(halvings, N => grid.piece::<N>(x));
            assert_eq!(found, expected, "{x} in {at:?}");
        }
    }

    proptest! {
        #[test]
        fn the_piece_is_the_number_of_knots_at_or_below(
            mut at in prop::collection::vec(-1.0..1.0_f64, 0..120), power in -3..4_i32, shift in -1e6..1e6_f64,
            x in -1.5..1.5_f64,
        ) {
            // Power 0 spreads the knots evenly; large powers crowd nearly all of them in one place.
            let place = |x: f64| shift + (f64::from(power) * 4.0 * x).exp() + 1e-3 * x;
            at.iter_mut().for_each(|knot| *knot = place(*knot));
            at.sort_by(f64::total_cmp);
            at.dedup();
            agrees(&at, place(x));
            agrees(&at, f64::MAX);
            agrees(&at, -f64::MAX);
            at.iter().for_each(|&knot| agrees(&at, knot));
        }
    }

    #[test]
    fn extreme_knots_are_found_too() {
        let spread: Vec<f64> = (-95..95).map(|i| 10_f64.powi(i)).collect();
        let close: Vec<f64> = (0..100_u64).map(|i| f64::from_bits(1.0_f64.to_bits() + i)).collect();
        for at in [&spread, &close, &vec![0.0, 5e-324]] {
            at.iter().for_each(|&knot| agrees(at, knot));
            agrees(at, 1e100);
            agrees(at, -1e100);
        }
    }
}

//! Quadratic forms x^T A x for one symmetric matrix and many x.

use super::Symmetric;
use crate::kernel::{Width, by_fours};

const LANES: usize = 4;

/// The lower triangle with off-diagonal entries doubled. For every four columns, the first being
/// column c, it holds row c and all rows below, so that four sums run side by side.
#[derive(Debug, Clone)]
pub(crate) struct Quadratic {
    fours: Vec<[f64; LANES]>,
}

impl Quadratic {
    pub(crate) fn of(matrix: &Symmetric) -> Self {
        let order = matrix.order();
        let entry = |row: usize, column: usize| match row.cmp(&column) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => matrix.get(row, column),
            std::cmp::Ordering::Greater => 2.0 * matrix.get(row, column),
        };
        let four = |row: usize, first: usize| -> [f64; LANES] {
            std::array::from_fn(|lane| if first + lane < order { entry(row, first + lane) } else { 0.0 })
        };
        let columns = (0..order).step_by(LANES);
        Quadratic {
            fours: columns.flat_map(|first| (first..order).map(move |row| four(row, first))).collect(),
        }
    }

    /// x^T A x; the length of x must be the order of the matrix.
    #[inline]
    pub(crate) fn at(&self, x: &[f64]) -> f64 {
        by_fours!(x.len(), |width| self.form(width, x))
    }

    #[expect(clippy::inline_always, reason = "the constant width must reach the loops")]
    #[inline(always)]
    fn form<W: Width>(&self, width: W, x: &[f64]) -> f64 {
        let order = width.get();
        let x = &x[..order];
        let (mut sums, mut rest) = ([0.0; LANES], &self.fours[..]);
        for first in (0..order).step_by(LANES) {
            let (fours, behind) = rest.split_at(order - first);
            let mut image = [0.0; LANES];
            for (four, &x) in fours.iter().zip(&x[first..]) {
                for lane in 0..LANES {
                    image[lane] += four[lane] * x;
                }
            }
            for (sum, (image, x)) in sums.iter_mut().zip(image.iter().zip(&x[first..])) {
                *sum += image * x;
            }
            rest = behind;
        }
        (sums[0] + sums[2]) + (sums[1] + sums[3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_form_of_the_matrix_whatever_its_order() {
        for order in 1..=13 {
            let mut matrix = Symmetric::zeros(order);
            for i in 0..order {
                (0..=i).for_each(|j| matrix.set(i, j, (i * 7 + j * 3) as f64 % 5.0 - 1.5));
            }
            let x: Vec<f64> = (0..order).map(|i| (i * 5 % 7) as f64 - 2.5).collect();
            // All terms are multiples of 1/8, so sums are exact in any order.
            assert_eq!(Quadratic::of(&matrix).at(&x), matrix.form(&x), "{order}");
        }
    }
}

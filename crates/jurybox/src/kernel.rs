//! Inner loops: the dot product of weights with each row of a table, column sums, and the dot
//! product of two vectors.
//!
//! The loops over tables are generic over the row width. Widths up to 16 are known at compile time,
//! so that loops unroll and sums stay in registers.

/// A row width: a constant known to the compiler, or a number known only at run time.
pub(crate) trait Width: Copy {
    fn get(self) -> usize;
}

#[derive(Clone, Copy)]
pub(crate) struct Fixed<const W: usize>;

impl<const W: usize> Width for Fixed<W> {
    fn get(self) -> usize {
        W
    }
}

impl Width for usize {
    fn get(self) -> usize {
        self
    }
}

macro_rules! by_width {
    ($width:expr, |$w:ident| $body:expr) => { by_width!($width, |$w| $body, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16) };
    ($width:expr, |$w:ident| $body:expr, $($known:literal)*) => {
        match $width {
            $($known => { let $w = Fixed::<$known>; $body })*
            $w => $body,
        }
    };
}

/// Calls code with the width as a constant if it is 4, 8, 12 or 16, and as a number otherwise.
macro_rules! by_fours {
    ($width:expr, |$w:ident| $body:expr) => {
        match $width {
            4 => {
                let $w = $crate::kernel::Fixed::<4>;
                $body
            }
            8 => {
                let $w = $crate::kernel::Fixed::<8>;
                $body
            }
            12 => {
                let $w = $crate::kernel::Fixed::<12>;
                $body
            }
            16 => {
                let $w = $crate::kernel::Fixed::<16>;
                $body
            }
            $w => $body,
        }
    };
}
pub(crate) use by_fours;

/// `out[i] = <row_i, weights>`; NaN where a score of the row is missing.
pub(crate) fn dot_rows(values: &[f64], weights: &[f64], out: &mut Vec<f64>) {
    out.clear();
    out.resize(values.len() / weights.len(), 0.0);
    let mut places = out.iter_mut();
    for_each_dot(values, weights, |value| {
        if let Some(place) = places.next() {
            *place = value;
        }
    });
}

/// Calls `f` with the dot product of each row, in order.
pub(crate) fn for_each_dot(values: &[f64], weights: &[f64], f: impl FnMut(f64)) {
    by_width!(weights.len(), |width| each_dot(width, values, weights, f));
}

#[expect(clippy::inline_always, reason = "the constant width must reach the loop")]
#[inline(always)]
fn each_dot<W: Width>(width: W, values: &[f64], weights: &[f64], mut f: impl FnMut(f64)) {
    let width = width.get();
    let weights = &weights[..width];
    for row in values.chunks_exact(width) {
        // Two running sums halve the chain of dependent additions. The order of additions is fixed,
        // so the result is deterministic.
        let (mut even, mut odd) = (0.0, 0.0);
        let mut j = 0;
        while j + 1 < width {
            even += row[j] * weights[j];
            odd += row[j + 1] * weights[j + 1];
            j += 2;
        }
        if j < width {
            even += row[j] * weights[j];
        }
        f(even + odd);
    }
}

/// Adds each column's sum to `sum`. No score may be missing.
pub(crate) fn column_sums(values: &[f64], sum: &mut [f64]) {
    by_width!(sum.len(), |width| sums(width, values, sum));
}

#[expect(clippy::inline_always, reason = "the constant width must reach the loop")]
#[inline(always)]
fn sums<W: Width>(width: W, values: &[f64], sum: &mut [f64]) {
    let width = width.get();
    let sum = &mut sum[..width];
    let mut pairs = values.chunks_exact(2 * width);
    for pair in &mut pairs {
        // Two rows at a time halve the chain of dependent additions.
        for j in 0..width {
            sum[j] += pair[j] + pair[width + j];
        }
    }
    for (sum, last) in sum.iter_mut().zip(pairs.remainder()) {
        *sum += last;
    }
}

/// `<a, b>` over the shorter length, in four independent running sums.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let ((a, a_rest), (b, b_rest)) = (a[..n].as_chunks::<4>(), b[..n].as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (x, y) in a.iter().zip(b) {
        for lane in 0..4 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_gives_the_plain_sums() {
        for width in 1..=20 {
            let values: Vec<f64> = (0..width * 7).map(|i| f64::from(i as u32).sin()).collect();
            let weights: Vec<f64> = (0..width).map(|j| f64::from(j as u32) + 0.5).collect();
            let mut dots = Vec::new();
            dot_rows(&values, &weights, &mut dots);
            let mut sum = vec![0.0; width];
            column_sums(&values, &mut sum);
            for (row, dot) in values.chunks_exact(width).zip(&dots) {
                let plain: f64 = row.iter().zip(&weights).map(|(x, w)| x * w).sum();
                assert!((plain - dot).abs() < 1e-12);
                assert!((plain - super::dot(row, &weights)).abs() < 1e-12);
            }
            for j in 0..width {
                let plain: f64 = values.iter().skip(j).step_by(width).sum();
                assert!((plain - sum[j]).abs() < 1e-12);
            }
        }
    }
}

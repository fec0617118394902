//! One orthogonal change of basis after which A + ridge I is solved in a few steps per row, whatever the ridge.

use super::{Symmetric, offset};
use crate::kernel::dot;

/// `Q^T A Q = T`, T tridiagonal, by Householder reflections from the last row upwards.
#[derive(Debug, Clone)]
pub(crate) struct Tridiagonal {
    diagonal: Vec<f64>,
    /// `below[i]` stands between rows i - 1 and i.
    below: Vec<f64>,
    /// Row i holds the reflection that cleared it, packed as the matrix was; `size[i]` is 2 / |v|^2, or 0 for none.
    reflections: Symmetric,
    size: Vec<f64>,
}

impl Tridiagonal {
    /// Reduces `a`, and takes the rows of `columns` to the new basis at the same time.
    pub(crate) fn reduce<const N: usize>(mut a: Symmetric, columns: &mut [[f64; N]]) -> Self {
        let order = a.order();
        let (mut diagonal, mut below, mut size) = (vec![0.0; order], vec![0.0; order], vec![0.0; order]);
        let (mut image, mut reflection) = (Vec::new(), Vec::new());
        for i in (1..order).rev() {
            let (above, row) = a.packed.split_at_mut(offset(i));
            let (row, last) = row[..=i].split_at_mut(i);
            diagonal[i] = last[0];
            let rest = dot(&row[..i - 1], &row[..i - 1]);
            if rest == 0.0 {
                below[i] = row[i - 1];
                continue;
            }
            // v = x - alpha e with alpha of the other sign than x's last: no cancellation.
            let x = row[i - 1];
            let alpha = -(rest + x * x).sqrt().copysign(x);
            below[i] = alpha;
            row[i - 1] = x - alpha;
            let h = 2.0 / (rest + row[i - 1] * row[i - 1]);
            size[i] = h;
            reflection.clear();
            reflection.extend_from_slice(row);
            times(above, &reflection, &mut image);
            let half = 0.5 * h * h * dot(&image, &reflection);
            image.iter_mut().zip(&reflection).for_each(|(p, v)| *p = h * *p - half * v);
            let mut rest = above;
            for r in 0..i {
                let (own, more) = rest.split_at_mut(r + 1);
                let (v, q) = (reflection[r], image[r]);
                for (entry, (vs, qs)) in own.iter_mut().zip(reflection.iter().zip(&image)) {
                    *entry -= v * qs + q * vs;
                }
                rest = more;
            }
            reflect(&reflection, h, columns);
        }
        if order > 0 {
            diagonal[0] = a.get(0, 0);
        }
        Tridiagonal { diagonal, below, reflections: a, size }
    }

    /// Divides by `T + ridge I` row by row: calls `f` with each row of `columns` after elimination, and one over its pivot. The
    /// logarithm of the determinant, or none where the matrix is singular to working precision.
    pub(crate) fn eliminate<const N: usize>(
        &self,
        ridge: f64,
        columns: &[[f64; N]],
        mut f: impl FnMut(&[f64; N], f64),
    ) -> Option<f64> {
        let mut current = [0.0; N];
        let (mut inverse, mut log, mut product) = (0.0, 0.0, 1.0);
        for (i, row) in columns.iter().enumerate() {
            let whole = self.diagonal[i] + ridge;
            let share = self.below[i] * inverse;
            let pivot = whole - self.below[i] * share;
            if !pivot.is_finite() || pivot <= 0.0 || pivot <= whole.abs() * 1e-14 {
                return None;
            }
            for lane in 0..N {
                current[lane] = row[lane] - share * current[lane];
            }
            inverse = 1.0 / pivot;
            f(&current, inverse);
            // One logarithm for many pivots, before their product can leave the range of numbers.
            product *= pivot;
            if !(1e-100..1e100).contains(&product) {
                log += product.ln();
                product = 1.0;
            }
        }
        Some(log + product.ln())
    }

    /// Solves `(T + ridge I) x = b` in place; both in the new basis.
    pub(crate) fn solve(&self, ridge: f64, b: &mut [f64]) {
        let mut inverse = vec![0.0; b.len()];
        for i in 0..b.len() {
            let share = if i == 0 { 0.0 } else { self.below[i] * inverse[i - 1] };
            inverse[i] = 1.0 / (self.diagonal[i] + ridge - self.below[i] * share);
            if i > 0 {
                b[i] -= share * b[i - 1];
            }
        }
        let mut after = 0.0;
        for i in (0..b.len()).rev() {
            let below = self.below.get(i + 1).copied().unwrap_or(0.0);
            b[i] = (b[i] - below * after) * inverse[i];
            after = b[i];
        }
    }

    /// Takes a vector back to the basis of A.
    pub(crate) fn back(&self, x: &mut [f64]) {
        for i in 1..x.len() {
            if self.size[i] != 0.0 {
                let v = &self.reflections.packed[offset(i)..offset(i) + i];
                let along = self.size[i] * dot(v, x);
                x.iter_mut().zip(v).for_each(|(x, v)| *x -= along * v);
            }
        }
    }
}

/// A x for the leading part of a packed matrix that x is as long as.
fn times(packed: &[f64], x: &[f64], out: &mut Vec<f64>) {
    out.clear();
    let mut rest = packed;
    for (i, &xi) in x.iter().enumerate() {
        let (row, more) = rest.split_at(i + 1);
        // One pass over the row for both of its uses; four sums that need not wait for each other.
        let ((rows, row_rest), (outs, out_rest)) =
            (row[..i].as_chunks::<4>(), out[..i].as_chunks_mut::<4>());
        let (xs, x_rest) = x[..i].as_chunks::<4>();
        let mut sums = [0.0; 4];
        for ((row, out), x) in rows.iter().zip(outs).zip(xs) {
            for lane in 0..4 {
                sums[lane] += row[lane] * x[lane];
                out[lane] += row[lane] * xi;
            }
        }
        let mut sum = (sums[0] + sums[2]) + (sums[1] + sums[3]) + row[i] * xi;
        for ((row, out), x) in row_rest.iter().zip(out_rest).zip(x_rest) {
            sum += row * x;
            *out += row * xi;
        }
        out.push(sum);
        rest = more;
    }
}

/// Applies `I - size v v^T` to every column.
fn reflect<const N: usize>(v: &[f64], size: f64, columns: &mut [[f64; N]]) {
    let mut along = [0.0; N];
    for (v, row) in v.iter().zip(&*columns) {
        for lane in 0..N {
            along[lane] += v * row[lane];
        }
    }
    along.iter_mut().for_each(|a| *a *= size);
    for (v, row) in v.iter().zip(columns) {
        for lane in 0..N {
            row[lane] -= v * along[lane];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Cholesky;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_ridge_is_solved_as_by_cholesky(
            order in 1..12_usize, entries in prop::collection::vec(-3.0..3.0_f64, 144), ridge in 0.05..4.0_f64,
        ) {
            let mut a = Symmetric::zeros(order);
            entries.chunks_exact(order).take(order / 2 + 1).for_each(|row| a.add_outer(row));
            let b = &entries[..order];
            let mut columns: Vec<[f64; 2]> = b.iter().map(|&x| [x, 2.0 * x]).collect();
            let reduced = Tridiagonal::reduce(a.clone(), &mut columns);
            let mut factor = Cholesky::default();
            prop_assert!(factor.factor(&a, ridge));
            let mut expected = b.to_vec();
            factor.solve(&mut expected);
            let quadratic: f64 = expected.iter().zip(b).map(|(x, b)| x * b).sum();
            let mut found = 0.0;
            let log = reduced.eliminate(ridge, &columns, |row, inverse| found += row[0] * row[1] * inverse);
            prop_assert!((found - 2.0 * quadratic).abs() < 1e-9 * (1.0 + quadratic.abs()));
            prop_assert!((log.unwrap() - factor.log_determinant()).abs() < 1e-9);
            let mut x: Vec<f64> = columns.iter().map(|row| row[0]).collect();
            reduced.solve(ridge, &mut x);
            reduced.back(&mut x);
            for (x, expected) in x.iter().zip(&expected) {
                prop_assert!((x - expected).abs() < 1e-9 * (1.0 + expected.abs()), "{} {}", x, expected);
            }
        }
    }
}

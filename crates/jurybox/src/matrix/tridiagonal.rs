//! Householder tridiagonalisation of a symmetric matrix A. After one orthogonal change of basis,
//! systems with A + ridge I are solved in O(n) for any ridge.

use super::{Symmetric, offset};
use crate::kernel::dot;

/// Entries below this share of the largest diagonal entry are rounding error of a singular matrix.
/// A reflection made of them could overflow.
const ROUNDING: f64 = 1e-20;

/// `Q^T A Q = T`, T tridiagonal, by Householder reflections from the last row upwards.
#[derive(Debug, Clone)]
pub(crate) struct Tridiagonal {
    diagonal: Vec<f64>,
    /// `below[i]` is the entry in row i and column i - 1.
    below: Vec<f64>,
    /// Row i holds the vector v of the reflection that cleared row i, packed like the matrix.
    /// `size[i]` is 2 / |v|^2, or 0 without a reflection.
    reflections: Symmetric,
    size: Vec<f64>,
}

impl Tridiagonal {
    /// Reduces `a`, and transforms `columns` to the new basis: N vectors, stored row by row.
    pub(crate) fn reduce<const N: usize>(mut a: Symmetric, columns: &mut [[f64; N]]) -> Self {
        let order = a.order();
        let largest = (0..order).fold(0.0, |most: f64, i| most.max(a.get(i, i).abs()));
        let mut rounding = (ROUNDING * largest).powi(2);
        if !rounding.is_finite() {
            rounding = 0.0;
        }
        let (mut diagonal, mut below, mut size) = (vec![0.0; order], vec![0.0; order], vec![0.0; order]);
        // The last reflection subtracts v q^T + q v^T from the matrix. Each row is updated just
        // before it is used.
        let (mut v, mut q, mut next, mut image) =
            (vec![0.0; order], vec![0.0; order], vec![0.0; order], vec![0.0; order]);
        for i in (0..order).rev() {
            let (above, row) = a.packed.split_at_mut(offset(i));
            let row = &mut row[..=i];
            let (vi, qi) = (v[i], q[i]);
            row.iter_mut().zip(v.iter().zip(&q)).for_each(|(x, (v, q))| *x -= vi * q + qi * v);
            diagonal[i] = row[i];
            let Some(before) = i.checked_sub(1) else { break };
            let rest = dot(&row[..before], &row[..before]);
            let x = row[before];
            if rest <= rounding {
                // Nothing to clear: a reflection of size 0 changes nothing.
                below[i] = x;
                next[..i].fill(0.0);
            } else {
                // v = x - alpha e, where alpha has the sign opposite to the last entry of x: this
                // avoids cancellation.
                below[i] = -(rest + x * x).sqrt().copysign(x);
                row[before] = x - below[i];
                size[i] = 2.0 / (rest + row[before] * row[before]);
                next[..i].copy_from_slice(&row[..i]);
            }
            change_and_multiply(above, (&v[..i], &q[..i]), &next[..i], &mut image[..i]);
            let h = size[i];
            let half = 0.5 * h * h * dot(&image[..i], &next[..i]);
            std::mem::swap(&mut v, &mut next);
            q[..i].iter_mut().zip(image.iter().zip(&v)).for_each(|(q, (p, v))| *q = h * p - half * v);
            if h != 0.0 {
                reflect(&v[..i], h, columns);
            }
        }
        Tridiagonal { diagonal, below, reflections: a, size }
    }

    /// Eliminates `T + ridge I` row by row. Calls `f` with each row of `columns` after elimination
    /// and the reciprocal of its pivot. Returns the logarithm of the determinant, or none if the
    /// matrix is not positive definite to working precision.
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
            // One logarithm for many pivots, taken before their product can overflow.
            product *= pivot;
            if !(1e-100..1e100).contains(&product) {
                log += product.ln();
                product = 1.0;
            }
        }
        Some(log + product.ln())
    }

    /// Solves `(T + ridge I) x = b` in place, in the new basis.
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

    /// Transforms a vector back to the basis of A.
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

/// Subtracts v q^T + q v^T from a packed matrix, and writes the result times x to `out`. One pass
/// over the matrix, two rows at a time.
fn change_and_multiply(packed: &mut [f64], (v, q): (&[f64], &[f64]), x: &[f64], out: &mut [f64]) {
    let mut rest = packed;
    let mut r = 0;
    while r < x.len() {
        let two = r + 1 < x.len();
        let (first, more) = rest.split_at_mut(r + 1);
        let (second, more) = more.split_at_mut(if two { r + 2 } else { 0 });
        rest = more;
        let s = if two { r + 1 } else { r };
        let (v0, q0, x0) = (v[r], q[r], x[r]);
        let (v1, q1, x1) = if two { (v[s], q[s], x[s]) } else { (0.0, 0.0, 0.0) };
        // Both rows are processed up to column r; the rest of the second row follows at the end.
        let (mut sum0, mut sum1) = (0.0, 0.0);
        if two {
            let ((a, a_rest), (b, b_rest)) =
                (first[..r].as_chunks_mut::<4>(), second[..r].as_chunks_mut::<4>());
            let ((vs, v_rest), (qs, q_rest)) = (v[..r].as_chunks::<4>(), q[..r].as_chunks::<4>());
            let ((xs, x_rest), (os, o_rest)) = (x[..r].as_chunks::<4>(), out[..r].as_chunks_mut::<4>());
            let (mut sums0, mut sums1) = ([0.0; 4], [0.0; 4]);
            for (((a, b), (v, q)), (x, o)) in
                a.iter_mut().zip(b).zip(vs.iter().zip(qs)).zip(xs.iter().zip(os))
            {
                for lane in 0..4 {
                    a[lane] -= v0 * q[lane] + q0 * v[lane];
                    b[lane] -= v1 * q[lane] + q1 * v[lane];
                    sums0[lane] += a[lane] * x[lane];
                    sums1[lane] += b[lane] * x[lane];
                    o[lane] += a[lane] * x0 + b[lane] * x1;
                }
            }
            for (((a, b), (v, q)), (x, o)) in
                a_rest.iter_mut().zip(b_rest).zip(v_rest.iter().zip(q_rest)).zip(x_rest.iter().zip(o_rest))
            {
                *a -= v0 * q + q0 * v;
                *b -= v1 * q + q1 * v;
                sum0 += *a * x;
                sum1 += *b * x;
                *o += *a * x0 + *b * x1;
            }
            sum0 += (sums0[0] + sums0[2]) + (sums0[1] + sums0[3]);
            sum1 += (sums1[0] + sums1[2]) + (sums1[1] + sums1[3]);
        } else {
            for ((a, (v, q)), (x, o)) in
                first[..r].iter_mut().zip(v.iter().zip(q)).zip(x.iter().zip(out.iter_mut()))
            {
                *a -= v0 * q + q0 * v;
                sum0 += *a * x;
                *o += *a * x0;
            }
        }
        first[r] -= 2.0 * v0 * q0;
        out[r] = sum0 + first[r] * x0;
        if two {
            second[r] -= v1 * q0 + q1 * v0;
            second[s] -= 2.0 * v1 * q1;
            out[r] += second[r] * x1;
            out[s] = sum1 + second[r] * x0 + second[s] * x1;
        }
        r += 2;
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

//! Packed symmetric matrices and their Cholesky factors.

mod quadratic;
mod tridiagonal;

pub(crate) use self::quadratic::Quadratic;
pub(crate) use self::tridiagonal::Tridiagonal;
use crate::estimate::{are_counts, are_sums};
use crate::kernel::dot;
use serde::{Deserialize, Serialize};

/// A symmetric matrix: its lower triangle, row-major.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Symmetric {
    order: usize,
    packed: Vec<f64>,
}

fn offset(row: usize) -> usize {
    row * (row + 1) / 2
}

impl Symmetric {
    pub(crate) fn zeros(order: usize) -> Self {
        Symmetric { order, packed: vec![0.0; offset(order)] }
    }

    pub(crate) fn order(&self) -> usize {
        self.order
    }

    pub(crate) fn get(&self, i: usize, j: usize) -> f64 {
        let (row, column) = (i.max(j), i.min(j));
        self.packed[offset(row) + column]
    }

    pub(crate) fn set(&mut self, i: usize, j: usize, value: f64) {
        let (row, column) = (i.max(j), i.min(j));
        self.packed[offset(row) + column] = value;
    }

    /// A x; entries beyond the end of x count as zero.
    pub(crate) fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.order];
        for i in 0..self.order {
            let row = &self.packed[offset(i)..=offset(i) + i];
            out[i] += dot(row, x);
            if let Some(&xi) = x.get(i) {
                out[..i].iter_mut().zip(row).for_each(|(sum, entry)| *sum += entry * xi);
            }
        }
        out
    }

    /// x^T A x.
    #[inline]
    pub(crate) fn form(&self, x: &[f64]) -> f64 {
        let (mut sum, mut rest) = (0.0, &self.packed[..]);
        for (i, &xi) in x.iter().enumerate().take(self.order) {
            let (row, below) = rest.split_at(i + 1);
            sum += xi * (2.0 * dot(&row[..i], x) + row[i] * xi);
            rest = below;
        }
        sum
    }

    /// Becomes a copy of another matrix, reusing memory.
    pub(crate) fn copy_from(&mut self, other: &Symmetric) {
        self.order = other.order;
        self.packed.clone_from(&other.packed);
    }

    pub(crate) fn clear(&mut self) {
        self.packed.fill(0.0);
    }

    /// Adds x x^T.
    pub(crate) fn add_outer(&mut self, x: &[f64]) {
        let mut rest = &mut self.packed[..];
        for (i, &xi) in x.iter().enumerate() {
            let (row, below) = rest.split_at_mut(i + 1);
            for (entry, &xj) in row.iter_mut().zip(x) {
                *entry += xi * xj;
            }
            rest = below;
        }
    }

    /// The number of table entries, always whole rows, that [`add_outers`](Self::add_outers)
    /// processes at a time. Tables cut at multiples of it give bit-equal sums.
    pub(crate) fn stretch(&self) -> usize {
        (4096 / self.order.max(1)).max(16) * self.order.max(1)
    }

    /// Adds x x^T for every row x of a table.
    ///
    /// Tiles of four by four entries stay in registers, and a block of rows stays in the cache.
    pub(crate) fn add_outers(&mut self, table: &[f64]) {
        const TILE: usize = 4;
        let order = self.order;
        if order == 0 {
            return;
        }
        // Rows are padded with zeros to a multiple of four, so that no tile checks for the end of a
        // row.
        let fours = order.div_ceil(TILE);
        let mut padded = vec![[0.0; TILE]; fours * (self.stretch().min(table.len()) / order)];
        for rows in table.chunks(self.stretch()) {
            let padded = &mut padded[..fours * (rows.len() / order)];
            for (row, fours) in rows.chunks_exact(order).zip(padded.chunks_exact_mut(fours)) {
                fours.as_flattened_mut()[..order].copy_from_slice(row);
            }
            for i in (0..order).step_by(TILE) {
                for j in (0..=i).step_by(TILE) {
                    let mut tile = [[0.0; TILE]; TILE];
                    for row in padded.chunks_exact(fours) {
                        let (a, b) = (row[i / TILE], row[j / TILE]);
                        for (sums, a) in tile.iter_mut().zip(a) {
                            for lane in 0..TILE {
                                sums[lane] += a * b[lane];
                            }
                        }
                    }
                    for (r, sums) in (i..order).zip(&tile) {
                        let entries = &mut self.packed[offset(r) + j..offset(r) + (j + TILE).min(r + 1)];
                        entries.iter_mut().zip(sums).for_each(|(entry, sum)| *entry += sum);
                    }
                }
            }
        }
    }

    /// Adds the dot products of all pairs of rows of a table, over the given columns.
    pub(crate) fn add_inners(&mut self, table: &[f64], stride: usize, columns: std::ops::Range<usize>) {
        let row = |i: usize| &table[i * stride..][columns.clone()];
        for i in (0..self.order).step_by(2) {
            let (first, second) = (row(i), row((i + 1).min(self.order - 1)));
            for j in 0..=i {
                let (a, b) = two_dots(first, second, row(j));
                self.packed[offset(i) + j] += a;
                if i + 1 < self.order {
                    self.packed[offset(i + 1) + j] += b;
                }
            }
            if i + 1 < self.order {
                self.packed[offset(i + 1) + i + 1] += dot(second, second);
            }
        }
    }

    pub(crate) fn add(&mut self, other: &Symmetric) {
        for (a, b) in self.packed.iter_mut().zip(&other.packed) {
            *a += b;
        }
    }

    /// Whether the order is right and the entries could be sums of products, with squares on the
    /// diagonal. Checks states from outside.
    pub(crate) fn is_sound(&self, order: usize) -> bool {
        self.order == order
            && are_sums(&self.packed, offset(order))
            && (0..order).all(|i| self.get(i, i) >= 0.0)
    }

    /// Whether the order is right and the entries could be counts. Checks states from outside.
    pub(crate) fn counts(&self, order: usize) -> bool {
        self.order == order && are_counts(&self.packed, offset(order))
    }

    /// Moves rows and columns. `columns` has the old position of each new one, or none for a new
    /// row of zeros.
    pub(crate) fn with_columns(&self, columns: &[Option<usize>]) -> Symmetric {
        let mut out = Symmetric::zeros(columns.len());
        for (i, from_i) in columns.iter().enumerate() {
            for (j, from_j) in columns[..=i].iter().enumerate() {
                if let (Some(from_i), Some(from_j)) = (from_i, from_j) {
                    out.set(i, j, self.get(*from_i, *from_j));
                }
            }
        }
        out
    }

    /// The submatrix of the rows and columns in `keep`.
    pub(crate) fn principal(&self, keep: &[usize]) -> Symmetric {
        let mut part = Symmetric::zeros(keep.len());
        for (a, &i) in keep.iter().enumerate() {
            for (b, &j) in keep[..=a].iter().enumerate() {
                part.set(a, b, self.get(i, j));
            }
        }
        part
    }
}

/// `<a, x>` and `<b, x>`, loading each entry of x once.
fn two_dots(a: &[f64], b: &[f64], x: &[f64]) -> (f64, f64) {
    let ((a, a_rest), (b, b_rest), (x, x_rest)) =
        (a.as_chunks::<4>(), b.as_chunks::<4>(), x.as_chunks::<4>());
    let mut sums = [[0.0; 4]; 2];
    for ((a, b), x) in a.iter().zip(b).zip(x) {
        for lane in 0..4 {
            sums[0][lane] += a[lane] * x[lane];
            sums[1][lane] += b[lane] * x[lane];
        }
    }
    let [first, second] = sums.map(|s| (s[0] + s[2]) + (s[1] + s[3]));
    let rest = |rest: &[f64]| rest.iter().zip(x_rest).map(|(a, x)| a * x).sum::<f64>();
    (first + rest(a_rest), second + rest(b_rest))
}

/// The lower Cholesky factor L of A = L L^T, packed like [`Symmetric`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Cholesky {
    order: usize,
    factor: Vec<f64>,
}

impl Cholesky {
    /// Factors `a + ridge I`. False if that is not positive definite.
    pub(crate) fn factor(&mut self, a: &Symmetric, ridge: f64) -> bool {
        self.order = a.order;
        self.factor.clone_from(&a.packed);
        for i in 0..self.order {
            self.factor[offset(i) + i] += ridge;
        }
        for i in 0..self.order {
            let (above, rest) = self.factor.split_at_mut(offset(i));
            let row = &mut rest[..=i];
            for j in 0..i {
                let other = &above[offset(j)..=offset(j) + j];
                row[j] = (row[j] - dot(&row[..j], other)) / other[j];
            }
            let pivot = row[i] - dot(&row[..i], &row[..i]);
            // A pivot this small is rounding error: the matrix is singular to working precision.
            if !pivot.is_finite() || pivot <= row[i].abs() * 1e-14 || pivot <= 0.0 {
                return false;
            }
            row[i] = pivot.sqrt();
        }
        true
    }

    /// Solves A x = b in place.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        for i in 0..self.order {
            let row = &self.factor[offset(i)..=offset(i) + i];
            b[i] = (b[i] - dot(&row[..i], b)) / row[i];
        }
        for i in (0..self.order).rev() {
            b[i] /= self.factor[offset(i) + i];
            let x = b[i];
            for (j, value) in b[..i].iter_mut().enumerate() {
                *value -= self.factor[offset(i) + j] * x;
            }
        }
    }

    /// L x.
    pub(crate) fn times(&self, x: &[f64]) -> Vec<f64> {
        (0..self.order).map(|i| dot(&self.factor[offset(i)..=offset(i) + i], x)).collect()
    }

    /// ln det A.
    pub(crate) fn log_determinant(&self) -> f64 {
        2.0 * (0..self.order).map(|i| self.factor[offset(i) + i].ln()).sum::<f64>()
    }

    /// L^-1, packed: x^T A^-1 x is the squared length of L^-1 x.
    pub(crate) fn inverse_factor(&self, out: &mut Vec<f64>) {
        out.clear();
        out.resize(self.factor.len(), 0.0);
        for i in 0..self.order {
            let row = &self.factor[offset(i)..=offset(i) + i];
            let diagonal = 1.0 / row[i];
            out[offset(i) + i] = diagonal;
            for j in 0..i {
                let sum: f64 = (j..i).map(|m| row[m] * out[offset(m) + j]).sum();
                out[offset(i) + j] = -sum * diagonal;
            }
        }
    }
}

#[cfg(test)]
impl Symmetric {
    /// The correlation matrix of a one-factor model with these loadings.
    pub(crate) fn of_one_factor(loading: &[f64]) -> Symmetric {
        let mut correlation = Symmetric::zeros(loading.len());
        for i in 0..loading.len() {
            for j in 0..=i {
                correlation.set(i, j, if i == j { 1.0 } else { loading[i] * loading[j] });
            }
        }
        correlation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cholesky_agrees_with_a_reference_library(
            entries in prop::collection::vec(-3.0..3.0_f64, 36), ridge in 0.05..4.0_f64,
        ) {
            let mut a = Symmetric::zeros(6);
            for row in entries.chunks_exact(6) {
                a.add_outer(row);
            }
            let dense = nalgebra::DMatrix::from_fn(6, 6, |i, j| a.get(i, j) + if i == j { ridge } else { 0.0 });
            let reference = dense.clone().cholesky().unwrap();
            let mut factor = Cholesky::default();
            prop_assert!(factor.factor(&a, ridge));
            let b: Vec<f64> = entries[..6].to_vec();
            let mut x = b.clone();
            factor.solve(&mut x);
            let expected = reference.solve(&nalgebra::DVector::from_vec(b.clone()));
            for (x, e) in x.iter().zip(expected.iter()) {
                prop_assert!((x - e).abs() < 1e-8 * (1.0 + e.abs()));
            }
            let log_det = 2.0 * reference.l().diagonal().iter().map(|d| d.ln()).sum::<f64>();
            prop_assert!((factor.log_determinant() - log_det).abs() < 1e-9);
            let mut inverse = Vec::new();
            factor.inverse_factor(&mut inverse);
            let quadratic: f64 = (0..6)
                .map(|i| (0..=i).map(|j| inverse[offset(i) + j] * b[j]).sum::<f64>().powi(2))
                .sum();
            let direct: f64 = b.iter().zip(expected.iter()).map(|(b, e)| b * e).sum();
            prop_assert!((quadratic - direct).abs() < 1e-8 * (1.0 + direct.abs()));
        }
    }

    #[test]
    fn a_singular_matrix_is_refused() {
        let mut a = Symmetric::zeros(2);
        a.add_outer(&[1.0, 2.0]);
        assert!(!Cholesky::default().factor(&a, 0.0));
        assert!(Cholesky::default().factor(&a, 0.1));
        assert_eq!(a.principal(&[1]).get(0, 0), 4.0);
    }
}

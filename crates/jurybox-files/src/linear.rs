//! Small dense linear algebra for reports.

/// The inverse of an `n` by `n` matrix in row-major order, by Gauss-Jordan elimination with partial
/// pivoting. `None` if the matrix is singular or not finite.
pub(crate) fn inverse(matrix: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut left = matrix.to_vec();
    let mut right = vec![0.0; n * n];
    (0..n).for_each(|i| right[i * n + i] = 1.0);
    for column in 0..n {
        let size = |row: usize, left: &[f64]| left[row * n + column].abs();
        let pivot = (column..n).max_by(|&a, &b| size(a, &left).total_cmp(&size(b, &left)))?;
        if size(pivot, &left).is_nan() || size(pivot, &left) < 1e-300 {
            return None;
        }
        for j in 0..n {
            left.swap(column * n + j, pivot * n + j);
            right.swap(column * n + j, pivot * n + j);
        }
        let scale = 1.0 / left[column * n + column];
        for j in 0..n {
            left[column * n + j] *= scale;
            right[column * n + j] *= scale;
        }
        for row in (0..n).filter(|&row| row != column) {
            let factor = left[row * n + column];
            for j in 0..n {
                left[row * n + j] -= factor * left[column * n + j];
                right[row * n + j] -= factor * right[column * n + j];
            }
        }
    }
    right.iter().all(|v| v.is_finite()).then_some(right)
}

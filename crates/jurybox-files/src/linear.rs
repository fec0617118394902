//! Small dense linear algebra for reports.

/// The inverse of a matrix, by elimination with pivoting; `None` where there is none.
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

/// The 97.5% quantile of Student's t (Cornish and Fisher's expansion, within 1% from three degrees of freedom on).
pub(crate) fn t_quantile(freedom: f64) -> f64 {
    if freedom < 1.5 {
        return 12.706;
    }
    if freedom < 2.5 {
        return 4.303;
    }
    let z = 1.959_963_985_f64;
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    z + (z3 + z) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * freedom.powi(2))
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * freedom.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, value) in [(3.0, 3.182), (5.0, 2.571), (19.0, 2.093), (1000.0, 1.962)] {
            assert!((t_quantile(freedom) / value - 1.0).abs() < 0.01, "{freedom}");
        }
    }
}

//! Small dense linear algebra for reports and references: least squares with standard errors.

/// Sums that determine a regression of one value on several with an intercept.
#[derive(Debug, Clone)]
pub(crate) struct LeastSquares {
    width: usize,
    count: f64,
    /// Of the intercept and the columns, row after row.
    gram: Vec<f64>,
    products: Vec<f64>,
    square: f64,
}

/// A fitted regression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fit {
    /// The intercept first.
    pub(crate) coefficients: Vec<f64>,
    /// Their standard errors.
    pub(crate) errors: Vec<f64>,
}

impl LeastSquares {
    pub(crate) fn new(columns: usize) -> Self {
        let width = columns + 1;
        LeastSquares {
            width,
            count: 0.0,
            gram: vec![0.0; width * width],
            products: vec![0.0; width],
            square: 0.0,
        }
    }

    /// Takes in one row; every value must be a number.
    pub(crate) fn learn(&mut self, row: &[f64], y: f64) {
        let at = |i: usize| if i == 0 { 1.0 } else { row[i - 1] };
        for i in 0..self.width {
            for j in 0..self.width {
                self.gram[i * self.width + j] += at(i) * at(j);
            }
            self.products[i] += at(i) * y;
        }
        self.count += 1.0;
        self.square += y * y;
    }

    /// The least-squares fit; a hair of ridge keeps collinear columns apart.
    pub(crate) fn fit(&self) -> Option<Fit> {
        if self.count < 2.0 {
            return None;
        }
        let mut matrix = self.gram.clone();
        for i in 1..self.width {
            matrix[i * self.width + i] += 1e-9 * (self.gram[i * self.width + i] + self.count);
        }
        let inverse = inverse(&matrix, self.width)?;
        let coefficients: Vec<f64> = (0..self.width)
            .map(|i| (0..self.width).map(|j| inverse[i * self.width + j] * self.products[j]).sum())
            .collect();
        let explained: f64 = coefficients.iter().zip(&self.products).map(|(c, p)| c * p).sum();
        let freedom = (self.count - self.width as f64).max(1.0);
        let noise = (self.square - explained).max(0.0) / freedom;
        let errors = (0..self.width).map(|i| (noise * inverse[i * self.width + i].max(0.0)).sqrt()).collect();
        Some(Fit { coefficients, errors })
    }
}

impl Fit {
    pub(crate) fn predict(&self, row: &[f64]) -> f64 {
        self.coefficients[0] + row.iter().zip(&self.coefficients[1..]).map(|(x, c)| x * c).sum::<f64>()
    }
}

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
    fn a_line_is_found_with_its_error() {
        let mut sums = LeastSquares::new(1);
        // y = 2 + 3 x, off by plus and minus 0.1.
        for i in 0..100 {
            let x = f64::from(i) / 10.0;
            sums.learn(&[x], 2.0 + 3.0 * x + if i % 2 == 0 { 0.1 } else { -0.1 });
        }
        let fit = sums.fit().unwrap();
        assert!((fit.coefficients[0] - 2.0).abs() < 0.05 && (fit.coefficients[1] - 3.0).abs() < 0.01);
        // Closed form: sigma / (sqrt(n) sd(x)).
        assert!((fit.errors[1] / (0.1 / (10.0 * 2.8866)) - 1.0).abs() < 0.03, "{fit:?}");
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, value) in [(3.0, 3.182), (5.0, 2.571), (19.0, 2.093), (1000.0, 1.962)] {
            assert!((t_quantile(freedom) / value - 1.0).abs() < 0.01, "{freedom}");
        }
    }
}

//! Small dense linear algebra: ridge regression with an intercept, and the Cholesky factorisation.

/// Sufficient statistics of a linear regression of one value on several columns, with intercept.
#[derive(Debug, Clone)]
pub(crate) struct RegressionSums {
    columns: usize,
    count: f64,
    /// Means of the columns, then the mean of the value.
    means: Vec<f64>,
    /// Sums of centred products of columns and value, row-major, `columns + 1` wide.
    products: Vec<f64>,
}

/// The coefficients of a linear regression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinearFit {
    pub(crate) intercept: f64,
    pub(crate) slopes: Vec<f64>,
}

impl RegressionSums {
    pub(crate) fn new(columns: usize) -> Self {
        let wide = columns + 1;
        RegressionSums { columns, count: 0.0, means: vec![0.0; wide], products: vec![0.0; wide * wide] }
    }

    /// Adds one row without missing values, by Welford's update, which avoids cancellation.
    pub(crate) fn learn(&mut self, row: &[f64], y: f64) {
        let wide = self.columns + 1;
        self.count += 1.0;
        let keep = (self.count - 1.0) / self.count;
        let off: Vec<f64> = row.iter().chain([&y]).zip(&self.means).map(|(x, mean)| x - mean).collect();
        for i in 0..wide {
            for j in 0..wide {
                self.products[i * wide + j] += keep * off[i] * off[j];
            }
            self.means[i] += off[i] / self.count;
        }
    }

    /// The fit with `ridge` added to each column's centred sum of squares; the intercept is not
    /// shrunk. A tiny ridge is always added, so that collinear columns have a solution. None from
    /// fewer than two rows, or if a sum over the columns is NaN.
    pub(crate) fn fit(&self, ridge: f64) -> Option<LinearFit> {
        self.fit_with_leverage(ridge).map(|(fit, _)| fit)
    }

    /// The fit, with a [`Leverage`] for the rows that it was made from. None as in `fit`.
    pub(crate) fn fit_with_leverage(&self, ridge: f64) -> Option<(LinearFit, Leverage)> {
        if self.count < 2.0 {
            return None;
        }
        let (n, wide) = (self.columns, self.columns + 1);
        let mut matrix: Vec<f64> = (0..n * n).map(|at| self.products[at / n * wide + at % n]).collect();
        for i in 0..n {
            matrix[i * n + i] += ridge + 1e-9 * (matrix[i * n + i] + self.count);
        }
        let factor = CholeskyFactor::of(matrix, n)?;
        let slopes = factor.solve(&self.with_value());
        let intercept = self.means[n] - slopes.iter().zip(&self.means).map(|(b, mean)| b * mean).sum::<f64>();
        let leverage = Leverage { least: 1.0 / self.count, means: self.means[..n].to_vec(), factor };
        Some((LinearFit { intercept, slopes }, leverage))
    }

    /// Sums of centred products of each column with the value.
    fn with_value(&self) -> Vec<f64> {
        (0..self.columns).map(|i| self.products[i * (self.columns + 1) + self.columns]).collect()
    }
}

impl LinearFit {
    pub(crate) fn predict(&self, row: &[f64]) -> f64 {
        self.intercept + row.iter().zip(&self.slopes).map(|(x, b)| x * b).sum::<f64>()
    }
}

/// Computes leverages: how much a fitted row's prediction changes per unit of its own value.
#[derive(Debug, Clone)]
pub(crate) struct Leverage {
    least: f64,
    means: Vec<f64>,
    factor: CholeskyFactor,
}

impl Leverage {
    /// The leverage of a row. The residual of a fitted row divided by one minus its leverage is its
    /// residual in a fit without that row (the leave-one-out residual).
    pub(crate) fn of(&self, row: &[f64]) -> f64 {
        let off: Vec<f64> = row.iter().zip(&self.means).map(|(x, mean)| x - mean).collect();
        self.least + self.factor.square(&off)
    }
}

/// The Cholesky factor of a symmetric positive definite matrix.
#[derive(Debug, Clone)]
pub(crate) struct CholeskyFactor {
    n: usize,
    /// Lower triangle, row-major; entries above the diagonal are not used.
    lower: Vec<f64>,
}

impl CholeskyFactor {
    /// The factor of a row-major n x n matrix. None if it is not positive definite.
    pub(crate) fn of(mut matrix: Vec<f64>, n: usize) -> Option<CholeskyFactor> {
        for i in 0..n {
            for j in 0..=i {
                let dot: f64 = (0..j).map(|k| matrix[i * n + k] * matrix[j * n + k]).sum();
                let rest = matrix[i * n + j] - dot;
                if i == j {
                    if rest.is_nan() || rest <= 0.0 {
                        return None;
                    }
                    matrix[i * n + i] = rest.sqrt();
                } else {
                    matrix[i * n + j] = rest / matrix[j * n + j];
                }
            }
        }
        Some(CholeskyFactor { n, lower: matrix })
    }

    /// Solves L x = `right` for the factor L.
    fn forward(&self, right: &[f64]) -> Vec<f64> {
        let (n, l) = (self.n, &self.lower);
        let mut x = right.to_vec();
        for i in 0..n {
            let dot: f64 = (0..i).map(|k| l[i * n + k] * x[k]).sum();
            x[i] = (x[i] - dot) / l[i * n + i];
        }
        x
    }

    /// `v' M^-1 v`, where M is the factorised matrix.
    pub(crate) fn square(&self, v: &[f64]) -> f64 {
        self.forward(v).iter().map(|x| x * x).sum()
    }

    /// Solves M x = `right`, where M is the factorised matrix.
    pub(crate) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let (n, l) = (self.n, &self.lower);
        let mut x = self.forward(right);
        for i in (0..n).rev() {
            let dot: f64 = (i + 1..n).map(|k| l[k * n + i] * x[k]).sum();
            x[i] = (x[i] - dot) / l[i * n + i];
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_is_found_and_a_ridge_shrinks_it_as_the_formula_says() {
        let mut sums = RegressionSums::new(2);
        let (mut xx, mut xy, mut count) = (0.0, 0.0, 0.0);
        for i in 0..10 {
            for j in 0..10 {
                let (x, z) = (f64::from(i) - 4.5, f64::from(j) - 4.5);
                sums.learn(&[x, z], 1e6 + 2.0 * x - 0.5 * z);
                (xx, xy, count) = (xx + x * x, xy + x * (2.0 * x - 0.5 * z), count + 1.0);
            }
        }
        let fit = sums.fit(0.0).unwrap();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
        assert!(close(fit.slopes[0], 2.0) && close(fit.slopes[1], -0.5), "{fit:?}");
        assert!((fit.predict(&[1.0, 1.0]) - (1e6 + 1.5)).abs() < 1e-5);
        // With orthogonal columns a slope is sum(x y) / (sum(x^2) + ridge).
        let shrunk = sums.fit(count).unwrap();
        assert!(close(shrunk.slopes[0], xy / (xx + count)), "{shrunk:?}");
        assert!((shrunk.intercept - 1e6).abs() < 1e-5, "the intercept is not shrunk: {shrunk:?}");
    }

    #[test]
    fn two_equal_columns_share_and_one_row_fits_nothing() {
        let mut sums = RegressionSums::new(2);
        sums.learn(&[1.0, 1.0], 3.0);
        assert_eq!(sums.fit(0.0), None);
        (0..20).for_each(|i| sums.learn(&[f64::from(i), f64::from(i)], 3.0 * f64::from(i)));
        let fit = sums.fit(0.0).unwrap();
        assert!(
            (fit.slopes[0] - fit.slopes[1]).abs() < 1e-3 && (fit.predict(&[7.0, 7.0]) - 21.0).abs() < 0.1
        );
    }

    #[test]
    fn what_is_not_positive_definite_is_refused() {
        assert!(CholeskyFactor::of(vec![1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(CholeskyFactor::of(vec![f64::NAN], 1).is_none());
    }
}

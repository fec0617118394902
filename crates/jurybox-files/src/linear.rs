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

/// The 97.5% quantile of Student's t.
pub(crate) fn t_quantile(freedom: f64) -> f64 {
    student_quantile(0.975, freedom)
}

/// The quantile of Student's t at `p` above one half, for a whole number of degrees of freedom.
///
/// Beyond 1000 degrees it stays where it is there: wider than the normal by a thousandth, and the sums stay short.
pub(crate) fn student_quantile(p: f64, freedom: f64) -> f64 {
    let freedom = freedom.round().clamp(1.0, 1000.0) as u32;
    // The angle of the quantile: tan(angle) = t / sqrt(freedom). The probability rises with it, so halving finds it.
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if f64::midpoint(1.0, central(middle, freedom)) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high).tan() * f64::from(freedom).sqrt()
}

/// The probability of Student's t between -t and t, by the finite sums in the angle (Abramowitz and Stegun 26.7.3 and 4).
fn central(angle: f64, freedom: u32) -> f64 {
    let (sin, cos) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    let (mut term, mut sum) = (if odd { cos } else { 1.0 }, 0.0);
    for k in 0..freedom / 2 {
        sum += term;
        let k = f64::from(2 * k);
        term *= cos * cos * if odd { (k + 2.0) / (k + 3.0) } else { (k + 1.0) / (k + 2.0) };
    }
    if odd { (angle + sin * sum) * std::f64::consts::FRAC_2_PI } else { sin * sum }
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
            assert!((t_quantile(freedom) - value).abs() < 0.000_6, "{freedom}");
        }
        for (p, freedom, value) in [(0.9975, 19.0, 3.1737), (0.995, 4.0, 4.6041), (0.75, 1.0, 1.0)] {
            assert!((student_quantile(p, freedom) - value).abs() < 1e-4, "{p} {freedom}");
        }
    }
}

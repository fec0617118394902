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
    fn quantiles_are_those_of_the_tables() {
        for (freedom, value) in [(3.0, 3.182), (5.0, 2.571), (19.0, 2.093), (1000.0, 1.962)] {
            assert!((t_quantile(freedom) - value).abs() < 0.000_6, "{freedom}");
        }
        for (p, freedom, value) in [(0.9975, 19.0, 3.1737), (0.995, 4.0, 4.6041), (0.75, 1.0, 1.0)] {
            assert!((student_quantile(p, freedom) - value).abs() < 1e-4, "{p} {freedom}");
        }
    }
}

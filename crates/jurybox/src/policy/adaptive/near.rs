//! The labelled rows of which about as much was expected: what became of them says what to make of
//! an expectation.

/// So many rows are near: a quarter of them all within these bounds.
const NEAREST: (usize, usize) = (8, 40);
/// An expectation is unlike those of the labelled rows where it is below or above all but a
/// twentieth of them.
const FEW: usize = 20;

/// What was expected of the labelled rows, ascending.
#[derive(Debug, Clone, Default)]
pub(super) struct Near {
    expected: Vec<f64>,
}

impl Near {
    /// Puts rows in the order of what was expected of them, and sums up their numbers: up to each
    /// row, that one included.
    pub(super) fn of<const N: usize>(mut rows: Vec<(f64, [f64; N])>) -> (Near, Vec<[f64; N]>) {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = [0.0; N];
        let mut sums = Vec::with_capacity(rows.len());
        for (_, numbers) in &rows {
            sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
            sums.push(sum);
        }
        (Near { expected: rows.iter().map(|row| row.0).collect() }, sums)
    }

    /// The sum over the rows near an expectation; there must be rows.
    pub(super) fn sum<const N: usize>(&self, sums: &[[f64; N]], expected: f64) -> [f64; N] {
        let rows = sums.len();
        let nearest = (rows / 4).clamp(NEAREST.0, NEAREST.1);
        let place = self.expected.partition_point(|&other| other < expected);
        let from = place.saturating_sub(nearest / 2).min(rows.saturating_sub(nearest));
        let to = rows.min(from + nearest);
        std::array::from_fn(|at| sums[to - 1][at] - if from == 0 { 0.0 } else { sums[from - 1][at] })
    }

    /// Whether an expectation is below or above nearly all of those of the rows.
    pub(super) fn is_beyond(&self, expected: f64) -> bool {
        let (rows, few) = (self.expected.len(), self.expected.len() / FEW);
        rows > 0 && (expected < self.expected[few] || expected > self.expected[rows - 1 - few])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_near_an_expectation_are_as_many_on_both_sides_or_those_at_the_end() {
        let rows = (0..100).map(|i| (f64::from(99 - i), [1.0, f64::from(99 - i)])).collect();
        let (near, sums) = Near::of(rows);
        assert_eq!(near.sum(&sums, 50.0), [25.0, (38..63).map(f64::from).sum()]);
        assert_eq!(near.sum(&sums, -7.0), [25.0, (0..25).map(f64::from).sum()]);
        assert_eq!(near.sum(&sums, 1e9), [25.0, (75..100).map(f64::from).sum()]);
        assert!(near.is_beyond(4.5) && !near.is_beyond(5.0));
        assert!(near.is_beyond(94.5) && !near.is_beyond(94.0));
        assert!(!Near::default().is_beyond(0.0));
    }
}

//! The rounds at which simulations record results: at most 50, closer together in early rounds.

/// The checkpoints of a run: `n` rounds spaced evenly and `n + 1` spaced geometrically, ascending
/// and without repetitions. For `n` of 1 or more, the first and the last round are among them.
///
/// # Panics
/// If `rounds` is zero.
///
/// ```
/// let rounds = jurybox_lab::checkpoints(10_000, 20);
/// assert_eq!((rounds.first(), rounds.last()), (Some(&1), Some(&10_000)));
/// assert!(rounds.len() < 45);
/// ```
pub fn checkpoints(rounds: u64, n: u64) -> Vec<u64> {
    let even = (1..=n).map(|i| rounds * i / n);
    let geometric = (0..=n).map(|i| (rounds as f64).powf(i as f64 / n as f64).round() as u64);
    let mut all: Vec<u64> = even.chain(geometric).map(|t| t.clamp(1, rounds)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The `n` of every call of [`checkpoints`] by a simulation.
pub(crate) const DENSITY: u64 = 25;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_keep_every_round() {
        assert_eq!(checkpoints(1, 25), [1]);
        assert_eq!(checkpoints(5, 25), [1, 2, 3, 4, 5]);
    }
}

//! A comparison of the number of rewards in a log with its probabilities.
//!
//! If every row carries a probability, the expected number of reviewed rows is known. The true
//! number is equal to it if each round has a fixed number of picks, and else close to it. Too few
//! rewards mean missing verdicts: late, lost, or not recorded where the answer was no. Too many
//! mean that unreviewed rows were left out.

use crate::replay::ReviewLog;

/// Relative error allowed to a sum of probabilities that were written with few digits.
pub(super) const DIGITS: f64 = 0.01;
/// Largest distance of a round's sum of probabilities from a whole number, if the number of picks
/// in a round is fixed.
const WHOLE: f64 = 0.1;
/// Number of standard deviations that still count as chance.
const CHANCE: f64 = 3.0;

/// The result of the comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RewardCount {
    /// No rewards are known to be missing or too many.
    Enough,
    /// About this many picks have no reward.
    Missing(usize),
    /// More rows have a reward than could be expected.
    TooMany { reviewed: usize, expected: f64 },
}

pub(super) fn counted(log: &ReviewLog, rounds: &[Vec<usize>]) -> RewardCount {
    let rows = || rounds.iter().flatten().copied();
    let certain = rows().filter(|&row| log.probabilities[row] >= 1.0 && log.rewards[row].is_nan()).count();
    let at_least =
        |missing: usize| if missing > 0 { RewardCount::Missing(missing) } else { RewardCount::Enough };
    if rows().any(|row| log.probabilities[row].is_nan()) {
        return at_least(certain);
    }
    let (mut expected, mut reviewed, mut variance, mut fixed) = (0.0, 0, 0.0, rounds.len() > 1);
    for rows in rounds {
        let sum: f64 = rows.iter().map(|&row| log.probabilities[row]).sum();
        let seen = rows.iter().filter(|&&row| !log.rewards[row].is_nan()).count();
        variance +=
            rows.iter().map(|&row| log.probabilities[row] * (1.0 - log.probabilities[row])).sum::<f64>();
        fixed &= (sum - sum.round()).abs() <= (DIGITS * sum).min(WHOLE) && seen as f64 <= sum.round();
        (expected, reviewed) = (expected + sum, reviewed + seen);
    }
    let chance = DIGITS * expected + if fixed { 0.0 } else { CHANCE * variance.sqrt() };
    let lacking = expected - reviewed as f64;
    if lacking < -chance {
        RewardCount::TooMany { reviewed, expected }
    } else if lacking > chance {
        at_least(certain.max(lacking.round() as usize))
    } else {
        at_least(certain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: f64 = f64::NAN;

    fn of(rows: &[(f64, f64)], round: usize) -> RewardCount {
        let log = ReviewLog {
            scores: vec![0.0; rows.len()],
            rewards: rows.iter().map(|row| row.0).collect(),
            probabilities: rows.iter().map(|row| row.1).collect(),
            ..ReviewLog::of(jurybox::Evaluators::new(["a"]).unwrap())
        };
        let numbers: Vec<usize> = (0..rows.len()).collect();
        counted(&log, &numbers.chunks(round).map(<[usize]>::to_vec).collect::<Vec<_>>())
    }

    #[test]
    fn rounds_of_fixed_size_are_counted_exactly() {
        let full = [(1.0, 0.5), (NONE, 0.5), (NONE, 0.333), (0.0, 0.667)];
        assert_eq!(of(&full, 2), RewardCount::Enough);
        let one_lacks = [(1.0, 0.5), (NONE, 0.5), (NONE, 0.333), (NONE, 0.667)];
        assert_eq!(of(&one_lacks, 2), RewardCount::Missing(1));
    }

    #[test]
    fn a_certain_pick_without_a_reward_is_missing_whatever_the_others_say() {
        assert_eq!(of(&[(1.0, 0.4), (NONE, 1.0), (NONE, NONE)], 3), RewardCount::Missing(1));
        assert_eq!(of(&[(1.0, 0.4), (NONE, NONE), (NONE, NONE)], 3), RewardCount::Enough);
    }

    /// Independent draws: two picks in one of three rounds and none in the others can be chance.
    #[test]
    fn chance_is_given_its_due() {
        let coins = [(1.0, 0.5), (1.0, 0.5), (NONE, 0.5), (NONE, 0.5), (NONE, 0.5), (NONE, 0.5)];
        assert_eq!(of(&coins, 2), RewardCount::Enough);
        // In one large round, 480 picks where 500 are expected can be chance.
        let round: Vec<(f64, f64)> = (0..1000).map(|row| (if row < 480 { 1.0 } else { NONE }, 0.5)).collect();
        assert_eq!(of(&round, 1000), RewardCount::Enough);
        let reviewed_only = [(1.0, 0.125); 40];
        assert_eq!(of(&reviewed_only, 4), RewardCount::TooMany { reviewed: 40, expected: 5.0 });
    }
}

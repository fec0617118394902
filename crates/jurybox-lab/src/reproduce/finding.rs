//! Findings on the paper's claims, and the rules behind them, at 95% confidence. t is a round, and
//! T the number of rounds.
//!
//! - Comparisons are decided if the interval of the difference excludes zero. They are paired by
//!   run, except those of different settings.
//! - Regret grows linearly if the interval of its growth exponent lies above 0.9, and sublinearly
//!   if it lies below. The exponent is that of the growth over two doublings of t, up to nearly T.
//!   (The log-log slope of the whole regret would take linear growth after a costly start for
//!   sublinear.)
//! - A theorem "of order T^x" is an upper bound. It fails if the exponent's interval lies above x +
//!   0.1, and stands if the interval lies below 0.9 and not above x.
//! - An error keeps a bias if the interval of its log-log slope over the last decade of rounds lies
//!   above -0.1, and falls if it lies below.
//! - A claim says little if picks at random show the same.

use jurybox::Interval;
use serde::Serialize;

/// The finding on a claim of the paper.
///
/// ```
/// assert_eq!(jurybox_lab::Finding::HoldsSaysLittle.to_string(), "holds, says little");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// The claim holds.
    Reproduced,
    /// The claim holds, and would hold without the cause that the paper names.
    HoldsSaysLittle,
    /// The opposite was measured.
    NotReproduced,
    /// The interval allows for both.
    CannotTell,
}

impl Finding {
    /// All findings.
    pub const ALL: [Finding; 4] =
        [Finding::Reproduced, Finding::HoldsSaysLittle, Finding::NotReproduced, Finding::CannotTell];
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Finding::Reproduced => "reproduced",
            Finding::HoldsSaysLittle => "holds, says little",
            Finding::NotReproduced => "not reproduced",
            Finding::CannotTell => "can't be told",
        })
    }
}

/// A claim of the paper with its finding.
///
/// ```
/// // Read from `ReproductionReport::claims`.
/// use jurybox_lab::{Finding, PaperClaim};
/// fn held(claim: &PaperClaim) -> bool { claim.finding == Finding::Reproduced }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PaperClaim {
    /// Short unique name.
    pub id: String,
    /// The claim in short, with its place in the paper.
    pub paper: String,
    /// The measurement, with 95% intervals.
    pub measured: String,
    /// The finding.
    pub finding: Finding,
    /// A note for the reader; may be empty.
    pub note: String,
}

impl PaperClaim {
    /// A claim without a note.
    pub(super) fn new(id: String, paper: &str, measured: String, finding: Finding) -> PaperClaim {
        PaperClaim { id, paper: paper.into(), measured, finding, note: String::new() }
    }
}

/// An estimate as `mean [low, high]`. A narrow interval has more decimals.
pub(super) fn number(e: Interval) -> String {
    let narrow = -e.half_width().log10().floor();
    let narrow = if narrow.is_finite() { narrow.clamp(0.0, 8.0) as usize } else { 0 };
    let digits = |x: f64| match x.abs() {
        size if size >= 100.0 => format!("{x:.0}"),
        size if size >= 1.0 => format!("{x:.*}", narrow.max(2)),
        _ => format!("{x:.*}", narrow.max(3)),
    };
    format!("{} [{}, {}]", digits(e.mean), digits(e.low), digits(e.high))
}

/// Reproduced if the difference is above zero, not reproduced if below.
pub(super) fn judge_sign(difference: Interval) -> Finding {
    if difference.above(0.0) {
        Finding::Reproduced
    } else if difference.below(0.0) {
        Finding::NotReproduced
    } else {
        Finding::CannotTell
    }
}

/// Growth exponent above which growth is called linear.
pub(super) const LINEAR: f64 = 0.9;

pub(super) fn judge_linear(slope: Interval) -> Finding {
    judge_sign(slope.plus(-LINEAR))
}

/// Log-log slope above which an error is said to keep a bias.
pub(super) const STAYS: f64 = -0.1;

/// Allowance for logarithmic factors in a bound of order T^x when an exponent is measured.
const LOGARITHMS: f64 = 0.1;

/// The finding on an upper bound of order T^exponent. Slower growth does not contradict the bound;
/// slightly faster growth may come from logarithmic factors, and decides nothing.
pub(super) fn judge_at_most(slope: Interval, exponent: f64) -> Finding {
    if slope.above(exponent + LOGARITHMS) {
        Finding::NotReproduced
    } else if slope.above(exponent) || !slope.below(LINEAR) {
        Finding::CannotTell
    } else {
        Finding::Reproduced
    }
}

/// The finding on a bound, from its ratios to the measured regret and to the regret of random
/// picks, in several settings. A ratio to the measured regret below 1 contradicts the bound. If all
/// ratios to the regret of random picks are 1 or more, the bound says little.
pub(super) fn judge_bound(of_measured: &[f64], of_chance: &[f64]) -> Finding {
    if of_measured.iter().any(|ratio| *ratio < 1.0) {
        Finding::NotReproduced
    } else if of_chance.iter().all(|ratio| *ratio >= 1.0) {
        Finding::HoldsSaysLittle
    } else {
        Finding::Reproduced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slope(mean: f64, half_width: f64) -> Interval {
        Interval::around(mean, half_width)
    }

    #[test]
    fn numbers_have_digits_that_suit_the_interval() {
        assert_eq!(number(slope(0.163, 0.016)), "0.163 [0.147, 0.179]");
        assert_eq!(number(slope(2909.0, 44.5)), "2909 [2864, 2954]");
        assert_eq!(number(slope(-0.000_213, 0.000_018)), "-0.00021 [-0.00023, -0.00019]");
        assert_eq!(number(slope(0.9963, 0.0064)), "0.996 [0.990, 1.003]");
        assert_eq!(number(slope(0.25, 0.0)), "0.250 [0.250, 0.250]");
        assert_eq!(number(slope(0.0, f64::INFINITY)), "0.000 [-inf, inf]");
    }

    #[test]
    fn findings_follow_the_rules() {
        assert_eq!(judge_sign(slope(1.0, 0.5)), Finding::Reproduced);
        assert_eq!(judge_sign(slope(-1.0, 0.5)), Finding::NotReproduced);
        assert_eq!(judge_sign(slope(0.1, 0.5)), Finding::CannotTell);
        assert_eq!(judge_linear(slope(1.0, 0.05)), Finding::Reproduced);
        assert_eq!(judge_linear(slope(0.6, 0.1)), Finding::NotReproduced);
    }

    #[test]
    fn an_upper_bound_is_contradicted_by_faster_growth_alone() {
        assert_eq!(judge_at_most(slope(0.7, 0.05), 2.0 / 3.0), Finding::Reproduced);
        assert_eq!(judge_at_most(slope(0.0, 0.05), 0.5), Finding::Reproduced);
        assert_eq!(judge_at_most(slope(0.7, 0.05), 0.5), Finding::NotReproduced);
        assert_eq!(judge_at_most(slope(0.74, 0.03), 2.0 / 3.0), Finding::CannotTell);
        assert_eq!(judge_at_most(slope(1.0, 0.01), 0.5), Finding::NotReproduced);
        assert_eq!(judge_at_most(slope(0.85, 0.2), 2.0 / 3.0), Finding::CannotTell);
    }

    #[test]
    fn a_bound_that_chance_keeps_says_little() {
        assert_eq!(judge_bound(&[9.0, 2.0], &[3.0, 1.5]), Finding::HoldsSaysLittle);
        assert_eq!(judge_bound(&[9.0, 2.0], &[3.0, 0.5]), Finding::Reproduced);
        assert_eq!(judge_bound(&[9.0, 0.9], &[3.0, 0.5]), Finding::NotReproduced);
    }
}

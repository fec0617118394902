//! The decision between a figure (an estimated reward with its interval) and bounds for a policy,
//! by the support that the log has for it: whether the log could make the policy's picks.
//!
//! The mean weight of the reviewed rows is `sum w / N`, with w, c and N as in `estimators`. It is
//! one, up to chance, if the log could have picked each of the policy's picks. A smaller one means
//! picks that the log never or too rarely makes. There is no figure in these cases:
//!
//! 1. the policy picks rows without a probability, in a log with probabilities on other unpicked
//!    rows;
//! 2. the 95% interval of the mean weight lies below 0.99;
//! 3. less than half of the policy's picks are within reach (`sum min(w, c) / N`). Weights that are
//!    rare and huge are mostly absent from a short log, so that the mean weight looks precise and
//!    is not. In the first table of `experiments/results/off-policy.md`, doubly robust intervals
//!    hold the truth in 93% to 97% of the logs where mean reach is above one half. Elsewhere they
//!    hold it in 30% to 94%;
//! 4. the mean weight exceeds 1.01 by more than 1.5 half-widths of its interval, so that the
//!    probabilities cannot be those of the log. Then there are no bounds either;
//! 5. part of the picks may have no support, and the reward range is empty because all rewards in
//!    the log are equal.
//!
//! A mean weight that is not clearly below one does not prove full support. The figure's interval
//! is therefore widened to hold the intervals of the bounds. It is not widened if the log shows
//! that every row that the policy may pick could be picked and that no reward is missing, or if the
//! whole interval of the mean weight is at least one.

use super::estimators::{LoggedEvidence, PolicyEstimates};
use super::linearized::LinearizedEstimate;
use super::outcome::{Bounds, Estimates, OffPolicyLine};
use super::reward_count::DIGITS;
use jurybox::Interval;

/// Least share of the picks within reach for a figure.
const LEAST_REACH: f64 = 0.5;
/// Largest error by rounding of a share that is exactly one.
pub(super) const ROUNDING: f64 = 1e-9;
const NO_BOUND: &str =
    "no bounds: all rewards in the log are equal, and the range of rewards was not declared";

pub(super) fn line(name: &str, evidence: &LoggedEvidence<'_>, logged: &LinearizedEstimate) -> OffPolicyLine {
    let Some(figures) = evidence.figures() else {
        return OffPolicyLine::without_figure(name, "no row was reviewed".into());
    };
    let mut line = OffPolicyLine {
        overlap: Some(figures.reach.value.min(1.0)),
        effective_rows: Some(figures.effective_rows),
        estimates: Some(estimates(&figures)),
        ..OffPolicyLine::without_figure(name, String::new())
    };
    let unseen = unsupported_share(evidence, &figures);
    let bounded = figures.range.0 < figures.range.1;
    if let Some(why) = contradiction(&figures) {
        line.why = Some(why);
    } else if let Some(why) = out_of_reach(evidence, &figures) {
        line.why = Some(if bounded { why } else { format!("{why}; {NO_BOUND}") });
        let (low, high) = (figures.low.estimate().low, figures.high.estimate().high);
        line.bounds =
            bounded.then(|| Bounds { low: low.max(figures.range.0), high: high.min(figures.range.1) });
    } else if unseen > 0.0 && !bounded {
        line.why =
            Some(format!("the log may have no support for {:.0}% of its picks; {NO_BOUND}", 100.0 * unseen));
    } else {
        line.why = None;
        line.unsupported_share = Some(unseen);
        let (figure, difference) = if unseen > 0.0 {
            (widened(&figures, None), widened(&figures, Some(logged)))
        } else {
            line.width_ratio = Some(width_ratio(&figures.dr));
            (figures.dr.estimate(), figures.dr.minus(logged).estimate())
        };
        let (low, high) = figures.range;
        let within =
            |interval, low, high| if evidence.range_is_known { cut(interval, low, high) } else { interval };
        line.reward_per_pick = Some(within(figure, low, high));
        line.difference_to_logged = Some(within(difference, low - high, high - low));
    }
    line
}

/// The share of the picks that may have no support. Zero if the log shows that every row that the
/// policy may pick could be picked, and that every pick has its reward.
pub(super) fn unsupported_share(evidence: &LoggedEvidence<'_>, figures: &PolicyEstimates) -> f64 {
    if evidence.all_rewards_present && known_overlap(evidence).is_some_and(|known| known >= 1.0 - ROUNDING) {
        return 0.0;
    }
    figures.unsupported_share()
}

/// The doubly robust estimate with its interval widened to hold the intervals of the bounds,
/// equally to both sides. `less` is subtracted from all of them, round by round.
pub(super) fn widened(figures: &PolicyEstimates, less: Option<&LinearizedEstimate>) -> Interval {
    let of = |figure: &LinearizedEstimate| {
        less.map_or_else(|| figure.estimate(), |less| figure.minus(less).estimate())
    };
    let own = of(&figures.dr);
    let (low, high) = (own.low.min(of(&figures.low).low), own.high.max(of(&figures.high).high));
    Interval::around(own.mean, (own.mean - low).max(high - own.mean))
}

/// An interval clamped to a range.
pub(super) fn cut(interval: Interval, low: f64, high: f64) -> Interval {
    let within = |x: f64| x.clamp(low, high);
    Interval { mean: within(interval.mean), low: within(interval.low), high: within(interval.high) }
}

/// The width of an estimate's interval over that of Student's.
pub(super) fn width_ratio(figure: &LinearizedEstimate) -> f64 {
    figure.estimate().half_width() / figure.student()
}

fn estimates(figures: &PolicyEstimates) -> Estimates {
    Estimates {
        inverse_propensity: figures.ips.estimate(),
        self_normalised: figures.snips.as_ref().map(LinearizedEstimate::estimate),
        doubly_robust: figures.dr.estimate(),
        self_normalised_doubly_robust: figures.sndr.as_ref().map(LinearizedEstimate::estimate),
        clipped: figures.clipped.estimate(),
        clip: figures.clip,
        clipping_bias_at_most: figures.clipping_bias(),
        overlap: figures.reach.value.min(1.0),
        mean_weight: figures.mean_weight.estimate(),
        effective_rows: figures.effective_rows,
    }
}

fn contradiction(figures: &PolicyEstimates) -> Option<String> {
    let weight = figures.mean_weight.estimate();
    (weight.mean - 1.5 * weight.half_width() > 1.0 + DIGITS).then(|| {
        format!(
            "the weights of its picks sum to {:.2} times their expectation: the logged \
             probabilities are too low, or unreviewed rows were left out of the file",
            weight.mean
        )
    })
}

pub(super) fn out_of_reach(evidence: &LoggedEvidence<'_>, figures: &PolicyEstimates) -> Option<String> {
    let weight = figures.mean_weight.estimate();
    let reach = figures.reach.value;
    match known_overlap(evidence) {
        Some(known) if known < 1.0 - ROUNDING => Some(format!(
            "overlap {known:.2}: the log never picks {:.0}% of what this policy would pick",
            100.0 * (1.0 - known)
        )),
        known if weight.high < 1.0 - DIGITS || reach < LEAST_REACH => Some(format!(
            "overlap {reach:.2}: the log picks {:.0}% of what this policy would pick too rarely{}{}",
            100.0 * (1.0 - reach),
            if known.is_some() { "" } else { ", or never" },
            if evidence.all_rewards_present { "" } else { ", or their verdicts are missing" }
        )),
        _ => None,
    }
}

/// The share of the policy's picks that carry a logged probability. None if there are unreviewed
/// rows and none of them carries one.
fn known_overlap(evidence: &LoggedEvidence<'_>) -> Option<f64> {
    let rows = || evidence.rounds.iter().flatten().copied();
    let every = rows().all(|row| !evidence.logged[row].is_nan());
    let says = every || rows().any(|row| evidence.rewards[row].is_nan() && !evidence.logged[row].is_nan());
    let all: f64 = rows().map(|row| evidence.target[row]).sum();
    let possible: f64 =
        rows().filter(|&row| !evidence.logged[row].is_nan()).map(|row| evidence.target[row]).sum();
    says.then(|| possible / all)
}

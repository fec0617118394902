//! Whether a log can speak for a policy: a figure where it can, bounds where it cannot.
//!
//! The weights of the rows that were looked at sum to the policy's picks, up to chance, if the log could have looked at each
//! of them. Where they sum to less, the rest of the policy's picks is where the log looks never or too rarely, and no formula
//! knows what is there. Three things take the figure away:
//!
//! 1. rows that carry no probability, in a log whose unpicked rows do: they could not be picked;
//! 2. a mean weight whose 95% interval lies below one;
//! 3. less than half of the policy's picks within reach (`sum min(w, c) / N`). Weights that are rare and huge have mostly not
//!    been met in a log of this length: a mean weight then looks precise and is not. In the simulated logs of the book's
//!    table the doubly robust intervals hold the truth 92 to 96 times of 100 above one half, and 27 to 87 times below.
//!
//! A mean weight that is not clearly below one does not show that the log looks everywhere: a share of up to one minus the lower
//! end of its interval may be out of sight all the same. Unless the log says of every row that it could be picked, the
//! interval of a figure is widened until it holds the intervals of the bounds.
//!
//! A mean weight whose interval lies above one, by half its width, says that the probabilities are not those of the log.

use super::estimators::{LoggedEvidence, PolicyEstimates};
use super::linearized::LinearizedEstimate;
use super::outcome::{Bounds, Estimates, OffPolicyLine};
use super::reward_count::DIGITS;
use jurybox::Interval;

/// The least share of the picks within reach for which a figure is given.
const LEAST_REACH: f64 = 0.5;
/// By how much shares that are one, exactly, may miss it.
pub(super) const ROUNDING: f64 = 1e-9;
const NO_BOUND: &str =
    "no bound: every reward in the log is the same, and the range of rewards was not declared";

pub(super) fn line(name: &str, evidence: &LoggedEvidence<'_>, logged: &LinearizedEstimate) -> OffPolicyLine {
    let Some(figures) = evidence.figures() else {
        return OffPolicyLine::without_figure(name, "nobody looked at any row".into());
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
        line.why = Some(format!("the log may never look at {:.0}% of its picks; {NO_BOUND}", 100.0 * unseen));
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

/// The share of the picks that may be out of sight; none where the log says that every row could be picked, and every pick has
/// its reward.
pub(super) fn unsupported_share(evidence: &LoggedEvidence<'_>, figures: &PolicyEstimates) -> f64 {
    if evidence.all_rewards_present && known_overlap(evidence).is_some_and(|known| known >= 1.0 - ROUNDING) {
        return 0.0;
    }
    figures.unsupported_share()
}

/// A figure whose interval also holds if part of the picks is out of sight: its own, widened to hold those of the bounds, which
/// rest on no overlap. `less` is subtracted from all, round by round.
pub(super) fn widened(figures: &PolicyEstimates, less: Option<&LinearizedEstimate>) -> Interval {
    let of = |figure: &LinearizedEstimate| {
        less.map_or_else(|| figure.estimate(), |less| figure.minus(less).estimate())
    };
    let own = of(&figures.dr);
    let (low, high) = (own.low.min(of(&figures.low).low), own.high.max(of(&figures.high).high));
    Interval::around(own.mean, (own.mean - low).max(high - own.mean))
}

/// An interval without what cannot be.
pub(super) fn cut(interval: Interval, low: f64, high: f64) -> Interval {
    let within = |x: f64| x.clamp(low, high);
    Interval { mean: within(interval.mean), low: within(interval.low), high: within(interval.high) }
}

/// How many times as wide as Student's the interval of a figure is.
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
            "the weights of its picks come to {:.2} times what they must: the logged probabilities are too low, or rows \
             that nobody looked at were left out of the file",
            weight.mean
        )
    })
}

pub(super) fn out_of_reach(evidence: &LoggedEvidence<'_>, figures: &PolicyEstimates) -> Option<String> {
    let weight = figures.mean_weight.estimate();
    let reach = figures.reach.value;
    match known_overlap(evidence) {
        Some(known) if known < 1.0 - ROUNDING => Some(format!(
            "overlap {known:.2}: {:.0}% of what this policy would pick, the log never looks at",
            100.0 * (1.0 - known)
        )),
        known if weight.high < 1.0 - DIGITS || reach < LEAST_REACH => Some(format!(
            "overlap {reach:.2}: {:.0}% of what this policy would pick, the log looks at too rarely to tell{}{}",
            100.0 * (1.0 - reach),
            if known.is_some() { "" } else { ", or never" },
            if evidence.all_rewards_present { "" } else { ", or its verdicts are missing" }
        )),
        _ => None,
    }
}

/// The share of the policy's picks that could have been looked at, where the log says so for rows that nobody looked at.
fn known_overlap(evidence: &LoggedEvidence<'_>) -> Option<f64> {
    let rows = || evidence.rounds.iter().flatten().copied();
    let every = rows().all(|row| !evidence.logged[row].is_nan());
    let says = every || rows().any(|row| evidence.rewards[row].is_nan() && !evidence.logged[row].is_nan());
    let all: f64 = rows().map(|row| evidence.target[row]).sum();
    let possible: f64 =
        rows().filter(|&row| !evidence.logged[row].is_nan()).map(|row| evidence.target[row]).sum();
    says.then(|| possible / all)
}

//! Advice on each evaluator, and the order of their usefulness. Advice on relations follows from
//! the intervals in the report, so that it never claims more than a figure shows.

use super::gather::ReportData;
use super::{Basis, EvaluatorReport, Relation, Report, rank_correlation, selection_bias, warnings};
use jurybox::Interval;
use serde::Serialize;

/// The advice on an evaluator. The variants are in the order of usefulness.
///
/// ```
/// assert_eq!(jurybox_files::Advice::Invert.word(), "invert");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// Its scores rise with the reward, or its learnt weight is positive.
    Trust,
    /// It is related to the reward, but only if the other scores are equal, or not linearly, or
    /// with a weight of the opposite sign.
    Keep,
    /// It nearly equals the reward, so it may be known only after the review.
    Check,
    /// Its scores fall as the reward rises, or its learnt weight is negative.
    Invert,
    /// The state has a drift alarm for it.
    Changed,
    /// The rows do not tell, for example because rewards are few or absent.
    Undecided,
    /// It is a copy of an evaluator before it.
    Duplicate,
    /// It has no scores, equal scores, or a correlation whose whole interval is close to zero.
    Mute,
}

/// Minimum number of rewards for advice; with fewer, intervals are too narrow.
const LEAST_LABELS: u64 = 20;
/// The standardised difference below which an effect is negligible (Cohen's small effect).
const NEGLIGIBLE: f64 = 0.2;

impl Advice {
    /// The advice in a word.
    pub fn word(self) -> &'static str {
        match self {
            Advice::Trust => "trust",
            Advice::Keep => "keep",
            Advice::Check => "check",
            Advice::Invert => "invert",
            Advice::Changed => "changed",
            Advice::Undecided => "undecided",
            Advice::Duplicate => "copy",
            Advice::Mute => "mute",
        }
    }
}

/// The advice on every evaluator, in their order.
pub(super) fn advise(report: &Report, data: &ReportData) -> Vec<Advice> {
    // No evaluator is muted for its interval in two cases: the reviewed rows were picked by their
    // scores, which hides relations, or one of two rewards is rare.
    let few = data.outcomes.rarer().is_some_and(|(_, count)| count < warnings::FEWEST_OF_A_KIND);
    let mute_below = match selection_bias::shift(data, report) {
        Some(_) => 0.0,
        None if few => 0.0,
        // Suppose that two rewards have the shares p and 1 - p. Mean scores that are d standard
        // deviations apart are then a correlation of about d sqrt(p (1 - p)).
        None => {
            let share = rank_correlation::most_frequent(&data.sample.rewards)
                .map_or(0.5, |(_, share)| share.max(0.5));
            (share * (1.0 - share)).sqrt()
        }
    } * NEGLIGIBLE;
    // An evaluator may predict how large amounts are, but not whether there is one. This is tested
    // among the rows without the most frequent reward, but not with binary rewards.
    let family = report.evaluators.iter().filter(|about| about.rank_correlation).count();
    let predicts_amounts = |at: usize| {
        if data.outcomes.two().is_some() {
            return false;
        }
        let rest = rank_correlation::correlation_of_the_rest(&data.sample, at, family);
        !rest.is_some_and(|rest| is_negligible(rest, 0.5 * NEGLIGIBLE))
    };
    let of = |(at, about): (usize, &EvaluatorReport)| match () {
        () if about.coverage == 0.0 || about.deviation.is_nan() || about.deviation == 0.0 => Advice::Mute,
        () if report.policy.changed.contains(&about.name) => Advice::Changed,
        () if report.first_of(about).is_some() => Advice::Duplicate,
        () if report.rewarded() && report.labelled < LEAST_LABELS => Advice::Undecided,
        () if report.rewarded() => match by_rewards(about, mute_below) {
            Advice::Mute if about.rank_correlation && predicts_amounts(at) => Advice::Undecided,
            advice => advice,
        },
        () if report.policy.of_state => report.policy.weights.get(at).map_or(Advice::Undecided, |weight| {
            match (weight.low, weight.high) {
                (Some(low), _) if low > 0.0 => Advice::Trust,
                (_, Some(high)) if high < 0.0 => Advice::Invert,
                _ => Advice::Undecided,
            }
        }),
        () => Advice::Undecided,
    };
    report.evaluators.iter().enumerate().map(|(at, about)| of((at, about))).collect()
}

/// The advice by the correlation and the weight of an evaluator.
fn by_rewards(about: &EvaluatorReport, mute_below: f64) -> Advice {
    // With heavy tails, the intervals of weights are too narrow.
    let weight = about.weight.filter(|_| !about.rank_correlation);
    let helps = weight.is_some_and(|weight| weight.low > 0.0);
    let counts_against = weight.is_some_and(|weight| weight.high < 0.0);
    match about.relation {
        Relation::With if warnings::is_nearly_the_reward(about) => Advice::Check,
        Relation::With if counts_against => Advice::Keep,
        Relation::With => Advice::Trust,
        Relation::Against if helps => Advice::Keep,
        Relation::Against => Advice::Invert,
        Relation::BesideOthers => Advice::Keep,
        Relation::NotSeen if about.nonlinear => Advice::Keep,
        Relation::NotSeen
            if about.weight.is_some()
                && about.correlation.is_some_and(|correlation| is_negligible(correlation, mute_below)) =>
        {
            Advice::Mute
        }
        Relation::NotSeen | Relation::Unknown => Advice::Undecided,
    }
}

/// Whether the whole interval is within ±`below`.
fn is_negligible(interval: Interval, below: f64) -> bool {
    interval.low.abs().max(interval.high.abs()) < below
}

/// The distance of an interval from zero.
fn least(interval: Interval) -> f64 {
    interval.low.max(-interval.high).max(0.0)
}

impl Report {
    /// Whether gains and weights come from rewards.
    pub(super) fn rewarded(&self) -> bool {
        self.from == Basis::Rewards
    }

    /// Positions of the evaluators, most useful first. They are sorted by advice, by the lower end
    /// of the weight's interval, and by the distance of the correlation's interval from zero.
    pub fn by_use(&self) -> Vec<usize> {
        let key = |&at: &usize| {
            let about = &self.evaluators[at];
            let learnt = self.policy.weights.get(at).filter(|_| self.policy.of_state);
            let own = match about.weight {
                Some(weight) if self.rewarded() => weight.low.max(0.0),
                Some(weight) => weight.low,
                None => 0.0,
            };
            let own = if self.rewarded() { own } else { learnt.map_or(own, |w| w.low.unwrap_or(w.mean)) };
            let with = about.correlation.map_or(0.0, least);
            let mean = about.correlation.map_or(0.0, |c| c.mean.abs());
            (about.advice, [own, with, mean].map(|x| if x.is_nan() { 0.0 } else { -x }))
        };
        let mut order: Vec<usize> = (0..self.evaluators.len()).collect();
        order.sort_by(|a, b| {
            let ((advice_a, a), (advice_b, b)) = (key(a), key(b));
            let numbers = a.iter().zip(&b).map(|(a, b)| a.total_cmp(b));
            numbers.fold(advice_a.cmp(&advice_b), std::cmp::Ordering::then)
        });
        order
    }

    /// The first evaluator among `about` and its copies; `None` if that is `about` itself.
    pub(super) fn first_of(&self, about: &EvaluatorReport) -> Option<&EvaluatorReport> {
        let first =
            self.evaluators.iter().find(|e| e.name == about.name || about.copies.contains(&e.name))?;
        (first.name != about.name).then_some(first)
    }
}

//! What to do about each evaluator, and the order of their use. Both are read off the intervals that are printed beside
//! them: what an interval does not show is not advised.

use super::gather::ReportData;
use super::{EvaluatorReport, Relation, Report, rank_correlation, selection_bias, warnings};
use jurybox::Interval;
use serde::Serialize;

/// What to do about an evaluator, as far as the intervals show it.
///
/// ```
/// assert_eq!(jurybox_files::Advice::Invert.word(), "turn round");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// Its scores rise with the reward.
    Trust,
    /// It tells something, though not by a straight line of its own: beside the others, or along a curve.
    Keep,
    /// It all but is the reward: is it known beforehand?
    Check,
    /// Its scores fall where the reward rises.
    Invert,
    /// It is not what it was.
    Changed,
    /// These rows cannot tell.
    Undecided,
    /// Another evaluator is this one in other units.
    Duplicate,
    /// It says nothing, or next to nothing: its whole interval is next to zero.
    Mute,
}

/// Rewards below which intervals are too short to advise by: on tables of noise with two evaluators, one of them was named in 16 of
/// 100 with 6 rewards, and in 9 with 20, where 10 are to be expected.
const LEAST_LABELS: u64 = 20;
/// Differences below this share of a standard deviation are next to nothing (Cohen's small effect).
const NEXT_TO_NOTHING: f64 = 0.2;

impl Advice {
    /// In a word or two.
    pub fn word(self) -> &'static str {
        match self {
            Advice::Trust => "trust",
            Advice::Keep => "keep",
            Advice::Check => "check",
            Advice::Invert => "turn round",
            Advice::Changed => "changed",
            Advice::Undecided => "cannot tell",
            Advice::Duplicate => "copy",
            Advice::Mute => "mute",
        }
    }
}

/// Advice on every evaluator, in their order.
pub(super) fn advise(report: &Report, gathered: &ReportData) -> Vec<Advice> {
    // Rows that were picked by an evaluator show less of it than there is, and a handful of a kind next to nothing: nobody is
    // muted by them.
    let few = gathered.outcomes.rarer().is_some_and(|(_, count)| count < warnings::FEWEST_OF_A_KIND);
    let mute_below = match selection_bias::shift(gathered, report) {
        Some(_) => 0.0,
        None if few => 0.0,
        // What is not the most frequent reward, a small effect apart from it, correlates the less with a score, the rarer it is.
        None => {
            let share =
                rank_correlation::most_frequent(&gathered.sample.rewards).map_or(0.5, |(_, share)| share.max(0.5));
            (share * (1.0 - share)).sqrt()
        }
    } * NEXT_TO_NOTHING;
    // Which amount it is, where there is one, may be told by an evaluator that does not tell whether there is one. Of yes and no there is
    // nothing more to tell.
    let family = report.evaluators.iter().filter(|about| about.rank_correlation).count();
    let tells_amounts = |at: usize| {
        if gathered.outcomes.two().is_some() {
            return false;
        }
        let rest = rank_correlation::correlation_of_the_rest(&gathered.sample, at, family);
        !rest.is_some_and(|rest| next_to_nothing(rest, 0.5 * NEXT_TO_NOTHING))
    };
    let of = |(at, about): (usize, &EvaluatorReport)| match () {
        () if about.coverage == 0.0 || about.deviation.is_nan() || about.deviation == 0.0 => Advice::Mute,
        () if report.policy.changed.contains(&about.name) => Advice::Changed,
        () if report.first_of(about).is_some() => Advice::Duplicate,
        () if report.rewarded() && report.labelled < LEAST_LABELS => Advice::Undecided,
        () if report.rewarded() => match by_rewards(about, mute_below) {
            Advice::Mute if about.rank_correlation && tells_amounts(at) => Advice::Undecided,
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

fn by_rewards(about: &EvaluatorReport, mute_below: f64) -> Advice {
    // Where tails are heavy, the intervals of weights are too narrow to go by.
    let weight = about.weight.filter(|_| !about.rank_correlation);
    let helps = weight.is_some_and(|weight| weight.low > 0.0);
    let counts_against = weight.is_some_and(|weight| weight.high < 0.0);
    match about.relation {
        Relation::With if warnings::all_but_the_reward(about) => Advice::Check,
        Relation::With if counts_against => Advice::Keep,
        Relation::With => Advice::Trust,
        Relation::Against if helps => Advice::Keep,
        Relation::Against => Advice::Invert,
        Relation::BesideOthers => Advice::Keep,
        Relation::NotSeen if about.nonlinear => Advice::Keep,
        Relation::NotSeen
            if about.weight.is_some()
                && about.correlation.is_some_and(|correlation| next_to_nothing(correlation, mute_below)) =>
        {
            Advice::Mute
        }
        Relation::NotSeen | Relation::Unknown => Advice::Undecided,
    }
}

/// Whether a whole interval is nearer to zero than that.
fn next_to_nothing(interval: Interval, below: f64) -> bool {
    interval.low.abs().max(interval.high.abs()) < below
}

/// How far an interval surely is from zero.
fn least(interval: Interval) -> f64 {
    interval.low.max(-interval.high).max(0.0)
}

impl Report {
    /// Whether gains and weights come from rewards.
    pub(super) fn rewarded(&self) -> bool {
        self.from == "rewards"
    }

    /// The numbers of the evaluators, those of most use first: by what to do about them, and then by how much they surely
    /// add beside the others, go with the reward, or agree with the others where there are no rewards.
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

    /// The first of the evaluators that are one with this one, where it is not that itself.
    pub(super) fn first_of(&self, about: &EvaluatorReport) -> Option<&EvaluatorReport> {
        let first =
            self.evaluators.iter().find(|e| e.name == about.name || about.copies.contains(&e.name))?;
        (first.name != about.name).then_some(first)
    }
}

//! The weights, intervals and drift alarms of a policy, for the report.

use super::gather::RowSample;
use super::{EvaluatorReport, LearntWeight, PolicyReport};
use crate::error::Error;
use crate::ranker::{new_jury, scores};
use jurybox::options::Fraction;
use jurybox::{Evaluators, Example, Jury, Spec};
use jurybox_draw::counted;

/// The policy report of a state.
pub(super) fn of_state(jury: &Jury, evaluators: &[EvaluatorReport]) -> PolicyReport {
    let seen = jury.seen();
    let from = format!(
        "the state: {} in {}, {}",
        counted(seen.items, "item"),
        counted(seen.rounds, "round"),
        counted(seen.used, "reward")
    );
    let count = evaluators.iter().filter(|about| about.deviation > 0.0).count().max(1) as f64;
    // The level at which the intervals of all evaluators hold together with 95%.
    let level = Fraction::try_from(1.0 - 0.05 / count).ok();
    PolicyReport { of_state: true, ..policy_report(jury, level, from, evaluators) }
}

/// The policy report of the default policy, learnt from the sample. It has no intervals: the
/// intervals of an [`EvaluatorReport`] do not depend on the policy's model.
pub(super) fn of_sample(sample: &RowSample, evaluators: &[EvaluatorReport]) -> Result<PolicyReport, Error> {
    let names = Evaluators::new(evaluators.iter().map(|about| &about.name))?;
    let mut jury = new_jury(&Spec::default(), &names)?;
    jury.observe(&scores(&sample.scores, sample.width)?, 0)?;
    let known = sample.rows().zip(&sample.rewards).filter(|(_, reward)| !reward.is_nan());
    let examples: Vec<Example<'_>> =
        known.map(|(scores, &reward)| Example { scores, reward, receipt: None }).collect();
    jury.learn(&examples, 0)?;
    let (rows, rewards) = (sample.rewards.len() as u64, examples.len() as u64);
    let from = format!("{} of this table, {}", counted(rows, "row"), counted(rewards, "reward"));
    Ok(policy_report(&jury, None, from, evaluators))
}

/// The policy report of a jury, with intervals at `level` if the policy has them.
fn policy_report(
    jury: &Jury,
    level: Option<Fraction>,
    from: String,
    evaluators: &[EvaluatorReport],
) -> PolicyReport {
    let fitted = jury.fit();
    let intervals = level.and_then(|level| fitted.weight_intervals(level));
    let weights = match (&intervals, fitted.weights()) {
        (Some(intervals), _) => intervals
            .iter()
            .map(|w| {
                let end = |end: f64| Some(end).filter(|end| end.is_finite());
                LearntWeight { mean: w.mean, low: end(w.low), high: end(w.high) }
            })
            .collect(),
        (None, Some(weights)) => {
            weights.iter().map(|&mean| LearntWeight { mean, low: None, high: None }).collect()
        }
        (None, None) => Vec::new(),
    };
    // Per standard deviation, so that evaluators in different units can be compared.
    let weights = weights.into_iter().zip(evaluators).map(|(w, about)| {
        let times = |x: f64| if about.deviation > 0.0 { x * about.deviation } else { 0.0 };
        LearntWeight { mean: times(w.mean), low: w.low.map(times), high: w.high.map(times) }
    });
    let weights = join_copies(&weights.collect::<Vec<_>>(), evaluators);
    let alarm = |alarm: &jurybox::Alarm| {
        let whom = if alarm.evaluator.is_some() { "run it" } else { "give the verdicts" };
        capital(&alarm.message(jury.evaluators(), |at| format!("time {at}")))
            + &format!(". Ask those who {whom}.")
    };
    PolicyReport {
        name: jury.spec().to_string(),
        from,
        alarms: fitted.alarms().iter().map(alarm).chain(fitted.diagnostics().iter().map(sentence)).collect(),
        // Each evaluator once, however many alarms it has.
        changed: (0..evaluators.len())
            .filter(|&at| fitted.alarms().iter().any(|alarm| alarm.evaluator == Some(at)))
            .map(|at| evaluators[at].name.clone())
            .collect(),
        of_state: false,
        weights,
    }
}

/// A diagnostic as a sentence.
fn sentence(diagnostic: &jurybox::Diagnostic) -> String {
    capital(&diagnostic.to_string()) + "."
}

/// The words with a capital first letter.
fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + letters.as_str())
        .unwrap_or_default()
}

/// Gives copies the sum of their weights, without an interval. The split between them is arbitrary,
/// and the parts can be large and cancel.
fn join_copies(weights: &[LearntWeight], evaluators: &[EvaluatorReport]) -> Vec<LearntWeight> {
    let joined = |(about, weight): (&EvaluatorReport, &LearntWeight)| {
        if about.copies.is_empty() {
            return *weight;
        }
        let mine = |other: &EvaluatorReport| other.name == about.name || about.copies.contains(&other.name);
        let parts = evaluators.iter().zip(weights).filter(|(other, _)| mine(other));
        let mean = parts.map(|(other, weight)| about.sign * other.sign * weight.mean).sum();
        LearntWeight { mean, low: None, high: None }
    };
    evaluators.iter().zip(weights).map(joined).collect()
}

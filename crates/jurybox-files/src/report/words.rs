//! Warnings in plain words. What they say of an evaluator's relation to the reward is read off the intervals that are
//! printed beside it, so that no sentence can contradict a figure.

use super::gather::Gathered;
use super::{EvaluatorReport, Relation, Report, selection};
use jurybox::Interval;
use jurybox_draw::short;

/// Labels below which gains and weights are guesses.
const FEW_LABELS: u64 = 100;
/// The same for the rarer of two verdicts.
const FEW_OF_A_KIND: u64 = 30;
/// A correlation with the reward above which an evaluator may be the reward itself.
const TOO_GOOD: f64 = 0.99;

pub(super) fn warnings(report: &Report, gathered: &Gathered) -> Vec<String> {
    let mut list = report.policy.alarms.clone();
    if report.reward.is_some() && report.labelled < FEW_LABELS {
        list.push(format!(
            "Only {} rows have a reward: gains, weights and curves are rough guesses. A few hundred are a good start.",
            report.labelled
        ));
    } else if let Some((value, count)) = gathered.outcomes.rarer().filter(|rarer| rarer.1 < FEW_OF_A_KIND) {
        list.push(format!(
            "Only {count} of the {} rewards are {}: what is said of them rests on these few.",
            report.labelled,
            short(value)
        ));
    }
    list.extend(selection::picked(gathered, report));
    if report.from.starts_with("nothing") {
        list.push(
            "The evaluators' scores do not move together enough to tell signal from noise without rewards: \
             no gains, noise levels or weights can be given."
                .into(),
        );
    } else if report.from != "rewards" && report.evaluators.iter().all(|about| about.weight.is_none()) {
        list.push(
            "The one-factor model would take one evaluator for the truth itself, or does so when a few rows are left out: \
             no weights can be given without rewards."
                .into(),
        );
    }
    for about in &report.evaluators {
        list.extend(scored(about));
        list.extend(related(about, report));
    }
    list.extend(unweighed(report));
    list.extend(selection::missing(&gathered.sample, report));
    copies(report, &mut list);
    near_duplicates(report, &mut list);
    if (report.sampled as u64) < report.rows {
        list.push(format!(
            "The curves and the top K come from a random sample of {} of the {} rows; everything else from all of them.",
            report.sampled, report.rows
        ));
    }
    list
}

/// Whether an evaluator says anything at all.
fn scored(about: &EvaluatorReport) -> Option<String> {
    let name = &about.name;
    if about.coverage == 0.0 {
        Some(format!("`{name}` gave no score at all."))
    } else if about.deviation.is_nan() || about.deviation == 0.0 {
        Some(format!("`{name}` never varies (always {}): it cannot tell items apart.", short(about.mean)))
    } else if about.coverage < 0.5 {
        Some(format!("`{name}` scored only {:.0}% of the rows.", 100.0 * about.coverage))
    } else {
        None
    }
}

/// What the intervals say of an evaluator and the reward, or the others where there are no rewards.
fn related(about: &EvaluatorReport, report: &Report) -> Option<String> {
    let rewarded = report.from == "rewards";
    let (name, against) = (&about.name, if rewarded { "the reward" } else { "the other evaluators" });
    let figure = match (about.correlation, about.weight) {
        (Some(correlation), _) => format!("correlation {}", said(correlation)),
        (None, Some(weight)) => format!("weight {}", said(weight)),
        (None, None) => String::new(),
    };
    match about.relation {
        Relation::Against => Some(format!(
            "`{name}` goes against {against} ({figure}): low seems to mean high. If that is how it is meant, invert it."
        )),
        Relation::NotSeen => {
            Some(format!("`{name}` shows no relation to {against} beyond chance ({figure})."))
        }
        Relation::BesideOthers => Some(format!(
            "`{name}` alone tells nothing of the reward beyond chance ({figure}), but beside the others it does (weight {}).",
            about.weight.map_or_else(String::new, said)
        )),
        Relation::With if about.correlation.is_some_and(|c| c.low > TOO_GOOD) => Some(format!(
            "`{name}` all but is the reward ({figure}). If it is only known once somebody has looked, leave it out."
        )),
        Relation::With | Relation::Unknown => None,
    }
}

/// Evaluators whose correlation is known, but not what they add to the others.
fn unweighed(report: &Report) -> Option<String> {
    let those =
        report.evaluators.iter().filter(|about| about.correlation.is_some() && about.weight.is_none());
    let names: Vec<String> = those.map(|about| format!("`{}`", about.name)).collect();
    let (first, rest) = names.split_first()?;
    let who =
        if rest.is_empty() { format!("{first} has") } else { format!("Each of {} has", names.join(", ")) };
    Some(format!(
        "{who} no weight of its own: the other evaluators all but determine it, or there are too few rewards for so many \
         evaluators."
    ))
}

fn said(estimate: Interval) -> String {
    format!("{}, {} to {}", short(estimate.mean), short(estimate.low), short(estimate.high))
}

/// Every set of evaluators that are one, once.
fn copies(report: &Report, list: &mut Vec<String>) {
    let mut told: Vec<&str> = Vec::new();
    for about in report.evaluators.iter().filter(|about| !about.one_with.is_empty()) {
        if told.contains(&about.name.as_str()) {
            continue;
        }
        told.extend(about.one_with.iter().map(String::as_str));
        let others: Vec<String> = about.one_with.iter().map(|name| format!("`{name}`")).collect();
        list.push(format!(
            "`{}` and {} are one: each is the other in other units. Their weight is that of all of them together.",
            about.name,
            others.join(", ")
        ));
    }
}

/// Pairs one by one while they are few; otherwise everybody in one sentence.
fn near_duplicates(report: &Report, list: &mut Vec<String>) {
    let mut pairs = Vec::new();
    for (i, row) in report.error_correlation.iter().enumerate() {
        let one = |j: usize| report.evaluators[i].one_with.contains(&report.evaluators[j].name);
        let near = row.iter().take(i).enumerate().filter(|(j, value)| **value > 0.9 && !one(*j));
        pairs.extend(near.map(|(j, &value)| (j, i, value)));
    }
    let name = |j: usize| format!("`{}`", report.evaluators[j].name);
    if pairs.len() <= 3 {
        list.extend(pairs.iter().map(|&(j, i, value)| {
            format!(
                "{} and {} are near-duplicates: their errors correlate at {value:.2}. Two voices, one opinion.",
                name(j),
                name(i)
            )
        }));
        return;
    }
    let involved = |j: usize| pairs.iter().any(|&(a, b, _)| a == j || b == j);
    let names: Vec<String> = (0..report.evaluators.len()).filter(|&j| involved(j)).map(name).collect();
    list.push(format!(
        "{} are near-duplicates: in {} pairs of them the errors correlate above 0.9. Many voices, one opinion.",
        names.join(", "),
        pairs.len()
    ));
}

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
/// The same below which intervals are too narrow, by measurement.
const FEWEST_OF_A_KIND: u64 = 10;
/// The kurtosis (3 for a bell curve) from which on intervals are too narrow, by measurement.
const HEAVY: f64 = 10.0;
/// The share of rows with a twin from which on it is a warning.
const MANY_TWINS: f64 = 0.03;
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
    list.extend(narrow(report, gathered));
    list.extend(twins(report));
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
        Relation::NotSeen => Some(format!(
            "`{name}` shows no straight-line relation to {against} beyond chance ({figure}){}.",
            bent(about)
        )),
        Relation::BesideOthers => Some(format!(
            "`{name}` alone shows no straight-line relation to the reward beyond chance ({figure}), but beside the others it \
             does (weight {}){}.",
            about.weight.map_or_else(String::new, said),
            bent(about)
        )),
        Relation::With if about.correlation.is_some_and(|c| c.low > TOO_GOOD) => Some(format!(
            "`{name}` all but is the reward ({figure}). If it is only known once somebody has looked, leave it out."
        )),
        Relation::With | Relation::Unknown => None,
    }
}

/// Where a line shows nothing and the curve does.
fn bent(about: &EvaluatorReport) -> &'static str {
    if about.bent { ", but its curve shows one: see there" } else { "" }
}

/// Where intervals hold less often than they should.
fn narrow(report: &Report, gathered: &Gathered) -> Vec<String> {
    let mut list = Vec::new();
    let sample = &gathered.sample;
    if let Some((value, count)) = gathered.outcomes.rarer().filter(|rarer| rarer.1 < FEWEST_OF_A_KIND) {
        list.push(format!(
            "With only {count} rewards of {}, intervals are too narrow: on made-up tables like that those of a column held \
             together in 83 to 86 of 100 reports, not in 95.",
            short(value)
        ));
    }
    let column = |j: usize| sample.rows().map(|row| row[j]).collect::<Vec<f64>>();
    let heavy = report.evaluators.iter().enumerate().filter(|(j, _)| kurtosis(&column(*j)) > HEAVY);
    let mut names: Vec<String> = heavy.map(|(_, about)| format!("`{}`", about.name)).collect();
    // Of two rewards, how many there are of the rarer one says it better.
    if gathered.outcomes.two().is_none() && kurtosis(&sample.rewards) > HEAVY {
        names.push("the reward".into());
    }
    if !names.is_empty() {
        let have = if names.len() == 1 { "has" } else { "have" };
        list.push(format!(
            "{} {have} heavy tails: a few rows carry the sums, and intervals are too narrow. On made-up tables with \
             lognormal scores and rewards those of a column held together in 77 to 86 of 100 reports, not in 95. A logarithm \
             or ranks may serve better.",
            names.join(", ")
        ));
    }
    list
}

/// The fourth moment over the square of the second; missing values are left out.
fn kurtosis(values: &[f64]) -> f64 {
    let known = || values.iter().filter(|x| !x.is_nan());
    let count = known().count() as f64;
    let mean = known().sum::<f64>() / count;
    let moment = |power: i32| known().map(|x| (x - mean).powi(power)).sum::<f64>() / count;
    moment(4) / moment(2).powi(2)
}

/// Rows that have the scores of another.
fn twins(report: &Report) -> Option<String> {
    (report.twins as f64 > MANY_TWINS * report.sampled as f64).then(|| {
        format!(
            "{}: coarse scores, or copies of rows. Copies are fewer witnesses than they are rows: intervals are too narrow then.",
            report.twins_said()
        )
    })
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

/// Every set of evaluators that are linked by pairs whose errors go together, by itself.
fn near_duplicates(report: &Report, list: &mut Vec<String>) {
    let count = report.evaluators.len();
    let one = |i: usize, j: usize| report.evaluators[i].one_with.contains(&report.evaluators[j].name);
    let near = |i: usize, j: usize| i != j && report.error_correlation[i][j] > 0.9 && !one(i, j);
    let name = |j: usize| format!("`{}`", report.evaluators[j].name);
    let mut told = vec![false; count];
    for first in 0..count {
        let mut group = Vec::new();
        let mut next = vec![first];
        while let Some(j) = next.pop() {
            if !std::mem::replace(&mut told[j], true) {
                group.push(j);
                next.extend((0..count).filter(|&i| near(i, j) && !told[i]));
            }
        }
        group.sort_unstable();
        if let [i, j] = group[..] {
            list.push(format!(
                "{} and {} are near-duplicates: their errors correlate at {:.2}. Two voices, one opinion.",
                name(i),
                name(j),
                report.error_correlation[j][i]
            ));
        } else if group.len() > 2 {
            let pairs = group.iter().flat_map(|&i| group.iter().map(move |&j| (i, j)));
            let pairs = pairs.filter(|&(i, j)| i < j && near(i, j)).count();
            let names: Vec<String> = group.iter().map(|&j| name(j)).collect();
            list.push(format!(
                "{} are near-duplicates: in {pairs} pairs of them the errors correlate above 0.9. Many voices, one opinion.",
                names.join(", ")
            ));
        }
    }
}

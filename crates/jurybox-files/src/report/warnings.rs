//! Warnings in plain words. What they say of an evaluator's relation to the reward is read off the intervals that are
//! printed beside it, so that no sentence can contradict a figure.

use super::evaluator_groups::{are_near, groups_of_near_duplicates, groups_that_are_one};
use super::gather::ReportData;
use super::rank_correlation::HeavyTails;
use super::summary::listed;
use super::{EvaluatorReport, Relation, Report, selection_bias};
use jurybox::Interval;
use jurybox_draw::{counted, short};

/// Labels below which gains and weights are guesses.
const FEW_LABELS: u64 = 100;
/// The same for the rarer of two verdicts.
const FEW_OF_A_KIND: u64 = 30;
/// The same below which intervals are too narrow, by measurement.
pub(super) const FEWEST_OF_A_KIND: u64 = 10;
/// The share of rows with a twin from which on it is a warning.
const MANY_TWINS: f64 = 0.03;
/// A correlation with the reward above which an evaluator may be the reward itself.
const TOO_GOOD: f64 = 0.99;

/// More warnings of one kind than that become one that counts them.
const MOST_OF_A_KIND: usize = 6;
/// Names in a warning before the rest is counted.
const NAMED: usize = 8;

pub(super) fn warnings(report: &Report, gathered: &ReportData) -> Vec<String> {
    let mut list = report.policy.alarms.clone();
    if few_labels(report) {
        list.push(format!(
            "Only {} a reward: gains, weights and curves are rough guesses. A few hundred are a good start.",
            if report.labelled == 1 { "1 row has".into() } else { format!("{} rows have", report.labelled) }
        ));
    } else if let Some((value, count)) = gathered.outcomes.rarer().filter(|rarer| rarer.1 < FEW_OF_A_KIND) {
        list.push(format!(
            "Only {count} of the {} rewards are {}: what is said of them rests on these few.",
            report.labelled,
            short(value)
        ));
    }
    list.extend(narrow(report, gathered));
    list.extend(repeated(report));
    list.extend(duplicate_scores(report));
    list.extend(selection_bias::picked(gathered, report));
    if report.from.starts_with("nothing") {
        list.push(
            "The evaluators' scores do not move together enough to tell signal from noise by themselves: \
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
    let mut kinds = GroupedWarnings::default();
    for (at, about) in report.evaluators.iter().enumerate() {
        kinds.extend(at, scored(about));
        kinds.extend(at, related(about, report));
    }
    kinds.tell(report, &mut list);
    list.extend(unweighed(report));
    let mut missing = GroupedWarnings::default();
    for (at, said) in selection_bias::missing(&gathered.sample, report) {
        missing.extend(at, Some(("are missing where the reward is another than elsewhere", said)));
    }
    missing.tell(report, &mut list);
    copies(report, &mut list);
    near_duplicates(report, &mut list);
    if (report.sampled as u64) < report.rows && report.repeated_items == 0 {
        list.push(format!(
            "The curves and the top K come from a random sample of {} of the {} rows; everything else from all of them.",
            report.sampled, report.rows
        ));
    }
    list
}

/// Items with several rows, and what that means here.
fn repeated(report: &Report) -> Option<String> {
    let items = report.repeated_items;
    let have = if items == 1 { "has" } else { "have" };
    (items > 0).then(|| {
        format!(
            "{} {have} several rows, by the ids: intervals count items, not rows, and the curves and the top K have one row of \
             each ({} of {} rows).",
            counted(items, "item"),
            report.sampled,
            report.rows
        )
    })
}

/// Whether there are too few rewards for more than guesses.
pub(super) fn few_labels(report: &Report) -> bool {
    report.reward.is_some() && report.labelled < FEW_LABELS
}

/// Warnings about single evaluators, by kind: what many share is said once.
#[derive(Default)]
struct GroupedWarnings(Vec<(&'static str, Vec<(usize, String)>)>);

impl GroupedWarnings {
    fn extend(&mut self, at: usize, warning: Option<(&'static str, String)>) {
        let Some((kind, said)) = warning else { return };
        match self.0.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, list)) => list.push((at, said)),
            None => self.0.push((kind, vec![(at, said)])),
        }
    }

    fn tell(self, report: &Report, list: &mut Vec<String>) {
        // In the order of the evaluators, where each has a sentence of its own.
        let (alone, many): (Vec<_>, Vec<_>) =
            self.0.into_iter().partition(|(_, those)| those.len() <= MOST_OF_A_KIND);
        let mut alone: Vec<(usize, String)> = alone.into_iter().flat_map(|(_, those)| those).collect();
        alone.sort_by_key(|(at, _)| *at);
        list.extend(alone.into_iter().map(|(_, said)| said));
        for (kind, those) in many {
            let names: Vec<&str> = those.iter().map(|(at, _)| report.evaluators[*at].name.as_str()).collect();
            list.push(format!("{} evaluators {kind}: {}.", names.len(), listed(&names, NAMED)));
        }
    }
}

/// Whether an evaluator says anything at all.
fn scored(about: &EvaluatorReport) -> Option<(&'static str, String)> {
    let name = &about.name;
    if about.coverage == 0.0 {
        Some(("gave no score at all", format!("`{name}` gave no score at all.")))
    } else if about.silence_is_read {
        let said = format!(
            "`{name}` gives one score, on {:.0}% of the rows, or none: none counts as 0, as `adaptive` reads it.",
            100.0 * about.coverage
        );
        Some(("give one score or none: none counts as 0, as `adaptive` reads it", said))
    } else if about.deviation.is_nan() || about.deviation == 0.0 {
        let said =
            format!("`{name}` never varies (always {}): it cannot tell items apart.", short(about.mean));
        Some(("never vary, and cannot tell items apart", said))
    } else if about.coverage < 0.5 {
        let said = format!("`{name}` scored only {:.0}% of the rows.", 100.0 * about.coverage);
        Some(("scored less than half of the rows", said))
    } else {
        None
    }
}

/// Whether an evaluator may be the reward itself.
pub(super) fn all_but_the_reward(about: &EvaluatorReport) -> bool {
    about.correlation.is_some_and(|correlation| correlation.low > TOO_GOOD)
}

/// What the intervals say of an evaluator and the reward, or the others where there are no rewards.
fn related(about: &EvaluatorReport, report: &Report) -> Option<(&'static str, String)> {
    let rewarded = report.rewarded();
    let (name, against) = (&about.name, if rewarded { "the reward" } else { "the other evaluators" });
    let figure = match (about.correlation, about.weight) {
        (Some(correlation), _) if about.rank_correlation => format!("correlation of ranks {}", said(correlation)),
        (Some(correlation), _) => format!("correlation {}", said(correlation)),
        (None, Some(weight)) => format!("weight {}", said(weight)),
        (None, None) => String::new(),
    };
    match about.relation {
        Relation::Against => Some((
            if rewarded { "go against the reward" } else { "go against the other evaluators" },
            format!(
                "`{name}` goes against {against} ({figure}): low seems to mean high. If that is how it is meant, invert it."
            ),
        )),
        Relation::NotSeen => Some((
            if about.nonlinear {
                "show no straight-line relation beyond chance, but their curves show one"
            } else {
                "show no straight-line relation beyond chance"
            },
            format!(
                "`{name}` shows no straight-line relation to {against} beyond chance ({figure}){}.",
                nonlinear(about)
            ),
        )),
        Relation::BesideOthers => Some((
            "show no straight-line relation alone, but do beside the others",
            format!(
                "`{name}` alone shows no straight-line relation to the reward beyond chance ({figure}), but beside the others it \
                 does (weight {}){}.",
                about.weight.map_or_else(String::new, said),
                nonlinear(about)
            ),
        )),
        Relation::With if all_but_the_reward(about) => Some((
            "all but are the reward",
            format!(
                "`{name}` all but is the reward ({figure}). If it is only known once somebody has looked, leave it out."
            ),
        )),
        Relation::With | Relation::Unknown => None,
    }
}

/// Where a line shows nothing and the curve does.
fn nonlinear(about: &EvaluatorReport) -> &'static str {
    if about.nonlinear { ", but its curve shows one: see there" } else { "" }
}

/// Where intervals hold less often than they should.
pub(super) fn narrow(report: &Report, gathered: &ReportData) -> Vec<String> {
    let mut list = Vec::new();
    if let Some((value, count)) = gathered.outcomes.rarer().filter(|rarer| rarer.1 < FEWEST_OF_A_KIND) {
        list.push(format!(
            "With only {count} rewards of {}, intervals are too narrow: on made-up tables like that those of a column held \
             together in 83 to 86 of 100 reports, not in 95.",
            short(value)
        ));
    }
    let tails = HeavyTails::of(gathered);
    let heavy = report.evaluators.iter().zip(&tails.scores).filter(|(_, heavy)| **heavy);
    let names: Vec<&str> = heavy.map(|(about, _)| about.name.as_str()).collect();
    let mut who = listed(&names, NAMED);
    let mut have = if names.len() == 1 { "has" } else { "have" };
    if tails.reward {
        (who, have) = if names.is_empty() {
            ("the reward".into(), "has")
        } else {
            (format!("{who}, and the reward,"), "have")
        };
    }
    if !who.is_empty() {
        list.push(format!(
            "{who} {have} heavy tails: a few rows carry the sums, and intervals of weights are too narrow. On made-up tables with \
             lognormal scores and rewards they held together in 77 to 86 of 100 reports, not in 95. {}A logarithm may serve \
             better.",
            if report.rewarded() { "Correlations, and what to do, go by ranks there. " } else { "" }
        ));
    }
    list
}

/// Rows that have the scores of another.
fn duplicate_scores(report: &Report) -> Option<String> {
    (report.duplicate_scores as f64 > MANY_TWINS * report.sampled as f64).then(|| {
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
    let names: Vec<&str> = those.map(|about| about.name.as_str()).collect();
    let who = match names[..] {
        [] => return None,
        [one] => format!("`{one}` has"),
        _ => format!("Each of {} has", listed(&names, NAMED)),
    };
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
    let groups = groups_that_are_one(report);
    for group in groups.iter().take(MOST_OF_A_KIND) {
        list.push(format!(
            "{} are one: each is the other in other units. Their weight is that of all of them together.",
            listed(&names(report, group), NAMED)
        ));
    }
    more_sets(groups.len(), "evaluators that are one", list);
}

/// Every set of evaluators that are linked by pairs whose errors go together, by itself.
fn near_duplicates(report: &Report, list: &mut Vec<String>) {
    let groups = groups_of_near_duplicates(report);
    for group in groups.iter().take(MOST_OF_A_KIND) {
        let names = listed(&names(report, group), NAMED);
        if let [i, j] = group[..] {
            list.push(format!(
                "{names} are near-duplicates: their errors correlate at {:.2}. Two voices, one opinion.",
                report.error_correlation[j][i]
            ));
        } else {
            let pairs = group.iter().flat_map(|&i| group.iter().map(move |&j| (i, j)));
            let pairs = pairs.filter(|&(i, j)| i < j && are_near(report, i, j)).count();
            list.push(format!(
                "{names} are near-duplicates: in {pairs} pairs of them the errors correlate above 0.9. Many voices, one opinion."
            ));
        }
    }
    more_sets(groups.len(), "near-duplicates", list);
}

fn names<'a>(report: &'a Report, group: &[usize]) -> Vec<&'a str> {
    group.iter().map(|&at| report.evaluators[at].name.as_str()).collect()
}

fn more_sets(sets: usize, of: &str, list: &mut Vec<String>) {
    if sets > MOST_OF_A_KIND {
        list.push(format!("There are {} of {of}.", counted((sets - MOST_OF_A_KIND) as u64, "more set")));
    }
}

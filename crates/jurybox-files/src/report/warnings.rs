//! The warnings of a report, in sentences.

use super::evaluator_groups::{are_near, copy_groups, near_duplicate_groups};
use super::gather::ReportData;
use super::rank_correlation::HeavyTails;
use super::summary::listed;
use super::{Basis, EvaluatorReport, Relation, Report, selection_bias};
use jurybox::Interval;
use jurybox_draw::{counted, short};

/// Number of rewards below which gains and weights are guesses.
const FEW_LABELS: u64 = 100;
/// Count of the rarer of two rewards below which gains and weights are guesses.
const FEW_OF_A_KIND: u64 = 30;
/// Count of the rarer of two rewards below which intervals are too narrow, by simulation.
pub(super) const FEWEST_OF_A_KIND: u64 = 10;
/// Share of rows with the same scores as another row above which there is a warning.
const MANY_DUPLICATES: f64 = 0.03;
/// A correlation with the reward above which an evaluator may be the reward itself.
const TOO_GOOD: f64 = 0.99;

/// Maximum number of warnings of one kind that are listed; more are joined into one.
const MOST_OF_A_KIND: usize = 6;
/// Number of names that a warning shows before the number of the rest.
const NAMED: usize = 8;

/// All warnings, in sentences.
pub(super) fn warnings(report: &Report, data: &ReportData) -> Vec<String> {
    let mut list = report.policy.alarms.clone();
    if few_labels(report) {
        list.push(format!(
            "Only {} a reward, so that gains, weights and curves are rough guesses. Aim for a few hundred.",
            if report.labelled == 1 { "1 row has".into() } else { format!("{} rows have", report.labelled) }
        ));
    } else if let Some((value, count)) = data.outcomes.rarer().filter(|rarer| rarer.1 < FEW_OF_A_KIND) {
        list.push(format!(
            "Only {count} of the {} rewards are {}, so that all figures depend on these few.",
            report.labelled,
            short(value)
        ));
    }
    list.extend(narrow(report, data));
    list.extend(repeated(report));
    list.extend(duplicate_scores(report));
    list.extend(selection_bias::picked(data, report));
    if matches!(report.from, Basis::EqualRewards | Basis::FewRewards) {
        list.push(
            "The scores of the evaluators do not agree enough to tell signal from noise by themselves: \
             no gains, noise levels or weights can be given."
                .into(),
        );
    } else if !report.rewarded() && report.evaluators.iter().all(|about| about.weight.is_none()) {
        list.push(
            "The one-factor model explains one evaluator completely, or does so if a few rows are left out: \
             no weights can be given without rewards."
                .into(),
        );
    }
    let mut kinds = GroupedWarnings::default();
    for (at, about) in report.evaluators.iter().enumerate() {
        kinds.extend(at, score_warning(about));
        kinds.extend(at, relation_warning(about, report));
    }
    kinds.append_to(report, &mut list);
    list.extend(unweighed(report));
    let mut missing = GroupedWarnings::default();
    for (at, said) in selection_bias::missing(&data.sample, report) {
        missing.extend(at, Some(("have no scores where the reward is higher or lower", said)));
    }
    missing.append_to(report, &mut list);
    copies(report, &mut list);
    near_duplicates(report, &mut list);
    if (report.sampled as u64) < report.rows && report.repeated_items == 0 {
        list.push(format!(
            "The curves and the top K come from a random sample of {} of the {} rows, all other figures from all rows.",
            report.sampled, report.rows
        ));
    }
    list
}

/// A warning on items with several rows.
fn repeated(report: &Report) -> Option<String> {
    let items = report.repeated_items;
    let have = if items == 1 { "has" } else { "have" };
    (items > 0).then(|| {
        format!(
            "{} {have} several rows with the same id: intervals count items, not rows, and the curves and the top K use one row \
             per item ({} of {} rows).",
            counted(items, "item"),
            report.sampled,
            report.rows
        )
    })
}

/// Whether there are so few rewards that figures are rough guesses.
pub(super) fn few_labels(report: &Report) -> bool {
    report.reward.is_some() && report.labelled < FEW_LABELS
}

/// Warnings about single evaluators, by kind. Each has the kind in words and, per evaluator, its
/// position and sentence.
#[derive(Default)]
struct GroupedWarnings(Vec<(&'static str, Vec<(usize, String)>)>);

impl GroupedWarnings {
    /// Adds a warning about the evaluator at position `at`.
    fn extend(&mut self, at: usize, warning: Option<(&'static str, String)>) {
        let Some((kind, said)) = warning else { return };
        match self.0.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, list)) => list.push((at, said)),
            None => self.0.push((kind, vec![(at, said)])),
        }
    }

    /// Appends the warnings to `list`; many of one kind become one.
    fn append_to(self, report: &Report, list: &mut Vec<String>) {
        // Single sentences are in the order of the evaluators.
        let (alone, many): (Vec<_>, Vec<_>) =
            self.0.into_iter().partition(|(_, members)| members.len() <= MOST_OF_A_KIND);
        let mut alone: Vec<(usize, String)> = alone.into_iter().flat_map(|(_, members)| members).collect();
        alone.sort_by_key(|(at, _)| *at);
        list.extend(alone.into_iter().map(|(_, said)| said));
        for (kind, members) in many {
            let names: Vec<&str> =
                members.iter().map(|(at, _)| report.evaluators[*at].name.as_str()).collect();
            list.push(format!("{} evaluators {kind}: {}.", names.len(), listed(&names, NAMED)));
        }
    }
}

/// A warning on the scores of an evaluator: none, a single value, or few.
fn score_warning(about: &EvaluatorReport) -> Option<(&'static str, String)> {
    let name = &about.name;
    if about.coverage == 0.0 {
        Some(("have no scores", format!("`{name}` has no scores.")))
    } else if about.missing_is_zero {
        let said = format!(
            "`{name}` has the same score in {:.0}% of the rows and none in the others: missing scores count as 0, as in `adaptive`.",
            100.0 * about.coverage
        );
        Some(("have a single score, so that missing ones count as 0, as in `adaptive`", said))
    } else if about.deviation.is_nan() || about.deviation == 0.0 {
        let said = format!("`{name}` is always {}, and so says nothing about items.", short(about.mean));
        Some(("are constant, and so say nothing about items", said))
    } else if about.coverage < 0.5 {
        let said = format!("`{name}` has scores in only {:.0}% of the rows.", 100.0 * about.coverage);
        Some(("have scores in less than half of the rows", said))
    } else {
        None
    }
}

/// Whether the correlation is so high that the evaluator may be the reward itself.
pub(super) fn is_nearly_the_reward(about: &EvaluatorReport) -> bool {
    about.correlation.is_some_and(|correlation| correlation.low > TOO_GOOD)
}

/// A warning on the relation of an evaluator to the reward; without rewards, to the other
/// evaluators.
fn relation_warning(about: &EvaluatorReport, report: &Report) -> Option<(&'static str, String)> {
    let rewarded = report.rewarded();
    let (name, against) = (&about.name, if rewarded { "the reward" } else { "the score of the others" });
    let figure = match (about.correlation, about.weight) {
        (Some(correlation), _) if about.rank_correlation => {
            format!("rank correlation {}", with_interval(correlation))
        }
        (Some(correlation), _) => format!("correlation {}", with_interval(correlation)),
        (None, Some(weight)) => format!("weight {}", with_interval(weight)),
        (None, None) => String::new(),
    };
    match about.relation {
        Relation::Against => Some((
            if rewarded { "fall as the reward rises" } else { "fall as the other evaluators rise" },
            format!(
                "`{name}` falls as {against} rises ({figure}). If low scores are meant to be high rewards, invert it."
            ),
        )),
        Relation::NotSeen => Some((
            if about.nonlinear {
                "show no linear relation beyond chance, but their curves show one"
            } else {
                "show no linear relation beyond chance"
            },
            format!(
                "`{name}` shows no linear relation to {against} beyond chance ({figure}){}.",
                nonlinear(about)
            ),
        )),
        Relation::BesideOthers => Some((
            "show no linear relation alone, but one if the other scores are equal",
            format!(
                "`{name}` alone shows no linear relation to the reward beyond chance ({figure}), but one if the other scores are \
                 equal (weight {}){}.",
                about.weight.map_or_else(String::new, with_interval),
                nonlinear(about)
            ),
        )),
        Relation::With if is_nearly_the_reward(about) => Some((
            "nearly equal the reward",
            format!(
                "`{name}` nearly equals the reward ({figure}). If it is known only after the review, leave it out."
            ),
        )),
        Relation::With | Relation::Unknown => None,
    }
}

/// The addition to a sentence if only the curve shows a relation.
fn nonlinear(about: &EvaluatorReport) -> &'static str {
    if about.nonlinear { ", but its curve shows one" } else { "" }
}

/// Warnings on intervals that are too narrow.
pub(super) fn narrow(report: &Report, data: &ReportData) -> Vec<String> {
    let mut list = Vec::new();
    if let Some((value, count)) = data.outcomes.rarer().filter(|rarer| rarer.1 < FEWEST_OF_A_KIND) {
        list.push(format!(
            "With only {count} rewards of {}, intervals are too narrow: in simulations, all intervals of a column covered the truth \
             in 83 to 86 of 100 reports, not in 95.",
            short(value)
        ));
    }
    let tails = HeavyTails::of(data);
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
            "{who} {have} heavy tails: a few rows dominate, and intervals of weights are too narrow. In simulations with lognormal \
             scores and rewards, all of them covered the truth in 77 to 86 of 100 reports, not in 95. {}Consider taking logarithms.",
            if report.rewarded() { "Correlations and advice use ranks there. " } else { "" }
        ));
    }
    list
}

/// A warning on rows with the same scores as another row.
fn duplicate_scores(report: &Report) -> Option<String> {
    (report.duplicate_scores as f64 > MANY_DUPLICATES * report.sampled as f64).then(|| {
        format!(
            "{}: scores are coarse, or rows are repeated. Repeated rows make intervals too narrow.",
            report.duplicates_summary()
        )
    })
}

/// A warning on evaluators with a correlation but without a weight.
fn unweighed(report: &Report) -> Option<String> {
    let members =
        report.evaluators.iter().filter(|about| about.correlation.is_some() && about.weight.is_none());
    let names: Vec<&str> = members.map(|about| about.name.as_str()).collect();
    let who = match names[..] {
        [] => return None,
        [one] => format!("`{one}` has"),
        _ => format!("Each of {} has", listed(&names, NAMED)),
    };
    Some(format!(
        "{who} no weight: the other evaluators nearly determine it, or there are too few rewards for so many evaluators."
    ))
}

/// An estimate with its interval: `0.5, 0.4 to 0.6`.
fn with_interval(estimate: Interval) -> String {
    format!("{}, {} to {}", short(estimate.mean), short(estimate.low), short(estimate.high))
}

/// Warnings on groups of copies.
fn copies(report: &Report, list: &mut Vec<String>) {
    let groups = copy_groups(report);
    for group in groups.iter().take(MOST_OF_A_KIND) {
        list.push(format!(
            "{} are copies of each other, up to their units. Their weight is that of all of them together.",
            listed(&names(report, group), NAMED)
        ));
    }
    more_groups(groups.len(), "copies", list);
}

/// Warnings on groups of near-duplicates.
fn near_duplicates(report: &Report, list: &mut Vec<String>) {
    let groups = near_duplicate_groups(report);
    for group in groups.iter().take(MOST_OF_A_KIND) {
        let names = listed(&names(report, group), NAMED);
        if let [i, j] = group[..] {
            list.push(format!(
                "{names} are near-duplicates: the correlation of their errors is {:.2}.",
                report.error_correlation[j][i]
            ));
        } else {
            let pairs = group.iter().flat_map(|&i| group.iter().map(move |&j| (i, j)));
            let pairs = pairs.filter(|&(i, j)| i < j && are_near(report, i, j)).count();
            list.push(format!(
                "{names} are near-duplicates: in {pairs} pairs, the correlation of errors is above 0.9."
            ));
        }
    }
    more_groups(groups.len(), "near-duplicates", list);
}

/// The names of a group of evaluators.
fn names<'a>(report: &'a Report, group: &[usize]) -> Vec<&'a str> {
    group.iter().map(|&at| report.evaluators[at].name.as_str()).collect()
}

/// Adds the number of groups that are not listed.
fn more_groups(sets: usize, of: &str, list: &mut Vec<String>) {
    if sets > MOST_OF_A_KIND {
        list.push(format!("There are {} of {of}.", counted((sets - MOST_OF_A_KIND) as u64, "more group")));
    }
}

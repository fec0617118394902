//! The advice of a report in two sentences, as clauses by kind of [`Advice`] and warning.

use super::evaluator_groups::{copy_groups, near_duplicate_groups};
use super::gather::ReportData;
use super::{Advice, EvaluatorReport, Relation, Report, selection_bias, warnings};
use jurybox_draw::{counted, short};

/// Number of names that [`listed`] shows before the number of the rest.
const NAMED: usize = 4;
/// Maximum number of groups of similar evaluators in a sentence.
const GROUPS: usize = 2;
/// Longer names are cut to this many characters.
const LONGEST: usize = 40;

/// A list of names. Of more than `most` + 1 names, the first `most` and the number of the rest.
pub(super) fn listed<S: AsRef<str>>(names: &[S], most: usize) -> String {
    let quoted = |name: &S| {
        let name = name.as_ref();
        if name.chars().count() <= LONGEST {
            return format!("`{name}`");
        }
        let cut: String = name.chars().take(LONGEST - 1).collect();
        format!("`{cut}…`")
    };
    match names {
        [] => String::new(),
        [one] => quoted(one),
        [first @ .., last] if names.len() <= most + 1 => {
            format!("{} and {}", first.iter().map(quoted).collect::<Vec<_>>().join(", "), quoted(last))
        }
        _ => {
            let shown: Vec<String> = names.iter().take(most).map(quoted).collect();
            format!("{} and {} more", shown.join(", "), names.len() - most)
        }
    }
}

/// The two sentences: whom to trust, and what to be careful about.
pub(super) fn sentences(report: &Report, data: &ReportData) -> Vec<String> {
    let first = if report.rewarded() || report.policy.of_state {
        trust_clauses(report)
    } else {
        agreement_clauses(report, data)
    };
    let mut second = similar_clauses(report);
    let of = |advice| named(report, advice);
    second.extend(clause(&of(Advice::Changed), |names, _| format!("{names} changed: ask those who run it")));
    second.extend(clause(&of(Advice::Check), |names, _| {
        format!("{names} nearly equals the reward: leave it out unless it is known before the review")
    }));
    second.extend(clause(&of(Advice::Keep), |names, one| {
        let are = if one { "is" } else { "are" };
        format!("{names} {are} related to the reward only if the other scores are equal, or not linearly")
    }));
    second.extend(clause(&redundant_names(report), |names, one| {
        let add = if one { "adds" } else { "add" };
        format!("these rows do not show that {names} {add} anything to the others")
    }));
    if report.rewarded() || report.policy.of_state {
        second.extend(clause(&of(Advice::Undecided), |names, _| {
            format!("these rows are too few to judge {names}")
        }));
        second.extend(caution_clauses(report, data));
    } else if report.labelled > 1 && data.outcomes.only().is_some() {
        second.push(
            "review rows until some have another reward, a random sample among them, and make this report again"
                .into(),
        );
    } else {
        second.push("review a few hundred rows, drawn at random, and make this report again".into());
    }
    if second.is_empty() {
        second.push("no two of them are copies".into());
    }
    vec![sentence(&first), sentence(&second)]
}

/// The names of evaluators with this advice, most useful first.
fn named(report: &Report, advice: Advice) -> Vec<&str> {
    let those = report.by_use().into_iter().map(|at| &report.evaluators[at]);
    those.filter(|about| about.advice == advice).map(|about| about.name.as_str()).collect()
}

/// The names of trusted evaluators that are not shown to add anything to the others. Empty if no
/// trusted evaluator is shown to add anything.
fn redundant_names(report: &Report) -> Vec<&str> {
    let order = report.by_use().into_iter().map(|at| &report.evaluators[at]);
    let trusted: Vec<&EvaluatorReport> = order.filter(|about| about.advice == Advice::Trust).collect();
    let adds = |about: &EvaluatorReport| about.weight.is_some_and(|weight| weight.low > 0.0);
    if !report.rewarded() || !trusted.iter().any(|about| adds(about)) {
        return Vec::new();
    }
    let redundant = trusted.into_iter().filter(|about| about.weight.is_some() && !adds(about));
    redundant.map(|about| about.name.as_str()).collect()
}

/// A clause about some evaluators, if there are any. `say` gets the list of names, and whether
/// there is only one.
fn clause(names: &[&str], say: impl Fn(String, bool) -> String) -> Option<String> {
    (!names.is_empty()).then(|| say(listed(names, NAMED), names.len() == 1))
}

/// Clauses on the evaluators to trust, invert or mute.
fn trust_clauses(report: &Report) -> Vec<String> {
    let reward = match &report.reward {
        Some(column) if report.rewarded() => format!("`{column}`"),
        _ => "the rewards that the state has learnt".into(),
    };
    let trusted = named(report, Advice::Trust);
    let mut clauses: Vec<String> = clause(&trusted, |names, one| {
        let rise = if one { "its scores rise" } else { "their scores rise" };
        format!("trust {names}: {rise} with {reward}")
    })
    .into_iter()
    .collect();
    if trusted.is_empty() {
        clauses.push(format!("no evaluator's scores are shown to rise with {reward}"));
    }
    clauses.extend(clause(&named(report, Advice::Invert), |names, one| {
        let fall = if one { "its scores fall" } else { "their scores fall" };
        format!("invert {names}, or ask why {fall} as it rises")
    }));
    clauses.extend(clause(&named(report, Advice::Mute), |names, one| {
        format!("mute {names}, which {} next to nothing here", if one { "says" } else { "say" })
    }));
    clauses
}

/// Clauses on the agreement of evaluators without rewards.
fn agreement_clauses(report: &Report, data: &ReportData) -> Vec<String> {
    let with = |relation| {
        let those = report.by_use().into_iter().map(|at| &report.evaluators[at]);
        let those = those.filter(|about| about.relation == relation && about.advice == Advice::Undecided);
        those.map(|about| about.name.as_str()).collect::<Vec<&str>>()
    };
    let why = match data.outcomes.only() {
        Some(value) if report.labelled > 1 => {
            format!(
                "all {} rewards are {}, so that no evaluator can be judged",
                report.labelled,
                short(value)
            )
        }
        _ => "without rewards it is not known whom to trust".into(),
    };
    let mut clauses = vec![why];
    clauses.extend(clause(&with(Relation::With), |names, one| {
        format!("{names} {} with the others", if one { "agrees" } else { "agree" })
    }));
    clauses.extend(clause(&with(Relation::Against), |names, one| {
        format!("{names} {} with them", if one { "disagrees" } else { "disagree" })
    }));
    clauses.extend(clause(&with(Relation::NotSeen), |names, one| {
        format!("{names} {} no relation to them", if one { "shows" } else { "show" })
    }));
    clauses.extend(clause(&named(report, Advice::Mute), |names, one| {
        format!("{names} {} nothing about items", if one { "says" } else { "say" })
    }));
    clauses
}

/// Clauses on copies and near-duplicates.
fn similar_clauses(report: &Report) -> Vec<String> {
    let sets = |groups: Vec<Vec<usize>>, say: &dyn Fn(String) -> String| {
        let more = groups.len().saturating_sub(GROUPS);
        let names = |group: &Vec<usize>| -> Vec<&str> {
            group.iter().map(|&at| report.evaluators[at].name.as_str()).collect()
        };
        let mut clauses: Vec<String> =
            groups.iter().take(GROUPS).map(|group| say(listed(&names(group), NAMED))).collect();
        if more > 0 {
            clauses.push(format!(
                "so {} {}",
                if more == 1 { "is" } else { "are" },
                counted(more as u64, "more group")
            ));
        }
        clauses
    };
    let mut clauses = sets(copy_groups(report), &|names| format!("{names} are copies: keep one"));
    clauses
        .extend(sets(near_duplicate_groups(report), &|names| format!("{names} make nearly the same errors")));
    clauses
}

/// Clauses on the limits of the figures.
fn caution_clauses(report: &Report, data: &ReportData) -> Vec<String> {
    let mut clauses = Vec::new();
    if report.rewarded() && warnings::few_labels(report) {
        clauses.push(format!("with {}, all figures are rough guesses", counted(report.labelled, "reward")));
    } else if report.rewarded() && !warnings::narrow(report, data).is_empty() {
        clauses.push("some intervals are too narrow".into());
    }
    if report.rewarded() && selection_bias::shift(data, report).is_some() {
        clauses.push("all figures hold for rows like those that were reviewed".into());
    }
    clauses
}

/// Joins clauses to a sentence.
fn sentence(clauses: &[String]) -> String {
    let text = clauses.join("; ");
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).chain(['.']).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_says_how_many_more_there_are() {
        assert_eq!(listed(&["a"], 4), "`a`");
        assert_eq!(listed(&["a", "b", "c"], 4), "`a`, `b` and `c`");
        assert_eq!(listed(&["a", "b", "c", "d", "e"], 4), "`a`, `b`, `c`, `d` and `e`");
        assert_eq!(listed(&["a", "b", "c", "d", "e", "f"], 4), "`a`, `b`, `c`, `d` and 2 more");
        assert_eq!(listed(&["x".repeat(900)], 4).chars().count(), 42);
        assert_eq!(listed::<&str>(&[], 4), "");
    }

    #[test]
    fn clauses_become_a_sentence() {
        assert_eq!(sentence(&["`a` is".into(), "so is b".into()]), "`a` is; so is b.");
        assert_eq!(sentence(&["über".into()]), "Über.");
        assert_eq!(sentence(&[]), "");
    }
}

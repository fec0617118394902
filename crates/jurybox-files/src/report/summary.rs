//! What to do, in two sentences. Every clause repeats an [`Advice`] or a warning; none claims more than they do.

use super::evaluator_groups::{groups_of_near_duplicates, groups_that_are_one};
use super::gather::ReportData;
use super::{Advice, EvaluatorReport, Relation, Report, selection_bias, warnings};
use jurybox_draw::{counted, short};

/// Names in a list before the rest is counted.
const NAMED: usize = 4;
/// Sets of evaluators that are one, before the rest is counted.
const SETS: usize = 2;
/// Longer names are cut: the table has them whole.
const LONGEST: usize = 40;

/// Names in a sentence: as many as can be read, and how many more there are.
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

/// The two sentences.
pub(super) fn sentences(report: &Report, gathered: &ReportData) -> Vec<String> {
    let first =
        if report.rewarded() || report.policy.of_state { whom(report) } else { together(report, gathered) };
    let mut second = alike(report);
    let of = |advice| named(report, advice);
    second.extend(clause(&of(Advice::Changed), |names, _| format!("{names} changed: ask whoever runs that")));
    second.extend(clause(&of(Advice::Check), |names, _| {
        format!("{names} all but tells the reward: leave it out unless it is known beforehand")
    }));
    second.extend(clause(&of(Advice::Keep), |names, one| {
        let what = if one { "tells" } else { "tell" };
        format!("{names} {what} something only beside the others or along a curve")
    }));
    second.extend(clause(&spare(report), |names, one| {
        let add = if one { "adds" } else { "add" };
        format!("{names} {add} nothing to the others that these rows could show")
    }));
    if report.rewarded() || report.policy.of_state {
        second.extend(clause(&of(Advice::Undecided), |names, _| {
            format!("what {names} can do, these rows do not tell")
        }));
        second.extend(care(report, gathered));
    } else if report.labelled > 1 && gathered.outcomes.only().is_some() {
        second.push(
            "this report can tell more when rows with another reward have come, some of them drawn at random"
                .into(),
        );
    } else {
        second.push("have a few hundred rows, drawn at random, reviewed, and this report can tell".into());
    }
    if second.is_empty() {
        second.push("no two of them are one".into());
    }
    vec![sentence(&first), sentence(&second)]
}

/// Names of those with this advice, those of most use first.
fn named(report: &Report, advice: Advice) -> Vec<&str> {
    let those = report.by_use().into_iter().map(|at| &report.evaluators[at]);
    those.filter(|about| about.advice == advice).map(|about| about.name.as_str()).collect()
}

/// Those that go with the reward and are not shown to add anything to the others, where the rows tell that of some.
fn spare(report: &Report) -> Vec<&str> {
    let order = report.by_use().into_iter().map(|at| &report.evaluators[at]);
    let trusted: Vec<&EvaluatorReport> = order.filter(|about| about.advice == Advice::Trust).collect();
    let adds = |about: &EvaluatorReport| about.weight.is_some_and(|weight| weight.low > 0.0);
    if !report.rewarded() || !trusted.iter().any(|about| adds(about)) {
        return Vec::new();
    }
    let spare = trusted.into_iter().filter(|about| about.weight.is_some() && !adds(about));
    spare.map(|about| about.name.as_str()).collect()
}

/// A clause about some evaluators, where there are any; told whether it is one.
fn clause(names: &[&str], say: impl Fn(String, bool) -> String) -> Option<String> {
    (!names.is_empty()).then(|| say(listed(names, NAMED), names.len() == 1))
}

/// Whom to trust.
fn whom(report: &Report) -> Vec<String> {
    let reward = match &report.reward {
        Some(column) if report.rewarded() => format!("`{column}`"),
        _ => "the rewards that the state has seen".into(),
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
        format!("turn {names} round, or ask why {fall} where it rises")
    }));
    clauses.extend(clause(&named(report, Advice::Mute), |names, one| {
        format!("mute {names}, which {} next to nothing here", if one { "says" } else { "say" })
    }));
    clauses
}

/// Who moves together, where there are no rewards.
fn together(report: &Report, gathered: &ReportData) -> Vec<String> {
    let with = |relation| {
        let those = report.by_use().into_iter().map(|at| &report.evaluators[at]);
        let those = those.filter(|about| about.relation == relation && about.advice == Advice::Undecided);
        those.map(|about| about.name.as_str()).collect::<Vec<&str>>()
    };
    let why = match gathered.outcomes.only() {
        Some(value) if report.labelled > 1 => {
            format!("all {} rewards are {}, and tell nobody apart", report.labelled, short(value))
        }
        _ => "without rewards nobody can say whom to trust".into(),
    };
    let mut clauses = vec![why];
    clauses.extend(clause(&with(Relation::With), |names, one| {
        format!("{names} {} with the others", if one { "goes" } else { "go" })
    }));
    clauses.extend(clause(&with(Relation::Against), |names, one| {
        format!("{names} {} against them", if one { "goes" } else { "go" })
    }));
    clauses.extend(clause(&with(Relation::NotSeen), |names, one| {
        format!("{names} {} nothing in common with them", if one { "shows" } else { "show" })
    }));
    clauses.extend(clause(&named(report, Advice::Mute), |names, one| {
        format!("{names} {} no items apart", if one { "tells" } else { "tell" })
    }));
    clauses
}

/// Who is one with whom.
fn alike(report: &Report) -> Vec<String> {
    let sets = |groups: Vec<Vec<usize>>, say: &dyn Fn(String) -> String| {
        let more = groups.len().saturating_sub(SETS);
        let names = |group: &Vec<usize>| -> Vec<&str> {
            group.iter().map(|&at| report.evaluators[at].name.as_str()).collect()
        };
        let mut clauses: Vec<String> =
            groups.iter().take(SETS).map(|group| say(listed(&names(group), NAMED))).collect();
        if more > 0 {
            clauses.push(format!(
                "so {} {}",
                if more == 1 { "is" } else { "are" },
                counted(more as u64, "more set")
            ));
        }
        clauses
    };
    let mut clauses = sets(groups_that_are_one(report), &|names| format!("{names} are one: keep one"));
    clauses.extend(sets(groups_of_near_duplicates(report), &|names| {
        format!("{names} err alike, all but as one")
    }));
    clauses
}

/// Why to take it with care.
fn care(report: &Report, gathered: &ReportData) -> Vec<String> {
    let mut clauses = Vec::new();
    if report.rewarded() && warnings::few_labels(report) {
        clauses.push(format!("with {}, all of it is a rough guess", counted(report.labelled, "reward")));
    } else if report.rewarded() && !warnings::narrow(report, gathered).is_empty() {
        clauses.push("some intervals are too narrow, so take it with care".into());
    }
    if report.rewarded() && selection_bias::shift(gathered, report).is_some() {
        clauses.push("all of it holds for rows like those that were picked for review".into());
    }
    clauses
}

/// Clauses as one sentence.
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

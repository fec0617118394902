//! The groups that rows belong to, by the context columns of a table.
//!
//! Only juries whose weights differ by group are shown these columns: a group's number is no score.

use super::ReviewLog;
use super::pickers::CandidateRows;
use super::review_log::as_written;
use jurybox::{Direction, Evaluators, Jury};
use std::borrow::Cow;

/// The groups of all rows.
#[derive(Debug, Clone)]
pub(crate) struct RowGroups {
    /// Evaluators and contexts, in the order of the table.
    evaluators_and_contexts: Evaluators,
    /// Numbers of groups, row-major, one per context.
    of_rows: Vec<f64>,
}

impl RowGroups {
    pub(crate) fn new(evaluators_and_contexts: Evaluators, of_rows: Vec<f64>) -> RowGroups {
        RowGroups { evaluators_and_contexts, of_rows }
    }

    fn of_row(&self, row: usize) -> &[f64] {
        let contexts = self.evaluators_and_contexts.contexts().count();
        &self.of_rows[row * contexts..(row + 1) * contexts]
    }
}

impl ReviewLog {
    /// The evaluators together with the contexts; without contexts, the evaluators alone.
    pub(crate) fn with_contexts(&self) -> &Evaluators {
        self.groups.as_ref().map_or(&self.evaluators, |groups| &groups.evaluators_and_contexts)
    }

    /// Appends the numbers of a row's groups to `out`.
    pub(crate) fn push_groups(&self, row: usize, out: &mut Vec<f64>) {
        if let Some(groups) = &self.groups {
            out.extend_from_slice(groups.of_row(row));
        }
    }

    /// A warning that names the juries which do not see the groups, if any.
    pub(crate) fn juries_without_groups<'a>(
        &self,
        juries: impl Iterator<Item = (&'a str, &'a Jury)>,
    ) -> Option<String> {
        let groups = self.groups.as_ref()?;
        let deaf = juries.filter(|(_, jury)| jury.evaluators().contexts().next().is_none());
        let names: Vec<&str> = deaf.map(|(name, _)| name).collect();
        let contexts: Vec<&str> = groups
            .evaluators_and_contexts
            .contexts()
            .map(|column| groups.evaluators_and_contexts.as_slice()[column].name.as_str())
            .collect();
        (!names.is_empty()).then(|| {
            format!(
                "{}: the same weights for all groups, because {} {} not shown to them",
                names.join(", "),
                contexts.join(", "),
                if contexts.len() == 1 { "is" } else { "are" }
            )
        })
    }
}

/// The columns of the candidates that a jury is shown.
#[derive(Debug, Clone)]
pub(crate) struct JuryView {
    evaluators: Evaluators,
}

impl JuryView {
    /// The view of a jury with these evaluators. It has the log's contexts if the jury has any.
    ///
    /// Directions are those of the log, from which those of the jury may differ.
    pub(crate) fn to(evaluators: &Evaluators, log: &ReviewLog) -> JuryView {
        let with_groups = evaluators.contexts().next().is_some();
        JuryView { evaluators: if with_groups { log.with_contexts() } else { &log.evaluators }.clone() }
    }

    pub(crate) fn width(&self) -> usize {
        self.evaluators.len()
    }

    /// The candidates as the file has them, row-major, with their groups if the jury takes
    /// contexts.
    pub(crate) fn of<'a>(&self, candidates: &'a CandidateRows) -> Cow<'a, [f64]> {
        let contexts = self.evaluators.contexts().count();
        if contexts == 0 {
            return as_written(&self.evaluators, &candidates.scores);
        }
        let (mut scores, mut groups) = (candidates.scores.iter(), candidates.groups.iter());
        let mut table = Vec::with_capacity(candidates.rows.len() * self.width());
        for _ in &candidates.rows {
            table.extend(self.evaluators.as_slice().iter().filter_map(|one| match one.direction {
                Direction::Context => groups.next().copied(),
                Direction::High => scores.next().copied(),
                Direction::Low => scores.next().map(|score| -score),
            }));
        }
        Cow::Owned(table)
    }
}

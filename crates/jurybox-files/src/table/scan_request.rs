//! The parts of a row that a pass reads, and the use of each column for them.

use super::Table;
use crate::cell_number::Notation;
use crate::format::RowSource;
use crate::roles::ColumnInfo;
use crate::scan_plan::{ColumnUse, ScanPlan};
use jurybox::{Direction, Evaluator, Form};
use std::collections::HashMap;

/// The parts of a row that a pass reads besides the scores.
///
/// ```
/// let want = jurybox_files::ScanRequest { reward: true, ..jurybox_files::ScanRequest::default() };
/// assert!(!want.key);
/// ```
#[expect(clippy::struct_excessive_bools, reason = "each is one thing to read or not")]
#[derive(Debug, Clone, Copy, Default)]
pub struct ScanRequest<'a> {
    /// The reward, negated if low rewards are good.
    pub reward: bool,
    /// The logged probability with which the item was picked.
    pub probability: bool,
    /// The round or group.
    pub key: bool,
    /// The reviewer who gave the verdict.
    pub reviewer: bool,
    /// The item's identity, from the [id](crate::Roles::id) columns.
    pub ids: bool,
    /// Whether to keep the rows as stored in their sources.
    pub records: KeepRecords,
    /// Whether to negate the scores of evaluators whose low scores are good. This is for callers
    /// that do not know the directions; a jury does.
    pub upright: bool,
    /// How to compute the value of each row from its scores while these are read. `None` for no
    /// values. Ignored with `upright`.
    pub form: Option<&'a Form>,
}

/// The rows that a pass keeps as stored in their source, for output.
///
/// ```
/// assert_eq!(jurybox_files::KeepRecords::default(), jurybox_files::KeepRecords::None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeepRecords {
    /// No rows: only numbers, keys and ids are read.
    #[default]
    None,
    /// Rows that cannot be fetched by number after the pass: those of text files and of streams.
    Passing,
    /// All rows, with every column.
    All,
}

impl Table {
    /// The use of each column of a source in a pass.
    pub(crate) fn scan_plan(&self, source: &dyn RowSource, want: ScanRequest<'_>) -> ScanPlan {
        let column_roles = &self.roles;
        let mut wanted: Vec<(&str, ColumnUse)> = Vec::new();
        let sign = |of: &Evaluator| if of.direction == Direction::Low { -1.0 } else { 1.0 };
        for (evaluator, found) in column_roles.evaluators.as_slice().iter().enumerate() {
            let sign = if want.upright { sign(found) } else { 1.0 };
            let what = match found.direction {
                Direction::Context => ColumnUse::Group { evaluator },
                Direction::High | Direction::Low => ColumnUse::Score { evaluator, sign },
            };
            wanted.push((&found.name, what));
        }
        if let Some(reward) = column_roles.reward.as_ref().filter(|_| want.reward) {
            wanted.push((&reward.name, ColumnUse::Reward { sign: sign(reward) }));
        }
        for (asked, column, what) in [
            (want.probability, &column_roles.probability, ColumnUse::Probability),
            (want.key, &column_roles.key, ColumnUse::Key),
            (want.reviewer, &column_roles.reviewer, ColumnUse::Reviewer),
        ] {
            wanted.extend(column.as_deref().filter(|_| asked).map(|column| (column, what)));
        }
        if want.ids {
            wanted.extend(column_roles.id.iter().map(|column| (column.as_str(), ColumnUse::Id)));
        }
        wanted.extend(column_roles.empty_columns().map(|column| (column, ColumnUse::Watch)));
        let names: Vec<String> = source.columns().iter().map(|found| found.name.clone()).collect();
        let places: HashMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (&**name, at)).collect();
        let mut uses = vec![ColumnUse::Skip; names.len()];
        let mut lacking = Vec::new();
        for (column, what) in wanted {
            let unread = matches!(what, ColumnUse::Score { .. } | ColumnUse::Group { .. })
                && column_roles.is_unread(column);
            match places.get(column).copied().filter(|_| !unread) {
                // A column has one use; the first one wins, and those of evaluators come first.
                Some(at) if uses[at] == ColumnUse::Skip => uses[at] = what,
                Some(_) => {}
                None if what == ColumnUse::Watch => {}
                None => lacking.push(what),
            }
        }
        let records = match want.records {
            KeepRecords::None => false,
            KeepRecords::Passing => !source.is_seekable(),
            KeepRecords::All => true,
        };
        let rewards = column_roles.verdicts().map(Into::into);
        let form = want.form.filter(|_| !want.upright).cloned();
        let notation = |found: &ColumnInfo| {
            let notation = self.notation.of_column(found);
            if column_roles.verdicts() == Some(&*found.name) {
                Notation { labels: column_roles.labels.clone(), ..notation }
            } else {
                notation
            }
        };
        let notations = source.columns().iter().map(notation).collect();
        ScanPlan {
            uses,
            names,
            notations,
            evaluators: column_roles.evaluators.len(),
            rewards,
            records,
            lacking,
            form,
        }
    }
}

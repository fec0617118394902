//! The roles that the columns of a table were found to have, and their display as a sentence.

use crate::error::Error;
use crate::own_columns;
use crate::roles::{NotEvaluator, Role};
use crate::verdict_labels::VerdictLabels;
use crate::warning::Warning;
use jurybox::{Direction, Evaluator, Evaluators};
use std::collections::HashSet;
use std::path::Path;

/// The roles of the columns of a table.
///
/// ```no_run
/// # use jurybox_files::{Roles, Table};
/// # let table = Table::open(&["scores.csv".into()], &Roles::default(), false)?;
/// println!("{}", table.roles());
/// # Ok::<(), jurybox_files::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ColumnRoles {
    pub(crate) evaluators: Evaluators,
    pub(crate) reward: Option<Evaluator>,
    pub(crate) probability: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) reviewer: Option<String>,
    /// The role under which `key` is shown.
    pub(crate) key_role: Role,
    /// Columns that are only written out, with the reason why they are not evaluators.
    pub(crate) others: Vec<(String, NotEvaluator)>,
    /// Numeric columns that are left out only because they are named like output.
    pub(crate) numbers_like_output: Vec<String>,
    /// Evaluators whose columns are ignored, so that their scores are missing.
    pub(crate) unread: Vec<String>,
    /// Columns that hold the ids of items.
    pub(crate) id: Vec<String>,
    /// Whether rows are read for their texts, so that no evaluator needs a column.
    pub(crate) texts: bool,
    /// Whether the evaluators were found by rule: nobody named them, and no jury has learnt any.
    pub(crate) by_rule: bool,
    /// How a long table was made wide, in words.
    pub(crate) widened: Option<String>,
    pub(crate) warnings: Vec<Warning>,
    /// Numbers for words in the column of verdicts.
    pub(crate) labels: VerdictLabels,
    /// Whether the only evaluator's scores are verdicts.
    pub(crate) verdicts: bool,
}

impl ColumnRoles {
    /// The evaluators with their directions; their names are those of the columns.
    pub fn evaluators(&self) -> &Evaluators {
        &self.evaluators
    }

    /// The reward column.
    pub fn reward(&self) -> Option<&str> {
        self.reward.as_ref().map(|reward| reward.name.as_str())
    }

    /// The column of probabilities with which items were picked.
    pub fn probability(&self) -> Option<&str> {
        self.probability.as_deref()
    }

    /// The column of groups, rounds or ids by which rows are grouped.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The column of reviewers who gave the verdicts.
    pub fn reviewer(&self) -> Option<&str> {
        self.reviewer.as_deref()
    }

    /// Numeric columns that are left out only because rankings and picks write columns of these
    /// names. Empty if a column `rank` was left out too: then `rank` or `pick` wrote the table.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    /// use jurybox_files::{ReadOptions, Roles};
    /// use std::sync::Arc;
    ///
    /// let numbers: ArrayRef = Arc::new(Float64Array::from_iter_values([0.1, 0.9]));
    /// let first = RecordBatch::try_from_iter([("spam", numbers.clone()), ("score", numbers)])?;
    /// let roles = Roles::default().resolve_batches(&[vec![first]], &ReadOptions::default())?;
    /// assert_eq!(roles.named_like_output().collect::<Vec<_>>(), ["score"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn named_like_output(&self) -> impl Iterator<Item = &str> {
        let written = self
            .others
            .iter()
            .any(|(name, why)| name == own_columns::OURS[0] && *why == NotEvaluator::NamedLikeOutput);
        self.numbers_like_output.iter().filter(move |_| !written).map(String::as_str)
    }

    /// Numeric columns that would be evaluators if the state had not learnt other evaluators.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    /// use jurybox_files::{ReadOptions, Roles};
    /// use std::sync::Arc;
    ///
    /// let numbers: ArrayRef = Arc::new(Float64Array::from_iter_values([0.1, 0.9]));
    /// let first = RecordBatch::try_from_iter(
    ///     ["spam", "late", "verdict"].map(|name| (name, numbers.clone())),
    /// )?;
    /// let roles = Roles {
    ///     learnt_evaluators: vec!["spam".into()],
    ///     learnt_reward: Some("verdict".into()),
    ///     ..Roles::default()
    /// };
    /// let roles = roles.resolve_batches(&[vec![first]], &ReadOptions::default())?;
    /// assert_eq!(roles.unknown_to_jury().collect::<Vec<_>>(), ["late"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unknown_to_jury(&self) -> impl Iterator<Item = &str> {
        self.others
            .iter()
            .filter(|(_, why)| *why == NotEvaluator::UnknownToState)
            .map(|(name, _)| name.as_str())
    }

    /// The columns that a pass may read, except ids: evaluators, reward, probability, key and
    /// reviewer. Columns whose first rows are empty follow, to warn of values further down.
    pub fn columns_to_read(&self) -> impl Iterator<Item = &str> {
        let evaluators = self.evaluators.names().filter(|name| !self.is_unread(name));
        let named = evaluators.chain(self.reward()).chain(self.probability()).chain(self.key());
        named.chain(self.reviewer()).chain(self.empty_columns())
    }

    /// Warnings about the roles, such as numbers that can be read in two ways.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    /// use jurybox_files::{ReadOptions, Roles};
    /// use std::sync::Arc;
    ///
    /// let spam: ArrayRef = Arc::new(Float64Array::from_iter_values([0.1, 0.9]));
    /// let views: ArrayRef = Arc::new(StringArray::from(vec!["1,234", "7,100"]));
    /// let first = RecordBatch::try_from_iter([("spam", spam), ("views", views)])?;
    /// let roles = Roles::default().resolve_batches(&[vec![first]], &ReadOptions::default())?;
    /// assert_eq!(roles.warnings()[0].code(), "two-numbers");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

impl ColumnRoles {
    /// Columns that are not evaluators because their first rows are empty.
    pub(crate) fn empty_columns(&self) -> impl Iterator<Item = &str> {
        self.others.iter().filter(|(_, why)| *why == NotEvaluator::Empty).map(|(name, _)| name.as_str())
    }

    /// Errors if a source has no column of any evaluator, unless rows are read for their texts.
    pub(crate) fn has_one_of<'a>(
        &self,
        path: &Path,
        columns: impl Iterator<Item = &'a str>,
    ) -> Result<(), Error> {
        let columns: HashSet<&str> = columns.collect();
        if self.texts || self.evaluators.names().any(|name| columns.contains(name) && !self.is_unread(name)) {
            return Ok(());
        }
        let evaluators = self.evaluators.as_slice().iter().map(spoken).collect();
        Err(Error::NoneOfTheEvaluators { path: path.into(), evaluators })
    }

    /// The columns that hold the ids of items.
    pub fn id(&self) -> &[String] {
        &self.id
    }

    /// The column of verdicts, which may hold words: the reward, or the only evaluator if its
    /// scores are verdicts.
    pub(crate) fn verdicts(&self) -> Option<&str> {
        self.reward().or_else(|| self.evaluators.names().next().filter(|_| self.verdicts))
    }

    /// Whether a column is read as numbers.
    pub(crate) fn is_number(&self, name: &str) -> bool {
        (self.read_as(name).is_some() && !self.is_context(name))
            || self.reward() == Some(name)
            || self.probability.as_deref() == Some(name)
    }

    /// The columns that are read as numbers.
    pub(crate) fn numbers(&self) -> HashSet<&str> {
        let scores = self.evaluators.names().filter(|name| !self.is_unread(name) && !self.is_context(name));
        scores.chain(self.reward()).chain(self.probability()).collect()
    }

    /// Whether a column is read as numbers, key, reviewer, context or id.
    pub(crate) fn reads(&self, name: &str) -> bool {
        let is = |column: Option<&str>| column == Some(name);
        self.is_number(name)
            || is(self.key())
            || is(self.reviewer())
            || self.is_context(name)
            || self.id.iter().any(|id| id == name)
    }

    /// Whether a column is a context.
    pub(crate) fn is_context(&self, name: &str) -> bool {
        self.evaluators.as_slice().iter().any(|one| one.name == name && one.direction == Direction::Context)
    }

    /// The position of the evaluator whose scores are read from a column.
    pub(crate) fn read_as(&self, name: &str) -> Option<usize> {
        self.evaluators.position(name).filter(|_| !self.is_unread(name))
    }

    /// Whether the column of an evaluator is ignored.
    pub(crate) fn is_unread(&self, name: &str) -> bool {
        self.unread.iter().any(|other| other == name)
    }
}

/// The name of an evaluator as options take it: with a `-` in front if low scores stand for high
/// rewards.
pub(crate) fn spoken(evaluator: &Evaluator) -> String {
    let minus = if evaluator.direction == Direction::Low { "-" } else { "" };
    format!("{minus}{}", evaluator.name)
}

/// The name of an evaluator for a list: in quotes if it has a comma.
fn listed(evaluator: &Evaluator) -> String {
    let name = spoken(evaluator);
    if name.contains(',') { format!("\"{name}\"") } else { name }
}

/// A list of names. Of more than [`LISTED`] names, only the first are shown, with the number of the
/// rest.
fn few(names: impl ExactSizeIterator<Item = String>) -> String {
    let (all, shown) = (names.len(), if names.len() > LISTED { LISTED - 4 } else { LISTED });
    let list = names.take(shown).collect::<Vec<_>>().join(", ");
    if all > shown { format!("{list} and {} more ({all} in all)", all - shown) } else { list }
}

impl std::fmt::Display for ColumnRoles {
    /// `Scores: toxicity, spam. Id: post_id. Not used: author_id, lang.`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(widened) = &self.widened {
            write!(f, "{widened}. ")?;
        }
        let (contexts, evaluators): (Vec<&Evaluator>, Vec<&Evaluator>) =
            self.evaluators.as_slice().iter().partition(|one| one.direction == Direction::Context);
        write!(f, "Scores: {}.", few(evaluators.into_iter().map(listed)))?;
        let mut ids: Vec<String> = self.id.clone();
        ids.extend(self.key.clone().filter(|key| self.key_role == Role::Id && !self.id.contains(key)));
        if !ids.is_empty() {
            write!(f, " Id: {}.", few(ids.into_iter()))?;
        }
        if let Some(key) = self.key.as_ref().filter(|_| self.key_role != Role::Id) {
            write!(f, " Grouped by: {key}.")?;
        }
        if !contexts.is_empty() {
            write!(f, " Context: {}.", few(contexts.into_iter().map(listed)))?;
        }
        if let Some(reward) = &self.reward {
            write!(f, " Reward: {}.", spoken(reward))?;
        }
        if let Some(probability) = &self.probability {
            write!(f, " Probability: {probability}.")?;
        }
        if let Some(reviewer) = &self.reviewer {
            write!(f, " Reviewer: {reviewer}.")?;
        }
        let others = self.others.iter().filter(|(_, why)| *why != NotEvaluator::Id);
        let (used, unused): (Vec<_>, Vec<_>) =
            others.partition(|(_, why)| matches!(why, NotEvaluator::UsedFor(_)));
        for (heading, columns) in [("Other columns", used), ("Not used", unused)] {
            let columns = columns.into_iter().map(|(name, why)| {
                if why.is_surprising() { format!("{name} ({why})") } else { name.clone() }
            });
            if columns.len() > 0 {
                write!(f, " {heading}: {}.", few(columns))?;
            }
        }
        Ok(())
    }
}

/// Maximum number of names in a list that is shown in full.
const LISTED: usize = 16;

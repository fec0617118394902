//! Which column was taken as what, and how that is told.

use crate::error::Error;
use crate::verdict_labels::VerdictLabels;
use crate::own_columns;
use crate::roles::{EMPTY, OURS, UNKNOWN};
use crate::warning::Warning;
use jurybox::{Direction, Evaluator, Evaluators};
use std::collections::HashSet;
use std::path::Path;

/// Which column was taken as what.
///
/// ```no_run
/// # let table = jurybox_files::Table::open(&["scores.csv".into()], &jurybox_files::Roles::default(), false)?;
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
    /// Columns that only travel along, and why.
    pub(crate) others: Vec<(String, &'static str)>,
    /// Those of numbers that are passed over for their names alone.
    pub(crate) numbers_like_output: Vec<String>,
    /// Evaluators whose columns are not to be read: their scores are missing.
    pub(crate) unread: Vec<String>,
    /// Columns that name items.
    pub(crate) id: Vec<String>,
    /// Whether rows are wanted for their texts.
    pub(crate) texts: bool,
    /// Whether nobody said who the evaluators are, and every column of numbers was to be one.
    pub(crate) by_rule: bool,
    /// What was made of a long table, in a few words.
    pub(crate) widened: Option<String>,
    pub(crate) warnings: Vec<Warning>,
    /// What words in the column of verdicts are worth.
    pub(crate) labels: VerdictLabels,
    /// Whether that is the column of the one evaluator.
    pub(crate) verdicts: bool,
}

impl ColumnRoles {
    /// The evaluators, named after their columns, with their directions.
    pub fn evaluators(&self) -> &Evaluators {
        &self.evaluators
    }

    /// The reward column.
    pub fn reward(&self) -> Option<&str> {
        self.reward.as_ref().map(|reward| reward.name.as_str())
    }

    /// The column of logged probabilities.
    pub fn probability(&self) -> Option<&str> {
        self.probability.as_deref()
    }

    /// The column of groups or rounds.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The column that says who gave the verdict.
    pub fn reviewer(&self) -> Option<&str> {
        self.reviewer.as_deref()
    }

    /// Columns of numbers that go by names of ours, and are no evaluators for no other reason. Where the first of ours is
    /// there as well, the rows are what `rank` or `pick` wrote, and these are what they look like.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    /// use jurybox_files::{ReadOptions, Roles};
    /// use std::sync::Arc;
    ///
    /// let numbers: ArrayRef = Arc::new(Float64Array::from_iter_values([0.1, 0.9]));
    /// let first = RecordBatch::try_from_iter([("spam", numbers.clone()), ("score", numbers)])?;
    /// let taken = Roles::default().resolve_batches(&[vec![first]], &ReadOptions::default())?;
    /// assert_eq!(taken.named_like_output().collect::<Vec<_>>(), ["score"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn named_like_output(&self) -> impl Iterator<Item = &str> {
        let written = self.others.iter().any(|(name, why)| name == own_columns::OURS[0] && *why == OURS);
        self.numbers_like_output.iter().filter(move |_| !written).map(String::as_str)
    }

    /// Columns that look like evaluators to whoever has none yet, and that a jury does not know.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    /// use jurybox_files::{ReadOptions, Roles};
    /// use std::sync::Arc;
    ///
    /// let numbers: ArrayRef = Arc::new(Float64Array::from_iter_values([0.1, 0.9]));
    /// let first = RecordBatch::try_from_iter(["spam", "late", "verdict"].map(|name| (name, numbers.clone())))?;
    /// let roles = Roles { learnt_evaluators: vec!["spam".into()], learnt_reward: Some("verdict".into()), ..Roles::default() };
    /// let taken = roles.resolve_batches(&[vec![first]], &ReadOptions::default())?;
    /// assert_eq!(taken.unknown_to_jury().collect::<Vec<_>>(), ["late"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unknown_to_jury(&self) -> impl Iterator<Item = &str> {
        self.others.iter().filter(|(_, why)| *why == UNKNOWN).map(|(name, _)| name.as_str())
    }

    /// Every column that may be read: those of the evaluators, then the reward, the probability, the key and the reviewer, and those that are
    /// watched because their first rows are empty.
    pub fn columns_to_read(&self) -> impl Iterator<Item = &str> {
        let evaluators = self.evaluators.names().filter(|name| !self.is_unread(name));
        let named = evaluators.chain(self.reward()).chain(self.probability()).chain(self.key());
        named.chain(self.reviewer()).chain(self.empty_columns())
    }

    /// What a person should know of what was taken as what: columns that may be numbers, and nobody knows which.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    /// use jurybox_files::{ReadOptions, Roles};
    /// use std::sync::Arc;
    ///
    /// let spam: ArrayRef = Arc::new(Float64Array::from_iter_values([0.1, 0.9]));
    /// let views: ArrayRef = Arc::new(StringArray::from(vec!["1,234", "7,100"]));
    /// let first = RecordBatch::try_from_iter([("spam", spam), ("views", views)])?;
    /// let taken = Roles::default().resolve_batches(&[vec![first]], &ReadOptions::default())?;
    /// assert_eq!(taken.warnings()[0].code(), "two-numbers");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

impl ColumnRoles {
    /// Columns that are no evaluators because they are empty where they were looked at.
    pub(crate) fn empty_columns(&self) -> impl Iterator<Item = &str> {
        self.others.iter().filter(|(_, why)| *why == EMPTY).map(|(name, _)| name.as_str())
    }

    /// Refuses a source that has none of the evaluators: there is nothing to go by.
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

    /// The columns that name items.
    pub fn id(&self) -> &[String] {
        &self.id
    }

    /// The column of verdicts, in which words may stand.
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

    /// Whether a column is read at all, or names items.
    pub(crate) fn reads(&self, name: &str) -> bool {
        let is = |column: Option<&str>| column == Some(name);
        self.is_number(name)
            || is(self.key())
            || is(self.reviewer())
            || self.is_context(name)
            || self.id.iter().any(|id| id == name)
    }

    /// Whether a column says which group an item belongs to.
    pub(crate) fn is_context(&self, name: &str) -> bool {
        self.evaluators.as_slice().iter().any(|one| one.name == name && one.direction == Direction::Context)
    }

    /// The evaluator whose scores are read from a column.
    pub(crate) fn read_as(&self, name: &str) -> Option<usize> {
        self.evaluators.position(name).filter(|_| !self.is_unread(name))
    }

    /// Whether the column of an evaluator is not to be read.
    pub(crate) fn is_unread(&self, name: &str) -> bool {
        self.unread.iter().any(|other| other == name)
    }
}

/// A column as a person would name it: with `-` before it where low means high.
pub(crate) fn spoken(evaluator: &Evaluator) -> String {
    let minus = if evaluator.direction == Direction::Low { "-" } else { "" };
    format!("{minus}{}", evaluator.name)
}

/// The same in a list: a name with a comma stands in quotes, as a person would write it.
fn listed(evaluator: &Evaluator) -> String {
    let name = spoken(evaluator);
    if name.contains(',') { format!("\"{name}\"") } else { name }
}

/// A list that a person reads to the end: of many, the first and how many more there are.
fn few(names: impl ExactSizeIterator<Item = String>) -> String {
    let (all, shown) = (names.len(), if names.len() > LISTED { LISTED - 4 } else { LISTED });
    let list = names.take(shown).collect::<Vec<_>>().join(", ");
    if all > shown { format!("{list} and {} more ({all} in all)", all - shown) } else { list }
}

impl std::fmt::Display for ColumnRoles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(widened) = &self.widened {
            write!(f, "{widened}; ")?;
        }
        let (contexts, evaluators): (Vec<&Evaluator>, Vec<&Evaluator>) =
            self.evaluators.as_slice().iter().partition(|one| one.direction == Direction::Context);
        write!(f, "evaluators: {}", few(evaluators.into_iter().map(listed)))?;
        if !contexts.is_empty() {
            write!(f, "; context: {}", few(contexts.into_iter().map(listed)))?;
        }
        if let Some(reward) = &self.reward {
            write!(f, "; reward: {}", spoken(reward))?;
        }
        if let Some(probability) = &self.probability {
            write!(f, "; probability: {probability}")?;
        }
        if let Some(key) = &self.key {
            write!(f, "; rows put together by: {key}")?;
        }
        if let Some(reviewer) = &self.reviewer {
            write!(f, "; reviewer: {reviewer}")?;
        }
        if !self.others.is_empty() {
            let others = self.others.iter().map(|(name, why)| format!("{name} ({why})"));
            write!(f, "; travelling along: {}", few(others))?;
        }
        Ok(())
    }
}

/// How many columns are listed by name at the most.
const LISTED: usize = 16;

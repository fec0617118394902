//! The roles that the caller gives to columns, and the rules that decide about columns without one.
//! The decision is a [`ColumnRoles`].

mod role;
mod rule_warnings;

pub use role::{NotEvaluator, Role};

use crate::column_info::together;
pub(crate) use crate::column_info::{ColumnInfo, ColumnKind, IdFlaws};
pub use crate::column_roles::ColumnRoles;
pub(crate) use crate::column_roles::spoken;
use crate::error::Error;
use crate::format::arrow;
use crate::own_columns;
use crate::read_options::ReadOptions;
use crate::verdict_labels;
use crate::warning::Warning;
use arrow_array::RecordBatch;
use jurybox::{Direction, Evaluator, Evaluators, nearest};
use std::collections::HashSet;
use std::path::Path;

/// The roles that the caller gives to columns.
///
/// Without `evaluators` and `learnt_evaluators`, a numeric column without another role is an
/// evaluator, unless it looks like an identifier, time or place. Columns named like a verdict
/// (`verdict`, `human_label`) are left out if there are other evaluators. So are columns named like
/// the output of rankings and picks (`rank`, `score`, `value`, `probability`, or `by_spam` beside
/// `spam`).
///
/// ```
/// use jurybox_files::Roles;
/// let roles =
///     Roles { id: vec!["post".into()], reward: Some("verdict".into()), ..Roles::default() };
/// assert!(roles.evaluators.is_empty());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Roles {
    /// The evaluators. With a `-` before its name, low scores of an evaluator mean high rewards.
    pub evaluators: Vec<String>,
    /// The evaluators that a jury has learnt; used where `evaluators` is empty. If one has no
    /// column, or an ignored one, its scores are missing, with a [warning](crate::Warning). At
    /// least one must have a column.
    pub learnt_evaluators: Vec<Evaluator>,
    /// Columns that hold the ids of items.
    pub id: Vec<String>,
    /// Columns that are not evaluators. They are still written out with their rows.
    pub ignore: Vec<String>,
    /// Ignored columns with a word for what they are used for, shown instead of "ignored".
    pub ignored_as: Vec<(String, &'static str)>,
    /// Evaluators, or the reward, whose low values are good.
    pub invert: Vec<String>,
    /// The column of rewards: verdicts as numbers.
    pub reward: Option<String>,
    /// Numbers for words in the reward column, whatever their case: `remove` 1 and `keep` 0.
    pub labels: Vec<(String, f64)>,
    /// Whether the verdicts are read as the scores of the only evaluator, not as rewards.
    pub verdicts: bool,
    /// The reward that a jury has learnt; shown as the reason why its column is not used.
    pub learnt_reward: Option<String>,
    /// The column of probabilities with which items were picked.
    pub probability: Option<String>,
    /// The column by which rows are grouped: groups, rounds or ids of items.
    pub key: Option<String>,
    /// The role under which `key` is shown: [`Role::Group`] or [`Role::Id`].
    pub key_role: Role,
    /// The column of reviewers who gave the verdicts.
    pub reviewer: Option<String>,
    /// Columns of groups, such as languages, by which the weights of evaluators may differ.
    pub context: Vec<String>,
    /// Whether rows are read for their texts, so that no evaluator needs a column.
    pub texts: bool,
}

/// Errors on a column with two roles that exclude each other. The roles of ids and of ignored
/// columns exclude no other role.
fn one_role_each(named: &[(String, Role)]) -> Result<(), Error> {
    for (at, (name, role)) in named.iter().enumerate() {
        if let Some((_, other)) = named[..at].iter().find(|(before, other)| before == name && other != role)
            && ![*other, *role].iter().any(|role| matches!(role, Role::Id | Role::Ignored))
        {
            return Err(Error::TwoRoles { column: name.clone(), one: *other, other: *role });
        }
    }
    Ok(())
}

impl Roles {
    /// Decides the roles of columns by at most the first thousand rows of each source. Callers can
    /// then hand over only [the columns to read](ColumnRoles::columns_to_read).
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
    /// use jurybox_files::{ReadOptions, Roles};
    /// use std::sync::Arc;
    ///
    /// let post: ArrayRef = Arc::new(StringArray::from(vec!["p"; 5]));
    /// let number: ArrayRef = Arc::new(Int64Array::from_iter_values(101..106));
    /// let spam: ArrayRef = Arc::new(Float64Array::from_iter_values([0.1, 0.2, 0.1, 0.3, 0.9]));
    /// let first =
    ///     RecordBatch::try_from_iter([("post", post), ("number", number), ("spam", spam)])?;
    /// let roles = Roles { key: Some("post".into()), ..Roles::default() }
    ///     .resolve_batches(&[vec![first]], &ReadOptions::default())?;
    /// assert_eq!(roles.columns_to_read().collect::<Vec<_>>(), ["spam", "post"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resolve_batches(
        &self,
        sources: &[Vec<RecordBatch>],
        reading: &ReadOptions,
    ) -> Result<ColumnRoles, Error> {
        let (path, notation) = (Path::new(crate::format::memory::NAME), reading.notation());
        let mut found = Vec::new();
        for first in sources {
            let Some(schema) = first.first().map(RecordBatch::schema) else { continue };
            let mut columns = arrow::columns(path, &schema)?;
            arrow::look(&mut columns, first.iter(), &notation);
            found.extend(columns);
        }
        let roles = self.resolve(path, &together(found.iter()))?;
        roles.has_one_of(path, found.iter().map(|found| found.name.as_str()))?;
        Ok(roles)
    }

    /// Every column that these roles name.
    pub(crate) fn named_columns(&self) -> impl Iterator<Item = &str> {
        let named =
            [&self.evaluators, &self.id, &self.ignore, &self.invert, &self.context].into_iter().flatten();
        let named =
            named.chain([&self.reward, &self.probability, &self.key, &self.reviewer].into_iter().flatten());
        let turned = self.evaluators.iter().filter_map(|name| name.strip_prefix('-'));
        named
            .map(String::as_str)
            .chain(turned)
            .chain(self.learnt_evaluators.iter().map(|learnt| learnt.name.as_str()))
    }

    /// Decides the roles of `columns`.
    pub(crate) fn resolve(&self, path: &Path, columns: &[ColumnInfo]) -> Result<ColumnRoles, Error> {
        let learnt = |name: &str| self.learnt_evaluators.iter().find(|learnt| learnt.name == name);
        let known = |name: &String| known(path, names(columns), name).map(|()| name.clone());
        let named = self.named(path, columns)?;
        for name in self.invert.iter().filter(|name| learnt(name).is_none()) {
            known(name)?;
        }
        if let Some((word, _)) = self.labels.first().filter(|_| self.reward.is_none() && !self.verdicts) {
            let why = "there is no column of rewards in which it could stand";
            return Err(Error::Label { word: word.clone(), why });
        }
        let labels = verdict_labels::checked(&self.labels)?;
        let listed = self.listed(columns)?;
        let (mut evaluators, unread) = self.listed_evaluators(path, columns, &listed, &named)?;
        let mut others = Vec::new();
        let listed_names: HashSet<String> =
            evaluators.iter().map(|evaluator: &Evaluator| evaluator.name.clone()).collect();
        let names: HashSet<&str> = columns.iter().map(|found| found.name.as_str()).collect();
        for found in columns {
            let name = &found.name;
            if (listed_names.contains(name) && !unread.contains(name)) || self.context.contains(name) {
                continue;
            }
            if let Some((_, role)) = named.iter().find(|(other, _)| other == name) {
                // Contexts are added after the evaluators, below.
                if *role == Role::Id {
                    others.push((name.clone(), NotEvaluator::Id));
                } else if *role == Role::Ignored {
                    let purpose = self.ignored_as.iter().find(|(other, _)| other == name);
                    let why = purpose.map_or(NotEvaluator::Ignored, |(_, word)| NotEvaluator::UsedFor(word));
                    others.push((name.clone(), why));
                }
            } else if found.nested && (!listed.is_empty() || found.kind != ColumnKind::Number) {
                // A field of a nested object is written out within the column of the object.
            } else if !listed.is_empty() {
                let why = self.why_beside(found, |other| names.contains(other));
                others.push((name.clone(), why));
            } else if own_columns::looks_like_output(name, |other| names.contains(other)) {
                others.push((name.clone(), NotEvaluator::NamedLikeOutput));
            } else {
                match why_not(found) {
                    None => evaluators.push(self.directed(name)),
                    Some(why) => others.push((name.clone(), why)),
                }
            }
        }
        if evaluators.is_empty() {
            evaluators.extend(
                take_back(&mut others, columns, NotEvaluator::NamedLikeOutput)
                    .iter()
                    .map(|name| self.directed(name)),
            );
        }
        let mut doubted = Vec::new();
        if evaluators.is_empty() {
            doubted = take_back(&mut others, columns, NotEvaluator::NamedLikeVerdict);
            evaluators.extend(doubted.iter().map(|name| self.directed(name)));
        }
        if evaluators.iter().all(|evaluator| evaluator.direction == Direction::Context) {
            return Err(Error::NoEvaluator { path: path.into(), others });
        }
        self.add_contexts(&mut evaluators)?;
        if let Some(name) = self.invert.iter().find(|name| {
            self.reward.as_ref() != Some(name) && !evaluators.iter().any(|evaluator| evaluator.name == **name)
        }) {
            return Err(Error::NotInvertible { column: name.clone() });
        }
        let mut warnings: Vec<Warning> =
            two_numbers(path, &others).chain(nearly_ids(path, &others, columns)).collect();
        if listed.is_empty() {
            warnings.extend(rule_warnings::warnings(path, &evaluators, &others, &doubted, columns));
        }
        Ok(ColumnRoles {
            evaluators: Evaluators::new(evaluators)?,
            reward: self.reward.as_ref().map(|name| self.directed(name)),
            probability: self.probability.clone(),
            key: self.key.clone(),
            key_role: self.key_role,
            reviewer: self.reviewer.clone(),
            numbers_like_output: numbers_named_like_output(&others, columns),
            warnings,
            labels,
            verdicts: self.verdicts,
            others,
            unread,
            id: self.id.clone(),
            texts: self.texts,
            by_rule: listed.is_empty(),
            widened: None,
        })
    }

    /// The evaluators that were named or learnt, and the names of those whose columns are not read
    /// because they are ignored. Errors on unknown columns, and on columns with another role.
    fn listed_evaluators(
        &self,
        path: &Path,
        columns: &[ColumnInfo],
        listed: &[Evaluator],
        named: &[(String, Role)],
    ) -> Result<(Vec<Evaluator>, Vec<String>), Error> {
        let learnt = |name: &str| self.learnt_evaluators.iter().any(|learnt| learnt.name == name);
        let mut unread = Vec::new();
        for evaluator in listed {
            if !learnt(&evaluator.name) {
                known(path, names(columns), &evaluator.name)?;
            }
            let has_role = |(other, role): &&(String, Role)| *other == evaluator.name && *role != Role::Id;
            let Some((_, role)) = named.iter().find(has_role) else { continue };
            if *role != Role::Ignored || !self.evaluators.is_empty() {
                let column = evaluator.name.clone();
                let is_context = evaluator.direction == Direction::Context;
                let one = if is_context { Role::Context } else { Role::Evaluator };
                return Err(Error::TwoRoles { column, one, other: *role });
            }
            unread.push(evaluator.name.clone());
        }
        Ok((listed.to_vec(), unread))
    }

    /// The named columns with their roles. Errors on unknown columns, and on roles that exclude
    /// each other.
    fn named(&self, path: &Path, columns: &[ColumnInfo]) -> Result<Vec<(String, Role)>, Error> {
        let learnt = |name: &str| self.learnt_evaluators.iter().any(|learnt| learnt.name == name);
        let known = |name: &String| known(path, names(columns), name).map(|()| name.clone());
        let mut named: Vec<(String, Role)> = Vec::new();
        for (names, role) in [(&self.id, Role::Id), (&self.ignore, Role::Ignored)] {
            for name in names {
                // An evaluator of the jury can be ignored even if it has no column here.
                let of_jury = role == Role::Ignored && learnt(name);
                named.push((if of_jury { name.clone() } else { known(name)? }, role));
            }
        }
        for (name, role) in [
            (&self.reward, Role::Reward),
            (&self.probability, Role::Probability),
            (&self.key, Role::Group),
            (&self.reviewer, Role::Reviewer),
        ] {
            if let Some(name) = name {
                named.push((known(name)?, role));
            }
        }
        for name in self.context.iter().filter(|name| !learnt(name)) {
            named.push((known(name)?, Role::Context));
        }
        one_role_each(&named)?;
        Ok(named)
    }

    /// The reason why a column is not an evaluator where the evaluators are named or learnt.
    fn why_beside(&self, found: &ColumnInfo, is_there: impl Fn(&str) -> bool) -> NotEvaluator {
        if self.learnt_reward.as_ref() == Some(&found.name) {
            return NotEvaluator::LearntReward;
        }
        let new = self.evaluators.is_empty()
            && found.kind == ColumnKind::Number
            && own_columns::names_things(&found.name).is_none()
            && !own_columns::looks_like_output(&found.name, is_there);
        if new { NotEvaluator::UnknownToState } else { NotEvaluator::NotNamed }
    }

    /// Adds the contexts that are missing, after the evaluators.
    fn add_contexts(&self, evaluators: &mut Vec<Evaluator>) -> Result<(), Error> {
        for name in &self.context {
            match evaluators.iter().find(|evaluator| evaluator.name == *name) {
                None => evaluators.push(Evaluator::context(name)),
                Some(learnt) if learnt.direction == Direction::Context => {}
                Some(_) => {
                    let column = name.clone();
                    return Err(Error::TwoRoles { column, one: Role::Evaluator, other: Role::Context });
                }
            }
        }
        Ok(())
    }

    /// The named evaluators, or else those of the jury. Empty if the rules decide.
    fn listed(&self, columns: &[ColumnInfo]) -> Result<Vec<Evaluator>, Error> {
        let learnt = |name: &str| self.learnt_evaluators.iter().find(|learnt| learnt.name == name);
        let inverted = |name: &str| self.invert.iter().any(|other| other == name);
        let listed: Vec<Evaluator> = if self.evaluators.is_empty() {
            self.learnt_evaluators.clone()
        } else {
            self.evaluators
                .iter()
                .map(|name| {
                    let literal = columns.iter().any(|found| found.name == *name) || learnt(name).is_some();
                    let asked = match name.strip_prefix('-').filter(|_| !literal) {
                        Some(column) => Evaluator::low(column),
                        None => self.directed(name),
                    };
                    // The jury knows the directions. A direction that contradicts it is an error
                    // below.
                    match learnt(&asked.name) {
                        Some(learnt) if asked.direction == Direction::High => learnt.clone(),
                        _ => asked,
                    }
                })
                .collect()
        };
        let turned = |listed: &&Evaluator| {
            let low = inverted(&listed.name) || listed.direction == Direction::Low;
            low && learnt(&listed.name).is_some_and(|learnt| learnt.direction == Direction::High)
        };
        if let Some(turned) = listed.iter().find(turned) {
            return Err(Error::DirectionChanged { column: turned.name.clone() });
        }
        Ok(listed)
    }

    fn directed(&self, name: &str) -> Evaluator {
        let direction =
            if self.invert.iter().any(|other| other == name) { Direction::Low } else { Direction::High };
        Evaluator { name: name.into(), direction }
    }
}

/// The reason why a column without a role is not an evaluator, or `None` if it is one.
fn why_not(found: &ColumnInfo) -> Option<NotEvaluator> {
    match (found.kind, own_columns::names_things(&found.name)) {
        (ColumnKind::Number, None) => {
            own_columns::is_the_verdict(&found.name).then_some(NotEvaluator::NamedLikeVerdict)
        }
        (ColumnKind::Number | ColumnKind::Serial | ColumnKind::OneWord | ColumnKind::Long, Some(why)) => {
            Some(why)
        }
        (ColumnKind::Serial, None) => Some(NotEvaluator::DistinctNumbers),
        (ColumnKind::OneWord, None) => Some(NotEvaluator::OneWord),
        (ColumnKind::Long, None) => Some(NotEvaluator::LongNumbers),
        (ColumnKind::TwoNumbers, _) => Some(NotEvaluator::AmbiguousNumbers),
        (ColumnKind::Text, _) => Some(NotEvaluator::Text),
        (ColumnKind::Empty, _) => Some(NotEvaluator::Empty),
    }
}

/// Warnings about columns of numbers that can be read in two ways.
fn two_numbers(path: &Path, others: &[(String, NotEvaluator)]) -> impl Iterator<Item = Warning> {
    let ambiguous = others.iter().filter(|(_, why)| *why == NotEvaluator::AmbiguousNumbers);
    ambiguous.map(|(column, _)| Warning::TwoNumbers { path: path.into(), column: column.clone() })
}

/// Warnings about columns that look like ids though some cells are empty or repeated.
fn nearly_ids(
    path: &Path,
    others: &[(String, NotEvaluator)],
    columns: &[ColumnInfo],
) -> impl Iterator<Item = Warning> {
    let is_left_out = |column: &&ColumnInfo| {
        others.iter().any(|(name, why)| *name == column.name && *why == NotEvaluator::DistinctNumbers)
    };
    columns.iter().filter(is_left_out).filter_map(|column| {
        let IdFlaws { missing, repeated } = column.flaws?;
        Some(Warning::NearlyIds { path: path.into(), column: column.name.clone(), missing, repeated })
    })
}

/// The names of numeric columns that are left out only because they are named like output.
fn numbers_named_like_output(others: &[(String, NotEvaluator)], columns: &[ColumnInfo]) -> Vec<String> {
    let numeric = |name: &str| columns.iter().any(|c| c.name == name && c.kind == ColumnKind::Number);
    let left_out = others.iter().filter(|(name, why)| *why == NotEvaluator::NamedLikeOutput && numeric(name));
    left_out.map(|(name, _)| name.clone()).collect()
}

/// Removes the numeric columns that were left out for the reason `why`, and returns their names. It
/// is called if there are no other evaluators: then columns of these names are the evaluators.
fn take_back(
    others: &mut Vec<(String, NotEvaluator)>,
    columns: &[ColumnInfo],
    why: NotEvaluator,
) -> Vec<String> {
    let numeric = |name: &str| columns.iter().any(|c| c.name == name && c.kind == ColumnKind::Number);
    let taken = others.extract_if(.., |(name, other)| *other == why && numeric(name));
    taken.map(|(name, _)| name).collect()
}

fn names(columns: &[ColumnInfo]) -> impl Iterator<Item = &str> + Clone {
    columns.iter().map(|found| found.name.as_str())
}

/// Errors if a file has no column `name`, with the most similar name.
pub(crate) fn known<'a>(
    path: &Path,
    columns: impl Iterator<Item = &'a str> + Clone,
    name: &str,
) -> Result<(), Error> {
    if columns.clone().any(|found| found == name) {
        return Ok(());
    }
    Err(Error::UnknownColumn {
        path: path.into(),
        column: name.into(),
        nearest: nearest(name, columns.clone()).map(Into::into),
        columns: columns.map(Into::into).collect(),
    })
}

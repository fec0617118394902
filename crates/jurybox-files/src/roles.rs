//! Which column is what: as the person said, and where nothing was said, by a rule that is stated.
//! `taken.rs` is what was decided.

mod rule_warnings;

use crate::error::Error;
use crate::format::arrow;
use crate::column_info::together;
pub(crate) use crate::column_info::{IdFlaws, ColumnInfo, ColumnKind};
use crate::verdict_labels;
use crate::own_columns;
use crate::read_options::ReadOptions;
pub use crate::column_roles::ColumnRoles;
pub(crate) use crate::column_roles::spoken;
use crate::warning::Warning;
use arrow_array::RecordBatch;
use jurybox::{Direction, Evaluator, Evaluators, nearest};
use std::collections::HashSet;
use std::path::Path;

/// What a person says about the columns.
///
/// Without `evaluators` and `seated`, every numeric column that is not named otherwise is one, unless it is named like a verdict
/// (`verdict`, `human_label`) and there are others, or as those
/// that rankings and picks are written with (`rank`, `score`, `value`, `probability`, `by_spam` beside `spam` and so on) and
/// there are others.
///
/// ```
/// use jurybox_files::Roles;
/// let roles = Roles { id: vec!["post".into()], reward: Some("verdict".into()), ..Roles::default() };
/// assert!(roles.evaluators.is_empty());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Roles {
    /// The evaluators' columns; a name with `-` before it is an evaluator where low means high.
    pub evaluators: Vec<String>,
    /// The evaluators that a jury has learnt over: all of them where `evaluators` names none. One that has no column, or
    /// whose column is ignored, is a column of missing scores, with a [warning](crate::Warning), as long as another one has.
    pub learnt_evaluators: Vec<Evaluator>,
    /// Columns that name items.
    pub id: Vec<String>,
    /// Columns that are not evaluators; they travel along all the same.
    pub ignore: Vec<String>,
    /// What columns that are ignored are for, in a word: it is said of them instead.
    pub ignored_as: Vec<(String, &'static str)>,
    /// Evaluators, or the reward, where low means high.
    pub invert: Vec<String>,
    /// What a verdict was worth.
    pub reward: Option<String>,
    /// What words in the reward column are worth, in whatever case: `remove` 1 and `keep` 0.
    pub labels: Vec<(String, f64)>,
    /// Whether what reviewers said is in the column of the one evaluator, and not in one of rewards.
    pub verdicts: bool,
    /// The reward that a jury has learnt, which is no evaluator where nothing is learnt from it now.
    pub learnt_reward: Option<String>,
    /// The probability with which an item was picked when it was.
    pub probability: Option<String>,
    /// The round or group of an item.
    pub key: Option<String>,
    /// Who gave the verdict.
    pub reviewer: Option<String>,
    /// Columns that say which group an item belongs to, such as its language: weights may differ by group.
    pub context: Vec<String>,
    /// Whether rows are wanted for their texts: then none of the evaluators need have a column.
    pub texts: bool,
}

/// Why a column that is named as one of those we write is no evaluator.
pub(crate) const OURS: &str = "named as in our own output";

/// Why a column of numbers is no evaluator where a jury has its own.
pub(crate) const UNKNOWN: &str = "numbers that the state does not know";

/// Why a column is no evaluator whose cells are numbers, and nobody knows which.
const TWO_NUMBERS: &str = "numbers such as 1,234, which may be thousands or decimals";

/// Why a column that was empty where it was looked at is no evaluator.
pub(crate) const EMPTY: &str = "empty";

/// Why a column of numbers is no evaluator that has the name of what reviewers say.
pub(crate) const VERDICT: &str = "named like a verdict";

/// Why a column of whole numbers is no evaluator.
const SERIAL: &str = "distinct whole numbers, like an id";

/// Refuses a column with two roles that cannot both be meant.
fn one_role_each(named: &[(String, &'static str)]) -> Result<(), Error> {
    for (at, (name, role)) in named.iter().enumerate() {
        if let Some((_, other)) = named[..at].iter().find(|(before, other)| before == name && other != role)
            && ![*other, *role].contains(&"id")
            && ![*other, *role].contains(&"ignored")
        {
            return Err(Error::TwoRoles { column: name.clone(), one: other, other: role });
        }
    }
    Ok(())
}

impl Roles {
    /// Decides over columns before they are read, by the first rows of each source; of those, a thousand are looked at.
    /// For whoever has tables elsewhere, and would hand over no more of them than is asked for.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
    /// use jurybox_files::{ReadOptions, Roles};
    /// use std::sync::Arc;
    ///
    /// let post: ArrayRef = Arc::new(StringArray::from(vec!["p"; 5]));
    /// let number: ArrayRef = Arc::new(Int64Array::from_iter_values(101..106));
    /// let spam: ArrayRef = Arc::new(Float64Array::from_iter_values([0.1, 0.2, 0.1, 0.3, 0.9]));
    /// let first = RecordBatch::try_from_iter([("post", post), ("number", number), ("spam", spam)])?;
    /// let taken = Roles { key: Some("post".into()), ..Roles::default() }.resolve_batches(&[vec![first]], &ReadOptions::default())?;
    /// assert_eq!(taken.columns_to_read().collect::<Vec<_>>(), ["spam", "post"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resolve_batches(&self, sources: &[Vec<RecordBatch>], reading: &ReadOptions) -> Result<ColumnRoles, Error> {
        let (path, notation) = (Path::new(crate::format::memory::NAME), reading.notation());
        let mut found = Vec::new();
        for first in sources {
            let Some(schema) = first.first().map(RecordBatch::schema) else { continue };
            let mut columns = arrow::columns(path, &schema)?;
            arrow::look(&mut columns, first.iter(), &notation);
            found.extend(columns);
        }
        let taken = self.resolve(path, &together(found.iter()))?;
        taken.has_one_of(path, found.iter().map(|found| found.name.as_str()))?;
        Ok(taken)
    }

    /// Every column that a person, or a jury, names.
    pub(crate) fn named_columns(&self) -> impl Iterator<Item = &str> {
        let named =
            [&self.evaluators, &self.id, &self.ignore, &self.invert, &self.context].into_iter().flatten();
        let named =
            named.chain([&self.reward, &self.probability, &self.key, &self.reviewer].into_iter().flatten());
        let turned = self.evaluators.iter().filter_map(|name| name.strip_prefix('-'));
        named.map(String::as_str).chain(turned).chain(self.learnt_evaluators.iter().map(|seated| seated.name.as_str()))
    }

    /// Decides over the columns of a file.
    pub(crate) fn resolve(&self, path: &Path, columns: &[ColumnInfo]) -> Result<ColumnRoles, Error> {
        let seated = |name: &str| self.learnt_evaluators.iter().find(|seated| seated.name == name);
        let known = |name: &String| known(path, names(columns), name).map(|()| name.clone());
        let named = self.named(path, columns)?;
        for name in self.invert.iter().filter(|name| seated(name).is_none()) {
            known(name)?;
        }
        if let Some((word, _)) = self.labels.first().filter(|_| self.reward.is_none() && !self.verdicts) {
            let why = "there is no column of rewards in which it could stand";
            return Err(Error::Label { word: word.clone(), why });
        }
        let labels = verdict_labels::checked(&self.labels)?;
        let listed = self.listed(columns)?;
        let (mut evaluators, mut unread) = (Vec::new(), Vec::new());
        for evaluator in &listed {
            if seated(&evaluator.name).is_none() {
                known(&evaluator.name)?;
            }
            let taken = |(other, role): &&(String, &str)| *other == evaluator.name && *role != "id";
            if let Some((_, role)) = named.iter().find(taken) {
                if *role == "ignored" && self.evaluators.is_empty() {
                    unread.push(evaluator.name.clone());
                    evaluators.push(evaluator.clone());
                    continue;
                }
                let column = evaluator.name.clone();
                let one =
                    if evaluator.direction == Direction::Context { "a context" } else { "an evaluator" };
                return Err(Error::TwoRoles { column, one, other: role });
            }
            evaluators.push(evaluator.clone());
        }
        let mut others = Vec::new();
        let seats: HashSet<String> =
            evaluators.iter().map(|evaluator: &Evaluator| evaluator.name.clone()).collect();
        let names: HashSet<&str> = columns.iter().map(|found| found.name.as_str()).collect();
        for found in columns {
            let name = &found.name;
            if (seats.contains(name) && !unread.contains(name)) || self.context.contains(name) {
                continue;
            }
            if let Some((_, role)) = named.iter().find(|(other, _)| other == name) {
                // A context is put behind the evaluators.
                if ["id", "ignored"].contains(role) {
                    let called = self.ignored_as.iter().find(|(other, _)| other == name && *role == "ignored");
                    others.push((name.clone(), called.map_or(*role, |(_, word)| word)));
                }
            } else if found.nested && (!listed.is_empty() || found.kind != ColumnKind::Number) {
                // It travels along within its column.
            } else if !listed.is_empty() {
                let why = self.why_beside(found, |other| names.contains(other));
                others.push((name.clone(), why));
            } else if own_columns::looks_like_output(name, |other| names.contains(other)) {
                others.push((name.clone(), OURS));
            } else {
                match why_not(found) {
                    None => evaluators.push(self.directed(name)),
                    Some(why) => others.push((name.clone(), why)),
                }
            }
        }
        if evaluators.is_empty() {
            evaluators.extend(theirs(&mut others, columns, OURS).iter().map(|name| self.directed(name)));
        }
        let mut doubted = Vec::new();
        if evaluators.is_empty() {
            doubted = theirs(&mut others, columns, VERDICT);
            evaluators.extend(doubted.iter().map(|name| self.directed(name)));
        }
        if evaluators.iter().all(|evaluator| evaluator.direction == Direction::Context) {
            return Err(Error::NoEvaluator { path: path.into(), others });
        }
        self.seat_contexts(&mut evaluators)?;
        if let Some(name) = self.invert.iter().find(|name| {
            self.reward.as_ref() != Some(name) && !evaluators.iter().any(|evaluator| evaluator.name == **name)
        }) {
            return Err(Error::NotInvertible { column: name.clone() });
        }
        let mut warnings: Vec<Warning> =
            two_numbers(path, &others).chain(nearly_ids(path, &others, columns)).collect();
        if listed.is_empty() {
            warnings.extend(rule_warnings::of_evaluators(path, &evaluators, &others, &doubted, columns));
        }
        Ok(ColumnRoles {
            evaluators: Evaluators::new(evaluators)?,
            reward: self.reward.as_ref().map(|name| self.directed(name)),
            probability: self.probability.clone(),
            key: self.key.clone(),
            reviewer: self.reviewer.clone(),
            numbers_like_output: numbers_like_output(&others, columns),
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

    /// The columns that were named, each with its one role.
    fn named(&self, path: &Path, columns: &[ColumnInfo]) -> Result<Vec<(String, &'static str)>, Error> {
        let seated = |name: &str| self.learnt_evaluators.iter().any(|seated| seated.name == name);
        let known = |name: &String| known(path, names(columns), name).map(|()| name.clone());
        let mut named: Vec<(String, &'static str)> = Vec::new();
        for (names, role) in [(&self.id, "id"), (&self.ignore, "ignored")] {
            for name in names {
                // A jury's evaluator may lack its column today, and be left out all the same.
                let of_jury = role == "ignored" && seated(name);
                named.push((if of_jury { name.clone() } else { known(name)? }, role));
            }
        }
        for (name, role) in [
            (&self.reward, "the reward"),
            (&self.probability, "the probability"),
            (&self.key, "a round or group"),
            (&self.reviewer, "the reviewer"),
        ] {
            if let Some(name) = name {
                named.push((known(name)?, role));
            }
        }
        for name in self.context.iter().filter(|name| !seated(name)) {
            named.push((known(name)?, "a context"));
        }
        one_role_each(&named)?;
        Ok(named)
    }

    /// Why a column is no evaluator that stands beside those that were named, or those of a jury.
    fn why_beside(&self, found: &ColumnInfo, is_there: impl Fn(&str) -> bool) -> &'static str {
        if self.learnt_reward.as_ref() == Some(&found.name) {
            return "the reward of the state";
        }
        let new = self.evaluators.is_empty()
            && found.kind == ColumnKind::Number
            && own_columns::names_things(&found.name).is_none()
            && !own_columns::looks_like_output(&found.name, is_there);
        if new { UNKNOWN } else { "not named" }
    }

    /// Puts the contexts that are not there yet behind the evaluators.
    fn seat_contexts(&self, evaluators: &mut Vec<Evaluator>) -> Result<(), Error> {
        for name in &self.context {
            match evaluators.iter().find(|evaluator| evaluator.name == *name) {
                None => evaluators.push(Evaluator::context(name)),
                Some(seated) if seated.direction == Direction::Context => {}
                Some(_) => {
                    let column = name.clone();
                    return Err(Error::TwoRoles { column, one: "an evaluator", other: "a context" });
                }
            }
        }
        Ok(())
    }

    /// The evaluators that were named, or else those of a jury; none where every numeric column is to be one.
    fn listed(&self, columns: &[ColumnInfo]) -> Result<Vec<Evaluator>, Error> {
        let seated = |name: &str| self.learnt_evaluators.iter().find(|seated| seated.name == name);
        let inverted = |name: &str| self.invert.iter().any(|other| other == name);
        let listed: Vec<Evaluator> = if self.evaluators.is_empty() {
            self.learnt_evaluators.clone()
        } else {
            self.evaluators
                .iter()
                .map(|name| {
                    let literal = columns.iter().any(|found| found.name == *name) || seated(name).is_some();
                    let asked = match name.strip_prefix('-').filter(|_| !literal) {
                        Some(column) => Evaluator::low(column),
                        None => self.directed(name),
                    };
                    // A jury knows which way its evaluators point; one that is turned now is refused below.
                    match seated(&asked.name) {
                        Some(seated) if asked.direction == Direction::High => seated.clone(),
                        _ => asked,
                    }
                })
                .collect()
        };
        // A jury knows its evaluators' directions; one that is said again must be the same.
        let turned = |listed: &&Evaluator| {
            let low = inverted(&listed.name) || listed.direction == Direction::Low;
            low && seated(&listed.name).is_some_and(|seated| seated.direction == Direction::High)
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

/// Why a column that nobody has named is no evaluator, where it is none.
fn why_not(found: &ColumnInfo) -> Option<&'static str> {
    match (found.kind, own_columns::names_things(&found.name)) {
        (ColumnKind::Number, None) => own_columns::is_the_verdict(&found.name).then_some(VERDICT),
        (ColumnKind::Number | ColumnKind::Serial | ColumnKind::OneWord | ColumnKind::Long, Some(why)) => Some(why),
        (ColumnKind::Serial, None) => Some(SERIAL),
        (ColumnKind::OneWord, None) => Some("one word in every row"),
        (ColumnKind::Long, None) => Some("long whole numbers, like times or telephone numbers"),
        (ColumnKind::TwoNumbers, _) => Some(TWO_NUMBERS),
        (ColumnKind::Text, _) => Some("text"),
        (ColumnKind::Empty, _) => Some(EMPTY),
    }
}

/// What is to be said of columns whose cells are numbers, and nobody knows which.
fn two_numbers(path: &Path, others: &[(String, &'static str)]) -> impl Iterator<Item = Warning> {
    let doubtful = others.iter().filter(|(_, why)| *why == TWO_NUMBERS);
    doubtful.map(|(column, _)| Warning::TwoNumbers { path: path.into(), column: column.clone() })
}

/// What is to be said of columns that look like ids, and not all of which are there once.
fn nearly_ids(
    path: &Path,
    others: &[(String, &'static str)],
    columns: &[ColumnInfo],
) -> impl Iterator<Item = Warning> {
    let taken = |column: &&ColumnInfo| others.iter().any(|(name, why)| *name == column.name && *why == SERIAL);
    columns.iter().filter(taken).filter_map(|column| {
        let IdFlaws { missing, repeated } = column.flaws?;
        Some(Warning::NearlyIds { path: path.into(), column: column.name.clone(), missing, repeated })
    })
}

/// Columns of numbers that are no evaluators for nothing but their names.
fn numbers_like_output(others: &[(String, &'static str)], columns: &[ColumnInfo]) -> Vec<String> {
    let numeric = |name: &str| columns.iter().any(|c| c.name == name && c.kind == ColumnKind::Number);
    let ours = others.iter().filter(|(name, why)| *why == OURS && numeric(name));
    ours.map(|(name, _)| name.clone()).collect()
}

/// Takes back the columns of numbers that are no evaluators for that name. Our own output, and a table with verdicts, has evaluators
/// beside them: where there are no others, these are a person's own names.
fn theirs(others: &mut Vec<(String, &'static str)>, columns: &[ColumnInfo], for_name: &str) -> Vec<String> {
    let numeric = |name: &str| columns.iter().any(|c| c.name == name && c.kind == ColumnKind::Number);
    others.extract_if(.., |(name, why)| *why == for_name && numeric(name)).map(|(name, _)| name).collect()
}

fn names(columns: &[ColumnInfo]) -> impl Iterator<Item = &str> + Clone {
    columns.iter().map(|found| found.name.as_str())
}

/// Whether a file has a column; otherwise which was meant.
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

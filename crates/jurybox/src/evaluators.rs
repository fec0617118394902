//! The evaluators of a jury: their names, and the direction of their scores.

use crate::error::Error;
use crate::link::Link;
use crate::scores::Scores;
use serde::{Deserialize, Serialize};

/// The direction of an evaluator's scores.
///
/// ```
/// use jurybox::Direction;
/// assert_eq!(Direction::default(), Direction::High);
/// assert_eq!(serde_json::to_string(&Direction::Low).unwrap(), "\"low\"");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// A high score suggests a high reward.
    #[default]
    High,
    /// A low score suggests a high reward.
    Low,
    /// Not a score: a number that names the group of an item, such as its language. Weights may
    /// differ by group; see [`Evaluator::context`].
    Context,
}

/// An evaluator: its name and the direction of its scores.
///
/// ```
/// use jurybox::{Direction, Evaluator};
/// assert_eq!(Evaluator::from("toxicity").direction, Direction::High);
/// assert_eq!(Evaluator::low("quality").direction, Direction::Low);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluator {
    /// The name, unique within a jury.
    pub name: String,
    /// The direction of its scores.
    #[serde(default)]
    pub direction: Direction,
}

impl Evaluator {
    /// An evaluator whose low scores suggest a high reward.
    pub fn low(name: impl Into<String>) -> Self {
        Evaluator { name: name.into(), direction: Direction::Low }
    }
}

impl Evaluator {
    /// A column that names the group of an item. Any number is a group, such as the
    /// [code](crate::toolbox::code_of) of a name; NaN is no group. `adaptive` learns how weights
    /// differ by group. It values items of unknown groups by the weights that groups have in
    /// common. Other policies refuse contexts.
    ///
    /// ```
    /// use jurybox::{Direction, Evaluator, Evaluators, Jury};
    /// let language = Evaluator::context("language");
    /// let evaluators = Evaluators::new(["spam".into(), "abuse".into(), language])?;
    /// assert_eq!(evaluators.contexts().collect::<Vec<_>>(), [2]);
    /// assert!(Jury::new(&"adaptive".parse()?, evaluators.clone()).is_ok());
    /// let error = Jury::new(&"lin-ucb".parse()?, evaluators).unwrap_err();
    /// assert!(matches!(error, jurybox::Error::Policy { .. }));
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn context(name: impl Into<String>) -> Self {
        Evaluator { name: name.into(), direction: Direction::Context }
    }
}

impl From<String> for Evaluator {
    fn from(name: String) -> Self {
        Evaluator { name, direction: Direction::High }
    }
}

impl From<&str> for Evaluator {
    fn from(name: &str) -> Self {
        name.to_string().into()
    }
}

impl From<&String> for Evaluator {
    fn from(name: &String) -> Self {
        name.clone().into()
    }
}

/// The evaluators of a jury, in column order: at least one, each with a unique name.
///
/// ```
/// use jurybox::{Evaluator, Evaluators};
///
/// let evaluators = Evaluators::new(["toxicity", "spam"])?;
/// assert_eq!(evaluators.len(), 2);
/// assert_eq!(evaluators.position("spam"), Some(1));
/// assert!(Evaluators::new(["spam", "spam"]).is_err());
/// let mixed = Evaluators::new(["toxicity".into(), Evaluator::low("quality")])?;
/// assert!(mixed.any_low());
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Evaluator>", into = "Vec<Evaluator>")]
pub struct Evaluators(Vec<Evaluator>);

/// The maximum number of evaluators. Some states grow with its square, and a small file that names
/// many must not exhaust a machine's memory.
pub(crate) const MOST_EVALUATORS: usize = 2048;

impl Evaluators {
    /// Validates a list of evaluators. Errors if it is empty or too long, or if a name is blank or
    /// repeated.
    pub fn new<E: Into<Evaluator>>(evaluators: impl IntoIterator<Item = E>) -> Result<Self, Error> {
        Self::try_from(evaluators.into_iter().map(Into::into).collect::<Vec<Evaluator>>())
    }

    /// `n` evaluators named `e1`, `e2`, ...
    pub fn numbered(n: usize) -> Result<Self, Error> {
        Self::new((1..=n).map(|j| format!("e{j}")))
    }

    /// The number of evaluators; never zero.
    #[expect(clippy::len_without_is_empty, reason = "never empty by construction")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The evaluators in column order.
    pub fn as_slice(&self) -> &[Evaluator] {
        &self.0
    }

    /// The names in column order.
    ///
    /// ```
    /// let evaluators = jurybox::Evaluators::numbered(2)?;
    /// assert_eq!(evaluators.names().collect::<Vec<_>>(), ["e1", "e2"]);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.0.iter().map(|evaluator| evaluator.name.as_str())
    }

    /// The column of the evaluator with this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|evaluator| evaluator.name == name)
    }

    /// The columns of contexts.
    pub fn contexts(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len()).filter(|&column| self.0[column].direction == Direction::Context)
    }

    /// The evaluators that score: all but the contexts.
    ///
    /// ```
    /// use jurybox::{Evaluator, Evaluators};
    /// let language = Evaluator::context("language");
    /// let evaluators = Evaluators::new(["spam".into(), language, "abuse".into()])?;
    /// assert_eq!(evaluators.without_contexts()?, Evaluators::new(["spam", "abuse"])?);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn without_contexts(&self) -> Result<Evaluators, Error> {
        Evaluators::new(self.0.iter().filter(|evaluator| evaluator.direction != Direction::Context).cloned())
    }

    /// Whether any evaluator has direction [`Direction::Low`].
    pub fn any_low(&self) -> bool {
        self.are_low().any(|low| low)
    }

    /// Sets the direction of the evaluators in these columns to [`Direction::Low`]. Errors if a
    /// column does not exist or is a context.
    pub(crate) fn turned(mut self, columns: &[usize]) -> Result<Self, String> {
        for &column in columns {
            let many = self.0.len();
            let evaluator = self
                .0
                .get_mut(column)
                .ok_or_else(|| format!("inverted: there is no column {column} among {many} evaluators"))?;
            if evaluator.direction == Direction::Context {
                return Err(format!(
                    "inverted: column {column}, `{}`, is a context, and no score",
                    evaluator.name
                ));
            }
            evaluator.direction = Direction::Low;
        }
        Ok(self)
    }

    /// The scores with those of [`Direction::Low`] evaluators mirrored, so that inside a policy a
    /// high score always suggests a high reward. A score x becomes -x for the identity link and 1 -
    /// x for the others. Borrowed unchanged if no evaluator is low.
    pub(crate) fn oriented<'a>(
        &self,
        link: Link,
        scores: &Scores<'a>,
        buffer: &'a mut Vec<f64>,
    ) -> Scores<'a> {
        if !self.any_low() {
            return *scores;
        }
        buffer.clear();
        for row in scores.rows() {
            self.orient_row(link, row, buffer);
        }
        Scores::trusted(buffer, scores.evaluators(), scores.is_complete())
    }

    /// The constant that a mirrored score is subtracted from. Links onto 0 to 1 have 1, so that
    /// mirrored scores stay in that range.
    pub(crate) fn mirror(link: Link) -> f64 {
        if link == Link::Identity { 0.0 } else { 1.0 }
    }

    /// For each column, whether its direction is low.
    pub(crate) fn are_low(&self) -> impl Iterator<Item = bool> + '_ {
        self.0.iter().map(|evaluator| evaluator.direction == Direction::Low)
    }

    /// Mirrors one row as [`oriented`](Self::oriented) does, and appends it to `out`.
    pub(crate) fn orient_row(&self, link: Link, row: &[f64], out: &mut Vec<f64>) {
        let mirror = Self::mirror(link);
        out.extend(row.iter().zip(&self.0).map(|(&x, evaluator)| match evaluator.direction {
            Direction::High | Direction::Context => x,
            Direction::Low => mirror - x,
        }));
    }

    /// The column of each of these evaluators in `others`, or none if it is not there. Errors if a
    /// direction differs: statistics belong to one direction.
    pub(crate) fn columns_in(&self, others: &Evaluators) -> Result<Vec<Option<usize>>, Error> {
        self.0
            .iter()
            .map(|evaluator| match others.position(&evaluator.name) {
                Some(at) if others.0[at].direction != evaluator.direction => Err(Error::Evaluators(format!(
                    "`{}` cannot change its direction; remove it first, then add it anew",
                    evaluator.name
                ))),
                at => Ok(at),
            })
            .collect()
    }

    /// Adds the evaluator's name to an error that knows only its column.
    pub(crate) fn name_in(&self, error: Error) -> Error {
        match error {
            Error::Score { item, mut evaluator, value } => {
                evaluator.name = self.0.get(evaluator.column).map(|found| found.name.clone());
                Error::Score { item, evaluator, value }
            }
            other => other,
        }
    }
}

impl std::fmt::Display for Evaluators {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (column, evaluator) in self.0.iter().enumerate() {
            let comma = if column == 0 { "" } else { ", " };
            let says = match evaluator.direction {
                Direction::High => "",
                Direction::Low => " (low)",
                Direction::Context => " (context)",
            };
            write!(f, "{comma}{}{says}", evaluator.name)?;
        }
        Ok(())
    }
}

impl TryFrom<Vec<Evaluator>> for Evaluators {
    type Error = Error;

    fn try_from(evaluators: Vec<Evaluator>) -> Result<Self, Error> {
        if evaluators.is_empty() {
            return Err(Error::Evaluators("the list is empty; name at least one".into()));
        }
        if evaluators.len() > MOST_EVALUATORS {
            return Err(Error::Evaluators(format!(
                "{} of them are too many; {MOST_EVALUATORS} is the most",
                evaluators.len()
            )));
        }
        let mut seen = std::collections::HashMap::with_capacity(evaluators.len());
        for (column, evaluator) in evaluators.iter().enumerate() {
            let name = evaluator.name.as_str();
            if name.trim().is_empty() {
                return Err(Error::Evaluators(format!("#{column} has an empty name; give it one")));
            }
            if let Some(first) = seen.insert(name, column) {
                return Err(Error::Evaluators(format!(
                    "#{first} and #{column} are both named `{name}`; names must differ"
                )));
            }
        }
        Ok(Evaluators(evaluators))
    }
}

impl From<Evaluators> for Vec<Evaluator> {
    fn from(evaluators: Evaluators) -> Self {
        evaluators.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        assert!(Evaluators::new(Vec::<String>::new()).unwrap_err().to_string().contains("empty"));
        assert!(Evaluators::new(["a", " "]).unwrap_err().to_string().contains("#1"));
        assert!(Evaluators::new(["a", "b", "a"]).unwrap_err().to_string().contains("#0 and #2"));
        assert!(Evaluators::numbered(MOST_EVALUATORS + 1).unwrap_err().to_string().contains("too many"));
        assert!(serde_json::from_str::<Evaluators>(r#"[{"name":"a"},{"name":"a"}]"#).is_err());
    }

    #[test]
    fn low_scores_are_turned_within_the_range_of_the_link() {
        let evaluators = Evaluators::new(["a".into(), Evaluator::low("b")]).unwrap();
        let table = [0.2, 0.9, 0.5, f64::NAN];
        let (scores, mut buffer) = (Scores::new(&table, 2).unwrap(), Vec::new());
        let turned = evaluators.oriented(Link::Logistic, &scores, &mut buffer);
        assert_eq!((turned.row(0)[0], turned.row(0)[1], turned.row(1)[0]), (0.2, 1.0 - 0.9, 0.5));
        assert!(turned.row(1)[1].is_nan());
        assert_eq!(evaluators.oriented(Link::Identity, &scores, &mut buffer).row(0), [0.2, -0.9]);
    }

    #[test]
    fn columns_are_found_again_by_name() {
        let old = Evaluators::new(["a", "b", "c"]).unwrap();
        let new = Evaluators::new(["c", "d", "a"]).unwrap();
        assert_eq!(new.columns_in(&old).unwrap(), [Some(2), None, Some(0)]);
        let turned = Evaluators::new([Evaluator::low("a")]).unwrap();
        assert!(turned.columns_in(&old).unwrap_err().to_string().contains("`a` cannot change"));
    }
}

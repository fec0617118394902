//! A round of scores: a borrowed table, one row per item, one column per evaluator, validated once.
//!
//! Every score is a number of at most 1e100 in magnitude, or NaN. NaN means *missing* and never
//! zero.

use crate::error::{Error, EvaluatorLabel};
use crate::evaluators::Evaluators;
use crate::link::Link;

/// The largest magnitude of a score or a reward. Larger ones are refused: sums of their products
/// could overflow, and one of them would spoil a state for good.
pub(crate) const LIMIT: f64 = 1e100;

/// One round: the scores of `items()` items by `evaluators()` evaluators, row-major. NaN = missing.
///
/// ```
/// use jurybox::Scores;
///
/// let table = [0.9, 0.7, /* second item: */ 0.2, f64::NAN];
/// let scores = Scores::new(&table, 2)?;
/// assert_eq!((scores.items(), scores.evaluators()), (2, 2));
/// assert_eq!(scores.row(0), [0.9, 0.7]);
/// assert!(scores.row(1)[1].is_nan());
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Scores<'a> {
    values: &'a [f64],
    evaluators: usize,
    items: usize,
    complete: bool,
    /// g^-1 of every score, if it has been computed, and for which link.
    inverse: Option<(Link, &'a [f64])>,
}

impl<'a> Scores<'a> {
    /// Validates a table and borrows it. Refuses infinities, numbers beyond ±1e100, zero
    /// evaluators, and a length that is no multiple of `evaluators`.
    pub fn new(values: &'a [f64], evaluators: usize) -> Result<Self, Error> {
        if evaluators == 0 || !values.len().is_multiple_of(evaluators) {
            return Err(Error::Shape { values: values.len(), evaluators });
        }
        let complete = all_usable(values);
        if !complete && let Some(at) = values.iter().position(|&v| !usable_or_missing(v)) {
            return Err(Error::Score {
                item: at / evaluators,
                evaluator: EvaluatorLabel { column: at % evaluators, name: None },
                value: values[at],
            });
        }
        Ok(Scores::trusted(values, evaluators, complete))
    }

    /// Validates a table for these evaluators; errors name the evaluator.
    pub(crate) fn of(values: &'a [f64], evaluators: &Evaluators) -> Result<Self, Error> {
        Scores::new(values, evaluators.len()).map_err(|error| evaluators.name_in(error))
    }

    /// The number of items.
    pub fn items(&self) -> usize {
        self.items
    }

    /// The number of evaluators.
    pub fn evaluators(&self) -> usize {
        self.evaluators
    }

    /// Whether no score is missing.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The scores of one item.
    ///
    /// # Panics
    /// If there is no such item.
    pub fn row(&self, item: usize) -> &'a [f64] {
        &self.values[item * self.evaluators..(item + 1) * self.evaluators]
    }

    /// All rows, in order.
    pub fn rows(&self) -> std::slice::ChunksExact<'a, f64> {
        self.values.chunks_exact(self.evaluators)
    }

    /// The whole table, row-major.
    pub fn values(&self) -> &'a [f64] {
        self.values
    }

    /// A view of values that are known to be valid, such as the inverse link of a validated table.
    pub(crate) fn trusted(values: &'a [f64], evaluators: usize, complete: bool) -> Self {
        Scores { values, evaluators, items: values.len() / evaluators, complete, inverse: None }
    }

    /// These scores with g^-1 of each in `buffer`, for link g. Juries with this link that are
    /// then shown the round need not compute it.
    ///
    /// ```
    /// use jurybox::{Evaluators, Jury, Link, Scores};
    ///
    /// let mut buffer = Vec::new();
    /// let scores = Scores::new(&[0.2, 0.9, 0.6, 0.5], 2)?;
    /// let ready = scores.with_inverse(Link::Logistic, &mut buffer);
    /// let mut jury = Jury::new(&"glm-esag".parse()?, Evaluators::numbered(2)?)?;
    /// jury.observe(&ready, 0)?;
    /// let fitted = jury.fit();
    /// assert_eq!(fitted.values(&ready)?, fitted.values(&scores)?);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    #[must_use]
    pub fn with_inverse(self, link: Link, buffer: &'a mut Vec<f64>) -> Self {
        if link == Link::Identity {
            return self;
        }
        buffer.clear();
        link.inverse_into(self.values, buffer);
        Scores { inverse: Some((link, buffer)), ..self }
    }

    /// Attaches g^-1 of each score, computed earlier and in the same order, for link g. This saves
    /// computing it for rows that are shown more than once. See
    /// [`with_inverse`](Self::with_inverse).
    ///
    /// ```
    /// use jurybox::{Link, Scores};
    ///
    /// let (table, kept) = ([0.5, 0.9], [0.0, Link::Logistic.inverse(0.9)]);
    /// let ready = Scores::new(&table, 1)?.with_kept_inverse(Link::Logistic, &kept)?;
    /// assert_eq!(ready.inverse(Link::Logistic).unwrap().values(), kept);
    /// assert!(Scores::new(&table, 1)?.with_kept_inverse(Link::Logistic, &kept[..1]).is_err());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn with_kept_inverse(self, link: Link, inverse: &'a [f64]) -> Result<Self, Error> {
        if inverse.len() != self.values.len() {
            return Err(Error::Shape { values: inverse.len(), evaluators: self.evaluators });
        }
        debug_assert!(inverse.iter().zip(self.values).all(|(kept, &x)| {
            let taken = link.inverse(x);
            *kept == taken || kept.is_nan() && taken.is_nan()
        }));
        Ok(Scores { inverse: Some((link, inverse)), ..self })
    }

    /// The scores on the scale of g^-1, if they are known. For the identity they are the scores
    /// themselves. For other links they must have been attached for the same link.
    pub fn inverse(&self, link: Link) -> Option<Self> {
        match self.inverse {
            _ if link == Link::Identity => Some(*self),
            Some((taken, values)) if taken == link => {
                Some(Scores::trusted(values, self.evaluators, self.complete))
            }
            _ => None,
        }
    }
}

pub(crate) fn usable(value: f64) -> bool {
    value.abs() <= LIMIT
}

pub(crate) fn usable_or_missing(value: f64) -> bool {
    value.is_nan() || usable(value)
}

/// Whether every value is present and at most [`LIMIT`] in magnitude; false if one is missing.
///
/// No magnitude exceeds the sum of all, and summing is faster than comparing. Only if the sum
/// exceeds the limit or is NaN is each value compared. Eight running sums are independent of each
/// other.
pub(crate) fn all_usable(values: &[f64]) -> bool {
    let mut sums = [0.0; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        for lane in 0..8 {
            sums[lane] += chunk[lane].abs();
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    let sum = ((a + e) + (c + g)) + ((b + f) + (d + h));
    usable(rest.iter().fold(sum, |sum, value| sum + value.abs())) || values.iter().all(|&value| usable(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_is_accepted_and_infinite_is_named() {
        assert!(!Scores::new(&[1.0, f64::NAN], 2).unwrap().is_complete());
        assert!(Scores::new(&[1.0, 2.0], 2).unwrap().is_complete());
        for bad in [f64::INFINITY, f64::NEG_INFINITY, 1e101] {
            let error = Scores::new(&[0.0, 1.0, 2.0, bad], 2).unwrap_err();
            assert!(
                matches!(&error, Error::Score { item: 1, evaluator, .. } if evaluator.column == 1),
                "{error}"
            );
        }
    }

    #[test]
    fn an_inverse_is_of_the_link_it_was_taken_of() {
        let (table, mut buffer) = ([0.2, 0.9, f64::NAN, 1.5], vec![7.0]);
        let scores = Scores::new(&table, 2).unwrap();
        assert!(scores.inverse(Link::Logistic).is_none());
        assert_eq!(scores.inverse(Link::Identity).unwrap().values().as_ptr(), table.as_ptr());
        let ready = scores.with_inverse(Link::Probit, &mut buffer);
        assert!(ready.inverse(Link::Logistic).is_none());
        assert_eq!(ready.row(0), scores.row(0));
        let inverse = ready.inverse(Link::Probit).unwrap();
        assert_eq!((inverse.items(), inverse.is_complete()), (2, false));
        let each: Vec<u64> = table.iter().map(|&phi| Link::Probit.inverse(phi).to_bits()).collect();
        assert_eq!(inverse.values().iter().map(|x| x.to_bits()).collect::<Vec<_>>(), each);
    }

    #[test]
    fn rows_must_be_whole() {
        assert!(matches!(Scores::new(&[1.0, 2.0, 3.0], 2), Err(Error::Shape { values: 3, evaluators: 2 })));
        assert!(matches!(Scores::new(&[], 0), Err(Error::Shape { .. })));
        assert_eq!(Scores::new(&[], 3).unwrap().items(), 0);
    }
}

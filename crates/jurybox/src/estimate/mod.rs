//! Mergeable statistics, the parts of policies' states.
//!
//! Each takes memory that does not grow with the number of rounds, or only with its logarithm. Two
//! statistics merge, in any order, into the statistic of both data sets, up to rounding. So late
//! rewards, many threads and many machines need no special treatment.

mod factor;
pub(crate) mod grid;
mod joint;
pub(crate) mod ladder;
mod likelihood;
mod mean;
mod mle;
mod moments;
mod noise;
pub(crate) mod normal_score;
pub(crate) mod pulse;
mod ratio;
mod rewards;
mod ridge;
mod sample;

pub(crate) use factor::one_factor;
pub use factor::{Factor, NotIdentified};
pub use joint::Joint;
pub(crate) use likelihood::Equation as MleEquation;
pub use mean::Mean;
pub use mle::Mle;
pub use moments::Moments;
pub use noise::Noise;
pub use ratio::Ratio;
pub use ridge::Ridge;
pub(crate) use ridge::factor_with_ridge;
pub use sample::{Sample, SampledRow};

use crate::scores::LIMIT;
use serde::{Serialize, de::DeserializeOwned};

/// A statistic that can be saved, merged and validated.
///
/// ```
/// use jurybox::{Scores, estimate::{Mean, Statistic}};
///
/// let (mut left, mut right, mut whole) = (Mean::new(1), Mean::new(1), Mean::new(1));
/// left.observe(&Scores::new(&[1.0, 2.0], 1)?);
/// right.observe(&Scores::new(&[6.0], 1)?);
/// whole.observe(&Scores::new(&[1.0, 2.0, 6.0], 1)?);
/// left.merge(&right);
/// assert_eq!(left.means(), whole.means());
/// # Ok::<(), jurybox::Error>(())
/// ```
pub trait Statistic: Clone + Serialize + DeserializeOwned {
    /// Adds the observations of another statistic of the same kind.
    fn merge(&mut self, other: &Self);

    /// The statistic with its evaluators in other columns. `columns` has the old column of each new
    /// one, or none for a new evaluator. Evaluators that are not in `columns` are dropped.
    #[must_use]
    fn with_columns(&self, columns: &[Option<usize>]) -> Self;

    /// Whether this could be a statistic over this number of evaluators, for states from outside.
    /// The lengths must be right, and the numbers must be possible for valid scores and rewards, so
    /// that nothing can overflow later.
    fn is_sound(&self, evaluators: usize) -> bool;

    /// Whether this can be merged with another, for example because both have the same link. True
    /// by default.
    fn is_of_kind(&self, _other: &Self) -> bool {
        true
    }
}

/// The state of a policy that does not learn.
impl Statistic for () {
    fn merge(&mut self, (): &()) {}

    fn with_columns(&self, _: &[Option<usize>]) -> Self {}

    fn is_sound(&self, _evaluators: usize) -> bool {
        true
    }
}

/// The largest count: beyond it, floating point no longer holds every integer.
pub(crate) const MOST_COUNTED: u64 = 1 << 53;

/// No mean of valid numbers lies beyond this, even after rounding.
const LARGEST_MEAN: f64 = 10.0 * LIMIT;

/// No sum of [`MOST_COUNTED`] products of two valid numbers exceeds this. Products of such sums
/// with counts stay finite.
const LARGEST_SUM: f64 = 1e20 * LIMIT * LIMIT;

/// Whether there are `len` values, all possible counts.
pub(crate) fn are_counts(values: &[f64], len: usize) -> bool {
    values.len() == len && values.iter().all(|&v| is_count(v))
}

pub(crate) fn is_count(value: f64) -> bool {
    (0.0..=MOST_COUNTED as f64).contains(&value)
}

/// Whether there are `len` values, all possible integer counts.
pub(crate) fn are_whole_counts(values: &[u64], len: usize) -> bool {
    values.len() == len && values.iter().all(|&v| v <= MOST_COUNTED)
}

/// Whether there are `len` values, all possible means of valid numbers.
pub(crate) fn are_means(values: &[f64], len: usize) -> bool {
    values.len() == len && values.iter().all(|v| v.abs() <= LARGEST_MEAN)
}

/// Whether there are `len` values, all possible sums of valid numbers or of their products.
pub(crate) fn are_sums(values: &[f64], len: usize) -> bool {
    values.len() == len && values.iter().all(|&v| is_sum(v))
}

pub(crate) fn is_sum(value: f64) -> bool {
    value.abs() <= LARGEST_SUM
}

/// Whether there are `len` values, all possible sums of squares.
pub(crate) fn are_sums_of_squares(values: &[f64], len: usize) -> bool {
    values.len() == len && values.iter().all(|&v| is_sum_of_squares(v))
}

pub(crate) fn is_sum_of_squares(value: f64) -> bool {
    (0.0..=LARGEST_SUM).contains(&value)
}

/// The entries of a list, moved to other columns: `columns` has the old column of each new one, or
/// none for an entry `new`.
pub(crate) fn selected<T: Clone>(list: &[T], columns: &[Option<usize>], new: T) -> Vec<T> {
    columns.iter().map(|from| from.map_or_else(|| new.clone(), |from| list[from].clone())).collect()
}

pub(crate) fn add_all(into: &mut [f64], from: &[f64]) {
    for (a, b) in into.iter_mut().zip(from) {
        *a += b;
    }
}

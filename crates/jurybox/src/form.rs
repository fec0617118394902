//! Additive values: an item's value as a sum of one term per score, for columnar data.
//!
//! Most policies value an item without missing scores by such a sum. Items of a columnar file can
//! then be ranked without gathering the scores of an item in one place. The additions and their
//! order are those of [`Fitted::values`](crate::Fitted::values), so the values are bit-equal.

use crate::evaluators::Evaluators;
use crate::link::Link;
use std::fmt::Debug;
use std::sync::Arc;

/// The additive form of a policy's values; cheap to clone.
///
/// Each item has one running sum for each [lane](Self::lanes), and all sums start at zero. The
/// scores of an evaluator are [added](Self::add) to the evaluator's lane, in the order of the
/// evaluators. [`finish`](Self::finish) turns the sums into values. An item with a missing score
/// becomes NaN and must be valued by [`Fitted::values`](crate::Fitted::values).
///
/// ```
/// use jurybox::{Evaluators, Jury};
///
/// let fitted = Jury::new(&"average".parse()?, Evaluators::numbered(2)?)?.fit();
/// let form = fitted.form().unwrap();
/// let (first, second) = ([1.0, 3.0], [2.0, f64::NAN]);
/// let mut sums = vec![vec![0.0; 2]; form.lanes()];
/// form.add(0, first.into_iter(), &mut sums[form.lane(0)]);
/// form.add(1, second.into_iter(), &mut sums[form.lane(1)]);
/// form.finish(&mut sums);
/// assert_eq!(sums[0][0], 1.5);
/// assert!(sums[0][1].is_nan());
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Form {
    lanes: usize,
    terms: Terms,
    line: ValueMap,
}

#[derive(Debug, Clone)]
enum Terms {
    /// The score times a weight.
    Weights(Arc<[f64]>),
    /// Another function of each score. Scores x of low evaluators are first replaced by `mirror -
    /// x`.
    Curves { curves: Arc<dyn Curves>, low: Arc<[bool]>, mirror: f64 },
}

/// A nonlinear term per score.
pub(crate) trait Curves: Debug + Send + Sync {
    /// Adds the term of each score of one evaluator; NaN for a missing score.
    fn add(&self, evaluator: usize, scores: &[f64], sums: &mut [f64]);
}

/// The map from an item's sum to its value.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ValueMap {
    AsItIs,
    Over(f64),
    Straight { base: f64, slope: f64 },
}

/// The maximum number of scores passed to curves in one call.
const STRETCH: usize = 512;

impl Form {
    /// The sum of weights times scores in one lane; ignores the evaluators' directions.
    ///
    /// ```
    /// let form = jurybox::Form::weighted(&[1.0, 3.0]);
    /// let mut sums = vec![vec![0.0]];
    /// form.add(0, [2.0].into_iter(), &mut sums[0]);
    /// form.add(1, [5.0].into_iter(), &mut sums[0]);
    /// form.finish(&mut sums);
    /// assert_eq!(sums, [[17.0]]);
    /// ```
    pub fn weighted(weights: &[f64]) -> Form {
        Form { lanes: 1, terms: Terms::Weights(weights.into()), line: ValueMap::AsItIs }
    }

    /// Adds in the order of `kernel::dot_rows`: evaluators in even and odd columns separately, then
    /// the two sums.
    pub(crate) fn dots(weights: &[f64]) -> Form {
        Form { lanes: 2, ..Form::weighted(weights) }
    }

    /// A sum of nonlinear terms, added one after the other.
    pub(crate) fn curved(curves: Arc<dyn Curves>) -> Form {
        Form {
            lanes: 1,
            terms: Terms::Curves { curves, low: [].into(), mirror: 0.0 },
            line: ValueMap::AsItIs,
        }
    }

    /// [`dots`](Self::dots) of scores on the scale of g^-1, where g is the link.
    pub(crate) fn inverse_dots(link: Link, weights: &[f64]) -> Form {
        if link == Link::Identity {
            return Form::dots(weights);
        }
        Form { lanes: 2, ..Form::curved(Arc::new(ByLink { link, weights: weights.into() })) }
    }

    /// The sum divided by `divisor`.
    pub(crate) fn over(self, divisor: f64) -> Form {
        Form { line: ValueMap::Over(divisor), ..self }
    }

    /// `base + slope * sum`.
    pub(crate) fn on_line(self, base: f64, slope: f64) -> Form {
        Form { line: ValueMap::Straight { base, slope }, ..self }
    }

    /// The form for raw scores, with low evaluators mirrored.
    pub(crate) fn turned(self, evaluators: &Evaluators, link: Link) -> Form {
        if !evaluators.any_low() {
            return self;
        }
        let low = evaluators.are_low();
        let terms = match self.terms {
            Terms::Weights(weights) => {
                Terms::Weights(weights.iter().zip(low).map(|(w, low)| if low { -w } else { *w }).collect())
            }
            Terms::Curves { curves, .. } => {
                Terms::Curves { curves, low: low.collect(), mirror: Evaluators::mirror(link) }
            }
        };
        Form { terms, ..self }
    }

    /// The number of running sums of an item: 1 or 2.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The lane to which an evaluator's terms are added.
    pub fn lane(&self, evaluator: usize) -> usize {
        evaluator % self.lanes
    }

    /// Adds an evaluator's terms to the running sums of its lane, item by item; NaN = missing.
    #[inline]
    pub fn add(&self, evaluator: usize, scores: impl Iterator<Item = f64>, sums: &mut [f64]) {
        match &self.terms {
            Terms::Weights(weights) => {
                let weight = weights[evaluator];
                sums.iter_mut().zip(scores).for_each(|(sum, x)| *sum += x * weight);
            }
            Terms::Curves { curves, low, mirror } => {
                let turn = low.get(evaluator).copied().unwrap_or(false).then_some(*mirror);
                add_curved(&**curves, evaluator, turn, scores, sums);
            }
        }
    }

    /// Turns the running sums of each item into its value, which replaces its sum in the first
    /// lane.
    pub fn finish(&self, sums: &mut [Vec<f64>]) {
        let Some((values, others)) = sums.split_first_mut() else { return };
        for other in others {
            values.iter_mut().zip(other).for_each(|(value, more)| *value += *more);
        }
        match self.line {
            ValueMap::AsItIs => {}
            ValueMap::Over(divisor) => values.iter_mut().for_each(|value| *value /= divisor),
            ValueMap::Straight { base, slope } => {
                values.iter_mut().for_each(|value| *value = base + slope * *value);
            }
        }
    }
}

/// Adds terms in blocks, so that one call of `curves` handles many scores.
fn add_curved(
    curves: &dyn Curves,
    evaluator: usize,
    turn: Option<f64>,
    mut scores: impl Iterator<Item = f64>,
    sums: &mut [f64],
) {
    let mut buffer = [0.0; STRETCH];
    for sums in sums.chunks_mut(STRETCH) {
        let mut count = 0;
        for (place, x) in buffer[..sums.len()].iter_mut().zip(&mut scores) {
            *place = x;
            count += 1;
        }
        if let Some(mirror) = turn {
            buffer[..count].iter_mut().for_each(|x| *x = mirror - *x);
        }
        curves.add(evaluator, &buffer[..count], &mut sums[..count]);
    }
}

/// Weights times scores on the scale of g^-1, where g is the link.
#[derive(Debug)]
struct ByLink {
    link: Link,
    weights: Box<[f64]>,
}

impl Curves for ByLink {
    fn add(&self, evaluator: usize, scores: &[f64], sums: &mut [f64]) {
        let weight = self.weights[evaluator];
        self.link.for_each_inverse(scores, sums, |sum, x| *sum += x * weight);
    }
}

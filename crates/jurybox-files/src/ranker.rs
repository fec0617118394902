//! The values by which rows are ranked: predictions of a fitted jury, or sums with fixed weights.

use crate::cell_number::LIMIT;
use crate::error::Error;
use crate::scan_plan::Batch;
use jurybox::{Contributions, Direction, Evaluators, Fitted, Form, Jury, Scores, Scratch, Spec};

/// The source of the values by which rows are ranked.
///
/// ```
/// use jurybox::Evaluators;
/// use jurybox_files::Ranker;
/// let evaluators = Evaluators::new(["spam", "abuse"])?;
/// let ranker = Ranker::weights(&evaluators, &[("abuse".into(), 2.0)])?;
/// assert!(Ranker::weights(&evaluators, &[("spma".into(), 1.0)]).is_err());
/// # let _ = ranker;
/// # Ok::<(), jurybox_files::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum Ranker {
    /// A fitted jury.
    Fitted(Fitted),
    /// One fixed weight per evaluator, for its scores as they are read. If a row lacks scores, the
    /// weights of its present scores are scaled up.
    Weights(Vec<f64>),
}

impl Ranker {
    /// The current fit of a jury.
    pub fn jury(jury: &Jury) -> Ranker {
        Ranker::Fitted(jury.fit())
    }

    /// Fixed weights by evaluator, negated if low scores are good. Evaluators not listed get 0.
    pub fn weights(evaluators: &Evaluators, pairs: &[(String, f64)]) -> Result<Ranker, Error> {
        let weights = by_evaluator(evaluators, pairs, Some(0.0))?;
        let turned = weights
            .iter()
            .zip(evaluators.as_slice())
            .map(|(weight, evaluator)| if evaluator.direction == Direction::Low { -weight } else { *weight });
        Ok(Ranker::Weights(turned.collect()))
    }

    /// Whether the policy makes some of its picks at random, which a ranking by value does not.
    ///
    /// ```
    /// use jurybox::{Evaluators, Jury};
    /// use jurybox_files::Ranker;
    /// for (policy, explores) in
    ///     [("average", false), ("eps-greedy(eps=0.1)", true), ("rand", true)]
    /// {
    ///     let jury = Jury::new(&policy.parse()?, Evaluators::numbered(2)?)?;
    ///     assert_eq!(Ranker::jury(&jury).explores(), explores);
    /// }
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn explores(&self) -> bool {
        match self {
            Ranker::Weights(_) => false,
            Ranker::Fitted(fitted) => fitted.leaves_to_chance(),
        }
    }

    /// Errors if the values of rows are not expected rewards.
    pub(crate) fn must_expect_rewards(&self) -> Result<(), Error> {
        match self {
            Ranker::Weights(_) => Err(Error::NotRewards { policy: None }),
            Ranker::Fitted(fitted) => expect_rewards(fitted),
        }
    }

    /// The additive form of values, if they have one: without missing scores, a sum of one term per
    /// score.
    pub(crate) fn form(&self) -> Option<Form> {
        match self {
            Ranker::Weights(weights) => Some(Form::weighted(weights)),
            Ranker::Fitted(fitted) => fitted.form(),
        }
    }

    /// Computes the values of a batch into `buffer.values`, by the additive form if there is one.
    /// The value of a row is the same to the last bit in any batch.
    pub(crate) fn values(
        &self,
        form: Option<&Form>,
        batch: &mut Batch,
        buffer: &mut ValueBuffers,
    ) -> Result<(), Error> {
        let Some(form) = form else {
            buffer.values.clear();
            match self {
                Ranker::Weights(weights) => {
                    let rows = batch.scores().chunks_exact(weights.len());
                    buffer.values.extend(rows.map(|row| weighed(weights, row)));
                }
                Ranker::Fitted(fitted) => {
                    let scores = fitted.scores(batch.scores())?;
                    buffer.values.extend_from_slice(fitted.values_with(&scores, &mut buffer.scratch)?);
                }
            }
            return Ok(());
        };
        batch.values(form, &mut buffer.values);
        // The form gives NaN for rows with missing scores. These rows are computed together.
        let ValueBuffers { values, gaps, rows, scratch } = buffer;
        gaps.clear();
        gaps.extend((0..values.len()).filter(|&row| values[row].is_nan()));
        if gaps.is_empty() {
            return Ok(());
        }
        batch.gather(gaps, rows);
        match self {
            Ranker::Weights(weights) => {
                for (&gap, row) in gaps.iter().zip(rows.chunks_exact(weights.len())) {
                    values[gap] = weighed(weights, row);
                }
            }
            Ranker::Fitted(fitted) => {
                let valued = fitted.values_with(&fitted.scores(rows)?, scratch)?;
                gaps.iter().zip(valued).for_each(|(&gap, &value)| values[gap] = value);
            }
        }
        Ok(())
    }

    /// The values of row-major `rows` with `width` scores each; NaN is a missing score.
    ///
    /// ```
    /// use jurybox_files::Ranker;
    /// let ranker = Ranker::Weights(vec![1.0, 3.0]);
    /// assert_eq!(ranker.values_of(&[1.0, 2.0, f64::NAN, 3.0], 2)?, [7.0, 12.0]);
    /// # Ok::<(), jurybox_files::Error>(())
    /// ```
    pub fn values_of(&self, rows: &[f64], width: usize) -> Result<Vec<f64>, Error> {
        match self {
            Ranker::Weights(weights) => {
                Ok(rows.chunks_exact(width).map(|row| weighed(weights, row)).collect())
            }
            Ranker::Fitted(fitted) => Ok(fitted.values(&scores(rows, width)?)?),
        }
    }

    /// The contribution of each evaluator to the value of a row. `None` if the value depends on
    /// other rows.
    ///
    /// ```
    /// use jurybox_files::Ranker;
    /// let why = Ranker::Weights(vec![1.0, 3.0]).contributions(&[1.0, 2.0])?.unwrap();
    /// assert_eq!((why.base, &why.each[..]), (0.0, &[1.0, 6.0][..]));
    /// # Ok::<(), jurybox_files::Error>(())
    /// ```
    pub fn contributions(&self, row: &[f64]) -> Result<Option<Contributions>, Error> {
        match self {
            Ranker::Fitted(fitted) => Ok(fitted.contributions(row)?),
            Ranker::Weights(weights) => {
                let scale = scale(weights, row);
                let term = |(w, x): (&f64, &f64)| if x.is_nan() { 0.0 } else { w * x * scale };
                let base = if scale.is_finite() { 0.0 } else { f64::NEG_INFINITY };
                let each = weights.iter().zip(row).map(term).collect();
                Ok(Some(Contributions { base, each }))
            }
        }
    }

    /// The weights of the evaluators, if the policy has weights.
    pub fn present_weights(&self) -> Option<Vec<f64>> {
        match self {
            Ranker::Weights(weights) => Some(weights.clone()),
            Ranker::Fitted(fitted) => fitted.weights().map(<[f64]>::to_vec),
        }
    }
}

/// Errors if the values of a fit are not expected rewards.
pub(crate) fn expect_rewards(fitted: &Fitted) -> Result<(), Error> {
    if fitted.values_are_rewards() {
        return Ok(());
    }
    Err(Error::NotRewards { policy: Some(fitted.spec().to_string()) })
}

/// Buffers for the values of a batch, reused between batches.
#[derive(Debug, Default)]
pub(crate) struct ValueBuffers {
    /// The value of each row of the last batch.
    pub(crate) values: Vec<f64>,
    gaps: Vec<usize>,
    rows: Vec<f64>,
    scratch: Scratch,
}

/// Row-major scores with `width` evaluators.
pub(crate) fn scores(values: &[f64], width: usize) -> Result<Scores<'_>, Error> {
    Ok(Scores::new(values, width)?)
}

/// The weighted sum of the present scores, scaled up for the missing scores. Minus infinity if all
/// weight is on missing scores.
fn weighed(weights: &[f64], scores: &[f64]) -> f64 {
    let present = weights.iter().zip(scores).filter(|(_, x)| !x.is_nan());
    let scale = scale(weights, scores);
    if scale.is_finite() { present.map(|(w, x)| w * x).sum::<f64>() * scale } else { f64::NEG_INFINITY }
}

/// The factor by which weights are scaled up for missing scores, by the sums of their magnitudes.
/// Infinite if all weight is on missing scores.
fn scale(weights: &[f64], scores: &[f64]) -> f64 {
    let (mut present, mut all) = (0.0, 0.0);
    for (w, x) in weights.iter().zip(scores) {
        all += w.abs();
        present += if x.is_nan() { 0.0 } else { w.abs() };
    }
    if present == all {
        1.0
    } else if present > 0.0 {
        all / present
    } else {
        f64::INFINITY
    }
}

/// One number per evaluator from `name=value` pairs, with `rest` for evaluators not named. Errors
/// on an unknown or repeated name, and on a number that is NaN or outside of ±1e100. Without
/// `rest`, errors on an evaluator without a number.
///
/// ```
/// let evaluators = jurybox::Evaluators::new(["a", "b"])?;
/// let sigma = jurybox_files::by_evaluator(&evaluators, &[("b".into(), 0.3)], None);
/// assert_eq!(sigma.unwrap_err().code(), "no-value");
/// let weights =
///     jurybox_files::by_evaluator(&evaluators, &[("b".into(), f64::NAN)], Some(0.0));
/// assert_eq!(weights.unwrap_err().code(), "unusable-number");
/// # Ok::<(), jurybox::Error>(())
/// ```
pub fn by_evaluator(
    evaluators: &Evaluators,
    pairs: &[(String, f64)],
    rest: Option<f64>,
) -> Result<Vec<f64>, Error> {
    let mut values = vec![None; evaluators.len()];
    for (name, value) in pairs {
        let Some(at) = evaluators.position(name) else {
            return Err(Error::UnknownEvaluator {
                evaluator: name.clone(),
                nearest: jurybox::nearest(name, evaluators.names()).map(Into::into),
                evaluators: evaluators.names().map(Into::into).collect(),
            });
        };
        // Products with scores within this limit stay finite.
        if value.abs() > LIMIT || value.is_nan() {
            return Err(Error::UnusableNumber { evaluator: name.clone(), value: *value });
        }
        if values[at].replace(*value).is_some() {
            return Err(Error::SetTwice { evaluator: name.clone() });
        }
    }
    let all = evaluators
        .names()
        .zip(values)
        .map(|(name, value)| value.or(rest).ok_or_else(|| Error::NoValue { evaluator: name.into() }));
    all.collect()
}

/// A new jury with the evaluators of a table.
///
/// ```
/// let evaluators = jurybox::Evaluators::new(["a", "b"])?;
/// assert_eq!(jurybox_files::new_jury(&"esag".parse()?, &evaluators)?.evaluators().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn new_jury(spec: &Spec, evaluators: &Evaluators) -> Result<Jury, Error> {
    Ok(Jury::new(spec, evaluators.clone())?)
}

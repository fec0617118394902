//! What rows are ranked by: a jury, or weights that a person gives.

use crate::ask::Batch;
use crate::error::Error;
use jurybox::estimate::{Mean, Statistic};
use jurybox::{Evaluators, Jury, Scores, Spec};

/// What rows are ranked by.
///
/// ```
/// use jurybox_files::Judge;
/// let judge = Judge::weights(&["spam".into(), "abuse".into()], &[("abuse".into(), 2.0)])?;
/// assert!(Judge::weights(&["spam".into()], &[("spma".into(), 1.0)]).is_err());
/// # let _ = judge;
/// # Ok::<(), jurybox_files::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum Judge {
    /// A policy with what it has learnt.
    Jury(Box<Jury>),
    /// One fixed weight per evaluator. A row with missing scores is ranked on those it has, their weights scaled up.
    Weights(Vec<f64>),
}

impl Judge {
    /// A jury as it is now. Whatever it derives from its state is derived here, once, and not by every batch.
    pub fn jury(mut jury: Jury) -> Result<Judge, Error> {
        let width = jury.evaluators().len();
        jury.values(&scores(&vec![0.0; width], width)?)?;
        Ok(Judge::Jury(Box::new(jury)))
    }

    /// Fixed weights by evaluator; those not named get none.
    pub fn weights(evaluators: &[String], pairs: &[(String, f64)]) -> Result<Judge, Error> {
        Ok(Judge::Weights(by_evaluator(evaluators, pairs, "--weights", Some(0.0))?))
    }

    /// The weights, where rows are valued by nothing else.
    pub(crate) fn fixed_weights(&self) -> Option<&[f64]> {
        match self {
            Judge::Weights(weights) => Some(weights),
            Judge::Jury(_) => None,
        }
    }

    /// The value of each row of a batch.
    pub(crate) fn values(&self, batch: &mut Batch, out: &mut Vec<f64>) -> Result<(), Error> {
        match self {
            Judge::Weights(weights) => {
                batch.dots(weights, out);
                for row in 0..out.len() {
                    if out[row].is_nan() {
                        let scores: Vec<f64> = (0..weights.len()).map(|j| batch.score(row, j)).collect();
                        out[row] = weighed(weights, &scores);
                    }
                }
                Ok(())
            }
            Judge::Jury(jury) => {
                let mut jury = jury.clone();
                let values = jury.values(&scores(batch.scores(), jury.evaluators().len())?)?;
                *out = values;
                Ok(())
            }
        }
    }

    /// The values of a few rows, whose scores follow each other; NaN = missing.
    ///
    /// ```
    /// use jurybox_files::Judge;
    /// let judge = Judge::Weights(vec![1.0, 3.0]);
    /// assert_eq!(judge.values_of(&[1.0, 2.0, f64::NAN, 3.0], 2)?, [7.0, 12.0]);
    /// # Ok::<(), jurybox_files::Error>(())
    /// ```
    pub fn values_of(&self, rows: &[f64], width: usize) -> Result<Vec<f64>, Error> {
        match self {
            Judge::Weights(weights) => {
                Ok(rows.chunks_exact(width).map(|row| weighed(weights, row)).collect())
            }
            Judge::Jury(jury) => Ok(jury.clone().values(&scores(rows, width)?)?),
        }
    }

    /// The weights of the evaluators, where there are any.
    pub fn present_weights(&self) -> Option<Vec<f64>> {
        match self {
            Judge::Weights(weights) => Some(weights.clone()),
            Judge::Jury(jury) => jury.clone().weights().map(<[f64]>::to_vec),
        }
    }
}

pub(crate) fn scores(values: &[f64], width: usize) -> Result<Scores<'_>, Error> {
    Ok(Scores::new(values, width)?)
}

/// The weighted sum over the scores that are there, scaled up to all weights; last of all where none is.
fn weighed(weights: &[f64], scores: &[f64]) -> f64 {
    let (mut sum, mut present, mut all) = (0.0, 0.0, 0.0);
    for (w, x) in weights.iter().zip(scores) {
        all += w.abs();
        if !x.is_nan() {
            sum += w * x;
            present += w.abs();
        }
    }
    if present == all {
        sum
    } else if present > 0.0 {
        sum * all / present
    } else {
        f64::NEG_INFINITY
    }
}

/// One number per evaluator from `name=value` pairs; `rest` for those not named, or an error without it.
///
/// ```
/// let names = ["a".to_string(), "b".to_string()];
/// let sigma = jurybox_files::by_evaluator(&names, &[("b".into(), 0.3)], "--sigma", None);
/// assert!(sigma.unwrap_err().to_string().contains("`a`"));
/// ```
pub fn by_evaluator(
    evaluators: &[String],
    pairs: &[(String, f64)],
    option: &str,
    rest: Option<f64>,
) -> Result<Vec<f64>, Error> {
    let mut values = vec![None; evaluators.len()];
    for (name, value) in pairs {
        let at = evaluators.iter().position(|e| e == name || e.strip_prefix('-') == Some(name));
        let Some(at) = at else {
            let hint = match jurybox::nearest(name, evaluators.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", evaluators.join(", ")),
            };
            return Err(Error::Usage(format!("{option}: there is no evaluator `{name}`; {hint}")));
        };
        if values[at].replace(*value).is_some() {
            return Err(Error::Usage(format!("{option}: `{name}` is set twice")));
        }
    }
    let all = evaluators.iter().zip(values).map(|(name, value)| {
        value.or(rest).ok_or_else(|| Error::Usage(format!("{option}: no value for the evaluator `{name}`")))
    });
    all.collect()
}

/// A jury over a table's evaluators.
///
/// ```
/// let names = vec!["a".to_string(), "b".to_string()];
/// assert_eq!(jurybox_files::seat(&"esag".parse()?, &names)?.evaluators().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn seat(spec: &Spec, evaluators: &[String]) -> Result<Jury, Error> {
    Ok(Jury::new(spec, Evaluators::new(evaluators.to_vec())?)?)
}

/// The mean of each evaluator's scores over a batch.
pub(crate) fn means(batch: &mut Batch) -> Result<Mean, Error> {
    let width = batch.evaluators;
    let mut mean = Mean::new(width);
    mean.observe(&scores(batch.scores(), width)?);
    Ok(mean)
}

pub(crate) fn merge_means(into: &mut Option<Mean>, from: Option<Mean>) {
    match (into, from) {
        (Some(into), Some(from)) => into.merge(&from),
        (into @ None, from) => *into = from,
        (Some(_), None) => {}
    }
}

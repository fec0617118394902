//! What to doubt of a fit: that the labels say anything at all, and that the jury points the right way.

use super::model::Model;
use crate::estimate::SampledRow;
use crate::kernel::dot;
use serde::Serialize;
use std::fmt;

/// A reason to look again at what is learnt from.
///
/// ```
/// use jurybox::{Doubt, Evaluators, Example, Jury};
/// let mut jury = Jury::new(&"adaptive".parse()?, Evaluators::numbered(2)?)?;
/// for i in 0..40 {
///     let (a, b) = (f64::from(i * 7 % 40), f64::from(i * 11 % 40));
///     jury.learn(&[Example { scores: &[a, b], reward: 0.0, receipt: None }], 0)?;
/// }
/// assert_eq!(jury.fit().doubts(), [Doubt::AllAlike { labels: 40, reward: 0.0 }]);
/// assert!(jury.fit().doubts()[0].to_string().starts_with("all 40 rewards so far are 0"));
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Doubt {
    /// All rewards are the same: they say nothing of who is right.
    AllAlike {
        /// How many there are.
        labels: u64,
        /// What they all are.
        reward: f64,
    },
    /// By the rewards, what the evaluators put last is worth most.
    WrongWay {
        /// How many rewards say so.
        labels: u64,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::AllAlike { labels, reward } => write!(
                f,
                "all {labels} rewards so far are {reward}: they say nothing of which evaluators to trust. If that is \
                 unexpected, look at some items from further down, or at how rewards come in"
            ),
            Doubt::WrongWay { labels } => write!(
                f,
                "by the {labels} rewards so far, the evaluators together point the wrong way: what they score low is worth \
                 most. If low scores are meant to be good ones, say so"
            ),
        }
    }
}

/// Fewer rewards than this, all the same, are no wonder.
const FEW: f64 = 20.0;
/// Values that go against the mean of the evaluators more than this have turned the jury round.
const AGAINST: f64 = -0.5;

/// What to doubt of a model, given the labelled rows (scores, then the reward) it was fitted to.
pub(super) fn of<'a>(
    model: &Model,
    mut labelled: impl Iterator<Item = SampledRow<'a>> + Clone,
) -> Vec<Doubt> {
    let width = model.landscape.width();
    let labels = model.labels;
    if labels < FEW {
        return Vec::new();
    }
    let mut doubts = Vec::new();
    let first = labelled.clone().next().map_or(0.0, |row| row.values[width]);
    if labelled.all(|row| row.values[width] == first) {
        doubts.push(Doubt::AllAlike { labels: labels as u64, reward: first });
    }
    if is_turned(model) {
        doubts.push(Doubt::WrongWay { labels: labels as u64 });
    }
    doubts
}

/// Whether the value of an item goes against the mean of its standardised scores.
fn is_turned(model: &Model) -> bool {
    if let Some(levels) = &model.levels {
        return levels.is_turned();
    }
    let landscape = &model.landscape;
    let slopes: Vec<f64> = (0..landscape.width()).map(|j| model.slope(j)).collect();
    let image = landscape.correlation.times(&slopes);
    let along = dot(&landscape.equal(), &image);
    along < AGAINST * dot(&slopes, &image).max(0.0).sqrt()
}

//! Diagnostics of the labels: rewards that are all equal, and a jury that points the wrong way.

use super::model::Model;
use crate::estimate::SampledRow;
use crate::kernel::dot;
use serde::Serialize;
use std::fmt;

/// A warning about the labels that a jury has learnt from.
///
/// ```
/// use jurybox::{Diagnostic, Evaluators, Example, Jury};
/// let mut jury = Jury::new(&"adaptive".parse()?, Evaluators::numbered(2)?)?;
/// for i in 0..40 {
///     let (a, b) = (f64::from(i * 7 % 40), f64::from(i * 11 % 40));
///     jury.learn(&[Example { scores: &[a, b], reward: 0.0, receipt: None }], 0)?;
/// }
/// assert_eq!(jury.fit().diagnostics(), [Diagnostic::AllAlike { labels: 40, reward: 0.0 }]);
/// // Displayed: "all 40 rewards so far are 0: they do not show which evaluators to trust. …"
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Diagnostic {
    /// All rewards are equal: they do not show which evaluators to trust.
    AllAlike {
        /// Number of rewards.
        labels: u64,
        /// The reward that all of them have.
        reward: f64,
    },
    /// Rewards fall as the evaluators' scores rise.
    WrongWay {
        /// Number of rewards.
        labels: u64,
    },
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Diagnostic::AllAlike { labels, reward } => write!(
                f,
                "all {labels} rewards so far are {reward}: they do not show which evaluators to trust. If that is \
                 unexpected, review some items from further down, or check how rewards come in"
            ),
            Diagnostic::WrongWay { labels } => write!(
                f,
                "by the {labels} rewards so far, the evaluators together point the wrong way: items that they score low \
                 have the higher rewards. If low scores are meant to be good, declare those evaluators inverted"
            ),
        }
    }
}

/// Fewer rewards than this, all the same, are no wonder.
const FEW: f64 = 20.0;
/// Values that go against the mean of the evaluators more than this have turned the jury round.
const AGAINST: f64 = -0.5;
/// Rewards that say nothing have a direction too: they must fall with that mean by so many standard
/// errors.
const SURELY: f64 = 3.5;

/// What to doubt of a model, given the labelled rows (scores, then the reward) it was fitted to.
pub(super) fn of<'a>(
    model: &Model,
    labelled: impl Iterator<Item = SampledRow<'a>> + Clone,
) -> Vec<Diagnostic> {
    let width = model.landscape.width();
    let labels = model.labels;
    if labels < FEW {
        return Vec::new();
    }
    let mut diagnostics = Vec::new();
    let first = labelled.clone().next().map_or(0.0, |row| row.values[width]);
    if labelled.clone().all(|row| row.values[width] == first) {
        diagnostics.push(Diagnostic::AllAlike { labels: labels as u64, reward: first });
    }
    if is_turned(model, labelled) {
        diagnostics.push(Diagnostic::WrongWay { labels: labels as u64 });
    }
    diagnostics
}

/// Whether the value of an item goes against the mean of its standardised scores, and rewards
/// surely do.
fn is_turned<'a>(model: &Model, labelled: impl Iterator<Item = SampledRow<'a>> + Clone) -> bool {
    if let Some(levels) = &model.levels {
        return levels.is_turned();
    }
    let landscape = &model.landscape;
    let slopes: Vec<f64> = (0..landscape.width()).map(|j| model.slope(j)).collect();
    let image = landscape.correlation.times(&slopes);
    let along = dot(&landscape.equal(), &image);
    along < AGAINST * dot(&slopes, &image).max(0.0).sqrt() && -errors_along(model, labelled) > SURELY
}

/// How many standard errors the slope of the rewards along the mean of the evaluators is from
/// nought.
fn errors_along<'a>(model: &Model, labelled: impl Iterator<Item = SampledRow<'a>> + Clone) -> f64 {
    let (landscape, (low, high)) = (&model.landscape, model.range);
    let width = landscape.width();
    let votes = landscape.equal();
    let (mut plain, mut ranked) = (vec![0.0; width], vec![0.0; width]);
    // As the fit sees them: rewards that are cut, and nothing that is far from all that was seen.
    let pairs: Vec<[f64; 3]> = labelled
        .filter(|row| !landscape.is_far(&row.values[..width]))
        .map(|row| {
            landscape.place(&row.values[..width], &mut plain, &mut ranked);
            [row.weight, dot(&votes, &plain), row.values[width].clamp(low, high)]
        })
        .collect();
    let count: f64 = pairs.iter().map(|[weight, ..]| weight).sum();
    let mean = |of: usize| pairs.iter().map(|pair| pair[0] * pair[of]).sum::<f64>() / count;
    let (centre, level) = (mean(1), mean(2));
    let spread = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        pairs.iter().map(|[weight, x, y]| weight * f(x - centre, y - level)).sum()
    };
    let (xx, xy, yy) = (spread(&|x, _| x * x), spread(&|x, y| x * y), spread(&|_, y| y * y));
    let left = (xx * yy - xy * xy).max(0.0);
    if xy == 0.0 || count <= 2.0 { 0.0 } else { xy * ((count - 2.0) / left).sqrt() }
}

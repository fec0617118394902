//! Weights from gains and noise levels, shared by `oracle`, `esag`, the `eps-greedy` family and
//! `eval-ucb`.
//!
//! Each of these policies has its own estimate of the gains alpha. The weights are those of the
//! oracle, with given or estimated noise levels sigma. See Lemmas 1 and 2 of "Top K Ranking for
//! Multi-Armed Bandit with Noisy Evaluations".

use super::reward_law::reward_law;
use super::{Exploration, OptionEntry, OptionKind, Rank, inverted};
use crate::contributions::Contributions;
use crate::estimate::{Factor, MleEquation, Moments, Noise, Statistic};
use crate::form::Form;
use crate::link::Link;
use crate::options::{Positive, Sigma};
use crate::scores::Scores;
use crate::scratch::Scratch;
use crate::weights::{NormalPrior, Weights};
use serde::{Deserialize, Serialize};

/// The option `sigma` of all policies with noise levels.
pub(super) const SIGMA: OptionEntry = OptionEntry {
    name: "sigma",
    kind: OptionKind::Noise,
    default: "unlabelled",
    range: "a number above 0, a list of them, unlabelled, labelled",
    help: "noise levels of the evaluators: known, or estimated from the scores alone or from the rewards",
    without: &[],
};

/// Statistics from which noise levels are estimated. They can include moments of the scores, from
/// which the reward distribution of items with missing scores is estimated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum NoiseState {
    Given,
    Unlabelled(Moments),
    Labelled(Noise),
    /// Given noise levels, and moments of the rounds with missing scores. The variants with gaps
    /// are separate, so that the saved form of the others does not change.
    GivenWithGaps(Moments),
    LabelledWithGaps(Noise, Moments),
}

impl NoiseState {
    pub(crate) fn new(sigma: &Sigma, evaluators: usize, link: Link) -> Self {
        match sigma {
            Sigma::Unlabelled => NoiseState::Unlabelled(Moments::new(evaluators)),
            Sigma::Labelled => NoiseState::Labelled(Noise::new(evaluators, link)),
            Sigma::All(_) | Sigma::Each(_) => NoiseState::Given,
        }
    }

    /// Observes scores; true if that may have changed the noise levels.
    pub(crate) fn observe(&mut self, scores: &Scores<'_>) -> bool {
        if let NoiseState::Unlabelled(moments) = self {
            moments.observe(scores);
            return true;
        }
        false
    }

    /// Observes scores for the noise levels and for the reward distribution; true if the fit may
    /// have changed. With given or labelled noise, only rounds with missing scores enter the
    /// moments, because only items with missing scores need the distribution.
    pub(crate) fn observe_all(&mut self, scores: &Scores<'_>) -> bool {
        if self.observe(scores) {
            return true;
        }
        if scores.is_complete() {
            return false;
        }
        *self = match std::mem::replace(self, NoiseState::Given) {
            NoiseState::Given => NoiseState::GivenWithGaps(Moments::new(scores.evaluators())),
            NoiseState::Labelled(noise) => {
                NoiseState::LabelledWithGaps(noise, Moments::new(scores.evaluators()))
            }
            other => other,
        };
        if let NoiseState::GivenWithGaps(moments) | NoiseState::LabelledWithGaps(_, moments) = self {
            moments.observe(scores);
        }
        true
    }

    /// Whether the noise levels are estimated from unlabelled scores.
    pub(crate) fn learns_from_scores(&self) -> bool {
        matches!(self, NoiseState::Unlabelled(_))
    }

    pub(crate) fn learn(&mut self, scores: &[f64], reward: f64) -> bool {
        if let NoiseState::Labelled(noise) | NoiseState::LabelledWithGaps(noise, _) = self {
            noise.learn(scores, reward);
            return true;
        }
        false
    }

    /// The moments of scores, if they are kept.
    pub(crate) fn moments(&self) -> Option<&Moments> {
        match self {
            NoiseState::Given | NoiseState::Labelled(_) => None,
            NoiseState::Unlabelled(moments)
            | NoiseState::GivenWithGaps(moments)
            | NoiseState::LabelledWithGaps(_, moments) => Some(moments),
        }
    }

    fn moments_mut(&mut self) -> Option<&mut Moments> {
        match self {
            NoiseState::Given | NoiseState::Labelled(_) => None,
            NoiseState::Unlabelled(moments)
            | NoiseState::GivenWithGaps(moments)
            | NoiseState::LabelledWithGaps(_, moments) => Some(moments),
        }
    }

    /// The noise statistics from rewards, if they are kept.
    fn labelled(&self) -> Option<&Noise> {
        match self {
            NoiseState::Labelled(noise) | NoiseState::LabelledWithGaps(noise, _) => Some(noise),
            _ => None,
        }
    }
}

impl Statistic for NoiseState {
    fn merge(&mut self, other: &Self) {
        if let (
            NoiseState::Labelled(mine) | NoiseState::LabelledWithGaps(mine, _),
            NoiseState::Labelled(theirs) | NoiseState::LabelledWithGaps(theirs, _),
        ) = (&mut *self, other)
        {
            mine.merge(theirs);
        }
        let Some(theirs) = other.moments() else { return };
        if let Some(mine) = self.moments_mut() {
            mine.merge(theirs);
            return;
        }
        // Only the other state has moments.
        *self = match std::mem::replace(self, NoiseState::Given) {
            NoiseState::Labelled(noise) => NoiseState::LabelledWithGaps(noise, theirs.clone()),
            _ => NoiseState::GivenWithGaps(theirs.clone()),
        };
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        self.moments().is_none_or(|moments| moments.is_sound(evaluators))
            && self.labelled().is_none_or(|noise| noise.is_sound(evaluators))
    }

    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        match self {
            NoiseState::Given => NoiseState::Given,
            NoiseState::Unlabelled(moments) => NoiseState::Unlabelled(moments.with_columns(columns)),
            NoiseState::Labelled(noise) => NoiseState::Labelled(noise.with_columns(columns)),
            NoiseState::GivenWithGaps(moments) => NoiseState::GivenWithGaps(moments.with_columns(columns)),
            NoiseState::LabelledWithGaps(noise, moments) => {
                NoiseState::LabelledWithGaps(noise.with_columns(columns), moments.with_columns(columns))
            }
        }
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        match (self.labelled(), other.labelled()) {
            (Some(mine), Some(theirs)) => mine.is_of_kind(theirs),
            (None, None) => self.learns_from_scores() == other.learns_from_scores(),
            _ => false,
        }
    }
}

/// The weights in use, with the gains and noise levels behind them. They are derived from the state
/// and never saved.
#[derive(Debug, Clone)]
pub(crate) struct Gains {
    pub(crate) alpha: Vec<f64>,
    pub(crate) sigma: Vec<f64>,
    pub(crate) origin: SigmaOrigin,
    pub(crate) weights: Weights,
}

/// The source of the noise levels.
///
/// ```
/// assert_eq!(jurybox::SigmaOrigin::Given.to_string(), "given");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SigmaOrigin {
    /// Given by the caller.
    Given,
    /// Estimated from unlabelled scores by the one-factor model.
    OneFactor,
    /// The standard deviation of the scores, because the one-factor model could not be identified.
    /// The text says why.
    StandardDeviation(String),
    /// Estimated from labelled examples.
    Labelled,
}

impl std::fmt::Display for SigmaOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SigmaOrigin::Given => f.write_str("given"),
            SigmaOrigin::OneFactor => f.write_str("estimated from unlabelled scores (one-factor model)"),
            SigmaOrigin::StandardDeviation(why) => write!(f, "standard deviations of the scores ({why})"),
            SigmaOrigin::Labelled => f.write_str("estimated from labelled examples"),
        }
    }
}

impl Gains {
    /// Zero gains with the given noise levels. Errors if a list of noise levels has the wrong
    /// length.
    pub(crate) fn create(sigma: &Sigma, evaluators: usize) -> Result<Self, String> {
        let given = match sigma {
            Sigma::Each(list) if list.len() != evaluators => {
                return Err(format!(
                    "sigma has {} values for {evaluators} evaluators; give one each",
                    list.len()
                ));
            }
            Sigma::Each(list) => list.iter().map(|s| s.get()).collect(),
            Sigma::All(s) => vec![Positive::get(*s); evaluators],
            Sigma::Unlabelled | Sigma::Labelled => vec![1.0; evaluators],
        };
        let mut gains = Gains {
            alpha: vec![0.0; evaluators],
            sigma: given,
            origin: SigmaOrigin::Given,
            weights: Weights::default(),
        };
        gains.weights.set(&gains.alpha, &gains.sigma, NormalPrior::default());
        Ok(gains)
    }

    /// Sets the noise levels from the state; labelled noise depends on the present gains.
    pub(crate) fn update_sigma(&mut self, noise: &NoiseState) {
        match noise {
            NoiseState::Given | NoiseState::GivenWithGaps(_) => {}
            NoiseState::Labelled(noise) | NoiseState::LabelledWithGaps(noise, _) => {
                self.origin = SigmaOrigin::Labelled;
                for (j, sigma) in self.sigma.iter_mut().enumerate() {
                    *sigma = noise.sigma(j, self.alpha[j]).map_or(1.0, positive);
                }
            }
            NoiseState::Unlabelled(moments) => match Factor::fit(moments) {
                Ok(factor) => {
                    self.origin = SigmaOrigin::OneFactor;
                    self.sigma.clear();
                    self.sigma.extend(factor.sigma().iter().map(|&s| positive(s)));
                }
                Err(reason) => {
                    self.origin = SigmaOrigin::StandardDeviation(reason.to_string());
                    for (j, sigma) in self.sigma.iter_mut().enumerate() {
                        *sigma = moments.covariance(j, j).map_or(1.0, |v| positive(v.max(0.0).sqrt()));
                    }
                }
            },
        }
    }

    /// Sets the weights for the present gains and noise levels.
    pub(crate) fn update_weights(&mut self, prior: NormalPrior) {
        self.weights.set(&self.alpha, &self.sigma, prior);
    }

    /// Sets the weights for gains other than `self.alpha`, which does not change.
    pub(crate) fn update_weights_for(&mut self, alpha: &[f64], prior: NormalPrior) {
        self.weights.set(alpha, &self.sigma, prior);
    }
}

/// The fit of policies whose weights follow from gains and noise levels: weights on the scale of
/// g^-1 for the link g, and exploration.
#[derive(Debug, Clone)]
pub(crate) struct ByGains {
    pub(super) link: Link,
    pub(super) gains: Gains,
    pub(super) exploration: Exploration,
    /// A buffer that fits reuse, like `numbers`.
    pub(super) equation: MleEquation,
    pub(super) numbers: Vec<f64>,
}

impl ByGains {
    pub(super) fn new(link: Link, gains: &Gains) -> Self {
        ByGains {
            link,
            gains: gains.clone(),
            exploration: Exploration::NONE,
            equation: MleEquation::default(),
            numbers: Vec::new(),
        }
    }

    /// The prior of the reward for these gains. It is the distribution over all items if moments of
    /// their scores are known, otherwise that of the labelled rewards. It is flat for a nonlinear
    /// link, for which the weighted sum is no posterior mean.
    pub(super) fn prior(
        &self,
        all: Option<&Moments>,
        alpha: &[f64],
        (mean, variance): (f64, f64),
    ) -> NormalPrior {
        match (self.link, all) {
            (Link::Identity, Some(moments)) => reward_law(moments, alpha, &self.gains.sigma),
            (Link::Identity, None) => NormalPrior::normal(mean, variance),
            _ => NormalPrior::default(),
        }
    }
}

impl Rank for ByGains {
    fn values(&self, scores: &Scores<'_>, scratch: &mut Scratch) {
        let x = inverted(self.link, scores, &mut scratch.inverse);
        self.gains.weights.values(&x, &mut scratch.values);
    }

    fn form(&self) -> Option<Form> {
        let dots = Form::inverse_dots(self.link, self.gains.weights.as_slice());
        let line = self.gains.weights.line();
        Some(line.map_or(dots.clone(), |(base, slope)| dots.on_line(base, slope)))
    }

    fn exploration(&self) -> Exploration {
        self.exploration
    }

    fn contributions(&self, row: &[f64]) -> Option<Contributions> {
        let mut x = Vec::with_capacity(row.len());
        self.link.inverse_into(row, &mut x);
        Some(self.gains.weights.contributions(&x))
    }

    fn alpha(&self) -> Option<&[f64]> {
        Some(&self.gains.alpha)
    }

    fn weights(&self) -> Option<&[f64]> {
        Some(self.gains.weights.as_slice())
    }

    fn sigma(&self) -> Option<(&[f64], &SigmaOrigin)> {
        Some((&self.gains.sigma, &self.gains.origin))
    }
}

/// Turns a noise level of almost zero into infinity: a column that never varies does not tell items
/// apart.
fn positive(sigma: f64) -> f64 {
    if sigma > 1e-100 { sigma } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_has_met_no_gaps_is_saved_as_ever_and_merges_with_one_that_has() {
        assert_eq!(postcard::from_bytes::<NoiseState>(&[0]), Ok(NoiseState::Given));
        assert_eq!(serde_json::to_string(&NoiseState::Given).unwrap(), "\"Given\"");
        let mut complete = NoiseState::Given;
        assert!(!complete.observe_all(&Scores::new(&[1.0, 2.0], 2).unwrap()));
        assert_eq!(complete, NoiseState::Given);
        let mut gaps = NoiseState::Given;
        assert!(gaps.observe_all(&Scores::new(&[1.0, f64::NAN, 3.0, 4.0], 2).unwrap()));
        assert!(complete.is_of_kind(&gaps) && gaps.is_sound(2));
        complete.merge(&gaps);
        assert_eq!(complete, gaps);
        gaps.merge(&NoiseState::Given);
        assert_eq!(complete, gaps);
        let labelled = NoiseState::Labelled(Noise::new(2, Link::Identity));
        assert!(!gaps.is_of_kind(&labelled) && !labelled.is_of_kind(&gaps));
    }
}

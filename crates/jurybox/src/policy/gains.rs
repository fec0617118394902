//! From gains and noise to weights: what the policies of the oracle's form have in common.
//!
//! Each of them estimates the gains alpha in its own way; all of them then weigh as the oracle does (Lemmas 1 and 2), with
//! noise levels that are given, or estimated where the caller has none.

use super::{Exploration, OptionEntry, OptionKind, Rank, inverted};
use crate::contributions::Contributions;
use crate::estimate::{Factor, MleEquation, Moments, Noise, Statistic};
use crate::form::Form;
use crate::link::Link;
use crate::options::{Positive, Sigma};
use crate::scores::Scores;
use crate::scratch::Scratch;
use crate::weights::{Prior, Weights};
use serde::{Deserialize, Serialize};

/// The option that all of these policies have.
pub(super) const SIGMA: OptionEntry = OptionEntry {
    name: "sigma",
    kind: OptionKind::Noise,
    default: "unlabelled",
    range: "a number above 0, a list of them, unlabelled, labelled",
    help: "noise levels of the evaluators: known, or estimated from the scores alone or from the rewards",
    without: &[],
};

/// What has been learnt about the noise levels; nothing where they are given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum NoiseState {
    Given,
    Unlabelled(Moments),
    Labelled(Noise),
}

impl NoiseState {
    pub(crate) fn new(sigma: &Sigma, evaluators: usize, link: Link) -> Self {
        match sigma {
            Sigma::Unlabelled => NoiseState::Unlabelled(Moments::new(evaluators)),
            Sigma::Labelled => NoiseState::Labelled(Noise::new(evaluators, link)),
            Sigma::All(_) | Sigma::Each(_) => NoiseState::Given,
        }
    }

    /// True if that may have changed the noise levels.
    pub(crate) fn observe(&mut self, scores: &Scores<'_>) -> bool {
        if let NoiseState::Unlabelled(moments) = self {
            moments.observe(scores);
            return true;
        }
        false
    }

    /// Whether they are estimated from scores.
    pub(crate) fn learns_from_scores(&self) -> bool {
        matches!(self, NoiseState::Unlabelled(_))
    }

    pub(crate) fn learn(&mut self, scores: &[f64], reward: f64) -> bool {
        if let NoiseState::Labelled(noise) = self {
            noise.learn(scores, reward);
            return true;
        }
        false
    }
}

impl Statistic for NoiseState {
    fn merge(&mut self, other: &Self) {
        match (self, other) {
            (NoiseState::Unlabelled(mine), NoiseState::Unlabelled(theirs)) => mine.merge(theirs),
            (NoiseState::Labelled(mine), NoiseState::Labelled(theirs)) => mine.merge(theirs),
            _ => {}
        }
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        match self {
            NoiseState::Given => true,
            NoiseState::Unlabelled(moments) => moments.is_sound(evaluators),
            NoiseState::Labelled(noise) => noise.is_sound(evaluators),
        }
    }

    fn reseated(&self, columns: &[Option<usize>]) -> Self {
        match self {
            NoiseState::Given => NoiseState::Given,
            NoiseState::Unlabelled(moments) => NoiseState::Unlabelled(moments.reseated(columns)),
            NoiseState::Labelled(noise) => NoiseState::Labelled(noise.reseated(columns)),
        }
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        match (self, other) {
            (NoiseState::Labelled(mine), NoiseState::Labelled(theirs)) => mine.is_of_kind(theirs),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// The weights in force, and the gains and noise levels they come from. Derived from the state, never saved.
#[derive(Debug, Clone)]
pub(crate) struct Gains {
    pub(crate) alpha: Vec<f64>,
    pub(crate) sigma: Vec<f64>,
    pub(crate) origin: SigmaOrigin,
    pub(crate) weights: Weights,
}

/// Where the noise levels in use come from.
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
    /// The plain standard deviation of the scores, because the one-factor model could not be identified: why.
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
    /// Checks the noise levels against the number of evaluators.
    pub(crate) fn seat(sigma: &Sigma, evaluators: usize) -> Result<Self, String> {
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
        gains.weights.set(&gains.alpha, &gains.sigma, Prior::default());
        Ok(gains)
    }

    /// Takes the noise levels from the state, for the gains that are in place.
    pub(crate) fn update_sigma(&mut self, noise: &NoiseState) {
        match noise {
            NoiseState::Given => {}
            NoiseState::Labelled(noise) => {
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

    /// The weights for the gains and noise levels in place.
    pub(crate) fn update_weights(&mut self, prior: Prior) {
        self.weights.set(&self.alpha, &self.sigma, prior);
    }

    /// The weights for other gains than those that are shown.
    pub(crate) fn update_weights_for(&mut self, alpha: &[f64], prior: Prior) {
        self.weights.set(alpha, &self.sigma, prior);
    }
}

/// What the policies of the oracle's form pick by: weights on the inverse link's scale, and some exploration.
#[derive(Debug, Clone)]
pub(crate) struct ByGains {
    pub(super) link: Link,
    pub(super) gains: Gains,
    pub(super) exploration: Exploration,
    /// Buffers of a fit.
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

    /// A prior of the reward where the link lets one be used: with a curved link the weighted sum is no posterior mean.
    pub(super) fn prior(&self, (mean, variance): (f64, f64)) -> Prior {
        if self.link == Link::Identity { Prior::normal(mean, variance) } else { Prior::default() }
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

/// A column that never varies tells items apart no better than an infinitely noisy one.
fn positive(sigma: f64) -> f64 {
    if sigma > 1e-100 { sigma } else { f64::INFINITY }
}

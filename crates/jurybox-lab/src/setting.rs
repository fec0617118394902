//! The parameters of a simulated queue, checked before any work is done.

use crate::error::Error;
use jurybox::Link;
use serde::{Deserialize, Serialize};

/// The synthetic model of the paper's Section 6.1, and the [`Extensions`] that make it more like
/// real data.
///
/// Rewards are N(0, 1) truncated to [0, 20]. Evaluator j has gain alpha_j ~ U[1/2, 3/2] and noise
/// level sigma_j ~ U[s/2, 3s/2] with s = 1 / `ratio`. The paper is "Top K Ranking for Multi-Armed
/// Bandit with Noisy Evaluations".
///
/// ```
/// use jurybox_lab::{Setting, Extensions};
///
/// let paper = Setting::default();
/// assert_eq!((paper.items, paper.k, paper.evaluators), (60, 10, 10));
/// let extensions = Extensions { missing: 0.2, delay: 5, ..Extensions::default() };
/// let harder = Setting { extensions, ..paper };
/// assert!(harder.check().is_ok());
/// assert!(Setting { ratio: 0.0, ..Setting::default() }.check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The function from rewards to mean scores.
    pub link: Link,
    /// Signal to noise, the mean gain over the mean noise level: 0.1 is very noisy, 10 is clear.
    pub ratio: f64,
    /// J, the number of evaluators.
    pub evaluators: usize,
    /// K_t, the number of items in a round; the largest number if `items_min` is set.
    pub items: usize,
    /// K, the number of picks in a round.
    pub k: usize,
    /// T, the number of rounds.
    pub rounds: u64,
    /// How noise is truncated if the link is bounded.
    pub truncation: Truncation,
    /// Deviations from the paper's model.
    pub extensions: Extensions,
}

impl Default for Setting {
    fn default() -> Self {
        Setting {
            link: Link::Identity,
            ratio: 0.1,
            evaluators: 10,
            items: 60,
            k: 10,
            rounds: 2000,
            truncation: Truncation::Interval,
            extensions: Extensions::default(),
        }
    }
}

/// How the noise of a bounded link is truncated. The paper does not say.
///
/// ```
/// let json = serde_json::to_string(&jurybox_lab::Truncation::Symmetric).unwrap();
/// assert_eq!(json, r#""symmetric""#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Truncation {
    /// The score stays between 0 and 1, so that the noise has a mean other than zero near the ends.
    #[default]
    Interval,
    /// Truncated at ±min(m, 1 - m) around the mean score m: the noise has mean zero, as the paper's
    /// Assumption 2 demands.
    Symmetric,
}

/// How the evaluators' parameters change over time.
///
/// ```
/// assert_eq!(jurybox_lab::SimulatedDrift::default(), jurybox_lab::SimulatedDrift::None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SimulatedDrift {
    /// No change.
    #[default]
    None,
    /// After half of the rounds the order of the evaluators' gains and noise levels is reversed.
    Swap,
    /// The reversal of `Swap`, spread evenly over all rounds.
    Slow,
}

/// Deviations from the paper's model, each with a field of its own; all off by default.
///
/// ```
/// let extensions = jurybox_lab::Extensions { intercepts: 1.0, ..Default::default() };
/// assert_ne!(extensions, jurybox_lab::Extensions::default());
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Extensions {
    /// Evaluator j adds an offset b_j ~ U[-x, x] inside the link.
    pub intercepts: f64,
    /// Evaluator j reports scores in a unit of its own, 10^U[-x, x] (identity link only).
    pub units: f64,
    /// Number of evaluators with gain zero, the first ones.
    pub useless: usize,
    /// Number of evaluators with a negative gain, next after the `useless` ones.
    pub inverted: usize,
    /// Number of evaluators whose errors are correlated, the first ones.
    pub correlated: usize,
    /// Correlation of the errors of the `correlated` evaluators.
    pub rho: f64,
    /// Growth x of the noise with the reward: its level for an item is sigma_j (1 + x r).
    pub reward_noise_growth: f64,
    /// Curvature x: evaluator j scores r^p_j instead of r, with ln p_j ~ U[-x, x].
    pub curvature: f64,
    /// Probability that a score is missing.
    pub missing: f64,
    /// First and last round of an outage, in which the first evaluator gives no scores.
    pub outage: Option<(u64, u64)>,
    /// Change of the evaluators over time.
    pub drift: SimulatedDrift,
    /// Standard deviation of the error of verdicts.
    pub reward_noise: f64,
    /// Number of rounds from a pick to its reward.
    pub delay: u64,
    /// Smallest number of items in a round. The number is then uniform from this to `items`.
    pub items_min: Option<usize>,
    /// Items stay until they are picked, and after the first round K new items come each round.
    pub persistent: bool,
}

/// Largest number of evaluators, the limit of `jurybox` for a jury.
const MOST_EVALUATORS: usize = 2048;
/// Largest number of items in a round.
const MOST_ITEMS: usize = 1_000_000;

impl Setting {
    /// Errors on the first parameter that cannot be simulated.
    pub fn check(&self) -> Result<(), Error> {
        let Setting { ratio, evaluators, items, k, rounds, .. } = self;
        if !(ratio.is_finite() && *ratio > 0.0) {
            return Err(Error::setting("ratio", ratio, "must be a positive number"));
        }
        for (name, value, most) in
            [("evaluators", *evaluators, MOST_EVALUATORS), ("items", *items, MOST_ITEMS)]
        {
            if value > most {
                return Err(Error::setting(name, value, format!("at most {most} can be simulated")));
            }
        }
        if *evaluators == 0 {
            return Err(Error::setting("evaluators", 0, "there must be at least one"));
        }
        if *k == 0 {
            return Err(Error::setting("k", 0, "at least one item must be picked"));
        }
        if k >= items {
            return Err(Error::setting(
                "k",
                k,
                format!("must be below items = {items}, or there is nothing to choose"),
            ));
        }
        if *rounds == 0 {
            return Err(Error::setting("rounds", 0, "there must be at least one"));
        }
        self.check_extensions()
    }

    fn check_extensions(&self) -> Result<(), Error> {
        let t = &self.extensions;
        for (name, value) in [
            ("intercepts", t.intercepts),
            ("units", t.units),
            ("reward-noise-growth", t.reward_noise_growth),
            ("curvature", t.curvature),
            ("reward-noise", t.reward_noise),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::setting(name, value, "must be zero or a positive number"));
            }
        }
        if t.units > 0.0 && self.link != Link::Identity {
            return Err(Error::setting("units", t.units, "a bounded link fixes the units; use the identity"));
        }
        if !(0.0..1.0).contains(&t.missing) {
            return Err(Error::setting("missing", t.missing, "must be at least 0 and below 1"));
        }
        if !(0.0..1.0).contains(&t.rho) {
            return Err(Error::setting("rho", t.rho, "must be at least 0 and below 1"));
        }
        if t.correlated == 1 || t.correlated > self.evaluators {
            let reason = format!("a shared error needs from 2 to {} evaluators", self.evaluators);
            return Err(Error::setting("correlated", t.correlated, reason));
        }
        if (t.correlated > 0) != (t.rho > 0.0) {
            return Err(Error::setting("rho", t.rho, "correlated evaluators and rho > 0 go together"));
        }
        if t.useless.checked_add(t.inverted).is_none_or(|both| both > self.evaluators) {
            let reason = format!(
                "useless and inverted ({}) together exceed the {} evaluators",
                t.inverted, self.evaluators
            );
            return Err(Error::setting("useless", t.useless, reason));
        }
        if let Some((from, to)) = t.outage.filter(|(from, to)| *from == 0 || from > to) {
            let reason = "must be FIRST-LAST, counted from round 1";
            return Err(Error::setting("outage", format!("{from}-{to}"), reason));
        }
        if let Some(least) = t.items_min.filter(|least| *least <= self.k || *least > self.items) {
            let reason = format!("must be above k = {} and at most items = {}", self.k, self.items);
            return Err(Error::setting("items-min", least, reason));
        }
        if t.items_min.is_some() && t.persistent {
            return Err(Error::setting("persistent", true, "fixes the number of items; drop items-min"));
        }
        Ok(())
    }

    /// E\[r\], the mean of the rewards.
    pub fn mean_reward(&self) -> f64 {
        crate::simulated_queue::REWARDS.expectation()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_settings_are_refused_by_name() {
        let with = |extensions: Extensions| Setting { extensions, ..Setting::default() };
        for (setting, says) in [
            (Setting { k: 0, ..Setting::default() }, "k = 0"),
            (Setting { k: 60, ..Setting::default() }, "k = 60: must be below items = 60"),
            (Setting { ratio: -1.0, ..Setting::default() }, "ratio = -1"),
            (Setting { ratio: f64::NAN, ..Setting::default() }, "ratio = NaN"),
            (Setting { evaluators: 0, ..Setting::default() }, "evaluators = 0"),
            (Setting { rounds: 0, ..Setting::default() }, "rounds = 0"),
            (with(Extensions { missing: 1.0, ..Extensions::default() }), "missing = 1"),
            (with(Extensions { correlated: 3, ..Extensions::default() }), "rho = 0"),
            (with(Extensions { correlated: 1, rho: 0.5, ..Extensions::default() }), "correlated = 1"),
            (with(Extensions { useless: usize::MAX, inverted: 5, ..Extensions::default() }), "useless = 184"),
            (with(Extensions { useless: 6, inverted: 5, ..Extensions::default() }), "useless = 6"),
            (with(Extensions { outage: Some((9, 3)), ..Extensions::default() }), "outage = 9-3"),
            (with(Extensions { items_min: Some(10), ..Extensions::default() }), "items-min = 10"),
            (with(Extensions { curvature: -0.5, ..Extensions::default() }), "curvature = -0.5"),
        ] {
            let message = setting.check().unwrap_err().to_string();
            assert!(message.starts_with(says), "{message}");
        }
        let logistic =
            Setting { link: Link::Logistic, ..with(Extensions { units: 1.0, ..Extensions::default() }) };
        assert!(logistic.check().unwrap_err().to_string().contains("identity"));
    }
}

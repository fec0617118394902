//! Off-policy estimators: the reward of a target policy, from the picks that another policy logged.
//!
//! For item i of a round, `pi_i` is the target's inclusion probability and `p_i` the logged one.
//! `w_i = pi_i / p_i` is the weight of a reviewed item and `r_i` its reward. `m_i` is the item's
//! expected reward by a regression on other rounds (cross-fitting). Sums of `pi` are over all
//! items, sums with `w` over reviewed items. `N = sum pi_i` is the number of the target's picks.
//!
//! - **Inverse propensity scoring** (IPS), `sum w r / N` (Horvitz and Thompson 1952): unbiased if
//!   every p is right, and positive wherever pi is. Its intervals are wide.
//! - **Self-normalised IPS** (SNIPS), `sum w r / sum w` (Swaminathan and Joachims 2015): slightly
//!   biased, and much less wide.
//! - **Doubly robust** (DR), `(sum pi m + sum w (r - m)) / N` (Dudík, Langford and Li 2011):
//!   unbiased under the conditions of IPS, and narrow if the regression is good.
//! - **Self-normalised DR** (SNDR), `sum pi m / N + sum w (r - m) / sum w`.
//! - **Clipped DR**, with `min(w, c)` for w, where `c = max(1, N / sqrt(n))` for n reviewed rows
//!   (truncated importance sampling, Ionides 2008). Its bias is at most the share of the picks that
//!   is clipped away, times the range of the rewards.
//! - **Bounds** (worst case, Manski 1990), `low + sum min(w, c)(r - low) / N` and
//!   `high - sum min(w, c)(high - r) / N`, where picks without support in the log have the lowest
//!   or highest possible reward.
//!
//! Intervals of rewards are Student's over rounds, widened by the largest influence of one more row
//! ([`MaxInfluence`]).

use super::linearized::LinearizedEstimate;
use crate::max_influence::MaxInfluence;

/// A log and the probabilities of a target policy, row by row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoggedEvidence<'a> {
    /// The rows of each round.
    pub(crate) rounds: &'a [Vec<usize>],
    /// Rewards; NaN if nobody reviewed the row.
    pub(crate) rewards: &'a [f64],
    /// The logged probabilities; NaN if unknown. Every row with a reward has one.
    pub(crate) logged: &'a [f64],
    /// The target's probabilities.
    pub(crate) target: &'a [f64],
    /// The expected rewards by a regression on other rounds.
    pub(crate) model: &'a [f64],
    /// The least and the greatest possible reward.
    pub(crate) range: (f64, f64),
    /// Whether rewards outside of the range are impossible, not only absent from the log.
    pub(crate) range_is_known: bool,
    /// Whether every pick has its reward, as far as the log shows.
    pub(crate) all_rewards_present: bool,
}

/// All estimates for one target policy.
#[derive(Debug, Clone)]
pub(crate) struct PolicyEstimates {
    pub(crate) ips: LinearizedEstimate,
    /// None if the log reviewed no row that the target may pick.
    pub(crate) snips: Option<LinearizedEstimate>,
    pub(crate) dr: LinearizedEstimate,
    pub(crate) sndr: Option<LinearizedEstimate>,
    pub(crate) clipped: LinearizedEstimate,
    pub(crate) clip: f64,
    /// `sum w / N`: one, up to chance, if the log can pick every row that the target may pick.
    pub(crate) mean_weight: LinearizedEstimate,
    /// `sum min(w, c) / N`: the share of the target's picks with support in the log.
    pub(crate) reach: LinearizedEstimate,
    pub(crate) low: LinearizedEstimate,
    pub(crate) high: LinearizedEstimate,
    /// The effective sample size `(sum w)^2 / sum w^2`, in rows.
    pub(crate) effective_rows: f64,
    /// The least and the greatest possible reward.
    pub(crate) range: (f64, f64),
}

/// The sums of one round.
#[derive(Debug, Clone, Copy, Default)]
struct RoundSums {
    picks: f64,
    model: f64,
    weight: f64,
    reward: f64,
    residual: f64,
    reach: f64,
    reached_reward: f64,
    reached_residual: f64,
}

impl LoggedEvidence<'_> {
    /// The estimates. None if no row was reviewed, or if the target picks nothing.
    pub(crate) fn figures(&self) -> Option<PolicyEstimates> {
        let range = self.range;
        let reviewed = self.weights().count();
        let picks: f64 = self.rounds.iter().flatten().map(|&row| self.target[row]).sum();
        if reviewed == 0 {
            return None;
        }
        let clip = (picks / (reviewed as f64).sqrt()).max(1.0);
        let sums: Vec<RoundSums> = self.rounds.iter().map(|rows| self.sums(rows, clip)).collect();
        let all = |of: &dyn Fn(&RoundSums) -> f64| sums.iter().map(of).collect::<Vec<f64>>();
        let picks = all(&|s| s.picks);
        let weights = all(&|s| s.weight);
        let per_pick = |of: &dyn Fn(&RoundSums) -> f64| LinearizedEstimate::ratio(&all(of), &picks);
        let expected = per_pick(&|s| s.model)?;
        let square: f64 = self.weights().map(|w| w * w).sum();
        let total: f64 = weights.iter().sum();
        let picked: f64 = picks.iter().sum();
        let snips = LinearizedEstimate::ratio(&all(&|s| s.reward), &weights);
        // For the largest influence, a row's surprise is its reward minus a baseline: 0 for IPS,
        // the mean reward of a pick for SNIPS and the bounds, the regression's prediction for the
        // others.
        let worth = snips.as_ref().map_or(0.0, |snips| snips.value).clamp(range.0, range.1);
        let max_influence =
            |clip: f64, of: f64, constant: Option<f64>| self.max_influence(clip, of, constant);
        let (plain, modelled) = (f64::INFINITY, None);
        Some(PolicyEstimates {
            ips: per_pick(&|s| s.reward)?.with_max_influence(max_influence(plain, picked, Some(0.0))),
            snips: snips.map(|snips| snips.with_max_influence(max_influence(plain, total, Some(worth)))),
            dr: per_pick(&|s| s.model + s.residual)?
                .with_max_influence(max_influence(plain, picked, modelled)),
            sndr: LinearizedEstimate::ratio(&all(&|s| s.residual), &weights).map(|residual| {
                expected.plus(&residual).with_max_influence(max_influence(plain, total, modelled))
            }),
            clipped: per_pick(&|s| s.model + s.reached_residual)?
                .with_max_influence(max_influence(clip, picked, modelled)),
            clip,
            mean_weight: per_pick(&|s| s.weight)?,
            reach: per_pick(&|s| s.reach)?,
            low: per_pick(&|s| range.0 * (s.picks - s.reach) + s.reached_reward)?
                .with_max_influence(max_influence(clip, picked, Some(worth))),
            high: per_pick(&|s| range.1 * (s.picks - s.reach) + s.reached_reward)?
                .with_max_influence(max_influence(clip, picked, Some(worth))),
            effective_rows: if square > 0.0 { total * total / square } else { 0.0 },
            range,
        })
    }

    /// The largest influence of one row on `sum min(w, clip) r / of`.
    ///
    /// The expected reward of a row is `constant`, or that of the regression if None. If every row
    /// carries a probability, weights and probabilities of all rows count; else the weights of the
    /// reviewed rows, with probability 1.
    fn max_influence(&self, clip: f64, of: f64, constant: Option<f64>) -> MaxInfluence {
        let rows = || self.rounds.iter().flatten().copied();
        let met = |row: usize| !self.rewards[row].is_nan();
        let every = rows().all(|row| !self.logged[row].is_nan());
        let weights = rows().filter(|&row| every || met(row)).map(|row| {
            let weight = (self.target[row] / self.logged[row]).min(clip) / of;
            (if every { self.logged[row] } else { 1.0 }, weight)
        });
        let expected = |row: usize| constant.unwrap_or(self.model[row]);
        let (mut sum, mut picks) = (0.0, 0.0);
        for row in rows() {
            sum += self.target[row] * expected(row);
            picks += self.target[row];
        }
        let centre = sum / picks;
        let surprises = rows().filter(|&row| met(row)).map(|row| self.rewards[row] - expected(row));
        MaxInfluence::of(weights, surprises, (centre - self.range.0, self.range.1 - centre))
    }

    fn weights(&self) -> impl Iterator<Item = f64> {
        let reviewed = self.rounds.iter().flatten().filter(|&&row| !self.rewards[row].is_nan());
        reviewed.map(|&row| self.target[row] / self.logged[row])
    }

    fn sums(&self, rows: &[usize], clip: f64) -> RoundSums {
        let mut sums = RoundSums::default();
        for &row in rows {
            let (pi, m, reward) = (self.target[row], self.model[row], self.rewards[row]);
            sums.picks += pi;
            sums.model += pi * m;
            if !reward.is_nan() {
                let weight = pi / self.logged[row];
                let reached = weight.min(clip);
                sums.weight += weight;
                sums.reward += weight * reward;
                sums.residual += weight * (reward - m);
                sums.reach += reached;
                sums.reached_reward += reached * reward;
                sums.reached_residual += reached * (reward - m);
            }
        }
        sums
    }
}

impl PolicyEstimates {
    /// An upper limit of the share of the target's picks without support in the log: one minus the
    /// lower end of the mean weight's 95% interval, from 0 to 1.
    pub(crate) fn unsupported_share(&self) -> f64 {
        let low = self.mean_weight.estimate().low;
        // If all weights are one, their mean is one up to rounding.
        if low > 1.0 - super::verdict::ROUNDING { 0.0 } else { (1.0 - low).min(1.0) }
    }

    /// The largest possible bias of the clipped estimate. It is the upper end of the interval of
    /// the share that is clipped away, times the range of the rewards.
    pub(crate) fn clipping_bias(&self) -> f64 {
        let reach = self.reach.estimate();
        let half_width = if reach.half_width().is_finite() { reach.half_width() } else { 1.0 };
        (1.0 - reach.mean + half_width).clamp(0.0, 1.0) * (self.range.1 - self.range.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rounds of two items, calculated by hand.
    #[test]
    fn the_estimates_of_a_log_done_by_hand() {
        let evidence = LoggedEvidence {
            rounds: &[vec![0, 1], vec![2, 3]],
            rewards: &[1.0, f64::NAN, f64::NAN, 3.0],
            logged: &[0.5, f64::NAN, f64::NAN, 0.8],
            target: &[0.75, 0.25, 0.6, 0.4],
            model: &[0.5, 1.0, 2.0, 2.5],
            range: (1.0, 3.0),
            range_is_known: false,
            all_rewards_present: true,
        };
        let figures = evidence.figures().unwrap();
        let near =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        // The weights are 1.5 and 0.5, and N is 2.
        near(figures.ips.value, 1.5);
        near(figures.snips.unwrap().value, 3.0 / 2.0);
        let expected = 0.75 * 0.5 + 0.25 + 1.2 + 1.0;
        near(figures.dr.value, (expected + 1.5 * 0.5 + 0.5 * 0.5) / 2.0);
        near(figures.sndr.unwrap().value, expected / 2.0 + 1.0 / 2.0);
        // c = 2 / sqrt(2) = 1.414: the weight of 1.5 is clipped to c.
        let c = 2_f64.sqrt();
        near(figures.clip, c);
        near(figures.clipped.value, (expected + c * 0.5 + 0.5 * 0.5) / 2.0);
        near(figures.reach.value, 0.5 * c + 0.25);
        near(figures.low.value, 1.0 + 0.5 * 2.0 / 2.0);
        near(figures.high.value, 3.0 - c * 2.0 / 2.0);
        near(figures.effective_rows, 4.0 / 2.5);
    }

    /// If every row was reviewed with probability 1, the estimates and both bounds equal the truth.
    #[test]
    fn a_log_of_every_row_gives_the_truth() {
        let rewards: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 11)).collect();
        let target: Vec<f64> = (0..40).map(|i| if i % 4 == 1 { 0.7 } else { 0.1 }).collect();
        let rounds: Vec<Vec<usize>> = (0..10).map(|t| (4 * t..4 * t + 4).collect()).collect();
        let evidence = LoggedEvidence {
            rounds: &rounds,
            rewards: &rewards,
            logged: &[1.0; 40],
            target: &target,
            model: &[3.0; 40],
            range: (0.0, 10.0),
            range_is_known: false,
            all_rewards_present: true,
        };
        let figures = evidence.figures().unwrap();
        let truth = target.iter().zip(&rewards).map(|(pi, r)| pi * r).sum::<f64>() / 10.0;
        for figure in [
            &figures.ips,
            figures.snips.as_ref().unwrap(),
            &figures.dr,
            &figures.clipped,
            &figures.low,
            &figures.high,
        ] {
            assert!((figure.value - truth).abs() < 1e-12);
        }
        assert!((figures.mean_weight.value - 1.0).abs() < 1e-12);
        assert!(figures.clipping_bias() < 1e-12);
    }
}

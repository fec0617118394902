//! The oracle's estimates of rewards, from scores and the true parameters of the evaluators.
//!
//! The estimates are those of Lemmas 1 and 2 in "Top K Ranking for Multi-Armed Bandit with Noisy
//! Evaluations", the paper. Estimates of items with missing scores are shrunk towards the mean.

use super::{REWARDS, SimulatedQueue};
use jurybox::Scores;

impl SimulatedQueue {
    /// The oracle's estimate of each item's reward, written to `out`.
    ///
    /// The oracle knows gains, noise levels, offsets and units. It ignores correlations between
    /// evaluators, curvature, and noise that grows with the reward. An item with missing scores is
    /// shrunk towards the mean reward, so that items rank by the linear posterior means of their
    /// rewards. Complete items keep the paper's value.
    pub fn oracle_values(&self, scores: &Scores<'_>, buffer: &mut Vec<f64>, out: &mut Vec<f64>) {
        let link = self.setting.link;
        let t = &self.setting.extensions;
        if t.intercepts == 0.0
            && t.units == 0.0
            && let Some(inverse) = scores.inverse(link)
        {
            self.oracle.values(&inverse, out);
        } else {
            self.oracle_values_by_evaluator(scores, buffer, out);
        }
        self.pull_in_thin_evidence(scores, out);
    }

    /// Shrinks the values of items with missing scores.
    ///
    /// An evaluator's information is (gain / noise level)^2. Let p be the information of the scores
    /// present, P that of all evaluators, and v the variance of the rewards. The posterior mean is
    /// a share `v p / (1 + v p)` of the way from the mean reward to the estimate. For a complete
    /// item the share is `v P / (1 + v P)`. Incomplete items are shrunk by the ratio of these two
    /// factors, since complete items are not shrunk.
    fn pull_in_thin_evidence(&self, scores: &Scores<'_>, out: &mut [f64]) {
        if scores.is_complete() {
            return;
        }
        let (mean, v) = (self.setting.mean_reward(), REWARDS.variance());
        let information = || self.truth.alpha.iter().zip(&self.truth.sigma).map(|(a, s)| (a / s).powi(2));
        let all: f64 = information().sum();
        // All gains are zero: there is nothing to rank by.
        if all <= 0.0 {
            return;
        }
        for (value, row) in
            out.iter_mut().zip(scores.rows()).filter(|(_, row)| row.iter().any(|x| x.is_nan()))
        {
            let present: f64 =
                row.iter().zip(information()).filter(|(x, _)| !x.is_nan()).map(|(_, i)| i).sum();
            let share = (present / all) * (1.0 + v * all) / (1.0 + v * present);
            *value = if present > 0.0 { mean + share * (*value - mean) } else { mean };
        }
    }

    fn oracle_values_by_evaluator(&self, scores: &Scores<'_>, buffer: &mut Vec<f64>, out: &mut Vec<f64>) {
        let link = self.setting.link;
        buffer.clear();
        for row in scores.rows() {
            for (j, &phi) in row.iter().enumerate() {
                buffer.push(link.inverse(phi / self.truth.unit[j]) - self.truth.intercept[j]);
            }
        }
        self.oracle.values(&checked(buffer, scores.evaluators()), out);
    }
}

fn checked(scores: &[f64], width: usize) -> Scores<'_> {
    Scores::new(scores, width).expect("scores of a checked setting")
}

#[cfg(test)]
mod tests {
    use super::super::SimulatedItems;
    use super::*;
    use crate::setting::Setting;
    use crate::{Extensions, Truth};

    #[test]
    fn the_oracle_values_an_item_without_scores_at_the_mean() {
        let extensions = Extensions { missing: 0.5, ..Extensions::default() };
        let units = Extensions { units: 1.0, ..extensions.clone() };
        for extensions in [extensions, units] {
            let setting = Setting { evaluators: 2, extensions, ..Setting::default() };
            let (mut queue, mut items) = (SimulatedQueue::new(&setting, 1, 0), SimulatedItems::default());
            queue.next_round(&mut items);
            let (mut buffer, mut values) = (Vec::new(), Vec::new());
            queue.oracle_values(&checked(&items.scores, 2), &mut buffer, &mut values);
            let bare = |row: &[f64]| row.iter().all(|x| x.is_nan());
            let unscored: Vec<usize> = (0..60).filter(|&i| bare(&items.scores[2 * i..2 * i + 2])).collect();
            assert!(!unscored.is_empty());
            assert!(unscored.iter().all(|&i| values[i] == setting.mean_reward()));
            assert!(values.iter().all(|value| value.is_finite()));
        }
    }

    #[test]
    fn items_rank_by_posterior_mean_whatever_is_missing_of_them() {
        let extensions = Extensions { missing: 0.3, ..Extensions::default() };
        let setting = Setting { evaluators: 4, ratio: 1.0, extensions, ..Setting::default() };
        let (mut queue, mut items) = (SimulatedQueue::new(&setting, 1, 0), SimulatedItems::default());
        queue.next_round(&mut items);
        let (mut buffer, mut values, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        let scores = checked(&items.scores, 4);
        queue.oracle_values(&scores, &mut buffer, &mut values);
        queue.oracle.values(&scores, &mut bare);
        let Truth { alpha, sigma, .. } = queue.truth();
        let posterior_mean = |row: &[f64]| {
            let mut precision = 1.0 / REWARDS.variance();
            let mut sum = precision * REWARDS.expectation();
            for (j, x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                precision += alpha[j] * alpha[j] / (sigma[j] * sigma[j]);
                sum += alpha[j] * x / (sigma[j] * sigma[j]);
            }
            sum / precision
        };
        let means: Vec<f64> = scores.rows().map(posterior_mean).collect();
        let order = |values: &[f64]| {
            let mut order: Vec<usize> = (0..values.len()).collect();
            order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
            order
        };
        assert_eq!(order(&values), order(&means));
        assert_ne!(order(&bare), order(&means));
        // Complete items keep the weighted mean, bit for bit.
        let complete: Vec<usize> =
            (0..60).filter(|&i| items.scores[4 * i..4 * i + 4].iter().all(|x| x.is_finite())).collect();
        assert!(complete.len() > 5 && complete.iter().all(|&i| values[i].to_bits() == bare[i].to_bits()));
    }

    #[test]
    fn the_oracle_earns_more_than_the_bare_weighted_mean_where_scores_are_missing() {
        let extensions = Extensions { missing: 0.9, ..Extensions::default() };
        let setting = Setting { ratio: 1.0, extensions, ..Setting::default() };
        let (mut queue, mut items) = (SimulatedQueue::new(&setting, 1, 0), SimulatedItems::default());
        let (mut buffer, mut values) = (Vec::new(), Vec::new());
        let mut leads = Vec::new();
        for _ in 0..2000 {
            queue.next_round(&mut items);
            let scores = checked(&items.scores, setting.evaluators);
            let earned = |values: &[f64]| {
                let mut top = jurybox::TopK::new(setting.k, 0);
                top.fill(setting.k, 0, values);
                top.sorted().iter().map(|ranked| items.rewards[ranked.item as usize]).sum::<f64>()
            };
            queue.oracle_values(&scores, &mut buffer, &mut values);
            let ours = earned(&values);
            queue.oracle.values(&scores, &mut values);
            values.iter_mut().filter(|v| v.is_infinite()).for_each(|v| *v = setting.mean_reward());
            leads.push(ours - earned(&values));
        }
        let lead = jurybox::Interval::of(&leads);
        assert!(lead.above(0.1), "{lead:?}");
    }

    #[test]
    fn the_oracle_ranks_by_reward_whatever_the_units() {
        let plain = Setting { ratio: 1e6, ..Setting::default() };
        let extensions = Extensions { intercepts: 3.0, units: 1.0, ..Extensions::default() };
        for setting in [plain.clone(), Setting { extensions, ..plain }] {
            let (mut queue, mut items) = (SimulatedQueue::new(&setting, 1, 0), SimulatedItems::default());
            queue.next_round(&mut items);
            let mut values = Vec::new();
            let scores = checked(&items.scores, setting.evaluators);
            queue.oracle_values(&scores, &mut Vec::new(), &mut values);
            assert!(values.iter().zip(&items.rewards).all(|(v, r)| (v - r).abs() < 1e-4));
        }
    }
}

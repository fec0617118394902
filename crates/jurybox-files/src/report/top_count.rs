//! The expected rewards of a top K if scores and rewards have ties.
//!
//! Tied scores are averaged over all their orders. Among rows whose reward ties with the K-th best,
//! all count alike.

use super::curves::wilson;
use jurybox::toolbox::student_quantile;

/// The K best rows by reward, with ties.
pub(super) struct TopByReward {
    k: usize,
    /// The reward of the K-th best row.
    level: f64,
    /// The number of rows with a higher reward.
    above: usize,
    /// Whether rows at the level count. They do not if it is the smallest reward.
    level_counts: bool,
}

/// The expected figures of a top K over the orders of tied scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ExpectedTop {
    /// The mean reward of the K rows.
    pub(super) reward: f64,
    /// The share of the best rows that is among the K rows.
    pub(super) found: f64,
    /// The number of rows with the largest reward among the K rows.
    pub(super) largest: f64,
}

impl TopByReward {
    /// The K best of these rewards; `None` if all are equal, if there are fewer than K, or if K
    /// is 0.
    pub(super) fn new(rewards: &[f64], k: usize) -> Option<TopByReward> {
        let mut sorted = rewards.to_vec();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let level = *sorted.get(k.checked_sub(1)?)?;
        let above = sorted.partition_point(|&reward| reward > level);
        (first > last).then_some(TopByReward { k, level, above, level_counts: level > last })
    }

    /// The expected figures of the K rows with the highest values.
    pub(super) fn expected(&self, values: &[f64], rewards: &[f64]) -> ExpectedTop {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let cut = sorted[self.k - 1];
        let (mut surely, mut perhaps) = (TieCounts::default(), TieCounts::default());
        let largest = rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (&value, &reward) in values.iter().zip(rewards) {
            let counts = match value.total_cmp(&cut) {
                std::cmp::Ordering::Greater => &mut surely,
                std::cmp::Ordering::Equal => &mut perhaps,
                std::cmp::Ordering::Less => continue,
            };
            counts.rows += 1;
            counts.reward += reward;
            counts.above += usize::from(reward > self.level);
            counts.level += usize::from(reward == self.level);
            counts.largest += usize::from(reward == largest);
        }
        let drawn = self.k - surely.rows;
        let share = drawn as f64 / perhaps.rows as f64;
        let above = surely.above as f64 + share * perhaps.above as f64;
        let found = if self.level_counts {
            let room = self.k - self.above;
            let level = hypergeometric_mean(perhaps.rows, perhaps.level, drawn, |hits| {
                (surely.level + hits).min(room)
            });
            (above + level) / self.k as f64
        } else {
            above / self.above as f64
        };
        ExpectedTop {
            reward: (surely.reward + share * perhaps.reward) / self.k as f64,
            found,
            largest: surely.largest as f64 + share * perhaps.largest as f64,
        }
    }

    /// The 95% interval of the mean reward of the top K, for new rows of the same kind and number.
    /// `two` has the rewards if there are exactly two.
    ///
    /// The variance comes from the influence function of the mean above a quantile (expected
    /// shortfall). Deviations are from the reward at the cut, which moves with the rows. For two
    /// rewards, the interval is Wilson's for the number of rows that gives this variance, at most
    /// the effective number of picked rows. For others it is Student's, with the variance of one
    /// row added, because a few equal rewards would look certain.
    pub(super) fn interval(&self, values: &[f64], rewards: &[f64], two: Option<(f64, f64)>) -> (f64, f64) {
        let (n, k) = (values.len() as f64, self.k as f64);
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let cut = sorted[self.k - 1];
        let above = sorted.partition_point(|value| value.total_cmp(&cut).is_gt());
        let tied = sorted.partition_point(|value| value.total_cmp(&cut).is_ge()) - above;
        let share = (self.k - above) as f64 / tied as f64;
        let counts = |value: f64| match value.total_cmp(&cut) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => share,
            std::cmp::Ordering::Less => 0.0,
        };
        // The mean reward at the cut: of the rows that tie there if they are many, else of rows
        // close to it.
        let near = (self.k / 4).max(5);
        let place = |place: usize| sorted[place.min(sorted.len() - 1)];
        let (first, last) = if tied >= 2 * near {
            (cut, cut)
        } else {
            (place((self.k - 1).saturating_sub(near)), place(self.k - 1 + near))
        };
        let at_cut = values.iter().zip(rewards).filter(|(value, _)| (last..=first).contains(*value));
        let at_cut: Vec<f64> = at_cut.map(|(_, reward)| *reward).collect();
        let at_cut = at_cut.iter().sum::<f64>() / at_cut.len() as f64;
        let (mut sum, mut squares, mut weights) = (0.0, 0.0, 0.0);
        for (&value, &reward) in values.iter().zip(rewards) {
            let weight = counts(value);
            sum += weight * reward;
            squares += (weight * (reward - at_cut)).powi(2);
            weights += weight * weight;
        }
        let reward = sum / k;
        let variance = (squares / (k * k) - (reward - at_cut).powi(2) / n).max(0.0);
        let rows = k * k / weights;
        if let Some((least, most)) = two {
            let span = most - least;
            let share = ((reward - least) / span).clamp(0.0, 1.0);
            let as_many = share * (1.0 - share) * span * span / variance;
            let (low, high) = wilson(share, if as_many > 0.0 { as_many.min(rows) } else { rows });
            return (least + span * low, least + span * high);
        }
        let all = rewards.iter().sum::<f64>() / n;
        let spread = rewards.iter().map(|reward| (reward - all).powi(2)).sum::<f64>() / n;
        let half = student_quantile(0.975, (rows - 1.0).max(1.0)) * (variance + spread / rows / rows).sqrt();
        (reward - half, reward + half)
    }
}

/// Counts over rows above the cut, or tied with it.
#[derive(Default)]
struct TieCounts {
    rows: usize,
    reward: f64,
    above: usize,
    level: usize,
    largest: usize,
}

/// The mean of `f(hits)` over all draws of `drawn` from `rows` rows, where `hits` is how many of
/// the `marked` rows are drawn: an expectation over a hypergeometric distribution.
fn hypergeometric_mean(rows: usize, marked: usize, drawn: usize, f: impl Fn(usize) -> usize) -> f64 {
    let least = (drawn + marked).saturating_sub(rows);
    let most = drawn.min(marked);
    // Weights are relative to that of the mode and computed outwards, so that none overflows.
    let mode = ((drawn + 1) * (marked + 1) / (rows + 2)).clamp(least, most);
    let up = |h: usize| {
        (marked - h) as f64 * (drawn - h) as f64 / ((h + 1) as f64 * (rows + h + 1 - marked - drawn) as f64)
    };
    let (mut sum, mut total) = (f(mode) as f64, 1.0);
    let mut weight = 1.0;
    for hits in mode..most {
        weight *= up(hits);
        sum += weight * f(hits + 1) as f64;
        total += weight;
    }
    weight = 1.0;
    for hits in (least..mode).rev() {
        weight /= up(hits);
        sum += weight * f(hits) as f64;
        total += weight;
    }
    sum / total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(values: &[f64], rewards: &[f64], k: usize) -> ExpectedTop {
        TopByReward::new(rewards, k).unwrap().expected(values, rewards)
    }

    #[test]
    fn any_yes_is_as_good_a_catch_as_another() {
        let rewards = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0];
        // Every pick is a yes, so that the share found is 1 whichever "yes" they are.
        let values = [1.0, 0.0, 2.0, 3.0, 0.5, 0.4, 4.0, 0.3];
        assert_eq!(expected(&values, &rewards, 2), ExpectedTop { reward: 1.0, found: 1.0, largest: 2.0 });
        // With more picks than "yes", the share is of all "yes".
        let few = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        assert_eq!(expected(&values, &few, 4).found, 0.0);
        assert_eq!(expected(&[9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0], &few, 4).found, 0.5);
    }

    #[test]
    fn a_tie_with_the_kth_best_counts_only_for_the_places_left() {
        // One 5 and six 4s: the best three are the 5 and two 4s, so that three 4s are two thirds of
        // them.
        let rewards = [5.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 1.0];
        assert_eq!(expected(&[0.0, 9.0, 8.0, 7.0, 1.0, 1.0, 1.0, 1.0], &rewards, 3).found, 2.0 / 3.0);
        assert_eq!(expected(&[9.0, 0.0, 8.0, 7.0, 1.0, 1.0, 1.0, 1.0], &rewards, 3).found, 1.0);
    }

    #[test]
    fn tied_scores_are_averaged_over_their_orders() {
        let rewards: [f64; 7] = [5.0, 4.0, 4.0, 4.0, 3.0, 2.0, 1.0];
        let values = [1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 0.0];
        let best = TopByReward::new(&rewards, 3).unwrap();
        // By hand: the row with value 2, and every pair of the five tied rows.
        let tied = [0, 1, 2, 4, 5];
        let (mut found, mut reward, mut pairs) = (0.0, 0.0, 0.0);
        for (a, &i) in tied.iter().enumerate() {
            for &j in &tied[..a] {
                let picks = [rewards[3], rewards[i], rewards[j]];
                let fives = picks.iter().filter(|&&r| r == 5.0).count();
                let fours = picks.iter().filter(|&&r| r == 4.0).count();
                found += (fives + fours.min(2)) as f64 / 3.0;
                reward += picks.iter().sum::<f64>() / 3.0;
                pairs += 1.0;
            }
        }
        let expected = best.expected(&values, &rewards);
        assert!(
            (expected.found - found / pairs).abs() < 1e-12
                && (expected.reward - reward / pairs).abs() < 1e-12
        );
    }

    #[test]
    fn without_ties_it_is_the_share_of_the_top_k() {
        let rewards = [0.1, 0.7, 0.3, 0.9, 0.5, 0.2];
        // The first three rows have one of 0.9, 0.7 and 0.5.
        assert_eq!(expected(&[6.0, 5.0, 4.0, 3.0, 2.0, 1.0], &rewards, 3).found, 1.0 / 3.0);
        assert_eq!(expected(&rewards, &rewards, 3).found, 1.0);
        assert!(TopByReward::new(&[2.0; 5], 2).is_none(), "equal rewards have no best rows");
    }

    /// Simulates tables with rewards that are binary, grades, amounts or rare, and with tied
    /// scores. The interval must contain the mean over all tables in at least 93% of the tables,
    /// 90% for amounts.
    #[test]
    fn the_interval_of_a_top_k_holds_what_it_promises() {
        use rand::{RngExt, SeedableRng};
        const WORLDS: usize = 1000;
        let (mut rng, mut wrong) = (rand_chacha::ChaCha8Rng::seed_from_u64(3), Vec::new());
        for (kind, least) in
            [("yes or no", 0.93), ("marks", 0.93), ("amounts", 0.90), ("rare", 0.93), ("ties", 0.93)]
        {
            let two = ["yes or no", "rare", "ties"].contains(&kind).then_some((0.0, 1.0));
            for k in [10, 100, 300] {
                let (mut sum, mut ends) = (0.0, Vec::new());
                for _ in 0..WORLDS {
                    let (mut values, mut rewards) = (Vec::new(), Vec::new());
                    for _ in 0..1000 {
                        let x: f64 = rng.random();
                        let mut draw = |p: f64| f64::from(u8::from(rng.random::<f64>() < p));
                        rewards.push(match kind {
                            "rare" => draw(0.1 * x.powi(8)),
                            "marks" => (0..4).map(|_| draw(x * x)).sum::<f64>(),
                            "amounts" => draw(x) * -(1.0 - rng.random::<f64>()).ln(),
                            _ => draw(x.powi(4)),
                        });
                        values.push(if kind == "ties" { (8.0 * x).floor() } else { x });
                    }
                    let Some(best) = TopByReward::new(&rewards, k) else { continue };
                    sum += best.expected(&values, &rewards).reward;
                    ends.push(best.interval(&values, &rewards, two));
                }
                let truth = sum / ends.len() as f64;
                let held = ends.iter().filter(|(low, high)| (*low..=*high).contains(&truth)).count();
                let share = held as f64 / ends.len() as f64;
                if share < least {
                    wrong.push((kind, k, share));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    #[test]
    fn many_ties_do_not_overflow() {
        let mean = hypergeometric_mean(100_000, 50_000, 3000, |hits| hits);
        assert!((mean / 1500.0 - 1.0).abs() < 1e-9, "{mean}");
    }
}

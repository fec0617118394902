//! The distribution of rewards in constant memory, for the maximum likelihood estimate (`mle`) of a
//! history of any length.
//!
//! Besides the sums of rewards times scores, the likelihood equation has rewards r only in `sum r
//! g(a r)`, where g is the link and a the gain. This is the same function of a for all evaluators
//! that scored the same examples. The rewards are kept in bins, four per octave, each with its
//! count and first three moments. A bin is the leading bits of a number, so any scale and sign
//! fits. Two points with the same moments then represent all rewards of a bin. The error is of
//! fourth order in the bin's relative half-width of at most 1/8.

use super::{MOST_COUNTED, is_count, is_sum, is_sum_of_squares};
use crate::scores::LIMIT;
use serde::{Deserialize, Serialize};

/// Rewards up to this magnitude are not binned: they carry no information about a gain.
const TINY: f64 = 1e-18;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Bin {
    key: u16,
    count: f64,
    /// Sums of u, u^2, u^3, where a reward is centre * (1 + u).
    moments: [f64; 3],
}

/// Count, sum and sum of squares of rewards, and optionally their binned distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rewards {
    pub(crate) count: u64,
    pub(crate) sum: f64,
    pub(crate) square: f64,
    binned: bool,
    bins: Vec<Bin>,
}

/// A point with a mass that represents rewards of one bin, in the caller's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Node {
    pub(crate) mass: f64,
    pub(crate) reward: f64,
}

impl Rewards {
    pub(crate) fn new(binned: bool) -> Self {
        Rewards { count: 0, sum: 0.0, square: 0.0, binned, bins: Vec::new() }
    }

    pub(crate) fn add(&mut self, reward: f64) {
        self.count += 1;
        self.sum += reward;
        self.square += reward * reward;
        if self.binned && reward.abs() > TINY {
            let key = bin_key(reward);
            let u = reward / bin_centre(key) - 1.0;
            self.add_to_bin(&Bin { key, count: 1.0, moments: [u, u * u, u * u * u] });
        }
    }

    fn add_to_bin(&mut self, part: &Bin) {
        match self.bins.binary_search_by_key(&part.key, |bin| bin.key) {
            Ok(at) => {
                let bin = &mut self.bins[at];
                bin.count += part.count;
                super::add_all(&mut bin.moments, &part.moments);
            }
            Err(at) => self.bins.insert(at, part.clone()),
        }
    }

    /// Adds count, sum and sum of squares of another distribution, without its bins.
    pub(crate) fn merge_sums(&mut self, other: &Rewards) {
        self.count = self.count.saturating_add(other.count);
        self.sum += other.sum;
        self.square += other.square;
    }

    pub(crate) fn merge(&mut self, other: &Rewards) {
        self.merge_sums(other);
        for bin in &other.bins {
            self.add_to_bin(bin);
        }
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.count <= MOST_COUNTED
            && is_sum(self.sum)
            && is_sum_of_squares(self.square)
            && self.bins.windows(2).all(|pair| pair[0].key < pair[1].key)
            && self.bins.iter().all(|bin| {
                // No |u| exceeds 1/8, so no sum of its powers exceeds the count.
                bin.count > 0.0
                    && is_count(bin.count)
                    && bin.moments.iter().all(|m| m.abs() <= bin.count)
                    && is_usable_bin(bin.key)
            })
    }

    /// The sample variance of the rewards; 0 for fewer than two.
    pub(crate) fn variance(&self) -> f64 {
        let n = self.count as f64;
        if self.count < 2 { 0.0 } else { ((self.square - self.sum * self.sum / n) / (n - 1.0)).max(0.0) }
    }

    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }

    /// An upper bound on the magnitude of the binned rewards.
    pub(crate) fn reach(&self) -> f64 {
        self.bins.iter().fold(0.0, |reach, bin| reach.max(1.125 * bin_centre(bin.key).abs()))
    }

    /// Calls `out` with the points that represent the rewards, in units of `unit`.
    pub(crate) fn nodes(&self, unit: f64, mut out: impl FnMut(Node)) {
        for bin in &self.bins {
            let centre = bin_centre(bin.key) / unit;
            let [u, uu, uuu] = bin.moments.map(|m| m / bin.count);
            let variance = uu - u * u;
            if variance < 1e-12 {
                out(Node { mass: bin.count, reward: centre * (1.0 + u) });
                continue;
            }
            // Two-point Gauss rule: the roots of z^2 - (m3/m2) z - m2, for central moments m2 and
            // m3, are the points' distances from the mean. They match moments 0 to 3.
            let third = uuu - 3.0 * u * uu + 2.0 * u * u * u;
            let half = third / (2.0 * variance);
            let root = (half * half + variance).sqrt();
            let (high, low) = (half + root, half - root);
            let high_mass = bin.count * -low / (high - low);
            out(Node { mass: high_mass, reward: centre * (1.0 + u + high) });
            out(Node { mass: bin.count - high_mass, reward: centre * (1.0 + u + low) });
        }
    }
}

/// Sign, exponent and the two leading bits of the fraction: four bins an octave.
pub(crate) fn bin_key(reward: f64) -> u16 {
    (reward.to_bits() >> 50) as u16
}

pub(crate) fn bin_centre(key: u16) -> f64 {
    f64::from_bits((u64::from(key) << 50) | (1 << 49))
}

/// Whether a valid reward can lie in this bin.
pub(crate) fn is_usable_bin(key: u16) -> bool {
    bin_centre(key).abs() <= 2.0 * LIMIT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_match_the_moments_of_the_rewards() {
        let rewards: Vec<f64> = (1..2000).map(|i| (f64::from(i) * 0.37).sin() * 3.0).collect();
        let mut law = Rewards::new(true);
        rewards.iter().for_each(|&r| law.add(r));
        let mut nodes = Vec::new();
        law.nodes(1.0, |node| nodes.push(node));
        assert!(nodes.iter().all(|node| node.reward.abs() <= law.reach()));
        for power in 0..=3 {
            let exact: f64 = rewards.iter().map(|r| r.powi(power)).sum();
            let found: f64 = nodes.iter().map(|n| n.mass * n.reward.powi(power)).sum();
            assert!((exact - found).abs() < 1e-8 * rewards.len() as f64, "{power}: {exact} {found}");
        }
        assert!(nodes.iter().all(|n| n.mass > 0.0));
        assert!(nodes.len() < 200);
    }

    #[test]
    fn bins_hold_their_rewards_within_an_eighth() {
        for r in [1e-10, 0.1, 1.0, 1.24, 1.26, 3.9, -7.0, 1e90] {
            let centre = bin_centre(bin_key(r));
            assert!((r / centre - 1.0).abs() <= 0.125, "{r} {centre}");
        }
    }
}

//! A simulated queue: evaluators drawn once per run, then rounds of items with scores and rewards.
//!
//! Each run has a random stream for its data alone. All policies of a run therefore meet the same
//! data, whatever the thread and whatever other runs are in progress.

mod oracle;

use crate::setting::{Setting, SimulatedDrift, Truncation};
use crate::truncated::{TruncatedNormal, standard};
use crate::truth::Truth;
use jurybox::{Link, Weights};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// The distribution of the rewards in the paper's synthetic model (Section 6.1).
pub(crate) const REWARDS: TruncatedNormal = TruncatedNormal { mean: 0.0, sd: 1.0, low: 0.0, high: 20.0 };

/// Items with their scores and rewards.
///
/// ```
/// let items = jurybox_lab::SimulatedItems::default();
/// assert_eq!(items.len(), 0);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SimulatedItems {
    /// Scores, one row per item with an entry for each evaluator; NaN for a missing score.
    pub scores: Vec<f64>,
    /// True reward of each item.
    pub rewards: Vec<f64>,
    /// The verdict on each item: its reward plus an error of the setting's reward noise.
    pub verdicts: Vec<f64>,
}

impl SimulatedItems {
    /// Number of items.
    pub fn len(&self) -> usize {
        self.rewards.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.rewards.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.scores.clear();
        self.rewards.clear();
        self.verdicts.clear();
    }
}

/// A simulated queue: a generator of rounds with a known truth.
///
/// ```
/// use jurybox_lab::{SimulatedItems, Setting, SimulatedQueue};
///
/// let setting = Setting::default();
/// let mut one = SimulatedQueue::new(&setting, 7, 3);
/// let mut other = SimulatedQueue::new(&setting, 7, 3);
/// let (mut items, mut same) = (SimulatedItems::default(), SimulatedItems::default());
/// one.next_round(&mut items);
/// other.next_round(&mut same);
/// assert_eq!(items.len(), 60);
/// assert_eq!(items.scores, same.scores);
/// ```
#[derive(Debug, Clone)]
pub struct SimulatedQueue {
    setting: Setting,
    rng: ChaCha8Rng,
    start: Truth,
    truth: Truth,
    round: u64,
    oracle: Weights,
    plain: bool,
}

impl SimulatedItems {
    /// Appends the items of `new`.
    pub(crate) fn append(&mut self, new: &SimulatedItems) {
        self.scores.extend_from_slice(&new.scores);
        self.rewards.extend_from_slice(&new.rewards);
        self.verdicts.extend_from_slice(&new.verdicts);
    }

    /// Removes the items at the positions `picks`. Sorts `picks` in descending order.
    pub(crate) fn remove(&mut self, evaluators: usize, picks: &mut [usize]) {
        picks.sort_unstable_by(|a, b| b.cmp(a));
        for &item in picks.iter() {
            self.scores.drain(item * evaluators..(item + 1) * evaluators);
            self.rewards.remove(item);
            self.verdicts.remove(item);
        }
    }
}

impl SimulatedQueue {
    /// The queue of run number `run`. Queues of different runs are independent.
    ///
    /// # Panics
    /// If the setting has not passed [`Setting::check`].
    pub fn new(setting: &Setting, seed: u64, run: u64) -> SimulatedQueue {
        setting.check().expect("a checked setting");
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(run);
        let truth = Truth::draw(setting, &mut rng);
        let t = &setting.extensions;
        let plain = t.correlated == 0
            && t.reward_noise_growth == 0.0
            && t.curvature == 0.0
            && t.units == 0.0
            && t.missing == 0.0
            && t.outage.is_none();
        let oracle = Weights::oracle(&truth.alpha, &truth.sigma).expect("drawn within bounds");
        SimulatedQueue { setting: setting.clone(), rng, start: truth.clone(), truth, round: 0, oracle, plain }
    }

    /// The evaluators' true parameters in the current round.
    pub fn truth(&self) -> &Truth {
        &self.truth
    }

    /// Replaces `items` by the new items of the next round. With persistent items, the second and
    /// later rounds bring K new items each.
    pub fn next_round(&mut self, items: &mut SimulatedItems) {
        self.round += 1;
        self.drift();
        let Setting { items: most, k, ref extensions, .. } = self.setting;
        let n = match extensions.items_min {
            Some(least) => self.rng.random_range(least..=most),
            None if extensions.persistent && self.round > 1 => k,
            None => most,
        };
        items.clear();
        for _ in 0..n {
            self.item(items);
        }
    }

    fn drift(&mut self) {
        let (round, rounds) = (self.round as f64, self.setting.rounds as f64);
        self.truth = match self.setting.extensions.drift {
            SimulatedDrift::None => return,
            SimulatedDrift::Swap => self.start.towards_mirror(if round > rounds / 2.0 { 1.0 } else { 0.0 }),
            SimulatedDrift::Slow => self.start.towards_mirror((round / rounds).min(1.0)),
        };
        self.oracle = Weights::oracle(&self.truth.alpha, &self.truth.sigma).expect("a mean of sound values");
    }

    fn item(&mut self, items: &mut SimulatedItems) {
        let SimulatedQueue { setting, rng, truth, round, plain, .. } = self;
        let extensions = &setting.extensions;
        let reward = standard(REWARDS.low, REWARDS.high, rng);
        items.rewards.push(reward);
        if *plain {
            plain_scores(setting, truth, reward, rng, &mut items.scores);
        } else {
            let shared: f64 = if extensions.correlated > 0 { StandardNormal.sample(rng) } else { 0.0 };
            for j in 0..setting.evaluators {
                let phi = score(setting, truth, j, reward, shared, rng);
                let down = j == 0 && extensions.outage.is_some_and(|(from, to)| (from..=to).contains(round));
                let missing = extensions.missing > 0.0 && rng.random::<f64>() < extensions.missing;
                items.scores.push(if down || missing { f64::NAN } else { phi });
            }
        }
        let noise: f64 = if extensions.reward_noise > 0.0 { StandardNormal.sample(rng) } else { 0.0 };
        items.verdicts.push(reward + extensions.reward_noise * noise);
    }
}

/// The fast path: scores of one item from gains, offsets and noise levels alone.
fn plain_scores<R: Rng>(setting: &Setting, truth: &Truth, reward: f64, rng: &mut R, out: &mut Vec<f64>) {
    let evaluators = truth.alpha.iter().zip(&truth.sigma).zip(&truth.intercept);
    match setting.link {
        Link::Identity => out.extend(evaluators.map(|((a, s), b)| {
            let z: f64 = StandardNormal.sample(rng);
            a * reward + b + s * z
        })),
        link => {
            let first = out.len();
            out.extend(evaluators.map(|((a, _), b)| a * reward + b));
            link.apply_to_each(&mut out[first..]);
            for (score, s) in out[first..].iter_mut().zip(&truth.sigma) {
                let (low, high) = cut(setting.truncation, *score);
                let sd = std::f64::consts::SQRT_2 * s;
                *score += sd * standard(low / sd, high / sd, rng);
            }
        }
    }
}

/// The range of the noise around a mean score between 0 and 1, for a bounded link.
fn cut(truncation: Truncation, mean: f64) -> (f64, f64) {
    match truncation {
        Truncation::Interval => (-mean, 1.0 - mean),
        Truncation::Symmetric => {
            let half = mean.min(1.0 - mean);
            (-half, half)
        }
    }
}

/// One score that is not missing. For a bounded link, the evaluator's own error is truncated so
/// that its sum with the `shared` error keeps to the range.
fn score<R: Rng>(setting: &Setting, truth: &Truth, j: usize, reward: f64, shared: f64, rng: &mut R) -> f64 {
    let extensions = &setting.extensions;
    let rho = if j < extensions.correlated { extensions.rho } else { 0.0 };
    let (common, own) = (rho.sqrt() * shared, (1.0 - rho).sqrt());
    let seen = if truth.power[j] == 1.0 { reward } else { reward.powf(truth.power[j]) };
    let sigma = truth.sigma[j] * (1.0 + extensions.reward_noise_growth * reward);
    let mean = setting.link.apply(truth.alpha[j] * seen + truth.intercept[j]);
    if setting.link == Link::Identity {
        let z: f64 = StandardNormal.sample(rng);
        return truth.unit[j] * (mean + sigma * (common + own * z));
    }
    let sd = std::f64::consts::SQRT_2 * sigma;
    let (low, high) = cut(setting.truncation, mean);
    let noise = common + own * standard((low / sd - common) / own, (high / sd - common) / own, rng);
    mean + sd * noise
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Extensions;

    fn draw(setting: &Setting, rounds: u64) -> (SimulatedQueue, SimulatedItems) {
        let mut queue = SimulatedQueue::new(setting, 5, 2);
        let (mut all, mut items) = (SimulatedItems::default(), SimulatedItems::default());
        for _ in 0..rounds {
            queue.next_round(&mut items);
            all.scores.extend_from_slice(&items.scores);
            all.rewards.extend_from_slice(&items.rewards);
            all.verdicts.extend_from_slice(&items.verdicts);
        }
        (queue, all)
    }

    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        let (sum, n) = values.fold((0.0, 0.0), |(sum, n), x| (sum + x, n + 1.0));
        sum / n
    }

    /// Scores of evaluator j minus their means given the reward.
    fn residuals(queue: &SimulatedQueue, items: &SimulatedItems, j: usize) -> Vec<f64> {
        let (width, link) = (queue.setting.evaluators, queue.setting.link);
        let f = |r: &f64| link.apply(queue.truth.alpha[j] * r + queue.truth.intercept[j]);
        items.scores.iter().skip(j).step_by(width).zip(&items.rewards).map(|(x, r)| x - f(r)).collect()
    }

    fn correlation(a: &[f64], b: &[f64]) -> f64 {
        let pair = |x: &[f64], y: &[f64]| mean(x.iter().zip(y).map(|(x, y)| x * y));
        pair(a, b) / (pair(a, a) * pair(b, b)).sqrt()
    }

    #[test]
    fn linear_noise_has_the_level_it_says() {
        let (queue, items) = draw(&Setting { ratio: 2.0, ..Setting::default() }, 1000);
        for j in 0..10 {
            let square = mean(residuals(&queue, &items, j).iter().map(|e| e * e));
            let expected = queue.truth.sigma[j].powi(2);
            assert!((square / expected - 1.0).abs() < 5.0 * (2.0 / 60_000_f64).sqrt(), "{j}");
        }
    }

    #[test]
    fn interval_keeps_scores_in_range_and_symmetric_keeps_the_mean() {
        for truncation in [Truncation::Interval, Truncation::Symmetric] {
            let setting = Setting { link: Link::Logistic, ratio: 1.0, truncation, ..Setting::default() };
            let (queue, items) = draw(&setting, 1000);
            assert!(items.scores.iter().all(|phi| (0.0..=1.0).contains(phi)));
            let off = mean(residuals(&queue, &items, 0).into_iter());
            // The noise is within ±1: the mean of 60,000 has a standard error of at most 0.004.
            let centred = off.abs() < 0.02;
            assert_eq!(centred, truncation == Truncation::Symmetric, "{truncation:?} {off}");
        }
    }

    #[test]
    fn shared_errors_have_the_asked_for_correlation() {
        let extensions = Extensions { correlated: 3, rho: 0.6, ..Extensions::default() };
        let (queue, items) = draw(&Setting { ratio: 1.0, extensions, ..Setting::default() }, 1000);
        let e: Vec<Vec<f64>> = (0..4).map(|j| residuals(&queue, &items, j)).collect();
        assert!((correlation(&e[0], &e[2]) - 0.6).abs() < 0.02);
        assert!(correlation(&e[0], &e[3]).abs() < 0.02);
    }

    #[test]
    fn missing_outage_useless_inverted_units_and_varying_rounds_show() {
        let extensions = Extensions {
            missing: 0.25,
            outage: Some((2, 3)),
            useless: 1,
            inverted: 1,
            units: 2.0,
            items_min: Some(20),
            reward_noise: 0.5,
            ..Extensions::default()
        };
        let setting = Setting { ratio: 10.0, extensions, ..Setting::default() };
        let mut queue = SimulatedQueue::new(&setting, 1, 0);
        let mut items = SimulatedItems::default();
        let mut sizes = std::collections::BTreeSet::new();
        for round in 1..=50 {
            queue.next_round(&mut items);
            sizes.insert(items.len());
            let first: Vec<f64> = items.scores.iter().copied().step_by(10).collect();
            assert_eq!(first.iter().all(|x| x.is_nan()), (2..=3).contains(&round));
            assert_ne!(items.rewards, items.verdicts);
        }
        assert!(*sizes.first().unwrap() >= 20 && *sizes.last().unwrap() <= 60 && sizes.len() > 10);
        assert_eq!(queue.truth.alpha[0], 0.0);
        assert!(queue.truth.alpha[1] < 0.0 && queue.truth.alpha[2] > 0.0);
        assert!(queue.truth.unit.iter().any(|u| !(0.2..=5.0).contains(u)));
    }

    #[test]
    fn drift_mirrors_the_evaluators() {
        for drift in [SimulatedDrift::Swap, SimulatedDrift::Slow] {
            let setting = Setting {
                rounds: 10,
                extensions: Extensions { drift, ..Extensions::default() },
                ..Setting::default()
            };
            let mut queue = SimulatedQueue::new(&setting, 1, 0);
            let first = queue.truth.clone();
            let mut items = SimulatedItems::default();
            for round in 1..=10 {
                queue.next_round(&mut items);
                if round == 5 && drift == SimulatedDrift::Swap {
                    assert_eq!(queue.truth, first);
                }
            }
            let mirrored: Vec<f64> = first.alpha.iter().rev().copied().collect();
            assert!(queue.truth.alpha.iter().zip(&mirrored).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn curvature_bends_and_growth_spreads() {
        let extensions = Extensions { curvature: 0.7, reward_noise_growth: 1.0, ..Extensions::default() };
        let (queue, items) = draw(&Setting { ratio: 100.0, extensions, ..Setting::default() }, 200);
        let power = queue.truth.power[0];
        let (mut small, mut large) = (Vec::new(), Vec::new());
        for (row, &r) in items.scores.chunks_exact(10).zip(&items.rewards) {
            let off = (row[0] - queue.truth.alpha[0] * r.powf(power)).abs();
            if r < 0.3 {
                small.push(off);
            } else if r > 1.5 {
                large.push(off);
            }
        }
        assert!(mean(large.into_iter()) > 1.7 * mean(small.into_iter()));
    }
}

//! Synthetic data: the paper's two models, and deviations from them, each with a switch of its own.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

pub(crate) const J: usize = 10;
pub(crate) const ITEMS: usize = 60;
pub(crate) const K: usize = 10;
pub(crate) const ROUNDS: usize = 2000;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum TableLink {
    Identity,
    /// Logistic; the noise is truncated so that scores stay in (0, 1).
    Interval,
    /// Logistic; the noise is truncated symmetrically, so that its mean is zero.
    Symmetric,
}

#[derive(Clone, Copy)]
pub(crate) struct TableSetting {
    pub ratio: f64,
    pub link: TableLink,
    /// Correlation of the errors of the first six evaluators.
    pub rho: f64,
    pub intercepts: bool,
    pub missing: f64,
    /// The first three evaluators are uninformative, the next two have a negative gain.
    pub useless: bool,
    /// Halfway, the order of the noise levels is reversed.
    pub swap: bool,
    /// Growth of the noise with the reward r: sigma (1 + growth r). Identity link only.
    pub growth: f64,
    /// Evaluators score r^p instead of r, with ln p from U[-bent, bent]. Identity link only.
    pub bent: f64,
}

impl TableSetting {
    pub(crate) fn linear(ratio: f64) -> Self {
        TableSetting {
            ratio,
            link: TableLink::Identity,
            rho: 0.0,
            intercepts: false,
            missing: 0.0,
            useless: false,
            swap: false,
            growth: 0.0,
            bent: 0.0,
        }
    }
}

pub(crate) struct TableQueue {
    setting: TableSetting,
    rng: ChaCha8Rng,
    round: usize,
    alpha: Vec<f64>,
    pub sigma: Vec<f64>,
    intercept: Vec<f64>,
    power: Vec<f64>,
    /// The oracle's weights, for correlated errors too.
    weights: Vec<f64>,
}

pub(crate) struct TableRound {
    pub scores: Vec<f64>,
    pub rewards: Vec<f64>,
    /// The oracle's value of each item.
    pub oracle: Vec<f64>,
}

const CORRELATED: usize = 6;

impl TableQueue {
    pub(crate) fn new(setting: TableSetting, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let noise = 1.0 / setting.ratio;
        let mut alpha: Vec<f64> = (0..J).map(|_| 0.5 + uniform(&mut rng)).collect();
        let sigma: Vec<f64> = (0..J).map(|_| noise * (0.5 + uniform(&mut rng))).collect();
        let spread = if setting.intercepts { 4.0 * (1.0 + noise) } else { 0.0 };
        let intercept = (0..J).map(|_| spread * (uniform(&mut rng) - 0.5)).collect();
        let power = (0..J).map(|_| (setting.bent * (2.0 * uniform(&mut rng) - 1.0)).exp()).collect();
        if setting.useless {
            alpha[..3].fill(0.0);
            alpha[3..5].iter_mut().for_each(|a| *a = -*a);
        }
        let mut world =
            TableQueue { setting, rng, round: 0, alpha, sigma, intercept, power, weights: Vec::new() };
        world.weigh();
        world
    }

    /// Computes w = Sigma^-1 alpha / (alpha' Sigma^-1 alpha), where Sigma is the covariance of the
    /// errors. The errors of the first six evaluators have equal correlations.
    fn weigh(&mut self) {
        let rho = self.setting.rho;
        let unit: Vec<f64> = self.alpha.iter().zip(&self.sigma).map(|(a, s)| a / s).collect();
        let shared: f64 = unit[..CORRELATED].iter().sum();
        let pull = rho / ((1.0 - rho) * (1.0 - rho + rho * CORRELATED as f64)) * shared;
        let solved: Vec<f64> =
            (0..J).map(|j| if j < CORRELATED { unit[j] / (1.0 - rho) - pull } else { unit[j] }).collect();
        let norm: f64 = solved.iter().zip(&unit).map(|(a, b)| a * b).sum();
        self.weights = solved.iter().zip(&self.sigma).map(|(w, s)| w / s / norm).collect();
    }

    pub(crate) fn next(&mut self) -> TableRound {
        if self.setting.swap && self.round == ROUNDS / 2 {
            self.sigma.reverse();
            self.weigh();
        }
        self.round += 1;
        self.items(ITEMS)
    }

    /// A round of new items.
    pub(crate) fn items(&mut self, items: usize) -> TableRound {
        let mut round = TableRound { scores: Vec::with_capacity(items * J), rewards: vec![], oracle: vec![] };
        for _ in 0..items {
            let reward = normal(&mut self.rng).abs();
            let row = self.score(reward);
            round.oracle.push(self.judge(&row));
            round.rewards.push(reward);
            round.scores.extend(row);
        }
        round
    }

    fn score(&mut self, reward: f64) -> Vec<f64> {
        let setting = self.setting;
        let common = normal(&mut self.rng);
        (0..J)
            .map(|j| {
                let own = normal(&mut self.rng);
                let score = if setting.link == TableLink::Identity {
                    let share = if j < CORRELATED { setting.rho } else { 0.0 };
                    let error = share.sqrt() * common + (1.0 - share).sqrt() * own;
                    let sigma = self.sigma[j] * (1.0 + setting.growth * reward);
                    self.intercept[j] + self.alpha[j] * reward.powf(self.power[j]) + sigma * error
                } else {
                    let mean = 1.0 / (1.0 + (-self.alpha[j] * reward).exp());
                    let deviation = self.sigma[j] * 2_f64.sqrt();
                    let (low, high) = match setting.link {
                        TableLink::Interval => (-mean, 1.0 - mean),
                        _ => (-mean.min(1.0 - mean), mean.min(1.0 - mean)),
                    };
                    let noise = truncated(&mut self.rng, low / deviation, high / deviation) * deviation;
                    (mean + noise).clamp(1e-12, 1.0 - 1e-12)
                };
                if setting.missing > 0.0 && uniform(&mut self.rng) < setting.missing {
                    f64::NAN
                } else {
                    score
                }
            })
            .collect()
    }

    /// The oracle's value: the paper's Lemma 1 on the inverse link. With missing scores and the
    /// identity link, the exact posterior mean of r = |N(0, 1)|.
    fn judge(&self, row: &[f64]) -> f64 {
        if self.setting.link != TableLink::Identity {
            return row.iter().zip(&self.weights).map(|(x, w)| w * (x / (1.0 - x)).ln()).sum();
        }
        if self.setting.missing == 0.0 {
            return (0..J).map(|j| self.weights[j] * (row[j] - self.intercept[j])).sum();
        }
        let (mut precision, mut sum) = (1.0, 0.0);
        for (j, x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
            let gain = self.alpha[j] / (self.sigma[j] * self.sigma[j]);
            precision += gain * self.alpha[j];
            sum += gain * (x - self.intercept[j]);
        }
        let (mean, deviation) = (sum / precision, (1.0 / precision).sqrt());
        // The mean of a normal truncated at zero: mean + deviation * phi(t) / Phi(t); for t of -30
        // or less by Mills' ratio.
        let t = mean / deviation;
        let density = (-0.5 * t * t).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let above = 0.5 * libm::erfc(-t / 2_f64.sqrt());
        if t > -30.0 { mean + deviation * density / above } else { -deviation / t }
    }
}

pub(crate) fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

pub(crate) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// A standard normal truncated to an interval around zero.
fn truncated(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    loop {
        // Rejection from the uniform in a narrow interval, from the normal in a wide one.
        let (x, keep) = if high - low < 3.0 {
            let x = low + (high - low) * uniform(rng);
            (x, (-0.5 * x * x).exp())
        } else {
            (normal(rng), 1.0)
        };
        if x > low && x < high && (keep == 1.0 || uniform(rng) < keep) {
            return x;
        }
    }
}

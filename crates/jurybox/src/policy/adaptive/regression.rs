//! Bayesian linear regression of the reward, with a prior that the evidence chooses.
//!
//! With the reward and the features centred over the examples, and the reward in units of its standard deviation:
//!
//! ```text
//! y = <beta, x> + noise,   noise ~ N(0, s^2),   beta = c d + delta,
//! delta ~ N(0, s^2 tau^2 I),   c ~ N(0, s^2 kappa^2) restricted to c > 0 with prior weight 0.98
//! ```
//!
//! d is one of a few directions that were found without labels. Which direction, how far to stray from it (tau) and how
//! strong the signal is (kappa) are not chosen by hand: every combination on a coarse grid is a model, its marginal
//! likelihood has a closed form (beta, c and s are integrated out), and the answer is the average over all of them. With
//! no labels that average is the mean of the directions; with many it is least squares; between the two it moves as fast
//! as the labels warrant.
//!
//! That c should be positive says "the evaluators as a whole point the right way". It can be unlearnt, by labels that
//! speak against it fifty to one.

use crate::estimate::Joint;
use crate::kernel::dot;
use crate::matrix::{Cholesky, Symmetric};
use crate::normal;

/// How far single weights may stray from the direction, in units of the noise.
const TAUS: [f64; 6] = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0];
/// How strong the signal along the direction may be, in units of the noise.
const KAPPAS: [f64; 4] = [0.1, 0.3, 1.0, 3.0];
/// Prior weight of a direction that points the wrong way.
const REVERSED: f64 = 0.02;
/// Prior weight of the first direction, the plain mean; the others share the rest.
const FIRST: f64 = 0.5;
/// The inverse gamma prior of s^2: worth two examples of half the reward's variance.
const SHAPE: f64 = 1.0;
const SCALE: f64 = 0.5;

/// The average over all models: weights of the features, in the units of the reward.
#[derive(Debug, Clone)]
pub(crate) struct Regression {
    /// Log marginal likelihood of the average.
    pub(crate) evidence: f64,
    /// Posterior mean of beta.
    pub(crate) weights: Vec<f64>,
    /// Posterior mean of the noise variance.
    pub(crate) noise: f64,
    gram: Gram,
    models: Vec<Model>,
}

/// Centred second moments of the examples, the reward in units of its standard deviation.
#[derive(Debug, Clone)]
struct Gram {
    examples: f64,
    unit: f64,
    xx: Symmetric,
    xy: Vec<f64>,
    yy: f64,
}

/// One combination of direction and tau, averaged over kappa and c.
#[derive(Debug, Clone)]
struct Model {
    evidence: f64,
    tau: f64,
    /// Posterior mean of beta: `base + c * along`.
    mean: Vec<f64>,
    along: Vec<f64>,
    /// Posterior variance of c, and mean noise variance.
    c_variance: f64,
    noise: f64,
}

impl Gram {
    /// From moments whose last column is the reward, keeping some of the features.
    fn new(joint: &Joint, keep: &[usize]) -> Self {
        let y = joint.columns() - 1;
        let examples = joint.weight();
        let variance = if examples > 1.0 { joint.spread(y, y) / examples } else { 0.0 };
        let unit = if variance > 0.0 && variance.is_normal() { variance.sqrt() } else { 1.0 };
        let mut xx = Symmetric::zeros(keep.len());
        for (a, &i) in keep.iter().enumerate() {
            for (b, &j) in keep[..=a].iter().enumerate() {
                xx.set(a, b, joint.spread(i, j));
            }
        }
        let xy = keep.iter().map(|&i| joint.spread(i, y) / unit).collect();
        Gram { examples, unit, xx, xy, yy: joint.spread(y, y) / (unit * unit) }
    }
}

impl Regression {
    /// Regresses the last column of the moments on the kept ones, given directions over the kept ones.
    pub(crate) fn fit(joint: &Joint, keep: &[usize], directions: &[Vec<f64>]) -> Self {
        let gram = Gram::new(joint, keep);
        let shape = SHAPE + 0.5 * (gram.examples - 1.0).max(0.0);
        let along_the_data: Vec<Vec<f64>> = directions.iter().map(|d| gram.xx.times(d)).collect();
        let mut factor = Cholesky::default();
        let mut models = Vec::with_capacity(TAUS.len() * directions.len());
        for tau in TAUS {
            let precision = 1.0 / (tau * tau);
            if !factor.factor(&gram.xx, precision) {
                continue;
            }
            let log_det = factor.log_determinant() - keep.len() as f64 * precision.ln();
            let mut base = gram.xy.clone();
            factor.solve(&mut base);
            let q_yy = gram.yy - dot(&gram.xy, &base);
            for (at, (direction, data)) in directions.iter().zip(&along_the_data).enumerate() {
                let mut pulled = data.clone();
                factor.solve(&mut pulled);
                let q_yd = dot(direction, &gram.xy) - dot(data, &base);
                let q_dd = (dot(direction, data) - dot(data, &pulled)).max(0.0);
                let c = strength(q_yy, q_yd, q_dd, shape);
                let along: Vec<f64> = direction.iter().zip(&pulled).map(|(d, p)| d - p).collect();
                let mean = base.iter().zip(&along).map(|(b, u)| b + c.mean * u).collect();
                let (c_variance, noise) = (c.variance, c.noise);
                let prior = if at == 0 { FIRST } else { (1.0 - FIRST) / (directions.len() - 1) as f64 };
                models.push(Model {
                    evidence: c.evidence - 0.5 * log_det + prior.ln(),
                    tau,
                    mean,
                    along,
                    c_variance,
                    noise,
                });
            }
        }
        Self::average(gram, models)
    }

    fn average(gram: Gram, mut models: Vec<Model>) -> Self {
        let evidence = log_sum(models.iter().map(|model| model.evidence));
        let mut weights = vec![0.0; gram.xy.len()];
        let mut noise = 0.0;
        for model in &models {
            let share = (model.evidence - evidence).exp();
            noise += share * model.noise * gram.unit * gram.unit;
            for (total, w) in weights.iter_mut().zip(&model.mean) {
                *total += share * w * gram.unit;
            }
        }
        // Every tau has the same prior weight. Models that are out of the running need not be kept.
        models.retain(|model| model.evidence > evidence - 12.0);
        Regression { evidence: evidence - (TAUS.len() as f64).ln(), weights, noise, gram, models }
    }

    /// Posterior covariance of beta, row by row: within the models and between them.
    pub(crate) fn covariance(&self) -> Vec<f64> {
        let n = self.weights.len();
        let unit2 = self.gram.unit * self.gram.unit;
        let mut covariance = vec![0.0; n * n];
        let total = log_sum(self.models.iter().map(|model| model.evidence));
        let mut factor = Cholesky::default();
        for tau in TAUS {
            let members = || self.models.iter().filter(|model| model.tau == tau);
            let share = |model: &Model| (model.evidence - total).exp();
            let noise: f64 = members().map(|model| share(model) * model.noise).sum();
            if noise > 0.0 && factor.factor(&self.gram.xx, 1.0 / (tau * tau)) {
                for i in 0..n {
                    let mut column = vec![0.0; n];
                    column[i] = noise * unit2;
                    factor.solve(&mut column);
                    crate::estimate::add_all(&mut covariance[i * n..(i + 1) * n], &column);
                }
            }
            for model in members() {
                let p = share(model) * unit2;
                let off: Vec<f64> =
                    model.mean.iter().zip(&self.weights).map(|(m, w)| m - w / self.gram.unit).collect();
                for i in 0..n {
                    for j in 0..n {
                        covariance[i * n + j] +=
                            p * (model.c_variance * model.along[i] * model.along[j] + off[i] * off[j]);
                    }
                }
            }
        }
        covariance
    }
}

/// What is known of c after averaging over kappa.
struct Strength {
    evidence: f64,
    mean: f64,
    variance: f64,
    noise: f64,
}

/// c from the three quadratic forms of y and of the direction that are left when delta is integrated out.
fn strength(q_yy: f64, q_yd: f64, q_dd: f64, shape: f64) -> Strength {
    let mut each = [(0.0, 0.0, 0.0, 0.0); KAPPAS.len()];
    for (slot, kappa) in each.iter_mut().zip(KAPPAS) {
        let precision = q_dd + 1.0 / (kappa * kappa);
        let centre = q_yd / precision;
        let scale = SCALE + 0.5 * (q_yy - q_yd * centre).max(0.0);
        let noise = scale / shape;
        let deviation = (noise / precision).sqrt();
        // The normal law of c, cut at zero: both sides are weighed by the prior.
        let t = centre / deviation;
        let (above, below, edge) = (normal::cdf(t), normal::cdf(-t), normal::pdf(t));
        let kept = 2.0 * ((1.0 - REVERSED) * above + REVERSED * below);
        let first = 2.0 * ((1.0 - REVERSED) * (t * above + edge) + REVERSED * (t * below - edge)) / kept;
        let second = 2.0
            * ((1.0 - REVERSED) * ((t * t + 1.0) * above + t * edge)
                + REVERSED * ((t * t + 1.0) * below - t * edge))
            / kept;
        let evidence = -0.5 * (kappa * kappa * precision).ln() - shape * scale.ln() + kept.ln();
        let variance = (second - first * first).max(0.0) * deviation * deviation;
        *slot = (evidence, first * deviation, variance, noise);
    }
    let evidence = log_sum(each.iter().map(|model| model.0));
    let mut c = Strength { evidence, mean: 0.0, variance: 0.0, noise: 0.0 };
    let share = |model: &(f64, f64, f64, f64)| (model.0 - evidence).exp();
    for model in &each {
        c.mean += share(model) * model.1;
        c.noise += share(model) * model.3;
    }
    for model in &each {
        c.variance += share(model) * (model.2 + (model.1 - c.mean).powi(2));
    }
    c
}

/// ln of the sum of exponentials.
pub(crate) fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest.is_finite() { largest + logs.map(|l| (l - largest).exp()).sum::<f64>().ln() } else { 0.0 }
}

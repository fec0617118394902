//! Measurements that are drawn to one another as far as they seem to be alike.

/// The prior probability that reviewers are all alike in what is measured.
const ALIKE: f64 = 0.5;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Estimate {
    pub(super) mean: f64,
    pub(super) variance: f64,
}

/// Measurements, each with its variance, drawn to their common mean as far as they seem to be
/// alike; and the log odds that they differ.
pub(super) fn pooled(measured: &[(f64, f64)], scales: &[f64]) -> (Vec<Estimate>, f64) {
    let others = scales.len() as f64 - 1.0;
    let mut fits = Vec::with_capacity(scales.len());
    for &scale in scales {
        let between = scale * scale;
        let precision: f64 = measured.iter().map(|(_, own)| 1.0 / (between + own)).sum();
        let mean = measured.iter().map(|(value, own)| value / (between + own)).sum::<f64>() / precision;
        let off = measured.iter().map(|(value, own)| {
            let variance = between + own;
            variance.ln() + (value - mean).powi(2) / variance
        });
        let prior = if scale == 0.0 { ALIKE } else { (1.0 - ALIKE) / others };
        let evidence = prior.ln() - 0.5 * (off.sum::<f64>() + precision.ln());
        fits.push((evidence, between, mean, 1.0 / precision));
    }
    let most = fits.iter().map(|fit| fit.0).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = fits.iter().map(|fit| (fit.0 - most).exp()).sum();
    let share = |evidence: f64| (evidence - most).exp() / total;
    let one = |&(value, own): &(f64, f64)| {
        let mut estimate = Estimate::default();
        let mut square = 0.0;
        for &(evidence, between, mean, of_mean) in &fits {
            let (share, trust) = (share(evidence), between / (between + own));
            let at = mean + trust * (value - mean);
            estimate.mean += share * at;
            square += share * (trust * own + (1.0 - trust).powi(2) * of_mean + at * at);
        }
        estimate.variance = (square - estimate.mean * estimate.mean).max(0.0);
        estimate
    };
    let alike = share(fits[0].0);
    (
        measured.iter().map(one).collect(),
        ((1.0 - alike).max(f64::MIN_POSITIVE) / alike.max(f64::MIN_POSITIVE)).ln(),
    )
}

/// The value that half of the weight is at or below.
pub(super) fn median(values: impl Iterator<Item = (f64, f64)>) -> f64 {
    let mut values: Vec<(f64, f64)> = values.collect();
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * values.iter().map(|value| value.1).sum::<f64>();
    let mut sum = 0.0;
    let middle = values.iter().find(|value| {
        sum += value.1;
        sum >= half
    });
    middle.or(values.last()).map_or(0.0, |value| value.0)
}

//! Straight lines and bends: the average over sets of features, by their evidence.

use super::super::kept::Kept;
use super::super::landscape::Landscape;
use super::super::phases;
use super::super::regression::{Examples, Regression, log_sum};
use super::tables::Tables;
use super::trial;
use crate::estimate::Joint;
use std::ops::Range;
use std::sync::Arc;

/// A feature set that the evidence gives less than this is left out.
const LEAST_SHARE: f64 = 1e-3;

/// It matters which scores are missing where the feature set that says so has this share of the
/// evidence.
const TOLD: f64 = 0.5;

#[derive(Debug, Clone)]
pub(in super::super) struct Lines {
    /// Weight of each feature, in units of the reward.
    pub(in super::super) weights: Vec<f64>,
    /// Expected reward where every feature is 0.
    pub(in super::super) intercept: f64,
    /// The mean of each feature over the labels.
    pub(in super::super) centre: Vec<f64>,
    pub(in super::super) parts: Vec<Part>,
    /// None where the value is linear in the scores.
    pub(super) tables: Option<Arc<Tables>>,
    /// Whether it tells something that scores are missing.
    pub(super) blanks_tell: bool,
}

/// One feature set's share of the answer.
#[derive(Debug, Clone)]
pub(in super::super) struct Part {
    pub(in super::super) share: f64,
    pub(in super::super) keep: Range<usize>,
    pub(in super::super) regression: Regression,
}

impl Lines {
    /// From labelled rows (scores, then the reward), rewards cut to a range, and the moments of all
    /// complete labels where these tell more.
    pub(super) fn fit(
        landscape: &Landscape,
        kept: &Kept,
        range: (f64, f64),
        complete: Option<&Joint>,
    ) -> Self {
        let sets = trial::sets(landscape, kept.rows());
        let features = sets.iter().map(|(set, _)| set.end).max().unwrap_or(landscape.width());
        let sampled = phases::sampled(landscape, features, kept.rows(), range);
        let examples = match complete {
            Some(complete) => {
                let linear = phases::linear(landscape, kept.rows(), complete);
                Examples::Moments(phases::joined(&linear, &sampled.joint()))
            }
            None => Examples::Rows(sampled.into()),
        };
        let stretches: Vec<Range<usize>> = sets.iter().map(|(set, _)| set.clone()).collect();
        let regressions = Regression::fit_each(&examples, sets);
        let mut fits: Vec<(Range<usize>, Regression)> = stretches.into_iter().zip(regressions).collect();
        let total = log_sum(fits.iter().map(|(_, fit)| fit.evidence));
        fits.retain(|(_, fit)| (fit.evidence - total).exp() >= LEAST_SHARE);
        Self::average(landscape, &examples, fits)
    }

    fn average(landscape: &Landscape, examples: &Examples, fits: Vec<(Range<usize>, Regression)>) -> Self {
        let features = landscape.features_len();
        let total = log_sum(fits.iter().map(|(_, fit)| fit.evidence));
        // Features that no set has left in the running have no weight, and then their mean does not
        // matter.
        let centre = (0..features).map(|i| if i < examples.reward() { examples.mean(i) } else { 0.0 });
        let mut lines = Lines {
            weights: vec![0.0; features],
            intercept: 0.0,
            centre: centre.collect(),
            parts: Vec::with_capacity(fits.len()),
            tables: None,
            blanks_tell: false,
        };
        for (keep, regression) in fits {
            let share = (regression.evidence - total).exp();
            let mut centre = examples.mean(examples.reward());
            for (feature, w) in keep.clone().zip(&regression.weights) {
                lines.weights[feature] += share * w;
                centre -= w * examples.mean(feature);
            }
            lines.intercept += share * centre;
            lines.blanks_tell |= keep.end > landscape.in_blocks() && share >= TOLD;
            lines.parts.push(Part { share, keep, regression });
        }
        let curved = lines.weights[landscape.width()..landscape.in_blocks()].iter().any(|&w| w != 0.0);
        lines.tables = curved.then(|| Arc::new(Tables::new(landscape, &lines.weights)));
        lines
    }
}

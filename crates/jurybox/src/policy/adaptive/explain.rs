//! Why an item has its value: the features of each evaluator, and for a missing score what the
//! others imply of it.

use super::landscape::Landscape;
use super::model::Model;
use crate::contributions::Contributions;

impl Model {
    /// What each evaluator adds to the value of an item; a missing score adds nothing.
    ///
    /// A missing score stands in the value as its expectation given the present ones, a sum with a
    /// term for each of those. What its features add is credited to the present evaluators in the
    /// proportion of these terms, for each feature; what they add whatever the present ones say,
    /// and that it is missing, is part of the base.
    pub(super) fn contributions(&self, row: &[f64]) -> Contributions {
        let mut by_lines = self.line_contributions(row);
        if let Some(trees) = &self.trees {
            trees.explain(&self.landscape, row, &mut by_lines);
        }
        let mut shared = match &self.levels {
            Some(levels) => levels.contributions(&self.landscape, row, &by_lines),
            None => by_lines,
        };
        if !self.groups.is_none() {
            let value = shared.base + shared.each.iter().sum::<f64>();
            self.groups.explain(self, row, value, &mut shared.each);
        }
        shared
    }

    fn line_contributions(&self, row: &[f64]) -> Contributions {
        let (landscape, lines) = (&self.landscape, self.lines());
        let width = landscape.width();
        let mut features = Vec::with_capacity(lines.weights.len());
        landscape.features(row, &mut features);
        let mut each = vec![0.0; width];
        let present: Vec<usize> =
            (0..width).filter(|&j| !row[j].is_nan() && landscape.scale[j] != 0.0).collect();
        let known =
            1.0 + present.iter().map(|&k| landscape.loading[k].powi(2) / landscape.noise[k]).sum::<f64>();
        let mut base = lines.intercept + self.blank_weights(row).sum::<f64>();
        for (j, x) in row.iter().enumerate() {
            for block in 0..landscape.blocks {
                let weight = lines.weights[block * width + j];
                let mut added = weight * features[block * width + j];
                if !x.is_nan() {
                    each[j] += added;
                    continue;
                }
                if block > 1 {
                    // What it would be if the present ones were middling is not theirs.
                    let middling = weight * landscape.expected_bend(j, 0.0, known, block - 1);
                    base += middling;
                    added -= middling;
                }
                if added == 0.0 {
                    continue;
                }
                let terms = present.iter().map(|&k| {
                    let score = if block == 0 {
                        (row[k] - landscape.centre[k]) * landscape.scale[k]
                    } else {
                        landscape.curves[k].at(row[k])
                    };
                    (k, score * landscape.loading[k] / landscape.noise[k])
                });
                let total: f64 = terms.clone().map(|(_, term)| term).sum();
                terms.for_each(|(k, term)| each[k] += added * (term / total));
            }
        }
        Contributions { base, each }
    }
}

/// A missing score stands in the value as its expectation given the present ones: what it adds is
/// theirs, each by the weight of its part in that expectation. Where none is present, it is
/// nobody's, and returned.
pub(super) fn credit_the_present(landscape: &Landscape, row: &[f64], each: &mut [f64]) -> f64 {
    let missing: f64 =
        row.iter().zip(&mut *each).filter(|(x, _)| x.is_nan()).map(|(_, adds)| std::mem::take(adds)).sum();
    let part = |j: usize| {
        let standard = (row[j] - landscape.centre[j]) * landscape.scale[j];
        if row[j].is_nan() {
            0.0
        } else {
            (standard * landscape.loading[j] / landscape.noise[j]).abs() + 1e-9
        }
    };
    let total: f64 = (0..row.len()).map(part).sum();
    if total <= 0.0 {
        return missing;
    }
    each.iter_mut().enumerate().for_each(|(j, adds)| *adds += missing * (part(j) / total));
    0.0
}

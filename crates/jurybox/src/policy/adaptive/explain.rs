//! Why an item has its value: the features of each evaluator, and for a missing score what the others imply of it.

use super::model::Model;
use crate::contributions::Contributions;

impl Model {
    /// What each evaluator adds to the value of an item; a missing score adds nothing.
    ///
    /// A missing score stands in the value as its expectation given the present ones, a sum with a term for each of those.
    /// What its features add is credited to the present evaluators in the proportion of these terms, for each feature.
    pub(super) fn contributions(&self, row: &[f64]) -> Contributions {
        let by_lines = self.line_contributions(row);
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
        let landscape = &self.landscape;
        let width = landscape.width();
        let mut features = Vec::with_capacity(self.weights.len());
        landscape.features(row, &mut features);
        let mut each = vec![0.0; width];
        let present: Vec<usize> =
            (0..width).filter(|&j| !row[j].is_nan() && landscape.scale[j] != 0.0).collect();
        for (j, x) in row.iter().enumerate() {
            for block in 0..self.weights.len() / width {
                let added = self.weights[block * width + j] * features[block * width + j];
                if !x.is_nan() || added == 0.0 {
                    each[j] += added;
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
        Contributions { base: self.intercept, each }
    }
}

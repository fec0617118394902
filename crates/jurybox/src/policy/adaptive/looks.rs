//! Looks at what nobody has met: the items that one evaluator scores highest and the value passes
//! over.
//!
//! A learner that picks by what it knows never finds out about what it does not. Where four
//! evaluators see mild harm and two see severe harm, labels of mild harm teach it to pass over what
//! the two score highest, and no label ever tells. So once there are labels to go by, an evaluator
//! of whose highest scores too few were looked at is **unmet**, and now and then one place of a
//! round goes to the item that it scores highest. Evaluators that agree are met by the picks
//! themselves, and then this costs nothing; one that says nothing costs a handful of looks, more
//! rarely the more labels there are. Where a look finds a reward that is far out, an error or what
//! matters most (see [`tails`]), a few more like it are due, so that there is something to tell the
//! two apart by.
//!
//! It is a draw with a known probability, which the receipts have: in a round with such items, one
//! of them is put first with probability [`Looks::chance`], each as likely. Receipts do not call it
//! explored: that is for what is drawn from all items alike.

use super::landscape::Landscape;
use super::tails;
use crate::estimate::SampledRow;
use crate::scores::Scores;

/// A score is among an evaluator's highest from this normal score on: one item in 160.
const HIGHEST: f64 = 2.5;
/// From so many labels on there is something to pass items over for; with every fourfold of them
/// one more look is due.
const FIRST: f64 = 50.0;
const FOURFOLD: f64 = 4.0;
/// A reward that is far out makes so many more looks due, up to so many in all.
const MORE: f64 = 4.0;
const ENOUGH: f64 = 12.0;
/// At most so many evaluators wait for a look at once.
const MOST: usize = 4;
/// The largest probability that a round looks, and the largest share of picks that are looks.
const OFTEN: f64 = 0.25;
const SHARE: f64 = 0.05;
/// How many looks there are before a fit, renewed when labels have grown by a tenth, hears of them.
const AHEAD: f64 = 2.0;
const TENTH: f64 = 0.1;

/// The evaluators that are unmet.
#[derive(Debug, Clone, Default)]
pub(super) struct Looks {
    /// Each with the least score that is among its highest, those least met first.
    unmet: Vec<(usize, f64)>,
    labels: f64,
}

impl Looks {
    /// By labelled rows: scores, then the reward.
    pub(super) fn of<'a>(
        landscape: &Landscape,
        labelled: &(impl Iterator<Item = SampledRow<'a>> + Clone),
        labels: f64,
    ) -> Self {
        if labels < FIRST {
            return Looks::default();
        }
        let due = 1.0 + (labels / FIRST).log(FOURFOLD).floor();
        let far_out = tails::range(landscape, labelled).map_or(f64::INFINITY, |(_, high)| high);
        let width = landscape.width();
        // Of many labels only a sample is known row by row.
        let each = labels / labelled.clone().map(|row| row.weight).sum::<f64>().min(labels);
        let mut unmet: Vec<(f64, usize, f64)> = (0..width)
            .filter_map(|j| {
                let from = landscape.curves[j].first_at(HIGHEST)?;
                let (mut met, mut found) = (0.0, 0.0);
                for row in labelled.clone().filter(|row| row.values[j] >= from) {
                    met += each * row.weight;
                    found += if row.values[width] > far_out { row.weight } else { 0.0 };
                }
                let left = due.max((due + MORE * found).min(ENOUGH)) - met;
                (left > 0.0).then_some((left, j, from))
            })
            .collect();
        unmet.sort_by(|a, b| b.0.total_cmp(&a.0));
        unmet.truncate(MOST);
        Looks { unmet: unmet.into_iter().map(|(_, j, from)| (j, from)).collect(), labels }
    }

    pub(super) fn is_none(&self) -> bool {
        self.unmet.is_empty()
    }

    /// The items of a round that are worth a look: of each unmet evaluator the one that it scores
    /// highest, if that is among its highest and its value leaves it out of the top K.
    pub(super) fn items(&self, scores: &Scores<'_>, values: &[f64], k: usize) -> Vec<usize> {
        let is_passed_over =
            |item: &usize| values.iter().filter(|value| **value > values[*item]).count() >= k;
        let highest = |&(j, from): &(usize, f64)| {
            let each = scores.rows().map(|row| row[j]).zip(values).enumerate();
            let high = each.filter(|(_, (score, _))| *score >= from);
            // Of those with the same score the most valuable.
            high.max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then(a.1.total_cmp(b.1))).map(|(item, _)| item)
        };
        let mut items: Vec<usize> = self.unmet.iter().filter_map(highest).filter(is_passed_over).collect();
        items.sort_unstable();
        items.dedup();
        items
    }

    /// The probability that a round of K picks looks at an item.
    pub(super) fn chance(&self, k: usize) -> f64 {
        let picks = k as f64;
        (AHEAD * picks / (TENTH * self.labels)).min(SHARE * picks).min(OFTEN)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Evaluators, Example, Jury};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// A number in [0, 1) that looks drawn.
    fn drawn(i: u32, j: u32) -> f64 {
        let hash = crate::toolbox::scatter(u64::from(i) << 8 | u64::from(j));
        (hash >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn row(i: u32) -> [f64; 3] {
        let shared = drawn(i, 9);
        [shared + 0.2 * drawn(i, 0), shared + 0.2 * drawn(i, 1), drawn(i, 2)]
    }

    /// Two evaluators agree and are right, the third says something of its own; `labels` of the
    /// best by the two are known.
    fn jury(labels: usize) -> Jury {
        let mut jury = Jury::new(&"adaptive".parse().unwrap(), Evaluators::numbered(3).unwrap()).unwrap();
        let rows: Vec<[f64; 3]> = (0..2000).map(row).collect();
        let table: Vec<f64> = rows.concat();
        jury.observe(&jury.scores(&table).unwrap(), 0).unwrap();
        let mut best: Vec<&[f64; 3]> = rows.iter().filter(|row| row[2] < 0.98).collect();
        best.sort_by(|a, b| (b[0] + b[1]).total_cmp(&(a[0] + a[1])));
        for (at, row) in best[..labels].iter().enumerate() {
            let reward = row[0] + row[1] + 0.3 * drawn(at as u32, 5);
            jury.learn(&[Example { scores: *row, reward, receipt: None }], 0).unwrap();
        }
        jury
    }

    #[test]
    fn what_one_evaluator_scores_highest_is_looked_at_now_and_then() {
        let fitted = jury(100).fit();
        assert!(!fitted.picks_by_values());
        let mut table: Vec<f64> = (3000..3040).flat_map(row).collect();
        (table[0], table[1], table[2]) = (0.1, 0.1, 1.0);
        let scores = fitted.scores(&table).unwrap();
        let probabilities = fitted.inclusion_probabilities(&scores, 5).unwrap();
        // A twentieth of five picks.
        assert!((probabilities[0] - 0.25).abs() < 1e-12, "{probabilities:?}");
        assert!((probabilities.iter().sum::<f64>() - 5.0).abs() < 1e-12);
        let (mut rng, mut looks) = (ChaCha8Rng::seed_from_u64(3), 0);
        for _ in 0..2000 {
            let picks = fitted.choose(&scores, 5, &mut rng).unwrap();
            for pick in &picks {
                assert_eq!(pick.receipt.inclusion_probability, probabilities[pick.item]);
                assert!(!pick.receipt.explored, "that is for what is drawn from all items alike");
            }
            looks += u32::from(picks[4].item == 0);
        }
        // Four standard deviations of a binomial count.
        assert!(looks.abs_diff(500) < 78, "{looks}");
        // Nothing is so high here: a plain list.
        table[2] = 0.5;
        let scores = fitted.scores(&table).unwrap();
        assert!(fitted.inclusion_probabilities(&scores, 5).unwrap().iter().all(|p| *p == 0.0 || *p == 1.0));
    }

    #[test]
    fn nobody_looks_before_there_are_labels_to_go_by_or_once_somebody_has() {
        assert!(jury(49).fit().picks_by_values());
        let mut jury = jury(100);
        for shared in [0.2, 0.7] {
            let scores = [shared, shared, 0.9999];
            jury.learn(&[Example { scores: &scores, reward: 2.0 * shared, receipt: None }], 0).unwrap();
        }
        assert!(jury.fit().picks_by_values());
    }
}

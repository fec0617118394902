//! Small trees on what lines and bends leave of the rewards: "trust B only when A is low", once the
//! labels have shown it.
//!
//! Lines and bends add up over the evaluators. What they leave of the rewards is fitted by boosted
//! trees of three cuts each ([`stand`]), in four stands. A label belongs to one of four parts, by a
//! hash of its scores, and each stand grows without one of them: so every label has an answer by
//! trees that have not seen it, which is the proof. With r what is left of a reward and t that
//! answer,
//!
//! ```text
//! b = sum r t / sum t^2,   weight = b - 1 error of b, between 0 and 1
//! ```
//!
//! the value is that of lines and bends plus the weight times the mean of the four stands. Where
//! there is nothing that lines do not see, the weight is 0, and the first few trees show it: the
//! others are not grown. A hash decides what each tree sees, so that the same labels give the same
//! trees.

mod stand;

use self::stand::{Room, Stand};
use super::explain::credit_the_present;
use super::landscape::Landscape;
use crate::contributions::Contributions;
use crate::estimate::SampledRow;
use crate::scores::Scores;

/// Cuts of a tree, one after the other: rows go by all three.
const DEPTH: usize = 3;
const LEAVES: usize = 1 << DEPTH;
/// Rows that go by a tree together.
const BLOCK: usize = 16;
/// Parts of the labels, and stands, each of which does not see one of them.
const STANDS: usize = 4;
/// Trees of a stand: as many as there are evaluators, within these bounds. So many of them show
/// whether the others are worth growing.
const TREES: (usize, usize) = (24, 40);
const FIRST: usize = 4;
/// Fewer labels than this show nothing. One that is far out tells as much as several, and of those
/// that are so there are as many fewer.
const LEAST: f64 = 60.0;
/// The fourth moment of a normal law, in units of its variance.
const NORMAL_TAILS: f64 = 3.0;
/// So many errors must the first trees, and the weight, stand above nothing.
const FIRST_PROOF: f64 = 0.5;
const PROOF: f64 = 1.0;
/// The mean of the stands leaves at least so much of what one of them does.
const LEAST_LEFT: f64 = 0.25;

/// What is added to the value by lines and bends.
#[derive(Debug, Clone)]
pub(crate) struct Trees {
    /// The evaluators whose scores are cut, and where.
    cuts: Vec<Cuts>,
    trees: Vec<Tree>,
    /// What they leave of the noise, by labels that they had not seen.
    left: f64,
}

/// Where an evaluator's scores are cut into bins, in their units: a score above a cut is in a later
/// bin.
#[derive(Debug, Clone, PartialEq)]
struct Cuts {
    evaluator: usize,
    at: Vec<f64>,
}

/// Three cuts, and what is added by which of them a row is above.
#[derive(Debug, Clone)]
struct Tree {
    /// By the place among those whose scores are cut.
    columns: [usize; DEPTH],
    /// Rows in later bins than this are above.
    bins: [u8; DEPTH],
    leaves: [f64; LEAVES],
}

/// What trees say of labels that they have not seen.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Proof {
    weight: f64,
    /// How many errors the slope is above nothing.
    certainty: f64,
    /// What share of the squares is left with that weight.
    left: f64,
}

impl Trees {
    /// From labelled rows (scores, then the reward), rewards cut to a range, and what is expected
    /// of them; none where they are not proved. With what is added to the value of each row by
    /// trees that have not seen it.
    pub(super) fn fit<'a>(
        landscape: &Landscape,
        labelled: impl Iterator<Item = SampledRow<'a>>,
        expected: &[f64],
        (low, high): (f64, f64),
    ) -> Option<(Self, Vec<f64>)> {
        let width = landscape.width();
        let (mut table, mut left, mut counts, mut keys) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let columns: Vec<usize> = (0..width).filter(|&j| landscape.scale[j] != 0.0).collect();
        for (row, expected) in labelled.zip(expected) {
            let scores = &row.values[..width];
            add_filled(landscape, scores, &mut table);
            left.push(row.values[width].clamp(low, high) - expected);
            counts.push(row.weight);
            keys.push(landscape.key(scores));
        }
        let unit = standardise(&mut left, &counts)?;
        let stand = Stand::new(&table, width, &columns, &left, &counts, keys)?;
        let (grown, proof, mut unseen) = prove(&stand)?;
        unseen.iter_mut().for_each(|says| *says *= unit * proof.weight);
        let size = unit * proof.weight / STANDS as f64;
        let mut trees = grown;
        trees.iter_mut().for_each(|tree| tree.leaves = tree.leaves.map(|leaf| size * leaf));
        Some((Trees { cuts: stand.cuts, trees, left: proof.left }, unseen))
    }

    /// Adds to the value of each row: of so many at a time, tree by tree.
    pub(super) fn add(&self, landscape: &Landscape, scores: &Scores<'_>, values: &mut [f64]) {
        let width = scores.evaluators();
        let mut filled = Vec::new();
        let mut bins = vec![[0; BLOCK]; self.cuts.len()];
        for (values, rows) in values.chunks_mut(BLOCK).zip(scores.values().chunks(BLOCK * width)) {
            let mut rows = rows;
            if !scores.is_complete() {
                filled.clear();
                rows.chunks_exact(width).for_each(|row| add_filled(landscape, row, &mut filled));
                rows = &filled;
            }
            for (cuts, bins) in self.cuts.iter().zip(&mut bins) {
                *bins = cuts.bins(rows, width);
            }
            let mut sums = [0.0; BLOCK];
            // Two trees at a time: their leaves are read while sums wait for one another.
            let (pairs, odd) = self.trees.as_chunks::<2>();
            for [first, second] in pairs {
                let leaves = first.each_leaf(&bins).into_iter().zip(second.each_leaf(&bins));
                for (sum, (leaf, next)) in sums.iter_mut().zip(leaves) {
                    *sum = *sum + first.of(leaf) + second.of(next);
                }
            }
            for tree in odd {
                sums.iter_mut().zip(tree.each_leaf(&bins)).for_each(|(sum, leaf)| *sum += tree.of(leaf));
            }
            values.iter_mut().zip(sums).for_each(|(value, sum)| *value += sum);
        }
    }

    /// What is added to the value of one row.
    pub(super) fn value(&self, landscape: &Landscape, row: &[f64]) -> f64 {
        let mut value = [0.0];
        let complete = !row.iter().any(|x| x.is_nan());
        self.add(landscape, &Scores::trusted(row, row.len(), complete), &mut value);
        value[0]
    }

    /// What share of the noise is left at an item, and the variance of what is added there, by how
    /// unlike those looked at it is, from 0 to 1. Of these, labels have told. Of others, as likely
    /// as not there is nothing that lines and bends do not see.
    pub(super) fn doubt(&self, landscape: &Landscape, row: &[f64], unlike: f64) -> (f64, f64) {
        let nothing = 0.5 * unlike;
        let added = if nothing > 0.0 { self.value(landscape, row) } else { 0.0 };
        (self.left + nothing * (1.0 - self.left), nothing * added * added)
    }

    /// Adds what each evaluator adds here, beyond an item with every score at its mean: of the
    /// three cuts of a tree each has its share in what they do together, as it is on average over
    /// the orders in which they may be made (Shapley's).
    pub(super) fn explain(&self, landscape: &Landscape, row: &[f64], into: &mut Contributions) {
        let mut filled = Vec::with_capacity(row.len());
        add_filled(landscape, row, &mut filled);
        let mut each = vec![0.0; row.len()];
        let bins = |row: &[f64]| -> Vec<[u8; BLOCK]> {
            self.cuts.iter().map(|cuts| cuts.bins(row, row.len())).collect()
        };
        let (here, there) = (bins(&filled), bins(&landscape.centre));
        for tree in &self.trees {
            let leaf = |bins: &[[u8; BLOCK]]| usize::from(tree.each_leaf(bins)[0]);
            let (here, there) = (leaf(&here), leaf(&there));
            into.base += tree.leaves[there];
            // By the cuts in `of` the item is where it is, by the others where the means are.
            let joined = |of: usize| tree.leaves[here & of | there & !of];
            for (cut, &column) in tree.columns.iter().enumerate() {
                for others in (0..LEAVES).filter(|others| others >> cut & 1 == 0) {
                    let share = [1.0 / 3.0, 1.0 / 6.0, 1.0 / 3.0][others.count_ones() as usize];
                    each[self.cuts[column].evaluator] += share * (joined(others | 1 << cut) - joined(others));
                }
            }
        }
        into.base += credit_the_present(landscape, row, &mut each);
        into.each.iter_mut().zip(each).for_each(|(sum, more)| *sum += more);
    }
}

impl Cuts {
    /// The bins of a block of rows without gaps.
    #[inline]
    fn bins(&self, rows: &[f64], width: usize) -> [u8; BLOCK] {
        let mut scores = [f64::NEG_INFINITY; BLOCK];
        let own = rows.iter().skip(self.evaluator).step_by(width);
        scores.iter_mut().zip(own).for_each(|(score, x)| *score = *x);
        // Counted as numbers, so that scores and counts are of one width.
        let mut bins = [0.0; BLOCK];
        for cut in &self.at {
            (0..BLOCK).for_each(|row| bins[row] += if scores[row] > *cut { 1.0 } else { 0.0 });
        }
        bins.map(|bin| bin as u8)
    }
}

impl Tree {
    /// What a leaf adds.
    #[inline]
    fn of(&self, leaf: u8) -> f64 {
        self.leaves[usize::from(leaf) % LEAVES]
    }

    /// The leaf of each row of a block, by its bins, evaluator by evaluator: a bit for each cut
    /// that it is above.
    #[inline]
    fn each_leaf(&self, bins: &[[u8; BLOCK]]) -> [u8; BLOCK] {
        let mut leaves = [0; BLOCK];
        for (level, (&column, &bin)) in self.columns.iter().zip(&self.bins).enumerate() {
            let own = &bins[column];
            (0..BLOCK).for_each(|row| leaves[row] |= u8::from(own[row] > bin) << level);
        }
        leaves
    }
}

/// The scores of a row, missing ones replaced by what the present ones lead to expect.
fn add_filled(landscape: &Landscape, row: &[f64], into: &mut Vec<f64>) {
    let start = into.len();
    into.extend_from_slice(row);
    if !row.iter().any(|x| x.is_nan()) {
        return;
    }
    let (mut plain, mut ranked) = (vec![0.0; row.len()], vec![0.0; row.len()]);
    landscape.place(row, &mut plain, &mut ranked);
    for (j, x) in into[start..].iter_mut().enumerate().filter(|(_, x)| x.is_nan()) {
        let beyond = if landscape.scale[j] == 0.0 { 0.0 } else { plain[j] / landscape.scale[j] };
        *x = landscape.centre[j] + beyond;
    }
}

/// Brings what is left of the rewards to mean 0 and variance 1; the unit it was in. None where
/// there are too few labels for their tails.
fn standardise(left: &mut [f64], counts: &[f64]) -> Option<f64> {
    let labels: f64 = counts.iter().sum();
    if labels < LEAST {
        return None;
    }
    let mean_of = |left: &[f64], power: i32| {
        left.iter().zip(counts).map(|(left, count)| left.powi(power) * count).sum::<f64>() / labels
    };
    let mean = mean_of(left, 1);
    left.iter_mut().for_each(|left| *left -= mean);
    let variance = mean_of(left, 2);
    if !variance.is_normal() {
        return None;
    }
    let unit = variance.sqrt();
    left.iter_mut().for_each(|left| *left /= unit);
    (labels * (NORMAL_TAILS / mean_of(left, 4)).min(1.0) >= LEAST).then_some(unit)
}

/// Grows the stands, and gives up after the first trees where these are of no use; with what they
/// say of labels that they have not seen.
fn prove(stand: &Stand) -> Option<(Vec<Tree>, Proof, Vec<f64>)> {
    let mut left: [Vec<f64>; STANDS] = std::array::from_fn(|_| stand.left.to_vec());
    let mut unseen = vec![0.0; stand.left.len()];
    let mut room = Room::default();
    let mut grown = Vec::with_capacity(stand.trees() * STANDS);
    for number in 0..stand.trees() {
        for (own, left) in left.iter_mut().enumerate() {
            let tree = stand.grow((number * STANDS + own) as u64, own, left, &mut room);
            stand.take(&tree, own, left, &mut unseen);
            grown.push(tree);
        }
        if number + 1 == FIRST && Proof::of(stand, &unseen).certainty < FIRST_PROOF {
            return None;
        }
    }
    let mut proof = Proof::of(stand, &unseen);
    // Labels have told how far one stand is off; the mean of all is nearer by how far they lie
    // apart (Krogh and Vedelsby 1995), on average over items: where they lie further apart than
    // usual, each is further off, too.
    let nearer = proof.weight.powi(2) * apart(&left, stand.counts);
    proof.left = (proof.left - nearer).max(LEAST_LEFT * proof.left);
    (proof.weight > 0.0).then_some((grown, proof, unseen))
}

/// The variance of what stands say of a row, by what they leave of it, on average over rows.
fn apart(left: &[Vec<f64>; STANDS], counts: &[f64]) -> f64 {
    let each = counts.iter().enumerate().map(|(row, count)| {
        let mean = left.iter().map(|of| of[row]).sum::<f64>() / STANDS as f64;
        count * left.iter().map(|of| (of[row] - mean).powi(2)).sum::<f64>() / STANDS as f64
    });
    each.sum::<f64>() / counts.iter().sum::<f64>()
}

impl Proof {
    fn of(stand: &Stand, unseen: &[f64]) -> Self {
        let each = || stand.left.iter().zip(unseen).zip(stand.counts).map(|((r, t), count)| (r, t, count));
        let (mut rr, mut rt, mut tt) = (0.0, 0.0, 0.0);
        for (r, t, count) in each() {
            rr += count * r * r;
            rt += count * r * t;
            tt += count * t * t;
        }
        if tt <= 0.0 {
            return Proof { weight: 0.0, certainty: 0.0, left: 1.0 };
        }
        let slope = rt / tt;
        // Noise may differ from label to label.
        let error =
            each().map(|(r, t, count)| (count * t * (r - slope * t)).powi(2)).sum::<f64>().sqrt() / tt;
        let weight = (slope - PROOF * error).clamp(0.0, 1.0);
        let left = (rr - 2.0 * weight * rt + weight * weight * tt) / rr;
        Proof { weight, certainty: slope / error.max(f64::MIN_POSITIVE), left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolbox::hash_number;

    /// Rows of four scores, and what is left of their rewards by a law, with noise.
    fn world(rows: u64, law: impl Fn(&[f64]) -> f64) -> (Vec<f64>, Vec<f64>, Vec<u64>) {
        let number = |row: u64, at: u64| hash_number(at, row) as f64 / u64::MAX as f64 * 2.0 - 1.0;
        let table: Vec<f64> = (0..rows).flat_map(|row| (0..4).map(move |at| number(row, at))).collect();
        let left = (0..rows).map(|row| law(&table[4 * row as usize..][..4]) + number(row, 9)).collect();
        (table, left, (0..rows).map(|row| hash_number(77, row)).collect())
    }

    fn proved(rows: u64, law: impl Fn(&[f64]) -> f64) -> Option<Proof> {
        let (table, mut left, keys) = world(rows, law);
        let counts = vec![1.0; left.len()];
        standardise(&mut left, &counts)?;
        let stand = Stand::new(&table, 4, &[0, 1, 2, 3], &left, &counts, keys)?;
        prove(&stand).map(|(_, proof, _)| proof)
    }

    #[test]
    fn what_depends_on_two_at_once_is_proved_and_noise_is_not() {
        let product = |row: &[f64]| 4.0 * row[0] * row[1];
        let (few, many) = (proved(100, product).unwrap(), proved(800, product).unwrap());
        assert!(few.left < 0.9 && many.left < 0.35 && many.weight > 0.7, "{few:?} {many:?}");
        // No labels at all, and none that are enough.
        assert_eq!(proved(59, product), None);
        // Noise alone: each of these has a chance of one in fifty or so.
        let by_chance = (300..340).filter(|&rows| proved(rows, |_| 0.0).is_some()).count();
        assert!(by_chance <= 3, "{by_chance}");
    }

    #[test]
    fn stands_lie_as_far_apart_as_rows_do_on_average() {
        let left = [vec![1.0, 5.0], vec![-1.0, 5.0], vec![1.0, 5.0], vec![-1.0, 5.0]];
        assert_eq!(apart(&left, &[1.0, 1.0]), 0.5);
        assert_eq!(apart(&left, &[3.0, 1.0]), 0.75);
    }

    #[test]
    fn tails_take_the_place_of_labels() {
        let counts = vec![1.0; 100];
        let mut normal: Vec<f64> = (0..100).map(|i| f64::from(i * 7 % 100)).collect();
        let mut far = normal.clone();
        far[3] = 1e4;
        assert!(standardise(&mut normal, &counts).is_some());
        let square = normal.iter().map(|x| x * x).sum::<f64>() / 100.0;
        assert!((square - 1.0).abs() < 1e-9 && normal.iter().sum::<f64>().abs() < 1e-9);
        assert_eq!(standardise(&mut far, &counts), None);
        assert_eq!(standardise(&mut [2.0; 100], &counts), None);
    }

    #[test]
    fn a_slope_of_one_has_all_the_weight_that_its_error_leaves() {
        let answers: Vec<f64> = (0..100).map(|i| f64::from(i % 5) - 2.0).collect();
        let off = |i: usize| if (i / 5).is_multiple_of(2) { 1.0 } else { -1.0 };
        let left: Vec<f64> = answers.iter().enumerate().map(|(i, t)| 0.5 * t + off(i)).collect();
        let counts = vec![1.0; 100];
        let stand = Stand::new(&answers, 1, &[0], &left, &counts, vec![0; 100]).unwrap();
        let proof = Proof::of(&stand, &answers);
        // Squares of the answers sum to 200, of what they leave to 100: an error of one over the
        // root of 200.
        let error = 1.0 / 200.0_f64.sqrt();
        assert!((proof.certainty - 0.5 / error).abs() < 1e-9, "{proof:?}");
        assert!((proof.weight - (0.5 - error)).abs() < 1e-9, "{proof:?}");
        let off = 0.5 - proof.weight;
        assert!((proof.left - (100.0 + off * off * 200.0) / 150.0).abs() < 1e-9, "{proof:?}");
        assert_eq!(Proof::of(&stand, &[0.0; 100]).weight, 0.0);
    }
}

//! Which sets of features compete, and for wide juries: which are worth fitting to all labels.
//!
//! A fit costs the cube of the features or of the labels, whichever are fewer. With dozens of
//! evaluators the larger sets mostly lose by so much that a part of the labels shows it: they are
//! fitted to that part first, and those far behind are left out. The part is a fair one (the sample
//! is in the order of a hash), and its size half of the labels rounded down to a power of two: a
//! set that lost is tried again with twice as many labels, as long as a trial is the cheaper way.

use super::super::landscape::Landscape;
use super::super::phases::{self, UNCUT};
use super::super::regression::{Examples, Regression, log_sum};
use crate::estimate::SampledRow;
use std::ops::Range;

/// A stretch of the features, and the directions to start from over it.
pub(super) type FeatureSet = (Range<usize>, Vec<Vec<f64>>);

/// Up to this many features a fit costs less than a trial would save.
const NARROW: usize = 128;
/// Fewest and most labels of a trial.
const LEAST: usize = 64;
const MOST: usize = 128;
/// Before the first label an evaluator is heard by its standardised scores where none of those
/// sampled is further out than the first of these, in standard deviations, and not at all from the
/// second on.
const NEAR: f64 = 4.0;
const FAR_OUT: f64 = 8.0;
/// A set whose share of the trial's evidence is below this is left out.
const LOST: f64 = 1e-4;

/// The sets of features that compete for these labelled rows.
pub(super) fn sets<'a>(
    landscape: &Landscape,
    labelled: impl Iterator<Item = SampledRow<'a>> + Clone,
) -> Vec<FeatureSet> {
    let count = labelled.clone().count();
    if count == 0 {
        return vec![before_labels(landscape)];
    }
    let sets = all(landscape, landscape.directions());
    let part = (1 << (count / 2).max(1).ilog2()).min(MOST);
    if landscape.features_len() <= NARROW || part < LEAST {
        return sets;
    }
    let rows = phases::sampled(landscape, landscape.features_len(), labelled.take(part), UNCUT);
    let fits = Regression::fit_each(&Examples::Rows(rows.into()), sets.clone());
    let total = log_sum(fits.iter().map(|fit| fit.evidence));
    let in_the_running = fits.iter().map(|fit| (fit.evidence - total).exp() >= LOST);
    sets.into_iter().zip(in_the_running).filter_map(|(set, stays)| stays.then_some(set)).collect()
}

/// Without a label nothing can tell which guess is right: averaged, they rank worse than the plain
/// mean, half of it by the standardised and half by the normal scores. An evaluator whose scores
/// lie far out now and then would outvote all others by the former: it has the latter alone.
fn before_labels(landscape: &Landscape) -> FeatureSet {
    let (width, votes) = (landscape.width(), landscape.equal());
    if landscape.in_blocks() == width {
        return (0..width, vec![votes]);
    }
    let farthest = |j: usize| {
        let standard = |x: &f64| ((x - landscape.centre[j]) * landscape.scale[j]).abs();
        landscape.curves[j].knots().0.iter().map(standard).fold(0.0, f64::max)
    };
    let plain = |j: usize| 0.5 * ((FAR_OUT - farthest(j)) / (FAR_OUT - NEAR)).clamp(0.0, 1.0);
    let by_plain: Vec<f64> = votes.iter().enumerate().map(|(j, vote)| plain(j) * vote).collect();
    let by_ranks = votes.iter().zip(&by_plain).map(|(vote, plain)| vote - plain);
    let direction = by_plain.iter().copied().chain(by_ranks).collect();
    (0..2 * width, vec![direction])
}

fn all(landscape: &Landscape, plain: Vec<Vec<f64>>) -> Vec<FeatureSet> {
    let (width, features) = (landscape.width(), landscape.in_blocks());
    // Half by the standardised and half by the normal scores; none by the bends.
    let half = |d: &Vec<f64>| -> Vec<f64> { d.iter().chain(d).map(|d| 0.5 * d).collect() };
    let both: Vec<Vec<f64>> = plain.iter().map(half).collect();
    let mut sets = vec![(0..width, plain.clone())];
    if features > width {
        sets.push((width..2 * width, plain));
        sets.push((0..2 * width, both.clone()));
    }
    if features > 2 * width {
        sets.push((0..features, both.clone()));
    }
    if !landscape.blanks.is_empty() {
        let directions = if features > width { both } else { sets[0].1.clone() };
        sets.push((0..landscape.features_len(), directions));
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Moments;
    use crate::scores::Scores;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    const WIDTH: usize = 40;

    fn sampled(table: &[f64], width: usize) -> impl Iterator<Item = SampledRow<'_>> + Clone {
        table.chunks_exact(width).map(|values| SampledRow {
            values,
            count: 1,
            clock: 0,
            tag: None,
            weight: 1.0,
        })
    }

    /// The features that stay in the running where the reward is a straight function of the scores
    /// of a few evaluators, plus `bent` times how far what they have in common exceeds its best
    /// eighth.
    fn in_the_running(labels: usize, bent: f64) -> Vec<Range<usize>> {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let (mut scores, mut rows) = (Vec::new(), Vec::new());
        for _ in 0..labels {
            let common = normal();
            let row: Vec<f64> = (0..WIDTH).map(|_| common + 0.7 * normal()).collect();
            let straight: f64 =
                row.iter().take(12).enumerate().map(|(j, x)| if j % 2 == 0 { *x } else { -x }).sum();
            scores.extend_from_slice(&row);
            rows.extend(row);
            rows.push(straight + bent * (common - 1.15).max(0.0) + 0.3 * normal());
        }
        let mut moments = Moments::new(WIDTH);
        moments.observe(&Scores::new(&scores, WIDTH).unwrap());
        let landscape = Landscape::new(&moments, &sampled(&scores, WIDTH), 4);
        assert!(landscape.features_len() > NARROW);
        let sets = sets(&landscape, sampled(&rows, WIDTH + 1));
        sets.into_iter().map(|(set, _)| set).collect()
    }

    #[test]
    fn before_the_first_label_all_have_a_vote_and_copies_share_theirs() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let mut scores = Vec::new();
        for _ in 0..2000 {
            let (good, useless) = (normal(), normal());
            // Units, offsets and directions of gain do not matter; the last three say the same.
            let row = [good + normal(), 40.0 * (good + normal()), good + normal() - 500.0];
            scores.extend(row.into_iter().chain([1.0, 3.0, 0.1].map(|unit| unit * useless)));
        }
        let mut moments = Moments::new(6);
        moments.observe(&Scores::new(&scores, 6).unwrap());
        let landscape = Landscape::new(&moments, &sampled(&scores, 6), 4);
        for (set, directions) in sets(&landscape, sampled(&[], 7)) {
            assert_eq!(directions.len(), 1, "{set:?}");
            for block in directions[0].chunks(6) {
                let votes: Vec<f64> = block.iter().map(|vote| vote / block[0]).collect();
                for (vote, of) in votes.iter().zip([1.0, 1.0, 1.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]) {
                    assert!((vote - of).abs() < 1e-9, "{set:?}: {votes:?}");
                }
            }
        }
    }

    /// A rule that hits one item in a hundred, at random, does not fill the top with what it hits.
    #[test]
    fn before_the_first_label_who_tells_few_items_apart_has_a_smaller_vote() {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let scores: Vec<f64> =
            (0..500).flat_map(|at| [normal(), f64::from(u8::from(at % 100 == 7))]).collect();
        let mut moments = Moments::new(2);
        moments.observe(&Scores::new(&scores, 2).unwrap());
        let landscape = Landscape::new(&moments, &sampled(&scores, 2), 4);
        let (_, directions) = sets(&landscape, sampled(&[], 3)).remove(0);
        let [plain, rare_plain, ranked, rare_ranked] = directions[0][..] else { panic!("{directions:?}") };
        // A hit is 2.58 above a normal median, and one in a hundred of them has a deviation of
        // 0.26.
        assert!(rare_plain == 0.0 && (rare_ranked / (plain + ranked) - 0.26).abs() < 0.01, "{directions:?}");
    }

    #[test]
    fn before_the_first_label_who_is_far_out_now_and_then_is_heard_by_ranks_alone() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let mut scores = Vec::new();
        (0..500).for_each(|_| scores.extend([normal(), (3.0 * normal()).exp()]));
        let mut moments = Moments::new(2);
        moments.observe(&Scores::new(&scores, 2).unwrap());
        let landscape = Landscape::new(&moments, &sampled(&scores, 2), 4);
        let (set, directions) = sets(&landscape, sampled(&[], 3)).remove(0);
        assert_eq!(set, 0..4);
        let [plain, far_plain, ranked, far_ranked] = directions[0][..] else { panic!("{directions:?}") };
        assert!(far_plain == 0.0 && far_ranked > 0.0, "{directions:?}");
        assert!(
            plain > 0.0 && (plain - ranked).abs() < 1e-12 && plain + ranked == far_ranked,
            "{directions:?}"
        );
    }

    #[test]
    fn a_wide_jury_keeps_the_bends_where_they_matter_and_drops_them_where_not() {
        let bends = 0..4 * WIDTH;
        assert!(in_the_running(256, 8.0).contains(&bends));
        assert!(!in_the_running(256, 0.0).contains(&bends));
        // Too few labels for a trial: everything stays.
        assert!(in_the_running(127, 0.0).contains(&bends));
    }
}

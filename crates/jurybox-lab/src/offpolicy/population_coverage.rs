//! Tests of the coverage of intervals from reviewed rows only, with known truth.
//!
//! Items with low scores are mostly reviewed. Items with high scores, which a policy would pick,
//! are reviewed with the least probability. The truth of a policy that does not learn is the reward
//! of its picks on fresh rounds. For a learner it is the mean over the juries that learnt from all
//! groups but one.

use super::population::{GROUPS, dealt, learnt, line, valued_by};
use crate::replay::{ReplayOptions, ReviewLog, RewardScaling, jury_for};
use crate::reward_range::RewardRange;
use jurybox::{Fitted, Interval, Spec, TopK};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

const ITEMS: usize = 20;
const PICKS: usize = 2;

/// An item's two scores and its reward.
fn item(rng: &mut ChaCha8Rng) -> ([f64; 2], f64) {
    let [worth, a, b, noise] = [(); 4].map(|()| -> f64 { StandardNormal.sample(rng) });
    ([worth + 0.6 * a, worth + 0.6 * b], worth + 0.2 * worth * worth + 0.3 * noise)
}

/// The reviewed rows out of 4,000. Items with high scores are reviewed with probability `floor`,
/// those with low scores almost certainly.
fn reviewed(floor: f64, seed: u64) -> ReviewLog {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let evaluators = jurybox::Evaluators::new(["a", "b"]).unwrap();
    let mut log = ReviewLog::of(evaluators);
    for _ in 0..4000 {
        let (scores, reward) = item(&mut rng);
        let p = (1.0 / (1.0 + (1.5 * (scores[0] + scores[1])).exp())).max(floor);
        if rng.random::<f64>() < p {
            log.scores.extend(scores);
            log.rewards.push(reward);
            log.probabilities.push(p);
        }
    }
    log
}

/// Simulated rounds for the truth, which share no row with a log.
struct FreshRounds {
    log: ReviewLog,
    rounds: usize,
}

impl FreshRounds {
    fn draw(rounds: usize) -> FreshRounds {
        let mut rng = ChaCha8Rng::seed_from_u64(77);
        let mut log = reviewed(1.0, 0);
        (log.scores, log.rewards) = (Vec::new(), Vec::new());
        for _ in 0..rounds * ITEMS {
            let (scores, reward) = item(&mut rng);
            log.scores.extend(scores);
            log.rewards.push(reward);
        }
        FreshRounds { log, rounds }
    }

    /// Reward per pick of the highest values, in part number `part` of `parts` parts of the rounds.
    fn worth(&self, part: usize, parts: usize, values: impl Fn(&[usize]) -> Vec<f64>) -> f64 {
        let rounds = part * self.rounds / parts..(part + 1) * self.rounds / parts;
        let rows: Vec<usize> = (rounds.start * ITEMS..rounds.end * ITEMS).collect();
        let mut sum = 0.0;
        for (rows, values) in rows.chunks_exact(ITEMS).zip(values(&rows).chunks_exact(ITEMS)) {
            let mut top = TopK::new(PICKS, 0);
            values.iter().enumerate().for_each(|(place, &value)| top.push(place as u64, value));
            sum += top.sorted().iter().map(|best| self.log.rewards[rows[best.item as usize]]).sum::<f64>();
        }
        sum / (rounds.len() * PICKS) as f64
    }
}

/// The figure of one log for a policy, if there is one, and the truth.
fn one(floor: f64, seed: u64, spec: &Spec, fresh: &FreshRounds) -> (Option<Interval>, f64) {
    let options = ReplayOptions { items: ITEMS, k: PICKS, ..ReplayOptions::default() };
    let log = reviewed(floor, seed);
    let groups = dealt(&log, GROUPS);
    let start = jury_for(spec, &log, log.rows().div_ceil(ITEMS)).unwrap();
    let (mut values, mut truth) = (vec![f64::NAN; log.rows()], 0.0);
    let by =
        |fitted: &Fitted, log: &ReviewLog, rows: &[usize]| valued_by(fitted, log, rows).unwrap().unwrap();
    for own in 0..GROUPS {
        let jury = learnt(&log, &options, (&start, RewardScaling::of(&log)), &groups, own).unwrap();
        let fitted = jury.expect("it can learn from such a log").fit();
        let own_values = by(&fitted, &log, &groups[own]);
        groups[own].iter().zip(own_values).for_each(|(&row, value)| values[row] = value);
        truth += fresh.worth(own, GROUPS, |rows| by(&fitted, &fresh.log, rows)) / GROUPS as f64;
    }
    let range = RewardRange::of(&log.rewards, options.reward_range).expect("rewards are there");
    (line("", &log, &options, &values, GROUPS, range).reward_per_pick, truth)
}

/// Results over many logs: the number of figures, the number that hold the truth, their mean error
/// and half width, and the mean truth of all logs.
struct PopulationCoverage {
    given: usize,
    held: usize,
    error: f64,
    half_width: f64,
    truth: f64,
}

fn covered(floor: f64, logs: u64, policy: &str, fresh: &FreshRounds) -> PopulationCoverage {
    let spec: Spec = policy.parse().unwrap();
    let all: Vec<_> = (0..logs).into_par_iter().map(|seed| one(floor, seed, &spec, fresh)).collect();
    let figures: Vec<(Interval, f64)> =
        all.iter().filter_map(|(figure, truth)| figure.map(|figure| (figure, *truth))).collect();
    let mean = |of: &dyn Fn(&(Interval, f64)) -> f64| {
        figures.iter().map(of).sum::<f64>() / figures.len().max(1) as f64
    };
    PopulationCoverage {
        given: figures.len(),
        held: figures.iter().filter(|(figure, truth)| !figure.above(*truth) && !figure.below(*truth)).count(),
        error: mean(&|(figure, truth)| figure.mean - truth),
        half_width: mean(&|(figure, _)| figure.half_width()),
        truth: all.iter().map(|(_, truth)| truth).sum::<f64>() / logs as f64,
    }
}

/// No figure is given where the items to pick are reviewed with probability 0.005.
#[test]
fn what_is_hardly_ever_reviewed_gets_no_figure() {
    assert_eq!(covered(0.005, 60, "average", &FreshRounds::draw(1000)).given, 0);
}

/// With 60 intervals of 95%, it happens less than once in 1,000 tests that 50 or fewer hold the
/// truth (binomial).
#[test]
fn figures_hold_the_truth_where_they_are_given() {
    let fresh = FreshRounds::draw(10_000);
    for policy in ["average", "lin-ucb"] {
        let PopulationCoverage { given, held, error, .. } = covered(0.2, 60, policy, &fresh);
        assert!(
            given > 50 && held as f64 > 0.84 * given as f64 && error.abs() < 0.1,
            "{policy}: {given} {held} {error}"
        );
    }
}

/// Prints a table of `experiments/results/off-policy.md`: `cargo test -p jurybox-lab --lib
/// offpolicy::population_coverage -- --ignored --nocapture`.
#[test]
#[ignore = "prints the coverage table of the book"]
#[expect(clippy::print_stdout, reason = "printing is what it is for")]
fn coverage_of_reviewed_rows() {
    const LOGS: u64 = 200;
    let fresh = FreshRounds::draw(10_000);
    println!("| policy | least p | figure given | holds the truth | truth | bias | ± |");
    println!("|---|---|---|---|---|---|---|");
    for policy in ["average", "lin-ucb", "esag", "adaptive"] {
        for floor in [0.005, 0.02, 0.05, 0.1, 0.2, 0.5] {
            let PopulationCoverage { given, held, error, half_width, truth } =
                covered(floor, LOGS, policy, &fresh);
            let share = 100.0 * given as f64 / LOGS as f64;
            let of_given =
                if given == 0 { "| | ".into() } else { format!("| {error:+.2} | {half_width:.2} ") };
            let held = if given == 0 {
                String::new()
            } else {
                format!("{:.0}%", 100.0 * held as f64 / given as f64)
            };
            println!("| {policy} | {floor} | {share:.0}% | {held} | {truth:.2} {of_given}|");
        }
    }
}

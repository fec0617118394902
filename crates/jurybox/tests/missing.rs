//! Missing scores: by chance they cost little, for a reason they tell something, and which rows stand beside one another plays no part.
//!
//! The whole table: `cargo test --release -p jurybox --test missing -- --ignored --nocapture`. `WORLDS` says how many worlds.

mod support;

use jurybox::Example;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::{normal, seat};

/// Items of a round, and how many of them are judged.
const ITEMS: usize = 60;
const K: usize = 5;
const J: usize = 6;
const GAINS: [f64; J] = [1.0, 0.8, 0.8, 0.6, 0.4, 0.0];

/// Which scores are missing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Gaps {
    None,
    /// Four in ten, by chance.
    Chance,
    /// The lower a score, the likelier; about four in ten.
    Low,
    /// Those of the first evaluator, mostly where the reward is high: it gives up on the worst posts. Of the others, one in ten by chance.
    TimeOut,
}

/// An item: its reward (a number, or yes in five of 100) and its scores.
fn item(gaps: Gaps, yes_or_no: bool, rng: &mut ChaCha8Rng) -> (f64, Vec<f64>) {
    let common = normal(rng);
    let scores = GAINS.iter().enumerate().map(|(j, gain)| {
        let score = gain * common + 0.8 * normal(rng);
        let missing = match (gaps, j) {
            (Gaps::None, _) => 0.0,
            (Gaps::Chance, _) => 0.4,
            (Gaps::Low, _) => 1.0 / (1.0 + (1.5 * score + 0.5).exp()),
            (Gaps::TimeOut, 0) => {
                if common > 1.0 {
                    0.8
                } else {
                    0.05
                }
            }
            (Gaps::TimeOut, _) => 0.1,
        };
        if rng.random::<f64>() < missing { f64::NAN } else { score }
    });
    let scores = scores.collect();
    (if yes_or_no { f64::from(u8::from(common > 1.645)) } else { common }, scores)
}

/// The mean reward of a pick up to each number of labels, from the number before on.
fn earned(spec: &str, gaps: Gaps, yes_or_no: bool, labels: &[usize], seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut jury = seat(&spec.parse().unwrap(), J);
    let (mut known, mut round) = (0, 0);
    let mut means = Vec::new();
    for &labels in labels {
        let (mut sum, mut count) = (0.0, 0.0);
        while known < labels {
            let items: Vec<(f64, Vec<f64>)> = (0..ITEMS).map(|_| item(gaps, yes_or_no, &mut rng)).collect();
            let table: Vec<f64> = items.iter().flat_map(|(_, scores)| scores).copied().collect();
            let mut ties = ChaCha8Rng::seed_from_u64(round);
            let picks = jury.round(&jury.scores(&table).unwrap(), round, K, &mut ties).unwrap();
            for (reward, scores) in picks.iter().map(|pick| &items[pick.item]) {
                jury.learn(&[Example { scores, reward: *reward, receipt: None }], round).unwrap();
                sum += reward;
                count += 1.0;
            }
            known += K;
            round += 1;
        }
        means.push(sum / count);
    }
    means
}

#[test]
#[ignore = "minutes; prints a table"]
#[expect(clippy::print_stdout, reason = "the table is for people")]
fn the_table() {
    let worlds = std::env::var("WORLDS").ok().and_then(|worlds| worlds.parse().ok()).unwrap_or(50);
    let labels = [20, 60, 200, 1000, 3000];
    for (spec, yes_or_no) in [("adaptive", false), ("adaptive", true), ("adaptive(levels=true)", true)] {
        for gaps in [Gaps::None, Gaps::Chance, Gaps::Low, Gaps::TimeOut] {
            let runs: Vec<Vec<f64>> =
                (0..worlds).map(|seed| earned(spec, gaps, yes_or_no, &labels, seed)).collect();
            let rewards = if yes_or_no { "yes or no" } else { "numbers" };
            print!("{spec:22} {rewards:10} {:8}", format!("{gaps:?}"));
            for at in 0..labels.len() {
                let of: Vec<f64> = runs.iter().map(|run| run[at]).collect();
                let mean = jurybox::Interval::of(&of);
                print!(" | {:.4} +- {:.4}", mean.mean, mean.high - mean.mean);
            }
            println!();
        }
    }
}

/// The mean reward of a pick after the first 200 labels, in a few worlds.
fn later(spec: &str, gaps: Gaps, yes_or_no: bool) -> f64 {
    (0..4).map(|seed| earned(spec, gaps, yes_or_no, &[200, 1000], seed)[1]).sum::<f64>() / 4.0
}

#[test]
fn a_score_that_is_missing_for_a_reason_tells() {
    // Where the first evaluator gives up on what is looked for, its silence is worth its score.
    let (all_there, timed_out) =
        (later("adaptive", Gaps::None, false), later("adaptive", Gaps::TimeOut, false));
    assert!(timed_out > 0.975 * all_there, "{timed_out} of {all_there}");
}

#[test]
fn rows_with_gaps_are_ranked_fairly_beside_complete_ones() {
    // Gaps after the first third of a table only, by chance: of the best tenth a third is from there, less what is known less well.
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut items: Vec<(f64, Vec<f64>)> = (0..1000).map(|_| item(Gaps::None, false, &mut rng)).collect();
    items.extend((0..2000).map(|_| item(Gaps::Chance, false, &mut rng)));
    let table: Vec<f64> = items.iter().flat_map(|(_, scores)| scores).copied().collect();
    for spec in support::specs(J) {
        // Whose value is a rank among the rows at hand, and who knows the gains and noise of another world.
        // Some learn from what was explored alone, which nothing here was.
        if ["uniform", "rand", "exp4p", "oracle", "eps-greedy"].contains(&spec.name())
            || spec.name().starts_with("glm-")
        {
            continue;
        }
        let mut jury = seat(&spec, J);
        jury.observe(&jury.scores(&table).unwrap(), 0).unwrap();
        for (reward, scores) in items.iter().step_by(15) {
            jury.learn(&[Example { scores, reward: *reward, receipt: None }], 0).unwrap();
        }
        let fitted = jury.fit();
        let values = fitted.values(&fitted.scores(&table).unwrap()).unwrap();
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        let with_gaps = order[..300].iter().filter(|&&at| at >= 1000).count();
        assert!((90..240).contains(&with_gaps), "{spec}: {with_gaps} of 300");
    }
}

//! Tests of replays, and the helpers that they share.

mod figures;
mod groups;
mod intervals;
mod leaks;
mod options;
mod stopped;

use super::*;
use jurybox::Interval;
use rand_distr::{Distribution, StandardNormal};

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Rows with standard normal rewards r. Evaluator j (0 to 3) scores `signal * r / (1 + j)`, plus
/// standard normal noise.
fn world(rows: usize, signal: f64, seed: u64) -> ReviewLog {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rewards: Vec<f64> = (0..rows).map(|_| normal(&mut rng)).collect();
    let mut scores = Vec::new();
    for reward in &rewards {
        for j in 0..4_u8 {
            scores.push(signal * reward / f64::from(1 + j) + normal(&mut rng));
        }
    }
    let evaluators = jurybox::Evaluators::new((0..4).map(|j| format!("e{j}"))).unwrap();
    ReviewLog { scores, rewards, ..ReviewLog::of(evaluators) }
}

fn options(protocol: Protocol, policies: &[&str]) -> ReplayOptions {
    ReplayOptions {
        protocol,
        items: 50,
        k: 5,
        runs: 20,
        policies: policies.iter().map(|name| name.parse().unwrap()).collect(),
        ..ReplayOptions::default()
    }
}

fn run(log: &ReviewLog, options: &ReplayOptions) -> ReplayOutcome {
    replayed(log, options, 2, RunProgress::NOBODY).unwrap().0
}

fn share(outcome: &ReplayOutcome, name: &str) -> Interval {
    outcome.line(name).unwrap().best_share.unwrap()
}

const LEARNERS: [&str; 3] = ["adaptive", "lin-ucb", "greedy"];

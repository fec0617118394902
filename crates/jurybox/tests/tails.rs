//! Prints what policies earn where rewards have heavy tails: rare severe harm, or verdicts with
//! gross errors.
//!
//! `cargo test --release -p jurybox --test tails -- --ignored --nocapture` prints the table.
//! `WORLDS` is the number of worlds.

mod support;

use jurybox::{Example, Interval};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use support::{jury_of, normal};

const J: usize = 6;
const ITEMS: usize = 40;
const K: usize = 8;
const ROUNDS: u64 = 150;

/// An item: its true worth, the verdict on it, and its scores.
struct Item {
    worth: f64,
    verdict: f64,
    scores: Vec<f64>,
}

/// Mild harm, worth about 1, is frequent (15 in 100) and seen by the first three evaluators. Severe
/// harm, worth about 100, is rare (1.2 in 100) and seen by the last three.
fn severe(rng: &mut ChaCha8Rng) -> Item {
    let (mild, severe) = (normal(rng) > 1.04, normal(rng) > 2.26);
    let size = if severe { 100.0 } else { f64::from(u8::from(mild)) };
    let worth = size * (0.2 * normal(rng)).exp() + 0.05 * normal(rng);
    let seen =
        |j: usize| if j < 3 { 2.0 * f64::from(u8::from(mild)) } else { 2.5 * f64::from(u8::from(severe)) };
    Item { worth, verdict: worth, scores: (0..J).map(|j| seen(j) + normal(rng)).collect() }
}

/// Harm as in `severe`, but the first five evaluators see mild harm, and only the last sees severe
/// harm.
fn severe_by_one(rng: &mut ChaCha8Rng) -> Item {
    let (mild, severe) = (normal(rng) > 1.04, normal(rng) > 2.26);
    let size = if severe { 100.0 } else { f64::from(u8::from(mild)) };
    let worth = size * (0.2 * normal(rng)).exp() + 0.05 * normal(rng);
    let seen =
        |j: usize| if j < 5 { 2.0 * f64::from(u8::from(mild)) } else { 3.0 * f64::from(u8::from(severe)) };
    Item { worth, verdict: worth, scores: (0..J).map(|j| seen(j) + normal(rng)).collect() }
}

/// Two evaluators see what an item is worth, the others nothing. Verdicts have Cauchy noise, which
/// has no finite variance.
fn gross_errors(rng: &mut ChaCha8Rng) -> Item {
    let worth = normal(rng);
    let scores = (0..J).map(|j| if j < 2 { worth + 0.5 * normal(rng) } else { normal(rng) }).collect();
    Item { worth, verdict: worth + normal(rng) / normal(rng), scores }
}

/// The mean worth per pick over the last third of the rounds: of the jury's picks, and of the best
/// items by `told`.
fn earned(spec: &str, item: fn(&mut ChaCha8Rng) -> Item, told: fn(&[f64]) -> f64, seed: u64) -> (f64, f64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut jury = jury_of(&spec.parse().unwrap(), J);
    let (mut sum, mut best, mut count) = (0.0, 0.0, 0.0);
    for round in 0..ROUNDS {
        let items: Vec<Item> = (0..ITEMS).map(|_| item(&mut rng)).collect();
        let table: Vec<f64> = items.iter().flat_map(|item| &item.scores).copied().collect();
        let picks = jury.round(&jury.scores(&table).unwrap(), round, K, &mut rng).unwrap();
        for (pick, item) in picks.iter().map(|pick| (pick, &items[pick.item])) {
            let receipt = Some(&pick.receipt);
            jury.learn(&[Example { scores: &item.scores, reward: item.verdict, receipt }], round).unwrap();
        }
        if 3 * round >= 2 * ROUNDS {
            let mut order: Vec<&Item> = items.iter().collect();
            order.sort_by(|a, b| told(&b.scores).total_cmp(&told(&a.scores)));
            sum += picks.iter().map(|pick| items[pick.item].worth).sum::<f64>();
            best += order[..K].iter().map(|item| item.worth).sum::<f64>();
            count += K as f64;
        }
    }
    (sum / count, best / count)
}

fn by_the_severe(scores: &[f64]) -> f64 {
    scores[3..].iter().sum()
}

fn by_the_last(scores: &[f64]) -> f64 {
    scores[5]
}

fn by_the_seeing(scores: &[f64]) -> f64 {
    scores[..2].iter().sum()
}

#[test]
#[ignore = "minutes; prints a table"]
#[expect(clippy::print_stdout, reason = "the table is for people")]
fn the_table() {
    type World = (&'static str, fn(&mut ChaCha8Rng) -> Item, fn(&[f64]) -> f64);
    let worlds = std::env::var("WORLDS").ok().and_then(|worlds| worlds.parse().ok()).unwrap_or(50);
    let all: [World; 3] = [
        ("severe", severe, by_the_severe),
        ("seen by one", severe_by_one, by_the_last),
        ("gross errors", gross_errors, by_the_seeing),
    ];
    for (name, item, told) in all {
        for spec in ["adaptive", "adaptive(levels=true)", "lin-ucb", "uniform", "average"] {
            let runs: Vec<(f64, f64)> = (0..worlds).map(|seed| earned(spec, item, told, seed)).collect();
            let earned = Interval::of(&runs.iter().map(|run| run.0).collect::<Vec<_>>());
            let share = runs.iter().map(|run| run.0).sum::<f64>() / runs.iter().map(|run| run.1).sum::<f64>();
            let mut each: Vec<f64> = runs.iter().map(|run| run.0 / run.1).collect();
            each.sort_by(f64::total_cmp);
            println!(
                "{name:13} {spec:22} {:.3} +- {:.3} a pick, {share:.3} of the best; the worst tenth of worlds {:.3}",
                earned.mean,
                earned.high - earned.mean,
                each[each.len() / 10]
            );
        }
    }
}

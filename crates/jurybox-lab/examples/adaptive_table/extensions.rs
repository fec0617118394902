//! The extensions that the paper lists ("Top K Ranking for Multi-Armed Bandit with Noisy
//! Evaluations"), where they should help and where they are not needed.
//!
//! Richer evaluation functions and noise that depends on the reward are covered by `curve=spline`,
//! the default. Items that stay until picked are covered by
//! [`Jury::round_from_pool`](jurybox::Jury::round_from_pool), which observes only the items that it
//! is given as new.

use super::worlds::{ITEMS, J, K, TableQueue, TableSetting};
use super::{Contestant, runs};
use jurybox::{Scores, Spec};

const ROUNDS: usize = 300;

pub(crate) fn show(count: u64) {
    println!("extensions, {count} runs of {ROUNDS} rounds: what each adds to the reward, percent");
    for ratio in [0.1, 1.0] {
        let plain = TableSetting::linear(ratio);
        for (name, setting) in [
            ("the paper's world", plain),
            ("evaluators see powers of the reward", TableSetting { bent: 1.5, ..plain }),
            ("noise grows with the reward", TableSetting { growth: 2.0, ..plain }),
        ] {
            let rewards = runs(count, &|seed| {
                ["adaptive(curve=linear)", "adaptive"].map(|name| fresh_items(setting, name, seed))
            });
            row(&format!("{name}, ratio {ratio}: curve=spline"), &rewards);
        }
        for name in ["adaptive", "esag"] {
            let rewards =
                runs(count, &|seed| [false, true].map(|once| staying_items(plain, name, once, seed)));
            row(&format!("items stay, ratio {ratio}: each observed once by {name}"), &rewards);
        }
    }
    println!();
}

/// Prints the mean gain of the second number over the first, in percent, with its interval over the
/// runs.
fn row(name: &str, rewards: &[[f64; 2]]) {
    let n = rewards.len() as f64;
    let base = rewards.iter().map(|run| run[0]).sum::<f64>() / n;
    let gains: Vec<f64> = rewards.iter().map(|run| 100.0 * (run[1] - run[0]) / base).collect();
    let mean = gains.iter().sum::<f64>() / n;
    let variance = gains.iter().map(|gain| (gain - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    println!("{name:60} {mean:+8.3} ± {:.3}", 1.96 * (variance / n).sqrt());
}

fn seated(name: &str, world: &TableQueue) -> Contestant {
    let spec: Spec = name.parse().expect("a sound spec");
    let told = if name == "esag" { spec.with("sigma", world.sigma.clone()) } else { spec };
    Contestant::jury(&told, J)
}

fn fresh_items(setting: TableSetting, name: &str, seed: u64) -> f64 {
    let mut world = TableQueue::new(setting, seed);
    let mut contestant = seated(name, &world);
    let mut sum = 0.0;
    for _ in 0..ROUNDS {
        let round = world.items(ITEMS);
        let picks = contestant.choose(&round.scores, J);
        sum += contestant.learn(&round.scores, J, &picks, &round.rewards);
    }
    sum
}

/// Reward with items that stay until they are picked; as many arrive as were picked. Each item is
/// observed once if `once`, else in every round.
fn staying_items(setting: TableSetting, name: &str, once: bool, seed: u64) -> f64 {
    let mut world = TableQueue::new(setting, seed);
    let mut contestant = seated(name, &world);
    let (mut scores, mut rewards, mut sum) = (Vec::new(), Vec::new(), 0.0);
    for t in 0..ROUNDS {
        let new = world.items(if t == 0 { ITEMS } else { K });
        scores.extend_from_slice(&new.scores);
        rewards.extend_from_slice(&new.rewards);
        let picks = {
            let Contestant::Jury(seated) = &mut contestant else { unreachable!("seated as a jury") };
            let (jury, rng) = &mut **seated;
            let pool = Scores::new(&scores, J).expect("sound scores");
            let new = Scores::new(&new.scores, J).expect("sound scores");
            jury.round_from_pool(&pool, if once { &new } else { &pool }, jury.seen().rounds, K, rng)
                .expect("a sound round")
        };
        sum += contestant.learn(&scores, J, &picks, &rewards);
        let mut gone: Vec<usize> = picks.iter().map(|pick| pick.item).collect();
        gone.sort_unstable_by(|a, b| b.cmp(a));
        for item in gone {
            scores.drain(item * J..(item + 1) * J);
            rewards.remove(item);
        }
    }
    sum
}

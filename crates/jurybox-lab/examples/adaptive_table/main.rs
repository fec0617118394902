//! The performance of `adaptive` against its targets: synthetic data, real data, and its cost.
//!
//! ```text
//! cargo run --release -p jurybox-lab --example adaptive_table -- \
//!     [--runs 20] [--data DIR] [--only WORD] [--policy SPEC]
//! ```
//!
//! `--policy 'adaptive(forget=false)'` tests another policy on the synthetic data.
//!
//! All contestants meet the same rounds. Synthetic data: K = 10 of 60 items, ten evaluators, 2000
//! rounds (300 for extensions). Real data (skipped without `--data`): replays of one pool in which
//! no row is reviewed twice; see `real.rs`.
#![expect(clippy::print_stdout, reason = "an example prints its table")]

mod extensions;
mod real;
mod worlds;

use jurybox::toolbox::Standard;
use jurybox::{Evaluators, Example, Jury, Pick, Receipt, Scores, Spec, TopK};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::time::Instant;
use worlds::{ITEMS, J, K, ROUNDS, TableLink, TableQueue, TableSetting};

/// A jury, or a reference rule that values items by the scores shown so far.
enum Contestant {
    Jury(Box<(Jury, ChaCha8Rng)>),
    /// The mean of standardised scores, by the moments of all rounds including the current one.
    ZMean(Standard),
}

impl Contestant {
    fn jury(spec: &Spec, columns: usize) -> Self {
        let jury = Jury::new(spec, Evaluators::numbered(columns).expect("columns")).expect("a sound spec");
        Contestant::Jury(Box::new((jury, ChaCha8Rng::seed_from_u64(1))))
    }

    fn choose(&mut self, table: &[f64], columns: usize) -> Vec<Pick> {
        let scores = Scores::new(table, columns).expect("sound scores");
        let items = match self {
            Contestant::Jury(seated) => {
                let (jury, rng) = &mut **seated;
                return jury.round(&scores, jury.seen().rounds, K, rng).expect("a sound round");
            }
            Contestant::ZMean(standard) => {
                standard.observe(table);
                TopK::of(&scores.rows().map(|row| standard.row_mean(row)).collect::<Vec<_>>(), K)
            }
        };
        let receipt = Receipt::default();
        items.into_iter().map(|item| Pick { item, receipt: receipt.clone() }).collect()
    }

    /// Learns the rewards of the picks of a round, and returns their sum.
    fn learn(&mut self, table: &[f64], columns: usize, picks: &[Pick], rewards: &[f64]) -> f64 {
        if let Contestant::Jury(seated) = self {
            let jury = &mut seated.0;
            let examples: Vec<Example<'_>> = picks
                .iter()
                .map(|pick| Example {
                    scores: &table[pick.item * columns..(pick.item + 1) * columns],
                    reward: rewards[pick.item],
                    receipt: Some(&pick.receipt),
                })
                .collect();
            jury.learn(&examples, jury.seen().rounds).expect("sound examples");
        }
        picks.iter().map(|pick| rewards[pick.item]).sum()
    }
}

struct RunSettings {
    runs: u64,
    data: Option<std::path::PathBuf>,
    only: String,
    policy: Spec,
}

fn main() {
    let mut settings =
        RunSettings { runs: 20, data: None, only: String::new(), policy: Spec::new("adaptive") };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_else(|| panic!("{word} needs a value"));
        match word.as_str() {
            "--runs" => settings.runs = value.parse().expect("a number of runs"),
            "--data" => settings.data = Some(value.into()),
            "--only" => settings.only = value,
            "--policy" => settings.policy = value.parse().expect("a policy"),
            _ => panic!("unknown option {word}; there are --runs, --data, --only and --policy"),
        }
    }
    synthetic(&settings);
    if "extensions".contains(&settings.only) {
        extensions::show(settings.runs);
    }
    match &settings.data {
        Some(directory) => real::show(directory, settings.runs as usize, &settings.only),
        None => println!("real data: skipped, no --data DIR was given\n"),
    }
    if "cost".contains(&settings.only) {
        cost();
    }
}

/// The sums of one contestant over a run: regret, and the rewards of all rounds, of late rounds,
/// and of the first 50 rounds.
#[derive(Clone, Default)]
struct ShareTally {
    regret: f64,
    all: f64,
    late: f64,
    early: f64,
}

fn synthetic(settings: &RunSettings) {
    let mut worlds = Vec::new();
    for ratio in [0.1, 1.0, 10.0] {
        worlds.push((format!("linear {ratio}"), TableSetting::linear(ratio)));
    }
    for (name, link) in [("interval", TableLink::Interval), ("symmetric", TableLink::Symmetric)] {
        for ratio in [0.1, 1.0, 10.0] {
            worlds.push((
                format!("logistic {name} {ratio}"),
                TableSetting { link, ..TableSetting::linear(ratio) },
            ));
        }
    }
    for ratio in [0.1, 1.0] {
        let base = TableSetting::linear(ratio);
        for rho in [0.0, 0.4, 0.8] {
            worlds.push((format!("correlated {rho}, ratio {ratio}"), TableSetting { rho, ..base }));
        }
        worlds.push((format!("intercepts, ratio {ratio}"), TableSetting { intercepts: true, ..base }));
        worlds.push((format!("40% missing, ratio {ratio}"), TableSetting { missing: 0.4, ..base }));
        worlds.push((format!("3 useless 2 inverted, ratio {ratio}"), TableSetting { useless: true, ..base }));
        worlds.push((format!("swap, ratio {ratio}"), TableSetting { swap: true, ..base }));
    }
    worlds.retain(|(name, _)| name.contains(&settings.only));
    if worlds.is_empty() {
        return;
    }
    println!("synthetic, {} runs; rewards as shares of the oracle that knows the world", settings.runs);
    println!("late: rounds 201 on, and with a swap those from 201 rounds after it; first: rounds 1 to 50\n");
    println!("{:34} {:>9} | {:^35} | {:^35}", "", "regret", "late reward share", "first 50 reward share");
    print!("{:34} {:>9}", "", "adaptive");
    for _ in 0..2 {
        print!(" | {:>8} {:>8} {:>8} {:>8}", "adaptive", "z-mean", "esag", "lin-ucb");
    }
    println!(" | all rounds");
    for (name, setting) in &worlds {
        let tallies = runs(settings.runs, &|seed| one_world(*setting, &settings.policy, seed));
        let share = |c: usize, part: fn(&ShareTally) -> f64| {
            tallies.iter().map(|t| part(&t[c])).sum::<f64>()
                / tallies.iter().map(|t| part(&t[0])).sum::<f64>()
        };
        let regret = tallies.iter().map(|t| t[1].regret).sum::<f64>() / settings.runs as f64;
        print!("{name:34} {regret:9.1}");
        for part in [|t: &ShareTally| t.late, |t: &ShareTally| t.early] {
            print!(" |");
            (1..5).for_each(|c| print!(" {:8.4}", share(c, part)));
        }
        // Policy and oracle meet the same rounds, so the interval is that of the mean difference.
        let n = tallies.len() as f64;
        let differences: Vec<f64> = tallies.iter().map(|t| t[1].all - t[0].all).collect();
        let mean = differences.iter().sum::<f64>() / n;
        let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        let oracle = tallies.iter().map(|t| t[0].all).sum::<f64>() / n;
        println!(" | {:.4} ± {:.4}", share(1, |t| t.all), 1.96 * (variance / n).sqrt() / oracle);
    }
    println!();
}

/// The sums of the oracle, the policy under test, z-mean, esag with known noise levels, and
/// lin-ucb.
fn one_world(setting: TableSetting, policy: &Spec, seed: u64) -> Vec<ShareTally> {
    let mut world = TableQueue::new(setting, seed);
    let glm = if setting.link == TableLink::Identity { "" } else { "glm-" };
    let mut contestants = [
        Contestant::jury(policy, J),
        Contestant::ZMean(Standard::new(J)),
        Contestant::jury(&Spec::new(format!("{glm}esag")).with("sigma", world.sigma.clone()), J),
        Contestant::jury(&Spec::new(format!("{glm}lin-ucb")), J),
    ];
    let mut tallies = vec![ShareTally::default(); contestants.len() + 1];
    for t in 0..ROUNDS {
        let round = world.next();
        let late = t >= if setting.swap { ROUNDS / 2 + 200 } else { 200 };
        let oracle = TopK::of(&round.oracle, K);
        let ideal: f64 = oracle.iter().map(|&i| round.oracle[i]).sum();
        let mut note = |c: usize, reward: f64, value: f64| {
            let tally = &mut tallies[c];
            tally.regret += ideal - value;
            tally.all += reward;
            tally.late += if late { reward } else { 0.0 };
            tally.early += if t < 50 { reward } else { 0.0 };
        };
        note(0, oracle.iter().map(|&i| round.rewards[i]).sum(), ideal);
        for (c, contestant) in contestants.iter_mut().enumerate() {
            let picks = contestant.choose(&round.scores, J);
            let reward = contestant.learn(&round.scores, J, &picks, &round.rewards);
            note(c + 1, reward, picks.iter().map(|pick| round.oracle[pick.item]).sum());
        }
    }
    tallies
}

/// Results of runs on two threads, in the order of the seeds.
fn runs<T: Send>(count: u64, one: &(dyn Fn(u64) -> T + Sync)) -> Vec<T> {
    let half = |first: u64| (first..=count).step_by(2).map(|seed| (seed, one(seed))).collect::<Vec<_>>();
    let mut results = std::thread::scope(|scope| {
        let odd = scope.spawn(|| half(1));
        let mut even = half(2);
        even.extend(odd.join().expect("a run does not panic"));
        even
    });
    results.sort_by_key(|(seed, _)| *seed);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Prints the mean time per round of `adaptive` over whole runs, refits included, beside that of
/// `lin-ucb`.
fn cost() {
    let mut world = TableQueue::new(TableSetting::linear(1.0), 1);
    let rounds: Vec<worlds::TableRound> = (0..ROUNDS).map(|_| world.next()).collect();
    let time = |name: &str, times: usize| {
        let mut contestant = Contestant::jury(&Spec::new(name), J);
        let start = Instant::now();
        for _ in 0..times {
            for round in &rounds {
                let picks = contestant.choose(&round.scores, J);
                contestant.learn(&round.scores, J, &picks, &round.rewards);
            }
        }
        start.elapsed().as_secs_f64() * 1e6 / (times * ROUNDS) as f64
    };
    println!("cost of a round of {ITEMS} x {J}, K = {K}, refits included, microseconds");
    for times in [1, 10] {
        let (adaptive, ucb) = (time("adaptive", times), time("lin-ucb", times));
        println!(
            "over {:6} rounds: adaptive {adaptive:.1}, lin-ucb {ucb:.1}, ratio {:.1}",
            times * ROUNDS,
            adaptive / ucb
        );
    }
}

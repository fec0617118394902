//! What `adaptive` shows against what it must show: synthetic worlds, real data, the first rounds, and its cost.
//!
//! ```text
//! cargo run --release -p jurybox --example adaptive_table -- [--runs 20] [--data DIR] [--only WORD]
//! ```
//!
//! Without `--data` the real sets are skipped. Every contestant meets the same rounds. Synthetic: K = 10 of 60 items, ten
//! evaluators, 2000 rounds. Real: K = 10 of 200 drawn from the file, 300 rounds, lift over a uniform pick as a share of
//! that of `hindsight`, the linear regression on standardised scores fitted to all labels.
#![expect(clippy::print_stdout, reason = "an example prints its table")]

mod extensions;
mod real;
mod worlds;

use jurybox::estimate::{Joint, Moments};
use jurybox::{Evaluators, Example, Jury, Pick, Receipt, Scores, Spec, policies};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::time::Instant;
use worlds::{ITEMS, J, K, Link, ROUNDS, Setting, World, uniform};

/// Whoever picks: a jury, or a reference rule that values items from what it is shown.
enum Contestant {
    Jury(Box<Jury>, ChaCha8Rng),
    /// The mean of standardised scores, the current round's included.
    ZMean(Moments),
    /// Fixed linear weights over raw scores.
    Fixed(Vec<f64>),
}

impl Contestant {
    fn jury(spec: &Spec, columns: usize) -> Self {
        let jury = Jury::new(spec, Evaluators::numbered(columns).expect("columns")).expect("a sound spec");
        Contestant::Jury(Box::new(jury), ChaCha8Rng::seed_from_u64(1))
    }

    fn choose(&mut self, table: &[f64], columns: usize) -> Vec<Pick> {
        let scores = Scores::new(table, columns).expect("sound scores");
        let items = match self {
            Contestant::Jury(jury, rng) => {
                return jury.round(&scores, jury.seen().rounds, K, rng).expect("a sound round");
            }
            Contestant::ZMean(moments) => {
                moments.observe(&scores);
                best(&scores.rows().map(|row| z_mean(moments, row)).collect::<Vec<_>>())
            }
            Contestant::Fixed(weights) => best(
                &scores
                    .rows()
                    .map(|row| row.iter().zip(&*weights).map(|(x, w)| x * w).sum())
                    .collect::<Vec<f64>>(),
            ),
        };
        let receipt = Receipt::default();
        items.into_iter().map(|item| Pick { item, receipt: receipt.clone() }).collect()
    }

    /// Learns what its picks of a round were worth; the sum of that.
    fn learn(&mut self, table: &[f64], columns: usize, picks: &[Pick], rewards: &[f64]) -> f64 {
        if let Contestant::Jury(jury, _) = self {
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

fn z_mean(moments: &Moments, row: &[f64]) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (j, x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
        let deviation = moments.covariance(j, j).unwrap_or(0.0).sqrt();
        if deviation > 0.0 {
            sum += (x - moments.mean(j)) / deviation;
            count += 1.0;
        }
    }
    if count > 0.0 { sum / count } else { 0.0 }
}

/// The K best rows by value.
fn best(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    order.truncate(K);
    order
}

struct Settings {
    runs: u64,
    data: Option<std::path::PathBuf>,
    only: String,
}

fn main() {
    let mut settings = Settings { runs: 20, data: None, only: String::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_else(|| panic!("{word} needs a value"));
        match word.as_str() {
            "--runs" => settings.runs = value.parse().expect("a number of runs"),
            "--data" => settings.data = Some(value.into()),
            "--only" => settings.only = value,
            _ => panic!("unknown option {word}; there are --runs, --data and --only"),
        }
    }
    synthetic(&settings);
    if "extensions".contains(&settings.only) {
        extensions::show(settings.runs);
    }
    real_data(&settings);
    if "cost".contains(&settings.only) {
        cost();
    }
}

/// One contestant's sums over a run: all rounds, the late ones, the first fifty; and relative regret.
#[derive(Clone, Default)]
struct Tally {
    regret: f64,
    all: f64,
    late: f64,
    early: f64,
}

fn synthetic(settings: &Settings) {
    let mut worlds = Vec::new();
    for ratio in [0.1, 1.0, 10.0] {
        worlds.push((format!("linear {ratio}"), Setting::linear(ratio)));
    }
    for (name, link) in [("interval", Link::Interval), ("symmetric", Link::Symmetric)] {
        for ratio in [0.1, 1.0, 10.0] {
            worlds.push((format!("logistic {name} {ratio}"), Setting { link, ..Setting::linear(ratio) }));
        }
    }
    for ratio in [0.1, 1.0] {
        let base = Setting::linear(ratio);
        for rho in [0.0, 0.4, 0.8] {
            worlds.push((format!("correlated {rho}, ratio {ratio}"), Setting { rho, ..base }));
        }
        worlds.push((format!("intercepts, ratio {ratio}"), Setting { intercepts: true, ..base }));
        worlds.push((format!("40% missing, ratio {ratio}"), Setting { missing: 0.4, ..base }));
        worlds.push((format!("3 useless 2 inverted, ratio {ratio}"), Setting { useless: true, ..base }));
        for forget in ["", ", forget=true"] {
            worlds.push((format!("swap{forget}, ratio {ratio}"), Setting { swap: true, ..base }));
        }
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
        let tallies = runs(settings.runs, &|seed| one_world(*setting, name.contains("forget"), seed));
        let share = |c: usize, part: fn(&Tally) -> f64| {
            tallies.iter().map(|t| part(&t[c])).sum::<f64>()
                / tallies.iter().map(|t| part(&t[0])).sum::<f64>()
        };
        let regret = tallies.iter().map(|t| t[1].regret).sum::<f64>() / settings.runs as f64;
        print!("{name:34} {regret:9.1}");
        for part in [|t: &Tally| t.late, |t: &Tally| t.early] {
            print!(" |");
            (1..5).for_each(|c| print!(" {:8.4}", share(c, part)));
        }
        // The same rounds for both, so the interval is that of the mean difference.
        let n = tallies.len() as f64;
        let differences: Vec<f64> = tallies.iter().map(|t| t[1].all - t[0].all).collect();
        let mean = differences.iter().sum::<f64>() / n;
        let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        let oracle = tallies.iter().map(|t| t[0].all).sum::<f64>() / n;
        println!(" | {:.4} ± {:.4}", share(1, |t| t.all), 1.96 * (variance / n).sqrt() / oracle);
    }
    println!();
}

/// Tallies of the oracle, adaptive, z-mean, esag told sigma, lin-ucb.
fn one_world(setting: Setting, forget: bool, seed: u64) -> Vec<Tally> {
    let mut world = World::new(setting, seed);
    let glm = if setting.link == Link::Identity { "" } else { "glm-" };
    let mut contestants = [
        Contestant::jury(
            &if forget { Spec::new("adaptive").with("forget", true) } else { Spec::new("adaptive") },
            J,
        ),
        Contestant::ZMean(Moments::new(J)),
        Contestant::jury(&Spec::new(format!("{glm}esag")).with("sigma", world.sigma.clone()), J),
        Contestant::jury(&Spec::new(format!("{glm}lin-ucb")), J),
    ];
    let mut tallies = vec![Tally::default(); contestants.len() + 1];
    for t in 0..ROUNDS {
        let round = world.next();
        let late = t >= if setting.swap { ROUNDS / 2 + 200 } else { 200 };
        let oracle = best(&round.oracle);
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

/// Runs on two threads, in order of the seed.
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

const REAL_ITEMS: usize = 200;
const REAL_ROUNDS: usize = 300;
/// Ends of the stretches whose lift is shown as a curve.
const STRETCHES: [usize; 6] = [5, 10, 20, 50, 100, 300];
/// The contestants on real data: those that are shown one by one, then every other policy.
const SHOWN: [&str; 6] = ["hindsight", "adaptive", "z-mean", "average", "esag", "lin-ucb"];

fn names() -> Vec<&'static str> {
    let others = policies().iter().map(|entry| entry.name);
    let others = others.filter(|name| !SHOWN.contains(name) && !["oracle", "uniform"].contains(name));
    SHOWN.into_iter().chain(others).collect()
}

fn real_data(settings: &Settings) {
    let Some(directory) = &settings.data else {
        println!("real data: skipped, no --data DIR was given\n");
        return;
    };
    let (mut sets, skipped) = real::sets(directory);
    skipped.iter().for_each(|reason| println!("skipped {reason}"));
    sets.retain(|data| data.name.contains(&settings.only));
    println!("real data, {} runs: lift as a share of hindsight's", settings.runs);
    print!("{:26} {:>15}", "", "adaptive");
    SHOWN[2..].iter().for_each(|name| print!(" {name:>9.9}"));
    println!("   adaptive minus the best of these and every other policy");
    let names = names();
    let mut worst = f64::INFINITY;
    let mut curves = vec![[0.0; STRETCHES.len()]; SHOWN.len()];
    for data in &sets {
        let lifts = runs(settings.runs, &|seed| one_replay(data, seed));
        let n = lifts.len() as f64;
        let mean = |f: &dyn Fn(&Vec<Vec<f64>>) -> f64| lifts.iter().map(f).sum::<f64>() / n;
        let total = |lift: &Vec<Vec<f64>>, c: usize| lift[c].iter().sum::<f64>();
        let hindsight = mean(&|lift| total(lift, 0));
        let share = |c: usize| mean(&|lift| total(lift, c)) / hindsight;
        let half_width = |f: &dyn Fn(&Vec<Vec<f64>>) -> f64| {
            let centre = mean(f);
            let variance =
                lifts.iter().map(|lift| (f(lift) - centre).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
            1.96 * (variance / n).sqrt() / hindsight
        };
        print!("{:26} {:7.3} ± {:5.3}", data.name, share(1), half_width(&|lift| total(lift, 1)));
        (2..SHOWN.len()).for_each(|c| print!(" {:9.3}", share(c)));
        let rival = (2..names.len()).max_by(|&a, &b| share(a).total_cmp(&share(b))).expect("rivals");
        let margin = half_width(&|lift| total(lift, 1) - total(lift, rival));
        println!("   {:+.3} ± {margin:.3} ({})", share(1) - share(rival), names[rival]);
        worst = worst.min(share(1));
        for (c, curve) in curves.iter_mut().enumerate() {
            let mut from = 0;
            for (at, to) in STRETCHES.into_iter().enumerate() {
                let stretch = |c: usize| mean(&|lift| lift[c][from..to].iter().sum::<f64>());
                curve[at] += stretch(c) / stretch(0) / sets.len() as f64;
                from = to;
            }
        }
    }
    println!("the least of adaptive: {worst:.3}\n\nlift share by rounds, mean over the sets");
    print!("{:12}", "rounds up to");
    STRETCHES.iter().for_each(|to| print!(" {to:>7}"));
    println!();
    for c in [1, 2, 4, 5] {
        print!("{:12}", SHOWN[c]);
        curves[c].iter().for_each(|share| print!(" {share:7.3}"));
        println!();
    }
    println!();
}

/// Lift over the uniform pick, for each contestant in each round.
fn one_replay(data: &real::Data, seed: u64) -> Vec<Vec<f64>> {
    let columns = data.columns;
    let mut contestants = vec![Contestant::Fixed(hindsight(data))];
    for name in names().into_iter().skip(1) {
        contestants.push(match name {
            "z-mean" => Contestant::ZMean(Moments::new(columns)),
            name => Contestant::jury(&Spec::new(name), columns),
        });
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut rows: Vec<usize> = (0..data.rewards.len()).collect();
    let mut lifts = vec![Vec::with_capacity(REAL_ROUNDS); contestants.len()];
    for _ in 0..REAL_ROUNDS {
        for i in 0..REAL_ITEMS {
            let other = i + (uniform(&mut rng) * (rows.len() - i) as f64) as usize;
            rows.swap(i, other);
        }
        let drawn = &rows[..REAL_ITEMS];
        let table: Vec<f64> = drawn
            .iter()
            .flat_map(|&row| data.scores[row * columns..(row + 1) * columns].iter().copied())
            .collect();
        let rewards: Vec<f64> = drawn.iter().map(|&row| data.rewards[row]).collect();
        let level = rewards.iter().sum::<f64>() / REAL_ITEMS as f64;
        for (contestant, lifts) in contestants.iter_mut().zip(&mut lifts) {
            let picks = contestant.choose(&table, columns);
            lifts.push(contestant.learn(&table, columns, &picks, &rewards) / K as f64 - level);
        }
    }
    lifts
}

/// Least squares of the reward on the scores, over the whole file.
fn hindsight(data: &real::Data) -> Vec<f64> {
    let columns = data.columns;
    let mut joint = Joint::new(columns + 1);
    for (row, reward) in data.scores.chunks_exact(columns).zip(&data.rewards) {
        let mut all = row.to_vec();
        all.push(*reward);
        joint.add(&all, 1.0);
    }
    // On standardised scores, with a trace of ridge for collinear columns; solved by conjugate gradients.
    let scale: Vec<f64> = (0..columns).map(|j| joint.spread(j, j).sqrt().max(1e-300)).collect();
    let entry =
        |i: usize, j: usize| joint.spread(i, j) / scale[i] / scale[j] + if i == j { 1e-6 } else { 0.0 };
    let mut weights = vec![0.0; columns];
    let mut residual: Vec<f64> = (0..columns).map(|j| joint.spread(j, columns) / scale[j]).collect();
    let mut direction = residual.clone();
    let mut square: f64 = residual.iter().map(|r| r * r).sum();
    for _ in 0..20 * columns {
        let image: Vec<f64> =
            (0..columns).map(|i| (0..columns).map(|j| entry(i, j) * direction[j]).sum()).collect();
        let curvature: f64 = direction.iter().zip(&image).map(|(d, a)| d * a).sum();
        if curvature <= 0.0 || square < 1e-24 {
            break;
        }
        for j in 0..columns {
            weights[j] += square / curvature * direction[j];
            residual[j] -= square / curvature * image[j];
        }
        let next: f64 = residual.iter().map(|r| r * r).sum();
        direction = residual.iter().zip(&direction).map(|(r, d)| r + next / square * d).collect();
        square = next;
    }
    weights.iter().zip(&scale).map(|(w, s)| w / s).collect()
}

/// Mean time per round over a whole run, refits included, beside lin-ucb.
fn cost() {
    let mut world = World::new(Setting::linear(1.0), 1);
    let rounds: Vec<worlds::Round> = (0..ROUNDS).map(|_| world.next()).collect();
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

//! What `adaptive` costs: times, and ratios to bare loops and `lin-ucb` timed in the same run.
//!
//! `cargo bench -p jurybox --bench adaptive` prints five tables; with `-- values`, only the table
//! of that name:
//!
//! - `values`: the value of a row, complete or with gaps, beside one table lookup per score;
//! - `rounds`: the mean time of the first hundred rounds, at several numbers of evaluators;
//! - `fits`: single fits;
//! - `costs`: the mean time of the first two thousand rounds, a fit, and the value of an item, for
//!   each kind of rewards;
//! - `choose`: choosing from a million items, with and without exploration.
//!
//! Contestants take turns, and the best time of each counts.
#![expect(clippy::print_stdout, reason = "a benchmark's output")]

use jurybox::{Evaluators, Example, Jury, Scratch};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::hint::black_box;
use std::time::Instant;

const ITEMS: usize = 60;
const K: usize = 10;

/// A world of standard normal rewards; a score is the logistic function of the sum of twice the
/// reward and noise.
struct World {
    rng: ChaCha8Rng,
    evaluators: usize,
}

impl World {
    fn new(evaluators: usize) -> Self {
        World { rng: ChaCha8Rng::seed_from_u64(7), evaluators }
    }

    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.rng)
    }

    /// Rewards and scores of `items` items; each score is missing with probability `missing`.
    fn items(&mut self, items: usize, missing: f64) -> (Vec<f64>, Vec<f64>) {
        let rewards: Vec<f64> = (0..items).map(|_| self.normal()).collect();
        let mut table = Vec::with_capacity(items * self.evaluators);
        for &reward in &rewards {
            for j in 0..self.evaluators {
                let noisy = 2.0 * reward + (0.5 + (j % 10) as f64 / 5.0) * self.normal();
                let gap = missing > 0.0 && self.rng.random::<f64>() < missing;
                table.push(if gap { f64::NAN } else { 1.0 / (1.0 + (-noisy).exp()) });
            }
        }
        (rewards, table)
    }
}

fn jury(spec: &str, evaluators: usize) -> Jury {
    let evaluators = Evaluators::numbered(evaluators).expect("at least one");
    Jury::new(&spec.parse().expect("a sound spec"), evaluators).expect("a known policy")
}

/// Observes one round, and learns the rewards of its first `labels` rows.
fn teach(jury: &mut Jury, rewards: &[f64], table: &[f64], labels: usize) {
    let scores = jury.scores(table).expect("sound scores");
    jury.observe(&scores, 0).expect("a sound round");
    for (row, &reward) in scores.rows().zip(rewards).take(labels) {
        jury.learn(&[Example { scores: row, reward, receipt: None }], 0).expect("a sound example");
    }
}

/// The best time of each contestant in seconds; they take turns.
fn race(contestants: &mut [Box<dyn FnMut() + '_>], turns: usize) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; contestants.len()];
    for _ in 0..turns {
        for (contestant, best) in contestants.iter_mut().zip(&mut best) {
            let start = Instant::now();
            contestant();
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    best
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let parts: [(&str, fn()); 5] =
        [("values", values), ("rounds", first_rounds), ("fits", fits), ("costs", costs), ("choose", choose)];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            part();
        }
    }
}

/// Times the value of a row, beside one table lookup per score.
fn values() {
    const J: usize = 10;
    const ROWS: usize = 4096;
    let mut world = World::new(J);
    let mut jury = jury("adaptive", J);
    for _ in 0..100 {
        let (rewards, table) = world.items(ITEMS, 0.0);
        teach(&mut jury, &rewards, &table, 8);
    }
    let complete = world.items(ROWS, 0.0).1;
    let (mut one, gaps) = (complete.clone(), world.items(ROWS, 0.2).1);
    one[ROWS * J / 2] = f64::NAN;
    let every: Vec<f64> =
        complete.iter().enumerate().map(|(at, &x)| if at % J == at / J % J { f64::NAN } else { x }).collect();
    let bare: Vec<[f64; 256]> = (0..J).map(|j| std::array::from_fn(|i| (i * j) as f64 / 256.0)).collect();
    let mut out = vec![0.0; ROWS];
    let tables = [&complete, &one, &every, &gaps];
    let fitted = jury.fit();
    let mut contestants: Vec<Box<dyn FnMut() + '_>> = vec![Box::new(|| {
        for (value, row) in out.iter_mut().zip(complete.chunks_exact(J)) {
            *value = row.iter().zip(&bare).map(|(x, table)| table[((x * 256.0) as usize).min(255)]).sum();
        }
        black_box(&mut out);
    })];
    for table in tables {
        let scores = fitted.scores(table).expect("sound scores");
        let (fitted, mut scratch) = (&fitted, Scratch::new());
        contestants.push(Box::new(move || {
            black_box(fitted.values_with(&scores, &mut scratch).expect("a sound round"));
        }));
    }
    let times = race(&mut contestants, 300);
    let names = [
        "one bare table lookup per score",
        "adaptive, complete rows",
        "  the same, one score of the round missing",
        "  one score missing in every row",
        "  two in ten missing",
    ];
    println!("the value of a row of {J} scores");
    println!("{:44} {:>9} {:>8} {:>12}", "", "ns", "/ bare", "/ complete");
    for (name, time) in names.iter().zip(&times) {
        println!(
            "{name:44} {:9.1} {:8.2} {:12.2}",
            time * 1e9 / ROWS as f64,
            time / times[0],
            time / times[1]
        );
    }
}

/// Plays rounds, and learns the rewards of the picks.
fn play(jury: &mut Jury, rounds: &[(Vec<f64>, Vec<f64>)]) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut picks = Vec::new();
    for ((rewards, table), at) in rounds.iter().zip(0..) {
        let scores = jury.scores(table).expect("sound scores");
        jury.round_into(&scores, at, K, &mut rng, &mut picks).expect("a sound round");
        let examples: Vec<Example<'_>> = picks
            .iter()
            .map(|pick| Example {
                scores: scores.row(pick.item),
                reward: rewards[pick.item],
                receipt: Some(&pick.receipt),
            })
            .collect();
        jury.learn(&examples, at).expect("sound examples");
    }
}

/// Times a round, averaged over the first hundred with all their fits.
fn first_rounds() {
    println!("\na round of {ITEMS} items, K = {K}, on average over the first 100, in microseconds");
    println!("{:12} {:>9} {:>9} {:>9} {:>14}", "evaluators", "adaptive", "with gaps", "lin-ucb", "/ lin-ucb");
    for evaluators in [10, 50, 100] {
        let mut world = World::new(evaluators);
        let complete: Vec<_> = (0..100).map(|_| world.items(ITEMS, 0.0)).collect();
        let gaps: Vec<_> = (0..100).map(|_| world.items(ITEMS, 0.1)).collect();
        let run = |spec: &str, rounds: &[(Vec<f64>, Vec<f64>)]| {
            play(&mut jury(spec, evaluators), rounds);
        };
        let mut contestants: Vec<Box<dyn FnMut() + '_>> = vec![
            Box::new(|| run("adaptive", &complete)),
            Box::new(|| run("adaptive", &gaps)),
            Box::new(|| run("lin-ucb", &complete)),
        ];
        let times = race(&mut contestants, 3);
        println!(
            "{evaluators:<12} {:9.0} {:9.0} {:9.0} {:14.1}",
            times[0] * 1e4,
            times[1] * 1e4,
            times[2] * 1e4,
            times[0] / times[2]
        );
    }
}

/// Times one fit and the value of one item, by numbers of evaluators and labels.
fn fits() {
    println!("\none fit, in milliseconds");
    println!("{:>10} {:>8} {:>10}", "evaluators", "labels", "ms");
    for (evaluators, labels) in
        [(10, 20), (10, 100), (10, 1000), (100, 20), (100, 100), (100, 300), (100, 1000), (1000, 20)]
    {
        let mut world = World::new(evaluators);
        let mut jury = jury("adaptive", evaluators);
        let (rewards, table) = world.items(if evaluators < 1000 { 10 * ITEMS } else { 20 }, 0.0);
        teach(&mut jury, &rewards, &table, labels.min(rewards.len()));
        if labels > rewards.len() {
            let (rewards, table) = world.items(labels - rewards.len(), 0.0);
            teach(&mut jury, &rewards, &table, rewards.len());
        }
        let (_, one) = world.items(1, 0.0);
        let turns = if evaluators < 1000 { 5 } else { 1 };
        let mut best = f64::INFINITY;
        for _ in 0..turns {
            let start = Instant::now();
            let fitted = jury.fit();
            let scores = fitted.scores(&one).expect("sound scores");
            black_box(fitted.values(&scores).expect("a sound round"));
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{evaluators:>10} {labels:>8} {:10.3}", best * 1e3);
    }
}

/// The name of a kind of rewards, and a function that draws the rewards and scores of a round.
type Kind = (&'static str, fn(&mut World) -> (Vec<f64>, Vec<f64>));

/// A round of `World::items` whose rewards `level` makes ordinal.
fn in_levels(world: &mut World, level: fn(f64) -> f64) -> (Vec<f64>, Vec<f64>) {
    let (rewards, table) = world.items(ITEMS, 0.0);
    (rewards.into_iter().map(level).collect(), table)
}

/// A round whose rewards are sums: the product of two scores, a bonus where two others are
/// positive, two linear terms, and noise.
fn interacting(world: &mut World) -> (Vec<f64>, Vec<f64>) {
    let table: Vec<f64> = (0..ITEMS * world.evaluators).map(|_| world.normal()).collect();
    let reward = |x: &[f64]| {
        let both = f64::from(x[2] > 0.0 && x[3] > 0.0);
        x[0] * x[1] + 1.5 * both + 0.5 * x[4] + 0.5 * x[5]
    };
    let rewards =
        table.chunks_exact(world.evaluators).map(|row| reward(row) + 0.3 * world.normal()).collect();
    (rewards, table)
}

/// Processor seconds of this thread so far where the system reports them, else seconds since
/// `since`.
fn worked(since: Instant) -> f64 {
    // The report is brought up to date when the scheduler runs, hence the yield.
    std::thread::yield_now();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat");
    let told = told.ok().and_then(|told| told.split(' ').next()?.parse::<f64>().ok());
    told.map_or_else(|| since.elapsed().as_secs_f64(), |nanoseconds| nanoseconds * 1e-9)
}

/// Times, for each kind of rewards, a round averaged over the first 2,000, a fit to 200 labels, and
/// the value of an item. Beside these: `lin-ucb` over the same rounds, a fit of straight lines
/// alone, and one table lookup per score.
fn costs() {
    const J: usize = 10;
    const ROUNDS: usize = 2000;
    const FITS: usize = 50;
    const VALUES: usize = 2000;
    println!("\n{J} evaluators, by kind of rewards (time at work; aims: 100 us, 5 ms, 500 ns)");
    println!(
        "{:28} {:>16} {:>10} {:>16} {:>10} {:>9} {:>8}",
        "", "us, 2000 rounds", "/ lin-ucb", "ms, 200 labels", "/ straight", "ns, item", "/ bare"
    );
    let kinds: [Kind; 4] = [
        ("numbers", |world| world.items(ITEMS, 0.0)),
        ("numbers with interactions", interacting),
        ("one in six a yes", |world| in_levels(world, |reward| f64::from(reward > 1.0))),
        ("five marks", |world| in_levels(world, |reward| (reward + 2.0).floor().clamp(0.0, 4.0))),
    ];
    for (name, round) in kinds {
        let mut world = World::new(J);
        let rounds: Vec<(Vec<f64>, Vec<f64>)> = (0..ROUNDS).map(|_| round(&mut world)).collect();
        let played = |spec: &str, rounds: &[(Vec<f64>, Vec<f64>)]| {
            let mut jury = jury(spec, J);
            play(&mut jury, rounds);
            jury
        };
        let straight = "adaptive(curve=linear,levels=false,trees=false)";
        let (young, plain) = (played("adaptive", &rounds[..20]), played(straight, &rounds[..20]));
        let fitted = played("adaptive", &rounds).fit();
        let (one, mut scratch) = (fitted.scores(&rounds[0].1).expect("sound scores"), Scratch::new());
        let bare: Vec<[f64; 256]> = (0..J).map(|j| std::array::from_fn(|i| (i * j) as f64 / 256.0)).collect();
        let mut out = [0.0; ITEMS];
        let fits = |jury: &Jury| (0..FITS).for_each(|_| drop(black_box(jury.fit())));
        let mut contestants: [Box<dyn FnMut() + '_>; 6] = [
            Box::new(|| drop(black_box(played("adaptive", &rounds)))),
            Box::new(|| drop(black_box(played("lin-ucb", &rounds)))),
            Box::new(|| fits(&young)),
            Box::new(|| fits(&plain)),
            Box::new(|| {
                for _ in 0..VALUES {
                    black_box(fitted.values_with(&one, &mut scratch).expect("a sound round"));
                }
            }),
            Box::new(|| {
                for _ in 0..VALUES {
                    for (value, row) in out.iter_mut().zip(rounds[0].1.chunks_exact(J)) {
                        let read = row.iter().zip(&bare);
                        *value = read.map(|(x, table)| table[((x * 256.0) as usize).min(255)]).sum();
                    }
                    black_box(&mut out);
                }
            }),
        ];
        let mut best = [f64::INFINITY; 6];
        for _ in 0..5 {
            for (contestant, best) in contestants.iter_mut().zip(&mut best) {
                let start = Instant::now();
                let before = worked(start);
                contestant();
                *best = best.min(worked(start) - before);
            }
        }
        let [rounds, by_lin_ucb, fit, by_lines, value, by_table] = best;
        println!(
            "{name:28} {:16.1} {:10.1} {:16.2} {:10.1} {:9.0} {:8.1}",
            rounds * 1e6 / ROUNDS as f64,
            rounds / by_lin_ucb,
            fit * 1e3 / FITS as f64,
            fit / by_lines,
            value * 1e9 / (VALUES * ITEMS) as f64,
            value / by_table
        );
    }
}

/// Times choosing from a million items, with and without exploration.
fn choose() {
    const J: usize = 10;
    let mut world = World::new(J);
    let history = world.items(10 * ITEMS, 0.0);
    let table = world.items(1_000_000, 0.0).1;
    let mut juries: Vec<Jury> =
        ["adaptive", "adaptive(audit=0.5)", "adaptive(audit=0.5,slots=3)"].map(|spec| jury(spec, J)).into();
    juries.iter_mut().for_each(|jury| teach(jury, &history.0, &history.1, 500));
    let mut contestants: Vec<Box<dyn FnMut() + '_>> = Vec::new();
    for jury in &juries {
        let fitted = jury.fit();
        let scores = fitted.scores(&table).expect("sound scores");
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        contestants.push(Box::new(move || {
            black_box(fitted.choose(&scores, K, &mut rng).expect("a sound round"));
        }));
    }
    let times = race(&mut contestants, 10);
    println!("\n{K} of a million items x {J}");
    for (name, time) in ["without audit", "audit=0.5", "audit=0.5, slots=3"].iter().zip(&times) {
        println!("{name:20} {:8.1} ms {:6.2}", time * 1e3, time / times[0]);
    }
}

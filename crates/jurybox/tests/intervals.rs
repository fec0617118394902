//! Tests prediction intervals of rewards in simulated worlds: 90% hold the rewards of new items,
//! over all items and over the best ones.
//!
//! The tables take some two minutes: `cargo test --release -p jurybox --test intervals -- --ignored
//! --nocapture`. `WORLDS` is the number of worlds, `SEED` the seed of the first of them.

mod support;

use jurybox::options::Fraction;
use jurybox::{Example, Fitted, Jury};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::{jury_of, normal};

/// Items of a round.
const ITEMS: usize = 60;
/// Items of a round that are judged.
const K: usize = 5;
/// Numbers of labels after which intervals are checked.
const LABELS: [usize; 4] = [20, 60, 200, 1000];
/// Numbers of labels after which intervals are checked where two scores interact.
const MANY_LABELS: [usize; 4] = [100, 200, 600, 1000];

/// Rewards and their probabilities. An empty list means standard normal rewards; a single reward
/// `r` means rewards uniform between `r` and `-r`.
type Levels = &'static [(f64, f64)];
/// An item: its reward and its scores.
type Item = (f64, Vec<f64>);
type World = fn(&mut ChaCha8Rng) -> Item;
const REWARDS: [(&str, Levels); 5] = [
    ("normal", &[]),
    ("even", &[(-1.7, 0.0)]),
    ("marks 1 to 5", &[(1.0, 0.35), (2.0, 0.25), (3.0, 0.2), (4.0, 0.12), (5.0, 0.08)]),
    ("yes in 5 of 100", &[(0.0, 0.95), (1.0, 0.05)]),
    ("yes in 1 of 100", &[(0.0, 0.99), (1.0, 0.01)]),
];

/// Gains of the six evaluators. A score is the gain times `unit` times the reward, plus noise.
const GAINS: [f64; 6] = [1.0, 0.8, 0.6, 0.4, 0.2, 0.0];
/// Standard deviation of the scores' noise.
const NOISE: f64 = 0.8;

/// Factor from rewards to the unit of scores: one over the standard deviation for marks, 2 for yes
/// and no, 1 otherwise.
fn unit(levels: Levels) -> f64 {
    let mean: f64 = levels.iter().map(|(value, share)| value * share).sum();
    let square: f64 = levels.iter().map(|(value, share)| (value - mean).powi(2) * share).sum();
    match levels.len() {
        0 | 1 => 1.0,
        2 => 2.0,
        _ => 1.0 / square.sqrt(),
    }
}

/// Worlds in which two scores interact; each of the others has an effect of its own or none.
const TOGETHER: [(&str, World); 4] = [
    ("a product", |rng| {
        let x = six(rng);
        (x[0] * x[1] + x[4] + 0.5 * normal(rng), x)
    }),
    ("a product, within ends", |rng| {
        let x: Vec<f64> = six(rng).iter().map(|x| (x / 1.4).tanh()).collect();
        (3.0 * x[0] * x[1] + x[4] + 0.25 * normal(rng), x)
    }),
    ("two must agree", |rng| {
        let x = six(rng);
        let both = if x[0] > 0.0 && x[1] > 0.0 { 2.0 } else { 0.0 };
        (both + 0.5 * x[2] + 0.5 * normal(rng), x)
    }),
    ("one says whom to trust", |rng| {
        let (x, reward) = (six(rng), normal(rng));
        let trusted = if x[0] < 0.0 { reward + 0.4 * x[1] } else { x[1] };
        (reward, vec![x[0], trusted, reward + x[2], reward + 2.0 * x[3], x[4], 0.5 * reward + x[5]])
    }),
];

fn six(rng: &mut ChaCha8Rng) -> Vec<f64> {
    (0..6).map(|_| normal(rng)).collect()
}

/// An item whose scores follow its reward.
fn item(levels: Levels, rng: &mut ChaCha8Rng) -> Item {
    let mut left: f64 = rng.random();
    let level = levels.iter().find(|(_, share)| {
        left -= share;
        left < 0.0
    });
    let reward = match levels {
        [] => normal(rng),
        [(end, _)] => end * rng.random_range(-1.0..1.0),
        [.., last] => level.unwrap_or(last).0,
    };
    let unit = unit(levels);
    (reward, GAINS.iter().map(|gain| gain * unit * reward + NOISE * normal(rng)).collect())
}

fn table_of(items: &[Item]) -> Vec<f64> {
    items.iter().flat_map(|(_, scores)| scores).copied().collect()
}

fn items(world: &impl Fn(&mut ChaCha8Rng) -> Item, count: usize, rng: &mut ChaCha8Rng) -> Vec<Item> {
    (0..count).map(|_| world(rng)).collect()
}

/// Counts of intervals: those asked for, those that held the reward, and unbounded ones; and the
/// sum of the finite widths.
#[derive(Debug, Default, Clone, Copy)]
struct Fared {
    asked: f64,
    held: f64,
    width: f64,
    unbounded: f64,
}

impl Fared {
    fn ask(&mut self, fitted: &Fitted, items: &[Item]) {
        let table = table_of(items);
        let scores = fitted.scores(&table).unwrap();
        let intervals = fitted.predict(&scores, Fraction::try_from(0.9).unwrap()).unwrap().unwrap();
        for ((reward, _), interval) in items.iter().zip(&intervals) {
            assert!(interval.low <= interval.mean && interval.mean <= interval.high);
            self.asked += 1.0;
            self.held += f64::from(u8::from((interval.low..=interval.high).contains(reward)));
            let width = interval.high - interval.low;
            if width.is_finite() {
                self.width += width;
            } else {
                self.unbounded += 1.0;
            }
        }
    }

    fn share(&self) -> f64 {
        self.held / self.asked
    }

    fn mean_width(&self) -> f64 {
        self.width / (self.asked - self.unbounded)
    }
}

/// Learns labels of the jury's own picks or of random items in several worlds. After each number of
/// labels, checks the intervals of 200 new items, and of the five best items of each of ten rounds.
fn fared(
    spec: &str,
    world: &impl Fn(&mut ChaCha8Rng) -> Item,
    picked: bool,
    labels: &[usize],
    worlds: u64,
) -> Vec<[Fared; 2]> {
    let mut fared = vec![[Fared::default(); 2]; labels.len()];
    let first = told("SEED").unwrap_or(0);
    for seed in first..first + worlds {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut jury = jury_of(&spec.parse().unwrap(), GAINS.len());
        let mut known = 0;
        for (at, &labels) in labels.iter().enumerate() {
            while known < labels {
                play(&mut jury, world, picked, (known / K) as u64, &mut rng);
                known += K;
            }
            let fitted = jury.fit();
            fared[at][0].ask(&fitted, &items(world, 200, &mut rng));
            for _ in 0..10 {
                let mut round = items(world, ITEMS, &mut rng);
                let table = table_of(&round);
                let values = fitted.values(&fitted.scores(&table).unwrap()).unwrap();
                let mut order: Vec<usize> = (0..ITEMS).collect();
                order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
                let best = order[..K].iter().map(|&at| std::mem::take(&mut round[at]));
                fared[at][1].ask(&fitted, &best.collect::<Vec<_>>());
            }
        }
    }
    fared
}

fn play(
    jury: &mut Jury,
    world: &impl Fn(&mut ChaCha8Rng) -> Item,
    picked: bool,
    at: u64,
    rng: &mut ChaCha8Rng,
) {
    let round = items(world, ITEMS, rng);
    let table = table_of(&round);
    let view = jury.scores(&table).unwrap();
    let judged: Vec<usize> = if picked {
        jury.round(&view, at, K, rng).unwrap().iter().map(|pick| pick.item).collect()
    } else {
        jury.observe(&view, at).unwrap();
        (0..K).collect()
    };
    for item in judged.into_iter().map(|at| &round[at]) {
        jury.learn(&[Example { scores: &item.1, reward: item.0, receipt: None }], at).unwrap();
    }
}

/// A number from an environment variable.
fn told(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|number| number.parse().ok())
}

#[test]
#[ignore = "a minute; prints the table of the book"]
fn the_table() {
    for (name, levels) in REWARDS {
        let world = |rng: &mut ChaCha8Rng| item(levels, rng);
        print_row("adaptive", name, &world, &LABELS, told("WORLDS").unwrap_or(40));
        if levels.len() == 2 {
            print_row("adaptive(levels=false)", name, &world, &LABELS, told("WORLDS").unwrap_or(40));
        }
    }
}

#[test]
#[ignore = "a minute; prints the table of the book where two scores matter together"]
fn the_table_of_trees() {
    for spec in ["adaptive", "adaptive(trees=false)"] {
        for (name, world) in TOGETHER {
            print_row(spec, name, &world, &MANY_LABELS, told("WORLDS").unwrap_or(200));
        }
    }
}

#[expect(clippy::print_stdout, reason = "the table is for people")]
fn print_row(
    spec: &str,
    name: &str,
    world: &impl Fn(&mut ChaCha8Rng) -> Item,
    labels: &[usize],
    worlds: u64,
) {
    for picked in [true, false] {
        let how = if picked { "picks" } else { "at random" };
        print!("{spec:22} {name:24} {how:9}");
        for [all, picks] in fared(spec, world, picked, labels, worlds) {
            let widths = (all.mean_width(), picks.mean_width());
            print!(" | {:.4} {:.4} ({:.2} {:.2})", all.share(), picks.share(), widths.0, widths.1);
        }
        println!();
    }
}

#[test]
fn nine_in_ten_hold_over_all_items_and_over_picks() {
    let labels = [60, 200];
    for [all, picks] in fared("adaptive", &|rng: &mut ChaCha8Rng| item(&[], rng), true, &labels, 20) {
        // 4,000 items and 1,000 best ones, in 20 worlds.
        assert!(
            (0.86..0.94).contains(&all.share()) && (0.86..0.94).contains(&picks.share()),
            "{all:?} {picks:?}"
        );
    }
    for (name, levels) in &REWARDS[2..] {
        let world = |rng: &mut ChaCha8Rng| item(levels, rng);
        for [all, picks] in fared("adaptive(levels=true)", &world, true, &labels, 10) {
            // Rewards are discrete, so that intervals usually hold more than 90% of them.
            assert!(all.share() > 0.88 && picks.share() > 0.88, "{name}: {all:?} {picks:?}");
            assert_eq!(all.unbounded, 0.0);
        }
    }
}

/// Two scores interact.
#[test]
fn nine_in_ten_hold_where_two_scores_matter_together() {
    for (name, world) in &TOGETHER[..2] {
        for picked in [true, false] {
            let [all, picks] = fared("adaptive", world, picked, &[200], 16)[0];
            // 3,200 items and 800 best ones: standard errors of 0.005 and 0.011, and some more
            // because 16 worlds differ.
            assert!((0.86..0.95).contains(&all.share()), "{name}, {picked}: {all:?}");
            assert!((0.86..0.95).contains(&picks.share()), "{name}, {picked}: {picks:?}");
        }
    }
}

/// Rewards are marks from 0 to 4, mostly 0, and two scores interact.
#[test]
fn nine_in_ten_hold_where_marks_go_by_levels_and_trees_together() {
    let world = |rng: &mut ChaCha8Rng| {
        let x = six(rng);
        let worth = x[0] * x[1] + x[4] + 0.5 * normal(rng) - 0.5;
        (worth.clamp(0.0, 4.0).round(), x)
    };
    let [all, picks] = fared("adaptive", &world, false, &[600], 8)[0];
    // 1,600 items and 400 best ones: standard errors of 0.008 and 0.015. Rewards are discrete, so
    // that intervals usually hold more than 90% of them.
    assert!(all.share() > 0.88 && picks.share() > 0.88, "{all:?} {picks:?}");
}

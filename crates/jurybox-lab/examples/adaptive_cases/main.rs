//! Cases in which `adaptive` once failed, with figures of what it does now.
//!
//! ```text
//! cargo run --release -p jurybox-lab --example adaptive_cases -- \
//!     [--worlds 20] [--only WORD] [--pool FILE.csv]
//! ```
//!
//! Only the library's basic calls are used, so that this example can be built with older versions
//! of the library too, to compare them. `--pool` is a table of scores with a column `reward`, one
//! row an item, for the case of a learner that gets stuck.
#![expect(clippy::print_stdout, reason = "an example prints its table")]

mod change;
mod pool;

use jurybox::options::Fraction;
use jurybox::{Evaluators, Example, Jury, TopK};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

const ITEMS: usize = 60;
const K: usize = 5;

type Rng = ChaCha8Rng;
/// A reward, and the evaluators' scores of the item.
type Item = (f64, Vec<f64>);
/// Runs a case on a number of simulated worlds, and returns its figures as text.
type Case = fn(u64) -> String;

fn main() {
    let (mut worlds, mut only, mut pool) = (20, String::new(), None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_else(|| panic!("{word} needs a value"));
        match word.as_str() {
            "--worlds" => worlds = value.parse().expect("a number of worlds"),
            "--only" => only = value,
            "--pool" => pool = Some(value),
            _ => panic!("unknown option {word}; there are --worlds, --only and --pool"),
        }
    }
    let cases: [(&str, Case); 10] = [
        ("zeros: of the first ten, how many stay so after 30 verdicts of 0", zeros),
        ("wrong way: judges of quality, a yes (15%) is a bad answer, 600 rounds, reward a pick", wrong_way),
        ("severe: 15% mild worth 1, 1.2% severe worth 100, seen by others, reward a pick", severe),
        ("gross errors: Cauchy's among the rewards, reward over that of the best order", gross_errors),
        ("copies: five good evaluators, three copies of a useless one, lift before labels", copies),
        (
            "copies: one evaluator three times, the largest part of a value over the spread of values, before labels",
            parts_of_copies,
        ),
        (
            "offset: a useless evaluator at 500, its share of the weights (a standard deviation each) before labels",
            offset,
        ),
        ("gaps after the first third of a file: share of the top 300 that is of that third", gaps),
        ("intervals of 90% over all items, own picks, 200 labels", intervals),
        (
            "alarm: rounds until a doubled noise is told, at the age of 200, 2,000 and 12,000, and alarms in vain",
            change::alarms,
        ),
    ];
    for (name, case) in cases.iter().filter(|case| case.0.contains(&only)) {
        println!("{name}: {}", case(worlds));
    }
    match pool {
        Some(path) => {
            println!("stuck: runs that found nothing after 30 of 200 labels: {}", pool::stuck(&path, worlds));
        }
        None => println!("stuck: skipped, no --pool FILE.csv was given"),
    }
}

fn normal(rng: &mut Rng) -> f64 {
    StandardNormal.sample(rng)
}

fn seat(spec: &str, evaluators: usize) -> Jury {
    Jury::new(&spec.parse().expect("a sound spec"), Evaluators::numbered(evaluators).expect("one or more"))
        .expect("a known policy")
}

/// A jury that has observed a table of scores.
fn shown(table: &[f64], evaluators: usize) -> Jury {
    let mut jury = seat("adaptive", evaluators);
    jury.observe(&jury.scores(table).expect("sound scores"), 0).expect("a round");
    jury
}

/// Rewards and scores of a round of items.
fn round(items: usize, rng: &mut Rng, world: &dyn Fn(&mut Rng) -> Item) -> (Vec<f64>, Vec<f64>) {
    let (rewards, rows): (Vec<f64>, Vec<Vec<f64>>) = (0..items).map(|_| world(rng)).unzip();
    (rewards, rows.concat())
}

/// Teaches the jury the rewards of some items of a table.
fn learn(jury: &mut Jury, table: &[f64], rewards: &[f64], items: impl Iterator<Item = usize>, at: u64) {
    let width = jury.evaluators().len();
    for item in items {
        let scores = &table[item * width..(item + 1) * width];
        jury.learn(&[Example { scores, reward: rewards[item], receipt: None }], at).expect("a sound example");
    }
}

/// Simulates a number of rounds. Returns the mean true reward of a pick.
fn play(
    jury: &mut Jury,
    rounds: u64,
    rng: &mut Rng,
    world: &dyn Fn(&mut Rng) -> Item,
    told: &dyn Fn(f64, &mut Rng) -> f64,
) -> f64 {
    let (mut sum, mut own) = (0.0, Rng::seed_from_u64(1));
    for at in 0..rounds {
        let (rewards, table) = round(ITEMS, rng, world);
        let picks =
            jury.round(&jury.scores(&table).expect("sound scores"), at, K, &mut own).expect("a round");
        let verdicts: Vec<f64> = rewards.iter().map(|reward| told(*reward, rng)).collect();
        sum += picks.iter().map(|pick| rewards[pick.item]).sum::<f64>();
        learn(jury, &table, &verdicts, picks.iter().map(|pick| pick.item), at);
    }
    sum / (rounds as usize * K) as f64
}

fn as_it_is(reward: f64, _: &mut Rng) -> f64 {
    reward
}

/// The mean over worlds, with its 95% interval.
fn mean(worlds: u64, one: impl Fn(u64) -> f64) -> String {
    let figures: Vec<f64> = (0..worlds).map(one).collect();
    let (n, mean) = (figures.len() as f64, figures.iter().sum::<f64>() / figures.len() as f64);
    let variance = figures.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    format!("{mean:.3} ± {:.3}", 1.96 * (variance / n).sqrt())
}

fn beside(worlds: u64, policies: &[&str], one: impl Fn(&str, u64) -> f64) -> String {
    let figures =
        policies.iter().map(|policy| format!("{policy} {}", mean(worlds, |seed| one(policy, seed))));
    figures.collect::<Vec<_>>().join(", ")
}

fn zeros(worlds: u64) -> String {
    mean(worlds, |seed| {
        let mut rng = Rng::seed_from_u64(seed);
        let world = |rng: &mut Rng| (0.0, (0..6).map(|_| normal(rng)).collect());
        let (rewards, table) = round(300, &mut rng, &world);
        let mut jury = shown(&table, 6);
        let values =
            |jury: &Jury| jury.fit().values(&jury.scores(&table).expect("sound scores")).expect("values");
        let order = TopK::of(&values(&jury), 40);
        learn(&mut jury, &table, &rewards, order[..30].iter().copied(), 0);
        let (before, after) = (&order[30..], values(&jury));
        // Reviewed items cannot be in the top ten.
        let unseen: Vec<f64> = after
            .iter()
            .enumerate()
            .map(|(item, value)| if order[..30].contains(&item) { f64::NEG_INFINITY } else { *value })
            .collect();
        TopK::of(&unseen, 10).iter().filter(|item| before.contains(item)).count() as f64
    })
}

fn wrong_way(worlds: u64) -> String {
    // A yes is a quality below the normal quantile of 0.15.
    let world = |rng: &mut Rng| {
        let quality = normal(rng);
        (
            f64::from(quality < -1.036),
            (0..5).map(|j| quality + (0.5 + 0.2 * f64::from(j)) * normal(rng)).collect(),
        )
    };
    beside(worlds, &["adaptive", "uniform"], |policy, seed| {
        play(&mut seat(policy, 5), 600, &mut Rng::seed_from_u64(seed), &world, &as_it_is)
    })
}

fn severe(worlds: u64) -> String {
    let world = |rng: &mut Rng| {
        let draw: f64 = rng.random();
        let (mild, severe) = (f64::from(draw < 0.15), f64::from((0.15..0.162).contains(&draw)));
        let scores = (0..6).map(|j| 2.5 * if j < 4 { mild } else { severe } + normal(rng)).collect();
        (mild + 100.0 * severe, scores)
    };
    beside(worlds, &["adaptive", "uniform", "lin-ucb"], |policy, seed| {
        play(&mut seat(policy, 6), 300, &mut Rng::seed_from_u64(seed), &world, &as_it_is)
    })
}

fn gross_errors(worlds: u64) -> String {
    let noise = |j: usize| 0.4 + 0.3 * j as f64;
    let world = |rng: &mut Rng| {
        let reward = normal(rng);
        (reward, (0..6).map(|j| reward + noise(j) * normal(rng)).collect())
    };
    let cauchy = |reward: f64, rng: &mut Rng| reward + 0.5 * normal(rng) / normal(rng).abs().max(1e-12);
    beside(worlds, &["adaptive", "lin-ucb"], |policy, seed| {
        let found = play(&mut seat(policy, 6), 200, &mut Rng::seed_from_u64(seed), &world, &cauchy);
        let (mut rng, mut best) = (Rng::seed_from_u64(1000 + seed), 0.0);
        for _ in 0..200 {
            let (rewards, table) = round(ITEMS, &mut rng, &world);
            let value = |row: &[f64]| row.iter().enumerate().map(|(j, x)| x / noise(j).powi(2)).sum::<f64>();
            best += TopK::of(&table.chunks(6).map(value).collect::<Vec<_>>(), K)
                .iter()
                .map(|&item| rewards[item])
                .sum::<f64>();
        }
        found / (best / (200 * K) as f64)
    })
}

/// Five good evaluators, and three copies of a useless one in other units.
fn with_copies(rng: &mut Rng) -> Item {
    let (reward, useless) = (normal(rng), normal(rng));
    let good = (0..5).map(|_| reward + normal(rng)).collect::<Vec<_>>();
    (reward, good.into_iter().chain([1.0, 3.0, 0.1].map(|unit| unit * useless)).collect())
}

fn copies(worlds: u64) -> String {
    mean(worlds, |seed| {
        let mut rng = Rng::seed_from_u64(seed);
        let (rewards, table) = round(1000, &mut rng, &with_copies);
        let jury = shown(&table, 8);
        let values = jury.fit().values(&jury.scores(&table).expect("sound scores")).expect("values");
        let sum = |values: &[f64]| TopK::of(values, 50).iter().map(|&item| rewards[item]).sum::<f64>();
        let good: Vec<f64> = table.chunks(8).map(|row| row[..5].iter().sum()).collect();
        sum(&values) / sum(&good)
    })
}

fn parts_of_copies(worlds: u64) -> String {
    // One evaluator three times, in other units and with offsets; the last copy has a little noise.
    let world = |rng: &mut Rng| {
        let reward = normal(rng);
        let score = reward + 0.5 * normal(rng);
        let copies = vec![score, 3.0 * score + 50.0, score + 0.001 * normal(rng) + 500.0];
        (reward, copies.into_iter().chain([0, 1].map(|_| reward + normal(rng))).collect())
    };
    mean(worlds, |seed| {
        let (_, table) = round(300, &mut Rng::seed_from_u64(seed), &world);
        let fitted = shown(&table, 5).fit();
        let values = fitted.values(&fitted.scores(&table).expect("sound scores")).expect("values");
        let (low, high) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (x.min(low), x.max(high)));
        let largest = |row: &[f64]| {
            let parts = fitted.contributions(row).expect("a sound row").expect("a value that is a sum");
            parts.each.iter().map(|part| part.abs()).fold(0.0, f64::max)
        };
        table.chunks(5).map(largest).fold(0.0, f64::max) / (high - low)
    })
}

fn offset(worlds: u64) -> String {
    mean(worlds, |seed| {
        let mut rng = Rng::seed_from_u64(seed);
        let world = |rng: &mut Rng| {
            let reward = normal(rng);
            let mut scores: Vec<f64> = (0..5).map(|_| reward + normal(rng)).collect();
            scores.push(500.0 + normal(rng));
            (reward, scores)
        };
        let (_, table) = round(500, &mut rng, &world);
        let jury = shown(&table, 6);
        let fitted = jury.fit();
        // The standard deviation of the good evaluators' scores is sqrt(2), of the useless one's 1.
        let scatter = [2_f64.sqrt(), 2_f64.sqrt(), 2_f64.sqrt(), 2_f64.sqrt(), 2_f64.sqrt(), 1.0];
        let weights: Vec<f64> = fitted
            .weights()
            .expect("weights")
            .iter()
            .zip(scatter)
            .map(|(weight, scatter)| weight.abs() * scatter)
            .collect();
        weights[5] / weights.iter().sum::<f64>()
    })
}

fn gaps(worlds: u64) -> String {
    mean(worlds, |seed| {
        let mut rng = Rng::seed_from_u64(seed);
        let world = |rng: &mut Rng| {
            let reward = normal(rng);
            (reward, (0..6).map(|_| reward + normal(rng)).collect())
        };
        let (rewards, mut table) = round(9000, &mut rng, &world);
        for score in &mut table[3000 * 6..] {
            if rng.random::<f64>() < 0.3 {
                *score = f64::NAN;
            }
        }
        let mut jury = shown(&table, 6);
        learn(&mut jury, &table, &rewards, (0..9000).step_by(90), 0);
        let values = jury.fit().values(&jury.scores(&table).expect("sound scores")).expect("values");
        TopK::of(&values, 300).iter().filter(|item| **item < 3000).count() as f64 / 300.0
    })
}

fn intervals(worlds: u64) -> String {
    let share = |world: &dyn Fn(&mut Rng) -> Item| {
        mean(worlds, |seed| {
            let mut rng = Rng::seed_from_u64(seed);
            let mut jury = seat("adaptive", 6);
            play(&mut jury, 40, &mut rng, world, &as_it_is);
            let (rewards, table) = round(1000, &mut rng, world);
            let level = Fraction::try_from(0.9).expect("a share");
            let fitted = jury.fit();
            let intervals = fitted
                .predict(&fitted.scores(&table).expect("sound scores"), level)
                .expect("sound")
                .expect("intervals");
            let held = rewards
                .iter()
                .zip(&intervals)
                .filter(|(reward, of)| of.low - 1e-9 <= **reward && **reward <= of.high + 1e-9);
            held.count() as f64 / 1000.0
        })
    };
    let scored = |worth: f64, rng: &mut Rng| {
        (0..6).map(|j| worth + (0.5 + 0.3 * f64::from(j)) * normal(rng)).collect()
    };
    let numbers = |rng: &mut Rng| {
        let worth = normal(rng);
        (worth, scored(worth, rng))
    };
    let marks = |rng: &mut Rng| {
        let worth = normal(rng);
        ((3.0 + 1.2 * worth).round().clamp(1.0, 5.0), scored(worth, rng))
    };
    // A yes is a worth above the normal quantile of 0.95.
    let yes = |rng: &mut Rng| {
        let worth = normal(rng);
        (f64::from(worth > 1.645), scored(worth, rng))
    };
    format!("numbers {}, marks {}, a yes in 20 {}", share(&numbers), share(&marks), share(&yes))
}

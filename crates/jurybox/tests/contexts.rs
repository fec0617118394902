//! Tests of a context column that names each item's group: what it gains where groups differ, and
//! what it costs where they do not.
//!
//! The first table takes a quarter of an hour, and the second needs a file named by `ROWS`: `cargo
//! test --release -p jurybox --test contexts -- --ignored --nocapture`.

mod support;

use jurybox::{Evaluator, Evaluators, Example, Interval, Jury};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::normal;

const ITEMS: usize = 60;
const ROUNDS: u64 = 200;
const J: usize = 6;

/// How groups differ.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Differ {
    Not,
    /// In which evaluators are good: each is good in some groups and useless in the others.
    Weights,
    /// In the reward of items with the same scores.
    Constants,
    /// As `Weights`, and the last group only comes in the second half of the rounds.
    Late,
}

/// How the groups of items are made known.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Told {
    Nothing,
    Context,
    /// A jury for each group; the items of all groups compete by the values of their juries.
    Apart,
}

/// An item: its reward, and its scores followed by its group.
fn item(groups: usize, differ: Differ, round: u64, yes: bool, rng: &mut ChaCha8Rng) -> (f64, Vec<f64>) {
    let there = if differ == Differ::Late && round < ROUNDS / 2 { groups - 1 } else { groups };
    let group = rng.random_range(0..there);
    let worth = normal(rng);
    let mut scores: Vec<f64> = (0..J)
        .map(|j| {
            let knows = match differ {
                Differ::Weights | Differ::Late => (j + group) % 2 == 0,
                _ => j < J / 2,
            };
            if knows { worth + (0.6 + 0.2 * j as f64) * normal(rng) } else { 1.5 * normal(rng) }
        })
        .collect();
    let more = if differ == Differ::Constants { 1.5 * group as f64 / (groups - 1) as f64 } else { 0.0 };
    let worth = worth + more + 0.3 * normal(rng);
    scores.push(group as f64);
    (if yes { f64::from(u8::from(worth > 1.3)) } else { worth }, scores)
}

/// The mean reward of the `k` items of each round that the juries value most; from these they
/// learn. The last number of an item is its group; `told` passes it to juries.
fn play(rounds: &[Vec<(f64, Vec<f64>)>], groups: usize, told: Told, policy: &str, k: usize) -> f64 {
    let scores = rounds[0][0].1.len() - 1;
    let width = if told == Told::Context { scores + 1 } else { scores };
    let names = (0..scores).map(|j| Evaluator::from(format!("e{j}")));
    let names = names.chain((told == Told::Context).then(|| Evaluator::context("group")));
    let evaluators = Evaluators::new(names).unwrap();
    let many = if told == Told::Apart { groups } else { 1 };
    let mut juries = vec![Jury::new(&policy.parse().unwrap(), evaluators).unwrap(); many];
    let mut reward = 0.0;
    for (round, items) in rounds.iter().enumerate() {
        // Items compete by the values that their own juries give.
        let mut valued: Vec<(f64, usize)> = Vec::new();
        for (of, jury) in juries.iter_mut().enumerate() {
            let is_mine = |at: &usize| told != Told::Apart || items[*at].1[scores] == of as f64;
            let mine: Vec<usize> = (0..items.len()).filter(is_mine).collect();
            if mine.is_empty() {
                continue;
            }
            let table: Vec<f64> = mine.iter().flat_map(|&at| items[at].1[..width].to_vec()).collect();
            jury.observe(&jury.scores(&table).unwrap(), round as u64).unwrap();
            let fitted = jury.fit();
            let values = fitted.values(&fitted.scores(&table).unwrap()).unwrap();
            valued.extend(values.into_iter().zip(mine));
        }
        valued.sort_by(|a, b| b.0.total_cmp(&a.0));
        for &(_, at) in valued.iter().take(k) {
            let (worth, row) = &items[at];
            reward += worth;
            let of = if told == Told::Apart { row[scores] as usize } else { 0 };
            let example = Example { scores: &row[..width], reward: *worth, receipt: None };
            juries[of].learn(&[example], round as u64).unwrap();
        }
    }
    reward / (rounds.len() * k) as f64
}

/// The gain in reward over a jury that knows no groups, in percent: with a context column, and with
/// a jury for each group.
fn brought(
    rounds: impl Fn(u64) -> Vec<Vec<(f64, Vec<f64>)>>,
    groups: usize,
    policy: &str,
    runs: u64,
) -> String {
    let mut more = [Vec::new(), Vec::new()];
    for seed in 0..runs {
        let rounds = rounds(seed);
        let without = play(&rounds, groups, Told::Nothing, policy, 5);
        for (more, told) in more.iter_mut().zip([Told::Context, Told::Apart]) {
            more.push(100.0 * (play(&rounds, groups, told, policy, 5) / without - 1.0));
        }
    }
    let said = |more: &Vec<f64>| {
        let more = Interval::of(more);
        format!("{:+.2} ± {:.2}", more.mean, more.half_width())
    };
    format!("{} | {}", said(&more[0]), said(&more[1]))
}

fn runs(default: u64) -> u64 {
    std::env::var("RUNS").map_or(default, |runs| runs.parse().unwrap())
}

/// A jury that has observed and learnt `items` items of two groups.
fn taught(policy: &str, differ: Differ, items: usize, seed: u64) -> Jury {
    let names = (0..J).map(|j| Evaluator::from(format!("e{j}"))).chain([Evaluator::context("group")]);
    let mut jury = Jury::new(&policy.parse().unwrap(), Evaluators::new(names).unwrap()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..items {
        let (reward, scores) = item(2, differ, 0, policy.contains("levels"), &mut rng);
        jury.observe(&jury.scores(&scores).unwrap(), 0).unwrap();
        jury.learn(&[Example { scores: &scores, reward, receipt: None }], 0).unwrap();
    }
    jury
}

#[test]
fn weights_differ_by_group_where_the_labels_say_so_and_not_elsewhere() {
    let fitted = taught("adaptive", Differ::Weights, 400, 1).fit();
    let weights = |group: f64| fitted.group_weights(J, group).unwrap().1;
    // The first evaluator is good in group 0, and the second in group 1.
    assert!(weights(0.0)[0] > 4.0 * weights(0.0)[1].abs(), "{:?}", weights(0.0));
    assert!(weights(1.0)[1] > 4.0 * weights(1.0)[0].abs(), "{:?}", weights(1.0));
    let fitted = taught("adaptive", Differ::Not, 400, 1).fit();
    let shared = fitted.weights().unwrap();
    for group in [0.0, 1.0] {
        let own = fitted.group_weights(J, group).map_or(shared.to_vec(), |(_, weights)| weights);
        for (own, shared) in own.iter().zip(shared) {
            assert!((own - shared).abs() < 0.05, "{own} {shared}");
        }
    }
}

#[test]
fn a_group_that_is_not_known_is_valued_by_what_all_share() {
    for policy in ["adaptive", "adaptive(levels=true)", "adaptive(draws=4)"] {
        let fitted = taught(policy, Differ::Constants, 300, 2).fit();
        let row = |group: f64| [0.5, 1.0, 0.2, -0.3, 0.1, 0.4, group];
        let value = |group: f64| fitted.values(&fitted.scores(&row(group)).unwrap()).unwrap()[0];
        assert_eq!(value(77.0), value(f64::NAN), "{policy}");
        assert!(value(1.0) > value(77.0) && value(77.0) > value(0.0), "{policy}");
        for group in [0.0, 1.0, 77.0, f64::NAN] {
            let why = fitted.contributions(&row(group)).unwrap().unwrap();
            let sum = why.base + why.each.iter().sum::<f64>();
            assert!((sum - value(group)).abs() < 1e-9, "{policy}: {sum} {}", value(group));
        }
    }
}

#[test]
fn contexts_are_saved_merged_and_moved() {
    let (a, b) = (taught("adaptive", Differ::Weights, 200, 3), taught("adaptive", Differ::Weights, 200, 4));
    let read = Jury::from_json(&a.to_json()).unwrap();
    assert_eq!(read.to_bytes(), a.to_bytes());
    assert_eq!(read.fit().group_weights(J, 0.0), a.fit().group_weights(J, 0.0));
    let (mut merged, mut reversed) = (a.clone(), b.clone());
    merged.merge(&b).unwrap();
    reversed.merge(&a).unwrap();
    let weights = |jury: &Jury| jury.fit().group_weights(J, 1.0).unwrap().1;
    for (one, other) in weights(&merged).iter().zip(weights(&reversed)) {
        assert!((one - other).abs() < 1e-9, "{one} {other}");
    }
    // The context is removed, or moved to the front: labels keep their scores. Without the context,
    // group weights are gone.
    let mut jury = a.clone();
    jury.set_evaluators(Evaluators::new((0..J).map(|j| format!("e{j}"))).unwrap()).unwrap();
    assert_eq!((jury.fit().group_weights(J, 0.0), jury.seen().used), (None, 200));
    let mut jury = a.clone();
    let names =
        [Evaluator::context("group")].into_iter().chain((0..J).map(|j| Evaluator::from(format!("e{j}"))));
    jury.set_evaluators(Evaluators::new(names).unwrap()).unwrap();
    let moved = jury.fit().group_weights(0, 0.0).unwrap().1;
    for (there, here) in moved[1..].iter().zip(&a.fit().group_weights(J, 0.0).unwrap().1) {
        assert!((there - here).abs() < 1e-6, "{there} {here}");
    }
}

#[test]
fn who_cannot_tell_groups_apart_says_so() {
    for entry in jurybox::policies().iter().filter(|entry| entry.name != "adaptive") {
        let spec = match entry.name {
            "oracle" => "oracle(alpha=[1,1],sigma=1)".parse().unwrap(),
            name => name.parse().unwrap(),
        };
        let evaluators = Evaluators::new(["a".into(), Evaluator::context("language")]).unwrap();
        let message = Jury::new(&spec, evaluators).unwrap_err().to_string();
        assert!(message.contains(entry.name) && message.contains("adaptive"), "{message}");
    }
    let alone = Evaluators::new([Evaluator::context("language")]).unwrap();
    assert!(
        Jury::new(&"adaptive".parse().unwrap(), alone)
            .unwrap_err()
            .to_string()
            .contains("no evaluator beside")
    );
    let turned = Evaluators::new(["a".into(), Evaluator::context("language")]).unwrap();
    assert!(Jury::new(&"adaptive(inverted=[1])".parse().unwrap(), turned).is_err());
}

#[test]
#[ignore = "a table, which takes a quarter of an hour"]
#[expect(clippy::print_stdout, reason = "the table")]
fn table_of_what_context_brings() {
    println!(
        "rewards, groups, how they differ: what is added to the reward, in %: context | a jury for each group"
    );
    for (policy, yes) in [("adaptive", false), ("adaptive(levels=true)", true)] {
        for groups in [2, 8] {
            for differ in [Differ::Not, Differ::Constants, Differ::Weights, Differ::Late] {
                let rounds = |seed| -> Vec<Vec<(f64, Vec<f64>)>> {
                    let mut rng = ChaCha8Rng::seed_from_u64(seed);
                    let mut round =
                        |round| (0..ITEMS).map(|_| item(groups, differ, round, yes, &mut rng)).collect();
                    (0..ROUNDS).map(&mut round).collect()
                };
                let rewards = if yes { "yes/no" } else { "numbers" };
                println!("{rewards} {groups} {differ:?}: {}", brought(rounds, groups, policy, runs(20)));
            }
        }
    }
}

/// Prints the table for rows of a file without a header, named by `ROWS`. The reward is in the
/// first column, the group (0, 1, ...) in the last, scores between.
#[test]
#[ignore = "needs a file, named by ROWS"]
#[expect(clippy::print_stdout, reason = "the table")]
fn table_of_rows_of_ones_own() {
    let text =
        std::fs::read_to_string(std::env::var("ROWS").expect("ROWS is a file")).expect("it can be read");
    let number = |cell: &str| cell.parse().unwrap_or(f64::NAN);
    let rows: Vec<(f64, Vec<f64>)> = text
        .lines()
        .map(|line| line.split(',').map(number).collect::<Vec<f64>>())
        .map(|row| (row[0], row[1..].to_vec()))
        .collect();
    let groups = rows.iter().map(|row| row.1[row.1.len() - 1] as usize).max().unwrap() + 1;
    // Each row is used at most once.
    let rounds = |seed| -> Vec<Vec<(f64, Vec<f64>)>> {
        let (mut rows, mut rng) = (rows.clone(), ChaCha8Rng::seed_from_u64(seed));
        for at in (1..rows.len()).rev() {
            rows.swap(at, rng.random_range(0..=at));
        }
        rows.chunks_exact(ITEMS).take(ROUNDS as usize).map(<[_]>::to_vec).collect()
    };
    println!("{groups} groups: {}", brought(rounds, groups, "adaptive", runs(10)));
}

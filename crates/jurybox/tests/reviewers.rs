//! Tests with five reviewers, one of them careless: what that costs with and without reviewers'
//! names, and what the fit reports about each reviewer.
//!
//! The table takes half an hour: `cargo test --release -p jurybox --test reviewers -- --ignored
//! --nocapture`.

mod support;

use jurybox::options::Fraction;
use jurybox::{Evaluators, Example, Interval, Jury, Reviewer, Spec, Standing};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;
use support::normal;

const ITEMS: usize = 60;
const REVIEWERS: usize = 5;
/// Standard deviations of the evaluators' noise. A score is the worth of the item plus noise.
const NOISE: [f64; 6] = [0.6, 0.9, 1.2, 1.6, 2.5, 4.0];
/// Standard deviation of the noise in a careful reviewer's verdicts.
const CAREFUL: f64 = 0.3;

/// How verdicts are expressed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdicts {
    Numbers,
    Marks,
    /// Yes or no; the number is the percentage of yes, 15 or 5.
    Yes(u32),
}

/// What the last of the five reviewers does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Habit {
    Careful,
    /// A random verdict with probability one half.
    Random,
    /// Always the same high verdict: 2 as a number, mark 5, or yes.
    Same,
    /// One unit or mark lower, or yes half as often.
    Severe,
    /// Four times the noise of careful reviewers.
    Noisy,
}

/// Which items the last reviewer sees.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sees {
    /// Random picks.
    Any,
    /// The picks that the last evaluator, the noisiest, scores highest.
    Some,
}

/// An item; each score is its worth plus noise.
struct Item {
    worth: f64,
    scores: Vec<f64>,
    /// The noise of a verdict on the item, standard normal.
    chance: f64,
    /// A uniform random number: below one half it makes `Habit::Random` give a random verdict.
    decides: f64,
}

impl Item {
    fn new(rng: &mut ChaCha8Rng) -> Self {
        let worth = normal(rng);
        let scores = NOISE.iter().map(|noise| worth + noise * normal(rng)).collect();
        Item { worth, scores, chance: normal(rng), decides: rng.random() }
    }

    fn verdict(&self, verdicts: Verdicts, habit: Habit) -> f64 {
        let noise = if habit == Habit::Noisy { 4.0 * CAREFUL } else { CAREFUL };
        let seen = self.worth + noise * self.chance;
        let random = (habit == Habit::Random && self.decides < 0.5).then_some(2.0 * self.decides);
        let severe = f64::from(u8::from(habit == Habit::Severe));
        match verdicts {
            Verdicts::Numbers if habit == Habit::Same => 2.0,
            Verdicts::Numbers => random.map_or(seen, |_| self.chance) - severe,
            Verdicts::Marks if habit == Habit::Same => 5.0,
            Verdicts::Marks => {
                let mark = 1 + [-0.4, 0.25, 0.85, 1.4].iter().filter(|&&above| seen > above).count();
                let mark = random.map_or(mark as f64, |random| 1.0 + (5.0 * random).floor());
                (mark - severe).max(1.0)
            }
            Verdicts::Yes(_) if habit == Habit::Same => 1.0,
            Verdicts::Yes(rate) => {
                // A careful reviewer says yes at the rate, and a severe one half as often.
                let above = match (rate, habit) {
                    (15, Habit::Severe) => 1.503,
                    (15, _) => 1.082,
                    (_, Habit::Severe) => 2.046,
                    _ => 1.717,
                };
                f64::from(u8::from(random.map_or(seen > above, |random| random > 0.5)))
            }
        }
    }
}

struct Played {
    /// The mean verdict per pick if all reviewers had been careful.
    reward: f64,
    jury: Jury,
}

fn name(reviewer: usize) -> Reviewer {
    Reviewer::named(&format!("reviewer {reviewer}"))
}

#[expect(clippy::too_many_arguments, reason = "a world, what is told of it, and how long it goes on")]
fn play(
    policy: &str,
    verdicts: Verdicts,
    habit: Habit,
    sees: Sees,
    named: bool,
    k: usize,
    rounds: u64,
    seed: u64,
) -> Played {
    let spec: Spec = policy.parse().unwrap();
    let mut jury = Jury::new(&spec, Evaluators::numbered(NOISE.len()).unwrap()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut reward = 0.0;
    for round in 0..rounds {
        let items: Vec<Item> = (0..ITEMS).map(|_| Item::new(&mut rng)).collect();
        let table: Vec<f64> = items.iter().flat_map(|item| item.scores.clone()).collect();
        let scores = jury.scores(&table).unwrap();
        let mut picks = jury.round(&scores, round, k, &mut ChaCha8Rng::seed_from_u64(round)).unwrap();
        if sees == Sees::Some {
            picks.sort_by(|a, b| items[a.item].scores[5].total_cmp(&items[b.item].scores[5]));
        }
        let mut chance = ChaCha8Rng::seed_from_u64(seed ^ (round << 20));
        for (at, pick) in picks.iter().enumerate() {
            let item = &items[pick.item];
            let who = match sees {
                Sees::Any => chance.random_range(0..REVIEWERS),
                Sees::Some => at * REVIEWERS / k,
            };
            reward += item.verdict(verdicts, Habit::Careful);
            let said = item.verdict(verdicts, if who == REVIEWERS - 1 { habit } else { Habit::Careful });
            let example = Example { scores: &item.scores, reward: said, receipt: Some(&pick.receipt) };
            jury.learn_by(&[example], &[named.then(|| name(who))], round).unwrap();
        }
    }
    Played { reward: reward / (rounds * k as u64) as f64, jury }
}

fn standing(jury: &Jury, reviewer: usize) -> Standing {
    let level = Fraction::try_from(0.9).unwrap();
    let standings = jury.fit().reviewers(level);
    *standings.iter().find(|standing| standing.reviewer == Some(name(reviewer))).unwrap()
}

#[test]
fn a_noisy_reviewer_is_found_and_counts_for_less() {
    let played = play("adaptive", Verdicts::Numbers, Habit::Noisy, Sees::Any, true, 5, 80, 3);
    let noisy = standing(&played.jury, 4);
    // The worth has variance 0.16 given all scores. So residuals have standard deviation
    // sqrt(0.16 + 0.3^2) = 0.5 for careful reviewers, and sqrt(0.16 + 1.2^2) = 1.3 for the noisy
    // one.
    assert!(noisy.noise.low > 1.3 && noisy.weight < 0.6, "{noisy:?}");
    for reviewer in 0..4 {
        let careful = standing(&played.jury, reviewer);
        assert!(careful.noise.low < 1.0 && careful.noise.high > 1.0, "{careful:?}");
        assert!(careful.weight > 0.6, "{careful:?}");
    }
    let labels: u64 = (0..REVIEWERS).map(|reviewer| standing(&played.jury, reviewer).labels).sum();
    assert_eq!(labels, 400);
}

#[test]
fn severity_is_told_apart_from_noise() {
    let played = play("adaptive", Verdicts::Numbers, Habit::Severe, Sees::Any, true, 5, 80, 4);
    let severe = standing(&played.jury, 4);
    assert!(severe.severity.low < -1.0 && -1.0 < severe.severity.high, "{severe:?}");
    assert!(severe.severity.half_width() < 0.3 && severe.weight > 0.7, "{severe:?}");
}

#[test]
fn who_always_says_the_same_tells_nothing() {
    for policy in ["adaptive", "adaptive(levels=true)"] {
        let played = play(policy, Verdicts::Yes(15), Habit::Same, Sees::Any, true, 5, 80, 5);
        let same = standing(&played.jury, 4);
        assert!(same.weight < 0.1 && same.noise.low > 1.5 && same.severity.low > 0.0, "{policy}: {same:?}");
    }
}

/// The largest absolute difference between the weights of two juries.
fn apart(named: &Jury, unnamed: &Jury) -> f64 {
    let (named, unnamed) = (named.fit(), unnamed.fit());
    let both = named.weights().unwrap().iter().zip(unnamed.weights().unwrap());
    both.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// A jury that has learnt 150 marks of careful reviewers on random items, with or without names.
fn history(named: bool, seed: u64) -> Jury {
    let mut jury = Jury::new(&Spec::default(), Evaluators::numbered(NOISE.len()).unwrap()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for at in 0..150 {
        let item = Item::new(&mut rng);
        let reward = item.verdict(Verdicts::Marks, Habit::Careful);
        jury.observe(&jury.scores(&item.scores).unwrap(), 0).unwrap();
        let example = Example { scores: &item.scores, reward, receipt: None };
        jury.learn_by(&[example], &[named.then(|| name(at % REVIEWERS))], 0).unwrap();
    }
    jury
}

#[test]
fn careful_reviewers_are_fitted_as_if_nobody_had_named_them() {
    let mut alike = 0;
    for seed in 0..10 {
        let (named, unnamed) = (history(true, seed), history(false, seed));
        let level = Fraction::try_from(0.9).unwrap();
        assert!(unnamed.fit().reviewers(level).is_empty());
        if (0..REVIEWERS).all(|reviewer| standing(&named, reviewer).weight == 1.0) {
            alike += 1;
            let apart = apart(&named, &unnamed);
            assert!(apart < 1e-9, "{apart}");
        }
    }
    // By chance a careful reviewer may get a lower weight.
    assert!(alike >= 7, "{alike}");
}

#[test]
fn reviewers_are_saved_merged_and_refused_like_all_else() {
    let of = |seed| play("adaptive", Verdicts::Numbers, Habit::Noisy, Sees::Any, true, 5, 40, seed).jury;
    let (a, b) = (of(7), of(8));
    for read in [Jury::from_bytes(&a.to_bytes()).unwrap(), Jury::from_json(&a.to_json()).unwrap()] {
        assert_eq!(read.to_bytes(), a.to_bytes());
        assert_eq!(standing(&read, 4), standing(&a, 4));
    }
    let (mut merged, mut reversed) = (a.clone(), b.clone());
    merged.merge(&b).unwrap();
    reversed.merge(&a).unwrap();
    for reviewer in 0..REVIEWERS {
        let (one, other) = (standing(&merged, reviewer), standing(&reversed, reviewer));
        assert_eq!(one.labels, standing(&a, reviewer).labels + standing(&b, reviewer).labels);
        assert!((one.noise.mean - other.noise.mean).abs() < 1e-9, "{one:?} {other:?}");
        assert!((one.severity.mean - other.severity.mean).abs() < 1e-9);
    }
    let (mut jury, before) = (a.clone(), a.to_bytes());
    let scores = [0.0; NOISE.len()];
    let example = Example { scores: &scores, reward: 1.0, receipt: None };
    assert!(
        jury.learn_by(&[example], &[], 0).unwrap_err().to_string().starts_with("0 reviewers for 1 examples")
    );
    assert!(
        jury.learn_by(&[example, Example { reward: f64::NAN, ..example }], &[Some(name(0)); 2], 0).is_err()
    );
    assert_eq!(jury.to_bytes(), before);
    let mut document: serde_json::Value = serde_json::from_str(&a.to_json()).unwrap();
    let values = document.pointer_mut("/state/labelled/kept/0/values").unwrap().as_array_mut().unwrap();
    *values.last_mut().unwrap() = 0.5.into();
    assert!(Jury::from_json(&document.to_string()).is_err());
    // Learning without a name is the same as plain learning.
    let (mut plain, mut nobody) = (Jury::from_bytes(&before).unwrap(), Jury::from_bytes(&before).unwrap());
    plain.learn(&[example], 50).unwrap();
    nobody.learn_by(&[example], &[None], 50).unwrap();
    assert_eq!(plain.to_bytes(), nobody.to_bytes());
}

#[test]
#[ignore = "a table, which takes half an hour"]
#[expect(clippy::print_stdout, reason = "the table")]
fn table_of_what_a_careless_reviewer_costs() {
    let runs: u64 = std::env::var("RUNS").map_or(20, |runs| runs.parse().unwrap());
    let ks: Vec<usize> =
        std::env::var("KS").map_or(vec![5, 10], |ks| ks.split(',').map(|k| k.parse().unwrap()).collect());
    println!(
        "policy, verdicts, K, sees, habit: cost in % of the reward, with names | without | severity, noise, weight"
    );
    for policy in ["adaptive", "adaptive(levels=true)"] {
        for verdicts in [Verdicts::Numbers, Verdicts::Marks, Verdicts::Yes(15), Verdicts::Yes(5)] {
            if verdicts == Verdicts::Numbers && policy != "adaptive" {
                continue;
            }
            for &k in &ks {
                for sees in [Sees::Any, Sees::Some] {
                    let careful: Vec<f64> = (0..runs)
                        .map(|seed| play(policy, verdicts, Habit::Careful, sees, false, k, 200, seed).reward)
                        .collect();
                    for habit in [Habit::Careful, Habit::Random, Habit::Same, Habit::Severe, Habit::Noisy] {
                        let mut line = format!("{policy} {verdicts:?} {k} {sees:?} {habit:?}:");
                        let mut last = None;
                        for named in [true, false] {
                            let of = |seed| play(policy, verdicts, habit, sees, named, k, 200, seed);
                            let played: Vec<Played> = (0..runs).map(of).collect();
                            let cost =
                                |(played, careful): (&Played, &f64)| 100.0 * (1.0 - played.reward / careful);
                            let costs: Vec<f64> = played.iter().zip(&careful).map(cost).collect();
                            let cost = Interval::of(&costs);
                            let _ = write!(line, " {:+.2} ± {:.2} |", cost.mean, cost.half_width());
                            last = last.or(played.into_iter().next());
                        }
                        let last = standing(&last.unwrap().jury, 4);
                        println!(
                            "{line} {:+.2}, {:.2}, {:.2}",
                            last.severity.mean, last.noise.mean, last.weight
                        );
                    }
                }
            }
        }
    }
}

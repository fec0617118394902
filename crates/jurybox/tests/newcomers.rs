//! Tests that a group or reviewer that joins later, with rewards of another level, raises no alarm
//! on rewards, while true changes still do.

mod support;

use jurybox::{Alarm, Evaluator, Evaluators, Jury, Reviewer, Spec};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::{judged, normal};

const ITEMS: usize = 40;
const K: usize = 8;
/// Number of columns: three scores and the group.
const J: usize = 4;
/// The round from which on a newcomer may appear.
const COMES: u64 = 150;
/// Number of rounds in all.
const ROUNDS: u64 = 400;

/// The reward of an item by its two qualities, its group, its reviewer and the round. The first
/// evaluator scores the second quality, the others the first.
type Reward = fn(worth: [f64; 2], group: u64, reviewer: u64, at: u64) -> f64;

/// Plays all rounds with the reviewer ann and the possible newcomer bob, and looks for alarms on
/// rewards after every eighth round. Returns these alarms with the rounds at which they were seen.
fn cries(newcomer: [bool; 2], reward: Reward, seed: u64) -> Vec<(u64, Alarm)> {
    cries_of(&["ann", "bob"].map(String::from), newcomer, reward, seed)
}

/// Plays as `cries` does, with the reviewers `names`. `newcomer` says whether a second group and a
/// second reviewer join. If there are more than two reviewers, each item has a random one from the
/// start.
fn cries_of(names: &[String], newcomer: [bool; 2], reward: Reward, seed: u64) -> Vec<(u64, Alarm)> {
    let columns_kept =
        ["a", "b", "c"].map(Evaluator::from).into_iter().chain([Evaluator::context("language")]);
    let mut jury = Jury::new(&Spec::new("adaptive"), Evaluators::new(columns_kept).unwrap()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut told = Vec::new();
    for at in 0..ROUNDS {
        let of = |new: bool, rng: &mut ChaCha8Rng| {
            u64::from(new && at >= COMES && rng.next_u64().is_multiple_of(2))
        };
        let (mut table, mut rewards) = (Vec::new(), Vec::new());
        let any = |rng: &mut ChaCha8Rng| rng.next_u64() % names.len() as u64;
        let who = |rng: &mut ChaCha8Rng| if names.len() > 2 { any(rng) } else { of(newcomer[1], rng) };
        let reviewers: Vec<u64> = (0..ITEMS).map(|_| who(&mut rng)).collect();
        for reviewer in &reviewers {
            let (worth, group) = ([normal(&mut rng), normal(&mut rng)], of(newcomer[0], &mut rng));
            for j in 0..J - 1 {
                table.push(worth[usize::from(j == 0)] + 0.5 * normal(&mut rng));
            }
            table.push(group as f64);
            rewards.push(reward(worth, group, *reviewer, at) + 0.3 * normal(&mut rng));
        }
        let scores = jury.scores(&table).unwrap();
        let picks = jury.round(&scores, at, K, &mut rng).unwrap();
        let who = |item: usize| Some(Reviewer::named(&names[reviewers[item] as usize]));
        let named: Vec<Option<Reviewer>> = picks.iter().map(|pick| who(pick.item)).collect();
        jury.learn_by(&judged(&scores, &rewards, &picks), &named, at).unwrap();
        if at % 8 == 7 {
            let fitted = jury.fit();
            told.extend(fitted.alarms().iter().filter(|a| a.evaluator.is_none()).map(|a| (at, a.clone())));
        }
    }
    told
}

#[test]
fn a_newcomer_is_no_change_of_rewards() {
    for seed in 0..2 {
        // A new group whose rewards are higher, lower, or follow the other quality; a severe new
        // reviewer; a new group and a new reviewer.
        let worlds: [([bool; 2], Reward); 5] = [
            ([true, false], |worth, group, _, _| worth[0] + 2.0 * group as f64),
            ([true, false], |worth, group, _, _| worth[0] - 2.0 * group as f64),
            ([true, false], |worth, group, _, _| worth[group as usize]),
            ([false, true], |worth, _, reviewer, _| worth[0] - 1.5 * reviewer as f64),
            ([true, true], |worth, group, reviewer, _| worth[0] + 2.0 * group as f64 - reviewer as f64),
        ];
        for (at, (newcomer, reward)) in worlds.into_iter().enumerate() {
            let told = cries(newcomer, reward, seed);
            assert!(told.is_empty(), "world {at}, seed {seed}: {:?} of {}", told[0], told.len());
        }
    }
}

/// A change of rewards at round 250 is seen within 60 rounds, with newcomers or without.
#[test]
fn a_change_beside_newcomers_is_seen() {
    for seed in 0..2 {
        for newcomer in [[false, false], [true, true]] {
            let told = cries(
                newcomer,
                |worth, group, reviewer, at| {
                    worth[0] + 2.0 * group as f64 - reviewer as f64 - if at >= 250 { 0.7 } else { 0.0 }
                },
                seed,
            );
            let right = |(at, alarm): &(u64, Alarm)| *at <= 310 && (alarm.since..=alarm.until).contains(&250);
            assert!(told.iter().any(right), "{newcomer:?}, {seed}: {told:?}");
            assert!(told.iter().all(|(at, _)| *at >= 250), "{newcomer:?}, {seed}: {told:?}");
        }
    }
}

/// A change of rewards is also seen if 400 reviewers judge about eight items each.
#[test]
fn a_change_that_a_crowd_tells_of_is_seen() {
    let names: Vec<String> = (0..400).map(|name| format!("r{name}")).collect();
    for seed in 0..2 {
        let told = cries_of(
            &names,
            [false; 2],
            |worth, _, _, at| worth[0] - if at >= 250 { 1.0 } else { 0.0 },
            seed,
        );
        assert!(told.iter().all(|(at, _)| *at >= 250), "seed {seed}: {:?}", told[0]);
        assert!(told.iter().any(|(at, _)| *at < 310), "seed {seed}: {:?}", told.first());
    }
}

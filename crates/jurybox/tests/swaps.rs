//! Tests of two evaluators that swap their noise again and again: each swap raises an alarm, and
//! the picks adapt.
//!
//! `cargo test --release -p jurybox --test swaps -- --ignored --nocapture` prints a table.
#![allow(clippy::print_stdout, clippy::allow_attributes, reason = "a table is printed")]

mod support;

use jurybox::{Alarm, Jury};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use support::*;

const J: usize = 6;
const ITEMS: usize = 40;
const K: usize = 8;
/// Standard deviations of the evaluators' noise; the first two are swapped.
const NOISE: [f64; J] = [0.4, 2.4, 0.8, 1.0, 1.2, 1.6];

/// What happened after one swap.
#[derive(Debug, Clone)]
struct Swap {
    /// Rounds until an alarm about this swap; None if there was none before the next swap.
    delay: Option<u64>,
    /// Rewards of the jury's picks, and of the best picks if the noise is known. The first rounds
    /// after the swap do not count: 200, or half of those to the next swap if that is fewer.
    earned: [f64; 2],
    /// Number of checks without an alarm, after the first alarm.
    lost: u64,
}

/// The evaluators' noise after `swaps` swaps.
fn noise(swaps: u64) -> [f64; J] {
    let mut noise = NOISE;
    if swaps % 2 == 1 {
        noise.swap(0, 1);
    }
    noise
}

/// Plays `first` rounds, then `swaps` swaps with `interval` rounds after each.
fn play(first: u64, interval: u64, swaps: u64, seed: u64) -> (Jury, Vec<Swap>) {
    play_from(|jury, _| jury, first, interval, swaps, seed)
}

/// Plays as `play` does, with `before` applied to the jury before each round.
fn play_from(
    before: impl Fn(Jury, u64) -> Jury,
    first: u64,
    interval: u64,
    swaps: u64,
    seed: u64,
) -> (Jury, Vec<Swap>) {
    let mut jury = jury_of(&"adaptive".parse().unwrap(), J);
    let (mut world, mut rng) = (ChaCha8Rng::seed_from_u64(seed), ChaCha8Rng::seed_from_u64(seed));
    let mut all = vec![Swap { delay: None, earned: [0.0; 2], lost: 0 }; swaps as usize];
    for at in 0..first + swaps * interval {
        let done = if at < first { 0 } else { 1 + (at - first) / interval };
        let noise = noise(done);
        jury = before(jury, at);
        let rewards: Vec<f64> = (0..ITEMS).map(|_| normal(&mut world)).collect();
        let table: Vec<f64> =
            rewards.iter().flat_map(|r| noise.map(|noise| r + noise * normal(&mut world))).collect();
        let scores = jury.scores(&table).unwrap();
        let picks = jury.round(&scores, at, K, &mut rng).unwrap();
        jury.learn(&judged(&scores, &rewards, &picks), at).unwrap();
        let Some(swap) = done.checked_sub(1).map(|last| &mut all[last as usize]) else { continue };
        let since = at - first - (done - 1) * interval;
        if since >= 200.min(interval / 2) {
            let value = |item: usize| -> f64 { (0..J).map(|j| table[item * J + j] / noise[j].powi(2)).sum() };
            let mut best: Vec<usize> = (0..ITEMS).collect();
            best.sort_by(|a, b| value(*b).total_cmp(&value(*a)));
            swap.earned[0] += picks.iter().map(|pick| rewards[pick.item]).sum::<f64>();
            swap.earned[1] += best[..K].iter().map(|item| rewards[*item]).sum::<f64>();
        }
        if at % 4 == 3 {
            let when = at - since;
            let told = jury.fit().alarms().iter().any(|alarm| {
                alarm.evaluator.is_some_and(|who| who < 2) && (alarm.since..=alarm.until).contains(&when)
            });
            match (told, swap.delay) {
                (true, None) => swap.delay = Some(since + 1),
                (false, Some(_)) => swap.lost += 1,
                _ => {}
            }
        }
    }
    (jury, all)
}

/// From the second swap on, each brings back the noise of an earlier time, and must be noticed all
/// the same.
#[test]
fn each_swap_is_told_and_trust_follows_it() {
    for (first, interval, swaps) in [(200, 60, 6), (1000, 60, 4), (200, 200, 6), (200, 1000, 3)] {
        let (jury, all) = play(first, interval, swaps, 1);
        for (at, swap) in all.iter().enumerate() {
            assert!(swap.delay.is_some_and(|delay| delay <= 40), "{at} of {interval}: {all:?}");
            assert!(swap.earned[0] >= 0.99 * swap.earned[1], "{at} of {interval}: {all:?}");
        }
        // In the end all alarms are about the last swap, and none is about the other evaluators.
        let (alarms, last) = (jury.fit().alarms().to_vec(), first + (swaps - 1) * interval);
        let right = |alarm: &Alarm| (alarm.since..=alarm.until).contains(&last) && alarm.evaluator < Some(2);
        assert!(alarms.iter().all(right) && alarms.len() >= 2, "{alarms:?}");
    }
}

/// Confirmed changes are part of the state: saving and reading a jury, also between rounds, changes
/// nothing.
#[test]
fn what_is_settled_is_part_of_the_state() {
    let (jury, _) = play(200, 60, 4, 2);
    let told = jury.fit().alarms().to_vec();
    for read in [Jury::from_bytes(&jury.to_bytes()).unwrap(), Jury::from_json(&jury.to_json()).unwrap()] {
        assert_eq!(read.to_bytes(), jury.to_bytes());
        assert_eq!(read.fit().alarms(), told);
    }
    let interrupted = |jury: Jury, at: u64| {
        if at.is_multiple_of(37) { Jury::from_bytes(&jury.to_bytes()).unwrap() } else { jury }
    };
    assert_eq!(play_from(interrupted, 200, 60, 4, 2).0.to_bytes(), jury.to_bytes());
    let state: serde_json::Value = serde_json::from_str(&jury.to_json()).unwrap();
    let settled = &state["state"]["settled"];
    assert!(settled["since"].as_u64().unwrap() >= 300, "{settled}");
    // Merging with an empty jury changes nothing, on either side.
    let none = jury_of(&"adaptive".parse().unwrap(), J);
    let (mut one, mut other) = (jury.clone(), none.clone());
    one.merge(&none).unwrap();
    other.merge(&jury).unwrap();
    assert_same_state(&one, &other, "none");
    assert_eq!((one.fit().alarms(), other.fit().alarms()), (&told[..], &told[..]));
    // An impossible time of a confirmed change is refused.
    let mut damaged = state.clone();
    damaged["state"]["settled"]["since"] = 0.into();
    assert!(Jury::from_json(&damaged.to_string()).is_err());
    assert!(Jury::from_json(&state.to_string()).is_ok());
}

#[test]
#[ignore = "a table, for minutes"]
fn table() {
    for (swaps, interval) in [(6, 60), (6, 200), (4, 1000)] {
        for first in [200, 1000] {
            let runs: Vec<Vec<Swap>> = (0..8).map(|seed| play(first, interval, swaps, seed).1).collect();
            for at in 0..swaps as usize {
                let mut delays: Vec<u64> = runs.iter().map(|run| run[at].delay.unwrap_or(u64::MAX)).collect();
                delays.sort_unstable();
                let lost: u64 = runs.iter().map(|run| run[at].lost).sum();
                let earned = |of: usize| -> f64 { runs.iter().map(|run| run[at].earned[of]).sum() };
                println!(
                    "swap {} of {swaps} every {interval} after {first}: told after {delays:?}, lost {lost}, {:.4} of the best",
                    at + 1,
                    earned(0) / earned(1)
                );
            }
        }
    }
}

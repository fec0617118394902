//! Tests how policy `adaptive` deals with drift: it raises alarms when evaluators or rewards
//! change, says when, and forgets what no longer holds.

mod support;

use jurybox::{Alarm, Error, Example, Jury, Reading};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use support::*;

const J: usize = 6;
const ITEMS: usize = 40;
const K: usize = 8;

/// The rewards of a round's items, and their scores row by row.
type Round = (Vec<f64>, Vec<f64>);

/// Rounds of standard normal rewards. A score is the reward plus normal noise with the standard
/// deviation `noise(round, evaluator)`.
fn rounds(count: u64, seed: u64, noise: impl Fn(u64, usize) -> f64) -> Vec<Round> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count)
        .map(|t| {
            let rewards: Vec<f64> = (0..ITEMS).map(|_| normal(&mut rng)).collect();
            let score = |r: f64, j: usize, rng: &mut ChaCha8Rng| r + noise(t, j) * normal(rng);
            let table = rewards.iter().flat_map(|&r| (0..J).map(move |j| (r, j)));
            let table = table.map(|(r, j)| score(r, j, &mut rng)).collect();
            (rewards, table)
        })
        .collect()
}

/// The third evaluator's noise is six times as large from round `change` on.
fn breaking(change: u64) -> impl Fn(u64, usize) -> f64 {
    move |t, j| if j == 2 && t >= change { 3.0 } else { 0.5 }
}

/// The first three evaluators are good before round `change`, the last three from then on.
fn swapping(change: u64) -> impl Fn(u64, usize) -> f64 {
    move |t, j| if (j < 3) == (t < change) { 0.3 } else { 4.0 }
}

fn new_jury(spec: &str) -> Jury {
    jury_of(&spec.parse().unwrap(), J)
}

/// Plays the rounds at times from `first` on, learning at once. Returns the sum of rewards of each
/// round's picks.
fn play(jury: &mut Jury, rounds: &[Round], first: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let one = |((rewards, table), at): (&Round, u64)| {
        let picks = jury.round(&jury.scores(table).unwrap(), at, K, &mut rng).unwrap();
        for pick in &picks {
            let scores = &table[pick.item * J..(pick.item + 1) * J];
            let example = Example { scores, reward: rewards[pick.item], receipt: Some(&pick.receipt) };
            jury.learn(&[example], at).unwrap();
        }
        picks.iter().map(|pick| rewards[pick.item]).sum()
    };
    rounds.iter().zip(first..).map(one).collect()
}

/// Hours from 1970 to November 2023.
const EPOCH: u64 = 472_222;

/// Observes the scores of the rounds, at times that are `unit` apart.
fn show(jury: &mut Jury, rounds: &[Round], unit: u64) {
    for ((_, table), at) in rounds.iter().zip(0..) {
        jury.observe(&jury.scores(table).unwrap(), unit * (EPOCH + at)).unwrap();
    }
}

fn sum(rewards: &[f64]) -> f64 {
    rewards.iter().sum()
}

#[test]
fn an_alarm_names_the_evaluator_and_the_round_and_steady_worlds_raise_none() {
    let mut jury = new_jury("adaptive");
    play(&mut jury, &rounds(240, 7, breaking(160)), 0);
    let alarms = jury.fit().alarms().to_vec();
    let spread = alarms.iter().find(|a| a.reading == Reading::Spread).unwrap();
    assert!(spread.evaluator == Some(2) && spread.after > spread.before, "{alarms:?}");
    assert!((spread.since..=spread.until).contains(&160) && spread.until <= spread.since + 22, "{alarms:?}");
    assert!(spread.confidence > 0.995);
    assert!(
        alarms.iter().all(|a| a.evaluator == Some(2)),
        "only the third evaluator changed, so no other is blamed: {alarms:?}"
    );
    for seed in 100..120 {
        let mut jury = new_jury("adaptive");
        play(&mut jury, &rounds(240, seed, breaking(u64::MAX)), 0);
        assert!(jury.fit().alarms().is_empty(), "{seed}: {:?}", jury.fit().alarms());
    }
}

#[test]
fn when_it_changed_is_never_told_otherwise() {
    // However old the change is, it lies between `since` and `until`. These are apart by at most a
    // quarter of its age plus two rounds.
    let (change, data) = (300, rounds(1500, 9, breaking(300)));
    for unit in [1, 3600] {
        let mut jury = new_jury("adaptive");
        for ((_, table), at) in data.iter().zip(0..) {
            jury.observe(&jury.scores(table).unwrap(), unit * at).unwrap();
            if at >= change + 12 && at % 25 == 0 {
                let fitted = jury.fit();
                let spread: Vec<&Alarm> =
                    fitted.alarms().iter().filter(|a| a.reading == Reading::Spread).collect();
                let [alarm] = spread[..] else { panic!("one change is one alarm: {spread:?} at {at}") };
                let (since, until) = (alarm.since / unit, alarm.until / unit);
                assert!(since <= change && change <= until, "{alarm:?} at {at}");
                assert!(until - since <= (at - change) / 4 + 2, "{alarm:?} at {at}");
            }
        }
    }
}

#[test]
fn an_alarm_comes_within_forty_rounds_at_any_age_and_in_any_unit_of_time() {
    // The noise doubles. A round takes an hour; times are hours, seconds or microseconds
    // since 1970.
    for (change, unit) in [(200, 1), (200, 3600), (200, 3_600_000_000), (12_000, 1), (12_000, 3600)] {
        let mut jury = new_jury("adaptive");
        let noise = |t: u64, j: usize| if j == 2 && t >= change { 1.0 } else { 0.5 };
        show(&mut jury, &rounds(change + 40, 3, noise), unit);
        let alarms = jury.fit().alarms().to_vec();
        assert!(!alarms.is_empty(), "{change} {unit}");
        let when = unit * (EPOCH + change);
        let right = |alarm: &Alarm| {
            alarm.evaluator == Some(2)
                && (alarm.since..=alarm.until).contains(&when)
                && alarm.until - alarm.since <= 20 * unit
        };
        assert!(alarms.iter().all(right), "{change} {unit}: {alarms:?}");
    }
}

#[test]
fn forgetting_pays_after_a_change_and_costs_nothing_before() {
    let (changing, steady) = (rounds(240, 8, swapping(120)), rounds(240, 8, swapping(u64::MAX)));
    let late = |spec: &str, data: &[Round]| sum(&play(&mut new_jury(spec), data, 0)[160..]);
    assert!(late("adaptive", &changing) > 1.01 * late("adaptive(forget=false)", &changing));
    let (kept, forgetful) = (late("adaptive(forget=false)", &steady), late("adaptive", &steady));
    assert!((kept - forgetful).abs() < 1e-3 * kept, "{kept} {forgetful}");
}

#[test]
fn who_does_not_forget_is_told_all_the_same() {
    let data = rounds(240, 8, swapping(120));
    let mut jury = new_jury("adaptive(forget=false)");
    play(&mut jury, &data, 0);
    assert!(jury.fit().alarms().iter().any(|alarm| (alarm.since..=alarm.until).contains(&120)));
    // `forget=false` leaves out no label: if all rounds have the same time, so that no change can
    // be seen, the weights are the same.
    let mut still = new_jury("adaptive(forget=false)");
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for (rewards, table) in &data {
        let picks = still.round(&still.scores(table).unwrap(), 0, K, &mut rng).unwrap();
        learn(&mut still, &Logged { at: 0, scores: table.clone(), rewards: rewards.clone(), picks });
    }
    assert!(still.fit().alarms().is_empty());
    assert_eq!(still.fit().weights(), jury.fit().weights());
}

#[test]
fn a_clock_that_stands_still_keeps_one_span() {
    let mut jury = new_jury("adaptive");
    let data = rounds(200, 4, swapping(100));
    let mut size = |rounds: &[Round]| {
        for (rewards, table) in rounds {
            jury.observe(&jury.scores(table).unwrap(), 0).unwrap();
            jury.learn(&[Example { scores: &table[..J], reward: rewards[0], receipt: None }], 0).unwrap();
        }
        assert!(jury.fit().alarms().is_empty());
        let state: serde_json::Value = serde_json::from_str(&jury.to_json()).unwrap();
        ["ladder", "pulses", "traces"].map(|part| state["state"][part]["rungs"].as_array().unwrap().len())
    };
    assert_eq!(size(&data[..10]), [1, 1, 1]);
    assert_eq!(size(&data[10..]), [1, 1, 1]);
}

#[test]
fn halves_learnt_apart_are_the_whole_and_raise_the_same_alarm() {
    let data = rounds(240, 7, breaking(160));
    let mut whole = new_jury("adaptive");
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let log: Vec<Logged> = data
        .iter()
        .zip(0..)
        .map(|((rewards, table), at)| {
            let picks = whole.round(&whole.scores(table).unwrap(), at, K, &mut rng).unwrap();
            let logged = Logged { at, scores: table.clone(), rewards: rewards.clone(), picks };
            learn(&mut whole, &logged);
            logged
        })
        .collect();
    // The rounds are split into even and odd or into early and late ones, and learnt by separate
    // juries.
    let part = |keep: &dyn Fn(u64) -> bool| {
        let mut jury = new_jury("adaptive");
        log.iter().filter(|logged| keep(logged.at)).for_each(|logged| {
            observe(&mut jury, logged);
            learn(&mut jury, logged);
        });
        jury
    };
    let (even, odd) = (part(&|at| at % 2 == 0), part(&|at| at % 2 == 1));
    let (early, late, all) = (part(&|at| at < 130), part(&|at| at >= 130), part(&|_| true));
    for (a, b) in [(&even, &odd), (&odd, &even), (&late, &early)] {
        let mut merged = a.clone();
        merged.merge(b).unwrap();
        assert_same_state(&merged, &all, "time");
        assert_eq!(picks_after(&merged, 3), picks_after(&whole, 3));
        let told = |jury: &Jury| -> Vec<(Option<usize>, u64, u64)> {
            jury.fit().alarms().iter().map(|alarm| (alarm.evaluator, alarm.since, alarm.until)).collect()
        };
        assert_eq!(told(&merged), told(&whole));
    }
    // With a tick of 3600, times in seconds count as hours.
    let mut hourly = new_jury("adaptive(tick=3600)");
    for logged in &log {
        let logged = Logged { at: 3600 * logged.at + 1800, ..logged.clone() };
        observe(&mut hourly, &logged);
        learn(&mut hourly, &logged);
    }
    let of_whole = whole.fit().alarms()[0].since;
    assert!(hourly.fit().alarms().iter().all(|alarm| alarm.since == of_whole * 3600));
    assert_eq!(picks_after(&hourly, 3), picks_after(&whole, 3));
}

#[test]
fn an_old_jury_knows_of_a_change_as_soon_as_a_young_one() {
    let after = |change: u64| {
        let data = rounds(change + 120, 8, swapping(change));
        sum(&play(&mut new_jury("adaptive"), &data, 0)[change as usize + 80..])
    };
    let (young, old) = (after(150), after(1500));
    assert!(old > 0.97 * young, "{old} {young}");
}

/// The rounds `data`, with rewards replaced by `reward(r)` from round `change` on.
fn redefined(mut data: Vec<Round>, change: usize, reward: impl Fn(f64) -> f64) -> Vec<Round> {
    let changed = data[change..].iter_mut().flat_map(|(rewards, _)| rewards);
    changed.for_each(|r| *r = reward(*r));
    data
}

#[test]
fn rewards_that_mean_something_else_are_seen_and_learnt_anew() {
    // From round 200 on rewards have the other sign, while scores stay the same.
    let data = redefined(rounds(340, 11, |_, j| 0.3 + 0.2 * j as f64), 200, |r| -r);
    let mut jury = new_jury("adaptive");
    let earned = play(&mut jury, &data, 0);
    let alarms = jury.fit().alarms().to_vec();
    assert!(!alarms.is_empty() && alarms.iter().all(|alarm| alarm.evaluator.is_none()), "{alarms:?}");
    assert!(alarms.iter().all(|alarm| (alarm.since..=alarm.until).contains(&200)), "{alarms:?}");
    // In rounds 90 to 140 after the change, picks are nearly as good as before it. Without
    // forgetting they are worse than random ones.
    let (before, after) = (sum(&earned[150..200]), sum(&earned[290..340]));
    let kept = sum(&play(&mut new_jury("adaptive(forget=false)"), &data, 0)[290..340]);
    assert!(after > 0.9 * before && kept < 0.0, "{before} {after} {kept}");
}

#[test]
fn severer_reviewers_are_seen_and_picks_that_get_better_are_not() {
    let data = rounds(300, 12, |_, j| 0.3 + 0.3 * j as f64);
    let mut jury = new_jury("adaptive");
    play(&mut jury, &redefined(data.clone(), 200, |r| r - 0.7), 0);
    let alarms = jury.fit().alarms().to_vec();
    let [alarm] = &alarms[..] else { panic!("{alarms:?}") };
    assert!(alarm.reading == Reading::Reward && (alarm.since..=alarm.until).contains(&200), "{alarm:?}");
    assert!((alarm.before - alarm.after - 0.7).abs() < 0.1, "{alarm:?}");
    // In the first 100 rounds middling items are picked, later the best: rewards rise, but their
    // meaning does not change.
    let mut jury = new_jury("adaptive");
    for ((rewards, table), at) in data.iter().zip(0..) {
        let worst = |count: usize| if at < 100 { count } else { 0 };
        let mut order: Vec<usize> = (0..ITEMS).collect();
        order.sort_by(|&a, &b| table[b * J].total_cmp(&table[a * J]));
        jury.observe(&jury.scores(table).unwrap(), at).unwrap();
        for &item in order.iter().skip(worst(16)).take(K) {
            let scores = &table[item * J..(item + 1) * J];
            jury.learn(&[Example { scores, reward: rewards[item], receipt: None }], at).unwrap();
        }
    }
    assert!(jury.fit().alarms().is_empty(), "{:?}", jury.fit().alarms());
}

/// Each round is learnt by a jury of its own and merged: the confirmed change stays in the state.
#[test]
fn who_merges_files_keeps_what_changed() {
    let data = redefined(rounds(40, 13, |_, j| 0.3 + 0.2 * j as f64), 20, |r| -r);
    let mut jury = new_jury("adaptive");
    for ((rewards, table), at) in data.iter().zip(0..) {
        let mut file = new_jury("adaptive");
        file.observe(&file.scores(table).unwrap(), at).unwrap();
        let rows = table.chunks_exact(J).zip(rewards);
        let examples: Vec<Example<'_>> =
            rows.map(|(scores, &reward)| Example { scores, reward, receipt: None }).collect();
        file.learn(&examples, at).unwrap();
        jury.merge(&file).unwrap();
        jury.settle();
    }
    let state: serde_json::Value = serde_json::from_str(&jury.to_json()).unwrap();
    assert_eq!(state["state"]["turn"]["time"], 20, "{}", state["state"]["turn"]);
    let alarms = jury.fit().alarms().to_vec();
    assert!(!alarms.is_empty() && alarms.iter().all(|a| (a.since..=a.until).contains(&20)), "{alarms:?}");
}

/// One time in milliseconds among seconds would make all others old, and hide later changes.
#[test]
fn a_time_in_another_unit_is_refused_and_nothing_is_hidden() {
    let mut jury = new_jury("adaptive");
    let (data, second) = (rounds(240, 7, breaking(160)), 1_700_000_000_u64);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for ((rewards, table), at) in data.iter().zip(0..) {
        let (scores, now) = (jury.scores(table).unwrap(), second + 3600 * at);
        jury.observe(&scores, now).unwrap();
        if at == 100 {
            let (before, at) = (jury.to_bytes(), 1000 * now);
            let error = jury.observe(&scores, at).unwrap_err();
            assert_eq!((error.code(), &error), ("time", &Error::Unit { at, latest: now }));
            let example = Example { scores: &table[..J], reward: rewards[0], receipt: None };
            jury.learn(&[example], at).unwrap_err();
            jury.round(&scores, at, K, &mut rng).unwrap_err();
            let mut other = new_jury("adaptive");
            other.observe(&scores, at).unwrap();
            assert_eq!(jury.merge(&other).unwrap_err().code(), "merge");
            assert_eq!(jury.to_bytes(), before);
            // Accepted: a time ten years later, and a date after a small number of rounds.
            jury.clone().observe(&scores, now + 10 * 31_557_600).unwrap();
            let mut counted = new_jury("adaptive");
            counted.observe(&scores, 99).unwrap();
            counted.observe(&scores, now).unwrap();
            // Accepted: nanoseconds since a start. Refused: seconds after milliseconds.
            let mut since_start = new_jury("adaptive");
            for nanoseconds in [200_000_000, 2_000_000_000, 3_600_000_000_000, 90_000_000_000_000] {
                since_start.observe(&scores, nanoseconds).unwrap();
            }
            other.observe(&scores, now).unwrap_err();
        }
    }
    assert!(jury.fit().alarms().iter().any(|alarm| alarm.evaluator == Some(2)), "{:?}", jury.fit().alarms());
}

/// An evaluator gives all items the same score from a round on: one alarm says that its scores no
/// longer vary within rounds (`Reading::Varying`).
#[test]
fn who_is_stuck_is_told_at_any_age_and_alone() {
    for change in [30, 150, 2000] {
        let mut data = rounds(change + 24, 8, |_, _| 0.7);
        for (_, table) in &mut data[change as usize..] {
            table.chunks_exact_mut(J).for_each(|row| row[1] = 0.5);
        }
        let mut jury = new_jury("adaptive");
        show(&mut jury, &data, 1);
        let fitted = jury.fit();
        let [alarm] = fitted.alarms() else { panic!("{change}: {:?}", fitted.alarms()) };
        assert_eq!((alarm.evaluator, alarm.reading), (Some(1), Reading::Varying));
        assert!((alarm.since..=alarm.until).contains(&(EPOCH + change)), "{change}: {alarm:?}");
        assert!(alarm.before > 0.9 && alarm.after < 0.1, "{alarm:?}");
        // The weight of such an evaluator is zero.
        assert_eq!(fitted.weights().unwrap()[1], 0.0);
    }
}

/// Three rules hit 2.5%, 0.5% and 10% of the items. The first has no hit in a third of the rounds
/// of 40 items; since that never changes, there is no alarm.
#[test]
fn rare_flags_are_not_stuck() {
    use rand::RngExt;
    for seed in 0..20 {
        let mut data = rounds(400, seed, |_, _| 0.7);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for (_, table) in &mut data {
            for row in table.chunks_exact_mut(J) {
                for (j, share) in [(1, 0.025), (2, 0.005), (3, 0.1)] {
                    row[j] = f64::from(u8::from(rng.random::<f64>() < share));
                }
            }
        }
        let mut jury = new_jury("adaptive");
        for (at, rounds) in data.chunks(100).enumerate() {
            let mut later = jury.clone();
            for (round, (_, table)) in rounds.iter().enumerate() {
                later.observe(&later.scores(table).unwrap(), (100 * at + round) as u64).unwrap();
            }
            jury = later;
            assert!(jury.fit().alarms().is_empty(), "{seed}: {:?}", jury.fit().alarms());
        }
    }
}

/// From round 300 on a rule hits more items, as when there are more such items: no alarm.
#[test]
fn a_wave_of_what_a_rule_finds_is_no_change_of_the_rule() {
    use rand::RngExt;
    for (seed, (before, after)) in
        (0..8).flat_map(|seed| [(0.002, 0.015), (0.01, 0.03)].map(|wave| (seed, wave)))
    {
        let mut data = rounds(500, seed, |_, _| 0.7);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for ((_, table), at) in data.iter_mut().zip(0..) {
            let share = if at < 300 { before } else { after };
            table
                .chunks_exact_mut(J)
                .for_each(|row| row[1] = f64::from(u8::from(rng.random::<f64>() < share)));
        }
        let mut jury = new_jury("adaptive");
        show(&mut jury, &data, 1);
        assert!(jury.fit().alarms().is_empty(), "{seed} {before} {after}: {:?}", jury.fit().alarms());
    }
}

/// From round 200 on, one evaluator gives all items the same score, and another's scores have the
/// other sign.
#[test]
fn who_turns_round_is_named_beside_who_is_stuck() {
    let mut data = rounds(300, 8, |_, _| 0.7);
    for (_, table) in &mut data[200..] {
        table.chunks_exact_mut(J).for_each(|row| (row[1], row[2]) = (0.5, -row[2]));
    }
    let mut jury = new_jury("adaptive");
    show(&mut jury, &data, 1);
    let fitted = jury.fit();
    let named: Vec<_> = fitted.alarms().iter().map(|alarm| (alarm.evaluator, alarm.reading)).collect();
    assert_eq!(named, [(Some(1), Reading::Varying), (Some(2), Reading::Agreement)], "{:?}", fitted.alarms());
}

/// A rule that hits one item in fifty has hits in about half of the rounds of 40 items. From round
/// 300 on it has none.
#[test]
fn a_rare_rule_that_falls_silent_is_told() {
    use rand::RngExt;
    for seed in 0..4 {
        let mut data = rounds(420, seed, |_, _| 0.7);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for ((_, table), at) in data.iter_mut().zip(0..) {
            let share = if at < 300 { 0.02 } else { 0.0 };
            table
                .chunks_exact_mut(J)
                .for_each(|row| row[1] = f64::from(u8::from(rng.random::<f64>() < share)));
        }
        let mut jury = new_jury("adaptive");
        show(&mut jury, &data, 1);
        let fitted = jury.fit();
        let [alarm] = fitted.alarms() else { panic!("{seed}: {:?}", fitted.alarms()) };
        assert_eq!((alarm.evaluator, alarm.reading, alarm.after), (Some(1), Reading::Varying, 0.0));
    }
}

//! Tests laws of fits, and of adding and removing evaluators, for every policy in the table.

mod support;

use jurybox::options::Fraction;
use jurybox::{
    Direction, Evaluator, Evaluators, Example, Fitted, Jury, OptionKind, Pick, Scratch, Spec, policies,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use support::*;

const J: usize = 4;

/// Plays a round of the world with five picks, learns from them at once, and returns them.
fn play(jury: &mut Jury, world: &mut World, at: u64, rng: &mut ChaCha8Rng, items: usize) -> Vec<Pick> {
    let (rewards, scores) = world.round(items);
    let picks = jury.round(&jury.scores(&scores).unwrap(), at, 5, rng).unwrap();
    let logged = Logged { at, scores, rewards, picks: picks.clone() };
    learn(jury, &logged);
    picks
}

/// The bits of the values that a fit of the jury gives.
fn values(jury: &Jury, scores: &[f64]) -> Vec<u64> {
    let fitted = jury.fit();
    fitted.values(&fitted.scores(scores).unwrap()).unwrap().iter().map(|v| v.to_bits()).collect()
}

#[test]
fn equal_bytes_give_equal_picks_at_any_moment_of_a_run() {
    for spec in specs(J) {
        let mut jury = jury_of(&spec, J);
        let (mut world, mut rng) = (World::new(1, J, 0.05), ChaCha8Rng::seed_from_u64(3));
        // Large rounds, so that `adaptive` soon stops fitting in every round.
        for at in 0..45 {
            play(&mut jury, &mut world, at, &mut rng, 200);
            if at % 4 != 1 {
                continue;
            }
            let (mut by_bytes, mut by_json) =
                (Jury::from_bytes(&jury.to_bytes()).unwrap(), Jury::from_json(&jury.to_json()).unwrap());
            let mut same = jury.clone();
            let (mut w1, mut w2, mut w3) = (world_at(at), world_at(at), world_at(at));
            let (mut r1, mut r2, mut r3) = (rng.clone(), rng.clone(), rng.clone());
            for later in at + 1..at + 4 {
                let expected = play(&mut same, &mut w1, later, &mut r1, 60);
                assert_eq!(
                    play(&mut by_bytes, &mut w2, later, &mut r2, 60),
                    expected,
                    "{spec} bytes, {later}"
                );
                assert_eq!(play(&mut by_json, &mut w3, later, &mut r3, 60), expected, "{spec} json, {later}");
                assert_eq!(by_bytes.to_bytes(), same.to_bytes(), "{spec}");
                assert_eq!(by_json.to_bytes(), same.to_bytes(), "{spec}");
            }
        }
    }
}

fn world_at(seed: u64) -> World {
    World::new(100 + seed, J, 0.05)
}

#[test]
fn a_fold_interrupted_by_save_and_read_is_bit_equal_to_the_unbroken_one() {
    for spec in specs(J) {
        let log = run(&mut jury_of(&spec, J), &mut World::new(2, J, 0.1), 60, 40, 5, 2);
        let (mut unbroken, mut broken) = (jury_of(&spec, J), jury_of(&spec, J));
        let (_, table) = World::new(9, J, 0.2).round(50);
        for (at, logged) in log.iter().enumerate() {
            for jury in [&mut unbroken, &mut broken] {
                observe(jury, logged);
                learn(jury, logged);
            }
            broken = if at % 2 == 0 {
                Jury::from_bytes(&broken.to_bytes()).unwrap()
            } else {
                Jury::from_json(&broken.to_json()).unwrap()
            };
            assert_eq!(broken.to_bytes(), unbroken.to_bytes(), "{spec} after round {at}");
            assert_eq!(values(&broken, &table), values(&unbroken, &table), "{spec} after round {at}");
        }
    }
}

#[test]
fn a_fit_is_a_pure_function_that_rounds_and_other_fits_do_not_touch() {
    for spec in specs(J) {
        let (mut played, mut taught) = (jury_of(&spec, J), jury_of(&spec, J));
        let (_, table) = World::new(9, J, 0.2).round(50);
        for logged in run(&mut played, &mut World::new(3, J, 0.1), 40, 60, 5, 3) {
            observe(&mut taught, &logged);
            learn(&mut taught, &logged);
        }
        // `played` has fitted in every round and reused its memory; `taught` fits for the first
        // time.
        assert_eq!(values(&played, &table), values(&taught, &table), "{spec}");
        assert_eq!(values(&played, &table), values(&played, &table), "{spec}");
    }
}

#[test]
fn a_fit_shared_by_threads_gives_all_of_them_the_same() {
    for spec in specs(J) {
        let mut jury = jury_of(&spec, J);
        run(&mut jury, &mut World::new(4, J, 0.1), 30, 20, 5, 4);
        let fitted = jury.fit();
        let (_, table) = World::new(5, J, 0.1).round(40);
        let scores = fitted.scores(&table).unwrap();
        let level = Fraction::try_from(0.9).unwrap();
        let work = |scratch: &mut Scratch| {
            let mut rng = ChaCha8Rng::seed_from_u64(8);
            let mut all = Vec::new();
            for _ in 0..20 {
                let mut picks = Vec::new();
                fitted.choose_into(&scores, 6, &mut rng, scratch, &mut picks).unwrap();
                let values = fitted.values_with(&scores, scratch).unwrap().to_vec();
                let probabilities = fitted.inclusion_probabilities(&scores, 6).unwrap();
                all.push((picks, values, probabilities, fitted.predict(&scores, level).unwrap()));
            }
            format!("{all:?}")
        };
        let alone = work(&mut Scratch::new());
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| work(&mut Scratch::new()))).collect();
            for thread in threads {
                assert_eq!(thread.join().unwrap(), alone, "{spec}");
            }
        });
    }
}

#[test]
fn contributions_sum_to_the_value_and_a_missing_score_adds_nothing() {
    let mut asked = 0;
    for spec in specs(J) {
        for missing in [0.0, 0.3] {
            let mut jury = jury_of(&spec, J);
            run(&mut jury, &mut World::new(6, J, missing), 60, 20, 5, 6);
            let fitted = jury.fit();
            let (_, table) = World::new(7, J, missing).round(40);
            let scores = fitted.scores(&table).unwrap();
            let values = fitted.values(&scores).unwrap();
            for (row, value) in scores.rows().zip(values) {
                let Some(why) = fitted.contributions(row).unwrap() else {
                    // A policy without contributions has no form either: its values are no sums
                    // over a row's scores.
                    assert!(fitted.form().is_none(), "{spec}");
                    continue;
                };
                asked += 1;
                let size = why.each.iter().fold(value.abs(), |size, part| size.max(part.abs())).max(1.0);
                let same = why.value() == value || (why.value() - value).abs() < 1e-9 * size;
                assert!(same, "{spec}: {why:?} for {value}");
                assert!(
                    row.iter().zip(&why.each).all(|(x, part)| !x.is_nan() || *part == 0.0),
                    "{spec}: {why:?}"
                );
            }
        }
        assert!(jury_of_one_refuses_two(&spec), "{spec}");
    }
    assert!(asked > 1000);
}

#[test]
fn the_value_of_an_item_is_the_same_however_rows_are_cut_into_blocks() {
    for spec in specs(J).into_iter().filter(|spec| !["rand", "exp4p"].contains(&spec.name())) {
        let mut jury = jury_of(&spec, J);
        run(&mut jury, &mut World::new(13, J, 0.1), 60, 20, 5, 13);
        let fitted = jury.fit();
        // Only the last third of the rows has gaps.
        let mut world = World::new(14, J, 0.0);
        let (_, mut table) = world.round(60);
        world.missing = 0.5;
        table.extend(world.round(30).1);
        let bits = |rows: &[f64]| -> Vec<u64> {
            let values = fitted.values(&fitted.scores(rows).unwrap()).unwrap();
            values.iter().map(|v| v.to_bits()).collect()
        };
        let whole = bits(&table);
        for block in [1, 7, 60, 64] {
            let cut: Vec<u64> = table.chunks(block * J).flat_map(bits).collect();
            assert_eq!(cut, whole, "{spec} in blocks of {block}");
        }
    }
}

/// Whether values are sums over the scores of a row, and not all the same. If two scores of a sum
/// change, its value changes by the sum of the two single changes. Rows with gaps are left out.
fn adds_up(fitted: &Fitted, table: &[f64]) -> bool {
    let value = |row: &[f64]| fitted.values(&fitted.scores(row).unwrap()).unwrap()[0];
    let rows: Vec<&[f64]> = table.chunks(J).filter(|row| row.iter().all(|x| !x.is_nan())).take(40).collect();
    let (mut sums, mut differ) = (true, false);
    for two in rows.windows(2) {
        for (j, k) in (0..J).flat_map(|k| (0..k).map(move |j| (j, k))) {
            let with = |changed: [Option<usize>; 2]| {
                let other = |at: usize| usize::from(changed.contains(&Some(at)));
                value(&(0..J).map(|at| two[other(at)][at]).collect::<Vec<f64>>())
            };
            let (none, both) = (with([None, None]), with([Some(j), Some(k)]));
            let (one, another) = (with([Some(j), None]), with([None, Some(k)]));
            let size = none.abs() + both.abs() + one.abs() + another.abs();
            sums &= (none + both - one - another).abs() <= 1e-9 * size;
            differ |= none != both;
        }
    }
    sums && differ
}

#[test]
fn a_form_adds_up_to_the_values_bit_for_bit() {
    // Some rows have gaps.
    let (_, table) = World::new(15, J, 0.1).round(700);
    for spec in specs(J) {
        for low in [false, true] {
            let second = if low { Evaluator::low("e2") } else { "e2".into() };
            let evaluators = Evaluators::new(["e1".into(), second, "e3".into(), "e4".into()]).unwrap();
            let mut jury = Jury::new(&spec, evaluators).unwrap();
            for learnt in [false, true] {
                if learnt {
                    run(&mut jury, &mut World::new(13, J, 0.1), 60, 20, 5, 13);
                }
                let fitted = jury.fit();
                let Some(form) = fitted.form() else {
                    assert!(!adds_up(&fitted, &table), "{spec} adds up, and has no form");
                    continue;
                };
                let mut sums = vec![vec![0.0; 700]; form.lanes()];
                for j in 0..J {
                    let column = table.iter().skip(j).step_by(J).copied();
                    form.add(j, column, &mut sums[form.lane(j)]);
                }
                form.finish(&mut sums);
                let values = fitted.values(&fitted.scores(&table).unwrap()).unwrap();
                for ((row, value), sum) in table.chunks(J).zip(&values).zip(&sums[0]) {
                    if row.iter().any(|x| x.is_nan()) {
                        assert!(sum.is_nan(), "{spec}: {row:?}");
                    } else {
                        assert_eq!(sum.to_bits(), value.to_bits(), "{spec}, {low}: {row:?} {sum} {value}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_does_not_learn_from_scores_ranks_the_same_after_any_of_them() {
    let (_, table) = World::new(16, J, 0.1).round(200);
    let (mut look, mut do_not) = (0, 0);
    for spec in specs(J) {
        let (mut shown, mut counted) = (jury_of(&spec, J), jury_of(&spec, J));
        if shown.learns_from_scores() {
            look += 1;
            continue;
        }
        do_not += 1;
        shown.observe(&shown.scores(&table).unwrap(), 0).unwrap();
        counted.observe(&counted.scores(&[]).unwrap(), 0).unwrap();
        assert_eq!(values(&shown, &table), values(&counted, &table), "{spec}");
        assert_eq!(shown.fit().exploration(), counted.fit().exploration(), "{spec}");
    }
    assert!(look > 10 && do_not > 8, "{look} {do_not}");
}

fn jury_of_one_refuses_two(spec: &Spec) -> bool {
    jury_of(spec, J).fit().contributions(&[0.5; 2 * J]).is_err()
}

#[test]
fn a_low_evaluator_is_one_turned_round() {
    for spec in specs(J) {
        // Policies with a link read a low evaluator's score `x` as `1 - x`, others as `-x`.
        let mirror = if spec.name().starts_with("glm-") { 1.0 } else { 0.0 };
        let turned = |table: &[f64]| -> Vec<f64> {
            table.iter().enumerate().map(|(i, x)| if i % J == 1 { mirror - x } else { *x }).collect()
        };
        let evaluators =
            Evaluators::new(["e1".into(), Evaluator::low("e2"), "e3".into(), "e4".into()]).unwrap();
        let (mut plain, mut low) = (jury_of(&spec, J), Jury::new(&spec, evaluators).unwrap());
        let (mut a, mut b) = (ChaCha8Rng::seed_from_u64(1), ChaCha8Rng::seed_from_u64(1));
        let mut world = World::new(8, J, 0.1);
        for at in 0..20 {
            let (rewards, scores) = world.round(20);
            // `plain` gets the second evaluator's scores as they are, `low` gets them mirrored.
            let mirrored = turned(&scores);
            let upright = turned(&mirrored); // the same but for the last bit
            let picks = plain.round(&plain.scores(&upright).unwrap(), at, 5, &mut a).unwrap();
            assert_eq!(low.round(&low.scores(&mirrored).unwrap(), at, 5, &mut b).unwrap(), picks, "{spec}");
            learn(
                &mut plain,
                &Logged { at, scores: upright, rewards: rewards.clone(), picks: picks.clone() },
            );
            learn(&mut low, &Logged { at, scores: mirrored, rewards, picks });
        }
        let said = spec.clone().with("inverted", vec![1]);
        let jury = Jury::new(&said, Evaluators::numbered(J).unwrap()).unwrap();
        assert_eq!((jury.spec(), jury.evaluators()), (&spec, low.evaluators()), "{spec}");
    }
}

#[test]
fn evaluators_come_and_go_and_what_was_learnt_stays_with_the_names() {
    for spec in specs(J) {
        let mut jury = jury_of(&spec, J);
        let log = run(&mut jury, &mut World::new(10, J, 0.1), 40, 20, 5, 10);
        let names = |list: &[&str]| Evaluators::new(list.iter().copied()).unwrap();

        // Reordering the evaluators and restoring the order changes nothing.
        let mut shuffled = jury.clone();
        shuffled.set_evaluators(names(&["e3", "e1", "e4", "e2"])).unwrap();
        shuffled.set_evaluators(names(&["e1", "e2", "e3", "e4"])).unwrap();
        assert_same_state(
            &shuffled,
            &{
                let mut same = jury.clone();
                same.set_evaluators(names(&["e1", "e2", "e3", "e4"])).unwrap();
                same
            },
            &format!("{spec} shuffled"),
        );

        // After an evaluator is removed, the jury still picks, and its counts stay.
        let mut fewer = jury.clone();
        fewer.set_evaluators(names(&["e1", "e2", "e4"])).unwrap();
        assert_eq!(fewer.evaluators().len(), 3);
        assert_eq!(picks_after(&fewer, 3).len(), 35, "{spec}");
        let by_policy = |jury: &Jury| (jury.seen().used, jury.seen().rounds);
        assert_eq!(by_policy(&fewer), by_policy(&jury), "{spec}");

        // After an evaluator is added, items that it has not scored rank nearly as before.
        let mut more = jury.clone();
        let lists = spec.options().values().any(serde_json::Value::is_array);
        let joined = more.set_evaluators(names(&["e1", "e2", "e3", "e4", "new"]));
        if lists {
            let message = joined.unwrap_err().to_string();
            assert!(message.contains("none for a newcomer"), "{message}");
            continue;
        }
        joined.unwrap();
        let (_, table) = World::new(11, J, 0.0).round(30);
        let wider: Vec<f64> = table.chunks(J).flat_map(|row| row.iter().copied().chain([f64::NAN])).collect();
        let (old, new) = (jury.fit(), more.fit());
        let before = old.values(&old.scores(&table).unwrap()).unwrap();
        let after = new.values(&new.scores(&wider).unwrap()).unwrap();
        assert!(after.iter().all(|v| v.is_finite()), "{spec}: {after:?}");
        let agree = rank_correlation(&before, &after);
        assert!(spec.name() == "uniform" || agree > 0.9, "{spec}: {agree}");

        // The jury goes on to learn with five evaluators, and can be saved.
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut world = World::new(12, J + 1, 0.0);
        for at in 40..80 {
            play_wide(&mut more, &mut world, at, &mut rng);
        }
        let saved = Jury::from_bytes(&more.to_bytes()).unwrap();
        assert_eq!(saved.to_json(), more.to_json(), "{spec}");
        if let Some(weights) = more.fit().weights() {
            assert!(weights.len() == J + 1 && weights.iter().all(|w| w.is_finite()), "{spec}: {weights:?}");
        }

        // Parts whose evaluators were changed in the same way still merge to the whole.
        let half = |range: std::ops::Range<usize>| {
            let mut jury = jury_of(&spec, J);
            log[range].iter().for_each(|logged| {
                observe(&mut jury, logged);
                learn(&mut jury, logged);
            });
            jury.set_evaluators(names(&["e4", "new", "e1"])).unwrap();
            jury
        };
        let mut merged = half(0..15);
        merged.merge(&half(15..40)).unwrap();
        assert_same_state(&merged, &half(0..40), &format!("{spec} with_columns halves"));
    }
}

fn play_wide(jury: &mut Jury, world: &mut World, at: u64, rng: &mut ChaCha8Rng) {
    play(jury, world, at, rng, 20);
}

/// Spearman's rank correlation; tied numbers all have the lowest of their ranks.
fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |list: &[f64]| -> Vec<f64> {
        list.iter().map(|x| list.iter().filter(|y| *y < x).count() as f64).collect()
    };
    let (a, b) = (ranks(a), ranks(b));
    let n = a.len() as f64;
    let mean = |list: &[f64]| list.iter().sum::<f64>() / n;
    let (ma, mb) = (mean(&a), mean(&b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(&b).map(|(x, y)| f(x - ma, y - mb)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

#[test]
fn a_direction_cannot_change_in_place_and_an_old_label_teaches_on() {
    let mut jury = jury_of(&"adaptive".parse().unwrap(), 2);
    for i in 0..60_u32 {
        let x = f64::from(i % 10) / 10.0;
        let example = Example { scores: &[x, 1.0 - x], reward: x, receipt: None };
        jury.observe(&jury.scores(&[x, 1.0 - x]).unwrap(), i.into()).unwrap();
        jury.learn(&[example], i.into()).unwrap();
    }
    let turned = Evaluators::new(["e1".into(), Evaluator::low("e2")]).unwrap();
    let before = jury.to_bytes();
    assert!(
        jury.set_evaluators(turned).unwrap_err().to_string().contains("`e2` cannot change its direction")
    );
    assert_eq!(jury.to_bytes(), before);
    jury.set_evaluators(Evaluators::new(["e1", "e2", "late"]).unwrap()).unwrap();
    let fitted = jury.fit();
    let table = [0.9, 0.1, f64::NAN, 0.1, 0.9, f64::NAN];
    let values = fitted.values(&fitted.scores(&table).unwrap()).unwrap();
    assert!((values[0] - 0.9).abs() < 0.1 && (values[1] - 0.1).abs() < 0.1, "{values:?}");
    assert_eq!(fitted.evaluators().as_slice()[2].direction, Direction::High);
}

#[test]
fn the_table_knows_every_option_its_default_and_its_kind() {
    for entry in policies() {
        let needed = specs(J).into_iter().find(|spec| spec.name() == entry.name).unwrap();
        // The error message lists the options that the parser accepts.
        let message = Jury::new(&needed.clone().with("colour", 1), Evaluators::numbered(J).unwrap())
            .unwrap_err()
            .to_string();
        let mut listed: Vec<&str> = entry.options.iter().map(|option| option.name).collect();
        if listed.is_empty() {
            assert!(message.contains("there are no fields"), "{message}");
        } else if !entry.name.ends_with("greedy") || entry.name.ends_with("eps-greedy") {
            let (_, after) = message.split_once("expected").unwrap();
            let mut known: Vec<&str> = after.split('`').skip(1).step_by(2).collect();
            listed.sort_unstable();
            known.sort_unstable();
            assert_eq!(listed, known, "{}", entry.name);
        }
        for option in entry.all_options() {
            assert!(!option.help.is_empty() && !option.range.is_empty(), "{} {}", entry.name, option.name);
            if ["none", "required"].contains(&option.default) {
                continue;
            }
            // Setting an option to its default changes nothing but the spec.
            let text = format!("{}({}={})", entry.name, option.name, option.default);
            let set: Spec = text.parse().unwrap();
            let set = needed.options().iter().fold(set, |set, (key, value)| set.with(key, value.clone()));
            let (plain, set) = (jury_of(&needed, J), jury_of(&set, J));
            let spec_aside = |jury: &Jury| {
                let mut json: serde_json::Value = serde_json::from_str(&jury.to_json()).unwrap();
                json["policy"] = "".into();
                json
            };
            let (mut a, mut b) = (plain, set);
            run(&mut a, &mut World::new(1, J, 0.0), 10, 12, 3, 1);
            run(&mut b, &mut World::new(1, J, 0.0), 10, 12, 3, 1);
            assert_eq!(spec_aside(&a), spec_aside(&b), "{text}");
            if option.kind == OptionKind::Flag {
                assert!(["true", "false"].contains(&option.default), "{text}");
            }
        }
    }
}

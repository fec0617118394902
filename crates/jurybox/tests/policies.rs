//! Tests that run for every policy in the table of policies, and so for new ones too.

mod support;

use jurybox::{Error, Evaluators, Example, Jury, Needs, Receipt, Scores, Scratch, policies};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use support::*;

const J: usize = 4;

#[test]
fn a_state_read_back_is_the_same_state_and_picks_the_same() {
    for spec in specs(J) {
        let mut jury = jury_of(&spec, J);
        run(&mut jury, &mut World::new(1, J, 0.1), 40, 20, 5, 1);
        let from_json = Jury::from_json(&jury.to_json()).unwrap();
        let from_bytes = Jury::from_bytes(&jury.to_bytes()).unwrap();
        assert_eq!(from_json.to_json(), jury.to_json(), "{spec}");
        assert_eq!(from_bytes.to_bytes(), jury.to_bytes(), "{spec}");
        assert_eq!(from_json.to_bytes(), jury.to_bytes(), "{spec}");
        let picks = picks_after(&jury, 9);
        assert_eq!(picks_after(&from_json, 9), picks, "{spec}");
        assert_eq!(picks_after(&from_bytes, 9), picks, "{spec}");
    }
}

#[test]
fn merging_is_associative_and_commutative_and_halves_make_the_whole() {
    for spec in specs(J) {
        for missing in [0.0, 0.2] {
            let mut teacher = jury_of(&spec, J);
            let log = run(&mut teacher, &mut World::new(2, J, missing), 60, 20, 5, 2);
            let part = |range: std::ops::Range<usize>| {
                let mut jury = jury_of(&spec, J);
                for logged in &log[range] {
                    observe(&mut jury, logged);
                    learn(&mut jury, logged);
                }
                jury
            };
            let (a, b, c, whole) = (part(0..10), part(10..45), part(45..60), part(0..60));
            let merged = |juries: &[&Jury]| {
                let mut first = juries[0].clone();
                juries[1..].iter().for_each(|jury| first.merge(jury).unwrap());
                first
            };
            let left = merged(&[&merged(&[&a, &b]), &c]);
            let right = merged(&[&a, &merged(&[&b, &c])]);
            let reversed = merged(&[&c, &b, &a]);
            for (jury, law) in [(&left, "halves"), (&right, "associative"), (&reversed, "commutative")] {
                assert_same_state(jury, &whole, &format!("{spec} {law}"));
            }
            // Merging an empty jury with the whole changes nothing.
            assert_same_state(&merged(&[&jury_of(&spec, J), &whole]), &whole, &format!("{spec} empty"));
            assert_eq!(picks_after(&reversed, 4), picks_after(&whole, 4), "{spec}");
        }
    }
}

/// Each round is observed in parts of two items, as files are read in chunks.
#[test]
fn one_round_that_was_shown_in_parts_reads_back_and_goes_on() {
    for spec in specs(J) {
        let blank = jury_of(&spec, J);
        let (mut jury, mut world) = (blank.clone(), World::new(6, J, 0.1));
        for round in 0..3 {
            let mut shown = blank.clone();
            for _ in 0..40 {
                let (_, table) = world.round(2);
                let mut part = blank.clone();
                part.observe(&part.scores(&table).unwrap(), round).unwrap();
                shown.merge_same_round(&part).unwrap();
            }
            jury.merge(&shown).unwrap();
            jury.settle();
        }
        assert_eq!((jury.seen().rounds, jury.seen().items), (3, 240), "{spec}");
        let read = Jury::from_bytes(&jury.to_bytes()).unwrap_or_else(|error| panic!("{spec}: {error}"));
        assert_eq!(read.to_json(), jury.to_json(), "{spec}");
        assert_eq!(picks_after(&read, 9), picks_after(&jury, 9), "{spec}");
    }
}

#[test]
fn the_order_of_late_rewards_does_not_matter() {
    for spec in specs(J) {
        let mut teacher = jury_of(&spec, J);
        let log = run(&mut teacher, &mut World::new(3, J, 0.1), 50, 20, 5, 3);
        let (mut in_order, mut late, mut in_batches) =
            (jury_of(&spec, J), jury_of(&spec, J), jury_of(&spec, J));
        log.iter().for_each(|logged| observe(&mut in_order, logged));
        log.iter().for_each(|logged| learn(&mut in_order, logged));
        // All rounds are observed first. Then the rewards come, those of the last round and last
        // pick first.
        log.iter().for_each(|logged| observe(&mut late, logged));
        for logged in log.iter().rev() {
            logged.picks.iter().rev().for_each(|pick| learn_pick(&mut late, logged, pick));
        }
        // All examples of a round are learnt in one call, right after the round.
        for logged in &log {
            observe(&mut in_batches, logged);
            let scores = in_batches.scores(&logged.scores).unwrap();
            in_batches.learn(&judged(&scores, &logged.rewards, &logged.picks), logged.at).unwrap();
        }
        assert_same_state(&late, &in_order, &format!("{spec} late"));
        assert_same_state(&in_batches, &in_order, &format!("{spec} in batches"));
        assert_eq!(picks_after(&late, 5), picks_after(&in_order, 5), "{spec}");
    }
}

#[test]
fn rewards_may_come_for_some_picks_only_or_never() {
    for spec in specs(J) {
        let mut teacher = jury_of(&spec, J);
        let log = run(&mut teacher, &mut World::new(4, J, 0.0), 30, 20, 5, 4);
        let (mut some, mut none) = (jury_of(&spec, J), jury_of(&spec, J));
        for logged in &log {
            observe(&mut some, logged);
            observe(&mut none, logged);
            learn_pick(&mut some, logged, &logged.picks[2]);
        }
        assert_eq!(picks_after(&some, 6).len(), 35, "{spec}");
        assert_eq!(picks_after(&none, 6).len(), 35, "{spec}");
        assert_eq!(some.seen().used + some.seen().ignored_rewards, 30, "{spec}");
        assert_eq!(none.seen().used, 0, "{spec}");
    }
}

#[test]
fn the_same_seed_gives_the_same_picks() {
    for spec in specs(J) {
        let play = |seed: u64| {
            let mut jury = jury_of(&spec, J);
            let log = run(&mut jury, &mut World::new(5, J, 0.0), 30, 20, 5, seed);
            log.iter().flat_map(|logged| logged.picks.clone()).collect::<Vec<_>>()
        };
        assert_eq!(play(11), play(11), "{spec}");
    }
}

#[test]
fn choosing_changes_nothing_that_was_learnt() {
    for spec in specs(J) {
        let mut jury = jury_of(&spec, J);
        run(&mut jury, &mut World::new(6, J, 0.1), 20, 20, 5, 6);
        let before = jury.to_bytes();
        picks_after(&jury, 1);
        assert_eq!(jury.to_bytes(), before, "{spec}");
    }
}

#[test]
fn probabilities_sum_to_k_are_on_the_receipts_and_match_frequencies() {
    let (items, k, draws) = (12, 4, 40_000);
    for spec in specs(J) {
        for (rounds, ties) in [(0, false), (25, false), (25, true)] {
            let mut jury = jury_of(&spec, J);
            let mut world = World::new(7, J, 0.0);
            run(&mut jury, &mut world, rounds, 20, 5, 7);
            world.missing = 0.1;
            let (_, mut scores) = world.round(items);
            if ties {
                // Three pairs of equal items.
                for (from, to) in [(0, 1), (4, 5), (8, 9)] {
                    let row = scores[from * J..(from + 1) * J].to_vec();
                    scores[to * J..(to + 1) * J].copy_from_slice(&row);
                }
            }
            let view = jury.scores(&scores).unwrap();
            let (fitted, mut scratch) = (jury.fit(), Scratch::new());
            let pi = fitted.inclusion_probabilities(&view, k).unwrap();
            assert_eq!(pi.len(), items, "{spec}");
            assert!((pi.iter().sum::<f64>() - k as f64).abs() < 1e-9, "{spec}: {pi:?}");
            let mut rng = ChaCha8Rng::seed_from_u64(6);
            let by_scores = fitted.choose(&view, k, &mut rng.clone()).unwrap();
            let values = fitted.values(&view).unwrap();
            let by_values = fitted
                .choose_by_values(&values, k, &mut rng)
                .and_then(|picks| Ok((picks, fitted.probabilities_by_values(&values, k)?)));
            let refused = Error::ByMore { policy: spec.name().into() };
            let expected = if fitted.picks_by_values() { Ok((by_scores, pi.clone())) } else { Err(refused) };
            assert_eq!(by_values, expected, "{spec}");
            let mut counts = vec![0.0; items];
            let mut rng = ChaCha8Rng::seed_from_u64(7);
            let mut picks = Vec::new();
            for _ in 0..draws {
                fitted.choose_into(&view, k, &mut rng, &mut scratch, &mut picks).unwrap();
                assert_eq!(picks.len(), k, "{spec}");
                for pick in &picks {
                    counts[pick.item] += 1.0;
                    assert!((pick.receipt.inclusion_probability - pi[pick.item]).abs() < 1e-12, "{spec}");
                }
            }
            for (item, (&pi, &count)) in pi.iter().zip(&counts).enumerate() {
                // Five standard deviations of a binomial frequency.
                let slack = 5.0 * (pi * (1.0 - pi) / f64::from(draws)).sqrt() + 1e-12;
                let found = count / f64::from(draws);
                assert!((found - pi).abs() <= slack, "{spec} item {item}: {found} for {pi}");
            }
        }
    }
}

#[test]
fn every_receipt_is_accepted_when_its_reward_comes_however_many_agree() {
    for evaluators in 1..=13 {
        for spec in specs(evaluators) {
            let mut jury = jury_of(&spec, evaluators);
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            // All evaluators give the same scores.
            let table: Vec<f64> = (0..12 * evaluators).map(|at| (at / evaluators) as f64 / 12.0).collect();
            for at in 0..3 {
                let scores = jury.scores(&table).unwrap();
                for pick in jury.round(&scores, at, 4, &mut rng).unwrap() {
                    let example =
                        Example { scores: scores.row(pick.item), reward: 0.5, receipt: Some(&pick.receipt) };
                    jury.learn(&[example], at)
                        .unwrap_or_else(|error| panic!("{spec}, {evaluators}: {error}"));
                }
                let probabilities = jury.fit().inclusion_probabilities(&scores, 4).unwrap();
                assert!(probabilities.iter().all(|p| (0.0..=1.0).contains(p)), "{spec}: {probabilities:?}");
            }
        }
    }
}

#[test]
fn picks_are_distinct_items_of_the_round_whatever_is_missing() {
    for spec in specs(J) {
        for missing in [0.0, 0.3, 0.9, 1.0] {
            let mut jury = jury_of(&spec, J);
            let log = run(&mut jury, &mut World::new(8, J, missing), 30, 15, 6, 8);
            for logged in log {
                let items: std::collections::BTreeSet<usize> = logged.picks.iter().map(|p| p.item).collect();
                assert_eq!(items.len(), 6, "{spec}");
                assert!(items.iter().all(|&item| item < 15), "{spec}");
            }
            let finite = |numbers: Option<&[f64]>| numbers.is_none_or(|n| n.iter().all(|v| v.is_finite()));
            let fitted = jury.fit();
            assert!(finite(fitted.weights()) && finite(fitted.alpha()), "{spec}");
        }
    }
}

#[test]
fn an_item_without_scores_is_never_preferred_to_a_good_one_by_those_who_rank() {
    for name in ["oracle", "average", "esag", "eps-greedy-all", "greedy", "eval-ucb", "lin-ucb"] {
        let spec = specs(J).into_iter().find(|spec| spec.name() == name).unwrap();
        let mut jury = jury_of(&spec, J);
        run(&mut jury, &mut World::new(9, J, 0.0), 60, 20, 5, 9);
        let mut table = vec![f64::NAN; J];
        table.extend([0.999; J]);
        let values = jury.fit().values(&Scores::new(&table, J).unwrap()).unwrap();
        assert!(values[0] < values[1], "{name}: {values:?}");
    }
}

#[test]
fn values_put_a_clearly_better_item_first() {
    for spec in specs(J).into_iter().filter(|spec| spec.name() != "uniform") {
        let mut jury = jury_of(&spec, J);
        run(&mut jury, &mut World::new(17, J, 0.0), 60, 20, 5, 17);
        let table = [[0.55; J], [0.97; J], [0.6; J]].concat();
        let values = jury.fit().values(&Scores::new(&table, J).unwrap()).unwrap();
        assert!(values[1] > values[0] && values[1] > values[2], "{spec}: {values:?}");
    }
}

#[test]
fn memory_does_not_grow_with_the_rounds() {
    for spec in specs(J) {
        let mut jury = jury_of(&spec, J);
        let log = run(&mut jury_of(&spec, J), &mut World::new(10, J, 0.1), 100, 20, 5, 10);
        // A hundred rounds again and again: there is nothing new to store.
        let mut replay = |times: usize| {
            for logged in std::iter::repeat_n(&log, times).flatten() {
                observe(&mut jury, logged);
                learn(&mut jury, logged);
            }
            jury.to_bytes().len()
        };
        let (early, late) = (replay(2), replay(40));
        // Counters take fewer bytes while they are small.
        assert!(late <= early + early / 10 + 64, "{spec}: {early} bytes, then {late}");
    }
}

#[test]
fn one_item_one_evaluator_all_items_and_a_constant_column_are_ordinary() {
    for evaluators in [1, 2, J] {
        for spec in specs(evaluators) {
            let mut jury = jury_of(&spec, evaluators);
            run(&mut jury, &mut World::new(12, evaluators, 0.0), 30, 1, 1, 12);
            run(&mut jury, &mut World::new(13, evaluators, 0.0), 10, 6, 6, 13);
            let mut constant = World::new(14, evaluators, 0.0);
            for seed in 0..20 {
                let (rewards, mut scores) = constant.round(8);
                scores.iter_mut().step_by(evaluators).for_each(|x| *x = 0.25);
                let view = jury.scores(&scores).unwrap();
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                let picks = jury.round(&view, seed, 3, &mut rng).unwrap();
                learn(&mut jury, &Logged { at: seed, scores, rewards, picks });
            }
            assert_eq!(picks_after(&jury, 3).len(), 35, "{spec}");
        }
    }
}

#[test]
fn bad_input_is_refused_and_changes_nothing() {
    for spec in specs(J) {
        let mut jury = jury_of(&spec, J);
        let log = run(&mut jury, &mut World::new(15, J, 0.0), 10, 12, 3, 15);
        let before = jury.to_bytes();
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let table = &log[0].scores;
        let view = jury.scores(table).unwrap();
        let mut infinite = table.clone();
        infinite[J * 2 + 1] = f64::NEG_INFINITY;
        let message = jury.scores(&infinite).unwrap_err().to_string();
        assert!(message.starts_with("item 2, evaluator `e2` (#1): score -inf"), "{message}");
        for k in [0, 13] {
            assert_eq!(jury.fit().choose(&view, k, &mut rng).unwrap_err(), Error::K { k, items: 12 });
            assert_eq!(jury.round(&view, 9, k, &mut rng).unwrap_err(), Error::K { k, items: 12 });
        }
        let narrow = Scores::new(&table[..9], 3).unwrap();
        assert!(matches!(jury.observe(&narrow, 9), Err(Error::Width { found: 3, expected: 4, .. })));
        assert!(matches!(jury.fit().choose(&narrow, 1, &mut rng), Err(Error::Width { .. })));
        // A good example before a bad one is not learnt either.
        let good = Example { scores: &table[..J], reward: 1.0, receipt: Some(&log[0].picks[0].receipt) };
        let receipt = |p: f64| Receipt { inclusion_probability: p, explored: true, ..Receipt::default() };
        let (zero, nan) = (receipt(0.0), receipt(f64::NAN));
        for bad in [
            Example { reward: f64::NAN, ..good },
            Example { reward: f64::INFINITY, ..good },
            Example { scores: &table[..3], ..good },
            Example { scores: &[1.0, f64::INFINITY, 0.0, 0.0], ..good },
            Example { receipt: Some(&zero), ..good },
            Example { receipt: Some(&nan), ..good },
        ] {
            jury.learn(&[good, bad], 9).unwrap_err();
        }
        assert_eq!(jury.observe(&view, u64::MAX).unwrap_err(), Error::Time { at: u64::MAX });
        assert_eq!(jury.learn(&[good], u64::MAX).unwrap_err(), Error::Time { at: u64::MAX });
        assert_eq!(jury.round(&view, u64::MAX, 1, &mut rng).unwrap_err(), Error::Time { at: u64::MAX });
        let mut other = jury_of(&specs(J)[usize::from(spec.name() == "oracle")], J);
        run(&mut other, &mut World::new(15, J, 0.0), 3, 12, 3, 15);
        assert!(matches!(jury.merge(&other), Err(Error::Merge(_))), "{spec}");
        let strangers = Jury::new(jury.spec(), Evaluators::new(["w", "x", "y", "z"]).unwrap()).unwrap();
        assert!(matches!(jury.merge(&strangers), Err(Error::Merge(_))), "{spec}");
        assert_eq!(jury.to_bytes(), before, "{spec}");
    }
}

#[test]
fn history_without_receipts_is_learnt_from_where_that_is_sound() {
    for spec in specs(J) {
        let mut jury = jury_of(&spec, J);
        let learnt = jury.learn(&[Example { scores: &[0.5; J], reward: 1.0, receipt: None }], 0).unwrap();
        assert_eq!(learnt.used + learnt.ignored_rewards, 1);
        let name = spec.name();
        if name.ends_with("eps-greedy") || name == "exp4p" {
            assert_eq!(learnt.used, 0, "{spec} cannot know how the item was chosen");
        }
        if name.ends_with("-all") || name.ends_with("-ucb") {
            assert_eq!(learnt.used, 1, "{spec}");
        }
    }
}

#[test]
fn damaged_states_are_refused_or_harmless_but_never_a_panic() {
    for spec in specs(J) {
        let mut jury = jury_of(&spec, J);
        run(&mut jury, &mut World::new(16, J, 0.1), 15, 12, 3, 16);
        let bytes = jury.to_bytes();
        for end in 0..bytes.len() {
            Jury::from_bytes(&bytes[..end]).unwrap_err();
        }
        // Every byte of a small state, and some of a large one.
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 1200) {
            for flip in [1, 0x40, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                if let Ok(jury) = Jury::from_bytes(&damaged)
                    && jury.evaluators().len() == J
                {
                    picks_after(&jury, 1);
                }
            }
        }
        let json = jury.to_json();
        for (from, to, says) in [
            ("\"version\": 5", "\"version\": 99", "version 99"),
            ("\"jurybox\"", "\"postbox\"", "does not begin"),
            ("\"state\"", "\"estate\"", "estate"),
        ] {
            let message = Jury::from_json(&json.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(message.contains(says), "{message}");
        }
        assert!(Jury::from_json(&json[..json.len() / 2]).is_err());
    }
}

#[test]
fn options_that_do_not_exist_or_do_not_fit_are_refused() {
    for entry in policies() {
        let spec =
            specs(J).into_iter().find(|spec| spec.name() == entry.name).unwrap().with("colour", "blue");
        let message = Jury::new(&spec, Evaluators::numbered(J).unwrap()).unwrap_err().to_string();
        assert!(message.contains("colour"), "{message}");
    }
    for (text, says) in [
        ("eps-greedy(eps=1.5)", "1.5 is not a probability between 0 and 1"),
        ("eps-greedy(eps=0.1,horizon=5)", "goes without horizon"),
        ("greedy(eps=0.1)", "never explores"),
        ("esag(sigma=0)", "0 is not a positive number"),
        ("esag(sigma=[1,2])", "sigma has 2 values for 4 evaluators"),
        ("esag(sigma=loud)", "not a noise level"),
        ("esag(link=logistic)", "takes no link"),
        ("glm-esag(link=identity)", "it is `esag`"),
        ("glm-esag(link=cubic)", "not a link"),
        ("exp4p(low=1,high=0)", "not below"),
        ("eval-ucb(delta=1)", "strictly between"),
        ("lin-ucb(lambda=-1)", "not a positive number"),
        ("oracle(alpha=[1],sigma=1)", "alpha has 1 values for 4"),
        ("oracle", "alpha"),
        ("eps-greedy(slots=0)", "from 1 on"),
    ] {
        let message =
            Jury::new(&text.parse().unwrap(), Evaluators::numbered(J).unwrap()).unwrap_err().to_string();
        assert!(message.contains(says) && message.starts_with("policy `"), "{text}: {message}");
    }
}

#[test]
fn what_a_policy_needs_on_a_receipt_is_what_the_table_says() {
    for spec in specs(J) {
        let learns = |explored: bool, advice: Vec<f64>| {
            let receipt = Receipt { inclusion_probability: 0.5, explored, bonus: advice.clone(), advice };
            let example = Example { scores: &[0.5; J], reward: 0.5, receipt: Some(&receipt) };
            jury_of(&spec, J).learn(&[example], 0).unwrap().used > 0
        };
        let all = learns(true, vec![0.5; J]);
        let needs = spec.entry().unwrap().needs;
        assert_eq!(all && !learns(false, vec![0.5; J]), needs == Needs::Explored, "{spec}");
        assert_eq!(all && !learns(true, Vec::new()), needs == Needs::Advice, "{spec}");
    }
}

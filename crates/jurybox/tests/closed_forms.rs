//! Tests policies against closed forms, and against laws that they must obey.

mod support;

use jurybox::{Evaluators, Example, Jury, Link, Scores, Spec, Weights};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use support::*;

const J: usize = 4;

#[test]
fn esag_is_the_running_mean_of_all_scores_on_the_inverse_links_scale() {
    for (text, link) in [
        ("esag(sigma=0.4)", Link::Identity),
        ("glm-esag(sigma=0.4)", Link::Logistic),
        ("glm-esag(sigma=0.4,link=probit)", Link::Probit),
    ] {
        let mut jury = jury_of(&text.parse().unwrap(), J);
        let log = run(&mut jury, &mut World::new(1, J, 0.2), 50, 20, 5, 1);
        for j in 0..J {
            let column: Vec<f64> = log
                .iter()
                .flat_map(|logged| logged.scores.iter().skip(j).step_by(J))
                .filter(|x| !x.is_nan())
                .map(|&x| link.inverse(x))
                .collect();
            let mean = column.iter().sum::<f64>() / column.len() as f64;
            assert!((jury.fit().alpha().unwrap()[j] - mean).abs() < 1e-12, "{text}");
        }
    }
}

#[test]
fn maximum_likelihood_with_the_identity_link_is_s_over_r_plus_lambda() {
    for (text, lambda, explored_only) in [
        ("greedy(sigma=0.4)", 0.25, false),
        ("eps-greedy-all(sigma=0.4,lambda=3,eps=0.3)", 3.0, false),
        ("eps-greedy(sigma=0.4,lambda=0.1,eps=0.5)", 0.1, true),
        ("eps-greedy(sigma=0.4,lambda=0.1,eps=1,slots=2)", 0.1, true),
    ] {
        let mut jury = jury_of(&text.parse().unwrap(), J);
        let log = run(&mut jury, &mut World::new(2, J, 0.0), 50, 20, 5, 2);
        let (mut s, mut r) = ([0.0; J], 0.0);
        for logged in &log {
            for pick in logged.picks.iter().filter(|pick| pick.receipt.explored || !explored_only) {
                let reward = logged.rewards[pick.item];
                r += reward * reward;
                (0..J).for_each(|j| s[j] += reward * logged.scores[pick.item * J + j]);
            }
        }
        assert!(r > 0.0);
        for (found, s) in jury.fit().alpha().unwrap().iter().zip(s) {
            assert!((found - s / (r + lambda)).abs() < 1e-12, "{text}");
        }
    }
}

#[test]
fn a_policy_told_the_truth_weighs_as_the_oracle() {
    // Scores without noise: after one round esag's estimate is alpha times 2, the mean reward. So
    // its weights are the oracle's divided by 2.
    let alpha = [0.5, 1.0, 2.0, 4.0];
    let sigma = vec![0.1, 0.2, 0.3, 0.4];
    let mut jury = jury_of(&Spec::new("esag").with("sigma", sigma.clone()), J);
    let rewards = [1.0, 2.0, 3.0];
    let table: Vec<f64> = rewards.iter().flat_map(|r| alpha.map(|a| a * r)).collect();
    jury.observe(&Scores::new(&table, J).unwrap(), 0).unwrap();
    let oracle = Weights::oracle(&alpha, &sigma).unwrap();
    for (w, o) in jury.fit().weights().unwrap().iter().zip(oracle.as_slice()) {
        assert!((w * 2.0 - o).abs() < 1e-12);
    }
}

#[test]
fn folding_the_current_round_in_removes_the_blind_first_round() {
    let mut world = World::new(3, J, 0.0);
    let (mut letter, mut past) = (
        jury_of(&"esag(sigma=0.4)".parse().unwrap(), J),
        jury_of(&"esag(sigma=0.4,current_round=true)".parse().unwrap(), J),
    );
    assert!(!letter.observes_first() && past.observes_first());
    let (_, scores) = world.round(20);
    let view = Scores::new(&scores, J).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    // Before the first scores all items tie: each is picked with probability 5 / 20.
    assert!(letter.fit().inclusion_probabilities(&view, 5).unwrap().iter().all(|&p| p == 0.25));
    let picks = past.round(&view, 0, 5, &mut rng).unwrap();
    assert!(picks.iter().all(|pick| pick.receipt.inclusion_probability == 1.0));
    letter.round(&view, 0, 5, &mut rng).unwrap();
    // From here on both have observed the same round.
    assert_eq!(letter.fit().weights().unwrap(), past.fit().weights().unwrap());
}

#[test]
fn anytime_exploration_fades_as_one_over_the_cube_root_and_a_horizon_fixes_it() {
    let mut anytime = jury_of(&"eps-greedy".parse().unwrap(), J);
    assert_eq!(anytime.fit().exploration().eps, 1.0);
    run(&mut anytime, &mut World::new(4, J, 0.0), 26, 10, 2, 4);
    assert!((anytime.fit().exploration().eps - 1.0 / 3.0).abs() < 1e-12);
    let eps = |text: &str| jury_of(&text.parse().unwrap(), J).fit().exploration().eps;
    assert!((eps("eps-greedy(horizon=1000)") - 0.1).abs() < 1e-12);
    assert!((eps("glm-eps-greedy-all(horizon=10000,scale=0.1,power=0.5)") - 0.001).abs() < 1e-12);
    assert_eq!(eps("greedy"), 0.0);
}

#[test]
fn clamped_scores_are_counted() {
    let mut jury = jury_of(&"glm-esag".parse().unwrap(), 2);
    jury.observe(&Scores::new(&[0.5, 1.5, -0.1, f64::NAN], 2).unwrap(), 0).unwrap();
    assert_eq!((jury.seen().clamped, jury.seen().missing), (2, 1));
    let mut linear = jury_of(&"esag".parse().unwrap(), 2);
    linear.observe(&Scores::new(&[0.5, 1.5, -0.1, f64::NAN], 2).unwrap(), 0).unwrap();
    assert_eq!(linear.seen().clamped, 0);
}

#[test]
fn it_says_where_the_noise_levels_come_from() {
    let origin = |text: &str, evaluators: usize| {
        let mut jury = jury_of(&text.parse().unwrap(), evaluators);
        run(&mut jury, &mut World::new(5, evaluators, 0.0), 100, 20, 5, 5);
        let fitted = jury.fit();
        let (sigma, origin) = fitted.sigma().unwrap();
        assert!(sigma.iter().all(|&s| s > 0.0));
        origin.to_string()
    };
    assert_eq!(origin("esag(sigma=0.4)", 4), "given");
    assert!(origin("esag", 4).contains("one-factor"));
    assert!(origin("esag", 2).contains("2 evaluators are too few"));
    assert!(origin("greedy(sigma=labelled)", 4).contains("labelled"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Multiplying an evaluator's scores and its sigma by the same factor is a change of units: the
    /// picks stay.
    #[test]
    fn units_do_not_matter(factors in prop::collection::vec(0.01..100.0_f64, J), seed in 0_u64..1000) {
        for name in ["oracle", "esag", "eps-greedy", "eps-greedy-all", "greedy"] {
            let spec = |factor: &[f64]| {
                let scale = |values: &[f64; J]| -> Vec<f64> { values.iter().zip(factor).map(|(v, f)| v * f).collect() };
                let spec = Spec::new(name).with("sigma", scale(&SIGMA));
                match name {
                    "oracle" => spec.with("alpha", scale(&ALPHA)),
                    // The ridge penalty has a unit too; a tiny one does not change the picks.
                    "esag" => spec,
                    _ => spec.with("lambda", 1e-9),
                }
            };
            let mut plain = jury_of(&spec(&[1.0; J]), J);
            let mut scaled = jury_of(&spec(&factors), J);
            let mut world = World::new(seed, J, 0.1);
            let (mut a, mut b) = (ChaCha8Rng::seed_from_u64(seed), ChaCha8Rng::seed_from_u64(seed));
            for at in 0..30 {
                let (rewards, scores) = world.round(20);
                let other: Vec<f64> = scores.iter().enumerate().map(|(i, x)| x * factors[i % J]).collect();
                let picks = plain.round(&Scores::new(&scores, J).unwrap(), at, 5, &mut a).unwrap();
                let picks_scaled = scaled.round(&Scores::new(&other, J).unwrap(), at, 5, &mut b).unwrap();
                let items = |picks: &[jurybox::Pick]| {
                    let mut items: Vec<usize> = picks.iter().map(|pick| pick.item).collect();
                    items.sort_unstable();
                    items
                };
                prop_assert_eq!(items(&picks), items(&picks_scaled), "{}", name);
                learn(&mut plain, &Logged { at, scores, rewards: rewards.clone(), picks });
                learn(&mut scaled, &Logged { at, scores: other, rewards, picks: picks_scaled });
            }
        }
    }

    /// Any scores and rewards: a round is refused, or `k` distinct items are picked. Rewards beyond
    /// 1e100 in size are refused.
    #[test]
    fn no_input_is_a_panic(
        table in prop::collection::vec(prop_oneof![
            5 => -1e3..1e3_f64, 1 => Just(f64::NAN), 1 => any::<f64>(), 1 => Just(0.0), 1 => Just(1e100)
        ], 0..60),
        rewards in prop::collection::vec(prop_oneof![3 => -10.0..10.0_f64, 1 => any::<f64>()], 15),
        k in 0_usize..20,
    ) {
        for spec in specs(J) {
            let mut jury = Jury::new(&spec, Evaluators::numbered(J).unwrap()).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            for _ in 0..3 {
                let Ok(view) = jury.scores(&table) else { continue };
                let Ok(picks) = jury.round(&view, 0, k, &mut rng) else { continue };
                let mut items: Vec<usize> = picks.iter().map(|pick| pick.item).collect();
                items.sort_unstable();
                items.dedup();
                prop_assert_eq!(items.len(), k);
                for pick in &picks {
                    let reward = rewards[pick.item];
                    let example = Example { scores: view.row(pick.item), reward, receipt: Some(&pick.receipt) };
                    prop_assert_eq!(jury.learn(&[example], 0).is_ok(), reward.abs() <= 1e100);
                }
            }
        }
    }
}

#[test]
fn an_item_that_nobody_scored_is_worth_what_all_items_are_and_not_what_picks_were() {
    for policy in ["greedy(sigma=0.5)", "eps-greedy-all(eps=0.01,sigma=0.5)", "eval-ucb(sigma=0.5)", "greedy"]
    {
        let mut jury = jury_of(&policy.parse().unwrap(), 3);
        let mut world = World::new(3, 3, 0.0);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (mut all, mut picked) = ((0.0, 0.0), (0.0, 0.0));
        for at in 0..200 {
            let rewards: Vec<f64> = (0..20).map(|_| 1.0 + world.normal()).collect();
            let mut table: Vec<f64> =
                rewards.iter().flat_map(|r| [*r; 3]).map(|r| r + 0.5 * world.normal()).collect();
            table.iter_mut().step_by(7).for_each(|score| *score = f64::NAN);
            for pick in jury.round(&jury.scores(&table).unwrap(), at, 4, &mut rng).unwrap() {
                let (scores, reward) = (&table[3 * pick.item..3 * pick.item + 3], rewards[pick.item]);
                jury.learn(&[Example { scores, reward, receipt: Some(&pick.receipt) }], at).unwrap();
                picked = (picked.0 + reward, picked.1 + 1.0);
            }
            all = (all.0 + rewards.iter().sum::<f64>(), all.1 + 20.0);
        }
        let unknown = jury.fit().values(&jury.scores(&[f64::NAN; 3]).unwrap()).unwrap()[0];
        let (all, picked) = (all.0 / all.1, picked.0 / picked.1);
        assert!(picked > all + 1.0, "{policy}: {picked} {all}");
        // Gains learnt from picks are a little biased, hence the tolerance.
        assert!((unknown - all).abs() < 0.15, "{policy}: {unknown}, all {all}, picked {picked}");
    }
}

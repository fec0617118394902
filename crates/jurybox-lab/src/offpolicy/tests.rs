//! Tests of off-policy evaluation on small simulated logs.

use super::*;
use jurybox::Spec;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// A log of rounds of 20 items by two evaluators, and the reward per pick of the good one's top
/// `k`. The log picks the poor one's top `k`, or random items with probability `eps`. Only picks
/// carry a probability, unless `all_carry` is set.
fn log(seed: u64, rounds: usize, k: usize, eps: f64, all_carry: bool) -> (ReviewLog, f64) {
    let items = 20;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let evaluators = jurybox::Evaluators::new(["poor", "good"]).unwrap();
    let mut log = ReviewLog::of(evaluators);
    let mut truth = 0.0;
    for round in 0..rounds {
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let worth: Vec<f64> = (0..items).map(|_| normal()).collect();
        let scores: Vec<[f64; 2]> = worth.iter().map(|w| [0.3 * w + normal(), w + 0.5 * normal()]).collect();
        let best = |value: &dyn Fn(usize) -> f64| {
            let mut order: Vec<usize> = (0..items).collect();
            order.sort_by(|&a, &b| value(b).total_cmp(&value(a)));
            order[..k].to_vec()
        };
        let top = best(&|i| scores[i][0]);
        // The reward is a curve in the worth, which a line fitted to the log's picks misses.
        let reward = |i: usize| worth[i].max(0.0).powf(1.5);
        truth += best(&|i| scores[i][1]).into_iter().map(reward).sum::<f64>() / (k * rounds) as f64;
        let chance: Vec<f64> = (0..items).map(|_| rng.random()).collect();
        let picked = if rng.random::<f64>() < eps { best(&|i| chance[i]) } else { top.clone() };
        for i in 0..items {
            let p = if top.contains(&i) { 1.0 - eps } else { 0.0 } + eps * k as f64 / items as f64;
            let reviewed = picked.contains(&i);
            log.rewards.push(if reviewed { reward(i) } else { f64::NAN });
            log.probabilities.push(if reviewed || (all_carry && p > 0.0) { p } else { f64::NAN });
            log.scores.extend(scores[i]);
        }
        log.rounds.push((round * items..(round + 1) * items).collect());
    }
    (log, truth)
}

fn ask(policies: &str, k: usize) -> ReplayOptions {
    ReplayOptions { k, policies: Spec::list(policies).unwrap(), ..ReplayOptions::default() }
}

fn run(log: &ReviewLog, options: &ReplayOptions) -> OffPolicy {
    estimated(log, options, 1, RunProgress::NOBODY).unwrap().0
}

/// A log that always picks the top two of a poor evaluator. The doubly robust interval would not
/// hold the truth; bounds are given instead, and hold it.
#[test]
fn a_log_that_never_looks_elsewhere_gets_a_bound() {
    let (log, truth) = log(1, 400, 2, 0.0, false);
    let outcome = run(&log, &ask("adaptive", 2));
    let line = &outcome.policies[0];
    assert_eq!(line.reward_per_pick, None);
    let bounds = line.bounds.unwrap();
    assert!(bounds.low <= truth && truth <= bounds.high, "{truth} {line:?}");
    let estimates = line.estimates.unwrap();
    let wrong = estimates.doubly_robust;
    assert!(wrong.above(truth) || wrong.below(truth), "the data do not show the problem: {truth} {line:?}");
    assert!(estimates.overlap < 0.5, "{line:?}");
    let why = line.why.as_ref().unwrap();
    assert!(why.contains("of what this policy would pick too rarely"), "{why}");
    // The log has full support for its own policy.
    let own = run(&log, &ReplayOptions { weights: Some(vec![1.0, 0.0]), ..ask("average", 2) });
    let own = own.policies.iter().find(|line| line.name == "weights").unwrap();
    assert_eq!(own.reward_per_pick.unwrap().mean, outcome.logged.mean);
}

/// If other unpicked rows carry a probability, rows without one could not be picked.
#[test]
fn rows_without_a_probability_cannot_be_picked_where_others_carry_one() {
    let (mut log, _) = log(2, 400, 2, 1.0, true);
    let line = |log: &ReviewLog| run(log, &ask("average", 2)).policies.remove(0);
    assert_eq!(line(&log).bounds, None);
    for row in (0..log.rows()).filter(|row| row % 10 == 0) {
        log.probabilities[row] = f64::NAN;
        log.rewards[row] = f64::NAN;
    }
    assert!(line(&log).bounds.is_some());
}

/// The default horizon is the log's number of rounds.
#[test]
fn the_horizon_is_the_logs() {
    let (log, _) = log(3, 60, 2, 0.5, true);
    let both =
        run(&log, &ask("eps-greedy-all, eps-greedy-all(horizon=60), eps-greedy-all(horizon=1000000)", 2));
    let [own, told, endless] = [0, 1, 2].map(|at| both.policies[at].estimates);
    assert_eq!(own, told);
    assert_ne!(own, endless);
    assert_eq!(both.rounds, 60);
}

/// `eps-greedy` learns from explored picks only, and `exp4p` from the bonus of whole rounds.
/// Explored picks and bonus are known if every row carries a probability; otherwise there is a
/// reason instead of a figure.
#[test]
fn policies_that_learn_from_receipts_get_them_or_are_named() {
    let (complete, _) = log(4, 300, 2, 0.5, true);
    let outcome = run(&complete, &ask("eps-greedy, exp4p", 2));
    let uniform = outcome.references.iter().find(|line| line.name == "uniform").unwrap();
    let uniform = uniform.estimates.unwrap().doubly_robust;
    for line in &outcome.policies {
        // Without receipts neither would learn, and both would pick nearly at random.
        assert!(line.estimates.unwrap().doubly_robust.above(uniform.high), "{line:?} {uniform:?}");
    }
    let (bare, _) = log(4, 300, 2, 0.5, false);
    let outcome = run(&bare, &ask("eps-greedy, exp4p", 2));
    assert!(outcome.policies.iter().all(|line| line.estimates.is_none()));
    assert!(outcome.policies[0].why.as_ref().unwrap().contains("drawn at random"));
    assert!(outcome.policies[1].why.as_ref().unwrap().contains("the bonus of whole rounds"));
    assert!(outcome.to_table().contains("eps-greedy: it learns only from picks drawn at random"));
}

/// The reconstructed advice and bonus are the ones on the receipts of `exp4p`.
#[test]
fn advice_is_that_of_the_policy() {
    let (mut log, _) = log(5, 1, 2, 0.5, true);
    log.scores[7] = f64::NAN;
    log.scores[11] = log.scores[13]; // a tie
    let jury = jury_for(&"exp4p".parse().unwrap(), &log, 10).unwrap();
    let rows: Vec<usize> = (0..20).collect();
    let fitted = jury.fit();
    log.probabilities =
        fitted.inclusion_probabilities(&jurybox::Scores::new(&log.scores, 2).unwrap(), 6).unwrap();
    let (advice, bonus) = receipts::advice(&log, &rows, 6).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let scores = jurybox::Scores::new(&log.scores, 2).unwrap();
    for _ in 0..20 {
        for pick in fitted.choose(&scores, 6, &mut rng).unwrap() {
            assert_eq!(pick.receipt.advice, advice[pick.item]);
            let same = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12 * a;
            assert!(pick.receipt.bonus.iter().zip(&bonus).all(same), "{:?} {bonus:?}", pick.receipt);
        }
    }
}

/// Rows with high first scores were reviewed more often, and unreviewed rows are not in the file.
/// The expected reward of uniform picks is 0.4 over all rows and 0.49 over the reviewed rows.
#[test]
fn probabilities_count_where_every_row_has_a_reward() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let evaluators = jurybox::Evaluators::new(["a", "b"]).unwrap();
    let mut log = ReviewLog::of(evaluators);
    for _ in 0..6000 {
        let (a, b): (f64, f64) = (rng.random(), rng.random());
        let p = 0.05 + 0.9 * a;
        if rng.random::<f64>() < p {
            log.scores.extend([a, b]);
            log.rewards.push(0.6 * a + 0.2 * b);
            log.probabilities.push(p);
        }
    }
    let outcome = run(&log, &ReplayOptions { items: 20, ..ask("average", 2) });
    let uniform = outcome.references.iter().find(|line| line.name == "uniform").unwrap();
    let uniform = uniform.reward_per_pick.unwrap();
    // Two half-widths are about four standard errors.
    assert!(
        (uniform.mean - 0.4).abs() < 2.0 * uniform.half_width() && uniform.half_width() < 0.02,
        "{uniform:?}"
    );
    assert!(outcome.logged.above(0.45), "{:?}", outcome.logged);
    // With rounds, the missing unreviewed rows are noticed, and no figure is given.
    let rounds = (0..log.rows() / 10).map(|t| (10 * t..10 * t + 10).collect()).collect();
    let refused = estimated(&ReviewLog { rounds, ..log }, &ask("average", 2), 1, RunProgress::NOBODY);
    assert!(refused.err().unwrap().to_string().contains("left out of the file"));
}

/// Probabilities written with few digits, as 0.1667 for 5 of 30: the sum of the weights is then
/// 0.9998 times the number of picks.
#[test]
fn probabilities_may_be_rounded() {
    for off in [1.0002, 0.9998] {
        let (mut log, _) = log(11, 200, 2, 1.0, true);
        log.probabilities.iter_mut().for_each(|p| *p *= off);
        let outcome = run(&log, &ask("average", 2));
        let uniform = outcome.references.iter().find(|line| line.name == "uniform").unwrap();
        assert!(uniform.reward_per_pick.is_some() && uniform.why.is_none(), "{uniform:?}");
    }
}

#[test]
fn impossible_probabilities_are_refused_on_every_row() {
    let (good, _) = log(7, 3, 2, 0.5, true);
    let picked = (0..60).find(|&row| !good.rewards[row].is_nan()).unwrap();
    let passed = (0..60).find(|&row| good.rewards[row].is_nan()).unwrap();
    for (row, p) in
        [(picked, 0.0), (picked, 1.2), (picked, f64::NAN), (passed, 0.0), (passed, 1.2), (passed, -0.1)]
    {
        let mut log = good.clone();
        log.probabilities[row] = p;
        let error = check(&log, Path::new("log.csv"), "p").unwrap_err().to_string();
        assert!(error.starts_with(&format!("log.csv: row {}, column `p`: ", row + 1)), "{error}");
        assert!(p.is_nan() || error.contains(&p.to_string()), "{error}");
    }
    assert!(check(&good, Path::new("log.csv"), "p").is_ok());
}

/// The log cannot pick the first two of the 20 items in a round, whose rewards are 2.5 less; the
/// policy can. The mean weight often does not show this, but the interval must hold the truth.
#[test]
fn what_the_mean_weight_cannot_tell_is_in_the_interval() {
    let [given, held, narrow, _] = hidden_tenth(40);
    assert!(given >= 5.0, "the data do not show the problem: {given}");
    assert!(narrow < 0.5 * given, "the data do not show the problem: {narrow} of {given}");
    assert!(held >= 0.87 * given, "{held} of {given}");
}

/// Prints figures of `experiments/results/off-policy.md`: `cargo test -p jurybox-lab --lib
/// offpolicy::tests -- --ignored --nocapture`.
#[test]
#[ignore = "prints figures of the book"]
#[expect(clippy::print_stdout, reason = "printing is what it is for")]
fn coverage_of_a_hidden_tenth() {
    println!("given, held, held without widening, mean half width: {:?}", hidden_tenth(200));
}

/// The number of logs with a figure, of figures that hold the truth, and of these logs' doubly
/// robust intervals that hold it. Last comes the mean half width of the figures.
fn hidden_tenth(logs: u64) -> [f64; 4] {
    let [mut given, mut held, mut narrow, mut width] = [0.0; 4];
    for seed in 0..logs {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let evaluators = jurybox::Evaluators::new(["poor", "good"]).unwrap();
        let mut log = ReviewLog::of(evaluators);
        let mut truth = 0.0;
        for round in 0..100 {
            let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
            let worth: Vec<f64> = (0..20).map(|_| normal()).collect();
            let scores: Vec<[f64; 2]> =
                worth.iter().map(|w| [0.3 * w + normal(), w + 0.5 * normal()]).collect();
            let reward: Vec<f64> =
                (0..20).map(|i| worth[i] + 0.3 * normal() - if i < 2 { 2.5 } else { 0.0 }).collect();
            // The log cannot pick the first two items of a round.
            let best = |value: &dyn Fn(usize) -> f64, from: usize| {
                let mut order: Vec<usize> = (from..20).collect();
                order.sort_by(|&a, &b| value(b).total_cmp(&value(a)));
                order[..5].to_vec()
            };
            let top = best(&|i| scores[i][0], 2);
            truth += best(&|i| scores[i][1], 0).into_iter().map(|i| reward[i]).sum::<f64>() / 500.0;
            let chance: Vec<f64> = (0..20).map(|_| rng.random()).collect();
            let picked = if rng.random::<f64>() < 0.5 { best(&|i| chance[i], 2) } else { top.clone() };
            for i in 0..20 {
                let p = if top.contains(&i) { 0.5 } else { 0.0 } + 0.5 * 5.0 / 18.0;
                log.rewards.push(if picked.contains(&i) { reward[i] } else { f64::NAN });
                log.probabilities.push(if picked.contains(&i) { p } else { f64::NAN });
                log.scores.extend(scores[i]);
            }
            log.rounds.push((round * 20..(round + 1) * 20).collect());
        }
        let options = ReplayOptions { weights: Some(vec![0.0, 1.0]), ..ask("average", 5) };
        let outcome = run(&log, &options);
        let line = outcome.policies.iter().find(|line| line.name == "weights").unwrap();
        if let Some(figure) = line.reward_per_pick {
            let holds =
                |figure: jurybox::Interval| f64::from(u8::from(figure.low <= truth && truth <= figure.high));
            given += 1.0;
            held += holds(figure);
            narrow += holds(line.estimates.unwrap().doubly_robust);
            width += figure.half_width();
        }
    }
    [given, held, narrow, width / given]
}

#[test]
fn equal_rewards_bound_nothing() {
    let (mut log, _) = log(8, 60, 2, 0.0, false);
    log.rewards.iter_mut().filter(|r| !r.is_nan()).for_each(|r| *r = 3.0);
    let line = run(&log, &ask("average", 2)).policies.remove(0);
    assert_eq!((line.bounds, line.reward_per_pick), (None, None));
    assert!(line.why.unwrap().contains("no bounds: all rewards in the log are equal"));
    let declared = ReplayOptions { reward_range: Some((1.0, 5.0)), ..ask("average", 2) };
    let bounds = run(&log, &declared).policies.remove(0).bounds.unwrap();
    assert!(1.0 <= bounds.low && bounds.low < 3.0 && 3.0 < bounds.high && bounds.high <= 5.0, "{bounds:?}");
    let narrow = ReplayOptions { reward_range: Some((1.0, 2.0)), ..ask("average", 2) };
    assert!(estimated(&log, &narrow, 1, RunProgress::NOBODY).is_err());
    // If every verdict is a no, the upper bound still allows for a yes on unreviewed rows.
    log.rewards.iter_mut().filter(|r| !r.is_nan()).for_each(|r| *r = 0.0);
    let outcome = run(&log, &ask("average", 2));
    assert!(outcome.policies[0].bounds.unwrap().high > 0.2, "{:?}", outcome.policies[0]);
    assert!(outcome.to_table().contains("rewards from 0 to 1 (all rewards in the log are 0 or 1)"));
}

/// 3 of 20 items are picked uniformly, with p = 3/20: the sum of the weights is exact but for
/// rounding.
#[test]
fn a_purely_random_log_is_no_forgery() {
    let (mut log, _) = log(9, 100, 3, 1.0, true);
    log.probabilities.iter_mut().for_each(|p| *p = 3.0 / 20.0);
    let outcome = run(&log, &ask("average", 3));
    let uniform = outcome.references.iter().find(|line| line.name == "uniform").unwrap();
    assert!(uniform.reward_per_pick.is_some(), "{uniform:?}");
}

#[test]
fn a_state_may_know_the_log() {
    let (log, _) = log(10, 300, 2, 1.0, true);
    let jury = jury_for(&"adaptive".parse().unwrap(), &log, 60).unwrap();
    let options = ReplayOptions { states: vec![("state(a)".into(), jury)], ..ask("average", 2) };
    let outcome = run(&log, &options);
    let state = outcome.policies.iter().find(|line| line.name == "state(a)").unwrap();
    assert!(state.reward_per_pick.is_some() && state.difference_to_logged.is_none(), "{state:?}");
    assert!(outcome.policies[0].difference_to_logged.is_some());
    for text in [outcome.to_table(), outcome.to_html(), outcome.warnings.concat()] {
        assert!(text.contains("a state that has learnt from this log"), "{text}");
    }
}

#[test]
fn more_picks_than_items_are_a_warning() {
    let (log, _) = log(11, 60, 2, 0.5, true);
    let table = run(&log, &ask("average", 30)).to_table();
    assert!(table.contains("at most 30 picks each"), "{table}");
    assert!(
        table.contains("60 of 60 rounds have fewer than 30 items: there every item is picked"),
        "{table}"
    );
}

#[test]
fn a_weight_beside_which_nothing_counts_is_refused() {
    let (mut log, _) = log(12, 60, 2, 0.5, true);
    let picked = (0..1200).find(|&row| !log.rewards[row].is_nan()).unwrap();
    log.probabilities[picked] = 1e-300;
    let error = check(&log, Path::new("log.csv"), "p").unwrap_err().to_string();
    assert!(
        error.contains(&format!("row {}, column `p`: the probability 1e-300 is so small", picked + 1)),
        "{error}"
    );
}

/// The default of 200 items in a round is too many for a file of 120 reviewed rows. The error names
/// a possible number.
#[test]
fn too_many_items_for_reviewed_rows_are_named() {
    let (log, _) = log(13, 60, 2, 0.5, true);
    let reviewed: Vec<usize> = (0..1200).filter(|&row| !log.rewards[row].is_nan()).collect();
    let of = |from: &[f64]| reviewed.iter().map(|&row| from[row]).collect::<Vec<f64>>();
    let scores = reviewed.iter().flat_map(|&row| log.row(row).to_vec()).collect();
    let (rewards, probabilities) = (of(&log.rewards), of(&log.probabilities));
    let log = ReviewLog { scores, rewards, probabilities, rounds: vec![], ..log };
    let error = estimated(&log, &ask("average", 2), 1, RunProgress::NOBODY).err().unwrap().to_string();
    assert!(error.contains("items") && error.contains("enough for rounds of 12 items"), "{error}");
}

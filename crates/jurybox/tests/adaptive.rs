//! Tests of policy `adaptive`: it learns from biased, copied, curved and heavy-tailed data, and its
//! intervals hold the truth as often as stated.

mod support;

use jurybox::options::Fraction;
use jurybox::{Evaluators, Example, Jury};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use support::*;

const J: usize = 6;

/// Rounds of 40 items: standard normal rewards, and the scores that `score` draws for each reward.
fn rounds(
    count: usize,
    seed: u64,
    mut score: impl FnMut(usize, f64, &mut ChaCha8Rng) -> Vec<f64>,
) -> Vec<(Vec<f64>, Vec<f64>)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count)
        .map(|t| {
            let rewards: Vec<f64> = (0..40).map(|_| normal(&mut rng)).collect();
            let table = rewards.iter().flat_map(|&r| score(t, r, &mut rng)).collect();
            (rewards, table)
        })
        .collect()
}

/// Plays the rounds with eight picks each, learning at once. Returns the mean reward per pick over
/// the last third of the rounds.
fn play(jury: &mut Jury, rounds: &[(Vec<f64>, Vec<f64>)]) -> f64 {
    let width = jury.evaluators().len();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let (mut sum, mut count) = (0.0, 0.0);
    for (t, (rewards, table)) in rounds.iter().enumerate() {
        let (view, at) = (jury.scores(table).unwrap(), t as u64);
        for pick in jury.round(&view, at, 8, &mut rng).unwrap() {
            let scores = &table[pick.item * width..(pick.item + 1) * width];
            jury.learn(&[Example { scores, reward: rewards[pick.item], receipt: Some(&pick.receipt) }], at)
                .unwrap();
            if 3 * t >= 2 * rounds.len() {
                sum += rewards[pick.item];
                count += 1.0;
            }
        }
    }
    sum / count
}

/// The mean reward per pick over the last third of the rounds if the eight items of highest `value`
/// are picked.
fn picked_by(rounds: &[(Vec<f64>, Vec<f64>)], value: impl Fn(&[f64]) -> f64) -> f64 {
    let last = &rounds[2 * rounds.len() / 3..];
    let picked = |(rewards, table): &(Vec<f64>, Vec<f64>)| {
        let mut rows: Vec<(f64, f64)> = table.chunks(J).map(&value).zip(rewards.iter().copied()).collect();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        rows[..8].iter().map(|row| row.1).sum::<f64>() / 8.0
    };
    last.iter().map(picked).sum::<f64>() / last.len() as f64
}

fn new_jury(spec: &str, width: usize) -> Jury {
    jury_of(&spec.parse().unwrap(), width)
}

/// The mean reward per pick over the last third of the rounds if the eight largest rewards are
/// picked.
fn ceiling(rounds: &[(Vec<f64>, Vec<f64>)]) -> f64 {
    let best = |rewards: &Vec<f64>| {
        let mut sorted = rewards.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        sorted[..8].iter().sum::<f64>() / 8.0
    };
    let last = &rounds[2 * rounds.len() / 3..];
    last.iter().map(|(rewards, _)| best(rewards)).sum::<f64>() / last.len() as f64
}

#[test]
fn offsets_units_inverted_and_useless_evaluators_are_learnt() {
    let data = rounds(120, 1, |_, r, rng| {
        vec![
            1e4 + r + 0.3 * normal(rng),
            1e-6 * (r + 0.3 * normal(rng)),
            -7.0 - 2.0 * r + 0.5 * normal(rng),
            normal(rng),
            300.0 * normal(rng),
            3.25,
        ]
    });
    let share = play(&mut new_jury("adaptive", J), &data) / ceiling(&data);
    assert!(share > 0.95, "{share}");
    // An inverted evaluator may also be declared.
    let alone: Vec<_> = data
        .iter()
        .map(|(r, t)| (r.clone(), t.chunks(J).flat_map(|row| [row[2], row[3]]).collect()))
        .collect();
    let declared = play(&mut new_jury("adaptive(inverted=[0])", 2), &alone[..6]);
    assert!(declared > 0.8 * ceiling(&alone[..6]), "{declared}");
}

#[test]
fn rewards_of_any_sign_and_scale_give_the_same_picks() {
    let data = rounds(60, 2, |_, r, rng| (0..J).map(|j| r + (0.2 + j as f64) * normal(rng)).collect());
    let picks = |scale: f64, shift: f64| {
        let changed: Vec<_> = data
            .iter()
            .map(|(rewards, table)| (rewards.iter().map(|r| scale * r + shift).collect(), table.clone()))
            .collect();
        let mut jury = new_jury("adaptive", J);
        play(&mut jury, &changed);
        picks_after(&jury, 3)
    };
    let plain = picks(1.0, 0.0);
    assert_eq!(picks(1e6, -3e6), plain);
    assert_eq!(picks(1e-6, 2e-6), plain);
}

#[test]
fn duplicates_binary_and_heavy_tailed_rewards_do_no_harm() {
    let data = rounds(90, 3, |_, r, rng| {
        let (a, b) = (r + 0.5 * normal(rng), r + normal(rng));
        vec![a, a, a, b, b, normal(rng)]
    });
    let best = ceiling(&data);
    let transform = |f: &dyn Fn(f64) -> f64| -> Vec<(Vec<f64>, Vec<f64>)> {
        data.iter().map(|(rewards, table)| (rewards.iter().map(|&r| f(r)).collect(), table.clone())).collect()
    };
    assert!(play(&mut new_jury("adaptive", J), &data) > 0.88 * best);
    let binary = transform(&|r| f64::from(r > 1.0));
    // The best that these scores allow: weights 4 and 1, which are one over the variances 0.25 and
    // 1 of the two evaluators' noise.
    let told = picked_by(&binary, |row| 4.0 * row[0] + row[3]);
    let found = play(&mut new_jury("adaptive", J), &binary);
    assert!(found > 0.92 * told, "{found} of {told}");
    // Log-normal rewards, with a very heavy tail.
    let heavy = transform(&|r| (3.0 * r).exp());
    let mut jury = new_jury("adaptive", J);
    play(&mut jury, &heavy);
    let fitted = jury.fit();
    let weights = fitted.weights().unwrap();
    // Columns 0 to 2 are copies of one evaluator, 3 and 4 of another, and 5 is noise.
    let seeing = weights[..3].iter().sum::<f64>().min(weights[3..5].iter().sum());
    assert!(seeing > 3.0 * weights[5].abs(), "{weights:?}");
}

#[test]
fn curves_are_followed() {
    // The first evaluator saturates, and the second tells only the best items apart.
    let data = rounds(150, 4, |_, r, rng| {
        vec![(3.0 * r).tanh() + 0.05 * normal(rng), (2.0 * r).exp() + normal(rng), normal(rng)]
    });
    let (bent, straight) =
        (play(&mut new_jury("adaptive", 3), &data), play(&mut new_jury("adaptive(curve=linear)", 3), &data));
    assert!(bent > straight && bent > 0.93 * ceiling(&data), "{bent} {straight} {}", ceiling(&data));
}

#[test]
fn intervals_cover() {
    let weights = [0.5, 0.3, 0.0, -0.2];
    let (mut inside, mut total, mut covered, mut asked) = (0, 0, 0, 0);
    for seed in 0..30 {
        // The reward is a linear function of independent scores plus noise, so the true weights are
        // known.
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut jury = new_jury("adaptive(curve=linear)", 4);
        for _ in 0..40 {
            let table: Vec<f64> = (0..80).map(|_| normal(&mut rng)).collect();
            let view = jury.scores(&table).unwrap();
            jury.observe(&view, 0).unwrap();
            for row in table.chunks(4).take(5) {
                let reward =
                    row.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>() + 0.5 * normal(&mut rng);
                jury.learn(&[Example { scores: row, reward, receipt: None }], 0).unwrap();
            }
        }
        let (fitted, level) = (jury.fit(), Fraction::try_from(0.9).unwrap());
        for (interval, truth) in fitted.weight_intervals(level).unwrap().iter().zip(weights) {
            assert!(interval.low < interval.high);
            inside += i32::from(interval.low < truth && truth < interval.high);
            total += 1;
        }
        let table: Vec<f64> = (0..40).map(|_| normal(&mut rng)).collect();
        let view = jury.scores(&table).unwrap();
        for (interval, row) in fitted.predict(&view, level).unwrap().unwrap().iter().zip(table.chunks(4)) {
            let reward = row.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>() + 0.5 * normal(&mut rng);
            covered += i32::from(interval.low < reward && reward < interval.high);
            asked += 1;
        }
    }
    // 120 weights and 300 rewards at 90%: four standard errors are 0.11 and 0.07. Intervals of
    // weights may cover more often.
    assert!(f64::from(inside) / f64::from(total) > 0.79, "{inside} of {total}");
    let share = f64::from(covered) / f64::from(asked);
    assert!((share - 0.9).abs() < 0.07, "{share}");
}

#[test]
fn gross_errors_among_the_verdicts_do_not_rule_the_fit() {
    // Two evaluators see the reward and two do not. Verdicts have Cauchy noise, which has no finite
    // variance.
    let data = rounds(100, 12, |_, r, rng| {
        (0..4).map(|j| if j < 2 { r + 0.5 * normal(rng) } else { normal(rng) }).collect()
    });
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let verdicts: Vec<_> = data
        .iter()
        .map(|(rewards, table)| {
            let off = |r: &f64| r + normal(&mut rng) / normal(&mut rng);
            (rewards.iter().map(off).collect(), table.clone())
        })
        .collect();
    let mut jury = new_jury("adaptive", 4);
    play(&mut jury, &verdicts);
    let fitted = jury.fit();
    let weights = fitted.weights().unwrap();
    let (seeing, blind) = (weights[0].min(weights[1]), weights[2].abs().max(weights[3].abs()));
    assert!(seeing > 3.0 * blind, "{weights:?}");
}

#[test]
fn severe_harm_is_not_cut_to_the_size_of_mild_harm() {
    // Mild harm, worth about 1, is frequent and seen by the first three evaluators. Severe harm,
    // worth about 100, is rare and seen by the last three.
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let mut item = || {
        let mut chance = |share: f64| normal(&mut rng) > share;
        let (mild, severe) = (chance(1.04), chance(2.26)); // 15% and 1.2%
        let size = if severe { 100.0 } else { f64::from(mild) };
        let reward = size * (0.2 * normal(&mut rng)).exp() + 0.05 * normal(&mut rng);
        let score = |j: usize| if j < 3 { 2.0 * f64::from(mild) } else { 2.5 * f64::from(severe) };
        (reward, (0..J).map(|j| score(j) + normal(&mut rng)).collect::<Vec<f64>>())
    };
    let data: Vec<(Vec<f64>, Vec<f64>)> = (0..150)
        .map(|_| {
            let (rewards, rows): (Vec<f64>, Vec<Vec<f64>>) = (0..40).map(|_| item()).unzip();
            (rewards, rows.concat())
        })
        .collect();
    // Picks by the three evaluators that see severe harm.
    let told = picked_by(&data, |row| row[3] + row[4] + row[5]);
    let found = play(&mut new_jury("adaptive", J), &data);
    assert!(found > 0.9 * told, "{found} of {told}");
}

/// Rounds of 120 items. Mild harm, worth about 1, is frequent and seen by the first four
/// evaluators. Severe harm, worth about 100, is rare and seen by the last two alone.
fn severe(seed: u64, count: usize) -> Vec<(Vec<f64>, Vec<f64>)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut item = || {
        let chance = normal(&mut rng);
        let (mild, severe) = ((0.986..2.257).contains(&chance), chance >= 2.257); // 15% and 1.2%
        let size = if severe { 100.0 } else { f64::from(mild) };
        let reward = size * (0.2 * normal(&mut rng)).exp() + 0.05 * normal(&mut rng);
        let score = |j: usize| if j < 4 { 1.5 * f64::from(mild) } else { 2.5 * f64::from(severe) };
        (reward, (0..6).map(|j| score(j) + normal(&mut rng)).collect::<Vec<f64>>())
    };
    let round = |_| {
        let (rewards, rows): (Vec<f64>, Vec<Vec<f64>>) = (0..120).map(|_| item()).unzip();
        (rewards, rows.concat())
    };
    (0..count).map(round).collect()
}

#[test]
fn severe_harm_that_the_others_pass_over_is_met() {
    // A jury that followed mild harm alone would earn about 1 per pick.
    for seed in 0..6 {
        let data = severe(seed, 240);
        let told = picked_by(&data, |row| row[4] + row[5]);
        let found = play(&mut new_jury("adaptive", 6), &data);
        assert!(found > 0.9 * told, "{seed}: {found} of {told}");
    }
}

#[test]
fn noise_that_grows_with_the_reward_is_a_curve_to_it() {
    // Scores scatter more for good items, so that extreme scores of either sign mark good items.
    let data = rounds(200, 11, |_, r, rng| (0..3).map(|_| 0.3 * r + r.exp() * normal(rng)).collect());
    let (curved, straight) =
        (play(&mut new_jury("adaptive", 3), &data), play(&mut new_jury("adaptive(curve=linear)", 3), &data));
    assert!(curved > 1.05 * straight, "{curved} {straight}");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for (spec, says) in [
        ("adaptive(inverted=[9])", "no column 9"),
        ("adaptive(sample=0)", "0 is not"),
        ("adaptive(sample=99999999)", "too large"),
        ("adaptive(draws=5000)", "too large"),
        ("adaptive(audit=2)", "2 is not a probability"),
        ("adaptive(curve=wavy)", "wavy"),
    ] {
        let message =
            Jury::new(&spec.parse().unwrap(), Evaluators::numbered(3).unwrap()).unwrap_err().to_string();
        assert!(message.contains(says), "{spec}: {message}");
    }
}

#[test]
fn the_value_of_a_row_is_its_own_whatever_stands_beside_it() {
    for spec in ["adaptive", "adaptive(curve=ranks)", "adaptive(curve=linear)"] {
        let data = rounds(30, 9, |_, r, rng| (0..J).map(|_| (r + normal(rng)).exp()).collect());
        let mut jury = new_jury(spec, J);
        play(&mut jury, &data);
        let mut table = data[0].1.clone();
        // Every third row has a gap or two.
        for (row, scores) in table.chunks_exact_mut(J).enumerate().step_by(3) {
            scores[row % J] = f64::NAN;
            scores[row / 3 % J] = f64::NAN;
        }
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        let scores = jury.scores(&table).unwrap();
        let fitted = jury.fit();
        let whole = bits(fitted.values(&scores).unwrap());
        for rows in [1, 7] {
            let parts = table.chunks(rows * J).flat_map(|part| {
                let part = jury.scores(part).unwrap();
                bits(fitted.values(&part).unwrap())
            });
            assert_eq!(parts.collect::<Vec<_>>(), whole, "{spec}");
        }
        // The mean of the prediction is the value.
        let predicted = fitted.predict(&scores, Fraction::try_from(0.9).unwrap()).unwrap().unwrap();
        for (value, predicted) in whole.iter().zip(predicted) {
            let value = f64::from_bits(*value);
            assert!(
                (value - predicted.mean).abs() < 1e-9 * (1.0 + value.abs()),
                "{spec}: {value} {predicted:?}"
            );
        }
    }
}

//! A case of `adaptive`: how soon a change of an evaluator is detected, and how often falsely.

use super::{Rng, normal, round, seat};
use jurybox::Jury;
use rand::SeedableRng;

/// Scores of 40 items by six evaluators. The third one has this noise level.
fn watched(noise: f64, rng: &mut Rng) -> Vec<f64> {
    let world = |rng: &mut Rng| {
        let reward = normal(rng);
        (reward, (0..6).map(|j| reward + if j == 2 { noise } else { 1.0 } * normal(rng)).collect())
    };
    round(40, rng, &world).1
}

pub(crate) fn alarms(worlds: u64) -> String {
    let watch = |jury: &mut Jury, noise: f64, at: u64, rng: &mut Rng| {
        let table = watched(noise, rng);
        jury.observe(&jury.scores(&table).expect("sound scores"), at).expect("a round");
    };
    let delay = |age: u64, seed: u64| {
        let (mut rng, mut jury) = (Rng::seed_from_u64(seed), seat("adaptive(forget=true)", 6));
        (0..age).for_each(|at| watch(&mut jury, 1.0, at, &mut rng));
        let told = |late: &u64| {
            watch(&mut jury, 2.0, age + late, &mut rng);
            !jury.fit().alarms().is_empty()
        };
        (1..=1000).find(told).unwrap_or(1000)
    };
    let median = |age: u64| {
        let mut delays: Vec<u64> = (0..worlds.min(9)).map(|seed| delay(age, seed)).collect();
        delays.sort_unstable();
        delays[delays.len() / 2].to_string()
    };
    let in_vain = |seed: &u64| {
        let (mut rng, mut jury) = (Rng::seed_from_u64(*seed), seat("adaptive(forget=true)", 6));
        (0..1000).any(|at| {
            watch(&mut jury, 1.0, at, &mut rng);
            at % 16 == 0 && !jury.fit().alarms().is_empty()
        })
    };
    let vain = (0..5 * worlds).filter(in_vain).count();
    format!(
        "{} (medians); {vain} of {} steady worlds of 1,000 rounds",
        [200, 2000, 12_000].map(median).join(", "),
        5 * worlds
    )
}

//! A pool of alerts. Five are reviewed each day and leave it; new alerts arrive every day.
//!
//! `cargo run --release -p jurybox --example pool`
#![expect(clippy::print_stdout, reason = "an example talks")]

use jurybox::rand::SeedableRng;
use jurybox::{Error, Evaluator, Evaluators, Example, Jury, Spec};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

fn main() -> Result<(), Error> {
    let mut chance = ChaCha8Rng::seed_from_u64(2);
    let mut normal = || -> f64 { StandardNormal.sample(&mut chance) };

    // A high score of the detector means trouble; a low health score does.
    let evaluators = Evaluators::new(["detector".into(), Evaluator::low("health")])?;
    let mut jury = Jury::new(&Spec::default(), evaluators)?;
    let mut rng = ChaCha8Rng::seed_from_u64(4);

    let mut waiting: Vec<([f64; 2], bool)> = Vec::new();
    let (mut real, mut found) = (0, 0);
    for day in 0..60 {
        // Twenty alerts arrive, about one of them real.
        let arrived = waiting.len();
        for _ in 0..20 {
            let is_real = normal() > 1.65;
            let signal = if is_real { 2.0 } else { 0.0 };
            waiting.push(([signal + normal(), 50.0 - 10.0 * signal + 5.0 * normal()], is_real));
            real += i32::from(is_real);
        }

        // Choose from the whole pool, but observe only the new alerts.
        let table: Vec<f64> = waiting.iter().flat_map(|(scores, _)| *scores).collect();
        let (pool, new) = (jury.scores(&table)?, jury.scores(&table[2 * arrived..])?);
        let mut picks = jury.round_from_pool(&pool, &new, day, 5, &mut rng)?;

        // Reviewed alerts leave the pool.
        picks.sort_by_key(|pick| std::cmp::Reverse(pick.item));
        for pick in picks {
            let (scores, is_real) = waiting.swap_remove(pick.item);
            found += i32::from(is_real);
            let reward = f64::from(u8::from(is_real));
            jury.learn(&[Example { scores: &scores, reward, receipt: Some(&pick.receipt) }], day)?;
        }
    }
    println!("{found} of {real} real alerts found in {} looks; {} still wait", 60 * 5, waiting.len());
    Ok(())
}

//! A review queue of fifty posts an hour. Five are reviewed. Four classifiers score them;
//! nobody knows how good each classifier is.
//!
//! `cargo run --release -p jurybox --example review_queue`
#![expect(clippy::print_stdout, reason = "an example talks")]

use jurybox::rand::SeedableRng;
use jurybox::{Error, Evaluators, Example, Jury, Spec};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

fn main() -> Result<(), Error> {
    let mut chance = ChaCha8Rng::seed_from_u64(1);
    let mut normal = || -> f64 { StandardNormal.sample(&mut chance) };

    // The jury gets the names of its evaluators and nothing else.
    let mut jury = Jury::new(&Spec::default(), Evaluators::new(["sharp", "fair", "vague", "blind"])?)?;
    let noise = [0.3, 1.0, 3.0, f64::INFINITY];
    let mut rng = ChaCha8Rng::seed_from_u64(7);

    let (mut caught, mut at_random) = (0.0, 0.0);
    for hour in 0..100 {
        // Each post has some harm. Each classifier sees it with noise; the last one sees only
        // noise.
        let harm: Vec<f64> = (0..50).map(|_| normal().exp()).collect();
        let mut table = Vec::new();
        for &h in &harm {
            for sigma in noise {
                table.push(if sigma.is_finite() { h + sigma * normal() } else { normal() });
            }
        }

        // Five posts are picked. A person reviews each, and the reward is its harm.
        let scores = jury.scores(&table)?;
        for pick in jury.round(&scores, hour, 5, &mut rng)? {
            let verdict = harm[pick.item];
            let example =
                Example { scores: scores.row(pick.item), reward: verdict, receipt: Some(&pick.receipt) };
            jury.learn(&[example], hour)?;
            caught += verdict;
        }
        at_random += 5.0 * harm.iter().sum::<f64>() / 50.0;
    }

    println!("harm found in 500 looks: {caught:.0}; at random it would have been {at_random:.0}");
    let fitted = jury.fit();
    for (name, weight) in jury.evaluators().names().zip(fitted.weights().unwrap_or_default()) {
        println!("{name:>6}: {weight:6.3}");
    }
    Ok(())
}

//! Verdicts that come late, out of order, or never. The receipt of a pick is stored with its item
//! until the verdict comes.
//!
//! `cargo run --release -p jurybox --example late_verdicts`
#![expect(clippy::print_stdout, reason = "an example talks")]

use jurybox::rand::SeedableRng;
use jurybox::{Evaluators, Example, Jury, Receipt};
use rand_chacha::ChaCha8Rng;

/// The record of a picked item in the review tool's database. The receipt is stored as text.
struct Waiting {
    scores: Vec<f64>,
    round: u64,
    receipt: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let evaluators = Evaluators::new(["rules", "classifier"])?;
    // This policy learns only from items that were picked at random. The receipt says which were.
    let mut jury = Jury::new(&"eps-greedy(eps=0.5,sigma=0.2)".parse()?, evaluators)?;
    let mut rng = ChaCha8Rng::seed_from_u64(3);

    let mut waiting = Vec::new();
    for round in 0..20_u64 {
        let table: Vec<f64> = (0..40).map(|i| f64::from((i * 7 + round as i32 * 3) % 10) / 10.0).collect();
        let scores = jury.scores(&table)?;
        for pick in jury.round(&scores, round, 4, &mut rng)? {
            let receipt = serde_json::to_string(&pick.receipt)?;
            waiting.push(Waiting { scores: scores.row(pick.item).to_vec(), round, receipt });
        }
    }

    // Days later, the verdicts come, the last item's first; every third one never comes. Their
    // order makes no difference.
    for (at, item) in waiting.iter().enumerate().rev().filter(|(at, _)| at % 3 != 0) {
        let receipt: Receipt = serde_json::from_str(&item.receipt)?;
        let reward = item.scores[1] + 0.01 * (at % 2) as f64;
        jury.learn(&[Example { scores: &item.scores, reward, receipt: Some(&receipt) }], item.round)?;
    }
    let seen = jury.seen();
    println!(
        "{} verdicts learnt from, {} passed over: those items were not explored",
        seen.used, seen.ignored_rewards
    );
    Ok(())
}

//! Runs rounds from a JSON file and prints the picks of each, for comparison with other languages.
//!
//! `rounds POLICY SEED K < rounds.json`, where `rounds.json` is a list of rounds, each a list of
//! items, each a list of scores with null for a missing one. An item's reward is the mean of its
//! scores. Every second pick is learnt, one round late. A test compares the Python package with it.
#![expect(clippy::print_stdout, reason = "what an example is for")]

use jurybox::rand::SeedableRng;
use jurybox::{Evaluators, Example, Jury, Pick, Scores};
use rand_chacha::ChaCha8Rng;
use std::error::Error;
use std::io::Read;

type Round = Vec<Vec<Option<f64>>>;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [policy, seed, k] = &arguments[..] else {
        return Err("usage: rounds POLICY SEED K < rounds.json".into());
    };
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let rounds: Vec<Round> = serde_json::from_str(&text)?;
    let width = rounds.first().and_then(|round| round.first()).map_or(0, Vec::len);
    let mut jury = Jury::new(&policy.parse()?, Evaluators::numbered(width)?)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed.parse()?);
    let mut late: Option<(Vec<f64>, Vec<Pick>, u64)> = None;
    for (at, round) in (0..).zip(&rounds) {
        let table: Vec<f64> = round.iter().flatten().map(|score| score.unwrap_or(f64::NAN)).collect();
        let picks = jury.round(&jury.scores(&table)?, at, k.parse()?, &mut rng)?;
        let told: Vec<_> = picks
            .iter()
            .map(|pick| (pick.item, pick.receipt.inclusion_probability, pick.receipt.explored))
            .collect();
        println!("{}", serde_json::to_string(&told)?);
        if let Some((table, picks, at)) = late.replace((table, picks, at)) {
            let scores = Scores::new(&table, width)?;
            for pick in picks.iter().step_by(2) {
                let row = scores.row(pick.item);
                let present: Vec<f64> = row.iter().copied().filter(|score| !score.is_nan()).collect();
                let reward =
                    if present.is_empty() { 0.0 } else { present.iter().sum::<f64>() / present.len() as f64 };
                jury.learn(&[Example { scores: row, reward, receipt: Some(&pick.receipt) }], at)?;
            }
        }
    }
    Ok(())
}

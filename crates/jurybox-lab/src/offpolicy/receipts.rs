//! The receipts of a log's picks, put together again from what was logged.
//!
//! A pick's inclusion probability is in the log. Two more things on a receipt can be worked out:
//!
//! - **explored.** In a round whose least likely item had probability f, an item that was picked with probability p counts as
//!   drawn at random with probability f / p: items kept so were all drawn with the one probability f, whatever their
//!   scores, which is what an explore slot is. f is known where all rows of a round carry a probability, or where all picks
//!   of the log carry the same;
//! - **advice**, for `exp4p`: each evaluator's own top K, which is what `average` does with that evaluator alone.

use crate::error::Error;
use crate::replay::ReviewLog;
use jurybox::{Evaluators, Jury, Needs, Receipt, Scores};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What a jury's policy must find on a receipt to learn from it at all.
pub(crate) fn needs(jury: &Jury) -> Needs {
    jury.spec().entry().map_or(Needs::Nothing, |entry| entry.needs)
}

/// Per row, whether its pick counts as drawn at random.
///
/// # Errors
/// A sentence that says why it cannot be known.
pub(crate) fn explored(log: &ReviewLog, rounds: &[Vec<usize>], seed: u64) -> Result<Vec<bool>, String> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut known = log.probabilities.iter().copied().filter(|p| !p.is_nan());
    let constant = known.next().filter(|first| known.all(|p| p == *first));
    let mut out = vec![false; log.rows()];
    for rows in rounds {
        let complete = rows.iter().all(|&row| !log.probabilities[row].is_nan());
        let least = rows.iter().map(|&row| log.probabilities[row]).fold(f64::INFINITY, f64::min);
        let floor = if complete { Some(least) } else { constant };
        for &row in rows.iter().filter(|&&row| !log.rewards[row].is_nan()) {
            let Some(floor) = floor else {
                return Err("it learns only from picks drawn at random. Which of them were can be told where every row, \
                            picked or not, carries its logged probability; here some do not"
                    .into());
            };
            out[row] = rng.random::<f64>() * log.probabilities[row] < floor;
        }
    }
    Ok(out)
}

/// For each row of a round, per evaluator, the probability to be among that evaluator's own best `k`; and per evaluator, each
/// pick's part of the bonus that the round earned it, for which every row's logged probability must be known.
pub(crate) fn advice(log: &ReviewLog, rows: &[usize], k: usize) -> Result<(Vec<Vec<f64>>, Vec<f64>), Error> {
    let mut all = vec![Vec::with_capacity(log.width()); rows.len()];
    let mut bonus = Vec::with_capacity(log.width());
    let alone = Jury::new(&"average".parse()?, Evaluators::numbered(1)?)?.fit();
    for evaluator in 0..log.width() {
        let own: Vec<f64> = rows.iter().map(|&row| log.row(row)[evaluator]).collect();
        let shares = alone.inclusion_probabilities(&Scores::new(&own, 1)?, k)?;
        let terms = shares.iter().zip(rows).filter(|(share, _)| **share > 0.0);
        bonus.push(terms.map(|(share, &row)| share / log.probabilities[row]).sum::<f64>() / k as f64);
        all.iter_mut().zip(shares).for_each(|(advice, share)| advice.push(share));
    }
    Ok((all, bonus))
}

/// What can be said of a row's pick without its round.
pub(crate) fn receipt_of_row(log: &ReviewLog, row: usize) -> Receipt {
    Receipt { inclusion_probability: log.probabilities[row], ..Receipt::default() }
}

//! The receipts of logged picks, reconstructed from their probabilities. A receipt has what a
//! policy must know of a pick, besides scores and reward, to learn from it.
//!
//! - **explored.** Let f be the least probability of a row in the round. A pick of probability p
//!   counts as explored with probability f / p, by a random draw. Every row is then explored with
//!   the same probability f, whatever its scores, like picks that are drawn uniformly. f is known
//!   if all rows of the round carry a probability, or if all probabilities of the log are equal;
//! - **advice**, for `exp4p`: each evaluator's own top K, from `average` with that evaluator alone.

use crate::error::Error;
use crate::replay::ReviewLog;
use jurybox::{Evaluators, Jury, Needs, Receipt, Scores};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The receipt fields that a jury's policy needs in order to learn.
pub(crate) fn needs(jury: &Jury) -> Needs {
    jury.spec().entry().map_or(Needs::Nothing, |entry| entry.needs)
}

/// For each row, whether its pick counts as explored; false for unreviewed rows.
///
/// # Errors
/// The reason why that cannot be known, as a sentence.
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
                return Err("it learns only from picks drawn at random, which can be told only if \
                            every row, picked or not, has a logged probability; some have none"
                    .into());
            };
            out[row] = rng.random::<f64>() * log.probabilities[row] < floor;
        }
    }
    Ok(out)
}

/// For each row of a round, its probability to be in each evaluator's own top `k`; and for each
/// evaluator, the bonus. The bonus is the sum over rows of this probability over the logged one,
/// divided by `k`. Every row needs a logged probability.
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

/// The receipt of a row's pick, as far as it does not depend on the round.
pub(crate) fn receipt_of_row(log: &ReviewLog, row: usize) -> Receipt {
    Receipt { inclusion_probability: log.probabilities[row], ..Receipt::default() }
}

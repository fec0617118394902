//! The model of the doubly robust estimate: expected rewards by a regression on other rounds.

use crate::error::Error;
use crate::replay::{ReviewLog, filled};

/// Number of folds; rounds are assigned in turn.
const FOLDS: usize = 5;

/// The expected reward of each row, by linear regression on the rounds of other folds, clamped to
/// the reward range. NaN for rows of no round.
///
/// The doubly robust estimate does not need the regression to be right, but a good one narrows its
/// interval. A row's own reward must not affect its expectation, or the estimate would be biased.
///
/// # Errors
/// If there are fewer than two rounds, or fewer than two rewards outside of a fold.
pub(crate) fn out_of_fold(
    log: &ReviewLog,
    rounds: &[Vec<usize>],
    range: (f64, f64),
) -> Result<Vec<f64>, Error> {
    let folds = FOLDS.min(rounds.len());
    if folds < 2 {
        return Err(too_few("one round"));
    }
    let mut fold = vec![usize::MAX; log.rows()];
    for (round, rows) in rounds.iter().enumerate() {
        rows.iter().for_each(|&row| fold[row] = round % folds);
    }
    let standardised = log.standardised();
    let mut out = vec![f64::NAN; log.rows()];
    for this in 0..folds {
        let fit = log.regression(&standardised, |row| fold[row] != this && fold[row] != usize::MAX);
        let fit = fit.ok_or_else(|| too_few("fewer than two rewards outside a fifth of the rounds"))?;
        for (row, scores) in standardised.chunks_exact(log.width()).enumerate() {
            if fold[row] == this {
                out[row] = fit.predict(&filled(scores)).clamp(range.0, range.1);
            }
        }
    }
    Ok(out)
}

fn too_few(what: &str) -> Error {
    Error::setting("log", what, "too little to estimate anything from")
}

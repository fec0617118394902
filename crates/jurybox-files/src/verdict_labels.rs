//! Rewards for verdicts that are words, as set by the user: `remove` is 1 and `keep` is 0.

use crate::cell_number::{self, LIMIT, ParsedCell, is_the_word};
use crate::error::Error;
use std::sync::Arc;

/// Words, each with its reward.
#[derive(Debug, Clone, Default)]
pub(crate) struct VerdictLabels(Arc<Vec<(String, f64)>>);

impl VerdictLabels {
    /// The reward of the word in a cell, ignoring case.
    pub(crate) fn of(&self, cell: &[u8]) -> Option<f64> {
        self.0.iter().find(|(word, _)| is_the_word(word, cell)).map(|(_, value)| *value)
    }
}

/// Checks labels: words that do not already mean another number, each with one reward within
/// ±1e100.
pub(crate) fn checked(labels: &[(String, f64)]) -> Result<VerdictLabels, Error> {
    let mut read: Vec<(String, f64)> = Vec::new();
    for (word, value) in labels {
        let word = word.trim();
        let refused = |why: &'static str| Error::Label { word: word.into(), why };
        if word.is_empty() {
            return Err(refused("the word is empty, and an empty cell means that there is no verdict"));
        }
        if value.is_nan() || value.abs() > LIMIT {
            return Err(refused("its reward must be a number within ±1e100"));
        }
        match cell_number::parse(word.as_bytes()) {
            ParsedCell::Number(number) if number != *value => {
                return Err(refused("it is a number, yes or no, and has a value already"));
            }
            _ => {}
        }
        if read.iter().any(|(other, before)| is_the_word(other, word.as_bytes()) && before != value) {
            return Err(refused("it is given twice with different numbers"));
        }
        read.push((word.into(), *value));
    }
    Ok(VerdictLabels(Arc::new(read)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell_number::Notation;

    #[test]
    fn words_have_their_rewards() {
        let labels =
            [("remove".into(), 1.0), (" Kéep ".into(), 0.0), ("none".into(), -0.5), ("yes".into(), 1.0)];
        let notation = Notation { labels: checked(&labels).unwrap(), ..Notation::default() };
        for (cell, value) in [("REMOVE ", 1.0), ("kÉEP", 0.0), ("none", -0.5), ("0.25", 0.25), ("no", 0.0)] {
            assert_eq!(notation.read(cell.as_bytes()), ParsedCell::Number(value), "{cell}");
        }
        assert_eq!(notation.read(b""), ParsedCell::Missing);
        assert_eq!(notation.read(b"removed"), ParsedCell::NotANumber);
    }

    #[test]
    fn ambiguous_labels_are_refused() {
        let refused = |labels: &[(&str, f64)]| {
            let labels: Vec<(String, f64)> =
                labels.iter().map(|(word, value)| ((*word).to_string(), *value)).collect();
            checked(&labels).unwrap_err().to_string()
        };
        assert_eq!(
            refused(&[(" ", 1.0)]),
            "label ``: the word is empty, and an empty cell means that there is no verdict"
        );
        assert!(refused(&[("2", 1.0)]).contains("has a value already"));
        assert!(refused(&[("yes", 0.0)]).contains("has a value already"));
        assert!(refused(&[("a", f64::NAN)]).contains("within"));
        assert!(refused(&[("keep", 1.0), ("Keep", 0.0)]).contains("twice"));
    }
}

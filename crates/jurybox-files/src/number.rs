//! A cell becomes a score: a number, or missing. Never a guess.

/// The largest magnitude that the library takes.
pub(crate) const LIMIT: f64 = 1e100;

/// What a cell says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell {
    Number(f64),
    Missing,
    /// Infinite, or beyond what can be squared.
    Unusable,
    NotANumber,
}

/// Reads a whole cell: a number with blanks around it, or one of the words that mean "missing".
pub(crate) fn parse(cell: &[u8]) -> Cell {
    let cell = cell.trim_ascii();
    if is_missing(cell) {
        return Cell::Missing;
    }
    match fast_float2::parse::<f64, _>(cell) {
        Ok(value) => of(value),
        Err(_) => Cell::NotANumber,
    }
}

/// A number from a file that stores numbers.
pub(crate) fn of(value: f64) -> Cell {
    if value.abs() <= LIMIT {
        Cell::Number(value)
    } else if value.is_nan() {
        Cell::Missing
    } else {
        Cell::Unusable
    }
}

fn is_missing(cell: &[u8]) -> bool {
    cell.is_empty()
        || (cell.len() <= 4
            && ["na", "n/a", "nan", "null", "none"]
                .iter()
                .any(|word| cell.eq_ignore_ascii_case(word.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_is_never_zero_and_words_are_not_numbers() {
        for text in ["", "  ", "NA", "n/a", "null", "NaN", "None"] {
            assert_eq!(parse(text.as_bytes()), Cell::Missing, "{text}");
        }
        for (text, value) in [("0", 0.0), (" -1.5e3 ", -1500.0), ("+2", 2.0), (".5", 0.5), ("1.", 1.0)] {
            assert_eq!(parse(text.as_bytes()), Cell::Number(value), "{text}");
        }
        for text in ["inf", "-Infinity", "1e400", "1e101"] {
            assert_eq!(parse(text.as_bytes()), Cell::Unusable, "{text}");
        }
        for text in ["abc", "1,5", "0x10", "1.2.3", "--1", "nano", "-"] {
            assert_eq!(parse(text.as_bytes()), Cell::NotANumber, "{text}");
        }
    }
}

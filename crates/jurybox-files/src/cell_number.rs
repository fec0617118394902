//! Parsing of cells as scores: a number, or missing. A cell such as `1,234` is not a number while
//! the decimal mark of its column is unclear. A cell that is neither a number nor missing is called
//! an odd cell.

use crate::verdict_labels::VerdictLabels;
use std::sync::Arc;

/// The largest usable magnitude of a score, so that its square is finite.
pub(crate) const LIMIT: f64 = 1e100;

/// The result of parsing a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ParsedCell {
    Number(f64),
    Missing,
    /// Infinite, or beyond ±[`LIMIT`].
    Unusable,
    NotANumber,
}

/// The decimal mark of numbers in text.
///
/// ```
/// use jurybox_files::Decimal;
/// assert_eq!("comma".parse(), Ok(Decimal::Comma));
/// assert_eq!(".".parse(), Ok(Decimal::Point));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decimal {
    /// A point, or a comma where it is unambiguous: `0,5` is a number. `1,234` is not one, as it
    /// may be 1.234 or 1234.
    #[default]
    Either,
    /// A comma, detected from other cells of the column: `1,234` is 1.234, and `1.234` is
    /// ambiguous.
    Seen,
    /// A comma, set by the user: points separate thousands.
    Comma,
    /// A point, set by the user: commas separate thousands.
    Point,
}

impl std::str::FromStr for Decimal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "," | "comma" => Ok(Decimal::Comma),
            "." | "point" => Ok(Decimal::Point),
            _ => Err("write , or . (or comma, point)".into()),
        }
    }
}

/// The notation of numbers in a column.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notation {
    pub(crate) decimal: Decimal,
    /// Whether shares such as `13%` and `4/5` are odd cells, as in a column of marks from 1 to 5.
    pub(crate) no_shares: bool,
    /// Whether shares outnumber plain numbers beyond 0 to 1, which are then odd cells.
    pub(crate) shares: bool,
    /// Words and numbers that mean "missing" besides the built-in words; set by the user.
    pub(crate) na: Arc<MissingWords>,
    /// Numbers that the user set for words, such as 1 for `harmful`.
    pub(crate) labels: VerdictLabels,
}

/// Words and numbers that mean "missing".
#[derive(Debug, Default)]
pub(crate) struct MissingWords {
    words: Vec<String>,
    numbers: Vec<f64>,
}

impl MissingWords {
    pub(crate) fn new(words: &[String]) -> MissingWords {
        let number = |word: &String| fast_float2::parse::<f64, _>(word.trim()).ok();
        MissingWords {
            words: words.iter().map(|word| word.trim().into()).collect(),
            numbers: words.iter().filter_map(number).collect(),
        }
    }

    /// Whether a cell is one of the words, ignoring case.
    fn is_word(&self, cell: &[u8]) -> bool {
        self.words.iter().any(|word| is_the_word(word, cell))
    }

    /// Whether any number means "missing".
    pub(crate) fn has_numbers(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// Whether a number means "missing".
    pub(crate) fn is_missing(&self, value: f64) -> bool {
        self.numbers.contains(&value)
    }
}

/// Whether a cell is the given word, ignoring case.
pub(crate) fn is_the_word(word: &str, cell: &[u8]) -> bool {
    word.as_bytes().eq_ignore_ascii_case(cell)
        || (!word.is_ascii()
            && std::str::from_utf8(cell).is_ok_and(|cell| cell.to_lowercase() == word.to_lowercase()))
}

impl Notation {
    /// Whether a number with a decimal point can be taken as it is, so that the fast parser
    /// applies.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.decimal, Decimal::Either | Decimal::Point) && !self.na.has_numbers() && !self.shares
    }

    /// Parses a whole cell, ignoring blanks around it: a label, a word for "missing", a number, yes
    /// or no, or a share. A label is a word with a number that the user set.
    pub(crate) fn read(&self, cell: &[u8]) -> ParsedCell {
        let cell = cell.trim_ascii();
        if let Some(value) = self.labels.of(cell) {
            return ParsedCell::Number(value);
        }
        if is_missing(cell) || self.na.is_word(cell) {
            return ParsedCell::Missing;
        }
        // Among `13%` and `7%`, a `20` is not 2000%.
        let number = self.number(cell).filter(|value| !self.shares || (0.0..=1.0).contains(value));
        match number.or_else(|| yes_or_no(cell)).or_else(|| self.share(cell)) {
            Some(value) if self.na.is_missing(value) => ParsedCell::Missing,
            Some(value) => of(value),
            None => ParsedCell::NotANumber,
        }
    }

    /// Parses a number by its decimal mark; `None` if the text is not a number, or ambiguous.
    fn number(&self, cell: &[u8]) -> Option<f64> {
        if self.decimal == Decimal::Either || self.decimal == Decimal::Point {
            if let Ok(value) = fast_float2::parse::<f64, _>(cell) {
                return Some(value);
            }
            return match self.decimal {
                Decimal::Point => grouped(cell, b',', b'.'),
                _ if grouped(cell, b',', b'.').is_none() => with_comma(cell),
                // `1,234` is ambiguous; `1,234.5` and `1,234,567` are not.
                _ if memchr::memchr(b'.', cell).is_some() || memchr::memchr_iter(b',', cell).count() > 1 => {
                    grouped(cell, b',', b'.')
                }
                _ => None,
            };
        }
        if memchr::memchr(b',', cell).is_some() {
            return with_comma(cell).or_else(|| grouped(cell, b'.', b','));
        }
        match grouped(cell, b'.', b',') {
            // `1.234` with decimal commas: 1234 if the user set the comma, otherwise ambiguous.
            // `0.456` is not a number if points separate thousands.
            None if self.decimal == Decimal::Comma && memchr::memchr(b'.', cell).is_some() => None,
            Some(_) if self.decimal == Decimal::Seen && memchr::memchr_iter(b'.', cell).count() == 1 => None,
            Some(value) => Some(value),
            None => fast_float2::parse::<f64, _>(cell).ok(),
        }
    }

    /// Parses a share such as `13%` or `4/5`, whose denominator must be positive.
    fn share(&self, cell: &[u8]) -> Option<f64> {
        if self.no_shares {
            return None;
        }
        if let Some(percent) = cell.strip_suffix(b"%") {
            return self.finite(percent).map(|value| value / 100.0);
        }
        let at = memchr::memchr(b'/', cell)?;
        let (part, whole) = (self.finite(&cell[..at])?, self.finite(&cell[at + 1..])?);
        (whole > 0.0).then_some(part / whole)
    }

    fn finite(&self, text: &[u8]) -> Option<f64> {
        self.number(text.trim_ascii()).filter(|value| value.is_finite())
    }

    /// Whether a cell that holds a number is written as a share.
    pub(crate) fn is_share(cell: &[u8]) -> bool {
        cell.ends_with(b"%") || memchr::memchr(b'/', cell).is_some()
    }

    /// Whether a number has an exponent after 1 to 14 digits, as a rounded measurement has:
    /// `1.84669e+17`. False for `E+`, which spreadsheets write: the cell may have been a long id.
    pub(crate) fn is_rounded(cell: &[u8]) -> bool {
        let Some(at) = memchr::memchr2(b'e', b'E', cell) else { return false };
        let digits = cell[..at].iter().filter(|byte| byte.is_ascii_digit()).count();
        (1..15).contains(&digits) && !cell[at..].starts_with(b"E+")
    }

    /// Whether a cell may be thousands or a number with a decimal comma: `1,234`.
    pub(crate) fn is_either(cell: &[u8]) -> bool {
        let cell = cell.trim_ascii();
        memchr::memchr_iter(b',', cell).count() == 1
            && memchr::memchr(b'.', cell).is_none()
            && grouped(cell, b',', b'.').is_some()
    }

    /// Whether a cell can only be a number with a decimal comma.
    pub(crate) fn is_decimal_comma(cell: &[u8]) -> bool {
        let cell = cell.trim_ascii();
        memchr::memchr(b',', cell).is_some()
            && Notation::default().number(cell).is_some()
            && grouped(cell, b',', b'.').is_none()
    }
}

/// Parses a whole cell in the default notation.
pub(crate) fn parse(cell: &[u8]) -> ParsedCell {
    Notation::default().read(cell)
}

/// Whether a cell that was parsed as `read` is a number in the notation of programming languages,
/// or a built-in word for "missing".
pub(crate) fn is_plainly(cell: &[u8], read: ParsedCell) -> bool {
    let cell = cell.trim_ascii();
    match read {
        ParsedCell::Number(value) => fast_float2::parse::<f64, _>(cell) == Ok(value),
        ParsedCell::Missing => is_missing(cell),
        ParsedCell::Unusable | ParsedCell::NotANumber => false,
    }
}

/// Classifies a number; NaN is missing.
pub(crate) fn of(value: f64) -> ParsedCell {
    if value.abs() <= LIMIT {
        ParsedCell::Number(value)
    } else if value.is_nan() {
        ParsedCell::Missing
    } else {
        ParsedCell::Unusable
    }
}

/// Parses a number with one comma as its decimal mark.
fn with_comma(cell: &[u8]) -> Option<f64> {
    let at = memchr::memchr(b',', cell)?;
    let digits = |text: &[u8]| text.first().is_some_and(u8::is_ascii_digit);
    // A list such as `1, 5` has a blank after the comma, so digits are required on both sides.
    if !cell[..at].last().is_some_and(u8::is_ascii_digit) || !digits(&cell[at + 1..]) {
        return None;
    }
    if cell[at + 1..].iter().chain(&cell[..at]).any(|byte| b",.".contains(byte)) {
        return None;
    }
    let mut pointed = cell.to_vec();
    pointed[at] = b'.';
    fast_float2::parse::<f64, _>(&pointed).ok()
}

/// Parses a number whose thousands are all separated by `mark`: `1,234,567.8`. `None` without a
/// separator.
fn grouped(cell: &[u8], mark: u8, decimal: u8) -> Option<f64> {
    let unsigned = cell.strip_prefix(b"-").or_else(|| cell.strip_prefix(b"+")).unwrap_or(cell);
    let whole = &unsigned[..memchr::memchr(decimal, unsigned).unwrap_or(unsigned.len())];
    let mut groups = whole.split(|&byte| byte == mark);
    let first = groups.next()?;
    let digits = |group: &[u8]| group.iter().all(u8::is_ascii_digit);
    let sound = (1..=3).contains(&first.len()) && digits(first) && first[0] != b'0';
    let mut several = false;
    for group in groups {
        several = true;
        if group.len() != 3 || !digits(group) {
            return None;
        }
    }
    if !sound || !several {
        return None;
    }
    let plain: Vec<u8> = cell
        .iter()
        .filter(|&&byte| byte != mark)
        .map(|&byte| if byte == decimal { b'.' } else { byte })
        .collect();
    fast_float2::parse::<f64, _>(&plain).ok()
}

/// Built-in words for "missing", as used by people, pandas, R, SQL and spreadsheets.
const MISSING: &[&str] = &[
    "na", "n/a", "n.a.", "nan", "null", "none", "nil", "-", "--", "\u{2013}", "\u{2014}", ".", "?", "\\n",
    "<na>", "-nan", "missing", "#n/a", "#na", "#null!", "#div/0!", "#value!", "#ref!", "#name?", "#num!",
];

/// Whether a cell is empty or a built-in word for "missing".
fn is_missing(cell: &[u8]) -> bool {
    cell.is_empty()
        || (cell.len() <= 8 && MISSING.iter().any(|word| cell.eq_ignore_ascii_case(word.as_bytes())))
}

/// Parses yes as 1 and no as 0, in the forms that people and databases use.
pub(crate) fn yes_or_no(cell: &[u8]) -> Option<f64> {
    if cell.len() > 5 {
        return None;
    }
    let one_of = |words: &[&str]| words.iter().any(|word| cell.eq_ignore_ascii_case(word.as_bytes()));
    if one_of(&["yes", "true", "y", "t"]) {
        Some(1.0)
    } else if one_of(&["no", "false", "n", "f"]) {
        Some(0.0)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_is_never_zero_and_words_are_not_numbers() {
        for text in [
            "", "  ", "NA", "n/a", "null", "NaN", "None", "#N/A", "-", "--", "—", "\\N", "<NA>", "#DIV/0!",
            "?",
        ] {
            assert_eq!(parse(text.as_bytes()), ParsedCell::Missing, "{text}");
        }
        for (text, value) in [("0", 0.0), (" -1.5e3 ", -1500.0), ("+2", 2.0), (".5", 0.5), ("1.", 1.0)] {
            assert_eq!(parse(text.as_bytes()), ParsedCell::Number(value), "{text}");
        }
        for text in ["inf", "-Infinity", "1e400", "1e101"] {
            assert_eq!(parse(text.as_bytes()), ParsedCell::Unusable, "{text}");
        }
        for text in
            ["abc", "0x10", "1.2.3", "--1", "nano", "1/0", "1/2/2024", "%", "yes!", "5 %%", "inf%", "1, 5"]
        {
            assert_eq!(parse(text.as_bytes()), ParsedCell::NotANumber, "{text}");
        }
    }

    #[test]
    fn common_notations_are_read() {
        for (text, value) in [
            ("yes", 1.0),
            ("No", 0.0),
            ("TRUE", 1.0),
            ("f", 0.0),
            ("13%", 0.13),
            ("12,5 %", 0.125),
            ("4/5", 0.8),
            ("3 / 4", 0.75),
            ("0,5", 0.5),
            ("-12,25", -12.25),
            ("0,125", 0.125),
            ("1,234,567", 1_234_567.0),
            ("1,234.5", 1234.5),
        ] {
            assert_eq!(parse(text.as_bytes()), ParsedCell::Number(value), "{text}");
        }
    }

    #[test]
    fn ambiguous_numbers_need_an_option_or_the_column() {
        let read = |decimal, text: &str| Notation { decimal, ..Notation::default() }.read(text.as_bytes());
        for (text, either, seen, comma, point) in [
            ("1,234", None, Some(1.234), Some(1.234), Some(1234.0)),
            ("1.234", Some(1.234), None, Some(1234.0), Some(1.234)),
            ("0.125", Some(0.125), Some(0.125), None, Some(0.125)),
            ("0,5", Some(0.5), Some(0.5), Some(0.5), None),
            ("1.234,5", None, Some(1234.5), Some(1234.5), None),
            ("7", Some(7.0), Some(7.0), Some(7.0), Some(7.0)),
        ] {
            for (decimal, value) in [
                (Decimal::Either, either),
                (Decimal::Seen, seen),
                (Decimal::Comma, comma),
                (Decimal::Point, point),
            ] {
                let says = value.map_or(ParsedCell::NotANumber, ParsedCell::Number);
                assert_eq!(read(decimal, text), says, "{decimal:?} {text}");
            }
        }
    }

    #[test]
    fn numbers_beyond_one_are_odd_among_shares() {
        let shares = Notation { shares: true, ..Notation::default() };
        for (text, value) in [("13%", 0.13), ("0.2", 0.2), ("1", 1.0), ("-3%", -0.03), ("150%", 1.5)] {
            assert_eq!(shares.read(text.as_bytes()), ParsedCell::Number(value), "{text}");
        }
        for text in ["20", "1.5", "-0.2"] {
            assert_eq!(shares.read(text.as_bytes()), ParsedCell::NotANumber, "{text}");
        }
        assert!(!shares.is_plain());
    }

    #[test]
    fn numbers_can_mean_missing() {
        let na = Arc::new(MissingWords::new(&["-99".into(), "k.A.".into(), "fällt aus".into()]));
        let notation = Notation { na, ..Notation::default() };
        for text in ["-99", " -99.0", "k.A.", "K.A.", "FÄLLT AUS"] {
            assert_eq!(notation.read(text.as_bytes()), ParsedCell::Missing, "{text}");
        }
        assert_eq!(notation.read(b"99"), ParsedCell::Number(99.0));
        assert!(!notation.is_plain() && Notation::default().is_plain());
    }
}

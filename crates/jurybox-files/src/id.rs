//! Normalisation of item ids, by which verdicts are joined to picks and repeated rows are
//! recognised.
//!
//! - Points in time become ISO 8601. `2026-03-01 09:30:00`, `2026-03-01T09:30:00.000` and a Parquet
//!   timestamp are one id.
//! - Whole numbers lose a `.0`, which pandas adds if another cell of the column is empty.
//! - `True` and `TRUE` become `true`; `False` and `FALSE` become `false`.
//! - Other text is kept, without blanks around it.
//!
//! Doubles of 2^53 and more in magnitude are refused: one such double may stand for several ids.

use crate::error::{Error, RowPosition};
use crate::format::arrow::{date, fraction};
use std::borrow::Cow;
use std::path::Path;

/// The normalised id in a cell.
pub(crate) fn of(cell: &str) -> Cow<'_, str> {
    alike(cell.trim())
}

/// Normalises an id that has no blanks around it.
pub(crate) fn alike(id: &str) -> Cow<'_, str> {
    // Ids that match none of these patterns are kept.
    match id.as_bytes() {
        [_, _, _, _, b'-', _, _, b'-', _, _, b'T' | b't' | b' ', ..] => {
            normalized_time(id.as_bytes()).map_or(Cow::Borrowed(id), Cow::Owned)
        }
        // Booleans as written by pandas and R.
        b"True" | b"TRUE" => Cow::Borrowed("true"),
        b"False" | b"FALSE" => Cow::Borrowed("false"),
        [.., b'.', b'0'] => Cow::Borrowed(whole(id).unwrap_or(id)),
        _ => Cow::Borrowed(id),
    }
}

/// The whole number in a text such as `7.0`, without its decimals; `None` for other text.
fn whole(text: &str) -> Option<&str> {
    let number = text.strip_suffix(".0")?;
    let digits = number.strip_prefix('-').unwrap_or(number);
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

/// The limit from which two whole numbers may be the same double: 2^53.
const ROUNDING_LIMIT: f64 = 9_007_199_254_740_992.0;

/// Whether a cell holds a number that was stored as a double too large to be exact, such as
/// `9007199254740996.0` or `1.2e+18`. Digits alone are taken for exact.
pub(crate) fn is_rounded(cell: &str) -> bool {
    let id = cell.trim();
    let plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E');
    // An `e` without a point or a plus sign may belong to a hexadecimal number.
    let of_a_double = id.ends_with(".0") || (id.contains(['e', 'E']) && id.contains(['.', '+']));
    of_a_double
        && id.bytes().all(plain)
        && id.parse::<f64>().is_ok_and(|number| number.abs() >= ROUNDING_LIMIT)
}

/// Errors if [`is_rounded`] is true of the cell.
pub(crate) fn check(path: &Path, place: RowPosition, column: &str, cell: &str) -> Result<(), Error> {
    if !is_rounded(cell) {
        return Ok(());
    }
    let (path, column, value) = (path.into(), column.into(), cell.trim().into());
    Err(Error::RoundedId { path, place, column, value })
}

/// A date with a time of day as ISO 8601, in UTC if it has a zone. Midnight without a zone becomes
/// the date alone. `None` if the text is not a valid time.
fn normalized_time(text: &[u8]) -> Option<String> {
    let (year, month, day) = (digits(&text[..4])?, digits(&text[5..7])?, digits(&text[8..10])?);
    let (hour, rest) = two_digits(&text[11..])?;
    let (minute, mut rest) = two_digits(rest.strip_prefix(b":")?)?;
    let mut second = 0;
    if let Some(after) = rest.strip_prefix(b":") {
        (second, rest) = two_digits(after)?;
    }
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (mut parts, mut per_second) = (0_u64, 1_u64);
    if let Some(after) = rest.strip_prefix(b".") {
        let end = after.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(after.len());
        if !(1..=9).contains(&end) {
            return None;
        }
        parts = digits(&after[..end])?.unsigned_abs();
        per_second = 10_u64.pow(u32::try_from(end).ok()?);
        rest = &after[end..];
    }
    let (zoned, offset) = zone(rest)?;
    let seconds =
        crate::days_from(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset * 60;
    let (day, time) = (date(seconds.div_euclid(86_400)), seconds.rem_euclid(86_400));
    if !zoned && time == 0 && parts == 0 {
        return Some(day);
    }
    let fraction = fraction(parts, per_second);
    let zone = if zoned { "Z" } else { "" };
    Some(format!("{day}T{:02}:{:02}:{:02}{fraction}{zone}", time / 3600, time / 60 % 60, time % 60))
}

/// Whether a time zone is given, and its offset in minutes; `None` if it is invalid.
fn zone(text: &[u8]) -> Option<(bool, i64)> {
    let (sign, rest) = match text {
        [] => return Some((false, 0)),
        b"Z" | b"z" => return Some((true, 0)),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, rest) = two_digits(rest)?;
    let rest = rest.strip_prefix(b":").unwrap_or(rest);
    let (minutes, rest) = if rest.is_empty() { (0, rest) } else { two_digits(rest)? };
    rest.is_empty().then_some((true, sign * (hours * 60 + minutes)))
}

/// The number in the next two digits, and the text after them.
fn two_digits(text: &[u8]) -> Option<(i64, &[u8])> {
    let (number, rest) = text.split_at_checked(2)?;
    Some((digits(number)?, rest))
}

fn digits(text: &[u8]) -> Option<i64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_doubles_are_distinguished_from_digits() {
        for cell in [
            "9007199254740992.0",
            " -9007199254740996.0 ",
            "1.2345678901234568e+18",
            "1e+18",
            "1.0E18",
            "1.5e300",
        ] {
            assert!(is_rounded(cell), "{cell}");
        }
        for cell in [
            "9007199254740996",
            "9007199254740991.0",
            "1234567890123456789012",
            "7.0",
            "1e18",
            "12e45",
            "v9007199254740996.0",
            "1.5e+3",
            "p.e+",
            "",
        ] {
            assert!(!is_rounded(cell), "{cell}");
        }
    }

    #[test]
    fn times_and_whole_numbers_are_one_id_in_every_notation() {
        for (cell, id) in [
            ("2026-03-01 09:30:00", "2026-03-01T09:30:00"),
            ("2026-03-01T09:30:00.000000", "2026-03-01T09:30:00"),
            (" 2026-03-01 09:30 ", "2026-03-01T09:30:00"),
            ("2026-03-01T09:30:00.250", "2026-03-01T09:30:00.25"),
            ("2026-03-01 00:00:00", "2026-03-01"),
            ("2026-03-01", "2026-03-01"),
            ("2026-03-01 00:30:00+01:00", "2026-02-28T23:30:00Z"),
            ("2024-02-28T23:30:00-0130", "2024-02-29T01:00:00Z"),
            ("2026-03-01 00:00:00+00", "2026-03-01T00:00:00Z"),
            ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z"),
            ("1183.0", "1183"),
            (" -7.0 ", "-7"),
            ("0012.0", "0012"),
        ] {
            assert_eq!(of(cell), id, "{cell}");
        }
        for cell in [
            "p1",
            "2026-03-01 x",
            "2026-13-01 09:30:00",
            "2026-03-01 25:30:00",
            "2026-03-01 09:30:00 (2)",
            "1183.00",
            "v1.0",
            ".0",
            "-.0",
            "1.2.0",
            "",
            "2026-03-01 09:30:00+1",
        ] {
            assert_eq!(of(cell), cell);
        }
    }
}

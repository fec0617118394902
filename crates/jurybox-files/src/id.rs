//! What items go by where verdicts are joined to picks, and rows known again: their ids, written alike.
//!
//! A moment has many ways to be written: `2026-03-01 09:30:00` in CSV as pandas writes it, `2026-03-01T09:30:00.000` as others do, and a
//! point in time in Parquet. It is one id in all of them. So is a whole number: `7` is what pandas writes as `7.0` once another row of the
//! column is empty. Everything else is what its text says, blanks around it left out.
//!
//! Beyond 2^53 that is another number as often as not: a double has no room for all of them, and an id that has been one is that of several
//! items. It is refused.

use crate::error::{Error, RowPosition};
use crate::format::arrow::{date, fraction};
use std::borrow::Cow;
use std::path::Path;

/// The id in a cell.
pub(crate) fn of(cell: &str) -> Cow<'_, str> {
    alike(cell.trim())
}

/// An id written as all are that mean the same.
pub(crate) fn alike(id: &str) -> Cow<'_, str> {
    // Nearly every id is told by a look at two of its bytes.
    match id.as_bytes() {
        [_, _, _, _, b'-', _, _, b'-', _, _, b'T' | b't' | b' ', ..] => {
            moment(id.as_bytes()).map_or(Cow::Borrowed(id), Cow::Owned)
        }
        // A yes and a no, as pandas and R write them.
        b"True" | b"TRUE" => Cow::Borrowed("true"),
        b"False" | b"FALSE" => Cow::Borrowed("false"),
        [.., b'.', b'0'] => Cow::Borrowed(whole(id).unwrap_or(id)),
        _ => Cow::Borrowed(id),
    }
}

/// A whole number that was written as one with decimals, without them.
fn whole(text: &str) -> Option<&str> {
    let number = text.strip_suffix(".0")?;
    let digits = number.strip_prefix('-').unwrap_or(number);
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

/// From there on two whole numbers are one double.
const ROUNDED: f64 = 9_007_199_254_740_992.0;

/// Whether the id in a cell is a number that has been a double, and is too large to be one exactly: `9007199254740996.0`, `1.2e+18`.
/// Digits alone are none: they are what somebody wrote.
pub(crate) fn is_rounded(cell: &str) -> bool {
    let id = cell.trim();
    let plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E');
    // What has an `e` and neither a point nor a sign behind it may as well be hexadecimal.
    let of_a_double = id.ends_with(".0") || (id.contains(['e', 'E']) && id.contains(['.', '+']));
    of_a_double && id.bytes().all(plain) && id.parse::<f64>().is_ok_and(|number| number.abs() >= ROUNDED)
}

/// Refuses the id in a cell where it has been rounded.
pub(crate) fn check(path: &Path, place: RowPosition, column: &str, cell: &str) -> Result<(), Error> {
    if !is_rounded(cell) {
        return Ok(());
    }
    let (path, column, value) = (path.into(), column.into(), cell.trim().into());
    Err(Error::RoundedId { path, place, column, value })
}

/// A date with a time of day as ISO 8601 has it, in UTC where it says how far from there it is; midnight without that is the day itself.
fn moment(text: &[u8]) -> Option<String> {
    let (year, month, day) = (digits(&text[..4])?, digits(&text[5..7])?, digits(&text[8..10])?);
    let (hour, rest) = two(&text[11..])?;
    let (minute, mut rest) = two(rest.strip_prefix(b":")?)?;
    let mut second = 0;
    if let Some(after) = rest.strip_prefix(b":") {
        (second, rest) = two(after)?;
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

/// Whether it is said how far from UTC a time is, and the minutes; nothing where it cannot be read.
fn zone(text: &[u8]) -> Option<(bool, i64)> {
    let (sign, rest) = match text {
        [] => return Some((false, 0)),
        b"Z" | b"z" => return Some((true, 0)),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let (hours, rest) = two(rest)?;
    let rest = rest.strip_prefix(b":").unwrap_or(rest);
    let (minutes, rest) = if rest.is_empty() { (0, rest) } else { two(rest)? };
    rest.is_empty().then_some((true, sign * (hours * 60 + minutes)))
}

/// Two digits, and what follows them.
fn two(text: &[u8]) -> Option<(i64, &[u8])> {
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
    fn ids_that_were_doubles_too_large_to_be_exact_are_told_from_digits() {
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
    fn moments_and_whole_numbers_are_one_id_however_they_are_written() {
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

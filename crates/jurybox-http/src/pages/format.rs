//! Numbers, shares and times as the pages write them.

use maud::{Markup, html};
use std::time::{SystemTime, UNIX_EPOCH};

/// The system's clock, in microseconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// A text percent-encoded for a URL.
pub(super) fn in_address(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    text.bytes().fold(String::new(), |mut address, byte| {
        if plain(byte) {
            address.push(char::from(byte));
        } else {
            address = address + "%" + &hex(&[byte]).to_ascii_uppercase();
        }
        address
    })
}

/// A count with commas between thousands.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A sum of rewards: with all digits if it is a whole number, else like [`number`].
pub(super) fn amount(sum: f64) -> String {
    let is_whole = sum.fract().abs() < 1e-9 && (0.0..1e15).contains(&sum);
    if is_whole { count(sum.round() as u64) } else { number(sum) }
}

/// A duration given in seconds. From an hour on it has two units, such as `3 h 10`; below, one
/// unit.
pub(super) fn span(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "–".into();
    }
    let s = seconds.max(0.0);
    match () {
        () if s < 9.95 => format!("{s:.1} s"),
        () if s < 60.0 => format!("{s:.0} s"),
        () if s < 3600.0 => format!("{:.0} min", s / 60.0),
        () if s < 86_400.0 => format!("{:.0} h {:02.0}", (s / 3600.0).floor(), (s % 3600.0 / 60.0).floor()),
        () => format!("{:.0} d {:.0} h", (s / 86_400.0).floor(), (s % 86_400.0 / 3600.0).floor()),
    }
}

/// A length of time given in microseconds, in the largest unit that divides it, such as `5 min` or
/// `90 s`.
pub(super) fn stretch(length: i64) -> String {
    let seconds = length / 1_000_000;
    let units = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];
    let whole = units.into_iter().find(|(unit, _)| seconds >= *unit && seconds % unit == 0);
    whole.map_or_else(|| span(seconds as f64), |(unit, name)| format!("{} {name}", seconds / unit))
}

/// A time in UTC to the minute, with its date unless that is today. Scripts replace it by the
/// reader's local time.
pub(super) fn moment(at: i64, now: i64) -> Markup {
    time_element(at, now, false)
}

/// Like [`moment`], to the second.
pub(super) fn moment_to_the_second(at: i64, now: i64) -> Markup {
    time_element(at, now, true)
}

fn time_element(at: i64, now: i64, exact: bool) -> Markup {
    let time = crate::time::Time(at - at.rem_euclid(1_000_000)).to_string();
    html! { time datetime=(time) data-exact[exact] { (in_utc(&time, now, exact)) span class="utc" { " UTC" } } }
}

fn in_utc(text: &str, now: i64, exact: bool) -> String {
    let (date, time) = text.split_once('T').unwrap_or(("", text));
    let today = crate::time::Time(now).to_string();
    let time = &time[..if exact { 8 } else { 5 }];
    if today.starts_with(date) { time.into() } else { format!("{date} {time}") }
}

/// The time of day in UTC, to the second.
pub(super) fn clock(at: i64) -> String {
    let text = crate::time::Time(at - at.rem_euclid(1_000_000)).to_string();
    text.split_once('T').map_or("", |(_, time)| time.trim_end_matches('Z')).into()
}

/// A share in percent, with one decimal below 1% and above 99%.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        share if !share.is_finite() => "–".into(),
        share if share > 0.0 && share < 1.0 => format!("{share:.1}%"),
        share if share > 99.0 && share < 99.95 => format!("{share:.1}%"),
        share => format!("{share:.0}%"),
    }
}

/// A probability in percent, rounded down, and "over 99%" above 99%.
pub(super) fn sure(probability: f64) -> String {
    if probability > 0.99 { "over 99%".into() } else { format!("{:.0}%", (100.0 * probability).floor()) }
}

/// A number with three significant digits, or with all digits before the decimal point if they are
/// more. It has no exponent and no zeros at its end. A dash if it is not finite.
pub(super) fn number(value: f64) -> String {
    trimmed(fixed(value, decimals(value, 3)))
}

/// A contribution or a difference: two significant digits, or all before the decimal point, with a
/// sign.
pub(super) fn signed(value: f64) -> String {
    let text = trimmed(fixed(value, decimals(value, 2)));
    if value > 0.0 && text != "0" { format!("+{text}") } else { text }
}

/// An estimate with its interval, such as "0.77 (0.68 to 0.85)". The decimals show one significant
/// digit of the interval's half width. Only the ends if the mean is not finite.
pub(super) fn between(jurybox::Interval { mean, low, high }: jurybox::Interval) -> String {
    let half = (high - low) / 2.0;
    let decimals = if half > 0.0 { decimals(half, 1) } else { 2 };
    let ends = format!("{} to {}", fixed(low, decimals), fixed(high, decimals));
    if mean.is_finite() { format!("{} ({ends})", fixed(mean, decimals)) } else { ends }
}

/// The numbers of a column. All have the same number of decimals, with which the largest has three
/// significant digits.
pub(super) fn aligned(column: impl IntoIterator<Item = Option<f64>>) -> Vec<String> {
    let column: Vec<f64> = column.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect();
    let finite = column.iter().filter(|value| value.is_finite());
    let largest = finite.fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let decimals = if largest > 0.0 { decimals(largest, 3) } else { 2 };
    column.into_iter().map(|value| fixed(value, decimals)).collect()
}

/// The number of decimals, from 0 to 6, that shows a value with this many significant digits.
fn decimals(value: f64, digits: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    (digits - 1 - value.abs().log10().floor() as i32).clamp(0, 6) as usize
}

/// A number with this many decimals and commas between thousands; a dash if it is not finite. The
/// sign is U+2212, which is as wide as a digit. A value that rounds to zero has no sign.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_string(), count);
    let is_negative = value < 0.0 && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    let sign = if is_negative { "−" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Removes zeros at the end of a fraction.
fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_one_number_of_digits() {
        assert_eq!(aligned([Some(1.171), Some(-0.64), Some(-0.001), None]), ["1.17", "−0.64", "0.00", "–"]);
        assert_eq!(aligned([Some(0.0382), Some(0.5)]), ["0.038", "0.500"]);
        assert_eq!(aligned([Some(12_345.6), Some(f64::NAN)]), ["12,346", "–"]);
        assert_eq!(aligned([Some(0.0)]), ["0.00"]);
        let text = |mean, low, high| between(jurybox::Interval { mean, low, high });
        assert_eq!(text(0.77, 0.684, 0.85), "0.77 (0.68 to 0.85)");
        assert_eq!(text(0.000_91, -0.068, 0.07), "0.00 (−0.07 to 0.07)");
        assert_eq!(text(f64::NAN, 9.2, 90.0), "9 to 90");
        assert_eq!(text(1.0, 0.96, 1.0), "1.00 (0.96 to 1.00)");
    }

    #[test]
    fn numbers_are_written_as_people_read_them() {
        assert_eq!(
            [count(0), count(999), count(12_480), count(1_000_000)],
            ["0", "999", "12,480", "1,000,000"]
        );
        assert_eq!([amount(2687.0), amount(2.25)], ["2,687", "2.25"]);
        assert_eq!(
            [span(4.0), span(42.4), span(600.0), span(11_400.0)],
            ["4.0 s", "42 s", "10 min", "3 h 10"]
        );
        assert_eq!(span(200_000.0), "2 d 7 h");
        let stretches = [2, 300, 3600, 604_800, 90].map(|seconds| stretch(seconds * 1_000_000));
        assert_eq!(stretches, ["2 s", "5 min", "1 h", "7 d", "90 s"]);
        assert_eq!(
            [percent(0.5), percent(0.004), percent(0.999), percent(0.9996)],
            ["50%", "0.4%", "99.9%", "100%"]
        );
        assert_eq!([number(0.123_45), number(1234.4), number(0.0)], ["0.123", "1,234", "0"]);
        assert_eq!([number(-7.55e-4), number(2.5), number(f64::NAN)], ["−0.000755", "2.5", "–"]);
        assert_eq!([signed(0.123), signed(-0.5), signed(0.0)], ["+0.12", "−0.5", "0"]);
        assert_eq!([sure(0.999_999), sure(1.0), sure(0.987)], ["over 99%", "over 99%", "98%"]);
        let noon = 1_794_916_800_000_000;
        let moment = |at: i64, now: i64| moment(at, now).into_string();
        let time = "<time datetime=\"2026-11-17T12:00:00Z\">";
        assert_eq!(moment(noon, noon + 1), format!("{time}12:00<span class=\"utc\"> UTC</span></time>"));
        assert_eq!(clock(noon + 1_500_000), "12:00:01");
        assert!(moment(noon, noon + 86_400_000_000).starts_with(&format!("{time}2026-11-17 12:00<")));
    }
}

//! Times in RFC 3339, as clients send and get them, and in microseconds since 1970, as the log has
//! them.

use jurybox_files::{date_of, days_from};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A time in microseconds since 1970. In text it is `2026-11-15T10:00:00Z`, with six decimals if it
/// is not a whole second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) i64);

const DAY: i64 = 86_400;

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (seconds, micros) = (self.0.div_euclid(1_000_000), self.0.rem_euclid(1_000_000));
        let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        let (year, month, day) = date_of(days);
        let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if micros > 0 {
            write!(f, ".{micros:06}")?;
        }
        f.write_str("Z")
    }
}

impl std::str::FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parsed(text)
            .ok_or_else(|| format!("{text:?} is not a time with a zone, such as 2026-11-15T10:00:00Z"))
    }
}

fn parsed(text: &str) -> Option<Time> {
    let bytes = text.as_bytes();
    let number = |from: usize, len: usize| {
        let digits = bytes.get(from..from + len)?;
        let all = digits.iter().all(u8::is_ascii_digit);
        all.then(|| digits.iter().fold(0_i64, |sum, digit| sum * 10 + i64::from(digit - b'0')))
    };
    let is = |at: usize, what: &[u8]| bytes.get(at).filter(|byte| what.contains(byte)).copied();
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    for (at, what) in [(4, &b"-"[..]), (7, b"-"), (10, b"Tt "), (13, b":"), (16, b":")] {
        is(at, what)?;
    }
    let mut rest = 19;
    let mut micros = 0;
    if is(rest, b".").is_some() {
        let digits = bytes[rest + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        for place in 0..6 {
            micros = micros * 10 + if place < digits { number(rest + 1 + place, 1)? } else { 0 };
        }
        rest += 1 + digits;
    }
    let east = match bytes.get(rest)? {
        b'Z' | b'z' if bytes.len() == rest + 1 => 0,
        sign @ (b'+' | b'-') if bytes.len() == rest + 6 => {
            is(rest + 3, b":")?;
            let (hours, minutes) = (number(rest + 1, 2)?, number(rest + 4, 2)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 60 + minutes) * if *sign == b'+' { 60 } else { -60 }
        }
        _ => return None,
    };
    // The second 60 is accepted at any minute, and counts as the first second of the next minute.
    let fits = (1..=12).contains(&month) && hour < 24 && minute < 60 && second <= 60;
    if !fits || date_of(days_from(year, month, day)) != (year, month, day) {
        return None;
    }
    let seconds = days_from(year, month, day) * DAY + hour * 3600 + minute * 60 + second - east;
    Some(Time(seconds * 1_000_000 + micros))
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        for (text, micros) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-11-15T10:00:00Z", 1_794_736_800_000_000),
            ("2000-02-29T23:59:59.5Z", 951_868_799_500_000),
            ("2026-11-15T12:30:00+02:30", 1_794_736_800_000_000),
            ("1969-12-31T23:59:59.999999Z", -1),
        ] {
            let time: Time = text.parse().unwrap();
            assert_eq!(time.0, micros, "{text}");
            assert_eq!(time.to_string().parse::<Time>().unwrap(), time, "{time}");
        }
        assert_eq!(Time(1_794_736_800_000_000).to_string(), "2026-11-15T10:00:00Z");
        for text in ["", "2026-11-15", "2026-02-30T10:00:00Z", "2026-11-15T10:00:00", "2026-11-15T24:00:00Z"]
        {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
        for text in [
            "2026-11-15T10:00:00.Z",
            "2026-11-15T10:00:00+2:00",
            "2026-11-15T10:00:00Zz",
            "²026-11-15T10:00:00Z",
        ] {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_day_of_four_centuries_comes_back() {
        for day in -1000..146_097 + 1000 {
            let (year, month, date) = date_of(day);
            assert_eq!(days_from(year, month, date), day);
        }
    }
}

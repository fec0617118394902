//! Days, weeks and months from dates in a file.

use jurybox_files::{date_of, days_from};
use std::fmt;
use std::str::FromStr;

/// A column of dates and the length of a period, written `created/week`.
///
/// ```
/// use jurybox_lab::Period;
/// let period: Period = "created/week".parse()?;
/// assert_eq!(period.column, "created");
/// assert!("created".parse::<Period>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Period {
    /// Name of the column.
    pub column: String,
    length: Length,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Day,
    Week,
    Month,
}

impl FromStr for Period {
    type Err = String;

    fn from_str(text: &str) -> Result<Period, String> {
        let length = |word: &str| match word {
            "day" => Some(Length::Day),
            "week" => Some(Length::Week),
            "month" => Some(Length::Month),
            _ => None,
        };
        // The column's name may contain a slash.
        let said = text.rsplit_once('/').and_then(|(column, word)| Some((column, length(word)?)));
        match said {
            Some((column, length)) if !column.is_empty() => Ok(Period { column: column.into(), length }),
            _ => Err("write the column of dates, then day, week or month, such as created/week".into()),
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = match self.length {
            Length::Day => "day",
            Length::Week => "week",
            Length::Month => "month",
        };
        write!(f, "{}/{length}", self.column)
    }
}

impl Period {
    /// The period of a date, such as 2026-11-16, 2026-W47 (ISO 8601) or 2026-11. None if the cell
    /// is no date.
    ///
    /// A date is written 2026-11-16 or 2026/11/16, with or without text after it that does not
    /// begin with a digit, or is a Unix time in seconds, milliseconds, microseconds or nanoseconds.
    pub(super) fn of(&self, cell: &str) -> Option<String> {
        let days = written(cell).or_else(|| counted(cell))?;
        let (year, month, day) = date_of(days);
        Some(match self.length {
            Length::Day => format!("{year:04}-{month:02}-{day:02}"),
            Length::Month => format!("{year:04}-{month:02}"),
            Length::Week => {
                // A week belongs to the year of its Thursday; 1 January 1970 was a Thursday.
                let thursday = days - (days + 3).rem_euclid(7) + 3;
                let (year, _, _) = date_of(thursday);
                format!("{year:04}-W{:02}", (thursday - days_from(year, 1, 1)) / 7 + 1)
            }
        })
    }
}

/// Days since 1970 of the date that a cell begins with.
fn written(cell: &str) -> Option<i64> {
    let cell = cell.trim().as_bytes();
    let number = |from: usize, to: usize| {
        let digits = cell.get(from..to).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        std::str::from_utf8(digits).ok()?.parse::<i64>().ok()
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let apart = matches!((cell[4], cell[7]), (b'-', b'-') | (b'/', b'/'));
    let ends = cell.get(10).is_none_or(|next| !next.is_ascii_digit());
    let days = days_from(year, month, day);
    // days_from makes 1 July of 31 June.
    (apart && ends && date_of(days) == (year, month, day)).then_some(days)
}

/// The year 2100 as a Unix time in seconds. Larger numbers are in milliseconds, microseconds or
/// nanoseconds, and each of these units reaches from February 1970 to 2100.
const LATEST: f64 = 4_102_444_800.0;

/// Days since 1970 of a Unix time, whose unit follows from its size. None for nanoseconds from 2100
/// on. None for sizes below 1e8: seconds before March 1973 cannot be told from years and dates
/// like 20261116.
fn counted(cell: &str) -> Option<i64> {
    let seconds: f64 = cell.trim().parse().ok()?;
    let per_second = match seconds.abs() {
        // A year, or 20261116.
        size if size < 1e8 => return None,
        size if size < LATEST => 1.0,
        size if size < LATEST * 1e3 => 1e3,
        size if size < LATEST * 1e6 => 1e6,
        size if size < LATEST * 1e9 => 1e9,
        _ => return None,
    };
    Some((seconds / per_second / 86_400.0).floor() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with `date -u -d @N +%F` and `+%G-W%V`.
    #[test]
    fn dates_have_their_day_week_and_month() {
        let of = |length: &str, cell: &str| format!("at/{length}").parse::<Period>().unwrap().of(cell);
        for (cell, day, week, month) in [
            ("2026-11-16", "2026-11-16", "2026-W47", "2026-11"),
            (" 2026-11-16T23:59:59+01:00 ", "2026-11-16", "2026-W47", "2026-11"),
            ("2024/12/30 00:00", "2024-12-30", "2025-W01", "2024-12"),
            ("2021-01-03", "2021-01-03", "2020-W53", "2021-01"),
            ("2000-02-29", "2000-02-29", "2000-W09", "2000-02"),
            ("1794787867", "2026-11-16", "2026-W47", "2026-11"),
            ("1794787867000", "2026-11-16", "2026-W47", "2026-11"),
            ("1794787867000000", "2026-11-16", "2026-W47", "2026-11"),
            ("-100000001", "1966-10-31", "1966-W44", "1966-10"),
            // Milliseconds, microseconds and nanoseconds before March 1973 are dates.
            ("50000000000", "1971-08-02", "1971-W31", "1971-08"),
            ("50000000000000", "1971-08-02", "1971-W31", "1971-08"),
            ("50000000000000000", "1971-08-02", "1971-W31", "1971-08"),
            ("4102444799", "2099-12-31", "2099-W53", "2099-12"),
        ] {
            assert_eq!(of("day", cell).as_deref(), Some(day), "{cell}");
            assert_eq!(of("week", cell).as_deref(), Some(week), "{cell}");
            assert_eq!(of("month", cell).as_deref(), Some(month), "{cell}");
        }
        for cell in [
            "soon",
            "",
            "2026-13-01",
            "2026-06-31",
            "2026-11-166",
            "16.11.2026",
            "1e30",
            "nan",
            "2026",
            "20261116",
        ] {
            assert_eq!(of("day", cell), None, "{cell}");
        }
    }

    #[test]
    fn a_column_may_have_a_slash_in_its_name() {
        let period: Period = "of/post/month".parse().unwrap();
        assert_eq!((period.column.as_str(), period.to_string().as_str()), ("of/post", "of/post/month"));
        for bad in ["created", "created/", "/week", "created/year"] {
            assert!(bad.parse::<Period>().is_err(), "{bad}");
        }
    }
}

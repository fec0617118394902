//! Conversion between dates and day numbers in the proleptic Gregorian calendar.
//!
//! The algorithms are Howard Hinnant's `days_from_civil` and `civil_from_days`,
//! <https://howardhinnant.github.io/date_algorithms.html>.

/// Days from 1970-01-01 to a date; negative for earlier dates.
///
/// ```
/// assert_eq!(jurybox_files::days_from(1970, 1, 1), 0);
/// assert_eq!(jurybox_files::days_from(2024, 2, 29), 19_782);
/// ```
pub fn days_from(year: i64, month: i64, day: i64) -> i64 {
    // Years start in March, so that a leap day is the last day of its year. An era is 400 years.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of the date `days` days after 1970-01-01.
///
/// ```
/// assert_eq!(jurybox_files::date_of(19_782), (2024, 2, 29));
/// ```
pub fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (year + 400 * era + later, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_an_era_converts_both_ways() {
        let mut before = date_of(-1001);
        for days in -1000..146_097 + 1000 {
            let (year, month, day) = date_of(days);
            assert_eq!(days_from(year, month, day), days);
            assert!((year, month, day) > before);
            before = (year, month, day);
        }
    }
}

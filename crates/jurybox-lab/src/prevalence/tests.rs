//! Against PyPI's `ppi-python`, against arithmetic by hand, and what is refused.

use super::estimate::{Estimate, Row};
use super::{Period, PrevalenceOptions, prevalence};
use crate::error::Error;
use crate::range::Range;
use jurybox_files::{Roles, Table};
use std::fmt::Write;

pub(super) const UNIT: Range = Range { low: 0.0, high: 1.0, from: "as declared", known: true };
const NONE: f64 = f64::NAN;

/// The samples of `experiments/prevalence/compare_ppi.py`.
fn sample(reward: impl Fn(f64, f64) -> f64) -> Vec<Row> {
    let row = |i: u32| {
        let (prediction, noise) = (f64::from(i * 37 % 101) / 100.0, f64::from(i * 53 % 97) / 97.0);
        let reward = if (i * 7).is_multiple_of(5) { reward(prediction, noise) } else { NONE };
        Row { reward, probability: 0.2, prediction }
    };
    (0..400).map(row).collect()
}

/// The mean, and the ends of the 95% interval, of `ppi_mean_pointestimate` and `ppi_mean_ci` in ppi-python 0.2.3: lambda tuned, rows
/// without a reward as the unlabelled sample. `experiments/prevalence/compare_ppi.py` prints them.
#[test]
fn with_equal_probabilities_it_is_ppi_python() {
    let yes_or_no = |prediction: f64, noise: f64| f64::from(u8::from(noise < prediction));
    let marks = |prediction: f64, noise: f64| 0.2 + 0.5 * prediction + 0.3 * noise;
    for (rows, mean, low, high) in [
        (sample(yes_or_no), 0.492_330_629_874_509, 0.399_162_948_157_509, 0.585_498_311_591_508),
        (sample(marks), 0.599_112_018_323_484, 0.574_954_215_816_729, 0.623_269_820_830_238),
    ] {
        let found = Estimate::of(&rows, UNIT).unwrap();
        let normal = found.normal();
        for (ours, theirs) in [(found.interval.mean, mean), (normal.0, low), (normal.1, high)] {
            assert!((ours - theirs).abs() < 1e-12, "{ours} {theirs}");
        }
        // Ours allows for what 80 rewards may not have shown: wider, and not by much.
        let wider = (found.interval.high - found.interval.low) / (high - low);
        assert!((1.0..1.5).contains(&wider), "{wider}");
    }
}

/// Four rows: two certain ones, and one of two others by a coin. By hand: predictions say nothing, so the mean is
/// (1 + 0 + 2 * 1) / (1 + 1 + 2).
#[test]
fn rewards_are_weighed_by_one_over_their_probability() {
    let row = |reward: f64, probability: f64| Row { reward, probability, prediction: 0.5 };
    let rows = [row(1.0, 1.0), row(0.0, 1.0), row(1.0, 0.5), row(NONE, 0.5)];
    let found = Estimate::of(&rows, UNIT).unwrap();
    assert_eq!((found.interval.mean, found.lambda), (0.75, 0.0));
    // One over the sum of the squares of 1/4, 1/4 and 1/2.
    assert!((found.effective - 1.0 / 0.375).abs() < 1e-12);
}

/// The jury may be wrong by any amount: a constant added to all predictions cancels out.
#[test]
fn predictions_that_are_off_by_a_constant_change_nothing() {
    let rows = sample(|prediction, noise| 0.5 * prediction + 0.5 * noise);
    let shifted: Vec<Row> = rows.iter().map(|row| Row { prediction: row.prediction + 3.0, ..*row }).collect();
    let (plain, shifted) = (Estimate::of(&rows, UNIT).unwrap(), Estimate::of(&shifted, UNIT).unwrap());
    assert!((plain.interval.mean - shifted.interval.mean).abs() < 1e-12);
    assert!((plain.standard_error - shifted.standard_error).abs() < 1e-12);
}

#[test]
fn none_found_is_not_none_there() {
    let row = |i: usize| Row { reward: if i < 20 { 0.0 } else { NONE }, probability: 0.02, prediction: 0.1 };
    let found = Estimate::of(&(0..1000).map(row).collect::<Vec<_>>(), UNIT).unwrap().interval;
    assert_eq!((found.mean, found.low), (0.0, 0.0));
    // Clopper and Pearson say 0.168.
    assert!((0.168..0.25).contains(&found.high), "{found:?}");
    assert!(Estimate::of(&[row(0), row(30)], UNIT).is_none());
}

fn table(text: &str) -> (tempfile::TempDir, Table) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("month.csv");
    std::fs::write(&path, text).unwrap();
    let column = |name: &str| Some(name.to_string());
    let ignore = vec!["at".into(), "language".into()];
    let roles = Roles { reward: column("verdict"), probability: column("p"), ignore, ..Roles::default() };
    let table = Table::open(&[path], &roles, false).unwrap();
    (dir, table)
}

/// A month of posts, one in ten of which was looked at.
fn month() -> String {
    let mut text = String::from("at,language,spam,abuse,verdict,p\n");
    for i in 0..2000_u32 {
        let (spam, abuse) = (f64::from(i * 37 % 101) / 100.0, f64::from(i * 53 % 97) / 97.0);
        let language = ["en", "de", ""][i as usize % 3];
        let harmful = u8::from(spam + abuse > if language == "de" { 1.6 } else { 1.2 });
        let verdict = if i * 7919 % 10 == 3 { harmful.to_string() } else { String::new() };
        let day = i / 100 + 1;
        let _ = writeln!(text, "2026-11-{day:02},{language},{spam},{abuse},{verdict},0.1");
    }
    text
}

#[test]
fn groups_and_periods_are_told_apart_in_their_order() {
    let (_dir, table) = table(&month());
    let options = PrevalenceOptions {
        by: Some("language".into()),
        period: Some("at/week".parse::<Period>().unwrap()),
        ..PrevalenceOptions::default()
    };
    let found = prevalence(&table, &options).unwrap();
    let named: Vec<(&str, &str)> = found
        .lines
        .iter()
        .map(|line| (line.period.as_deref().unwrap(), line.group.as_deref().unwrap_or("none")))
        .collect();
    assert_eq!(named.len(), 12);
    assert_eq!(
        named[..4],
        [("2026-W44", "none"), ("2026-W44", "de"), ("2026-W44", "en"), ("2026-W45", "none")]
    );
    assert_eq!(found.lines.iter().map(|line| line.rows).sum::<u64>(), 2000);
    let text = found.to_table();
    assert!(text.contains("2026-W44  de"), "{text}");
    // The truth is in all but a few.
    let truth = |language: &str| {
        let bar = if language == "de" { 1.6 } else { 1.2 };
        let rows = (0..2000_u32).filter(|i| ["en", "de", ""][*i as usize % 3] == language);
        let harm: Vec<f64> = rows
            .map(|i| f64::from(i * 37 % 101) / 100.0 + f64::from(i * 53 % 97) / 97.0)
            .map(|sum| f64::from(u8::from(sum > bar)))
            .collect();
        harm.iter().sum::<f64>() / harm.len() as f64
    };
    let options = PrevalenceOptions { period: None, ..options };
    for line in prevalence(&table, &options).unwrap().lines {
        let truth = truth(line.group.as_deref().unwrap_or_default());
        assert!(line.low.unwrap() <= truth && truth <= line.high.unwrap(), "{line:?} {truth}");
        assert!(line.high.unwrap() - line.low.unwrap() < 0.3);
    }
}

/// What is wrong is told with the file, the row, the column and the value.
#[test]
fn what_cannot_be_weighed_is_refused() {
    let refused = |text: &str| {
        let (_dir, table) = table(text);
        let period = Some("at/day".parse::<Period>().unwrap());
        let error = prevalence(&table, &PrevalenceOptions { period, ..PrevalenceOptions::default() });
        let Error::Content { path, reason } = error.unwrap_err() else { panic!("another kind of error") };
        assert!(path.ends_with("month.csv"));
        reason
    };
    let head = "at,language,spam,abuse,verdict,p\n";
    for (row, said) in [
        ("2026-11-02,en,1,2,1,", "row 2, column `p`: there is a reward, but no probability"),
        ("2026-11-02,en,1,2,,0", "row 2, column `p`: a row that could not have been looked at"),
        ("2026-11-02,en,1,2,,1.5", "row 2, column `p`: 1.5 is not the probability of a pick"),
        ("soon,en,1,2,,0.5", "row 2, column `at`: `soon` is not a date"),
    ] {
        let reason = refused(&format!("{head}2026-11-01,en,1,1,0,0.5\n{row}\n"));
        assert!(reason.starts_with(said), "{reason}");
    }
    let mut only_looked_at = head.to_owned();
    for i in 0..50 {
        let _ = writeln!(only_looked_at, "2026-11-01,en,{i},1,0,0.05");
    }
    let reason = refused(&only_looked_at);
    assert!(
        reason.starts_with("by their probabilities the 50 rewards stand for 1000 rows, and there are 50"),
        "{reason}"
    );
}

#[test]
fn verdicts_that_are_missing_are_warned_of() {
    let text = month().replace(",0,0.1\n", ",,0.1\n");
    let (_dir, table) = table(&text);
    let found = prevalence(&table, &PrevalenceOptions::default()).unwrap();
    assert!(
        found.warnings.iter().any(|warning| warning.contains("verdicts are missing")),
        "{:?}",
        found.warnings
    );
}

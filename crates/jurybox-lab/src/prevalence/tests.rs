//! Tests of prevalence: against PyPI's `ppi-python`, by hand, and of refused files.

use super::estimate::{PrevalenceEstimate, Row};
use super::{Period, PrevalenceOptions, prevalence};
use crate::error::Error;
use crate::reward_range::RewardRange;
use jurybox_files::{PickOptions, Roles, State, Table, pick_rows};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;

pub(super) const UNIT: RewardRange = RewardRange { low: 0.0, high: 1.0, from: "as declared", known: true };
const NONE: f64 = f64::NAN;

/// The samples of `experiments/prevalence/compare_ppi.py`.
fn sample(reward: impl Fn(f64, f64) -> f64) -> Vec<Row> {
    let row = |i: u32| {
        let (prediction, noise) = (f64::from(i * 37 % 101) / 100.0, f64::from(i * 53 % 97) / 97.0);
        let reward = if (i * 7).is_multiple_of(5) { reward(prediction, noise) } else { NONE };
        Row { reward, probability: 0.2, prediction, ..Row::default() }
    };
    (0..400).map(row).collect()
}

/// The expected mean and interval are those of `ppi_mean_pointestimate` and `ppi_mean_ci` in
/// ppi-python 0.2.3, with tuned lambda and unreviewed rows as the unlabelled sample, as
/// `experiments/prevalence/compare_ppi.py` prints them.
#[test]
fn with_equal_probabilities_it_is_ppi_python() {
    let yes_or_no = |prediction: f64, noise: f64| f64::from(u8::from(noise < prediction));
    let marks = |prediction: f64, noise: f64| 0.2 + 0.5 * prediction + 0.3 * noise;
    for (rows, mean, low, high) in [
        (sample(yes_or_no), 0.492_330_629_874_509, 0.399_162_948_157_509, 0.585_498_311_591_508),
        (sample(marks), 0.599_112_018_323_484, 0.574_954_215_816_729, 0.623_269_820_830_238),
    ] {
        let found = PrevalenceEstimate::of(&rows, UNIT).unwrap();
        let normal = found.normal();
        for (ours, theirs) in [(found.interval.mean, mean), (normal.0, low), (normal.1, high)] {
            assert!((ours - theirs).abs() < 1e-12, "{ours} {theirs}");
        }
        // Wider than the normal approximation, to allow for rewards that 80 labels may have missed.
        let wider = (found.interval.high - found.interval.low) / (high - low);
        assert!((1.0..1.5).contains(&wider), "{wider}");
    }
}

/// Two rows were reviewed for certain, and one of two others by a coin. Predictions are equal, so
/// that the mean is (1 + 0 + 2 * 1) / (1 + 1 + 2).
#[test]
fn rewards_are_weighed_by_one_over_their_probability() {
    let row = |reward: f64, probability: f64| Row { reward, probability, prediction: 0.5, ..Row::default() };
    let rows = [row(1.0, 1.0), row(0.0, 1.0), row(1.0, 0.5), row(NONE, 0.5)];
    let found = PrevalenceEstimate::of(&rows, UNIT).unwrap();
    assert_eq!((found.interval.mean, found.lambda), (0.75, 0.0));
    // One over the sum of the squares of 1/4, 1/4 and 1/2.
    assert!((found.effective_labels - 1.0 / 0.375).abs() < 1e-12);
}

/// A constant error of all predictions cancels out.
#[test]
fn predictions_that_are_off_by_a_constant_change_nothing() {
    let rows = sample(|prediction, noise| 0.5 * prediction + 0.5 * noise);
    let shifted: Vec<Row> = rows.iter().map(|row| Row { prediction: row.prediction + 3.0, ..*row }).collect();
    let (plain, shifted) =
        (PrevalenceEstimate::of(&rows, UNIT).unwrap(), PrevalenceEstimate::of(&shifted, UNIT).unwrap());
    assert!((plain.interval.mean - shifted.interval.mean).abs() < 1e-12);
    assert!((plain.standard_error - shifted.standard_error).abs() < 1e-12);
}

#[test]
fn none_found_is_not_none_there() {
    let reward = |i: usize| if i < 20 { 0.0 } else { NONE };
    let row = |i: usize| Row { reward: reward(i), probability: 0.02, prediction: 0.1, ..Row::default() };
    let found = PrevalenceEstimate::of(&(0..1000).map(row).collect::<Vec<_>>(), UNIT).unwrap().interval;
    assert_eq!((found.mean, found.low), (0.0, 0.0));
    // The Clopper-Pearson interval of 0 of 20 ends at 1 - 0.025^(1/20) = 0.168.
    assert!((0.168..0.25).contains(&found.high), "{found:?}");
    assert!(PrevalenceEstimate::of(&[row(0), row(30)], UNIT).is_none());
}

fn table(text: &str) -> (tempfile::TempDir, Table) {
    table_as(text, Roles::default())
}

fn table_as(text: &str, roles: Roles) -> (tempfile::TempDir, Table) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("month.csv");
    std::fs::write(&path, text).unwrap();
    let column = |name: &str| Some(name.to_string());
    let head = text.lines().next().unwrap().split(',');
    let ignore = head.filter(|name| ["at", "language", "thread", "known"].contains(name));
    let ignore = ignore.map(String::from).collect();
    let roles = Roles { reward: column("verdict"), probability: column("p"), ignore, ..roles };
    let table = Table::open(&[path], &roles, false).unwrap();
    (dir, table)
}

/// The reason why a file is refused.
fn refused(text: &str, options: &PrevalenceOptions) -> String {
    let (_dir, table) = table(text);
    let Error::Content { path, reason } = prevalence(&table, options).unwrap_err() else {
        panic!("another kind of error")
    };
    assert!(path.ends_with("month.csv"));
    reason
}

/// Twenty days of posts, one in ten of them reviewed.
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
fn groups_and_periods_are_in_order() {
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
    // The interval of each language holds the truth.
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

/// The message says which row or how many rows are at fault, and which column.
#[test]
fn what_cannot_be_weighed_is_refused() {
    let period = Some("at/day".parse::<Period>().unwrap());
    let options = PrevalenceOptions { period, ..PrevalenceOptions::default() };
    let refused = |text: &str| refused(text, &options);
    let head = "at,language,spam,abuse,verdict,p\n";
    for (row, said) in [
        ("2026-11-02,en,1,2,1,", "row 2, column `p`: there is a reward, but no probability"),
        (
            "2026-11-02,en,1,2,,0",
            "1 of 2 rows could not have been reviewed (column `p` is 0, first in row 2)",
        ),
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

/// If some rows could not be reviewed, the mean of all rows is unknown.
#[test]
fn picks_without_random_checks_do_not_tell_of_all_rows() {
    let mut picks = String::from("spam,verdict,p\n");
    for i in 0..600 {
        let _ = writeln!(picks, "{},{}", 1.0 - f64::from(i) / 600.0, if i < 100 { "1,1" } else { "," });
    }
    let reason = refused(&picks, &PrevalenceOptions::default());
    assert!(
        reason.starts_with(
            "by their probabilities the 100 rewards stand for 100 rows, and there are 600: 500 \
             rows had no chance of review"
        ),
        "{reason}"
    );
    assert!(reason.contains("adaptive(audit=1,slots=5)"), "{reason}");
    let never = picks.replace(",,\n", ",,0\n");
    let reason = refused(&never, &PrevalenceOptions::default());
    assert!(reason.starts_with("500 of 600 rows could not have been reviewed"), "{reason}");
}

/// Four rounds of 250 rows with 25 picks each, as `pick --all` writes them, and a verdict on every
/// pick.
fn rounds(policy: &str, seed: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hour.csv");
    let mut state: Option<State> = None;
    let mut text = String::from("spam,abuse,verdict,p\n");
    for round in 0..4 {
        let scores: Vec<[f64; 2]> = (0..250).map(|_| [rng.random(), rng.random()]).collect();
        let rows = scores.iter().enumerate().map(|(i, [a, b])| format!("{round}-{i},{a},{b}\n"));
        std::fs::write(&path, rows.fold(String::from("id,a,b\n"), |text, row| text + &row)).unwrap();
        let roles = Roles { key: Some("id".into()), ..Roles::default() };
        let table = Table::open(std::slice::from_ref(&path), &roles, true).unwrap();
        let options = PickOptions { k: 25, seed, ..PickOptions::default() };
        let found = pick_rows(state.as_ref(), &table, Some(&policy.parse().unwrap()), options).unwrap();
        let probabilities = found.picking.probabilities().unwrap();
        for (row, ([spam, abuse], p)) in (0..).zip(scores.iter().zip(probabilities.iter())) {
            let is_pick = found.picking.picks.iter().any(|pick| pick.row == row);
            let verdict = is_pick.then(|| u8::from(rng.random::<f64>() < *spam).to_string());
            let _ = writeln!(text, "{spam},{abuse},{},{p}", verdict.unwrap_or_default());
        }
        state = Some(found.state);
    }
    text
}

/// A file with a verdict on every pick is accepted if some picks are random checks, even if few of
/// these were drawn. It is refused if none was drawn. Picks without random checks are always
/// refused.
#[test]
fn honest_files_are_accepted_whatever_is_drawn() {
    for policy in ["adaptive(audit=1,slots=5)", "adaptive(audit=0.2,slots=5)", "eps-greedy-all(slots=1)"] {
        for seed in 0..12 {
            let (_dir, table) = table(&rounds(policy, seed));
            let found = prevalence(&table, &PrevalenceOptions::default());
            match found {
                Ok(found) => assert_eq!(found.all.labelled, 100, "{policy} {seed}"),
                // With a check in one of five rounds, four rounds have none in 0.8^4 = 41% of the
                // cases.
                Err(error) => assert!(
                    policy.contains("0.2") && error.to_string().contains("none of the 900 rows"),
                    "{policy} {seed}: {error}"
                ),
            }
        }
    }
    for seed in 0..10 {
        let picks = rounds("average", seed);
        let said = refused(&picks, &PrevalenceOptions::default());
        assert!(said.starts_with("900 of 1000 rows could not have been reviewed"), "{said}");
        let said = refused(&picks.replace(",,0\n", ",,\n"), &PrevalenceOptions::default());
        assert!(said.contains("900 rows had no chance of review"), "{said}");
    }
}

/// Too few verdicts for the probabilities are refused if it is unknown which rows lack them.
#[test]
fn verdicts_that_are_missing_are_refused() {
    let reason = refused(&month().replace(",0,0.1\n", ",,0.1\n"), &PrevalenceOptions::default());
    assert!(
        reason.starts_with("by the probabilities about 200 rows were to be reviewed, and there are"),
        "{reason}"
    );
    assert!(reason.contains("verdicts are missing"), "{reason}");
}

/// If picks are known by probabilities or receipts, outstanding verdicts are known, and the
/// interval holds whatever they will be.
#[test]
fn verdicts_that_are_outstanding_are_counted_and_bounded() {
    let all = month();
    let picks_alone: String = all
        .lines()
        .map(|line| line.strip_suffix(",,0.1").map_or(format!("{line}\n"), |line| format!("{line},,\n")))
        .collect();
    // Every third yes is late.
    let mut yes = 0;
    let mut late = |text: &str, to: &str| -> String {
        let mut of = |line: &str| match line.strip_suffix(",1,0.1") {
            Some(line) => {
                yes += 1;
                format!("{line},{},0.1\n", if yes % 3 == 0 { to } else { "1" })
            }
            None => format!("{line}\n"),
        };
        text.lines().map(&mut of).collect()
    };
    let found = |text: &str| {
        let (_dir, table) = table(text);
        prevalence(&table, &PrevalenceOptions::default()).unwrap()
    };
    let (whole, some) = (found(&picks_alone), found(&late(&picks_alone, "")));
    assert_eq!(whole.all.outstanding, 0);
    assert!(some.all.outstanding > 10 && some.all.labelled + some.all.outstanding == 200, "{:?}", some.all);
    // The interval reaches further than an interval from the verdicts at hand alone.
    let (mean, at_hand) = (whole.all.mean.unwrap(), some.all.mean.unwrap());
    let alone = at_hand + 2.0 * some.all.standard_error.unwrap();
    assert!(some.all.low.unwrap() < mean && mean < some.all.high.unwrap(), "{:?} {mean}", some.all);
    assert!(some.all.high.unwrap() > alone + 0.02, "{:?}", some.all);
    assert!(some.warnings[0].contains("of 200 picks have no verdict yet"), "{:?}", some.warnings);
}

/// Threads are drawn whole or not at all. 17 of 100 threads at a probability of 0.1 can be chance;
/// 680 of 4,000 rows, counted by themselves, cannot.
#[test]
fn rows_that_are_drawn_together_are_not_taken_for_a_selection() {
    let mut text = String::from("thread,spam,verdict,p\n");
    for i in 0..4000_u32 {
        let thread = i / 40;
        let verdict = if thread % 6 == 0 { u8::from(thread % 5 == 0).to_string() } else { String::new() };
        let _ = writeln!(text, "t{thread},{},{verdict},0.1", f64::from(i * 37 % 101) / 100.0);
    }
    let reason = refused(&text, &PrevalenceOptions::default());
    assert!(reason.contains("or rows were drawn together"), "{reason}");
    let (_dir, table) = table_as(&text, Roles { id: vec!["thread".into()], ..Roles::default() });
    let found = prevalence(&table, &PrevalenceOptions::default()).unwrap();
    assert_eq!((found.items, found.warnings.len()), (Some(100), 0));
    // 17 threads, 4 with all verdicts yes, are worth about 17 verdicts.
    assert!(
        found.all.effective_labels < 17.5 && found.all.high.unwrap() - found.all.low.unwrap() > 0.35,
        "{found:?}"
    );
}

/// Right answers may be words, with numbers given by labels, as verdicts may.
#[test]
fn right_answers_may_be_words() {
    let mut text = String::from("spam,verdict,p,known\n");
    for i in 0..300_u32 {
        let spam = f64::from(i * 37 % 101) / 100.0;
        let verdict = if i % 3 == 0 { ["remove", "keep"][usize::from(i % 60 != 0)] } else { "" };
        let _ = writeln!(text, "{spam},{verdict},{},", 1.0 / 3.0);
    }
    for i in 0..100 {
        let known = ["remove", "keep"][i % 2];
        let _ = writeln!(text, "0.5,{},,{known}", if i % 10 == 0 { "keep" } else { known });
    }
    let golden = PrevalenceOptions { golden: Some("known".into()), ..PrevalenceOptions::default() };
    let labels = vec![("remove".into(), 1.0), ("keep".into(), 0.0)];
    let (_dir, words) = table_as(&text, Roles { labels, ..Roles::default() });
    let numbers = text.replace("remove", "1").replace("keep", "0");
    let (_other, numbers) = table_as(&numbers, Roles::default());
    let found = prevalence(&words, &golden).unwrap();
    assert_eq!(found.errors.as_ref().unwrap().false_negative_rate.mean, 0.2);
    assert_eq!(found.all, prevalence(&numbers, &golden).unwrap().all);
}

/// Golden items measure error rates and are not among the rows.
#[test]
fn golden_items_correct_what_people_call() {
    let mut text = String::from("spam,verdict,p,known,who\n");
    for i in 0..3000_u32 {
        let spam = f64::from(i * 37 % 101) / 100.0;
        let verdict = if i % 3 == 0 { u8::from(i % 60 == 0).to_string() } else { String::new() };
        let _ = writeln!(text, "{spam},{verdict},{},,ann", 1.0 / 3.0);
    }
    // Ann calls one in fifty harmless items harmful, and misses one harmful item in ten. Bob, who
    // judged no other rows, is always wrong.
    for i in 0..400_u32 {
        let right = i % 2 == 0;
        let said = if right { i % 20 != 0 } else { i % 100 == 1 };
        let _ = writeln!(
            text,
            "0.5,{},,{},ann\n0.5,{},,{},bob",
            u8::from(said),
            u8::from(right),
            u8::from(!right),
            u8::from(right)
        );
    }
    let (_dir, plain) = table_as(&text.replace(",who", ",language"), Roles::default());
    let golden = PrevalenceOptions { golden: Some("known".into()), ..PrevalenceOptions::default() };
    let (_other, named) = table_as(&text, Roles { reviewer: Some("who".into()), ..Roles::default() });
    let found = prevalence(&named, &golden).unwrap();
    let errors = found.errors.unwrap();
    assert_eq!((found.all.rows, found.all.labelled), (3000, 1000));
    assert!(
        (errors.false_positive_rate.mean - 0.02).abs() < 1e-12
            && (errors.false_negative_rate.mean - 0.1).abs() < 1e-12,
        "{errors:?}"
    );
    let called = found.all.uncorrected.unwrap().mean;
    assert!((found.all.mean.unwrap() - (called - 0.02) / 0.88).abs() < 1e-12, "{:?}", found.all);
    assert!(found.to_table().contains("corrected by golden items"));
    // Without names, more than half of all golden verdicts are wrong, and rates stay unknown.
    let found = prevalence(&plain, &golden).unwrap();
    assert_eq!((found.all.mean, found.all.low, found.all.high), (None, Some(0.0), Some(1.0)));
    assert!(found.warnings.iter().any(|warning| warning.starts_with("some rates cannot be corrected")));
    let alone = text.lines().filter(|line| !line.ends_with("bob") && line.split(',').nth(3) != Some("0"));
    let (_dir, alone) = table_as(&alone.collect::<Vec<_>>().join("\n"), Roles::default());
    let error = prevalence(&alone, &golden).unwrap_err().to_string();
    assert!(error.contains("no golden item with the answer 0 was judged"), "{error}");
    assert!(found.to_table().contains("corrected by golden items"));
}

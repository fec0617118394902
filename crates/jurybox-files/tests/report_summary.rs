//! The report's summary, advice and page. They claim no more than the intervals of the report do.

use jurybox::{Evaluators, Example, Jury, Scores};
use jurybox_files::{Advice, Report, Roles, Table, report};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// The report on these rows. NaN is an empty cell, and a column `verdict` is the reward.
fn made<S: AsRef<str>>(header: &[S], rows: &[Vec<f64>], state: Option<&Jury>) -> Report {
    let names: Vec<&str> = header.iter().map(AsRef::as_ref).collect();
    let mut text = names.join(",") + "\n";
    for row in rows {
        let cells: Vec<String> =
            row.iter().map(|x| if x.is_nan() { String::new() } else { x.to_string() }).collect();
        let _ = writeln!(text, "{}", cells.join(","));
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("monday.csv");
    std::fs::write(&path, text).unwrap();
    let reward = names.contains(&"verdict").then(|| "verdict".to_string());
    let roles = Roles { reward, ..Roles::default() };
    report(&Table::open(&[path], &roles, false).unwrap(), state).unwrap()
}

/// Rows of scores and a reward, which is 1 in one of `one_in` rows and else 0. A score is the gain
/// times the reward, plus standard normal noise.
fn yes_or_no(gains: &[f64], rows: usize, one_in: f64, seed: u64) -> Vec<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let row = |_| {
        let yes = f64::from(rng.random::<f64>() < 1.0 / one_in);
        let scores = gains.iter().map(|gain| gain * yes + normal(&mut rng));
        scores.collect::<Vec<f64>>().into_iter().chain([yes]).collect()
    };
    (0..rows).map(row).collect()
}

fn advice(report: &Report) -> Vec<Advice> {
    report.evaluators.iter().map(|about| about.advice).collect()
}

fn order(report: &Report) -> Vec<&str> {
    report.by_use().into_iter().map(|at| report.evaluators[at].name.as_str()).collect()
}

#[test]
fn the_head_names_file_time_and_version() {
    let rows = yes_or_no(&[1.0, 0.0], 300, 3.0, 1);
    let report =
        made(&["a", "b", "verdict"], &rows, None).dated(UNIX_EPOCH + Duration::from_secs(1_794_787_867));
    for text in [report.to_html(), report.to_table()] {
        assert!(text.contains("monday.csv"), "{text}");
        assert!(
            text.contains("made 2026-11-16 00:11 UTC") || text.contains("Made 2026-11-16 00:11 UTC"),
            "{text}"
        );
        assert!(text.contains(concat!("jurybox ", env!("CARGO_PKG_VERSION"))), "{text}");
    }
}

#[test]
fn two_sentences_give_advice() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let rows: Vec<Vec<f64>> = yes_or_no(&[1.5, 1.0, -1.2, 0.0], 6000, 3.0, 2)
        .into_iter()
        .map(|row| {
            let (good, fair, turned, idle, verdict) = (row[0], row[1], row[2], row[3], row[4]);
            let echo = fair + 0.05 * normal(&mut rng);
            vec![turned, good, fair, 3.0 - 2.0 * good, echo, idle, 7.0, verdict]
        })
        .collect();
    let names = ["turned", "good", "fair", "copy", "echo", "idle", "stuck", "verdict"];
    let report = made(&names, &rows, None);
    assert_eq!(report.summary.len(), 2);
    let [first, second] = [&report.summary[0], &report.summary[1]];
    assert!(first.starts_with("Trust `good`"), "{first}");
    assert!(first.contains("invert `turned`"), "{first}");
    assert!(
        first.contains("mute `idle` and `stuck`") || first.contains("mute `stuck` and `idle`"),
        "{first}"
    );
    assert!(second.contains("`good` and `copy` are copies: keep one"), "{second}");
    assert!(second.contains("`fair` and `echo` make nearly the same errors"), "{second}");
    for sentence in &report.summary {
        assert!(report.to_table().contains(sentence.as_str()), "{}", report.to_table());
        assert!(report.to_html().contains(&jurybox_draw::prose(sentence)));
    }
    let html = report.to_html();
    assert!(html.find("class=\"advice\"").unwrap() < html.find("<table>").unwrap(), "advice first");
    // A chart comes before the table of figures.
    assert!(html.find("<svg").unwrap() < html.find("<table>").unwrap());
}

/// The score with the largest gain is inverted, so it comes after the trusted ones.
#[test]
fn evaluators_are_ordered_by_usefulness() {
    let rows = yes_or_no(&[-3.0, 0.6, 1.2, 0.0], 2000, 2.0, 4);
    let report = made(&["against", "fair", "good", "idle", "verdict"], &rows, None);
    assert_eq!(order(&report)[..3], ["good", "fair", "against"]);
    for text in [report.to_table(), report.to_html()] {
        let text = &text[text.find("what to do</th>").or_else(|| text.find("what to do ")).unwrap()..];
        let at = |name: &str| text.find(name).unwrap();
        assert!(at("good") < at("fair") && at("fair") < at("against"), "{text}");
    }
}

/// Checks each piece of advice against the evaluator's intervals.
#[test]
fn advice_follows_from_the_intervals() {
    let mut counts = std::collections::BTreeMap::new();
    for seed in 0..30 {
        let rows = if seed % 3 == 0 { 4000 } else { 200 };
        let gains = [0.0, 0.1, 0.3, 0.6, -0.3, 0.0];
        let report =
            made(&["a", "b", "c", "d", "e", "f", "verdict"], &yes_or_no(&gains, rows, 4.0, 100 + seed), None);
        for about in &report.evaluators {
            let correlation = about.correlation.unwrap();
            match about.advice {
                Advice::Trust => assert!(correlation.low > 0.0, "{about:?}"),
                Advice::Invert => assert!(correlation.high < 0.0, "{about:?}"),
                Advice::Mute => {
                    // A difference of 0.2 standard deviations between yes and no is a correlation
                    // of 0.09, if one row of four is a yes.
                    let most = correlation.low.abs().max(correlation.high.abs());
                    assert!(most < 0.1 && correlation.low <= 0.0 && correlation.high >= 0.0, "{about:?}");
                }
                Advice::Undecided => assert!(correlation.low <= 0.0 && correlation.high >= 0.0, "{about:?}"),
                Advice::Keep => {
                    let own = about.weight.unwrap();
                    assert!(about.nonlinear || own.low > 0.0 || own.high < 0.0, "{about:?}");
                }
                other => panic!("{other:?}: {about:?}"),
            }
            *counts.entry(about.advice).or_insert(0) += 1;
        }
    }
    // Each of these must occur more than five times, so that the checks mean something.
    for advice in [Advice::Trust, Advice::Invert, Advice::Undecided, Advice::Mute] {
        assert!(counts.get(&advice).is_some_and(|&count| count > 5), "{counts:?}");
    }
}

/// If one verdict in 100 is a yes, a gain of 0.7 standard deviations is a correlation of only 0.07.
#[test]
fn a_rare_verdict_mutes_no_useful_evaluator() {
    let rows = yes_or_no(&[0.7, 0.0], 3000, 100.0, 5);
    let report = made(&["sees", "idle", "verdict"], &rows, None);
    assert!(report.evaluators[0].correlation.unwrap().mean < 0.1);
    assert!(!advice(&report).contains(&Advice::Mute), "{:?}", report.evaluators);
}

/// One row in ten has an amount. A few of the amounts are so large that the report uses
/// correlations of ranks. `finds` predicts whether there is an amount, `sizes` only how large it
/// is.
#[test]
fn evaluators_that_predict_amounts_are_not_muted() {
    let mut muted = [0; 4];
    for seed in 0..20 {
        let mut rng = ChaCha8Rng::seed_from_u64(400 + seed);
        let row = |_| {
            let (finds, sizes, idle, tame) =
                (normal(&mut rng), normal(&mut rng), normal(&mut rng), normal(&mut rng));
            let some = 0.35 * finds + normal(&mut rng) > 1.36;
            let amount = if some { (1.0 * sizes + 1.6 * normal(&mut rng)).exp() } else { 0.0 };
            vec![finds, sizes, idle, tame.powi(3), amount]
        };
        let rows: Vec<Vec<f64>> = (0..3000).map(row).collect();
        let report = made(&["finds", "sizes", "idle", "cubes", "verdict"], &rows, None);
        assert!(
            report.warnings.iter().any(|warning| warning.contains("heavy tails")),
            "{:?}",
            report.warnings
        );
        assert!(report.evaluators.iter().all(|about| about.rank_correlation), "{:?}", report.evaluators);
        for (muted, about) in muted.iter_mut().zip(&report.evaluators) {
            *muted += usize::from(about.advice == Advice::Mute);
        }
        assert_eq!(report.evaluators[0].advice, Advice::Trust, "{:?}", report.evaluators[0]);
    }
    assert_eq!(muted[..2], [0, 0], "{muted:?}");
}

/// Rows that were picked by a score understate the score's effect.
#[test]
fn picked_rows_mute_no_evaluator() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let rows: Vec<Vec<f64>> = yes_or_no(&[1.0, 0.0, 0.0], 20_000, 3.0, 7)
        .into_iter()
        .map(|row| {
            let (good, idle, verdict) = (row[0], row[1], row[3]);
            let reviewed = good + 0.3 * normal(&mut rng) > 1.0;
            vec![good, idle, if reviewed { verdict } else { f64::NAN }]
        })
        .collect();
    let report = made(&["good", "idle", "verdict"], &rows, None);
    assert!(!advice(&report).contains(&Advice::Mute), "{:?}", report.summary);
    assert!(report.summary[1].contains("rows like those that were reviewed"), "{:?}", report.summary);
}

#[test]
fn without_rewards_no_evaluator_is_trusted() {
    let rows: Vec<Vec<f64>> =
        yes_or_no(&[2.0, 2.0, 2.0, 0.0], 1000, 2.0, 8).into_iter().map(|row| row[..4].to_vec()).collect();
    let report = made(&["a", "b", "c", "idle"], &rows, None);
    assert!(
        report.summary[0].starts_with("Without rewards it is not known whom to trust"),
        "{:?}",
        report.summary
    );
    assert!(advice(&report).iter().all(|advice| *advice == Advice::Undecided), "{:?}", advice(&report));
}

fn wide(rewarded: bool) -> Report {
    let gains: Vec<f64> = (0..200).map(|j| [0.0, 0.0, 0.5, 1.0, -0.5][j % 5]).collect();
    let mut names: Vec<String> = (0..200).map(|j| format!("evaluator_{j:03}")).collect();
    let mut rows = yes_or_no(&gains, 1500, 5.0, 9);
    if rewarded {
        names.push("verdict".into());
    } else {
        rows.iter_mut().for_each(|row| row.truncate(200));
    }
    made(&names, &rows, None)
}

/// With 200 columns, the page stays below 1 MB and the warnings short, and no evaluator is left
/// out.
#[test]
fn many_evaluators_are_summed_up() {
    for rewarded in [true, false] {
        let report = wide(rewarded);
        let html = report.to_html();
        assert!(html.len() < 1_000_000, "{} bytes", html.len());
        assert!(report.warnings.len() < 30, "{:#?}", report.warnings);
        let words: usize = report.warnings.iter().chain(&report.summary).map(String::len).sum();
        assert!(words < 8000, "{words}: {:#?}", report.warnings);
        for about in &report.evaluators {
            assert!(html.contains(&format!("<td>{}</td>", about.name)), "{}", about.name);
            assert!(report.to_table().contains(&about.name));
        }
    }
}

/// A state that has learnt the opposite of the rows: the weights in the report are the state's.
#[test]
fn with_a_state_the_weights_are_its_own() {
    let rows = yes_or_no(&[1.0, 0.5], 400, 2.0, 10);
    let mut jury = Jury::new(&"adaptive".parse().unwrap(), Evaluators::new(["a", "b"]).unwrap()).unwrap();
    let taught: Vec<Vec<f64>> = yes_or_no(&[-2.0, 1.0], 300, 2.0, 11);
    let flat: Vec<f64> = taught.iter().flat_map(|row| &row[..2]).copied().collect();
    jury.observe(&Scores::new(&flat, 2).unwrap(), 0).unwrap();
    let examples: Vec<Example<'_>> =
        taught.iter().map(|row| Example { scores: &row[..2], reward: row[2], receipt: None }).collect();
    jury.learn(&examples, 0).unwrap();
    let report = made(&["a", "b", "verdict"], &rows, Some(&jury));
    let weight = report.policy.weights[0];
    assert!(weight.mean < 0.0 && report.evaluators[0].weight.unwrap().mean > 0.0, "{weight:?}");
    let table = report.to_table();
    let line = table.lines().find(|line| line.starts_with("a ")).unwrap();
    assert!(line.contains(&format!(" {} [", jurybox_draw::short(weight.mean))), "{table}");
    assert!(
        table.contains(
            "weights: what `adaptive` has learnt from the state: 300 items in 1 round, 300 rewards"
        ),
        "{table}"
    );
    // The rows have rewards, which decide whom to trust.
    assert_eq!(report.evaluators[0].advice, Advice::Trust);
    let blind: Vec<Vec<f64>> = rows.iter().map(|row| row[..2].to_vec()).collect();
    let blind = made(&["a", "b"], &blind, Some(&jury));
    assert_eq!(advice(&blind), [Advice::Invert, Advice::Trust]);
    assert!(blind.summary[0].contains("the rewards that the state has learnt"), "{:?}", blind.summary);
}

#[test]
fn a_single_evaluator_is_counted_as_one() {
    let mut jury = Jury::new(&"adaptive".parse().unwrap(), Evaluators::new(["a", "b"]).unwrap()).unwrap();
    jury.observe(&Scores::new(&[0.5, 0.2], 2).unwrap(), 0).unwrap();
    jury.learn(&[Example { scores: &[0.5, 0.2], reward: 1.0, receipt: None }], 0).unwrap();
    let report = made(&["a", "b", "verdict"], &[vec![1.0, 2.0, 1.0]], Some(&jury));
    assert_eq!(report.policy.from, "the state: 1 item in 1 round, 1 reward");
    for text in [report.to_table(), report.to_html(), report.warnings.join(" "), report.summary.join(" ")] {
        for wrong in ["1 items", "1 rounds", "1 rewards", "1 rows", "1 evaluators"] {
            let found = text
                .match_indices(wrong)
                .find(|(at, _)| !text[..*at].ends_with(|c: char| c.is_ascii_digit()));
            assert_eq!(found, None, "{text}");
        }
    }
}

/// One evaluator turns into noise half way. A state that looks for changes reports it, and so does
/// the summary.
#[test]
fn an_evaluator_that_changed_is_named() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let spec = "adaptive(forget=true)".parse().unwrap();
    let mut jury = Jury::new(&spec, Evaluators::new(["a", "b", "c"]).unwrap()).unwrap();
    let mut last = Vec::new();
    for round in 0..120_u64 {
        let mut flat = Vec::new();
        let mut rewards = Vec::new();
        for _ in 0..40 {
            let r = normal(&mut rng);
            let a = if round < 60 { r + 0.5 * normal(&mut rng) } else { 4.0 * normal(&mut rng) };
            flat.extend([a, r + 0.5 * normal(&mut rng), r + 0.5 * normal(&mut rng)]);
            rewards.push(r);
        }
        jury.observe(&Scores::new(&flat, 3).unwrap(), round).unwrap();
        let examples: Vec<Example<'_>> = flat
            .chunks(3)
            .zip(&rewards)
            .take(10)
            .map(|(scores, &reward)| Example { scores, reward, receipt: None })
            .collect();
        jury.learn(&examples, round).unwrap();
        last.extend(flat.chunks(3).zip(&rewards).map(|(scores, &reward)| [scores, &[reward]].concat()));
    }
    let report = made(&["a", "b", "c", "verdict"], &last[2400..], Some(&jury));
    assert_eq!(report.policy.changed, ["a"], "{:?}", report.policy);
    assert_eq!(report.evaluators[0].advice, Advice::Changed);
    assert!(report.summary[1].contains("`a` changed: ask those who run it"), "{:?}", report.summary);
}

//! The report on made-up tables: its figures are not too optimistic, and its parts agree.

use jurybox_files::{Roles, Table, report};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use std::fmt::Write;

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// The report as JSON, on a table of numbers. NaN is an empty cell, and a column `verdict` is the
/// reward.
fn document(header: &[&str], rows: &[Vec<f64>]) -> Value {
    serde_json::to_value(made(header, rows)).unwrap()
}

fn made(header: &[&str], rows: &[Vec<f64>]) -> jurybox_files::Report {
    let mut text = header.join(",") + "\n";
    for row in rows {
        let cells: Vec<String> =
            row.iter().map(|x| if x.is_nan() { String::new() } else { x.to_string() }).collect();
        let _ = writeln!(text, "{}", cells.join(","));
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scores.csv");
    std::fs::write(&path, text).unwrap();
    let reward = header.contains(&"verdict").then(|| "verdict".to_string());
    let roles = Roles { reward, ..Roles::default() };
    report(&Table::open(&[path], &roles, false).unwrap(), None).unwrap()
}

fn catch<'a>(report: &'a Value, name: &str, k: u64) -> &'a Value {
    let of = report["top"].as_array().unwrap().iter();
    of.clone().find(|c| c["name"] == name && c["k"] == k).unwrap_or_else(|| panic!("no {name} at {k}"))
}

fn warnings(report: &Value) -> Vec<&str> {
    report["warnings"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect()
}

fn evaluator<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["evaluators"].as_array().unwrap().iter().find(|e| e["name"] == name).unwrap()
}

#[test]
fn found_positives_are_counted() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    // 200 of 800 rows are a yes, and the mean of the evaluators separates them perfectly.
    let rows: Vec<Vec<f64>> = (0..800)
        .map(|i| {
            let yes = f64::from(i % 4 == 3);
            vec![yes + 0.1 * rng.random::<f64>(), yes + 0.1 * rng.random::<f64>(), yes]
        })
        .collect();
    let report = document(&["a", "b", "verdict"], &rows);
    for (k, share) in [(10, 0.05), (100, 0.5), (300, 1.0)] {
        let mean = catch(&report, "plain mean", k);
        let best = catch(&report, "best possible", k);
        assert_eq!((&mean["reward"], &mean["found"]), (&best["reward"], &1.0.into()), "{mean}");
        assert_eq!(mean["recall"], share, "{mean}");
    }
    let random = catch(&report, "drawn at random", 300);
    // 300 random rows are expected to hold 75 of the 200 yes, which is 0.375.
    assert_eq!((&random["reward"], &random["found"]), (&0.25.into(), &0.375.into()), "{random}");
}

#[test]
fn tied_scores_find_as_many_as_chance() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    // The first 40 rows are a yes: breaking ties by row number would find more than chance does.
    let rows: Vec<Vec<f64>> =
        (0..400).map(|i| vec![f64::from(i % 3 == 0), normal(&mut rng), f64::from(i < 40)]).collect();
    let flat: Vec<Vec<f64>> = rows.iter().map(|row| vec![7.0, 7.0, row[2]]).collect();
    let report = document(&["a", "b", "verdict"], &flat);
    for k in [10, 100] {
        let mean = catch(&report, "plain mean", k);
        assert!((mean["reward"].as_f64().unwrap() - 0.1).abs() < 1e-12, "{mean}");
        assert_eq!(mean["found"], catch(&report, "drawn at random", k)["found"], "{mean}");
    }
}

/// A warning denies a relation exactly if no interval of the evaluator excludes zero.
#[test]
fn words_agree_with_the_intervals() {
    let (mut seen, mut unseen) = (0, 0);
    for seed in 0..40 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let rows: Vec<Vec<f64>> = (0..400)
            .map(|_| {
                let r = normal(&mut rng);
                let mut row: Vec<f64> =
                    [0.0, 0.05, 0.1, 0.15, 0.2].iter().map(|g| g * r + normal(&mut rng)).collect();
                row.push(f64::from(r > 0.5));
                row
            })
            .collect();
        let names = ["e0", "e5", "e10", "e15", "e20"];
        let report = document(&["e0", "e5", "e10", "e15", "e20", "verdict"], &rows);
        for name in names {
            let about = evaluator(&report, name);
            let excludes = |of: &Value| of["low"].as_f64().unwrap() * of["high"].as_f64().unwrap() > 0.0;
            let shown = excludes(&about["correlation"]) || excludes(&about["weight"]);
            let denied = warnings(&report).iter().any(|w| {
                w.contains(&format!("`{name}`"))
                    && w.contains("no linear relation to the reward")
                    && !w.contains("if the other scores are equal")
            });
            assert_eq!(shown, !denied, "seed {seed}, {name}: {about} {:?}", warnings(&report));
            *(if shown { &mut seen } else { &mut unseen }) += 1;
        }
        // The policy's weights have no intervals: these would be a second test of the same
        // question.
        for weight in report["policy"]["weights"].as_array().unwrap() {
            assert!(weight["low"].is_null() && weight["high"].is_null(), "{weight}");
        }
    }
    assert!(seen > 30 && unseen > 30, "both cases must occur often: {seen} {unseen}");
}

#[test]
fn copies_are_one_evaluator() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let rows: Vec<Vec<f64>> = (0..1000)
        .map(|_| {
            let r = normal(&mut rng);
            let mut noisy = |s: f64| r + s * normal(&mut rng);
            let (a, b, c, d) = (noisy(1.0), noisy(0.7), noisy(1.0), noisy(1.5));
            vec![a, 3.0 - 2.0 * a, b, c, d, r]
        })
        .collect();
    let with = document(&["a", "copy", "b", "c", "d", "verdict"], &rows);
    let blind: Vec<Vec<f64>> = rows.iter().map(|row| row[..5].to_vec()).collect();
    let alone: Vec<Vec<f64>> = rows.iter().map(|row| vec![row[0], row[2], row[3], row[4]]).collect();
    let without = document(&["a", "copy", "b", "c", "d"], &blind);
    let alone = document(&["a", "b", "c", "d"], &alone);
    for report in [&with, &without] {
        let (a, copy) = (evaluator(report, "a"), evaluator(report, "copy"));
        assert_eq!((&a["copies"][0], &copy["copies"][0]), (&"copy".into(), &"a".into()), "{a} {copy}");
        // Both copies report the same weight, but for the sign, and it has an interval.
        let number = |of: &Value, what: &str| of["weight"][what].as_f64().unwrap();
        assert_eq!(number(a, "value"), -number(copy, "value"), "the copy is inverted");
        assert!(number(a, "high") - number(a, "low") > 0.02, "{a}");
        assert!(
            warnings(report)
                .iter()
                .any(|w| w.contains("`a`") && w.contains("`copy`") && w.contains("copies")),
            "{:?}",
            warnings(report)
        );
    }
    // Adding a copy does not change the weights of the evaluators.
    for name in ["a", "b", "c", "d"] {
        assert_eq!(evaluator(&without, name)["weight"], evaluator(&alone, name)["weight"], "{name}");
    }
}

#[test]
fn a_sum_of_other_evaluators_has_no_weight() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let rows: Vec<Vec<f64>> = (0..500)
        .map(|_| {
            let (a, b, c) = (normal(&mut rng), normal(&mut rng), normal(&mut rng));
            vec![a, b, a + b, c, a + c + normal(&mut rng)]
        })
        .collect();
    let report = document(&["a", "b", "sum", "c", "verdict"], &rows);
    for name in ["a", "b", "sum"] {
        assert!(evaluator(&report, name)["weight"].is_null(), "{}", evaluator(&report, name));
    }
    assert!(evaluator(&report, "c")["weight"]["low"].as_f64().unwrap() > 0.5);
    assert!(warnings(&report).iter().any(|w| w.contains("`sum`") && w.contains("no weight:")));
}

#[test]
fn picked_rows_are_reported_as_picked() {
    let picked = |by_score: bool| {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let rows: Vec<Vec<f64>> = (0..2000)
            .map(|_| {
                let r = normal(&mut rng);
                let (a, b) = (r + normal(&mut rng), r + normal(&mut rng));
                let kept = if by_score { a + b > 2.0 } else { rng.random::<f64>() < 0.2 };
                vec![a, b, if kept { r } else { f64::NAN }]
            })
            .collect();
        document(&["a", "b", "verdict"], &rows)
    };
    let said = |report: &Value| warnings(report).iter().any(|w| w.contains("seem to be picked:"));
    assert!(said(&picked(true)), "{:?}", warnings(&picked(true)));
    assert!(!said(&picked(false)), "{:?}", warnings(&picked(false)));
}

#[test]
fn informative_gaps_are_reported() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let rows: Vec<Vec<f64>> = (0..1000)
        .map(|_| {
            let r = normal(&mut rng);
            let (a, b) = (r + normal(&mut rng), r + normal(&mut rng));
            let gap = |x: f64, yes: bool| if yes { f64::NAN } else { x };
            vec![gap(a, r > 0.8 && rng.random::<f64>() < 0.7), gap(b, rng.random::<f64>() < 0.2), r]
        })
        .collect();
    let report = document(&["a", "b", "verdict"], &rows);
    let about =
        |name: &str| warnings(&report).iter().any(|w| w.contains(name) && w.contains("no scores where"));
    assert!(about("`a`") && !about("`b`"), "{:?}", warnings(&report));
}

#[test]
fn curves_of_few_rows_have_wide_intervals() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let rows: Vec<Vec<f64>> = (0..200)
        .map(|_| {
            let r = normal(&mut rng);
            vec![r + 0.3 * normal(&mut rng), f64::from(r > 1.0)]
        })
        .collect();
    let report = document(&["a", "verdict"], &rows);
    let bins = evaluator(&report, "a")["curve"].as_array().unwrap();
    // No yes among twenty rows: the upper end of the 95% Wilson score interval is 0.161.
    let first = &bins[0];
    assert_eq!((&first["reward"], &first["rows"]), (&0.0.into(), &20.into()));
    assert_eq!(first["low"], 0.0);
    assert!((first["high"].as_f64().unwrap() - 0.161).abs() < 0.001, "{first}");
}

/// The learnt policy is judged on rows that it has not learnt. Copies of these rows must not be
/// learnt either, because they have the same rewards.
#[test]
fn copies_of_rows_do_not_inflate_learnt_quality() {
    let (mut learnt, mut chance) = (0.0, 0.0);
    for seed in 0..8 {
        let mut rng = ChaCha8Rng::seed_from_u64(100 + seed);
        let distinct: Vec<Vec<f64>> = (0..60)
            .map(|_| {
                let mut row: Vec<f64> = (0..12).map(|_| normal(&mut rng)).collect();
                row.push(f64::from(rng.random::<f64>() < 0.3));
                row
            })
            .collect();
        let rows: Vec<Vec<f64>> = (0..600).map(|i| distinct[i % 60].clone()).collect();
        let names: Vec<String> = (0..12).map(|j| format!("s{j}")).chain(["verdict".into()]).collect();
        let header: Vec<&str> = names.iter().map(String::as_str).collect();
        let report = made(&header, &rows);
        assert!(report.to_html().contains("600 of 600 rows have the same scores as another one"));
        let report = serde_json::to_value(report).unwrap();
        assert!(warnings(&report).iter().any(|w| w.contains("600 of 600 rows have the same scores")));
        let default = report["top"].as_array().unwrap().iter().filter(|c| c["k"] == 100);
        let default = default.filter(|c| c["name"].as_str().unwrap().contains("default"));
        learnt += default.map(|c| c["reward"].as_f64().unwrap()).sum::<f64>() / 8.0;
        chance += catch(&report, "drawn at random", 100)["reward"].as_f64().unwrap() / 8.0;
    }
    // With leaked rewards, nearly all of the top 100 would be a yes. By chance 30% are.
    assert!(learnt > 0.0 && learnt < chance + 0.2, "{learnt} {chance}");
}

#[test]
fn a_nonlinear_relation_is_recognised() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let rows: Vec<Vec<f64>> = (0..500)
        .map(|_| {
            let (s, noise) = (normal(&mut rng), normal(&mut rng));
            vec![s, noise, s * s]
        })
        .collect();
    let report = document(&["s0", "noise", "verdict"], &rows);
    let said = |name: &str| {
        let of = warnings(&report).into_iter().find(|w| w.starts_with(name) && w.contains("relation"));
        of.unwrap_or_default().to_owned()
    };
    assert!(said("`s0`").contains("no linear relation") && said("`s0`").contains("its curve shows one"));
    assert!(said("`noise`").contains("no linear relation") && !said("`noise`").contains("curve"));
    assert_eq!(
        (&evaluator(&report, "s0")["nonlinear"], &evaluator(&report, "noise")["nonlinear"]),
        (&true.into(), &false.into())
    );
}

#[test]
fn too_narrow_intervals_raise_a_warning() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let rows: Vec<Vec<f64>> = (0..300)
        .map(|i| vec![(1.2 * normal(&mut rng)).exp(), normal(&mut rng), f64::from(i % 50 == 0)])
        .collect();
    let report = document(&["wild", "tame", "verdict"], &rows);
    let all = warnings(&report).join(" ");
    assert!(all.contains("With only 6 rewards of 1, intervals are too narrow"), "{all}");
    assert!(all.contains("`wild` has heavy tails"), "{all}");
    assert!(!all.contains("`tame` has heavy") && !all.contains("the reward has heavy"), "{all}");
}

#[test]
fn copies_have_one_learnt_weight() {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    let rows: Vec<Vec<f64>> = (0..600)
        .map(|_| {
            let r = normal(&mut rng);
            let (a, b) = (r + normal(&mut rng), r + normal(&mut rng));
            vec![a, 3.0 - 20.0 * a, b, r]
        })
        .collect();
    let report = made(&["a", "copy", "b", "verdict"], &rows);
    let (html, report) = (report.to_html(), serde_json::to_value(&report).unwrap());
    let weight = |at: usize| report["policy"]["weights"][at]["mean"].as_f64().unwrap();
    let alone: Vec<Vec<f64>> = rows.iter().map(|row| vec![row[0], row[2], row[3]]).collect();
    let alone = document(&["a", "b", "verdict"], &alone);
    let expected = alone["policy"]["weights"][0]["mean"].as_f64().unwrap();
    assert!((weight(0) / expected - 1.0).abs() < 0.3, "{} {expected}", weight(0));
    assert_eq!(weight(0), -weight(1));
    assert!(html.contains("<td>copy</td><td></td><td></td><td>copy of a</td>"));
}

#[test]
fn near_duplicates_are_listed_by_group() {
    let mut rng = ChaCha8Rng::seed_from_u64(14);
    let rows: Vec<Vec<f64>> = (0..500)
        .map(|_| {
            let r = normal(&mut rng);
            let (one, two) = (normal(&mut rng), normal(&mut rng));
            let mut near = |x: f64| r + x + 0.1 * normal(&mut rng);
            vec![near(one), near(one), near(one), near(two), near(two), near(0.0) + 0.7 * normal(&mut rng), r]
        })
        .collect();
    let report = document(&["a", "b", "c", "x", "y", "lone", "verdict"], &rows);
    let said: Vec<&str> = warnings(&report).into_iter().filter(|w| w.contains("near-duplicates")).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("`a`, `b` and `c` are near-duplicates: in 3 pairs"), "{said:?}");
    assert!(said[1].starts_with("`x` and `y` are near-duplicates"), "{said:?}");
}

#[test]
fn an_overlong_name_is_shortened() {
    let name = "x".repeat(70_000);
    let rows: Vec<Vec<f64>> = (0..40).map(|i| vec![f64::from(i % 7), f64::from(i % 5)]).collect();
    assert!(made(&[&name, "verdict"], &rows).to_table().contains("xxx…"));
}

/// A rule that never errs has no weight if it fires in at most three of 100 rows: so few rows prove
/// nothing.
#[test]
fn a_rule_that_fires_in_a_few_rows_has_no_weight() {
    for fires in 1..=8_usize {
        let mut rng = ChaCha8Rng::seed_from_u64(fires as u64);
        let rows: Vec<Vec<f64>> = (0..100)
            .map(|i| {
                let (score, rule) = (rng.random::<f64>(), i * 37 % 100 < fires);
                let yes = rule || rng.random_bool(0.1 * score);
                vec![score, f64::from(u8::from(rule)), f64::from(u8::from(yes))]
            })
            .collect();
        let report = document(&["a", "b", "verdict"], &rows);
        let rule = evaluator(&report, "b");
        assert_eq!(rule["weight"].is_null(), fires <= 3, "{fires}: {rule}");
        assert!(!evaluator(&report, "a")["weight"].is_null());
    }
}

/// Empty cells of a rule that writes 1 or nothing count as 0. The report is then the same as for a
/// rule that writes 0, except for the coverage.
#[test]
fn rules_that_write_one_or_nothing_count_gaps_as_silence() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let rows: Vec<Vec<f64>> = (0..6000)
        .map(|_| {
            let r = normal(&mut rng);
            let mut fires = |gain: f64, bar: f64| f64::from(u8::from(gain * r + normal(&mut rng) > bar));
            vec![fires(1.5, 1.0), fires(1.0, 1.2), fires(0.0, 1.3), f64::from(u8::from(r > 1.0))]
        })
        .collect();
    let blank = |x: &f64| if *x == 0.0 { f64::NAN } else { *x };
    let silent: Vec<Vec<f64>> =
        rows.iter().map(|row| row[..3].iter().map(blank).chain([row[3]]).collect()).collect();
    let header = ["good", "fair", "noise", "verdict"];
    let (written, read) = (document(&header, &rows), document(&header, &silent));
    for (name, advice) in [("good", "trust"), ("fair", "trust"), ("noise", "mute")] {
        let (mut written, mut read) = (evaluator(&written, name).clone(), evaluator(&read, name).clone());
        assert_eq!(read["advice"], advice);
        assert!(read["coverage"].as_f64().unwrap() < 0.4 && written["coverage"] == 1.0, "{read}");
        for about in [&mut written, &mut read] {
            about["coverage"] = Value::Null;
        }
        assert_eq!(written, read);
    }
    let said = "`good` has the same score in ";
    assert!(warnings(&read).iter().any(|w| w.starts_with(said)), "{:?}", warnings(&read));
    assert!(!warnings(&read).iter().any(|w| w.contains("is always")), "{:?}", warnings(&read));
    assert_eq!(written["policy"]["weights"], read["policy"]["weights"]);
}

/// A rule that fires in one row of twenty does not count as heavy-tailed. Without a relation to the
/// reward it is muted, and so is an evaluator with heavy tails.
#[test]
fn a_rare_rule_without_signal_is_muted() {
    for seed in 0..5 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let rows: Vec<Vec<f64>> = (0..4000)
            .map(|_| {
                let r = normal(&mut rng);
                let seldom = f64::from(u8::from(rng.random::<f64>() < 0.05));
                let tailed = (1.5 * normal(&mut rng)).exp();
                vec![r + normal(&mut rng), seldom, tailed, f64::from(u8::from(r > 1.0))]
            })
            .collect();
        let report = document(&["good", "seldom", "tailed", "verdict"], &rows);
        let (seldom, tailed) = (evaluator(&report, "seldom"), evaluator(&report, "tailed"));
        assert_eq!(
            (&seldom["rank_correlation"], &seldom["advice"]),
            (&false.into(), &"mute".into()),
            "{seed}"
        );
        assert_eq!(
            (&tailed["rank_correlation"], &tailed["advice"]),
            (&true.into(), &"mute".into()),
            "{seed}"
        );
    }
}

/// If a few large amounts dominate the mean of the top K, no interval for it is reliable, and none
/// is given.
#[test]
fn the_top_of_amounts_has_no_interval() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let rows: Vec<Vec<f64>> = (0..1000)
        .map(|_| {
            let r = normal(&mut rng);
            let amount = if r + normal(&mut rng) > 1.81 { (r + normal(&mut rng)).exp() } else { 0.0 };
            vec![r + normal(&mut rng), r + normal(&mut rng), amount]
        })
        .collect();
    let amounts = document(&["a", "b", "verdict"], &rows);
    let is_any: Vec<Vec<f64>> =
        rows.iter().map(|row| vec![row[0], row[1], f64::from(u8::from(row[2] > 0.0))]).collect();
    let any = document(&["a", "b", "verdict"], &is_any);
    for k in [10, 30, 100] {
        let of = |report: &Value| catch(report, "plain mean", k).clone();
        assert!(of(&amounts)["low"].is_null() && of(&amounts)["high"].is_null(), "{k}");
        assert!(of(&amounts)["reward"].is_number() && of(&any)["low"].is_number(), "{k}");
    }
}

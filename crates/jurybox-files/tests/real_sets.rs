//! The real data sets, where they are: beside the workspace, in `../shared/data`. Where they are not, this says so.

use jurybox_files::{Judge, RankOptions, Roles, Table, rank, report, seat, teach};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A data set: its file, rows, and which column is what.
struct Set {
    file: &'static str,
    rows: u64,
    evaluators: usize,
    reward: &'static str,
    ignore: &'static [&'static str],
    /// Every evaluator and the reward upside down: the worst first.
    worst_first: bool,
    /// The column of rounds, as the README names it.
    round: &'static str,
}

const SETS: [Set; 4] = [
    Set {
        file: "content-review.csv",
        rows: 5710,
        evaluators: 7,
        reward: "offensiveness_score",
        ignore: &[],
        worst_first: false,
        round: "post_id",
    },
    Set {
        file: "precipitation.csv",
        rows: 4043,
        evaluators: 9,
        reward: "observations",
        ignore: &["latitude"],
        worst_first: false,
        round: "dates",
    },
    Set {
        file: "temperature.csv.gz",
        rows: 36_826,
        evaluators: 8,
        reward: "observation",
        ignore: &["latitude", "longitude", "elevation"],
        worst_first: false,
        round: "date",
    },
    Set {
        file: "translation-quality.csv.gz",
        rows: 45_565,
        evaluators: 12,
        reward: "score_mean",
        ignore: &["seg", "n_ann"],
        worst_first: true,
        round: "lp",
    },
];

fn present(set: &Set) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(set.file);
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
    }
    path.exists().then_some(path)
}

/// The table of a set as its README describes it.
fn table(set: &Set, path: &Path, key: Option<&str>) -> Table {
    let mut roles = Roles {
        reward: Some(set.reward.into()),
        key: key.map(Into::into),
        ignore: set.ignore.iter().map(|&name| name.into()).collect(),
        ..Roles::default()
    };
    if key.is_none() {
        roles.ignore.push(set.round.into());
    }
    if set.worst_first {
        let plain = Table::open(&[path.into()], &roles, false).unwrap();
        roles.invert = plain.taken().evaluators();
        roles.invert.push(set.reward.into());
    }
    Table::open(&[path.into()], &roles, true).unwrap()
}

/// Runs a check on every set that is there.
fn each(check: impl Fn(&Set, &Path)) {
    for set in &SETS {
        if let Some(path) = present(set) {
            check(set, &path);
        }
    }
}

#[test]
fn ranking_without_labels_finds_better_rows_than_chance() {
    each(|set, path| {
        let table = table(set, path, None);
        assert_eq!(table.taken().evaluators().len(), set.evaluators, "{}: {}", set.file, table.taken());
        // The reward column is in the table, but a policy that is taught by scores alone does not see it.
        let blind = Roles { evaluators: table.taken().evaluators(), ..Roles::default() };
        let unlabelled = Table::open(&[path.into()], &blind, true).unwrap();
        let mut jury = seat(&jurybox::Spec::default(), &unlabelled.taken().evaluators()).unwrap();
        teach(&unlabelled, &mut jury).unwrap();
        let ranking =
            rank(&unlabelled, &Judge::jury(jury).unwrap(), RankOptions { k: 100, ..RankOptions::default() }).unwrap();
        assert_eq!((ranking.rows(), ranking.winners().len()), (set.rows, 100), "{}", set.file);
        let (mut rewards, mut sum) = (Vec::new(), 0.0);
        let want = jurybox_files::Want { reward: true, ..jurybox_files::Want::default() };
        table
            .scan(
                want,
                |part| Ok(part.batch.rewards().to_vec()),
                |_, more| {
                    sum += more.iter().sum::<f64>();
                    rewards.extend(more);
                    Ok(())
                },
            )
            .unwrap();
        let top = ranking.winners().iter().map(|winner| rewards[winner.row as usize]).sum::<f64>() / 100.0;
        assert!(top > sum / rewards.len() as f64, "{}: {top}", set.file);
    });
}

#[test]
fn halves_learnt_apart_and_merged_rank_as_the_whole() {
    each(|set, path| {
        let dir = tempfile::tempdir().unwrap();
        let whole = table(set, path, None);
        let evaluators = whole.taken().evaluators();
        // Plain text again, so that it can be cut between two lines.
        let mut text = String::new();
        let all = dir.path().join("all.csv");
        jurybox_files::score_all(
            &whole,
            &Judge::Weights(vec![0.0; evaluators.len()]),
            &all,
            jurybox_files::Format::Csv,
        )
        .unwrap();
        std::io::Read::read_to_string(&mut std::fs::File::open(&all).unwrap(), &mut text).unwrap();
        let (header, rows) = text.split_once('\n').unwrap();
        let cut = rows[..rows.len() / 3].rfind('\n').unwrap() + 1;
        let mut roles =
            Roles { evaluators: evaluators.clone(), reward: Some(set.reward.into()), ..Roles::default() };
        if set.worst_first {
            roles.invert = vec![set.reward.into()];
        }
        let mut merged = seat(&jurybox::Spec::default(), &evaluators).unwrap();
        for (name, part) in [("first.csv", &rows[..cut]), ("second.csv", &rows[cut..])] {
            let half = dir.path().join(name);
            write!(std::fs::File::create(&half).unwrap(), "{header}\n{part}").unwrap();
            let mut jury = seat(&jurybox::Spec::default(), &evaluators).unwrap();
            teach(&Table::open(&[half], &roles, false).unwrap(), &mut jury).unwrap();
            merged.merge(&jury).unwrap();
        }
        let mut jury = seat(&jurybox::Spec::default(), &evaluators).unwrap();
        let taught = teach(&whole, &mut jury).unwrap();
        assert_eq!((taught.rows, taught.labelled, taught.rounds), (set.rows, set.rows, 1), "{}", set.file);
        let top = |jury| {
            let ask = RankOptions { k: 200, ..RankOptions::default() };
            let ranking = rank(&whole, &Judge::jury(jury).unwrap(), ask).unwrap();
            ranking.winners().iter().map(|winner| winner.row).collect::<Vec<_>>()
        };
        assert_eq!(top(merged), top(jury), "{}", set.file);
    });
}

#[test]
fn a_report_tells_a_story_about_every_evaluator() {
    each(|set, path| {
        let report = report(&table(set, path, None), None).unwrap();
        assert_eq!(
            (report.rows, report.labelled, report.from),
            (set.rows, set.rows, "rewards"),
            "{}",
            set.file
        );
        for about in &report.evaluators {
            let interval = about.weight.unwrap();
            assert!(about.coverage > 0.0 && interval.ci95 > 0.0, "{}: {about:?}", set.file);
            assert!(
                about.correlation.unwrap().abs() < 1.0 && about.curve.len() > 1,
                "{}: {about:?}",
                set.file
            );
        }
        let effective = report.effective_evaluators.unwrap();
        assert!(effective >= 1.0 && effective <= set.evaluators as f64, "{}: {effective}", set.file);
        if set.file.starts_with("temperature") {
            assert!(effective < 2.0, "eight models that nearly agree: {effective}");
            assert!(report.warnings.iter().any(|warning| warning.contains("near-duplicates")));
        }
        assert_eq!(report.policy.weights.len(), set.evaluators);
        let sure =
            report.policy.weights.iter().filter(|w| w.low.unwrap() < w.mean && w.mean < w.high.unwrap());
        assert_eq!(sure.count(), set.evaluators, "{}: {:?}", set.file, report.policy.weights);
    });
}

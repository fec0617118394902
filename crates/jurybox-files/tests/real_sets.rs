//! Checks on the real data sets, if they are available.

mod sets;

use jurybox_files::{Basis, RankOptions, Ranker, Relation, Roles, Table, new_jury, rank, report, teach};
use sets::{each, names, table};
use std::io::Write;

#[test]
fn ranking_without_labels_finds_what_it_found_before() {
    each(|set, path| {
        let table = table(set, path, None);
        assert_eq!(table.roles().evaluators().len(), set.evaluators, "{}: {}", set.file, table.roles());
        // Without the role of a reward, the reward column is not read.
        let invert = if set.worst_first { names(&table) } else { Vec::new() };
        let blind = Roles { evaluators: names(&table), invert, ..Roles::default() };
        let unlabelled = Table::open(&[path.into()], &blind, true).unwrap();
        let mut jury = new_jury(&jurybox::Spec::default(), unlabelled.roles().evaluators()).unwrap();
        teach(&unlabelled, &mut jury, 0).unwrap();
        let ranking =
            rank(&unlabelled, &Ranker::jury(&jury), RankOptions { k: 100, ..RankOptions::default() })
                .unwrap();
        assert_eq!((ranking.rows(), ranking.winners().len()), (set.rows, 100), "{}", set.file);
        let (mut rewards, mut sum) = (Vec::new(), 0.0);
        let want = jurybox_files::ScanRequest { reward: true, ..jurybox_files::ScanRequest::default() };
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
        let found: Vec<f64> = ranking.winners().iter().map(|winner| rewards[winner.row as usize]).collect();
        let (mean, top) = (sum / rewards.len() as f64, found.iter().sum::<f64>() / 100.0);
        let error = (found.iter().map(|reward| (reward - top).powi(2)).sum::<f64>() / 99.0 / 100.0).sqrt();
        rewards.sort_by(|a, b| b.total_cmp(a));
        let lift = rewards[..100].iter().sum::<f64>() / 100.0 - mean;
        // The share may be below the measured one by two standard errors of a mean of 100 rewards.
        let (share, slack) = ((top - mean) / lift, 2.0 * error / lift);
        assert!(share > set.found - slack && slack < 0.15, "{}: {share}, give or take {slack}", set.file);
    });
}

#[test]
fn parts_learnt_apart_and_merged_rank_as_the_whole() {
    each(|set, path| {
        let dir = tempfile::tempdir().unwrap();
        let whole = table(set, path, None);
        let evaluators = whole.roles().evaluators().clone();
        // Written as plain CSV, so that it can be split between two lines.
        let mut text = String::new();
        let all = dir.path().join("all.csv");
        jurybox_files::score_all(
            &whole,
            &Ranker::Weights(vec![0.0; evaluators.len()]),
            &all,
            jurybox_files::Format::Csv,
        )
        .unwrap();
        std::io::Read::read_to_string(&mut std::fs::File::open(&all).unwrap(), &mut text).unwrap();
        let (header, rows) = text.split_once('\n').unwrap();
        let cut = rows[..rows.len() / 3].rfind('\n').unwrap() + 1;
        let mut roles =
            Roles { evaluators: names(&whole), reward: Some(set.reward.into()), ..Roles::default() };
        if set.worst_first {
            roles.invert = names(&whole);
            roles.invert.push(set.reward.into());
        }
        let mut merged = new_jury(&jurybox::Spec::default(), &evaluators).unwrap();
        for (name, part) in [("first.csv", &rows[..cut]), ("second.csv", &rows[cut..])] {
            let half = dir.path().join(name);
            write!(std::fs::File::create(&half).unwrap(), "{header}\n{part}").unwrap();
            let mut jury = new_jury(&jurybox::Spec::default(), &evaluators).unwrap();
            teach(&Table::open(&[half], &roles, false).unwrap(), &mut jury, 0).unwrap();
            merged.merge(&jury).unwrap();
        }
        let mut jury = new_jury(&jurybox::Spec::default(), &evaluators).unwrap();
        let taught = teach(&whole, &mut jury, 0).unwrap();
        assert_eq!((taught.rows, taught.labelled, taught.rounds), (set.rows, set.rows, 1), "{}", set.file);
        let top = |jury: &jurybox::Jury| {
            let plan = RankOptions { k: 200, ..RankOptions::default() };
            let ranking = rank(&whole, &Ranker::jury(jury), plan).unwrap();
            ranking.winners().iter().map(|winner| winner.row).collect::<Vec<_>>()
        };
        assert_eq!(top(&merged), top(&jury), "{}", set.file);
    });
}

#[test]
fn a_report_describes_every_evaluator() {
    each(|set, path| {
        let report = report(&table(set, path, None), None).unwrap();
        assert_eq!(
            (report.rows, report.labelled, report.from),
            (set.rows, set.rows, Basis::Rewards),
            "{}",
            set.file
        );
        for about in &report.evaluators {
            let (weight, correlation) = (about.weight.unwrap(), about.correlation.unwrap());
            assert!(about.coverage > 0.0 && weight.low < weight.high, "{}: {about:?}", set.file);
            assert!(correlation.mean.abs() < 1.0 && about.curve.len() > 1, "{}: {about:?}", set.file);
        }
        let effective = report.effective_evaluators.unwrap();
        assert!(effective >= 1.0 && effective <= set.evaluators as f64, "{}: {effective}", set.file);
        if set.file.starts_with("temperature") {
            assert!(effective < 2.0, "eight models that nearly agree: {effective}");
            assert!(report.warnings.iter().any(|warning| warning.contains("near-duplicates")));
        }
        assert_eq!(report.policy.weights.len(), set.evaluators);
        let said = report.warnings.join("\n");
        for about in &report.evaluators {
            let denied = said.contains(&format!("`{}` shows no relation", about.name));
            assert_eq!(denied, about.relation == Relation::NotSeen, "{}: {about:?}\n{said}", set.file);
        }
        for catch in &report.top {
            assert!((0.0..=1.0).contains(&catch.found), "{}: {catch:?}", set.file);
        }
    });
}

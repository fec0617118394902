//! The value of a row is bitwise the same alone, in CSV, in Parquet and in memory, for nearly every
//! policy.

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use jurybox::{Evaluators, Jury, Spec, policies};
use jurybox_files::{
    RankOptions, Ranker, Roles, SurveyScope, SurveySize, Table, new_jury, rank, survey, teach,
};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const J: usize = 3;

/// A pseudo-random number within (0, 1).
fn chance(row: usize, column: usize) -> f64 {
    let mixed = (row as u64 * 7 + column as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// Scores with gaps in the last tenth of the rows. The last row but one has no score at all.
fn with_late_gaps(rows: usize) -> Vec<Option<f64>> {
    let score = |row: usize, column: usize| {
        let gap = row >= rows * 9 / 10 && (row + column).is_multiple_of(4) || row + 2 == rows;
        (!gap).then(|| 0.5 * chance(row, 0) + 0.5 * chance(row, column + 1))
    };
    (0..rows).flat_map(|row| (0..J).map(move |column| score(row, column))).collect()
}

fn csv(folder: &Path, scores: &[Option<f64>]) -> PathBuf {
    let mut text = "a,b,c\n".to_string();
    for row in scores.chunks(J) {
        for (at, score) in row.iter().enumerate() {
            let _ = write!(text, "{}", score.map_or(String::new(), |score| score.to_string()));
            text.push(if at + 1 < J { ',' } else { '\n' });
        }
    }
    let path = folder.join("rows.csv");
    std::fs::write(&path, text).unwrap();
    path
}

fn batch(scores: &[Option<f64>]) -> RecordBatch {
    let column = |at: usize| -> ArrayRef {
        Arc::new(scores.iter().skip(at).step_by(J).copied().collect::<Float64Array>())
    };
    let columns = ["a", "b", "c"].into_iter().enumerate().map(|(at, name)| (name, column(at), true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn parquet(folder: &Path, scores: &[Option<f64>], group: usize) -> PathBuf {
    let (path, batch) = (folder.join("rows.parquet"), batch(scores));
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

/// Equal rows in CSV, in Parquet and in memory.
fn tables(folder: &Path, scores: &[Option<f64>], group: usize) -> Vec<Table> {
    let roles = Roles::default();
    vec![
        Table::open(&[csv(folder, scores)], &roles, true).unwrap(),
        Table::open(&[parquet(folder, scores, group)], &roles, true).unwrap(),
        Table::from_batches(vec![batch(scores)], &roles).unwrap(),
    ]
}

#[test]
fn values_do_not_depend_on_other_rows_or_the_format() {
    const ROWS: usize = 12_000;
    let folder = tempfile::tempdir().unwrap();
    let scores = with_late_gaps(ROWS);
    let rows: Vec<f64> = scores.iter().map(|score| score.unwrap_or(f64::NAN)).collect();
    let tables = tables(folder.path(), &scores, 5_000);
    let mut judges = vec![("weights".to_string(), Ranker::Weights(vec![0.5, -0.25, 2.0]))];
    // `rand` and `exp4p` value a row by its rank among the others, so a row alone has no value.
    let known = policies().iter().filter(|entry| !["rand", "exp4p"].contains(&entry.name));
    for entry in known {
        for inverted in [None, Some(vec![1])] {
            let mut spec = Spec::new(entry.name);
            if entry.name == "oracle" {
                spec = spec.with("alpha", vec![1.0, 0.5, 2.0]).with("sigma", vec![0.3, 0.2, 0.7]);
            }
            if let Some(columns) = inverted {
                spec = spec.with("inverted", columns);
            }
            let evaluators = Evaluators::new(["a", "b", "c"]).unwrap();
            let mut jury = Jury::new(&spec, evaluators).unwrap();
            teach(&tables[2], &mut jury, 0).unwrap();
            judges.push((spec.to_string(), Ranker::jury(&jury)));
        }
    }
    for (policy, ranker) in judges {
        let alone: Vec<u64> =
            rows.chunks(J).map(|row| ranker.values_of(row, J).unwrap()[0].to_bits()).collect();
        for table in &tables {
            let ranking = rank(table, &ranker, RankOptions { k: ROWS, ..RankOptions::default() }).unwrap();
            assert_eq!(ranking.winners().len(), ROWS);
            for winner in ranking.winners() {
                let expected = alone[winner.row as usize];
                assert_eq!(winner.score.to_bits(), expected, "{policy}, row {}", winner.row);
            }
        }
    }
}

#[test]
fn samples_have_the_same_rows_in_every_format_and_small_tables_are_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    for (rows, places) in [(262_144, 0), (300_001, 9)] {
        let scores: Vec<Option<f64>> =
            (0..rows * J).map(|at| (at % 41 != 7).then(|| chance(at / J, at % J))).collect();
        for policy in ["esag", "adaptive"] {
            let mut states = Vec::new();
            for (table, threads) in tables(folder.path(), &scores, 70_000).into_iter().zip([3, 1, 2]) {
                let table = table.with_threads(threads);
                let fresh = || new_jury(&policy.parse().unwrap(), table.roles().evaluators()).unwrap();
                let (mut jury, mut every) = (fresh(), fresh());
                let seen = survey(&table, &mut jury, SurveyScope::Sample).unwrap();
                assert_eq!((seen.rows, seen.chunks, seen.uneven), (rows as u64, places, false), "{policy}");
                assert_eq!(jury.seen().items, seen.shown);
                let all = survey(&table, &mut every, SurveyScope::EveryRow).unwrap();
                assert_eq!((all.shown, all.is_sample()), (rows as u64, false));
                assert_eq!(every.to_bytes() == jury.to_bytes(), places == 0);
                states.push(jury.to_bytes());
            }
            assert!(states.iter().all(|state| *state == states[0]), "{policy}");
        }
    }
}

#[test]
fn tables_that_change_along_the_rows_are_read_whole() {
    const ROWS: usize = 290_000;
    // Rows sorted by the second evaluator, and a third evaluator without scores in the second half.
    let sorted =
        |at: usize| Some(if at % J == 1 { at as f64 / (ROWS * J) as f64 } else { chance(at / J, at % J) });
    let stops = |at: usize| (at % J != 2 || at < ROWS * J / 2).then(|| chance(at / J, at % J));
    let cases: [Vec<Option<f64>>; 2] =
        [(0..ROWS * J).map(sorted).collect(), (0..ROWS * J).map(stops).collect()];
    for scores in cases {
        let table = Table::from_batches(vec![batch(&scores)], &Roles::default()).unwrap();
        let fresh = || new_jury(&"adaptive".parse().unwrap(), table.roles().evaluators()).unwrap();
        let (mut looked, mut every) = (fresh(), fresh());
        let seen = survey(&table, &mut looked, SurveyScope::Sample).unwrap();
        assert_eq!(seen, SurveySize { rows: ROWS as u64, shown: ROWS as u64, chunks: 0, uneven: true });
        survey(&table, &mut every, SurveyScope::EveryRow).unwrap();
        assert_eq!(looked.to_bytes(), every.to_bytes());
    }
}

/// The chunks of rows that make up a sample continue over the ends of files, so that a file of one
/// row is no chunk of its own. They are the same in CSV and Parquet.
#[test]
fn chunks_continue_in_the_next_file_and_rewards_are_not_sampled() {
    let folder = tempfile::tempdir().unwrap();
    let scores: Vec<Option<f64>> = (0..300_001 * J).map(|at| Some(chance(at / J, at % J))).collect();
    let parts = [&scores[..150_000 * J], &scores[150_000 * J..150_001 * J], &scores[150_001 * J..]];
    let (mut text, mut pages) = (Vec::new(), Vec::new());
    for (at, part) in parts.iter().enumerate() {
        let own = folder.path().join(at.to_string());
        std::fs::create_dir(&own).unwrap();
        text.push(csv(&own, part));
        pages.push(parquet(&own, part, 40_000));
    }
    // The last column is the reward, so only the first two are sampled.
    let roles = Roles { reward: Some("c".into()), ..Roles::default() };
    for look in [SurveyScope::Sample, SurveyScope::EveryRow] {
        let mut states = Vec::new();
        for paths in [&text, &pages] {
            let table = Table::open(paths, &roles, true).unwrap();
            let mut jury = new_jury(&"adaptive".parse().unwrap(), table.roles().evaluators()).unwrap();
            let seen = survey(&table, &mut jury, look).unwrap();
            assert_eq!(seen.chunks, if look == SurveyScope::Sample { 9 } else { 0 });
            assert_eq!((jury.seen().rounds, jury.seen().used), (3, 0));
            states.push(jury.to_bytes());
        }
        assert_eq!(states[0], states[1]);
    }
}

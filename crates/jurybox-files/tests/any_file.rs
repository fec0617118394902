//! Random tables in every format: no panic, the right number of rows, and the same result for any
//! number of threads.

use jurybox_files::{
    Format, RankOptions, Ranker, Roles, ScanRequest, Table, expand, new_jury, rank, score_all, teach,
};
use proptest::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::{Arc, Mutex};

/// A random table: a column of text, and one to three columns of scores that may be missing.
#[derive(Debug, Clone)]
struct Rows {
    words: Vec<String>,
    scores: Vec<Vec<Option<f64>>>,
}

fn rows() -> impl Strategy<Value = Rows> {
    (1..4_usize, 1..60_usize).prop_flat_map(|(width, count)| {
        let word = "[a-zA-Z0-9 ,\"'é\n;|\t-]{0,12}";
        let score = prop_oneof![
            4 => (-1e6..1e6_f64).prop_map(Some),
            1 => any::<i16>().prop_map(|v| Some(f64::from(v))),
            1 => Just(None),
        ];
        (
            prop::collection::vec(word, count),
            prop::collection::vec(prop::collection::vec(score, width), count),
        )
            .prop_map(|(words, scores)| Rows { words, scores })
    })
}

fn csv(rows: &Rows, line_end: &str) -> String {
    let quote = |word: &str| format!("\"{}\"", word.replace('"', "\"\""));
    let width = rows.scores[0].len();
    let names: Vec<String> = (0..width).map(|j| format!("e{j}")).collect();
    let mut text = format!("word,{}{line_end}", names.join(","));
    for (word, scores) in rows.words.iter().zip(&rows.scores) {
        let cells: Vec<String> = scores.iter().map(|s| s.map_or("NA".into(), |s| format!("{s:?}"))).collect();
        let _ = write!(text, "{},{}{line_end}", quote(word), cells.join(","));
    }
    text
}

fn evaluators(rows: &Rows) -> Roles {
    Roles { evaluators: (0..rows.scores[0].len()).map(|j| format!("e{j}")).collect(), ..Roles::default() }
}

fn read(path: &Path, roles: &Roles, threads: usize) -> (u64, Vec<f64>) {
    let table = Table::open(&[path.into()], roles, false).unwrap().with_threads(threads);
    let mut all = Vec::new();
    let count = table
        .scan(
            ScanRequest::default(),
            |mut part| Ok(part.batch.scores().to_vec()),
            |_, scores| {
                all.extend(scores);
                Ok(())
            },
        )
        .unwrap();
    (count, all)
}

/// Counts the commas outside quotes, character by character. This checks the reader.
fn commas_outside_quotes(text: &str) -> usize {
    let (mut commas, mut quoted, mut cell_begins) = (0, false, true);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if quoted => quoted = rest.next_if_eq(&'"').is_some(),
            _ if quoted => {}
            '"' if cell_begins => quoted = true,
            ',' => commas += 1,
            _ => {}
        }
        cell_begins = !quoted && matches!(c, ',' | '\n');
    }
    commas
}

fn write(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Random bytes under five file names give an error or rows, never a panic.
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), kind in 0..5_usize) {
        let dir = tempfile::tempdir().unwrap();
        let name = ["x.csv", "x.jsonl", "x.parquet", "x", "x.csv.gz"][kind];
        let mut bytes = bytes;
        if kind == 2 {
            bytes.splice(0..0, *b"PAR1");
            bytes.extend(*b"PAR1");
        }
        let path = write(dir.path(), name, &bytes);
        if let Ok(table) = Table::open(&[path], &Roles::default(), false) {
            let _ = table.scan(ScanRequest::default(), |part| Ok(part.batch.rows()), |_, _| Ok(()));
        }
    }

    /// Pieces of text that are nearly CSV. There is an error, or the number of rows read is right.
    #[test]
    fn nearly_csv_is_counted_or_refused(text in "(a,b\n|1,2\n|\"1\",2\n|1,\n|,\r\n|\"a\nb\",3\n|x|\"|\n|1,2,3\n|NA,null\n){0,20}") {
        let dir = tempfile::tempdir().unwrap();
        let path = write(dir.path(), "x.csv", format!("a,b\n{text}").as_bytes());
        let roles = Roles { evaluators: vec!["b".into()], ..Roles::default() };
        if let Ok(table) = Table::open(&[path], &roles, false)
            && let Ok(count) = table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(()))
        {
            // A record of two cells has one comma outside quotes.
            prop_assert_eq!(count as usize, commas_outside_quotes(&text));
        }
    }

    /// Tables read back cell by cell, for both line ends and all formats, with one to three
    /// threads.
    #[test]
    fn random_tables_read_back(rows in rows(), crlf in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        let roles = evaluators(&rows);
        let text = csv(&rows, if crlf { "\r\n" } else { "\n" });
        let path = write(dir.path(), "x.csv", text.as_bytes());
        let expected: Vec<Option<f64>> = rows.scores.concat();
        let there = |all: &[f64]| all.iter().map(|x| (!x.is_nan()).then_some(*x)).collect::<Vec<_>>();
        for threads in [1, 3] {
            let (count, all) = read(&path, &roles, threads);
            prop_assert_eq!(count as usize, rows.words.len());
            prop_assert_eq!(&there(&all), &expected);
        }
        // Written in one format after the other, scores and words stay the same.
        let ranker = Ranker::Weights(vec![1.0; rows.scores[0].len()]);
        let mut from = path;
        for name in ["y.jsonl.zst", "y.parquet", "y.csv.gz", "z.parquet", "z.jsonl", "z.csv"] {
            let table = Table::open(&[from], &roles, false).unwrap();
            let to = dir.path().join(name);
            prop_assert_eq!(score_all(&table, &ranker, &to, Format::Csv).unwrap() as usize, rows.words.len());
            let (count, all) = read(&to, &roles, 2);
            prop_assert_eq!(count as usize, rows.words.len(), "{}", name);
            prop_assert_eq!(&there(&all), &expected, "{}", name);
            from = to;
        }
        let back = std::fs::read_to_string(from).unwrap();
        for word in &rows.words {
            let quoted = word.replace('"', "\"\"");
            prop_assert!(back.contains(&quoted), "{:?} in {}", word, back);
        }
    }

    /// The top K has the values of a plain sort, and the same rows with one and with four threads.
    #[test]
    fn the_top_k_equals_a_sort(rows in rows(), k in 1..20_usize) {
        let dir = tempfile::tempdir().unwrap();
        let path = write(dir.path(), "x.csv", csv(&rows, "\n").as_bytes());
        let ranker = Ranker::Weights(vec![1.0; rows.scores[0].len()]);
        let mut values: Vec<f64> = rows.scores.iter().map(|scores| {
            let present: Vec<f64> = scores.iter().flatten().copied().collect();
            if present.is_empty() { f64::NEG_INFINITY }
            else { present.iter().sum::<f64>() * scores.len() as f64 / present.len() as f64 }
        }).collect();
        values.sort_by(|a, b| b.total_cmp(a));
        let mut seen = None;
        for threads in [1, 4] {
            let table = Table::open(from_ref(&path), &evaluators(&rows), false).unwrap().with_threads(threads);
            let ranking = rank(&table, &ranker, RankOptions { k, ..RankOptions::default() }).unwrap();
            prop_assert_eq!(ranking.winners().len(), k.min(values.len()));
            for (winner, value) in ranking.winners().iter().zip(&values) {
                prop_assert!(winner.score == *value || (winner.score - value).abs() < 1e-6 * value.abs());
            }
            let order: Vec<u64> = ranking.winners().iter().map(|w| w.row).collect();
            prop_assert!(seen.is_none() || seen == Some(order.clone()));
            seen = Some(order);
        }
    }
}

/// States learnt from two parts of a table and merged rank like a state learnt from the whole.
#[test]
fn parts_merged_rank_as_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let lines: Vec<String> = (0..4000)
        .map(|_| {
            let r = next();
            let cell = if next() < 0.05 { String::new() } else { format!("{}", r + 0.3 * next()) };
            format!("{cell},{},{},{r}\n", 2.0 * r + next(), r - 0.5 * next())
        })
        .collect();
    let header = "a,b,c,reward\n";
    let whole = write(dir.path(), "whole.csv", (header.to_string() + &lines.concat()).as_bytes());
    let left = write(dir.path(), "part-1.csv", (header.to_string() + &lines[..1234].concat()).as_bytes());
    let right = write(dir.path(), "part-2.csv", (header.to_string() + &lines[1234..].concat()).as_bytes());
    let roles = Roles { reward: Some("reward".into()), ..Roles::default() };
    for entry in jurybox::policies().iter().filter(|entry| entry.name != "oracle") {
        let learn = |paths: &[PathBuf]| {
            let table = Table::open(paths, &roles, false).unwrap();
            let mut jury = new_jury(&jurybox::Spec::new(entry.name), table.roles().evaluators()).unwrap();
            teach(&table, &mut jury, 0).unwrap();
            jury
        };
        let mut merged = learn(from_ref(&left));
        merged.merge(&learn(from_ref(&right))).unwrap();
        let order = |jury: jurybox::Jury| {
            let table = Table::open(from_ref(&whole), &roles, false).unwrap();
            let ranking =
                rank(&table, &Ranker::jury(&jury), RankOptions { k: 300, ..RankOptions::default() });
            ranking.unwrap().winners().iter().map(|winner| winner.row).collect::<Vec<_>>()
        };
        assert_eq!(order(merged), order(learn(from_ref(&whole))), "{}", entry.name);
    }
    let pattern = dir.path().join("part-*.csv").to_string_lossy().into_owned();
    assert_eq!(expand(&[pattern]).unwrap(), [left, right]);
}

/// A file of two blocks, with cells of two lines. All rows are read, and a bad last cell is
/// reported with its line.
#[test]
fn blocks_end_where_records_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = String::from("id,x\n");
    for i in 0..90_000 {
        let id = if i % 1000 == 7 { "\"two\nlines, one cell\"" } else { "a plain name" };
        let _ = writeln!(text, "{id},{i}");
    }
    let path = write(dir.path(), "long.csv", text.as_bytes());
    let roles = Roles { evaluators: vec!["x".into()], ..Roles::default() };
    let (count, all) = read(&path, &roles, 3);
    assert_eq!(count, 90_000);
    assert!(all.iter().enumerate().all(|(i, &x)| x == i as f64));
    text += "last,oops\n";
    let lines = text.lines().count();
    let path = write(dir.path(), "bad.csv", text.as_bytes());
    let table = Table::open(&[path], &roles, false).unwrap();
    let (table, told) = collect_warnings(table);
    assert_eq!(table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(())).unwrap(), 90_001);
    let told = told.lock().unwrap().join("");
    assert!(
        told.ends_with(&format!(
            "1 of 90001 cells are not numbers, and count as missing: `oops` (line {lines})"
        )),
        "{told}"
    );
}

/// A failed write is an error, and leaves no file or part of one behind.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "x.csv", b"a,b\n1,2\n");
    let table = Table::open(&[path], &Roles::default(), false).unwrap();
    for format in [Format::Csv, Format::JsonLines, Format::Parquet] {
        let full = Path::new("/dev/full");
        let error = score_all(&table, &Ranker::Weights(vec![1.0, 1.0]), full, format).unwrap_err();
        let message = format!("{error}: {:?}", std::error::Error::source(&error));
        assert!(message.contains("cannot write") && message.contains("StorageFull"), "{message}");
    }
    let gone = dir.path().join("no-such-folder/x.csv");
    assert!(score_all(&table, &Ranker::Weights(vec![1.0, 1.0]), &gone, Format::Csv).is_err());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// The table, and the list that collects its warnings.
fn collect_warnings(table: Table) -> (Table, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let list = told.clone();
    (table.on_warning(move |warning| list.lock().unwrap().push(warning.to_string())), told)
}

/// A key that first appears after the rows used for detection raises a warning with its line.
#[test]
fn a_late_key_in_json_lines_raises_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let mut text = "{\"a\": 1, \"b\": 2}\n".repeat(30_000);
    text.push_str("{\"a\": 1, \"b\": 2, \"late\": 3}\n");
    let path = write(dir.path(), "x.jsonl", text.as_bytes());
    let table = Table::open(&[path], &Roles::default(), false).unwrap();
    let (table, told) = collect_warnings(table);
    assert_eq!(table.scan(ScanRequest::default(), |_| Ok(()), |_, ()| Ok(())).unwrap(), 30_001);
    let told = told.lock().unwrap().join("");
    assert!(told.contains("line 30001") && told.contains("`late`"), "{told}");
}

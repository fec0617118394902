//! Notations of numbers in files: which cells are read, missing or refused, and the messages.

use jurybox_files::{Decimal, LongFormat, ReadOptions, Roles, ScanRequest, Table};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

/// The contents of a file: the roles of its columns in words, all scores row by row, the
/// warnings, and the rewards.
#[derive(Debug)]
struct Read {
    evaluators: String,
    scores: Vec<f64>,
    warnings: Vec<String>,
    rewards: Vec<f64>,
}

fn read_as(path: &Path, reading: &ReadOptions, roles: &Roles) -> Result<Read, jurybox_files::Error> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = heard.clone();
    let table = Table::open_as(&[path.into()], reading, roles, false)?
        .on_warning(move |warning| ear.lock().unwrap().push(warning.to_string()));
    let (mut scores, mut rewards) = (Vec::new(), Vec::new());
    table.scan(
        ScanRequest { reward: roles.reward.is_some(), ..ScanRequest::default() },
        |mut part| Ok((part.batch.scores().to_vec(), part.batch.rewards().to_vec())),
        |_, (mine, theirs)| {
            scores.extend(mine);
            rewards.extend(theirs);
            Ok(())
        },
    )?;
    let evaluators = table.roles().to_string();
    let warnings = table.warnings().iter().map(ToString::to_string);
    let warnings = warnings.chain(heard.lock().unwrap().drain(..)).collect();
    Ok(Read { evaluators, scores, warnings, rewards })
}

fn read(path: &Path) -> Read {
    read_as(path, &ReadOptions::default(), &Roles::default()).unwrap()
}

fn same(mine: &[f64], theirs: &[f64]) -> bool {
    mine.len() == theirs.len() && mine.iter().zip(theirs).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()))
}

const MISSING: f64 = f64::NAN;

#[test]
fn words_shares_and_decimal_commas_are_scores_and_rewards() {
    let folder = Folder::new();
    let csv = folder.file("a.csv", "post,a,b,c,v\np,yes,13%,4/5,true\nq,No,#N/A,-,FALSE\nr,t,7 %,1/8,\n");
    let roles = Roles { reward: Some("v".into()), ..Roles::default() };
    let found = read_as(&csv, &ReadOptions::default(), &roles).unwrap();
    assert!(same(&found.scores, &[1.0, 0.13, 0.8, 0.0, MISSING, MISSING, 1.0, 0.07, 0.125]), "{found:?}");
    assert!(same(&found.rewards, &[1.0, 0.0, MISSING]), "{found:?}");
    let lines = "{\"a\":\"yes\",\"b\":\"13%\"}\n{\"a\":\"no\",\"b\":\"0,5\"}\n";
    assert!(same(&read(&folder.file("a.jsonl", lines)).scores, &[1.0, 0.13, 0.0, 0.5]));
    let semicolons = folder.file("b.csv", "post;a;b\np;0,9;1,234\nq;1,5;0,5\n");
    assert!(same(&read(&semicolons).scores, &[0.9, 1.234, 1.5, 0.5]), "1,234 is a decimal here");
}

#[test]
fn a_few_odd_cells_count_as_missing_and_raise_a_warning() {
    let folder = Folder::new();
    for at in [3, 900, 2500, 29_999] {
        let rows: String = (0..30_000).fold("post,a\n".into(), |mut rows, row| {
            let _ = writeln!(rows, "p{row},{}", if row == at { "oops" } else { "0.5" });
            rows
        });
        for (name, text) in [("a.csv", rows.clone()), ("quoted.csv", rows.replace("p1,", "\"p1\","))] {
            let found = read(&folder.file(name, text));
            assert_eq!(found.scores.iter().filter(|score| score.is_nan()).count(), 1);
            assert!(found.scores[at].is_nan());
            let says =
                format!("1 of 30000 cells are not numbers, and count as missing: `oops` (line {})", at + 2);
            assert!(found.warnings[0].ends_with(&says), "{:?}", found.warnings);
        }
    }
}

#[test]
fn many_odd_cells_are_an_error_that_quotes_the_first_ones() {
    let folder = Folder::new();
    for first in [0, 1500] {
        let rows: String = (0..3000).fold("post,a\n".into(), |mut rows, row| {
            let odd = row >= first && row % 3 == 0;
            let _ = writeln!(rows, "p{row},{}", if odd { "high" } else { "0.5" });
            rows
        });
        let lines: String = rows.lines().skip(1).fold(String::new(), |mut lines, row| {
            let (post, a) = row.split_once(',').unwrap();
            let _ = writeln!(lines, "{{\"post\":\"{post}\",\"a\":\"{a}\"}}");
            lines
        });
        for (path, line) in
            [(folder.file("a.csv", rows), first + 2), (folder.file("a.jsonl", lines), first + 1)]
        {
            let error = read_as(&path, &ReadOptions::default(), &Roles::default()).unwrap_err();
            assert_eq!(error.code(), "odd-cells");
            let says = format!("more than one in twenty: `high` (line {line})");
            assert!(error.to_string().contains(&says) || error.to_string().contains("`\"high\"`"), "{error}");
            let na = ReadOptions { na: vec!["high".into()], ..ReadOptions::default() };
            assert_eq!(read_as(&path, &na, &Roles::default()).unwrap().warnings, [""; 0]);
        }
    }
}

#[test]
fn ids_and_row_numbers_are_no_evaluators_unless_named() {
    let folder = Folder::new();
    let path = folder.file(
        "a.csv",
        ",post_id,nr,a,country\n0,7,11,1,NO\n1,7,12,2,NO\n2,9,13,2,NO\n3,9,14,4,NO\n4,9,15,1,NO\n",
    );
    let found = read(&path);
    assert_eq!(
        found.evaluators,
        "Scores: a. Not used: Unnamed: 0, post_id, nr (distinct whole numbers, like an id), country."
    );
    let names = ["Unnamed: 0", "nr", "country"].map(String::from).to_vec();
    let asked = Roles { evaluators: names, ..Roles::default() };
    let found = read_as(&path, &ReadOptions::default(), &asked).unwrap();
    assert!(same(&found.scores[..3], &[0.0, 11.0, 0.0]), "{found:?}");
}

#[test]
fn reading_options_win_over_detection() {
    let folder = Folder::new();
    let path = folder.file("a.dat", "p^1.234^-99\nq^2.500^7\n");
    let reading = ReadOptions {
        delimiter: Some(b'^'),
        header: Some(false),
        decimal: Decimal::Comma,
        na: vec!["-99".into()],
        ..ReadOptions::default()
    };
    let found = read_as(&path, &reading, &Roles::default()).unwrap();
    assert!(same(&found.scores, &[1234.0, MISSING, 2500.0, 7.0]), "{found:?}");
    assert!(found.evaluators.starts_with("Scores: column2, column3. Not used: column1."));
    // JSON lines are recognised under a misleading name, but a format that the user sets is used.
    let lines = folder.file("a.parquet.txt", "{\"a\":0.5}\n{\"a\":0.7}\n");
    assert!(same(&read(&lines).scores, &[0.5, 0.7]));
    let forced = ReadOptions { format: Some(jurybox_files::Format::Csv), ..ReadOptions::default() };
    assert!(read_as(&lines, &forced, &Roles::default()).is_err());
}

#[test]
fn formats_are_detected_despite_file_names() {
    let folder = Folder::new();
    let text = "post;spam\np;0,5\nq;0,7\n";
    let units = |order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
    for bytes in [
        units(u16::to_le_bytes),
        units(u16::to_be_bytes),
        [&[0xff, 0xfe][..], &units(u16::to_le_bytes)].concat(),
        [&[0xfe, 0xff][..], &units(u16::to_be_bytes)].concat(),
    ] {
        assert!(same(&read(&folder.file("utf16.csv", bytes)).scores, &[0.5, 0.7]));
    }
    for array in ["[{\"a\":0.5},{\"a\":0.7}]", "[\n  {\n    \"a\": 0.5\n  },\n  {\n    \"a\": 0.7\n  }\n]\n"]
    {
        for name in ["a.json", "a.jsonl", "a.csv", "a"] {
            assert!(same(&read(&folder.file(name, array)).scores, &[0.5, 0.7]), "{name}");
        }
    }
    let table = Table::open(&[folder.file("b.csv", "a\n0.5\n0.7\n")], &Roles::default(), false).unwrap();
    let parquet = folder.0.path().join("b.parquet");
    let ranker = jurybox_files::Ranker::Weights(vec![1.0]);
    jurybox_files::score_all(&table, &ranker, &parquet, jurybox_files::Format::Parquet).unwrap();
    let disguised = folder.file("c.csv", std::fs::read(&parquet).unwrap());
    assert!(same(&read(&disguised).scores, &[0.5, 0.7]));
    for (bytes, what) in [
        (&b"PK\x03\x04\x14\0\0\0xl/workbook.xml"[..], "an Excel workbook"),
        (b"\xfd7zXZ\0\0\x04", "compressed by xz"),
        (b"SQLite format 3\0\x10", "an SQLite database"),
    ] {
        let error =
            read_as(&folder.file("d.csv", bytes), &ReadOptions::default(), &Roles::default()).unwrap_err();
        assert_eq!((error.code(), error.to_string().contains(what)), ("foreign", true), "{error}");
    }
    let columns = folder.file("e.json", "{\"spam\":{\"0\":0.1,\"1\":0.2}}");
    assert!(
        read_as(&columns, &ReadOptions::default(), &Roles::default())
            .unwrap_err()
            .to_string()
            .contains("a field per column")
    );
    let cut = folder.file("f.json", "[{\"a\":0.5},{\"a\":0.7}");
    assert_eq!(read_as(&cut, &ReadOptions::default(), &Roles::default()).unwrap_err().code(), "truncated");
}

#[test]
fn nested_fields_have_names_and_keys_may_come_late() {
    let folder = Folder::new();
    let nested = folder.file(
        "a.jsonl",
        "{\"id\":\"x\",\"scores\":{\"gpt\":0.5,\"by\":{\"claude\":\"4/5\"}},\"a.b\":1.5}\n{\"id\":\"y\",\"scores\":null}\n",
    );
    let found = read(&nested);
    assert!(found.evaluators.starts_with("Scores: scores.gpt, scores.by.claude, a.b. "), "{found:?}");
    assert!(same(&found.scores, &[0.5, 0.8, 1.5, MISSING, MISSING, MISSING]), "{found:?}");
    let mut late: String = (0..3000).fold(String::new(), |mut lines, row| {
        let _ = writeln!(lines, "{{\"a\":0.{row}}}");
        lines
    });
    late.push_str("{\"a\":0.5,\"b\":{\"c\":7}}\n");
    let late = folder.file("late.jsonl", late);
    let found = read(&late);
    assert_eq!(found.scores.len(), 3001);
    assert!(found.warnings[0].ends_with("are not written out: `b` (line 3001)"), "{:?}", found.warnings);
    let roles = |name: &str| Roles { evaluators: vec!["a".into(), name.into()], ..Roles::default() };
    let found = read_as(&late, &ReadOptions::default(), &roles("b.c")).unwrap();
    assert_eq!(found.scores[6001], 7.0);
    assert_eq!(read_as(&late, &ReadOptions::default(), &roles("b.d")).unwrap_err().code(), "unknown-column");
}

#[test]
fn long_tables_are_made_wide() {
    let folder = Folder::new();
    let text = "text,item,judge,grade,verdict\nhi,x,gpt,4/5,yes\nhi,x,claude,3/5,\n,y,claude,,no\nho,y,gpt,1/5,\nho,y,gpt,3/5,yes\n,,gpt,1,\n";
    let long = LongFormat { item: "item".into(), judge: "judge".into(), grade: "grade".into() };
    let reading = ReadOptions { long: Some(long), ..ReadOptions::default() };
    let roles = Roles { reward: Some("verdict".into()), ..Roles::default() };
    let found = read_as(&folder.file("long.csv", text), &reading, &roles).unwrap();
    assert_eq!(
        found.evaluators,
        "6 grades of 2 items by 2 judges, made wide in memory. Scores: gpt, claude. Reward: verdict. \
         Not used: item, text."
    );
    assert!(same(&found.scores, &[0.8, 0.6, 0.4, MISSING]), "{found:?}");
    assert!(same(&found.rewards, &[1.0, 0.0]), "{found:?}");
    let said = found.warnings.join("\n");
    for part in [
        "1 row without an item or a judge",
        "1 grade given more than once",
        "`verdict` differs within an item in 1 row",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_thousand_columns_are_read_and_a_hundred_thousand_are_refused() {
    let folder = Folder::new();
    let names = |count: usize| (0..count).map(|at| format!("e{at}")).collect::<Vec<_>>();
    let row = |count: usize| vec!["0.5"; count].join(",");
    let wide = folder.file("wide.csv", format!("{}\n{}\n{}\n", names(1000).join(","), row(1000), row(1000)));
    assert_eq!(read(&wide).scores.len(), 2000);
    let far = folder.file("far.csv", format!("{}\n{}\n", names(100_000).join(","), row(100_000)));
    let fields = |from: usize, count: usize| {
        (from..from + count).map(|at| format!("\"e{at}\":0.5")).collect::<Vec<_>>().join(",")
    };
    let lines = folder.file("far.jsonl", format!("{{{}}}\n", fields(0, 100_000)));
    let within = folder.file(
        "within.jsonl",
        format!("{{\"a\":{{{}}}}}\n{{\"b\":{{{}}}}}\n", fields(0, 9_000), fields(0, 9_000)),
    );
    for path in [far, lines, within] {
        let error = read_as(&path, &ReadOptions::default(), &Roles::default()).unwrap_err();
        assert!(["too-many-columns", "json"].contains(&error.code()), "{error}");
        assert!(error.to_string().contains("16384"), "{error}");
    }
}

#[test]
fn late_values_of_an_empty_column_raise_a_warning() {
    let folder = Folder::new();
    let rows: String = (0..3000).fold("a,new\n".into(), |mut rows, row| {
        let _ = writeln!(rows, "0.5,{}", if row >= 2000 { "0.7" } else { "" });
        rows
    });
    let path = folder.file("noon.csv", rows);
    let found = read(&path);
    assert!(found.evaluators.ends_with("new (empty)."), "{found:?}");
    let says = "its first rows are empty; 1000 cells further down have a value: `0.7` (line 2002)";
    assert!(found.warnings[0].contains(says), "{:?}", found.warnings);
    let asked = Roles { evaluators: vec!["a".into(), "new".into()], ..Roles::default() };
    let found = read_as(&path, &ReadOptions::default(), &asked).unwrap();
    assert_eq!((found.scores[5999], found.warnings.len()), (0.7, 0));
}

/// Among marks from 1 to 5, a share such as `5/5` or `99%` is on another scale, and counts as
/// missing. Among numbers from 0 to 1, it is a score.
#[test]
fn a_column_has_one_scale() {
    let folder = Folder::new();
    let marks = |last: &str| {
        let marks: Vec<String> = (0..2000).map(|row| format!("p{row},{}\n", 1 + row % 5)).collect();
        folder.file("marks.csv", format!("post,mark\n{}p,{last}\n", marks.concat()))
    };
    for last in ["5/5", "99%"] {
        let read = read(&marks(last));
        assert!(read.scores[2000].is_nan(), "{last}: {}", read.scores[2000]);
        assert!(read.warnings.iter().any(|warning| warning.contains(last)), "{:?}", read.warnings);
    }
    let read = read(&folder.file("chances.csv", "post,chance\na,0.5\nb,25%\nc,1/8\nd,0\n"));
    assert!(same(&read.scores, &[0.5, 0.25, 0.125, 0.0]), "{read:?}");
}

/// Among cells such as `4,103`, a single `12,50` does not make the comma a decimal mark; many do.
#[test]
fn the_majority_decides_what_a_comma_means() {
    let folder = Folder::new();
    let views = |decimals: usize| {
        let cell = |row| if row < decimals { "\"12,50\"" } else { "\"4,103\"" };
        let rows: Vec<String> = (0..30).map(|row| format!("p{row},{}\n", cell(row))).collect();
        folder.file("views.csv", format!("post,views\n{}", rows.concat()))
    };
    let roles = Roles { evaluators: vec!["views".into()], ..Roles::default() };
    let error = read_as(&views(1), &ReadOptions::default(), &roles).unwrap_err();
    assert_eq!(error.code(), "odd-cells");
    assert_eq!(read_as(&views(20), &ReadOptions::default(), &roles).unwrap().scores[29], 4.103);
    // If the user sets the comma as decimal mark, points separate thousands.
    let reading = ReadOptions { decimal: Decimal::Comma, ..ReadOptions::default() };
    let path = folder.file("dots.csv", "post;p\na;1.000\nb;0.456\nc;0.250\n");
    let roles = Roles { evaluators: vec!["p".into()], ..Roles::default() };
    assert_eq!(read_as(&path, &reading, &roles).unwrap_err().code(), "odd-cells");
}

//! A table is read as its file was when the table was opened. A header or first row of any length
//! is read whole, and a file that changes later is refused.

use jurybox::Evaluator;
use jurybox_files::{Error, Roles, ScanRequest, Table};
use std::io::Write;
use std::path::{Path, PathBuf};

fn file(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn open(path: &Path, roles: &Roles) -> Result<Table, Error> {
    Table::open(&[path.to_path_buf()], roles, true)
}

/// The scores of all rows, one after the other.
fn scores(table: &Table) -> Result<Vec<f64>, Error> {
    let mut all = Vec::new();
    table.scan(
        ScanRequest::default(),
        |mut part| Ok(part.batch.scores().to_vec()),
        |_, some| {
            all.extend(some);
            Ok(())
        },
    )?;
    Ok(all)
}

#[test]
fn a_file_that_changes_between_two_passes_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [("a.csv", "a,b\n1,2\n3,4\n"), ("a.jsonl", "{\"a\":1,\"b\":2}\n{\"a\":3,\"b\":4}\n")]
    {
        let path = file(dir.path(), name, text);
        let table = open(&path, &Roles::default()).unwrap();
        assert_eq!(scores(&table).unwrap(), [1.0, 2.0, 3.0, 4.0]);
        // Another file of the same length takes the name.
        let other = file(dir.path(), "other", &text.replace('4', "9"));
        std::fs::rename(other, &path).unwrap();
        let error = scores(&table).unwrap_err();
        assert_eq!(
            (error.code(), error.to_string().ends_with("the file changed while it was being read")),
            ("changed", true)
        );
    }
}

#[test]
fn a_file_that_grows_while_it_is_read_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "a.csv", "a,b\n1,2\n");
    let table = open(&path, &Roles::default()).unwrap();
    let error = table.scan(
        ScanRequest::default(),
        |_| Ok(()),
        |_, ()| {
            std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"3,4\n").unwrap();
            Ok(())
        },
    );
    // The pass uses the file as it was. The growth is reported at the end of this pass, or when the
    // next one starts.
    let error = error.and_then(|_| scores(&table).map(|_| 0)).unwrap_err();
    assert_eq!(error.code(), "changed");
}

#[test]
fn a_header_or_a_first_row_of_any_length_is_read_whole() {
    let dir = tempfile::tempdir().unwrap();
    let long = "x".repeat(400_000);
    let header = file(dir.path(), "header.csv", &format!("{long},b\n1,2\n3,4\n"));
    let table = open(&header, &Roles::default()).unwrap();
    assert_eq!(table.columns(), [long.clone(), "b".into()]);
    assert_eq!(scores(&table).unwrap(), [1.0, 2.0, 3.0, 4.0]);

    let row = file(dir.path(), "row.csv", &format!("text,b\n{long},2\ny,4\n"));
    let table = open(&row, &Roles::default()).unwrap();
    assert_eq!(table.roles().evaluators().to_string(), "b");
    assert_eq!(scores(&table).unwrap(), [2.0, 4.0]);

    let lines = format!("{{\"text\":\"{long}\",\"b\":2}}\n{{\"text\":\"y\",\"b\":4}}\n");
    let table = open(&file(dir.path(), "row.jsonl", &lines), &Roles::default()).unwrap();
    assert_eq!(scores(&table).unwrap(), [2.0, 4.0]);
}

#[test]
fn too_many_columns_are_refused_with_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..20_000).map(|column| format!("c{column}")).collect();
    let csv = format!("{}\n{}\n", names.join(","), vec!["x"; 20_000].join(","));
    let error = open(&file(dir.path(), "wide.csv", &csv), &Roles::default()).unwrap_err();
    assert_eq!(error.code(), "too-many-columns");
    assert!(error.to_string().contains("16384"), "{error}");
}

#[test]
fn a_known_evaluator_may_be_named_or_ignored_without_a_column() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "today.csv", "post,a,b\np,1,high\nq,3,low\n");
    let seated: Vec<Evaluator> = vec!["a".into(), "b".into(), Evaluator::low("c")];
    let roles = |evaluators: &[&str], ignore: &[&str]| Roles {
        evaluators: evaluators.iter().map(ToString::to_string).collect(),
        ignore: ignore.iter().map(ToString::to_string).collect(),
        learnt_evaluators: seated.clone(),
        ..Roles::default()
    };
    // An evaluator that the jury knows may be named without a column; its direction is kept.
    let table = open(&path, &roles(&["c", "a"], &[])).unwrap();
    assert_eq!(table.roles().evaluators().as_slice(), [Evaluator::low("c"), "a".into()]);
    assert!(table.warnings()[0].to_string().contains("no column `c`"));
    assert_eq!(scores(&table).unwrap()[1], 1.0);
    // A name that neither the jury nor the file knows is an error.
    assert_eq!(open(&path, &roles(&["a", "d"], &[])).unwrap_err().code(), "unknown-column");
    // A column of words is an error until it is ignored; then its scores are missing.
    assert_eq!(scores(&open(&path, &roles(&[], &[])).unwrap()).unwrap_err().code(), "odd-cells");
    let table = open(&path, &roles(&[], &["b"])).unwrap();
    assert_eq!(table.roles().evaluators().len(), 3);
    assert!(table.warnings().iter().any(|warning| warning.code() == "ignored-column"));
    let found = scores(&table).unwrap();
    assert_eq!((found[0], found[3]), (1.0, 3.0));
    assert!(found[1].is_nan() && found[2].is_nan());
    // To name an evaluator and to ignore it is a contradiction.
    assert_eq!(open(&path, &roles(&["a", "b"], &["b"])).unwrap_err().code(), "two-roles");
}

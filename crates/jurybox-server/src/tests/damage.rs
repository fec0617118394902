//! Tests that `verify` finds changed cells, deleted rows and changed bits of pages, except for what
//! [`NOT_FOUND`] lists. Each column, each table and each page is tried.

use super::fixture::{Home, Kind, on_both};
use super::random_life::{Life, config, verdict};
use crate::store::sqlite::FILE;
use crate::{
    Config, Filter, NewItem, NewVerdict, QueueVerification, Request, VerifyFrom, prove, rebuild, verify,
};
use jurybox::toolbox::hash_number;
use rusqlite::Connection;
use rusqlite::types::Value;
use std::time::Duration;

on_both!(
    payloads_and_notes_are_as_they_were_written_and_may_go_when_their_time_has_come,
    a_proof_goes_on_from_an_earlier_one_only_where_the_log_is_the_same,
);

/// Tables and columns that no entry covers, so that changes in them cannot be found.
const NOT_FOUND: &[(&str, &str)] = &[
    // Answers that are remembered for a day.
    ("idempotency", "*"),
    ("api_keys", "*"),
    ("webhooks", "*"),
    // The last number of a table, so that numbers are never reused.
    ("sqlite_sequence", "*"),
    // Queues that were deleted and whose rows are still being deleted.
    ("deleted_queues", "*"),
    ("queues", "name"),
    // It also follows from the seals of the entries.
    ("queues", "sealed"),
    // The random number of the transaction that wrote an entry.
    ("log", "batch"),
    // If a checkpoint is missing, the log is folded. The checker does not compare a checkpoint's
    // epoch. It accepts another entry number if the jury was the same there.
    ("checkpoints", "epoch"),
    ("checkpoints", "a row"),
    ("checkpoints", "seq"),
];

fn is_known(table: &str, column: &str) -> bool {
    NOT_FOUND.iter().any(|known| *known == (table, "*") || *known == (table, column))
}

fn item(n: u64) -> NewItem {
    NewItem {
        id: format!("x{n}"),
        scores: [("a".to_string(), Some(n as f64)), ("b".to_string(), (!n.is_multiple_of(7)).then_some(1.0))]
            .into(),
        tags: [("language".to_string(), "en".to_string())].into(),
        due: n.is_multiple_of(9).then_some(4_000_000_000_000_000),
        payload: Some(serde_json::json!({ "text": format!("what item {n} says") }).into()),
    }
}

/// A queue with rows in every table that is tried.
fn filled(kind: Kind, payload_days: Option<u32>) -> Life {
    let policy = "average".parse().unwrap();
    let settings = Config { policy, random_check_rate: 0.3, undo_seconds: 30, payload_days, ..config() };
    let mut life = Life::new(kind, 1, &settings);
    life.ask(Request::Items((0..70).map(item).collect())).unwrap();
    let late = NewItem { scores: [("b".to_string(), Some(2.0))].into(), ..item(7) };
    life.ask(Request::Items(vec![late])).unwrap();
    let claim = |who: &str| Request::Claim { reviewer: who.into(), k: Some(6), filter: Filter::default() };
    let given = (0..5).map(|n| NewVerdict {
        label: Some("fine".into()),
        observed_at: Some(7),
        note: Some(format!("a word on item {n}")),
        ..verdict(&format!("v{n}"), &format!("x{n}"), "ann", f64::from(n % 2))
    });
    life.ask(Request::Verdicts(given.collect())).unwrap();
    life.ask(Request::Undo { reviewer: "ann".into(), verdict: "v4".into() }).unwrap();
    // These claims follow ann's verdicts, because a random check could be one of the items she
    // judges.
    life.ask(claim("bob")).unwrap();
    life.ask(claim("cid")).unwrap();
    let skip = Request::Skip { reviewer: "ann".into(), item: "x4".into(), reason: "cannot read it".into() };
    life.ask(skip).unwrap();
    let again =
        NewVerdict { revises: Some("v1".into()), note: Some("no".into()), ..verdict("v9", "x1", "ann", 0.0) };
    life.ask(Request::Verdicts(vec![again])).unwrap();
    life.pass(60);
    life.writer.refold_if_stale().unwrap();
    life.ask(claim("dan")).unwrap();
    life
}

fn is_found(home: &Home) -> bool {
    !prove(&home.place, &VerifyFrom::Beginning).is_ok_and(|proof| proof.ok)
}

/// Another value of the same type; null stays null.
fn other(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Integer(x) => Value::Integer(if matches!(x, 0 | 1) { 1 - x } else { x + 1000 }),
        Value::Real(x) => Value::Real(if *x == 0.5 { 0.25 } else { 0.5 }),
        Value::Text(text) => {
            let mut bytes = text.clone().into_bytes();
            let at = bytes.iter().position(u8::is_ascii_alphanumeric);
            match at {
                Some(at) if bytes[at] == b'1' => bytes[at] = b'2',
                Some(at) => bytes[at] = b'1',
                None => bytes.push(b'x'),
            }
            Value::Text(String::from_utf8(bytes).unwrap())
        }
        Value::Blob(bytes) => {
            let mut bytes = bytes.clone();
            if let Some(byte) = bytes.last_mut() {
                *byte ^= 1;
            }
            Value::Blob(bytes)
        }
    }
}

/// The tables with their columns, and the columns of their primary keys.
fn tables(db: &Connection) -> Vec<(String, Vec<String>, Vec<String>)> {
    let names = |words: &str| -> Vec<String> {
        let mut statement = db.prepare(words).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let all = names("SELECT name FROM sqlite_schema WHERE type = 'table'");
    all.into_iter()
        .map(|table| {
            let of = |rest: &str| names(&format!("SELECT name FROM pragma_table_info('{table}') {rest}"));
            let (columns, key) = (of(""), of("WHERE pk > 0 ORDER BY pk"));
            (table, columns, key)
        })
        .collect()
}

#[test]
fn every_cell_and_every_row_that_is_changed_is_found() {
    let Life { writer, home, .. } = filled(Kind::Sqlite, None);
    drop(writer);
    rebuild(&home.place, None, None, Duration::ZERO).unwrap();
    assert!(!is_found(&home), "{:#?}", verify(&home.place));
    let db = Connection::open(home.folder().join(FILE)).unwrap();
    let (mut tried, mut missed) = (0, Vec::new());
    for (table, columns, key) in tables(&db) {
        if is_known(&table, "*") {
            continue;
        }
        let many: i64 = db.query_row(&format!("SELECT COUNT(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        assert!(many > 0, "{table} is empty, and nothing is tried on it");
        if !is_known(&table, "a row") {
            let copy = home.copy();
            copy.change(&format!(
                "DELETE FROM {table} WHERE ({0}) = (SELECT {0} FROM {table} LIMIT 1 OFFSET {1})",
                key.join(","),
                many / 2
            ));
            tried += 1;
            if !is_found(&copy) {
                missed.push(format!("a row of {table}"));
            }
        }
        for column in columns.iter().filter(|column| !is_known(&table, column)) {
            let words = format!(
                "SELECT {column}, {} FROM {table} WHERE {column} IS NOT NULL ORDER BY 1 DESC LIMIT 1",
                key.join(",")
            );
            let cells = |row: &rusqlite::Row<'_>| -> rusqlite::Result<Vec<Value>> {
                (0..=key.len()).map(|at| row.get(at)).collect()
            };
            let Ok(mut cells) = db.query_row(&words, [], cells) else { continue };
            cells[0] = other(&cells[0]);
            let copy = home.copy();
            let place: Vec<String> =
                key.iter().zip(2..).map(|(name, at)| format!("{name} = ?{at}")).collect();
            let words = format!("UPDATE {table} SET {column} = ?1 WHERE {}", place.join(" AND "));
            let db = Connection::open(copy.folder().join(FILE)).unwrap();
            // A change that the table's constraints refuse cannot occur.
            let Ok(changed) = db.execute(&words, rusqlite::params_from_iter(&cells)) else { continue };
            assert_eq!(changed, 1, "{table}.{column}");
            drop(db);
            tried += 1;
            if !is_found(&copy) {
                missed.push(format!("{table}.{column}"));
            }
        }
    }
    assert!(tried > 80 && missed.is_empty(), "{} of {tried} were not found: {missed:?}", missed.len());
}

/// All cells that a reader can see, except for those in [`NOT_FOUND`], in order. None if the
/// database cannot be read.
fn told(home: &Home) -> Option<Vec<String>> {
    let db = Connection::open(home.folder().join(FILE)).ok()?;
    let mut all = Vec::new();
    let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).ok()?;
    all.push(version.to_string());
    let mut words = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").ok()?;
    let names =
        words.query_map([], |row| row.get::<_, String>(0)).ok()?.collect::<Result<Vec<_>, _>>().ok()?;
    for table in names.iter().filter(|table| !is_known(table, "*")) {
        let mut statement = db.prepare(&format!("SELECT * FROM {table}")).ok()?;
        let columns: Vec<String> = statement.column_names().map(String::from).collect();
        let mut rows = statement.query([]).ok()?;
        while let Some(row) = rows.next().ok()? {
            for (at, column) in columns.iter().enumerate().filter(|(_, column)| !is_known(table, column)) {
                all.push(format!("{table}.{column}: {:?}", row.get_ref(at).ok()?));
            }
        }
    }
    Some(all)
}

#[test]
fn every_page_that_is_changed_is_found_where_a_reader_would_be_told_something_else() {
    let Life { writer, home, .. } = filled(Kind::Sqlite, None);
    drop(writer);
    rebuild(&home.place, None, None, Duration::ZERO).unwrap();
    let file = home.folder().join("copy");
    crate::backup(home.folder(), &file).unwrap();
    let whole = std::fs::read(&file).unwrap();
    let copy = Home::new(Kind::Sqlite);
    let put = |bytes: &[u8]| std::fs::write(copy.folder().join(FILE), bytes).unwrap();
    put(&whole);
    let before = told(&copy).unwrap();
    assert!(!is_found(&copy));
    let page = usize::from(u16::from_be_bytes([whole[16], whole[17]]));
    let (mut changed, mut missed) = (0, Vec::new());
    for n in 0..(whole.len() / page) as u64 * 16 {
        let at = (n / 16) as usize * page + (hash_number(n, 7) % page as u64) as usize;
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (n % 8);
        put(&bytes);
        crate::store::sqlite::clear_journals(&copy.folder().join(FILE)).unwrap();
        if told(&copy).as_ref() != Some(&before) {
            changed += 1;
            if !is_found(&copy) {
                missed.push(at);
            }
        }
    }
    assert!(changed > 20 && missed.is_empty(), "{} of {changed} were not found: {missed:?}", missed.len());
}

fn payloads_and_notes_are_as_they_were_written_and_may_go_when_their_time_has_come(kind: Kind) {
    let found = |home: &Home, words: &str| {
        let checked = verify(&home.place).unwrap().remove(0);
        assert!(checked.problems.iter().any(|what| what.contains(words)), "{words}: {checked:#?}");
    };
    let sound = |home: &Home| {
        let checked = verify(&home.place).unwrap().remove(0);
        assert!(checked.is_ok() && checked.unsealed_payloads == 0, "{checked:#?}");
    };
    let begun = || {
        let mut life = filled(kind, Some(1));
        sound(&life.home);
        // An item is sent again with another payload.
        let payload = Some(serde_json::json!({ "text": "something else" }).into());
        life.ask(Request::Items(vec![NewItem { payload, ..item(60) }])).unwrap();
        sound(&life.home);
        life.ask(Request::Erase { items: vec!["x3".into()] }).unwrap();
        sound(&life.home);
        life
    };
    // A database can only be copied while nobody has it open.
    let Life { writer, home, .. } = begun();
    drop(writer);
    for (lie, words) in [
        ("UPDATE payloads SET body = '{}' WHERE n = 61", "the payload of item 61 has changed since entry"),
        (
            "UPDATE payloads SET expires = NULL WHERE n = 10",
            "the payload of item 10 has changed since entry 2",
        ),
        ("DELETE FROM payloads WHERE n = 10", "1 payloads are missing, such as that of item 10"),
        (
            "INSERT INTO payloads VALUES (1, 4, '{}', NULL)",
            "item 4 was erased, but its payload is still there",
        ),
        ("INSERT INTO payloads VALUES (1, 999, '{}', NULL)", "item 999 has a payload that no entry wrote"),
        ("UPDATE notes SET body = 'yes' WHERE n = (SELECT MAX(n) FROM notes)", "was changed"),
        ("DELETE FROM notes WHERE n = (SELECT MAX(n) FROM notes)", "1 notes are missing"),
        ("UPDATE skips SET reason = 'lazy'", "skips are in only one of log and table"),
    ] {
        let copy = home.copy();
        assert!(copy.change(lie) > 0, "{lie}");
        found(&copy, words);
    }
    // Payloads that earlier programs wrote without hashes are counted as unsealed.
    let copy = home.copy();
    copy.change("UPDATE queues SET sealed = head + 1");
    copy.change(
        "UPDATE log SET body = replace(replace(body, '\"shown\":', '\"once\":'), '\"seal\":', '\"other\":')",
    );
    copy.change("UPDATE payloads SET body = '{}' WHERE n = 61");
    let checked = verify(&copy.place).unwrap().remove(0);
    assert!(checked.is_ok() && checked.unsealed_payloads > 60, "{checked:#?}");
    // Payloads are kept for one day, so after two days they have expired.
    let mut life = begun();
    life.pass(2 * 86_400);
    life.ask(Request::Items(vec![item(200)])).unwrap();
    // Expired rows are deleted once the log has gone on for an hour.
    life.pass(3_700);
    life.ask(Request::Items(vec![item(201)])).unwrap();
    life.writer.tidy().unwrap();
    let Life { writer, home, .. } = life;
    drop(writer);
    assert_eq!(home.change("UPDATE payloads SET body = body"), 2, "the expired ones were deleted");
    sound(&home);
    home.change("DELETE FROM payloads");
    found(&home, "2 payloads are missing");
}

fn a_proof_goes_on_from_an_earlier_one_only_where_the_log_is_the_same(kind: Kind) {
    let mut life = filled(kind, None);
    let first = prove(&life.home.place, &VerifyFrom::Beginning).unwrap();
    assert!(first.ok, "{first:#?}");
    let claims = first.queues[0].claims;
    for who in ["eve", "fay"] {
        let claim = Request::Claim { reviewer: who.into(), k: Some(2), filter: Filter::default() };
        life.ask(claim).unwrap();
    }
    // Erasing the reason of a skip does not change the hash of the log.
    life.ask(Request::Erase { items: vec!["x4".into()] }).unwrap();
    let Life { writer, home, .. } = life;
    drop(writer);
    // The report is written to a file and read again.
    let text = serde_json::to_string(&first).unwrap();
    let since = VerifyFrom::Report(serde_json::from_str(&text).unwrap());
    let next = prove(&home.place, &since).unwrap();
    assert!(next.ok, "{next:#?}");
    assert_eq!((next.queues[0].before, next.queues[0].claims), (claims, claims + 2));
    let entry = VerifyFrom::Entry(first.queues[0].entries);
    let tried = |proof: crate::VerifyReport| {
        let QueueVerification { not_checked, exact, unprovable, .. } = proof.queues[0].clone();
        (not_checked, exact + unprovable)
    };
    assert_eq!(tried(prove(&home.place, &entry).unwrap()), (claims, 2));
    // The log differs from that of the earlier report.
    let copy = home.copy();
    copy.change("UPDATE log SET actor = 'eve' WHERE seq = 2");
    let other = prove(&copy.place, &since).unwrap();
    assert!(other.queues[0].problems[0].contains("differs from the one in the earlier report"), "{other:#?}");
    // Claims that no earlier report has checked are checked.
    let mut not_checked = first.clone();
    not_checked.queues[0].not_checked = 1;
    let all = prove(&home.place, &VerifyFrom::Report(Box::new(not_checked))).unwrap();
    assert_eq!((all.ok, all.queues[0].before), (true, 0));
}

//! Records that are kept: old ones opened, copies made and put back, damage told.

use super::life::{Life, config};
use crate::store::schema;
use crate::store::sqlite::{FILE, Sqlite};
use crate::{Desk, Error, backup, rebuild, restore, verify};
use std::time::Duration;

/// A folder of the first version, with a queue that has lived.
fn first_version() -> tempfile::TempDir {
    let mut life = Life::new(3, &config());
    life.live(150);
    let Life { clerk, folder, .. } = life;
    drop(clerk);
    let db = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
    // What later versions added, in their own words, taken away again: the first version is what is left.
    db.execute_batch("DROP INDEX items_open; DROP INDEX idempotency_by_age; DROP INDEX payloads_by_end; PRAGMA user_version = 1")
        .unwrap();
    folder
}

#[test]
fn a_folder_of_the_first_version_is_brought_up_to_date_and_says_the_same() {
    let folder = first_version();
    let schema_of = |folder: &std::path::Path| {
        let db = rusqlite::Connection::open(folder.join(FILE)).unwrap();
        let mut statement =
            db.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").unwrap();
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.collect::<Result<Vec<_>, _>>().unwrap()
    };
    // The first version alone makes just this.
    let first = tempfile::tempdir().unwrap();
    let db = rusqlite::Connection::open(first.path().join(FILE)).unwrap();
    db.execute_batch(&schema::for_sqlite(schema::MIGRATIONS[0])).unwrap();
    assert_eq!(schema_of(folder.path()), schema_of(first.path()));
    assert!(Sqlite::open_to_read(folder.path()).unwrap_err().to_string().contains("version 1"));

    let before = verify(folder.path()).unwrap();
    assert!(Desk::open(folder.path(), None, Duration::ZERO).is_ok());
    assert_eq!(verify(folder.path()).unwrap(), before);
    let new = tempfile::tempdir().unwrap();
    drop(Sqlite::open(new.path(), Duration::ZERO).unwrap());
    assert_eq!(schema_of(folder.path()), schema_of(new.path()));
}

#[test]
fn what_is_not_ours_or_of_a_later_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let db = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
    db.execute_batch("CREATE TABLE theirs(x)").unwrap();
    assert!(Sqlite::open(folder.path(), Duration::ZERO).unwrap_err().to_string().contains("something else"));
    let folder = tempfile::tempdir().unwrap();
    drop(Sqlite::open(folder.path(), Duration::ZERO).unwrap());
    let db = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
    db.execute_batch("PRAGMA user_version = 99").unwrap();
    assert!(Sqlite::open(folder.path(), Duration::ZERO).unwrap_err().to_string().contains("later program"));
}

#[test]
fn a_folder_has_one_writer_and_commits_are_synced() {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(folder.path(), Duration::ZERO).unwrap();
    let error = Sqlite::open(folder.path(), Duration::from_millis(30)).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    assert!(Sqlite::open_to_read(folder.path()).is_ok());
    drop(store);
    assert!(Sqlite::open(folder.path(), Duration::ZERO).is_ok());
}

#[test]
fn a_copy_made_while_somebody_works_is_whole_and_can_be_put_back() {
    let mut life = Life::new(5, &config());
    life.live(120);
    let aside = tempfile::tempdir().unwrap();
    let (copy, put_back) = (aside.path().join("copy.sqlite"), aside.path().join("put back"));
    backup(life.folder.path(), &copy).unwrap();
    assert!(matches!(backup(life.folder.path(), &copy), Err(Error::Open(_))), "nothing is written over");
    let then = verify(life.folder.path()).unwrap();
    life.live(60);
    restore(&copy, &put_back).unwrap();
    assert_eq!(verify(&put_back).unwrap(), then);
    assert!(matches!(restore(&copy, &put_back), Err(Error::Open(_))));
    let rebuilt = rebuild(&put_back, None, None, Duration::ZERO).unwrap();
    assert_eq!((rebuilt.tables_agree, rebuilt.mismatches.len()), (Some(true), 0));
    std::fs::write(&copy, "not a database").unwrap();
    let bad = aside.path().join("bad");
    assert!(restore(&copy, &bad).is_err() && !bad.join(FILE).exists());
}

#[test]
fn a_rebuild_gives_the_bytes_of_a_checkpoint_and_tells_of_one_that_is_wrong() {
    let mut life = Life::new(8, &config());
    life.live(150);
    let queue = life.clerk.queue();
    let Life { clerk, folder, .. } = life;
    drop(clerk);
    let first = rebuild(folder.path(), None, None, Duration::ZERO).unwrap();
    let again = rebuild(folder.path(), None, None, Duration::ZERO).unwrap();
    assert_eq!((first.sha256.clone(), again.checkpoints), (again.sha256, 1));
    let db = rusqlite::Connection::open(folder.path().join(FILE)).unwrap();
    db.execute("UPDATE checkpoints SET sha256 = X'00' WHERE queue = ?1", [queue]).unwrap();
    drop(db);
    let told = rebuild(folder.path(), None, None, Duration::ZERO).unwrap();
    assert_eq!((told.mismatches, told.sha256), (vec![first.head], first.sha256));
    assert_eq!(rebuild(folder.path(), None, None, Duration::ZERO).unwrap().mismatches, [0; 0]);
}

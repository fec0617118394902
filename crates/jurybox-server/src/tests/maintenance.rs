//! Tests of maintenance: databases of earlier versions, copies, restores, rebuilds and archives.

use super::fixture::{Home, Kind, asked, on_both, tell};
use super::random_life::{Life, config};
use crate::store::schema;
use crate::store::sqlite::{FILE, Sqlite};
use crate::{EmbeddedQueue, Error, StoreLocation, backup, rebuild, restore, verify};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

on_both!(
    records_of_the_first_version_are_brought_up_to_date_and_say_the_same,
    a_rebuild_gives_the_bytes_of_a_checkpoint_and_tells_of_one_that_is_wrong,
    seals_are_owed_from_where_an_earlier_program_has_stopped,
    what_is_not_ours_or_of_a_later_version_is_refused,
    a_queue_that_was_deleted_is_cleared_away_step_by_step,
    a_queue_that_is_done_moves_into_an_archive_that_is_proved,
);

/// The tables and indexes of a database, as SQL.
fn schema_of(home: &Home) -> String {
    match &home.place {
        StoreLocation::Folder(folder) => {
            let db = rusqlite::Connection::open(folder.join(FILE)).unwrap();
            let words = "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY name)";
            db.query_row(words, [], |row| row.get(0)).unwrap()
        }
        StoreLocation::Database(url) => asked(
            url,
            "SELECT string_agg(line, ';' ORDER BY line) FROM (SELECT table_name || '.' || column_name || ' ' || data_type || is_nullable || is_identity AS line FROM information_schema.columns WHERE table_schema = 'jurybox' UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'jurybox') AS lines",
        ),
    }
}

/// Records of the first version, with a queue in use.
fn first_version(kind: Kind) -> Home {
    let mut life = Life::new(kind, 3, &config());
    life.live(150);
    let Life { writer, home, .. } = life;
    drop(writer);
    // Removes what later versions added, so that the first version remains.
    for index in [
        "items_open",
        "idempotency_by_age",
        "payloads_by_end",
        "log_of_settings",
        "verdicts_before",
        "payloads_large",
    ] {
        home.change(&format!("DROP INDEX {index}"));
    }
    home.change("DROP TABLE api_keys");
    home.change("DROP TABLE webhooks");
    home.change("DROP TABLE notes");
    home.change("DROP TABLE deleted_queues");
    home.change("ALTER TABLE queues DROP COLUMN sealed");
    if kind == Kind::Sqlite {
        let first = schema::for_sqlite(schema::MIGRATIONS[0]);
        let queues = first.split(';').next().unwrap();
        home.change("ALTER TABLE queues RENAME TO numbered");
        home.change(queues.trim());
        home.change("INSERT INTO queues SELECT id, name, head, at FROM numbered");
        home.change("DROP TABLE numbered");
    }
    set_version(&home, 1);
    home
}

fn set_version(home: &Home, version: i64) {
    match &home.place {
        StoreLocation::Folder(_) => {
            home.change(&format!("PRAGMA user_version = {version}"));
        }
        StoreLocation::Database(_) => {
            assert_eq!(home.change(&format!("UPDATE version SET version = {version}")), 1);
        }
    }
}

fn records_of_the_first_version_are_brought_up_to_date_and_say_the_same(kind: Kind) {
    let home = first_version(kind);
    // The first version creates exactly this.
    let first = Home::new(kind);
    match &first.place {
        StoreLocation::Folder(folder) => {
            let db = rusqlite::Connection::open(folder.join(FILE)).unwrap();
            db.execute_batch(&schema::for_sqlite(schema::MIGRATIONS[0])).unwrap();
            assert!(Sqlite::open_to_read(home.folder()).unwrap_err().to_string().contains("version 1"));
        }
        StoreLocation::Database(url) => {
            tell(url, "CREATE SCHEMA jurybox");
            tell(url, "CREATE TABLE jurybox.version(version BIGINT NOT NULL)");
            for statement in schema::for_postgres(schema::MIGRATIONS[0]).split_inclusive(';') {
                if !statement.trim().is_empty() {
                    tell(url, statement);
                }
            }
        }
    }
    assert_eq!(schema_of(&home), schema_of(&first));

    let before = verify(&home.place).unwrap();
    // Several nodes may update the tables at once.
    if kind == Kind::Postgres {
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| drop(home.place.open(Duration::ZERO).unwrap()));
            }
        });
    }
    assert!(EmbeddedQueue::open(&home.place, None, Duration::ZERO).is_ok());
    assert_eq!(verify(&home.place).unwrap(), before);
    let new = Home::new(kind);
    drop(new.place.open(Duration::ZERO).unwrap());
    assert_eq!(schema_of(&home), schema_of(&new));
}

/// Entries of earlier programs have no seals. From the first sealed entry on, no seal can be
/// removed without being noticed.
fn seals_are_owed_from_where_an_earlier_program_has_stopped(kind: Kind) {
    let home = first_version(kind);
    let strip = |home: &Home, until: u64| {
        home.change(&format!(
            "UPDATE log SET body = replace(body, '\"seal\"', '\"none\"') WHERE seq <= {until}"
        ))
    };
    assert_eq!(strip(&home, 20), 20);
    let old = verify(&home.place).unwrap().remove(0);
    assert!(old.is_ok() && old.sealed_from == 21 && old.unsealed >= 20, "{old:#?}");
    drop(home.place.open(Duration::ZERO).unwrap());
    assert_eq!(verify(&home.place).unwrap().remove(0), old);
    strip(&home, 23);
    let told = verify(&home.place).unwrap().remove(0);
    assert!(!told.is_ok() && told.sealed_from == 21, "{told:#?}");
    assert!(told.problems[0].contains("has no seal, although all entries from 21 on"), "{told:#?}");
    assert_eq!(told.problems.len() as u64, told.unsealed - old.unsealed);

    // A queue of an earlier program without any seal.
    let bare = first_version(kind);
    strip(&bare, 1 << 40);
    let head = verify(&bare.place).unwrap().remove(0).entries;
    drop(bare.place.open(Duration::ZERO).unwrap());
    let checked = verify(&bare.place).unwrap().remove(0);
    assert!(checked.is_ok() && (checked.sealed_from, checked.unsealed) == (head + 1, head), "{checked:#?}");
    // Seals are required from the next entry on at the latest.
    bare.change("UPDATE queues SET sealed = head + 2");
    let told = verify(&bare.place).unwrap().remove(0);
    assert!(told.problems[0].contains("need seals from"), "{told:#?}");
    bare.change("UPDATE queues SET sealed = head + 1");
    bare.change("DROP INDEX verdicts_by_id");
    bare.change("CREATE INDEX verdicts_by_id ON verdicts(queue, id)");
    let told = verify(&bare.place).unwrap().remove(0).problems;
    assert!(told.len() == 1 && told[0].contains("the index verdicts_by_id is missing"), "{told:#?}");
}

fn what_is_not_ours_or_of_a_later_version_is_refused(kind: Kind) {
    let told = |home: &Home| home.place.open(Duration::ZERO).err().unwrap().to_string();
    let home = Home::new(kind);
    if kind == Kind::Postgres {
        tell(home.url(), "CREATE SCHEMA jurybox");
    }
    home.change("CREATE TABLE theirs(x BIGINT)");
    assert!(told(&home).contains("another program"), "{}", told(&home));
    let home = Home::new(kind);
    drop(home.place.open(Duration::ZERO).unwrap());
    set_version(&home, 99);
    assert!(told(&home).contains("later program"), "{}", told(&home));
    let checked = verify(&home.place).unwrap_err().to_string();
    assert!(checked.contains("later program"), "{checked}");
    if kind == Kind::Sqlite {
        let told = backup(home.folder(), &home.folder().join("copy")).unwrap_err().to_string();
        assert!(told.contains("later program"), "{told}");
    }
}

/// A link to itself stands for a folder that cannot be read, because root may read all others.
#[test]
#[cfg(unix)]
fn a_folder_that_cannot_be_looked_into_is_not_said_to_be_empty() {
    let aside = tempfile::tempdir().unwrap();
    let circle = aside.path().join("circle");
    std::os::unix::fs::symlink("circle", &circle).unwrap();
    for told in [
        EmbeddedQueue::open(&circle, None, Duration::ZERO).map(drop),
        backup(&circle, &aside.path().join("copy")),
    ] {
        let told = told.unwrap_err().to_string();
        assert!(told.contains("this folder cannot be read"), "{told}");
    }
    let told = EmbeddedQueue::open(aside.path(), None, Duration::ZERO).map(drop).unwrap_err().to_string();
    assert!(told.contains("there is no queue in this folder"), "{told}");
}

#[test]
fn what_a_desk_has_left_behind_is_not_played_into_the_copy_that_takes_its_place() {
    let mut life = Life::new(Kind::Sqlite, 6, &config());
    life.live(60);
    let aside = tempfile::tempdir().unwrap();
    let (copy, folder) = (aside.path().join("copy"), aside.path().join("desk"));
    backup(life.home.folder(), &copy).unwrap();
    let then = verify(life.home.folder()).unwrap();
    life.live(60);
    // As after a crash in which the file was lost: the journal remains, with all newer changes.
    std::fs::create_dir(&folder).unwrap();
    for end in ["-wal", "-shm"] {
        let name = format!("{FILE}{end}");
        std::fs::copy(life.home.folder().join(&name), folder.join(&name)).unwrap();
    }
    assert!(folder.join(format!("{FILE}-wal")).metadata().unwrap().len() > 0);
    restore(&copy, &folder, false).unwrap();
    assert_eq!(verify(&folder).unwrap(), then);
    // A restore is refused while a server holds the folder, even if its file is gone, and during
    // another restore.
    let held = crate::store::sqlite::lock(&folder, Duration::ZERO).unwrap();
    std::fs::remove_file(folder.join(FILE)).unwrap();
    let told = restore(&copy, &folder, false).unwrap_err().to_string();
    assert!(told.contains("another process") && folder.exists(), "{told}");
    drop(held);
    restore(&copy, &folder, false).unwrap();
    // Two copies are made into one file: the second is refused.
    let unfinished = aside.path().join("other.unfinished");
    let held = std::fs::File::create(&unfinished).unwrap();
    held.lock().unwrap();
    let told = backup(&folder, &aside.path().join("other")).unwrap_err().to_string();
    assert!(told.contains("another process is making this copy") && unfinished.exists(), "{told}");
    drop(held);
    // A link to another file is not written through.
    #[cfg(unix)]
    {
        let theirs = aside.path().join("theirs");
        std::fs::write(&theirs, "theirs").unwrap();
        std::fs::remove_file(&unfinished).unwrap();
        std::os::unix::fs::symlink(&theirs, &unfinished).unwrap();
        backup(&folder, &aside.path().join("other")).unwrap();
        assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "theirs");
        assert!(aside.path().join("other").symlink_metadata().unwrap().is_file());
    }
}

#[test]
#[cfg(unix)]
fn a_pipe_in_place_of_a_file_is_not_waited_for() {
    for name in [FILE, "jurybox.lock"] {
        let aside = tempfile::tempdir().unwrap();
        let pipe = aside.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let told = EmbeddedQueue::create(aside.path(), "q", &config(), Duration::ZERO).map(drop).unwrap_err();
        assert!(told.to_string().contains("this is not a regular file"), "{told}");
        if name == FILE {
            let told = backup(aside.path(), &aside.path().join("copy")).unwrap_err();
            assert!(told.to_string().contains("this is not a regular file"), "{told}");
        }
    }
}

#[test]
#[cfg(unix)]
fn what_is_made_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let aside = tempfile::tempdir().unwrap();
    let (folder, copy, again) =
        (aside.path().join("desk"), aside.path().join("copy.sqlite"), aside.path().join("again"));
    let store = Sqlite::open(&folder, Duration::ZERO).unwrap();
    backup(&folder, &copy).unwrap();
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o644)).unwrap();
    restore(&copy, &again, false).unwrap();
    let rights = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((rights(&folder), rights(&again)), (0o700, 0o700));
    let files = [&folder, &again].map(|folder| std::fs::read_dir(folder).unwrap());
    for file in files.into_iter().flatten() {
        let file = file.unwrap().path();
        assert_eq!(rights(&file), 0o600, "{}", file.display());
    }
    std::fs::remove_file(&copy).unwrap();
    backup(&folder, &copy).unwrap();
    assert_eq!(rights(&copy), 0o600);
    drop(store);
}

#[test]
fn a_folder_has_one_writer_and_can_be_read_meanwhile() {
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
    let mut life = Life::new(Kind::Sqlite, 5, &config());
    life.live(120);
    let aside = tempfile::tempdir().unwrap();
    let (copy, put_back) = (aside.path().join("copy.sqlite"), aside.path().join("put back"));
    backup(life.home.folder(), &copy).unwrap();
    assert!(matches!(backup(life.home.folder(), &copy), Err(Error::Open(_))), "no file is overwritten");
    // These files were left by a killed copy.
    let left = ["", "-wal", "-shm"].map(|end| aside.path().join(format!("other.sqlite.unfinished{end}")));
    left.iter().for_each(|file| std::fs::write(file, "a part of another copy").unwrap());
    backup(life.home.folder(), &aside.path().join("other.sqlite")).unwrap();
    assert!(left.iter().all(|file| !file.exists()), "the files of the killed copy are gone");
    let then = verify(life.home.folder()).unwrap();
    life.live(60);
    restore(&copy, &put_back, false).unwrap();
    assert_eq!(verify(&put_back).unwrap(), then);
    assert!(matches!(restore(&copy, &put_back, false), Err(Error::Open(_))));
    let rebuilt = rebuild(&put_back, None, None, Duration::ZERO).unwrap();
    assert_eq!((rebuilt.tables_agree, rebuilt.mismatches.len()), (Some(true), 0));
    // Bytes damaged on the way are found before the folder is usable.
    let mut bytes = std::fs::read(&copy).unwrap();
    let middle = bytes.len() / 2;
    bytes[4096..middle].iter_mut().step_by(7).for_each(|byte| *byte ^= 0x5a);
    let (broken, nowhere) = (aside.path().join("broken.sqlite"), aside.path().join("nowhere"));
    std::fs::write(&broken, bytes).unwrap();
    let told = restore(&broken, &nowhere, false).unwrap_err().to_string();
    assert!(told.contains("cannot be restored") && !nowhere.exists(), "{told}");
    std::fs::write(&copy, "not a database").unwrap();
    let bad = aside.path().join("bad");
    assert!(restore(&copy, &bad, false).is_err() && !bad.join(FILE).exists());
}

fn a_rebuild_gives_the_bytes_of_a_checkpoint_and_tells_of_one_that_is_wrong(kind: Kind) {
    let mut life = Life::new(kind, 8, &config());
    life.live(150);
    let queue = life.writer.queue();
    let Life { writer, home, .. } = life;
    drop(writer);
    let first = rebuild(&home.place, None, None, Duration::ZERO).unwrap();
    let again = rebuild(&home.place, None, None, Duration::ZERO).unwrap();
    assert_eq!((first.sha256.clone(), again.checkpoints), (again.sha256, 1));
    assert_eq!(home.change(&format!("UPDATE checkpoints SET sha256 = X'00' WHERE queue = {queue}")), 1);
    let told = rebuild(&home.place, None, None, Duration::ZERO).unwrap();
    assert_eq!((told.mismatches, told.sha256), (vec![first.head], first.sha256));
    assert_eq!(rebuild(&home.place, None, None, Duration::ZERO).unwrap().mismatches, [0; 0]);
}

/// A copy that starts again at every commit would never finish under load.
#[test]
fn a_copy_is_one_snapshot_however_often_others_commit_meanwhile() {
    let home = Home::new(Kind::Sqlite);
    let desk = EmbeddedQueue::create(home.folder(), "q", &config(), Duration::ZERO).unwrap();
    // 20 MB, so that the copy takes a while.
    home.change(
        "INSERT INTO payloads WITH RECURSIVE row(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row WHERE n < 200) SELECT 1, n, hex(zeroblob(50000)), NULL FROM row",
    );
    let copied = Arc::new(AtomicBool::new(false));
    let (seen, file) = (copied.clone(), home.folder().join(FILE));
    let writer = std::thread::spawn(move || {
        let db = rusqlite::Connection::open(file).unwrap();
        db.busy_timeout(Duration::from_secs(30)).unwrap();
        (0..2000)
            .take_while(|_| !seen.load(Ordering::Relaxed))
            .map(|_| {
                db.execute("UPDATE queues SET at = at", []).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            })
            .count()
    });
    let aside = tempfile::tempdir().unwrap();
    backup(home.folder(), &aside.path().join("copy")).unwrap();
    copied.store(true, Ordering::Relaxed);
    assert!(writer.join().unwrap() < 2000, "the copy ended before the commits did");
    drop(desk);
    restore(&aside.path().join("copy"), &aside.path().join("again"), false).unwrap();
}

/// Writers of other queues wait for a few deleted rows at most.
fn a_queue_that_was_deleted_is_cleared_away_step_by_step(kind: Kind) {
    let home = Home::new(kind);
    let mut store = home.place.open(Duration::ZERO).unwrap();
    let now = store.now().unwrap();
    let queue = crate::create::create(store.as_mut(), "q", &config(), "test", now).unwrap();
    crate::create::create(store.as_mut(), "other", &config(), "test", now).unwrap();
    let mut writer = crate::queue_writer::QueueWriter::open(
        store.another(crate::store::Purpose::Write).unwrap(),
        queue.id,
    )
    .unwrap();
    for batch in 0..3 {
        let item = |i| crate::NewItem {
            id: format!("x{batch} {i}"),
            scores: [("a".to_string(), Some(0.5))].into(),
            payload: Some(serde_json::json!("x".repeat(500)).into()),
            ..crate::NewItem::default()
        };
        let items = crate::Request::Items((0..2000).map(item).collect());
        writer.answer(&[crate::Call::new("test", items)]).remove(0).unwrap();
    }
    drop(writer);
    let size = |store: &mut dyn crate::store::Store| {
        assert!(store.scrub().unwrap());
        std::fs::metadata(home.folder().join(FILE)).unwrap().len()
    };
    let before = if kind == Kind::Sqlite { size(store.as_mut()) } else { 0 };
    store.delete_queue(queue.id, None).unwrap();
    let sound = || {
        let checked = verify(&home.place).unwrap();
        assert!(checked.len() == 1 && checked[0].queue == "other" && checked[0].is_ok(), "{checked:#?}");
    };
    sound();
    let mut steps = 0;
    while store.clear_away().unwrap() {
        steps += 1;
        if steps == 15 {
            assert!(home.change("UPDATE items SET n = n") > 2000, "a few at a time");
            sound();
        }
    }
    assert!(steps > 6000 * 2 / 500, "{steps}");
    assert_eq!(home.change("UPDATE items SET n = n") + home.change("UPDATE payloads SET n = n"), 0);
    assert_eq!(home.change("UPDATE log SET seq = seq"), 1, "the entry of the other queue");
    if kind == Kind::Sqlite {
        let after = size(store.as_mut());
        assert!(after < before / 4, "{after} of {before} bytes");
    }
    sound();
}

fn a_queue_that_is_done_moves_into_an_archive_that_is_proved(kind: Kind) {
    let mut life = Life::new(kind, 5, &config());
    life.live(150);
    let before = life.writer.replica.live.at + 1;
    let aside = tempfile::tempdir().unwrap();
    let to = aside.path().join("archive");
    let archive = |home: &Home, before, only| crate::archive(&home.place, &to, before, only, Duration::ZERO);
    let refused = archive(&life.home, before, Some("q")).unwrap_err();
    assert!(refused.to_string().contains("open items"), "{refused}");
    assert!(archive(&life.home, before, None).unwrap().is_empty(), "it has open items");
    assert!(!to.exists());
    let close =
        crate::Request::Close { filter: crate::Filter::default(), before: None, reason: "done".into() };
    life.ask(close).unwrap();
    let mut store = life.writer.another_store(crate::store::Purpose::Write).unwrap();
    let now = store.now().unwrap();
    crate::create::create(store.as_mut(), "other", &config(), "test", now).unwrap();
    let late = archive(&life.home, 0, Some("q")).unwrap_err();
    assert!(late.to_string().contains("since that time"), "{late}");
    // The command was killed after its copy, and the queue has gone on, so the copy is made again.
    let row = crate::store::QueueRow { id: life.writer.queue(), name: "q".into() };
    let begun = store.begin_reading(row.id).unwrap();
    let mut copy = Sqlite::open(&to, Duration::ZERO).unwrap();
    crate::archive::copy(store.as_mut(), &mut copy, &row, begun).unwrap();
    store.rollback();
    drop(copy);
    life.ask(crate::Request::Items(vec![crate::NewItem { id: "late".into(), ..Default::default() }]))
        .unwrap();
    let close =
        crate::Request::Close { filter: crate::Filter::default(), before: None, reason: "done".into() };
    life.ask(close).unwrap();
    let head = life.writer.replica.live.seq;
    let was = verify(&life.home.place).unwrap();
    let exported = life.writer.export_page(0, 1000).unwrap();
    let before = life.writer.replica.live.at + 1;
    let empty = archive(&life.home, before, Some("other")).unwrap_err();
    assert!(empty.to_string().contains("no items"), "{empty}");
    if kind == Kind::Sqlite {
        let itself = crate::archive(&life.home.place, life.home.folder(), before, None, Duration::ZERO);
        assert!(itself.unwrap_err().to_string().contains("into itself"));
    }
    let archived = archive(&life.home, before, Some("q")).unwrap();
    assert_eq!(archived, [crate::ArchivedQueue { queue: "q".into(), entries: head }]);
    // The records in the archive and the ones left behind are complete.
    let checked = verify(to.as_path()).unwrap();
    assert_eq!(checked, [was[0].clone()]);
    assert!(checked[0].is_ok() && checked[0].claims > 0, "{checked:#?}");
    let left = verify(&life.home.place).unwrap();
    assert!(left.len() == 1 && left[0].queue == "other" && left[0].is_ok(), "{left:#?}");
    assert_eq!(life.home.change("UPDATE verdicts SET i = i"), 0);
    let mut desk = EmbeddedQueue::open(to.as_path(), Some("q"), Duration::ZERO).unwrap();
    let again = desk.export_page(0, 1000).unwrap();
    assert_eq!(format!("{:?}", again.items), format!("{:?}", exported.items));
    // A writer that had the queue open learns that it is gone.
    assert!(matches!(
        life.ask(crate::Request::Erase { items: vec!["x1".into()] }),
        Err(Error::NoQueue { .. })
    ));
}

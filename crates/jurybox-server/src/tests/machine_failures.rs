//! Tests of failing machines: errors are clear or waited out, and nothing is lost.

use super::fixture::{Kind, on_both};
use super::random_life::{Life, config};
use crate::monitor::ExpiryCleanup;
use crate::store::schema;
use crate::store::sqlite::{FILE, Sqlite};
use crate::{
    Answer, Call, Config, EmbeddedQueue, Error, Filter, NewItem, NewVerdict, Request, Service, VerdictSource,
    verify,
};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

on_both!(
    a_clock_that_was_a_day_ahead_and_is_set_right_stops_nobody,
    what_a_wrong_clock_wrote_deletes_nothing,
    lives_in_which_the_clock_is_set_back_are_proved,
    payloads_go_when_their_time_has_come_and_nothing_else_does,
    what_settles_by_a_clock_that_is_ahead_takes_the_log_no_further_than_it_must,
    a_clock_that_was_wrong_once_deletes_no_payload_and_forgets_no_key,
    a_verdict_on_what_was_just_given_back_keeps_the_probability_of_its_pick,
    what_an_appeal_has_decided_cannot_be_taken_back_by_the_first_reviewer,
);

const DAY: i64 = 86_400_000_000;

fn item(id: &str, a: f64) -> NewItem {
    let payload = Some(serde_json::json!({ "text": id }).into());
    NewItem { id: id.into(), scores: [("a".to_string(), Some(a))].into(), payload, ..NewItem::default() }
}

fn claim(reviewer: &str, k: u32) -> Request {
    Request::Claim { reviewer: reviewer.into(), k: Some(k), filter: Filter::default() }
}

fn claimed(answer: Result<Answer, Error>) -> Vec<crate::ClaimedItem> {
    let Answer::Claims { claims, .. } = answer.unwrap() else { panic!("no claims") };
    claims
}

fn verdict(id: &str, item: &str, token: u64) -> NewVerdict {
    NewVerdict {
        id: id.into(),
        item: item.into(),
        reviewer: "ann".into(),
        token: Some(token),
        reward: 1.0,
        ..NewVerdict::default()
    }
}

fn plain(kind: Kind, config: Config) -> Life {
    let mut life =
        Life::new(kind, 1, &Config { ageing_per_day: 0.0, policy: "average".parse().unwrap(), ..config });
    life.ask(Request::Items((0..6).map(|i| item(&format!("x{i}"), f64::from(i))).collect())).unwrap();
    life
}

fn assert_sound(life: &Life) {
    let checked = verify(&life.home.place).unwrap().remove(0);
    assert!(checked.is_ok(), "{checked:#?}");
}

/// The clock jumps while nothing is running: `trust_clock` stands for a restart.
fn a_clock_that_was_a_day_ahead_and_is_set_right_stops_nobody(kind: Kind) {
    let mut life = plain(kind, Config { random_check_rate: 0.0, ..config() });
    let first = claimed(life.ask(claim("ann", 1)));
    life.ahead.fetch_add(DAY, Ordering::Relaxed);
    life.writer.trust_clock();
    // A day seems to have passed, so ann's lease has ended.
    let second = claimed(life.ask(claim("bob", 1)));
    assert_eq!(second[0].item, first[0].item);
    life.ahead.fetch_sub(DAY, Ordering::Relaxed);
    life.writer.trust_clock();
    let ahead = life.writer.replica.live.at;
    assert_eq!(claimed(life.ask(claim("cid", 1)))[0].item, "x4", "cid does not get bob's item");
    assert!(life.writer.replica.live.at >= ahead, "time does not go back");
    // Bob's lease ends after a minute and not after a day: time goes on at half speed.
    life.writer.wait(2 * 31);
    assert_eq!(claimed(life.ask(claim("dan", 1)))[0].item, first[0].item);
    let late = verdict("v", &second[0].item, second[0].token);
    let told = life.ask(Request::Verdicts(vec![NewVerdict { reviewer: "bob".into(), ..late }])).unwrap();
    assert!(matches!(&told, Answer::Verdicts { rejected, .. } if rejected.len() == 1), "{told:?}");
    assert_sound(&life);
    // After setting the clock back, nobody holds anything, and verdicts can no longer be undone.
    let held = claimed(life.ask(claim("eva", 1))).remove(0);
    let given = NewVerdict { reviewer: "eva".into(), ..verdict("w", &held.item, held.token) };
    life.ask(Request::Verdicts(vec![given])).unwrap();
    assert_eq!(life.ask(Request::Clock).unwrap(), Answer::Changed { changed: 1 });
    assert!(life.writer.replica.live.at < ahead - DAY / 2);
    assert_eq!(life.writer.replica.learner.waiting(), 0);
    let undo = Request::Undo { reviewer: "eva".into(), verdict: "w".into() };
    assert!(matches!(life.ask(undo.clone()), Err(Error::Conflict(_))));
    assert_eq!(life.ask(Request::Clock).unwrap(), Answer::Changed { changed: 0 }, "it was set back already");
    assert_eq!(claimed(life.ask(claim("fay", 6))).len(), 5);
    life.writer.refold_if_stale().unwrap();
    assert_eq!(claimed(life.ask(claim("gus", 1))).len(), 0);
    assert_sound(&life);
    // A writer that opens the queue anew has the same state.
    let store = life.writer.another_store(crate::store::Purpose::Write).unwrap();
    let mut again = crate::queue_writer::QueueWriter::open(store, life.writer.queue()).unwrap();
    assert_eq!(again.replica.live.to_bytes(), life.writer.replica.live.to_bytes());
    assert_eq!(again.replica.learner.to_bytes(), life.writer.replica.learner.to_bytes());
    // The verdict still cannot be undone when the clock reaches the old time of the log.
    life.pass(86_400);
    assert!(matches!(again.answer(&[Call::new("eva", undo)]).remove(0), Err(Error::Conflict(_))));
    assert_sound(&life);
}

fn payloads_go_when_their_time_has_come_and_nothing_else_does(kind: Kind) {
    let mut life =
        plain(kind, Config { payload_days: Some(7), lease_seconds: 60, random_check_rate: 0.0, ..config() });
    let shown = claimed(life.ask(claim("ann", 1))).remove(0);
    assert_eq!(shown.payload, Some(serde_json::json!({ "text": "x5" }).into()));
    life.pass(6 * 86_400);
    // An unchanged payload keeps its expiry; a new one gets a new expiry.
    let again = |id: &str, text: &str| {
        let payload = Some(serde_json::json!({ "text": text }).into());
        NewItem { scores: [].into(), payload, ..item(id, 0.0) }
    };
    life.ask(Request::Items(vec![item("late", 9.0), again("x3", "x3"), again("x4", "new")])).unwrap();
    life.writer.tidy().unwrap();
    assert!(claimed(life.ask(claim("bob", 7))).iter().all(|claim| claim.payload.is_some()), "not yet");
    life.pass(2 * 86_400);
    life.writer.tidy().unwrap();
    let held = |life: &mut Life| life.home.change("UPDATE payloads SET n = n");
    assert_eq!(held(&mut life), 7, "nothing expires before the log has a later entry");
    life.ask(claim("dan", 1)).unwrap();
    life.writer.tidy().unwrap();
    assert_eq!(held(&mut life), 7, "one entry is not enough, its clock may be wrong");
    life.pass(3601);
    life.ask(claim("dan", 1)).unwrap();
    life.writer.tidy().unwrap();
    life.pass(60);
    let shown: Vec<(String, bool)> = claimed(life.ask(claim("cid", 7)))
        .into_iter()
        .map(|claim| (claim.item, claim.payload.is_some()))
        .collect();
    let by_name = |name: &str| shown.iter().find(|(item, _)| item == name).map(|(_, is)| *is);
    assert_eq!(shown.len(), 7, "the items are all there");
    assert_eq!((by_name("late"), by_name("x4")), (Some(true), Some(true)));
    assert_eq!((by_name("x3"), by_name("x5")), (Some(false), Some(false)));
    assert_sound(&life);
    assert_eq!(life.home.change("DELETE FROM payloads"), 2, "the other five payloads are deleted");
}

/// A server was opened while the clock was wrong, and got no requests.
fn what_settles_by_a_clock_that_is_ahead_takes_the_log_no_further_than_it_must(kind: Kind) {
    let mut life = plain(kind, Config { undo_seconds: 20, random_check_rate: 0.0, ..config() });
    let first = claimed(life.ask(claim("ann", 1))).remove(0);
    life.ask(Request::Verdicts(vec![verdict("v", &first.item, first.token)])).unwrap();
    let given = life.writer.replica.live.at;
    life.ahead.fetch_add(400 * DAY, Ordering::Relaxed);
    life.writer.trust_clock();
    assert!(life.writer.settle().unwrap() && !life.writer.settle().unwrap());
    assert_eq!((life.writer.replica.live.at, life.writer.replica.learner.waiting()), (given + 20_000_000, 0));
    life.ahead.fetch_sub(400 * DAY, Ordering::Relaxed);
    life.writer.trust_clock();
    assert_eq!(claimed(life.ask(claim("bob", 1))).len(), 1, "bob need not wait");
    assert_sound(&life);
}

/// The wrong time was seen once, by a command or a short-lived server.
fn a_clock_that_was_wrong_once_deletes_no_payload_and_forgets_no_key(kind: Kind) {
    let mut life = plain(kind, Config { payload_days: Some(1), random_check_rate: 0.0, ..config() });
    let keyed = Call::new("ann", claim("ann", 2)).with_key("K");
    let first = claimed(life.writer.answer(std::slice::from_ref(&keyed)).remove(0));
    life.ahead.fetch_add(2 * DAY, Ordering::Relaxed);
    life.writer.trust_clock();
    life.writer.tidy().unwrap();
    let mut served = ExpiryCleanup::default();
    served.tidy_now(life.writer.store()).unwrap();
    life.ahead.fetch_sub(2 * DAY, Ordering::Relaxed);
    life.writer.trust_clock();
    served.clock.wait(3601);
    served.tidy_now(life.writer.store()).unwrap();
    let again = claimed(life.writer.answer(std::slice::from_ref(&keyed)).remove(0));
    let told = |claims: Vec<crate::ClaimedItem>| {
        claims.into_iter().map(|claim| (claim.item, claim.token, claim.payload)).collect::<Vec<_>>()
    };
    assert_eq!(told(again), told(first), "the answer is the same, payloads included");
    // In a quiet queue, a server believes the clock after it has run steadily for an hour.
    life.ahead.fetch_add(2 * DAY, Ordering::Relaxed);
    served.tidy_now(life.writer.store()).unwrap();
    assert_eq!(life.home.change("UPDATE payloads SET n = n"), 6);
    served.clock.wait(3601);
    served.tidy_now(life.writer.store()).unwrap();
    assert_eq!(life.home.change("UPDATE payloads SET n = n"), 0);
    assert_eq!(life.home.change("UPDATE idempotency SET at = at"), 0);
}

/// The clock is three days ahead during two claims. Then it is right again, and the server
/// restarts.
fn what_a_wrong_clock_wrote_deletes_nothing(kind: Kind) {
    let mut life = plain(kind, Config { payload_days: Some(1), random_check_rate: 0.0, ..config() });
    life.ahead.fetch_add(3 * DAY, Ordering::Relaxed);
    life.writer.trust_clock();
    for who in ["ann", "bob"] {
        life.ask(claim(who, 1)).unwrap();
        life.writer.tidy().unwrap();
        ExpiryCleanup::default().tidy_now(life.writer.store()).unwrap();
    }
    life.ahead.fetch_sub(3 * DAY, Ordering::Relaxed);
    life.writer.trust_clock();
    life.ask(claim("cid", 1)).unwrap();
    let mut served = ExpiryCleanup::default();
    for _ in 0..2 {
        served.tidy_now(life.writer.store()).unwrap();
        served.clock.wait(3601);
    }
    // Two hours later the log has gone on for an hour after the entries of the wrong clock.
    life.writer.wait(7300);
    life.ask(claim("dan", 1)).unwrap();
    life.writer.tidy().unwrap();
    assert_eq!(life.home.change("UPDATE payloads SET n = n"), 6);
    assert_sound(&life);
}

fn lives_in_which_the_clock_is_set_back_are_proved(kind: Kind) {
    for seed in 0..6 {
        let mut life = Life::new(kind, seed, &Config { quorum: 1 + (seed % 2) as u8, ..config() });
        for _ in 0..3 {
            life.live(40);
            life.pass(2 * 86_400);
            life.live(20);
            life.pass(-2 * 86_400);
            life.live(20);
            assert_eq!(life.ask(Request::Clock).unwrap(), Answer::Changed { changed: 1 });
        }
        life.live(40);
        life.writer.refold_if_stale().unwrap();
        let (queue, seq) = (life.writer.queue(), life.writer.replica.live.seq);
        let folded = crate::load::refold(life.writer.store(), queue, seq, &mut |_| Ok(())).unwrap();
        assert_eq!(folded.to_bytes(), life.writer.replica.learner.to_bytes());
        assert_sound(&life);
    }
}

#[test]
fn no_queue_is_made_in_the_future_by_a_clock_that_has_jumped() {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(folder.path(), Duration::ZERO).unwrap();
    let ahead = store.ahead();
    let service = Service::with_store(Box::new(store), Duration::ZERO).unwrap();
    service.create("q", &config()).unwrap();
    ahead.fetch_add(3 * DAY, Ordering::Relaxed);
    service.create("other", &config()).unwrap();
    ahead.fetch_sub(3 * DAY, Ordering::Relaxed);
    drop(service);
    let times = crate::log_times(folder.path(), false, Duration::ZERO).unwrap();
    assert!(times.iter().all(|time| time.ahead_seconds <= 0), "{times:?}");
}

#[test]
fn logs_that_are_ahead_are_told_and_set_back_also_where_a_server_has_the_folder() {
    let mut life = plain(Kind::Sqlite, Config { random_check_rate: 0.0, ..config() });
    life.pass(3 * 86_400);
    life.ask(claim("ann", 1)).unwrap();
    let Life { writer, home, .. } = life;
    drop(writer);
    let folder = home.folder();
    let told = |repair| {
        let time = crate::log_times(folder, repair, Duration::ZERO).unwrap().remove(0);
        (time.ahead_seconds / 3600, time.set_back)
    };
    assert_eq!(told(false), (71, false), "three days less a moment");
    let service = Arc::new(Service::open(folder, Duration::ZERO).unwrap());
    let _door = service.open_local_socket(folder).unwrap();
    service.queue("q").unwrap().ask(Call::new("bob", claim("bob", 1))).unwrap();
    assert_eq!(told(true), (71, true));
    assert_eq!(told(true), (0, false));
}

#[test]
fn a_folder_on_which_a_server_sits_is_refused_or_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::open(folder.path(), Duration::ZERO).unwrap();
    let queue = service.create("q", &config()).unwrap();
    queue.ask(Call::new("ann", Request::Items(vec![item("x", 1.0)]))).unwrap();
    let refused = [
        Service::open(folder.path(), Duration::from_millis(20)).map(drop),
        EmbeddedQueue::open(folder.path(), None, Duration::from_millis(20)).map(drop),
        crate::rebuild(folder.path(), None, None, Duration::from_millis(20)).map(drop),
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(
            matches!(&error, Error::Open(why) if why.contains("another process is using this folder")),
            "{error}"
        );
    }
    // The refused attempts do not disturb the server, and reads need no write lock.
    queue.ask(Call::new("ann", Request::Items(vec![item("y", 1.0)]))).unwrap();
    assert!(verify(folder.path()).unwrap()[0].is_ok());
    let waiting = {
        let folder = folder.path().to_path_buf();
        std::thread::spawn(move || {
            EmbeddedQueue::open(&folder, None, Duration::from_mins(1)).unwrap().status()
        })
    };
    drop((queue, service));
    assert_eq!(waiting.join().unwrap().unwrap().counts.items, 2);
}

#[test]
#[cfg(unix)]
fn a_server_that_does_not_answer_is_not_waited_for_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    drop(EmbeddedQueue::create(folder.path(), "q", &config(), Duration::ZERO).unwrap());
    // The server exists but is stopped.
    let _door = std::os::unix::net::UnixListener::bind(folder.path().join("jurybox.sock")).unwrap();
    let began = std::time::Instant::now();
    let error = EmbeddedQueue::open(folder.path(), None, Duration::from_secs(1)).map(drop).unwrap_err();
    assert!(error.to_string().contains("it does not answer"), "{error}");
    assert!(
        (6..30).contains(&began.elapsed().as_secs()),
        "it should give up after six seconds: {:?}",
        began.elapsed()
    );
}

/// Copies the files as a killed process leaves them in the middle of a transaction.
fn as_if_killed(folder: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// A database of an early version, with the rows of a queue in use.
fn of_version(version: usize, folder: &Path, rows: &Path) -> Connection {
    let db = Connection::open(folder.join(FILE)).unwrap();
    db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    if version == 0 {
        return db;
    }
    db.execute_batch(&schema::for_sqlite(schema::MIGRATIONS[0])).unwrap();
    db.execute("ATTACH ?1 AS life", [rows.join(FILE).to_str().unwrap()]).unwrap();
    let tables: Vec<String> = {
        let mut tables = db.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table'").unwrap();
        tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    for table in tables {
        // The table `queues` has one more column by now.
        let columns = if table == "queues" { "id, name, head, at" } else { "*" };
        db.execute_batch(&format!("INSERT INTO main.{table} SELECT {columns} FROM life.{table}")).unwrap();
    }
    db.execute_batch("DETACH life").unwrap();
    for migration in &schema::MIGRATIONS[1..version] {
        db.execute_batch(&schema::for_sqlite(migration)).unwrap();
    }
    // The bytes of "jury", which mark every database of this program.
    db.execute_batch(&format!("PRAGMA application_id = {}; PRAGMA user_version = {version}", 0x6a75_7279))
        .unwrap();
    db
}

#[test]
fn killed_in_the_middle_of_any_migration_a_folder_is_what_it_was_and_is_brought_up_to_date_next_time() {
    let mut life = Life::new(Kind::Sqlite, 4, &config());
    life.live(150);
    let Life { writer, home, .. } = life;
    drop(writer);
    let rows = home.folder();
    let before = verify(rows).unwrap();
    let aside = tempfile::tempdir().unwrap();
    let mut killed = 0;
    for version in 0..schema::MIGRATIONS.len() {
        let folder = aside.path().join(format!("version {version}"));
        std::fs::create_dir(&folder).unwrap();
        let db = of_version(version, &folder, rows);
        // With a tiny cache, uncommitted pages are written to disk.
        db.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE").unwrap();
        let migration = schema::for_sqlite(schema::MIGRATIONS[version]);
        for statement in migration.split(';').filter(|statement| !statement.trim().is_empty()) {
            db.execute_batch(statement).unwrap();
            killed += 1;
            let left = aside.path().join(format!("killed {killed}"));
            as_if_killed(&folder, &left);
            drop(Sqlite::open(&left, Duration::ZERO).unwrap());
            let found: i64 = Connection::open(left.join(FILE))
                .unwrap()
                .query_row("PRAGMA user_version", [], |row| row.get(0))
                .unwrap();
            assert_eq!(found, schema::VERSION);
            let after = verify(&left).unwrap();
            assert_eq!(after, if version == 0 { Vec::new() } else { before.clone() });
        }
    }
    assert!(killed > 10, "killed {killed} times");
}

/// A release and the verdict on the released item in one transaction: the probability is that of
/// the pick.
fn a_verdict_on_what_was_just_given_back_keeps_the_probability_of_its_pick(kind: Kind) {
    let mut life = plain(kind, Config { random_check_rate: 1.0, random_check_share: 1.0, ..config() });
    life.writer.refold_if_stale().unwrap();
    // The items added from now on are drawn with the probability 0.5, and not with 1.
    let config = crate::ConfigChange { random_check_rate: Some(0.5), ..crate::ConfigChange::default() };
    life.ask(Request::Configure(config)).unwrap();
    let items: Vec<NewItem> = (0..40).map(|i| item(&format!("y{i}"), 1.0)).collect();
    life.ask(Request::Items(items)).unwrap();
    let random_check = claimed(life.ask(claim("ann", 30))).into_iter().find(|claim| claim.probability == 0.5);
    let random_check = random_check.expect("one of forty is drawn");
    let release = Request::Release { reviewer: "ann".into(), items: vec![random_check.item.clone()] };
    let verdicts = Request::Verdicts(vec![verdict("v", &random_check.item, random_check.token)]);
    let calls = [Call::new("ann", release), Call::new("ann", verdicts)];
    for answer in life.writer.answer(&calls) {
        answer.unwrap();
    }
    let queue = life.writer.queue();
    let written = life.writer.store().verdicts(queue, &["v".to_string()]).unwrap().remove(0);
    assert_eq!((written.probability, written.explored), (0.5, true));
    assert_sound(&life);
}

fn what_an_appeal_has_decided_cannot_be_taken_back_by_the_first_reviewer(kind: Kind) {
    let mut life = plain(kind, Config { random_check_rate: 0.0, ..config() });
    let first = claimed(life.ask(claim("ann", 1))).remove(0);
    life.ask(Request::Verdicts(vec![verdict("v", &first.item, first.token)])).unwrap();
    let appeal = NewVerdict {
        id: "court".into(),
        item: first.item,
        reviewer: "court".into(),
        reward: 0.0,
        source: VerdictSource::Appeal,
        ..NewVerdict::default()
    };
    life.ask(Request::Verdicts(vec![appeal])).unwrap();
    let error = life.ask(Request::Undo { reviewer: "ann".into(), verdict: "v".into() }).unwrap_err();
    assert!(error.to_string().contains("by an appeal"), "{error}");
    assert_sound(&life);
}

//! Tests with a PostgreSQL that goes away, and with commits that get no answer, over connections
//! that are really cut.

use super::fixture::{Home, Kind, asked, tell};
use super::proxy::{Commit, Proxy};
use super::random_life::config;
use crate::pg_connection::Address;
use crate::queue_writer::QueueWriter;
use crate::rows::StoredAnswer;
use crate::store::Store;
use crate::store::postgres::Postgres;
use crate::{Answer, Call, Config, Error, Filter, NewItem, Request, Service, StoreLocation};
use std::time::{Duration, Instant};

const NEEDS: &str = "run this by scripts/postgres run";

fn item(id: &str, a: f64) -> NewItem {
    NewItem { id: id.into(), scores: [("a".to_string(), Some(a))].into(), ..NewItem::default() }
}

fn plain() -> Config {
    Config { random_check_rate: 0.0, ageing_per_day: 0.0, policy: "average".parse().unwrap(), ..config() }
}

fn items(from: u32, to: u32) -> Request {
    Request::Items((from..to).map(|i| item(&format!("x{i}"), f64::from(i))).collect())
}

fn claim(reviewer: &str, k: u32) -> Call {
    Call::new(reviewer, Request::Claim { reviewer: reviewer.into(), k: Some(k), filter: Filter::default() })
}

fn names(answer: Result<Answer, Error>) -> Vec<String> {
    let Answer::Claims { claims, .. } = answer.unwrap() else { panic!("no claims") };
    claims.into_iter().map(|claim| claim.item).collect()
}

/// A queue writer connected through a proxy, with six items.
fn behind_a_proxy(patience: Duration) -> (Home, Proxy, QueueWriter) {
    let home = Home::new(Kind::Postgres);
    let proxy = Proxy::before(home.url());
    let mut store = Postgres::open(Address::parse(&proxy.url).unwrap(), patience).expect(NEEDS);
    let now = store.now().unwrap();
    let queue = crate::create::create(&mut store, "q", &plain(), "test", now).unwrap();
    let mut writer = QueueWriter::open(Box::new(store), queue.id).unwrap();
    writer.answer(&[Call::new("test", items(0, 6))]).remove(0).unwrap();
    (home, proxy, writer)
}

fn sound(home: &Home) {
    for checked in crate::verify(&home.place).unwrap() {
        assert!(checked.is_ok(), "{checked:#?}");
    }
}

mod postgres {
    use super::*;

    #[test]
    #[ignore = "needs PostgreSQL"]
    fn a_commit_whose_answer_is_lost_is_found_in_the_log_even_if_it_arrives_late() {
        for what in [Commit::Unanswered, Commit::Late, Commit::Lost] {
            let (home, proxy, mut writer) = behind_a_proxy(Duration::from_secs(20));
            proxy.on_next_commit(what);
            let answer = writer.answer(&[claim("ann", 2)]).remove(0);
            assert!(proxy.has_cut());
            if what == Commit::Lost {
                let error = answer.unwrap_err();
                assert!(matches!(error, Error::Database(_)), "{error}");
                assert!(error.to_string().contains("nothing was changed"), "{error}");
                assert_eq!(names(writer.answer(&[claim("bob", 2)]).remove(0)), ["x5", "x4"]);
            } else {
                assert_eq!(names(answer), ["x5", "x4"], "{what:?}");
                assert_eq!(names(writer.answer(&[claim("bob", 2)]).remove(0)), ["x3", "x2"]);
            }
            let there = asked(home.url(), "SELECT COUNT(*)::text FROM log WHERE kind = 'claim'");
            assert_eq!(there, if what == Commit::Lost { "1" } else { "2" }, "{what:?}");
            sound(&home);
        }
    }

    #[test]
    #[ignore = "needs PostgreSQL"]
    fn a_backend_that_is_killed_while_it_commits_has_not() {
        let (home, _proxy, mut writer) = behind_a_proxy(Duration::from_secs(20));
        // A slow check makes the commit take two seconds.
        tell(
            home.url(),
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(2); RETURN NULL; END $$",
        );
        tell(
            home.url(),
            "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON log DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()",
        );
        let url = home.url().to_string();
        let killer = std::thread::spawn(move || {
            let kill = "SELECT COALESCE(bool_or(pg_terminate_backend(pid)), false)::text FROM pg_stat_activity WHERE datname = current_database() AND query = 'COMMIT' AND state = 'active'";
            while asked(&url, kill) == "false" {
                std::thread::sleep(Duration::from_millis(20));
            }
            tell(&url, "DROP TRIGGER slow ON log");
        });
        let error = writer.answer(&[claim("ann", 2)]).remove(0).unwrap_err();
        killer.join().unwrap();
        assert!(
            matches!(error, Error::Database(_)) && error.to_string().contains("nothing was changed"),
            "{error}"
        );
        assert_eq!(names(writer.answer(&[claim("bob", 2)]).remove(0)), ["x5", "x4"]);
        sound(&home);
    }

    #[test]
    #[ignore = "needs PostgreSQL"]
    fn a_database_that_goes_away_is_waited_out_or_who_asks_is_refused_and_nothing_is_lost() {
        // With patience, requests wait.
        let (home, proxy, mut writer) = behind_a_proxy(Duration::from_secs(30));
        proxy.down();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(1500));
                proxy.up();
            });
            assert_eq!(names(writer.answer(&[claim("ann", 2)]).remove(0)), ["x5", "x4"]);
        });
        drop(writer);
        sound(&home);

        // Without patience, requests fail, at once if the outage is known already. Afterwards they
        // work again.
        let place = StoreLocation::Database(proxy.url.clone());
        let service = Service::open(&place, Duration::ZERO).unwrap();
        let queue = service.queue("q").unwrap();
        proxy.down();
        let mut refused = 0;
        for turn in 0..8 {
            let error = queue.ask(Call::new("test", items(100 + turn, 101 + turn))).unwrap_err();
            assert!(error.is_transient() && error.to_string().contains("nothing was changed"), "{error}");
            refused += 1;
        }
        assert!(Service::open(&place, Duration::ZERO).is_err_and(|error| matches!(error, Error::Open(_))));
        proxy.up();
        let began = Instant::now();
        while let Err(error) = queue.ask(Call::new("test", items(200, 201))) {
            assert!(error.is_transient() && began.elapsed() < Duration::from_secs(30), "{error}");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(refused, 8);
        assert_eq!(service.names().unwrap(), ["q"], "the service itself is back too");
        assert_eq!(
            asked(home.url(), "SELECT COUNT(*)::text FROM items"),
            "7",
            "refused items were not added"
        );
        drop((queue, service));
        sound(&home);
    }

    #[test]
    #[ignore = "needs PostgreSQL"]
    fn a_node_that_stops_in_mid_transaction_holds_up_the_others_for_seconds_and_comes_too_late() {
        let (home, _proxy, mut writer) = behind_a_proxy(Duration::from_secs(20));
        let mut stopped = Postgres::open(Address::parse(home.url()).unwrap(), Duration::ZERO).unwrap();
        stopped.begin(writer.queue()).unwrap();
        assert_eq!(
            names(writer.answer(&[claim("ann", 2)]).remove(0)),
            ["x5", "x4"],
            "the stopped node has lost the lock"
        );
        let answer = StoredAnswer { key: "key".into(), hash: vec![1], answer: "null".into() };
        let late = stopped.write(writer.queue(), 1, &[], &[answer], 0).and_then(|()| stopped.commit());
        assert!(matches!(late, Err(Error::Database(_))), "{late:?}");
        sound(&home);
    }

    #[test]
    #[ignore = "needs PostgreSQL"]
    fn a_node_that_nobody_asks_sees_what_others_write() {
        let home = Home::new(Kind::Postgres);
        let open = || {
            let service = Service::open(&home.place, Duration::ZERO).unwrap();
            let queue = service.create("q", &plain()).unwrap();
            (service, queue)
        };
        let (busy, idle) = (open(), open());
        busy.1.ask(Call::new("test", items(0, 6))).unwrap();
        let there = busy.1.status().unwrap();
        let began = Instant::now();
        while idle.1.status().unwrap().head < there.head {
            assert!(began.elapsed() < Duration::from_mins(1), "the idle node never looked");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(idle.1.status().unwrap().counts, there.counts);
    }

    #[test]
    #[ignore = "needs PostgreSQL"]
    fn commits_are_synced_whatever_the_database_is_set_to() {
        let home = Home::new(Kind::Postgres);
        let name = asked(home.url(), "SELECT current_database()::text");
        tell(home.url(), &format!("ALTER DATABASE {name} SET synchronous_commit = off"));
        assert_eq!(asked(home.url(), "SELECT current_setting('synchronous_commit')"), "off");
        let mut store = Postgres::open(Address::parse(home.url()).unwrap(), Duration::ZERO).unwrap();
        assert_eq!(store.setting("synchronous_commit"), "on");
        store.reconnect().unwrap();
        assert_eq!(store.setting("synchronous_commit"), "on");
        for (setting, value) in [("lock_timeout", "20s"), ("idle_in_transaction_session_timeout", "5s")] {
            assert_eq!(store.setting(setting), value);
        }
        assert_eq!(store.setting("default_transaction_isolation"), "read committed");
    }

    #[test]
    #[ignore = "needs PostgreSQL"]
    fn a_transaction_in_which_something_failed_cannot_be_committed() {
        let home = Home::new(Kind::Postgres);
        let mut store = Postgres::open(Address::parse(home.url()).unwrap(), Duration::ZERO).unwrap();
        let now = store.now().unwrap();
        let queue = crate::create::create(&mut store, "q", &plain(), "test", now).unwrap();
        store.begin(queue.id).unwrap();
        // A day before this time is no valid number for the database.
        assert!(store.tidy(queue.id, i64::MIN).is_err());
        let error = store.commit().unwrap_err();
        assert!(matches!(error, Error::Database(_)), "{error}");
        assert!(store.begin(queue.id).is_ok());
    }
}

/// A database has few connections, but a server may have a thousand queues.
#[test]
#[ignore = "needs PostgreSQL: scripts/postgres run cargo test -p jurybox-server postgres -- --ignored"]
fn on_postgres_many_queues_on_two_nodes_share_a_few_connections() {
    // More queues than the 50 connections that `scripts/postgres` allows.
    const QUEUES: u32 = 60;
    let home = Home::new(Kind::Postgres);
    let nodes: Vec<Service> =
        (0..2).map(|_| Service::open_with(&home.place, Duration::ZERO, 3).unwrap()).collect();
    for n in 0..QUEUES {
        nodes[0].create(&format!("q{n}"), &plain()).unwrap();
    }
    let given = |n: u32| {
        let node = &nodes[n as usize % 2];
        let queue = node.queue(&format!("q{n}")).unwrap();
        queue.ask(Call::new("test", items(0, 3))).unwrap();
        let picked = names(queue.ask(claim("ann", 2)));
        queue.activity(0, 10).unwrap();
        picked
    };
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..QUEUES).map(|n| scope.spawn(move || given(n))).collect();
        for one in asking {
            assert_eq!(one.join().unwrap(), ["x2", "x1"]);
        }
    });
    let many =
        asked(home.url(), "SELECT COUNT(*)::text FROM pg_stat_activity WHERE datname = current_database()");
    // Three for each node, and the one that asks.
    assert!(many.parse::<u32>().unwrap() <= 7, "{many} connections");
    assert!(nodes.iter().all(|node| node.failing_queues().is_empty()));
    sound(&home);
}

/// In transaction mode, a pooler mixes up the prepared statements of its clients.
#[test]
#[ignore = "needs PostgreSQL, and pgbouncer: scripts/postgres run cargo test -p jurybox-server postgres -- --ignored"]
fn on_postgres_a_pooler_in_transaction_mode_is_refused_by_name_and_one_in_session_mode_serves() {
    if std::process::Command::new("pgbouncer").arg("--version").output().is_err() {
        return;
    }
    let home = Home::new(Kind::Postgres);
    for mode in ["transaction", "session"] {
        let (mut pooler, url, _folder) = pgbouncer(home.url(), mode);
        let opened = Service::open(StoreLocation::Database(url), Duration::from_secs(10));
        let told = opened.map(|service| {
            let queue = service.create("q", &plain()).unwrap();
            queue.ask(Call::new("test", items(0, 3))).unwrap();
            names(queue.ask(claim("ann", 2)))
        });
        pooler.kill().unwrap();
        pooler.wait().unwrap();
        match told {
            Err(error) => {
                assert!(mode == "transaction" && error.to_string().contains("session mode"), "{error}");
            }
            Ok(picked) => assert_eq!((mode, picked), ("session", vec!["x2".to_string(), "x1".into()])),
        }
    }
    sound(&home);
}

/// A pooler in front of a database, in one of its modes.
fn pgbouncer(url: &str, mode: &str) -> (std::process::Child, String, tempfile::TempDir) {
    let (_, rest) = url.split_once('@').unwrap();
    let (server, database) = rest.split_once('/').unwrap();
    let (host, port) = server.split_once(':').unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pooler.ini");
    let settings = format!(
        "[databases]\n* = host={host} port={port} user=jurybox\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {free}\nauth_type = any\nunix_socket_dir =\npool_mode = {mode}\n"
    );
    std::fs::write(&file, settings).unwrap();
    let mut command = std::process::Command::new("pgbouncer");
    command.arg("-q");
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).unwrap();
        // pgbouncer refuses to run as root.
        if folder.path().metadata().unwrap().uid() == 0 {
            command.args(["-u", "postgres"]);
        }
    }
    let pooler = command.arg(&file).stderr(std::process::Stdio::null()).spawn().unwrap();
    (pooler, format!("postgres://jurybox@127.0.0.1:{free}/{database}"), folder)
}

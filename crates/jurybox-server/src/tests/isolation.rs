//! Tests that trouble with one queue does not affect others: deletion, damaged records, panics.

use super::fixture::{Home, Kind, on_both};
use crate::pg_connection::Address;
use crate::queue_writer::QueueWriter;
use crate::store::postgres::Postgres;
use crate::store::sqlite::Sqlite;
use crate::store::{Fault, Store};
use crate::{Answer, Call, Config, Error, NewItem, Request, Service, StoreLocation};
use jurybox::Evaluators;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

on_both!(
    a_queue_made_anew_is_another_whoever_still_asks_the_old_one,
    a_queue_that_cannot_be_read_is_named_and_the_others_are_served,
    a_clerk_that_stops_takes_no_other_along,
    what_has_had_its_time_is_deleted_while_a_queue_is_served,
    a_full_disk_is_a_trouble_until_there_is_room,
);

fn of(evaluators: &[&str]) -> Config {
    Config::new(Evaluators::new(evaluators.iter().copied()).unwrap())
}

fn item(id: &str, evaluators: &[&str]) -> NewItem {
    let scores = evaluators.iter().map(|name| ((*name).to_string(), Some(0.5))).collect();
    NewItem {
        id: id.into(),
        scores,
        payload: Some(serde_json::json!({"text": id}).into()),
        ..NewItem::default()
    }
}

fn a_queue_made_anew_is_another_whoever_still_asks_the_old_one(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let (one, three) = (["a"], ["a", "b", "c"]);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for poster in 0..2 {
            let (service, done) = (&service, &done);
            scope.spawn(move || {
                let mut turn = 0;
                while !done.load(Ordering::Relaxed) {
                    turn += 1;
                    let Ok(queue) = service.queue("p") else { continue };
                    for evaluators in [&one[..], &three[..]] {
                        let new = item(&format!("{poster}-{turn}"), evaluators);
                        // Refused if the queue is gone or has other evaluators.
                        let _ = queue.ask(Call::new("intake", Request::Items(vec![new])));
                    }
                }
            });
        }
        let mut last = None;
        for turn in 0..12 {
            let evaluators = if turn % 2 == 0 { &one[..] } else { &three[..] };
            let queue = service.create("p", &of(evaluators)).unwrap();
            let names: Vec<String> =
                queue.status().unwrap().config.evaluators.names().map(String::from).collect();
            assert_eq!(names, evaluators);
            if let Some(old) = last.replace(queue) {
                let old: crate::Queue = old;
                assert!(old.status().is_err(), "the deleted queue's writer has stopped");
            }
            std::thread::sleep(Duration::from_millis(20));
            service.delete("p").unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    let queue = service.create("p", &of(&one)).unwrap();
    let taken = queue.ask(Call::new("intake", Request::Items(vec![item("x", &one)]))).unwrap();
    assert!(matches!(taken, Answer::Items { accepted: 1, .. }), "{taken:?}");
    let checked = crate::verify(&home.place).unwrap();
    assert!(checked.len() == 1 && checked[0].is_ok(), "{checked:#?}");
}

fn a_queue_that_cannot_be_read_is_named_and_the_others_are_served(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    for name in ["bad", "good"] {
        let queue = service.create(name, &of(&["a"])).unwrap();
        queue.ask(Call::new("intake", Request::Items(vec![item("x", &["a"])]))).unwrap();
    }
    drop(service);
    home.change(
        "UPDATE items SET scores = zeroblob(24) WHERE queue = (SELECT id FROM queues WHERE name = 'bad')",
    );
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let error = service.queue("bad").err().expect("three scores, and one evaluator");
    assert!(error.to_string().contains("item 1 has 3 scores"), "{error}");
    let good = service.queue("good").unwrap();
    good.ask(Call::new("intake", Request::Items(vec![item("y", &["a"])]))).unwrap();
    let failing_queues = service.failing_queues();
    assert!(failing_queues.len() == 1 && failing_queues[0].0 == "bad", "{failing_queues:?}");
    for checked in crate::verify(&home.place).unwrap() {
        assert_eq!(checked.is_ok(), checked.queue == "good", "{checked:#?}");
    }
    service.delete("bad").unwrap();
    assert!(service.failing_queues().is_empty());
}

fn a_clerk_that_stops_takes_no_other_along(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let queue = service.create("q", &of(&["a"])).unwrap();
    let other = service.create("other", &of(&["a"])).unwrap();
    assert!(service.failing_queues().is_empty());
    queue.run_on_writer(Box::new(|_| panic!("out of its depth"))).unwrap();
    while !matches!(queue.status(), Err(Error::Stopped(_))) {
        std::thread::yield_now();
    }
    let error = service.queue("q").err().expect("it is left alone for a while");
    assert!(error.to_string().contains("out of its depth"), "{error}");
    assert_eq!(service.failing_queues().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["q"]);
    other.ask(Call::new("intake", Request::Items(vec![item("x", &["a"])]))).unwrap();
    service.create("third", &of(&["a"])).unwrap();
    service.delete("q").unwrap();
    service.create("q", &of(&["a"])).unwrap().status().unwrap();
}

fn what_has_had_its_time_is_deleted_while_a_queue_is_served(kind: Kind) {
    let home = Home::new(kind);
    let config = Config { payload_days: Some(0), ..of(&["a"]) };
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let queue = service.create("q", &config).unwrap();
    queue.ask(Call::new("intake", Request::Items(vec![item("x", &["a"])]))).unwrap();
    drop((queue, service));
    // Moves the log's entries and the payload's expiry two hours back. The queue's own time stays.
    home.change("UPDATE log SET at = at - 7200000000");
    home.change("UPDATE payloads SET expires = expires - 7200000000");
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let queue = service.queue("q").unwrap();
    loop {
        let (tell, told) = std::sync::mpsc::channel();
        let look = move |writer: &mut QueueWriter| {
            let queue = writer.queue();
            drop(tell.send(writer.store_to_read().shown(queue, &[1])));
        };
        queue.run_on_writer(Box::new(look)).unwrap();
        if told.recv().unwrap().unwrap()[0].2.is_none() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn a_full_disk_is_a_trouble_until_there_is_room(kind: Kind) {
    let home = Home::new(kind);
    let (store, fault): (Box<dyn Store>, _) = match &home.place {
        StoreLocation::Folder(folder) => {
            let store = Sqlite::open(folder, Duration::ZERO).unwrap();
            let fault = store.fault.clone();
            (Box::new(store), fault)
        }
        StoreLocation::Database(url) => {
            let store = Postgres::open(Address::parse(url).unwrap(), Duration::ZERO).unwrap();
            let fault = store.fault.clone();
            (Box::new(store), fault)
        }
    };
    let service = Service::with_store(store, Duration::ZERO).unwrap();
    let queue = service.create("q", &of(&["a"])).unwrap();
    let add = |id: &str| queue.ask(Call::new("intake", Request::Items(vec![item(id, &["a"])])));
    add("x").unwrap();
    let full = || service.failing_queues().iter().any(|(_, error)| error.code() == "disk_full");
    assert!(!full());
    *fault.lock().unwrap() = Some(Fault::DiskFull);
    let error = add("y").unwrap_err();
    assert_eq!((error.code(), error.is_transient()), ("disk_full", true), "{error}");
    assert!(full());
    // A request that writes nothing does not prove that there is room.
    let nothing = Request::Release { reviewer: "ann".into(), items: Vec::new() };
    for _ in 0..3 {
        let _ = queue.ask(Call::new("ann", nothing.clone()));
        assert!(full());
    }
    *fault.lock().unwrap() = None;
    let began = Instant::now();
    while full() {
        assert!(began.elapsed() < Duration::from_mins(1), "nobody looked whether there is room");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(matches!(add("y").unwrap(), Answer::Items { accepted: 1, .. }), "the refused item was not added");
}

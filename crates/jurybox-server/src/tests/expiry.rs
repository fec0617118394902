//! Tests of changes while nobody sends requests: leases that end, and a database file that is
//! deleted.

use super::fixture::{Home, Kind, on_both};
use super::random_life::{Life, config};
use crate::store::sqlite::FILE;
use crate::{Call, Error, Filter, NewItem, Request, Service};
use std::time::Duration;

on_both!(a_lease_that_ran_out_is_in_nobodys_hands_though_nothing_has_happened_since);

fn item(id: &str) -> NewItem {
    NewItem { id: id.into(), scores: [("a".to_string(), Some(1.0))].into(), ..NewItem::default() }
}

fn a_lease_that_ran_out_is_in_nobodys_hands_though_nothing_has_happened_since(kind: Kind) {
    let mut life = Life::new(kind, 1, &config());
    life.ask(Request::Items(vec![item("x"), item("y"), item("z")])).unwrap();
    life.writer.refold_if_stale().unwrap();
    life.ask(Request::Claim { reviewer: "ann".into(), k: Some(3), filter: Filter::default() }).unwrap();
    let counts = |life: &mut Life| {
        let counts = life.writer.counts();
        (counts.pending, counts.leased)
    };
    let in_turn =
        |life: &mut Life| life.writer.as_of_now(|live, _| live.free_items_in_order(&Filter::default(), 0, 9));
    let oldest = |life: &mut Life| life.writer.as_of_now(|live, _| live.workload(0, 0).oldest.is_some());
    let before = life.writer.replica.live.to_bytes();
    assert_eq!((counts(&mut life), in_turn(&mut life)), ((0, 3), vec![]));
    assert!(!oldest(&mut life));
    life.pass(i64::from(config().lease_seconds) + 1);
    assert_eq!((counts(&mut life), in_turn(&mut life)), ((3, 0), vec![1, 2, 3]));
    assert!(oldest(&mut life));
    assert!(life.writer.replica.live.to_bytes() == before, "reading changes nothing");
}

#[test]
fn nothing_is_taken_in_once_the_file_is_deleted() {
    let home = Home::new(Kind::Sqlite);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let queue = service.create("q", &config()).unwrap();
    let file = home.folder().join(FILE);
    std::fs::remove_file(&file).unwrap();
    let asked = queue.ask(Call::new("ann", Request::Items(vec![item("x")])));
    assert!(matches!(asked, Err(Error::FileGone)), "{asked:?}");
    assert!(matches!(service.names(), Err(Error::FileGone)), "the readiness check reports it");
    assert!(!file.exists(), "no empty file was created");
    // A new file in the place of the deleted one is another file.
    std::fs::write(&file, "").unwrap();
    assert!(matches!(service.names(), Err(Error::FileGone)));
}

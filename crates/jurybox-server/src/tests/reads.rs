//! Looking at a queue while it is served, on both databases: what is told is what is there, erased or not; and keys, and the end of
//! a queue.

use super::home::{Home, Kind, on_both};
use crate::{Answer, Call};
use crate::{Change, Config, Error, Filter, Keyring, NewItem, NewVerdict, Request, Role, Service, Stands};
use jurybox::Evaluators;
use std::time::Duration;

on_both!(
    a_queue_is_shown_as_it_is,
    a_preview_is_what_the_change_then_does,
    keys_are_kept_and_taken_away,
    a_queue_that_is_deleted_leaves_nothing,
);

fn config() -> Config {
    let evaluators = Evaluators::new(["a", "b"]).unwrap();
    Config { policy: "average".parse().unwrap(), undo_seconds: 0, ..Config::new(evaluators) }
}

fn item(id: &str, a: f64, b: Option<f64>) -> NewItem {
    let scores = [("a".to_string(), Some(a)), ("b".to_string(), b)].into();
    NewItem { id: id.into(), scores, ..NewItem::default() }
}

fn filled(home: &Home) -> (Service, crate::Queue) {
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let queue = service.create_for("ann", "q", &config()).unwrap();
    let items = vec![item("low", 0.1, Some(0.9)), item("high", 0.9, Some(0.2)), item("gap", 0.6, None)];
    queue.ask(Call::new("ann", Request::Items(items))).unwrap();
    (service, queue)
}

fn ids(listed: &[crate::Listed]) -> Vec<&str> {
    listed.iter().map(|item| item.id.as_str()).collect()
}

fn a_queue_is_shown_as_it_is(kind: Kind) {
    let home = Home::new(kind);
    let (_service, queue) = filled(&home);
    assert_eq!(ids(&queue.ranked(Filter::default(), 0, 9).unwrap().1), ["gap", "high", "low"]);
    assert_eq!(ids(&queue.ranked(Filter::default(), 1, 1).unwrap().1), ["high"]);
    let claim = Request::Claim { reviewer: "ann".into(), k: Some(1), filter: Filter::default() };
    let Answer::Claims { claims, .. } = queue.ask(Call::new("ann", claim)).unwrap() else { panic!() };
    assert_eq!(queue.held("ann").unwrap()[0].item, "gap");
    let verdict = NewVerdict {
        id: "v".into(),
        item: "high".into(),
        reviewer: "bob".into(),
        reward: 1.0,
        ..NewVerdict::default()
    };
    queue.ask(Call::new("bob", Request::Verdicts(vec![verdict]))).unwrap();
    let listed = queue.listed(0, 9).unwrap();
    let stands: Vec<(&str, Stands)> = listed.iter().map(|item| (item.id.as_str(), item.stands)).collect();
    assert_eq!(stands, [("low", Stands::Pending), ("high", Stands::Closed), ("gap", Stands::Leased)]);
    assert_eq!(ids(&queue.listed(1, 1).unwrap()), ["high"]);
    let told = queue.explained("gap").unwrap().unwrap();
    assert_eq!((told.item.value, told.item.scores), (Some(0.6), vec![Some(0.6), None]));
    assert_eq!(told.leases[0], ("ann".into(), claims[0].until));
    assert_eq!(told.contributions.unwrap().each, [0.6, 0.0]);
    assert!(queue.explained("nobody").unwrap().is_none() && queue.explained("\0").unwrap().is_none());
    assert_eq!(queue.model().unwrap().evaluators()[1].coverage, Some(0.5));
    let found = queue.found().unwrap();
    assert_eq!((found.items, found.looked_at, found.caught), (3, 1, 1.0));

    // What was erased is not told of, wherever it was.
    queue.ask(Call::new("ann", Request::Erase { items: vec!["high".into(), "gap".into()] })).unwrap();
    assert_eq!(ids(&queue.listed(0, 9).unwrap()), ["low"]);
    let happened = queue.happened(0, 100).unwrap();
    let kinds: Vec<&str> = happened.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, ["create", "items", "claim", "verdicts", "erase"]);
    assert_eq!((happened[1].items.as_slice(), happened[3].verdicts.len()), (&["low".to_string()][..], 0));
    assert_eq!(queue.happened(4, 1).unwrap()[0].seq, 5);
    assert!(queue.happened(5, 1).unwrap().is_empty());
    assert_eq!(queue.found().unwrap().caught, 0.0);
}

fn a_preview_is_what_the_change_then_does(kind: Kind) {
    let home = Home::new(kind);
    let (_service, queue) = filled(&home);
    let change = Change { evaluators: Some(Evaluators::new(["b"]).unwrap()), ..Change::default() };
    let (now, then) = queue.preview(change.clone(), 2).unwrap();
    assert_eq!((now, &then), (vec!["gap".into(), "high".into()], &vec!["low".to_string(), "high".into()]));
    assert_eq!(queue.standing().unwrap().config, config(), "nothing has changed");
    queue.ask(Call::new("ann", Request::Configure(change))).unwrap();
    let patience = std::time::Instant::now();
    while ids(&queue.ranked(Filter::default(), 0, 2).unwrap().1) != then {
        assert!(patience.elapsed() < Duration::from_mins(1), "it is never ranked anew");
        std::thread::sleep(Duration::from_millis(20));
    }
    let refused = queue.preview(Change { k: Some(0), ..Change::default() }, 2).unwrap_err();
    assert!(matches!(refused, Error::Refused(_)), "{refused}");
}

fn keys_are_kept_and_taken_away(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let mut keyring = Keyring::open(&home.place).unwrap();
    assert!(!service.had_keys().unwrap());
    let secret = keyring.add("one", &[Role::Write, Role::Read, Role::Write], &["q".into()]).unwrap();
    keyring.add("two", &[Role::Admin], &[]).unwrap();
    assert!(matches!(keyring.add("one", &[Role::Read], &[]), Err(Error::Refused(_))));
    assert!(keyring.add("", &[Role::Read], &[]).is_err() && keyring.add("three", &[], &[]).is_err());
    let keys = service.keys().unwrap();
    let told: Vec<(&str, &[Role])> =
        keys.iter().map(|key| (key.name.as_str(), key.roles.as_slice())).collect();
    assert_eq!(told, [("one", &[Role::Read, Role::Write][..]), ("two", &[Role::Admin][..])]);
    assert_eq!(
        (keys[0].hash, keys[0].queues.as_slice()),
        (crate::hash_of_secret(&secret), &["q".to_string()][..])
    );
    assert!(keyring.revoke("one").unwrap() && !keyring.revoke("one").unwrap());
    assert_eq!(service.keys().unwrap().len(), 1);
    assert!(keyring.revoke("two").unwrap() && !keyring.revoke("").unwrap());
    // That there were keys is known even then.
    assert!(service.keys().unwrap().is_empty() && keyring.list().unwrap().is_empty());
    assert!(service.had_keys().unwrap());
    keyring.add("two", &[Role::Read], &[]).unwrap();
    assert_eq!(service.keys().unwrap().len(), 1);
}

fn a_queue_that_is_deleted_leaves_nothing(kind: Kind) {
    let home = Home::new(kind);
    let (service, queue) = filled(&home);
    service.create("other", &config()).unwrap();
    service.delete("q").unwrap();
    assert!(matches!(service.queue("q"), Err(Error::NoQueue { .. })));
    assert!(matches!(service.delete("q"), Err(Error::NoQueue { .. })));
    let late = queue.ask(Call::new("ann", Request::Items(vec![item("late", 0.1, None)])));
    assert!(matches!(late, Err(Error::Closed | Error::NoQueue { .. })), "{late:?}");
    assert_eq!(service.names().unwrap(), ["other"]);
    let again = service.create("q", &config()).unwrap();
    assert_eq!(again.standing().unwrap().counts.items, 0);
    for table in ["items", "claims", "verdicts", "payloads", "leases", "rescored", "skips", "idempotency"] {
        assert_eq!(home.change(&format!("DELETE FROM {table}")), 0, "{table}");
    }
}

//! Tests of reading a queue while it is served, on both databases; of keys, and of deleting queues.

use super::fixture::{Home, Kind, on_both};
use super::random_life::verdict;
use crate::{Answer, Call};
use crate::{
    Config, ConfigChange, Error, Filter, ItemState, Keyring, NewItem, NewKey, NewVerdict, Request, Role,
    Service,
};
use jurybox::Evaluators;
use std::time::Duration;

on_both!(
    a_queue_is_shown_as_it_is,
    a_report_is_about_all_that_was_drawn,
    a_report_counts_what_a_lower_quorum_decided,
    what_comes_back_undecided_and_what_was_known_before_does_not_flatter,
    who_says_the_same_is_asked_of_all_that_came_in,
    a_preview_is_what_the_change_then_does,
    keys_are_kept_and_taken_away,
    a_key_keeps_whose_it_is_how_long_it_opens_and_when_it_did,
    a_queue_that_is_deleted_leaves_nothing,
    an_entry_says_what_was_taken_back_and_what_was_set,
    an_item_has_its_history_and_a_verdict_after_another_has_seen,
    who_took_a_verdict_back_has_seen_however_the_item_came_back
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

fn ids(listed: &[crate::ListedItem]) -> Vec<&str> {
    listed.iter().map(|item| item.id.as_str()).collect()
}

fn a_queue_is_shown_as_it_is(kind: Kind) {
    let home = Home::new(kind);
    let (_service, queue) = filled(&home);
    assert_eq!(ids(&queue.ranked_items(Filter::default(), 0, 9).unwrap().1), ["gap", "high", "low"]);
    assert_eq!(ids(&queue.ranked_items(Filter::default(), 1, 1).unwrap().1), ["high"]);
    let claim = Request::Claim { reviewer: "ann".into(), k: Some(1), filter: Filter::default() };
    let Answer::Claims { claims, .. } = queue.ask(Call::new("ann", claim)).unwrap() else { panic!() };
    assert_eq!(queue.held("ann").unwrap().0[0].item, "gap");
    let verdict = NewVerdict {
        id: "v".into(),
        item: "high".into(),
        reviewer: "bob".into(),
        reward: 1.0,
        ..NewVerdict::default()
    };
    queue.ask(Call::new("bob", Request::Verdicts(vec![verdict]))).unwrap();
    let listed = queue.list_items(0, 9).unwrap();
    let stands: Vec<(&str, ItemState)> = listed.iter().map(|item| (item.id.as_str(), item.stands)).collect();
    assert_eq!(
        stands,
        [("low", ItemState::Pending), ("high", ItemState::Closed), ("gap", ItemState::Leased)]
    );
    assert_eq!(ids(&queue.list_items(1, 1).unwrap()), ["high"]);
    let told = queue.explain_item("gap").unwrap().unwrap();
    assert_eq!((told.item.value, told.item.scores), (Some(0.6), vec![Some(0.6), None]));
    assert_eq!(told.leases[0], ("ann".into(), claims[0].until));
    assert_eq!(told.contributions.unwrap().each, [0.6, 0.0]);
    assert!(queue.explain_item("nobody").unwrap().is_none() && queue.explain_item("\0").unwrap().is_none());
    // `b` has scored two of three items.
    let evaluated = queue.evaluator_summaries(&queue.model().unwrap()).unwrap();
    assert_eq!(evaluated[1].coverage, Some(2.0 / 3.0));
    let found = queue.report().unwrap();
    assert_eq!((found.items, found.reviewed, found.found), (3, 1, 1.0));
    // Bob had not claimed the item.
    assert_eq!((found.picked.items, found.unclaimed.items), (0, 1));
    assert!(found.missed.is_none() && found.unknown.is_some());

    // Erased items do not appear anywhere.
    queue.ask(Call::new("ann", Request::Erase { items: vec!["high".into(), "gap".into()] })).unwrap();
    assert_eq!(ids(&queue.list_items(0, 9).unwrap()), ["low"]);
    // On a slow machine a `settle` entry may have been written in the meantime.
    let settles = |event: &crate::ActivityEntry| event.kind == "settle";
    let activity: Vec<_> =
        queue.activity(0, 100).unwrap().into_iter().filter(|event| !settles(event)).collect();
    let kinds: Vec<&str> = activity.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, ["create", "items", "claim", "verdicts", "erase"]);
    assert_eq!((activity[1].items.as_slice(), activity[3].verdicts.len()), (&["low".to_string()][..], 0));
    assert_eq!((activity[4].items.len(), activity[4].many), (0, 2), "the number of erased items is shown");
    let last = activity[4].seq;
    assert_eq!(queue.activity(last - 1, 1).unwrap()[0].seq, last);
    assert!(queue.activity(last, 9).unwrap().iter().all(settles));
    let found = queue.report().unwrap();
    assert_eq!((found.items, found.reviewed, found.found), (1, 0, 0.0));
}

fn an_item_has_its_history_and_a_verdict_after_another_has_seen(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(home.place.clone(), Duration::from_secs(5)).unwrap();
    let queue = service.create("q", &Config { undo_seconds: 60, ..config() }).unwrap();
    let ask = |request| queue.ask(Call::new("ann", request)).unwrap();
    ask(Request::Items(vec![item("x", 0.9, None), item("y", 0.1, None)]));
    ask(Request::Items(vec![item("x", 0.9, Some(0.5))]));
    let claim = || Request::Claim { reviewer: "ann".into(), k: Some(2), filter: Filter::default() };
    let Answer::Claims { claims, .. } = ask(claim()) else { panic!() };
    ask(Request::Skip { reviewer: "ann".into(), item: "y".into(), reason: "not mine".into() });
    let on =
        |id: &str, item: &str, token: u64| NewVerdict { token: Some(token), ..verdict(id, item, "ann", 1.0) };
    ask(Request::Verdicts(vec![on("v", "x", claims[0].token)]));
    assert!(
        !queue.recent_verdicts(9).unwrap().0[0].seen
            && !queue.explain_item("x").unwrap().unwrap().verdicts[0].seen
    );
    let Answer::Undone { token, .. } = ask(Request::Undo { reviewer: "ann".into(), verdict: "v".into() })
    else {
        panic!()
    };
    ask(Request::Verdicts(vec![on("w", "x", token)]));
    ask(Request::Verdicts(vec![verdict("z", "y", "bob", 0.0)]));
    // Ann judges again, after she could have seen the model's prediction. Bob judges for the first
    // time.
    let seen: Vec<(String, bool)> = queue
        .recent_verdicts(9)
        .unwrap()
        .0
        .into_iter()
        .map(|reviews| (reviews.reviewer, reviews.seen))
        .collect();
    assert_eq!(seen, [("ann".to_string(), true), ("bob".to_string(), false)]);
    let told = queue.explain_item("x").unwrap().unwrap();
    assert!(told.verdicts[0].seen);
    let exported: Vec<bool> =
        queue.export_page(0, 9).unwrap().items.iter().map(|item| item.verdicts[0].seen).collect();
    assert_eq!(exported, [true, false]);
    let kinds =
        |n: u64| -> Vec<&str> { queue.item_activity(n, 20).unwrap().iter().map(|one| one.kind).collect() };
    assert_eq!(kinds(told.item.n), ["verdicts", "undo", "verdicts", "claim", "items", "items"]);
    assert_eq!(kinds(2), ["verdicts", "release", "claim", "items"]);
    let activity = queue.item_activity(told.item.n, 20).unwrap();
    assert!(activity.iter().all(|one| one.items == ["x"]), "each entry lists this item only");
    assert_eq!((activity[0].verdicts[0].0.as_str(), activity[1].undone.as_deref()), ("w", Some("v")));
    assert_eq!(queue.item_activity(told.item.n, 2).unwrap().len(), 2);
    // A revision too counts as judging again.
    let again = NewVerdict { revises: Some("z".into()), ..verdict("z2", "y", "bob", 1.0) };
    ask(Request::Verdicts(vec![again]));
    assert!(queue.explain_item("y").unwrap().unwrap().verdicts[0].seen);
}

fn who_took_a_verdict_back_has_seen_however_the_item_came_back(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(home.place.clone(), Duration::from_secs(5)).unwrap();
    let queue = service.create("q", &Config { undo_seconds: 60, ..config() }).unwrap();
    let ask = |request| queue.ask(Call::new("ann", request)).unwrap();
    ask(Request::Items(vec![item("x", 0.9, None), item("y", 0.1, None)]));
    let claim = |who: &str| {
        let Answer::Claims { claims, .. } =
            ask(Request::Claim { reviewer: who.into(), k: Some(1), filter: Filter::default() })
        else {
            panic!()
        };
        claims.into_iter().next().unwrap()
    };
    let judge = |id: &str, who: &str, token: u64, item: &str| {
        ask(Request::Verdicts(vec![NewVerdict { token: Some(token), ..verdict(id, item, who, 1.0) }]))
    };
    let undo = |id: &str, who: &str| ask(Request::Undo { reviewer: who.into(), verdict: id.into() });
    let seen = || {
        let recent_verdicts: Vec<bool> =
            queue.recent_verdicts(9).unwrap().0.iter().map(|reviews| reviews.seen).collect();
        let exported = queue.export_page(0, 9).unwrap().items.remove(0).verdicts.remove(0).seen;
        let explained = queue.explain_item("x").unwrap().unwrap().verdicts[0].seen;
        assert_eq!((recent_verdicts, explained), (vec![exported], exported));
        exported
    };
    judge("v", "ann", claim("ann").token, "x");
    assert!(!seen());
    undo("v", "ann");
    // The item is released and claimed like any other, but ann has judged it before.
    let release = |who: &str| ask(Request::Release { reviewer: who.into(), items: vec!["x".into()] });
    release("ann");
    let again = claim("ann");
    assert_eq!(again.item, "x");
    judge("w", "ann", again.token, "x");
    assert!(seen());
    undo("w", "ann");
    release("ann");
    // Bob has not judged the item before.
    judge("b", "bob", claim("bob").token, "x");
    assert!(!seen());
    undo("b", "bob");
    release("bob");
    // So is a verdict without a claim.
    ask(Request::Verdicts(vec![verdict("w2", "x", "ann", 1.0)]));
    assert!(seen());
}

fn an_entry_says_what_was_taken_back_and_what_was_set(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(home.place.clone(), Duration::from_secs(5)).unwrap();
    let queue = service.create("q", &Config::new(Evaluators::new(["a"]).unwrap())).unwrap();
    let ask = |request| queue.ask(Call::new("ann", request)).unwrap();
    let items = ["x", "y"].map(|id| NewItem { id: id.into(), ..NewItem::default() });
    ask(Request::Items(items.to_vec()));
    ask(Request::Verdicts(vec![verdict("v", "x", "ann", 1.0), verdict("w", "y", "ann", 1.0)]));
    ask(Request::Undo { reviewer: "ann".into(), verdict: "v".into() });
    ask(Request::Undo { reviewer: "ann".into(), verdict: "w".into() });
    ask(Request::Configure(ConfigChange { k: Some(3), payload_days: Some(9), ..ConfigChange::default() }));
    ask(Request::Configure(ConfigChange { payload_days: Some(0), ..ConfigChange::default() }));
    ask(Request::Erase { items: vec!["y".into()] });
    let activity = queue.activity(0, 100).unwrap();
    let told = |kind: &str| activity.iter().filter(|event| event.kind == kind).collect::<Vec<_>>();
    let undone: Vec<_> = told("undo").iter().map(|event| event.undone.as_deref()).collect();
    assert_eq!(undone, [Some("v"), None], "an erased item's verdict has no id any more");
    let changed: Vec<String> =
        told("configure").iter().map(|event| serde_json::to_string(&event.changed).unwrap()).collect();
    assert_eq!(changed, [r#"{"k":3,"payload_days":9}"#, r#"{"payload_days":null}"#]);
    // A page that begins at a later entry says the same.
    let last = told("configure")[1].seq;
    assert_eq!(queue.activity(last - 1, 1).unwrap()[0].changed, told("configure")[1].changed);
}

fn claim(queue: &crate::Queue, reviewer: &str, k: usize) -> Vec<crate::ClaimedItem> {
    let claim = Request::Claim { reviewer: reviewer.into(), k: Some(k as _), filter: Filter::default() };
    let Answer::Claims { claims, .. } = queue.ask(Call::new("ann", claim)).unwrap() else { panic!() };
    claims
}

fn say(queue: &crate::Queue, verdicts: Vec<NewVerdict>) {
    let many = verdicts.len() as u64;
    let answer = queue.ask(Call::new("ann", Request::Verdicts(verdicts))).unwrap();
    assert!(matches!(answer, Answer::Verdicts { accepted, .. } if accepted == many), "{answer:?}");
}

fn a_report_counts_what_a_lower_quorum_decided(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let start = Config { quorum: 2, random_check_rate: 0.0, ..config() };
    let queue = service.create_for("ann", "q", &start).unwrap();
    let items = (0..4).map(|n| item(&format!("i{n}"), f64::from(n), None)).collect();
    queue.ask(Call::new("ann", Request::Items(items))).unwrap();
    claim(&queue, "ann", 2);
    say(&queue, vec![verdict("a", "i3", "ann", 1.0), verdict("b", "i2", "ann", 0.0)]);
    let told = |queue: &crate::Queue| {
        let found = queue.report().unwrap();
        (found.reviewed, found.found, found.picked.items)
    };
    assert_eq!(told(&queue), (0, 0.0, 0), "one of two reviewers has judged");
    let lower = ConfigChange { quorum: Some(1), ..ConfigChange::default() };
    queue.ask(Call::new("ann", Request::Configure(lower))).unwrap();
    assert_eq!(told(&queue), (2, 1.0, 2));
}

/// The sample consists of the items drawn on arrival, whoever claimed them and whatever happened to
/// them. The rate may have changed since.
fn a_report_is_about_all_that_was_drawn(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let scale =
        crate::VerdictScale { lowest: 0.0, highest: 1.0, labels: std::collections::BTreeMap::default() };
    let start = Config { random_check_rate: 1.0, random_check_share: 0.0, reward: Some(scale), ..config() };
    let queue = service.create_for("ann", "q", &start).unwrap();
    let items = |from: usize, to: usize| {
        let items = (from..to).map(|n| item(&format!("i{n}"), n as f64, None)).collect();
        queue.ask(Call::new("ann", Request::Items(items))).unwrap();
    };
    items(0, 10);
    queue
        .ask(Call::new(
            "ann",
            Request::Configure(ConfigChange { random_check_rate: Some(0.0), ..ConfigChange::default() }),
        ))
        .unwrap();
    items(10, 30);
    // Of the drawn items, i9 is claimed by value, i8 is closed by a rule, and i7 is erased. Item
    // i28, not drawn, is judged after being released.
    let given = claim(&queue, "ann", 21);
    assert_eq!((given[0].item.as_str(), given[20].item.as_str()), ("i29", "i9"));
    say(&queue, vec![verdict("a", "i29", "ann", 1.0), verdict("b", "i9", "ann", 1.0)]);
    say(
        &queue,
        vec![NewVerdict { source: crate::VerdictSource::Automatic, ..verdict("c", "i8", "rule", 1.0) }],
    );
    queue.ask(Call::new("ann", Request::Erase { items: vec!["i7".into()] })).unwrap();
    let leases = Request::Release { reviewer: "ann".into(), items: vec!["i28".into()] };
    queue.ask(Call::new("ann", leases)).unwrap();
    say(&queue, vec![verdict("d", "i28", "ann", 0.0)]);
    let found = queue.report().unwrap();
    let random_checks = crate::RandomCheckCounts { items: 10, decided: 1, waiting: 7, closed: 1, erased: 1 };
    assert_eq!((found.random_checks, found.items, found.reviewed, found.found), (random_checks, 29, 3, 2.0));
    assert_eq!((found.picked.items, found.unclaimed.items, found.random.items), (2, 0, 1));
    // Any item that no reviewer has decided could be missed: 29 less 3.
    let missed = found.missed.unwrap();
    assert_eq!((missed.low, missed.high), (0.0, 26.0));
    // Without a scale, any reward is possible.
    queue
        .ask(Call::new(
            "ann",
            Request::Configure(ConfigChange { reward: Some(None), ..ConfigChange::default() }),
        ))
        .unwrap();
    let found = queue.report().unwrap();
    assert!(found.missed.is_none() && found.random.mean.is_none(), "{found:?}");
    assert!(found.unknown.unwrap().contains("scale"), "{found:?}");
    let picked = found.picked.mean.unwrap();
    assert!(picked.mean == 0.5 && picked.low.is_nan() && picked.high.is_nan(), "{found:?}");
}

/// A reviewer judges the rewarding items and leaves the rest. Golden items do not count as found.
fn what_comes_back_undecided_and_what_was_known_before_does_not_flatter(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let scale =
        crate::VerdictScale { lowest: 0.0, highest: 1.0, labels: std::collections::BTreeMap::default() };
    let start = Config { random_check_rate: 0.0, reward: Some(scale), ..config() };
    let queue = service.create_for("ann", "q", &start).unwrap();
    let golden = |id: &str| {
        let tags = [("golden".to_string(), "1".to_string())].into();
        NewItem { tags, ..item(id, 99.0, None) }
    };
    let items = (0..20).map(|n| item(&format!("i{n}"), f64::from(n), None));
    queue.ask(Call::new("ann", Request::Items(items.chain([golden("g"), golden("h")]).collect()))).unwrap();
    assert_eq!(claim(&queue, "ann", 12).len(), 12);
    say(
        &queue,
        vec![verdict("a", "i19", "ann", 1.0), verdict("b", "i18", "ann", 1.0), verdict("g", "g", "ann", 1.0)],
    );
    let found = queue.report().unwrap();
    assert_eq!((found.reviewed, found.found, found.golden), (2, 2.0, 1));
    // Items still held have not come back.
    assert_eq!((found.picked.items, found.released, found.picked.mean.unwrap().mean), (2, 0, 1.0));
    let dull = |from: u32, to: u32| -> Vec<String> { (from..to).map(|n| format!("i{n}")).collect() };
    for item in dull(14, 18) {
        let skip = Request::Skip { reviewer: "ann".into(), item, reason: "dull".into() };
        queue.ask(Call::new("ann", skip)).unwrap();
    }
    queue.ask(Call::new("ann", Request::Release { reviewer: "ann".into(), items: dull(12, 14) })).unwrap();
    queue
        .ask(Call::new("ann", Request::Release { reviewer: "ann".into(), items: vec!["h".into()] }))
        .unwrap();
    let found = queue.report().unwrap();
    assert_eq!((found.picked.items, found.released, found.found), (2, 6, 2.0));
    let picked = found.picked.mean.unwrap();
    assert!(picked.mean.is_nan() && picked.low < 0.25 && picked.high == 1.0, "{picked:?}");
    // Another reviewer decides one of the skipped items.
    say(&queue, vec![verdict("c", "i17", "bob", 0.0)]);
    let found = queue.report().unwrap();
    assert_eq!((found.released, found.picked.items, found.unclaimed.items), (5, 3, 0));
    // A rule closes another skipped item, so no person has decided it. Unclaimed items were not
    // picked.
    say(
        &queue,
        vec![NewVerdict { source: crate::VerdictSource::Automatic, ..verdict("d", "i16", "rule", 0.0) }],
    );
    say(&queue, vec![verdict("e", "i0", "bob", 0.0)]);
    let found = queue.report().unwrap();
    assert_eq!((found.released, found.picked.items, found.unclaimed.items), (5, 3, 1));
    // With a quorum of two, an item with one verdict is not decided.
    queue
        .ask(Call::new(
            "ann",
            Request::Configure(ConfigChange { quorum: Some(2), ..ConfigChange::default() }),
        ))
        .unwrap();
    say(&queue, vec![verdict("f", "i11", "ann", 0.0)]);
    assert_eq!(queue.report().unwrap().released, 6);
}

/// Two unrelated evaluators are still shown as unrelated when the best items by both are gone.
fn who_says_the_same_is_asked_of_all_that_came_in(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let queue = service.create_for("ann", "q", &Config { k: 200, ..config() }).unwrap();
    let grid = (0..20).flat_map(|a| (0..20).map(move |b| (a, b)));
    let items = grid.map(|(a, b)| item(&format!("{a}-{b}"), f64::from(a), Some(f64::from(b)))).collect();
    queue.ask(Call::new("ann", Request::Items(items))).unwrap();
    let verdicts = claim(&queue, "ann", 200).into_iter();
    say(&queue, verdicts.map(|one| verdict(&one.item, &one.item, "ann", 1.0)).collect());
    let evaluated = queue.evaluator_summaries(&queue.model().unwrap()).unwrap();
    let (with, r) = evaluated[0].closest.clone().unwrap();
    assert!(with == "b" && r.abs() < 1e-9, "{r}");
}

fn a_preview_is_what_the_change_then_does(kind: Kind) {
    let home = Home::new(kind);
    let (_service, queue) = filled(&home);
    let change =
        ConfigChange { evaluators: Some(Evaluators::new(["b"]).unwrap()), ..ConfigChange::default() };
    let (now, then) = queue.preview(change.clone(), 2).unwrap();
    assert_eq!((now, &then), (vec!["gap".into(), "high".into()], &vec!["low".to_string(), "high".into()]));
    assert_eq!(queue.status().unwrap().config, config(), "nothing has changed");
    queue.ask(Call::new("ann", Request::Configure(change))).unwrap();
    let patience = std::time::Instant::now();
    while ids(&queue.ranked_items(Filter::default(), 0, 2).unwrap().1) != then {
        assert!(patience.elapsed() < Duration::from_mins(1), "it is never ranked anew");
        std::thread::sleep(Duration::from_millis(20));
    }
    // A change that would be refused is refused with the same message.
    say(&queue, vec![verdict("v", "low", "ann", 0.5)]);
    let turned = jurybox::Evaluator { name: "b".into(), direction: jurybox::Direction::Low };
    let scale =
        crate::VerdictScale { lowest: 5.0, highest: 6.0, labels: std::collections::BTreeMap::default() };
    for change in [
        ConfigChange { k: Some(0), ..ConfigChange::default() },
        ConfigChange { evaluators: Some(Evaluators::new([turned]).unwrap()), ..ConfigChange::default() },
        ConfigChange { reward: Some(Some(scale)), ..ConfigChange::default() },
    ] {
        let refused = queue.ask(Call::new("ann", Request::Configure(change.clone()))).unwrap_err();
        let previewed = queue.preview(change, 2).unwrap_err();
        assert_eq!((previewed.code(), previewed.to_string()), (refused.code(), refused.to_string()));
    }
}

fn keys_are_kept_and_taken_away(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let mut keyring = Keyring::open(&home.place).unwrap();
    assert!(!service.had_keys().unwrap());
    let new =
        |name: &str, roles: &[Role]| NewKey { name: name.into(), roles: roles.into(), ..NewKey::default() };
    let one = NewKey { queues: vec!["q".into()], ..new("one", &[Role::Write, Role::Read, Role::Write]) };
    let secret = keyring.add(one).unwrap();
    keyring.add(new("two", &[Role::Admin])).unwrap();
    assert!(matches!(keyring.add(new("one", &[Role::Read])), Err(Error::Refused(_))));
    assert!(keyring.add(new("", &[Role::Read])).is_err() && keyring.add(new("three", &[])).is_err());
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
    // It is still known that there were keys.
    assert!(service.keys().unwrap().is_empty() && keyring.list().unwrap().is_empty());
    assert!(service.had_keys().unwrap());
    keyring.add(new("two", &[Role::Read])).unwrap();
    assert_eq!(service.keys().unwrap().len(), 1);
}

fn a_key_keeps_whose_it_is_how_long_it_opens_and_when_it_did(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let mut keyring = Keyring::open(&home.place).unwrap();
    let far = i64::MAX / 2;
    let ann = NewKey {
        name: "ann".into(),
        roles: vec![Role::Review],
        reviewer: Some("Ann".into()),
        expires: Some(far),
        ..NewKey::default()
    };
    for wrong in [
        NewKey { roles: vec![Role::Read], ..ann.clone() },
        NewKey { reviewer: Some(String::new()), ..ann.clone() },
        NewKey { expires: Some(1), ..ann.clone() },
    ] {
        assert!(matches!(keyring.add(wrong), Err(Error::Refused(_))));
    }
    keyring.add(ann.clone()).unwrap();
    keyring.add(NewKey { name: "tool".into(), reviewer: None, expires: None, ..ann }).unwrap();
    let keys = service.keys().unwrap();
    assert_eq!((keys[0].reviewer.as_deref(), keys[0].expires, keys[0].used), (Some("Ann"), Some(far), None));
    assert!(!keys[0].has_expired(far - 1) && keys[0].has_expired(far));
    assert!(!keys[0].speaks_for_any() && keys[1].speaks_for_any());
    service.use_key("ann", 7).unwrap();
    // Another server may record an earlier use later.
    service.use_key("ann", 5).unwrap();
    assert_eq!(service.keys().unwrap()[0].used, Some(7));
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
    assert_eq!(again.status().unwrap().counts.items, 0);
    while home.change("UPDATE deleted_queues SET queue = queue") > 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    for table in
        ["items", "claims", "verdicts", "notes", "payloads", "leases", "rescored", "skips", "idempotency"]
    {
        assert_eq!(home.change(&format!("DELETE FROM {table}")), 0, "{table}");
    }
}

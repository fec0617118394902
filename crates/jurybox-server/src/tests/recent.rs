//! Tests of recent verdicts on both databases: notes, a reviewer's own verdicts, and waiting items.

use super::fixture::{Home, Kind, on_both};
use crate::{Answer, Call, Config, Filter, NewItem, NewVerdict, Queue, Request, Service};
use jurybox::Evaluators;
use std::time::Duration;

on_both!(
    a_note_stands_beside_its_verdict_until_the_item_is_erased,
    work_is_told_in_order_with_its_times,
    what_waits_is_known_by_its_age_and_its_date,
    what_was_drawn_on_arrival_is_known_whoever_took_it_and_why,
);

fn filled(home: &Home) -> (Service, Queue) {
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let evaluators = Evaluators::new(["a"]).unwrap();
    let config = Config { policy: "average".parse().unwrap(), ..Config::new(evaluators) };
    let queue = service.create_for("ann", "q", &config).unwrap();
    let item = |id: &str, score: f64, due| NewItem {
        id: id.into(),
        scores: [("a".to_string(), Some(score))].into(),
        tags: [("golden".to_string(), "yes".to_string())].into(),
        due,
        ..NewItem::default()
    };
    let items = vec![item("x", 0.9, None), item("y", 0.5, Some(5)), item("z", 0.1, Some(i64::MAX / 2))];
    queue.ask(Call::new("ann", Request::Items(items))).unwrap();
    (service, queue)
}

fn say(queue: &Queue, id: &str, item: &str, reviewer: &str, note: Option<&str>) {
    let (id, item, reviewer) = (id.into(), item.into(), reviewer.into());
    let note = note.map(String::from);
    let verdict = NewVerdict {
        id,
        item,
        reviewer,
        reward: 1.0,
        label: Some("yes".into()),
        note,
        ..NewVerdict::default()
    };
    let answer = queue.ask(Call::new("ann", Request::Verdicts(vec![verdict]))).unwrap();
    assert!(matches!(answer, Answer::Verdicts { accepted: 1, .. }), "{answer:?}");
}

fn a_note_stands_beside_its_verdict_until_the_item_is_erased(kind: Kind) {
    let home = Home::new(kind);
    let (_service, queue) = filled(&home);
    say(&queue, "v1", "x", "ann", Some("seen it before"));
    say(&queue, "v2", "y", "ann", None);
    let told = queue.explain_item("x").unwrap().unwrap();
    assert_eq!(told.verdicts[0].note.as_deref(), Some("seen it before"));
    assert_eq!(queue.explain_item("y").unwrap().unwrap().verdicts[0].note, None);
    let own = queue.own_verdicts("ann", 20).unwrap();
    let notes: Vec<(&str, Option<&str>)> =
        own.iter().map(|own| (own.item.as_str(), own.note.as_deref())).collect();
    assert_eq!(notes, [("y", None), ("x", Some("seen it before"))]);
    assert!(own[0].undo_until > own[0].at && queue.own_verdicts("bob", 20).unwrap().is_empty());
    // Verdicts are counted from a time on, that time included.
    let since = |who: &str, at: i64| queue.own_verdicts_since(who, at).unwrap();
    assert_eq!([since("ann", 0), since("ann", own[1].at), since("ann", own[0].at)], [2, 2, 1]);
    assert_eq!([since("ann", own[0].at + 1), since("ann", i64::MAX), since("bob", 0)], [0, 0, 0]);
    queue.ask(Call::new("ann", Request::Erase { items: vec!["x".into()] })).unwrap();
    assert_eq!(queue.own_verdicts("ann", 20).unwrap().len(), 1);
    assert_eq!(home.change("DELETE FROM notes"), 0);
}

fn work_is_told_in_order_with_its_times(kind: Kind) {
    let home = Home::new(kind);
    let (_service, queue) = filled(&home);
    let claim = Request::Claim { reviewer: "ann".into(), k: Some(1), filter: Filter::default() };
    let Answer::Claims { claims, .. } = queue.ask(Call::new("ann", claim)).unwrap() else { panic!() };
    say(&queue, "v1", &claims[0].item, "ann", None);
    say(&queue, "v2", "x", "bob", None);
    let skip = Request::Skip { reviewer: "cat".into(), item: "z".into(), reason: "no".into() };
    let next = Request::Claim { reviewer: "cat".into(), k: Some(3), filter: Filter::default() };
    queue.ask(Call::new("cat", next)).unwrap();
    queue.ask(Call::new("cat", skip)).unwrap();
    let (recent_verdicts, skipped) = queue.recent_verdicts(10).unwrap();
    let whose: Vec<(&str, f64)> =
        recent_verdicts.iter().map(|reviews| (reviews.reviewer.as_str(), reviews.scores[0])).collect();
    assert_eq!(whose, [("ann", 0.5), ("bob", 0.9)], "a due item goes first");
    assert!(
        recent_verdicts[0].claimed.is_some_and(|at| at <= recent_verdicts[0].at)
            && recent_verdicts[1].claimed.is_none()
    );
    assert_eq!((recent_verdicts[0].decides, recent_verdicts[0].tags["golden"].as_str()), (Some(1.0), "yes"));
    assert_eq!(queue.recent_verdicts(1).unwrap().0[0].reviewer, "bob", "only the latest verdict");
    assert_eq!((skipped.len(), skipped[0].reason.as_str()), (1, "no"));
    assert_eq!(queue.arrivals(2).unwrap().len(), 2);
}

fn what_waits_is_known_by_its_age_and_its_date(kind: Kind) {
    let home = Home::new(kind);
    let (_service, queue) = filled(&home);
    let arrived = queue.list_items(0, 1).unwrap()[0].arrived;
    let pulse = queue.workload(1000, i64::MAX).unwrap();
    assert_eq!((pulse.oldest, pulse.due, pulse.ending), (Some(arrived), 1, 0));
    assert!(pulse.since > 0 && pulse.since <= arrived);
    let claim = Request::Claim { reviewer: "ann".into(), k: Some(3), filter: Filter::default() };
    queue.ask(Call::new("ann", claim)).unwrap();
    let pulse = queue.workload(i64::MAX, i64::MAX).unwrap();
    assert_eq!((pulse.oldest, pulse.due, pulse.ending), (None, 2, 3));
    assert_eq!(queue.workload(0, 0).unwrap().ending, 0);
}

fn what_was_drawn_on_arrival_is_known_whoever_took_it_and_why(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let evaluators = Evaluators::new(["a"]).unwrap();
    let policy = "average".parse().unwrap();
    let config =
        Config { policy, random_check_rate: 1.0, random_check_share: 0.0, ..Config::new(evaluators) };
    let queue = service.create_for("ann", "q", &config).unwrap();
    let scores = [("a".to_string(), Some(0.5))].into();
    let items = vec![NewItem { id: "x".into(), scores, ..NewItem::default() }];
    queue.ask(Call::new("ann", Request::Items(items))).unwrap();
    let claim = Request::Claim { reviewer: "ann".into(), k: Some(1), filter: Filter::default() };
    queue.ask(Call::new("ann", claim)).unwrap();
    say(&queue, "v", "x", "ann", None);
    // The item was claimed for its value, although it was drawn for a random check too.
    let reviews = queue.recent_verdicts(9).unwrap().0.remove(0);
    assert_eq!((reviews.explored, reviews.random_check), (false, Some(1.0)));
}

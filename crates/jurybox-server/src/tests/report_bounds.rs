//! Tests that a report's intervals hold where people judge the better items first.

use super::fixture::{Kind, on_both};
use super::random_life::{Life, config, verdict};
use crate::live_queue::Filter;
use crate::reads::{QueueReport, queue_report};
use crate::{Config, ConfigChange, NewItem, Request, VerdictScale};

on_both!(
    a_lease_that_ran_out_counts_without_another_entry,
    what_was_decided_on_erased_items_stands,
    golden_items_are_apart_from_what_chance_would_find,
    the_plain_mean_allows_for_what_came_while_nothing_was_drawn,
);

fn set_up(random_check_rate: f64) -> Config {
    let reward =
        Some(VerdictScale { lowest: 0.0, highest: 1.0, labels: std::collections::BTreeMap::default() });
    Config { random_check_rate, reward, undo_seconds: 0, policy: "average".parse().unwrap(), ..config() }
}

fn items(many: u32, tag: Option<&str>) -> Request {
    let item = |i: u32| NewItem {
        id: format!("{}{i}", tag.unwrap_or("x")),
        scores: [("a".to_string(), Some(f64::from(i)))].into(),
        tags: tag.map(|tag| (tag.to_string(), "yes".to_string())).into_iter().collect(),
        ..NewItem::default()
    };
    Request::Items((0..many).map(item).collect())
}

fn reported(life: &Life) -> QueueReport {
    queue_report(
        life.writer.another_store(crate::store::Purpose::Write).unwrap().as_mut(),
        life.writer.queue(),
    )
    .unwrap()
}

/// Of 20 claimed items, ann finds 5 rewarding and keeps the others. All items have the tag.
fn half_done(kind: Kind, tag: &str) -> Life {
    let mut life = Life::new(kind, 1, &set_up(0.0));
    life.ask(items(40, Some(tag))).unwrap();
    life.ask(Request::Claim { reviewer: "ann".into(), k: Some(20), filter: Filter::default() }).unwrap();
    let said = (35..40).map(|i| verdict(&format!("v{i}"), &format!("{tag}{i}"), "ann", 1.0));
    life.ask(Request::Verdicts(said.collect())).unwrap();
    life
}

fn a_lease_that_ran_out_counts_without_another_entry(kind: Kind) {
    // A tag that merely resembles `golden` has no effect.
    for tag in ["Golden", "x\"golden", "a,\"golden"] {
        let mut life = half_done(kind, tag);
        let before = reported(&life);
        assert_eq!((before.picked.items, before.released), (5, 0));
        assert_eq!(before.picked.mean.unwrap().mean, 1.0);
        life.pass(31);
        let after = reported(&life);
        assert_eq!((after.picked.items, after.released), (5, 15), "{tag}");
        let mean = after.picked.mean.unwrap();
        assert!(mean.mean.is_nan() && mean.low < 0.25 && mean.high == 1.0, "{mean:?}");
    }
}

fn what_was_decided_on_erased_items_stands(kind: Kind) {
    let mut life = half_done(kind, "dull");
    let said = (30..35).map(|i| verdict(&format!("v{i}"), &format!("dull{i}"), "ann", 0.0));
    life.ask(Request::Verdicts(said.collect())).unwrap();
    let before = reported(&life).picked;
    assert_eq!((before.items, before.mean.unwrap().mean), (10, 0.5));
    // Five decided items are erased, and one that ann still holds.
    life.ask(Request::Erase { items: (29..35).map(|i| format!("dull{i}")).collect() }).unwrap();
    let after = reported(&life);
    assert_eq!((after.items, after.reviewed, after.picked.items, after.picked.sum), (34, 5, 10, 5.0));
    assert_eq!(after.released, 1);
    assert!(after.picked.mean.unwrap().low <= before.mean.unwrap().low);
}

fn golden_items_are_apart_from_what_chance_would_find(kind: Kind) {
    let mut life = Life::new(kind, 1, &set_up(1.0));
    life.ask(items(10, None)).unwrap();
    life.ask(items(10, Some("golden"))).unwrap();
    let plain = (0..10).map(|i| verdict(&format!("v{i}"), &format!("x{i}"), "ann", f64::from(i % 2)));
    let golden = (0..10).map(|i| verdict(&format!("g{i}"), &format!("golden{i}"), "ann", 0.0));
    life.ask(Request::Verdicts(plain.chain(golden).collect())).unwrap();
    let found = reported(&life);
    assert_eq!((found.items, found.reviewed, found.golden, found.random_checks.items), (20, 10, 10, 10));
    assert_eq!((found.found, found.random.mean.unwrap().mean), (5.0, 0.5));
    assert_eq!(found.missed.unwrap().high, 0.0);
    // Erased golden items stay golden.
    life.ask(Request::Erase { items: (0..10).map(|i| format!("golden{i}")).collect() }).unwrap();
    let found = reported(&life);
    assert_eq!((found.items, found.reviewed, found.golden, found.random_checks.items), (10, 10, 0, 10));
    assert_eq!((found.found, found.random.mean.unwrap().mean, found.released), (5.0, 0.5, 0));
}

fn the_plain_mean_allows_for_what_came_while_nothing_was_drawn(kind: Kind) {
    let mut life = Life::new(kind, 1, &set_up(0.0));
    life.ask(items(30, Some("good"))).unwrap();
    life.ask(Request::Configure(ConfigChange { random_check_rate: Some(0.5), ..ConfigChange::default() }))
        .unwrap();
    life.ask(items(30, Some("dull"))).unwrap();
    life.ask(Request::Claim { reviewer: "ann".into(), k: Some(60), filter: Filter::default() }).unwrap();
    let worth = [("good", 1.0), ("dull", 0.0)];
    let said = worth.iter().flat_map(|(tag, worth)| {
        (0..30).map(move |i| verdict(&format!("{tag}-{i}"), &format!("{tag}{i}"), "ann", *worth))
    });
    life.ask(Request::Verdicts(said.collect())).unwrap();
    let found = reported(&life);
    let (picked, plain) = (found.picked.mean.unwrap(), found.plain_mean.mean.unwrap());
    assert!(plain.mean.is_nan() && plain.high > picked.mean, "{plain:?} and {picked:?}");
}

//! Tests of items that are wrongly assumed to be new: they are updated all the same.

use super::fixture::{Kind, on_both};
use super::random_life::{Life, config, verdict};
use crate::config::QueueMode;
use crate::{Answer, Call, Config, ConfigChange, NewItem, Request};

on_both!(
    what_is_taken_for_new_and_is_not_gets_its_scores_all_the_same,
    a_queue_that_takes_no_new_items_still_updates_those_it_has,
);

const MANY: u64 = 300;

fn items(first: u64, score: f64) -> Vec<NewItem> {
    let item = |n| NewItem {
        id: format!("x{n}"),
        scores: [("a".to_string(), Some(score))].into(),
        ..NewItem::default()
    };
    (first..first + MANY).map(item).collect()
}

/// A queue that has got only new items in its last requests, and their number.
fn growing(kind: Kind) -> (Life, u64) {
    let mut life = Life::new(kind, 1, &Config { random_check_rate: 0.0, ..config() });
    let mut next = 0;
    for _ in 0..6 {
        assert_eq!(taken(&mut life, items(next, 1.0)), (MANY, 0, 0, 0));
        next += MANY;
    }
    (life, next)
}

/// The numbers of new, updated, unchanged and refused items.
fn taken(life: &mut Life, items: Vec<NewItem>) -> (u64, u64, u64, u64) {
    told(life.ask(Request::Items(items)))
}

fn told(answer: Result<Answer, crate::Error>) -> (u64, u64, u64, u64) {
    let Ok(Answer::Items { accepted, updated, unchanged, rejected, .. }) = answer else {
        panic!("{answer:?}")
    };
    (accepted, updated, unchanged, rejected.len() as u64)
}

fn assert_sound(life: &Life) {
    for checked in crate::verify(&life.home.place).unwrap() {
        assert!(checked.is_ok(), "{checked:#?}");
    }
}

fn what_is_taken_for_new_and_is_not_gets_its_scores_all_the_same(kind: Kind) {
    let (mut life, mut next) = growing(kind);
    // All but one are new.
    assert_eq!(taken(&mut life, items(next - 1, 2.0)), (MANY - 1, 1, 0, 0));
    next += MANY - 1;
    // None is new.
    assert_eq!(taken(&mut life, items(0, 1.0)), (0, 0, MANY, 0));
    for _ in 0..5 {
        assert_eq!(taken(&mut life, items(next, 1.0)), (MANY, 0, 0, 0));
        next += MANY;
    }
    // One is closed.
    life.ask(Request::Verdicts(vec![verdict("v", &format!("x{}", next - 1), "ann", 1.0)])).unwrap();
    assert_eq!(taken(&mut life, items(next - 1, 2.0)), (MANY - 1, 0, 0, 1));
    next += MANY - 1;
    for _ in 0..5 {
        assert_eq!(taken(&mut life, items(next, 1.0)), (MANY, 0, 0, 0));
        next += MANY;
    }
    // Two calls in one transaction: the second repeats items of the first, and older ones.
    let calls = [items(next, 1.0), items(next - MANY / 2, 2.0)];
    let calls = calls.map(|items| Call::new("test", Request::Items(items)));
    let answers: Vec<_> = life.writer.answer(&calls).into_iter().map(told).collect();
    assert_eq!(answers, [(MANY, 0, 0, 0), (0, MANY, 0, 0)]);
    next += MANY;
    assert_eq!(life.writer.replica.live.counts().items, next);
    assert_sound(&life);
}

fn a_queue_that_takes_no_new_items_still_updates_those_it_has(kind: Kind) {
    let (mut life, next) = growing(kind);
    life.ask(Request::Configure(ConfigChange { mode: Some(QueueMode::Draining), ..ConfigChange::default() }))
        .unwrap();
    assert_eq!(taken(&mut life, items(next - MANY / 2, 2.0)), (0, MANY / 2, 0, MANY / 2));
    assert_sound(&life);
}

//! Tests of queues that are new, small or quiet.

use super::fixture::{Kind, on_both};
use super::random_life::{Life, config, verdict};
use crate::queue_writer::QueueWriter;
use crate::request::{Answer, Call, NewItem, NewVerdict, Request};
use crate::store::Store;
use crate::{Config, Filter, Service};
use std::time::Duration;

on_both!(
    a_handful_of_items_is_given_out_by_what_all_scores_say,
    many_items_that_come_at_once_are_ranked_before_the_first_claim,
    what_few_scores_there_are_count_before_anything_is_ripe,
    a_served_queue_gives_the_best_of_a_handful_at_once,
    an_item_that_a_revision_decides_first_is_learnt,
    an_item_closed_short_of_its_quorum_is_learnt_when_it_is_decided,
    verdicts_are_learnt_when_they_stand_though_nothing_else_happens,
    what_was_folded_again_is_not_folded_again_on_opening,
    tags_that_no_open_item_has_are_forgotten_and_those_of_a_rare_tag_are_found,
    an_evaluator_whose_scores_come_after_the_items_were_seen_is_learnt_from,
    an_item_whose_scores_are_written_again_and_again_is_seen_a_few_times,
    an_evaluator_whose_scores_are_corrected_is_learnt_from,
);

fn quiet() -> Config {
    Config { random_check_rate: 0.0, ageing_per_day: 0.0, ..config() }
}

fn item(id: u32, scores: &[(&str, f64)]) -> NewItem {
    let scores = scores.iter().map(|(name, score)| (name.to_string(), Some(*score))).collect();
    NewItem { id: format!("x{id}"), scores, ..NewItem::default() }
}

fn all(id: u32, score: f64) -> NewItem {
    item(id, &[("a", score), ("b", score), ("c", score)])
}

fn claim(reviewer: &str, k: u32) -> Request {
    Request::Claim { reviewer: reviewer.into(), k: Some(k), filter: Filter::default() }
}

fn names(answer: Answer) -> Vec<String> {
    let Answer::Claims { claims, .. } = answer else { panic!("{answer:?}") };
    claims.into_iter().map(|claim| claim.item).collect()
}

fn sound(life: &Life) {
    for checked in crate::verify(&life.home.place).unwrap() {
        assert!(checked.is_ok(), "{checked:#?}");
        assert_eq!(checked.exact, checked.claims);
    }
}

fn a_handful_of_items_is_given_out_by_what_all_scores_say(kind: Kind) {
    let mut life = Life::new(kind, 1, &quiet());
    let items = (0..60).map(|i| item(i, &[("a", f64::from(i)), ("b", f64::from(i * i)), ("c", 1.0)]));
    life.ask(Request::Items(items.collect())).unwrap();
    assert_eq!(names(life.ask(claim("ann", 3)).unwrap()), ["x59", "x58", "x57"]);
    // A new item is ranked at once.
    life.ask(Request::Items(vec![item(60, &[("a", 60.0), ("b", 3600.0), ("c", 1.0)])])).unwrap();
    assert_eq!(names(life.ask(claim("ann", 2)).unwrap()), ["x60", "x56"]);
    for (n, reward) in [(59, 1.0), (58, 0.0), (57, 1.0)] {
        let said = verdict(&format!("v{n}"), &format!("x{n}"), "ann", reward);
        life.ask(Request::Verdicts(vec![said])).unwrap();
    }
    life.pass(25);
    assert_eq!(names(life.ask(claim("bob", 1)).unwrap()), ["x55"]);
    // With 64 items the first round is complete.
    life.ask(Request::Items((61..90).map(|i| all(i, f64::from(i))).collect())).unwrap();
    assert!(!life.writer.replica.learner.is_new());
    life.writer.refold_if_stale().unwrap();
    assert_eq!(life.writer.replica.learner.jury().seen().items, 64);
    assert_eq!(names(life.ask(claim("cid", 1)).unwrap()).len(), 1);
    sound(&life);
}

fn what_few_scores_there_are_count_before_anything_is_ripe(kind: Kind) {
    let mut life = Life::new(kind, 1, &quiet());
    life.ask(Request::Items(vec![item(0, &[("a", 0.2)]), item(1, &[("a", 0.9)]), item(2, &[("a", 0.5)])]))
        .unwrap();
    assert_eq!(names(life.ask(claim("ann", 1)).unwrap()), ["x1"]);
    // Another score of an item counts at once.
    life.ask(Request::Items(vec![item(0, &[("a", 0.8)]), item(3, &[("a", 0.6)])])).unwrap();
    assert_eq!(names(life.ask(claim("bob", 1)).unwrap()), ["x0"]);
    life.pass(100);
    life.ask(Request::Items(vec![all(4, 0.0)])).unwrap();
    assert_eq!(names(life.ask(claim("cid", 9)).unwrap()).len(), 5);
    sound(&life);
}

/// Evaluator `c` scores items only after the jury has observed them.
fn an_evaluator_whose_scores_come_after_the_items_were_seen_is_learnt_from(kind: Kind) {
    is_learnt_from(kind, &[]);
}

fn an_evaluator_whose_scores_are_corrected_is_learnt_from(kind: Kind) {
    is_learnt_from(kind, &[("c", 0.0)]);
}

/// Items arrive with scores of `a`, `b` and `before`. Then `c` scores them by their rewards, with
/// some noise.
fn is_learnt_from(kind: Kind, before: &[(&'static str, f64)]) {
    let mut life = Life::new(kind, 1, &Config { settle_seconds: 0, ..quiet() });
    let dull = |i: u32| f64::from(i * 37 % 100);
    let bright = |i: u32| f64::from(u8::from(i * 61 % 200 >= 140));
    let first = (0..200).map(|i| item(i, &[&[("a", dull(i)), ("b", dull(i + 50))], before].concat()));
    life.ask(Request::Items(first.collect())).unwrap();
    life.ask(Request::Items((0..200).map(|i| item(i, &[("c", bright(i) + dull(i) / 200.0)])).collect()))
        .unwrap();
    let said = (0..100).map(|i| verdict(&format!("v{i}"), &format!("x{i}"), "ann", bright(i)));
    life.ask(Request::Verdicts(said.collect())).unwrap();
    life.pass(100);
    life.ask(Request::Items(vec![all(200, 0.0)])).unwrap();
    life.writer.refold_if_stale().unwrap();
    let found = names(life.ask(claim("bob", 20)).unwrap());
    assert!(found.iter().all(|name| bright(name[1..].parse().unwrap()) > 0.0), "{found:?}");
    assert_eq!(found.len(), 20);
    sound(&life);
}

fn an_item_whose_scores_are_written_again_and_again_is_seen_a_few_times(kind: Kind) {
    let mut life = Life::new(kind, 1, &Config { settle_seconds: 0, ..quiet() });
    life.ask(Request::Items((0..128).map(|i| all(i, f64::from(i * 37 % 100))).collect())).unwrap();
    life.ask(Request::Items(vec![item(128, &[("a", 1.0)])])).unwrap();
    let seen = |life: &Life| life.writer.replica.learner.jury().seen().items;
    assert_eq!(seen(&life), 128);
    // Item 128 has been observed once, and is observed again for the first scores of `b` and `c`.
    // Of 200 replaced scores, the 1st, 2nd, 4th … 128th are observed: 10 rows in all. With 53
    // further items the round has 63.
    life.ask(Request::Items(vec![item(128, &[("b", 0.5), ("c", 0.5)])])).unwrap();
    for again in 0..200 {
        life.ask(Request::Items(vec![item(128, &[("a", f64::from(again % 2))])])).unwrap();
    }
    life.ask(Request::Items((200..253).map(|i| all(i, f64::from(i))).collect())).unwrap();
    assert_eq!(seen(&life), 128);
    life.ask(Request::Items(vec![all(300, 1.0)])).unwrap();
    assert_eq!(seen(&life), 192);
    life.ask(claim("ann", 5)).unwrap();
    sound(&life);
}

fn many_items_that_come_at_once_are_ranked_before_the_first_claim(kind: Kind) {
    for many in [64, 100, 3000] {
        let mut life = Life::new(kind, 1, &quiet());
        life.ask(Request::Items((0..many).map(|i| all(i, f64::from(i))).collect())).unwrap();
        assert_eq!(names(life.ask(claim("ann", 1)).unwrap()), [format!("x{}", many - 1)]);
        sound(&life);
    }
    // One item was ranked before the others arrived.
    let mut life = Life::new(kind, 1, &quiet());
    life.ask(Request::Items(vec![item(0, &[("a", 1.0)])])).unwrap();
    life.ask(claim("ann", 1)).unwrap();
    life.ask(Request::Items((1..3000).map(|i| all(i, f64::from(i))).collect())).unwrap();
    assert_eq!(names(life.ask(claim("ann", 1)).unwrap()), ["x2999"]);
    sound(&life);
}

fn a_served_queue_gives_the_best_of_a_handful_at_once(kind: Kind) {
    let home = super::fixture::Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let queue = service.create("q", &quiet()).unwrap();
    let mut best = Vec::new();
    for i in 0..20 {
        queue
            .ask(Call::new("in", Request::Items(vec![all(2 * i, f64::from(i)), all(2 * i + 1, -1.0)])))
            .unwrap();
        best.extend(names(queue.ask(Call::new("ann", claim("ann", 1))).unwrap()));
    }
    let expected: Vec<String> = (0..20).map(|i| format!("x{}", 2 * i)).collect();
    assert_eq!(best, expected);
    drop((queue, service));
    let checked = crate::verify(&home.place).unwrap();
    assert!(checked[0].is_ok() && checked[0].exact == 20, "{checked:#?}");
}

fn an_item_that_a_revision_decides_first_is_learnt(kind: Kind) {
    let mut life = Life::new(kind, 1, &Config { quorum: 2, policy: "lin-ucb".parse().unwrap(), ..quiet() });
    life.ask(Request::Items((0..4).map(|i| all(i, f64::from(i))).collect())).unwrap();
    for reviewer in ["ann", "bob"] {
        life.ask(claim(reviewer, 4)).unwrap();
    }
    let mut say = |said: NewVerdict| {
        let answer = life.ask(Request::Verdicts(vec![said])).unwrap();
        assert!(matches!(answer, Answer::Verdicts { accepted: 1, .. }), "{answer:?}");
    };
    say(verdict("a1", "x3", "ann", 1.0));
    say(verdict("b1", "x3", "bob", 0.0));
    say(NewVerdict { revises: Some("b1".into()), ..verdict("b2", "x3", "bob", 1.0) });
    let used = |life: &Life| life.writer.replica.learner.jury().seen().used;
    life.pass(25);
    life.ask(Request::Release { reviewer: "ann".into(), items: Vec::new() }).unwrap();
    assert_eq!((used(&life), life.writer.replica.learner.epoch()), (1, 0));
    sound(&life);
    // Another revision changes a learnt fact, so the log is folded again.
    let again = NewVerdict { revises: Some("a1".into()), ..verdict("a2", "x3", "ann", 0.0) };
    life.ask(Request::Verdicts(vec![again])).unwrap();
    assert!(life.writer.replica.learner.is_stale());
    life.writer.refold_if_stale().unwrap();
    assert_eq!((used(&life), life.writer.replica.learner.epoch()), (1, 1));
    life.ask(claim("cid", 2)).unwrap();
    sound(&life);
    let Life { writer, home, .. } = life;
    drop(writer);
    let changed = home.copy();
    assert!(
        changed.change(
            "UPDATE log SET body = replace(body, 'decides_first', 'decides_second') WHERE kind = 'verdicts'"
        ) > 0
    );
    assert!(!crate::verify(&changed.place).unwrap()[0].is_ok(), "the changed entries are found");
}

fn an_item_closed_short_of_its_quorum_is_learnt_when_it_is_decided(kind: Kind) {
    let mut life = Life::new(kind, 1, &Config { quorum: 2, policy: "lin-ucb".parse().unwrap(), ..quiet() });
    life.ask(Request::Items((0..4).map(|i| all(i, f64::from(i))).collect())).unwrap();
    life.ask(claim("ann", 4)).unwrap();
    life.ask(claim("bob", 2)).unwrap();
    let say = |life: &mut Life, said: NewVerdict| {
        let answer = life.ask(Request::Verdicts(vec![said])).unwrap();
        assert!(matches!(answer, Answer::Verdicts { accepted: 1, .. }), "{answer:?}");
    };
    // x3 has two verdicts that differ; x1 and x0 have one each.
    say(&mut life, verdict("a3", "x3", "ann", 1.0));
    say(&mut life, verdict("b3", "x3", "bob", 0.0));
    say(&mut life, verdict("a1", "x1", "ann", 1.0));
    say(&mut life, verdict("a0", "x0", "ann", 1.0));
    let all_of_them = Request::Close { filter: Filter::default(), before: None, reason: "spring".into() };
    assert_eq!(life.ask(all_of_them).unwrap(), Answer::Changed { changed: 4 });
    let used = |life: &mut Life| {
        life.pass(25);
        life.ask(Request::Items(vec![all(life.writer.replica.live.seq as u32 + 90, 0.0)])).unwrap();
        let learner = &life.writer.replica.learner;
        (learner.jury().seen().used, learner.epoch())
    };
    // With one verdict, x1 is short of the quorum, and its revision decides nothing.
    say(&mut life, NewVerdict { revises: Some("a1".into()), ..verdict("a1b", "x1", "ann", 0.0) });
    assert_eq!(used(&mut life), (0, 0));
    // Now the two verdicts on x3 agree, and decide it.
    say(&mut life, NewVerdict { revises: Some("b3".into()), ..verdict("b3b", "x3", "bob", 1.0) });
    assert_eq!(used(&mut life), (1, 0));
    let appeal = NewVerdict { source: crate::VerdictSource::Appeal, ..verdict("ap", "x0", "eve", 0.0) };
    say(&mut life, appeal);
    assert_eq!(used(&mut life), (2, 0));
    say(&mut life, NewVerdict { revises: Some("b3b".into()), ..verdict("b3c", "x3", "bob", 0.0) });
    assert!(life.writer.replica.learner.is_stale());
    life.writer.refold_if_stale().unwrap();
    assert_eq!(used(&mut life), (2, 1));
    life.ask(claim("cid", 2)).unwrap();
    sound(&life);
}

fn verdicts_are_learnt_when_they_stand_though_nothing_else_happens(kind: Kind) {
    let mut life = Life::new(kind, 1, &quiet());
    life.ask(Request::Items((0..9).map(|i| all(i, f64::from(i))).collect())).unwrap();
    life.ask(claim("ann", 2)).unwrap();
    life.ask(Request::Verdicts(vec![verdict("v1", "x8", "ann", 0.0)])).unwrap();
    let used = |life: &Life| life.writer.replica.learner.jury().seen().used;
    assert!(!life.writer.lesson_is_due(Duration::ZERO) && !life.writer.settle().unwrap());
    let head = life.writer.replica.live.seq;
    life.pass(25);
    assert!(life.writer.lesson_is_due(Duration::ZERO));
    // Two nodes wake up, and one of them writes the entry.
    let mut other = QueueWriter::open(
        life.writer.another_store(crate::store::Purpose::Write).unwrap(),
        life.writer.queue(),
    )
    .unwrap();
    assert_eq!([life.writer.settle().unwrap(), other.settle().unwrap()], [true, false]);
    assert_eq!((used(&life), life.writer.replica.live.seq), (1, head + 1));
    assert_eq!(other.replica.learner.to_bytes(), life.writer.replica.learner.to_bytes());
    life.ask(claim("bob", 1)).unwrap();
    sound(&life);
}

fn what_was_folded_again_is_not_folded_again_on_opening(kind: Kind) {
    let mut life = Life::new(kind, 1, &Config { undo_seconds: 0, ..quiet() });
    for part in 0..3 {
        let items = (part * 6000..(part + 1) * 6000).map(|i| all(i, f64::from(i % 1000)));
        life.ask(Request::Items(items.collect())).unwrap();
    }
    life.writer.refold_if_stale().unwrap();
    life.ask(claim("ann", 1)).unwrap();
    let item = names_held(&mut life);
    life.ask(Request::Verdicts(vec![verdict("v1", &item, "ann", 1.0)])).unwrap();
    life.ask(claim("ann", 1)).unwrap();
    let revised = NewVerdict { revises: Some("v1".into()), ..verdict("v2", &item, "ann", 0.0) };
    life.ask(Request::Verdicts(vec![revised])).unwrap();
    assert!(life.writer.replica.learner.is_stale());
    life.writer.refold_if_stale().unwrap();
    let mut store = life.writer.another_store(crate::store::Purpose::Write).unwrap();
    let kept = |store: &mut dyn Store, queue| store.checkpoints(queue).unwrap().last().map(|last| last.seq);
    assert_eq!(kept(store.as_mut(), life.writer.queue()), Some(life.writer.replica.live.seq));
    let head = store.begin_reading(life.writer.queue()).unwrap();
    let (loaded, folded) = crate::load::load(store.as_mut(), life.writer.queue(), head).unwrap();
    store.rollback();
    assert_eq!(folded, 0);
    assert_eq!(loaded.learner.to_bytes(), life.writer.replica.learner.to_bytes());
    assert_eq!(crate::verify(&life.home.place).unwrap()[0].checkpoints, 1);
    sound(&life);
}

fn names_held(life: &mut Life) -> String {
    life.writer.held("ann", u64::MAX).unwrap().0.remove(0).item
}

fn tags_that_no_open_item_has_are_forgotten_and_those_of_a_rare_tag_are_found(kind: Kind) {
    let mut life =
        Life::new(kind, 1, &Config { policy: "average".parse().unwrap(), lease_seconds: 900, ..quiet() });
    let tagged = |i: u32| {
        let mut item = all(i, f64::from(i));
        item.tags.insert("user".into(), format!("u{i}"));
        item.tags.insert("language".into(), if i % 1000 == 7 { "la".into() } else { "en".into() });
        item
    };
    life.ask(Request::Items((0..3000).map(tagged).collect())).unwrap();
    life.writer.refold_if_stale().unwrap();
    assert_eq!(life.writer.replica.live.kinds_of_tags(), 3000);
    let latin = Filter([("language".to_string(), vec!["la".to_string()])].into());
    let rare = Request::Claim { reviewer: "ann".into(), k: Some(2), filter: latin.clone() };
    assert_eq!(names(life.ask(rare).unwrap()), ["x2007", "x1007"]);
    let english = Filter([("language".to_string(), vec!["en".to_string()])].into());
    life.ask(Request::Close { filter: english, before: None, reason: "enough".into() }).unwrap();
    life.writer.refold_if_stale().unwrap();
    assert_eq!(life.writer.replica.live.kinds_of_tags(), 3);
    let rest = Request::Claim { reviewer: "bob".into(), k: Some(9), filter: latin };
    assert_eq!(names(life.ask(rest).unwrap()), ["x7"]);
    life.ask(Request::Items((3000..3010).map(tagged).collect())).unwrap();
    let one = Filter([("user".to_string(), vec!["u3005".to_string()])].into());
    let one = Request::Claim { reviewer: "bob".into(), k: Some(9), filter: one };
    assert_eq!(names(life.ask(one).unwrap()), ["x3005"]);
    sound(&life);
}

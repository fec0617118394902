//! Tests of two nodes acting at the same moment: the first entry in the log wins, and both see it.

use super::fixture::{Kind, on_both};
use super::random_life::{Life, config};
use crate::queue_writer::QueueWriter;
use crate::{Answer, Call, Config, Error, Filter, NewItem, NewVerdict, Request};
use std::sync::Barrier;

on_both!(
    claims_at_the_same_moment_share_nothing,
    an_expiry_and_a_verdict_at_the_same_moment_give_the_item_to_one,
    a_release_and_a_claim_at_the_same_moment_come_one_after_the_other,
    a_revision_and_a_refold_at_the_same_moment_end_up_the_same,
);

const ROUNDS: u32 = 12;

fn alone(kind: Kind) -> (Life, QueueWriter) {
    let config = Config {
        random_check_rate: 0.0,
        ageing_per_day: 0.0,
        policy: "average".parse().unwrap(),
        ..config()
    };
    let life = Life::new(kind, 1, &config);
    let other = QueueWriter::open(
        life.writer.another_store(crate::store::Purpose::Write).unwrap(),
        life.writer.queue(),
    )
    .unwrap();
    (life, other)
}

fn add(life: &mut Life, round: u32, many: u32) {
    let items = (0..many).map(|i| {
        let score = f64::from(round * 100 + i);
        NewItem {
            id: format!("x{round}-{i}"),
            scores: [("a".to_string(), Some(score))].into(),
            ..NewItem::default()
        }
    });
    life.ask(Request::Items(items.collect())).unwrap();
}

fn claim(reviewer: &str, k: u32) -> Call {
    Call::new(reviewer, Request::Claim { reviewer: reviewer.into(), k: Some(k), filter: Filter::default() })
}

fn verdict(id: &str, item: &str, reviewer: &str, revises: Option<&str>) -> Call {
    let (id, item, reviewer) = (id.to_string(), item.to_string(), reviewer.to_string());
    let verdict = NewVerdict {
        id,
        item,
        reviewer,
        reward: f64::from(u8::from(revises.is_none())),
        revises: revises.map(String::from),
        ..NewVerdict::default()
    };
    Call::new("test", Request::Verdicts(vec![verdict]))
}

fn names(answer: &Result<Answer, Error>) -> Vec<String> {
    let Ok(Answer::Claims { claims, .. }) = answer else { panic!("no claims: {answer:?}") };
    claims.iter().map(|claim| claim.item.clone()).collect()
}

/// Both nodes answer a call at the same moment.
fn both(
    one: (&mut QueueWriter, Call),
    two: (&mut QueueWriter, Call),
) -> (Result<Answer, Error>, Result<Answer, Error>) {
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            barrier.wait();
            one.0.answer(&[one.1]).remove(0)
        });
        barrier.wait();
        let second = two.0.answer(&[two.1]).remove(0);
        (first.join().unwrap(), second)
    })
}

/// Checks that both nodes have the same state, and that the records hold.
fn agree(mut life: Life, mut other: QueueWriter) {
    life.writer.look().unwrap();
    other.look().unwrap();
    assert!(life.writer.replica.live.to_bytes() == other.replica.live.to_bytes());
    life.writer.refold_if_stale().unwrap();
    other.refold_if_stale().unwrap();
    assert!(life.writer.replica.learner.to_bytes() == other.replica.learner.to_bytes());
    for checked in crate::verify(&life.home.place).unwrap() {
        assert!(checked.is_ok(), "{checked:#?}");
    }
}

fn claims_at_the_same_moment_share_nothing(kind: Kind) {
    let (mut life, mut other) = alone(kind);
    for round in 0..ROUNDS {
        add(&mut life, round, 5);
        let (one, two) = both((&mut life.writer, claim("ann", 3)), (&mut other, claim("bob", 3)));
        let (one, two) = (names(&one), names(&two));
        assert_eq!(one.len() + two.len(), 5, "{one:?} {two:?}");
        assert!(one.iter().all(|item| !two.contains(item)), "{one:?} {two:?}");
    }
    agree(life, other);
}

fn an_expiry_and_a_verdict_at_the_same_moment_give_the_item_to_one(kind: Kind) {
    let (mut life, mut other) = alone(kind);
    for round in 0..ROUNDS {
        add(&mut life, round, 1);
        let item = names(&life.writer.answer(&[claim("ann", 1)]).remove(0)).remove(0);
        life.pass(31);
        other.trust_clock();
        let given = verdict(&format!("v{round}"), &item, "ann", None);
        let (late, claimed) = both((&mut life.writer, given), (&mut other, claim("bob", 1)));
        let accepted = matches!(late, Ok(Answer::Verdicts { accepted: 1, .. }));
        assert_ne!(accepted, names(&claimed).contains(&item), "{late:?} {claimed:?}");
        // If bob got the item, he judges it, so that the next round has another item.
        if !accepted {
            let given = verdict(&format!("w{round}"), &item, "bob", None);
            assert!(matches!(other.answer(&[given]).remove(0), Ok(Answer::Verdicts { accepted: 1, .. })));
        }
    }
    agree(life, other);
}

fn a_release_and_a_claim_at_the_same_moment_come_one_after_the_other(kind: Kind) {
    let (mut life, mut other) = alone(kind);
    for round in 0..ROUNDS {
        add(&mut life, round, 1);
        let item = names(&life.writer.answer(&[claim("ann", 1)]).remove(0)).remove(0);
        let release =
            Call::new("ann", Request::Release { reviewer: "ann".into(), items: vec![item.clone()] });
        let (released, claimed) = both((&mut life.writer, release), (&mut other, claim("bob", 1)));
        assert!(matches!(released, Ok(Answer::Changed { changed: 1, .. })), "{released:?}");
        let mut holder = names(&claimed);
        if holder.is_empty() {
            holder = names(&other.answer(&[claim("bob", 1)]).remove(0));
        }
        assert_eq!(holder, std::slice::from_ref(&item));
        let given = verdict(&format!("v{round}"), &item, "bob", None);
        assert!(matches!(other.answer(&[given]).remove(0), Ok(Answer::Verdicts { accepted: 1, .. })));
    }
    agree(life, other);
}

fn a_revision_and_a_refold_at_the_same_moment_end_up_the_same(kind: Kind) {
    let (mut life, mut other) = alone(kind);
    for round in 0..ROUNDS {
        add(&mut life, round, 2);
        let items = names(&life.writer.answer(&[claim("ann", 2)]).remove(0));
        for (at, item) in items.iter().enumerate() {
            life.writer.answer(&[verdict(&format!("v{round}-{at}"), item, "ann", None)]).remove(0).unwrap();
        }
        life.pass(25);
        other.trust_clock();
        // Revising the first verdict makes the learner stale. While one node folds the log again,
        // the other node revises the second verdict.
        let revise = |at: usize| {
            verdict(&format!("w{round}-{at}"), &items[at], "ann", Some(&format!("v{round}-{at}")))
        };
        life.writer.answer(&[revise(0)]).remove(0).unwrap();
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                barrier.wait();
                other.answer(&[revise(1)]).remove(0).unwrap();
            });
            barrier.wait();
            life.writer.refold_if_stale().unwrap();
        });
    }
    agree(life, other);
}

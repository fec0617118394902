//! Tests of calls in one transaction that affect each other: repeated ids and keys, and rows that
//! the database refuses.

use super::fixture::{Kind, on_both};
use super::random_life::{Life, config, verdict};
use crate::{Answer, Call, Config, Error, Filter, NewItem, NewVerdict, Rejected, Request};

on_both!(
    an_id_on_two_items_of_a_request_is_the_first_ones,
    what_the_tables_do_not_take_fails_alone,
    a_key_that_comes_twice_is_that_of_the_call_that_did_something,
    a_key_stands_for_all_of_what_was_asked_with_it,
    a_key_stands_for_what_was_asked_though_nothing_came_of_it,
    a_verdict_after_a_refused_one_on_its_item_counts,
    no_id_stands_in_the_way_of_taking_a_verdict_back,
    an_item_with_the_name_of_a_field_is_erased_without_other_answers,
);

fn plain(kind: Kind) -> Life {
    let config = Config { random_check_rate: 0.0, ageing_per_day: 0.0, ..config() };
    let mut life = Life::new(kind, 1, &config);
    life.ask(Request::Items((0..20).map(|i| item(&format!("x{i}"), i)).collect())).unwrap();
    life.writer.refold_if_stale().unwrap();
    life
}

fn item(id: &str, score: u32) -> NewItem {
    let scores = ["a", "b", "c"].map(|name| (name.to_string(), Some(f64::from(score)))).into();
    NewItem { id: id.into(), scores, ..NewItem::default() }
}

fn claim(reviewer: &str) -> Call {
    Call::new("test", Request::Claim { reviewer: reviewer.into(), k: Some(1), filter: Filter::default() })
}

fn give(life: &mut Life, verdicts: Vec<NewVerdict>) -> (u64, u64, Vec<Rejected>) {
    match life.ask(Request::Verdicts(verdicts)).unwrap() {
        Answer::Verdicts { accepted, repeated, rejected } => (accepted, repeated, rejected),
        other => panic!("{other:?}"),
    }
}

fn assert_sound(life: &Life) {
    for checked in crate::verify(&life.home.place).unwrap() {
        assert!(checked.is_ok() && checked.exact == checked.claims, "{checked:#?}");
    }
}

fn an_id_on_two_items_of_a_request_is_the_first_ones(kind: Kind) {
    let mut life = plain(kind);
    let twice = || {
        vec![verdict("v", "x1", "ann", 1.0), verdict("v", "x2", "ann", 1.0), verdict("v", "x1", "ann", 1.0)]
    };
    let (accepted, repeated, rejected) = give(&mut life, twice());
    assert_eq!((accepted, repeated, rejected.len()), (1, 1, 1));
    assert_eq!(rejected[0].why, "the id `v` belongs to another verdict");
    // Separate requests have the same outcome, even within one transaction.
    let call = |item: &str| Call::new("test", Request::Verdicts(vec![verdict("w", item, "ann", 1.0)]));
    let answers = life.writer.answer(&[call("x3"), call("x4"), claim("bob")]);
    assert!(matches!(&answers[0], Ok(Answer::Verdicts { accepted: 1, .. })), "{answers:?}");
    assert!(
        matches!(&answers[1], Ok(Answer::Verdicts { rejected, .. }) if rejected[0].why.contains("another verdict"))
    );
    assert!(matches!(&answers[2], Ok(Answer::Claims { claims, .. }) if claims.len() == 1));
    assert_eq!(life.writer.replica.live.counts().verdicts, 2);
    assert_sound(&life);
}

fn what_the_tables_do_not_take_fails_alone(kind: Kind) {
    let mut life = plain(kind);
    // The tables say that the best item, number 20, is leased, but the log says that it is free.
    life.home.change("INSERT INTO leases(queue, item, slot, claim, reviewer, until, probability, explored) VALUES (1, 20, 0, 1, 'eve', 9000000000000000, 1.0, 0)");
    let items = || Call::new("test", Request::Items(vec![item("new", 0)]));
    let given = Call::new("test", Request::Verdicts(vec![verdict("v", "x1", "ann", 1.0)]));
    let answers = life.writer.answer(&[items(), claim("bob"), given]);
    assert!(matches!(&answers[0], Ok(Answer::Items { accepted: 1, .. })), "{answers:?}");
    assert!(
        matches!(&answers[1], Err(error @ Error::Contradiction(_)) if !error.is_transient()),
        "{answers:?}"
    );
    assert!(matches!(&answers[2], Ok(Answer::Verdicts { accepted: 1, .. })), "{answers:?}");
    life.home.change("DELETE FROM leases WHERE reviewer = 'eve'");
    assert!(
        matches!(life.writer.answer(&[claim("bob")]).remove(0), Ok(Answer::Claims { claims, .. }) if claims[0].item == "x19")
    );
    assert_sound(&life);
}

fn a_key_that_comes_twice_is_that_of_the_call_that_did_something(kind: Kind) {
    let mut life = plain(kind);
    let filter = Filter([("language".to_string(), vec!["en".to_string()])].into());
    let rare = || {
        let request = Request::Claim { reviewer: "ann".into(), k: Some(1), filter: filter.clone() };
        Call::new("test", request).with_key("key")
    };
    let tags = [("language".to_string(), "en".to_string())].into();
    let comes = Call::new("test", Request::Items(vec![NewItem { tags, ..item("new", 1) }]));
    let answers = life.writer.answer(&[rare(), comes, claim("bob"), rare()]);
    let many = |answer: &Result<Answer, Error>| match answer {
        Ok(Answer::Claims { claims, .. }) => claims.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!((many(&answers[0]), many(&answers[2]), many(&answers[3])), (0, 1, 1));
    assert_eq!(many(&life.writer.answer(&[rare()]).remove(0)), 1, "the answer is remembered");
    assert_sound(&life);
}

/// A key stands for a whole request. An equal part of another request with the same key is refused,
/// within one transaction and across transactions.
fn a_key_stands_for_all_of_what_was_asked_with_it(kind: Kind) {
    for together in [true, false] {
        let mut life = plain(kind);
        let (first, second) = (verdict("v1", "x1", "ann", 1.0), verdict("v2", "x1", "bob", 1.0));
        let part = || Call::new("test", Request::Verdicts(vec![first.clone()])).with_key("key");
        let of_two = part().part_of(&Request::Verdicts(vec![first.clone(), second]));
        let calls = [part(), of_two, part()];
        let answers = if together {
            life.writer.answer(&calls)
        } else {
            calls.map(|call| life.writer.answer(&[call]).remove(0)).into()
        };
        assert!(matches!(&answers[1], Err(Error::KeyReused { key }) if key == "key"), "{answers:?}");
        assert!(matches!(&answers[0], Ok(Answer::Verdicts { accepted: 1, .. })), "{answers:?}");
        assert_eq!(answers[0].as_ref().unwrap(), answers[2].as_ref().unwrap());
    }
}

fn a_key_stands_for_what_was_asked_though_nothing_came_of_it(kind: Kind) {
    let mut life = plain(kind);
    let call = |id: &str, item: &str| {
        Call::new("test", Request::Verdicts(vec![verdict(id, item, "ann", 1.0)])).with_key("key")
    };
    let accepted = |answer: Result<Answer, Error>| match answer.unwrap() {
        Answer::Verdicts { accepted, rejected, .. } => (accepted, rejected.len()),
        other => panic!("{other:?}"),
    };
    // A lease has ended, which the next entry will record. The next four calls write no entry.
    life.writer.answer(&[claim("bob")]).remove(0).unwrap();
    life.pass(31);
    let answers = life.writer.answer(&[call("v", "late"), call("w", "x1")]);
    assert!(matches!(&answers[1], Err(Error::KeyReused { .. })), "{answers:?}");
    let head = life.writer.replica.live.seq;
    assert_eq!(accepted(life.writer.answer(&[call("v", "late")]).remove(0)), (0, 1));
    assert!(matches!(life.writer.answer(&[call("w", "x1")]).remove(0), Err(Error::KeyReused { .. })));
    assert_eq!(life.writer.replica.live.seq, head, "no entry was written");
    assert_sound(&life);
    // A repeated request can succeed later, and is then remembered.
    life.ask(Request::Items(vec![item("late", 1)])).unwrap();
    assert_eq!(accepted(life.writer.answer(&[call("v", "late")]).remove(0)), (1, 0));
    assert_eq!(accepted(life.writer.answer(&[call("v", "late")]).remove(0)), (1, 0));
    assert!(matches!(life.writer.answer(&[call("w", "x1")]).remove(0), Err(Error::KeyReused { .. })));
    assert_sound(&life);
}

fn a_verdict_after_a_refused_one_on_its_item_counts(kind: Kind) {
    let mut life = plain(kind);
    let wrong = NewVerdict { token: Some(9999), ..verdict("v1", "x1", "ann", 1.0) };
    let right = verdict("v2", "x1", "ann", 1.0);
    let (accepted, _, rejected) = give(&mut life, vec![wrong, right, verdict("v3", "x1", "bob", 1.0)]);
    assert_eq!((accepted, rejected.len()), (1, 2), "{rejected:?}");
    assert!(rejected[0].why.contains("token 9999"), "{rejected:?}");
    assert!(rejected[1].why.contains("another verdict on this item"), "{rejected:?}");
    assert_sound(&life);
}

fn no_id_stands_in_the_way_of_taking_a_verdict_back(kind: Kind) {
    let mut life = plain(kind);
    assert_eq!(give(&mut life, vec![verdict("good", "x1", "ann", 1.0)]).0, 1);
    let next = life.writer.replica.live.seq + 2;
    let names = [format!("good (taken back by {next})"), "good (taken back by it)".into()];
    let (accepted, _, rejected) =
        give(&mut life, vec![verdict(&names[0], "x2", "eve", 1.0), verdict(&names[1], "x3", "eve", 1.0)]);
    assert_eq!((accepted, rejected.len()), (1, 1), "{rejected:?}");
    assert!(rejected[0].why.contains("undone"), "{rejected:?}");
    life.ask(Request::Undo { reviewer: "ann".into(), verdict: "good".into() }).unwrap();
    assert_sound(&life);
}

fn an_item_with_the_name_of_a_field_is_erased_without_other_answers(kind: Kind) {
    let mut life = plain(kind);
    life.ask(Request::Items(vec![item("accepted", 1)])).unwrap();
    let given = Call::new("test", Request::Verdicts(vec![verdict("v", "x1", "ann", 1.0)])).with_key("key");
    let first = life.writer.answer(std::slice::from_ref(&given)).remove(0).unwrap();
    life.ask(Request::Erase { items: vec!["accepted".into()] }).unwrap();
    assert_eq!(life.writer.answer(&[given]).remove(0).unwrap(), first);
}

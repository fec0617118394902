//! Tests of the rules of a queue: claims, verdicts, skips, undo, appeals, modes, keys, clocks and
//! erasing.

use super::fixture::{Kind, on_both};
use super::random_life::{Life, config, verdict};
use crate::request::{Answer, Call, ConfigChange, NewItem, NewVerdict, Request};
use crate::{Config, Error, Filter, QueueMode, VerdictSource};
use jurybox::Evaluators;

on_both!(
    the_best_go_out_first_and_to_one_person_each,
    a_verdict_counts_once_and_late_ones_count_unless_another_has_the_item,
    two_who_disagree_get_a_third_and_the_majority_decides,
    what_is_skipped_goes_to_others_and_what_is_undone_comes_back,
    revisions_and_appeals_change_what_was_learnt_and_rules_teach_nothing,
    modes_dates_tags_and_bulk_closing,
    a_call_with_the_same_key_happens_once,
    a_clock_that_jumps_is_not_followed_at_once_and_stops_nobody,
    erased_items_are_gone_and_what_was_learnt_from_them_too,
    evaluators_come_and_go_while_people_work,
);

fn item(id: &str, a: f64) -> NewItem {
    let scores = [("a".to_string(), Some(a)), ("b".into(), Some(a)), ("c".into(), Some(a))].into();
    NewItem { id: id.into(), scores, ..NewItem::default() }
}

fn plain(kind: Kind, quorum: u8) -> Life {
    let config = Config {
        quorum,
        random_check_rate: 0.0,
        ageing_per_day: 0.0,
        policy: "average".parse().unwrap(),
        ..config()
    };
    let mut life = Life::new(kind, 1, &config);
    let items = (0..6).map(|i| item(&format!("x{i}"), f64::from(i))).collect();
    life.ask(Request::Items(items)).unwrap();
    life
}

fn claim(life: &mut Life, reviewer: &str, k: u32) -> Vec<(String, u64)> {
    let claim = Request::Claim { reviewer: reviewer.into(), k: Some(k), filter: Filter::default() };
    let Answer::Claims { claims, .. } = life.ask(claim).unwrap() else { panic!("no claims") };
    claims.into_iter().map(|claim| (claim.item, claim.token)).collect()
}

fn names(claims: &[(String, u64)]) -> Vec<&str> {
    claims.iter().map(|(item, _)| item.as_str()).collect()
}

fn give(life: &mut Life, verdict: NewVerdict) -> Result<&'static str, String> {
    match life.ask(Request::Verdicts(vec![verdict])).unwrap() {
        Answer::Verdicts { accepted: 1, .. } => Ok("accepted"),
        Answer::Verdicts { repeated: 1, .. } => Ok("repeated"),
        Answer::Verdicts { rejected, .. } => Err(rejected[0].why.clone()),
        other => panic!("{other:?}"),
    }
}

fn pending(life: &Life) -> (u64, u64, u64) {
    let counts = life.writer.replica.live.counts();
    (counts.pending, counts.leased, counts.closed)
}

fn the_best_go_out_first_and_to_one_person_each(kind: Kind) {
    let mut life = plain(kind, 1);
    assert_eq!(names(&claim(&mut life, "ann", 2)), ["x5", "x4"]);
    assert_eq!(names(&claim(&mut life, "bob", 2)), ["x3", "x2"]);
    assert_eq!(names(&claim(&mut life, "ann", 9)), ["x1", "x0"]);
    assert!(claim(&mut life, "cid", 1).is_empty());
    life.pass(31);
    assert_eq!(names(&claim(&mut life, "cid", 1)), ["x5"], "leases run out");
}

fn a_verdict_counts_once_and_late_ones_count_unless_another_has_the_item(kind: Kind) {
    let mut life = plain(kind, 1);
    let claims = claim(&mut life, "ann", 3);
    assert_eq!(give(&mut life, verdict("v1", "x5", "ann", 1.0)), Ok("accepted"));
    assert_eq!(give(&mut life, verdict("v1", "x5", "ann", 1.0)), Ok("repeated"));
    assert!(give(&mut life, verdict("v1", "x5", "ann", 0.0)).unwrap_err().contains("another verdict"));
    assert!(give(&mut life, verdict("v9", "x5", "bob", 0.0)).unwrap_err().contains("closed"));
    assert!(give(&mut life, verdict("v9", "nobody", "bob", 0.0)).unwrap_err().contains("no item"));
    life.pass(31);
    let late = NewVerdict { token: Some(claims[1].1), ..verdict("v2", "x4", "ann", 1.0) };
    assert_eq!(give(&mut life, late), Ok("accepted"), "the lease has ended, nobody has the item");
    assert_eq!(names(&claim(&mut life, "bob", 1)), ["x3"]);
    assert!(give(&mut life, verdict("v3", "x3", "ann", 1.0)).unwrap_err().contains("another reviewer"));
    assert_eq!(pending(&life), (3, 1, 2));
    let extend = Request::Extend { reviewer: "ann".into(), items: vec!["x5".into()] };
    assert_eq!(life.ask(extend).unwrap(), Answer::Changed { changed: 0 }, "no error after one's own verdict");
}

fn two_who_disagree_get_a_third_and_the_majority_decides(kind: Kind) {
    let mut life = plain(kind, 2);
    for reviewer in ["ann", "bob"] {
        assert_eq!(names(&claim(&mut life, reviewer, 1)), ["x5"]);
    }
    assert_eq!(names(&claim(&mut life, "cid", 1)), ["x4"], "two are enough so far");
    give(&mut life, verdict("v1", "x5", "ann", 1.0)).unwrap();
    give(&mut life, verdict("v2", "x5", "bob", 0.0)).unwrap();
    assert_eq!(names(&claim(&mut life, "ann", 1)), ["x4"], "not the same item twice to ann");
    assert_eq!(names(&claim(&mut life, "cid", 1)), ["x5"]);
    assert_eq!(pending(&life).2, 0);
    give(&mut life, verdict("v3", "x5", "cid", 1.0)).unwrap();
    assert_eq!(pending(&life).2, 1);
    life.pass(30);
    life.ask(Request::Release { reviewer: "ann".into(), items: Vec::new() }).unwrap();
    give(&mut life, verdict("v4", "x0", "dan", 1.0)).unwrap();
    assert_eq!(
        life.writer.replica.learner.jury().seen().used
            + life.writer.replica.learner.jury().seen().ignored_rewards,
        1,
        "learnt once"
    );
}

fn what_is_skipped_goes_to_others_and_what_is_undone_comes_back(kind: Kind) {
    let mut life = plain(kind, 1);
    claim(&mut life, "ann", 1);
    let skip = |item: &str| Request::Skip {
        reviewer: "ann".into(),
        item: item.into(),
        reason: "cannot read it".into(),
    };
    life.ask(skip("x5")).unwrap();
    assert!(matches!(life.ask(skip("x0")), Err(Error::Conflict(_))));
    assert_eq!(names(&claim(&mut life, "ann", 1)), ["x4"]);
    assert_eq!(names(&claim(&mut life, "bob", 1)), ["x5"]);
    give(&mut life, verdict("v1", "x5", "bob", 1.0)).unwrap();
    let undo = |reviewer: &str| Request::Undo { reviewer: reviewer.into(), verdict: "v1".into() };
    assert!(life.ask(undo("ann")).is_err());
    assert!(matches!(life.ask(undo("bob")).unwrap(), Answer::Undone { item, .. } if item == "x5"));
    assert!(life.ask(undo("bob")).is_err(), "only once");
    assert_eq!(pending(&life).2, 0);
    assert_eq!(give(&mut life, verdict("v2", "x5", "bob", 0.0)), Ok("accepted"));
    life.pass(21);
    assert!(
        life.ask(Request::Undo { reviewer: "bob".into(), verdict: "v2".into() })
            .unwrap_err()
            .to_string()
            .contains("too long ago")
    );
}

fn revisions_and_appeals_change_what_was_learnt_and_rules_teach_nothing(kind: Kind) {
    let mut life = plain(kind, 1);
    let used = |life: &Life| life.writer.replica.learner.jury().seen();
    claim(&mut life, "ann", 2);
    give(&mut life, verdict("v1", "x5", "ann", 1.0)).unwrap();
    give(&mut life, NewVerdict { source: VerdictSource::Automatic, ..verdict("auto", "x0", "rule 7", 0.0) })
        .unwrap();
    life.pass(25);
    give(&mut life, verdict("v2", "x4", "ann", 1.0)).unwrap();
    assert_eq!(used(&life).used + used(&life).ignored_rewards, 1);
    let revision = NewVerdict { revises: Some("v1".into()), ..verdict("v3", "x5", "ann", 0.0) };
    give(&mut life, revision.clone()).unwrap();
    assert!(life.writer.replica.learner.is_stale());
    life.writer.refold_if_stale().unwrap();
    assert_eq!((life.writer.replica.learner.is_stale(), life.writer.replica.learner.epoch()), (false, 1));
    assert!(
        give(&mut life, NewVerdict { id: "v4".into(), ..revision }).unwrap_err().contains("already revised")
    );
    let appeal = |id: &str, item: &str| NewVerdict {
        source: VerdictSource::Appeal,
        ..verdict(id, item, "court", 1.0)
    };
    assert!(give(&mut life, appeal("w1", "x3")).unwrap_err().contains("still open"));
    assert_eq!(give(&mut life, appeal("w2", "x5")), Ok("accepted"));
    life.writer.refold_if_stale().unwrap();
    assert_eq!(life.writer.replica.learner.epoch(), 2);
}

fn modes_dates_tags_and_bulk_closing(kind: Kind) {
    let mut life = plain(kind, 1);
    let mode = |mode| Request::Configure(ConfigChange { mode: Some(mode), ..ConfigChange::default() });
    life.ask(mode(QueueMode::Paused)).unwrap();
    let ask = Request::Claim { reviewer: "ann".into(), k: None, filter: Filter::default() };
    assert!(matches!(life.ask(ask), Err(Error::Conflict(_))));
    life.ask(mode(QueueMode::Draining)).unwrap();
    let Answer::Items { accepted: 0, rejected, .. } =
        life.ask(Request::Items(vec![item("x9", 9.0)])).unwrap()
    else {
        panic!()
    };
    assert!(rejected[0].why.contains("draining"));
    life.ask(mode(QueueMode::Open)).unwrap();
    let soon = life.writer.replica.live.at + 5_000_000;
    let mut dated = NewItem { due: Some(soon), ..item("dated", -5.0) };
    dated.tags.insert("language".into(), "de".into());
    life.ask(Request::Items(vec![dated])).unwrap();
    assert_eq!(names(&claim(&mut life, "ann", 1)), ["x5"]);
    let german = Filter([("language".to_string(), vec!["de".to_string()])].into());
    let ask = Request::Claim { reviewer: "bob".into(), k: Some(5), filter: german.clone() };
    let Answer::Claims { claims, .. } = life.ask(ask).unwrap() else { panic!() };
    assert_eq!((claims.len(), claims[0].item.as_str()), (1, "dated"));
    // Claims cannot filter by golden items.
    let known = Filter([("golden".to_string(), vec!["yes".to_string()])].into());
    let refused = life.ask(Request::Claim { reviewer: "bob".into(), k: Some(5), filter: known }).unwrap_err();
    assert!(
        matches!(&refused, Error::Refused(why) if why.contains("cannot filter by `golden`")),
        "{refused}"
    );
    life.ask(Request::Release { reviewer: "bob".into(), items: vec!["dated".into()] }).unwrap();
    life.pass(6);
    assert_eq!(names(&claim(&mut life, "cid", 1)), ["dated"], "its date has come");
    let close = Request::Close { filter: german, before: None, reason: "no German speaker".into() };
    assert_eq!(life.ask(close).unwrap(), Answer::Changed { changed: 1 });
    let Answer::Items { rejected, .. } = life.ask(Request::Items(vec![item("dated", 1.0)])).unwrap() else {
        panic!()
    };
    assert!(rejected[0].why.contains("closed"));
}

fn a_call_with_the_same_key_happens_once(kind: Kind) {
    let mut life = plain(kind, 1);
    let ask = |k| {
        Call::new("ann", Request::Claim { reviewer: "ann".into(), k: Some(k), filter: Filter::default() })
            .with_key("k1")
    };
    let first = life.writer.answer(&[ask(2)]).remove(0).unwrap();
    let entries = life.writer.replica.live.seq;
    let Answer::Claims { claims: again, .. } = life.writer.answer(&[ask(2)]).remove(0).unwrap() else {
        panic!()
    };
    let Answer::Claims { claims: before, .. } = first else { panic!() };
    assert_eq!(life.writer.replica.live.seq, entries);
    let told = |claims: &[crate::ClaimedItem]| {
        claims.iter().map(|c| (c.item.clone(), c.token, c.value.to_bits())).collect::<Vec<_>>()
    };
    assert_eq!(told(&again), told(&before));
    assert!(matches!(life.writer.answer(&[ask(3)]).remove(0), Err(Error::KeyReused { .. })));
    // One call comes twice before the first is answered, and another request comes with the same
    // key.
    let ask = |k| {
        Call::new("bob", Request::Claim { reviewer: "bob".into(), k: Some(k), filter: Filter::default() })
            .with_key("k2")
    };
    let answers = life.writer.answer(&[ask(1), ask(1), ask(2)]);
    assert_eq!(answers[0].as_ref().unwrap(), answers[1].as_ref().unwrap());
    assert!(matches!(answers[2], Err(Error::KeyReused { .. })));
    assert_eq!(life.writer.replica.live.seq, entries + 1);
}

fn a_clock_that_jumps_is_not_followed_at_once_and_stops_nobody(kind: Kind) {
    let mut life = plain(kind, 1);
    claim(&mut life, "ann", 1);
    let day = 86_400_000_000;
    for jump in [day, -day] {
        let before = life.writer.replica.live.at;
        life.ahead.fetch_add(jump, std::sync::atomic::Ordering::Relaxed);
        life.ask(Request::Items(vec![item(&format!("y{jump}"), -1.0)])).unwrap();
        assert!((0..day / 24).contains(&(life.writer.replica.live.at - before)));
        life.ahead.fetch_sub(jump, std::sync::atomic::Ordering::Relaxed);
    }
    assert_eq!(give(&mut life, verdict("v1", "x5", "ann", 1.0)), Ok("accepted"), "the lease is still ann's");
}

fn erased_items_are_gone_and_what_was_learnt_from_them_too(kind: Kind) {
    let mut life = plain(kind, 1);
    claim(&mut life, "ann", 1);
    give(&mut life, verdict("v1", "x5", "ann", 1.0)).unwrap();
    life.pass(25);
    life.ask(Request::Extend { reviewer: "ann".into(), items: Vec::new() }).unwrap();
    claim(&mut life, "ann", 1);
    assert_eq!(
        life.ask(Request::Erase { items: vec!["x5".into(), "x4".into(), "no".into()] }).unwrap(),
        Answer::Changed { changed: 2 }
    );
    life.writer.refold_if_stale().unwrap();
    let seen = life.writer.replica.learner.jury().seen();
    assert_eq!(seen.used + seen.ignored_rewards, 0);
    let found = life.writer.store().find(1, &["x5".into(), "x3".into()]).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(pending(&life).0, 4);
}

fn evaluators_come_and_go_while_people_work(kind: Kind) {
    let mut life = plain(kind, 1);
    let seat = |names: &[&str]| {
        Request::Configure(ConfigChange {
            evaluators: Some(Evaluators::new(names.iter().copied()).unwrap()),
            ..ConfigChange::default()
        })
    };
    life.ask(seat(&["a", "new"])).unwrap();
    assert_eq!(names(&claim(&mut life, "ann", 1)), ["x5"], "by the old model, with the scores that are left");
    life.writer.refold_if_stale().unwrap();
    let mut best = NewItem { id: "best".into(), ..NewItem::default() };
    best.scores = [("new".to_string(), Some(50.0))].into();
    life.ask(Request::Items(vec![best.clone()])).unwrap();
    assert_eq!(names(&claim(&mut life, "ann", 1)), ["best"]);
    best.scores = [("b".to_string(), Some(1.0))].into();
    let Answer::Items { ignored, rejected, .. } = life.ask(Request::Items(vec![best.clone()])).unwrap()
    else {
        panic!()
    };
    assert_eq!((ignored, rejected.len()), (1, 0), "a removed evaluator's score is ignored, and counted");
    best.scores = [("typo".to_string(), Some(1.0))].into();
    let Answer::Items { rejected, .. } = life.ask(Request::Items(vec![best])).unwrap() else { panic!() };
    assert!(rejected[0].why.contains("no evaluator `typo`"));
    for checked in crate::verify(&life.home.place).unwrap() {
        assert!(checked.is_ok(), "{checked:#?}");
    }
}

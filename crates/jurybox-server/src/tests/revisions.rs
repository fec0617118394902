//! Tests of revised and undone verdicts, tokens of other claims, lowered quorums, corrected clocks
//! and erased items.

use super::fixture::{Kind, on_both};
use super::random_life::{Life, config};
use crate::queue_writer::QueueWriter;
use crate::store::{sql, sqlite::FILE};
use crate::{Answer, Call, Config, ConfigChange, Error, Filter, NewItem, NewVerdict, Request, StoreLocation};
use std::sync::atomic::Ordering;

on_both!(
    a_verdict_that_was_taken_back_can_be_given_again,
    a_token_must_be_of_a_claim_by_which_the_reviewer_had_the_item,
    fewer_reviewers_decide_what_has_enough_verdicts,
    a_verdict_taken_back_says_nothing_when_the_log_is_folded_again,
    fewer_reviewers_have_the_last_word_when_the_log_is_folded_again,
    whatever_happens_while_the_quorum_changes_the_records_hold,
    a_clock_that_goes_on_steadily_after_a_jump_is_believed,
    what_is_erased_is_in_no_answer_and_no_file,
);

fn plain(kind: Kind, quorum: u8) -> Life {
    let config = Config { quorum, random_check_rate: 0.0, ageing_per_day: 0.0, ..config() };
    let mut life = Life::new(kind, 1, &config);
    let items = (0..80).map(|i| {
        let scores = ["a", "b", "c"].map(|name| (name.to_string(), Some(f64::from(i)))).into();
        NewItem { id: format!("x{i}"), scores, ..NewItem::default() }
    });
    life.ask(Request::Items(items.collect())).unwrap();
    life.writer.refold_if_stale().unwrap();
    life
}

fn claim(life: &mut Life, reviewer: &str, k: u32) -> Vec<crate::ClaimedItem> {
    let claim = Request::Claim { reviewer: reviewer.into(), k: Some(k), filter: Filter::default() };
    let Answer::Claims { claims, .. } = life.ask(claim).unwrap() else { panic!("no claims") };
    claims
}

fn give(life: &mut Life, id: &str, item: &str, reviewer: &str, token: Option<u64>) -> Result<u64, String> {
    let (id, item, reviewer) = (id.into(), item.into(), reviewer.into());
    let verdict = NewVerdict { id, item, reviewer, token, reward: 1.0, ..NewVerdict::default() };
    match life.ask(Request::Verdicts(vec![verdict])).unwrap() {
        Answer::Verdicts { accepted, rejected, .. } if rejected.is_empty() => Ok(accepted),
        Answer::Verdicts { rejected, .. } => Err(rejected[0].why.clone()),
        other => panic!("{other:?}"),
    }
}

fn undo(life: &mut Life, reviewer: &str, verdict: &str) -> u64 {
    let undo = Request::Undo { reviewer: reviewer.into(), verdict: verdict.into() };
    let Answer::Undone { token, .. } = life.ask(undo).unwrap() else { panic!("not undone") };
    token
}

fn assert_sound(life: &Life) {
    for checked in crate::verify(&life.home.place).unwrap() {
        assert!(checked.is_ok() && checked.exact == checked.claims, "{checked:#?}");
    }
}

fn a_verdict_that_was_taken_back_can_be_given_again(kind: Kind) {
    let mut life = plain(kind, 1);
    claim(&mut life, "ann", 1);
    for _ in 0..3 {
        assert_eq!(give(&mut life, "v1", "x79", "ann", None), Ok(1));
        assert_eq!(give(&mut life, "v1", "x79", "ann", None), Ok(0), "a repeated verdict counts once");
        assert_eq!(life.writer.replica.live.counts().closed, 1);
        undo(&mut life, "ann", "v1");
        assert_eq!(life.writer.replica.live.counts().closed, 0);
    }
    // A verdict is undone and given again before the first call was answered.
    let verdict = NewVerdict {
        id: "v1".into(),
        item: "x79".into(),
        reviewer: "ann".into(),
        reward: 0.0,
        ..NewVerdict::default()
    };
    let calls = [
        Request::Verdicts(vec![verdict.clone()]),
        Request::Undo { reviewer: "ann".into(), verdict: "v1".into() },
        Request::Verdicts(vec![verdict]),
    ];
    for answer in life.writer.answer(&calls.map(|request| Call::new("ann", request))) {
        answer.unwrap();
    }
    assert_eq!(life.writer.replica.live.counts().closed, 1);
    assert_sound(&life);
}

fn a_token_must_be_of_a_claim_by_which_the_reviewer_had_the_item(kind: Kind) {
    let mut life = plain(kind, 1);
    let first = claim(&mut life, "ann", 1).remove(0);
    let bobs = claim(&mut life, "bob", 1).remove(0);
    for wrong in [9999, 1, bobs.token] {
        let why = give(&mut life, "v", &first.item, "ann", Some(wrong)).unwrap_err();
        assert!(why.contains(&format!("token {wrong} does not belong to a claim")), "{why}");
    }
    // Late work counts while nobody else has the item.
    life.pass(31);
    assert!(give(&mut life, "v", &first.item, "cid", Some(first.token)).is_err(), "the claim was ann's");
    assert_eq!(give(&mut life, "v", &first.item, "ann", Some(first.token)), Ok(1));
    // Undo leases the item again under a new token.
    let token = undo(&mut life, "ann", "v");
    life.pass(31);
    assert!(give(&mut life, "w", &first.item, "bob", Some(token)).is_err());
    assert!(give(&mut life, "w", &bobs.item, "ann", Some(token)).is_err());
    assert_eq!(give(&mut life, "w", &first.item, "ann", Some(token)), Ok(1));
    assert_sound(&life);
}

fn fewer_reviewers_decide_what_has_enough_verdicts(kind: Kind) {
    let mut life = plain(kind, 2);
    for (i, item) in claim(&mut life, "ann", 5).iter().enumerate().skip(1) {
        assert_eq!(give(&mut life, &format!("v{i}"), &item.item, "ann", Some(item.token)), Ok(1));
    }
    assert_eq!(life.writer.replica.live.counts().closed, 0);
    let quorum = ConfigChange { quorum: Some(1), ..ConfigChange::default() };
    life.ask(Request::Configure(quorum)).unwrap();
    assert_eq!(life.writer.replica.live.counts().closed, 4);
    let why = give(&mut life, "late", "x77", "bob", None).unwrap_err();
    assert_eq!(why, "the item is closed");
    life.pass(25);
    life.ask(Request::Extend { reviewer: "ann".into(), items: Vec::new() }).unwrap();
    let next = claim(&mut life, "bob", 1).remove(0);
    assert_eq!(next.item, "x74", "the best free item");
    let seen = life.writer.replica.learner.jury().seen();
    assert_eq!(seen.used + seen.ignored_rewards, 4, "four items were learnt");
    // Opening the queue again and folding its log give the same.
    let (queue, seq) = (life.writer.queue(), life.writer.replica.live.seq);
    let folded = crate::load::refold(life.writer.store(), queue, seq, &mut |_| Ok(())).unwrap();
    assert_eq!(folded.to_bytes(), life.writer.replica.learner.to_bytes());
    let store = life.writer.another_store(crate::store::Purpose::Write).unwrap();
    let opened = QueueWriter::open(store, queue).unwrap();
    assert_eq!(opened.replica.live.counts(), life.writer.replica.live.counts());
    life.writer.refold_if_stale().unwrap();
    claim(&mut life, "cid", 3);
    assert_sound(&life);
}

fn a_verdict_taken_back_says_nothing_when_the_log_is_folded_again(kind: Kind) {
    let mut life = plain(kind, 2);
    let say = |life: &mut Life, id: &str, reviewer: &str, reward: f64, revises: Option<&str>| {
        let revises = revises.map(String::from);
        let verdict = NewVerdict { revises, ..super::random_life::verdict(id, "x79", reviewer, reward) };
        match life.ask(Request::Verdicts(vec![verdict])).unwrap() {
            Answer::Verdicts { accepted: 1, .. } => {}
            other => panic!("{other:?}"),
        }
    };
    claim(&mut life, "ann", 1);
    say(&mut life, "v1", "ann", 0.0, None);
    say(&mut life, "v2", "ann", 1.0, Some("v1"));
    claim(&mut life, "bob", 1);
    say(&mut life, "v3", "bob", 1.0, None);
    assert_eq!(life.writer.replica.live.counts().closed, 1, "they agree");
    undo(&mut life, "bob", "v3");
    // The item is open again, and ann revises her verdict once more. With a quorum of 1, her
    // verdict alone decides.
    say(&mut life, "v4", "ann", 0.0, Some("v2"));
    life.ask(Request::Configure(ConfigChange { quorum: Some(1), ..ConfigChange::default() })).unwrap();
    assert_eq!(life.writer.replica.live.counts().closed, 1);
    life.pass(25);
    life.ask(Request::Erase { items: vec!["x0".into()] }).unwrap();
    life.writer.refold_if_stale().unwrap();
    claim(&mut life, "cid", 3);
    // The models of the two earlier claims have learnt from the erased item, so these claims can no
    // longer be checked. The last claim can.
    let checked = crate::verify(&life.home.place).unwrap().remove(0);
    assert!(checked.is_ok() && checked.exact == 1, "{checked:#?}");
}

/// Two verdicts decide an item, and ann revises hers. Then bob's verdict is undone, and a lower
/// quorum decides by ann's revision alone.
fn fewer_reviewers_have_the_last_word_when_the_log_is_folded_again(kind: Kind) {
    let mut life = plain(kind, 2);
    for (id, reviewer, reward, revises) in
        [("t1", "ann", 1.0, None), ("t2", "bob", 1.0, None), ("t3", "ann", 0.0, Some("t1"))]
    {
        let revises = revises.map(String::from);
        let verdict = NewVerdict { revises, ..super::random_life::verdict(id, "x79", reviewer, reward) };
        let answer = life.ask(Request::Verdicts(vec![verdict])).unwrap();
        assert!(matches!(answer, Answer::Verdicts { accepted: 1, .. }), "{answer:?}");
    }
    undo(&mut life, "bob", "t2");
    assert_eq!(life.writer.replica.live.counts().closed, 0);
    life.ask(Request::Configure(ConfigChange { quorum: Some(1), ..ConfigChange::default() })).unwrap();
    assert_eq!(life.writer.replica.live.counts().closed, 1);
    life.pass(25);
    life.ask(Request::Configure(ConfigChange { k: Some(4), ..ConfigChange::default() })).unwrap();
    life.writer.refold_if_stale().unwrap();
    claim(&mut life, "cid", 3);
    assert_sound(&life);
    // A queue opened again has learnt the same.
    let learner = |writer: &QueueWriter| writer.replica.learner.to_bytes();
    let (queue, before) = (life.writer.queue(), learner(&life.writer));
    life.writer =
        QueueWriter::open(life.writer.another_store(crate::store::Purpose::Write).unwrap(), queue).unwrap();
    assert!(learner(&life.writer) == before, "opened anew, it has learnt something else");
    claim(&mut life, "dan", 3);
    assert_sound(&life);
}

fn whatever_happens_while_the_quorum_changes_the_records_hold(kind: Kind) {
    let mut decided = 0;
    for seed in 0..3 {
        let mut life = Life::new(kind, 500 + seed, &Config { quorum: 3, ..config() });
        for quorum in [2, 3, 1, 3, 2, 1] {
            life.live(60);
            let closed = life.writer.replica.live.counts().closed;
            life.ask(Request::Configure(ConfigChange { quorum: Some(quorum), ..ConfigChange::default() }))
                .unwrap();
            decided += life.writer.replica.live.counts().closed - closed;
        }
        life.live(60);
        life.writer.refold_if_stale().unwrap();
        let (queue, seq) = (life.writer.queue(), life.writer.replica.live.seq);
        let folded = crate::load::refold(life.writer.store(), queue, seq, &mut |_| Ok(())).unwrap();
        assert_eq!(folded.to_bytes(), life.writer.replica.learner.to_bytes());
        for checked in crate::verify(&life.home.place).unwrap() {
            assert!(checked.is_ok(), "seed {seed}: {checked:#?}");
        }
    }
    assert!(decided > 0, "no item had enough verdicts in any of these lives");
}

fn a_clock_that_goes_on_steadily_after_a_jump_is_believed(kind: Kind) {
    let mut life = plain(kind, 1);
    claim(&mut life, "ann", 1);
    let day = 86_400_000_000;
    let ask = || Request::Claim { reviewer: "bob".into(), k: Some(1), filter: Filter::default() };
    life.ahead.fetch_add(day, Ordering::Relaxed);
    assert_eq!(life.writer.held("ann", u64::MAX).unwrap().0.len(), 1, "her lease still lasts");
    assert_eq!((life.writer.counts().leased, life.writer.as_of_now(|live, _| live.counts().leased)), (1, 1));
    let before = life.writer.replica.live.at;
    let looked = |life: &mut Life| {
        life.writer.probe().unwrap();
        life.writer.now()
    };
    assert!(looked(&mut life) < before + day / 2);
    // Half a minute later the clock has jumped again.
    life.writer.wait(31);
    life.ahead.fetch_add(day, Ordering::Relaxed);
    assert!(looked(&mut life) < before + day / 2);
    life.writer.wait(31);
    assert!(looked(&mut life) > before + day);
    life.ask(ask()).unwrap();
    assert!(life.writer.held("ann", u64::MAX).unwrap().0.is_empty(), "two days have passed");
}

fn what_is_erased_is_in_no_answer_and_no_file(kind: Kind) {
    let mut life = plain(kind, 1);
    let secret = NewItem {
        id: "SECRET \"id\"".into(),
        scores: [("a".to_string(), Some(99.0))].into(),
        tags: [("name".to_string(), "SECRET tag".to_string())].into(),
        payload: Some(serde_json::json!({"text": "SECRET payload"}).into()),
        ..NewItem::default()
    };
    let id = secret.id.clone();
    life.ask(Request::Items(vec![secret])).unwrap();
    let due = claim(&mut life, "bob", 1).remove(0);
    assert_eq!(due.item, id);
    let skip = Request::Skip { reviewer: "bob".into(), item: id.clone(), reason: "SECRET reason".into() };
    life.ask(skip).unwrap();
    let asked =
        Call::new("ann", Request::Claim { reviewer: "ann".into(), k: Some(1), filter: Filter::default() });
    let asked = asked.with_key("key");
    let Ok(Answer::Claims { claims, .. }) = life.writer.answer(std::slice::from_ref(&asked)).remove(0) else {
        panic!("no claim")
    };
    assert_eq!(claims[0].item, id);
    let other =
        Call::new("cid", Request::Claim { reviewer: "cid".into(), k: Some(1), filter: Filter::default() });
    let other = other.with_key("other");
    life.writer.answer(std::slice::from_ref(&other)).remove(0).unwrap();
    assert_eq!(give(&mut life, &format!("{id}/ann"), &id, "ann", Some(claims[0].token)), Ok(1));
    life.ask(Request::Erase { items: vec![id] }).unwrap();
    let again = life.writer.answer(&[asked]).remove(0);
    assert!(matches!(&again, Err(Error::Conflict(why)) if why.contains("erased")), "{again:?}");
    assert!(life.writer.answer(&[other]).remove(0).is_ok(), "an answer about other items is repeated");
    for checked in crate::verify(&life.home.place).unwrap() {
        assert!(checked.is_ok(), "{checked:#?}");
    }
    if let StoreLocation::Folder(folder) = &life.home.place {
        for file in std::fs::read_dir(folder).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!bytes.windows(6).any(|six| six == b"SECRET"));
        }
    }
}

#[test]
fn whether_somebody_had_judged_an_item_before_is_found_without_reading_other_verdicts() {
    let life = plain(Kind::Sqlite, 1);
    let db = rusqlite::Connection::open(life.home.folder().join(FILE)).unwrap();
    let how = |query: &str, values: &[i64]| -> String {
        let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let lines =
            plan.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
        lines.map(Result::unwrap).collect::<Vec<_>>().join("\n")
    };
    for plan in [how(&sql::recent_verdicts(), &[1, 9]), how(&sql::told_of(), &[1, 0, 9])] {
        assert!(
            plan.contains("verdicts_before (queue=? AND item=? AND reviewer=? AND superseded_by<?)"),
            "{plan}"
        );
    }
}

#[test]
fn what_sets_a_queue_up_is_found_without_reading_its_log() {
    let life = plain(Kind::Sqlite, 1);
    let db = rusqlite::Connection::open(life.home.folder().join(FILE)).unwrap();
    let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {}", sql::INDEXED_BODIES)).unwrap();
    let mut rows = plan.query(rusqlite::params![1, "create", "configure", 9]).unwrap();
    let how: String = rows.next().unwrap().unwrap().get(3).unwrap();
    assert!(how.contains("log_of_settings (queue=? AND kind=?"), "{how}");
}

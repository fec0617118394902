//! Tests of limits on held items, answers, payloads and rewards.

use super::fixture::{Kind, on_both};
use super::random_life::{Life, config, verdict};
use crate::request::{Answer, ClaimedItem, ConfigChange, LimitedBy, MOST_BYTES, NewItem, Request};
use crate::{Config, Filter, VerdictScale, verify};

on_both!(
    a_reviewer_holds_no_more_than_the_queue_says,
    a_claim_gives_what_one_answer_has_room_for,
    a_large_payload_is_refused,
    a_reward_without_a_scale_lies_within_what_was_seen,
);

fn items(many: usize, bytes: usize) -> Request {
    let item = |i: usize| NewItem {
        id: format!("x{i}"),
        scores: [("a".to_string(), Some(i as f64))].into(),
        payload: Some(serde_json::json!("x".repeat(bytes)).into()),
        ..NewItem::default()
    };
    Request::Items((0..many).map(item).collect())
}

fn claim(life: &mut Life, k: u32) -> (Vec<ClaimedItem>, Option<LimitedBy>) {
    let claim = Request::Claim { reviewer: "ann".into(), k: Some(k), filter: Filter::default() };
    let Answer::Claims { claims, limited_by, .. } = life.ask(claim).unwrap() else { panic!("no claims") };
    (claims, limited_by)
}

fn is_proved(life: Life) {
    let Life { writer, home, .. } = life;
    drop(writer);
    let checked = verify(&home.place).unwrap().remove(0);
    assert!(checked.is_ok() && checked.exact == checked.claims, "{checked:?}");
}

fn a_reviewer_holds_no_more_than_the_queue_says(kind: Kind) {
    let mut life = Life::new(kind, 1, &Config { k: 1, max_held: 4, random_check_rate: 0.5, ..config() });
    life.ask(items(20, 1)).unwrap();
    let (first, limit) = claim(&mut life, 3);
    assert_eq!((first.len(), limit), (3, None));
    let (second, limit) = claim(&mut life, 3);
    assert_eq!((second.len(), limit), (1, Some(LimitedBy::MaxHeld)));
    let (none, limit) = claim(&mut life, 3);
    assert_eq!((none.len(), limit), (0, Some(LimitedBy::MaxHeld)));
    // Judged, released and expired items do not count as held.
    life.ask(Request::Verdicts(vec![verdict("v", &first[0].item, "ann", 1.0)])).unwrap();
    life.ask(Request::Release { reviewer: "ann".into(), items: vec![first[1].item.clone()] }).unwrap();
    assert_eq!(claim(&mut life, 9).0.len(), 2);
    life.pass(31);
    assert_eq!(claim(&mut life, 4).0.len(), 4);
    // If `k` is larger than `max_held`, a reviewer can hold `k` items.
    life.pass(31);
    life.ask(Request::Configure(ConfigChange { k: Some(6), ..ConfigChange::default() })).unwrap();
    assert_eq!(claim(&mut life, 6).0.len(), 6);
    is_proved(life);
}

fn a_claim_gives_what_one_answer_has_room_for(kind: Kind) {
    const EACH: usize = 200_000;
    let mut life = Life::new(kind, 1, &Config { random_check_rate: 0.5, ..config() });
    for part in 0..3 {
        let Request::Items(mut some) = items(20, EACH) else { panic!() };
        some.iter_mut().for_each(|item| item.id = format!("{}/{part}", item.id));
        life.ask(Request::Items(some)).unwrap();
    }
    let most = MOST_BYTES as usize / (EACH + 2);
    let (claims, limit) = claim(&mut life, 60);
    assert_eq!((claims.len(), limit), (most, Some(LimitedBy::Bytes)));
    assert!(claims.iter().all(|claim| claim.payload.is_some()));
    // Items left out of an answer are not leased.
    assert_eq!(life.writer.counts().leased, most as u64);
    let (rest, limit) = claim(&mut life, 60);
    assert_eq!((rest.len(), limit), (60 - most, None));
    let (held, left_out) = life.writer.held("ann", MOST_BYTES).unwrap();
    assert_eq!((held.len(), left_out), (most, 60 - most as u64));
    is_proved(life);
}

fn a_large_payload_is_refused(kind: Kind) {
    let mut life = Life::new(kind, 1, &config());
    let mut taken = |request: Request| match life.ask(request).unwrap() {
        Answer::Items { accepted, rejected, .. } => (accepted, rejected),
        other => panic!("{other:?}"),
    };
    // A payload's size is that of its JSON, so the two quotes count too.
    let most = (256 << 10) - 2;
    assert_eq!(taken(items(1, most)).0, 1);
    let Request::Items(mut large) = items(1, most + 1) else { panic!() };
    large[0].id = "large".into();
    let (accepted, rejected) = taken(Request::Items(large.clone()));
    assert_eq!(accepted, 0);
    assert!(rejected[0].why.contains("262145 bytes, more than 262144"), "{rejected:?}");
    let wider = ConfigChange { max_payload: Some(1 << 20), ..ConfigChange::default() };
    life.ask(Request::Configure(wider)).unwrap();
    let Answer::Items { accepted: 1, .. } = life.ask(Request::Items(large)).unwrap() else { panic!() };
}

fn a_reward_without_a_scale_lies_within_what_was_seen(kind: Kind) {
    let mut life = Life::new(kind, 1, &Config { random_check_rate: 0.0, ..config() });
    life.ask(items(9, 1)).unwrap();
    let mut number = 0;
    let mut give = |life: &mut Life, reward: f64| {
        number += 1;
        let given = verdict(&format!("v{number}"), &format!("x{number}"), "ann", reward);
        match life.ask(Request::Verdicts(vec![given])).unwrap() {
            Answer::Verdicts { accepted: 1, .. } => None,
            Answer::Verdicts { rejected, .. } => Some(rejected[0].why.clone()),
            other => panic!("{other:?}"),
        }
    };
    for reward in [1e100, -1.0, 1.5] {
        let why = give(&mut life, reward).unwrap();
        assert!(why.contains("not from 0 to 1, the range"), "{why}");
    }
    assert_eq!((give(&mut life, 0.0), give(&mut life, 1.0)), (None, None));
    // Other rewards need a scale. Rewards recorded under a scale stay allowed when it is removed.
    let scale = |scale| Request::Configure(ConfigChange { reward: Some(scale), ..ConfigChange::default() });
    let amounts = VerdictScale { lowest: -5.0, highest: 100.0, labels: [].into() };
    life.ask(scale(Some(amounts))).unwrap();
    assert_eq!(give(&mut life, 42.0), None);
    life.ask(scale(None)).unwrap();
    let why = give(&mut life, 43.0).unwrap();
    assert!(why.contains("not from 0 to 42, the range"), "{why}");
    assert_eq!(give(&mut life, 17.0), None);
}

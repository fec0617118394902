//! Tests of many callers at once: the records hold whatever the callers do.

use super::fixture::{Home, Kind, on_both};
use super::random_life::config;
use crate::{Answer, Call, Config, ConfigChange, Error, Filter, NewItem, NewVerdict, Request, Service};
use jurybox::Evaluators;
use jurybox::toolbox::hash_number;
use std::time::Duration;

on_both!(
    whatever_many_callers_do_at_once_every_claim_is_exact,
    a_queue_that_is_there_is_found_and_another_set_up_refused,
);

/// One caller, who sends, claims, judges and revises for at least `turns` turns, and until the
/// queue was ranked a few times.
fn call(queue: &crate::Queue, caller: u64, turns: u64) {
    let mut given: Vec<(String, String)> = Vec::new();
    let reviewer = format!("r{caller}");
    let ask = |request| queue.ask(Call::new(&reviewer, request));
    for turn in 0.. {
        if turn >= turns && queue.status().unwrap().rankings > 4 {
            break;
        }
        let draw = |what: u64, below: u64| hash_number(caller * 1000 + what, turn) % below;
        let items = (0..=draw(1, 8)).map(|i| {
            let id = format!("{caller}-{turn}-{i}");
            let merit = (hash_number(caller, turn * 10 + i) % 1000) as f64 / 1000.0;
            let mut item = NewItem { id, ..NewItem::default() };
            item.scores.insert("a".into(), Some(merit + draw(2 + i, 100) as f64 / 300.0));
            if draw(20 + i, 4) > 0 {
                item.scores.insert("c".into(), Some(merit * 5.0));
            }
            item.tags.insert("language".into(), ["en", "de"][draw(40 + i, 2) as usize].into());
            item
        });
        ask(Request::Items(items.collect())).unwrap();
        let mut filter = Filter::default();
        if draw(3, 3) == 0 {
            filter.0.insert("language".into(), vec!["en".into()]);
        }
        let Answer::Claims { claims, .. } =
            ask(Request::Claim { reviewer: reviewer.clone(), k: Some(1 + draw(4, 4) as u32), filter })
                .unwrap()
        else {
            panic!("no claims")
        };
        let verdicts: Vec<NewVerdict> = claims
            .iter()
            .filter(|claim| !hash_number(claim.token, claim.n).is_multiple_of(6))
            .map(|claim| NewVerdict {
                id: format!("{}/{reviewer}", claim.item),
                item: claim.item.clone(),
                reviewer: reviewer.clone(),
                token: Some(claim.token),
                reward: f64::from(u8::from(claim.value > 0.5)),
                ..NewVerdict::default()
            })
            .collect();
        given.extend(verdicts.iter().map(|verdict| (verdict.id.clone(), verdict.item.clone())));
        ask(Request::Verdicts(verdicts)).unwrap();
        if draw(5, 9) == 0 && !given.is_empty() {
            let (revises, item) = given.swap_remove(draw(6, given.len() as u64) as usize);
            let (id, reviewer, revises) = (format!("{revises}/2"), reviewer.clone(), Some(revises));
            let reward = draw(7, 2) as f64;
            ask(Request::Verdicts(vec![NewVerdict {
                id,
                item,
                reviewer,
                reward,
                revises,
                ..NewVerdict::default()
            }]))
            .unwrap();
        }
        if caller == 0 && turn == turns / 2 {
            let evaluators = Some(Evaluators::new(["a", "c", "d"]).unwrap());
            ask(Request::Configure(ConfigChange { evaluators, ..ConfigChange::default() })).unwrap();
        }
    }
}

fn whatever_many_callers_do_at_once_every_claim_is_exact(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    // Leases and undo windows are short, so that both end while the callers work.
    let config = Config { lease_seconds: 1, undo_seconds: 0, settle_seconds: 0, quorum: 1, ..config() };
    let queue = service.create("q", &config).unwrap();
    std::thread::scope(|scope| {
        for caller in 0..6 {
            let queue = queue.clone();
            scope.spawn(move || call(&queue, caller, 60));
        }
    });
    let standing = queue.status().unwrap();
    assert!(standing.rankings > 2, "{standing:?}");
    assert_eq!(standing.mismatches, 0);
    let checked = crate::verify(&home.place).unwrap().remove(0);
    assert!(checked.is_ok(), "{checked:#?}");
    assert!(checked.claims > 300 && checked.models > 2 && checked.revisions > 5, "{checked:#?}");
    drop((queue, service));
    let rebuilt = crate::rebuild(&home.place, None, None, Duration::ZERO).unwrap();
    assert_eq!(rebuilt.tables_agree, Some(true));
}

fn a_queue_that_is_there_is_found_and_another_set_up_refused(kind: Kind) {
    let home = Home::new(kind);
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    service.create("q", &config()).unwrap();
    service.create("q", &config()).unwrap();
    assert!(matches!(service.create("q", &Config { k: 9, ..config() }), Err(Error::QueueExists { .. })));
    assert!(matches!(service.queue("other"), Err(Error::NoQueue { .. })));
    assert!(matches!(service.create("a/b", &config()), Err(Error::Refused(_))));
    assert_eq!(service.names().unwrap(), ["q"]);
}

//! Tests that random checks get their share of claimed items, however small the claims.

use super::fixture::{Kind, on_both};
use super::random_life::{Life, config};
use crate::{Answer, Config, Filter, NewItem, QueueVerification, Request, verify};

on_both!(audits_are_their_share_of_what_is_claimed_however_few_at_a_time);

fn plain(kind: Kind, random_check_share: f64) -> Life {
    let config = Config { random_check_rate: 0.5, random_check_share, ageing_per_day: 0.0, ..config() };
    let mut life = Life::new(kind, 1, &config);
    let items = (0..1500).map(|i| {
        let scores = ["a", "b", "c"].map(|name| (name.to_string(), Some(f64::from(i)))).into();
        NewItem { id: format!("x{i}"), scores, ..NewItem::default() }
    });
    life.ask(Request::Items(items.collect())).unwrap();
    life.writer.refold_if_stale().unwrap();
    life
}

/// Makes `times` claims of `k` items, and returns the number of random checks in each.
fn claim(life: &mut Life, k: u32, times: u32) -> Vec<usize> {
    let times = (0..times).map(|i| {
        let reviewer = format!("r{}", i % 3);
        let claim = Request::Claim { reviewer, k: Some(k), filter: Filter::default() };
        let Answer::Claims { claims, .. } = life.ask(claim).unwrap() else { panic!("no claims") };
        assert_eq!(claims.len(), k as usize);
        claims.iter().filter(|claim| claim.random_check).count()
    });
    times.collect()
}

fn checked(life: &Life) -> QueueVerification {
    verify(&life.home.place).unwrap().remove(0)
}

fn audits_are_their_share_of_what_is_claimed_however_few_at_a_time(kind: Kind) {
    for (share, k, times) in [(0.25, 1, 240), (0.25, 3, 80), (0.1, 5, 60)] {
        let mut life = plain(kind, share);
        let random_checks: usize = claim(&mut life, k, times).iter().sum();
        // The number of random checks is within four standard deviations of its expectation.
        let room = f64::from(k) * share;
        let (mean, chance) = (f64::from(times) * room, room.fract());
        let off = (f64::from(times) * chance * (1.0 - chance)).sqrt() * 4.0;
        assert!(
            (random_checks as f64 - mean).abs() <= off,
            "k = {k}, {share}: {random_checks}, and it should be {mean}"
        );
        assert!(checked(&life).is_ok(), "{:#?}", checked(&life));
    }
    // If k times the share is a whole number, there is no draw.
    let mut life = plain(kind, 0.25);
    assert_eq!(claim(&mut life, 8, 10), [2; 10]);
    assert_eq!(claim(&mut plain(kind, 1.0), 1, 20), [1; 20]);
    assert_eq!(claim(&mut plain(kind, 0.0), 1, 20), [0; 20]);
}

/// Entries of earlier programs record no draw. They are checked by the earlier rule: k times the
/// share, rounded up.
#[test]
fn a_claim_is_held_to_the_rule_that_its_entry_names() {
    let mut life = plain(Kind::Sqlite, 0.25);
    let begun = life.writer.replica.live.seq;
    let random_checks = claim(&mut life, 3, 20);
    let seq_of =
        |many: usize| begun + 1 + random_checks.iter().position(|found| *found == many).unwrap() as u64;
    let (with, without) = (seq_of(1), seq_of(0));
    // Seals are removed, because earlier programs wrote none.
    life.home.change("UPDATE log SET body = json_remove(body, '$.seal', '$.rows')");
    life.home.change("UPDATE queues SET sealed = head + 1");
    let rewrite = |words: &str, seq: u64| {
        assert_eq!(life.home.change(&format!("UPDATE log SET body = {words} WHERE seq = {seq}")), 1);
    };
    rewrite("json_remove(body, '$.audits')", with);
    assert!(checked(&life).is_ok(), "{:#?}", checked(&life));
    rewrite("json_set(body, '$.audits', 1)", without);
    let problems = checked(&life).problems;
    assert!(problems[0].contains("allows 0 random checks, but 1 is recorded"), "{problems:?}");
    rewrite("json_remove(body, '$.audits')", without);
    let problems = checked(&life).problems;
    assert!(problems[0].contains("the top K had item"), "{problems:?}");
}

//! Tests of claims by earlier programs, which used other rules, and of programs older than their
//! database.

use super::fixture::{Home, Kind, on_both, tell};
use super::random_life::{Life, config, verdict};
use crate::request::{Answer, Call, NewItem, Request};
use crate::store::schema::{RULES, VERSION};
use crate::{Config, ConfigChange, Error, Filter, QueueVerification, Service, verify};
use std::time::Duration;

on_both!(
    claims_of_an_earlier_program_are_neither_proved_nor_false,
    what_does_not_hang_on_a_model_is_held_against_earlier_claims_too,
    nothing_false_becomes_earlier_unseen,
);

fn claim(reviewer: &str, k: u32) -> Request {
    Request::Claim { reviewer: reviewer.into(), k: Some(k), filter: Filter::default() }
}

fn items(from: u32, to: u32) -> Request {
    let item = |i: u32| NewItem {
        id: format!("x{i}"),
        scores: [("a", i * 37 % 101), ("b", i * 61 % 89), ("c", i * 13 % 97)]
            .map(|(name, score)| (name.to_string(), Some(f64::from(score))))
            .into(),
        // Some items are due already.
        due: i.is_multiple_of(50).then_some(i64::from(i)),
        ..NewItem::default()
    };
    Request::Items((from..to).map(item).collect())
}

/// A queue with claims and verdicts by this program.
fn lived(kind: Kind, random_check_rate: f64, undo_seconds: u32) -> Life {
    let config =
        Config { random_check_rate, undo_seconds, ageing_per_day: 0.0, lease_seconds: 900, ..config() };
    let mut life = Life::new(kind, 1, &config);
    life.ask(items(0, 200)).unwrap();
    for round in 0..4 {
        let Answer::Claims { claims, .. } = life.ask(claim("ann", 8)).unwrap() else { panic!() };
        for (n, given) in claims.iter().enumerate() {
            let reward = f64::from(u8::from(n % 3 == 0));
            let id = format!("v{round}.{n}");
            life.ask(Request::Verdicts(vec![verdict(&id, &given.item, "ann", reward)])).unwrap();
        }
        // With `undo_seconds` 0, the clock is not moved, since a service that opens the queue has
        // the machine's clock.
        life.pass(3 * i64::from(undo_seconds));
        life.writer.refold_if_stale().unwrap();
    }
    life
}

/// Records as an earlier program leaves them: no rules, no seals, its own values and an earlier
/// version of the tables.
fn by_an_earlier_program(kind: Kind) -> Home {
    let Life { writer, home, .. } = lived(kind, 0.1, 0);
    drop(writer);
    forget_rules(&home, "seq > 0");
    home.change("UPDATE claims SET value = 2 * value");
    // The earlier tables lack this index and these columns.
    home.change("DROP INDEX payloads_large");
    for column in ["reviewer", "expires", "used"] {
        home.change(&format!("ALTER TABLE api_keys DROP COLUMN {column}"));
    }
    match kind {
        Kind::Sqlite => home.change(&format!("PRAGMA user_version = {}", RULES - 1)),
        Kind::Postgres => home.change(&format!("UPDATE version SET version = {}", RULES - 1)),
    };
    home
}

/// Removes the rules of some entries and the seals of all, as anybody with access to the database
/// could.
fn forget_rules(home: &Home, which: &str) {
    assert!(
        home.change(&format!("UPDATE log SET body = replace(body, '\"rules\"', '\"ruled\"') WHERE {which}"))
            > 0
    );
    home.change("UPDATE log SET body = replace(body, '\"seal\"', '\"lost\"')");
    home.change("UPDATE queues SET sealed = head + 1");
}

fn checked(home: &Home) -> QueueVerification {
    verify(&home.place).unwrap().remove(0)
}

/// Updates the tables and makes two claims by the present rules.
fn gone_on(home: &Home) {
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let queue = service.queue("q").unwrap();
    for reviewer in ["bob", "cid"] {
        queue.ask(Call::new(reviewer, claim(reviewer, 3))).unwrap();
    }
}

fn claims_of_an_earlier_program_are_neither_proved_nor_false(kind: Kind) {
    let home = by_an_earlier_program(kind);
    let before = checked(&home);
    assert!(before.is_ok(), "{before:#?}");
    assert_eq!((before.claims, before.exact, before.older_rules, before.unprovable), (4, 0, 4, 0));
    assert_eq!(before.rules_from, before.entries + 1);
    gone_on(&home);
    let after = checked(&home);
    assert!(after.is_ok(), "{after:#?}");
    assert_eq!((after.claims, after.exact, after.older_rules), (6, 2, 4));
    assert!(before.entries < after.rules_from && after.rules_from < after.entries, "{after:#?}");
    // Claims with the values of the present rules are proved, even if an earlier program made them.
    home.change(&format!("UPDATE claims SET value = value / 2 WHERE seq <= {}", before.entries));
    let same = checked(&home);
    assert_eq!((same.exact, same.older_rules, same.is_ok()), (6, 0, true), "{same:#?}");
}

fn assert_found(home: &Home, lies: &[&str], words: &str) {
    let copy = home.copy();
    for lie in lies {
        assert!(copy.change(lie) > 0, "{lie}: nothing was changed");
    }
    let found = checked(&copy);
    assert!(
        !found.is_ok() && found.problems.iter().any(|problem| problem.contains(words)),
        "{lies:?}: {found:#?}"
    );
}

fn what_does_not_hang_on_a_model_is_held_against_earlier_claims_too(kind: Kind) {
    let home = by_an_earlier_program(kind);
    let first = "seq = (SELECT MIN(seq) FROM claims)";
    let of_first = |change: &str| format!("UPDATE claims SET {change} WHERE {first}");
    assert_found(&home, &[&of_first("value = -value")], "after items that it precedes");
    assert_found(&home, &[&of_first("probability = 0.5")], "");
    assert_found(&home, &[&of_first("model = model + 9")], "its rows differ from the entry");
    // The first pick was a due item, so any other in its place is too early.
    let open = "(SELECT MAX(n) FROM items WHERE due IS NULL AND audit IS NULL AND closed_seq IS NULL)";
    assert_found(&home, &[&format!("UPDATE claims SET item = {open} WHERE {first} AND i = 0")], "came first");
    // No such item exists.
    assert_found(&home, &["UPDATE claims SET item = 9999 WHERE i = 7"], "could not be");
}

fn nothing_false_becomes_earlier_unseen(kind: Kind) {
    let home = by_an_earlier_program(kind);
    gone_on(&home);
    // After an entry that names the present rules, no later entry is excused, whatever it says.
    let (worth, last) = ("UPDATE claims SET value = value + 1 WHERE ", "seq = (SELECT MAX(seq) FROM claims)");
    assert_found(&home, &[&format!("{worth}{last}")], "has the value");
    let copy = home.copy();
    forget_rules(&copy, last);
    assert_found(&copy, &[&format!("{worth}{last}")], "it names earlier rules than an entry before it");
    // In a queue made by the present rules, no entry is excused.
    let Life { writer, home, .. } = lived(kind, 0.1, 0);
    drop(writer);
    assert_eq!(checked(&home).rules_from, 1);
    let copy = home.copy();
    forget_rules(&copy, "kind = 'claim'");
    let still = checked(&copy);
    assert!(still.is_ok() && still.exact == still.claims, "{still:#?}");
    assert_found(
        &copy,
        &[worth.trim_end_matches(" WHERE ")],
        "it names earlier rules than an entry before it",
    );
    // A forger could remove the rules of the first entry too. But then no claim counts as proved,
    // and `rules_from` is after the last entry.
    forget_rules(&copy, "kind = 'create'");
    copy.change(worth.trim_end_matches(" WHERE "));
    let forged = checked(&copy);
    assert_eq!((forged.older_rules, forged.rules_from), (forged.claims, forged.entries + 1), "{forged:#?}");
    // The seals, if they are left, reveal the change.
    assert_found(
        &home,
        &["UPDATE log SET body = replace(body, '\"rules\"', '\"ruled\"') WHERE kind = 'claim'"],
        "it was changed after it was written",
    );
}

#[test]
fn where_weights_are_fixed_no_rules_of_models_are_an_excuse() {
    let mut life = lived(Kind::Sqlite, 0.1, 0);
    let weights = Some([("a".to_string(), 1.0)].into());
    life.ask(Request::Configure(ConfigChange { weights, ..ConfigChange::default() })).unwrap();
    life.ask(claim("bob", 3)).unwrap();
    let Life { writer, home, .. } = life;
    drop(writer);
    forget_rules(&home, "seq > 0");
    assert!(checked(&home).is_ok());
    assert_found(
        &home,
        &["UPDATE claims SET value = value + 1 WHERE seq = (SELECT MAX(seq) FROM claims)"],
        "has the value",
    );
}

/// A node of an earlier version beside a later one would make claims that nobody can prove.
#[test]
#[ignore = "needs PostgreSQL: scripts/postgres run cargo test -p jurybox-server postgres -- --ignored"]
fn a_program_that_postgres_has_outgrown_writes_nothing() {
    let mut life = lived(Kind::Postgres, 0.1, 0);
    let service = Service::open(&life.home.place, Duration::ZERO).unwrap();
    let queue = service.queue("q").unwrap();
    queue.ask(Call::new("ann", claim("ann", 1))).unwrap();
    let given_out = checked(&life.home).claims;
    tell(life.home.url(), &format!("UPDATE version SET version = {}", VERSION + 1));
    let is_outdated = |error: &Error| matches!(error, Error::Outdated { version, known } if (*version, *known) == (VERSION + 1, VERSION));
    for refused in [
        life.ask(items(300, 310)).map(drop),
        life.ask(claim("bob", 1)).map(drop),
        queue.ask(Call::new("bob", claim("bob", 1))).map(drop),
        service.create("other", &config()).map(drop),
        // Readiness checks report it.
        service.names().map(drop),
    ] {
        assert!(refused.as_ref().is_err_and(is_outdated), "{refused:?}");
    }
    tell(life.home.url(), &format!("UPDATE version SET version = {VERSION}"));
    assert_eq!(checked(&life.home).claims, given_out);
    queue.ask(Call::new("bob", claim("bob", 1))).unwrap();
    assert!(checked(&life.home).is_ok());
}

/// Pins the models that a fixed log gives. If this fails, models have changed, and existing claims
/// cannot be proved any more. Then add a version of the tables that drops the checkpoints, and
/// record the new values here. Name that version in `RULES` if earlier versions are in use.
#[test]
fn by_the_rules_that_claims_name() {
    let mut life = lived(Kind::Sqlite, 0.0, 20);
    let Answer::Claims { claims, .. } = life.ask(claim("bob", 6)).unwrap() else { panic!() };
    let found: Vec<String> =
        claims.iter().map(|claim| format!("{} {:.6}", claim.item, claim.value)).collect();
    assert_eq!(
        (RULES, found.join(", ").as_str()),
        (15, "x194 0.474423, x112 0.443733, x45 0.363368, x142 0.346961, x172 0.344018, x105 0.340245")
    );
}

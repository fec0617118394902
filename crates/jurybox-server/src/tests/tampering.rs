//! Tests that the checker finds tampering with the records, and names it.

use super::fixture::{Home, Kind, on_both};
use super::random_life::{Life, config, verdict};
use crate::store::sqlite::FILE;
use crate::{Config, ConfigChange, Filter, QueueVerification, Request, VerdictScale, rebuild, verify};
use std::time::Duration;

on_both!(
    the_checker_finds_and_names_every_lie,
    an_erasure_leaves_provable_what_does_not_depend_on_it,
    what_nothing_is_learnt_from_cannot_be_rewritten_either
);

/// What is wrong with the records, the SQL that makes it wrong, and part of the problem that the
/// checker must report.
const LIES: &[(&str, &str, &str)] = &[
    ("an entry vanished", "DELETE FROM log WHERE seq = 5", "is where entry 5 should be"),
    ("the last entry vanished", "DELETE FROM log WHERE seq = (SELECT MAX(seq) FROM log)", "the head is"),
    ("the clock went back", "UPDATE log SET at = at - 900000000 WHERE seq = 40", "earlier than the one before"),
    ("an item vanished", "DELETE FROM items WHERE n = 3", "item 3 of entry"),
    (
        "an item came in at another time",
        "UPDATE items SET arrived = arrived + 1 WHERE n = 3",
        "item 3 arrived with entry",
    ),
    (
        "an item is marked as a random check that was not drawn",
        "UPDATE items SET audit = 0.1 WHERE n = (SELECT MIN(n) FROM items WHERE audit IS NULL AND key IS NOT NULL)",
        "its draw for a random check gives None",
    ),
    (
        "late scores vanished",
        "DELETE FROM rescored WHERE seq = (SELECT MAX(seq) FROM rescored)",
        "late scores were written",
    ),
    (
        "an entry hides that scores are the first by their evaluator",
        "UPDATE log SET body = replace(body, '\"newly\":[[', '\"newly\":[],\"once\":[[') WHERE kind = 'items'",
        "for the first time",
    ),
    (
        "scores were changed",
        "UPDATE items SET scores = zeroblob(24) WHERE n = (SELECT item FROM claims WHERE seq = (SELECT MAX(seq) FROM claims) LIMIT 1);
         DELETE FROM rescored WHERE n = (SELECT item FROM claims WHERE seq = (SELECT MAX(seq) FROM claims) LIMIT 1)",
        "place 1",
    ),
    (
        "a closed item is open",
        "UPDATE items SET closed_seq = NULL WHERE n = (SELECT MIN(n) FROM items WHERE closed_seq IS NOT NULL)",
        "is open by its row, but not by the log",
    ),
    (
        "an item was closed by another entry",
        "UPDATE items SET closed_seq = closed_seq - 1 WHERE n = (SELECT MIN(n) FROM items WHERE closed_seq IS NOT NULL)",
        "names a wrong closing entry",
    ),
    (
        "a better item was passed over",
        "UPDATE claims SET item = (SELECT MAX(n) FROM items) WHERE seq = (SELECT MAX(seq) FROM claims) AND i = 0",
        "the top K had item",
    ),
    (
        "a claim is out of order",
        "UPDATE claims SET i = i + 100 WHERE seq = (SELECT MAX(seq) FROM claims);
         UPDATE claims SET i = 103 - i WHERE seq = (SELECT MAX(seq) FROM claims)",
        "place 1: the top K had item",
    ),
    (
        "a claim has one item less",
        "DELETE FROM claims WHERE seq = (SELECT MAX(seq) FROM claims) AND i = 0",
        "4 picks were written, but 3 exist",
    ),
    (
        "a value is another",
        "UPDATE claims SET value = value - 1 WHERE seq = (SELECT MAX(seq) FROM claims)",
        "has the value",
    ),
    (
        "a probability is another",
        "UPDATE claims SET probability = 0.5 WHERE seq = (SELECT MAX(seq) FROM claims)",
        "but 0.5 is recorded",
    ),
    (
        "another model",
        "UPDATE log SET body = replace(body, '\"model\":', '\"model\":1, \"was\":') WHERE seq = (SELECT MAX(seq) FROM claims)",
        "its rows differ from the entry",
    ),
    (
        "another model, everywhere",
        "UPDATE log SET body = json_set(body, '$.model', 1) WHERE seq = (SELECT MAX(seq) FROM claims);
         UPDATE claims SET model = 1 WHERE seq = (SELECT MAX(seq) FROM claims)",
        "place 1",
    ),
    (
        "a model from the future",
        "UPDATE log SET body = json_set(body, '$.model', seq + 1) WHERE seq = (SELECT MAX(seq) FROM claims);
         UPDATE claims SET model = seq + 1 WHERE seq = (SELECT MAX(seq) FROM claims)",
        "has learnt from later entries",
    ),
    (
        "an item was held by two reviewers",
        "UPDATE claims SET item = (SELECT item FROM claims WHERE seq = (SELECT MAX(seq) FROM claims) AND i = 0), slot = 0 WHERE seq = (SELECT MAX(seq) FROM claims) AND i = 1",
        "is held by two reviewers",
    ),
    (
        "a lease that nobody has",
        "INSERT INTO leases VALUES (1, 1, 7, 2, 'eve', 9000000000000000, 1, 0)",
        "leases are in only one of log and table",
    ),
    (
        "a lease is another claim's",
        "UPDATE leases SET claim = claim - 1 WHERE until = (SELECT MAX(until) FROM leases)",
        "leases are in only one of log and table",
    ),
    (
        "a lease is longer than leases are",
        "UPDATE log SET body = json_set(body, '$.until', json_extract(body, '$.until') + 1) WHERE kind = 'claim' AND seq = (SELECT MAX(seq) FROM claims);
         UPDATE claims SET until = until + 1 WHERE seq = (SELECT MAX(seq) FROM claims);
         UPDATE leases SET until = until + 1 WHERE claim = (SELECT MAX(seq) FROM claims)",
        "but should end at",
    ),
    (
        "somebody gave back what another held",
        "UPDATE log SET body = json_set(body, '$.reviewer', 'eve') WHERE seq = (SELECT MAX(seq) FROM log WHERE kind = 'release')",
        "`eve` does not hold",
    ),
    (
        "a skip vanished",
        "DELETE FROM skips WHERE seq = (SELECT MAX(seq) FROM skips)",
        "skips are in only one of log and table",
    ),
    (
        "a verdict vanished",
        "DELETE FROM verdicts WHERE seq = (SELECT MIN(seq) FROM verdicts)",
        "verdicts were written, but 0 exist",
    ),
    (
        "a verdict counts twice",
        "DROP INDEX verdicts_that_stand;
         INSERT INTO verdicts SELECT queue, seq, i + 100, id || '/2', item, slot, reviewer, source, label, reward, observed_at, claim, supersedes_seq, supersedes_i, superseded_by, decides, probability, explored, stands_from FROM verdicts WHERE superseded_by IS NULL ORDER BY seq, i LIMIT 1",
        "has two valid verdicts",
    ),
    (
        "a verdict is another, and so is what was learnt",
        "UPDATE verdicts SET reward = 1 - reward, decides = 1 - decides WHERE source = 'reviewer' AND superseded_by IS NULL AND supersedes_seq IS NULL AND decides IS NOT NULL",
        "place 1",
    ),
    (
        "verdicts decide something else",
        "UPDATE verdicts SET decides = 0.25 WHERE seq = (SELECT MIN(seq) FROM verdicts WHERE decides IS NOT NULL)",
        "but its row says Some(0.25)",
    ),
    (
        "a verdict has the probability of another pick",
        "UPDATE verdicts SET probability = 0.5 WHERE seq = (SELECT MIN(seq) FROM verdicts)",
        "has the probability 0.5, but its pick had",
    ),
    (
        "a verdict becomes final too early",
        "UPDATE verdicts SET stands_from = stands_from - 1 WHERE seq = (SELECT MIN(seq) FROM verdicts)",
        "has a wrong time from which it can no longer be taken back",
    ),
    (
        "a verdict was replaced by nothing",
        "UPDATE verdicts SET superseded_by = 9 WHERE seq = (SELECT MIN(seq) FROM verdicts WHERE superseded_by IS NULL)",
        "is valid by only one of its row and the log",
    ),
    (
        "a checkpoint has other bytes",
        "UPDATE checkpoints SET state = CAST(substr(state, 1, length(state) - 1) || X'07' AS BLOB)",
        "does not match its hash",
    ),
    ("the queue's row is gone", "DELETE FROM queues", "does not exist, but has rows"),
    ("an item is of no entry", "UPDATE items SET seq = 0 WHERE n = 3", "item 3 of entry 2 is missing"),
    (
        "late scores are of no entry",
        "UPDATE rescored SET seq = 0 WHERE seq = (SELECT MAX(seq) FROM rescored)",
        "late scores belong to an entry of another kind",
    ),
    (
        "an item came in at the end of time",
        "UPDATE items SET arrived = 9223372036854775807 WHERE n = 3",
        "item 3 arrived with entry",
    ),
    (
        "an entry speaks of more items than there can be",
        "UPDATE log SET body = replace(body, '\"added\":', '\"added\":9000000000000000000,\"was\":') WHERE seq = (SELECT MIN(seq) FROM log WHERE kind = 'items')",
        "9000000000000000000 items of entry",
    ),
    ("the head is another", "UPDATE queues SET head = head + 1", "the head is"),
    ("the queue's time is another", "UPDATE queues SET at = at + 1", "differs from that of the last entry"),
];

/// A queue in use, with two more claims and a checkpoint.
fn honest(kind: Kind) -> Home {
    // Erased items make claims unprovable, so this takes a random life in which every claim can be
    // proved.
    (11..).find_map(|seed| lived(kind, seed)).expect("there is one")
}

fn lived(kind: Kind, seed: u64) -> Option<Home> {
    let mut life = Life::new(kind, seed, &Config { random_check_rate: 0.0, ..config() });
    for _ in 0..3 {
        life.live(100);
        life.writer.refold_if_stale().unwrap();
    }
    life.pass(60);
    // With fixed weights no model is used, and it would not matter which one a claim names.
    let learnt = ConfigChange {
        muted: Some(Vec::new()),
        weights: Some(std::collections::BTreeMap::new()),
        ..ConfigChange::default()
    };
    life.ask(Request::Configure(learnt)).unwrap();
    for reviewer in ["r8", "r9"] {
        life.ask(Request::Claim { reviewer: reviewer.into(), k: Some(4), filter: Filter::default() })
            .unwrap();
    }
    let Life { writer, home, .. } = life;
    drop(writer);
    rebuild(&home.place, None, None, Duration::ZERO).unwrap();
    let checked = verify(&home.place).unwrap();
    assert!(checked.iter().all(QueueVerification::is_ok), "{checked:#?}");
    assert_eq!(checked[0].checkpoints, 1);
    (checked[0].unprovable == 0).then_some(home)
}

fn assert_found(home: &Home, what: &str, words: &str) {
    let checked = verify(&home.place).unwrap().remove(0);
    assert!(!checked.is_ok(), "{what}, and nobody noticed");
    assert!(
        checked.problems.iter().any(|problem| problem.contains(words)),
        "{what}: nobody says `{words}`: {:#?}",
        checked.problems
    );
}

fn the_checker_finds_and_names_every_lie(kind: Kind) {
    let home = honest(kind);
    // Statements with these functions are for SQLite only.
    let foreign = |lie: &str| lie.contains("json_set") || lie.contains("CAST");
    for (what, lie, words) in LIES.iter().filter(|(_, lie, _)| kind == Kind::Sqlite || !foreign(lie)) {
        let copy = home.copy();
        let changed: u64 = lie.split(';').map(|one| copy.change(one)).sum();
        assert!(changed > 0, "{what}: nothing was changed");
        assert_found(&copy, what, words);
    }
}

/// The checkpoint has a right hash and wrong contents.
#[test]
fn a_checkpoint_that_has_learnt_something_else_is_found_by_the_checker_and_by_a_rebuild() {
    use sha2::{Digest, Sha256};
    let home = honest(Kind::Sqlite);
    let db = rusqlite::Connection::open(home.folder().join(FILE)).unwrap();
    let mut state: Vec<u8> = db.query_row("SELECT state FROM checkpoints", [], |row| row.get(0)).unwrap();
    *state.last_mut().unwrap() ^= 1;
    let sha256 = Sha256::digest(&state).to_vec();
    db.execute("UPDATE checkpoints SET state = ?1, sha256 = ?2", (state, sha256)).unwrap();
    drop(db);
    assert_found(&home, "a checkpoint is another", "differs from the state computed from the log");
    assert_eq!(rebuild(&home.place, None, None, Duration::ZERO).unwrap().mismatches.len(), 1);
    assert!(verify(&home.place).unwrap()[0].is_ok(), "it has been replaced");
}

fn an_erasure_leaves_provable_what_does_not_depend_on_it(kind: Kind) {
    let evaluators = jurybox::Evaluators::new(["a"]).unwrap();
    let policy = "average".parse().unwrap();
    let mut life = Life::new(kind, 1, &Config { policy, random_check_rate: 0.0, ..Config::new(evaluators) });
    let item = |id: &str, a: f64| {
        let scores = [("a".to_string(), Some(a))].into();
        crate::NewItem { id: id.into(), scores, ..crate::NewItem::default() }
    };
    let claim =
        |reviewer: &str| Request::Claim { reviewer: reviewer.into(), k: Some(2), filter: Filter::default() };
    let proved = |life: &Life| {
        let checked = verify(&life.home.place).unwrap().remove(0);
        assert!(checked.is_ok(), "{checked:#?}");
        (checked.exact, checked.unprovable, checked.model_gone)
    };
    life.ask(Request::Items((0..10).map(|n| item(&format!("x{n}"), f64::from(n))).collect())).unwrap();
    life.ask(claim("ann")).unwrap();
    life.ask(claim("bob")).unwrap();
    // An item added after all claims and then erased does not concern any claim.
    life.ask(Request::Items(vec![item("late", 5.0)])).unwrap();
    life.ask(Request::Erase { items: vec!["late".into()] }).unwrap();
    assert_eq!(proved(&life), (2, 0, 0));
    life.writer.refold_if_stale().unwrap();
    life.ask(claim("cid")).unwrap();
    assert_eq!(proved(&life), (3, 0, 0));
    // This item came after the model, and could have been claimed.
    life.ask(Request::Items(vec![item("rival", -1.0)])).unwrap();
    life.ask(claim("dan")).unwrap();
    life.ask(Request::Erase { items: vec!["rival".into()] }).unwrap();
    assert_eq!(proved(&life), (3, 1, 0));
    // Every model had learnt from this item. Everything else about the claims must still hold.
    life.ask(Request::Erase { items: vec!["x0".into()] }).unwrap();
    let (exact, unprovable, _) = proved(&life);
    assert!(exact < 3 && exact + unprovable == 4, "{exact} {unprovable}");
    let Life { writer, home, .. } = life;
    drop(writer);
    for (what, lie, words) in [
        ("values are others", "UPDATE claims SET value = -value", ""),
        ("probabilities are others", "UPDATE claims SET probability = 0.5", "0.5 is recorded"),
        ("a random check that was none", "UPDATE claims SET explored = 1", ""),
        ("another review", "UPDATE claims SET slot = 1 WHERE i = 0", ""),
        ("not all", "DELETE FROM claims WHERE i = 1", "picks were written"),
    ] {
        let copy = home.copy();
        assert!(copy.change(lie) > 0);
        assert_found(&copy, what, words);
    }
}

fn what_nothing_is_learnt_from_cannot_be_rewritten_either(kind: Kind) {
    let (policy, scale) =
        ("average".parse().unwrap(), VerdictScale { lowest: 0.0, highest: 1.0, labels: [].into() });
    let mut life = Life::new(kind, 1, &Config { policy, reward: Some(scale), undo_seconds: 30, ..config() });
    let item = |n: u64| crate::NewItem {
        id: format!("x{n}"),
        scores: [("a".to_string(), Some(n as f64)), ("b".to_string(), (!n.is_multiple_of(7)).then_some(1.0))]
            .into(),
        tags: [("language".to_string(), "en".to_string())].into(),
        due: n.is_multiple_of(9).then_some(4_000_000_000_000_000),
        ..crate::NewItem::default()
    };
    life.ask(Request::Items((0..130).map(item).collect())).unwrap();
    let late = crate::NewItem { scores: [("b".to_string(), Some(2.0))].into(), ..item(7) };
    life.ask(Request::Items(vec![late])).unwrap();
    let given = (0..5).map(|n| crate::NewVerdict {
        label: Some("fine".into()),
        observed_at: Some(7),
        ..verdict(&format!("v{n}"), &format!("x{n}"), "ann", f64::from(n % 2))
    });
    life.ask(Request::Verdicts(given.collect())).unwrap();
    life.ask(Request::Undo { reviewer: "ann".into(), verdict: "v4".into() }).unwrap();
    let claim = Request::Claim { reviewer: "bob".into(), k: Some(3), filter: Filter::default() };
    life.ask(claim.clone()).unwrap();
    life.pass(60);
    life.ask(claim).unwrap();
    // Rows are sealed 64 at a time. Erasing item 101 makes items 65 to 128 unprovable, and no
    // others.
    life.ask(Request::Erase { items: vec!["x100".into()] }).unwrap();
    let Life { writer, home, .. } = life;
    drop(writer);
    let checked = verify(&home.place).unwrap().remove(0);
    assert!(checked.is_ok() && checked.unsealed == 0, "{checked:#?}");
    let (entry, items) = ("it was changed after it was written", "its items were changed (1 to 64 of 130)");
    let verdicts = "its verdicts were changed (1 to 5 of 5)";
    for (what, lie, words) in [
        ("a reward", "UPDATE verdicts SET reward = 1 - reward, decides = 1 - decides WHERE i = 1", verdicts),
        ("a label", "UPDATE verdicts SET label = 'bad' WHERE i = 1", verdicts),
        ("whose it is", "UPDATE verdicts SET reviewer = 'eve' WHERE i = 1", verdicts),
        ("when it was given", "UPDATE verdicts SET observed_at = 8 WHERE i = 1", verdicts),
        ("its name", "UPDATE verdicts SET id = 'v9' WHERE i = 1", verdicts),
        ("tags", "UPDATE items SET tags = '{\"language\":\"de\"}' WHERE n = 64", items),
        ("a date", "UPDATE items SET due = due + 1 WHERE n = 10", items),
        ("no date", "UPDATE items SET due = NULL WHERE n = 10", items),
        ("an item's name", "UPDATE items SET key = 'y' WHERE n = 10", items),
        ("the third part", "UPDATE items SET due = 1 WHERE n = 130", "(129 to 130 of 130)"),
        ("late scores", "UPDATE rescored SET scores = zeroblob(24)", "its late scores were changed"),
        (
            "a scale",
            "UPDATE log SET body = replace(body, '\"highest\":1.0', '\"highest\":2.0') WHERE seq = 1",
            entry,
        ),
        ("who asked", "UPDATE log SET actor = 'eve' WHERE seq = 3", entry),
        ("when", "UPDATE log SET at = at + 1 WHERE seq = 1", entry),
        (
            "a seal",
            "UPDATE log SET body = replace(body, '\"seal\"', '\"lost\"') WHERE seq = 3",
            "it has no seal",
        ),
        (
            "all seals up to an entry",
            "UPDATE log SET body = replace(body, '\"seal\"', '\"lost\"') WHERE seq <= 3",
            "entry 1 (create): it has no seal, although all entries from 1 on need one",
        ),
        ("all seals", "UPDATE log SET body = replace(body, '\"seal\"', '\"lost\"')", "it has no seal"),
    ] {
        let copy = home.copy();
        assert!(copy.change(lie) > 0, "{what}: nothing was changed");
        assert_found(&copy, what, words);
    }
}

//! Tests that every way of reading a log gives the same replica, byte for byte.

use super::fixture::Kind;
use super::random_life::{Life, config};
use crate::event::LogEvent;
use crate::learner::{LaterFacts, Learner};
use crate::live_queue::LiveQueue;
use crate::live_queue::score_blocks::{FREE, OPEN};
use crate::load::{checkpoint_of, load, opened, refold};
use crate::queue_writer::QueueWriter;
use crate::replica::Replica;
use crate::store::{Store, set_up};
use crate::{Body, Config};
use proptest::prelude::*;

fn whole_log(store: &mut dyn Store, queue: i64) -> Vec<LogEvent> {
    let head = store.begin_reading(queue).unwrap();
    let (history, _) = set_up(store, queue, head.seq).unwrap();
    let mut events: Vec<LogEvent> = Vec::new();
    while (events.len() as u64) < head.seq {
        events.extend(store.events(queue, events.len() as u64, head.seq, &history).unwrap());
    }
    store.rollback();
    events
}

/// Checks that a queue read in different ways has the same state, and that its records are right.
fn check(life: &mut Life, cuts: &[usize]) {
    let queue = life.writer.queue();
    life.writer.refold_if_stale().unwrap();
    let mut store = life.writer.another_store(crate::store::Purpose::Write).unwrap();
    let events = whole_log(store.as_mut(), queue);
    let live = life.writer.replica.live.to_bytes();
    let learner = life.writer.replica.learner.to_bytes();

    // The state is loaded from the tables.
    let head = store.begin_reading(queue).unwrap();
    let (loaded, _) = load(store.as_mut(), queue, head).unwrap();
    let again = refold(store.as_mut(), queue, head.seq, &mut |_| Ok(())).unwrap();
    store.rollback();
    assert_eq!(text(&loaded.live.to_bytes()), text(&live), "the tables differ from the log");
    assert!(loaded.learner.to_bytes() == learner, "the loaded learner differs");
    assert!(again.to_bytes() == learner, "the learner folded again differs");

    // The checker, a separate implementation, reads the records.
    for checked in crate::verify(&life.home.place).unwrap() {
        assert!(checked.is_ok(), "{checked:#?}");
    }

    // The state is folded from the log, with failing transactions in between.
    let mut replica = Replica::new(&events[0]).unwrap();
    for (at, event) in events.iter().enumerate().skip(1) {
        if cuts.contains(&(at % 97)) {
            let ahead = events[at..].iter().take(7);
            for event in ahead {
                replica.live.apply(event).unwrap();
            }
            replica.live.rollback();
        }
        replica.live.apply(event).unwrap();
        replica.live.commit();
    }
    assert_eq!(text(&replica.live.to_bytes()), text(&live), "the folded live queue differs");
    for live in [&replica.live, &loaded.live, &life.writer.replica.live] {
        count_free(live);
    }

    // A learner goes on entry by entry; after a revision it folds again. At every cut it equals one
    // that folded the log from the beginning. Then it is stored and read back.
    let mut going = Learner::new(&events[0], LaterFacts::default()).unwrap();
    store.begin_reading(queue).unwrap();
    for (at, event) in events.iter().enumerate().skip(1) {
        going.apply(event).unwrap();
        let mut again = || refold(store.as_mut(), queue, event.seq, &mut |_| Ok(())).unwrap();
        if going.is_stale() {
            going = again();
        } else if cuts.contains(&(at % 97)) {
            assert!(again().to_bytes() == going.to_bytes(), "entry {}", event.seq);
            going = opened(&checkpoint_of(&going)).unwrap();
        }
    }
    store.rollback();
    assert!(going.to_bytes() == learner, "the learner that went on differs");
}

/// Checks the running counts of free items by tags.
fn count_free(live: &LiveQueue) {
    let mut free: std::collections::BTreeMap<u32, u32> = std::collections::BTreeMap::new();
    for block in live.blocks.iter() {
        for (flags, tags) in block.flags.iter().zip(block.tags.iter()) {
            *free.entry(*tags).or_default() += u32::from(flags & (OPEN | FREE) == OPEN | FREE);
        }
    }
    for (tags, many) in free {
        assert_eq!(live.blocks.free(tags), many, "free items with tags {tags}");
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn live_and_check(kind: Kind, seed: u64, quorum: u8, cuts: &[usize]) {
    let mut life = Life::new(kind, seed, &Config { quorum, ..config() });
    life.live(250);
    check(&mut life, cuts);
    life.live(80);
    check(&mut life, cuts);
}

/// Three more nodes read the log at random times; some fold again, and some restart.
fn follow(kind: Kind, seed: u64, quorum: u8, batches: Vec<(u64, u8, usize)>) {
    let mut life = Life::new(kind, seed, &Config { quorum, ..config() });
    let queue = life.writer.queue();
    let open = |life: &Life| {
        QueueWriter::open(life.writer.another_store(crate::store::Purpose::Write).unwrap(), queue).unwrap()
    };
    let mut nodes: Vec<QueueWriter> = (0..3).map(|_| open(&life)).collect();
    for (many, what, which) in batches {
        life.live(many);
        match what {
            0 => nodes[which] = open(&life),
            1 => nodes[which].refold_if_stale().unwrap(),
            _ => drop(nodes[which].look().unwrap()),
        }
    }
    life.writer.refold_if_stale().unwrap();
    nodes.push(open(&life));
    for mut node in nodes {
        node.look().unwrap();
        node.refold_if_stale().unwrap();
        assert_eq!(node.mismatches, 0);
        let (ours, theirs) = (&life.writer.replica, &node.replica);
        assert_eq!(text(&theirs.live.to_bytes()), text(&ours.live.to_bytes()));
        assert!(theirs.learner.to_bytes() == ours.learner.to_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn a_log_cut_into_any_batches_gives_the_same_replica(seed: u64, quorum in 1_u8..4, cuts in proptest::collection::vec(0_usize..97, 0..40)) {
        live_and_check(Kind::Sqlite, seed, quorum, &cuts);
    }

    #[test]
    #[ignore = "needs PostgreSQL"]
    fn a_log_on_postgres_cut_into_any_batches_gives_the_same_replica(seed: u64, quorum in 1_u8..4, cuts in proptest::collection::vec(0_usize..97, 0..40)) {
        live_and_check(Kind::Postgres, seed, quorum, &cuts);
    }

    #[test]
    fn nodes_that_take_the_log_in_any_batches_end_up_with_the_same_bytes(seed: u64, quorum in 1_u8..3, batches in proptest::collection::vec((1_u64..40, 0_u8..4, 0_usize..3), 8..14)) {
        follow(Kind::Sqlite, seed, quorum, batches);
    }

    #[test]
    #[ignore = "needs PostgreSQL"]
    fn nodes_on_postgres_that_take_the_log_in_any_batches_end_up_with_the_same_bytes(seed: u64, quorum in 1_u8..3, batches in proptest::collection::vec((1_u64..40, 0_u8..4, 0_usize..3), 8..14)) {
        follow(Kind::Postgres, seed, quorum, batches);
    }
}

/// The random life must contain lessons, revisions, erasures and changed evaluators.
#[test]
fn the_random_life_is_a_full_one() {
    let mut kinds = std::collections::BTreeMap::<&str, usize>::new();
    let (mut revised, mut learnt) = (0, 0);
    for seed in 0..6 {
        let mut life = Life::new(Kind::Sqlite, seed, &config());
        life.live(500);
        life.writer.refold_if_stale().unwrap();
        learnt += life.writer.replica.learner.jury().seen().used;
        revised += life.writer.replica.learner.epoch();
        let (queue, mut store) =
            (life.writer.queue(), life.writer.another_store(crate::store::Purpose::Write).unwrap());
        for event in whole_log(store.as_mut(), queue) {
            *kinds.entry(event.body.kind()).or_default() += 1;
            if let Body::Verdicts { given } = &event.body {
                *kinds.entry("deciding").or_default() +=
                    given.iter().filter(|given| given.decides.is_some()).count();
            }
        }
    }
    for kind in [
        "create",
        "configure",
        "items",
        "claim",
        "extend",
        "release",
        "verdicts",
        "undo",
        "close",
        "erase",
        "settle",
        "deciding",
    ] {
        assert!(kinds.get(kind).is_some_and(|many| *many > 1), "{kind}: {kinds:?}");
    }
    assert!(learnt > 300 && revised > 20, "{learnt} learnt, {revised} revised");
}

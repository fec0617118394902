//! Tests of several nodes on one log: each catches up before it decides, and commits that failed or
//! got no answer are resolved.

use super::fixture::{Kind, on_both};
use super::random_life::{Life, config, verdict};
use crate::load::refold;
use crate::queue_writer::QueueWriter;
use crate::store::Fault;
use crate::{Answer, Call, Config, Error, Filter, NewItem, NewVerdict, Request};

on_both!(
    two_nodes_give_out_each_item_once,
    what_one_node_releases_another_gives_out_and_an_expiry_races_a_verdict_in_the_order_of_the_log,
    a_revision_that_comes_while_the_log_is_folded_again_is_not_missed,
    a_commit_that_goes_wrong_happens_once_or_not_at_all,
    whatever_three_nodes_do_by_turns_they_end_up_the_same_and_every_claim_is_exact,
);

fn node(life: &Life) -> QueueWriter {
    QueueWriter::open(life.writer.another_store(crate::store::Purpose::Write).unwrap(), life.writer.queue())
        .unwrap()
}

fn item(id: &str, a: f64) -> NewItem {
    NewItem { id: id.into(), scores: [("a".to_string(), Some(a))].into(), ..NewItem::default() }
}

fn claim(reviewer: &str, k: u32) -> Call {
    Call::new(reviewer, Request::Claim { reviewer: reviewer.into(), k: Some(k), filter: Filter::default() })
}

fn names(answer: Result<Answer, Error>) -> Vec<String> {
    let Answer::Claims { claims, .. } = answer.unwrap() else { panic!("no claims") };
    claims.into_iter().map(|claim| claim.item).collect()
}

fn plain(kind: Kind) -> Life {
    let config = Config {
        random_check_rate: 0.0,
        ageing_per_day: 0.0,
        policy: "average".parse().unwrap(),
        ..config()
    };
    let mut life = Life::new(kind, 1, &config);
    life.ask(Request::Items((0..6).map(|i| item(&format!("x{i}"), f64::from(i))).collect())).unwrap();
    life
}

fn two_nodes_give_out_each_item_once(kind: Kind) {
    let mut life = plain(kind);
    let mut other = node(&life);
    assert_eq!(names(other.answer(&[claim("ann", 2)]).remove(0)), ["x5", "x4"]);
    assert_eq!(names(life.writer.answer(&[claim("bob", 2)]).remove(0)), ["x3", "x2"]);
    assert_eq!(names(other.answer(&[claim("cid", 5)]).remove(0)), ["x1", "x0"]);
    assert!(life.writer.look().unwrap() && !life.writer.look().unwrap());
    assert_eq!(life.writer.replica.live.to_bytes(), other.replica.live.to_bytes());
}

fn what_one_node_releases_another_gives_out_and_an_expiry_races_a_verdict_in_the_order_of_the_log(
    kind: Kind,
) {
    let mut life = plain(kind);
    let mut other = node(&life);
    life.writer.answer(&[claim("ann", 1)]).remove(0).unwrap();
    let release = Call::new("ann", Request::Release { reviewer: "ann".into(), items: Vec::new() });
    // Release and claim in one transaction are decided in order.
    let mut answers = life.writer.answer(&[claim("bob", 1), release, claim("cid", 1)]);
    assert_eq!(
        (names(answers.remove(0)), names(answers.remove(1))),
        (vec!["x4".to_string()], vec!["x5".to_string()])
    );
    life.pass(31);
    other.trust_clock();
    // The lease has ended. The node that writes the first entry gets the item.
    assert_eq!(names(other.answer(&[claim("dan", 1)]).remove(0)), ["x5"]);
    let late = |item: &str, reviewer: &str| {
        Call::new(
            reviewer,
            Request::Verdicts(vec![verdict(&format!("{item}/{reviewer}"), item, reviewer, 1.0)]),
        )
    };
    let Answer::Verdicts { accepted: 0, rejected, .. } =
        life.writer.answer(&[late("x5", "cid")]).remove(0).unwrap()
    else {
        panic!()
    };
    assert!(rejected[0].why.contains("another reviewer"));
    let answer = life.writer.answer(&[late("x4", "bob")]).remove(0).unwrap();
    assert!(matches!(answer, Answer::Verdicts { accepted: 1, .. }));
    assert_eq!(names(other.answer(&[claim("eve", 1)]).remove(0)), ["x3"], "x4 was decided before");
}

fn a_revision_that_comes_while_the_log_is_folded_again_is_not_missed(kind: Kind) {
    let mut life = plain(kind);
    life.writer.answer(&[claim("ann", 2)]).remove(0).unwrap();
    life.ask(Request::Verdicts(vec![verdict("v1", "x5", "ann", 1.0), verdict("v2", "x4", "ann", 1.0)]))
        .unwrap();
    life.pass(25);
    let revise = |id: &str, of: &str, item: &str| {
        Request::Verdicts(vec![NewVerdict { revises: Some(of.into()), ..verdict(id, item, "ann", 0.0) }])
    };
    life.ask(revise("w1", "v1", "x5")).unwrap();
    assert!(life.writer.replica.learner.is_stale());
    let (queue, until) = (life.writer.queue(), life.writer.replica.live.seq);
    let mut aside = life.writer.another_store(crate::store::Purpose::Write).unwrap();
    aside.begin_reading(queue).unwrap();
    let folded = refold(aside.as_mut(), queue, until, &mut |_| Ok(())).unwrap();
    aside.rollback();
    life.ask(revise("w2", "v2", "x4")).unwrap();
    life.writer.install_learner(folded).unwrap();
    assert!(life.writer.replica.learner.is_stale(), "the fold lacks the second revision");
    life.writer.refold_if_stale().unwrap();
    assert_eq!(life.writer.replica.learner.epoch(), 2);
    assert!(!life.writer.replica.learner.is_stale());
}

fn a_commit_that_goes_wrong_happens_once_or_not_at_all(kind: Kind) {
    for (fault, happens) in [(Fault::Unanswered, true), (Fault::Cut, false), (Fault::Refused, false)] {
        let mut life = plain(kind);
        let before = life.writer.replica.live.to_bytes();
        *life.fault.lock().unwrap() = Some(fault);
        let answer = life.writer.answer(&[claim("ann", 2)]).remove(0);
        if happens {
            assert_eq!(names(answer), ["x5", "x4"]);
            assert_eq!(names(life.writer.answer(&[claim("bob", 1)]).remove(0)), ["x3"]);
        } else {
            let error = answer.unwrap_err();
            assert!(matches!(error, Error::Database(_)) && error.is_transient(), "{error}");
            assert_eq!(life.writer.replica.live.to_bytes(), before, "{fault:?}: nothing happened");
            assert_eq!(names(life.writer.answer(&[claim("bob", 3)]).remove(0)), ["x5", "x4", "x3"]);
        }
        assert_eq!(node(&life).replica.live.to_bytes(), life.writer.replica.live.to_bytes());
        assert!(crate::verify(&life.home.place).unwrap()[0].is_ok());
    }
}

fn whatever_three_nodes_do_by_turns_they_end_up_the_same_and_every_claim_is_exact(kind: Kind) {
    let mut life = Life::new(kind, 21, &Config { quorum: 2, ..config() });
    let mut nodes: Vec<QueueWriter> = (0..2).map(|_| node(&life)).collect();
    for turn in 0..60 {
        life.live(6);
        if turn % 4 == 0 {
            *life.fault.lock().unwrap() = Some([Fault::Unanswered, Fault::Cut][turn / 4 % 2]);
            let refused = life.ask(Request::Items(vec![item(&format!("y{turn}"), 1.0)])).is_err();
            assert_eq!(refused, turn / 4 % 2 == 1);
        }
        // The next round uses another node.
        std::mem::swap(&mut life.writer, &mut nodes[turn % 2]);
        life.writer.trust_clock();
    }
    life.writer.look().unwrap();
    life.writer.refold_if_stale().unwrap();
    for node in &mut nodes {
        node.look().unwrap();
        node.refold_if_stale().unwrap();
        assert!(node.replica.live.to_bytes() == life.writer.replica.live.to_bytes());
        assert!(node.replica.learner.to_bytes() == life.writer.replica.learner.to_bytes());
        assert_eq!(node.mismatches, 0);
    }
    let checked = crate::verify(&life.home.place).unwrap().remove(0);
    assert!(checked.is_ok() && checked.claims > 50, "{checked:#?}");
}

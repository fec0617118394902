//! Tests that verdicts are learnt with their reviewer. The reviewer is left out if several
//! reviewers decided, or if an appeal or a late revision had the last word.

use super::fixture::{Kind, on_both};
use super::random_life::{Life, config, verdict};
use crate::{
    Answer, Config, ConfigChange, Filter, NewItem, NewVerdict, Request, VerdictScale, VerdictSource,
};
use jurybox::options::Fraction;
use jurybox::{Reviewer, Standing};

on_both!(severity_is_learnt_by_name, what_several_decide_is_nobodys, the_last_word_is_nobody_elses);

/// Two reviewers judge the same kind of items; bob's rewards are higher by about two.
fn judged(kind: Kind, config: &Config) -> Life {
    let amounts = VerdictScale { lowest: 0.0, highest: 10.0, labels: [].into() };
    let mut life = Life::new(kind, 1, &Config { reward: Some(amounts), ..config.clone() });
    let score = |at: usize| (at * 7 % 40) as f64 / 10.0;
    let item = |at: usize| {
        let scores = ["a", "b", "c"].map(|name| (name.to_string(), Some(score(at)))).into();
        NewItem { id: format!("i{at}"), scores, ..NewItem::default() }
    };
    life.ask(Request::Items((0..128).map(item).collect())).unwrap();
    let by = |name: &str, at: usize| {
        let said = match name {
            "ann" => score(at) + (at % 3) as f64 / 10.0,
            _ => score(at) + 2.0 + (at % 5) as f64 / 10.0,
        };
        // With a quorum of two, both give the same reward.
        let said = if config.quorum == 2 { score(at) } else { said };
        verdict(&format!("{name}{at}"), &format!("i{at}"), name, said)
    };
    for (turn, name) in ["ann", "bob"].into_iter().enumerate() {
        let judges = |at: &usize| config.quorum == 2 || at % 2 == turn;
        let given = (0..120).filter(judges).map(|at| by(name, at)).collect();
        let Ok(Answer::Verdicts { rejected, .. }) = life.ask(Request::Verdicts(given)) else { panic!() };
        assert!(rejected.is_empty(), "{rejected:?}");
    }
    life.pass(60);
    life.ask(Request::Configure(ConfigChange { k: Some(9), ..ConfigChange::default() })).unwrap();
    life
}

fn standings(life: &Life) -> Vec<Standing> {
    let fitted = life.writer.replica.learner.fit().unwrap();
    fitted.reviewers(Fraction::try_from(0.9).unwrap())
}

/// Checks that the records hold, and that a claim by a new fold of the log is exact.
fn is_right(life: &mut Life) {
    life.writer.refold_if_stale().unwrap();
    life.ask(Request::Claim { reviewer: "cyd".into(), k: Some(4), filter: Filter::default() }).unwrap();
    for checked in crate::verify(&life.home.place).unwrap() {
        assert!(checked.is_ok() && checked.exact == 1, "{checked:?}");
    }
}

fn severity_is_learnt_by_name(kind: Kind) {
    let mut life = judged(kind, &config());
    let all = standings(&life);
    let of = |name: &str| all.iter().find(|one| one.reviewer == Some(Reviewer::named(name))).unwrap();
    assert_eq!((of("ann").labels, of("bob").labels), (60, 60));
    // Severity is relative to the other reviewer.
    let above = of("bob").severity;
    assert!(above.low > 1.5 && above.high < 2.5 && of("ann").severity.high < -1.5, "{all:?}");
    is_right(&mut life);
}

fn what_several_decide_is_nobodys(kind: Kind) {
    let mut life = judged(kind, &Config { quorum: 2, ..config() });
    assert!(life.writer.replica.learner.jury().seen().used > 0);
    assert_eq!(standings(&life), []);
    is_right(&mut life);
}

fn the_last_word_is_nobody_elses(kind: Kind) {
    let mut life = judged(kind, &config());
    // After an appeal the log is folded again, and ann's name is no longer on that verdict.
    let appeal = NewVerdict { source: VerdictSource::Appeal, ..verdict("appeal", "i0", "olga", 4.0) };
    life.ask(Request::Verdicts(vec![appeal])).unwrap();
    // A revision after the undo window is learnt without a reviewer too.
    let again = NewVerdict { revises: Some("ann2".into()), ..verdict("ann2b", "i2", "ann", 1.0) };
    life.ask(Request::Verdicts(vec![again])).unwrap();
    life.pass(60);
    life.ask(Request::Configure(ConfigChange { k: Some(8), ..ConfigChange::default() })).unwrap();
    life.writer.refold_if_stale().unwrap();
    let all = standings(&life);
    let labels = |who: Option<Reviewer>| all.iter().find(|one| one.reviewer == who).map(|one| one.labels);
    assert_eq!(labels(Some(Reviewer::named("ann"))), Some(58), "{all:?}");
    assert_eq!((labels(Some(Reviewer::named("bob"))), labels(None)), (Some(60), Some(2)));
    assert_eq!(labels(Some(Reviewer::named("olga"))), None);
    is_right(&mut life);
}

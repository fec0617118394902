//! Tests of reward scales, muted evaluators and fixed weights, by a live queue and by the checker.

use super::fixture::{Kind, on_both};
use super::random_life::{Life, config};
use crate::request::{Answer, ConfigChange, NewItem, NewVerdict, Request};
use crate::{Config, Error, Filter, Service, VerdictScale};
use jurybox::Evaluators;
use std::time::Duration;

on_both!(
    a_verdict_says_a_number_on_the_scale_or_a_word_of_it,
    a_scale_that_does_not_hold_what_was_given_is_refused,
    the_report_goes_by_the_scale,
    a_muted_evaluator_does_not_count_and_is_learnt_about,
    fixed_weights_rank_and_what_was_learnt_comes_back,
);

fn scale() -> VerdictScale {
    let labels = [("harmful".to_string(), 10.0), ("fine".into(), 0.0)].into();
    VerdictScale { lowest: 0.0, highest: 10.0, labels }
}

fn queue(kind: Kind, config: &Config) -> Life {
    Life::new(kind, 1, config)
}

fn simple() -> Config {
    let evaluators = Evaluators::new(["a", "b", "c"]).unwrap();
    Config { undo_seconds: 1, random_check_rate: 0.0, ageing_per_day: 0.0, evaluators, ..config() }
}

fn add(life: &mut Life, from: u32, to: u32, scores: impl Fn(f64) -> [f64; 3]) {
    let item = |i: u32| {
        let [a, b, c] = scores(f64::from(i));
        let scores = [("a".to_string(), Some(a)), ("b".into(), Some(b)), ("c".into(), Some(c))].into();
        NewItem { id: format!("x{i}"), scores, ..NewItem::default() }
    };
    life.ask(Request::Items((from..to).map(item).collect())).unwrap();
}

fn claim(life: &mut Life, k: u32) -> Vec<String> {
    let claim = Request::Claim { reviewer: "ann".into(), k: Some(k), filter: Filter::default() };
    let Answer::Claims { claims, .. } = life.ask(claim).unwrap() else { panic!("no claims") };
    claims.into_iter().map(|claim| claim.item).collect()
}

fn give(
    life: &mut Life,
    id: &str,
    item: &str,
    reward: Option<f64>,
    label: Option<&str>,
) -> Result<u64, String> {
    let verdict = NewVerdict {
        id: id.into(),
        item: item.into(),
        reviewer: "ann".into(),
        reward: reward.unwrap_or_default(),
        by_label: reward.is_none(),
        label: label.map(String::from),
        ..NewVerdict::default()
    };
    match life.ask(Request::Verdicts(vec![verdict])).unwrap() {
        Answer::Verdicts { rejected, .. } if !rejected.is_empty() => Err(rejected[0].why.clone()),
        Answer::Verdicts { repeated, .. } => Ok(repeated),
        other => panic!("{other:?}"),
    }
}

/// Checks that every claim can be proved.
fn prove(life: &Life) {
    let checked = crate::verify(&life.home.place).unwrap().remove(0);
    assert!(checked.is_ok() && checked.exact == checked.claims, "{checked:?}");
}

fn change(life: &mut Life, change: ConfigChange) -> Result<Answer, Error> {
    life.ask(Request::Configure(change))
}

fn a_verdict_says_a_number_on_the_scale_or_a_word_of_it(kind: Kind) {
    let mut life = queue(kind, &Config { reward: Some(scale()), ..simple() });
    add(&mut life, 0, 4, |i| [i, i, i]);
    assert_eq!(give(&mut life, "v0", "x0", None, Some("harmful")), Ok(0));
    assert_eq!(give(&mut life, "v0", "x0", None, Some("harmful")), Ok(1), "the same again");
    assert_eq!(give(&mut life, "v0", "x0", Some(10.0), Some("harmful")), Ok(1), "also with its reward");
    assert!(give(&mut life, "v0", "x0", Some(9.0), Some("harmful")).unwrap_err().contains("another verdict"));
    assert!(give(&mut life, "v0", "x0", None, Some("fine")).unwrap_err().contains("another verdict"));
    let beyond = give(&mut life, "v1", "x1", Some(10.5), None).unwrap_err();
    assert!(beyond.contains("from 0 to 10 (fine = 0, harmful = 10)"), "{beyond}");
    assert!(give(&mut life, "v1", "x1", None, Some("odd")).unwrap_err().contains("not on the queue's scale"));
    assert!(give(&mut life, "v1", "x1", Some(5.0), Some("fine")).unwrap_err().contains("has the reward 0"));
    assert_eq!(give(&mut life, "v1", "x1", Some(5.0), Some("a word of ann's")), Ok(0));
    let verdicts = {
        let queue = life.writer.queue();
        life.writer.store().verdicts_on(queue, 1)
    }
    .unwrap();
    assert_eq!((verdicts[0].reward, verdicts[0].label.as_deref()), (10.0, Some("harmful")));
    prove(&life);
}

fn a_scale_that_does_not_hold_what_was_given_is_refused(kind: Kind) {
    let amounts = VerdictScale { lowest: -5.0, highest: 5.0, labels: [].into() };
    let mut life = queue(kind, &Config { reward: Some(amounts), ..simple() });
    add(&mut life, 0, 4, |i| [i, i, i]);
    assert!(
        give(&mut life, "v0", "x0", None, Some("harmful")).unwrap_err().contains("has no reward for label")
    );
    assert_eq!(give(&mut life, "v0", "x0", Some(3.0), Some("harmful")), Ok(0));
    assert_eq!(give(&mut life, "v1", "x1", Some(-1.0), None), Ok(0));
    let set = |scale: VerdictScale| ConfigChange { reward: Some(Some(scale)), ..ConfigChange::default() };
    let error = change(&mut life, set(scale())).unwrap_err();
    assert!(matches!(&error, Error::Conflict(why) if why.contains("-1")), "{error}");
    let wider = VerdictScale { lowest: -1.0, ..scale() };
    let error = change(&mut life, set(wider.clone())).unwrap_err();
    assert!(
        matches!(&error, Error::Conflict(why) if why.contains("has the reward 10, and the verdict says 3")),
        "{error}"
    );
    let fits = VerdictScale { labels: [("harmful".to_string(), 3.0)].into(), ..wider };
    change(&mut life, set(fits.clone())).unwrap();
    assert_eq!(life.writer.replica.live.config.reward, Some(fits));
    assert!(give(&mut life, "v2", "x2", Some(11.0), None).is_err());
    change(&mut life, ConfigChange { k: Some(3), ..ConfigChange::default() }).unwrap();
    assert!(life.writer.replica.live.config.reward.is_some(), "settings not named stay");
    change(&mut life, ConfigChange { reward: Some(None), ..ConfigChange::default() }).unwrap();
    let beyond = give(&mut life, "v2", "x2", Some(11.0), None).unwrap_err();
    assert!(
        beyond.contains("not from -1 to 3, the range"),
        "without a scale, the range of earlier rewards counts: {beyond}"
    );
    assert_eq!(give(&mut life, "v2", "x2", Some(2.5), None), Ok(0));
    prove(&life);
    // The checker reports a reward that is not on the queue's scale.
    let mut life = queue(kind, &Config { reward: Some(scale()), ..simple() });
    add(&mut life, 0, 4, |i| [i, i, i]);
    give(&mut life, "v0", "x0", None, Some("harmful")).unwrap();
    life.home.change("UPDATE verdicts SET reward = 11, decides = 11");
    let found = crate::verify(&life.home.place).unwrap();
    assert!(found[0].problems.iter().any(|what| what.contains("not on the scale")), "{found:?}");
}

fn the_report_goes_by_the_scale(kind: Kind) {
    let home = super::fixture::Home::new(kind);
    let service = Service::open(home.place.clone(), Duration::from_secs(5)).unwrap();
    let config = Config { reward: Some(scale()), random_check_rate: 1.0, undo_seconds: 0, ..simple() };
    let queue = service.create("desk", &config).unwrap();
    let item = |i: u32| NewItem {
        id: format!("x{i}"),
        scores: [("a".to_string(), Some(f64::from(i)))].into(),
        ..NewItem::default()
    };
    queue.ask(crate::Call::new("t", Request::Items((0..40).map(item).collect()))).unwrap();
    let verdict = |i: u32| NewVerdict {
        id: format!("v{i}"),
        item: format!("x{i}"),
        reviewer: "ann".into(),
        by_label: true,
        label: Some("fine".into()),
        ..NewVerdict::default()
    };
    queue.ask(crate::Call::new("t", Request::Verdicts((0..20).map(verdict).collect()))).unwrap();
    let found = queue.report().unwrap();
    assert_eq!((found.scale.low, found.scale.high), (0.0, 10.0));
    // Only zeros were found, but each of the 20 other items may still have the reward 10.
    assert_eq!(found.missed.unwrap().high, 200.0);
}

/// A queue where `a` is right, `b` is noise and `c` is the opposite of `a`, with 40 verdicts to
/// learn that from.
fn taught(kind: Kind, policy: &str) -> Life {
    let mut life = queue(kind, &Config { policy: policy.parse().unwrap(), ..simple() });
    add(&mut life, 0, 130, |i| [i, (i * 37.0) % 11.0, 130.0 - i]);
    for i in 0..40 {
        give(&mut life, &format!("v{i}"), &format!("x{i}"), Some(f64::from(u8::from(i > 20))), None).unwrap();
    }
    life.pass(5);
    life
}

fn a_muted_evaluator_does_not_count_and_is_learnt_about(kind: Kind) {
    let mut life = queue(kind, &Config { policy: "average".parse().unwrap(), ..simple() });
    add(&mut life, 0, 6, |i| [i, 0.0, -10.0 * i]);
    let mute = |names: &[&str]| ConfigChange {
        muted: Some(names.iter().map(|name| (*name).into()).collect()),
        ..ConfigChange::default()
    };
    assert_eq!(claim(&mut life, 1), ["x0"]);
    change(&mut life, mute(&["c"])).unwrap();
    assert_eq!(claim(&mut life, 1), ["x5"]);
    change(&mut life, mute(&[])).unwrap();
    assert_eq!(claim(&mut life, 1), ["x1"]);
    for (wrong, why) in
        [(&["z"][..], "no evaluator `z`"), (&["a", "b", "c"], "none is left"), (&["a", "a"], "twice")]
    {
        let error = change(&mut life, mute(wrong)).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    prove(&life);

    // Two queues learn alike while an evaluator is muted in one of them.
    let (mut heard, mut muted) = (taught(kind, "adaptive"), taught(kind, "adaptive"));
    let learnt = |life: &Life| life.writer.replica.learner.jury().to_bytes();
    change(&mut muted, mute(&["a"])).unwrap();
    change(&mut heard, ConfigChange { k: Some(9), ..ConfigChange::default() }).unwrap();
    assert!(!muted.writer.replica.learner.is_stale(), "nothing is learnt anew");
    for life in [&mut heard, &mut muted] {
        add(life, 200, 300, |i| [i, 1.0, 0.0]);
        for i in 200..230 {
            give(life, &format!("v{i}"), &format!("x{i}"), Some(1.0), None).unwrap();
        }
        life.pass(5);
        // Any entry, so that the verdicts are learnt.
        add(life, 400, 401, |_| [0.0, 0.0, 0.0]);
        life.writer.replica.rank().unwrap();
        claim(life, 5);
    }
    let seen = |life: &Life| {
        let seen = life.writer.replica.learner.jury().seen();
        (seen.items, seen.used, seen.rounds)
    };
    assert_eq!(seen(&heard), seen(&muted));
    assert_eq!(
        heard.writer.replica.learner.fit().unwrap().weights().map(<[f64]>::to_vec),
        muted.writer.replica.learner.fit().unwrap().weights().map(<[f64]>::to_vec)
    );
    assert!(!learnt(&muted).is_empty());
    change(&mut muted, mute(&[])).unwrap();
    for life in [&mut heard, &mut muted] {
        life.ask(Request::Release { reviewer: "ann".into(), items: Vec::new() }).unwrap();
    }
    assert_eq!(claim(&mut heard, 7), claim(&mut muted, 7));
    prove(&muted);
}

fn fixed_weights_rank_and_what_was_learnt_comes_back(kind: Kind) {
    let mut life = taught(kind, "adaptive");
    life.writer.replica.rank().unwrap();
    let fix = |weights: &[(&str, f64)]| ConfigChange {
        weights: Some(weights.iter().map(|(name, weight)| ((*name).into(), *weight)).collect()),
        ..ConfigChange::default()
    };
    let model = life.writer.replica.live.ranking.as_ref().unwrap().model;
    change(&mut life, fix(&[("c", 2.0)])).unwrap();
    assert_eq!(claim(&mut life, 2), ["x40", "x41"], "by c alone, which is high where a is low");
    change(&mut life, fix(&[("a", 1.0), ("c", 0.0)])).unwrap();
    assert_eq!(claim(&mut life, 2), ["x129", "x128"]);
    change(&mut life, ConfigChange { muted: Some(vec!["b".into()]), ..fix(&[("a", -1.0), ("b", 500.0)]) })
        .unwrap();
    assert_eq!(claim(&mut life, 1), ["x42"], "a muted evaluator does not count, whatever its weight");
    for (wrong, why) in [
        (fix(&[("z", 1.0)]), "no evaluator `z`"),
        (fix(&[("a", f64::NAN)]), "not a number"),
        (fix(&[("b", 1.0)]), "none is left"),
    ] {
        let error = change(&mut life, wrong).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    change(&mut life, ConfigChange { muted: Some(Vec::new()), ..fix(&[]) }).unwrap();
    assert!(life.writer.replica.live.ranking.as_ref().unwrap().model >= model);
    claim(&mut life, 3);
    prove(&life);
}

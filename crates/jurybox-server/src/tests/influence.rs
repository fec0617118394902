//! Tests of evaluators that change: their influence over time, and when drift alarms begin.

use super::fixture::{Home, Kind, on_both};
use crate::{Call, Config, DriftIncident, EvaluatorSummary, NewItem, Queue, Request, Service};
use jurybox::Evaluators;
use jurybox::toolbox::hash_number;
use std::time::{Duration, Instant};

on_both!(
    influence_goes_by_the_last_items,
    the_time_of_an_alarm_stays,
    what_changes_and_comes_back_is_noticed_twice
);

/// A service with a queue that uses this policy.
fn opened(home: &Home, policy: &str) -> (Service, Queue) {
    let evaluators = Evaluators::new(["a", "b", "c", "d"]).unwrap();
    let config = Config { policy: policy.parse().unwrap(), undo_seconds: 0, ..Config::new(evaluators) };
    let service = Service::open(&home.place, Duration::ZERO).unwrap();
    let queue = service.create_for("ann", "q", &config).unwrap();
    (service, queue)
}

/// Sends items, 64 in a request. Their scores are a common cause plus noise, both approximately
/// normal (Irwin-Hall); the noise of `a` is multiplied by `noise`.
fn send(queue: &Queue, from: u64, many: u64, noise: f64) {
    let uniform = |what: u64| hash_number(5, what) as f64 / 2_f64.powi(64);
    let normal = |what: u64| (0..12).map(|at| uniform(what * 12 + at)).sum::<f64>() - 6.0;
    let item = |n: u64| {
        let score = |at: u64, noise: f64| normal(n * 8) + noise * normal(n * 8 + 1 + at);
        let scores = ["a", "b", "c", "d"]
            .iter()
            .zip(0..)
            .map(|(name, at)| (name.to_string(), Some(score(at, if at == 0 { 0.5 * noise } else { 0.5 }))));
        NewItem { id: format!("i{n}"), scores: scores.collect(), ..NewItem::default() }
    };
    for first in (from..from + many).step_by(64) {
        queue.ask(Call::new("ann", Request::Items((first..first + 64).map(item).collect()))).unwrap();
    }
}

/// Sends rounds of 64 items one after the other.
struct Rounds<'a> {
    queue: &'a Queue,
    sent: u64,
}

impl Rounds<'_> {
    /// Sends eight rounds after a pause of a second. Times are learnt in whole seconds, so changes
    /// within a second are not detected.
    fn send_eight(&mut self, noise: f64) {
        std::thread::sleep(Duration::from_millis(1050));
        send(self.queue, 64 * self.sent, 64 * 8, noise);
        self.sent += 8;
    }
}

/// The evaluators, once the model has learnt the whole log.
fn evaluated(queue: &Queue) -> Vec<EvaluatorSummary> {
    let patience = Instant::now();
    loop {
        let (head, model) = (queue.status().unwrap().head, queue.model().unwrap());
        if model.model == head {
            return queue.evaluator_summaries(&model).unwrap();
        }
        assert!(patience.elapsed() < Duration::from_mins(1), "the model did not catch up");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn influence_goes_by_the_last_items(kind: Kind) {
    let home = Home::new(kind);
    let (_service, queue) = opened(&home, "average");
    send(&queue, 0, 8192, 1.0);
    let before = evaluated(&queue)[0].spread.unwrap();
    assert!((before - 1.25_f64.sqrt()).abs() < 0.06, "{before}");
    // A fifth of all items have the new noise, and these came last.
    send(&queue, 8192, 2048, 8.0);
    let after = evaluated(&queue)[0].spread.unwrap();
    assert!((after - 17_f64.sqrt()).abs() < 0.2, "{after}");
    let model = queue.model().unwrap();
    let pulls = queue.influence_by(&model).unwrap().unwrap().pulls;
    let all = evaluated(&queue);
    assert_eq!(pulls.len(), 4);
    for ((name, pull), of) in pulls.iter().zip(&all) {
        assert!(*name == of.name && (pull - of.pull().unwrap()).abs() < 1e-9, "{name}: {pull}");
    }
}

fn the_time_of_an_alarm_stays(kind: Kind) {
    let home = Home::new(kind);
    let (service, queue) = opened(&home, "adaptive(forget=true)");
    let mut rounds = Rounds { queue: &queue, sent: 0 };
    (0..5).for_each(|_| rounds.send_eight(1.0));
    assert!(evaluated(&queue).iter().all(|of| of.alarms.is_empty() && of.raised.is_empty()));
    let quiet = queue.status().unwrap().head;
    let (mut raised, mut later) = (None, 0);
    // How soon the change is noticed depends on the machine's speed. So only the reported times are
    // checked.
    for _ in 0..30 {
        rounds.send_eight(8.0);
        let now = evaluated(&queue)[0].raised.first().copied().flatten();
        assert!(raised.is_none() || now == raised, "{raised:?}, and then {now:?}");
        later += u32::from(raised.is_some());
        raised = now;
        if later == 3 {
            break;
        }
    }
    let raised = raised.expect("an evaluator that is eight times as noisy is noticed");
    let head = queue.status().unwrap().head;
    assert!(quiet < raised.entry && raised.entry < head && raised.since <= raised.at, "{raised:?}");
    let of = evaluated(&queue).swap_remove(0);
    assert_eq!(of.changed_since(), Some(raised.since));
    // A newly opened service finds the same onset in the log.
    drop((queue, service));
    let service = Service::open(&home.place, Duration::from_secs(10)).unwrap();
    let again = evaluated(&service.queue("q").unwrap())[0].raised[0];
    assert_eq!(again, Some(raised));
}

/// An evaluator changes and changes back: both incidents are noticed, and reported afterwards.
fn what_changes_and_comes_back_is_noticed_twice(kind: Kind) {
    let home = Home::new(kind);
    let (_service, queue) = opened(&home, "adaptive(forget=true)");
    let mut rounds = Rounds { queue: &queue, sent: 0 };
    let drift_incidents = || -> Vec<DriftIncident> {
        evaluated(&queue);
        let all = queue.drift_incidents(&queue.model().unwrap()).unwrap();
        all.into_iter().filter(|drift_incidents| drift_incidents.evaluator == "a").collect()
    };
    (0..5).for_each(|_| rounds.send_eight(1.0));
    assert_eq!(drift_incidents(), []);
    for (noise, many) in [(8.0, 1), (1.0, 2)] {
        let seen = (0..30).any(|_| {
            rounds.send_eight(noise);
            drift_incidents().len() == many
        });
        assert!(seen, "{many} changes are noticed: {:?}", drift_incidents());
        (0..3).for_each(|_| rounds.send_eight(noise));
    }
    let all = drift_incidents();
    let [back, away] = &all[..] else { panic!("{all:?}") };
    assert!(away.raised.entry < back.raised.entry && away.raised.at < back.raised.since, "{all:?}");
    let of = evaluated(&queue).swap_remove(0);
    assert_eq!(of.changed_since(), Some(back.raised.since));
    assert!(of.last_change().iter().all(|at| of.raised[*at] == Some(back.raised)), "{of:?}");
}

//! Drift: has an evaluator changed, or what a reward means, since when, and how sure is that?
//!
//! Scores are watched by three readings of each evaluator in each round
//! ([`Pulse`](crate::estimate::pulse::Pulse)), rewards by how far they are from what was expected
//! of their items ([`rewards`](super::rewards)). What is older than the last change that is
//! believed ([`change`](super::change)) is left out of the fit: the window is long while nothing
//! changes and short after a change, which is forgetting at a rate the data set.

use super::change::{self, Series};
use crate::Evaluators;
use crate::estimate::ladder::{LATEST, Ladder};
use crate::estimate::pulse::{Pulse, READINGS, Readings};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Something that is not what it was.
///
/// ```
/// use jurybox::{Evaluators, Jury};
/// let jury = Jury::new(&"adaptive".parse()?, Evaluators::numbered(4)?)?;
/// assert!(jury.fit().alarms().is_empty()); // nothing seen, nothing changed
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alarm {
    /// The evaluator's column; none where it is the rewards that changed.
    pub evaluator: Option<usize>,
    /// What changed.
    pub reading: Reading,
    /// It changed between this time, that of the first round that may have been different,
    pub since: u64,
    /// and this one, that of the first round that surely was. The two are as close as can be told,
    /// and as what is kept of the past allows: a plain change is known to a few rounds while it is
    /// new, and to a quarter of its age later. So they move apart as time goes by, but neither
    /// moves past the change.
    pub until: u64,
    /// The mean reading before and after.
    pub before: f64,
    /// See `before`.
    pub after: f64,
    /// One less the probability that chance alone would show as much, ever, in anything that is
    /// watched, however often one looks. It is at least 0.995 for scores, and at least 0.995 for
    /// rewards.
    pub confidence: f64,
}

/// What is watched.
///
/// ```
/// assert_eq!(serde_json::to_string(&jurybox::Reading::Agreement).unwrap(), "\"agreement\"");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// The logarithm of the variance of an evaluator's scores within a round.
    Spread,
    /// Fisher's z of an evaluator's correlation with the others within a round.
    Agreement,
    /// How far rewards are above what was expected of their items, in units of the reward.
    Reward,
    /// How much more rewards are where one more was expected.
    Slope,
    /// In how many of the rounds an evaluator's scores differ from one another: one that is stuck
    /// gives the same score to all.
    Varying,
}

impl Alarm {
    /// The alarm as one sentence without its full stop; `written` formats a time.
    ///
    /// ```
    /// use jurybox::{Alarm, Evaluators, Reading};
    /// let (evaluators, reading) = (Evaluators::new(["spam", "abuse"])?, Reading::Spread);
    /// let (before, after, confidence) = (0.2, 0.9, 0.9999);
    /// let (evaluator, since, until) = (Some(1), 160, 163);
    /// let alarm = Alarm { evaluator, reading, since, until, before, after, confidence };
    /// assert_eq!(
    ///     alarm.message(&evaluators, |round| format!("round {round}")),
    ///     "`abuse` changed: the spread of its scores rose between round 160 and \
    ///      round 163 (99.99% sure)"
    /// );
    /// let stuck = Alarm { reading: Reading::Varying, before: 1.0, after: 0.0, ..alarm };
    /// assert_eq!(
    ///     stuck.message(&evaluators, |round| format!("round {round}")),
    ///     "`abuse` is stuck: it began to give the same score to every item between round 160 and \
    ///      round 163 (99.99% sure)"
    /// );
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn message(&self, evaluators: &Evaluators, written: impl Fn(u64) -> String) -> String {
        let rose = self.after > self.before;
        let stuck = self.reading == Reading::Varying && self.after <= NONE;
        let state = if stuck { "is stuck" } else { "changed" };
        let who = self.evaluator.and_then(|at| evaluators.names().nth(at));
        let who = who.map_or_else(|| "rewards changed".into(), |name| format!("`{name}` {state}"));
        let what = match (self.reading, rose) {
            _ if stuck => "it began to give the same score to every item".into(),
            (Reading::Varying, true) => "its scores began to differ from one another".into(),
            (Reading::Varying, false) => {
                "it began to give the same score to every item of most rounds".into()
            }
            (reading, true) => format!("{reading} rose"),
            (reading, false) => format!("{reading} fell"),
        };
        let when = if self.since == self.until {
            format!("at {}", written(self.since))
        } else {
            format!("between {} and {}", written(self.since), written(self.until))
        };
        let sure = match 100.0 * self.confidence {
            percent if percent > 99.99 => "more than 99.99".to_owned(),
            percent => format!("{percent:.2}"),
        };
        format!("{who}: {what} {when} ({sure}% sure)")
    }

    /// By which any two of a kind are in the same order everywhere, the later behind the earlier.
    pub(super) fn order(&self) -> [u64; 6] {
        let [before, after, confidence] = [self.before, self.after, self.confidence].map(f64::to_bits);
        [self.since, self.until, self.reading as u64, before, after, confidence]
    }

    /// Whether its numbers could have been found.
    pub(super) fn is_sound(&self) -> bool {
        self.since <= self.until
            && self.until <= LATEST
            && self.before.is_finite()
            && self.after.is_finite()
            && (0.0..=1.0).contains(&self.confidence)
    }
}

impl fmt::Display for Reading {
    /// As a part of a sentence on an evaluator, or on rewards.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reading::Spread => "the spread of its scores",
            Reading::Agreement => "its agreement with the others",
            Reading::Reward => "the rewards of items with such scores",
            Reading::Slope => "how closely rewards follow the scores",
            Reading::Varying => "how often its scores differ from one another",
        })
    }
}

/// Of no consequence are changes below these: 5% of a deviation in the log variance, 0.05 of a
/// small correlation in Fisher's z, and of how often scores vary three rounds in four, or one in
/// four where they vary no more. A rule that hits one item in a hundred varies in twice as many
/// rounds once there are more of what it finds: nothing is wrong with it then.
const MATTERS: [fn(f64, f64) -> bool; READINGS] = [
    |before, after| (after - before).abs() >= 0.1,
    |before, after| (after - before).abs() >= 0.05,
    |before, after| (after - before).abs() >= if after <= NONE { 0.25 } else { 0.75 },
];
/// What rounding may leave of no share at all.
const NONE: f64 = 1e-9;
const READ: [Reading; READINGS] = [Reading::Spread, Reading::Agreement, Reading::Varying];
/// What is added to the variance of whether scores vary: where they always did, it is not known
/// that they always will.
const NOT_KNOWN: f64 = 0.02;
/// The share of the largest change of agreement that makes an evaluator one of those who left.
const LEAVER: f64 = 2.0 / 3.0;

/// The pulse over time, as finely as it is kept: the present in single rounds, and what is older to
/// an eighth of its age.
pub(super) type Pulses = Ladder<Pulse, 16>;

/// A change that is believed, and how it shows.
pub(super) struct Changed {
    /// The time from which on things are what they became.
    pub(super) since: u64,
    pub(super) alarms: Vec<Alarm>,
}

/// The changes of evaluators that are seen from a time on, oldest first.
pub(super) fn of_scores(pulses: &Pulses, evaluators: usize, since: u64) -> Vec<Changed> {
    let rungs: Vec<_> = pulses.rungs().iter().filter(|rung| rung.first >= since).collect();
    let series: Vec<Series> = (0..evaluators * READINGS)
        .map(|at| Series {
            cells: rungs.iter().map(|rung| cell(&rung.value, at / READINGS, at % READINGS)).collect(),
            matters: MATTERS[at % READINGS],
        })
        .collect();
    let times: Vec<(u64, u64)> = rungs.iter().map(|rung| (rung.first, rung.last)).collect();
    let named = |at: usize| (Some(at / READINGS), READ[at % READINGS]);
    let mut changes = told(&series, &times, rounds(pulses), true, named);
    changes.iter_mut().for_each(|change| name_the_leavers(&mut change.alarms));
    changes
}

fn cell(pulse: &Pulse, evaluator: usize, reading: usize) -> Readings {
    let read = pulse.of(evaluator, reading);
    if READ[reading] == Reading::Varying {
        Readings { variance: read.variance + NOT_KNOWN, ..read }
    } else {
        read
    }
}

/// Rounds that were read.
pub(super) fn rounds(pulses: &Pulses) -> f64 {
    rounds_between(pulses, 0, u64::MAX)
}

/// Rounds that were read, of the spans that begin at a time or later, and before another.
pub(super) fn rounds_between(pulses: &Pulses, since: u64, before: u64) -> f64 {
    let rungs = pulses.rungs().iter().filter(|rung| (since..before).contains(&rung.first));
    rungs.map(|rung| rung.value.rounds()).sum()
}

/// Searches series whose cells are of these times, from the first to the last: what changed, oldest
/// first, each series by its name.
pub(super) fn told(
    series: &[Series],
    times: &[(u64, u64)],
    looks: f64,
    passing: bool,
    named: impl Fn(usize) -> (Option<usize>, Reading),
) -> Vec<Changed> {
    let changes = change::search(series, times, looks, passing);
    let told = changes.iter().map(|change| {
        let alarms = change.seen.iter().map(|seen| {
            let (evaluator, reading) = named(seen.series);
            let (since, until) = (change.since, change.until);
            let [before, after] = [seen.before, seen.after].map(|mean| as_told(reading, mean));
            let confidence = seen.confidence;
            Alarm { evaluator, reading, since, until, before, after, confidence }
        });
        Changed { since: times[change.resume].0, alarms: alarms.collect() }
    });
    told.collect()
}

/// What is left of running sums by rounding is no share of rounds.
fn as_told(reading: Reading, mean: f64) -> f64 {
    if reading == Reading::Varying { (mean.clamp(0.0, 1.0) * 1e9).round() / 1e9 } else { mean }
}

/// When one evaluator leaves the common opinion, the others agree less with the rest too. Of those
/// seen in one change, only those whose agreement changed nearly as much as the most are named.
/// Where one is stuck, which has no agreement any more, only those that turned round.
fn name_the_leavers(alarms: &mut Vec<Alarm>) {
    if alarms.iter().any(|alarm| alarm.reading == Reading::Varying && alarm.after < alarm.before) {
        // Who lost a companion agrees less; who points the other way turned round.
        return alarms
            .retain(|alarm| alarm.reading != Reading::Agreement || alarm.before * alarm.after < -0.01);
    }
    let change = |alarm: &Alarm| {
        if alarm.reading == Reading::Agreement { (alarm.after - alarm.before).abs() } else { 0.0 }
    };
    let most = alarms.iter().map(change).fold(0.0, f64::max);
    alarms.retain(|alarm| alarm.reading != Reading::Agreement || change(alarm) >= LEAVER * most);
}

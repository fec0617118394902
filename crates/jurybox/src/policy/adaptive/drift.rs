//! Drift: has an evaluator changed, since when, and how sure is that?
//!
//! The readings of each evaluator ([`Pulse`](crate::estimate::pulse::Pulse)) are compared before and after every joint
//! between rungs of the ladder, and before and after every rung, within which the change may have come. The difference of
//! the two means is measured against the scatter of the rounds, or of whole rungs around their own side's mean where that
//! is larger: seasons and slow waves then count as scatter, not as news. The most telling place is believed if chance would
//! do as much, anywhere and in any evaluator, less than once in a thousand looks. What is older is then left out of the fit,
//! and the search goes on in what remains: the window is long while nothing changes and short after a change, which is
//! forgetting at a rate the data set.

use super::state::Block;
use crate::estimate::ladder::Ladder;
use crate::estimate::pulse::{READINGS, Readings};
use crate::normal;
use crate::toolbox::as_normal_deviate;
use serde::Serialize;

/// An evaluator that is not what it was.
///
/// ```
/// use jurybox::{Evaluators, Jury};
/// let jury = Jury::new(&"adaptive(forget=true)".parse()?, Evaluators::numbered(4)?)?;
/// assert!(jury.fit().alarms().is_empty()); // nothing seen, nothing changed
/// # Ok::<(), jurybox::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alarm {
    /// The evaluator's column.
    pub evaluator: usize,
    /// What changed.
    pub reading: Reading,
    /// The time from which on it is different; it changed between this one and the end of the rung it begins.
    pub since: u64,
    /// The mean reading before and after.
    pub before: f64,
    /// See `before`.
    pub after: f64,
    /// One less the probability that chance alone would show as much in one look, over all evaluators and readings. Who looks often
    /// sees a false one more often: of 1,000 steady worlds, 9 raised one within 208 rounds.
    pub confidence: f64,
}

/// What is read off an evaluator in every round.
///
/// ```
/// assert_eq!(serde_json::to_string(&jurybox::Reading::Agreement).unwrap(), "\"agreement\"");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// The logarithm of the variance of its scores within a round.
    Spread,
    /// Fisher's z of its correlation with the other evaluators within a round.
    Agreement,
}

/// The risk of a false alarm that is taken, over all comparisons of a look.
const RISK: f64 = 1e-3;
/// Rounds needed on both sides of a change.
const LEAST_ROUNDS: f64 = 8.0;

/// The share of the largest change of agreement that makes an evaluator one of those who left.
const LEAVER: f64 = 2.0 / 3.0;

/// The first rung that the present still resembles, and the alarms, oldest first.
pub(crate) fn search(ladder: &Ladder<Block>, evaluators: usize) -> (usize, Vec<Alarm>) {
    let rungs = ladder.rungs();
    // All readings of one evaluator side by side, oldest first.
    let readings: Vec<[Vec<Readings>; READINGS]> = (0..evaluators)
        .map(|evaluator| {
            [0, 1].map(|at| rungs.iter().map(|rung| rung.value.pulse.of(evaluator, at)).collect())
        })
        .collect();
    let (mut first, mut alarms) = (0, Vec::new());
    while rungs.len() > first + 1 {
        // A change at a joint, or within the rung that begins there, which is then left out.
        let places: Vec<(usize, usize)> =
            (first + 1..rungs.len()).flat_map(|joint| [(joint, joint), (joint, joint + 1)]).collect();
        let comparisons = (places.len() * evaluators * READINGS) as f64;
        let mut found: Vec<Found> = Vec::new();
        for (joint, resume) in places {
            for (evaluator, both) in readings.iter().enumerate() {
                for (read, reading) in both.iter().zip([Reading::Spread, Reading::Agreement]) {
                    let Some((before, after, z)) = compare(&read[first..joint], &read[resume..]) else {
                        continue;
                    };
                    let chance = 2.0 * normal::cdf(-z) * comparisons;
                    if chance < RISK {
                        let (since, confidence) = (rungs[joint].start, 1.0 - chance);
                        let alarm = Alarm { evaluator, reading, since, before, after, confidence };
                        found.push(Found { place: (joint, resume), z, alarm });
                    }
                }
            }
        }
        // Chances of nearly nothing are all alike; the deviate still tells which place is the most telling.
        let Some(place) = found.iter().max_by(|a, b| a.z.total_cmp(&b.z)).map(|found| found.place) else {
            break;
        };
        first = place.1;
        found.retain(|found| found.place == place);
        name_the_leavers(&mut found);
        alarms.extend(found.into_iter().map(|found| found.alarm));
    }
    (first, alarms)
}

/// A change that was seen.
struct Found {
    /// The joint it is seen at, and the first rung after it.
    place: (usize, usize),
    /// How telling it is, as a normal deviate.
    z: f64,
    alarm: Alarm,
}

/// When one evaluator leaves the common opinion, the others agree less with the rest too. Only those whose agreement changed
/// nearly as much as the most are named.
fn name_the_leavers(found: &mut Vec<Found>) {
    let change =
        |alarm: &Alarm| if alarm.reading == Reading::Agreement { alarm.after - alarm.before } else { 0.0 };
    let most = found.iter().map(|found| change(&found.alarm).abs()).fold(0.0, f64::max);
    found.retain(|found| {
        found.alarm.reading == Reading::Spread || change(&found.alarm).abs() >= LEAVER * most
    });
}

/// Means before and after, and how telling their difference is, as a normal deviate.
fn compare(old: &[Readings], new: &[Readings]) -> Option<(f64, f64, f64)> {
    let (before, after) = (pool(old), pool(new));
    if before.rounds < LEAST_ROUNDS || after.rounds < LEAST_ROUNDS {
        return None;
    }
    let rounds = before.rounds + after.rounds;
    let sides = [(old, before), (new, after)];
    let within: f64 = sides.iter().flat_map(|(side, _)| *side).map(|r| r.rounds * r.variance).sum();
    let between: f64 = sides
        .iter()
        .flat_map(|(side, pooled)| side.iter().map(|r| r.rounds * (r.mean - pooled.mean).powi(2)))
        .sum();
    let rungs = sides.iter().flat_map(|(side, _)| *side).filter(|r| r.rounds > 0.0).count() as f64;
    let by_rounds = (within + between) / (rounds - 2.0);
    let by_rungs = if rungs > 2.0 { between / (rungs - 2.0) } else { 0.0 };
    let (variance, freedom) =
        if by_rungs > 2.0 * by_rounds { (by_rungs, rungs - 2.0) } else { (by_rounds, rounds - 2.0) };
    let error = (variance * (1.0 / before.rounds + 1.0 / after.rounds)).sqrt();
    if error <= 0.0 {
        return None;
    }
    let t = (after.mean - before.mean) / error;
    Some((before.mean, after.mean, as_normal_deviate(t, freedom)))
}

fn pool(side: &[Readings]) -> Readings {
    let rounds: f64 = side.iter().map(|r| r.rounds).sum();
    let mean = side.iter().map(|r| r.rounds * r.mean).sum::<f64>() / rounds.max(1.0);
    Readings { rounds, mean, variance: 0.0 }
}

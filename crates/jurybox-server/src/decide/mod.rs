//! Decides requests: computes the log entry and the answer of each, and changes nothing.

mod facts;
mod items;
mod leases;
mod verdicts;

pub(crate) use facts::{RequestFacts, prefetch};

use crate::Error;
use crate::clock::TOLERANCE;
use crate::event::{Body, DecidedItem};
use crate::live_queue::LiveQueue;
use crate::request::{Answer, Call, ConfigChange, Request};
use crate::rows::VerdictNote;

/// The outcome of one request.
#[derive(Debug)]
pub(crate) struct Decision {
    /// The change to log, if there is one.
    pub(crate) body: Option<Body>,
    pub(crate) answer: Answer,
    /// The ids of new items, or of erased ones.
    pub(crate) keys: Vec<String>,
    pub(crate) payloads: Vec<(u64, String, Option<i64>)>,
    pub(crate) notes: Vec<VerdictNote>,
}

impl Decision {
    fn new(body: Option<Body>, answer: Answer) -> Self {
        Decision { body, answer, keys: Vec::new(), payloads: Vec::new(), notes: Vec::new() }
    }
}

/// Decides requests from the live queue and from rows looked up besides.
pub(crate) struct Decider<'a> {
    pub(crate) live: &'a LiveQueue,
    pub(crate) facts: &'a RequestFacts,
    /// The time of the entry to write.
    pub(crate) at: i64,
    /// The database's clock, which may differ from the log's time; none if it is unknown.
    pub(crate) clock: Option<i64>,
    /// The most items that fit into the answer to a claim, if known.
    pub(crate) room: Option<u32>,
}

/// The longest id, name, label, note or reason, in characters.
const LONGEST: usize = 512;

/// Checks that a name or id is not empty, not too long and without a zero byte.
pub(crate) fn check_name(what: &str, name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err(format!("{what} is empty"));
    }
    // A name has at most as many characters as bytes, so short names need no counting.
    if name.len() > LONGEST && name.chars().count() > LONGEST {
        return Err(format!("{what} has {} characters, more than {LONGEST}", name.chars().count()));
    }
    if name.contains('\0') {
        return Err(format!("{what} has a zero byte"));
    }
    Ok(())
}

/// Checks the actor and the idempotency key of a call.
pub(crate) fn check_call(call: &Call) -> Result<(), Error> {
    if !call.actor.is_empty() {
        check_name("the actor's name", &call.actor).map_err(Error::Refused)?;
    }
    let key = call.idempotency.as_deref().map_or(Ok(()), |key| check_name("the idempotency key", key));
    key.map_err(Error::Refused)
}

impl Decider<'_> {
    /// The outcome of a request, or why it is refused.
    pub(crate) fn decide(&self, request: &Request) -> Result<Decision, Error> {
        match request {
            Request::Items(items) => self.items(items),
            Request::Claim { reviewer, k, filter } => self.claim(reviewer, *k, filter),
            Request::Extend { reviewer, items } => self.extend(reviewer, items),
            Request::Release { reviewer, items } => self.release(reviewer, items),
            Request::Skip { reviewer, item, reason } => self.skip(reviewer, item, reason),
            Request::Verdicts(verdicts) => Ok(self.verdicts(verdicts)),
            Request::Undo { reviewer, verdict } => self.undo(reviewer, verdict),
            Request::Configure(change) => self.configure(change),
            Request::Close { filter, before, reason } => self.close(filter, *before, reason),
            Request::Erase { items } => self.erase(items),
            Request::Clock => Ok(self.set_clock()),
        }
    }

    /// Sets the log's time back to the clock's, if the log is ahead by more than [`TOLERANCE`].
    fn set_clock(&self) -> Decision {
        let ahead = self.clock.is_some_and(|clock| self.live.at > clock + TOLERANCE);
        Decision::new(ahead.then_some(Body::Clock), Answer::Changed { changed: u64::from(ahead) })
    }

    fn configure(&self, change: &ConfigChange) -> Result<Decision, Error> {
        let config = change.clone().onto((*self.live.config).clone());
        config.check()?;
        for new in config.evaluators.as_slice() {
            let old = self.live.config.evaluators.position(&new.name);
            if old.is_some_and(|at| self.live.config.evaluators.as_slice()[at].direction != new.direction) {
                return Err(Error::Refused(format!(
                    "evaluator `{}` cannot change its direction; remove it, then add it again",
                    new.name
                )));
            }
        }
        if let Some(scale) = &config.reward
            && config.reward != self.live.config.reward
        {
            let mismatch = |(label, low, high): &(Option<String>, f64, f64)| {
                scale.mismatch(label.as_deref(), *low).or_else(|| scale.mismatch(label.as_deref(), *high))
            };
            if let Some(mismatch) = self.facts.rewards().iter().find_map(mismatch) {
                return Err(Error::Conflict(format!(
                    "a verdict of the queue does not fit the new scale: {mismatch}"
                )));
            }
        }
        if config == *self.live.config {
            return Ok(Decision::new(None, Answer::Changed { changed: 0 }));
        }
        let decided = self.live.enough(config.quorum).into_iter().map(|(n, reward)| {
            let (probability, explored) = self.facts.last_review(n);
            let scores = self.live.blocks.scores(n).unwrap_or_default().to_vec();
            let arrived = self.live.blocks.arrived(n).unwrap_or_default();
            DecidedItem { n, reward, probability, explored, arrived, scores }
        });
        let body = Body::Configure { decided: decided.collect(), config };
        Ok(Decision::new(Some(body), Answer::Changed { changed: 1 }))
    }
}

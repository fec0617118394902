//! The clerk: answers requests against a replica in memory, and makes the answers true in the database.
//!
//! All requests that are waiting become one transaction: lock the queue, catch up with what others wrote, decide one after the
//! other, write, commit. Only then is anything so, and only then are answers given. Where it cannot be known whether a commit
//! happened, the log is asked: every transaction has a name there.

mod status;
pub(crate) mod read_access;
mod new_item_guess;
mod connection;

use crate::Error;
use crate::answers::{PendingAnswer, name_items, remember, repeated};
use crate::live_queue::{LiveQueue, ItemCounts};
use crate::clock::LogClock;
use crate::decide::{Decision, Decider, RequestFacts, check_call, prefetch};
use crate::event::{Body, LogEvent, VerdictSource};
use crate::load::{checkpoint_of, load};
use crate::replica::Replica;
use crate::request::{Answer, Call, MOST_BYTES, Request};
use crate::rows::{StoredAnswer, EntryWrite};
use crate::store::{Checkpoint, LogHead, Purpose, Store};
use new_item_guess::NewItemGuess;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// Rows that it takes long to fold.
const WORTH_KEEPING: u64 = 1 << 14;

/// Answers requests for one queue.
pub(crate) struct QueueWriter {
    store: Box<dyn Store>,
    queue: i64,
    pub(crate) replica: Replica,
    /// The database's clock.
    clock: LogClock,
    /// Something was erased that may still be in the database's journal.
    unscrubbed: bool,
    /// What was written and answered, and is not learnt yet.
    unlearnt: Vec<LogEvent>,
    /// Checkpoints that are to be kept when no transaction is open.
    due: Vec<Checkpoint>,
    newcomers: NewItemGuess,
    /// The database cannot be reached: since when, and when it was last tried.
    away: Option<(Instant, Instant)>,
    /// Checkpoints that another node, or an earlier run, has with other contents.
    pub(crate) mismatches: u64,
    /// No payload of the queue is larger, in bytes.
    largest: u64,
}

impl QueueWriter {
    /// Opens a queue: loads it, learns up to the head, and ranks.
    pub(crate) fn open(mut store: Box<dyn Store>, queue: i64) -> Result<Self, Error> {
        let head = store.begin_reading(queue)?;
        let replica = load(store.as_mut(), queue, head);
        let largest = store.large_payload(queue);
        store.rollback();
        let ((replica, folded), largest) = (replica?, largest?.unwrap_or(0));
        let mut writer = QueueWriter {
            store,
            queue,
            replica,
            clock: LogClock::default(),
            unscrubbed: false,
            unlearnt: Vec::new(),
            due: Vec::new(),
            newcomers: NewItemGuess::default(),
            away: None,
            mismatches: 0,
            largest,
        };
        writer.replica.rank()?;
        writer.keep_folded(folded);
        Ok(writer)
    }

    /// Keeps what it took long to fold, so that who opens the queue next need not do it again. So many rows were folded.
    pub(crate) fn keep_folded(&mut self, rows: u64) {
        if rows >= WORTH_KEEPING && !self.replica.learner.is_stale() {
            self.due.push(checkpoint_of(&self.replica.learner));
            self.keep_due();
        }
    }

    /// Whether a verdict that waits could no longer be taken back so long ago, as far as can be told without asking.
    pub(crate) fn lesson_is_due(&mut self, since: Duration) -> bool {
        let Some(due) = self.replica.learner.lesson_due() else { return false };
        let due = due + i64::try_from(since.as_micros()).unwrap_or(i64::MAX / 2);
        due <= self.now()
    }

    /// The time that an entry would have now, without a journey for it where the clock was read
    /// before.
    pub(crate) fn now(&mut self) -> i64 {
        let last = self.replica.live.at;
        let without = if self.store.is_shared() { self.clock.after(last) } else { None };
        without.unwrap_or_else(|| {
            let now = self.store.now().unwrap_or(0);
            self.clock.time(now, last)
        })
    }

    /// How many there are of what, now.
    pub(crate) fn counts(&mut self) -> ItemCounts {
        let now = self.now();
        self.replica.live.counts_at(now.max(self.replica.live.at))
    }

    /// Writes down that time has passed, where a verdict waits for nothing else: lessons are learnt with the next entry, and a queue may
    /// be quiet for a night. True if it did.
    pub(crate) fn settle(&mut self) -> Result<bool, Error> {
        let head = self.begin()?;
        let now = head.now.max(head.at);
        let Some(due) = self.replica.learner.lesson_due().filter(|due| *due <= now) else {
            self.store.rollback();
            return Ok(false);
        };
        let live = &mut self.replica.live;
        // As late as it must be and no later: nobody asked for this, and the clock may be days
        // ahead.
        let at = now.min(due.max(head.at + crate::config::micros(live.config.undo_seconds)));
        let event = LogEvent { seq: live.seq + 1, at, actor: "jurybox".into(), body: Body::Settle };
        let (queue, batch) = (self.queue, name_of_batch());
        let write =
            EntryWrite { event, keys: Vec::new(), payloads: Vec::new(), notes: Vec::new(), stands_from: at };
        let written = live
            .apply(&write.event)
            .and_then(|()| self.store.write(queue, batch, std::slice::from_ref(&write), &[], at));
        if let Err(error) = written {
            self.replica.live.rollback();
            self.store.rollback();
            return Err(error);
        }
        self.commit(vec![write.event], batch)?;
        self.digest();
        Ok(true)
    }

    pub(crate) fn queue(&self) -> i64 {
        self.queue
    }

    /// Whether other nodes write to the same log.
    pub(crate) fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    /// Another store on the same database.
    pub(crate) fn another_store(&self, purpose: Purpose) -> Result<Box<dyn Store>, Error> {
        self.store.another(purpose)
    }

    /// Answers these calls, in order, in as few transactions as that allows.
    pub(crate) fn answer(&mut self, calls: &[Call]) -> Vec<Result<Answer, Error>> {
        let answers = self.answer_at_once(calls);
        self.digest();
        answers
    }

    /// The same, before what was written is learnt: [`digest`](Self::digest) when the answers have been given.
    pub(crate) fn answer_at_once(&mut self, calls: &[Call]) -> Vec<Result<Answer, Error>> {
        let mut answers = Vec::with_capacity(calls.len());
        let mut rest = calls;
        while !rest.is_empty() {
            // What asks about earlier verdicts must find them in the tables.
            let many = rest
                .iter()
                .skip(1)
                .position(|call| needs_earlier_verdicts(&call.request))
                .map_or(rest.len(), |at| at + 1);
            let (now, later) = rest.split_at(many);
            self.learn_all();
            answers.extend(self.transact(now));
            rest = later;
        }
        answers
    }

    /// What is left to do when answers have been given: nobody waits for it.
    pub(crate) fn digest(&mut self) {
        self.learn_all();
        self.keep_due();
        self.scrub();
    }

    /// Takes what was written last into what was learnt.
    fn learn_all(&mut self) {
        for event in std::mem::take(&mut self.unlearnt) {
            self.learn(&event);
        }
    }

    /// Has what was erased overwritten in the database's journal too; where somebody reads there now, another time.
    pub(crate) fn scrub(&mut self) {
        self.unscrubbed = self.unscrubbed && !self.store.scrub().unwrap_or(false);
    }

    /// Whether something was erased that may still be in the database's journal.
    pub(crate) fn is_unscrubbed(&self) -> bool {
        self.unscrubbed
    }

    /// One transaction; two where items were taken for new, and one was there.
    fn transact(&mut self, calls: &[Call]) -> Vec<Result<Answer, Error>> {
        let all_new = self.store.is_shared() && self.newcomers.expected(calls);
        let mut answers = self.transact_once(calls, all_new);
        if all_new && self.store.hit_existing_item() {
            self.newcomers.hit_existing_item();
            answers = self.transact_once(calls, false);
        }
        self.newcomers.note(&answers);
        // A quota, or a journal's index that cannot grow, is to SQLite an error like any other.
        if !self.store.is_shared()
            && answers.iter().any(|answer| matches!(answer, Err(Error::Database(_))))
            && let Err(full) = self.store.check_room()
        {
            let failed = answers.iter_mut().filter(|answer| matches!(answer, Err(Error::Database(_))));
            failed.for_each(|answer| *answer = Err(full.clone()));
        }
        answers
    }

    /// One transaction. Items may be taken for new without a look.
    fn transact_once(&mut self, calls: &[Call], all_new: bool) -> Vec<Result<Answer, Error>> {
        let all = |error: &Error| calls.iter().map(|_| Err(error.clone())).collect();
        if self.store.is_shared() {
            self.store.prefetch(prefetch(calls, all_new));
        }
        if calls.iter().any(|call| matches!(call.request, Request::Clock)) {
            // Whoever asks for that has set it right, and nobody need wait until that is believed.
            self.trust_clock();
        }
        let head = match self.begin() {
            Ok(head) => head,
            Err(error) => return all(&error),
        };
        if calls.iter().any(|call| matches!(call.request, Request::Claim { .. }))
            && let Err(error) = self.replica.rank_while_new()
        {
            self.store.rollback();
            return all(&error);
        }
        let batch = name_of_batch();
        match self.decide(calls, all_new, head, batch) {
            Ok(BatchDecision { answers, events, keys }) if events.is_empty() => {
                self.replica.live.rollback();
                let kept = if keys {
                    self.store.commit()
                } else {
                    self.store.rollback();
                    Ok(())
                };
                kept.map_or_else(|error| all(&error), |()| answers)
            }
            Ok(BatchDecision { answers, events, .. }) => match self.commit(events, batch) {
                Ok(()) => answers,
                Err(error) => self.blame(calls, all_new, &error),
            },
            Err(error) => {
                self.replica.live.rollback();
                self.store.rollback();
                self.blame(calls, all_new, &error)
            }
        }
    }

    /// Who is told of an error that has ended a transaction: all of its calls, unless it is the fault of one of them. Then each has one of its
    /// own, and the others are answered. Where items were taken for new and one was there, it is nobody's fault, and all will be asked again.
    fn blame(&mut self, calls: &[Call], all_new: bool, error: &Error) -> Vec<Result<Answer, Error>> {
        let nobodys = all_new && self.store.hit_existing_item();
        if nobodys || calls.len() == 1 || !matches!(error, Error::Contradiction(_) | Error::Corrupt(_)) {
            return calls.iter().map(|_| Err(error.clone())).collect();
        }
        let mut answers = Vec::with_capacity(calls.len());
        for call in calls {
            self.learn_all();
            answers.extend(self.transact(std::slice::from_ref(call)));
        }
        answers
    }

    /// Takes an entry into what was learnt.
    fn learn(&mut self, event: &LogEvent) {
        if matches!(event.body, Body::Erase { .. }) {
            // They may hold what has just been erased.
            self.due.clear();
            self.unscrubbed = true;
        }
        match self.replica.learner.apply(event) {
            Ok(true) => self.due.push(checkpoint_of(&self.replica.learner)),
            Ok(false) => {}
            // What cannot be learnt as it stands in the log is folded again, and says so there.
            Err(_) => self.replica.learner.mark_stale(),
        }
    }

    fn decide(&mut self, calls: &[Call], all_new: bool, head: LogHead, batch: i64) -> Result<BatchDecision, Error> {
        let (store, queue, clock) = (self.store.as_mut(), self.queue, self.clock.reckoned());
        let begun = head.now.max(head.at);
        let mut at = begun;
        let live = &mut self.replica.live;
        live.expire_until(at);
        self.largest = self.largest.max(live.config.max_payload.into());
        let largest = self.largest;
        let mut answers: Vec<Option<Result<Answer, Error>>> = calls.iter().map(|_| None).collect();
        let keys: Vec<String> = calls.iter().filter_map(|call| call.idempotency.clone()).collect();
        let known = if keys.is_empty() { Vec::new() } else { store.remembered(queue, &keys)? };
        let known: HashMap<&str, &StoredAnswer> =
            known.iter().map(|there| (there.key.as_str(), there)).collect();
        for (call, answer) in calls.iter().zip(&mut answers) {
            *answer = match (check_call(call), &call.idempotency) {
                (Err(error), _) => Some(Err(error)),
                (Ok(()), Some(key)) => {
                    known.get(key.as_str()).and_then(|there| repeated(there, call).transpose())
                }
                (Ok(()), None) => None,
            };
        }
        let waiting = calls.iter().zip(&answers).filter(|(_, answer)| answer.is_none()).map(|(call, _)| call);
        let mut facts = RequestFacts::of(waiting, all_new, live, store, queue)?;
        live.seen_rewards = live.seen_rewards.or(facts.seen_rewards());
        let (mut writes, mut open): (Vec<EntryWrite>, Vec<PendingAnswer>) = Default::default();
        // The first call of each key, and whether something came of it.
        let mut here: HashMap<&str, (usize, bool)> = HashMap::new();
        // Calls that came again before the first was answered.
        let mut twins: Vec<(usize, usize)> = Vec::new();
        // The last entry is taken in while the database writes its rows.
        let mut taken_in = 0;
        for (place, call) in calls.iter().enumerate() {
            if answers[place].is_some() {
                continue;
            }
            if let Some((first, _)) = call.idempotency.as_deref().and_then(|key| here.get(key)) {
                twins.push((place, *first));
                continue;
            }
            take_in(&writes[taken_in..], live, &mut facts)?;
            taken_in = writes.len();
            let desk = Decider { live, facts: &facts, at, clock, room: None };
            let decided = decided_within_limits(&desk, &call.request, store, queue, largest)?;
            let Decision { body, answer, keys, payloads, notes } = match decided {
                Ok(decision) => decision,
                Err(error) => {
                    answers[place] = Some(Err(error));
                    continue;
                }
            };
            // Whoever asks a queue in which there is nothing for them asks often, and would leave a row each time.
            let found_nothing = body.is_none() && matches!(call.request, Request::Claim { .. });
            if let Some(key) = call.idempotency.as_deref().filter(|_| !found_nothing) {
                here.insert(key, (place, body.is_some()));
            }
            if let Some(body) = body {
                if matches!(body, Body::Clock) {
                    at = clock.unwrap_or(head.now);
                }
                let event = LogEvent { seq: live.seq + 1, at, actor: call.actor.clone(), body };
                let stands_from = at + crate::config::micros(live.config.undo_seconds);
                writes.push(EntryWrite { event, keys, payloads, notes, stands_from });
            }
            open.push(PendingAnswer { at: place, answer });
        }
        if !writes.is_empty() {
            store.write(queue, batch, &writes, &[], begun)?;
        }
        take_in(&writes[taken_in..], live, &mut facts)?;
        name_items(store, queue, &mut open, &writes)?;
        let remembered: Vec<StoredAnswer> = open
            .iter()
            .filter_map(|open| {
                let key = calls[open.at].idempotency.as_deref()?;
                // A claim with the same key may have come before, and found nothing.
                let (_, came_of_it) = *here.get(key).filter(|(first, _)| *first == open.at)?;
                if !came_of_it && known.contains_key(key) {
                    return None;
                }
                remember(&calls[open.at], came_of_it.then_some(&open.answer))
            })
            .collect();
        if !remembered.is_empty() {
            store.write(queue, batch, &[], &remembered, at)?;
        }
        for PendingAnswer { at, answer } in open {
            answers[at] = Some(Ok(answer));
        }
        for (place, first) in twins {
            let same = calls[first].fingerprint() == calls[place].fingerprint();
            let key = calls[place].idempotency.clone().unwrap_or_default();
            answers[place] = if same { answers[first].clone() } else { Some(Err(Error::KeyReused { key })) };
        }
        let events = writes.into_iter().map(|write| write.event).collect();
        let answers = answers.into_iter().map(|answer| answer.unwrap_or(Err(Error::Closed))).collect();
        Ok(BatchDecision { answers, events, keys: !remembered.is_empty() })
    }

    /// Makes it so, in the database and then in memory.
    fn commit(&mut self, events: Vec<LogEvent>, batch: i64) -> Result<(), Error> {
        match self.store.commit() {
            Ok(()) => {
                self.replica.live.commit();
                self.unlearnt = events;
                Ok(())
            }
            Err(Error::Unknown(why)) => {
                self.replica.live.rollback();
                self.resolve_commit(events[0].seq, batch, &why)
            }
            Err(error) => {
                self.replica.live.rollback();
                Err(error)
            }
        }
    }

    /// The clock is right, however far it jumped.
    pub(crate) fn trust_clock(&mut self) {
        self.clock = LogClock::default();
    }

    /// What was seen of the clock was seen so many seconds earlier.
    #[cfg(test)]
    pub(crate) fn wait(&mut self, seconds: u32) {
        self.clock.wait(seconds);
    }

    #[cfg(test)]
    pub(crate) fn store(&mut self) -> &mut dyn Store {
        self.store.as_mut()
    }
}

/// What calls come to.
struct BatchDecision {
    answers: Vec<Result<Answer, Error>>,
    /// What is to be so.
    events: Vec<LogEvent>,
    /// Whether there are keys to be kept, also where nothing else is.
    keys: bool,
}

/// Takes entries in, and notes what those who are decided after them must know.
fn take_in(writes: &[EntryWrite], live: &mut LiveQueue, facts: &mut RequestFacts) -> Result<(), Error> {
    for write in writes {
        live.apply(&write.event)?;
        facts.note(&write.event, &write.keys, write.stands_from, live);
        facts.note_payloads(&write.payloads);
    }
    Ok(())
}

/// How many of these items, the first of them, have payloads of no more than so many bytes together: one at least, if there is one.
fn how_many_fit(
    store: &mut dyn Store,
    queue: i64,
    facts: &RequestFacts,
    items: &[u64],
    most: u64,
) -> Result<usize, Error> {
    let kept: HashMap<u64, u64> = store.payload_bytes(queue, items)?.into_iter().collect();
    let (mut total, mut fit) = (0, 0);
    for n in items {
        // What came in by the same transaction is not in the table yet.
        let new = facts.shown(*n).map(|payload| payload.len() as u64);
        total += new.or_else(|| kept.get(n).copied()).unwrap_or(0);
        if total > most && fit > 0 {
            break;
        }
        fit += 1;
    }
    Ok(fit)
}

/// A name that no other transaction has.
fn name_of_batch() -> i64 {
    RandomState::new().hash_one(Instant::now()).cast_signed()
}

/// Whether a request speaks of verdicts that were given before.
fn needs_earlier_verdicts(request: &Request) -> bool {
    match request {
        Request::Undo { .. } | Request::Erase { .. } | Request::Configure(_) => true,
        Request::Verdicts(verdicts) => {
            verdicts.iter().any(|verdict| verdict.revises.is_some() || verdict.source == VerdictSource::Appeal)
        }
        _ => false,
    }
}

/// Decides a request. A claim whose payloads are more than an answer may have is decided again for
/// as many items as fit: among fewer there may be room for fewer random checks.
fn decided_within_limits(
    desk: &Decider<'_>,
    request: &Request,
    store: &mut dyn Store,
    queue: i64,
    largest: u64,
) -> Result<Result<Decision, Error>, Error> {
    let Decider { live, facts, at, clock, mut room } = *desk;
    loop {
        let decided = Decider { live, facts, at, clock, room }.decide(request);
        let Ok(Decision { answer: Answer::Claims { claims, .. }, .. }) = &decided else { return Ok(decided) };
        if claims.len() as u64 * largest <= MOST_BYTES {
            return Ok(decided);
        }
        let items: Vec<u64> = claims.iter().map(|claim| claim.n).collect();
        let fit = how_many_fit(store, queue, facts, &items, MOST_BYTES)?;
        if fit == items.len() {
            return Ok(decided);
        }
        room = Some(fit as u32);
    }
}

//! The queue writer: answers requests from the replica in memory, and commits the results.
//!
//! Waiting requests share a transaction: lock the queue, catch up with other nodes, decide the
//! requests in order, write, commit. Answers are sent only after the commit. Each transaction
//! stores a random number, its batch, with its entries. If it is unknown whether a commit took
//! place, the log is searched for the batch.

mod connection;
mod new_item_guess;
pub(crate) mod read_access;
mod status;

use crate::Error;
use crate::answers::{PendingAnswer, name_items, remember, repeated};
use crate::clock::LogClock;
use crate::decide::{Decider, Decision, RequestFacts, check_call, prefetch};
use crate::event::{Body, LogEvent, VerdictSource};
use crate::live_queue::{ItemCounts, LiveQueue};
use crate::load::{checkpoint_of, load};
use crate::replica::Replica;
use crate::request::{Answer, Call, MOST_BYTES, Request};
use crate::rows::{EntryWrite, StoredAnswer};
use crate::store::{Checkpoint, LogHead, Purpose, Store};
use new_item_guess::NewItemGuess;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// A fold of entries with at least this total weight is worth a checkpoint.
const WORTH_KEEPING: u64 = 1 << 14;

/// The one writer of a queue on this node.
pub(crate) struct QueueWriter {
    store: Box<dyn Store>,
    queue: i64,
    pub(crate) replica: Replica,
    /// Gives the time of new entries.
    clock: LogClock,
    /// Whether erased data may still be in the database's journal.
    needs_scrub: bool,
    /// Entries that are committed but not learnt yet.
    unlearnt: Vec<LogEvent>,
    /// Checkpoints to store between transactions.
    due: Vec<Checkpoint>,
    newcomers: NewItemGuess,
    /// Since when the database could not be reached, and when it was last tried; none if it is
    /// reached.
    away: Option<(Instant, Instant)>,
    /// Checkpoints that were found stored with other contents, by another node or an earlier run.
    pub(crate) mismatches: u64,
    /// In bytes, the largest payload above 64 KiB at opening, or the largest `max_payload` since if
    /// that is more. A claim that fits into an answer even with payloads of this size is not
    /// measured.
    largest: u64,
}

impl QueueWriter {
    /// Opens a queue: loads it, learns up to the head of the log, and ranks.
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
            needs_scrub: false,
            unlearnt: Vec::new(),
            due: Vec::new(),
            newcomers: NewItemGuess::default(),
            away: None,
            mismatches: 0,
            largest,
        };
        writer.replica.rank()?;
        writer.checkpoint_long_fold(folded);
        Ok(writer)
    }

    /// Stores a checkpoint after a fold of the total weight `rows`, if that was long, so that the
    /// next start need not repeat it.
    pub(crate) fn checkpoint_long_fold(&mut self, rows: u64) {
        if rows >= WORTH_KEEPING && !self.replica.learner.is_stale() {
            self.due.push(checkpoint_of(&self.replica.learner));
            self.save_checkpoints();
        }
    }

    /// Whether the undo window of a verdict ended at least `since` ago, so that it could be learnt.
    pub(crate) fn lesson_is_due(&mut self, since: Duration) -> bool {
        let Some(due) = self.replica.learner.lesson_due() else { return false };
        let due = due + i64::try_from(since.as_micros()).unwrap_or(i64::MAX / 2);
        due <= self.now()
    }

    /// The time that an entry would have now. On a shared database it is reckoned from the last
    /// reading of the clock, if there was one, to save a round trip.
    pub(crate) fn now(&mut self) -> i64 {
        let last = self.replica.live.at;
        let without = if self.store.is_shared() { self.clock.after(last) } else { None };
        without.unwrap_or_else(|| {
            let now = self.store.now().unwrap_or(0);
            self.clock.time(now, last)
        })
    }

    /// The present counts of items and verdicts.
    pub(crate) fn counts(&mut self) -> ItemCounts {
        let now = self.now();
        self.replica.live.counts_at(now.max(self.replica.live.at))
    }

    /// Writes a `settle` entry if the undo window of a verdict has ended; true if it wrote one.
    /// Verdicts are learnt with the next entry, and a quiet queue may have none for hours.
    pub(crate) fn settle(&mut self) -> Result<bool, Error> {
        let head = self.begin()?;
        let now = head.now.max(head.at);
        let Some(due) = self.replica.learner.lesson_due().filter(|due| *due <= now) else {
            self.store.rollback();
            return Ok(false);
        };
        let live = &mut self.replica.live;
        // No later than needed: nobody asked for this entry, and the clock may be days ahead.
        let at = now.min(due.max(head.at + crate::config::micros(live.config.undo_seconds)));
        let event = LogEvent { seq: live.seq + 1, at, actor: "jurybox".into(), body: Body::Settle };
        let (queue, batch) = (self.queue, random_batch());
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
        self.finish_batch();
        Ok(true)
    }

    pub(crate) fn queue(&self) -> i64 {
        self.queue
    }

    /// Whether other nodes may write to the same log.
    pub(crate) fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    /// Another store on the same database.
    pub(crate) fn another_store(&self, purpose: Purpose) -> Result<Box<dyn Store>, Error> {
        self.store.another(purpose)
    }

    /// Answers calls in order, in as few transactions as possible.
    pub(crate) fn answer(&mut self, calls: &[Call]) -> Vec<Result<Answer, Error>> {
        let answers = self.answer_before_learning(calls);
        self.finish_batch();
        answers
    }

    /// [`answer`](Self::answer) without learning the new entries: call
    /// [`finish_batch`](Self::finish_batch) once the answers are sent.
    pub(crate) fn answer_before_learning(&mut self, calls: &[Call]) -> Vec<Result<Answer, Error>> {
        let mut answers = Vec::with_capacity(calls.len());
        let mut rest = calls;
        while !rest.is_empty() {
            // A call that depends on earlier verdicts begins a new transaction, so that it finds
            // them in the tables.
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

    /// Learns the new entries, stores checkpoints and scrubs erased data, after the answers are
    /// sent.
    pub(crate) fn finish_batch(&mut self) {
        self.learn_all();
        self.save_checkpoints();
        self.scrub();
    }

    /// Learns the entries that were committed last.
    fn learn_all(&mut self) {
        for event in std::mem::take(&mut self.unlearnt) {
            self.learn(&event);
        }
    }

    /// Overwrites erased data in the database's journal. Tried again later if somebody reads there
    /// now.
    pub(crate) fn scrub(&mut self) {
        self.needs_scrub = self.needs_scrub && !self.store.scrub().unwrap_or(false);
    }

    /// Whether erased data may still be in the database's journal.
    pub(crate) fn needs_scrub(&self) -> bool {
        self.needs_scrub
    }

    /// Answers calls in one transaction, or in a second one if items assumed to be new were not.
    fn transact(&mut self, calls: &[Call]) -> Vec<Result<Answer, Error>> {
        let all_new = self.store.is_shared() && self.newcomers.expected(calls);
        let mut answers = self.transact_once(calls, all_new);
        if all_new && self.store.hit_existing_item() {
            self.newcomers.hit_existing_item();
            answers = self.transact_once(calls, false);
        }
        self.newcomers.note(&answers);
        // SQLite reports some full disks, such as a quota, as ordinary errors.
        if !self.store.is_shared()
            && answers.iter().any(|answer| matches!(answer, Err(Error::Database(_))))
            && let Err(full) = self.store.check_room()
        {
            let failed = answers.iter_mut().filter(|answer| matches!(answer, Err(Error::Database(_))));
            failed.for_each(|answer| *answer = Err(full.clone()));
        }
        answers
    }

    /// Answers calls in one transaction. With `all_new`, sent items are assumed to be new.
    fn transact_once(&mut self, calls: &[Call], all_new: bool) -> Vec<Result<Answer, Error>> {
        let all = |error: &Error| calls.iter().map(|_| Err(error.clone())).collect();
        if self.store.is_shared() {
            self.store.prefetch(prefetch(calls, all_new));
        }
        if calls.iter().any(|call| matches!(call.request, Request::Clock)) {
            // Setting the log's clock asserts that the database's clock is right, so that one is
            // believed at once.
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
        let batch = random_batch();
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
                Err(error) => self.isolate_failure(calls, all_new, &error),
            },
            Err(error) => {
                self.replica.live.rollback();
                self.store.rollback();
                self.isolate_failure(calls, all_new, &error)
            }
        }
    }

    /// Answers for a transaction that failed. If one call may be at fault, each gets a transaction
    /// of its own. Otherwise all get the error. If items were wrongly assumed to be new, all get
    /// the error too, and the caller repeats all.
    fn isolate_failure(
        &mut self,
        calls: &[Call],
        all_new: bool,
        error: &Error,
    ) -> Vec<Result<Answer, Error>> {
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

    /// Learns an entry.
    fn learn(&mut self, event: &LogEvent) {
        if matches!(event.body, Body::Erase { .. }) {
            // Checkpoints that are due may contain erased data.
            self.due.clear();
            self.needs_scrub = true;
        }
        match self.replica.learner.apply(event) {
            Ok(true) => self.due.push(checkpoint_of(&self.replica.learner)),
            Ok(false) => {}
            // Folding the log again will report the error.
            Err(_) => self.replica.learner.mark_stale(),
        }
    }

    fn decide(
        &mut self,
        calls: &[Call],
        all_new: bool,
        head: LogHead,
        batch: i64,
    ) -> Result<BatchDecision, Error> {
        let (store, queue, clock) = (self.store.as_mut(), self.queue, self.clock.reckoned());
        let begun = head.now.max(head.at);
        let mut at = begun;
        let live = &mut self.replica.live;
        live.expire_at(at);
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
        // By idempotency key, the position of the first call with it, and whether that call made an
        // entry.
        let mut here: HashMap<&str, (usize, bool)> = HashMap::new();
        // Positions of calls whose key an earlier call of this transaction has, and of that earlier
        // call.
        let mut twins: Vec<(usize, usize)> = Vec::new();
        // Entries are applied when the next call is decided. So the last one is applied while the
        // database writes it.
        let mut taken_in = 0;
        for (place, call) in calls.iter().enumerate() {
            if answers[place].is_some() {
                continue;
            }
            if let Some((first, _)) = call.idempotency.as_deref().and_then(|key| here.get(key)) {
                twins.push((place, *first));
                continue;
            }
            apply_writes(&writes[taken_in..], live, &mut facts)?;
            taken_in = writes.len();
            let decider = Decider { live, facts: &facts, at, clock, room: None };
            let decided = decided_within_limits(&decider, &call.request, store, queue, largest)?;
            let Decision { body, answer, keys, payloads, notes } = match decided {
                Ok(decision) => decision,
                Err(error) => {
                    answers[place] = Some(Err(error));
                    continue;
                }
            };
            // The answer to a claim that found nothing is not stored: reviewers poll empty queues
            // often, and every poll would leave a row.
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
        apply_writes(&writes[taken_in..], live, &mut facts)?;
        name_items(store, queue, &mut open, &writes)?;
        let remembered: Vec<StoredAnswer> = open
            .iter()
            .filter_map(|open| {
                let key = calls[open.at].idempotency.as_deref()?;
                // The key may be known from an earlier claim that found nothing.
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

    /// Commits in the database, then in memory.
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

    /// Believes the clock from now on, however far it jumped.
    pub(crate) fn trust_clock(&mut self) {
        self.clock = LogClock::default();
    }

    /// Pretends that the clock was last read this many seconds earlier.
    #[cfg(test)]
    pub(crate) fn wait(&mut self, seconds: u32) {
        self.clock.wait(seconds);
    }

    #[cfg(test)]
    pub(crate) fn store(&mut self) -> &mut dyn Store {
        self.store.as_mut()
    }
}

/// The decisions on the calls of one transaction.
struct BatchDecision {
    answers: Vec<Result<Answer, Error>>,
    /// The entries to commit.
    events: Vec<LogEvent>,
    /// Whether idempotency keys were written, also without entries.
    keys: bool,
}

/// Applies entries to the live queue, and notes what later decisions need of them.
fn apply_writes(writes: &[EntryWrite], live: &mut LiveQueue, facts: &mut RequestFacts) -> Result<(), Error> {
    for write in writes {
        live.apply(&write.event)?;
        facts.note(&write.event, &write.keys, write.stands_from, live);
        facts.note_payloads(&write.payloads);
    }
    Ok(())
}

/// How many of the first items have payloads of at most `most` bytes together. At least one, if
/// there are any items.
fn count_that_fit(
    store: &mut dyn Store,
    queue: i64,
    facts: &RequestFacts,
    items: &[u64],
    most: u64,
) -> Result<usize, Error> {
    let kept: HashMap<u64, u64> = store.payload_bytes(queue, items)?.into_iter().collect();
    let (mut total, mut fit) = (0, 0);
    for n in items {
        // Payloads written by the same transaction are not in the table yet.
        let new = facts.shown(*n).map(|payload| payload.len() as u64);
        total += new.or_else(|| kept.get(n).copied()).unwrap_or(0);
        if total > most && fit > 0 {
            break;
        }
        fit += 1;
    }
    Ok(fit)
}

/// A random number that identifies a transaction.
fn random_batch() -> i64 {
    RandomState::new().hash_one(Instant::now()).cast_signed()
}

/// Whether deciding a request depends on earlier verdicts or decisions being in the tables.
fn needs_earlier_verdicts(request: &Request) -> bool {
    match request {
        Request::Undo { .. } | Request::Erase { .. } | Request::Configure(_) => true,
        Request::Verdicts(verdicts) => verdicts
            .iter()
            .any(|verdict| verdict.revises.is_some() || verdict.source == VerdictSource::Appeal),
        _ => false,
    }
}

/// Decides a request. A claim whose payloads are too large for an answer is decided again for as
/// many items as fit. With fewer items, fewer random checks may be among them.
fn decided_within_limits(
    decider: &Decider<'_>,
    request: &Request,
    store: &mut dyn Store,
    queue: i64,
    largest: u64,
) -> Result<Result<Decision, Error>, Error> {
    let Decider { live, facts, at, clock, mut room } = *decider;
    loop {
        let decided = Decider { live, facts, at, clock, room }.decide(request);
        let Ok(Decision { answer: Answer::Claims { claims, .. }, .. }) = &decided else { return Ok(decided) };
        if claims.len() as u64 * largest <= MOST_BYTES {
            return Ok(decided);
        }
        let items: Vec<u64> = claims.iter().map(|claim| claim.n).collect();
        let fit = count_that_fit(store, queue, facts, &items, MOST_BYTES)?;
        if fit == items.len() {
            return Ok(decided);
        }
        room = Some(fit as u32);
    }
}

//! The clerk: answers requests against a replica in memory, and makes the answers true in the database.
//!
//! All requests that are waiting become one transaction: lock the queue, catch up with what others wrote, decide one after the
//! other, write, commit. Only then is anything so, and only then are answers given. Where it cannot be known whether a commit
//! happened, the log is asked: every transaction has a name there.

use crate::Error;
use crate::answers::{Open, name_items, remember, repeated};
use crate::decide::{Decision, Desk, Facts};
use crate::error::corrupt;
use crate::event::{Event, Source};
use crate::load::{checkpoint_of, load, refold};
use crate::replica::Replica;
use crate::request::{Answer, Call, Claimed, Request};
use crate::rows::{ItemRow, Remembered, VerdictRow, Write};
use crate::store::{Head, Store, set_up};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// How far the clock may be from where it should be, in microseconds.
const TOLERANCE: i64 = 60_000_000;

/// Answers requests for one queue.
pub(crate) struct Clerk {
    store: Box<dyn Store>,
    queue: i64,
    pub(crate) replica: Replica,
    /// The database's clock when it was last read, and ours then.
    clock: Option<(i64, Instant)>,
    /// Checkpoints that another node, or an earlier run, has with other contents.
    pub(crate) mismatches: u64,
}

impl Clerk {
    /// Opens a queue: loads it, learns up to the head, and ranks.
    pub(crate) fn open(mut store: Box<dyn Store>, queue: i64) -> Result<Self, Error> {
        let head = store.begin_reading(queue)?;
        let replica = load(store.as_mut(), queue, head);
        store.rollback();
        let mut clerk = Clerk { store, queue, replica: replica?, clock: None, mismatches: 0 };
        clerk.replica.rank()?;
        Ok(clerk)
    }

    pub(crate) fn queue(&self) -> i64 {
        self.queue
    }

    /// The connection, between transactions.
    pub(crate) fn store_to_read(&mut self) -> &mut dyn Store {
        self.store.as_mut()
    }

    /// The number of an item, by its id.
    pub(crate) fn number_of(&mut self, id: &str) -> Result<Option<u64>, Error> {
        Ok(self.store.find(self.queue, &[id.to_string()])?.pop().map(|(_, found)| found.n))
    }

    /// The ids of items, and what reviewers are shown; erased ones are left out.
    pub(crate) fn named(&mut self, items: &[u64]) -> Result<Vec<(u64, String, Option<String>)>, Error> {
        self.store.shown(self.queue, items)
    }

    /// An item as it is in its table.
    pub(crate) fn row(&mut self, n: u64) -> Result<Option<ItemRow>, Error> {
        self.store.item(self.queue, n)
    }

    /// The verdicts that stand on an item.
    pub(crate) fn verdicts_on(&mut self, n: u64) -> Result<Vec<VerdictRow>, Error> {
        self.store.verdicts_on(self.queue, n)
    }

    /// Another connection to the same database.
    pub(crate) fn another_store(&self) -> Result<Box<dyn Store>, Error> {
        self.store.another()
    }

    /// Answers these calls, in order, in as few transactions as that allows.
    pub(crate) fn answer(&mut self, calls: &[Call]) -> Vec<Result<Answer, Error>> {
        let mut answers = Vec::with_capacity(calls.len());
        let mut rest = calls;
        while !rest.is_empty() {
            // What asks about earlier verdicts must find them in the tables.
            let many = rest
                .iter()
                .skip(1)
                .position(|call| looks_back(&call.request))
                .map_or(rest.len(), |at| at + 1);
            let (now, later) = rest.split_at(many);
            answers.extend(self.transact(now));
            rest = later;
        }
        answers
    }

    /// One transaction.
    fn transact(&mut self, calls: &[Call]) -> Vec<Result<Answer, Error>> {
        let all = |error: &Error| calls.iter().map(|_| Err(error.clone())).collect();
        let head = match self.begin() {
            Ok(head) => head,
            Err(error) => return all(&error),
        };
        let batch = RandomState::new().hash_one(Instant::now()).cast_signed();
        match self.decide(calls, head, batch) {
            Ok((answers, events)) if events.is_empty() => {
                self.replica.board.rollback();
                self.store.rollback();
                answers
            }
            Ok((answers, events)) => match self.commit(&events, batch) {
                Ok(()) => answers,
                Err(error) => all(&error),
            },
            Err(error) => {
                self.replica.board.rollback();
                self.store.rollback();
                all(&error)
            }
        }
    }

    /// Begins a transaction that is up to date.
    fn begin(&mut self) -> Result<Head, Error> {
        let head = match self.store.begin(self.queue) {
            Ok(head) => head,
            // A connection that was lost while nobody looked is no reason to refuse.
            Err(Error::Database(_)) => {
                self.store.reconnect()?;
                self.store.begin(self.queue)?
            }
            Err(error) => return Err(error),
        };
        let ready = self.check_clock(head).and_then(|()| self.catch_up(head));
        if let Err(error) = ready {
            self.store.rollback();
            return Err(error);
        }
        Ok(head)
    }

    /// Reads what others have written since. True if there was anything.
    pub(crate) fn look(&mut self) -> Result<bool, Error> {
        let before = self.replica.board.seq;
        let head = match self.store.begin_reading(self.queue) {
            Ok(head) => head,
            Err(Error::Database(_)) => {
                self.store.reconnect()?;
                self.store.begin_reading(self.queue)?
            }
            Err(error) => return Err(error),
        };
        let read = self.catch_up(head);
        self.store.rollback();
        read?;
        Ok(self.replica.board.seq > before)
    }

    fn catch_up(&mut self, head: Head) -> Result<(), Error> {
        let board = &mut self.replica.board;
        if head.seq < board.seq {
            return Err(corrupt(format!(
                "the log ends at entry {}, and entry {} has been seen: was an older copy put in its place?",
                head.seq, board.seq
            )));
        }
        if head.seq == board.seq {
            return Ok(());
        }
        let (seatings, _) = set_up(self.store.as_mut(), self.queue, head.seq)?;
        while self.replica.board.seq < head.seq {
            let events = self.store.events(self.queue, self.replica.board.seq, head.seq, &seatings)?;
            if events.is_empty() {
                return Err(corrupt(format!("entry {} is missing from the log", self.replica.board.seq + 1)));
            }
            for event in &events {
                self.replica.board.apply(event)?;
                self.replica.board.commit();
                self.learn(event);
            }
        }
        Ok(())
    }

    fn learn(&mut self, event: &Event) {
        match self.replica.learner.apply(event) {
            Ok(true) => {
                let checkpoint = checkpoint_of(&self.replica.learner);
                // One that cannot be kept now is no loss: there will be another, and the log has everything.
                if let Ok(Some(_)) = self.store.keep(self.queue, &checkpoint) {
                    self.mismatches += 1;
                }
            }
            Ok(false) => {}
            // What cannot be learnt as it stands in the log is folded again, and says so there.
            Err(_) => self.replica.learner.give_up(),
        }
    }

    /// Refuses to act by a clock that cannot be right: leases would run out all at once, or never.
    fn check_clock(&mut self, head: Head) -> Result<(), Error> {
        if head.now + TOLERANCE < head.at {
            return Err(Error::Clock(format!(
                "it is {} behind the last entry of the log; nothing is done until it has caught up or is set right",
                said(head.at - head.now)
            )));
        }
        if let Some((before, then)) = self.clock {
            let passed = i64::try_from(then.elapsed().as_micros()).unwrap_or(i64::MAX);
            let jumped = head.now - before - passed;
            if jumped.abs() > TOLERANCE {
                return Err(Error::Clock(format!(
                    "it has jumped {} by {} while the program ran; set it right, or start again if it is right now",
                    if jumped > 0 { "ahead" } else { "back" },
                    said(jumped.abs())
                )));
            }
        }
        // From the last time that it was right: clocks drift apart over days.
        self.clock = Some((head.now, Instant::now()));
        Ok(())
    }

    #[expect(clippy::type_complexity, reason = "the answers, and what is to be so")]
    fn decide(
        &mut self,
        calls: &[Call],
        head: Head,
        batch: i64,
    ) -> Result<(Vec<Result<Answer, Error>>, Vec<Event>), Error> {
        let (store, queue) = (self.store.as_mut(), self.queue);
        let at = head.now.max(head.at);
        let board = &mut self.replica.board;
        board.expire_until(at);
        let mut answers: Vec<Option<Result<Answer, Error>>> = calls.iter().map(|_| None).collect();
        for (call, answer) in calls.iter().zip(&mut answers) {
            if let Some(key) = &call.idempotency
                && let Some(there) = store.remembered(queue, key)?
            {
                *answer = Some(repeated(&there, call));
            }
        }
        let waiting = calls.iter().zip(&answers).filter(|(_, answer)| answer.is_none()).map(|(call, _)| call);
        let mut facts = Facts::of(waiting, board, store, queue)?;
        let (mut writes, mut open, mut here): (Vec<Write>, Vec<Open>, HashMap<&str, usize>) =
            Default::default();
        // Calls that came again before the first was answered.
        let mut twins: Vec<(usize, usize)> = Vec::new();
        for (place, call) in calls.iter().enumerate() {
            if answers[place].is_some() {
                continue;
            }
            if let Some(first) = call.idempotency.as_deref().and_then(|key| here.get(key)) {
                twins.push((place, *first));
                continue;
            }
            let decided = Desk { board, facts: &facts, at }.decide(&call.request);
            let Decision { body, answer, keys, payloads } = match decided {
                Ok(decision) => decision,
                Err(error) => {
                    answers[place] = Some(Err(error));
                    continue;
                }
            };
            if let Some(body) = body {
                let event = Event { seq: board.seq + 1, at, actor: call.actor.clone(), body };
                board.apply(&event)?;
                let stands_from = at + crate::config::micros(board.config.undo_seconds);
                facts.note(&event, &keys, stands_from, board);
                writes.push(Write { event, keys, payloads, stands_from });
                if let Some(key) = &call.idempotency {
                    here.insert(key, place);
                }
            }
            open.push(Open { at: place, answer });
        }
        if !writes.is_empty() {
            store.write(queue, batch, &writes, &[], at)?;
        }
        name_items(store, queue, &mut open, &writes)?;
        let remembered: Vec<Remembered> = open
            .iter()
            .filter(|open| calls[open.at].idempotency.as_deref().is_some_and(|key| here.contains_key(key)))
            .filter_map(|open| remember(&calls[open.at], &open.answer))
            .collect();
        if !remembered.is_empty() {
            store.write(queue, batch, &[], &remembered, at)?;
        }
        for Open { at, answer } in open {
            answers[at] = Some(Ok(answer));
        }
        for (place, first) in twins {
            let same = calls[first].request == calls[place].request;
            let key = calls[place].idempotency.clone().unwrap_or_default();
            answers[place] = if same { answers[first].clone() } else { Some(Err(Error::KeyReused { key })) };
        }
        let events = writes.into_iter().map(|write| write.event).collect();
        Ok((answers.into_iter().map(|answer| answer.unwrap_or(Err(Error::Closed))).collect(), events))
    }

    /// Makes it so, in the database and then in memory.
    fn commit(&mut self, events: &[Event], batch: i64) -> Result<(), Error> {
        match self.store.commit() {
            Ok(()) => {
                self.replica.board.commit();
                for event in events {
                    self.learn(event);
                }
                Ok(())
            }
            Err(Error::Unknown(why)) => {
                self.replica.board.rollback();
                self.find_out(events[0].seq, batch, &why)
            }
            Err(error) => {
                self.replica.board.rollback();
                Err(error)
            }
        }
    }

    /// Whether a transaction happened whose commit was not answered.
    fn find_out(&mut self, seq: u64, batch: i64, why: &str) -> Result<(), Error> {
        let patience = Instant::now();
        loop {
            let asked = self.store.reconnect().and_then(|()| self.store.batch_of(self.queue, seq));
            match asked {
                Ok(Some(found)) if found == batch => return self.look().map(|_| ()),
                Ok(_) => {
                    return Err(Error::Database(format!(
                        "the connection was lost, and nothing was changed: {why}"
                    )));
                }
                Err(_) if patience.elapsed() < Duration::from_secs(5) => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                Err(_) => return Err(Error::Unknown(why.into())),
            }
        }
    }

    /// Folds the log again, here and now, where something that was learnt has been revised, and ranks.
    pub(crate) fn freshen(&mut self) -> Result<(), Error> {
        if self.replica.learner.is_stale() {
            let head = self.store.begin_reading(self.queue)?;
            let learner = refold(
                self.store.as_mut(),
                self.queue,
                head.seq.min(self.replica.board.seq),
                &mut |_| Ok(()),
            );
            self.store.rollback();
            self.replica.learner = learner?;
        }
        self.replica.rank()?;
        Ok(())
    }

    /// Takes what was learnt aside, and brings it up to date with the board.
    pub(crate) fn take_learner(&mut self, mut learner: crate::learner::Learner) -> Result<(), Error> {
        self.store.begin_reading(self.queue)?;
        let folded = crate::load::fold(
            self.store.as_mut(),
            self.queue,
            &mut learner,
            self.replica.board.seq,
            &mut |_| Ok(()),
        );
        self.store.rollback();
        folded?;
        self.replica.learner = learner;
        Ok(())
    }

    /// The queue's name.
    pub(crate) fn name(&mut self) -> Result<String, Error> {
        let queue = self.store.queues()?.into_iter().find(|queue| queue.id == self.queue);
        queue.map(|queue| queue.name).ok_or(Error::Closed)
    }

    /// What a reviewer holds, as it was given out.
    pub(crate) fn held(&mut self, reviewer: &str) -> Result<Vec<Claimed>, Error> {
        let now = self.store.now()?;
        let board = &self.replica.board;
        let mut claims: Vec<Claimed> = Vec::new();
        for held in board.held_by(reviewer) {
            let Some(lease) = board.work(held.n).and_then(|work| work.lease_of(reviewer)) else { continue };
            if lease.until > now {
                let (token, until) = (lease.claim, lease.until);
                let (probability, explored) = (lease.probability, lease.explored);
                claims.push(Claimed {
                    item: String::new(),
                    n: held.n,
                    token,
                    until,
                    rank: 0,
                    value: 0.0,
                    probability,
                    explored,
                    payload: None,
                });
            }
        }
        claims.sort_by_key(|claim| (claim.token, claim.n));
        let mut open = [Open { at: 0, answer: Answer::Claims { model: 0, claims } }];
        name_items(self.store.as_mut(), self.queue, &mut open, &[])?;
        let [Open { answer: Answer::Claims { claims, .. }, .. }] = open else { return Ok(Vec::new()) };
        Ok(claims)
    }

    /// A reviewer's verdict on an item, the one that stands.
    pub(crate) fn last_verdict(
        &mut self,
        item: &str,
        reviewer: &str,
    ) -> Result<Option<(String, f64)>, Error> {
        let Some((_, found)) = self.store.find(self.queue, &[item.to_string()])?.pop() else {
            return Ok(None);
        };
        let rows = self.store.verdicts_on(self.queue, found.n)?;
        Ok(rows
            .into_iter()
            .find(|row| row.reviewer == reviewer && row.slot >= 0)
            .map(|row| (row.id, row.reward)))
    }

    /// Every verdict that stands, with its item.
    pub(crate) fn export(
        &mut self,
        each: &mut dyn FnMut(crate::Exported) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (seatings, seq) = (&self.replica.board.seatings, self.replica.board.seq);
        self.store.standing(self.queue, &mut |verdict, item, key| {
            let arrived = item.arrived;
            let item = item.into_added(seatings, seq + 1);
            each(crate::desk::exported(verdict, key, arrived, &item.scores, item.tags))
        })
    }

    /// The clock is right, however far it jumped.
    #[cfg(test)]
    pub(crate) fn trust_clock(&mut self) {
        self.clock = None;
    }

    #[cfg(test)]
    pub(crate) fn store(&mut self) -> &mut dyn Store {
        self.store.as_mut()
    }

    /// Deletes what has reached its end.
    pub(crate) fn tidy(&mut self) -> Result<(), Error> {
        let now = self.store.now()?;
        self.store.tidy(now)
    }
}

/// Whether a request speaks of verdicts that were given before.
fn looks_back(request: &Request) -> bool {
    match request {
        Request::Undo { .. } | Request::Erase { .. } | Request::Configure(_) => true,
        Request::Verdicts(verdicts) => {
            verdicts.iter().any(|verdict| verdict.revises.is_some() || verdict.source == Source::Appeal)
        }
        _ => false,
    }
}

/// A time as a person says it.
fn said(micros: i64) -> String {
    let seconds = micros / 1_000_000;
    match seconds {
        0..=119 => format!("{seconds} seconds"),
        120..=7199 => format!("{} minutes", seconds / 60),
        7200..=172_799 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

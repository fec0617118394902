//! The queue writer's connection: retries, catching up with other nodes, and commits whose outcome
//! is unknown.

use super::QueueWriter;
use crate::Error;
use crate::error::corrupt;
use crate::load::refold;
use crate::store::{LogHead, Store, set_up};
use std::time::{Duration, Instant};

/// How often an unreachable database is tried while requests are refused.
const RETRY: Duration = Duration::from_millis(500);

impl QueueWriter {
    /// Begins a writing transaction and applies what other nodes have written.
    pub(super) fn begin(&mut self) -> Result<LogHead, Error> {
        let head = self.reach(self.store.patience(), |store, queue| store.begin(queue))?;
        if let Err(error) = self.catch_up(head) {
            self.store.rollback();
            return Err(error);
        }
        Ok(LogHead { now: self.clock.time(head.now, head.at), ..head })
    }

    /// [`Error::DiskFull`] if the database's disk is full.
    pub(crate) fn check_room(&mut self) -> Result<(), Error> {
        self.store.check_room()
    }

    /// Tries whether a transaction can begin.
    pub(crate) fn probe(&mut self) -> Result<(), Error> {
        let begun = self.begin();
        self.store.rollback();
        begun.map(|_| ())
    }

    /// Asks the database, reconnecting if the connection was lost, until `patience` has passed. A
    /// database that has been away for longer is tried every [`RETRY`]; requests in between are
    /// refused at once.
    fn reach<T>(
        &mut self,
        patience: Duration,
        ask: impl Fn(&mut dyn Store, i64) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let refuse = |since: Instant, why: &str| {
            let so_long = since.elapsed().as_secs();
            Error::Database(format!(
                "it has been unreachable for {so_long} seconds, and nothing was changed: {why}"
            ))
        };
        if let Some((since, tried)) = self.away
            && since.elapsed() > patience
            && tried.elapsed() < RETRY
        {
            return Err(refuse(since, "the next attempt is within half a second"));
        }
        let mut answer = ask(self.store.as_mut(), self.queue);
        let since = self.away.map_or_else(Instant::now, |(since, _)| since);
        while let Err(Error::Database(_)) = answer {
            answer = self.store.reconnect().and_then(|()| ask(self.store.as_mut(), self.queue));
            if let Err(Error::Database(why)) = &answer {
                self.away = Some((since, Instant::now()));
                if since.elapsed() >= patience {
                    return Err(refuse(since, why));
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        self.away = None;
        answer
    }

    /// Applies what other nodes have written; true if there was anything. Does not wait for a
    /// database that is away.
    pub(crate) fn look(&mut self) -> Result<bool, Error> {
        let before = self.replica.live.seq;
        if self.reach(Duration::ZERO, |store, queue| store.head(queue))?.seq == before {
            return Ok(false);
        }
        let head = self.reach(Duration::ZERO, |store, queue| store.begin_reading(queue))?;
        let read = self.catch_up(head);
        self.store.rollback();
        read?;
        self.save_checkpoints();
        Ok(self.replica.live.seq > before)
    }

    fn catch_up(&mut self, head: LogHead) -> Result<(), Error> {
        let live = &mut self.replica.live;
        if head.seq < live.seq {
            return Err(corrupt(format!(
                "the log ends at entry {}, but entry {} was read before: was an older copy restored?",
                head.seq, live.seq
            )));
        }
        if head.seq == live.seq {
            return Ok(());
        }
        let (history, _) = set_up(self.store.as_mut(), self.queue, head.seq)?;
        while self.replica.live.seq < head.seq {
            let events = self.store.events(self.queue, self.replica.live.seq, head.seq, &history)?;
            if events.is_empty() {
                return Err(corrupt(format!("entry {} is missing from the log", self.replica.live.seq + 1)));
            }
            for event in &events {
                self.replica.live.apply(event)?;
                self.replica.live.commit();
                self.learn(event);
            }
        }
        Ok(())
    }

    /// Stores the checkpoints that are due. A failure is no loss, since they can be computed from
    /// the log. While another node has written entries that were not read yet, the checkpoints stay
    /// due: an entry may erase data in them.
    pub(super) fn save_checkpoints(&mut self) {
        if self.due.is_empty() {
            return;
        }
        let kept = self.store.begin(self.queue).and_then(|head| {
            if head.seq != self.replica.live.seq {
                return Ok(false);
            }
            for checkpoint in &self.due {
                self.mismatches += u64::from(self.store.keep(self.queue, checkpoint)?.is_some());
            }
            Ok(true)
        });
        match kept {
            Ok(true) => {
                self.due.clear();
                let _ = self.store.commit();
            }
            Ok(false) => self.store.rollback(),
            Err(_) => {
                self.due.clear();
                self.store.rollback();
            }
        }
    }

    /// Finds out whether a transaction whose commit got no answer took place. Asks with the queue
    /// locked, because the database holds the lock until that transaction has ended.
    pub(super) fn resolve_commit(&mut self, seq: u64, batch: i64, why: &str) -> Result<(), Error> {
        let (began, patience) = (Instant::now(), self.store.patience().max(Duration::from_secs(5)));
        loop {
            let asked = self.store.reconnect().and_then(|()| self.store.begin(self.queue)).and_then(|head| {
                let happened = self.store.batch_of(self.queue, seq)? == Some(batch);
                if happened {
                    self.catch_up(head)?;
                }
                Ok(happened)
            });
            self.store.rollback();
            match asked {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    return Err(Error::Database(format!(
                        "the connection was lost, and nothing was changed: {why}"
                    )));
                }
                Err(_) if began.elapsed() < patience => std::thread::sleep(Duration::from_millis(100)),
                Err(_) => return Err(Error::Unknown(why.into())),
            }
        }
    }

    /// Folds the log again if a revision has made the learner stale, then ranks, on this thread.
    pub(crate) fn refold_if_stale(&mut self) -> Result<(), Error> {
        if self.replica.learner.is_stale() {
            let head = self.store.begin_reading(self.queue)?;
            let learner =
                refold(self.store.as_mut(), self.queue, head.seq.min(self.replica.live.seq), &mut |_| Ok(()));
            self.store.rollback();
            self.replica.learner = learner?;
            self.checkpoint_long_fold(self.replica.learner.weight());
        }
        self.replica.rank()?;
        Ok(())
    }

    /// Takes over a learner folded in the background, after applying the entries that came since.
    pub(crate) fn install_learner(&mut self, mut learner: crate::learner::Learner) -> Result<(), Error> {
        self.store.begin_reading(self.queue)?;
        let folded = crate::load::fold(
            self.store.as_mut(),
            self.queue,
            &mut learner,
            self.replica.live.seq,
            &mut |_| Ok(()),
        );
        self.store.rollback();
        folded?;
        self.replica.learner = learner;
        self.checkpoint_long_fold(self.replica.learner.weight());
        Ok(())
    }
}

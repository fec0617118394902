//! How a clerk reaches its database, and keeps up with it: connections that are lost, nodes that write too, commits that nobody answered.

use super::QueueWriter;
use crate::Error;
use crate::error::corrupt;
use crate::load::refold;
use crate::store::{LogHead, Store, set_up};
use std::time::{Duration, Instant};

/// How often a database that is away is tried while who asks is refused.
const RETRY: Duration = Duration::from_millis(500);

impl QueueWriter {
    /// Begins a transaction that is up to date.
    pub(super) fn begin(&mut self) -> Result<LogHead, Error> {
        let head = self.reach(self.store.patience(), |store, queue| store.begin(queue))?;
        if let Err(error) = self.catch_up(head) {
            self.store.rollback();
            return Err(error);
        }
        Ok(LogHead { now: self.clock.time(head.now, head.at), ..head })
    }

    /// [`Error::DiskFull`] where there is no room to write.
    pub(crate) fn check_room(&mut self) -> Result<(), Error> {
        self.store.check_room()
    }

    /// Whether a transaction could begin now.
    pub(crate) fn probe(&mut self) -> Result<(), Error> {
        let begun = self.begin();
        self.store.rollback();
        begun.map(|_| ())
    }

    /// Asks the database, over a new connection where the one there is has been lost while nobody looked. One that has been away
    /// for longer than there is patience is tried now and then, and in between who asks is refused at once.
    fn reach<T>(
        &mut self,
        patience: Duration,
        ask: impl Fn(&mut dyn Store, i64) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let refuse = |since: Instant, why: &str| {
            let so_long = since.elapsed().as_secs();
            Error::Database(format!("it has been away for {so_long} seconds, and nothing was changed: {why}"))
        };
        if let Some((since, tried)) = self.away
            && since.elapsed() > patience
            && tried.elapsed() < RETRY
        {
            return Err(refuse(since, "it is tried twice a second"));
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

    /// Reads what others have written since. True if there was anything. Waits for nobody: there will be another time.
    pub(crate) fn look(&mut self) -> Result<bool, Error> {
        let before = self.replica.live.seq;
        if self.reach(Duration::ZERO, |store, queue| store.head(queue))?.seq == before {
            return Ok(false);
        }
        let head = self.reach(Duration::ZERO, |store, queue| store.begin_reading(queue))?;
        let read = self.catch_up(head);
        self.store.rollback();
        read?;
        self.keep_due();
        Ok(self.replica.live.seq > before)
    }

    fn catch_up(&mut self, head: LogHead) -> Result<(), Error> {
        let live = &mut self.replica.live;
        if head.seq < live.seq {
            return Err(corrupt(format!(
                "the log ends at entry {}, and entry {} has been seen: was an older copy put in its place?",
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

    /// Keeps the checkpoints that have come due. One that cannot be kept now is no loss: there will be another, and the log has
    /// everything. While another node has written something that we have not seen they wait: it may have erased what is in them.
    pub(super) fn keep_due(&mut self) {
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

    /// Whether a transaction happened whose commit was not answered. Asked with the queue locked: as long as the database has not
    /// done with that transaction, the lock is its, and to look without it would be to look too early.
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

    /// Folds the log again, here and now, where something that was learnt has been revised, and ranks.
    pub(crate) fn freshen(&mut self) -> Result<(), Error> {
        if self.replica.learner.is_stale() {
            let head = self.store.begin_reading(self.queue)?;
            let learner = refold(
                self.store.as_mut(),
                self.queue,
                head.seq.min(self.replica.live.seq),
                &mut |_| Ok(()),
            );
            self.store.rollback();
            self.replica.learner = learner?;
            self.keep_folded(self.replica.learner.weight());
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
            self.replica.live.seq,
            &mut |_| Ok(()),
        );
        self.store.rollback();
        folded?;
        self.replica.learner = learner;
        self.keep_folded(self.replica.learner.weight());
        Ok(())
    }
}

//! A clerk at work: answers what waits, and has orders made and logs folded aside. While there is nothing to do it sleeps.

use crate::Error;
use crate::background::{TaskOutcome, BackgroundPool, TaskReport, BackgroundTask};
use crate::queue_writer::QueueWriter;
use crate::service::{WriterHealth, WriterMessage, QueueStatus, held};
use crate::store::Purpose;
use jurybox::Jury;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Requests that become one transaction, at the most.
const BATCH: usize = 64;
/// How long those are waited for who were answered together and are about to ask again.
const GATHER: Duration = Duration::from_millis(1);
/// How often what is in the way is looked at again while nobody asks.
const PROBE: Duration = Duration::from_secs(1);
/// How long lessons wait for an entry to come with: then the queue is quiet.
const QUIET: Duration = Duration::from_secs(5);
/// How long nobody asks before memory is given back that the next answer can do without.
const IDLE: Duration = Duration::from_secs(1);
/// How long is rested after something could not be given to anybody.
const NOBODY: Duration = Duration::from_secs(1);

/// A clerk with helpers beside.
pub(crate) struct Worker {
    writer: QueueWriter,
    health: Arc<Mutex<WriterHealth>>,
    /// The last entry that the clerk has seen, for who looks whether there are others.
    seen: Arc<AtomicU64>,
    helpers: Arc<BackgroundPool>,
    outbox: Sender<TaskReport>,
    done: Receiver<TaskReport>,
    /// By which the helpers wake the clerk.
    bell: SyncSender<WriterMessage>,
    busy: bool,
    rests_until: Instant,
    /// What had been learnt up to an entry when more was revised after it: a model all the same, as of that entry.
    spare: Option<(u64, Box<Jury>)>,
    /// What the model in use had learnt; none where it is to be made anew whatever it had.
    mark: Option<(jurybox::Seen, u64)>,
    rankings: u64,
    /// When what is in the way was last looked at.
    probed: Instant,
    /// When something was last asked, where memory may be kept for that since.
    worked: Option<Instant>,
    /// Rung when something was written.
    wrote: SyncSender<()>,
}

/// Why a thread of an office has ended.
#[derive(PartialEq)]
enum WorkerExit {
    /// Nobody asks, and nothing is left to be done.
    Idle,
    Stopped,
}

impl Worker {
    pub(crate) fn new(
        writer: QueueWriter,
        health: Arc<Mutex<WriterHealth>>,
        seen: Arc<AtomicU64>,
        helpers: Arc<BackgroundPool>,
        bell: SyncSender<WriterMessage>,
        wrote: SyncSender<()>,
    ) -> Self {
        let (outbox, done) = channel();
        let mark = Some(writer.replica.learner.mark());
        Worker {
            writer,
            health,
            seen,
            helpers,
            outbox,
            done,
            bell,
            busy: false,
            rests_until: Instant::now(),
            spare: None,
            mark,
            rankings: 1,
            probed: Instant::now(),
            worked: Some(Instant::now()),
            wrote,
        }
    }

    pub(crate) fn run(mut self, inbox: &mut Receiver<WriterMessage>) {
        // A thread keeps memory for what it did last: who works ends when nobody asks, and this one only waits.
        let mut first = None;
        while self.work(inbox, first) == WorkerExit::Idle {
            first = inbox.recv().ok();
            if first.is_none() {
                break;
            }
        }
        // The helpers may be folding the log with a store of its own: who waits for the clerk waits for that too, so that a folder
        // is free when its service is gone.
        if self.busy {
            let _ = self.done.recv();
        }
    }

    /// Answers on a thread of its own.
    fn work(&mut self, inbox: &mut Receiver<WriterMessage>, first: Option<WriterMessage>) -> WorkerExit {
        std::thread::scope(|scope| {
            let worker = scope.spawn(move || self.serve(inbox, first));
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Answers until it is told to stop, or nobody asks and nothing is left to be done.
    fn serve(&mut self, inbox: &mut Receiver<WriterMessage>, mut first: Option<WriterMessage>) -> WorkerExit {
        // How many were answered together the last time.
        let mut together = 0;
        loop {
            let seen = self.seen.swap(self.writer.replica.live.seq, Ordering::Relaxed);
            if seen < self.writer.replica.live.seq && !self.writer.is_shared() {
                // Rung already and not yet heard, it need not be rung again.
                let _ = self.wrote.try_send(());
            }
            let mut message = match (first.take(), self.wakes_at()) {
                (Some(first), _) => Some(first),
                (None, Some(at)) => inbox.recv_timeout(at.saturating_duration_since(Instant::now())).ok(),
                (None, None) => return WorkerExit::Idle,
            };
            let mut moved = false;
            let (mut calls, mut replies) = (Vec::new(), Vec::new());
            let came = Instant::now();
            while let Some(next) = message {
                match next {
                    WriterMessage::Call(call, reply) => {
                        calls.push(*call);
                        replies.push(reply);
                    }
                    WriterMessage::Look(reply) => drop(reply.send(self.status())),
                    WriterMessage::Read(job) => job(&mut self.writer),
                    WriterMessage::Moved => moved = true,
                    WriterMessage::Wake => {}
                    WriterMessage::Stop => return WorkerExit::Stopped,
                }
                message = if calls.len() < BATCH { inbox.try_recv().ok() } else { None };
                // A transaction costs the same for one as for many: who were answered together ask again at almost the same time.
                if message.is_none()
                    && (1..together).contains(&calls.len())
                    && let Some(left) = GATHER.checked_sub(came.elapsed())
                {
                    message = inbox.recv_timeout(left).ok();
                }
            }
            if self.worked.is_some_and(|worked| worked.elapsed() >= IDLE) && calls.is_empty() {
                self.worked = None;
                self.writer.store_to_read().rest();
            }
            if !calls.is_empty() {
                self.worked = Some(came);
                together = calls.len();
                let answers = self.writer.answer_at_once(&calls);
                let blocking = answers
                    .iter()
                    .find_map(|answer| answer.as_ref().err().filter(|error| error.blocks_everything()));
                // That a small thing was written is no proof of room for others: that is looked at in its turn.
                if blocking.is_some() || !matches!(held(&self.health).trouble, Some(Error::DiskFull(_))) {
                    self.note(blocking);
                } else if self.probed.elapsed() >= PROBE {
                    self.probe();
                }
                for (reply, answer) in replies.into_iter().zip(answers) {
                    reply(answer);
                }
                self.writer.finish_batch();
            } else if moved {
                // What cannot be read now is read before the next answer.
                drop(self.writer.look());
            } else if self.probed.elapsed() >= PROBE {
                self.writer.scrub();
                // Where nobody asks because it was said that something is in the way, nobody would find that it is not any more.
                if !self.probe() && self.writer.lesson_is_due(QUIET) {
                    // What cannot be written now is tried again in a second, or comes with the next entry.
                    drop(self.writer.settle());
                }
            }
            self.run_background();
        }
    }

    /// Looks again at what is in the way. False where nothing was.
    fn probe(&mut self) -> bool {
        self.probed = Instant::now();
        let Some(trouble) = held(&self.health).trouble.clone() else { return false };
        let was_full = matches!(trouble, Error::DiskFull(_));
        let room = if was_full { self.writer.check_room() } else { Ok(()) };
        let found = room.and_then(|()| self.writer.probe());
        self.note(found.as_ref().err());
        true
    }

    /// Says what is in the way of all that is asked, or that nothing is.
    fn note(&self, error: Option<&Error>) {
        held(&self.health).trouble = error.cloned();
    }

    /// When there is something to be done though nobody asks; never where there is not.
    fn wakes_at(&self) -> Option<Instant> {
        let learner = &self.writer.replica.learner;
        let blocking = held(&self.health).trouble.is_some() || self.writer.is_unscrubbed();
        let probe = (blocking || learner.lesson_due().is_some()).then(|| self.probed + PROBE);
        let free = !self.busy;
        let changed = self.spare.is_some() || learner.is_stale() || self.mark != Some(learner.mark());
        let rank = (free && changed).then_some(self.rests_until);
        let rest = self.worked.map(|worked| worked + IDLE);
        [probe, rank, rest].into_iter().flatten().min()
    }

    /// Takes what was done aside, and has more done where there is need and the rest is over.
    fn run_background(&mut self) {
        let done = self.done.try_recv().ok().map(|outcome| {
            // Without a helper there would never be another order, and nobody would know.
            outcome.unwrap_or_else(|words| std::panic::resume_unwind(Box::new(words)))
        });
        if let Some((done, took)) = done {
            self.busy = false;
            self.rests_until = Instant::now() + took * 3;
            match done {
                TaskOutcome::Ranked(Ok(ranking), generation) => {
                    if self.writer.replica.live.install_ranking(ranking, generation) {
                        self.rankings += 1;
                    } else {
                        // The queue was set up anew meanwhile: what this one had learnt is still to be ranked by.
                        self.mark = None;
                    }
                }
                // What cannot be done now is tried again after the rest.
                TaskOutcome::Refolded(Ok(learner)) => {
                    let model = learner.ranking().map(|jury| (learner.seq(), Box::new(jury)));
                    let taken = self.writer.take_learner(*learner);
                    // Where revisions come faster than logs are folded, there would never be a new order without this.
                    if taken.is_err() || self.writer.replica.learner.is_stale() {
                        self.spare = model.ok();
                    }
                    // It may have seen as much as the one before, and learnt something else.
                    self.mark = None;
                }
                TaskOutcome::Ranked(Err(_), _) | TaskOutcome::Refolded(Err(_)) => {}
            }
        }
        if self.busy || Instant::now() < self.rests_until {
            return;
        }
        let replica = &mut self.writer.replica;
        let spare = self.spare.take();
        let task = if spare.is_none() && replica.learner.is_stale() {
            let (queue, until) = (self.writer.queue(), self.writer.replica.live.seq);
            let Ok(store) = self.writer.another_store(Purpose::LongRead) else {
                self.rests_until = Instant::now() + NOBODY;
                return;
            };
            BackgroundTask::Refold { store, queue, until }
        } else {
            let mark = replica.learner.mark();
            let (model, jury) = match spare {
                Some(spare) => {
                    self.mark = None;
                    spare
                }
                None if self.mark == Some(mark) => return,
                None => {
                    let Ok(jury) = replica.learner.ranking() else {
                        self.rests_until = Instant::now() + NOBODY;
                        return;
                    };
                    self.mark = Some(mark);
                    (replica.learner.seq(), Box::new(jury))
                }
            };
            let (evaluators, ageing) = (replica.live.history.current().clone(), replica.live.ageing());
            let value_rule = replica.live.value_rule();
            let (blocks, generation) = replica.live.begin_ranking();
            BackgroundTask::Rank { model, jury, blocks, evaluators, ageing, value_rule, generation }
        };
        self.give(task);
    }

    fn give(&mut self, task: BackgroundTask) {
        self.busy = self.helpers.give(task, &self.outbox, &self.bell);
        if !self.busy {
            self.rests_until = Instant::now() + NOBODY;
        }
    }

    fn status(&mut self) -> QueueStatus {
        let counts = self.writer.counts();
        let live = &self.writer.replica.live;
        QueueStatus {
            config: (*live.config).clone(),
            counts,
            head: live.seq,
            model: live.ranking.as_ref().map_or(0, |ranking| ranking.model),
            rankings: self.rankings,
            mismatches: self.writer.mismatches,
        }
    }
}

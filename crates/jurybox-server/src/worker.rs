//! The worker: the loop of a queue writer's thread. It answers waiting requests in batches, and
//! gives rankings and folds of the log to the background threads. It sleeps while there is nothing
//! to do.

use crate::Error;
use crate::background::{BackgroundPool, BackgroundTask, TaskOutcome, TaskReport};
use crate::queue_writer::QueueWriter;
use crate::service::{QueueStatus, WriterHealth, WriterMessage, lock_mutex};
use crate::store::Purpose;
use jurybox::Jury;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The most requests of one batch.
const BATCH: usize = 64;
/// How long to wait for callers that were answered together and are about to ask again.
const GATHER: Duration = Duration::from_millis(1);
/// How often a failing database is tried, and how often to see whether verdicts can be learnt.
const PROBE: Duration = Duration::from_secs(1);
/// How long verdicts past their undo window wait for an entry before a `settle` entry is written.
const QUIET: Duration = Duration::from_secs(5);
/// After this idle time, memory that only speeds up the next request is freed.
const IDLE: Duration = Duration::from_secs(1);
/// How long to wait before trying again to give out a background task.
const TASK_RETRY: Duration = Duration::from_secs(1);

/// A queue writer with its inbox, its background tasks and its timers.
pub(crate) struct Worker {
    writer: QueueWriter,
    health: Arc<Mutex<WriterHealth>>,
    /// The last log entry that the writer has seen, for the monitor.
    seen: Arc<AtomicU64>,
    background: Arc<BackgroundPool>,
    outbox: Sender<TaskReport>,
    done: Receiver<TaskReport>,
    /// Wakes this thread when a background task has finished.
    bell: SyncSender<WriterMessage>,
    busy: bool,
    rests_until: Instant,
    /// The jury of a new fold whose learner could not be installed or was stale at once. It can
    /// still rank, as the model of the entry up to which the log was folded.
    spare: Option<(u64, Box<Jury>)>,
    /// The learner's mark when the present model was made; none if a new ranking is due whatever
    /// the mark is.
    mark: Option<(jurybox::Seen, u64)>,
    rankings: u64,
    /// When the database was last tried.
    probed: Instant,
    /// When the last request came; none once memory has been freed since.
    worked: Option<Instant>,
    /// Tells the monitor that something was written.
    wrote: SyncSender<()>,
}

/// Why the answering thread ended.
#[derive(PartialEq)]
enum WorkerExit {
    /// No message came, and nothing is left to do.
    Idle,
    Stopped,
}

impl Worker {
    pub(crate) fn new(
        writer: QueueWriter,
        health: Arc<Mutex<WriterHealth>>,
        seen: Arc<AtomicU64>,
        background: Arc<BackgroundPool>,
        bell: SyncSender<WriterMessage>,
        wrote: SyncSender<()>,
    ) -> Self {
        let (outbox, done) = channel();
        let mark = Some(writer.replica.learner.mark());
        Worker {
            writer,
            health,
            seen,
            background,
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
        // An allocator keeps memory per thread. So the answering thread ends when idle, and this
        // thread, which hardly allocates, waits for the next message.
        let mut first = None;
        while self.work(inbox, first) == WorkerExit::Idle {
            first = inbox.recv().ok();
            if first.is_none() {
                break;
            }
        }
        // A background thread may be folding the log with a store of its own. Wait for it, so that
        // the folder is free when the service is gone.
        if self.busy {
            let _ = self.done.recv();
        }
    }

    /// Answers messages on a new thread until there is nothing to do.
    fn work(&mut self, inbox: &mut Receiver<WriterMessage>, first: Option<WriterMessage>) -> WorkerExit {
        std::thread::scope(|scope| {
            let worker = scope.spawn(move || self.serve(inbox, first));
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Answers messages until told to stop, or until nobody asks and nothing is left to do.
    fn serve(&mut self, inbox: &mut Receiver<WriterMessage>, mut first: Option<WriterMessage>) -> WorkerExit {
        // How many requests the last batch had.
        let mut together = 0;
        loop {
            let seen = self.seen.swap(self.writer.replica.live.seq, Ordering::Relaxed);
            if seen < self.writer.replica.live.seq && !self.writer.is_shared() {
                // If the bell is full, it was rung already.
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
                // A transaction costs about the same for one request as for many, so wait a moment
                // for callers that were answered together.
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
                let answers = self.writer.answer_before_learning(&calls);
                let blocking = answers
                    .iter()
                    .find_map(|answer| answer.as_ref().err().filter(|error| error.blocks_everything()));
                // A small successful write does not prove that the disk has room again, so that is
                // tried separately.
                if blocking.is_some() || !matches!(lock_mutex(&self.health).failure, Some(Error::DiskFull(_)))
                {
                    self.note(blocking);
                } else if self.probed.elapsed() >= PROBE {
                    self.probe();
                }
                for (reply, answer) in replies.into_iter().zip(answers) {
                    reply(answer);
                }
                self.writer.finish_batch();
            } else if moved {
                // If this fails, the entries are read before the next answer.
                drop(self.writer.look());
            } else if self.probed.elapsed() >= PROBE {
                self.writer.scrub();
                // Callers that were refused may not come back, so the database is tried without
                // them.
                if !self.probe() && self.writer.lesson_is_due(QUIET) {
                    // If the `settle` entry fails, it is tried again in a second, unless another
                    // entry comes first.
                    drop(self.writer.settle());
                }
            }
            self.run_background();
        }
    }

    /// Tries again whether requests still fail. False if they did not fail before.
    fn probe(&mut self) -> bool {
        self.probed = Instant::now();
        let Some(failure) = lock_mutex(&self.health).failure.clone() else { return false };
        let was_full = matches!(failure, Error::DiskFull(_));
        let room = if was_full { self.writer.check_room() } else { Ok(()) };
        let found = room.and_then(|()| self.writer.probe());
        self.note(found.as_ref().err());
        true
    }

    /// Sets or clears the error on which all requests fail.
    fn note(&self, error: Option<&Error>) {
        lock_mutex(&self.health).failure = error.cloned();
    }

    /// When to wake up without a message; none if only a message can bring work.
    fn wakes_at(&self) -> Option<Instant> {
        let learner = &self.writer.replica.learner;
        let blocking = lock_mutex(&self.health).failure.is_some() || self.writer.needs_scrub();
        let probe = (blocking || learner.lesson_due().is_some()).then(|| self.probed + PROBE);
        let free = !self.busy;
        let changed = self.spare.is_some() || learner.is_stale() || self.mark != Some(learner.mark());
        let rank = (free && changed).then_some(self.rests_until);
        let rest = self.worked.map(|worked| worked + IDLE);
        [probe, rank, rest].into_iter().flatten().min()
    }

    /// Takes the result of a background task, and gives out the next one if it is due.
    fn run_background(&mut self) {
        let done = self.done.try_recv().ok().map(|outcome| {
            // A background thread that panicked would never rank again, so this thread panics too.
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
                        // The configuration changed meanwhile, so the model must be ranked again.
                        self.mark = None;
                    }
                }
                TaskOutcome::Refolded(Ok(learner)) => {
                    let model = learner.ranking().map(|jury| (learner.seq(), Box::new(jury)));
                    let taken = self.writer.install_learner(*learner);
                    // If revisions come faster than folds, a ranking by the stale jury is better
                    // than no new ranking.
                    if taken.is_err() || self.writer.replica.learner.is_stale() {
                        self.spare = model.ok();
                    }
                    // The new learner may have the same mark although it has learnt something else.
                    self.mark = None;
                }
                // A refold that failed is tried again after a pause, because the learner is still
                // stale.
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
                self.rests_until = Instant::now() + TASK_RETRY;
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
                        self.rests_until = Instant::now() + TASK_RETRY;
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
        self.busy = self.background.submit(task, &self.outbox, &self.bell);
        if !self.busy {
            self.rests_until = Instant::now() + TASK_RETRY;
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

//! A clerk at work: answers what waits, and has orders made and logs folded aside. While there is nothing to do it sleeps.

use crate::Error;
use crate::aside::{Done, Helpers, Outcome, Task};
use crate::clerk::Clerk;
use crate::service::{Health, Message, Standing, held};
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
pub(crate) struct Office {
    clerk: Clerk,
    health: Arc<Mutex<Health>>,
    /// The last entry that the clerk has seen, for who looks whether there are others.
    seen: Arc<AtomicU64>,
    helpers: Arc<Helpers>,
    outbox: Sender<Outcome>,
    done: Receiver<Outcome>,
    /// By which the helpers wake the clerk.
    bell: SyncSender<Message>,
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
enum Ended {
    /// Nobody asks, and nothing is left to be done.
    Idle,
    Stopped,
}

impl Office {
    pub(crate) fn new(
        clerk: Clerk,
        health: Arc<Mutex<Health>>,
        seen: Arc<AtomicU64>,
        helpers: Arc<Helpers>,
        bell: SyncSender<Message>,
        wrote: SyncSender<()>,
    ) -> Self {
        let (outbox, done) = channel();
        let mark = Some(clerk.replica.learner.mark());
        Office {
            clerk,
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

    pub(crate) fn run(mut self, inbox: &mut Receiver<Message>) {
        // A thread keeps memory for what it did last: who works ends when nobody asks, and this one only waits.
        let mut first = None;
        while self.work(inbox, first) == Ended::Idle {
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
    fn work(&mut self, inbox: &mut Receiver<Message>, first: Option<Message>) -> Ended {
        std::thread::scope(|scope| {
            let worker = scope.spawn(move || self.serve(inbox, first));
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Answers until it is told to stop, or nobody asks and nothing is left to be done.
    fn serve(&mut self, inbox: &mut Receiver<Message>, mut first: Option<Message>) -> Ended {
        // How many were answered together the last time.
        let mut together = 0;
        loop {
            let seen = self.seen.swap(self.clerk.replica.board.seq, Ordering::Relaxed);
            if seen < self.clerk.replica.board.seq && !self.clerk.is_shared() {
                // Rung already and not yet heard, it need not be rung again.
                let _ = self.wrote.try_send(());
            }
            let mut message = match (first.take(), self.wakes_at()) {
                (Some(first), _) => Some(first),
                (None, Some(at)) => inbox.recv_timeout(at.saturating_duration_since(Instant::now())).ok(),
                (None, None) => return Ended::Idle,
            };
            let mut moved = false;
            let (mut calls, mut replies) = (Vec::new(), Vec::new());
            let came = Instant::now();
            while let Some(next) = message {
                match next {
                    Message::Call(call, reply) => {
                        calls.push(*call);
                        replies.push(reply);
                    }
                    Message::Look(reply) => drop(reply.send(self.standing())),
                    Message::Read(job) => job(&mut self.clerk),
                    Message::Moved => moved = true,
                    Message::Wake => {}
                    Message::Stop => return Ended::Stopped,
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
                self.clerk.store_to_read().rest();
            }
            if !calls.is_empty() {
                self.worked = Some(came);
                together = calls.len();
                let answers = self.clerk.answer_at_once(&calls);
                let in_the_way = answers
                    .iter()
                    .find_map(|answer| answer.as_ref().err().filter(|error| error.is_in_the_way()));
                // That a small thing was written is no proof of room for others: that is looked at in its turn.
                if in_the_way.is_some() || !matches!(held(&self.health).trouble, Some(Error::DiskFull(_))) {
                    self.note(in_the_way);
                } else if self.probed.elapsed() >= PROBE {
                    self.probe();
                }
                for (reply, answer) in replies.into_iter().zip(answers) {
                    reply(answer);
                }
                self.clerk.digest();
            } else if moved {
                // What cannot be read now is read before the next answer.
                drop(self.clerk.look());
            } else if self.probed.elapsed() >= PROBE {
                self.clerk.scrub();
                // Where nobody asks because it was said that something is in the way, nobody would find that it is not any more.
                if !self.probe() && self.clerk.lesson_is_due(QUIET) {
                    // What cannot be written now is tried again in a second, or comes with the next entry.
                    drop(self.clerk.settle());
                }
            }
            self.look_aside();
        }
    }

    /// Looks again at what is in the way. False where nothing was.
    fn probe(&mut self) -> bool {
        self.probed = Instant::now();
        let Some(trouble) = held(&self.health).trouble.clone() else { return false };
        let was_full = matches!(trouble, Error::DiskFull(_));
        let room = if was_full { self.clerk.check_room() } else { Ok(()) };
        let found = room.and_then(|()| self.clerk.probe());
        self.note(found.as_ref().err());
        true
    }

    /// Says what is in the way of all that is asked, or that nothing is.
    fn note(&self, error: Option<&Error>) {
        held(&self.health).trouble = error.cloned();
    }

    /// When there is something to be done though nobody asks; never where there is not.
    fn wakes_at(&self) -> Option<Instant> {
        let learner = &self.clerk.replica.learner;
        let in_the_way = held(&self.health).trouble.is_some() || self.clerk.is_unscrubbed();
        let probe = (in_the_way || learner.lesson_due().is_some()).then(|| self.probed + PROBE);
        let free = !self.busy;
        let changed = self.spare.is_some() || learner.is_stale() || self.mark != Some(learner.mark());
        let rank = (free && changed).then_some(self.rests_until);
        let rest = self.worked.map(|worked| worked + IDLE);
        [probe, rank, rest].into_iter().flatten().min()
    }

    /// Takes what was done aside, and has more done where there is need and the rest is over.
    fn look_aside(&mut self) {
        let done = self.done.try_recv().ok().map(|outcome| {
            // Without a helper there would never be another order, and nobody would know.
            outcome.unwrap_or_else(|words| std::panic::resume_unwind(Box::new(words)))
        });
        if let Some((done, took)) = done {
            self.busy = false;
            self.rests_until = Instant::now() + took * 3;
            match done {
                Done::Ranked(Ok(view), generation) => {
                    if self.clerk.replica.board.take_view(view, generation) {
                        self.rankings += 1;
                    } else {
                        // The queue was set up anew meanwhile: what this one had learnt is still to be ranked by.
                        self.mark = None;
                    }
                }
                // What cannot be done now is tried again after the rest.
                Done::Refolded(Ok(learner)) => {
                    let model = learner.ranking().map(|jury| (learner.seq(), Box::new(jury)));
                    let taken = self.clerk.take_learner(*learner);
                    // Where revisions come faster than logs are folded, there would never be a new order without this.
                    if taken.is_err() || self.clerk.replica.learner.is_stale() {
                        self.spare = model.ok();
                    }
                    // It may have seen as much as the one before, and learnt something else.
                    self.mark = None;
                }
                Done::Ranked(Err(_), _) | Done::Refolded(Err(_)) => {}
            }
        }
        if self.busy || Instant::now() < self.rests_until {
            return;
        }
        let replica = &mut self.clerk.replica;
        let spare = self.spare.take();
        let task = if spare.is_none() && replica.learner.is_stale() {
            let (queue, until) = (self.clerk.queue(), self.clerk.replica.board.seq);
            let Ok(store) = self.clerk.another_store(Purpose::LongRead) else {
                self.rests_until = Instant::now() + NOBODY;
                return;
            };
            Task::Refold { store, queue, until }
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
            let (evaluators, ageing) = (replica.board.seatings.current().clone(), replica.board.ageing());
            let valuing = replica.board.valuing();
            let (blocks, generation) = replica.board.begin_ranking();
            Task::Rank { model, jury, blocks, evaluators, ageing, valuing, generation }
        };
        self.give(task);
    }

    fn give(&mut self, task: Task) {
        self.busy = self.helpers.give(task, &self.outbox, &self.bell);
        if !self.busy {
            self.rests_until = Instant::now() + NOBODY;
        }
    }

    fn standing(&mut self) -> Standing {
        let counts = self.clerk.counts();
        let board = &self.clerk.replica.board;
        Standing {
            config: (*board.config).clone(),
            counts,
            head: board.seq,
            model: board.view.as_ref().map_or(0, |view| view.model),
            rankings: self.rankings,
            mismatches: self.clerk.mismatches,
        }
    }
}

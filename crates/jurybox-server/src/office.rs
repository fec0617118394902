//! A clerk at work: answers what waits, and has orders made, logs folded and old rows deleted aside.

use crate::Error;
use crate::board::blocks::Blocks;
use crate::board::valuing::Valuing;
use crate::board::view::{Ageing, View};
use crate::clerk::Clerk;
use crate::learner::Learner;
use crate::load::refold;
use crate::service::{Health, Message, Standing, held};
use crate::store::Store;
use jurybox::{Evaluators, Jury};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Requests that become one transaction, at the most.
const BATCH: usize = 64;
/// How long those are waited for who were answered together and are about to ask again.
const GATHER: Duration = Duration::from_millis(1);
/// How often a clerk looks what other nodes have written.
const LOOK: Duration = Duration::from_millis(250);
/// How often a clerk looks whether there is something to rank anew.
const POLL: Duration = Duration::from_millis(50);
/// How often what is in the way is looked at again while nobody asks.
const PROBE: Duration = Duration::from_secs(1);
/// How often what was written is flushed.
const FLUSH: Duration = Duration::from_millis(500);
/// How long lessons wait for an entry to come with: then the queue is quiet.
const QUIET: Duration = Duration::from_secs(5);
/// How often payloads and answers are deleted whose time has come.
const TIDY: Duration = Duration::from_hours(1);

/// What is done aside.
enum Task {
    Rank {
        model: u64,
        jury: Box<Jury>,
        blocks: Blocks,
        evaluators: Evaluators,
        ageing: Ageing,
        valuing: Valuing,
        generation: u64,
    },
    Refold {
        store: Box<dyn Store>,
        queue: i64,
        until: u64,
    },
    Tidy(Box<dyn Store>),
    Flush(Box<dyn Store>),
}

enum Done {
    Ranked(Result<View, Error>, u64),
    Refolded(Result<Box<Learner>, Error>),
    Tidied,
    Flushed(Box<dyn Store>),
}

/// A clerk with a helper beside.
pub(crate) struct Office {
    clerk: Clerk,
    health: Arc<Mutex<Health>>,
    tasks: Sender<Task>,
    done: Receiver<(Done, Duration)>,
    helper: Option<JoinHandle<()>>,
    busy: bool,
    rests_until: Instant,
    /// What had been learnt up to an entry when more was revised after it: a model all the same, as of that entry.
    spare: Option<(u64, Box<Jury>)>,
    /// When the log was last looked at.
    looked: Instant,
    /// What the model in use had learnt; none where it is to be made anew whatever it had.
    mark: Option<(jurybox::Seen, u64)>,
    rankings: u64,
    /// When what is in the way was last looked at.
    probed: Instant,
    /// When old rows were last deleted.
    tidied: Option<Instant>,
    /// A connection by which what was written is flushed, made when there is something, and away while that is done.
    flusher: Option<Box<dyn Store>>,
    /// When that was last done, and up to which entry.
    flushed: (Instant, u64),
}

impl Office {
    pub(crate) fn new(clerk: Clerk, health: Arc<Mutex<Health>>) -> Self {
        let (tasks, inbox) = channel::<Task>();
        let (outbox, done) = channel();
        let helper = std::thread::spawn(move || {
            stand_back();
            for task in inbox {
                let began = Instant::now();
                let finished = task.run();
                if outbox.send((finished, began.elapsed())).is_err() {
                    return;
                }
            }
        });
        let mark = Some(clerk.replica.learner.mark());
        Office {
            clerk,
            health,
            tasks,
            done,
            helper: Some(helper),
            busy: false,
            rests_until: Instant::now(),
            spare: None,
            looked: Instant::now(),
            mark,
            rankings: 1,
            probed: Instant::now(),
            tidied: None,
            flusher: None,
            flushed: (Instant::now(), 0),
        }
    }

    pub(crate) fn run(mut self, inbox: &Receiver<Message>) {
        self.serve(inbox);
        // The helper may be folding the log with a store of its own: who waits for the clerk waits for that too, so that a folder
        // is free when its service is gone.
        let Office { tasks, done, helper, .. } = self;
        drop((tasks, done));
        if let Some(helper) = helper {
            let _ = helper.join();
        }
    }

    /// Answers until it is told to stop, or nobody is left who could ask.
    fn serve(&mut self, inbox: &Receiver<Message>) {
        // How many were answered together the last time.
        let mut together = 0;
        loop {
            let mut message = match inbox.recv_timeout(POLL) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
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
                    Message::Stop => return,
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
            if !calls.is_empty() {
                together = calls.len();
                let answers = self.clerk.answer(&calls);
                self.note(
                    answers.iter().find_map(|answer| answer.as_ref().err().filter(|error| error.is_clock())),
                );
                for (reply, answer) in replies.into_iter().zip(answers) {
                    reply(answer);
                }
                self.looked = Instant::now();
            } else if self.clerk.is_shared() && self.looked.elapsed() >= LOOK {
                // What cannot be read now is read before the next answer.
                drop(self.clerk.look());
                self.looked = Instant::now();
            } else if self.probed.elapsed() >= PROBE {
                self.probed = Instant::now();
                self.clerk.scrub();
                // Where nobody asks because it was said that something is in the way, nobody would find that it is not any more.
                if held(&self.health).trouble.is_some() {
                    let found = self.clerk.probe();
                    self.note(found.as_ref().err());
                } else if self.clerk.lesson_is_due(QUIET) {
                    // What cannot be written now is tried again in a second, or comes with the next entry.
                    drop(self.clerk.settle());
                }
            }
            self.look_aside();
        }
    }

    /// Says what is in the way of all that is asked, or that nothing is.
    fn note(&self, error: Option<&Error>) {
        held(&self.health).trouble = error.cloned();
    }

    /// Takes what was done aside, and has more done where there is need and the rest is over.
    fn look_aside(&mut self) {
        let done = self.done.try_recv();
        if let Err(TryRecvError::Disconnected) = done
            && let Some(helper) = self.helper.take()
            && let Err(panic) = helper.join()
        {
            // Without it there would never be another order, and nobody would know.
            std::panic::resume_unwind(panic);
        }
        if let Ok((done, took)) = done {
            self.busy = false;
            if matches!(done, Done::Ranked(..) | Done::Refolded(_)) {
                self.rests_until = Instant::now() + took * 3;
            }
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
                Done::Ranked(Err(_), _) | Done::Refolded(Err(_)) | Done::Tidied => {}
                Done::Flushed(store) => self.flusher = Some(store),
            }
        }
        let head = self.clerk.replica.board.seq;
        if !self.busy
            && self.flushed.0.elapsed() >= FLUSH
            && self.flushed.1 < head
            // A database that others write to sees to that itself.
            && !self.clerk.is_shared()
            && let Some(store) = self.flusher.take().or_else(|| self.clerk.another_store().ok())
        {
            self.flushed = (Instant::now(), head);
            self.busy = self.tasks.send(Task::Flush(store)).is_ok();
        }
        if self.busy || Instant::now() < self.rests_until {
            return;
        }
        if self.tidied.is_none_or(|last| last.elapsed() >= TIDY) {
            self.tidied = Some(Instant::now());
            if let Ok(store) = self.clerk.another_store() {
                self.busy = self.tasks.send(Task::Tidy(store)).is_ok();
                return;
            }
        }
        let replica = &mut self.clerk.replica;
        let spare = self.spare.take();
        let task = if spare.is_none() && replica.learner.is_stale() {
            let (queue, until) = (self.clerk.queue(), self.clerk.replica.board.seq);
            let Ok(store) = self.clerk.another_store() else { return };
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
                    let Ok(jury) = replica.learner.ranking() else { return };
                    self.mark = Some(mark);
                    (replica.learner.seq(), Box::new(jury))
                }
            };
            let (evaluators, ageing) = (replica.board.seatings.current().clone(), replica.board.ageing());
            let valuing = replica.board.valuing();
            let (blocks, generation) = replica.board.begin_ranking();
            Task::Rank { model, jury, blocks, evaluators, ageing, valuing, generation }
        };
        self.busy = self.tasks.send(task).is_ok();
    }

    fn standing(&self) -> Standing {
        let board = &self.clerk.replica.board;
        Standing {
            config: (*board.config).clone(),
            counts: board.counts(),
            head: board.seq,
            model: board.view.as_ref().map_or(0, |view| view.model),
            rankings: self.rankings,
            mismatches: self.clerk.mismatches,
        }
    }
}

/// Lets others go first: whoever waits for an answer waits for the clerk, and nobody waits for what is done aside.
fn stand_back() {
    // Elsewhere that would be said of the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(10);
}

impl Task {
    fn run(self) -> Done {
        match self {
            Task::Rank { model, jury, blocks, evaluators, ageing, valuing, generation } => {
                let view = View::of(model, jury.fit(), &blocks, &evaluators, ageing, valuing);
                Done::Ranked(view.map_err(Error::from), generation)
            }
            Task::Refold { mut store, queue, until } => {
                let learner = store
                    .begin_reading(queue)
                    .and_then(|_| refold(store.as_mut(), queue, until, &mut |_| Ok(())));
                store.rollback();
                Done::Refolded(learner.map(Box::new))
            }
            Task::Tidy(mut store) => {
                // What cannot be deleted now is deleted in an hour.
                let _ = store.now().and_then(|now| store.tidy(now));
                Done::Tidied
            }
            Task::Flush(mut store) => {
                // What is not flushed now is flushed with more.
                let _ = store.flush();
                Done::Flushed(store)
            }
        }
    }
}

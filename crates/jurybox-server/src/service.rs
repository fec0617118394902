//! The service: one clerk a queue, on a thread of its own, that many callers ask at once.
//!
//! Requests that wait become one transaction. Beside each clerk a second thread ranks: it takes a copy of the state, fits, values
//! and sorts, hands the order over, and rests three times as long as that took. Where something that was learnt has been revised, it
//! folds the log again first. Claims go on meanwhile, under the model they name.

use crate::Error;
use crate::board::Counts;
use crate::board::blocks::Blocks;
use crate::board::view::{Ageing, View};
use crate::clerk::Clerk;
use crate::config::Config;
use crate::desk::find;
use crate::learner::Learner;
use crate::load::refold;
use crate::place::Place;
use crate::request::{Answer, Call};
use crate::store::Store;
use jurybox::{Evaluators, Jury};
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Requests that become one transaction, at the most.
const BATCH: usize = 64;
/// Requests that may wait; who comes then is told to come again.
const WAITING: usize = 4096;
/// How often a clerk looks what other nodes have written.
const LOOK: Duration = Duration::from_millis(250);
/// How often a clerk looks whether there is something to rank anew.
const POLL: Duration = Duration::from_millis(50);

type Reply = Box<dyn FnOnce(Result<Answer, Error>) + Send>;

/// Something to be read on the clerk's thread.
pub(crate) type Job = Box<dyn FnOnce(&mut Clerk) + Send>;

/// A connection for those who only look, and the queue it is for.
pub(crate) struct Reader {
    pub(crate) store: Box<dyn Store>,
    pub(crate) queue: i64,
}

/// What a clerk is told.
enum Message {
    Call(Box<Call>, Reply),
    Look(Sender<Standing>),
    Read(Job),
    Stop,
}

/// How a queue stands while it is served.
#[derive(Debug, Clone)]
pub struct Standing {
    /// How it is set up.
    pub config: Config,
    /// How many there are of what.
    pub counts: Counts,
    /// The last entry of its log.
    pub head: u64,
    /// The entry up to which the model that ranks has learnt.
    pub model: u64,
    /// Orders that were made since the queue was opened.
    pub rankings: u64,
    /// Checkpoints that were found to differ. Anything but zero is an alarm.
    pub mismatches: u64,
}

/// All queues of a folder or a database, open to many callers at once.
///
/// Its methods wait for the database: call them where a thread may wait, never within an async task.
///
/// ```
/// use jurybox::Evaluators;
/// use jurybox_server::{Answer, Call, Config, NewItem, Request, Service};
///
/// let folder = tempfile::tempdir()?;
/// let service = Service::open(folder.path(), std::time::Duration::ZERO)?;
/// let queue = service.create("posts", &Config::new(Evaluators::new(["spam"])?))?;
/// let item = NewItem { id: "p1".into(), scores: [("spam".into(), Some(0.9))].into(), ..NewItem::default() };
/// queue.ask(Call::new("intake", Request::Items(vec![item])))?;
/// let claim = Request::Claim { reviewer: "ann".into(), k: Some(1), filter: Default::default() };
/// let Answer::Claims { claims, .. } = queue.ask(Call::new("ann", claim))? else { panic!() };
/// assert_eq!(claims[0].item, "p1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Service {
    store: Mutex<Box<dyn Store>>,
    queues: Mutex<HashMap<i64, Queue>>,
}

/// A queue that is served. Cheap to clone; the clerk stops when the last one and the service are gone, and whoever drops that last
/// one waits for it.
#[derive(Clone)]
pub struct Queue(Arc<Inner>);

struct Inner {
    inbox: SyncSender<Message>,
    /// A connection for those who only look, one after the other: claims do not wait for them. Made when the first one looks.
    reader: Mutex<Option<Reader>>,
    clerk: Mutex<Option<JoinHandle<()>>>,
}

impl Service {
    /// Opens a folder, which is made where it is not there, or a database. Waits so long for a folder that another process has, or for
    /// a database that cannot be reached: now, and whenever it goes away later; then callers are refused until it is back.
    pub fn open(place: impl Into<Place>, wait: Duration) -> Result<Self, Error> {
        let store = place.into().open(wait)?;
        Ok(Service { store: Mutex::new(store), queues: Mutex::default() })
    }

    /// Makes a queue. One that is there with the same configuration is that queue.
    pub fn create(&self, name: &str, config: &Config) -> Result<Queue, Error> {
        self.create_for("service", name, config)
    }

    /// As [`create`](Self::create), with the name of whoever asks for it in the log.
    pub fn create_for(&self, actor: &str, name: &str, config: &Config) -> Result<Queue, Error> {
        let id = self.reach(|store| crate::create::create(store, name, config, actor))?.id;
        self.serve(id)
    }

    /// A queue that is there.
    pub fn queue(&self, name: &str) -> Result<Queue, Error> {
        let (id, _) = self.reach(|store| find(store, Some(name)))?;
        self.serve(id)
    }

    /// The names of all queues.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        let queues = self.reach(|store| store.queues())?;
        Ok(queues.into_iter().map(|queue| queue.name).collect())
    }

    /// Asks the database, over a new connection where the one there is has been lost.
    pub(crate) fn reach<T>(&self, ask: impl Fn(&mut dyn Store) -> Result<T, Error>) -> Result<T, Error> {
        let mut store = self.store()?;
        match ask(store.as_mut()) {
            Err(Error::Database(_)) => {
                store.reconnect()?;
                ask(store.as_mut())
            }
            answer => answer,
        }
    }

    /// Stops serving a queue, whoever still holds it.
    pub(crate) fn forget(&self, id: i64) -> Result<(), Error> {
        let queue = self.queues.lock().map_err(|_| Error::Closed)?.remove(&id);
        if let Some(queue) = queue {
            let _ = queue.0.inbox.send(Message::Stop);
        }
        Ok(())
    }

    fn store(&self) -> Result<std::sync::MutexGuard<'_, Box<dyn Store>>, Error> {
        self.store.lock().map_err(|_| Error::Closed)
    }

    fn serve(&self, id: i64) -> Result<Queue, Error> {
        let mut queues = self.queues.lock().map_err(|_| Error::Closed)?;
        if let Some(queue) = queues.get(&id) {
            return Ok(queue.clone());
        }
        let clerk = Clerk::open(self.store()?.another()?, id)?;
        let (inbox, messages) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name(format!("clerk {id}"));
        let handle = thread
            .spawn(move || Office::new(clerk).run(&messages))
            .map_err(|error| Error::Open(error.to_string()))?;
        let queue =
            Queue(Arc::new(Inner { inbox, reader: Mutex::default(), clerk: Mutex::new(Some(handle)) }));
        queues.insert(id, queue.clone());
        Ok(queue)
    }
}

impl Queue {
    /// Asks, and waits for the answer.
    pub fn ask(&self, call: Call) -> Result<Answer, Error> {
        let (reply, answer) = channel();
        self.submit(call, move |said| drop(reply.send(said)))?;
        answer.recv().map_err(|_| Error::Closed)?
    }

    /// Asks, and goes on: the answer comes on the clerk's thread, and must be quick there. An error where too many wait already.
    pub fn submit(
        &self,
        call: Call,
        reply: impl FnOnce(Result<Answer, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let sent = self.0.inbox.try_send(Message::Call(Box::new(call), Box::new(reply)));
        sent.map_err(|error| match error {
            std::sync::mpsc::TrySendError::Full(_) => {
                Error::Database("too many requests wait: come again".into())
            }
            std::sync::mpsc::TrySendError::Disconnected(_) => Error::Closed,
        })
    }

    /// Has something read on the clerk's thread.
    pub(crate) fn peek(&self, job: Job) -> Result<(), Error> {
        self.0.inbox.send(Message::Read(job)).map_err(|_| Error::Closed)
    }

    /// The place of the connection for those who only look.
    pub(crate) fn reader(&self) -> std::sync::MutexGuard<'_, Option<Reader>> {
        self.0.reader.lock().unwrap_or_else(|broken| {
            // Whoever had it is gone in the middle of something: the next one takes a new connection.
            let mut reader = broken.into_inner();
            *reader = None;
            self.0.reader.clear_poison();
            reader
        })
    }

    /// How the queue stands.
    pub fn standing(&self) -> Result<Standing, Error> {
        let (reply, answer) = channel();
        self.0.inbox.send(Message::Look(reply)).map_err(|_| Error::Closed)?;
        answer.recv().map_err(|_| Error::Closed)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = self.inbox.send(Message::Stop);
        if let Ok(mut clerk) = self.clerk.lock()
            && let Some(clerk) = clerk.take()
            // The last one may be dropped by a reply, on the clerk's own thread, which cannot wait for itself.
            && clerk.thread().id() != std::thread::current().id()
        {
            let _ = clerk.join();
        }
    }
}

/// What is done aside.
enum Task {
    Rank {
        model: u64,
        jury: Box<Jury>,
        blocks: Blocks,
        evaluators: Evaluators,
        ageing: Ageing,
        generation: u64,
    },
    Refold {
        store: Box<dyn Store>,
        queue: i64,
        until: u64,
    },
}

enum Done {
    Ranked(Result<View, Error>, u64),
    Refolded(Result<Box<Learner>, Error>),
}

/// A clerk with a helper beside.
struct Office {
    clerk: Clerk,
    tasks: Sender<Task>,
    done: Receiver<(Done, Duration)>,
    helper: JoinHandle<()>,
    busy: bool,
    rests_until: Instant,
    /// What had been learnt up to an entry when more was revised after it: a model all the same, as of that entry.
    spare: Option<(u64, Box<Jury>)>,
    /// When the log was last looked at.
    looked: Instant,
    /// What the model in use had seen.
    seen: jurybox::Seen,
    rankings: u64,
}

impl Office {
    fn new(clerk: Clerk) -> Self {
        let (tasks, inbox) = channel::<Task>();
        let (outbox, done) = channel();
        let helper = std::thread::spawn(move || {
            for task in inbox {
                let began = Instant::now();
                let finished = task.run();
                if outbox.send((finished, began.elapsed())).is_err() {
                    return;
                }
            }
        });
        let seen = clerk.replica.learner.jury().seen();
        Office {
            clerk,
            tasks,
            done,
            helper,
            busy: false,
            rests_until: Instant::now(),
            spare: None,
            looked: Instant::now(),
            seen,
            rankings: 1,
        }
    }

    fn run(mut self, inbox: &Receiver<Message>) {
        self.serve(inbox);
        // The helper may be folding the log with a store of its own: who waits for the clerk waits for that too, so that a folder
        // is free when its service is gone.
        let Office { tasks, done, helper, .. } = self;
        drop((tasks, done));
        let _ = helper.join();
    }

    /// Answers until it is told to stop, or nobody is left who could ask.
    fn serve(&mut self, inbox: &Receiver<Message>) {
        loop {
            let mut message = match inbox.recv_timeout(POLL) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let (mut calls, mut replies) = (Vec::new(), Vec::new());
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
            }
            if !calls.is_empty() {
                for (reply, answer) in replies.into_iter().zip(self.clerk.answer(&calls)) {
                    reply(answer);
                }
                self.looked = Instant::now();
            } else if self.clerk.is_shared() && self.looked.elapsed() >= LOOK {
                // What cannot be read now is read before the next answer.
                drop(self.clerk.look());
                self.looked = Instant::now();
            }
            self.look_aside();
        }
    }

    /// Takes what was done aside, and has more done where there is need and the rest is over.
    fn look_aside(&mut self) {
        if let Ok((done, took)) = self.done.try_recv() {
            self.busy = false;
            self.rests_until = Instant::now() + took * 3;
            match done {
                Done::Ranked(Ok(view), generation) => {
                    self.rankings += u64::from(self.clerk.replica.board.take_view(view, generation));
                }
                // What cannot be done now is tried again after the rest.
                Done::Refolded(Ok(learner)) => {
                    let model = (learner.seq(), Box::new(learner.jury().clone()));
                    let taken = self.clerk.take_learner(*learner);
                    // Where revisions come faster than logs are folded, there would never be a new order without this.
                    if taken.is_err() || self.clerk.replica.learner.is_stale() {
                        self.spare = Some(model);
                    }
                    // It may have seen as much as the one before, and learnt something else.
                    self.seen = jurybox::Seen::default();
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
            let Ok(store) = self.clerk.another_store() else { return };
            Task::Refold { store, queue, until }
        } else {
            let (model, jury) = match spare {
                Some(spare) => spare,
                None if replica.learner.jury().seen() == self.seen => return,
                None => (replica.learner.seq(), Box::new(replica.learner.jury().clone())),
            };
            self.seen = jury.seen();
            let (evaluators, ageing) = (replica.board.seatings.current().clone(), replica.board.ageing());
            let (blocks, generation) = replica.board.begin_ranking();
            Task::Rank { model, jury, blocks, evaluators, ageing, generation }
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

impl Task {
    fn run(self) -> Done {
        match self {
            Task::Rank { model, jury, blocks, evaluators, ageing, generation } => {
                let view = View::of(model, jury.fit(), &blocks, &evaluators, ageing);
                Done::Ranked(view.map_err(Error::from), generation)
            }
            Task::Refold { mut store, queue, until } => {
                let learner = store
                    .begin_reading(queue)
                    .and_then(|_| refold(store.as_mut(), queue, until, &mut |_| Ok(())));
                store.rollback();
                Done::Refolded(learner.map(Box::new))
            }
        }
    }
}

//! What is done aside: orders, and logs folded again. A few threads for all queues, which sleep while there is nothing to do.

use crate::Error;
use crate::board::blocks::Blocks;
use crate::board::valuing::Valuing;
use crate::board::view::{Ageing, View};
use crate::learner::Learner;
use crate::load::refold;
use crate::service::{Message, caught, held};
use crate::store::Store;
use jurybox::{Evaluators, Jury};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Something to be done aside.
pub(crate) enum Task {
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
}

/// What came of it.
pub(crate) enum Done {
    Ranked(Result<View, Error>, u64),
    Refolded(Result<Box<Learner>, Error>),
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
        }
    }
}

/// What came of a task and how long it took; or the last words of who did it.
pub(crate) type Outcome = Result<(Done, Duration), String>;

/// A task, and whom to tell.
struct Order {
    task: Task,
    outbox: Sender<Outcome>,
    bell: SyncSender<Message>,
}

/// The threads that work aside. They end with the last one who could give them something to do.
pub(crate) struct Helpers {
    orders: Option<Sender<Order>>,
    threads: Vec<JoinHandle<()>>,
}

impl Helpers {
    /// As many as there are processors.
    pub(crate) fn new() -> Self {
        let (orders, inbox) = channel::<Order>();
        let inbox = Arc::new(Mutex::new(inbox));
        let many = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = (0..many).filter_map(|_| {
            let inbox = inbox.clone();
            let thread = std::thread::Builder::new().name("aside".into());
            thread.spawn(move || work(&inbox)).ok()
        });
        Helpers { orders: Some(orders), threads: threads.collect() }
    }

    /// Has something done. False if nobody is there to do it.
    pub(crate) fn give(&self, task: Task, outbox: &Sender<Outcome>, bell: &SyncSender<Message>) -> bool {
        let order = Order { task, outbox: outbox.clone(), bell: bell.clone() };
        !self.threads.is_empty() && self.orders.as_ref().is_some_and(|orders| orders.send(order).is_ok())
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        self.orders = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(inbox: &Mutex<Receiver<Order>>) {
    stand_back();
    loop {
        let order = held(inbox).recv();
        let Ok(Order { task, outbox, bell }) = order else { return };
        let began = Instant::now();
        let done = caught(|| task.run()).map(|done| (done, began.elapsed()));
        // Who is gone by now needs nothing of it. Where the inbox is full, its reader is awake.
        let _ = outbox.send(done);
        let _ = bell.try_send(Message::Wake);
    }
}

/// Lets others go first: whoever waits for an answer waits for the clerk, and nobody waits for what is done aside.
fn stand_back() {
    // Elsewhere that would be said of the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(10);
}

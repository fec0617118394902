//! Background threads, shared by all queues of a service. They rank items, and fold logs again: a
//! new learner applies a log from its first entry.

use crate::Error;
use crate::learner::Learner;
use crate::live_queue::ranking::{Ageing, ItemRanking};
use crate::live_queue::score_blocks::ScoreBlocks;
use crate::live_queue::value_rule::ValueRule;
use crate::load::refold;
use crate::service::{WriterMessage, catch_panic, lock_mutex};
use crate::store::Store;
use jurybox::{Evaluators, Jury};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A task for a background thread.
pub(crate) enum BackgroundTask {
    Rank {
        model: u64,
        jury: Box<Jury>,
        blocks: ScoreBlocks,
        evaluators: Evaluators,
        ageing: Ageing,
        value_rule: ValueRule,
        generation: u64,
    },
    Refold {
        store: Box<dyn Store>,
        queue: i64,
        until: u64,
    },
}

/// The result of a task.
pub(crate) enum TaskOutcome {
    Ranked(Result<ItemRanking, Error>, u64),
    Refolded(Result<Box<Learner>, Error>),
}

impl BackgroundTask {
    fn run(self) -> TaskOutcome {
        match self {
            BackgroundTask::Rank { model, jury, blocks, evaluators, ageing, value_rule, generation } => {
                let ranking = ItemRanking::of(model, jury.fit(), &blocks, &evaluators, ageing, value_rule);
                TaskOutcome::Ranked(ranking.map_err(Error::from), generation)
            }
            BackgroundTask::Refold { mut store, queue, until } => {
                let learner = store
                    .begin_reading(queue)
                    .and_then(|_| refold(store.as_mut(), queue, until, &mut |_| Ok(())));
                store.rollback();
                TaskOutcome::Refolded(learner.map(Box::new))
            }
        }
    }
}

/// A task's result and duration, or the message of its panic.
pub(crate) type TaskReport = Result<(TaskOutcome, Duration), String>;

/// A task and its channels: `outbox` gets the result, and `bell` wakes the queue's worker.
struct BackgroundJob {
    task: BackgroundTask,
    outbox: Sender<TaskReport>,
    bell: SyncSender<WriterMessage>,
}

/// The background threads. Dropping this waits until all submitted tasks are done.
pub(crate) struct BackgroundPool {
    orders: Option<Sender<BackgroundJob>>,
    threads: Vec<JoinHandle<()>>,
}

impl BackgroundPool {
    /// Starts one thread for each available processor.
    pub(crate) fn new() -> Self {
        let (orders, inbox) = channel::<BackgroundJob>();
        let inbox = Arc::new(Mutex::new(inbox));
        let many = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = (0..many).filter_map(|_| {
            let inbox = inbox.clone();
            let thread = std::thread::Builder::new().name("aside".into());
            thread.spawn(move || run_tasks(&inbox)).ok()
        });
        BackgroundPool { orders: Some(orders), threads: threads.collect() }
    }

    /// Submits a task. False if there is no thread to run it.
    pub(crate) fn submit(
        &self,
        task: BackgroundTask,
        outbox: &Sender<TaskReport>,
        bell: &SyncSender<WriterMessage>,
    ) -> bool {
        let order = BackgroundJob { task, outbox: outbox.clone(), bell: bell.clone() };
        !self.threads.is_empty() && self.orders.as_ref().is_some_and(|orders| orders.send(order).is_ok())
    }
}

impl Drop for BackgroundPool {
    fn drop(&mut self) {
        self.orders = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn run_tasks(inbox: &Mutex<Receiver<BackgroundJob>>) {
    lower_priority();
    loop {
        let order = lock_mutex(inbox).recv();
        let Ok(BackgroundJob { task, outbox, bell }) = order else { return };
        let began = Instant::now();
        let done = catch_panic(|| task.run()).map(|done| (done, began.elapsed()));
        // The queue may be closed by now. If its inbox is full, its worker is awake anyway.
        let _ = outbox.send(done);
        let _ = bell.try_send(WriterMessage::Wake);
    }
}

/// Lowers this thread's priority, since callers wait for queue writers and not for background
/// tasks.
fn lower_priority() {
    // On other systems this would apply to the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(10);
}

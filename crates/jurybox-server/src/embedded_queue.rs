//! The embedded queue: opened, used and closed by one command at a time, without a server.

use crate::config::Config;
use crate::live_queue::ItemCounts;
use crate::local_socket::{RemoteQueue, SocketGreeting, SocketRequest};
use crate::queue_writer::QueueWriter;
use crate::reads::queue_report;
use crate::request::{Answer, Call, ClaimedItem, Request};
use crate::store::sqlite::Sqlite;
use crate::store::{Purpose, Store};
use crate::store_location::StoreLocation;
use crate::{Error, ExportPage, QueueReport};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// A queue in a folder that this process holds until the value is dropped, or in a shared database.
///
/// Answers are durable: accepted changes are on disk. A call repeated with the same idempotency key
/// counts once, and so does a verdict sent twice with the same id. If a server holds the folder,
/// requests go to that server.
///
/// ```
/// use jurybox::Evaluators;
/// use jurybox_server::{Answer, Call, Config, EmbeddedQueue, NewItem, Request};
///
/// let folder = tempfile::tempdir()?;
/// let config = Config { k: 1, ..Config::new(Evaluators::new(["spam", "abuse"])?) };
/// let wait = std::time::Duration::ZERO;
/// let mut queue = EmbeddedQueue::create(folder.path(), "posts", &config, wait)?;
/// let item = |id: &str, spam: f64| {
///     let scores = [("spam".to_string(), Some(spam))].into();
///     NewItem { id: id.into(), scores, ..NewItem::default() }
/// };
/// let items = Request::Items(vec![item("p1", 0.2), item("p2", 0.9)]);
/// queue.ask(&Call::new("script", items))?;
///
/// let claim = Request::Claim { reviewer: "ann".into(), k: None, filter: Default::default() };
/// let Answer::Claims { claims, .. } = queue.ask(&Call::new("ann", claim))? else { panic!() };
/// // Before the first verdict, items are ranked by their mean score.
/// assert_eq!(claims[0].item, "p2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EmbeddedQueue {
    backend: Backend,
}

/// Where requests are answered.
enum Backend {
    /// This process, which holds the folder or a connection to the database.
    Embedded(Box<QueueWriter>),
    /// The server that holds this folder.
    Server(RemoteQueue, PathBuf),
}

/// The state of an embedded queue.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EmbeddedStatus {
    /// The queue's name.
    pub queue: String,
    /// The queue's configuration.
    pub config: Config,
    /// The queue's counts of items and verdicts.
    pub counts: ItemCounts,
    /// The number of the last log entry.
    pub head: u64,
    /// The time of the last log entry, in microseconds since 1970.
    pub at: i64,
    /// The log entry up to which the ranking model has learnt.
    pub model: u64,
    /// What the queue's jury has seen so far. The ranking model may have seen less.
    pub seen: jurybox::Seen,
    /// Decided items that are not learnt yet. Usually their verdicts can still be undone.
    pub waiting: u64,
}

impl EmbeddedQueue {
    /// Creates a queue in a folder, which is created if needed, or in a database. If the queue
    /// exists with the same configuration, opens it. Waits up to `wait` for another process.
    pub fn create(
        place: impl Into<StoreLocation>,
        queue: &str,
        config: &Config,
        wait: Duration,
    ) -> Result<Self, Error> {
        config.check()?;
        let place = place.into();
        if let Some(there) = connect(&place, Some(queue), Some(config), wait) {
            return there;
        }
        let mut store = place.open(wait)?;
        let now = store.now()?;
        let row = crate::create::create(store.as_mut(), queue, config, "desk", now)?;
        Ok(EmbeddedQueue { backend: Backend::Embedded(Box::new(QueueWriter::open(store, row.id)?)) })
    }

    /// Opens an existing queue; without a name, the only one. Waits up to `wait` for another
    /// process.
    pub fn open(place: impl Into<StoreLocation>, queue: Option<&str>, wait: Duration) -> Result<Self, Error> {
        let place = place.into();
        if let Some(there) = connect(&place, queue, None, wait) {
            return there;
        }
        let mut store = place.open_existing(wait)?;
        let queue = find(store.as_mut(), queue)?.0;
        Ok(EmbeddedQueue { backend: Backend::Embedded(Box::new(QueueWriter::open(store, queue)?)) })
    }

    /// Carries out a request and returns its answer.
    pub fn ask(&mut self, call: &Call) -> Result<Answer, Error> {
        let writer = match &mut self.backend {
            Backend::Embedded(writer) => writer,
            Backend::Server(there, _) => return there.ask(&SocketRequest::Call(Box::new(call.clone()))),
        };
        if writer.replica.learner.is_stale() {
            writer.refold_if_stale()?;
        }
        if matches!(call.request, Request::Claim { .. }) && settle(writer)? {
            writer.refold_if_stale()?;
        }
        writer.answer(std::slice::from_ref(call)).pop().unwrap_or(Err(Error::Closed))
    }

    /// The items that a reviewer holds now, oldest claim first.
    pub fn held(&mut self, reviewer: &str) -> Result<Vec<ClaimedItem>, Error> {
        match &mut self.backend {
            Backend::Embedded(writer) => Ok(writer.held(reviewer, u64::MAX)?.0),
            Backend::Server(there, _) => there.ask(&SocketRequest::Held { reviewer: reviewer.into() }),
        }
    }

    /// The id and reward of a reviewer's standing verdict on an item.
    pub fn last_verdict(&mut self, item: &str, reviewer: &str) -> Result<Option<(String, f64)>, Error> {
        match &mut self.backend {
            Backend::Embedded(writer) => writer.last_verdict(item, reviewer),
            Backend::Server(there, _) => {
                there.ask(&SocketRequest::LastVerdict { item: item.into(), reviewer: reviewer.into() })
            }
        }
    }

    /// Deletes expired payloads and remembered answers of all queues. Does nothing if a server
    /// holds the folder, since the server does it.
    pub fn tidy(&mut self) -> Result<(), Error> {
        match &mut self.backend {
            Backend::Embedded(writer) => writer.tidy(),
            Backend::Server(..) => Ok(()),
        }
    }

    /// The queue's configuration, counts, head and model.
    pub fn status(&mut self) -> Result<EmbeddedStatus, Error> {
        match &mut self.backend {
            Backend::Embedded(writer) => {
                settle(writer)?;
                writer.status()
            }
            Backend::Server(there, _) => there.ask(&SocketRequest::Status),
        }
    }

    /// The jury that ranks.
    pub fn jury(&mut self) -> Result<jurybox::Jury, Error> {
        match &mut self.backend {
            Backend::Embedded(writer) => {
                settle(writer)?;
                writer.replica.learner.ranking()
            }
            Backend::Server(there, _) => {
                Ok(jurybox::Jury::from_json(&there.ask::<String>(&SocketRequest::Jury)?)?)
            }
        }
    }

    /// The items found, compared with other ways of picking.
    pub fn report(&mut self) -> Result<QueueReport, Error> {
        let (mut store, queue): (Box<dyn Store>, i64) = match &mut self.backend {
            Backend::Embedded(writer) => (writer.another_store(Purpose::LongRead)?, writer.queue()),
            // The database can be read beside the server that writes to it.
            Backend::Server(there, folder) => {
                let name = there.ask::<EmbeddedStatus>(&SocketRequest::Status)?.queue;
                let mut store = Box::new(Sqlite::open_to_read(folder)?);
                let queue = find(store.as_mut(), Some(&name))?.0;
                (store, queue)
            }
        };
        queue_report(store.as_mut(), queue)
    }

    /// One page of the export: items numbered `after + 1` to `after + many`, with their verdicts.
    /// Erased items are left out.
    pub fn export_page(&mut self, after: u64, many: u64) -> Result<ExportPage, Error> {
        match &mut self.backend {
            Backend::Embedded(writer) => writer.export_page(after, many),
            Backend::Server(there, _) => there.ask(&SocketRequest::Exported { after, many }),
        }
    }

    /// The names of all tags that items have.
    pub fn tag_names(&mut self) -> Result<Vec<String>, Error> {
        match &mut self.backend {
            Backend::Embedded(writer) => writer.tag_names(),
            Backend::Server(there, _) => there.ask(&SocketRequest::TagNames),
        }
    }
}

/// Learns verdicts whose undo window has ended, as a server would do. True if there were any.
fn settle(writer: &mut QueueWriter) -> Result<bool, Error> {
    Ok(writer.lesson_is_due(Duration::ZERO) && writer.settle()?)
}

/// Connects to the server that holds the folder. None if there is no server, or for a database.
fn connect(
    place: &StoreLocation,
    queue: Option<&str>,
    make: Option<&Config>,
    wait: Duration,
) -> Option<Result<EmbeddedQueue, Error>> {
    let StoreLocation::Folder(folder) = place else { return None };
    let greeting = SocketGreeting { queue: queue.map(Into::into), make: make.cloned() };
    let there = RemoteQueue::connect(folder, &greeting, wait)?;
    Some(there.map(|there| EmbeddedQueue { backend: Backend::Server(there, folder.clone()) }))
}

/// The number and name of a queue; without a name, of the only one.
pub(crate) fn find(store: &mut dyn Store, queue: Option<&str>) -> Result<(i64, String), Error> {
    let queues = store.queues()?;
    let names = || queues.iter().map(|queue| queue.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = match queue {
        Some(name) => queues.iter().find(|queue| queue.name == name),
        None if queues.len() > 1 => {
            return Err(Error::Refused(format!("there are several queues; name one of: {}", names())));
        }
        None if queues.is_empty() => {
            return Err(Error::Refused("there is no queue here; it may have been archived".into()));
        }
        None => queues.first(),
    };
    let found = found.ok_or_else(|| Error::NoQueue { name: queue.unwrap_or_default().into() })?;
    Ok((found.id, found.name.clone()))
}

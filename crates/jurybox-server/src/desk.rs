//! A desk: a queue that is opened, asked and closed again by one command at a time, no server needed.

use crate::board::Counts;
use crate::clerk::Clerk;
use crate::config::Config;
use crate::door::{Asked, Greeting, There};
use crate::place::Place;
use crate::reads::found;
use crate::request::{Answer, Call, Claimed, Request};
use crate::store::sqlite::Sqlite;
use crate::store::{Purpose, Store};
use crate::{Error, ExportPage, Found};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// A queue in a folder, held by this process until it is dropped; or in a database, beside all others who serve it.
///
/// Every answer is durable when it is given: what was accepted is on the disk. A call that is repeated with the same idempotency key,
/// or a verdict with the same id, counts once.
///
/// ```
/// use jurybox::Evaluators;
/// use jurybox_server::{Answer, Call, Config, Desk, NewItem, Request};
///
/// let folder = tempfile::tempdir()?;
/// let config = Config { k: 1, ..Config::new(Evaluators::new(["spam", "abuse"])?) };
/// let mut desk = Desk::create(folder.path(), "posts", &config, std::time::Duration::ZERO)?;
/// let item = |id: &str, spam: f64| NewItem { id: id.into(), scores: [("spam".into(), Some(spam))].into(), ..NewItem::default() };
/// desk.ask(&Call::new("script", Request::Items(vec![item("p1", 0.2), item("p2", 0.9)])))?;
///
/// let claim = Request::Claim { reviewer: "ann".into(), k: None, filter: Default::default() };
/// let Answer::Claims { claims, .. } = desk.ask(&Call::new("ann", claim))? else { panic!() };
/// // Nobody has said yet who is right: the best by all scores alike comes first, whoever came first.
/// assert_eq!(claims[0].item, "p2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Desk {
    at: At,
}

/// Where it is.
enum At {
    /// Here: this process has the folder, or a connection to the database.
    Here(Box<Clerk>),
    /// With a server that has this folder.
    There(There, PathBuf),
}

/// How a queue stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    /// The queue's name.
    pub queue: String,
    /// How it is set up.
    pub config: Config,
    /// How many there are of what.
    pub counts: Counts,
    /// The last entry of its log.
    pub head: u64,
    /// The time of that entry, in microseconds since 1970.
    pub at: i64,
    /// The entry up to which the model that ranks has learnt.
    pub model: u64,
    /// What that model has seen.
    pub seen: jurybox::Seen,
    /// Verdicts that can still be taken back, and are learnt from after that.
    pub waiting: u64,
}

impl Desk {
    /// Makes a queue in a folder, which is made where it is not there, or in a database. One that is there with the same
    /// configuration is that queue.
    pub fn create(
        place: impl Into<Place>,
        queue: &str,
        config: &Config,
        wait: Duration,
    ) -> Result<Self, Error> {
        config.check()?;
        let place = place.into();
        if let Some(there) = knock(&place, Some(queue), Some(config), wait) {
            return there;
        }
        let mut store = place.open(wait)?;
        let now = store.now()?;
        let row = crate::create::create(store.as_mut(), queue, config, "desk", now)?;
        Ok(Desk { at: At::Here(Box::new(Clerk::open(store, row.id)?)) })
    }

    /// Opens a queue; the only one where none is named. While a server has the folder, it is asked instead.
    pub fn open(place: impl Into<Place>, queue: Option<&str>, wait: Duration) -> Result<Self, Error> {
        let place = place.into();
        if let Some(there) = knock(&place, queue, None, wait) {
            return there;
        }
        let mut store = place.open_what_is_there(wait)?;
        let queue = find(store.as_mut(), queue)?.0;
        Ok(Desk { at: At::Here(Box::new(Clerk::open(store, queue)?)) })
    }

    /// Asks, and makes the answer so.
    pub fn ask(&mut self, call: &Call) -> Result<Answer, Error> {
        let clerk = match &mut self.at {
            At::Here(clerk) => clerk,
            At::There(there, _) => return there.ask(&Asked::Call(Box::new(call.clone()))),
        };
        if clerk.replica.learner.is_stale() {
            clerk.freshen()?;
        }
        if matches!(call.request, Request::Claim { .. }) && settle(clerk)? {
            clerk.freshen()?;
        }
        clerk.answer(std::slice::from_ref(call)).pop().unwrap_or(Err(Error::Closed))
    }

    /// What a reviewer holds now, oldest claim first.
    pub fn held(&mut self, reviewer: &str) -> Result<Vec<Claimed>, Error> {
        match &mut self.at {
            At::Here(clerk) => Ok(clerk.held(reviewer, u64::MAX)?.0),
            At::There(there, _) => there.ask(&Asked::Held { reviewer: reviewer.into() }),
        }
    }

    /// The id and the worth of a reviewer's verdict on an item, the one that stands.
    pub fn last_verdict(&mut self, item: &str, reviewer: &str) -> Result<Option<(String, f64)>, Error> {
        match &mut self.at {
            At::Here(clerk) => clerk.last_verdict(item, reviewer),
            At::There(there, _) => {
                there.ask(&Asked::LastVerdict { item: item.into(), reviewer: reviewer.into() })
            }
        }
    }

    /// Deletes payloads whose time has come, and answers that nobody will ask for again. A server sees to that itself.
    pub fn tidy(&mut self) -> Result<(), Error> {
        match &mut self.at {
            At::Here(clerk) => clerk.tidy(),
            At::There(..) => Ok(()),
        }
    }

    /// How the queue stands.
    pub fn status(&mut self) -> Result<Status, Error> {
        match &mut self.at {
            At::Here(clerk) => {
                settle(clerk)?;
                clerk.status()
            }
            At::There(there, _) => there.ask(&Asked::Status),
        }
    }

    /// What was learnt: the jury that ranks.
    pub fn jury(&mut self) -> Result<jurybox::Jury, Error> {
        match &mut self.at {
            At::Here(clerk) => {
                settle(clerk)?;
                clerk.replica.learner.ranking()
            }
            At::There(there, _) => Ok(jurybox::Jury::from_json(&there.ask::<String>(&Asked::Jury)?)?),
        }
    }

    /// What has been found, against what picking otherwise would have.
    pub fn found(&mut self) -> Result<Found, Error> {
        let (mut store, queue): (Box<dyn Store>, i64) = match &mut self.at {
            At::Here(clerk) => (clerk.another_store(Purpose::LongRead)?, clerk.queue()),
            // Whoever writes to the folder, its database can be read meanwhile.
            At::There(there, folder) => {
                let name = there.ask::<Status>(&Asked::Status)?.queue;
                let mut store = Box::new(Sqlite::open_to_read(folder)?);
                let queue = find(store.as_mut(), Some(&name))?.0;
                (store, queue)
            }
        };
        found(store.as_mut(), queue)
    }

    /// Items with all that was said of them, after the one of that number, so many numbers further; erased ones are left out.
    pub fn exported(&mut self, after: u64, many: u64) -> Result<ExportPage, Error> {
        match &mut self.at {
            At::Here(clerk) => clerk.exported(after, many),
            At::There(there, _) => there.ask(&Asked::Exported { after, many }),
        }
    }

    /// The names of all tags that items have.
    pub fn tag_names(&mut self) -> Result<Vec<String>, Error> {
        match &mut self.at {
            At::Here(clerk) => clerk.tag_names(),
            At::There(there, _) => there.ask(&Asked::TagNames),
        }
    }
}

/// Has verdicts learnt that can no longer be taken back: nobody else sees to that where there is no server. True if there were any.
fn settle(clerk: &mut Clerk) -> Result<bool, Error> {
    Ok(clerk.lesson_is_due(Duration::ZERO) && clerk.settle()?)
}

/// Asks whether a server has the folder.
fn knock(
    place: &Place,
    queue: Option<&str>,
    make: Option<&Config>,
    wait: Duration,
) -> Option<Result<Desk, Error>> {
    let Place::Folder(folder) = place else { return None };
    let greeting = Greeting { queue: queue.map(Into::into), make: make.cloned() };
    let there = There::knock(folder, &greeting, wait)?;
    Some(there.map(|there| Desk { at: At::There(there, folder.clone()) }))
}

/// The number and the name of a queue.
pub(crate) fn find(store: &mut dyn Store, queue: Option<&str>) -> Result<(i64, String), Error> {
    let queues = store.queues()?;
    let names = || queues.iter().map(|queue| queue.name.as_str()).collect::<Vec<_>>().join(", ");
    let found = match queue {
        Some(name) => queues.iter().find(|queue| queue.name == name),
        None if queues.len() > 1 => {
            return Err(Error::Refused(format!("there are several queues; name one of {}", names())));
        }
        None if queues.is_empty() => {
            return Err(Error::Refused("there is no queue here; it may have been archived".into()));
        }
        None => queues.first(),
    };
    let found = found.ok_or_else(|| Error::NoQueue { name: queue.unwrap_or_default().into() })?;
    Ok((found.id, found.name.clone()))
}

//! A desk: a queue that is opened, asked and closed again by one command at a time, no server needed.

use crate::board::Counts;
use crate::clerk::Clerk;
use crate::config::Config;
use crate::event::Source;
use crate::place::Place;
use crate::request::{Answer, Call, Claimed, Request};
use crate::rows::VerdictRow;
use crate::store::Store;
use crate::{Error, Tags};
use serde::Serialize;
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
    clerk: Clerk,
}

/// How a queue stands.
#[derive(Debug, Clone, Serialize)]
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

/// An item with what was found, as it is exported.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exported {
    /// The item's id.
    pub item: String,
    /// When it came in, in microseconds since 1970.
    pub arrived: i64,
    /// Its scores by the present evaluators, null where missing.
    pub scores: Vec<Option<f64>>,
    /// Its tags.
    pub tags: Tags,
    /// The verdict's id.
    pub verdict: String,
    /// Who gave it.
    pub reviewer: String,
    /// Where it comes from.
    pub source: Source,
    /// What it was worth.
    pub reward: f64,
    /// A word for what was found.
    pub label: Option<String>,
    /// The probability of the pick.
    pub probability: f64,
    /// Whether the pick was an audit.
    pub explored: bool,
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
        let mut store = place.into().open(wait)?;
        let row = crate::create::create(store.as_mut(), queue, config, "desk")?;
        Ok(Desk { clerk: Clerk::open(store, row.id)? })
    }

    /// Opens a queue; the only one where none is named.
    pub fn open(place: impl Into<Place>, queue: Option<&str>, wait: Duration) -> Result<Self, Error> {
        let mut store = place.into().open_what_is_there(wait)?;
        let queue = find(store.as_mut(), queue)?.0;
        Ok(Desk { clerk: Clerk::open(store, queue)? })
    }

    /// Asks, and makes the answer so.
    pub fn ask(&mut self, call: &Call) -> Result<Answer, Error> {
        if self.clerk.replica.learner.is_stale() {
            self.clerk.freshen()?;
        }
        if matches!(call.request, Request::Claim { .. })
            && self.clerk.lesson_is_due(Duration::ZERO)
            && self.clerk.settle()?
        {
            self.clerk.freshen()?;
        }
        self.clerk.answer(std::slice::from_ref(call)).pop().unwrap_or(Err(Error::Closed))
    }

    /// What a reviewer holds now, oldest claim first.
    pub fn held(&mut self, reviewer: &str) -> Result<Vec<Claimed>, Error> {
        self.clerk.held(reviewer)
    }

    /// The id and the worth of a reviewer's verdict on an item, the one that stands.
    pub fn last_verdict(&mut self, item: &str, reviewer: &str) -> Result<Option<(String, f64)>, Error> {
        self.clerk.last_verdict(item, reviewer)
    }

    /// Deletes payloads whose time has come, and answers that nobody will ask for again.
    pub fn tidy(&mut self) -> Result<(), Error> {
        self.clerk.tidy()
    }

    /// How the queue stands.
    pub fn status(&mut self) -> Result<Status, Error> {
        let (name, counts) = (self.clerk.name()?, self.clerk.counts());
        let replica = &self.clerk.replica;
        Ok(Status {
            queue: name,
            config: (*replica.board.config).clone(),
            counts,
            head: replica.board.seq,
            at: replica.board.at,
            model: replica.board.view.as_ref().map_or(0, |view| view.model),
            seen: replica.learner.ranking()?.seen(),
            waiting: replica.learner.waiting(),
        })
    }

    /// What was learnt, as the jury that a state file would hold.
    pub fn jury(&self) -> &jurybox::Jury {
        self.clerk.replica.learner.jury()
    }

    /// Every verdict that stands, with its item, in the order of the log; erased items are left out.
    pub fn export(&mut self, each: &mut dyn FnMut(Exported) -> Result<(), Error>) -> Result<(), Error> {
        self.clerk.export(each)
    }
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
        None => queues.first(),
    };
    let found = found.ok_or_else(|| Error::NoQueue { name: queue.unwrap_or("any").into() })?;
    Ok((found.id, found.name.clone()))
}

/// A verdict with its item, for those who sit now.
pub(crate) fn exported(row: VerdictRow, item: String, arrived: i64, scores: &[f64], tags: Tags) -> Exported {
    Exported {
        item,
        arrived,
        scores: scores.iter().map(|score| (!score.is_nan()).then_some(*score)).collect(),
        tags,
        verdict: row.id,
        reviewer: row.reviewer,
        source: row.source,
        reward: row.reward,
        label: row.label,
        probability: row.probability,
        explored: row.explored,
    }
}

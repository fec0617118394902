//! Creating a queue: checks, and its first log entry.

use crate::Error;
use crate::config::Config;
use crate::event::{Body, LogEvent};
use crate::rows::EntryWrite;
use crate::store::{QueueRow, Store};
use std::hash::{BuildHasher, RandomState};
use std::time::Instant;

/// Refuses an invalid name or configuration of a new queue.
///
/// ```
/// let config = jurybox_server::Config::new(jurybox::Evaluators::new(["spam"])?);
/// jurybox_server::check_new_queue("posts", &config)?;
/// assert!(jurybox_server::check_new_queue("my posts", &config).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_new_queue(name: &str, config: &Config) -> Result<(), Error> {
    config.check()?;
    let fits = !name.is_empty()
        && name.len() <= 64
        // HTTP clients remove these from a path before they send it.
        && !matches!(name, "." | "..")
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !fits {
        return Err(Error::Refused(format!(
            "`{name}` is not a valid queue name: use up to 64 letters, digits, and - _ ."
        )));
    }
    Ok(())
}

/// Creates a queue with a first entry at the time `at`. If the queue exists with the same
/// configuration, returns it; with another one, refuses. File columns are compared only if `config`
/// has some.
pub(crate) fn create(
    store: &mut dyn Store,
    name: &str,
    config: &Config,
    actor: &str,
    at: i64,
) -> Result<QueueRow, Error> {
    check_new_queue(name, config)?;
    let secret = RandomState::new().hash_one(Instant::now());
    let body = Body::Create { config: config.clone(), secret };
    let event = LogEvent { seq: 1, at, actor: actor.into(), body };
    let write =
        EntryWrite { event, keys: Vec::new(), payloads: Vec::new(), notes: Vec::new(), stands_from: 0 };
    if let Some(made) = store.create(name, &write)? {
        return Ok(made);
    }
    let there = store.queues()?.into_iter().find(|queue| queue.name == name);
    let there = there.ok_or_else(|| Error::NoQueue { name: name.into() })?;
    let head = store.begin_reading(there.id)?;
    let set_up = crate::store::set_up(store, there.id, head.seq);
    store.rollback();
    let now = set_up?.1;
    let asked = Config { columns: config.columns.clone().or(now.columns.clone()), ..config.clone() };
    if now == asked { Ok(there) } else { Err(Error::QueueExists { name: name.into() }) }
}

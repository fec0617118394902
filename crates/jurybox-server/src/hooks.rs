//! Webhooks of a queue: their stored settings, progress and failures. Sending is up to the caller.

use crate::service::Service;
use crate::{Error, embedded_queue};

/// The most webhooks of a queue.
const MOST: usize = 16;
/// For how long a node holds a webhook, in microseconds: longer than a delivery takes.
const OURS: i64 = 60_000_000;

/// The key that signs a webhook's messages. Its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Secret")
    }
}

impl Secret {
    /// A secret of these bytes.
    pub fn of(bytes: Vec<u8>) -> Secret {
        Secret(bytes)
    }

    /// A random secret of 32 bytes.
    pub fn new() -> Result<Secret, Error> {
        let mut bytes = vec![0_u8; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| Error::Open(format!("no random numbers from the system: {error}")))?;
        Ok(Secret(bytes))
    }

    /// The bytes, to sign with.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// An address that a queue's log is sent to, with its progress.
#[derive(Debug, Clone, PartialEq)]
pub struct Webhook {
    /// The queue's number.
    pub(crate) id: i64,
    /// The queue's name.
    pub queue: String,
    /// The webhook's name, unique in the queue.
    pub name: String,
    /// The receiver's URL.
    pub url: String,
    /// The last log entry that was delivered, or the entry after which delivery starts.
    pub seen: u64,
    /// When it was made, in microseconds since 1970.
    pub made: i64,
    /// Failed deliveries since the last success.
    pub failures: u64,
    /// Since when deliveries have failed, in microseconds since 1970.
    pub failing_since: Option<i64>,
    /// When the next delivery is due, in microseconds since 1970.
    pub next_try: i64,
    /// The reason of the last failure.
    pub why: Option<String>,
    /// Whether it was switched off, for example after failing for too long.
    pub off: bool,
    /// The last entry of the queue's log.
    pub head: u64,
}

/// A delivery to make.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingDelivery {
    /// The key to sign with.
    pub secret: Secret,
    /// The last log entry to send. It stays the same until it is delivered, even if the log grows.
    pub until: u64,
}

/// The outcome of a delivery.
#[derive(Debug, Clone, PartialEq)]
pub enum DeliveryOutcome {
    /// The receiver accepted the entries.
    Delivered {
        /// The last entry delivered.
        seen: u64,
    },
    /// The delivery failed.
    Failed {
        /// The time of the failure, in microseconds since 1970.
        at: i64,
        /// When to try again, in microseconds since 1970.
        next_try: i64,
        /// The reason.
        why: String,
        /// Whether to switch the webhook off.
        off: bool,
    },
}

impl Service {
    /// The webhooks of a queue, or of all queues.
    ///
    /// ```
    /// use jurybox_server::{Config, Service};
    /// let folder = tempfile::tempdir()?;
    /// let service = Service::open(folder.path(), std::time::Duration::ZERO)?;
    /// service.create("posts", &Config::new(jurybox::Evaluators::new(["spam"])?))?;
    /// let secret = jurybox_server::Secret::new()?;
    /// service.put_webhook("posts", "crm", "https://example.org/in", Some(secret), Some(0))?;
    /// assert_eq!(service.webhooks(Some("posts"))?[0].seen, 0);
    /// assert!(service.drop_webhook("posts", "crm")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn webhooks(&self, queue: Option<&str>) -> Result<Vec<Webhook>, Error> {
        let of = match queue {
            Some(name) => Some(self.reach(|store| embedded_queue::find(store, Some(name)))?.0),
            None => None,
        };
        let mut hooks = self.reach(|store| store.hooks())?;
        hooks.retain(|hook| of.is_none_or(|id| hook.id == id));
        Ok(hooks)
    }

    /// Adds a webhook, or changes an existing one and starts it again; true if it was added.
    /// Delivery starts after the entry `after`. By default it goes on where an existing webhook has
    /// got to, or starts at the end of the log. Without a secret, an existing webhook keeps its
    /// own.
    pub fn put_webhook(
        &self,
        queue: &str,
        name: &str,
        url: &str,
        secret: Option<Secret>,
        after: Option<u64>,
    ) -> Result<bool, Error> {
        let (id, queue) = self.reach(|store| embedded_queue::find(store, Some(queue)))?;
        let here = self.webhooks(Some(&queue))?;
        let there = here.iter().find(|hook| hook.name == name);
        if there.is_none() && here.len() >= MOST {
            return Err(Error::Conflict(format!("the queue has {MOST} webhooks: delete one first")));
        }
        let head = self.reach(|store| store.head(id))?;
        let seen = after.or_else(|| there.map(|hook| hook.seen)).unwrap_or(head.seq);
        if seen > head.seq {
            return Err(Error::Refused(format!("after = {seen}: the log ends at entry {}", head.seq)));
        }
        let kept = self.reach(|store| store.secret(id, name))?.map(|(secret, _)| secret);
        let secret = secret.or(kept).ok_or_else(|| Error::Refused("a new webhook needs a secret".into()))?;
        let hook = Webhook {
            id,
            queue,
            name: name.into(),
            url: url.into(),
            seen,
            made: head.now,
            failures: 0,
            failing_since: None,
            next_try: 0,
            why: None,
            off: false,
            head: head.seq,
        };
        self.reach(|store| store.put_hook(&hook, &secret))?;
        Ok(there.is_none())
    }

    /// Deletes a webhook. False if there is none of that name.
    pub fn drop_webhook(&self, queue: &str, name: &str) -> Result<bool, Error> {
        let (id, _) = self.reach(|store| embedded_queue::find(store, Some(queue)))?;
        self.reach(|store| store.drop_hook(id, name))
    }

    /// Takes hold of a webhook for a minute, as `holder`. None if another node holds it, or if it
    /// is switched off or deleted.
    pub fn take_webhook(&self, hook: &Webhook, holder: i64) -> Result<Option<PendingDelivery>, Error> {
        self.reach(|store| {
            let now = store.now()?;
            let ours = store.take_hook(hook.id, &hook.name, holder, now, now + OURS)?;
            let taken = if ours { store.secret(hook.id, &hook.name)? } else { None };
            Ok(taken.map(|(secret, until)| PendingDelivery { secret, until }))
        })
    }

    /// Releases all webhooks held as `holder`.
    pub fn give_back_webhooks(&self, holder: i64) -> Result<(), Error> {
        self.reach(|store| store.give_back_hooks(holder))
    }

    /// Stores the outcome of a delivery. False if it no longer counts: another node took the
    /// webhook meanwhile, or the webhook was changed or deleted.
    pub fn note_webhook(
        &self,
        hook: &Webhook,
        holder: i64,
        outcome: &DeliveryOutcome,
    ) -> Result<bool, Error> {
        self.reach(|store| store.note_hook(hook.id, &hook.name, holder, outcome))
    }

    /// The database's clock, in microseconds since 1970.
    pub fn now(&self) -> Result<i64, Error> {
        self.reach(|store| store.now())
    }
}

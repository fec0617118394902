//! Webhooks: where else a queue's log is told, and how far that has come. Who sends is another's affair; here is what must survive.

use crate::service::Service;
use crate::{Error, embedded_queue};

/// The most webhooks of a queue.
const MOST: usize = 16;
/// For how long a node has a webhook to itself after it last said so: longer than any answer is waited for.
const OURS: i64 = 60_000_000;

/// What a webhook signs with. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Secret")
    }
}

impl Secret {
    /// Of these bytes.
    pub fn of(bytes: Vec<u8>) -> Secret {
        Secret(bytes)
    }

    /// A new one, that nobody can guess.
    pub fn new() -> Result<Secret, Error> {
        let mut bytes = vec![0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|error| Error::Open(format!("no randomness: {error}")))?;
        Ok(Secret(bytes))
    }

    /// The bytes themselves, to sign with.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// An address that a queue's log is sent to, and how that stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Webhook {
    /// The number of its queue.
    pub(crate) id: i64,
    /// Its queue.
    pub queue: String,
    /// Its name in that queue.
    pub name: String,
    /// Where to.
    pub url: String,
    /// The last entry that has arrived there.
    pub seen: u64,
    /// When it was made, in microseconds since 1970.
    pub made: i64,
    /// How often sending has failed since it last succeeded.
    pub failures: u64,
    /// Since when it has been failing.
    pub failing_since: Option<i64>,
    /// When it is tried again.
    pub next_try: i64,
    /// Why it failed the last time.
    pub why: Option<String>,
    /// Whether it has failed for too long and is left alone.
    pub off: bool,
    /// The last entry of the queue's log.
    pub head: u64,
}

/// What is to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingDelivery {
    /// What it is signed with.
    pub secret: Secret,
    /// The last entry of the page: the same until it has arrived, however often it is tried and though the log grows.
    pub until: u64,
}

/// What became of sending.
#[derive(Debug, Clone, PartialEq)]
pub enum DeliveryOutcome {
    /// It arrived, up to this entry.
    Delivered {
        /// The entry.
        seen: u64,
    },
    /// It did not.
    Failed {
        /// When, in microseconds since 1970.
        at: i64,
        /// When to try again.
        next_try: i64,
        /// Why.
        why: String,
        /// Whether that was once too often.
        off: bool,
    },
}

impl Service {
    /// All webhooks, or those of one queue.
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

    /// Makes a webhook, or changes where it goes; then it is tried again, however often it failed. It begins after an entry: where it stands
    /// if it is there, with what comes next if it is new. Without a secret it keeps its own. True if it is new.
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
        let secret =
            secret.or(kept).ok_or_else(|| Error::Refused("a webhook that is new needs a secret".into()))?;
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

    /// Takes a webhook away. False if there is none of that name.
    pub fn drop_webhook(&self, queue: &str, name: &str) -> Result<bool, Error> {
        let (id, _) = self.reach(|store| embedded_queue::find(store, Some(queue)))?;
        self.reach(|store| store.drop_hook(id, name))
    }

    /// Has a webhook to oneself for a minute, under a number of one's own: what is to be sent, or nothing where another node has it.
    pub fn take_webhook(&self, hook: &Webhook, holder: i64) -> Result<Option<PendingDelivery>, Error> {
        self.reach(|store| {
            let now = store.now()?;
            let ours = store.take_hook(hook.id, &hook.name, holder, now, now + OURS)?;
            let taken = if ours { store.secret(hook.id, &hook.name)? } else { None };
            Ok(taken.map(|(secret, until)| PendingDelivery { secret, until }))
        })
    }

    /// Gives back all webhooks that are held under a number, so that another need not wait for a minute.
    pub fn give_back_webhooks(&self, holder: i64) -> Result<(), Error> {
        self.reach(|store| store.give_back_hooks(holder))
    }

    /// Notes what became of sending. False where the webhook is another's by now, or was changed.
    pub fn note_webhook(&self, hook: &Webhook, holder: i64, outcome: &DeliveryOutcome) -> Result<bool, Error> {
        self.reach(|store| store.note_hook(hook.id, &hook.name, holder, outcome))
    }

    /// What time it is by the database, in microseconds since 1970.
    pub fn now(&self) -> Result<i64, Error> {
        self.reach(|store| store.now())
    }
}

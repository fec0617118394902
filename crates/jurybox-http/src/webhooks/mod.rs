//! Webhooks: delivery of a queue's activity log to other systems as it grows.
//!
//! Every webhook has a cursor in the database, the last entry delivered. It moves only after a
//! successful delivery, or when an administrator sets it. So entries arrive in order, and each at
//! least once unless an administrator skips it. A retry sends the same entries under the same id.
//!
//! One server at a time delivers to a webhook, by a lease of a minute; if that server dies, another
//! takes over. A failed delivery is retried after ever longer pauses, up to an hour. After days of
//! failures, or an answer 410, the webhook is stopped until it is set up again.

pub(crate) mod address;
mod send;
pub(crate) mod sign;

use crate::app::App;
use crate::wire::EventPage;
use address::WebhookTarget;
use jurybox_server::{DeliveryOutcome, Error, Secret, Webhook};
use serde::Serialize;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

/// How often webhooks are checked for entries to send.
const LOOK: Duration = Duration::from_millis(500);
/// How long running deliveries may take when the server shuts down.
const LAST: Duration = Duration::from_secs(5);
/// The first and the longest pause before a retry, in seconds, without the random part.
const RESTS: (u64, u64) = (1, 3600);
/// A webhook is stopped only if at least this many failures came before the last one. An answer 410
/// stops it at once.
const ENOUGH: u64 = 12;

/// The body of a delivery: the queue, and entries of its log as `GET …/events` returns them.
#[derive(Serialize)]
struct WebhookMessage<'a> {
    queue: &'a str,
    #[serde(flatten)]
    events: EventPage,
}

/// Delivers to all webhooks until `end`, gives running deliveries five seconds, and then releases
/// this server's leases.
pub(crate) async fn deliver_all(app: App, end: impl Future<Output = ()>) {
    // A random id, under which this server holds leases.
    let holder = (RandomState::new().hash_one(std::process::id()) >> 1).max(1).cast_signed();
    let busy = Arc::<Mutex<HashSet<(String, String)>>>::default();
    let mut sending = JoinSet::new();
    tokio::pin!(end);
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = &mut end => break,
        }
        while sending.try_join_next().is_some() {}
        let asked = app.clone();
        let look = move || Ok((asked.0.service.webhooks(None)?, asked.0.service.now()?));
        // If the database cannot be reached now, it is asked again at the next look.
        let Ok((hooks, now)) = app.wait(look).await else { continue };
        app.0.metrics.note_webhooks_off(hooks.iter().filter(|hook| hook.off).count());
        for hook in hooks {
            let key = (hook.queue.clone(), hook.name.clone());
            let is_due = !hook.off && hook.seen < hook.head && may_retry(hook.next_try, now);
            if !is_due || !lock(&busy).insert(key.clone()) {
                continue;
            }
            let (app, busy) = (app.clone(), busy.clone());
            sending.spawn(async move {
                // If the result cannot be stored, the delivery is repeated.
                let _ = deliver(&app, hook, holder).await;
                lock(&busy).remove(&key);
            });
        }
    }
    // Deliveries that take longer are aborted, and repeated later.
    let _ = tokio::time::timeout(LAST, async { while sending.join_next().await.is_some() {} }).await;
    sending.shutdown().await;
    let asked = app.clone();
    let _ = app.wait(move || asked.0.service.give_back_webhooks(holder)).await;
}

/// Whether it is time to retry. A time over two hours ahead was stored while the clock was wrong,
/// and is ignored.
fn may_retry(next_try: i64, now: i64) -> bool {
    let longest = Duration::from_secs(RESTS.1 * 2).as_micros() as i64;
    next_try <= now || next_try - now > longest
}

fn lock<T>(held: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Delivers to one webhook until nothing is left, a delivery fails, or another server holds it.
async fn deliver(app: &App, mut hook: Webhook, holder: i64) -> Result<(), Error> {
    loop {
        let (asked, of) = (app.clone(), hook.clone());
        let taken = move || {
            let service = &asked.0.service;
            let Some(sending) = service.take_webhook(&of, holder)? else { return Ok(None) };
            let page = usize::try_from(sending.until.saturating_sub(of.seen)).unwrap_or(usize::MAX);
            let events = service.queue(&of.queue)?.activity(of.seen, page)?;
            Ok(Some((sending.secret, events, service.now()?)))
        };
        let Some((secret, events, now)) = app.wait(taken).await? else { return Ok(()) };
        let (Some(first), Some(last)) =
            (events.first().map(|event| event.seq), events.last().map(|event| event.seq))
        else {
            return Ok(());
        };
        let events = EventPage { events: events.into_iter().map(Into::into).collect(), next: last };
        let body = serde_json::to_vec(&WebhookMessage { queue: &hook.queue, events });
        let body = body.map_err(|error| Error::Corrupt(error.to_string()))?;
        // The webhook's creation time tells deliveries apart from those of an earlier queue of the
        // same name.
        let id = format!("{}/{}/{}/{first}-{last}", hook.queue, hook.name, hook.made);
        let sent = attempt(app, &hook, &secret, &id, now / 1_000_000, &body).await;
        app.0.metrics.note_delivery(sent.is_ok());
        let outcome = match &sent {
            Ok(()) => DeliveryOutcome::Delivered { seen: last },
            Err(failure) => failure_outcome(app, &hook, now, failure),
        };
        let (asked, of) = (app.clone(), hook.clone());
        let noted = app.wait(move || asked.0.service.note_webhook(&of, holder, &outcome)).await?;
        if sent.is_err() || !noted {
            return Ok(());
        }
        hook.seen = last;
    }
}

/// Why a delivery failed, and whether the receiver is gone for good (status 410).
struct DeliveryFailure {
    why: String,
    gone: bool,
}

async fn attempt(
    app: &App,
    hook: &Webhook,
    secret: &Secret,
    id: &str,
    seconds: i64,
    body: &[u8],
) -> Result<(), DeliveryFailure> {
    let private = app.0.settings.webhooks.allow_private;
    let passing = |why: String| DeliveryFailure { why, gone: false };
    let target = WebhookTarget::parse(&hook.url, private).map_err(passing)?;
    let headers = [
        ("webhook-id", id.to_string()),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", sign::signature(secret, id, seconds, body)),
    ];
    match send::post(&target, &headers, body, private).await.map_err(passing)? {
        200..=299 => Ok(()),
        status @ 300..=399 => Err(passing(format!("it answered {status}; redirects are not followed"))),
        status => Err(DeliveryFailure { why: format!("it answered {status}"), gone: status == 410 }),
    }
}

/// The outcome of a failed delivery: when to retry (exponential backoff with jitter), or to stop.
fn failure_outcome(app: &App, hook: &Webhook, now: i64, failure: &DeliveryFailure) -> DeliveryOutcome {
    let (first, longest) = RESTS;
    let rest = (first << hook.failures.min(20)).min(longest) * 1_000_000;
    let chance = RandomState::new().hash_one(now) % (rest / 5);
    let give_up = i64::try_from(app.0.settings.webhooks.give_up.as_micros()).unwrap_or(i64::MAX);
    // A long time alone is no reason to stop, because the clock may have jumped.
    let tired = hook.failures >= ENOUGH
        && hook.failing_since.is_some_and(|since| now.saturating_sub(since) >= give_up);
    let next_try = now.saturating_add_unsigned(rest + chance);
    DeliveryOutcome::Failed { at: now, next_try, why: failure.why.clone(), off: tired || failure.gone }
}

//! Webhooks: the log of a queue, told to somebody else as it grows.
//!
//! Every webhook has a cursor in the database, which moves when what was sent has been answered with success, and not before: everything
//! arrives, in order, at least once. What is tried again is the same page under the same id, though the log has grown since. One node at a time has a webhook, for a minute from when it last said so; should it die, another goes on.
//! What cannot be delivered is tried again, after ever longer rests; after days of that it is left alone until somebody sets it up anew.

pub(crate) mod address;
mod send;
pub(crate) mod sign;

use crate::app::App;
use crate::wire::EventPage;
use address::WebhookTarget;
use jurybox_server::{Error, Outcome, Secret, Webhook};
use serde::Serialize;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

/// How often somebody looks whether there is something to send.
const LOOK: Duration = Duration::from_millis(500);
/// How long what is being sent may take once the server is to end.
const LAST: Duration = Duration::from_secs(5);
/// The first rest after a failure, and the longest, in seconds.
const RESTS: (u64, u64) = (1, 3600);
/// So often it must have failed before it is left alone, however long that took.
const ENOUGH: u64 = 12;

/// What is sent: the queue, and a page of its log as `GET …/events` gives it.
#[derive(Serialize)]
struct WebhookMessage<'a> {
    queue: &'a str,
    #[serde(flatten)]
    events: EventPage,
}

/// Sends until the end, and then gives back what it has: another may go on at once.
pub(crate) async fn follow(app: App, end: impl Future<Output = ()>) {
    // A number of our own, that no other node has.
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
        // A database that is away now is there later.
        let Ok((hooks, now)) = app.wait(look).await else { continue };
        app.0.metrics.note_webhooks_off(hooks.iter().filter(|hook| hook.off).count());
        for hook in hooks {
            let key = (hook.queue.clone(), hook.name.clone());
            let is_due = !hook.off && hook.seen < hook.head && has_rested(hook.next_try, now);
            if !is_due || !lock(&busy).insert(key.clone()) {
                continue;
            }
            let (app, busy) = (app.clone(), busy.clone());
            sending.spawn(async move {
                // What cannot be noted is sent once more, by whoever can note it.
                let _ = deliver(&app, hook, holder).await;
                lock(&busy).remove(&key);
            });
        }
    }
    // What is not done by then is broken off, and sent once more.
    let _ = tokio::time::timeout(LAST, async { while sending.join_next().await.is_some() {} }).await;
    sending.shutdown().await;
    let asked = app.clone();
    let _ = app.wait(move || asked.0.service.give_back_webhooks(holder)).await;
}

/// Whether the time to try again has come. It may also lie further away than any rest: then it was noted while the clock was wrong.
fn has_rested(next_try: i64, now: i64) -> bool {
    let longest = Duration::from_secs(RESTS.1 * 2).as_micros() as i64;
    next_try <= now || next_try - now > longest
}

fn lock<T>(held: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends to one webhook until there is nothing left, or it fails.
async fn deliver(app: &App, mut hook: Webhook, holder: i64) -> Result<(), Error> {
    loop {
        let (asked, of) = (app.clone(), hook.clone());
        let taken = move || {
            let service = &asked.0.service;
            let Some(sending) = service.take_webhook(&of, holder)? else { return Ok(None) };
            let page = usize::try_from(sending.until.saturating_sub(of.seen)).unwrap_or(usize::MAX);
            let events = service.queue(&of.queue)?.happened(of.seen, page)?;
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
        // With when it was made: a queue of the same name that was made anew tells other things under the same numbers.
        let id = format!("{}/{}/{}/{first}-{last}", hook.queue, hook.name, hook.made);
        let sent = attempt(app, &hook, &secret, &id, now / 1_000_000, &body).await;
        app.0.metrics.note_delivery(sent.is_ok());
        let outcome = match &sent {
            Ok(()) => Outcome::Delivered { seen: last },
            Err(failure) => failed(app, &hook, now, failure),
        };
        let (asked, of) = (app.clone(), hook.clone());
        let noted = app.wait(move || asked.0.service.note_webhook(&of, holder, &outcome)).await?;
        if sent.is_err() || !noted {
            return Ok(());
        }
        hook.seen = last;
    }
}

/// Why it did not arrive, and whether nobody there wants it any more.
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
        status @ 300..=399 => Err(passing(format!("it answered {status}, and nothing is followed"))),
        status => Err(DeliveryFailure { why: format!("it answered {status}"), gone: status == 410 }),
    }
}

/// What to note of a failure: the rests double, with a little chance in them, so that not all come back at once.
fn failed(app: &App, hook: &Webhook, now: i64, failure: &DeliveryFailure) -> Outcome {
    let (first, longest) = RESTS;
    let rest = (first << hook.failures.min(20)).min(longest) * 1_000_000;
    let chance = RandomState::new().hash_one(now) % (rest / 5);
    let give_up = i64::try_from(app.0.settings.webhooks.give_up.as_micros()).unwrap_or(i64::MAX);
    // Days with hardly a try in them were a jump of the clock.
    let tired = hook.failures >= ENOUGH
        && hook.failing_since.is_some_and(|since| now.saturating_sub(since) >= give_up);
    let next_try = now.saturating_add_unsigned(rest + chance);
    Outcome::Failed { at: now, next_try, why: failure.why.clone(), off: tired || failure.gone }
}

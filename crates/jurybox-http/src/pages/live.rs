//! What happens, told to pages as it does; and what is remembered of it while the server runs.

use super::snapshot::QueueSnapshot;
use crate::app::App;
use crate::guard::Caller;
use crate::problem::Problem;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use jurybox_server::{Error, Trusted};
use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, broadcast, mpsc};

/// How often somebody looks whether a queue has changed, while a page listens, and while none does: what evaluators added is remembered for later.
const LOOK: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// A stream is cut after so long, and the page comes again: a proxy may not let its caller in any more.
const CUT: Duration = Duration::from_mins(10);
/// How often it is looked whether its caller may still listen.
const MAY_STAY: Duration = Duration::from_secs(2);
/// A stream that says nothing for so long says that it is there.
const QUIET: Duration = Duration::from_secs(15);
const STILL_HERE: &str = ": still here\n\n";
/// Streams at once.
const STREAMS: usize = 512;
/// Moments at which it is remembered what evaluators added; then every other one is.
const REMEMBERED: usize = 240;

/// What a page is told.
#[derive(Debug, Clone)]
enum PageEvent {
    /// A queue is not as it was.
    Changed(String),
    /// The server ends.
    End,
}

/// What is remembered of a queue.
#[derive(Default)]
struct CachedQueue {
    /// The last entry of its log, and what its model has learnt.
    marks: (u64, u64),
    trust: Vec<Trusted>,
    /// What was last seen of it, when, and how long that took.
    seen: Option<(Arc<QueueSnapshot>, Instant, Duration)>,
    /// Whether somebody was shown what was no longer so.
    behind: bool,
}

impl CachedQueue {
    /// Whether what was last seen may be looked at again.
    fn may_look(&self) -> bool {
        self.seen.as_ref().is_none_or(|(_, at, took)| is_rested(at.elapsed(), *took))
    }
}

/// Whether a queue may be looked at again so long after it took so long: looking must not take much of the server's time.
fn is_rested(since: Duration, took: Duration) -> bool {
    const RESTS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
    since >= (10 * took).clamp(RESTS.0, RESTS.1)
}

/// Whether what was seen so long ago, and took so long to see, is shown again: where nothing has changed, for a while (how old things are is told of,
/// too), and in any case until it may be looked at again.
fn is_shown(same: bool, since: Duration, took: Duration) -> bool {
    const STAYS: Duration = Duration::from_secs(10);
    (same && since < STAYS) || !is_rested(since, took)
}

/// What pages are told of, and what they remember.
pub(crate) struct LiveUpdates {
    told: broadcast::Sender<PageEvent>,
    queues: Mutex<HashMap<String, CachedQueue>>,
    streams: Arc<Semaphore>,
}

impl LiveUpdates {
    pub(crate) fn new() -> Self {
        LiveUpdates {
            told: broadcast::channel(256).0,
            queues: Mutex::default(),
            streams: Arc::new(Semaphore::new(STREAMS)),
        }
    }

    /// Lets every page go.
    pub(crate) fn end(&self) {
        // Nobody may be listening.
        let _ = self.told.send(PageEvent::End);
    }

    fn with<T>(&self, queue: &str, change: impl FnOnce(&mut CachedQueue) -> T) -> T {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        change(queues.entry(queue.to_string()).or_default())
    }

    /// What evaluators added over time, oldest first.
    pub(super) fn trust(&self, queue: &str) -> Vec<Trusted> {
        self.with(queue, |remembered| remembered.trust.clone())
    }

    #[cfg(test)]
    pub(super) fn remember(&self, queue: &str, trust: Vec<Trusted>) {
        self.with(queue, |remembered| remembered.trust = trust);
    }

    /// What was last seen of a queue that has come to these marks, and as of when that is so: where it is still so, or it is too early to look
    /// again.
    pub(super) fn seen(&self, queue: &str, marks: (u64, u64)) -> Option<(Arc<QueueSnapshot>, i64)> {
        self.with(queue, |remembered| {
            let (seen, at, took) = remembered.seen.as_ref()?;
            let same = (seen.head, seen.model) == marks;
            let shown = is_shown(same, at.elapsed(), *took).then(|| seen.clone())?;
            remembered.behind |= !same;
            let so = if same { super::format::now() } else { shown.now };
            Some((shown, so))
        })
    }

    pub(super) fn note(&self, queue: &str, seen: &Arc<QueueSnapshot>, took: Duration) {
        self.with(queue, |remembered| remembered.seen = Some((seen.clone(), Instant::now(), took)));
    }

    /// What was seen of a queue before somebody changed it is of no use.
    pub(super) fn forget(&self, queue: &str) {
        self.with(queue, |remembered| remembered.seen = None);
    }

    fn only(&self, names: &[String]) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|name, _| names.contains(name));
    }
}

/// Looks after the queues, for as long as the server runs.
pub(crate) async fn watch(app: App) {
    let mut looked = Instant::now();
    loop {
        tokio::time::sleep(LOOK.0).await;
        if app.0.watch.told.receiver_count() == 0 && looked.elapsed() < LOOK.1 {
            continue;
        }
        looked = Instant::now();
        let asked = app.clone();
        // A database that is away now is there later.
        let _ = app.wait(move || look(&asked)).await;
    }
}

fn look(app: &App) -> Result<(), Error> {
    let (service, watch) = (&app.0.service, &app.0.watch);
    let names = service.names()?;
    watch.only(&names);
    for name in names {
        let Ok(queue) = service.queue(&name) else { continue };
        let Ok(standing) = queue.standing() else { continue };
        let (head, model) = watch.with(&name, |remembered| remembered.marks);
        let again = watch.with(&name, |remembered| {
            let again = remembered.behind && remembered.may_look();
            remembered.behind &= !again;
            again
        });
        if (standing.head, standing.model) == (head, model) && !again {
            continue;
        }
        let first = head == 0;
        let mut trust = if first { queue.trusted().unwrap_or_default() } else { Vec::new() };
        if standing.model != model
            && let Ok(now) = queue.model()
        {
            trust.extend(queue.trusted_by(&now).ok().flatten());
            // A change that is over before anybody opens a page is noticed all the same, and found there later.
            let _ = queue.noticed(&now);
        }
        watch.with(&name, |remembered| {
            remembered.marks = (standing.head, standing.model);
            remembered.trust.extend(trust);
            if remembered.trust.len() > REMEMBERED {
                let mut at = 0;
                remembered.trust.retain(|_| {
                    at += 1;
                    at % 2 == 0
                });
            }
        });
        let _ = watch.told.send(PageEvent::Changed(name));
    }
    Ok(())
}

/// Lines as they come.
struct EventLines(mpsc::Receiver<String>);

impl Stream for EventLines {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|line| line.map(|line| Ok(Bytes::from(line))))
    }
}

/// Which queues change, as it happens.
pub(super) async fn stream(State(app): State<App>, caller: Caller) -> Result<Response, Problem> {
    let Ok(place) = app.0.watch.streams.clone().try_acquire_owned() else {
        let advice = "Close other pages of this server; this one is right as of when it was loaded.";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many pages listen", advice)
            .retry_after(30));
    };
    let (lines, receiver) = mpsc::channel(64);
    let mut told = app.0.watch.told.subscribe();
    tokio::spawn(async move {
        let _place = place;
        let cut = tokio::time::sleep(CUT);
        tokio::pin!(cut);
        let mut looks = tokio::time::interval(MAY_STAY);
        // Who has lost sight of a server comes again soon.
        let (mut line, mut said) = ("retry: 1000\n\n".to_string(), Instant::now());
        loop {
            if lines.send(std::mem::take(&mut line)).await.is_err() {
                return;
            }
            while line.is_empty() {
                tokio::select! {
                    next = told.recv() => match next {
                        Err(broadcast::error::RecvError::Lagged(_)) => line = STILL_HERE.into(),
                        Err(broadcast::error::RecvError::Closed) | Ok(PageEvent::End) => return,
                        Ok(PageEvent::Changed(queue)) if caller.sees(&queue) => {
                            let told = serde_json::json!({ "queue": queue, "at": super::format::now() / 1000 });
                            line = format!("data: {told}\n\n");
                        }
                        Ok(PageEvent::Changed(_)) => {}
                    },
                    _ = looks.tick() => {
                        if !caller.may_stay(&app).await {
                            return;
                        }
                        if said.elapsed() >= QUIET {
                            line = STILL_HERE.into();
                        }
                    }
                    () = &mut cut => return,
                }
            }
            said = Instant::now();
        }
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    Ok((kind, Body::from_stream(EventLines(receiver))).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_slow_to_look_at_is_shown_for_longer() {
        let ms = Duration::from_millis;
        // Quick to look at: shown again for ten seconds where nothing has changed, and for one where something has.
        assert!(is_shown(true, ms(9_999), ms(5)) && !is_shown(true, ms(10_000), ms(5)));
        assert!(is_shown(false, ms(999), ms(5)) && !is_shown(false, ms(1_000), ms(5)));
        // Slow: for ten times as long as it took, whether or not, and half a minute at the most.
        for same in [true, false] {
            assert!(is_shown(same, ms(22_600), ms(2_300)) && !is_shown(same, ms(23_000), ms(2_300)));
            assert!(is_shown(same, ms(29_999), ms(9_000)) && !is_shown(same, ms(30_000), ms(9_000)));
        }
    }
}

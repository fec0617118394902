//! Live updates: a stream of server-sent events that says which queue has changed. Also the cache
//! of snapshots, and of influence over time.

use super::snapshot::QueueSnapshot;
use crate::app::App;
use crate::guard::Caller;
use crate::problem::Problem;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use jurybox_server::{Error, EvaluatorInfluence};
use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, broadcast, mpsc};

/// How often queues are checked for changes: while a page listens, and while none does. The checks
/// also record influence over time.
const LOOK: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// A stream ends after this time, and the page reconnects, because a proxy may no longer let the
/// person in.
const CUT: Duration = Duration::from_mins(10);
/// How often a stream checks that its caller still has access.
const MAY_STAY: Duration = Duration::from_secs(2);
/// A stream without news sends a comment about this often, to show that it is alive.
const QUIET: Duration = Duration::from_secs(15);
const STILL_HERE: &str = ": still here\n\n";
/// The most streams at once.
const STREAMS: usize = 512;
/// The most moments of influence that are kept per queue. If there are more, every other one is
/// dropped.
const REMEMBERED: usize = 240;

/// What a stream passes on.
#[derive(Debug, Clone)]
enum PageEvent {
    /// A queue has changed.
    Changed(String),
    /// The server is shutting down.
    End,
}

/// The cache of one queue.
#[derive(Default)]
struct CachedQueue {
    /// The last log entry and the ranking model when the queue was last checked.
    marks: (u64, u64),
    /// The influence of the evaluators over time, oldest first.
    trust: Vec<EvaluatorInfluence>,
    /// The last snapshot, when it was read, and how long that took.
    seen: Option<(Arc<QueueSnapshot>, Instant, Duration)>,
    /// Whether an outdated snapshot was shown, so that pages must be told again.
    behind: bool,
}

impl CachedQueue {
    /// Whether a new snapshot may be read.
    fn may_look(&self) -> bool {
        self.seen.as_ref().is_none_or(|(_, at, took)| is_rested(at.elapsed(), *took))
    }
}

/// Whether enough time has passed to read a queue again: ten times as long as the last reading
/// took, but at least 1 second, and at most 30.
fn is_rested(since: Duration, took: Duration) -> bool {
    const RESTS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
    since >= (10 * took).clamp(RESTS.0, RESTS.1)
}

/// Whether a cached snapshot is shown again. An unchanged queue (`same`) is read again after ten
/// seconds, because ages on the page grow. No queue is read again before [`is_rested`] allows it.
fn is_shown(same: bool, since: Duration, took: Duration) -> bool {
    const STAYS: Duration = Duration::from_secs(10);
    (same && since < STAYS) || !is_rested(since, took)
}

/// The channel to all pages, and the cache of each queue.
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

    /// Ends all streams.
    pub(crate) fn end(&self) {
        // Sending fails if no page listens.
        let _ = self.told.send(PageEvent::End);
    }

    fn with<T>(&self, queue: &str, change: impl FnOnce(&mut CachedQueue) -> T) -> T {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        change(queues.entry(queue.to_string()).or_default())
    }

    /// The influence of evaluators over time, oldest first.
    pub(super) fn trust(&self, queue: &str) -> Vec<EvaluatorInfluence> {
        self.with(queue, |remembered| remembered.trust.clone())
    }

    #[cfg(test)]
    pub(super) fn remember(&self, queue: &str, trust: Vec<EvaluatorInfluence>) {
        self.with(queue, |remembered| remembered.trust = trust);
    }

    /// The cached snapshot of a queue, and the time it shows. `marks` are the present log entry and
    /// model. None if a new snapshot is due.
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

    /// Drops a queue's snapshot after a change of its settings.
    pub(super) fn forget(&self, queue: &str) {
        self.with(queue, |remembered| remembered.seen = None);
    }

    fn only(&self, names: &[String]) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|name, _| names.contains(name));
    }
}

/// Checks the queues for changes until the server ends.
pub(crate) async fn watch(app: App) {
    let mut looked = Instant::now();
    loop {
        tokio::time::sleep(LOOK.0).await;
        if app.0.watch.told.receiver_count() == 0 && looked.elapsed() < LOOK.1 {
            continue;
        }
        looked = Instant::now();
        let asked = app.clone();
        // If the database cannot be reached now, it is asked again later.
        let _ = app.wait(move || check_queues(&asked)).await;
    }
}

fn check_queues(app: &App) -> Result<(), Error> {
    let (service, watch) = (&app.0.service, &app.0.watch);
    let names = service.names()?;
    watch.only(&names);
    for name in names {
        let Ok(queue) = service.queue(&name) else { continue };
        let Ok(standing) = queue.status() else { continue };
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
        let mut trust = if first { queue.influences().unwrap_or_default() } else { Vec::new() };
        if standing.model != model
            && let Ok(now) = queue.model()
        {
            trust.extend(queue.influence_by(&now).ok().flatten());
            // This records a drift alarm even if it ends before anybody opens a page.
            let _ = queue.drift_incidents(&now);
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

/// The body of a stream: text from a channel.
struct EventLines(mpsc::Receiver<String>);

impl Stream for EventLines {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|line| line.map(|line| Ok(Bytes::from(line))))
    }
}

/// The endpoint of the stream, `/live`.
pub(super) async fn stream(State(app): State<App>, caller: Caller) -> Result<Response, Problem> {
    let Ok(place) = app.0.watch.streams.clone().try_acquire_owned() else {
        let advice = "Close other pages of this server, or reload this page to update it.";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many pages are open", advice)
            .retry_after(30));
    };
    let (lines, receiver) = mpsc::channel(64);
    let mut told = app.0.watch.told.subscribe();
    tokio::spawn(async move {
        let _place = place;
        let cut = tokio::time::sleep(CUT);
        tokio::pin!(cut);
        let mut looks = tokio::time::interval(MAY_STAY);
        // The browser reconnects after a second.
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
        // A quick snapshot is shown for ten seconds if nothing has changed, else for one.
        assert!(is_shown(true, ms(9_999), ms(5)) && !is_shown(true, ms(10_000), ms(5)));
        assert!(is_shown(false, ms(999), ms(5)) && !is_shown(false, ms(1_000), ms(5)));
        // A slow snapshot is shown for ten times as long as it took, but for half a minute at most.
        for same in [true, false] {
            assert!(is_shown(same, ms(22_600), ms(2_300)) && !is_shown(same, ms(23_000), ms(2_300)));
            assert!(is_shown(same, ms(29_999), ms(9_000)) && !is_shown(same, ms(30_000), ms(9_000)));
        }
    }
}

//! The state that all requests share, and how handlers wait for queues and the database.

use crate::demo::DemoControl;
use crate::guard::Keys;
use crate::log_writer::LogWriter;
use crate::metrics::Metrics;
use crate::pages::{LiveUpdates, Sessions};
use crate::problem::Problem;
use crate::rate_limit::RateLimits;
use crate::settings::Settings;
use jurybox_server::{Answer, Call, Error, LocalSocket, Queue, Service};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// How long a cached queue handle is used before the queue is looked up again, because another
/// server may have deleted the queue.
const KNOWN_FOR: Duration = Duration::from_secs(1);
/// A database that takes longer than this to list its queues counts as unreachable.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// The most login requests (`POST /login`) answered at once; more get the status 503.
const DOORSTEP: usize = 512;

/// How long a request waits before it checks whether the database still answers. The check is
/// repeated after each further wait of this length.
const LONG: Duration = Duration::from_secs(4);
/// The error text if the database does not answer a check in time.
const SILENT: &str = "the database does not answer";

/// The shared state: the service, the settings, caches and metrics. Cloning is cheap.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let service = jurybox_server::Service::open(folder.path(), std::time::Duration::ZERO)?;
/// let app = jurybox_http::App::new(service, jurybox_http::Settings::default());
/// let _router = app.router(); // a service of tower's, to be tested without a socket
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct App(pub(crate) Arc<AppState>);

pub(crate) struct AppState {
    pub(crate) service: Arc<Service>,
    pub(crate) settings: Settings,
    pub(crate) keys: Keys,
    pub(crate) buckets: RateLimits,
    pub(crate) metrics: Metrics,
    pub(crate) log: LogWriter,
    /// Limits the number of requests answered at once. Logins have a limit of their own, and
    /// `/healthz` has none.
    pub(crate) room: Semaphore,
    /// Limits the number of login attempts answered at once.
    pub(crate) doorstep: Semaphore,
    /// One preview at a time, because each replays a queue's whole log.
    pub(crate) previews: Semaphore,
    /// At most four reports, snapshots and item pages together at a time, because each reads many
    /// rows.
    pub(crate) reports: Semaphore,
    /// Four exports at a time, because each holds a thread for as long as the client reads.
    pub(crate) exports: Arc<Semaphore>,
    /// The login sessions of pages.
    pub(crate) sessions: Sessions,
    /// The live updates and caches of pages.
    pub(crate) watch: LiveUpdates,
    /// The cached queue handles by name, and when each was looked up.
    known: Mutex<HashMap<String, (Queue, Instant)>>,
    /// Whether all queues were loaded once.
    ready: AtomicBool,
    /// When the running check of the database began; None if no check is running.
    asking: Mutex<Option<Instant>>,
}

impl App {
    /// A server for the queues of a service. `/readyz` answers 503 until the queues are
    /// [loaded](Self::load).
    pub fn new(service: impl Into<Arc<Service>>, settings: Settings) -> Self {
        App(Arc::new(AppState {
            keys: Keys::default(),
            buckets: RateLimits::new(settings.limits.per_second),
            metrics: Metrics::new(),
            log: LogWriter::new(),
            room: Semaphore::new(settings.limits.max_requests),
            doorstep: Semaphore::new(DOORSTEP),
            previews: Semaphore::new(1),
            reports: Semaphore::new(4),
            exports: Arc::new(Semaphore::new(4)),
            sessions: Sessions::default(),
            watch: LiveUpdates::new(),
            known: Mutex::default(),
            ready: AtomicBool::new(false),
            asking: Mutex::default(),
            service: service.into(),
            settings,
        }))
    }

    /// Opens a local socket for commands on this machine while this server holds the folder's lock.
    /// The socket closes when the result is dropped. None if it cannot be opened.
    pub fn open_local_socket(&self, folder: &Path) -> Option<LocalSocket> {
        self.0.service.open_local_socket(folder)
    }

    /// Writes a line to standard error, among the lines of the request log, without waiting. A line
    /// that does not fit into the buffer is dropped.
    pub fn say(&self, line: String) {
        self.0.log.line(line);
    }

    /// All routes as one tower service.
    pub fn router(&self) -> axum::Router {
        crate::routes::router(self)
    }

    /// Loads all queues, after which `/readyz` reports ready. Returns the queues that cannot be
    /// served, each with its error; the others are served.
    ///
    /// # Errors
    /// If the keys or the list of queues cannot be read, or on a transient error of a queue.
    pub fn load(&self) -> Result<Vec<(String, Error)>, Error> {
        self.0.keys.load(&self.0.service)?;
        let mut failed = Vec::new();
        for name in self.0.service.names()? {
            match self.0.service.queue(&name) {
                Ok(_) => {}
                // A transient error, such as of an unreachable database, may soon be over.
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => failed.push((name, error)),
            }
        }
        self.0.ready.store(true, Ordering::Release);
        Ok(failed)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.0.ready.load(Ordering::Acquire)
    }

    /// Whether requests without a key have all rights: the server listens on loopback, no proxy is
    /// set, and there never was a key (or there is none now and the settings allow it).
    pub fn is_open(&self) -> bool {
        let AppState { settings, keys, .. } = &*self.0;
        let unlocked = keys.never_existed() || (settings.open && keys.are_none());
        settings.listen.ip().is_loopback() && settings.proxy.is_none() && unlocked
    }

    /// Whether nobody has access: no key exists, no proxy is set, and the server is not
    /// [open](Self::is_open).
    pub fn is_locked_out(&self) -> bool {
        !self.is_open() && self.0.settings.proxy.is_none() && self.0.keys.are_none()
    }

    /// The control of the demo that feeds a queue of this server, if there is one.
    pub(crate) fn demo(&self) -> Option<&DemoControl> {
        self.0.settings.demo.as_ref()
    }

    /// A handle of the queue with this name, cached for a second.
    pub(crate) async fn queue(&self, name: &str) -> Result<Queue, Problem> {
        if let Ok(known) = self.0.known.lock()
            && let Some((queue, since)) = known.get(name)
            && since.elapsed() < KNOWN_FOR
        {
            return Ok(queue.clone());
        }
        let (app, wanted) = (self.clone(), name.to_string());
        let found = self.read(move || app.0.service.queue(&wanted)).await;
        let known = match &found {
            Ok(queue) => Some((queue.clone(), Instant::now())),
            Err(_) => None,
        };
        self.replace(name, known);
        Ok(found?)
    }

    /// Drops the cached handle of a queue that is deleted or created.
    pub(crate) fn forget(&self, name: &str) {
        self.replace(name, None);
    }

    /// Replaces a cached handle. Dropping the last handle of a queue waits for the queue's worker.
    /// The old handle is therefore dropped outside of the lock, on a thread that may block.
    fn replace(&self, name: &str, now: Option<(Queue, Instant)>) {
        let before = match (self.0.known.lock(), now) {
            (Ok(mut known), Some(now)) => known.insert(name.into(), now),
            (Ok(mut known), None) => known.remove(name),
            (Err(_), _) => None,
        };
        if before.is_some() {
            tokio::task::spawn_blocking(move || drop(before));
        }
    }

    /// Runs blocking work on a thread that may block. `Error::Closed` if the work panics.
    pub(crate) async fn wait<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(Error::Closed))
    }

    /// Checks whether the database answers within two seconds. Only one check runs at a time. A
    /// caller during a check gets Ok at once, or an error if that check has run for over two
    /// seconds.
    pub(crate) async fn reaches_database(&self) -> Result<(), Error> {
        self.check_database().await.map_err(Unreachable::into_error)
    }

    async fn check_database(&self) -> Result<(), Unreachable> {
        let since = {
            let mut asking = self.0.asking.lock().unwrap_or_else(PoisonError::into_inner);
            match *asking {
                Some(since) if since.elapsed() > ANSWERS_WITHIN => return Err(Unreachable::Silent),
                Some(_) => return Ok(()),
                None => *asking.insert(Instant::now()),
            }
        };
        let app = self.clone();
        let asked = self.wait(move || {
            let names = app.0.service.names();
            *app.0.asking.lock().unwrap_or_else(PoisonError::into_inner) = None;
            names.map(drop)
        });
        let left = ANSWERS_WITHIN.saturating_sub(since.elapsed());
        match tokio::time::timeout(left, asked).await {
            Ok(answered) => answered.map_err(Unreachable::Failed),
            Err(_) => Err(Unreachable::Silent),
        }
    }

    /// Sends a request to a queue and awaits the answer without blocking a thread.
    pub(crate) async fn ask(&self, queue: &Queue, call: Call) -> Result<Answer, Problem> {
        let (reply, answer) = tokio::sync::oneshot::channel();
        queue.submit(call, move |answer| drop(reply.send(answer)))?;
        let answer = async { answer.await.unwrap_or(Err(Error::Closed)) };
        Ok(self.while_reached(answer, Unreachable::outcome_unknown).await?)
    }

    /// Runs a blocking read, and gives up when the database stops answering.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.while_reached(self.wait(work), Unreachable::into_error).await
    }

    /// Runs a blocking change, and gives up when the database stops answering: then the outcome is
    /// unknown.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.while_reached(self.wait(work), Unreachable::outcome_unknown).await
    }

    /// Awaits an answer for as long as the database answers checks. `failed` turns a failed check
    /// into the error.
    async fn while_reached<T>(
        &self,
        answer: impl Future<Output = Result<T, Error>>,
        failed: impl Fn(Unreachable) -> Error,
    ) -> Result<T, Error> {
        let mut answer = std::pin::pin!(answer);
        loop {
            match tokio::time::timeout(LONG, &mut answer).await {
                Ok(answer) => return answer,
                Err(_) => self.check_database().await.map_err(&failed)?,
            }
        }
    }
}

/// Why a check of the database failed.
enum Unreachable {
    /// The database does not answer in time.
    Silent,
    /// The check ended with an error.
    Failed(Error),
}

impl Unreachable {
    fn into_error(self) -> Error {
        match self {
            Unreachable::Silent => Error::Database(SILENT.into()),
            Unreachable::Failed(error) => error,
        }
    }

    /// The error of a change. A silent database may still make the change; a repeated request with
    /// the same idempotency key makes it only once.
    fn outcome_unknown(self) -> Error {
        match self {
            Unreachable::Silent => Error::Unknown(SILENT.into()),
            Unreachable::Failed(error) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_a_silent_database_ends_with_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let service = Service::open(folder.path(), Duration::ZERO).unwrap();
        let app = App::new(service, Settings::default());
        // A check has been running for a minute.
        *app.0.asking.lock().unwrap() = Instant::now().checked_sub(Duration::from_mins(1));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let began = Instant::now();
        let never = std::future::pending::<Result<(), Error>>();
        let error = runtime.block_on(app.while_reached(never, Unreachable::into_error));
        assert!(matches!(&error, Err(Error::Database(why)) if why == SILENT), "{error:?}");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        // While the database answers checks, slow work may take its time.
        *app.0.asking.lock().unwrap() = None;
        let long = async {
            tokio::time::sleep(LONG + Duration::from_millis(200)).await;
            Ok(5)
        };
        assert!(matches!(runtime.block_on(app.while_reached(long, Unreachable::into_error)), Ok(5)));
    }
}

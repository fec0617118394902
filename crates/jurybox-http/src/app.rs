//! What all requests share.

use crate::rate_limit::RateLimits;
use crate::demo::DemoControl;
use crate::guard::Keys;
use crate::log_writer::LogWriter;
use crate::metrics::Metrics;
use crate::pages::{Sessions, LiveUpdates};
use crate::problem::Problem;
use crate::settings::Settings;
use jurybox_server::{Answer, Call, Door, Error, Queue, Service};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// How long a queue that was found is taken to be there still: another node may delete it.
const KNOWN_FOR: Duration = Duration::from_secs(1);
/// A database that takes longer than this to say what queues there are is away.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Strangers at the door at once.
const DOORSTEP: usize = 512;

/// After this long, whoever waits for an answer asks whether the database is there at all.
const LONG: Duration = Duration::from_secs(4);
/// What is said of a database that is there and does not answer.
const SILENT: &str = "the database does not answer";

/// What all requests share: the service, how it is set up, and what is counted.
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
    /// Room for requests that are answered at once.
    pub(crate) room: Semaphore,
    /// The same for those who are not known yet and show a key at the door: they take no place from those who are.
    pub(crate) doorstep: Semaphore,
    /// One preview at a time: each folds a whole log.
    pub(crate) previews: Semaphore,
    /// A few reports at a time: each reads all that was decided.
    pub(crate) reports: Semaphore,
    /// A few exports at a time: each holds a thread for as long as its reader takes.
    pub(crate) exports: Arc<Semaphore>,
    /// Who has logged in on a page.
    pub(crate) sessions: Sessions,
    /// What the pages are told of as it happens, and what they remember.
    pub(crate) watch: LiveUpdates,
    known: Mutex<HashMap<String, (Queue, Instant)>>,
    ready: AtomicBool,
    /// Since when the database is being asked whether it answers.
    asking: Mutex<Option<Instant>>,
}

impl App {
    /// A server for these queues. It is not ready before they are [loaded](Self::load).
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

    /// Lets commands of this machine in that would else wait for the folder; until what is given back is dropped.
    pub fn open_door(&self, folder: &Path) -> Option<Door> {
        self.0.service.open_door(folder)
    }

    /// Has a line written to standard error, beside the log, and does not wait for whoever reads it.
    pub fn say(&self, line: String) {
        self.0.log.line(line);
    }

    /// All routes, as one service.
    pub fn router(&self) -> axum::Router {
        crate::routes::router(self)
    }

    /// Loads all queues; from then on `/readyz` says so. Those that cannot be served, and why: the others are.
    pub fn load(&self) -> Result<Vec<(String, Error)>, Error> {
        self.0.keys.load(&self.0.service)?;
        let mut failed = Vec::new();
        for name in self.0.service.names()? {
            match self.0.service.queue(&name) {
                Ok(_) => {}
                // A database that is away is so for all of them.
                Err(error) if error.is_passing() => return Err(error),
                Err(error) => failed.push((name, error)),
            }
        }
        self.0.ready.store(true, Ordering::Release);
        Ok(failed)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.0.ready.load(Ordering::Acquire)
    }

    /// Whether anybody may ask: where there is no proxy, nobody from elsewhere can come, and there never was a key, or there is none and
    /// the settings say so.
    pub fn is_open(&self) -> bool {
        let AppState { settings, keys, .. } = &*self.0;
        let unlocked = keys.were_never() || (settings.open && keys.are_none());
        settings.listen.ip().is_loopback() && settings.proxy.is_none() && unlocked
    }

    /// Whether nobody may ask: keys were all revoked, and there is no proxy either.
    pub fn is_shut(&self) -> bool {
        !self.is_open() && self.0.settings.proxy.is_none() && self.0.keys.are_none()
    }

    /// The demo behind it, where there is one.
    pub(crate) fn demo(&self) -> Option<&DemoControl> {
        self.0.settings.demo.as_ref()
    }

    /// A queue by its name.
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

    /// A queue that was deleted or made anew is looked up again.
    pub(crate) fn forget(&self, name: &str) {
        self.replace(name, None);
    }

    /// Notes what is known of a queue. Whoever drops the last handle of one waits for its clerk: neither under the lock nor on a thread
    /// that answers others.
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

    /// Does what waits for something on a thread where that is no harm.
    pub(crate) async fn wait<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(Error::Closed))
    }

    /// Whether the database answers, asked at most once at a time: whoever comes while somebody asks believes that it does, unless that takes
    /// long already.
    pub(crate) async fn reaches_database(&self) -> Result<(), Error> {
        let away = || Error::Database(SILENT.into());
        let since = {
            let mut asking = self.0.asking.lock().unwrap_or_else(PoisonError::into_inner);
            match *asking {
                Some(since) if since.elapsed() > ANSWERS_WITHIN => return Err(away()),
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
        tokio::time::timeout(left, asked).await.unwrap_or_else(|_| Err(away()))
    }

    /// Asks a queue, and waits for the answer without holding a thread.
    pub(crate) async fn ask(&self, queue: &Queue, call: Call) -> Result<Answer, Problem> {
        let (reply, answer) = tokio::sync::oneshot::channel();
        queue.submit(call, move |said| drop(reply.send(said)))?;
        let answer = async { answer.await.unwrap_or(Err(Error::Closed)) };
        Ok(self.while_reached(answer).await.map_err(perhaps)?)
    }

    /// Reads something on a thread that may wait, as long as the database answers others.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.while_reached(self.wait(work)).await
    }

    /// Changes something on a thread that may wait, as long as the database answers others.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.read(work).await.map_err(perhaps)
    }

    /// Waits for an answer, however long it takes, as long as the database answers others.
    async fn while_reached<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let mut answer = std::pin::pin!(answer);
        loop {
            match tokio::time::timeout(LONG, &mut answer).await {
                Ok(answer) => return answer,
                Err(_) => self.reaches_database().await?,
            }
        }
    }
}

/// What a database does not answer may come to happen yet: asked again with its key, it happens once.
fn perhaps(error: Error) -> Error {
    match error {
        Error::Database(why) if why == SILENT => Error::Unknown(why),
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_database_that_does_not_answer_is_told_so() {
        let folder = tempfile::tempdir().unwrap();
        let service = Service::open(folder.path(), Duration::ZERO).unwrap();
        let app = App::new(service, Settings::default());
        // Somebody has been asking it for a minute.
        *app.0.asking.lock().unwrap() = Instant::now().checked_sub(Duration::from_mins(1));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let began = Instant::now();
        let never = std::future::pending::<Result<(), Error>>();
        let told = runtime.block_on(app.while_reached(never));
        assert!(matches!(&told, Err(Error::Database(why)) if why == SILENT), "{told:?}");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        // As long as it answers others, what takes long takes long.
        *app.0.asking.lock().unwrap() = None;
        let long = async {
            tokio::time::sleep(LONG + Duration::from_millis(200)).await;
            Ok(5)
        };
        assert!(matches!(runtime.block_on(app.while_reached(long)), Ok(5)));
    }
}

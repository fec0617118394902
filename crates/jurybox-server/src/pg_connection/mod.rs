//! A line to PostgreSQL: where it is, how it is encrypted, how long anything may take. What is said over it is the business of others.

mod address;

pub(crate) use address::{Address, without_password};

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_postgres::Client;
use tokio_postgres::error::Severity;

/// Why something did not come off.
#[derive(Debug, Clone)]
pub(crate) struct PgFailure {
    pub(crate) what: String,
    /// The line is gone, or nothing came back: whether it happened cannot be said from here. Else the database said no, and it
    /// has not.
    pub(crate) lost: bool,
    /// It may come off later as it is: the database is away, or is starting.
    pub(crate) passing: bool,
    /// The database has no room left on its disk.
    pub(crate) full: bool,
    /// The rule of the tables that it is against.
    pub(crate) rule: Option<String>,
}

impl PgFailure {
    pub(crate) fn lost(what: impl std::fmt::Display) -> Self {
        PgFailure { what: what.to_string(), lost: true, passing: true, full: false, rule: None }
    }

    pub(crate) fn to_error(&self) -> crate::Error {
        let what = self.what.clone();
        match &self.rule {
            Some(_) => crate::Error::Contradiction(what),
            None if self.full => crate::Error::DiskFull(what),
            None => crate::Error::Database(what),
        }
    }
}

impl From<tokio_postgres::Error> for PgFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(said) = error.as_db_error() {
            let detail = said.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
            let code = said.code().code();
            return PgFailure {
                what: format!("{}{detail} [{code}]", said.message()),
                lost: said.parsed_severity() != Some(Severity::Error),
                // Who may connect to what does not change by waiting.
                passing: !(code.starts_with("28") || code == "3D000"),
                full: code == "53100",
                rule: code.starts_with("23").then(|| said.constraint().unwrap_or(code).to_owned()),
            };
        }
        // The outermost words alone say little: `error connecting to server`.
        let mut what = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            what = format!("{what}: {inner}");
            cause = inner.source();
        }
        let passing = !what.contains("certificate") && !what.contains("authentication");
        PgFailure { what, lost: true, passing, full: false, rule: None }
    }
}

/// A connection, with all that drives it: a thread that waits for an answer also turns the wheels.
pub(crate) struct PgConnection {
    /// There until this is dropped.
    runtime: Option<Runtime>,
    client: Arc<Client>,
    dead: bool,
}

impl PgConnection {
    /// Connects, and says these words first.
    pub(crate) fn connect(address: &Address, first: &str) -> Result<Self, PgFailure> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(PgFailure::lost)?;
        let client = runtime.block_on(async {
            let joined = async {
                let (client, connection) = address.config().connect(address.tls()).await?;
                // It ends with the client; what went wrong is told to whoever asks next.
                tokio::spawn(connection);
                client.batch_execute(first).await?;
                Ok::<_, tokio_postgres::Error>(client)
            };
            match tokio::time::timeout(Duration::from_secs(20), joined).await {
                Ok(client) => client.map_err(PgFailure::from),
                Err(_) => Err(PgFailure::lost("nothing came back for 20 seconds")),
            }
        })?;
        Ok(PgConnection { runtime: Some(runtime), client: Arc::new(client), dead: false })
    }

    /// Whether the other end has not closed it, as far as can be told without asking.
    pub(crate) fn is_open(&self) -> bool {
        let Some(runtime) = self.runtime.as_ref().filter(|_| !self.dead) else { return false };
        // What came in while nobody waited is read in these turns.
        runtime.block_on(async {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        });
        !self.client.is_closed()
    }

    /// Sets something off and does not wait for it: it goes on whenever something is waited for.
    pub(crate) fn start<T: Send + 'static, F>(&mut self, what: impl FnOnce(Arc<Client>) -> F) -> QueryInFlight<T>
    where
        F: Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    {
        let runtime = self.runtime.as_ref().filter(|_| !self.dead)?;
        let under_way = runtime.spawn(what(self.client.clone()));
        // It is said in the first turn, and sent in the second.
        runtime.block_on(async {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        });
        Some(under_way)
    }

    /// Waits for an answer, but not for ever: after the limit the line is dead.
    pub(crate) fn wait<'a, T>(
        &'a mut self,
        limit: Duration,
        what: impl AsyncFnOnce(&'a Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, PgFailure> {
        let Some(runtime) = self.runtime.as_ref().filter(|_| !self.dead) else {
            return Err(PgFailure::lost("the connection is closed"));
        };
        let client = &self.client;
        if let Ok(answer) = runtime.block_on(async { tokio::time::timeout(limit, what(client)).await }) {
            return answer.map_err(PgFailure::from);
        }
        self.dead = true;
        Err(PgFailure::lost(format!("nothing came back for {} seconds", limit.as_secs())))
    }
}

impl Drop for PgConnection {
    fn drop(&mut self) {
        // The database rolls back what was open. A runtime that is dropped in another one's thread would panic without this.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What was set off; none where the line is dead, which is told to whoever waits next.
pub(crate) type QueryInFlight<T> = Option<tokio::task::JoinHandle<Result<T, tokio_postgres::Error>>>;

/// A request that is on its way, or is about to be.
type PendingQuery<'a, T> = std::pin::Pin<Box<dyn Future<Output = Result<T, tokio_postgres::Error>> + Send + 'a>>;

/// Begins all of these in their order, and only then waits: one journey for all. The first error, if there is one.
pub(crate) async fn in_order<T>(mut futures: Vec<PendingQuery<'_, T>>) -> Result<Vec<T>, tokio_postgres::Error> {
    let mut early: Vec<Option<Result<T, tokio_postgres::Error>>> = Vec::with_capacity(futures.len());
    std::future::poll_fn(|context| {
        // A request is on its way when it has been polled once.
        for future in &mut futures {
            early.push(match future.as_mut().poll(context) {
                std::task::Poll::Ready(done) => Some(done),
                std::task::Poll::Pending => None,
            });
        }
        std::task::Poll::Ready(())
    })
    .await;
    let mut answers = Vec::with_capacity(futures.len());
    for (future, early) in futures.into_iter().zip(early) {
        answers.push(match early {
            Some(done) => done?,
            None => future.await?,
        });
    }
    Ok(answers)
}

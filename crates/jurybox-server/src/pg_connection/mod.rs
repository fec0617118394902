//! A connection to PostgreSQL, with time limits and typed failures.

mod address;

pub(crate) use address::{Address, without_password};

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_postgres::Client;
use tokio_postgres::error::Severity;

/// A failed operation on a connection.
#[derive(Debug, Clone)]
pub(crate) struct PgFailure {
    pub(crate) what: String,
    /// Whether the outcome is unknown, because the connection ended or timed out. Otherwise the
    /// database refused the operation, which has had no effect.
    pub(crate) lost: bool,
    /// Whether the operation may succeed later, for example if the database is starting.
    pub(crate) transient: bool,
    /// Whether the database's disk is full.
    pub(crate) full: bool,
    /// The violated constraint of a table, or the error code if the database names none.
    pub(crate) rule: Option<String>,
}

impl PgFailure {
    pub(crate) fn lost(what: impl std::fmt::Display) -> Self {
        PgFailure { what: what.to_string(), lost: true, transient: true, full: false, rule: None }
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
                // A refused login or a missing database is not mended by waiting.
                transient: !(code.starts_with("28") || code == "3D000"),
                full: code == "53100",
                rule: code.starts_with("23").then(|| said.constraint().unwrap_or(code).to_owned()),
            };
        }
        // The outermost message says little, such as `error connecting to server`.
        let mut what = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            what = format!("{what}: {inner}");
            cause = inner.source();
        }
        // Failures of certificates and of authentication are permanent. The driver does not publish
        // these kinds of failure, so its message tells them apart.
        let transient = !what.contains("certificate") && !what.contains("authentication");
        PgFailure { what, lost: true, transient, full: false, rule: None }
    }
}

/// A connection with its own runtime, which runs on the thread that waits for an answer.
pub(crate) struct PgConnection {
    /// None only while the connection is dropped.
    runtime: Option<Runtime>,
    client: Arc<Client>,
    dead: bool,
}

impl PgConnection {
    /// Connects and runs the statements `first`, within 20 seconds.
    pub(crate) fn connect(address: &Address, first: &str) -> Result<Self, PgFailure> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(PgFailure::lost)?;
        let client = runtime.block_on(async {
            let joined = async {
                let (client, connection) = address.config().connect(address.tls()).await?;
                // The task ends with the client. The next query reports its errors.
                tokio::spawn(connection);
                client.batch_execute(first).await?;
                Ok::<_, tokio_postgres::Error>(client)
            };
            match tokio::time::timeout(Duration::from_secs(20), joined).await {
                Ok(client) => client.map_err(PgFailure::from),
                Err(_) => Err(PgFailure::lost("no answer for 20 seconds")),
            }
        })?;
        Ok(PgConnection { runtime: Some(runtime), client: Arc::new(client), dead: false })
    }

    /// Whether the connection is open, as far as messages received so far tell.
    pub(crate) fn is_open(&self) -> bool {
        let Some(runtime) = self.runtime.as_ref().filter(|_| !self.dead) else { return false };
        // Processes messages that arrived while nobody waited.
        runtime.block_on(async {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        });
        !self.client.is_closed()
    }

    /// Starts a query without waiting for its answer. It makes progress only while something waits
    /// on this connection.
    pub(crate) fn start<T: Send + 'static, F>(
        &mut self,
        what: impl FnOnce(Arc<Client>) -> F,
    ) -> QueryInFlight<T>
    where
        F: Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    {
        let runtime = self.runtime.as_ref().filter(|_| !self.dead)?;
        let under_way = runtime.spawn(what(self.client.clone()));
        // A few turns of the runtime write the query and send it.
        runtime.block_on(async {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        });
        Some(under_way)
    }

    /// Runs a query with a time limit. After a time-out the connection is unusable.
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
        Err(PgFailure::lost(format!("no answer for {} seconds", limit.as_secs())))
    }
}

impl Drop for PgConnection {
    fn drop(&mut self) {
        // The database rolls back an open transaction. A plain drop would panic within another
        // runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The task of a query that was started; None if the connection is unusable, which the next query
/// reports.
pub(crate) type QueryInFlight<T> = Option<tokio::task::JoinHandle<Result<T, tokio_postgres::Error>>>;

/// A query that may not have been sent yet.
type PendingQuery<'a, T> =
    std::pin::Pin<Box<dyn Future<Output = Result<T, tokio_postgres::Error>> + Send + 'a>>;

/// Starts all queries in order before waiting for any, to save round trips. Fails with the error of
/// the first query that fails.
pub(crate) async fn in_order<T>(
    mut futures: Vec<PendingQuery<'_, T>>,
) -> Result<Vec<T>, tokio_postgres::Error> {
    let mut early: Vec<Option<Result<T, tokio_postgres::Error>>> = Vec::with_capacity(futures.len());
    std::future::poll_fn(|context| {
        // The first poll of a query sends it.
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

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
    /// Whether the outcome is unknown, because the connection was lost or timed out. Otherwise the
    /// database refused the operation, and it has not happened.
    pub(crate) lost: bool,
    /// Whether the operation may succeed later, for example if the database is starting.
    pub(crate) transient: bool,
    /// Whether the database's disk is full.
    pub(crate) full: bool,
    /// The constraint of the tables that was violated.
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
                // Missing permissions and databases do not appear by waiting.
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
        // The driver keeps the kinds of these two private, so that only its words tell them apart.
        let transient = !what.contains("certificate") && !what.contains("authentication");
        PgFailure { what, lost: true, transient, full: false, rule: None }
    }
}

/// A connection with its own runtime, which runs on the thread that waits for an answer.
pub(crate) struct PgConnection {
    /// None only while this is dropped.
    runtime: Option<Runtime>,
    client: Arc<Client>,
    dead: bool,
}

impl PgConnection {
    /// Connects and runs the statements `first`.
    pub(crate) fn connect(address: &Address, first: &str) -> Result<Self, PgFailure> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(PgFailure::lost)?;
        let client = runtime.block_on(async {
            let joined = async {
                let (client, connection) = address.config().connect(address.tls()).await?;
                // Ends with the client. Its errors are reported by the next query.
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

    /// Whether the connection is open, as far as is known without asking the server.
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

    /// Starts a query without waiting for it. It proceeds whenever this connection waits for
    /// something.
    pub(crate) fn start<T: Send + 'static, F>(
        &mut self,
        what: impl FnOnce(Arc<Client>) -> F,
    ) -> QueryInFlight<T>
    where
        F: Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    {
        let runtime = self.runtime.as_ref().filter(|_| !self.dead)?;
        let under_way = runtime.spawn(what(self.client.clone()));
        // The first turn writes the query, the second sends it.
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
        // The database rolls back what was open. Dropping a runtime within another one would panic.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A query that was started; none if the connection is unusable, which the next query reports.
pub(crate) type QueryInFlight<T> = Option<tokio::task::JoinHandle<Result<T, tokio_postgres::Error>>>;

/// A query that may not have been sent yet.
type PendingQuery<'a, T> =
    std::pin::Pin<Box<dyn Future<Output = Result<T, tokio_postgres::Error>> + Send + 'a>>;

/// Starts all queries in order before waiting for any, to save round trips. Returns the first
/// error, if there is one.
pub(crate) async fn in_order<T>(
    mut futures: Vec<PendingQuery<'_, T>>,
) -> Result<Vec<T>, tokio_postgres::Error> {
    let mut early: Vec<Option<Result<T, tokio_postgres::Error>>> = Vec::with_capacity(futures.len());
    std::future::poll_fn(|context| {
        // Polling a query once sends it.
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

//! The handlers of the API by subject, and the extractors that they share.

pub(crate) mod claims;
pub(crate) mod demo;
pub(crate) mod export;
pub(crate) mod health;
pub(crate) mod item_stream;
pub(crate) mod items;
pub(crate) mod queues;
pub(crate) mod reads;
pub(crate) mod verdicts;
pub(crate) mod webhooks;

use crate::app::App;
use crate::guard::Caller;
use crate::problem::Problem;
use axum::RequestExt;
use axum::extract::{FromRequestParts, Query, RawPathParams, Request as HttpRequest};
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode};
use jurybox_server::{Answer, Call, Error, Queue, Request};
use serde::de::DeserializeOwned;

/// The queue in a request's path.
pub(crate) struct QueuePath(pub(crate) String);

/// The queue and the item in a request's path.
pub(crate) struct ItemPath(pub(crate) String, pub(crate) String);

async fn params<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<RawPathParams, Problem> {
    RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|_| Problem::malformed("the path is not UTF-8"))
}

fn param(params: &RawPathParams, wanted: &str) -> String {
    params.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.to_string()).unwrap_or_default()
}

/// The queue in a request's path, if its route has one. The guard checks this name, and
/// [`QueuePath`] gives the same name to handlers.
pub(crate) async fn queue_of(request: &mut HttpRequest) -> Option<String> {
    let params = request.extract_parts::<RawPathParams>().await.ok()?;
    params.iter().find(|(name, _)| *name == "queue").map(|(_, value)| value.to_string())
}

impl<S: Send + Sync> FromRequestParts<S> for QueuePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Ok(QueuePath(param(&params(parts, state).await?, "queue")))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ItemPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let params = params(parts, state).await?;
        let item = params.iter().find(|(name, _)| *name == "item").map(|(_, value)| value.to_string());
        // A route without a parameter for the item can only be `…/items/close`.
        Ok(ItemPath(param(&params, "queue"), item.unwrap_or_else(|| "close".into())))
    }
}

/// The parsed query of a URL.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(asked)) => Ok(QueryParams(asked)),
            Err(error) => {
                let why = error.body_text();
                let why = why.strip_prefix("Failed to deserialize query string: ").unwrap_or(&why);
                Err(Problem::unusable(format!("the query: {why}")))
            }
        }
    }
}

/// The idempotency key of a request, if it has one.
pub(crate) struct Idempotency(Option<String>);

/// The most characters of an idempotency key.
const LONGEST_KEY: usize = 200;

impl<S: Send + Sync> FromRequestParts<S> for Idempotency {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let name = HeaderName::from_static("idempotency-key");
        let Some(key) = parts.headers.get(name) else { return Ok(Idempotency(None)) };
        let key = key.to_str().ok().filter(|key| {
            (1..=LONGEST_KEY).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
        });
        let key = key.ok_or_else(|| {
            Problem::malformed(format!(
                "an Idempotency-Key has 1 to {LONGEST_KEY} ASCII characters without spaces"
            ))
        })?;
        Ok(Idempotency(Some(key.into())))
    }
}

impl Idempotency {
    pub(crate) fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// A call with this key for one part of a request. The key is prefixed with the caller's name,
    /// so that callers cannot collide. Parts after the first have their number appended to the key.
    pub(crate) fn call(&self, caller: &Caller, request: Request, part: usize) -> Call {
        let call = Call::new(caller.actor.clone(), request);
        match (&self.0, part) {
            (None, _) => call,
            (Some(key), 0) => call.with_key(format!("{}\u{1f}{key}", caller.actor)),
            (Some(key), part) => call.with_key(format!("{}\u{1f}{key}\u{1f}{part}", caller.actor)),
        }
    }
}

/// Sends a request to the queue of this name.
pub(crate) async fn ask(
    app: &App,
    queue: &str,
    caller: &Caller,
    key: &Idempotency,
    request: Request,
) -> Result<Answer, Problem> {
    let found = app.queue(queue).await?;
    app.ask(&found, key.call(caller, request, 0)).await
}

/// Reads from the queue of this name, on a thread that may block.
pub(crate) async fn read_queue<T: Send + 'static>(
    app: &App,
    queue: &str,
    read: impl FnOnce(&Queue) -> Result<T, Error> + Send + 'static,
) -> Result<T, Problem> {
    let found = app.queue(queue).await?;
    Ok(app.read(move || read(&found)).await?)
}

/// The problem if a queue's answer is not of the expected kind.
pub(crate) fn unexpected() -> Problem {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "the queue gave an answer of another kind",
        "Please report it.",
    )
}

pub(crate) fn no_asset() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no_route", "there is nothing at this path", "/api lists all paths.")
}

pub(crate) fn no_item(item: &str) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "no_item",
        format!("there is no item {item:?} in this queue"),
        "Send it with POST /v1/queues/{queue}/items.",
    )
}

//! Middleware around every request: request id, log line, metrics and security headers.

use crate::app::App;
use crate::guard::{Caller, Peer};
use crate::handlers::queue_of;
use crate::listen::HEAD;
use crate::pages;
use crate::problem::{Problem, RequestId};
use crate::settings::LogFormat;
use crate::time::Time;
use crate::unread_body::UnreadBody;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The content security policy of responses other than pages: nothing is loaded, only inline styles
/// apply, and no page may frame the response.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A line of the request log. It has the route's pattern instead of the path and query, because
/// item ids and queries may be confidential.
#[derive(Serialize)]
struct RequestLine<'a> {
    at: String,
    level: &'static str,
    request_id: &'a str,
    method: &'a str,
    route: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    /// The full text of an internal error, which clients may not see.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<String>,
}

/// The outermost middleware: gives the request an id, limits the number of requests, counts and
/// logs the response, and sets its headers.
pub(crate) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let (head, body) = request.into_parts();
    let (body, rest) = UnreadBody::of(&head.headers, body);
    let mut request = Request::from_parts(head, body);
    let id = RequestId(client_request_id(&request).unwrap_or_else(new_id));
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_string());
    let route = route.unwrap_or_else(|| "unknown".into());
    let queue = queue_of(&mut request).await.filter(|name| is_loggable(name, 64));
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip().to_string());
    let person = pages::is_person(request.headers()).then(|| request.uri().path().to_string());
    let who = std::sync::Arc::new(std::sync::Mutex::new(None));
    request.extensions_mut().insert(CallerSlot(who.clone()));
    let at_the_door = route == "/login" && request.method() == axum::http::Method::POST;
    let room = if at_the_door { &app.0.doorstep } else { &app.0.room }.try_acquire();
    let mut response = if head_size(&request) > HEAD {
        too_long().into_response()
    } else if room.is_ok() || route == "/healthz" {
        next.run(request).await
    } else {
        busy().into_response()
    };
    drop(room);
    if let Some(rest) = rest {
        rest.settle(&mut response).await;
    }
    let (mut code, mut cause) = (None, None);
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        code = Some(problem.code().to_string());
        cause = problem.cause().map(String::from);
        // Writes the body again, as a page or with the request's id. Headers that other layers have
        // set stay.
        if let Some(path) = person {
            pages::explain(&mut response, &problem, &id.0, &path);
        } else {
            response.headers_mut().remove(header::CONTENT_LENGTH);
            *response.body_mut() = problem.into_response_for(Some(&id)).into_body();
        }
    }
    set_headers(&mut response, &id);
    let (status, took) = (response.status(), began.elapsed());
    app.0.metrics.note(&route, method.as_str(), status.as_u16(), took);
    let actor = who.lock().ok().and_then(|mut who| who.take());
    let line = RequestLine {
        at: now().to_string(),
        level: if status.is_server_error() { "error" } else { "info" },
        request_id: &id.0,
        method: method.as_str(),
        route: &route,
        queue: queue.as_deref(),
        status: status.as_u16(),
        code: code.as_deref(),
        cause: cause.as_deref(),
        ms: (took.as_secs_f64() * 1e6).round() / 1e3,
        actor: actor.as_deref(),
        peer,
    };
    if let Some(text) = text_of(app.0.settings.log, &line) {
        app.0.log.line(text);
    }
    response
}

/// A slot in a request for the caller's name, filled by [`note_caller`].
#[derive(Clone)]
struct CallerSlot(std::sync::Arc<std::sync::Mutex<Option<String>>>);

/// Middleware behind the guard: fills the slot of `observe` with the caller's name.
pub(crate) async fn note_caller(request: Request, next: Next) -> Response {
    if let (Some(CallerSlot(who)), Some(caller)) =
        (request.extensions().get::<CallerSlot>(), request.extensions().get::<Caller>())
        && let Ok(mut who) = who.lock()
    {
        *who = Some(caller.actor.clone());
    }
    next.run(request).await
}

/// The bytes of a request's path, query and headers. hyper accepts more than its limit if much
/// arrives at once, so the size is checked again.
fn head_size(request: &Request) -> usize {
    let path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum::<usize>() + path
}

fn too_long() -> Problem {
    Problem::new(
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        "head_too_large",
        format!("the path and the headers have more than {HEAD} bytes"),
        "Send long values in the body.",
    )
}

fn busy() -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "busy",
        "the server is answering too many requests",
        "Try again after the time in Retry-After, with the same Idempotency-Key.",
    )
    .retry_after(1)
}

/// The response to a panic in a handler.
pub(crate) fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "the server failed with an internal error",
        "Please report it, with the lines about this request from the server's log.",
    )
    .into_response()
}

/// The request id that the client sent, if it is safe to log.
fn client_request_id(request: &Request) -> Option<String> {
    let id = request.headers().get(REQUEST_ID)?.to_str().ok()?;
    is_loggable(id, 128).then(|| id.into())
}

/// Whether a text from a client is safe to log: 1 to `longest` ASCII letters, digits, `-`, `_`,
/// `.`.
fn is_loggable(name: &str, longest: usize) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=longest).contains(&name.len()) && name.bytes().all(is_plain)
}

fn new_id() -> String {
    use std::hash::{BuildHasher, RandomState};
    format!("{:016x}", RandomState::new().hash_one(Instant::now()))
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Sets the headers that every response has. Headers that a handler has set stay, except the id.
fn set_headers(response: &mut Response, id: &RequestId) {
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id.0) {
        headers.insert(REQUEST_ID, id);
    }
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

fn text_of(log: LogFormat, line: &RequestLine<'_>) -> Option<String> {
    match log {
        LogFormat::Off => None,
        LogFormat::Json => serde_json::to_string(line).ok(),
        LogFormat::Text => Some(format!(
            "{} {} {} {} {} ms{}{}{}",
            line.at,
            line.status,
            line.method,
            line.route,
            line.ms,
            line.queue.map(|queue| format!(" queue={queue}")).unwrap_or_default(),
            line.code.map(|code| format!(" {code}")).unwrap_or_default(),
            line.cause.map(|cause| format!(": {}", cause.escape_debug())).unwrap_or_default()
        )),
    }
}

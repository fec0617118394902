//! Errors as clients get them: `application/problem+json` (RFC 9457), with a stable code and
//! advice.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use jurybox_server::Error;
use serde::Serialize;
use std::borrow::Cow;

/// An error response.
///
/// ```
/// let error = jurybox_server::Error::NoQueue { name: "posts".into() };
/// let problem = jurybox_http::Problem::from(error);
/// assert_eq!((problem.status(), problem.code()), (404, "no_queue"));
/// ```
#[derive(Debug, Clone)]
pub struct Problem {
    status: StatusCode,
    code: Cow<'static, str>,
    detail: String,
    advice: Cow<'static, str>,
    /// The full text of a server error (status 5xx), for the server's log.
    cause: Option<String>,
    /// The seconds after which the same request may succeed.
    retry_after: Option<u32>,
}

/// The JSON body of a problem.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody {
    /// A stable URN for the kind of problem.
    #[serde(rename = "type")]
    #[schema(examples("urn:jurybox:problem:no_queue"))]
    kind: String,
    /// The HTTP status in words.
    title: &'static str,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// The last part of `type`.
    code: String,
    /// The fault of this request.
    detail: String,
    /// What to do about it.
    advice: String,
    /// The id of the request in the server's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
}

/// The id of a request, which the outermost middleware adds to the body of a problem.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

impl Problem {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        detail: impl Into<String>,
        advice: &'static str,
    ) -> Self {
        let (code, advice) = (Cow::Borrowed(code), Cow::Borrowed(advice));
        Problem { status, code, detail: detail.into(), advice, cause: None, retry_after: None }
    }

    /// The problem for a request that cannot be parsed (400).
    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Problem::new(
            StatusCode::BAD_REQUEST,
            "malformed",
            detail,
            "Correct the request; /openapi.json describes it.",
        )
    }

    /// The problem for a request that can be parsed, but has an invalid value (422).
    pub(crate) fn unusable(detail: impl Into<String>) -> Self {
        Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "refused",
            detail,
            "Correct the value that is named; /openapi.json describes it.",
        )
    }

    /// Appends to `detail` a report of the work done before the problem.
    pub(crate) fn after(mut self, done: &str) -> Self {
        self.detail = format!("{}; {done}", self.detail);
        self
    }

    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status.as_u16()
    }

    /// A stable word for the kind of problem, such as `no_queue`.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The fault of this request.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// What to do about the problem.
    pub(crate) fn advice(&self) -> &str {
        &self.advice
    }

    /// The seconds after which the same request may succeed.
    pub(crate) fn seconds(&self) -> Option<u32> {
        self.retry_after
    }

    pub(crate) fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    /// The response, with the request's id if known.
    pub(crate) fn into_response_for(self, request_id: Option<&RequestId>) -> Response<Body> {
        let body = ProblemBody {
            kind: format!("urn:jurybox:problem:{}", self.code),
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            code: self.code.clone().into_owned(),
            detail: self.detail.clone(),
            advice: self.advice.clone().into_owned(),
            request_id: request_id.map(|id| id.0.clone()),
        };
        let text = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // The problem is kept in the response, so that the request's id can be added later.
        response.extensions_mut().insert(self);
        response
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        self.into_response_for(None)
    }
}

const AGAIN: &str = "Try again after the time in Retry-After, with the same Idempotency-Key.";

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, advice) = match &error {
            Error::NoQueue { .. } => (StatusCode::NOT_FOUND, "Create it with PUT /v1/queues/{queue}."),
            Error::QueueExists { .. } => (StatusCode::CONFLICT, "Change it with PATCH /v1/queues/{queue}."),
            Error::Conflict(_) => (StatusCode::CONFLICT, "Read the current state, and decide again."),
            Error::KeyReused { .. } => {
                (StatusCode::UNPROCESSABLE_ENTITY, "Use a new Idempotency-Key for every new request.")
            }
            Error::Refused(_) | Error::Library(_) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "Correct the value that is named.")
            }
            Error::FileGone => (
                StatusCode::SERVICE_UNAVAILABLE,
                "The administrator should restore the file or a backup of it, and restart the server.",
            ),
            Error::DiskFull(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "The administrator should free space on the disk of the database. Then send the request again with the same Idempotency-Key.",
            ),
            Error::Outdated { .. } => (
                StatusCode::SERVICE_UNAVAILABLE,
                "The administrator should start the newer version of the program instead.",
            ),
            Error::Contradiction(_) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "Please report it, with the lines about this request from the server's log. Repeating the request does not help.",
            ),
            Error::Corrupt(_) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "The administrator should check the records: jurybox server verify.",
            ),
            _ => (StatusCode::SERVICE_UNAVAILABLE, AGAIN),
        };
        let detail = match &error {
            // Messages of the database may name hosts and users, so they go to the log only.
            Error::Database(_)
            | Error::DiskFull(_)
            | Error::Contradiction(_)
            | Error::Unknown(_)
            | Error::Open(_)
            | Error::Corrupt(_) => match &error {
                Error::Corrupt(_) => "the stored records contradict each other".into(),
                Error::DiskFull(_) => "the disk of the database is full: nothing was changed".into(),
                Error::Contradiction(_) => {
                    "the database refuses the change: it contradicts what is stored".into()
                }
                Error::Unknown(_) => {
                    "the database does not answer: it is not known whether the change was made".into()
                }
                _ => "the database is unreachable or overloaded".into(),
            },
            // A stored key is the caller's name, the character U+001F, and the client's key.
            Error::KeyReused { key } => {
                let own = key.split('\u{1f}').nth(1).unwrap_or(key);
                format!("Idempotency-Key `{own}` was used before, for another request")
            }
            _ => error.to_string(),
        };
        let passing = status == StatusCode::SERVICE_UNAVAILABLE;
        Problem {
            status,
            code: Cow::Owned(error.code().into()),
            detail,
            advice: Cow::Borrowed(advice),
            cause: status.is_server_error().then(|| error.to_string()),
            retry_after: passing.then(|| error.retry_after()),
        }
    }
}

//! Reading of JSON bodies within limits of size and time, and writing of JSON answers.

use crate::app::App;
use crate::guard::Caller;
use crate::problem::Problem;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// A JSON body, as an extractor and as a response.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for JsonBody<T> {
    fn into_response(self) -> Response<Body> {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => {
                let mut response = Response::new(Body::from(bytes));
                let kind = HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, kind);
                response
            }
            Err(error) => Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                format!("the answer cannot be written as JSON: {error}"),
                "Please report it.",
            )
            .into_response(),
        }
    }
}

impl<T: DeserializeOwned> FromRequest<App> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        check_media_type(request.headers(), &["application/json"])?;
        let bytes = read_body(request, app).await?;
        parse(&bytes).map(JsonBody)
    }
}

/// Parses a JSON body that is not a list.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    refuse_list(bytes)?;
    serde_json::from_slice(bytes).map_err(|error| json_problem(&error))
}

/// Refuses a list, because serde would read it as an object with its fields in order.
pub(crate) fn refuse_list(bytes: &[u8]) -> Result<(), Problem> {
    match bytes.trim_ascii_start().first() {
        Some(b'[') => Err(Problem::unusable("the body is a list; an object is expected")),
        _ => Ok(()),
    }
}

/// The problem for JSON that is malformed, or valid but of the wrong shape.
pub(crate) fn json_problem(error: &serde_json::Error) -> Problem {
    let detail = format!("the body: {}", reworded(&error.to_string()));
    if error.is_data() { Problem::unusable(detail) } else { Problem::malformed(detail) }
}

/// Rewords serde's errors from Rust's type names to JSON terms: the message about an untagged enum,
/// and the type after the last `expected`.
pub(crate) fn reworded(text: &str) -> String {
    // The only untagged enum in the bodies is the policy; serde's message names its Rust type.
    let (begin, rest) = text.split_once("data did not match any variant of untagged enum ").unzip();
    let rest = rest.map(|rest| rest.trim_start_matches(|c: char| c.is_alphanumeric()));
    let text = begin.zip(rest).map_or_else(|| text.to_owned(), |(begin, rest)| format!("{begin}{}{rest}",
        "a policy is its name, such as \"adaptive\" or \"adaptive(forget=true)\", or {\"name\": …, \"options\": {…}}"));
    let Some((found, expected)) = text.rsplit_once("expected ") else { return text };
    let (first, rest) = expected.split_once(' ').unwrap_or((expected, ""));
    let plain = match first {
        "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i64" => "a whole number",
        // serde names the Rust type after `struct`; that name is dropped.
        "struct" => {
            let rest = rest.split_once(' ').map_or("", |(_, rest)| rest);
            return format!("{found}expected an object {rest}").trim_end().to_owned();
        }
        _ => return text,
    };
    format!("{found}expected {plain} {rest}").trim_end().to_owned()
}

/// The media type of a body, without parameters. Refuses other types than `kinds`, and compressed
/// bodies, which could expand to any size.
pub(crate) fn check_media_type(headers: &HeaderMap, kinds: &[&str]) -> Result<String, Problem> {
    let unsupported = |detail: String| {
        Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            detail,
            "Send JSON, uncompressed, with Content-Type: application/json.",
        )
    };
    if let Some(encoding) = headers.get(header::CONTENT_ENCODING)
        && encoding != "identity"
    {
        return Err(unsupported("the body is compressed, which is not supported".into()));
    }
    let text = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kinds.contains(&essence.as_str()) {
        return Ok(essence);
    }
    Err(unsupported(match text {
        "" => format!("there is no Content-Type; {} is expected", kinds.join(" or ")),
        text => format!("the Content-Type is {text:?}; {} is expected", kinds.join(" or ")),
    }))
}

/// The problem for a body of more than `limit` bytes.
pub(crate) fn too_large(limit: u64) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too_large",
        format!("the body has more than {limit} bytes"),
        "Send it in parts, or items as JSON lines (application/x-ndjson).",
    )
}

/// The problem for a body that arrives too slowly.
pub(crate) fn too_slow() -> Problem {
    Problem::new(
        StatusCode::REQUEST_TIMEOUT,
        "too_slow",
        "the body did not arrive in time",
        "Send the request again with the same Idempotency-Key.",
    )
}

/// The most bytes, and the longest time, of a body from a caller who is not authenticated. A login
/// form fits.
const FROM_STRANGERS: (usize, Duration) = (8 << 10, Duration::from_secs(5));

/// Reads a whole body within the limits of its caller, which are tighter without authentication.
pub(crate) async fn read_body(request: Request, app: &App) -> Result<Bytes, Problem> {
    let limits = &app.0.settings.limits;
    let (most, patience) = if request.extensions().get::<Caller>().is_some() {
        (limits.body, limits.client_timeout)
    } else {
        (limits.body.min(FROM_STRANGERS.0), limits.client_timeout.min(FROM_STRANGERS.1))
    };
    let text = request.headers().get(header::CONTENT_LENGTH).and_then(|len| len.to_str().ok()?.parse().ok());
    if text.is_some_and(|text: u64| text > most as u64) {
        return Err(too_large(most as u64));
    }
    let body = Limited::new(request.into_body(), most).collect();
    match tokio::time::timeout(patience, body).await {
        Err(_) => Err(too_slow()),
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(most as u64)),
        Ok(Err(_)) => Err(Problem::malformed("the body broke off")),
    }
}

#[cfg(test)]
mod tests {
    use super::reworded;

    #[test]
    fn refusals_speak_of_json() {
        for (text, plain) in [
            (
                "invalid type: string \"x\", expected f64 at line 1 column 9",
                "invalid type: string \"x\", expected a number at line 1 column 9",
            ),
            (
                "invalid value: integer `300`, expected u8 at line 1",
                "invalid value: integer `300`, expected a whole number that is not negative at line 1",
            ),
            (
                "invalid type: integer `3`, expected struct Evaluator at line 2",
                "invalid type: integer `3`, expected an object at line 2",
            ),
            ("missing field `id` at line 1 column 2", "missing field `id` at line 1 column 2"),
        ] {
            assert_eq!(reworded(text), plain);
        }
    }
}

//! Compression of pages, styles and scripts with gzip, for browsers that accept it.
//!
//! The length of a compressed page can reveal secrets that stand beside text of an attacker (the
//! BREACH attack). Pages contain no secrets: keys are never shown, and the session cookie is in the
//! headers. JSON, exports and event streams are not compressed.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::Body as _;
use std::io::Write;

/// The least size that is compressed, in bytes.
const LEAST: u64 = 2048;

/// Whether the client accepts `gzip`, with a weight above 0 (RFC 9110, section 12.5.3).
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut encodings = values.flat_map(|value| value.split(',')).map(|encoding| {
        let (name, weight) = encoding.split_once(';').unwrap_or((encoding, ""));
        let weight = weight.trim().strip_prefix("q=").and_then(|q| q.trim().parse::<f64>().ok());
        (name.trim(), weight.unwrap_or(1.0))
    });
    encodings.any(|(name, weight)| name.eq_ignore_ascii_case("gzip") && weight > 0.0)
}

/// Whether a response is HTML, CSS or JavaScript, and not compressed yet.
fn is_compressible(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default();
    let text = ["text/html", "text/css", "text/javascript"].iter().any(|text| kind.starts_with(text));
    text && !response.headers().contains_key(header::CONTENT_ENCODING)
}

/// Middleware: compresses a body of HTML, CSS or JavaScript that is long enough and in memory.
pub(super) async fn gzip(request: Request, next: Next) -> Response {
    let wanted = accepts_gzip(request.headers());
    let mut response = next.run(request).await;
    if !is_compressible(&response) {
        return response;
    }
    response.headers_mut().append(header::VARY, HeaderValue::from_static("accept-encoding"));
    let long = response.body().size_hint().exact().is_some_and(|length| length >= LEAST);
    if !wanted || !long {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let Ok(text) = to_bytes(body, usize::MAX).await else {
        // A body of exactly known length is in memory: reading it cannot fail.
        return Response::from_parts(head, Body::empty());
    };
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 4), Compression::new(5));
    let packed = encoder.write_all(&text).and_then(|()| encoder.finish());
    let Ok(packed) = packed else { return Response::from_parts(head, Body::from(text)) };
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Response::from_parts(head, Body::from(packed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clients_that_accept_gzip_get_it() {
        let accepts = |value: &str| {
            let headers = [(header::ACCEPT_ENCODING, HeaderValue::from_str(value).unwrap())];
            accepts_gzip(&headers.into_iter().collect())
        };
        assert!(accepts("gzip") && accepts("br, GZIP;q=0.5") && accepts("deflate,gzip ; q=1"));
        assert!(!accepts("br") && !accepts("gzip;q=0") && !accepts("") && !accepts_gzip(&HeaderMap::new()));
    }
}

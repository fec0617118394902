//! Pages packed for the way, where a browser takes them so: drawings are text that repeats itself, and a sixth of it is left.
//!
//! Nothing secret stands on a page beside what somebody else could put there and watch the length of: keys are never shown, and the cookie is in
//! the head. What programs ask for is sent as it is.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::Body as _;
use std::io::Write;

/// Shorter texts are not worth it: they fit into a packet or two.
const LEAST: u64 = 2048;

/// Whether whoever asks takes what is packed.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let told = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut ways = told.flat_map(|told| told.split(',')).map(|way| {
        let (name, weight) = way.split_once(';').unwrap_or((way, ""));
        let weight = weight.trim().strip_prefix("q=").and_then(|q| q.trim().parse::<f64>().ok());
        (name.trim(), weight.unwrap_or(1.0))
    });
    ways.any(|(name, weight)| name.eq_ignore_ascii_case("gzip") && weight > 0.0)
}

/// Whether it is text that was made as a whole. Streams are sent as they come.
fn is_text(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default();
    let text = ["text/html", "text/css", "text/javascript"].iter().any(|text| kind.starts_with(text));
    text && !response.headers().contains_key(header::CONTENT_ENCODING)
}

/// Packs what a page answers.
pub(super) async fn gzip(request: Request, next: Next) -> Response {
    let wanted = takes_gzip(request.headers());
    let mut response = next.run(request).await;
    if !is_text(&response) {
        return response;
    }
    response.headers_mut().append(header::VARY, HeaderValue::from_static("accept-encoding"));
    let long = response.body().size_hint().exact().is_some_and(|length| length >= LEAST);
    if !wanted || !long {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let Ok(text) = to_bytes(body, usize::MAX).await else {
        // Its length was known: it is in memory, and cannot fail to be read.
        return Response::from_parts(head, Body::empty());
    };
    let mut packer = GzEncoder::new(Vec::with_capacity(text.len() / 4), Compression::new(5));
    let packed = packer.write_all(&text).and_then(|()| packer.finish());
    let Ok(packed) = packed else { return Response::from_parts(head, Body::from(text)) };
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Response::from_parts(head, Body::from(packed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_take_it_is_not_sent_it() {
        let takes = |told: &str| {
            let headers = [(header::ACCEPT_ENCODING, HeaderValue::from_str(told).unwrap())];
            takes_gzip(&headers.into_iter().collect())
        };
        assert!(takes("gzip") && takes("br, GZIP;q=0.5") && takes("deflate,gzip ; q=1"));
        assert!(!takes("br") && !takes("gzip;q=0") && !takes("") && !takes_gzip(&HeaderMap::new()));
    }
}

//! The handling of request bodies that a handler did not read to the end. The unread rest would be
//! taken for the next request on the connection. A short rest is therefore read and discarded, and
//! a longer one closes the connection.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body as _, Frame, SizeHint};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// The most bytes of an unread rest that are read and discarded.
const MOST: u64 = 64 << 10;
/// How long reading an unread rest may take.
const WITHIN: Duration = Duration::from_secs(1);

/// A request's body, shared by the handler and [`UnreadBody`]; None once it has been read to its
/// end, or settled.
#[derive(Clone)]
struct SharedBody(Arc<Mutex<Option<Body>>>);

/// The part of a request's body that the handler has not read.
pub(crate) struct UnreadBody {
    shared: SharedBody,
    /// Whether the client waits for `100 Continue` before it sends the body.
    waits: bool,
}

impl UnreadBody {
    /// Splits a body into one for the handler and its unread rest. No rest if there is no body.
    pub(crate) fn of(headers: &HeaderMap, body: Body) -> (Body, Option<UnreadBody>) {
        if body.is_end_stream() {
            return (body, None);
        }
        let shared = SharedBody(Arc::new(Mutex::new(Some(body))));
        let rest = UnreadBody { shared: shared.clone(), waits: headers.contains_key(header::EXPECT) };
        (Body::new(shared), Some(rest))
    }

    /// Discards a rest of at most 64 KiB that arrives within a second. Otherwise, or if the client
    /// waits for `100 Continue`, the connection is closed after the response.
    pub(crate) async fn settle<B>(self, response: &mut Response<B>) {
        let left = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(left) = left else { return };
        let is_little = left.size_hint().upper().unwrap_or(0) <= MOST;
        if !self.waits && is_little {
            let most = usize::try_from(MOST).unwrap_or(usize::MAX);
            let read = async {
                let mut left = Limited::new(left, most);
                while let Some(frame) = left.frame().await {
                    frame?;
                }
                Ok::<(), axum::BoxError>(())
            };
            if let Ok(Ok(())) = tokio::time::timeout(WITHIN, read).await {
                return;
            }
        }
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

impl hyper::body::Body for SharedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(body) = held.as_mut() else { return Poll::Ready(None) };
        let came = Pin::new(body).poll_frame(context);
        if matches!(came, Poll::Ready(None)) {
            *held = None;
        }
        came
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

//! The handler for the control of a demo. Only a server with a demo has its route.

use crate::app::App;
use crate::body::JsonBody;
use crate::problem::Problem;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Swaps the noise of two evaluators. A browser is redirected to the queue's page.
pub(crate) async fn swap(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    let Some(demo) = app.demo() else { return Err(crate::routes::not_found().await) };
    let (swaps, (one, other)) = (demo.swap(), demo.pair());
    if crate::pages::is_person(&headers)
        && let Ok(back) = HeaderValue::from_str(&format!("/q/{}", demo.queue()))
    {
        return Ok((StatusCode::SEE_OTHER, [(header::LOCATION, back)]).into_response());
    }
    Ok(JsonBody(json!({ "queue": demo.queue(), "swapped": [one, other], "swaps": swaps })).into_response())
}

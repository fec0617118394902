//! Handlers for operators: liveness, readiness and metrics.

use crate::app::App;
use crate::body::JsonBody;
use crate::guard::Caller;
use crate::problem::Problem;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use jurybox_server::Error;
use serde::Serialize;
use utoipa::ToSchema;

/// The health of the server.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HealthStatus {
    status: &'static str,
    /// The number of queues that cannot be served at present. Absent if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_trouble: Option<usize>,
    /// The number of webhooks that are stopped. Absent if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhooks_off: Option<usize>,
}

pub(crate) async fn healthy() -> JsonBody<HealthStatus> {
    JsonBody(HealthStatus { status: "ok", in_trouble: None, webhooks_off: None })
}

/// Whether the server is ready: all queues were loaded, and the database answers. A failure of one
/// queue does not count, unless its cause is a full disk.
pub(crate) async fn ready(State(app): State<App>) -> Result<JsonBody<HealthStatus>, Problem> {
    if app.is_ready() {
        let troubles = app.0.service.failing_queues();
        if let Some((_, error)) = troubles.iter().find(|(_, error)| error.affects_all_queues()) {
            return Err(Problem::from(error.clone()));
        }
        app.reaches_database().await?;
        let in_trouble = (!troubles.is_empty()).then_some(troubles.len());
        let webhooks_off = Some(app.0.metrics.webhooks_off()).filter(|many| *many > 0);
        return Ok(JsonBody(HealthStatus { status: "ready", in_trouble, webhooks_off }));
    }
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let advice = "Send requests once this answers 200.";
    Err(Problem::new(status, "not_ready", "the queues are still being loaded", advice).retry_after(1))
}

/// The server's metrics, with those of the queues that the caller may see.
pub(crate) async fn metrics(State(app): State<App>, caller: Caller) -> Result<Response, Problem> {
    let asked = app.clone();
    // Without the database, only the server's own metrics are given.
    let reached = app.reaches_database().await.is_ok();
    let counted = app
        .read(move || {
            if !reached {
                return Ok(Default::default());
            }
            let service = &asked.0.service;
            let mut standings = Vec::new();
            for name in service.names()?.into_iter().filter(|name| caller.sees(name)) {
                // A queue that cannot be read, such as one deleted meanwhile, is left out.
                if let Ok(standing) = service.queue(&name).and_then(|queue| queue.status()) {
                    standings.push((name, standing));
                }
            }
            let mut hooks = service.webhooks(None)?;
            hooks.retain(|hook| caller.sees(&hook.queue));
            Ok::<(Vec<_>, Vec<_>), Error>((standings, hooks))
        })
        .await;
    let (up, (standings, hooks)) = match counted {
        Ok(counted) => (reached, counted),
        Err(error) if error.is_transient() => (false, Default::default()),
        Err(error) => return Err(error.into()),
    };
    let full = app.0.service.failing_queues().iter().any(|(_, error)| matches!(error, Error::DiskFull(_)));
    app.0.metrics.note_disk_full(full);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], app.0.metrics.text(&standings, &hooks, app.0.log.dropped(), up))
        .into_response())
}

//! For those who keep the server: is it there, is it ready, what has it counted.

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

/// That all is well.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HealthStatus {
    status: &'static str,
    /// Queues that are not served as they should be. The log of the server names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_trouble: Option<usize>,
    /// Webhooks that have failed for so long that they are left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhooks_off: Option<usize>,
}

pub(crate) async fn healthy() -> JsonBody<HealthStatus> {
    JsonBody(HealthStatus { status: "ok", in_trouble: None, webhooks_off: None })
}

/// Whether all queues are loaded, and the database answers. One queue that is in trouble does not
/// keep the others; a full disk concerns all of them.
pub(crate) async fn ready(State(app): State<App>) -> Result<JsonBody<HealthStatus>, Problem> {
    if app.is_ready() {
        let troubles = app.0.service.troubles();
        if let Some((_, error)) = troubles.iter().find(|(_, error)| error.is_for_all()) {
            return Err(Problem::from(error.clone()));
        }
        app.reaches_database().await?;
        let in_trouble = (!troubles.is_empty()).then_some(troubles.len());
        let webhooks_off = Some(app.0.metrics.webhooks_off()).filter(|many| *many > 0);
        return Ok(JsonBody(HealthStatus { status: "ready", in_trouble, webhooks_off }));
    }
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let advice = "Send requests here once this says that it is ready.";
    Err(Problem::new(status, "not_ready", "the queues are being loaded", advice).retry_after(1))
}

/// What is counted; of queues those that the caller may look at.
pub(crate) async fn metrics(State(app): State<App>, caller: Caller) -> Result<Response, Problem> {
    let asked = app.clone();
    // What the server has counted by itself is told even while the database is away.
    let reached = app.reaches_database().await.is_ok();
    let counted = app
        .read(move || {
            if !reached {
                return Ok(Default::default());
            }
            let service = &asked.0.service;
            let mut standings = Vec::new();
            for name in service.names()?.into_iter().filter(|name| caller.sees(name)) {
                // One that was deleted meanwhile is not told of.
                if let Ok(standing) = service.queue(&name).and_then(|queue| queue.standing()) {
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
        Err(error) if error.is_passing() => (false, Default::default()),
        Err(error) => return Err(error.into()),
    };
    let full = app.0.service.troubles().iter().any(|(_, error)| matches!(error, Error::DiskFull(_)));
    app.0.metrics.note_disk_full(full);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], app.0.metrics.text(&standings, &hooks, app.0.log.dropped(), up))
        .into_response())
}

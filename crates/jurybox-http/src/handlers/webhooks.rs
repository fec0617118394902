//! Handlers for webhooks: list, set up and delete.

use super::{QueuePath, param, params};
use crate::app::App;
use crate::body::JsonBody;
use crate::problem::Problem;
use crate::webhooks::address::WebhookTarget;
use crate::webhooks::sign;
use crate::wire::{WebhookBody, WebhookList, WebhookState};
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use jurybox_server::{Secret, Webhook};

/// The queue and the webhook in a request's path.
pub(crate) struct WebhookPath(String, String);

impl<S: Send + Sync> FromRequestParts<S> for WebhookPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let params = params(parts, state).await?;
        Ok(WebhookPath(param(&params, "queue"), param(&params, "webhook")))
    }
}

pub(crate) async fn list(
    State(app): State<App>,
    QueuePath(name): QueuePath,
) -> Result<JsonBody<WebhookList>, Problem> {
    let asked = app.clone();
    let hooks = app.read(move || asked.0.service.webhooks(Some(&name))).await?;
    Ok(JsonBody(WebhookList { webhooks: hooks.into_iter().map(Into::into).collect() }))
}

pub(crate) async fn put(
    State(app): State<App>,
    WebhookPath(queue, name): WebhookPath,
    JsonBody(WebhookBody { url, secret, after }): JsonBody<WebhookBody>,
) -> Result<Response, Problem> {
    let fits = (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if !fits || name.bytes().all(|byte| byte == b'.') {
        return Err(Problem::unusable(format!(
            "{name:?} is not a valid name for a webhook: use 1 to 64 of A-Z, a-z, 0-9, `.`, `_`, `-`"
        )));
    }
    WebhookTarget::parse(&url, app.0.settings.webhooks.allow_private)
        .map_err(|why| Problem::unusable(format!("the body: url: {why}")))?;
    let brought = secret.map(|text| sign::from_text(&text)).transpose();
    let brought = brought.map_err(|why| Problem::unusable(format!("the body: secret: {why}")))?;
    let asked = app.clone();
    let made = move || {
        let service = &asked.0.service;
        let of_that_name = |hooks: Vec<Webhook>| hooks.into_iter().find(|hook| hook.name == name);
        let is_there = of_that_name(service.webhooks(Some(&queue))?).is_some();
        let made = if brought.is_none() && !is_there { Some(Secret::new()?) } else { None };
        let new =
            service.put_webhook(&queue, &name, &url, brought.or(made.clone()), after.map(|after| after.0))?;
        let stored = of_that_name(service.webhooks(Some(&queue))?);
        Ok((new, made, stored))
    };
    let (new, made, stored) = app.change(made).await?;
    // Another request may have deleted the webhook meanwhile.
    let Some(stored) = stored else { return Err(no_hook()) };
    let mut now = WebhookState::from(stored);
    now.secret = made.as_ref().map(sign::to_text);
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, JsonBody(now)).into_response())
}

pub(crate) async fn delete(
    State(app): State<App>,
    WebhookPath(queue, name): WebhookPath,
) -> Result<StatusCode, Problem> {
    let asked = app.clone();
    let gone = app.change(move || asked.0.service.drop_webhook(&queue, &name)).await?;
    if gone { Ok(StatusCode::NO_CONTENT) } else { Err(no_hook()) }
}

fn no_hook() -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "no_webhook",
        "this queue has no webhook of that name",
        "GET /v1/queues/{queue}/webhooks lists them.",
    )
}

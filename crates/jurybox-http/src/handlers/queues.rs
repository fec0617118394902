//! Handlers for queues: list, create, change, show and delete.

use super::{Idempotency, QueuePath, ask, read_queue};
use crate::app::App;
use crate::body::JsonBody;
use crate::guard::Caller;
use crate::problem::Problem;
use crate::wire::{QueueList, QueueState, SettingsBody, config};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jurybox_server::{ConfigChange, Error, Queue, Request};

pub(crate) async fn list(State(app): State<App>, caller: Caller) -> Result<JsonBody<QueueList>, Problem> {
    let asked = app.clone();
    let mut queues = app.read(move || asked.0.service.names()).await?;
    queues.retain(|name| caller.sees(name));
    Ok(JsonBody(QueueList { queues }))
}

/// Creates a queue, or replaces the settings of an existing one. Settings left out get their
/// default.
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    QueuePath(name): QueuePath,
    key: Idempotency,
    JsonBody(SettingsBody(change)): JsonBody<SettingsBody>,
) -> Result<Response, Problem> {
    let config = config(change)?;
    let (asked, actor, wanted, set_up) = (app.clone(), caller.actor.clone(), name.clone(), config.clone());
    let made = app
        .change(move || {
            let service = &asked.0.service;
            if service.names()?.contains(&wanted) {
                return Ok(false);
            }
            match service.create_for(&actor, &wanted, &set_up) {
                Ok(_) => Ok(true),
                Err(Error::QueueExists { .. }) => Ok(false),
                Err(error) => Err(error),
            }
        })
        .await?;
    if made {
        app.forget(&name);
        return Ok((StatusCode::CREATED, state(&app, name).await?).into_response());
    }
    Ok(changed(&app, name, &caller, &key, ConfigChange::to(&config)).await?.into_response())
}

/// Changes the settings that the body names.
pub(crate) async fn patch(
    State(app): State<App>,
    caller: Caller,
    QueuePath(name): QueuePath,
    key: Idempotency,
    JsonBody(SettingsBody(change)): JsonBody<SettingsBody>,
) -> Result<JsonBody<QueueState>, Problem> {
    changed(&app, name, &caller, &key, change).await
}

/// Changes settings, and returns the new state with warnings.
async fn changed(
    app: &App,
    name: String,
    caller: &Caller,
    key: &Idempotency,
    change: ConfigChange,
) -> Result<JsonBody<QueueState>, Problem> {
    let before = read_queue(app, &name, Queue::status).await?.config;
    ask(app, &name, caller, key, Request::Configure(change)).await?;
    let JsonBody(state) = state(app, name).await?;
    Ok(JsonBody(state.after(&before)))
}

pub(crate) async fn get(
    State(app): State<App>,
    QueuePath(name): QueuePath,
) -> Result<JsonBody<QueueState>, Problem> {
    state(&app, name).await
}

async fn state(app: &App, name: String) -> Result<JsonBody<QueueState>, Problem> {
    let standing = read_queue(app, &name, Queue::status).await?;
    Ok(JsonBody(QueueState::new(name, standing)))
}

pub(crate) async fn delete(
    State(app): State<App>,
    QueuePath(name): QueuePath,
) -> Result<StatusCode, Problem> {
    let (asked, wanted) = (app.clone(), name.clone());
    app.forget(&name);
    let deleted = app.change(move || asked.0.service.delete(&wanted)).await;
    app.forget(&name);
    deleted?;
    Ok(StatusCode::NO_CONTENT)
}

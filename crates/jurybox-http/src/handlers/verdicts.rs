//! Handlers for verdicts: record, revise and undo.

use super::{Idempotency, QueuePath, ask, unexpected};
use crate::app::App;
use crate::body::{self, JsonBody};
use crate::guard::Caller;
use crate::problem::Problem;
use crate::time::Time;
use crate::wire::{RejectedItem, SourceField, UndoAnswer, UndoBody, VerdictsAnswer, VerdictsBody};
use axum::extract::{Request as HttpRequest, State};
use jurybox_server::{Answer, MOST_AT_ONCE, NewVerdict, Request, Role};

/// The most parts into which the verdicts of a request are split.
const MOST_PARTS: usize = 100;

/// Records verdicts. One that names another in `revises` replaces it.
pub(crate) async fn post(
    State(app): State<App>,
    caller: Caller,
    QueuePath(name): QueuePath,
    key: Idempotency,
    request: HttpRequest,
) -> Result<JsonBody<VerdictsAnswer>, Problem> {
    body::check_media_type(request.headers(), &["application/json"])?;
    let bytes = body::read_body(request, &app).await?;
    body::refuse_list(&bytes)?;
    let (verdicts, unread) = VerdictsBody::read(&bytes).map_err(|error| body::json_problem(&error))?;
    for verdict in &verdicts {
        caller.is(verdict.reviewer())?;
        // Automatic verdicts close items that people are reviewing, and appeals overrule verdicts
        // of people. Each needs a role of its own.
        match verdict.source() {
            SourceField::Reviewer => {}
            SourceField::Automatic => {
                caller.needs(Role::Write, "a verdict with \"source\": \"automatic\"")?;
            }
            SourceField::Appeal => caller.needs(Role::Admin, "a verdict with \"source\": \"appeal\"")?,
        }
    }
    let verdicts: Vec<NewVerdict> = verdicts.into_iter().map(Into::into).collect();
    let queue = app.queue(&name).await?;
    let mut answer = VerdictsAnswer { accepted: 0, repeated: 0, rejected: Vec::new() };
    if verdicts.len() > MOST_AT_ONCE {
        return Err(Problem::unusable(format!(
            "{} verdicts at once, more than {MOST_AT_ONCE}",
            verdicts.len()
        )));
    }
    // Several verdicts on one item are sent one after the other, in parts with at most one verdict
    // on each item. Each part has its own idempotency key, which covers the whole body.
    let all_read = unread.texts.is_empty();
    let texts = unread.texts.into_iter().map(|id| NewVerdict { id, ..NewVerdict::default() });
    let whole = Request::Verdicts(verdicts.iter().cloned().chain(texts).collect());
    let parts = NewVerdict::into_parts(verdicts, MOST_AT_ONCE);
    let is_all = parts.len() == 1 && all_read;
    if parts.len() > MOST_PARTS {
        return Err(Problem::unusable(format!("more than {MOST_PARTS} verdicts on one item at once")));
    }
    for (at, part) in parts.into_iter().enumerate() {
        let mut call = key.call(&caller, Request::Verdicts(part), at);
        if !is_all {
            call = call.part_of(&whole);
        }
        let Answer::Verdicts { accepted, repeated, rejected } = app.ask(&queue, call).await? else {
            return Err(unexpected());
        };
        answer.accepted += accepted;
        answer.repeated += repeated;
        answer.rejected.extend(rejected.into_iter().map(RejectedItem::from));
    }
    answer.rejected.extend(unread.rejected);
    Ok(JsonBody(answer))
}

/// Undoes a recent verdict.
pub(crate) async fn undo(
    State(app): State<App>,
    caller: Caller,
    QueuePath(name): QueuePath,
    key: Idempotency,
    JsonBody(UndoBody { reviewer, verdict }): JsonBody<UndoBody>,
) -> Result<JsonBody<UndoAnswer>, Problem> {
    caller.is(&reviewer)?;
    let request = Request::Undo { reviewer: reviewer.into(), verdict: verdict.into() };
    let Answer::Undone { item, token, until } = ask(&app, &name, &caller, &key, request).await? else {
        return Err(unexpected());
    };
    Ok(JsonBody(UndoAnswer { item, token, until: Time(until) }))
}

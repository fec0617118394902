//! Verdicts: taken in, revised, taken back.

use super::{Idempotency, OfQueue, ask, unexpected};
use crate::app::App;
use crate::body::{self, Json};
use crate::guard::Caller;
use crate::problem::Problem;
use crate::time::Time;
use crate::wire::{RejectedItem, Source, Undo, Undone, Verdicts, VerdictsAnswer};
use axum::extract::{Request as HttpRequest, State};
use jurybox_server::{Answer, Request, Role};

/// Takes in verdicts; one that names another in `revises` takes its place.
pub(crate) async fn post(
    State(app): State<App>,
    caller: Caller,
    OfQueue(name): OfQueue,
    key: Idempotency,
    request: HttpRequest,
) -> Result<Json<VerdictsAnswer>, Problem> {
    body::expect(request.headers(), &["application/json"])?;
    let bytes = body::whole(request, &app).await?;
    body::is_object(&bytes)?;
    let (verdicts, unread) = Verdicts::read(&bytes).map_err(|error| body::refused(&error))?;
    for verdict in &verdicts {
        caller.is(verdict.reviewer())?;
        // Both go over the heads of those who review: a rule closes what somebody has in hand, an appeal decides over verdicts.
        match verdict.source() {
            Source::Reviewer => {}
            Source::Automatic => caller.needs(Role::Write, "a verdict with \"source\": \"automatic\"")?,
            Source::Appeal => caller.needs(Role::Admin, "a verdict with \"source\": \"appeal\"")?,
        }
    }
    let request = Request::Verdicts(verdicts.into_iter().map(Into::into).collect());
    let Answer::Verdicts { accepted, repeated, rejected } = ask(&app, &name, &caller, &key, request).await?
    else {
        return Err(unexpected());
    };
    let rejected = rejected.into_iter().map(RejectedItem::from).chain(unread).collect();
    Ok(Json(VerdictsAnswer { accepted, repeated, rejected }))
}

/// Takes back a verdict that was just given.
pub(crate) async fn undo(
    State(app): State<App>,
    caller: Caller,
    OfQueue(name): OfQueue,
    key: Idempotency,
    Json(Undo { reviewer, verdict }): Json<Undo>,
) -> Result<Json<Undone>, Problem> {
    caller.is(&reviewer)?;
    let request = Request::Undo { reviewer: reviewer.into(), verdict: verdict.into() };
    let Answer::Undone { item, token, until } = ask(&app, &name, &caller, &key, request).await? else {
        return Err(unexpected());
    };
    Ok(Json(Undone { item, token, until: Time(until) }))
}

//! Claims: the next items, kept for longer, given back.

use super::items::changed;
use super::{Asked, Idempotency, OfQueue, ask, look, unexpected};
use crate::app::App;
use crate::body::Json;
use crate::guard::Caller;
use crate::problem::Problem;
use crate::wire::{Changed, Claims, Held, Name, NewClaim, Released, Skip};
use axum::extract::State;
use jurybox_server::{Answer, Request};
use serde::Deserialize;

/// Gives a reviewer the next items.
pub(crate) async fn post(
    State(app): State<App>,
    caller: Caller,
    OfQueue(name): OfQueue,
    key: Idempotency,
    Json(claim): Json<NewClaim>,
) -> Result<Json<Claims>, Problem> {
    let NewClaim { reviewer, k, tags } = claim;
    caller.is(&reviewer)?;
    let request = Request::Claim { reviewer: reviewer.into(), k, filter: tags.into() };
    let Answer::Claims { model, claims } = ask(&app, &name, &caller, &key, request).await? else {
        return Err(unexpected());
    };
    Ok(Json(Claims { model, claims: claims.into_iter().map(Into::into).collect() }))
}

#[derive(Deserialize)]
pub(crate) struct Whose {
    reviewer: Name,
}

/// What a reviewer holds.
pub(crate) async fn held(
    State(app): State<App>,
    caller: Caller,
    OfQueue(name): OfQueue,
    Asked(Whose { reviewer }): Asked<Whose>,
) -> Result<Json<Held>, Problem> {
    caller.is(&reviewer)?;
    let claims = look(&app, &name, move |queue| queue.held(&reviewer)).await?;
    Ok(Json(Held { claims: claims.into_iter().map(Into::into).collect() }))
}

/// Refuses to look for more items than anybody can hold by a claim.
fn few(items: &[Name]) -> Result<(), Problem> {
    const MOST: usize = 1000;
    if items.len() <= MOST {
        return Ok(());
    }
    Err(Problem::unusable(format!("{} items at once, more than {MOST}", items.len())))
}

/// Lets a reviewer keep items for another while.
pub(crate) async fn extend(
    State(app): State<App>,
    caller: Caller,
    OfQueue(name): OfQueue,
    key: Idempotency,
    Json(kept): Json<Released>,
) -> Result<Json<Changed>, Problem> {
    caller.is(&kept.reviewer)?;
    few(&kept.items)?;
    let items = kept.items.into_iter().map(Into::into).collect();
    let request = Request::Extend { reviewer: kept.reviewer.into(), items };
    changed(&ask(&app, &name, &caller, &key, request).await?)
}

/// Takes items back.
pub(crate) async fn release(
    State(app): State<App>,
    caller: Caller,
    OfQueue(name): OfQueue,
    key: Idempotency,
    Json(given_back): Json<Released>,
) -> Result<Json<Changed>, Problem> {
    caller.is(&given_back.reviewer)?;
    few(&given_back.items)?;
    let items = given_back.items.into_iter().map(Into::into).collect();
    let request = Request::Release { reviewer: given_back.reviewer.into(), items };
    changed(&ask(&app, &name, &caller, &key, request).await?)
}

/// Takes an item back that this reviewer does not want again.
pub(crate) async fn skip(
    State(app): State<App>,
    caller: Caller,
    OfQueue(name): OfQueue,
    key: Idempotency,
    Json(Skip { reviewer, item, reason }): Json<Skip>,
) -> Result<Json<Changed>, Problem> {
    caller.is(&reviewer)?;
    let request = Request::Skip { reviewer: reviewer.into(), item: item.into(), reason: reason.into() };
    changed(&ask(&app, &name, &caller, &key, request).await?)
}

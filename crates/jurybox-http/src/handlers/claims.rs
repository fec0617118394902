//! Handlers for claims: claim, list, extend, release and skip.

use super::items::changed;
use super::{Idempotency, QueryParams, QueuePath, ask, read_queue, unexpected};
use crate::app::App;
use crate::body::JsonBody;
use crate::guard::Caller;
use crate::problem::Problem;
use crate::wire::{
    ChangedCount, ClaimAnswer, ClaimBody, ClaimEntry, ClaimLimit, HeldItems, LeasesBody, Name, SkipBody,
};
use axum::extract::State;
use jurybox_server::{Answer, Request, Role};
use serde::Deserialize;

/// The most items that `k` may ask for, and the most items of a list of leases.
const MOST: u32 = 1000;
/// A larger `k` (up to [`MOST`]) of a caller without the role `read` is lowered to this.
const MOST_BLIND: u32 = 100;

/// Hands the next items to a reviewer.
pub(crate) async fn post(
    State(app): State<App>,
    caller: Caller,
    QueuePath(name): QueuePath,
    key: Idempotency,
    JsonBody(claim): JsonBody<ClaimBody>,
) -> Result<JsonBody<ClaimAnswer>, Problem> {
    let ClaimBody { reviewer, k, tags } = claim;
    caller.is(&reviewer)?;
    let sees = caller.may(Role::Read);
    let most = k.filter(|k| (MOST_BLIND + 1..=MOST).contains(k) && !sees).map(|_| MOST_BLIND);
    let request = Request::Claim { reviewer: reviewer.into(), k: most.or(k), filter: tags.into() };
    let Answer::Claims { model, claims, limited_by } = ask(&app, &name, &caller, &key, request).await? else {
        return Err(unexpected());
    };
    let by_role = most.filter(|most| claims.len() == *most as usize).map(|_| ClaimLimit::Role);
    let limited_by = limited_by.map(Into::into).or(by_role);
    Ok(JsonBody(ClaimAnswer { model, claims: ClaimEntry::all(claims, sees), limited_by }))
}

#[derive(Deserialize)]
pub(crate) struct ReviewerQuery {
    reviewer: Name,
}

/// Lists the items that a reviewer holds.
pub(crate) async fn held(
    State(app): State<App>,
    caller: Caller,
    QueuePath(name): QueuePath,
    QueryParams(ReviewerQuery { reviewer }): QueryParams<ReviewerQuery>,
) -> Result<JsonBody<HeldItems>, Problem> {
    caller.is(&reviewer)?;
    let (claims, left_out) = read_queue(&app, &name, move |queue| queue.held(&reviewer)).await?;
    let claims = claims.into_iter().map(Into::into).collect();
    Ok(JsonBody(HeldItems { claims, left_out: (left_out > 0).then_some(left_out) }))
}

/// Refuses a list of items that is longer than a claim can be.
fn check_count(items: &[Name]) -> Result<(), Problem> {
    if items.len() <= MOST as usize {
        return Ok(());
    }
    Err(Problem::unusable(format!("{} items at once, more than {MOST}", items.len())))
}

/// Extends leases.
pub(crate) async fn extend(
    State(app): State<App>,
    caller: Caller,
    QueuePath(name): QueuePath,
    key: Idempotency,
    JsonBody(kept): JsonBody<LeasesBody>,
) -> Result<JsonBody<ChangedCount>, Problem> {
    caller.is(&kept.reviewer)?;
    check_count(&kept.items)?;
    let items = kept.items.into_iter().map(Into::into).collect();
    let request = Request::Extend { reviewer: kept.reviewer.into(), items };
    changed(&ask(&app, &name, &caller, &key, request).await?)
}

/// Releases items back to the queue.
pub(crate) async fn release(
    State(app): State<App>,
    caller: Caller,
    QueuePath(name): QueuePath,
    key: Idempotency,
    JsonBody(given_back): JsonBody<LeasesBody>,
) -> Result<JsonBody<ChangedCount>, Problem> {
    caller.is(&given_back.reviewer)?;
    check_count(&given_back.items)?;
    let items = given_back.items.into_iter().map(Into::into).collect();
    let request = Request::Release { reviewer: given_back.reviewer.into(), items };
    changed(&ask(&app, &name, &caller, &key, request).await?)
}

/// Releases an item, which is not handed to this reviewer again.
pub(crate) async fn skip(
    State(app): State<App>,
    caller: Caller,
    QueuePath(name): QueuePath,
    key: Idempotency,
    JsonBody(SkipBody { reviewer, item, reason }): JsonBody<SkipBody>,
) -> Result<JsonBody<ChangedCount>, Problem> {
    caller.is(&reviewer)?;
    let request = Request::Skip { reviewer: reviewer.into(), item: item.into(), reason: reason.into() };
    changed(&ask(&app, &name, &caller, &key, request).await?)
}

//! Handlers for items: add, add scores, close and erase.

use super::{Idempotency, ItemPath, QueuePath, ask, item_stream, no_item, read_queue, unexpected};
use crate::app::App;
use crate::body::{self, JsonBody};
use crate::guard::Caller;
use crate::problem::Problem;
use crate::wire::{ChangedCount, CloseBody, ItemsAnswer, ItemsBody, ScoresBody};
use axum::extract::{Request as HttpRequest, State};
use axum::http::StatusCode;
use jurybox_server::{Answer, Error, NewItem, Rejected, Request};

pub(crate) const LINES: &str = "application/x-ndjson";

/// Adds one item, several, or a stream of JSON lines.
pub(crate) async fn post(
    State(app): State<App>,
    caller: Caller,
    QueuePath(name): QueuePath,
    key: Idempotency,
    request: HttpRequest,
) -> Result<JsonBody<ItemsAnswer>, Problem> {
    let kind = body::check_media_type(request.headers(), &["application/json", LINES])?;
    if kind == LINES {
        return item_stream::items(&app, &caller, &name, &key, request).await.map(JsonBody);
    }
    let bytes = body::read_body(request, &app).await?;
    body::refuse_list(&bytes)?;
    let (items, unread) = ItemsBody::read(&bytes).map_err(|error| body::json_problem(&error))?;
    let items = items.into_iter().map(Into::into).collect();
    let mut call = key.call(&caller, Request::Items(items), 0);
    // The idempotency key covers the whole body, including entries that cannot be read.
    if !unread.texts.is_empty() {
        let texts = unread.texts.into_iter();
        call = call.part_of(&Request::Items(texts.map(|id| NewItem { id, ..NewItem::default() }).collect()));
    }
    let queue = app.queue(&name).await?;
    let mut answer = answered(app.ask(&queue, call).await?)?;
    answer.rejected.extend(unread.rejected);
    Ok(JsonBody(answer))
}

pub(crate) fn answered(answer: Answer) -> Result<ItemsAnswer, Problem> {
    let Answer::Items { accepted, updated, unchanged, ignored, rejected } = answer else {
        return Err(unexpected());
    };
    let rejected = rejected.into_iter().map(Into::into).collect();
    Ok(ItemsAnswer {
        accepted,
        updated,
        unchanged,
        ignored_scores: (ignored > 0).then_some(ignored),
        rejected,
    })
}

/// Adds scores to an existing item.
pub(crate) async fn patch_scores(
    State(app): State<App>,
    caller: Caller,
    ItemPath(name, item): ItemPath,
    key: Idempotency,
    JsonBody(scores): JsonBody<ScoresBody>,
) -> Result<JsonBody<ItemsAnswer>, Problem> {
    let wanted = item.clone();
    if !read_queue(&app, &name, move |queue| queue.knows(&wanted)).await? {
        return Err(no_item(&item));
    }
    let request = Request::Items(vec![scores.of(item)]);
    match ask(&app, &name, &caller, &key, request).await? {
        Answer::Items { rejected, .. } if rejected.iter().any(Rejected::is_closed) => {
            Err(Error::Conflict(rejected[0].why.clone()).into())
        }
        Answer::Items { rejected, .. } if !rejected.is_empty() => Err(Problem::unusable(&*rejected[0].why)),
        answer => answered(answer).map(JsonBody),
    }
}

/// Erases an item with its id, scores, tags and payload, and makes the jury forget it.
pub(crate) async fn erase(
    State(app): State<App>,
    caller: Caller,
    ItemPath(name, item): ItemPath,
    key: Idempotency,
) -> Result<StatusCode, Problem> {
    match ask(&app, &name, &caller, &key, Request::Erase { items: vec![item.clone()] }).await? {
        Answer::Changed { changed: 0 } => Err(no_item(&item)),
        Answer::Changed { .. } => Ok(StatusCode::NO_CONTENT),
        _ => Err(unexpected()),
    }
}

/// Closes items without a verdict.
pub(crate) async fn close(
    State(app): State<App>,
    caller: Caller,
    QueuePath(name): QueuePath,
    key: Idempotency,
    JsonBody(close): JsonBody<CloseBody>,
) -> Result<JsonBody<ChangedCount>, Problem> {
    let CloseBody { tags, before, reason } = close;
    let request =
        Request::Close { filter: tags.into(), before: before.map(|time| time.0), reason: reason.into() };
    changed(&ask(&app, &name, &caller, &key, request).await?)
}

pub(crate) fn changed(answer: &Answer) -> Result<JsonBody<ChangedCount>, Problem> {
    let &Answer::Changed { changed } = answer else { return Err(unexpected()) };
    Ok(JsonBody(ChangedCount { changed }))
}

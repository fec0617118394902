//! Handlers that only read a queue: items, ranking, evaluators, preview, report and activity log.

use super::{Idempotency, ItemPath, QueryParams, QueuePath, no_item, read_queue};
use crate::app::App;
use crate::body::{self, JsonBody};
use crate::problem::Problem;
use crate::wire::{
    EvaluatorList, EventPage, Item, ItemDetail, ItemPage, JsonInteger, PreviewAnswer, PreviewBody, RankBody,
    RankedItem, RankedItems, ReportAnswer, SettingsBody,
};
use axum::extract::State;
use jurybox_server::{Filter, ListedItem, MOST_AT_ONCE, MOST_BYTES, NewItem, Queue};
use serde::Deserialize;

/// The most items or entries of a page.
const PAGE: u64 = 1000;

fn names(queue: &Queue) -> Result<Vec<String>, jurybox_server::Error> {
    Ok(queue.status()?.config.evaluators.names().map(String::from).collect())
}

/// The query of the list of items.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ItemsQuery {
    #[serde(default)]
    order: ListOrder,
    #[serde(default)]
    after: JsonInteger,
    #[serde(default = "hundred")]
    limit: u64,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum ListOrder {
    #[default]
    Rank,
    Arrival,
}

fn hundred() -> u64 {
    100
}

fn check(limit: u64) -> Result<usize, Problem> {
    if (1..=PAGE).contains(&limit) {
        return Ok(limit as usize);
    }
    Err(Problem::unusable(format!("limit = {limit} is not from 1 to {PAGE}")))
}

/// The number of leading items that fit into one answer: at least one, unless there are none.
fn how_many_fit(items: &[ListedItem], names: &[String]) -> usize {
    // In an answer, a score takes its name, punctuation, and up to 24 characters for the number.
    let scores: usize = names.iter().map(|name| name.len() + 32).sum();
    let bytes = |item: &ListedItem| {
        let tags: usize = item.tags.iter().map(|(name, value)| name.len() + value.len()).sum();
        (item.id.len() + tags + scores) as u64
    };
    let within = items.iter().scan(0, |sum, item| {
        *sum += bytes(item);
        Some(*sum)
    });
    within.take_while(|sum| *sum <= MOST_BYTES).count().max(usize::from(!items.is_empty()))
}

/// Lists items by rank (claimable ones) or by arrival (all).
pub(crate) async fn items(
    State(app): State<App>,
    QueuePath(name): QueuePath,
    QueryParams(ItemsQuery { order, after: JsonInteger(after), limit }): QueryParams<ItemsQuery>,
) -> Result<JsonBody<ItemPage>, Problem> {
    let limit = check(limit)?;
    let page = read_queue(&app, &name, move |queue| {
        let names = names(queue)?;
        let (model, mut items, mut next) = if order == ListOrder::Rank {
            let (model, items) = queue.ranked_items(Filter::default(), after as usize, limit)?;
            let next = (items.len() == limit).then(|| after.saturating_add(limit as u64));
            (model, items, next)
        } else {
            let standing = queue.status()?;
            let items = queue.list_items(after, limit)?;
            let last = after.saturating_add(limit as u64);
            (standing.model, items, (last < standing.counts.items).then_some(last))
        };
        let fit = how_many_fit(&items, &names);
        if fit < items.len() {
            items.truncate(fit);
            let by_arrival = items.last().map_or(after, |last| last.n);
            next = Some(if order == ListOrder::Rank { after + fit as u64 } else { by_arrival });
        }
        Ok(ItemPage { items: items.into_iter().map(|item| Item::new(item, &names)).collect(), next, model })
    });
    page.await.map(JsonBody)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ItemQuery {
    #[serde(default)]
    explain: bool,
}

pub(crate) async fn item(
    State(app): State<App>,
    ItemPath(name, item): ItemPath,
    QueryParams(ItemQuery { explain }): QueryParams<ItemQuery>,
) -> Result<JsonBody<ItemDetail>, Problem> {
    let wanted = item.clone();
    let answer = read_queue(&app, &name, move |queue| {
        let names = names(queue)?;
        Ok(queue.explain_item(&wanted)?.map(|answer| ItemDetail::new(answer, &names, explain)))
    });
    answer.await?.map(JsonBody).ok_or_else(|| no_item(&item))
}

/// Ranks items by the queue's model without storing them.
pub(crate) async fn rank(
    State(app): State<App>,
    QueuePath(name): QueuePath,
    _: Idempotency,
    JsonBody(RankBody { items, k }): JsonBody<RankBody>,
) -> Result<JsonBody<RankedItems>, Problem> {
    if items.len() > MOST_AT_ONCE {
        return Err(Problem::unusable(format!("{} items at once, more than {MOST_AT_ONCE}", items.len())));
    }
    if k.is_some_and(|k| k == 0 || k as usize > MOST_AT_ONCE) {
        return Err(Problem::unusable(format!(
            "k = {} is not from 1 to {MOST_AT_ONCE}",
            k.unwrap_or_default()
        )));
    }
    let items: Vec<NewItem> = items
        .into_iter()
        .map(|item| NewItem {
            id: item.id.into(),
            scores: item.scores.into_iter().map(|(name, score)| (name.into(), score)).collect(),
            ..NewItem::default()
        })
        .collect();
    let ranked = read_queue(&app, &name, move |queue| {
        let model = queue.model()?;
        let values = model.values(&items)?;
        // Items without a value come last, and equal values keep their order.
        let mut order: Vec<usize> = (0..items.len()).collect();
        let key = |at: &usize| if values[*at].is_nan() { f64::NEG_INFINITY } else { values[*at] };
        order.sort_by(|a, b| key(b).total_cmp(&key(a)));
        order.truncate(k.map_or(items.len(), |k| k as usize));
        let order = order.into_iter().enumerate().map(|(place, at)| RankedItem {
            id: items[at].id.clone(),
            rank: place as u32 + 1,
            value: values[at].is_finite().then_some(values[at]),
        });
        Ok(RankedItems { model: model.model, order: order.collect() })
    });
    ranked.await.map(JsonBody)
}

pub(crate) async fn evaluators(
    State(app): State<App>,
    QueuePath(name): QueuePath,
) -> Result<JsonBody<EvaluatorList>, Problem> {
    let answer = read_queue(&app, &name, |queue| {
        let model = queue.model()?;
        let evaluators = queue.evaluator_summaries(&model)?.into_iter().map(Into::into).collect();
        let diagnostics = model.diagnostics();
        let drift = model.redefined().map(Into::into).collect();
        Ok(EvaluatorList { model: model.model, learnt_from: model.seen.used, diagnostics, drift, evaluators })
    });
    answer.await.map(JsonBody)
}

/// Previews which items would enter and leave the best K after a change of settings.
pub(crate) async fn preview(
    State(app): State<App>,
    QueuePath(name): QueuePath,
    _: Idempotency,
    JsonBody(PreviewBody { change, k }): JsonBody<PreviewBody>,
) -> Result<JsonBody<PreviewAnswer>, Problem> {
    if k.is_some_and(|k| !(1..=1000).contains(&k)) {
        return Err(Problem::unusable(format!("k = {} is not from 1 to 1000", k.unwrap_or_default())));
    }
    let SettingsBody(change) =
        serde_json::from_value(change.into()).map_err(|error| body::json_problem(&error))?;
    let _alone = app.0.previews.acquire().await;
    let answer = read_queue(&app, &name, move |queue| {
        let k = k.map_or_else(|| queue.status().map(|standing| standing.config.k), Ok)?;
        let (now, then) = queue.preview(change, k as usize)?;
        let missing = |from: &[String], of: &[String]| {
            of.iter().filter(|id| !from.contains(id)).cloned().collect::<Vec<_>>()
        };
        Ok(PreviewAnswer { k, enter: missing(&now, &then), leave: missing(&then, &now), best: then })
    });
    answer.await.map(JsonBody)
}

pub(crate) async fn report(
    State(app): State<App>,
    QueuePath(name): QueuePath,
) -> Result<JsonBody<ReportAnswer>, Problem> {
    // Reports beyond the limit wait here, without blocking a thread.
    let _room = app.0.reports.acquire().await;
    read_queue(&app, &name, |queue| Ok(queue.report()?.into())).await.map(JsonBody)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    #[serde(default)]
    after: JsonInteger,
    #[serde(default = "hundred")]
    limit: u64,
}

/// Lists entries of the activity log.
pub(crate) async fn events(
    State(app): State<App>,
    QueuePath(name): QueuePath,
    QueryParams(EventsQuery { after: JsonInteger(after), limit }): QueryParams<EventsQuery>,
) -> Result<JsonBody<EventPage>, Problem> {
    let limit = check(limit)?;
    let happened = read_queue(&app, &name, move |queue| queue.activity(after, limit)).await?;
    let next = happened.last().map_or(after, |last| last.seq);
    Ok(JsonBody(EventPage { events: happened.into_iter().map(Into::into).collect(), next }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jurybox_server::ItemState;

    #[test]
    fn a_page_has_no_more_items_than_an_answer_has_room_for() {
        let item = |n| ListedItem {
            n,
            id: "x".repeat(100),
            arrived: 0,
            stands: ItemState::Pending,
            value: None,
            scores: Vec::new(),
            tags: [("tag".into(), "value".into())].into(),
            due: None,
        };
        let items: Vec<ListedItem> = (0..100).map(item).collect();
        let wide: Vec<String> = (0..2048).map(|_| "n".repeat(480)).collect();
        assert_eq!(how_many_fit(&items, &wide), MOST_BYTES as usize / (2048 * 512 + 108));
        assert_eq!(how_many_fit(&items, &wide[..1]), 100);
        let wider = vec!["n".repeat(5000); 2048];
        assert_eq!((how_many_fit(&items, &wider), how_many_fit(&[], &wider)), (1, 0));
    }
}

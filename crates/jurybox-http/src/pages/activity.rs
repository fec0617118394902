//! The page of a queue's activity log, and the lists of its entries that other pages show.

use super::format::{count, in_address, moment, now};
use super::layout::{Page, navigation};
use super::wording::verdict_text;
use crate::app::App;
use crate::guard::Caller;
use crate::handlers::{QueryParams, QueuePath, read_queue};
use crate::problem::Problem;
use crate::wire::shown_name;
use axum::extract::State;
use jurybox_draw::counted;
use jurybox_server::{ActivityEntry, Config, DriftIncident, Error, Queue};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

/// The most entries of a page.
const ENTRIES: usize = 100;
/// How many entries are read at once.
const READ: u64 = 100;
/// The most reads of the log to fill a page.
const READS: usize = 20;
/// The most items of one entry that are named.
const NAMED: u64 = 3;

/// The query. With `before`, the page shows only entries with smaller numbers.
#[derive(Deserialize)]
pub(super) struct ActivityQuery {
    before: Option<u64>,
    /// Whether routine entries are shown too.
    #[serde(default)]
    all: bool,
}

/// Whether entries of a kind are routine: extended leases, and verdicts that became final.
pub(super) fn is_routine(kind: &str) -> bool {
    matches!(kind, "extend" | "settle")
}

/// The newest wanted entries up to `last`, at most `most`, newest first. Also the number of the
/// earliest entry up to which the log was searched, and how many of the searched entries are not
/// wanted. Reads at most [`READS`] times [`READ`] entries.
pub(super) fn read_back(
    queue: &Queue,
    last: u64,
    most: usize,
    wanted: impl Fn(&str) -> bool,
) -> Result<(Vec<ActivityEntry>, u64, u64), Error> {
    let (mut shown, mut first) = (Vec::new(), last + 1);
    for _ in 0..READS {
        let (after, until) = (first.saturating_sub(READ + 1), first - 1);
        for event in queue.log_page(after, until, NAMED, &wanted)?.into_iter().rev() {
            if shown.len() < most {
                first = event.seq;
                shown.push(event);
            }
        }
        if shown.len() == most {
            break;
        }
        first = after + 1;
        if first <= 1 {
            break;
        }
    }
    let left_out = last + 1 - first - shown.len() as u64;
    Ok((shown, first, left_out))
}

/// The page of the activity log.
pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    QueryParams(ActivityQuery { before, all }): QueryParams<ActivityQuery>,
) -> Result<Page, Problem> {
    let (config, noticed_all, head, last, (happened, first, left_out)) =
        read_queue(&app, &queue, move |found| {
            let (config, head) = found.status().map(|now| (now.config, now.head))?;
            let last = before.map_or(head, |before| head.min(before.saturating_sub(1)));
            // Changes of evaluators are known once the queue has been ranked.
            let noticed = found
                .model()
                .ok()
                .map(|model| found.drift_incidents(&model))
                .transpose()?
                .unwrap_or_default();
            Ok((
                config,
                noticed,
                head,
                last,
                read_back(found, last, ENTRIES, |kind| all || !is_routine(kind))?,
            ))
        })
        .await?;
    let here = |before: u64, all: bool| {
        let also = if all { "&all=true" } else { "" };
        format!("/q/{queue}/activity?before={before}{also}")
    };
    let body = html! {
        (navigation(&caller, Some(&queue), "Activity", None))
        main {
            h1 { "Activity" }
            @if !noticed_all.is_empty() {
                section class="panel" { h2 { "Evaluators that changed" } (noticed(&queue, &noticed_all, now())) }
            }
            section class="panel" {
                (list(&queue, &config, &happened, now(), true))
                p class="ways-on" {
                    @if last < head { a href=(here(head + 1, all)) { "newest" } }
                    @if first > 1 { a href=(here(first, all)) { "older" } }
                    span class="small" { "entries " (count(first)) " to " (count(last)) " of " (count(head)) }
                    @if left_out > 0 { span class="small" { (count(left_out)) " routine entries are hidden (extended leases, verdicts that became final): " a href=(here(last + 1, true)) { "show all" } } }
                    @if all { span class="small" { a href=(here(last + 1, false)) { "hide routine entries" } } }
                }
            }
            p class="small" {
                "Entries are never changed or removed. Programs read them with " code { "GET /v1/queues/" (queue) "/events" }
                ". To check the log and every claim in it: " code { "jurybox server verify" } "."
            }
        }
    };
    Ok(Page::new(&format!("Activity · {queue}"), &body))
}

/// The detected changes of evaluators as a list, including past ones.
pub(super) fn noticed(queue: &str, all: &[DriftIncident], now: i64) -> Markup {
    html! {
        @if !all.is_empty() {
            ul class="feed changes" {
                @for DriftIncident { evaluator, raised, over } in all {
                    li {
                        span class="when" { (moment(raised.at, now)) }
                        span class="kind" { "change" }
                        span {
                            b { (evaluator) } " changed, in scores from " (moment(raised.since, now)) " on. Noticed at " (moment(raised.at, now))
                            ", " a href={ "/q/" (queue) "/activity?all=true&before=" (raised.entry + 1) } { "entry " (count(raised.entry)) }
                            @if let Some(over) = over { ", over by " (moment(*over, now)) "." } @else { ". Still changed." }
                        }
                    }
                }
            }
        }
    }
}

/// Entries of the log as a list.
pub(super) fn list(
    queue: &str,
    config: &Config,
    happened: &[ActivityEntry],
    now: i64,
    numbered: bool,
) -> Markup {
    html! {
        ul class="feed" {
            @for event in happened {
                li {
                    span class="when" title=[numbered.then(|| format!("entry {}", event.seq))] { (moment(event.at, now)) }
                    span class="kind" { (kind(event)) }
                    span { (words(queue, config, event)) }
                }
            }
        }
    }
}

/// One entry as a line without links, for the summary of a folded panel.
pub(super) fn last(event: &ActivityEntry, now: i64) -> Markup {
    html! { (moment(event.at, now)) " " (kind(event)) @if !event.items.is_empty() { ": " bdi { (event.items.join(", ")) } } }
}

/// An item's id as a link to its page.
pub(super) fn item(queue: &str, id: &str) -> Markup {
    html! { a class="id" href={ "/q/" (queue) "/items/" (in_address(id)) } { (id) } }
}

/// The kind of an entry as the list shows it.
fn kind(event: &ActivityEntry) -> &'static str {
    match event.kind {
        "configure" => "settings",
        "create" => "created",
        "extend" => "kept",
        "release" if event.reason.is_some() => "skip",
        "verdicts" => "verdict",
        "settle" => "final",
        kind => kind,
    }
}

/// An entry of the log as a sentence.
fn words(queue: &str, config: &Config, event: &ActivityEntry) -> Markup {
    let actor = event.actor.as_str();
    // Items that were erased since are counted, but have no id here.
    let more = |named: usize| {
        let more = event.many.saturating_sub(NAMED.max(named as u64));
        html! { @if more > 0 { " and " (count(more)) " more" } }
    };
    let items = html! {
        @for (at, id) in event.items.iter().enumerate() { @if at > 0 { ", " } (item(queue, id)) }
        @if event.items.is_empty() { (counted(event.many.min(NAMED), "item")) ", erased since" }
        (more(event.items.len()))
    };
    // `bdi` keeps a name in right-to-left script from reordering the text around it.
    let name = |name: &str| html! { bdi { (name) } };
    let (who, actor) = (name(event.reviewer.as_deref().unwrap_or(actor)), name(actor));
    html! {
        @match event.kind {
            "items" => { (actor) " sent " (items) },
            "claim" if event.many == 0 => { (who) " found nothing to claim" },
            "claim" => { (who) " claimed " (items) },
            "extend" => { (who) " kept " (items) },
            "release" if event.reason.is_some() => { (who) " skipped " (items) ": " (name(event.reason.as_deref().unwrap_or_default())) },
            "release" => { (who) " returned " (items) },
            "verdicts" => {
                @for (at, (_, id, reviewer, _, reward, _)) in event.verdicts.iter().enumerate() {
                    @if at > 0 { "; " } (name(reviewer)) " on " (item(queue, id)) ": " (verdict_text(config, None, *reward))
                }
                @if event.verdicts.is_empty() { "on " (items) } @else { (more(event.verdicts.len())) }
            },
            "undo" => { (who) " undid the verdict on " (items) },
            "close" => { (actor) " closed " (items) ": " (name(event.reason.as_deref().unwrap_or_default())) },
            "create" => { (actor) " created the queue" },
            "configure" => {
                (actor) " changed "
                @for (at, (name, value)) in event.changed.iter().enumerate() {
                    @if at > 0 { "; " } (shown_name(name)) " to " (setting_text(value))
                }
            },
            "erase" => { (actor) " erased " (count(event.many)) @if event.many == 1 { " item" } @else { " items" } },
            "settle" => { "earlier verdicts became final" },
            "clock" => { "the clock was set back" },
            _ => { (actor) },
        }
    }
}
/// The value of a setting, as a person reads it: names of a list, "none" if it is empty.
fn setting_text(value: &Value) -> String {
    match value {
        Value::Null => "none".into(),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.is_empty() => "none".into(),
        Value::Array(list) => {
            let names = list.iter().map(|one| setting_text(one.get("name").unwrap_or(one)));
            names.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

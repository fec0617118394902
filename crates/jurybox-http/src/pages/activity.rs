//! Entries of the log in words; and all of them, page by page: who did what, and when.

use super::format::{count, in_address, moment, now, rounded};
use super::layout::{Page, navigation};
use crate::app::App;
use crate::guard::Caller;
use crate::handlers::{QueryParams, QueuePath, read_queue};
use crate::problem::Problem;
use crate::wire::shown_name;
use axum::extract::State;
use jurybox_draw::counted;
use jurybox_server::{Error, Happened, Noticed, Queue};
use maud::{Markup, html};
use serde::Deserialize;

/// Entries on a page.
const ENTRIES: usize = 100;
/// Entries that are read at once, and how often, until there are enough to show.
const READ: u64 = 100;
const READS: usize = 20;
/// Items of one entry that are named.
const NAMED: u64 = 3;

/// From where on the log is shown, backwards.
#[derive(Deserialize)]
pub(super) struct ActivityQuery {
    before: Option<u64>,
    /// Whether what happens by itself is shown too.
    #[serde(default)]
    all: bool,
}

/// Whether entries of a kind are of what happens by itself, again and again: heartbeats of desks, and time that passes.
pub(super) fn is_routine(kind: &str) -> bool {
    matches!(kind, "extend" | "settle")
}

/// The last entries up to one that are wanted, newest first, as many as there are to be; the first entry that was read, and how many of those were
/// not wanted. Where hardly any are wanted it is not looked all the way back.
pub(super) fn back(
    queue: &Queue,
    last: u64,
    most: usize,
    wanted: impl Fn(&str) -> bool,
) -> Result<(Vec<Happened>, u64, u64), Error> {
    let (mut shown, mut first) = (Vec::new(), last + 1);
    for _ in 0..READS {
        let (after, until) = (first.saturating_sub(READ + 1), first - 1);
        for event in queue.glanced(after, until, NAMED, &wanted)?.into_iter().rev() {
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

/// The log, newest first.
pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    QueryParams(ActivityQuery { before, all }): QueryParams<ActivityQuery>,
) -> Result<Page, Problem> {
    let (noticed_all, head, last, (happened, first, left_out)) = read_queue(&app, &queue, move |found| {
        let head = found.standing()?.head;
        let last = before.map_or(head, |before| head.min(before.saturating_sub(1)));
        // A queue that is not ranked yet knows of no change.
        let noticed = found.model().ok().map(|model| found.noticed(&model)).transpose()?.unwrap_or_default();
        Ok((noticed, head, last, back(found, last, ENTRIES, |kind| all || !is_routine(kind))?))
    })
    .await?;
    let here = |before: u64, all: bool| {
        let also = if all { "&all=true" } else { "" };
        format!("/q/{queue}/audit?before={before}{also}")
    };
    let body = html! {
        (navigation(&caller, Some(&queue), "Audit", None))
        main {
            h1 { "Audit" }
            @if !noticed_all.is_empty() {
                section class="panel" { h2 { "Evaluators that changed" } (noticed(&queue, &noticed_all, now())) }
            }
            section class="panel" {
                (list(&queue, &happened, now(), true))
                p class="ways-on" {
                    @if last < head { a href=(here(head + 1, all)) { "newest" } }
                    @if first > 1 { a href=(here(first, all)) { "older" } }
                    span class="small" { "entries " (count(first)) " to " (count(last)) " of " (count(head)) }
                    @if left_out > 0 { span class="small" { (count(left_out)) " of them, of desks that keep what they hold and of time that passes, are left out: " a href=(here(last + 1, true)) { "show all" } } }
                    @if all { span class="small" { a href=(here(last + 1, false)) { "without what happens by itself" } } }
                }
            }
            p class="small" {
                "No entry is ever taken out of the log. For programs: " code { "GET /v1/queues/" (queue) "/events" }
                "; that it is whole and every claim was right: " code { "jurybox server verify" } "."
            }
        }
    };
    Ok(Page::new(&format!("Audit · {queue}"), &body))
}

/// Changes of evaluators that were noticed, in words: also those that are over, for whoever was not there.
pub(super) fn noticed(queue: &str, all: &[Noticed], now: i64) -> Markup {
    html! {
        @if !all.is_empty() {
            ul class="feed changes" {
                @for Noticed { evaluator, raised, over } in all {
                    li {
                        span class="when" { (moment(raised.at, now)) }
                        span class="kind" { "change" }
                        span {
                            b { (evaluator) } " changed: by scores from " (moment(raised.since, now)) " on, noticed at " (moment(raised.at, now))
                            " with " a href={ "/q/" (queue) "/audit?all=true&before=" (raised.entry + 1) } { "entry " (count(raised.entry)) }
                            @if let Some(over) = over { "; over by " (moment(*over, now)) } @else { "; it still is so" }
                        }
                    }
                }
            }
        }
    }
}

/// Entries as a list.
pub(super) fn list(queue: &str, happened: &[Happened], now: i64, numbered: bool) -> Markup {
    html! {
        ul class="feed" {
            @for event in happened {
                li {
                    span class="when" title=[numbered.then(|| format!("entry {}", event.seq))] { (moment(event.at, now)) }
                    span class="kind" { (event.kind) }
                    span { (words(queue, event)) }
                }
            }
        }
    }
}

/// One entry, in a line without links: what stands in a summary opens it.
pub(super) fn last(event: &Happened, now: i64) -> Markup {
    html! { (moment(event.at, now)) " " (event.kind) @if !event.items.is_empty() { ": " bdi { (event.items.join(", ")) } } }
}

/// An item by its id, which leads to all that is known of it.
pub(super) fn item(queue: &str, id: &str) -> Markup {
    html! { a class="id" href={ "/q/" (queue) "/items/" (in_address(id)) } { (id) } }
}

/// An entry in words.
fn words(queue: &str, event: &Happened) -> Markup {
    let actor = event.actor.as_str();
    // Of those that were erased since there is no name left.
    let more = |told: usize| {
        let more = event.many.saturating_sub(NAMED.max(told as u64));
        html! { @if more > 0 { " and " (count(more)) " more" } }
    };
    let items = html! {
        @for (at, id) in event.items.iter().enumerate() { @if at > 0 { ", " } (item(queue, id)) }
        @if event.items.is_empty() { (counted(event.many.min(NAMED), "item")) ", erased since" }
        (more(event.items.len()))
    };
    // A name may run from right to left, or say that what follows does: it is for itself.
    let name = |name: &str| html! { bdi { (name) } };
    let (who, actor) = (name(event.reviewer.as_deref().unwrap_or(actor)), name(actor));
    html! {
        @match event.kind {
            "items" => { (actor) " sent " (items) },
            "claim" if event.many == 0 => { (who) " found nothing to claim" },
            "claim" => { (who) " was given " (items) },
            "extend" => { (who) " keeps " (items) },
            "release" if event.reason.is_some() => { (who) " skipped " (items) ": " (name(event.reason.as_deref().unwrap_or_default())) },
            "release" => { (who) " gave back " (items) },
            "verdicts" => {
                @for (at, (_, id, reviewer, _, reward, _)) in event.verdicts.iter().enumerate() {
                    @if at > 0 { "; " } (name(reviewer)) " on " (item(queue, id)) ": " (rounded(*reward))
                }
                @if event.verdicts.is_empty() { "on " (items) } @else { (more(event.verdicts.len())) }
            },
            "undo" => { (who) " took back the verdict on " (items) },
            "close" => { (actor) " closed " (items) ": " (name(event.reason.as_deref().unwrap_or_default())) },
            "create" => { (actor) " made the queue" },
            "configure" => {
                (actor) " changed "
                @for (at, name) in event.changed.keys().enumerate() { @if at > 0 { ", " } (shown_name(name)) }
            },
            "erase" => { (actor) " erased " (count(event.many)) @if event.many == 1 { " item" } @else { " items" } },
            "settle" => { "time has passed" },
            "clock" => { "the clock was set back" },
            _ => { (actor) },
        }
    }
}

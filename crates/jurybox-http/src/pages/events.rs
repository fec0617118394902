//! Entries of the log in words; and all of them, page by page: who did what, and when.

use super::format::{count, in_address, moment, now, rounded};
use super::shell::{Page, ways};
use crate::app::App;
use crate::guard::Caller;
use crate::handlers::{Asked, OfQueue, look};
use crate::problem::Problem;
use axum::extract::State;
use jurybox_server::Happened;
use maud::{Markup, html};
use serde::Deserialize;

/// Entries on a page.
const ENTRIES: u64 = 100;
/// Items of one entry that are named.
const NAMED: usize = 3;

/// From where on the log is shown, backwards.
#[derive(Deserialize)]
pub(super) struct From {
    before: Option<u64>,
}

/// The log, newest first.
pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    OfQueue(queue): OfQueue,
    Asked(From { before }): Asked<From>,
) -> Result<Page, Problem> {
    let (head, mut happened) = look(&app, &queue, move |found| {
        let head = found.standing()?.head;
        let last = before.map_or(head, |before| head.min(before.saturating_sub(1)));
        let (mut after, mut all) = (last.saturating_sub(ENTRIES), Vec::new());
        // Entries about very many items come a few at a time.
        while after < last {
            let some = found.happened(after, (last - after) as usize)?;
            let Some(reached) = some.last().map(|event| event.seq) else { break };
            after = reached;
            all.extend(some);
        }
        Ok((head, all))
    })
    .await?;
    happened.reverse();
    let (first, last) = (happened.last().map_or(0, |one| one.seq), happened.first().map_or(0, |one| one.seq));
    let body = html! {
        (ways(&caller, Some(&queue), "Audit", None))
        main {
            h1 { "Audit" }
            section class="panel" {
                (list(&queue, &happened, now(), true))
                p class="ways-on" {
                    @if last < head { a href={ "/q/" (queue) "/audit" } { "newest" } }
                    @if first > 1 { a href={ "/q/" (queue) "/audit?before=" (first) } { "older" } }
                    span class="small" { "entries " (count(first)) " to " (count(last)) " of " (count(head)) }
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

/// Entries as a list.
pub(super) fn list(queue: &str, happened: &[Happened], now: i64, numbered: bool) -> Markup {
    html! {
        ul class="feed" {
            @for event in happened {
                li {
                    time title=[numbered.then(|| format!("entry {}", event.seq))] { (moment(event.at, now)) }
                    span class="kind" { (event.kind) }
                    span { (words(queue, event)) }
                }
            }
        }
    }
}

/// An item by its id, which leads to all that is known of it.
pub(super) fn item(queue: &str, id: &str) -> Markup {
    html! { a class="id" href={ "/q/" (queue) "/items/" (in_address(id)) } { (id) } }
}

/// An entry in words.
fn words(queue: &str, event: &Happened) -> Markup {
    let (many, actor) = (event.items.len(), event.actor.as_str());
    let items = html! {
        @for (at, id) in event.items.iter().take(NAMED).enumerate() { @if at > 0 { ", " } (item(queue, id)) }
        @if many > NAMED { " and " (count((many - NAMED) as u64)) " more" }
        @if many == 0 { (count(event.many)) " items that were erased since" }
    };
    let who = event.reviewer.as_deref().unwrap_or(actor);
    html! {
        @match event.kind {
            "items" => { (actor) " sent " (items) },
            "claim" if event.many == 0 => { (who) " found nothing to claim" },
            "claim" => { (who) " was given " (items) },
            "extend" => { (who) " keeps " (items) },
            "release" if event.reason.is_some() => { (who) " skipped " (items) ": " (event.reason.as_deref().unwrap_or_default()) },
            "release" => { (who) " gave back " (items) },
            "verdicts" => {
                @for (at, (_, id, reviewer, _, reward, _)) in event.verdicts.iter().take(NAMED).enumerate() {
                    @if at > 0 { "; " } (reviewer) " on " (item(queue, id)) ": " (rounded(*reward))
                }
                @if event.verdicts.len() > NAMED { " and " (count((event.verdicts.len() - NAMED) as u64)) " more" }
            },
            "undo" => { (who) " took back the verdict on " (items) },
            "close" => { (actor) " closed " (items) ": " (event.reason.as_deref().unwrap_or_default()) },
            "create" => { (actor) " made the queue" },
            "configure" => {
                (actor) " changed "
                @for (at, name) in event.changed.keys().enumerate() { @if at > 0 { ", " } (name) }
            },
            "erase" => { (actor) " erased " (count(event.many)) @if event.many == 1 { " item" } @else { " items" } },
            "settle" => { "time has passed" },
            _ => { (actor) },
        }
    }
}

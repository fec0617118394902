//! An item: what reviewers are shown of it, what was thought of it and why, and all that happened to it.

use super::activity;
use super::format::{aligned, between, count, moment, now, percent};
use super::payload;
use super::queue::contribution_bar;
use super::layout::{Page, navigation};
use crate::app::App;
use crate::guard::Caller;
use crate::handlers::{ItemPath, read_queue, no_item};
use crate::problem::Problem;
use axum::extract::State;
use jurybox_draw::short;
use jurybox_server::{Explained, Happened, Judged, Stands};
use maud::{Markup, html};

/// Entries that are told of an item.
const ENTRIES: usize = 200;

pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    ItemPath(queue, item): ItemPath,
) -> Result<Page, Problem> {
    let asked = item.clone();
    // Claims and verdicts are looked through for it.
    let _turn = app.0.reports.acquire().await;
    let told = read_queue(&app, &queue, move |found| {
        let Some(told) = found.explained(&asked)? else { return Ok(None) };
        let happened = found.happened_to(told.item.n, ENTRIES)?;
        Ok(Some((found.standing()?.config.evaluators.names().map(String::from).collect(), told, happened)))
    });
    let (names, told, happened): (Vec<String>, Explained, Vec<Happened>) =
        told.await?.ok_or_else(|| no_item(&item))?;
    let panel = |title: &str, inner: Markup| html! { section class="panel" { h2 { (title) } (inner) } };
    let body = html! {
        (navigation(&caller, Some(&queue), "", None))
        main {
            h1 class="id" { (item) }
            (standing(&told))
            div class="columns" {
                div {
                    section class="panel" { h2 { "What reviewers see" } div class="shown" { (payload::shown(&item, told.payload.as_ref())) } }
                    (panel("What happened to it", history(&queue, &happened)))
                }
                div {
                    (panel("Why it has its place", reasons(&told, &names)))
                    (panel("Verdicts", verdicts(&told.verdicts)))
                }
            }
        }
    };
    Ok(Page::new(&format!("{item} · {queue}"), &body))
}

/// How it stands, in a line.
fn standing(told: &Explained) -> Markup {
    let (item, now) = (&told.item, now());
    html! {
        ul class="figures" {
            li {
                @match item.stands {
                    Stands::Pending => b { "waits" },
                    Stands::Leased => { b { "in hand" } @for (who, until) in &told.leases { " of " (who) " until " (moment(*until, now)) } },
                    Stands::Closed => b { "closed" },
                }
            }
            li { "came in " b { (moment(item.arrived, now)) } }
            @if let Some(due) = item.due { li { "due " b { (moment(due, now)) } } }
            @if let Some(value) = item.value { li { "value " b { (aligned([Some(value)]).concat()) } } }
            @if let Some(predicted) = told.predicted { li { "expected " b { (between(predicted)) } } }
            @if let Some(audit) = told.audit { li { "drawn for an audit, by a chance of " b { (percent(audit)) } } }
            @for (name, value) in &item.tags { li { (name) " " b { (value) } } }
        }
    }
}

/// Each evaluator's score, and what it adds.
fn reasons(told: &Explained, names: &[String]) -> Markup {
    let each = told.contributions.as_ref().map(|told| &told.each[..]).unwrap_or_default();
    let largest = each.iter().filter(|share| share.is_finite()).map(|share| share.abs()).fold(0.0, f64::max);
    let adds = aligned((0..names.len()).map(|j| each.get(j).copied()));
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="Table of scores" {
            table {
                thead { tr { th class="name" { "evaluator" } th { "score" } th { span class="unseen" { "as a bar" } } th { "adds" } } }
                tbody {
                    @for (j, name) in names.iter().enumerate() {
                        @let share = each.get(j).copied().filter(|share| share.is_finite());
                        tr {
                            td class="name" { (contribution_bar::swatch(j)) (name) }
                            td { @match told.item.scores.get(j).copied().flatten() { Some(score) => (short(score)), None => span class="muted" { "missing" } } }
                            td class="bar" { @if let Some(share) = share { (contribution_bar::bar(&[(j, share)], names, largest, 100.0)) } }
                            td { (adds[j]) }
                        }
                    }
                }
            }
        }
        p class="small" { "By the model of entry " (count(told.model)) ", as of now: it may have been given out by an earlier one." }
    }
}

/// The verdicts that stand.
fn verdicts(all: &[Judged]) -> Markup {
    html! {
        @if all.is_empty() { p class="small" { "None stands." } }
        ul class="plain" {
            @for judged in all {
                li {
                    b { (judged.label.clone().unwrap_or_else(|| short(judged.reward))) }
                    " by " (judged.reviewer) " · worth " (short(judged.reward))
                    @if judged.seen { " " span class="warn" { "not blind" } }
                    @if let Some(note) = &judged.note { p class="note-of" { (note) } }
                }
            }
        }
        @if all.iter().any(|judged| judged.seen) {
            p class="small" { "Not blind: the reviewer had given a verdict on it before, and may have seen what the jury thought. It counts, but not where reviewers are compared." }
        }
    }
}

fn history(queue: &str, happened: &[Happened]) -> Markup {
    html! {
        (activity::list(queue, happened, now(), false))
        @if happened.len() == ENTRIES { p class="small" { "The last " (ENTRIES) " entries of the log about it." } }
    }
}

//! The page of an item: its payload, scores, verdicts and history.

use super::activity;
use super::format::{aligned, count, moment, now, number, percent};
use super::layout::{Page, navigation};
use super::payload;
use super::queue::contribution_bar;
use super::wording::{Wording, verdict_text};
use crate::app::App;
use crate::guard::Caller;
use crate::handlers::{ItemPath, no_item, read_queue};
use crate::problem::Problem;
use axum::extract::State;
use jurybox_server::{ActivityEntry, Config, ExplainedItem, ItemState, VerdictOnItem};
use maud::{Markup, html};

/// The most entries of the activity log that are listed.
const ENTRIES: usize = 200;

pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    ItemPath(queue, item): ItemPath,
) -> Result<Page, Problem> {
    let asked = item.clone();
    // This reads many rows, so it counts as a report.
    let _turn = app.0.reports.acquire().await;
    let explained = read_queue(&app, &queue, move |found| {
        let Some(explained) = found.explain_item(&asked)? else { return Ok(None) };
        let happened = found.item_activity(explained.item.n, ENTRIES)?;
        Ok(Some((found.status()?.config, explained, happened)))
    });
    let (config, explained, happened) = explained.await?.ok_or_else(|| no_item(&item))?;
    let names: Vec<String> = config.evaluators.names().map(String::from).collect();
    let panel = |title: &str, inner: Markup| html! { section class="panel" { h2 { (title) } (inner) } };
    let body = html! {
        (navigation(&caller, Some(&queue), "", None))
        main {
            h1 class="id" { (item) }
            (standing(&config, &explained))
            div class="columns" {
                div {
                    section class="panel" { h2 { "What reviewers see" } div class="shown" { (payload::shown(&item, explained.payload.as_ref())) } }
                    (panel("History", history(&queue, &config, &happened)))
                }
                div {
                    (panel("Why it is ranked here", reasons(&explained, &names)))
                    (panel("Verdicts", verdicts(&config, &explained.verdicts)))
                }
            }
        }
    };
    Ok(Page::new(&format!("{item} · {queue}"), &body))
}

/// The state of the item, its times, value, prediction and tags, in one line.
fn standing(config: &Config, explained: &ExplainedItem) -> Markup {
    let (item, now) = (&explained.item, now());
    let words = Wording::of(config, explained.verdicts.iter().map(|verdict| verdict.reward));
    html! {
        ul class="figures" {
            li {
                @match item.stands {
                    ItemState::Pending => b { "waiting" },
                    ItemState::Leased => { b { "with a reviewer" } @for (who, until) in &explained.leases { ": " (who) " until " (moment(*until, now)) } },
                    ItemState::Closed => b { "closed" },
                }
            }
            li { "arrived " b { (moment(item.arrived, now)) } }
            @if let Some(due) = item.due { li { "due " b { (moment(due, now)) } } }
            @if let Some(value) = item.value { li { "value " b { (number(value)) } } }
            @if let Some(predicted) = explained.predicted { li { "predicted: " b { (words.prediction(predicted)) } } }
            @if let Some(rate) = explained.random_check { li { "random check (" b { (percent(rate)) } " of items are)" } }
            @for (name, value) in &item.tags { li { (name) " " b { (value) } } }
        }
    }
}

/// Each evaluator's score and its contribution to the item's value.
fn reasons(explained: &ExplainedItem, names: &[String]) -> Markup {
    let each = explained.contributions.as_ref().map(|sum| &sum.each[..]).unwrap_or_default();
    let largest = each.iter().filter(|share| share.is_finite()).map(|share| share.abs()).fold(0.0, f64::max);
    let contributions = aligned((0..names.len()).map(|j| each.get(j).copied()));
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="Table of scores" {
            table {
                thead { tr { th class="name" { "evaluator" } th { "score" } th { span class="unseen" { "as a bar" } } th { "contribution" } } }
                tbody {
                    @for (j, name) in names.iter().enumerate() {
                        @let share = each.get(j).copied().filter(|share| share.is_finite());
                        tr {
                            td class="name" { (contribution_bar::swatch(j)) (name) }
                            td { @match explained.item.scores.get(j).copied().flatten() { Some(score) => (number(score)), None => span class="muted" { "missing" } } }
                            td class="bar" { @if let Some(share) = share { (contribution_bar::bar(&[(j, share)], names, largest, 100.0)) } }
                            td { (contributions[j]) }
                        }
                    }
                }
            }
        }
        p class="small" { "As ranked now (model " (count(explained.model)) "). When the item was claimed, its value may have been different." }
    }
}

/// The current verdicts.
fn verdicts(config: &Config, all: &[VerdictOnItem]) -> Markup {
    html! {
        @if all.is_empty() { p class="small" { "No verdict yet." } }
        ul class="plain" {
            @for judged in all {
                li {
                    b { (verdict_text(config, judged.label.as_deref(), judged.reward)) }
                    " by " (judged.reviewer)
                    @if judged.seen { " " span class="warn" { "not blind" } }
                    @if let Some(note) = &judged.note { p class="note-of" { (note) } }
                }
            }
        }
        @if all.iter().any(|judged| judged.seen) {
            p class="small" { "Not blind: the reviewer judged this item before and may have seen the jury's prediction. The verdict counts, but not when reviewers are compared." }
        }
    }
}

/// The item's entries of the activity log.
fn history(queue: &str, config: &Config, happened: &[ActivityEntry]) -> Markup {
    html! {
        (activity::list(queue, config, happened, now(), false))
        @if happened.len() == ENTRIES { p class="small" { "Only the last " (ENTRIES) " entries are listed." } }
    }
}

//! A queue: what it catches, whom it trusts and why, what comes next, what happened.

mod charts;
mod compare;
pub(super) mod mute;
mod panels;
pub(super) mod why;

use super::figures::{Seen, seen};
use super::shell::{Page, part as shown, ways};
use crate::app::App;
use crate::demo::Demo;
use crate::guard::Caller;
use crate::handlers::{Asked, OfQueue};
use crate::problem::Problem;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;

/// What a panel is drawn from.
struct View<'a> {
    seen: &'a Seen,
    queue: &'a str,
    caller: &'a Caller,
    /// How far back it is compared.
    range: compare::Range,
    /// The demo that feeds this queue, where one does.
    demo: Option<&'a Demo>,
}

/// A panel: its name, its title, and what is within.
type Panel = (&'static str, &'static str, fn(&View<'_>) -> Markup);

/// Those on the left, which is wide; those on the right; those below, in two halves of about the same height; and the last ones, across.
const LEFT: [Panel; 3] = [
    ("caught", "Caught so far", charts::caught),
    ("trust", "Trust over time", charts::trust),
    ("delay", "How long a verdict takes", charts::delay),
];
const RIGHT: [Panel; 3] = [
    ("evaluators", "Evaluators", panels::evaluators),
    ("missed", "Missed", panels::missed),
    ("compare", "Against the time before", compare::panel),
];
const BELOW: [Panel; 4] = [
    ("top", "Next in line, and why", panels::top),
    ("errors", "Who errs with whom", charts::errors),
    ("feed", "What happened", panels::feed),
    ("reliability", "What a score is worth", charts::reliability),
];

/// One panel alone, by its name, or all of them; and how far back they go.
#[derive(Deserialize)]
pub(super) struct Wanted {
    panel: Option<String>,
    range: Option<compare::Range>,
}

pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    OfQueue(queue): OfQueue,
    Asked(wanted): Asked<Wanted>,
) -> Result<Response, Problem> {
    let (seen, so) = seen(&app, &queue).await?;
    let demo = app.demo().filter(|demo| demo.queue() == queue);
    let range = wanted.range.unwrap_or_default();
    let view = View { seen: &seen, queue: &queue, caller: &caller, range, demo };
    if let Some(wanted) = wanted.panel {
        let panel = LEFT.iter().chain(&RIGHT).chain(&BELOW).find(|(name, ..)| *name == wanted);
        let inner =
            panel.map(|panel| inner(&view, panel)).or((wanted == "figures").then(|| panels::figures(&view)));
        return Ok(shown(&inner.unwrap_or_default(), so));
    }
    let all = |panels: &[Panel]| {
        html! {
            @for panel in panels {
                section .panel id=(panel.0) data-panel=(panel.0) data-queue=(queue) aria-label=(panel.1) { (inner(&view, panel)) }
            }
        }
    };
    let body = html! {
        (ways(&caller, Some(&queue), "Queue", Some(so)))
        main {
            h1 class="unseen" { (queue) }
            section class="panel" data-panel="figures" data-queue=(queue) aria-label="Figures" { (panels::figures(&view)) }
            div class="columns" { div { (all(&LEFT)) } div { (all(&RIGHT)) } }
            div class="halves" { div { (all(&BELOW[..1])) } div { (all(&BELOW[1..2])) } }
            (all(&BELOW[2..]))
        }
    };
    Ok(Page::new(&format!("{queue} · Jurybox"), &body).into_response())
}

fn inner(view: &View<'_>, (_, title, draw): &Panel) -> Markup {
    html! { h2 { (title) } (draw(view)) }
}

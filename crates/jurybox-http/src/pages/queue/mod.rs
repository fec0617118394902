//! A queue: what it catches, whom it trusts and why, what comes next, what happened.

mod charts;
mod compare;
pub(super) mod mute;
mod panels;
pub(super) mod why;
mod window;

pub(super) use charts::drawn;

use super::figures::{Seen, seen};
use super::shell::{Page, part as shown, ways};
use crate::app::App;
use crate::demo::Demo;
use crate::guard::Caller;
use crate::handlers::{Asked, OfQueue};
use crate::problem::Problem;
use crate::time::Time;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;
use window::{Range, Window};

/// What a panel is drawn from.
struct View<'a> {
    seen: &'a Seen,
    queue: &'a str,
    caller: &'a Caller,
    /// The stretch of time that is shown.
    window: Window,
    /// Where this server was asked.
    address: &'a str,
    /// The demo that feeds this queue, where one does.
    demo: Option<&'a Demo>,
}

/// What a panel has to show.
enum Shown {
    /// What people come for: it is open.
    Open(Markup),
    /// What is looked up: one line that says the most of it, and the whole on demand.
    Folded(Markup, Markup),
    /// Nothing yet: one line on what will be here, and when.
    Later(Markup),
}

/// A panel: its name, its title, and what it shows.
type Panel = (&'static str, &'static str, fn(&View<'_>) -> Shown);

/// Those on the left, which is wide, with the first question first; those on the right; and those below, one line each until somebody opens them.
const LEFT: [Panel; 3] = [
    ("caught", "Caught so far", charts::caught),
    ("trust", "Trust over time", charts::trust),
    ("top", "Next in line, and why", panels::top),
];
const RIGHT: [Panel; 2] =
    [("evaluators", "Evaluators", panels::evaluators), ("missed", "Missed", panels::missed)];
const BELOW: [Panel; 5] = [
    ("compare", "Against the time before", compare::panel),
    ("delay", "How long a verdict takes", charts::delay),
    ("errors", "Who errs with whom", charts::errors),
    ("reliability", "What a score is worth", charts::reliability),
    ("feed", "What happened", panels::feed),
];

fn all() -> impl Iterator<Item = &'static Panel> {
    LEFT.iter().chain(&RIGHT).chain(&BELOW)
}

/// The panels by their names and titles.
pub(super) fn titles() -> impl Iterator<Item = (&'static str, &'static str)> {
    all().map(|(name, title, _)| (*name, *title))
}

/// One panel alone, by its name, or all of them; and the stretch of time that they show.
#[derive(Deserialize)]
pub(super) struct Wanted {
    panel: Option<String>,
    range: Option<Range>,
    from: Option<Time>,
    to: Option<Time>,
}

pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    OfQueue(queue): OfQueue,
    Asked(wanted): Asked<Wanted>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (seen, so) = seen(&app, &queue).await?;
    let demo = app.demo().filter(|demo| demo.queue() == queue);
    let window = Window::of(&seen, wanted.range, (wanted.from, wanted.to))?;
    let address = &super::overview::address(&app, &headers);
    let view = View { seen: &seen, queue: &queue, caller: &caller, window, address, demo };
    // Of a queue in which nobody has done anything there is no time to choose.
    let ranges =
        || html! { @if !seen.worked.is_empty() || !window.is_all() { (window.ways(&queue, seen.now)) } };
    if let Some(wanted) = wanted.panel {
        let inner = match wanted.as_str() {
            "figures" => panels::figures(&view),
            "ranges" => ranges(),
            wanted => {
                all().find(|(name, ..)| *name == wanted).map(|panel| inner(&view, panel)).unwrap_or_default()
            }
        };
        return Ok(shown(&inner, so));
    }
    let these = |panels: &[Panel]| {
        html! {
            @for panel in panels {
                section class="panel" data-panel=(panel.0) data-queue=(queue) aria-label=(panel.1) { (inner(&view, panel)) }
            }
        }
    };
    let body = html! {
        (ways(&caller, Some(&queue), "Queue", Some(so)))
        main data-ranged {
            h1 class="unseen" { (queue) }
            section class="panel" data-panel="figures" data-queue=(queue) aria-label="Figures" { (panels::figures(&view)) }
            div data-panel="ranges" data-queue=(queue) { (ranges()) }
            div class="columns" { div { (these(&LEFT)) } div { (these(&RIGHT)) } }
            div class="rows" { (these(&BELOW)) }
        }
    };
    Ok(Page::new(&format!("{queue} · Jurybox"), &body).into_response())
}

/// What is within a panel. Its name is on what may be folded: a link to it opens that.
fn inner(view: &View<'_>, (name, title, draw): &Panel) -> Markup {
    match draw(view) {
        Shown::Open(body) => html! { div id=(name) { h2 { (title) } (body) } },
        Shown::Folded(fact, body) => html! {
            details class="fold" {
                summary { h2 { (title) } span class="fact" { (fact) } }
                div id=(name) { (body) }
            }
        },
        Shown::Later(line) => html! { div id=(name) class="later" { h2 { (title) } p { (line) } } },
    }
}

//! A queue: what it catches, whom it trusts and why, what comes next, what happened.

mod charts;
mod compare;
pub(super) mod mute;
mod panels;
pub(super) mod contribution_bar;
mod time_range;

pub(super) use charts::drawn;

use super::snapshot::{QueueSnapshot, snapshot};
use super::layout::{Page, panel_response, navigation};
use crate::app::App;
use crate::demo::DemoControl;
use crate::guard::Caller;
use crate::handlers::{QueryParams, QueuePath};
use crate::problem::Problem;
use crate::time::Time;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde::Deserialize;
use time_range::{NamedRange, TimeRange};

/// What a panel is drawn from.
struct QueuePage<'a> {
    seen: &'a QueueSnapshot,
    queue: &'a str,
    caller: &'a Caller,
    /// The stretch of time that is shown.
    window: TimeRange,
    /// Where this server was asked.
    address: &'a str,
    /// The demo that feeds this queue, where one does.
    demo: Option<&'a DemoControl>,
}

/// What a panel has to show.
enum PanelBody {
    /// What people come for: it is open.
    Open(Markup),
    /// What is looked up: one line that says the most of it, and the whole on demand.
    Folded(Markup, Markup),
    /// Nothing yet: one line on what will be here, and when.
    Later(Markup),
}

/// A panel: its name, its title, and what it shows.
type Panel = (&'static str, &'static str, fn(&QueuePage<'_>) -> PanelBody);

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
pub(super) struct QueuePageQuery {
    panel: Option<String>,
    range: Option<NamedRange>,
    from: Option<Time>,
    to: Option<Time>,
}

pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    QueryParams(wanted): QueryParams<QueuePageQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (seen, so) = snapshot(&app, &queue).await?;
    let demo = app.demo().filter(|demo| demo.queue() == queue);
    let window = TimeRange::of(&seen, wanted.range, (wanted.from, wanted.to))?;
    let address = &super::overview::address(&app, &headers);
    let view = QueuePage { seen: &seen, queue: &queue, caller: &caller, window, address, demo };
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
        return Ok(panel_response(&inner, so));
    }
    let these = |panels: &[Panel]| {
        html! {
            @for panel in panels {
                section class="panel" data-panel=(panel.0) data-queue=(queue) aria-label=(panel.1) { (inner(&view, panel)) }
            }
        }
    };
    let body = html! {
        (navigation(&caller, Some(&queue), "Queue", Some(so)))
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
fn inner(view: &QueuePage<'_>, (name, title, draw): &Panel) -> Markup {
    match draw(view) {
        PanelBody::Open(body) => html! { div id=(name) { h2 { (title) } (body) } },
        PanelBody::Folded(fact, body) => html! {
            details class="fold" {
                summary { h2 { (title) } span class="fact" { (fact) } }
                div id=(name) { (body) }
            }
        },
        PanelBody::Later(line) => html! { div id=(name) class="later" { h2 { (title) } p { (line) } } },
    }
}

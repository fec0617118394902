//! The page of a queue, as panels: finds, misses, the evaluators, the next items, and activity.

mod charts;
mod compare;
pub(super) mod contribution_bar;
pub(super) mod mute;
mod panels;
mod time_range;

pub(super) use charts::drawn;

use super::layout::{Page, navigation, panel_response};
use super::snapshot::{QueueSnapshot, snapshot};
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

/// The data that all panels of the page are drawn from.
struct QueuePage<'a> {
    snapshot: &'a QueueSnapshot,
    queue: &'a str,
    caller: &'a Caller,
    /// The time range that the panels show.
    window: TimeRange,
    /// The server's URL.
    address: &'a str,
    /// The demo that feeds this queue, if there is one.
    demo: Option<&'a DemoControl>,
}

/// The content of a panel, by how prominent it is.
enum PanelBody {
    /// Shown in full.
    Open(Markup),
    /// One line with the main fact, and the rest on demand.
    Folded(Markup, Markup),
    /// Nothing to show yet: one line on what will be shown here, and when.
    Later(Markup),
}

/// A panel: its id, its title, and the function that draws it.
type Panel = (&'static str, &'static str, fn(&QueuePage<'_>) -> PanelBody);

/// The panels of the wide left column.
const LEFT: [Panel; 3] = [
    ("found", "Found so far", charts::found),
    ("trust", "Influence over time", charts::trust),
    ("top", "Next in line, and why", panels::top),
];
/// The panels of the right column.
const RIGHT: [Panel; 2] =
    [("evaluators", "Evaluators", panels::evaluators), ("missed", "Missed", panels::missed)];
/// The panels below both columns. They are folded once they have content.
const BELOW: [Panel; 5] = [
    ("compare", "Compared with the period before", compare::panel),
    ("delay", "How long a verdict takes", charts::delay),
    ("errors", "Evaluators that err together", charts::errors),
    ("reliability", "Verdicts by score", charts::reliability),
    ("feed", "Latest activity", panels::feed),
];

fn all() -> impl Iterator<Item = &'static Panel> {
    LEFT.iter().chain(&RIGHT).chain(&BELOW)
}

/// The ids and titles of all panels.
pub(super) fn titles() -> impl Iterator<Item = (&'static str, &'static str)> {
    all().map(|(name, title, _)| (*name, *title))
}

/// The query: one panel alone, by its id, or all of them; and the time range that they show.
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
    let (snapshot, as_of) = snapshot(&app, &queue).await?;
    let demo = app.demo().filter(|demo| demo.queue() == queue);
    let window = TimeRange::of(&snapshot, wanted.range, (wanted.from, wanted.to))?;
    let address = &super::overview::address(&app, &headers);
    let view = QueuePage { snapshot: &snapshot, queue: &queue, caller: &caller, window, address, demo };
    // Without any verdict there is no time range to choose.
    let ranges = || html! { @if !snapshot.verdicts.is_empty() || !window.is_all() { (window.links(&queue, snapshot.now)) } };
    if let Some(wanted) = wanted.panel {
        let inner = match wanted.as_str() {
            "figures" => panels::figures(&view),
            "ranges" => ranges(),
            wanted => {
                all().find(|(name, ..)| *name == wanted).map(|panel| inner(&view, panel)).unwrap_or_default()
            }
        };
        return Ok(panel_response(&inner, as_of));
    }
    let these = |panels: &[Panel]| {
        html! {
            @for panel in panels {
                section class="panel" data-panel=(panel.0) data-queue=(queue) aria-label=(panel.1) { (inner(&view, panel)) }
            }
        }
    };
    let body = html! {
        (navigation(&caller, Some(&queue), "Queue", Some(as_of)))
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

/// The content of a panel. In a folded panel, the id is on the folded part, because browsers unfold
/// it for a link to the id.
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

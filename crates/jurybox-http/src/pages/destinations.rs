//! The page `/go`: links to the pages of every queue, and to the panels and evaluators of the
//! current one. A script turns it into a command palette.

use super::format::in_address;
use super::layout::{Page, navigation, panel_response};
use crate::app::App;
use crate::guard::Caller;
use crate::handlers::{QueryParams, read_queue};
use crate::problem::Problem;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jurybox_server::{Config, Role};
use maud::{Markup, html};
use serde::Deserialize;

/// The query: the current queue, and whether only the list is wanted (`panel`).
#[derive(Deserialize)]
pub(super) struct DestinationsQuery {
    queue: Option<String>,
    panel: Option<String>,
}

/// A link of the list: its URL, its text, and the queue or page that it belongs to.
struct PageLink {
    to: String,
    name: String,
    what: String,
}

/// The URL of the page `/go` for a current queue.
pub(super) fn address(queue: Option<&str>) -> String {
    queue.map_or("/go".into(), |queue| format!("/go?queue={}", in_address(queue)))
}

pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    QueryParams(DestinationsQuery { queue, panel }): QueryParams<DestinationsQuery>,
) -> Result<Response, Problem> {
    let asked = app.clone();
    let mut names = app.read(move || asked.0.service.names()).await?;
    names.retain(|name| caller.sees(name));
    let queue = queue.filter(|queue| names.contains(queue));
    let mut all = Vec::new();
    if let Some(queue) = &queue {
        all.extend(pages(&caller, queue));
        if caller.may(Role::Read) {
            let config = read_queue(&app, queue, |found| Ok(found.status()?.config)).await?;
            all.extend(within(queue, &config));
        }
    }
    for name in names.iter().filter(|name| Some(*name) != queue.as_ref()) {
        all.extend(pages(&caller, name));
    }
    let way =
        |to: &str, name: &str, what: &str| PageLink { to: to.into(), name: name.into(), what: what.into() };
    all.extend([way("/", "All queues", "Jurybox"), way("/api", "API", "Jurybox")]);
    let list = list(&all, caller.may(Role::Read));
    if panel.is_some() {
        return Ok(panel_response(&list, super::format::now()));
    }
    let body = html! {
        (navigation(&caller, queue.as_deref(), "", None))
        main class="door" { h1 { "Go to" } (list) }
    };
    Ok(Page::new("Go to · Jurybox", &body).into_response())
}

/// Links to the pages of a queue that the caller may open.
fn pages(caller: &Caller, queue: &str) -> Vec<PageLink> {
    let all =
        [("", "Queue", Role::Read), ("/desk", "Desk", Role::Review), ("/reviewers", "Reviewers", Role::Read)];
    let all = all.into_iter().chain([("/activity", "Activity", Role::Read)]);
    let may = all.filter(|(.., role)| caller.may(*role));
    may.map(|(path, name, _)| PageLink {
        to: format!("/q/{queue}{path}"),
        name: name.into(),
        what: queue.into(),
    })
    .collect()
}

/// Links to the panels and evaluators of a queue, and to mute or unmute each evaluator.
fn within(queue: &str, config: &Config) -> Vec<PageLink> {
    let panel = |(name, title): (&str, &str)| PageLink {
        to: format!("/q/{queue}#{name}"),
        name: title.into(),
        what: queue.into(),
    };
    let mut all: Vec<PageLink> = super::queue::titles().map(panel).collect();
    for (at, name) in config.evaluators.names().enumerate() {
        let word = if config.muted.iter().any(|muted| muted == name) { "Unmute" } else { "Mute" };
        let mute = format!("/q/{queue}/mute?evaluator={}", in_address(name));
        all.push(PageLink {
            to: format!("/q/{queue}#evaluator-{at}"),
            name: name.into(),
            what: format!("evaluator of {queue}"),
        });
        all.push(PageLink { to: mute, name: format!("{word} {name}"), what: queue.into() });
    }
    all
}

/// The links as a list. `data-items` on the first link tells the script that items may be opened by
/// their id.
fn list(all: &[PageLink], items: bool) -> Markup {
    html! {
        ul class="plain" {
            @for (at, way) in all.iter().enumerate() {
                li { a href=(way.to) data-items[items && at == 0] { (way.name) " " span class="muted" { (way.what) } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_evaluator_has_links_to_its_row_and_to_mute_it() {
        let config: Config =
            serde_json::from_str(r#"{"evaluators": [{"name": "a&b"}, {"name": "c"}], "muted": ["c"]}"#)
                .unwrap();
        let ways = within("posts", &config);
        let links: Vec<(&str, &str)> =
            ways.iter().rev().take(4).rev().map(|way| (way.to.as_str(), way.name.as_str())).collect();
        assert_eq!(
            links,
            [
                ("/q/posts#evaluator-0", "a&b"),
                ("/q/posts/mute?evaluator=a%26b", "Mute a&b"),
                ("/q/posts#evaluator-1", "c"),
                ("/q/posts/mute?evaluator=c", "Unmute c"),
            ]
        );
        assert!(list(&ways, true).into_string().contains("a&amp;b"));
    }
}

//! Where one can go: the pages of every queue, and what can be done in the one that is open, as one list. A script makes a palette of it.

use super::format::in_address;
use super::layout::{Page, panel_response, navigation};
use crate::app::App;
use crate::guard::Caller;
use crate::handlers::{QueryParams, read_queue};
use crate::problem::Problem;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jurybox_server::{Config, Role};
use maud::{Markup, html};
use serde::Deserialize;

/// From which queue somebody goes; and whether the list alone is asked for.
#[derive(Deserialize)]
pub(super) struct DestinationsQuery {
    queue: Option<String>,
    panel: Option<String>,
}

/// A way: where to, what it is called, and whose it is.
struct Destination {
    to: String,
    name: String,
    what: String,
}

/// Where the list is, for whoever is at a queue.
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
            let config = read_queue(&app, queue, |found| Ok(found.standing()?.config)).await?;
            all.extend(within(queue, &config));
        }
    }
    for name in names.iter().filter(|name| Some(*name) != queue.as_ref()) {
        all.extend(pages(&caller, name));
    }
    let way = |to: &str, name: &str, what: &str| Destination { to: to.into(), name: name.into(), what: what.into() };
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

/// The pages of a queue that somebody may open.
fn pages(caller: &Caller, queue: &str) -> Vec<Destination> {
    let all =
        [("", "Queue", Role::Read), ("/desk", "Desk", Role::Review), ("/reviewers", "Reviewers", Role::Read)];
    let all = all.into_iter().chain([("/audit", "Audit", Role::Read)]);
    let may = all.filter(|(.., role)| caller.may(*role));
    may.map(|(path, name, _)| Destination { to: format!("/q/{queue}{path}"), name: name.into(), what: queue.into() })
        .collect()
}

/// What there is within the page of a queue: its panels, its evaluators, and to mute them.
fn within(queue: &str, config: &Config) -> Vec<Destination> {
    let panel = |(name, title): (&str, &str)| Destination {
        to: format!("/q/{queue}#{name}"),
        name: title.into(),
        what: queue.into(),
    };
    let mut all: Vec<Destination> = super::queue::titles().map(panel).collect();
    for (at, name) in config.evaluators.names().enumerate() {
        let word = if config.muted.iter().any(|muted| muted == name) { "Hear" } else { "Mute" };
        let mute = format!("/q/{queue}/mute?evaluator={}", in_address(name));
        all.push(Destination {
            to: format!("/q/{queue}#evaluator-{at}"),
            name: name.into(),
            what: format!("evaluator of {queue}"),
        });
        all.push(Destination { to: mute, name: format!("{word} {name}"), what: queue.into() });
    }
    all
}

/// The ways as a list of links. Where items may be looked at, the first of them says so to the script.
fn list(all: &[Destination], items: bool) -> Markup {
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
    fn every_evaluator_can_be_gone_to_and_muted_or_heard() {
        let config: Config =
            serde_json::from_str(r#"{"evaluators": [{"name": "a&b"}, {"name": "c"}], "muted": ["c"]}"#)
                .unwrap();
        let ways = within("posts", &config);
        let told: Vec<(&str, &str)> =
            ways.iter().rev().take(4).rev().map(|way| (way.to.as_str(), way.name.as_str())).collect();
        assert_eq!(
            told,
            [
                ("/q/posts#evaluator-0", "a&b"),
                ("/q/posts/mute?evaluator=a%26b", "Mute a&b"),
                ("/q/posts#evaluator-1", "c"),
                ("/q/posts/mute?evaluator=c", "Hear c"),
            ]
        );
        assert!(list(&ways, true).into_string().contains("a&amp;b"));
    }
}

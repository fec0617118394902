//! Muting and unmuting an evaluator: a page that shows the effect, then the change itself.

use super::super::activity::item;
use super::super::form::{FormOrJson, redirect};
use super::super::format::count;
use super::super::layout::{Page, navigation};
use crate::app::App;
use crate::guard::Caller;
use crate::handlers::{Idempotency, QueryParams, QueuePath, ask, read_queue};
use crate::problem::Problem;
use crate::wire::Name;
use axum::extract::State;
use axum::response::Response;
use jurybox_server::{Config, ConfigChange, Request, Role};
use maud::html;
use serde::Deserialize;

/// How many of the best items are compared with and without the evaluator.
const BEST: usize = 20;

#[derive(Deserialize)]
pub(in crate::pages) struct MuteQuery {
    evaluator: Name,
}

/// The form: an evaluator, and whether to mute or to unmute it. Sent from two tabs it changes the
/// queue once, because it does not toggle.
#[derive(Deserialize)]
pub(in crate::pages) struct MuteForm {
    evaluator: Name,
    mute: bool,
}

fn is_muted(config: &Config, evaluator: &str) -> bool {
    config.muted.iter().any(|name| name == evaluator)
}

/// The change of the queue's settings that mutes or unmutes an evaluator. None if nothing would
/// change.
fn muting(config: &Config, evaluator: &str, mute: bool) -> Option<ConfigChange> {
    if is_muted(config, evaluator) == mute {
        return None;
    }
    let mut names = config.muted.clone();
    if mute {
        names.push(evaluator.into());
    } else {
        names.retain(|name| name != evaluator);
    }
    Some(ConfigChange { muted: Some(names), ..ConfigChange::default() })
}

/// A page that shows which of the best items would change.
pub(in crate::pages) async fn preview(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    QueryParams(MuteQuery { evaluator }): QueryParams<MuteQuery>,
) -> Result<Page, Problem> {
    let _alone = app.0.previews.acquire().await;
    let evaluator = String::from(evaluator);
    let asked = evaluator.clone();
    let (mutes, now, then) = read_queue(&app, &queue, move |found| {
        let config = found.status()?.config;
        let mutes = !is_muted(&config, &asked);
        let (now, then) = found.preview(muting(&config, &asked, mutes).unwrap_or_default(), BEST)?;
        Ok((mutes, now, then))
    })
    .await?;
    let missing = |from: &[String], of: &[String]| -> Vec<String> {
        of.iter().filter(|id| !from.contains(id)).cloned().collect()
    };
    let (leave, enter) = (missing(&then, &now), missing(&now, &then));
    let word = if mutes { "Mute" } else { "Unmute" };
    let body = html! {
        (navigation(&caller, Some(&queue), "", None))
        main class="door" {
            h1 { (word) " " (evaluator) "?" }
            p class="big" { b { (count(leave.len() as u64)) } " of the top " (now.len()) " items would change." }
            @if !leave.is_empty() {
                table class="words" {
                    thead { tr { th { "would leave" } th { "would enter" } } }
                    tbody {
                        @for at in 0..leave.len().max(enter.len()) {
                            tr { td { @if let Some(id) = leave.get(at) { (item(&queue, id)) } } td { @if let Some(id) = enter.get(at) { (item(&queue, id)) } } }
                        }
                    }
                }
            }
            p class="small" { "From the next claim on, items are ranked without a muted evaluator's scores. The jury keeps learning about it." }
            @if caller.may(Role::Admin) {
                form method="post" action={ "/q/" (queue) "/mute/now" } {
                    input type="hidden" name="evaluator" value=(evaluator);
                    input type="hidden" name="mute" value=(mutes);
                    button class="main" { (word) " it" }
                }
            } @else {
                p class="small" { "This needs the role " code { "admin" } "." }
            }
            p { a href={ "/q/" (queue) "#evaluators" } { "Cancel" } }
        }
    };
    Ok(Page::new(&format!("{word} · {queue}"), &body))
}

/// Mutes or unmutes the evaluator, and redirects to the queue's page.
pub(in crate::pages) async fn now(
    State(app): State<App>,
    caller: Caller,
    QueuePath(queue): QueuePath,
    key: Idempotency,
    FormOrJson { body: MuteForm { evaluator, mute }, .. }: FormOrJson<MuteForm>,
) -> Result<Response, Problem> {
    let config = read_queue(&app, &queue, |found| Ok(found.status()?.config)).await?;
    if let Some(change) = muting(&config, &evaluator, mute) {
        ask(&app, &queue, &caller, &key, Request::Configure(change)).await?;
        app.0.watch.forget(&queue);
    }
    Ok(redirect(&format!("/q/{queue}#evaluators")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tabs both offer to mute an evaluator: the second form does not undo the first.
    #[test]
    fn muting_twice_changes_nothing() {
        let config = |muted: &str| -> Config {
            let names = r#"[{"name": "a"}, {"name": "b"}]"#;
            serde_json::from_str(&format!(r#"{{"evaluators": {names}, "muted": {muted}}}"#)).unwrap()
        };
        let then =
            |muted: &str, mute: bool| muting(&config(muted), "a", mute).map(|change| change.muted.unwrap());
        assert_eq!(then("[]", true), Some(vec!["a".to_string()]));
        assert_eq!(then(r#"["a"]"#, true), None);
        assert_eq!(then(r#"["a", "b"]"#, false), Some(vec!["b".to_string()]));
        assert_eq!(then(r#"["b"]"#, false), None);
    }
}

//! Who reviews: pace, agreement, skips, and items whose verdict is known beforehand.

use super::figures::{DAY, SECOND, Seen, quantile, seen};
use super::format::{count, moment, percent, span};
use super::overview::Part;
use super::shell::{Page, ways};
use crate::app::App;
use crate::guard::Caller;
use crate::handlers::{Asked, OfQueue};
use crate::problem::Problem;
use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use jurybox_server::Source;
use maud::{Markup, html};
use std::collections::{BTreeMap, HashMap};

/// The tag of an item whose right label is known: the tag's value is that label.
const GOLDEN: &str = "golden";
/// Who pauses for longer than this was not reviewing meanwhile, in seconds.
const PAUSE: f64 = 600.0;

/// What is known of a reviewer by the last verdicts.
#[derive(Debug, Default, PartialEq)]
struct Reviewer {
    verdicts: u64,
    today: u64,
    last: i64,
    /// Seconds between two verdicts, pauses left out.
    between: Vec<f64>,
    /// On items that others judged too: how many, and how often as it was decided.
    shared: (u64, u64),
    /// On items whose label is known: how many, and how often that label.
    golden: (u64, u64),
    skips: BTreeMap<String, u64>,
}

pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    OfQueue(queue): OfQueue,
    Asked(part): Asked<Part>,
) -> Result<Response, Problem> {
    let seen = seen(&app, &queue).await?;
    let inner = table(&seen);
    if part.panel.is_some() {
        return Ok(Html(inner.into_string()).into_response());
    }
    let body = html! {
        (ways(&caller, Some(&queue), "Reviewers"))
        main {
            h1 { "Reviewers" }
            section class="panel" data-panel="reviewers" data-queue=(queue) aria-label="Reviewers" { (inner) }
            section class="panel" {
                h2 { "How to read it" }
                p class="small" { "Pace is the middle time between two verdicts, pauses of more than ten minutes left out. Agreement is about items that several have judged (" code { "quorum" } "): how often the verdict was as it was decided in the end. An item with the tag " code { "golden" } " has a known label, which the tag says: the desk does not show it, and the table says how often a reviewer found it." }
                p class="small" { "A figure of few verdicts says little: the number behind it is beside it." }
            }
        }
    };
    Ok(Page::new(&format!("Reviewers · {queue}"), &body).into_response())
}

/// The reviewers by name.
fn gathered(seen: &Seen) -> BTreeMap<&str, Reviewer> {
    let people = || seen.worked.iter().filter(|work| work.source == Source::Reviewer);
    let (mut worth, mut judges): (HashMap<u64, f64>, HashMap<u64, u64>) = Default::default();
    for work in &seen.worked {
        worth.extend(work.decides.map(|worth| (work.n, worth)));
    }
    people().for_each(|work| *judges.entry(work.n).or_default() += 1);
    let mut all: BTreeMap<&str, Reviewer> = BTreeMap::new();
    for work in people() {
        let of = all.entry(&work.reviewer).or_default();
        let since = (work.at - of.last) as f64 / SECOND as f64;
        if of.verdicts > 0 && since <= PAUSE {
            of.between.push(since);
        }
        (of.verdicts, of.last) = (of.verdicts + 1, work.at);
        of.today += u64::from(seen.now - work.at < DAY);
        if let Some(worth) = worth.get(&work.n).filter(|_| judges[&work.n] > 1) {
            of.shared = (of.shared.0 + 1, of.shared.1 + u64::from(*worth == work.reward));
        }
        if let Some(right) = work.tags.get(GOLDEN) {
            of.golden = (of.golden.0 + 1, of.golden.1 + u64::from(work.label.as_ref() == Some(right)));
        }
    }
    for skip in &seen.skipped {
        *all.entry(&skip.reviewer).or_default().skips.entry(skip.reason.clone()).or_default() += 1;
    }
    all
}

fn share((of, many): (u64, u64)) -> String {
    if of == 0 { "–".into() } else { format!("{} of {}", percent(many as f64 / of as f64), count(of)) }
}

fn table(seen: &Seen) -> Markup {
    let mut all: Vec<(&str, Reviewer)> = gathered(seen).into_iter().collect();
    all.sort_by_key(|(_, of)| std::cmp::Reverse(of.last));
    if all.is_empty() {
        return html! { p class="small" { "Nobody has given a verdict yet." } };
    }
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="Table of reviewers" {
            table {
                thead { tr { th { "reviewer" } th { "last 24 h" } th { "verdicts" } th { "pace" } th { "agreement" } th { "golden" } th { "skips" } th { "last" } } }
                tbody {
                    @for (name, of) in &mut all {
                        tr {
                            td class="name" { (name) }
                            td { (count(of.today)) }
                            td { (count(of.verdicts)) }
                            td { (quantile(&mut of.between, 0.5).map_or("–".into(), span)) }
                            td { (share(of.shared)) }
                            td { (share(of.golden)) }
                            td { (skips(&of.skips)) }
                            td { @if of.last > 0 { (moment(of.last, seen.now)) } }
                        }
                    }
                }
            }
        }
        p class="small" { "By the last " (count(seen.worked.len() as u64)) " verdicts." }
    }
}

/// How many, and the reasons under the pointer.
fn skips(all: &BTreeMap<String, u64>) -> Markup {
    let many: u64 = all.values().sum();
    let reasons: Vec<String> = all.iter().map(|(reason, many)| format!("{reason}: {many}")).collect();
    html! { span title=[(many > 0).then(|| reasons.join("\n"))] { (count(many)) } }
}

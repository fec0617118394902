//! The first page: one panel a queue, the worst first. An empty server says what to paste.

use super::figures::{Bins, DAY, MINUTE, SECOND, Seen, quantile, seen};
use super::format::{amount, between, count, moment, now, percent, rounded, span};
use super::shell::{Page, part as shown, ways};
use crate::app::App;
use crate::guard::Caller;
use crate::handlers::Asked;
use crate::problem::Problem;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jurybox::Interval;
use jurybox_draw::{Curve, Frame, Plot, Scale};
use jurybox_server::{Doors, Role};
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;
use std::sync::Arc;

/// One panel alone, by its name, or all of them.
#[derive(Deserialize)]
pub(super) struct Part {
    pub(super) panel: Option<String>,
}

pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    Asked(part): Asked<Part>,
) -> Result<Response, Problem> {
    let asked = app.clone();
    let mut names = app.read(move || asked.0.service.names()).await?;
    names.retain(|name| caller.sees(name));
    if !caller.may(Role::Read) {
        return Ok(Page::new("Jurybox", &desks(&caller, &names)).into_response());
    }
    if let Some(name) = part.panel {
        if !names.contains(&name) {
            return Ok(shown(&html! {}, now()));
        }
        let told = seen(&app, &name).await.ok();
        let so = told.as_ref().map_or_else(now, |(_, so)| *so);
        return Ok(shown(&inner(&caller, &name, told.map(|(seen, _)| seen).as_ref()), so));
    }
    let (mut panels, mut oldest) = (Vec::new(), now());
    for name in &names {
        let told = seen(&app, name).await.ok();
        oldest = told.as_ref().map_or(oldest, |(_, so)| oldest.min(*so));
        let told = told.map(|(seen, _)| seen);
        panels.push((std::cmp::Reverse(told.as_deref().map_or(u8::MAX, badness)), name, told));
    }
    panels.sort_by_key(|(badness, name, _)| (*badness, *name));
    let body = html! {
        (ways(&caller, None, "Queues", Some(oldest)))
        main {
            h1 class="unseen" { "Queues" }
            @for (_, name, told) in &panels {
                section class="panel" data-panel=(name) data-queue=(name) aria-label=(name) { (inner(&caller, name, told.as_ref())) }
            }
            @if names.is_empty() { (teach()) }
        }
    };
    Ok(Page::new("Jurybox", &body).into_response())
}

/// How much a queue wants to be looked at.
fn badness(seen: &Seen) -> u8 {
    let changed = !seen.doubts.is_empty() || seen.evaluated.iter().any(|of| !of.alarms.is_empty());
    let waits = seen.pulse.oldest.is_some_and(|oldest| seen.now - oldest > DAY);
    u8::from(changed) * 4 + u8::from(seen.pulse.due > 0) * 2 + u8::from(waits)
}

fn inner(caller: &Caller, name: &str, told: Option<&Arc<Seen>>) -> Markup {
    html! {
        div class="queue-head" {
            h2 { a href={ "/q/" (name) } { (name) } }
            @if caller.may(Role::Review) { a class="small" href={ "/q/" (name) "/desk" } { "desk" } }
        }
        @match told {
            None => p class="bad" { "This queue cannot be shown now: the log of the server says why. " a href="/readyz" { "State of the server" } },
            Some(seen) => {
                (figures(seen, name))
                (caught_per(seen, &Frame::from_zero(1360.0, 170.0, 150.0)))
                (against(seen))
                (alarms(seen, name))
            }
        }
    }
}

/// The line of figures, each a link to what it is made of.
pub(super) fn figures(seen: &Seen, name: &str) -> Markup {
    let mut delays: Vec<f64> = seen.delays().into_iter().map(|(_, took)| took).collect();
    let at = |panel: &str| format!("/q/{name}#{panel}");
    let lag = seen.head.saturating_sub(seen.model);
    html! {
        ul class="figures" {
            li { a href=(at("top")) { b { (count(seen.counts.pending)) } " waiting" } }
            @if let Some((inflow, length)) = seen.inflow {
                li { b { "+" (count(inflow.round() as u64)) } @if length < 60 * MINUTE { " in " (span(length as f64 / SECOND as f64)) } @else { " an hour" } }
            }
            @if let Some(oldest) = seen.pulse.oldest { li { "oldest " b { (span((seen.now - oldest) as f64 / SECOND as f64)) } } }
            @if seen.pulse.due > 0 { li class="warn" { b { (count(seen.pulse.due)) } " due within a day" } }
            li {
                a href=(at("feed")) { b { (count(seen.counts.leased)) } " leased" }
                @if seen.pulse.ending > 0 { ", " (count(seen.pulse.ending)) " for less than a minute" }
            }
            @if let Some(median) = quantile(&mut delays, 0.5) { li { "a verdict takes " a href=(at("delay")) { b { (span(median)) } } } }
            li { a href=(at("caught")) { "caught " b { (amount(seen.found.caught)) } } " of " (count(seen.found.looked_at)) " looked at" }
            li { "model " b { (count(lag)) } " behind" }
            @match seen.config.doors {
                Doors::Open => {}
                Doors::Paused => li class="warn" { "paused" },
                Doors::Draining => li class="warn" { "draining" },
            }
        }
    }
}

/// What others would have found in each item that was picked: their names, their styles, where their lines are, and how sure that is. As long as
/// drawn items wait there is an interval and no number within it: the line is the most that it may be, and says so.
pub(super) fn others(seen: &Seen) -> Vec<(&'static str, usize, f64, Interval)> {
    let (plain, random) = (seen.found.plain_mean.mean, seen.found.random.mean);
    let all = [(["plain mean", "plain mean at most"], 6, plain), (["chance", "chance at most"], 3, random)];
    let known = all.into_iter().filter_map(|(names, style, mean)| Some((names, style, mean?)));
    known
        .filter(|(.., mean)| mean.low.is_finite() && mean.high.is_finite())
        .map(|([name, at_most], style, mean)| {
            if mean.mean.is_finite() {
                (name, style, mean.mean, mean)
            } else {
                (at_most, style, mean.high, mean)
            }
        })
        .collect()
}

/// What was caught in stretches of time, against the plain mean and chance.
pub(super) fn caught_per(seen: &Seen, frame: &Frame) -> Markup {
    let bins = Bins::of(seen.picked(), seen.now, 24);
    let filled = bins.each.iter().filter(|(_, worths)| !worths.is_empty()).count();
    if filled < 2 {
        return html! { p class="small" { "What was caught will be drawn here once verdicts have come in for a while." } };
    }
    let (places, x_label) = bins.places(seen.now);
    let curve = |name: &str, of: &dyn Fn(&[f64]) -> f64| {
        let points = places.iter().zip(&bins.each).map(|(x, (_, worths))| (*x, of(worths)));
        Curve::new(name, points.collect())
    };
    let mut curves = vec![curve("caught", &|worths| worths.iter().sum())];
    for (name, style, each, mean) in others(seen) {
        let mut expected = curve(name, &|worths| worths.len() as f64 * each);
        let ends = |(x, (_, worths)): (&f64, &(i64, Vec<f64>))| {
            (*x, worths.len() as f64 * mean.low, worths.len() as f64 * mean.high)
        };
        expected.band = places.iter().zip(&bins.each).map(ends).collect();
        (expected.style, expected.reference) = (Some(style), name.starts_with("chance"));
        curves.push(expected);
    }
    let plot = Plot {
        title: String::new(),
        x_label: x_label.into(),
        y_label: format!("caught in {}", span(bins.length as f64 / SECOND as f64)),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        curves,
    };
    html! { div class="plot" { (PreEscaped(plot.in_both(frame))) } }
}

/// What an item that was picked was worth, against what others would have found.
pub(super) fn against(seen: &Seen) -> Markup {
    let found = &seen.found;
    let Some(picked) = found.picked.mean else { return html! {} };
    html! {
        p class="small" {
            "Each item picked was worth " b { (between(picked)) }
            @if let Some(plain) = found.plain_mean.mean { "; by the plain mean " (between(plain)) }
            @if let Some(random) = found.random.mean { "; by chance " (between(random)) }
            @if found.given_back > 0 { " (" (found.given_back) " more came back undecided: they may be worth anything)" }
            @if let Some(times) = seen.times_plain_mean() { " · " b { "at least " (format!("{times:.1}")) " × plain mean" } }
            @if let Some(unknown) = found.unknown { ". What others would have found is not known: " (unknown) }
            "."
        }
    }
}

/// What has changed about evaluators.
pub(super) fn alarms(seen: &Seen, name: &str) -> Markup {
    let changed = seen.evaluated.iter().flat_map(|of| of.alarms.iter().map(move |alarm| (&of.name, alarm)));
    html! {
        ul class="alarms" {
            @for doubt in &seen.doubts { li { span class="warn" { "! " (doubt) } } }
            @for (evaluator, alarm) in changed {
                li {
                    span class="warn" { "! " (evaluator) " changed" }
                    " at " (moment(alarm.since.cast_signed() * SECOND, seen.now)) " (" (percent(alarm.confidence)) " sure): "
                    (reading(alarm)) " " (rounded(alarm.before)) " → " (rounded(alarm.after)) ", " a href={ "/q/" (name) "#evaluators" } { "see" }
                }
            }
        }
    }
}

fn reading(alarm: &jurybox::Alarm) -> String {
    serde_json::to_value(alarm.reading)
        .ok()
        .and_then(|word| word.as_str().map(String::from))
        .unwrap_or_default()
}

/// What a reviewer without the right to look sees: where to work.
fn desks(caller: &Caller, names: &[String]) -> Markup {
    html! {
        (ways(caller, None, "Queues", None))
        main class="door" {
            h1 { "Desks" }
            @if names.is_empty() { p { "There is no queue yet." } }
            @for name in names { p { a href={ "/q/" (name) "/desk" } { (name) } } }
        }
    }
}

/// Three lines to paste.
fn teach() -> Markup {
    html! {
        section class="panel paste" {
            h2 { "No queue yet. Three lines to begin with:" }
            p class="small" { "Say who scores, and which way." }
            pre tabindex="0" { code {
                "curl -X PUT http://127.0.0.1:8686/v1/queues/posts -H 'Content-Type: application/json' -d '{\"evaluators\": [{\"name\": \"spam\"}, {\"name\": \"quality\", \"direction\": \"low\"}]}'"
            } }
            p class="small" { "Send items with their scores, and what reviewers are to see." }
            pre tabindex="0" { code {
                "curl http://127.0.0.1:8686/v1/queues/posts/items -H 'Content-Type: application/json' -d '{\"items\": [{\"id\": \"p1\", \"scores\": {\"spam\": 0.9, \"quality\": 0.2}, \"payload\": {\"text\": \"buy now\"}}]}'"
            } }
            p class="small" { "Open the desk." }
            pre tabindex="0" { code { "http://127.0.0.1:8686/q/posts/desk" } }
            p class="small" { "With keys, each request takes one: " code { "jurybox server key add NAME --role admin" } ". All that can be asked: " a href="/api" { "API" } "." }
        }
    }
}

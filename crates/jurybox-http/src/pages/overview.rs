//! The start page: one panel per queue, those with problems first. On a server without queues it
//! shows first steps to paste.

use super::format::{count, moment, now, number, percent, signed, span, stretch, sure};
use super::layout::{Page, navigation, panel_response};
use super::queue::drawn;
use super::snapshot::{DAY, MINUTE, QueueSnapshot, SECOND, TimeBins, quantile, snapshot, unit};
use crate::app::App;
use crate::guard::Caller;
use crate::handlers::QueryParams;
use crate::problem::Problem;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use jurybox::{Alarm, Interval};
use jurybox_draw::{Colour, Curve, Frame, Plot, Scale, counted};
use jurybox_server::{QueueMode, Role};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

/// How many evaluators an example request names at most.
const FEW: usize = 3;

/// The query of pages that can send one of their panels alone.
#[derive(Deserialize)]
pub(super) struct PanelQuery {
    pub(super) panel: Option<String>,
}

pub(super) async fn page(
    State(app): State<App>,
    caller: Caller,
    QueryParams(part): QueryParams<PanelQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let asked = app.clone();
    let mut names = app.read(move || asked.0.service.names()).await?;
    names.retain(|name| caller.sees(name));
    if !caller.may(Role::Read) {
        return Ok(Page::new("Jurybox", &desk_list(&caller, &names)).into_response());
    }
    if let Some(name) = part.panel {
        if !names.contains(&name) {
            return Ok(panel_response(&html! {}, now()));
        }
        let found = snapshot(&app, &name).await.ok();
        let as_of = found.as_ref().map_or_else(now, |(_, as_of)| *as_of);
        let panel = inner(&caller, &name, found.map(|(snapshot, _)| snapshot).as_ref());
        return Ok(panel_response(&panel, as_of));
    }
    let (mut panels, mut oldest) = (Vec::new(), now());
    for name in &names {
        let found = snapshot(&app, name).await.ok();
        oldest = found.as_ref().map_or(oldest, |(_, as_of)| oldest.min(*as_of));
        let found = found.map(|(snapshot, _)| snapshot);
        panels.push((std::cmp::Reverse(found.as_deref().map_or(u8::MAX, urgency)), name, found));
    }
    panels.sort_by_key(|(urgency, name, _)| (*urgency, *name));
    let address = address(&app, &headers);
    let body = html! {
        (navigation(&caller, None, "Queues", Some(oldest)))
        main data-all {
            h1 class="unseen" { "Queues" }
            @for (_, name, found) in &panels {
                section class="panel" data-panel=(name) data-queue=(name) aria-label=(name) { (inner(&caller, name, found.as_ref())) }
            }
            @if names.is_empty() { (first_steps(&address)) }
        }
    };
    Ok(Page::new("Jurybox", &body).into_response())
}

/// How urgently a queue needs attention: the sum of 4 for a warning, 2 for items due within 24
/// hours, and 1 for an item that has waited for more than a day.
fn urgency(snapshot: &QueueSnapshot) -> u8 {
    let changed = !snapshot.diagnostics.is_empty()
        || !snapshot.verdict_changes.is_empty()
        || snapshot.evaluators.iter().any(|of| !of.alarms.is_empty());
    let waits = snapshot.workload.oldest.is_some_and(|oldest| snapshot.now - oldest > DAY);
    u8::from(changed) * 4 + u8::from(snapshot.workload.due > 0) * 2 + u8::from(waits)
}

fn inner(caller: &Caller, name: &str, found: Option<&Arc<QueueSnapshot>>) -> Markup {
    html! {
        div class="queue-head" {
            h2 { a href={ "/q/" (name) } { (name) } }
            @if caller.may(Role::Review) { a class="small" href={ "/q/" (name) "/desk" } { "desk" } }
        }
        @match found {
            None => p class="bad" { "This queue cannot be shown right now. The server's log says why. " a href="/readyz" { "Server status" } },
            Some(snapshot) => {
                (figures(snapshot, name))
                (found_over_time(snapshot, &Frame::from_zero(1360.0, 170.0, 150.0)))
                (comparison(snapshot, None))
                (alarms(snapshot, name))
            }
        }
    }
}

/// The queue's key figures in one line. Some link to the panel that explains them.
pub(super) fn figures(snapshot: &QueueSnapshot, name: &str) -> Markup {
    let mut delays: Vec<f64> = snapshot.delays().into_iter().map(|(_, took)| took).collect();
    let at = |panel: &str| format!("/q/{name}#{panel}");
    let words = snapshot.wording();
    html! {
        ul class="figures" {
            li { a href=(at("top")) { b { (count(snapshot.counts.pending)) } " waiting" } }
            @if let Some((inflow, length)) = snapshot.inflow {
                li { b { "+" (count(inflow.round() as u64)) } @if length < 60 * MINUTE { " new in " (span(length as f64 / SECOND as f64)) } @else { " new per hour" } }
            }
            @if let Some(oldest) = snapshot.workload.oldest { li { "oldest " b { (span((snapshot.now - oldest) as f64 / SECOND as f64)) } } }
            @if snapshot.workload.due > 0 { li class="warn" { b { (count(snapshot.workload.due)) } " due within 24 hours" } }
            li {
                a href=(at("feed")) { b { (count(snapshot.counts.leased)) } " with reviewers" }
                @if snapshot.workload.ending > 0 { ", " (count(snapshot.workload.ending)) " of them for less than a minute more" }
            }
            @if let Some(median) = quantile(&mut delays, 0.5) { li { "a verdict takes about " a href=(at("delay")) { b { (span(median)) } } } }
            li { a href=(at("found")) { (words.found_in(snapshot.report.found, snapshot.report.reviewed)) } }
            @match snapshot.config.mode {
                QueueMode::Open => {}
                QueueMode::Paused => li class="warn" { "paused" },
                QueueMode::Draining => li class="warn" { "draining" },
            }
        }
    }
}

/// The label of the curve of a random order.
pub(super) const RANDOM_ORDER: &str = "random order";

/// The mean reward that a plain average of the scores and a random order would have found: an
/// interval, with its middle as the mean. An interval too wide to compare with is left out.
pub(super) fn baselines(snapshot: &QueueSnapshot) -> Vec<(&'static str, Interval)> {
    let words = snapshot.wording();
    let (plain, random) = (snapshot.report.plain_mean.mean, snapshot.report.random.mean);
    let all = [("plain average", plain), (RANDOM_ORDER, random)].into_iter();
    // The report has a point estimate only while every random check is decided, so a line drawn by
    // it would jump.
    let middle = |ends: Interval| Interval { mean: f64::midpoint(ends.low, ends.high), ..ends };
    let known = all.filter_map(|(name, mean)| Some((name, mean?)));
    known.filter(|(_, mean)| words.tells(*mean)).map(|(name, mean)| (name, middle(mean))).collect()
}

/// A chart of the rewards found per stretch of time, with the baselines.
pub(super) fn found_over_time(snapshot: &QueueSnapshot, frame: &Frame) -> Markup {
    let bins = TimeBins::of(snapshot.picked(), snapshot.whole_since(), snapshot.now, 24);
    if bins.filled() < 2 {
        return html! { p class="small" { "A chart of what was found starts here once verdicts have come in for a while." } };
    }
    let found = snapshot.wording().found();
    let (places, x_label) = bins.places(snapshot.now);
    let curve = |name: &str, of: &dyn Fn(&[f64]) -> f64| {
        let points = places.iter().zip(&bins.each).map(|(x, (_, rewards))| (*x, of(rewards)));
        Curve::new(name, points.collect())
    };
    let mut curves = vec![curve(&found, &|rewards| rewards.iter().sum()).in_colour(Colour::Ink)];
    for (name, mean) in baselines(snapshot) {
        let mut expected = curve(name, &|rewards| rewards.len() as f64 * mean.mean);
        let ends = |(x, (_, rewards)): (&f64, &(i64, Vec<f64>))| {
            (*x, rewards.len() as f64 * mean.low, rewards.len() as f64 * mean.high)
        };
        expected.band = places.iter().zip(&bins.each).map(ends).collect();
        expected.reference = name == RANDOM_ORDER;
        curves.push(expected.in_colour(Colour::Muted));
    }
    let plot = Plot {
        title: String::new(),
        x_label: x_label.into(),
        y_label: format!("{found} per {}", stretch(bins.length)),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        curves,
    };
    let (unit, _) = unit(bins.each.first().map_or(0, |(at, _)| snapshot.now - at));
    drawn(&plot, frame, |x| Some(snapshot.now + (x * unit) as i64))
}

/// A sentence that compares what reviewers found in top-ranked items with a plain average of the
/// scores and a random order. `trend` is a sentence to append.
pub(super) fn comparison(snapshot: &QueueSnapshot, trend: Option<&str>) -> Markup {
    let (found, words) = (&snapshot.report, snapshot.wording());
    let Some(picked) = found.picked.mean.filter(|_| found.picked.items > 0) else { return html! {} };
    // If a claimed item came back without a decision, the report has no mean. The mean of the
    // decided items is therefore computed here.
    let picked = Interval { mean: found.picked.sum / found.picked.items as f64, ..picked };
    let known = |mean: Option<Interval>| mean.filter(|mean| words.tells(*mean));
    let (plain, random) = (known(found.plain_mean.mean), known(found.random.mean));
    html! {
        p class="small" {
            "Of the " (count(found.picked.items)) " top-ranked items reviewed, "
            b { (words.were(&words.mean(picked))) } "."
            @if let Some(times) = snapshot.times_plain_mean() { " That is " b { "at least " (number(times)) " times" } " what a plain average of the scores would have found." }
            @if let Some(plain) = plain { " Plain average: " (words.ends(plain)) "." }
            @if let Some(random) = random { " Random order: " (words.ends(random)) "." }
            @if plain.is_none() { " " (checks_missing(snapshot, found.plain_mean.mean, "to compare with a plain average")) }
            @if found.released > 0 { " " (counted(found.released, "more item")) " came back without a verdict." }
            @if let Some(trend) = trend { " " (trend) }
        }
    }
}

/// Why random checks do not suffice yet `to` do something, and how many are needed.
pub(super) fn checks_missing(snapshot: &QueueSnapshot, known: Option<Interval>, to: &str) -> String {
    let checks = snapshot.report.random_checks;
    match known {
        _ if checks.items == 0 && snapshot.config.random_check_rate == 0.0 => {
            format!("No random checks {to}: set the queue's random_check_rate, such as to 0.05.")
        }
        _ if checks.decided == 0 => {
            let waiting = counted(checks.waiting, "random check");
            format!("No random check has a verdict yet {to} ({waiting} waiting).")
        }
        None if snapshot.config.reward.is_none() => {
            format!("Verdicts have no scale {to}: set the queue's `reward`, such as from 0 to 1.")
        }
        None => format!("No estimate {to} yet."),
        Some(interval) => {
            let needed = snapshot.wording().checks_needed(interval, checks.decided);
            let (checks, needed) = (count(checks.decided), count(needed));
            format!("Too few random checks {to} yet ({checks}; about {needed} are needed).")
        }
    }
}

/// Warnings: diagnostics of the fit, changes in the verdicts, and changes in evaluators. The time
/// of an evaluator's change is the one recorded when the alarm began, because later estimates move.
pub(super) fn alarms(snapshot: &QueueSnapshot, name: &str) -> Markup {
    let time = |seconds: u64| moment(seconds.cast_signed().saturating_mul(SECOND), snapshot.now);
    html! {
        ul class="alarms" {
            @for diagnostic in &snapshot.diagnostics { li { span class="warn" { "! " (diagnostic) } } }
            @for alarm in &snapshot.verdict_changes {
                li {
                    span class="warn" { "! Verdicts changed" } " (" (sure(alarm.confidence)) " sure): " (change(alarm))
                    @if alarm.since == alarm.until { ", at " (time(alarm.since)) } @else { ", between " (time(alarm.since)) " and " (time(alarm.until)) }
                    ". " a href={ "/q/" (name) "#evaluators" } { "See the evaluators" }
                }
            }
            @for of in snapshot.evaluators.iter().filter(|of| !of.alarms.is_empty()) {
                @let since = of.changed_since().map(|since| moment(since, snapshot.now)).unwrap_or_default();
                @let last: Vec<&Alarm> = of.last_change().into_iter().map(|at| &of.alarms[at]).collect();
                @let surest = last.iter().map(|alarm| alarm.confidence).fold(0.0, f64::max);
                @let raised = of.last_change().first().and_then(|at| of.raised.get(*at).copied().flatten());
                li {
                    span class="warn" { "! " (of.name) " changed" } " (" (sure(surest)) " sure): "
                    @for (at, alarm) in last.into_iter().enumerate() { @if at > 0 { ", " } (change(alarm)) }
                    @if let Some(raised) = raised { ". Noticed at " (moment(raised.at, snapshot.now)) " in scores from " (since) " on" } @else { ", at about " (since) }
                    ". " a href={ "/q/" (name) "#evaluators" } { "See the evaluators" }
                }
            }
        }
    }
}

/// What changed, from which value to which. The spread of scores is shown as a standard deviation,
/// agreement as a correlation.
fn change(alarm: &Alarm) -> String {
    use jurybox::Reading;
    let Alarm { before, after, .. } = *alarm;
    match alarm.reading {
        Reading::Spread => {
            let [before, after] = [before, after].map(|log_variance| number((log_variance / 2.0).exp()));
            format!("its scores spread {before} → {after}")
        }
        Reading::Agreement => {
            let [before, after] = [before, after].map(|z| number((100.0 * z.tanh()).round() / 100.0));
            format!("its agreement with the other evaluators went {before} → {after}")
        }
        Reading::Varying => {
            let [before, after] = [before, after].map(percent);
            format!("the share of batches in which its scores vary went {before} → {after}")
        }
        Reading::Reward => {
            let [before, after] = [before, after].map(signed);
            format!("verdicts differ from predictions by {before} → {after} on average")
        }
        Reading::Slope => {
            let [before, after] = [before, after].map(signed);
            format!("how steeply verdicts rise with predictions differs by {before} → {after}")
        }
    }
}

/// The start page of a reviewer who may not read queues: links to the desks.
fn desk_list(caller: &Caller, names: &[String]) -> Markup {
    html! {
        (navigation(caller, None, "Queues", None))
        main class="door" {
            h1 { "Desks" }
            @if names.is_empty() { p { "No queue yet." } }
            @for name in names { p { a href={ "/q/" (name) "/desk" } { (name) } } }
        }
    }
}

/// The server's URL by the request's `Host` header, or else by the address that it listens on.
pub(super) fn address(app: &App, headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let usual = || app.0.settings.listen.to_string();
    let scheme = if app.0.settings.tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{}", host.map_or_else(usual, String::from))
}

/// A command to paste that sends an item to a queue.
pub(super) fn example_request(address: &str, queue: &str, names: &[String]) -> Markup {
    let scores: serde_json::Map<String, serde_json::Value> =
        names.iter().take(FEW).map(|name| (name.clone(), 0.5.into())).collect();
    let item = serde_json::json!({ "id": "p1", "scores": scores, "payload": { "text": "the text that reviewers see" } });
    // A quote within a single-quoted shell word: end the quotes, escape it, and open them again.
    let body = serde_json::json!({ "items": [item] }).to_string().replace('\'', r"'\''");
    html! {
        p class="small" { "No items yet. They will be listed here in the order in which reviewers get them. To send one:" }
        pre tabindex="0" { code { "curl " (address) "/v1/queues/" (queue) "/items -H 'Content-Type: application/json' -d '" (body) "'" } }
        p class="small" { "From a file: " code { "jurybox serve --import scores.csv --id id" } ". Then open " a href={ "/q/" (queue) "/desk" } { "the desk" } "." }
    }
}

/// Two commands and a URL to paste, for a server without queues.
fn first_steps(address: &str) -> Markup {
    html! {
        section class="panel paste" {
            h2 { "No queue yet. Three steps to begin:" }
            p class="small" { "Create a queue: name its evaluators, and which of them score low for what you look for." }
            pre tabindex="0" { code {
                "curl -X PUT " (address) "/v1/queues/posts -H 'Content-Type: application/json' -d '{\"evaluators\": [{\"name\": \"spam\"}, {\"name\": \"quality\", \"direction\": \"low\"}]}'"
            } }
            p class="small" { "Send items with their scores and the text that reviewers see." }
            pre tabindex="0" { code {
                "curl " (address) "/v1/queues/posts/items -H 'Content-Type: application/json' -d '{\"items\": [{\"id\": \"p1\", \"scores\": {\"spam\": 0.9, \"quality\": 0.2}, \"payload\": {\"text\": \"buy now\"}}]}'"
            } }
            p class="small" { "Open the desk to review them." }
            pre tabindex="0" { code { (address) "/q/posts/desk" } }
            p class="small" { "If the server has keys, every request needs one: " code { "jurybox server key add NAME --role admin" } ". All requests are described in the " a href="/api" { "API" } "." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_one_word_to_a_shell() {
        let names: Vec<String> = ["it's", "b", "c", "d"].map(String::from).into();
        let shown = example_request("http://here", "posts", &names).into_string();
        assert!(shown.contains("http://here/v1/queues/posts/items") && shown.contains(r"it'\''s"), "{shown}");
        assert!(shown.contains("&quot;c&quot;") && !shown.contains("&quot;d&quot;"), "{shown}");
    }
}

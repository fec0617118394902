//! The first page: one panel a queue, the worst first. An empty server says what to paste.

use super::snapshot::{TimeBins, DAY, MINUTE, SECOND, QueueSnapshot, quantile, snapshot, unit};
use super::format::{amount, between, count, moment, now, rounded, span, stretch, sure};
use super::queue::drawn;
use super::layout::{Page, panel_response, navigation};
use crate::app::App;
use crate::guard::Caller;
use crate::handlers::QueryParams;
use crate::problem::Problem;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use jurybox::Interval;
use jurybox_draw::{Colour, Curve, Frame, Plot, Scale};
use jurybox_server::{Doors, Role};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

/// Evaluators that an example names.
const FEW: usize = 3;

/// One panel alone, by its name, or all of them.
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
        return Ok(Page::new("Jurybox", &desks(&caller, &names)).into_response());
    }
    if let Some(name) = part.panel {
        if !names.contains(&name) {
            return Ok(panel_response(&html! {}, now()));
        }
        let told = snapshot(&app, &name).await.ok();
        let so = told.as_ref().map_or_else(now, |(_, so)| *so);
        return Ok(panel_response(&inner(&caller, &name, told.map(|(seen, _)| seen).as_ref()), so));
    }
    let (mut panels, mut oldest) = (Vec::new(), now());
    for name in &names {
        let told = snapshot(&app, name).await.ok();
        oldest = told.as_ref().map_or(oldest, |(_, so)| oldest.min(*so));
        let told = told.map(|(seen, _)| seen);
        panels.push((std::cmp::Reverse(told.as_deref().map_or(u8::MAX, badness)), name, told));
    }
    panels.sort_by_key(|(badness, name, _)| (*badness, *name));
    let address = address(&app, &headers);
    let body = html! {
        (navigation(&caller, None, "Queues", Some(oldest)))
        main data-all {
            h1 class="unseen" { "Queues" }
            @for (_, name, told) in &panels {
                section class="panel" data-panel=(name) data-queue=(name) aria-label=(name) { (inner(&caller, name, told.as_ref())) }
            }
            @if names.is_empty() { (teach(&address)) }
        }
    };
    Ok(Page::new("Jurybox", &body).into_response())
}

/// How much a queue wants to be looked at.
fn badness(seen: &QueueSnapshot) -> u8 {
    let changed = !seen.doubts.is_empty()
        || !seen.redefined.is_empty()
        || seen.evaluated.iter().any(|of| !of.alarms.is_empty());
    let waits = seen.pulse.oldest.is_some_and(|oldest| seen.now - oldest > DAY);
    u8::from(changed) * 4 + u8::from(seen.pulse.due > 0) * 2 + u8::from(waits)
}

fn inner(caller: &Caller, name: &str, told: Option<&Arc<QueueSnapshot>>) -> Markup {
    html! {
        div class="queue-head" {
            h2 { a href={ "/q/" (name) } { (name) } }
            @if caller.may(Role::Review) { a class="small" href={ "/q/" (name) "/desk" } { "desk" } }
        }
        @match told {
            None => p class="bad" { "This queue cannot be shown now: the log of the server says why. " a href="/readyz" { "State of the server" } },
            Some(seen) => {
                (figures(seen, name))
                (found_over_time(seen, &Frame::from_zero(1360.0, 170.0, 150.0)))
                (against(seen))
                (alarms(seen, name))
            }
        }
    }
}

/// The line of figures, each a link to what it is made of.
pub(super) fn figures(seen: &QueueSnapshot, name: &str) -> Markup {
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

/// What chance would have found is called so where it is drawn.
pub(super) const CHANCE: &str = "chance";

/// What others would have found in each item that was picked: their names, and how much at the least and at the most, with the middle of the two
/// for the line. A single number is known only at moments when no drawn item waits, and a line that is now that and now something else says
/// nothing. As long as little is known of them, whatever was caught here, there is no line.
pub(super) fn others(seen: &QueueSnapshot) -> Vec<(&'static str, Interval)> {
    let (plain, random) = (seen.found.plain_mean.mean, seen.found.random.mean);
    let known = [("plain mean", plain), (CHANCE, random)];
    let known = known.into_iter().filter_map(|(name, mean)| Some((name, mean?)));
    let (low, high) = seen.scale();
    // NaN is not known either.
    let known = known.filter(|(_, mean)| mean.high - mean.low <= (high - low) / 2.0);
    known.map(|(name, ends)| (name, Interval { mean: f64::midpoint(ends.low, ends.high), ..ends })).collect()
}

/// What was caught in stretches of time, against the plain mean and chance.
pub(super) fn found_over_time(seen: &QueueSnapshot, frame: &Frame) -> Markup {
    let bins = TimeBins::of(seen.picked(), seen.whole_since(), seen.now, 24);
    if bins.filled() < 2 {
        return html! { p class="small" { "What was caught will be drawn here once verdicts have come in for a while." } };
    }
    let (places, x_label) = bins.places(seen.now);
    let curve = |name: &str, of: &dyn Fn(&[f64]) -> f64| {
        let points = places.iter().zip(&bins.each).map(|(x, (_, worths))| (*x, of(worths)));
        Curve::new(name, points.collect())
    };
    let mut curves = vec![curve("caught", &|worths| worths.iter().sum()).in_colour(Colour::Ink)];
    for (name, mean) in others(seen) {
        let mut expected = curve(name, &|worths| worths.len() as f64 * mean.mean);
        let ends = |(x, (_, worths)): (&f64, &(i64, Vec<f64>))| {
            (*x, worths.len() as f64 * mean.low, worths.len() as f64 * mean.high)
        };
        expected.band = places.iter().zip(&bins.each).map(ends).collect();
        expected.reference = name == CHANCE;
        curves.push(expected.in_colour(Colour::Muted));
    }
    let plot = Plot {
        title: String::new(),
        x_label: x_label.into(),
        y_label: format!("caught in {}", stretch(bins.length)),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        curves,
    };
    let (unit, _) = unit(bins.each.first().map_or(0, |(at, _)| seen.now - at));
    drawn(&plot, frame, |x| Some(seen.now + (x * unit) as i64))
}

/// What an item that was picked was worth, against what others would have found.
pub(super) fn against(seen: &QueueSnapshot) -> Markup {
    let found = &seen.found;
    let Some(picked) = found.picked.mean else { return html! {} };
    html! {
        p class="small" {
            "Each item picked was worth " b { (between(picked)) }
            @if let Some(plain) = found.plain_mean.mean { "; by the plain mean " (ends(plain)) }
            @if let Some(random) = found.random.mean { "; by chance " (ends(random)) }
            @if found.given_back > 0 { " (" (found.given_back) " more came back undecided: they may be worth anything)" }
            @if let Some(times) = seen.times_plain_mean() { " · " b { "at least " (format!("{times:.1}")) " × plain mean" } }
            @if let Some(unknown) = found.unknown { ". What others would have found is not known: " (unknown) }
            "."
        }
    }
}

/// How little and how much it may be: whether a single number is known changes from moment to moment.
fn ends(interval: Interval) -> String {
    between(Interval { mean: f64::NAN, ..interval })
}

/// What has changed about verdicts, and about evaluators: of these, since when there is an alarm and from when on scores are different, both as the
/// log has it. What the model makes of the time of the change moves as that recedes.
pub(super) fn alarms(seen: &QueueSnapshot, name: &str) -> Markup {
    let time = |seconds: u64| moment(seconds.cast_signed().saturating_mul(SECOND), seen.now);
    html! {
        ul class="alarms" {
            @for doubt in &seen.doubts { li { span class="warn" { "! " (doubt) } } }
            @for alarm in &seen.redefined {
                li {
                    span class="warn" { "! What verdicts say changed" } " (" (sure(alarm.confidence)) " sure): " (reading(alarm))
                    @if alarm.since == alarm.until { " · at " (time(alarm.since)) } @else { " · between " (time(alarm.since)) " and " (time(alarm.until)) }
                    " · " a href={ "/q/" (name) "#evaluators" } { "see" }
                }
            }
            @for of in seen.evaluated.iter().filter(|of| !of.alarms.is_empty()) {
                @let since = of.changed_since().map(|since| moment(since, seen.now)).unwrap_or_default();
                @let last: Vec<&jurybox::Alarm> = of.last_change().into_iter().map(|at| &of.alarms[at]).collect();
                @let surest = last.iter().map(|alarm| alarm.confidence).fold(0.0, f64::max);
                @let raised = of.last_change().first().and_then(|at| of.raised.get(*at).copied().flatten());
                li {
                    span class="warn" { "! " (of.name) " changed" } " (" (sure(surest)) " sure): "
                    @for (at, alarm) in last.into_iter().enumerate() { @if at > 0 { ", " } (reading(alarm)) }
                    @if let Some(raised) = raised { " · alarm since " (moment(raised.at, seen.now)) ", by scores from " (since) " on" } @else { " · about " (since) }
                    " · " a href={ "/q/" (name) "#evaluators" } { "see" }
                }
            }
        }
    }
}

/// What changed, in units that people know: the standard deviation of its scores, their correlation with the others', or rewards.
fn reading(alarm: &jurybox::Alarm) -> String {
    let (what, unit): (&str, fn(f64) -> f64) = match alarm.reading {
        jurybox::Reading::Spread => ("spread", |log_variance| (log_variance / 2.0).exp()),
        jurybox::Reading::Agreement => ("agreement with the others", f64::tanh),
        jurybox::Reading::Reward => ("above what was expected by", |reward| reward),
        jurybox::Reading::Varying => ("how often its scores vary", |share| share),
        jurybox::Reading::Slope => ("more where one more was expected", |slope| slope),
    };
    let [before, after] = [alarm.before, alarm.after].map(|value| rounded(unit(value)));
    format!("{what} {before} → {after}")
}

/// What a reviewer without the right to look sees: where to work.
fn desks(caller: &Caller, names: &[String]) -> Markup {
    html! {
        (navigation(caller, None, "Queues", None))
        main class="door" {
            h1 { "Desks" }
            @if names.is_empty() { p { "There is no queue yet." } }
            @for name in names { p { a href={ "/q/" (name) "/desk" } { (name) } } }
        }
    }
}

/// Where this server was asked.
pub(super) fn address(app: &App, headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let usual = || app.0.settings.listen.to_string();
    let scheme = if app.0.settings.tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{}", host.map_or_else(usual, String::from))
}

/// A line to paste that sends an item to a queue.
pub(super) fn sending(address: &str, queue: &str, names: &[String]) -> Markup {
    let scores: serde_json::Map<String, serde_json::Value> =
        names.iter().take(FEW).map(|name| (name.clone(), 0.5.into())).collect();
    let item = serde_json::json!({ "id": "p1", "scores": scores, "payload": { "text": "what reviewers are to see" } });
    // Within the quotes of a shell a quote ends them, stands alone, and begins them again.
    let body = serde_json::json!({ "items": [item] }).to_string().replace('\'', r"'\''");
    html! {
        p class="small" { "Nothing has come in yet. Items stand here in the order in which they are given out; a line to send one:" }
        pre tabindex="0" { code { "curl " (address) "/v1/queues/" (queue) "/items -H 'Content-Type: application/json' -d '" (body) "'" } }
        p class="small" { "From a file: " code { "jurybox serve --import scores.csv --id id" } ". Then open " a href={ "/q/" (queue) "/desk" } { "the desk" } "." }
    }
}

/// Three lines to paste.
fn teach(address: &str) -> Markup {
    html! {
        section class="panel paste" {
            h2 { "No queue yet. Three lines to begin with:" }
            p class="small" { "Say who scores, and which way." }
            pre tabindex="0" { code {
                "curl -X PUT " (address) "/v1/queues/posts -H 'Content-Type: application/json' -d '{\"evaluators\": [{\"name\": \"spam\"}, {\"name\": \"quality\", \"direction\": \"low\"}]}'"
            } }
            p class="small" { "Send items with their scores, and what reviewers are to see." }
            pre tabindex="0" { code {
                "curl " (address) "/v1/queues/posts/items -H 'Content-Type: application/json' -d '{\"items\": [{\"id\": \"p1\", \"scores\": {\"spam\": 0.9, \"quality\": 0.2}, \"payload\": {\"text\": \"buy now\"}}]}'"
            } }
            p class="small" { "Open the desk." }
            pre tabindex="0" { code { (address) "/q/posts/desk" } }
            p class="small" { "With keys, each request takes one: " code { "jurybox server key add NAME --role admin" } ". All that can be asked: " a href="/api" { "API" } "." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_pasted_is_one_word_to_a_shell() {
        let names: Vec<String> = ["it's", "b", "c", "d"].map(String::from).into();
        let shown = sending("http://here", "posts", &names).into_string();
        assert!(shown.contains("http://here/v1/queues/posts/items") && shown.contains(r"it'\''s"), "{shown}");
        assert!(shown.contains("&quot;c&quot;") && !shown.contains("&quot;d&quot;"), "{shown}");
    }
}

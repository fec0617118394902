//! The panels of a queue that are words and numbers.

use super::super::snapshot::QueueSnapshot;
use super::super::format::{aligned, amount, between, count, in_address, percent};
use super::super::{activity, overview};
use super::charts::loudest;
use super::{PanelBody, QueuePage, contribution_bar};
use crate::demo::DemoControl;
use jurybox_draw::{Bar, counted};
use jurybox_server::{Evaluated, Explained, Role};
use maud::{Markup, PreEscaped, html};

/// Evaluators that have a row, and that are named beside those.
const LISTED: usize = 12;
const NAMED: usize = 20;
/// Changes that stand above what happened last.
const CHANGES: usize = 4;

/// How the queue is, in one line, and what is wrong with it.
pub(super) fn figures(view: &QueuePage<'_>) -> Markup {
    html! {
        (overview::figures(view.seen, view.queue))
        (overview::alarms(view.seen, view.queue))
        @if let Some(demo) = view.demo { (swap(demo)) }
    }
}

/// What a demo can be made to do: go wrong, so that one sees it noticed.
fn swap(demo: &DemoControl) -> Markup {
    let (one, other) = demo.pair();
    html! {
        form class="demo" method="post" action="/demo/swap" {
            button type="submit" {
                @if demo.is_swapped() { "Swap back the noise of " } @else { "Swap the noise of " }
                (one) " and " (other)
            }
            " " span class="small" { "The better of the two becomes the worse: watch the alarm, and whom it trusts then. Three of the six hear the tone of a post more than what it says, and agree about that: the first picks go by their agreement, and verdicts teach within a minute whom to trust." }
        }
    }
}

/// Whom the order is by, and how sure that is.
pub(super) fn evaluators(view: &QueuePage<'_>) -> PanelBody {
    let all = &view.seen.evaluated;
    if all.is_empty() {
        return PanelBody::Later(html! { "The queue is not ranked yet: that begins with the first items." });
    }
    // The interval is of the weight that was learnt, whichever the order is by.
    let bar = |of: &Evaluated, style: usize| {
        let learnt = of.interval.filter(|_| of.fixed.is_none() && !of.muted).zip(of.spread);
        let interval = learnt.map(|(interval, spread)| (interval.low * spread, interval.high * spread));
        Bar { style: Some(style), ..Bar::new(&of.name, of.pull().unwrap_or(f64::NAN), interval) }
    };
    let shares = influence(all);
    // Whom somebody has to see to, and whom the order is by most.
    let loudest = loudest(all, LISTED);
    let is_listed = |at: usize| loudest.contains(&at) || all[at].muted || !all[at].alarms.is_empty();
    let (listed, others): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|at| is_listed(*at));
    // While little is known whiskers are long: those that would leave no room for the bars are cut off at the edge.
    let longest = all.iter().filter_map(Evaluated::pull).map(f64::abs).fold(0.0, f64::max);
    let largest = all.iter().map(|of| bar(of, 0).reach()).fold(0.0, f64::max).min(4.0 * longest);
    let (noises, noise) = noises(view);
    let weights = aligned(all.iter().map(|of| of.fixed.or(of.weight)));
    let mute = |of: &Evaluated| format!("/q/{}/mute?evaluator={}", view.queue, in_address(&of.name));
    PanelBody::Open(html! {
        div class="scroll" tabindex="0" role="region" aria-label="Table of evaluators" {
            table {
                thead { tr { th { "name" } th { "influence" } th { span class="unseen" { "as a bar" } } th class="weight" { "weight" } @if noises.is_some() { th class="noise" { "noise" } } th class="seen" { "seen" } th { span class="unseen" { "mute" } } } }
                tbody {
                    @for (style, of) in listed.into_iter().map(|at| (at, &all[at])) {
                        tr id={ "evaluator-" (style) } class=[of.muted.then_some("reference")] {
                            td class="name" title=(of.name) { (contribution_bar::swatch(style)) (of.name) @if of.muted { " (muted)" } @if !of.alarms.is_empty() { " " span class="warn" title="It has changed: above is said when and how" { "!" } } }
                            td { b { (shares[style].map_or("–".into(), percent)) } }
                            td class="bar" { (PreEscaped(bar(of, style).cell(largest))) }
                            td class="weight muted" { (weights[style]) }
                            @if let Some(noises) = &noises { td class="noise" { (noises[style]) } }
                            td class="seen" { (of.coverage.map_or("–".into(), percent)) }
                            td { a href=(mute(of)) { @if of.muted { "hear" } @else { "mute" } } }
                        }
                        @if let Some((twin, r)) = of.closest.as_ref().filter(|(_, r)| r.abs() >= 0.8) {
                            tr { td colspan="7" class="small" { "scores as " bdi { (twin) } " does" @if *r < 0.0 { ", turned round" } " (correlation " (format!("{r:.2}").replace('-', "−")) ")" } }
                        }
                    }
                }
            }
        }
        @if !others.is_empty() {
            p class="small" {
                (counted(others.len() as u64, "more evaluator")) " with less influence"
                @if others.len() <= NAMED { ": " } @else { ", of whom these are the first (all are in " code { "GET /v1/queues/" (view.queue) "/evaluators" } "): " }
                @for (at, of) in others.iter().take(NAMED).map(|at| &all[*at]).enumerate() { @if at > 0 { ", " } a href=(mute(of)) { (of.name) } }
            }
        }
        @if waits_from_before(view.seen) {
            p class="small" { "Some of what waits has scores from before the change: send those items again with new scores, or mute who changed until they are gone." }
        }
        p class="small" {
            @if view.seen.learnt_from == 0 { "No verdict was learnt from yet" @if !view.seen.worked.is_empty() { " (one is when it can be undone no more)" } ": the order goes by a guess from the scores alone. " } @else { "Learnt from " (count(view.seen.learnt_from)) " verdicts. " }
            @if !view.caller.may(Role::Admin) { " To mute takes the role admin." }
        }
        details {
            summary { "How to read it" }
            p class="small" {
            "Influence: weight times how much its scores vary among the last items, as a share of all. Bars: what a score that is one standard deviation higher adds, with whiskers that hold in 9 of 10 cases what endless verdicts on the items judged would show; none where the verdicts cannot tell yet. Of all items it may be another, where the best are judged and verdicts are yes and no. Weight: what a unit of its score adds, which cannot be compared between units. " (noise) "Seen: the share of items it has scored."
            }
        }
    })
}

/// Whether something waits that came in before an evaluator changed.
fn waits_from_before(seen: &QueueSnapshot) -> bool {
    let changed = seen.evaluated.iter().filter_map(Evaluated::changed_since).max();
    seen.pulse.oldest.zip(changed).is_some_and(|(oldest, changed)| oldest < changed)
}

/// How noisy each is, and what that means: as the policy reckons it where it does, else as the items drawn on arrival show it; none where neither
/// can say.
fn noises(view: &QueuePage<'_>) -> (Option<Vec<String>>, &'static str) {
    let all = &view.seen.evaluated;
    if all.iter().any(|of| of.noise.is_some()) {
        return (Some(aligned(all.iter().map(|of| of.noise))), "Noise: as the policy reckons it. ");
    }
    let shown = view.seen.alike.as_ref().filter(|alike| alike.noise.len() == all.len());
    let shown = shown.map(|alike| alike.noise.iter().map(|noise| percent(*noise)).collect());
    let words = "Noise: the share of what its scores vary by that says nothing of what items were worth, among those drawn on arrival; where it has changed, among those that came since. ";
    let words = if shown.is_some() { words } else { "" };
    (shown, words)
}

/// The share that each has in how values differ: what a spread of its scores adds or takes away, of what those of all do.
fn influence(all: &[Evaluated]) -> Vec<Option<f64>> {
    let sum: f64 = all.iter().filter_map(Evaluated::pull).map(f64::abs).sum();
    all.iter().map(|of| of.pull().filter(|_| sum > 0.0).map(|pull| pull.abs() / sum)).collect()
}

/// What may have been missed, as a share of all there was to catch.
pub(super) fn missed(view: &QueuePage<'_>) -> PanelBody {
    let found = &view.seen.found;
    let Some(missed) = found.missed.filter(|missed| missed.low >= 0.0 && found.caught >= 0.0) else {
        let why = found.unknown.unwrap_or("what was missed can be below nothing on this scale");
        return PanelBody::Later(html! { "Not known: " (why) "." });
    };
    let share =
        |missed: f64| if missed + found.caught > 0.0 { missed / (missed + found.caught) } else { 0.0 };
    let (low, high) = (share(missed.low), share(missed.high));
    let x = |share: f64| format!("{:.1}", 4.0 + share * 352.0);
    let title = format!("between {} and {} missed", percent(low), percent(high));
    PanelBody::Open(html! {
        p { "Between " b { (percent(low)) } " and " b { (percent(high)) } " of what there was to catch is still out there." }
        svg viewBox="0 0 360 40" role="img" aria-label=(title) {
            title { (title) }
            path d={ "M" (x(0.0)) " 12H" (x(1.0)) } stroke="var(--hairline)" stroke-width="4" stroke-linecap="round" {}
            path d={ "M" (x(low)) " 12H" (x(high)) } stroke="var(--accent)" stroke-width="4" stroke-linecap="round" {}
            // While drawn items wait there is no single number.
            @if missed.mean.is_finite() { circle cx=(x(share(missed.mean))) cy="12" r="5" fill="var(--accent)" {} }
            g font-size="12" fill="var(--muted)" { text x=(x(0.0)) y="34" { "0%" } text x=(x(1.0)) y="34" text-anchor="end" { "100%" } }
        }
        p class="small" {
            "In sums: " (amount(missed.low.round())) " to " (amount(missed.high.round())) " missed, " (amount(found.caught)) " caught. From "
            (count(found.drawn.items)) " items that were drawn on arrival whatever their scores, of which " (count(found.drawn.decided))
            " are decided; 95% interval."
        }
    })
}

/// The best that wait, and what each evaluator adds. As long as nothing was judged they are what there is to see.
pub(super) fn top(view: &QueuePage<'_>) -> PanelBody {
    let (best, names) = (&view.seen.best, view.seen.names());
    let Some(first) = best.first() else {
        if view.seen.inflow.is_none() {
            return PanelBody::Open(overview::sending(view.address, view.queue, &names));
        }
        return PanelBody::Later(
            html! { "Nothing waits. Items that come in stand here in the order in which they are given out." },
        );
    };
    let values = aligned(best.iter().map(|of| of.item.value));
    let shares = |of: &Explained| -> Vec<(usize, f64)> {
        of.contributions.iter().flat_map(|told| told.each.iter().copied().enumerate()).collect()
    };
    let largest =
        best.iter().map(|of| contribution_bar::reach(shares(of).into_iter().map(|(_, share)| share))).fold(0.0, f64::max);
    let table = html! {
        div class="scroll" tabindex="0" role="region" aria-label="Table of the next in line" {
            table {
                thead { tr { th { span class="unseen" { "place" } } th class="name" { "item" } th class="why" { "why" } th class="value" { "value" } th { "expected" } } }
                tbody {
                    @for (place, of) in best.iter().enumerate() {
                        tr {
                            td { (place + 1) }
                            td class="name" { (activity::item(view.queue, &of.item.id)) }
                            td class="bar" { @if of.contributions.is_some() { (contribution_bar::bar(&shares(of), &names, largest, 180.0)) } @else { "–" } }
                            td class="value" { (values[place]) }
                            td { @match of.predicted { Some(of) => (expected(of)), None => "–" } }
                        }
                    }
                }
            }
        }
        p class="small" { "Right of the line: what evaluators add to an item's value; left: what they take away. The name is under the pointer. Value: what the order is by. Expected: what it is worth, within the scale, with an interval that holds it in 9 of 10 cases"
            @if best.iter().all(|of| of.predicted.is_none()) { "; nothing, until two verdicts were learnt from" }
            "." }
    };
    if view.seen.picked().len() < 2 {
        return PanelBody::Open(table);
    }
    let fact = html! { b { (first.item.id) } " first, of " (count(view.seen.counts.pending)) " that wait" };
    PanelBody::Folded(fact, table)
}

/// What an item is worth, with its interval where there is room for that.
fn expected(interval: jurybox::Interval) -> Markup {
    let told = between(interval);
    let (mean, ends) = told.split_once(" (").map_or((told.as_str(), None), |(mean, ends)| (mean, Some(ends)));
    html! { (mean) @if let Some(ends) = ends { span class="ends" { " (" (ends) } } }
}

/// The log, newest first, without what happens by itself.
pub(super) fn feed(view: &QueuePage<'_>) -> PanelBody {
    let body = html! {
        (activity::noticed(view.queue, &view.seen.noticed[..view.seen.noticed.len().min(CHANGES)], view.seen.now))
        (activity::list(view.queue, &view.seen.happened, view.seen.now, true))
        p class="ways-on small" {
            a href={ "/q/" (view.queue) "/audit" } { "All of it" }
            span {
                "Take everything along: "
                @for (at, (format, name)) in [("csv", "CSV"), ("jsonl", "JSON lines"), ("parquet", "Parquet")].into_iter().enumerate() {
                    @if at > 0 { ", " } a href={ "/q/" (view.queue) "/export?format=" (format) } download { (name) }
                }
            }
        }
    };
    let fact =
        html! { @if let Some(last) = view.seen.happened.first() { (activity::last(last, view.seen.now)) } };
    PanelBody::Folded(fact, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One scores from 0 to 1, another from 0 to 1000: weights of raw units would call the first a thousand times as loud.
    #[test]
    fn influence_does_not_hang_on_units() {
        let of = |weight: f64, spread: f64, muted: bool| Evaluated {
            name: String::new(),
            muted,
            fixed: None,
            weight: Some(weight),
            interval: None,
            noise: None,
            coverage: None,
            spread: Some(spread),
            closest: None,
            alarms: Vec::new(),
            raised: Vec::new(),
        };
        let all = [of(2.0, 0.25, false), of(-0.002, 750.0, false), of(9.0, 9.0, true)];
        assert_eq!(influence(&all), [Some(0.25), Some(0.75), Some(0.0)]);
        assert_eq!(influence(&all[2..]), [None]);
    }
}

//! The panels of a queue's page that are text and tables.

use super::super::format::{aligned, count, in_address, number, percent};
use super::super::snapshot::QueueSnapshot;
use super::super::{activity, overview};
use super::charts::most_influential;
use super::{PanelBody, QueuePage, contribution_bar};
use crate::demo::DemoControl;
use jurybox_draw::{Bar, counted};
use jurybox_server::{EvaluatorSummary, ExplainedItem, Role};
use maud::{Markup, PreEscaped, html};
use overview::checks_missing;

/// How many of the most influential evaluators have a row. Muted and changed evaluators have one,
/// too.
const LISTED: usize = 12;
/// The most evaluators without a row that are named below the table.
const NAMED: usize = 20;
/// The most changes of evaluators that are listed above the activity log.
const CHANGES: usize = 4;
/// An interval of the missed share that is wider than this is not shown.
const WIDEST_MISSED: f64 = 0.5;

/// The key figures of the queue, and its warnings.
pub(super) fn figures(view: &QueuePage<'_>) -> Markup {
    html! {
        (overview::figures(view.snapshot, view.queue))
        (overview::alarms(view.snapshot, view.queue))
        @if let Some(demo) = view.demo { (swap(demo)) }
    }
}

/// A button that swaps the quality of two evaluators of the demo, to watch how that is noticed.
fn swap(demo: &DemoControl) -> Markup {
    let (one, other) = demo.pair();
    html! {
        form class="demo" method="post" action="/demo/swap" {
            button type="submit" {
                @if demo.is_swapped() { "Swap back " } @else { "Swap the quality of " }
                (one) " and " (other)
            }
            " " span class="small" { "The better of the two becomes the worse. Watch the warning, and how the influence moves. Three of the six evaluators judge a post by its tone and agree about it. The first ranking follows their agreement; within a minute, verdicts correct that." }
        }
    }
}

/// The evaluators, with their influence on the ranking and how certain it is.
pub(super) fn evaluators(view: &QueuePage<'_>) -> PanelBody {
    let all = &view.snapshot.evaluators;
    if all.is_empty() {
        return PanelBody::Later(html! { "Nothing is ranked yet. Ranking starts with the first items." });
    }
    // A fixed weight is not estimated, so it has no interval.
    let bar = |of: &EvaluatorSummary, style: usize| {
        let learnt = of.interval.filter(|_| of.fixed.is_none() && !of.muted).zip(of.spread);
        let interval = learnt.map(|(interval, spread)| (interval.low * spread, interval.high * spread));
        Bar { style: Some(style), ..Bar::new(&of.name, of.pull().unwrap_or(f64::NAN), interval) }
    };
    let shares = influence(all);
    // Muted and changed evaluators are listed, and those with most influence.
    let most_influential = most_influential(all, LISTED);
    let is_listed = |at: usize| most_influential.contains(&at) || all[at].muted || !all[at].alarms.is_empty();
    let (listed, others): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|at| is_listed(*at));
    // Intervals of over four times the longest bar are cut off, so that the bars stay readable.
    let longest = all.iter().filter_map(EvaluatorSummary::pull).map(f64::abs).fold(0.0, f64::max);
    let largest = all.iter().map(|of| bar(of, 0).reach()).fold(0.0, f64::max).min(4.0 * longest);
    let (noises, noise) = noises(view);
    let weights = aligned(all.iter().map(|of| of.fixed.or(of.weight)));
    let mute = |of: &EvaluatorSummary| format!("/q/{}/mute?evaluator={}", view.queue, in_address(&of.name));
    PanelBody::Open(html! {
        div class="scroll" tabindex="0" role="region" aria-label="Table of evaluators" {
            table {
                thead { tr { th { "name" } th { "influence" } th { span class="unseen" { "as a bar" } } th class="weight" { "weight" } @if noises.is_some() { th class="noise" { "noise" } } th class="seen" { "scored" } th { span class="unseen" { "mute" } } } }
                tbody {
                    @for (style, of) in listed.into_iter().map(|at| (at, &all[at])) {
                        tr id={ "evaluator-" (style) } class=[of.muted.then_some("reference")] {
                            td class="name" title=(of.name) { (contribution_bar::swatch(style)) (of.name) @if of.muted { " (muted)" } @if !of.alarms.is_empty() { " " span class="warn" title="It has changed: see the warning above" { "!" } } }
                            td { b { (shares[style].map_or("–".into(), percent)) } }
                            td class="bar" { (PreEscaped(bar(of, style).cell(largest))) }
                            td class="weight muted" { (weights[style]) }
                            @if let Some(noises) = &noises { td class="noise" { (noises[style]) } }
                            td class="seen" { (of.coverage.map_or("–".into(), percent)) }
                            td { a href=(mute(of)) { @if of.muted { "unmute" } @else { "mute" } } }
                        }
                        @if let Some((twin, r)) = of.closest.as_ref().filter(|(_, r)| r.abs() >= 0.8) {
                            tr { td colspan="7" class="small" { "nearly the same scores as " bdi { (twin) } @if *r < 0.0 { ", reversed" } " (correlation " (number(*r)) ")" } }
                        }
                    }
                }
            }
        }
        @if !others.is_empty() {
            p class="small" {
                (counted(others.len() as u64, "more evaluator")) " with less influence"
                @if others.len() <= NAMED { ": " } @else { ", the first of which are (all are in " code { "GET /v1/queues/" (view.queue) "/evaluators" } "): " }
                @for (at, of) in others.iter().take(NAMED).map(|at| &all[*at]).enumerate() { @if at > 0 { ", " } a href=(mute(of)) { (of.name) } }
            }
        }
        @if waits_from_before(view.snapshot) {
            p class="small" { "Some waiting items have scores from before the change. Send them again with new scores, or mute the changed evaluator until they are reviewed." }
        }
        p class="small" {
            @if view.snapshot.learnt_from == 0 { "Nothing learnt from verdicts yet" @if !view.snapshot.verdicts.is_empty() { " (a verdict counts once it can no longer be undone)" } ": the ranking is a guess from the scores alone. " } @else { "Learnt from " (counted(view.snapshot.learnt_from, "verdict")) ". " }
            @if !view.caller.may(Role::Admin) { " Muting needs the role admin." }
        }
        details {
            summary { "How to read it" }
            p class="small" {
            b { "Influence" } ": the evaluator's share in the ranking. It is the weight times how much the scores vary in recent items. " b { "Bar" } ": how much a score that is one standard deviation higher adds to an item's value. The whiskers are a 90% interval for the reviewed items; there are none while verdicts cannot tell. " b { "Weight" } ": how much one unit of the score adds. Weights of scores on different scales cannot be compared. " @if !noise.is_empty() { b { "Noise" } ": " (noise) } b { "Scored" } ": the share of items that have its score."
            }
        }
    })
}

/// Whether an item waits that arrived before an evaluator changed.
fn waits_from_before(snapshot: &QueueSnapshot) -> bool {
    let changed = snapshot.evaluators.iter().filter_map(EvaluatorSummary::changed_since).max();
    snapshot.workload.oldest.zip(changed).is_some_and(|(oldest, changed)| oldest < changed)
}

/// The noise of each evaluator, and the text that explains it: the policy's estimate if there is
/// one, else from random checks. None and no text if neither can tell.
fn noises(view: &QueuePage<'_>) -> (Option<Vec<String>>, &'static str) {
    let all = &view.snapshot.evaluators;
    if all.iter().any(|of| of.noise.is_some()) {
        return (Some(aligned(all.iter().map(|of| of.noise))), "the policy's estimate of random error. ");
    }
    let shown = view.snapshot.errors.as_ref().filter(|errors| errors.noise.len() == all.len());
    let shown = shown.map(|errors| errors.noise.iter().map(|noise| percent(*noise)).collect());
    let words = "the share of the scores' variation that is unrelated to verdicts, in random checks since its last change. ";
    let words = if shown.is_some() { words } else { "" };
    (shown, words)
}

/// Each evaluator's share of the influence: its weight times the spread of its scores, in size,
/// over the sum of all. None for an evaluator without an estimate, and if no evaluator has
/// influence.
fn influence(all: &[EvaluatorSummary]) -> Vec<Option<f64>> {
    let sum: f64 = all.iter().filter_map(EvaluatorSummary::pull).map(f64::abs).sum();
    all.iter().map(|of| of.pull().filter(|_| sum > 0.0).map(|pull| pull.abs() / sum)).collect()
}

/// The total reward missed, as a share of all there was to find, if random checks can tell it.
pub(super) fn missed(view: &QueuePage<'_>) -> PanelBody {
    let (found, words) = (&view.snapshot.report, view.snapshot.wording());
    let to = "to say how much was missed";
    let Some(missed) = found.missed.filter(|missed| missed.low >= 0.0 && found.found >= 0.0) else {
        let why = match found.missed {
            Some(_) => "Not known: verdicts below 0 do not add up to a share.".into(),
            None => checks_missing(view.snapshot, None, to),
        };
        return PanelBody::Later(html! { (why) });
    };
    let share = |missed: f64| if missed + found.found > 0.0 { missed / (missed + found.found) } else { 0.0 };
    let (low, high) = (share(missed.low), share(missed.high));
    if high - low > WIDEST_MISSED {
        let ends = view.snapshot.on_scale(low, high);
        return PanelBody::Later(html! { (checks_missing(view.snapshot, Some(ends), to)) });
    }
    let x = |share: f64| format!("{:.1}", 4.0 + share * 352.0);
    let title = format!("between {} and {} missed", percent(low), percent(high));
    PanelBody::Open(html! {
        p { "Between " b { (percent(low)) } " and " b { (percent(high)) } " of " (words.everything()) " is still unreviewed." }
        svg viewBox="0 0 360 40" role="img" aria-label=(title) {
            title { (title) }
            path d={ "M" (x(0.0)) " 12H" (x(1.0)) } stroke="var(--hairline)" stroke-width="4" stroke-linecap="round" {}
            path d={ "M" (x(low)) " 12H" (x(high)) } stroke="var(--accent)" stroke-width="4" stroke-linecap="round" {}
            // There is a point estimate only if every random check is decided.
            @if missed.mean.is_finite() { circle cx=(x(share(missed.mean))) cy="12" r="5" fill="var(--accent)" {} }
            g font-size="12" fill="var(--muted)" { text x=(x(0.0)) y="34" { "0%" } text x=(x(1.0)) y="34" text-anchor="end" { "100%" } }
        }
        p class="small" {
            "Found " (words.sum(found.found)) ", missed " (number(missed.low.round())) " to " (words.sum(missed.high.round()))
            " (95% interval). Estimated from " (counted(found.random_checks.items, "random check")) ", " (count(found.random_checks.decided)) " of them reviewed."
        }
    })
}

/// The best waiting items, and how much each evaluator contributes to their value. Folded once two
/// top-ranked items have a verdict.
pub(super) fn top(view: &QueuePage<'_>) -> PanelBody {
    let (best, names) = (&view.snapshot.best, view.snapshot.names());
    let Some(first) = best.first() else {
        if view.snapshot.inflow.is_none() {
            return PanelBody::Open(overview::example_request(view.address, view.queue, &names));
        }
        return PanelBody::Later(
            html! { "Nothing waits. New items are listed here in the order in which reviewers get them." },
        );
    };
    let words = view.snapshot.wording();
    let values = aligned(best.iter().map(|of| of.item.value));
    let shares = |of: &ExplainedItem| -> Vec<(usize, f64)> {
        of.contributions.iter().flat_map(|sum| sum.each.iter().copied().enumerate()).collect()
    };
    let largest = best
        .iter()
        .map(|of| contribution_bar::reach(shares(of).into_iter().map(|(_, share)| share)))
        .fold(0.0, f64::max);
    let table = html! {
        div class="scroll" tabindex="0" role="region" aria-label="Table of the next in line" {
            table {
                thead { tr { th { span class="unseen" { "place" } } th class="name" { "item" } th class="why" { "why" } th class="value" { "value" } th { "predicted" } } }
                tbody {
                    @for (place, of) in best.iter().enumerate() {
                        tr {
                            td { (place + 1) }
                            td class="name" { (activity::item(view.queue, &of.item.id)) }
                            td class="bar" { @if of.contributions.is_some() { (contribution_bar::bar(&shares(of), &names, largest, 180.0)) } @else { "–" } }
                            td class="value" { (values[place]) }
                            td { @match of.predicted { Some(predicted) => (words.prediction(predicted)), None => "–" } }
                        }
                    }
                }
            }
        }
        p class="small" { b { "Why" } ": contributions of evaluators to the item's value, to the right if positive, to the left if negative. Point at a bar for its evaluator. " b { "Value" } ": items are ranked by it. " b { "Predicted" } ": the verdict that the jury expects"
            @if best.iter().all(|of| of.predicted.is_none()) { ". It starts after two verdicts" }
            "." }
    };
    if view.snapshot.picked().len() < 2 {
        return PanelBody::Open(table);
    }
    let fact =
        html! { b { (first.item.id) } " is first of " (count(view.snapshot.counts.pending)) " waiting" };
    PanelBody::Folded(fact, table)
}

/// The latest entries of the activity log, without routine ones, and links to the whole log and to
/// exports.
pub(super) fn feed(view: &QueuePage<'_>) -> PanelBody {
    let body = html! {
        (activity::noticed(view.queue, &view.snapshot.changes[..view.snapshot.changes.len().min(CHANGES)], view.snapshot.now))
        (activity::list(view.queue, &view.snapshot.config, &view.snapshot.activity, view.snapshot.now, true))
        p class="ways-on small" {
            a href={ "/q/" (view.queue) "/activity" } { "Whole activity log" }
            span {
                "Export items and verdicts: "
                @for (at, (format, name)) in [("csv", "CSV"), ("jsonl", "JSON lines"), ("parquet", "Parquet")].into_iter().enumerate() {
                    @if at > 0 { ", " } a href={ "/q/" (view.queue) "/export?format=" (format) } download { (name) }
                }
            }
        }
    };
    let fact = html! { @if let Some(last) = view.snapshot.activity.first() { (activity::last(last, view.snapshot.now)) } };
    PanelBody::Folded(fact, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights of scores from 0 to 1 and of scores from 0 to 1000 are not comparable; influence is.
    #[test]
    fn influence_does_not_depend_on_units() {
        let of = |weight: f64, spread: f64, muted: bool| EvaluatorSummary {
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

//! The drawings of a queue.

use super::super::error_correlation::ENOUGH;
use super::super::snapshot::{TimeBins, SECOND, quantile, reliability as groups};
use super::super::format::{moment, span, stretch};
use super::super::overview::{CHANCE, against, others};
use super::{PanelBody, QueuePage};
use jurybox_draw::{Colour, Curve, Frame, HeatMap, Plot, Scale};
use jurybox_server::{Evaluated, Trusted};
use maud::{Markup, PreEscaped, html};

/// Points of a curve: more cannot be told apart; and of all lines of trust together.
const POINTS: usize = 120;
const MOMENTS: usize = 200;
/// Evaluators of whom it is drawn what they added, what their scores are worth, and with whom they err: a page is not to grow with a queue.
const TRUSTED: usize = 10;
const DRAWN: usize = 6;
const DRAWN_OF_MANY: usize = 4;
const MAPPED: usize = 12;

/// Two of these, one above the other, are in sight at once.
const FRAME: Frame = Frame::from_zero(900.0, 236.0, 150.0);
/// Of what is opened across the page.
const ACROSS: Frame = Frame::from_zero(1340.0, 220.0, 150.0);

fn plot(x_label: &str, y_label: &str, curves: Vec<Curve>) -> Plot {
    let (x_label, y_label) = (x_label.into(), y_label.into());
    Plot { title: String::new(), x_label, y_label, x_scale: Scale::Linear, y_scale: Scale::Linear, curves }
}

/// A plot that a crosshair goes over: `clock` tells when it was at a place of its horizontal axis, in microseconds.
pub(in crate::pages) fn drawn(plot: &Plot, frame: &Frame, clock: impl Fn(f64) -> Option<i64>) -> Markup {
    let clock = |x: f64| clock(x).map(|micros| micros / 1000);
    html! { div class="plot" data-live { (PreEscaped(plot.live(frame, clock))) } }
}

/// Nothing was in the time that is shown, though there was before or after.
fn nothing(view: &QueuePage<'_>) -> PanelBody {
    PanelBody::Later(
        html! { "Nothing in the time that is shown. " a href={ "/q/" (view.queue) } { "Show all of it" } },
    )
}

/// What was caught, by items picked, against what the plain mean and chance would have.
pub(super) fn caught(view: &QueuePage<'_>) -> PanelBody {
    let seen = view.seen;
    let all = seen.picked();
    let picked: Vec<(i64, f64)> = all.iter().copied().filter(|(at, _)| view.window.holds(*at)).collect();
    if all.len() < 2 {
        return PanelBody::Later(
            html! { "A curve from the second pick that was judged: what was caught, against the plain mean and chance." },
        );
    }
    if picked.len() < 2 {
        return nothing(view);
    }
    // Of all, those that are too long ago to be looked at one by one are where it begins; a stretch of time begins with nothing.
    let found = seen.found.picked;
    let before = if view.window.is_all() { found.items.saturating_sub(picked.len() as u64) } else { 0 };
    let first = before as f64;
    let mut sum =
        if before > 0 { found.sum - picked.iter().map(|(_, worth)| worth).sum::<f64>() } else { 0.0 };
    let step = picked.len().div_ceil(POINTS);
    let mut ours = vec![(first, sum)];
    for (at, (_, worth)) in picked.iter().enumerate() {
        sum += worth;
        if (at + 1) % step == 0 || at + 1 == picked.len() {
            ours.push((first + at as f64 + 1.0, sum));
        }
    }
    let places: Vec<f64> = ours.iter().map(|(x, _)| *x).collect();
    let line = |each: f64| places.iter().map(|x| (*x, x * each)).collect();
    // Evaluators have their colours; this is none of them.
    let mut curves = vec![Curve::new("caught", ours).in_colour(Colour::Ink)];
    for (name, mean) in others(seen) {
        let mut curve = Curve::new(name, line(mean.mean));
        curve.band = places.iter().map(|x| (*x, x * mean.low, x * mean.high)).collect();
        curve.reference = name == CHANCE;
        curves.push(curve.in_colour(Colour::Muted));
    }
    // The place before the first pick is when that was made.
    let when = |x: f64| picked.get(((x - first) as usize).saturating_sub(1)).map(|(at, _)| *at);
    PanelBody::Open(html! {
        (drawn(&plot("items picked", "caught", curves), &FRAME, when))
        (against(seen))
    })
}

/// What each evaluator added, while the server ran and at its checkpoints: its weight times how much its scores varied then, so that they can be
/// compared. Where there are many, those that add most now.
pub(super) fn trust(view: &QueuePage<'_>) -> PanelBody {
    let (seen, names, window) = (view.seen, view.seen.names(), view.window);
    if seen.trust.len() < 2 {
        return PanelBody::Later(html! { "What each evaluator adds, a line each, from the second model on." });
    }
    let within: Vec<&Trusted> = seen.trust.iter().filter(|was| window.holds(was.at)).collect();
    let [first, _, ..] = within[..] else { return nothing(view) };
    let (unit, x_label) = window.unit(window.to - first.at);
    let loudest = loudest(&seen.evaluated, TRUSTED);
    // Every so manieth moment, the last one among them.
    let step = within.len().div_ceil(MOMENTS / loudest.len().max(1));
    let moments = || within.iter().rev().step_by(step).rev();
    let curves: Vec<Curve> = loudest
        .iter()
        .filter_map(|style| Some((*style, names.get(*style)?)))
        .map(|(style, name)| {
            let pull = |pulls: &[(String, f64)]| {
                pulls.iter().find(|(other, _)| other == name).map_or(f64::NAN, |(_, pull)| *pull)
            };
            let points = moments().map(|was| ((was.at - window.to) as f64 / unit, pull(&was.pulls)));
            Curve { style: Some(style), ..Curve::new(name, points.collect()) }
        })
        .collect();
    let when = |x: f64| Some(window.to + (x * unit) as i64);
    PanelBody::Open(html! {
        (drawn(&plot(&x_label, "weight × spread then", curves), &FRAME, when))
        @if names.len() > loudest.len() { p class="small" { "The " (loudest.len()) " of " (names.len()) " evaluators that add most now." } }
    })
}

/// The places of those who add most, so many at the most, in their own order.
pub(super) fn loudest(all: &[Evaluated], most: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..all.len()).collect();
    let pull = |at: usize| all[at].pull().unwrap_or(0.0).abs();
    places.sort_by(|a, b| pull(*b).total_cmp(&pull(*a)));
    places.truncate(most);
    places.sort_unstable();
    places
}

/// How long people took over an item, from when it was on top.
pub(super) fn delay(view: &QueuePage<'_>) -> PanelBody {
    let (seen, window) = (view.seen, view.window);
    let delays: Vec<(i64, f64)> = seen.delays().into_iter().filter(|(at, _)| window.holds(*at)).collect();
    let took = |all: &[f64], share: f64| quantile(&mut all.to_vec(), share);
    let all: Vec<f64> = delays.iter().map(|(_, took)| *took).collect();
    let (Some(half), Some(most)) = (took(&all, 0.5), took(&all, 0.9)) else {
        return PanelBody::Later(html! { "The middle one and the slow ones, over time, once there are some." });
    };
    let fact = html! { "half within " b { (span(half)) } ", 9 of 10 within " (span(most)) };
    let (since, now) = (seen.whole_since().max(window.from), window.to.min(seen.now));
    let bins = TimeBins::of(delays, since, now, 24);
    let (places, _) = bins.places(now);
    let (unit, x_label) = window.unit(bins.each.first().map_or(0, |(at, _)| now - at));
    let curve = |name: &str, share: f64| {
        let value = |all: &[f64]| took(all, share).unwrap_or(f64::NAN);
        Curve::new(name, places.iter().zip(&bins.each).map(|(x, (_, all))| (*x, value(all))).collect())
    };
    let label = format!("seconds, in {}", stretch(bins.length));
    let curves =
        vec![curve("half", 0.5).in_colour(Colour::Ink), curve("9 of 10", 0.9).in_colour(Colour::Muted)];
    let when = |x: f64| Some(now + (x * unit) as i64);
    let body = html! {
        @if bins.filled() < 2 {
            p class="small" { "All of them came within " (span((bins.length / SECOND) as f64)) ": a line will be drawn from two such stretches on." }
        } @else { (drawn(&plot(&x_label, &label, curves), &ACROSS, when)) }
        p class="small" { "From when an item was claimed, or its reviewer was done with the one before, whichever is later." }
    };
    PanelBody::Folded(fact, body)
}

/// The map of error correlations, alike ones side by side.
pub(super) fn errors(view: &QueuePage<'_>) -> PanelBody {
    let names = view.seen.names();
    let Some(alike) = view.seen.alike.as_ref().filter(|alike| alike.correlations.len() == names.len()) else {
        return PanelBody::Later(
            html! { "After " (ENOUGH) " verdicts on items that were drawn on arrival (audit_rate): which evaluators are wrong together, and how many independent ones they come to." },
        );
    };
    let map = HeatMap::new(&names, |i, j| alike.correlations[i][j]).strongest(MAPPED).ordered();
    let worth = alike.worth.map(|worth| {
        html! { "as much as " b { (format!("{:.1}", worth.mean)) } " (" (format!("{:.1} to {:.1}", worth.low, worth.high)) ") independent evaluators: the " (alike.telling.len()) " of " (names.len()) " that go with verdicts" }
    });
    let body = html! {
        div class="scroll" tabindex="0" role="region" aria-label="Map of error correlations" { (PreEscaped(map.to_table())) }
        p class="small" {
            "Correlations of errors among the last " (alike.items) " decided items of those that were drawn on arrival, whatever their scores. What was not drawn and picked for its scores is left out: there, evaluators that agree look less alike than they are. Up to ±"
            (format!("{:.2}", alike.by_chance())) " is chance in 19 of 20 pairs. How many independent evaluators they come to is said of those alone whose scores go with verdicts beyond chance: noise is independent, and of no use."
            @if names.len() > MAPPED { " The " (MAPPED) " of " (names.len()) " that are most like another." }
        }
    };
    PanelBody::Folded(worth.unwrap_or_else(|| html! { "among " (alike.items) " items" }), body)
}

/// What items with such a score were found to be worth.
pub(super) fn reliability(view: &QueuePage<'_>) -> PanelBody {
    let (lessons, names) = (view.seen.lessons(false), view.seen.names());
    if lessons.len() < ENOUGH {
        return PanelBody::Later(
            html! { "After " (ENOUGH) " verdicts: what items with such a score were found to be worth. A good evaluator's line climbs." },
        );
    }
    let drawn = if names.len() > DRAWN { DRAWN_OF_MANY } else { DRAWN };
    let loudest = loudest(&view.seen.evaluated, drawn);
    let body = html! {
        div class="grid" {
            @for (j, name) in names.iter().enumerate().filter(|(j, _)| loudest.contains(j)) {
                @let points = groups(&lessons, j, 6, view.seen.scale());
                @if points.is_empty() && view.seen.changed(j).is_some() {
                    figure { h3 { (name) } p class="small" { "It has changed, and fewer than " (ENOUGH) " items were judged that it has scored since." } }
                } @else if !points.is_empty() {
                    @let band = points.iter().map(|(x, y)| (*x, y.low, y.high)).collect();
                    @let curve = Curve { style: Some(j), band, ..Curve::new(name, points.iter().map(|(x, y)| (*x, y.mean)).collect()) };
                    figure { h3 { (name) @if let Some(changed) = view.seen.changed(j) { ", since it changed (" (moment(changed, view.seen.now)) ")" } } (PreEscaped(plot("score", "worth", vec![curve]).drawn(&Frame::tight(280.0, 180.0, 0.0)))) }
                }
            }
        }
        p class="small" { "Of items that were looked at, most of them because the evaluators together said so; scores that mean the opposite are turned round. Bars: 95%." @if names.len() > loudest.len() { " The " (loudest.len()) " of " (names.len()) " evaluators that add most now." } }
    };
    PanelBody::Folded(html! { "by " b { (lessons.len()) } " items that were judged" }, body)
}

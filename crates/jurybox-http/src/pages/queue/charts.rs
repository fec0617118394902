//! The drawings of a queue.

use super::super::alike::ENOUGH;
use super::super::figures::{Bins, quantile, reliability as groups, unit};
use super::super::format::{between, moment, stretch};
use super::super::overview::{CHANCE, against, others};
use super::View;
use jurybox::Interval;
use jurybox_draw::{Colour, Curve, Frame, HeatMap, Plot, Scale};
use jurybox_server::Evaluated;
use maud::{Markup, PreEscaped, html};

/// Points of a curve: more cannot be told apart; and of all lines of trust together.
const POINTS: usize = 120;
const MOMENTS: usize = 300;
/// Evaluators of whom it is drawn what they added, what their scores are worth, and with whom they err: a page is not to grow with a queue.
const TRUSTED: usize = 10;
const DRAWN: usize = 6;
const MAPPED: usize = 12;

const FRAME: Frame = Frame::from_zero(900.0, 300.0, 150.0);

fn plot(x_label: &str, y_label: &str, curves: Vec<Curve>) -> Plot {
    let (x_label, y_label) = (x_label.into(), y_label.into());
    Plot { title: String::new(), x_label, y_label, x_scale: Scale::Linear, y_scale: Scale::Linear, curves }
}

fn drawn(plot: &Plot, frame: &Frame) -> Markup {
    html! { div class="plot" { (PreEscaped(plot.in_both(frame))) } }
}

/// What was caught, by items picked, against what the plain mean and chance would have.
pub(super) fn caught(view: &View<'_>) -> Markup {
    let seen = view.seen;
    let worths: Vec<f64> = seen.picked().into_iter().map(|(_, worth)| worth).collect();
    if worths.len() < 2 {
        return html! { p class="small" { "A curve begins with the second pick that was judged: what was caught, by items picked." } };
    }
    // Those that are too long ago to be looked at one by one are where it begins.
    let all = seen.found.picked;
    let before = all.items.saturating_sub(worths.len() as u64);
    let first = before as f64;
    let mut sum = if before > 0 { all.sum - worths.iter().sum::<f64>() } else { 0.0 };
    let step = worths.len().div_ceil(POINTS);
    let mut ours = vec![(first, sum)];
    for (at, worth) in worths.iter().enumerate() {
        sum += worth;
        if (at + 1) % step == 0 || at + 1 == worths.len() {
            ours.push((first + at as f64 + 1.0, sum));
        }
    }
    let last = first + worths.len() as f64;
    // Evaluators have their colours; this is none of them.
    let mut curves = vec![Curve::new("caught", ours).in_colour(Colour::Ink)];
    let early = seen.first_and_last();
    if let Some((_, early, _)) = early.filter(|(_, early, late)| differ(early, late)) {
        curves.push(Curve::new("as at first", vec![(first, 0.0), (last, last * early.mean)]).as_reference());
    }
    for (name, mean) in others(seen) {
        let ends = [first, last];
        let mut curve = Curve::new(name, ends.iter().map(|x| (*x, x * mean.mean)).collect());
        curve.band = ends.iter().map(|x| (*x, x * mean.low, x * mean.high)).collect();
        curve.reference = name == CHANCE;
        curves.push(curve.in_colour(Colour::Muted));
    }
    html! {
        @if let Some((many, early, late)) = early {
            p {
                "The first " (many) " picks were worth " b { (between(early)) } ", the last " (many) " " b { (between(late)) }
                @if differ(&early, &late) { "." } @else { ": no further apart than chance puts them." }
            }
        }
        (drawn(&plot("items picked", "caught", curves), &FRAME))
        (against(seen))
    }
}

/// Whether two means of different items are further apart than chance puts them in 19 of 20 cases. Their intervals of 95% may overlap by then: the ends
/// of the difference are as far from it as both that face each other are from their means, by Pythagoras (Zou and Donner).
fn differ(one: &Interval, other: &Interval) -> bool {
    let (lower, higher) = if one.mean <= other.mean { (one, other) } else { (other, one) };
    higher.mean - lower.mean > (lower.high - lower.mean).hypot(higher.mean - higher.low)
}

/// What each evaluator added, while the server ran and at its checkpoints: its weight times how much its scores varied then, so that they can be
/// compared. Where there are many, those that add most now.
pub(super) fn trust(view: &View<'_>) -> Markup {
    let (seen, names) = (view.seen, view.seen.names());
    if seen.trust.len() < 2 {
        return html! { p class="small" { "One line an evaluator, from the second model on: how much a score that is one standard deviation higher adds." } };
    }
    let since = seen.trust.first().map_or(0, |first| seen.now - first.at);
    let (unit, x_label) = unit(since);
    let loudest = loudest(&seen.evaluated, TRUSTED);
    // Every so manieth moment, the last one among them.
    let step = seen.trust.len().div_ceil(MOMENTS / loudest.len().max(1));
    let moments = || seen.trust.iter().rev().step_by(step).rev();
    let curves: Vec<Curve> = loudest
        .iter()
        .filter_map(|style| Some((*style, names.get(*style)?)))
        .map(|(style, name)| {
            let pull = |pulls: &[(String, f64)]| {
                pulls.iter().find(|(other, _)| other == name).map_or(f64::NAN, |(_, pull)| *pull)
            };
            let points = moments().map(|was| ((was.at - seen.now) as f64 / unit, pull(&was.pulls)));
            Curve { style: Some(style), ..Curve::new(name, points.collect()) }
        })
        .collect();
    html! {
        (drawn(&plot(x_label, "weight × spread then", curves), &FRAME))
        @if names.len() > loudest.len() { p class="small" { "The " (loudest.len()) " of " (names.len()) " evaluators that add most now." } }
    }
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
pub(super) fn delay(view: &View<'_>) -> Markup {
    let delays = view.seen.delays();
    let bins = Bins::of(delays, view.seen.whole_since(), view.seen.now, 24);
    if bins.filled() < 2 {
        return html! { p class="small" { "Half of all verdicts come sooner than the one line, nine of ten sooner than the other: once there are some." } };
    }
    let (places, x_label) = bins.places(view.seen.now);
    let curve = |name: &str, share: f64| {
        let took = |all: &[f64]| quantile(&mut all.to_vec(), share).unwrap_or(f64::NAN);
        Curve::new(name, places.iter().zip(&bins.each).map(|(x, (_, all))| (*x, took(all))).collect())
    };
    let label = format!("seconds, in {}", stretch(bins.length));
    let frame = Frame::from_zero(900.0, 200.0, 150.0);
    html! {
        (drawn(&plot(x_label, &label, vec![curve("half", 0.5).in_colour(Colour::Ink), curve("9 of 10", 0.9).in_colour(Colour::Muted)]), &frame))
        p class="small" { "From when an item was claimed, or its reviewer was done with the one before, whichever is later." }
    }
}

/// The map of error correlations, alike ones side by side.
pub(super) fn errors(view: &View<'_>) -> Markup {
    let names = view.seen.names();
    let Some(alike) = view.seen.alike.as_ref().filter(|alike| alike.correlations.len() == names.len()) else {
        return html! { p class="small" { "After " (ENOUGH) " verdicts on items that were drawn on arrival (audit_rate): which evaluators are wrong together, and how many independent ones they are worth." } };
    };
    let map = HeatMap::new(&names, |i, j| alike.correlations[i][j]).strongest(MAPPED).ordered();
    html! {
        @if let Some(worth) = alike.worth {
            p { "Worth " b { (format!("{:.1}", worth.mean)) } " independent evaluators of " (names.len()) ": " (format!("{:.1} to {:.1}", worth.low, worth.high)) " (95%)." }
        }
        div class="scroll" tabindex="0" role="region" aria-label="Map of error correlations" { (PreEscaped(map.to_table())) }
        p class="small" {
            "Correlations of errors among the last " (alike.items) " decided items of those that were drawn on arrival, whatever their scores. What was not drawn and picked for its scores is left out: there, evaluators that agree look less alike than they are. Up to ±"
            (format!("{:.2}", alike.by_chance())) " is chance in 19 of 20 pairs. Independence is not knowledge."
            @if names.len() > MAPPED { " The " (MAPPED) " of " (names.len()) " that are most like another." }
        }
    }
}

/// What items with such a score were found to be worth.
pub(super) fn reliability(view: &View<'_>) -> Markup {
    let (lessons, names) = (view.seen.lessons(false), view.seen.names());
    if lessons.len() < ENOUGH {
        return html! { p class="small" { "After " (ENOUGH) " verdicts: what items with such a score were found to be worth. A good evaluator's line climbs." } };
    }
    let loudest = loudest(&view.seen.evaluated, DRAWN);
    html! {
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
    }
}

#[cfg(test)]
mod tests {
    use super::differ;
    use crate::pages::figures::wilson;

    /// By the test of two proportions: z is 2.6 with 22 and 35 of 50, and 1.0 with 35 and 30; the intervals of the first two overlap.
    #[test]
    fn means_differ_where_chance_does_not_put_them_so_far_apart() {
        let (first, last, later) = (wilson(0.44, 50.0), wilson(0.7, 50.0), wilson(0.6, 50.0));
        assert!(first.high > last.low && differ(&first, &last) && differ(&last, &first));
        assert!(!differ(&last, &later) && !differ(&later, &last) && !differ(&first, &first));
    }
}

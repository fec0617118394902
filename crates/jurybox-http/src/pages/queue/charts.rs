//! The charts of a queue's page.

use super::super::error_correlation::ENOUGH;
use super::super::format::{fixed, moment, span, stretch};
use super::super::overview::{RANDOM_ORDER, baselines, comparison};
use super::super::snapshot::{SECOND, TimeBins, quantile, reliability as groups};
use super::super::wording::Wording;
use super::{PanelBody, QueuePage};
use jurybox::Interval;
use jurybox_draw::{Colour, Curve, Frame, HeatMap, Plot, Scale};
use jurybox_server::{EvaluatorInfluence, EvaluatorSummary};
use maud::{Markup, PreEscaped, html};

/// About the most points of a curve.
const POINTS: usize = 120;
/// About the most points of all lines of influence together.
const MOMENTS: usize = 200;
/// The most evaluators in the chart of influence. Limits of this kind keep the size of a page
/// independent of the number of evaluators.
const TRUSTED: usize = 10;
/// The most evaluators with a chart of verdicts by score.
const DRAWN: usize = 6;
/// The evaluators with a chart of verdicts by score, if there are more than [`DRAWN`].
const DRAWN_OF_MANY: usize = 4;
/// The most evaluators in the map of error correlations.
const MAPPED: usize = 12;
/// How many of the first and of the last reviewed items are compared.
const ENDS: usize = 50;

/// The size of a chart in the left column.
const FRAME: Frame = Frame::from_zero(900.0, 236.0, 150.0);
/// The size of a chart in a panel that spans the page.
const ACROSS: Frame = Frame::from_zero(1340.0, 220.0, 150.0);

fn plot(x_label: &str, y_label: &str, curves: Vec<Curve>) -> Plot {
    let (x_label, y_label) = (x_label.into(), y_label.into());
    Plot { title: String::new(), x_label, y_label, x_scale: Scale::Linear, y_scale: Scale::Linear, curves }
}

/// A plot with a crosshair under the pointer. `clock` gives the time of a place on the horizontal
/// axis, in microseconds since 1970.
pub(in crate::pages) fn drawn(plot: &Plot, frame: &Frame, clock: impl Fn(f64) -> Option<i64>) -> Markup {
    let clock = |x: f64| clock(x).map(|micros| micros / 1000);
    html! { div class="plot" data-live { (PreEscaped(plot.live(frame, clock))) } }
}

/// The panel's text if the chosen time range has no data, but other times have.
fn nothing(view: &QueuePage<'_>) -> PanelBody {
    PanelBody::Later(
        html! { "Nothing happened in this time range. " a href={ "/q/" (view.queue) } { "Show all time" } },
    )
}

/// A chart of the sum of rewards by the number of items reviewed, with the baselines.
pub(super) fn found(view: &QueuePage<'_>) -> PanelBody {
    let snapshot = view.snapshot;
    let all = snapshot.picked();
    let words = snapshot.wording();
    let picked: Vec<(i64, f64)> = all.iter().copied().filter(|(at, _)| view.window.holds(*at)).collect();
    if all.len() < 2 {
        return PanelBody::Later(
            html! { "A chart starts here with the second verdict on a top-ranked item." },
        );
    }
    if picked.len() < 2 {
        return nothing(view);
    }
    // The chart of all time begins with the sum of the items that are too old to be read one by
    // one.
    let found = snapshot.report.picked;
    let before = if view.window.is_all() { found.items.saturating_sub(picked.len() as u64) } else { 0 };
    let first = before as f64;
    let mut sum =
        if before > 0 { found.sum - picked.iter().map(|(_, reward)| reward).sum::<f64>() } else { 0.0 };
    let step = picked.len().div_ceil(POINTS);
    let mut ours = vec![(first, sum)];
    for (at, (_, reward)) in picked.iter().enumerate() {
        sum += reward;
        if (at + 1) % step == 0 || at + 1 == picked.len() {
            ours.push((first + at as f64 + 1.0, sum));
        }
    }
    let places: Vec<f64> = ours.iter().map(|(x, _)| *x).collect();
    let line = |each: f64| places.iter().map(|x| (*x, x * each)).collect();
    // The coloured lines of other charts are evaluators, so this line has the colour of text.
    let mut curves = vec![Curve::new(&words.found(), ours).in_colour(Colour::Ink)];
    for (name, mean) in baselines(snapshot) {
        let mut curve = Curve::new(name, line(mean.mean));
        curve.band = places.iter().map(|x| (*x, x * mean.low, x * mean.high)).collect();
        curve.reference = name == RANDOM_ORDER;
        curves.push(curve.in_colour(Colour::Muted));
    }
    let trend = first_and_last(&all, &words).filter(|_| snapshot.looked_since().is_none());
    // The first point has the time of the first item.
    let when = |x: f64| picked.get(((x - first) as usize).saturating_sub(1)).map(|(at, _)| *at);
    PanelBody::Open(html! {
        (drawn(&plot("items reviewed", &words.found(), curves), &FRAME, when))
        (comparison(snapshot, trend.as_deref()))
    })
}

/// A sentence that compares the first and the last [`ENDS`] items reviewed. None with fewer than
/// twice [`ENDS`] items.
fn first_and_last(all: &[(i64, f64)], words: &Wording) -> Option<String> {
    if all.len() < 2 * ENDS {
        return None;
    }
    let mean = |part: &[(i64, f64)]| part.iter().map(|(_, reward)| reward).sum::<f64>() / ENDS as f64;
    let (first, last) = (mean(&all[..ENDS]), mean(&all[all.len() - ENDS..]));
    let text = |value: f64| words.mean(Interval { mean: value, low: f64::NAN, high: f64::NAN });
    let verdict = if first > 0.0 && (0.0..=first / 4.0).contains(&last) {
        ": the backlog is nearly cleared"
    } else {
        ""
    };
    let average = words.were(&format!("{} of the first {ENDS} reviewed", text(first)));
    Some(format!("{average}, {} of the last {ENDS}{verdict}.", text(last)))
}

/// A chart of the influence of evaluators over time: weight times the spread of scores at that
/// time, which does not depend on the scores' unit. Of many evaluators, those with most influence
/// now.
pub(super) fn trust(view: &QueuePage<'_>) -> PanelBody {
    let (snapshot, names, window) = (view.snapshot, view.snapshot.names(), view.window);
    if snapshot.influence.len() < 2 {
        return PanelBody::Later(
            html! { "A line for each evaluator starts here when the jury has learnt for the second time." },
        );
    }
    let within: Vec<&EvaluatorInfluence> =
        snapshot.influence.iter().filter(|was| window.holds(was.at)).collect();
    let [first, _, ..] = within[..] else { return nothing(view) };
    let (unit, x_label) = window.unit(window.to - first.at);
    let most_influential = most_influential(&snapshot.evaluators, TRUSTED);
    // Evenly spaced moments, with the last one among them.
    let step = within.len().div_ceil(MOMENTS / most_influential.len().max(1));
    let moments = || within.iter().rev().step_by(step).rev();
    let curves: Vec<Curve> = most_influential
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
        (drawn(&plot(&x_label, "influence (weight × spread of scores)", curves), &FRAME, when))
        @if names.len() > most_influential.len() { p class="small" { "The " (most_influential.len()) " of " (names.len()) " evaluators with most influence now." } }
    })
}

/// The positions of the evaluators with most influence, at most `most`, in column order.
pub(super) fn most_influential(all: &[EvaluatorSummary], most: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..all.len()).collect();
    let pull = |at: usize| all[at].pull().unwrap_or(0.0).abs();
    places.sort_by(|a, b| pull(*b).total_cmp(&pull(*a)));
    places.truncate(most);
    places.sort_unstable();
    places
}

/// A chart of how long verdicts took: over time, the median and the 90% quantile.
pub(super) fn delay(view: &QueuePage<'_>) -> PanelBody {
    let (snapshot, window) = (view.snapshot, view.window);
    let delays: Vec<(i64, f64)> = snapshot.delays().into_iter().filter(|(at, _)| window.holds(*at)).collect();
    let took = |all: &[f64], share: f64| quantile(&mut all.to_vec(), share);
    let all: Vec<f64> = delays.iter().map(|(_, took)| *took).collect();
    let (Some(half), Some(most)) = (took(&all, 0.5), took(&all, 0.9)) else {
        return PanelBody::Later(
            html! { "Nothing yet. The median and the slowest tenth will be shown here over time." },
        );
    };
    let fact = html! { "half within " b { (span(half)) } ", 9 in 10 within " (span(most)) };
    let (since, now) = (snapshot.whole_since().max(window.from), window.to.min(snapshot.now));
    let bins = TimeBins::of(delays, since, now, 24);
    let (places, _) = bins.places(now);
    let (unit, x_label) = window.unit(bins.each.first().map_or(0, |(at, _)| now - at));
    let curve = |name: &str, share: f64| {
        let value = |all: &[f64]| took(all, share).unwrap_or(f64::NAN);
        Curve::new(name, places.iter().zip(&bins.each).map(|(x, (_, all))| (*x, value(all))).collect())
    };
    let label = format!("seconds, per {}", stretch(bins.length));
    let curves =
        vec![curve("half", 0.5).in_colour(Colour::Ink), curve("9 in 10", 0.9).in_colour(Colour::Muted)];
    let when = |x: f64| Some(now + (x * unit) as i64);
    let body = html! {
        @if bins.filled() < 2 {
            p class="small" { "All verdicts came within " (span((bins.length / SECOND) as f64)) ". A line starts when there are more." }
        } @else { (drawn(&plot(&x_label, &label, curves), &ACROSS, when)) }
        p class="small" { "Counted from the claim, or from the reviewer's previous verdict if that is later." }
    };
    PanelBody::Folded(fact, body)
}

/// A map of error correlations between evaluators, with similar evaluators side by side.
pub(super) fn errors(view: &QueuePage<'_>) -> PanelBody {
    let names = view.snapshot.names();
    let Some(errors) =
        view.snapshot.errors.as_ref().filter(|errors| errors.correlations.len() == names.len())
    else {
        return PanelBody::Later(
            html! { "After " (ENOUGH) " verdicts on random checks (set by " code { "random_check_rate" } ") this shows which evaluators make the same mistakes." },
        );
    };
    let map = HeatMap::new(&names, |i, j| errors.correlations[i][j]).strongest(MAPPED).ordered();
    let effective = errors.effective.map(|effective| {
        html! { "equivalent to " b { (fixed(effective.mean, 1)) } " (" (fixed(effective.low, 1)) " to " (fixed(effective.high, 1)) ") independent evaluators, from " (errors.telling.len()) " of " (names.len()) " that agree with verdicts" }
    });
    let body = html! {
        div class="scroll" tabindex="0" role="region" aria-label="Map of error correlations" { (PreEscaped(map.to_table())) }
        p class="small" {
            "Correlations between the errors of evaluators, in the last " (errors.items) " random checks with a verdict. Up to ±" (fixed(errors.by_chance(), 2)) " is chance in 19 of 20 pairs. Evaluators with the same errors count as fewer independent ones. Evaluators that do not agree with verdicts beyond chance are not counted."
            @if names.len() > MAPPED { " The " (MAPPED) " of " (names.len()) " that are most similar to another are shown." }
        }
    };
    PanelBody::Folded(effective.unwrap_or_else(|| html! { "in " (errors.items) " random checks" }), body)
}

/// The average verdict on items by each evaluator's score.
pub(super) fn reliability(view: &QueuePage<'_>) -> PanelBody {
    let (lessons, names) = (view.snapshot.lessons(false), view.snapshot.names());
    if lessons.len() < ENOUGH {
        return PanelBody::Later(
            html! { "After " (ENOUGH) " verdicts this shows the verdicts by each evaluator's score. A good evaluator's line climbs." },
        );
    }
    let drawn = if names.len() > DRAWN { DRAWN_OF_MANY } else { DRAWN };
    let most_influential = most_influential(&view.snapshot.evaluators, drawn);
    let average = view.snapshot.wording().average();
    let body = html! {
        div class="grid" {
            @for (j, name) in names.iter().enumerate().filter(|(j, _)| most_influential.contains(j)) {
                @let points = groups(&lessons, j, 6, view.snapshot.scale());
                @if points.is_empty() && view.snapshot.changed(j).is_some() {
                    figure { h3 { (name) } p class="small" { "It has changed. Since then, fewer than " (ENOUGH) " items with its score have a verdict." } }
                } @else if !points.is_empty() {
                    @let band = points.iter().map(|(x, y)| (*x, y.low, y.high)).collect();
                    @let curve = Curve { style: Some(j), band, ..Curve::new(name, points.iter().map(|(x, y)| (*x, y.mean)).collect()) };
                    figure { h3 { (name) @if let Some(changed) = view.snapshot.changed(j) { ", since it changed (" (moment(changed, view.snapshot.now)) ")" } } (PreEscaped(plot("score", &average, vec![curve]).drawn(&Frame::tight(280.0, 180.0, 0.0)))) }
                }
            }
        }
        p class="small" { "Of all reviewed items, most of which were ranked high. Scores for which low means " (average) " are reversed. Bars: 95% intervals." @if names.len() > most_influential.len() { " The " (most_influential.len()) " of " (names.len()) " evaluators with most influence now are shown." } }
    };
    PanelBody::Folded(html! { "from " b { (lessons.len()) } " reviewed items" }, body)
}

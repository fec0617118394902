//! The last day, week or month, against the one before.

use super::super::figures::{DAY, SECOND, Seen, mean_within, quantile};
use super::super::format::{amount, between, count, span, stretch};
use super::View;
use jurybox_draw::{Colour, Curve, Frame, Plot, Scale};
use maud::{Markup, PreEscaped, html};
use serde::Deserialize;

/// How far back is looked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::pages) enum Range {
    #[default]
    Day,
    Week,
    Month,
}

impl Range {
    const ALL: [Range; 3] = [Range::Day, Range::Week, Range::Month];

    fn name(self) -> &'static str {
        match self {
            Range::Day => "day",
            Range::Week => "week",
            Range::Month => "month",
        }
    }

    /// How long it is, and how many stretches it is drawn in.
    fn length(self) -> (i64, i64) {
        match self {
            Range::Day => (DAY, 24),
            Range::Week => (7 * DAY, 28),
            Range::Month => (30 * DAY, 30),
        }
    }
}

/// What was done between two times.
#[derive(Debug, PartialEq)]
struct Done {
    verdicts: u64,
    reviewers: usize,
    skips: u64,
    /// What each item was worth that was picked and decided.
    worths: Vec<f64>,
    /// Seconds that a verdict took, in the middle.
    delay: Option<f64>,
}

fn done(seen: &Seen, from: i64, to: i64) -> Done {
    let within = |at: i64| (from..to).contains(&at);
    let people: Vec<&str> =
        seen.by_people().filter(|work| within(work.at)).map(|work| work.reviewer.as_str()).collect();
    let mut delays: Vec<f64> =
        seen.delays().into_iter().filter(|(at, _)| within(*at)).map(|(_, took)| took).collect();
    Done {
        verdicts: people.len() as u64,
        reviewers: people.iter().collect::<std::collections::HashSet<_>>().len(),
        skips: seen.skipped.iter().filter(|skip| within(skip.at)).count() as u64,
        worths: seen.picked().into_iter().filter(|(at, _)| within(*at)).map(|(_, worth)| worth).collect(),
        delay: quantile(&mut delays, 0.5),
    }
}

pub(super) fn panel(view: &View<'_>) -> Markup {
    let (seen, range) = (view.seen, view.range);
    let (length, parts) = range.length();
    // The present moment is within.
    let (end, begin) = (seen.now + 1, seen.now + 1 - length);
    let (now, before) = (done(seen, begin, end), done(seen, begin - length, begin));
    html! {
        nav class="ranges" aria-label="How far back" {
            @for other in Range::ALL {
                a href={ "?range=" (other.name()) "#compare" } aria-current=[(other == range).then_some("true")] { (other.name()) }
            }
        }
        @if now.verdicts + before.verdicts == 0 {
            p class="small" { "Nobody has given a verdict in these two: what was caught in one will stand beside the other." }
        } @else {
            // Of a queue that has just begun there is nothing to be seen but that.
            @if seen.now - seen.whole_since() > 3 * (length / parts) { (chart(seen, range, (begin, length / parts, parts))) }
            (table(range, &now, &before, seen.scale()))
            @if let Some(since) = seen.looked_since().filter(|since| *since > begin - length) {
                p class="small" { "Only the last " (count(seen.worked.len() as u64)) " verdicts are looked at: they go back " (span((seen.now - since) as f64 / SECOND as f64)) "." }
            }
        }
    }
}

fn table(range: Range, now: &Done, before: &Done, scale: (f64, f64)) -> Markup {
    let caught = |done: &Done| amount(done.worths.iter().sum());
    let each = |done: &Done| {
        if done.worths.len() < 2 { "–".into() } else { between(mean_within(&done.worths, scale)) }
    };
    let delay = |done: &Done| done.delay.map_or("–".into(), span);
    let rows: [(&str, String, String); 6] = [
        ("caught among picks", caught(now), caught(before)),
        ("each of them was worth", each(now), each(before)),
        ("verdicts", count(now.verdicts), count(before.verdicts)),
        ("reviewers", count(now.reviewers as u64), count(before.reviewers as u64)),
        ("a verdict takes", delay(now), delay(before)),
        ("skips", count(now.skips), count(before.skips)),
    ];
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="Table of both" {
            table {
                thead { tr { th { span class="unseen" { "what" } } th { "last " (range.name()) } th { "before" } } }
                tbody { @for (what, now, before) in rows { tr { td class="name" { (what) } td { (now) } td class="muted" { (before) } } } }
            }
        }
    }
}

/// What was caught in each stretch, and in the same stretch of the time before.
fn chart(seen: &Seen, range: Range, (begin, step, parts): (i64, i64, i64)) -> Markup {
    let picked = seen.picked();
    let (unit, x_label) = super::super::figures::unit(step * parts);
    let sums = |from: i64| -> Vec<(f64, f64)> {
        let sum = |at: i64| -> f64 {
            let within = from + at * step..from + (at + 1) * step;
            picked.iter().filter(|(at, _)| within.contains(at)).map(|(_, worth)| worth).sum()
        };
        let place = |at: i64| ((at + 1) * step - parts * step) as f64 / unit;
        (0..parts).map(|at| (place(at), sum(at))).collect()
    };
    let curves = vec![
        Curve::new(&format!("last {}", range.name()), sums(begin)).in_colour(Colour::Ink),
        Curve::new("before", sums(begin - step * parts)).as_reference(),
    ];
    let plot = Plot {
        title: String::new(),
        x_label: x_label.into(),
        y_label: format!("caught in {}", stretch(step)),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        curves,
    };
    html! { div class="plot" { (PreEscaped(plot.in_both(&Frame::from_zero(640.0, 200.0, 110.0)))) } }
}

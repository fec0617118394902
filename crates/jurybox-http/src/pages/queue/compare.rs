//! The panel that compares the chosen time range with the period before it.

use super::super::format::{count, span, stretch};
use super::super::snapshot::{QueueSnapshot, SECOND, mean_within, quantile};
use super::super::wording::Wording;
use super::charts::drawn;
use super::time_range::TimeRange;
use super::{PanelBody, QueuePage};
use jurybox_draw::{Colour, Curve, Frame, Plot, Scale};
use maud::{Markup, html};

/// The work done between two times.
#[derive(Debug, PartialEq)]
struct PeriodActivity {
    verdicts: u64,
    reviewers: usize,
    skips: u64,
    /// The rewards of the top-ranked items that were reviewed.
    rewards: Vec<f64>,
    /// The median number of seconds that a verdict took.
    delay: Option<f64>,
}

fn done(snapshot: &QueueSnapshot, from: i64, to: i64) -> PeriodActivity {
    let within = |at: i64| (from..to).contains(&at);
    let people: Vec<&str> =
        snapshot.by_people().filter(|work| within(work.at)).map(|work| work.reviewer.as_str()).collect();
    let mut delays: Vec<f64> =
        snapshot.delays().into_iter().filter(|(at, _)| within(*at)).map(|(_, took)| took).collect();
    PeriodActivity {
        verdicts: people.len() as u64,
        reviewers: people.iter().collect::<std::collections::HashSet<_>>().len(),
        skips: snapshot.skips.iter().filter(|skip| within(skip.at)).count() as u64,
        rewards: snapshot
            .picked()
            .into_iter()
            .filter(|(at, _)| within(*at))
            .map(|(_, reward)| reward)
            .collect(),
        delay: quantile(&mut delays, 0.5),
    }
}

pub(super) fn panel(view: &QueuePage<'_>) -> PanelBody {
    let snapshot = view.snapshot;
    let (window, parts, name) = view.window.compared();
    let length = window.to - window.from;
    let (now, before) =
        (done(snapshot, window.from, window.to), done(snapshot, window.from - length, window.from));
    if now.verdicts + before.verdicts == 0 {
        return PanelBody::Later(
            html! { "No verdicts in the " (name) " or the period before. Both will be compared here." },
        );
    }
    let words = snapshot.wording();
    let found = |done: &PeriodActivity| words.found_in(done.rewards.iter().sum(), done.rewards.len() as u64);
    let fact = html! { (name) ": " b { (found(&now)) } "; period before: " (found(&before)) };
    let body = html! {
        div class="pair" {
            // Without more than three stretches of data, the chart would be nearly empty.
            @if window.to - snapshot.whole_since() > 3 * (length / parts) { (chart(snapshot, &window, parts, &name)) }
            (table(&name, &now, &before, snapshot.scale(), &words))
        }
        @if let Some(since) = snapshot.looked_since().filter(|since| *since > window.from - length) {
            p class="small" { "Only the last " (count(snapshot.verdicts.len() as u64)) " verdicts are compared, of the past " (span((snapshot.now - since) as f64 / SECOND as f64)) "." }
        }
    };
    PanelBody::Folded(fact, body)
}

fn table(
    name: &str,
    now: &PeriodActivity,
    before: &PeriodActivity,
    scale: (f64, f64),
    words: &Wording,
) -> Markup {
    let found = |done: &PeriodActivity| words.found_in(done.rewards.iter().sum(), done.rewards.len() as u64);
    let each = |done: &PeriodActivity| {
        if done.rewards.len() < 2 { "–".into() } else { words.mean(mean_within(&done.rewards, scale)) }
    };
    let delay = |done: &PeriodActivity| done.delay.map_or("–".into(), span);
    let rows: [(&str, String, String); 6] = [
        ("top-ranked items", found(now), found(before)),
        (&words.average(), each(now), each(before)),
        ("verdicts", count(now.verdicts), count(before.verdicts)),
        ("reviewers", count(now.reviewers as u64), count(before.reviewers as u64)),
        ("a verdict takes", delay(now), delay(before)),
        ("skips", count(now.skips), count(before.skips)),
    ];
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="Table of both" {
            table {
                thead { tr { th { span class="unseen" { "what" } } th { (name) } th { "period before" } } }
                tbody { @for (what, now, before) in rows { tr { td class="name" { (what) } td { (now) } td class="muted" { (before) } } } }
            }
        }
    }
}

/// A chart of the rewards found per stretch of time, in the range and in the period before it.
fn chart(snapshot: &QueueSnapshot, window: &TimeRange, parts: i64, name: &str) -> Markup {
    let (picked, length) = (snapshot.picked(), window.to - window.from);
    let step = (length / parts).max(1);
    let (unit, x_label) = window.unit(length);
    let sums = |from: i64| -> Vec<(f64, f64)> {
        let sum = |at: i64| -> f64 {
            let within = from + at * step..from + (at + 1) * step;
            picked.iter().filter(|(at, _)| within.contains(at)).map(|(_, reward)| reward).sum()
        };
        let place = |at: i64| ((at + 1) * step - parts * step) as f64 / unit;
        (0..parts).map(|at| (place(at), sum(at))).collect()
    };
    let curves = vec![
        Curve::new(name, sums(window.from)).in_colour(Colour::Ink),
        Curve::new("period before", sums(window.from - length)).as_reference(),
    ];
    let plot = Plot {
        title: String::new(),
        x_label,
        y_label: format!("{} per {}", snapshot.wording().found(), stretch(step)),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        curves,
    };
    let end = window.to;
    drawn(&plot, &Frame::from_zero(640.0, 200.0, 110.0), |x| Some(end + (x * unit) as i64))
}

//! What a person would rather look at than read: who is of use, what a top K would catch, who errs alike, the curves.

use super::{Advice, EvaluatorReport, Report};
use jurybox_draw::{Bar, Bars, Colour, Curve, Frame, HeatMap, Plot, Scale, escaped, short};
use std::fmt::Write;

/// A map of more evaluators cannot be read, and its page not be opened.
const MAPPED: usize = 24;
/// Curves that are drawn large; the others stand small in the table.
const CURVES: usize = 12;

impl Report {
    /// Whom to trust, at a glance: how each goes with the reward, with its interval, in the colour of what to do about it.
    pub(super) fn glance(&self) -> String {
        let rewarded = self.rewarded();
        let bar = |at: usize| {
            let about = &self.evaluators[at];
            let learnt = self.policy.weights.get(at).filter(|_| self.policy.of_state);
            let (value, interval) = match (rewarded, learnt) {
                (true, _) => about.correlation.map(|c| (c.mean, Some((c.low, c.high))))?,
                (false, Some(weight)) => (weight.mean, weight.low.zip(weight.high)),
                (false, None) => about.weight.map(|w| (w.mean, Some((w.low, w.high))))?,
            };
            let note = format!("{} {}", short(value), about.advice.word());
            Some(Bar {
                colour: Some(colour(about.advice)),
                note: Some(if rewarded || learnt.is_some() { note } else { short(value) }),
                ..Bar::new(&about.name, value, interval)
            })
        };
        let (shown, folded) = self.shown();
        let bars: Vec<Bar> = shown.iter().filter_map(|&at| bar(at)).collect();
        if bars.is_empty() {
            return String::new();
        }
        let what = match () {
            () if rewarded => {
                "Correlation with the reward, with the interval that holds for all of them together in about 95 of 100 reports"
            }
            () if self.policy.of_state => {
                "What one standard deviation of each score adds, by what the state has learnt, with its policy's own intervals \
                 where it knows them"
            }
            () => {
                "The evaluator's say when all are combined by how well they agree, with its interval. Agreement is not truth"
            }
        };
        let left_out = match folded.len() {
            0 => String::new(),
            n => {
                format!(
                    " Shown are the first of every kind; {n} more are listed below. Of all, {}.",
                    self.kinds()
                )
            }
        };
        format!(
            "<figure>{}<figcaption>{what}. A whisker that crosses the line may be zero.{left_out}</figcaption></figure>",
            Bars { bars }.to_html()
        )
    }

    /// How many evaluators there are of every kind of advice.
    fn kinds(&self) -> String {
        let mut counts: Vec<(Advice, usize)> = Vec::new();
        for at in self.by_use() {
            let advice = self.evaluators[at].advice;
            match counts.last_mut() {
                Some((last, count)) if *last == advice => *count += 1,
                _ => counts.push((advice, 1)),
            }
        }
        let counts: Vec<String> =
            counts.into_iter().map(|(advice, count)| format!("{count}: {}", advice.word())).collect();
        counts.join("; ")
    }

    /// What a top K would catch, as lines over K and as figures.
    pub(super) fn catches(&self) -> String {
        if self.top.is_empty() {
            return String::new();
        }
        let title = if self.labelled > 0 {
            "What a top K would catch"
        } else {
            "How far other rankings agree with the default policy"
        };
        format!("<h2>{title}</h2>{}{}", self.catch_plot(), self.catch_table())
    }

    fn catch_plot(&self) -> String {
        let rewarded = self.labelled > 0;
        let mut curves: Vec<Curve> = Vec::new();
        for catch in &self.top {
            let point = (catch.k as f64, catch.reward.unwrap_or(catch.found));
            match curves.iter_mut().find(|curve| curve.name == catch.name) {
                Some(curve) => curve.points.push(point),
                None => curves.push(Curve::new(&catch.name, vec![point])),
            }
        }
        if curves.iter().any(|curve| curve.points.len() < 2) {
            return String::new();
        }
        let plot = Plot {
            title: String::new(),
            x_label: "K".into(),
            y_label: if rewarded { "mean reward of the K" } else { "share that agrees" }.into(),
            x_scale: Scale::Log,
            y_scale: Scale::Linear,
            curves,
        };
        format!("<figure>{}</figure>", plot.to_html())
    }

    pub(super) fn redundancy(&self) -> String {
        let names: Vec<String> = self.evaluators.iter().map(|e| e.name.clone()).collect();
        if names.len() < 2 {
            return String::new();
        }
        let map = HeatMap::new(&names, |i, j| self.error_correlation[i][j]).strongest(MAPPED).ordered();
        let left_out = match names.len().saturating_sub(MAPPED) {
            0 => String::new(),
            _ => format!(" Shown are the {MAPPED} evaluators that go together most with another."),
        };
        let worth = self.effective_evaluators.map_or(String::new(), |n| {
            format!("By their errors, the {} are worth <b>{n:.1}</b> independent ones. ", self.telling())
        });
        format!(
            "<h2>Redundancy</h2><p>{worth}The map shows how their errors go together: 1 means two voices with one \
             opinion, 0 that each adds its own; alike ones stand side by side.{left_out}</p><figure>{}</figure>",
            map.to_html()
        )
    }

    pub(super) fn curves(&self) -> String {
        let held = if self.labelled > 0 { "mean reward" } else { "others (z)" };
        let order = self.by_use();
        let mut html = format!(
            "<h2>Reliability</h2><p>{} A reliable evaluator's curve rises steadily; a flat stretch means that scores \
             there say nothing.{}</p><div class=\"grid\">",
            if self.labelled > 0 {
                "The mean reward over tenths of each evaluator's scores, each with its own 95% interval."
            } else {
                "Without rewards: the mean standardised score of the other evaluators over tenths of each one's scores."
            },
            if order.len() > CURVES {
                format!(
                    " Shown are the {CURVES} evaluators of most use, and those whose curve alone shows a relation."
                )
            } else {
                String::new()
            }
        );
        let nonlinear = order.iter().skip(CURVES).filter(|&&at| self.evaluators[at].nonlinear).take(CURVES);
        for about in order.iter().take(CURVES).chain(nonlinear).map(|&at| &self.evaluators[at]) {
            let mut curve =
                Curve::new(&about.name, about.curve.iter().map(|bin| (bin.score, bin.reward)).collect());
            curve.band = about.curve.iter().map(|bin| (bin.score, bin.low, bin.high)).collect();
            let plot = Plot {
                title: String::new(),
                x_label: "score".into(),
                y_label: held.into(),
                x_scale: Scale::Linear,
                y_scale: Scale::Linear,
                curves: vec![Curve { style: self.style(about), ..curve }],
            };
            let _ = write!(
                html,
                "<figure><h3>{}</h3>{}</figure>",
                escaped(&about.name),
                plot.drawn(&Frame::tight(270.0, 190.0, 0.0))
            );
        }
        html + "</div>"
    }

    /// Every evaluator has one look throughout the page.
    pub(super) fn style(&self, about: &EvaluatorReport) -> Option<usize> {
        self.evaluators.iter().position(|other| other.name == about.name)
    }
}

/// Green to trust, amber and red to look after, grey for what says nothing.
fn colour(advice: Advice) -> Colour {
    match advice {
        Advice::Trust => Colour::Good,
        Advice::Keep => Colour::Accent,
        Advice::Check | Advice::Invert => Colour::Warn,
        Advice::Changed => Colour::Bad,
        Advice::Undecided | Advice::Duplicate | Advice::Mute => Colour::Muted,
    }
}

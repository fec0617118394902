//! The charts of a report's page: overview, top K, error correlations and reliability curves.

use super::{Advice, EvaluatorReport, Report};
use jurybox_draw::{Bar, Bars, Colour, Curve, Frame, HeatMap, Plot, Scale, escaped, short};
use std::fmt::Write;

/// Maximum number of evaluators in the map of error correlations.
const MAPPED: usize = 24;
/// Number of most useful evaluators whose reliability curves are shown. Up to as many others are
/// shown too, if only their curves show a relation.
const CURVES: usize = 12;

impl Report {
    /// A bar chart of correlations or weights with their intervals, coloured by advice.
    pub(super) fn overview_chart(&self) -> String {
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
                "Correlation with the reward. The intervals hold for all evaluators together in about 95 of 100 reports"
            }
            () if self.policy.of_state => {
                "What one standard deviation of each score adds to the value of an item, as the state has learnt it, with the \
                 intervals of its policy if it has any"
            }
            () => {
                "The weight of each evaluator if all are combined by how well they agree, with its interval. Agreement is not truth"
            }
        };
        let left_out = match folded.len() {
            0 => String::new(),
            n => {
                format!(
                    " The first evaluators of each kind are shown; {n} more are listed below. All evaluators: {}.",
                    self.kinds()
                )
            }
        };
        format!(
            "<figure>{}<figcaption>{what}. If a whisker crosses the line, the value may be zero.{left_out}</figcaption></figure>",
            Bars { bars }.to_html()
        )
    }

    /// The number of evaluators with each advice.
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

    /// The section on the top K: chart and table.
    pub(super) fn top_counts(&self) -> String {
        if self.top.is_empty() {
            return String::new();
        }
        let title = if self.labelled > 0 {
            "What a top K would find"
        } else {
            "Agreement of other rankings with the default policy"
        };
        format!("<h2>{title}</h2>{}{}", self.top_chart(), self.top_table())
    }

    /// Mean rewards of the top K over K or, without rewards, the agreement with the default policy.
    fn top_chart(&self) -> String {
        let rewarded = self.labelled > 0;
        let mut curves: Vec<Curve> = Vec::new();
        for top in &self.top {
            let point = (top.k as f64, top.reward.unwrap_or(top.found));
            match curves.iter_mut().find(|curve| curve.name == top.name) {
                Some(curve) => curve.points.push(point),
                None => curves.push(Curve::new(&top.name, vec![point])),
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

    /// The section on error correlations.
    pub(super) fn redundancy(&self) -> String {
        let names: Vec<String> = self.evaluators.iter().map(|e| e.name.clone()).collect();
        if names.len() < 2 {
            return String::new();
        }
        let map = HeatMap::new(&names, |i, j| self.error_correlation[i][j]).strongest(MAPPED).ordered();
        let left_out = match names.len().saturating_sub(MAPPED) {
            0 => String::new(),
            _ => format!(" The {MAPPED} evaluators with the strongest correlations are shown."),
        };
        let worth = self.effective_evaluators.map_or(String::new(), |n| {
            format!("The {} count as <b>{n:.1}</b> independent ones. ", self.related_summary())
        });
        format!(
            "<h2>Redundancy</h2><p>{worth}The map shows the correlations of errors: at 1, two evaluators make the same \
             errors; at 0, independent ones. Similar evaluators are next to each other.{left_out}</p><figure>{}</figure>",
            map.to_html()
        )
    }

    /// The section on reliability curves.
    pub(super) fn curves(&self) -> String {
        let held = if self.labelled > 0 { "mean reward" } else { "others (z)" };
        let order = self.by_use();
        let mut html = format!(
            "<h2>Reliability</h2><p>{} The curve of a reliable evaluator rises steadily. Where it is flat, scores say \
             nothing.{}</p><div class=\"grid\">",
            if self.labelled > 0 {
                "The mean reward over tenths of each evaluator's scores, each with its own 95% interval."
            } else {
                "Without rewards: the mean standardised score of the other evaluators over tenths of each one's scores."
            },
            if order.len() > CURVES {
                format!(
                    " The {CURVES} most useful evaluators are shown, and those whose relation only the curve shows."
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

    /// The line style of an evaluator, the same throughout the page.
    pub(super) fn style(&self, about: &EvaluatorReport) -> Option<usize> {
        self.evaluators.iter().position(|other| other.name == about.name)
    }
}

/// The colour of an advice: green for trust, the accent colour for keep, amber and red for
/// problems, grey for the rest.
fn colour(advice: Advice) -> Colour {
    match advice {
        Advice::Trust => Colour::Good,
        Advice::Keep => Colour::Accent,
        Advice::Check | Advice::Invert => Colour::Warn,
        Advice::Changed => Colour::Bad,
        Advice::Undecided | Advice::Duplicate | Advice::Mute => Colour::Muted,
    }
}

//! The report as a page, and as a table for the terminal.

use super::{EvaluatorReport, LearntWeight, Report};
use jurybox::Interval;
use jurybox_draw::{Bar, Curve, Frame, HeatMap, Plot, Scale, escaped, page, short, warnings};
use std::fmt::Write;

/// A map of more evaluators cannot be read, and its page not be opened.
const MAPPED: usize = 60;

impl Report {
    /// A self-contained page: nothing is loaded from elsewhere, and it prints.
    pub fn to_html(&self) -> String {
        let rewards = match &self.reward {
            Some(column) => format!("{} with a reward in {}", self.labelled, escaped(column)),
            None => "no rewards".into(),
        };
        let mut body = format!(
            "<p class=\"lead\">{} rows, {rewards}; {} evaluators. Gains, noise and weights come from {}.</p>",
            self.rows,
            self.evaluators.len(),
            escaped(self.from)
        );
        body += &warnings(&self.warnings);
        body += "<h2>The evaluators</h2>";
        body += &self.evaluator_table();
        body += &self.policy_table();
        body += &self.redundancy();
        body += &self.curves();
        body += &self.catch_table();
        page("Which evaluators to trust", &body)
    }

    fn evaluator_table(&self) -> String {
        let largest = self
            .evaluators
            .iter()
            .filter_map(|e| e.weight)
            .map(|w| w.low.abs().max(w.high.abs()))
            .fold(0.0, f64::max);
        let mut html =
            "<div class=\"scroll\"><table><tr><th>evaluator</th><th>weight</th><th></th><th>gain</th>\
                        <th>offset</th><th>noise</th><th>correlation</th><th>mean</th><th>sd</th>\
                        <th>coverage</th></tr>"
                .to_string();
        let some = |value: Option<f64>| value.map_or("–".into(), short);
        for about in self.by_weight() {
            let _ = write!(
                html,
                "<tr><td>{}</td><td>{}</td><td class=\"bar\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
                 <td>{}</td><td>{}</td><td>{:.0}%</td></tr>",
                escaped(&about.name),
                interval(about.weight),
                about
                    .weight
                    .map_or(String::new(), |w| self.bar(about, w.mean, Some((w.low, w.high))).cell(largest)),
                some(about.gain),
                some(about.offset),
                some(about.noise),
                interval(about.correlation),
                short(about.mean),
                short(about.deviation),
                100.0 * about.coverage
            );
        }
        html += "</table></div>";
        html += if self.from == "rewards" {
            "<p class=\"small\"><b>Weight</b>: how much one standard deviation of this score adds to the predicted \
             reward, the other scores being equal; a bar that crosses the line may be zero. <b>Gain, offset, noise</b>: score = \
             offset + gain × reward, give or take the noise. <b>Correlation</b>: with the reward. The intervals of a column \
             hold together in about 95 of 100 reports, for rows drawn independently; in fewer with heavy tails (77 to 86) or \
             with less than ten of the rarer verdict (83 to 86). Rows of the same day or author are fewer witnesses than they \
             are rows.</p>"
        } else {
            "<p class=\"small\"><b>Weight</b>: the evaluator's say when all are combined by how well they agree, on \
             standardised scores; the intervals hold together in about 95 of 100 reports, in fewer with heavy tails. <b>Gain</b>: by how much its score rises with one standard \
             deviation of what the evaluators share; <b>noise</b>: the rest of its spread. Agreement is not truth: \
             evaluators that share an error agree too.</p>"
        };
        html
    }

    /// What the policy makes of them, with its own intervals.
    fn policy_table(&self) -> String {
        let policy = &self.policy;
        if policy.weights.is_empty() {
            return String::new();
        }
        let reach = |w: &LearntWeight| Bar::new("", w.mean, w.low.zip(w.high)).reach();
        let largest = policy.weights.iter().map(reach).fold(0.0, f64::max);
        let mut html = format!(
            "<h2>What <code>{}</code> makes of them</h2><p>Learnt from {}.</p><div class=\"scroll\"><table>\
             <tr><th>evaluator</th><th>weight</th><th></th><th>interval</th></tr>",
            escaped(&policy.name),
            escaped(&policy.from)
        );
        let mut rows: Vec<_> = self.evaluators.iter().zip(&policy.weights).collect();
        rows.sort_by(|a, b| b.1.mean.abs().total_cmp(&a.1.mean.abs()));
        for (about, weight) in rows {
            // Of evaluators that are one, the first has the weight of all.
            if let Some(first) = self.first_of(about) {
                let (name, first) = (escaped(&about.name), escaped(&first.name));
                let _ = write!(html, "<tr><td>{name}</td><td></td><td></td><td>one with {first}</td></tr>");
                continue;
            }
            let interval = match (weight.low, weight.high) {
                (Some(low), Some(high)) => format!("{} to {}", short(low), short(high)),
                _ => "–".into(),
            };
            let bar = self.bar(about, weight.mean, weight.low.zip(weight.high)).cell(largest);
            let _ = write!(
                html,
                "<tr><td>{}</td><td>{}</td><td class=\"bar\">{bar}</td><td>{interval}</td></tr>",
                escaped(&about.name),
                short(weight.mean)
            );
        }
        html + "</table></div><p class=\"small\">What one standard deviation of the score adds to what items are ranked \
                by. A policy that has seen few rewards stays near what the scores alone suggest. Evaluators that are one \
                have one weight, what they add together. The intervals of a state are \
                its policy's own account of what it was taught, all of them together at 95%; without a state it was \
                taught these rows, and how sure these make anyone is in the table above.</p>"
    }

    /// The first of the evaluators that are one with this one, where it is not that itself.
    fn first_of(&self, about: &EvaluatorReport) -> Option<&EvaluatorReport> {
        let first =
            self.evaluators.iter().find(|e| e.name == about.name || about.one_with.contains(&e.name))?;
        (first.name != about.name).then_some(first)
    }

    /// How many rows have a twin, in words.
    pub(super) fn twins_said(&self) -> String {
        format!("{} of {} rows have a twin with the same scores", self.twins, self.sampled)
    }

    /// The evaluators, weightiest first.
    fn by_weight(&self) -> Vec<&EvaluatorReport> {
        let mut list: Vec<&EvaluatorReport> = self.evaluators.iter().collect();
        let size = |about: &EvaluatorReport| about.weight.map_or(-1.0, |w| w.mean.abs());
        list.sort_by(|a, b| size(b).total_cmp(&size(a)));
        list
    }

    /// A weight as a bar in the evaluator's own colour.
    fn bar(&self, about: &EvaluatorReport, value: f64, interval: Option<(f64, f64)>) -> Bar {
        Bar { style: self.style(about), ..Bar::new(&about.name, value, interval) }
    }

    /// Every evaluator has one look throughout the page.
    fn style(&self, about: &EvaluatorReport) -> Option<usize> {
        self.evaluators.iter().position(|other| other.name == about.name)
    }

    fn redundancy(&self) -> String {
        let names: Vec<String> = self.evaluators.iter().map(|e| e.name.clone()).collect();
        let map = HeatMap::new(&names, |i, j| self.error_correlation[i][j]).strongest(MAPPED).ordered();
        let left_out = match names.len().saturating_sub(MAPPED) {
            0 => String::new(),
            _ => format!(" Shown are the {MAPPED} evaluators that go together most with another."),
        };
        let worth = self.effective_evaluators.map_or(String::new(), |n| {
            format!(
                "By their errors, these {} evaluators are worth <b>{n:.1}</b> independent ones: that counts \
                 how independent they are, not how much they know. ",
                names.len()
            )
        });
        format!(
            "<h2>Redundancy</h2><p>{worth}The map shows how their errors go together: 1 means two voices with one \
             opinion, 0 that each adds its own; alike ones stand side by side.{left_out}</p><figure>{}</figure>",
            map.to_html()
        )
    }

    fn curves(&self) -> String {
        let held = if self.labelled > 0 { "mean reward" } else { "others (z)" };
        let mut html = format!(
            "<h2>Reliability</h2><p>{} A reliable evaluator's curve rises steadily; a flat stretch means that scores \
             there say nothing.</p><div class=\"grid\">",
            if self.labelled > 0 {
                "The mean reward over tenths of each evaluator's scores, each with its own 95% interval."
            } else {
                "Without rewards: the mean standardised score of the other evaluators over tenths of each one's scores."
            }
        );
        for about in self.by_weight() {
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

    fn catch_table(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        let mut sizes: Vec<usize> = Vec::new();
        for catch in &self.top {
            if !names.contains(&catch.name.as_str()) {
                names.push(&catch.name);
            }
            if !sizes.contains(&catch.k) {
                sizes.push(catch.k);
            }
        }
        if names.is_empty() {
            return String::new();
        }
        let rewarded = self.labelled > 0;
        let mut html = "<h2>What a top K would catch</h2><div class=\"scroll\"><table><tr><th>ranked by</th>"
            .to_string();
        for k in &sizes {
            let _ = write!(html, "<th>top {k}</th>");
        }
        html += "</tr>";
        for name in &names {
            let _ = write!(html, "<tr><td>{}</td>", escaped(name));
            for k in &sizes {
                let cell = self.top.iter().find(|catch| catch.name == *name && catch.k == *k);
                let cell = cell.map_or("–".into(), |catch| match catch.reward {
                    Some(reward) => {
                        let recall = catch
                            .recall
                            .map_or(String::new(), |share| format!(", {:.0}% of all", 100.0 * share));
                        format!("{} ({:.0}%{recall})", short(reward), 100.0 * catch.caught)
                    }
                    None => format!("{:.0}%", 100.0 * catch.caught),
                });
                let _ = write!(html, "<td>{cell}</td>");
            }
            html += "</tr>";
        }
        html += "</table></div>";
        if rewarded {
            html += "<p class=\"small\">Among the rows with a reward: the mean reward of the K, and in brackets how many of the K best \
             rewards they hold (a tie with the K-th best is as good, the smallest reward never counts) and, with yes and no, \
             how many of all the yes; tied scores are averaged over their orders. What is learnt from rewards is learnt on \
             one half of the rows and judged on the other, so that no row is judged by its own reward";
            if self.twins > 0 {
                let _ = write!(
                    html,
                    "; {}, and unless so many are alike that scores are plainly coarse, they are in one half",
                    self.twins_said()
                );
            }
            html += ".</p>";
        } else {
            html += "<p class=\"small\">The share of the last line's top K that each way of ranking finds too, tied scores averaged over their orders. Without rewards \
             nobody can say which is right.</p>";
        }
        html
    }

    /// A table for the terminal.
    pub fn to_table(&self) -> String {
        let width =
            self.evaluators.iter().map(|e| clipped(&e.name).chars().count()).max().unwrap_or(0).max(9);
        let mut text = format!("{} rows, {} with a reward; from {}\n", self.rows, self.labelled, self.from);
        let _ = writeln!(
            text,
            "{:width$}  {:>26}  {:>8} {:>8} {:>8} {:>26} {:>8}",
            "evaluator", "weight", "gain", "offset", "noise", "correlation", "coverage"
        );
        let some = |value: Option<f64>| value.map_or("–".into(), short);
        for about in self.by_weight() {
            let _ = writeln!(
                text,
                "{:width$}  {:>26}  {:>8} {:>8} {:>8} {:>26} {:>7.0}%",
                clipped(&about.name),
                interval(about.weight),
                some(about.gain),
                some(about.offset),
                some(about.noise),
                interval(about.correlation),
                100.0 * about.coverage
            );
        }
        if let Some(effective) = self.effective_evaluators {
            let _ = writeln!(
                text,
                "worth {effective:.1} independent evaluators (that counts independence, not knowledge)"
            );
        }
        for warning in &self.warnings {
            let _ = writeln!(text, "warning: {warning}");
        }
        text
    }
}

/// A name that a terminal can show.
fn clipped(name: &str) -> String {
    const MOST: usize = 60;
    if name.chars().count() <= MOST {
        return name.into();
    }
    name.chars().take(MOST - 1).chain(['…']).collect()
}

/// An estimate with its interval in words.
fn interval(estimate: Option<Interval>) -> String {
    estimate.map_or("–".into(), |e| format!("{} [{}, {}]", short(e.mean), short(e.low), short(e.high)))
}

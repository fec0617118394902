//! The tables of a report's page: evaluators, weights of the policy, and top K.

use super::text::interval;
use super::{EvaluatorReport, LearntWeight, Report};
use jurybox_draw::{Bar, escaped, short, sparkline, table};
use std::fmt::Write;

impl Report {
    /// The table of evaluators with weights, curves and correlations, and its explanation.
    pub(super) fn evaluator_table(&self) -> String {
        let (shown, folded) = self.shown();
        let shown = || shown.iter().map(|&at| &self.evaluators[at]);
        let largest =
            shown().filter_map(|e| e.weight).map(|w| w.low.abs().max(w.high.abs())).fold(0.0, f64::max);
        let mut html =
            "<div class=\"scroll\"><table><tr><th>evaluator</th><th>what to do</th><th>weight</th><th></th>\
                        <th>curve</th><th>correlation</th><th>coverage</th></tr>"
                .to_string();
        for about in shown() {
            let curve: Vec<f64> = about.curve.iter().map(|bin| bin.reward).collect();
            let _ = write!(
                html,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"bar\">{}</td><td class=\"bar\">{}</td><td>{}</td>\
                 <td>{:.0}%</td></tr>",
                escaped(&about.name),
                about.advice.word(),
                interval(about.weight),
                about
                    .weight
                    .map_or(String::new(), |w| self.bar(about, w.mean, Some((w.low, w.high))).cell(largest)),
                sparkline(&about.name, &curve, self.style(about).unwrap_or(0)),
                interval(about.correlation),
                100.0 * about.coverage
            );
        }
        html += "</table></div>";
        html += &in_numbers(shown());
        html += &self.folded_table(&folded);
        html += if self.rewarded() {
            "<p class=\"small\">Most useful first: by advice, then by the lower ends of the intervals. <b>Weight</b>: how much \
             one standard deviation of this score adds to the predicted reward, the other scores being equal; if its bar crosses \
             the line, it may be zero. <b>Curve</b>: the mean reward over tenths of its scores. <b>Gain, offset, noise</b>: score = \
             offset + gain × reward ± noise. <b>Correlation</b>: with the reward. The intervals of a column \
             hold together in about 95 of 100 reports if rows are drawn independently. Those of weights hold in 77 to 86 with heavy \
             tails, where correlations are of ranks, and both in 83 to 86 with less than ten of the rarer verdict. Rows of the same \
             day or author are not independent, so that their intervals are too narrow. <b>Mute</b> needs a whole interval close \
             to zero.</p>"
        } else {
            "<p class=\"small\"><b>Weight</b>: the weight of the standardised score if all evaluators are combined by how well they \
             agree; the intervals hold together in about 95 of 100 reports, in fewer with heavy tails. <b>Curve</b>: \
             the mean standardised score of the others over tenths of its scores. <b>Gain</b>: by how much the score rises with \
             one standard deviation of what the evaluators share; <b>noise</b>: the rest of its standard deviation. Agreement is \
             not truth: evaluators that share an error agree as well.</p>"
        };
        html
    }

    /// The evaluators that are folded away, with their main figures.
    fn folded_table(&self, folded: &[usize]) -> String {
        if folded.is_empty() {
            return String::new();
        }
        let rows: Vec<[String; 5]> = folded
            .iter()
            .map(|&at| &self.evaluators[at])
            .map(|about| {
                [
                    about.name.clone(),
                    about.advice.word().into(),
                    interval(about.weight),
                    interval(about.correlation),
                    format!("{:.0}%", 100.0 * about.coverage),
                ]
            })
            .collect();
        format!(
            "<details><summary>{} more evaluators</summary>{}</details>",
            rows.len(),
            table(&["evaluator", "what to do", "weight", "correlation", "coverage"], &rows)
        )
    }

    /// The table of the weights of the policy, with its intervals.
    pub(super) fn policy_table(&self) -> String {
        let policy = &self.policy;
        if policy.weights.is_empty() {
            return String::new();
        }
        let reach = |w: &LearntWeight| Bar::new("", w.mean, w.low.zip(w.high)).reach();
        let largest = policy.weights.iter().map(reach).fold(0.0, f64::max);
        let mut html = format!(
            "<h2>Weights of <code>{}</code></h2><p>Learnt from {}.</p><div class=\"scroll\"><table>\
             <tr><th>evaluator</th><th>weight</th><th></th><th>interval</th></tr>",
            escaped(&policy.name),
            escaped(&policy.from)
        );
        let (shown, folded) = self.shown();
        for (about, weight) in shown.iter().map(|&at| (&self.evaluators[at], &policy.weights[at])) {
            // The first of several copies has the weight of all.
            if let Some(first) = self.first_of(about) {
                let (name, first) = (escaped(&about.name), escaped(&first.name));
                let _ = write!(html, "<tr><td>{name}</td><td></td><td></td><td>copy of {first}</td></tr>");
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
        html += "</table></div>";
        if !folded.is_empty() {
            let rows: Vec<[String; 2]> = folded
                .iter()
                .map(|&at| [self.evaluators[at].name.clone(), short(policy.weights[at].mean)])
                .collect();
            let _ = write!(
                html,
                "<details><summary>{} more evaluators</summary>{}</details>",
                rows.len(),
                table(&["evaluator", "weight"], &rows)
            );
        }
        html + "<p class=\"small\">What one standard deviation of the score adds to the value by which items are ranked. \
                With few rewards, a policy stays near what the scores alone suggest. Copies have one weight, which is their sum. \
                The intervals of a state come from its policy's own model and hold together at 95%. Without a state, the policy \
                has learnt from these rows, and the table above has the intervals.</p>"
    }

    /// A weight as a bar in the colour of the evaluator.
    fn bar(&self, about: &EvaluatorReport, value: f64, interval: Option<(f64, f64)>) -> Bar {
        Bar { style: self.style(about), ..Bar::new(&about.name, value, interval) }
    }

    /// The table of what a top K would find, and its explanation.
    pub(super) fn top_table(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        let mut sizes: Vec<usize> = Vec::new();
        for top in &self.top {
            if !names.contains(&top.name.as_str()) {
                names.push(&top.name);
            }
            if !sizes.contains(&top.k) {
                sizes.push(top.k);
            }
        }
        let rewarded = self.labelled > 0;
        let mut html = "<div class=\"scroll\"><table><tr><th>ranked by</th>".to_string();
        for k in &sizes {
            let _ = write!(html, "<th>top {k}</th>");
        }
        html += "</tr>";
        for name in &names {
            let _ = write!(html, "<tr><td>{}</td>", escaped(name));
            for k in &sizes {
                let cell = self.top.iter().find(|top| top.name == *name && top.k == *k);
                let cell = cell.map_or("–".into(), |top| match top.reward {
                    Some(reward) => {
                        let recall = top
                            .recall
                            .map_or(String::new(), |share| format!(", {:.0}% of all", 100.0 * share));
                        let interval = top.low.zip(top.high).map_or(String::new(), |(low, high)| {
                            format!(" [{}, {}]", short(low), short(high))
                        });
                        format!("{}{interval} ({:.0}%{recall})", short(reward), 100.0 * top.found)
                    }
                    None => format!("{:.0}%", 100.0 * top.found),
                });
                let _ = write!(html, "<td>{cell}</td>");
            }
            html += "</tr>";
        }
        html += "</table></div>";
        if rewarded {
            html += "<p class=\"small\">Among the rows with a reward: the mean reward of the top K. In brackets, the share of the K best \
             rewards that is found (rows that tie with the K-th best count alike, the smallest reward never counts) and, with binary \
             rewards, the share of all rows with the larger one. Tied scores are averaged over their orders. Policies learn from \
             one half of the rows and rank the other, so that no row is ranked by its own reward";
            if self.duplicate_scores > 0 {
                let _ = write!(
                    html,
                    "; {}, and these are in the same half, unless scores are too coarse",
                    self.duplicates_summary()
                );
            }
            html += ". In square brackets: the 95% interval of the mean for new rows of the same kind and number; none if rewards have \
                     heavy tails.</p>";
        } else {
            html += "<p class=\"small\">The share of the default policy's top K that each other ranking finds as well; tied scores are averaged over \
             their orders. Without rewards it is not known which is right.</p>";
        }
        html
    }
}

/// The folded table of further figures of the shown evaluators.
fn in_numbers<'a>(shown: impl Iterator<Item = &'a EvaluatorReport>) -> String {
    let row = |about: &EvaluatorReport| {
        let [gain, offset, noise] = [about.gain, about.offset, about.noise].map(some);
        [about.name.clone(), gain, offset, noise, short(about.mean), short(about.deviation)]
    };
    let rows: Vec<[String; 6]> = shown.map(row).collect();
    let heads = ["evaluator", "gain", "offset", "noise", "mean", "standard deviation"];
    format!("<details><summary>Gain, offset and noise of each</summary>{}</details>", table(&heads, &rows))
}

/// The value, or a dash.
fn some(value: Option<f64>) -> String {
    value.map_or("–".into(), short)
}

//! The figures of a report's page: the evaluators, what a policy makes of them, and what a top K would catch.

use super::text::interval;
use super::{EvaluatorReport, LearntWeight, Report};
use jurybox_draw::{Bar, escaped, short, sparkline, table};
use std::fmt::Write;

impl Report {
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
        html += &self.the_others(&folded);
        html += if self.rewarded() {
            "<p class=\"small\">In the order of use: by what to do, then by what an evaluator surely adds. <b>Weight</b>: how much \
             one standard deviation of this score adds to the predicted reward, the other scores being equal; a bar that crosses \
             the line may be zero. <b>Curve</b>: the mean reward over tenths of its scores. <b>Gain, offset, noise</b>: score = \
             offset + gain × reward, give or take the noise. <b>Correlation</b>: with the reward. The intervals of a column \
             hold together in about 95 of 100 reports, for rows drawn independently; those of weights in fewer with heavy tails \
             (77 to 86), where correlations are of ranks, and both with less than ten of the rarer verdict (83 to 86). Rows of the same day or author are fewer witnesses than they \
             are rows. <b>Mute</b> is said only of an evaluator whose whole interval is next to zero.</p>"
        } else {
            "<p class=\"small\"><b>Weight</b>: the evaluator's say when all are combined by how well they agree, on \
             standardised scores; the intervals hold together in about 95 of 100 reports, in fewer with heavy tails. <b>Curve</b>: \
             the mean standardised score of the others over tenths of its scores. <b>Gain</b>: by how much its score rises with \
             one standard deviation of what the evaluators share; <b>noise</b>: the rest of its spread. Agreement is not truth: \
             evaluators that share an error agree too.</p>"
        };
        html
    }

    /// Those that are not shown, in few words.
    fn the_others(&self, folded: &[usize]) -> String {
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

    /// What the policy makes of them, with its own intervals.
    pub(super) fn policy_table(&self) -> String {
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
        let (shown, folded) = self.shown();
        for (about, weight) in shown.iter().map(|&at| (&self.evaluators[at], &policy.weights[at])) {
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
        html + "<p class=\"small\">What one standard deviation of the score adds to what items are ranked \
                by. A policy that has seen few rewards stays near what the scores alone suggest. Evaluators that are one \
                have one weight, what they add together. The intervals of a state are \
                its policy's own account of what it was taught, all of them together at 95%; without a state it was \
                taught these rows, and how sure these make anyone is in the table above.</p>"
    }

    /// A weight as a bar in the evaluator's own colour.
    fn bar(&self, about: &EvaluatorReport, value: f64, interval: Option<(f64, f64)>) -> Bar {
        Bar { style: self.style(about), ..Bar::new(&about.name, value, interval) }
    }

    pub(super) fn catch_table(&self) -> String {
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
        let rewarded = self.labelled > 0;
        let mut html = "<div class=\"scroll\"><table><tr><th>ranked by</th>".to_string();
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
                        let interval = catch.low.zip(catch.high).map_or(String::new(), |(low, high)| {
                            format!(" [{}, {}]", short(low), short(high))
                        });
                        format!("{}{interval} ({:.0}%{recall})", short(reward), 100.0 * catch.found)
                    }
                    None => format!("{:.0}%", 100.0 * catch.found),
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
            if self.duplicate_scores > 0 {
                let _ = write!(
                    html,
                    "; {}, and unless so many are alike that scores are plainly coarse, they are in one half",
                    self.twins_said()
                );
            }
            html += ". In square brackets: the 95% interval of each mean, for as many other rows like these, ranked in the same way; none where \
                     rewards have heavy tails.</p>";
        } else {
            html += "<p class=\"small\">The share of the default policy's top K that each other way of ranking finds too, tied scores averaged over their orders. Without \
             rewards nobody can say which is right.</p>";
        }
        html
    }
}

/// What only some will want to know of the evaluators: beside the rest of their figures it would leave the page.
fn in_numbers<'a>(shown: impl Iterator<Item = &'a EvaluatorReport>) -> String {
    let row = |about: &EvaluatorReport| {
        let [gain, offset, noise] = [about.gain, about.offset, about.noise].map(some);
        [about.name.clone(), gain, offset, noise, short(about.mean), short(about.deviation)]
    };
    let rows: Vec<[String; 6]> = shown.map(row).collect();
    let heads = ["evaluator", "gain", "offset", "noise", "mean", "standard deviation"];
    format!("<details><summary>Gain, offset and noise of each</summary>{}</details>", table(&heads, &rows))
}

fn some(value: Option<f64>) -> String {
    value.map_or("–".into(), short)
}

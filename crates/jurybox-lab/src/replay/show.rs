//! A replay for people: a table, a picture, a page.

use super::{Line, Outcome};
use crate::statistics::Estimate;
use jurybox_files::{Curve, Frame, Plot, Scale, escaped, page, short, warnings};
use std::fmt::Write;

impl Outcome {
    /// A table for the terminal, best policy first.
    pub fn to_table(&self) -> String {
        let mut text = format!("{}\n", self.setting());
        let width = self.lines().map(|line| line.name.chars().count()).max().unwrap_or(0).max(9);
        if !self.policies.is_empty() {
            let _ = writeln!(text, "{:width$}  reward per pick        share of the lift", "policy");
        }
        for line in self.lines() {
            let reward = line.reward_per_pick;
            let half = half_width(reward);
            let share = line.lift_share.map_or("–".into(), |share| format!("{share:.2}"));
            let _ = writeln!(text, "{:width$}  {:>9} {half:<12} {share:>6}", line.name, short(reward.mean));
        }
        for warning in &self.warnings {
            let _ = writeln!(text, "warning: {warning}");
        }
        text
    }

    fn setting(&self) -> String {
        let what = match self.how {
            "replayed" => "replayed",
            "estimated" => "estimated from logged probabilities",
            _ => "not known",
        };
        format!(
            "{} rows, {} evaluators; {} picks of {} items, {} rounds, {} runs, seed {}; {what}; intervals over {}",
            self.rows,
            self.evaluators.len(),
            self.k,
            short(self.items),
            self.rounds,
            self.runs,
            self.seed,
            self.ci95_over
        )
    }

    /// Policies, best first, then the references.
    fn lines(&self) -> impl Iterator<Item = &Line> {
        let mut policies: Vec<&Line> = self.policies.iter().collect();
        policies.sort_by(|a, b| b.reward_per_pick.mean.total_cmp(&a.reward_per_pick.mean));
        policies.into_iter().chain(&self.references)
    }

    /// Reward per pick over the rounds, as a picture.
    pub fn to_svg(&self) -> String {
        let curve = |line: &Line| {
            let points = line.curve.iter().map(|p| (p.round as f64, p.reward_per_pick));
            Curve::new(&line.name, points.collect())
        };
        let mut curves: Vec<Curve> = self.policies.iter().map(curve).collect();
        curves.extend(self.references.iter().map(|line| curve(line).as_reference()));
        let plot = Plot {
            title: String::new(),
            x_label: "round".into(),
            y_label: "reward per pick so far".into(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            curves,
        };
        plot.drawn(&Frame::tight(860.0, 420.0, 190.0))
    }

    /// A self-contained page.
    pub fn to_html(&self) -> String {
        let mut body =
            format!("<p class=\"lead\">{}</p>{}", escaped(&self.setting()), warnings(&self.warnings));
        let estimated = self.policies.iter().any(|line| line.estimates.is_some());
        if !self.policies.is_empty() {
            body += "<table><tr><th>policy</th><th>reward per pick</th><th>95% interval</th><th>share of the lift</th>";
            body += if estimated { "<th>by inverse propensity</th><th>rows of evidence</th>" } else { "" };
            body += "</tr>";
            for line in self.lines() {
                let reference = self.references.iter().any(|other| other.name == line.name);
                let class = if reference { " class=\"reference\"" } else { "" };
                let half = half_width(line.reward_per_pick);
                let share = line.lift_share.map_or("–".into(), |share| format!("{share:.2}"));
                let _ = write!(
                    body,
                    "<tr{class}><td>{}</td><td>{}</td><td>{half}</td><td>{share}</td>",
                    escaped(&line.name),
                    short(line.reward_per_pick.mean)
                );
                if let Some(estimates) = line.estimates {
                    let by = estimates.inverse_propensity;
                    let half = half_width(by);
                    let _ = write!(
                        body,
                        "<td>{} {half}</td><td>{:.0}</td>",
                        short(by.mean),
                        estimates.effective_rows
                    );
                }
                body += "</tr>";
            }
            body += "</table><p class=\"small\">The share of the lift is (mean − uniform) / (hindsight − uniform): 0 is \
                     a random pick, 1 a linear regression fitted on all labels at once. In grey, what to hold the policies \
                     against; best is the true top K.</p>";
        }
        if !estimated && !self.policies.is_empty() {
            let _ = write!(body, "<h2>Over the rounds</h2><div class=\"scroll\">{}</div>", self.to_svg());
        }
        page("What each policy would have earned", &body)
    }
}

/// The half width of an interval, where there is one.
fn half_width(estimate: Estimate) -> String {
    if estimate.half_width.is_finite() { format!("± {}", short(estimate.half_width)) } else { String::new() }
}

//! The outcome of an off-policy evaluation as a table and a page.

use super::{Bounds, OffPolicy, OffPolicyLine};
use crate::rounded::RewardUnit;
use jurybox_draw::{counted, escaped, page, short, warnings};
use jurybox_files::push_line;
use std::fmt::Write;

impl OffPolicy {
    /// A table for the terminal: figures with the best first, then bounds, then policies without
    /// either, then the references.
    pub fn to_table(&self) -> String {
        let mut text = format!("{}\n", self.setting());
        let cells: Vec<[String; 5]> =
            std::iter::once(header()).chain(self.lines().map(|line| cells(line, self.unit))).collect();
        let widths: Vec<usize> =
            (0..5).map(|c| cells.iter().map(|row| row[c].chars().count()).max().unwrap_or(0)).collect();
        for row in &cells {
            let padded = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
            push_line(&mut text, padded.collect::<Vec<_>>().join("  ").trim_end());
        }
        for note in self.notes() {
            push_line(&mut text, &note);
        }
        for warning in &self.warnings {
            push_line(&mut text, &format!("warning: {warning}"));
        }
        text
    }

    /// The outcome as a self-contained page.
    pub fn to_html(&self) -> String {
        let mut body = format!(
            "<p class=\"lead\">{}</p>{}<table><tr>",
            escaped(&self.setting()),
            warnings(&self.warnings)
        );
        for cell in header() {
            let _ = write!(body, "<th>{}</th>", escaped(&cell));
        }
        body += "</tr>";
        for line in self.lines() {
            let reference = self.references.iter().any(|other| other.name == line.name);
            body += if reference { "<tr class=\"reference\">" } else { "<tr>" };
            for cell in cells(line, self.unit) {
                let _ = write!(body, "<td>{}</td>", escaped(&cell));
            }
            body += "</tr>";
        }
        body += "</table>";
        for note in self.notes() {
            let _ = write!(body, "<p class=\"small\">{}</p>", escaped(&note));
        }
        page("What each policy would have earned", &body)
    }

    fn setting(&self) -> String {
        format!(
            "{}, {} reviewed, {}; {} of {} items, {}{} each; the log earned {} per pick\n\
             reward per pick: {}, learnt from {}, 95% intervals over {}",
            counted(self.rows as u64, "row"),
            self.reviewed,
            counted(self.evaluators.len() as u64, "evaluator"),
            counted(self.rounds as u64, "round"),
            short(self.items),
            if self.k as f64 > self.items { "at most " } else { "" },
            counted(self.k as u64, "pick"),
            self.unit.estimate(self.logged),
            self.estimator,
            self.learnt_from,
            self.ci95_over
        )
    }

    fn lines(&self) -> impl Iterator<Item = &OffPolicyLine> {
        let mut policies: Vec<&OffPolicyLine> = self.policies.iter().collect();
        let rank = |line: &OffPolicyLine| match (line.reward_per_pick, line.bounds) {
            (Some(figure), _) => (0, -figure.mean),
            (None, Some(bounds)) => (1, -bounds.low),
            (None, None) => (2, 0.0),
        };
        policies.sort_by(|a, b| rank(a).0.cmp(&rank(b).0).then(rank(a).1.total_cmp(&rank(b).1)));
        policies.into_iter().chain(&self.references)
    }

    /// The reasons why there is no figure, one per policy, and the meaning of widened intervals and
    /// of bounds.
    fn notes(&self) -> impl Iterator<Item = String> {
        let bounded = self.lines().any(|line| line.bounds.is_some() && line.reward_per_pick.is_none());
        let whys = self.lines().filter_map(|line| Some(format!("{}: {}", line.name, line.why.as_ref()?)));
        let worth = format!(
            "rewards from {} to {} ({})",
            short(self.reward_range.0),
            short(self.reward_range.1),
            self.reward_range_from
        );
        let unseen = self.lines().filter_map(|line| line.unsupported_share).fold(0.0, f64::max);
        let widened = (unseen > 0.0).then(|| {
            format!(
                "intervals allow for up to {:.0}% of the picks without support in the log, with \
                 {worth}; a probability on every row, picked or not, narrows them",
                100.0 * unseen
            )
        });
        let legend = bounded.then(|| format!("bounds allow for unreviewed rows with {worth}"));
        whys.chain(widened).chain(legend)
    }
}

fn header() -> [String; 5] {
    ["policy", "reward per pick", "minus the log", "overlap", "effective rows"].map(String::from)
}

fn cells(line: &OffPolicyLine, unit: RewardUnit) -> [String; 5] {
    let reward = match (line.reward_per_pick, line.bounds) {
        (Some(figure), _) => unit.estimate(figure),
        (None, Some(Bounds { low, high })) => {
            let [_, low, high] = unit.aligned([low, low, high]);
            format!("{low} to {high} (bounds)")
        }
        (None, None) => "no figure".into(),
    };
    [
        line.name.clone(),
        reward,
        line.difference_to_logged.map_or(String::new(), |difference| unit.estimate(difference)),
        line.overlap.map_or(String::new(), |overlap| format!("{overlap:.2}")),
        line.effective_rows.map_or(String::new(), |rows| format!("{rows:.0}")),
    ]
}

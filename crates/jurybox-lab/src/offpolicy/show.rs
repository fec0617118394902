//! The outcome of an off-policy evaluation as a table and a page.

use super::{OffPolicy, OffPolicyLine};
use jurybox::Interval;
use jurybox_draw::{counted, escaped, page, short, warnings};
use jurybox_files::push_line;
use std::fmt::Write;

impl OffPolicy {
    /// A table for the terminal: figures with the best first, then bounds, then policies without
    /// either.
    pub fn to_table(&self) -> String {
        let mut text = format!("{}\n", self.setting());
        let cells: Vec<[String; 5]> = std::iter::once(header()).chain(self.lines().map(cells)).collect();
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
            for cell in cells(line) {
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
            "{}, {} looked at, {}; {} of {} items, {}{} each; the log earned {} a pick\n\
             reward per pick: {}, learnt from {}, 95% intervals over {}",
            counted(self.rows as u64, "row"),
            self.reviewed,
            counted(self.evaluators.len() as u64, "evaluator"),
            counted(self.rounds as u64, "round"),
            short(self.items),
            if self.k as f64 > self.items { "at most " } else { "" },
            counted(self.k as u64, "pick"),
            with_interval(self.logged),
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

    /// The reasons why there is no figure, one per policy, and the meaning of bounds.
    fn notes(&self) -> impl Iterator<Item = String> {
        let bounded = self.lines().any(|line| line.bounds.is_some() && line.reward_per_pick.is_none());
        let whys = self.lines().filter_map(|line| Some(format!("{}: {}", line.name, line.why.as_ref()?)));
        let worth = format!(
            "worth {} to {} ({})",
            short(self.reward_range.0),
            short(self.reward_range.1),
            self.reward_range_from
        );
        let unseen = self.lines().filter_map(|line| line.unsupported_share).fold(0.0, f64::max);
        let widened = (unseen > 0.0).then(|| {
            format!(
                "intervals also count what the log may never look at, up to {:.0}% of the picks, {worth}; where every row carries \
                 its probability, picked or not, they are narrower",
                100.0 * unseen
            )
        });
        let legend = bounded.then(|| format!("a bound takes what the log did not look at to be {worth}"));
        whys.chain(widened).chain(legend)
    }
}

fn header() -> [String; 5] {
    ["policy", "reward per pick", "minus the log", "overlap", "effective rows"].map(String::from)
}

fn cells(line: &OffPolicyLine) -> [String; 5] {
    let reward = match (line.reward_per_pick, line.bounds) {
        (Some(figure), _) => with_interval(figure),
        (None, Some(bounds)) => format!("{} to {} (bound)", short(bounds.low), short(bounds.high)),
        (None, None) => "no figure".into(),
    };
    [
        line.name.clone(),
        reward,
        line.difference_to_logged.map_or(String::new(), with_interval),
        line.overlap.map_or(String::new(), |overlap| format!("{overlap:.2}")),
        line.effective_rows.map_or(String::new(), |rows| format!("{rows:.0}")),
    ]
}

/// Ratio of an interval's sides above which it is shown by its ends instead of ±.
const UNEVEN: f64 = 1.1;

fn with_interval(estimate: Interval) -> String {
    let Interval { mean, low, high } = estimate;
    let (down, up) = (mean - low, high - mean);
    if !(down.is_finite() && up.is_finite()) || (down == 0.0 && up == 0.0) {
        short(mean)
    } else if down.max(up) <= UNEVEN * down.min(up) {
        format!("{} ± {}", short(mean), short(down.max(up)))
    } else {
        format!("{} ({} to {})", short(mean), short(low), short(high))
    }
}

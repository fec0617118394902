//! The report as an HTML page: head, advice, charts and tables.

use super::text::moment;
use super::{MissedEstimate, Report};
use jurybox_draw::{counted, escaped, page, prose, warnings};
use std::fmt::Write;

/// Maximum number of evaluators that are shown with all figures and a chart. Of more evaluators,
/// some of each kind of advice are shown and the others are folded away.
const SHOWN: usize = 24;
/// Maximum number of evaluators with the same advice that are shown then.
const OF_A_KIND: usize = 8;

impl Report {
    /// The report as a self-contained HTML page, which loads nothing and can be printed. Of many
    /// evaluators, the most useful are shown in full and the others are listed.
    pub fn to_html(&self) -> String {
        let mut body = format!("<p class=\"lead\">{}</p>", self.head());
        for sentence in self.summary.iter().cloned().chain(self.missed.as_ref().map(MissedEstimate::sentence))
        {
            let _ = write!(body, "<p class=\"advice\">{}</p>", prose(&sentence));
        }
        body += &self.overview_chart();
        body += &warnings(&self.warnings);
        body += "<h2>The evaluators</h2>";
        body += &self.evaluator_table();
        body += &self.policy_table();
        body += &self.reviewers_as_html();
        body += &self.top_counts();
        body += &self.redundancy();
        body += &self.curves();
        page("Which evaluators to trust", &body)
    }

    /// The head: files, numbers of rows, time and program.
    fn head(&self) -> String {
        let rewards = match &self.reward {
            Some(column) => format!("{} with a reward in <b>{}</b>", self.labelled, escaped(column)),
            None => "no rewards".into(),
        };
        let made = self.made_at.as_deref().map_or(String::new(), |at| format!(" {}", moment(at)));
        format!(
            "<b>{}</b>: {}, {rewards}; {}. Gains, noise and weights come from {}. Made{} by {}.",
            escaped(&self.about()),
            counted(self.rows, "row"),
            counted(self.evaluators.len() as u64, "evaluator"),
            escaped(&self.from.to_string()),
            escaped(&made),
            escaped(&self.made_by)
        )
    }

    /// The first file and the number of others.
    pub(super) fn about(&self) -> String {
        match &self.files[..] {
            [] => String::new(),
            [one] => one.clone(),
            [first, rest @ ..] => format!("{first} and {}", counted(rest.len() as u64, "more file")),
        }
    }

    /// The shown and the folded-away evaluators, both in the order of usefulness.
    pub(super) fn shown(&self) -> (Vec<usize>, Vec<usize>) {
        let order = self.by_use();
        if order.len() <= SHOWN {
            return (order, Vec::new());
        }
        let (mut shown, mut folded, mut of_this_kind) = (Vec::new(), Vec::new(), 0);
        for (place, &at) in order.iter().enumerate() {
            let kind = |at: usize| self.evaluators[at].advice;
            of_this_kind = if place > 0 && kind(order[place - 1]) == kind(at) { of_this_kind + 1 } else { 1 };
            if of_this_kind <= OF_A_KIND && shown.len() < SHOWN { &mut shown } else { &mut folded }.push(at);
        }
        (shown, folded)
    }

    /// The number of sampled rows with the same scores as another row, in words.
    pub(super) fn duplicates_summary(&self) -> String {
        format!("{} of {} rows have the same scores as another one", self.duplicate_scores, self.sampled)
    }
}

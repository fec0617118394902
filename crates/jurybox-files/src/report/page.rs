//! The report as a page: what it is about, what to do, pictures, and the figures behind them.

use super::text::moment;
use super::{MissedEstimate, Report};
use jurybox_draw::{counted, escaped, page, prose, warnings};
use std::fmt::Write;

/// Evaluators that are shown with all their figures and a picture; where there are more, some of every kind of advice are, and the
/// rest of them is folded away, in few words.
const SHOWN: usize = 24;
/// Of a kind.
const OF_A_KIND: usize = 8;

impl Report {
    /// A self-contained page: nothing is loaded from elsewhere, and it prints. However many evaluators there are, it can be
    /// opened: those of most use are shown, the others are listed.
    pub fn to_html(&self) -> String {
        let mut body = format!("<p class=\"lead\">{}</p>", self.head());
        for sentence in self.summary.iter().cloned().chain(self.missed.as_ref().map(MissedEstimate::sentence)) {
            let _ = write!(body, "<p class=\"advice\">{}</p>", prose(&sentence));
        }
        body += &self.glance();
        body += &warnings(&self.warnings);
        body += "<h2>The evaluators</h2>";
        body += &self.evaluator_table();
        body += &self.policy_table();
        body += &self.reviewers_as_html();
        body += &self.catches();
        body += &self.redundancy();
        body += &self.curves();
        page("Which evaluators to trust", &body)
    }

    /// What it is about, when and by what it was made.
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
            escaped(self.from),
            escaped(&made),
            escaped(&self.made_by)
        )
    }

    /// The files in a few words.
    pub(super) fn about(&self) -> String {
        match &self.files[..] {
            [] => String::new(),
            [one] => one.clone(),
            [first, rest @ ..] => format!("{first} and {}", counted(rest.len() as u64, "more file")),
        }
    }

    /// The evaluators that are shown, and those that are folded away, both in the order of their use.
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

    /// How many rows have a twin, in words.
    pub(super) fn twins_said(&self) -> String {
        format!("{} of {} rows have a twin with the same scores", self.duplicate_scores, self.sampled)
    }
}

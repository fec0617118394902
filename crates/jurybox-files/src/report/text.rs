//! The report as plain text for the terminal.

use super::{MissedEstimate, Report};
use crate::terminal::{plain, push_line};
use jurybox::Interval;
use jurybox_draw::{counted, short};

impl Report {
    /// The report as plain text: advice, evaluators in the order of usefulness, and warnings. With
    /// a state, the weights are the learnt ones.
    pub fn to_table(&self) -> String {
        let width =
            self.evaluators.iter().map(|e| clipped(&e.name).chars().count()).max().unwrap_or(0).max(9);
        let made = self.made_at.as_deref().map_or(String::new(), |at| format!(" {}", moment(at)));
        let mut text = String::new();
        push_line(
            &mut text,
            &format!(
                "{}: {}, {} with a reward; from {}; made{made} by {}",
                self.about(),
                counted(self.rows, "row"),
                self.labelled,
                self.from,
                self.made_by
            ),
        );
        if self.policy.of_state {
            push_line(
                &mut text,
                &format!("weights: what `{}` has learnt from {}", self.policy.name, self.policy.from),
            );
        }
        for sentence in self.summary.iter().cloned().chain(self.missed.as_ref().map(MissedEstimate::sentence))
        {
            push_line(&mut text, &sentence);
        }
        push_line(
            &mut text,
            &format!(
                "{:width$}  {:11}  {:>26}  {:>8} {:>8} {:>8} {:>26} {:>8}",
                "evaluator", "what to do", "weight", "gain", "offset", "noise", "correlation", "coverage"
            ),
        );
        let some = |value: Option<f64>| value.map_or("–".into(), short);
        for at in self.by_use() {
            let about = &self.evaluators[at];
            push_line(
                &mut text,
                &format!(
                    "{:width$}  {:11}  {:>26}  {:>8} {:>8} {:>8} {:>26} {:>7.0}%",
                    clipped(&about.name),
                    about.advice.word(),
                    self.weight_text(at),
                    some(about.gain),
                    some(about.offset),
                    some(about.noise),
                    interval(about.correlation),
                    100.0 * about.coverage
                ),
            );
        }
        if let Some(effective) = self.effective_evaluators {
            push_line(
                &mut text,
                &format!("The {} count as {effective:.1} independent ones.", self.related_summary()),
            );
        }
        text += &self.reviewers_as_text();
        for warning in &self.warnings {
            push_line(&mut text, &format!("warning: {warning}"));
        }
        text
    }

    /// The evaluators that [`Report::effective_evaluators`] counts, in words.
    pub(super) fn related_summary(&self) -> String {
        let with = if self.rewarded() { "the reward" } else { "the others" };
        format!(
            "{} related to {with}",
            counted(self.evaluators.iter().filter(|about| about.is_related()).count() as u64, "evaluator")
        )
    }

    /// The weight that the state has learnt or, without a state, the weight in these rows.
    fn weight_text(&self, at: usize) -> String {
        match self.policy.weights.get(at).filter(|_| self.policy.of_state) {
            Some(weight) => match (weight.low, weight.high) {
                (Some(low), Some(high)) => interval(Some(Interval { mean: weight.mean, low, high })),
                _ => short(weight.mean),
            },
            None if self.policy.of_state => "–".into(),
            None => interval(self.evaluators[at].weight),
        }
    }
}

/// A name in one line, cut to 60 characters.
pub(super) fn clipped(name: &str) -> String {
    const MOST: usize = 60;
    let name = plain(name, false);
    if name.chars().count() <= MOST {
        return name.into_owned();
    }
    name.chars().take(MOST - 1).chain(['…']).collect()
}

/// An estimate with its interval: `0.5 [0.4, 0.6]`.
pub(super) fn interval(estimate: Option<Interval>) -> String {
    estimate.map_or("–".into(), |e| format!("{} [{}, {}]", short(e.mean), short(e.low), short(e.high)))
}

/// Shortens `2026-11-16T00:31:07Z` to `2026-11-16 00:31 UTC`.
pub(super) fn moment(iso: &str) -> String {
    match iso.split_once('T') {
        Some((day, time)) => format!("{day} {} UTC", time.get(..5).unwrap_or(time)),
        None => iso.into(),
    }
}

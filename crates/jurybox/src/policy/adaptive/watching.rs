//! Is everything still what it was, and what is kept of what is not?
//!
//! Here it is asked of the state: by the pulses of evaluators ([`drift`]), and by what is left of a
//! few labels of every span of time ([`rewards`]).

use super::Adaptive;
use super::drift::{self, Changed};
use super::model::Model;
use super::own::Own;
use super::rewards::{self, Label};
use super::turn::Turn;
use crate::estimate::{Joint, SampledRow, Statistic};
use crate::scores::Scores;

/// Rounds between two looks for news, and for what is kept.
const LOOK: f64 = 8.0;
const LOOK_TO_KEEP: f64 = 16.0;
/// What came after a change is fitted again when it has grown by a tenth: how much came before does
/// not count.
const GROWN: f64 = 1.1;

impl Adaptive {
    /// Whether there is a change that was not known then, or of which more is known now. It is
    /// looked for after every so many rounds.
    pub(super) fn has_more_news_than(&self, then: &Self) -> bool {
        if !self.options.forget || drift::rounds(&self.state.pulses) % LOOK != 0.0 {
            return false;
        }
        let turned = |of: &Self| Turn::time(of.state.turn.as_ref());
        let settled = self.state.settled.since();
        let changed = if self.steady {
            settled
        } else {
            self.changes_of_scores().last().map_or(settled, |last| last.since)
        };
        let since = changed.max(turned(self));
        let after = |of: &Self| drift::rounds_between(&of.state.pulses, since, u64::MAX);
        turned(self) > turned(then) || since > 0 && after(self) > GROWN * after(then)
    }

    /// Keeps what has changed, so that it is known when it can no longer be seen.
    pub(super) fn keep_changes(&mut self) {
        let found = self.changes_of_scores();
        self.steady = found.is_empty();
        self.state.settled.keep(&found, &self.state.pulses);
        let changed = found.last().map_or(self.state.settled.since(), |last| last.since);
        let found = Turn::of(self.glance_at_rewards(changed));
        self.state.turn = Turn::later(self.state.turn.take(), found);
    }

    /// The same, after every so many rounds.
    pub(super) fn keep_changes_now_and_then(&mut self) {
        self.steady = false;
        if drift::rounds(&self.state.pulses) % LOOK_TO_KEEP == 0.0 {
            self.keep_changes();
        }
    }

    /// What changed after what is settled.
    pub(super) fn changes_of_scores(&self) -> Vec<Changed> {
        drift::of_scores(&self.state.pulses, self.evaluators, self.state.settled.since())
    }

    /// Whether rewards mean what they meant, by a model of what was seen from a time on.
    pub(super) fn watch_rewards(&self, model: &Model, since: u64) -> Vec<Changed> {
        let rows = self.traced(since);
        let mut table: Vec<f64> =
            rows.iter().flat_map(|row| &row.values[..self.evaluators]).copied().collect();
        table.chunks_exact_mut(self.evaluators).for_each(|row| model.silence.fill(row));
        let complete = !table.iter().any(|x| x.is_nan());
        let (mut buffer, mut values) = (Vec::new(), Vec::new());
        let scores = Scores::trusted(&table, self.evaluators, complete);
        model.shared_values(&self.contexts.left_out_of(&scores, &mut buffer), &mut values);
        let looks = drift::rounds(&self.state.pulses) + model.labels;
        rewards::of_rewards(Label::all(&rows, values), &self.own(&rows), looks)
    }

    /// The same as far as can be told without a fit, after the last change that is known, which may
    /// be one of scores.
    fn glance_at_rewards(&self, changed: u64) -> Vec<Changed> {
        let since = changed.max(Turn::time(self.state.turn.as_ref()));
        let mut joint = Joint::new(self.evaluators + 1);
        let rungs = self.state.ladder.rungs().iter().filter(|rung| rung.first >= self.filed(since));
        rungs.for_each(|rung| joint.merge(&rung.value.labelled));
        let Some(value) = rewards::roughly(&joint) else { return Vec::new() };
        let rows = self.traced(since);
        let labels = Label::all(&rows, rows.iter().map(|row| value(&row.values[..self.evaluators])));
        let looks = drift::rounds(&self.state.pulses) + joint.weight();
        rewards::of_rewards(labels, &self.own(&rows), looks)
    }

    /// Whose rows these are: of which group by each context, and of which reviewer.
    fn own(&self, rows: &[SampledRow<'_>]) -> Own {
        let by_reviewer = rows.iter().map(|row| row.tag.unwrap_or(u64::MAX)).collect();
        Own::new(self.contexts.groups_of(rows).chain([by_reviewer]))
    }

    /// Labelled rows of each span of time, from a time on.
    fn traced(&self, since: u64) -> Vec<SampledRow<'_>> {
        let rows = self.state.traces.rungs().iter().flat_map(|rung| rung.value.rows());
        rows.filter(|row| row.clock >= since).collect()
    }
}

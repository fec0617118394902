//! Of all that was seen, what is fitted, and in which order?
//!
//! What the present still resembles, and nothing older than the last change. First what all items share, by straight lines and curves;
//! then what groups and reviewers have of their own, each read from what the others leave; then levels and trees, on rewards
//! from which the reviewers have been taken out.

use super::Adaptive;
use super::doubts;
use super::groups::Groups;
use super::kept::Kept;
use super::landscape::Landscape;
use super::levels;
use super::looks::Looks;
use super::model::Model;
use super::options::Curve;
use super::posterior::Posterior;
use super::state::Block;
use super::turn::Turn;
use crate::estimate::{Joint, SampledRow, Statistic};

impl Adaptive {
    /// Fits what the present still resembles.
    pub(super) fn fit_present(&self, into: &mut Posterior) {
        let (changed, mut alarms) = self.state.settled.with(&self.changes_of_scores());
        let turned = Turn::time(self.state.turn.as_ref());
        alarms.extend(self.state.turn.iter().flat_map(Turn::alarms).cloned());
        let (since, mut labels_since) =
            if self.options.forget { (changed, changed.max(turned)) } else { (0, 0) };
        let mut model = self.model(since, labels_since);
        let of_rewards = self.watch_rewards(&model, changed.max(turned));
        let found = of_rewards.last().map_or(0, |last| last.since);
        alarms.extend(of_rewards.into_iter().flat_map(|change| change.alarms));
        if self.options.forget && found > labels_since {
            labels_since = found;
            model = self.model(since, labels_since);
        }
        let tick = self.options.tick.get();
        for alarm in &mut alarms {
            (alarm.since, alarm.until) = (alarm.since.saturating_mul(tick), alarm.until.saturating_mul(tick));
        }
        let doubts = doubts::of(&model, self.labelled(labels_since));
        let looks = if self.options.looks {
            Looks::of(&model.landscape, &self.labelled(labels_since), model.labels)
        } else {
            Looks::default()
        };
        into.set(model, alarms, doubts, looks);
    }

    /// Labelled rows of the sample, from a time on.
    fn labelled(&self, since: u64) -> impl Iterator<Item = SampledRow<'_>> + Clone {
        self.state.labelled.rows().filter(move |row| row.clock >= since)
    }

    /// The model of the scores seen from a time on, and of the labels from one that is no earlier.
    fn model(&self, scores_since: u64, labels_since: u64) -> Model {
        let contexts = self.contexts.columns();
        let mut whole = Block::new(self.evaluators);
        for rung in self.state.ladder.rungs() {
            if rung.first >= scores_since {
                whole.scores.merge(&rung.value.scores);
            }
            if rung.first >= labels_since {
                whole.labelled.merge(&rung.value.labelled);
            }
        }
        let unlabelled = self.state.unlabelled.rows().filter(|row| row.clock >= scores_since);
        let blocks = match self.options.curve {
            Curve::Linear => 1,
            Curve::Ranks => 2,
            Curve::Spline => 4,
        };
        let landscape = Landscape::new(&whole.scores, &unlabelled, blocks);
        // Far from all that was seen (a verdict may come before its item's round is whole) a row says nothing, and its squares would say all.
        let far = |row: &SampledRow<'_>| landscape.is_far(&row.values[..self.evaluators]);
        let seen = self.labelled(labels_since).any(|row| far(&row)).then(|| landscape.clone());
        let near = |row: &SampledRow<'_>| {
            seen.as_ref().is_none_or(|seen| !seen.is_far(&row.values[..self.evaluators]))
        };
        let labelled = self.labelled(labels_since).filter(near);
        if seen.is_some() {
            whole.labelled = Joint::new(self.evaluators + 1);
        }
        let kept = Kept::of(labelled.clone());
        let mut model = Model::fit(landscape, &kept, &whole.labelled);
        // What a group explains is no severity of who judges it.
        model.groups = Groups::of(&model, contexts, kept.rows());
        let (mut model, corrected) = model.with_reviewers(contexts, &labelled);
        let on_levels = corrected.as_ref().and_then(|rows| {
            let levels =
                levels::levels_of(labelled.clone().map(|row| (row.values[self.evaluators], row.weight)));
            levels.map(|levels| rows.on_levels(&levels))
        });
        let judged = on_levels.as_ref().or(corrected.as_ref()).map(|rows| Kept::of(rows.rows()));
        if let (Some(_), Some(rows)) = (&on_levels, &judged) {
            // Rewards that are to come are levels, which corrected ones lie between.
            model.expect_around(rows);
        }
        let mut rewards = labelled.clone().map(|row| row.values[self.evaluators]);
        let first = rewards.next();
        model.alike = rewards.all(|reward| Some(reward) == first);
        if self.options.draws > 0 {
            model.draw(self.options.draws as usize);
        } else if self.options.levels && self.options.curve == Curve::Spline {
            match (&judged, &on_levels) {
                (None, _) => model.fit_levels(&kept, unlabelled),
                (Some(rows), Some(_)) => model.fit_levels(rows, unlabelled),
                (Some(_), None) => {}
            }
        }
        let judged = judged.as_ref().unwrap_or(&kept);
        if self.options.trees && self.options.draws == 0 && self.options.curve == Curve::Spline {
            model.fit_trees(judged);
        }
        model.groups = Groups::of(&model, contexts, judged.rows());
        model
    }
}

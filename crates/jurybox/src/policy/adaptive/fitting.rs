//! Of all that was seen, what is fitted, and in which order?
//!
//! What the present still resembles, and nothing older than the last change. First what all items
//! share, by straight lines and curves; then what groups and reviewers have of their own, each read
//! from what the others leave; then levels and trees, on rewards from which the reviewers have been
//! taken out.

use super::Adaptive;
use super::diagnostics;
use super::groups::Groups;
use super::kept::Kept;
use super::landscape::Landscape;
use super::levels;
use super::looks::Looks;
use super::model::Model;
use super::options::Curve;
use super::posterior::Posterior;
use super::silence::Heard;
use super::turn::Turn;
use crate::estimate::{Joint, Moments, SampledRow, Statistic};

impl Adaptive {
    /// Fits what the present still resembles.
    pub(super) fn fit_present(&self, into: &mut Posterior) {
        let (changed, mut alarms) = self.state.settled.with(&self.changes_of_scores());
        let turned = Turn::time(self.state.turn.as_ref());
        alarms.extend(self.state.turn.iter().flat_map(Turn::alarms).cloned());
        let (since, mut labels_since) =
            if self.options.forget { (changed, changed.max(turned)) } else { (0, 0) };
        let heard = self.heard(since);
        let mut model = self.model(&heard, since, labels_since);
        let of_rewards = self.watch_rewards(&model, changed.max(turned));
        let found = of_rewards.last().map_or(0, |last| last.since);
        alarms.extend(of_rewards.into_iter().flat_map(|change| change.alarms));
        if self.options.forget && found > labels_since {
            labels_since = found;
            model = self.model(&heard, since, labels_since);
        }
        let tick = self.options.tick.get();
        for alarm in &mut alarms {
            (alarm.since, alarm.until) = (alarm.since.saturating_mul(tick), alarm.until.saturating_mul(tick));
        }
        let diagnostics = diagnostics::of(&model, labelled(&heard, labels_since));
        let looks = if self.options.looks {
            Looks::of(&model.landscape, &labelled(&heard, labels_since), model.labels)
        } else {
            Looks::default()
        };
        into.set(model, alarms, diagnostics, looks);
    }

    /// What was seen from a time on.
    fn heard(&self, since: u64) -> Heard<'_> {
        let mut scores = Moments::new(self.evaluators);
        let rungs = self.state.ladder.rungs().iter().filter(|rung| rung.first >= since);
        rungs.for_each(|rung| scores.merge(&rung.value.scores));
        Heard::of(scores, since, &self.state.unlabelled, &self.state.labelled)
    }

    /// The moments of the labels from a time on whose rows are complete.
    fn complete(&self, heard: &Heard<'_>, since: u64) -> Joint {
        let mut complete = Joint::new(self.evaluators + 1);
        let rungs = self.state.ladder.rungs().iter().filter(|rung| rung.first >= since);
        rungs.for_each(|rung| complete.merge(&rung.value.labelled));
        if !heard.silence.is_none() {
            let is_complete = |row: &SampledRow<'_>| row.values.iter().all(|x| !x.is_nan());
            // What silence has completed was in the sample alone.
            let rows = self.state.labelled.rows().zip(heard.labelled.rows());
            for (before, row) in rows.filter(|(_, row)| row.clock >= since) {
                if is_complete(&row) && !is_complete(&before) {
                    let mut values = row.values.to_vec();
                    self.contexts.blank(&mut values);
                    complete.add(&values, row.weight);
                }
            }
        }
        complete
    }

    /// The model of the scores seen from a time on, and of the labels from one that is no earlier.
    fn model(&self, heard: &Heard<'_>, scores_since: u64, labels_since: u64) -> Model {
        let contexts = self.contexts.columns();
        let mut complete = self.complete(heard, labels_since);
        let unlabelled = heard.unlabelled.rows().filter(|row| row.clock >= scores_since);
        let blocks = match self.options.curve {
            Curve::Linear => 1,
            Curve::Ranks => 2,
            Curve::Spline => 4,
        };
        let landscape = Landscape::new(&heard.scores, &unlabelled, blocks);
        // Far from all that was seen (a verdict may come before its item's round is whole) a row
        // says nothing, and its squares would say all.
        let far = |row: &SampledRow<'_>| landscape.is_far(&row.values[..self.evaluators]);
        let seen = labelled(heard, labels_since).any(|row| far(&row)).then(|| landscape.clone());
        let near = |row: &SampledRow<'_>| {
            seen.as_ref().is_none_or(|seen| !seen.is_far(&row.values[..self.evaluators]))
        };
        let labelled = labelled(heard, labels_since).filter(near);
        if seen.is_some() {
            complete = Joint::new(self.evaluators + 1);
        }
        let kept = Kept::of(labelled.clone());
        let mut model = Model::fit(landscape, &kept, &complete);
        model.silence = heard.silence.clone();
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

/// Labelled rows of the sample, from a time on.
fn labelled<'a>(heard: &'a Heard<'_>, since: u64) -> impl Iterator<Item = SampledRow<'a>> + Clone {
    heard.labelled.rows().filter(move |row| row.clock >= since)
}

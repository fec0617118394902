//! The entrants of a replay: the policies under test, and the references to compare them with.

use super::duplicate_scores::DuplicateScores;
use super::fixed_rules::{FixedRulePicker, RankingRule};
use super::pickers::{JuryPicker, RewardScaling, RowPicker, jury_for};
use super::regressions::{RegressionKind, RegressionPicker, ridge_of};
use super::review_log::at_mean_if_missing;
use super::schedule::{RowSchedule, ScheduleStage};
use super::{ReplayOptions, ReviewLog};
use crate::error::Error;
use jurybox::{Jury, Needs};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::{Arc, OnceLock};

/// Number of folds of the hindsight regression.
const HINDSIGHT_FOLDS: usize = 5;
/// How often the folds of the hindsight regression are drawn in a run.
const HINDSIGHT_SPLITS: usize = 3;

/// The reference that ranks by the best single evaluator is named `best-single(NAME)`.
pub(super) const BEST_SINGLE: &str = "best-single";

/// An entrant with its name in the results.
pub(crate) struct Entrant {
    pub(crate) name: String,
    kind: EntrantKind,
}

enum EntrantKind {
    /// A policy, which begins as this jury.
    Policy(Box<Jury>, RewardScaling),
    /// Fixed weights from the options.
    Weights(Vec<f64>),
    Reference(RankingRule),
    /// One evaluator's scores. Results show the best of these entrants.
    Single(usize),
    RegressionPicker(RegressionKind),
    /// The reference [`hindsight`]. Its groups of rows are the same in all runs.
    Hindsight(OnceLock<HindsightGroups>),
}

impl Entrant {
    /// Whether the options asked for it; otherwise it is a reference.
    pub(crate) fn is_policy(&self) -> bool {
        matches!(self.kind, EntrantKind::Policy(..) | EntrantKind::Weights(_))
    }

    /// Whether it is a policy that learns only from its own picks.
    pub(crate) fn needs_receipts(&self) -> bool {
        let EntrantKind::Policy(jury, _) = &self.kind else { return false };
        jury.spec().entry().is_some_and(|entry| entry.needs != Needs::Nothing)
    }

    /// The jury that a policy begins as. None for all other entrants.
    pub(crate) fn jury(&self) -> Option<&Jury> {
        if let EntrantKind::Policy(jury, _) = &self.kind { Some(jury) } else { None }
    }

    /// Whether it is `best`, which ranks by the rewards themselves.
    pub(crate) fn knows_all(&self) -> bool {
        matches!(self.kind, EntrantKind::Reference(RankingRule::Known(_)))
    }

    /// Position of the evaluator whose scores it ranks by. None for all other entrants.
    pub(crate) fn single(&self) -> Option<usize> {
        if let EntrantKind::Single(evaluator) = self.kind { Some(evaluator) } else { None }
    }

    /// The value of each row to `hindsight`, from the rewards of the run. None for other entrants.
    pub(crate) fn hindsight_values(
        &self,
        log: &ReviewLog,
        options: &ReplayOptions,
        schedule: &RowSchedule,
        run: usize,
    ) -> Option<Arc<[f64]>> {
        let stream = || {
            let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
            // No stream of a run has so high a number.
            rng.set_stream(u64::MAX - run as u64);
            rng
        };
        let EntrantKind::Hindsight(groups) = &self.kind else { return None };
        let groups = groups.get_or_init(|| HindsightGroups::of(log));
        Some(hindsight(log, schedule, groups, &mut stream()).into())
    }

    /// A new picker for a stage. `known` has the values of `hindsight`. Set `again` if rows come
    /// back.
    pub(crate) fn player(
        &self,
        log: &ReviewLog,
        known: Option<&Arc<[f64]>>,
        again: bool,
    ) -> Box<dyn RowPicker> {
        match &self.kind {
            EntrantKind::Policy(jury, scale) => {
                Box::new(JuryPicker::new(jury.as_ref().clone(), *scale, log, again))
            }
            EntrantKind::Weights(weights) => {
                Box::new(FixedRulePicker::new(RankingRule::Weights(weights.clone()), log))
            }
            EntrantKind::Reference(value) => Box::new(FixedRulePicker::new(value.clone(), log)),
            EntrantKind::Single(evaluator) => {
                Box::new(FixedRulePicker::new(RankingRule::Single(*evaluator), log))
            }
            EntrantKind::RegressionPicker(kind) => Box::new(RegressionPicker::new(*kind, log)),
            EntrantKind::Hindsight(_) => {
                Box::new(FixedRulePicker::new(RankingRule::Known(known.cloned().unwrap_or_default()), log))
            }
        }
    }
}

/// The policies, states and weights of the options, then the references, each name once.
pub(crate) fn entrants(
    log: &ReviewLog,
    options: &ReplayOptions,
    rounds: usize,
) -> Result<Vec<Entrant>, Error> {
    if options.policies.is_empty() && options.states.is_empty() && options.weights.is_none() {
        return Err(Error::setting("policies", "none", "name at least one policy, a state or weights"));
    }
    let scale = RewardScaling::of(log);
    let mut list: Vec<Entrant> = Vec::new();
    let mut add = |name: String, kind: EntrantKind| {
        if list.iter().all(|other| other.name != name) {
            list.push(Entrant { name, kind });
        }
    };
    for spec in &options.policies {
        add(spec.to_string(), EntrantKind::Policy(Box::new(jury_for(spec, log, rounds)?), scale));
    }
    for (shown, (name, jury)) in options.state_names().zip(&options.states) {
        check_state(name, jury, log)?;
        // A state was taught rewards in the unit of the file, so that they are not scaled.
        add(shown, EntrantKind::Policy(Box::new(jury.clone()), RewardScaling::NONE));
    }
    if let Some(weights) = &options.weights {
        if weights.len() != log.width() {
            let reason = format!("there are {} evaluators", log.width());
            return Err(Error::setting("weights", weights.len(), reason));
        }
        let pairs = log.evaluators.names().zip(weights).filter(|(_, weight)| **weight != 0.0);
        let shown: Vec<String> = pairs.map(|(name, weight)| format!("{name}={weight}")).collect();
        add(format!("weights({})", shown.join(",")), EntrantKind::Weights(weights.clone()));
    }
    for (name, value) in [
        ("average", RankingRule::Average),
        ("z-mean", RankingRule::ZMean),
        ("rank-mean", RankingRule::RankMean),
    ] {
        add(name.into(), EntrantKind::Reference(value));
    }
    for (evaluator, name) in log.evaluators.names().enumerate() {
        add(format!("{BEST_SINGLE}({name})"), EntrantKind::Single(evaluator));
    }
    add("ridge".into(), EntrantKind::RegressionPicker(RegressionKind::Ridge));
    add("logistic".into(), EntrantKind::RegressionPicker(RegressionKind::Logistic));
    add("hindsight".into(), EntrantKind::Hindsight(OnceLock::new()));
    add("best".into(), EntrantKind::Reference(RankingRule::Known(log.rewards.as_slice().into())));
    Ok(list)
}

/// Errors if a state was learnt over evaluators other than the log's, with or without contexts.
pub(crate) fn check_state(name: &str, jury: &Jury, log: &ReviewLog) -> Result<(), Error> {
    if [&log.evaluators, log.with_contexts()].contains(&jury.evaluators()) {
        return Ok(());
    }
    let (learnt, here) = (jury.evaluators(), log.with_contexts());
    let reason = format!("it was learnt over the evaluators {learnt}; this table has {here}");
    Err(Error::setting("state", name, reason))
}

/// Rows that the hindsight regression must keep out of each other's training.
///
/// Each vector has a group number for every row, which is the number of one of the group's rows.
struct HindsightGroups {
    /// Rows that are always in one fold: those of a round of the file. Without rounds, those of a
    /// group in `copies`.
    fold: Vec<usize>,
    /// Rows with the same scores or of one item. Scores that more than a fifth of all rows have do
    /// not count.
    copies: Vec<usize>,
}

impl HindsightGroups {
    fn of(log: &ReviewLog) -> HindsightGroups {
        let copies = DuplicateScores::of(log).units_with_items(&log.items, log.rows() / HINDSIGHT_FOLDS);
        let mut fold = copies.clone();
        for rows in &log.rounds {
            rows.iter().for_each(|&row| fold[row] = rows[0]);
        }
        HindsightGroups { fold, copies }
    }

    /// The rows of `shown` that a regression may learn from to value the rows of a fold. They are
    /// outside the fold and not copies of rows in it.
    ///
    /// If that would leave fewer than half of the rows whose item is outside the fold, scores are
    /// coarse, and equal ones no sign of a copy. Then only rows of an item in the fold are left
    /// out.
    fn training_rows(
        &self,
        log: &ReviewLog,
        shown: &[usize],
        is_in_fold: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let outside = |group: &dyn Fn(usize) -> usize| -> Vec<usize> {
            let mut in_fold = vec![false; log.rows()];
            shown.iter().filter(|&&row| is_in_fold(row)).for_each(|&row| in_fold[group(row)] = true);
            shown.iter().copied().filter(|&row| !in_fold[group(row)] && !is_in_fold(row)).collect()
        };
        let (items, copies) = (outside(&|row| log.items.of_row(row)), outside(&|row| self.copies[row]));
        if 2 * copies.len() < items.len() { items } else { copies }
    }
}

/// The value of each row to the reference `hindsight`: a prediction by ridge regression on the
/// run's rows in other folds. Predictions are summed over several draws of the folds.
///
/// Predictions are standardised over the run's rows, since the regressions of different folds
/// differ in scale. If a fold holds many of the rare high rewards, few are left to learn from and
/// slopes are flat. Without scaling, the rows of that fold would come last.
fn hindsight(
    log: &ReviewLog,
    schedule: &RowSchedule,
    groups: &HindsightGroups,
    rng: &mut ChaCha8Rng,
) -> Vec<f64> {
    let width = log.width();
    let mut shown = vec![false; log.rows()];
    for stage in &schedule.stages {
        match stage {
            ScheduleStage::Pool { rows, .. } => rows.iter().for_each(|&row| shown[row] = true),
            ScheduleStage::Rounds(rounds) => rounds.iter().flatten().for_each(|&row| shown[row] = true),
            ScheduleStage::Fold { rest, rounds } => {
                rest.iter().chain(rounds.iter().flatten()).for_each(|&row| shown[row] = true);
            }
        }
    }
    let shown: Vec<usize> = (0..log.rows()).filter(|&row| shown[row]).collect();
    // Standardised row by row: a copy of the whole log in every thread would be too large.
    let standard = log.standard();
    let filled = |row: usize, scores: &mut Vec<f64>| {
        scores.clear();
        log.push_row(row, scores);
        let cells = scores.iter_mut().enumerate();
        cells.for_each(|(evaluator, x)| *x = at_mean_if_missing(standard.of(evaluator, *x)));
    };
    let mut values = vec![0.0; log.rows()];
    for _ in 0..HINDSIGHT_SPLITS {
        let drawn: Vec<u8> = (0..log.rows()).map(|_| rng.random_range(0..HINDSIGHT_FOLDS) as u8).collect();
        let fold = |row: usize| usize::from(drawn[groups.fold[row]]);
        for out in 0..HINDSIGHT_FOLDS {
            let training = groups.training_rows(log, &shown, |row| fold(row) == out);
            let fit = ridge_of(width, |see| {
                let mut scores = Vec::with_capacity(width);
                for &row in &training {
                    filled(row, &mut scores);
                    see(&scores, log.rewards[row]);
                }
            });
            let Some(fit) = fit else { continue };
            let mut scores = Vec::with_capacity(width);
            // Without the intercept, which is higher if the fold left out has low rewards.
            let mut value = |row: usize| {
                filled(row, &mut scores);
                scores.iter().zip(&fit.slopes).map(|(x, slope)| x * slope).sum::<f64>()
            };
            let of_shown: Vec<f64> = shown.iter().map(|&row| value(row)).collect();
            let count = of_shown.len() as f64;
            let mean = of_shown.iter().sum::<f64>() / count;
            let spread = (of_shown.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count).sqrt();
            if spread > 0.0 {
                let mine = shown.iter().zip(&of_shown).filter(|(row, _)| fold(**row) == out);
                mine.for_each(|(&row, v)| values[row] += (v - mean) / spread);
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use jurybox::Evaluators;

    /// Sixty rows in pairs of equal scores, which lie in different rounds. In each pair only one
    /// evaluator has a score of 1, so that a model of one row knows the reward of the other.
    #[test]
    fn a_copy_in_another_round_tells_hindsight_nothing() {
        const PAIRS: usize = 30;
        let scores =
            (0..2 * PAIRS).flat_map(|row| (0..PAIRS).map(move |j| f64::from(u8::from(j == row % PAIRS))));
        let log = ReviewLog {
            scores: scores.collect(),
            rewards: (0..2 * PAIRS).map(|row| f64::from(u8::from((row % PAIRS).is_multiple_of(3)))).collect(),
            rounds: (0..12).map(|round| (5 * round..5 * round + 5).collect()).collect(),
            ..ReviewLog::of(Evaluators::numbered(PAIRS).unwrap())
        };
        let groups = HindsightGroups::of(&log);
        let all: Vec<usize> = (0..log.rows()).collect();
        // The fold is the rounds that begin at rows 0 and 45. Their copies are rows 30 to 34 and 15
        // to 19.
        let is_in_fold = |row: usize| row < 5 || (45..50).contains(&row);
        let training = groups.training_rows(&log, &all, is_in_fold);
        assert_eq!(training.len(), 40);
        assert!(training.iter().all(|row| !(30..35).contains(row) && !(15..20).contains(row)));
        // The rows of a round stay together.
        assert!(log.rounds.iter().all(|rows| rows.iter().all(|&row| groups.fold[row] == rows[0])));
        // Every row outside the fold is a copy of one in it: equal scores are no sign of a copy.
        let coarse = groups.training_rows(&log, &all, |row| row < PAIRS);
        assert_eq!(coarse.len(), PAIRS);
    }
}

//! Who enters a replay: the policies asked for, and what to hold them against.

use super::duplicate_scores::DuplicateScores;
use super::fixed_rules::{FixedRulePicker, RankingRule};
use super::pickers::{JuryPicker, RewardScale, RowPicker, jury_for};
use super::regressions::{RegressionKind, RegressionPicker, ridge_of};
use super::review_log::at_mean_if_missing;
use super::schedule::{RowSchedule, Stage};
use super::{ReplayOptions, ReviewLog};
use crate::error::Error;
use jurybox::{Jury, Needs};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::{Arc, OnceLock};

/// Folds of the regression that knows all other labels.
const HINDSIGHT_FOLDS: usize = 5;
/// How often these folds are drawn anew; a row's value is the mean.
const HINDSIGHT_SPLITS: usize = 3;

/// What the evaluator is called that does best alone; its name follows in parentheses where there is one.
pub(super) const BEST_SINGLE: &str = "best-single";

/// A name, and who plays under it.
pub(crate) struct Entrant {
    pub(crate) name: String,
    kind: EntrantKind,
}

enum EntrantKind {
    /// Begins as this jury is.
    Policy(Box<Jury>, RewardScale),
    /// Fixed weights that a person gave.
    Weights(Vec<f64>),
    Reference(RankingRule),
    /// One of the evaluators: the best of them is shown.
    Single(usize),
    RegressionPicker(RegressionKind),
    /// With which rows must not be parted, for each: found once, for all runs.
    Hindsight(OnceLock<Vec<usize>>),
}

impl Entrant {
    /// Whether a person asked for it.
    pub(crate) fn is_policy(&self) -> bool {
        matches!(self.kind, EntrantKind::Policy(..) | EntrantKind::Weights(_))
    }

    /// Whether it learns, and only from picks of its own.
    pub(crate) fn needs_receipts(&self) -> bool {
        let EntrantKind::Policy(jury, _) = &self.kind else { return false };
        jury.spec().entry().is_some_and(|entry| entry.needs != Needs::Nothing)
    }

    /// The jury that it begins as, where it is one.
    pub(crate) fn jury(&self) -> Option<&Jury> {
        if let EntrantKind::Policy(jury, _) = &self.kind { Some(jury) } else { None }
    }

    /// Whether it knows the rewards, so that its picks are the best by construction.
    pub(crate) fn knows_all(&self) -> bool {
        matches!(self.kind, EntrantKind::Reference(RankingRule::Known(_)))
    }

    /// The evaluator that plays alone.
    pub(crate) fn single(&self) -> Option<usize> {
        if let EntrantKind::Single(evaluator) = self.kind { Some(evaluator) } else { None }
    }

    /// What is known of each row before the first round, by looking where no policy may look.
    pub(crate) fn knows_beforehand(
        &self,
        log: &ReviewLog,
        options: &ReplayOptions,
        schedule: &RowSchedule,
        run: usize,
    ) -> Option<Arc<[f64]>> {
        let stream = || {
            let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
            // Far beyond the runs' own streams.
            rng.set_stream(u64::MAX - run as u64);
            rng
        };
        let EntrantKind::Hindsight(units) = &self.kind else { return None };
        let units = units.get_or_init(|| indivisible_units(log));
        Some(hindsight(log, schedule, units, &mut stream()).into())
    }

    /// The player at the beginning of a stage; say whether rows come back `again`.
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

/// All that enter: first what was asked for, each name once, then the references that nobody asked for.
pub(crate) fn entrants(
    log: &ReviewLog,
    options: &ReplayOptions,
    rounds: usize,
) -> Result<Vec<Entrant>, Error> {
    if options.policies.is_empty() && options.states.is_empty() && options.weights.is_none() {
        return Err(Error::setting("policies", "none", "name at least one, or a state, or weights"));
    }
    let scale = RewardScale::of(log);
    let mut list: Vec<Entrant> = Vec::new();
    let mut add = |name: String, kind: EntrantKind| {
        if list.iter().all(|other| other.name != name) {
            list.push(Entrant { name, kind });
        }
    };
    for spec in &options.policies {
        add(spec.to_string(), EntrantKind::Policy(Box::new(jury_for(spec, log, rounds)?), scale));
    }
    for (name, jury) in &options.states {
        check_state(name, jury, log)?;
        // A state goes on with rewards as the file has them: that is how it was taught.
        add(name.clone(), EntrantKind::Policy(Box::new(jury.clone()), RewardScale::NONE));
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

/// A state is of use only for the evaluators it was learnt over.
pub(crate) fn check_state(name: &str, jury: &Jury, log: &ReviewLog) -> Result<(), Error> {
    if [&log.evaluators, log.with_contexts()].contains(&jury.evaluators()) {
        return Ok(());
    }
    let (learnt, here) = (jury.evaluators(), log.with_contexts());
    let reason = format!("it was learnt over the evaluators {learnt}; this table has {here}");
    Err(Error::setting("state", name, reason))
}

/// For each row, what stays with it when rows are parted in folds, as the number of one of its rows: the file's own rounds, and rows with
/// the same scores or of one item.
fn indivisible_units(log: &ReviewLog) -> Vec<usize> {
    let mut unit: Vec<usize> =
        DuplicateScores::of(log).units_with_items(&log.items, log.rows() / HINDSIGHT_FOLDS);
    for rows in &log.rounds {
        rows.iter().for_each(|&row| unit[row] = rows[0]);
    }
    unit
}

/// What a ridge regression on all *other* rows of the run predicts for each row: out of fold, so that no row speaks for
/// itself. What is not to be parted stays together.
///
/// Regressions of different folds are brought to one scale, the spread of what each predicts of the run's rows: a
/// fold that holds many of a rare yes leaves the others few of them and flat slopes, so that on the raw scale its own
/// rows would come last. Folds are drawn anew for every run, several times.
fn hindsight(log: &ReviewLog, schedule: &RowSchedule, unit: &[usize], rng: &mut ChaCha8Rng) -> Vec<f64> {
    let width = log.width();
    let mut shown = vec![false; log.rows()];
    for stage in &schedule.stages {
        match stage {
            Stage::Pool { rows, .. } => rows.iter().for_each(|&row| shown[row] = true),
            Stage::Rounds(rounds) => rounds.iter().flatten().for_each(|&row| shown[row] = true),
            Stage::Fold { rest, rounds } => {
                rest.iter().chain(rounds.iter().flatten()).for_each(|&row| shown[row] = true);
            }
        }
    }
    let shown: Vec<usize> = (0..log.rows()).filter(|&row| shown[row]).collect();
    // Row by row as they are wanted: all of them would be the history once more, in every run at work.
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
        let fold = |row: usize| usize::from(drawn[unit[row]]);
        for out in 0..HINDSIGHT_FOLDS {
            // An item that comes in two of the file's own rounds tells its reward in neither.
            let mut told = vec![false; log.rows()];
            let mine = shown.iter().filter(|row| fold(**row) == out);
            mine.for_each(|&row| told[log.items.of_row(row)] = true);
            let fit = ridge_of(width, |see| {
                let mut scores = Vec::with_capacity(width);
                for &row in shown.iter().filter(|&&row| !told[log.items.of_row(row)]) {
                    filled(row, &mut scores);
                    see(&scores, log.rewards[row]);
                }
            });
            let Some(fit) = fit else { continue };
            let mut scores = Vec::with_capacity(width);
            // Without the intercept: a fold that is worth less leaves the others a higher one, and would come first.
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

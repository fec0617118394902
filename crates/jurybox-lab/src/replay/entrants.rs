//! Who enters a replay: the policies asked for, and what to hold them against.

use super::by_value::{ByValue, Value};
use super::course::{Course, Stage};
use super::player::{Player, Scale, Seated, seat};
use super::retrained::{Kind, Retrained, ridge};
use super::{Log, ReplayOptions};
use crate::error::Error;
use jurybox::Jury;

/// Folds of the regression that knows all other labels.
const HINDSIGHT_FOLDS: usize = 5;

/// A name, and who plays under it.
pub(crate) struct Entrant {
    pub(crate) name: String,
    who: Who,
}

enum Who {
    /// Begins as this jury is.
    Policy(Box<Jury>, Scale),
    /// Fixed weights that a person gave.
    Weights(Vec<f64>),
    Reference(Value),
    /// One of the evaluators: the best of them is shown.
    Single(usize),
    Retrained(Kind),
    Hindsight,
}

impl Entrant {
    /// Whether a person asked for it.
    pub(crate) fn is_policy(&self) -> bool {
        matches!(self.who, Who::Policy(..) | Who::Weights(_))
    }

    /// The evaluator that plays alone.
    pub(crate) fn single(&self) -> Option<usize> {
        if let Who::Single(evaluator) = self.who { Some(evaluator) } else { None }
    }

    /// What is known of each row before the first round, by looking where no policy may look.
    pub(crate) fn knows_beforehand(
        &self,
        log: &Log,
        options: &ReplayOptions,
        course: &Course,
    ) -> Option<Vec<f64>> {
        matches!(self.who, Who::Hindsight).then(|| hindsight(log, options.seed, course))
    }

    /// The player at the beginning of a stage.
    pub(crate) fn player(&self, log: &Log, known: Option<&[f64]>) -> Box<dyn Player> {
        match &self.who {
            Who::Policy(jury, scale) => Box::new(Seated::new(jury.as_ref().clone(), *scale, log)),
            Who::Weights(weights) => Box::new(ByValue::new(Value::Weights(weights.clone()), log)),
            Who::Reference(value) => Box::new(ByValue::new(value.clone(), log)),
            Who::Single(evaluator) => Box::new(ByValue::new(Value::Single(*evaluator), log)),
            Who::Retrained(kind) => Box::new(Retrained::new(*kind, log)),
            Who::Hindsight => Box::new(ByValue::new(Value::Known(known.unwrap_or_default().to_vec()), log)),
        }
    }
}

/// All that enter: first what was asked for, each name once, then the references that nobody asked for.
pub(crate) fn entrants(log: &Log, options: &ReplayOptions, rounds: usize) -> Result<Vec<Entrant>, Error> {
    if options.policies.is_empty() && options.states.is_empty() && options.weights.is_none() {
        return Err(Error::setting("policies", "none", "name at least one, or a state, or weights"));
    }
    let scale = Scale::of(log);
    let mut list: Vec<Entrant> = Vec::new();
    let mut add = |name: String, who: Who| {
        if list.iter().all(|other| other.name != name) {
            list.push(Entrant { name, who });
        }
    };
    for spec in &options.policies {
        add(spec.to_string(), Who::Policy(Box::new(seat(spec, log, rounds)?), scale));
    }
    for (name, jury) in &options.states {
        check_state(name, jury, log)?;
        // A state goes on with rewards as the file has them: that is how it was taught.
        add(name.clone(), Who::Policy(Box::new(jury.clone()), Scale::NONE));
    }
    if let Some(weights) = &options.weights {
        if weights.len() != log.width() {
            let reason = format!("there are {} evaluators", log.width());
            return Err(Error::setting("weights", weights.len(), reason));
        }
        let pairs = log.evaluators.names().zip(weights).filter(|(_, weight)| **weight != 0.0);
        let shown: Vec<String> = pairs.map(|(name, weight)| format!("{name}={weight}")).collect();
        add(format!("weights({})", shown.join(",")), Who::Weights(weights.clone()));
    }
    for (name, value) in
        [("average", Value::Average), ("z-mean", Value::ZMean), ("rank-mean", Value::RankMean)]
    {
        add(name.into(), Who::Reference(value));
    }
    for (evaluator, name) in log.evaluators.names().enumerate() {
        add(format!("best-single({name})"), Who::Single(evaluator));
    }
    add("ridge".into(), Who::Retrained(Kind::Ridge));
    add("logistic".into(), Who::Retrained(Kind::Logistic));
    add("hindsight".into(), Who::Hindsight);
    add("best".into(), Who::Reference(Value::Known(log.rewards.clone())));
    Ok(list)
}

/// A state is of use only for the evaluators it was learnt over.
pub(crate) fn check_state(name: &str, jury: &Jury, log: &Log) -> Result<(), Error> {
    if *jury.evaluators() == log.evaluators {
        return Ok(());
    }
    let (learnt, here) = (jury.evaluators(), &log.evaluators);
    let reason = format!("it was learnt over the evaluators {learnt}; this table has {here}");
    Err(Error::setting("state", name, reason))
}

/// What a ridge regression on all *other* rows of the run predicts for each row: out of fold, so that no row speaks for
/// itself. The file's own rounds stay together.
fn hindsight(log: &Log, seed: u64, course: &Course) -> Vec<f64> {
    let width = log.width();
    let mut shown = vec![false; log.rows()];
    for stage in &course.stages {
        match stage {
            Stage::Pool { rows, .. } => rows.iter().for_each(|&row| shown[row] = true),
            Stage::Rounds(rounds) => rounds.iter().flatten().for_each(|&row| shown[row] = true),
            Stage::Fold { rest, rounds } => {
                rest.iter().chain(rounds.iter().flatten()).for_each(|&row| shown[row] = true);
            }
        }
    }
    let mix = |unit: usize| {
        let mixed = (unit as u64 ^ seed.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 33) as usize % HINDSIGHT_FOLDS
    };
    let mut fold: Vec<usize> = (0..log.rows()).map(mix).collect();
    for (round, rows) in log.rounds.iter().enumerate() {
        rows.iter().for_each(|&row| fold[row] = mix(round));
    }
    let standard = log.standardised();
    let filled = |row: usize| {
        standard[row * width..(row + 1) * width].iter().map(|x| if x.is_nan() { 0.0 } else { *x })
    };
    let mut values = vec![f64::NAN; log.rows()];
    for out in 0..HINDSIGHT_FOLDS {
        let others: Vec<usize> = (0..log.rows()).filter(|&row| shown[row] && fold[row] != out).collect();
        let scores: Vec<f64> = others.iter().flat_map(|&row| filled(row)).collect();
        let rewards: Vec<f64> = others.iter().map(|&row| log.rewards[row]).collect();
        let Some(fit) = ridge(&scores, &rewards, width) else { continue };
        for row in (0..log.rows()).filter(|&row| fold[row] == out) {
            // Without the intercept: a fold that is worth less leaves the others a higher one, and would come first.
            values[row] = filled(row).zip(&fit.slopes).map(|(x, slope)| x * slope).sum();
        }
    }
    values
}

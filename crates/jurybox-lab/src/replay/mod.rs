//! Replay: how policies would have done on a table in which every row has a reward.
//!
//! A policy sees rows, picks some, gets their rewards and learns from them, as it would have
//! in use. In all protocols but `Reuse` a run reviews no row twice ([`Protocol`]), because repeated
//! rows reward memory. In these protocols rows of one id are one item ([`ItemIndex`]): no reward is
//! learnt from one row of an item and then earned with another.
//!
//! If only reviewed rows have a reward, results can only be estimated from logged probabilities:
//! see `offpolicy`.

mod duplicate_scores;
mod entrants;
mod fixed_rules;
mod item_index;
mod measure;
mod options;
mod outcome;
mod paper_replay;
mod parallel;
mod pickers;
mod picks;
mod regressions;
mod review_log;
mod row_groups;
mod run;
mod schedule;
mod show;
#[cfg(test)]
mod tests;

pub(crate) use item_index::ItemIndex;
pub use options::{Protocol, ReplayOptions};
pub use outcome::{CurvePoint, ReplayLine, ReplayOutcome};
pub(crate) use paper_replay::{Dataset, PaperReplay};
pub(crate) use parallel::{RunProgress, in_parallel};
pub(crate) use pickers::{CandidateRows, RewardScaling, jury_for};
pub(crate) use review_log::{ReviewLog, filled};
pub(crate) use row_groups::JuryView;

use crate::error::Error;
pub(crate) use entrants::check_state;
use entrants::{Entrant, entrants};
use jurybox_files::Table;
use measure::{IntervalUnit, LEAST_UNITS, ReplayMeasures};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use run::{Participant, RunResult};
use schedule::{RUNS_OF_HALVES, RewardBaselines, RowSchedule, RunSize};

/// Replays a table's history under each policy. If some rows have no reward, the outcome has no
/// figures.
///
/// ```
/// use jurybox_files::{Roles, Table};
/// use jurybox_lab::{Protocol, ReplayOptions, replay};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("history.csv");
/// let rows: String = (0..300).map(|i| format!("{},{},{}\n", i % 17, i % 5, i % 17)).collect();
/// std::fs::write(&path, format!("good,noise,verdict\n{rows}"))?;
/// let roles = Roles { reward: Some("verdict".into()), ..Roles::default() };
/// let table = Table::open(&[path], &roles, false)?;
/// let options = ReplayOptions {
///     protocol: Protocol::Pool { budget: 60 },
///     k: 5,
///     runs: 3,
///     policies: vec!["adaptive".parse()?],
///     ..ReplayOptions::default()
/// };
/// let outcome = replay(&table, &options)?;
/// assert!(outcome.policies[0].best_share.unwrap().mean > 0.8);
/// assert_eq!(outcome.line("best").unwrap().best_share.unwrap().mean, 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn replay(table: &Table, options: &ReplayOptions) -> Result<ReplayOutcome, Error> {
    let log = ReviewLog::read(table)?;
    options.check()?;
    if !log.probabilities.is_empty() {
        let column = table.roles().probability().unwrap_or_default();
        return Err(Error::setting(
            "probability",
            column,
            "a log with probabilities takes off-policy evaluation (`off_policy`)",
        ));
    }
    if log.labelled() < log.rows() {
        return Ok(unknown(&log, options));
    }
    let (outcome, chosen) = replayed(&log, options, table.threads(), RunProgress(Some(table)))?;
    if let Some(path) = &options.picks {
        picks::write(path, &chosen)?;
    }
    Ok(outcome)
}

/// The outcome without figures, for a table with missing rewards and no probabilities.
fn unknown(log: &ReviewLog, options: &ReplayOptions) -> ReplayOutcome {
    let mut outcome = ReplayOutcome::new(log, options);
    outcome.rounds = options.rounds.unwrap_or(outcome.rounds);
    outcome.method = "unknown";
    outcome.ci95_over = "rows";
    outcome.warnings.push(format!(
        "{} of {} rows have no reward, and figures from the reviewed rows alone would favour the \
         policy that chose them. No figure is given. If the probability of each row to be reviewed \
         was logged, name its column",
        log.rows() - log.labelled(),
        log.rows()
    ));
    outcome
}

/// For each policy and run: the policy's name, the run's number, and the picks of the run.
type AllChosen = Vec<(String, usize, Vec<picks::LoggedPick>)>;

/// Replays a log in which every row has a reward. The picks are empty unless options ask for them.
pub(crate) fn replayed(
    log: &ReviewLog,
    options: &ReplayOptions,
    threads: usize,
    watch: RunProgress<'_>,
) -> Result<(ReplayOutcome, AllChosen), Error> {
    let log = &log.each_item_once(options.protocol);
    let extent = RunSize::of(log, options)?;
    let entrants = entrants(log, options, extent.rounds)?;
    let over = over(log, options, &extent);
    // Runs on all rows first, then runs on halves.
    let runs = options.runs + if over == IntervalUnit::Rows { RUNS_OF_HALVES } else { 0 };
    let baselines: Vec<RewardBaselines> = in_parallel(runs, threads, RunProgress(None), |run| {
        watch.go_on()?;
        Ok(schedule(log, options, &extent, run).baselines(log, options.k))
    })?;
    // Entrants are split into groups, so that every thread gets several tasks.
    let groups = (TASKS_EACH * threads).div_ceil(runs.max(1)).clamp(1, entrants.len());
    let results = in_parallel(groups * runs, threads, watch, |task| {
        let some: Vec<&Entrant> = entrants.iter().skip(task / runs).step_by(groups).collect();
        run_together(log, options, &extent, &some, task % runs, watch)
    })?;
    let mut results: Vec<_> = results.into_iter().map(Vec::into_iter).collect();
    let mut played: Vec<(Entrant, Vec<RunResult>)> = Vec::with_capacity(entrants.len());
    for (at, entrant) in entrants.into_iter().enumerate() {
        let mine = &mut results[at % groups * runs..(at % groups + 1) * runs];
        played.push((entrant, mine.iter_mut().filter_map(Iterator::next).collect()));
    }
    let mut chosen = Vec::new();
    if options.picks.is_some() {
        for (entrant, runs) in played.iter_mut().filter(|(entrant, _)| entrant.is_policy()) {
            let picks = runs
                .iter_mut()
                .take(options.runs)
                .enumerate()
                .map(|(run, played)| (run, std::mem::take(&mut played.picks)));
            chosen.extend(picks.map(|(run, picks)| (entrant.name.clone(), run, picks)));
        }
    }
    let measures = ReplayMeasures::new(over, &baselines, options.runs, &log.rewards);
    Ok((outcome::summarize(log, options, &extent, &measures, &played), chosen))
}

/// The unit that intervals are over.
fn over(log: &ReviewLog, options: &ReplayOptions, extent: &RunSize) -> IntervalUnit {
    match options.protocol {
        Protocol::Folds(_) => IntervalUnit::Folds,
        Protocol::Rounds if !log.rounds.is_empty() || options.runs < 2 => IntervalUnit::Rounds,
        _ if extent.half.is_some() && options.runs >= LEAST_UNITS => IntervalUnit::Rows,
        _ => IntervalUnit::Runs,
    }
}

/// The schedule of a run: of all rows for the first `options.runs`, then of halves of the rows.
fn schedule(log: &ReviewLog, options: &ReplayOptions, extent: &RunSize, run: usize) -> RowSchedule {
    match (run.checked_sub(options.runs), extent.half) {
        (Some(at), Some(half)) => RowSchedule::of_half(log, options, half, at),
        _ => RowSchedule::of(log, options, run),
    }
}

/// Number of tasks per thread to aim at.
const TASKS_EACH: usize = 4;

/// Runs some entrants on the schedule of one run. The result of each entrant does not depend on the
/// others.
fn run_together<'a>(
    log: &'a ReviewLog,
    options: &ReplayOptions,
    extent: &RunSize,
    entrants: &[&'a Entrant],
    run: usize,
    watch: RunProgress<'a>,
) -> Result<Vec<RunResult>, Error> {
    let schedule = schedule(log, options, extent, run);
    let again = options.protocol == Protocol::Reuse;
    let participant = |&entrant: &&'a Entrant| -> Participant<'a> {
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        rng.set_stream(2 * run as u64 + 1);
        let known = entrant.hindsight_values(log, options, &schedule, run);
        let make = Box::new(move || entrant.player(log, known.as_ref(), again));
        let keep = options.picks.is_some() && entrant.is_policy() && run < options.runs;
        Participant { make, rng, keep }
    };
    let participants = entrants.iter().map(participant).collect();
    run::RunSimulator { log, k: options.k, watch }.play(&schedule, participants)
}

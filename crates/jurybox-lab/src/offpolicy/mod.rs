//! Off-policy evaluation: the reward of other policies, from a log of picks with their
//! probabilities. A *figure* is an estimated reward per pick that is shown with an interval.
//!
//! - `target` follows a policy along the log; the policy learns from the logged rewards, with
//!   `receipts` reconstructed from the logged probabilities;
//! - `estimators` has five estimators and bounds of the policy's reward, with the help of `model`
//!   (expected rewards) and `linearized` (intervals);
//! - `reward_count` compares the number of rewards with the logged probabilities;
//! - `verdict` decides whether the log has enough support for a figure, or only for bounds;
//! - `population` is for logs of reviewed rows only, without rounds;
//! - `outcome`, `show` and `export` have the result as a document, as a table and page, and as CSV;
//! - `coverage` and `population_coverage` test the intervals on simulated logs.

#[cfg(test)]
mod coverage;
mod estimators;
mod export;
mod linearized;
mod model;
mod outcome;
mod population;
#[cfg(test)]
mod population_coverage;
mod receipts;
mod reward_count;
mod show;
mod target;
#[cfg(test)]
mod tests;
mod verdict;

pub use outcome::{Bounds, Estimates, OffPolicy, OffPolicyLine};

use crate::error::Error;
use crate::max_influence::MaxInfluence;
use crate::replay::{
    Protocol, ReplayOptions, ReviewLog, RewardScaling, RunProgress, check_state, in_parallel, jury_for,
};
use crate::reward_range::RewardRange;
use estimators::LoggedEvidence;
use jurybox_files::Table;
use linearized::LinearizedEstimate;
use reward_count::{RewardCount, counted};
use std::path::Path;
use target::{FollowedPolicy, PolicyFollower, TargetPolicy};

/// Estimates each policy's reward per pick from a log of picks with their probabilities.
///
/// The option `protocol` must be [`Protocol::Rounds`]. Rounds are the log's own, or else stretches
/// of about `items` rows in the order of the file. The file `picks` gets the inclusion probability
/// of every row in a round, for each policy that can be followed along the log. It gets no rows if
/// the log has no rounds and only reviewed rows, some with a probability below 1.
///
/// ```
/// use jurybox_files::{Roles, Table};
/// use jurybox_lab::{ReplayOptions, off_policy};
///
/// // In each of 300 rounds a coin picked one of two posts.
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("log.csv");
/// let mut text = String::from("round,good,verdict,p\n");
/// for round in 0..300_u32 {
///     for item in 0..2 {
///         let good = (round * 7 + item * 5) % 11;
///         let reviewed = (round.wrapping_mul(2_654_435_769) >> 31) == item;
///         let verdict = if reviewed { good.to_string() } else { String::new() };
///         text += &format!("{round},{good},{verdict},0.5\n");
///     }
/// }
/// std::fs::write(&path, text)?;
/// let column = |name: &str| Some(name.to_string());
/// let (reward, probability, key) = (column("verdict"), column("p"), column("round"));
/// let roles = Roles { reward, probability, key, ..Roles::default() };
/// let table = Table::open(&[path], &roles, false)?;
/// let policies = vec!["average".parse()?];
/// let options = ReplayOptions { k: 1, policies, ..ReplayOptions::default() };
/// let outcome = off_policy(&table, &options)?;
/// let best_of_two = outcome.policies[0].reward_per_pick.unwrap();
/// assert!(best_of_two.above(outcome.logged.mean));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn off_policy(table: &Table, options: &ReplayOptions) -> Result<OffPolicy, Error> {
    options.check()?;
    if options.protocol != Protocol::Rounds {
        let reason = "a log with probabilities keeps its own rounds: leave out pool, folds and reuse";
        return Err(Error::setting("probability", table.roles().probability().unwrap_or_default(), reason));
    }
    let log = ReviewLog::read(table)?;
    check(&log, table.path(), table.roles().probability().unwrap_or_default())?;
    let (outcome, followed) = estimated(&log, options, table.threads(), RunProgress(Some(table)))?;
    if let Some(path) = &options.picks {
        export::write(path, &log, &followed)?;
    }
    Ok(outcome)
}

/// The estimates for every policy, and the inclusion probabilities that they are made from. There
/// are no probabilities for a log that `population` handles.
fn estimated(
    log: &ReviewLog,
    options: &ReplayOptions,
    threads: usize,
    watch: RunProgress<'_>,
) -> Result<(OffPolicy, export::PolicyProbabilities), Error> {
    if log.rounds.is_empty() && log.labelled() == log.rows() && log.probabilities.iter().any(|&p| p < 1.0) {
        return Ok((
            population::estimated(log, options, threads, watch)?,
            export::PolicyProbabilities::default(),
        ));
    }
    let rounds = rounds(log, options);
    let range = RewardRange::of(&log.rewards, options.reward_range)?;
    let counted = counted(log, &rounds);
    if let RewardCount::TooMany { reviewed, expected } = counted {
        let reason = format!(
            "{reviewed} rows have a reward, but by the logged probabilities only about \
             {expected:.0} were picked: unreviewed rows were left out of the file. Add them; or \
             leave out the rounds, to use a file of reviewed rows only"
        );
        return Err(Error::setting("rounds", rounds.len(), reason));
    }
    let model = model::out_of_fold(log, &rounds, range.ends())?;
    let targets = targets(log, options, rounds.len(), &model)?;
    let juries_without_groups = juries_without_groups(log, &targets);
    let follow = PolicyFollower { log, rounds: &rounds, k: options.k, seed: options.seed };
    let followed = in_parallel(targets.len(), threads, watch, |at| follow.along(&targets[at].target, watch))?;
    let mut outcome = OffPolicy::new(log, &rounds, options, logged(log, &rounds, range)?.estimate(), range);
    outcome.warnings.extend(missing(counted, log.labelled()));
    outcome.warnings.extend(range.warning());
    outcome.warnings.extend(repeated(log));
    outcome.warnings.extend(juries_without_groups);
    outcome.warnings.extend(warnings(&rounds, options));
    let mut all = export::PolicyProbabilities { rounds, model, policies: Vec::new() };
    for (contender, followed) in targets.into_iter().zip(followed) {
        let line = match followed {
            FollowedPolicy::Impossible(why) => OffPolicyLine::without_figure(&contender.name, why),
            FollowedPolicy::Probabilities(probabilities) => {
                let evidence = LoggedEvidence {
                    rounds: &all.rounds,
                    rewards: &log.rewards,
                    logged: &log.probabilities,
                    target: &probabilities,
                    model: &all.model,
                    range: range.ends(),
                    range_is_known: range.known,
                    all_rewards_present: counted == RewardCount::Enough,
                };
                let mut line = verdict::line(&contender.name, &evidence, &logged(log, &all.rounds, range)?);
                if contender.state {
                    // The state may have learnt these very rewards, so that its difference would
                    // look significant.
                    line.difference_to_logged = None;
                }
                all.policies.push((contender.name, probabilities));
                line
            }
        };
        if contender.reference { &mut outcome.references } else { &mut outcome.policies }.push(line);
    }
    outcome.warnings.extend(depends_on_few_rows(&outcome));
    Ok((outcome, all))
}

/// A warning about picks without a reward.
fn missing(counted: RewardCount, reviewed: usize) -> Option<String> {
    let RewardCount::Missing(picks) = counted else { return None };
    Some(format!(
        "{picks} {} no reward, by the logged probabilities; {reviewed} have one. Verdicts that are \
         late because they are hard, or not recorded where the answer was no, bias every figure. \
         Intervals allow for the worst case. Better leave out rounds with missing verdicts",
        if picks == 1 { "pick has" } else { "picks have" }
    ))
}

/// Width of an interval over that of Student's above which a warning is given.
const MUCH_WIDER: f64 = 1.25;

/// A warning that names the policies whose intervals are much wider than Student's.
fn depends_on_few_rows(outcome: &OffPolicy) -> Option<String> {
    let wider = |line: &OffPolicyLine| line.width_ratio.filter(|&times| times > MUCH_WIDER);
    let lines =
        || outcome.policies.iter().chain(&outcome.references).filter_map(|line| Some((line, wider(line)?)));
    let names: Vec<&str> = lines().map(|(line, _)| line.name.as_str()).collect();
    let unsaid = lines().any(|(_, times)| times.is_infinite());
    let most = lines().map(|(_, times)| times).fold(0.0, f64::max);
    (!names.is_empty()).then(|| {
        format!(
            "{}: rewards are so rare, or a few of them so large, that a log of this length may \
             have missed the most important ones. Intervals allow for that{}; a longer log, or \
             more exploration, narrows them",
            names.join(", "),
            if unsaid {
                String::new()
            } else {
                format!(", and are up to {most:.1} times as wide as Student's")
            }
        )
    })
}

/// A reviewed row is refused if fewer than this number of picks would be expected in the whole log
/// with its probability on every row.
const IMPLAUSIBLE: f64 = 1e-6;

/// Errors on values that are no probabilities of a pick, and on rewards without a probability. Also
/// errors on reviewed rows whose probability is so small that they outweigh all other rows.
fn check(log: &ReviewLog, path: &Path, column: &str) -> Result<(), Error> {
    for (row, (&reward, &probability)) in log.rewards.iter().zip(&log.probabilities).enumerate() {
        let reason = if probability.is_nan() && !reward.is_nan() {
            "there is a reward, but no logged probability".to_string()
        } else if probability <= 0.0 || probability > 1.0 {
            format!("{probability} is not the probability of a pick")
        } else if !reward.is_nan() && probability * (log.rows() as f64) < IMPLAUSIBLE {
            // At most rows * p picks with a probability of p or less are expected in a whole log.
            let reason = format!(
                "row {}, column `{column}`: the probability {probability:e} is so small that this \
                 row would outweigh all others; in a log of {} rows such a pick happens less than \
                 once in a million logs",
                row + 1,
                log.rows()
            );
            return Err(Error::Content { path: path.into(), reason });
        } else {
            continue;
        };
        let reason = format!(
            "row {}, column `{column}`: {reason}; it must be above 0 and at most 1, and may be \
             empty for unreviewed rows",
            row + 1
        );
        return Err(Error::Content { path: path.into(), reason });
    }
    Ok(())
}

/// The log's own rounds, or else stretches of rows in the order of the file, of nearly equal size;
/// at most `options.rounds` of them.
fn rounds(log: &ReviewLog, options: &ReplayOptions) -> Vec<Vec<usize>> {
    let most = options.rounds.unwrap_or(usize::MAX);
    if !log.rounds.is_empty() {
        return log.rounds.iter().take(most).cloned().collect();
    }
    let rows = log.rows();
    let count = ((rows as f64 / options.items.max(1) as f64).round() as usize).max(1);
    (0..count).take(most).map(|at| (at * rows / count..(at + 1) * rows / count).collect()).collect()
}

/// A warning that names the policies that do not know of the groups of rows.
fn juries_without_groups(log: &ReviewLog, targets: &[NamedTarget]) -> Option<String> {
    log.juries_without_groups(targets.iter().filter_map(|contender| match &contender.target {
        TargetPolicy::Policy(jury, _) => Some((contender.name.as_str(), jury.as_ref())),
        TargetPolicy::Fixed(_) | TargetPolicy::Uniform => None,
    }))
}

/// A warning about items with several rows, which are not independent.
fn repeated(log: &ReviewLog) -> Option<String> {
    let many = log.items.repeated();
    (many > 0).then(|| {
        format!(
            "{many} items have several rows, by their ids: every row counts by itself, so that \
             intervals are too narrow"
        )
    })
}

/// Warnings about the rounds and the options.
fn warnings(rounds: &[Vec<usize>], options: &ReplayOptions) -> Vec<String> {
    let mut out = Vec::new();
    let small = rounds.iter().filter(|rows| rows.len() < options.k).count();
    if small > 0 {
        out.push(format!(
            "{small} of {} rounds have fewer than {} items: there every item is picked",
            rounds.len(),
            options.k
        ));
    }
    out.extend(state_warning(options));
    out
}

fn state_warning(options: &ReplayOptions) -> Option<String> {
    let text = "a state that has learnt from this log knows its rewards already: its figures are \
                fair only on other logs, and its difference to the log is not shown";
    (!options.states.is_empty()).then(|| text.into())
}

/// Reward per pick of the log's own picks. Errors if no row of any round was reviewed.
fn logged(log: &ReviewLog, rounds: &[Vec<usize>], range: RewardRange) -> Result<LinearizedEstimate, Error> {
    let reviewed =
        |rows: &Vec<usize>| rows.iter().map(|&row| log.rewards[row]).filter(|r| !r.is_nan()).collect();
    let seen: Vec<Vec<f64>> = rounds.iter().map(reviewed).collect();
    let rewards: Vec<f64> = seen.iter().map(|seen| seen.iter().sum()).collect();
    let picks: Vec<f64> = seen.iter().map(|seen| seen.len() as f64).collect();
    let none = || Error::setting("rounds", rounds.len(), "no row of them was reviewed");
    let earned = LinearizedEstimate::ratio(&rewards, &picks).ok_or_else(none)?;
    let (each, mean) = (1.0 / picks.iter().sum::<f64>(), earned.value);
    let surprises = seen.iter().flatten().map(|reward| reward - mean);
    let max_influence =
        MaxInfluence::of(std::iter::once((1.0, each)), surprises, (mean - range.low, range.high - mean));
    Ok(earned.with_max_influence(max_influence))
}

/// A target policy with its name in the outcome.
struct NamedTarget {
    name: String,
    target: TargetPolicy,
    reference: bool,
    /// Whether it is a saved state, which may have learnt from this very log.
    state: bool,
}

fn targets(
    log: &ReviewLog,
    options: &ReplayOptions,
    rounds: usize,
    model: &[f64],
) -> Result<Vec<NamedTarget>, Error> {
    let mut list: Vec<NamedTarget> = Vec::new();
    let mut add = |name: String, target, reference| {
        if list.iter().all(|other| other.name != name) {
            list.push(NamedTarget { name, target, reference, state: false });
        }
    };
    for spec in &options.policies {
        add(
            spec.to_string(),
            TargetPolicy::Policy(Box::new(jury_for(spec, log, rounds)?), RewardScaling::of(log)),
            false,
        );
    }
    for (shown, (name, jury)) in options.state_names().zip(&options.states) {
        check_state(name, jury, log)?;
        // A state was taught rewards in the unit of the file, so that they are not scaled.
        add(shown, TargetPolicy::Policy(Box::new(jury.clone()), RewardScaling::NONE), false);
    }
    if let Some(weights) = &options.weights {
        let weigh = |row: &[f64]| {
            let present = || row.iter().zip(weights).filter(|(x, _)| !x.is_nan());
            present().map(|(x, w)| x * w).sum::<f64>() / present().map(|(_, w)| w.abs()).sum::<f64>()
        };
        let values = (0..log.rows()).map(|row| weigh(&log.row(row))).collect();
        add("weights".into(), TargetPolicy::Fixed(values), false);
    }
    add("uniform".into(), TargetPolicy::Uniform, true);
    add("average".into(), TargetPolicy::Fixed(log.averages()), true);
    add("z-mean".into(), TargetPolicy::Fixed(log.z_means(&log.standardised())), true);
    add("regression, out of fold".into(), TargetPolicy::Fixed(model.to_vec()), true);
    for contender in &mut list {
        contender.state = options.state_names().any(|name| name == contender.name);
    }
    Ok(list)
}

//! The result of a replay as a document, and how it is put together.

use super::duplicate_scores::DuplicateScores;
use super::entrants::{BEST_SINGLE, Entrant};
use super::measure::{CumulativeSums, ReplayMeasures};
use super::run::RunResult;
use super::schedule::{RunSize, ScheduleStage};
use super::{Protocol, ReplayOptions, ReviewLog};
use crate::rounded::RewardUnit;
use crate::statistics::{Ci95, ci95, ci95_if_any};
use jurybox::Interval;
use jurybox_draw::counted;
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest number of points of a curve.
const POINTS: usize = 50;
/// Share of rows with duplicate scores above which a warning is given.
const MANY_DUPLICATES: f64 = 0.03;
/// Least number of rows, per fold, with the rarer of two rewards. With fewer, intervals over folds
/// can be too narrow.
const FEW_OF_A_KIND: usize = 10;
/// Numbers of labels after which a replay without folds reports figures, if a run has as many.
const MARKS: [usize; 3] = [20, 60, 200];

/// The result of a replay; the document of `jurybox replay --json`.
#[derive(Debug, Clone, Serialize)]
pub struct ReplayOutcome {
    /// Name of the document's format.
    pub format: &'static str,
    /// Version of the document's format.
    pub version: u32,
    /// Number of rows.
    pub rows: usize,
    /// Number of rows with a reward.
    pub labelled: usize,
    /// Number of rows whose scores another row has too, in every column.
    pub duplicate_scores: usize,
    /// Number of items with several rows, by their ids.
    pub repeated_items: usize,
    /// Names of the evaluators.
    pub evaluators: Vec<String>,
    /// `replayed` if every row has a reward, else `unknown`.
    pub method: &'static str,
    /// `rounds`, `pool` or `folds`; `reuse` if rows come back.
    pub protocol: &'static str,
    /// The unit of the intervals, such as `runs`.
    pub ci95_over: &'static str,
    /// What the intervals cover and what they do not, as a phrase.
    pub ci95_covers: &'static str,
    /// Mean number of items to pick from: those of a round, or of the whole pool.
    pub items: f64,
    /// Picks in a round or step.
    pub k: usize,
    /// Rounds or steps in a run.
    pub rounds: usize,
    /// Labels (picks with their rewards) in a run.
    pub labels: usize,
    /// Number of runs.
    pub runs: usize,
    /// Seed of all random draws.
    pub seed: u64,
    /// The policies under test. Differences are to the first of them.
    pub policies: Vec<ReplayLine>,
    /// References to compare the policies with.
    pub references: Vec<ReplayLine>,
    /// What limits the figures, as sentences.
    pub warnings: Vec<String>,
    #[serde(skip)]
    pub(super) unit: RewardUnit,
}

/// The result of one policy or reference.
#[derive(Debug, Clone, Serialize)]
pub struct ReplayLine {
    /// The policy with its options, or the reference.
    pub name: String,
    /// Mean reward of a pick.
    #[serde(serialize_with = "ci95")]
    pub reward_per_pick: Interval,
    /// `(reward - uniform) / (best possible - uniform)`, where each term is a sum over all runs.
    /// Null if nothing can be gained.
    #[serde(serialize_with = "ci95_if_any")]
    pub best_share: Option<Interval>,
    /// The best share after 20, 60 and 200 labels in each run, if a run has as many; empty with
    /// folds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", serialize_with = "by_number")]
    pub best_share_at: BTreeMap<usize, Interval>,
    /// The best share of this line minus that of the first policy, paired by unit. Null for the
    /// first policy, and if nothing can be gained.
    #[serde(serialize_with = "ci95_if_any")]
    pub difference_to_first: Option<Interval>,
    /// The difference to the first policy after 20, 60 and 200 labels in each run, if a run has as
    /// many.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", serialize_with = "by_number")]
    pub difference_to_first_at: BTreeMap<usize, Interval>,
    /// Whether it picked exactly the rows that the first policy picked, in every run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub same_picks_as_first: bool,
    /// Share of the picks that had a label already. Null unless rows come back.
    pub labelled_before: Option<f64>,
    /// Reward and best share by number of labels; empty with folds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePoint>,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Number of labels in each run.
    pub labels: usize,
    /// Mean reward of these labels.
    pub reward_per_pick: f64,
    /// The best share of these labels. Null if nothing can be gained.
    pub best_share: Option<f64>,
}

fn by_number<S: serde::Serializer>(
    map: &BTreeMap<usize, Interval>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(map.iter().map(|(labels, estimate)| (labels.to_string(), Ci95::from(*estimate))))
}

impl ReplayLine {
    /// A line with a reward per pick and nothing else.
    pub(crate) fn new(name: &str, reward_per_pick: Interval) -> ReplayLine {
        ReplayLine {
            name: name.into(),
            reward_per_pick,
            best_share: None,
            best_share_at: BTreeMap::new(),
            difference_to_first: None,
            difference_to_first_at: BTreeMap::new(),
            same_picks_as_first: false,
            labelled_before: None,
            curve: Vec::new(),
        }
    }
}

impl ReplayOutcome {
    /// An outcome without lines.
    pub(crate) fn new(log: &ReviewLog, options: &ReplayOptions) -> ReplayOutcome {
        ReplayOutcome {
            format: "jurybox-replay",
            version: 2,
            rows: log.rows(),
            labelled: log.labelled(),
            duplicate_scores: DuplicateScores::of(log).rows(),
            repeated_items: log.items.repeated(),
            evaluators: log.evaluators.names().map(Into::into).collect(),
            method: "replayed",
            protocol: match options.protocol {
                Protocol::Rounds => "rounds",
                Protocol::Reuse => "reuse",
                Protocol::Pool { .. } => "pool",
                Protocol::Folds(_) => "folds",
            },
            ci95_over: "runs",
            ci95_covers: "",
            items: options.items as f64,
            k: options.k,
            rounds: log.rounds.len(),
            labels: 0,
            runs: options.runs,
            seed: options.seed,
            policies: Vec::new(),
            references: Vec::new(),
            warnings: Vec::new(),
            unit: RewardUnit::of(&log.rewards),
        }
    }

    /// Whether enough rows have duplicate scores for a warning.
    pub(super) fn has_many_duplicates(&self) -> bool {
        self.duplicate_scores as f64 > MANY_DUPLICATES * self.rows as f64
    }

    /// The number of rows with duplicate scores, as a sentence.
    pub(super) fn duplicates_sentence(&self) -> String {
        format!("{} of {} rows have the same scores as another row", self.duplicate_scores, self.rows)
    }

    /// The policy or reference of this name.
    pub fn line(&self, name: &str) -> Option<&ReplayLine> {
        self.policies.iter().chain(&self.references).find(|line| line.name == name)
    }
}

/// The rewards that a line of the results shows.
enum EarnedSums<'a> {
    One(&'a CumulativeSums),
    /// The sums of the entrant that has earned most so far, which may change with the number of
    /// labels.
    BestOf(Vec<&'a CumulativeSums>),
}

impl<'a> EarnedSums<'a> {
    fn until(&self, labels: usize) -> &'a CumulativeSums {
        match self {
            EarnedSums::One(sums) => sums,
            EarnedSums::BestOf(all) => {
                let better = |best: &'a CumulativeSums, next: &'a CumulativeSums| {
                    if next.total(labels) > best.total(labels) { next } else { best }
                };
                all[1..].iter().fold(all[0], |best, next| better(best, next))
            }
        }
    }
}

/// Makes the outcome from the results of all entrants.
pub(super) fn summarize(
    log: &ReviewLog,
    options: &ReplayOptions,
    extent: &RunSize,
    measures: &ReplayMeasures<'_>,
    played: &[(Entrant, Vec<RunResult>)],
) -> ReplayOutcome {
    let mut outcome = ReplayOutcome::new(log, options);
    (outcome.rounds, outcome.labels) = (extent.rounds, extent.labels);
    (outcome.ci95_over, outcome.ci95_covers) = (measures.over.name(), measures.over.covers());
    outcome.items = items_shown(log, options, extent);
    outcome.warnings.extend(extent.warning.clone());
    let juries = played.iter().filter_map(|(entrant, _)| Some((entrant.name.as_str(), entrant.jury()?)));
    outcome.warnings.extend(log.juries_without_groups(juries));
    let sums: Vec<CumulativeSums> = played
        .iter()
        .map(|(entrant, runs)| CumulativeSums::of_played(runs, options.runs, !entrant.knows_all()))
        .collect();
    let (first, labels) = (&sums[0], extent.labels);
    let singles: Vec<usize> = (0..played.len()).filter(|&at| played[at].0.single().is_some()).collect();
    let best_single = EarnedSums::BestOf(singles.iter().map(|&at| &sums[at]).collect());
    let line = |name: &str, earned: &EarnedSums<'_>, is_first: bool| {
        let marks = || MARKS.into_iter().filter(|&mark| mark <= labels && options_have_marks(options));
        let at = |figure: &dyn Fn(usize) -> Option<Interval>| {
            marks().filter_map(|mark| figure(mark).map(|estimate| (mark, estimate))).collect()
        };
        let share = |labels: usize| measures.best_share(earned.until(labels), labels);
        let difference = |labels: usize| {
            if is_first { None } else { measures.difference(earned.until(labels), first, labels) }
        };
        ReplayLine {
            best_share: share(labels),
            best_share_at: at(&share),
            difference_to_first: difference(labels),
            difference_to_first_at: at(&difference),
            curve: curve(measures, earned, options, labels),
            ..ReplayLine::new(name, measures.reward_per_pick(earned.until(labels), labels))
        }
    };
    for (at, ((entrant, runs), earned)) in played.iter().zip(&sums).enumerate() {
        let single = entrant.single().is_some();
        if single && !std::ptr::eq(best_single.until(labels), earned) {
            continue;
        }
        let one = EarnedSums::One(earned);
        // With nothing to gain, no evaluator is better than another.
        let unnamed = single && measures.best_share(earned, labels).is_none();
        let name = if unnamed { BEST_SINGLE } else { &entrant.name };
        let mut line = line(name, if single { &best_single } else { &one }, at == 0);
        line.same_picks_as_first = at > 0 && same_picks(runs, &played[0].1);
        if options.protocol == Protocol::Reuse {
            let again: usize = runs.iter().map(|run| run.repeated_labels).sum();
            line.labelled_before = Some(again as f64 / (labels * runs.len()) as f64);
        }
        if entrant.needs_receipts() && runs.iter().any(|run| run.studied == Some(0)) {
            outcome.warnings.push(format!(
                "{}: it learns only from its own picks, so that out of fold it has learnt nothing",
                entrant.name
            ));
        }
        if entrant.is_policy() { &mut outcome.policies } else { &mut outcome.references }.push(line);
    }
    if outcome.line("uniform").is_none() {
        outcome.references.insert(0, line("uniform", &EarnedSums::One(&measures.uniform), false));
    }
    add_warnings(log, options, measures, &mut outcome);
    outcome
}

/// Whether two entrants picked the same rows in every run, in any order.
fn same_picks(one: &[RunResult], other: &[RunResult]) -> bool {
    let sorted = |played: &RunResult| {
        let mut rows = played.rows.clone();
        rows.sort_unstable();
        rows
    };
    one.iter().zip(other).all(|(a, b)| sorted(a) == sorted(b))
}

/// Whether figures by number of labels make sense. With folds, a policy does not learn from its
/// picks.
fn options_have_marks(options: &ReplayOptions) -> bool {
    !matches!(options.protocol, Protocol::Folds(_))
}

fn items_shown(log: &ReviewLog, options: &ReplayOptions, extent: &RunSize) -> f64 {
    let schedule = super::RowSchedule::of(log, options, 0);
    let shown: usize = schedule
        .stages
        .iter()
        .map(|stage| match stage {
            ScheduleStage::Pool { rows, .. } => rows.len() * extent.rounds,
            ScheduleStage::Rounds(rounds) | ScheduleStage::Fold { rounds, .. } => {
                rounds.iter().map(Vec::len).sum()
            }
        })
        .sum();
    shown as f64 / extent.rounds as f64
}

fn curve(
    measures: &ReplayMeasures<'_>,
    earned: &EarnedSums<'_>,
    options: &ReplayOptions,
    labels: usize,
) -> Vec<CurvePoint> {
    if !options_have_marks(options) {
        return Vec::new();
    }
    let mut points: Vec<usize> = (1..=POINTS).map(|point| (labels * point).div_ceil(POINTS)).collect();
    points.dedup();
    let runs = options.runs as f64;
    let point = |labels: usize| {
        let (reward, uniform, best) =
            (earned.until(labels).total(labels), measures.uniform.total(labels), measures.best.total(labels));
        let share = (reward - uniform) / (best - uniform);
        CurvePoint {
            labels,
            reward_per_pick: reward / (labels as f64 * runs),
            best_share: share.is_finite().then_some(share),
        }
    };
    points.into_iter().map(point).collect()
}

/// Adds the warnings about the log and the protocol.
fn add_warnings(
    log: &ReviewLog,
    options: &ReplayOptions,
    measures: &ReplayMeasures<'_>,
    outcome: &mut ReplayOutcome,
) {
    if outcome.policies.iter().any(|line| line.best_share.is_none()) {
        outcome.warnings.push(no_choice(log, options, measures).into());
    }
    if outcome.has_many_duplicates() {
        let meaning = if !matches!(options.protocol, Protocol::Folds(_)) {
            "if they are copies, a policy that has learnt the reward of one knows that of the \
             others, and its figures partly measure memory"
        } else if log.rounds.is_empty() {
            "equal rows are in one fold, unless they are more than a fold's share"
        } else {
            "learning leaves out rows equal to one of the fold, unless fewer than half would be left"
        };
        outcome.warnings.push(format!("{}: {meaning}", outcome.duplicates_sentence()));
    }
    if outcome.repeated_items > 0 {
        let meaning = match options.protocol {
            Protocol::Folds(_) if log.rounds.is_empty() => "their rows are in one fold",
            Protocol::Folds(_) => {
                "learning leaves out the items of the fold; rounds that share items are not \
                 independent, so that intervals are too narrow"
            }
            Protocol::Rounds if !log.rounds.is_empty() => "each is shown in its first round only",
            Protocol::Rounds | Protocol::Pool { .. } => "a run shows one row of each, drawn at random",
            Protocol::Reuse => "they come back like all other rows",
        };
        outcome.warnings.push(format!(
            "{} {} several rows, by the ids: {meaning}. If every row of an id has a reward of its \
             own, the id does not name items",
            counted(outcome.repeated_items as u64, "item"),
            if outcome.repeated_items == 1 { "has" } else { "have" }
        ));
    }
    if let (Protocol::Folds(folds), Some(low)) = (options.protocol, log.lower_of_two()) {
        let lower = log.rewards.iter().filter(|&&reward| reward == low).count();
        let rarer = lower.min(log.rows() - lower);
        if rarer < FEW_OF_A_KIND * folds {
            outcome.warnings.push(format!(
                "only {rarer} rows have the rarer of the two rewards: intervals over folds can be \
                 too narrow. On simulated files like that they held the truth in 87 to 100 of 100 \
                 cases"
            ));
        }
    }
    if options.protocol == Protocol::Reuse {
        let before = outcome.policies[0].labelled_before.unwrap_or(0.0);
        outcome.warnings.push(format!(
            "rows come back: {:.0}% of the picks of {} were rows whose reward it had learnt \
             before. Do not compare policies by these figures: they measure memory as much as \
             judgement",
            100.0 * before,
            outcome.policies[0].name
        ));
    }
    if !options.states.is_empty() {
        outcome.warnings.push(
            "a state that has learnt from these rows knows their rewards already: its figures are \
             fair only on other rows"
                .into(),
        );
    }
    if log.lower_of_two().is_none() && log.rewards.iter().any(|&reward| reward != log.rewards[0]) {
        outcome.warnings.push(
            "logistic: rewards have more than two values; it predicts rewards above the median of its labels"
                .into(),
        );
    }
}

/// The reason why no pick could be better than another, as a sentence.
fn no_choice(log: &ReviewLog, options: &ReplayOptions, measures: &ReplayMeasures<'_>) -> &'static str {
    let all_picked = (0..measures.baselines.len()).all(|run| {
        let all = |rows: &[usize], picks: usize| rows.len() <= picks;
        super::RowSchedule::of(log, options, run).stages.iter().all(|stage| match stage {
            ScheduleStage::Pool { rows, budget } => all(rows, *budget),
            ScheduleStage::Rounds(rounds) | ScheduleStage::Fold { rounds, .. } => {
                rounds.iter().all(|rows| all(rows, options.k))
            }
        })
    });
    if log.rewards.iter().all(|&reward| reward == log.rewards[0]) {
        "all rewards are equal: no pick could be better than another"
    } else if !all_picked {
        "wherever there was a choice, all rewards were equal: no pick could be better than another"
    } else if matches!(options.protocol, Protocol::Pool { .. }) {
        "the budget is as large as the pool: every policy picks all rows in the end"
    } else {
        "no round has more rows than picks: every policy picks all rows"
    }
}

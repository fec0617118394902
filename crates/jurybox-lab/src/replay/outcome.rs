//! What came of a replay: one document.

use super::course::Extent;
use super::entrants::Entrant;
use super::measure::{Measures, Sums};
use super::play::Played;
use super::{Log, Protocol, ReplayOptions};
use crate::statistics::{Ci95, ci95, ci95_if_any};
use jurybox::Interval;
use serde::Serialize;
use std::collections::BTreeMap;

/// How many points a curve has, at most.
const POINTS: usize = 50;
/// The numbers of labels at which every replay reports, as far as it has them.
const MARKS: [usize; 3] = [20, 60, 200];

/// What came of a replay; the document of `jurybox replay --json`.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// What this document is.
    pub format: &'static str,
    /// Which form of it.
    pub version: u32,
    /// Rows of the history.
    pub rows: usize,
    /// Rows with a reward.
    pub labelled: usize,
    /// The evaluators.
    pub evaluators: Vec<String>,
    /// `replayed` where every reward is known, or `unknown`.
    pub how: &'static str,
    /// `rounds`, `pool`, `folds`, or `reuse` where rows come back.
    pub protocol: &'static str,
    /// What the intervals are over.
    pub ci95_over: &'static str,
    /// What the intervals cover, and what they do not.
    pub ci95_covers: &'static str,
    /// Items on the desk on average: of a round, of the pool, of a fold's rounds.
    pub items: f64,
    /// Picks of a round or step.
    pub k: usize,
    /// Rounds or steps of a run.
    pub rounds: usize,
    /// Labels of a run.
    pub labels: usize,
    /// Runs.
    pub runs: usize,
    /// The seed.
    pub seed: u64,
    /// What was asked for. Differences are to the first.
    pub policies: Vec<Line>,
    /// What to hold it against.
    pub references: Vec<Line>,
    /// What a person should know before believing any of it.
    pub warnings: Vec<String>,
}

/// One policy's or reference's result.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    /// The policy with its options, or the reference.
    pub name: String,
    /// What a pick was worth.
    #[serde(serialize_with = "ci95")]
    pub reward_per_pick: Interval,
    /// `(reward - uniform) / (best possible - uniform)`, a ratio of sums over all runs; null where there is nothing to gain.
    #[serde(serialize_with = "ci95_if_any")]
    pub best_share: Option<Interval>,
    /// The same after so many labels of each run.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", serialize_with = "by_number")]
    pub best_share_at: BTreeMap<usize, Interval>,
    /// The best share of this line minus that of the first policy, paired.
    #[serde(serialize_with = "ci95_if_any")]
    pub difference_to_first: Option<Interval>,
    /// The same after so many labels of each run.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", serialize_with = "by_number")]
    pub difference_to_first_at: BTreeMap<usize, Interval>,
    /// The share of the picks that had been labelled before; null where rows do not come back.
    pub labelled_before: Option<f64>,
    /// Against labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<CurvePoint>,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CurvePoint {
    /// After this many labels.
    pub labels: usize,
    /// Reward per pick until then.
    pub reward_per_pick: f64,
    /// The best share until then; null where there is nothing to gain.
    pub best_share: Option<f64>,
}

fn by_number<S: serde::Serializer>(
    map: &BTreeMap<usize, Interval>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(map.iter().map(|(labels, estimate)| (labels.to_string(), Ci95::from(*estimate))))
}

impl Line {
    /// A line with a reward and nothing else yet.
    pub(crate) fn new(name: &str, reward_per_pick: Interval) -> Line {
        Line {
            name: name.into(),
            reward_per_pick,
            best_share: None,
            best_share_at: BTreeMap::new(),
            difference_to_first: None,
            difference_to_first_at: BTreeMap::new(),
            labelled_before: None,
            curve: Vec::new(),
        }
    }
}

impl Outcome {
    /// An outcome without results yet.
    pub(crate) fn new(log: &Log, options: &ReplayOptions) -> Outcome {
        Outcome {
            format: "jurybox-replay",
            version: 2,
            rows: log.rows(),
            labelled: log.labelled(),
            evaluators: log.evaluators.names().map(Into::into).collect(),
            how: "replayed",
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
        }
    }

    /// The line of that name, policy or reference.
    pub fn line(&self, name: &str) -> Option<&Line> {
        self.policies.iter().chain(&self.references).find(|line| line.name == name)
    }
}

/// Sums up what all entrants earned.
pub(super) fn summed_up(
    log: &Log,
    options: &ReplayOptions,
    extent: &Extent,
    measures: &Measures<'_>,
    played: &[(Entrant, Vec<Played>)],
) -> Outcome {
    let mut outcome = Outcome::new(log, options);
    (outcome.rounds, outcome.labels) = (extent.rounds, extent.labels);
    (outcome.ci95_over, outcome.ci95_covers) = (measures.over.name(), measures.over.covers());
    outcome.items = items_shown(log, options, extent);
    outcome.warnings.extend(extent.warning.clone());
    let sums: Vec<Sums> = played.iter().map(|(_, runs)| Sums::of_played(runs)).collect();
    let (first, labels) = (&sums[0], extent.labels);
    // Of the evaluators on their own, the one that earned most over all runs.
    let best_single = (0..played.len())
        .filter(|&at| played[at].0.single().is_some())
        .max_by(|&a, &b| sums[a].total(labels).total_cmp(&sums[b].total(labels)).then(b.cmp(&a)));
    let line = |name: &str, earned: &Sums, is_first: bool| {
        let marks = || MARKS.into_iter().filter(|&mark| mark <= labels && options_have_marks(options));
        let at = |figure: &dyn Fn(usize) -> Option<Interval>| {
            marks().filter_map(|mark| figure(mark).map(|estimate| (mark, estimate))).collect()
        };
        let difference =
            |labels: usize| if is_first { None } else { measures.difference(earned, first, labels) };
        Line {
            best_share: measures.best_share(earned, labels),
            best_share_at: at(&|mark| measures.best_share(earned, mark)),
            difference_to_first: difference(labels),
            difference_to_first_at: at(&difference),
            curve: curve(measures, earned, options, labels),
            ..Line::new(name, measures.reward_per_pick(earned, labels))
        }
    };
    for (at, ((entrant, runs), earned)) in played.iter().zip(&sums).enumerate() {
        if entrant.single().is_some() && best_single != Some(at) {
            continue;
        }
        let mut line = line(&entrant.name, earned, at == 0);
        if options.protocol == Protocol::Reuse {
            let again: usize = runs.iter().map(|run| run.again).sum();
            line.labelled_before = Some(again as f64 / (labels * runs.len()) as f64);
        }
        if entrant.is_policy() && runs.iter().any(|run| run.studied == Some(0)) {
            outcome.warnings.push(format!(
                "{}: it learns only from picks of its own, so that out of fold it has learnt nothing",
                entrant.name
            ));
        }
        if entrant.is_policy() { &mut outcome.policies } else { &mut outcome.references }.push(line);
    }
    if outcome.line("uniform").is_none() {
        outcome.references.insert(0, line("uniform", &measures.uniform, false));
    }
    say(log, options, &mut outcome);
    outcome
}

/// Out of fold a label is a row that was learnt from: marks and curves against picks would say something else.
fn options_have_marks(options: &ReplayOptions) -> bool {
    !matches!(options.protocol, Protocol::Folds(_))
}

fn items_shown(log: &Log, options: &ReplayOptions, extent: &Extent) -> f64 {
    let course = super::Course::of(log, options, 0);
    let shown: usize = course
        .stages
        .iter()
        .map(|stage| match stage {
            super::course::Stage::Pool { rows, .. } => rows.len() * extent.rounds,
            super::course::Stage::Rounds(rounds) | super::course::Stage::Fold { rounds, .. } => {
                rounds.iter().map(Vec::len).sum()
            }
        })
        .sum();
    shown as f64 / extent.rounds as f64
}

fn curve(measures: &Measures<'_>, earned: &Sums, options: &ReplayOptions, labels: usize) -> Vec<CurvePoint> {
    if !options_have_marks(options) {
        return Vec::new();
    }
    let mut points: Vec<usize> = (1..=POINTS).map(|point| (labels * point).div_ceil(POINTS)).collect();
    points.dedup();
    let runs = options.runs as f64;
    let point = |labels: usize| {
        let (reward, uniform, best) =
            (earned.total(labels), measures.uniform.total(labels), measures.best.total(labels));
        let share = (reward - uniform) / (best - uniform);
        CurvePoint {
            labels,
            reward_per_pick: reward / (labels as f64 * runs),
            best_share: share.is_finite().then_some(share),
        }
    };
    points.into_iter().map(point).collect()
}

/// What a person should know.
fn say(log: &Log, options: &ReplayOptions, outcome: &mut Outcome) {
    if outcome.policies.iter().any(|line| line.best_share.is_none()) {
        outcome
            .warnings
            .push("all rewards that were shown are equal: no pick could be better than another".into());
    }
    if options.protocol == Protocol::Reuse {
        let before = outcome.policies[0].labelled_before.unwrap_or(0.0);
        outcome.warnings.push(format!(
            "rows come back: {:.0}% of the picks of {} were rows whose reward it had learnt before. These figures \
             measure memory as much as judgement; do not compare policies by them",
            100.0 * before,
            outcome.policies[0].name
        ));
    }
    if !options.states.is_empty() {
        outcome.warnings.push(
            "a state that has learnt from these rows already knows their rewards: its figures are honest only on rows \
             that it has not seen"
                .into(),
        );
    }
    if log.lower_of_two().is_none() {
        outcome.warnings.push(
            "logistic: the rewards have more than two values; it tells those above the median of its labels"
                .into(),
        );
    }
}

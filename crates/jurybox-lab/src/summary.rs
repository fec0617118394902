//! The summary of an experiment over its runs: what `jurybox simulate` prints.

use crate::runner::Experiment;
use crate::statistics::ci95;
use crate::trial::RunRecord;
use jurybox::Interval;
use jurybox_draw::{Curve, Plot, Scale};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write;

/// The results of an experiment: means over all runs, some of them with 95% intervals.
///
/// ```
/// use jurybox_lab::{Contender, Experiment, Running, Setting, Summary, run_all};
///
/// let setting = Setting { rounds: 30, ..Setting::default() };
/// let contenders = vec![Contender::of("esag".parse()?), Contender::of("uniform".parse()?)];
/// let experiment = Experiment { setting, contenders, seed: 1, runs: 4 };
/// let records = run_all(std::slice::from_ref(&experiment), &Running::default())?;
/// let summary = Summary::of(&experiment, &records[0]);
/// assert!(summary.policies[0].reward > summary.policies[1].reward);
/// # Ok::<(), jurybox_lab::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The setting, with the seed and the number of runs.
    pub settings: Value,
    /// The results of the oracle.
    pub oracle: Yardstick,
    /// The results of each contender.
    pub policies: Vec<PolicySummary>,
}

/// The oracle's result.
///
/// ```
/// let oracle = jurybox_lab::Yardstick { reward: 90.0, share_of_best: 0.9 };
/// assert_eq!(oracle.share_of_best, 0.9);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Yardstick {
    /// Sum of rewards over all rounds, mean over runs.
    pub reward: f64,
    /// `reward` as a share of the rewards of the best possible picks.
    pub share_of_best: f64,
}

/// The results of one contender: means over runs, and 95% intervals of the regret.
///
/// ```
/// // Read from `Summary::policies`.
/// fn regret(summary: &jurybox_lab::PolicySummary) -> f64 { summary.relative_regret.mean }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicySummary {
    /// The contender's label.
    pub name: String,
    /// Relative regret at the contender's last checkpoint.
    #[serde(serialize_with = "ci95")]
    pub relative_regret: Interval,
    /// Absolute regret at the contender's last checkpoint.
    #[serde(serialize_with = "ci95")]
    pub absolute_regret: Interval,
    /// Sum of rewards up to the contender's last checkpoint.
    pub reward: f64,
    /// `reward` as a share of the oracle's reward over all rounds.
    pub reward_share_of_oracle: f64,
    /// Euclidean distance of the estimated gains from the true ones at the last checkpoint. None if
    /// the policy estimates no gains.
    pub alpha_error: Option<f64>,
    /// Regret and error at each checkpoint.
    pub curve: Vec<SummaryPoint>,
}

/// Means over runs at one checkpoint, with intervals, which JSON leaves out.
///
/// ```
/// // Read from `PolicySummary::curve`.
/// fn x(point: &jurybox_lab::SummaryPoint) -> f64 { point.round as f64 }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SummaryPoint {
    /// The round of the checkpoint.
    pub round: u64,
    /// Relative regret up to this round.
    #[serde(serialize_with = "mean_only")]
    pub relative_regret: Interval,
    /// Absolute regret up to this round.
    #[serde(serialize_with = "mean_only")]
    pub absolute_regret: Interval,
    /// Euclidean distance of the estimated gains from the true ones after this round. None if the
    /// policy estimates no gains.
    #[serde(serialize_with = "mean_if_any")]
    pub alpha_error: Option<Interval>,
}

fn mean_only<S: serde::Serializer>(estimate: &Interval, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(estimate.mean)
}

#[expect(clippy::ref_option, reason = "the shape that serde asks for")]
fn mean_if_any<S: serde::Serializer>(estimate: &Option<Interval>, serializer: S) -> Result<S::Ok, S::Error> {
    estimate.map(|estimate| estimate.mean).serialize(serializer)
}

impl Summary {
    /// Summarises the records of all runs of `experiment`.
    ///
    /// # Panics
    /// If there are no records, or if a contender stops before the first round.
    pub fn of(experiment: &Experiment, records: &[RunRecord]) -> Summary {
        let n = records.len() as f64;
        let last = |values: &[f64]| values.last().copied().unwrap_or(0.0);
        let oracle = records.iter().map(|record| last(&record.oracle)).sum::<f64>() / n;
        let best = records.iter().map(|record| last(&record.best)).sum::<f64>() / n;
        let policies = experiment.contenders.iter().enumerate().map(|(at, contender)| {
            let curve = curve(records, at);
            let end = curve.last().expect("at least one checkpoint");
            let reward = records.iter().map(|record| last(&record.tracks[at].reward)).sum::<f64>() / n;
            PolicySummary {
                name: contender.label.clone(),
                relative_regret: end.relative_regret,
                absolute_regret: end.absolute_regret,
                reward,
                reward_share_of_oracle: reward / oracle,
                alpha_error: end.alpha_error.map(|error| error.mean),
                curve,
            }
        });
        let mut settings = serde_json::to_value(&experiment.setting).expect("plain data");
        settings["seed"] = json!(experiment.seed);
        settings["runs"] = json!(records.len());
        Summary {
            settings,
            oracle: Yardstick { reward: oracle, share_of_best: oracle / best },
            policies: policies.collect(),
        }
    }

    /// The curves as plots, each with a file name.
    pub fn plots(&self) -> Vec<(&'static str, Plot)> {
        let plot =
            |title: &str, y_label: &str, y_scale, of: &dyn Fn(&SummaryPoint) -> Option<Interval>| Plot {
                title: title.into(),
                x_label: "round".into(),
                y_label: y_label.into(),
                x_scale: if y_scale == Scale::Log { Scale::Log } else { Scale::Linear },
                y_scale,
                curves: self.curves(of),
            };
        let relative = |point: &SummaryPoint| Some(point.relative_regret);
        let mut plots = vec![
            (
                "relative-regret",
                plot("Regret against the oracle", "relative regret", Scale::Linear, &relative),
            ),
            (
                "relative-regret-log",
                plot("Regret against the oracle", "relative regret", Scale::Log, &relative),
            ),
            (
                "absolute-regret",
                plot("Regret in true reward", "absolute regret", Scale::Linear, &|p| Some(p.absolute_regret)),
            ),
        ];
        let error =
            plot("Error of the estimated gains", "distance from alpha", Scale::Log, &|p| p.alpha_error);
        if !error.curves.is_empty() {
            plots.push(("alpha-error", error));
        }
        plots
    }

    /// One curve for each policy that has this value at all of its checkpoints.
    pub(crate) fn curves(&self, of: &dyn Fn(&SummaryPoint) -> Option<Interval>) -> Vec<Curve> {
        self.policies
            .iter()
            .enumerate()
            .filter_map(|(at, policy)| {
                let points: Option<Vec<(f64, Interval)>> =
                    policy.curve.iter().map(|point| Some((point.round as f64, of(point)?))).collect();
                let points = points?.into_iter().map(|(round, e)| (round, e.mean, e.half_width()));
                Some(Curve { style: Some(at), ..Curve::with_band(&policy.name, points) })
            })
            .collect()
    }

    /// The curves as CSV: one row per policy and checkpoint.
    pub fn to_csv(&self) -> String {
        let mut csv = String::from(
            "policy,round,relative_regret,relative_regret_low,relative_regret_high,absolute_regret,\
             absolute_regret_low,absolute_regret_high,alpha_error,alpha_error_low,alpha_error_high\n",
        );
        for policy in &self.policies {
            for point in &policy.curve {
                let name = &policy.name;
                let quoted = if name.contains(',') { format!("\"{name}\"") } else { name.clone() };
                let _ = write!(csv, "{quoted},{}", point.round);
                for estimate in [Some(point.relative_regret), Some(point.absolute_regret), point.alpha_error]
                {
                    match estimate {
                        Some(e) if e.half_width().is_finite() => {
                            let _ = write!(csv, ",{},{},{}", e.mean, e.low, e.high);
                        }
                        Some(e) => {
                            let _ = write!(csv, ",{},,", e.mean);
                        }
                        None => csv.push_str(",,,"),
                    }
                }
                csv.push('\n');
            }
        }
        csv
    }
}

fn curve(records: &[RunRecord], at: usize) -> Vec<SummaryPoint> {
    let rounds = &records[0].rounds;
    let over_runs = |f: &dyn Fn(&RunRecord) -> f64| Interval::of(&records.iter().map(f).collect::<Vec<_>>());
    (0..records[0].tracks[at].reward.len())
        .map(|i| SummaryPoint {
            round: rounds[i],
            relative_regret: over_runs(&|record| record.tracks[at].relative_regret[i]),
            absolute_regret: over_runs(&|record| record.tracks[at].absolute_regret[i]),
            alpha_error: records[0].tracks[at].alpha_error[i]
                .map(|_| over_runs(&|record| record.tracks[at].alpha_error[i].unwrap_or(f64::NAN))),
        })
        .collect()
}

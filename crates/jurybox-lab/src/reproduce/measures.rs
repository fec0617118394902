//! Measures of a finished experiment that claims are judged by: regret, error and their growth.

use super::FinishedExperiment;
use super::finding::number;
use crate::statistics::{growth_exponent, log_slope};
use jurybox::Interval;

impl FinishedExperiment {
    fn at(&self, label: &str) -> Option<usize> {
        self.experiment.contenders.iter().position(|contender| contender.label == label)
    }

    /// Relative regret in each run at the contender's last checkpoint.
    pub(super) fn regrets(&self, label: &str) -> Vec<f64> {
        let at = self.at(label).expect("a contender of the line-up");
        self.records.iter().filter_map(|record| record.tracks[at].relative_regret.last().copied()).collect()
    }

    /// Relative regret in each run, without the first round, in which some policies pick blindly.
    pub(super) fn regrets_after_the_first(&self, label: &str) -> Vec<f64> {
        let at = self.at(label).expect("a contender of the line-up");
        let regrets = self.records.iter().map(|record| &record.tracks[at].relative_regret);
        debug_assert!(
            self.records.iter().all(|record| record.rounds[0] == 1),
            "the first round is a checkpoint"
        );
        regrets.filter_map(|regret| Some(regret.last()? - regret.first()?)).collect()
    }

    /// The mean over runs of the log-log slope over the last decade of rounds, with its interval.
    fn slope(&self, label: &str, of: impl Fn(&crate::trial::Track, usize) -> f64) -> Interval {
        let at = self.at(label).expect("a contender of the line-up");
        let from = self.experiment.setting.rounds / 10;
        let slopes: Vec<f64> = self
            .records
            .iter()
            .filter_map(|record| {
                let late = (0..record.rounds.len()).filter(|&i| record.rounds[i] >= from);
                log_slope(late.map(|i| (record.rounds[i] as f64, of(&record.tracks[at], i))))
            })
            .collect();
        Interval::of(&slopes)
    }

    pub(super) fn regret_slope(&self, label: &str) -> Interval {
        self.slope(label, |track, i| track.relative_regret[i])
    }

    /// The growth exponent of the regret over rounds 0.24 T, 0.48 T and 0.96 T, which are
    /// checkpoints, for T rounds in a run.
    pub(super) fn growth(&self, label: &str) -> Interval {
        let at = self.at(label).expect("a contender of the line-up");
        let rounds = self.experiment.setting.rounds;
        let regret_at = |record: &crate::trial::RunRecord, parts: u64| {
            let i = record.rounds.partition_point(|&t| t < rounds * parts / 25);
            record.tracks[at].relative_regret[i]
        };
        let growth: Vec<(f64, f64)> = self
            .records
            .iter()
            .map(|record| [6, 12, 24].map(|parts| regret_at(record, parts)))
            .map(|[a, b, c]| (b - a, c - b))
            .collect();
        growth_exponent(&growth).unwrap_or(Interval::around(0.0, f64::INFINITY))
    }

    /// Both measures of growth, as a phrase.
    pub(super) fn growth_in_words(&self, label: &str) -> String {
        format!(
            "{label}: growth exponent {}; log-log slope of the whole sum over the last decade {}",
            number(self.growth(label)),
            number(self.regret_slope(label))
        )
    }

    pub(super) fn error_slope(&self, label: &str) -> Interval {
        self.slope(label, |track, i| track.alpha_error[i].unwrap_or(f64::NAN))
    }

    pub(super) fn errors(&self, label: &str) -> Vec<f64> {
        let at = self.at(label).expect("a contender of the line-up");
        self.records.iter().filter_map(|r| r.tracks[at].alpha_error.last().copied().flatten()).collect()
    }
}

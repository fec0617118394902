//! One run of a replay: rows are shown, picked, and learnt from.
//!
//! In rounds, all participants pick from a round before the next one is loaded, so that its rows
//! are fetched once.

use super::ReviewLog;
use super::parallel::RunProgress;
use super::pickers::{CandidateRows, PickRequest, RowPicker};
use super::picks::LoggedPick;
use super::schedule::{RowSchedule, ScheduleStage};
use crate::error::Error;
use rand_chacha::ChaCha8Rng;

/// The picks and rewards of one participant in one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunResult {
    /// The reward of each label, in the order of the picks.
    pub(crate) rewards: Vec<f64>,
    /// The row of each label, in the same order.
    pub(crate) rows: Vec<usize>,
    /// Number of labels on rows that had a label before. Zero unless rows come back.
    pub(crate) repeated_labels: usize,
    /// Least number of rows, over the folds, that were of use in learning before the first pick.
    /// None without folds.
    pub(crate) studied: Option<usize>,
    /// Every pick, if picks are kept.
    pub(crate) picks: Vec<LoggedPick>,
}

/// Runs schedules on a log.
#[derive(Clone, Copy)]
pub(crate) struct RunSimulator<'a> {
    pub(crate) log: &'a ReviewLog,
    pub(crate) k: usize,
    /// Can stop the run.
    pub(crate) watch: RunProgress<'a>,
}

/// A policy or reference in a run, with its random numbers.
pub(crate) struct Participant<'a> {
    /// Makes the picker that begins each stage.
    pub(crate) make: Box<dyn Fn() -> Box<dyn RowPicker> + 'a>,
    pub(crate) rng: ChaCha8Rng,
    /// Whether every pick is kept.
    pub(crate) keep: bool,
}

impl<'a> RunSimulator<'a> {
    /// Runs a schedule. Returns the result of each participant.
    pub(crate) fn play(
        self,
        schedule: &RowSchedule,
        participants: Vec<Participant<'a>>,
    ) -> Result<Vec<RunResult>, Error> {
        let (log, most) = (self.log, self.k);
        let run = |participant| ParticipantRun {
            simulator: self,
            participant,
            had: vec![false; log.rows()],
            round: 0,
            played: RunResult::default(),
        };
        let mut runs: Vec<ParticipantRun<'a>> = participants.into_iter().map(run).collect();
        let mut candidates = CandidateRows::default();
        for stage in &schedule.stages {
            match stage {
                ScheduleStage::Pool { rows, budget } => {
                    for run in &mut runs {
                        let mut player = (run.participant.make)();
                        candidates.load(log, rows);
                        let mut left = *budget;
                        while left > 0 {
                            let request = PickRequest {
                                candidates: &candidates,
                                new: left == *budget,
                                k: most.min(left),
                            };
                            left -= request.k;
                            let mut places = run.step(player.as_mut(), &request, true)?;
                            candidates.remove(&mut places, log.width());
                            player.removed(&places);
                        }
                    }
                }
                ScheduleStage::Rounds(rounds) => {
                    let mut players: Vec<Box<dyn RowPicker>> =
                        runs.iter().map(|run| (run.participant.make)()).collect();
                    for rows in rounds {
                        candidates.load(log, rows);
                        let request =
                            PickRequest { candidates: &candidates, new: true, k: most.min(rows.len()) };
                        for (run, player) in runs.iter_mut().zip(&mut players) {
                            run.step(player.as_mut(), &request, true)?;
                        }
                    }
                }
                // One participant after the other, because some pickers keep all rows that they
                // studied.
                ScheduleStage::Fold { rest, rounds } => {
                    for run in &mut runs {
                        let mut player = (run.participant.make)();
                        let used = player.study(log, rest)?;
                        let least = &mut run.played.studied;
                        *least = Some(least.map_or(used, |least| least.min(used)));
                        for rows in rounds {
                            candidates.load(log, rows);
                            let request =
                                PickRequest { candidates: &candidates, new: true, k: most.min(rows.len()) };
                            run.step(player.as_mut(), &request, false)?;
                        }
                    }
                }
            }
        }
        Ok(runs.into_iter().map(|run| run.played).collect())
    }
}

/// A participant's progress through a run.
struct ParticipantRun<'a> {
    simulator: RunSimulator<'a>,
    participant: Participant<'a>,
    /// Whether each row has had a label.
    had: Vec<bool>,
    round: usize,
    played: RunResult,
}

impl ParticipantRun<'_> {
    /// One step. Returns the positions of the picks.
    fn step(
        &mut self,
        player: &mut dyn RowPicker,
        request: &PickRequest<'_>,
        learns: bool,
    ) -> Result<Vec<usize>, Error> {
        self.simulator.watch.go_on()?;
        let choices = player.pick(request, &mut self.participant.rng)?;
        let (candidates, log) = (request.candidates, self.simulator.log);
        let rows: Vec<usize> = choices.iter().map(|choice| candidates.rows[choice.place]).collect();
        for (&row, choice) in rows.iter().zip(&choices) {
            self.played.rewards.push(log.rewards[row]);
            self.played.rows.push(row);
            self.played.repeated_labels += usize::from(std::mem::replace(&mut self.had[row], true));
            if self.participant.keep {
                let picks = LoggedPick { round: self.round, row, probability: choice.probability };
                self.played.picks.push(picks);
            }
        }
        if learns {
            let verdicts: Vec<f64> = rows.iter().map(|&row| log.rewards[row]).collect();
            player.learn(log, &rows, &verdicts)?;
        }
        self.round += 1;
        Ok(choices.iter().map(|choice| choice.place).collect())
    }
}

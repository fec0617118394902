//! Runs: shown, picked, told, and on to the next round. Whoever plays the same run is shown its rounds together, so that rows, which lie all
//! over the table, are fetched once.

use super::Log;
use super::course::{Course, Stage};
use super::parallel::Watch;
use super::picks::Chosen;
use super::player::{Desk, Player, Turn};
use crate::error::Error;
use rand_chacha::ChaCha8Rng;

/// What one player earned in one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Played {
    /// The reward of each label, in the order in which they were given.
    pub(crate) rewards: Vec<f64>,
    /// The row of each label, in the same order.
    pub(crate) rows: Vec<usize>,
    /// Labels on rows that had one before: none, but where rows come back.
    pub(crate) again: usize,
    /// Rows with a reward that were of use in learning before the first round, at least; None where there were none to learn from.
    pub(crate) studied: Option<usize>,
    /// Every pick, where they are kept.
    pub(crate) chosen: Vec<Chosen>,
}

/// How a run is played.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    pub(crate) log: &'a Log,
    pub(crate) k: usize,
    /// Who may say that it is enough.
    pub(crate) watch: Watch<'a>,
}

/// Who plays a run.
pub(crate) struct Seat<'a> {
    /// A player as every stage is begun by.
    pub(crate) make: Box<dyn Fn() -> Box<dyn Player> + 'a>,
    pub(crate) rng: ChaCha8Rng,
    /// Whether to keep every pick.
    pub(crate) keep: bool,
}

impl<'a> Table<'a> {
    /// Plays a course: what each earned.
    pub(crate) fn play(self, course: &Course, seats: Vec<Seat<'a>>) -> Result<Vec<Played>, Error> {
        let (log, most) = (self.log, self.k);
        let run = |seat| Run {
            table: self,
            seat,
            had: vec![false; log.rows()],
            round: 0,
            played: Played::default(),
        };
        let mut runs: Vec<Run<'a>> = seats.into_iter().map(run).collect();
        let mut desk = Desk::default();
        for stage in &course.stages {
            match stage {
                Stage::Pool { rows, budget } => {
                    for run in &mut runs {
                        let mut player = (run.seat.make)();
                        desk.lay(log, rows);
                        let mut left = *budget;
                        while left > 0 {
                            let turn = Turn { desk: &desk, new: left == *budget, k: most.min(left) };
                            left -= turn.k;
                            let mut places = run.step(player.as_mut(), &turn, true)?;
                            desk.take_away(&mut places, log.width());
                            player.taken_away(&places);
                        }
                    }
                }
                Stage::Rounds(rounds) => {
                    let mut players: Vec<Box<dyn Player>> =
                        runs.iter().map(|run| (run.seat.make)()).collect();
                    for rows in rounds {
                        desk.lay(log, rows);
                        let turn = Turn { desk: &desk, new: true, k: most.min(rows.len()) };
                        for (run, player) in runs.iter_mut().zip(&mut players) {
                            run.step(player.as_mut(), &turn, true)?;
                        }
                    }
                }
                // One after the other: some remember all that they have studied.
                Stage::Fold { rest, rounds } => {
                    for run in &mut runs {
                        let mut player = (run.seat.make)();
                        let used = player.study(log, rest)?;
                        let least = &mut run.played.studied;
                        *least = Some(least.map_or(used, |least| least.min(used)));
                        for rows in rounds {
                            desk.lay(log, rows);
                            let turn = Turn { desk: &desk, new: true, k: most.min(rows.len()) };
                            run.step(player.as_mut(), &turn, false)?;
                        }
                    }
                }
            }
        }
        Ok(runs.into_iter().map(|run| run.played).collect())
    }
}

/// A run under way.
struct Run<'a> {
    table: Table<'a>,
    seat: Seat<'a>,
    /// The rows that have had a label.
    had: Vec<bool>,
    round: usize,
    played: Played,
}

impl Run<'_> {
    /// One step; the places of what was picked.
    fn step(&mut self, player: &mut dyn Player, turn: &Turn<'_>, learns: bool) -> Result<Vec<usize>, Error> {
        self.table.watch.go_on()?;
        let choices = player.pick(turn, &mut self.seat.rng)?;
        let (desk, log) = (turn.desk, self.table.log);
        let rows: Vec<usize> = choices.iter().map(|choice| desk.rows[choice.place]).collect();
        for (&row, choice) in rows.iter().zip(&choices) {
            self.played.rewards.push(log.rewards[row]);
            self.played.rows.push(row);
            self.played.again += usize::from(std::mem::replace(&mut self.had[row], true));
            if self.seat.keep {
                let chosen = Chosen { round: self.round, row, probability: choice.probability };
                self.played.chosen.push(chosen);
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

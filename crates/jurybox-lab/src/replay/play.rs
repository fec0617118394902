//! One player's run: shown, picked, told, and on to the next round.

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
pub(crate) struct Table<'a> {
    pub(crate) log: &'a Log,
    pub(crate) k: usize,
    /// Whether to keep every pick.
    pub(crate) keep: bool,
    /// Who may say that it is enough.
    pub(crate) watch: Watch<'a>,
}

impl Table<'_> {
    /// Plays a course; every stage is begun by a player as `make` makes it.
    pub(crate) fn play(
        self,
        course: &Course,
        make: impl Fn() -> Box<dyn Player>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Played, Error> {
        let (log, most) = (self.log, self.k);
        let had = vec![false; log.rows()];
        let mut run = Run { table: self, rng, had, round: 0, played: Played::default() };
        let mut desk = Desk::default();
        for stage in &course.stages {
            let mut player = make();
            match stage {
                Stage::Pool { rows, budget } => {
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
                Stage::Rounds(rounds) | Stage::Fold { rounds, .. } => {
                    let learns = if let Stage::Fold { rest, .. } = stage {
                        let used = player.study(log, rest)?;
                        let least = &mut run.played.studied;
                        *least = Some(least.map_or(used, |least| least.min(used)));
                        false
                    } else {
                        true
                    };
                    for rows in rounds {
                        desk.lay(log, rows);
                        let turn = Turn { desk: &desk, new: true, k: most.min(rows.len()) };
                        run.step(player.as_mut(), &turn, learns)?;
                    }
                }
            }
        }
        Ok(run.played)
    }
}

/// A run under way.
struct Run<'a, 'b> {
    table: Table<'a>,
    rng: &'b mut ChaCha8Rng,
    /// The rows that have had a label.
    had: Vec<bool>,
    round: usize,
    played: Played,
}

impl Run<'_, '_> {
    /// One step; the places of what was picked.
    fn step(&mut self, player: &mut dyn Player, turn: &Turn<'_>, learns: bool) -> Result<Vec<usize>, Error> {
        self.table.watch.go_on()?;
        let choices = player.pick(turn, self.rng)?;
        let (desk, log) = (turn.desk, self.table.log);
        let rows: Vec<usize> = choices.iter().map(|choice| desk.rows[choice.place]).collect();
        for (&row, choice) in rows.iter().zip(&choices) {
            self.played.rewards.push(log.rewards[row]);
            self.played.rows.push(row);
            self.played.again += usize::from(std::mem::replace(&mut self.had[row], true));
            if self.table.keep {
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

//! One player's run: shown, picked, told, and on to the next round.

use super::Log;
use super::course::{Course, Stage};
use super::picks::Chosen;
use super::player::{Choice, Desk, Player};
use crate::error::Error;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// What one player earned in one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Played {
    /// The reward of each label, in the order in which they were given.
    pub(crate) rewards: Vec<f64>,
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
    /// What is learnt is off by noise of this standard deviation, drawn from its own stream, the same for all players.
    pub(crate) noise: Option<(f64, ChaCha8Rng)>,
}

impl Table<'_> {
    /// Plays a course; every stage is begun by a player as `make` makes it.
    pub(crate) fn play(
        mut self,
        course: &Course,
        make: impl Fn() -> Box<dyn Player>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Played, Error> {
        let mut played = Played::default();
        let mut had = vec![false; self.log.rows()];
        let mut desk = Desk::default();
        let mut round = 0;
        for stage in &course.stages {
            let mut player = make();
            match stage {
                Stage::Pool { rows, budget } => {
                    desk.lay(self.log, rows);
                    let mut left = *budget;
                    while left > 0 {
                        let k = self.k.min(left);
                        let new = left == *budget;
                        let mut places = self.step(
                            player.as_mut(),
                            &desk,
                            new,
                            k,
                            round,
                            rng,
                            &mut had,
                            &mut played,
                            true,
                        )?;
                        desk.take_away(&mut places, self.log.width());
                        (left, round) = (left - k, round + 1);
                    }
                }
                Stage::Rounds(rounds) | Stage::Fold { rounds, .. } => {
                    let learns = if let Stage::Fold { rest, .. } = stage {
                        let used = player.study(self.log, rest)?;
                        played.studied = Some(played.studied.map_or(used, |least| least.min(used)));
                        false
                    } else {
                        true
                    };
                    for rows in rounds {
                        desk.lay(self.log, rows);
                        let k = self.k.min(rows.len());
                        self.step(
                            player.as_mut(),
                            &desk,
                            true,
                            k,
                            round,
                            rng,
                            &mut had,
                            &mut played,
                            learns,
                        )?;
                        round += 1;
                    }
                }
            }
        }
        Ok(played)
    }

    /// One step; the places of what was picked.
    #[expect(clippy::too_many_arguments, reason = "all of a step, used twice above")]
    fn step(
        &mut self,
        player: &mut dyn Player,
        desk: &Desk,
        new: bool,
        k: usize,
        round: usize,
        rng: &mut ChaCha8Rng,
        had: &mut [bool],
        played: &mut Played,
        learns: bool,
    ) -> Result<Vec<usize>, Error> {
        let mut choices: Vec<Choice> = Vec::with_capacity(k);
        player.pick(desk, new, k, rng, &mut choices)?;
        let rows: Vec<usize> = choices.iter().map(|choice| desk.rows[choice.place]).collect();
        for (&row, choice) in rows.iter().zip(&choices) {
            played.rewards.push(self.log.rewards[row]);
            played.again += usize::from(std::mem::replace(&mut had[row], true));
            if self.keep {
                played.chosen.push(Chosen { round, row, probability: choice.probability });
            }
        }
        if learns {
            let mut verdicts: Vec<f64> = rows.iter().map(|&row| self.log.rewards[row]).collect();
            if let Some((deviation, draws)) = &mut self.noise {
                // One for every row on the desk, so that all players hear the same about a row.
                let noise: Vec<f64> = desk.rows.iter().map(|_| StandardNormal.sample(draws)).collect();
                for (verdict, choice) in verdicts.iter_mut().zip(&choices) {
                    *verdict += *deviation * noise[choice.place];
                }
            }
            player.learn(self.log, &rows, &verdicts)?;
        }
        Ok(choices.iter().map(|choice| choice.place).collect())
    }
}

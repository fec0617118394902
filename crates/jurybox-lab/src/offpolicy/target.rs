//! Inclusion probabilities of a target policy along a log, with learning from the logged rewards.
//!
//! The evaluation is progressive (prequential). In round t the policy has learnt from the log's
//! earlier rounds. It knows the scores of round t but none of its rewards. The weight of a pick
//! therefore does not depend on its reward. The policy learns from the log's picks, not its own.

use super::receipts::{advice, explored, needs, receipt_of_row};
use crate::error::Error;
use crate::replay::{CandidateRows, JuryView, ReviewLog, RewardScaling, RunProgress};
use jurybox::{Example, Jury, Needs, Receipt, Scores, TopK};

/// A policy to evaluate.
#[derive(Debug, Clone)]
pub(crate) enum TargetPolicy {
    /// A policy with its jury before the first round, and the scaling of the rewards that it learns
    /// from.
    Policy(Box<Jury>, RewardScaling),
    /// Uniform picks.
    Uniform,
    /// The top K by a given value for each row.
    Fixed(Vec<f64>),
}

/// Follows policies along a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PolicyFollower<'a> {
    pub(crate) log: &'a ReviewLog,
    pub(crate) rounds: &'a [Vec<usize>],
    /// Picks in a round; in a round with fewer items all are picked.
    pub(crate) k: usize,
    pub(crate) seed: u64,
}

/// The result of following a policy.
pub(crate) enum FollowedPolicy {
    /// Its inclusion probability for each row.
    Probabilities(Vec<f64>),
    /// The reason why it cannot be followed along this log.
    Impossible(String),
}

impl PolicyFollower<'_> {
    pub(crate) fn along(
        &self,
        target: &TargetPolicy,
        watch: RunProgress<'_>,
    ) -> Result<FollowedPolicy, Error> {
        let mut out = vec![0.0; self.log.rows()];
        match target {
            TargetPolicy::Policy(jury, scale) => return self.policy(jury, *scale, |_| watch.go_on()),
            TargetPolicy::Uniform => {
                for rows in self.rounds {
                    let share = self.picks(rows) as f64 / rows.len() as f64;
                    rows.iter().for_each(|&row| out[row] = share);
                }
            }
            TargetPolicy::Fixed(values) => {
                for (round, rows) in self.rounds.iter().enumerate() {
                    let mut top = TopK::new(self.picks(rows), self.seed ^ round as u64);
                    rows.iter().for_each(|&row| top.push(row as u64, last_if_missing(values[row])));
                    top.sorted().iter().for_each(|ranked| out[ranked.item as usize] = 1.0);
                }
            }
        }
        Ok(FollowedPolicy::Probabilities(out))
    }

    fn picks(&self, rows: &[usize]) -> usize {
        self.k.min(rows.len())
    }

    /// Follows a jury along the log. `before` is called with the jury at the beginning of each
    /// round.
    pub(super) fn policy(
        &self,
        jury: &Jury,
        scale: RewardScaling,
        mut before: impl FnMut(&Jury) -> Result<(), Error>,
    ) -> Result<FollowedPolicy, Error> {
        let log = self.log;
        let mut jury = jury.clone();
        let needs = needs(&jury);
        let explored = match explored(log, self.rounds, self.seed) {
            Err(why) if needs == Needs::Explored => return Ok(FollowedPolicy::Impossible(why)),
            explored => explored.unwrap_or_else(|_| vec![false; log.rows()]),
        };
        if needs == Needs::Explored && !explored.iter().any(|&e| e) {
            let why = "it learns only from picks drawn at random, and the log has none";
            return Ok(FollowedPolicy::Impossible(why.into()));
        }
        if needs == Needs::Advice && self.rounds.iter().flatten().any(|&row| log.probabilities[row].is_nan())
        {
            let why = "it learns from the bonus of whole rounds, which takes a logged probability \
                       on every row, picked or not; some have none";
            return Ok(FollowedPolicy::Impossible(why.into()));
        }
        let mut out = vec![0.0; log.rows()];
        let (shown, mut candidates) = (JuryView::to(jury.evaluators(), log), CandidateRows::default());
        for (rows, at) in self.rounds.iter().zip(jury.seen().next_time()..) {
            let k = self.picks(rows);
            candidates.load(log, rows);
            let written = shown.of(&candidates);
            let scores = Scores::new(&written, shown.width())?;
            before(&jury)?;
            let shares = probabilities_of_round(&mut jury, &scores, at, k)?;
            rows.iter().zip(shares).for_each(|(&row, share)| out[row] = share);
            let (advice, bonus) =
                if needs == Needs::Advice { advice(log, rows, k)? } else { Default::default() };
            for (place, &row) in rows.iter().enumerate().filter(|(_, row)| !log.rewards[**row].is_nan()) {
                let receipt = Receipt {
                    explored: explored[row],
                    advice: advice.get(place).cloned().unwrap_or_default(),
                    bonus: bonus.clone(),
                    ..receipt_of_row(log, row)
                };
                teach(&mut jury, scores.row(place), scale.apply(log.rewards[row]), &receipt, at)?;
            }
        }
        Ok(FollowedPolicy::Probabilities(out))
    }
}

/// A value for ranking: NaN, for a row without scores, ranks last.
pub(super) fn last_if_missing(value: f64) -> f64 {
    if value.is_nan() { f64::NEG_INFINITY } else { value }
}

/// The inclusion probabilities of one round, in the policy's own order of observing and choosing.
pub(super) fn probabilities_of_round(
    jury: &mut Jury,
    scores: &Scores<'_>,
    at: u64,
    k: usize,
) -> Result<Vec<f64>, Error> {
    if jury.observes_first() {
        jury.observe(scores, at)?;
        return Ok(jury.fit().inclusion_probabilities(scores, k)?);
    }
    let shares = jury.fit().inclusion_probabilities(scores, k)?;
    jury.observe(scores, at)?;
    Ok(shares)
}

fn teach(jury: &mut Jury, scores: &[f64], reward: f64, receipt: &Receipt, at: u64) -> Result<(), Error> {
    jury.learn(&[Example { scores, reward, receipt: Some(receipt) }], at)?;
    Ok(())
}

//! One simulated run: every policy on the same rounds, compared with the oracle.
//!
//! Equations and appendices are those of the paper, "Top K Ranking for Multi-Armed Bandit with
//! Noisy Evaluations".

use crate::checkpoints::{DENSITY, checkpoints};
use crate::contender::Contender;
use crate::error::Error;
use crate::setting::Setting;
use crate::simulated_queue::{SimulatedItems, SimulatedQueue};
use jurybox::toolbox::hash_text;
use jurybox::{Example, Jury, Pick, Receipt, Scores, TopK};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

/// The results of one run of a setting at its checkpoints. All sums begin with the first round.
///
/// ```
/// use jurybox_lab::{Contender, Setting, trial};
///
/// let setting = Setting { rounds: 50, ..Setting::default() };
/// let contenders = [Contender::of("esag".parse()?)];
/// let record = trial(&setting, &contenders, 1, 0, &false.into())?.unwrap();
/// assert_eq!(record.rounds.last(), Some(&50));
/// assert!(record.tracks[0].relative_regret.iter().all(|regret| *regret >= 0.0));
/// # Ok::<(), jurybox_lab::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The rounds of the checkpoints.
    pub rounds: Vec<u64>,
    /// Sum of the true rewards of the oracle's picks.
    pub oracle: Vec<f64>,
    /// Sum of the true rewards of the best possible picks from the items that the oracle sees.
    pub best: Vec<f64>,
    /// One track per contender, in the order in which they were given.
    pub tracks: Vec<Track>,
}

/// The results of one contender in a [`RunRecord`], one entry per checkpoint.
///
/// A contender that stops early has no entries after its last round.
///
/// ```
/// assert!(jurybox_lab::Track::default().reward.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Track {
    /// Relative regret (Eq. 6): the oracle's estimates of the picks that it would make, minus its
    /// estimates of the contender's picks, summed over rounds.
    pub relative_regret: Vec<f64>,
    /// Absolute regret (App. D): the true rewards of the oracle's picks minus those of the
    /// contender's, summed over rounds.
    pub absolute_regret: Vec<f64>,
    /// Sum of the true rewards of the picks.
    pub reward: Vec<f64>,
    /// Euclidean distance of the estimated gains from the true ones, which are multiplied by E\[r\]
    /// for `esag` and `glm-esag`. None for policies that estimate no gains.
    pub alpha_error: Vec<Option<f64>>,
}

/// Simulates run number `run` of a setting. None if `stop` was found set, which is checked every 64
/// rounds.
pub fn trial(
    setting: &Setting,
    contenders: &[Contender],
    seed: u64,
    run: u64,
    stop: &AtomicBool,
) -> Result<Option<RunRecord>, Error> {
    let mut queue = SimulatedQueue::new(setting, seed, run);
    let mut running = Vec::new();
    for contender in contenders {
        running.push(RunningContender::new(contender, setting, &queue, seed, run)?);
    }
    let mut oracle = OraclePicker::default();
    let (mut oracle_sum, mut best_sum) = (0.0, 0.0);
    let mut oracle_pool = SimulatedItems::default();
    let rounds = checkpoints(setting.rounds, DENSITY);
    let mut record = RunRecord {
        rounds: rounds.clone(),
        oracle: Vec::new(),
        best: Vec::new(),
        tracks: vec![Track::default(); running.len()],
    };
    let mut next = rounds.iter().peekable();
    let (mut items, mut inverse) = (SimulatedItems::default(), Vec::new());
    for round in 1..=setting.rounds {
        if round % 64 == 0 && stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        queue.next_round(&mut items);
        // The oracle and every contender read the same scores: compute the inverse link once.
        let scores = Scores::new(&items.scores, setting.evaluators)?.with_inverse(setting.link, &mut inverse);
        let oracle_rewards = if setting.extensions.persistent {
            oracle_pool.append(&items);
            let pool = Scores::new(&oracle_pool.scores, setting.evaluators)?;
            let oracle_rewards = oracle.pick(&queue, &pool, &oracle_pool.rewards, setting.k);
            oracle_pool.remove(setting.evaluators, &mut oracle.oracle_picks);
            oracle_rewards
        } else {
            oracle.pick(&queue, &scores, &items.rewards, setting.k)
        };
        oracle_sum += oracle_rewards.oracle_reward;
        best_sum += oracle_rewards.best_reward;
        for contender in running.iter_mut().filter(|contender| round <= contender.last_round) {
            if setting.extensions.persistent {
                contender.play_from_own_pool(setting, round, (&scores, &items), &queue, &mut oracle)?;
            } else {
                let oracle = (&oracle.values[..], oracle_rewards.oracle_estimate);
                contender.play(setting, round, &scores, (&scores, &items), oracle)?;
            }
        }
        if next.next_if(|&&checkpoint| checkpoint == round).is_some() {
            record.oracle.push(oracle_sum);
            record.best.push(best_sum);
            for (contender, track) in running.iter_mut().zip(&mut record.tracks) {
                if round <= contender.last_round {
                    track.relative_regret.push(contender.relative);
                    track.absolute_regret.push(oracle_sum - contender.reward);
                    track.reward.push(contender.reward);
                    track.alpha_error.push(contender.alpha_error(setting, &queue));
                }
            }
        }
    }
    Ok(Some(record))
}

/// Finds the picks of the oracle, with buffers that are kept from round to round.
#[derive(Default)]
struct OraclePicker {
    buffer: Vec<f64>,
    values: Vec<f64>,
    oracle_picks: Vec<usize>,
    top: Option<TopK>,
}

#[derive(Clone, Copy)]
struct OracleRewards {
    oracle_estimate: f64,
    oracle_reward: f64,
    best_reward: f64,
}

impl OraclePicker {
    fn pick(
        &mut self,
        queue: &SimulatedQueue,
        scores: &Scores<'_>,
        rewards: &[f64],
        k: usize,
    ) -> OracleRewards {
        queue.oracle_values(scores, &mut self.buffer, &mut self.values);
        let top = self.top.get_or_insert_with(|| TopK::new(k, 0));
        let mut best_of = |values: &[f64], picks: Option<&mut Vec<usize>>| -> f64 {
            top.fill(k, 0, values);
            let best = top.sorted();
            if let Some(picks) = picks {
                picks.clear();
                picks.extend(best.iter().map(|ranked| ranked.item as usize));
            }
            best.iter().map(|ranked| ranked.value).sum()
        };
        let oracle_estimate = best_of(&self.values, Some(&mut self.oracle_picks));
        let best_reward = best_of(rewards, None);
        let oracle_reward = self.oracle_picks.iter().map(|&item| rewards[item]).sum();
        OracleRewards { oracle_estimate, oracle_reward, best_reward }
    }
}

/// A reward that is delivered at the end of `round`.
struct PendingReward {
    round: u64,
    scores: Vec<f64>,
    reward: f64,
    receipt: Receipt,
}

/// A contender with its jury and its sums so far.
struct RunningContender {
    jury: Jury,
    rng: ChaCha8Rng,
    pool: SimulatedItems,
    picks: Vec<Pick>,
    pending: VecDeque<PendingReward>,
    relative: f64,
    reward: f64,
    last_round: u64,
    /// The policy estimates this multiple of the true gains.
    alpha_scale: f64,
}

impl RunningContender {
    fn new(
        contender: &Contender,
        setting: &Setting,
        queue: &SimulatedQueue,
        seed: u64,
        run: u64,
    ) -> Result<RunningContender, Error> {
        // The stream depends on seed, run and label, and not on the other contenders.
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ hash_text(&contender.label));
        rng.set_stream(run);
        Ok(RunningContender {
            jury: contender.jury_for(setting, queue.truth())?,
            rng,
            pool: SimulatedItems::default(),
            picks: Vec::new(),
            pending: VecDeque::new(),
            relative: 0.0,
            reward: 0.0,
            last_round: contender.stop.unwrap_or(setting.rounds),
            alpha_scale: if contender.spec.name().ends_with("esag") { setting.mean_reward() } else { 1.0 },
        })
    }

    fn play(
        &mut self,
        setting: &Setting,
        round: u64,
        new: &Scores<'_>,
        (scores, items): (&Scores<'_>, &SimulatedItems),
        (oracle_values, oracle_estimate): (&[f64], f64),
    ) -> Result<(), Error> {
        self.jury.round_from_pool_into(scores, new, round, setting.k, &mut self.rng, &mut self.picks)?;
        let mut estimate = 0.0;
        for pick in &self.picks {
            estimate += oracle_values[pick.item];
            self.reward += items.rewards[pick.item];
        }
        self.relative += (oracle_estimate - estimate).max(0.0); // never negative but for rounding
        if setting.extensions.delay == 0 {
            let examples: Vec<Example<'_>> = self
                .picks
                .iter()
                .map(|pick| Example {
                    scores: scores.row(pick.item),
                    reward: items.verdicts[pick.item],
                    receipt: Some(&pick.receipt),
                })
                .collect();
            self.jury.learn(&examples, round)?;
            return Ok(());
        }
        for pick in &self.picks {
            self.pending.push_back(PendingReward {
                round: round + setting.extensions.delay,
                scores: scores.row(pick.item).to_vec(),
                reward: items.verdicts[pick.item],
                receipt: pick.receipt.clone(),
            });
        }
        while let Some(pending) = self.pending.pop_front_if(|pending| pending.round <= round) {
            let (scores, receipt) = (&pending.scores, Some(&pending.receipt));
            self.jury.learn(
                &[Example { scores, reward: pending.reward, receipt }],
                pending.round - setting.extensions.delay,
            )?;
        }
        Ok(())
    }

    /// One round with persistent items: the contender picks from a pool of its own, and observes
    /// each item once, when it arrives.
    fn play_from_own_pool(
        &mut self,
        setting: &Setting,
        round: u64,
        (new, items): (&Scores<'_>, &SimulatedItems),
        queue: &SimulatedQueue,
        oracle: &mut OraclePicker,
    ) -> Result<(), Error> {
        let mut pool = std::mem::take(&mut self.pool);
        pool.append(items);
        let scores = Scores::new(&pool.scores, setting.evaluators)?;
        let oracle_rewards = oracle.pick(queue, &scores, &pool.rewards, setting.k);
        self.play(setting, round, new, (&scores, &pool), (&oracle.values, oracle_rewards.oracle_estimate))?;
        let mut picked: Vec<usize> = self.picks.iter().map(|pick| pick.item).collect();
        pool.remove(setting.evaluators, &mut picked);
        self.pool = pool;
        Ok(())
    }

    fn alpha_error(&self, setting: &Setting, queue: &SimulatedQueue) -> Option<f64> {
        let scale = self.alpha_scale;
        let (truth, units) = (&queue.truth().alpha, &queue.truth().unit);
        debug_assert_eq!(truth.len(), setting.evaluators);
        let fitted = self.jury.fit();
        let square: f64 = fitted
            .alpha()?
            .iter()
            .zip(truth.iter().zip(units))
            .map(|(estimate, (alpha, unit))| (estimate / unit - scale * alpha).powi(2))
            .sum();
        Some(square.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Extensions;

    fn contenders(names: &[&str]) -> Vec<Contender> {
        names.iter().map(|name| Contender::of(name.parse().unwrap())).collect()
    }

    fn play(setting: &Setting, names: &[&str]) -> RunRecord {
        trial(setting, &contenders(names), 3, 1, &false.into()).unwrap().unwrap()
    }

    #[test]
    fn who_else_plays_changes_nothing() {
        let setting = Setting { rounds: 60, ..Setting::default() };
        let together = play(&setting, &["eps-greedy", "uniform", "esag", "exp4p"]);
        for (at, name) in ["eps-greedy", "uniform", "esag", "exp4p"].into_iter().enumerate() {
            let alone = play(&setting, &[name]);
            assert_eq!(alone.tracks[0], together.tracks[at], "{name}");
            assert_eq!(alone.oracle, together.oracle);
        }
    }

    #[test]
    fn the_oracle_has_no_regret_against_itself() {
        let record = play(&Setting { rounds: 40, ..Setting::default() }, &["oracle"]);
        assert!(record.tracks[0].relative_regret.iter().all(|r| r.abs() < 1e-9));
        assert!(record.tracks[0].absolute_regret.iter().all(|r| r.abs() < 1e-9));
        assert!(record.oracle.iter().zip(&record.best).all(|(oracle, best)| oracle <= best));
    }

    #[test]
    fn most_extensions_run_with_every_policy_but_the_oracle() {
        let extensions = Extensions {
            intercepts: 0.2,
            useless: 1,
            inverted: 1,
            correlated: 3,
            rho: 0.5,
            reward_noise_growth: 0.3,
            curvature: 0.3,
            missing: 0.2,
            outage: Some((5, 9)),
            drift: crate::SimulatedDrift::Slow,
            reward_noise: 0.3,
            delay: 3,
            persistent: true,
            ..Extensions::default()
        };
        for link in jurybox::Link::ALL {
            let setting = Setting {
                link,
                ratio: 5.0,
                rounds: 30,
                items: 12,
                k: 3,
                extensions: extensions.clone(),
                ..Setting::default()
            };
            let all = Contender::all_that_fit(link);
            let record = trial(&setting, &all, 1, 0, &false.into()).unwrap().unwrap();
            for track in &record.tracks {
                assert_eq!(track.reward.len(), record.rounds.len());
                assert!(track.reward.iter().all(|r| r.is_finite()));
            }
        }
    }

    #[test]
    fn with_persistent_items_the_pool_runs_out_of_good_ones() {
        let fresh = Setting { rounds: 100, ratio: 10.0, ..Setting::default() };
        let stays =
            Setting { extensions: Extensions { persistent: true, ..Extensions::default() }, ..fresh.clone() };
        let (fresh, stays) = (play(&fresh, &["uniform"]), play(&stays, &["uniform"]));
        // As many items leave as arrive, so that the mean of the oracle's picks falls towards E[r].
        assert!(stays.oracle.last() < fresh.oracle.last());
        assert!(stays.tracks[0].reward.last() < stays.oracle.last());
    }

    #[test]
    fn items_that_stay_do_not_mislead_esag() {
        let setting = Setting {
            rounds: 100,
            ratio: 0.3,
            extensions: Extensions { persistent: true, ..Extensions::default() },
            ..Setting::default()
        };
        let regret = *play(&setting, &["esag"]).tracks[0].absolute_regret.last().unwrap();
        assert!(regret < 4.0, "{regret}");
    }

    #[test]
    fn delayed_rewards_slow_learning_down() {
        let setting = Setting { rounds: 100, ratio: 10.0, ..Setting::default() };
        let late =
            Setting { extensions: Extensions { delay: 40, ..Extensions::default() }, ..setting.clone() };
        let (now, late) = (play(&setting, &["lin-ucb"]), play(&late, &["lin-ucb"]));
        assert!(late.tracks[0].relative_regret.last() > now.tracks[0].relative_regret.last());
    }

    #[test]
    fn a_contender_with_a_stop_plays_so_long_and_no_longer() {
        let setting = Setting { rounds: 50, ..Setting::default() };
        let short = Contender { stop: Some(10), ..contenders(&["esag"])[0].clone() };
        let record = trial(&setting, &[short], 3, 1, &false.into()).unwrap().unwrap();
        let kept = record.rounds.iter().filter(|&&round| round <= 10).count();
        assert_eq!(record.tracks[0].reward.len(), kept);
    }

    #[test]
    fn an_interrupted_run_leaves_nothing() {
        let setting = Setting { rounds: 1000, ..Setting::default() };
        assert!(trial(&setting, &contenders(&["esag"]), 1, 0, &true.into()).unwrap().is_none());
    }
}

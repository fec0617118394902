//! The experiments on real data of the paper, "Top K Ranking for Multi-Armed Bandit with Noisy
//! Evaluations", by its own protocol.
//!
//! As in the paper, rounds are drawn from all items every time, and policies are given the noise
//! levels. Compare these figures with the paper's only; for a fair test of policies see
//! [`Protocol`](super::Protocol).

use super::pickers::{CandidateRows, JuryPicker, PickRequest, PickedPosition, RewardScaling, RowPicker};
use super::schedule::RowSchedule;
use super::{Protocol, ReplayOptions, ReviewLog};
use crate::error::Error;
use crate::runner::{Running, kept};
use jurybox::estimate::{Mle, Noise};
use jurybox::toolbox::hash_text;
use jurybox::{Evaluators, Jury, Link, Links, Spec};
use jurybox_files::{Roles, ScanRequest, Table};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Items with scores and rewards, without gaps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dataset {
    pub(crate) names: Vec<String>,
    /// Scores, row-major.
    pub(crate) scores: Vec<f64>,
    pub(crate) rewards: Vec<f64>,
}

impl Dataset {
    /// Reads the named columns of a file, and the text of one more if `group` names it. Errors on a
    /// missing score or reward.
    pub(crate) fn read(
        path: &Path,
        evaluators: &[&str],
        reward: &str,
        group: Option<&str>,
    ) -> Result<(Dataset, Vec<String>), Error> {
        let roles = Roles {
            evaluators: evaluators.iter().map(|&name| name.into()).collect(),
            reward: Some(reward.into()),
            key: group.map(Into::into),
            ..Roles::default()
        };
        let table = Table::open(&[path.into()], &roles, false)?;
        let mut data = Dataset {
            names: table.roles().evaluators().names().map(Into::into).collect(),
            scores: vec![],
            rewards: vec![],
        };
        let mut groups = Vec::new();
        table.scan(
            ScanRequest { reward: true, key: group.is_some(), ..ScanRequest::default() },
            |mut part| {
                let keys: Vec<String> = part.batch.keys().iter().map(ToString::to_string).collect();
                Ok((part.batch.scores().to_vec(), part.batch.rewards().to_vec(), keys))
            },
            |_, (scores, rewards, keys)| {
                data.scores.extend(scores);
                data.rewards.extend(rewards);
                groups.extend(keys);
                Ok(())
            },
        )?;
        let width = data.names.len();
        let missing = data
            .scores
            .iter()
            .position(|x| x.is_nan())
            .map(|at| (at / width, data.names[at % width].as_str()));
        let missing =
            missing.or_else(|| data.rewards.iter().position(|x| x.is_nan()).map(|row| (row, reward)));
        if let Some((row, column)) = missing {
            let reason = format!("row {}: `{column}` is missing", row + 1);
            return Err(Error::Content { path: path.into(), reason });
        }
        Ok((data, groups))
    }

    pub(crate) fn len(&self) -> usize {
        self.rewards.len()
    }

    /// Rescales each evaluator's scores to 0 to 1, as links other than the identity need.
    pub(crate) fn scale_scores(&mut self) {
        let width = self.names.len();
        for j in 0..width {
            let column = || self.scores.iter().skip(j).step_by(width).copied();
            let (low, high) =
                column().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
            let span = if high > low { high - low } else { 1.0 };
            self.scores.iter_mut().skip(j).step_by(width).for_each(|x| *x = (*x - low) / span);
        }
    }

    /// The rows that `keep` accepts.
    pub(crate) fn only(&self, keep: impl Fn(usize) -> bool) -> Dataset {
        let width = self.names.len();
        let rows: Vec<usize> = (0..self.len()).filter(|&i| keep(i)).collect();
        Dataset {
            names: self.names.clone(),
            scores: rows.iter().flat_map(|i| &self.scores[i * width..(i + 1) * width]).copied().collect(),
            rewards: rows.iter().map(|&i| self.rewards[i]).collect(),
        }
    }

    /// Noise levels around `g(alpha r)`, with g the link, alpha the gain and r the reward. They are
    /// estimated from all rewards, since the paper's policies are given them.
    fn sigma(&self, link: Link) -> Vec<f64> {
        let width = self.names.len();
        let (mut mle, mut noise) = (Mle::new(width, link), Noise::new(width, link));
        for (row, &reward) in self.scores.chunks_exact(width).zip(&self.rewards) {
            mle.learn(row, reward);
            noise.learn(row, reward);
        }
        let alpha = mle.alpha(1.0 / width as f64);
        (0..width).map(|j| noise.sigma(j, alpha[j]).filter(|s| *s > 1e-9).unwrap_or(1.0)).collect()
    }
}

/// Options of a replay by the paper's protocol.
#[derive(Debug, Clone)]
pub(crate) struct PaperReplay {
    pub(crate) items: usize,
    pub(crate) k: usize,
    pub(crate) rounds: u64,
    pub(crate) runs: u64,
    pub(crate) seed: u64,
    /// Standard deviation of the error that is added to the rewards that policies learn from.
    pub(crate) reward_noise: f64,
}

impl PaperReplay {
    /// Reward per pick of each policy (outer) and run (inner). Rounds are the same for all
    /// policies. Finished runs are kept and read back as in [`run_all`](crate::run_all).
    pub(crate) fn run(
        &self,
        data: &Dataset,
        policies: &[Spec],
        method: &Running<'_>,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let told = [data.sigma(Link::Identity), data.sigma(Link::Logistic)];
        let never = AtomicBool::new(false);
        let stop = method.stop.unwrap_or(&never);
        let folder = method.keep.map(|keep| keep.join(self.key(data, policies)));
        if let Some(folder) = &folder {
            std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
        }
        let (done, total) = (AtomicUsize::new(0), self.runs as usize);
        let runs: Vec<Option<Vec<f64>>> = (0..self.runs)
            .into_par_iter()
            .map(|run| {
                let path = folder.as_ref().map(|folder| folder.join(format!("{run}.json")));
                let work = || self.one(data, policies, &told, run, stop);
                let rewards = kept(path.as_deref(), work)?;
                if let (Some(_), Some(progress)) = (&rewards, method.progress) {
                    progress(1 + done.fetch_add(1, Ordering::Relaxed), total);
                }
                Ok(rewards)
            })
            .collect::<Result<_, Error>>()?;
        let runs: Vec<Vec<f64>> = runs.into_iter().flatten().collect();
        if runs.len() < total {
            return Err(Error::Interrupted { done: runs.len(), total });
        }
        Ok((0..policies.len()).map(|at| runs.iter().map(|run| run[at]).collect()).collect())
    }

    /// The name of the folder of kept runs: a hash of options, policies and data.
    fn key(&self, data: &Dataset, policies: &[Spec]) -> String {
        let numbers = data.scores.iter().chain(&data.rewards);
        let content =
            numbers.fold(0_u64, |hash, x| hash.rotate_left(5).wrapping_mul(0x0100_0000_01b3) ^ x.to_bits());
        let names: Vec<String> = policies.iter().map(ToString::to_string).collect();
        // Earlier builds hashed the debug text of a type called Replay. The text is kept, so that
        // their folders are found.
        let PaperReplay { items, k, rounds, runs, seed, reward_noise } = self;
        let replay = format!(
            "Replay {{ items: {items}, k: {k}, rounds: {rounds}, runs: {runs}, seed: {seed}, \
             reward_noise: {reward_noise:?} }}"
        );
        let work = format!("{} 2 {replay} {content} {:?} {names:?}", env!("CARGO_PKG_VERSION"), data.names);
        format!("{:016x}", hash_text(&work))
    }

    fn one(
        &self,
        data: &Dataset,
        policies: &[Spec],
        told: &[Vec<f64>; 2],
        run: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Vec<f64>>, Error> {
        let log = ReviewLog {
            scores: data.scores.clone(),
            rewards: data.rewards.clone(),
            ..ReviewLog::of(Evaluators::new(&data.names)?)
        };
        let options = ReplayOptions {
            protocol: Protocol::Reuse,
            items: self.items,
            k: self.k,
            rounds: Some(self.rounds as usize),
            seed: self.seed,
            ..ReplayOptions::default()
        };
        let schedule = RowSchedule::of(&log, &options, run as usize);
        let stream = |seed: u64, stream: u64| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(stream);
            rng
        };
        let mut participants = Vec::with_capacity(policies.len());
        for spec in policies {
            let player = JuryPicker::new(
                jury_for(spec, &data.names, told, self.rounds)?,
                RewardScaling::NONE,
                &log,
                true,
            );
            participants.push((player, stream(self.seed ^ hash_text(&spec.to_string()), run), 0.0));
        }
        // The run's schedule uses the stream `2 * run`, so that this one is independent of it.
        let mut draws = stream(self.seed, 2 * run + 1);
        let (mut candidates, mut noise) = (CandidateRows::default(), vec![0.0; self.items]);
        // All policies play a round before the next one is loaded, so that its rows are fetched
        // once.
        for (round, shown) in schedule.rounds().enumerate() {
            if round % 64 == 0 && stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            candidates.load(&log, shown);
            if self.reward_noise > 0.0 {
                // One error per candidate, so that all policies get the same reward of a row.
                for noise in &mut noise {
                    let off: f64 = StandardNormal.sample(&mut draws);
                    *noise = self.reward_noise * off;
                }
            }
            let request = PickRequest { candidates: &candidates, new: true, k: self.k };
            for (player, rng, earned) in &mut participants {
                let choices = player.pick(&request, rng)?;
                let rows: Vec<usize> = choices.iter().map(|choice| shown[choice.place]).collect();
                let verdict =
                    |choice: &PickedPosition| log.rewards[shown[choice.place]] + noise[choice.place];
                let verdicts: Vec<f64> = choices.iter().map(verdict).collect();
                *earned += rows.iter().map(|&row| log.rewards[row]).sum::<f64>();
                player.learn(&log, &rows, &verdicts)?;
            }
        }
        let picks = (self.rounds * self.k as u64) as f64;
        Ok(Some(participants.into_iter().map(|(_, _, earned)| earned / picks).collect()))
    }
}

/// A new jury, with noise levels and horizon where the policy has such options.
fn jury_for(spec: &Spec, names: &[String], told: &[Vec<f64>; 2], rounds: u64) -> Result<Jury, Error> {
    let sigma = &told[usize::from(spec.entry().is_some_and(|entry| entry.links == Links::Glm))];
    let spec = spec.clone().told("sigma", sigma.clone()).told("horizon", rounds);
    Ok(Jury::new(&spec, Evaluators::new(names)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Dataset {
        let rewards: Vec<f64> = (0..200).map(|i| f64::from(i) / 200.0).collect();
        let scores = rewards.iter().flat_map(|r| [0.9 * r, 0.5 * r + 0.01 * (r * 70.0).sin()]).collect();
        Dataset { names: vec!["a".into(), "b".into()], scores, rewards }
    }

    #[test]
    fn informative_scores_beat_random_picks() {
        let replay = PaperReplay { items: 20, k: 5, rounds: 40, runs: 3, seed: 1, reward_noise: 0.1 };
        let policies = ["esag", "uniform", "eps-greedy"].map(|name| name.parse().unwrap());
        let rewards = replay.run(&small(), &policies, &Running::default()).unwrap();
        assert!(rewards[0].iter().zip(&rewards[1]).all(|(esag, uniform)| *esag > uniform + 0.2));
        assert_eq!(replay.run(&small(), &policies, &Running::default()).unwrap(), rewards);
    }

    #[test]
    fn a_bad_file_is_named_with_the_line() {
        let path = std::env::temp_dir().join(format!("jurybox-lab-bad-{}.csv", std::process::id()));
        std::fs::write(&path, "a,b,r\n1,2,3\n1,x,3\n").unwrap();
        let error = Dataset::read(&path, &["a", "b"], "r", None).unwrap_err().to_string();
        assert!(
            error.contains("column `b`: 1 of 2 cells are not numbers") && error.contains("`x` (line 3)"),
            "{error}"
        );
        let error = Dataset::read(&path, &["a", "z"], "r", None).unwrap_err().to_string();
        assert!(error.contains("no column `z`"), "{error}");
        std::fs::write(&path, "a,b,r\n1,2,3\n1,,3\n").unwrap();
        let error = Dataset::read(&path, &["a", "b"], "r", None).unwrap_err().to_string();
        assert!(error.contains("row 2: `b` is missing"), "{error}");
        std::fs::remove_file(path).unwrap();
    }
}

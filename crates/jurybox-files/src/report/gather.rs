//! One pass over the rows: moments in groups, and a sample.

use crate::error::Error;
use crate::judge::scores;
use crate::table::{Table, Want};
use jurybox::estimate::{Moments, Statistic};
use jurybox::toolbox::hash_number;
use std::sync::atomic::{AtomicU64, Ordering};

/// Groups of rows for the jackknife.
pub(super) const GROUPS: usize = 20;
/// Rows kept at most for curves and top K.
const SAMPLE: usize = 100_000;

pub(super) struct Gathered {
    pub(super) rows: u64,
    pub(super) labelled: u64,
    /// Per group, the moments of the scores alone.
    pub(super) scores: Vec<Moments>,
    /// Per group, the moments of the scores and, last, the reward, over labelled rows.
    pub(super) labels: Vec<Moments>,
    pub(super) outcomes: Outcomes,
    pub(super) sample: Sample,
}

/// The different rewards, as long as there are no more than two.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// Each with how often it occurs; three once there are more than two.
    counts: Vec<(f64, u64)>,
}

impl Outcomes {
    fn learn(&mut self, reward: f64) {
        if let Some((_, count)) = self.counts.iter_mut().find(|(value, _)| *value == reward) {
            *count += 1;
        } else if self.counts.len() < 3 {
            self.counts.push((reward, 1));
        }
    }

    /// The smaller and the larger reward, where there are just two.
    pub(super) fn two(&self) -> Option<(f64, f64)> {
        match self.counts[..] {
            [(a, _), (b, _)] => Some((a.min(b), a.max(b))),
            _ => None,
        }
    }

    /// The one reward that there is.
    pub(super) fn only(&self) -> Option<f64> {
        if let [(value, _)] = self.counts[..] { Some(value) } else { None }
    }

    /// How often the larger of two rewards occurs, as a share.
    pub(super) fn larger_share(&self) -> Option<f64> {
        let (_, larger) = self.two()?;
        let of = |wanted: &dyn Fn(f64) -> bool| {
            self.counts.iter().filter(|(value, _)| wanted(*value)).map(|(_, count)| *count).sum::<u64>()
                as f64
        };
        Some(of(&|value| value == larger) / of(&|_| true))
    }

    /// The rarer of two rewards, and how often it occurs.
    pub(super) fn rarer(&self) -> Option<(f64, u64)> {
        self.two()?;
        self.counts.iter().copied().min_by_key(|(_, count)| *count)
    }
}

/// Rows drawn evenly from all of them by a hash of their number.
pub(super) struct Sample {
    pub(super) width: usize,
    pub(super) scores: Vec<f64>,
    /// NaN where there is none.
    pub(super) rewards: Vec<f64>,
    numbers: Vec<u64>,
    /// Rows whose hash is below this are kept.
    below: u64,
}

impl Gathered {
    pub(super) fn read(table: &Table) -> Result<Gathered, Error> {
        let width = table.taken().evaluators().len();
        let rewarded = table.taken().reward().is_some();
        let mut gathered = Gathered {
            rows: 0,
            labelled: 0,
            scores: vec![Moments::new(width); GROUPS],
            labels: vec![Moments::new(width + 1); GROUPS],
            outcomes: Outcomes::default(),
            sample: Sample {
                width,
                scores: Vec::new(),
                rewards: Vec::new(),
                numbers: Vec::new(),
                below: u64::MAX,
            },
        };
        let want = Want { reward: rewarded, upright: true, ..Want::default() };
        // Rows that the sample would not keep stay where they are: those of all chunks on their way would be many.
        let below = AtomicU64::new(gathered.sample.below);
        gathered.rows = table.scan_even(
            want,
            |chunk| {
                let moments = moments(chunk.scores, chunk.rewards, width)?;
                let below = below.load(Ordering::Relaxed);
                let offered = chunk.scores.chunks_exact(width).zip(chunk.row..);
                let offered = offered.filter(|(_, number)| hash_number(0, *number) <= below);
                let (numbers, rows): (Vec<u64>, Vec<&[f64]>) =
                    offered.map(|(row, number)| (number, row)).unzip();
                Ok((numbers, rows.concat(), chunk.rewards.to_vec(), moments))
            },
            |at, (numbers, rows, rewards, (plain, labelled))| {
                for &reward in rewards.iter().filter(|reward| !reward.is_nan()) {
                    gathered.labelled += 1;
                    gathered.outcomes.learn(reward);
                }
                for (into, from) in gathered.scores.iter_mut().zip(&plain) {
                    into.merge(from);
                }
                for (into, from) in gathered.labels.iter_mut().zip(&labelled) {
                    into.merge(from);
                }
                for (number, scores) in numbers.into_iter().zip(rows.chunks_exact(width)) {
                    let reward = rewards.get((number - at.row) as usize).copied().unwrap_or(f64::NAN);
                    gathered.sample.offer(number, scores, reward);
                }
                below.store(gathered.sample.below, Ordering::Relaxed);
                Ok(())
            },
        )?;
        Ok(gathered)
    }
}

#[cfg(test)]
impl Gathered {
    /// From rows in memory.
    pub(super) fn of(values: &[f64], rewards: &[f64], width: usize) -> Result<Gathered, Error> {
        let (scores, labels) = moments(values, rewards, width)?;
        let known = rewards.iter().filter(|reward| !reward.is_nan());
        let sample =
            Sample { width, scores: Vec::new(), rewards: Vec::new(), numbers: Vec::new(), below: u64::MAX };
        Ok(Gathered {
            rows: rewards.len() as u64,
            labelled: known.count() as u64,
            scores,
            labels,
            outcomes: Outcomes::default(),
            sample,
        })
    }
}

/// The moments of a chunk, row i in group i mod the number of groups.
fn moments(values: &[f64], rewards: &[f64], width: usize) -> Result<(Vec<Moments>, Vec<Moments>), Error> {
    let (mut plain, mut labelled) = (Vec::new(), Vec::new());
    for group in 0..GROUPS {
        let mine = || values.chunks_exact(width).enumerate().skip(group).step_by(GROUPS);
        let mut of_scores = Moments::new(width);
        let rows: Vec<f64> = mine().flat_map(|(_, row)| row).copied().collect();
        of_scores.observe(&scores(&rows, width)?);
        of_scores.shrink();
        plain.push(of_scores);
        if !rewards.is_empty() {
            let mut of_both = Moments::new(width + 1);
            let known = mine().filter(|(row, _)| !rewards[*row].is_nan());
            let rows: Vec<f64> =
                known.flat_map(|(row, scores)| scores.iter().copied().chain([rewards[row]])).collect();
            of_both.observe(&scores(&rows, width + 1)?);
            of_both.shrink();
            labelled.push(of_both);
        }
    }
    Ok((plain, labelled))
}

impl Sample {
    fn offer(&mut self, number: u64, scores: &[f64], reward: f64) {
        if hash_number(0, number) > self.below {
            return;
        }
        self.numbers.push(number);
        self.scores.extend_from_slice(scores);
        self.rewards.push(reward);
        if self.numbers.len() > SAMPLE {
            self.below /= 2;
            let keep: Vec<usize> = (0..self.numbers.len())
                .filter(|&at| hash_number(0, self.numbers[at]) <= self.below)
                .collect();
            let width = self.width;
            self.scores =
                keep.iter().flat_map(|&at| &self.scores[at * width..(at + 1) * width]).copied().collect();
            self.rewards = keep.iter().map(|&at| self.rewards[at]).collect();
            self.numbers = keep.iter().map(|&at| self.numbers[at]).collect();
        }
    }

    /// Which half a row is in: by a hash of its number, so that no order of the file decides it.
    pub(super) fn half(&self, row: usize) -> bool {
        hash_number(0, !self.numbers[row]) >> 63 == 1
    }

    pub(super) fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.scores.chunks_exact(self.width)
    }
}

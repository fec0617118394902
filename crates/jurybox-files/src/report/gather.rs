//! The pass over the rows of a report: moments by group, and a random sample.

use super::id_counts::IdCounts;
use super::jackknife::merged;
use crate::error::Error;
use crate::ranker::scores;
use crate::table::{ScanRequest, Table};
use jurybox::estimate::{Moments, Statistic};
use jurybox::toolbox::hash_number;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of groups of rows for the jackknife.
pub(super) const GROUPS: usize = 20;
/// Maximum number of rows in the sample.
const SAMPLE: usize = 100_000;

/// The moments and the sample of a table.
pub(super) struct ReportData {
    pub(super) rows: u64,
    pub(super) labelled: u64,
    /// By group, the moments of the scores.
    pub(super) scores: Vec<Moments>,
    /// By group, the moments of the scores and, last, the reward, over labelled rows.
    pub(super) labels: Vec<Moments>,
    pub(super) outcomes: RewardValues,
    pub(super) sample: RowSample,
    /// The number of scores of each evaluator.
    pub(super) scored: Vec<f64>,
    /// The sample with its missing scores, if `sample` has 0 for some of them. It is used for
    /// ranking.
    as_written: Option<RowSample>,
    /// The number of items with several rows.
    pub(super) repeated_items: u64,
}

/// The distinct rewards, as long as there are at most two.
#[derive(Debug, Default)]
pub(super) struct RewardValues {
    /// Distinct rewards with their counts. Three entries mean more than two rewards.
    counts: Vec<(f64, u64)>,
}

impl RewardValues {
    fn learn(&mut self, reward: f64) {
        if let Some((_, count)) = self.counts.iter_mut().find(|(value, _)| *value == reward) {
            *count += 1;
        } else if self.counts.len() < 3 {
            self.counts.push((reward, 1));
        }
    }

    /// The smaller and the larger reward, if there are exactly two.
    pub(super) fn two(&self) -> Option<(f64, f64)> {
        match self.counts[..] {
            [(a, _), (b, _)] => Some((a.min(b), a.max(b))),
            _ => None,
        }
    }

    /// The only reward, if all are the same.
    pub(super) fn only(&self) -> Option<f64> {
        if let [(value, _)] = self.counts[..] { Some(value) } else { None }
    }

    /// The rarer of two rewards, with its count.
    pub(super) fn rarer(&self) -> Option<(f64, u64)> {
        self.two()?;
        self.counts.iter().copied().min_by_key(|(_, count)| *count)
    }
}

/// A random sample of rows: the rows whose numbers have the smallest hashes.
pub(super) struct RowSample {
    pub(super) width: usize,
    pub(super) scores: Vec<f64>,
    /// Rewards; NaN for rows without one.
    pub(super) rewards: Vec<f64>,
    numbers: Vec<u64>,
    /// The item of each row; 0 if it has no id.
    ids: Vec<u64>,
    /// The largest hash of a row number that is kept.
    below: u64,
}

impl ReportData {
    /// Reads a table as `adaptive` does. An evaluator may have the same score other than 0 in some
    /// rows and none in the others, as a rule that writes 1 or nothing. Its missing scores count as
    /// 0. This is known only at the end, so that such a table is read twice.
    pub(super) fn read(table: &Table) -> Result<ReportData, Error> {
        let data = ReportData::pass(table, &[])?;
        let single_score = data.with_single_score();
        if single_score.is_empty() {
            return Ok(data);
        }
        let filled = ReportData::pass(table, &single_score)?;
        Ok(ReportData { scored: data.scored, as_written: Some(data.sample), ..filled })
    }

    /// The evaluators whose missing scores count as 0.
    fn with_single_score(&self) -> Vec<usize> {
        let scores = merged(&self.scores, GROUPS);
        let has_single_score = |&j: &usize| {
            let (count, mean) = (scores.count(j, j), scores.mean(j));
            // Rounding gives a constant column a standard deviation of this size.
            let deviation = scores.covariance(j, j).unwrap_or(0.0).max(0.0).sqrt();
            0.0 < count && count < self.rows as f64 && mean != 0.0 && deviation <= 1e-12 * mean.abs()
        };
        (0..scores.evaluators()).filter(has_single_score).collect()
    }

    /// The sample with its missing scores, which each policy treats in its own way.
    pub(super) fn sample_as_written(&self) -> &RowSample {
        self.as_written.as_ref().unwrap_or(&self.sample)
    }

    /// One pass over the table, in which missing scores of `single_score` evaluators count as 0.
    fn pass(table: &Table, single_score: &[usize]) -> Result<ReportData, Error> {
        let width = table.roles().evaluators().len();
        let rewarded = table.roles().reward().is_some();
        let mut data = ReportData {
            rows: 0,
            labelled: 0,
            scores: vec![Moments::new(width); GROUPS],
            labels: vec![Moments::new(width + 1); GROUPS],
            outcomes: RewardValues::default(),
            sample: RowSample::new(width),
            scored: Vec::new(),
            as_written: None,
            repeated_items: 0,
        };
        let named = !table.roles().id().is_empty();
        let (mut seen, mut of_items) = (IdCounts::default(), (data.scores.clone(), data.labels.clone()));
        let want = ScanRequest { reward: rewarded, ids: named, upright: true, ..ScanRequest::default() };
        // Threads drop rows that the sample would not keep, to bound the memory.
        let below = AtomicU64::new(data.sample.below);
        data.rows = table.scan_fixed_chunks(
            want,
            |chunk| {
                let mut filled = Cow::Borrowed(chunk.scores);
                if !single_score.is_empty() {
                    filled.to_mut().chunks_exact_mut(width).for_each(|row| fill_missing(row, single_score));
                }
                // Grouped by rows and by items: whether ids are repeated is known only at the end.
                let by_row = moments(&filled, chunk.rewards, &[], width)?;
                let by_item = named.then(|| moments(&filled, chunk.rewards, chunk.ids, width)).transpose()?;
                let below = below.load(Ordering::Relaxed);
                let offered = filled.chunks_exact(width).zip(chunk.row..);
                let offered = offered.filter(|(_, number)| hash_number(0, *number) <= below);
                let (numbers, rows): (Vec<u64>, Vec<&[f64]>) =
                    offered.map(|(row, number)| (number, row)).unzip();
                let offered = (numbers, rows.concat());
                Ok((offered, chunk.rewards.to_vec(), chunk.ids.to_vec(), by_row, by_item))
            },
            |at, ((numbers, rows), rewards, ids, by_row, by_item)| {
                ids.iter().for_each(|&id| seen.learn(id));
                for &reward in rewards.iter().filter(|reward| !reward.is_nan()) {
                    data.labelled += 1;
                    data.outcomes.learn(reward);
                }
                merge(&mut data.scores, &by_row.0);
                merge(&mut data.labels, &by_row.1);
                if let Some(by_item) = by_item {
                    merge(&mut of_items.0, &by_item.0);
                    merge(&mut of_items.1, &by_item.1);
                }
                for (number, scores) in numbers.into_iter().zip(rows.chunks_exact(width)) {
                    let row = (number - at.row) as usize;
                    let reward = rewards.get(row).copied().unwrap_or(f64::NAN);
                    let id = ids.get(row).copied().unwrap_or(0);
                    data.sample.offer(number, id, scores, reward);
                }
                below.store(data.sample.below, Ordering::Relaxed);
                Ok(())
            },
        )?;
        data.repeated_items = seen.repeated();
        if data.repeated_items > 0 {
            (data.scores, data.labels) = of_items;
            data.sample.keep_one_of_each();
        }
        data.count_scored();
        Ok(data)
    }

    fn count_scored(&mut self) {
        let scores = merged(&self.scores, GROUPS);
        self.scored = (0..scores.evaluators()).map(|j| scores.count(j, j)).collect();
    }
}

/// Replaces missing scores of `single_score` evaluators by 0.
fn fill_missing(row: &mut [f64], single_score: &[usize]) {
    for &j in single_score {
        row[j] = if row[j].is_nan() { 0.0 } else { row[j] };
    }
}

fn merge(into: &mut [Moments], from: &[Moments]) {
    into.iter_mut().zip(from).for_each(|(into, from)| into.merge(from));
}

#[cfg(test)]
impl ReportData {
    /// The data of rows in memory.
    pub(super) fn of(values: &[f64], rewards: &[f64], width: usize) -> Result<ReportData, Error> {
        let (scores, labels) = moments(values, rewards, &[], width)?;
        let mut data = ReportData {
            rows: rewards.len() as u64,
            labelled: 0,
            scores,
            labels,
            outcomes: RewardValues::default(),
            sample: RowSample::new(width),
            scored: Vec::new(),
            as_written: None,
            repeated_items: 0,
        };
        for (number, (row, &reward)) in (0..).zip(values.chunks_exact(width).zip(rewards)) {
            data.sample.offer(number, 0, row, reward);
            if !reward.is_nan() {
                data.labelled += 1;
                data.outcomes.learn(reward);
            }
        }
        data.count_scored();
        Ok(data)
    }
}

/// Moments by group, of all rows and of labelled rows.
type Grouped = (Vec<Moments>, Vec<Moments>);

/// The moments of a chunk by group. Row i of the chunk is in group i mod [`GROUPS`]; with ids, all
/// rows of an id are in the group of its hash.
fn moments(values: &[f64], rewards: &[f64], ids: &[u64], width: usize) -> Result<Grouped, Error> {
    let group_of = |row: usize| match ids.get(row) {
        None | Some(0) => row % GROUPS,
        Some(&id) => (hash_number(2, id) % GROUPS as u64) as usize,
    };
    let groups: Vec<usize> = (0..values.len() / width).map(group_of).collect();
    let (mut plain, mut labelled) = (Vec::new(), Vec::new());
    for group in 0..GROUPS {
        let mine = || values.chunks_exact(width).enumerate().filter(|(row, _)| groups[*row] == group);
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

impl RowSample {
    fn new(width: usize) -> RowSample {
        let (scores, rewards, numbers, ids) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        RowSample { width, scores, rewards, numbers, ids, below: u64::MAX }
    }

    fn offer(&mut self, number: u64, id: u64, scores: &[f64], reward: f64) {
        if hash_number(0, number) > self.below {
            return;
        }
        self.numbers.push(number);
        self.scores.extend_from_slice(scores);
        self.rewards.push(reward);
        self.ids.push(id);
        if self.numbers.len() > SAMPLE {
            self.below /= 2;
            let keep: Vec<usize> = (0..self.numbers.len())
                .filter(|&at| hash_number(0, self.numbers[at]) <= self.below)
                .collect();
            self.keep(&keep);
        }
    }

    fn keep(&mut self, keep: &[usize]) {
        let width = self.width;
        self.scores =
            keep.iter().flat_map(|&at| &self.scores[at * width..(at + 1) * width]).copied().collect();
        self.rewards = keep.iter().map(|&at| self.rewards[at]).collect();
        self.numbers = keep.iter().map(|&at| self.numbers[at]).collect();
        self.ids = keep.iter().map(|&at| self.ids[at]).collect();
    }

    /// Keeps one row of each item, if possible one with a reward. Rows without an id stay.
    fn keep_one_of_each(&mut self) {
        let mut kept: HashMap<u64, usize> = HashMap::new();
        for (row, id) in self.ids.iter().enumerate() {
            let first = kept.entry(*id).or_insert(row);
            if self.rewards[*first].is_nan() && !self.rewards[row].is_nan() {
                *first = row;
            }
        }
        let stays = |row: &usize| self.ids[*row] == 0 || kept[&self.ids[*row]] == *row;
        let keep: Vec<usize> = (0..self.ids.len()).filter(stays).collect();
        self.keep(&keep);
    }

    /// The half of a row for cross-fitting, by a hash of its number.
    pub(super) fn half(&self, row: usize) -> bool {
        hash_number(0, !self.numbers[row]) >> 63 == 1
    }

    pub(super) fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.scores.chunks_exact(self.width)
    }
}

//! One pass over the rows: moments in groups, and a sample.

use super::id_counts::IdCounts;
use super::jackknife::merged;
use crate::error::Error;
use crate::ranker::scores;
use crate::table::{Table, ScanRequest};
use jurybox::estimate::{Moments, Statistic};
use jurybox::toolbox::hash_number;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Groups of rows for the jackknife.
pub(super) const GROUPS: usize = 20;
/// Rows kept at most for curves and top K.
const SAMPLE: usize = 100_000;

pub(super) struct ReportData {
    pub(super) rows: u64,
    pub(super) labelled: u64,
    /// Per group, the moments of the scores alone.
    pub(super) scores: Vec<Moments>,
    /// Per group, the moments of the scores and, last, the reward, over labelled rows.
    pub(super) labels: Vec<Moments>,
    pub(super) outcomes: RewardValues,
    pub(super) sample: RowSample,
    /// Rows that each evaluator scored.
    pub(super) scored: Vec<f64>,
    /// The sample without the silence that was read, where any was: what is to be ranked.
    as_written: Option<RowSample>,
    /// Items that several rows are about.
    pub(super) repeated_items: u64,
}

/// The different rewards, as long as there are no more than two.
#[derive(Debug, Default)]
pub(super) struct RewardValues {
    /// Each with how often it occurs; three once there are more than two.
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

    /// The rarer of two rewards, and how often it occurs.
    pub(super) fn rarer(&self) -> Option<(f64, u64)> {
        self.two()?;
        self.counts.iter().copied().min_by_key(|(_, count)| *count)
    }
}

/// Rows drawn evenly from all of them by a hash of their number.
pub(super) struct RowSample {
    pub(super) width: usize,
    pub(super) scores: Vec<f64>,
    /// NaN where there is none.
    pub(super) rewards: Vec<f64>,
    numbers: Vec<u64>,
    /// Which item each row is about; 0 where nothing says it.
    ids: Vec<u64>,
    /// Rows whose hash is below this are kept.
    below: u64,
}

impl ReportData {
    /// Gathers a table as `adaptive` reads it: where an evaluator has only ever given one score, other
    /// than 0, its silence counts as 0, as of a rule that writes 1 or nothing. That is known at the
    /// end, and the table is gone over again then.
    pub(super) fn read(table: &Table) -> Result<ReportData, Error> {
        let gathered = ReportData::pass(table, &[])?;
        let silent = gathered.silent();
        if silent.is_empty() {
            return Ok(gathered);
        }
        let heard = ReportData::pass(table, &silent)?;
        Ok(ReportData { scored: gathered.scored, as_written: Some(gathered.sample), ..heard })
    }

    /// The evaluators whose missing scores count as 0.
    fn silent(&self) -> Vec<usize> {
        let scores = merged(&self.scores, GROUPS);
        let says_one_thing = |&j: &usize| {
            let (count, mean) = (scores.count(j, j), scores.mean(j));
            // Rounding alone leaves a spread of this size on a constant column.
            let deviation = scores.covariance(j, j).unwrap_or(0.0).max(0.0).sqrt();
            0.0 < count && count < self.rows as f64 && mean != 0.0 && deviation <= 1e-12 * mean.abs()
        };
        (0..scores.evaluators()).filter(says_one_thing).collect()
    }

    /// The sample as the file has it: each policy reads silence in its own way.
    pub(super) fn sample_as_written(&self) -> &RowSample {
        self.as_written.as_ref().unwrap_or(&self.sample)
    }

    fn pass(table: &Table, silent: &[usize]) -> Result<ReportData, Error> {
        let width = table.roles().evaluators().len();
        let rewarded = table.roles().reward().is_some();
        let mut gathered = ReportData {
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
        let (mut seen, mut of_items) = (IdCounts::default(), (gathered.scores.clone(), gathered.labels.clone()));
        let want = ScanRequest { reward: rewarded, ids: named, upright: true, ..ScanRequest::default() };
        // Rows that the sample would not keep stay where they are: those of all chunks on their way would be many.
        let below = AtomicU64::new(gathered.sample.below);
        gathered.rows = table.scan_fixed_chunks(
            want,
            |chunk| {
                let mut heard = Cow::Borrowed(chunk.scores);
                if !silent.is_empty() {
                    heard.to_mut().chunks_exact_mut(width).for_each(|row| fill(row, silent));
                }
                // Both ways of grouping: whether an id comes twice is known at the end.
                let by_row = moments(&heard, chunk.rewards, &[], width)?;
                let by_item = named.then(|| moments(&heard, chunk.rewards, chunk.ids, width)).transpose()?;
                let below = below.load(Ordering::Relaxed);
                let offered = heard.chunks_exact(width).zip(chunk.row..);
                let offered = offered.filter(|(_, number)| hash_number(0, *number) <= below);
                let (numbers, rows): (Vec<u64>, Vec<&[f64]>) =
                    offered.map(|(row, number)| (number, row)).unzip();
                let offered = (numbers, rows.concat());
                Ok((offered, chunk.rewards.to_vec(), chunk.ids.to_vec(), by_row, by_item))
            },
            |at, ((numbers, rows), rewards, ids, by_row, by_item)| {
                ids.iter().for_each(|&id| seen.learn(id));
                for &reward in rewards.iter().filter(|reward| !reward.is_nan()) {
                    gathered.labelled += 1;
                    gathered.outcomes.learn(reward);
                }
                merge(&mut gathered.scores, &by_row.0);
                merge(&mut gathered.labels, &by_row.1);
                if let Some(by_item) = by_item {
                    merge(&mut of_items.0, &by_item.0);
                    merge(&mut of_items.1, &by_item.1);
                }
                for (number, scores) in numbers.into_iter().zip(rows.chunks_exact(width)) {
                    let row = (number - at.row) as usize;
                    let reward = rewards.get(row).copied().unwrap_or(f64::NAN);
                    let id = ids.get(row).copied().unwrap_or(0);
                    gathered.sample.offer(number, id, scores, reward);
                }
                below.store(gathered.sample.below, Ordering::Relaxed);
                Ok(())
            },
        )?;
        gathered.repeated_items = seen.repeated();
        if gathered.repeated_items > 0 {
            (gathered.scores, gathered.labels) = of_items;
            gathered.sample.keep_one_of_each();
        }
        gathered.count_scored();
        Ok(gathered)
    }

    fn count_scored(&mut self) {
        let scores = merged(&self.scores, GROUPS);
        self.scored = (0..scores.evaluators()).map(|j| scores.count(j, j)).collect();
    }
}

/// Reads the silence in a row.
fn fill(row: &mut [f64], silent: &[usize]) {
    for &j in silent {
        row[j] = if row[j].is_nan() { 0.0 } else { row[j] };
    }
}

fn merge(into: &mut [Moments], from: &[Moments]) {
    into.iter_mut().zip(from).for_each(|(into, from)| into.merge(from));
}

#[cfg(test)]
impl ReportData {
    /// From rows in memory.
    pub(super) fn of(values: &[f64], rewards: &[f64], width: usize) -> Result<ReportData, Error> {
        let (scores, labels) = moments(values, rewards, &[], width)?;
        let mut gathered = ReportData {
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
            gathered.sample.offer(number, 0, row, reward);
            if !reward.is_nan() {
                gathered.labelled += 1;
                gathered.outcomes.learn(reward);
            }
        }
        gathered.count_scored();
        Ok(gathered)
    }
}

/// Moments by group, of the scores and of the labelled rows.
type Grouped = (Vec<Moments>, Vec<Moments>);

/// The moments of a chunk, row i in group i mod the number of groups; the rows of an id all in one, by its hash.
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

    /// One row of each item, the first with a reward where it has one; rows that nothing names stay.
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

    /// Which half a row is in: by a hash of its number, so that no order of the file decides it.
    pub(super) fn half(&self, row: usize) -> bool {
        hash_number(0, !self.numbers[row]) >> 63 == 1
    }

    pub(super) fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.scores.chunks_exact(self.width)
    }
}

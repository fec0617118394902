//! Ranking: the top K rows of a table in one pass, with memory of order K (per group, if rows are
//! ranked within groups).
//!
//! Each thread computes the values of its rows and passes on the rows that may be among the best.
//! These are the rows not below the floor, a lower bound of the K-th best value so far. Of more
//! than 2K such rows, only the K best of the batch and their ties are passed on. Within groups
//! there is no floor. Rows of text and of streams are passed on with their records. Rows of other
//! sources are fetched by number afterwards, the K best only.

use crate::buffer_pool::BufferPool;
use crate::error::Error;
use crate::format::StoredRow;
use crate::ranker::{Ranker, ValueBuffers};
use crate::scan::ScanPart;
use crate::table::{BatchPosition, KeepRecords, ScanRequest, Table};
use crate::write_ranking::finite;
use jurybox::{Contributions, TopK};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Options for [`rank`].
///
/// ```
/// let options = jurybox_files::RankOptions { k: 10, ..Default::default() };
/// assert!(!options.explain);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct RankOptions {
    /// How many rows to keep, of each group if there are groups. With `min_reward`, the most rows.
    pub k: usize,
    /// Keep only rows with an expected reward of at least this. Errors if values are not expected
    /// rewards.
    pub min_reward: Option<f64>,
    /// Seed of the order of rows with the same value.
    pub seed: u64,
    /// Whether to compute the contribution of each evaluator.
    pub explain: bool,
    /// Whether to rank within the groups of the table's key column.
    pub grouped: bool,
}

impl RankOptions {
    /// Errors on impossible options, before anything is read. [`rank`] checks them as well.
    ///
    /// ```
    /// assert!(jurybox_files::RankOptions::default().check().is_err()); // k = 0
    /// ```
    pub fn check(&self) -> Result<(), Error> {
        if self.k == 0 {
            return Err(Error::ZeroRows);
        }
        match self.min_reward.filter(|min_reward| !min_reward.is_finite()) {
            Some(min_reward) => Err(Error::BadMinReward { min_reward }),
            None => Ok(()),
        }
    }
}

/// The best rows of a table, best first.
///
/// ```
/// use jurybox_files::{RankOptions, Ranker, Roles, Table, rank};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.csv");
/// std::fs::write(&path, "post,spam,abuse\np1,0.9,0.1\np2,0.2,0.3\np3,0.8,0.9\n")?;
/// let table = Table::open(&[path], &Roles::default(), false)?;
/// let ranker = Ranker::weights(
///     table.roles().evaluators(),
///     &[("spam".into(), 1.0), ("abuse".into(), 1.0)],
/// )?;
/// let ranking = rank(&table, &ranker, RankOptions { k: 2, ..RankOptions::default() })?;
/// assert_eq!(ranking.rows(), 3);
/// let rows: Vec<u64> = ranking.winners().iter().map(|winner| winner.row).collect();
/// assert_eq!(rows, [2, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Ranking {
    rows: u64,
    pub(crate) winners: Vec<Winner>,
    pub(crate) records: HashMap<u64, Candidate>,
    /// The number of the first row of each file.
    pub(crate) files: Vec<u64>,
    pub(crate) evaluators: Vec<String>,
    pub(crate) explained: bool,
    in_order: bool,
}

/// A row of a ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Winner {
    /// Row number over all files, from 0.
    pub row: u64,
    /// Rank from 1, within its group if there are groups.
    pub rank: u64,
    /// The value by which it is ranked.
    pub score: f64,
    /// Its group.
    pub group: Option<Box<str>>,
    /// The contributions of the evaluators, if requested and if the value of a row does not depend
    /// on other rows.
    pub contributions: Option<Contributions>,
}

/// A row that may be among the best.
#[derive(Debug)]
pub(crate) struct Candidate {
    row: usize,
    value: f64,
    key: Option<Box<str>>,
    pub(crate) record: StoredRow,
    pub(crate) scores: Box<[f64]>,
}

impl Ranking {
    /// The number of rows of the table.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether the rows have an order: a group of several rows has two different values, or exactly
    /// one row with a value. Also true if no group has several rows. Without an order, rows with
    /// the same value share a rank.
    ///
    /// ```
    /// # use jurybox_files::{Ranker, RankOptions, Roles, Table, rank};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("scores.csv");
    /// std::fs::write(&path, "post,spam\np1,1\np2,\np3,1\n")?;
    /// let table = Table::open(
    ///     &[path],
    ///     &Roles { evaluators: vec!["spam".into()], ..Roles::default() },
    ///     false,
    /// )?;
    /// let ranking = rank(
    ///     &table,
    ///     &Ranker::Weights(vec![1.0]),
    ///     RankOptions { k: 3, ..RankOptions::default() },
    /// )?;
    /// assert!(!ranking.is_in_order());
    /// assert_eq!(
    ///     ranking.winners().iter().map(|winner| winner.rank).collect::<Vec<_>>(),
    ///     [1, 1, 3]
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_in_order(&self) -> bool {
        self.in_order
    }

    /// The best rows, best first, group by group if there are groups.
    pub fn winners(&self) -> &[Winner] {
        &self.winners
    }
}

/// Ranks the rows of a table.
pub fn rank(table: &Table, ranker: &Ranker, options: RankOptions) -> Result<Ranking, Error> {
    options.check()?;
    if options.min_reward.is_some() {
        ranker.must_expect_rewards()?;
    }
    let least = options.min_reward.unwrap_or(f64::NEG_INFINITY);
    let floor = ValueFloor::new(least);
    let by_number = table.sources.iter().any(|source| source.is_seekable());
    let (form, buffers) = (ranker.form(), BufferPool::<ValueBuffers>::default());
    let want = ScanRequest {
        key: options.grouped,
        records: KeepRecords::Passing,
        form: form.as_ref(),
        ..ScanRequest::default()
    };
    // The scores of rows that are fetched later are kept, to not read their columns twice.
    let with_scores = options.explain || by_number;
    let mut best =
        TopRows { options, groups: Vec::new(), by_key: HashMap::new(), kept: HashMap::new(), room: 4096 };
    let mut ranges: HashMap<Option<Box<str>>, ValueRange> = HashMap::new();
    let mut files = vec![0; table.sources.len()];
    let rows = table.scan(
        want,
        |mut part| {
            buffers.with(|buffer| {
                ranker.values(form.as_ref(), &mut part.batch, buffer)?;
                let values = &buffer.values;
                let ranges = ranges_of(values, part.batch.keys(), options.grouped);
                let chosen = if options.grouped {
                    best_of_groups(values, part.batch.keys(), options.k)
                } else {
                    best_of(values, options.k, floor.get())
                };
                // A row without a value passes every floor, but has no expected reward.
                let chosen =
                    chosen.into_iter().filter(|&row| options.min_reward.is_none() || values[row] >= least);
                let keep = |row: usize| candidate(&part, row, values[row], with_scores);
                Ok((chosen.map(keep).collect::<Result<Vec<_>, Error>>()?, ranges))
            })
        },
        |at, (candidates, of_batch)| {
            for (group, range) in of_batch {
                ranges.entry(group).or_default().join(&range);
            }
            let at = BatchPosition { row: table.first + at.row, ..at };
            files[at.file] = at.row - at.row_in_file;
            best.take(at, candidates);
            if !options.grouped {
                floor.raise(best.floor().max(least));
            }
            Ok(())
        },
    )?;
    let mut ranking = Ranking {
        rows,
        winners: best.winners(),
        records: best.kept,
        files,
        evaluators: table.roles().evaluators.names().map(Into::into).collect(),
        explained: options.explain,
        in_order: is_in_order(ranges.values()),
    };
    if !ranking.in_order {
        share_ranks(&mut ranking.winners);
    }
    for winner in ranking.winners.iter_mut().filter(|_| options.explain) {
        if let Some(candidate) = ranking.records.get(&winner.row) {
            winner.contributions = ranker.contributions(&candidate.scores)?;
        }
    }
    Ok(ranking)
}

/// The range of the values of some rows.
#[derive(Debug, Clone, Copy)]
struct ValueRange {
    rows: u64,
    /// Rows with a finite value.
    valued: u64,
    least: f64,
    greatest: f64,
}

impl Default for ValueRange {
    fn default() -> Self {
        ValueRange { rows: 0, valued: 0, least: f64::INFINITY, greatest: f64::NEG_INFINITY }
    }
}

impl ValueRange {
    fn see(&mut self, value: f64) {
        self.rows += 1;
        if value.is_finite() {
            self.valued += 1;
            (self.least, self.greatest) = (self.least.min(value), self.greatest.max(value));
        }
    }

    fn join(&mut self, other: &ValueRange) {
        self.rows += other.rows;
        self.valued += other.valued;
        (self.least, self.greatest) = (self.least.min(other.least), self.greatest.max(other.greatest));
    }

    /// Whether the values put the rows in an order; `None` for a single row.
    fn has_order(&self) -> Option<bool> {
        (self.rows > 1).then_some(self.valued == 1 || self.least < self.greatest)
    }
}

/// The range of values by group; without groups, one range under the key `None`.
fn ranges_of(values: &[f64], keys: &[Box<str>], grouped: bool) -> HashMap<Option<Box<str>>, ValueRange> {
    let mut ranges = HashMap::new();
    if grouped {
        for (value, key) in values.iter().zip(keys) {
            ranges.entry(Some(key.clone())).or_insert_with(ValueRange::default).see(*value);
        }
    } else {
        let mut range = ValueRange::default();
        values.iter().for_each(|value| range.see(*value));
        ranges.insert(None, range);
    }
    ranges
}

/// Whether the rows of at least one group have an order, or no group has several rows.
fn is_in_order<'a>(ranges: impl Iterator<Item = &'a ValueRange>) -> bool {
    let ordered: Vec<bool> = ranges.filter_map(ValueRange::has_order).collect();
    ordered.is_empty() || ordered.contains(&true)
}

/// Whether values put their rows in an order.
pub(crate) fn have_order(values: &[f64]) -> bool {
    is_in_order(ranges_of(values, &[], false).values())
}

/// Gives rows with the same value the same rank.
fn share_ranks(winners: &mut [Winner]) {
    for at in 1..winners.len() {
        let (before, this) = (&winners[at - 1], &winners[at]);
        if before.group == this.group && finite(before.score).to_bits() == finite(this.score).to_bits() {
            winners[at].rank = winners[at - 1].rank;
        }
    }
}

/// The value below which no row can be among the best any more. It is shared by all threads and
/// never falls.
struct ValueFloor(AtomicU64);

impl ValueFloor {
    fn new(least: f64) -> Self {
        ValueFloor(AtomicU64::new(least.to_bits()))
    }

    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    fn raise(&self, to: f64) {
        self.0.store(to.to_bits(), Ordering::Relaxed);
    }
}

/// The rows that are not below the floor. If they are more than 2 `k`, only the `k` best of them
/// and their ties. Rows without a value are always kept.
fn best_of(values: &[f64], k: usize, floor: f64) -> Vec<usize> {
    let above = |floor: f64| {
        let rows = values.iter().enumerate();
        // NaN ranks last, but must be there when k asks for every row.
        rows.filter(|&(_, &value)| value >= floor || value.is_nan())
            .map(|(row, _)| row)
            .collect::<Vec<usize>>()
    };
    let rows = above(floor);
    if rows.len() <= k.saturating_mul(2) {
        return rows;
    }
    let mut order: Vec<f64> = rows.iter().map(|&row| values[row]).map(last_if_nan).collect();
    let (_, &mut kth, _) = order.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
    above(kth)
}

/// For each group of the batch, the rows that [`best_of`] keeps without a floor.
fn best_of_groups(values: &[f64], keys: &[Box<str>], k: usize) -> Vec<usize> {
    let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
    for (row, key) in keys.iter().enumerate() {
        groups.entry(key).or_default().push(row);
    }
    let mut rows: Vec<usize> = Vec::new();
    for members in groups.into_values() {
        let part: Vec<f64> = members.iter().map(|&row| values[row]).collect();
        rows.extend(best_of(&part, k, f64::NEG_INFINITY).into_iter().map(|at| members[at]));
    }
    // A hash map yields its groups in random order.
    rows.sort_unstable();
    rows
}

fn last_if_nan(value: f64) -> f64 {
    if value.is_nan() { f64::NEG_INFINITY } else { value }
}

fn candidate(part: &ScanPart<'_>, row: usize, value: f64, with_scores: bool) -> Result<Candidate, Error> {
    let width = if with_scores { part.batch.evaluators } else { 0 };
    Ok(Candidate {
        row,
        value,
        key: part.batch.keys().get(row).cloned(),
        record: part.record(row)?,
        scores: (0..width).map(|j| part.batch.score(row, j)).collect(),
    })
}

/// The best rows so far, by group.
struct TopRows {
    options: RankOptions,
    groups: Vec<(Option<Box<str>>, TopK)>,
    by_key: HashMap<Option<Box<str>>, usize>,
    /// Candidates by row number; some are no longer among the best.
    kept: HashMap<u64, Candidate>,
    /// Above this number of candidates, the ones no longer among the best are dropped.
    room: usize,
}

impl TopRows {
    fn take(&mut self, at: BatchPosition, candidates: Vec<Candidate>) {
        for candidate in candidates {
            let group = self.by_key.get(&candidate.key).copied().unwrap_or_else(|| {
                self.groups.push((candidate.key.clone(), TopK::new(self.options.k, self.options.seed)));
                self.by_key.insert(candidate.key.clone(), self.groups.len() - 1);
                self.groups.len() - 1
            });
            let row = at.row + candidate.row as u64;
            self.groups[group].1.push(row, candidate.value);
            self.kept.insert(row, candidate);
        }
        // Drops rows that are no longer among the best, so that memory stays of order K per group.
        if self.kept.len() > self.room {
            let mut still: HashMap<u64, Candidate> = HashMap::new();
            for (_, top) in &mut self.groups {
                for ranked in top.sorted() {
                    still.extend(self.kept.remove_entry(&ranked.item));
                }
            }
            self.room = (2 * still.len()).max(4096);
            self.kept = still;
        }
    }

    /// A lower bound of the K-th best value so far, for a ranking without groups.
    fn floor(&self) -> f64 {
        self.groups.first().map_or(f64::NEG_INFINITY, |(_, top)| top.threshold())
    }

    fn winners(&mut self) -> Vec<Winner> {
        let mut winners = Vec::new();
        for (group, top) in &mut self.groups {
            for (at, ranked) in top.sorted().iter().enumerate() {
                winners.push(Winner {
                    row: ranked.item,
                    rank: at as u64 + 1,
                    score: ranked.value,
                    group: group.clone(),
                    contributions: None,
                });
            }
        }
        winners
    }
}

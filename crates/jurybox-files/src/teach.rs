//! Learning from the rows of a table, round by round.

use crate::error::Error;
use crate::fixed_chunks::FixedChunk;
use crate::join_verdicts::ItemList;
use crate::leakage::Leakage;
use crate::ranker::scores;
use crate::scan_plan::reviewer;
use crate::table::{ScanRequest, Table};
use jurybox::{Example, Jury, Learnt, Reviewer};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

/// Counts of what a jury has learnt from a table.
///
/// ```
/// let learnt = jurybox_files::LearnCounts { rows: 10, labelled: 4, ..Default::default() };
/// assert!(learnt.labelled <= learnt.rows);
/// ```
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct LearnCounts {
    /// Rounds into which the rows were divided.
    pub rounds: u64,
    /// Rows that the jury has observed.
    pub rows: u64,
    /// Rows with a reward.
    pub labelled: u64,
    /// Rewards from which the policy has learnt.
    pub used: u64,
    /// Rewards from which the policy does not learn.
    pub ignored_rewards: u64,
    /// Runs of rows whose round had ended before; each run was learnt as a new round.
    pub reopened_rounds: u64,
    /// Rows that were skipped, because their verdicts were learnt before.
    pub learnt_before: u64,
    /// Rows whose id was learnt before with other scores or another verdict. These rows were
    /// learnt.
    pub known_ids: ItemList,
    /// The least and the greatest reward, negated if low rewards are good.
    #[serde(skip)]
    pub range: Option<(f64, f64)>,
    /// Evaluators whose scores equal the rewards.
    #[serde(skip)]
    pub leakage: Leakage,
}

impl LearnCounts {
    fn add(&mut self, more: &LearnCounts) {
        self.labelled += more.labelled;
        self.used += more.used;
        self.ignored_rewards += more.ignored_rewards;
        self.leakage.merge(&more.leakage);
        if let Some((least, greatest)) = more.range {
            let (low, high) = self.range.unwrap_or((least, greatest));
            self.range = Some((low.min(least), high.max(greatest)));
        }
    }
}

/// Lets a jury learn from every row of a table, and from the rewards if the table has them. `first`
/// is the time of the first round. Errors if the column of rewards is empty in every row. After an
/// error the jury is unchanged.
///
/// With a column of rounds, each run of rows with the same value is a round. Rounds are learnt in
/// their order, because policies that forget depend on it; the rows of one round are held in
/// memory. Without such a column, each file is a round, learnt in chunks that are merged.
///
/// The result is the same to the last bit for any number of threads, every format and all batch
/// sizes.
///
/// ```
/// use jurybox_files::{Roles, Table, teach};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("scores.csv");
/// std::fs::write(&path, "day,a,b,verdict\nmon,1,2,1\nmon,3,4,\ntue,5,6,0\n")?;
/// let mut roles = Roles { reward: Some("verdict".into()), ..Roles::default() };
/// for (key, rounds) in [(None, 1), (Some("day".to_string()), 2)] {
///     roles.key = key;
///     let table = Table::open(std::slice::from_ref(&path), &roles, false)?;
///     let mut jury =
///         jurybox_files::new_jury(&"lin-ucb".parse()?, table.roles().evaluators())?;
///     let taught = teach(&table, &mut jury, 0)?;
///     assert_eq!((taught.rows, taught.labelled, taught.rounds), (3, 2, rounds));
///     assert_eq!(jury.seen().rounds, rounds);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn teach(table: &Table, jury: &mut Jury, first: u64) -> Result<LearnCounts, Error> {
    teach_except(table, jury, first, &[])
}

/// [`teach`] without the rows in `but`, which are row numbers in each source.
pub(crate) fn teach_except(
    table: &Table,
    jury: &mut Jury,
    first: u64,
    but: &[HashSet<u64>],
) -> Result<LearnCounts, Error> {
    let mut after = jury.clone();
    let rewarded = table.roles().reward().is_some();
    let mut taught = if table.roles().key.is_some() {
        by_rounds(table, &mut after, first, rewarded, but)?
    } else {
        by_files(table, &mut after, first, rewarded, but)?
    };
    taught.learnt_before = but.iter().map(|rows| rows.len() as u64).sum();
    taught.rows -= taught.learnt_before;
    taught.rounds = after.seen().rounds - jury.seen().rounds;
    let nothing = taught.labelled + taught.learnt_before == 0;
    if let Some(reward) = table.roles().reward().filter(|_| nothing) {
        return Err(Error::NoReward { path: table.path().into(), column: reward.into() });
    }
    *jury = after;
    Ok(taught)
}

/// Lets a jury observe the scores of every row, without rewards. Returns the number of rows. After
/// an error the jury is unchanged.
pub(crate) fn observe_all(table: &Table, jury: &mut Jury) -> Result<u64, Error> {
    let mut after = jury.clone();
    let by = if table.roles().key.is_some() { by_rounds } else { by_files };
    let rows = by(table, &mut after, 0, false, &[])?.rows;
    *jury = after;
    Ok(rows)
}

/// Learns each file as a round, its chunks in parallel.
fn by_files(
    table: &Table,
    jury: &mut Jury,
    first: u64,
    reward: bool,
    but: &[HashSet<u64>],
) -> Result<LearnCounts, Error> {
    let want = ScanRequest { reward, reviewer: reward, ..ScanRequest::default() };
    let mut taught = LearnCounts::default();
    let mut files = PerFileJury::new(jury)?;
    let blank = files.blank.clone();
    taught.rows = table.scan_fixed_chunks(
        want,
        |chunk| {
            let mut jury = blank.clone();
            let at = first.saturating_add(chunk.file as u64);
            let shown = match but.get(chunk.file).filter(|rows| !rows.is_empty()) {
                None => observe_batch(&mut jury, chunk.scores, chunk.rewards, chunk.reviewers, at)?,
                Some(known) => {
                    let NewRowsOfChunk { scores, rewards, reviewers } =
                        NewRowsOfChunk::of(&chunk, known, blank.evaluators().len());
                    if scores.is_empty() {
                        LearnCounts::default()
                    } else {
                        observe_batch(&mut jury, &scores, &rewards, &reviewers, at)?
                    }
                }
            };
            Ok((jury, shown))
        },
        |at, (learnt, shown)| {
            taught.add(&shown);
            files.take(at.file, &learnt)
        },
    )?;
    *jury = files.finish()?;
    Ok(taught)
}

/// The rows of a chunk that were not learnt before.
#[derive(Default)]
struct NewRowsOfChunk {
    scores: Vec<f64>,
    rewards: Vec<f64>,
    reviewers: Vec<Option<Reviewer>>,
}

impl NewRowsOfChunk {
    fn of(chunk: &FixedChunk<'_>, but: &HashSet<u64>, width: usize) -> NewRowsOfChunk {
        let mut kept = NewRowsOfChunk::default();
        for (row, scores) in chunk.scores.chunks_exact(width).enumerate() {
            if !but.contains(&(chunk.row_in_file + row as u64)) {
                kept.scores.extend_from_slice(scores);
                kept.rewards.extend(chunk.rewards.get(row));
                kept.reviewers.extend(chunk.reviewers.get(row));
            }
        }
        kept
    }
}

/// A jury that merges chunks in order, those of one file as one round.
pub(crate) struct PerFileJury {
    jury: Jury,
    blank: Jury,
    file: usize,
    of_file: Jury,
}

impl PerFileJury {
    pub(crate) fn new(jury: &Jury) -> Result<PerFileJury, Error> {
        let blank = Jury::new(jury.spec(), jury.evaluators().clone())?;
        Ok(PerFileJury { jury: jury.clone(), file: 0, of_file: blank.clone(), blank })
    }

    /// Merges `learnt`, a blank jury that has learnt one chunk of `file`.
    pub(crate) fn take(&mut self, file: usize, learnt: &Jury) -> Result<(), Error> {
        if file != self.file {
            self.file = file;
            self.jury.merge(&std::mem::replace(&mut self.of_file, self.blank.clone()))?;
            self.jury.settle();
        }
        Ok(self.of_file.merge_same_round(learnt)?)
    }

    pub(crate) fn finish(mut self) -> Result<Jury, Error> {
        self.jury.merge(&self.of_file)?;
        self.jury.settle();
        Ok(self.jury)
    }
}

/// Learns rounds by the column of rounds, one after the other.
fn by_rounds(
    table: &Table,
    jury: &mut Jury,
    first: u64,
    reward: bool,
    but: &[HashSet<u64>],
) -> Result<LearnCounts, Error> {
    let width = jury.evaluators().len();
    let want = ScanRequest { reward, key: true, reviewer: reward, ..ScanRequest::default() };
    let mut taught = LearnCounts::default();
    let (mut round, mut at) = (None, first);
    let (mut held, mut rewarded, mut reviewed) = (Vec::new(), Vec::new(), Vec::new());
    let mut begun = HashSet::new();
    taught.rows = table.scan(
        want,
        |mut part| {
            let scores = part.batch.scores().to_vec();
            Ok((scores, part.batch.rewards, part.batch.keys, part.batch.reviewers))
        },
        |place, (scores, rewards, keys, reviewers)| {
            let known = but.get(place.file);
            for (row, key) in keys.into_iter().enumerate() {
                if known.is_some_and(|rows| rows.contains(&(place.row_in_file + row as u64))) {
                    continue;
                }
                if round.as_ref() != Some(&key) {
                    taught.reopened_rounds += u64::from(!begun.insert(hash_of(&key)));
                    if round.replace(key).is_some() {
                        taught.add(&observe_batch(jury, &held, &rewarded, &reviewed, at)?);
                        at = at.saturating_add(1);
                    }
                    held.clear();
                    rewarded.clear();
                    reviewed.clear();
                }
                held.extend_from_slice(&scores[row * width..(row + 1) * width]);
                rewarded.extend(rewards.get(row));
                reviewed.extend(reviewers.get(row).map(|name| reviewer(name)));
            }
            Ok(())
        },
    )?;
    if round.is_some() {
        taught.add(&observe_batch(jury, &held, &rewarded, &reviewed, at)?);
    }
    Ok(taught)
}

/// A hash of a round's name, to recognise it.
fn hash_of(key: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// Lets a jury observe one round, and learn from its rewards. `reviewers` has one entry per row, or
/// none.
pub(crate) fn observe_batch(
    jury: &mut Jury,
    values: &[f64],
    rewards: &[f64],
    reviewers: &[Option<Reviewer>],
    at: u64,
) -> Result<LearnCounts, Error> {
    let width = jury.evaluators().len();
    jury.observe(&scores(values, width)?, at)?;
    let judged = |row: &usize| !rewards[*row].is_nan();
    let rows: Vec<usize> = (0..rewards.len()).filter(judged).collect();
    let example = |&row: &usize| Example {
        scores: &values[row * width..][..width],
        reward: rewards[row],
        receipt: None,
    };
    let examples: Vec<Example<'_>> = rows.iter().map(example).collect();
    let by: Vec<Option<Reviewer>> = rows.iter().map(|&row| reviewers.get(row).copied().flatten()).collect();
    let Learnt { used, ignored_rewards } = jury.learn_by(&examples, &by, at)?;
    let mut leakage = Leakage::default();
    examples.iter().for_each(|example| leakage.add(example.scores, example.reward));
    let rewards = || examples.iter().map(|example| example.reward);
    let range = rewards().reduce(f64::min).zip(rewards().reduce(f64::max));
    Ok(LearnCounts {
        labelled: examples.len() as u64,
        used,
        ignored_rewards,
        range,
        leakage,
        ..LearnCounts::default()
    })
}

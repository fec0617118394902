//! Reads the rows of a table for prevalence, and refuses samples that cannot represent all rows.

use super::PrevalenceOptions;
use super::errors::{GoldenVerdict, ReviewerShares};
use crate::error::Error;
use crate::replay::ItemIndex;
use jurybox::Reviewer;
use jurybox_draw::counted;
use jurybox_files::{BatchPosition, KeepRecords, ScanRequest, Table, reviewer};
use std::collections::HashMap;
use std::path::PathBuf;

/// A reviewed row is refused if fewer than this number of picks would be expected in the whole file
/// with its probability on every row.
const IMPLAUSIBLE: f64 = 1e-6;
/// Number of standard deviations of a sum of weights or picks that still count as chance.
const CHANCE: f64 = 4.0;
/// Number of standard deviations above which missing verdicts are suspected.
const SUSPECT: f64 = 2.0;
/// Relative error allowed to a sum of weights whose probabilities were written with few digits.
const DIGITS: f64 = 0.01;

/// Advice for tables in which some rows could not be picked.
const RANDOM_CHECKS: &str = "Leave some picks to chance, such as five in every round with the \
                             policy `adaptive(audit=1,slots=5)`, and keep the probabilities that \
                             `pick` writes for all rows; or leave such rows out, and estimate the \
                             mean of the others";

/// A period and a group; None without such a column, or if the cell is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Segment {
    pub(super) period: Option<String>,
    pub(super) group: Option<String>,
}

/// The rows of a table, without golden items, which are test questions and not part of the mean.
#[derive(Debug, Default)]
pub(super) struct PrevalenceRows {
    /// Scores as in the file, row-major.
    pub(super) scores: Vec<f64>,
    /// NaN if there is no verdict.
    pub(super) rewards: Vec<f64>,
    /// NaN if unknown, which is allowed for unreviewed rows.
    pub(super) probabilities: Vec<f64>,
    pub(super) items: ItemIndex,
    pub(super) parts: Vec<Segment>,
    /// Index in `parts` for each row; empty without groups and periods.
    pub(super) part_of: Vec<usize>,
    /// Verdicts on golden items.
    pub(super) golden: Vec<GoldenVerdict>,
    /// The reviewer of each row; empty without such a column.
    reviewers: Vec<Option<Reviewer>>,
    /// Whether each row is known to have been picked, with a verdict or without.
    picked: Vec<bool>,
    path: PathBuf,
}

/// Columns whose text is read, each with its position in `names`.
#[derive(Default)]
struct ExtraColumns {
    names: Vec<String>,
    period: Option<usize>,
    by: Option<usize>,
    golden: Option<usize>,
    receipt: Option<usize>,
}

impl ExtraColumns {
    fn of(table: &Table, options: &PrevalenceOptions) -> ExtraColumns {
        let mut names = Vec::new();
        let mut place = |name: Option<&String>| {
            let there = name.filter(|name| table.columns().contains(name))?;
            names.push(there.clone());
            Some(names.len() - 1)
        };
        ExtraColumns {
            period: place(options.period.as_ref().map(|period| &period.column)),
            by: place(options.by.as_ref()),
            golden: place(options.golden.as_ref()),
            receipt: place(table.receipts_of_picks().as_ref()),
            names,
        }
    }
}

impl PrevalenceRows {
    pub(super) fn read(table: &Table, options: &PrevalenceOptions) -> Result<PrevalenceRows, Error> {
        let taken = table.roles();
        let columns = ExtraColumns::of(table, options);
        let width = taken.evaluators().len();
        let want = ScanRequest {
            reward: true,
            probability: true,
            reviewer: taken.reviewer().is_some(),
            ids: !taken.id().is_empty(),
            records: if columns.names.is_empty() { KeepRecords::None } else { KeepRecords::All },
            ..ScanRequest::default()
        };
        let mut rows = PrevalenceRows { path: table.path().into(), ..PrevalenceRows::default() };
        let (mut ids, mut known): (Vec<u64>, HashMap<Segment, usize>) = (Vec::new(), HashMap::new());
        let (mut failed, mut never) = (None, ImpossibleRows::default());
        table.scan(
            want,
            |mut part| {
                let cells = if columns.names.is_empty() {
                    None
                } else {
                    Some(table.other_columns(&part, &columns.names)?)
                };
                let scores = part.batch.scores().to_vec();
                let batch = &part.batch;
                let (rewards, probabilities) = (batch.rewards().to_vec(), batch.probabilities().to_vec());
                let reviewers: Vec<_> = batch.reviewers().iter().map(|name| reviewer(name)).collect();
                Ok((scores, rewards, probabilities, reviewers, batch.ids().to_vec(), cells))
            },
            |at, (scores, rewards, probabilities, reviewers, mine, cells)| {
                for row in 0..rewards.len() {
                    let place = || format!("row {}", at.row_in_file + row as u64 + 1);
                    let mut fail = |column: &str, reason: String| {
                        let reason = format!("{}, column `{column}`: {reason}", place());
                        failed.get_or_insert_with(|| content(table, at, reason));
                    };
                    let cell = |column: Option<usize>| {
                        Some(cells.as_ref()?.text(row, column?)).filter(|cell| !cell.is_empty())
                    };
                    let who = reviewers.get(row).copied().flatten();
                    if let (Some(cells), Some(column)) = (&cells, columns.golden) {
                        match cells.number(row, column) {
                            None => fail(
                                &columns.names[column],
                                format!(
                                    "`{}` is not a right answer: write 1 or 0, or give words a \
                                     number with --label",
                                    cells.text(row, column)
                                ),
                            ),
                            Some(right) if !right.is_nan() => {
                                if !rewards[row].is_nan() {
                                    rows.golden.push(GoldenVerdict {
                                        right,
                                        reward: rewards[row],
                                        reviewer: who,
                                    });
                                }
                                continue;
                            }
                            Some(_) => {}
                        }
                    }
                    let picked = cell(columns.receipt).is_some();
                    if probabilities[row] == 0.0 {
                        never.count += 1;
                        never.first.get_or_insert_with(|| (table.path_of(at.file).into(), place()));
                    } else if let Some(reason) = unlikely(picked, rewards[row], probabilities[row]) {
                        fail(taken.probability().unwrap_or_default(), reason);
                    }
                    let date =
                        options.period.as_ref().and_then(|period| Some((period, cell(columns.period)?)));
                    let period = date.as_ref().and_then(|(period, cell)| period.of(cell));
                    if let (Some((of, cell)), None) = (&date, &period) {
                        let reason = format!(
                            "`{cell}` is not a date; write 2026-11-16, with or without the time of \
                             day, or a Unix time"
                        );
                        fail(&of.column, reason);
                    }
                    if options.by.is_some() || options.period.is_some() {
                        rows.put_into(Segment { period, group: cell(columns.by) }, &mut known);
                    }
                    rows.scores.extend(&scores[row * width..(row + 1) * width]);
                    rows.rewards.push(rewards[row]);
                    rows.probabilities.push(probabilities[row]);
                    rows.picked.push(picked);
                    rows.reviewers.extend(taken.reviewer().map(|_| who));
                    ids.extend(mine.get(row));
                }
                Ok(())
            },
        )?;
        failed.map_or(Ok(()), Err)?;
        rows.items = ItemIndex::of(&ids);
        rows.check_labels(table, options)?;
        never.refused(rows.rewards.len(), taken.probability().unwrap_or_default())?;
        rows.know_picks();
        Ok(rows)
    }

    /// Errors if no row outside of the golden items has a reward.
    fn check_labels(&self, table: &Table, options: &PrevalenceOptions) -> Result<(), Error> {
        if self.labelled() > 0 {
            return Ok(());
        }
        if let (false, Some(column)) = (self.golden.is_empty(), &options.golden) {
            let reason = "every row with a reward has a right answer: leave this column empty for \
                          rows that are not golden items";
            return Err(Error::setting("golden", column, reason));
        }
        let column = table.roles().reward().unwrap_or_default().into();
        Err(jurybox_files::Error::NoReward { path: table.path().into(), column }.into())
    }

    /// Assigns the next row to a segment; `known` has the number of each segment so far.
    fn put_into(&mut self, part: Segment, known: &mut HashMap<Segment, usize>) {
        let next = known.len();
        let number = *known.entry(part.clone()).or_insert(next);
        if number == next {
            self.parts.push(part);
        }
        self.part_of.push(number);
    }

    pub(super) fn labelled(&self) -> usize {
        self.rewards.iter().filter(|reward| !reward.is_nan()).count()
    }

    /// Whether a row was picked but has no verdict yet.
    pub(super) fn outstanding(&self, row: usize) -> bool {
        self.picked[row] && self.rewards[row].is_nan()
    }

    /// For each reviewer, the sum of one over the probability, over the rows judged. Without names,
    /// all reviewers count as one.
    pub(super) fn shares(&self) -> ReviewerShares {
        let mut shares = ReviewerShares::new();
        for (row, p) in self.probabilities.iter().enumerate().filter(|(row, _)| !self.rewards[*row].is_nan())
        {
            *shares.entry(self.reviewers.get(row).copied().flatten()).or_default() += 1.0 / p;
        }
        shares
    }

    /// Marks rows as picked: those with a receipt or a reward, and those with probability 1.
    ///
    /// If some probabilities are empty, rows with a probability count as picks too, unless they
    /// would then stand for too many rows.
    fn know_picks(&mut self) {
        for (row, picked) in self.picked.iter_mut().enumerate() {
            *picked |= !self.rewards[row].is_nan() || self.probabilities[row] >= 1.0;
        }
        let said: Vec<bool> = self.probabilities.iter().map(|p| !p.is_nan()).collect();
        if said.contains(&false) {
            let (stand_for, chance) = self.stand_for(&said);
            if stand_for - self.rewards.len() as f64 <= chance {
                self.picked.iter_mut().zip(said).for_each(|(picked, said)| *picked |= said);
            }
        }
    }

    /// The variance of a sum in which rows of an item are fully dependent. `adds` is the standard
    /// deviation of each row.
    fn by_item(&self, adds: impl Fn(usize) -> f64) -> f64 {
        let mut sums = vec![0.0; self.rewards.len()];
        (0..sums.len()).for_each(|row| sums[self.items.of_row(row)] += adds(row));
        sums.iter().map(|sum| sum * sum).sum()
    }

    /// The number of rows that `some` rows stand for by their probabilities, and the largest excess
    /// over the number of all rows that is still chance.
    fn stand_for(&self, some: &[bool]) -> (f64, f64) {
        let of = |row: usize, of: fn(f64) -> f64| if some[row] { of(self.probabilities[row]) } else { 0.0 };
        let stand_for = (0..some.len()).map(|row| of(row, |p| 1.0 / p)).sum();
        let variance = self.by_item(|row| of(row, |p| (1.0 - p).sqrt() / p));
        (stand_for, CHANCE * variance.sqrt() + DIGITS * some.len() as f64)
    }

    /// The largest shortfall of `stand_for` below the number of all rows that is still chance, for
    /// a number of standard deviations.
    ///
    /// A row with an empty probability counts with the average variance of the picks. The variance
    /// of the picks alone would not do, because it is too small if there are too few picks.
    fn chance_of_few(&self, stand_for: f64, deviations: f64) -> f64 {
        let picked = self.probabilities.iter().zip(&self.picked).filter(|(_, picked)| **picked);
        let average = picked.map(|(p, _)| (1.0 - p) / (p * p)).sum::<f64>() / stand_for;
        let variance = self.by_item(|row| {
            let p = self.probabilities[row];
            if p.is_nan() { average.sqrt() } else { ((1.0 - p) / p).sqrt() }
        });
        deviations * variance.sqrt() + DIGITS * self.rewards.len() as f64
    }

    /// Checks that the picks can represent all rows: each stands for as many rows as one over its
    /// probability. Returns warnings, or an error if the picks cannot.
    pub(super) fn checked(&self) -> Result<Vec<String>, Error> {
        let refused = |reason: String| Err(Error::Content { path: self.path.clone(), reason });
        let rows = self.rewards.len();
        let known = || self.rewards.iter().zip(&self.probabilities).filter(|(reward, _)| !reward.is_nan());
        if let Some((_, p)) = known().find(|(_, p)| **p * (rows as f64) < IMPLAUSIBLE) {
            return refused(format!(
                "the probability {p:e} is so small that its row would outweigh all others"
            ));
        }
        let (stand_for, chance) = self.stand_for(&self.picked);
        let outstanding = (0..rows).filter(|&row| self.outstanding(row)).count() as u64;
        let what = match outstanding {
            0 => counted(self.labelled() as u64, "reward"),
            _ => counted(self.labelled() as u64 + outstanding, "pick"),
        };
        let sum =
            format!("by their probabilities the {what} stand for {stand_for:.0} rows, and there are {rows}");
        if stand_for - rows as f64 > chance {
            return refused(format!(
                "{sum}: unreviewed rows were left out of the file; or some rewards are not from \
                 these draws (of a queue, export random checks alone: `queue export \
                 --random-checks-only`); or rows were drawn together, such as whole threads (name \
                 the column of their ids)"
            ));
        }
        let unsaid = self.probabilities.iter().filter(|p| p.is_nan()).count();
        let are_few = |deviations: f64| rows as f64 - stand_for > self.chance_of_few(stand_for, deviations);
        if unsaid > 0 && are_few(CHANCE) {
            return refused(format!(
                "{sum}: {:.0} rows had no chance of review, or none of their kind was drawn, or \
                 their verdicts are missing. The mean of all rows is then unknown. {RANDOM_CHECKS}",
                rows as f64 - stand_for
            ));
        }
        let mut warnings = Vec::new();
        if unsaid > 0 && are_few(SUSPECT) {
            warnings.push(format!(
                "{sum}: some rows may have had no chance of review, or verdicts may be missing, \
                 which would bias every figure. Keep the probabilities and the column `receipt` \
                 that `pick` writes for all rows: they tell which"
            ));
        }
        if unsaid == 0 {
            let expected: f64 = self.probabilities.iter().sum();
            let lacking = expected - self.picked.iter().filter(|picked| **picked).count() as f64;
            let spread = self.by_item(|row| {
                let p = self.probabilities[row];
                (p * (1.0 - p)).sqrt()
            });
            let beyond = |deviations: f64| lacking > deviations * spread.sqrt() + DIGITS * expected;
            let counts = format!(
                "by the probabilities about {expected:.0} rows were to be reviewed, and there are {what}"
            );
            let by_lot = || (0..rows).filter(|&row| self.probabilities[row] < 1.0);
            let is_blind = !by_lot().any(|row| self.picked[row]);
            let left_to_chance = by_lot().count();
            if is_blind && !beyond(CHANCE) && left_to_chance as f64 > DIGITS * rows as f64 {
                return refused(format!(
                    "none of the {left_to_chance} rows that were left to chance was drawn, so that \
                     nothing is known of them. {RANDOM_CHECKS}"
                ));
            }
            if beyond(CHANCE) || are_few(CHANCE) {
                let sum = if beyond(CHANCE) { counts } else { sum };
                return refused(format!(
                    "{sum}: verdicts are missing, and it is unknown on which rows. Verdicts that \
                     are late because they are hard, or not recorded where the answer was no, bias \
                     every figure. Keep the column `receipt` that `pick` writes for all rows: then \
                     picks are known, and the interval holds whatever their verdicts will be"
                ));
            }
            if beyond(SUSPECT) {
                warnings.push(format!(
                    "{counts}: some verdicts may be missing, which would bias every figure. Keep \
                     the column `receipt` that `pick` writes for all rows: it tells which rows \
                     were picked"
                ));
            }
        }
        if outstanding > 0 {
            warnings.push(format!(
                "{outstanding} of {what} have no verdict yet: the mean is that of the others, and \
                 the interval holds whatever those verdicts will be"
            ));
        }
        Ok(warnings)
    }
}

/// Rows with probability 0.
#[derive(Default)]
struct ImpossibleRows {
    count: u64,
    first: Option<(PathBuf, String)>,
}

impl ImpossibleRows {
    fn refused(self, rows: usize, column: &str) -> Result<(), Error> {
        let Some((path, first)) = self.first else { return Ok(()) };
        let reason = format!(
            "{} of {rows} rows could not have been reviewed (column `{column}` is 0, first in \
             {first}): the mean of all rows is then unknown. {RANDOM_CHECKS}",
            self.count
        );
        Err(Error::Content { path, reason })
    }
}

/// The fault of a row's logged probability, if any. A probability of 0 is handled elsewhere.
fn unlikely(picked: bool, reward: f64, probability: f64) -> Option<String> {
    const RULE: &str = "it must be above 0 and at most 1, and may be empty for unreviewed rows";
    if probability.is_nan() && (picked || !reward.is_nan()) {
        let what = if reward.is_nan() { "receipt" } else { "reward" };
        Some(format!("there is a {what}, but no probability of review; {RULE}"))
    } else if !probability.is_nan() && !(0.0..=1.0).contains(&probability) {
        Some(format!("{probability} is not the probability of a pick; {RULE}"))
    } else {
        None
    }
}

fn content(table: &Table, at: BatchPosition, reason: String) -> Error {
    Error::Content { path: table.path_of(at.file).into(), reason }
}

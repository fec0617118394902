//! The log of past reviews, in memory, that replays and off-policy estimates read.
//!
//! If the table is in memory already, its scores are not copied as a whole but read row by row.

use super::row_groups::RowGroups;
use super::{ItemIndex, Protocol};
use crate::error::Error;
use crate::linear::{LinearFit, RegressionSums};
use jurybox::toolbox::{Standard, mean_of_present};
use jurybox::{Direction, Evaluators};
use jurybox_files::{ScanRequest, ScoreView, Table};
use std::borrow::Cow;
use std::collections::HashMap;

/// Scores, rewards, probabilities and rounds of a table.
#[derive(Debug, Clone)]
pub(crate) struct ReviewLog {
    /// The evaluators, without context columns (numbers of the groups that rows belong to).
    pub(crate) evaluators: Evaluators,
    /// The groups of the rows, if the table has context columns.
    pub(crate) groups: Option<RowGroups>,
    /// Scores, row-major; NaN if missing, negated where low scores mean high rewards. Empty if the
    /// scores are in `in_place`.
    pub(crate) scores: Vec<f64>,
    /// The scores of a table in memory, not negated. Has no rows if the scores are in `scores`.
    pub(crate) in_place: ScoreView,
    /// One reward per row; NaN if nobody reviewed it.
    pub(crate) rewards: Vec<f64>,
    /// One logged probability per row, NaN if unknown; empty without such a column.
    pub(crate) probabilities: Vec<f64>,
    /// The rows of each of the file's own rounds, in order of appearance; empty without such a
    /// column.
    pub(crate) rounds: Vec<Vec<usize>>,
    /// Which rows are about the same item.
    pub(crate) items: ItemIndex,
}

impl ReviewLog {
    /// A log without rows.
    pub(crate) fn of(evaluators: Evaluators) -> ReviewLog {
        ReviewLog {
            evaluators,
            groups: None,
            scores: Vec::new(),
            in_place: ScoreView::default(),
            rewards: Vec::new(),
            probabilities: Vec::new(),
            rounds: Vec::new(),
            items: ItemIndex::default(),
        }
    }

    pub(crate) fn read(table: &Table) -> Result<ReviewLog, Error> {
        let taken = table.roles();
        let in_place = table.is_in_memory();
        let want = ScanRequest {
            reward: true,
            probability: taken.probability().is_some(),
            key: taken.key().is_some(),
            ids: !taken.id().is_empty(),
            upright: !in_place,
            ..ScanRequest::default()
        };
        let all = taken.evaluators();
        let contexts: Vec<usize> = all.contexts().collect();
        let mut log = ReviewLog::of(if contexts.is_empty() { all.clone() } else { all.without_contexts()? });
        let mut groups = Vec::new();
        let mut ids: Vec<u64> = Vec::new();
        let mut by_key: HashMap<Box<str>, usize> = HashMap::new();
        table.scan(
            want,
            |mut part| {
                let (mut scores, mut view) = (Vec::new(), ScoreView::default());
                if in_place {
                    view = part.batch.take_score_view();
                } else {
                    scores = part.batch.scores().to_vec();
                }
                let batch = &part.batch;
                let (rewards, probabilities) = (batch.rewards().to_vec(), batch.probabilities().to_vec());
                Ok(((scores, view), rewards, probabilities, batch.keys().to_vec(), batch.ids().to_vec()))
            },
            |at, ((scores, view), rewards, probabilities, keys, mine)| {
                ids.extend(mine);
                if contexts.is_empty() {
                    log.scores.extend(scores);
                } else {
                    for (at, number) in scores.into_iter().enumerate() {
                        let of = contexts.contains(&(at % all.len()));
                        if of { &mut groups } else { &mut log.scores }.push(number);
                    }
                }
                if in_place {
                    log.in_place.append(view);
                }
                log.rewards.extend(rewards);
                log.probabilities.extend(probabilities);
                for (row, key) in keys.into_iter().enumerate() {
                    let rounds = &mut log.rounds;
                    let round = *by_key.entry(key).or_insert_with(|| {
                        rounds.push(Vec::new());
                        rounds.len() - 1
                    });
                    rounds[round].push(at.row as usize + row);
                }
                Ok(())
            },
        )?;
        if log.labelled() == 0 {
            let column = taken.reward().unwrap_or_default().into();
            return Err(jurybox_files::Error::NoReward { path: table.path().into(), column }.into());
        }
        log.items = ItemIndex::of(&ids);
        if !contexts.is_empty() {
            if in_place {
                groups = apart(&mut log.in_place, &contexts);
            }
            log.groups = Some(RowGroups::new(all.clone(), groups));
        }
        Ok(log)
    }

    /// The log for a protocol. For [`Protocol::Rounds`] and rounds of the file's own, an item is
    /// kept in its first round only, and rounds that become empty are dropped.
    pub(crate) fn each_item_once(&self, protocol: Protocol) -> Cow<'_, ReviewLog> {
        if protocol != Protocol::Rounds || self.rounds.is_empty() || !self.items.repeat() {
            return Cow::Borrowed(self);
        }
        let (mut log, mut seen) = (self.clone(), vec![false; self.rows()]);
        log.rounds.iter_mut().for_each(|rows| log.items.keep_first(rows, &mut seen));
        log.rounds.retain(|rows| !rows.is_empty());
        Cow::Owned(log)
    }

    pub(crate) fn rows(&self) -> usize {
        self.rewards.len()
    }

    pub(crate) fn width(&self) -> usize {
        self.evaluators.len()
    }

    /// The scores of a row, negated where low scores mean high rewards.
    pub(crate) fn row(&self, row: usize) -> Cow<'_, [f64]> {
        if self.in_place.rows() == 0 {
            return Cow::Borrowed(self.held(row));
        }
        let mut scores = Vec::with_capacity(self.width());
        self.push_row(row, &mut scores);
        Cow::Owned(scores)
    }

    /// Appends the scores of a row to `out`, negated where low scores mean high rewards.
    pub(crate) fn push_row(&self, row: usize, out: &mut Vec<f64>) {
        if self.in_place.rows() == 0 {
            out.extend_from_slice(self.held(row));
            return;
        }
        let begin = out.len();
        self.in_place.push_row(row, out);
        if self.evaluators.any_low() {
            let scores = self.evaluators.as_slice().iter().zip(&mut out[begin..]);
            scores.filter(|(one, _)| one.direction == Direction::Low).for_each(|(_, x)| *x = -*x);
        }
    }

    /// Calls `see` with the scores of each row, in order.
    pub(crate) fn each_row(&self, mut see: impl FnMut(&[f64])) {
        let mut scores = Vec::with_capacity(self.width());
        for row in 0..self.rows() {
            scores.clear();
            self.push_row(row, &mut scores);
            see(&scores);
        }
    }

    fn held(&self, row: usize) -> &[f64] {
        &self.scores[row * self.width()..(row + 1) * self.width()]
    }

    /// Mean and standard deviation of each evaluator's scores over all rows.
    pub(crate) fn standard(&self) -> Standard {
        let mut standard = Standard::new(self.width());
        self.each_row(|scores| standard.observe(scores));
        standard
    }

    /// Rows as the file has them: low scores that mean high rewards are not negated.
    pub(crate) fn as_written<'a>(&self, rows: &'a [f64]) -> Cow<'a, [f64]> {
        as_written(&self.evaluators, rows)
    }

    pub(crate) fn labelled(&self) -> usize {
        self.rewards.iter().filter(|reward| !reward.is_nan()).count()
    }

    /// The lower reward if there are exactly two different ones.
    pub(crate) fn lower_of_two(&self) -> Option<f64> {
        let known = || self.rewards.iter().copied().filter(|r| !r.is_nan());
        let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
        (low < high && known().all(|r| r == low || r == high)).then_some(low)
    }

    /// The mean of each row's scores, missing ones left out; NaN for a row without scores.
    pub(crate) fn averages(&self) -> Vec<f64> {
        let mut averages = Vec::with_capacity(self.rows());
        self.each_row(|scores| averages.push(mean_of_present(scores.iter().copied())));
        averages
    }

    /// Scores in standard deviations from the evaluator's mean (z-scores), row-major. NaN if
    /// missing, 0 if the evaluator's scores never vary.
    pub(crate) fn standardised(&self) -> Vec<f64> {
        let (standard, mut all) = (self.standard(), Vec::with_capacity(self.rows() * self.width()));
        self.each_row(|scores| {
            all.extend(scores.iter().enumerate().map(|(evaluator, &score)| standard.of(evaluator, score)));
        });
        all
    }

    /// The mean z-score of each row; NaN for a row without scores.
    pub(crate) fn z_means(&self, standardised: &[f64]) -> Vec<f64> {
        standardised.chunks_exact(self.width()).map(|row| mean_of_present(row.iter().copied())).collect()
    }

    /// Least squares of the reward on z-scores, over the reviewed rows that `keep` accepts. Missing
    /// scores count as the evaluator's mean. None from fewer than two such rows.
    pub(crate) fn regression(&self, standardised: &[f64], keep: impl Fn(usize) -> bool) -> Option<LinearFit> {
        let mut sums = RegressionSums::new(self.width());
        for (row, x) in standardised.chunks_exact(self.width()).enumerate() {
            if !self.rewards[row].is_nan() && keep(row) {
                sums.learn(&filled(x), self.rewards[row]);
            }
        }
        sums.fit(0.0)
    }
}

/// Removes the columns of contexts from a table in memory, and returns them row-major, in order.
fn apart(table: &mut ScoreView, contexts: &[usize]) -> Vec<f64> {
    if let [only] = contexts {
        return table.take_column(*only);
    }
    // From the last to the first, so that positions stay valid.
    let columns: Vec<Vec<f64>> = contexts.iter().rev().map(|&column| table.take_column(column)).collect();
    let rows = 0..table.rows();
    rows.flat_map(|row| columns.iter().rev().map(move |column| column[row])).collect()
}

/// Undoes the negation of scores where low scores mean high rewards.
pub(crate) fn as_written<'a>(evaluators: &Evaluators, rows: &'a [f64]) -> Cow<'a, [f64]> {
    if !evaluators.any_low() {
        return Cow::Borrowed(rows);
    }
    let low: Vec<bool> = evaluators.as_slice().iter().map(|e| e.direction == Direction::Low).collect();
    let negated = rows.iter().zip(low.iter().cycle()).map(|(&x, &low)| if low { -x } else { x });
    Cow::Owned(negated.collect())
}

/// A standardised score, or 0, the mean, if it is missing.
pub(crate) fn at_mean_if_missing(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

/// A standardised row with 0, the mean, for missing scores.
pub(crate) fn filled(row: &[f64]) -> Vec<f64> {
    row.iter().map(|&x| at_mean_if_missing(x)).collect()
}

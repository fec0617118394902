//! The history that is replayed: every row in memory, because rounds are drawn from all of it. What a table has in memory already is read
//! there, and not held twice.

use super::row_groups::RowGroups;
use super::{ItemIndex, Protocol};
use crate::error::Error;
use crate::linear::{LinearFit, RegressionSums};
use jurybox::toolbox::{Standard, mean_of_present};
use jurybox::{Direction, Evaluators};
use jurybox_files::{InPlace, Table, Want};
use std::borrow::Cow;
use std::collections::HashMap;

/// Scores, rewards and rounds of a file.
#[derive(Debug, Clone)]
pub(crate) struct ReviewLog {
    /// Those that score; which group a row belongs to is apart.
    pub(crate) evaluators: Evaluators,
    pub(crate) groups: Option<RowGroups>,
    /// Row after row, NaN = missing; where low means high, negated. Empty where they are read in place.
    pub(crate) scores: Vec<f64>,
    /// The scores of a table in memory, as they stand in it; without rows where they are held above.
    pub(crate) in_place: InPlace,
    /// NaN where a row has no verdict.
    pub(crate) rewards: Vec<f64>,
    /// Empty where none were logged.
    pub(crate) probabilities: Vec<f64>,
    /// The rows of each round of the file's own, in order of appearance; empty where rounds are to be drawn.
    pub(crate) rounds: Vec<Vec<usize>>,
    /// Which rows are about the same item.
    pub(crate) items: ItemIndex,
}

impl ReviewLog {
    /// Without a row.
    pub(crate) fn of(evaluators: Evaluators) -> ReviewLog {
        ReviewLog {
            evaluators,
            groups: None,
            scores: Vec::new(),
            in_place: InPlace::default(),
            rewards: Vec::new(),
            probabilities: Vec::new(),
            rounds: Vec::new(),
            items: ItemIndex::default(),
        }
    }

    pub(crate) fn read(table: &Table) -> Result<ReviewLog, Error> {
        let taken = table.taken();
        let in_place = table.is_in_memory();
        let want = Want {
            reward: true,
            probability: taken.probability().is_some(),
            key: taken.key().is_some(),
            ids: !taken.id().is_empty(),
            upright: !in_place,
            ..Want::default()
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
                let (mut scores, mut lying) = (Vec::new(), InPlace::default());
                if in_place {
                    lying = part.batch.take_in_place();
                } else {
                    scores = part.batch.scores().to_vec();
                }
                let batch = &part.batch;
                let (rewards, probabilities) = (batch.rewards().to_vec(), batch.probabilities().to_vec());
                Ok(((scores, lying), rewards, probabilities, batch.keys().to_vec(), batch.ids().to_vec()))
            },
            |at, ((scores, lying), rewards, probabilities, keys, mine)| {
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
                    log.in_place.append(lying);
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

    /// The log as a protocol shows it: where its own rounds pass and are learnt from, an item comes in the first of them that has it, and
    /// never again. Rounds in which nothing is left are none.
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

    /// The scores of a row; where low means high, negated.
    pub(crate) fn row(&self, row: usize) -> Cow<'_, [f64]> {
        if self.in_place.rows() == 0 {
            return Cow::Borrowed(self.held(row));
        }
        let mut scores = Vec::with_capacity(self.width());
        self.push_row(row, &mut scores);
        Cow::Owned(scores)
    }

    /// The same, appended.
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

    /// Shows the scores of all rows, one row after the other.
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

    /// Mean and spread of each evaluator's scores.
    pub(crate) fn standard(&self) -> Standard {
        let mut standard = Standard::new(self.width());
        self.each_row(|scores| standard.observe(scores));
        standard
    }

    /// Rows as they stand in the file.
    pub(crate) fn as_written<'a>(&self, rows: &'a [f64]) -> Cow<'a, [f64]> {
        as_written(&self.evaluators, rows)
    }

    pub(crate) fn labelled(&self) -> usize {
        self.rewards.iter().filter(|reward| !reward.is_nan()).count()
    }

    /// The lower of two rewards, where there are exactly two.
    pub(crate) fn lower_of_two(&self) -> Option<f64> {
        let known = || self.rewards.iter().copied().filter(|r| !r.is_nan());
        let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
        (low < high && known().all(|r| r == low || r == high)).then_some(low)
    }

    /// The plain mean of the scores that a row has; NaN where it has none.
    pub(crate) fn averages(&self) -> Vec<f64> {
        let mut averages = Vec::with_capacity(self.rows());
        self.each_row(|scores| averages.push(mean_of_present(scores.iter().copied())));
        averages
    }

    /// The scores in standard deviations from their evaluator's mean; NaN = missing, 0 for one that never varies.
    pub(crate) fn standardised(&self) -> Vec<f64> {
        let (standard, mut all) = (self.standard(), Vec::with_capacity(self.rows() * self.width()));
        self.each_row(|scores| {
            all.extend(scores.iter().enumerate().map(|(evaluator, &score)| standard.of(evaluator, score)));
        });
        all
    }

    /// The mean of the standardised scores of each row.
    pub(crate) fn z_means(&self, standardised: &[f64]) -> Vec<f64> {
        standardised.chunks_exact(self.width()).map(|row| mean_of_present(row.iter().copied())).collect()
    }

    /// The regression of the reward on the standardised scores over the labelled rows that pass; a missing score stands
    /// at its evaluator's mean.
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

/// Takes the columns of contexts out of a table in memory: row after row.
fn apart(table: &mut InPlace, contexts: &[usize]) -> Vec<f64> {
    if let [only] = contexts {
        return table.take_column(*only);
    }
    // From the last to the first, so that those before it stay where they are.
    let columns: Vec<Vec<f64>> = contexts.iter().rev().map(|&column| table.take_column(column)).collect();
    let rows = 0..table.rows();
    rows.flat_map(|row| columns.iter().rev().map(move |column| column[row])).collect()
}

/// Upright rows as they stood in the file: negated again where low means high.
pub(crate) fn as_written<'a>(evaluators: &Evaluators, rows: &'a [f64]) -> Cow<'a, [f64]> {
    if !evaluators.any_low() {
        return Cow::Borrowed(rows);
    }
    let low: Vec<bool> = evaluators.as_slice().iter().map(|e| e.direction == Direction::Low).collect();
    let negated = rows.iter().zip(low.iter().cycle()).map(|(&x, &low)| if low { -x } else { x });
    Cow::Owned(negated.collect())
}

/// A standardised score, 0 where it is missing.
pub(crate) fn at_mean_if_missing(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

/// A standardised row with its missing scores at the mean.
pub(crate) fn filled(row: &[f64]) -> Vec<f64> {
    row.iter().map(|&x| at_mean_if_missing(x)).collect()
}

//! Players: whoever picks rows in a replay, and is told what they were worth.

use super::ReviewLog;
use super::row_groups::JuryView;
use crate::error::Error;
use jurybox::{Example, Jury, Link, Links, Pick, Scores, Spec, TopK};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// What lies before a player: rows of the log, with their scores one after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct CandidateRows {
    pub(crate) rows: Vec<usize>,
    pub(crate) scores: Vec<f64>,
    /// The groups that they belong to, where the log knows of any.
    pub(crate) groups: Vec<f64>,
}

impl CandidateRows {
    /// Puts rows on the desk, and takes away what was there.
    pub(crate) fn load(&mut self, log: &ReviewLog, rows: &[usize]) {
        self.rows.clear();
        self.rows.extend_from_slice(rows);
        self.scores.clear();
        self.groups.clear();
        for &row in rows {
            log.push_row(row, &mut self.scores);
            log.push_groups(row, &mut self.groups);
        }
    }

    /// Takes the rows at those places away; the last rows move to where they were.
    pub(crate) fn remove(&mut self, places: &mut [usize], width: usize) {
        places.sort_unstable_by(|a, b| b.cmp(a));
        let contexts = self.groups.len() / self.rows.len().max(1);
        for &place in &*places {
            self.rows.swap_remove(place);
            swap_remove_row(&mut self.scores, place, width);
            swap_remove_row(&mut self.groups, place, contexts);
        }
    }
}

/// Takes a row out of several; the last one moves to where it was.
fn swap_remove_row(rows: &mut Vec<f64>, place: usize, width: usize) {
    let last = rows.len() - width;
    rows.copy_within(last.., place * width);
    rows.truncate(last);
}

/// A pick: a place on the desk, and how probable it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PickedRow {
    pub(crate) place: usize,
    pub(crate) probability: f64,
}

/// What a player is asked: `k` of the rows on the desk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PickRequest<'a> {
    pub(crate) candidates: &'a CandidateRows,
    /// The rows on the desk have not been seen before; else all of them have.
    pub(crate) new: bool,
    pub(crate) k: usize,
}

/// Whoever picks. `study` comes before the first round, then `pick` and `learn` in turn.
pub(crate) trait RowPicker {
    /// Learns from rows whose rewards are known beforehand. Says how many were of use.
    fn study(&mut self, log: &ReviewLog, rows: &[usize]) -> Result<usize, Error>;

    /// Picks rows, best first.
    fn pick(&mut self, request: &PickRequest<'_>, rng: &mut ChaCha8Rng) -> Result<Vec<PickedRow>, Error>;

    /// Learns what the last picks were worth: their rows in the order of the picks, and the verdict on each.
    fn learn(&mut self, log: &ReviewLog, rows: &[usize], verdicts: &[f64]) -> Result<(), Error>;

    /// Is told what was taken away from the desk: as [`CandidateRows::remove`], places from the last to the first.
    fn removed(&mut self, _places: &[usize]) {}
}

/// The places of the `k` highest values; equal ones in an order that the seed decides.
pub(crate) fn highest(values: &[f64], k: usize, rng: &mut ChaCha8Rng) -> Vec<PickedRow> {
    let mut top = TopK::new(k, rng.random());
    for (place, &value) in values.iter().enumerate() {
        top.push(place as u64, if value.is_nan() { f64::NEG_INFINITY } else { value });
    }
    top.sorted().iter().map(|best| PickedRow { place: best.item as usize, probability: 1.0 }).collect()
}

/// Rewards on 0 to 1 by the range of the file: what the policies that assume such rewards are told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RewardScale {
    low: f64,
    span: f64,
}

impl RewardScale {
    /// Rewards as they are.
    pub(crate) const NONE: RewardScale = RewardScale { low: 0.0, span: 1.0 };

    pub(crate) fn of(log: &ReviewLog) -> RewardScale {
        let known = || log.rewards.iter().copied().filter(|r| !r.is_nan());
        let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
        RewardScale { low, span: if high > low { high - low } else { 1.0 } }
    }

    pub(crate) fn apply(self, reward: f64) -> f64 {
        (reward - self.low) / self.span
    }
}

/// A jury for a spec, told the horizon where it has such an option; with the log's contexts where its policy takes them.
pub(crate) fn jury_for(spec: &Spec, log: &ReviewLog, rounds: usize) -> Result<Jury, Error> {
    let spec = spec.clone().told("horizon", rounds);
    let jury = Jury::new(&spec, log.evaluators.clone())?;
    Ok(if jury.takes_contexts() { Jury::new(&spec, log.with_contexts().clone())? } else { jury })
}

/// The link that policies with one assume unless told.
const LINK: Link = Link::Logistic;

/// A policy at play.
pub(crate) struct JuryPicker {
    jury: Jury,
    scale: RewardScale,
    picks: Vec<Pick>,
    /// Whether its policy has a link.
    linked: bool,
    /// g^-1 of the scores of every row of the log, for policies with a link where rows come back again and again; else empty.
    inverse: Vec<f64>,
    /// Of those on the desk.
    inverse_of_candidates: Vec<f64>,
    /// The number of the round.
    at: u64,
    /// What it is shown of a desk.
    shown: JuryView,
}

impl JuryPicker {
    /// Say whether rows come back `again`.
    pub(crate) fn new(jury: Jury, scale: RewardScale, log: &ReviewLog, again: bool) -> JuryPicker {
        let at = jury.seen().next_time();
        let shown = JuryView::to(jury.evaluators(), log);
        let linked = jury.spec().entry().is_some_and(|entry| entry.links == Links::Glm);
        let mut inverse = Vec::new();
        if linked && again {
            log.each_row(|row| inverse.extend(log.as_written(row).iter().map(|&score| LINK.inverse(score))));
        }
        JuryPicker {
            jury,
            scale,
            picks: Vec::new(),
            linked,
            inverse,
            inverse_of_candidates: Vec::new(),
            at,
            shown,
        }
    }
}

impl RowPicker for JuryPicker {
    fn study(&mut self, log: &ReviewLog, rows: &[usize]) -> Result<usize, Error> {
        let mut candidates = CandidateRows::default();
        candidates.load(log, rows);
        let table = self.shown.of(&candidates);
        self.jury.observe(&Scores::new(&table, self.shown.width())?, self.at)?;
        let examples: Vec<Example<'_>> = rows
            .iter()
            .zip(table.chunks_exact(self.shown.width()))
            .map(|(&row, scores)| Example {
                scores,
                reward: self.scale.apply(log.rewards[row]),
                receipt: None,
            })
            .collect();
        let used = self.jury.learn(&examples, self.at)?.used as usize;
        self.at += 1;
        Ok(used)
    }

    fn pick(&mut self, request: &PickRequest<'_>, rng: &mut ChaCha8Rng) -> Result<Vec<PickedRow>, Error> {
        let width = self.shown.width();
        let table = self.shown.of(request.candidates);
        let mut pool = Scores::new(&table, width)?;
        if self.linked {
            if request.new {
                self.inverse_of_candidates.clear();
                if self.inverse.is_empty() {
                    self.inverse_of_candidates.extend(table.iter().map(|&score| LINK.inverse(score)));
                }
                for &row in request.candidates.rows.iter().filter(|_| !self.inverse.is_empty()) {
                    self.inverse_of_candidates
                        .extend_from_slice(&self.inverse[row * width..(row + 1) * width]);
                }
            }
            pool = pool.with_kept_inverse(LINK, &self.inverse_of_candidates)?;
        }
        let seen = if request.new { pool } else { Scores::new(&[], width)? };
        self.jury.round_from_pool_into(&pool, &seen, self.at, request.k, rng, &mut self.picks)?;
        self.at += 1;
        let choice =
            |pick: &Pick| PickedRow { place: pick.item, probability: pick.receipt.inclusion_probability };
        Ok(self.picks.iter().map(choice).collect())
    }

    fn learn(&mut self, log: &ReviewLog, rows: &[usize], verdicts: &[f64]) -> Result<(), Error> {
        let mut candidates = CandidateRows::default();
        candidates.load(log, rows);
        let table = self.shown.of(&candidates);
        let examples: Vec<Example<'_>> = table
            .chunks_exact(self.shown.width())
            .zip(verdicts)
            .zip(&self.picks)
            .map(|((scores, &verdict), pick)| Example {
                scores,
                reward: self.scale.apply(verdict),
                receipt: Some(&pick.receipt),
            })
            .collect();
        self.jury.learn(&examples, self.at.saturating_sub(1))?;
        Ok(())
    }

    fn removed(&mut self, places: &[usize]) {
        if self.linked {
            let width = self.jury.evaluators().len();
            places.iter().for_each(|&place| swap_remove_row(&mut self.inverse_of_candidates, place, width));
        }
    }
}

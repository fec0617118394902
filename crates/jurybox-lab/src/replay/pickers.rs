//! The interface of everything that picks rows in a replay, and its implementation by a jury.

use super::ReviewLog;
use super::row_groups::JuryView;
use crate::error::Error;
use jurybox::{Example, Jury, Link, Links, Pick, Scores, Spec, TopK};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// The rows that can be picked, with their scores in row-major order.
#[derive(Debug, Clone, Default)]
pub(crate) struct CandidateRows {
    pub(crate) rows: Vec<usize>,
    pub(crate) scores: Vec<f64>,
    /// Numbers of the groups that each row belongs to, one per context column; empty without any.
    pub(crate) groups: Vec<f64>,
}

impl CandidateRows {
    /// Replaces the candidates by the given rows.
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

    /// Removes the rows at these positions, each replaced by the last row. Sorts `places` in
    /// descending order.
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

/// Removes a row from a row-major table; the last row moves to its position.
fn swap_remove_row(rows: &mut Vec<f64>, place: usize, width: usize) {
    let last = rows.len() - width;
    rows.copy_within(last.., place * width);
    rows.truncate(last);
}

/// A pick: its position among the candidates, and its inclusion probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PickedPosition {
    pub(crate) place: usize,
    pub(crate) probability: f64,
}

/// A request for `k` picks from the candidates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PickRequest<'a> {
    pub(crate) candidates: &'a CandidateRows,
    /// Whether the candidates are all new; otherwise all of them were shown before.
    pub(crate) new: bool,
    pub(crate) k: usize,
}

/// A policy or reference in a replay. `study` is called before the rounds of a fold. Without folds,
/// `pick` and `learn` are called in turn; with folds, only `pick` is.
pub(crate) trait RowPicker {
    /// Learns from rows with known rewards. Returns how many rows were of use.
    fn study(&mut self, log: &ReviewLog, rows: &[usize]) -> Result<usize, Error>;

    /// Picks rows, in the order in which they count as labels.
    fn pick(&mut self, request: &PickRequest<'_>, rng: &mut ChaCha8Rng)
    -> Result<Vec<PickedPosition>, Error>;

    /// Learns from the verdicts on the last picks, in the order of the picks.
    fn learn(&mut self, log: &ReviewLog, rows: &[usize], verdicts: &[f64]) -> Result<(), Error>;

    /// Called after [`CandidateRows::remove`], with the same positions in descending order.
    fn removed(&mut self, _places: &[usize]) {}
}

/// The positions of the `k` highest values, best first; ties are broken by a random seed.
pub(crate) fn highest(values: &[f64], k: usize, rng: &mut ChaCha8Rng) -> Vec<PickedPosition> {
    let mut top = TopK::new(k, rng.random());
    for (place, &value) in values.iter().enumerate() {
        top.push(place as u64, if value.is_nan() { f64::NEG_INFINITY } else { value });
    }
    top.sorted().iter().map(|best| PickedPosition { place: best.item as usize, probability: 1.0 }).collect()
}

/// A linear map of rewards to 0 to 1, by the range of the log's rewards.
///
/// New policies learn rewards on this scale, except in `paper_replay`; saved states learn them
/// unscaled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RewardScaling {
    low: f64,
    span: f64,
}

impl RewardScaling {
    /// The identity.
    pub(crate) const NONE: RewardScaling = RewardScaling { low: 0.0, span: 1.0 };

    pub(crate) fn of(log: &ReviewLog) -> RewardScaling {
        let known = || log.rewards.iter().copied().filter(|r| !r.is_nan());
        let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
        RewardScaling { low, span: if high > low { high - low } else { 1.0 } }
    }

    pub(crate) fn apply(self, reward: f64) -> f64 {
        (reward - self.low) / self.span
    }
}

/// A jury of a policy that has learnt nothing. It is given the horizon if it has such an option,
/// and the log's contexts if it takes any.
pub(crate) fn jury_for(spec: &Spec, log: &ReviewLog, rounds: usize) -> Result<Jury, Error> {
    let spec = spec.clone().told("horizon", rounds);
    let jury = Jury::new(&spec, log.evaluators.clone())?;
    Ok(if jury.takes_contexts() { Jury::new(&spec, log.with_contexts().clone())? } else { jury })
}

/// The link that policies with a link have unless their options name another.
const LINK: Link = Link::Logistic;

/// A jury that picks rows and learns from their rewards.
pub(crate) struct JuryPicker {
    jury: Jury,
    scale: RewardScaling,
    picks: Vec<Pick>,
    /// Whether the policy has a link.
    linked: bool,
    /// The inverse link of the scores of every row of the log. Empty unless the policy has a link
    /// and rows come back.
    inverse: Vec<f64>,
    /// The inverse link of the candidates' scores.
    inverse_of_candidates: Vec<f64>,
    /// The time of the next round.
    at: u64,
    /// The columns that the jury is shown.
    shown: JuryView,
}

impl JuryPicker {
    /// Set `again` if rows come back, so that the inverse link is computed once.
    pub(crate) fn new(jury: Jury, scale: RewardScaling, log: &ReviewLog, again: bool) -> JuryPicker {
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

    fn pick(
        &mut self,
        request: &PickRequest<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<PickedPosition>, Error> {
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
        let choice = |pick: &Pick| PickedPosition {
            place: pick.item,
            probability: pick.receipt.inclusion_probability,
        };
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

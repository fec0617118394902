//! Picking from a table with a state, or with a new one, and notes about the result.
//!
//! The command line and the Python package share this code. They keep the state file, write the
//! picks and show the notes.

use crate::error::Error;
use crate::evaluator_change::{AllowedChange, EvaluatorChange, same_policy};
use crate::join_verdicts::ItemList;
use crate::pick_round::{PickOptions, Picking, choose};
use crate::rank::have_order;
use crate::ranker::new_jury;
use crate::state::State;
use crate::table::Table;
use jurybox::Spec;
use jurybox_draw::counted;
use std::fmt;

/// The result of [`pick_rows`].
#[derive(Debug, Clone)]
pub struct PickedRound {
    /// The state after picking. With [`only_choose`](PickOptions::only_choose), it is the state
    /// before, or a new one.
    pub state: State,
    /// The picks.
    pub picking: Picking,
    options: PickOptions,
    /// Whether the state had picked from no round before.
    is_first: bool,
    calibrated: bool,
}

/// Picks from a table with [`choose`], using the state `before` or a new one. The table's key is
/// the id of its items.
///
/// Errors if `policy` or the table's evaluators are not those of the state. `before` is not
/// changed: the result has the state to save once the picks are delivered.
///
/// ```
/// use jurybox_files::{PickNote, PickOptions, Roles, Table, pick_rows};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("hour.csv");
/// std::fs::write(&path, "post,spam,abuse\np1,0.9,0.1\np2,0.2,0.3\np2,0.8,0.9\n")?;
/// let table =
///     Table::open(&[path], &Roles { key: Some("post".into()), ..Roles::default() }, true)?;
/// let two = PickOptions { k: 2, ..PickOptions::default() };
/// let round = pick_rows(None, &table, Some(&"average".parse()?), two)?;
/// assert_eq!((round.picking.picks.len(), round.state.jury.seen().items), (2, 3));
/// assert!(matches!(
///     &round.notes()[..],
///     [PickNote::SharedIds(_), PickNote::NoRandomPicks { .. }]
/// ));
///
/// let again = pick_rows(Some(&round.state), &table, None, two)?;
/// assert_eq!(again.notes()[0], PickNote::ObservedBefore);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pick_rows(
    before: Option<&State>,
    table: &Table,
    policy: Option<&Spec>,
    options: PickOptions,
) -> Result<PickedRound, Error> {
    let evaluators = table.roles().evaluators();
    let mut state = match before {
        None => {
            let mut state = State::from(new_jury(&policy.cloned().unwrap_or_default(), evaluators)?);
            state.memory.evaluators_by_rule(table.roles().by_rule);
            state
        }
        Some(before) => {
            let mut state = before.clone();
            policy.map_or(Ok(()), |asked| same_policy(&state.jury, asked))?;
            EvaluatorChange::apply(&mut state.jury, evaluators, AllowedChange::Same)?;
            state
        }
    };
    let calibrated = state.is_calibrated();
    let picking = choose(table, &mut state, options)?;
    let is_first = before.is_none_or(|before| !before.memory.knows_rounds());
    Ok(PickedRound { state, picking, options, is_first, calibrated })
}

impl PickedRound {
    /// Whether the values of the rows are calibrated. See [`State::is_calibrated`].
    pub fn calibrated(&self) -> bool {
        self.calibrated
    }

    /// Notes about the result.
    pub fn notes(&self) -> Vec<PickNote> {
        let PickedRound { picking, options, .. } = self;
        let mut notes = Vec::new();
        if picking.observed_before {
            notes.push(PickNote::ObservedBefore);
        }
        if let Some(asked) = options.at.filter(|asked| *asked != picking.at) {
            notes.push(PickNote::OtherTime { at: picking.at, asked });
        }
        if options.min_reward.is_none() && options.k as u64 > picking.rows {
            notes.push(PickNote::FewRows { k: options.k, rows: picking.rows });
        }
        if picking.by_values_alone
            && picking.rows > picking.picks.len() as u64
            && !have_order(&picking.values)
        {
            notes.push(PickNote::NoOrder { rows: picking.rows });
        }
        if options.min_reward.is_some() && !self.calibrated() {
            notes.push(PickNote::NotCalibrated);
        }
        if picking.repeated.count > 0 {
            notes.push(PickNote::SharedIds(picking.repeated.clone()));
        }
        let are_all_picked = picking.picks.len() as u64 == picking.rows;
        let is_random = notes.iter().any(|note| matches!(note, PickNote::NoOrder { .. }));
        if self.is_first && !are_all_picked && !is_random && !self.state.jury.fit().leaves_to_chance() {
            notes.push(PickNote::NoRandomPicks { policy: self.state.jury.spec().clone() });
        }
        notes
    }
}

/// A note about picks; its `Display` is for people.
///
/// ```
/// let note = jurybox_files::PickNote::FewRows { k: 9, rows: 4 };
/// assert_eq!(
///     note.to_string(),
///     "k = 9, but there are only 4 rows: all of them are picked"
/// );
/// assert!(note.is_warning());
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PickNote {
    /// The state has observed the items before.
    ObservedBefore,
    /// The state has observed the round at another time than the requested one.
    OtherTime {
        /// The time of the round.
        at: u64,
        /// The requested time.
        asked: u64,
    },
    /// There are fewer rows than requested picks.
    FewRows {
        /// The number of requested picks.
        k: usize,
        /// The number of rows.
        rows: u64,
    },
    /// All rows have the same value, so that the picks are random.
    NoOrder {
        /// The number of rows.
        rows: u64,
    },
    /// Rows whose id another row has as well.
    SharedIds(ItemList),
    /// The first round of a state whose policy makes no random picks: how many items are missed can
    /// then not be estimated.
    NoRandomPicks {
        /// The policy of the state.
        policy: Spec,
    },
    /// A minimum reward is compared with values that may not be calibrated. See
    /// [`State::is_calibrated`].
    NotCalibrated,
}

impl PickNote {
    /// Whether it is a warning, and not only information.
    pub fn is_warning(&self) -> bool {
        !matches!(self, PickNote::ObservedBefore | PickNote::NoRandomPicks { .. })
    }
}

impl fmt::Display for PickNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PickNote::ObservedBefore => {
                write!(f, "the state has observed these rows before, and does not count them again")
            }
            PickNote::OtherTime { at, asked } => write!(
                f,
                "the state has observed this round at time {at}, which stays: the time {asked} is ignored"
            ),
            PickNote::FewRows { k, rows } => {
                write!(f, "k = {k}, but there are only {rows} rows: all of them are picked")
            }
            PickNote::NoOrder { rows } => {
                write!(f, "all {rows} rows have the same value: the picks are random")
            }
            PickNote::SharedIds(items) => write!(
                f,
                "{} share their id with another row: a verdict counts for the first pick of them: {}",
                counted(items.count, "row"),
                items.first.join(", ")
            ),
            PickNote::NoRandomPicks { policy } => write!(
                f,
                "`{policy}` makes no random picks: verdicts on its picks cannot show how much was missed, nor how much there is in \
                 all rows. A policy with random checks can, such as `adaptive(audit=1,slots=5)` with five of them in every \
                 round. A state keeps its policy, so choose it now"
            ),
            PickNote::NotCalibrated => f.write_str(
                "not every row that the state has observed has a label, and the labelled ones may not be a random sample: its values \
                 rank rows, but may not be calibrated, so that rows may be above or below the minimum reward by mistake. \
                 Review a random sample to count them",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Roles;
    use jurybox::{Evaluators, Example, Jury};

    /// A state that has observed 40 items, and learnt from those `labels` items with the highest
    /// scores.
    fn taught(labels: usize) -> State {
        let mut state = State::from(Jury::new(&Spec::default(), Evaluators::new(["a"]).unwrap()).unwrap());
        let items: Vec<f64> = (0..40).map(f64::from).collect();
        state.jury.observe(&state.jury.scores(&items).unwrap(), 0).unwrap();
        for score in items.iter().rev().take(labels) {
            let example = Example { scores: &[*score], reward: f64::from(*score > 30.0), receipt: None };
            state.jury.learn(&[example], 0).unwrap();
        }
        state
    }

    /// Values are calibrated if all labels are known, but not if the labelled items were chosen.
    #[test]
    fn chosen_labels_are_not_calibrated() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hour.csv");
        std::fs::write(&path, "id,a\nx,39\ny,3\nz,35\n").unwrap();
        let table =
            Table::open(&[path], &Roles { key: Some("id".into()), ..Roles::default() }, true).unwrap();
        for (labels, calibrated) in [(10, false), (40, true)] {
            let options = PickOptions { k: 3, min_reward: Some(0.5), ..PickOptions::default() };
            let round = pick_rows(Some(&taught(labels)), &table, None, options).unwrap();
            assert_eq!(round.calibrated(), calibrated);
            assert_eq!(round.notes().contains(&PickNote::NotCalibrated), !calibrated);
            let plain = PickOptions { k: 3, ..PickOptions::default() };
            let round = pick_rows(Some(&taught(labels)), &table, None, plain).unwrap();
            assert!(!round.notes().contains(&PickNote::NotCalibrated));
        }
    }
}

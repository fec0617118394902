//! Picking as a whole: who is seated, what is picked, and what a person should know of it.
//!
//! One room for all who pick: the command, the Python package, and whoever comes next. What they have of their own stays with them: where
//! a state is kept and who may change it, where picks are written, and how things are said.

use crate::pick_round::{PickOptions, Picking, choose};
use crate::error::Error;
use crate::ranker::new_jury;
use crate::rank::tell_apart;
use crate::evaluator_change::{AllowedChange, EvaluatorChange, same_policy};
use crate::state::State;
use crate::table::Table;
use crate::join_verdicts::ItemList;
use jurybox::Spec;
use jurybox_draw::counted;
use std::fmt;

/// A round that was picked from: by [`pick_rows`].
#[derive(Debug, Clone)]
pub struct PickedRound {
    /// The state after it; as it was before where it was only to choose, but for one that was begun.
    pub state: State,
    /// The picks.
    pub picking: Picking,
    options: PickOptions,
    /// Whether it is the first round of the state.
    is_first: bool,
    calibrated: bool,
}

/// Picks from a table whose key is the id of its items, as [`choose`] does, by a state or by one that is begun.
///
/// A state is picked by with its own policy, another one is refused; and by its own evaluators. It is not changed: what the
/// picking makes of it is a new one, for whoever has handed over the picks.
///
/// ```
/// use jurybox_files::{PickOptions, Roles, Table, pick_rows};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("hour.csv");
/// std::fs::write(&path, "post,spam,abuse\np1,0.9,0.1\np2,0.2,0.3\np2,0.8,0.9\n")?;
/// let table = Table::open(&[path], &Roles { key: Some("post".into()), ..Roles::default() }, true)?;
/// let two = PickOptions { k: 2, ..PickOptions::default() };
/// let round = pick_rows(None, &table, Some(&"average".parse()?), two)?;
/// assert_eq!((round.picking.picks.len(), round.state.jury.seen().items), (2, 3));
/// let said: Vec<String> = round.notes().iter().map(ToString::to_string).collect();
/// assert_eq!(said[0], "2 rows share their id with another row: a verdict will go to the first pick of them: p2");
/// assert!(said[1].starts_with("`average` leaves nothing to chance"));
///
/// let again = pick_rows(Some(&round.state), &table, None, two)?;
/// assert_eq!(again.notes()[0].to_string(), "these rows were seen before, and are not counted again");
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
    /// Whether the values of the rows are calibrated: what the state that they were picked by had learnt says so.
    pub fn calibrated(&self) -> bool {
        self.calibrated
    }

    /// What a person should know of it.
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
            && !tell_apart(&picking.values)
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
        let is_by_lot = notes.iter().any(|note| matches!(note, PickNote::NoOrder { .. }));
        if self.is_first && !are_all_picked && !is_by_lot && !self.state.jury.fit().leaves_to_chance() {
            notes.push(PickNote::NoRandomPicks { policy: self.state.jury.spec().clone() });
        }
        notes
    }
}

/// Something to be told of picking, with words for it that know no flags and no keywords.
///
/// ```
/// let note = jurybox_files::PickNote::FewRows { k: 9, rows: 4 };
/// assert_eq!(note.to_string(), "k = 9 is more than there are rows (4): all of them are picked");
/// assert!(note.is_warning());
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PickNote {
    /// The items have been observed before.
    ObservedBefore,
    /// The state has seen the round at another time than was asked for.
    OtherTime {
        /// The time it has.
        at: u64,
        /// The one that was asked for.
        asked: u64,
    },
    /// More picks are asked for than there are rows.
    FewRows {
        /// How many.
        k: usize,
        /// How many rows there are.
        rows: u64,
    },
    /// All rows have the same value: the picks are as good as drawn by lot.
    NoOrder {
        /// How many rows there are.
        rows: u64,
    },
    /// Rows whose id another row has too, and the first such ids.
    SharedIds(ItemList),
    /// In the first round of a state: no row that is not picked could have been. Nothing will be
    /// known of what is missed.
    NoRandomPicks {
        /// The policy of the state.
        policy: Spec,
    },
    /// Values are held against what a row must be worth, and were learnt where not every row had a label: whether these were
    /// drawn at random is not known.
    NotCalibrated,
}

impl PickNote {
    /// Whether a person should think about it before going on.
    pub fn is_warning(&self) -> bool {
        !matches!(self, PickNote::ObservedBefore | PickNote::NoRandomPicks { .. })
    }
}

impl fmt::Display for PickNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PickNote::ObservedBefore => {
                write!(f, "these rows were seen before, and are not counted again")
            }
            PickNote::OtherTime { at, asked } => write!(
                f,
                "the state has seen this round at {at}, and there it stays: asking for {asked} changes nothing"
            ),
            PickNote::FewRows { k, rows } => {
                write!(f, "k = {k} is more than there are rows ({rows}): all of them are picked")
            }
            PickNote::NoOrder { rows } => {
                write!(f, "nothing tells the {rows} rows apart: which of them are picked is chance")
            }
            PickNote::SharedIds(items) => write!(
                f,
                "{} share their id with another row: a verdict will go to the first pick of them: {}",
                counted(items.count, "row"),
                items.first.join(", ")
            ),
            PickNote::NoRandomPicks { policy } => write!(
                f,
                "`{policy}` leaves nothing to chance: verdicts on its picks will not tell how much was missed, nor how much there is \
                 in all rows. A policy with random checks does, such as `adaptive(audit=1,slots=5)` with five of them in every round; a state keeps its policy, so begin with it"
            ),
            PickNote::NotCalibrated => f.write_str(
                "not every row that the state has seen has a label, and whether those were drawn at random is not known: its values \
                 rank, but may not be calibrated, and how many of these rows are worth as much is not known. Rows that are drawn at random and reviewed can be counted",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::Roles;
    use jurybox::{Evaluators, Example, Jury};

    /// A state that has seen 40 items, and labels of the first so many.
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

    /// What rows must be worth is held against values, which can be counted on where all labels are known, and not where some were
    /// chosen.
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

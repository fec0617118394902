//! What does a pass want of each row, and which column of a source is that?

use super::Table;
use crate::ask::{Ask, Use};
use crate::format::Source;
use crate::number::Notation;
use crate::roles::Found;
use jurybox::{Direction, Evaluator, Form};
use std::collections::HashMap;

/// What a pass needs besides the scores.
///
/// ```
/// let want = jurybox_files::Want { reward: true, ..jurybox_files::Want::default() };
/// assert!(!want.key);
/// ```
#[expect(clippy::struct_excessive_bools, reason = "each is one thing to read or not")]
#[derive(Debug, Clone, Copy, Default)]
pub struct Want<'a> {
    /// The rewards.
    pub reward: bool,
    /// The logged probabilities.
    pub probability: bool,
    /// The round or group of each row.
    pub key: bool,
    /// Who gave the verdict of each row.
    pub reviewer: bool,
    /// Which item each row is about, by the columns that are its [id](crate::Roles::id).
    pub ids: bool,
    /// The rows as they stand in their source.
    pub records: Records,
    /// Whether the scores of evaluators where low means high are to be negated on reading, for whoever knows nothing of
    /// directions; a jury does.
    pub upright: bool,
    /// How the values of rows add up over their scores, where they are wanted: cheapest while the scores are read. Not with
    /// `upright`.
    pub form: Option<&'a Form>,
}

/// Whether a pass keeps rows as they stand in their source.
///
/// ```
/// assert_eq!(jurybox_files::Records::default(), jurybox_files::Records::None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Records {
    /// Only the numbers and keys asked for.
    #[default]
    None,
    /// Rows that cannot be had again once they have gone by: those of text, and of a stream.
    Passing,
    /// Whole rows: the text, or every column.
    All,
}

impl Table {
    /// What each column of a source is for.
    pub(crate) fn ask(&self, source: &dyn Source, want: Want<'_>) -> Ask {
        let taken = &self.taken;
        let mut wanted: Vec<(&str, Use)> = Vec::new();
        let sign = |of: &Evaluator| if of.direction == Direction::Low { -1.0 } else { 1.0 };
        for (evaluator, found) in taken.evaluators.as_slice().iter().enumerate() {
            let sign = if want.upright { sign(found) } else { 1.0 };
            let what = match found.direction {
                Direction::Context => Use::Group { evaluator },
                Direction::High | Direction::Low => Use::Score { evaluator, sign },
            };
            wanted.push((&found.name, what));
        }
        if let Some(reward) = taken.reward.as_ref().filter(|_| want.reward) {
            wanted.push((&reward.name, Use::Reward { sign: sign(reward) }));
        }
        for (asked, column, what) in [
            (want.probability, &taken.probability, Use::Probability),
            (want.key, &taken.key, Use::Key),
            (want.reviewer, &taken.reviewer, Use::Reviewer),
        ] {
            wanted.extend(column.as_deref().filter(|_| asked).map(|column| (column, what)));
        }
        if want.ids {
            wanted.extend(taken.id.iter().map(|column| (column.as_str(), Use::Id)));
        }
        wanted.extend(taken.watched().map(|column| (column, Use::Watch)));
        let names: Vec<String> = source.columns().iter().map(|found| found.name.clone()).collect();
        let places: HashMap<&str, usize> = names.iter().enumerate().map(|(at, name)| (&**name, at)).collect();
        let mut uses = vec![Use::Skip; names.len()];
        let mut lacking = Vec::new();
        for (column, what) in wanted {
            let unread = matches!(what, Use::Score { .. } | Use::Group { .. }) && taken.is_unread(column);
            match places.get(column).copied().filter(|_| !unread) {
                // A column has one use; the evaluators come first.
                Some(at) if uses[at] == Use::Skip => uses[at] = what,
                Some(_) => {}
                None if what == Use::Watch => {}
                None => lacking.push(what),
            }
        }
        let records = match want.records {
            Records::None => false,
            Records::Passing => !source.by_number(),
            Records::All => true,
        };
        let rewards = taken.verdicts().map(Into::into);
        let form = want.form.filter(|_| !want.upright).cloned();
        let notation = |found: &Found| {
            let notation = self.notation.of_column(found);
            if taken.verdicts() == Some(&*found.name) {
                Notation { labels: taken.labels.clone(), ..notation }
            } else {
                notation
            }
        };
        let notations = source.columns().iter().map(notation).collect();
        Ask { uses, names, notations, evaluators: taken.evaluators.len(), rewards, records, lacking, form }
    }
}

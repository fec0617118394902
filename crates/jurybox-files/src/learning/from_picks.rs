//! Learning from the verdicts on picks. The verdicts are a column of the picks, or have a table of
//! their own.

use super::{LearnHost, LearnNotice, RowInput, notify_of_reviewers, reward};
use crate::cell_number::Decimal;
use crate::empty_files::split_empty_files;
use crate::error::Error;
use crate::join_verdicts::{JoinedVerdicts, join_verdicts};
use crate::own_columns::is_output_name;
use crate::read_options::ReadOptions;
use crate::roles::{Role, Roles};
use crate::state::State;
use crate::table::Table;
use crate::warning::Warning;
use jurybox::Direction;

/// Options for [`learn_verdicts`].
///
/// ```
/// use jurybox_files::VerdictOptions;
/// let how = VerdictOptions {
///     id: "post".into(),
///     reward: "verdict".into(),
///     ..VerdictOptions::default()
/// };
/// assert!(!how.together);
/// ```
#[derive(Debug, Clone, Default)]
pub struct VerdictOptions {
    /// The reading options for the verdicts.
    pub reading: ReadOptions,
    /// The column of ids by which verdicts are joined to picks.
    pub id: String,
    /// The column of verdicts.
    pub reward: String,
    /// Numbers for words in the column of verdicts.
    pub labels: Vec<(String, f64)>,
    /// The column of reviewers who gave the verdicts.
    pub reviewer: Option<String>,
    /// Has the name of the column of verdicts if low verdicts are good. Without it, the state's own
    /// direction is kept.
    pub invert: Vec<String>,
    /// Whether the verdicts are a column of the picks, so that both inputs are the same rows.
    pub together: bool,
    /// Whether verdicts that the state has learnt before count once more.
    pub again: bool,
}

/// The result of [`learn_verdicts`].
#[derive(Debug, Clone)]
pub struct VerdictResult {
    /// The state after learning.
    pub state: State,
    /// Counts of picks and verdicts.
    pub back: JoinedVerdicts,
}

impl VerdictResult {
    /// Notices about the result, to be shown at the end.
    pub fn notices(&self) -> Vec<LearnNotice> {
        let JoinedVerdicts { learnt_before, ignored_rewards, too_old, .. } = self.back;
        let policy = self.state.jury.spec().name().to_string();
        let counts = [
            (learnt_before, LearnNotice::LearntBefore { verdicts: learnt_before }),
            (ignored_rewards, LearnNotice::IgnoredPicks { policy, picks: ignored_rewards }),
            (too_old, LearnNotice::TooOld { verdicts: too_old }),
        ];
        let JoinedVerdicts { contradictory, unknown_items, picked_twice, known_ids, .. } = self.back.clone();
        let items = [
            (contradictory.count, LearnNotice::Contradictory(contradictory)),
            (unknown_items.count, LearnNotice::UnknownItems(unknown_items)),
            (picked_twice.count, LearnNotice::PickedTwice(picked_twice)),
            (known_ids.count, LearnNotice::ReusedIds(known_ids)),
        ];
        let some = counts.into_iter().chain(items).filter(|(count, _)| *count > 0);
        some.map(|(_, notice)| notice).chain(reward::out_of_range(&self.state)).collect()
    }
}

/// Learns the verdicts on picks, each once. Returns `None` if there are no verdicts yet.
///
/// Skips files without rows. With [`together`](VerdictOptions::together), also skips picks without
/// the column of verdicts. [`join_verdicts`] tells how verdicts and picks are joined.
///
/// ```
/// use jurybox_files::{
///     Format, PickOptions, Roles, RowInput, State, Table, VerdictOptions, choose,
///     learn_verdicts,
/// };
///
/// let dir = tempfile::tempdir()?;
/// let path = |name: &str| dir.path().join(name);
/// std::fs::write(path("hour.csv"), "post,spam,abuse\np1,0.9,0.1\np2,0.2,0.3\np3,0.8,0.9\n")?;
/// std::fs::write(path("verdicts.csv"), "post,verdict\np3,1\n")?;
/// let hour = Table::open(
///     &[path("hour.csv")],
///     &Roles { key: Some("post".into()), ..Roles::default() },
///     true,
/// )?;
/// let mut state =
///     State::from(jurybox_files::new_jury(&"lin-ucb".parse()?, hour.roles().evaluators())?);
/// choose(&hour, &mut state, PickOptions { k: 2, ..PickOptions::default() })?.write(
///     &hour,
///     &path("picks.csv"),
///     Format::Csv,
///     false,
/// )?;
///
/// let how = VerdictOptions {
///     id: "post".into(),
///     reward: "verdict".into(),
///     ..VerdictOptions::default()
/// };
/// let (picks, verdicts) = (
///     RowInput::Files(vec![path("picks.csv")]),
///     RowInput::Files(vec![path("verdicts.csv")]),
/// );
/// let returned =
///     learn_verdicts(&state, picks, verdicts, &how, &mut ())?.expect("there is a verdict");
/// assert_eq!((returned.back.used, returned.state.jury.seen().used), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn learn_verdicts(
    before: &State,
    picks: RowInput<'_>,
    verdicts: RowInput<'_>,
    how: &VerdictOptions,
    host: &mut dyn LearnHost,
) -> Result<Option<VerdictResult>, Error> {
    let reward = reward::directed(&how.reward, &how.invert, Some(before))?;
    let evaluators = before.jury.evaluators();
    if how.together && (is_output_name(&reward.name) || evaluators.names().any(|known| known == reward.name))
    {
        return Err(Error::NotAVerdict { column: reward.name });
    }
    // The scores of picks are in Jurybox's own notation: the reading options are for the verdicts.
    let pick_reading = if how.together {
        ReadOptions { decimal: Decimal::default(), na: Vec::new(), ..how.reading.clone() }
    } else {
        ReadOptions::default()
    };
    let key = || Some(how.id.clone());
    let of_picks = Roles {
        key: key(),
        key_role: Role::Id,
        learnt_evaluators: evaluators.as_slice().to_vec(),
        ..Roles::default()
    };
    // Picking from a file without rows gives a file without rows, and so no verdicts.
    let picks = match picks {
        RowInput::Files(paths) => {
            let (filled, empty) = split_empty_files(paths, &pick_reading);
            if filled.is_empty() && !empty.is_empty() {
                host.notify(LearnNotice::NoVerdicts);
                return Ok(None);
            }
            RowInput::Files(filled)
        }
        other => other,
    };
    let picks = host.prepare(picks.open(&pick_reading, &of_picks)?, is_shown);
    for warning in picks.warnings().iter().filter(|warning| is_shown(warning)) {
        host.notify(LearnNotice::Warning(warning.clone()));
    }
    let roles = Roles {
        key: key(),
        key_role: Role::Id,
        reviewer: how.reviewer.clone(),
        evaluators: vec![reward.name.clone()],
        labels: how.labels.clone(),
        verdicts: true,
        invert: (reward.direction == Direction::Low).then(|| reward.name.clone()).into_iter().collect(),
        ..Roles::default()
    };
    let Some(verdicts) = open_verdicts(verdicts, &roles, how)? else {
        host.notify(LearnNotice::NoVerdicts);
        return Ok(None);
    };
    let verdicts = host.prepare(verdicts, |_| true);
    verdicts.warnings().iter().for_each(|warning| host.notify(LearnNotice::Warning(warning.clone())));
    notify_of_reviewers(&before.jury, how.reviewer.as_deref(), host);
    let mut state = before.clone();
    let back = join_verdicts(&mut state, &picks, &verdicts, how.again)?;
    reward::remember(&mut state, &reward, back.range, host);
    Ok(Some(VerdictResult { state, back }))
}

impl RowInput<'_> {
    /// Opens the input as a table that is read once.
    fn open(self, reading: &ReadOptions, roles: &Roles) -> Result<Table, Error> {
        match self {
            RowInput::Files(paths) => Table::open_as(&paths, reading, roles, false),
            RowInput::Once(open) => open(reading, roles, false),
            RowInput::Again(open) => open(reading, roles, false),
        }
    }
}

/// Whether a warning about picks is shown. Warnings about evaluators without scores are not: these
/// evaluators were reported when the picks were made, or were added later.
fn is_shown(warning: &Warning) -> bool {
    !["missing-column", "no-values"].contains(&warning.code())
}

/// The table of verdicts, or `None` if there are none yet.
fn open_verdicts(
    verdicts: RowInput<'_>,
    roles: &Roles,
    how: &VerdictOptions,
) -> Result<Option<Table>, Error> {
    let mut paths = match verdicts {
        RowInput::Files(paths) => paths,
        once @ (RowInput::Once(_) | RowInput::Again(_)) => {
            return match once.open(&how.reading, roles) {
                Err(Error::NoRows { .. }) => Ok(None),
                opened => opened.map(Some),
            };
        }
    };
    while !paths.is_empty() {
        let without = match Table::open_as(&paths, &how.reading, roles, false) {
            // A file without rows holds no verdicts yet.
            Err(Error::NoRows { path, .. } | Error::Empty { path }) if paths.contains(&path) => path,
            // A file of picks that nobody has reviewed lacks the column of verdicts. Another file
            // may have it.
            Err(Error::NoneOfTheEvaluators { path, .. }) if how.together && paths.contains(&path) => path,
            Err(Error::NoneOfTheEvaluators { path, .. }) => {
                return Err(Error::NoVerdictColumn { path, column: how.reward.clone() });
            }
            opened => return opened.map(Some),
        };
        paths.retain(|path| *path != without);
    }
    Ok(None)
}

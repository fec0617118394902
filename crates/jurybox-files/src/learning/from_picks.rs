//! Verdicts that come back on picks, in the same files or in others.

use super::{RowInput, LearnHost, LearnNotice, reward, notify_of_reviewers};
use crate::error::Error;
use crate::cell_number::Decimal;
use crate::own_columns::is_output_name;
use crate::empty_files::split_empty_files;
use crate::read_options::ReadOptions;
use crate::roles::Roles;
use crate::state::State;
use crate::table::Table;
use crate::join_verdicts::{JoinedVerdicts, join_verdicts};
use crate::warning::Warning;
use jurybox::Direction;

/// How verdicts are joined to picks.
///
/// ```
/// use jurybox_files::VerdictOptions;
/// let how = VerdictOptions { id: "post".into(), reward: "verdict".into(), ..VerdictOptions::default() };
/// assert!(!how.together);
/// ```
#[derive(Debug, Clone, Default)]
pub struct VerdictOptions {
    /// How the verdicts are written.
    pub reading: ReadOptions,
    /// The column of ids, by which they are joined.
    pub id: String,
    /// The column of verdicts.
    pub reward: String,
    /// What words in it are worth.
    pub labels: Vec<(String, f64)>,
    /// The column beside it that says who gave them.
    pub reviewer: Option<String>,
    /// Columns where low means high, as somebody said; a state remembers the direction of its reward.
    pub invert: Vec<String>,
    /// Whether the verdicts are a column of the picks themselves: they are the same rows, given twice.
    pub together: bool,
    /// Whether to learn also what the state has learnt already.
    pub again: bool,
}

/// What became of verdicts that came back: by [`learn_verdicts`].
#[derive(Debug, Clone)]
pub struct VerdictResult {
    /// The state after it.
    pub state: State,
    /// What became of them.
    pub back: JoinedVerdicts,
}

impl VerdictResult {
    /// What a person should know of it, now that it is over.
    pub fn notices(&self) -> Vec<LearnNotice> {
        let JoinedVerdicts { learnt_before, ignored_rewards: passed_over, too_old: forgotten, .. } = self.back;
        let policy = self.state.jury.spec().name().to_string();
        let counts = [
            (learnt_before, LearnNotice::LearntBefore { verdicts: learnt_before }),
            (passed_over, LearnNotice::IgnoredPicks { policy, picks: passed_over }),
            (forgotten, LearnNotice::TooOld { verdicts: forgotten }),
        ];
        let JoinedVerdicts { contradictory, unknown_items, picked_twice, known_ids, .. } = self.back.clone();
        let items = [
            (contradictory.count, LearnNotice::Contradictory(contradictory)),
            (unknown_items.count, LearnNotice::UnknownItems(unknown_items)),
            (picked_twice.count, LearnNotice::PickedTwice(picked_twice)),
            (known_ids.count, LearnNotice::ReusedIds(known_ids)),
        ];
        let some = counts.into_iter().chain(items).filter(|(count, _)| *count > 0);
        some.map(|(_, told)| told).chain(reward::outside(&self.state)).collect()
    }
}

/// Learns the verdicts on picks, each once; none where nobody has given one yet.
///
/// Files without rows are passed over: a desk that was quiet this hour sends one. So are, where verdicts are a column of the picks,
/// files of picks that nobody has written a verdict into. See [`join_verdicts`] for how they are joined. After an error nothing has changed.
///
/// ```
/// use jurybox_files::{Format, RowInput, VerdictOptions, PickOptions, Roles, State, Table, choose, learn_verdicts};
///
/// let dir = tempfile::tempdir()?;
/// let path = |name: &str| dir.path().join(name);
/// std::fs::write(path("hour.csv"), "post,spam,abuse\np1,0.9,0.1\np2,0.2,0.3\np3,0.8,0.9\n")?;
/// std::fs::write(path("verdicts.csv"), "post,verdict\np3,1\n")?;
/// let hour = Table::open(&[path("hour.csv")], &Roles { key: Some("post".into()), ..Roles::default() }, true)?;
/// let mut state = State::from(jurybox_files::new_jury(&"lin-ucb".parse()?, hour.roles().evaluators())?);
/// choose(&hour, &mut state, PickOptions { k: 2, ..PickOptions::default() })?.write(&hour, &path("picks.csv"), Format::Csv, false)?;
///
/// let how = VerdictOptions { id: "post".into(), reward: "verdict".into(), ..VerdictOptions::default() };
/// let (picks, verdicts) = (RowInput::Files(vec![path("picks.csv")]), RowInput::Files(vec![path("verdicts.csv")]));
/// let returned = learn_verdicts(&state, picks, verdicts, &how, &mut ())?.expect("there is a verdict");
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
    if how.together && (is_output_name(&reward.name) || evaluators.names().any(|known| known == reward.name)) {
        return Err(Error::NotAVerdict { column: reward.name });
    }
    // What a person says of how numbers are written is about theirs: the scores of picks are as we wrote them.
    let ours = if how.together {
        ReadOptions { decimal: Decimal::default(), na: Vec::new(), ..how.reading.clone() }
    } else {
        ReadOptions::default()
    };
    let key = || Some(how.id.clone());
    let of_picks = Roles { key: key(), learnt_evaluators: evaluators.as_slice().to_vec(), ..Roles::default() };
    // An hour without rows has picks without rows.
    let picks = match picks {
        RowInput::Files(paths) => {
            let (busy, quiet) = split_empty_files(paths, &ours);
            if busy.is_empty() && !quiet.is_empty() {
                host.notify(LearnNotice::NoVerdicts);
                return Ok(None);
            }
            RowInput::Files(busy)
        }
        other => other,
    };
    let picks = host.prepare(picks.open(&ours, &of_picks)?, worth_telling);
    for warning in picks.warnings().iter().filter(|warning| worth_telling(warning)) {
        host.notify(LearnNotice::Warning(warning.clone()));
    }
    let roles = Roles {
        key: key(),
        reviewer: how.reviewer.clone(),
        evaluators: vec![reward.name.clone()],
        labels: how.labels.clone(),
        verdicts: true,
        invert: (reward.direction == Direction::Low).then(|| reward.name.clone()).into_iter().collect(),
        ..Roles::default()
    };
    let Some(verdicts) = given_yet(verdicts, &roles, how)? else {
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
    /// Opens them, to be read once.
    fn open(self, reading: &ReadOptions, roles: &Roles) -> Result<Table, Error> {
        match self {
            RowInput::Files(paths) => Table::open_as(&paths, reading, roles, false),
            RowInput::Once(open) => open(reading, roles, false),
            RowInput::Again(open) => open(reading, roles, false),
        }
    }
}

/// What is worth telling of picks. Which evaluators had no scores for them was said when they were picked, and one that joined since
/// cannot have any: a desk that learns every hour would be told of it every hour.
fn worth_telling(warning: &Warning) -> bool {
    !["missing-column", "no-values"].contains(&warning.code())
}

/// The verdicts; none where nobody has given one.
fn given_yet(verdicts: RowInput<'_>, roles: &Roles, how: &VerdictOptions) -> Result<Option<Table>, Error> {
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
            // A desk that was quiet this hour sends a file without rows.
            Err(Error::NoRows { path, .. } | Error::Empty { path }) if paths.contains(&path) => path,
            // Picks that people have not written a verdict into have no column for it: another file has it.
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

//! Learning a state from rows with rewards, or from the verdicts on picks.
//!
//! The command line and the Python package share this code. It finds the files and rows that are
//! new, and checks the reward and the evaluators against the state. It records what it learnt, so
//! that known files, and known rows with ids, do not count twice. Callers keep the state file and
//! show the messages.
//!
//! | input | |
//! |---|---|
//! | [`State`] | learnt before, or `None`; it is not changed |
//! | [`RowInput`] | the rows: files, a stream, or a table in memory |
//! | [`LearnOptions`], [`VerdictOptions`] | roles of columns, policy, time, evaluators to drop |
//! | [`LearnHost`] | prepares each table before it is read, and receives notices |
//!
//! The result is a new state with counts ([`LearnResult`], [`VerdictResult`]), or `None` if nothing
//! was new. Messages are [`LearnNotice`]s. The host receives them as they arise; those about the
//! result are returned by [`LearnResult::notices`] and [`VerdictResult::notices`].

mod from_picks;
mod new_rows;
mod notice;
mod reward;

pub use from_picks::{VerdictOptions, VerdictResult, learn_verdicts};
pub use notice::LearnNotice;

use crate::empty_files::{EmptyFile, split_empty_files};
use crate::error::Error;
use crate::evaluator_change::{AllowedChange, EvaluatorChange, same_policy, without_forgotten};
use crate::join_verdicts::ItemList;
use crate::ranker::new_jury;
use crate::read_options::ReadOptions;
use crate::roles::Roles;
use crate::state::State;
use crate::table::Table;
use crate::teach::{LearnCounts, teach_except};
use crate::warning::Warning;
use jurybox::{Direction, Evaluator, Jury, Spec};
use new_rows::{LearntNames, NewFiles, NewRows};
use std::collections::HashSet;
use std::path::PathBuf;

/// Callback that opens a table once. Its arguments are the reading options, the roles of columns,
/// and whether the rows will be read a second time.
pub type OpenOnce<'a> = Box<dyn FnOnce(&ReadOptions, &Roles, bool) -> Result<Table, Error> + 'a>;

/// Callback that opens a table any number of times, with the arguments of [`OpenOnce`].
///
/// ```
/// use arrow_array::{ArrayRef, Float64Array, RecordBatch};
/// use jurybox_files::{LearnOptions, OpenAgain, RowInput, Table, learn_rows};
/// use std::sync::Arc;
///
/// let spam: ArrayRef = Arc::new(Float64Array::from_iter_values([0.9, 0.2]));
/// let batch = RecordBatch::try_from_iter([("spam", spam)])?;
/// let open: OpenAgain<'_> = Box::new(move |reading, roles, _again| {
///     Table::from_batches_as(vec![batch.clone()], reading, roles)
/// });
/// let lesson = learn_rows(None, RowInput::Again(open), &LearnOptions::default(), &mut ())?
///     .expect("the rows are new");
/// assert_eq!(lesson.state.jury.seen().items, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type OpenAgain<'a> = Box<dyn Fn(&ReadOptions, &Roles, bool) -> Result<Table, Error> + 'a>;

/// Rows to learn from.
///
/// ```
/// use jurybox_files::{RowInput, Table};
///
/// let files = RowInput::Files(vec!["monday.csv".into(), "-".into()]);
/// // A table in memory, opened when it is known which of its columns are needed.
/// let frame = RowInput::Once(Box::new(|reading, roles, _again| {
///     Table::from_batches_as(Vec::new(), reading, roles)
/// }));
/// # drop((files, frame));
/// ```
pub enum RowInput<'a> {
    /// Files and pipes. They are recognised when they come again.
    Files(Vec<PathBuf>),
    /// Rows of a stream, which are not recognised when they come again.
    Once(OpenOnce<'a>),
    /// Rows in memory. They are recognised when they come again if exactly one column holds ids.
    Again(OpenAgain<'a>),
}

/// The caller's side of learning: it prepares tables and receives notices. `()` does neither.
///
/// ```
/// use jurybox_files::{
///     LearnHost, LearnNotice, LearnOptions, RowInput, Table, Warning, learn_rows,
/// };
///
/// struct Log(Vec<String>);
///
/// impl LearnHost for Log {
///     fn prepare(&self, table: Table, _shown: fn(&Warning) -> bool) -> Table {
///         table.with_threads(2)
///     }
///     fn notify(&mut self, notice: LearnNotice) {
///         self.0.push(notice.to_string());
///     }
/// }
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("monday.csv");
/// std::fs::write(&path, "spam,abuse\n0.9,0.1\n0.2,0.3\n")?;
/// let mut log = Log(Vec::new());
/// learn_rows(None, RowInput::Files(vec![path]), &LearnOptions::default(), &mut log)?;
/// assert_eq!(log.0, ["Scores: spam, abuse."]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LearnHost {
    /// Prepares a table before it is read, for example by setting its threads and progress. Only
    /// [warnings](Table::on_warning) for which `shown` returns true are to be shown.
    fn prepare(&self, table: Table, shown: fn(&Warning) -> bool) -> Table;

    /// Receives a notice. Notices come in the order in which they arise.
    fn notify(&mut self, notice: LearnNotice);
}

impl LearnHost for () {
    fn prepare(&self, table: Table, _shown: fn(&Warning) -> bool) -> Table {
        table
    }

    fn notify(&mut self, _notice: LearnNotice) {}
}

/// Options for [`learn_rows`].
///
/// ```
/// use jurybox_files::{LearnOptions, Roles};
/// let how = LearnOptions {
///     roles: Roles { reward: Some("verdict".into()), ..Roles::default() },
///     ..LearnOptions::default()
/// };
/// assert!(!how.again);
/// ```
#[derive(Debug, Clone, Default)]
pub struct LearnOptions {
    /// The reading options for the rows.
    pub reading: ReadOptions,
    /// Roles of columns. The key is the round of each row; without a key, each file is a round. The
    /// values of `learnt_evaluators` and `learnt_reward` are replaced by those of the state.
    pub roles: Roles,
    /// The policy. `None`: that of the state, or the default policy without a state.
    pub policy: Option<Spec>,
    /// The time of the first round. `None`: one after the latest round of the state, or 0.
    pub at: Option<u64>,
    /// Evaluators to drop from the state.
    pub drop: Vec<String>,
    /// Whether rows that the state has learnt before count once more.
    pub again: bool,
}

/// The result of [`learn_rows`].
#[derive(Debug, Clone)]
pub struct LearnResult {
    /// The state after learning.
    pub state: State,
    /// Counts of rows, rounds and rewards.
    pub taught: LearnCounts,
}

impl LearnResult {
    /// Notices about the result, to be shown at the end.
    ///
    /// ```
    /// # use jurybox_files::{LearnNotice, LearnOptions, Roles, RowInput, learn_rows};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("week.csv");
    /// std::fs::write(&path, "day,spam,abuse\nmon,0.9,0.1\ntue,0.2,0.3\nmon,0.8,0.1\n")?;
    /// let how = LearnOptions {
    ///     roles: Roles { key: Some("day".into()), ..Roles::default() },
    ///     ..LearnOptions::default()
    /// };
    /// let lesson = learn_rows(None, RowInput::Files(vec![path]), &how, &mut ())?
    ///     .expect("the rows are new");
    /// assert!(matches!(lesson.notices()[0], LearnNotice::ReopenedRounds { rounds: 1 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn notices(&self) -> Vec<LearnNotice> {
        let LearnCounts { reopened_rounds: rounds, ignored_rewards: rewards, learnt_before, .. } =
            self.taught;
        let policy = || self.state.jury.spec().name().to_string();
        let mut notices = Vec::new();
        if learnt_before > 0 {
            notices.push(LearnNotice::LearntVerdicts { rows: learnt_before });
        }
        if self.taught.known_ids.count > 0 {
            notices.push(LearnNotice::ReusedIds(self.taught.known_ids.clone()));
        }
        if rounds > 0 {
            notices.push(LearnNotice::ReopenedRounds { rounds });
        }
        if rewards > 0 {
            notices.push(LearnNotice::MissingReceipts { policy: policy(), rewards });
        }
        notices.extend(reward::out_of_range(&self.state));
        notices
    }
}

/// Ids are taken to be reused for new items if at least this many rows have a known id, but other
/// scores or another verdict, and if they are more than one per [`ONE_IN`] unchanged rows that were
/// learnt before. Otherwise such rows are taken to be corrections.
const FEW_CORRECTED: u64 = 3;
/// Minimum number of unchanged rows per corrected row; see [`FEW_CORRECTED`].
const ONE_IN: u64 = 50;

/// Learns from rows. Returns `None` if all of the input is skipped.
///
/// Skips files without rows, and files with the same bytes as a learnt one, whatever their name or
/// compression. If exactly one column holds ids, files and tables in memory with the same rows as a
/// learnt one are skipped too, in any order and format. Files over 64 MiB are compared by their
/// bytes only.
///
/// In other tables with one column of ids, single rows are skipped if the same id, scores, reward
/// and reviewer were learnt before. Rows with only a known id count, and are reported. If
/// there are many of them, the ids are taken to be reused for new items, and every row counts. Rows
/// without a verdict are not remembered, and count each time.
///
/// Errors on files and tables in memory from which the state is known to have picked: learn the
/// verdicts [with the picks](learn_verdicts). With [`again`](LearnOptions::again) no row is
/// compared with what the state knows.
///
/// ```
/// use jurybox_files::{LearnOptions, Roles, RowInput, learn_rows};
///
/// let dir = tempfile::tempdir()?;
/// let file = |name: &str| RowInput::Files(vec![dir.path().join(name)]);
/// std::fs::write(
///     dir.path().join("monday.csv"),
///     "post,spam,abuse,verdict\np1,0.9,0.1,1\np2,0.2,0.3,0\n",
/// )?;
/// std::fs::write(
///     dir.path().join("sorted.csv"),
///     "post,spam,abuse,verdict\np2,0.2,0.3,0\np1,0.9,0.1,1\n",
/// )?;
/// let how = LearnOptions {
///     roles: Roles {
///         id: vec!["post".into()],
///         reward: Some("verdict".into()),
///         ..Roles::default()
///     },
///     policy: Some("lin-ucb".parse()?),
///     ..LearnOptions::default()
/// };
/// let lesson =
///     learn_rows(None, file("monday.csv"), &how, &mut ())?.expect("the rows are new");
/// assert_eq!((lesson.taught.used, lesson.state.jury.seen().used), (2, 2));
/// assert!(learn_rows(Some(&lesson.state), file("sorted.csv"), &how, &mut ())?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn learn_rows(
    before: Option<&State>,
    given: RowInput<'_>,
    how: &LearnOptions,
    host: &mut dyn LearnHost,
) -> Result<Option<LearnResult>, Error> {
    if let (Some(before), Some(asked)) = (before, &how.policy) {
        same_policy(&before.jury, asked)?;
    }
    let mut roles = how.roles.clone();
    let reward = roles.reward.as_deref().map(|name| reward::directed(name, &roles.invert, before));
    let reward = reward.transpose()?;
    if let Some(reward) = reward.as_ref().filter(|reward| reward.direction == Direction::Low)
        && !roles.invert.contains(&reward.name)
    {
        roles.invert.push(reward.name.clone());
    }
    roles.learnt_reward = before.and_then(|state| state.memory.reward()).map(|reward| reward.name);
    let known = before.map_or(&[][..], |state| state.jury.evaluators().as_slice());
    // Evaluators that the caller names replace those of the state, but its contexts stay.
    if !roles.evaluators.is_empty() {
        let left_out = |one: &&Evaluator| {
            let named = [&roles.evaluators, &roles.context, &how.drop];
            one.direction == Direction::Context && !named.iter().any(|names| names.contains(&one.name))
        };
        let contexts: Vec<String> = known.iter().filter(left_out).map(|one| one.name.clone()).collect();
        roles.context.extend(contexts);
    }
    let (table, new) = match given {
        RowInput::Once(open) => {
            roles.learnt_evaluators = without_forgotten(known, &how.drop, &roles.evaluators)?;
            (open(&how.reading, &roles, false)?, NewInput::Unnamed)
        }
        RowInput::Again(open) => {
            let Some(new) = NewRows::of(open, before, how, &roles, host)? else { return Ok(None) };
            roles.learnt_evaluators = without_forgotten(known, &how.drop, &roles.evaluators)?;
            (new.open(how, &roles)?, NewInput::Rows(new))
        }
        RowInput::Files(paths) => {
            let named = !paths.is_empty();
            let (paths, empty) = split_empty_files(paths, &how.reading);
            empty.into_iter().for_each(|EmptyFile { path, .. }| host.notify(LearnNotice::EmptyFile { path }));
            let mut new = NewFiles::of(paths, before, how, &roles, host)?;
            let sources = new.open(before, how, host)?;
            if sources.is_empty() && named {
                return Ok(None);
            }
            // Only now, because an evaluator that was dropped before is an error here. A repeated
            // run, whose files are all known, has returned above.
            roles.learnt_evaluators = without_forgotten(known, &how.drop, &roles.evaluators)?;
            (Table::over(sources, new.paths(), &how.reading, &roles)?, NewInput::Files(new))
        }
    };
    let table = host.prepare(table, |_| true);
    host.notify(LearnNotice::Columns(table.roles().clone()));
    if roles.id.is_empty() && !how.again && before.is_some_and(|state| state.memory.knows_rounds()) {
        host.notify(LearnNotice::MissingIds);
    }
    table.warnings().iter().for_each(|warning| host.notify(LearnNotice::Warning(warning.clone())));
    if let Some(column) = table.receipts_of_picks() {
        return Err(Error::UnexpectedPicks { path: table.path().into(), column });
    }
    let mut state = state_to_teach(before, &table, how, host)?;
    notify_of_reviewers(&state.jury, table.roles().reviewer(), host);
    let first = how.at.unwrap_or(state.jury.seen().next_time());
    let (mut known, mut known_ids) = new.known();
    let same: usize = known.iter().map(HashSet::len).sum();
    if known_ids.count >= FEW_CORRECTED && known_ids.count * ONE_IN > same as u64 {
        // The ids are reused for new items, so rows equal to learnt ones are new items as well.
        known = Vec::new();
        known_ids.count += same as u64;
    }
    let mut taught = teach_except(&table, &mut state.jury, first, &known)?;
    taught.known_ids = known_ids;
    let evaluators = state.jury.evaluators();
    let LearntNames { tables, verdicts } = match new {
        NewInput::Files(files) => files.names(evaluators, &roles, how, host),
        NewInput::Rows(rows) => rows.names(evaluators, &roles, how, host),
        NewInput::Unnamed => LearntNames::default(),
    };
    tables.into_iter().for_each(|name| state.memory.learnt_file(name));
    // If the policy used none of these rewards, they are not remembered, because it may still learn
    // them with the picks' receipts.
    if taught.used > 0 {
        state.memory.learnt_verdicts_of_table(&verdicts);
    }
    if let Some(reward) = &reward {
        reward::remember(&mut state, reward, taught.range, host);
        reward::notify_leakage(&state.jury, reward, &taught, host);
    }
    Ok(Some(LearnResult { state, taught }))
}

/// Reports that the policy does not use a column of reviewers, if there is one.
fn notify_of_reviewers(jury: &Jury, column: Option<&str>, host: &mut dyn LearnHost) {
    if let Some(column) = column.filter(|_| !jury.tells_reviewers_apart()) {
        let policy = jury.spec().name().to_string();
        host.notify(LearnNotice::ReviewersIgnored { policy, column: column.into() });
    }
}

/// The rows to learn from, with the fingerprints by which the state will remember them.
enum NewInput<'a> {
    Files(NewFiles),
    Rows(NewRows<'a>),
    /// A stream, which has no fingerprint.
    Unnamed,
}

impl NewInput<'_> {
    /// For each source, the numbers of the rows that were learnt before. Also, over all sources,
    /// the rows with only a known id.
    fn known(&self) -> (Vec<HashSet<u64>>, ItemList) {
        match self {
            NewInput::Files(files) => files.known(),
            NewInput::Rows(rows) => rows.known(),
            NewInput::Unnamed => (Vec::new(), ItemList::default()),
        }
    }
}

/// The state to teach: a copy of `before` with the evaluators of the table, or a new state.
fn state_to_teach(
    before: Option<&State>,
    table: &Table,
    how: &LearnOptions,
    host: &mut dyn LearnHost,
) -> Result<State, Error> {
    let evaluators = table.roles().evaluators();
    let Some(before) = before else {
        let mut state = State::from(new_jury(&how.policy.clone().unwrap_or_default(), evaluators)?);
        state.memory.evaluators_by_rule(table.roles().by_rule);
        return Ok(state);
    };
    let mut state = before.clone();
    if !how.roles.evaluators.is_empty() {
        state.memory.evaluators_by_rule(false);
    }
    let change =
        EvaluatorChange::apply(&mut state.jury, evaluators, AllowedChange::Replace { forget: &how.drop })?;
    change.added.into_iter().for_each(|evaluator| host.notify(LearnNotice::EvaluatorAdded { evaluator }));
    change.removed.into_iter().for_each(|evaluator| host.notify(LearnNotice::EvaluatorRemoved { evaluator }));
    Ok(state)
}

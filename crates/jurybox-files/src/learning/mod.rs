//! Learning as a whole: from rows and their rewards, or from the verdicts that come back on picks.
//!
//! One room for all who learn: the command, the Python package, and whoever comes next. What they have in common is here: which files are
//! new (by their bytes, and by their rows), which way the reward points, who is seated, what is remembered so that nothing counts
//! twice. What they have of their own stays with them: where a state is kept and who may change it, and how things are said.
//!
//! | comes in | |
//! |---|---|
//! | a [`State`], or none | it is not changed: what is learnt is a new one |
//! | [`RowInput`] | the rows: files, or a table that can be had once and has no file |
//! | [`LearnOptions`], [`VerdictOptions`] | how they are written, which column is what, policy, time, who is forgotten, whether to count again |
//! | a [`LearnHost`] | takes every table in hand that is opened, and is told things when they are known |
//!
//! Out come the new state with what was learnt ([`LearnResult`], [`VerdictResult`]), or nothing where nothing was new. What a person should know
//! is [`LearnNotice`] as it is found, as data with words for it; what is known only at the end is in their `remarks`.

mod new_rows;
mod from_picks;
mod reward;
mod notice;

pub use from_picks::{VerdictOptions, VerdictResult, learn_verdicts};
pub use notice::LearnNotice;

use crate::error::Error;
use crate::ranker::new_jury;
use crate::empty_files::{EmptyFile, split_empty_files};
use crate::read_options::ReadOptions;
use crate::roles::Roles;
use crate::evaluator_change::{AllowedChange, EvaluatorChange, without_forgotten, same_policy};
use crate::state::State;
use crate::table::Table;
use crate::teach::{LearnCounts, teach_except};
use crate::join_verdicts::ItemList;
use crate::warning::Warning;
use jurybox::{Direction, Evaluator, Jury, Spec};
use new_rows::{LearntNames, NewFiles, NewRows};
use std::collections::HashSet;
use std::path::PathBuf;

/// Opens a table that can be opened once: it is told how the rows are written, which column is what, and whether they are read again.
pub type OpenOnce<'a> = Box<dyn FnOnce(&ReadOptions, &Roles, bool) -> Result<Table, Error> + 'a>;

/// Opens a table as often as it is asked to, in the same way.
///
/// ```
/// use arrow_array::{ArrayRef, Float64Array, RecordBatch};
/// use jurybox_files::{RowInput, LearnOptions, OpenAgain, Table, learn_rows};
/// use std::sync::Arc;
///
/// let spam: ArrayRef = Arc::new(Float64Array::from_iter_values([0.9, 0.2]));
/// let batch = RecordBatch::try_from_iter([("spam", spam)])?;
/// let open: OpenAgain<'_> = Box::new(move |reading, roles, _again| Table::from_batches_as(vec![batch.clone()], reading, roles));
/// let lesson = learn_rows(None, RowInput::Again(open), &LearnOptions::default(), &mut ())?.expect("nothing was known");
/// assert_eq!(lesson.state.jury.seen().items, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type OpenAgain<'a> = Box<dyn Fn(&ReadOptions, &Roles, bool) -> Result<Table, Error> + 'a>;

/// Rows, as they are given.
///
/// ```
/// use jurybox_files::{RowInput, Table};
///
/// let files = RowInput::Files(vec!["monday.csv".into(), "-".into()]);
/// // A table of one's own, opened when it is known which of its columns are needed.
/// let frame = RowInput::Once(Box::new(|reading, roles, _again| Table::from_batches_as(Vec::new(), reading, roles)));
/// # drop((files, frame));
/// ```
pub enum RowInput<'a> {
    /// Files, pipes among them: each is known again.
    Files(Vec<PathBuf>),
    /// Rows that have no file and can be had once, and so are not known again: a stream.
    Once(OpenOnce<'a>),
    /// Rows that have no file and can be had again, because they are in memory: those that have one column of ids are known again.
    Again(OpenAgain<'a>),
}

/// Whoever has something learnt.
///
/// `()` is one that shows nothing and listens to nothing.
///
/// ```
/// use jurybox_files::{RowInput, LearnHost, LearnOptions, Table, LearnNotice, Warning, learn_rows};
///
/// struct Log(Vec<String>);
///
/// impl LearnHost for Log {
///     fn prepare(&self, table: Table, _worth: fn(&Warning) -> bool) -> Table {
///         table.with_threads(2)
///     }
///     fn notify(&mut self, notice: LearnNotice) {
///         self.0.push(told.to_string());
///     }
/// }
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("monday.csv");
/// std::fs::write(&path, "spam,abuse\n0.9,0.1\n0.2,0.3\n")?;
/// let mut log = Log(Vec::new());
/// learn_rows(None, RowInput::Files(vec![path]), &LearnOptions::default(), &mut log)?;
/// assert_eq!(log.0, ["evaluators: spam, abuse"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LearnHost {
    /// Takes a table in hand before it is read: how many threads, who watches it and may stop it, and who
    /// [hears](Table::heard) of it what is worth telling.
    fn prepare(&self, table: Table, worth: fn(&Warning) -> bool) -> Table;

    /// Is told something, in the order in which it is found.
    fn notify(&mut self, notice: LearnNotice);
}

impl LearnHost for () {
    fn prepare(&self, table: Table, _worth: fn(&Warning) -> bool) -> Table {
        table
    }

    fn notify(&mut self, _notice: LearnNotice) {}
}

/// How to learn from rows.
///
/// ```
/// use jurybox_files::{LearnOptions, Roles};
/// let how = LearnOptions { roles: Roles { reward: Some("verdict".into()), ..Roles::default() }, ..LearnOptions::default() };
/// assert!(!how.again);
/// ```
#[derive(Debug, Clone, Default)]
pub struct LearnOptions {
    /// How the rows are written.
    pub reading: ReadOptions,
    /// Which column is what. The key is the round of each row; without one each file is a round. Who is seated is the state's to say.
    pub roles: Roles,
    /// The policy that learns; none for that of the state, or the default.
    pub policy: Option<Spec>,
    /// The time of the first round; none for one after the latest that the state has seen.
    pub at: Option<u64>,
    /// Evaluators of the state to forget.
    pub drop: Vec<String>,
    /// Whether to learn also what the state has learnt already.
    pub again: bool,
}

/// What was learnt from rows: by [`learn_rows`].
#[derive(Debug, Clone)]
pub struct LearnResult {
    /// The state after it.
    pub state: State,
    /// What the rows taught.
    pub taught: LearnCounts,
}

impl LearnResult {
    /// What a person should know of it, now that it is over.
    ///
    /// ```
    /// # use jurybox_files::{RowInput, LearnOptions, Roles, learn_rows};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("week.csv");
    /// std::fs::write(&path, "day,spam,abuse\nmon,0.9,0.1\ntue,0.2,0.3\nmon,0.8,0.1\n")?;
    /// let how = LearnOptions { roles: Roles { key: Some("day".into()), ..Roles::default() }, ..LearnOptions::default() };
    /// let lesson = learn_rows(None, RowInput::Files(vec![path]), &how, &mut ())?.expect("nothing was known");
    /// assert!(lesson.notices()[0].to_string().starts_with("1 round came back after another had begun"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn notices(&self) -> Vec<LearnNotice> {
        let LearnCounts { reopened_rounds: rounds, ignored_rewards: rewards, learnt_before, .. } = self.taught;
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
        notices.extend(reward::outside(&self.state));
        notices
    }
}

/// Of rows whose ids are known, so few with other scores or another verdict, or less than one in so many, are corrected ones. Of more, ids come back as new items.
const FEW_CORRECTED: u64 = 3;
const ONE_IN: u64 = 50;

/// Learns from rows; none where all of them have been learnt already, or where files have columns and no rows.
///
/// Of files, those are passed over that the state has learnt: the same bytes, compressed or not, under whatever name, and through a pipe; and,
/// where they have one column of ids, the same rows in another order or format, in memory as well. Of other tables with one column of ids those rows
/// are passed over whose verdict was learnt before, from a table or with a pick: the same id, scores, reward and reviewer; where only the
/// id is the same the row counts, and that is told. A state has no room for every row without a verdict that it was shown: these count
/// with every table that they are in. Rows that were
/// picked from are refused, because they have been seen: verdicts on them come [with the picks](learn_verdicts). After an error nothing has
/// changed.
///
/// ```
/// use jurybox_files::{RowInput, LearnOptions, Roles, learn_rows};
///
/// let dir = tempfile::tempdir()?;
/// let file = |name: &str| RowInput::Files(vec![dir.path().join(name)]);
/// std::fs::write(dir.path().join("monday.csv"), "post,spam,abuse,verdict\np1,0.9,0.1,1\np2,0.2,0.3,0\n")?;
/// std::fs::write(dir.path().join("sorted.csv"), "post,spam,abuse,verdict\np2,0.2,0.3,0\np1,0.9,0.1,1\n")?;
/// let how = LearnOptions {
///     roles: Roles { id: vec!["post".into()], reward: Some("verdict".into()), ..Roles::default() },
///     policy: Some("lin-ucb".parse()?),
///     ..LearnOptions::default()
/// };
/// let lesson = learn_rows(None, file("monday.csv"), &how, &mut ())?.expect("nothing was known");
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
    // Who names the evaluators means those with scores: the contexts of a state stay.
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
            let (paths, quiet) = split_empty_files(paths, &how.reading);
            quiet.into_iter().for_each(|EmptyFile { path, .. }| host.notify(LearnNotice::EmptyFile { path }));
            let mut new = NewFiles::of(paths, before, how, &roles, host)?;
            let sources = new.open(before, how, host)?;
            if sources.is_empty() && named {
                return Ok(None);
            }
            // Only now: who is forgotten is not there any more when the same is asked once more.
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
        // Ids come back as new items: those that look as they did before are new as well, and left out they would be missed.
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
    // A policy that learns from none of these rewards may yet learn from the same ones with their receipts.
    if taught.used > 0 {
        state.memory.learnt_verdicts_of_table(&verdicts);
    }
    if let Some(reward) = &reward {
        reward::remember(&mut state, reward, taught.range, host);
        reward::notify_leakage(&state.jury, reward, &taught, host);
    }
    Ok(Some(LearnResult { state, taught }))
}

/// Tells of it where a policy has no use for who judged.
fn notify_of_reviewers(jury: &Jury, column: Option<&str>, host: &mut dyn LearnHost) {
    if let Some(column) = column.filter(|_| !jury.tells_reviewers_apart()) {
        let policy = jury.spec().name().to_string();
        host.notify(LearnNotice::ReviewersIgnored { policy, column: column.into() });
    }
}

/// What is learnt, for the names by which a state will know it again.
enum NewInput<'a> {
    Files(NewFiles),
    Rows(NewRows<'a>),
    /// A stream is gone when it has been learnt.
    Unnamed,
}

impl NewInput<'_> {
    /// The rows of each source that were learnt before, and those of which nothing but the id was.
    fn known(&self) -> (Vec<HashSet<u64>>, ItemList) {
        match self {
            NewInput::Files(files) => files.known(),
            NewInput::Rows(rows) => rows.known(),
            NewInput::Unnamed => (Vec::new(), ItemList::default()),
        }
    }
}

/// A copy of the state with the table's evaluators seated, or a new one.
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
    let change = EvaluatorChange::apply(&mut state.jury, evaluators, AllowedChange::Replace { forget: &how.drop })?;
    change.added.into_iter().for_each(|evaluator| host.notify(LearnNotice::EvaluatorAdded { evaluator }));
    change.removed.into_iter().for_each(|evaluator| host.notify(LearnNotice::EvaluatorRemoved { evaluator }));
    Ok(state)
}

//! Picking one round from a table: the policy's choice, with the pick probability of every row.

use crate::error::{Error, RowPosition};
use crate::fingerprint::Fingerprint;
use crate::id;
use crate::id_column::IdColumn;
use crate::join_verdicts::ItemList;
use crate::rank::RankOptions;
use crate::ranker::{Ranker, expect_rewards, scores};
use crate::state::State;
use crate::table::{BatchPosition, ScanRequest, Table};
use crate::table_fingerprint::{RowHasher, TableFingerprint};
use crate::write_ranking::values_of_rows;
use jurybox::rand::SeedableRng;
use jurybox::{Fitted, Jury, Receipt};
use rand_chacha::ChaCha8Rng;
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Options for [`choose`].
///
/// ```
/// let options = jurybox_files::PickOptions { k: 10, ..Default::default() };
/// assert_eq!(options.at, None);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct PickOptions {
    /// How many rows to pick; all if there are fewer. With `min_reward`, the most rows to pick.
    pub k: usize,
    /// Pick only rows with an expected reward of at least this. Errors if the policy's values are
    /// not expected rewards.
    pub min_reward: Option<f64>,
    /// Seed of the random draws. The draws depend on the seed and on the rows.
    pub seed: u64,
    /// The time of the round. `None` is one after the latest round of the state. A round that the
    /// state has picked from keeps its time.
    pub at: Option<u64>,
    /// Whether to leave the state as it is.
    pub only_choose: bool,
}

/// The picks of one round.
///
/// ```
/// use jurybox::{Evaluators, Jury};
/// use jurybox_files::{PickOptions, Roles, State, Table, choose};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("hour.csv");
/// std::fs::write(&path, "post,spam,abuse\np1,0.9,0.1\np2,0.2,0.3\np3,0.8,0.9\n")?;
/// let table =
///     Table::open(&[path], &Roles { key: Some("post".into()), ..Roles::default() }, true)?;
/// let mut state =
///     State::from(Jury::new(&"average".parse()?, table.roles().evaluators().clone())?);
/// let picking = choose(&table, &mut state, PickOptions { k: 2, ..PickOptions::default() })?;
/// assert_eq!((picking.rows, picking.picks[0].row, picking.picks[1].row), (3, 2, 0));
/// assert_eq!(state.jury.seen().items, 3);
///
/// // Run twice by accident: the same picks, and nothing is observed twice.
/// let again = choose(&table, &mut state, PickOptions { k: 2, ..PickOptions::default() })?;
/// assert_eq!((again.picks, state.jury.seen().items), (picking.picks, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Picking {
    /// The number of rows in the round.
    pub rows: u64,
    /// The name of the round: a hash of its evaluators, its ids in their order, and its scores. It
    /// is the same for every file format.
    pub round: String,
    /// The time of the round.
    pub at: u64,
    /// Whether the state had observed the items before.
    pub observed_before: bool,
    /// The picks: the best first, then the explored ones, which were drawn at random. `exp4p` draws
    /// all of them, in no particular order.
    pub picks: Vec<PickedRow>,
    /// Rows whose id another row of the round has as well.
    pub repeated: ItemList,
    /// Whether the picks depend on the values of the rows alone, without any random draw.
    pub(crate) by_values_alone: bool,
    /// The first row of each source.
    pub(crate) files: Vec<u64>,
    /// The value of every row.
    pub(crate) values: Vec<f64>,
    /// The pick probability of every row.
    pub(crate) chances: RowProbabilities,
}

/// The pick probabilities of all rows. A receipt has the probability of its pick. The probabilities
/// of other rows can be computed on request, if the values of the rows determine them.
#[derive(Debug, Clone)]
pub(crate) enum RowProbabilities {
    /// Computed while picking.
    Known(Vec<f64>),
    /// Determined by the values of the rows and by the number of picks.
    ByValues(Fitted, usize),
}

impl Picking {
    /// The value of every row, in the order of the table.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The pick probability of every row, in the order of the table. May be computed by this call;
    /// the receipt of a pick has its probability already.
    pub fn probabilities(&self) -> Result<Cow<'_, [f64]>, Error> {
        Ok(match &self.chances {
            RowProbabilities::Known(all) => Cow::Borrowed(all),
            RowProbabilities::ByValues(fitted, k) => {
                Cow::Owned(fitted.probabilities_by_values(&self.values, *k)?)
            }
        })
    }
}

/// A picked row.
#[derive(Debug, Clone, PartialEq)]
pub struct PickedRow {
    /// Its number over all files, from 0.
    pub row: u64,
    /// Its id.
    pub id: Box<str>,
    /// The receipt, which the policy needs to learn from the verdict.
    pub receipt: Receipt,
}

/// Picks from a table, as one round, and lets the state observe its items. The table's key is the
/// id of its items.
///
/// Items are observed once. Rows that the state has observed are recognised by their ids and scores
/// in any order. Files that it has picked or learnt from are recognised by their content, even if
/// the evaluators of the state have changed. If the rows are in the same order, the round also
/// keeps its name and its time. The policy decides whether it observes the items before or after it
/// chooses.
///
/// Memory holds the id and the value of each row. It also holds the scores if they are at most
/// 2^20, or if the policy needs more than one value per item. Such policies are `rand`, `exp4p` and
/// `adaptive(draws=...)`. Otherwise the table is read again, and `adaptive` does not probe the
/// items that a single evaluator scores highest.
///
/// Errors on a row without an id, which no verdict could match, and on an id that was rounded,
/// which a wrong verdict could match.
pub fn choose(table: &Table, state: &mut State, options: PickOptions) -> Result<Picking, Error> {
    RankOptions { k: options.k, min_reward: options.min_reward, ..RankOptions::default() }.check()?;
    let most = if state.jury.fit().without_looks().picks_by_values() { HELD } else { usize::MAX };
    let TableScores { ids, held, content, files: first_rows } = gather(table, most)?;
    let (content, repeated) = (content.name(), ids.repeated());
    let round = round_name(table, &ids, held.as_deref(), &content);
    let known = state.memory.round(&round);
    let files = table.fingerprints()?;
    // A file that was learnt from was observed as well.
    let knows = |file: &str| state.memory.knows_picked_file(file) || state.memory.knows_file(file);
    let observed_before = known.is_some_and(|(_, observed)| observed)
        || files.iter().all(|file| file.as_deref().is_some_and(knows))
        || state.memory.knows_picked_file(&content);
    let at = known.map(|(at, _)| at).or(options.at).unwrap_or(state.jury.seen().next_time());
    let before = &state.jury;
    let mut after = before.clone();
    if !observed_before {
        match &held {
            Some(held) => after.observe(&scores(held, before.evaluators().len())?, at)?,
            None => observe_in_chunks(table, &mut after, at)?,
        }
    }
    let mut fitted = if before.observes_first() { after.fit() } else { before.fit() };
    if options.min_reward.is_some() {
        expect_rewards(&fitted)?;
        fitted = fitted.without_looks(); // a probe may be below the minimum reward
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed_of_round(&round, options.seed));
    let (chosen, chances, values) = match held {
        Some(held) => by_scores(&fitted, &held, options, &mut rng)?,
        None => by_values(table, &fitted.without_looks(), options, &mut rng)?,
    };
    if !options.only_choose {
        state.jury = after;
        state.memory.picked_from(&round, at, true);
        for file in files.into_iter().flatten().chain([content]) {
            state.memory.picked_from_file(file);
        }
    }
    let picked = |pick: jurybox::Pick| PickedRow {
        row: pick.item as u64,
        id: ids.get(pick.item).into(),
        receipt: pick.receipt,
    };
    Ok(Picking {
        rows: ids.len() as u64,
        round,
        at,
        observed_before,
        picks: chosen.into_iter().map(picked).collect(),
        repeated,
        by_values_alone: fitted.picks_by_values() && !fitted.leaves_to_chance(),
        files: first_rows,
        values,
        chances,
    })
}

/// Picks, with the pick probability and the value of every row.
type DrawnPicks = (Vec<jurybox::Pick>, RowProbabilities, Vec<f64>);

/// The number of rows to pick from rows with these values.
fn pick_count(values: &[f64], options: PickOptions) -> usize {
    let at_least = |reward: f64| values.iter().filter(|&&value| value >= reward).count();
    options.k.min(options.min_reward.map_or(values.len(), at_least))
}

/// No picks: every row has the probability 0.
fn no_picks(values: Vec<f64>) -> DrawnPicks {
    (Vec::new(), RowProbabilities::Known(vec![0.0; values.len()]), values)
}

/// Picks by the scores of all rows, which are in memory.
fn by_scores(
    fitted: &Fitted,
    held: &[f64],
    options: PickOptions,
    rng: &mut ChaCha8Rng,
) -> Result<DrawnPicks, Error> {
    let scores = scores(held, fitted.evaluators().len())?;
    let values = fitted.values(&scores)?;
    let k = pick_count(&values, options);
    if k == 0 {
        return Ok(no_picks(values));
    }
    let chosen = fitted.choose(&scores, k, rng)?;
    let chances = if fitted.picks_by_values() {
        RowProbabilities::ByValues(fitted.clone(), k)
    } else {
        RowProbabilities::Known(fitted.inclusion_probabilities(&scores, k)?)
    };
    Ok((chosen, chances, values))
}

/// Picks by the values of the rows, for which the table is read again.
fn by_values(
    table: &Table,
    fitted: &Fitted,
    options: PickOptions,
    rng: &mut ChaCha8Rng,
) -> Result<DrawnPicks, Error> {
    let values = values_of_rows(table, &Ranker::Fitted(fitted.clone()))?;
    let k = pick_count(&values, options);
    if k == 0 {
        return Ok(no_picks(values));
    }
    let chosen = fitted.choose_by_values(&values, k, rng)?;
    Ok((chosen, RowProbabilities::ByValues(fitted.clone(), k), values))
}

/// Lets a jury observe all rows as one round, in fixed chunks. The result is the same to the last
/// bit for every format and any number of threads.
fn observe_in_chunks(table: &Table, jury: &mut Jury, at: u64) -> Result<(), Error> {
    let blank = Jury::new(jury.spec(), jury.evaluators().clone())?;
    let mut round = blank.clone();
    table.scan_fixed_chunks(
        ScanRequest::default(),
        |chunk| {
            let mut seen = blank.clone();
            seen.observe(&scores(chunk.scores, blank.evaluators().len())?, at)?;
            Ok(seen)
        },
        |_, seen| Ok(round.merge_same_round(&seen)?),
    )?;
    jury.merge(&round)?;
    jury.settle();
    Ok(())
}

/// Whether the state has picked from rows with these ids and scores, in any order. Further columns
/// such as verdicts may be new. The table's key is the id of its items.
///
/// ```
/// use jurybox::Jury;
/// use jurybox_files::{PickOptions, Roles, State, Table, choose, was_picked_from};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("hour.csv");
/// let by_post =
///     Roles { key: Some("post".into()), ignore: vec!["verdict".into()], ..Roles::default() };
/// std::fs::write(&path, "post,spam,abuse,verdict\np1,0.9,0.1,\np2,0.2,0.3,\n")?;
/// let hour = Table::open(&[path.clone()], &by_post, true)?;
/// let mut state =
///     State::from(Jury::new(&"lin-ucb".parse()?, hour.roles().evaluators().clone())?);
/// choose(&hour, &mut state, PickOptions { k: 1, ..PickOptions::default() })?;
/// std::fs::write(&path, "post,spam,abuse,verdict\np2,0.2,0.3,\np1,0.9,0.1,1\n")?;
/// assert!(was_picked_from(&state, &Table::open(&[path], &by_post, true)?)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn was_picked_from(state: &State, table: &Table) -> Result<bool, Error> {
    Ok(state.memory.knows_rounds() && state.memory.knows_picked_file(&TableFingerprint::of(table)?.scores))
}

/// Maximum number of scores of a round that are kept in memory for a policy that needs only values.
const HELD: usize = 1 << 20;

/// The ids, scores and fingerprint of a table.
struct TableScores {
    ids: IdColumn,
    /// All scores, unless they are too many.
    held: Option<Vec<f64>>,
    content: RowHasher,
    /// The first row of each source.
    files: Vec<u64>,
}

/// Reads the ids and scores of a table; scores only if they are at most `most`.
fn gather(table: &Table, most: usize) -> Result<TableScores, Error> {
    let evaluators = table.roles().evaluators();
    let blank = RowHasher::of(evaluators);
    let mut all = TableScores {
        ids: IdColumn::default(),
        held: Some(Vec::new()),
        content: blank.clone(),
        files: vec![0; table.sources.len()],
    };
    let read = AtomicUsize::new(0);
    table.scan(
        ScanRequest { key: true, ..ScanRequest::default() },
        |mut part| {
            let (scores, mut content) = (part.batch.take_scores(), blank.clone());
            let rows = part.batch.keys.iter().zip(scores.chunks_exact(evaluators.len()));
            rows.for_each(|(id, scores)| content.add(id, scores, None));
            let ids = IdColumn::of(part.batch.keys.iter().map(|id| &**id));
            let few = read.fetch_add(scores.len(), Ordering::Relaxed) + scores.len() <= most;
            Ok((ids, few.then_some(scores), content))
        },
        |at, (ids, scores, content)| {
            all.files[at.file] = at.row - at.row_in_file;
            ids.iter().enumerate().try_for_each(|(row, id)| check_id(table, at, row, id))?;
            all.ids.append(&ids);
            all.content.join(&content);
            all.held = all.held.take().zip(scores).map(|(mut held, scores)| {
                held.extend(scores);
                held
            });
            Ok(())
        },
    )?;
    Ok(all)
}

/// Errors if the id of a row is empty, so that no verdict matches it, or rounded, so that a wrong
/// verdict may.
pub(crate) fn check_id(table: &Table, at: BatchPosition, row: usize, id: &str) -> Result<(), Error> {
    let path = table.sources[at.file].path();
    let place = RowPosition::Row(at.row_in_file + row as u64 + 1);
    let column = table.roles().key().unwrap_or_default();
    if id.trim().is_empty() {
        return Err(Error::NoId { path: path.into(), place, column: column.into() });
    }
    id::check(path, place, column, id)
}

/// The name of a round: a hash of its evaluators, its ids in their order, and its scores. It begins
/// with a letter, so that no reader takes it for a number.
fn round_name(table: &Table, ids: &IdColumn, held: Option<&[f64]>, content: &str) -> String {
    let mut name = Fingerprint::new();
    for evaluator in table.roles().evaluators().names() {
        name.text(evaluator);
    }
    for id in ids.iter() {
        name.text(&id::alike(id));
    }
    match held {
        Some(scores) => scores.iter().for_each(|&score| name.number(score)),
        None => name.text(content),
    }
    format!("r{:016x}", name.value())
}

/// The seed of the random draws of a round, which differs from round to round.
fn seed_of_round(round: &str, seed: u64) -> u64 {
    let mut draws = Fingerprint::new();
    draws.text(round);
    draws.bytes(&seed.to_le_bytes());
    draws.value()
}

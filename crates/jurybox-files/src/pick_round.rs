//! Picks from a table: one round, chosen as the policy chooses, with its draws and their probabilities.

use crate::table_fingerprint::{TableFingerprint, RowHasher};
use crate::error::{Error, RowPosition};
use crate::fingerprint::Fingerprint;
use crate::id;
use crate::id_column::IdColumn;
use crate::ranker::{Ranker, expect_rewards, scores};
use crate::rank::RankOptions;
use crate::write_ranking::values_of_rows;
use crate::state::State;
use crate::table::{BatchPosition, Table, ScanRequest};
use crate::join_verdicts::ItemList;
use jurybox::rand::SeedableRng;
use jurybox::{Fitted, Jury, Receipt};
use rand_chacha::ChaCha8Rng;
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How to pick.
///
/// ```
/// let options = jurybox_files::PickOptions { k: 10, ..Default::default() };
/// assert_eq!(options.at, None);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct PickOptions {
    /// How many rows to pick; all of them where there are fewer. At the most, where it is said what they must be worth.
    pub k: usize,
    /// Pick as many as have an expected reward of at least that, and none where none has; refused where values are not expected rewards.
    pub min_reward: Option<f64>,
    /// The seed of the draws. What is drawn is a function of it and of the rows.
    pub seed: u64,
    /// The time of the round; where it is not said, one after the latest that the state has seen. A round that the state has seen
    /// keeps the time it had.
    pub at: Option<u64>,
    /// Whether only to choose, and leave the state as it is.
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
/// let table = Table::open(&[path], &Roles { key: Some("post".into()), ..Roles::default() }, true)?;
/// let mut state = State::from(Jury::new(&"average".parse()?, table.roles().evaluators().clone())?);
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
    /// How many rows there were to pick from.
    pub rows: u64,
    /// The name of the round: that of its items and their scores, whatever the format.
    pub round: String,
    /// Its time.
    pub at: u64,
    /// Whether its items had been observed before.
    pub observed_before: bool,
    /// The picks, best first, explored ones last.
    pub picks: Vec<PickedRow>,
    /// How many rows have an id that another row of the round has too, and the first such ids.
    pub repeated: ItemList,
    /// Whether the picks go by the values of the rows alone, and none is left to chance.
    pub(crate) by_values_alone: bool,
    /// The first row of each source.
    pub(crate) files: Vec<u64>,
    /// For every row: what it was ranked by.
    pub(crate) values: Vec<f64>,
    /// What tells of every row the probability that it was to be picked.
    pub(crate) chances: RowProbabilities,
}

/// The probability of every row. Those of the picks are on their receipts, and few ask for the others: where values tell them, they are
/// reckoned for whoever does.
#[derive(Debug, Clone)]
pub(crate) enum RowProbabilities {
    /// Picking needed them all.
    Known(Vec<f64>),
    /// Picks of so many, by their values alone.
    ByValues(Fitted, usize),
}

impl Picking {
    /// For every row: what it was ranked by.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// For every row: the probability that it was to be picked. Reckoned here: that of a pick is on its receipt.
    pub fn probabilities(&self) -> Result<Cow<'_, [f64]>, Error> {
        Ok(match &self.chances {
            RowProbabilities::Known(all) => Cow::Borrowed(all),
            RowProbabilities::ByValues(fitted, k) => Cow::Owned(fitted.probabilities_by_values(&self.values, *k)?),
        })
    }
}

/// A row that was picked.
#[derive(Debug, Clone, PartialEq)]
pub struct PickedRow {
    /// Its number over all files, from 0.
    pub row: u64,
    /// Its id.
    pub id: Box<str>,
    /// What the policy needs back.
    pub receipt: Receipt,
}

/// Picks from a table whose key is the id of its items, and shows them to the state, once.
///
/// All rows are one round. What is held in memory of each is its id and three numbers; its scores only where they are few (a million
/// in all), or where the policy goes by more than the value of each item (`rand`, `exp4p`, `adaptive(draws=...)`). Otherwise the
/// table is gone over again for them, and `adaptive` takes no looks at what one evaluator scores highest. The items are observed before or after choosing, as the policy asks for; a round that the
/// state has observed already is known again by its ids and scores, keeps the time it had, and is not observed a second time, in
/// whatever order its rows are. Nor are the rows of files that were picked from before, or learnt from as they are, though the jury have other evaluators now,
/// and the round another name.
///
/// A row without an id is refused: no verdict could find it. So is one whose id has been rounded: the verdict on another might.
pub fn choose(table: &Table, state: &mut State, options: PickOptions) -> Result<Picking, Error> {
    RankOptions { k: options.k, min_reward: options.min_reward, ..RankOptions::default() }.check()?;
    let most = if state.jury.fit().without_looks().picks_by_values() { HELD } else { usize::MAX };
    let TableScores { ids, held, content, files: first_rows } = gather(table, most)?;
    let (content, repeated) = (content.name(), ids.repeated());
    let round = name(table, &ids, held.as_deref(), &content);
    let known = state.memory.round(&round);
    let files = table.fingerprints()?;
    // A file that was learnt from was observed, too.
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
        fitted = fitted.without_looks(); // a look is at what is not expected to be worth it
    }
    let mut rng = ChaCha8Rng::seed_from_u64(draws(&round, options.seed));
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

/// Picks, with what tells the probability of every row, and its value.
type DrawnPicks = (Vec<jurybox::Pick>, RowProbabilities, Vec<f64>);

/// How many are picked of rows with these values.
fn many(values: &[f64], options: PickOptions) -> usize {
    let worth_it = |worth: f64| values.iter().filter(|&&value| value >= worth).count();
    options.k.min(options.min_reward.map_or(values.len(), worth_it))
}

fn none(values: Vec<f64>) -> DrawnPicks {
    (Vec::new(), RowProbabilities::Known(vec![0.0; values.len()]), values)
}

fn by_scores(
    fitted: &Fitted,
    held: &[f64],
    options: PickOptions,
    rng: &mut ChaCha8Rng,
) -> Result<DrawnPicks, Error> {
    let scores = scores(held, fitted.evaluators().len())?;
    let values = fitted.values(&scores)?;
    let k = many(&values, options);
    if k == 0 {
        return Ok(none(values));
    }
    let chosen = fitted.choose(&scores, k, rng)?;
    let chances = if fitted.picks_by_values() {
        RowProbabilities::ByValues(fitted.clone(), k)
    } else {
        RowProbabilities::Known(fitted.inclusion_probabilities(&scores, k)?)
    };
    Ok((chosen, chances, values))
}

fn by_values(
    table: &Table,
    fitted: &Fitted,
    options: PickOptions,
    rng: &mut ChaCha8Rng,
) -> Result<DrawnPicks, Error> {
    let values = values_of_rows(table, &Ranker::Fitted(fitted.clone()))?;
    let k = many(&values, options);
    if k == 0 {
        return Ok(none(values));
    }
    let chosen = fitted.choose_by_values(&values, k, rng)?;
    Ok((chosen, RowProbabilities::ByValues(fitted.clone(), k), values))
}

/// Shows a jury all rows as one round, chunks of them apart: the same to the last bit whatever the format and the threads.
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

/// Whether a state has picked from these very rows, whatever their order, and whatever else the file has gained since: a column of
/// verdicts, say. The key of the table is the id of its items.
///
/// ```
/// use jurybox::Jury;
/// use jurybox_files::{PickOptions, Roles, State, Table, choose, was_picked_from};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("hour.csv");
/// let by_post = Roles { key: Some("post".into()), ignore: vec!["verdict".into()], ..Roles::default() };
/// std::fs::write(&path, "post,spam,abuse,verdict\np1,0.9,0.1,\np2,0.2,0.3,\n")?;
/// let hour = Table::open(&[path.clone()], &by_post, true)?;
/// let mut state = State::from(Jury::new(&"lin-ucb".parse()?, hour.roles().evaluators().clone())?);
/// choose(&hour, &mut state, PickOptions { k: 1, ..PickOptions::default() })?;
/// std::fs::write(&path, "post,spam,abuse,verdict\np2,0.2,0.3,\np1,0.9,0.1,1\n")?;
/// assert!(was_picked_from(&state, &Table::open(&[path], &by_post, true)?)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn was_picked_from(state: &State, table: &Table) -> Result<bool, Error> {
    Ok(state.memory.knows_rounds() && state.memory.knows_picked_file(&TableFingerprint::of(table)?.scores))
}

/// So many scores of a round are held at the most, where the policy can do without them.
const HELD: usize = 1 << 20;

/// What is kept of all rows.
struct TableScores {
    ids: IdColumn,
    /// All scores, where they are not too many.
    held: Option<Vec<f64>>,
    content: RowHasher,
    /// The first row of each source.
    files: Vec<u64>,
}

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

/// Refuses a row of a batch that no verdict could find by its id, or that might be found by another's.
pub(crate) fn check_id(table: &Table, at: BatchPosition, row: usize, id: &str) -> Result<(), Error> {
    let path = table.sources[at.file].path();
    let place = RowPosition::Row(at.row_in_file + row as u64 + 1);
    let column = table.roles().key().unwrap_or_default();
    if id.trim().is_empty() {
        return Err(Error::NoId { path: path.into(), place, column: column.into() });
    }
    id::check(path, place, column, id)
}

/// A name for a round, by what is in it: ids in their order, and scores. It begins with a letter: no reader takes it for a number.
fn name(table: &Table, ids: &IdColumn, held: Option<&[f64]>, content: &str) -> String {
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

/// What the draws of a round begin with: another round, other draws.
fn draws(round: &str, seed: u64) -> u64 {
    let mut draws = Fingerprint::new();
    draws.text(round);
    draws.bytes(&seed.to_le_bytes());
    draws.value()
}

//! Picks from a table: one round, chosen as the policy chooses, with its draws and their probabilities.

use crate::content::{Content, Rows};
use crate::error::{Error, Place};
use crate::fingerprint::Fingerprint;
use crate::id;
use crate::judge::scores;
use crate::rank::RankOptions;
use crate::state::State;
use crate::table::{At, Table, Want};
use crate::verdicts::Items;
use jurybox::Receipt;
use jurybox::rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::borrow::Cow;
use std::collections::HashMap;

/// How to pick.
///
/// ```
/// let options = jurybox_files::PickOptions { k: 10, ..Default::default() };
/// assert_eq!(options.at, None);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct PickOptions {
    /// How many rows to pick; all of them where there are fewer.
    pub k: usize,
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
/// let mut state = State::from(Jury::new(&"average".parse()?, table.taken().evaluators().clone())?);
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
    pub repeated: Items,
    /// The first row of each source.
    pub(crate) files: Vec<u64>,
    /// For every row: what it was ranked by.
    pub(crate) values: Vec<f64>,
    /// For every row: the probability that it was to be picked.
    pub(crate) probabilities: Vec<f64>,
}

impl Picking {
    /// For every row: what it was ranked by.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// For every row: the probability that it was to be picked.
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
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
/// All rows are one round. Their scores are held in memory (8 bytes each), and so is the id of each; the other columns are
/// not. The items are observed before or after choosing, as the policy asks for; a round that the state has observed already is
/// known again by its ids and scores, keeps the time it had, and is not observed a second time, in whatever order its rows are. Nor are the rows of files that
/// were picked from before, though the jury have other evaluators now, and the round another name.
///
/// A row without an id is refused: no verdict could find it.
pub fn choose(table: &Table, state: &mut State, options: PickOptions) -> Result<Picking, Error> {
    RankOptions { k: options.k, ..RankOptions::default() }.check()?;
    let (values, ids, first_rows) = gather(table)?;
    let width = table.taken().evaluators().len();
    let round = name(table, &values, &ids);
    let known = state.memory.round(&round);
    let files = table.fingerprints()?;
    let knows =
        |file: &Option<String>| file.as_ref().is_some_and(|file| state.memory.knows_picked_file(file));
    let mut rows = Rows::of(table.taken().evaluators());
    ids.iter().zip(values.chunks_exact(width)).for_each(|(id, scores)| rows.add(id, scores, None));
    let content = rows.name();
    let observed_before = known.is_some_and(|(_, observed)| observed)
        || files.iter().all(knows)
        || state.memory.knows_picked_file(&content);
    let before = known.map(|(at, _)| at);
    let at = before.or(options.at).unwrap_or(state.jury.seen().next_time());
    let scores = scores(&values, width)?;
    let before = state.jury.clone();
    let mut after = state.jury.clone();
    if !observed_before {
        after.observe(&scores, at)?;
    }
    let fitted = if before.observes_first() { after.fit() } else { before.fit() };
    let k = options.k.min(scores.items());
    let mut rng = ChaCha8Rng::seed_from_u64(draws(&round, options.seed));
    let chosen = fitted.choose(&scores, k, &mut rng)?;
    let probabilities = fitted.inclusion_probabilities(&scores, k)?;
    let values = fitted.values(&scores)?;
    if !options.only_choose {
        state.jury = after;
        state.memory.picked_from(&round, at, true);
        for file in files.into_iter().flatten().chain([content]) {
            state.memory.picked_from_file(file);
        }
    }
    let picked = |pick: jurybox::Pick| PickedRow {
        row: pick.item as u64,
        id: ids[pick.item].clone(),
        receipt: pick.receipt,
    };
    let rows = scores.items() as u64;
    let picks = chosen.into_iter().map(picked).collect();
    let repeated = repeated(&ids);
    Ok(Picking {
        rows,
        round,
        at,
        observed_before,
        picks,
        repeated,
        files: first_rows,
        values,
        probabilities,
    })
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
/// let mut state = State::from(Jury::new(&"lin-ucb".parse()?, hour.taken().evaluators().clone())?);
/// choose(&hour, &mut state, PickOptions { k: 1, ..PickOptions::default() })?;
/// std::fs::write(&path, "post,spam,abuse,verdict\np2,0.2,0.3,\np1,0.9,0.1,1\n")?;
/// assert!(was_picked_from(&state, &Table::open(&[path], &by_post, true)?)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn was_picked_from(state: &State, table: &Table) -> Result<bool, Error> {
    Ok(state.memory.knows_rounds() && state.memory.knows_picked_file(&Content::of(table)?.scores))
}

/// The rows that share their ids with others, and the first such ids.
fn repeated(ids: &[Box<str>]) -> Items {
    let mut counts: HashMap<Cow<'_, str>, (usize, u64)> = HashMap::with_capacity(ids.len());
    for (row, cell) in ids.iter().enumerate() {
        counts.entry(id::of(cell)).or_insert((row, 0)).1 += 1;
    }
    let mut shared: Vec<(Cow<'_, str>, (usize, u64))> =
        counts.into_iter().filter(|(_, (_, count))| *count > 1).collect();
    shared.sort_unstable_by_key(|(_, (row, _))| *row);
    let mut repeated = Items::default();
    shared.iter().for_each(|(id, _)| repeated.push(id));
    Items { count: shared.iter().map(|(_, (_, count))| count).sum(), ..repeated }
}

/// The scores and the ids of all rows, and the first row of each source.
type Gathered = (Vec<f64>, Vec<Box<str>>, Vec<u64>);

fn gather(table: &Table) -> Result<Gathered, Error> {
    let (mut values, mut ids) = (Vec::new(), Vec::new());
    let mut files = vec![0; table.sources.len()];
    table.scan(
        Want { key: true, ..Want::default() },
        |mut part| Ok((part.batch.take_scores(), part.batch.keys)),
        |at, (scores, keys)| {
            files[at.file] = at.row - at.row_in_file;
            if let Some(row) = keys.iter().position(|id| id.trim().is_empty()) {
                return Err(no_id(table, at, row));
            }
            values.extend(scores);
            ids.extend(keys);
            Ok(())
        },
    )?;
    Ok((values, ids, files))
}

/// The error that a row of a batch has no id.
pub(crate) fn no_id(table: &Table, at: At, row: usize) -> Error {
    Error::NoId {
        path: table.sources[at.file].path().into(),
        place: Place::Row(at.row_in_file + row as u64 + 1),
        column: table.taken().key().unwrap_or_default().into(),
    }
}

/// A name for a round, by what is in it. It begins with a letter: no reader takes it for a number.
fn name(table: &Table, values: &[f64], ids: &[Box<str>]) -> String {
    let mut name = Fingerprint::new();
    for evaluator in table.taken().evaluators().names() {
        name.text(evaluator);
    }
    for id in ids {
        name.text(&id::alike(id));
    }
    for &value in values {
        name.number(value);
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

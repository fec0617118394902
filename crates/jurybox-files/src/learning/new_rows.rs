//! Which rows are new to a state: those of files by their bytes and by what is in them, those without a file by the latter alone.

use super::{LearnHost, LearnOptions, OpenAgain, LearnNotice};
use crate::table_fingerprint::{KnownVerdicts, RowScan};
use crate::error::Error;
use crate::fingerprint::fingerprint;
use crate::format::{RowSource, memory};
use crate::item_hash::ItemHash;
use crate::roles::Roles;
use crate::state::State;
use crate::table::Table;
use crate::join_verdicts::ItemList;
use jurybox::Evaluators;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Larger files, in bytes, are not read once more to know their rows again.
const LARGE: u64 = 1 << 26;

/// A file that is to be learnt.
struct NewFile {
    path: PathBuf,
    /// Its name by its bytes; none of a pipe that has not been read.
    by_bytes: Option<String>,
    /// What its rows showed, where they were looked at.
    looked: Option<RowScan>,
}

/// What a state that has learnt rows remembers them by.
#[derive(Default)]
pub(super) struct LearntNames {
    /// The tables.
    pub(super) tables: Vec<String>,
    /// The verdicts in them.
    pub(super) verdicts: Vec<ItemHash>,
}

/// Files that are to be learnt.
#[derive(Default)]
pub(super) struct NewFiles {
    files: Vec<NewFile>,
    /// The evaluators over which they have names by their rows, where they have.
    over: Option<Evaluators>,
}

impl NewFiles {
    /// Those of which the state has learnt neither the bytes nor the rows, each once; tells of the others, and refuses what was
    /// picked from.
    pub(super) fn of(
        paths: Vec<PathBuf>,
        state: Option<&State>,
        how: &LearnOptions,
        roles: &Roles,
        host: &mut dyn LearnHost,
    ) -> Result<NewFiles, Error> {
        let mut new = NewFiles::default();
        for path in paths {
            let by_bytes = fingerprint(&path)?;
            if how.again || new.has_new_bytes(&path, by_bytes.as_ref(), state, host)? {
                new.files.push(NewFile { path, by_bytes, looked: None });
            }
        }
        if !how.again {
            new.leave_out_known_rows(state, how, roles, host)?;
        }
        Ok(new)
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    fn has_new_bytes(
        &self,
        path: &Path,
        name: Option<&String>,
        state: Option<&State>,
        host: &mut dyn LearnHost,
    ) -> Result<bool, Error> {
        let Some(name) = name else { return Ok(true) };
        if is_learnt(state, name) || self.files.iter().any(|other| other.by_bytes.as_ref() == Some(name)) {
            host.notify(LearnNotice::LearntFile { path: path.into() });
            return Ok(false);
        }
        if is_picked_from(state, name) {
            return Err(Error::PickedFrom { path: path.into() });
        }
        Ok(true)
    }

    /// Leaves out files whose rows were learnt already, in another order or dress, and refuses those whose rows were picked from,
    /// though they have gained a column of verdicts since.
    fn leave_out_known_rows(
        &mut self,
        state: Option<&State>,
        how: &LearnOptions,
        roles: &Roles,
        host: &mut dyn LearnHost,
    ) -> Result<(), Error> {
        let over = match state {
            Some(state) => state.jury.evaluators().clone(),
            // Who will be seated is known from all the files together, by their beginnings; of grades, only when all have been read.
            // A file alone is the same as no other.
            None if self.files.len() > 1
                && one_id(roles).is_some()
                && how.reading.long.is_none()
                && !self.are_piped() =>
            {
                Table::open_as(&self.paths(), &how.reading, roles, true)?.roles().evaluators().clone()
            }
            None => return Ok(()),
        };
        let mut new: Vec<NewFile> = Vec::new();
        let mut items = known_items(state);
        for mut file in std::mem::take(&mut self.files) {
            let verdicts = KnownVerdicts { items: &items, turned: is_turned(roles) };
            if let Some(looked) = look_at_file(&file.path, &over, verdicts, how, host) {
                let name = &looked.content.rewards;
                if is_picked_from(state, &looked.content.scores) {
                    return Err(Error::PickedFrom { path: file.path });
                }
                let twin = |other: &NewFile| {
                    other.looked.as_ref().is_some_and(|other| other.content.rewards == *name)
                };
                if is_learnt(state, name) || new.iter().any(twin) || looked.is_known() {
                    host.notify(LearnNotice::LearntRows { path: file.path });
                    continue;
                }
                items.extend(&looked.verdicts);
                file.looked = Some(looked);
            }
            new.push(file);
        }
        (self.files, self.over) = (new, Some(over));
        Ok(())
    }

    /// Whether something among them can be read once only.
    fn are_piped(&self) -> bool {
        self.files.iter().any(|file| file.by_bytes.is_none())
    }

    /// Opens them. What comes through a pipe is kept aside, so that its bytes have a name too: what the state has learnt is left out.
    pub(super) fn open(
        &mut self,
        state: Option<&State>,
        how: &LearnOptions,
        host: &mut dyn LearnHost,
    ) -> Result<Vec<Box<dyn RowSource>>, Error> {
        let piped = self.are_piped();
        let mut sources = Vec::new();
        for file in std::mem::take(&mut self.files) {
            match Table::sources(std::slice::from_ref(&file.path), &how.reading, piped) {
                Err(Error::NoRows { path, .. }) => host.notify(LearnNotice::EmptyFile { path }),
                opened => {
                    sources.extend(opened?);
                    self.files.push(file);
                }
            }
        }
        let mut at = 0;
        while piped && at < sources.len() {
            if self.files[at].by_bytes.is_none() {
                let name = sources[at].fingerprint()?;
                let path = self.files[at].path.clone();
                if !how.again && !self.has_new_bytes(&path, name.as_ref(), state, host)? {
                    self.files.remove(at);
                    sources.remove(at);
                    continue;
                }
                self.files[at].by_bytes = name;
            }
            at += 1;
        }
        Ok(sources)
    }

    /// The rows of each whose verdicts were learnt before, and those of which nothing but the id was.
    pub(super) fn known(&self) -> (Vec<HashSet<u64>>, ItemList) {
        let mut ids = ItemList::default();
        let rows = self.files.iter().map(|file| {
            let Some(looked) = &file.looked else { return HashSet::new() };
            ids.join(&looked.known_ids);
            looked.known.clone()
        });
        (rows.collect(), ids)
    }

    /// What a state that has learnt them over these evaluators remembers them by.
    pub(super) fn names(
        self,
        evaluators: &Evaluators,
        roles: &Roles,
        how: &LearnOptions,
        host: &dyn LearnHost,
    ) -> LearntNames {
        let named = self.over.as_ref() == Some(evaluators);
        let mut names = LearntNames::default();
        let mut by_rows = Vec::new();
        for file in self.files {
            names.tables.extend(file.by_bytes);
            let verdicts = KnownVerdicts { items: &HashSet::new(), turned: is_turned(roles) };
            let looked =
                if named { file.looked } else { look_at_file(&file.path, evaluators, verdicts, how, host) };
            let Some(looked) = looked else { continue };
            by_rows.push(looked.content.rewards);
            names.verdicts.extend(looked.verdicts);
        }
        names.tables.extend(by_rows);
        names
    }
}

impl RowScan {
    /// Whether all of its rows were learnt before, one by one.
    fn is_known(&self) -> bool {
        self.rows > 0 && self.known.len() as u64 == self.rows
    }
}

/// What a state knows of verdicts: items by their ids, and verdicts by all that is in their rows.
fn known_items(state: Option<&State>) -> HashSet<ItemHash> {
    let Some(State { memory, .. }) = state else { return HashSet::new() };
    let mut items = memory.items();
    items.extend(memory.verdicts_of_tables());
    items
}

/// Whether the reward is turned round.
fn is_turned(roles: &Roles) -> bool {
    roles.reward.as_ref().is_some_and(|reward| roles.invert.contains(reward))
}

/// The one column of ids, by which rows are known again.
fn one_id(roles: &Roles) -> Option<&String> {
    if let [id] = &roles.id[..] { Some(id) } else { None }
}

/// Rows without a file that are to be learnt.
pub(super) struct NewRows<'a> {
    open: OpenAgain<'a>,
    /// What they showed, and the evaluators over which, where they were looked at.
    looked: Option<(Evaluators, RowScan)>,
}

impl<'a> NewRows<'a> {
    /// These rows; none where the state has learnt them, which is told. Refuses what was picked from. Without one column of ids they
    /// are always new: rows with the same scores need not be the same items.
    pub(super) fn of(
        open: OpenAgain<'a>,
        state: Option<&State>,
        how: &LearnOptions,
        roles: &Roles,
        host: &mut dyn LearnHost,
    ) -> Result<Option<NewRows<'a>>, Error> {
        let (Some(before), false) = (state, how.again) else {
            return Ok(Some(NewRows { open, looked: None }));
        };
        let over = before.jury.evaluators();
        let verdicts = KnownVerdicts { items: &known_items(state), turned: is_turned(roles) };
        let Some(looked) = look(|roles| open(&how.reading, roles, true), over, verdicts, how, host) else {
            return Ok(Some(NewRows { open, looked: None }));
        };
        if is_picked_from(state, &looked.content.scores) {
            return Err(Error::PickedFrom { path: memory::NAME.into() });
        }
        if is_learnt(state, &looked.content.rewards) || looked.is_known() {
            host.notify(LearnNotice::LearntRows { path: memory::NAME.into() });
            return Ok(None);
        }
        Ok(Some(NewRows { open, looked: Some((over.clone(), looked)) }))
    }

    /// The rows whose verdicts were learnt before, and those of which nothing but the id was.
    pub(super) fn known(&self) -> (Vec<HashSet<u64>>, ItemList) {
        match &self.looked {
            Some((_, looked)) => (vec![looked.known.clone()], looked.known_ids.clone()),
            None => (Vec::new(), ItemList::default()),
        }
    }

    pub(super) fn open(&self, how: &LearnOptions, roles: &Roles) -> Result<Table, Error> {
        (self.open)(&how.reading, roles, false)
    }

    /// What a state that has learnt them over these evaluators remembers them by.
    pub(super) fn names(
        self,
        evaluators: &Evaluators,
        roles: &Roles,
        how: &LearnOptions,
        host: &dyn LearnHost,
    ) -> LearntNames {
        let looked = match self.looked {
            Some((over, looked)) if over == *evaluators => Some(looked),
            _ => {
                let open = |roles: &Roles| (self.open)(&how.reading, roles, true);
                let verdicts = KnownVerdicts { items: &HashSet::new(), turned: is_turned(roles) };
                look(open, evaluators, verdicts, how, host)
            }
        };
        looked.map_or_else(LearntNames::default, |looked| LearntNames {
            tables: vec![looked.content.rewards],
            verdicts: looked.verdicts,
        })
    }
}

/// A look at a file's rows, where they have ids and the file is not too large to be read once more for it.
fn look_at_file(
    path: &Path,
    evaluators: &Evaluators,
    verdicts: KnownVerdicts<'_>,
    how: &LearnOptions,
    host: &dyn LearnHost,
) -> Option<RowScan> {
    let small = path.is_file() && std::fs::metadata(path).is_ok_and(|about| about.len() <= LARGE);
    let open = |roles: &Roles| Table::open_as(&[path.to_path_buf()], &how.reading, roles, true);
    small.then(|| look(open, evaluators, verdicts, how, host)).flatten()
}

/// A look at rows, where they have ids. What cannot be read is not looked at: that is told of when it is learnt.
fn look(
    open: impl FnOnce(&Roles) -> Result<Table, Error>,
    evaluators: &Evaluators,
    verdicts: KnownVerdicts<'_>,
    how: &LearnOptions,
    host: &dyn LearnHost,
) -> Option<RowScan> {
    let roles = Roles {
        learnt_evaluators: evaluators.as_slice().to_vec(),
        key: Some(one_id(&how.roles)?.clone()),
        reward: how.roles.reward.clone(),
        labels: how.roles.labels.clone(),
        reviewer: how.roles.reviewer.clone(),
        ..Roles::default()
    };
    let table = open(&roles).ok().filter(|table| table.receipts_of_picks().is_none())?;
    // Long tables are made wide together, and then have other rows than each of them alone.
    let verdicts = how.reading.long.is_none().then_some(verdicts);
    RowScan::at(&host.prepare(table, |_| false), verdicts).ok()
}

/// Whether a state has learnt what goes by this name.
fn is_learnt(state: Option<&State>, name: &str) -> bool {
    state.is_some_and(|state| state.memory.knows_file(name))
}

/// Whether a state has seen the rows of what goes by this name by picking from them.
fn is_picked_from(state: Option<&State>, name: &str) -> bool {
    state.is_some_and(|state| state.memory.knows_picked_file(name))
}

//! Detection of rows that a state has learnt before. Files are known by their bytes and by the
//! content of their rows, rows in memory by content alone.

use super::{LearnHost, LearnNotice, LearnOptions, OpenAgain};
use crate::error::Error;
use crate::fingerprint::fingerprint;
use crate::format::{RowSource, memory};
use crate::item_hash::ItemHash;
use crate::join_verdicts::ItemList;
use crate::roles::Roles;
use crate::state::State;
use crate::table::Table;
use crate::table_fingerprint::{KnownVerdicts, RowScan};
use jurybox::Evaluators;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The size in bytes up to which a file is read once more to compare its rows.
const LARGE: u64 = 1 << 26;

/// A file to learn from.
struct NewFile {
    path: PathBuf,
    /// Fingerprint of its bytes; `None` for a pipe that was not read yet, and for a file that
    /// cannot be decompressed.
    by_bytes: Option<String>,
    /// The scan of its rows; `None` if they have no ids or the file is too large, for instance.
    scan: Option<RowScan>,
}

/// The fingerprints by which a state remembers what it has learnt.
#[derive(Default)]
pub(super) struct LearntNames {
    /// Fingerprints of files and tables.
    pub(super) tables: Vec<String>,
    /// Hashes of verdicts.
    pub(super) verdicts: Vec<ItemHash>,
}

/// The files that are new to a state.
#[derive(Default)]
pub(super) struct NewFiles {
    files: Vec<NewFile>,
    /// The evaluators for which the rows were scanned; `None` if they were not scanned.
    over: Option<Evaluators>,
}

impl NewFiles {
    /// The files that are new to the state, by bytes and by rows, each once. Reports the files that
    /// are left out. Errors on rows that the state has picked from.
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
                new.files.push(NewFile { path, by_bytes, scan: None });
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

    /// Removes files whose rows were learnt before, in any order or format. Errors on rows that the
    /// state has picked from, even if they have verdicts now.
    fn leave_out_known_rows(
        &mut self,
        state: Option<&State>,
        how: &LearnOptions,
        roles: &Roles,
        host: &mut dyn LearnHost,
    ) -> Result<(), Error> {
        let over = match state {
            Some(state) => state.jury.evaluators().clone(),
            // A new state will have the evaluators of all files together. They are not known before
            // a long table is read, and a single file has no other file to be compared with.
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
            if let Some(scan) = scan_file(&file.path, &over, verdicts, how, host) {
                let name = &scan.content.rewards;
                if is_picked_from(state, &scan.content.scores) {
                    return Err(Error::PickedFrom { path: file.path });
                }
                let same_rows =
                    |other: &NewFile| other.scan.as_ref().is_some_and(|other| other.content.rewards == *name);
                if is_learnt(state, name) || new.iter().any(same_rows) || scan.is_known() {
                    host.notify(LearnNotice::LearntRows { path: file.path });
                    continue;
                }
                items.extend(&scan.verdicts);
                file.scan = Some(scan);
            }
            new.push(file);
        }
        (self.files, self.over) = (new, Some(over));
        Ok(())
    }

    /// Whether any of the files has no fingerprint, such as a pipe, which can be read only once.
    fn are_piped(&self) -> bool {
        self.files.iter().any(|file| file.by_bytes.is_none())
    }

    /// Opens the files. Pipes are copied to temporary files, to take their fingerprints; pipes that
    /// the state has learnt are removed. Files without rows are reported and left out.
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

    /// For each file, the numbers of the rows whose verdicts were learnt before. Also, over all
    /// files, the rows with only a known id.
    pub(super) fn known(&self) -> (Vec<HashSet<u64>>, ItemList) {
        let mut ids = ItemList::default();
        let rows = self.files.iter().map(|file| {
            let Some(scan) = &file.scan else { return HashSet::new() };
            ids.join(&scan.known_ids);
            scan.known.clone()
        });
        (rows.collect(), ids)
    }

    /// The fingerprints by which a state with these `evaluators` will remember the files and rows.
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
            let scan = if named { file.scan } else { scan_file(&file.path, evaluators, verdicts, how, host) };
            let Some(scan) = scan else { continue };
            by_rows.push(scan.content.rewards);
            names.verdicts.extend(scan.verdicts);
        }
        names.tables.extend(by_rows);
        names
    }
}

impl RowScan {
    /// Whether the verdicts of all rows were learnt before.
    fn is_known(&self) -> bool {
        self.rows > 0 && self.known.len() as u64 == self.rows
    }
}

/// The hashes of all items and verdicts that the state has learnt.
fn known_items(state: Option<&State>) -> HashSet<ItemHash> {
    let Some(State { memory, .. }) = state else { return HashSet::new() };
    let mut items = memory.items();
    items.extend(memory.verdicts_of_tables());
    items
}

/// Whether the reward is inverted.
fn is_turned(roles: &Roles) -> bool {
    roles.reward.as_ref().is_some_and(|reward| roles.invert.contains(reward))
}

/// The column of ids if there is exactly one, which the comparison of rows needs.
fn one_id(roles: &Roles) -> Option<&String> {
    if let [id] = &roles.id[..] { Some(id) } else { None }
}

/// Rows in memory to learn from.
pub(super) struct NewRows<'a> {
    open: OpenAgain<'a>,
    /// The scan of the rows, with the evaluators for which it was made.
    scan: Option<(Evaluators, RowScan)>,
}

impl<'a> NewRows<'a> {
    /// The rows, or `None` if the state has learnt them, which is reported. Errors on rows that the
    /// state has picked from. Rows without ids always count as new: equal scores can be different
    /// items.
    pub(super) fn of(
        open: OpenAgain<'a>,
        state: Option<&State>,
        how: &LearnOptions,
        roles: &Roles,
        host: &mut dyn LearnHost,
    ) -> Result<Option<NewRows<'a>>, Error> {
        let (Some(before), false) = (state, how.again) else {
            return Ok(Some(NewRows { open, scan: None }));
        };
        let over = before.jury.evaluators();
        let verdicts = KnownVerdicts { items: &known_items(state), turned: is_turned(roles) };
        let Some(scan) = scan_rows(|roles| open(&how.reading, roles, true), over, verdicts, how, host) else {
            return Ok(Some(NewRows { open, scan: None }));
        };
        if is_picked_from(state, &scan.content.scores) {
            return Err(Error::PickedFrom { path: memory::NAME.into() });
        }
        if is_learnt(state, &scan.content.rewards) || scan.is_known() {
            host.notify(LearnNotice::LearntRows { path: memory::NAME.into() });
            return Ok(None);
        }
        Ok(Some(NewRows { open, scan: Some((over.clone(), scan)) }))
    }

    /// The numbers of the rows whose verdicts were learnt before; and the rows of which only the id
    /// is known.
    pub(super) fn known(&self) -> (Vec<HashSet<u64>>, ItemList) {
        match &self.scan {
            Some((_, scan)) => (vec![scan.known.clone()], scan.known_ids.clone()),
            None => (Vec::new(), ItemList::default()),
        }
    }

    pub(super) fn open(&self, how: &LearnOptions, roles: &Roles) -> Result<Table, Error> {
        (self.open)(&how.reading, roles, false)
    }

    /// The fingerprints by which a state with these `evaluators` will remember the rows.
    pub(super) fn names(
        self,
        evaluators: &Evaluators,
        roles: &Roles,
        how: &LearnOptions,
        host: &dyn LearnHost,
    ) -> LearntNames {
        let scan = match self.scan {
            Some((over, scan)) if over == *evaluators => Some(scan),
            _ => {
                let open = |roles: &Roles| (self.open)(&how.reading, roles, true);
                let verdicts = KnownVerdicts { items: &HashSet::new(), turned: is_turned(roles) };
                scan_rows(open, evaluators, verdicts, how, host)
            }
        };
        scan.map_or_else(LearntNames::default, |scan| LearntNames {
            tables: vec![scan.content.rewards],
            verdicts: scan.verdicts,
        })
    }
}

/// Scans the rows of a file for fingerprints. `None` if the file is a pipe or over [`LARGE`] bytes,
/// and whenever [`scan_rows`] returns `None`.
fn scan_file(
    path: &Path,
    evaluators: &Evaluators,
    verdicts: KnownVerdicts<'_>,
    how: &LearnOptions,
    host: &dyn LearnHost,
) -> Option<RowScan> {
    let small = path.is_file() && std::fs::metadata(path).is_ok_and(|about| about.len() <= LARGE);
    let open = |roles: &Roles| Table::open_as(&[path.to_path_buf()], &how.reading, roles, true);
    small.then(|| scan_rows(open, evaluators, verdicts, how, host)).flatten()
}

/// Scans rows for fingerprints. `None` if they have no single id column, are picks, or cannot be
/// read; in the last case, learning them reports the error.
fn scan_rows(
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
    // Verdicts of long tables are not compared. Learning makes all files wide together, so its rows
    // may differ from the rows of one file.
    let verdicts = how.reading.long.is_none().then_some(verdicts);
    RowScan::of(&host.prepare(table, |_| false), verdicts).ok()
}

/// Whether the state has learnt a file or table with this fingerprint.
fn is_learnt(state: Option<&State>, name: &str) -> bool {
    state.is_some_and(|state| state.memory.knows_file(name))
}

/// Whether the state has picked from a file or table with this fingerprint.
fn is_picked_from(state: Option<&State>, name: &str) -> bool {
    state.is_some_and(|state| state.memory.knows_picked_file(name))
}

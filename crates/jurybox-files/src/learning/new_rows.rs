//! Which rows are new to a state: those of files by their bytes and by what is in them, those without a file by the latter alone.

use super::{Host, Learning, OpenAgain, Told};
use crate::content::Content;
use crate::error::Error;
use crate::fingerprint::fingerprint;
use crate::format::{Source, memory};
use crate::roles::Roles;
use crate::state::State;
use crate::table::Table;
use jurybox::Evaluators;
use std::path::{Path, PathBuf};

/// Larger files, in bytes, are not read once more to know their rows again.
const LARGE: u64 = 1 << 26;

/// A file that is to be learnt.
struct NewFile {
    path: PathBuf,
    /// Its name by its bytes; none of a pipe that has not been read.
    by_bytes: Option<String>,
    /// Its name by its rows, where they were looked at.
    by_rows: Option<String>,
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
        how: &Learning,
        roles: &Roles,
        host: &mut dyn Host,
    ) -> Result<NewFiles, Error> {
        let mut new = NewFiles::default();
        for path in paths {
            let by_bytes = fingerprint(&path)?;
            if how.again || new.has_new_bytes(&path, by_bytes.as_ref(), state, host)? {
                new.files.push(NewFile { path, by_bytes, by_rows: None });
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
        host: &mut dyn Host,
    ) -> Result<bool, Error> {
        let Some(name) = name else { return Ok(true) };
        if is_learnt(state, name) || self.files.iter().any(|other| other.by_bytes.as_ref() == Some(name)) {
            host.tell(Told::Known { path: path.into() });
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
        how: &Learning,
        roles: &Roles,
        host: &mut dyn Host,
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
                Table::open_as(&self.paths(), &how.reading, roles, true)?.taken().evaluators().clone()
            }
            None => return Ok(()),
        };
        let mut new: Vec<NewFile> = Vec::new();
        for mut file in std::mem::take(&mut self.files) {
            if let Some(content) = content_of_file(&file.path, &over, how, host) {
                if is_picked_from(state, &content.scores) {
                    return Err(Error::PickedFrom { path: file.path });
                }
                let by_rows = Some(content.rewards);
                let known = by_rows.as_ref().is_some_and(|name| is_learnt(state, name));
                if known || new.iter().any(|other| other.by_rows == by_rows) {
                    host.tell(Told::KnownRows { path: file.path });
                    continue;
                }
                file.by_rows = by_rows;
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
        how: &Learning,
        host: &mut dyn Host,
    ) -> Result<Vec<Box<dyn Source>>, Error> {
        let piped = self.are_piped();
        let mut sources = Table::sources(&self.paths(), &how.reading, piped)?;
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

    /// What a state that has learnt them over these evaluators remembers them by.
    pub(super) fn names(self, evaluators: &Evaluators, how: &Learning, host: &dyn Host) -> Vec<String> {
        let named = self.over.as_ref() == Some(evaluators);
        let by_rows = |file: &NewFile| {
            let looked_at = || Some(content_of_file(&file.path, evaluators, how, host)?.rewards);
            if named { file.by_rows.clone() } else { looked_at() }
        };
        let by_rows: Vec<String> = self.files.iter().filter_map(by_rows).collect();
        self.files.into_iter().filter_map(|file| file.by_bytes).chain(by_rows).collect()
    }
}

/// The one column of ids, by which rows are known again.
fn one_id(roles: &Roles) -> Option<&String> {
    if let [id] = &roles.id[..] { Some(id) } else { None }
}

/// Rows without a file that are to be learnt.
pub(super) struct NewRows<'a> {
    open: OpenAgain<'a>,
    /// Their name and the evaluators over which it is one, where they were looked at.
    named: Option<(Evaluators, String)>,
}

impl<'a> NewRows<'a> {
    /// These rows; none where the state has learnt them, which is told. Refuses what was picked from. Without one column of ids they
    /// are always new: rows with the same scores need not be the same items.
    pub(super) fn of(
        open: OpenAgain<'a>,
        state: Option<&State>,
        how: &Learning,
        host: &mut dyn Host,
    ) -> Result<Option<NewRows<'a>>, Error> {
        let (Some(before), false) = (state, how.again) else {
            return Ok(Some(NewRows { open, named: None }));
        };
        let over = before.jury.evaluators();
        let Some(Content { scores, rewards }) =
            content(|roles| open(&how.reading, roles, true), over, how, host)
        else {
            return Ok(Some(NewRows { open, named: None }));
        };
        if is_picked_from(state, &scores) {
            return Err(Error::PickedFrom { path: memory::NAME.into() });
        }
        if is_learnt(state, &rewards) {
            host.tell(Told::KnownRows { path: memory::NAME.into() });
            return Ok(None);
        }
        Ok(Some(NewRows { open, named: Some((over.clone(), rewards)) }))
    }

    pub(super) fn open(&self, how: &Learning, roles: &Roles) -> Result<Table, Error> {
        (self.open)(&how.reading, roles, false)
    }

    /// What a state that has learnt them over these evaluators remembers them by.
    pub(super) fn name(self, evaluators: &Evaluators, how: &Learning, host: &dyn Host) -> Option<String> {
        match self.named {
            Some((over, name)) if over == *evaluators => Some(name),
            _ => {
                let open = |roles: &Roles| (self.open)(&how.reading, roles, true);
                Some(content(open, evaluators, how, host)?.rewards)
            }
        }
    }
}

/// The names of a file's rows, where they have ids and the file is not too large to be read once more for it.
fn content_of_file(path: &Path, evaluators: &Evaluators, how: &Learning, host: &dyn Host) -> Option<Content> {
    let small = path.is_file() && std::fs::metadata(path).is_ok_and(|about| about.len() <= LARGE);
    let open = |roles: &Roles| Table::open_as(&[path.to_path_buf()], &how.reading, roles, true);
    small.then(|| content(open, evaluators, how, host)).flatten()
}

/// The names of rows, where they have ids. What cannot be read has none: that is told of when it is learnt.
fn content(
    open: impl FnOnce(&Roles) -> Result<Table, Error>,
    evaluators: &Evaluators,
    how: &Learning,
    host: &dyn Host,
) -> Option<Content> {
    let roles = Roles {
        seated: evaluators.as_slice().to_vec(),
        key: Some(one_id(&how.roles)?.clone()),
        reward: how.roles.reward.clone(),
        ..Roles::default()
    };
    let table = open(&roles).ok().filter(|table| table.receipts_of_picks().is_none())?;
    Content::of(&host.hold(table, |_| false)).ok()
}

/// Whether a state has learnt what goes by this name.
fn is_learnt(state: Option<&State>, name: &str) -> bool {
    state.is_some_and(|state| state.memory.knows_file(name))
}

/// Whether a state has seen the rows of what goes by this name by picking from them.
fn is_picked_from(state: Option<&State>, name: &str) -> bool {
    state.is_some_and(|state| state.memory.knows_picked_file(name))
}

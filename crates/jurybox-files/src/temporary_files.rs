//! Files that are not whole yet, and what is left of them when a run is killed.
//!
//! Whoever writes one holds a lock on it, which the system lets go of when the process ends, however it ends. So one that
//! nobody holds is litter, and the next run that writes to the folder takes it away.

use crate::destination::folder_of;
use crate::error::Error;
use crate::open_regular::open_plain;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

const PREFIX: &str = ".jurybox-";
const SUFFIX: &str = ".part";

/// Begins a file beside `path`, with the owner and the permissions of the one that is there already, and takes away what runs
/// that were killed left there.
pub(crate) fn begin(path: &Path, about: Option<&Metadata>) -> Result<NamedTempFile, Error> {
    let failed = |e| Error::io(path, "write", e);
    let folder = folder_of(path);
    sweep(folder);
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        // As a file of the person's own making would be; where one is there already, closed until it has that one's.
        use std::os::unix::fs::PermissionsExt;
        let mode = if about.is_some() { 0o600 } else { 0o666 };
        builder.permissions(std::fs::Permissions::from_mode(mode));
    }
    loop {
        let file = builder.tempfile_in(folder).map_err(|e| {
            // What is wrong with the folder is said without the name of a file that nobody has asked for.
            failed(std::fs::read_dir(folder).err().unwrap_or(e))
        })?;
        // A file system without locks has no sweeping either: it would find this one locked as little as any other.
        if file.as_file().lock().is_ok() && !file.path().exists() {
            // Another run swept it away between its making and its locking.
            continue;
        }
        if let Some(about) = about {
            hand_on(about, file.as_file()).map_err(failed)?;
        }
        return Ok(file);
    }
}

/// Gives a file the permissions of the one whose place it takes, and its owner and group as far as the system lets us.
#[cfg(unix)]
pub(crate) fn hand_on(about: &Metadata, to: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let (owner, group) = (about.uid(), about.gid());
    let here = to.metadata()?;
    let mut mode = about.mode() & 0o777;
    if (here.uid(), here.gid()) != (owner, group)
        && fchown(to, Some(owner), Some(group)).is_err()
        && here.gid() != group
        && fchown(to, None, Some(group)).is_err()
    {
        // What a group may do was meant for that group and for no other.
        mode &= !0o070;
    }
    to.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(crate) fn hand_on(about: &Metadata, to: &File) -> io::Result<()> {
    to.set_permissions(about.permissions())
}

/// Takes away the unfinished files of a folder that nobody works on. What cannot be taken away stays.
fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if !name.starts_with(PREFIX) || !name.ends_with(SUFFIX) {
            continue;
        }
        // Looked at before it is opened: a link leads elsewhere.
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(file) = open_plain(&entry.path(), None) else { continue };
        // The lock is held until after the removal, so that its maker cannot take it up in between.
        if file.try_lock().is_ok() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_swept_and_what_is_being_written_stays() {
        let dir = tempfile::tempdir().unwrap();
        let left = dir.path().join(".jurybox-killed.part");
        let other = dir.path().join(".notes.part");
        for path in [&left, &other] {
            std::fs::write(path, "half").unwrap();
        }
        let first = begin(&dir.path().join("a.csv"), None).unwrap();
        assert!(!left.exists() && other.exists());
        let second = begin(&dir.path().join("b.csv"), None).unwrap();
        assert!(first.path().exists() && second.path().exists());
    }
}

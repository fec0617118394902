//! Temporary output files, and removal of the leftovers of killed runs.
//!
//! A run holds a lock on its temporary file, which the system releases when the process ends. An
//! unlocked temporary file is therefore abandoned. The next run that writes to the folder removes
//! it.

use crate::destination::folder_of;
use crate::error::Error;
use crate::open_regular::open_plain;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

const PREFIX: &str = ".jurybox-";
const SUFFIX: &str = ".part";

/// Creates a temporary file next to `path`, with the permissions and the owner of an existing file.
/// Abandoned temporary files in the folder are removed.
pub(crate) fn begin(path: &Path, about: Option<&Metadata>) -> Result<NamedTempFile, Error> {
    let failed = |e| Error::io(path, "write", e);
    let folder = folder_of(path);
    sweep(folder);
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        // The usual mode of a new file. A file that will replace another is private until it gets
        // the mode of that file.
        use std::os::unix::fs::PermissionsExt;
        let mode = if about.is_some() { 0o600 } else { 0o666 };
        builder.permissions(std::fs::Permissions::from_mode(mode));
    }
    loop {
        let file = builder.tempfile_in(folder).map_err(|e| {
            // An error of the folder is reported as such, without the name of the temporary file.
            failed(std::fs::read_dir(folder).err().unwrap_or(e))
        })?;
        // Without file locks, sweeping does not work either, so that this file is safe.
        if file.as_file().lock().is_ok() && !file.path().exists() {
            // Another run removed it between its creation and its locking.
            continue;
        }
        if let Some(about) = about {
            copy_owner(about, file.as_file()).map_err(failed)?;
        }
        return Ok(file);
    }
}

/// Copies permissions to a file and, as far as the system allows, owner and group.
#[cfg(unix)]
pub(crate) fn copy_owner(about: &Metadata, to: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let (owner, group) = (about.uid(), about.gid());
    let here = to.metadata()?;
    let mut mode = about.mode() & 0o777;
    if (here.uid(), here.gid()) != (owner, group)
        && fchown(to, Some(owner), Some(group)).is_err()
        && here.gid() != group
        && fchown(to, None, Some(group)).is_err()
    {
        // The permissions of the old group must not apply to another one.
        mode &= !0o070;
    }
    to.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(crate) fn copy_owner(about: &Metadata, to: &File) -> io::Result<()> {
    to.set_permissions(about.permissions())
}

/// Removes the abandoned temporary files of a folder. Failures are ignored.
fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if !name.starts_with(PREFIX) || !name.ends_with(SUFFIX) {
            continue;
        }
        // Checked before opening it, so that links are not followed.
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(file) = open_plain(&entry.path(), None) else { continue };
        // The lock is held until after the removal, so that its creator cannot lock it in between.
        if file.try_lock().is_ok() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abandoned_files_are_removed_and_open_ones_stay() {
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

//! Opening of regular files, never of a pipe or device put in their place.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a regular file, for reading unless `options` says otherwise. Anything else is an error.
///
/// On Unix it never blocks: a pipe, which blocks until its other end opens, could have replaced the
/// file since it was checked.
pub(crate) fn open_plain(path: &Path, options: Option<&OpenOptions>) -> io::Result<File> {
    let mut options = options.cloned().unwrap_or_else(|| OpenOptions::new().read(true).clone());
    without_waiting(&mut options);
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    // The flag has no effect on regular files.
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
}

#[cfg(not(unix))]
fn without_waiting(_options: &mut OpenOptions) {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        // Without the flag, this call would block forever.
        assert!(open_plain(&path, None).is_err());
        std::fs::write(dir.path().join("file"), "x").unwrap();
        assert!(open_plain(&dir.path().join("file"), None).is_ok());
    }
}

//! Opening plain files, and nothing that was put in their place since they were looked at.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a plain file for reading, by `options` where more is wanted. What is none is refused, and not waited for: opening a pipe
/// waits for its other end, and whoever can write to the folder could put one there between the look and the opening.
pub(crate) fn open_plain(path: &Path, options: Option<&OpenOptions>) -> io::Result<File> {
    let mut options = options.cloned().unwrap_or_else(|| OpenOptions::new().read(true).clone());
    without_waiting(&mut options);
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a plain file")) }
}

#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    // To a plain file it makes no difference.
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
        // Without the flag this test would never end: nobody has the other end.
        assert!(open_plain(&path, None).is_err());
        std::fs::write(dir.path().join("file"), "x").unwrap();
        assert!(open_plain(&dir.path().join("file"), None).is_ok());
    }
}

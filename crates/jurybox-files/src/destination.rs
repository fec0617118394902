//! Where a name leads when something is written to it: to standard output, through a device or a pipe, or to a file.

use crate::error::Error;
use std::fs::{File, OpenOptions, Permissions};
use std::path::{Path, PathBuf};

/// How many links are followed before they are taken to go round in circles; Linux's own limit.
const MOST_LINKS: usize = 40;

/// Where something that is written goes.
#[derive(Debug)]
pub(crate) enum Destination {
    Stdout,
    /// A device, a pipe, or what another program has open: written to, and never replaced.
    Through(File),
    /// A file to be put in its place when it is whole.
    File {
        /// The file itself, links followed.
        path: PathBuf,
        /// Those of the file that is there already, which stay.
        permissions: Option<Permissions>,
    },
}

impl Destination {
    pub(crate) fn of(path: &Path) -> Result<Destination, Error> {
        if path.as_os_str() == "-" || leads_through(path, &STDOUT)? {
            return Ok(Destination::Stdout);
        }
        let failed = |e| Error::io(path, "write", e);
        let about = std::fs::metadata(path).ok();
        if about.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(Error::Directory { path: path.into() });
        }
        // What is open already goes on where it stands, even where it is a file: `--out /dev/fd/3 3>>log` adds to it.
        if leads_through(path, &["/dev/fd", "/dev/stderr", "/proc"])?
            || about.as_ref().is_some_and(|about| !about.is_file())
        {
            let file = OpenOptions::new().append(true).open(path).map_err(failed)?;
            return Ok(Destination::Through(file));
        }
        let permissions = about.map(|about| about.permissions());
        if permissions.as_ref().is_some_and(Permissions::readonly) {
            // Renaming would replace a file that was protected from writing.
            let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
            return Err(failed(denied));
        }
        Ok(Destination::File { path: followed(path)?, permissions })
    }
}

const STDOUT: [&str; 4] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1"];

/// Whether a path is one of these, or below one, itself or by a link on its way.
fn leads_through(path: &Path, places: &[&str]) -> Result<bool, Error> {
    let mut found = false;
    follow(path, |step| found |= places.iter().any(|place| step.starts_with(place)))?;
    Ok(found)
}

/// The file that a path means: links followed, even where the last one leads to a file that is not there yet.
///
/// ```
/// # #[cfg(unix)] {
/// let dir = tempfile::tempdir()?;
/// std::os::unix::fs::symlink("model.json", dir.path().join("current.json"))?;
/// let file = jurybox_files::followed(&dir.path().join("current.json"))?;
/// assert_eq!(file, dir.path().join("model.json"));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn followed(path: &Path) -> Result<PathBuf, Error> {
    follow(path, |_| {})
}

fn follow(path: &Path, mut each: impl FnMut(&Path)) -> Result<PathBuf, Error> {
    let mut at = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        each(&at);
        match std::fs::read_link(&at) {
            Ok(next) => at = folder_of(&at).join(next),
            // Not a link, or not there: this is the file.
            Err(_) => return Ok(at),
        }
    }
    Err(Error::io(path, "write", std::io::Error::other("its links go round in circles")))
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Refuses to write over what is read: the same file by whatever name.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("posts.csv");
/// std::fs::write(&path, "spam\n1\n")?;
/// let again = dir.path().join(".").join("posts.csv");
/// let error = jurybox_files::refuse_overwriting(&[path], &again).unwrap_err();
/// assert_eq!(error.code(), "overwrites-input");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn refuse_overwriting(inputs: &[PathBuf], out: &Path) -> Result<(), Error> {
    // What is not a file yet cannot be one of the inputs, and a device can be read and written at once.
    if !out.is_file() {
        return Ok(());
    }
    match inputs.iter().find(|input| same_file(input, out)) {
        Some(input) => Err(Error::Overwrites { path: out.into(), input: input.clone() }),
        None => Ok(()),
    }
}

#[cfg(unix)]
fn same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (std::fs::metadata(a), std::fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

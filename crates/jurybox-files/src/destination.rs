//! Resolution of output paths: standard output, a device or pipe, or a file.

use crate::error::Error;
use std::fs::{File, Metadata, OpenOptions};
use std::path::{Path, PathBuf};

/// A chain of this many symbolic links is taken for a loop. Linux follows up to 40.
const MOST_LINKS: usize = 40;

/// The target of an output path. A target that is written directly is open already.
#[derive(Debug)]
pub(crate) enum Destination {
    Stdout,
    /// A device, a pipe, or an open file descriptor: written directly, never replaced.
    Through(File),
    /// A file that is replaced once the output is complete.
    File {
        /// The file's path, with links followed.
        path: PathBuf,
        /// Metadata of an existing file: permissions and, where allowed, owner are kept.
        about: Option<Metadata>,
    },
}

impl Destination {
    /// Resolves an output path. A device or pipe is opened for appending; a write-protected file is
    /// an error.
    pub(crate) fn of(path: &Path) -> Result<Destination, Error> {
        let failed = |e| Error::io(path, "write", e);
        Ok(match DestinationKind::of(path)? {
            DestinationKind::ToStdout => Destination::Stdout,
            DestinationKind::Through => {
                Destination::Through(OpenOptions::new().append(true).open(path).map_err(failed)?)
            }
            DestinationKind::ToFile { about, .. }
                if about.as_ref().is_some_and(|about| about.permissions().readonly()) =>
            {
                // Renaming over the file would bypass its write protection.
                return Err(failed(std::io::Error::from(std::io::ErrorKind::PermissionDenied)));
            }
            DestinationKind::ToFile { path, about } => Destination::File { path, about },
        })
    }
}

/// The target of an output path, determined without opening anything.
#[derive(Debug)]
pub(crate) enum DestinationKind {
    ToStdout,
    Through,
    ToFile { path: PathBuf, about: Option<Metadata> },
}

impl DestinationKind {
    /// Resolves an output path without opening it. Errors on a folder and on a loop of links.
    pub(crate) fn of(path: &Path) -> Result<DestinationKind, Error> {
        if path.as_os_str() == "-" || leads_through(path, &STDOUT)? {
            return Ok(DestinationKind::ToStdout);
        }
        let about = std::fs::metadata(path).ok();
        if about.as_ref().is_some_and(Metadata::is_dir) {
            return Err(Error::Directory { path: path.into() });
        }
        // An open file descriptor is written at its position, even if it is a file: `--out
        // /dev/fd/3 3>>log` appends to the log.
        if leads_through(path, &["/dev/fd", "/dev/stderr", "/proc"])?
            || about.as_ref().is_some_and(|about| !about.is_file())
        {
            return Ok(DestinationKind::Through);
        }
        Ok(DestinationKind::ToFile { path: followed(path)?, about })
    }
}

const STDOUT: [&str; 4] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1"];

/// Whether a path, or the target of a link that it leads through, is one of `places` or below.
fn leads_through(path: &Path, places: &[&str]) -> Result<bool, Error> {
    let mut found = false;
    follow(path, |step| found |= places.iter().any(|place| step.starts_with(place)))?;
    Ok(found)
}

/// The file that a path leads to, with links followed. The last link may lead to a missing file.
/// Errors if the links form a loop.
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

/// Follows symbolic links to the file, calling `each` with every path on the way.
fn follow(path: &Path, mut each: impl FnMut(&Path)) -> Result<PathBuf, Error> {
    let mut at = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        each(&at);
        match std::fs::read_link(&at) {
            Ok(next) => at = folder_of(&at).join(next),
            // Not a link, or missing: this is the file.
            Err(_) => return Ok(at),
        }
    }
    Err(Error::io(path, "write", std::io::Error::other("its symbolic links form a loop")))
}

/// The folder of a file; `.` for a bare file name.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// File name endings of formats that cannot be written, with the name of each format.
const FOREIGN: &[(&[&str], &str)] = &[
    (&["xlsx", "xlsm", "xls"], "an Excel workbook"),
    (&["ods"], "an OpenDocument spreadsheet"),
    (&["feather", "arrow", "ipc"], "an Arrow (Feather) file"),
    (&["orc"], "an ORC file"),
    (&["avro"], "an Avro file"),
    (&["db", "sqlite", "duckdb"], "a database"),
    (&["zip", "xz", "bz2"], "an archive or another compression"),
    (&["pkl", "pickle", "npy", "h5"], "a Python or HDF5 file"),
];

/// Errors if the ending names a format that cannot be written: the content would be in another
/// format.
pub(crate) fn refuse_foreign(out: &Path) -> Result<(), Error> {
    let ending = out.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let says =
        |(endings, _): &&(&[&str], &str)| ending.as_deref().is_some_and(|ending| endings.contains(&ending));
    match FOREIGN.iter().find(says) {
        Some((_, what)) => Err(Error::ForeignOutput { path: out.into(), what }),
        None => Ok(()),
    }
}

/// Errors if the file `out` is one of the `others`, under whatever name, whether it exists yet or
/// not. Standard output, devices and pipes are no error.
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
pub fn refuse_overwriting(others: &[PathBuf], out: &Path) -> Result<(), Error> {
    // A device can be read and written at once.
    if out.as_os_str() == "-" || (out.exists() && !out.is_file()) {
        return Ok(());
    }
    match others.iter().find(|other| same_file(other, out)) {
        Some(input) => Err(Error::Overwrites { path: out.into(), input: input.clone() }),
        None => Ok(()),
    }
}

fn same_file(a: &Path, b: &Path) -> bool {
    match (std::fs::metadata(a), std::fs::metadata(b)) {
        (Ok(one), Ok(other)) => is_same(a, &one, b, &other),
        // Neither exists yet, but both names may lead to one file.
        (Err(_), Err(_)) => future_path(a).is_some_and(|a| future_path(b) == Some(a)),
        _ => false,
    }
}

#[cfg(unix)]
fn is_same(_: &Path, one: &Metadata, _: &Path, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(a: &Path, _: &Metadata, b: &Path, _: &Metadata) -> bool {
    a.canonicalize().ok().is_some_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// The canonical path of a file that does not exist yet.
fn future_path(path: &Path) -> Option<PathBuf> {
    let file = followed(path).ok()?;
    Some(folder_of(&file).canonicalize().ok()?.join(file.file_name()?))
}

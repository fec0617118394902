//! What goes out: documents and tables, plain or compressed; aside first, renamed when whole.

use crate::column::Slab;
use crate::destination::Destination;
use crate::error::Error;
use crate::format::Format;
use crate::terminal::Stdout;
use crate::unfinished;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where a document or a table goes: aside first, and in its place only when it is whole.
///
/// ```
/// use std::io::Write;
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("report.html");
/// let mut aside = jurybox_files::Aside::new(&path)?;
/// aside.write_all(b"<p>half")?;
/// drop(aside); // something failed: nothing is left behind
/// assert_eq!(std::fs::read_dir(dir.path())?.count(), 0);
///
/// let mut aside = jurybox_files::Aside::new(&path)?;
/// aside.write_all(b"<p>whole")?;
/// aside.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"<p>whole");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Aside {
    path: PathBuf,
    to: To,
}

#[derive(Debug)]
enum To {
    File(BufWriter<NamedTempFile>),
    Stdout(BufWriter<Stdout>),
    /// A device or a pipe: there is nothing to rename.
    Through(BufWriter<std::fs::File>),
    /// Wherever else bytes can go.
    Stream(Stream),
}

struct Stream(BufWriter<Box<dyn Write + Send>>);

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stream")
    }
}

impl Aside {
    /// Begins a file beside the one that `path` leads to, or writes through where it is `-`, a device or a pipe. A file that
    /// is there already hands on its permissions, and its owner where the system lets us.
    pub fn new(path: &Path) -> Result<Aside, Error> {
        Ok(match Destination::of(path)? {
            Destination::Stdout => {
                let out = BufWriter::with_capacity(1 << 16, Stdout::new());
                Aside { path: "standard output".into(), to: To::Stdout(out) }
            }
            Destination::Through(file) => {
                Aside { path: path.into(), to: To::Through(BufWriter::with_capacity(1 << 16, file)) }
            }
            Destination::File { path, about } => {
                let file = unfinished::begin(&path, about.as_ref())?;
                Aside { path, to: To::File(BufWriter::with_capacity(1 << 16, file)) }
            }
        })
    }

    /// Begins a file that takes this very name, whatever stands there: a link that somebody has put in a folder for all is replaced,
    /// and not followed.
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use std::io::Write;
    ///
    /// let dir = tempfile::tempdir()?;
    /// let (path, diary) = (dir.path().join("page.html"), dir.path().join("diary.txt"));
    /// std::fs::write(&diary, "mine")?;
    /// std::os::unix::fs::symlink(&diary, &path)?;
    /// let mut aside = jurybox_files::Aside::replacing(&path)?;
    /// aside.write_all(b"<p>whole")?;
    /// aside.finish()?;
    /// assert_eq!((std::fs::read(&path)?, std::fs::read(&diary)?), (b"<p>whole".to_vec(), b"mine".to_vec()));
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replacing(path: &Path) -> Result<Aside, Error> {
        let file = BufWriter::with_capacity(1 << 16, unfinished::begin(path, None)?);
        Ok(Aside { path: path.into(), to: To::File(file) })
    }

    /// Writes through to whatever takes bytes.
    pub(crate) fn stream(out: Box<dyn Write + Send>) -> Aside {
        let out = BufWriter::with_capacity(1 << 16, out);
        Aside { path: "the stream".into(), to: To::Stream(Stream(out)) }
    }

    /// Writes out what is left and puts the file in its place.
    pub fn finish(mut self) -> Result<(), Error> {
        self.settle().map_err(|e| self.failed(e))?;
        let failed = |e| Error::io(&self.path, "write", e);
        match self.to {
            To::Stdout(_) | To::Through(_) | To::Stream(_) => Ok(()),
            To::File(out) => {
                let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
                file.persist(&self.path).map(drop).map_err(|e| failed(e.error))
            }
        }
    }

    /// Writes out what is left. A file is on disk before it takes its name: a crash leaves the old one or the new one.
    fn settle(&mut self) -> io::Result<()> {
        self.flush()?;
        match &self.to {
            To::File(out) => out.get_ref().as_file().sync_all(),
            _ => Ok(()),
        }
    }

    /// What messages call it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::io(&self.path, "write", error)
    }
}

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::File(out) => out.write(bytes),
            To::Stdout(out) => out.write(bytes),
            To::Through(out) => out.write(bytes),
            To::Stream(out) => out.0.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::File(out) => out.flush(),
            To::Stdout(out) => out.flush(),
            To::Through(out) => out.flush(),
            To::Stream(out) => out.0.flush(),
        }
    }
}

/// Writes a whole document.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// jurybox_files::write_whole(&dir.path().join("a.json"), "{}\n")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_whole(path: &Path, text: &str) -> Result<(), Error> {
    Ready::new(path, text)?.publish()
}

/// A document that is written, and has yet to take its name: what can fail has not failed, and nothing has changed.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("a.json");
/// let ready = jurybox_files::Ready::new(&path, "{}\n")?;
/// assert!(!path.exists());
/// ready.publish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "{}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Ready {
    aside: Aside,
    /// What goes to a place that has no name to take, and is written at the last moment.
    text: Option<String>,
}

impl Ready {
    /// Writes a whole document aside, down to the disk.
    pub fn new(path: &Path, text: impl Into<String>) -> Result<Ready, Error> {
        let (mut aside, text) = (Aside::new(path)?, text.into());
        if !matches!(aside.to, To::File(_)) {
            return Ok(Ready { aside, text: Some(text) });
        }
        let written = aside.write_all(text.as_bytes()).and_then(|()| aside.settle());
        written.map_err(|e| aside.failed(e))?;
        Ok(Ready { aside, text: None })
    }

    /// Puts it in its place.
    pub fn publish(mut self) -> Result<(), Error> {
        let text = self.text.unwrap_or_default();
        self.aside.write_all(text.as_bytes()).map_err(|e| self.aside.failed(e))?;
        self.aside.finish()
    }
}

/// A table being written, in one format.
pub(crate) trait Sink: Send {
    /// Writes some rows.
    fn write(&mut self, slab: &Slab) -> Result<(), Error>;

    /// Puts the finished file in its place.
    fn finish(self: Box<Self>) -> Result<(), Error>;
}

/// How a table is written.
///
/// ```
/// use jurybox_files::{Format, Layout};
/// let plain = Layout::from(Format::Csv);
/// assert!(!plain.safe_csv && Layout { safe_csv: true, ..plain }.format == Format::Csv);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The format where the file's name does not say one.
    pub format: Format,
    /// Whether cells of a CSV that a spreadsheet would run are to be [text](crate::without_formula).
    pub safe_csv: bool,
}

impl From<Format> for Layout {
    fn from(format: Format) -> Layout {
        Layout { format, safe_csv: false }
    }
}

/// A table being written.
pub(crate) struct Writer {
    sink: Box<dyn Sink>,
    /// Whether a spreadsheet must find no formula.
    safe: bool,
}

impl Writer {
    /// Begins a table; the format is what the name says, otherwise that of the layout.
    pub(crate) fn new(path: &Path, layout: impl Into<Layout>) -> Result<Writer, Error> {
        let layout = layout.into();
        let format = Format::of_name(&path.to_string_lossy()).unwrap_or(layout.format);
        Writer::in_format(Aside::new(path)?, path, format, layout.safe_csv)
    }

    /// Begins a table that has no name.
    pub(crate) fn over(aside: Aside, layout: impl Into<Layout>) -> Result<Writer, Error> {
        let layout = layout.into();
        Writer::in_format(aside, Path::new(""), layout.format, layout.safe_csv)
    }

    fn in_format(aside: Aside, name: &Path, format: Format, safe_csv: bool) -> Result<Writer, Error> {
        let sink = (format.about().create)(aside, name)?;
        Ok(Writer { sink, safe: safe_csv && format == Format::Csv })
    }

    pub(crate) fn write(&mut self, slab: &Slab) -> Result<(), Error> {
        if self.safe { self.sink.write(&slab.without_formulas()) } else { self.sink.write(slab) }
    }

    /// Puts the finished file in its place.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.sink.finish()
    }
}

/// Text on its way out, compressed as the name says.
pub(crate) struct Squeeze {
    /// As messages are to name it: `-` is standard output.
    path: PathBuf,
    by: By,
}

enum By {
    Nothing(Aside),
    Gzip(flate2::write::GzEncoder<Aside>),
    Zstd(zstd::stream::write::Encoder<'static, Aside>),
}

impl Squeeze {
    pub(crate) fn new(aside: Aside, name: &Path) -> Result<Squeeze, Error> {
        let path = aside.path().to_path_buf();
        let ending = name.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        let by = match ending.as_deref() {
            Some("gz") => By::Gzip(flate2::write::GzEncoder::new(aside, flate2::Compression::default())),
            Some("zst") => {
                let encoder = zstd::stream::write::Encoder::new(aside, 3);
                By::Zstd(encoder.map_err(|e| Error::io(&path, "write", e))?)
            }
            _ => By::Nothing(aside),
        };
        Ok(Squeeze { path, by })
    }

    /// Writes text.
    pub(crate) fn put(&mut self, text: &[u8]) -> Result<(), Error> {
        let written = match &mut self.by {
            By::Nothing(out) => out.write_all(text),
            By::Gzip(out) => out.write_all(text),
            By::Zstd(out) => out.write_all(text),
        };
        written.map_err(|e| Error::io(&self.path, "write", e))
    }

    /// Puts the finished file in its place.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let failed = |e: io::Error| Error::io(&self.path, "write", e);
        match self.by {
            By::Nothing(aside) => aside.finish(),
            By::Gzip(encoder) => encoder.finish().map_err(failed)?.finish(),
            By::Zstd(encoder) => encoder.finish().map_err(failed)?.finish(),
        }
    }
}

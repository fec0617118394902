//! Writing of documents and tables. A file is written under a temporary name, and renamed once
//! complete.

use crate::destination::Destination;
use crate::error::Error;
use crate::format::Format;
use crate::output_rows::OutputRows;
use crate::temporary_files;
use crate::terminal::TerminalOutput;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// An output. A file takes its name only when complete.
///
/// ```
/// use std::io::Write;
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("report.html");
/// let mut aside = jurybox_files::PendingFile::new(&path)?;
/// aside.write_all(b"<p>half")?;
/// drop(aside); // something failed: nothing is left behind
/// assert_eq!(std::fs::read_dir(dir.path())?.count(), 0);
///
/// let mut aside = jurybox_files::PendingFile::new(&path)?;
/// aside.write_all(b"<p>whole")?;
/// aside.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"<p>whole");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PendingFile {
    path: PathBuf,
    to: OutputTarget,
}

/// The target of an output.
#[derive(Debug)]
enum OutputTarget {
    File(BufWriter<NamedTempFile>),
    Stdout(BufWriter<TerminalOutput>),
    /// A device, a pipe or an open file descriptor, which is written directly.
    Through(BufWriter<std::fs::File>),
    /// Any other writer.
    Stream(StdoutStream),
}

struct StdoutStream(BufWriter<Box<dyn Write + Send>>);

impl std::fmt::Debug for StdoutStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stream")
    }
}

impl PendingFile {
    /// Creates a temporary file next to the file that `path` leads to. Writes directly if `path` is
    /// `-`, a device or a pipe. An existing file passes on its permissions and, where allowed, its
    /// owner.
    pub fn new(path: &Path) -> Result<PendingFile, Error> {
        Ok(match Destination::of(path)? {
            Destination::Stdout => {
                let out = BufWriter::with_capacity(1 << 16, TerminalOutput::new());
                PendingFile { path: "standard output".into(), to: OutputTarget::Stdout(out) }
            }
            Destination::Through(file) => PendingFile {
                path: path.into(),
                to: OutputTarget::Through(BufWriter::with_capacity(1 << 16, file)),
            },
            Destination::File { path, about } => {
                let file = temporary_files::begin(&path, about.as_ref())?;
                PendingFile { path, to: OutputTarget::File(BufWriter::with_capacity(1 << 16, file)) }
            }
        })
    }

    /// Creates a file that will take exactly the name `path`. An existing symbolic link is
    /// replaced, not followed, which matters in folders where others can create links.
    ///
    /// ```
    /// # #[cfg(unix)] {
    /// use std::io::Write;
    ///
    /// let dir = tempfile::tempdir()?;
    /// let (path, diary) = (dir.path().join("page.html"), dir.path().join("diary.txt"));
    /// std::fs::write(&diary, "mine")?;
    /// std::os::unix::fs::symlink(&diary, &path)?;
    /// let mut aside = jurybox_files::PendingFile::replacing(&path)?;
    /// aside.write_all(b"<p>whole")?;
    /// aside.finish()?;
    /// assert_eq!(std::fs::read(&path)?, b"<p>whole");
    /// assert_eq!(std::fs::read(&diary)?, b"mine");
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replacing(path: &Path) -> Result<PendingFile, Error> {
        let file = BufWriter::with_capacity(1 << 16, temporary_files::begin(path, None)?);
        Ok(PendingFile { path: path.into(), to: OutputTarget::File(file) })
    }

    /// Writes directly to any writer.
    pub(crate) fn stream(out: Box<dyn Write + Send>) -> PendingFile {
        let out = BufWriter::with_capacity(1 << 16, out);
        PendingFile { path: "the stream".into(), to: OutputTarget::Stream(StdoutStream(out)) }
    }

    /// Flushes the output, and renames a temporary file to its final name.
    pub fn finish(mut self) -> Result<(), Error> {
        self.settle().map_err(|e| self.failed(e))?;
        let failed = |e| Error::io(&self.path, "write", e);
        match self.to {
            OutputTarget::Stdout(_) | OutputTarget::Through(_) | OutputTarget::Stream(_) => Ok(()),
            OutputTarget::File(out) => {
                let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
                file.persist(&self.path).map(drop).map_err(|e| failed(e.error))
            }
        }
    }

    /// Flushes to disk before the renaming, so that a crash leaves either the old file or the new
    /// one.
    fn settle(&mut self) -> io::Result<()> {
        self.flush()?;
        match &self.to {
            OutputTarget::File(out) => out.get_ref().as_file().sync_all(),
            _ => Ok(()),
        }
    }

    /// The path as messages show it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::io(&self.path, "write", error)
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            OutputTarget::File(out) => out.write(bytes),
            OutputTarget::Stdout(out) => out.write(bytes),
            OutputTarget::Through(out) => out.write(bytes),
            OutputTarget::Stream(out) => out.0.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            OutputTarget::File(out) => out.flush(),
            OutputTarget::Stdout(out) => out.flush(),
            OutputTarget::Through(out) => out.flush(),
            OutputTarget::Stream(out) => out.0.flush(),
        }
    }
}

/// Writes a whole document. A file is written under a temporary name, and then renamed.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// jurybox_files::write_whole(&dir.path().join("a.json"), "{}\n")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_whole(path: &Path, text: &str) -> Result<(), Error> {
    FinishedFile::new(path, text)?.publish()
}

/// A complete document that has yet to take its name.
///
/// A file is on disk already, under a temporary name, and nothing visible has changed.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("a.json");
/// let ready = jurybox_files::FinishedFile::new(&path, "{}\n")?;
/// assert!(!path.exists());
/// ready.publish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "{}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FinishedFile {
    aside: PendingFile,
    /// The text for a target that is written directly, held back until
    /// [`publish`](FinishedFile::publish).
    text: Option<String>,
}

impl FinishedFile {
    /// Writes a document to a temporary file and flushes it to disk. The text for a target that is
    /// written directly is held back.
    pub fn new(path: &Path, text: impl Into<String>) -> Result<FinishedFile, Error> {
        let (mut aside, text) = (PendingFile::new(path)?, text.into());
        if !matches!(aside.to, OutputTarget::File(_)) {
            return Ok(FinishedFile { aside, text: Some(text) });
        }
        let written = aside.write_all(text.as_bytes()).and_then(|()| aside.settle());
        written.map_err(|e| aside.failed(e))?;
        Ok(FinishedFile { aside, text: None })
    }

    /// Renames the document to its final name, or writes it to a target that is written directly.
    pub fn publish(mut self) -> Result<(), Error> {
        let text = self.text.unwrap_or_default();
        self.aside.write_all(text.as_bytes()).map_err(|e| self.aside.failed(e))?;
        self.aside.finish()
    }
}

/// The writer of a table in one format.
pub(crate) trait TableSink: Send {
    /// Writes some rows.
    fn write(&mut self, output: &OutputRows) -> Result<(), Error>;

    /// Completes the file and renames it to its final name.
    fn finish(self: Box<Self>) -> Result<(), Error>;
}

/// The format of an output table, and its protection against formulas.
///
/// ```
/// use jurybox_files::{Format, OutputLayout};
/// let plain = OutputLayout::from(Format::Csv);
/// assert!(!plain.safe_csv && OutputLayout { safe_csv: true, ..plain }.format == Format::Csv);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLayout {
    /// The format to use where the file name has no known ending.
    pub format: Format,
    /// Whether CSV cells that a spreadsheet would run as formulas are written as
    /// [text](crate::without_formula).
    pub safe_csv: bool,
}

impl From<Format> for OutputLayout {
    fn from(format: Format) -> OutputLayout {
        OutputLayout { format, safe_csv: false }
    }
}

/// A table being written, in any format.
pub(crate) struct TableWriter {
    sink: Box<dyn TableSink>,
    /// Whether cells that a spreadsheet would run as formulas are written as text.
    safe: bool,
}

impl TableWriter {
    /// Creates a table. The format is that of the file name, otherwise that of the layout.
    pub(crate) fn new(path: &Path, layout: impl Into<OutputLayout>) -> Result<TableWriter, Error> {
        let layout = layout.into();
        let format = Format::of_name(&path.to_string_lossy()).unwrap_or(layout.format);
        TableWriter::in_format(PendingFile::new(path)?, path, format, layout.safe_csv)
    }

    /// Creates a table in an output that has no file name.
    pub(crate) fn over(aside: PendingFile, layout: impl Into<OutputLayout>) -> Result<TableWriter, Error> {
        let layout = layout.into();
        TableWriter::in_format(aside, Path::new(""), layout.format, layout.safe_csv)
    }

    fn in_format(
        aside: PendingFile,
        name: &Path,
        format: Format,
        safe_csv: bool,
    ) -> Result<TableWriter, Error> {
        let sink = (format.info().create)(aside, name)?;
        Ok(TableWriter { sink, safe: safe_csv && format == Format::Csv })
    }

    pub(crate) fn write(&mut self, output: &OutputRows) -> Result<(), Error> {
        if self.safe { self.sink.write(&output.without_formulas()) } else { self.sink.write(output) }
    }

    /// Completes the file and renames it to its final name.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.sink.finish()
    }
}

/// Text output, compressed by gzip (`.gz`) or Zstandard (`.zst`) if the file name ends so.
pub(crate) struct CompressedWriter {
    /// The path as messages show it: `standard output` for `-`.
    path: PathBuf,
    by: Compressor,
}

/// The compression of an output, if any.
enum Compressor {
    Nothing(PendingFile),
    Gzip(flate2::write::GzEncoder<PendingFile>),
    Zstd(zstd::stream::write::Encoder<'static, PendingFile>),
}

impl CompressedWriter {
    pub(crate) fn new(aside: PendingFile, name: &Path) -> Result<CompressedWriter, Error> {
        let path = aside.path().to_path_buf();
        let ending = name.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        let by = match ending.as_deref() {
            Some("gz") => {
                Compressor::Gzip(flate2::write::GzEncoder::new(aside, flate2::Compression::default()))
            }
            Some("zst") => {
                let encoder = zstd::stream::write::Encoder::new(aside, 3);
                Compressor::Zstd(encoder.map_err(|e| Error::io(&path, "write", e))?)
            }
            _ => Compressor::Nothing(aside),
        };
        Ok(CompressedWriter { path, by })
    }

    /// Appends text.
    pub(crate) fn put(&mut self, text: &[u8]) -> Result<(), Error> {
        let written = match &mut self.by {
            Compressor::Nothing(out) => out.write_all(text),
            Compressor::Gzip(out) => out.write_all(text),
            Compressor::Zstd(out) => out.write_all(text),
        };
        written.map_err(|e| Error::io(&self.path, "write", e))
    }

    /// Completes the file and renames it to its final name.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let failed = |e: io::Error| Error::io(&self.path, "write", e);
        match self.by {
            Compressor::Nothing(aside) => aside.finish(),
            Compressor::Gzip(encoder) => encoder.finish().map_err(failed)?.finish(),
            Compressor::Zstd(encoder) => encoder.finish().map_err(failed)?.finish(),
        }
    }
}

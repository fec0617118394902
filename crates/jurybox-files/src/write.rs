//! Tables on their way out: CSV, JSON lines or Parquet, plain or compressed; aside first, renamed when whole.

use crate::column::Slab;
use crate::error::Error;
use crate::input::Format;
use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
    Stdout(BufWriter<io::Stdout>),
    /// A device or a pipe: there is nothing to rename.
    Through(BufWriter<std::fs::File>),
}

impl Aside {
    /// Begins a file beside `path`, or writes through where the path is `-`, a device or a pipe.
    pub fn new(path: &Path) -> Result<Aside, Error> {
        let failed = |e| Error::io(path, "write", e);
        if path.as_os_str() == "-" {
            let out = BufWriter::with_capacity(1 << 16, io::stdout());
            return Ok(Aside { path: "standard output".into(), to: To::Stdout(out) });
        }
        let about = std::fs::metadata(path).ok();
        if about.as_ref().is_some_and(std::fs::Metadata::is_dir) {
            return Err(Error::Directory { path: path.into() });
        }
        if about.is_some_and(|about| !about.is_file()) {
            let file = std::fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
            return Ok(Aside { path: path.into(), to: To::Through(BufWriter::new(file)) });
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".jurybox-").suffix(".part");
        #[cfg(unix)]
        {
            // As a file of the person's own making would be, not closed to everybody else.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder).map_err(failed)?;
        Ok(Aside { path: path.into(), to: To::File(BufWriter::with_capacity(1 << 16, file)) })
    }

    /// Writes out what is left and puts the file in its place.
    pub fn finish(self) -> Result<(), Error> {
        let failed = |e| Error::io(&self.path, "write", e);
        match self.to {
            To::Stdout(mut out) => out.flush().map_err(failed),
            To::Through(mut out) => out.flush().map_err(failed),
            To::File(out) => {
                let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
                // On disk before it takes the name: a crash leaves the old file or the new one.
                file.as_file().sync_all().map_err(failed)?;
                file.persist(&self.path).map(drop).map_err(|e| failed(e.error))
            }
        }
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
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::File(out) => out.flush(),
            To::Stdout(out) => out.flush(),
            To::Through(out) => out.flush(),
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
    let mut aside = Aside::new(path)?;
    aside.write_all(text.as_bytes()).map_err(|e| aside.failed(e))?;
    aside.finish()
}

/// A table being written.
pub(crate) struct Writer {
    path: PathBuf,
    form: Form,
}

enum Form {
    Csv(Squeeze, bool),
    JsonLines(Squeeze),
    /// Opened with the first slab, which tells the types.
    Parquet(Option<Aside>, Option<Box<ArrowWriter<Aside>>>),
}

enum Squeeze {
    Plain(Aside),
    Gzip(flate2::write::GzEncoder<Aside>),
    Zstd(zstd::stream::write::Encoder<'static, Aside>),
}

impl Writer {
    /// Begins a table; the format is what the name says, otherwise `format`.
    pub(crate) fn new(path: &Path, format: Format) -> Result<Writer, Error> {
        let name = path.to_string_lossy().into_owned();
        let aside = Aside::new(path)?;
        // As messages are to name it: `-` is standard output.
        let shown = aside.path.clone();
        let format = Format::of_name(&name).unwrap_or(format);
        let squeeze = |aside: Aside| -> Result<Squeeze, Error> {
            Ok(if has_ending(&name, "gz") {
                Squeeze::Gzip(flate2::write::GzEncoder::new(aside, flate2::Compression::default()))
            } else if has_ending(&name, "zst") {
                let encoder = zstd::stream::write::Encoder::new(aside, 3);
                Squeeze::Zstd(encoder.map_err(|e| Error::io(path, "write", e))?)
            } else {
                Squeeze::Plain(aside)
            })
        };
        let form = match format {
            Format::Csv => Form::Csv(squeeze(aside)?, true),
            Format::JsonLines => Form::JsonLines(squeeze(aside)?),
            Format::Parquet => Form::Parquet(Some(aside), None),
        };
        Ok(Writer { path: shown, form })
    }

    pub(crate) fn write(&mut self, slab: &Slab) -> Result<(), Error> {
        let path = self.path.clone();
        let failed = |e: io::Error| Error::io(&path, "write", e);
        match &mut self.form {
            Form::Csv(out, first) => {
                let mut text = Vec::new();
                if std::mem::take(first) {
                    csv_record(&mut text, slab.names.iter().cloned());
                }
                for row in 0..slab.rows {
                    csv_record(&mut text, slab.columns.iter().map(|column| column.text(row)));
                }
                out.write_all(&text).map_err(failed)
            }
            Form::JsonLines(out) => {
                let mut text = String::new();
                for row in 0..slab.rows {
                    json_record(&mut text, slab, row);
                }
                out.write_all(text.as_bytes()).map_err(failed)
            }
            Form::Parquet(aside, writer) => {
                let refused = |e: parquet::errors::ParquetError| parquet_failed(&path, e);
                let arrays: Vec<_> = slab.columns.iter().map(super::column::Column::array).collect();
                let fields = slab.names.iter().zip(&arrays);
                let fields: Vec<Field> =
                    fields.map(|(name, array)| Field::new(name, array.data_type().clone(), true)).collect();
                let schema = Arc::new(Schema::new(fields));
                if let Some(aside) = aside.take() {
                    let level = ZstdLevel::try_new(3).map_err(refused)?;
                    let properties =
                        WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
                    let begun = ArrowWriter::try_new(aside, schema.clone(), Some(properties));
                    *writer = Some(Box::new(begun.map_err(refused)?));
                }
                let arrays = RecordBatch::try_new(schema, arrays)
                    .map_err(|e| Error::Parquet { path: path.clone(), reason: e.to_string() })?;
                match writer {
                    Some(writer) => writer.write(&arrays).map_err(refused),
                    None => Ok(()),
                }
            }
        }
    }

    /// Puts the finished file in its place.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let failed = |e: io::Error| Error::io(&self.path, "write", e);
        match self.form {
            Form::Csv(out, _) | Form::JsonLines(out) => match out {
                Squeeze::Plain(aside) => aside.finish(),
                Squeeze::Gzip(encoder) => encoder.finish().map_err(failed)?.finish(),
                Squeeze::Zstd(encoder) => encoder.finish().map_err(failed)?.finish(),
            },
            Form::Parquet(_, Some(writer)) => {
                writer.into_inner().map_err(|e| parquet_failed(&self.path, e))?.finish()
            }
            Form::Parquet(..) => Ok(()),
        }
    }
}

fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ending))
}

/// The system's word, where it was the system that refused.
fn parquet_failed(path: &Path, error: parquet::errors::ParquetError) -> Error {
    use parquet::errors::ParquetError;
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => Error::io(path, "write", *cause),
            Err(cause) => Error::Io { path: path.into(), doing: "write", source: io::Error::other(cause) },
        },
        other => Error::Io { path: path.into(), doing: "write", source: io::Error::other(other) },
    }
}

impl Write for Squeeze {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Squeeze::Plain(out) => out.write(bytes),
            Squeeze::Gzip(out) => out.write(bytes),
            Squeeze::Zstd(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Squeeze::Plain(out) => out.flush(),
            Squeeze::Gzip(out) => out.flush(),
            Squeeze::Zstd(out) => out.flush(),
        }
    }
}

/// One record, quoted where it must be.
fn csv_record(out: &mut Vec<u8>, cells: impl Iterator<Item = String>) {
    let start = out.len();
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if cell.contains([',', '"', '\n', '\r']) {
            out.push(b'"');
            out.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
            out.push(b'"');
        } else {
            out.extend_from_slice(cell.as_bytes());
        }
    }
    if out.len() == start {
        // A record of one empty cell would read as a blank line.
        out.extend_from_slice(b"\"\"");
    }
    out.push(b'\n');
}

fn json_record(out: &mut String, slab: &Slab, row: usize) {
    out.push('{');
    let mut first = true;
    for (name, column) in slab.names.iter().zip(&slab.columns) {
        if let Some(value) = column.json(row) {
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            out.push_str(&serde_json::Value::from(name.as_str()).to_string());
            out.push(':');
            out.push_str(&value);
        }
    }
    out.push_str("}\n");
}

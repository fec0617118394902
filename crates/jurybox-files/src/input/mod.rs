//! Opening of files and of standard input: compression, encoding and format.
//!
//! Compression (gzip, zstd) and encoding (UTF-8, UTF-16) are detected from the first bytes, not
//! from the file name. The format comes from the user, from Parquet's magic number, from the name,
//! or from the first bytes, in this order. A name such as `.csv` or `.txt` does not count, because
//! the file may hold JSON. Files of other known types are refused with an error that names the
//! type.

mod foreign;
mod json_items;
mod python_json;
mod utf16;

pub(crate) use json_items::is_json;

use crate::error::{Error, ForeignKind};
use crate::fingerprint::of_contents;
pub(crate) use crate::format::Format;
use crate::format::blocks::LONGEST;
use crate::open_regular::open_plain;
use crate::progress::CountingReader;
use crate::read_options::ReadOptions;
use std::fs::{File, Metadata};
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// An opened source of bytes.
#[derive(Debug)]
pub(crate) struct InputFile {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    /// The options set by the user for reading it.
    pub(crate) reading: ReadOptions,
    /// Whether it is JSON that must be converted to lines. Positions in it then count the items.
    pub(crate) items: bool,
    origin: InputOrigin,
    /// Size on disk in bytes; `None` for standard input without a copy on disk.
    pub(crate) size: Option<u64>,
}

/// The origin of the bytes.
#[derive(Debug)]
enum InputOrigin {
    /// A file on disk, with its identity when it was opened.
    File(FileIdentity),
    /// A copy on disk of standard input or of a pipe, which can be read repeatedly.
    Kept(File),
    /// Standard input, which can be read once. The bytes are its first ones, read for detection.
    Once(Mutex<Option<Vec<u8>>>),
}

/// The identity of a file, which shows whether it changed between two passes.
#[derive(Debug, PartialEq)]
struct FileIdentity {
    size: u64,
    modified: Option<SystemTime>,
    /// Device and inode on Unix, because another file may have taken the name.
    node: Option<(u64, u64)>,
}

impl FileIdentity {
    fn of(about: &Metadata) -> FileIdentity {
        #[cfg(unix)]
        let node = {
            use std::os::unix::fs::MetadataExt;
            Some((about.dev(), about.ino()))
        };
        #[cfg(not(unix))]
        let node = None;
        FileIdentity { size: about.len(), modified: about.modified().ok(), node }
    }
}

/// The start of a text.
pub(crate) struct InputStart {
    pub(crate) text: Vec<u8>,
    /// Whether this is the whole text.
    pub(crate) whole: bool,
}

/// Bytes used to detect the format.
const PEEK: usize = 1 << 16;

/// Bytes of text used to detect the columns. More are used if they are not enough.
const LOOK: usize = 1 << 18;

/// Maximum number of bytes used to detect the columns: the longest record, and the start of
/// another.
const MOST_LOOK: usize = LONGEST + LOOK;

impl InputFile {
    /// Opens a path or `-`. Pipes are copied to disk first. Standard input is copied if it will be
    /// read `again`, or if its format cannot be read from a stream (Parquet).
    pub(crate) fn open(path: &Path, reading: &ReadOptions, again: bool) -> Result<InputFile, Error> {
        if path.as_os_str() == "-" {
            return Self::stdin(reading, again);
        }
        let about = std::fs::metadata(path).map_err(|e| Error::io(path, "open the file", e))?;
        if about.is_dir() {
            return Err(Error::Directory { path: path.into() });
        }
        if !about.is_file() {
            // A named pipe or `/dev/fd/3`: it can be read only once, so it is copied to disk.
            let mut pipe = File::open(path).map_err(|e| Error::io(path, "open the file", e))?;
            return Self::stream(path, &mut pipe, reading, true);
        }
        let mut file = open_plain(path, None).map_err(|e| Error::io(path, "open the file", e))?;
        // The metadata of the opened file: the path may have been replaced since the check above.
        let about = file.metadata().map_err(|e| Error::io(path, "open the file", e))?;
        let head = peek(&mut file).map_err(|e| Error::io(path, "read", e))?;
        if head.is_empty() {
            return Err(Error::Empty { path: path.into() });
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (format, items) = detect_format(path, &name, &head, reading)?;
        Ok(InputFile {
            path: path.into(),
            format,
            reading: reading.clone(),
            items,
            origin: InputOrigin::File(FileIdentity::of(&about)),
            size: Some(about.len()),
        })
    }

    fn stdin(reading: &ReadOptions, again: bool) -> Result<InputFile, Error> {
        Self::stream(Path::new("standard input"), &mut io::stdin().lock(), reading, again)
    }

    fn stream(
        path: &Path,
        from: &mut impl Read,
        reading: &ReadOptions,
        again: bool,
    ) -> Result<InputFile, Error> {
        let (path, reading) = (path.to_path_buf(), reading.clone());
        let head = peek(from).map_err(|e| Error::io(&path, "read", e))?;
        if head.is_empty() {
            return Err(Error::Empty { path });
        }
        let (format, items) = detect_format(&path, "", &head, &reading)?;
        if !again && format.info().streams {
            let origin = InputOrigin::Once(Mutex::new(Some(head)));
            return Ok(InputFile { path, format, reading, items, origin, size: None });
        }
        let mut kept = tempfile::tempfile().map_err(|e| Error::io(&path, "keep a copy on disk", e))?;
        let size = io::copy(&mut Cursor::new(head).chain(from), &mut kept)
            .map_err(|e| Error::io(&path, "keep a copy on disk", e))?;
        Ok(InputFile { path, format, reading, items, origin: InputOrigin::Kept(kept), size: Some(size) })
    }

    /// The whole text, decompressed and decoded. The bytes read are counted in `bytes` before they
    /// are decompressed. Errors if this is standard input that was read before.
    pub(crate) fn text(&self, bytes: &Arc<AtomicU64>) -> Result<Box<dyn Read + Send>, Error> {
        let raw: Box<dyn Read + Send> = match &self.origin {
            InputOrigin::Once(head) => {
                let head = head.lock().unwrap_or_else(PoisonError::into_inner).take();
                let head = head.ok_or_else(|| Error::ReadOnce { path: self.path.clone() })?;
                Box::new(Cursor::new(head).chain(io::stdin()))
            }
            InputOrigin::File(_) | InputOrigin::Kept(_) => Box::new(self.file()?),
        };
        let raw = CountingReader { from: raw, bytes: bytes.clone() };
        let text = decoded(Box::new(raw)).map_err(|e| Error::io(&self.path, "decompress", e))?;
        Ok(self.lines_of(text))
    }

    /// Converts JSON to valid JSON lines: one item per line, without the constants of Python.
    fn lines_of(&self, text: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        match self.format {
            Format::JsonLines if self.items => {
                Box::new(python_json::PythonJson::new(json_items::JsonItems::new(text)))
            }
            Format::JsonLines => Box::new(python_json::PythonJson::new(text)),
            Format::Csv | Format::Parquet => text,
        }
    }

    /// The start of the text, for detecting the columns. It extends until `enough` holds for it, or
    /// to about [`MOST_LOOK`] bytes. A later call of `text` still returns the whole text.
    pub(crate) fn beginning(&self, enough: impl Fn(&[u8]) -> bool) -> Result<InputStart, Error> {
        if let InputOrigin::Once(head) = &self.origin {
            return self
                .beginning_of_stream(&mut head.lock().unwrap_or_else(PoisonError::into_inner), enough);
        }
        let mut from = self.text(&Arc::default())?;
        let (mut text, mut look) = (Vec::new(), LOOK);
        loop {
            let want = look - text.len();
            let read = from.by_ref().take(want as u64).read_to_end(&mut text).map_err(|e| self.reading(e))?;
            let whole = read < want;
            if whole || look >= MOST_LOOK || enough(&text) {
                return Ok(InputStart { text, whole });
            }
            look = (4 * look).min(MOST_LOOK);
        }
    }

    /// The start of a stream. Bytes that are read beyond `head` are appended to it.
    fn beginning_of_stream(
        &self,
        head: &mut Option<Vec<u8>>,
        enough: impl Fn(&[u8]) -> bool,
    ) -> Result<InputStart, Error> {
        let head = head.get_or_insert_default();
        let mut whole = head.len() < PEEK;
        loop {
            let begun = decoded(Box::new(Cursor::new(head.clone())));
            let mut begun = self.lines_of(begun.map_err(|e| Error::io(&self.path, "decompress", e))?);
            // A compressed head ends in the middle of a stream, so the error at its end is ignored.
            // The length of the text is limited, because a few compressed bytes may expand to any
            // length.
            let mut text = Vec::new();
            let mut buffer = [0; 1 << 14];
            let mut ended = false;
            while text.len() < MOST_LOOK && !ended {
                match begun.read(&mut buffer) {
                    Ok(n @ 1..) => text.extend_from_slice(&buffer[..n]),
                    _ => ended = true,
                }
            }
            if (whole && ended) || text.len() >= MOST_LOOK || head.len() >= MOST_LOOK || enough(&text) {
                return Ok(InputStart { text, whole: whole && ended });
            }
            let more = (3 * head.len()).min(MOST_LOOK - head.len());
            let read = io::stdin().lock().take(more as u64).read_to_end(head);
            whole = read.map_err(|e| Error::io(&self.path, "read", e))? < more;
        }
    }

    /// Whether the text can be read only once.
    pub(crate) fn is_once(&self) -> bool {
        matches!(self.origin, InputOrigin::Once(_))
    }

    /// A hash of the decompressed content. `None` if it can be read only once or cannot be
    /// decompressed. Errors if the file cannot be opened or has changed.
    pub(crate) fn fingerprint(&self) -> Result<Option<String>, Error> {
        if matches!(self.origin, InputOrigin::Once(_)) {
            return Ok(None);
        }
        // Parquet has compression of its own and is hashed as stored.
        Ok(decompressed(Box::new(self.file()?)).and_then(of_contents).ok())
    }

    /// Errors if the file has changed since it was opened.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        let InputOrigin::File(mark) = &self.origin else { return Ok(()) };
        let changed = || Error::Changed { path: self.path.clone() };
        let about = std::fs::metadata(&self.path).map_err(|_| changed())?;
        if FileIdentity::of(&about) == *mark { Ok(()) } else { Err(changed()) }
    }

    /// A new file handle at the start of the file. Errors if the file has changed since it was
    /// opened.
    pub(crate) fn file(&self) -> Result<File, Error> {
        let opened = match &self.origin {
            InputOrigin::Kept(file) => file.try_clone().and_then(|mut file| {
                file.seek(SeekFrom::Start(0))?;
                Ok(file)
            }),
            _ => open_plain(&self.path, None),
        };
        let file = opened.map_err(|e| Error::io(&self.path, "open the file", e))?;
        if let InputOrigin::File(mark) = &self.origin {
            let about = file.metadata().map_err(|e| Error::io(&self.path, "open the file", e))?;
            if FileIdentity::of(&about) != *mark {
                return Err(Error::Changed { path: self.path.clone() });
            }
        }
        Ok(file)
    }

    /// The error for a failed read.
    pub(crate) fn reading(&self, error: io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                let what = if self.items { "the JSON document" } else { "the compressed stream" };
                Error::Truncated { path: self.path.clone(), what }
            }
            _ => Error::Io { path: self.path.clone(), doing: "read", source: error },
        }
    }
}

fn peek(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    from.take(PEEK as u64).read_to_end(&mut head)?;
    Ok(head)
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

type TextReader = Box<dyn Read + Send>;

/// Decompresses a stream and converts UTF-16 to UTF-8.
fn decoded(raw: TextReader) -> io::Result<TextReader> {
    let (head, text) = with_first_bytes(decompressed(raw)?)?;
    Ok(match utf16::order(&head) {
        Some(order) => Box::new(utf16::Utf8::new(text, order)),
        None => text,
    })
}

/// The first four bytes of a stream, and a reader of the whole stream.
fn with_first_bytes(mut raw: TextReader) -> io::Result<(Vec<u8>, TextReader)> {
    let mut head = Vec::new();
    raw.by_ref().take(4).read_to_end(&mut head)?;
    Ok((head.clone(), Box::new(Cursor::new(head).chain(raw))))
}

/// Decompresses gzip and zstd; other streams are passed through.
pub(crate) fn decompressed(raw: TextReader) -> io::Result<TextReader> {
    let (head, whole) = with_first_bytes(raw)?;
    Ok(if head.starts_with(GZIP) {
        // The decoder needs a buffered reader.
        Box::new(flate2::bufread::MultiGzDecoder::new(io::BufReader::with_capacity(1 << 16, whole)))
    } else if head.starts_with(ZSTD) {
        Box::new(zstd::stream::read::Decoder::new(whole)?)
    } else {
        whole
    })
}

/// Detects the format, and whether the file is JSON that must be converted to lines.
///
/// The user's choice wins; then Parquet's magic number; then the name, except endings of text such
/// as `.csv` and `.txt`; then the first bytes.
fn detect_format(
    path: &Path,
    name: &str,
    head: &[u8],
    reading: &ReadOptions,
) -> Result<(Format, bool), Error> {
    let foreign = |head: &[u8]| match foreign::foreign(head) {
        Some(kind) => Err(Error::Foreign { path: path.into(), kind }),
        None => Ok(()),
    };
    foreign(head)?;
    if Format::of_text(head) == Format::Parquet {
        return Ok((reading.format.unwrap_or(Format::Parquet), false));
    }
    let mut begun =
        decoded(Box::new(Cursor::new(head.to_vec()))).map_err(|e| Error::io(path, "decompress", e))?;
    // A compressed head ends in the middle of a stream, so the error at its end is ignored.
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    while text.len() < PEEK
        && let Ok(n @ 1..) = begun.read(&mut buffer)
    {
        text.extend_from_slice(&buffer[..n]);
    }
    foreign(&text)?;
    if Format::of_text(&text) == Format::Parquet {
        return Err(Error::Foreign {
            path: path.into(),
            kind: ForeignKind::Other("a Parquet file that was compressed as a whole"),
        });
    }
    // A file with the ending of a text file may still hold JSON.
    let named = Format::of_name(name).filter(|&format| format != Format::Csv);
    let format = reading.format.or(named).unwrap_or_else(|| Format::of_text(&text));
    Ok((format, format == Format::JsonLines && is_json(&text) == Some(true)))
}

/// The input paths in order, with glob patterns replaced by the files that match. Errors if a
/// pattern matches no file, or if `-` occurs twice.
///
/// ```
/// assert!(jurybox_files::expand(&["no-such-*.csv".into()]).is_err());
/// assert_eq!(jurybox_files::expand(&["-".into()])?, [std::path::PathBuf::from("-")]);
/// # Ok::<(), jurybox_files::Error>(())
/// ```
pub fn expand(arguments: &[String]) -> Result<Vec<PathBuf>, Error> {
    let mut paths = Vec::new();
    for argument in arguments {
        // A file name may contain a bracket: an existing file is not expanded.
        if !argument.contains(['*', '?', '[']) || Path::new(argument).exists() {
            paths.push(PathBuf::from(argument));
            continue;
        }
        let none = || Error::NoMatch { pattern: argument.clone() };
        let before = paths.len();
        paths.extend(glob::glob(argument).map_err(|_| none())?.filter_map(Result::ok));
        if paths.len() == before {
            return Err(none());
        }
    }
    if paths.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Error::StdinTwice);
    }
    Ok(paths)
}

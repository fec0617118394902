//! Files, patterns, standard input; plain, gz or zst; UTF-8 or UTF-16.
//!
//! Compression and encoding are told by the first bytes, not by the name. So is the format where they leave no doubt; otherwise
//! the name tells it, and a pipe needs no options. What is nothing that is read is refused for what it is.

mod foreign;
mod items;
mod python;
mod utf16;

pub(crate) use items::is_json;

use crate::error::Error;
use crate::fingerprint::of_contents;
pub(crate) use crate::format::Format;
use crate::format::blocks::LONGEST;
use crate::plain::open_plain;
use crate::reading::Reading;
use crate::watch::Counted;
use std::fs::{File, Metadata};
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// One source of rows that can be read from its beginning.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    /// What a person said of how it is written.
    pub(crate) reading: Reading,
    /// Whether it is JSON that must be put into lines: then places in it are counted in items.
    pub(crate) items: bool,
    origin: Origin,
    /// Bytes on disk; a pipe does not tell.
    pub(crate) size: Option<u64>,
}

#[derive(Debug)]
enum Origin {
    /// A file by its name, and what it was when it was opened.
    File(Mark),
    /// Standard input, kept aside on disk so that it can be read again.
    Kept(File),
    /// Standard input, to be read once: what was looked at already, then the rest.
    Once(Mutex<Option<Vec<u8>>>),
}

/// By what a file is known again: a result over several passes is of one file or of none.
#[derive(Debug, PartialEq)]
struct Mark {
    size: u64,
    modified: Option<SystemTime>,
    /// Device and number, where files have them: another file may have come to stand under the same name.
    node: Option<(u64, u64)>,
}

impl Mark {
    fn of(about: &Metadata) -> Mark {
        #[cfg(unix)]
        let node = {
            use std::os::unix::fs::MetadataExt;
            Some((about.dev(), about.ino()))
        };
        #[cfg(not(unix))]
        let node = None;
        Mark { size: about.len(), modified: about.modified().ok(), node }
    }
}

/// What a text begins with.
pub(crate) struct Beginning {
    pub(crate) text: Vec<u8>,
    /// Whether that is all of it.
    pub(crate) whole: bool,
}

/// How much is looked at to tell the format.
const PEEK: usize = 1 << 16;

/// How much is looked at to tell the columns, unless that is not enough to see a whole record.
const LOOK: usize = 1 << 18;

/// And however little that shows: as much as a record may have, and the beginning of a second one.
const MOST_LOOK: usize = LONGEST + LOOK;

impl Input {
    /// Opens a path or `-`. A standard input that is to be read `again` is kept aside on disk first.
    pub(crate) fn open(path: &Path, reading: &Reading, again: bool) -> Result<Input, Error> {
        if path.as_os_str() == "-" {
            return Self::stdin(reading, again);
        }
        let about = std::fs::metadata(path).map_err(|e| Error::io(path, "open the file", e))?;
        if about.is_dir() {
            return Err(Error::Directory { path: path.into() });
        }
        if !about.is_file() {
            // A named pipe or `/dev/fd/3`: it reads once, like standard input.
            let mut pipe = File::open(path).map_err(|e| Error::io(path, "open the file", e))?;
            return Self::stream(path, &mut pipe, reading, true);
        }
        let mut file = open_plain(path, None).map_err(|e| Error::io(path, "open the file", e))?;
        // Of the file that was opened, which need no longer be the one that was asked about above.
        let about = file.metadata().map_err(|e| Error::io(path, "open the file", e))?;
        let head = peek(&mut file).map_err(|e| Error::io(path, "read", e))?;
        if head.is_empty() {
            return Err(Error::Empty { path: path.into() });
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (format, items) = told(path, &name, &head, reading)?;
        Ok(Input {
            path: path.into(),
            format,
            reading: reading.clone(),
            items,
            origin: Origin::File(Mark::of(&about)),
            size: Some(about.len()),
        })
    }

    fn stdin(reading: &Reading, again: bool) -> Result<Input, Error> {
        Self::stream(Path::new("standard input"), &mut io::stdin().lock(), reading, again)
    }

    fn stream(path: &Path, from: &mut impl Read, reading: &Reading, again: bool) -> Result<Input, Error> {
        let (path, reading) = (path.to_path_buf(), reading.clone());
        let head = peek(from).map_err(|e| Error::io(&path, "read", e))?;
        if head.is_empty() {
            return Err(Error::Empty { path });
        }
        let (format, items) = told(&path, "", &head, &reading)?;
        if !again && format.about().streams {
            let origin = Origin::Once(Mutex::new(Some(head)));
            return Ok(Input { path, format, reading, items, origin, size: None });
        }
        let mut kept = tempfile::tempfile().map_err(|e| Error::io(&path, "keep a copy on disk", e))?;
        let size = io::copy(&mut Cursor::new(head).chain(from), &mut kept)
            .map_err(|e| Error::io(&path, "keep a copy on disk", e))?;
        Ok(Input { path, format, reading, items, origin: Origin::Kept(kept), size: Some(size) })
    }

    /// The rows' text from the beginning, decompressed; `bytes` counts what is read of the file.
    pub(crate) fn text(&self, bytes: &Arc<AtomicU64>) -> Result<Box<dyn Read + Send>, Error> {
        let raw: Box<dyn Read + Send> = match &self.origin {
            Origin::Once(head) => {
                let head = head.lock().unwrap_or_else(PoisonError::into_inner).take();
                let head = head.ok_or_else(|| Error::ReadOnce { path: self.path.clone() })?;
                Box::new(Cursor::new(head).chain(io::stdin()))
            }
            Origin::File(_) | Origin::Kept(_) => Box::new(self.file()?),
        };
        let raw = Counted { from: raw, bytes: bytes.clone() };
        let text = decoded(Box::new(raw)).map_err(|e| Error::io(&self.path, "decompress", e))?;
        Ok(self.lines_of(text))
    }

    /// A text as the formats read it: JSON that is spread over lines has an item on each, and is JSON where Python's is not.
    fn lines_of(&self, text: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        match self.format {
            Format::JsonLines if self.items => Box::new(python::Bare::new(items::Items::new(text))),
            Format::JsonLines => Box::new(python::Bare::new(text)),
            Format::Csv | Format::Parquet => text,
        }
    }

    /// What the text begins with, for telling the columns: until there is `enough`, or as much as two records may have.
    /// Reading it does not use up a standard input.
    pub(crate) fn beginning(&self, enough: impl Fn(&[u8]) -> bool) -> Result<Beginning, Error> {
        if let Origin::Once(head) = &self.origin {
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
                return Ok(Beginning { text, whole });
            }
            look = (4 * look).min(MOST_LOOK);
        }
    }

    /// The same of a stream, whose head is lengthened by what has to be looked at beyond it.
    fn beginning_of_stream(
        &self,
        head: &mut Option<Vec<u8>>,
        enough: impl Fn(&[u8]) -> bool,
    ) -> Result<Beginning, Error> {
        let head = head.get_or_insert_default();
        let mut whole = head.len() < PEEK;
        loop {
            let begun = decoded(Box::new(Cursor::new(head.clone())));
            let mut begun = self.lines_of(begun.map_err(|e| Error::io(&self.path, "decompress", e))?);
            // A compressed head ends in the middle of a stream: what came out until then is what there is to see.
            // A few compressed bytes can be any number of others: no more of them than would be looked at of a file.
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
                return Ok(Beginning { text, whole: whole && ended });
            }
            let more = (3 * head.len()).min(MOST_LOOK - head.len());
            let read = io::stdin().lock().take(more as u64).read_to_end(head);
            whole = read.map_err(|e| Error::io(&self.path, "read", e))? < more;
        }
    }

    /// Whether it can be read once only.
    pub(crate) fn is_once(&self) -> bool {
        matches!(self.origin, Origin::Once(_))
    }

    /// A name for what is in it, the same whether it is compressed or not; none where it can be read only once.
    pub(crate) fn fingerprint(&self) -> Result<Option<String>, Error> {
        if matches!(self.origin, Origin::Once(_)) {
            return Ok(None);
        }
        // Parquet is not compressed as a whole, and is taken as it is.
        Ok(decompressed(Box::new(self.file()?)).and_then(of_contents).ok())
    }

    /// Refuses a file that is not what it was when it was opened.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        let Origin::File(mark) = &self.origin else { return Ok(()) };
        let changed = || Error::Changed { path: self.path.clone() };
        let about = std::fs::metadata(&self.path).map_err(|_| changed())?;
        if Mark::of(&about) == *mark { Ok(()) } else { Err(changed()) }
    }

    /// The file itself, from its beginning: Parquet is read by position.
    pub(crate) fn file(&self) -> Result<File, Error> {
        let opened = match &self.origin {
            Origin::Kept(file) => file.try_clone().and_then(|mut file| {
                file.seek(SeekFrom::Start(0))?;
                Ok(file)
            }),
            _ => open_plain(&self.path, None),
        };
        let file = opened.map_err(|e| Error::io(&self.path, "open the file", e))?;
        if let Origin::File(mark) = &self.origin {
            let about = file.metadata().map_err(|e| Error::io(&self.path, "open the file", e))?;
            if Mark::of(&about) != *mark {
                return Err(Error::Changed { path: self.path.clone() });
            }
        }
        Ok(file)
    }

    /// What a failed read means.
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

type Text = Box<dyn Read + Send>;

/// The text of a stream that may be compressed, and in UTF-16.
fn decoded(raw: Text) -> io::Result<Text> {
    let (head, text) = peeked(decompressed(raw)?)?;
    Ok(match utf16::order(&head) {
        Some(order) => Box::new(utf16::Utf8::new(text, order)),
        None => text,
    })
}

/// The first few bytes of a stream, and all of it.
fn peeked(mut raw: Text) -> io::Result<(Vec<u8>, Text)> {
    let mut head = Vec::new();
    raw.by_ref().take(4).read_to_end(&mut head)?;
    Ok((head.clone(), Box::new(Cursor::new(head).chain(raw))))
}

pub(crate) fn decompressed(raw: Text) -> io::Result<Text> {
    let (head, whole) = peeked(raw)?;
    Ok(if head.starts_with(GZIP) {
        // Buffered by hand: the decoder asks for what it can use, not byte by byte.
        Box::new(flate2::bufread::MultiGzDecoder::new(io::BufReader::with_capacity(1 << 16, whole)))
    } else if head.starts_with(ZSTD) {
        Box::new(zstd::stream::read::Decoder::new(whole)?)
    } else {
        whole
    })
}

/// The format of a file, and whether it is JSON that must be put into lines.
///
/// What a person says holds; then what the first bytes say, where they can be nothing else; then the name.
fn told(path: &Path, name: &str, head: &[u8], reading: &Reading) -> Result<(Format, bool), Error> {
    let foreign = |head: &[u8]| match foreign::foreign(head) {
        Some(what) => Err(Error::Foreign { path: path.into(), what }),
        None => Ok(()),
    };
    foreign(head)?;
    if Format::of_text(head) == Format::Parquet {
        return Ok((reading.format.unwrap_or(Format::Parquet), false));
    }
    let mut begun =
        decoded(Box::new(Cursor::new(head.to_vec()))).map_err(|e| Error::io(path, "decompress", e))?;
    // A compressed head ends in the middle of a stream: what came out until then is what there is to see.
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
            what: "a Parquet file that was compressed as a whole",
        });
    }
    // A name that promises no more than text is no reason to read JSON as CSV.
    let named = Format::of_name(name).filter(|&format| format != Format::Csv);
    let format = reading.format.or(named).unwrap_or_else(|| Format::of_text(&text));
    Ok((format, format == Format::JsonLines && is_json(&text) == Some(true)))
}

/// The files that the arguments name, patterns expanded, in order.
///
/// ```
/// assert!(jurybox_files::expand(&["no-such-*.csv".into()]).is_err());
/// assert_eq!(jurybox_files::expand(&["-".into()])?, [std::path::PathBuf::from("-")]);
/// # Ok::<(), jurybox_files::Error>(())
/// ```
pub fn expand(arguments: &[String]) -> Result<Vec<PathBuf>, Error> {
    let mut paths = Vec::new();
    for argument in arguments {
        // A file may have a bracket in its name: what exists is taken as it stands.
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

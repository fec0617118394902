//! Where rows come from: one folder per format, each behind the same trait.
//!
//! A [`Source`] is one file, or one table in memory. It says what its columns are, cuts its rows into units of work,
//! parses a unit into batches for an [`Ask`], and gives back whole rows for output. All else (which column is what,
//! threads, order, ranking, learning) stands above and knows no format.
//!
//! A new format is a folder here with its `ABOUT`, and one line in the table below.

pub(crate) mod arrow;
pub(crate) mod blocks;
// Not by the macro below: rustfmt passes over files that only a macro names.
mod csv;
mod jsonl;
pub(crate) mod memory;
pub(crate) mod parquet;

use crate::ask::Ask;
use crate::column::Slab;
use crate::error::Error;
use crate::input::Input;
use crate::number::Notation;
use crate::roles::{Found, Taken};
use crate::scan::Part;
use crate::warning::Warning;
use crate::write::{Aside, Sink};
use arrow_array::RecordBatch;
use arrow_schema::DataType;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Declares the formats: a variant and an entry for each.
macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident => $module:ident,)*) => {
        /// How rows are written down.
        ///
        /// ```
        /// use jurybox_files::Format;
        /// assert_eq!(Format::of_name("scores.csv.gz"), Some(Format::Csv));
        /// assert_eq!(Format::of_name("scores.parquet"), Some(Format::Parquet));
        /// assert_eq!(Format::of_name("scores"), None);
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Format {
            $($(#[$doc])* $name,)*
        }

        /// Every format; the first one that the first bytes fit is taken.
        const FORMATS: &[Format] = &[$(Format::$name),*];

        impl Format {
            pub(crate) fn about(self) -> &'static About {
                match self {
                    $(Format::$name => &$module::ABOUT,)*
                }
            }
        }
    };
}

// The table of formats. The last one takes whatever no other knows.
formats! {
    /// Apache Parquet.
    Parquet => parquet,
    /// One JSON object a line.
    JsonLines => jsonl,
    /// Comma-separated values with a header (or tabs, semicolons, bars: told by the header).
    Csv => csv,
}

/// Opens what writes a format.
type Create = fn(Aside, &Path) -> Result<Box<dyn Sink>, Error>;

/// What is to be known of a format before a file of it is open.
pub(crate) struct About {
    /// How its files' names end, in lower case and without the compression.
    pub(crate) endings: &'static [&'static str],
    /// Whether a file that begins so (decompressed) is one.
    pub(crate) begins: fn(&[u8]) -> bool,
    /// Whether it can be read from a pipe as it comes.
    pub(crate) streams: bool,
    /// Tells the columns, and keeps what is needed to read on.
    pub(crate) open: fn(Input) -> Result<Box<dyn Source>, Error>,
    /// Begins a file; the name that its compression is told by comes with it.
    pub(crate) create: Create,
}

impl Format {
    /// The format that a file's name says, whatever the compression.
    pub fn of_name(name: &str) -> Option<Format> {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        let (_, ending) = name.rsplit_once('.')?;
        FORMATS.iter().copied().find(|format| format.about().endings.contains(&ending))
    }

    /// The format of a file that begins with this text.
    pub(crate) fn of_text(text: &[u8]) -> Format {
        FORMATS.iter().copied().find(|format| (format.about().begins)(text)).unwrap_or(Format::Csv)
    }
}

/// One source of rows.
pub(crate) trait Source: fmt::Debug + Send + Sync {
    /// What messages call it.
    fn path(&self) -> &Path;

    /// The format in which its rows are written where nothing else is said.
    fn format(&self) -> Format;

    /// Its columns, in its own order.
    fn columns(&self) -> &[Found];

    /// Is told that a column is wanted which is not among those that were found: it may come later.
    fn adopt(&mut self, _name: &str) -> Result<(), Error> {
        Ok(())
    }

    /// What is doubtful about how its columns are told.
    fn doubt(&self) -> Option<Warning> {
        None
    }

    /// Bytes to be read, where that is known.
    fn size(&self) -> Option<u64>;

    /// Lines before the first row.
    fn lines_before(&self) -> u64 {
        0
    }

    /// Whether rows can be fetched by their number after a pass. Otherwise the pass itself must keep what is needed.
    fn by_number(&self) -> bool;

    /// Whether its rows are in memory as long as it is.
    fn is_in_memory(&self) -> bool {
        false
    }

    /// Refuses a source that is no longer what its columns were told by: one result is made of one file.
    fn check_unchanged(&self) -> Result<(), Error> {
        Ok(())
    }

    /// A name for what is in it, the same whatever it is called and however it is compressed; none where it has no file, or can be
    /// read only once.
    fn fingerprint(&self) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// Begins a pass; `bytes` is to count what has been read.
    fn cut(&self, bytes: &Arc<AtomicU64>) -> Result<Box<dyn Cut + '_>, Error>;

    /// How many rows it has, where that is known without reading them.
    fn rows(&self) -> Option<u64> {
        None
    }

    /// Begins a pass over some stretches of rows, in their order, for a source whose rows are known.
    fn cut_some(&self, _rows: &[Range<u64>], bytes: &Arc<AtomicU64>) -> Result<Box<dyn Cut + '_>, Error> {
        self.cut(bytes)
    }

    /// How many lines (of text) or rows a unit has: errors in the next one count on from there.
    fn lines(&self, unit: &Unit) -> u64;

    /// Parses a unit and hands over batch after batch. Places in errors count from the unit's beginning.
    fn parse(&self, unit: &mut Unit, ask: &Ask, each: &mut Each<'_>) -> Result<(), Error>;

    /// Empties the row of a unit to which a line belongs, lines counted from 1, and leaves the others where they are; false where there is
    /// none, or it cannot be done without.
    fn strike(&self, _unit: &mut Unit, _line: u64) -> bool {
        false
    }

    /// The whole rows of a part of a pass that was asked for records.
    fn whole(&self, part: &Part<'_>, show: &Show<'_>) -> Result<Slab, Error>;

    /// Whole rows, in the order given: from what was kept of them, or by their numbers.
    fn fetch(&self, rows: &[Fetch<'_>], show: &Show<'_>) -> Result<Slab, Error>;
}

/// Takes the batches of a unit, each with where its rows stand.
pub(crate) type Each<'a> = dyn FnMut(Parsed<'_>) -> Result<(), Error> + 'a;

/// A batch as a source hands it over: with the text of its records, or with the arrays where records were asked for.
pub(crate) struct Parsed<'a> {
    pub(crate) batch: crate::ask::Batch,
    pub(crate) text: &'a [u8],
    pub(crate) arrays: Option<RecordBatch>,
}

/// The units of one pass over a source, in order.
pub(crate) trait Cut: Send {
    /// The next unit, into memory that is used again; false at the end.
    fn next(&mut self, unit: &mut Unit) -> Result<bool, Error>;
}

/// A unit of work: a block of text, a stretch of rows, or rows that came from a stream.
#[derive(Default)]
pub(crate) struct Unit {
    pub(crate) text: Vec<u8>,
    pub(crate) stretch: Stretch,
    pub(crate) arrays: Option<RecordBatch>,
    pub(crate) scratch: Scratch,
}

/// A stretch of rows within one piece of a source.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stretch {
    /// A row group of a file.
    pub(crate) piece: usize,
    pub(crate) start: usize,
    pub(crate) rows: usize,
    /// Its share of the source's bytes.
    pub(crate) bytes: u64,
}

/// What a format keeps on a thread from unit to unit, such as memory for pages.
#[derive(Default)]
pub(crate) struct Scratch(Option<Box<dyn Any + Send>>);

impl Scratch {
    pub(crate) fn of<T: Any + Send + Default>(&mut self) -> &mut T {
        if !self.0.as_ref().is_some_and(|kept| kept.is::<T>()) {
            self.0 = None;
        }
        let kept: &mut Box<dyn Any + Send> = self.0.get_or_insert_with(|| Box::new(T::default()));
        match kept.downcast_mut() {
            Some(kept) => kept,
            None => unreachable!("it was made just above"),
        }
    }
}

/// What is kept of a row during a pass, for output.
#[derive(Debug, Clone, Default)]
pub(crate) enum Record {
    /// Nothing: the row can be fetched by its number.
    #[default]
    None,
    /// Its text.
    Text(Box<[u8]>),
    /// The row itself, out of a stream.
    Row(RecordBatch),
}

/// A row that is wanted for output.
pub(crate) struct Fetch<'a> {
    /// Its number in the source.
    pub(crate) row: u64,
    pub(crate) record: &'a Record,
    /// Its scores as they were ranked, where they were kept.
    pub(crate) scores: &'a [f64],
}

/// How rows are to be shown.
#[derive(Clone, Copy)]
pub(crate) struct Show<'a> {
    /// Every column of the table, in its order.
    pub(crate) columns: &'a [Found],
    pub(crate) taken: &'a Taken,
    /// How the cells of the columns that were read as numbers are written.
    pub(crate) numeric: &'a HashMap<String, Notation>,
    pub(crate) threads: usize,
}

impl Show<'_> {
    /// Whether a column was read as numbers.
    pub(crate) fn is_number(&self, name: &str) -> bool {
        self.numeric.contains_key(name)
    }

    /// How the cells of a column that was read as numbers are written; none where it was not.
    pub(crate) fn notation_of(&self, name: &str) -> Option<Notation> {
        self.numeric.get(name).cloned()
    }

    /// The type of a column's cells where they all are missing: that of the source which has them.
    pub(crate) fn data_type(&self, found: &Found) -> DataType {
        match &found.data_type {
            Some(data_type) => data_type.clone(),
            None if self.is_number(&found.name) => DataType::Float64,
            None => DataType::Utf8,
        }
    }
}

/// The most columns that a table may have.
pub(crate) const MOST_COLUMNS: usize = 16_384;

/// Refuses two columns of one name, and more columns than a table may have.
pub(crate) fn distinct<'a>(path: &Path, names: impl Iterator<Item = &'a str>) -> Result<(), Error> {
    let mut seen = HashMap::new();
    for (at, name) in names.enumerate() {
        if at >= MOST_COLUMNS {
            return Err(Error::TooManyColumns { path: path.into(), limit: MOST_COLUMNS });
        }
        if let Some(first) = seen.insert(name, at) {
            let (first, second) = (first + 1, at + 1);
            return Err(Error::DuplicateColumn { path: path.into(), column: name.into(), first, second });
        }
    }
    Ok(())
}

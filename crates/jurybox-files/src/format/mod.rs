//! File formats: one folder per format, with an implementation of [`RowSource`]. The modules
//! `arrow` and `blocks` are shared by several formats.
//!
//! A [`RowSource`] is one file, or one table in memory. It lists its columns, cuts its rows into
//! units of work, parses a unit into batches for a [`ScanPlan`], and returns whole rows for output.
//! Column roles, threads, row order, ranking and learning are handled by its callers, for every
//! format alike.
//!
//! To add a format, make a folder here with its `ABOUT`, declare its module, and add one line to
//! the table `formats!` below.

pub(crate) mod arrow;
pub(crate) mod blocks;
// Declared here, not by the macro below: rustfmt skips files that only a macro names.
mod csv;
mod jsonl;
pub(crate) mod memory;
pub(crate) mod parquet;

use crate::cell_number::Notation;
use crate::error::Error;
use crate::input::InputFile;
use crate::output_rows::OutputRows;
use crate::roles::{ColumnInfo, ColumnRoles};
use crate::scan::ScanPart;
use crate::scan_plan::ScanPlan;
use crate::warning::Warning;
use crate::write::{PendingFile, TableSink};
use arrow_array::RecordBatch;
use arrow_schema::DataType;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Declares the formats: one variant of [`Format`] and one entry in the table for each.
macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident => $module:ident,)*) => {
        /// The file format of a table.
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

        /// Every format, in the order in which the first bytes of a file are tested.
        const FORMATS: &[Format] = &[$(Format::$name),*];

        impl Format {
            pub(crate) fn info(self) -> &'static FormatInfo {
                match self {
                    $(Format::$name => &$module::ABOUT,)*
                }
            }
        }
    };
}

// The table of formats. CSV is last because it accepts any text.
formats! {
    /// Apache Parquet.
    Parquet => parquet,
    /// JSON lines: one JSON object per line. A JSON array of objects is read as well.
    JsonLines => jsonl,
    /// Comma-separated values. Tabs, semicolons and bars are detected as delimiters too.
    Csv => csv,
}

/// A function that creates the writer of a format.
type CreateSink = fn(PendingFile, &Path) -> Result<Box<dyn TableSink>, Error>;

/// The static description of a format.
pub(crate) struct FormatInfo {
    /// File name endings, in lower case, without that of the compression.
    pub(crate) endings: &'static [&'static str],
    /// Whether a file with these first bytes, after decompression, is of this format.
    pub(crate) begins: fn(&[u8]) -> bool,
    /// Whether it can be read from a stream, without a copy on disk.
    pub(crate) streams: bool,
    /// Opens an input and detects its columns.
    pub(crate) open: fn(InputFile) -> Result<Box<dyn RowSource>, Error>,
    /// Creates a file. The path is the final name; in text formats its ending selects the
    /// compression.
    pub(crate) create: CreateSink,
}

impl Format {
    /// The format for a file name's ending, after one `.gz` or `.zst` is removed. `None` if no
    /// format has this ending.
    pub fn of_name(name: &str) -> Option<Format> {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        let (_, ending) = name.rsplit_once('.')?;
        FORMATS.iter().copied().find(|format| format.info().endings.contains(&ending))
    }

    /// The format of a file whose decompressed content begins with `text`.
    pub(crate) fn of_text(text: &[u8]) -> Format {
        FORMATS.iter().copied().find(|format| (format.info().begins)(text)).unwrap_or(Format::Csv)
    }
}

/// A source of rows: one file, or one table in memory.
pub(crate) trait RowSource: fmt::Debug + Send + Sync {
    /// The path, or the name of a table in memory, as shown in messages.
    fn path(&self) -> &Path;

    /// The default format for writing its rows.
    fn format(&self) -> Format;

    /// Its columns, in its own order.
    fn columns(&self) -> &[ColumnInfo];

    /// Adds a column that was requested but not detected, if later rows may have it.
    fn add_column(&mut self, _name: &str) -> Result<(), Error> {
        Ok(())
    }

    /// A warning about how the columns were detected, if there is one.
    fn detection_warning(&self) -> Option<Warning> {
        None
    }

    /// Bytes to read, if known; approximate for a table in memory.
    fn size(&self) -> Option<u64>;

    /// The number of lines before the first row; 0 except in CSV.
    fn lines_before(&self) -> u64 {
        0
    }

    /// Whether rows can be fetched by number after a pass. If not, the pass keeps the rows that are
    /// needed for output.
    fn is_seekable(&self) -> bool;

    /// Whether the source holds all rows in memory.
    fn is_in_memory(&self) -> bool {
        false
    }

    /// Errors if the file has changed since it was opened, so that one result never mixes two
    /// versions of a file.
    fn check_unchanged(&self) -> Result<(), Error> {
        Ok(())
    }

    /// A hash of the content, independent of file name and compression. `None` for tables in
    /// memory, for sources that can be read only once, and if the file cannot be decompressed.
    fn fingerprint(&self) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// Starts a pass over all rows, which adds the bytes read to `bytes`.
    fn units(&self, bytes: &Arc<AtomicU64>) -> Result<Box<dyn UnitReader + '_>, Error>;

    /// The number of rows, if known without reading them.
    fn rows(&self) -> Option<u64> {
        None
    }

    /// Starts a pass over the given row ranges only, in order. Only sources with known `rows`
    /// support this; the default reads everything.
    fn units_of_rows(
        &self,
        _rows: &[Range<u64>],
        bytes: &Arc<AtomicU64>,
    ) -> Result<Box<dyn UnitReader + '_>, Error> {
        self.units(bytes)
    }

    /// The number of lines of text, or of rows, in a unit. Positions in later units are moved down
    /// by it.
    fn lines(&self, unit: &WorkUnit) -> u64;

    /// Parses a unit and passes each batch to `each`. Positions in errors count from the unit's
    /// start.
    fn parse(&self, unit: &mut WorkUnit, plan: &ScanPlan, each: &mut BatchCallback<'_>) -> Result<(), Error>;

    /// Replaces the row that contains line `line` of a unit, counted from 1, by blank lines. A pass
    /// can then continue, and other rows keep their positions. False if the row cannot be removed.
    fn remove_record(&self, _unit: &mut WorkUnit, _line: u64) -> bool {
        false
    }

    /// The whole rows of one part of a pass whose plan has `records` set.
    fn whole_rows(&self, part: &ScanPart<'_>, show: &OutputColumns<'_>) -> Result<OutputRows, Error>;

    /// Whole rows in the given order: from the kept records, or else by row number.
    fn fetch(&self, rows: &[RowRequest<'_>], show: &OutputColumns<'_>) -> Result<OutputRows, Error>;
}

/// Callback that receives the batches of a unit.
pub(crate) type BatchCallback<'a> = dyn FnMut(ParsedBatch<'_>) -> Result<(), Error> + 'a;

/// A parsed batch. `text` is the text of its unit; Arrow sources have none, and return `arrays` if
/// records were requested.
pub(crate) struct ParsedBatch<'a> {
    pub(crate) batch: crate::scan_plan::Batch,
    pub(crate) text: &'a [u8],
    pub(crate) arrays: Option<RecordBatch>,
}

/// An iterator over the units of one pass over a source, in order.
pub(crate) trait UnitReader: Send {
    /// Reads the next unit into `unit`, reusing its memory. False at the end.
    fn next(&mut self, unit: &mut WorkUnit) -> Result<bool, Error>;
}

/// A unit of work: a block of text, a range of rows, or a batch from a stream.
#[derive(Default)]
pub(crate) struct WorkUnit {
    pub(crate) text: Vec<u8>,
    pub(crate) range: RowRange,
    pub(crate) arrays: Option<RecordBatch>,
    pub(crate) cache: ThreadCache,
}

/// A range of rows within one row group of a source.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowRange {
    /// Index of the row group; 0 in formats that have none.
    pub(crate) row_group: usize,
    pub(crate) start: usize,
    pub(crate) rows: usize,
    /// The range's share of the source's bytes, for progress.
    pub(crate) bytes: u64,
}

/// Memory that a format keeps per thread from unit to unit, such as buffers for pages.
#[derive(Default)]
pub(crate) struct ThreadCache(Option<Box<dyn Any + Send>>);

impl ThreadCache {
    /// The cached value of type `T`, created on first use.
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

/// What a pass keeps of a row for output.
#[derive(Debug, Clone, Default)]
pub(crate) enum StoredRow {
    /// Nothing, because the row can be fetched by its number.
    #[default]
    None,
    /// The row's text.
    Text(Box<[u8]>),
    /// The row as a batch, for sources that are streams.
    Row(RecordBatch),
}

/// A row requested for output.
pub(crate) struct RowRequest<'a> {
    /// Row number within the source.
    pub(crate) row: u64,
    pub(crate) record: &'a StoredRow,
    /// The scores of the row; empty if they were not kept.
    pub(crate) scores: &'a [f64],
}

/// The columns of an output table and how their cells are converted.
#[derive(Clone, Copy)]
pub(crate) struct OutputColumns<'a> {
    /// Every column of the table, in its order.
    pub(crate) columns: &'a [ColumnInfo],
    pub(crate) roles: &'a ColumnRoles,
    /// Number notation by column name, for the columns that were read as numbers.
    pub(crate) numeric: &'a HashMap<String, Notation>,
    pub(crate) threads: usize,
}

impl OutputColumns<'_> {
    /// Whether the column `name` was read as numbers.
    pub(crate) fn is_number(&self, name: &str) -> bool {
        self.numeric.contains_key(name)
    }

    /// Number notation of the column `name`; `None` if it was not read as numbers.
    pub(crate) fn notation_of(&self, name: &str) -> Option<Notation> {
        self.numeric.get(name).cloned()
    }

    /// The Arrow type of a column that this source lacks. It is the column's type in another
    /// source, if that has Arrow types; otherwise `Float64` for numbers and `Utf8` for text.
    pub(crate) fn data_type(&self, found: &ColumnInfo) -> DataType {
        match &found.data_type {
            Some(data_type) => data_type.clone(),
            None if self.is_number(&found.name) => DataType::Float64,
            None => DataType::Utf8,
        }
    }
}

/// The maximum number of columns of a table.
pub(crate) const MOST_COLUMNS: usize = 16_384;

/// Errors on duplicate column names and on more than [`MOST_COLUMNS`] columns.
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

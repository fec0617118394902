//! Files with a header and no rows, so that an hourly job does not fail if an hour has no items.

use crate::error::Error;
use crate::join_verdicts::ItemList;
use crate::output_rows::{OutputColumn, OutputRows};
use crate::pick_round::{Picking, RowProbabilities};
use crate::read_options::ReadOptions;
use crate::roles::known;
use crate::table::Table;
use crate::write::{OutputLayout, TableWriter};
use arrow_schema::DataType;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A file with columns and no rows.
///
/// ```
/// use jurybox_files::{Format, ReadOptions, split_empty_files};
///
/// let dir = tempfile::tempdir()?;
/// let paths = ["09.csv", "10.csv", "picks.csv"].map(|name| dir.path().join(name));
/// std::fs::write(&paths[0], "post,spam\np1,0.9\n")?;
/// std::fs::write(&paths[1], "post,spam\n")?;
/// let (filled, empty) = split_empty_files(paths[..2].to_vec(), &ReadOptions::default());
/// assert_eq!((&filled[..], &empty[0].path), (&paths[..1], &paths[1]));
/// empty[0].write_no_picks(&paths[2], Format::Csv)?;
/// let header = "rank,value,probability,explored,picked_at,round,row,receipt,post,spam\n";
/// assert_eq!(std::fs::read_to_string(&paths[2])?, header);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmptyFile {
    /// The file's path.
    pub path: PathBuf,
    /// The names of its columns.
    pub columns: Vec<String>,
}

/// Splits paths into files with rows and files without. Pipes and files that cannot be read count
/// as having rows.
pub fn split_empty_files(paths: Vec<PathBuf>, reading: &ReadOptions) -> (Vec<PathBuf>, Vec<EmptyFile>) {
    let (mut filled, mut empty) = (Vec::new(), Vec::new());
    for path in paths {
        let looked = path.is_file().then(|| Table::sources(std::slice::from_ref(&path), reading, false));
        match looked {
            Some(Err(Error::NoRows { path, columns })) => empty.push(EmptyFile { path, columns }),
            _ => filled.push(path),
        }
    }
    (filled, empty)
}

impl EmptyFile {
    /// Errors if the file has no column named `column`.
    pub fn has(&self, column: &str) -> Result<(), Error> {
        known(&self.path, self.columns.iter().map(String::as_str), column)
    }

    /// Writes a file of picks that has a header and no rows.
    pub fn write_no_picks(&self, path: &Path, layout: impl Into<OutputLayout>) -> Result<(), Error> {
        let none = Picking {
            by_values_alone: true,
            rows: 0,
            round: String::new(),
            at: 0,
            observed_before: false,
            picks: Vec::new(),
            repeated: ItemList::default(),
            files: Vec::new(),
            values: Vec::new(),
            chances: RowProbabilities::Known(Vec::new()),
        };
        let mut output = OutputRows::default();
        self.columns.iter().for_each(|name| output.push(name, OutputColumn::Missing(0, DataType::Utf8)));
        let mut writer = TableWriter::new(path, layout)?;
        writer.write(&none.with_picks(&output, &[], &HashMap::new(), None, &HashMap::new()))?;
        writer.finish()
    }
}

//! The CSV file of all picks of a replay.

use crate::error::Error;
use jurybox_files::PendingFile;
use std::io::Write;
use std::path::Path;

/// A pick: its round, its row, and its inclusion probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LoggedPick {
    pub(crate) round: usize,
    pub(crate) row: usize,
    pub(crate) probability: f64,
}

/// Writes a CSV file with policy, run, round, row and probability of each pick. All numbers count
/// from 0, rows over all files.
pub(super) fn write(path: &Path, all: &[(String, usize, Vec<LoggedPick>)]) -> Result<(), Error> {
    let mut aside = PendingFile::new(path)?;
    let mut line = |text: String| aside.write_all(text.as_bytes()).map_err(Error::file(path));
    line("policy,run,round,row,probability\n".into())?;
    for (policy, run, picks) in all {
        let quote = if policy.contains([',', '"']) { "\"" } else { "" };
        let policy = policy.replace('"', "\"\"");
        for LoggedPick { round, row, probability } in picks {
            line(format!("{quote}{policy}{quote},{run},{round},{row},{probability}\n"))?;
        }
    }
    Ok(aside.finish()?)
}

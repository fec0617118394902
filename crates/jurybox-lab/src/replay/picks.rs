//! Every pick of a replay, for whoever wants to look.

use crate::error::Error;
use jurybox_files::Aside;
use std::io::Write;
use std::path::Path;

/// A pick: when, which row, and how probable it was.
pub(super) struct Chosen {
    pub(super) round: usize,
    pub(super) row: usize,
    pub(super) probability: f64,
}

/// Writes policy, run, round, row (from 0, over all files) and probability of each pick as CSV.
pub(super) fn write<'a>(
    path: &Path,
    picks: impl Iterator<Item = (&'a str, usize, &'a Chosen)>,
) -> Result<(), Error> {
    let mut aside = Aside::new(path)?;
    let mut line = |text: String| aside.write_all(text.as_bytes()).map_err(Error::file(path));
    line("policy,run,round,row,probability\n".into())?;
    for (policy, run, Chosen { round, row, probability }) in picks {
        let quote = if policy.contains([',', '"']) { "\"" } else { "" };
        let policy = policy.replace('"', "\"\"");
        line(format!("{quote}{policy}{quote},{run},{round},{row},{probability}\n"))?;
    }
    Ok(aside.finish()?)
}

//! Every pick of a replay, for whoever wants to look.

use crate::column::{Column, Slab};
use crate::error::Error;
use crate::input::Format;
use crate::write::Writer;
use std::path::Path;

/// A pick: when, which row, and how probable it was.
pub(super) struct Chosen {
    pub(super) round: usize,
    pub(super) row: usize,
    pub(super) probability: f64,
}

/// Writes policy, run, round, row (from 0, over all files) and probability of each pick.
pub(super) fn write<'a>(
    path: &Path,
    picks: impl Iterator<Item = (&'a str, usize, &'a Chosen)>,
) -> Result<(), Error> {
    const AT_ONCE: usize = 1 << 16;
    let mut writer = Writer::new(path, Format::Csv)?;
    let mut picks = picks.peekable();
    while picks.peek().is_some() {
        let (mut policy, mut run, mut round, mut row, mut probability) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (name, number, pick) in picks.by_ref().take(AT_ONCE) {
            policy.push(name.into());
            run.push(number as u64);
            round.push(pick.round as u64);
            row.push(pick.row as u64);
            probability.push(pick.probability);
        }
        let mut slab = Slab { rows: run.len(), ..Slab::default() };
        slab.push("policy", Column::Text { cells: policy, numeric: false });
        slab.push("run", Column::Count(run));
        slab.push("round", Column::Count(round));
        slab.push("row", Column::Count(row));
        slab.push("probability", Column::Number(probability));
        writer.write(&slab)?;
    }
    writer.finish()
}

//! Picks as they were written, read back: who was picked, when, with which scores and which receipt.

use crate::column::Slab;
use crate::error::{Error, Place};
use crate::own::written_name;
use crate::table::{Records, Table, Want};
use crate::verdicts::TakenBack;
use jurybox::Receipt;
use std::collections::{HashMap, HashSet};

pub(crate) struct Picked {
    pub(crate) id: Box<str>,
    pub(crate) round: String,
    pub(crate) at: u64,
    /// Its row in the round: one item may be picked by several runs over the same rows.
    pub(crate) row: u64,
    pub(crate) receipt: Receipt,
    pub(crate) scores: Vec<f64>,
}

/// The names under which our columns are in a table of picks.
struct Ours {
    round: String,
    at: String,
    row: String,
    receipt: String,
}

impl Ours {
    fn of(table: &Table) -> Result<Ours, Error> {
        let find = |name: &'static str| {
            written_name(table.columns(), name)
                .ok_or(Error::NotPicks { path: table.path().into(), column: name })
        };
        Ok(Ours {
            round: find("round")?,
            at: find("picked_at")?,
            row: find("row")?,
            receipt: find("receipt")?,
        })
    }
}

/// The picks of a table in the order of their time, each item once; rows without a receipt were not picked.
pub(crate) fn read_picks(table: &Table, back: &mut TakenBack) -> Result<Vec<Picked>, Error> {
    let ours = Ours::of(table)?;
    let (show, width) = (table.show(), table.taken().evaluators().len());
    let mut picks = Vec::new();
    table.scan(
        Want { key: true, records: Records::All, ..Want::default() },
        |mut part| {
            let slab = table.sources[part.source].whole(&part, &show)?;
            Ok((part.batch.take_scores(), part.batch.keys, slab))
        },
        |at, (scores, ids, slab)| {
            for (row, id) in ids.into_iter().enumerate() {
                let place = Place::Row(at.row_in_file + row as u64 + 1);
                let path = table.sources[at.file].path();
                let scores = &scores[row * width..(row + 1) * width];
                let refuse = |column: &str, value: String| Error::BadPick {
                    path: path.into(),
                    place,
                    column: column.into(),
                    value,
                };
                picks.extend(
                    picked(&ours, &slab, row, id, scores)
                        .map_err(|(column, value)| refuse(&column, value))?,
                );
            }
            Ok(())
        },
    )?;
    Ok(each_once(picks, back))
}

/// The pick in a row, where it is one; otherwise which cell cannot be read.
fn picked(
    ours: &Ours,
    slab: &Slab,
    row: usize,
    id: Box<str>,
    scores: &[f64],
) -> Result<Option<Picked>, (String, String)> {
    let text = |column: &String| {
        let at = slab.names.iter().position(|name| name == column);
        at.map_or_else(String::new, |at| slab.columns[at].text(row))
    };
    let receipt = text(&ours.receipt);
    if receipt.is_empty() || receipt == "null" {
        return Ok(None);
    }
    let bad = |column: &String, value: String| (column.clone(), value);
    let whole = |column: &String| whole_number(&text(column)).ok_or_else(|| bad(column, text(column)));
    Ok(Some(Picked {
        id,
        round: text(&ours.round),
        at: whole(&ours.at)?,
        row: whole(&ours.row)?,
        receipt: serde_json::from_str(&receipt).map_err(|_| bad(&ours.receipt, receipt.clone()))?,
        scores: scores.to_vec(),
    }))
}

/// A whole number, also as a program writes it that takes every number for a fraction: `7.0`.
fn whole_number(text: &str) -> Option<u64> {
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}

/// Each pick once though a file be named twice, and each item at its first pick.
fn each_once(mut picks: Vec<Picked>, back: &mut TakenBack) -> Vec<Picked> {
    picks.sort_by_key(|pick| pick.at);
    let mut seen: HashSet<(String, u64)> = HashSet::new();
    let mut first: HashMap<Box<str>, bool> = HashMap::new();
    picks.retain(|pick| {
        if !seen.insert((pick.round.clone(), pick.row)) {
            return false;
        }
        match first.get_mut(&pick.id) {
            None => first.insert(pick.id.clone(), false).is_none(),
            Some(told) => {
                if !std::mem::replace(told, true) {
                    back.picked_twice.push(&pick.id);
                }
                false
            }
        }
    });
    picks
}

//! Parsing a block of JSON lines into scores.

use super::fields::{FieldPaths, fields, is_object};
use crate::cell_number::{self, Notation, ParsedCell};
use crate::error::{Error, RowPosition};
use crate::id;
use crate::odd_cells::LATE;
use crate::scan_plan::{Batch, BatchLayout, ColumnUse, ScanPlan, group};
use memchr::memchr_iter;
use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;

/// The parser's message without `line 1`, which has no meaning, because each line is parsed alone.
pub(super) fn reason(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at character ")
}

/// The lines of a block that are not blank, each with its number from 1 and its start in bytes.
pub(super) fn lines(block: &[u8]) -> impl Iterator<Item = (u64, usize, &[u8])> {
    let mut at = 0;
    let mut number = 0;
    std::iter::from_fn(move || {
        while at < block.len() {
            let end = memchr::memchr(b'\n', &block[at..]).map_or(block.len(), |step| at + step + 1);
            let (start, line) = (at, &block[at..end]);
            number += 1;
            at = end;
            if !line.trim_ascii().is_empty() {
                return Some((number, start, line));
            }
        }
        None
    })
}

/// The input's path, its columns, and how positions in it are named.
pub(super) struct WantedFields<'a> {
    pub(super) path: &'a Path,
    /// The paths to all known columns, requested or not.
    pub(super) ways: &'a FieldPaths,
    /// Makes a position from a number: a line, or a row of a JSON array.
    pub(super) place: fn(u64) -> RowPosition,
}

/// Parses the lines of a block. Line numbers in errors count from 1 at the block's start.
pub(super) fn parse(wanted: &WantedFields<'_>, block: &[u8], plan: &ScanPlan) -> Result<Batch, Error> {
    let path = wanted.path;
    if let Err(bad) = std::str::from_utf8(block) {
        let line = memchr_iter(b'\n', &block[..bad.valid_up_to()]).count() as u64 + 1;
        return Err(Error::NotUtf8 { path: path.into(), place: (wanted.place)(line) });
    }
    let mut batch =
        Batch { tallies: plan.tallies(), starts_lines: true, ..Batch::new(plan, BatchLayout::default()) };
    let mut scores: Vec<f64> = Vec::new();
    let mut cells: Vec<Option<&RawValue>> = vec![None; plan.names.len()];
    let mut late: Vec<(String, RowPosition)> = Vec::new();
    for (number, start, line) in lines(block) {
        let place = (wanted.place)(number);
        cells.fill(None);
        let mut deserializer = serde_json::Deserializer::from_slice(line);
        let mut stranger = |key: &str| {
            if late.len() < LATE && late.iter().all(|(known, _)| known != key) {
                late.push((key.into(), place));
            }
        };
        let takes = FieldVisitor { ways: wanted.ways, plan, cells: &mut cells, stranger: &mut stranger };
        let parsed = takes.deserialize(&mut deserializer).and_then(|()| deserializer.end());
        parsed.map_err(|e| Error::Json { path: path.into(), place, reason: reason(&e) })?;
        batch.rows += 1;
        if plan.records {
            batch.starts.push(start);
        }
        let row = scores.len();
        scores.resize(row + plan.evaluators, f64::NAN);
        for (column, what) in plan.uses.iter().enumerate() {
            if *what == ColumnUse::Skip {
                continue;
            }
            let text = cells[column].map_or("null", RawValue::get);
            if *what == ColumnUse::Key {
                batch.keys.push(plain(text).into());
                continue;
            }
            if let ColumnUse::Group { evaluator } = *what {
                scores[row + evaluator] = group(&plain(text));
                continue;
            }
            if *what == ColumnUse::Reviewer {
                batch.reviewed_by(&plain(text));
                continue;
            }
            if *what == ColumnUse::Id {
                let cell = plain(text);
                id::check(path, place, &plan.names[column], &cell)?;
                batch.name(batch.rows - 1, &plan.names[column], &cell);
                continue;
            }
            let cell = read(&plan.notations[column], text);
            let number = batch.tallies[column].take(path, place, plan, column, cell, text.as_bytes())?;
            match *what {
                ColumnUse::Skip
                | ColumnUse::Key
                | ColumnUse::Id
                | ColumnUse::Group { .. }
                | ColumnUse::Reviewer
                | ColumnUse::Watch => {}
                ColumnUse::Score { evaluator, sign } => scores[row + evaluator] = number * sign,
                ColumnUse::Reward { sign } => batch.rewards.push(number * sign),
                ColumnUse::Probability => batch.probabilities.push(number),
            }
        }
    }
    if plan.records {
        batch.starts.push(block.len());
    }
    batch.late = late;
    batch.scores = BatchLayout::Rows(scores);
    Ok(batch)
}

/// Reads a JSON value as a number. `null` is missing, `true` is 1 and `false` is 0; a string is
/// read like a text cell; arrays and objects are not numbers.
pub(super) fn read(notation: &Notation, text: &str) -> ParsedCell {
    match text.as_bytes().first() {
        Some(b'"') => notation.read(plain(text).as_bytes()),
        Some(b'[' | b'{') => ParsedCell::NotANumber,
        Some(b't') => ParsedCell::Number(1.0),
        Some(b'f') => ParsedCell::Number(0.0),
        Some(b'n') | None => ParsedCell::Missing,
        // JSON numbers have a decimal point, whatever decimal mark the user set for text.
        Some(_) => match cell_number::parse(text.as_bytes()) {
            ParsedCell::Number(value) if notation.na.is_missing(value) => ParsedCell::Missing,
            cell => cell,
        },
    }
}

/// A JSON value as text: strings without quotes, null as empty text, other values as written.
pub(super) fn plain(text: &str) -> String {
    if text == "null" {
        return String::new();
    }
    serde_json::from_str::<String>(text).unwrap_or_else(|_| text.into())
}

/// Collects the requested values of one object and skips the rest.
struct FieldVisitor<'w, 'c, 'de> {
    ways: &'w FieldPaths,
    plan: &'w ScanPlan,
    cells: &'c mut [Option<&'de RawValue>],
    /// Receives each unknown key of the object, and the keys that `visit_nested` reports.
    stranger: &'c mut dyn FnMut(&str),
}

impl<'de> DeserializeSeed<'de> for FieldVisitor<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl FieldVisitor<'_, '_, '_> {
    fn is_wanted(&self, column: usize) -> bool {
        self.plan.uses[column] != ColumnUse::Skip
    }
}

impl<'de> Visitor<'de> for FieldVisitor<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let Some(way) = self.ways.on.get(&*key) else {
                (self.stranger)(&key);
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let column = way.column.filter(|&column| self.is_wanted(column));
            let goes_on = way.wants(self.plan);
            if column.is_none() && !goes_on {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value: &RawValue = map.next_value()?;
            if let Some(column) = column
                && self.cells[column].replace(value).is_some()
            {
                return Err(de::Error::custom(format!("the key `{key}` occurs twice")));
            }
            if goes_on && is_object(value) {
                visit_nested(way, self.plan, (value, &key), self.cells, self.stranger)
                    .map_err(de::Error::custom)?;
            }
        }
        Ok(())
    }
}

/// Collects the requested values of a nested object with the dotted name `name`. `stranger`
/// receives the dotted names of unknown keys whose values are numbers.
fn visit_nested<'de>(
    ways: &FieldPaths,
    plan: &ScanPlan,
    (object, name): (&'de RawValue, &str),
    cells: &mut [Option<&'de RawValue>],
    stranger: &mut dyn FnMut(&str),
) -> Result<(), serde_json::Error> {
    for (key, value) in fields(object.get().as_bytes())? {
        let Some(way) = ways.on.get(&*key) else {
            if value.get().starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
                stranger(&format!("{name}.{key}"));
            }
            continue;
        };
        if let Some(column) = way.column.filter(|&column| plan.uses[column] != ColumnUse::Skip) {
            cells[column] = Some(value);
        }
        if way.wants(plan) && is_object(value) {
            visit_nested(way, plan, (value, &format!("{name}.{key}")), cells, stranger)?;
        }
    }
    Ok(())
}

impl FieldPaths {
    /// Whether any requested column lies below this key.
    fn wants(&self, plan: &ScanPlan) -> bool {
        let wanted = |way: &FieldPaths| way.column.is_some_and(|column| plan.uses[column] != ColumnUse::Skip);
        self.on.values().any(|way| wanted(way) || way.wants(plan))
    }
}

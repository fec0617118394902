//! Parsing a block of lines into scores.

use crate::ask::{Ask, Batch, Layout, Use, cell_number, number_for};
use crate::error::{Error, Place};
use crate::format::MOST_COLUMNS;
use crate::number;
use memchr::memchr_iter;
use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// One line as its keys and the values as they are written.
pub(super) fn fields(line: &[u8]) -> Result<Vec<(String, Box<RawValue>)>, serde_json::Error> {
    struct Fields;
    impl<'de> Visitor<'de> for Fields {
        type Value = Vec<(String, Box<RawValue>)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON object")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let mut fields: Self::Value = Vec::new();
            while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                if fields.iter().any(|(other, _)| *other == key) {
                    return Err(de::Error::custom(format!("the key `{key}` stands twice")));
                }
                fields.push((key, value));
                if fields.len() > MOST_COLUMNS {
                    return Err(de::Error::custom(format!("there are more than {MOST_COLUMNS} keys")));
                }
            }
            Ok(fields)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let fields = de::Deserializer::deserialize_map(&mut deserializer, Fields)?;
    deserializer.end()?;
    Ok(fields)
}

/// What the parser says, its line left out: to it, every line is the first.
pub(super) fn reason(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at character ")
}

/// The lines of a block that are not blank, with their numbers from 1.
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

/// Parses the lines of a block.
pub(super) fn parse(path: &Path, block: &[u8], ask: &Ask) -> Result<Batch, Error> {
    if let Err(bad) = std::str::from_utf8(block) {
        let line = memchr_iter(b'\n', &block[..bad.valid_up_to()]).count() as u64 + 1;
        return Err(Error::NotUtf8 { path: path.into(), place: Place::Line(line) });
    }
    let columns: HashMap<&str, usize> =
        ask.names.iter().enumerate().map(|(column, name)| (name.as_str(), column)).collect();
    let mut batch = Batch::new(ask, Layout::default());
    let mut scores: Vec<f64> = Vec::new();
    let mut cells: Vec<Option<Box<RawValue>>> = vec![None; ask.names.len()];
    for (number, start, line) in lines(block) {
        let place = Place::Line(number);
        cells.fill(None);
        let mut deserializer = serde_json::Deserializer::from_slice(line);
        let mut late = None;
        let wanted = Wanted { columns: &columns, ask, cells: &mut cells, late: &mut late };
        let parsed = wanted.deserialize(&mut deserializer).and_then(|()| deserializer.end());
        parsed.map_err(|e| match late {
            Some(key) => Error::LateKey { path: path.into(), place, key },
            None => Error::Json { path: path.into(), place, reason: reason(&e) },
        })?;
        batch.rows += 1;
        if ask.records {
            batch.starts.push(start);
        }
        let row = scores.len();
        scores.resize(row + ask.evaluators, f64::NAN);
        for (column, what) in ask.uses.iter().enumerate() {
            if *what == Use::Skip {
                continue;
            }
            let text = cells[column].as_deref().map_or("null", RawValue::get);
            let number = || json_number(path, place, &ask.names[column], text);
            match *what {
                Use::Skip => {}
                Use::Score { evaluator, sign } => scores[row + evaluator] = number()? * sign,
                Use::Reward { sign } => batch.rewards.push(number()? * sign),
                Use::Probability => batch.probabilities.push(number()?),
                Use::Key => batch.keys.push(plain(text).into()),
            }
        }
    }
    if ask.records {
        batch.starts.push(block.len());
    }
    batch.scores = Layout::Rows(scores);
    Ok(batch)
}

/// A JSON value as a number: numbers, null, true and false, and strings that hold one of them.
fn json_number(path: &Path, place: Place, column: &str, text: &str) -> Result<f64, Error> {
    match text {
        "true" => Ok(1.0),
        "false" => Ok(0.0),
        _ if text.starts_with('"') => cell_number(path, place, column, plain(text).as_bytes()),
        _ => number_for(path, place, column, number::parse(text.as_bytes()), text.as_bytes()),
    }
}

/// Whether a JSON value can be a score; `None` where it is missing.
pub(super) fn is_number(text: &str) -> Option<bool> {
    match text.as_bytes().first() {
        Some(b't' | b'f') => Some(true),
        Some(b'[' | b'{') => Some(false),
        _ => match number::parse(plain(text).as_bytes()) {
            number::Cell::Missing => None,
            number::Cell::Number(_) | number::Cell::Unusable => Some(true),
            number::Cell::NotANumber => Some(false),
        },
    }
}

/// A JSON value as text: strings without their quotes, null as nothing, the rest as written.
pub(super) fn plain(text: &str) -> String {
    if text == "null" {
        return String::new();
    }
    serde_json::from_str::<String>(text).unwrap_or_else(|_| text.into())
}

/// Takes the wanted values out of one object and passes over the rest.
struct Wanted<'a> {
    columns: &'a HashMap<&'a str, usize>,
    ask: &'a Ask,
    cells: &'a mut [Option<Box<RawValue>>],
    /// A key that is no column.
    late: &'a mut Option<String>,
}

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            let Some(&column) = self.columns.get(&*key) else {
                // It would be lost: the columns were told from the beginning of the file.
                *self.late = Some(key.into_owned());
                return Err(de::Error::custom("a late key"));
            };
            match Some(column).filter(|&column| self.ask.uses[column] != Use::Skip) {
                Some(column) if self.cells[column].is_some() => {
                    return Err(de::Error::custom(format!("the key `{key}` stands twice")));
                }
                Some(column) => self.cells[column] = Some(map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

//! The fields of a JSON object. A field of a nested object has a dotted name, such as
//! `scores.spam`.

use crate::format::MOST_COLUMNS;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// The keys of one object, each with its raw JSON value.
pub(super) type Fields<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// Reads the keys and values of one object. Errors on a repeated key and on too many keys.
pub(super) fn fields(text: &[u8]) -> Result<Fields<'_>, serde_json::Error> {
    struct FieldsVisitor;
    impl<'de> Visitor<'de> for FieldsVisitor {
        type Value = Fields<'de>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON object")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let (mut fields, mut seen) = (Fields::new(), HashSet::new());
            while let Some((key, value)) = map.next_entry::<JsonKey<'de>, &RawValue>()? {
                if !seen.insert(key.0.clone()) {
                    return Err(de::Error::custom(format!("the key `{}` occurs twice", key.0)));
                }
                fields.push((key.0, value));
                if fields.len() > MOST_COLUMNS {
                    return Err(de::Error::custom(format!("there are more than {MOST_COLUMNS} keys")));
                }
            }
            Ok(fields)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let fields = (&mut deserializer).deserialize_map(FieldsVisitor)?;
    deserializer.end()?;
    Ok(fields)
}

/// A key, borrowed from the text if it has no escapes.
#[derive(serde::Deserialize)]
struct JsonKey<'a>(#[serde(borrow)] Cow<'a, str>);

/// Whether a value is an object.
pub(super) fn is_object(value: &RawValue) -> bool {
    value.get().starts_with('{')
}

/// The path of keys to the field `name`, or `None`. A key that itself contains dots is preferred to
/// a path of that name.
pub(super) fn find(fields: &Fields<'_>, name: &str) -> Option<Vec<String>> {
    if fields.iter().any(|(key, _)| key == name) {
        return Some(vec![name.into()]);
    }
    fields.iter().find_map(|(key, value)| {
        let rest = name.strip_prefix(&**key)?.strip_prefix('.')?;
        let within = self::fields(value.get().as_bytes()).ok()?;
        let mut way = find(&within, rest)?;
        way.insert(0, key.to_string());
        Some(way)
    })
}

/// The value at the end of a path of keys, or `None`.
pub(super) fn at<'a>(fields: &Fields<'a>, way: &[String]) -> Option<&'a RawValue> {
    let (first, rest) = way.split_first()?;
    let (_, value) = fields.iter().find(|(key, _)| key == first)?;
    if rest.is_empty() { Some(value) } else { at(&self::fields(value.get().as_bytes()).ok()?, rest) }
}

/// The paths to all columns as a tree, with one node per key. `column` is the column whose path
/// ends at the node's key, and `on` has the nodes of the keys below it.
#[derive(Debug, Default)]
pub(super) struct FieldPaths {
    pub(super) column: Option<usize>,
    pub(super) on: HashMap<String, FieldPaths>,
}

impl FieldPaths {
    /// Adds the path `way`, which leads to a column.
    pub(super) fn add(&mut self, way: &[String], column: usize) {
        match way.split_first() {
            None => self.column = Some(column),
            Some((key, rest)) => self.on.entry(key.clone()).or_default().add(rest, column),
        }
    }
}

//! JSON values that keep the order of their fields, so that reviewers see a payload as it was sent.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Number, Value};
use std::fmt;

/// A JSON value whose fields stay in order.
///
/// ```
/// let sent = r#"{"title": "A", "body": {"z": 1, "a": [null]}}"#;
/// let sent: jurybox_server::Json = serde_json::from_str(sent)?;
/// assert_eq!(sent.to_string(), r#"{"title":"A","body":{"z":1,"a":[null]}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object: names and values in order, without repeated names.
    Fields(Vec<(String, Json)>),
}

impl fmt::Display for Json {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        match value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(value),
            Value::Number(value) => Json::Number(value),
            Value::String(value) => Json::Text(value),
            Value::Array(all) => Json::List(all.into_iter().map(Json::from).collect()),
            Value::Object(all) => {
                Json::Fields(all.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => to.serialize_unit(),
            Json::Bool(value) => to.serialize_bool(*value),
            Json::Number(value) => value.serialize(to),
            Json::Text(value) => to.serialize_str(value),
            Json::List(all) => all.serialize(to),
            Json::Fields(all) => {
                let mut map = to.serialize_map(Some(all.len()))?;
                for (name, value) in all {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Json, D::Error> {
        from.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("any JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Ok(Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.into()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Json, A::Error> {
        let mut all = Vec::new();
        while let Some(value) = from.next_element()? {
            all.push(value);
        }
        Ok(Json::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Json, A::Error> {
        let (mut all, mut places) = (Vec::new(), std::collections::HashMap::new());
        while let Some((name, value)) = from.next_entry::<String, Json>()? {
            // The last value of a repeated name counts, as in most JSON readers.
            let place = *places.entry(name.clone()).or_insert(all.len());
            if place == all.len() {
                all.push((name, value));
            } else {
                all[place].1 = value;
            }
        }
        Ok(Json::Fields(all))
    }
}

/// Whether two texts are equal, or the same JSON but for the order of fields.
pub(crate) fn are_same(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    one == other || read(one).is_some_and(|one| read(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stay_in_their_order_and_everything_comes_back() {
        for text in [
            r#"{"z":1,"a":{"y":[true,null,-2,0.1,1e300,18446744073709551615],"b":"\"\n"},"m":{}}"#,
            r#""text""#,
            "[]",
            "null",
        ] {
            let read: Json = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::from_str::<Json>(&read.to_string()).unwrap(), read);
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), value, "it is what serde_json reads");
        }
        let read: Json = serde_json::from_str(r#"{"b":1,"a":2,"b":3}"#).unwrap();
        assert_eq!(read.to_string(), r#"{"b":3,"a":2}"#);
        assert!(are_same(r#"{"a":1,"b":[2]}"#, r#"{"b":[2],"a":1}"#) && !are_same("[1,2]", "[2,1]"));
    }
}

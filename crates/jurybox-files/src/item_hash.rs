//! Short hashes of items and of verdicts, as a state stores them.

use crate::fingerprint::Fingerprint;

/// A 48-bit hash of an item's id, or of other data that identifies it. Among half a million of
/// them, the chance of any collision is below one in a thousand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ItemHash(u64);

impl ItemHash {
    /// The hash of an id.
    pub(crate) fn of(id: &str) -> ItemHash {
        let mut name = Fingerprint::new();
        name.text(id);
        ItemHash::named(&name)
    }

    /// The hash of a pick's position in its round. The hashed bytes are never those of an id.
    pub(crate) fn at(round: &str, row: u64) -> ItemHash {
        let mut name = Fingerprint::new();
        name.text(round);
        name.bytes(&row.to_le_bytes());
        ItemHash::named(&name)
    }

    pub(crate) fn named(name: &Fingerprint) -> ItemHash {
        ItemHash(name.value() >> 16)
    }
}

/// Serialisation of many hashes as one string: `"3c5e9f0a1b2d 77…"`.
pub(crate) mod on_one_line {
    use super::ItemHash;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<'a, C, S: Serializer>(items: &'a C, to: S) -> Result<S::Ok, S::Error>
    where
        &'a C: IntoIterator<Item = &'a ItemHash>,
    {
        let names: Vec<String> = items.into_iter().map(|item| format!("{:012x}", item.0)).collect();
        to.serialize_str(&names.join(" "))
    }

    pub(crate) fn deserialize<'de, C, D>(from: D) -> Result<C, D::Error>
    where
        C: FromIterator<ItemHash>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        let item = |text| u64::from_str_radix(text, 16).map(ItemHash).map_err(D::Error::custom);
        text.split_whitespace().map(item).collect()
    }
}

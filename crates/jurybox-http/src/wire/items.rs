//! Request and answer bodies of items, and how batches with unreadable entries are read.

use super::{Name, TagFilter};
use crate::body::reworded;
use crate::time::Time;
use jurybox_server::MOST_AT_ONCE;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use utoipa::ToSchema;

/// Scores by evaluator; a missing score is null or left out.
pub(crate) type ScoresByName = BTreeMap<Name, Option<f64>>;

/// Reads an object and refuses duplicate keys, because it would be unclear which value counts.
pub(crate) fn unique_keys<'de, D, V>(from: D) -> Result<BTreeMap<Name, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    struct Each<V>(PhantomData<V>);
    impl<'de, V: Deserialize<'de>> Visitor<'de> for Each<V> {
        type Value = BTreeMap<Name, V>;

        fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            to.write_str("an object with a value for each name")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut each = BTreeMap::new();
            while let Some((name, value)) = map.next_entry::<Name, V>()? {
                if each.contains_key(&name) {
                    return Err(A::Error::custom(format_args!("`{}` appears twice", &*name)));
                }
                each.insert(name, value);
            }
            Ok(each)
        }
    }
    from.deserialize_map(Each(PhantomData))
}

/// An item to add or update.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an item: an object with `id` and `scores`")]
pub(crate) struct ItemBody {
    /// Your id for the item. An item sent again under its id is updated.
    id: Name,
    /// The item's scores by evaluator; a missing score is null or left out.
    #[serde(default, deserialize_with = "unique_keys")]
    scores: ScoresByName,
    /// The content shown to reviewers: any JSON.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<jurybox_server::Json>,
    /// The item's tags, such as its language. Claims can filter by tags.
    #[serde(default, deserialize_with = "unique_keys")]
    tags: BTreeMap<Name, Name>,
    /// From this time on, the item comes before all items that are not due.
    #[schema(value_type = Option<String>, format = DateTime)]
    due: Option<Time>,
    /// The known answer of a test question, as a label or a reward. The desk does not show it. The
    /// page about reviewers shows how often each reviewer answers correctly. Stored as the tag
    /// `golden`.
    golden: Option<Name>,
}

impl ItemBody {
    /// Reads one line of a stream. An error gives the item's id, if that is readable, and the
    /// fault.
    pub(crate) fn read(bytes: &[u8]) -> Result<ItemBody, (Option<String>, String)> {
        read_entry(bytes)
    }
}

/// Reads one entry of a batch. An error gives the entry's id, if that is readable, and the fault.
fn read_entry<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, (Option<String>, String)> {
    #[derive(Deserialize)]
    struct Called {
        id: Name,
    }
    // serde would read a list as an object with its fields in order.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err((None, "it is not an object".into()));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let called = serde_json::from_slice::<Called>(bytes).ok();
        (called.map(|called| called.id.into()), reworded(&error.to_string()))
    })
}

/// The entries of a batch that cannot be read, with an answer for each.
#[derive(Debug, Default)]
pub(crate) struct UnreadableEntries {
    /// The JSON of each entry, as it was sent.
    pub(crate) texts: Vec<String>,
    pub(crate) rejected: Vec<RejectedItem>,
}

/// Reads the entries of a batch one by one, so that one unreadable entry does not spoil the rest. A
/// batch with too many entries is refused as a whole.
pub(super) fn read_entries<T: DeserializeOwned>(
    name: &str,
    many: &[&RawValue],
) -> Result<(Vec<T>, UnreadableEntries), serde_json::Error> {
    if many.len() > MOST_AT_ONCE {
        let many = many.len();
        return Err(serde_json::Error::custom(format_args!(
            "{many} {name} at once, more than {MOST_AT_ONCE}: send them in parts"
        )));
    }
    let (mut read, mut unread) = (Vec::with_capacity(many.len()), UnreadableEntries::default());
    for (at, raw) in many.iter().enumerate() {
        match read_entry(raw.get().as_bytes()) {
            Ok(one) => read.push(one),
            Err((id, why)) => {
                let place = format!("{name}[{at}]");
                let why = if id.is_some() { format!("{place}: {why}") } else { why };
                unread.texts.push(raw.get().into());
                unread.rejected.push(RejectedItem { id: id.unwrap_or(place), why });
            }
        }
    }
    Ok((read, unread))
}

impl From<ItemBody> for jurybox_server::NewItem {
    fn from(item: ItemBody) -> Self {
        jurybox_server::NewItem {
            id: item.id.into(),
            scores: item.scores.into_iter().map(|(name, score)| (name.into(), score)).collect(),
            payload: item.payload,
            tags: item
                .tags
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .chain(item.golden.map(|known| (jurybox_server::GOLDEN.to_string(), known.into())))
                .collect(),
            due: item.due.map(|due| due.0),
        }
    }
}

/// Items to add or update: several, or one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "for the schema; `ItemsBody::read` tells the forms apart by their fields")]
pub(crate) enum ItemsBody {
    Several(SeveralItems),
    One(ItemBody),
}

/// Several items.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "for the schema; each item is parsed by itself")]
pub(crate) struct SeveralItems {
    pub(crate) items: Vec<ItemBody>,
}

impl ItemsBody {
    /// Reads one item, or a list of items, apart from entries of the list that cannot be read. A
    /// body with the field `items` is a list.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Vec<ItemBody>, UnreadableEntries), serde_json::Error> {
        #[derive(Deserialize)]
        #[serde(expecting = "an item, or an object with `items`")]
        struct Which {
            items: Option<serde::de::IgnoredAny>,
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Several<'a> {
            #[serde(borrow)]
            items: Vec<&'a RawValue>,
        }
        let which: Which = serde_json::from_slice(bytes)?;
        if which.items.is_none() {
            return Ok((vec![serde_json::from_slice(bytes)?], UnreadableEntries::default()));
        }
        let several: Several<'_> = serde_json::from_slice(bytes)?;
        read_entries("items", &several.items)
    }
}

/// More scores for an item.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScoresBody {
    /// Scores by evaluator. Scores that are null or left out do not change.
    #[serde(deserialize_with = "unique_keys")]
    pub(crate) scores: ScoresByName,
}

impl ScoresBody {
    pub(crate) fn of(self, id: String) -> jurybox_server::NewItem {
        let scores = self.scores.into_iter().map(|(name, score)| (name.into(), score)).collect();
        jurybox_server::NewItem { id, scores, ..Default::default() }
    }
}

/// The numbers of added, updated and unchanged items, and the refused ones.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct ItemsAnswer {
    /// How many items are new.
    pub(crate) accepted: u64,
    /// How many known items have changed.
    pub(crate) updated: u64,
    /// How many known items have not changed.
    pub(crate) unchanged: u64,
    /// How many scores were ignored because their evaluator was removed from the queue; absent if
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ignored_scores: Option<u64>,
    /// The items that were refused.
    pub(crate) rejected: Vec<RejectedItem>,
}

/// An entry that was refused, and why.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RejectedItem {
    /// The entry's id; if that is unreadable its position: `items[2]`, `verdicts[2]` or `line 3`.
    pub(crate) id: String,
    pub(crate) why: String,
}

impl From<jurybox_server::Rejected> for RejectedItem {
    fn from(rejected: jurybox_server::Rejected) -> Self {
        RejectedItem { id: rejected.id, why: rejected.why }
    }
}

/// Items to close without a verdict.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CloseBody {
    /// Only items with these tags.
    #[serde(default)]
    #[schema(inline)]
    pub(crate) tags: TagFilter,
    /// Only items that arrived before this time.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) before: Option<Time>,
    /// The reason, for the activity log.
    pub(crate) reason: Name,
}

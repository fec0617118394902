//! Items that come in, and what becomes of them.

use super::{Name, TagFilter};
use crate::body::plainly;
use crate::time::Time;
use jurybox_server::MOST_AT_ONCE;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use utoipa::ToSchema;

/// Scores by the names of evaluators; null or left out where missing.
pub(crate) type ScoresByName = BTreeMap<Name, Option<f64>>;

/// What stands under each name, where no name stands there twice: of two, nobody could say which is meant.
pub(crate) fn once_each<'de, D, V>(from: D) -> Result<BTreeMap<Name, V>, D::Error>
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
                    return Err(A::Error::custom(format_args!("`{}` is there twice", &*name)));
                }
                each.insert(name, value);
            }
            Ok(each)
        }
    }
    from.deserialize_map(Each(PhantomData))
}

/// An item to take in.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an item: an object with `id` and `scores`")]
pub(crate) struct ItemBody {
    /// Your name for it: sent again, it is the same item.
    id: Name,
    /// Its scores by the names of evaluators; null or left out where missing.
    #[serde(default, deserialize_with = "once_each")]
    scores: ScoresByName,
    /// What the reviewer is shown: any JSON.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<jurybox_server::Json>,
    /// Its tags, such as its language: claims can ask for them.
    #[serde(default, deserialize_with = "once_each")]
    tags: BTreeMap<Name, Name>,
    /// From when on it goes before all others.
    #[schema(value_type = Option<String>, format = DateTime)]
    due: Option<Time>,
    /// The label or the reward that a careful reviewer would give it, where that is known: the page about reviewers says how often each finds
    /// it. The desk does not show it. It is kept as the tag `golden`.
    golden: Option<Name>,
}

impl ItemBody {
    /// Reads one of many. An error says what is wrong, and the item's id where that can be read.
    pub(crate) fn read(bytes: &[u8]) -> Result<ItemBody, (Option<String>, String)> {
        one(bytes)
    }
}

/// Reads one of many. An error says what is wrong, and the id where that can be read.
fn one<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, (Option<String>, String)> {
    #[derive(Deserialize)]
    struct Called {
        id: Name,
    }
    // Serde would take a list for an object, its fields in order.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err((None, "it is not an object".into()));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let called = serde_json::from_slice::<Called>(bytes).ok();
        (called.map(|called| called.id.into()), plainly(&error.to_string()))
    })
}

/// Those of many that cannot be read, and what is told of each.
#[derive(Debug, Default)]
pub(crate) struct UnreadableEntries {
    /// As they were sent.
    pub(crate) texts: Vec<String>,
    pub(crate) rejected: Vec<RejectedItem>,
}

/// Reads each of many, and says which of them cannot be read. Those count as well where there are more than may come at once.
pub(super) fn each<T: DeserializeOwned>(
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
        match one(raw.get().as_bytes()) {
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

/// Items to take in: several, or one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "the schema; which of the two it is, is told by its fields when it is read")]
pub(crate) enum ItemsBody {
    Several(SeveralItems),
    One(ItemBody),
}

/// Several items.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the schema; each item is read for itself")]
pub(crate) struct SeveralItems {
    pub(crate) items: Vec<ItemBody>,
}

impl ItemsBody {
    /// Reads one or several, and those of several that cannot be read. An error says what is wrong with the form that was meant.
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
        each("items", &several.items)
    }
}

/// Further scores of an item.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScoresBody {
    /// By the names of evaluators; those that are null or left out stay as they are.
    #[serde(deserialize_with = "once_each")]
    pub(crate) scores: ScoresByName,
}

impl ScoresBody {
    pub(crate) fn of(self, id: String) -> jurybox_server::NewItem {
        let scores = self.scores.into_iter().map(|(name, score)| (name.into(), score)).collect();
        jurybox_server::NewItem { id, scores, ..Default::default() }
    }
}

/// What became of items.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct ItemsAnswer {
    /// How many are new.
    pub(crate) accepted: u64,
    /// How many were there and have changed.
    pub(crate) updated: u64,
    /// How many were there and have not changed.
    pub(crate) unchanged: u64,
    /// How many scores were left out because their evaluators have been removed from the queue; not there where none were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ignored_scores: Option<u64>,
    /// Those that were not taken in.
    pub(crate) rejected: Vec<RejectedItem>,
}

/// What was not taken in, and why.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RejectedItem {
    /// Its id; its place, such as `items[2]`, `verdicts[2]` or `line 3`, where that could not be read.
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
    /// Only those with these tags.
    #[serde(default)]
    #[schema(inline)]
    pub(crate) tags: TagFilter,
    /// Only those that came in before this time.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) before: Option<Time>,
    /// Why, for the log.
    pub(crate) reason: Name,
}

//! The activity log with the ids of items, as the feed of a queue or the history of one item.

use crate::error::corrupt;
use crate::event::{Body, LogEvent};
use crate::request::MOST_AT_ONCE;
use crate::service::Queue;
use crate::store::set_up;
use crate::stored_body::StoredBody;
use crate::{Config, Error, VerdictSource};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// An entry of the activity log with the ids of its items; erased items are left out.
#[derive(Debug, Clone)]
pub struct ActivityEntry {
    /// The number of the entry.
    pub seq: u64,
    /// The time of the entry, in microseconds since 1970.
    pub at: i64,
    /// The user or key that caused it.
    pub actor: String,
    /// The kind of the entry, such as `claim`.
    pub kind: &'static str,
    /// The reviewer, if the entry is about one.
    pub reviewer: Option<String>,
    /// The ids of the items it is about, without erased ones.
    pub items: Vec<String>,
    /// The number of items it is about, including erased ones.
    pub many: u64,
    /// Its verdicts: id, item, reviewer, source, reward, and the item's final reward if the verdict
    /// decides it. Verdicts on erased items are left out.
    pub verdicts: Vec<(String, String, String, VerdictSource, f64, Option<f64>)>,
    /// The id of the verdict that it took back.
    pub undone: Option<String>,
    /// The configuration that it created or changed.
    pub config: Option<Config>,
    /// The changed settings by name, with their new values; null for a setting that was removed.
    pub changed: BTreeMap<String, Value>,
    /// The reason, if one was given.
    pub reason: Option<String>,
}

/// Log entries read at a time.
const STEP: u64 = 16;

impl Queue {
    /// At most `limit` log entries after `after`. There are fewer if they are about very many
    /// items, but at least one if there is any and `limit` is not 0.
    pub fn activity(&self, after: u64, limit: usize) -> Result<Vec<ActivityEntry>, Error> {
        self.read_separately(|store, queue, head| {
            let until = head.seq.min(after.saturating_add(limit as u64));
            if after >= until {
                return Ok(Vec::new());
            }
            let (history, _) = set_up(store, queue, until)?;
            let (mut events, mut numbers): (Vec<LogEvent>, Vec<u64>) = Default::default();
            let mut last = after;
            'page: while last < until {
                let read = store.events(queue, last, until.min(last + STEP), &history)?;
                if read.is_empty() {
                    break;
                }
                for event in read {
                    let about = numbers_of(&event.body);
                    // The first entry is taken however many items it is about.
                    if !events.is_empty() && numbers.len() + about.len() > MOST_AT_ONCE {
                        break 'page;
                    }
                    last = event.seq;
                    numbers.extend(about);
                    events.push(event);
                }
            }
            numbers.sort_unstable();
            numbers.dedup();
            let ids: HashMap<u64, String> = store.ids(queue, &numbers)?.into_iter().collect();
            let mut activity: Vec<ActivityEntry> = Vec::with_capacity(events.len());
            for event in events {
                let undone = match &event.body {
                    Body::Undo { verdict, .. } => store.taken_back(queue, *verdict, event.seq)?,
                    _ => None,
                };
                activity.push(ActivityEntry { undone, ..told(event, &ids) });
            }
            if activity.iter().any(|activity| activity.config.is_some()) {
                note_changes(&mut activity, &store.bodies(queue, ["create", "configure"], last)?)?;
            }
            Ok(activity)
        })
    }
}

impl Queue {
    /// The history of the item with this number, newest first, at most `most` entries. Each names
    /// this item only. Extensions of leases, and releases without a reason, are left out.
    pub fn item_activity(&self, n: u64, most: usize) -> Result<Vec<ActivityEntry>, Error> {
        self.read_separately(|store, queue, head| {
            let (history, _) = set_up(store, queue, head.seq)?;
            let ids: HashMap<u64, String> = store.ids(queue, &[n])?.into_iter().collect();
            let mut activity = Vec::new();
            for seq in store.entries_about(queue, n, most as u64)? {
                for event in store.events(queue, seq.saturating_sub(1), seq, &history)? {
                    let undone = match &event.body {
                        Body::Undo { verdict, .. } => store.taken_back(queue, *verdict, seq)?,
                        _ => None,
                    };
                    // Counts this item only.
                    activity.push(ActivityEntry { undone, many: 1, ..told(event, &ids) });
                }
            }
            Ok(activity)
        })
    }
}

/// Fills in the settings that each entry changed, by comparing `bodies`: those of all `create` and
/// `configure` entries so far.
pub(super) fn note_changes(activity: &mut [ActivityEntry], bodies: &[(u64, String)]) -> Result<(), Error> {
    let mut before = Value::Null;
    for (seq, body) in bodies {
        let (StoredBody::Create { config, .. } | StoredBody::Configure { config, .. }) =
            StoredBody::from_text(body)?
        else {
            continue;
        };
        let after = serde_json::to_value(&config).map_err(corrupt)?;
        if let Some(activity) = activity.iter_mut().find(|activity| activity.seq == *seq) {
            let names = [&before, &after].into_iter().filter_map(Value::as_object).flat_map(|all| all.keys());
            let changed = names.filter(|name| before[name.as_str()] != after[name.as_str()]);
            activity.changed = changed.map(|name| (name.clone(), after[name.as_str()].clone())).collect();
        }
        before = after;
    }
    Ok(())
}

fn numbers_of(body: &Body) -> Vec<u64> {
    match body {
        Body::Create { .. } | Body::Clock | Body::Settle => Vec::new(),
        Body::Erase { items } => items.clone(),
        Body::Configure { decided, .. } => decided.iter().map(|item| item.n).collect(),
        Body::Items { added, rescored } => {
            added.iter().map(|item| item.n).chain(rescored.iter().map(|item| item.n)).collect()
        }
        Body::Claim { picks, .. } => picks.iter().map(|pick| pick.n).collect(),
        Body::Extend { leases, .. } | Body::Release { leases, .. } => {
            leases.iter().map(|lease| lease.n).collect()
        }
        Body::Verdicts { given } => given.iter().map(|given| given.n).collect(),
        Body::Undo { item, .. } => vec![item.n],
        Body::Close { items, .. } => items.iter().flat_map(|(from, to)| *from..=*to).collect(),
    }
}

fn told(event: LogEvent, ids: &HashMap<u64, String>) -> ActivityEntry {
    let numbers = numbers_of(&event.body);
    let items = numbers.iter().filter_map(|n| ids.get(n).cloned()).collect();
    let kind = event.body.kind();
    let (mut reviewer, mut verdicts, mut config, mut reason) = (None, Vec::new(), None, None);
    match event.body {
        Body::Create { config: set_up, .. } | Body::Configure { config: set_up, .. } => config = Some(set_up),
        Body::Claim { reviewer: who, .. }
        | Body::Extend { reviewer: who, .. }
        | Body::Undo { reviewer: who, .. } => reviewer = Some(who),
        Body::Release { reviewer: who, skip, .. } => (reviewer, reason) = (Some(who), skip),
        Body::Verdicts { given } => {
            verdicts = given
                .into_iter()
                .filter_map(|given| {
                    let item = ids.get(&given.n)?.clone();
                    Some((given.id, item, given.reviewer, given.source, given.reward, given.decides))
                })
                .collect();
        }
        Body::Close { reason: why, .. } => reason = Some(why),
        Body::Items { .. } | Body::Erase { .. } | Body::Clock | Body::Settle => {}
    }
    ActivityEntry {
        seq: event.seq,
        at: event.at,
        actor: event.actor,
        kind,
        reviewer,
        items,
        many: numbers.len() as u64,
        verdicts,
        undone: None,
        config,
        changed: BTreeMap::new(),
        reason,
    }
}

//! Pages of the activity log that name only the first items of each entry.
//!
//! An entry may be about thousands of items. A page shows their number and names the first few, and
//! reads only the rows of these few.

use super::ActivityEntry;
use super::activity::note_changes;
use crate::Error;
use crate::rows::LogRow;
use crate::service::Queue;
use crate::store::Store;
use crate::stored_body::StoredBody;
use std::collections::{BTreeMap, HashMap};

impl Queue {
    /// The log entries after `after`, up to `until`, of the `wanted` kinds. Each names at most its
    /// first `named` items and verdicts; [`many`](ActivityEntry::many) counts all items. Entries
    /// that took a verdict back do not name it.
    pub fn log_page(
        &self,
        after: u64,
        until: u64,
        named: u64,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<ActivityEntry>, Error> {
        self.read_separately(|store, queue, _| {
            let rows = store.log_rows(queue, after, until)?;
            let mut noted = Vec::new();
            for row in rows.into_iter().filter(|row| wanted(&row.kind)) {
                noted.push(EntryDigest::read(store, queue, row, named)?);
            }
            let mut numbers: Vec<u64> = noted.iter().flat_map(EntryDigest::numbers).collect();
            numbers.sort_unstable();
            numbers.dedup();
            let ids: HashMap<u64, String> = store.ids(queue, &numbers)?.into_iter().collect();
            let mut activity: Vec<ActivityEntry> = noted.into_iter().map(|noted| noted.told(&ids)).collect();
            if activity.iter().any(|activity| activity.config.is_some()) {
                note_changes(&mut activity, &store.bodies(queue, ["create", "configure"], until)?)?;
            }
            Ok(activity)
        })
    }
}

/// A verdict of an entry, with the number of its item.
type EntryVerdict = (u64, crate::store::lookups::VerdictSummary);

/// An entry with the numbers of its first items.
struct EntryDigest {
    activity: ActivityEntry,
    items: Vec<u64>,
    given: Vec<EntryVerdict>,
}

impl EntryDigest {
    fn read(store: &mut dyn Store, queue: i64, row: LogRow, named: u64) -> Result<EntryDigest, Error> {
        let few = named as usize;
        let (mut reviewer, mut config, mut reason, mut given) = (None, None, None, Vec::new());
        let (kind, many, items) = match StoredBody::from_text(&row.body)? {
            StoredBody::Create { config: set_up, .. } => {
                config = Some(*set_up);
                ("create", 0, Vec::new())
            }
            StoredBody::Configure { config: set_up, decided } => {
                config = Some(*set_up);
                let items = decided.iter().take(few).map(|item| item.n).collect();
                ("configure", decided.len() as u64, items)
            }
            StoredBody::Items { first, added, rescored, .. } => {
                let mut items: Vec<u64> = (first..first + added.min(named)).collect();
                if items.len() < few && rescored > 0 {
                    items.extend(store.first_rescored(queue, row.seq, named - items.len() as u64)?);
                }
                ("items", added + rescored, items)
            }
            StoredBody::Claim { reviewer: who, picked, .. } => {
                reviewer = Some(who);
                ("claim", picked, store.first_picked(queue, row.seq, named)?)
            }
            StoredBody::Extend { reviewer: who, leases, .. } => {
                reviewer = Some(who);
                ("extend", leases.len() as u64, leases.iter().take(few).map(|lease| lease.n).collect())
            }
            StoredBody::Release { reviewer: who, leases, skip } => {
                (reviewer, reason) = (Some(who), skip);
                ("release", leases.len() as u64, leases.iter().take(few).map(|lease| lease.n).collect())
            }
            StoredBody::Verdicts { given: many, .. } => {
                given = store.first_given(queue, row.seq, named)?;
                ("verdicts", many, given.iter().map(|(n, _)| *n).collect())
            }
            StoredBody::Undo { reviewer: who, n, .. } => {
                reviewer = Some(who);
                ("undo", 1, vec![n])
            }
            StoredBody::Close { reason: why, items } => {
                reason = Some(why);
                let many = items.iter().map(|(first, last)| last - first + 1).sum();
                ("close", many, items.iter().flat_map(|(first, last)| *first..=*last).take(few).collect())
            }
            StoredBody::Erase { items } => ("erase", items.len() as u64, Vec::new()),
            StoredBody::Clock => ("clock", 0, Vec::new()),
            StoredBody::Settle => ("settle", 0, Vec::new()),
        };
        let LogRow { seq, at, actor, .. } = row;
        let activity = ActivityEntry {
            seq,
            at,
            actor,
            kind,
            reviewer,
            items: Vec::new(),
            many,
            verdicts: Vec::new(),
            undone: None,
            config,
            changed: BTreeMap::new(),
            reason,
        };
        Ok(EntryDigest { activity, items, given })
    }

    fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.items.iter().copied()
    }

    /// The entry with the ids of its items; erased items are left out.
    fn told(self, ids: &HashMap<u64, String>) -> ActivityEntry {
        let EntryDigest { mut activity, items, given } = self;
        activity.items = items.iter().filter_map(|n| ids.get(n).cloned()).collect();
        let verdict = |(n, (id, reviewer, source, reward, decides)): EntryVerdict| {
            Some((id, ids.get(&n)?.clone(), reviewer, source, reward, decides))
        };
        activity.verdicts = given.into_iter().filter_map(verdict).collect();
        activity
    }
}

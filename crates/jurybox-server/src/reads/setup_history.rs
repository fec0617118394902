//! What was drawn on arrival when, and what a lower quorum decided: what a report asks of the entries that set a queue up.

use crate::Error;
use crate::rows::ItemRow;
use crate::store::Store;
use crate::store::lookups::Arrivals;
use crate::stored_body::StoredBody;
use std::collections::HashMap;

/// What the report asks of the entries that set the queue up.
#[derive(Debug, Default)]
pub(super) struct SetupHistory {
    /// The share that is drawn, since each entry.
    rates: Vec<(u64, f64)>,
    /// Items that a lower quorum decided, with the entry and what they are worth: no verdict says so.
    enough: HashMap<u64, (u64, f64)>,
}

impl SetupHistory {
    pub(super) fn read(store: &mut dyn Store, queue: i64, head: u64) -> Result<Self, Error> {
        let mut past = SetupHistory::default();
        for (seq, body) in store.bodies(queue, ["create", "configure"], head)? {
            let (config, decided) = match StoredBody::from_text(&body)? {
                StoredBody::Create { config, .. } => (config, Vec::new()),
                StoredBody::Configure { config, decided } => (config, decided),
                _ => continue,
            };
            past.rates.push((seq, config.random_check_rate));
            past.enough.extend(decided.into_iter().map(|item| (item.n, (seq, item.reward))));
        }
        Ok(past)
    }

    /// How many items came in under a rate, what they are aside that are known to be golden, and how many of them are still there.
    pub(super) fn under_a_rate(&self, arrivals: &Arrivals) -> (f64, u64, u64) {
        let Arrivals { seq, came, kept, golden, golden_kept } = *arrivals;
        let before = self.rates.partition_point(|(since, _)| *since < seq);
        let rate = before.checked_sub(1).map_or(0.0, |at| self.rates[at].1);
        (rate, came - golden, kept - golden_kept)
    }

    /// What an item is worth by the verdicts there were when a lower quorum closed it, if it is closed by that still.
    pub(super) fn enough(&self, item: &ItemRow) -> Option<f64> {
        let (seq, worth) = self.enough.get(&item.n)?;
        (item.closed == Some(*seq)).then_some(*worth)
    }
}

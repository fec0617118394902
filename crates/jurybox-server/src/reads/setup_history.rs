//! Past settings that a report needs: random-check rates, and decisions by lowered quorums.

use crate::Error;
use crate::rows::ItemRow;
use crate::store::Store;
use crate::store::lookups::Arrivals;
use crate::stored_body::StoredBody;
use std::collections::HashMap;

/// Past settings of a queue.
#[derive(Debug, Default)]
pub(super) struct SetupHistory {
    /// The random-check rate from each configuration entry on.
    rates: Vec<(u64, f64)>,
    /// Items that a lowered quorum decided, with the entry and the reward. No verdict records them.
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

    /// The random-check rate at which an entry's items arrived. Also the number of these items, and
    /// how many of them were not erased, both without golden ones.
    pub(super) fn under_a_rate(&self, arrivals: &Arrivals) -> (f64, u64, u64) {
        let Arrivals { seq, came, kept, golden, golden_kept } = *arrivals;
        let before = self.rates.partition_point(|(since, _)| *since < seq);
        let rate = before.checked_sub(1).map_or(0.0, |at| self.rates[at].1);
        (rate, came - golden, kept - golden_kept)
    }

    /// The reward of an item that a lowered quorum closed, if the item is still closed by that
    /// entry.
    pub(super) fn enough(&self, item: &ItemRow) -> Option<f64> {
        let (seq, worth) = self.enough.get(&item.n)?;
        (item.closed == Some(*seq)).then_some(*worth)
    }
}

//! The picks that a claim should have received, computed from all open items.

use super::item_order::{Availability, ItemOrder};
use super::read::{CheckResult, ClaimLine, LoggedEntry};
use super::{LogReplay, Violation};
use jurybox::toolbox::{hash_number, hash_text};
use std::collections::{BTreeMap, HashSet};

/// A pick that a claim should have received.
pub(super) struct ExpectedPick {
    item: u64,
    slot: i64,
    value: f64,
    probability: f64,
    explored: bool,
    /// Whether it precedes the model's picks, because it is due or a random check.
    ahead: bool,
}

impl LogReplay<'_> {
    /// The number of random checks that a claim may contain, by its random draw. Claims of earlier
    /// programs do not record this number; for them the share of `k` is rounded up.
    pub(super) fn random_check_room(&self, entry: &LoggedEntry) -> CheckResult<usize> {
        let k = entry.body["k"].as_u64().unwrap_or(0);
        let room = k as f64 * self.number("audit_share", 0.25);
        let Some(said) = entry.body["audits"].as_u64() else { return Ok(room.ceil() as usize) };
        let secret = self.records.log[0].body["secret"].as_u64().unwrap_or(0);
        let key = hash_number(secret, hash_text("audits of a claim"));
        let drawn = hash_number(key, entry.seq) as f64 / 2_f64.powi(64);
        let room = room.floor() as u64 + u64::from(drawn < room.fract());
        if said != room {
            return Err(Violation(format!("its draw allows {room} random checks, but {said} is recorded")));
        }
        Ok(room as usize)
    }

    /// The picks that a claim should have received, from the items that were not erased.
    pub(super) fn top(&mut self, entry: &LoggedEntry) -> CheckResult<Vec<ExpectedPick>> {
        let body = &entry.body;
        let model = body["model"].as_u64().unwrap_or(0);
        if model >= entry.seq {
            return Err(Violation(format!("model {model} has learnt from later entries")));
        }
        if model == 0 {
            return Err(Violation("model 0 does not exist: the first entry is 1".into()));
        }
        let filter = serde_json::from_value(body["filter"].clone()).unwrap_or_default();
        let mut order = self.order(model, filter, entry.seq)?;
        let top = self.first_of(&mut order, entry);
        self.keep(order);
        top
    }

    /// The first picks of a claim: items that are due, then random checks, then the best.
    fn first_of(&self, order: &mut ItemOrder, entry: &LoggedEntry) -> CheckResult<Vec<ExpectedPick>> {
        let k = entry.body["k"].as_u64().unwrap_or(0) as usize;
        let (quorum, reviewer) = (self.quorum(), entry.body["reviewer"].as_str().unwrap_or_default());
        let filter: BTreeMap<String, Vec<String>> =
            serde_json::from_value(entry.body["filter"].clone()).unwrap_or_default();
        let free = |n: u64| {
            let open = self.open.get(&n)?;
            Some((open, open.free(quorum)?)).filter(|_| !open.knows(reviewer))
        };
        let mine = |n: u64| free(n).filter(|_| wanted(&filter, self.records.tags(n)));
        let mut top: Vec<ExpectedPick> = Vec::new();
        let mut given: HashSet<u64> = HashSet::new();
        for (_, item) in self.due.range(..=(entry.at, u64::MAX)) {
            if top.len() == k {
                break;
            }
            let Some((open, slot)) = mine(*item) else { continue };
            let value = order.value(open)?;
            top.push(ExpectedPick {
                item: *item,
                slot,
                value,
                probability: 1.0,
                explored: false,
                ahead: true,
            });
            given.insert(*item);
        }
        let room = (k - top.len()).min(self.random_check_room(entry)?);
        let random_checks =
            self.random_checks.iter().filter(|n| !given.contains(n)).filter_map(|n| Some((*n, mine(*n)?)));
        let random_checks: Vec<_> = random_checks.take(room).collect();
        for (item, (open, slot)) in random_checks {
            let (value, probability) = (order.value(open)?, open.random_check.unwrap_or(1.0));
            top.push(ExpectedPick { item, slot, value, probability, explored: true, ahead: true });
            given.insert(item);
        }
        let best = order.first(k - top.len(), |place| {
            let open = self.open.get(&place.item).filter(|open| open.version == place.version);
            match open {
                Some(open) if open.free(quorum).is_some() => {
                    if open.knows(reviewer) || given.contains(&place.item) {
                        Availability::Pass
                    } else {
                        Availability::Take
                    }
                }
                _ => Availability::Gone,
            }
        });
        for item in best {
            let Some((open, slot)) = free(item) else { continue };
            let value = order.value(open)?;
            top.push(ExpectedPick { item, slot, value, probability: 1.0, explored: false, ahead: false });
        }
        Ok(top)
    }
}

/// Errors unless the picks equal the expected ones, with values and probabilities equal bit by bit.
pub(super) fn compare(top: &[ExpectedPick], picks: &[ClaimLine]) -> CheckResult<()> {
    if top.len() != picks.len() {
        return Err(Violation(format!(
            "the top K had {} items, but {} were claimed",
            top.len(),
            picks.len()
        )));
    }
    for (place, (should, is)) in top.iter().zip(picks).enumerate() {
        let wrong = if (should.item, should.slot) != (is.item, is.slot) {
            format!(
                "the top K had item {}, review {}, with value {}, but item {}, review {}, with value {} was claimed",
                should.item, should.slot, should.value, is.item, is.slot, is.value
            )
        } else if should.value.to_bits() != is.value.to_bits() {
            format!("item {} has the value {}, but {} is recorded", is.item, should.value, is.value)
        } else if (should.probability.to_bits(), should.explored) != (is.probability.to_bits(), is.explored) {
            format!(
                "item {} has the probability {}{}, but {}{} is recorded",
                is.item,
                should.probability,
                if should.explored { " as a random check" } else { "" },
                is.probability,
                if is.explored { " as a random check" } else { "" }
            )
        } else {
            continue;
        };
        return Err(Violation(format!("place {}: {wrong}", place + 1)));
    }
    Ok(())
}

/// Compares what does not depend on the model. Errors unless there are as many picks as expected,
/// the due items and random checks come first as expected, and no other pick is a random check.
pub(super) fn compare_ahead(top: &[ExpectedPick], picks: &[ClaimLine]) -> CheckResult<()> {
    let ahead = top.iter().filter(|should| should.ahead).count();
    if let Some(late) = picks.iter().skip(ahead).find(|pick| pick.explored) {
        return Err(Violation(format!("item {} was claimed as a random check before its turn", late.item)));
    }
    let is_same = |(should, is): (&ExpectedPick, &ClaimLine)| {
        (should.item, should.slot, should.explored) == (is.item, is.slot, is.explored)
    };
    let wrong = top.iter().take(ahead).zip(picks).find(|pair| !is_same(*pair));
    match wrong {
        _ if top.len() != picks.len() => {
            Err(Violation(format!("the top K had {} items, but {} were claimed", top.len(), picks.len())))
        }
        Some((should, is)) => Err(Violation(format!(
            "item {}, review {}, came first, because it was due or a random check, but item {}, review {} was claimed",
            should.item, should.slot, is.item, is.slot
        ))),
        None => Ok(()),
    }
}

/// Whether an item's tags pass the filter of a claim.
pub(super) fn wanted(filter: &BTreeMap<String, Vec<String>>, tags: &BTreeMap<String, String>) -> bool {
    filter.iter().all(|(name, values)| tags.get(name).is_some_and(|tag| values.contains(tag)))
}

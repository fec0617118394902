//! Claims whose picks cannot be proved the best, because an item was erased or an earlier program
//! made them. Everything that can still be checked of such a claim is checked.

use super::expected_picks::{compare, compare_ahead, wanted};
use super::read::{CheckResult, ClaimLine, LoggedEntry};
use super::{LogReplay, Violation};
use crate::store::schema::RULES;
use std::collections::{BTreeMap, HashSet};

/// Why a claim cannot be proved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum UnprovableReason {
    /// Its model may have learnt from an erased item.
    Model,
    /// The claim might have picked an erased item instead.
    Rival,
    /// An earlier program made its model by other rules.
    Rules,
}

impl LogReplay<'_> {
    /// Why a claim cannot be proved; None if it can.
    pub(super) fn gone(&self, entry: &LoggedEntry) -> Option<UnprovableReason> {
        if self.models.is_gone(entry.body["model"].as_u64().unwrap_or(0)) {
            return Some(UnprovableReason::Model);
        }
        let (quorum, reviewer) = (self.quorum(), entry.body["reviewer"].as_str().unwrap_or_default());
        let could_be_given = |n: &u64| {
            self.open.get(n).is_some_and(|open| open.free(quorum).is_some() && !open.knows(reviewer))
        };
        self.doomed.iter().any(could_be_given).then_some(UnprovableReason::Rival)
    }

    /// Whether a claim may follow the rules of an earlier program: it names earlier rules than the
    /// present ones, no entry before it names later rules, and it used a model.
    pub(super) fn has_other_rules(&self, entry: &LoggedEntry, latest: u64) -> bool {
        let (rules, model) = (entry.rules(), entry.body["model"].as_u64().unwrap_or(0));
        let learnt = !self.records.setups[self.setup].config["weights"].is_object();
        latest <= rules && rules < RULES && learnt && model < entry.seq
    }

    /// Checks what must hold of a claim that cannot be proved. It took only items that could be
    /// claimed, and as many as possible, in the right order by their recorded values, with the
    /// right probabilities. For `Rules`, if nothing was erased, the due items and random checks
    /// must be the expected ones. For `Rival`, if no pick was erased, the picks must be the best of
    /// the items that were not erased.
    pub(super) fn still_holds(
        &mut self,
        entry: &LoggedEntry,
        picks: &[ClaimLine],
        gone: UnprovableReason,
    ) -> CheckResult<()> {
        if gone == UnprovableReason::Rival && !picks.iter().any(|pick| self.models.is_erased(pick.item)) {
            let top = self.top(entry)?;
            return compare(&top, picks);
        }
        if gone == UnprovableReason::Rules && self.models.erased().next().is_none() {
            compare_ahead(&self.top(entry)?, picks)?;
        }
        let body = &entry.body;
        let (quorum, reviewer) = (self.quorum(), body["reviewer"].as_str().unwrap_or_default());
        let k = body["k"].as_u64().unwrap_or(0) as usize;
        let filter: BTreeMap<String, Vec<String>> =
            serde_json::from_value(body["filter"].clone()).unwrap_or_default();
        let (ageing, start) = (self.number("ageing_per_day", 0.0), self.records.log[0].at);
        let eligible = |n: u64| {
            let open = self.open.get(&n)?;
            let may =
                !open.knows(reviewer) && (self.models.is_erased(n) || wanted(&filter, self.records.tags(n)));
            open.free(quorum).filter(|_| may)
        };
        let (mut given, mut last) = (HashSet::new(), None);
        for pick in picks {
            let n = pick.item;
            let wrong = |what: String| Err(Violation(format!("item {n} was claimed, {what}")));
            let Some(open) = self.open.get(&n).filter(|_| eligible(n) == Some(pick.slot)) else {
                return wrong(format!("but could not be for review {}", pick.slot));
            };
            if !given.insert(n) {
                return wrong("twice".into());
            }
            let odds = if pick.explored { open.random_check } else { Some(1.0) };
            if odds.map(f64::to_bits) != Some(pick.probability.to_bits()) {
                return wrong(format!(
                    "but its probability should be {odds:?}, and {} is recorded",
                    pick.probability
                ));
            }
            // Erasing an item also erases its due date.
            if self.models.is_erased(n) && !pick.explored {
                continue;
            }
            let due = open.due.filter(|due| *due <= entry.at && !pick.explored);
            let key = pick.value - ageing * (open.arrived.saturating_sub(start) as f64 / 86_400e6);
            let place = match due {
                Some(due) => (0, due, 0.0),
                None if pick.explored => (1, 0, 0.0),
                None => (2, 0, -key),
            };
            if last.is_some_and(|last| (place, n) < last || place.2.is_nan()) {
                return wrong("but after items that it precedes".into());
            }
            last = Some((place, n));
        }
        let random_checks = picks.iter().filter(|pick| pick.explored).count();
        if random_checks > self.random_check_room(entry)? {
            return Err(Violation(format!(
                "{random_checks} of {k} picks were random checks, more than allowed"
            )));
        }
        let could = |n: &&u64| !self.models.is_erased(**n) && eligible(**n).is_some();
        if picks.len() > k || (picks.len() < k && self.open.keys().filter(could).nth(picks.len()).is_some()) {
            let there = self.open.keys().filter(could).count();
            return Err(Violation(format!("{} of {k} were claimed, but {there} could be", picks.len())));
        }
        Ok(())
    }
}

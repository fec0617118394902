//! Replays claims, extensions, releases, verdicts and undone verdicts, and checks each.

use super::expected_picks::compare;
use super::read::{CheckResult, ClaimLine, LoggedEntry, LoggedVerdict};
use super::tables::{ClosedItem, ReplayedVerdict};
use super::unprovable::UnprovableReason;
use super::{LogReplay, OpenItem, ReplayedLease, Violation};

impl LogReplay<'_> {
    /// A numeric setting in force.
    pub(super) fn number(&self, name: &str, otherwise: f64) -> f64 {
        self.records.setups[self.setup].config[name].as_f64().unwrap_or(otherwise)
    }

    pub(super) fn quorum(&self) -> i64 {
        self.number("quorum", 1.0) as i64
    }

    /// The end of a lease that begins or is extended at a time.
    fn lease_end(&self, at: i64) -> i64 {
        at.saturating_add((self.number("lease_seconds", 900.0) as i64).saturating_mul(1_000_000))
    }

    pub(super) fn claim(&mut self, entry: &LoggedEntry) -> CheckResult<()> {
        self.found.claims += 1;
        let none = Vec::new();
        let picks = self.records.picks.get(&entry.seq).unwrap_or(&none);
        self.all_there(picks.len() as u64, entry.body["picked"].as_u64(), "picks");
        let (model, reviewer, until) =
            (entry.body["model"].as_u64(), entry.body["reviewer"].as_str(), entry.body["until"].as_i64());
        let told_otherwise = |pick: &ClaimLine| {
            Some(pick.model) != model || Some(&*pick.reviewer) != reviewer || Some(pick.until) != until
        };
        if picks.iter().any(told_otherwise) {
            self.found.tell(format!("entry {} (claim): its rows differ from the entry", entry.seq));
        }
        self.check_end(entry);
        let latest = self.rules;
        self.rules = latest.max(entry.rules());
        if entry.seq <= self.records.since {
            let by_proof = self.records.proved_before;
            *(if by_proof { &mut self.found.before } else { &mut self.found.not_checked }) += 1;
        } else {
            self.prove_claim(entry, picks, latest);
        }
        for pick in picks {
            let open = self.at(pick.item)?;
            if open.leases.iter().any(|lease| lease.slot == pick.slot)
                || open.verdicts.iter().any(|verdict| verdict.0 == pick.slot)
            {
                self.found.double_leases += 1;
                return Err(Violation(format!(
                    "item {}, review {} is held by two reviewers",
                    pick.item, pick.slot
                )));
            }
            let lease = ReplayedLease {
                slot: pick.slot,
                reviewer: pick.reviewer.clone(),
                until: pick.until,
                claim: entry.seq,
                probability: pick.probability,
                explored: pick.explored,
            };
            self.lend(pick.item, lease);
        }
        Ok(())
    }

    /// Checks that a claim was the exact top K, or checks what can still be proved of it.
    fn prove_claim(&mut self, entry: &LoggedEntry, picks: &[ClaimLine], latest: u64) {
        let mut gone = self.gone(entry);
        let mut holds = match gone {
            Some(gone) => self.still_holds(entry, picks, gone),
            None => self.top(entry).and_then(|top| compare(&top, picks)),
        };
        // A claim of an earlier program may be exact by the present rules. If it is not, all but
        // its model is checked.
        if holds.is_err() && gone != Some(UnprovableReason::Model) && self.has_other_rules(entry, latest) {
            gone = Some(UnprovableReason::Rules);
            holds = self.still_holds(entry, picks, UnprovableReason::Rules);
        }
        match (holds, gone) {
            (Ok(()), None) => self.found.exact += 1,
            (Ok(()), Some(UnprovableReason::Rules)) => self.found.older_rules += 1,
            (Ok(()), Some(gone)) => {
                self.found.unprovable += 1;
                self.found.model_gone += u64::from(gone == UnprovableReason::Model);
            }
            (Err(Violation(what)), _) => {
                let why = if entry.rules() < latest {
                    "; it names earlier rules than an entry before it: an older program wrote after a newer one, or the entry was changed"
                } else {
                    ""
                };
                self.found.tell(format!("entry {} (claim): {what}{why}", entry.seq));
            }
        }
    }

    /// Checks that a lease ends when the settings say.
    fn check_end(&mut self, entry: &LoggedEntry) {
        let (until, end) = (entry.body["until"].as_i64(), self.lease_end(entry.at));
        if until != Some(end) {
            self.found.tell(format!(
                "entry {} ({}): its lease ends at {}, but should end at {end}",
                entry.seq,
                entry.kind,
                until.unwrap_or(0)
            ));
        }
    }

    /// Replays extensions and releases, which only the holder of a lease may make.
    pub(super) fn held(&mut self, entry: &LoggedEntry) -> CheckResult<()> {
        let body = &entry.body;
        let extends = entry.kind == "extend";
        let (reviewer, until) =
            (body["reviewer"].as_str().unwrap_or_default(), body["until"].as_i64().unwrap_or(0));
        if extends {
            self.check_end(entry);
        }
        for held in body["leases"].as_array().into_iter().flatten() {
            let (Some(n), Some(slot)) = (held["n"].as_u64(), held["slot"].as_i64()) else {
                return Err(Violation("its body lacks required fields".into()));
            };
            let open = self.at(n)?;
            let own = |lease: &ReplayedLease| lease.slot == slot && lease.reviewer == reviewer;
            let Some(place) = open.leases.iter().position(own) else {
                return Err(Violation(format!("`{reviewer}` does not hold item {n}, review {slot}")));
            };
            if extends {
                open.leases[place].until = until;
                self.ends.insert((until, n));
            } else {
                open.leases.remove(place);
            }
            if let Some(reason) = body["skip"].as_str() {
                self.at(n)?.skipped.insert(reviewer.into());
                self.skips.insert((n, entry.seq, reviewer.into(), reason.into()));
            }
        }
        Ok(())
    }

    pub(super) fn verdict(&mut self, entry: &LoggedEntry, verdict: &LoggedVerdict) -> CheckResult<()> {
        let on = verdict.item;
        let undo = (self.number("undo_seconds", 20.0) as i64).saturating_mul(1_000_000);
        let stands_from = entry.at.saturating_add(undo);
        if verdict.stands_from != stands_from {
            self.found.tell(format!(
                "entry {}: the verdict on item {on} has a wrong time from which it can no longer be taken back",
                entry.seq
            ));
        }
        if let Some(wrong) = self.off_scale(verdict) {
            self.found.tell(format!("entry {}: the verdict on item {on}: {wrong}", entry.seq));
        }
        let odds = self.odds(verdict)?;
        if (verdict.probability.to_bits(), verdict.explored) != (odds.0.to_bits(), odds.1) {
            self.found.tell(format!(
                "entry {}: the verdict on item {on} has the probability {}, but its pick had {}",
                entry.seq, verdict.probability, odds.0
            ));
        }
        let revises = verdict.replaces.is_some() || verdict.source == "appeal";
        let first = revises && (self.open.contains_key(&on) || self.is_undecided(on));
        let decides = self.settle(entry, verdict)?;
        let first = first && decides.is_some();
        let mut said = entry.body["decides_first"].as_array().into_iter().flatten();
        if said.any(|i| i.as_u64() == Some(verdict.i)) != first {
            self.found.tell(format!(
                "entry {}: the entry is wrong about whether the verdict on item {on} is the first to decide",
                entry.seq
            ));
        }
        if decides.map(f64::to_bits) != verdict.decides.map(f64::to_bits) {
            return Err(Violation(format!(
                "the verdicts on item {on} decide {decides:?}, but its row says {:?}",
                verdict.decides
            )));
        }
        Ok(())
    }

    /// Why a verdict does not fit the reward scale in force; None if it fits, or without a scale.
    fn off_scale(&self, verdict: &LoggedVerdict) -> Option<String> {
        let scale = &self.records.setups[self.setup].config["reward"];
        let (reward, of_label) =
            (verdict.reward, verdict.label.as_ref().and_then(|label| scale["labels"][label].as_f64()));
        let (lowest, highest) = scale["lowest"].as_f64().zip(scale["highest"].as_f64())?;
        let fits = lowest <= reward && reward <= highest && of_label.is_none_or(|worth| worth == reward);
        (!fits).then(|| format!("its reward {reward} is not on the scale {scale}"))
    }

    /// Checks that all valid verdicts fit a new reward scale.
    pub(super) fn all_on_scale(&mut self, entry: &LoggedEntry) {
        let standing = self.closed.values().flat_map(|closed| &closed.standing);
        let wrong: Vec<String> = standing
            .filter_map(|stood| self.records.verdict(stood.which))
            .filter_map(|verdict| Some(format!("on item {}: {}", verdict.item, self.off_scale(verdict)?)))
            .collect();
        for wrong in wrong {
            self.found.tell(format!("entry {} (configure): a valid verdict {wrong}", entry.seq));
        }
    }

    /// The probability that a verdict must record, and whether its pick was a random check. Both
    /// are those of the replaced verdict, the lease or the claim. Verdicts without any of these,
    /// and appeals and automatic verdicts, record 1 and false.
    fn odds(&self, verdict: &LoggedVerdict) -> CheckResult<(f64, bool)> {
        if let Some(old) = verdict.replaces {
            if verdict.source != "reviewer" {
                return Ok((1.0, false));
            }
            let old = self.records.verdict(old);
            let old = old.ok_or_else(|| Violation("a verdict replaces one that does not exist".into()))?;
            if (old.item, &old.reviewer) != (verdict.item, &verdict.reviewer) {
                return Err(Violation(format!(
                    "a verdict on item {} replaces another reviewer's",
                    verdict.item
                )));
            }
            return Ok((old.probability, old.explored));
        }
        if verdict.source != "reviewer" {
            return Ok((1.0, false));
        }
        let leases = self.open.get(&verdict.item).map_or(&[][..], |open| &open.leases);
        if let Some(lease) = leases.iter().find(|lease| lease.reviewer == verdict.reviewer) {
            return Ok((lease.probability, lease.explored));
        }
        let picks = verdict.claim.and_then(|claim| self.records.picks.get(&claim)).into_iter().flatten();
        let pick = picks.into_iter().find(|pick| pick.item == verdict.item);
        Ok(pick.map_or((1.0, false), |pick| (pick.probability, pick.explored)))
    }

    /// Whether a `close` entry closed an item, and no verdict has decided it.
    fn is_undecided(&self, n: u64) -> bool {
        self.closed.get(&n).is_some_and(|closed| {
            let by = closed.by.and_then(|seq| self.records.log.get(seq as usize - 1));
            let decided = |stood: &ReplayedVerdict| stood.slot < 0 || stood.decided;
            by.is_some_and(|entry| entry.kind == "close") && !closed.standing.iter().any(decided)
        })
    }

    /// Applies a verdict, and returns the reward if it decides the item.
    fn settle(&mut self, entry: &LoggedEntry, verdict: &LoggedVerdict) -> CheckResult<Option<f64>> {
        let (on, quorum) = (verdict.item, self.quorum());
        let by_people = verdict.source == "reviewer";
        let undecided = self.is_undecided(on);
        let Some(open) = self.open.get_mut(&on) else {
            if verdict.source == "automatic" || (by_people && verdict.replaces.is_none()) {
                return Err(Violation(format!("a verdict on item {on}, which is closed")));
            }
            let closed = self.closed.entry(on).or_default();
            if closed.standing.is_empty() {
                return Err(Violation(format!("a revision on item {on}, which has no verdict")));
            }
            // A reviewer's verdict does not change the decision of an appeal or a rule.
            let is_final = closed.standing.iter().any(|stood| stood.slot < 0);
            closed.take(verdict);
            if !by_people {
                return Ok(Some(verdict.reward));
            }
            let rewards: Vec<f64> = closed.standing.iter().map(|stood| stood.reward).collect();
            let agree = rewards.iter().all(|reward| *reward == rewards[0]);
            let needed = if agree { quorum } else { quorum.saturating_mul(2).saturating_sub(1) };
            if undecided && rewards.len() < usize::try_from(needed).unwrap_or(0) {
                return Ok(None);
            }
            return Ok(if is_final { None } else { median(closed.standing.iter().map(|s| s.reward)) });
        };
        if verdict.source == "appeal" {
            return Err(Violation(format!("an appeal against item {on}, which is open")));
        }
        let mut decides = Some(verdict.reward);
        if by_people {
            let same = |other: &(i64, String, f64)| other.0 == verdict.slot;
            let of_another =
                |lease: &ReplayedLease| lease.slot == verdict.slot && lease.reviewer != verdict.reviewer;
            let by_another = open.leases.iter().any(of_another);
            let again = verdict.replaces.is_none()
                && (open.verdicts.iter().any(|other| same(other) || other.1 == verdict.reviewer));
            open.leases.retain(|lease| lease.slot != verdict.slot);
            match open.verdicts.iter_mut().find(|other| same(other)) {
                // A revised verdict keeps its position in the list.
                Some(other) if verdict.replaces.is_some() => other.2 = verdict.reward,
                _ => {
                    open.verdicts.retain(|other| !same(other));
                    open.verdicts.push((verdict.slot, verdict.reviewer.clone(), verdict.reward));
                }
            }
            let needed = usize::try_from(open.needed(quorum)).unwrap_or(0);
            let enough = open.verdicts.len() >= needed;
            decides = if enough { median(open.verdicts.iter().map(|other| other.2)) } else { None };
            if again {
                self.found.double_verdicts += 1;
                return Err(Violation(format!("item {on}, review {} has two verdicts", verdict.slot)));
            }
            if by_another {
                self.found.double_leases += 1;
                return Err(Violation(format!("a verdict on item {on}, which another reviewer held")));
            }
        }
        self.touched.push(on);
        self.closed.entry(on).or_default().take(verdict);
        if verdict.decides.is_some() {
            self.close(on, entry.seq);
        }
        Ok(decides)
    }

    pub(super) fn undo(&mut self, entry: &LoggedEntry) -> CheckResult<()> {
        let body = &entry.body;
        let n = body["n"].as_u64().unwrap_or(0);
        let (Some(slot), Some(until), Some(reviewer)) =
            (body["slot"].as_i64(), body["until"].as_i64(), body["reviewer"].as_str())
        else {
            return Err(Violation("its body lacks required fields".into()));
        };
        self.check_end(entry);
        let which = body["verdict"]["seq"].as_u64().zip(body["verdict"]["i"].as_u64());
        let verdict = which.and_then(|which| self.records.verdict(which));
        let verdict =
            verdict.ok_or_else(|| Violation("it takes back a verdict that does not exist".into()))?;
        if (verdict.item, verdict.slot, verdict.reviewer.as_str()) != (n, slot, reviewer) {
            return Err(Violation(format!(
                "it takes back a verdict that is not of `{reviewer}` on item {n}"
            )));
        }
        if !self.models.waits(verdict, entry.seq) {
            return Err(Violation(format!("it takes back a verdict on item {n} after the time allowed")));
        }
        let closed = self.closed.entry(n).or_default();
        closed.by = None;
        closed.standing.retain(|stood| stood.which != (verdict.seq, verdict.i));
        closed.replaced.insert((verdict.seq, verdict.i), entry.seq);
        // The remaining valid verdicts of people, in log order.
        let people = closed.standing.iter().filter(|stood| stood.slot >= 0);
        let rest: Vec<_> = people.map(|s| (s.slot, s.reviewer.clone(), s.reward)).collect();
        let mut said = body["rest"].as_array().into_iter().flatten();
        let agree = rest.iter().all(|(slot, reviewer, reward)| {
            said.next().is_some_and(|v| {
                v["slot"].as_i64() == Some(*slot)
                    && v["reviewer"].as_str() == Some(reviewer)
                    && v["reward"].as_f64() == Some(*reward)
            })
        });
        if !agree || said.next().is_some() {
            self.found.tell(format!(
                "entry {} (undo): it records other remaining verdicts on item {n} than there are",
                entry.seq
            ));
        }
        if !self.open.contains_key(&n) {
            let item = (n as usize).checked_sub(1).and_then(|at| self.records.items.get(at));
            let item = item.ok_or_else(|| Violation(format!("there is no item {n}")))?;
            let row = match self.records.scores_at(n, entry.seq) {
                Some((row, of)) => self.records.moved(&row, of, self.setup),
                None => vec![f64::NAN; self.records.setups[self.setup].evaluators.len()],
            };
            self.open(n, OpenItem::of(item, row));
        }
        let unwilling = body["skipped"].as_array().into_iter().flatten();
        let unwilling = unwilling.filter_map(|name| Some(name.as_str()?.to_string())).collect();
        let open = self.at(n)?;
        (open.verdicts, open.skipped) = (rest, unwilling);
        let lease = ReplayedLease {
            slot,
            reviewer: reviewer.into(),
            until,
            claim: entry.seq,
            probability: body["probability"].as_f64().unwrap_or(1.0),
            explored: body["explored"].as_bool().unwrap_or(false),
        };
        self.lend(n, lease);
        Ok(())
    }

    /// Checks the items that a lowered quorum decides: exactly the open ones with enough verdicts.
    pub(super) fn enough(&mut self, entry: &LoggedEntry) -> CheckResult<()> {
        let quorum = self.quorum();
        let enough = |open: &OpenItem| {
            !open.verdicts.is_empty()
                && i64::try_from(open.verdicts.len()).is_ok_and(|many| many >= open.needed(quorum))
        };
        let decided: Vec<(u64, Option<f64>)> = self
            .open
            .iter()
            .filter(|(_, open)| enough(open))
            .map(|(n, open)| (*n, median(open.verdicts.iter().map(|verdict| verdict.2))))
            .collect();
        let said = entry.body["decided"].as_array().into_iter().flatten();
        let said: Vec<_> =
            said.map(|item| (item["n"].as_u64().unwrap_or(0), item["reward"].as_f64())).collect();
        for (n, _) in &said {
            self.close(*n, entry.seq);
        }
        if said != decided {
            return Err(Violation(format!(
                "it should decide {} open items with enough verdicts, but it decides {}, or with other rewards",
                decided.len(),
                said.len()
            )));
        }
        Ok(())
    }

    /// Closes an item if it is open.
    pub(super) fn close(&mut self, n: u64, seq: u64) {
        if let Some(open) = self.open.remove(&n) {
            self.due.remove(&(open.due.unwrap_or_default(), n));
            self.random_checks.remove(&n);
            self.doomed.remove(&n);
            self.closed.entry(n).or_default().by = Some(seq);
        }
    }
}

impl ClosedItem {
    /// Adds a valid verdict, and removes the one that it replaces.
    fn take(&mut self, verdict: &LoggedVerdict) {
        let which = (verdict.seq, verdict.i);
        let stood = ReplayedVerdict {
            which,
            slot: verdict.slot,
            reviewer: verdict.reviewer.clone(),
            reward: verdict.reward,
            decided: verdict.decides.is_some(),
        };
        if let Some(old) = verdict.replaces {
            self.replaced.insert(old, verdict.seq);
            self.standing.retain(|other| other.which != old);
        }
        self.standing.push(stood);
    }
}

/// The median; for an even number, the mean of the two in the middle. None without rewards.
fn median(rewards: impl Iterator<Item = f64>) -> Option<f64> {
    let mut rewards: Vec<f64> = rewards.collect();
    rewards.sort_by(f64::total_cmp);
    let (low, high) = (rewards.len().checked_sub(1)? / 2, rewards.len() / 2);
    Some(if low == high { rewards[low] } else { f64::midpoint(rewards[low], rewards[high]) })
}

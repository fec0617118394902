//! Decisions on leases: claiming, extending, releasing and skipping.

use super::{Decider, Decision, check_name};
use crate::Error;
use crate::config::{MOST_CLAIMED, QueueMode, micros};
use crate::event::{Body, ClaimPick, LeasedItem};
use crate::live_queue::{Filter, random_check_room};
use crate::request::{Answer, ClaimedItem, GOLDEN, LimitedBy};

impl Decider<'_> {
    pub(super) fn claim(&self, reviewer: &str, k: Option<u32>, filter: &Filter) -> Result<Decision, Error> {
        check_name("the reviewer's name", reviewer).map_err(Error::Refused)?;
        let config = &self.live.config;
        let k = k.unwrap_or(config.k);
        if k == 0 || k > MOST_CLAIMED {
            return Err(Error::Refused(format!("k = {k} is not from 1 to {MOST_CLAIMED}")));
        }
        // A reviewer who could ask for golden items would know that their answer is known.
        if filter.0.contains_key(GOLDEN) {
            return Err(Error::Refused(format!(
                "tags: claims cannot filter by `{GOLDEN}`, because reviewers must not know which items are golden"
            )));
        }
        if config.mode == QueueMode::Paused {
            return Err(Error::Conflict("the queue is paused: no items can be claimed".into()));
        }
        let ranking = self
            .live
            .ranking
            .as_ref()
            .ok_or_else(|| Error::Conflict("the queue is not ranked yet".into()))?;
        // The entry records the number of items after these limits, not the number asked for.
        let held = self.live.holds(reviewer);
        let room = [
            (config.max_held.max(config.k).saturating_sub(held), LimitedBy::MaxHeld),
            (self.room.unwrap_or(k), LimitedBy::Bytes),
        ];
        let (k, limited_by) = room
            .into_iter()
            .filter(|(room, _)| *room < k)
            .min_by_key(|(room, _)| *room)
            .map_or((k, None), |(room, why)| (room, Some(why)));
        let (model, until) = (ranking.model, self.at + micros(config.lease_seconds));
        let token = self.live.seq + 1;
        let random_checks = random_check_room(self.live.secret, token, k, config.random_check_share);
        let chosen = self.live.choose(reviewer, k as usize, random_checks as usize, filter, self.at);
        let picks: Vec<ClaimPick> = chosen
            .into_iter()
            .map(|c| ClaimPick {
                n: c.n,
                slot: c.slot,
                value: c.value,
                probability: c.probability,
                explored: c.explored,
            })
            .collect();
        let claims = picks.iter().enumerate().map(|(place, pick)| ClaimedItem {
            item: String::new(),
            n: pick.n,
            token,
            until,
            rank: place as u32 + 1,
            value: pick.value,
            probability: pick.probability,
            random_check: pick.explored,
            payload: None,
        });
        let claims: Vec<ClaimedItem> = claims.collect();
        // Not limited if the queue had no more items anyway.
        let limited_by = limited_by.filter(|_| claims.len() == k as usize);
        let answer = Answer::Claims { model, claims, limited_by };
        let body = (!picks.is_empty()).then(|| Body::Claim {
            reviewer: reviewer.into(),
            k,
            filter: filter.clone(),
            model,
            until,
            random_checks: Some(random_checks),
            picks,
        });
        Ok(Decision::new(body, answer))
    }

    /// The reviewer's leases on these items, or all leases of the reviewer if none are named. Items
    /// that the reviewer does not hold are left out, such as items just judged.
    fn held(&self, reviewer: &str, items: &[String]) -> Vec<LeasedItem> {
        if items.is_empty() {
            let mut held: Vec<LeasedItem> = self.live.held_by(reviewer).collect();
            held.sort_unstable_by_key(|held| held.n);
            return held;
        }
        let of = |id: &String| {
            let n = self.facts.item(id)?.n;
            let slot = self.live.reviews(n)?.lease_of(reviewer)?.slot;
            Some(LeasedItem { n, slot })
        };
        let mut held: Vec<LeasedItem> = items.iter().filter_map(of).collect();
        held.sort_unstable_by_key(|held| held.n);
        held.dedup();
        held
    }

    pub(super) fn extend(&self, reviewer: &str, items: &[String]) -> Result<Decision, Error> {
        check_name("the reviewer's name", reviewer).map_err(Error::Refused)?;
        let (leases, until) = (self.held(reviewer, items), self.at + micros(self.live.config.lease_seconds));
        let answer = Answer::Changed { changed: leases.len() as u64 };
        let body = (!leases.is_empty()).then(|| Body::Extend { reviewer: reviewer.into(), until, leases });
        Ok(Decision::new(body, answer))
    }

    pub(super) fn release(&self, reviewer: &str, items: &[String]) -> Result<Decision, Error> {
        check_name("the reviewer's name", reviewer).map_err(Error::Refused)?;
        let leases = self.held(reviewer, items);
        let answer = Answer::Changed { changed: leases.len() as u64 };
        let body =
            (!leases.is_empty()).then(|| Body::Release { reviewer: reviewer.into(), leases, skip: None });
        Ok(Decision::new(body, answer))
    }

    pub(super) fn skip(&self, reviewer: &str, item: &str, reason: &str) -> Result<Decision, Error> {
        check_name("the reviewer's name", reviewer).map_err(Error::Refused)?;
        check_name("the reason", reason).map_err(Error::Refused)?;
        let leases = self.held(reviewer, &[item.to_string()]);
        if leases.is_empty() {
            return Err(Error::Conflict(format!(
                "`{reviewer}` does not hold `{item}`: only items that one holds can be skipped"
            )));
        }
        let body = Body::Release { reviewer: reviewer.into(), leases, skip: Some(reason.into()) };
        Ok(Decision::new(Some(body), Answer::Changed { changed: 1 }))
    }
}

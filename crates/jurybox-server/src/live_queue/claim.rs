//! Which items a claim gets: due items first, then a share of random checks, then the best by
//! value.

use super::LiveQueue;
use super::ranking::{ItemRanking, RankKey};
use super::score_blocks::{FREE, OPEN};
use crate::event::Tags;
use jurybox::toolbox::{hash_number, hash_text};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

/// A tag filter: an item passes if, for each name, its tag has one of the listed values.
///
/// ```
/// use jurybox_server::Filter;
/// let filter: Filter = serde_json::from_str(r#"{"language": ["en", "de"]}"#).unwrap();
/// assert!(filter.takes(&[("language".into(), "de".into())].into()));
/// assert!(!filter.takes(&Default::default()));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Filter(pub BTreeMap<String, Vec<String>>);

impl Filter {
    /// Whether an item with these tags passes.
    pub fn takes(&self, tags: &Tags) -> bool {
        self.0.iter().all(|(name, values)| tags.get(name).is_some_and(|value| values.contains(value)))
    }
}

/// An item chosen for a claim, with the review slot it will take.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChosenItem {
    pub(crate) n: u64,
    pub(crate) slot: i16,
    pub(crate) value: f64,
    pub(crate) probability: f64,
    pub(crate) explored: bool,
}

/// One claim being answered: who asks, for which items.
struct ClaimSearch<'a> {
    live: &'a LiveQueue,
    reviewer: &'a str,
    filter: &'a Filter,
    /// Whether the filter takes each set of tags, by its index. Many items share one set.
    judged: RefCell<HashMap<u32, bool>>,
}

impl ClaimSearch<'_> {
    fn is_wanted(&self, n: u64) -> bool {
        let live = self.live;
        if live.blocks.flags(n) & (OPEN | FREE) != OPEN | FREE {
            return false;
        }
        if !self.filter.0.is_empty() {
            let Some(tags) = live.blocks.tags(n) else { return false };
            let judge = || self.filter.takes(&live.tag_sets[tags as usize]);
            if !*self.judged.borrow_mut().entry(tags).or_insert_with(judge) {
                return false;
            }
        }
        live.item_reviews.get(&n).is_none_or(|reviews| reviews.is_for(self.reviewer))
    }

    /// Adds an item to `chosen` if this reviewer can have it and it is not chosen yet. Returns
    /// whether it was added.
    fn take(
        &self,
        ranking: &ItemRanking,
        n: u64,
        random_check: Option<f64>,
        chosen: &mut Vec<ChosenItem>,
    ) -> bool {
        if !self.is_wanted(n) || chosen.iter().any(|other| other.n == n) {
            return false;
        }
        let live = self.live;
        let slot = live.item_reviews.get(&n).map_or(Some(0), |reviews| reviews.free_slot(live.config.quorum));
        let value = live.blocks.scores(n).map(|row| ranking.value(row, live.history.current()));
        let (Some(slot), Some(Ok(value))) = (slot, value) else { return false };
        let (probability, explored) = (random_check.unwrap_or(1.0), random_check.is_some());
        chosen.push(ChosenItem { n, slot, value, probability, explored });
        true
    }
}

/// How many of the `k` items of a claim may be random checks: `k * share`, rounded up or down by a
/// draw. So the share holds on average. The draw is a keyed hash of the claim's entry number.
pub(crate) fn random_check_room(secret: u64, seq: u64, k: u32, share: f64) -> u32 {
    let room = f64::from(k) * share;
    let key = hash_number(secret, hash_text("audits of a claim"));
    let drawn = hash_number(key, seq) as f64 / 2_f64.powi(64);
    room.floor() as u32 + u32::from(drawn < room.fract())
}

/// If at most this many free items match a filter, a claim scans the items for them instead of
/// walking through the sorted order.
const FEW: u32 = 512;
/// With more distinct sets of tags than this, the matching items are not counted beforehand.
const MOST_SETS: usize = 4096;

impl LiveQueue {
    /// The numbers of the free items that pass a filter, if there are at most [`FEW`] of them. None
    /// if there are more, if the filter is empty, or if counting them would cost too much.
    fn few_matches(&self, filter: &Filter) -> Option<Vec<u64>> {
        if filter.0.is_empty() || self.tag_sets.len() > MOST_SETS {
            return None;
        }
        let takes: Vec<bool> = self.tag_sets.iter().map(|tags| filter.takes(tags)).collect();
        let free = (0_u32..).zip(&takes).filter(|(_, takes)| **takes).map(|(set, _)| self.blocks.free(set));
        let mut left = free.sum::<u32>();
        if left > FEW {
            return None;
        }
        let mut few_matches = Vec::with_capacity(left as usize);
        for block in self.blocks.iter() {
            if left == 0 {
                break;
            }
            let rows = block.flags.iter().zip(block.tags.iter()).enumerate();
            let rows = rows.filter(|(_, (flags, tags))| {
                **flags & (OPEN | FREE) == OPEN | FREE && takes[**tags as usize]
            });
            let before = few_matches.len();
            few_matches.extend(rows.map(|(row, _)| block.number(row)));
            left -= (few_matches.len() - before) as u32;
        }
        Some(few_matches)
    }

    /// Up to `limit` free items that pass the filter, in the order of claims, after skipping the
    /// first `from`. Empty if the queue is not ranked yet.
    pub(crate) fn free_items_in_order(&self, filter: &Filter, from: usize, limit: usize) -> Vec<u64> {
        let wanted = |n: u64| self.tags(n).is_some_and(|tags| filter.takes(tags));
        let walk = |ranking: &ItemRanking| {
            ranking.walk(&self.blocks, self.history.current(), wanted).skip(from).take(limit).collect()
        };
        self.ranking.as_ref().map(walk).unwrap_or_default()
    }

    /// The items for a claim of `k` at time `at`, among them at most `random_checks` random checks.
    /// Leases that end by `at` must have been removed before. Empty if the queue is not ranked yet.
    pub(crate) fn choose(
        &self,
        reviewer: &str,
        k: usize,
        random_checks: usize,
        filter: &Filter,
        at: i64,
    ) -> Vec<ChosenItem> {
        let Some(ranking) = &self.ranking else { return Vec::new() };
        let asking = ClaimSearch { live: self, reviewer, filter, judged: RefCell::default() };
        let mut chosen = Vec::with_capacity(k);
        for &(_, n) in self.dues.iter().take_while(|(due, _)| *due <= at) {
            if chosen.len() == k {
                break;
            }
            asking.take(ranking, n, None, &mut chosen);
        }
        let few_matches = self.few_matches(filter);
        let mut random_checks = random_checks.min(k - chosen.len());
        let drawn: Box<dyn Iterator<Item = (u64, f64)>> = match &few_matches {
            Some(few_matches) => {
                Box::new(few_matches.iter().filter_map(|n| Some((*n, *self.random_checks.get(n)?))))
            }
            None => Box::new(self.random_checks.iter().map(|(n, probability)| (*n, *probability))),
        };
        for (n, probability) in drawn {
            if random_checks == 0 {
                break;
            }
            random_checks -= usize::from(asking.take(ranking, n, Some(probability), &mut chosen));
        }
        let best: Box<dyn Iterator<Item = u64>> = match few_matches {
            Some(few_matches) => {
                let mut places: Vec<RankKey> =
                    few_matches.into_iter().filter_map(|n| self.rank_key(n)).collect();
                places.sort_unstable();
                Box::new(places.into_iter().map(|place| place.n))
            }
            None => Box::new(ranking.walk(&self.blocks, self.history.current(), |n| asking.is_wanted(n))),
        };
        for n in best {
            if chosen.len() == k {
                break;
            }
            asking.take(ranking, n, None, &mut chosen);
        }
        chosen
    }
}

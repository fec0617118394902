//! The live queue: a queue's open items, leases, open reviews and ranking, in memory.
//!
//! It follows from the queue's log and, for the ranking, from a model. Changes are noted in an undo
//! log until the database has committed them; a transaction that fails is rolled back from there.

mod apply;
mod claim;
pub(crate) mod ranking;
pub(crate) mod reviews;
pub(crate) mod score_blocks;
mod tags;
mod thin_vec;
mod undo_log;
pub(crate) mod value_rule;

pub use claim::Filter;
pub(crate) use claim::random_check_room;

use crate::Error;
use crate::config::Config;
use crate::error::corrupt;
use crate::evaluator_history::EvaluatorHistory;
use crate::event::{AddedItem, Body, LeasedItem, LogEvent, Tags};
use crate::verdict_scale::UNSAID;
use ranking::{Ageing, ItemRanking};
use reviews::ItemReviews;
use score_blocks::{FREE, IN_SET, OPEN, ScoreBlocks};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use undo_log::UndoStep;
use value_rule::ValueRule;

/// How many items a queue has in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct ItemCounts {
    /// Items ever added.
    pub items: u64,
    /// Open items without a lease.
    pub pending: u64,
    /// Open items that at least one reviewer holds.
    pub leased: u64,
    /// Closed items, erased ones included.
    pub closed: u64,
    /// Verdicts that stand: not taken back. A verdict and its revisions count once.
    pub verdicts: u64,
}

/// The state of a queue after an entry of its log.
#[derive(Debug)]
pub(crate) struct LiveQueue {
    pub(crate) seq: u64,
    pub(crate) at: i64,
    /// The last entry that set the clock back, 0 if there is none. Verdicts before that entry can
    /// no longer be taken back.
    pub(crate) clock_set: u64,
    pub(crate) created: i64,
    pub(crate) secret: u64,
    pub(crate) config: Arc<Config>,
    pub(crate) history: EvaluatorHistory,
    /// The number of the next new item.
    pub(crate) next: u64,
    /// Verdicts that stand.
    pub(crate) verdicts: u64,
    pub(crate) blocks: ScoreBlocks,
    item_reviews: HashMap<u64, Box<ItemReviews>>,
    /// How many of `item_reviews` have a lease.
    leased: u64,
    /// How many items each reviewer holds.
    held: HashMap<Box<str>, u32>,
    /// The lowest and highest reward of the queue's verdicts, 0 and 1 included. Looked up when a
    /// queue without a reward scale first gets a reward outside 0 to 1.
    pub(crate) seen_rewards: Option<(f64, f64)>,
    /// Leases by end: time, item, slot.
    expiries: BTreeSet<(i64, u64, i16)>,
    /// Open items drawn for a random check, with the probability of the draw.
    random_checks: BTreeMap<u64, f64>,
    /// Open items with a due date: date, item.
    dues: BTreeSet<(i64, u64)>,
    due_of: HashMap<u64, i64>,
    tag_sets: Vec<Arc<Tags>>,
    tag_numbers: HashMap<Arc<Tags>, u32>,
    /// How many sets of tags were left when unused sets were last dropped.
    tags_kept: usize,
    pub(crate) ranking: Option<ItemRanking>,
    /// Items added or rescored since a background ranking began.
    fresh: BTreeSet<u64>,
    /// Changes whenever a ranking under way becomes useless: another ranking began, or the
    /// evaluators, the value rule or the ageing changed.
    generation: u64,
    journal: Vec<UndoStep>,
}

impl LiveQueue {
    /// The state after the first entry, which must create the queue.
    pub(crate) fn new(first: &LogEvent) -> Result<Self, Error> {
        let Body::Create { config, secret } = &first.body else {
            return Err(corrupt("the log does not begin with the creation of the queue"));
        };
        Ok(LiveQueue {
            seq: first.seq,
            at: first.at,
            clock_set: 0,
            created: first.at,
            secret: *secret,
            history: EvaluatorHistory::new(first.seq, config.evaluators.clone()),
            blocks: ScoreBlocks::new(config.evaluators.len()),
            config: Arc::new(config.clone()),
            next: 1,
            verdicts: 0,
            item_reviews: HashMap::new(),
            leased: 0,
            held: HashMap::new(),
            seen_rewards: None,
            expiries: BTreeSet::new(),
            random_checks: BTreeMap::new(),
            dues: BTreeSet::new(),
            due_of: HashMap::new(),
            tag_sets: Vec::new(),
            tag_numbers: HashMap::new(),
            tags_kept: 0,
            ranking: None,
            fresh: BTreeSet::new(),
            generation: 0,
            journal: Vec::new(),
        })
    }

    #[cfg(test)]
    pub(crate) fn counts(&self) -> ItemCounts {
        self.counts_at(self.at)
    }

    /// The counts at a time. A lease that has ended is not counted, although only the next entry
    /// removes it.
    pub(crate) fn counts_at(&self, now: i64) -> ItemCounts {
        let open = self.blocks.open() as u64;
        let ended = self.expiries.iter().take_while(|(until, ..)| *until <= now);
        let ended: BTreeSet<u64> =
            ended.map(|(_, n, _)| *n).filter(|n| !self.is_leased_at(*n, now)).collect();
        let (leased, items) = (self.leased - ended.len() as u64, self.next - 1);
        ItemCounts { items, pending: open - leased, leased, closed: items - open, verdicts: self.verdicts }
    }

    /// Whether an item has a lease at that time.
    pub(crate) fn is_leased_at(&self, n: u64, now: i64) -> bool {
        self.reviews(n).is_some_and(|reviews| reviews.leases.iter().any(|lease| lease.until > now))
    }

    pub(crate) fn ageing(&self) -> Ageing {
        Ageing { per_day: self.config.ageing_per_day, since: self.created }
    }

    pub(crate) fn value_rule(&self) -> ValueRule {
        ValueRule::of(&self.config)
    }

    pub(crate) fn is_open(&self, n: u64) -> bool {
        self.blocks.flags(n) & OPEN != 0
    }

    pub(crate) fn reviews(&self, n: u64) -> Option<&ItemReviews> {
        self.item_reviews.get(&n).map(Box::as_ref)
    }

    pub(crate) fn tags(&self, n: u64) -> Option<&Arc<Tags>> {
        self.tag_sets.get(self.blocks.tags(n)? as usize)
    }

    /// The state as JSON, to compare two loads of one log: equal logs give equal bytes. The ranking
    /// is left out, since it depends on the model.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut items: Vec<(u64, Vec<u64>, i64, &Tags)> = Vec::new();
        for block in self.blocks.iter() {
            for row in (0..block.flags.len()).filter(|row| block.flags[*row] & OPEN != 0) {
                let n = block.number(row);
                let bits =
                    self.blocks.scores(n).unwrap_or_default().iter().map(|score| score.to_bits()).collect();
                items.push((n, bits, block.arrived[row], &self.tag_sets[block.tags[row] as usize]));
            }
        }
        let mut item_reviews: BTreeMap<u64, ItemReviews> = BTreeMap::new();
        for (n, reviews) in self.item_reviews.iter().filter(|(_, reviews)| !reviews.is_empty()) {
            let mut reviews = (**reviews).clone();
            reviews.leases.sort_by_key(|lease| lease.slot);
            item_reviews.insert(*n, reviews);
        }
        let head = (self.seq, self.at, self.clock_set, self.created, self.secret, self.next, self.verdicts);
        let all = (
            head,
            &*self.config,
            self.history.current(),
            items,
            item_reviews,
            &self.random_checks,
            &self.dues,
        );
        serde_json::to_vec(&all).expect("a board is plain data")
    }

    /// The work that waits: since when the oldest free item waits, items due before `due_before`,
    /// and leases that end before `ends_before`.
    pub(crate) fn workload(&self, due_before: i64, ends_before: i64) -> crate::reads::Workload {
        let oldest = self.blocks.iter().find_map(|block| {
            let row = block.flags.iter().position(|flags| flags & FREE != 0)?;
            Some(block.arrived[row])
        });
        let due = self.dues.range(..(due_before, 0)).count() as u64;
        let ending = self.expiries.range(..(ends_before, 0, 0)).count() as u64;
        crate::reads::Workload { since: self.created, oldest, due, ending }
    }

    /// The items that a reviewer holds, in no particular order.
    pub(crate) fn held_by<'a>(&'a self, reviewer: &'a str) -> impl Iterator<Item = LeasedItem> + 'a {
        let held = self
            .item_reviews
            .iter()
            .filter_map(move |(n, reviews)| Some((*n, reviews.lease_of(reviewer)?.slot)));
        held.map(|(n, slot)| LeasedItem { n, slot })
    }

    /// How many items a reviewer holds.
    pub(crate) fn holds(&self, reviewer: &str) -> u32 {
        self.held.get(reviewer).copied().unwrap_or(0)
    }

    /// Whether a reward is from 0 to 1, or within the known range of the queue's rewards.
    pub(crate) fn has_seen(&self, reward: f64) -> bool {
        let within = |(lowest, highest): (f64, f64)| (lowest..=highest).contains(&reward);
        within(UNSAID) || self.seen_rewards.is_some_and(within)
    }

    /// Open items that already have enough verdicts for this quorum, by number, with their decided
    /// rewards. There are some only when the quorum is lowered.
    pub(crate) fn enough(&self, quorum: u8) -> Vec<(u64, f64)> {
        let busy = self.item_reviews.iter().filter(|(_, reviews)| !reviews.verdicts.is_empty());
        let mut enough: Vec<(u64, f64)> =
            busy.filter_map(|(n, reviews)| Some((*n, reviews::decided(reviews, quorum)?))).collect();
        enough.sort_unstable_by_key(|(n, _)| *n);
        enough
    }

    /// Adds an open item while a queue is loaded from its tables.
    pub(crate) fn load(&mut self, item: &AddedItem, arrived: i64) {
        let tags = self.tag_number(&item.tags);
        self.blocks.load(item.n, &item.scores, arrived, tags);
        self.mark(item);
        self.blocks.set_flags(item.n, OPEN | FREE);
    }

    /// Sets an item's leases, verdicts and skips while a queue is loaded from its tables.
    pub(crate) fn load_reviews(&mut self, n: u64, reviews: ItemReviews) {
        let free = reviews.free_slot(self.config.quorum).is_some();
        self.blocks.set_flags(n, OPEN | if free { FREE } else { 0 });
        self.set_reviews(n, Some(reviews));
    }

    /// Replaces an item's leases, verdicts and skips, updates the indexes of leases, and returns
    /// the old ones.
    fn set_reviews(&mut self, n: u64, reviews: Option<ItemReviews>) -> Option<ItemReviews> {
        let before = self.item_reviews.remove(&n);
        if let Some(before) = &before {
            self.leased -= u64::from(!before.leases.is_empty());
            for lease in &before.leases {
                self.expiries.remove(&(lease.until, n, lease.slot));
                if let Some(held) = self.held.get_mut(&**lease.reviewer) {
                    *held -= 1;
                    if *held == 0 {
                        self.held.remove(&**lease.reviewer);
                    }
                }
            }
        }
        if let Some(reviews) = reviews {
            self.leased += u64::from(!reviews.leases.is_empty());
            for lease in &reviews.leases {
                self.expiries.insert((lease.until, n, lease.slot));
                match self.held.get_mut(&**lease.reviewer) {
                    Some(held) => *held += 1,
                    None => drop(self.held.insert((**lease.reviewer).into(), 1)),
                }
            }
            self.item_reviews.insert(n, Box::new(reviews));
        }
        before.map(|reviews| *reviews)
    }

    fn mark(&mut self, item: &AddedItem) {
        if let Some(probability) = item.random_check {
            self.random_checks.insert(item.n, probability);
        }
        if let Some(due) = item.due {
            self.dues.insert((due, item.n));
            self.due_of.insert(item.n, due);
        }
    }

    /// Changes an open item's leases, verdicts or skips, and updates whether it can be claimed.
    fn change(&mut self, n: u64, change: impl FnOnce(&mut ItemReviews)) -> Result<(), Error> {
        if !self.is_open(n) {
            return Err(corrupt(format!("it changes item {n}, which is not open")));
        }
        let mut reviews = self.item_reviews.get(&n).map(|reviews| (**reviews).clone()).unwrap_or_default();
        change(&mut reviews);
        let before = self.set_reviews(n, Some(reviews).filter(|reviews| !reviews.is_empty()));
        self.note(UndoStep::Reviews { n, before });
        self.update_position(n);
        Ok(())
    }

    /// Removes leases that end at or before `at`, before requests are decided at that time.
    pub(crate) fn expire_at(&mut self, at: i64) {
        self.expire(at);
    }

    fn expire(&mut self, at: i64) {
        while let Some(&(until, n, slot)) = self.expiries.first().filter(|(until, ..)| *until <= at) {
            let gone = self.change(n, |reviews| reviews.leases.retain(|lease| lease.slot != slot));
            debug_assert!(gone.is_ok(), "only open items have leases");
            self.expiries.remove(&(until, n, slot));
        }
    }

    /// Updates whether an item can be claimed, and whether it is in the ranking's set of newcomers.
    fn update_position(&mut self, n: u64) {
        let flags = self.blocks.flags(n);
        if flags & OPEN == 0 {
            return;
        }
        let free =
            self.item_reviews.get(&n).is_none_or(|reviews| reviews.free_slot(self.config.quorum).is_some());
        match (flags & FREE != 0, free) {
            (true, false) => {
                self.remove_newcomer(n);
                self.set_flags(n, self.blocks.flags(n) & !FREE);
            }
            (false, true) => {
                // The cursor of the sorted order may have passed the item, so it goes into the set.
                self.set_flags(n, flags | FREE | IN_SET);
                self.insert_newcomer(n);
            }
            (true, true) if flags & IN_SET != 0 => self.insert_newcomer(n),
            _ => {}
        }
    }

    fn set_flags(&mut self, n: u64, flags: u8) {
        self.note(UndoStep::Flags { n, before: self.blocks.flags(n) });
        self.blocks.set_flags(n, flags);
    }

    fn rank_key(&self, n: u64) -> Option<ranking::RankKey> {
        let ranking = self.ranking.as_ref()?;
        let value = ranking.value(self.blocks.scores(n)?, self.history.current()).ok()?;
        Some(ranking.key(n, value, self.blocks.arrived(n)?))
    }

    /// Adds an item to the ranking's set of newcomers.
    fn insert_newcomer(&mut self, n: u64) {
        let Some(place) = self.rank_key(n) else { return };
        if self.ranking.as_mut().is_some_and(|ranking| ranking.newcomers.insert(place)) {
            self.note(UndoStep::Entered { place });
        }
    }

    /// Removes an item from the ranking's set of newcomers, if it is there.
    fn remove_newcomer(&mut self, n: u64) {
        if self.blocks.flags(n) & IN_SET == 0 {
            return;
        }
        let Some(place) = self.rank_key(n) else { return };
        if self.ranking.as_mut().is_some_and(|ranking| ranking.newcomers.remove(&place)) {
            self.note(UndoStep::Lifted { place });
        }
    }

    /// Ranks all open items again under the same model, because the evaluators, the value rule or
    /// the ageing changed. Returns the old ranking for the undo log.
    fn rank_again(&mut self) -> Result<Option<ItemRanking>, Error> {
        self.generation += 1;
        let Some(old) = self.ranking.take() else { return Ok(None) };
        let (evaluators, ageing) = (self.history.current(), self.ageing());
        let ranking = ItemRanking::of(
            old.model,
            old.fitted.clone(),
            &self.blocks,
            evaluators,
            ageing,
            self.value_rule(),
        )?;
        self.ranking = Some(ranking);
        self.blocks.clear_flag(IN_SET);
        Ok(Some(old))
    }

    /// Begins a background ranking: a copy of the blocks, and the generation to install it with.
    /// From now on changed items are noted. A ranking that was begun before can no longer be
    /// installed.
    pub(crate) fn begin_ranking(&mut self) -> (ScoreBlocks, u64) {
        self.generation += 1;
        self.fresh.clear();
        (self.blocks.clone(), self.generation)
    }

    /// Installs a ranking made in the background. Items that changed meanwhile go into its set of
    /// newcomers. False if the ranking is outdated, because the queue's set-up changed or another
    /// ranking began.
    pub(crate) fn install_ranking(&mut self, ranking: ItemRanking, generation: u64) -> bool {
        debug_assert!(self.journal.is_empty(), "not within a transaction");
        if generation != self.generation {
            return false;
        }
        self.blocks.squeeze();
        self.forget_tags();
        self.blocks.clear_flag(IN_SET);
        self.ranking = Some(ranking);
        // Sorted at once instead of inserted one by one: there may be many, and claims wait
        // meanwhile.
        let mut places = Vec::new();
        for n in std::mem::take(&mut self.fresh) {
            let flags = self.blocks.flags(n);
            if flags & OPEN != 0 {
                self.blocks.set_flags(n, flags | IN_SET);
                if flags & FREE != 0 {
                    places.extend(self.rank_key(n));
                }
            }
        }
        if let Some(ranking) = &mut self.ranking {
            ranking.newcomers = places.into_iter().collect();
        }
        true
    }
}

//! Lists of items, and explanations of single items.

use crate::evaluator_history::EvaluatorHistory;
use crate::live_queue::{Filter, LiveQueue};
use crate::queue_writer::QueueWriter;
use crate::reads::VerdictRecord;
use crate::reads::report::clamped;
use crate::rows::{ItemRow, VerdictRow};
use crate::service::Queue;
use crate::store::{Store, set_up};
use crate::{Error, Tags};
use jurybox::options::Fraction;
use jurybox::{Contributions, Interval};
use std::collections::HashMap;

/// The state of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemState {
    /// Open, and held by nobody.
    Pending,
    /// Open, and held by a reviewer.
    Leased,
    /// Closed.
    Closed,
}

/// An item in a list.
#[derive(Debug, Clone)]
pub struct ListedItem {
    /// Its number, after which the next page can start.
    pub n: u64,
    /// The id of the item.
    pub id: String,
    /// When it arrived, in microseconds since 1970.
    pub arrived: i64,
    /// Its state.
    pub stands: ItemState,
    /// Its present value, if it is open and the queue is ranked.
    pub value: Option<f64>,
    /// Its scores, in the order of the queue's evaluators.
    pub scores: Vec<Option<f64>>,
    /// Its tags.
    pub tags: Tags,
    /// From when it is picked before items that are not due, in microseconds since 1970.
    pub due: Option<i64>,
}

/// A valid verdict on an item.
#[derive(Debug, Clone)]
pub struct VerdictOnItem {
    /// The id of the verdict.
    pub id: String,
    /// The reviewer.
    pub reviewer: String,
    /// The reward.
    pub reward: f64,
    /// The label, if one was given.
    pub label: Option<String>,
    /// The note, if one was written.
    pub note: Option<String>,
    /// Whether it replaces an earlier verdict, or its reviewer had given one that was taken back or
    /// revised.
    pub seen: bool,
}

/// An item with an explanation of its rank.
#[derive(Debug, Clone)]
pub struct ExplainedItem {
    /// The item.
    pub item: ListedItem,
    /// Its payload, shown to reviewers.
    pub payload: Option<crate::Json>,
    /// The valid verdicts on it.
    pub verdicts: Vec<VerdictOnItem>,
    /// The reviewers who hold it, and until when, in microseconds since 1970.
    pub leases: Vec<(String, i64)>,
    /// The probability with which it was chosen for a random check; None if it was not.
    pub random_check: Option<f64>,
    /// The log entry up to which the ranking model has learnt.
    pub model: u64,
    /// The number of verdicts learnt so far.
    pub learnt_from: u64,
    /// Each evaluator's contribution to its value, if the policy can tell.
    pub contributions: Option<Contributions>,
    /// The expected reward with a 90% interval, if the policy can tell.
    pub predicted: Option<Interval>,
}

impl Queue {
    /// Free items by value, best first, after the first `from`; and the log entry up to which the
    /// ranking model has learnt, 0 if the queue is not ranked.
    pub fn ranked_items(
        &self,
        filter: Filter,
        from: usize,
        limit: usize,
    ) -> Result<(u64, Vec<ListedItem>), Error> {
        let (model, seen) = self.read(move |writer| {
            writer.as_of_now(|live, now| {
                let model = live.ranking.as_ref().map_or(0, |ranking| ranking.model);
                (model, ItemSnapshot::new(live, live.free_items_in_order(&filter, from, limit), now))
            })
        })?;
        Ok((model, self.filled(&seen)?))
    }

    /// The items numbered `after + 1` to `after + limit`; erased ones are left out.
    pub fn list_items(&self, after: u64, limit: usize) -> Result<Vec<ListedItem>, Error> {
        let seen = self.read(move |writer| {
            let now = writer.now();
            let live = &writer.replica.live;
            let last = live.next.min(after.saturating_add(limit as u64 + 1));
            ItemSnapshot::new(live, (after + 1..last).collect(), now)
        })?;
        self.filled(&seen)
    }

    fn filled(&self, seen: &ItemSnapshot) -> Result<Vec<ListedItem>, Error> {
        let rows = self.read_separately(|store, queue, head| {
            // The database may have a few entries more than the snapshot.
            let (history, _) = set_up(store, queue, head.seq)?;
            seen.filled(store, queue, (&history, head.seq))
        })?;
        Ok(rows.into_iter().map(|row| row.item).collect())
    }

    /// An item by its id, with an explanation of its rank; None if there is no such item.
    pub fn explain_item(&self, id: &str) -> Result<Option<ExplainedItem>, Error> {
        let id = id.to_string();
        self.read(move |writer| writer.look_up(|writer| writer.explain_item(&id)))?
    }
}

/// The state of items in memory, taken on the writer's thread. Lists read the items' rows on
/// another thread.
struct ItemSnapshot {
    /// For each item: its number, whether it is leased, and its value if it has one.
    items: Vec<(u64, bool, Option<f64>)>,
}

/// An item with its payload and random check.
struct Row {
    item: ListedItem,
    /// Its payload.
    payload: Option<String>,
    /// The probability of its random check.
    random_check: Option<f64>,
}

impl ItemSnapshot {
    fn new(live: &LiveQueue, numbers: Vec<u64>, now: i64) -> Self {
        let item = |n: u64| {
            let leased = live.is_leased_at(n, now);
            let scores = live.blocks.scores(n).filter(|_| live.is_open(n));
            let value = match (&live.ranking, scores) {
                (Some(ranking), Some(scores)) => ranking.value(scores, live.history.current()).ok(),
                _ => None,
            };
            (n, leased, value)
        };
        ItemSnapshot { items: numbers.into_iter().map(item).collect() }
    }

    /// The items with their rows; erased ones are left out.
    fn filled(
        &self,
        store: &mut dyn Store,
        queue: i64,
        (history, seq): (&EvaluatorHistory, u64),
    ) -> Result<Vec<Row>, Error> {
        let numbers: Vec<u64> = self.items.iter().map(|(n, ..)| *n).collect();
        let mut named: HashMap<u64, (String, Option<String>)> =
            store.shown(queue, &numbers)?.into_iter().map(|(n, id, payload)| (n, (id, payload))).collect();
        let mut filled = Vec::with_capacity(numbers.len());
        for (n, leased, value) in &self.items {
            let Some((id, payload)) = named.remove(n) else { continue };
            let Some(row) = store.item(queue, *n)? else { continue };
            let ItemRow { arrived, random_check, closed, .. } = row;
            let item = row.into_added(history, seq + 1);
            let stands = match closed {
                Some(_) => ItemState::Closed,
                None if *leased => ItemState::Leased,
                None => ItemState::Pending,
            };
            let value = value.filter(|_| closed.is_none());
            let scores = item.scores.iter().map(|score| (!score.is_nan()).then_some(*score)).collect();
            let (tags, due) = (item.tags, item.due);
            let item = ListedItem { n: *n, id, arrived, stands, value, scores, tags, due };
            filled.push(Row { item, payload, random_check });
        }
        Ok(filled)
    }
}

impl QueueWriter {
    fn explain_item(&mut self, id: &str) -> Result<Option<ExplainedItem>, Error> {
        let Some(n) = self.number_of(id)? else { return Ok(None) };
        let now = self.now();
        let (live, queue) = (&self.replica.live, self.queue());
        let (seen, history, seq) = (ItemSnapshot::new(live, vec![n], now), live.history.clone(), live.seq);
        let filled = seen.filled(self.store_to_read(), queue, (&history, seq))?.pop();
        let Some(Row { item, payload, random_check }) = filled else {
            return Ok(None);
        };
        let told = self.store_to_read().told_of(queue, n - 1, n)?;
        let verdicts = told.into_iter().map(|VerdictRecord { verdict, note, seen, .. }| {
            let VerdictRow { id, reviewer, reward, label, .. } = verdict;
            VerdictOnItem { id, reviewer, reward, label, note, seen }
        });
        let verdicts = verdicts.collect();
        let live = &self.replica.live;
        let leases = live.reviews(n).map(|work| &work.leases[..]).unwrap_or_default();
        let leases = leases
            .iter()
            .filter(|lease| lease.until > now)
            .map(|lease| (lease.reviewer.to_string(), lease.until))
            .collect();
        let (mut contributions, mut predicted) = (None, None);
        if let Some(ranking) = &live.ranking {
            let row: Vec<f64> = item.scores.iter().map(|score| score.unwrap_or(f64::NAN)).collect();
            let fixed = ranking.value_rule.contributions(&row, live.history.current());
            let row =
                ranking.value_rule.masked_row(&row, live.history.current(), ranking.fitted.evaluators());
            contributions = ranking.fitted.contributions(&row)?;
            let level = Fraction::try_from(0.9).ok();
            let scores = ranking.fitted.scores(&row)?;
            predicted = match level {
                Some(level) => {
                    let one = ranking.fitted.predict(&scores, level)?.and_then(|mut all| all.pop());
                    // With fewer than two rewards the interval is infinite, and is not shown.
                    let one = one.filter(|one| one.half_width().is_finite());
                    // Predictions may exceed the reward scale.
                    one.map(|one| match &live.config.reward {
                        Some(scale) => clamped(one, scale.lowest, scale.highest),
                        None => one,
                    })
                }
                None => None,
            };
            // A fit for earlier evaluators does not apply to the present ones.
            if ranking.fitted.evaluators() != live.history.current() {
                contributions = None;
            }
            contributions = fixed.or(contributions);
        }
        let payload = payload.and_then(|text| serde_json::from_str(&text).ok());
        let model = live.ranking.as_ref().map_or(0, |ranking| ranking.model);
        let learnt_from = self.replica.learner.mark().0.used;
        Ok(Some(ExplainedItem {
            item,
            payload,
            verdicts,
            leases,
            random_check,
            model,
            learnt_from,
            contributions,
            predicted,
        }))
    }
}

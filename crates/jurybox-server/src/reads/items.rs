//! Items: listed, and one of them explained.

use crate::live_queue::{LiveQueue, Filter};
use crate::queue_writer::QueueWriter;
use crate::reads::VerdictRecord;
use crate::reads::report::clamped;
use crate::rows::{ItemRow, VerdictRow};
use crate::evaluator_history::EvaluatorHistory;
use crate::service::Queue;
use crate::store::{Store, set_up};
use crate::{Error, Tags};
use jurybox::options::Fraction;
use jurybox::{Contributions, Interval};
use std::collections::HashMap;

/// How an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemState {
    /// Open, and in nobody's hands.
    Pending,
    /// Open, and in somebody's hands.
    Leased,
    /// Closed.
    Closed,
}

/// An item as a list shows it.
#[derive(Debug, Clone)]
pub struct ListedItem {
    /// Its number: the place to go on from.
    pub n: u64,
    /// Its id.
    pub id: String,
    /// When it came in, in microseconds since 1970.
    pub arrived: i64,
    /// How it stands.
    pub stands: ItemState,
    /// What it is ranked by now, where it is open.
    pub value: Option<f64>,
    /// Its scores, by the evaluators of the queue.
    pub scores: Vec<Option<f64>>,
    /// Its tags.
    pub tags: Tags,
    /// From when on it goes first.
    pub due: Option<i64>,
}

/// A verdict that stands on an item.
#[derive(Debug, Clone)]
pub struct VerdictOnItem {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub reviewer: String,
    /// What it was worth.
    pub reward: f64,
    /// A word for what was found.
    pub label: Option<String>,
    /// What was said beside it.
    pub note: Option<String>,
    /// Whether its reviewer had given a verdict on the item before, and may have seen what was thought of it since.
    pub seen: bool,
}

/// An item, and why it has its place.
#[derive(Debug, Clone)]
pub struct ExplainedItem {
    /// The item.
    pub item: ListedItem,
    /// What reviewers are shown.
    pub payload: Option<crate::Json>,
    /// The verdicts that stand on it.
    pub verdicts: Vec<VerdictOnItem>,
    /// Who has it, and until when.
    pub leases: Vec<(String, i64)>,
    /// The probability with which it was drawn for an audit, if it was.
    pub random_check: Option<f64>,
    /// The entry up to which the model that ranks has learnt.
    pub model: u64,
    /// How many verdicts that model has learnt from.
    pub learnt_from: u64,
    /// What each evaluator adds to its value, where the policy can say.
    pub contributions: Option<Contributions>,
    /// The reward that is expected, with an interval that holds it with probability 0.9, where the policy can say.
    pub predicted: Option<Interval>,
}

impl Queue {
    /// Free items in the order in which they would be given out by value, from one place on, and the model that says so.
    pub fn ranked_items(&self, filter: Filter, from: usize, limit: usize) -> Result<(u64, Vec<ListedItem>), Error> {
        let (model, seen) = self.read(move |writer| {
            writer.as_of_now(|live, now| {
                let model = live.ranking.as_ref().map_or(0, |ranking| ranking.model);
                (model, ItemSnapshot::new(live, live.free_items_in_order(&filter, from, limit), now))
            })
        })?;
        Ok((model, self.filled(&seen)?))
    }

    /// Items in the order in which they came, after the one of that number; erased ones are left out.
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
            // The database may be a few entries ahead of the board that was looked at.
            let (history, _) = set_up(store, queue, head.seq)?;
            seen.filled(store, queue, (&history, head.seq))
        })?;
        Ok(rows.into_iter().map(|row| row.item).collect())
    }

    /// An item by its id, with the reasons for its place.
    pub fn explain_item(&self, id: &str) -> Result<Option<ExplainedItem>, Error> {
        let id = id.to_string();
        self.read(move |writer| writer.look_up(|writer| writer.explain_item(&id)))?
    }
}

/// What a board says of items: all that has to be seen on the clerk's thread. Their rows are read elsewhere.
struct ItemSnapshot {
    /// Each item's number, whether somebody has it, and what it is ranked by.
    items: Vec<(u64, bool, Option<f64>)>,
}

/// An item with what is beside it in its row.
struct Row {
    item: ListedItem,
    /// What reviewers are shown.
    payload: Option<String>,
    /// The probability of its audit.
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

    /// The same items with their rows; those that have been erased are left out.
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
        let leases = live.work(n).map(|work| &work.leases[..]).unwrap_or_default();
        let leases = leases
            .iter()
            .filter(|lease| lease.until > now)
            .map(|lease| (lease.reviewer.to_string(), lease.until))
            .collect();
        let (mut contributions, mut predicted) = (None, None);
        if let Some(ranking) = &live.ranking {
            let row: Vec<f64> = item.scores.iter().map(|score| score.unwrap_or(f64::NAN)).collect();
            let fixed = ranking.value_rule.contributions(&row, live.history.current());
            let row = ranking.value_rule.masked_row(&row, live.history.current(), ranking.fitted.evaluators());
            contributions = ranking.fitted.contributions(&row)?;
            let level = Fraction::try_from(0.9).ok();
            let scores = ranking.fitted.scores(&row)?;
            predicted = match level {
                Some(level) => {
                    let one = ranking.fitted.predict(&scores, level)?.and_then(|mut all| all.pop());
                    // Before there are two rewards it may be anything, and then nothing is said.
                    let one = one.filter(|one| one.half_width().is_finite());
                    // A line knows no ends, and the scale has them.
                    one.map(|one| match &live.config.reward {
                        Some(scale) => clamped(one, scale.lowest, scale.highest),
                        None => one,
                    })
                }
                None => None,
            };
            // A fit made for other evaluators says nothing about those who sit now.
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

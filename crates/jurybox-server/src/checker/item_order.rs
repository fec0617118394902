//! Open items in the order in which a model has them: made once for a model and a filter that claims name, and kept from entry to entry.
//!
//! What is open when an order is made is ranked at once and sorted as far as claims look. What comes later, gets other scores or comes back is
//! put into a small sorted set. A claim takes the first of both. Places of items that are gone, or whose scores are others, are passed over.

use super::read::{CheckResult, QueueSetup};
use super::{OpenItem, LogReplay, Violation};
use jurybox::{Direction, Evaluator, Fitted, Scratch};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Items that are valued together, and the fewest for which another thread is worth it.
const TOGETHER: usize = 1024;
const WORTH_A_THREAD: usize = 16 * TOGETHER;
/// As many orders and places in them are kept at most: nodes that rank at different times name models by turns.
const MOST_ORDERS: usize = 16;
const MOST_PLACES: usize = 1 << 23;

/// What an open item may be to a claim.
pub(super) enum Availability {
    /// It can be given.
    Take,
    /// It can be given to others.
    Pass,
    /// It is not open, has no review free, or has another place now.
    Gone,
}

/// The place of an item: the greater key first, then the older item.
#[derive(Debug, Clone, Copy)]
pub(super) struct OrderedItem {
    key: f64,
    pub(super) item: u64,
    pub(super) version: u64,
}

impl Ord for OrderedItem {
    fn cmp(&self, other: &Self) -> Ordering {
        // Minus zero is zero.
        (other.key + 0.0).total_cmp(&(self.key + 0.0)).then(self.item.cmp(&other.item))
    }
}

impl PartialOrd for OrderedItem {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OrderedItem {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for OrderedItem {}

/// What gives items their values: a model, or weights that somebody has fixed.
struct Valuer {
    seats: Vec<Evaluator>,
    fitted: Option<Fitted>,
    weights: serde_json::Map<String, serde_json::Value>,
    /// Where in an item's row the scores stand: of the model's evaluators, or of those who sit; none of who does not count.
    columns: Vec<Option<usize>>,
    ageing: f64,
    start: i64,
}

impl Valuer {
    fn of(setup: &QueueSetup, fitted: Option<Fitted>, start: i64) -> Self {
        let seats = setup.evaluators.as_slice().to_vec();
        let muted: Vec<&str> =
            setup.config["muted"].as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect();
        let asked = fitted.as_ref().map_or(&*seats, |fitted| fitted.evaluators().as_slice());
        let column =
            |seat: &Evaluator| seats.iter().position(|other| other == seat && !muted.contains(&&*seat.name));
        let columns = asked.iter().map(column).collect();
        let weights = setup.config["weights"].as_object().cloned().unwrap_or_default();
        let ageing = setup.config["ageing_per_day"].as_f64().unwrap_or(0.0);
        Valuer { seats, fitted, weights, columns, ageing, start }
    }

    /// The values of rows, one after the other.
    fn values<'a>(
        &self,
        rows: impl Iterator<Item = &'a [f64]>,
        (table, scratch): &mut (Vec<f64>, Scratch),
    ) -> CheckResult<Vec<f64>> {
        table.clear();
        for row in rows {
            table.extend(
                self.columns.iter().map(|at| at.and_then(|at| row.get(at)).copied().unwrap_or(f64::NAN)),
            );
        }
        let told = |error: jurybox::Error| Violation(error.to_string());
        let mut values = match &self.fitted {
            Some(fitted) => {
                fitted.values_with(&fitted.scores(table).map_err(told)?, scratch).map_err(told)?.to_vec()
            }
            None => table.chunks_exact(self.seats.len().max(1)).map(|row| self.by_weights(row)).collect(),
        };
        // What cannot be valued is worth nothing.
        values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
        Ok(values)
    }

    /// The mean of the scores that are there, by weights that somebody has fixed; those that point low the other way round.
    fn by_weights(&self, row: &[f64]) -> f64 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (seat, score) in self.seats.iter().zip(row).filter(|(_, score)| !score.is_nan()) {
            let weight = self.weights.get(&seat.name).and_then(serde_json::Value::as_f64).unwrap_or(0.0);
            if weight != 0.0 {
                sum += weight * if seat.direction == Direction::Low { -score } else { *score };
                weights += weight.abs();
            }
        }
        if weights == 0.0 { f64::NEG_INFINITY } else { sum / weights }
    }

    fn ranked(&self, items: &[(u64, &OpenItem)]) -> CheckResult<Vec<OrderedItem>> {
        let (mut ranked, mut memory) = (Vec::with_capacity(items.len()), (Vec::new(), Scratch::new()));
        for part in items.chunks(TOGETHER) {
            let values = self.values(part.iter().map(|(_, open)| &*open.row), &mut memory)?;
            ranked.extend(part.iter().zip(values).map(|(&(item, open), value)| {
                let days = open.arrived.saturating_sub(self.start) as f64 / 86_400e6;
                OrderedItem { key: value - self.ageing * days, item, version: open.version }
            }));
        }
        Ok(ranked)
    }

    /// The places of many items, by as many threads as there are processors: a value is a matter of the item's row alone.
    fn ranked_by_all(&self, items: &[(u64, &OpenItem)]) -> CheckResult<Vec<OrderedItem>> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(items.len() / WORTH_A_THREAD).max(1);
        if threads == 1 {
            return self.ranked(items);
        }
        std::thread::scope(|scope| {
            let parts = items.chunks(items.len().div_ceil(threads));
            let running: Vec<_> = parts.map(|part| scope.spawn(move || self.ranked(part))).collect();
            let mut all = Vec::with_capacity(items.len());
            for thread in running {
                all.extend(thread.join().map_err(|_| Violation("items could not be valued".into()))??);
            }
            Ok(all)
        })
    }
}

/// Open items in the order of a model.
pub(super) struct ItemOrder {
    /// None where weights are fixed, and no model is asked.
    model: Option<u64>,
    filter: BTreeMap<String, Vec<String>>,
    valuer: Valuer,
    /// All that was open when the order was made; sorted as far as `sorted` says, and before `cursor` all gone.
    ranked: Vec<OrderedItem>,
    sorted: usize,
    cursor: usize,
    /// What has come, changed or come back since.
    fresh: BTreeSet<OrderedItem>,
    /// How far it has read what was touched.
    read: usize,
}

impl ItemOrder {
    /// What an item is worth.
    pub(super) fn value(&self, open: &OpenItem) -> CheckResult<f64> {
        let values = self.valuer.values(std::iter::once(&*open.row), &mut (Vec::new(), Scratch::new()))?;
        values.first().copied().ok_or_else(|| Violation("an item has no value".into()))
    }

    /// The first items that may be taken.
    pub(super) fn first(&mut self, many: usize, may: impl Fn(&OrderedItem) -> Availability) -> Vec<u64> {
        let (mut at, mut found, mut gone) = (self.cursor, Vec::new(), Vec::new());
        let mut fresh = self.fresh.iter().peekable();
        while found.len() < many {
            if at == self.sorted && at < self.ranked.len() {
                let rest = &mut self.ranked[at..];
                let more = (3 * at).max(4 * TOGETHER).min(rest.len());
                if more < rest.len() {
                    rest.select_nth_unstable(more);
                }
                rest[..more].sort_unstable();
                self.sorted += more;
            }
            let is_fresh = match (self.ranked.get(at), fresh.peek()) {
                (None, None) => break,
                (ranked, Some(fresh)) => ranked.is_none_or(|ranked| *fresh < ranked),
                (Some(_), None) => false,
            };
            let next = if is_fresh { fresh.next() } else { self.ranked.get(at) };
            let Some(&next) = next else { break };
            at += usize::from(!is_fresh);
            match may(&next) {
                // What has come back to its old place stands there twice.
                Availability::Take if found.last() != Some(&next.item) => found.push(next.item),
                Availability::Gone if is_fresh => gone.push(next),
                Availability::Gone if self.cursor + 1 == at => self.cursor = at,
                Availability::Take | Availability::Pass | Availability::Gone => {}
            }
        }
        for place in gone {
            self.fresh.remove(&place);
        }
        found
    }
}

impl LogReplay<'_> {
    /// The order of open items that a claim was given from, as it is now: a new one, or one that is kept and brought up to date. To be put back
    /// by `keep`.
    pub(super) fn order(
        &mut self,
        model: u64,
        filter: BTreeMap<String, Vec<String>>,
        now: u64,
    ) -> CheckResult<ItemOrder> {
        let records = self.records;
        let setup = &records.setups[self.setup];
        let model = (!setup.config["weights"].is_object()).then_some(model);
        if let Some(at) =
            self.orders.iter().position(|order| (order.model, &order.filter) == (model, &filter))
        {
            let mut order = self.orders.remove(at);
            let since: BTreeSet<u64> = self.touched[order.read..].iter().copied().collect();
            let quorum = self.quorum();
            let there = since.into_iter().filter_map(|n| Some((n, self.open.get(&n)?)));
            let there =
                there.filter(|(n, open)| open.free(quorum).is_some() && self.is_in(*n, &order.filter));
            for place in order.valuer.ranked_by_all(&there.collect::<Vec<_>>())? {
                order.fresh.replace(place);
            }
            order.read = self.touched.len();
            return Ok(order);
        }
        let fitted = model.map(|model| self.models.fitted(model, now)).transpose()?;
        let valuer = Valuer::of(setup, fitted, records.log[0].at);
        let there = self.open.iter().map(|(n, open)| (*n, open));
        let there: Vec<_> = there.filter(|(n, _)| self.is_in(*n, &filter)).collect();
        let ranked = valuer.ranked_by_all(&there)?;
        let read = self.touched.len();
        Ok(ItemOrder { model, filter, valuer, ranked, sorted: 0, cursor: 0, fresh: BTreeSet::new(), read })
    }

    /// Keeps an order for the claims to come.
    pub(super) fn keep(&mut self, order: ItemOrder) {
        self.orders.push(order);
        let places = |orders: &[ItemOrder]| orders.iter().map(|order| order.ranked.len()).sum::<usize>();
        while self.orders.len() > MOST_ORDERS || (self.orders.len() > 1 && places(&self.orders) > MOST_PLACES)
        {
            self.orders.remove(0);
        }
    }

    /// Whether an item passes a filter, and what it was is still known.
    fn is_in(&self, n: u64, filter: &BTreeMap<String, Vec<String>>) -> bool {
        !self.doomed.contains(&n) && (filter.is_empty() || super::expected_picks::wanted(filter, self.records.tags(n)))
    }
}

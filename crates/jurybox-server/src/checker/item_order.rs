//! Open items that pass a filter, ordered by a model; orders are kept from claim to claim.
//!
//! All items that are open when an order is made are valued at once, and sorted as far as claims
//! need. Items that arrive, change or return later are put into a small sorted set. A claim merges
//! both lists, and skips items that have closed or changed since they were listed.

use super::read::{CheckResult, QueueSetup};
use super::{LogReplay, OpenItem, Violation};
use jurybox::{Direction, Evaluator, Fitted, Scratch};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Items valued per batch.
const TOGETHER: usize = 1024;
/// The number of items for which one thread is started, up to the number of processors.
const WORTH_A_THREAD: usize = 16 * TOGETHER;
/// The most orders that are kept. Claims of several nodes may name different models in turn.
const MOST_ORDERS: usize = 16;
/// The most items in all kept orders together, unless only one order is left.
const MOST_PLACES: usize = 1 << 23;

/// Whether a claim can take an item.
pub(super) enum Availability {
    /// The claim can take it.
    Take,
    /// This claim cannot take it, or has taken it; another claim may.
    Pass,
    /// It is not open, has no free review, or has another rank now.
    Gone,
}

/// An item with its sort key: greater keys first, then lower item numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct OrderedItem {
    key: f64,
    pub(super) item: u64,
    pub(super) version: u64,
}

impl Ord for OrderedItem {
    fn cmp(&self, other: &Self) -> Ordering {
        // Adding zero makes minus zero equal to zero.
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

/// Computes values, by a model or by fixed weights.
struct Valuer {
    seats: Vec<Evaluator>,
    fitted: Option<Fitted>,
    weights: serde_json::Map<String, serde_json::Value>,
    /// For each evaluator of the model, its column in an item's row; None for evaluators that were
    /// removed or muted.
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

    /// The values of several rows; 0 for rows without a value.
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
        // A row without a value gets 0.
        values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
        Ok(values)
    }

    /// The mean of the row's scores by fixed weights, with inverted scores negated: the weighted
    /// sum over the sum of absolute weights. Minus infinity if no present score has a weight.
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

    /// Computes the sort keys of items. Many items are divided among several threads.
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
    /// None if weights are fixed.
    model: Option<u64>,
    filter: BTreeMap<String, Vec<String>>,
    valuer: Valuer,
    /// The items that were open when the order was made. They are sorted up to `sorted`, and those
    /// before `cursor` are gone.
    ranked: Vec<OrderedItem>,
    sorted: usize,
    cursor: usize,
    /// Items that arrived, changed or returned after the order was made.
    fresh: BTreeSet<OrderedItem>,
    /// How many elements of `touched` this order has processed.
    read: usize,
}

impl ItemOrder {
    /// The value of an item.
    pub(super) fn value(&self, open: &OpenItem) -> CheckResult<f64> {
        let values = self.valuer.values(std::iter::once(&*open.row), &mut (Vec::new(), Scratch::new()))?;
        values.first().copied().ok_or_else(|| Violation("an item has no value".into()))
    }

    /// The first `many` items that a claim can take, as `may` says.
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
                // An item that returned to its old rank is listed twice.
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
    /// The present order of open items for a claim: a stored one brought up to date, or a new one.
    /// `keep` stores it again.
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

    /// Stores an order for later claims. Above the limits, drops the orders unused for longest.
    pub(super) fn keep(&mut self, order: ItemOrder) {
        self.orders.push(order);
        let places = |orders: &[ItemOrder]| orders.iter().map(|order| order.ranked.len()).sum::<usize>();
        while self.orders.len() > MOST_ORDERS || (self.orders.len() > 1 && places(&self.orders) > MOST_PLACES)
        {
            self.orders.remove(0);
        }
    }

    /// Whether an item passes the filter and is not erased later.
    fn is_in(&self, n: u64, filter: &BTreeMap<String, Vec<String>>) -> bool {
        !self.doomed.contains(&n)
            && (filter.is_empty() || super::expected_picks::wanted(filter, self.records.tags(n)))
    }
}

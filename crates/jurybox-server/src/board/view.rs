//! The order in which items are given out, under one model: sorted once, with a cursor, and a small set for what came or came back
//! since.

use crate::board::blocks::{Blocks, FREE, IN_SET, OPEN};
use crate::board::valuing::Valuing;
use jurybox::{Evaluators, Fitted, Scratch};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// The place of an item: by value, aged; of two alike the older first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    pub(crate) key: f64,
    pub(crate) n: u64,
}

impl Eq for Place {}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.total_cmp(&self.key).then(self.n.cmp(&other.n))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What places are made of besides values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ageing {
    /// What a day of waiting is worth.
    pub(crate) per_day: f64,
    /// When the queue was made; times count from there, so that they are small.
    pub(crate) since: i64,
}

impl Ageing {
    /// The place of an item. All grow older alike, so that what they gain is a matter of when they came.
    pub(crate) fn place(self, n: u64, value: f64, arrived: i64) -> Place {
        let days = (arrived - self.since) as f64 / 86_400e6;
        // Minus zero is zero: a tie is a tie.
        Place { key: value - self.per_day * days + 0.0, n }
    }
}

/// An order under a model.
#[derive(Debug)]
pub(crate) struct View {
    /// The entry up to which the model has learnt.
    pub(crate) model: u64,
    pub(crate) fitted: Fitted,
    pub(crate) valuing: Valuing,
    ageing: Ageing,
    order: Vec<Place>,
    pub(crate) cursor: usize,
    pub(crate) set: BTreeSet<Place>,
}

impl View {
    /// Values and sorts all items that are open.
    pub(crate) fn of(
        model: u64,
        fitted: Fitted,
        blocks: &Blocks,
        evaluators: &Evaluators,
        ageing: Ageing,
        valuing: Valuing,
    ) -> Result<View, jurybox::Error> {
        let (mut scratch, mut order, mut table) =
            (Scratch::new(), Vec::with_capacity(blocks.open()), Vec::new());
        for block in blocks.iter() {
            let values = valuing.values(&fitted, &block.scores, evaluators, &mut scratch, &mut table)?;
            let open = (0..block.flags.len()).filter(|&row| block.flags[row] & OPEN != 0);
            order.extend(
                open.map(|row| ageing.place(block.number(row), known(values[row]), block.arrived[row])),
            );
        }
        order.sort_unstable();
        Ok(View { model, fitted, valuing, ageing, order, cursor: 0, set: BTreeSet::new() })
    }

    /// The value of a row that is laid out for these evaluators.
    pub(crate) fn value(&self, row: &[f64], evaluators: &Evaluators) -> Result<f64, jurybox::Error> {
        let (mut scratch, mut table) = (Scratch::new(), Vec::new());
        let values = self.valuing.values(&self.fitted, row, evaluators, &mut scratch, &mut table)?;
        Ok(known(values[0]))
    }

    pub(crate) fn place(&self, n: u64, value: f64, arrived: i64) -> Place {
        self.ageing.place(n, value, arrived)
    }

    /// Moves the cursor past what is not there to be given any more.
    pub(crate) fn advance(&mut self, blocks: &Blocks) {
        while self.order.get(self.cursor).is_some_and(|place| !in_order(blocks, place.n)) {
            self.cursor += 1;
        }
    }

    /// Free items of the order alone, the best first: for one that was made of these very blocks.
    pub(crate) fn best<'a>(&'a self, blocks: &'a Blocks) -> impl Iterator<Item = u64> + 'a {
        self.order.iter().map(|place| place.n).filter(|n| blocks.flags(*n) & (OPEN | FREE) == OPEN | FREE)
    }

    /// Free items, the best first.
    pub(crate) fn walk<'a>(&'a self, blocks: &'a Blocks) -> impl Iterator<Item = u64> + 'a {
        let mut sorted =
            self.order[self.cursor..].iter().filter(|place| in_order(blocks, place.n)).peekable();
        let mut set = self.set.iter().peekable();
        std::iter::from_fn(move || match (sorted.peek(), set.peek()) {
            (Some(a), Some(b)) => {
                if a < b {
                    sorted.next()
                } else {
                    set.next()
                }
            }
            (Some(_), None) => sorted.next(),
            (None, _) => set.next(),
        })
        .map(|place| place.n)
    }
}

/// A value to rank by. An item that the model cannot value is worth nothing: a queue must not stop for it.
fn known(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value }
}

fn in_order(blocks: &Blocks, n: u64) -> bool {
    blocks.flags(n) & (OPEN | FREE | IN_SET) == OPEN | FREE
}

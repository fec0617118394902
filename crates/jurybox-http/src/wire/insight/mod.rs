//! Looking at a queue: its items in their order, its evaluators, what was found, what happened.

mod evaluators;
mod events;
mod items;
mod rank;
mod report;

pub(crate) use evaluators::EvaluatorList;
pub(crate) use events::Events;
pub(crate) use items::{Item, ItemInFull, ItemPage};
pub(crate) use rank::{Preview, Previewed, RankedItem, RankedItems, ToRank};
pub(crate) use report::Report;

use super::finite;
use jurybox::Interval;
use serde::Serialize;
use utoipa::ToSchema;

/// An interval around an estimate.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Estimate {
    mean: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl From<Interval> for Estimate {
    fn from(interval: Interval) -> Self {
        Estimate { mean: finite(interval.mean), low: finite(interval.low), high: finite(interval.high) }
    }
}

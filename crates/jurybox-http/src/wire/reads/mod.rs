//! Answer bodies of requests that only read a queue.

mod evaluators;
mod events;
mod items;
mod rank;
mod report;

pub(crate) use evaluators::EvaluatorList;
pub(crate) use events::EventPage;
pub(crate) use items::{Item, ItemDetail, ItemPage};
pub(crate) use rank::{PreviewAnswer, PreviewBody, RankBody, RankedItem, RankedItems};
pub(crate) use report::ReportAnswer;
pub use report::report_document;

use super::finite;
use jurybox::Interval;
use serde::Serialize;
use utoipa::ToSchema;

/// An estimate with the ends of its interval; null if unknown.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct IntervalEstimate {
    mean: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl From<Interval> for IntervalEstimate {
    fn from(interval: Interval) -> Self {
        IntervalEstimate {
            mean: finite(interval.mean),
            low: finite(interval.low),
            high: finite(interval.high),
        }
    }
}

//! The answer body with the finds of reviewers, the baselines, and an estimate of misses.

use super::IntervalEstimate;
use jurybox_server::QueueReport;
use serde::Serialize;
use utoipa::ToSchema;

/// The finds of reviewers, and an estimate of misses. Erased items are left out, except that
/// verdicts on them stay in the means of `picked` and `unclaimed`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReportAnswer {
    /// All items that arrived.
    items: u64,
    /// Items with a decisive verdict, without golden ones.
    reviewed: u64,
    /// The sum of their rewards. With rewards 0 and 1 it is the number of positive items.
    found: f64,
    /// The mean reward of items that were claimed for their value or due date. Random checks and
    /// golden items do not count. Items in `released` widen the interval to both ends of the scale,
    /// and `mean` is null.
    picked: CountedMean,
    /// How many claimed items came back without a decision: skipped, released, expired, closed by a
    /// rule, or waiting for another verdict.
    released: u64,
    /// How many golden items have a verdict. They count in `items` and nowhere else.
    golden: u64,
    /// The mean reward of items that were judged without a claim.
    unclaimed: CountedMean,
    /// The mean reward of all items, estimated from random checks (`random_check_rate`): what a
    /// random order would find.
    random: CountedMean,
    /// The mean reward of as many items picked by the plain average of their scores, estimated from
    /// random checks. `mean` is null if random checks were erased, or if items arrived while
    /// `random_check_rate` was 0.
    plain_mean: CountedMean,
    /// The sum of rewards of items without a decision, as a 95% interval estimated from random
    /// checks. Random checks without a decision widen it to both ends of the scale. Null if no
    /// random check is decided, or rewards have no scale.
    missed: Option<IntervalEstimate>,
    /// Why `missed`, `random` and `plain_mean` are null.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<&'static str>,
    /// The numbers of random checks.
    random_checks: RandomChecks,
    /// The range of rewards: the queue's scale (`reward`), else 0, 1 and all rewards given. Without
    /// a scale, nothing is estimated about items without a verdict.
    scale: RewardScale,
}

/// A mean, and the number of items it is of.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CountedMean {
    items: u64,
    /// The mean with a 95% interval; null without items. Without a scale of rewards, `low` and
    /// `high` are null.
    mean: Option<IntervalEstimate>,
}

/// The numbers of random checks, by state.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RandomChecks {
    items: u64,
    /// Decided by people.
    decided: u64,
    /// Waiting for a decision.
    waiting: u64,
    /// Closed without a decision by people.
    closed: u64,
    erased: u64,
}

/// The lowest and the highest reward.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RewardScale {
    low: f64,
    high: f64,
}

/// The report as JSON, as the API answers it, for callers without a server.
pub fn report_document(found: QueueReport) -> serde_json::Value {
    serde_json::json!(ReportAnswer::from(found))
}

impl From<QueueReport> for ReportAnswer {
    fn from(found: QueueReport) -> Self {
        let mean = |share: jurybox_server::RewardMean| CountedMean {
            items: share.items,
            mean: share.mean.map(Into::into),
        };
        let jurybox_server::RandomCheckCounts { items, decided, waiting, closed, erased } =
            found.random_checks;
        ReportAnswer {
            items: found.items,
            reviewed: found.reviewed,
            found: found.found,
            picked: mean(found.picked),
            released: found.released,
            golden: found.golden,
            unclaimed: mean(found.unclaimed),
            random: mean(found.random),
            plain_mean: mean(found.plain_mean),
            missed: found.missed.map(Into::into),
            unknown: found.unknown,
            random_checks: RandomChecks { items, decided, waiting, closed, erased },
            scale: RewardScale { low: found.scale.low, high: found.scale.high },
        }
    }
}

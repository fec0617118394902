//! The answer body of a queue's report: what reviewers found, baselines, and an estimate of misses.

use super::IntervalEstimate;
use jurybox_server::QueueReport;
use serde::Serialize;
use utoipa::ToSchema;

/// Found rewards, and an estimate of missed ones. Erased items are left out, except that
/// verdicts on them count in the means of `picked` and `unclaimed`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReportAnswer {
    /// All items that arrived and were not erased.
    items: u64,
    /// Items that people have decided, without golden ones (test questions with a known answer).
    reviewed: u64,
    /// The sum of the rewards of `reviewed`. With rewards 0 and 1 it is the number of positive
    /// items.
    found: f64,
    /// The mean reward of items that were claimed for their value or due date, without random
    /// checks and golden items. If `released` is not 0, only the ends of the interval are known:
    /// they allow for any reward of the released items.
    picked: CountedMean,
    /// How many claimed items, without random checks and golden items, came back without a
    /// decision: skipped, released, expired, closed without a person's verdict, or waiting for
    /// another verdict.
    released: u64,
    /// How many golden items people have decided. Elsewhere, golden items count in `items` only.
    golden: u64,
    /// The mean reward of items that people decided without a claim. Random checks are left out.
    unclaimed: CountedMean,
    /// The mean reward of all items, estimated from random checks (`random_check_rate`): what a
    /// random order would find.
    random: CountedMean,
    /// The mean reward of as many items as were picked, if the plain average of the scores had
    /// picked them. Estimated from random checks; if these do not settle the mean, only its
    /// interval is given.
    plain_mean: CountedMean,
    /// The sum of rewards of items without a decision, as a 95% interval estimated from random
    /// checks. Null if no random check is decided, or rewards have no scale.
    missed: Option<IntervalEstimate>,
    /// Why estimates from random checks are null. Absent if they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<&'static str>,
    /// The numbers of random checks.
    random_checks: RandomChecks,
    /// The range of rewards: the queue's scale (`reward`), or else 0 to 1 extended by all rewards
    /// given. Without a scale, nothing is estimated about items without a verdict.
    scale: RewardScale,
}

/// The mean reward of some items, and their number.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CountedMean {
    items: u64,
    /// The mean with a 95% interval; null if it cannot be estimated. Without a scale of rewards,
    /// `low` and `high` are null.
    mean: Option<IntervalEstimate>,
}

/// The numbers of random checks, in all and by state.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RandomChecks {
    items: u64,
    /// Random checks decided by people.
    decided: u64,
    /// Open random checks without a decision.
    waiting: u64,
    /// Random checks closed without a decision by people.
    closed: u64,
    erased: u64,
}

/// The lowest and the highest reward.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RewardScale {
    low: f64,
    high: f64,
}

/// The report as the JSON that the API answers, for callers without a server.
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

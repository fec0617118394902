//! What was found, and what may have been missed.

use super::IntervalEstimate;
use jurybox_server::Found;
use serde::Serialize;
use utoipa::ToSchema;

/// What was found, and what may have been missed. Erased items are left out, save that what was decided on them stands in the means of `picked` and
/// `unasked`, and that the others may have been worth anything.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueueReport {
    /// Items that came in.
    items: u64,
    /// Items that people have decided, golden ones aside.
    reviewed: u64,
    /// The sum of what they were found to be worth.
    found: f64,
    /// The mean worth of the items that were given out for their value or their date, not drawn and not golden. Those that came back undecided
    /// (`given_back`) count at the worst they could be worth, at each end, and then `mean` is null: people may have judged the better ones.
    picked: CountedMean,
    /// How many of those came back undecided: skipped, given back, held until the lease ran out, closed by a rule, or waiting for a further verdict.
    released: u64,
    /// How many golden items people have decided: what they are was known before, and is not caught. They are apart from all other figures but `items`.
    golden: u64,
    /// The mean worth of those that people decided without having been given them.
    unclaimed: CountedMean,
    /// The mean worth of all items by those that were drawn on arrival (`audit_rate`): what random picks would find.
    random: CountedMean,
    /// The mean worth of what the plain mean of the scores would have picked, as many as were picked, by drawn items like those that could be
    /// picked. Where drawn items were erased, or items came while nothing was drawn, these may be among them, worth anything: then `mean` is null.
    plain_mean: CountedMean,
    /// What those items are worth together that nobody has decided, by those that were drawn: an interval of 95 %. A drawn item that is not
    /// decided counts at the worst it could be worth, at each end. Null where nothing drawn is decided, or rewards have no scale.
    missed: Option<IntervalEstimate>,
    /// Why `missed` is null, and with it what is said of random picks and the plain mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<&'static str>,
    /// What became of the items that were drawn.
    random_checks: RandomChecks,
    /// What rewards lie within: the queue's scale (`reward`), or else 0 and 1 and whatever else was given; then nothing is said of items that nobody has looked at.
    scale: RewardScale,
}

/// A mean over so many items.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CountedMean {
    items: u64,
    /// With an interval of 95 %; null where there are none. Where rewards have no scale, `low` and `high` are null: it is the mean of what
    /// was seen, and of nothing else.
    mean: Option<IntervalEstimate>,
}

/// What became of the items that were drawn on arrival.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RandomChecks {
    items: u64,
    /// By people.
    decided: u64,
    /// For somebody to decide them.
    waiting: u64,
    /// Without having been decided by people.
    closed: u64,
    erased: u64,
}

/// The lowest and the highest reward.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RewardScale {
    low: f64,
    high: f64,
}

/// What was found, as the API says it: for whoever has no server to ask.
pub fn report_document(found: Found) -> serde_json::Value {
    serde_json::json!(QueueReport::from(found))
}

impl From<Found> for QueueReport {
    fn from(found: Found) -> Self {
        let mean =
            |share: jurybox_server::Share| CountedMean { items: share.items, mean: share.mean.map(Into::into) };
        let jurybox_server::Drawn { items, decided, waiting, closed, erased } = found.drawn;
        QueueReport {
            items: found.items,
            reviewed: found.looked_at,
            found: found.caught,
            picked: mean(found.picked),
            released: found.given_back,
            golden: found.golden,
            unclaimed: mean(found.unasked),
            random: mean(found.random),
            plain_mean: mean(found.plain_mean),
            missed: found.missed.map(Into::into),
            unknown: found.unknown,
            random_checks: RandomChecks { items, decided, waiting, closed, erased },
            scale: RewardScale { low: found.scale.low, high: found.scale.high },
        }
    }
}

//! What a queue has found, and what it may have missed: from what was decided, and from the items that were drawn on arrival.

mod builder;

pub(super) use self::builder::clamped;
pub use self::builder::mean_of;

use self::builder::{ReportBuilder, ReportItem};
use super::setup_history::SetupHistory;
use super::sample::RewardBounds;
use crate::Error;
use crate::service::Queue;
use crate::store::{LogHead, Store};
use jurybox::Interval;
use std::collections::HashSet;

/// What a queue has found. Erased items are left out, save that what was decided on them stands in the mean of the picks, and that the
/// others may have been worth anything.
#[derive(Debug, Clone)]
pub struct QueueReport {
    /// Items that came in.
    pub items: u64,
    /// Items that people have decided, golden ones aside: what those are was known before.
    pub reviewed: u64,
    /// The sum of what they were found to be worth.
    pub found: f64,
    /// The mean worth of the items that were given out for their value or their date, not drawn, and not golden. Those that came back undecided
    /// count at the worst they could be worth, at each end, and leave no single number: people may have judged the better ones. Without a
    /// scale it is the mean of what was seen and no more: its ends are NaN, as with `unclaimed`.
    pub picked: RewardMean,
    /// How many of those came back undecided: they were skipped, given back, held until the lease ran out, closed without a person's
    /// decision, or wait for a further verdict.
    pub released: u64,
    /// How many golden ones people have decided. They are aside from all that follows, too.
    pub golden: u64,
    /// The mean worth of those that people decided without having been given them.
    pub unclaimed: RewardMean,
    /// The mean worth of all items by those that were drawn on arrival: what random picks would find. As with `missed`, the interval holds
    /// at every moment at once, and there is not always a single number.
    pub random: RewardMean,
    /// The mean worth of the drawn items that the plain mean of the scores would have picked, as large a share of all as was picked here.
    pub plain_mean: RewardMean,
    /// What those items are worth together that nobody has decided, golden ones aside: an interval of 95 %, at every moment at once, so that it can be looked
    /// at all day. Its mean is NaN where people have not decided all drawn items (those that they have may be the better ones), or items
    /// came in while nothing was drawn: the ends allow for that, and a single number cannot.
    pub missed: Option<Interval>,
    /// Why nothing is said of what was missed, nor of what random picks would find.
    pub unknown: Option<&'static str>,
    /// What became of the items that were drawn.
    pub random_checks: RandomCheckCounts,
    /// What rewards lie within: the queue's scale, or else 0 and 1 and whatever else was given; then nothing is said of what nobody has
    /// looked at.
    pub scale: RewardBounds,
}

impl QueueReport {
    /// Where rewards have no scale, what nobody has looked at may be worth anything, such as a hundred times what was seen so far: nothing
    /// is said of it. What was seen has its mean, and no interval either: the next pick may be worth anything too.
    fn without_scale(mut self) -> Self {
        (self.random.mean, self.plain_mean.mean, self.missed) = (None, None, None);
        for share in [&mut self.picked, &mut self.unclaimed] {
            let seen = Interval { mean: share.sum / share.items as f64, low: f64::NAN, high: f64::NAN };
            share.mean = share.mean.map(|_| seen);
        }
        let why = "rewards have no scale, and what nobody has looked at may be worth anything: set `reward` (`--reward-scale`), such as from 0 to 1";
        self.unknown = self.unknown.or(Some(why));
        self
    }
}

/// A mean over so many items, with an interval of 95 %.
#[derive(Debug, Clone, Copy, Default)]
pub struct RewardMean {
    /// Of how many.
    pub items: u64,
    /// What those are worth together.
    pub sum: f64,
    /// The mean; none where there is nothing to take it from.
    pub mean: Option<Interval>,
}

/// What became of the items that were drawn on arrival.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RandomCheckCounts {
    /// How many there are.
    pub items: u64,
    /// How many people have decided.
    pub decided: u64,
    /// How many wait for that.
    pub waiting: u64,
    /// How many were closed without that.
    pub closed: u64,
    /// How many were erased.
    pub erased: u64,
}

/// What was last found: up to which entry, and until when it is so if nothing happens.
#[derive(Debug)]
pub(crate) struct CachedReport {
    seq: u64,
    until: i64,
    found: QueueReport,
}

impl Queue {
    /// What has been found, against what picking otherwise would have.
    pub fn report(&self) -> Result<QueueReport, Error> {
        // One at a time, however many ask; and while nothing happens, nothing else can have been found.
        let mut last = self.last_found();
        let (_place, mut store) = self.long_read()?;
        let queue = self.number();
        // All of it as it is at one moment.
        let head = store.begin_reading(queue)?;
        if let Some(last) = &*last
            && last.seq == head.seq
            && head.now < last.until
        {
            store.rollback();
            return Ok(last.found.clone());
        }
        let read = read(store.as_mut(), queue, &head);
        store.rollback();
        let (found, until) = read?;
        *last = Some(CachedReport { seq: head.seq, until, found: found.clone() });
        Ok(found)
    }
}

/// What a queue has found, all of it as it is at one moment.
pub(crate) fn queue_report(store: &mut dyn Store, queue: i64) -> Result<QueueReport, Error> {
    let head = store.begin_reading(queue)?;
    let found = read(store, queue, &head);
    store.rollback();
    Ok(found?.0)
}

/// What was found, and until when that is so if nothing happens: then the next lease runs out.
fn read(store: &mut dyn Store, queue: i64, head: &LogHead) -> Result<(QueueReport, i64), Error> {
    let (head, at) = (head.seq, head.at.max(head.now));
    let (history, config) = crate::store::set_up(store, queue, head)?;
    let past = SetupHistory::read(store, queue, head)?;
    let arrivals = store.arrivals(queue)?;
    let under_rates: Vec<_> = arrivals.iter().map(|arrivals| past.under_a_rate(arrivals)).collect();
    let mut gathered = ReportBuilder::of(&under_rates);
    gathered.golden = arrivals.iter().map(|arrivals| arrivals.golden_kept).sum();
    if let Some(scale) = &config.reward {
        gathered.scale = RewardBounds { low: scale.lowest, high: scale.highest };
    }
    gathered.released = store.released(queue, at)?;
    let mut until = i64::MAX;
    for held in store.leases(queue)?.into_iter().filter(|held| held.lease.until > at) {
        until = until.min(held.lease.until);
        gathered.in_hand.insert(held.n);
    }
    let asked: HashSet<u64> = store.asked_before(queue)?.into_iter().collect();
    let mut last: Option<ReportItem> = None;
    store.reviewed(queue, &mut |item, said| {
        if last.as_ref().is_none_or(|seen| seen.n != item.n)
            && let Some(seen) = last.replace(ReportItem::of(item, &history, head, &asked, &past))
        {
            gathered.take(seen);
        }
        if let (Some(seen), Some(said)) = (&mut last, said) {
            if config.reward.is_none() {
                gathered.scale.take_in(said.reward);
            }
            seen.hear(said);
        }
        Ok(())
    })?;
    if let Some(seen) = last {
        gathered.take(seen);
    }
    let found = gathered.report(&config.evaluators);
    Ok((if config.reward.is_some() { found } else { found.without_scale() }, until))
}

#[cfg(test)]
mod tests;

//! The report of a queue: found rewards, and estimates of missed ones, from verdicts and
//! random checks.

mod builder;

pub(super) use self::builder::clamped;
pub use self::builder::mean_of;

use self::builder::{ReportBuilder, ReportItem};
use super::sample::RewardBounds;
use super::setup_history::SetupHistory;
use crate::Error;
use crate::service::Queue;
use crate::store::{LogHead, Store};
use jurybox::Interval;
use std::collections::HashSet;

/// What a queue has found. `items`, `reviewed`, `found` and `missed` leave erased items out.
/// Decisions on erased items count in `picked` and `unclaimed`; undecided erased items widen the
/// intervals.
#[derive(Debug, Clone)]
pub struct QueueReport {
    /// Items that were added and not erased.
    pub items: u64,
    /// Items that people have decided, except golden ones, whose reward was known before.
    pub reviewed: u64,
    /// The sum of the rewards of the `reviewed` items.
    pub found: f64,
    /// The mean reward of the items that people decided after a claim, without random checks and
    /// golden items. `released` items count at the worst for each end, and leave no mean (NaN),
    /// because people may have judged the better ones. Without a reward scale, this and `unclaimed`
    /// are the mean of decided items, and the ends are NaN.
    pub picked: RewardMean,
    /// Claimed items that came back undecided, without random checks and golden items: skipped,
    /// released, expired, closed without a person's decision, or waiting for another verdict.
    pub released: u64,
    /// Golden items that people have decided. Of the other fields, only `items` counts golden
    /// items.
    pub golden: u64,
    /// The mean reward of the items that people decided without a claim, without random checks.
    pub unclaimed: RewardMean,
    /// The mean reward of all items, estimated from random checks: what random picks would find. As
    /// for `missed`, its interval holds at all times at once, and its mean may be NaN.
    pub random: RewardMean,
    /// The mean reward of the random checks that a plain mean of the scores would have picked, at
    /// the same share of picked items.
    pub plain_mean: RewardMean,
    /// The total reward of all undecided items except golden ones. Its 95% interval holds at all
    /// times at once (a confidence sequence), so that it may be looked at again and again. The mean
    /// is NaN if people have not decided all random checks, or if some items arrived at a rate
    /// without decided ones. The ends allow for both.
    pub missed: Option<Interval>,
    /// Why `missed` and `random` are unknown.
    pub unknown: Option<&'static str>,
    /// The states of the random checks.
    pub random_checks: RandomCheckCounts,
    /// The range of rewards: the queue's scale, or else 0 to 1 extended by the rewards seen.
    /// Without a scale nothing is said about undecided items.
    pub scale: RewardBounds,
}

impl QueueReport {
    /// Removes all estimates for undecided items, and the intervals of decided ones: without a
    /// reward scale, an undecided item may have any reward.
    fn without_scale(mut self) -> Self {
        (self.random.mean, self.plain_mean.mean, self.missed) = (None, None, None);
        for share in [&mut self.picked, &mut self.unclaimed] {
            let seen = Interval { mean: share.sum / share.items as f64, low: f64::NAN, high: f64::NAN };
            share.mean = share.mean.map(|_| seen);
        }
        let why = "rewards have no scale, so that unreviewed items may have any reward: set `reward` (`--reward-scale`), such as from 0 to 1";
        self.unknown = self.unknown.or(Some(why));
        self
    }
}

/// A mean reward with its 95% interval.
#[derive(Debug, Clone, Copy, Default)]
pub struct RewardMean {
    /// The number of items.
    pub items: u64,
    /// The sum of the items' rewards.
    pub sum: f64,
    /// The mean; None if it is unknown, such as without items.
    pub mean: Option<Interval>,
}

/// The states of the items that were chosen for a random check on arrival.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RandomCheckCounts {
    /// All items that were chosen.
    pub items: u64,
    /// Decided by people.
    pub decided: u64,
    /// Open and undecided.
    pub waiting: u64,
    /// Closed undecided.
    pub closed: u64,
    /// Erased, even if people had decided them before.
    pub erased: u64,
}

/// The last report, the entry it covers, and when it changes without a new entry, in microseconds
/// since 1970.
#[derive(Debug)]
pub(crate) struct CachedReport {
    seq: u64,
    until: i64,
    found: QueueReport,
}

impl Queue {
    /// What has been found, compared with random picks and a plain mean.
    pub fn report(&self) -> Result<QueueReport, Error> {
        // One report at a time: a caller that waited can use the last report if nothing has
        // changed.
        let mut last = self.last_found();
        let (_place, mut store) = self.long_read()?;
        let queue = self.number();
        // The whole report is read from one snapshot.
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

/// The report on one snapshot of the database.
pub(crate) fn queue_report(store: &mut dyn Store, queue: i64) -> Result<QueueReport, Error> {
    let head = store.begin_reading(queue)?;
    let found = read(store, queue, &head);
    store.rollback();
    Ok(found?.0)
}

/// The report, and the time when the next lease expires, which changes it without a new entry.
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

//! The snapshot of a queue that its pages are drawn from, which is cached for some seconds, and the
//! statistics computed from it.

use super::activity::{is_routine, read_back};
use super::error_correlation::{ENOUGH, ErrorCorrelations};
use super::wording::Wording;
use crate::app::App;
use crate::handlers::read_queue;
use crate::problem::Problem;
use jurybox::{Direction, Interval, Standing};
use jurybox_server::{
    ActivityEntry, Config, DriftIncident, Error, EvaluatorInfluence, EvaluatorSummary, ExplainedItem, Filter,
    ItemCounts, Queue, QueueReport, RecentVerdict, RewardBounds, SkippedItem, VerdictSource, Workload,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// How many of the latest verdicts are read.
const VERDICTS: u64 = 20_000;
/// How many of the latest arrivals are read.
const ARRIVALS: u64 = 10_000;
/// How many entries of the activity log are shown.
const ENTRIES: usize = 12;
/// The most of the best items that are shown with their contributions.
const BEST: usize = 12;

/// A second in microseconds.
pub(super) const SECOND: i64 = 1_000_000;
/// A minute in microseconds.
pub(super) const MINUTE: i64 = 60 * SECOND;
/// A day in microseconds.
pub(super) const DAY: i64 = 86_400 * SECOND;

/// The state of a queue at one moment.
pub(super) struct QueueSnapshot {
    /// When the snapshot was read, in microseconds since 1970.
    pub(super) now: i64,
    /// The number of the last log entry.
    pub(super) head: u64,
    /// The ranking model, named by the last log entry that it learnt from.
    pub(super) model: u64,
    pub(super) config: Config,
    pub(super) counts: ItemCounts,
    pub(super) workload: Workload,
    /// The number of items that arrived lately, and in how many microseconds: an hour, or less for
    /// a newer queue. None if no item ever arrived.
    pub(super) inflow: Option<(f64, i64)>,
    /// The latest verdicts, oldest first.
    pub(super) verdicts: Vec<RecentVerdict>,
    pub(super) skips: Vec<SkippedItem>,
    pub(super) report: QueueReport,
    /// Empty until the queue is ranked for the first time.
    pub(super) evaluators: Vec<EvaluatorSummary>,
    /// Detected changes of evaluators, newest first, including past ones.
    pub(super) changes: Vec<DriftIncident>,
    /// Diagnostics of the fit, in words.
    pub(super) diagnostics: Vec<String>,
    /// Severity and noise of the reviewers, if the policy learns them.
    pub(super) reviewers: Vec<Standing>,
    /// Confirmed changes in the verdicts.
    pub(super) verdict_changes: Vec<jurybox::Alarm>,
    pub(super) learnt_from: u64,
    pub(super) best: Vec<ExplainedItem>,
    pub(super) activity: Vec<ActivityEntry>,
    pub(super) influence: Vec<EvaluatorInfluence>,
    /// Correlations of the evaluators' errors, from random checks alone: in items picked by scores,
    /// errors look less correlated than they are. None with too few random checks.
    pub(super) errors: Option<ErrorCorrelations>,
}

/// A queue's snapshot and the time it shows, from the cache if that is recent enough.
pub(super) async fn snapshot(app: &App, queue: &str) -> Result<(Arc<QueueSnapshot>, i64), Problem> {
    let now = read_queue(app, queue, Queue::status).await?;
    let marks = (now.head, now.model);
    if let Some(snapshot) = app.0.watch.seen(queue, marks) {
        return Ok(snapshot);
    }
    let _turn = app.0.reports.acquire().await;
    if let Some(snapshot) = app.0.watch.seen(queue, marks) {
        return Ok(snapshot);
    }
    let (began, trust) = (Instant::now(), app.0.watch.trust(queue));
    let snapshot = Arc::new(read_queue(app, queue, |found| QueueSnapshot::read(found, trust)).await?);
    app.0.watch.note(queue, &snapshot, began.elapsed());
    let as_of = snapshot.now;
    Ok((snapshot, as_of))
}

impl QueueSnapshot {
    fn read(queue: &Queue, trust: Vec<EvaluatorInfluence>) -> Result<QueueSnapshot, Error> {
        let now = super::format::now();
        let standing = queue.status()?;
        let (worked, skipped) = queue.recent_verdicts(VERDICTS)?;
        let pulse = queue.workload(now + DAY, now + MINUTE)?;
        let model = queue.model().ok();
        let evaluated =
            model.as_ref().map(|model| queue.evaluator_summaries(model)).transpose()?.unwrap_or_default();
        let noticed =
            model.as_ref().map(|model| queue.drift_incidents(model)).transpose()?.unwrap_or_default();
        let (_, ranked) =
            queue.ranked_items(Filter::default(), 0, (standing.config.k as usize).clamp(10, BEST))?;
        let mut best = Vec::new();
        for item in ranked {
            best.extend(queue.explain_item(&item.id)?);
        }
        let happened = read_back(queue, standing.head, ENTRIES, |kind| !is_routine(kind))?.0;
        let mut snapshot = QueueSnapshot {
            now,
            head: standing.head,
            model: standing.model,
            config: standing.config,
            counts: standing.counts,
            inflow: inflow(&queue.arrivals(ARRIVALS)?, pulse.since, now),
            workload: pulse,
            verdicts: worked,
            skips: skipped,
            report: queue.report()?,
            evaluators: evaluated,
            changes: noticed,
            reviewers: model.as_ref().map(jurybox_server::RankingModel::reviewers).unwrap_or_default(),
            verdict_changes: model
                .iter()
                .flat_map(jurybox_server::RankingModel::redefined)
                .cloned()
                .collect(),
            diagnostics: model.as_ref().map(jurybox_server::RankingModel::diagnostics).unwrap_or_default(),
            learnt_from: model.map_or(0, |model| model.seen.used),
            best,
            activity: happened,
            influence: trust,
            errors: None,
        };
        snapshot.errors = ErrorCorrelations::of(&snapshot.lessons(true), snapshot.config.evaluators.len());
        Ok(snapshot)
    }

    /// How the queue's pages name its verdicts.
    pub(super) fn wording(&self) -> Wording {
        Wording::of(&self.config, self.verdicts.iter().filter_map(|work| work.decides))
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.config.evaluators.names().map(String::from).collect()
    }

    /// The verdicts by people, appeals included.
    pub(super) fn by_people(&self) -> impl Iterator<Item = &RecentVerdict> {
        self.verdicts.iter().filter(|work| work.source != VerdictSource::Automatic)
    }

    /// The time of the earliest verdict read, if there may be earlier ones that were not read.
    pub(super) fn looked_since(&self) -> Option<i64> {
        (self.verdicts.len() as u64 >= VERDICTS)
            .then(|| self.verdicts.first().map_or(self.now, |work| work.at))
    }

    /// The time since which all verdicts are read: the queue's creation, or the earliest verdict
    /// read.
    pub(super) fn whole_since(&self) -> i64 {
        self.looked_since().unwrap_or(self.workload.since)
    }

    /// For each verdict on a claimed item: its time, and how many seconds it took.
    pub(super) fn delays(&self) -> Vec<(i64, f64)> {
        delays(self.by_people(), &self.skips)
    }

    /// A lower bound of how many times as much is found per item as the plain average of the scores
    /// would find: the low end of the found mean's interval over the high end of the average's
    /// interval. None unless it is more than 1.
    pub(super) fn times_plain_mean(&self) -> Option<f64> {
        let (ours, plain) = (self.report.picked.mean?, self.report.plain_mean.mean?);
        (plain.high > 0.0 && ours.low > plain.high).then(|| ours.low / plain.high)
    }

    /// For each item decided by people: the verdict that decided it first, and the item's current
    /// reward.
    fn decided(&self) -> Vec<(&RecentVerdict, f64)> {
        let mut last: HashMap<u64, f64> = HashMap::new();
        let mut first: Vec<&RecentVerdict> = Vec::new();
        for (work, reward) in self.by_people().filter_map(|work| Some((work, work.decides?))) {
            if last.insert(work.n, reward).is_none() {
                first.push(work);
            }
        }
        first.into_iter().map(|work| (work, last[&work.n])).collect()
    }

    /// The time and the reward of each decided item that was claimed for its value or due date,
    /// without random checks and golden items.
    pub(super) fn picked(&self) -> Vec<(i64, f64)> {
        let golden = |work: &RecentVerdict| work.tags.contains_key(jurybox_server::GOLDEN);
        let picked = |work: &RecentVerdict| work.claimed.is_some() && !work.explored && !golden(work);
        let decided = self.decided().into_iter();
        decided.filter(|(work, _)| picked(work)).map(|(work, reward)| (work.at, reward)).collect()
    }

    /// The lowest and the highest reward: of the queue's scale, or else of 0, 1 and the rewards of
    /// decided items.
    pub(super) fn scale(&self) -> (f64, f64) {
        if let Some(scale) = self.config.reward.as_ref().filter(|scale| scale.lowest < scale.highest) {
            return (scale.lowest, scale.highest);
        }
        let rewards = self.verdicts.iter().filter_map(|work| work.decides);
        rewards.fold((0.0, 1.0), |(low, high), reward| (f64::min(low, reward), f64::max(high, reward)))
    }

    /// Two shares of the queue's scale as an interval of rewards without a mean.
    pub(super) fn on_scale(&self, low: f64, high: f64) -> Interval {
        let (least, most) = self.scale();
        let place = |share: f64| least + share * (most - least);
        Interval { mean: f64::NAN, low: place(low), high: place(high) }
    }

    /// When an evaluator's last change was certainly over, in microseconds since 1970; None if it
    /// has not changed.
    pub(super) fn changed(&self, evaluator: usize) -> Option<i64> {
        let alarms = self.evaluators.get(evaluator).map(|of| of.alarms.iter()).into_iter().flatten();
        alarms.map(|alarm| alarm.until.cast_signed().saturating_mul(SECOND)).max()
    }

    /// The scores and rewards of decided items; if `drawn`, of random checks only. Scores for which
    /// low is good are negated. Scores from before an evaluator's change are NaN.
    pub(super) fn lessons(&self, drawn: bool) -> Vec<(Vec<f64>, f64)> {
        let signs: Vec<f64> = self
            .config
            .evaluators
            .as_slice()
            .iter()
            .map(|evaluator| if evaluator.direction == Direction::Low { -1.0 } else { 1.0 })
            .collect();
        let changed: Vec<Option<i64>> = (0..signs.len()).map(|j| self.changed(j)).collect();
        self.decided()
            .into_iter()
            .filter(|(work, _)| work.scores.len() == signs.len() && (work.random_check.is_some() || !drawn))
            .map(|(work, reward)| {
                let score = |((score, sign), changed): ((&f64, &f64), &Option<i64>)| {
                    if changed.is_some_and(|changed| work.arrived < changed) {
                        f64::NAN
                    } else {
                        score * sign
                    }
                };
                (work.scores.iter().zip(&signs).zip(&changed).map(score).collect(), reward)
            })
            .collect()
    }
}

/// The time of each verdict on a claimed item, and the seconds it took. They count from the claim,
/// or from the reviewer's previous verdict or skip if that is later, because the next item is
/// claimed in advance. Verdicts of one reviewer at the same moment took equally long.
fn delays<'a>(all: impl Iterator<Item = &'a RecentVerdict>, skipped: &'a [SkippedItem]) -> Vec<(i64, f64)> {
    let mut done: Vec<(i64, &str, Option<&RecentVerdict>)> =
        skipped.iter().map(|skip| (skip.at, skip.reviewer.as_str(), None)).collect();
    done.extend(all.map(|work| (work.at, work.reviewer.as_str(), Some(work))));
    done.sort_by_key(|(at, ..)| *at);
    // By reviewer: the times of the last action, and of the last one at an earlier time.
    let mut last: HashMap<&str, (i64, i64)> = HashMap::new();
    let mut took = Vec::new();
    for (at, reviewer, work) in done {
        let (was, before) = last.get(reviewer).copied().unwrap_or((i64::MIN, i64::MIN));
        let before = if was < at { was } else { before };
        last.insert(reviewer, (at, before));
        let claimed = work.and_then(|work| work.claimed);
        took.extend(claimed.map(|claimed| (at, (at - claimed.max(before)) as f64 / SECOND as f64)));
    }
    took
}

/// The number of arrivals in the last hour, or since the queue was created if that is later, and
/// that length of time. If only more recent arrivals were read, their rate is extrapolated.
fn inflow(arrivals: &[i64], made: i64, now: i64) -> Option<(f64, i64)> {
    let hour = 60 * MINUTE;
    let length = hour.min(now - made).max(SECOND);
    let recent = arrivals.iter().filter(|at| now - **at < length).count();
    if recent < arrivals.len() || arrivals.len() < ARRIVALS as usize {
        return (!arrivals.is_empty()).then_some((recent as f64, length));
    }
    let since = (now - arrivals.last()?).max(SECOND);
    Some((recent as f64 * length as f64 / since as f64, length))
}

/// The value at the place `share` (0 to 1) of the sorted values, rounded to the nearest. None
/// without values.
pub(super) fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some(values[(share * last as f64).round() as usize])
}

/// Equal stretches of time, with what fell into each. Only whole stretches are kept, because one
/// that is cut off would look like a drop.
pub(super) struct TimeBins<T> {
    pub(super) length: i64,
    /// The start of each stretch, and its contents.
    pub(super) each: Vec<(i64, Vec<T>)>,
}

impl<T> TimeBins<T> {
    /// The middle of each stretch on a time axis that ends now, and the axis label.
    pub(super) fn places(&self, now: i64) -> (Vec<f64>, &'static str) {
        let first = self.each.first().map_or(now, |(at, _)| *at);
        let (unit, label) = unit(now - first);
        (self.each.iter().map(|(at, _)| (at + self.length / 2 - now) as f64 / unit).collect(), label)
    }

    /// The number of stretches that are not empty.
    pub(super) fn filled(&self) -> usize {
        self.each.iter().filter(|(_, all)| !all.is_empty()).count()
    }

    /// At most `most` stretches, from `since` or the earliest of the times, whichever is later.
    /// Their length is round, from 2 seconds to a week, unless that is too short.
    pub(super) fn of(
        times: impl IntoIterator<Item = (i64, T)>,
        since: i64,
        now: i64,
        most: i64,
    ) -> TimeBins<T> {
        let times: Vec<(i64, T)> = times.into_iter().collect();
        let first = times.iter().map(|(at, _)| *at).min().unwrap_or(now).clamp(since.min(now), now);
        let lengths = [2, 5, 10, 30, 60, 300, 900, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600]
            .map(|seconds| seconds * SECOND);
        let fits = |length: &&i64| (now - first) / **length < most;
        let length = lengths.iter().find(fits).copied().unwrap_or_else(|| (now - first) / most + 1);
        // From the first stretch that begins at or after `since` to the last one that is over.
        let begin = (first - first.rem_euclid(length)).max(since + (-since).rem_euclid(length));
        let many = ((now - begin) / length).max(0);
        let mut each: Vec<(i64, Vec<T>)> = (0..many).map(|at| (begin + at * length, Vec::new())).collect();
        for (at, what) in times {
            let place = usize::try_from((at - begin).div_euclid(length)).ok();
            if let Some((_, all)) = place.and_then(|place| each.get_mut(place)) {
                all.push(what);
            }
        }
        TimeBins { length, each }
    }
}

/// The unit for times up to now, in microseconds, and the axis label.
pub(super) fn unit(since: i64) -> (f64, &'static str) {
    let (unit, label) = match since {
        since if since < 3 * MINUTE => (SECOND, "seconds, until now"),
        since if since < 180 * MINUTE => (MINUTE, "minutes, until now"),
        since if since < 3 * DAY => (60 * MINUTE, "hours, until now"),
        _ => (DAY, "days, until now"),
    };
    (unit as f64, label)
}

/// The mean of `many` values from 0 to 1, with its 95% Wilson score interval. The interval has a
/// width even if all values are equal. It is conservative if some values are neither 0 nor 1.
pub(super) fn wilson(mean: f64, many: f64) -> Interval {
    const Z: f64 = 1.959_964;
    let (square, middle) = (Z * Z / many, mean + Z * Z / many / 2.0);
    let half = Z * (mean * (1.0 - mean) / many + square / many / 4.0).max(0.0).sqrt();
    let end = |sign: f64| ((middle + sign * half) / (1.0 + square)).clamp(0.0, 1.0);
    Interval { mean, low: end(-1.0), high: end(1.0) }
}

/// The mean reward on a scale with its 95% interval, by the method of the queue's report. NaN
/// without rewards.
pub(super) fn mean_within(rewards: &[f64], (low, high): (f64, f64)) -> Interval {
    let none = Interval { mean: f64::NAN, low: f64::NAN, high: f64::NAN };
    jurybox_server::mean_of(rewards, RewardBounds { low, high }).unwrap_or(none)
}

/// The average reward by an evaluator's score, for a reliability diagram. The sorted scores are
/// divided into groups of equal size (the last may be smaller), each with its mean score and mean
/// reward. Empty with fewer than 30 scores.
pub(super) fn reliability(
    lessons: &[(Vec<f64>, f64)],
    j: usize,
    groups: usize,
    scale: (f64, f64),
) -> Vec<(f64, Interval)> {
    let mut pairs: Vec<(f64, f64)> =
        lessons.iter().map(|(row, reward)| (row[j], *reward)).filter(|(score, _)| !score.is_nan()).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let size = pairs.len().div_ceil(groups.max(1)).max(1);
    let group = |pairs: &[(f64, f64)]| {
        let score = pairs.iter().map(|(score, _)| score).sum::<f64>() / pairs.len() as f64;
        let rewards: Vec<f64> = pairs.iter().map(|(_, reward)| *reward).collect();
        (score, mean_within(&rewards, scale))
    };
    if pairs.len() < ENOUGH { Vec::new() } else { pairs.chunks(size).map(group).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_make_a_rate() {
        let now = 10 * DAY;
        let hour = 60 * MINUTE;
        assert_eq!(inflow(&[], 0, now), None);
        assert_eq!(inflow(&[now - MINUTE, now - 2 * MINUTE, now - DAY], 0, now), Some((2.0, hour)));
        // The arrivals of ten minutes are not extrapolated to an hour.
        assert_eq!(
            inflow(&[now - MINUTE, now - 2 * MINUTE], now - 10 * MINUTE, now),
            Some((2.0, 10 * MINUTE))
        );
        // As many arrivals as are read, all within half an hour: an hour has twice as many.
        let many: Vec<i64> = (0..ARRIVALS.cast_signed())
            .map(|at| now - 30 * MINUTE * at / (ARRIVALS.cast_signed() - 1))
            .collect();
        let (rate, length) = inflow(&many, 0, now).unwrap();
        assert!((rate - 2.0 * ARRIVALS as f64).abs() < 1.0 && length == hour, "{rate}");
    }

    /// Ann holds two items, the current and the next one. The time that she spends on the first
    /// does not count for the second.
    #[test]
    fn a_verdict_took_as_long_as_its_item_was_on_top() {
        let work = |at: i64, claimed: i64, reviewer: &str| RecentVerdict {
            at: at * SECOND,
            claimed: Some(claimed * SECOND),
            arrived: 0,
            n: 1,
            reviewer: reviewer.into(),
            source: VerdictSource::Reviewer,
            label: None,
            reward: 1.0,
            decides: None,
            explored: false,
            random_check: None,
            seen: false,
            scores: Vec::new(),
            tags: [].into(),
        };
        let skip = SkippedItem { at: 130 * SECOND, reviewer: "ann".into(), reason: String::new() };
        let all = [
            work(110, 100, "ann"),
            work(115, 100, "ann"),
            work(116, 100, "bob"),
            work(133, 110, "ann"),
            // A program sends several verdicts at once.
            work(153, 140, "ann"),
            work(153, 140, "ann"),
        ];
        let took: Vec<f64> = delays(all.iter(), &[skip]).into_iter().map(|(_, took)| took).collect();
        assert_eq!(took, [10.0, 5.0, 16.0, 3.0, 13.0, 13.0]);
    }

    /// With one verdict a second, every stretch has equally many, at whatever time the page is
    /// opened.
    #[test]
    fn only_whole_stretches_are_drawn() {
        let made = 100 * DAY + 7 * SECOND;
        for lived in [40, 41, 43, 59, 133, 600, 5000] {
            let now = made + lived * SECOND;
            let bins = TimeBins::of((0..lived).map(|at| (made + at * SECOND, ())), made, now, 24);
            let per = usize::try_from(bins.length / SECOND).unwrap();
            assert!((6..=24).contains(&bins.each.len()), "{lived}: {}", bins.each.len());
            assert!(bins.each.iter().all(|(_, all)| all.len() == per), "{lived} s, in stretches of {per}");
            let (first, last) = (bins.each[0].0, bins.each.last().unwrap().0 + bins.length);
            assert!(made <= first && last <= now && now - last < bins.length, "{lived}");
        }
    }

    #[test]
    fn stretches_are_empty_where_nothing_was() {
        let now = 100 * DAY + 10 * MINUTE;
        let bins =
            TimeBins::of([(now - 3 * 60 * MINUTE, 'a'), (now - 20 * MINUTE, 'b'), (now, 'c')], 0, now, 24);
        assert_eq!((bins.length, bins.filled(), bins.each.len()), (15 * MINUTE, 2, 12));
        assert_eq!(bins.each[0].1, ['a']);
        assert!(TimeBins::of(Vec::<(i64, char)>::new(), 0, now, 24).each.is_empty());
        assert!(TimeBins::of([(now, 'a')], now, now, 24).each.is_empty());
    }

    #[test]
    fn verdicts_are_averaged_by_score() {
        let chance = |seed: u64| (jurybox::toolbox::hash_number(9, seed) % 1000) as f64 / 500.0 - 1.0;
        let lessons: Vec<(Vec<f64>, f64)> = (0..2000)
            .map(|at| {
                let reward = f64::from(u8::from(at % 3 == 0));
                (vec![reward + chance(at)], reward)
            })
            .collect();
        let curve = reliability(&lessons, 0, 8, (0.0, 1.0));
        assert_eq!(curve.len(), 8);
        assert!(curve[7].1.low > curve[0].1.high);
        assert!(reliability(&lessons[..10], 0, 8, (0.0, 1.0)).is_empty());
        // Even if all rewards are equal, the interval has a width.
        let same: Vec<(Vec<f64>, f64)> = (0..60).map(|at| (vec![f64::from(at)], -1.0)).collect();
        for (_, reward) in reliability(&same, 0, 6, (-1.0, 3.0)) {
            assert!(reward.mean == -1.0 && reward.low == -1.0 && reward.high > 0.0, "{reward:?}");
        }
    }

    #[test]
    fn a_share_of_few_has_a_wide_interval() {
        // The Wilson interval of 8 in 10.
        let share = wilson(0.8, 10.0);
        assert!((share.low - 0.4902).abs() < 1e-3 && (share.high - 0.9433).abs() < 1e-3, "{share:?}");
        let all = wilson(1.0, 5.0);
        assert!((all.low - 0.5655).abs() < 1e-3 && all.high == 1.0, "{all:?}");
    }

    #[test]
    fn quantiles_are_of_what_is_there() {
        assert_eq!(quantile(&mut [], 0.5), None);
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 0.9), Some(3.0));
    }
}

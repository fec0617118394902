//! What there is to see of a queue, read at once and kept for a moment; and what is reckoned from it.

use super::error_correlation::{ErrorCorrelations, ENOUGH};
use super::activity::{back, is_routine};
use super::wording::Wording;
use crate::app::App;
use crate::handlers::read_queue;
use crate::problem::Problem;
use jurybox::{Direction, Interval, Standing};
use jurybox_server::{
    Config, Counts, Error, Evaluated, Explained, Filter, Found, Happened, Noticed, Pulse, Queue, Scale,
    Skipped, Source, Trusted, Worked,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// Verdicts that are looked at: the last ones.
const VERDICTS: u64 = 20_000;
/// Arrivals that are looked at.
const ARRIVALS: u64 = 10_000;
/// Entries of the log that are shown.
const ENTRIES: usize = 12;
/// The best items that are explained.
const BEST: usize = 12;

/// A second, a minute, a day, in microseconds.
pub(super) const SECOND: i64 = 1_000_000;
pub(super) const MINUTE: i64 = 60 * SECOND;
pub(super) const DAY: i64 = 86_400 * SECOND;

/// What there is to see of a queue.
pub(super) struct QueueSnapshot {
    pub(super) now: i64,
    pub(super) head: u64,
    pub(super) model: u64,
    pub(super) config: Config,
    pub(super) counts: Counts,
    pub(super) pulse: Pulse,
    /// Items that came in, and in how long: the last hour where there was one; none where nothing ever came.
    pub(super) inflow: Option<(f64, i64)>,
    pub(super) worked: Vec<Worked>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) found: Found,
    /// Nothing before the queue is ranked.
    pub(super) evaluated: Vec<Evaluated>,
    /// Changes of evaluators that were noticed, the last one first, also those that are over.
    pub(super) noticed: Vec<Noticed>,
    /// What is to be doubted of what was learnt.
    pub(super) diagnostics: Vec<String>,
    /// How reviewers stand beside one another, where that is learnt.
    pub(super) standings: Vec<Standing>,
    /// What has changed about the verdicts themselves.
    pub(super) redefined: Vec<jurybox::Alarm>,
    pub(super) learnt_from: u64,
    pub(super) best: Vec<Explained>,
    pub(super) happened: Vec<Happened>,
    pub(super) trust: Vec<Trusted>,
    /// Who errs with whom, among items that were drawn on arrival: among what they picked themselves, evaluators that agree look less alike than
    /// they are. None where too few of those are decided.
    pub(super) alike: Option<ErrorCorrelations>,
}

/// Looks at a queue, or remembers what was seen a moment ago; and says as of when that is so.
pub(super) async fn snapshot(app: &App, queue: &str) -> Result<(Arc<QueueSnapshot>, i64), Problem> {
    let now = read_queue(app, queue, Queue::standing).await?;
    let marks = (now.head, now.model);
    if let Some(seen) = app.0.watch.seen(queue, marks) {
        return Ok(seen);
    }
    let _turn = app.0.reports.acquire().await;
    if let Some(seen) = app.0.watch.seen(queue, marks) {
        return Ok(seen);
    }
    let (began, trust) = (Instant::now(), app.0.watch.trust(queue));
    let seen = Arc::new(read_queue(app, queue, |found| QueueSnapshot::read(found, trust)).await?);
    app.0.watch.note(queue, &seen, began.elapsed());
    let so = seen.now;
    Ok((seen, so))
}

impl QueueSnapshot {
    fn read(queue: &Queue, trust: Vec<Trusted>) -> Result<QueueSnapshot, Error> {
        let now = super::format::now();
        let standing = queue.standing()?;
        let (worked, skipped) = queue.worked(VERDICTS)?;
        let pulse = queue.pulse(now + DAY, now + MINUTE)?;
        let model = queue.model().ok();
        let evaluated = model.as_ref().map(|model| queue.evaluated(model)).transpose()?.unwrap_or_default();
        let noticed = model.as_ref().map(|model| queue.noticed(model)).transpose()?.unwrap_or_default();
        let (_, ranked) = queue.ranked(Filter::default(), 0, (standing.config.k as usize).clamp(10, BEST))?;
        let mut best = Vec::new();
        for item in ranked {
            best.extend(queue.explained(&item.id)?);
        }
        let happened = back(queue, standing.head, ENTRIES, |kind| !is_routine(kind))?.0;
        let mut seen = QueueSnapshot {
            now,
            head: standing.head,
            model: standing.model,
            config: standing.config,
            counts: standing.counts,
            inflow: inflow(&queue.arrivals(ARRIVALS)?, pulse.since, now),
            pulse,
            worked,
            skipped,
            found: queue.found()?,
            evaluated,
            noticed,
            standings: model.as_ref().map(jurybox_server::Model::reviewers).unwrap_or_default(),
            redefined: model.iter().flat_map(jurybox_server::Model::redefined).cloned().collect(),
            diagnostics: model.as_ref().map(jurybox_server::Model::doubts).unwrap_or_default(),
            learnt_from: model.map_or(0, |model| model.seen.used),
            best,
            happened,
            trust,
            alike: None,
        };
        seen.alike = ErrorCorrelations::of(&seen.lessons(true), seen.config.evaluators.len());
        Ok(seen)
    }

    /// How the queue's pages name its verdicts.
    pub(super) fn wording(&self) -> Wording {
        Wording::of(&self.config, self.worked.iter().filter_map(|work| work.decides))
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.config.evaluators.names().map(String::from).collect()
    }

    /// Verdicts of people.
    pub(super) fn by_people(&self) -> impl Iterator<Item = &Worked> {
        self.worked.iter().filter(|work| work.source != Source::Automatic)
    }

    /// Since when verdicts are looked at, where there are earlier ones that are not.
    pub(super) fn looked_since(&self) -> Option<i64> {
        (self.worked.len() as u64 >= VERDICTS).then(|| self.worked.first().map_or(self.now, |work| work.at))
    }

    /// Since when there is all there was to see: the queue was made, or verdicts before are not looked at.
    pub(super) fn whole_since(&self) -> i64 {
        self.looked_since().unwrap_or(self.pulse.since)
    }

    /// How long people took over an item that they had claimed, in seconds, and when.
    pub(super) fn delays(&self) -> Vec<(i64, f64)> {
        delays(self.by_people(), &self.skipped)
    }

    /// How much more is found at the least for each item that is looked at than the plain mean of the scores would: by the ends of both
    /// intervals. A quotient of the means would be shown just where the plain mean was estimated too low.
    pub(super) fn times_plain_mean(&self) -> Option<f64> {
        let (ours, plain) = (self.found.picked.mean?, self.found.plain_mean.mean?);
        (plain.high > 0.0 && ours.low > plain.high).then(|| ours.low / plain.high)
    }

    /// Each item that people have decided, by the verdict that did so first, with what the last word says that it is worth.
    fn decided(&self) -> Vec<(&Worked, f64)> {
        let mut last: HashMap<u64, f64> = HashMap::new();
        let mut first: Vec<&Worked> = Vec::new();
        for (work, worth) in self.by_people().filter_map(|work| Some((work, work.decides?))) {
            if last.insert(work.n, worth).is_none() {
                first.push(work);
            }
        }
        first.into_iter().map(|work| (work, last[&work.n])).collect()
    }

    /// When each item was decided that was given out for its value or its date, and what it is worth. Those that were drawn whatever their
    /// scores say nothing of how well was picked, nor do golden ones: what they are was known before.
    pub(super) fn picked(&self) -> Vec<(i64, f64)> {
        let golden = |work: &Worked| work.tags.contains_key(jurybox_server::GOLDEN);
        let picked = |work: &Worked| work.claimed.is_some() && !work.explored && !golden(work);
        let decided = self.decided().into_iter();
        decided.filter(|(work, _)| picked(work)).map(|(work, worth)| (work.at, worth)).collect()
    }

    /// The least and the most that an item can be worth: by the queue's scale, or by what was found; never the same.
    pub(super) fn scale(&self) -> (f64, f64) {
        if let Some(scale) = self.config.reward.as_ref().filter(|scale| scale.lowest < scale.highest) {
            return (scale.lowest, scale.highest);
        }
        let worths = self.worked.iter().filter_map(|work| work.decides);
        worths.fold((0.0, 1.0), |(low, high), worth| (f64::min(low, worth), f64::max(high, worth)))
    }

    /// Two shares as an interval on the queue's scale.
    pub(super) fn on_scale(&self, low: f64, high: f64) -> Interval {
        let (least, most) = self.scale();
        let place = |share: f64| least + share * (most - least);
        Interval { mean: f64::NAN, low: place(low), high: place(high) }
    }

    /// From when on an evaluator is surely what it is now, where it has changed.
    pub(super) fn changed(&self, evaluator: usize) -> Option<i64> {
        let alarms = self.evaluated.get(evaluator).map(|of| of.alarms.iter()).into_iter().flatten();
        alarms.map(|alarm| alarm.until.cast_signed().saturating_mul(SECOND)).max()
    }

    /// Scores that all point up, with what the items were found to be worth; of those alone that were drawn on arrival, or of all. What an evaluator
    /// said before it changed is not a number here: it says nothing of what it is now.
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
            .filter(|(work, _)| work.scores.len() == signs.len() && (work.audit.is_some() || !drawn))
            .map(|(work, worth)| {
                let score = |((score, sign), changed): ((&f64, &f64), &Option<i64>)| {
                    if changed.is_some_and(|changed| work.arrived < changed) {
                        f64::NAN
                    } else {
                        score * sign
                    }
                };
                (work.scores.iter().zip(&signs).zip(&changed).map(score).collect(), worth)
            })
            .collect()
    }
}

/// How long each verdict took, in seconds, and when it came: since its item was claimed, or since its reviewer was done with the one before,
/// whichever is later, because the next item is claimed while that one is still read. Verdicts that came at once took equally long.
fn delays<'a>(all: impl Iterator<Item = &'a Worked>, skipped: &'a [Skipped]) -> Vec<(i64, f64)> {
    let mut done: Vec<(i64, &str, Option<&Worked>)> =
        skipped.iter().map(|skip| (skip.at, skip.reviewer.as_str(), None)).collect();
    done.extend(all.map(|work| (work.at, work.reviewer.as_str(), Some(work))));
    done.sort_by_key(|(at, ..)| *at);
    // By reviewer: when they were last done with something, and with what before that.
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

/// Items that came in within the last hour, or since the queue was made where that is later: a rate is not made of less. Where the last ones
/// that are looked at all came sooner, an hour is reckoned from those.
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

/// The value below which that share of them lies.
pub(super) fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some(values[(share * last as f64).round() as usize])
}

/// Stretches of time of one length: their length, and what fell into each. Only whole ones: what has just begun, and what began before anybody
/// looked, would seem to be a plunge.
pub(super) struct TimeBins<T> {
    pub(super) length: i64,
    /// When each began.
    pub(super) each: Vec<(i64, Vec<T>)>,
}

impl<T> TimeBins<T> {
    /// When each of them is, as an axis has it, and what that says.
    pub(super) fn places(&self, now: i64) -> (Vec<f64>, &'static str) {
        let first = self.each.first().map_or(now, |(at, _)| *at);
        let (unit, label) = unit(now - first);
        (self.each.iter().map(|(at, _)| (at + self.length / 2 - now) as f64 / unit).collect(), label)
    }

    /// How many of them hold anything.
    pub(super) fn filled(&self) -> usize {
        self.each.iter().filter(|(_, all)| !all.is_empty()).count()
    }

    /// At most so many of them, of a length that people know, since it was looked or the first of these times, whichever is later.
    pub(super) fn of(times: impl IntoIterator<Item = (i64, T)>, since: i64, now: i64, most: i64) -> TimeBins<T> {
        let times: Vec<(i64, T)> = times.into_iter().collect();
        let first = times.iter().map(|(at, _)| *at).min().unwrap_or(now).clamp(since.min(now), now);
        let lengths = [2, 5, 10, 30, 60, 300, 900, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600]
            .map(|seconds| seconds * SECOND);
        let fits = |length: &&i64| (now - first) / **length < most;
        let length = lengths.iter().find(fits).copied().unwrap_or_else(|| (now - first) / most + 1);
        // The first one that begins after it was looked, and the last one that is over.
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

/// The unit in which a stretch of time that ends now is told, in microseconds, and what an axis says of it.
pub(super) fn unit(since: i64) -> (f64, &'static str) {
    let (unit, label) = match since {
        since if since < 3 * MINUTE => (SECOND, "seconds, until now"),
        since if since < 180 * MINUTE => (MINUTE, "minutes, until now"),
        since if since < 3 * DAY => (60 * MINUTE, "hours, until now"),
        _ => (DAY, "days, until now"),
    };
    (unit as f64, label)
}

/// A mean of that many values between 0 and 1 with its 95% interval, by Wilson: it has a width also where all of them are the same. For
/// others than 0 and 1 it is rather too wide.
pub(super) fn wilson(mean: f64, many: f64) -> Interval {
    const Z: f64 = 1.959_964;
    let (square, middle) = (Z * Z / many, mean + Z * Z / many / 2.0);
    let half = Z * (mean * (1.0 - mean) / many + square / many / 4.0).max(0.0).sqrt();
    let end = |sign: f64| ((middle + sign * half) / (1.0 + square)).clamp(0.0, 1.0);
    Interval { mean, low: end(-1.0), high: end(1.0) }
}

/// The mean of what items were worth, on a scale from one worth to another, with its 95% interval: the one that the report has.
pub(super) fn mean_within(worths: &[f64], (low, high): (f64, f64)) -> Interval {
    let none = Interval { mean: f64::NAN, low: f64::NAN, high: f64::NAN };
    jurybox_server::mean_of(worths, Scale { low, high }).unwrap_or(none)
}

/// What items with such a score were found to be worth, on a scale from one worth to another: the scores in groups of equal size, each with its
/// mean score, mean worth and the interval of that.
pub(super) fn reliability(
    lessons: &[(Vec<f64>, f64)],
    j: usize,
    groups: usize,
    scale: (f64, f64),
) -> Vec<(f64, Interval)> {
    let mut pairs: Vec<(f64, f64)> =
        lessons.iter().map(|(row, worth)| (row[j], *worth)).filter(|(score, _)| !score.is_nan()).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let size = pairs.len().div_ceil(groups.max(1)).max(1);
    let group = |pairs: &[(f64, f64)]| {
        let score = pairs.iter().map(|(score, _)| score).sum::<f64>() / pairs.len() as f64;
        let worths: Vec<f64> = pairs.iter().map(|(_, worth)| *worth).collect();
        (score, mean_within(&worths, scale))
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
        // What came in ten minutes is not what comes in an hour.
        assert_eq!(
            inflow(&[now - MINUTE, now - 2 * MINUTE], now - 10 * MINUTE, now),
            Some((2.0, 10 * MINUTE))
        );
        // More than are looked at, all within half an hour: as many again in the other half.
        let many: Vec<i64> = (0..ARRIVALS.cast_signed())
            .map(|at| now - 30 * MINUTE * at / (ARRIVALS.cast_signed() - 1))
            .collect();
        let (rate, length) = inflow(&many, 0, now).unwrap();
        assert!((rate - 2.0 * ARRIVALS as f64).abs() < 1.0 && length == hour, "{rate}");
    }

    /// Two items are held, the one that is read and the next: the time of the first is not the second's as well.
    #[test]
    fn a_verdict_took_as_long_as_its_item_was_on_top() {
        let work = |at: i64, claimed: i64, reviewer: &str| Worked {
            at: at * SECOND,
            claimed: Some(claimed * SECOND),
            arrived: 0,
            n: 1,
            reviewer: reviewer.into(),
            source: Source::Reviewer,
            label: None,
            reward: 1.0,
            decides: None,
            explored: false,
            audit: None,
            seen: false,
            scores: Vec::new(),
            tags: [].into(),
        };
        let skip = Skipped { at: 130 * SECOND, reviewer: "ann".into(), reason: String::new() };
        let all = [
            work(110, 100, "ann"),
            work(115, 100, "ann"),
            work(116, 100, "bob"),
            work(133, 110, "ann"),
            // A program sends what was judged together.
            work(153, 140, "ann"),
            work(153, 140, "ann"),
        ];
        let took: Vec<f64> = delays(all.iter(), &[skip]).into_iter().map(|(_, took)| took).collect();
        assert_eq!(took, [10.0, 5.0, 16.0, 3.0, 13.0, 13.0]);
    }

    /// One verdict a second, all of them alike: no stretch has fewer than another, at whatever moment it is looked.
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
        let bins = TimeBins::of([(now - 3 * 60 * MINUTE, 'a'), (now - 20 * MINUTE, 'b'), (now, 'c')], 0, now, 24);
        assert_eq!((bins.length, bins.filled(), bins.each.len()), (15 * MINUTE, 2, 12));
        assert_eq!(bins.each[0].1, ['a']);
        assert!(TimeBins::of(Vec::<(i64, char)>::new(), 0, now, 24).each.is_empty());
        assert!(TimeBins::of([(now, 'a')], now, now, 24).each.is_empty());
    }

    #[test]
    fn a_score_is_worth_what_items_with_such_a_score_were() {
        let chance = |seed: u64| (jurybox::toolbox::hash_number(9, seed) % 1000) as f64 / 500.0 - 1.0;
        let lessons: Vec<(Vec<f64>, f64)> = (0..2000)
            .map(|at| {
                let worth = f64::from(u8::from(at % 3 == 0));
                (vec![worth + chance(at)], worth)
            })
            .collect();
        let curve = reliability(&lessons, 0, 8, (0.0, 1.0));
        assert_eq!(curve.len(), 8);
        assert!(curve[7].1.low > curve[0].1.high);
        assert!(reliability(&lessons[..10], 0, 8, (0.0, 1.0)).is_empty());
        // All of them worth nothing: that is not to know that such items are.
        let same: Vec<(Vec<f64>, f64)> = (0..60).map(|at| (vec![f64::from(at)], -1.0)).collect();
        for (_, worth) in reliability(&same, 0, 6, (-1.0, 3.0)) {
            assert!(worth.mean == -1.0 && worth.low == -1.0 && worth.high > 0.0, "{worth:?}");
        }
    }

    #[test]
    fn a_share_of_few_has_a_wide_interval() {
        // As in the tables: 8 of 10.
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

//! The time range that a queue's page shows: all time, the last day, week or month, or from one
//! time to another.

use super::super::format::{moment, moment_to_the_second};
use super::super::snapshot::{DAY, MINUTE, QueueSnapshot, unit};
use crate::problem::Problem;
use crate::time::Time;
use maud::{Markup, html};
use serde::Deserialize;

/// A time range of fixed length that ends now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::pages) enum NamedRange {
    Day,
    Week,
    Month,
}

impl NamedRange {
    const ALL: [NamedRange; 3] = [NamedRange::Day, NamedRange::Week, NamedRange::Month];

    /// The range in the URL, and its label.
    fn name(self) -> (&'static str, &'static str) {
        match self {
            NamedRange::Day => ("day", "24 h"),
            NamedRange::Week => ("week", "7 days"),
            NamedRange::Month => ("month", "30 days"),
        }
    }

    /// The length of the range in microseconds, and in how many parts charts divide it.
    fn length(self) -> (i64, i64) {
        match self {
            NamedRange::Day => (DAY, 24),
            NamedRange::Week => (7 * DAY, 28),
            NamedRange::Month => (30 * DAY, 30),
        }
    }
}

/// How a time range was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RangeChoice {
    All,
    Last(NamedRange),
    Own,
}

/// A time range in microseconds since 1970. Its end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeRange {
    pub(super) from: i64,
    pub(super) to: i64,
    asked: RangeChoice,
    /// Whether the range ends now.
    live: bool,
}

impl TimeRange {
    /// The range that a URL asks for. `own`, a start and an end, has precedence over a named range.
    /// Without a start it begins with the queue, and without an end it ends now.
    ///
    /// # Errors
    /// If the start does not lie before the end.
    pub(super) fn of(
        snapshot: &QueueSnapshot,
        range: Option<NamedRange>,
        own: (Option<Time>, Option<Time>),
    ) -> Result<TimeRange, Problem> {
        let begin =
            snapshot.influence.first().map_or(i64::MAX, |first| first.at).min(snapshot.workload.since);
        TimeRange::between((begin, snapshot.now), range, own)
    }

    fn between(
        (begin, now): (i64, i64),
        range: Option<NamedRange>,
        own: (Option<Time>, Option<Time>),
    ) -> Result<TimeRange, Problem> {
        // Adding 1 puts the present inside, because the end is exclusive.
        let end = now + 1;
        let (from, to, asked) = match (own, range) {
            // Imported verdicts may be older than the queue.
            ((None, None), None) => (i64::MIN, end, RangeChoice::All),
            ((None, None), Some(range)) => (end - range.length().0, end, RangeChoice::Last(range)),
            ((from, to), _) => {
                let from = from.map_or(begin, |from| from.0);
                (from, to.map_or(end, |to| to.0), RangeChoice::Own)
            }
        };
        if from >= to {
            return Err(Problem::unusable("the query: `from` must lie before `to`"));
        }
        Ok(TimeRange { from, to: to.min(end.max(from + 1)), asked, live: to >= end })
    }

    pub(super) fn holds(&self, at: i64) -> bool {
        (self.from..self.to).contains(&at)
    }

    /// Whether the range is all time.
    pub(super) fn is_all(&self) -> bool {
        self.asked == RangeChoice::All
    }

    /// The unit for times up to the end of the range, in microseconds, and the label of the axis.
    pub(super) fn unit(&self, since: i64) -> (f64, String) {
        let (unit, label) = unit(since);
        (unit, if self.live { label.into() } else { label.replace("now", "the end") })
    }

    /// The range that is compared with the period before it, the number of its parts, and its name.
    /// For all time it is the last day.
    pub(super) fn compared(&self) -> (TimeRange, i64, String) {
        let named = |range: NamedRange| {
            let (length, parts) = range.length();
            let window = TimeRange { from: self.to - length, asked: RangeChoice::Last(range), ..*self };
            (window, parts, format!("last {}", range.name().1))
        };
        match self.asked {
            RangeChoice::All => named(NamedRange::Day),
            RangeChoice::Last(range) => named(range),
            RangeChoice::Own => (*self, 24, "chosen time".into()),
        }
    }

    /// Links to the ranges, with the current one marked.
    pub(super) fn links(&self, queue: &str, now: i64) -> Markup {
        let way = |to: String, name: &str, here: bool| {
            html! { a href=(to) aria-current=[here.then_some("true")] { (name) } }
        };
        // To the minute, both ends of a short range could look the same.
        let time =
            if self.to.saturating_sub(self.from) < 60 * MINUTE { moment_to_the_second } else { moment };
        html! {
            nav class="ranges" aria-label="Time range" {
                (way(format!("/q/{queue}"), "all", self.is_all()))
                @for range in NamedRange::ALL {
                    @let (name, words) = range.name();
                    (way(format!("/q/{queue}?range={name}"), words, self.asked == RangeChoice::Last(range)))
                }
                @if self.asked == RangeChoice::Own {
                    span class="own" { (time(self.from, now)) " to " @if self.live { "now" } @else { (time(self.to, now)) } }
                } @else {
                    span class="hint" { "or drag across a chart" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::snapshot::SECOND;
    use super::*;

    const BEGIN: i64 = 100 * DAY;
    const NOW: i64 = 140 * DAY;

    fn window(range: Option<NamedRange>, from: Option<i64>, to: Option<i64>) -> Option<TimeRange> {
        TimeRange::between((BEGIN, NOW), range, (from.map(Time), to.map(Time))).ok()
    }

    #[test]
    fn a_url_names_the_range() {
        let all = window(None, None, None).unwrap();
        assert!(all.is_all() && all.holds(BEGIN - 1) && all.holds(NOW) && !all.holds(NOW + 1));
        let week = window(Some(NamedRange::Week), None, None).unwrap();
        assert!(week.holds(NOW - 7 * DAY + 1) && !week.holds(NOW - 7 * DAY) && week.holds(NOW));
        let own = window(Some(NamedRange::Week), Some(NOW - 3 * DAY), Some(NOW - 2 * DAY)).unwrap();
        assert!(own.holds(NOW - 3 * DAY) && !own.holds(NOW - 2 * DAY) && !own.live);
        // The part of a range that is in the future is cut off.
        let since = window(None, Some(NOW - DAY), Some(NOW + DAY)).unwrap();
        assert!(since.live && since.to == NOW + 1);
        assert!(window(None, None, Some(NOW - DAY)).unwrap().holds(BEGIN));
        assert_eq!(window(None, Some(NOW), Some(NOW)), None);
        assert_eq!(window(None, None, Some(BEGIN - 1)), None);
        // A range in the future is empty, not an error.
        let later = window(None, Some(NOW + DAY), Some(NOW + 2 * DAY)).unwrap();
        assert!(!later.holds(NOW) && later.from < later.to);
    }

    #[test]
    fn a_range_is_compared_with_one_of_its_length() {
        let of = |window: Option<TimeRange>| window.unwrap().compared();
        let (all, parts, name) = of(window(None, None, None));
        assert_eq!((all.to - all.from, parts, name.as_str()), (DAY, 24, "last 24 h"));
        let (month, parts, name) = of(window(Some(NamedRange::Month), None, None));
        assert_eq!((month.to - month.from, parts, name.as_str()), (30 * DAY, 30, "last 30 days"));
        let (own, _, name) = of(window(None, Some(NOW - 90 * SECOND), Some(NOW - 30 * SECOND)));
        assert_eq!((own.to - own.from, name.as_str()), (MINUTE, "chosen time"));
    }

    #[test]
    fn a_short_range_is_shown_to_the_second() {
        let links =
            |from: i64| window(None, Some(from), Some(NOW - 30 * SECOND)).unwrap().links("posts", NOW).0;
        let short = links(NOW - 90 * SECOND);
        assert!(short.contains("1970-05-20 23:58:30") && short.contains("1970-05-20 23:59:30"), "{short}");
        assert!(short.contains("data-exact") && !links(NOW - DAY).contains("data-exact"));
    }

    #[test]
    fn an_axis_says_where_it_ends() {
        let label = |window: Option<TimeRange>| window.unwrap().unit(DAY).1;
        assert_eq!(label(window(None, None, None)), "hours, until now");
        assert_eq!(label(window(None, Some(BEGIN), Some(NOW - 1))), "hours, until the end");
    }
}

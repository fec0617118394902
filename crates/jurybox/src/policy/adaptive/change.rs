//! When did something change that is read again and again, and how sure is that?
//!
//! Readings come in cells, oldest first: how many there are, their mean and their variance. They
//! are compared before and after every joint between cells, and before and after every cell, within
//! which the change may have come. The difference of the two means is measured against the scatter
//! of single readings, or of whole cells around their own side's mean where that is larger: seasons
//! and slow waves then count as scatter, not as news. What was different for a while, and is again
//! what it was, would hide itself in that way: the longer it is over, the more of what came after
//! the first joint is as it was before, and the time between counts as scatter. So where no single
//! joint tells of a change, what lies between two of them is compared with all that lies around it.
//! What comes and goes more often is a wave.
//!
//! A change is believed if chance would show as much, at any place, in any series, at this look *or
//! any other in the whole life of the jury*, with a probability of at most [`RISK`]: look n may
//! spend a share of it that goes with 1 / (n ln² n), and these shares add up to one. Readings have
//! longer tails than a normal law, the more so the fewer are averaged. So a deviate counts as
//! Bernstein's inequality lets it, for readings whose tails are those of an exponential law of half
//! the deviation.

use crate::estimate::pulse::Readings;
use crate::normal;
use crate::toolbox::as_normal_deviate;

/// The risk that a steady world raises an alarm, ever.
const RISK: f64 = 0.005;
/// The share of it for what was different for a while.
const AWAY: f64 = 0.1;
/// The sum of 1 / (n ln² n) from 2 on.
const ALL_LOOKS: f64 = 2.11;
/// Readings needed on both sides of a change.
const LEAST_READINGS: f64 = 8.0;
/// Fewer times than this do not tell a change from how one time differs from another, however many
/// readings each has.
const LEAST_TIMES: f64 = 8.0;
/// How long the tails of readings are taken to be.
const TAIL: f64 = 0.5;
/// Whole cells that scatter so many times as much as their readings would have them are the
/// yardstick.
const WAVES: f64 = 2.0;
/// Places whose squared deviates fall short of the best one's by no more than this may be where it
/// changed.
const AS_LIKELY: f64 = 6.0;

/// Readings of one kind, in the cells that all series share.
pub(super) struct Series {
    pub(super) cells: Vec<Readings>,
    /// Whether a change from one mean to another is of any consequence.
    pub(super) matters: fn(f64, f64) -> bool,
}

/// A change that is believed.
pub(super) struct Change {
    /// The first time that may have been different, and the first that was, by all that is known.
    pub(super) since: u64,
    pub(super) until: u64,
    /// The first cell of what the present resembles.
    pub(super) resume: usize,
    /// In which series it shows.
    pub(super) seen: Vec<Seen>,
}

/// A series that changed.
pub(super) struct Seen {
    pub(super) series: usize,
    pub(super) before: f64,
    pub(super) after: f64,
    pub(super) confidence: f64,
}

/// What is believed to have changed, oldest first, each in what is left after the one before.
/// `times` are the first and the last of each cell, `looks` is how often there could have been a
/// look by now. What was different for a while is looked for where `passing`.
pub(super) fn search(series: &[Series], times: &[(u64, u64)], looks: f64, passing: bool) -> Vec<Change> {
    let sums: Vec<Sums> = series.iter().map(Sums::new).collect();
    let looks = looks.max(2.0);
    let spent = ALL_LOOKS * looks * looks.ln().powi(2);
    let (mut first, mut changes) = (0, Vec::new());
    while let Some(change) = most_telling(series, &sums, first, times, spent, passing) {
        first = change.resume;
        changes.push(change);
    }
    changes
}

/// The most telling change from a cell on: one that has lasted, or else one that was over after a
/// while.
fn most_telling(
    series: &[Series],
    sums: &[Sums],
    first: usize,
    times: &[(u64, u64)],
    spent: f64,
    passing: bool,
) -> Option<Change> {
    let end = times.len();
    if times_apart(series, first, times) < LEAST_TIMES {
        return None;
    }
    let all: Vec<usize> = (0..series.len()).filter(|at| sums[*at].varies).collect();
    let lasting = Looked { series, sums, among: &all, first, times };
    lasting.most_telling((1.0 - AWAY) * RISK / spent, |_| end..end + 1).or_else(|| {
        if !passing {
            return None;
        }
        let waving: Vec<usize> = all.iter().copied().filter(|at| sums[*at].waves(first, end)).collect();
        let passing = Looked { among: &waving, ..lasting };
        passing.most_telling(AWAY * RISK / spent, |resume| resume + 1..end)
    })
}

/// How many times there are at the most from a cell on.
fn times_apart(series: &[Series], first: usize, times: &[(u64, u64)]) -> f64 {
    let each = times.iter().enumerate().skip(first).map(|(cell, (from, to))| {
        let readings = series.iter().map(|series| series.cells[cell].rounds).fold(1.0, f64::max);
        readings.min((to - from) as f64 + 1.0)
    });
    each.sum()
}

/// Where a change is looked for.
#[derive(Clone, Copy)]
struct Looked<'a> {
    series: &'a [Series],
    sums: &'a [Sums],
    /// Which series may lead: what the others show is told all the same.
    among: &'a [usize],
    first: usize,
    times: &'a [(u64, u64)],
}

impl Looked<'_> {
    /// The most telling change at a risk, which may be over at each of `backs` of where it begins:
    /// the end, or cells before it.
    fn most_telling(&self, risk: f64, backs: impl Fn(usize) -> std::ops::Range<usize>) -> Option<Change> {
        let Looked { series, sums, first, times, .. } = *self;
        let end = times.len();
        // A change at a joint, or within the cell that begins there, which is then left out.
        let places: Vec<(usize, usize)> =
            (first + 1..end).flat_map(|joint| [(joint, joint), (joint, joint + 1)]).collect();
        let ends: usize = places.iter().map(|place| backs(place.1).len()).sum();
        let comparisons = (ends * series.len()) as f64 / risk;
        let least = -normal::quantile(0.5 / comparisons);
        let mut best: Option<(f64, usize, (usize, usize), usize)> = None;
        for &at in self.among {
            for &place in &places {
                for back in backs(place.1) {
                    let Some(compared) = sums[at].compare(first, place, back, least) else { continue };
                    let matters = (series[at].matters)(compared.before, compared.after);
                    let more = best.is_none_or(|(most, ..)| compared.deviate > most);
                    if matters && compared.deviate >= least && more {
                        best = Some((compared.deviate, at, place, back));
                    }
                }
            }
        }
        let (most, leader, place, back) = best?;
        let short = (most * most - AS_LIKELY).max(0.0).sqrt();
        let likely = |place: &(usize, usize)| {
            let compared = sums[leader].compare(first, *place, back, short);
            compared.is_some_and(|compared| compared.deviate >= short)
        };
        let (mut since, mut until) = bracket(times, place);
        for (earliest, latest) in
            places.iter().filter(|place| likely(place)).map(|place| bracket(times, *place))
        {
            (since, until) = (since.min(earliest), until.max(latest));
        }
        let seen = series.iter().zip(sums).enumerate().filter_map(|(at, (series, sums))| {
            let compared = sums.compare(first, place, back, least)?;
            // Of the whole risk, whichever share of it was to be spent.
            let chance = 2.0 * normal::cdf(-compared.deviate) * comparisons * RISK;
            let told = chance <= RISK && (series.matters)(compared.before, compared.after);
            let (before, after) = (compared.before, compared.after);
            told.then_some(Seen { series: at, before, after, confidence: 1.0 - chance })
        });
        Some(Change { since, until, resume: place.1, seen: seen.collect() })
    }
}

/// The first time that may have been different, and the first that surely was, for a change at a
/// place. Cells of several times beside a joint may hold a few from its other side.
fn bracket(times: &[(u64, u64)], (joint, resume): (usize, usize)) -> (u64, u64) {
    if joint < resume {
        return (times[joint].0, times[resume].0);
    }
    let (first, last) = times[joint - 1];
    (if first < last { first + 1 } else { times[joint].0 }, times[joint].1)
}

/// Two sides of a place.
struct Compared {
    before: f64,
    after: f64,
    /// How telling their difference is, as a normal deviate without its sign.
    deviate: f64,
}

/// Running sums over the cells of a series, around its mean.
struct Sums {
    centre: f64,
    /// Whether its cells have different means: nothing shows in others.
    varies: bool,
    /// Before each cell, and after the last.
    upto: Vec<Sum>,
    cells: Vec<Cells>,
}

/// What is asked of every place.
#[derive(Clone, Copy, Default)]
struct Sum {
    readings: f64,
    sum: f64,
    squares: f64,
}

/// What is asked where that tells of a change: cells with readings, and the squares of their means,
/// as often as they have readings.
#[derive(Clone, Copy, Default)]
struct Cells {
    cells: f64,
    means: f64,
}

impl Sum {
    fn and(self, other: Sum) -> Sum {
        Sum {
            readings: self.readings + other.readings,
            sum: self.sum + other.sum,
            squares: self.squares + other.squares,
        }
    }

    fn less(self, other: Sum) -> Sum {
        Sum {
            readings: self.readings - other.readings,
            sum: self.sum - other.sum,
            squares: self.squares - other.squares,
        }
    }
}

impl Cells {
    fn and(self, other: Cells) -> Cells {
        Cells { cells: self.cells + other.cells, means: self.means + other.means }
    }

    fn less(self, other: Cells) -> Cells {
        Cells { cells: self.cells - other.cells, means: self.means - other.means }
    }
}

impl Sums {
    fn new(series: &Series) -> Self {
        let readings: f64 = series.cells.iter().map(|cell| cell.rounds).sum();
        let centre = series.cells.iter().map(|cell| cell.rounds * cell.mean).sum::<f64>() / readings.max(1.0);
        let (mut total, mut cells) = (Sum::default(), Cells::default());
        let length = series.cells.len() + 1;
        let mut means = series.cells.iter().filter(|cell| cell.rounds > 0.0).map(|cell| cell.mean);
        let first = means.next();
        let varies = means.any(|mean| Some(mean) != first);
        let (upto, of_cells) = (Vec::with_capacity(length), Vec::with_capacity(length));
        let mut sums = Sums { centre, varies, upto, cells: of_cells };
        sums.upto.push(total);
        sums.cells.push(cells);
        for cell in &series.cells {
            let mean = cell.mean - centre;
            total.readings += cell.rounds;
            total.sum += cell.rounds * mean;
            total.squares += cell.rounds * (cell.variance + mean * mean);
            cells.cells += f64::from(u8::from(cell.rounds > 0.0));
            cells.means += cell.rounds * mean * mean;
            sums.upto.push(total);
            sums.cells.push(cells);
        }
        sums
    }

    /// Whether whole cells scatter more than their readings would have them, from one on.
    fn waves(&self, first: usize, end: usize) -> bool {
        let all = self.upto[end].less(self.upto[first]);
        let whole = self.cells[end].less(self.cells[first]);
        let within = (all.squares - whole.means).max(0.0) / (all.readings - whole.cells).max(1.0);
        let explained = if all.readings > 0.0 { all.sum * all.sum / all.readings } else { 0.0 };
        whole.cells > 2.0 && (whole.means - explained) / (whole.cells - 1.0) > WAVES * within
    }

    /// The cells from where the place resumes up to `back` beside all others from `first` on, less
    /// those within the place; none where there are too few readings, or the difference is
    /// certainly less than `least` deviates.
    #[expect(
        clippy::inline_always,
        reason = "at most places nothing is told, and that is all that is asked there"
    )]
    #[inline(always)]
    fn compare(&self, first: usize, place: (usize, usize), back: usize, least: f64) -> Option<Compared> {
        if place.1 >= back {
            return None;
        }
        let end = self.upto.len() - 1;
        let before = self.upto[place.0].less(self.upto[first]);
        let (mut old, new) = (before, self.upto[back].less(self.upto[place.1]));
        if before.readings < LEAST_READINGS {
            return None;
        }
        if back < end {
            let after = self.upto[end].less(self.upto[back]);
            if after.readings < LEAST_READINGS {
                return None;
            }
            old = old.and(after);
        }
        let shorter = old.readings.min(new.readings);
        if shorter < LEAST_READINGS {
            return None;
        }
        let (before, after) = (old.sum / old.readings, new.sum / new.readings);
        let readings = old.readings + new.readings;
        let explained = old.sum * before + new.sum * after;
        let by_readings = (old.squares + new.squares - explained).max(0.0) / (readings - 2.0);
        let sides = 1.0 / old.readings + 1.0 / new.readings;
        let squared = (after - before).powi(2) / sides;
        if squared <= least * least * by_readings || by_readings <= 0.0 {
            return None;
        }
        let told = (before, after, explained, squared, by_readings, shorter);
        Some(self.told(first, place, back, readings, told))
    }

    /// What two sides tell, given their means, what these explain, their difference, the scatter of
    /// readings and how many the shorter side has.
    #[inline(never)]
    fn told(
        &self,
        first: usize,
        place: (usize, usize),
        back: usize,
        readings: f64,
        (before, after, explained, squared, by_readings, shorter): (f64, f64, f64, f64, f64, f64),
    ) -> Compared {
        let end = self.cells.len() - 1;
        let of = |from: usize, to: usize| self.cells[to].less(self.cells[from]);
        let (old, new) = (of(first, place.0).and(of(back, end)), of(place.1, back));
        let cells = old.cells + new.cells;
        let by_cells =
            if cells > 2.0 { (old.means + new.means - explained).max(0.0) / (cells - 2.0) } else { 0.0 };
        let (variance, freedom) = if by_cells > WAVES * by_readings {
            (by_cells, cells - 2.0)
        } else {
            (by_readings, readings - 2.0)
        };
        let deviate = as_normal_deviate((squared / variance).sqrt(), freedom);
        let deviate = deviate / (1.0 + TAIL * deviate / shorter.sqrt()).sqrt();
        Compared { before: before + self.centre, after: after + self.centre, deviate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells of eight readings that are all but the same, at these means.
    fn series(means: &[f64]) -> Series {
        let cell = |mean: &f64| Readings { rounds: 8.0, mean: *mean, variance: 0.01 };
        Series {
            cells: means.iter().map(cell).collect(),
            matters: |before, after| (after - before).abs() >= 0.1,
        }
    }

    /// Each cell is of one time.
    fn found(series: &[Series], looks: f64) -> Vec<Change> {
        let times: Vec<(u64, u64)> = (0..series[0].cells.len() as u64).map(|time| (time, time)).collect();
        search(series, &times, looks, true)
    }

    #[test]
    fn a_step_is_found_where_it_is_and_named_where_it_shows() {
        let steady = series(&[1.0; 12]);
        let step = series(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0]);
        let changes = found(&[steady, step], 100.0);
        let [change] = &changes[..] else { panic!("{} changes", changes.len()) };
        assert_eq!((change.since, change.until, change.resume), (6, 6, 6));
        let [seen] = &change.seen[..] else { panic!("{} series", change.seen.len()) };
        assert_eq!(seen.series, 1);
        assert!((seen.before - 5.0).abs() < 1e-9 && (seen.after - 6.0).abs() < 1e-9);
        assert!(seen.confidence > 0.999);
    }

    #[test]
    fn a_step_within_a_cell_leaves_that_cell_out() {
        let changes = found(&[series(&[5.0, 5.0, 5.0, 5.0, 5.5, 6.0, 6.0, 6.0, 6.0])], 100.0);
        let [change] = &changes[..] else { panic!("{} changes", changes.len()) };
        assert_eq!((change.since, change.until, change.resume), (4, 5, 5));
    }

    #[test]
    fn cells_of_several_times_may_hold_some_from_the_other_side() {
        let times: Vec<(u64, u64)> = (0..6).map(|cell| (10 * cell, 10 * cell + 9)).collect();
        let changes = search(&[series(&[5.0, 5.0, 5.0, 6.0, 6.0, 6.0])], &times, 100.0, true);
        let [change] = &changes[..] else { panic!("{} changes", changes.len()) };
        assert_eq!((change.since, change.until, change.resume), (21, 39, 3));
    }

    /// It was different for a while, and is what it was: both changes are told, however long ago
    /// that was.
    #[test]
    fn what_was_different_for_a_while_is_told_twice() {
        for (before, between, after) in [(12, 12, 4), (12, 12, 12), (12, 12, 40), (40, 6, 40), (20, 20, 3)] {
            let means: Vec<f64> = [(before, 5.0), (between, 9.0), (after, 5.0)]
                .into_iter()
                .flat_map(|(many, mean)| std::iter::repeat_n(mean, many))
                .collect();
            let changes = found(&[series(&vec![1.0; means.len()]), series(&means)], 1000.0);
            let times: Vec<(u64, u64)> = changes.iter().map(|change| (change.since, change.until)).collect();
            let [away, back] = &times[..] else { panic!("{before}, {between}, {after}: {times:?}") };
            for ((since, until), truth) in [(away, before as u64), (back, (before + between) as u64)] {
                assert!((*since..=*until).contains(&truth) && until - since <= 2, "{truth}: {times:?}");
            }
            assert_eq!(changes[1].resume, before + between);
            let seen = &changes[0].seen[0];
            assert!((seen.before - 5.0).abs() < 1e-9 && (seen.after - 9.0).abs() < 4.0 && seen.series == 1);
        }
    }

    /// However much is read at each of a few times, they may be as far apart as times are.
    #[test]
    fn a_few_times_are_not_told_apart() {
        let many = |times: usize| {
            let cell = |at: usize| Readings { rounds: 40.0, mean: (at % 2) as f64, variance: 0.01 };
            vec![Series {
                cells: (0..times).map(cell).collect(),
                matters: |before, after| (after - before).abs() >= 0.1,
            }]
        };
        for times in 1..8 {
            assert!(found(&many(times), 100.0).is_empty(), "{times}");
        }
        let step: Vec<f64> = (0..8).map(|at| f64::from(u8::from(at >= 4))).collect();
        assert_eq!(found(&[series(&step)], 100.0).len(), 1);
        assert!(found(&[series(&step[1..])], 100.0).is_empty());
    }

    #[test]
    fn what_matters_little_swings_or_was_looked_for_too_often_is_not_told() {
        let step = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.09, 0.09, 0.09, 0.09, 0.09, 0.09];
        assert!(found(&[series(&step)], 100.0).is_empty());
        let swinging: Vec<f64> = (0..40).map(|at| f64::from(at % 4 / 2)).collect();
        assert!(found(&[series(&swinging)], 100.0).is_empty());
        // A step of nearly seven deviates is told at the hundredth look, and not at the billionth.
        let faint: Vec<f64> = (0..24).map(|at| if at < 12 { 0.0 } else { 0.13 }).collect();
        assert_eq!(found(&[series(&faint)], 100.0).len(), 1);
        assert!(found(&[series(&faint)], 1e9).is_empty());
    }
}

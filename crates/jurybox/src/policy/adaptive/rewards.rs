//! Whether rewards mean what they meant: a new rule of what counts as harm, or reviewers who have
//! become severe.
//!
//! The picks get better as a jury learns, and so do their rewards: that is no change. So rewards
//! are compared with what is expected of their items by the present fit, for old and new labels
//! alike, and what is left may not shift. What is expected is the mean reward of labels of about
//! the same value, whenever they came, so that a fit that is wrong on the whole, or bent, expects
//! what there is too. Two readings of each label are watched: what is left, and what is left times
//! the value, by which one sees that rewards go with the scores less than they did.
//!
//! The labels are those of [`Traces`]: a few of every span of time, drawn by a hash, with the time
//! they are of.

use super::change::Series;
use super::drift::{Changed, Reading, told};
use super::own::Own;
use crate::estimate::ladder::Ladder;
use crate::estimate::pulse::Readings;
use crate::estimate::{Joint, Sample, SampledRow};
use crate::matrix::{Cholesky, Symmetric};

/// Labelled rows along time (scores, then the reward): some of each rung.
pub(super) type Traces = Ladder<Sample, 8>;
/// Rows kept of a rung.
pub(super) const ROWS: usize = 16;

/// Fewer labels than this tell nothing of a change.
const FEW: usize = 48;
/// About so many labels of similar value say what is expected of one.
const ALIKE: usize = 32;
/// And there are no more groups of similar value than this.
const GROUPS: usize = 12;
/// What is left counts up to so many times what nine in ten labels stay within.
const FAR: f64 = 3.0;
/// Values further out than this, in standard deviations, count as being there.
const FAR_OUT: f64 = 3.0;
/// Where groups or reviewers have lines of their own, what is expected is read anew so many times.
const SWEEPS: usize = 4;
/// Changes below this many standard deviations of what is left are of no consequence.
const LEAST: f64 = 0.2;

/// About so many cells are compared,
const CELLS: usize = 64;
/// of at least so many labels each.
const LEAST_OF_CELL: usize = 4;

/// What is added to the variances of the scores, as a share of them, so that there is one rough
/// answer.
const RIDGE: f64 = 1e-6;

/// A label with the value that its item has by now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Label {
    pub(super) clock: u64,
    pub(super) count: f64,
    pub(super) value: f64,
    pub(super) reward: f64,
    /// The place of its row among those it was made from.
    pub(super) row: usize,
}

impl Label {
    /// Of rows of scores, then the reward, whose items have these values.
    pub(super) fn all(rows: &[SampledRow<'_>], values: impl IntoIterator<Item = f64>) -> Vec<Self> {
        let label = |((place, row), value): ((usize, &SampledRow<'_>), f64)| {
            let reward = row.values.last().copied().unwrap_or(f64::NAN);
            Label { clock: row.clock, count: row.weight, value, reward, row: place }
        };
        rows.iter().enumerate().zip(values).map(label).collect()
    }
}

/// What a row is worth by plain least squares on complete rows, quickly made and good enough to see
/// whether a fit is due. What is missing is taken to be as usual.
pub(super) fn roughly(joint: &Joint) -> Option<impl Fn(&[f64]) -> f64> {
    let width = joint.columns() - 1;
    let scale: Vec<f64> = (0..width)
        .map(|j| if joint.spread(j, j) > 0.0 { 1.0 / joint.spread(j, j).sqrt() } else { 0.0 })
        .collect();
    let mut gram = Symmetric::zeros(width);
    for i in 0..width {
        (0..=i).for_each(|j| gram.set(i, j, scale[i] * scale[j] * joint.spread(i, j)));
    }
    let mut cholesky = Cholesky::default();
    if !cholesky.factor(&gram, RIDGE) {
        return None;
    }
    let mut weights: Vec<f64> = (0..width).map(|j| scale[j] * joint.spread(width, j)).collect();
    cholesky.solve(&mut weights);
    weights.iter_mut().zip(&scale).for_each(|(weight, scale)| *weight *= scale);
    let means: Vec<f64> = (0..width).map(|j| joint.mean(j)).collect();
    Some(move |row: &[f64]| {
        let present = row.iter().zip(&means).zip(&weights).filter(|((x, _), _)| !x.is_nan());
        present.map(|((x, mean), weight)| weight * (x - mean)).sum()
    })
}

/// The changes of what rewards mean, oldest first. `own` says whose labels they are, `looks` is the
/// number of labels that there were.
pub(super) fn of_rewards(mut labels: Vec<Label>, own: &Own, looks: f64) -> Vec<Changed> {
    // What is not known to be a number says nothing.
    labels.retain(|label| label.value.is_finite());
    if labels.len() < FEW {
        return Vec::new();
    }
    let Some(left) = LeftOver::of(&mut labels, own) else { return Vec::new() };
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|&at| labels[at].clock);
    let mut times = Vec::new();
    let matters = |before: f64, after: f64| (after - before).abs() >= LEAST;
    let mut series = [(); 2].map(|()| Series { cells: Vec::new(), matters });
    for cell in cells(&order, &labels) {
        times.push((labels[cell[0]].clock, labels[cell[cell.len() - 1]].clock));
        for (series, readings) in series.iter_mut().zip(&left.readings) {
            let mut cell = summed(cell.iter().map(|&at| (labels[at].count, readings[at])));
            cell.variance *= left.widened;
            series.cells.push(cell);
        }
    }
    let mut changes = told(&series, &times, looks, false, |at| (None, [Reading::Reward, Reading::Slope][at]));
    for alarm in changes.iter_mut().flat_map(|change| &mut change.alarms) {
        for reading in [&mut alarm.before, &mut alarm.after] {
            *reading = match alarm.reading {
                Reading::Slope => 1.0 + *reading * left.units[1],
                _ => *reading * left.units[0],
            };
        }
    }
    changes
}

/// Cuts labels in the order of time into cells of about as many, those of one time together: who
/// judged a round may judge all of it alike.
fn cells<'a>(order: &'a [usize], labels: &[Label]) -> Vec<&'a [usize]> {
    let least = (order.len() / CELLS).max(LEAST_OF_CELL);
    let (mut cells, mut start) = (Vec::new(), 0);
    for end in 1..=order.len() {
        let ends = end == order.len() || labels[order[end - 1]].clock < labels[order[end]].clock;
        if ends && (end - start >= least || end == order.len()) {
            cells.push(&order[start..end]);
            start = end;
        }
    }
    cells
}

/// What is left of each label's reward when what was expected is taken away.
struct LeftOver {
    /// In standard deviations, by label, and the same times the deviate of its value.
    readings: [Vec<f64>; 2],
    /// What one of each is in units of the reward, and of its slope.
    units: [f64; 2],
    /// How much more variance there was before groups and reviewers had lines of their own, which
    /// follow chance, too.
    widened: f64,
}

impl LeftOver {
    /// Of labels, which are put in order of their values; none where nothing is left.
    fn of(labels: &mut [Label], own: &Own) -> Option<Self> {
        labels.sort_by(|a, b| a.value.total_cmp(&b.value).then(a.clock.cmp(&b.clock)));
        let groups = (labels.len() / ALIKE).clamp(1, GROUPS);
        let size = labels.len().div_ceil(groups);
        let rewards: Vec<f64> = labels.iter().map(|label| label.reward).collect();
        let mut left = less_expected(labels, &rewards, size);
        // Gross errors are cut, and what that takes away from one side is made up for.
        let mut sizes: Vec<f64> = left.iter().map(|x| x.abs()).collect();
        let ninth = sizes.len() * 9 / 10;
        let far = FAR * *sizes.select_nth_unstable_by(ninth, f64::total_cmp).1;
        left.iter_mut().for_each(|x| *x = x.clamp(-far, far));
        let mut left = less_expected(labels, &left, size);
        let mut widened = 1.0;
        if !own.is_empty() {
            // What is expected of all was read with the lines of each in it, and these with what is
            // expected: each anew, from what the other leaves.
            let mut parameters = 0.0;
            for _ in 0..SWEEPS {
                left = less_expected(labels, &left, size);
                parameters = own.take_out(labels, &mut left);
            }
            let many = labels.len() as f64;
            if many - parameters < FEW as f64 {
                return None;
            }
            widened = many / (many - parameters);
        }
        let deviation = summed(labels.iter().zip(&left).map(|(label, &x)| (label.count, x))).variance.sqrt();
        if deviation <= 1e-12 * far || deviation <= 0.0 {
            return None;
        }
        left.iter_mut().for_each(|x| *x /= deviation);
        let values = summed(labels.iter().map(|label| (label.count, label.value)));
        let scale = if values.variance > 0.0 { 1.0 / values.variance.sqrt() } else { 0.0 };
        let deviate = |label: &Label| ((label.value - values.mean) * scale).clamp(-FAR_OUT, FAR_OUT);
        let along = labels.iter().zip(&left).map(|(label, x)| x * deviate(label)).collect();
        Some(LeftOver { readings: [left, along], units: [deviation, deviation * scale], widened })
    }
}

/// Numbers of labels in order of their value, less what is expected of each: the mean of its group,
/// and the slope that groups have within.
fn less_expected(labels: &[Label], numbers: &[f64], size: usize) -> Vec<f64> {
    let groups = || labels.chunks(size).zip(numbers.chunks(size));
    let means: Vec<(f64, f64)> = groups()
        .map(|(labels, numbers)| {
            let of_values = summed(labels.iter().map(|label| (label.count, label.value)));
            let of_numbers = summed(labels.iter().zip(numbers).map(|(label, &x)| (label.count, x)));
            (of_values.mean, of_numbers.mean)
        })
        .collect();
    let (mut products, mut squares) = (0.0, 0.0);
    for ((labels, numbers), mean) in groups().zip(&means) {
        for (label, x) in labels.iter().zip(numbers) {
            let deviation = label.value - mean.0;
            products += label.count * deviation * (x - mean.1);
            squares += label.count * deviation * deviation;
        }
    }
    let slope = if squares > 0.0 { products / squares } else { 0.0 };
    let mut less = Vec::with_capacity(numbers.len());
    for ((labels, numbers), mean) in groups().zip(&means) {
        let pairs = labels.iter().zip(numbers);
        less.extend(pairs.map(|(label, x)| x - mean.1 - slope * (label.value - mean.0)));
    }
    less
}

/// Number, mean and variance of weighted numbers.
fn summed(numbers: impl Iterator<Item = (f64, f64)> + Clone) -> Readings {
    let rounds: f64 = numbers.clone().map(|(count, _)| count).sum();
    let mean = numbers.clone().map(|(count, x)| count * x).sum::<f64>() / rounds;
    let variance = numbers.map(|(count, x)| count * (x - mean).powi(2)).sum::<f64>() / rounds;
    Readings { rounds, mean, variance }
}

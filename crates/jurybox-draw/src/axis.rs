//! Plot axes: the map from values to pixels, and round tick values.

use crate::number;

/// How an axis is scaled.
///
/// ```
/// use jurybox_draw::Scale;
/// assert_ne!(Scale::Linear, Scale::Log);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Linear.
    Linear,
    /// Logarithmic; points that are not positive are left out.
    Log,
}

/// One axis: maps values to pixels.
pub(crate) struct Axis {
    pub(crate) scale: Scale,
    pub(crate) low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// Values of at least this size do not widen an axis: differences between them may overflow.
const HUGE: f64 = 1e300;

impl Axis {
    /// An axis from pixel `from` to pixel `to` that spans the usable values. If linear, it includes
    /// zero unless `tight`.
    pub(crate) fn new(
        scale: Scale,
        values: impl Iterator<Item = f64>,
        from: f64,
        to: f64,
        tight: bool,
    ) -> Axis {
        let usable = values.filter(|v| v.abs() < HUGE && (scale == Scale::Linear || *v > 1.0 / HUGE));
        let (mut low, mut high) =
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        match scale {
            Scale::Linear => {
                if !tight {
                    // Included because heights, such as sums and errors, are read from zero.
                    (low, high) = (low.min(0.0), high.max(0.0));
                }
                // The axis is widened by 4% of the spread. If the values differ by rounding error
                // at most, it is widened by half their size (at least 0.5) instead.
                let spread = high - low;
                let pad = if spread > 1e-12 * low.abs().max(high.abs()) && spread > 1.0 / HUGE {
                    0.04 * spread
                } else {
                    0.5 * low.abs().max(1.0)
                };
                if tight || low < 0.0 {
                    low -= pad;
                }
                if tight || high > 0.0 || low == 0.0 {
                    high += pad;
                }
            }
            Scale::Log => {
                (low, high) =
                    if high / low < 1.5 { (low / 2.0, high * 2.0) } else { (low / 1.1, high * 1.15) };
            }
        }
        Axis { scale, low, high, from, to }
    }

    /// The pixel position of a value, at most 100 lengths of the axis from its start. None if the
    /// value is not finite, or not positive on a logarithmic axis.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            // `value / low` could overflow, so logarithms are subtracted.
            Scale::Log if value > 0.0 => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            Scale::Log => return None,
        };
        // Far beyond the edge the exact position does not matter, and viewers handle huge numbers
        // badly.
        value.is_finite().then(|| self.from + share.clamp(-100.0, 100.0) * (self.to - self.from))
    }

    /// Round numbers within the axis, with their labels.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        if self.scale == Scale::Linear {
            return self.even_ticks();
        }
        let most = ((self.to - self.from).abs() / 34.0).max(3.0) as usize;
        let enough = if most < 6 { 3 } else { 4 };
        let decades = || self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        // The fewest ticks per decade that give `enough` ticks in all; if none do, ticks are evenly
        // spaced.
        let ticks = [&[1.0][..], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]]
            .into_iter()
            .map(|steps| {
                decades()
                    .flat_map(|d| steps.iter().map(move |s| s * 10_f64.powi(d)))
                    .filter(|v| (self.low..=self.high).contains(v))
                    .map(|v| (v, number::tick(v)))
                    .collect::<Vec<_>>()
            })
            .find(|ticks| ticks.len() >= enough)
            .unwrap_or_else(|| self.even_ticks());
        // If there are more ticks than fit, only every second, third or further one is kept.
        let every = ticks.len().div_ceil(most).max(1);
        ticks.into_iter().step_by(every).collect()
    }

    fn even_ticks(&self) -> Vec<(f64, String)> {
        let rough = (self.high - self.low) / ((self.to - self.from).abs() / 55.0).clamp(3.0, 6.0);
        let power = 10_f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|m| m * power >= rough).unwrap_or(10.0) * power;
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        let values: Vec<f64> = (first..=last).take(12).map(|i| i as f64 * step).collect();
        let texts = number::ticks(&values, step);
        values.into_iter().zip(texts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(axis: &Axis) -> Vec<f64> {
        axis.ticks().into_iter().map(|tick| tick.0).collect()
    }

    #[test]
    fn ticks_are_round_numbers_within_the_axis() {
        let axis = Axis::new(Scale::Linear, [0.0, 873.0].into_iter(), 0.0, 1000.0, false);
        assert_eq!(values(&axis), [0.0, 200.0, 400.0, 600.0, 800.0]);
        let axis = Axis::new(Scale::Log, [2.0, 30_000.0].into_iter(), 0.0, 1000.0, false);
        assert_eq!(values(&axis), [10.0, 100.0, 1000.0, 10_000.0]);
        for (low, high) in [(1.0, 200.0), (1.4, 5.5), (0.62, 0.71)] {
            let ticks = Axis::new(Scale::Log, [low, high].into_iter(), 0.0, 1000.0, false).ticks();
            assert!((4..=9).contains(&ticks.len()), "{low} to {high}: {ticks:?}");
        }
    }

    #[test]
    fn a_count_starts_at_zero_and_zero_is_at_the_edge() {
        let axis = Axis::new(Scale::Linear, [20.0, 40.0].into_iter(), 0.0, 100.0, false);
        assert_eq!(axis.place(0.0), Some(0.0));
        let below = Axis::new(Scale::Linear, [-40.0, -20.0].into_iter(), 0.0, 100.0, false);
        assert_eq!(below.place(0.0), Some(100.0));
    }

    #[test]
    fn a_steep_line_leaves_the_picture_at_its_own_slope() {
        let axis = Axis::new(Scale::Linear, [0.0, 1.0].into_iter(), 0.0, 104.0, false);
        let (one, ten) = (axis.place(1.0).unwrap(), axis.place(10.0).unwrap());
        assert!((ten - 10.0 * one).abs() < 1e-9, "{one} {ten}");
    }

    #[test]
    fn strange_values_make_an_axis_all_the_same() {
        let strange = [0.0, -0.0, 5e-324, f64::MAX, f64::MIN, f64::NAN, f64::INFINITY, 1e299, -1e299, 1e-299];
        for scale in [Scale::Linear, Scale::Log] {
            for tight in [false, true] {
                for (a, b) in strange.iter().flat_map(|a| strange.iter().map(move |b| (*a, *b))) {
                    let axis = Axis::new(scale, [a, b].into_iter(), 10.0, 300.0, tight);
                    for value in strange.iter().copied().chain(values(&axis)) {
                        assert!(axis.place(value).is_none_or(f64::is_finite), "{a} {b} {value}");
                    }
                }
            }
        }
    }
}

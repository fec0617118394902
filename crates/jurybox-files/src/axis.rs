//! Axes of plots: from values to places, and the round numbers beside them.

/// How an axis is scaled.
///
/// ```
/// use jurybox_files::Scale;
/// assert_ne!(Scale::Linear, Scale::Log);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By powers of ten; points that are not positive are left out.
    Log,
}

/// One axis: values to pixels.
pub(crate) struct Axis {
    pub(crate) scale: Scale,
    pub(crate) low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    pub(crate) fn new(
        scale: Scale,
        values: impl Iterator<Item = f64>,
        from: f64,
        to: f64,
        tight: bool,
    ) -> Axis {
        let usable = values.filter(|v| v.is_finite() && (scale == Scale::Linear || *v > 0.0));
        let (mut low, mut high) =
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        match scale {
            Scale::Linear if tight => {
                let pad = if high > low { 0.04 * (high - low) } else { 0.5 };
                (low, high) = (low - pad, high + pad);
            }
            Scale::Linear => {
                // Zero belongs to the picture of a sum or an error.
                low = low.min(0.0);
                high = if high > low { high + 0.04 * (high - low) } else { low + 1.0 };
            }
            Scale::Log => {
                (low, high) =
                    if high / low < 1.5 { (low / 2.0, high * 2.0) } else { (low / 1.1, high * 1.15) };
            }
        }
        Axis { scale, low, high, from, to }
    }

    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value > 0.0 => (value / self.low).ln() / (self.high / self.low).ln(),
            Scale::Log => return None,
        };
        (value.is_finite()).then(|| self.from + share.clamp(-0.02, 1.02) * (self.to - self.from))
    }

    pub(crate) fn ticks(&self) -> Vec<f64> {
        if self.scale == Scale::Linear {
            return self.even_ticks();
        }
        let decades = || self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        // As few a decade as leave enough of them; less than a decade may have to do with even ones.
        [&[1.0][..], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]]
            .into_iter()
            .map(|steps| {
                decades()
                    .flat_map(|d| steps.iter().map(move |s| s * 10_f64.powi(d)))
                    .filter(|v| (self.low..=self.high).contains(v))
                    .collect::<Vec<f64>>()
            })
            .find(|ticks| ticks.len() >= 4)
            .unwrap_or_else(|| self.even_ticks())
    }

    fn even_ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / ((self.to - self.from).abs() / 55.0).clamp(4.0, 6.0);
        let power = 10_f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|m| m * power >= rough).unwrap_or(10.0) * power;
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step).floor() as i64);
        (first..=last).map(|i| i as f64 * step).collect()
    }
}

/// A tick's number: plain where that is short, thousands with a k otherwise.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1e6 || (size > 0.0 && size < 1e-3) {
        return format!("{value:.0e}");
    }
    if size >= 1000.0 {
        return format!("{}k", trimmed(value / 1000.0));
    }
    trimmed(value)
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_within_the_axis() {
        let axis = Axis::new(Scale::Linear, [0.0, 873.0].into_iter(), 0.0, 1000.0, false);
        assert_eq!(axis.ticks(), [0.0, 200.0, 400.0, 600.0, 800.0]);
        let axis = Axis::new(Scale::Log, [2.0, 30_000.0].into_iter(), 0.0, 1000.0, false);
        assert_eq!(axis.ticks(), [10.0, 100.0, 1000.0, 10_000.0]);
        for (low, high) in [(1.0, 200.0), (1.4, 5.5), (0.62, 0.71)] {
            let ticks = Axis::new(Scale::Log, [low, high].into_iter(), 0.0, 1000.0, false).ticks();
            assert!((4..=9).contains(&ticks.len()), "{low} to {high}: {ticks:?}");
        }
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in
            [(0.0, "0"), (2.5, "2.5"), (2500.0, "2.5k"), (15_000.0, "15k"), (2e6, "2e6"), (1e-4, "1e-4")]
        {
            assert_eq!(number(value), text);
        }
    }
}

//! How far a row like those that a log has not met could move a figure.
//!
//! Where rewards are rare, or a few of them are worth most, and weights are heavy, a figure moves in jumps: one row more or less.
//! Student's interval measures the spread of the jumps that were met, and a log that met none of them has none to measure. What
//! can be said beforehand is how large a jump is: the weight that such rows carry times what a reward can be away from what
//! is expected of it.

/// The size of a jump, down and up, in units of the figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MaxInfluence {
    pub(crate) down: f64,
    pub(crate) up: f64,
}

impl MaxInfluence {
    /// From the weights in the figure with the chance of each to be met, from what rewards were away from what was expected
    /// of them, and from how far the ends of the rewards' range are away from it.
    ///
    /// Sizes are third over second moments, which is what skewness has to do with variance in a sum of rare jumps. One row at
    /// the end of the range is counted among the rewards: in a log without a single yes it is all there is.
    pub(crate) fn of(
        weights: impl Iterator<Item = (f64, f64)>,
        surprises: impl Iterator<Item = f64>,
        (to_low, to_high): (f64, f64),
    ) -> MaxInfluence {
        let moments =
            |sum: (f64, f64), (chance, x): (f64, f64)| (sum.0 + chance * x * x, sum.1 + chance * x.powi(3));
        let size = |(square, cube): (f64, f64)| if square > 0.0 { cube.max(0.0) / square } else { 0.0 };
        let weight = size(weights.fold((0.0, 0.0), moments));
        let met = surprises.map(|x| (1.0, x)).fold((0.0, 0.0), moments);
        let surprise = |sign: f64, end: f64| size(moments((met.0, sign * met.1), (1.0, end.max(0.0))));
        MaxInfluence { down: weight * surprise(-1.0, to_low), up: weight * surprise(1.0, to_high) }
    }

    /// Of the sum of two figures: the larger of their jumps.
    pub(crate) fn with(self, other: MaxInfluence) -> MaxInfluence {
        MaxInfluence { down: self.down.max(other.down), up: self.up.max(other.up) }
    }

    /// Of the figure with its sign changed.
    pub(crate) fn negated(self) -> MaxInfluence {
        MaxInfluence { down: self.up, up: self.down }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_single_yes_a_jump_is_the_weight_of_a_yes() {
        let weights = || [(0.5, 4.0), (0.5, 4.0)].into_iter();
        let never = MaxInfluence::of(weights(), [0.0; 100].into_iter(), (0.0, 1.0));
        assert_eq!(never, MaxInfluence { down: 0.0, up: 4.0 });
        // Heavy weights count by the cube of their size.
        let uneven = MaxInfluence::of([(1.0, 1.0), (0.1, 10.0)].into_iter(), [0.0].into_iter(), (0.0, 1.0));
        assert!((uneven.up - 101.0 / 11.0).abs() < 1e-12);
    }

    #[test]
    fn many_even_surprises_are_no_jump() {
        let even = (0..1000).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 });
        let max_influence = MaxInfluence::of([(1.0, 3.0)].into_iter(), even, (2.0, 2.0));
        assert!(max_influence.up < 0.03 && max_influence.down < 0.03, "{max_influence:?}");
        assert_eq!(
            MaxInfluence::of(std::iter::empty(), std::iter::empty(), (1.0, 1.0)),
            MaxInfluence { down: 0.0, up: 0.0 }
        );
    }
}

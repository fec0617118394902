//! The largest influence that one more row could have on an estimate, for intervals of rare
//! rewards.
//!
//! With rare rewards and large weights, a single row can change an estimate much. Student's
//! interval estimates the spread from the rows in the log. A log without such a row shows too
//! little spread, so that its interval is too narrow. The size of such a change is known
//! beforehand: the weight of a row times the distance of a possible reward from the expected one.

/// The largest change that one row could make to an estimate, downwards and upwards, in the
/// estimate's unit. Both are zero or more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MaxInfluence {
    pub(crate) down: f64,
    pub(crate) up: f64,
}

impl MaxInfluence {
    /// Computes the influence. `weights` has the probability and the weight of each row,
    /// `surprises` the reward minus the expected reward of each reviewed row. The last argument has
    /// the distances of the expected reward from the ends of the reward range.
    ///
    /// The influence is a typical weight times a typical surprise. Both are third moments divided
    /// by second moments, as in the skewness of a compound Poisson sum; a negative third moment
    /// counts as zero. On each side, one surprise is added, the full distance to the end of the
    /// range, because a log may have no reward other than the expected one.
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

    /// The influence of a row on the sum of two estimates, taken as the larger of their influences.
    pub(crate) fn with(self, other: MaxInfluence) -> MaxInfluence {
        MaxInfluence { down: self.down.max(other.down), up: self.up.max(other.up) }
    }

    /// The influence on the estimate with its sign reversed.
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
        // The typical weight is (1 + 0.1 * 1000) / (1 + 0.1 * 100): heavy weights dominate.
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

//! Confidence sequences for the mean of a list, from some examined items: bounds that hold
//! at all times together. They may be looked at every day, and examining may stop because of them.
//!
//! Item i has a worth y in [0, 1] and is examined with a known probability p, independently of the
//! others. Let x = y / p if it is examined, else 0, so that x has mean y. For every fixed bet b the
//! product of (1 - b x) / (1 - b y) over the items is a martingale of mean 1. It is non-negative if
//! b is at most the smallest p. It then ever exceeds 1/a with probability at most a (Ville 1939).
//! The lower bound uses negative b.
//!
//! The y are unknown. Let m be the mean of the n values y. Because the logarithm is concave, (1 - b
//! m)^n is at least the product of the denominators. The capital of the bet b is the product of the
//! numerators over (1 - b m)^n. A mean m for which the capital exceeds 1/a is ruled out.
//!
//! Several bets share a starting capital of 1, and the sum of their capitals is compared with 1/a.
//! Large bets are good while little was found, small bets when much was. References: Howard et al.
//! 2021, Waudby-Smith and Ramdas 2024, and with weights Waudby-Smith et al. 2024.

/// Bets as shares of the smallest probability, with their starting capital. Each bet is 0.6 of the
/// one before.
const BETS: [(f64, f64); 10] = [
    (1.0, 0.28),
    (0.6, 0.08),
    (0.36, 0.08),
    (0.216, 0.08),
    (0.129_6, 0.08),
    (0.077_76, 0.08),
    (0.046_656, 0.08),
    (0.027_993_6, 0.08),
    (0.016_796_16, 0.08),
    (0.010_077_696, 0.08),
];

/// An upper bound on the mean worth of `items` items, each examined with probability at least
/// `least_probability`. `found` has worth (0 to 1) and probability of each examined item; items of
/// equal probability may be summed. While a list grows, the mean ever exceeds the bound with
/// probability at most `risk`.
///
/// ```
/// use jurybox::toolbox::greatest_mean;
/// // Of 10,000 items one in ten was looked at, and nothing was found.
/// let most = greatest_mean(std::iter::empty(), 10_000.0, 0.1, 0.05);
/// assert!(0.003 < most && most < 0.005); // 95% at this moment alone would be 3 of 1,000
/// // 50 found: 500 among all, give or take.
/// let most = greatest_mean(std::iter::repeat_n((1.0, 0.1), 50), 10_000.0, 0.1, 0.05);
/// assert!(0.05 < most && most < 0.08);
/// ```
#[expect(clippy::needless_pass_by_value, reason = "so are iterators passed")]
pub fn greatest_mean(
    found: impl Iterator<Item = (f64, f64)> + Clone,
    items: f64,
    least_probability: f64,
    risk: f64,
) -> f64 {
    let won = won(&found, -least_probability);
    let is_ruled_out = |mean: f64| capital(&won, items, mean) >= 1.0 / risk;
    if is_ruled_out(1.0) { halved(0.0, 1.0, is_ruled_out) } else { 1.0 }
}

/// A lower bound on the mean worth; see [`greatest_mean`] for the arguments.
///
/// ```
/// use jurybox::toolbox::least_mean;
/// let least = least_mean(std::iter::repeat_n((1.0, 0.1), 50), 10_000.0, 0.1, 0.05);
/// assert!(0.025 < least && least < 0.05);
/// assert_eq!(least_mean(std::iter::empty(), 10_000.0, 0.1, 0.05), 0.0);
/// ```
#[expect(clippy::needless_pass_by_value, reason = "so are iterators passed")]
pub fn least_mean(
    found: impl Iterator<Item = (f64, f64)> + Clone,
    items: f64,
    least_probability: f64,
    risk: f64,
) -> f64 {
    // The bets have the same sizes as for the upper bound. The capital decreases with the mean.
    let won = won(&found, least_probability);
    let is_left = |mean: f64| capital(&won, items, mean) < 1.0 / risk;
    if is_left(0.0) { 0.0 } else { halved(0.0, 1.0, is_left) }
}

/// Each bet b as -b, with its log capital up to a term that depends on the mean.
fn won(found: &(impl Iterator<Item = (f64, f64)> + Clone), whole: f64) -> [(f64, f64); BETS.len()] {
    BETS.map(|(share, start)| {
        let bet = share * whole;
        // By concavity, a worth between 0 and 1 adds at least its share of what a worth of 1 adds.
        // The argument of the logarithm is negative only by rounding.
        let term = |(worth, probability): (f64, f64)| worth * (1.0 + bet / probability).max(0.0).ln();
        (bet, start.ln() + found.clone().filter(|(worth, _)| *worth > 0.0).map(term).sum::<f64>())
    })
}

/// The capital of all bets together if the mean is `mean`.
fn capital(won: &[(f64, f64)], items: f64, mean: f64) -> f64 {
    won.iter().map(|(bet, won)| (won - items * (bet * mean).ln_1p()).exp()).sum()
}

/// Bisection for the smallest number from which on a monotone predicate is true.
fn halved(mut low: f64, mut high: f64, is_true: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if is_true(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolbox::hash_number;

    struct Dice(u64, u64);

    impl Dice {
        fn roll(&mut self) -> f64 {
            self.1 += 1;
            hash_number(self.0, self.1) as f64 / 2_f64.powi(64)
        }
    }

    #[test]
    fn the_capital_to_start_with_is_one() {
        let all: f64 = BETS.iter().map(|(_, start)| start).sum();
        assert!((all - 1.0).abs() < 1e-12);
    }

    /// With everything examined and nothing found, the largest bet alone rules out m where 0.28 /
    /// (1 - m)^n reaches 1 / 0.05. The other bets make the bound slightly smaller.
    #[test]
    fn nothing_found_has_a_closed_form() {
        let most = greatest_mean(std::iter::empty(), 100.0, 1.0, 0.05);
        let whole_bet = 1.0 - (0.05_f64 * 0.28).powf(0.01);
        assert!(most < whole_bet && most > 0.8 * whole_bet, "{most} {whole_bet}");
        assert_eq!(greatest_mean(std::iter::empty(), 1.0, 0.01, 0.05), 1.0);
    }

    /// The bounds of a growing list are looked at after every 50 items. In at most about 5% of the
    /// simulated lists the mean lies outside at any of these times.
    #[test]
    fn it_holds_at_every_moment_at_once() {
        for (worth, chances) in
            [(0.01, [0.1, 0.1]), (0.05, [0.1, 0.1]), (0.3, [0.2, 0.2]), (0.05, [0.05, 0.6])]
        {
            let (worlds, mut broken, mut tightness) = (400, 0, 0.0);
            for seed in 0..worlds {
                let (mut dice, mut found, mut sum, mut ever) = (Dice(seed, 0), Vec::new(), 0.0, false);
                for item in 0..3000_u32 {
                    // Worth comes in waves, and is more common in the half that is examined with
                    // the second probability.
                    let high = dice.roll() < 0.5;
                    let now = if item / 500 % 2 == 0 { 1.5 * worth } else { 0.5 * worth };
                    let worthy = dice.roll() < if high { 1.2 * now } else { 0.8 * now };
                    let chance = chances[usize::from(high)];
                    sum += f64::from(u8::from(worthy));
                    if dice.roll() < chance && worthy {
                        found.push((1.0, chance));
                    }
                    if item % 50 == 49 {
                        let items = f64::from(item + 1);
                        let least = chances[0].min(chances[1]);
                        let mean = sum / items;
                        ever |= greatest_mean(found.iter().copied(), items, least, 0.025) < mean;
                        ever |= least_mean(found.iter().copied(), items, least, 0.025) > mean;
                    }
                }
                broken += u64::from(ever);
                let most = greatest_mean(found.iter().copied(), 3000.0, chances[0].min(chances[1]), 0.05);
                tightness += most / (sum / 3000.0).max(1e-3) / worlds as f64;
            }
            // 5% of 400 are 20; more than 33 occur with probability 1 in 500.
            assert!(broken <= 33, "{worth} {chances:?}: {broken}");
            assert!(tightness < 6.0, "{worth} {chances:?}: {tightness}");
        }
    }
}

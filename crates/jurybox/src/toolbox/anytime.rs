//! How much there can be of what only some items were looked at for: bounds that hold at every moment at once, so that whoever looks
//! every day, and stops when the figure pleases, is told nothing false.
//!
//! Item i is worth y between 0 and 1 and was looked at with a known probability p, whatever the other items are; x = y / p where it was
//! looked at, and else 0. The mean of x is y. So for every fixed bet b the product of (1 - b x) / (1 - b y) over the items is a fair game,
//! nobody's capital in which ever reaches 1/a with a chance of more than a (Ville 1939). It must not become negative: b is at most the
//! least p (to the other side, x is worth more and b has no bound). The y are not known; but their logarithms bend down, so that (1 - b m)^n, m being their mean, is at least the product of the
//! denominators, and a mean that would have made somebody rich is ruled out. Several bets share the capital to start with: large ones
//! are good while little was found, small ones when much was. (Howard et al. 2021, Waudby-Smith and Ramdas 2024; with weights,
//! Waudby-Smith et al. 2024.)

/// Bets, as shares of the least probability, each .6 of the one before; and what each starts with.
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

/// The greatest mean worth that so many items can have, each of which was looked at with at least `least_probability`; `found` has the
/// worth (from 0 to 1) and the probability of those that were looked at, or sums of worth where probabilities are the same. The mean is
/// above it at any time at all, over the whole life of a list of items that grows, with a probability of at most `risk`.
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

/// The least mean worth that they can have: the mean is below it at any time at all with a probability of at most `risk`.
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
    // Nobody bets on more, so that the capital falls with the mean.
    let won = won(&found, least_probability);
    let is_left = |mean: f64| capital(&won, items, mean) < 1.0 / risk;
    if is_left(0.0) { 0.0 } else { halved(0.0, 1.0, is_left) }
}

/// What each bet on so large a share has won so far, but for what depends on the mean.
fn won(found: &(impl Iterator<Item = (f64, f64)> + Clone), whole: f64) -> [(f64, f64); BETS.len()] {
    BETS.map(|(share, start)| {
        let bet = share * whole;
        // A worth between 0 and 1 wins at least its share of what 1 would. Only rounding could lose more than everything.
        let term = |(worth, probability): (f64, f64)| worth * (1.0 + bet / probability).max(0.0).ln();
        (bet, start.ln() + found.clone().filter(|(worth, _)| *worth > 0.0).map(term).sum::<f64>())
    })
}

/// What all have together if the mean is this.
fn capital(won: &[(f64, f64)], items: f64, mean: f64) -> f64 {
    won.iter().map(|(bet, won)| (won - items * (bet * mean).ln_1p()).exp()).sum()
}

/// Where something begins to be true that goes on being so.
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

    /// With everything looked at and nothing found, the whole bet is at stake: 0.28 / (1 - m)^n reaches 20.
    #[test]
    fn nothing_found_has_a_closed_form() {
        let most = greatest_mean(std::iter::empty(), 100.0, 1.0, 0.05);
        let whole_bet = 1.0 - (0.05_f64 * 0.28).powf(0.01);
        assert!(most < whole_bet && most > 0.8 * whole_bet, "{most} {whole_bet}");
        assert_eq!(greatest_mean(std::iter::empty(), 1.0, 0.01, 0.05), 1.0);
    }

    /// A list of items that grows, and somebody who asks after every fifty: the mean of the items so far is outside at any of these
    /// moments in at most 5 of 100 worlds.
    #[test]
    fn it_holds_at_every_moment_at_once() {
        for (worth, chances) in
            [(0.01, [0.1, 0.1]), (0.05, [0.1, 0.1]), (0.3, [0.2, 0.2]), (0.05, [0.05, 0.6])]
        {
            let (worlds, mut broken, mut tightness) = (400, 0, 0.0);
            for seed in 0..worlds {
                let (mut dice, mut found, mut sum, mut ever) = (Dice(seed, 0), Vec::new(), 0.0, false);
                for item in 0..3000_u32 {
                    // Worth comes and goes, and is found in the half that is looked at more often.
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
            // 5% of 400 are 20; more than 33 come by a chance of one in 500.
            assert!(broken <= 33, "{worth} {chances:?}: {broken}");
            assert!(tightness < 6.0, "{worth} {chances:?}: {tightness}");
        }
    }
}

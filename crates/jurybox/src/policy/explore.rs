//! Exploration by slots, with exact inclusion probabilities.
//!
//! With probability `eps` a round explores. Then `slots` of its K picks are drawn uniformly from
//! **all** items, and the rest are the best of the remaining items. With `slots = K`, the default,
//! the whole round is a uniform draw, as in Algs. 1 and 3 of "Top K Ranking for Multi-Armed Bandit
//! with Noisy Evaluations". The draw comes first, so the explored items are a uniform sample of all
//! items for any number of slots.
//!
//! Consider an exploring round with m slots and n items, and the item of greedy rank `rho` (1 is
//! best). It is drawn with probability m/n. If it is not drawn, it is picked when at least `rho -
//! (K - m)` of the `rho - 1` better items were drawn: a hypergeometric tail. Tied items have the
//! average over their ranks.

use crate::pick::{Pick, Receipt};
use crate::rank::TieRank;
use crate::scratch::Scratch;
use rand::{Rng, RngExt};

/// How picks are drawn at random.
///
/// ```
/// use jurybox::Exploration;
/// let whole_round = Exploration { eps: 0.1, slots: None };
/// assert_eq!(whole_round.slots_of(10), 10);
/// assert_eq!(Exploration { eps: 1.0, slots: Some(2) }.slots_of(10), 2);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exploration {
    /// The probability that a round explores.
    pub eps: f64,
    /// The number of picks that an exploring round draws at random; `None` means all.
    pub slots: Option<usize>,
}

impl Exploration {
    /// Purely greedy.
    pub(crate) const NONE: Exploration = Exploration { eps: 0.0, slots: None };

    /// The number of picks drawn at random in an exploring round of K picks.
    pub fn slots_of(&self, k: usize) -> usize {
        self.slots.unwrap_or(k).min(k)
    }

    /// The probability that an item with this rank in the greedy order is picked.
    fn probability(self, place: TieRank, k: usize, items: usize) -> f64 {
        let greedy = place.share_of_top(k);
        if self.eps == 0.0 {
            return greedy;
        }
        (1.0 - self.eps) * greedy + self.eps * exploring(place, k, items, self.slots_of(k))
    }
}

/// The probability of being picked in an exploring round, averaged over the ranks of a tie.
fn exploring(place: TieRank, k: usize, items: usize, slots: usize) -> f64 {
    if slots == items {
        return 1.0;
    }
    let drawn = slots as f64 / items as f64;
    let greedy_places = k - slots;
    if greedy_places == 0 {
        return drawn; // the usual case: a whole round explores, and every rank has the same chance
    }
    let (first, last) = (place.above + 1, place.above + place.tied);
    let mut sum = 0.0;
    // Ranks up to K - m are always picked, and ranks beyond K only if drawn. In between, the
    // hypergeometric tail decides.
    sum += last.min(greedy_places).saturating_sub(first - 1) as f64;
    sum += drawn * last.saturating_sub(k.max(first - 1)) as f64;
    for rank in first.max(greedy_places + 1)..=last.min(k) {
        sum += drawn + (1.0 - drawn) * hypergeometric_tail(items - 1, rank - 1, slots, rank - greedy_places);
    }
    sum / place.tied as f64
}

/// P(X >= at_least), where X is the number of marked items among `draws` items drawn without
/// replacement. `marked` of the `total` items are marked.
fn hypergeometric_tail(total: usize, marked: usize, draws: usize, at_least: usize) -> f64 {
    let log_factorial = |n: usize| libm::lgamma(n as f64 + 1.0);
    let log_choose = |n: usize, r: usize| log_factorial(n) - log_factorial(r) - log_factorial(n - r);
    let highest = marked.min(draws);
    if at_least > highest {
        return 0.0;
    }
    let lowest = draws.saturating_sub(total - marked).max(at_least);
    let all = log_choose(total, draws);
    let mass = |x: usize| (log_choose(marked, x) + log_choose(total - marked, draws - x) - all).exp();
    (lowest..=highest).map(mass).sum::<f64>().min(1.0)
}

/// Picks K items by `scratch.values` into `scratch.picks`: the greedy picks, best first, then the
/// explored ones.
pub(crate) fn choose<R: Rng + ?Sized>(
    exploration: Exploration,
    k: usize,
    rng: &mut R,
    scratch: &mut Scratch,
) {
    let items = scratch.values.len();
    let tie_seed = rng.next_u64();
    let exploring = exploration.eps > 0.0 && rng.random::<f64>() < exploration.eps;
    scratch.drawn.clear();
    if exploring {
        draw(exploration.slots_of(k), items, rng, &mut scratch.drawn);
    }
    let mut clear = false;
    if scratch.drawn.is_empty() {
        clear = scratch.top.fill(k, tie_seed, &scratch.values);
    } else {
        scratch.top.reset(k - scratch.drawn.len(), tie_seed);
        for (item, &value) in scratch.values.iter().enumerate() {
            if scratch.drawn.binary_search(&item).is_err() {
                scratch.top.push(item as u64, value);
            }
        }
    }
    // All items of the top K have the same probability under two conditions. No tie crosses the
    // border, and exploring rounds, if there are any, draw all their picks.
    let alike = clear && (exploration.eps == 0.0 || exploration.slots_of(k) == k);
    let of_top = exploration.probability(TieRank { above: 0, tied: 1 }, k, items);
    let places = (!alike).then(|| ValueRanks::new(&scratch.values, k, &mut scratch.numbers));
    let probability = |value: f64| match &places {
        None => of_top,
        Some(places) => exploration.probability(places.of(value), k, items),
    };
    let mut slots = PickSlots::new(&mut scratch.picks, k);
    for ranked in scratch.top.sorted() {
        slots.push(ranked.item as usize, probability(ranked.value), false);
    }
    for &item in &scratch.drawn {
        slots.push(item, probability(scratch.values[item]), true);
    }
}

/// The probability of each item under [`choose`], into `scratch.probabilities`.
pub(crate) fn inclusion(exploration: Exploration, k: usize, scratch: &mut Scratch) {
    let Scratch { values, probabilities, numbers, .. } = scratch;
    let places = ValueRanks::new(values, values.len(), numbers);
    probabilities.clear();
    probabilities.extend(values.iter().map(|&v| exploration.probability(places.of(v), k, values.len())));
}

/// The inclusion probabilities if, with probability `chance`, one of the items `first`, each
/// equally likely, is moved to the top of the greedy order.
pub(crate) fn inclusion_with_one_first(
    exploration: Exploration,
    k: usize,
    first: &[usize],
    chance: f64,
    scratch: &mut Scratch,
) {
    let Scratch { values, probabilities, numbers, .. } = scratch;
    let places = ValueRanks::new(values, values.len(), numbers);
    let each = chance / first.len() as f64;
    probabilities.clear();
    probabilities.extend(values.iter().enumerate().map(|(item, &value)| {
        let place = places.of(value);
        let behind = |other: &usize| {
            let (one, tie) = (usize::from(values[*other] <= value), usize::from(values[*other] == value));
            let moved = TieRank { above: place.above + one, tied: place.tied - tie };
            let place = if *other == item { TieRank { above: 0, tied: 1 } } else { moved };
            exploration.probability(place, k, values.len())
        };
        let plain = exploration.probability(place, k, values.len());
        let looking: f64 = first.iter().map(behind).sum();
        ((1.0 - chance) * plain + each * looking).min(1.0) // parts of 1 may round to more
    }));
}

/// Finds the ranks of values. With few values and queries, each query counts through the values;
/// otherwise it searches a sorted copy.
enum ValueRanks<'a> {
    Count(&'a [f64]),
    Sorted(&'a [f64]),
}

impl<'a> ValueRanks<'a> {
    fn new(values: &'a [f64], questions: usize, buffer: &'a mut Vec<f64>) -> Self {
        if values.len().saturating_mul(questions) <= 1 << 14 {
            return ValueRanks::Count(values);
        }
        buffer.clear();
        buffer.extend_from_slice(values);
        buffer.sort_unstable_by(|a, b| b.total_cmp(a));
        ValueRanks::Sorted(buffer)
    }

    fn of(&self, value: f64) -> TieRank {
        match self {
            ValueRanks::Count(values) => TieRank::of(value, values),
            ValueRanks::Sorted(sorted) => {
                let above = sorted.partition_point(|&v| v > value);
                TieRank { above, tied: sorted[above..].partition_point(|&v| v == value) }
            }
        }
    }
}

/// `m` different items out of `items`, uniformly and ascending (selection sampling, Knuth's
/// Algorithm S).
fn draw<R: Rng + ?Sized>(m: usize, items: usize, rng: &mut R, out: &mut Vec<usize>) {
    for item in 0..items {
        let (wanted, left) = (m - out.len(), items - item);
        if wanted == 0 {
            return;
        }
        if rng.random_range(0..left) < wanted {
            out.push(item);
        }
    }
}

/// Overwrites the entries of a vector of picks, to reuse their memory.
pub(crate) struct PickSlots<'a> {
    picks: &'a mut Vec<Pick>,
    used: usize,
}

impl<'a> PickSlots<'a> {
    pub(crate) fn new(picks: &'a mut Vec<Pick>, k: usize) -> Self {
        picks.resize(k, Pick { item: 0, receipt: Receipt::default() });
        PickSlots { picks, used: 0 }
    }

    /// Writes the next pick and returns its receipt, so that a policy can fill further fields.
    pub(crate) fn push(&mut self, item: usize, inclusion_probability: f64, explored: bool) -> &mut Receipt {
        let pick = &mut self.picks[self.used];
        self.used += 1;
        pick.item = item;
        pick.receipt.inclusion_probability = inclusion_probability;
        pick.receipt.explored = explored;
        pick.receipt.advice.clear();
        pick.receipt.bonus.clear();
        &mut pick.receipt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_of_all_ranks_sum_to_k() {
        for items in [3_usize, 7, 30] {
            for k in 1..=items {
                for slots in 0..=k {
                    let total: f64 =
                        (0..items).map(|above| exploring(TieRank { above, tied: 1 }, k, items, slots)).sum();
                    assert!((total - k as f64).abs() < 1e-9, "{items} {k} {slots}: {total}");
                    let tied = exploring(TieRank { above: 0, tied: items }, k, items, slots);
                    assert!((tied - k as f64 / items as f64).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn places_are_the_same_counted_and_sorted() {
        let values: Vec<f64> = (0..200).map(|i| f64::from(i * 7 % 31)).collect();
        let mut buffer = Vec::new();
        let sorted = ValueRanks::new(&values, 1 << 14, &mut buffer);
        for &value in &values {
            assert_eq!(sorted.of(value), TieRank::of(value, &values));
        }
    }

    #[test]
    fn the_tail_is_right_in_a_case_done_by_hand() {
        // 5 items, 2 marked, 2 drawn: P(X >= 1) = 1 - C(3,2)/C(5,2) = 0.7, P(X >= 2) = 0.1.
        assert!((hypergeometric_tail(5, 2, 2, 1) - 0.7).abs() < 1e-12);
        assert!((hypergeometric_tail(5, 2, 2, 2) - 0.1).abs() < 1e-12);
        assert_eq!(hypergeometric_tail(5, 2, 2, 3), 0.0);
        assert!((hypergeometric_tail(5, 2, 2, 0) - 1.0).abs() < 1e-12);
    }
}

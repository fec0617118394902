//! `exp4p`: Exp4.P (Beygelzimer et al. 2011), which follows evaluators as experts by importance
//! weighting.
//!
//! **The idea.** In a round of n items each evaluator advises the uniform distribution on its own
//! top K; ties at the border share. The advice of J evaluators is mixed by exponential weights of
//! their estimated gains plus a bonus for uncertainty. Every item also gets at least `p_min =
//! min(sqrt(ln J / (n T)), 1 / n)`, where T is the number of rounds. K items are then drawn so that
//! item i, with probability `p_i` in the mix, has inclusion probability exactly `pi_i = K p_i`. A
//! reward r counts as `r / pi_i`, which is unbiased for every evaluator.
//!
//! **Assumes** nothing about how scores arise. Rewards have a known range (`low`, `high`; rewards
//! outside it are clamped and counted: [`Seen::out_of_range`](crate::Seen::out_of_range)). It aims
//! at the best single evaluator, which may be far from the best combination. It is a baseline in
//! "Top K Ranking for Multi-Armed Bandit with Noisy Evaluations". **Costs** a top K for each
//! evaluator in a round. The state is two numbers per evaluator.
//!
//! **The bonus** of evaluator j for a round is `sum_i advice_j(i) / p_i`, where `advice_j(i)` is
//! the probability of item i in its advice. It stands for the variance of the estimated gain. It is
//! known only when picking, so each of the K receipts carries an equal part of it. The parts add up
//! to the bonus, whatever was drawn and in whatever order rewards come. A reward that never comes
//! adds neither to the gain nor to its variance.

use super::explore::PickSlots;
use super::rand::{column, mean_rank};
use super::{Entry, Links, Needs, OptionEntry, OptionKind, Policy, Rank};
use crate::estimate::{Statistic, add_all, are_sums, are_sums_of_squares, selected};
use crate::link::Link;
use crate::options::{Count, Finite, Fraction};
use crate::pick::{Example, Receipt};
use crate::rank::shares_of_top;
use crate::scores::{LIMIT, Scores};
use crate::scratch::Scratch;
use crate::seen::Seen;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// `horizon`: the number of rounds T; the rounds so far when not set. `delta`: the probability that
/// the guarantee fails, 0.05. `low`, `high`: the range of the rewards, 0 to 1.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Options {
    horizon: Option<Count>,
    delta: Option<Fraction>,
    low: Option<Finite>,
    high: Option<Finite>,
}

const OPTIONS: &[OptionEntry] = &[
    OptionEntry {
        name: "horizon",
        kind: OptionKind::Count,
        default: "none",
        range: "from 1 on",
        help: "the number of rounds T; the rounds so far when not set",
        without: &[],
    },
    OptionEntry {
        name: "delta",
        kind: OptionKind::Number,
        default: "0.05",
        range: "strictly between 0 and 1",
        help: "the guarantee may fail with this probability",
        without: &[],
    },
    OptionEntry {
        name: "low",
        kind: OptionKind::Number,
        default: "0",
        range: "below high",
        help: "the lowest reward; lower ones count as this",
        without: &[],
    },
    OptionEntry {
        name: "high",
        kind: OptionKind::Number,
        default: "1",
        range: "above low",
        help: "the highest reward; higher ones count as this",
        without: &[],
    },
];

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    /// Per evaluator: the sum of importance-weighted rewards of the items that it advised.
    gain: Vec<f64>,
    /// Per evaluator: the sum of bonuses, a bound on the variance of `gain`.
    variance: Vec<f64>,
}

#[derive(Debug, Clone)]
pub(crate) struct Exp4p {
    horizon: Option<u64>,
    delta: f64,
    low: f64,
    high: f64,
    state: State,
}

impl Policy for Exp4p {
    const ENTRIES: &'static [Entry] = &[Entry {
        name: "exp4p",
        links: Links::Identity,
        needs: Needs::Advice,
        assumes: "nothing but rewards in a known range; learns which single evaluator to follow, by importance weights",
        paper: "baseline Exp4.P, Beygelzimer et al. 2011",
        options: OPTIONS,
    }];
    type Options = Options;
    type State = State;
    type Rank = Mix;

    fn create(_: &Entry, _: Link, options: Options, evaluators: usize) -> Result<Self, String> {
        let (low, high) = (options.low.map_or(0.0, Finite::get), options.high.map_or(1.0, Finite::get));
        if low >= high {
            return Err(format!("low = {low} is not below high = {high}"));
        }
        Ok(Exp4p {
            horizon: options.horizon.map(Count::get),
            delta: options.delta.map_or(0.05, Fraction::get),
            low,
            high,
            state: State { gain: vec![0.0; evaluators], variance: vec![0.0; evaluators] },
        })
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    /// Adds the importance-weighted reward and the bonus of a pick. Examples without advice are not
    /// learnt from.
    fn learn(&mut self, example: &Example<'_>, _: u64) -> bool {
        let Some(receipt) = example.receipt.filter(|receipt| !receipt.advice.is_empty()) else {
            return false;
        };
        let reward = ((example.reward - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        let pi = receipt.inclusion_probability;
        for (gain, advice) in self.state.gain.iter_mut().zip(&receipt.advice) {
            *gain += advice * reward / pi;
        }
        add_all(&mut self.state.variance, &receipt.bonus);
        true
    }

    fn is_outside(&self, reward: f64) -> bool {
        !(self.low..=self.high).contains(&reward)
    }

    fn check_receipt(&self, example: &Example<'_>) -> Option<String> {
        let Receipt { advice, bonus, inclusion_probability, .. } = example.receipt?;
        let expected = self.state.gain.len();
        for (what, given) in [("advice", advice), ("a bonus", bonus)] {
            // A receipt without advice and bonus is not refused: its example is just not learnt
            // from.
            let none = advice.is_empty() && bonus.is_empty();
            if !none && given.len() != expected {
                return Some(format!("{what} for {} evaluators where the jury has {expected}", given.len()));
            }
        }
        if let Some(j) = advice.iter().position(|a| !(0.0..=1.0).contains(a)) {
            return Some(format!("advice {:?} of evaluator #{j} is not a share between 0 and 1", advice[j]));
        }
        // Rewards are divided by it and then summed, which must not overflow.
        if !advice.is_empty() && inclusion_probability.recip() > LIMIT {
            return Some(format!(
                "inclusion probability {inclusion_probability:?} is too small to divide by"
            ));
        }
        let j = bonus.iter().position(|b| !(0.0..=LIMIT).contains(b))?;
        Some(format!("bonus {:?} of evaluator #{j} is not zero or a positive number within 1e100", bonus[j]))
    }

    fn buffer(&self) -> Mix {
        Mix { rounds: 1.0, delta: self.delta, gain: Vec::new(), variance: Vec::new() }
    }

    fn fit(&self, into: &mut Mix) {
        into.gain.clone_from(&self.state.gain);
        into.variance.clone_from(&self.state.variance);
    }

    fn count(&self, seen: &Seen, into: &mut Mix) {
        into.rounds = self.horizon.unwrap_or(seen.rounds.saturating_add(1)) as f64;
    }
}

/// The fit, which draws from the mixture of advice. The weights of the mixture also depend on the
/// number of items.
#[derive(Debug, Clone)]
pub(crate) struct Mix {
    rounds: f64,
    delta: f64,
    gain: Vec<f64>,
    variance: Vec<f64>,
}

impl Rank for Mix {
    /// The Borda count weighted by trust, for callers that need one fixed order of the items.
    fn values(&self, scores: &Scores<'_>, scratch: &mut Scratch) {
        self.trust(scores.items(), &mut scratch.numbers);
        mean_rank(scores, &scratch.numbers, &mut scratch.values);
    }

    fn leaves_to_chance(&self) -> bool {
        true
    }

    fn picks_by_values(&self) -> bool {
        false
    }

    fn choose<R: Rng + ?Sized>(&self, scores: &Scores<'_>, k: usize, rng: &mut R, scratch: &mut Scratch) {
        self.inclusion(scores, k, scratch);
        systematic(&scratch.probabilities, k, rng.random(), &mut scratch.drawn);
        let (items, evaluators) = (scores.items(), scores.evaluators());
        // `inclusion` has left the advice of all evaluators in `scratch.inverse`, one after the
        // other.
        let bonus = &mut scratch.numbers;
        bonus.clear();
        bonus.extend(scratch.inverse.chunks_exact(items).map(|advice| {
            // An item that nobody advises may have probability zero, because one evaluator alone
            // has p_min = 0.
            let terms = advice.iter().zip(&scratch.probabilities).filter(|(share, _)| **share > 0.0);
            terms.map(|(share, pi)| share / pi).sum::<f64>() / k as f64
        }));
        let mut slots = PickSlots::new(&mut scratch.picks, k);
        for &item in &scratch.drawn {
            let receipt = slots.push(item, scratch.probabilities[item], false);
            receipt.advice.extend((0..evaluators).map(|j| scratch.inverse[j * items + item]));
            receipt.bonus.extend_from_slice(bonus);
        }
    }

    fn inclusion(&self, scores: &Scores<'_>, k: usize, scratch: &mut Scratch) {
        let (items, evaluators) = (scores.items(), scores.evaluators());
        let Scratch { values, probabilities, inverse: advice, top, numbers, .. } = scratch;
        let p_min = self.p_min(items);
        advice.clear();
        for j in 0..evaluators {
            column(scores, j, values);
            shares_of_top(values, k, top, numbers);
            advice.extend_from_slice(numbers);
        }
        self.trust(items, numbers);
        probabilities.clear();
        probabilities.resize(items, k as f64 * p_min);
        for (own, &trust) in advice.chunks_exact(items).zip(&*numbers) {
            for (probability, share) in probabilities.iter_mut().zip(own) {
                // The advised distribution is share / K, and K items are drawn: K cancels.
                *probability += (1.0 - items as f64 * p_min) * trust * share;
            }
        }
        probabilities.iter_mut().for_each(|p| *p = p.min(1.0));
    }
}

impl Mix {
    fn p_min(&self, items: usize) -> f64 {
        let items = items as f64;
        ((self.gain.len() as f64).ln() / (items * self.rounds)).sqrt().min(1.0 / items)
    }

    /// The weight of each evaluator in the mixture; they sum to 1. Advice is stored as shares of a
    /// top K, which are K times its probabilities, so gains need no factor K.
    fn trust(&self, items: usize, out: &mut Vec<f64>) {
        let rate = self.p_min(items) / 2.0;
        let bonus = ((self.gain.len() as f64 / self.delta).ln() / (items as f64 * self.rounds)).sqrt();
        out.clear();
        out.extend(self.gain.iter().zip(&self.variance).map(|(g, v)| rate * (g + bonus * v)));
        let highest = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        out.iter_mut().for_each(|x| *x = (*x - highest).exp());
        let total: f64 = out.iter().sum();
        out.iter_mut().for_each(|x| *x /= total);
    }
}

/// Systematic sampling: `k` items, item i with probability exactly `pi_i`, from one uniform number.
///
/// The probabilities are laid end to end on a line of length k. The points `u, u + 1, ...` each hit
/// one item, for u in [0, 1).
fn systematic(probabilities: &[f64], k: usize, u: f64, out: &mut Vec<usize>) {
    out.clear();
    let mut end = 0.0;
    for (item, &pi) in probabilities.iter().enumerate() {
        end += pi;
        if out.len() < k && end > out.len() as f64 + u {
            out.push(item);
        }
    }
    // Rounding can leave the line slightly short of its last point; the last items fill up.
    let mut item = probabilities.len();
    while out.len() < k {
        item -= 1;
        if !out.contains(&item) {
            out.push(item);
        }
    }
}

impl Statistic for State {
    fn merge(&mut self, other: &Self) {
        add_all(&mut self.gain, &other.gain);
        add_all(&mut self.variance, &other.variance);
    }

    fn with_columns(&self, columns: &[Option<usize>]) -> Self {
        // A new evaluator starts at the average of the old ones.
        let level = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
        State {
            gain: selected(&self.gain, columns, level(&self.gain)),
            variance: selected(&self.variance, columns, level(&self.variance)),
        }
    }

    fn is_sound(&self, evaluators: usize) -> bool {
        are_sums(&self.gain, evaluators) && are_sums_of_squares(&self.variance, evaluators)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn fitted(policy: &Exp4p) -> Mix {
        let mut mix = policy.buffer();
        policy.fit(&mut mix);
        policy.count(&Seen::default(), &mut mix);
        mix
    }

    #[test]
    fn systematic_sampling_hits_its_probabilities() {
        let pi = [1.0, 0.25, 0.5, 0.05, 0.7, 0.5];
        let mut counts = [0_u32; 6];
        let mut out = Vec::new();
        let draws = 100_000;
        for i in 0..draws {
            systematic(&pi, 3, (f64::from(i) + 0.5) / f64::from(draws), &mut out);
            assert_eq!(out.len(), 3);
            out.iter().for_each(|&item| counts[item] += 1);
        }
        for (count, pi) in counts.iter().zip(pi) {
            assert!((f64::from(*count) / f64::from(draws) - pi).abs() < 1e-4, "{counts:?}");
        }
    }

    /// The mean importance-weighted gain over many draws is the total reward of the evaluator's own
    /// top K.
    #[test]
    fn importance_weights_are_unbiased() {
        let table = [0.9, 0.1, 0.8, 0.3, 0.2, 0.9, 0.1, 0.7, 0.4, 0.5];
        let rewards = [1.0, 0.3, 0.9, 0.2, 0.6];
        let scores = Scores::new(&table, 2).unwrap();
        let options = Options { horizon: Some(Count::try_from(40).unwrap()), ..Options::default() };
        let mut policy = Exp4p::create(&Exp4p::ENTRIES[0], Link::Identity, options, 2).unwrap();
        policy.state.gain = vec![30.0, 3.0]; // some trust already, so the mix is uneven
        let base = policy.state.gain.clone();
        let (mut scratch, mut rng) = (Scratch::new(), ChaCha8Rng::seed_from_u64(2));
        let mix = fitted(&policy);
        let draws = 200_000;
        let mut sum = [0.0; 2];
        for _ in 0..draws {
            mix.choose(&scores, 2, &mut rng, &mut scratch);
            let mut learner = policy.clone();
            for pick in &scratch.picks {
                let receipt = &pick.receipt;
                let example = Example {
                    scores: scores.row(pick.item),
                    reward: rewards[pick.item],
                    receipt: Some(receipt),
                };
                assert!(learner.learn(&example, 0));
            }
            for j in 0..2 {
                sum[j] += learner.state.gain[j] - base[j];
            }
        }
        // Evaluator 0 ranks items 0 and 1 first; evaluator 1 ranks items 2 and 3.
        let expected = [1.0 + 0.3, 0.9 + 0.2];
        for j in 0..2 {
            let mean = sum[j] / f64::from(draws);
            assert!((mean - expected[j]).abs() < 0.02, "{j}: {mean} {}", expected[j]);
        }
    }

    /// By hand: two evaluators, five items and two picks, at the start, where both have weight 1/2.
    #[test]
    fn the_receipts_of_a_round_carry_its_bonus_exactly() {
        let table = [0.9, 0.1, 0.8, 0.3, 0.2, 0.9, 0.1, 0.7, 0.4, 0.5];
        let scores = Scores::new(&table, 2).unwrap();
        let options = Options { horizon: Some(Count::try_from(40).unwrap()), ..Options::default() };
        let policy = Exp4p::create(&Exp4p::ENTRIES[0], Link::Identity, options, 2).unwrap();
        let (mut scratch, mut rng) = (Scratch::new(), ChaCha8Rng::seed_from_u64(3));
        let mix = fitted(&policy);
        // The two top twos are disjoint: pi = 2 p_min + (1 - 5 p_min) / 2 for these four items.
        let p_min = (2_f64.ln() / (5.0 * 40.0)).sqrt();
        let expected = 2.0 / (2.0 * p_min + (1.0 - 5.0 * p_min) / 2.0);
        for _ in 0..50 {
            mix.choose(&scores, 2, &mut rng, &mut scratch);
            let learn = |order: &[usize]| {
                let mut learner = policy.clone();
                for &at in order {
                    let pick = &scratch.picks[at];
                    let receipt = Some(&pick.receipt);
                    assert!(
                        learner.learn(&Example { scores: scores.row(pick.item), reward: 0.5, receipt }, 0)
                    );
                }
                learner.state.variance
            };
            let whole = learn(&[0, 1]);
            assert!(whole.iter().all(|bonus| (bonus - expected).abs() < 1e-12), "{whole:?} {expected}");
            assert_eq!(whole, learn(&[1, 0]));
            // If only one of the two rewards comes, it brings half the bonus.
            assert_eq!(learn(&[0]), learn(&[1]));
            assert!((2.0 * learn(&[0])[0] - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn rewards_outside_the_range_are_counted_and_the_count_is_kept() {
        let evaluators = crate::Evaluators::numbered(1).unwrap();
        let mut jury = crate::Jury::new(&"exp4p(low=-1,high=2)".parse().unwrap(), evaluators).unwrap();
        let receipt =
            Receipt { inclusion_probability: 0.5, advice: vec![1.0], bonus: vec![2.0], ..Receipt::default() };
        for reward in [-1.0, 2.0, -1.5, 7.0, 0.0] {
            jury.learn(&[Example { scores: &[0.1], reward, receipt: Some(&receipt) }], 0).unwrap();
        }
        // An example without advice is not learnt from, so its reward is not counted as clamped.
        jury.learn(&[Example { scores: &[0.1], reward: 9.0, receipt: None }], 0).unwrap();
        assert_eq!((jury.seen().out_of_range, jury.seen().used), (2, 5));
        let again = crate::Jury::from_json(&jury.to_json()).unwrap();
        assert_eq!(again.seen().out_of_range, 2);
        jury.merge(&again).unwrap();
        assert_eq!(jury.seen().out_of_range, 4);
    }

    #[test]
    fn receipts_that_do_not_fit_are_refused() {
        let policy = Exp4p::create(&Exp4p::ENTRIES[0], Link::Identity, Options::default(), 2).unwrap();
        for (advice, bonus, says) in [
            (vec![1.0, 0.0], vec![], "a bonus for 0 evaluators"),
            (vec![1.0], vec![1.0, 1.0], "advice for 1 evaluators"),
            (vec![1.0, 1.5], vec![1.0, 1.0], "advice 1.5 of evaluator #1"),
            (vec![1.0, 0.5], vec![f64::NAN, 1.0], "bonus NaN of evaluator #0"),
        ] {
            let receipt = Receipt { advice, bonus, ..Receipt::default() };
            let example = Example { scores: &[0.1, 0.2], reward: 0.0, receipt: Some(&receipt) };
            let reason = policy.check_receipt(&example).unwrap();
            assert!(reason.starts_with(says), "{reason}");
        }
    }
}

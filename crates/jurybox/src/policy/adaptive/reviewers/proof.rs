//! Do reviewers differ, or is it chance who got what?
//!
//! Evidence that goes by normal laws takes a few yes among many no for more than they are. So it is compared with what it would be had the same verdicts come
//! from others: reviewers who are alike are as good in any order. Names are shuffled among the verdicts, and what holds must hold
//! more surely than in each of these.

use super::compared::Compared;
use super::sums::Sums;
use crate::toolbox::hash_number;

/// Reviewers must differ with odds of so many to one: what hardly matters is not worth another fit,
const SURE: f64 = 4.0;
/// and more surely than in so many shufflings: alike, they would once in forty.
const SHUFFLINGS: u64 = 39;

/// One verdict: what was expected less the centre, how far off it was, for how many it counts, and by how much of what such verdicts are off.
pub(super) type Verdict = (f64, f64, f64, f64);

/// In which of the three reviewers surely differ, given all verdicts, by whom, and what they say.
pub(super) fn proven(verdicts: &[Verdict], by: &[usize], reviewers: usize, said: &Compared) -> [bool; 3] {
    let mut proven = said.odds.map(is_sure);
    let mut by = by.to_vec();
    for shuffling in 0..SHUFFLINGS {
        if proven == [false; 3] {
            break;
        }
        for last in (1..by.len()).rev() {
            by.swap(last, (hash_number(shuffling, last as u64) % (last as u64 + 1)) as usize);
        }
        if let Some(chance) = Compared::of(&summed(verdicts, &by, reviewers), false) {
            for (proven, (odds, by_chance)) in proven.iter_mut().zip(said.odds.iter().zip(chance.odds)) {
                *proven &= *odds > by_chance;
            }
        }
    }
    proven
}

/// Whether log odds are enough.
pub(super) fn is_sure(odds: f64) -> bool {
    odds > SURE.ln()
}

/// The sums over each reviewer's verdicts.
pub(super) fn summed(verdicts: &[Verdict], by: &[usize], reviewers: usize) -> Vec<Sums> {
    let mut sums = vec![Sums::default(); reviewers];
    for (&(x, y, count, weight), &by) in verdicts.iter().zip(by) {
        sums[by].add(x, y, count, weight);
    }
    sums
}

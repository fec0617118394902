//! Do reviewers differ, or is it chance who got what?
//!
//! Evidence that goes by normal laws takes a few yes among many no for more than they are. So it is
//! compared with what it would be had the same verdicts come from others: reviewers who are alike
//! are as good in any order. Names are shuffled among the verdicts, and what holds must hold more
//! surely than in each of these.

use super::compared::Compared;
use super::sums::Sums;
use crate::toolbox::hash_number;

/// Reviewers must differ with odds of so many to one: what hardly matters is not worth another fit,
const SURE: f64 = 4.0;
/// and more surely than in so many shufflings: alike, they would once in forty.
const SHUFFLINGS: u64 = 39;
/// Verdicts are shuffled one by one, since those who agree on equal items are one row; of more than
/// so many, and so many times the rows, a row is as many as its share of these.
const SINGLE: f64 = 4096.0;
const PER_ROW: f64 = 4.0;

/// One verdict: what was expected less the centre, how far off it was, for how many it counts, and
/// by how much of what such verdicts are off.
pub(super) type Verdict = (f64, f64, f64, f64);

/// In which of the three reviewers surely differ, given all verdicts, by whom, and what they say.
pub(super) fn proven(verdicts: &[Verdict], by: &[usize], reviewers: usize, said: &Compared) -> [bool; 3] {
    let mut proven = said.odds.map(is_sure);
    if proven == [false; 3] {
        return proven;
    }
    let (verdicts, mut by) = singles(verdicts, by);
    // The same verdicts on both sides: they may be fewer than were given.
    let Some(said) = Compared::of(&summed(&verdicts, &by, reviewers), false) else { return [false; 3] };
    for shuffling in 0..SHUFFLINGS {
        if proven == [false; 3] {
            break;
        }
        for last in (1..by.len()).rev() {
            by.swap(last, (hash_number(shuffling, last as u64) % (last as u64 + 1)) as usize);
        }
        if let Some(chance) = Compared::of(&summed(&verdicts, &by, reviewers), false) {
            for (proven, (odds, by_chance)) in proven.iter_mut().zip(said.odds.iter().zip(chance.odds)) {
                *proven &= *odds > by_chance;
            }
        }
    }
    proven
}

/// Each verdict by itself, and by whom.
fn singles(verdicts: &[Verdict], by: &[usize]) -> (Vec<Verdict>, Vec<usize>) {
    let all: f64 = verdicts.iter().map(|verdict| verdict.2).sum();
    let share = (SINGLE.max(PER_ROW * verdicts.len() as f64) / all).min(1.0);
    let (mut singles, mut names) = (Vec::new(), Vec::new());
    for (&(x, y, count, weight), &by) in verdicts.iter().zip(by) {
        let times = (count * share).round().max(1.0) as usize;
        singles.extend(std::iter::repeat_n((x, y, 1.0, weight / count), times));
        names.extend(std::iter::repeat_n(by, times));
    }
    (singles, names)
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

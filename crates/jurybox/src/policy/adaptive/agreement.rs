//! How much each evaluator is heard before labels tell: one vote each, shared by copies, and more for those that the others agree with.
//!
//! Nothing is known of the reward yet but that the evaluators try to see it. Then what they share is the best guess at it, and an evaluator is worth its
//! correlation with that: here with the mean of the others, copies of its own left out, since these would agree with it whatever it says. Where
//! evaluators share next to nothing, each seeing something of its own, agreement is chance and tells nothing of worth. So it counts as far as
//! the mean of all votes is reliable (Cronbach's alpha: the share of its variance that is not single evaluators' own).

use crate::kernel::dot;
use crate::matrix::Symmetric;

/// Evaluators are copies of one another from the second of these correlations on, and not at all up to the first.
const UNLIKE: f64 = 0.95;
const ALIKE: f64 = 0.99;

/// Variances below this are none.
const LEAST: f64 = 1e-12;

/// One vote for each evaluator that varies; those that say nearly the same share theirs.
pub(super) fn votes(correlation: &Symmetric, varies: impl Fn(usize) -> bool) -> Vec<f64> {
    let width = correlation.order();
    let vote = |j: usize| 1.0 / (0..width).map(|k| alike(correlation, j, k)).sum::<f64>();
    (0..width).map(|j| if varies(j) { vote(j) } else { 0.0 }).collect()
}

/// The votes, weighed by how far the others agree.
pub(super) fn weighed(correlation: &Symmetric, votes: &[f64]) -> Vec<f64> {
    let width = votes.len();
    let mut others = vec![0.0; width];
    let mut own = 0.0;
    let agreed: Vec<f64> = (0..width)
        .map(|j| {
            for (k, other) in others.iter_mut().enumerate() {
                let alike = alike(correlation, j, k);
                *other = votes[k] * (1.0 - alike);
                own += votes[j] * votes[k] * alike * correlation.get(j, k);
            }
            let image = correlation.times(&others);
            let variance = dot(&others, &image);
            if variance > LEAST { (image[j] / variance.sqrt()).max(0.0) } else { 0.0 }
        })
        .collect();
    let (count, all) = (votes.iter().sum::<f64>(), correlation.form(votes));
    let mean = dot(votes, &agreed) / count;
    if !(count > 1.0 && all > LEAST && mean > LEAST) {
        return votes.to_vec();
    }
    let reliable = (count / (count - 1.0) * (1.0 - own / all)).clamp(0.0, 1.0);
    votes.iter().zip(&agreed).map(|(vote, agreed)| vote * (1.0 + reliable * (agreed / mean - 1.0))).collect()
}

/// How far two evaluators are copies of one another, from 0 to 1.
fn alike(correlation: &Symmetric, j: usize, k: usize) -> f64 {
    if j == k { 1.0 } else { ((correlation.get(j, k) - UNLIKE) / (ALIKE - UNLIKE)).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighed_votes(correlation: &Symmetric) -> Vec<f64> {
        weighed(correlation, &votes(correlation, |_| true))
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(near && found.len() == expected.len(), "{found:?} {expected:?}");
    }

    #[test]
    fn who_shares_nothing_is_heard_as_far_as_agreement_is_chance() {
        // Three with correlations of 0.36, and one that goes with none.
        let correlation = Symmetric::of_one_factor(&[0.6, 0.6, 0.6, 0.0]);
        // All four votes have a variance of 4 + 6 * 0.36, of which 4 are their own.
        let reliable = 4.0 / 3.0 * (1.0 - 4.0 / 6.16);
        let found = weighed_votes(&correlation);
        // Of the three agreements that are not 0, all are the same: 4/3 of their mean over the four.
        assert_near(
            &found,
            &[1.0 + reliable / 3.0, 1.0 + reliable / 3.0, 1.0 + reliable / 3.0, 1.0 - reliable],
        );
    }

    #[test]
    fn those_that_agree_alike_and_those_that_share_nothing_have_one_vote_each() {
        assert_near(&weighed_votes(&Symmetric::of_one_factor(&[0.7; 5])), &[1.0; 5]);
        assert_near(&weighed_votes(&Symmetric::of_one_factor(&[0.0; 5])), &[1.0; 5]);
        assert_near(&weighed_votes(&Symmetric::of_one_factor(&[0.9, 0.2])), &[1.0; 2]);
        assert_near(&weighed_votes(&Symmetric::of_one_factor(&[0.5])), &[1.0]);
    }

    /// That copies agree with one another says nothing: together they have what one of them would have.
    #[test]
    fn copies_have_together_what_one_of_them_would_have() {
        let alone = Symmetric::of_one_factor(&[0.6, 0.5, 0.7, 0.1]);
        let mut copied = Symmetric::zeros(6);
        for i in 0..6_usize {
            for j in 0..=i {
                copied.set(i, j, alone.get(i.min(3), j.min(3)));
            }
        }
        let (one, three) = (weighed_votes(&alone), weighed_votes(&copied));
        assert_near(&three[..3], &one[..3]);
        assert_near(&three[3..], &[one[3] / 3.0; 3]);
    }

    #[test]
    fn who_goes_against_the_others_has_no_vote_and_none_that_is_negative() {
        let correlation = Symmetric::of_one_factor(&[0.9, 0.9, 0.9, 0.9, 0.9, -0.9]);
        let found = weighed_votes(&correlation);
        assert!(found[5] >= 0.0 && found[5] < 0.3 * found[0], "{found:?}");
    }

    #[test]
    fn who_never_varies_has_no_vote_and_takes_none() {
        let correlation = Symmetric::of_one_factor(&[0.8, 0.5, 0.0, 0.6]);
        let votes = votes(&correlation, |j| j != 2);
        let found = weighed(&correlation, &votes);
        let without = weighed_votes(&Symmetric::of_one_factor(&[0.8, 0.5, 0.6]));
        assert_eq!(found[2], 0.0);
        assert_near(&[found[0], found[1], found[3]], &without);
    }
}

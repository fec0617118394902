//! Scores that are the reward: a verdict that was left in the table under another name, and taken for an evaluator.

/// Fewer rows than this may be the same by chance.
const FEW: u64 = 10;

/// Of each evaluator, in how many judged rows it had a score, in how many of these it was the reward, and in how many the reward turned
/// round.
///
/// ```
/// assert_eq!(jurybox_files::Leakage::default().found().count(), 0);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Leakage(Vec<[u64; 3]>);

impl Leakage {
    /// A judged row. A missing score says nothing.
    pub(crate) fn see(&mut self, scores: &[f64], reward: f64) {
        self.0.resize(scores.len().max(self.0.len()), [0; 3]);
        for ([all, same, turned], &score) in
            self.0.iter_mut().zip(scores).filter(|(_, score)| !score.is_nan())
        {
            // Each for itself: a vote of 1 or -1 is always one of the two.
            *all += 1;
            *same += u64::from(score == reward);
            *turned += u64::from(score == -reward);
        }
    }

    pub(crate) fn merge(&mut self, more: &Leakage) {
        self.0.resize(more.0.len().max(self.0.len()), [0; 3]);
        for (counts, more) in self.0.iter_mut().zip(&more.0) {
            counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
    }

    /// The columns of those whose every score was the reward, or whose every score was the reward turned round.
    pub fn found(&self) -> impl Iterator<Item = usize> {
        let each = self.0.iter().enumerate();
        let echoed = |[all, same, turned]: &[u64; 3]| *all >= FEW && (same == all || turned == all);
        each.filter(move |(_, counts)| echoed(counts)).map(|(evaluator, _)| evaluator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reward_under_another_name_is_known_whatever_is_missing() {
        let seen = |rows: std::ops::Range<u32>| {
            let mut echoes = Leakage::default();
            for i in rows {
                let reward = f64::from(i % 2);
                let copy = if i % 5 == 0 { f64::NAN } else { reward };
                echoes.see(&[f64::from(i), copy, -reward, f64::NAN], reward);
            }
            echoes
        };
        let mut whole = seen(0..20);
        assert_eq!(whole.found().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(seen(0..9).found().count(), 0);
        let mut halves = seen(0..7);
        halves.merge(&seen(7..20));
        assert_eq!(halves, whole);
        whole.see(&[0.0, 0.0, -1.0, 1.0], 1.0);
        assert_eq!(whole.found().collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_vote_for_or_against_is_no_echo_of_rewards_of_the_same_size() {
        let mut echoes = Leakage::default();
        for i in 0..40 {
            let sign = |yes: bool| if yes { 1.0 } else { -1.0 };
            let reward = sign(i % 2 == 0);
            echoes.see(&[sign(i % 3 == 0), 1.0, reward, -reward], reward);
        }
        assert_eq!(echoes.found().collect::<Vec<_>>(), [2, 3]);
    }
}

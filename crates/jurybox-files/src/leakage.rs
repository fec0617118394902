//! Detection of leaked rewards: a verdict column under another name that was taken for an
//! evaluator.

/// Minimum number of rows with score and reward; in fewer, all scores may equal rewards by chance.
const MIN_ROWS: u64 = 10;

/// Counts, per evaluator, of rows with a score and a reward, and of those where the score equals
/// the reward or its negative.
///
/// ```
/// assert_eq!(jurybox_files::Leakage::default().evaluators().count(), 0);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Leakage(Vec<[u64; 3]>);

impl Leakage {
    /// Adds a row with a reward. Missing scores are not counted.
    pub(crate) fn add(&mut self, scores: &[f64], reward: f64) {
        self.0.resize(scores.len().max(self.0.len()), [0; 3]);
        for ([all, same, turned], &score) in
            self.0.iter_mut().zip(scores).filter(|(_, score)| !score.is_nan())
        {
            // Counted separately: if scores and rewards are all 1 or -1, every score equals the
            // reward or its negative.
            *all += 1;
            *same += u64::from(score == reward);
            *turned += u64::from(score == -reward);
        }
    }

    /// Adds the counts of other rows.
    pub(crate) fn merge(&mut self, more: &Leakage) {
        self.0.resize(more.0.len().max(self.0.len()), [0; 3]);
        for (counts, more) in self.0.iter_mut().zip(&more.0) {
            counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
    }

    /// Indices of the evaluators with at least ten scores that all equal the reward, or all its
    /// negative.
    pub fn evaluators(&self) -> impl Iterator<Item = usize> {
        let each = self.0.iter().enumerate();
        let is_leaked = |[all, same, turned]: &[u64; 3]| *all >= MIN_ROWS && (same == all || turned == all);
        each.filter(move |(_, counts)| is_leaked(counts)).map(|(evaluator, _)| evaluator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaked_reward_is_found_despite_gaps() {
        let seen = |rows: std::ops::Range<u32>| {
            let mut leakage = Leakage::default();
            for i in rows {
                let reward = f64::from(i % 2);
                let copy = if i % 5 == 0 { f64::NAN } else { reward };
                leakage.add(&[f64::from(i), copy, -reward, f64::NAN], reward);
            }
            leakage
        };
        let mut whole = seen(0..20);
        assert_eq!(whole.evaluators().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(seen(0..9).evaluators().count(), 0);
        let mut halves = seen(0..7);
        halves.merge(&seen(7..20));
        assert_eq!(halves, whole);
        whole.add(&[0.0, 0.0, -1.0, 1.0], 1.0);
        assert_eq!(whole.evaluators().collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn votes_are_not_leaked_rewards_of_the_same_size() {
        let mut leakage = Leakage::default();
        for i in 0..40 {
            let sign = |yes: bool| if yes { 1.0 } else { -1.0 };
            let reward = sign(i % 2 == 0);
            leakage.add(&[sign(i % 3 == 0), 1.0, reward, -reward], reward);
        }
        assert_eq!(leakage.evaluators().collect::<Vec<_>>(), [2, 3]);
    }
}

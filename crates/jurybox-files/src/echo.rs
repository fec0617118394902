//! Scores that are the reward: a verdict that was left in the table under another name, and taken for an evaluator.

/// Fewer rows than this may be the same by chance.
const FEW: u64 = 10;

/// Of each evaluator, how often its score was the reward of a judged row, and how often it was not.
///
/// ```
/// assert_eq!(jurybox_files::Echoes::default().found().count(), 0);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Echoes(Vec<(u64, u64)>);

impl Echoes {
    /// A judged row. A missing score says nothing.
    pub(crate) fn see(&mut self, scores: &[f64], reward: f64) {
        self.0.resize(scores.len().max(self.0.len()), (0, 0));
        for ((same, other), score) in self.0.iter_mut().zip(scores).filter(|(_, score)| !score.is_nan()) {
            // Either may have been turned round.
            *(if score.abs() == reward.abs() { same } else { other }) += 1;
        }
    }

    pub(crate) fn merge(&mut self, more: &Echoes) {
        self.0.resize(more.0.len().max(self.0.len()), (0, 0));
        for ((same, other), (more_same, more_other)) in self.0.iter_mut().zip(&more.0) {
            *same += more_same;
            *other += more_other;
        }
    }

    /// The columns of those whose every score was the reward.
    pub fn found(&self) -> impl Iterator<Item = usize> {
        let each = self.0.iter().enumerate();
        each.filter(|(_, (same, other))| *same >= FEW && *other == 0).map(|(evaluator, _)| evaluator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reward_under_another_name_is_known_whatever_is_missing() {
        let seen = |rows: std::ops::Range<u32>| {
            let mut echoes = Echoes::default();
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
        whole.see(&[0.0, 0.0, 1.0, 1.0], 1.0);
        assert_eq!(whole.found().collect::<Vec<_>>(), [2]);
    }
}

//! Learning from verdicts, with or without the reviewers' names.
//!
//! Verdicts come as [`Example`]s, at any time and in any order. If one of a batch is invalid,
//! nothing changes.

use super::Jury;
use crate::border::check_time;
use crate::error::Error;
use crate::pick::{Example, Learnt};
use crate::policy::AnyPolicy;
use crate::reviewer::Reviewer;
use crate::seen::Seen;

/// Learning from verdicts.
impl Jury {
    /// Learns from examples, at any time. If one is invalid, nothing is learnt.
    ///
    /// `at` is the time of the round in which the items were picked, not of their verdicts. The
    /// jury learns how scores and rewards were related at that time.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// let mut jury = Jury::new(&"lin-ucb".parse()?, Evaluators::numbered(2)?)?;
    /// let history = [
    ///     Example { scores: &[0.9, 0.1], reward: 1.0, receipt: None },
    ///     Example { scores: &[0.2, f64::NAN], reward: 0.0, receipt: None },
    /// ];
    /// assert_eq!(jury.learn(&history, 0)?.used, 2);
    /// assert!(jury.learn(&[Example { reward: f64::NAN, ..history[0] }], 0).is_err());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn learn(&mut self, examples: &[Example<'_>], at: u64) -> Result<Learnt, Error> {
        self.learn_from(examples, None, at)
    }

    /// [`learn`](Self::learn) with the reviewer of each example. Policies without a model of
    /// reviewers ignore the names.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury, Reviewer};
    /// let mut jury = Jury::new(&"adaptive".parse()?, Evaluators::numbered(2)?)?;
    /// let history = [
    ///     Example { scores: &[0.9, 0.1], reward: 1.0, receipt: None },
    ///     Example { scores: &[0.2, f64::NAN], reward: 0.0, receipt: None },
    /// ];
    /// let reviewers = [Some(Reviewer::named("ann")), None]; // nobody knows who judged the second
    /// assert_eq!(jury.learn_by(&history, &reviewers, 0)?.used, 2);
    /// assert!(jury.learn_by(&history, &reviewers[..1], 0).is_err());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn learn_by(
        &mut self,
        examples: &[Example<'_>],
        reviewers: &[Option<Reviewer>],
        at: u64,
    ) -> Result<Learnt, Error> {
        let (found, expected) = (reviewers.len(), examples.len());
        if found != expected {
            return Err(Error::Reviewers { found, expected });
        }
        let named = reviewers.iter().any(Option::is_some);
        self.learn_from(examples, named.then_some(reviewers), at)
    }

    fn learn_from(
        &mut self,
        examples: &[Example<'_>],
        reviewers: Option<&[Option<Reviewer>]>,
        at: u64,
    ) -> Result<Learnt, Error> {
        for (place, example) in examples.iter().enumerate() {
            self.check_example(place, example)?;
        }
        check_time(at, self.seen.latest)?;
        if examples.is_empty() {
            return Ok(Learnt::default());
        }
        self.schedule.before_change(&self.policy, &self.seen, &self.seen.and(0, examples.len() as u64));
        let learn = |policy: &mut AnyPolicy, examples: &[Example<'_>], reviewers| match reviewers {
            Some(reviewers) => policy.learn_all_by(examples, reviewers, at),
            None => policy.learn_all(examples, at),
        };
        let (mut used, mut out_of_range) = (0, 0);
        if self.evaluators.any_low() {
            for (place, example) in examples.iter().enumerate() {
                self.row.clear();
                self.evaluators.orient_row(self.policy.link(), example.scores, &mut self.row);
                let one = Example { scores: &self.row, ..*example };
                let learnt = learn(&mut self.policy, &[one], reviewers.map(|all| &all[place..=place]));
                (used, out_of_range) = (used + learnt.0, out_of_range + learnt.1);
            }
        } else {
            (used, out_of_range) = learn(&mut self.policy, examples, reviewers);
        }
        self.schedule.after_change(&self.policy, used > 0);
        let ignored_rewards = examples.len() as u64 - used;
        self.seen.add(Seen { used, ignored_rewards, out_of_range, latest: Some(at), ..Seen::default() });
        Ok(Learnt { used, ignored_rewards })
    }

    /// Whether the policy uses the reviewers' names. If not, all verdicts count alike.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// assert!(Jury::new(&"adaptive".parse()?, Evaluators::numbered(2)?)?.tells_reviewers_apart());
    /// assert!(!Jury::new(&"lin-ucb".parse()?, Evaluators::numbered(2)?)?.tells_reviewers_apart());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn tells_reviewers_apart(&self) -> bool {
        self.policy.tells_reviewers_apart()
    }
}

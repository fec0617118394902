//! What a jury can tell of itself: whom it trusts, how sure it is, and what has changed.

use crate::error::Error;
use crate::jury::Jury;
use crate::options::Fraction;
use crate::policy::{Alarm, Interval, SigmaOrigin};
use crate::scores::Scores;

impl Jury {
    /// The present estimate of the gains, where the policy has one; for `esag` up to a common factor.
    pub fn alpha(&mut self) -> Option<&[f64]> {
        self.prepare().alpha()
    }

    /// The present weights of the evaluators, where the policy has them.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// # use rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let spec = "oracle(alpha=[1,2],sigma=[1,1])".parse()?;
    /// let mut jury = Jury::new(&spec, Evaluators::numbered(2)?)?;
    /// let weights = jury.weights().unwrap();
    /// assert!((weights[0] * 1.0 + weights[1] * 2.0 - 1.0).abs() < 1e-12); // <w, alpha> = 1
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn weights(&mut self) -> Option<&[f64]> {
        self.prepare().weights()
    }

    /// The weights with intervals that hold them with that probability, where the policy knows how sure it is.
    pub fn weight_intervals(&mut self, level: Fraction) -> Option<Vec<Interval>> {
        self.prepare().weight_intervals(level.get())
    }

    /// The reward of each item with an interval that holds it with that probability, where the policy can say.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury, Spec, options::Fraction};
    /// let mut jury = Jury::new(&Spec::default(), Evaluators::numbered(1)?)?;
    /// let table: Vec<f64> = (0..40).map(f64::from).collect();
    /// let scores = jury.scores(&table)?;
    /// jury.observe(&scores)?;
    /// for row in scores.rows() {
    ///     jury.learn(&[Example { scores: row, reward: 2.0 * row[0], receipt: None }])?;
    /// }
    /// let level = Fraction::try_from(0.9).unwrap();
    /// let predicted = jury.predict(&scores, level)?.unwrap();
    /// assert!(predicted[39].mean > predicted[0].mean);
    /// assert_eq!(jury.weight_intervals(level).unwrap().len(), 1);
    /// assert!(jury.alarms().is_empty());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn predict(&mut self, scores: &Scores<'_>, level: Fraction) -> Result<Option<Vec<Interval>>, Error> {
        self.check_round(scores)?;
        Ok(self.prepare().predict(scores, level.get()))
    }

    /// Evaluators that are not what they were, where the policy watches for that: `adaptive(forget=true)`.
    pub fn alarms(&mut self) -> &[Alarm] {
        self.prepare().alarms()
    }

    /// The noise levels in use, where the policy uses any, and where they come from.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// # use rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let mut jury = Jury::new(&"esag".parse()?, Evaluators::numbered(2)?)?;
    /// let (_, origin) = jury.sigma().unwrap();
    /// assert!(origin.to_string().contains("2 evaluators are too few"));
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn sigma(&mut self) -> Option<(&[f64], &SigmaOrigin)> {
        self.prepare().sigma()
    }
}

//! Picks of a fitted jury, and the probability of each item to be picked.
//!
//! Both come from the scores of a round. For rounds that do not fit into memory they can also come
//! from the items' values alone.

use super::{Fitted, FittedParts};
use crate::border::check_k;
use crate::error::Error;
use crate::evaluators::Evaluators;
use crate::link::Link;
use crate::pick::Pick;
use crate::policy::{AnyRank, Exploration, explore};
use crate::scores::Scores;
use crate::scratch::Scratch;
use rand::Rng;

/// Picks and inclusion probabilities.
impl Fitted {
    /// Picks `k` items: the best first, then the explored ones, last a probe of `adaptive`. `exp4p`
    /// draws all of its picks, in no particular order.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// # use jurybox::rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let fitted = Jury::new(&"average".parse()?, Evaluators::numbered(2)?)?.fit();
    /// let scores = fitted.scores(&[0.1, 0.2, 0.9, 0.7, 0.4, 0.4])?;
    /// let picks = fitted.choose(&scores, 2, &mut rng)?;
    /// assert_eq!(picks.iter().map(|pick| pick.item).collect::<Vec<_>>(), [1, 2]);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn choose<R: Rng + ?Sized>(
        &self,
        scores: &Scores<'_>,
        k: usize,
        rng: &mut R,
    ) -> Result<Vec<Pick>, Error> {
        let mut picks = Vec::new();
        self.choose_into(scores, k, rng, &mut Scratch::new(), &mut picks)?;
        Ok(picks)
    }

    /// [`choose`](Self::choose) with buffers that are reused between calls.
    pub fn choose_into<R: Rng + ?Sized>(
        &self,
        scores: &Scores<'_>,
        k: usize,
        rng: &mut R,
        scratch: &mut Scratch,
        picks: &mut Vec<Pick>,
    ) -> Result<(), Error> {
        self.check(scores)?;
        check_k(k, scores.items())?;
        choose(&self.0.rank, &self.0.evaluators, self.0.link, scores, k, rng, scratch, picks);
        Ok(())
    }

    /// The probability of each item to be picked by [`choose`](Self::choose); they sum to `k`.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Example, Jury};
    /// let mut jury = Jury::new(&"eps-greedy-all(eps=0.4)".parse()?, Evaluators::numbered(1)?)?;
    /// jury.learn(&[Example { scores: &[1.0], reward: 1.0, receipt: None }], 0)?;
    /// let fitted = jury.fit();
    /// let pi = fitted.inclusion_probabilities(&fitted.scores(&[3.0, 1.0, 2.0, 0.0])?, 2)?;
    /// for (found, expected) in pi.iter().zip([0.8, 0.2, 0.8, 0.2]) {
    ///     assert!((found - expected).abs() < 1e-12);
    /// }
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn inclusion_probabilities(&self, scores: &Scores<'_>, k: usize) -> Result<Vec<f64>, Error> {
        self.check(scores)?;
        check_k(k, scores.items())?;
        let (mut scratch, mut buffer) = (Scratch::new(), Vec::new());
        let scores = self.0.evaluators.oriented(self.0.link, scores, &mut buffer);
        self.0.rank.inclusion(&scores, k, &mut scratch);
        Ok(scratch.probabilities)
    }

    /// How rounds explore: the probability that a round does, and how many of its picks are then
    /// drawn at random.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let policy = "eps-greedy(eps=0.1,slots=2)".parse()?;
    /// let fitted = Jury::new(&policy, Evaluators::numbered(2)?)?.fit();
    /// assert_eq!((fitted.exploration().eps, fitted.exploration().slots), (0.1, Some(2)));
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn exploration(&self) -> Exploration {
        self.0.rank.exploration()
    }

    /// Whether some picks are drawn at random, by exploration or because the policy is random. A
    /// list sorted by value is then not what it picks. Probes and draws of `adaptive` are not
    /// counted.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let policies = [("average", false), ("eps-greedy(eps=0.1)", true), ("rand", true)];
    /// for (policy, chance) in policies {
    ///     let jury = Jury::new(&policy.parse()?, Evaluators::numbered(2)?)?;
    ///     assert_eq!(jury.fit().leaves_to_chance(), chance, "{policy}");
    /// }
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn leaves_to_chance(&self) -> bool {
        self.0.rank.leaves_to_chance()
    }

    /// Whether [`choose`](Self::choose) depends on the [`values`](Self::values) of the items alone.
    /// Then [`choose_by_values`](Self::choose_by_values) can replace it for rounds whose scores do
    /// not fit into memory.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let by_values = [("adaptive", true), ("eps-greedy", true), ("adaptive(draws=4)", false)];
    /// for (policy, by_values) in by_values {
    ///     let fitted = Jury::new(&policy.parse()?, Evaluators::numbered(2)?)?.fit();
    ///     assert_eq!(fitted.picks_by_values(), by_values, "{policy}");
    /// }
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn picks_by_values(&self) -> bool {
        self.0.rank.picks_by_values()
    }

    /// This fit without the probes of `adaptive`, for rounds whose scores do not fit into memory. A
    /// probe is an occasional pick of an item that one evaluator scores highest, while people have
    /// seen too few such items.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let fitted = Jury::new(&"adaptive".parse()?, Evaluators::numbered(2)?)?.fit();
    /// assert!(fitted.without_looks().picks_by_values());
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    #[must_use]
    pub fn without_looks(&self) -> Self {
        let FittedParts { spec, evaluators, link, rank } = &*self.0;
        Fitted::new(spec.clone(), evaluators.clone(), *link, rank.without_looks())
    }

    /// The picks of [`choose`](Self::choose) from the [`values`](Self::values) of the items. Errors
    /// unless [`picks_by_values`](Self::picks_by_values).
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// # use jurybox::rand::SeedableRng;
    /// # let rng = || rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let fitted = Jury::new(&"average".parse()?, Evaluators::numbered(2)?)?.fit();
    /// let scores = fitted.scores(&[0.1, 0.2, 0.9, 0.7, 0.4, 0.4])?;
    /// let picks = fitted.choose_by_values(&fitted.values(&scores)?, 2, &mut rng())?;
    /// assert_eq!(picks, fitted.choose(&scores, 2, &mut rng())?);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn choose_by_values<R: Rng + ?Sized>(
        &self,
        values: &[f64],
        k: usize,
        rng: &mut R,
    ) -> Result<Vec<Pick>, Error> {
        let mut scratch = self.by_values(values, k)?;
        explore::choose(self.exploration(), k, rng, &mut scratch);
        Ok(scratch.picks)
    }

    /// The [`inclusion_probabilities`](Self::inclusion_probabilities) from the
    /// [`values`](Self::values) of the items. Errors unless
    /// [`picks_by_values`](Self::picks_by_values).
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// let fitted = Jury::new(&"average".parse()?, Evaluators::numbered(2)?)?.fit();
    /// let scores = fitted.scores(&[0.1, 0.2, 0.9, 0.7, 0.4, 0.4])?;
    /// let probabilities = fitted.probabilities_by_values(&fitted.values(&scores)?, 2)?;
    /// assert_eq!(probabilities, fitted.inclusion_probabilities(&scores, 2)?);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn probabilities_by_values(&self, values: &[f64], k: usize) -> Result<Vec<f64>, Error> {
        let mut scratch = self.by_values(values, k)?;
        explore::inclusion(self.exploration(), k, &mut scratch);
        Ok(scratch.probabilities)
    }

    /// Validates `k` and that picks go by values, and makes buffers with these values.
    fn by_values(&self, values: &[f64], k: usize) -> Result<Scratch, Error> {
        check_k(k, values.len())?;
        if !self.picks_by_values() {
            return Err(Error::ByMore { policy: self.spec().name().into() });
        }
        let mut scratch = Scratch::new();
        scratch.values = values.to_vec();
        Ok(scratch)
    }
}

/// Writes the picks of a fit into `picks`. The caller has validated the input.
#[expect(clippy::too_many_arguments, reason = "the parts of a Fitted, which a jury has without being one")]
#[inline]
pub(crate) fn choose<R: Rng + ?Sized>(
    rank: &AnyRank,
    evaluators: &Evaluators,
    link: Link,
    scores: &Scores<'_>,
    k: usize,
    rng: &mut R,
    scratch: &mut Scratch,
    picks: &mut Vec<Pick>,
) {
    let mut buffer = std::mem::take(&mut scratch.oriented);
    let oriented = evaluators.oriented(link, scores, &mut buffer);
    std::mem::swap(picks, &mut scratch.picks);
    rank.choose(&oriented, k, rng, scratch);
    std::mem::swap(picks, &mut scratch.picks);
    scratch.oriented = buffer;
}

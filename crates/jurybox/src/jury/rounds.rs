//! Whole rounds: observe, fit when it is due, and pick.
//!
//! A fit serves several rounds. The [`Schedule`] decides which state is fitted, and this file keeps
//! the fit until the schedule names another state.

use super::Jury;
use crate::border::{check_k, check_time, check_width};
use crate::error::Error;
use crate::fitted;
use crate::pick::Pick;
use crate::schedule::Schedule;
use crate::scores::Scores;
use rand::Rng;

/// Whole rounds.
impl Jury {
    /// One round: observes and picks in the order that the policy needs. The fit is renewed when
    /// enough has changed.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// # use jurybox::rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let mut jury = Jury::new(&"esag(sigma=1)".parse()?, Evaluators::numbered(2)?)?;
    /// let scores = jury.scores(&[1.0, 2.0, 3.0, 4.0])?;
    /// // Blind: esag observes a round after picking from it.
    /// assert_eq!(jury.round(&scores, 0, 1, &mut rng)?.len(), 1);
    /// assert_eq!(jury.round(&scores, 1, 1, &mut rng)?[0].item, 1);
    /// assert_eq!(jury.seen().rounds, 2);
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn round<R: Rng + ?Sized>(
        &mut self,
        scores: &Scores<'_>,
        at: u64,
        k: usize,
        rng: &mut R,
    ) -> Result<Vec<Pick>, Error> {
        let mut picks = Vec::new();
        self.round_into(scores, at, k, rng, &mut picks)?;
        Ok(picks)
    }

    /// [`round`](Self::round) into a vector whose memory is reused.
    pub fn round_into<R: Rng + ?Sized>(
        &mut self,
        scores: &Scores<'_>,
        at: u64,
        k: usize,
        rng: &mut R,
        picks: &mut Vec<Pick>,
    ) -> Result<(), Error> {
        self.round_from_pool_into(scores, scores, at, k, rng, picks)
    }

    /// One round for items that stay until they are picked: picks from the whole pool, and observes
    /// only its new items.
    ///
    /// With [`round`](Self::round), items that are passed over would be observed again every round.
    /// Policies that learn from all scores, such as `esag`, would take leftovers for typical items.
    ///
    /// ```
    /// # use jurybox::{Evaluators, Jury};
    /// # use jurybox::rand::SeedableRng;
    /// # let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let mut jury = Jury::new(&"esag(sigma=1)".parse()?, Evaluators::numbered(1)?)?;
    /// let first = jury.scores(&[4.0, 0.0, 2.0])?;
    /// jury.round_from_pool(&first, &first, 0, 1, &mut rng)?;
    /// // Say that the first item was picked. The other two are still there when one more arrives.
    /// let (pool, new) = (jury.scores(&[0.0, 2.0, 6.0])?, jury.scores(&[6.0])?);
    /// let picks = jury.round_from_pool(&pool, &new, 1, 1, &mut rng)?;
    /// assert_eq!(picks[0].item, 2);
    /// assert_eq!(jury.fit().alpha(), Some(&[3.0][..])); // the mean of 4, 0, 2 and 6
    /// # Ok::<(), jurybox::Error>(())
    /// ```
    pub fn round_from_pool<R: Rng + ?Sized>(
        &mut self,
        pool: &Scores<'_>,
        new: &Scores<'_>,
        at: u64,
        k: usize,
        rng: &mut R,
    ) -> Result<Vec<Pick>, Error> {
        let mut picks = Vec::new();
        self.round_from_pool_into(pool, new, at, k, rng, &mut picks)?;
        Ok(picks)
    }

    /// [`round_from_pool`](Self::round_from_pool) into a vector whose memory is reused.
    pub fn round_from_pool_into<R: Rng + ?Sized>(
        &mut self,
        pool: &Scores<'_>,
        new: &Scores<'_>,
        at: u64,
        k: usize,
        rng: &mut R,
        picks: &mut Vec<Pick>,
    ) -> Result<(), Error> {
        check_width(pool, &self.evaluators)?;
        check_width(new, &self.evaluators)?;
        check_time(at, self.seen.latest)?;
        check_k(k, pool.items())?;
        if self.policy.observes_first() {
            self.observe(new, at)?;
        }
        self.bring_fit_up_to_date();
        if let Some(rank) = &self.rank {
            let (evaluators, link) = (&self.evaluators, self.policy.link());
            fitted::choose(rank, evaluators, link, pool, k, rng, &mut self.scratch, picks);
        }
        if !self.policy.observes_first() {
            self.observe(new, at)?;
        }
        Ok(())
    }

    /// Makes the fit that the schedule asks for, unless it is there already.
    fn bring_fit_up_to_date(&mut self) {
        let (policy, seen) = (&self.policy, &self.seen);
        match (&self.schedule, &mut self.rank) {
            (Schedule::Past(_), Some(_)) => {}
            (Schedule::Past(past), none) => past.0.fit(&past.1, none.insert(past.0.buffer())),
            // The state is the same, but the number of rounds may have grown.
            (Schedule::Current, Some(rank)) => policy.count(seen, rank),
            (Schedule::Current | Schedule::Due, rank) => {
                policy.fit(seen, rank.get_or_insert_with(|| policy.buffer()));
                self.schedule = Schedule::Current;
            }
        }
    }
}

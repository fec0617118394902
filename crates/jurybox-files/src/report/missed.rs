//! An upper bound of the rewards missed in rows that were not reviewed, from rows reviewed at
//! random.
//!
//! Rewards are weighted by the inverse of their review probability (Horvitz and Thompson 1952). The
//! bound holds at all times at once: see [`greatest_mean`].

use crate::error::{Error, RowPosition};
use crate::table::{BatchPosition, ScanRequest, Table};
use jurybox::toolbox::greatest_mean;
use jurybox_draw::{counted, short};
use serde::Serialize;

/// Maximum probability that the bound is ever too low.
const RISK: f64 = 0.05;
/// Number of standard deviations from which on too few or too many verdicts are not due to chance.
const CHANCE: f64 = 4.0;

/// The rewards found and possibly missed, for rewards between 0 and 1 in a table with the
/// review probability of each row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MissedEstimate {
    /// Reviewed rows.
    pub reviewed: u64,
    /// The sum of the rewards of reviewed rows.
    pub found: f64,
    /// The estimated sum of rewards of rows that might have been reviewed at random, but were not.
    pub missed: f64,
    /// A 95% upper bound of the sum of rewards of all rows that were not reviewed. It holds at all
    /// times at once, so that the report can be repeated as the table grows.
    pub missed_at_most: f64,
    /// `missed` as a share of `found` and `missed` together; `None` if both are 0.
    pub share: Option<f64>,
    /// `missed_at_most` as a share of `found` and `missed_at_most` together.
    pub share_at_most: f64,
    /// Rows without a reward whose review probability is 0, 1 or missing. The upper bounds count
    /// each as missed in full.
    pub unknown: u64,
    /// Whether there are far fewer rewards than the probabilities predict.
    pub verdicts_missing: bool,
}

/// Sums over the rows.
#[derive(Debug, Default)]
struct MissedSums {
    /// Positive rewards with their probabilities, of rows reviewed at random.
    positive: Vec<(f64, f64)>,
    /// Rows with a probability between 0 and 1.
    at_random: u64,
    least: f64,
    reviewed: u64,
    found: f64,
    /// The sum of rewards of rows reviewed at random.
    found_at_random: f64,
    reviewed_at_random: u64,
    unknown: u64,
    expected: f64,
    variance: f64,
}

impl MissedEstimate {
    /// Reads the rewards and probabilities of a table. Errors on impossible ones, and if there are
    /// far more rewards than the probabilities predict.
    pub(super) fn of(table: &Table) -> Result<MissedEstimate, Error> {
        let mut sums = MissedSums { least: 1.0, ..MissedSums::default() };
        let mut last = BatchPosition::default();
        let want = ScanRequest { reward: true, probability: true, ..ScanRequest::default() };
        table.scan(
            want,
            |part| Ok((part.batch.rewards().to_vec(), part.batch.probabilities().to_vec())),
            |at, (rewards, probabilities)| {
                last = at;
                for (row, (reward, probability)) in rewards.into_iter().zip(probabilities).enumerate() {
                    sums.take(reward, probability).map_err(|reason| bad(table, at, row, reason))?;
                }
                Ok(())
            },
        )?;
        // A file of reviewed rows only would show that nothing was missed.
        let most = sums.expected + CHANCE * sums.variance.sqrt() + 0.01 * sums.expected;
        if sums.reviewed_at_random as f64 > most {
            let reason = format!(
                "{} of rows reviewed at random, but the probabilities predict about {:.0}: the file seems to lack the rows that were not \
                 reviewed; add them",
                counted(sums.reviewed_at_random, "reward"),
                sums.expected
            );
            return Err(bad(table, last, 0, reason));
        }
        Ok(sums.missed())
    }

    /// The estimate in a sentence.
    pub(super) fn sentence(&self) -> String {
        let MissedEstimate { reviewed, found, missed, missed_at_most, share, share_at_most, .. } = self;
        let percent = |share: f64| format!("{:.*}%", usize::from(share < 0.1), 100.0 * share);
        let estimate = share.map_or(String::new(), |share| format!("an estimated {}, ", percent(share)));
        format!(
            "Missed: {estimate}at most {} of all there was to find (95% bound, valid at all times). Found: {} in {}; missed: \
             about {}, at most {}.",
            percent(*share_at_most),
            short(*found),
            counted(*reviewed, "reviewed row"),
            short(*missed),
            short(*missed_at_most)
        )
    }

    /// Warnings about the estimate.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.unknown > 0 {
            words.push(format!(
                "{} had a review probability of 0, or of 1 but no reward: the bound counts each as missed in full.",
                counted(self.unknown, "row")
            ));
        }
        if self.verdicts_missing {
            words.push(
                "There are fewer rewards than the probabilities predict: if verdicts are missing for a reason, the estimate of what was \
                 missed is biased."
                    .into(),
            );
        }
        words
    }
}

impl MissedSums {
    /// Adds a row; NaN is a missing reward. The error is the problem in words.
    fn take(&mut self, reward: f64, probability: f64) -> Result<(), String> {
        if !(0.0..=1.0).contains(&probability) && !probability.is_nan() {
            return Err(format!("{probability} is not a probability"));
        }
        if !reward.is_nan() {
            if probability.is_nan() || probability == 0.0 {
                return Err("there is a reward, but no review probability".into());
            }
            if !(0.0..=1.0).contains(&reward) {
                return Err(format!(
                    "what was missed can be estimated only for rewards from 0 to 1, not {reward}"
                ));
            }
            self.reviewed += 1;
            self.found += reward;
        }
        if probability < 1.0 && probability > 0.0 {
            self.at_random += 1;
            self.least = self.least.min(probability);
            self.expected += probability;
            self.variance += probability * (1.0 - probability);
            if !reward.is_nan() {
                self.reviewed_at_random += 1;
                self.found_at_random += reward;
                self.positive.extend((reward > 0.0).then_some((reward, probability)));
            }
        } else if reward.is_nan() {
            self.unknown += 1;
        }
        Ok(())
    }

    fn missed(self) -> MissedEstimate {
        let (items, unknown) = (self.at_random as f64, self.unknown as f64);
        // The rewards of rows reviewed at random are known.
        let others = items - self.reviewed_at_random as f64;
        let missed = (self.positive.iter().map(|(reward, p)| reward / p).sum::<f64>() - self.found_at_random)
            .clamp(0.0, others);
        let most = items * greatest_mean(self.positive.iter().copied(), items, self.least, RISK);
        let missed_at_most = (most - self.found_at_random).clamp(missed, others) + unknown;
        let share = |missed: f64| missed / (missed + self.found);
        let lacking = self.expected - self.reviewed_at_random as f64;
        MissedEstimate {
            reviewed: self.reviewed,
            found: self.found,
            missed,
            missed_at_most,
            share: (missed + self.found > 0.0).then(|| share(missed)),
            share_at_most: if missed_at_most > 0.0 { share(missed_at_most) } else { 0.0 },
            unknown: self.unknown,
            verdicts_missing: lacking > CHANCE * self.variance.sqrt() + 0.01 * self.expected,
        }
    }
}

fn bad(table: &Table, at: BatchPosition, row: usize, reason: String) -> Error {
    Error::BadProbability {
        path: table.path_of(at.file).into(),
        place: RowPosition::Row(at.row_in_file + row as u64 + 1),
        column: table.roles().probability().unwrap_or_default().into(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    fn of(rows: &[(f64, f64)]) -> MissedEstimate {
        let mut sums = MissedSums { least: 1.0, ..MissedSums::default() };
        rows.iter().for_each(|&(reward, probability)| sums.take(reward, probability).unwrap());
        sums.missed()
    }

    #[test]
    fn certain_reviews_are_counted_and_random_ones_weighted() {
        // Two rows reviewed for certain, and 4 of 8 at random. One of these 4 has reward 1, so that
        // one more is expected in the others.
        let mut rows = vec![(1.0, 1.0), (0.0, 1.0), (1.0, 0.5), (0.0, 0.5), (0.0, 0.5), (0.0, 0.5)];
        rows.extend([(f64::NAN, 0.5); 4]);
        let found = of(&rows);
        assert_eq!((found.reviewed, found.found, found.missed), (6, 2.0, 1.0));
        assert_eq!(found.share, Some(1.0 / 3.0));
        // Too few to rule anything out: all four may have reward 1.
        assert_eq!((found.missed_at_most, found.share_at_most), (4.0, 4.0 / 6.0));
        // A row with probability 0 is counted in full.
        rows.push((f64::NAN, 0.0));
        assert_eq!((of(&rows).missed_at_most, of(&rows).unknown), (5.0, 1));
        assert_eq!(of(&[(1.0, 1.0)]).share_at_most, 0.0);
    }

    #[test]
    fn verdicts_that_are_missing_are_seen() {
        let rows = |seen: usize| {
            (0..1000).map(move |i| (if i < seen { 0.0 } else { f64::NAN }, 0.2)).collect::<Vec<_>>()
        };
        assert!(of(&rows(100)).verdicts_missing && !of(&rows(180)).verdicts_missing);
    }

    /// Reviews the best rows by a score, and others at random, on 30 days. The bound must hold
    /// after every day in 95% of the months. Of 400, 20 may fail, and 33 is three standard errors
    /// more.
    #[test]
    fn the_bound_holds_on_every_day_of_a_month() {
        let (months, mut broken, mut at_most) = (400, 0, 0.0);
        for seed in 0..months {
            let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
            let (mut sums, mut all, mut ever) =
                (MissedSums { least: 1.0, ..MissedSums::default() }, 0.0, false);
            for day in 0..30 {
                for _ in 0..200 {
                    let score: f64 = rng.random();
                    let harmful = f64::from(u8::from(rng.random::<f64>() < 0.3 * score.powi(8)));
                    let probability = if score > 0.85 { 1.0 } else { 0.1 };
                    all += harmful;
                    let seen = rng.random::<f64>() < probability;
                    sums.take(if seen { harmful } else { f64::NAN }, probability).unwrap();
                }
                let now = MissedSums { positive: sums.positive.clone(), ..sums };
                let reviewed = now.found;
                let estimate = now.missed();
                ever |= estimate.share_at_most + 1e-12 < (all - reviewed) / all;
                at_most += if day == 29 { estimate.share_at_most / months as f64 } else { 0.0 };
            }
            broken += u64::from(ever);
        }
        assert!(broken <= 33, "{broken} of {months}");
        // A trivial bound would hold as well.
        assert!(at_most < 0.6, "{at_most}");
    }
}

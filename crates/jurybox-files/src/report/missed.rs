//! What nobody has looked at, by those rows that were looked at by lot.

use crate::error::{Error, RowPosition};
use crate::table::{BatchPosition, Table, ScanRequest};
use jurybox::toolbox::greatest_mean;
use jurybox_draw::{counted, short};
use serde::Serialize;

/// The bound is too low with this probability, at any time.
const RISK: f64 = 0.05;
/// How many standard deviations chance is given before verdicts must be missing.
const CHANCE: f64 = 4.0;

/// What was found, and what may have been missed: of rewards between 0 and 1, in a table with the probability of each row to be
/// looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MissedEstimate {
    /// Rows that were looked at.
    pub reviewed: u64,
    /// The sum of their rewards.
    pub found: f64,
    /// What the others are worth together, as estimated from those that were looked at by lot.
    pub missed: f64,
    /// The most that it can be: it is more at any time at all, however often the report is made of a table that grows, in at most 5 of
    /// 100 tables.
    pub missed_at_most: f64,
    /// Of all there was to find, the share that was missed, as estimated; none where nothing was found.
    pub share: Option<f64>,
    /// The most that it can be.
    pub share_at_most: f64,
    /// Rows that could not have been looked at, or were to be for certain and have no reward: each is counted at the worst.
    pub unknown: u64,
    /// Whether rewards are missing, by the probabilities.
    pub verdicts_missing: bool,
}

/// What is summed up over the rows.
#[derive(Debug, Default)]
struct MissedSums {
    /// Rewards above 0 and their probabilities, of rows that were looked at by lot.
    positive: Vec<(f64, f64)>,
    /// Rows that could be looked at by lot.
    by_lot: u64,
    least: f64,
    reviewed: u64,
    found: f64,
    /// Of those that were looked at by lot.
    found_by_lot: f64,
    reviewed_by_lot: u64,
    unknown: u64,
    expected: f64,
    variance: f64,
}

impl MissedEstimate {
    /// One pass over a table with rewards and probabilities.
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
        // A file of what was looked at alone would have missed nothing.
        let most = sums.expected + CHANCE * sums.variance.sqrt() + 0.01 * sums.expected;
        if sums.reviewed_by_lot as f64 > most {
            let reason = format!(
                "{} by lot, where the probabilities say about {:.0}: rows that nobody looked at were left out of the file, and what was \
                 missed is among those; put them in",
                counted(sums.reviewed_by_lot, "reward"),
                sums.expected
            );
            return Err(bad(table, last, 0, reason));
        }
        Ok(sums.missed())
    }

    /// The figure in words.
    pub(super) fn sentence(&self) -> String {
        let MissedEstimate { reviewed, found, missed, missed_at_most, share, share_at_most, .. } = self;
        let estimate =
            share.map_or(String::new(), |share| format!("; about {:.1}% by estimate", 100.0 * share));
        format!(
            "Missed: at most {:.1}% of what there was to find was not looked at (95%, however often this is asked){estimate}. {} found in {}, \
             and at most {} missed (about {}).",
            100.0 * share_at_most,
            short(*found),
            counted(*reviewed, "row"),
            short(*missed_at_most),
            short(*missed)
        )
    }

    /// What a person should know of it.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.unknown > 0 {
            words.push(format!(
                "{} could not have been looked at by their probability, or should have been for certain and have no reward: \
                 each is counted as missed in full.",
                counted(self.unknown, "row")
            ));
        }
        if self.verdicts_missing {
            words.push(
                "There are fewer rewards than the probabilities say: verdicts that are missing for a reason bend what is said to \
                 be missed."
                    .into(),
            );
        }
        words
    }
}

impl MissedSums {
    fn take(&mut self, reward: f64, probability: f64) -> Result<(), String> {
        if !(0.0..=1.0).contains(&probability) && !probability.is_nan() {
            return Err(format!("{probability} is not the probability of a pick"));
        }
        if !reward.is_nan() {
            if probability.is_nan() || probability == 0.0 {
                return Err(
                    "there is a reward, but no probability with which the row was to be looked at".into()
                );
            }
            if !(0.0..=1.0).contains(&reward) {
                return Err(format!("what was missed is told of rewards from 0 to 1, and here is {reward}"));
            }
            self.reviewed += 1;
            self.found += reward;
        }
        if probability < 1.0 && probability > 0.0 {
            self.by_lot += 1;
            self.least = self.least.min(probability);
            self.expected += probability;
            self.variance += probability * (1.0 - probability);
            if !reward.is_nan() {
                self.reviewed_by_lot += 1;
                self.found_by_lot += reward;
                self.positive.extend((reward > 0.0).then_some((reward, probability)));
            }
        } else if reward.is_nan() {
            self.unknown += 1;
        }
        Ok(())
    }

    fn missed(self) -> MissedEstimate {
        let (items, unknown) = (self.by_lot as f64, self.unknown as f64);
        // Of rows by lot, those that were looked at are known.
        let others = items - self.reviewed_by_lot as f64;
        let missed = (self.positive.iter().map(|(reward, p)| reward / p).sum::<f64>() - self.found_by_lot)
            .clamp(0.0, others);
        let most = items * greatest_mean(self.positive.iter().copied(), items, self.least, RISK);
        let missed_at_most = (most - self.found_by_lot).clamp(missed, others) + unknown;
        let share = |missed: f64| missed / (missed + self.found);
        let lacking = self.expected - self.reviewed_by_lot as f64;
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
    fn what_is_certain_is_counted_and_what_is_by_lot_is_weighed() {
        // Two certain ones, and by lot 4 of 8: one of these is worth 1, so one more is to be expected.
        let mut rows = vec![(1.0, 1.0), (0.0, 1.0), (1.0, 0.5), (0.0, 0.5), (0.0, 0.5), (0.0, 0.5)];
        rows.extend([(f64::NAN, 0.5); 4]);
        let found = of(&rows);
        assert_eq!((found.reviewed, found.found, found.missed), (6, 2.0, 1.0));
        assert_eq!(found.share, Some(1.0 / 3.0));
        // So few rule nothing out: all four may be.
        assert_eq!((found.missed_at_most, found.share_at_most), (4.0, 4.0 / 6.0));
        // One that could not be looked at is counted in full.
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

    /// A month in which the best by a score are looked at, and others by lot: after every day the bound holds what was missed, on all
    /// days at once in at least 95 of 100 months.
    #[test]
    fn the_bound_holds_on_every_day_of_a_month() {
        let (months, mut broken, mut at_most) = (400, 0, 0.0);
        for seed in 0..months {
            let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
            let (mut sums, mut all, mut ever) = (MissedSums { least: 1.0, ..MissedSums::default() }, 0.0, false);
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
        // A bound that says nothing would hold too.
        assert!(at_most < 0.6, "{at_most}");
    }
}

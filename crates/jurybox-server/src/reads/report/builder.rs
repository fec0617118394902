//! Accumulates the items of a queue with their verdicts into a report.

use super::{QueueReport, RandomCheckCounts, RewardMean};
use crate::evaluator_history::EvaluatorHistory;
use crate::event::VerdictSource;
use crate::reads::intervals::bounds;
use crate::reads::model::oriented;
use crate::reads::sample::{RewardBounds, Stratum, others, total};
use crate::reads::setup_history::SetupHistory;
use crate::request::GOLDEN;
use crate::rows::ItemRow;
use crate::store::lookups::StandingVerdict;
use jurybox::toolbox::Standard;
use jurybox::{Evaluators, Interval};
use std::collections::HashSet;

/// A random check that was not erased.
#[derive(Debug)]
struct RandomCheckItem {
    stratum: usize,
    worth: Option<f64>,
    scores: Vec<f64>,
}

/// A number of items, and the sum of their rewards.
#[derive(Debug, Default)]
struct RewardSum {
    items: u64,
    sum: f64,
}

impl RewardSum {
    fn add(&mut self, worth: f64) {
        (self.items, self.sum) = (self.items + 1, self.sum + worth);
    }

    /// The sums of both counts and of both rewards.
    fn and(&self, others: &RewardSum) -> RewardSum {
        RewardSum { items: self.items + others.items, sum: self.sum + others.sum }
    }

    /// The mean of these items and of `unknown` more, which count at the worst for each end.
    fn mean(&self, scale: RewardBounds, unknown: u64) -> RewardMean {
        let all = (self.items + unknown) as f64;
        let fewest = scale.share(self.sum, self.items) / all;
        let most = fewest + unknown as f64 / all;
        let mean = if unknown > 0 { f64::NAN } else { fewest };
        RewardMean {
            items: self.items,
            sum: self.sum,
            mean: (self.items > 0).then(|| of_share(fewest, most, all, mean, scale)),
        }
    }
}

/// The mean of some rewards with a 95% interval; None without any.
pub fn mean_of(worths: &[f64], scale: RewardBounds) -> Option<Interval> {
    let mut all = RewardSum::default();
    worths.iter().for_each(|worth| all.add(*worth));
    all.mean(scale, 0).mean
}

fn of_share(fewest: f64, most: f64, n: f64, mean: f64, scale: RewardBounds) -> Interval {
    let (low, high) = bounds(fewest, most, n);
    scale.rewards(Interval { mean, low, high }, 1.0)
}

/// Collects items for a report. Keeps the scores of random checks.
#[derive(Debug)]
pub(super) struct ReportBuilder {
    strata: Vec<Stratum>,
    erased: u64,
    random_checks: RandomCheckCounts,
    each: Vec<RandomCheckItem>,
    picked: RewardSum,
    unclaimed: RewardSum,
    /// Erased items that were decided after a claim.
    picked_and_erased: RewardSum,
    /// Erased items that were decided without a claim.
    unclaimed_and_erased: RewardSum,
    /// Golden items that were not erased.
    pub(super) golden: u64,
    /// Golden items that were not erased and are decided.
    golden_decided: u64,
    /// Claimed items that came back undecided.
    pub(super) released: u64,
    /// Items that somebody holds now.
    pub(super) in_hand: HashSet<u64>,
    pub(super) scale: RewardBounds,
}

/// An item with its verdicts.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts")]
pub(super) struct ReportItem {
    pub(super) n: u64,
    pub(super) random_check: Option<f64>,
    pub(super) erased: bool,
    pub(super) open: bool,
    /// Whether it is golden: its reward was known before.
    pub(super) golden: bool,
    pub(super) scores: Vec<f64>,
    /// The reward by the last decision of people, if there is one.
    pub(super) worth: Option<f64>,
    /// Whether a reviewer had claimed it.
    pub(super) asked: bool,
}

impl ReportItem {
    pub(super) fn of(
        item: ItemRow,
        history: &EvaluatorHistory,
        head: u64,
        asked: &HashSet<u64>,
        past: &SetupHistory,
    ) -> Self {
        let worth = past.enough(&item);
        let (n, random_check, open) = (item.n, item.random_check, item.closed.is_none());
        let erased = item.scores.is_empty();
        let golden = item.tags.contains_key(GOLDEN);
        // Only random checks need scores.
        let scores =
            if random_check.is_some() { item.into_added(history, head + 1).scores } else { Vec::new() };
        ReportItem { n, random_check, erased, open, golden, scores, worth, asked: asked.contains(&n) }
    }

    /// Adds a valid verdict; verdicts come in log order.
    pub(super) fn hear(&mut self, said: StandingVerdict) {
        // Verdicts by rules are not reviews.
        if said.source != VerdictSource::Automatic {
            self.worth = said.decides.or(self.worth);
            self.asked |= said.claim.is_some();
        }
    }
}

impl ReportBuilder {
    pub(super) fn of(arrivals: &[(f64, u64, u64)]) -> Self {
        let mut gathered = ReportBuilder {
            strata: Vec::new(),
            erased: 0,
            random_checks: RandomCheckCounts::default(),
            each: Vec::new(),
            picked: RewardSum::default(),
            unclaimed: RewardSum::default(),
            picked_and_erased: RewardSum::default(),
            unclaimed_and_erased: RewardSum::default(),
            golden: 0,
            golden_decided: 0,
            released: 0,
            in_hand: HashSet::new(),
            scale: RewardBounds::USUAL,
        };
        for (rate, came, kept) in arrivals {
            let at = gathered.stratum(*rate);
            gathered.strata[at].came += came;
            gathered.erased += came - kept;
        }
        gathered
    }

    fn stratum(&mut self, rate: f64) -> usize {
        let found = self.strata.iter().position(|stratum| stratum.rate == rate);
        found.unwrap_or_else(|| {
            self.strata.push(Stratum { rate, ..Stratum::default() });
            self.strata.len() - 1
        })
    }

    pub(super) fn take(&mut self, seen: ReportItem) {
        // The reward of golden items was known before.
        if seen.golden {
            self.golden_decided += u64::from(seen.worth.is_some() && !seen.erased);
            return;
        }
        let Some(rate) = seen.random_check else {
            match (seen.worth, seen.asked) {
                (Some(worth), true) if seen.erased => self.picked_and_erased.add(worth),
                (Some(worth), true) => self.picked.add(worth),
                (Some(worth), false) if seen.erased => self.unclaimed_and_erased.add(worth),
                (Some(worth), false) => self.unclaimed.add(worth),
                (None, asked) => {
                    self.released += u64::from(asked && !self.in_hand.contains(&seen.n));
                }
            }
            return;
        };
        let worth = seen.worth.filter(|_| !seen.erased);
        let at = self.stratum(rate);
        let stratum = &mut self.strata[at];
        stratum.random_checks += 1;
        self.random_checks.items += 1;
        match worth {
            Some(worth) => {
                (stratum.decided, stratum.sum) = (stratum.decided + 1, stratum.sum + worth);
                self.random_checks.decided += 1;
            }
            None if seen.erased => {
                (stratum.gone, self.random_checks.erased) = (stratum.gone + 1, self.random_checks.erased + 1);
            }
            None if seen.open => self.random_checks.waiting += 1,
            None => self.random_checks.closed += 1,
        }
        if !seen.erased {
            self.each.push(RandomCheckItem { stratum: at, worth, scores: seen.scores });
        }
    }

    pub(super) fn report(self, evaluators: &Evaluators) -> QueueReport {
        let scale = self.scale;
        let came: u64 = self.strata.iter().map(|stratum| stratum.came).sum();
        let items = came - self.erased;
        let by_drawn: f64 = self.strata.iter().map(|stratum| stratum.sum).sum();
        let random = total(&self.strata, scale);
        let random = random.map(|sum| {
            let mean = clamped(sum, 0.0, came as f64).times(1.0 / came as f64);
            self.without_point(scale.rewards(mean, 1.0))
        });
        let unknown = match (self.random_checks.items, self.random_checks.decided) {
            (0, _) => Some(
                "there are no random checks yet: set random_check_rate above 0; it applies to items that are added afterwards",
            ),
            (_, 0) => Some("no random check has been decided by people yet"),
            _ => None,
        };
        QueueReport {
            items: items + self.golden,
            reviewed: self.picked.items + self.unclaimed.items + self.random_checks.decided,
            found: self.picked.sum + self.unclaimed.sum + by_drawn,
            picked: self.picked.and(&self.picked_and_erased).mean(scale, self.released),
            released: self.released,
            golden: self.golden_decided,
            unclaimed: self.unclaimed.and(&self.unclaimed_and_erased).mean(scale, 0),
            random: RewardMean { items: self.random_checks.decided, sum: by_drawn, mean: random },
            plain_mean: self.plain_mean(evaluators, items),
            missed: self.missed(items),
            unknown,
            random_checks: self.random_checks,
            scale,
        }
    }

    /// The total reward of undecided items that were not erased. The total of items other than
    /// random checks is estimated, less the decided ones; undecided random checks are added.
    fn missed(&self, items: u64) -> Option<Interval> {
        let scale = self.scale;
        let others = others(&self.strata, scale)?;
        let not_drawn: u64 = self.strata.iter().map(Stratum::others).sum();
        let apart = [&self.picked, &self.unclaimed];
        let decided: f64 = apart.iter().map(|tally| scale.share(tally.sum, tally.items)).sum();
        let reviewed: u64 = apart.iter().map(|tally| tally.items).sum::<u64>() + self.random_checks.decided;
        let erased = (self.erased - self.random_checks.erased) as f64;
        let undecided = (self.random_checks.waiting + self.random_checks.closed) as f64;
        let mean = others.mean / not_drawn.max(1) as f64;
        let missed = Interval {
            mean: others.mean + mean * (undecided - erased) - decided,
            // Each erased item may have had any reward.
            low: others.low - erased - decided,
            high: others.high + undecided - decided,
        };
        let left = (items - reviewed) as f64;
        Some(self.without_point(scale.rewards(clamped(missed, 0.0, left), left)))
    }

    /// The interval without its mean, if people have not decided all random checks, or if a stratum
    /// with items has none decided.
    fn without_point(&self, interval: Interval) -> Interval {
        let known = |stratum: &Stratum| stratum.came == 0 || stratum.decided > 0;
        let all = self.random_checks.decided == self.random_checks.items && self.strata.iter().all(known);
        if all { interval } else { Interval { mean: f64::NAN, ..interval } }
    }

    /// The mean reward of the best random checks by the plain mean of standardised scores, as large
    /// a share as was picked.
    fn plain_mean(&self, evaluators: &Evaluators, items: u64) -> RewardMean {
        let width = evaluators.len();
        let others = items.saturating_sub(self.random_checks.items - self.random_checks.erased);
        let share = if others > 0 { self.picked.items as f64 / others as f64 } else { 0.0 };
        let mut standard = Standard::new(width);
        let rows: Vec<(Vec<f64>, &RandomCheckItem)> = self
            .each
            .iter()
            .filter(|one| one.scores.len() == width)
            .map(|one| (oriented(&one.scores, evaluators), one))
            .collect();
        rows.iter().for_each(|(row, _)| standard.observe(row));
        let mut order: Vec<(f64, &RandomCheckItem)> = rows
            .iter()
            .map(|(row, one)| (standard.row_mean(row), *one))
            .filter(|(mean, _)| !mean.is_nan())
            .collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        // Picks are made among the other items. Each random check represents some of the others.
        let stands_for = |stratum: &Stratum| match stratum.random_checks {
            0 => 0.0,
            random_checks => stratum.others() as f64 / random_checks as f64,
        };
        let weight = |one: &RandomCheckItem| stands_for(&self.strata[one.stratum]);
        // Items that erased random checks represent, and strata without random checks, may be among
        // the best.
        let unknown = |stratum: &Stratum| match stratum.random_checks {
            0 => stratum.came as f64,
            _ => stratum.gone as f64 * stands_for(stratum),
        };
        let unknown: f64 = self.strata.iter().map(unknown).sum();
        order.retain(|(_, one)| weight(one) > 0.0);
        let known: f64 = order.iter().map(|(_, one)| weight(one)).sum();
        let all = share * (known + unknown);
        let unknown = unknown.min(all);
        let (mut taken, mut squares, mut decided, mut worth, mut many, mut sum) =
            (0.0, 0.0, 0.0, 0.0, 0, 0.0);
        for (_, one) in order {
            let weight = weight(one);
            // The last random check counts if at least half of its weight fits.
            if taken + weight / 2.0 > all - unknown {
                break;
            }
            (taken, squares) = (taken + weight, squares + weight * weight);
            if let Some(found) = one.worth {
                (decided, worth) = (decided + weight, worth + weight * self.scale.share(found, 1));
                (many, sum) = (many + 1, sum + found);
            }
        }
        let mean = (many > 0).then(|| {
            let all = taken + unknown;
            let fewest = worth / all;
            let most = (fewest + (all - decided) / all).min(1.0);
            let mean = if decided < all { f64::NAN } else { fewest };
            of_share(fewest, most, taken * taken / squares, mean, self.scale)
        });
        RewardMean { items: many, sum, mean }
    }
}

/// The interval and its mean, limited to a range.
pub(in crate::reads) fn clamped(interval: Interval, low: f64, high: f64) -> Interval {
    let within = |value: f64| value.clamp(low, high);
    let (low, high) = (within(interval.low), within(interval.high));
    Interval { mean: interval.mean.clamp(low, high), low, high }
}

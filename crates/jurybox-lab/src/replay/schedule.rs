//! The schedule of a run: which rows are shown when, the same for all entrants.

use super::duplicate_scores::DuplicateScores;
use super::options::{POOL_SHARE, Protocol};
use super::{ReplayOptions, ReviewLog};
use crate::error::Error;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A part of a run. Every picker begins it anew, without what it learnt before.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ScheduleStage {
    /// Rows that stay until they are picked, with learning; the stage ends after `budget` picks.
    Pool { rows: Vec<usize>, budget: usize },
    /// Rounds of rows, with learning after each.
    Rounds(Vec<Vec<usize>>),
    /// Learning from the rewards of `rest`, then rounds without learning.
    Fold { rest: Vec<usize>, rounds: Vec<Vec<usize>> },
}

/// The rows that a run shows, stage by stage.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RowSchedule {
    pub(crate) stages: Vec<ScheduleStage>,
}

/// What random (uniform) and best possible picks earn, label by label.
///
/// In each round or pool, `uniform` repeats the mean reward of the rows shown, and `best` has their
/// highest rewards in descending order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RewardBaselines {
    pub(crate) uniform: Vec<f64>,
    pub(crate) best: Vec<f64>,
    /// Number of labels at the end of each round, or of each step in a pool.
    pub(crate) rounds: Vec<usize>,
    /// Number of labels at the end of each stage.
    pub(crate) stages: Vec<usize>,
}

/// Number of random splits of the rows into halves.
pub(crate) const SPLITS: usize = 10;
/// Number of runs on each half of a split.
pub(crate) const RUNS_OF_A_HALF: usize = 2;
/// Number of runs on halves.
pub(crate) const RUNS_OF_HALVES: usize = 2 * SPLITS * RUNS_OF_A_HALF;

/// The number of rounds and labels of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunSize {
    pub(crate) rounds: usize,
    pub(crate) labels: usize,
    /// Rounds and labels of a run on half of the rows. None if halves are not used or too small.
    pub(crate) half: Option<(usize, usize)>,
    pub(crate) warning: Option<String>,
}

impl RunSize {
    /// The size that the log allows. Errors if the protocol cannot be played on it.
    pub(crate) fn of(log: &ReviewLog, options: &ReplayOptions) -> Result<RunSize, Error> {
        options.check()?;
        let own = !log.rounds.is_empty();
        // These protocols show each item once; folds keep the rows of an item together.
        let once = matches!(options.protocol, Protocol::Rounds | Protocol::Pool { .. });
        let rows = if once { log.items.count(log.rows()) } else { log.rows() };
        let too_few = |name: &'static str, value: usize, of: usize, what: &str| {
            Err(Error::setting(name, value, format!("there are only {of} {what}")))
        };
        let dealt = matches!(options.protocol, Protocol::Rounds | Protocol::Reuse) && !own;
        if dealt && (options.items == 0 || options.items > rows) {
            return too_few("items", options.items, rows, "rows");
        }
        if dealt && options.k > options.items {
            return too_few("k", options.k, options.items, "items in a round");
        }
        match options.protocol {
            Protocol::Pool { .. } if own => Err(Error::setting(
                "round",
                "a column",
                "a pool has no rounds: all rows are in it from the beginning",
            )),
            Protocol::Reuse if own => {
                Err(Error::setting("round", "a column", "the file has rounds of its own, which come once"))
            }
            Protocol::Pool { budget } => {
                let pool = pool_size(rows);
                if options.k > pool {
                    return too_few("k", options.k, pool, "rows in a pool");
                }
                let warning = (budget > pool).then(|| {
                    format!(
                        "a budget of {budget} labels is more than the {pool} rows of a pool: \
                             every policy picks all of them"
                    )
                });
                let labels = budget.min(pool);
                let of_half = (budget / 2).min(pool_size(rows / 2));
                let half = (options.k <= of_half).then(|| (of_half.div_ceil(options.k), of_half));
                Ok(RunSize { rounds: labels.div_ceil(options.k), labels, half, warning })
            }
            Protocol::Rounds => {
                let there = if own { log.rounds.len() } else { rows / options.items };
                let rounds = options.rounds.unwrap_or(there).min(there);
                let warning = options.rounds.filter(|&asked| asked > there).map(|asked| {
                    format!(
                        "{asked} rounds were asked for, the file has {there}: each row comes once, so {there} rounds are \
                         played"
                    )
                });
                let labels = if own {
                    log.rounds[..rounds].iter().map(|rows| rows.len().min(options.k)).sum()
                } else {
                    rounds * options.k
                };
                let of_half = (rounds / 2).min(rows / 2 / options.items.max(1));
                let half = (dealt && of_half > 0).then_some((of_half, of_half * options.k));
                Ok(RunSize { rounds, labels, half, warning })
            }
            Protocol::Reuse => {
                let rounds = options.rounds.unwrap_or(2000);
                Ok(RunSize { rounds, labels: rounds * options.k, half: None, warning: None })
            }
            Protocol::Folds(folds) => {
                let units = if own { log.rounds.len() } else { log.items.count(rows) };
                if folds > units {
                    return too_few("folds", folds, units, if own { "rounds" } else { "rows" });
                }
                if !own
                    && options.k > (rows / folds).min(if options.items == 0 { rows } else { options.items })
                {
                    return too_few("k", options.k, rows / folds, "rows in a fold");
                }
                let schedule = RowSchedule::of(log, options, 0);
                let baselines = schedule.baselines(log, options.k);
                let (rounds, labels) = (baselines.rounds.len(), baselines.uniform.len());
                Ok(RunSize { rounds, labels, half: None, warning: None })
            }
        }
    }
}

fn pool_size(rows: usize) -> usize {
    ((rows as f64 * POOL_SHARE).round() as usize).clamp(1, rows)
}

impl RowSchedule {
    /// The schedule of one run, which depends on the log, the options and the run's number only.
    pub(crate) fn of(log: &ReviewLog, options: &ReplayOptions, run: usize) -> RowSchedule {
        let most = options.rounds.unwrap_or(usize::MAX);
        let rows: Vec<usize> = (0..log.rows()).collect();
        RowSchedule::over(&rows, options.protocol, most, log, options, run)
    }

    /// The schedule of run number `at` on halves of the rows, with the given numbers of rounds and
    /// labels.
    ///
    /// All rows of an item are in one half. Runs of the same split divide the rows alike.
    pub(crate) fn of_half(
        log: &ReviewLog,
        options: &ReplayOptions,
        (rounds, labels): (usize, usize),
        at: usize,
    ) -> RowSchedule {
        let split = at / (2 * RUNS_OF_A_HALF);
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        // No stream of a run has such a number.
        rng.set_stream(u64::MAX / 2 - split as u64);
        let mut first: Vec<usize> = (0..log.rows()).filter(|&row| log.items.of_row(row) == row).collect();
        draw(&mut first, &mut rng);
        let mut in_first = vec![false; log.rows()];
        first[..first.len() / 2].iter().for_each(|&row| in_first[row] = true);
        let half = (at / RUNS_OF_A_HALF).is_multiple_of(2);
        let rows: Vec<usize> =
            (0..log.rows()).filter(|&row| in_first[log.items.of_row(row)] == half).collect();
        let protocol = match options.protocol {
            Protocol::Pool { .. } => Protocol::Pool { budget: labels },
            other => other,
        };
        RowSchedule::over(&rows, protocol, rounds, log, options, options.runs + at)
    }

    /// The schedule of one run over the given rows, with at most `most` rounds.
    fn over(
        rows: &[usize],
        protocol: Protocol,
        most: usize,
        log: &ReviewLog,
        options: &ReplayOptions,
        run: usize,
    ) -> RowSchedule {
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        rng.set_stream(2 * run as u64);
        let all = || rows.to_vec();
        let shuffled = |rng: &mut ChaCha8Rng| {
            let (mut rows, mut seen) = (all(), vec![false; log.rows()]);
            draw(&mut rows, rng);
            log.items.keep_first(&mut rows, &mut seen);
            rows
        };
        let stages = match protocol {
            Protocol::Pool { budget } => {
                let mut rows = shuffled(&mut rng);
                rows.truncate(pool_size(rows.len()));
                rows.sort_unstable();
                vec![ScheduleStage::Pool { budget: budget.min(rows.len()), rows }]
            }
            Protocol::Rounds => {
                let rounds: Vec<Vec<usize>> = if log.rounds.is_empty() {
                    let rows = if log.items.repeat() {
                        shuffled(&mut rng)
                    } else {
                        // Only the rows that are shown are drawn.
                        let mut rows = all();
                        let shown = most.saturating_mul(options.items).min(rows.len());
                        draw_first(&mut rows, shown, &mut rng);
                        rows
                    };
                    rows.chunks_exact(options.items).take(most).map(<[usize]>::to_vec).collect()
                } else {
                    log.rounds.iter().take(most).cloned().collect()
                };
                vec![ScheduleStage::Rounds(rounds)]
            }
            Protocol::Reuse => {
                let mut rows = all();
                let rounds = (0..options.rounds.unwrap_or(2000)).map(|_| {
                    draw_first(&mut rows, options.items, &mut rng);
                    rows[..options.items].to_vec()
                });
                vec![ScheduleStage::Rounds(rounds.collect())]
            }
            Protocol::Folds(folds) => folds_of(log, options, folds, &mut rng),
        };
        RowSchedule { stages }
    }

    /// The rows of each round. Pools have no rounds.
    pub(crate) fn rounds(&self) -> impl Iterator<Item = &[usize]> {
        let rounds = self.stages.iter().flat_map(|stage| match stage {
            ScheduleStage::Rounds(rounds) | ScheduleStage::Fold { rounds, .. } => rounds.as_slice(),
            ScheduleStage::Pool { .. } => &[],
        });
        rounds.map(Vec::as_slice)
    }

    /// What uniform and best possible picks earn on this schedule.
    pub(crate) fn baselines(&self, log: &ReviewLog, k: usize) -> RewardBaselines {
        let mut baselines = RewardBaselines::default();
        for stage in &self.stages {
            match stage {
                ScheduleStage::Pool { rows, budget } => {
                    baselines.add(log, rows, *budget);
                    let start = baselines.uniform.len() - budget;
                    baselines
                        .rounds
                        .extend((1..=budget.div_ceil(k)).map(|step| start + (step * k).min(*budget)));
                }
                ScheduleStage::Rounds(rounds) | ScheduleStage::Fold { rounds, .. } => {
                    for rows in rounds {
                        baselines.add(log, rows, k.min(rows.len()));
                        baselines.rounds.push(baselines.uniform.len());
                    }
                }
            }
            baselines.stages.push(baselines.uniform.len());
        }
        baselines
    }
}

impl RewardBaselines {
    fn add(&mut self, log: &ReviewLog, rows: &[usize], labels: usize) {
        let mut rewards: Vec<f64> = rows.iter().map(|&row| log.rewards[row]).collect();
        let mean = rewards.iter().sum::<f64>() / rewards.len() as f64;
        rewards.sort_unstable_by(|a, b| b.total_cmp(a));
        self.uniform.extend(std::iter::repeat_n(mean, labels));
        self.best.extend_from_slice(&rewards[..labels]);
    }
}

/// Stages of cross-validation. The rows of one round of the file are in one fold. Without such
/// rounds, rows of one item are in one fold, and so are rows with equal scores unless these are
/// more than a fold's share.
fn folds_of(
    log: &ReviewLog,
    options: &ReplayOptions,
    folds: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<ScheduleStage> {
    let duplicates = DuplicateScores::of(log);
    let own = !log.rounds.is_empty();
    let mut units: Vec<Vec<usize>> =
        if own { log.rounds.clone() } else { kept_together(&duplicates, log, log.rows() / folds) };
    draw(&mut units, rng);
    let parts: Vec<Vec<Vec<usize>>> = if own || units.len() == log.rows() {
        let part = |fold: usize| units[fold * units.len() / folds..(fold + 1) * units.len() / folds].to_vec();
        (0..folds).map(part).collect()
    } else {
        evenly(units, folds, rng)
    };
    let stage = |fold: usize| {
        let others = (0..folds).filter(|&other| other != fold);
        let mut rest: Vec<usize> = others.flat_map(|other| parts[other].concat()).collect();
        rest.sort_unstable();
        let rounds = if own {
            rest = without_duplicates(&duplicates, rest, &parts[fold], log.rows());
            let mut shown = vec![false; log.rows()];
            parts[fold].iter().flatten().for_each(|&row| shown[log.items.of_row(row)] = true);
            rest.retain(|&row| !shown[log.items.of_row(row)]);
            parts[fold].clone()
        } else {
            let rows = parts[fold].concat();
            let items = if options.items == 0 { rows.len() } else { options.items.min(rows.len()) };
            rows.chunks_exact(items).map(<[usize]>::to_vec).collect()
        };
        ScheduleStage::Fold { rest, rounds }
    };
    (0..folds).map(stage).collect()
}

/// The rows in groups that must be in one fold, for a file without rounds of its own.
fn kept_together(duplicates: &DuplicateScores, log: &ReviewLog, most: usize) -> Vec<Vec<usize>> {
    let mut units: Vec<Vec<usize>> = vec![Vec::new(); log.rows()];
    duplicates
        .units_with_items(&log.items, most)
        .into_iter()
        .enumerate()
        .for_each(|(row, unit)| units[unit].push(row));
    units.retain(|unit| !unit.is_empty());
    units
}

/// Deals groups of rows to folds: the largest first, each to the fold with the fewest rows so far.
///
/// The folds' sizes depend on the groups' sizes alone, so that all runs have equally many labels.
fn evenly(mut units: Vec<Vec<usize>>, folds: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<Vec<usize>>> {
    units.sort_by_key(|unit| std::cmp::Reverse(unit.len()));
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); folds];
    for unit in units {
        if let Some(part) = parts.iter_mut().min_by_key(|part| part.len()) {
            part.extend(unit);
        }
    }
    // Rows with equal scores should not be neighbours within a fold.
    parts.iter_mut().for_each(|part| draw(part, rng));
    parts.into_iter().map(|part| vec![part]).collect()
}

/// The rows of `rest` without those whose scores a row of the fold has too. All of `rest` if fewer
/// than half of it would be left: scores are then coarse, and equal ones no sign of a copy.
fn without_duplicates(
    duplicates: &DuplicateScores,
    rest: Vec<usize>,
    fold: &[Vec<usize>],
    rows: usize,
) -> Vec<usize> {
    let mut shown = vec![false; rows];
    fold.iter().flatten().for_each(|&row| shown[duplicates.unit(row, rows)] = true);
    let left: Vec<usize> = rest.iter().copied().filter(|&row| !shown[duplicates.unit(row, rows)]).collect();
    if 2 * left.len() < rest.len() { rest } else { left }
}

/// Shuffles a list (Fisher-Yates).
fn draw<T>(list: &mut [T], rng: &mut ChaCha8Rng) {
    draw_first(list, list.len(), rng);
}

/// Moves `n` entries, drawn without replacement, to the front of a list.
fn draw_first<T>(list: &mut [T], n: usize, rng: &mut ChaCha8Rng) {
    for at in 0..n {
        let other = rng.random_range(at..list.len());
        list.swap(at, other);
    }
}

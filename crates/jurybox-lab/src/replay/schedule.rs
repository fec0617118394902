//! The course of a run: which rows are shown when. All players of a run meet the same one.

use super::duplicate_scores::DuplicateScores;
use super::options::{POOL_SHARE, Protocol};
use super::{ReplayOptions, ReviewLog};
use crate::error::Error;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A stretch that a player starts from nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stage {
    /// Rows that stay until they are picked.
    Pool { rows: Vec<usize>, budget: usize },
    /// Rounds that pass, each learnt from.
    Rounds(Vec<Vec<usize>>),
    /// Rounds that are ranked after learning from all the rest, and not learnt from.
    Fold { rest: Vec<usize>, rounds: Vec<Vec<usize>> },
}

/// What a run shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RowSchedule {
    pub(crate) stages: Vec<Stage>,
}

/// What there is to earn, label by label: the mean of what is shown, and the best of it in descending order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RewardBaselines {
    pub(crate) uniform: Vec<f64>,
    pub(crate) best: Vec<f64>,
    /// Labels given at the end of each round (in a pool: of each step) and of each stage.
    pub(crate) rounds: Vec<usize>,
    pub(crate) stages: Vec<usize>,
}

/// How often the rows are split into two halves, and how many runs each half has.
pub(crate) const SPLITS: usize = 10;
pub(crate) const RUNS_OF_A_HALF: usize = 2;
/// Runs of all halves.
pub(crate) const RUNS_OF_HALVES: usize = 2 * SPLITS * RUNS_OF_A_HALF;

/// How many rounds a run has, and what a person should know about that.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunSize {
    pub(crate) rounds: usize,
    pub(crate) labels: usize,
    /// Rounds and labels of a run of half of the rows; None where halves are not played, or too small.
    pub(crate) half: Option<(usize, usize)>,
    pub(crate) warning: Option<String>,
}

impl RunSize {
    /// What a file can give of what was asked for.
    pub(crate) fn of(log: &ReviewLog, options: &ReplayOptions) -> Result<RunSize, Error> {
        options.check()?;
        let own = !log.rounds.is_empty();
        // A run shows an item once, unless rows are to come back; folds keep its rows together.
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
                Err(Error::setting("round", "a column", "the file's own rounds come once and never again"))
            }
            Protocol::Pool { budget } => {
                let pool = pool_size(rows);
                if options.k > pool {
                    return too_few("k", options.k, pool, "rows in a pool");
                }
                let warning = (budget > pool).then(|| {
                    format!("a budget of {budget} labels is more than the {pool} rows of a pool: all of them are picked in the end")
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
    /// The course of one run: a function of the file, the options and the number of the run.
    pub(crate) fn of(log: &ReviewLog, options: &ReplayOptions, run: usize) -> RowSchedule {
        let most = options.rounds.unwrap_or(usize::MAX);
        let rows: Vec<usize> = (0..log.rows()).collect();
        RowSchedule::over(&rows, options.protocol, most, log, options, run)
    }

    /// The course of run `at` of the halves of a split file, which have so many rounds and labels.
    ///
    /// All rows of an item are in one half. The halves of a split are shown to the same streams of draws.
    pub(crate) fn of_half(
        log: &ReviewLog,
        options: &ReplayOptions,
        (rounds, labels): (usize, usize),
        at: usize,
    ) -> RowSchedule {
        let split = at / (2 * RUNS_OF_A_HALF);
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        // Far from the streams of the runs.
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

    /// The course of one run over these rows, of so many rounds at the most.
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
                vec![Stage::Pool { budget: budget.min(rows.len()), rows }]
            }
            Protocol::Rounds => {
                let rounds: Vec<Vec<usize>> = if log.rounds.is_empty() {
                    let rows = if log.items.repeat() {
                        shuffled(&mut rng)
                    } else {
                        // What comes after the last round is not drawn.
                        let mut rows = all();
                        let shown = most.saturating_mul(options.items).min(rows.len());
                        draw_first(&mut rows, shown, &mut rng);
                        rows
                    };
                    rows.chunks_exact(options.items).take(most).map(<[usize]>::to_vec).collect()
                } else {
                    log.rounds.iter().take(most).cloned().collect()
                };
                vec![Stage::Rounds(rounds)]
            }
            Protocol::Reuse => {
                let mut rows = all();
                let rounds = (0..options.rounds.unwrap_or(2000)).map(|_| {
                    draw_first(&mut rows, options.items, &mut rng);
                    rows[..options.items].to_vec()
                });
                vec![Stage::Rounds(rounds.collect())]
            }
            Protocol::Folds(folds) => folds_of(log, options, folds, &mut rng),
        };
        RowSchedule { stages }
    }

    /// The rows of each round, where rounds pass.
    pub(crate) fn rounds(&self) -> impl Iterator<Item = &[usize]> {
        let rounds = self.stages.iter().flat_map(|stage| match stage {
            Stage::Rounds(rounds) | Stage::Fold { rounds, .. } => rounds.as_slice(),
            Stage::Pool { .. } => &[],
        });
        rounds.map(Vec::as_slice)
    }

    /// What a run has to offer, label by label.
    pub(crate) fn baselines(&self, log: &ReviewLog, k: usize) -> RewardBaselines {
        let mut baselines = RewardBaselines::default();
        for stage in &self.stages {
            match stage {
                Stage::Pool { rows, budget } => {
                    baselines.add(log, rows, *budget);
                    let start = baselines.uniform.len() - budget;
                    baselines
                        .rounds
                        .extend((1..=budget.div_ceil(k)).map(|step| start + (step * k).min(*budget)));
                }
                Stage::Rounds(rounds) | Stage::Fold { rounds, .. } => {
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

/// Rows of one of the file's own rounds stay together, in the fold or out of it; so do rows with the same scores, and those of an item.
fn folds_of(log: &ReviewLog, options: &ReplayOptions, folds: usize, rng: &mut ChaCha8Rng) -> Vec<Stage> {
    let twins = DuplicateScores::of(log);
    let own = !log.rounds.is_empty();
    let mut units: Vec<Vec<usize>> =
        if own { log.rounds.clone() } else { kept_together(&twins, log, log.rows() / folds) };
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
            rest = without_twins(&twins, rest, &parts[fold], log.rows());
            let mut shown = vec![false; log.rows()];
            parts[fold].iter().flatten().for_each(|&row| shown[log.items.of_row(row)] = true);
            rest.retain(|&row| !shown[log.items.of_row(row)]);
            parts[fold].clone()
        } else {
            let rows = parts[fold].concat();
            let items = if options.items == 0 { rows.len() } else { options.items.min(rows.len()) };
            rows.chunks_exact(items).map(<[usize]>::to_vec).collect()
        };
        Stage::Fold { rest, rounds }
    };
    (0..folds).map(stage).collect()
}

/// The rows in sets that must stay in one fold.
fn kept_together(twins: &DuplicateScores, log: &ReviewLog, most: usize) -> Vec<Vec<usize>> {
    let mut units: Vec<Vec<usize>> = vec![Vec::new(); log.rows()];
    twins
        .units_with_items(&log.items, most)
        .into_iter()
        .enumerate()
        .for_each(|(row, unit)| units[unit].push(row));
    units.retain(|unit| !unit.is_empty());
    units
}

/// Deals units out, the largest first, each to the fold with the fewest rows. How many rows a fold gets depends on the
/// units' sizes alone, so that all runs have as many labels. There are as many units as folds at least: none stays empty.
fn evenly(mut units: Vec<Vec<usize>>, folds: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<Vec<usize>>> {
    units.sort_by_key(|unit| std::cmp::Reverse(unit.len()));
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); folds];
    for unit in units {
        if let Some(part) = parts.iter_mut().min_by_key(|part| part.len()) {
            part.extend(unit);
        }
    }
    // Twins are not neighbours in a round.
    parts.iter_mut().for_each(|part| draw(part, rng));
    parts.into_iter().map(|part| vec![part]).collect()
}

/// The rest without the rows whose scores a round of the fold has too; all of it where that would leave less than half:
/// then scores are coarse, and their twins no copies.
fn without_twins(twins: &DuplicateScores, rest: Vec<usize>, fold: &[Vec<usize>], rows: usize) -> Vec<usize> {
    let mut shown = vec![false; rows];
    fold.iter().flatten().for_each(|&row| shown[twins.unit(row, rows)] = true);
    let left: Vec<usize> = rest.iter().copied().filter(|&row| !shown[twins.unit(row, rows)]).collect();
    if 2 * left.len() < rest.len() { rest } else { left }
}

/// Shuffles.
fn draw<T>(list: &mut [T], rng: &mut ChaCha8Rng) {
    draw_first(list, list.len(), rng);
}

/// Moves a uniform draw of `n` different ones to the front.
fn draw_first<T>(list: &mut [T], n: usize, rng: &mut ChaCha8Rng) {
    for at in 0..n {
        let other = rng.random_range(at..list.len());
        list.swap(at, other);
    }
}

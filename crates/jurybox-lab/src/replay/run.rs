//! Replaying rounds whose rewards are all known.

use super::{CurvePoint, Line, Log, Outcome, ReplayOptions, filled, picks};
use crate::error::Error;
use crate::statistics::{Estimate, student_95};
use jurybox::{Evaluators, Example, Jury, Pick, Scores, Spec, TopK};
use jurybox_files::{Progress, Table};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many points a curve has.
const POINTS: usize = 50;

/// Who picks.
pub(crate) enum Player {
    Policy(Spec),
    /// The expected reward of a random pick.
    Uniform,
    /// The top K by a value that each row has from the beginning.
    Fixed(Vec<f64>),
}

/// The references: what is known without learning round by round.
pub(crate) fn references(log: &Log, standardised: &[f64]) -> Vec<(String, Player)> {
    let mut list = vec![
        ("uniform".to_string(), Player::Uniform),
        ("average".to_string(), Player::Fixed(log.averages())),
        ("z-mean".to_string(), Player::Fixed(log.z_means(standardised))),
    ];
    if let Some(fit) = log.regression(standardised, |_| true) {
        let values = standardised.chunks_exact(log.width()).map(|row| fit.predict(&filled(row))).collect();
        list.push(("hindsight".into(), Player::Fixed(values)));
    }
    list
}

/// What one player earned in one run: reward and picks of each round.
struct Earned {
    rewards: Vec<f64>,
    picks: Vec<u32>,
    chosen: Vec<picks::Chosen>,
}

pub(crate) fn replayed(
    table: &Table,
    log: &Log,
    options: &ReplayOptions,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let standardised = log.standardised();
    let mut players: Vec<(String, Player)> =
        options.policies.iter().map(|spec| (spec.to_string(), Player::Policy(spec.clone()))).collect();
    for spec in &options.policies {
        seat(spec, log, outcome.rounds)?; // a slip is found before hours of replay
    }
    let policies = players.len();
    players.extend(references(log, &standardised));
    players.push(("best".into(), Player::Fixed(log.rewards.clone())));
    let scale = Scale::of(log);
    let rounds = outcome.rounds;
    let tasks = players.len() * options.runs;
    let results = in_parallel(tasks, table, |task| {
        let (player, run) = (task / options.runs, task % options.runs);
        let keep = options.picks.is_some() && player < policies;
        play(log, options, &players[player].1, run as u64, rounds, scale, keep)
    })?;
    if let Some(path) = &options.picks {
        let chosen = results.iter().enumerate().take(policies * options.runs);
        let chosen = chosen.flat_map(|(task, earned)| {
            let (name, run) = (&players[task / options.runs].0, task % options.runs);
            earned.chosen.iter().map(move |pick| (name.as_str(), run, pick))
        });
        picks::write(path, chosen)?;
    }
    for (at, (name, _)) in players.iter().enumerate() {
        let runs = &results[at * options.runs..(at + 1) * options.runs];
        let line = Line {
            name: name.clone(),
            reward_per_pick: interval(runs, outcome.ci95_over == "runs"),
            lift_share: None,
            curve: curve(runs, rounds),
            estimates: None,
        };
        if at < policies { &mut outcome.policies } else { &mut outcome.references }.push(line);
    }
    Ok(())
}

/// Rewards on 0 to 1 by the range of the file: what the policies that assume such rewards are told.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    low: f64,
    span: f64,
}

impl Scale {
    pub(crate) fn of(log: &Log) -> Scale {
        let known = || log.rewards.iter().copied().filter(|r| !r.is_nan());
        let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
        Scale { low, span: if high > low { high - low } else { 1.0 } }
    }

    pub(crate) fn apply(self, reward: f64) -> f64 {
        (reward - self.low) / self.span
    }
}

/// A jury for a spec, told the horizon where it has such an option.
pub(crate) fn seat(spec: &Spec, log: &Log, rounds: usize) -> Result<Jury, Error> {
    let evaluators = Evaluators::new(log.names.clone())?;
    if !spec.options().contains_key("horizon")
        && let Ok(jury) = Jury::new(&spec.clone().with("horizon", rounds), evaluators.clone())
    {
        return Ok(jury);
    }
    Ok(Jury::new(spec, evaluators)?)
}

/// Runs tasks on as many threads as the table may use; results in the order of the tasks.
pub(crate) fn in_parallel<T: Send>(
    tasks: usize,
    table: &Table,
    work: impl Fn(usize) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let threads = table.threads().min(tasks.max(1));
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(tasks)));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let task = next.fetch_add(1, Ordering::Relaxed);
                    if task >= tasks {
                        return;
                    }
                    let result = work(task);
                    let mut done = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    done.push((task, result));
                    table.tell(Progress::Runs { done: done.len(), of: tasks });
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(task, _)| *task);
    done.into_iter().map(|(_, result)| result).collect()
}

/// One run of one player. All players of a run meet the same rounds.
fn play(
    log: &Log,
    options: &ReplayOptions,
    player: &Player,
    run: u64,
    rounds: usize,
    scale: Scale,
    keep: bool,
) -> Result<Earned, Error> {
    let mut draws = ChaCha8Rng::seed_from_u64(options.seed);
    draws.set_stream(2 * run);
    let mut own = ChaCha8Rng::seed_from_u64(options.seed);
    own.set_stream(2 * run + 1);
    let mut jury = match player {
        Player::Policy(spec) => Some(seat(spec, log, rounds)?),
        Player::Uniform | Player::Fixed(_) => None,
    };
    let mut order: Vec<usize> = if log.rounds.is_empty() { (0..log.rows()).collect() } else { Vec::new() };
    let mut earned =
        Earned { rewards: Vec::with_capacity(rounds), picks: Vec::with_capacity(rounds), chosen: Vec::new() };
    let (mut table, mut picks) = (Vec::new(), Vec::<Pick>::new());
    for round in 0..rounds {
        let members = next_round(log, options.items, round, &mut order, &mut draws);
        let k = options.k.min(members.len());
        let mut reward = 0.0;
        match player {
            Player::Uniform => {
                let sum: f64 = members.iter().map(|&row| log.rewards[row]).sum();
                reward = sum * k as f64 / members.len() as f64;
            }
            Player::Fixed(values) => {
                let mut top = TopK::new(k, own.random());
                members.iter().for_each(|&row| top.push(row as u64, values[row]));
                reward = top.sorted().iter().map(|ranked| log.rewards[ranked.item as usize]).sum();
            }
            Player::Policy(_) => {
                let Some(jury) = &mut jury else { continue };
                table.clear();
                members.iter().for_each(|&row| table.extend_from_slice(log.row(row)));
                let round_scores = Scores::new(&table, log.width())?;
                jury.round_into(&round_scores, k, &mut own, &mut picks)?;
                let mut examples = Vec::with_capacity(k);
                for pick in &picks {
                    let row = members[pick.item];
                    reward += log.rewards[row];
                    examples.push(Example {
                        scores: round_scores.row(pick.item),
                        reward: scale.apply(log.rewards[row]),
                        receipt: Some(&pick.receipt),
                    });
                    if keep {
                        let probability = pick.receipt.inclusion_probability;
                        earned.chosen.push(picks::Chosen { round, row, probability });
                    }
                }
                jury.learn(&examples)?;
            }
        }
        earned.rewards.push(reward);
        earned.picks.push(k as u32);
    }
    Ok(earned)
}

/// The rows of a round: the file's own, or a draw of different rows, moved to the front of `order`.
pub(crate) fn next_round<'a, R: Rng>(
    log: &'a Log,
    items: usize,
    round: usize,
    order: &'a mut [usize],
    rng: &mut R,
) -> &'a [usize] {
    if let Some(members) = log.rounds.get(round) {
        return members;
    }
    let items = items.min(order.len());
    for at in 0..items {
        let other = rng.random_range(at..order.len());
        order.swap(at, other);
    }
    &order[..items]
}

/// Reward per pick, with an interval over runs, or over the rounds of all runs together.
fn interval(runs: &[Earned], over_runs: bool) -> Estimate {
    let picks: f64 = runs.iter().flat_map(|run| &run.picks).map(|&k| f64::from(k)).sum();
    let mean = runs.iter().flat_map(|run| &run.rewards).sum::<f64>() / picks;
    // Deviations of a ratio of sums, linearised: reward minus what its picks would be worth on average.
    let deviation = |rewards: f64, picks: f64| rewards - mean * picks;
    let units: Vec<f64> = if over_runs {
        let total =
            |run: &Earned| deviation(run.rewards.iter().sum(), run.picks.iter().map(|&k| f64::from(k)).sum());
        runs.iter().map(total).collect()
    } else {
        let rounds = runs.first().map_or(0, |run| run.rewards.len());
        let round =
            |t: usize| runs.iter().map(|run| deviation(run.rewards[t], f64::from(run.picks[t]))).sum::<f64>();
        (0..rounds).map(round).collect()
    };
    let n = units.len() as f64;
    let variance = units.iter().map(|d| d * d).sum::<f64>() * n / (n - 1.0) / (picks * picks);
    let half_width =
        if units.len() > 1 { student_95(units.len() - 1) * variance.sqrt() } else { f64::INFINITY };
    Estimate { mean, half_width }
}

fn curve(runs: &[Earned], rounds: usize) -> Vec<CurvePoint> {
    let (mut points, mut reward, mut picks, mut next) = (Vec::new(), 0.0, 0.0, 1);
    for round in 0..rounds {
        for run in runs {
            reward += run.rewards[round];
            picks += f64::from(run.picks[round]);
        }
        if (round + 1) * POINTS >= next * rounds {
            points.push(CurvePoint { round: round + 1, reward_per_pick: reward / picks });
            next = (round + 1) * POINTS / rounds + 1;
        }
    }
    points
}

//! Histories in which only reviewed rows have a reward.
//!
//! What a policy would have earned on rows that nobody looked at is not in the file. With the probability that each
//! reviewed row had of being reviewed, it can be estimated all the same. Each policy learns from one half of the history
//! and is judged on the other, and the other way round. `q_i` is how often it picks row i; then
//! - inverse propensity: `sum q_i r_i / p_i` over reviewed rows;
//! - doubly robust: `sum q_i (m_i + (r_i - m_i) / p_i)`, with m a regression of the reward on the scores, fitted on the
//!   other half, that also speaks for the rows without a verdict;
//!
//! both over `sum q_i`. The intervals treat rows as independent. Without probabilities there is no claim, only a warning.

use crate::error::Error;
use crate::replay::{Line, Log, Outcome, ReplayOptions, Scale, filled, in_parallel, seat};
use crate::statistics::Estimate;
use jurybox::{Example, Scores, Spec};
use jurybox_files::{Progress, Table};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// Estimates of what a policy would have earned, from picks that another made.
///
/// ```
/// fn believable(estimates: &jurybox_lab::Estimates) -> bool { estimates.effective_rows >= 30.0 }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimates {
    /// By inverse propensity: unbiased where the logged probabilities are right, and wide.
    pub inverse_propensity: Estimate,
    /// Doubly robust: right if the probabilities or the regression are.
    pub doubly_robust: Estimate,
    /// How many rows' worth of evidence the estimate rests on.
    pub effective_rows: f64,
    /// The share of this policy's picks that were reviewed.
    pub reviewed_share: f64,
}

/// Who picks.
enum Player {
    Policy(Spec),
    /// The expected reward of a random pick.
    Uniform,
    /// The top K by a value that each row has from the beginning.
    Fixed(Vec<f64>),
}

/// The references: what is known without learning round by round.
fn references(log: &Log, standardised: &[f64]) -> Vec<(String, Player)> {
    vec![
        ("uniform".to_string(), Player::Uniform),
        ("average".to_string(), Player::Fixed(log.averages())),
        ("z-mean".to_string(), Player::Fixed(log.z_means(standardised))),
        ("hindsight".to_string(), Player::Fixed(Vec::new())),
    ]
}

/// The rows of a round: the file's own, or a draw of different rows, moved to the front of `order`.
fn next_round<'a, R: Rng>(
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

pub(crate) fn estimated(
    table: &Table,
    log: &Log,
    options: &ReplayOptions,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    outcome.ci95_over = "rows";
    let unknown = log.rows() - log.labelled();
    if log.probabilities.is_empty() {
        outcome.how = "unknown";
        outcome.warnings.push(format!(
            "{unknown} of {} rows have no reward: what a policy would have earned on them is not in the file, and \
             judging only by the reviewed rows would favour whoever chose them. No figure is given. If the probability \
             of each row to be reviewed was logged, pass its column with --probability",
            log.rows()
        ));
        return Ok(());
    }
    check(log)?;
    outcome.how = "estimated";
    outcome.warnings.push(format!(
        "{unknown} of {} rows have no reward: the figures are estimates from logged probabilities. They cannot know \
         what rows that could never be reviewed were worth, and are wrong where the logged probabilities are",
        log.rows()
    ));
    if options.picks.is_some() {
        outcome.warnings.push("no picks are written: nothing was replayed".into());
    }
    let standardised = log.standardised();
    // Rounds of one half each: own rounds go to the halves in turn, rows by a mix of their number.
    let half = halves(log);
    let models: Vec<Vec<f64>> = (0..2)
        .map(|side| {
            let fit = log.regression(&standardised, |row| half[row] != side);
            let fit = fit.ok_or_else(|| {
                Error::setting("rewards", log.labelled(), "too few to estimate anything from")
            })?;
            Ok(standardised.chunks_exact(log.width()).map(|row| fit.predict(&filled(row))).collect())
        })
        .collect::<Result<_, Error>>()?;
    let model: Vec<f64> = (0..log.rows()).map(|row| models[half[row]][row]).collect();
    let mut players: Vec<(String, Player)> =
        options.policies.iter().map(|spec| (spec.to_string(), Player::Policy(spec.clone()))).collect();
    let policies = players.len();
    let known = references(log, &standardised).into_iter();
    // With half of the labels each, as for the policies.
    players.extend(known.map(|(name, player)| {
        let player = if name == "hindsight" { Player::Fixed(model.clone()) } else { player };
        (name, player)
    }));
    let frequencies = in_parallel(
        players.len(),
        table.threads(),
        &|done, of| table.tell(Progress::Runs { done, of }),
        |at| frequencies(log, options, &players[at].1, &half),
    )?;
    for (at, ((name, _), q)) in players.iter().zip(&frequencies).enumerate() {
        let estimates = estimate(log, q, &model);
        if estimates.effective_rows < 30.0 {
            outcome.warnings.push(format!(
                "{name}: the estimate rests on {:.0} rows' worth of evidence: too few to believe",
                estimates.effective_rows
            ));
        }
        let line = Line { estimates: Some(estimates), ..Line::new(name, estimates.doubly_robust) };
        if at < policies { &mut outcome.policies } else { &mut outcome.references }.push(line);
    }
    Ok(())
}

fn check(log: &Log) -> Result<(), Error> {
    for (row, (&reward, &probability)) in log.rewards.iter().zip(&log.probabilities).enumerate() {
        let possible = probability > 0.0 && probability <= 1.0;
        if !reward.is_nan() && !possible {
            let shown = if probability.is_nan() { "none".into() } else { probability.to_string() };
            let reason = format!("row {} has a reward, so it must be above 0 and at most 1", row + 1);
            return Err(Error::setting("logged probability", shown, reason));
        }
    }
    Ok(())
}

fn halves(log: &Log) -> Vec<usize> {
    if log.rounds.is_empty() {
        let mix = |row: usize| ((row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63) as usize;
        return (0..log.rows()).map(mix).collect();
    }
    let mut half = vec![0; log.rows()];
    for (round, members) in log.rounds.iter().enumerate() {
        members.iter().for_each(|&row| half[row] = round % 2);
    }
    half
}

/// How often each row is picked, by a player who has learnt from the other half.
fn frequencies(
    log: &Log,
    options: &ReplayOptions,
    player: &Player,
    half: &[usize],
) -> Result<Vec<f64>, Error> {
    let mut q = vec![0.0; log.rows()];
    let scale = Scale::of(log);
    for side in 0..2 {
        let mut jury = match player {
            Player::Policy(spec) => {
                let mut jury = seat(spec, log, rounds_of(log, options))?;
                let others = || (0..log.rows()).filter(|&row| half[row] != side);
                let seen: Vec<f64> = others().flat_map(|row| log.row(row)).copied().collect();
                jury.observe(&Scores::new(&seen, log.width())?)?;
                for row in others() {
                    if !log.rewards[row].is_nan() {
                        let reward = scale.apply(log.rewards[row]);
                        jury.learn(&[Example { scores: log.row(row), reward, receipt: None }])?;
                    }
                }
                Some(jury)
            }
            Player::Uniform | Player::Fixed(_) => None,
        };
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        let mut order: Vec<usize> = (0..log.rows()).filter(|&row| half[row] == side).collect();
        let rounds = rounds_of(log, options);
        let mut table = Vec::new();
        for round in 0..rounds {
            if !log.rounds.is_empty() && round % 2 != side {
                continue;
            }
            let members = next_round(log, options.items, round, &mut order, &mut rng);
            let k = options.k.min(members.len());
            if k == 0 {
                continue;
            }
            match (&mut jury, player) {
                (Some(jury), _) => {
                    table.clear();
                    members.iter().for_each(|&row| table.extend_from_slice(log.row(row)));
                    let shares = jury.inclusion_probabilities(&Scores::new(&table, log.width())?, k)?;
                    members.iter().zip(shares).for_each(|(&row, share)| q[row] += share);
                }
                (None, Player::Fixed(values)) => {
                    let mut top = jurybox::TopK::new(k, round as u64);
                    members.iter().for_each(|&row| top.push(row as u64, values[row]));
                    top.sorted().iter().for_each(|ranked| q[ranked.item as usize] += 1.0);
                }
                (None, _) => {
                    members.iter().for_each(|&row| q[row] += k as f64 / members.len() as f64);
                }
            }
        }
    }
    Ok(q)
}

/// The rounds that are drawn, or the file's own.
fn rounds_of(log: &Log, options: &ReplayOptions) -> usize {
    if log.rounds.is_empty() { options.rounds.unwrap_or(2000) } else { log.rounds.len() }
}

fn estimate(log: &Log, q: &[f64], model: &[f64]) -> Estimates {
    let total: f64 = q.iter().sum();
    let interval = |parts: Vec<f64>| {
        let mean = parts.iter().sum::<f64>() / total;
        let square: f64 = parts.iter().zip(q).map(|(part, q)| (part - q * mean).powi(2)).sum();
        Estimate { mean, half_width: 1.96 * square.sqrt() / total }
    };
    let (mut propensity, mut robust) = (Vec::with_capacity(q.len()), Vec::with_capacity(q.len()));
    let (mut weight, mut square, mut reviewed) = (0.0, 0.0, 0.0);
    for (row, &q) in q.iter().enumerate() {
        let (reward, p) = (log.rewards[row], log.probabilities[row]);
        if reward.is_nan() {
            propensity.push(0.0);
            robust.push(q * model[row]);
        } else {
            propensity.push(q * reward / p);
            robust.push(q * (model[row] + (reward - model[row]) / p));
            weight += q / p;
            square += (q / p).powi(2);
            reviewed += q;
        }
    }
    Estimates {
        inverse_propensity: interval(propensity),
        doubly_robust: interval(robust),
        effective_rows: if square > 0.0 { weight * weight / square } else { 0.0 },
        reviewed_share: if total > 0.0 { reviewed / total } else { 0.0 },
    }
}

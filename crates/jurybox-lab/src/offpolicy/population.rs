//! A file of nothing but rows that were looked at, without rounds: each row stands for 1/p rows of all there were.
//!
//! The rows are dealt out into groups. A policy learns from all groups but one, and picks from rounds drawn from that one in
//! proportion to 1/p, with replacement: the rounds that all rows together would have given. Each group gives one figure,
//! and the interval is Student's over groups, so that whatever varies with the rows is in it. Rows that could never be
//! looked at are not in such a file; of them nothing is known, and the estimate does not speak of them.

use super::outcome::{OffPolicy, OffPolicyLine};
use super::receipts::{Needs, receipt_of_row};
use super::target::{Target, last_if_missing};
use super::{Contender, targets};
use crate::error::Error;
use crate::replay::{Log, ReplayOptions, Scale, in_parallel};
use jurybox::Interval;
use jurybox::{Example, Jury, Scores, TopK};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// At most so many groups, of at least so many rounds' worth of rows.
const GROUPS: usize = 20;
const ROUNDS_A_GROUP: usize = 5;
/// Rounds drawn from a group.
const DRAWS: usize = 200;

pub(super) fn estimated(
    log: &Log,
    options: &ReplayOptions,
    threads: usize,
    told: &(dyn Fn(usize, usize) + Sync),
) -> Result<OffPolicy, Error> {
    let groups = (log.rows() / (ROUNDS_A_GROUP * options.items.max(1))).min(GROUPS);
    if groups < 2 || options.k > options.items {
        let reason = format!(
            "of {} items from {} rows: rounds need at least k items, and the file {} rows for each item of a round",
            options.items,
            log.rows(),
            2 * ROUNDS_A_GROUP
        );
        return Err(Error::setting("k", options.k, reason));
    }
    let rows: Vec<Vec<usize>> = (0..groups).map(|g| (g..log.rows()).step_by(groups).collect()).collect();
    let model = super::model::out_of_fold(log, &rows, super::range(&log.rewards))?;
    let horizon = log.rows().div_ceil(options.items);
    let contenders = targets(log, options, horizon, &model)?;
    let per_pick = in_parallel(contenders.len() * groups, threads, told, |task| {
        one(log, options, &contenders[task / groups].target, &rows, task % groups)
    })?;
    let logged = super::logged(log, &rows)?.estimate();
    let mut outcome = OffPolicy {
        estimator: "rounds drawn in proportion to 1/p",
        learnt_from: "the other groups of rows",
        ci95_over: "groups of rows",
        rounds: horizon,
        items: options.items as f64,
        ..OffPolicy::new(log, &rows, options, logged)
    };
    outcome.warnings.push(
        "every row has a reward and the file has no rounds: each row is taken to stand for 1/p rows. Of rows that could \
         never be looked at this says nothing"
            .into(),
    );
    for (Contender { name, reference, .. }, values) in contenders.iter().zip(per_pick.chunks(groups)) {
        let values: Vec<f64> = values.iter().flatten().copied().collect();
        let mut line = OffPolicyLine::without_figure(name, "it cannot learn from such a log".into());
        if values.len() == groups {
            line.reward_per_pick = Some(Interval::of(&values));
            line.why = None;
        }
        if *reference { &mut outcome.references } else { &mut outcome.policies }.push(line);
    }
    Ok(outcome)
}

/// Reward per pick in one group; None where the policy cannot learn from such a log.
fn one(
    log: &Log,
    options: &ReplayOptions,
    target: &Target,
    groups: &[Vec<usize>],
    own: usize,
) -> Result<Option<f64>, Error> {
    let fitted = match target {
        Target::Policy(jury, scale) => match learnt(log, options, (jury, *scale), groups, own)? {
            None => return Ok(None),
            Some(jury) => Some(jury.fit()),
        },
        Target::Uniform | Target::Fixed(_) => None,
    };
    let rows = &groups[own];
    let mut ends = Vec::with_capacity(rows.len());
    rows.iter().fold(0.0, |sum, &row| {
        ends.push(sum + 1.0 / log.probabilities[row]);
        ends[ends.len() - 1]
    });
    let all = ends[ends.len() - 1];
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    rng.set_stream(own as u64);
    let (mut reward, mut table) = (0.0, Vec::new());
    for _ in 0..DRAWS {
        let mut draw = || {
            let at = rng.random::<f64>() * all;
            rows[ends.partition_point(|&end| end <= at).min(rows.len() - 1)]
        };
        let drawn: Vec<usize> = (0..options.items).map(|_| draw()).collect();
        let worth = |place: usize| log.rewards[drawn[place]];
        reward += match (&fitted, target) {
            (Some(fitted), _) => {
                table.clear();
                drawn.iter().for_each(|&row| table.extend_from_slice(log.row(row)));
                let written = log.as_written(&table);
                let shares = fitted.inclusion_probabilities(&fitted.scores(&written)?, options.k)?;
                shares.iter().enumerate().map(|(place, share)| share * worth(place)).sum::<f64>()
            }
            (None, Target::Fixed(values)) => {
                let mut top = TopK::new(options.k, rng.random());
                drawn
                    .iter()
                    .enumerate()
                    .for_each(|(place, &row)| top.push(place as u64, last_if_missing(values[row])));
                top.sorted().iter().map(|best| worth(best.item as usize)).sum()
            }
            (None, _) => options.k as f64 * (0..options.items).map(worth).sum::<f64>() / options.items as f64,
        };
    }
    Ok(Some(reward / (DRAWS * options.k) as f64))
}

/// The jury, taught by the other groups' rows in stretches as long as a round.
fn learnt(
    log: &Log,
    options: &ReplayOptions,
    (jury, scale): (&Jury, Scale),
    groups: &[Vec<usize>],
    own: usize,
) -> Result<Option<Jury>, Error> {
    let needs = Needs::of(jury)?;
    if needs.explored || needs.advice {
        return Ok(None); // neither is known of rows whose rounds are not in the file
    }
    let mut jury = jury.clone();
    let others: Vec<usize> = (0..log.rows()).filter(|row| row % groups.len() != own).collect();
    let mut table = Vec::new();
    for (stretch, at) in others.chunks(options.items).zip(jury.seen().next_time()..) {
        table.clear();
        stretch.iter().for_each(|&row| table.extend_from_slice(log.row(row)));
        let written = log.as_written(&table);
        let scores = Scores::new(&written, log.width())?;
        jury.observe(&scores, at)?;
        for (&row, scores) in stretch.iter().zip(scores.rows()) {
            let receipt = receipt_of_row(log, row);
            let example = Example { scores, reward: scale.apply(log.rewards[row]), receipt: Some(&receipt) };
            jury.learn(&[example], at)?;
        }
    }
    Ok(Some(jury))
}

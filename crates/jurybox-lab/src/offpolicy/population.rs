//! Off-policy evaluation on a file of reviewed rows only, without rounds: each row stands for 1/p
//! rows.
//!
//! A round is taken to be a number of independent draws from these rows, with probabilities in
//! proportion to 1/p. The expected reward of the best K rows drawn is a sum in closed form
//! (`shares`). A sample has thinner tails than its population, so that this sum is biased.
//!
//! The delete-a-group jackknife (Kott 2001) removes the bias of first order and gives the standard
//! error. A policy learns from all groups but one and values the rows of the group left out. The
//! interval takes the learnt policies as given.
//!
//! If few rows carry most of the weight there is no figure, since most rows like them were not
//! seen. Rows with probability zero are not in such a file, and the estimate says nothing of them.

use super::linearized::LinearizedEstimate;
use super::outcome::{OffPolicy, OffPolicyLine};
use super::receipts::{needs, receipt_of_row};
use super::target::{TargetPolicy, last_if_missing};
use super::verdict::{cut, width_ratio};
use super::{NamedTarget, targets};
use crate::error::Error;
use crate::max_influence::MaxInfluence;
use crate::replay::{
    CandidateRows, JuryView, ReplayOptions, ReviewLog, RewardScaling, RunProgress, in_parallel,
};
use crate::reward_range::RewardRange;
use jurybox::{Example, Fitted, Jury, Needs, Scores};

/// Largest number of groups.
pub(super) const GROUPS: usize = 20;
/// Least number of rounds' worth of rows in each group.
const ROUNDS_A_GROUP: usize = 5;
/// Least share of the weight within reach for a figure.
const LEAST_REACH: f64 = 0.5;
/// Least effective number of rows for a figure.
const LEAST_ROWS: f64 = 30.0;

pub(super) fn estimated(
    log: &ReviewLog,
    options: &ReplayOptions,
    threads: usize,
    watch: RunProgress<'_>,
) -> Result<OffPolicy, Error> {
    let most_items = log.rows() / (2 * ROUNDS_A_GROUP);
    if options.k > options.items {
        return Err(Error::setting("k", options.k, format!("a round has {} items", options.items)));
    }
    if options.items > most_items {
        let reason = format!(
            "the file has reviewed rows only, and no rounds. Rounds of this size take {} rows for \
             each of their items; its {} rows are enough for rounds of {most_items} items",
            2 * ROUNDS_A_GROUP,
            log.rows()
        );
        return Err(Error::setting("items", options.items, reason));
    }
    let groups = (log.rows() / (ROUNDS_A_GROUP * options.items)).min(GROUPS);
    let rows = dealt(log, groups);
    let range = RewardRange::of(&log.rewards, options.reward_range)?;
    let model = super::model::out_of_fold(log, &rows, range.ends())?;
    let horizon = log.rows().div_ceil(options.items);
    let contenders = targets(log, options, horizon, &model)?;
    let values = in_parallel(contenders.len() * groups, threads, watch, |task| {
        valued(log, options, &contenders[task / groups].target, &rows, task % groups)
    })?;
    let logged = super::logged(log, &rows, range)?.estimate();
    let mut outcome = OffPolicy {
        estimator: "rounds drawn in proportion to 1/p",
        learnt_from: "the other groups of rows",
        ci95_over: "groups of rows",
        rounds: horizon,
        items: options.items as f64,
        ..OffPolicy::new(log, &rows, options, logged, range)
    };
    outcome.warnings.push(
        "every row has a reward and the file has no rounds: each row stands for 1/p rows. The \
         figures say nothing of rows that could not be picked"
            .into(),
    );
    outcome.warnings.extend(super::repeated(log));
    outcome.warnings.extend(super::juries_without_groups(log, &contenders));
    outcome.warnings.extend(super::state_warning(options));
    for (NamedTarget { name, reference, .. }, values) in contenders.iter().zip(values.chunks(groups)) {
        let line = match values.iter().cloned().collect::<Result<Vec<_>, String>>() {
            Err(why) => OffPolicyLine::without_figure(name, why),
            Ok(parts) => {
                let mut values = vec![f64::NAN; log.rows()];
                for (rows, part) in rows.iter().zip(parts) {
                    rows.iter().zip(part).for_each(|(&row, value)| values[row] = value);
                }
                line(name, log, options, &values, groups, range)
            }
        };
        if *reference { &mut outcome.references } else { &mut outcome.policies }.push(line);
    }
    outcome.warnings.extend(super::depends_on_few_rows(&outcome));
    Ok(outcome)
}

/// The rows of each group, dealt out in turn.
pub(super) fn dealt(log: &ReviewLog, groups: usize) -> Vec<Vec<usize>> {
    (0..groups).map(|group| (group..log.rows()).step_by(groups).collect()).collect()
}

/// The line of the outcome for a policy that picks the rows of highest `values`.
pub(super) fn line(
    name: &str,
    log: &ReviewLog,
    options: &ReplayOptions,
    values: &[f64],
    groups: usize,
    range: RewardRange,
) -> OffPolicyLine {
    let mut order: Vec<usize> = (0..log.rows()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    let without = |left_out: Option<usize>| -> Vec<(usize, f64)> {
        let kept: Vec<usize> =
            order.iter().copied().filter(|row| left_out.is_none_or(|group| row % groups != group)).collect();
        shares(&kept, values, &log.probabilities, options.items, options.k)
    };
    let worth = |shares: &[(usize, f64)]| {
        shares.iter().map(|&(row, share)| share * log.rewards[row]).sum::<f64>() / options.k as f64
    };
    let whole = without(None);
    let all = worth(&whole);
    let count = groups as f64;
    let pseudo: Vec<f64> =
        (0..groups).map(|group| count * all - (count - 1.0) * worth(&without(Some(group)))).collect();
    let picks = options.k as f64;
    let clip = picks / (log.rows() as f64).sqrt();
    let reach = whole.iter().map(|(_, share)| share.min(clip)).sum::<f64>() / picks;
    let rows = picks * picks / whole.iter().map(|(_, share)| share * share).sum::<f64>();
    let mut line = OffPolicyLine {
        overlap: Some(reach),
        effective_rows: Some(rows),
        ..OffPolicyLine::without_figure(name, String::new())
    };
    if reach < LEAST_REACH || rows < LEAST_ROWS {
        line.why = Some(format!(
            "{rows:.0} effective rows, and {:.0}% of the weight of its picks within reach: a \
             figure takes {LEAST_ROWS} rows and {:.0}%. The log has too few of the rows that it \
             would pick",
            100.0 * reach,
            100.0 * LEAST_REACH
        ));
    } else {
        line.why = None;
        let weights = whole.iter().map(|&(_, share)| (1.0, share / picks));
        let surprises = log.rewards.iter().map(|reward| reward - all);
        let max_influence = MaxInfluence::of(weights, surprises, (all - range.low, range.high - all));
        if let Some(figure) = LinearizedEstimate::ratio(&pseudo, &vec![1.0; groups])
            .map(|mean| mean.with_max_influence(max_influence))
        {
            line.width_ratio = Some(width_ratio(&figure));
            let shown = figure.estimate();
            line.reward_per_pick = Some(if range.known { cut(shown, range.low, range.high) } else { shown });
        }
    }
    line
}

/// The expected number of picks per row. A round has `items` draws in proportion to 1/p, of which
/// the `k` rows of highest value are picked. `order` has the rows by descending value; rows of
/// equal value share in proportion to 1/p.
///
/// If the rows above a threshold have a share b of all weight, the number of picks among them is
/// min(k, Binomial(items, b)).
fn shares(
    order: &[usize],
    values: &[f64],
    probabilities: &[f64],
    items: usize,
    k: usize,
) -> Vec<(usize, f64)> {
    let total: f64 = order.iter().map(|&row| 1.0 / probabilities[row]).sum();
    let mut out = Vec::with_capacity(order.len());
    let (mut above, mut picked) = (0.0, 0.0);
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let weight: f64 = tied.iter().map(|&row| 1.0 / probabilities[row]).sum();
        above += weight;
        let until = expected_picks((above / total).min(1.0), items, k);
        out.extend(tied.iter().map(|&row| (row, (until - picked) / (probabilities[row] * weight))));
        picked = until;
    }
    out
}

/// The mean of min(k, Binomial(items, share)).
fn expected_picks(share: f64, items: usize, k: usize) -> f64 {
    let (n, k) = (items as f64, k as f64);
    if share > 1.0 - 1e-12 {
        return k.min(n);
    }
    // The logarithm of C(n, j) share^j (1 - share)^(n - j), updated from j to j + 1.
    let mut log_chance = n * (-share).ln_1p();
    let odds = share.ln() - (-share).ln_1p();
    let mut missing = 0.0;
    let mut j = 0.0;
    while j < k {
        missing += (k - j) * log_chance.exp();
        log_chance += ((n - j) / (j + 1.0)).ln() + odds;
        j += 1.0;
    }
    k - missing
}

/// The values of the rows of one group, by a policy that learnt from the other groups; or the
/// reason why there are none.
fn valued(
    log: &ReviewLog,
    options: &ReplayOptions,
    target: &TargetPolicy,
    groups: &[Vec<usize>],
    own: usize,
) -> Result<Result<Vec<f64>, String>, Error> {
    let rows = &groups[own];
    let (jury, scale) = match target {
        TargetPolicy::Uniform => return Ok(Ok(vec![0.0; rows.len()])),
        TargetPolicy::Fixed(values) => {
            return Ok(Ok(rows.iter().map(|&row| last_if_missing(values[row])).collect()));
        }
        TargetPolicy::Policy(jury, scale) => (jury, *scale),
    };
    match learnt(log, options, (jury, scale), groups, own)? {
        Some(jury) => valued_by(&jury.fit(), log, rows),
        None => Ok(Err("it cannot learn from a log without rounds".into())),
    }
}

/// The values of rows by a fitted policy; or the reason why there are none.
pub(super) fn valued_by(
    fitted: &Fitted,
    log: &ReviewLog,
    rows: &[usize],
) -> Result<Result<Vec<f64>, String>, Error> {
    let mut candidates = CandidateRows::default();
    candidates.load(log, rows);
    let written = JuryView::to(fitted.evaluators(), log).of(&candidates);
    let scores = fitted.scores(&written)?;
    if fitted.exploration().eps > 0.0 || fitted.contributions(scores.row(0))?.is_none() {
        let why = "without rounds, a policy must pick the highest values and value each row by \
                   itself: this one explores, or values a row by the others of its round";
        return Ok(Err(why.into()));
    }
    Ok(Ok(fitted.values(&scores)?.into_iter().map(last_if_missing).collect()))
}

/// The jury after learning from the other groups, in stretches of `items` rows. None if it needs
/// receipts that such a log cannot provide.
pub(super) fn learnt(
    log: &ReviewLog,
    options: &ReplayOptions,
    (jury, scale): (&Jury, RewardScaling),
    groups: &[Vec<usize>],
    own: usize,
) -> Result<Option<Jury>, Error> {
    if needs(jury) != Needs::Nothing {
        return Ok(None); // no such receipt can be reconstructed without the rounds
    }
    let mut jury = jury.clone();
    let others: Vec<usize> = (0..log.rows()).filter(|row| row % groups.len() != own).collect();
    let (shown, mut candidates) = (JuryView::to(jury.evaluators(), log), CandidateRows::default());
    for (stretch, at) in others.chunks(options.items).zip(jury.seen().next_time()..) {
        candidates.load(log, stretch);
        let written = shown.of(&candidates);
        let scores = Scores::new(&written, shown.width())?;
        jury.observe(&scores, at)?;
        for (&row, scores) in stretch.iter().zip(scores.rows()) {
            let receipt = receipt_of_row(log, row);
            let example = Example { scores, reward: scale.apply(log.rewards[row]), receipt: Some(&receipt) };
            jury.learn(&[example], at)?;
        }
    }
    Ok(Some(jury))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_round_done_by_hand() {
        // Two rows of equal weight, two draws, one pick: the better row, unless both draws miss it.
        let of = |values: &[f64]| shares(&[0, 1], values, &[0.5, 0.5], 2, 1);
        let near =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        near(of(&[2.0, 1.0])[0].1, 0.75);
        near(of(&[2.0, 1.0])[1].1, 0.25);
        near(of(&[1.0, 1.0])[0].1, 0.5);
        // min(2, Binomial(3, 1/2)) is 0, 1, 2, 2 with chances 1, 3, 3, 1 of 8.
        near(expected_picks(0.5, 3, 2), 11.0 / 8.0);
        near(expected_picks(1.0, 3, 2), 2.0);
    }
}

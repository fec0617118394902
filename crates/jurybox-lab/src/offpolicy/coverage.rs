//! Tests of the coverage of off-policy intervals, on simulated logs with known truth.
//!
//! The log picks the K items with the highest scores of one mediocre evaluator. With probability
//! eps it picks K random items in a round instead. Unpicked rows carry no probability, unless
//! `all_carry` is set. The target is a better, fixed mix of the evaluators, or a policy that learns
//! from the log. The truth is the target's reward per pick on fresh rounds. A learner picks from
//! fresh rounds in each state that it has along the log.
//!
//! [`RewardLaw::Curve`] is a curve in what the scores measure, so that the linear model of the
//! doubly robust estimate (DR) is wrong.

use super::estimators::{LoggedEvidence, PolicyEstimates};
use super::linearized::LinearizedEstimate;
use super::model::out_of_fold;
use super::outcome::OffPolicyLine;
use super::reward_count::{RewardCount, counted};
use super::target::{FollowedPolicy, PolicyFollower, TargetPolicy, probabilities_of_round};
use super::verdict;
use crate::replay::{ReviewLog, RewardScaling, RunProgress, jury_for};
use crate::reward_range::RewardRange;
use jurybox::Scores;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// Fresh rounds per round of a log, for the truth of a learner.
const FRESH: usize = 3;

#[derive(Debug, Clone, Copy)]
pub(super) struct SimulatedLog {
    pub(super) items: usize,
    pub(super) k: usize,
    pub(super) rounds: usize,
    pub(super) eps: f64,
    pub(super) learning: Option<&'static str>,
    pub(super) reward: RewardLaw,
    /// Whether unpicked rows of positive probability have it in the log too.
    pub(super) all_carry: bool,
    /// Probability that the verdict on a picked item with reward 0 is not recorded.
    pub(super) lost: f64,
}

/// The distribution of rewards.
#[derive(Debug, Clone, Copy)]
pub(super) enum RewardLaw {
    /// A curve in the item's latent value, with a little noise.
    Curve,
    /// 1 if the reward by `Curve` is above 1, else 0.
    YesNo,
    /// 1 with probability 1 / (1 + exp(c - 1.5 worth)), else 0. The number is c.
    Rare(f64),
    /// Like `Rare`, but exp(N(0, 1)) instead of 1, and at most 10.
    Severity(f64),
}

impl RewardLaw {
    fn draw(self, worth: f64, noise: f64, rng: &mut impl Rng) -> f64 {
        let curve = worth + 0.3 * worth * worth + 0.3 * noise;
        let found = |rareness: f64, chance: f64| chance * (1.0 + (rareness - 1.5 * worth).exp()) < 1.0;
        match self {
            RewardLaw::Curve => curve,
            RewardLaw::YesNo => f64::from(u8::from(curve > 1.0)),
            RewardLaw::Rare(rareness) => f64::from(u8::from(found(rareness, rng.random()))),
            RewardLaw::Severity(rareness) => {
                let size: f64 = StandardNormal.sample(rng);
                if found(rareness, rng.random()) { size.exp().min(10.0) } else { 0.0 }
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            RewardLaw::Curve => "",
            RewardLaw::YesNo => ", yes/no",
            RewardLaw::Rare(_) => ", rare yes",
            RewardLaw::Severity(_) => ", rare, uneven",
        }
    }
}

pub(super) struct SimulatedRound {
    scores: Vec<f64>,
    rewards: Vec<f64>,
}

impl SimulatedLog {
    fn round(&self, rng: &mut impl Rng) -> SimulatedRound {
        let mut round = SimulatedRound { scores: Vec::new(), rewards: Vec::new() };
        for _ in 0..self.items {
            let [worth, a, b, c, noise] = [(); 5].map(|()| -> f64 { StandardNormal.sample(rng) });
            round.scores.extend([0.4 * worth + 0.9 * a, worth + 0.7 * b, 0.6 * worth + 0.8 * c]);
            round.rewards.push(self.reward.draw(worth, noise, rng));
        }
        round
    }

    fn top(&self, value: impl Fn(usize) -> f64) -> Vec<bool> {
        let mut order: Vec<usize> = (0..self.items).collect();
        order.sort_by(|&a, &b| value(b).total_cmp(&value(a)));
        let mut out = vec![false; self.items];
        order[..self.k].iter().for_each(|&item| out[item] = true);
        out
    }

    pub(super) fn log(&self, rng: &mut impl Rng) -> ReviewLog {
        let evaluators = jurybox::Evaluators::new(["a", "b", "c"]).unwrap();
        let mut log = ReviewLog::of(evaluators);
        for round in 0..self.rounds {
            let SimulatedRound { scores, rewards } = self.round(rng);
            let top = self.top(|item| scores[3 * item]);
            let chance: Vec<f64> = (0..self.items).map(|_| rng.random()).collect();
            let explores = rng.random::<f64>() < self.eps;
            let picked = if explores { self.top(|item| chance[item]) } else { top.clone() };
            for item in 0..self.items {
                let greedy = if top[item] { 1.0 - self.eps } else { 0.0 };
                let probability = greedy + self.eps * self.k as f64 / self.items as f64;
                let lost = self.lost > 0.0 && rewards[item] == 0.0 && rng.random::<f64>() < self.lost;
                log.rewards.push(if picked[item] && !lost { rewards[item] } else { f64::NAN });
                let carries = picked[item] || (self.all_carry && probability > 0.0);
                log.probabilities.push(if carries { probability } else { f64::NAN });
            }
            log.scores.extend(scores);
            log.rounds.push((round * self.items..(round + 1) * self.items).collect());
        }
        log
    }

    fn mix(row: &[f64]) -> f64 {
        row[1] + 0.5 * row[2]
    }

    pub(super) fn fixed_truth(&self) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(99);
        let rounds = 200_000 / self.k;
        let mut sum = 0.0;
        for _ in 0..rounds {
            let SimulatedRound { scores, rewards } = self.round(&mut rng);
            let top = self.top(|item| Self::mix(&scores[3 * item..3 * item + 3]));
            sum += (0..self.items).filter(|&item| top[item]).map(|item| rewards[item]).sum::<f64>();
        }
        sum / (rounds * self.k) as f64
    }

    /// Simulates one log. Returns all estimates, the line of the outcome, and the truth.
    fn one(&self, seed: u64, fixed_truth: f64) -> (PolicyEstimates, OffPolicyLine, f64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let log = self.log(&mut rng);
        let follow = PolicyFollower { log: &log, rounds: &log.rounds, k: self.k, seed: 1 };
        let mut truth = fixed_truth;
        let followed = if let Some(name) = self.learning {
            let jury = jury_for(&name.parse().unwrap(), &log, self.rounds).unwrap();
            let mut sum = 0.0;
            let followed = follow.policy(&jury, RewardScaling::of(&log), |jury| {
                for _ in 0..FRESH {
                    let SimulatedRound { scores, rewards } = self.round(&mut rng);
                    let shares =
                        probabilities_of_round(&mut jury.clone(), &Scores::new(&scores, 3)?, 0, self.k)?;
                    sum += shares.iter().zip(&rewards).map(|(share, reward)| share * reward).sum::<f64>();
                }
                Ok(())
            });
            truth = sum / (FRESH * self.rounds * self.k) as f64;
            followed
        } else {
            follow.along(
                &TargetPolicy::Fixed(log.scores.chunks(3).map(Self::mix).collect()),
                RunProgress::NOBODY,
            )
        };
        let FollowedPolicy::Probabilities(target) = followed.unwrap() else {
            panic!("the target can be followed")
        };
        let range = RewardRange::of(&log.rewards, None).unwrap();
        let model = out_of_fold(&log, &log.rounds, range.ends()).unwrap();
        let evidence = LoggedEvidence {
            rounds: &log.rounds,
            rewards: &log.rewards,
            logged: &log.probabilities,
            target: &target,
            model: &model,
            range: range.ends(),
            range_is_known: range.known,
            all_rewards_present: counted(&log, &log.rounds) == RewardCount::Enough,
        };
        let logged = super::logged(&log, &log.rounds, range).unwrap();
        (evidence.figures().unwrap(), verdict::line("target", &evidence, &logged), truth)
    }

    fn covered(&self, logs: u64) -> Coverage {
        let fixed = if self.learning.is_some() { 0.0 } else { self.fixed_truth() };
        let all: Vec<_> = (0..logs).into_par_iter().map(|seed| self.one(seed, fixed)).collect();
        let mean = |of: &dyn Fn(&PolicyEstimates, f64) -> f64| {
            all.iter().map(|(figures, _, truth)| of(figures, *truth)).sum::<f64>() / logs as f64
        };
        let covers = |figure: &LinearizedEstimate, truth: f64, bias: f64| {
            let estimate = figure.estimate();
            f64::from(u8::from(estimate.low - bias <= truth && truth <= estimate.high + bias))
        };
        let optional = |figure: &Option<LinearizedEstimate>, truth: f64| {
            figure.as_ref().map_or(0.0, |f| covers(f, truth, 0.0))
        };
        let bounded = |figures: &PolicyEstimates, truth: f64| {
            figures.low.estimate().low <= truth && truth <= figures.high.estimate().high
        };
        let shown: Vec<(f64, f64, f64)> = all
            .iter()
            .filter_map(|(_, line, truth)| match (line.reward_per_pick, line.bounds) {
                (Some(figure), _) => Some((figure.low, figure.high, *truth)),
                (None, bounds) => bounds.map(|bounds| (bounds.low, bounds.high, *truth)),
            })
            .collect();
        let share = |holds: &dyn Fn(&(f64, f64, f64)) -> bool| {
            shown.iter().filter(|interval| holds(interval)).count() as f64 / shown.len().max(1) as f64
        };
        let student = |f: &PolicyEstimates, truth: f64| (f.dr.value - truth).abs() <= f.dr.student();
        Coverage {
            truth: mean(&|_, truth| truth),
            overlap: mean(&|f, _| f.reach.value),
            figures: all.iter().filter(|(_, line, _)| line.reward_per_pick.is_some()).count() as f64
                / logs as f64,
            shown: share(&|(low, high, truth)| low <= truth && truth <= high),
            below: share(&|(_, high, truth)| high < truth),
            student: mean(&|f, truth| f64::from(u8::from(student(f, truth)))),
            wider: mean(&|f, _| f.dr.estimate().half_width()) / mean(&|f, _| f.dr.student()),
            estimators: [
                mean(&|f, truth| covers(&f.ips, truth, 0.0)),
                mean(&|f, truth| optional(&f.snips, truth)),
                mean(&|f, truth| covers(&f.dr, truth, 0.0)),
                mean(&|f, truth| optional(&f.sndr, truth)),
                mean(&|f, truth| covers(&f.clipped, truth, f.clipping_bias())),
                mean(&|f, truth| f64::from(u8::from(bounded(f, truth)))),
            ],
            bias: [
                mean(&|f, truth| f.ips.value - truth),
                mean(&|f, truth| f.snips.as_ref().map_or(0.0, |s| s.value) - truth),
                mean(&|f, truth| f.dr.value - truth),
                mean(&|f, truth| f.clipped.value - truth),
            ],
            half_width: mean(&|f, _| f.dr.estimate().half_width()),
            widened: mean(&|f, _| verdict::widened(f, None).half_width()),
        }
    }
}

/// Means over many logs; shares are from 0 to 1.
#[derive(Debug)]
struct Coverage {
    truth: f64,
    overlap: f64,
    /// Share of logs with a figure.
    figures: f64,
    /// Share of figures or bounds that hold the truth, among the given ones.
    shown: f64,
    /// Share of figures or bounds that lie wholly below the truth, among the given ones.
    below: f64,
    /// Share of Student's intervals of DR that hold the truth.
    student: f64,
    /// Mean width of the interval of DR over the mean width of Student's.
    wider: f64,
    /// Coverage over all logs of IPS, SNIPS, DR, SNDR, clipped DR with its stated bias, and bounds.
    estimators: [f64; 6],
    /// Bias of IPS, SNIPS, DR and clipped DR.
    bias: [f64; 4],
    half_width: f64,
    /// Half width of the DR interval, widened to hold the bounds.
    widened: f64,
}

fn plain(items: usize, k: usize, rounds: usize, eps: f64) -> SimulatedLog {
    SimulatedLog {
        items,
        k,
        rounds,
        eps,
        learning: None,
        reward: RewardLaw::Curve,
        all_carry: false,
        lost: 0.0,
    }
}

/// With 100 intervals of 95%, it happens about once in 700 tests that 87 or fewer hold the truth
/// (binomial).
#[test]
fn what_is_shown_holds_the_truth_with_overlap() {
    let world = plain(20, 5, 120, 0.5);
    let covered = world.covered(100);
    assert!(covered.shown > 0.87 && covered.estimators[2] > 0.87, "{covered:?}");
    // A figure is refused without need if the mean weight is two standard errors low: in about 3 of
    // 100 logs. 11 or more refusals of 100 happen less than once in 1,000 tests.
    assert!(covered.figures > 0.89, "{covered:?}");
}

/// The target learns from the log as it goes.
#[test]
fn what_is_shown_holds_the_truth_of_a_learner() {
    let world =
        SimulatedLog { learning: Some("lin-ucb"), reward: RewardLaw::YesNo, ..plain(10, 3, 120, 0.6) };
    let covered = world.covered(100);
    assert!(covered.shown > 0.87 && covered.figures > 0.8, "{covered:?}");
}

/// Without overlap the interval of IPS is confident and wrong; bounds are given, and hold.
#[test]
fn without_overlap_there_are_bounds_and_they_hold() {
    let world = SimulatedLog { reward: RewardLaw::YesNo, ..plain(10, 1, 200, 0.0) };
    let covered = world.covered(100);
    assert_eq!(covered.figures, 0.0, "{covered:?}");
    assert!(covered.shown > 0.87, "{covered:?}");
    assert!(covered.estimators[0] < 0.05, "inverse propensity cannot be right here: {covered:?}");
}

/// Prints a table of `experiments/results/off-policy.md`: `cargo test -p jurybox-lab --lib
/// offpolicy::coverage -- --ignored --nocapture`.
#[test]
#[ignore = "prints the coverage table of the book: minutes"]
#[expect(clippy::print_stdout, reason = "printing is what it is for")]
fn coverage_table() {
    let heads = "| target | K of items | log explores | overlap | truth | figure given | **shown** | IPS | SNIPS | DR | SNDR | \
                 clipped + bias | bounds | bias of IPS, SNIPS, DR, clipped | DR ± | widened ± |";
    println!("{heads}");
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut worlds = Vec::new();
    for (learning, reward) in
        [(None, RewardLaw::Curve), (None, RewardLaw::YesNo), (Some("adaptive"), RewardLaw::Curve)]
    {
        for (items, k, rounds) in [(10, 1, 400), (20, 5, 200)] {
            worlds.extend([0.5, 0.05, 0.0].map(|eps| SimulatedLog {
                learning,
                reward,
                ..plain(items, k, rounds, eps)
            }));
        }
    }
    // More logs with exploration, most of them shorter.
    worlds.extend(
        [(50, 0.5), (100, 0.3), (100, 0.2), (400, 0.3)].map(|(rounds, eps)| plain(10, 1, rounds, eps)),
    );
    for world in worlds {
        let SimulatedLog { items, k, rounds, eps, learning, reward, .. } = world;
        let covered = world.covered(200);
        let name = format!("{}{}", learning.unwrap_or("fixed"), reward.name());
        let percent = |x: f64| format!("{:.0}%", 100.0 * x);
        let each: Vec<String> = covered.estimators.iter().map(|&x| percent(x)).collect();
        let bias: Vec<String> = covered.bias.iter().map(|x| format!("{x:+.2}")).collect();
        println!(
            "| {name} | {k} of {items}, {rounds} rounds | {} | {:.2} | {:.2} | {} | **{}** | {} | \
             {} | {:.2} | {:.2} |",
            percent(eps),
            covered.overlap.min(1.0),
            covered.truth,
            percent(covered.figures),
            percent(covered.shown),
            each.join(" | "),
            bias.join(", "),
            covered.half_width,
            covered.widened
        );
    }
}

/// Rare rewards, with a probability on every row: Student's interval is too short. If each of 100
/// intervals lies below the truth with probability 2.5%, it happens less than once in 1,000 tests
/// that 9 or more do.
#[test]
fn what_is_shown_holds_the_truth_of_rare_rewards() {
    let world = SimulatedLog { reward: RewardLaw::Rare(5.0), all_carry: true, ..plain(20, 5, 100, 0.3) };
    let covered = world.covered(100);
    assert!(covered.student < 0.9, "the data do not show the problem: {covered:?}");
    assert!(covered.shown > 0.9 && covered.below < 0.09, "{covered:?}");
    assert!(covered.figures > 0.5, "{covered:?}");
}

/// The verdict on a fifth of the picked items with reward 0 is not recorded, so that SNIPS is
/// wrong. The shown intervals are wide enough.
#[test]
fn verdicts_that_are_missing_for_a_reason_are_counted() {
    let world =
        SimulatedLog { reward: RewardLaw::YesNo, all_carry: true, lost: 0.2, ..plain(20, 5, 200, 0.5) };
    let covered = world.covered(100);
    assert!(covered.estimators[1] < 0.87, "the data do not show the problem: {covered:?}");
    assert!(covered.shown > 0.87, "{covered:?}");
}

/// Prints a table of `experiments/results/off-policy.md`: `cargo test -p jurybox-lab --lib
/// offpolicy::coverage -- --ignored --nocapture`.
#[test]
#[ignore = "prints the coverage table of the book for logs whose every row carries its probability"]
#[expect(clippy::print_stdout, reason = "printing is what it is for")]
fn coverage_table_of_rare_rewards() {
    println!(
        "| rewards | K of items | log explores | truth | figure given | **shown** | wholly below | IPS | SNIPS | DR | SNDR | \
         DR by Student | width over Student's |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let short = (20, 5, 200);
    let few = (10, 1, 400);
    let rewards =
        [RewardLaw::Rare(5.0), RewardLaw::Rare(6.2), RewardLaw::Severity(5.0), RewardLaw::Severity(3.5)];
    let mut worlds = Vec::new();
    for reward in rewards {
        worlds.extend([(short, 0.3), (short, 1.0), (few, 0.5)].map(|shape| (reward, shape)));
    }
    for reward in [RewardLaw::Curve, RewardLaw::YesNo] {
        worlds.extend([(short, 0.5), (few, 0.5), (short, 0.05)].map(|shape| (reward, shape)));
    }
    for (reward, ((items, k, rounds), eps)) in worlds {
        let covered = SimulatedLog { reward, all_carry: true, ..plain(items, k, rounds, eps) }.covered(300);
        let percent = |x: f64| format!("{:.0}%", 100.0 * x);
        let each: Vec<String> = covered.estimators[..4].iter().map(|&x| percent(x)).collect();
        println!(
            "| {} | {k} of {items}, {rounds} rounds | {} | {:.3} | {} | **{}** | {:.1}% | {} | {} | {:.2} |",
            match reward {
                RewardLaw::Curve => "a curve",
                other => other.name().trim_start_matches(", "),
            },
            percent(eps),
            covered.truth,
            percent(covered.figures),
            percent(covered.shown),
            100.0 * covered.below,
            each.join(" | "),
            percent(covered.student),
            covered.wider
        );
    }
}

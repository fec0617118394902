//! The claims about the paper's Theorems 1 to 3, tested on simulations.
//!
//! Theorems 1 and 2 bound the regret of a policy, and are compared with the measured regret.
//! Theorem 3 is a certificate that a ranking has the oracle's top K, and is compared with the
//! oracle's picks.

use super::figures::problems;
use super::finding::{Finding, PaperClaim, judge_bound};
use super::{FinishedExperiment, Plan};
use crate::contender::Contender;
use crate::error::Error;
use crate::setting::Setting;
use crate::simulated_queue::{SimulatedItems, SimulatedQueue};
use jurybox::bounds::{Certificate, Problem};
use jurybox::{Link, Scores, TopK};
use rand::SeedableRng;
use rayon::prelude::*;

/// Prefix of the ids of claims that are not judged by intervals.
pub(super) const THEOREM: &str = "theorem-";

/// Adds the claim on Theorem 1, and for the identity link that on Theorem 2. A claim states the
/// least ratio, over all runs of a setting, of the bound to the policy's measured regret, and the
/// least ratio to the regret of random picks.
pub(super) fn bounds(claims: &mut Vec<PaperClaim>, link: Link, regimes: &[&FinishedExperiment]) {
    let (form, glm) = if link == Link::Identity { ("linear", "") } else { ("logistic", "glm-") };
    let mut under = |number: u8, name: &str, bound: &dyn Fn(&Problem, u64) -> f64| {
        let least = |outcome: &FinishedExperiment, name: &str| {
            let rounds = outcome.experiment.setting.rounds;
            let runs = outcome.regrets(name).into_iter().zip(problems(outcome));
            runs.map(|(regret, problem)| bound(&problem, rounds) / regret).fold(f64::INFINITY, f64::min)
        };
        let over = |name: &str| -> Vec<f64> { regimes.iter().map(|outcome| least(outcome, name)).collect() };
        let list = |ratios: &[f64]| ratios.iter().map(|x| times(*x)).collect::<Vec<_>>().join(", ");
        let (measured, chance) = (over(name), over("uniform"));
        claims.push(PaperClaim {
            note: "the bound of each run, for the oracle's weights as corrected in `jurybox::bounds`".into(),
            ..PaperClaim::new(
                format!("{THEOREM}{number}-holds-{form}"),
                &format!("Theorem {number} bounds the regret of {name}"),
                format!(
                    "at ratios 0.1, 1, 10 the bound is at least {} times the regret of {name} in any run, and at least {} \
                     times that of uniform",
                    list(&measured),
                    list(&chance)
                ),
                judge_bound(&measured, &chance),
            )
        });
    };
    let lambda = regimes.first().map_or(1.0, |outcome| 1.0 / outcome.experiment.setting.evaluators as f64);
    under(1, &format!("{glm}eps-greedy"), &|problem, rounds| {
        problem.regret_eps_greedy(rounds, (rounds as f64).powf(-1.0 / 3.0), lambda)
    });
    if link == Link::Identity {
        under(2, "esag", &Problem::regret_esag);
    }
}

/// A ratio as text: two decimals below 10, none from 10 on, a power of ten from 10,000 on.
fn times(ratio: f64) -> String {
    if ratio < 1e4 { format!("{ratio:.*}", if ratio < 10.0 { 2 } else { 0 }) } else { format!("{ratio:.1e}") }
}

/// Numbers of rounds: with a certificate, with a certificate but other picks than the oracle's,
/// with the oracle's picks, and in all. Rounds are left out if weights times gains do not sum to a
/// positive number, as before weights are learnt.
#[derive(Default, Clone, Copy)]
struct CertificateCount {
    certified: u64,
    wrong: u64,
    same: u64,
    rounds: u64,
}

impl CertificateCount {
    fn add(&mut self, reference: &[f64], values: &[f64], k: usize) {
        let same = best(reference, k) == best(values, k);
        let certified = Certificate::of(reference, values, k).holds();
        self.rounds += 1;
        self.same += u64::from(same);
        self.certified += u64::from(certified);
        self.wrong += u64::from(certified && !same);
    }

    fn plus(self, other: CertificateCount) -> CertificateCount {
        CertificateCount {
            certified: self.certified + other.certified,
            wrong: self.wrong + other.wrong,
            same: self.same + other.same,
            rounds: self.rounds + other.rounds,
        }
    }
}

/// Counts the rounds in which Theorem 3 certifies the weights w that `esag` has learnt, and the
/// rounds in which it certifies equal weights.
fn one_run(setting: &Setting, seed: u64, run: u64) -> Result<[CertificateCount; 2], Error> {
    let mut queue = SimulatedQueue::new(setting, seed, run);
    let mut jury = Contender::of("esag".parse()?).jury_for(setting, queue.truth())?;
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let (mut items, mut room, mut reference) = (SimulatedItems::default(), Vec::new(), Vec::new());
    let mut counts = [CertificateCount::default(); 2];
    for at in 0..setting.rounds {
        queue.next_round(&mut items);
        let scores = Scores::new(&items.scores, setting.evaluators)?;
        queue.oracle_values(&scores, &mut room, &mut reference);
        let learnt = jury.fit().weights().unwrap_or_default().to_vec();
        let equal = vec![1.0; setting.evaluators];
        for (count, weights) in counts.iter_mut().zip([learnt, equal]) {
            // A positive factor does not change the ranking. Weights times gains sum to 1 for the
            // oracle, so these weights are scaled to do so too.
            let scale: f64 = weights.iter().zip(&queue.truth().alpha).map(|(w, a)| w * a).sum();
            if scale > 0.0 {
                let value = |row: &[f64]| row.iter().zip(&weights).map(|(x, w)| x * w / scale).sum::<f64>();
                let values: Vec<f64> = scores.rows().map(value).collect();
                count.add(&reference, &values, setting.k);
            }
        }
        jury.round(&scores, at, setting.k, &mut rng)?;
    }
    Ok(counts)
}

fn best(values: &[f64], k: usize) -> Vec<usize> {
    let mut items = TopK::of(values, k);
    items.sort_unstable();
    items
}

pub(super) fn third(plan: &Plan) -> Result<PaperClaim, Error> {
    let setting =
        Setting { ratio: 10.0, items: 20, rounds: plan.simulated_rounds().min(2000), ..Setting::default() };
    let counts: Vec<[CertificateCount; 2]> = (0..plan.simulated_runs())
        .into_par_iter()
        .map(|run| one_run(&setting, plan.seed, run))
        .collect::<Result<_, Error>>()?;
    let [esag, equal] = counts
        .iter()
        .fold([CertificateCount::default(); 2], |sum, count| [sum[0].plus(count[0]), sum[1].plus(count[1])]);
    let wrong = esag.wrong + equal.wrong;
    let tell = |name: &str, CertificateCount { certified, wrong, same, rounds }: CertificateCount| {
        let ratio = match certified {
            0 => String::new(),
            certified => format!(", {} times as many", times(same as f64 / certified as f64)),
        };
        format!(
            "{name}: certified in {certified} of {rounds} rounds, other picks than the oracle's in {wrong} of those; its picks \
             in {same}{ratio}"
        )
    };
    Ok(PaperClaim {
        note: "true of any two orders of numbers: only a fault in the program could contradict it".into(),
        ..PaperClaim::new(
            format!("{THEOREM}3"),
            "Theorem 3: when every value is within a quarter of the gap of the oracle's, the picks \
             are the oracle's",
            format!("ratio 10; {}; {}", tell("esag", esag), tell("equal weights", equal)),
            match (wrong, esag.certified) {
                (0, 1..) => Finding::HoldsSaysLittle,
                (0, 0) => Finding::CannotTell,
                _ => Finding::NotReproduced,
            },
        )
    })
}

//! Theorem 3: weights within a quarter of the gap pick the oracle's set.

use super::Plan;
use super::claims::{Claim, Verdict};
use crate::contender::Contender;
use crate::error::Error;
use crate::setting::Setting;
use crate::world::{Items, World};
use jurybox::bounds::Certificate;
use jurybox::{Scores, TopK};
use rand::SeedableRng;
use rayon::prelude::*;

/// Rounds in which the certificate held, those of them with another set than the oracle's, and all rounds.
#[derive(Default, Clone, Copy)]
struct Count {
    certified: u64,
    wrong: u64,
    rounds: u64,
}

/// Lets `esag` learn, and asks at every round whether its weights are close enough to the oracle's to be certain.
fn one_run(setting: &Setting, seed: u64, run: u64) -> Result<Count, Error> {
    let mut world = World::new(setting, seed, run);
    let mut jury = Contender::of("esag".parse()?).seat(setting, world.truth())?;
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let (mut items, mut room, mut reference) = (Items::default(), Vec::new(), Vec::new());
    let mut count = Count::default();
    for _ in 0..setting.rounds {
        world.next_round(&mut items);
        let scores = Scores::new(&items.scores, setting.evaluators)?;
        world.oracle_values(&scores, &mut room, &mut reference);
        // The scale of weights does not change a ranking; on the oracle's, <w, alpha> = 1.
        let weights = jury.weights().unwrap_or_default().to_vec();
        let scale: f64 = weights.iter().zip(&world.truth().alpha).map(|(w, a)| w * a).sum();
        if scale > 0.0 {
            let values: Vec<f64> =
                scores.rows().map(|row| row.iter().zip(&weights).map(|(x, w)| x * w / scale).sum()).collect();
            count.rounds += 1;
            if Certificate::of(&reference, &values, setting.k).holds() {
                count.certified += 1;
                count.wrong += u64::from(best(&reference, setting.k) != best(&values, setting.k));
            }
        }
        jury.round(&scores, setting.k, &mut rng)?;
    }
    Ok(count)
}

fn best(values: &[f64], k: usize) -> Vec<u64> {
    let mut top = TopK::new(k, 0);
    for (item, &value) in values.iter().enumerate() {
        top.push(item as u64, value);
    }
    let mut items: Vec<u64> = top.into_sorted().iter().map(|ranked| ranked.item).collect();
    items.sort_unstable();
    items
}

pub(super) fn third(plan: &Plan) -> Result<Claim, Error> {
    let setting = Setting { ratio: 10.0, items: 20, rounds: plan.rounds.min(2000), ..Setting::default() };
    let counts: Vec<Count> = (0..plan.runs)
        .into_par_iter()
        .map(|run| one_run(&setting, plan.seed, run))
        .collect::<Result<_, Error>>()?;
    let total = counts.iter().fold(Count::default(), |sum, count| Count {
        certified: sum.certified + count.certified,
        wrong: sum.wrong + count.wrong,
        rounds: sum.rounds + count.rounds,
    });
    Ok(Claim {
        id: "theorem-3".into(),
        paper: "Theorem 3: when every value is within a quarter of the gap of the oracle's, the picks are the oracle's".into(),
        measured: format!(
            "esag, ratio 10: certified in {} of {} rounds, other picks than the oracle's in {} of those",
            total.certified, total.rounds, total.wrong
        ),
        verdict: match (total.wrong, total.certified) {
            (0, 1..) => Verdict::Reproduced,
            (0, 0) => Verdict::CannotTell,
            _ => Verdict::NotReproduced,
        },
        note: String::new(),
    })
}

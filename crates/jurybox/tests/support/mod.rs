//! The simulated world of the tests, and the list of policies that generic tests run on.
#![allow(dead_code, unreachable_pub, clippy::allow_attributes, reason = "each test file uses its own part")]

use jurybox::{Evaluators, Example, Jury, Pick, Scores, Spec, policies};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

pub const ALPHA: [f64; 4] = [0.8, 1.3, 0.5, 1.1];
pub const SIGMA: [f64; 4] = [0.3, 0.6, 0.2, 0.9];

/// Every policy of the table with its required options, and more specs with other options.
pub fn specs(evaluators: usize) -> Vec<Spec> {
    let base = |name: &str| match name {
        "oracle" => Spec::new(name)
            .with("alpha", ALPHA.iter().cycle().take(evaluators).copied().collect::<Vec<_>>())
            .with("sigma", SIGMA.iter().cycle().take(evaluators).copied().collect::<Vec<_>>()),
        _ => Spec::new(name),
    };
    let mut specs: Vec<Spec> = policies().iter().map(|entry| base(entry.name)).collect();
    for text in [
        "esag(sigma=0.4)",
        "esag(sigma=labelled)",
        "esag(current_round=true)",
        "glm-esag(link=probit,sigma=0.2)",
        "eps-greedy(eps=0.3,sigma=0.4)",
        "eps-greedy(eps=1,slots=2,sigma=labelled)",
        "glm-eps-greedy-all(eps=0.5,slots=1,link=probit)",
        "glm-greedy(link=probit,sigma=labelled,lambda=2)",
        "glm-eval-ucb(sigma=labelled,delta=0.2)",
        "greedy(sigma=0.4)",
        "eps-greedy-all(eps=0.2,sigma=labelled)",
        "eval-ucb(sigma=0.4)",
        "lin-ucb(lambda=3,beta=0.5)",
        "exp4p(horizon=50,low=-1,high=4)",
        "adaptive(audit=0.4,slots=2,sample=64)",
        "adaptive(draws=6,audit=0.2)",
        "adaptive(forget=true,tick=2)",
    ] {
        specs.push(text.parse().unwrap());
    }
    specs
}

pub fn jury_of(spec: &Spec, evaluators: usize) -> Jury {
    Jury::new(spec, Evaluators::numbered(evaluators).unwrap()).unwrap()
}

pub fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// A simulated world. Rewards are absolute values of standard normals; scores are in (0, 1), for
/// any link. `missing` is the probability that a score is missing.
pub struct World {
    pub rng: ChaCha8Rng,
    pub evaluators: usize,
    pub missing: f64,
}

impl World {
    pub fn new(seed: u64, evaluators: usize, missing: f64) -> Self {
        World { rng: ChaCha8Rng::seed_from_u64(seed), evaluators, missing }
    }

    pub fn normal(&mut self) -> f64 {
        normal(&mut self.rng)
    }

    fn uniform(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn round(&mut self, items: usize) -> (Vec<f64>, Vec<f64>) {
        let rewards: Vec<f64> = (0..items).map(|_| self.normal().abs()).collect();
        let mut scores = Vec::with_capacity(items * self.evaluators);
        for &reward in &rewards {
            for j in 0..self.evaluators {
                let x = ALPHA[j % 4] * reward + SIGMA[j % 4] * self.normal();
                let missing = self.uniform() < self.missing;
                scores.push(if missing { f64::NAN } else { 1.0 / (1.0 + (-x).exp()) });
            }
        }
        (rewards, scores)
    }
}

/// The log of one round.
#[derive(Clone)]
pub struct Logged {
    pub at: u64,
    pub scores: Vec<f64>,
    pub rewards: Vec<f64>,
    pub picks: Vec<Pick>,
}

/// Plays `rounds` rounds of `items` items with `k` picks each, learning at once. Returns the log.
pub fn run(
    jury: &mut Jury,
    world: &mut World,
    rounds: usize,
    items: usize,
    k: usize,
    seed: u64,
) -> Vec<Logged> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..rounds as u64)
        .map(|at| {
            let (rewards, scores) = world.round(items);
            let view = jury.scores(&scores).unwrap();
            let picks = jury.round(&view, at, k, &mut rng).unwrap();
            let logged = Logged { at, scores, rewards, picks };
            learn(jury, &logged);
            logged
        })
        .collect()
}

pub fn observe(jury: &mut Jury, logged: &Logged) {
    let view = jury.scores(&logged.scores).unwrap();
    jury.observe(&view, logged.at).unwrap();
}

pub fn learn(jury: &mut Jury, logged: &Logged) {
    for pick in &logged.picks {
        learn_pick(jury, logged, pick);
    }
}

pub fn learn_pick(jury: &mut Jury, logged: &Logged, pick: &Pick) {
    let scores = jury.scores(&logged.scores).unwrap();
    jury.learn(&judged(&scores, &logged.rewards, std::slice::from_ref(pick)), logged.at).unwrap();
}

/// The examples to learn from the picks of a round, with their receipts.
pub fn judged<'a>(scores: &Scores<'a>, rewards: &[f64], picks: &'a [Pick]) -> Vec<Example<'a>> {
    let example = |pick: &'a Pick| Example {
        scores: scores.row(pick.item),
        reward: rewards[pick.item],
        receipt: Some(&pick.receipt),
    };
    picks.iter().map(example).collect()
}

/// The items that a fit of the jury picks in five rounds of 30 items, seven in each.
pub fn picks_after(jury: &Jury, seed: u64) -> Vec<usize> {
    let fitted = jury.fit();
    let mut world = World::new(seed, jury.evaluators().len(), 0.0);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut items = Vec::new();
    for _ in 0..5 {
        let (_, scores) = world.round(30);
        let view = fitted.scores(&scores).unwrap();
        items.extend(fitted.choose(&view, 7, &mut rng).unwrap().iter().map(|pick| pick.item));
    }
    items
}

/// Asserts that two states have the same shape and the same numbers up to rounding (1e-9).
pub fn assert_same_state(a: &Jury, b: &Jury, context: &str) {
    let read = |jury: &Jury| serde_json::from_str::<serde_json::Value>(&jury.to_json()).unwrap();
    same(&read(a), &read(b), context);
}

fn same(a: &serde_json::Value, b: &serde_json::Value, context: &str) {
    use serde_json::Value;
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{context}");
            a.iter().zip(b).for_each(|(a, b)| same(a, b, context));
        }
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.len(), b.len(), "{context}");
            for (key, value) in a {
                same(value, &b[key], &format!("{context}.{key}"));
            }
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs())), "{context}: {a} and {b}");
        }
        _ => assert_eq!(a, b, "{context}"),
    }
}

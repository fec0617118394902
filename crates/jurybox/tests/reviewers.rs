//! Five reviewers, one of them careless: what that costs where verdicts name their reviewers and where they do not, and whether what is
//! said of them holds.
//!
//! The whole table, in half an hour: `cargo test --release -p jurybox --test reviewers -- --ignored --nocapture`.

use jurybox::options::Fraction;
use jurybox::{Evaluators, Example, Interval, Jury, Reviewer, Spec, Standing};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

const ITEMS: usize = 60;
const REVIEWERS: usize = 5;
/// What evaluators add to the worth of an item.
const NOISE: [f64; 6] = [0.6, 0.9, 1.2, 1.6, 2.5, 4.0];
/// What a careful reviewer adds to it.
const CAREFUL: f64 = 0.3;

/// What verdicts are like.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdicts {
    Numbers,
    Marks,
    /// Yes for so many in 100.
    Yes(u32),
}

/// What the last of the five reviewers does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Habit {
    Careful,
    /// A random verdict in half of the cases.
    Random,
    /// The highest verdict, always.
    Same,
    /// One mark lower, or a yes half as often.
    Severe,
    /// Four times the noise.
    Noisy,
}

/// Which items the last reviewer sees.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sees {
    /// Any, by chance.
    Any,
    /// Those that the last evaluator, the noisiest, scores highest.
    Some,
}

/// Scores are the worth of an item plus noise.
struct Item {
    worth: f64,
    scores: Vec<f64>,
    /// What chance adds to verdicts, in standard units, and where it decides.
    chance: f64,
    decides: f64,
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

impl Item {
    fn new(rng: &mut ChaCha8Rng) -> Self {
        let worth = normal(rng);
        let scores = NOISE.iter().map(|noise| worth + noise * normal(rng)).collect();
        Item { worth, scores, chance: normal(rng), decides: rng.random() }
    }

    fn verdict(&self, verdicts: Verdicts, habit: Habit) -> f64 {
        let noise = if habit == Habit::Noisy { 4.0 * CAREFUL } else { CAREFUL };
        let seen = self.worth + noise * self.chance;
        let random = (habit == Habit::Random && self.decides < 0.5).then_some(2.0 * self.decides);
        let severe = f64::from(u8::from(habit == Habit::Severe));
        match verdicts {
            Verdicts::Numbers if habit == Habit::Same => 2.0,
            Verdicts::Numbers => random.map_or(seen, |_| self.chance) - severe,
            Verdicts::Marks if habit == Habit::Same => 5.0,
            Verdicts::Marks => {
                let mark = 1 + [-0.4, 0.25, 0.85, 1.4].iter().filter(|&&above| seen > above).count();
                let mark = random.map_or(mark as f64, |random| 1.0 + (5.0 * random).floor());
                (mark - severe).max(1.0)
            }
            Verdicts::Yes(_) if habit == Habit::Same => 1.0,
            Verdicts::Yes(rate) => {
                // So that a careful reviewer says yes at the rate, and a severe one half as often.
                let above = match (rate, habit) {
                    (15, Habit::Severe) => 1.503,
                    (15, _) => 1.082,
                    (_, Habit::Severe) => 2.046,
                    _ => 1.717,
                };
                f64::from(u8::from(random.map_or(seen > above, |random| random > 0.5)))
            }
        }
    }
}

struct Played {
    /// What careful reviewers would have said of the picks, on average.
    reward: f64,
    jury: Jury,
}

fn name(reviewer: usize) -> Reviewer {
    Reviewer::named(&format!("reviewer {reviewer}"))
}

fn play(policy: &str, verdicts: Verdicts, habit: Habit, sees: Sees, named: bool, k: usize, rounds: u64, seed: u64) -> Played {
    let spec: Spec = policy.parse().unwrap();
    let mut jury = Jury::new(&spec, Evaluators::numbered(NOISE.len()).unwrap()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut reward = 0.0;
    for round in 0..rounds {
        let items: Vec<Item> = (0..ITEMS).map(|_| Item::new(&mut rng)).collect();
        let table: Vec<f64> = items.iter().flat_map(|item| item.scores.clone()).collect();
        let scores = jury.scores(&table).unwrap();
        let mut picks = jury.round(&scores, round, k, &mut ChaCha8Rng::seed_from_u64(round)).unwrap();
        if sees == Sees::Some {
            picks.sort_by(|a, b| items[a.item].scores[5].total_cmp(&items[b.item].scores[5]));
        }
        let mut chance = ChaCha8Rng::seed_from_u64(seed ^ (round << 20));
        for (at, pick) in picks.iter().enumerate() {
            let item = &items[pick.item];
            let who = match sees {
                Sees::Any => chance.random_range(0..REVIEWERS),
                Sees::Some => at * REVIEWERS / k,
            };
            reward += item.verdict(verdicts, Habit::Careful);
            let said = item.verdict(verdicts, if who == REVIEWERS - 1 { habit } else { Habit::Careful });
            let example = Example { scores: &item.scores, reward: said, receipt: Some(&pick.receipt) };
            jury.learn_by(&[example], &[named.then(|| name(who))], round).unwrap();
        }
    }
    Played { reward: reward / (rounds * k as u64) as f64, jury }
}

fn standing(jury: &Jury, reviewer: usize) -> Standing {
    let level = Fraction::try_from(0.9).unwrap();
    let standings = jury.fit().reviewers(level);
    *standings.iter().find(|standing| standing.reviewer == Some(name(reviewer))).unwrap()
}

#[test]
#[ignore = "a table, which takes half an hour"]
fn table_of_what_a_careless_reviewer_costs() {
    let runs: u64 = std::env::var("RUNS").map_or(20, |runs| runs.parse().unwrap());
    let ks: Vec<usize> = std::env::var("KS").map_or(vec![5, 10], |ks| ks.split(',').map(|k| k.parse().unwrap()).collect());
    println!("policy, verdicts, K, sees, habit: cost in % of the reward, with names | without | severity, noise, weight");
    for policy in ["adaptive", "adaptive(levels=true)"] {
        for verdicts in [Verdicts::Numbers, Verdicts::Marks, Verdicts::Yes(15), Verdicts::Yes(5)] {
            if verdicts == Verdicts::Numbers && policy != "adaptive" {
                continue;
            }
            for &k in &ks {
                for sees in [Sees::Any, Sees::Some] {
                    let careful: Vec<f64> = (0..runs)
                        .map(|seed| play(policy, verdicts, Habit::Careful, sees, false, k, 200, seed).reward)
                        .collect();
                    for habit in [Habit::Careful, Habit::Random, Habit::Same, Habit::Severe, Habit::Noisy] {
                        let mut line = format!("{policy} {verdicts:?} {k} {sees:?} {habit:?}:");
                        let mut last = None;
                        for named in [true, false] {
                            let of = |seed| play(policy, verdicts, habit, sees, named, k, 200, seed);
                            let played: Vec<Played> = (0..runs).map(of).collect();
                            let cost = |(played, careful): (&Played, &f64)| 100.0 * (1.0 - played.reward / careful);
                            let costs: Vec<f64> = played.iter().zip(&careful).map(cost).collect();
                            let cost = Interval::of(&costs);
                            line += &format!(" {:+.2} ± {:.2} |", cost.mean, cost.half_width());
                            last = last.or(played.into_iter().next());
                        }
                        let last = standing(&last.unwrap().jury, 4);
                        println!("{line} {:+.2}, {:.2}, {:.2}", last.severity.mean, last.noise.mean, last.weight);
                    }
                }
            }
        }
    }
}

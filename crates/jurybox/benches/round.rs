//! What a round costs, as ratios to bare hand-written loops timed in the same run.
//!
//! `cargo bench -p jurybox --bench round` first prints, for every policy, the time of a round:
//! check the scores, choose, observe, learn. A round has 60 items, 10 evaluators and K = 10. Beside
//! it are its ratios to bare loops for ESAG and for ridge LinUCB.
//!
//! Then it prints the mean time of a round of `adaptive` and of `lin-ucb` over the first 200 to
//! 20,000 rounds. Last is the time to rank 10^7 rows in memory, beside a plain sum of the same
//! numbers. The best of several turns counts, against noise from other programs. `-- esag lin-ucb`
//! times only the rounds of these policies.
#![expect(clippy::print_stdout, reason = "a benchmark's output")]

use jurybox::{Evaluators, Example, Jury, Scores, Spec, Weights, policies, top_k};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::hint::black_box;
use std::time::Instant;

const ITEMS: usize = 60;
const J: usize = 10;
const K: usize = 10;
const ROUNDS: usize = 256;

struct Data {
    sigma: Vec<f64>,
    alpha: Vec<f64>,
    /// Scores of each round, linear in the rewards.
    linear: Vec<Vec<f64>>,
    /// The linear scores through the logistic link.
    logistic: Vec<Vec<f64>>,
    rewards: Vec<Vec<f64>>,
}

fn data() -> Data {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let alpha: Vec<f64> = (0..J).map(|j| 0.5 + 0.1 * j as f64).collect();
    let sigma: Vec<f64> = (0..J).map(|j| 1.5 - 0.1 * j as f64).collect();
    let rewards: Vec<Vec<f64>> = (0..ROUNDS).map(|_| (0..ITEMS).map(|_| normal().abs()).collect()).collect();
    let linear: Vec<Vec<f64>> = rewards
        .iter()
        .map(|round| {
            round
                .iter()
                .flat_map(|r| (0..J).map(|j| alpha[j] * r + sigma[j] * normal()).collect::<Vec<_>>())
                .collect()
        })
        .collect();
    let logistic =
        linear.iter().map(|t: &Vec<f64>| t.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect()).collect();
    Data { sigma, alpha, linear, logistic, rewards }
}

/// ESAG as one would write it by hand for this width, without checks, options or receipts.
struct BareEsag {
    sum: [f64; J],
    count: f64,
    values: Vec<(f64, usize)>,
}

impl BareEsag {
    fn round(&mut self, table: &[f64], sigma: &[f64]) -> usize {
        let mut w = [0.0; J];
        if self.count > 0.0 {
            let mut norm = 0.0;
            for j in 0..J {
                let alpha = self.sum[j] / self.count;
                w[j] = alpha / (sigma[j] * sigma[j]);
                norm += alpha * w[j];
            }
            w.iter_mut().for_each(|w| *w /= norm);
        }
        self.values.clear();
        for (item, row) in table.chunks_exact(J).enumerate() {
            let mut value = 0.0;
            for j in 0..J {
                value += w[j] * row[j];
                self.sum[j] += row[j];
            }
            self.values.push((value, item));
        }
        self.count += ITEMS as f64;
        self.values.select_nth_unstable_by(K - 1, |a, b| b.0.total_cmp(&a.0));
        self.values[..K].iter().map(|v| v.1).sum()
    }
}

/// Ridge LinUCB by hand, with an explicit inverse that each example updates.
struct BareLinUcb {
    inverse: [[f64; J]; J],
    b: [f64; J],
    log_volume: f64,
    values: Vec<(f64, usize)>,
}

impl BareLinUcb {
    fn round(&mut self, table: &[f64], rewards: &[f64]) -> usize {
        let beta = 0.1 * (2.0 * 20_f64.ln() + self.log_volume).sqrt() + (1.0 / J as f64).sqrt();
        let mut theta = [0.0; J];
        for i in 0..J {
            for j in 0..J {
                theta[i] += self.inverse[i][j] * self.b[j];
            }
        }
        self.values.clear();
        for (item, row) in table.chunks_exact(J).enumerate() {
            let (mut mean, mut square) = (0.0, 0.0);
            for i in 0..J {
                mean += theta[i] * row[i];
                let mut t = 0.0;
                for j in 0..J {
                    t += self.inverse[i][j] * row[j];
                }
                square += row[i] * t;
            }
            self.values.push((mean + beta * square.sqrt(), item));
        }
        self.values.select_nth_unstable_by(K - 1, |a, b| b.0.total_cmp(&a.0));
        for &(_, item) in &self.values[..K] {
            let x = &table[item * J..(item + 1) * J];
            let mut v = [0.0; J];
            for i in 0..J {
                for j in 0..J {
                    v[i] += self.inverse[i][j] * x[j];
                }
            }
            let mut scale = 1.0;
            for i in 0..J {
                scale += v[i] * x[i];
                self.b[i] += rewards[item] * x[i];
            }
            self.log_volume += scale.ln();
            for i in 0..J {
                for j in 0..J {
                    self.inverse[i][j] -= v[i] * v[j] / scale;
                }
            }
        }
        self.values[..K].iter().map(|v| v.1).sum()
    }
}

/// A jury with the buffers that a caller would keep.
struct BenchedJury {
    name: String,
    jury: Jury,
    rng: ChaCha8Rng,
    picks: Vec<jurybox::Pick>,
    logistic: bool,
    at: u64,
}

impl BenchedJury {
    fn new(name: &str, data: &Data) -> Self {
        let spec = match name {
            "oracle" => Spec::new(name).with("alpha", data.alpha.clone()).with("sigma", data.sigma.clone()),
            _ if name.contains("esag") || name.contains("greedy") || name.contains("eval") => {
                Spec::new(name).with("sigma", data.sigma.clone())
            }
            _ => Spec::new(name),
        };
        BenchedJury {
            name: name.into(),
            jury: Jury::new(&spec, Evaluators::numbered(J).expect("ten")).expect("a sound spec"),
            rng: ChaCha8Rng::seed_from_u64(2),
            picks: Vec::new(),
            logistic: name.starts_with("glm-"),
            at: 0,
        }
    }

    fn round(&mut self, table: &[f64], rewards: &[f64]) {
        let scores = self.jury.scores(table).expect("sound scores");
        self.jury.round_into(&scores, self.at, K, &mut self.rng, &mut self.picks).expect("a sound round");
        let examples: [Example<'_>; K] = std::array::from_fn(|i| {
            let pick = &self.picks[i];
            Example {
                scores: scores.row(pick.item),
                reward: rewards[pick.item],
                receipt: Some(&pick.receipt),
            }
        });
        self.jury.learn(&examples, self.at).expect("sound examples");
        self.at += 1;
    }
}

/// Best time per round of each contestant, in nanoseconds; contestants take turns.
fn race(contestants: &mut [Box<dyn FnMut(usize) + '_>], turns: usize) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; contestants.len()];
    for _ in 0..turns {
        for (contestant, best) in contestants.iter_mut().zip(&mut best) {
            let start = Instant::now();
            (0..ROUNDS).for_each(&mut *contestant);
            *best = best.min(start.elapsed().as_secs_f64() * 1e9 / ROUNDS as f64);
        }
    }
    best
}

fn main() {
    let data = data();
    rounds(&data);
    if std::env::args().len() <= 2 {
        from_the_start(&data);
        ranking();
    }
}

fn rounds(data: &Data) {
    let mut bare_esag = BareEsag { sum: [0.0; J], count: 0.0, values: Vec::new() };
    let mut bare_ucb = BareLinUcb {
        inverse: std::array::from_fn(|i| std::array::from_fn(|j| if i == j { J as f64 } else { 0.0 })),
        b: [0.0; J],
        log_volume: 0.0,
        values: Vec::new(),
    };
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let mut juries: Vec<BenchedJury> = policies()
        .iter()
        .filter(|entry| wanted.is_empty() || wanted.iter().any(|name| name == entry.name))
        .map(|entry| BenchedJury::new(entry.name, data))
        .collect();
    let names: Vec<String> = juries.iter().map(|s| s.name.clone()).collect();
    let mut contestants: Vec<Box<dyn FnMut(usize) + '_>> = vec![
        Box::new(|i| {
            black_box(bare_esag.round(&data.linear[i], &data.sigma));
        }),
        Box::new(|i| {
            black_box(bare_ucb.round(&data.linear[i], &data.rewards[i]));
        }),
    ];
    for jury in &mut juries {
        let tables = if jury.logistic { &data.logistic } else { &data.linear };
        contestants.push(Box::new(move |i| jury.round(&tables[i], &data.rewards[i])));
    }
    // Fewer contestants have more turns each.
    let turns = 6000 / contestants.len();
    let times = race(&mut contestants, turns);
    let (esag, ucb) = (times[0], times[1]);
    println!("a round of {ITEMS} x {J}, K = {K}: check + choose + observe + learn");
    println!("{:20} {:>9} {:>16} {:>18}", "", "us", "/ bare esag", "/ bare ridge ucb");
    println!("{:20} {:9.2}", "bare esag loop", esag / 1e3);
    println!("{:20} {:9.2}", "bare ridge ucb loop", ucb / 1e3);
    for (name, time) in names.iter().zip(&times[2..]) {
        println!("{name:20} {:9.2} {:16.2} {:18.2}", time / 1e3, time / esag, time / ucb);
    }
}

/// Times a round on average from the first one on, with all the fits that `adaptive` makes as it
/// learns.
fn from_the_start(data: &Data) {
    println!("\na round on average, counted from the first one");
    println!("{:20} {:>9} {:>9} {:>9}", "rounds", "adaptive", "lin-ucb", "ratio");
    for rounds in [200, 2_000, 20_000] {
        let time = |name: &str| -> f64 {
            let turn = || {
                let mut jury = BenchedJury::new(name, data);
                let start = Instant::now();
                (0..rounds).for_each(|i| jury.round(&data.linear[i % ROUNDS], &data.rewards[i % ROUNDS]));
                start.elapsed().as_secs_f64() * 1e6 / rounds as f64
            };
            (0..3).map(|_| turn()).fold(f64::INFINITY, f64::min)
        };
        let (adaptive, ucb) = (time("adaptive"), time("lin-ucb"));
        println!("{rounds:<20} {adaptive:9.1} {ucb:9.1} {:9.1}", adaptive / ucb);
    }
}

fn ranking() {
    let rows = 10_000_000;
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let table: Vec<f64> = (0..rows * J).map(|_| f64::from(rng.next_u32() >> 8)).collect();
    let weights = Weights::oracle(&[1.0; J], &[1.0; J]).expect("sound weights");
    let (mut sum, mut rank) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..5 {
        let start = Instant::now();
        // Eight running sums, so that memory is the limit.
        let mut sums = [0.0; 8];
        for chunk in table.chunks_exact(8) {
            for (s, x) in sums.iter_mut().zip(chunk) {
                *s += x;
            }
        }
        black_box(sums);
        sum = sum.min(start.elapsed().as_secs_f64());
        let scores = Scores::new(&table, J).expect("sound scores");
        let start = Instant::now();
        black_box(top_k(&scores, &weights, 100, 7));
        rank = rank.min(start.elapsed().as_secs_f64());
    }
    println!("\nranking 10^7 x {J} in memory, top 100");
    println!("plain sum over the same bytes {:7.1} ms", sum * 1e3);
    println!(
        "top_k                         {:7.1} ms, {:.2} of the plain sum's speed",
        rank * 1e3,
        sum / rank
    );
}

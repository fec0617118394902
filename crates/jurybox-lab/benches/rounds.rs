//! Benchmark: rounds per second of every policy but `oracle`, and the ratio of `esag` to ESAG in
//! vectorised numpy. Rounds have the paper's size (60 items, 10 evaluators, K = 10).
//!
//! `JURYBOX_PYTHON` names a Python with numpy (default `python3`); without numpy the comparison is
//! skipped with a message. Rounds are drawn beforehand: only picking, observing and learning are
//! timed.

use jurybox::{Evaluators, Example, Jury, Link, Scores};
use jurybox_lab::{Contender, Setting, SimulatedItems, SimulatedQueue};
use rand::SeedableRng;
use std::process::Command;
use std::time::Instant;

const ROUNDS: usize = 20_000;
const DRAWN: usize = 500;

fn rounds_per_second(contender: &Contender, setting: &Setting) -> f64 {
    let mut queue = SimulatedQueue::new(setting, 1, 0);
    let sigma = queue.truth().reported_sigma();
    let evaluators = Evaluators::numbered(setting.evaluators).expect("ten evaluators");
    let told = contender.spec.clone().told("sigma", sigma);
    let mut jury = Jury::new(&told, evaluators).expect("a policy of the table");
    let rounds: Vec<SimulatedItems> = (0..DRAWN)
        .map(|_| {
            let mut items = SimulatedItems::default();
            queue.next_round(&mut items);
            items
        })
        .collect();
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let mut picks = Vec::new();
    let start = Instant::now();
    for t in 0..ROUNDS {
        let items = &rounds[t % DRAWN];
        let scores = Scores::new(&items.scores, setting.evaluators).expect("sound scores");
        jury.round_into(&scores, t as u64, setting.k, &mut rng, &mut picks).expect("a sound round");
        for pick in &picks {
            let (scores, reward) = (scores.row(pick.item), items.verdicts[pick.item]);
            jury.learn(&[Example { scores, reward, receipt: Some(&pick.receipt) }], t as u64)
                .expect("a sound example");
        }
    }
    ROUNDS as f64 / start.elapsed().as_secs_f64()
}

#[expect(clippy::print_stdout, reason = "a benchmark's result")]
fn main() {
    let mut esag = 0.0;
    for (link, name) in [(Link::Identity, "linear"), (Link::Logistic, "logistic")] {
        let setting = Setting { link, ratio: 1.0, ..Setting::default() };
        for contender in Contender::all_that_fit(link) {
            let rate = rounds_per_second(&contender, &setting);
            println!("{name:9} {:20} {rate:>10.0} rounds/s", contender.label);
            if contender.label == "esag" {
                esag = rate;
            }
        }
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/numpy_esag.py");
    let python = std::env::var("JURYBOX_PYTHON").unwrap_or_else(|_| "python3".into());
    let numpy = Command::new(&python).arg(script).output().ok().filter(|output| output.status.success());
    match numpy.and_then(|output| String::from_utf8(output.stdout).ok()?.trim().parse::<f64>().ok()) {
        Some(numpy) => {
            println!("numpy     esag                 {numpy:>10.0} rounds/s");
            println!("ratio of esag to numpy: {:.1}", esag / numpy);
        }
        None => println!("numpy: skipped, because `{python}` has no numpy; set JURYBOX_PYTHON"),
    }
}

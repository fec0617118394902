//! A case of `adaptive`: a pool in which a learner gets stuck and finds nothing more.

use super::{Item, Rng, shown};
use jurybox::{Example, TopK};
use rand::{RngExt, SeedableRng};

/// Runs on a random 80% of a pool, five picks a step, no item twice. Returns as text the number of
/// runs that found something in the first 30 labels and nothing in the other 170. The mean sum of
/// rewards in 200 labels follows.
pub(crate) fn stuck(path: &str, worlds: u64) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let reward = header.iter().position(|name| *name == "reward").expect("a column `reward`");
    let item = |line: &str| -> Item {
        let mut cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap_or(f64::NAN)).collect();
        (cells.remove(reward), cells)
    };
    let items: Vec<Item> = lines.map(item).collect();
    let (mut lost, mut found) = (0, 0.0);
    for seed in 0..worlds {
        let mut rng = Rng::seed_from_u64(seed);
        let mut pool: Vec<&Item> = items.iter().filter(|_| rng.random::<f64>() < 0.8).collect();
        let table = |pool: &[&Item]| pool.iter().flat_map(|item| item.1.clone()).collect::<Vec<f64>>();
        let mut jury = shown(&table(&pool), header.len() - 1);
        let (mut early, mut late) = (0.0, 0.0);
        for turn in 0..40 {
            let table = table(&pool);
            let values = jury.fit().values(&jury.scores(&table).expect("sound scores")).expect("values");
            let mut best = TopK::of(&values, 5);
            best.sort_unstable();
            for place in best.into_iter().rev() {
                let (reward, scores) = pool.swap_remove(place);
                *if turn < 6 { &mut early } else { &mut late } += reward;
                jury.learn(&[Example { scores, reward: *reward, receipt: None }], turn).expect("sound");
            }
        }
        lost += u64::from(early > 0.0 && late == 0.0);
        found += early + late;
    }
    format!("{lost} of {worlds}, {:.1} found in 200 labels", found / worlds as f64)
}

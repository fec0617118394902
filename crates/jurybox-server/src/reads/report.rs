//! What a queue has found, and what it may have missed: from the verdicts and the probabilities of their picks.

use super::model::oriented;
use crate::desk::exported;
use crate::event::Source;
use crate::service::Queue;
use crate::{Config, Error};
use jurybox::Interval;
use jurybox::toolbox::Standard;
use std::collections::HashMap;

/// Audits below this say nothing.
const FEWEST: usize = 30;

/// What a queue has found.
#[derive(Debug, Clone)]
pub struct Found {
    /// Items that ever came in.
    pub items: u64,
    /// Items that a person has looked at.
    pub looked_at: u64,
    /// The sum of what they were found to be worth.
    pub caught: f64,
    /// The mean worth of the items that were picked by value.
    pub picked: Share,
    /// The mean worth of the items that were drawn on arrival: what random picks would find.
    pub random: Share,
    /// The mean worth of the drawn items that the plain mean of the scores would have picked, as large a share of all as was picked here.
    pub plain_mean: Share,
    /// What all items that came in are worth together beyond what was caught, by those that were drawn: an interval of 95 %.
    pub missed: Option<Interval>,
}

/// A mean over so many items, with an interval of 95 % where they are enough.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// Of how many.
    pub items: u64,
    /// The mean; none where they are too few.
    pub mean: Option<Interval>,
}

/// What is known of an item that a person has looked at.
#[derive(Debug, Default)]
struct Looked {
    rewards: Vec<f64>,
    appealed: Option<f64>,
    explored: bool,
    scores: Vec<f64>,
}

impl Looked {
    fn worth(&self) -> f64 {
        self.appealed.unwrap_or_else(|| self.rewards.iter().sum::<f64>() / self.rewards.len() as f64)
    }
}

impl Queue {
    /// What has been found, against what picking otherwise would have.
    pub fn found(&self) -> Result<Found, Error> {
        let (mut store, queue, config, seatings, seq, items) = self.read(|clerk| {
            let store = clerk.another_store()?;
            let board = &clerk.replica.board;
            let (seatings, config) = (board.seatings.clone(), (*board.config).clone());
            Ok::<_, Error>((store, clerk.queue(), config, seatings, board.seq, board.counts().items))
        })??;
        let mut looked: HashMap<String, Looked> = HashMap::new();
        store.standing(queue, &mut |verdict, item, key| {
            let arrived = item.arrived;
            let item = item.into_added(&seatings, seq + 1);
            let row = exported(verdict, key, arrived, &item.scores, item.tags);
            let one = looked.entry(row.item).or_default();
            match row.source {
                // Nobody looked.
                Source::Automatic => return Ok(()),
                Source::Appeal => one.appealed = Some(row.reward),
                Source::Reviewer => one.rewards.push(row.reward),
            }
            one.explored |= row.explored;
            one.scores = item.scores;
            Ok(())
        })?;
        looked.retain(|_, one| !one.rewards.is_empty());
        Ok(found(items, &config, looked.into_values().collect()))
    }
}

fn found(items: u64, config: &Config, looked: Vec<Looked>) -> Found {
    let caught = looked.iter().map(Looked::worth).fold(0.0, |sum, worth| sum + worth);
    let count = looked.len() as u64;
    let (drawn, picked): (Vec<Looked>, Vec<Looked>) = looked.into_iter().partition(|one| one.explored);
    let worth = |all: &[Looked]| all.iter().map(Looked::worth).collect::<Vec<f64>>();
    let (random, by_value) = (worth(&drawn), worth(&picked));
    let share = if items > 0 { picked.len() as f64 / items as f64 } else { 0.0 };
    let plain_mean = top_by_mean(config, &drawn, share);
    let missed = interval(&random).map(|mean| {
        let all = items as f64;
        // What was caught is known; what all are worth together is estimated.
        mean.times(all).plus(-caught)
    });
    Found {
        items,
        looked_at: count,
        caught,
        picked: Share { items: by_value.len() as u64, mean: interval(&by_value) },
        random: Share { items: random.len() as u64, mean: interval(&random) },
        plain_mean: Share { items: plain_mean.len() as u64, mean: interval(&plain_mean) },
        missed,
    }
}

/// What those of the drawn are worth that the plain mean of the scores, in standard units, puts into the best share.
fn top_by_mean(config: &Config, drawn: &[Looked], share: f64) -> Vec<f64> {
    let width = config.evaluators.len();
    let rows: Vec<Vec<f64>> = drawn.iter().map(|one| oriented(&one.scores, &config.evaluators)).collect();
    let mut standard = Standard::new(width);
    for row in rows.iter().filter(|row| row.len() == width) {
        standard.observe(row);
    }
    let mut order: Vec<(f64, f64)> = rows
        .iter()
        .zip(drawn)
        .filter(|(row, _)| row.len() == width)
        .map(|(row, one)| (standard.row_mean(row), one.worth()))
        .filter(|(mean, _)| !mean.is_nan())
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let many = (order.len() as f64 * share).round() as usize;
    order.into_iter().take(many).map(|(_, worth)| worth).collect()
}

/// The mean with an interval of 95 %: Wilson's where all are 0 or 1, which holds where all are 0 too; Student's otherwise.
fn interval(worth: &[f64]) -> Option<Interval> {
    if worth.len() < FEWEST {
        return None;
    }
    if worth.iter().any(|worth| *worth != 0.0 && *worth != 1.0) {
        return Some(Interval::of(worth));
    }
    let (n, z) = (worth.len() as f64, 1.959_963_984_540_054_f64);
    let p = worth.iter().sum::<f64>() / n;
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    // At the ends the two cancel out, but for the last bit.
    let low = if p == 0.0 { 0.0 } else { middle - half };
    let high = if p == 1.0 { 1.0 } else { middle + half };
    Some(Interval { mean: p, low, high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jurybox::Evaluators;

    /// 100 drawn items, of which those with high scores are worth something; 20 picked ones, most of them so.
    #[test]
    fn picks_are_held_against_drawn_ones() {
        let config = Config::new(Evaluators::new(["a"]).unwrap());
        let one = |score: f64, worth: f64, explored| Looked {
            rewards: vec![worth],
            appealed: None,
            explored,
            scores: vec![score],
        };
        let mut looked: Vec<Looked> =
            (0..100).map(|i| one(f64::from(i), f64::from(u8::from(i >= 90)), true)).collect();
        looked.extend((0..400).map(|i| one(1.0, f64::from(u8::from(i % 4 > 0)), false)));
        let found = found(1000, &config, looked);
        assert_eq!((found.looked_at, found.caught), (500, 310.0));
        assert_eq!(found.random.mean.unwrap().mean, 0.1);
        assert_eq!(found.picked.mean.unwrap().mean, 0.75);
        // The best 40 of the 100 drawn have all ten.
        assert_eq!((found.plain_mean.items, found.plain_mean.mean.unwrap().mean), (40, 0.25));
        let missed = found.missed.unwrap();
        assert!((missed.mean + 210.0).abs() < 1e-9 && missed.high > missed.mean, "{missed:?}");
    }

    #[test]
    fn nothing_found_is_no_proof_that_there_is_nothing() {
        let none = interval(&[0.0; 100]).unwrap();
        assert!(none.mean == 0.0 && none.low == 0.0 && (0.03..0.04).contains(&none.high), "{none:?}");
        assert!(interval(&[0.0; 29]).is_none());
    }
}

//! The simulation behind the demo: Jurybox learns which of six scripted evaluators to trust.
//!
//! Each hour brings 100 posts, one in ten of them harmful on average, and reviewers have time for
//! ten. Three methods pick from the same posts: Jurybox, the plain average of the scores, and the
//! oracle. The oracle knows the gain, offset and noise of every evaluator. The module counts the
//! harmful posts that each method finds.

use crate::demo_page;
use crate::error::Error;
use jurybox::{Evaluators, Example, Jury, Pick, Scores, Spec, TopK, Weights};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Posts an hour.
const POSTS: usize = 100;
/// Reviews an hour.
const LOOKS: usize = 10;
/// Number of hours.
const HOURS: u64 = 400;

/// Least severity of a harmful post. One post in ten is above it, as severities are |N(0, 1)|.
pub(crate) const HARMFUL: f64 = 1.645;

/// An evaluator of the demo with its true parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DemoEvaluator {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) gain: f64,
    pub(crate) offset: f64,
    noise: f64,
    pub(crate) silent: f64,
}

impl DemoEvaluator {
    /// The noise level (standard deviation). If `swapped` names this evaluator, it is the noise
    /// level of the other evaluator of the pair, times this one's absolute gain over the other's.
    pub(crate) fn noise_for(&self, swapped: Option<[&str; 2]>) -> f64 {
        let other = match swapped {
            Some([one, other]) if one == self.name => other,
            Some([one, other]) if other == self.name => one,
            _ => return self.noise,
        };
        let other = DEMO_EVALUATORS.iter().find(|character| character.name == other).unwrap_or(self);
        other.noise * (self.gain / other.gain).abs()
    }
}

pub(crate) const DEMO_EVALUATORS: [DemoEvaluator; 6] = [
    DemoEvaluator { name: "toxicity model", what: "good", gain: 1.0, offset: 0.0, noise: 0.7, silent: 0.0 },
    DemoEvaluator {
        name: "spam rules",
        what: "shouts: large scores, mostly noise",
        gain: 0.6,
        offset: 1.0,
        noise: 3.0,
        silent: 0.0,
    },
    DemoEvaluator {
        name: "user reports",
        what: "fair, silent on 4 posts in 10",
        gain: 0.8,
        offset: 0.0,
        noise: 0.9,
        silent: 0.4,
    },
    DemoEvaluator {
        name: "keyword list",
        what: "knows nothing",
        gain: 0.0,
        offset: 0.5,
        noise: 1.2,
        silent: 0.0,
    },
    DemoEvaluator {
        name: "LLM judge",
        what: "good, on a scale a fifth of the others'",
        gain: 0.2,
        offset: 0.0,
        noise: 0.12,
        silent: 0.0,
    },
    DemoEvaluator {
        name: "old classifier",
        what: "scores backwards since an update",
        gain: -0.8,
        offset: 1.0,
        noise: 0.8,
        silent: 0.0,
    },
];

/// The number of harmful posts that one method has found: in total, and up to each hour.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FoundCount {
    pub(crate) found: u64,
    pub(crate) history: Vec<u64>,
}

impl FoundCount {
    fn add(&mut self, severities: &[f64], picks: impl IntoIterator<Item = usize>) {
        self.found += picks.into_iter().filter(|&post| severities[post] >= HARMFUL).count() as u64;
        self.history.push(self.found);
    }
}

/// The counts of harmful posts, and the evaluators' shares of influence, after a number of hours.
///
/// ```
/// let mut demo = jurybox_lab::DemoSimulation::new(1)?;
/// demo.step()?;
/// let now = demo.standing();
/// assert_eq!((now.hour, now.weights.len()), (1, 6));
/// # Ok::<(), jurybox_lab::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DemoStanding {
    /// Hours simulated.
    pub hour: u64,
    /// Harmful posts so far, found or missed.
    pub harmful: u64,
    /// Harmful posts found by Jurybox.
    pub jurybox: u64,
    /// Harmful posts found by the plain average.
    pub average: u64,
    /// Harmful posts found by the oracle.
    pub oracle: u64,
    /// Each evaluator's name, and its share of the influence on the ranking. A share is negative if
    /// the evaluator's scores count backwards; absolute shares sum to one, or all are zero.
    pub weights: Vec<(&'static str, f64)>,
}

/// The demo's simulation, one hour at a time.
///
/// ```
/// use jurybox_lab::DemoSimulation;
///
/// let mut demo = DemoSimulation::new(1)?;
/// while demo.step()? {}
/// let end = demo.standing();
/// assert!(2 * end.average < end.jurybox);
/// // The oracle knows the evaluators, but not the noise in their scores: luck remains.
/// assert!(end.jurybox.abs_diff(end.oracle) < end.oracle / 50);
/// assert!(demo.to_html("<p>The end.</p>").contains("<svg"));
/// # Ok::<(), jurybox_lab::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DemoSimulation {
    rng: ChaCha8Rng,
    jury: Jury,
    oracle: Weights,
    hour: u64,
    harmful: u64,
    pub(crate) tallies: [FoundCount; 3],
    /// Share of influence of each evaluator, per hour.
    pub(crate) influence: Vec<Vec<f64>>,
    scores: Vec<f64>,
    severities: Vec<f64>,
    picks: Vec<Pick>,
}

impl DemoSimulation {
    /// Number of hours of the whole demo.
    pub const HOURS: u64 = HOURS;

    /// The demo before its first hour.
    pub fn new(seed: u64) -> Result<DemoSimulation, Error> {
        let gains = DEMO_EVALUATORS.map(|c| c.gain);
        let noises = DEMO_EVALUATORS.map(|c| c.noise);
        Ok(DemoSimulation {
            rng: ChaCha8Rng::seed_from_u64(seed),
            jury: Jury::new(&Spec::default(), Evaluators::new(DEMO_EVALUATORS.map(|c| c.name))?)?,
            oracle: Weights::oracle(&gains, &noises)?,
            hour: 0,
            harmful: 0,
            tallies: Default::default(),
            influence: Vec::new(),
            scores: Vec::new(),
            severities: Vec::new(),
            picks: Vec::new(),
        })
    }

    /// Simulates one hour. Returns false, and does nothing, once all hours are simulated.
    pub fn step(&mut self) -> Result<bool, Error> {
        if self.hour == HOURS {
            return Ok(false);
        }
        self.hour += 1;
        self.posts();
        let scores = Scores::new(&self.scores, DEMO_EVALUATORS.len())?;
        self.jury.round_into(&scores, self.hour, LOOKS, &mut self.rng, &mut self.picks)?;
        self.tallies[0].add(&self.severities, self.picks.iter().map(|pick| pick.item));
        for pick in &self.picks {
            // Stands for a reviewer who reads the post and grades its severity.
            let reward = self.severities[pick.item];
            let example = Example { scores: scores.row(pick.item), reward, receipt: Some(&pick.receipt) };
            self.jury.learn(&[example], self.hour)?;
        }
        let mean_of = |row: &[f64]| {
            let spoken = row.iter().filter(|x| !x.is_nan());
            spoken.clone().sum::<f64>() / spoken.count() as f64
        };
        let averages: Vec<f64> = scores.rows().map(mean_of).collect();
        self.tallies[1].add(&self.severities, TopK::of(&averages, LOOKS));
        let centred: Vec<f64> = scores
            .rows()
            .flat_map(|row| row.iter().zip(&DEMO_EVALUATORS).map(|(x, c)| x - c.offset))
            .collect();
        let mut told = Vec::new();
        self.oracle.values(&Scores::new(&centred, DEMO_EVALUATORS.len())?, &mut told);
        self.tallies[2].add(&self.severities, TopK::of(&told, LOOKS));
        self.harmful += self.severities.iter().filter(|s| **s >= HARMFUL).count() as u64;
        let shares = self.shares();
        self.influence.push(shares);
        Ok(true)
    }

    fn posts(&mut self) {
        self.scores.clear();
        self.severities.clear();
        for _ in 0..POSTS {
            let z: f64 = StandardNormal.sample(&mut self.rng);
            let severity = z.abs();
            self.severities.push(severity);
            for c in &DEMO_EVALUATORS {
                let noise: f64 = StandardNormal.sample(&mut self.rng);
                let silent = self.rng.random::<f64>() < c.silent;
                let score = c.offset + c.gain * severity + c.noise * noise;
                self.scores.push(if silent { f64::NAN } else { score });
            }
        }
    }

    /// Each evaluator's share of influence: its standardised coefficient (weight times standard
    /// deviation of its scores), divided by the sum of all absolute ones. Zero without weights.
    fn shares(&self) -> Vec<f64> {
        // Var |N(0, 1)| = 1 - 2/pi.
        let spread = |c: &DemoEvaluator| (c.gain * c.gain * 0.3634 + c.noise * c.noise).sqrt();
        let fitted = self.jury.fit();
        let weights = fitted.weights().unwrap_or_default();
        let moved: Vec<f64> = weights.iter().zip(&DEMO_EVALUATORS).map(|(w, c)| w * spread(c)).collect();
        let total: f64 = moved.iter().map(|m| m.abs()).sum();
        moved.iter().map(|m| if total > 0.0 { m / total } else { 0.0 }).collect()
    }

    /// The counts and shares of influence after the last simulated hour.
    pub fn standing(&self) -> DemoStanding {
        let none = vec![0.0; DEMO_EVALUATORS.len()];
        let shares = self.influence.last().unwrap_or(&none);
        DemoStanding {
            hour: self.hour,
            harmful: self.harmful,
            jurybox: self.tallies[0].found,
            average: self.tallies[1].found,
            oracle: self.tallies[2].found,
            weights: DEMO_EVALUATORS.iter().map(|c| c.name).zip(shares.iter().copied()).collect(),
        }
    }

    /// The result as a self-contained page that ends with `closing`, which is HTML.
    pub fn to_html(&self, closing: &str) -> String {
        demo_page::html(self, closing)
    }

    /// The policy that Jurybox ranks by.
    pub fn policy(&self) -> &Spec {
        self.jury.spec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_tells_its_story_under_any_seed() {
        for seed in 0..5 {
            let mut demo = DemoSimulation::new(seed).unwrap();
            while demo.step().unwrap() {}
            let end = demo.standing();
            assert!(end.jurybox as f64 > 1.2 * end.average as f64, "{end:?}");
            assert!(end.jurybox as f64 > 0.95 * end.oracle as f64, "{end:?}");
            let share = |name: &str| end.weights.iter().find(|(n, _)| *n == name).unwrap().1;
            assert!(share("old classifier") < 0.0 && share("LLM judge") > 0.2, "{end:?}");
        }
    }
}

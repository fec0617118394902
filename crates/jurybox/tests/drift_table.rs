//! Prints how often steady worlds raise a drift alarm, and how many rounds an alarm takes after a
//! change.
//!
//! `cargo test --release -p jurybox --test drift_table -- --ignored --nocapture` prints the tables.
//! `WORLDS` in the environment is the number of worlds of each kind, by default 1000. Tables with
//! verdicts or changes use a fraction of it.
#![allow(clippy::print_stdout, clippy::allow_attributes, reason = "a table is printed")]

mod support;

use jurybox::{Jury, Scores};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::{judged, jury_of, normal};

const J: usize = 6;
const ITEMS: usize = 40;
const K: usize = 8;
/// Number of rounds of a steady world.
const LIFE: u64 = 1000;
/// Rounds between two checks for alarms in a steady world.
const LOOK: u64 = 16;

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// How scores come about.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Normal,
    /// Errors follow Student's t with two degrees of freedom, which has no finite variance.
    Heavy,
    /// Errors follow a Cauchy distribution.
    Cauchy,
    Missing,
    /// Scores are marks from 1 to 5.
    Marks,
    YesNo,
    /// Four rounds a day; at weekends the noise is half as large again, and rewards vary less.
    Weekly,
    /// A round an hour; the noise varies by 30% over the day.
    Daily,
    /// Rounds have 10 to 200 items.
    AnySize,
}

/// How verdicts come about.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    Number,
    Heavy,
    Yes,
    /// All verdicts of a round share a random offset.
    ByRound,
    /// An exponential function of the reward, which straight lines do not follow.
    Bent,
}

struct World {
    rng: ChaCha8Rng,
    kind: Kind,
    verdict: Verdict,
}

impl World {
    fn new(kind: Kind, verdict: Verdict, seed: u64) -> Self {
        World { rng: ChaCha8Rng::seed_from_u64(seed), kind, verdict }
    }

    /// Scores and verdicts of a round in which the third evaluator's noise is `noise` and the
    /// others' 0.5.
    fn round(&mut self, at: u64, noise: f64) -> (Vec<f64>, Vec<f64>) {
        let rng = &mut self.rng;
        let items = if self.kind == Kind::AnySize { 10 + rng.next_u64() as usize % 191 } else { ITEMS };
        let (quality, more) = match self.kind {
            Kind::Weekly if at % 28 >= 20 => (0.8, 1.5),
            Kind::Daily => (1.0, 1.0 + 0.3 * (at as f64 / 24.0 * std::f64::consts::TAU).sin()),
            _ => (1.0, 1.0),
        };
        let shared = 0.2 * normal(rng);
        let (mut table, mut verdicts) = (Vec::new(), Vec::new());
        for _ in 0..items {
            let reward = quality * normal(rng);
            for j in 0..J {
                let error = match self.kind {
                    Kind::Heavy => normal(rng) / (-uniform(rng).max(1e-300).ln()).sqrt(),
                    Kind::Cauchy => normal(rng) / normal(rng),
                    _ => normal(rng),
                };
                let deviation = if j == 2 { noise } else { 0.5 };
                let score = reward + more * deviation * error;
                table.push(match self.kind {
                    Kind::Missing if uniform(rng) < 0.3 => f64::NAN,
                    Kind::Marks => (score + 3.0).round().clamp(1.0, 5.0),
                    Kind::YesNo => f64::from(score > 0.7),
                    _ => score.clamp(-1e100, 1e100),
                });
            }
            verdicts.push(match self.verdict {
                Verdict::Number => reward + 0.5 * normal(rng),
                Verdict::Heavy => reward + (normal(rng) / normal(rng)).clamp(-1e6, 1e6),
                Verdict::Yes => f64::from(reward + 0.3 * normal(rng) > 1.0),
                Verdict::ByRound => reward + shared + 0.5 * normal(rng),
                Verdict::Bent => (1.5 * reward).exp() + 0.5 * normal(rng),
            });
        }
        (table, verdicts)
    }
}

/// Observes a round. With `labels` it also picks items and learns their verdicts.
fn play(
    jury: &mut Jury,
    rng: &mut ChaCha8Rng,
    at: u64,
    (table, verdicts): &(Vec<f64>, Vec<f64>),
    labels: bool,
) {
    let scores = Scores::new(table, J).unwrap();
    if !labels {
        return jury.observe(&scores, at).unwrap();
    }
    let picks = jury.round(&scores, at, K, rng).unwrap();
    jury.learn(&judged(&scores, verdicts, &picks), at).unwrap();
}

fn worlds() -> u64 {
    std::env::var("WORLDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}

/// The results of `one` for the numbers below `count`, computed on two threads.
fn each<T: Send>(count: u64, one: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let half = |first: u64| (first..count).step_by(2).map(&one).collect::<Vec<T>>();
    std::thread::scope(|scope| {
        let odd = scope.spawn(|| half(1));
        let mut all = half(0);
        all.extend(odd.join().unwrap());
        all
    })
}

/// Whether a steady world ever raises an alarm: on an evaluator's scores, and on rewards.
fn cries(kind: Kind, verdict: Verdict, labels: bool, seed: u64) -> [bool; 2] {
    let mut world = World::new(kind, verdict, seed);
    let mut jury = jury_of(&"adaptive(forget=false)".parse().unwrap(), J);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut cried = [false; 2];
    for at in 0..LIFE {
        play(&mut jury, &mut rng, at, &world.round(at, 0.5), labels);
        if at % LOOK == LOOK - 1 {
            for alarm in jury.fit().alarms() {
                cried[usize::from(alarm.evaluator.is_none())] = true;
            }
        }
    }
    cried
}

#[test]
#[ignore = "a table, for an hour"]
fn steady_worlds() {
    println!("worlds that ever raised an alarm in {LIFE} rounds, looked at every {LOOK}");
    for kind in [
        Kind::Normal,
        Kind::Heavy,
        Kind::Cauchy,
        Kind::Missing,
        Kind::Marks,
        Kind::YesNo,
        Kind::Weekly,
        Kind::Daily,
        Kind::AnySize,
    ] {
        let cried = each(worlds(), |seed| cries(kind, Verdict::Number, false, seed));
        println!("{kind:?}: {} of {}", cried.iter().filter(|cried| cried[0]).count(), cried.len());
    }
    for (kind, verdict) in [
        (Kind::Normal, Verdict::Number),
        (Kind::Normal, Verdict::Heavy),
        (Kind::Normal, Verdict::Yes),
        (Kind::Normal, Verdict::ByRound),
        (Kind::Normal, Verdict::Bent),
        (Kind::Missing, Verdict::Yes),
        (Kind::Marks, Verdict::Number),
        (Kind::YesNo, Verdict::Yes),
    ] {
        let cried = each(worlds() / 5, |seed| cries(kind, verdict, true, seed));
        let of = |at: usize| cried.iter().filter(|cried| cried[at]).count();
        println!(
            "{kind:?} scores, {verdict:?} verdicts: scores {}, rewards {} of {}",
            of(0),
            of(1),
            cried.len()
        );
    }
}

/// Rounds until an alarm after the third evaluator's noise has doubled (400 if there is none). Also
/// whether all alarms are about that evaluator and hold the change between `since` and `until`.
fn delay(kind: Kind, change: u64, unit: u64, seed: u64) -> (u64, bool) {
    let mut world = World::new(kind, Verdict::Number, seed);
    let mut jury = jury_of(&"adaptive".parse().unwrap(), J);
    for at in 0..change + 400 {
        let round = world.round(at, if at < change { 0.5 } else { 1.0 });
        jury.observe(&Scores::new(&round.0, J).unwrap(), unit * at).unwrap();
        if at < change || at % 2 == 0 {
            continue;
        }
        let fitted = jury.fit();
        if !fitted.alarms().is_empty() {
            let right = |alarm: &jurybox::Alarm| {
                alarm.evaluator == Some(2) && (alarm.since..=alarm.until).contains(&(unit * change))
            };
            return (at + 1 - change, fitted.alarms().iter().all(right));
        }
    }
    (400, false)
}

#[test]
#[ignore = "a table, for minutes"]
fn delays() {
    println!(
        "rounds until an alarm after the noise of one of {J} has doubled: median, most; brackets that hold it"
    );
    for kind in [Kind::Normal, Kind::Heavy, Kind::Missing, Kind::Marks] {
        for change in [200, 2000, 12_000] {
            for unit in [1, 3600] {
                let runs = (worlds() / 50).clamp(5, 20);
                let mut found = each(runs, |seed| delay(kind, change, unit, seed));
                found.sort_unstable();
                let right = found.iter().filter(|(_, right)| *right).count();
                let (median, most) = (found[found.len() / 2].0, found[found.len() - 1].0);
                println!("{kind:?}, after {change}, a round is {unit}: {median}, {most}; {right} of {runs}");
            }
        }
    }
}

/// What happens to each reward after the change.
type Turn = fn(f64) -> f64;

#[test]
#[ignore = "a table, for minutes"]
fn rewards_that_change() {
    println!(
        "rounds until an alarm after rewards have changed, {K} labels a round: median, most; brackets that hold it"
    );
    let turns: [(&str, Verdict, Turn); 4] = [
        ("half a unit lower", Verdict::Number, |r| r - 0.5),
        ("a unit lower", Verdict::Number, |r| r - 1.0),
        ("half as much", Verdict::Number, |r| r / 2.0),
        ("yes is no", Verdict::Yes, |r| 1.0 - r),
    ];
    for (name, verdict, turn) in turns {
        for change in [200, 2000] {
            let runs = (worlds() / 50).clamp(5, 20);
            let mut found = each(runs, |seed| {
                let mut world = World::new(Kind::Normal, verdict, seed);
                let mut jury = jury_of(&"adaptive".parse().unwrap(), J);
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                for at in 0..change + 400 {
                    let mut round = world.round(at, 0.5);
                    if at >= change {
                        round.1.iter_mut().for_each(|reward| *reward = turn(*reward));
                    }
                    play(&mut jury, &mut rng, at, &round, true);
                    if at >= change && at % 4 == 3 {
                        let fitted = jury.fit();
                        if let Some(alarm) = fitted.alarms().iter().find(|alarm| alarm.evaluator.is_none()) {
                            return (at + 1 - change, (alarm.since..=alarm.until).contains(&change));
                        }
                    }
                }
                (400, false)
            });
            found.sort_unstable();
            let right = found.iter().filter(|(_, right)| *right).count();
            let (median, most) = (found[found.len() / 2].0, found[found.len() - 1].0);
            println!("{name}, after {change}: {median}, {most}; {right} of {runs}");
        }
    }
}

//! Simulated queues with known rewards, to test how often the intervals contain the truth.

use super::*;
use jurybox::Evaluators;
use jurybox::toolbox::hash_number;

/// A simulated queue. Each round adds 200 items, and decides up to 40: random checks, then the best
/// scores.
struct World {
    /// For each half of the run: the random-check rate, and the share of reachable items with a
    /// reward.
    halves: [(f64, f64); 2],
    /// The most random checks that are decided first in a round.
    random_checks: usize,
    /// The share of items that nobody can claim. They have a reward five times as often.
    out_of_reach: f64,
    /// The reward of items that have one.
    worth: f64,
    /// The probability that a random check with a reward is erased after its decision.
    erased: f64,
}

const WORLD: World =
    World { halves: [(0.1, 0.1); 2], random_checks: 40, out_of_reach: 0.0, worth: 1.0, erased: 0.0 };
const WORLDS: u64 = 200;
/// A 95% interval misses 10 of 200 runs on average; 20 or more with probability 1 in 375 (binomial
/// distribution).
const FEWEST_HELD: usize = 181;

struct Dice(u64, u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.1 += 1;
        hash_number(self.0, self.1) as f64 / 2_f64.powi(64)
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.roll()).sum::<f64>() - 6.0
    }
}

struct Item {
    truth: f64,
    reach: bool,
    score: f64,
    seen: ReportItem,
}

/// The report after some rounds, the true total reward of undecided items, and the true mean
/// reward.
fn live(world: &World, seed: u64, rounds: usize) -> (QueueReport, f64, f64) {
    let mut dice = Dice(seed, 0);
    let mut items: Vec<Item> = Vec::new();
    for round in 0..rounds {
        let (rate, prevalence) = world.halves[round / 5];
        for _ in 0..200 {
            let reach = dice.roll() >= world.out_of_reach;
            let truth = if dice.roll() < if reach { prevalence } else { 5.0 * prevalence } {
                world.worth
            } else {
                0.0
            };
            let random_check = (dice.roll() < rate).then_some(rate);
            let score = dice.normal() + 2.0 * truth / world.worth;
            let seen = ReportItem { random_check, open: true, scores: vec![score], ..ReportItem::default() };
            items.push(Item { truth, reach, score, seen });
        }
        let open = |item: &Item| item.seen.open && item.reach;
        let random_checks =
            (0..items.len()).filter(|at| open(&items[*at]) && items[*at].seen.random_check.is_some());
        let mut given: Vec<usize> = random_checks.take(world.random_checks).collect();
        let mut rest: Vec<usize> =
            (0..items.len()).filter(|at| open(&items[*at]) && !given.contains(at)).collect();
        rest.sort_by(|a, b| items[*b].score.total_cmp(&items[*a].score));
        given.extend(rest.into_iter().take(40 - given.len()));
        for at in given {
            let item = &mut items[at];
            (item.seen.open, item.seen.asked, item.seen.worth) = (false, true, Some(item.truth));
            item.seen.erased =
                item.seen.random_check.is_some() && item.truth > 0.0 && dice.roll() < world.erased;
        }
    }
    let arrivals: Vec<(f64, u64, u64)> = (0..rounds)
        .map(|round| {
            let kept = items[round * 200..][..200].iter().filter(|item| !item.seen.erased).count();
            (world.halves[round / 5].0, 200, kept as u64)
        })
        .collect();
    let mut gathered = ReportBuilder::of(&arrivals);
    let (mut missed, mut all) = (0.0, 0.0);
    for item in items {
        all += item.truth;
        if !item.seen.erased && item.seen.worth.is_none() {
            missed += item.truth;
        }
        if let Some(worth) = item.seen.worth {
            gathered.scale.take_in(worth);
        }
        if item.seen.random_check.is_some() || item.seen.worth.is_some() {
            gathered.take(item.seen);
        }
    }
    (gathered.report(&Evaluators::new(["a"]).unwrap()), missed, all / (200.0 * rounds as f64))
}

/// The number of runs whose interval contains the missed reward; the same for the mean reward; and
/// the average width of the intervals for the missed reward.
fn held(world: &World) -> (usize, usize, f64) {
    let (mut missed_held, mut random_held, mut width) = (0, 0, 0.0);
    for seed in 0..WORLDS {
        let (found, missed, mean) = live(world, seed, 10);
        let (bound, random) = (found.missed.unwrap(), found.random.mean.unwrap());
        assert!(0.0 <= bound.low && bound.low <= bound.high, "{bound:?}");
        let within = bound.low <= bound.mean && bound.mean <= bound.high;
        let drawn_from_all = world.halves.iter().all(|(rate, _)| *rate > 0.0);
        let all = drawn_from_all && found.random_checks.decided == found.random_checks.items;
        assert!(if all { within } else { bound.mean.is_nan() && random.mean.is_nan() }, "{bound:?}");
        missed_held += usize::from(bound.low <= missed + 1e-9 && missed <= bound.high + 1e-9);
        random_held += usize::from(random.low <= mean && mean <= random.high);
        width += (bound.high - bound.low) / WORLDS as f64;
    }
    (missed_held, random_held, width)
}

#[test]
fn the_interval_holds_the_truth_whoever_took_the_drawn_items() {
    let worlds = [
        ("all drawn items are decided", WORLD),
        ("at most ten random checks are decided first", World { random_checks: 10, ..WORLD }),
        ("another share is drawn when less is bad", World { halves: [(0.05, 0.4), (0.4, 0.02)], ..WORLD }),
        ("the worst are out of reach", World { out_of_reach: 0.3, ..WORLD }),
        ("one in a hundred is worth a hundred", World { halves: [(0.05, 0.01); 2], worth: 100.0, ..WORLD }),
        ("half of the decided checks with a reward are erased", World { erased: 0.5, ..WORLD }),
        ("nothing is drawn in the second half", World { halves: [(0.1, 0.1), (0.0, 0.2)], ..WORLD }),
    ];
    for (what, world) in worlds {
        let (missed, random, _) = held(&world);
        assert!(missed >= FEWEST_HELD && random >= FEWEST_HELD, "{what}: {missed} and {random} of {WORLDS}");
    }
}

#[test]
fn the_interval_says_something_where_all_drawn_items_are_decided() {
    // 200 of 2,000 items are random checks, and 10% have reward 1. So 2 * 1.96 standard errors are
    // 0.083 of 1,800, or 150. An interval that holds at all times is about twice as wide.
    let (_, _, width) = held(&WORLD);
    assert!(width < 330.0, "{width}");
}

/// The intervals must contain the truth after every one of ten rounds, in enough of the runs.
#[test]
fn the_interval_holds_at_every_moment_at_once() {
    for (what, world) in [
        ("all drawn items are decided", WORLD),
        ("one in fifty is bad", World { halves: [(0.1, 0.02); 2], ..WORLD }),
        ("another share is drawn when less is bad", World { halves: [(0.05, 0.4), (0.4, 0.02)], ..WORLD }),
    ] {
        let mut held = 0;
        for seed in 0..WORLDS {
            let holds = |rounds: usize| {
                let (found, missed, mean) = live(&world, seed, rounds);
                let within = |interval: Option<Interval>, truth: f64| {
                    interval.is_none_or(|found| found.low <= truth + 1e-9 && truth <= found.high + 1e-9)
                };
                within(found.missed, missed) && within(found.random.mean, mean)
            };
            held += usize::from((1..=10).all(holds));
        }
        assert!(held >= FEWEST_HELD, "{what}: {held} of {WORLDS}");
    }
}

fn seen(random_check: Option<f64>, worth: Option<f64>) -> ReportItem {
    ReportItem {
        random_check,
        worth,
        open: worth.is_none(),
        asked: true,
        scores: vec![0.0],
        ..ReportItem::default()
    }
}

#[test]
fn there_is_no_single_number_for_what_nobody_has_looked_at() {
    let evaluators = Evaluators::new(["a"]).unwrap();
    let found = |arrivals: &[(f64, u64, u64)], taken: Vec<ReportItem>| {
        let mut gathered = ReportBuilder::of(arrivals);
        taken.into_iter().for_each(|seen| gathered.take(seen));
        let found = gathered.report(&evaluators);
        (found.random.mean.unwrap(), found.missed.unwrap())
    };
    let nine = || (0..9).map(|_| seen(Some(1.0), Some(0.0)));
    let closed = ReportItem { open: false, ..seen(Some(1.0), None) };
    let (random, missed) = found(&[(1.0, 10, 10)], nine().chain([closed]).collect());
    assert!(random.mean.is_nan() && missed.mean.is_nan(), "{random:?} {missed:?}");
    assert_eq!((missed.low, missed.high), (0.0, 1.0));
    let (random, missed) = found(&[(1.0, 9, 9), (0.0, 300, 300)], nine().collect());
    assert!(random.mean.is_nan() && missed.mean.is_nan(), "{random:?} {missed:?}");
    assert_eq!((missed.low, missed.high), (0.0, 300.0));
    let (random, missed) = found(&[(1.0, 9, 9)], nine().collect());
    assert_eq!((random.mean, missed.mean), (0.0, 0.0));
}

#[test]
fn nothing_is_said_where_nothing_was_drawn_or_decided() {
    let evaluators = Evaluators::new(["a"]).unwrap();
    let found = ReportBuilder::of(&[(0.0, 10, 10)]).report(&evaluators);
    assert!(found.missed.is_none() && found.unknown.unwrap().contains("random_check_rate"), "{found:?}");
    let mut gathered = ReportBuilder::of(&[(0.5, 10, 10)]);
    gathered.take(seen(Some(0.5), None));
    let found = gathered.report(&evaluators);
    assert!(found.missed.is_none() && found.unknown.unwrap().contains("decided"), "{found:?}");
    assert_eq!(
        found.random_checks,
        RandomCheckCounts { items: 1, waiting: 1, ..RandomCheckCounts::default() }
    );
}

#[test]
fn all_drawn_and_decided_leaves_nothing_to_be_missed() {
    let mut gathered = ReportBuilder::of(&[(1.0, 3, 3)]);
    (0..3).for_each(|_| gathered.take(seen(Some(1.0), Some(1.0))));
    let missed = gathered.report(&Evaluators::new(["a"]).unwrap()).missed.unwrap();
    assert_eq!((missed.low, missed.mean, missed.high), (0.0, 0.0, 0.0));
}

#[test]
fn while_drawn_items_wait_there_are_ends_and_no_single_number() {
    let found = |waits: bool| {
        let mut gathered = ReportBuilder::of(&[(0.1, 300, 300)]);
        (0..29).for_each(|at| gathered.take(seen(Some(0.1), Some(f64::from(u8::from(at < 3))))));
        gathered.take(seen(Some(0.1), (!waits).then_some(0.0)));
        let found = gathered.report(&Evaluators::new(["a"]).unwrap());
        (found.missed.unwrap(), found.random.mean.unwrap())
    };
    let (missed, random) = found(false);
    assert!((missed.mean - 27.0).abs() < 1e-9 && (random.mean - 0.1).abs() < 1e-9, "{missed:?} {random:?}");
    let (later, random) = found(true);
    assert!(later.mean.is_nan() && random.mean.is_nan(), "{later:?} {random:?}");
    assert!(later.low <= missed.low && later.high > missed.high && random.high < 1.0, "{later:?} {random:?}");
}

#[test]
fn the_scale_is_what_was_seen() {
    // If one item may have reward 100, then 96 random checks with reward 0 say little.
    let mut gathered = ReportBuilder::of(&[(0.05, 2000, 2000)]);
    (0..96).for_each(|_| gathered.take(seen(Some(0.05), Some(0.0))));
    gathered.take(seen(None, Some(100.0)));
    gathered.scale.take_in(100.0);
    let found = gathered.report(&Evaluators::new(["a"]).unwrap());
    assert_eq!(found.scale, RewardBounds { low: 0.0, high: 100.0 });
    let missed = found.missed.unwrap();
    assert!(missed.low == 0.0 && missed.high > 9000.0 && missed.high < 10_000.0, "{missed:?}");
}

/// Of 100 random checks, the ten with the highest scores have reward 1. So have three quarters of
/// 360 picked items, and all of 40 unclaimed ones.
#[test]
fn picks_are_held_against_drawn_ones() {
    let mut gathered = ReportBuilder::of(&[(0.1, 1000, 1000)]);
    for at in 0..100 {
        let scores = vec![f64::from(at)];
        gathered.take(ReportItem { scores, ..seen(Some(0.1), Some(f64::from(u8::from(at >= 90)))) });
    }
    (0..360).for_each(|at| gathered.take(seen(None, Some(f64::from(u8::from(at % 4 > 0))))));
    (0..40).for_each(|_| gathered.take(ReportItem { asked: false, ..seen(None, Some(1.0)) }));
    let found = gathered.report(&Evaluators::new(["a"]).unwrap());
    assert_eq!((found.reviewed, found.found), (500, 320.0));
    assert_eq!((found.random.items, found.random.mean.unwrap().mean), (100, 0.1));
    assert_eq!((found.picked.items, found.picked.mean.unwrap().mean), (360, 0.75));
    assert_eq!((found.unclaimed.items, found.unclaimed.mean.unwrap().mean), (40, 1.0));
    // 360 of 900 others were picked, so the best 40 of the 100 random checks count: they include
    // all ten with a reward.
    assert_eq!((found.plain_mean.items, found.plain_mean.mean.unwrap().mean), (40, 0.25));
}

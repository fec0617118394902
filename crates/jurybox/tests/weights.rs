//! Tests the intervals of weights in simulated worlds: as often as stated, they hold the
//! least-squares weights of the judged items' expected rewards.
//!
//! The table takes minutes: `cargo test --release -p jurybox --test weights -- --ignored
//! --nocapture`.

mod support;

use jurybox::options::Fraction;
use jurybox::toolbox::student_quantile;
use jurybox::{Example, Fitted, Interval};
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::{jury_of, normal};

/// Items of a round.
const ITEMS: usize = 60;
/// Items of a round that are judged.
const K: usize = 5;

/// Rewards and their probabilities; an empty list means standard normal rewards.
type Levels = &'static [(f64, f64)];
const NORMAL: Levels = &[];
const MARKS: Levels = &[(1.0, 0.35), (2.0, 0.25), (3.0, 0.2), (4.0, 0.12), (5.0, 0.08)];
const YES_15: Levels = &[(0.0, 0.85), (1.0, 0.15)];
const YES_5: Levels = &[(0.0, 0.95), (1.0, 0.05)];

/// A simulated world: each score is a gain times the reward, plus noise. The first evaluator is
/// strong and the last useless.
struct World {
    levels: Levels,
    gains: &'static [f64],
    noise: &'static [f64],
    /// Whether the second evaluator copies the first, up to a little noise.
    copied: bool,
}

const THREE: (&[f64], &[f64]) = (&[1.0, 0.6, 0.0], &[0.6, 0.8, 0.7]);
const TEN: (&[f64], &[f64]) = (
    &[1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.0, 0.0, 0.0],
    &[0.6, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.7, 0.7, 0.7],
);

/// Which items of a round are judged: random ones, the jury's picks, or picks of which one is drawn
/// at random.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Judged {
    AtRandom,
    Best,
    Audited,
}

impl World {
    fn new(levels: Levels, (gains, noise): (&'static [f64], &'static [f64]), copied: bool) -> Self {
        World { levels, gains, noise, copied }
    }

    /// An item: its reward and its scores.
    fn item(&self, rng: &mut ChaCha8Rng) -> (f64, Vec<f64>) {
        let mut left: f64 = rng.random();
        let level = self.levels.iter().find(|(_, share)| {
            left -= share;
            left < 0.0
        });
        let reward = match self.levels.last() {
            Some(last) => level.unwrap_or(last).0,
            None => normal(rng),
        };
        let scores =
            self.gains.iter().zip(self.noise).map(|(gain, noise)| gain * reward + noise * normal(rng));
        let mut scores: Vec<f64> = scores.collect();
        if self.copied {
            scores[1] = scores[0] + 0.1 * normal(rng);
        }
        (reward, scores)
    }

    /// The expected reward of an item with these scores.
    fn expected(&self, scores: &[f64]) -> f64 {
        let heard = || (0..scores.len()).filter(|&j| !(self.copied && j == 1));
        if self.levels.is_empty() {
            let (mut precision, mut sum) = (1.0, 0.0);
            for j in heard() {
                let share = self.gains[j] / (self.noise[j] * self.noise[j]);
                (precision, sum) = (precision + share * self.gains[j], sum + share * scores[j]);
            }
            return sum / precision;
        }
        let off = |value: f64, j: usize| (scores[j] - self.gains[j] * value) / self.noise[j];
        let odds = |&(value, share): &(f64, f64)| {
            share * (-0.5 * heard().map(|j| off(value, j).powi(2)).sum::<f64>()).exp()
        };
        let total: f64 = self.levels.iter().map(odds).sum();
        self.levels.iter().map(|level| level.0 * odds(level)).sum::<f64>() / total
    }
}

/// Items that were judged: their scores, their rewards, and the expected rewards given the scores.
#[derive(Default)]
struct Items {
    scores: Vec<f64>,
    rewards: Vec<f64>,
    expected: Vec<f64>,
}

impl Items {
    fn push(&mut self, world: &World, (reward, scores): &(f64, Vec<f64>)) {
        self.scores.extend(scores);
        self.rewards.push(*reward);
        self.expected.push(world.expected(scores));
    }

    fn drawn(world: &World, count: usize, rng: &mut ChaCha8Rng) -> Self {
        let mut items = Items::default();
        (0..count).for_each(|_| items.push(world, &world.item(rng)));
        items
    }

    /// Least-squares weights, and the half-widths of their textbook 95% intervals (Student's t).
    /// None if the scores are collinear.
    fn least_squares(&self, rewards: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
        let count = rewards.len();
        let width = self.scores.len() / count;
        let mut x = DMatrix::from_row_slice(count, width, &self.scores);
        x.column_iter_mut().for_each(|mut column| column.add_scalar_mut(-column.mean()));
        let mut y = DVector::from_column_slice(rewards);
        y.add_scalar_mut(-y.mean());
        let inverse = (x.transpose() * &x).try_inverse()?;
        let weights = &inverse * x.transpose() * &y;
        let freedom = count as f64 - width as f64 - 1.0;
        let noise = (&y - &x * &weights).norm_squared() / freedom;
        let reach = if freedom < 1.0 { f64::INFINITY } else { student_quantile(0.975, freedom) };
        let reaches = inverse.diagonal().iter().map(|of| reach * (noise * of).sqrt()).collect();
        Some((weights.iter().copied().collect(), reaches))
    }
}

/// Plays rounds until `verdicts` verdicts are learnt. Returns the fit and the items judged.
fn judged(world: &World, spec: &str, how: Judged, verdicts: usize, rng: &mut ChaCha8Rng) -> (Fitted, Items) {
    let mut jury = jury_of(&spec.parse().unwrap(), world.gains.len());
    let mut known = Items::default();
    for round in 0..(verdicts / K) as u64 {
        let items: Vec<(f64, Vec<f64>)> = (0..ITEMS).map(|_| world.item(rng)).collect();
        let table: Vec<f64> = items.iter().flat_map(|(_, scores)| scores).copied().collect();
        let view = jury.scores(&table).unwrap();
        let picks: Vec<usize> = if how == Judged::AtRandom {
            jury.observe(&view, round).unwrap();
            (0..K).collect()
        } else {
            jury.round(&view, round, K, rng).unwrap().iter().map(|pick| pick.item).collect()
        };
        for item in picks.into_iter().map(|at| &items[at]) {
            jury.learn(&[Example { scores: &item.1, reward: item.0, receipt: None }], round).unwrap();
            known.push(world, item);
        }
    }
    (jury.fit(), known)
}

fn intervals(fitted: &Fitted, level: f64) -> Vec<Interval> {
    fitted.weight_intervals(Fraction::try_from(level).unwrap()).unwrap()
}

fn is_bounded(interval: &Interval) -> bool {
    interval.low.is_finite() && interval.high.is_finite()
}

/// How the intervals of one evaluator's weight fared over worlds.
#[derive(Default, Clone)]
struct Fared {
    worlds: f64,
    /// Number of intervals, at 90% and at 95%, that hold the least-squares weight of the expected
    /// rewards of the judged items. If the scores are collinear, all intervals count.
    held: [f64; 2],
    /// Number of intervals that hold the least-squares weight of 50,000 random items.
    held_all: [f64; 2],
    unbounded: f64,
    /// Widths of the bounded 95% intervals.
    widths: Vec<f64>,
    /// Widths of the textbook's intervals for the same items.
    same_items: Vec<f64>,
    /// Widths of the textbook's intervals for as many random items.
    at_random: Vec<f64>,
}

fn fared(world: &World, how: Judged, verdicts: usize, worlds: u64) -> Vec<Fared> {
    let mut fared = vec![Fared::default(); world.gains.len()];
    let mut rng = ChaCha8Rng::seed_from_u64(1_000_000);
    let all = Items::drawn(world, 50_000, &mut rng);
    let of_all = all.least_squares(&all.expected).unwrap().0;
    let spec = if how == Judged::Audited { "adaptive(audit=1)" } else { "adaptive" };
    for seed in 0..worlds {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (fitted, items) = judged(world, spec, how, verdicts, &mut rng);
        let at_levels = [intervals(&fitted, 0.9), intervals(&fitted, 0.95)];
        let truth = items.least_squares(&items.expected).map(|(weights, _)| weights);
        let same_items = items.least_squares(&items.rewards).map(|(_, reaches)| reaches);
        let others = Items::drawn(world, verdicts, &mut rng);
        let at_random = others.least_squares(&others.rewards).map(|(_, reaches)| reaches);
        for (j, one) in fared.iter_mut().enumerate() {
            one.worlds += 1.0;
            for (at, of_level) in at_levels.iter().enumerate() {
                let interval = &of_level[j];
                let holds = |x: f64| f64::from(u8::from(interval.low <= x && x <= interval.high));
                one.held[at] += truth.as_ref().map_or(1.0, |truth| holds(truth[j]));
                one.held_all[at] += holds(of_all[j]);
            }
            let wide = &at_levels[1][j];
            if is_bounded(wide) {
                one.widths.push(wide.high - wide.low);
                one.same_items.extend(same_items.as_ref().map(|reaches| 2.0 * reaches[j]));
            } else {
                one.unbounded += 1.0;
            }
            one.at_random.extend(at_random.as_ref().map(|reaches| 2.0 * reaches[j]));
        }
    }
    fared
}

fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// In 100 worlds 90 and 95 intervals should hold; three standard deviations fewer are 81 and 88.
/// Only the jury's picks are judged.
#[test]
fn intervals_hold_what_endless_verdicts_would_give() {
    for (levels, copied) in [(NORMAL, false), (NORMAL, true), (MARKS, false), (YES_15, false), (YES_5, false)]
    {
        let world = World::new(levels, THREE, copied);
        for verdicts in [10, 40] {
            for (j, one) in fared(&world, Judged::Best, verdicts, 100).iter().enumerate() {
                let about = format!("{} levels, {verdicts} verdicts, evaluator {j}", levels.len());
                let [narrow, wide] = one.held;
                assert!(narrow >= 81.0 && wide >= 88.0, "{about}: {narrow} {wide} of 100");
                // With few labels the intervals may be wider.
                let most = if verdicts == 10 { 3.0 } else { 1.6 };
                let wider = median(&one.widths) / median(&one.same_items);
                assert!(wider < most, "{about}: {wider} times as wide as the textbook's");
            }
        }
    }
}

#[test]
fn intervals_hold_it_where_most_labels_are_known_by_their_moments_alone() {
    let world = World::new(YES_15, THREE, false);
    let mut held = [0; 3];
    for seed in 0..100 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (fitted, items) = judged(&world, "adaptive(sample=64)", Judged::Audited, 320, &mut rng);
        let truth = items.least_squares(&items.expected).unwrap().0;
        for ((held, one), x) in held.iter_mut().zip(intervals(&fitted, 0.9)).zip(truth) {
            *held += i32::from(one.low <= x && x <= one.high);
        }
    }
    assert!(held.iter().all(|&held| held >= 81), "{held:?} of 100");
}

#[test]
fn the_weight_shown_is_within_its_interval() {
    let world = World::new(YES_5, TEN, false);
    for seed in 0..20 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (fitted, _) = judged(&world, "adaptive", Judged::Best, 60, &mut rng);
        for (one, &weight) in intervals(&fitted, 0.5).iter().zip(fitted.weights().unwrap()) {
            assert!(one.mean == weight && one.low <= weight && weight <= one.high, "{one:?} {weight}");
        }
    }
}

/// 90% intervals of weights after 60 items, of which `labels` are labelled. `of` gives an item's
/// scores and reward by its number.
fn after(labels: u32, of: impl Fn(f64) -> ([f64; 3], f64)) -> Vec<Interval> {
    let mut jury = jury_of(&"adaptive".parse().unwrap(), 3);
    let rows: Vec<([f64; 3], f64)> = (0..60).map(|i| of(f64::from(i))).collect();
    let table: Vec<f64> = rows.iter().flat_map(|(scores, _)| *scores).collect();
    let view = jury.scores(&table).unwrap();
    jury.observe(&view, 0).unwrap();
    for (scores, reward) in rows.iter().take(labels as usize) {
        jury.learn(&[Example { scores, reward: *reward, receipt: None }], 0).unwrap();
    }
    intervals(&jury.fit(), 0.9)
}

#[test]
fn what_the_labels_cannot_say_is_unbounded() {
    let bounded = |all: &[Interval]| all.iter().map(is_bounded).collect::<Vec<_>>();
    let scores = |i: f64| [(7.0 * i * i) % 59.0, (11.0 * i * i * i) % 59.0, (23.0 * i) % 59.0];
    let some = |i: f64| (scores(i), (3.0 * i) % 7.0);
    // No labels; as many as the three weights and the intercept; and one more.
    assert_eq!(bounded(&after(0, some)), [false; 3]);
    assert_eq!(bounded(&after(4, some)), [false; 3]);
    assert_eq!(bounded(&after(5, some)), [true; 3]);
    // Rewards that are all equal.
    assert_eq!(bounded(&after(60, |i| (scores(i), 0.0))), [false; 3]);
    assert_eq!(bounded(&after(60, |i| (scores(i), 0.1))), [false; 3]);
    // Rewards that follow exactly from the scores: the interval is narrow.
    let exact = after(60, |i| (scores(i), 2.0 * scores(i)[0]));
    assert!((exact[0].high - 2.0).abs() < 1e-4 && exact[0].low > 1.9, "{exact:?}");
    // Two evaluators that are linear functions of each other, and a constant one.
    let copies = |i: f64| ([scores(i)[0], scores(i)[1], 3.0 - 2.0 * scores(i)[1]], some(i).1);
    assert_eq!(bounded(&after(60, copies)), [true, false, false]);
    assert_eq!(bounded(&after(60, |i| ([scores(i)[0], scores(i)[1], 4.1], some(i).1))), [true, true, false]);
}

#[test]
#[ignore = "the whole table takes minutes"]
#[expect(clippy::print_stdout, reason = "the table")]
fn table() {
    let worlds = 100;
    println!(
        "| judged | rewards | evaluators | verdicts | evaluator | held 90 / 95 % | of all items | unbounded | width: same items | at random |"
    );
    for (how, copied, (levels, rewards)) in
        [Judged::AtRandom, Judged::Best, Judged::Audited].iter().flat_map(|how| {
            let kinds = [(NORMAL, "normal"), (MARKS, "marks 1-5"), (YES_15, "yes 15 %"), (YES_5, "yes 5 %")];
            let plain = kinds.map(|kind| (how, false, kind));
            plain.into_iter().chain([(how, true, kinds[0]), (how, true, kinds[2])])
        })
    {
        for (many, shown) in [(THREE, [0, 1, 2]), (TEN, [0, if copied { 1 } else { 4 }, 9])] {
            let world = World::new(levels, many, copied);
            for verdicts in [10, 40, 160, 480] {
                let fared = fared(&world, *how, verdicts, worlds);
                for (j, who) in
                    shown.into_iter().zip(["strong", if copied { "copy" } else { "weak" }, "useless"])
                {
                    let one = &fared[j];
                    let share = |count: f64| count / one.worlds;
                    println!(
                        "| {how:?} | {rewards} | {} | {verdicts} | {who} | {:.2} {:.2} | {:.2} {:.2} | {:.2} | {:.2} | {:.2} |",
                        world.gains.len(),
                        share(one.held[0]),
                        share(one.held[1]),
                        share(one.held_all[0]),
                        share(one.held_all[1]),
                        share(one.unbounded),
                        median(&one.widths) / median(&one.same_items),
                        median(&one.widths) / median(&one.at_random),
                    );
                }
            }
        }
    }
}

//! Tests what fits report about reviewers: intervals of severity hold the truth where one reviewer
//! differs, and few reviewers are accused where all are alike.
//!
//! The tables take some minutes: `cargo test --release -p jurybox --test standings -- --ignored
//! --nocapture`.

mod support;

use jurybox::options::Fraction;
use jurybox::{Example, Interval, Jury, Reviewer, Standing};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::{jury_of, normal};

/// Standard deviations of the evaluators' noise. A score is an item's worth plus noise.
const NOISE: [f64; 4] = [0.6, 1.0, 2.0, 30.0];
/// Items of a round.
const ITEMS: usize = 40;
/// Items of a round that are judged.
const K: usize = 5;
/// Standard deviation of the part of an item's worth that no score sees.
const OWN: f64 = 0.3;
/// Standard deviation of the noise in a careful reviewer's verdicts.
const CAREFUL: f64 = 0.4;
/// What a severe reviewer adds to each verdict.
const SEVERE: f64 = -0.8;
/// Standard deviation of the noise in a careless reviewer's verdicts.
const CARELESS: f64 = 1.6;

/// How the first reviewer differs from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
enum First {
    /// Not at all.
    Alike,
    Severe,
    SevereAndNoisy,
    /// Severe, and judges the pick of each round that the third evaluator scores highest.
    SevereOnSome,
    Noisy,
}

impl First {
    fn severity(self) -> f64 {
        if matches!(self, First::Alike | First::Noisy) { 0.0 } else { SEVERE }
    }

    fn noise(self) -> f64 {
        if matches!(self, First::Noisy | First::SevereAndNoisy) { CARELESS } else { CAREFUL }
    }

    /// The residual standard deviation of the first reviewer's verdicts given all scores, divided
    /// by that of a careful reviewer.
    fn ratio(self) -> f64 {
        let precision: f64 = NOISE.iter().map(|noise| noise.powi(-2)).sum();
        let unseen = OWN * OWN + 1.0 / (1.0 + precision);
        (unseen + self.noise().powi(2)).sqrt() / (unseen + CAREFUL * CAREFUL).sqrt()
    }
}

fn name(reviewer: usize) -> Reviewer {
    Reviewer::named(&format!("reviewer {reviewer}"))
}

fn standings(jury: &Jury, level: f64) -> Vec<Standing> {
    jury.fit().reviewers(Fraction::try_from(level).unwrap())
}

fn holds(interval: &Interval, x: f64) -> bool {
    interval.low <= x && x <= interval.high
}

/// The standing of the first reviewer after `labels` labels of the jury's own picks, if there is
/// one.
fn first_after(first: First, reviewers: usize, labels: usize, seed: u64) -> Option<Standing> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut jury = jury_of(&"adaptive".parse().unwrap(), NOISE.len());
    for round in 0..(labels / K) as u64 {
        let items: Vec<(f64, [f64; 4])> = (0..ITEMS)
            .map(|_| {
                let worth = normal(&mut rng);
                (worth + OWN * normal(&mut rng), NOISE.map(|noise| worth + noise * normal(&mut rng)))
            })
            .collect();
        let table: Vec<f64> = items.iter().flat_map(|(_, scores)| *scores).collect();
        let scores = jury.scores(&table).unwrap();
        let mut picks = jury.round(&scores, round, K, &mut rng).unwrap();
        if first == First::SevereOnSome {
            picks.sort_by(|a, b| items[b.item].1[2].total_cmp(&items[a.item].1[2]));
        }
        for (at, pick) in picks.iter().enumerate() {
            let (worth, scores) = &items[pick.item];
            let who = match (first, at) {
                (First::SevereOnSome, 0) => 0,
                (First::SevereOnSome, _) => rng.random_range(1..reviewers),
                _ => rng.random_range(0..reviewers),
            };
            let (severity, noise) = if who == 0 { (first.severity(), first.noise()) } else { (0.0, CAREFUL) };
            let reward = worth + severity + noise * normal(&mut rng);
            let example = Example { scores, reward, receipt: Some(&pick.receipt) };
            jury.learn_by(&[example], &[Some(name(who))], round).unwrap();
        }
    }
    standings(&jury, 0.9).into_iter().find(|standing| standing.reviewer == Some(name(0)))
}

/// How verdicts are expressed where all reviewers are alike.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdicts {
    Numbers,
    /// From 0 to 4, mostly 0.
    Marks,
    /// Yes or no; the number is the percentage of yes: 2, 10 or 50.
    Yes(u32),
}

impl Verdicts {
    fn of(self, seen: f64) -> f64 {
        let deviation = 1.0 + OWN * OWN + CAREFUL * CAREFUL;
        let seen = seen / deviation.sqrt();
        match self {
            Verdicts::Numbers => seen,
            Verdicts::Marks => [1.28, 1.65, 2.05, 2.33].iter().filter(|&&above| seen > above).count() as f64,
            Verdicts::Yes(rate) => {
                let above = match rate {
                    2 => 2.054,
                    10 => 1.282,
                    _ => 0.0,
                };
                f64::from(u8::from(seen > above))
            }
        }
    }
}

/// Standings of reviewers who are all alike; each judges `each` random items.
fn alike(verdicts: Verdicts, reviewers: usize, each: usize, seed: u64) -> Vec<Standing> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut jury = jury_of(&"adaptive".parse().unwrap(), NOISE.len());
    let (mut table, mut rewards, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..reviewers * each {
        let worth = normal(&mut rng);
        table.extend(NOISE.map(|noise| worth + noise * normal(&mut rng)));
        rewards.push(verdicts.of(worth + OWN * normal(&mut rng) + CAREFUL * normal(&mut rng)));
        names.push(Some(name(at % reviewers)));
    }
    jury.observe(&jury.scores(&table).unwrap(), 0).unwrap();
    let examples = table.chunks_exact(NOISE.len()).zip(&rewards);
    let examples: Vec<Example<'_>> =
        examples.map(|(scores, &reward)| Example { scores, reward, receipt: None }).collect();
    jury.learn_by(&examples, &names, 0).unwrap();
    standings(&jury, 0.95)
}

fn env<T: std::str::FromStr>(name: &str, or: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(or)
}

/// In 40 worlds 36 intervals of 90% should hold the truth; three standard deviations fewer are 30.
#[test]
fn intervals_of_severity_hold_where_somebody_is_severe() {
    for (first, reviewers) in [(First::Severe, 2), (First::SevereAndNoisy, 5), (First::SevereOnSome, 5)] {
        let told = (0..40).filter_map(|seed| first_after(first, reviewers, 100, seed));
        let held = told.filter(|one| holds(&one.severity, first.severity())).count();
        assert!(held >= 30, "{first:?}, {reviewers} reviewers: {held} of 40");
    }
}

#[test]
fn who_is_like_all_others_is_not_told_apart() {
    for verdicts in
        [Verdicts::Numbers, Verdicts::Marks, Verdicts::Yes(50), Verdicts::Yes(10), Verdicts::Yes(2)]
    {
        for (reviewers, each) in [(5, 60), (30, 10), (100, 10), (1000, 2)] {
            let all: Vec<Standing> = (0..4).flat_map(|seed| alike(verdicts, reviewers, each, seed)).collect();
            let share = |of: &dyn Fn(&Standing) -> bool| {
                all.iter().filter(|one| of(one)).count() as f64 / all.len().max(1) as f64
            };
            let severe = share(&|one| !holds(&one.severity, 0.0));
            let light = share(&|one| one.weight < 0.5);
            // With 5 reviewers in 4 worlds, a tenth of the standings is two.
            assert!(severe <= 0.1 && light <= 0.1, "{verdicts:?} {reviewers} {each}: {severe} {light}");
        }
    }
}

#[test]
#[ignore = "a table, which takes minutes"]
#[expect(clippy::print_stdout, reason = "the table")]
fn table_of_where_the_first_differs() {
    let worlds: u64 = env("WORLDS", 100);
    println!(
        "first, reviewers, labels: of 90% intervals of severity so many hold it | mean error | width | endless | noise so many | told | true | narrow"
    );
    for first in [First::Alike, First::Severe, First::SevereAndNoisy, First::SevereOnSome, First::Noisy] {
        for (reviewers, labels) in [(2, 100), (5, 100), (5, 400), (5, 1000)] {
            let labels: usize = labels;
            if labels > env("LABELS", 1000) {
                continue;
            }
            let all: Vec<Standing> =
                (0..worlds).filter_map(|seed| first_after(first, reviewers, labels, seed)).collect();
            let share = |of: &dyn Fn(&Standing) -> bool| {
                all.iter().filter(|one| of(one)).count() as f64 / all.len() as f64
            };
            let mean = |of: &dyn Fn(&Standing) -> f64| {
                let of: Vec<f64> = all.iter().map(of).filter(|x| x.is_finite()).collect();
                of.iter().sum::<f64>() / of.len() as f64
            };
            // Of two reviewers, noise is relative to the one with more labels.
            let of_middle = |one: &Standing| {
                if reviewers == 2 && 2 * one.labels as usize >= labels { 1.0 } else { first.ratio() }
            };
            println!(
                "{first:?} {reviewers} {labels}: {:.3} | {:+.3} | {:.2} | {:.2} | {:.3} | {:.2} | {:.2} | {:.2} to {:.2} (w {:.2})",
                share(&|one| holds(&one.severity, first.severity())),
                mean(&|one| one.severity.mean - first.severity()),
                mean(&|one| one.severity.high - one.severity.low),
                share(&|one| !one.severity.half_width().is_finite()),
                share(&|one| holds(&one.noise, of_middle(one))),
                mean(&|one| one.noise.mean),
                first.ratio(),
                mean(&|one| one.noise.low),
                mean(&|one| one.noise.high),
                mean(&|one| one.weight),
            );
        }
    }
}

#[test]
#[ignore = "a table, which takes minutes"]
#[expect(clippy::print_stdout, reason = "the table")]
fn table_of_where_nobody_differs() {
    let worlds: usize = env("WORLDS", 20);
    println!(
        "verdicts, reviewers, each: of 95% intervals of severity so many in 100 exclude 0 | of noise 1 | weights below .5 | below .9 | worlds told apart"
    );
    for verdicts in
        [Verdicts::Numbers, Verdicts::Marks, Verdicts::Yes(50), Verdicts::Yes(10), Verdicts::Yes(2)]
    {
        for (reviewers, each) in [
            (2, 50),
            (2, 300),
            (5, 20),
            (5, 100),
            (10, 6),
            (30, 10),
            (100, 3),
            (100, 10),
            (160, 6),
            (1000, 1),
            (1000, 6),
        ] {
            let (mut count, mut severe, mut noisy, mut half, mut less, mut apart) = (0, 0, 0, 0, 0, 0);
            let runs = if reviewers > 100 { worlds.div_ceil(4) } else { worlds };
            for seed in 0..runs as u64 {
                let all = alike(verdicts, reviewers, each, seed);
                count += all.len();
                severe += all.iter().filter(|one| !holds(&one.severity, 0.0)).count();
                noisy += all.iter().filter(|one| !holds(&one.noise, 1.0)).count();
                half += all.iter().filter(|one| one.weight < 0.5).count();
                less += all.iter().filter(|one| one.weight < 0.9).count();
                apart += usize::from(all.iter().any(|one| one.weight != 1.0));
            }
            let share = |of: usize| 100.0 * of as f64 / count.max(1) as f64;
            println!(
                "{verdicts:?} {reviewers} {each}: {:.1} | {:.1} | {:.1} | {:.1} | {apart} of {runs} ({count})",
                share(severe),
                share(noisy),
                share(half),
                share(less)
            );
        }
    }
}

/// Scores and verdicts are yes or no, so that many verdicts are equal. One of three reviewers is
/// lenient, which must be found.
#[test]
fn who_differs_is_told_where_items_are_equal_too() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut jury = jury_of(&"adaptive".parse().unwrap(), 2);
    let mut yes = |share: f64| f64::from(u8::from(rng.random::<f64>() < share));
    let (mut rows, mut rewards, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..1000 {
        let row = [yes(0.4), yes(0.4)];
        let lenient = if at % 3 == 0 { 0.25 } else { 0.0 };
        rewards.push(yes(0.1 + 0.2 * (row[0] + row[1]) + lenient));
        rows.push(row);
        names.push(Some(name(at % 3)));
    }
    jury.observe(&jury.scores(rows.as_flattened()).unwrap(), 0).unwrap();
    let examples: Vec<Example<'_>> = rows
        .iter()
        .zip(&rewards)
        .map(|(row, &reward)| Example { scores: row, reward, receipt: None })
        .collect();
    jury.learn_by(&examples, &names, 0).unwrap();
    let told = standings(&jury, 0.9);
    let severity = |of: usize| {
        told.iter()
            .find(|standing| standing.reviewer == Some(name(of)))
            .map(|standing| standing.severity.mean)
    };
    let (lenient, other) = (severity(0).unwrap(), severity(1).unwrap());
    assert!(lenient > 0.15 && other < 0.0, "{told:?}");
}

//! Replays of real data sets from a directory of CSV files; missing files are skipped.
//!
//! Each set is one pool in which no row is reviewed twice. A step has ten picks, a run has 200
//! labels, and each run has another random 80% of the rows. Figures are best shares, `(reward -
//! uniform) / (best possible - uniform)`.

use jurybox::{Spec, policies};
use jurybox_files::{Roles, Table};
use jurybox_lab::{Protocol, ReplayLine, ReplayOptions, ReplayOutcome, replay};
use std::error::Error;
use std::path::{Path, PathBuf};

/// A data set: a file with its columns.
struct RealSet {
    name: String,
    path: PathBuf,
    roles: Roles,
}

/// The evaluators of the translation set.
const METRICS: &[&str] = &[
    "SacreBLEU_bleu",
    "SacreBLEU_chrf",
    "SacreBLEU_ter_neg",
    "CharacTER_neg",
    "BERT_SCORE",
    "Prism_ref",
    "Prism_src",
    "BLEURT_default",
    "BLEURT_large",
    "COMET",
    "COMET_src",
    "ESIM_",
];
/// Language pairs of the translation set; each is replayed by itself.
const PAIRS: &[&str] = &[
    "ENU-IND", "ENU-ITA", "ENU-DEU", "ARA-ENU", "DEU-ENU", "ENU-ESN", "RUS-ENU", "ENU-CSY", "ESN-ENU",
    "DAN-ENU", "ENU-DAN", "ENU-SVE",
];

/// Policies and references with a column each.
const SHOWN: [&str; 5] = ["z-mean", "average", "esag", "lin-ucb", "ridge"];

pub(crate) fn show(directory: &Path, runs: usize, only: &str) {
    let aside = tempfile::tempdir().expect("a folder for parts of files");
    println!("real data, {runs} runs: best share after 200 labels, each row looked at at most once");
    print!("{:26} {:>15}", "", "adaptive");
    SHOWN.iter().for_each(|name| print!(" {name:>9}"));
    println!("   adaptive minus the best of all others but hindsight");
    let mut least = f64::INFINITY;
    for set in sets(directory, aside.path()).iter().filter(|set| set.name.contains(only)) {
        match played(set, runs) {
            Err(reason) => println!("skipped {}: {reason}", set.name),
            Ok(outcome) => least = least.min(row(&set.name, &outcome)),
        }
    }
    println!("the least of adaptive: {least:.3}\n");
}

fn played(set: &RealSet, runs: usize) -> Result<ReplayOutcome, Box<dyn Error>> {
    if !set.path.exists() {
        return Err("not in that directory".into());
    }
    let table = Table::open(std::slice::from_ref(&set.path), &set.roles, false)?;
    // The oracle needs the truth; uniform and average are references already.
    let others = policies()
        .iter()
        .map(|entry| entry.name)
        .filter(|name| !["adaptive", "oracle", "uniform", "average"].contains(name));
    let options = ReplayOptions {
        protocol: Protocol::Pool { budget: 200 },
        runs,
        policies: std::iter::once("adaptive").chain(others).map(Spec::new).collect(),
        ..ReplayOptions::default()
    };
    Ok(replay(&table, &options)?)
}

/// Prints a set's line. Returns the best share of `adaptive`.
fn row(name: &str, outcome: &ReplayOutcome) -> f64 {
    let share = |line: &ReplayLine| line.best_share.map_or(f64::NAN, |share| share.mean);
    let adaptive = &outcome.policies[0];
    let half_width = adaptive.best_share.map_or(f64::NAN, |share| share.half_width());
    print!("{name:26} {:7.3} ± {half_width:5.3}", share(adaptive));
    SHOWN.iter().for_each(|name| print!(" {:9.3}", outcome.line(name).map_or(f64::NAN, share)));
    let rivals = outcome.policies[1..].iter().chain(&outcome.references);
    let rivals = rivals.filter(|line| !["hindsight", "best", "uniform"].contains(&line.name.as_str()));
    if let Some(rival) = rivals.max_by(|a, b| share(a).total_cmp(&share(b)))
        && let Some(difference) = rival.difference_to_first
    {
        print!("   {:+.3} ± {:.3} ({})", -difference.mean, difference.half_width(), rival.name);
    }
    println!();
    share(adaptive)
}

/// The data sets, whether their files exist or not; parts of files are written to `aside`.
fn sets(directory: &Path, aside: &Path) -> Vec<RealSet> {
    let owned = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).into()).collect() };
    // Every numeric column is an evaluator, except these.
    let but = |ignore: &[&str], reward: &str| Roles {
        ignore: owned(ignore),
        reward: Some(reward.into()),
        ..Roles::default()
    };
    let mut sets = vec![
        ("content-review.csv", but(&[], "offensiveness_score")),
        ("precipitation.csv", but(&["dates", "latitude"], "observations")),
        ("temperature.csv.gz", but(&["date", "latitude", "longitude", "elevation"], "observation")),
    ]
    .into_iter()
    .map(|(file, roles)| RealSet {
        name: file.trim_end_matches(".gz").trim_end_matches(".csv").into(),
        path: directory.join(file),
        roles,
    })
    .collect::<Vec<_>>();
    let whole = directory.join("translation-quality.csv.gz");
    let best_first = Roles { evaluators: owned(METRICS), ..but(&[], "score_mean") };
    let worst_first =
        Roles { invert: [owned(METRICS), vec!["score_mean".into()]].concat(), ..best_first.clone() };
    let parts = PAIRS.iter().map(|pair| (*pair, part(&whole, pair, aside)));
    for (name, path) in parts.chain([("all pairs", whole.clone())]) {
        for (order, roles) in [("worst first", &worst_first), ("best first", &best_first)] {
            sets.push(RealSet { name: format!("{name}, {order}"), path: path.clone(), roles: roles.clone() });
        }
    }
    sets
}

/// Writes the rows of one language pair to a file. Writes nothing if the whole file cannot be read.
fn part(whole: &Path, pair: &str, aside: &Path) -> PathBuf {
    let path = aside.join(format!("{pair}.csv"));
    let unpacked = std::process::Command::new("gzip").arg("-dc").arg(whole).output();
    if let Some(output) = unpacked.ok().filter(|output| output.status.success()) {
        let text = String::from_utf8_lossy(&output.stdout);
        let start = format!("{pair},");
        let lines = text.lines().take(1).chain(text.lines().filter(|line| line.starts_with(&start)));
        let part: Vec<&str> = lines.collect();
        std::fs::write(&path, part.join("\n")).expect("a temporary file");
    }
    path
}

//! The real data sets, from the folder in `JURYBOX_DATA`, where all must exist, or from
//! `../shared/data` beside the workspace. For each set that is not there, a test prints that it is
//! skipped.
#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "the tests of the lab use these sets too, and not every number"
)]

use jurybox_files::{Roles, Table};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A data set: its file, number of rows, and column roles.
pub(crate) struct Set {
    pub(crate) file: &'static str,
    pub(crate) rows: u64,
    pub(crate) evaluators: usize,
    pub(crate) reward: &'static str,
    pub(crate) ignore: &'static [&'static str],
    /// Whether to negate all evaluators and the reward, so that the worst rows come first.
    pub(crate) worst_first: bool,
    /// The column of rounds, as in the data set's README.
    pub(crate) round: &'static str,
    /// The gain of the top 100 rows of the default policy, taught without rewards, as a share of
    /// the largest possible gain. A gain is the mean reward above that of all rows. Measured once.
    pub(crate) found: f64,
}

const SETS: [Set; 4] = [
    Set {
        file: "content-review.csv",
        rows: 5710,
        evaluators: 7,
        reward: "offensiveness_score",
        ignore: &[],
        worst_first: false,
        round: "post_id",
        found: 0.847,
    },
    Set {
        file: "precipitation.csv",
        rows: 4043,
        evaluators: 9,
        reward: "observations",
        ignore: &["latitude"],
        worst_first: false,
        round: "dates",
        found: 0.466,
    },
    Set {
        file: "temperature.csv.gz",
        rows: 36_826,
        evaluators: 8,
        reward: "observation",
        ignore: &["latitude", "longitude", "elevation"],
        worst_first: false,
        round: "date",
        found: 0.629,
    },
    Set {
        file: "translation-quality.csv.gz",
        rows: 45_565,
        evaluators: 12,
        reward: "score_mean",
        ignore: &["seg", "n_ann"],
        worst_first: true,
        round: "lp",
        found: 0.452,
    },
];

fn present(set: &Set) -> Option<PathBuf> {
    let named = std::env::var_os("JURYBOX_DATA").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = named.clone().unwrap_or_else(beside).join(set.file);
    if path.exists() {
        return Some(path);
    }
    assert!(named.is_none(), "JURYBOX_DATA is set, but {} is not there", path.display());
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    // Not `eprintln!`, which the test runner hides when a test passes.
    let line = format!("skipped: {test}: {} is not there\n", set.file);
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    None
}

/// The table of a set, with the roles that its README describes.
pub(crate) fn table(set: &Set, path: &Path, key: Option<&str>) -> Table {
    let mut roles = Roles {
        reward: Some(set.reward.into()),
        key: key.map(Into::into),
        ignore: set.ignore.iter().map(|&name| name.into()).collect(),
        ..Roles::default()
    };
    if key.is_none() {
        roles.ignore.push(set.round.into());
    }
    if set.worst_first {
        let plain = Table::open(&[path.into()], &roles, false).unwrap();
        roles.invert = names(&plain);
        roles.invert.push(set.reward.into());
    }
    Table::open(&[path.into()], &roles, true).unwrap()
}

pub(crate) fn names(table: &Table) -> Vec<String> {
    table.roles().evaluators().names().map(Into::into).collect()
}

/// Runs a check on every set that is there.
pub(crate) fn each(check: impl Fn(&Set, &Path)) {
    for set in &SETS {
        if let Some(path) = present(set) {
            check(set, &path);
        }
    }
}

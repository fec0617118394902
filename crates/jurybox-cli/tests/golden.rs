//! Golden command-line cases. The files under `tests/cases` have commands and what they must print.
//! So do the `console` blocks on the pages of the book, and the days under `tests/days`.

use std::path::Path;

/// The time at which reports are dated, so that they print the same every day.
const NOW: &str = "1794787867";

/// Pages of the book that are written by hand. Generated reference pages are left out.
const BOOK: [&str; 8] = [
    "start/*.md",
    "how-to/*.md",
    "explanation/*.md",
    "operations/*.md",
    "research/*.md",
    "reference/output.md",
    "reference/file-formats.md",
    "reference/policy-*.md",
];

#[test]
fn golden() {
    trycmd::TestCases::new().case("tests/cases/*.toml").case("tests/cases/*.md");
}

#[test]
fn book() {
    let cases = trycmd::TestCases::new();
    cases.env("SOURCE_DATE_EPOCH", NOW);
    for pages in BOOK {
        cases.case(format!("../../docs/src/{pages}"));
    }
}

/// Whole days of users. Their shell scripts find the command on the path.
#[cfg(unix)]
#[test]
fn days() {
    let command = Path::new(env!("CARGO_BIN_EXE_jurybox")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    trycmd::TestCases::new()
        .env("PATH", format!("{}:{path}", command.display()))
        .env("SOURCE_DATE_EPOCH", NOW)
        .register_bin("sh", Path::new("/bin/sh"))
        .case("tests/days/*.md");
}

/// The engineer's day shows the script `hour.sh` that the test runs.
#[test]
fn days_show_the_scripts_that_are_run() {
    let days = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/days");
    let page = std::fs::read_to_string(days.join("engineer.md")).unwrap();
    let script = std::fs::read_to_string(days.join("engineer.in/hour.sh")).unwrap();
    assert!(page.contains(&format!("```sh\n{script}```\n")), "engineer.md shows another hour.sh");
}

//! Golden cases: commands under `tests/cases` and on pages of the book, with the output that they
//! print.

use std::path::Path;

/// The date of reports, fixed so that pages are the same every day.
const NOW: &str = "1794787867";

#[test]
fn golden() {
    trycmd::TestCases::new().case("tests/cases/*.toml").case("tests/cases/*.md").case("../../docs/src/*.md");
}

/// The pages with shell scripts, which find `jurybox` in the PATH.
#[cfg(unix)]
#[test]
fn days() {
    let command = Path::new(env!("CARGO_BIN_EXE_jurybox")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    trycmd::TestCases::new()
        .env("PATH", format!("{}:{path}", command.display()))
        .env("SOURCE_DATE_EPOCH", NOW)
        .register_bin("sh", Path::new("/bin/sh"))
        .case("../../docs/src/days/*.md");
}

/// The scripts printed on the pages are the scripts that the tests run.
#[test]
fn pages_show_the_scripts_that_are_run() {
    let days = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/days");
    let page = std::fs::read_to_string(days.join("engineer.md")).unwrap();
    let script = std::fs::read_to_string(days.join("engineer.in/hour.sh")).unwrap();
    assert!(page.contains(&format!("```sh\n{script}```\n")), "engineer.md shows another hour.sh");
}

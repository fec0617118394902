//! Golden command-line cases: every file under `tests/cases` is a command and what it must print, and the commands on the
//! how-to pages of the book print what the pages say.

use std::path::Path;

/// What a report is dated with: a page is the same every day.
const NOW: &str = "1794787867";

#[test]
fn golden() {
    trycmd::TestCases::new().case("tests/cases/*.toml").case("tests/cases/*.md").case("../../docs/src/*.md");
}

/// Days as people have them: with scripts of the shell, which find the command as a person's shell would.
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

/// The scripts that the pages show are those that the tests run.
#[test]
fn pages_show_the_scripts_that_are_run() {
    let days = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/days");
    let page = std::fs::read_to_string(days.join("engineer.md")).unwrap();
    let script = std::fs::read_to_string(days.join("engineer.in/hour.sh")).unwrap();
    assert!(page.contains(&format!("```sh\n{script}```\n")), "engineer.md shows another hour.sh");
}

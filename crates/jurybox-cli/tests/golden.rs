//! Golden command-line cases: every file under `tests/cases` is a command and what it must print.

#[test]
fn golden() {
    trycmd::TestCases::new().case("tests/cases/*.toml").case("tests/cases/*.md");
}

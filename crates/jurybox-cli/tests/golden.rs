//! Golden command-line cases: every file under `tests/cases` is a command and what it must print, and the commands on the
//! how-to pages of the book print what the pages say.

#[test]
fn golden() {
    trycmd::TestCases::new().case("tests/cases/*.toml").case("tests/cases/*.md").case("../../docs/src/*.md");
}

//! Columns of reviewers and of groups: read alike from CSV and JSON lines, learnt, and reported.

use jurybox::Reviewer;
use jurybox::options::Fraction;
use jurybox_files::{
    Error, Format, LearnOptions, PickOptions, Roles, RowInput, State, Table, VerdictOptions, choose,
    learn_rows, learn_verdicts, report,
};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const ROWS: usize = 240;

/// The two scores, language, reviewer and verdict of a row. Verdicts of `bob` are lower by three.
/// Evaluator `a` predicts the verdicts in one language, `b` those in the other.
fn row(at: usize) -> (f64, f64, &'static str, &'static str, f64) {
    let (a, b) = ((at * 7 % 41) as f64 / 4.0, (at * 11 % 37) as f64 / 4.0);
    let language = ["de", "fr"][at % 2];
    let who = ["ann", "bob", "cid"][at / 2 % 3];
    let worth = if language == "de" { a } else { b } + (at * 13 % 7) as f64 / 7.0;
    (a, b, language, who, if who == "bob" { worth - 3.0 } else { worth })
}

fn csv(dir: &Path) -> PathBuf {
    let mut text = String::from("post,a,b,language,who,verdict\n");
    for at in 0..ROWS {
        let (a, b, language, who, verdict) = row(at);
        let who = if at == 17 { "" } else { who };
        writeln!(text, "p{at},{a},{b},{language}, {who} ,{verdict}").unwrap();
    }
    let path = dir.join("rows.csv");
    std::fs::write(&path, text).unwrap();
    path
}

fn jsonl(dir: &Path) -> PathBuf {
    let mut text = String::new();
    for at in 0..ROWS {
        let (a, b, language, who, verdict) = row(at);
        let who = if at == 17 { "null".into() } else { format!("\"{who}\"") };
        writeln!(
            text,
            r#"{{"post":"p{at}","a":{a},"b":{b},"language":"{language}","who":{who},"verdict":{verdict}}}"#
        )
        .unwrap();
    }
    let path = dir.join("rows.jsonl");
    std::fs::write(&path, text).unwrap();
    path
}

fn roles() -> Roles {
    Roles {
        id: vec!["post".into()],
        reward: Some("verdict".into()),
        reviewer: Some("who".into()),
        context: vec!["language".into()],
        ..Roles::default()
    }
}

fn learnt(path: PathBuf) -> State {
    let how = LearnOptions { roles: roles(), ..LearnOptions::default() };
    learn_rows(None, RowInput::Files(vec![path]), &how, &mut ()).unwrap().expect("nothing was known").state
}

#[test]
fn reviewers_and_contexts_are_read_the_same_from_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let state = learnt(csv(dir.path()));
    assert_eq!(state.jury.to_bytes(), learnt(jsonl(dir.path())).jury.to_bytes());
    let level = Fraction::try_from(0.95).unwrap();
    let standings = state.jury.fit().reviewers(level);
    let of = |name: &str| *standings.iter().find(|one| one.reviewer == Some(Reviewer::named(name))).unwrap();
    assert_eq!((of("ann").labels, of("bob").labels, of("cid").labels), (80, 80, 79));
    assert!(of("bob").severity.high < -2.0 && of("ann").severity.low > 0.5, "{standings:?}");
    let language = |name: &str| jurybox::toolbox::code_of(name) as f64;
    let weights = |name: &str| state.jury.fit().group_weights(2, language(name)).unwrap().1;
    assert!(weights("de")[0] > 3.0 * weights("de")[1].abs(), "{:?}", weights("de"));
    assert!(weights("fr")[1] > 3.0 * weights("fr")[0].abs(), "{:?}", weights("fr"));
    assert_eq!(state.jury.fit().group_weights(2, language("it")), None);
}

#[test]
fn a_state_remembers_its_contexts() {
    let dir = tempfile::tempdir().unwrap();
    let path = csv(dir.path());
    let state = learnt(path.clone());
    let seated = state.jury.evaluators().as_slice().to_vec();
    let table =
        Table::open(&[path], &Roles { learnt_evaluators: seated, ..Roles::default() }, false).unwrap();
    assert!(table.roles().to_string().starts_with("Scores: a, b. Context: language."), "{}", table.roles());
}

#[test]
fn returned_verdicts_name_their_reviewers() {
    let dir = tempfile::tempdir().unwrap();
    let hour = csv(dir.path());
    let by_post = Roles {
        key: Some("post".into()),
        evaluators: vec!["a".into(), "b".into()],
        context: vec!["language".into()],
        ..Roles::default()
    };
    let table = Table::open(&[hour], &by_post, true).unwrap();
    let mut state = State::from(
        jurybox_files::new_jury(&"adaptive".parse().unwrap(), table.roles().evaluators()).unwrap(),
    );
    let picks = dir.path().join("picks.csv");
    let options = PickOptions { k: 60, ..PickOptions::default() };
    choose(&table, &mut state, options).unwrap().write(&table, &picks, Format::Csv, false).unwrap();
    let mut text = String::from("post,verdict,who\n");
    (0..ROWS).for_each(|at| writeln!(text, "p{at},{},{}", row(at).4, row(at).3).unwrap());
    let verdicts = dir.path().join("verdicts.csv");
    std::fs::write(&verdicts, text).unwrap();
    let how = |reviewer: Option<&str>| VerdictOptions {
        id: "post".into(),
        reward: "verdict".into(),
        reviewer: reviewer.map(Into::into),
        ..VerdictOptions::default()
    };
    let learn = |reviewer| {
        let (picks, verdicts) =
            (RowInput::Files(vec![picks.clone()]), RowInput::Files(vec![verdicts.clone()]));
        learn_verdicts(&state, picks, verdicts, &how(reviewer), &mut ()).unwrap().expect("there are verdicts")
    };
    let level = Fraction::try_from(0.9).unwrap();
    assert_eq!(learn(None).state.jury.fit().reviewers(level), []);
    let standings = learn(Some("who")).state.jury.fit().reviewers(level);
    assert_eq!(standings.iter().map(|one| one.labels).sum::<u64>(), 60);
    let bob = standings.iter().find(|one| one.reviewer == Some(Reviewer::named("bob"))).unwrap();
    assert!(bob.severity.high < -1.0, "{bob:?}");
}

#[test]
fn a_report_shows_reviewers_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = csv(dir.path());
    let of = |reviewer: &str| {
        let roles = Roles { reviewer: Some(reviewer.into()), context: Vec::new(), ..roles() };
        report(&Table::open(std::slice::from_ref(&path), &roles, true).unwrap(), None).unwrap()
    };
    let report = of("who");
    let names: Vec<Option<&str>> = report.reviewers.iter().map(|about| about.name.as_deref()).collect();
    assert_eq!(names, [Some("ann"), Some("bob"), Some("cid"), None]);
    assert_eq!(report.reviewers.iter().map(|about| about.verdicts).sum::<u64>(), ROWS as u64);
    let text = report.to_table();
    assert!(text.contains("\nreviewer") && text.contains("\nbob") && text.contains("(no name)"), "{text}");
    assert!(report.to_html().contains("<h2>The reviewers</h2>"));
    let mut text = std::fs::read_to_string(&path).unwrap();
    for name in [" ann ", " bob ", " cid ", "  "] {
        text = text.replace(&format!(",{name},"), ",dan,");
    }
    std::fs::write(&path, text).unwrap();
    let alone = of("who");
    assert!(alone.reviewers.is_empty());
    assert!(
        alone.warnings.iter().any(|warning| warning.contains("No reviewer in `who` can be compared")),
        "{:?}",
        alone.warnings
    );
}

#[test]
fn a_column_has_one_role() {
    let dir = tempfile::tempdir().unwrap();
    let path = csv(dir.path());
    let open = |roles: &Roles| Table::open(std::slice::from_ref(&path), roles, false);
    let both = Roles { reviewer: Some("verdict".into()), ..roles() };
    assert!(matches!(open(&both), Err(Error::TwoRoles { .. })));
    let both = Roles { context: vec!["a".into()], evaluators: vec!["a".into(), "b".into()], ..roles() };
    assert!(matches!(open(&both), Err(Error::TwoRoles { .. })));
    let unknown = Roles { context: vec!["tongue".into()], ..roles() };
    assert!(open(&unknown).is_err());
    let only = Roles { context: vec!["a".into(), "b".into()], ..roles() };
    assert!(matches!(open(&only), Err(Error::NoEvaluator { .. })));
}

//! Learning from files from end to end: notices, skipped rows, and errors.

use jurybox_files::{
    Error, Format, LearnHost, LearnNotice, LearnOptions, PickOptions, Roles, RowInput, State, Table,
    VerdictOptions, Warning, learn_rows, learn_verdicts, pick_rows,
};
use std::fs;
use std::path::{Path, PathBuf};

/// A host that records notices, and reads tables with one thread.
#[derive(Debug, Default)]
struct Listener(Vec<String>);

impl LearnHost for Listener {
    fn prepare(&self, table: Table, _: fn(&Warning) -> bool) -> Table {
        table.with_threads(1)
    }

    fn notify(&mut self, notice: LearnNotice) {
        let sign = if notice.is_warning() { "! " } else { "" };
        self.0.push(format!("{sign}{notice}"));
    }
}

fn how() -> LearnOptions {
    let roles = Roles { id: vec!["post".into()], reward: Some("verdict".into()), ..Roles::default() };
    LearnOptions { roles, policy: Some("lin-ucb".parse().unwrap()), ..LearnOptions::default() }
}

/// Writes the rows `order` of a day, with the columns post, a, b and verdict in the order
/// `columns`.
fn write(path: &Path, day: u32, order: impl Iterator<Item = u32>, columns: [usize; 4]) {
    let mut text = String::new();
    let mut line = |cells: [String; 4]| {
        text += &columns.map(|at| cells[at].clone()).join(",");
        text += "\n";
    };
    line(["post", "a", "b", "verdict"].map(String::from));
    for n in order {
        line([format!("d{day}n{n}"), (n * 7 % 5).to_string(), (n % 3).to_string(), (n % 2).to_string()]);
    }
    fs::write(path, text).unwrap();
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn files<const N: usize>(&self, names: [&str; N]) -> RowInput<'static> {
        RowInput::Files(names.map(|name| self.path(name)).to_vec())
    }
}

#[test]
fn the_same_rows_in_one_call_are_learnt_once() {
    let folder = Folder::new();
    write(&folder.path("day.csv"), 1, 0..10, [0, 1, 2, 3]);
    write(&folder.path("turned.csv"), 1, (0..10).rev(), [3, 2, 1, 0]);
    write(&folder.path("next.csv"), 2, 0..10, [0, 1, 2, 3]);
    let mut host = Listener::default();
    let files = folder.files(["day.csv", "turned.csv", "next.csv", "day.csv"]);
    let lesson = learn_rows(None, files, &how(), &mut host).unwrap().unwrap();
    assert_eq!((lesson.taught.rows, lesson.state.jury.seen().rounds), (20, 2));
    assert_eq!(
        host.0,
        [
            format!("{}: skipped, because it was learnt before", folder.path("day.csv").display()),
            format!(
                "{}: skipped, because the same rows were learnt before",
                folder.path("turned.csv").display()
            ),
            "Scores: a, b. Id: post. Reward: verdict.".into(),
        ]
    );
    // The jury equals one that learnt the files one by one.
    let mut one_by_one = None::<State>;
    for name in ["day.csv", "turned.csv", "next.csv"] {
        let learnt = learn_rows(one_by_one.as_ref(), folder.files([name]), &how(), &mut ()).unwrap();
        one_by_one = learnt.map(|lesson| lesson.state).or(one_by_one);
    }
    let one_by_one = one_by_one.unwrap();
    assert_eq!(one_by_one.jury.to_json(), lesson.state.jury.to_json());
    // With `again`, known rows count once more, and the same rows in two files count twice.
    let again = LearnOptions { again: true, ..how() };
    let files = folder.files(["day.csv", "turned.csv"]);
    let lesson = learn_rows(Some(&one_by_one), files, &again, &mut ()).unwrap().unwrap();
    assert_eq!((lesson.taught.rows, lesson.state.jury.seen().items), (20, 40));
}

#[test]
fn a_direction_is_remembered_and_another_reward_is_refused() {
    let folder = Folder::new();
    write(&folder.path("1.csv"), 1, 0..10, [0, 1, 2, 3]);
    write(&folder.path("2.csv"), 2, 0..10, [0, 1, 2, 3]);
    let mut turned = how();
    turned.roles.invert = vec!["verdict".into()];
    let first = learn_rows(None, folder.files(["1.csv"]), &turned, &mut ()).unwrap().unwrap().state;
    let one = learn_rows(Some(&first), folder.files(["2.csv"]), &turned, &mut ()).unwrap().unwrap();
    let other = learn_rows(Some(&first), folder.files(["2.csv"]), &how(), &mut ()).unwrap().unwrap();
    assert_eq!(one.state.jury.to_json(), other.state.jury.to_json());
    let mut by_b = how();
    by_b.roles.reward = Some("b".into());
    let refused = learn_rows(Some(&first), folder.files(["2.csv"]), &by_b, &mut ()).unwrap_err();
    assert_eq!(refused.code(), "other-reward");
}

#[test]
fn forgotten_evaluators_are_reported_and_can_be_added_again() {
    let folder = Folder::new();
    write(&folder.path("1.csv"), 1, 0..10, [0, 1, 2, 3]);
    write(&folder.path("2.csv"), 2, 0..10, [0, 1, 2, 3]);
    let first = learn_rows(None, folder.files(["1.csv"]), &how(), &mut ()).unwrap().unwrap().state;
    let mut without_b = LearnOptions { drop: vec!["b".into()], ..how() };
    let mut host = Listener::default();
    let lesson = learn_rows(Some(&first), folder.files(["2.csv"]), &without_b, &mut host).unwrap().unwrap();
    assert_eq!(host.0.last().unwrap(), "dropped evaluator `b`: what was learnt about it is forgotten");
    assert_eq!(first.jury.evaluators().len(), 2);
    // When the same command is repeated, nothing is new.
    assert!(learn_rows(Some(&lesson.state), folder.files(["2.csv"]), &without_b, &mut ()).unwrap().is_none());
    let refuse =
        |how: &LearnOptions| learn_rows(Some(&first), folder.files(["2.csv"]), how, &mut ()).unwrap_err();
    without_b.roles.evaluators = vec!["a".into(), "b".into()];
    assert_eq!(refuse(&without_b).code(), "forgotten-and-named");
    assert_eq!(refuse(&LearnOptions { drop: vec!["z".into()], ..how() }).code(), "not-seated");
    assert_eq!(refuse(&LearnOptions { drop: vec!["a".into(), "b".into()], ..how() }).code(), "all-forgotten");
}

/// A table in memory is recognised by its rows, and so is a file with the same rows. If a table has
/// grown, only the new rows count.
#[test]
fn rows_in_memory_with_ids_are_recognised() {
    let folder = Folder::new();
    write(&folder.path("1.csv"), 1, 0..10, [0, 1, 2, 3]);
    write(&folder.path("turned.csv"), 1, (0..10).rev(), [3, 2, 1, 0]);
    write(&folder.path("grown.csv"), 1, 0..11, [0, 1, 2, 3]);
    let in_memory = |name: &str| {
        let path = folder.path(name);
        RowInput::Again(Box::new(move |reading, roles, again| {
            Table::open_as(std::slice::from_ref(&path), reading, roles, again)
        }))
    };
    let first = learn_rows(None, in_memory("1.csv"), &how(), &mut ()).unwrap().unwrap().state;
    for again in [in_memory("1.csv"), in_memory("turned.csv"), folder.files(["turned.csv"])] {
        let mut host = Listener::default();
        assert!(learn_rows(Some(&first), again, &how(), &mut host).unwrap().is_none());
        assert!(host.0[0].ends_with(": skipped, because the same rows were learnt before"), "{host:?}");
    }
    let items = |given: RowInput<'_>, how: &LearnOptions| {
        learn_rows(Some(&first), given, how, &mut ()).unwrap().unwrap().state.jury.seen().items
    };
    assert_eq!(items(in_memory("1.csv"), &LearnOptions { again: true, ..how() }), 20);
    assert_eq!(items(in_memory("grown.csv"), &how()), 11);
    assert_eq!(items(folder.files(["grown.csv"]), &how()), 11);
    let mut nameless = how();
    (nameless.roles.id, nameless.roles.ignore) = (Vec::new(), vec!["post".into()]);
    assert_eq!(items(in_memory("1.csv"), &nameless), 20);
}

#[test]
fn streams_are_not_recognised() {
    let folder = Folder::new();
    write(&folder.path("1.csv"), 1, 0..10, [0, 1, 2, 3]);
    let once = || {
        let path = folder.path("1.csv");
        RowInput::Once(Box::new(move |reading, roles, again| Table::open_as(&[path], reading, roles, again)))
    };
    let first = learn_rows(None, once(), &how(), &mut ()).unwrap().unwrap().state;
    let second = learn_rows(Some(&first), once(), &how(), &mut ()).unwrap().unwrap().state;
    assert_eq!((first.jury.seen().items, second.jury.seen().items), (10, 20));
    assert_eq!(second.memory, first.memory);
    assert!(!first.memory.knows_rounds() && first.memory.took_evaluators_by_rule());
}

#[test]
fn verdicts_need_a_column_of_their_own() {
    let folder = Folder::new();
    write(&folder.path("1.csv"), 1, 0..10, [0, 1, 2, 3]);
    fs::write(folder.path("found.csv"), "post,found\nd1n1,1\n").unwrap();
    fs::write(folder.path("other.csv"), "post,other\nd1n1,1\n").unwrap();
    let state = learn_rows(None, folder.files(["1.csv"]), &how(), &mut ()).unwrap().unwrap().state;
    let how = |reward: &str| VerdictOptions {
        id: "post".into(),
        reward: reward.into(),
        ..VerdictOptions::default()
    };
    let refuse = |verdicts: RowInput<'_>, how: &VerdictOptions| -> Error {
        learn_verdicts(&state, folder.files(["1.csv"]), verdicts, how, &mut ()).unwrap_err()
    };
    let together = VerdictOptions { together: true, ..how("a") };
    assert_eq!(refuse(folder.files(["1.csv"]), &together).code(), "other-reward");
    let blank = State::from(state.jury.clone());
    let files = || folder.files(["1.csv"]);
    let refused = learn_verdicts(&blank, files(), files(), &together, &mut ()).unwrap_err();
    assert_eq!(refused.code(), "not-a-verdict");
    let verdicts = folder.files(["found.csv", "other.csv"]);
    let refused = learn_verdicts(&blank, files(), verdicts, &how("found"), &mut ()).unwrap_err();
    assert_eq!(refused.code(), "no-verdict-column");
    assert!(refused.to_string().contains("other.csv: there is no column `found`"), "{refused}");
}

/// Picks four rows of a file, and returns the state after picking.
fn pick(folder: &Folder, from: &str, to: &str, before: Option<&State>) -> State {
    let seated = before.map_or(Vec::new(), |state| state.jury.evaluators().as_slice().to_vec());
    let ignore = vec!["verdict".into()];
    let roles = Roles { key: Some("post".into()), ignore, learnt_evaluators: seated, ..Roles::default() };
    let table = Table::open(&[folder.path(from)], &roles, true).unwrap();
    let policy = "lin-ucb".parse().unwrap();
    let round =
        pick_rows(before, &table, Some(&policy), PickOptions { k: 4, ..PickOptions::default() }).unwrap();
    round.picking.write(&table, &folder.path(to), Format::Csv, false).unwrap();
    round.state
}

#[test]
fn the_verdict_in_a_table_and_the_one_on_a_pick_of_it_are_one() {
    let folder = Folder::new();
    write(&folder.path("day.csv"), 1, 0..10, [0, 1, 2, 3]);
    write(&folder.path("part.csv"), 1, 0..6, [0, 1, 2, 3]);
    let joining = VerdictOptions { id: "post".into(), reward: "verdict".into(), ..VerdictOptions::default() };
    for invert in [Vec::new(), vec!["verdict".to_string()]] {
        let how = {
            let mut how = how();
            how.roles.invert.clone_from(&invert);
            how
        };
        let joining = VerdictOptions { invert: invert.clone(), together: true, ..joining.clone() };
        // First a table, then picks from its rows with their verdicts.
        let learnt = learn_rows(None, folder.files(["part.csv"]), &how, &mut ()).unwrap().unwrap().state;
        let state = pick(&folder, "day.csv", "picks.csv", Some(&learnt));
        let given = || folder.files(["picks.csv"]);
        let returned = learn_verdicts(&state, given(), given(), &joining, &mut ()).unwrap().unwrap();
        let back = &returned.back;
        assert!(back.learnt_before > 0 && back.known_ids.count == 0, "{back:?}");
        assert_eq!(back.used + back.learnt_before, 4);
        assert_eq!(returned.state.jury.seen().used, 6 + back.used);
        // First picks, then a table with some of the picked rows.
        let state = pick(&folder, "day.csv", "first.csv", None);
        let given = || folder.files(["first.csv"]);
        let state = learn_verdicts(&state, given(), given(), &joining, &mut ()).unwrap().unwrap().state;
        let mut host = Listener::default();
        let lesson = learn_rows(Some(&state), folder.files(["part.csv"]), &how, &mut host).unwrap().unwrap();
        assert!(lesson.taught.learnt_before > 0, "{:?}", lesson.taught);
        assert_eq!(lesson.taught.used + lesson.taught.learnt_before, 6);
        assert!(
            lesson.notices()[0].to_string().ends_with("learnt before, and not counted again"),
            "{:?}",
            lesson.notices()
        );
        // Known rows together with a new one.
        write(&folder.path("more.csv"), 1, (0..6).chain(20..21), [0, 1, 2, 3]);
        let more =
            learn_rows(Some(&lesson.state), folder.files(["more.csv"]), &how, &mut ()).unwrap().unwrap();
        assert_eq!((more.taught.rows, more.taught.learnt_before), (1, 6));
        let all = LearnOptions { again: true, ..how };
        let all =
            learn_rows(Some(&lesson.state), folder.files(["more.csv"]), &all, &mut ()).unwrap().unwrap();
        assert_eq!((all.taught.rows, all.taught.learnt_before), (7, 0));
    }
}

/// A known id with another score, another verdict or another reviewer counts as a new row.
#[test]
fn an_id_that_returns_with_other_scores_counts_and_is_reported() {
    let folder = Folder::new();
    fs::write(folder.path("mon.csv"), "post,a,b,verdict,who\nc1,1,2,1,ann\nc2,3,4,0,ann\nc3,3,1,0,bob\n")
        .unwrap();
    fs::write(folder.path("tue.csv"), "post,a,b,verdict,who\nc1,5,2,1,ann\nc2,3,4,1,ann\nc3,3,1,0,ann\n")
        .unwrap();
    let mut how = how();
    how.roles.reviewer = Some("who".into());
    let told = |lesson: &jurybox_files::LearnResult| {
        lesson.notices().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let first = learn_rows(None, folder.files(["mon.csv"]), &how, &mut ()).unwrap().unwrap();
    assert_eq!(told(&first), [""; 0]);
    let second = learn_rows(Some(&first.state), folder.files(["tue.csv"]), &how, &mut ()).unwrap().unwrap();
    assert_eq!((second.taught.used, second.taught.learnt_before, second.taught.known_ids.count), (3, 0, 3));
    assert!(told(&second)[0].starts_with("3 rows have an id that was learnt before "), "{:?}", told(&second));
    let both = learn_rows(None, folder.files(["mon.csv", "tue.csv"]), &how, &mut ()).unwrap().unwrap();
    assert_eq!((both.taught.used, told(&both)), (6, told(&second)));
    // Known rows are skipped also if the id is the round. Equal rows within one table all count.
    fs::write(folder.path("wed.csv"), "post,a,b,verdict,who\nc1,1,2,1,ann\nc9,1,1,1,ann\nc9,1,1,1,ann\n")
        .unwrap();
    how.roles.key = Some("post".into());
    let third = learn_rows(Some(&second.state), folder.files(["wed.csv"]), &how, &mut ()).unwrap().unwrap();
    assert_eq!((third.taught.rows, third.taught.rounds, third.taught.learnt_before), (2, 1, 1));
}

/// On Tuesday, 5 of 40 customers have other scores than on Monday. That is enough to take the ids
/// for reused, so that the other 35 count as well.
#[test]
fn returning_ids_of_new_items_all_count() {
    let folder = Folder::new();
    let day = |flagged: std::ops::Range<usize>| {
        let row = |n: usize| format!("c{n},{},0,{}\n", u8::from(flagged.contains(&n)), u8::from(n == 2));
        (0..40).map(row).fold(String::from("post,a,b,verdict\n"), |text, row| text + &row)
    };
    fs::write(folder.path("mon.csv"), day(0..5)).unwrap();
    fs::write(folder.path("tue.csv"), day(3..7)).unwrap();
    let first = learn_rows(None, folder.files(["mon.csv"]), &how(), &mut ()).unwrap().unwrap();
    let second = learn_rows(Some(&first.state), folder.files(["tue.csv"]), &how(), &mut ()).unwrap().unwrap();
    assert_eq!((second.taught.used, second.taught.learnt_before, second.taught.known_ids.count), (40, 0, 40));
    assert!(second.notices().iter().any(LearnNotice::is_warning));
    // A single row that differs is a correction, so that the other 39 rows do not count again.
    fs::write(folder.path("again.csv"), day(3..8)).unwrap();
    let third =
        learn_rows(Some(&second.state), folder.files(["again.csv"]), &how(), &mut ()).unwrap().unwrap();
    assert_eq!((third.taught.used, third.taught.learnt_before, third.taught.known_ids.count), (1, 39, 1));
}

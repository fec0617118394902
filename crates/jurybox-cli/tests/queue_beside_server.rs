//! `serve --import`, and queue commands on a folder that a server has open.
#![cfg(unix)]

mod folder;
mod server;

use folder::Folder;
use serde_json::{Value, json};
use server::Server;
use std::fmt::Write;
use std::time::{Duration, Instant};

fn scores(folder: &Folder, many: usize) {
    let mut text = String::from("post,spam,abuse,language,text\n");
    for n in 0..many {
        writeln!(text, "p{n},0.{n:04},0.5,en,hello {n}").unwrap();
    }
    folder.write("scores.csv", &text);
}

/// Waits until the server has printed a text, and returns all messages so far.
fn said(server: &Server, what: &str) -> String {
    let began = Instant::now();
    loop {
        let log = server.log();
        if log.contains(what) {
            return log;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "it has not said {what:?}: {log}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_file_becomes_a_queue_in_one_command_and_a_repeat_adds_nothing() {
    let folder = Folder::new("import");
    scores(&folder, 6000);
    let file = folder.path("scores.csv").display().to_string();
    let import = ["--import", &file, "--id", "post", "--tags", "language", "--log", "off"];
    let server = Server::over(&folder.path("data"), &import);
    let log = said(&server, "Next: review at http://");
    assert!(log.contains(": spam, abuse"), "{log}");
    // The evaluators were not named, so a note says which columns are scores. It also says what to
    // do if one is not.
    assert!(log.contains("are scores: spam, abuse. If one is the answer"), "{log}");
    assert!(log.contains("Reviewers see: text."), "{log}");
    // A note says what a queue without random checks cannot tell.
    assert!(log.contains("--random-check-rate"), "{log}");
    assert!(log.contains("scores: 6000 new, 0 updated, 0 unchanged, 0 refused"), "{log}");
    assert!(log.contains(&format!("http://{}/q/scores/desk", server.address)), "{log}");
    let queue = server.get("/v1/queues/scores");
    assert_eq!(queue["counts"]["pending"], 6000);
    assert_eq!(queue["reward"]["labels"], json!({"no": 0.0, "yes": 1.0}));
    let claim = server.post("/v1/queues/scores/claims", r#"{"reviewer": "ann", "k": 1}"#);
    let claim = &claim["claims"][0];
    assert!(claim["payload"]["text"].as_str().unwrap().starts_with("hello "), "{claim}");
    let verdict =
        json!({"verdicts": [{"id": "v", "item": claim["item"], "reviewer": "ann", "label": "yes"}]});
    server.post("/v1/queues/scores/verdicts", &verdict.to_string());

    let server = server.again(&import);
    let log = said(&server, "Next: review at http://");
    assert!(log.contains("scores: 0 new, 0 updated, 5999 unchanged, 1 already closed, 0 refused"), "{log}");
    assert!(log.contains("The queue had all of these items"), "{log}");
}

#[test]
fn what_cannot_be_imported_is_said_before_anybody_waits() {
    let folder = Folder::new("import-bad");
    scores(&folder, 10);
    for (line, says) in [
        (
            "serve --data d --port 0 --import scores.csv",
            "pass one --id, the column that identifies an item (there are: post,",
        ),
        ("serve --data d --port 0 --import scores.csv", "none looks like an id"),
        ("serve --data d --port 0 --import nowhere.csv --id post", "nowhere.csv"),
        ("serve --data d --port 0 --import - --id post", "--queue"),
        ("serve --data d --port 0 --label yes=1", "--import FILE"),
    ] {
        let refused = folder.refused(line);
        assert!(refused.contains(says), "{line}: {refused}");
    }
}

/// A column named like an answer is neither a score nor payload, unless an option names it.
#[test]
fn answers_are_neither_scores_nor_shown() {
    let folder = Folder::new("import-answers");
    let row = |n: usize| format!("p{n},0.{n:03},0.5,hello {n},{},{}\n", ["no", "yes"][n % 2], n % 2);
    let rows: String = (100..160).map(row).collect();
    folder.write("scores.csv", &format!("post,spam,abuse,text,verdict,reward\n{rows}"));
    let file = folder.path("scores.csv").display().to_string();
    let import = ["--import", &file, "--id", "post", "--log", "off"];
    let server = Server::over(&folder.path("data"), &import);
    let log = said(&server, "Next: review at http://");
    assert!(log.contains(": spam, abuse") && log.contains("Reviewers see: text.\n"), "{log}");
    assert!(log.contains("the name says answer: verdict, reward. Pass --golden"), "{log}");
    let item = server.get("/v1/queues/scores/items/p101");
    assert_eq!(item["payload"], json!({"text": "hello 101"}));
    let import =
        ["--import", &file, "--id", "post", "--golden", "verdict", "--show", "reward", "--log", "off"];
    let server = Server::over(&folder.path("other"), &import);
    let log = said(&server, "Next: review at http://");
    assert!(!log.contains("the name says answer"), "{log}");
    let item = server.get("/v1/queues/scores/items/p101");
    assert_eq!((&item["payload"], &item["tags"]["golden"]), (&json!({"reward": "1"}), &json!("yes")));
}

/// A column may be tag and payload, golden and payload, or evaluator and payload. Naming it twice
/// is no error.
#[test]
fn a_column_may_have_several_uses() {
    let folder = Folder::new("import-uses");
    folder.write("f.csv", "id,text,lang,spam\np1,hello,en,0.9\np2,hallo,de,0.2\n");
    let file = folder.path("f.csv").display().to_string();
    for (at, more, payload, tags) in [
        (
            0,
            &["--tag", "lang", "--show", "text,lang"][..],
            json!({"text": "hello", "lang": "en"}),
            json!({"lang": "en"}),
        ),
        (
            1,
            &["--golden", "lang", "--show", "lang,text"],
            json!({"lang": "en", "text": "hello"}),
            json!({"golden": "en"}),
        ),
        (2, &["--show", "text,text"], json!({"text": "hello"}), json!({})),
        (3, &["--evaluators", "spam", "--show", "spam"], json!({"spam": 0.9}), json!({})),
    ] {
        let import = [&["--import", &file, "--id", "id", "--log", "off"], more].concat();
        let server = Server::over(&folder.path(&format!("data{at}")), &import);
        let log = said(&server, "Next: review at http://");
        assert_eq!(log.contains("the right answers of golden items"), at == 1, "{log}");
        let item = server.get("/v1/queues/f/items/p1");
        assert_eq!((&item["payload"], &item["tags"]), (&payload, &tags), "{more:?}");
        assert_eq!(item["scores"]["spam"], 0.9, "{more:?}");
    }
}

/// The server and the commands use the columns of the last file again. Missing columns give a
/// warning.
#[test]
fn a_queue_remembers_what_columns_are_for() {
    let folder = Folder::new("import-remembers");
    let rows = |name: &str| format!("post,text,lang,spam\n{name},hello {name},en,0.9\n");
    ["a", "b", "c"].iter().for_each(|name| folder.write(&format!("{name}.csv"), &rows(name)));
    let file = |name: &str| folder.path(name).display().to_string();
    let [a, c] = ["a.csv", "c.csv"].map(file);
    let import = ["--import", &a, "--queue", "q", "--id", "post", "--tag", "lang", "--log", "off"];
    let server = Server::over(&folder.path("data"), &import);
    said(&server, "Next: review at http://");
    let columns = json!({"id": "post", "tags": {"lang": "lang"}, "shown": ["text"]});
    assert_eq!(server.get("/v1/queues/q")["columns"], columns);
    let added = folder.ok("queue add data b.csv");
    assert!(!added.contains("warning"), "{added}");
    let server = server.again(&["--import", &c, "--queue", "q", "--log", "off"]);
    said(&server, "Next: review at http://");
    for name in ["a", "b", "c"] {
        let item = server.get(&format!("/v1/queues/q/items/{name}"));
        assert_eq!(item["payload"], json!({"text": format!("hello {name}")}), "{name}");
        assert_eq!(item["tags"], json!({"lang": "en"}), "{name}");
    }
    // One file lacks the tag and payload columns. Another one has a new payload column (--show).
    folder.write("d.csv", "post,spam,note\nd,0.5,hm\n");
    let added = folder.ok("queue add data d.csv");
    for says in ["no column `lang`", "no column `text`", "1 rows have no payload"] {
        assert!(added.contains(says), "{says}: {added}");
    }
    folder.write("e.csv", "post,spam,note\ne,0.5,hm\n");
    folder.ok("queue add data e.csv --show note");
    assert_eq!(server.get("/v1/queues/q/items/e")["payload"], json!({"note": "hm"}));
    assert_eq!(server.get("/v1/queues/q")["columns"]["shown"], json!(["note"]));
    // A column named by an option must be in the file.
    assert!(folder.refused("queue add data e.csv --show text").contains("`text`"));
    assert!(folder.refused("queue add data e.csv --id post --show text").contains("`text`"));
}

/// A file with only some of the payload columns changes no payload, and gives a warning.
#[test]
fn a_file_with_some_of_the_shown_columns_takes_none_of_them_away() {
    let folder = Folder::new("import-in-part");
    folder.write("a.csv", "post,text,lang,spam\np1,hello,en,0.9\n");
    folder.ok("queue init desk --evaluators spam,tox");
    folder.ok("queue add desk a.csv --id post --show text,lang");
    let shown = |folder: &Folder, item: &str| {
        let items = folder.stdout("queue export desk".split(' '));
        let line = items.lines().find(|line| line.contains(item)).unwrap().to_string();
        serde_json::from_str::<Value>(&line).unwrap()["payload"].clone()
    };
    folder.write("b.csv", "post,tox,lang\np1,0.4,fr\n");
    let added = folder.ok("queue add desk b.csv");
    for says in ["0 new, 1 updated", "no column `text`", "the earlier payload", "pass --show lang"] {
        assert!(added.contains(says), "{says}: {added}");
    }
    assert_eq!(shown(&folder, "p1"), json!({"text": "hello", "lang": "en"}));
    folder.write("c.csv", "post,tox\np1,0.5\n");
    let added = folder.ok("queue add desk c.csv");
    assert!(added.contains("1 updated") && !added.contains("reviewers"), "{added}");
    let added = folder.stdout("queue add desk b.csv --json -q".split(' '));
    let added: Value = serde_json::from_str(&added).unwrap();
    assert_eq!(added["missing_columns"], json!(["text"]));
    // With --show, the payload is replaced by the columns of the file.
    folder.ok("queue add desk b.csv --show lang");
    assert_eq!(shown(&folder, "p1"), json!({"lang": "fr"}));
}

/// A queue is created with its first items, so that an unreadable file creates none.
#[test]
fn a_file_that_cannot_be_read_leaves_no_queue_behind() {
    let folder = Folder::new("import-none");
    folder.write("f.csv", &format!("id,text,spam\np1,hello,0.5\n{}", "only one cell\n".repeat(1002)));
    let refused = folder.refused("serve --data d --port 0 --import f.csv --id id --log off");
    assert!(refused.contains("1 cells") || refused.contains("1 cell"), "{refused}");
    let status = folder.refused("queue status d");
    assert!(status.contains("no queue"), "{status}");
    for (line, says) in [
        ("serve --data d --port 0 --import f.csv --id id --queue two,words", "is not a valid queue name"),
        ("serve --data d --port 0 --import f.csv --id id -k 0", "k = 0"),
    ] {
        let refused = folder.refused(line);
        assert!(refused.contains(says) && !refused.contains("listening"), "{line}: {refused}");
    }
}

/// Unreadable rows are reported and the others are added. Rows with one id are one item.
#[test]
fn rows_that_cannot_be_read_are_named_and_the_others_are_taken() {
    let folder = Folder::new("import-rows");
    let rows = [
        "a,0.1,0.2,fine,hello",
        "b,0.3,inf,,too much",
        "c,0.5",
        ",0.5,0.5,,nameless",
        "d,0.5,0.5,,\"never closed",
        "e,0.7,high,,last",
        "a,0.9,,,hello again",
    ];
    folder.write("scores.csv", &format!("post,spam,abuse,known,text\n{}\n", rows.join("\n")));
    let file = folder.path("scores.csv").display().to_string();
    let import = ["--import", &file, "--id", "post", "--golden", "known", "--log", "off"];
    let server = Server::over(&folder.path("data"), &import);
    let log = said(&server, "Next: review at http://");
    assert!(log.contains("scores: 2 new, 1 updated, 0 unchanged, 4 refused"), "{log}");
    for says in [
        "scores.csv, line 3, column `abuse`: inf is not usable",
        "scores.csv, line 4: 2 cells, but the header has 5",
        "column `post`: it is empty",
        "scores.csv, line 6: a quote",
        "1 rows repeat the id of an earlier row",
        "column `abuse`: 1 of 3 cells are not numbers, and count as missing: `high` (line 7)",
        "Reviewers see: text.",
    ] {
        assert!(log.contains(says), "{says}: {log}");
    }
    let a = server.get("/v1/queues/scores/items/a");
    assert_eq!((&a["scores"]["spam"], &a["scores"]["abuse"]), (&json!(0.9), &json!(0.2)));
    assert_eq!((&a["payload"]["text"], &a["tags"]["golden"]), (&json!("hello again"), &json!("fine")));
}

/// A client of the local socket cannot fill the server's memory with one endless line.
#[test]
fn a_line_that_never_ends_is_not_read_to_its_end() {
    use std::io::{Read, Write};
    let folder = Folder::new("endless");
    folder.ok("queue init desk --evaluators spam");
    let server = Server::over(&folder.path("desk"), &["--log", "off"]);
    let mut line = std::os::unix::net::UnixStream::connect(folder.path("desk/jurybox.sock")).unwrap();
    line.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // The server closes the connection in the middle of the line.
    let _ = line.write_all(&vec![b'a'; 4 << 20]);
    let heard = line.read(&mut [0]);
    assert!(
        !matches!(heard, Ok(1..))
            && !heard.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    );
    assert_eq!(server.get("/v1/queues/main")["counts"]["items"], 0);
}

/// Queue commands work while a server has the folder, through its local socket.
#[test]
fn queue_commands_work_while_a_server_has_the_folder() {
    let folder = Folder::new("door");
    scores(&folder, 20);
    folder.ok("queue init desk --evaluators spam,abuse --undo 0");
    let server = Server::over(&folder.path("desk"), &["--log", "off"]);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(folder.path("desk/jurybox.sock")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    let told = folder.ok("queue add desk scores.csv --id post --show text");
    assert!(told.contains("20 new, 0 updated, 0 unchanged, 0 refused"), "{told}");
    let picked: Value =
        serde_json::from_str(&folder.stdout("queue claim desk --reviewer ann -k 2 --json".split(' ')))
            .unwrap();
    let item = picked["claims"][0]["item"].as_str().unwrap().to_string();
    assert_eq!(folder.stdout("queue claim desk --reviewer ann --held".split(' ')).lines().count(), 2);
    folder.ok(&format!("queue verdict desk --reviewer ann --item {item} --reward 1"));
    folder.ok(&format!("queue verdict desk --reviewer ann --item {item} --reward 0 --revise"));
    let refused = folder.refused(&format!("queue verdict desk --reviewer bob --item {item} --reward 1"));
    assert!(refused.contains("the item is closed"), "{refused}");
    folder.ok("queue set desk -k 7 --mute abuse");
    let status: Value = serde_json::from_str(&folder.stdout("queue status desk --json".split(' '))).unwrap();
    assert_eq!((&status["config"]["k"], &status["config"]["muted"]), (&json!(7), &json!(["abuse"])));
    assert_eq!(status["counts"]["closed"], 1);
    assert_eq!(server.get("/v1/queues/main")["k"], 7);
    let report = folder.stdout("queue report desk".split(' '));
    assert!(report.contains("spam") && report.contains("reviewed"), "{report}");
    // An item without a score has no value, and can be claimed all the same.
    server.post("/v1/queues/main/items", r#"{"id": "bare"}"#);
    assert_eq!(folder.stdout("queue claim desk --reviewer cy -k 100".split(' ')).lines().count(), 19);
    assert_eq!(folder.stdout("queue export desk".split(' ')).lines().count(), 21);
    // The folder now has two queues: the error of a command without --queue lists them.
    folder.ok("queue init desk --queue second --evaluators a");
    let refused = folder.refused("queue status desk");
    assert!(refused.contains("main, second") && refused.contains("--queue"), "{refused}");
}

#[test]
fn verdicts_of_a_file_say_who_looked_and_what_was_found() {
    let folder = Folder::new("verdict-columns");
    scores(&folder, 6);
    folder.ok("queue init desk --evaluators spam,abuse --quorum 2 --label harmful=1 --label fine=0");
    folder.ok("queue add desk scores.csv --id post");
    folder.write("found.csv", "post,found,who\np1,harmful,ann\np1,harmful,bob\np2,fine,ann\np3,,ann\n");
    let told = folder.ok("queue verdict desk found.csv --id post --label-column found --reviewer-column who");
    assert!(told.contains("3 new, 0 given before, 0 refused"), "{told}");
    let told = folder.ok("queue verdict desk found.csv --id post --label-column found --reviewer-column who");
    assert!(told.contains("0 new, 3 given before, 0 refused"), "{told}");
    let rows = folder.stdout("queue export desk".split(' '));
    let row: Value =
        serde_json::from_str(rows.lines().find(|line| line.contains("\"p1\"")).unwrap()).unwrap();
    assert_eq!((&row["reward"], &row["label"]), (&json!(1.0), &json!("harmful")));
    // The advice names the right options for words in a column of rewards, and for a word without a
    // reward.
    let refused =
        folder.refused("queue verdict desk found.csv --id post --reward-column found --reviewer-column who");
    for says in ["`harmful` (line 2), `fine` (line 4)", "--label-column found", "--label fine=NUMBER`"] {
        assert!(refused.contains(says) && !refused.contains("--ignore"), "{says}: {refused}");
    }
    folder.write("odd.csv", "post,found\np5,unsure\n");
    folder.ok("queue init other --evaluators spam,abuse");
    folder.ok("queue add other scores.csv --id post");
    let refused = folder.refused("queue verdict other odd.csv --id post --label-column found --reviewer ann");
    assert!(refused.contains("queue set DIR --label WORD=NUMBER"), "{refused}");
    folder.write("nobody.csv", "post,found,who\np4,fine,\n");
    let refused =
        folder.refused("queue verdict desk nobody.csv --id post --label-column found --reviewer-column who");
    assert!(refused.contains("p4: the verdict has no reviewer"), "{refused}");
}

#[test]
fn a_report_says_what_verdicts_cannot_tell_yet() {
    let folder = Folder::new("not-yet");
    scores(&folder, 6);
    folder.ok("queue init desk --evaluators spam,abuse --undo 0 --settle 0");
    folder.ok("queue add desk scores.csv --id post");
    let told = folder.stdout("queue report desk".split(' '));
    assert!(
        told.contains("spam       unknown") && told.contains("No verdict has been learnt from"),
        "{told}"
    );
    folder.ok("queue verdict desk --reviewer ann --item p1 --reward 1");
    let told = folder.stdout("queue report desk".split(' '));
    assert!(told.contains("unbounded: the verdicts do not determine the weight yet"), "{told}");
    assert!(!told.contains("unknown") && told.contains("learnt from 1 verdict;"), "{told}");
}

/// Scores of a removed evaluator are ignored. An item with an unknown evaluator is refused.
#[test]
fn scores_of_a_removed_evaluator_are_passed_over() {
    let folder = Folder::new("removed");
    scores(&folder, 3);
    folder.ok("queue init desk --evaluators spam,abuse");
    folder.ok("queue set desk --evaluators spam");
    let server = Server::over(&folder.path("desk"), &["--log", "off"]);
    let items = r#"{"items": [{"id": "x", "scores": {"spam": 0.5, "abuse": 0.5}}, {"id": "y", "scores": {"spma": 0.5}}]}"#;
    let answer = server.post("/v1/queues/main/items", items);
    assert_eq!((&answer["accepted"], &answer["ignored_scores"]), (&json!(1), &json!(1)));
    assert_eq!(answer["rejected"][0]["why"], "there is no evaluator `spma`; did you mean `spam`?");
}

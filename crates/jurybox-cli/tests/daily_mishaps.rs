//! Mishaps of the daily loop: outputs named like inputs, readers that leave, renamed files, items
//! picked twice, states of other users, pipes in place of files.
#![cfg(unix)]

mod folder;

use folder::{Folder, rows};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

fn mkfifo(folder: &Folder, name: &str) {
    assert!(Command::new("mkfifo").arg(folder.path(name)).status().unwrap().success());
}

fn zipped(text: &[u8]) -> Vec<u8> {
    let mut child =
        Command::new("gzip").arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let text = text.to_vec();
    let writer = std::thread::spawn(move || pipe.write_all(&text).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output.stdout
}

/// A folder with a state that `pick` created, its picks, and verdicts on them.
fn desk(name: &str, policy: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("h.csv", &rows(0));
    folder.write("verdicts.csv", "id,found\nf0i7,1\nf0i1,0\nf0i4,0\n");
    folder.ok(&format!(
        "pick h.csv --id id --ignore verdict -k 10 --policy {policy} --state s.json --out picks.csv"
    ));
    folder
}
#[test]
fn no_output_takes_the_place_of_a_state() {
    let folder = desk("over-state", "lin-ucb");
    let state = fs::read(folder.path("s.json")).unwrap();
    symlink("s.json", folder.path("link")).unwrap();
    for line in [
        "rank h.csv --id id --reward verdict --state s.json --out s.json",
        "rank h.csv --id id --reward verdict --all --state s.json --out link",
        "report h.csv --id id --reward verdict --state s.json --out s.json",
        "report h.csv --id id --reward verdict --state s.json --out link",
        "replay h.csv --id id --reward verdict --state s.json --html s.json",
        "replay h.csv --id id --reward verdict --state s.json --picks link",
        "pick h.csv --id id --ignore verdict --state s.json --out link",
        "pick h.csv --id id --ignore verdict --state new.json --out ./new.json",
        "replay h.csv --id id --reward verdict --html new.html --svg new.html",
    ] {
        let messages = folder.refused(line);
        assert!(messages.contains("this would overwrite"), "{line}: {messages}");
        assert_eq!(fs::read(folder.path("s.json")).unwrap(), state, "{line}");
        assert!(!folder.path("new.json").exists() && !folder.path("new.html").exists(), "{line}");
    }
}

/// A compressed file of one endless record is refused before all of it is in memory.
#[test]
fn a_compressed_stream_is_looked_at_in_bounded_memory() {
    let folder = Folder::new("bomb");
    let mut bomb = zipped(b"a,b\n");
    let part = zipped(&vec![b'0'; 1 << 24]);
    for _ in 0..64 {
        bomb.extend(&part);
    }
    fs::write(folder.path("bomb.csv.gz"), bomb).unwrap();
    let jurybox = env!("CARGO_BIN_EXE_jurybox");
    for from in ["bomb.csv.gz", "- < bomb.csv.gz"] {
        // Unzipped, the file has 1 GiB of zeros. The address space is limited to 1,000,000 KiB,
        // which is less.
        let line = format!("ulimit -v 1000000; {jurybox} rank --weights a=1,b=1 --threads 1 {from}");
        let output = Command::new("sh").args(["-c", &line]).current_dir(&folder.0).output().unwrap();
        let messages = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{from}: {messages}");
        assert!(messages.contains("a record of more than 67108864 bytes"), "{from}: {messages}");
    }
}

/// A round is not counted if the reader of the picks leaves before the last one.
#[test]
fn picks_that_were_not_read_are_not_counted() {
    let folder = Folder::new("left");
    let lines: Vec<String> = (0..20_000).map(|i| format!("i{i},{},{}\n", i % 97, i % 89)).collect();
    folder.write("big.csv", &format!("id,a,b\n{}", lines.concat()));
    let mut child = folder
        .command("pick big.csv --id id -k 20000 --policy average --state s.json -q")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(messages.contains("the round is not counted"), "{messages}");
    assert!(!folder.path("s.json").exists());
}

/// An item picked in two rounds is learnt once, whether `learn` gets the picks in one call or two.
#[test]
fn an_item_picked_in_two_rounds_is_learnt_once_however_the_calls_are_cut() {
    let folder = desk("two-rounds", "lin-ucb");
    folder.write("later.csv", &rows(0).replace("f0i1,", "f0i11,"));
    folder.ok("pick later.csv --id id --ignore verdict -k 10 --state s.json --out picks-2.csv");
    fs::copy(folder.path("s.json"), folder.path("cut.json")).unwrap();
    let learn = |picks: &str, state: &str| {
        folder.ok(&format!(
            "learn --picks {picks} --verdicts verdicts.csv --id id --reward found --state {state}"
        ))
    };
    let told = "were picked more than once; a verdict counts once";
    assert!(learn("picks.csv picks-2.csv", "s.json").contains(told));
    assert!(learn("picks.csv", "cut.json").contains("Learnt from 3 new verdicts"));
    let messages = learn("picks-2.csv", "cut.json");
    assert!(messages.contains("Learnt from 0 new verdicts") && messages.contains(told), "{messages}");
    assert!(messages.contains("2 verdicts were learnt before"), "{messages}");
    assert_eq!(folder.seen("s.json")["used"], 3);
    assert_eq!(fs::read(folder.path("s.json")).unwrap(), fs::read(folder.path("cut.json")).unwrap());
}

#[test]
fn rows_that_were_picked_from_are_not_shown_again() {
    let folder = desk("shown-again", "lin-ucb");
    let before = folder.seen("s.json");
    for line in [
        "learn h.csv --id id --ignore verdict --state s.json",
        "learn h.csv --id id --reward verdict --state s.json",
    ] {
        let messages = folder.refused(line);
        assert!(
            messages.contains("h.csv: the state has picked from these rows") && messages.contains("--picks"),
            "{messages}"
        );
    }
    let messages = folder.refused("learn picks.csv --id id --ignore verdict --state s.json");
    assert!(messages.contains("these are picks") && messages.contains("--picks"), "{messages}");
    assert_eq!(folder.seen("s.json"), before);

    // Without the evaluator `b` the round gets another id, but its rows are recognised.
    folder.write("more.csv", &rows(1));
    folder.ok("learn more.csv --id id --reward verdict --drop b --evaluators a --state s.json");
    let before = folder.seen("s.json");
    let messages = folder.ok("pick h.csv --id id --ignore verdict,b -k 2 --state s.json --out again.csv");
    assert!(messages.contains("does not count them again"), "{messages}");
    assert_eq!(folder.seen("s.json"), before);
}

#[test]
fn a_file_is_known_again_compressed_and_through_a_pipe() {
    let folder = Folder::new("known-again");
    folder.write("0.csv", &rows(0));
    let zipped = zipped(rows(0).as_bytes());
    fs::write(folder.path("0.csv.gz"), &zipped).unwrap();
    folder.ok("learn 0.csv --id id --reward verdict --state s.json --policy lin-ucb");
    let state = fs::read(folder.path("s.json")).unwrap();
    let again = "skipped, because it was learnt before";
    assert!(folder.ok("learn 0.csv.gz --id id --reward verdict --state s.json").contains(again));
    for text in [rows(0).into_bytes(), zipped] {
        let mut child = folder
            .command("learn - --id id --reward verdict --state s.json")
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&text).unwrap();
        let output = child.wait_with_output().unwrap();
        let messages = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && messages.contains(again), "{messages}");
    }
    assert_eq!(fs::read(folder.path("s.json")).unwrap(), state);
}

#[test]
fn a_row_without_an_id_is_refused_where_ids_are_needed() {
    let folder = desk("no-id", "lin-ucb");
    folder.write("noid.csv", "a,b\n1,2\n");
    folder.write("empty.csv", "id,a,b\nx,1,2\n,3,4\n");
    let messages = folder.refused("pick h.csv noid.csv --id id --ignore verdict --state new.json");
    assert!(messages.contains("noid.csv, row 1: there is no id in column `id`"), "{messages}");
    let messages = folder.refused("pick empty.csv --id id --state new.json");
    assert!(messages.contains("empty.csv, row 2: there is no id in column `id`"), "{messages}");
    assert!(!folder.path("new.json").exists());
    folder.write("verdicts.csv", "id,found\n,\nf0i7,1\n,0\n");
    let learn = "learn --picks picks.csv --verdicts verdicts.csv --id id --reward found --state s.json";
    let messages = folder.refused(learn);
    assert!(messages.contains("verdicts.csv, row 3: there is no id"), "{messages}");
    let picks = fs::read_to_string(folder.path("picks.csv")).unwrap();
    folder.write("picks.csv", &picks.replace(",f0i4,", ",,"));
    folder.write("verdicts.csv", "id,found\nf0i7,1\n");
    assert!(folder.refused(learn).contains("there is no id in column `id`"));
}

/// An administrator who changes another user's state leaves it with its owner.
#[test]
fn a_state_stays_with_its_owner_and_so_does_its_lock() {
    if !is_root() {
        return;
    }
    let folder = desk("owner", "lin-ucb");
    let jurybox = folder.path("jurybox");
    fs::copy(env!("CARGO_BIN_EXE_jurybox"), &jurybox).unwrap();
    fs::remove_file(folder.path(".s.json.lock")).unwrap();
    let state = folder.path("s.json");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o600)).unwrap();
    chown(&state, Some(NOBODY), Some(NOBODY)).unwrap();
    folder.write("1.csv", &rows(1));
    folder.ok("learn 1.csv --id id --reward verdict --state s.json");
    for name in ["s.json", ".s.json.lock"] {
        let about = fs::metadata(folder.path(name)).unwrap();
        assert_eq!((about.uid(), about.gid(), about.mode() & 0o777), (NOBODY, NOBODY, 0o600), "{name}");
    }
    // A lock file of another user still locks, although it can only be read.
    chown(folder.path(".s.json.lock"), Some(0), Some(0)).unwrap();
    fs::set_permissions(folder.path(".s.json.lock"), fs::Permissions::from_mode(0o644)).unwrap();
    chown(&folder.0, Some(NOBODY), Some(NOBODY)).unwrap();
    folder.write("2.csv", &rows(2));
    let output = Command::new(&jurybox)
        .args("learn 2.csv --id id --reward verdict --state s.json".split(' '))
        .current_dir(&folder.0)
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(folder.seen("s.json")["rounds"], 3);
}

/// A path is inspected before it is opened, because opening a pipe would wait for its other end.
#[test]
fn pipes_in_the_way_are_not_waited_for() {
    let folder = desk("pipes", "lin-ucb");
    folder.write("1.csv", &rows(1));
    mkfifo(&folder, ".jurybox-x.part");
    folder.ok("learn 1.csv --id id --reward verdict --state s.json");
    mkfifo(&folder, "pipe.json");
    for line in [
        "learn 1.csv --id id --reward verdict --state pipe.json --wait 0",
        "pick h.csv --id id --ignore verdict --state pipe.json --wait 0",
    ] {
        let messages = folder.refused(line);
        assert!(messages.contains("pipe.json: not a plain file"), "{messages}");
    }
    fs::remove_file(folder.path(".s.json.lock")).unwrap();
    mkfifo(&folder, ".s.json.lock");
    let messages = folder.refused("learn 1.csv --id id --reward verdict --state s.json --wait 0");
    assert!(messages.contains("cannot lock: it is not a regular file"), "{messages}");
}

#[test]
fn the_policy_that_began_a_state_can_be_named_every_hour() {
    let folder = Folder::new("every-hour");
    for of in 0..3 {
        folder.write("hour.csv", &rows(of));
        folder.ok("pick hour.csv --id id --ignore verdict -k 2 --policy adaptive(inverted=[1]) --state s.json --out p.csv");
    }
    let messages = folder.refused(
        "pick hour.csv --id id --ignore verdict --policy adaptive --state s.json --invert a --out p.csv",
    );
    assert!(messages.contains("`a`"), "{messages}");
    let messages = folder.refused("pick hour.csv --id id --ignore verdict --policy esag --state s.json");
    assert!(messages.contains("the state was learnt by `adaptive`, not by `esag`"), "{messages}");
}

#[test]
fn a_pick_at_the_end_of_time_leaves_room_for_the_next() {
    let folder = desk("end-of-time", "lin-ucb");
    let picks = fs::read_to_string(folder.path("picks.csv")).unwrap();
    let at = |time: u64| {
        let later = picks.replace(",false,0,r", &format!(",false,{time},r"));
        assert_ne!(later, picks);
        folder.write("picks.csv", &later);
    };
    let learn = "learn --picks picks.csv --verdicts verdicts.csv --id id --reward found --state s.json";
    at((1 << 62) + 1);
    let messages = folder.refused(learn);
    assert!(messages.contains("picks.csv, row ") && messages.contains("column `picked_at`"), "{messages}");
    at(1 << 62);
    folder.ok(learn);
    folder.write("1.csv", &rows(1));
    folder.ok("pick 1.csv --id id --ignore verdict -k 2 --state s.json --out p.csv");
    folder.write("2.csv", &rows(2));
    folder.ok("learn 2.csv --id id --ignore verdict --state s.json");
}

#[test]
fn what_is_written_through_has_no_lock() {
    let folder = desk("no-lock", "lin-ucb");
    for out in ["-", "/dev/stdout"] {
        let output = folder.run(&format!("merge s.json --out {out}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8(output.stdout).unwrap().contains("\"format\": \"jurybox-state\""));
    }
    folder.ok("merge s.json --out /dev/null");
    folder.refused("merge s.json --out .");
    for litter in [".-.lock", "..lock"] {
        assert!(!folder.path(litter).exists(), "{litter}");
    }
    assert!(!fs::exists("/dev/.null.lock").unwrap());
}

#[test]
fn a_document_about_a_state_is_not_called_like_a_state() {
    let folder = desk("documents", "lin-ucb");
    for (line, format) in [
        (
            "learn --picks picks.csv --verdicts verdicts.csv --id id --reward found --state s.json --json",
            "jurybox-learn",
        ),
        ("merge s.json --out t.json --json", "jurybox-merge"),
    ] {
        let document: serde_json::Value = serde_json::from_slice(&folder.run(line).stdout).unwrap();
        assert_eq!(document["format"], format);
    }
    let state: serde_json::Value = serde_json::from_slice(&fs::read(folder.path("t.json")).unwrap()).unwrap();
    assert_eq!(state["format"], "jurybox-state");
}

#[test]
fn a_round_keeps_the_time_it_had() {
    let folder = desk("time", "average");
    let pick = "pick h.csv --id id --ignore verdict -k 10 --state s.json --at 99 --out again.csv";
    assert!(folder.ok(pick).contains("the time 99 is ignored"));
    let read = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    assert_eq!(read("again.csv"), read("picks.csv"));
}

#[test]
fn a_bad_receipt_is_named_by_file_row_and_id_and_shown_in_short() {
    let folder = desk("receipts", "exp4p");
    let picks = fs::read_to_string(folder.path("picks.csv")).unwrap();
    let learn = "learn --picks picks.csv --verdicts verdicts.csv --id id --reward found --state s.json";
    let id_first = picks.lines().nth(1).unwrap().split(',').rev().nth(3).unwrap().to_string();
    folder.write("verdicts.csv", &format!("id,found\n{id_first},1\n"));
    let (before, after) = picks.split_once("inclusion_probability\"\":").unwrap();
    let rest = after.split_once(',').unwrap().1;
    folder.write("picks.csv", &format!("{before}inclusion_probability\"\":1e-300,{rest}"));
    let messages = folder.refused(learn);
    assert!(
        messages.contains(&format!("picks.csv, row 1, item `{id_first}`: its receipt is refused")),
        "{messages}"
    );
    assert!(messages.contains("1e-300") && messages.len() < 300, "{messages}");
    folder.write("picks.csv", &format!("{before}{}\"\":{after}", "x".repeat(5000)));
    let messages = folder.refused(learn);
    assert!(messages.contains("picks.csv, row 1, column `receipt`") && messages.len() < 400, "{messages}");
}

/// An hour without verdicts is no error, so that a scheduled job raises no alert.
#[test]
fn a_file_without_verdicts_is_nothing_to_learn_and_no_error() {
    let folder = desk("no-verdicts", "lin-ucb");
    let before = fs::read(folder.path("s.json")).unwrap();
    folder.write("none.csv", "id,found\n");
    folder.write("nothing.csv", "");
    let learn = "learn --picks picks.csv --id id --reward found --state s.json";
    let messages = folder.ok(&format!("{learn} --verdicts none.csv nothing.csv"));
    assert!(messages.contains("no verdicts yet"), "{messages}");
    assert_eq!(fs::read(folder.path("s.json")).unwrap(), before);
    assert!(
        folder
            .ok(&format!("{learn} --verdicts none.csv verdicts.csv"))
            .contains("Learnt from 3 new verdicts")
    );
    assert!(folder.refused(&format!("{learn} --verdicts absent.csv")).contains("absent.csv"));
}

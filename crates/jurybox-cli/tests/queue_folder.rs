//! A queue in a folder: concurrent commands, revised verdicts, refusals, full disks, read-only
//! folders, archives.

mod folder;

use folder::{Folder, rows};
use std::process::{Command, Stdio};

fn made(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.ok("queue init desk --evaluators a,b -k 2 --undo 0");
    folder.write("items.csv", &rows(0));
    folder.ok("queue add desk items.csv --id id --ignore verdict");
    folder
}

fn counts(folder: &Folder) -> serde_json::Value {
    let output = folder.run("queue status desk --json");
    serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()["counts"].clone()
}

/// A repeated `queue init` succeeds, although `queue add` has stored its columns since.
#[test]
fn init_repeated_changes_nothing() {
    let folder = made("made-again");
    folder.ok("queue init desk --evaluators a,b -k 2 --undo 0");
    assert!(
        folder
            .refused("queue init desk --evaluators a,b -k 3 --undo 0")
            .contains("exists already, with another configuration")
    );
    let again = folder.ok("queue add desk items.csv");
    assert!(again.contains("0 new, 0 updated, 10 unchanged"), "{again}");
}

#[test]
fn commands_all_at_once_take_turns_and_share_nothing_out_twice() {
    let folder = made("all-at-once");
    let pick = |r| {
        folder.command(&format!("queue claim desk --reviewer r{r}")).stdout(Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<_> = (0..5).map(pick).collect();
    let mut given: Vec<String> = Vec::new();
    for process in running {
        let text = String::from_utf8(process.wait_with_output().unwrap().stdout).unwrap();
        given.extend(text.lines().map(String::from));
    }
    assert_eq!(given.len(), 10);
    given.sort();
    given.dedup();
    assert_eq!(given.len(), 10);
    assert_eq!(counts(&folder)["leased"], 10);
    folder.ok("server verify desk");
}

#[test]
fn a_pick_with_a_key_is_the_same_pick_again() {
    let folder = made("same-key");
    let pick = || String::from_utf8(folder.run("queue claim desk --reviewer ann --key k1").stdout).unwrap();
    assert_eq!(pick(), pick());
    assert_eq!(counts(&folder)["leased"], 2);
}

#[test]
fn a_file_of_revisions_is_taken_whole_and_ids_may_have_slashes() {
    let folder = Folder::new("revisions");
    folder.ok("queue init desk --evaluators a -k 9 --undo 0");
    folder.write("items.csv", "id,a\nhttp://x/1,1\nhttp://x/2,2\nhttp://x/3,3\n");
    folder.ok("queue add desk items.csv --id id");
    folder.ok("queue claim desk --reviewer ann");
    let rewards = |given: [u8; 3], revise: &str, said: &str| {
        let rows: Vec<String> =
            (1..=3).zip(given).map(|(i, reward)| format!("http://x/{i},{reward}")).collect();
        folder.write("v.csv", &format!("id,found\n{}\n", rows.join("\n")));
        let line = format!("queue verdict desk v.csv --id id --reward-column found --reviewer ann {revise}");
        let told = folder.ok(&line);
        assert!(told.contains(said), "{told}");
    };
    rewards([0, 0, 0], "", "3 new, 0 given before, 0 refused");
    rewards([0, 1, 1], "--revise", "2 new, 1 given before, 0 refused");
    rewards([0, 0, 1], "--revise", "1 new, 2 given before, 0 refused");
    rewards([1, 1, 1], "--revise", "2 new, 1 given before, 0 refused");
    // Item 1 comes three times; each row replaces its verdict. The verdict on item 2 is not new.
    folder.write("v.csv", "id,found\nhttp://x/1,0\nhttp://x/2,1\nhttp://x/1,1\nhttp://x/1,0\n");
    let line = "queue verdict desk v.csv --id id --reward-column found --reviewer ann --revise";
    let told = folder.ok(line);
    assert!(told.contains("3 new, 1 given before, 0 refused"), "{told}");
    rewards([0, 1, 1], "--revise", "0 new, 3 given before, 0 refused");
    folder.ok("server verify desk");
}

#[test]
fn names_with_slashes_make_no_two_verdicts_one() {
    let folder = Folder::new("slashes");
    folder.ok("queue init desk --evaluators a -k 9 --undo 0");
    folder.write("items.csv", "id,a\na/b,1\na,2\n");
    folder.ok("queue add desk items.csv --id id");
    for (item, reviewer) in [("a/b", "c"), ("a", "b/c")] {
        let told = folder.ok(&format!("queue verdict desk --item {item} --reviewer {reviewer} --reward 1"));
        assert!(told.contains("1 new, 0 given before, 0 refused"), "{told}");
    }
}

#[test]
#[cfg(unix)]
fn a_full_disk_is_reported_and_nothing_is_lost() {
    let folder = made("full-disk");
    let before = counts(&folder);
    let many: Vec<String> = (0..20_000).map(|i| format!("big{i},{},{}", i % 7, i % 5)).collect();
    folder.write("many.csv", &format!("id,a,b\n{}\n", many.join("\n")));
    // A limit on file sizes stands for a full disk.
    let line = format!(
        "trap '' XFSZ; ulimit -f 400; exec {} queue add desk many.csv --id id",
        env!("CARGO_BIN_EXE_jurybox")
    );
    let output = Command::new("bash").args(["-c", &line]).current_dir(&folder.0).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("error: the disk of the database is full: "), "{said}");
    folder.ok("server verify desk");
    let between = counts(&folder)["items"].as_u64().unwrap();
    assert_eq!(between % 5000, before["items"].as_u64().unwrap() % 5000, "whole entries or none: {between}");
    assert!(between < 20_000);
    // With room again, the same command adds the remaining items.
    folder.ok("queue add desk many.csv --id id");
    assert_eq!(counts(&folder)["items"], 20_010);
    folder.ok("server verify desk");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_made() {
    let folder = made("no-sense");
    assert!(
        folder
            .refused("queue init other --evaluators a,b --policy eps-greedy")
            .contains("`eps-greedy` picks at random")
    );
    assert!(!folder.path("other").exists());
    assert!(
        folder
            .refused("queue init desk --evaluators a,b,c")
            .contains("exists already, with another configuration")
    );
    assert!(folder.refused("queue status nowhere").contains("no queue"));
    assert!(folder.refused("queue claim desk --reviewer ann --tag language").contains("NAME=VALUE"));
    assert!(folder.refused("queue verdict desk --reviewer ann --item nobody --reward 1").contains("no item"));
    assert!(
        folder.refused("queue verdict desk --reviewer ann --item f0i1 --reward inf").contains("reward inf")
    );
}

/// A command that runs as a user to whom file permissions apply. They do not apply to root.
#[cfg(unix)]
fn as_anybody(folder: &Folder, line: &str) -> Command {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    let given = folder.command(line);
    if std::fs::metadata(&folder.0).unwrap().uid() != 0 {
        return given;
    }
    let own = folder.path("jurybox");
    if !own.exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_jurybox"), &own).unwrap();
    }
    let mut command = Command::new(own);
    command.args(given.get_args()).current_dir(&folder.0).stdin(Stdio::null()).uid(65534);
    command
}

#[test]
#[cfg(unix)]
fn a_folder_that_cannot_be_written_to_is_proved_as_it_is_and_nothing_is_put_into_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = made("read-only");
    folder.ok("queue claim desk --reviewer ann");
    let rights = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let desk = folder.path("desk");
    let listed = || {
        let mut files: Vec<_> =
            std::fs::read_dir(&desk).unwrap().map(|file| file.unwrap().file_name()).collect();
        files.sort();
        (files, std::fs::read(desk.join("jurybox.sqlite")).unwrap())
    };
    let before = listed();
    for file in &before.0 {
        rights(&desk.join(file), 0o444);
    }
    rights(&desk, 0o555);
    let output = as_anybody(&folder, "server verify desk --json").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("desk: read-only; it is read as it is"), "{said}");
    let proof: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&proof["ok"], &proof["read_only"]), (&true.into(), &true.into()));
    assert_eq!(proof["queues"][0]["claims"], 1);
    assert_eq!(listed(), before);
    // With a journal that cannot be read, the database would be seen in an earlier state.
    rights(&desk, 0o755);
    std::fs::write(desk.join("jurybox.sqlite-wal"), "something").unwrap();
    rights(&desk, 0o555);
    let output = as_anybody(&folder, "server verify desk").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("the journal beside the database"), "{said}");
    rights(&desk, 0o755);
}

#[test]
fn a_proof_goes_on_from_the_document_of_an_earlier_one() {
    let folder = made("since");
    folder.ok("queue claim desk --reviewer ann");
    folder.write("proof.json", &folder.stdout(["server", "verify", "desk", "--json"]));
    folder.ok("queue claim desk --reviewer bob");
    let said = folder.stdout(["server", "verify", "desk", "--since", "proof.json", "--strict"]);
    assert!(
        said.contains("2 claims, 1 verified") && said.contains("1 claims were verified before"),
        "{said}"
    );
    let said = folder.stdout(["server", "verify", "desk", "--since", "4"]);
    assert!(said.contains("1 claims were not checked, because of --since"), "{said}");
    assert!(folder.refused("server verify desk --since 4 --strict").contains("1 claims were not checked"));
    let refused = folder.refused("server verify desk --since items.csv");
    assert!(refused.contains("items.csv: neither the number of an entry"), "{refused}");
}

/// The error for a folder whose only queue was archived mentions the archive.
#[test]
fn a_folder_whose_queue_was_archived_says_so() {
    let folder = made("archived");
    folder.ok("queue verdict desk items.csv --id id --reward-column verdict --reviewer ann");
    folder.ok("server archive desk --to archive --before 2099-01-01");
    let refused = folder.refused("queue status desk");
    for says in ["there is no queue here", "archived", "`jurybox queue init`"] {
        assert!(refused.contains(says), "{says}: {refused}");
    }
}

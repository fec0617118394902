//! Full disks: commands report them, lose nothing, and work again once there is room.
#![cfg(unix)]

mod folder;

use folder::{Folder, rows};
use std::process::{Command, Output};

/// Runs a command under a limit on file sizes, in blocks of 512 bytes: writing beyond it fails as
/// on a full disk.
fn cramped(folder: &Folder, blocks: u64, line: &str) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" {line}");
    Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_jurybox")])
        .current_dir(folder.path("."))
        .output()
        .unwrap()
}

fn messages_of(folder: &Folder, line: &str) -> String {
    folder.stdout(line.split(' '))
}

fn items(folder: &Folder) -> u64 {
    let status: serde_json::Value =
        serde_json::from_str(&messages_of(folder, "queue status desk --json -q")).unwrap();
    status["counts"]["items"].as_u64().unwrap()
}

/// Picks are written only if the state can be written. Otherwise their verdicts could not be
/// learnt.
#[test]
fn picks_are_handed_over_only_by_a_state_that_can_be_written() {
    let folder = Folder::new("full-disk-pick");
    folder.write("hour.csv", &rows(0));
    folder.ok("learn hour.csv --id id --reward verdict --state desk.json -q");
    folder.write("next.csv", &rows(1));
    let before = folder.read("desk.json");
    // Room for the picks, but not for the state.
    let line = "pick next.csv --id id --ignore verdict -k 2 --state desk.json --out picks.csv";
    for line in [line, &line.replace("--out picks.csv", "-q")] {
        let output = cramped(&folder, 4, line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{said}");
        assert!(said.contains("error: desk.json: cannot write"), "{said}");
        assert!(!folder.path("picks.csv").exists());
        assert_eq!((folder.read("desk.json"), folder.unfinished()), (before.clone(), 0));
    }
    folder.ok(line);
    assert!(folder.path("picks.csv").exists() && folder.read("desk.json") != before);
}

#[test]
fn a_queue_on_a_full_disk_loses_nothing_and_goes_on_with_room() {
    let folder = Folder::new("full-disk");
    folder.write("first.csv", &rows(0));
    let many: Vec<String> = (0..4000).map(|i| format!("m{i},0.{i},0.5")).collect();
    folder.write("many.csv", &format!("id,a,b\n{}\n", many.join("\n")));
    folder.ok("queue init desk --evaluators a,b --policy average -q");
    folder.ok("queue add desk first.csv --id id --tag verdict -q");
    let before = items(&folder);
    let mut refused = 0;
    // From 512 to 768,000 bytes per file.
    for blocks in [1, 60, 120, 250, 500, 1000, 1500] {
        let output = cramped(&folder, blocks, "queue add desk many.csv --id id");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let there = items(&folder);
        if output.status.success() {
            continue;
        }
        refused += 1;
        assert_eq!(output.status.code(), Some(1), "{blocks} blocks: {said}");
        assert!(
            // The database does not always report this limit as a full disk.
            said.contains("error: desk")
                || said.contains("the disk of the database is full")
                || said.contains("the database failed: "),
            "{blocks} blocks: {said}"
        );
        assert!(there >= before, "{blocks} blocks: {there} of {before} items are left");
        let proof = messages_of(&folder, "server verify desk");
        assert!(
            proof.contains("lost: 0, counted twice: 0; items leased twice: 0"),
            "{blocks} blocks: {proof}"
        );
    }
    assert!(refused >= 3, "refused {refused} times");
    folder.ok("queue add desk many.csv --id id -q");
    assert_eq!(items(&folder), before + 4000);
    folder.ok("queue claim desk --reviewer ann -k 3 -q");
    assert!(
        messages_of(&folder, "server verify desk")
            .contains("lost: 0, counted twice: 0; items leased twice: 0")
    );
}

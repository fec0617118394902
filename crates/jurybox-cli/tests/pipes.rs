//! Pipes: readers that leave early, and tables on standard input.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

fn jurybox(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jurybox"));
    command.args(arguments);
    command
}

fn table() -> String {
    let lines: Vec<String> = (0..60_000).map(|i| format!("i{i},{},{}\n", i % 97, i % 89)).collect();
    format!("id,a,b\n{}", lines.concat())
}

/// `jurybox rank --all | head`: a reader that leaves early is no error.
#[test]
fn a_reader_that_leaves_is_no_error() {
    let folder = std::env::temp_dir().join(format!("jurybox-pipes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("scores.csv");
    std::fs::write(&path, table()).unwrap();
    let path = path.to_str().unwrap();
    let mut child = jurybox(&["rank", path, "--all", "--weights", "a=1", "-q"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"score,id,a");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stderr, b"");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Rows from a pipe are read for fixed weights (one pass) and for a policy that surveys the scores
/// (two passes).
#[test]
fn standard_input_is_a_file_too() {
    for how in [&["--weights", "a=1,b=1"][..], &["--policy", "esag"][..]] {
        let mut arguments = vec!["rank", "-", "-k", "2", "-q", "--json"];
        arguments.extend(how);
        let mut child = jurybox(&arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(table().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["rows"], 60_000);
        assert_eq!(document["ranked"].as_array().unwrap().len(), 2);
    }
}

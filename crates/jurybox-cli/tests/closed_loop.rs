//! `replay --probability` reads the log that `pick --all` writes.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a command that must succeed, and returns its standard output.
fn jurybox(folder: &Path, line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_jurybox"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_log_of_picks_is_replayed() {
    let folder = std::env::temp_dir().join(format!("jurybox-loop-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (mut rows, mut looked_at, mut found) = (0, 0, 0.0);
    for hour in 0..30 {
        // `good` predicts the verdict, `noise` does not.
        let posts = (0..20).map(|post| {
            let bad = (post * 7 + hour * 3) % 5 == 0;
            let noise = (post * 13 + hour * 11) % 17;
            format!("h{hour}p{post},{},0.{noise:02},{}\n", if bad { 0.9 } else { 0.2 }, u8::from(bad))
        });
        let posts: Vec<String> = posts.collect();
        let verdict = |id: &str| {
            let line = posts.iter().find(|line| line.split(',').next() == Some(id)).unwrap();
            line.trim().rsplit(',').next().unwrap().parse::<f64>().unwrap()
        };
        let shown: Vec<&str> = posts.iter().map(|line| line.trim().rsplit_once(',').unwrap().0).collect();
        fs::write(folder.join("hour.csv"), format!("post,good,noise\n{}\n", shown.join("\n"))).unwrap();
        jurybox(
            &folder,
            "pick hour.csv -k 5 --id post --state desk.json --policy eps-greedy(eps=0.4) --all --out log.jsonl -q",
        );
        let log = fs::read_to_string(folder.join("log.jsonl")).unwrap();
        let mut lines = Vec::new();
        for line in log.lines() {
            let mut row: Value = serde_json::from_str(line).unwrap();
            rows += 1;
            // Only picked rows have a verdict.
            row["verdict"] = if row["rank"].is_null() {
                Value::Null
            } else {
                let verdict = verdict(row["post"].as_str().unwrap());
                looked_at += 1;
                found += verdict;
                json!(verdict)
            };
            lines.push(row.to_string());
        }
        fs::write(folder.join(format!("log-{hour:02}.jsonl")), lines.join("\n")).unwrap();
    }
    assert_eq!((rows, looked_at), (600, 150));
    let document = jurybox(
        &folder,
        "replay log-*.jsonl --id post --reward verdict --probability probability --round round -k 5 --policies average,rand --json",
    );
    let document: Value = serde_json::from_str(&document).unwrap();
    let text = document.to_string();
    assert!(text.contains("\"average\"") && text.contains("\"rand\""), "{text}");
    assert_eq!(document["rows"], json!(600), "{text}");
    // One post in five is bad. Among the picks, it is more than one in five.
    assert!(found / 150.0 > 0.2, "exploring finds some: {found}");
    fs::remove_dir_all(&folder).unwrap();
}

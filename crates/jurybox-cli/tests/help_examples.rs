//! Runs every example in the long help of every subcommand.
#![cfg(unix)]

mod folder;

use folder::Folder;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

/// Whether a command serves until it is killed.
fn never_ends(line: &str) -> bool {
    line.starts_with("jurybox serve ") || line.contains("demo --serve")
}

fn help(folder: &Folder, command: &[String]) -> String {
    folder.stdout(command.iter().map(String::as_str).chain(["--help"]))
}

/// The names of the subcommands that a help text lists.
fn subcommands(help: &str) -> Vec<String> {
    let lists = help.split("\nOptions:").next().unwrap_or_default();
    let lists = lists.split_once("\nUsage:").map_or("", |(_, rest)| rest);
    if lists.contains("\nArguments:") {
        return Vec::new();
    }
    let is_entry = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let names = lists.lines().filter(is_entry).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(String::from).collect()
}

/// The lines of the section `Examples:` that are commands.
fn examples(help: &str) -> Vec<String> {
    let section = help.split_once("\nExamples:\n").map_or("", |(_, rest)| rest);
    let lines = section.lines().take_while(|line| line.starts_with("  ")).map(str::trim);
    lines.filter(|line| line.starts_with("jurybox ")).map(String::from).collect()
}

/// Posts with three scores, a language, a date and a text. If `verdicts` is set, they also have two
/// columns of verdicts and a probability.
fn posts(rows: usize, first: usize, verdicts: bool) -> String {
    let even = |i: usize, step: f64| (i as f64 * step).fract();
    let mut text = String::from("post_id,spam,abuse,reports,language,created,text");
    text += if verdicts { ",verdict,harmful,p\n" } else { "\n" };
    for i in first..first + rows {
        let harmful = even(i, 0.618_033_988_75) < 0.3;
        let shift = if harmful { 0.5 } else { 0.0 };
        let _ = write!(
            text,
            "p{i},{:.4},{:.4},{:.4},{},2026-11-{:02},text of {i}",
            even(i, 0.414_213_562_37) + shift,
            even(i, 0.732_050_807_57) + shift,
            even(i, 0.236_067_977_5),
            ["en", "de"][i % 2],
            1 + i % 28,
        );
        if verdicts {
            let reviewed = i % 2 == 0;
            let harmful = if reviewed { u8::from(harmful).to_string() } else { String::new() };
            let _ = write!(text, ",{},{harmful},0.5", u8::from(shift > 0.0));
        }
        text.push('\n');
    }
    text
}

/// A folder with the files, states, queues and keys that the examples read.
fn prepared() -> Folder {
    let folder = Folder::new("examples");
    for (name, first) in [("posts.csv", 0), ("hour.csv", 0), ("next-hour.csv", 200)] {
        folder.write(name, &posts(120, first, false));
    }
    folder.write("history.csv", &posts(200, 1000, true));
    folder.write("month.csv", &posts(400, 2000, true).replace(",verdict,", ",other,"));
    folder.write("verdicts.csv", "post_id,verdict,who\np1,1,ann\np2,0,ann\n");
    let mut log = String::from("round,a,b,verdict,p\n");
    for round in 0..60 {
        for item in 0..4 {
            let (a, b) = ((round * 7 + item * 3) % 10, (round * 3 + item * 7) % 11);
            let verdict = if item == round % 4 { u8::from(a > 4).to_string() } else { String::new() };
            let _ = writeln!(log, "{round},{a},{b},{verdict},0.25");
        }
    }
    folder.write("log.csv", &log);
    let learn = "learn history.csv --id post_id --ignore harmful,p --reward verdict";
    for state in ["model", "north"] {
        folder.ok(&format!("{learn} --state {state}.json"));
    }
    for (state, first) in [("south", 3000), ("west", 4000), ("all", 5000)] {
        folder.write("site.csv", &posts(100, first, true));
        folder.ok(&format!(
            "learn site.csv --id post_id --ignore harmful,p --reward verdict --state {state}.json"
        ));
    }
    folder.ok("pick hour.csv --id post_id -k 100 --state model.json --out picks.csv");
    let settings = "--evaluators spam,abuse,reports --label yes=1 --label no=0";
    folder.ok(&format!("queue init review {settings} --random-check-rate 0.02"));
    folder.ok("queue add review hour.csv --id post_id --tag language --show text");
    folder.ok(&format!("queue init jurybox-data --queue posts {settings}"));
    folder.ok("queue add jurybox-data --queue posts posts.csv --id post_id");
    for key in ["ann --role review --reviewer ann", "intake --role write"] {
        folder.ok(&format!("server key add {key}"));
    }
    fs::write(folder.path("proof.json"), folder.stdout("server verify review --json -q".split(' '))).unwrap();
    folder.ok("server backup review review-copy.sqlite");
    folder
}

/// Copies a folder with its subfolders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (entry, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if entry.is_dir() {
            copy(&entry, &target);
        } else {
            fs::copy(&entry, &target).unwrap();
        }
    }
}

/// Removes what the setup made if the example makes it itself.
fn make_room(folder: &Path, line: &str) {
    let made = match line {
        _ if line.starts_with("jurybox queue init") => "review",
        _ if line.starts_with("jurybox server backup review") => "review-copy.sqlite",
        _ if line.starts_with("jurybox server key add ann") => "jurybox-data",
        _ if line.starts_with("jurybox server key add intake") => "jurybox-data",
        _ => return,
    };
    let made = folder.join(made);
    let _ = if made.is_dir() { fs::remove_dir_all(made) } else { fs::remove_file(made) };
}

/// A command line, run by a shell that finds this `jurybox`.
fn shell(folder: &Path, line: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_jurybox")).parent().unwrap();
    let path = env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec {line}")]).current_dir(folder).stdin(Stdio::null());
    command.env("PATH", format!("{}:{path}", program.display())).env("HOME", folder);
    command.env("JURYBOX_PORT", "0").env("SOURCE_DATE_EPOCH", "1794787867");
    command
}

/// Runs a server until it listens, and kills it.
fn starts(folder: &Path, line: &str) {
    let mut child = shell(folder, line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut messages = Vec::new();
    let listens =
        lines.inspect(|line| messages.push(line.clone())).any(|line| line.starts_with("listening on "));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(listens, "{line}: {messages:?}");
}

/// Runs the examples of one command in a copy of the prepared folder, one after the other.
fn run_examples(prepared: &Folder, name: &str, lines: &[String]) {
    let scratch = Folder::new(&format!("example-{}", name.replace(' ', "-")));
    copy(&prepared.0, &scratch.0);
    fs::create_dir_all(scratch.path(".local/share/bash-completion/completions")).unwrap();
    fs::create_dir_all(scratch.path(".config/fish/completions")).unwrap();
    fs::create_dir_all(scratch.path(".zfunc")).unwrap();
    for line in lines {
        make_room(&scratch.0, line);
        // `man -l` may be missing, so only the part before the pipe is run.
        let line = line.split(" | man ").next().unwrap();
        if never_ends(line) {
            starts(&scratch.0, line);
            continue;
        }
        if line.starts_with("jurybox queue verdict review") {
            let claim =
                shell(&scratch.0, "jurybox queue claim review --reviewer ann -k 60").output().unwrap();
            assert!(claim.status.success(), "{claim:?}");
        }
        let output = shell(&scratch.0, line).output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {messages}");
        assert!(!messages.contains("warning: Expected"), "{line}: {messages}");
    }
}

#[test]
fn every_example_of_the_help_runs() {
    let prepared = prepared();
    let mut commands = vec![Vec::new()];
    let mut checked = 0;
    while let Some(command) = commands.pop() {
        let help = help(&prepared, &command);
        for sub in subcommands(&help) {
            commands.push([&command[..], &[sub]].concat());
        }
        let name = command.join(" ");
        let lines = examples(&help);
        if command.is_empty() {
            continue;
        }
        let wide = help.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "jurybox {name} --help");
        assert!(lines.len() >= 2, "`jurybox {name} --help` has {} examples", lines.len());
        run_examples(&prepared, &name, &lines);
        checked += 1;
    }
    assert!(checked > 30, "{checked} commands");
}

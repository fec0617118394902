//! Output on a real terminal, whose other end the test reads.
use crate::folder::Folder;
use crate::support::history;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

/// Runs a command on a pseudo-terminal, and returns all of its output. `variables` are
/// `NAME=value`.
fn on_terminal(folder: &Folder, line: &[&str], variables: &[&str]) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = File::options().read(true).write(true).open(OsStr::from_bytes(name.as_bytes())).unwrap();
    let mut command = folder.jurybox(line.iter().copied());
    command.stdout(Stdio::from(theirs.try_clone().unwrap())).stderr(Stdio::from(theirs)).env("TERM", "xterm");
    for variable in variables {
        let (name, value) = variable.split_once('=').unwrap();
        command.env(name, value);
    }
    let mut child = command.spawn().unwrap();
    drop(command);
    let (mut shown, mut from) = (Vec::new(), File::from(ours));
    // Linux reports an error, not an end of file, once the command has closed its side.
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut piece) {
        shown.extend_from_slice(&piece[..count]);
    }
    child.wait().unwrap();
    String::from_utf8(shown).unwrap()
}

#[test]
fn cells_and_names_are_shown_and_not_obeyed() {
    let folder = Folder::new("cells");
    let hostile = "sp\u{1b}[31mam";
    folder.write(
        "posts.csv",
        &format!("id,{hostile},b,verdict\np\u{1b}]0;title\u{7},1,2,1\n\u{202e}q,2,1,0\n"),
    );
    folder.write("calm.csv", &history(50));
    folder.stdout("learn calm.csv --id id --reward verdict --state model.json -q".split(' '));
    folder.write("model.json", &folder.read("model.json").replace("\"noise\"", "\"no\\u001b[2Jise\""));
    let lines: [&[&str]; 5] = [
        &["rank", "posts.csv", "--id", "id", "--reward", "verdict", "--weights", "b=1", "-k", "2"],
        &["rank", "posts.csv", "--id", "id", "--reward", "verdict", "--weights", "b=1", "-k", "2", "--json"],
        &["report", "posts.csv", "--id", "id", "--reward", "verdict"],
        &["pick", "posts.csv", "--id", "id", "--ignore", "verdict", "--state", "desk.json", "-k", "2"],
        &["rank", "calm.csv", "--id", "id", "--reward", "verdict", "--state", "model.json", "-k", "1"],
    ];
    for line in lines {
        let shown = on_terminal(&folder, line, &[]);
        let sent = |c: char| (c.is_control() && !"\r\n\t".contains(c)) || c == '\u{202e}';
        assert!(!shown.contains(sent), "{line:?}: {shown:?}");
        assert!(shown.contains("\\u001b["), "{line:?}: {shown}");
    }
    for line in [["rank", "--\u{1b}[31m\u{7}"], ["\u{1b}]0;title\u{7}", "posts.csv"]] {
        let shown = on_terminal(&folder, &line, &[]);
        assert!(shown.contains("error:") && !shown.contains(['\u{1b}', '\u{7}']), "{line:?}: {shown:?}");
    }
    // A pipe gets the cells unchanged.
    let piped = folder.stdout(lines[0].iter().copied());
    assert!(piped.contains("p\u{1b}]0;title\u{7},1,2,1"), "{piped}");
}

#[test]
fn a_terminal_that_cannot_move_or_colour_is_not_asked_to() {
    let folder = Folder::new("dumb");
    let demo = ["demo", "--out", "demo.html"];
    // On a terminal that can show colours, help has colours.
    assert!(on_terminal(&folder, &["--help"], &[]).contains("\u{1b}["));
    for variables in [&["TERM=dumb"][..], &["NO_COLOR=1"]] {
        for line in [&["--help"][..], &["rank", "--no-such"], &["policies"]] {
            let shown = on_terminal(&folder, line, variables);
            assert!(!shown.is_empty() && !shown.contains('\u{1b}'), "{variables:?} {line:?}: {shown:?}");
        }
    }
    let shown = on_terminal(&folder, &demo, &["TERM=dumb"]);
    assert!(!shown.contains('\u{1b}') && shown.contains("hour 400: found by Jurybox"), "{shown:?}");
    let long = "simulate --runs 2 --rounds 200 --policies esag";
    let shown = on_terminal(&folder, &long.split(' ').collect::<Vec<_>>(), &["TERM=dumb"]);
    assert!(!shown.contains('\u{1b}') && shown.contains("absolute regret"), "{shown:?}");
    assert!(!on_terminal(&folder, &["demo", "--out", "demo.html", "-q"], &[]).contains('\u{1b}'));
}

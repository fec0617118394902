//! What scripts rely on: exit codes, streams, `--quiet`, completions, manual pages, safe output
//! files.

use crate::folder::Folder;
use crate::support::history;
use std::process::Output;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// A folder with a history, and a state that has learnt it.
fn desk(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("history.csv", &history(200));
    folder.stdout("learn history.csv --id id --reward verdict --state model.json".split(' '));
    folder
}

#[test]
fn exit_codes_are_what_the_help_says() {
    let folder = desk("codes");
    for (line, expected) in [
        ("rank history.csv -k 2 --id id", 0),
        ("--help", 0),
        ("--version", 0),
        ("rank --help", 0),
        ("rank absent.csv", 1),
        ("rank history.csv -k 0 --id id", 1),
        ("policies no-such", 1),
        ("rank history.csv --no-such-flag", 2),
        ("rank", 2),
        ("no-such-command", 2),
        ("", 2),
    ] {
        let output = folder.output_of(line.split_whitespace());
        assert_eq!(code(&output), expected, "jurybox {line}: {}", text(&output.stderr));
        let spoken = if expected == 0 { &output.stdout } else { &output.stderr };
        assert!(!spoken.is_empty(), "jurybox {line}");
        assert!(expected == 0 || output.stdout.is_empty(), "jurybox {line}: {}", text(&output.stdout));
    }
    let help = folder.stdout(["--help"]);
    for line in ["Exit codes:", "  0 ", "  1 ", "  2 ", "  130 "] {
        assert!(help.contains(line), "{help}");
    }
}

/// `-q` changes no byte of standard output, and leaves standard error empty if nothing fails.
#[test]
fn quiet_stops_messages_and_nothing_else() {
    let folder = desk("quiet");
    folder.write("more.csv", &history(90));
    let lines = [
        "rank history.csv -k 2 --id id --reward verdict",
        "report history.csv --id id --reward verdict",
        "report history.csv --id id --reward verdict --out page.html",
        "report history.csv --id id --reward verdict --json",
        "replay history.csv --id id --reward verdict --policies average --runs 2 --items 20 -k 2",
        "replay history.csv --id id --reward verdict --policies average --runs 2 --items 20 -k 2 --html page.html",
        "merge model.json model.json --again -o sum.json",
        "learn more.csv --id id --reward verdict --state model.json --again",
        "pick history.csv --id id --ignore verdict --state desk.json -k 3 --no-observe",
        "simulate --runs 2 --rounds 20 --policies esag --out folder",
        "reproduce theorem3 --quick --runs 2 --rounds 100 --out paper",
        "demo --out demo.html",
        "policies",
        "man pages",
    ];
    for line in lines {
        let spoken = folder.output_of(line.split(' '));
        assert!(spoken.status.success(), "{line}: {}", text(&spoken.stderr));
        for quiet in ["-q", "--quiet"] {
            let silent = folder.output_of(line.split(' ').chain([quiet]));
            let first = folder.output_of([quiet].into_iter().chain(line.split(' ')));
            assert_eq!(text(&silent.stderr), "", "{line}");
            assert_eq!(text(&first.stderr), "", "{quiet} before {line}");
            assert_eq!(text(&silent.stdout), text(&spoken.stdout), "{line}");
            assert_eq!(text(&first.stdout), text(&spoken.stdout), "{line}");
        }
        let messages = text(&spoken.stderr);
        let last = messages.lines().last().unwrap_or_default();
        assert!(last.starts_with("Next: "), "{line}: {messages}");
        let has_result = !["merge", "learn", "man"].iter().any(|command| line.starts_with(command));
        assert_eq!(spoken.stdout.is_empty(), !has_result, "{line}");
    }
    // `-q` does not suppress errors.
    assert!(!folder.output_of(["rank", "absent.csv", "-q"]).stderr.is_empty());
}

#[test]
fn standard_output_holds_one_document() {
    let folder = desk("one");
    let table = "history.csv --id id --reward verdict -q";
    let page = folder.stdout(format!("report {table} --out -").split(' '));
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "{page}");
    let page = folder
        .stdout(format!("replay {table} --policies average --runs 2 --items 20 -k 2 --html -").split(' '));
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "{page}");
    for line in [
        format!("report {table} --out - --json"),
        format!("rank {table} --out /dev/stdout --json"),
        format!("replay {table} --policies average --html - --svg -"),
    ] {
        let output = folder.output_of(line.split(' '));
        assert_eq!((code(&output), text(&output.stdout)), (1, String::new()), "{line}");
        assert!(text(&output.stderr).contains("room for one document"), "{line}");
    }
}

#[test]
fn completions_and_manual_pages_come_from_the_program() {
    let folder = Folder::new("manual");
    for (shell, sign) in [
        ("bash", "complete -F _jurybox"),
        ("zsh", "#compdef jurybox"),
        ("fish", "complete -c jurybox"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = folder.stdout(["completions", shell]);
        assert!(
            script.contains(sign) && script.contains("safe-csv") && script.contains("reproduce"),
            "{shell}"
        );
    }
    assert_eq!(code(&folder.output_of(["completions", "dos"])), 2);

    let page = folder.stdout(["man"]);
    assert!(page.contains(".TH jurybox 1") && page.contains("Exit codes:"), "{page}");
    folder.stdout(["man", "deep/man1"]);
    let commands: Vec<String> = folder
        .stdout(["--help"])
        .lines()
        .skip_while(|line| *line != "Every day:")
        .take_while(|line| *line != "Options:")
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(Into::into))
        .filter(|name| name != "help")
        .collect();
    assert!(commands.len() > 10, "{commands:?}");
    for name in commands {
        let page = folder.read(&format!("deep/man1/jurybox-{name}.1"));
        assert!(page.contains(&format!(".TH jurybox-{name} 1")) && page.contains("quiet"), "{name}: {page}");
    }
    assert!(folder.read("deep/man1/jurybox.1").contains(".TH jurybox 1"));
}

/// Control characters in files, states and names are escaped on standard error.
#[test]
fn messages_show_control_characters_instead_of_sending_them() {
    let folder = Folder::new("escapes");
    folder.write("names.csv", "id,sp\u{1b}[31mam,b\np\u{1b}]0;x\u{7},1,2\nq,2,1\nq,x,1\n");
    folder.write("ids.csv", "id,a,b\np\u{1b}]0;x\u{7},1,2\nq,2,1\n");
    folder.write("verdicts.csv", "id,found\nz\u{1b}[2J,1\np\u{1b}]0;x\u{7},1\n");
    let lines: Vec<Vec<&str>> = vec![
        vec!["rank", "names.csv", "--id", "id", "--evaluators", "sp\u{1b}[31mam", "--json"],
        vec!["rank", "ids.csv", "--id", "\u{1b}[0m"],
        vec!["rank", "ids.csv", "--evaluators", "b\u{202e}"],
        vec!["rank", "\u{1b}[31m.csv"],
        vec!["rank", "ids.csv", "--\u{202e}31m"],
        vec!["\u{202e}rank"],
        vec!["pick", "ids.csv", "--id", "id", "-k", "1", "--state", "desk.json", "--out", "picks.csv"],
        vec![
            "learn",
            "--picks",
            "picks.csv",
            "--verdicts",
            "verdicts.csv",
            "--id",
            "id",
            "--reward",
            "found",
            "--state",
            "desk.json",
        ],
        vec!["policies", "\u{9b}31m"],
        vec!["merge", "\u{1b}[2J.json", "-o", "sum.json"],
    ];
    let mut written_out = 0;
    for line in lines {
        let output = folder.output_of(line.iter().copied());
        let messages = text(&output.stderr);
        let sent = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(!messages.contains(sent), "{line:?}: {messages:?}");
        written_out +=
            usize::from(["\\u001b", "\\u202e", "\\u009b"].iter().any(|sign| messages.contains(sign)));
    }
    assert_eq!(written_out, 9, "all but `pick`, which names no item");

    // The name of an evaluator in a state is escaped, too.
    folder.write("calm.csv", "id,spam,b,verdict\np,1,2,1\nq,2,1,0\n");
    folder.stdout("learn calm.csv --id id --reward verdict --state model.json".split(' '));
    folder.write("model.json", &folder.read("model.json").replace("\"spam\"", "\"sp\\u001b[31mam\""));
    let output = folder.output_of("rank calm.csv --id id --reward verdict --state model.json".split(' '));
    assert!(!text(&output.stderr).contains('\u{1b}'), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("sp\\u001b[31mam"), "{}", text(&output.stderr));
}

const HOSTILE: &str = "<img src=x onerror=alert(1)>&\"'";

/// HTML pages forbid scripts by their policy, and escape names.
#[test]
fn pages_escape_every_name_and_forbid_scripts() {
    let folder = Folder::new("pages");
    let quoted = format!("\"{}\"", HOSTILE.replace('"', "\"\""));
    let hostile = |column: &str| {
        let head = history(1).lines().next().unwrap().replace(column, &quoted);
        format!("{head}\n{}", history(200).split_once('\n').unwrap().1)
    };
    let name = "<b>hour&.csv";
    let mut pages = Vec::new();
    for (at, column) in ["good", "verdict", "copy"].into_iter().enumerate() {
        folder.write(name, &hostile(column));
        let reward = if column == "verdict" { HOSTILE } else { "verdict" };
        let state = format!("<i>{at}.json");
        folder.stdout(["learn", name, "--id", "id", "--reward", reward, "--state", &state]);
        folder.stdout([
            "report",
            name,
            "--id",
            "id",
            "--reward",
            reward,
            "--state",
            &state,
            "--out",
            "report.html",
        ]);
        pages.push(folder.read("report.html"));
        let replay =
            ["replay", name, "--id", "id", "--reward", reward, "--policies", "average", "--runs", "2"];
        let rest = ["--items", "20", "-k", "2", "--state", &state, "--html", "replay.html"];
        folder.stdout(replay.into_iter().chain(rest));
        pages.push(folder.read("replay.html"));
    }
    folder
        .write("log.csv", &format!("{quoted},b,round,verdict,p\n{}", "1,2,1,1,0.5\n2,1,1,,0.5\n".repeat(40)));
    folder.stdout(
        "replay log.csv --reward verdict --probability p --policies average -k 1 --items 2 --html log.html"
            .split(' '),
    );
    pages.push(folder.read("log.html"));
    folder.stdout("demo --out demo.html -q".split(' '));
    pages.push(folder.read("demo.html"));
    folder.stdout("reproduce theorem3 --quick --runs 2 --rounds 100 --out paper -q".split(' '));
    pages.push(folder.read("paper/report.html"));
    let mut shown = 0;
    for page in &pages {
        let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\"/>";
        assert!(page.contains(policy), "{}", &page[..400]);
        // Unescaped, none of these is on a page. ` src=` may be, as a part of an escaped name.
        for sign in ["<img", "<script", "<i>", "<b>hour", "javascript:", " src="] {
            let found = page.find(sign).map(|at| &page[at..(at + 80).min(page.len())]);
            assert!(sign == " src=" || found.is_none(), "{found:?}");
        }
        shown += usize::from(page.contains("&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#39;"));
    }
    assert!(shown >= 4, "the names are on {shown} pages");
}

/// A spreadsheet would run `=HYPERLINK(...)` in a post as a formula.
#[test]
fn safe_csv_leaves_no_formula_and_changes_no_number() {
    let folder = Folder::new("formulas");
    folder.write(
        "posts.csv",
        "id,=head,note,a,b\n\"=HYPERLINK(\"\"http://x\"\",1)\",-5,+note,-0.5,1\n@x,+7,-2+3,-1.5,2\nplain,7,\"\tx\",0.5,-3\n",
    );
    let line = "rank posts.csv -k 3 --id id --ignore =head --weights a=1,b=-1";
    let plain = folder.stdout(line.split(' ').chain(["-q"]));
    let safe = folder.stdout(line.split(' ').chain(["-q", "--safe-csv"]));
    let cells = |text: &str| -> Vec<Vec<String>> {
        let records = text.lines().map(|line| line.replace("\"=HYPERLINK(\"\"http://x\"\",1)\"", "=H"));
        let records = records.map(|line| line.replace("\"'=HYPERLINK(\"\"http://x\"\",1)\"", "'=H"));
        records.map(|line| line.split(',').map(Into::into).collect()).collect()
    };
    assert_eq!(
        safe.lines().collect::<Vec<_>>(),
        [
            "rank,score,id,'=head,note,a,b",
            "1,3.5,plain,7,'\tx,0.5,-3",
            "2,-1.5,\"'=HYPERLINK(\"\"http://x\"\",1)\",-5,'+note,-0.5,1",
            "3,-3.5,'@x,+7,'-2+3,-1.5,2",
        ]
    );
    for (before, after) in cells(&plain).iter().zip(cells(&safe)) {
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(after) {
            let formula = before.starts_with(['=', '+', '-', '@', '\t']) && before.parse::<f64>().is_err();
            assert_eq!(after, if formula { format!("'{before}") } else { before.clone() });
        }
    }
    // `rank --all` and `pick` write no formula into CSV either. JSON lines are unchanged.
    let all =
        folder.stdout("rank posts.csv --all --id id --ignore =head --weights a=1 -q --safe-csv".split(' '));
    assert!(all.contains("'@x") && !all.contains(",@x"), "{all}");
    let pick = "pick posts.csv --id id --ignore =head -k 3 --state desk.json --no-observe -q --safe-csv";
    let picks = folder.stdout(pick.split(' '));
    assert!(picks.contains("'@x") && !picks.contains(",@x"), "{picks}");
    folder.stdout(pick.split(' ').chain(["--out", "picks.jsonl"]));
    assert!(folder.read("picks.jsonl").contains("\"@x\""), "{}", folder.read("picks.jsonl"));
}

/// An ambiguous comma late in a file is reported with the option that resolves it: as a warning if
/// there are few, else as an error.
#[test]
fn a_comma_that_first_comes_late_is_named_with_what_to_do() {
    let folder = Folder::new("late-comma");
    let rows = |row: u32| format!("p{row};{}\n", row % 7);
    let plain: String = (0..1100).map(rows).collect();
    for (late, ends_well) in [(3, true), (300, false)] {
        let rows = |row: u32| format!("q{row};1,234\n");
        let odd: String = (0..late).map(rows).collect();
        folder.write("late.csv", &format!("post;spam\n{plain}{odd}"));
        let output = folder.output_of("rank late.csv -k 1 --id post --weights spam=1".split(' '));
        let messages = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.success(), ends_well, "{messages}");
        assert!(messages.contains("`1,234` (line 1102)") && messages.contains("--decimal ,"), "{messages}");
    }
}

#[test]
fn of_many_columns_the_first_are_named_and_the_others_counted() {
    let folder = Folder::new("many-columns");
    let names: Vec<String> = (0..200).map(|at| format!("e{at}")).collect();
    folder.write("wide.csv", &format!("{}\n{}\n", names.join(","), vec!["0.5"; 200].join(",")));
    let output = folder.output_of("rank wide.csv -k 1 --policy average".split(' '));
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(messages.contains(": e0, e1, "), "{messages}");
    assert!(messages.contains("e11 and 188 more (200 in all).\n"), "{messages}");
}

/// The page of the demo replaces a link of its name in the folder for temporary files.
#[cfg(unix)]
#[test]
fn the_page_of_a_demo_takes_the_place_of_a_link_and_is_not_written_through_it() {
    let folder = Folder::new("demo-link");
    folder.write("diary.txt", "mine");
    std::os::unix::fs::symlink(folder.path("diary.txt"), folder.path("jurybox-demo.html")).unwrap();
    let output = folder.command("demo -q").env("TMPDIR", folder.path("")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(folder.read("diary.txt"), "mine");
    assert!(std::fs::symlink_metadata(folder.path("jurybox-demo.html")).unwrap().is_file());
    assert!(folder.read("jurybox-demo.html").contains("</html>"));
    assert_eq!(folder.unfinished(), 0);
}

/// A line break in the name of a column or group does not start a line of a table.
#[test]
fn no_name_makes_a_line_of_its_own_in_a_table() {
    let folder = Folder::new("lines");
    let rows = (0..300).map(|i| {
        let (a, b) = (i * 7 % 10, i * 3 % 10);
        let group = if i % 2 == 0 { "en" } else { "\"de\nforged 9 9 9\"" };
        format!("p{i},{a},{b},{group},{},1\n", u8::from(a > 5))
    });
    let rows: String = rows.collect();
    folder.write("posts.csv", &format!("id,\"a\nforged: all is well\",b,lang,verdict,p\n{rows}"));
    for line in [
        "report posts.csv --id id --reward verdict --reviewer lang --ignore p -q",
        "prevalence posts.csv --id id --reward verdict --probability p --by lang -q",
        "replay posts.csv --id id --reward verdict --ignore p,lang --folds 4 -k 2 --runs 2 -q",
    ] {
        let output = folder.run(line);
        let table = String::from_utf8(output.stdout).unwrap();
        assert!(
            table.contains("\\u000aforged"),
            "{line}: {table}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!table.lines().any(|line| line.starts_with("forged")), "{line}: {table}");
    }
}

#[cfg(unix)]
#[test]
fn a_state_is_of_a_sensible_size_and_from_no_device() {
    let folder = Folder::new("plain-state");
    folder.write("posts.csv", "id,a,b\np1,1,2\np2,2,1\n");
    std::fs::File::create(folder.path("huge.json")).unwrap().set_len(1 << 40).unwrap();
    for (state, why) in [
        ("/dev/zero", "/dev/zero: cannot read: it is not a regular file"),
        ("huge.json", "huge.json: cannot read: it is larger than any state: 1024 MiB at most"),
    ] {
        let said = folder.refused(&format!("rank posts.csv --id id --state {state} -k 1 -q"));
        assert!(said.contains(why), "{said}");
    }
}

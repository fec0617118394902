//! Rows that come again count once: sorted, saved again, piped, or with ids that a spreadsheet
//! changed.

mod folder;

use folder::Folder;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::Stdio;

/// Rows whose ids have leading zeros.
fn rows() -> Vec<[String; 4]> {
    let row = |n: u32| {
        [format!("{n:04}"), (n * 7 % 20).to_string(), (n * 3 % 11).to_string(), (n % 3 % 2).to_string()]
    };
    (1..=20).map(row).collect()
}

fn csv(order: [usize; 4], delimiter: &str, end: &str, rows: &[[String; 4]]) -> String {
    let head = ["post", "a", "b", "verdict"].map(String::from);
    let line = |row: &[String; 4]| order.map(|at| row[at].clone()).join(delimiter) + end;
    std::iter::once(&head).chain(rows).map(line).collect()
}

#[test]
fn a_table_that_was_saved_again_is_learnt_once() {
    let folder = Folder::new("saved-again");
    let (rows, mut sorted) = (rows(), rows());
    sorted.sort_by_key(|row| row[1].parse::<u32>().unwrap());
    folder.write("table.csv", &csv([0, 1, 2, 3], ",", "\n", &rows));
    folder.write("sorted.csv", &csv([0, 1, 2, 3], ",", "\n", &sorted));
    folder.write("swapped.csv", &csv([3, 2, 0, 1], ";", "\r\n", &rows));
    let learn = |file: &str| folder.ok(&format!("learn {file} --id post --reward verdict --state s.json"));
    assert!(learn("table.csv").contains("Learnt from 20 rewards"));
    for again in ["table.csv", "sorted.csv", "swapped.csv"] {
        let messages = learn(again);
        assert!(messages.contains("learnt before; --again counts it again"), "{again}: {messages}");
    }
    assert_eq!(folder.seen("s.json")["used"], 20);
    // One row has another verdict. It counts, and the other 19 rows do not.
    let mut other = rows.clone();
    other[4][3] = "1".into();
    folder.write("other.csv", &csv([0, 1, 2, 3], ",", "\n", &other));
    let messages = learn("other.csv");
    assert!(
        messages.contains("Learnt from 1 reward in") && messages.contains("19 rows with the same id"),
        "{messages}"
    );
    assert_eq!(folder.seen("s.json")["used"], 21);
}

#[test]
fn rows_that_were_sorted_have_been_picked_from_all_the_same() {
    let folder = Folder::new("sorted-again");
    let (rows, mut sorted) = (rows(), rows());
    sorted.sort_by_key(|row| row[1].parse::<u32>().unwrap());
    folder.write("hour.csv", &csv([0, 1, 2, 3], ",", "\n", &rows));
    folder.write("sorted.csv", &csv([0, 1, 2, 3], ",", "\n", &sorted));
    for file in ["hour.csv", "sorted.csv"] {
        folder.ok(&format!("pick {file} --id post --ignore verdict -k 3 --state s.json --out picks-{file}"));
    }
    assert_eq!(folder.seen("s.json")["items"], 20);
    let messages = folder.refused("learn sorted.csv --id post --reward verdict --state s.json");
    assert!(messages.contains("picked from"), "{messages}");
}

#[test]
fn an_id_that_lost_its_zeros_is_learnt_once() {
    let folder = Folder::new("lost-zeros");
    folder.write("hour.csv", &csv([0, 1, 2, 3], ",", "\n", &rows()));
    folder.ok("pick hour.csv --id post --ignore verdict -k 3 --state s.json --out picks.csv");
    let picks = fs::read_to_string(folder.path("picks.csv")).unwrap();
    let mut with_verdicts = String::new();
    for (at, line) in picks.lines().enumerate() {
        let _ = writeln!(with_verdicts, "{line},{}", if at == 0 { "found" } else { "1" });
    }
    folder.write("picks.csv", &with_verdicts);
    folder.write("sheet.csv", &with_verdicts.replace(",000", ",").replace(",00", ","));
    // Columns that `pick` writes, and evaluators, are not verdicts.
    for ours in ["rank", "probability", "a"] {
        let messages =
            folder.refused(&format!("learn --picks picks.csv --id post --reward {ours} --state s.json"));
        assert!(messages.contains("holds no verdicts"), "{messages}");
    }
    let learn =
        |file: &str| folder.ok(&format!("learn --picks {file} --id post --reward found --state s.json"));
    assert!(learn("sheet.csv").contains("Learnt from 3 new verdicts"));
    // The verdicts are learnt, so no pick waits, although the next file lacks them.
    folder.write("later.csv", "post,found\nnobody,1\n");
    let messages =
        folder.ok("learn --picks picks.csv --verdicts later.csv --id post --reward found --state s.json");
    assert!(messages.contains("; 0 without a verdict yet"), "{messages}");
    folder.write("mac.csv", "post;found\r0001;1\r");
    let messages =
        folder.refused("learn --picks picks.csv --verdicts mac.csv --id post --reward found --state s.json");
    assert!(messages.contains("carriage return alone"), "{messages}");
    let messages = learn("picks.csv");
    assert!(
        messages.contains("Learnt from 0 new verdicts") && messages.contains("3 verdicts were learnt before"),
        "{messages}"
    );
}

#[test]
fn a_number_within_an_object_that_comes_late_gives_a_warning() {
    let folder = Folder::new("late-within");
    let line = |n: u32| {
        let late = if n > 1500 { format!(",\"llama\":{}", n % 5) } else { String::new() };
        format!("{{\"id\":\"x{n}\",\"scores\":{{\"gpt\":{},\"claude\":{}{late}}}}}\n", n % 7, n % 11)
    };
    folder.write("grades.jsonl", &(1..=2000).map(line).collect::<String>());
    let messages = folder.ok("rank grades.jsonl -k 1 --id id");
    assert!(messages.contains("warning") && messages.contains("scores.llama"), "{messages}");
}

/// A rare flag would be missing from a sample. All rows are measured because of it.
#[test]
fn a_rare_flag_is_not_lost_to_a_sample() {
    let folder = Folder::new("rare-flag");
    let mut text = String::from("item,a,b,flag\n");
    for n in 0..300_000_u64 {
        let chance = |by: u64| (n.wrapping_mul(by) >> 40) as f64 / f64::from(1 << 24);
        let (a, b) = (chance(0x9e37_79b9_7f4a_7c15), chance(0xbf58_476d_1ce4_e5b9));
        let _ = writeln!(text, "x{n},{:.4},{:.4},{}", a, 0.5 * a + 0.5 * b, u8::from(n % 100_000 == 290));
    }
    folder.write("large.csv", &text);
    let messages = folder.ok("rank large.csv -k 3 --id item --out top.csv");
    assert!(messages.contains("measured on every row"), "{messages}");
}

/// A table from a pipe that was learnt before is skipped like a file. Other files of the call are
/// learnt.
#[test]
fn a_known_pipe_among_files_is_left_out() {
    let folder = Folder::new("known-pipe");
    let table = |day: u32| csv([0, 1, 2, 3], ",", "\n", &rows()).replace("\n0", &format!("\nd{day}n0"));
    for day in 0..3 {
        folder.write(&format!("{day}.csv"), &table(day));
    }
    let piped = |line: &str, text: &str| {
        let mut child = folder.command(line).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let messages = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{messages}");
        messages
    };
    folder.ok("learn 0.csv --id post --reward verdict --state s.json");
    let messages = piped("learn 1.csv - --id post --reward verdict --state s.json", &table(0));
    assert!(
        messages.contains("skipped, because it was learnt before; --again counts it again"),
        "{messages}"
    );
    assert_eq!(folder.seen("s.json")["items"], 40);
    // The pipe has the same bytes as a file of this call.
    piped("learn 2.csv - --id post --reward verdict --state s.json", &table(2));
    assert_eq!(folder.seen("s.json")["items"], 60);
    piped("learn 2.csv - --id post --reward verdict --state s.json", &table(3));
    assert_eq!(folder.seen("s.json")["items"], 80);
}

#[test]
fn groups_that_parquet_stores_as_numbers_keep_their_rows() {
    let folder = Folder::new("numeric-groups");
    let mut rows = String::from("id,a,b,g\n");
    for n in 0..12 {
        let _ = writeln!(rows, "p{n},0.{:02},0.{:02},{}", n * 7 % 12, n * 5 % 12, n / 4);
    }
    folder.write("rows.csv", &rows);
    // Here the group is taken for an evaluator, so that Parquet stores it as a number.
    for out in ["all.csv", "all.parquet"] {
        folder.ok(&format!("rank rows.csv -k 12 --out {out}"));
    }
    let best = |file: &str| {
        let line = format!("rank {file} -k 1 --group g --evaluators a,b --out best-{file}.csv");
        folder.ok(&line);
        folder.read(&format!("best-{file}.csv")).matches(",p").count()
    };
    assert_eq!((best("all.csv"), best("all.parquet")), (3, 3));
}

//! The files of the daily loop: notations of scores, decimal signs, missing columns, options.
#![cfg(unix)]

mod folder;

use folder::{Folder, rows};
use std::fs;

/// `pick` gets the format of the table (`--na`, `--decimal`). `learn` reads the picks without
/// these options, in each of three formats.
#[test]
fn picks_carry_the_scores_as_they_were_read() {
    let folder = Folder::new("as-read");
    let text: String = (0..30)
        .map(|i| {
            let a = if i % 2 == 1 { "-99".into() } else { format!("1,{}", 100 + i) };
            format!("x{i};{a};{}%\n", 10 + i)
        })
        .collect::<Vec<String>>()
        .concat();
    folder.write("h.csv", &format!("id;a;b\n{text}"));
    folder.write("v.csv", "id,v\nx29,1\nx28,0\nx27,1\n");
    let mut states = Vec::new();
    for picks in ["p.csv", "p.jsonl", "p.parquet"] {
        let state = format!("{picks}.json");
        folder.ok(&format!(
            "pick h.csv -k 30 --id id --na -99 --decimal , --policy lin-ucb --state {state} --out {picks}"
        ));
        folder.ok(&format!("learn --picks {picks} --verdicts v.csv --id id --reward v --state {state}"));
        let state: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(folder.path(&state)).unwrap()).unwrap();
        assert_eq!(state["jury"]["seen"]["used"], 3);
        states.push(state["jury"].clone());
    }
    // Of the three items with verdicts, only x28 has a score of `a`, 1.128. Its square is in the
    // Gram matrix of lin-ucb.
    let gram = states[0]["state"].to_string();
    assert!(gram.contains(&(1.128_f64 * 1.128).to_string()[..6].to_string()), "{gram}");
    assert_eq!(states[0], states[1]);
    assert_eq!(states[0], states[2]);
    // The verdicts are added to the file of picks with decimal commas. The scores of the picks have
    // decimal points.
    let picks = fs::read_to_string(folder.path("p.csv")).unwrap();
    let judged = picks.lines().enumerate().map(|(row, line)| {
        let verdict = [(",x29,", "1,0"), (",x28,", "0,0"), (",x27,", "1,0")];
        let verdict = verdict.iter().find(|(id, _)| line.contains(id)).map_or("", |(_, verdict)| *verdict);
        if row == 0 { format!("{line},v\n") } else { format!("{line},\"{verdict}\"\n") }
    });
    folder.write("judged.csv", &judged.collect::<Vec<String>>().concat());
    folder.ok(
        "pick h.csv -k 30 --id id --na -99 --decimal , --policy lin-ucb --state again.json --out again.csv",
    );
    folder.ok("learn --picks judged.csv --id id --reward v --decimal , --state again.json");
    let again: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path("again.json")).unwrap()).unwrap();
    assert_eq!(states[0], again["jury"]);
}

/// Two files of one table have different decimal signs. The picks have decimal points.
#[test]
fn each_file_has_decimals_of_its_own() {
    let folder = Folder::new("decimals");
    folder.write("points.csv", "id,a\nx1,0.5\nx2,0.25\n");
    folder.write("commas.csv", "id;a\ny1;0,5\ny2;0,75\ny3;1,234\n");
    folder.ok("pick points.csv commas.csv -k 5 --id id --policy average --state s.json --out p.csv");
    folder.ok("rank points.csv commas.csv -k 5 --policy average --out r.jsonl");
    let picks = fs::read_to_string(folder.path("p.csv")).unwrap();
    assert!(picks.contains(",y3,1.234") && picks.contains(",y2,0.75"), "{picks}");
    folder.write("v.csv", "id,v\ny3,1\nx1,0\n");
    let messages = folder.ok("learn --picks p.csv --verdicts v.csv --id id --reward v --state s.json");
    assert!(!messages.contains("warning"), "{messages}");
    let ranking = fs::read_to_string(folder.path("r.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(ranking.lines().next().unwrap()).unwrap();
    assert_eq!((&first["id"], &first["a"]), (&"y3".into(), &1.234.into()), "{ranking}");
}

/// Equal rewards are not called missing. Without rewards, the default policy is not compared with
/// itself.
#[test]
fn a_report_says_why_it_can_tell_little() {
    let folder = Folder::new("tells-little");
    let score = |row: u32, by: u32| f64::from(row * by % 97) / 97.0;
    let rows = |verdict: &str| -> String {
        let row = |row: u32| format!("{:.3},{:.3}{verdict}\n", score(row, 31), score(row, 53));
        (0..200).map(row).collect()
    };
    folder.write("same.csv", &format!("a,b,verdict\n{}", rows(",0")));
    let said = String::from_utf8(folder.run("report same.csv --reward verdict").stdout).unwrap();
    assert!(
        said.contains("ll 200 rewards are 0") && !said.to_lowercase().contains("without rewards"),
        "{said}"
    );
    folder.write("blind.csv", &format!("a,b\n{}", rows("")));
    folder.ok("report blind.csv --out blind.html");
    let page = fs::read_to_string(folder.path("blind.html")).unwrap();
    assert!(
        page.contains("Agreement of other rankings with the default policy") && !page.contains("(default)"),
        "{page}"
    );
}

/// Of two files of picks, one has the column of verdicts. The picks of the other file wait.
#[test]
fn picks_without_a_column_of_verdicts_wait() {
    let folder = Folder::new("column-of-verdicts");
    for of in 0..2 {
        folder.write("hour.csv", &rows(of));
        folder.ok(&format!(
            "pick hour.csv --id id --ignore verdict -k 2 --policy lin-ucb --state desk.json --out picks-{of}.csv"
        ));
    }
    // The picks have a column `verdict` of the table already. The verdicts on the picks of the
    // second hour are added as a column `found`.
    let picks = fs::read_to_string(folder.path("picks-1.csv")).unwrap();
    let with_found =
        |(line, text): (usize, &str)| format!("{text},{}\n", if line == 0 { "found" } else { "1" });
    let found: String = picks.lines().enumerate().map(with_found).collect();
    folder.write("picks-1.csv", &found);
    for files in ["picks-0.csv picks-1.csv", "picks-1.csv picks-0.csv"] {
        let state = format!("desk-{}.json", &files[6..7]);
        fs::copy(folder.path("desk.json"), folder.path(&state)).unwrap();
        let messages = folder.ok(&format!("learn --picks {files} --id id --reward found --state {state}"));
        assert!(
            messages.contains("Learnt from 2 new verdicts on 4 picks; 2 without a verdict yet"),
            "{messages}"
        );
    }
    // With --verdicts, the verdicts on all picks come from these files.
    folder.write("verdicts.csv", "id,found\nf0i0,1\n");
    folder.write("other.csv", "id,fund\nf0i1,1\n");
    let messages = folder.refused(
        "learn --picks picks-0.csv --verdicts verdicts.csv other.csv --id id --reward found --state desk.json",
    );
    assert!(messages.contains("other.csv: there is no column `found`"), "{messages}");
}

/// Options that would have no effect are refused: --verdicts without --picks, and --evaluators or
/// --drop with --picks.
#[test]
fn options_that_would_be_passed_over_are_refused() {
    let folder = Folder::new("passed-over");
    folder.write("hour.csv", &rows(0));
    folder.write("verdicts.csv", "id,verdict\nf0i0,1\n");
    let messages =
        folder.refused("learn hour.csv --verdicts verdicts.csv --id id --reward verdict --state model.json");
    assert!(messages.contains("--verdicts") && messages.contains("--picks"), "{messages}");
    assert!(!folder.path("model.json").exists());
    folder
        .ok("pick hour.csv --id id --ignore verdict -k 2 --policy lin-ucb --state desk.json --out picks.csv");
    let learn = "learn --picks picks.csv --verdicts verdicts.csv --id id --reward verdict --state desk.json";
    for option in ["--evaluators a,b,c", "--drop b"] {
        let messages = folder.refused(&format!("{learn} {option}"));
        assert!(messages.contains(&option[..6]) && messages.contains("--picks"), "{messages}");
    }
    folder.ok(learn);
}

/// A new evaluator is refused by `pick` and `rank`, with the advice to run `learn`.
#[test]
fn advice_says_how_a_new_evaluator_joins_a_state() {
    let folder = Folder::new("joins");
    folder.write("hour.csv", "id,a,b\nx,1,2\ny,3,1\nz,2,2\n");
    folder.write("later.csv", "id,a,b,c\nu,1,2,3\nv,3,1,1\nw,2,2,2\n");
    folder.ok("pick hour.csv --id id -k 1 --state desk.json --out picks.csv");
    for command in ["pick later.csv --id id -k 1", "rank later.csv --id id -k 1"] {
        let messages = folder.refused(&format!("{command} --evaluators a,b,c --state desk.json --out o.csv"));
        assert!(messages.contains("`jurybox learn`") && messages.contains("--evaluators"), "{messages}");
    }
}

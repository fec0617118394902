//! Exports of a queue by command and over HTTP: every item with its verdicts, as CSV, JSON lines
//! and Parquet.
#![cfg(unix)]

mod folder;
mod server;

use folder::Folder;
use serde_json::{Value, json};
use server::Server;
use std::fmt::Write;

/// A queue of forty items. Eight are claimed and reviewed, p0 is decided by a rule, and p1 by a
/// reviewer without a claim.
fn desk(name: &str) -> Folder {
    let folder = Folder::new(name);
    let mut items = String::from("post,spam,abuse,language,likes,text\n");
    for n in 0..40 {
        writeln!(
            items,
            "p{n},0.{:02},{},{},{n}000,\"text, {n}\"",
            n * 7 % 40,
            if n % 3 == 0 { "" } else { "0.5" },
            ["en", "de"][n % 2]
        )
        .unwrap();
    }
    folder.write("items.csv", &items);
    folder.ok("queue init desk --evaluators spam,abuse --undo 0 --label harmful=1 --label fine=0");
    folder.ok("queue add desk items.csv --id post --tag language --show text,likes");
    let picked = folder.stdout("queue claim desk --reviewer ann -k 8 --json".split(' '));
    let picked: Value = serde_json::from_str(&picked).unwrap();
    for (at, claim) in picked["claims"].as_array().unwrap().iter().enumerate() {
        let item = claim["item"].as_str().unwrap();
        let label = ["harmful", "fine"][at % 2];
        folder.ok(&format!("queue verdict desk --reviewer ann --item {item} --label {label}"));
    }
    folder.ok("queue verdict desk --reviewer rule --item p0 --reward 0 --automatic");
    folder.ok("queue verdict desk --reviewer bob --item p1 --reward 1");
    folder
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn everything_is_given_back_and_nothing_is_made_up() {
    let folder = desk("export-all");
    let rows = lines(&folder.stdout("queue export desk".split(' ')));
    assert_eq!(rows.len(), 40);
    let row = |id: &str| rows.iter().find(|row| row["item"] == id).unwrap();
    let looked_at: Vec<&Value> = rows.iter().filter(|row| row["reviewer"] == "ann").collect();
    assert_eq!(looked_at.len(), 8);
    for row in looked_at {
        assert_eq!(
            (&row["probability"], &row["explored"], &row["state"]),
            (&json!(1.0), &json!(false), &json!("closed"))
        );
        assert!(
            row["model_id"].is_u64() && row["claimed_at"].is_string() && row["given_at"].is_string(),
            "{row}"
        );
        assert_eq!(row["label"], if row["reward"] == 1.0 { "harmful" } else { "fine" });
        assert_eq!(row["payload"]["text"], format!("text, {}", &row["item"].as_str().unwrap()[1..]));
    }
    // Items that were never claimed have no probability of being reviewed.
    let (rule, unasked, waiting) = (row("p0"), row("p1"), row("p2"));
    assert_eq!(
        (&rule["reward"], &rule["source"], &rule["probability"]),
        (&Value::Null, &json!("automatic"), &Value::Null)
    );
    assert_eq!(rule["verdicts"][0]["reward"], 0.0);
    assert_eq!(
        (&unasked["reward"], &unasked["probability"], &unasked["explored"]),
        (&json!(1.0), &Value::Null, &Value::Null)
    );
    assert_eq!(
        (&waiting["state"], &waiting["reward"], &waiting["abuse"]),
        (&json!("open"), &Value::Null, &json!(0.5))
    );
    assert_eq!((&waiting["language"], &waiting["verdicts"]), (&json!("en"), &json!([])));
}

#[test]
fn an_item_is_one_row_however_many_looked() {
    let folder = Folder::new("export-quorum");
    folder.write("items.csv", "id,a\nx,0.5\ny,0.4\n");
    folder.ok("queue init desk --evaluators a --quorum 2");
    folder.ok("queue add desk items.csv --id id");
    for who in ["ann", "bob"] {
        folder.ok(&format!("queue claim desk --reviewer {who} -k 2 -q"));
        folder.ok(&format!("queue verdict desk --reviewer {who} --item x --reward 1"));
    }
    folder.ok("queue verdict desk --reviewer ann --item y --reward 1");
    let rows = lines(&folder.stdout("queue export desk".split(' ')));
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["reward"], rows[0]["verdicts"].as_array().unwrap().len()), (&json!(1.0), 2));
    assert_eq!(rows[0]["verdicts"][1]["decides"], true);
    // Only one of two reviewers has given a verdict on `y`: it is not decided.
    assert_eq!((&rows[1]["reward"], rows[1]["verdicts"].as_array().unwrap().len()), (&Value::Null, 1));
}

/// `jurybox export` reads the default folder while a server runs, and lists skips. The queue's page
/// exports the same CSV.
#[test]
fn a_queue_that_is_served_gives_back_skips_too() {
    let folder = Folder::new("export-served");
    let server = Server::over(&folder.path("jurybox-data"), &[]);
    assert_eq!(server.ask("PUT", "/v1/queues/posts", r#"{"evaluators": [{"name": "spam"}]}"#).status, 201);
    server
        .post("/v1/queues/posts/items", r#"{"items": [{"id": "x1", "scores": {"spam": 1}}, {"id": "x2"}]}"#);
    server.post("/v1/queues/posts/claims", r#"{"reviewer": "ann", "k": 1}"#);
    let skip = r#"{"reviewer": "ann", "item": "x1", "reason": "not my language"}"#;
    server.post("/v1/queues/posts/claims/skip", skip);
    let rows = lines(&folder.stdout("export --queue posts".split(' ')));
    let row = |id: &str| rows.iter().find(|row| row["item"] == id).unwrap();
    assert_eq!(row("x2")["skips"], json!([]));
    let told = &row("x1")["skips"][0];
    assert_eq!((&told["reviewer"], &told["reason"]), (&json!("ann"), &json!("not my language")));
    assert!(told["skipped_at"].is_string(), "{told}");
    folder.ok("export jurybox-data --queue posts --out posts.csv");
    let page = server.ask("GET", "/q/posts/export?format=csv", "");
    assert_eq!((page.status, unchunked(&page.body)), (200, folder.read("posts.csv")));
    let queue = server.ask("GET", "/q/posts", "").body;
    for format in ["csv", "jsonl", "parquet"] {
        assert!(queue.contains(&format!("/q/posts/export?format={format}")), "{format}");
    }
}

/// Text is not exported to CSV as a formula, unless an option allows it. Negative numbers are
/// unchanged.
#[test]
fn an_export_has_no_formula() {
    let folder = Folder::new("export-formula");
    let server = Server::over(&folder.path("jurybox-data"), &[]);
    assert_eq!(server.ask("PUT", "/v1/queues/posts", r#"{"evaluators": [{"name": "spam"}]}"#).status, 201);
    let items = json!({"items": [
        {"id": "=HYPERLINK(A1)", "scores": {"spam": -1}, "tags": {"language": "@x", "age": "-3"}},
        {"id": "\t+1", "scores": {"spam": 0.5}},
    ]});
    server.post("/v1/queues/posts/items", &items.to_string());
    folder.ok("export jurybox-data --queue posts --out safe.csv");
    folder.ok("export jurybox-data --queue posts --out raw.csv --safe-csv=false");
    let over_http = |more: &str| {
        unchunked(&server.ask("GET", &format!("/v1/queues/posts/export?format=csv{more}"), "").body)
    };
    assert_eq!(
        (over_http(""), over_http("&safe_csv=false")),
        (folder.read("safe.csv"), folder.read("raw.csv"))
    );
    let (safe, raw) = (folder.read("safe.csv"), folder.read("raw.csv"));
    for text in ["\n'=HYPERLINK(A1),", "\n'\t+1,", ",'@x,", ",-3,", ",-1.0,"] {
        assert!(safe.contains(text), "{text:?}: {safe}");
    }
    assert!(raw.contains("\n=HYPERLINK(A1),") && raw.contains("\n\t+1,") && raw.contains(",@x,"), "{raw}");
}

/// Command and HTTP export the same CSV and JSON lines. `learn` reads every format. Replaying by
/// the probability is refused, since p1 was reviewed without a claim.
#[test]
fn what_is_exported_is_read_straight_back() {
    let folder = desk("export-back");
    let formats = ["csv", "jsonl", "parquet"];
    for format in formats {
        folder.ok(&format!("queue export desk --as {format} --out by-command.{format}"));
    }
    let server = Server::over(&folder.path("desk"), &[]);
    for format in formats {
        let answer = server.ask("GET", &format!("/v1/queues/main/export?format={format}"), "");
        assert_eq!(answer.status, 200);
        assert!(answer.head.contains(&format!("filename=\"main.{format}\"")), "{}", answer.head);
        if format != "parquet" {
            assert_eq!(unchunked(&answer.body), folder.read(&format!("by-command.{format}")), "{format}");
        }
    }
    assert_eq!(server.ask("GET", "/v1/queues/main/export?format=xlsx", "").problem(422), "refused");
    assert_eq!(server.ask("GET", "/v1/queues/nowhere/export", "").problem(404), "no_queue");
    for format in formats {
        let said =
            folder.ok(&format!("learn by-command.{format} --id item --reward reward --state {format}.json"));
        assert!(
            said.contains("spam, abuse") && said.to_lowercase().contains("reward: reward"),
            "{format}: {said}"
        );
        let seen = folder.seen(&format!("{format}.json"));
        // Eight claimed items and p1, decided without a claim. A rule's verdict teaches nothing.
        assert_eq!((&seen["used"], &seen["items"]), (&json!(9), &json!(40)), "{format}");
        let replay = |file: &str| {
            format!(
                "replay {file}.{format} --id item --reward reward --probability probability -k 2 --items 10 --policies average"
            )
        };
        let refused = folder.refused(&replay("by-command"));
        assert!(refused.contains("there is a reward, but no logged probability"), "{refused}");
    }
    assert_eq!(folder.seen("csv.json"), folder.seen("parquet.json"));
}

/// With --random-checks-only, only random checks have a reward, with the rate as their probability.
/// Items claimed for their scores would not stand for all items.
#[test]
fn drawn_items_alone_are_weighed() {
    let folder = Folder::new("export-drawn");
    let rows: String = (0..600).fold("id,a\n".into(), |rows, n| format!("{rows}p{n},0.{:03}\n", n * 7 % 600));
    folder.write("items.csv", &rows);
    folder.ok(
        "queue init desk --evaluators a --undo 0 --random-check-rate 0.25 --label yes=1 --label no=0 --max-held 400",
    );
    folder.ok("queue add desk items.csv --id id");
    // 320 of 600 items are claimed, for their value or as random checks.
    let picked = folder.stdout("queue claim desk --reviewer ann -k 320 --json".split(' '));
    let picked: Value = serde_json::from_str(&picked).unwrap();
    let verdicts = picked["claims"].as_array().unwrap().iter();
    let verdicts: String = verdicts.fold("id,found\n".into(), |all, claim| {
        let n: usize = claim["item"].as_str().unwrap()[1..].parse().unwrap();
        format!("{all}p{n},{}\n", u8::from(n * 7 % 600 >= 300))
    });
    folder.write("verdicts.csv", &verdicts);
    folder.ok("queue verdict desk verdicts.csv --id id --reward-column found --reviewer ann");
    let rows = lines(&folder.stdout("queue export desk --random-checks-only".split(' ')));
    let weighed = rows.iter().filter(|row| row["reward"].is_number());
    let weights: f64 = weighed.clone().map(|row| 1.0 / row["probability"].as_f64().unwrap()).sum();
    assert!(weighed.clone().count() > 50, "random checks were reviewed");
    assert!(weighed.clone().all(|row| row["probability"] == 0.25), "only random checks have a reward");
    assert!(weights <= 800.0, "they stand for 600 items: {weights}");
    folder.ok("queue export desk --random-checks-only --out drawn.csv");
    folder.ok("replay drawn.csv --id item --reward reward --probability probability -k 5 --items 20 --policies average");
}

/// The body of a chunked HTTP response.
fn unchunked(body: &str) -> String {
    let (mut text, mut rest) = (String::new(), body);
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        text += &after[..length];
        rest = &after[length + 2..];
    }
    text
}

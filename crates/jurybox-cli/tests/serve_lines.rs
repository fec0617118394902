//! Items as NDJSON lines: too slow, broken off and sent again, and keys of other requests.
#![cfg(unix)]

mod server;

use serde_json::json;
use server::{Server, read};
use std::io::Write;
use std::net::TcpStream;

const ITEMS: &str = "/v1/queues/q/items";

#[test]
fn lines_that_drip_are_cut_and_those_before_are_in() {
    let server = Server::with_queue("drip", &["--client-timeout", "2"]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let head = "POST /v1/queues/q/items HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nb\r\n{\"id\":\"x\"}\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut dripping = stream.try_clone().unwrap();
    // Each byte comes within the timeout of two seconds. All of them would take a minute.
    std::thread::spawn(move || {
        for _ in 0..200 {
            std::thread::sleep(std::time::Duration::from_millis(300));
            if dripping.write_all(b"1\r\n{\r\n").is_err() {
                return;
            }
        }
        let _ = dripping.write_all(b"0\r\n\r\n");
    });
    let answer = read(&mut stream);
    assert_eq!(answer.problem(408), "too_slow");
    assert!(answer.body.contains("1 accepted"), "{answer:?}");
    assert_eq!(server.get("/v1/queues/q")["counts"]["items"], 1);
}

#[test]
fn lines_that_broke_off_are_sent_again_with_their_key() {
    let server = Server::with_queue("broken", &["--client-timeout", "2"]);
    let lines: Vec<String> = (0..5000).map(|i| format!("{{\"id\":\"x{i}\"}}\n")).collect();
    let lines = lines.concat();
    let head = format!(
        "POST {ITEMS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nIdempotency-Key: k\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        lines.len()
    );
    // The client stops after three fifths of the bytes.
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&lines.as_bytes()[..lines.len() * 3 / 5]).unwrap();
    let answer = read(&mut stream);
    assert_eq!(answer.problem(408), "too_slow");
    assert!(answer.body.contains("lines up to 2000 were stored: 2000 accepted"), "{answer:?}");
    assert_eq!(server.get("/v1/queues/q")["counts"]["items"], 2000);
    let headers = [("Content-Type", "application/x-ndjson"), ("Idempotency-Key", "k")];
    for _ in 0..2 {
        let answer = server.ask_with("POST", ITEMS, &headers, &lines).ok();
        assert_eq!((&answer["accepted"], &answer["unchanged"]), (&json!(5000), &json!(0)));
    }
    assert_eq!(server.get("/v1/queues/q")["counts"]["items"], 5000);
}

/// The key of lines is refused for any other request: fewer or more lines, other unreadable lines,
/// JSON, an empty body or a claim.
#[test]
fn a_key_of_lines_is_not_one_of_other_lines() {
    let server = Server::with_queue("keyed-lines", &[]);
    let lines =
        |many: usize| (0..many).map(|i| format!("{{\"id\":\"x{i}\"}}\n")).collect::<Vec<_>>().concat();
    let ask = |key: &str, kind: &str, body: &str| {
        server.ask_with("POST", ITEMS, &[("Content-Type", kind), ("Idempotency-Key", key)], body)
    };
    let (ndjson, json) = ("application/x-ndjson", "application/json");
    let (bad, worse) = (lines(3) + "{\"id\": 5}\n", lines(3) + "{\"id\": 6}\n");
    let list: Vec<_> = (0..3).map(|i| json!({"id": format!("x{i}")})).collect();
    let list = json!({"items": list}).to_string();
    let none = String::new();
    for (at, first, others) in [
        ("a", lines(2000), [lines(3000), lines(4000), lines(1999)]),
        ("b", lines(3000), [lines(2000), lines(3001), lines(3)]),
        ("c", bad.clone(), [worse, lines(3), bad + "{\"id\": 7}\n"]),
    ] {
        // An answer is stored only if its request changed something, so each case adds its own ids.
        let first = first.replace("\"x", &format!("\"{at}"));
        let taken = ask(at, ndjson, &first).ok();
        assert_eq!(ask(at, ndjson, &first).ok(), taken, "{at}");
        for other in others {
            let other = other.replace("\"x", &format!("\"{at}"));
            assert_eq!(ask(at, ndjson, &other).problem(422), "key_reused", "{at}: {} bytes", other.len());
        }
        assert_eq!(
            ask(at, json, &list.replace("\"x", &format!("\"{at}"))).problem(422),
            "key_reused",
            "{at}"
        );
        assert_eq!(ask(at, ndjson, &none).problem(422), "key_reused", "{at}");
        let claim = [("Idempotency-Key", at)];
        let claimed = server.ask_with("POST", "/v1/queues/q/claims", &claim, r#"{"reviewer": "r"}"#);
        assert_eq!(claimed.problem(422), "key_reused");
        assert_eq!(ask(at, ndjson, &first).ok(), taken, "{at}");
    }
    assert_eq!(ask("list", json, &list).ok()["accepted"], 3);
    for more in [r#", {"id": 5}]"#, r#", {"id": 6}]"#] {
        assert_eq!(ask("list", json, &list.replace(']', more)).problem(422), "key_reused");
    }
    assert_eq!(ask("odd", json, r#"{"items": [{"id": "odd"}, {"id": 5}]}"#).ok()["accepted"], 1);
    assert_eq!(ask("odd", json, r#"{"items": [{"id": "odd"}, {"id": 5}]}"#).ok()["accepted"], 1);
    assert_eq!(ask("odd", json, r#"{"items": [{"id": "odd"}, {"id": 6}]}"#).problem(422), "key_reused");
    let verdict = |more: &str| {
        let body =
            format!(r#"{{"verdicts": [{{"id": "v", "item": "odd", "reviewer": "r", "reward": 1}}{more}]}}"#);
        server.ask_with("POST", "/v1/queues/q/verdicts", &[("Idempotency-Key", "verdicts")], &body)
    };
    assert_eq!(verdict(r#", {"id": 5}"#).ok()["accepted"], 1);
    assert_eq!(verdict(r#", {"id": 5}"#).ok()["accepted"], 1);
    assert_eq!(verdict(r#", {"id": 6}"#).problem(422), "key_reused");
    assert_eq!(verdict("").problem(422), "key_reused");
    assert_eq!(ask("list", ndjson, &lines(3)).problem(422), "key_reused");
    assert_eq!(server.get("/v1/queues/q")["counts"]["items"], 2000 + 3000 + 3 + 3 + 1);
}

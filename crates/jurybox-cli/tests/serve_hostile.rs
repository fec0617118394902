//! Hostile and broken requests: each is refused with the right error, and the server goes on.
#![cfg(unix)]

mod server;

use serde_json::json;
use server::{Server, read};
use std::io::Write;
use std::net::TcpStream;

const ITEMS: &str = "/v1/queues/q/items";

#[test]
fn numbers_and_shapes_that_cannot_be() {
    let server = Server::with_queue("numbers", &[]);
    let deep = format!(r#"{{"id": "x", "payload": {}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    let wide = format!(
        r#"{{"id": "x", "tags": {{{}}}}}"#,
        (0..33).map(|i| format!("\"t{i}\": \"v\"")).collect::<Vec<_>>().join(",")
    );
    for (body, status) in [
        (r#"{"id": "x", "scores": {"a": NaN}}"#, 400),
        (r#"{"id": "x", "scores": {"a": Infinity}}"#, 400),
        (r#"{"id": "x", "scores": {"a": 1e400}}"#, 400),
        (r#"{"id": "x", "scores": {"a": "1"}}"#, 422),
        (r#"{"id": "", "scores": {}}"#, 422),
        (r#"{"id": "a\u0000b"}"#, 422),
        (r#"{"id": "x", "id": "y"}"#, 422),
        (r#"{"id": "x", "due": "tomorrow"}"#, 422),
        ("[1, 2, 3]", 422),
        ("\"text\"", 422),
        ("", 400),
        (&deep, 400),
    ] {
        let answer = server.ask("POST", ITEMS, body);
        let code = answer.problem(status);
        assert!(["malformed", "refused"].contains(&code.as_str()), "{code}");
    }
    let rejected = server.post(ITEMS, &wide);
    assert!(rejected["rejected"][0]["why"].as_str().unwrap().contains("33 tags"));
    let rejected = server.post(ITEMS, r#"{"id": "x", "scores": {"a": 1e200}}"#);
    let why = rejected["rejected"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("evaluator `a`: score 1e200 is not usable"), "{why}");
    let verdict = r#"{"verdicts": [{"id": "v", "item": "x", "reviewer": "r", "reward": 1e300}]}"#;
    assert!(server.post("/v1/queues/q/verdicts", verdict)["rejected"][0]["why"].is_string());
    assert_eq!(server.get("/v1/queues/q")["counts"]["items"], 0);
}

#[test]
fn names_of_all_kinds() {
    let server = Server::with_queue("names", &[]);
    let names = [
        "a/b",
        "100%",
        "%2F",
        "..",
        "🦀🦀",
        "a b",
        "?x=1#y",
        "e\u{301}",
        "\u{202e}",
        "'; DROP TABLE items; --",
        "<b>",
    ];
    let long = "é".repeat(512);
    for name in names.into_iter().chain([long.as_str()]) {
        let body = json!({"id": name, "scores": {"a": 1}}).to_string();
        assert_eq!(server.post(ITEMS, &body)["accepted"], 1, "{name}");
        let escaped = name.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        assert_eq!(server.get(&format!("{ITEMS}/{escaped}"))["id"], name);
        assert_eq!(server.ask("DELETE", &format!("{ITEMS}/{escaped}"), "").status, 204, "{name}");
    }
    let too_long = json!({"id": "é".repeat(513)}).to_string();
    assert_eq!(server.ask("POST", ITEMS, &too_long).problem(422), "refused");
    assert_eq!(server.ask("GET", &format!("{ITEMS}/%00"), "").problem(404), "no_item");
    // One id twice in a request is one item. The later score replaces the earlier one.
    let twice = r#"{"items": [{"id": "x", "scores": {"a": 1}}, {"id": "x", "scores": {"a": 2}}]}"#;
    let answer = server.post(ITEMS, twice);
    assert_eq!((&answer["accepted"], &answer["updated"]), (&json!(1), &json!(1)));
    assert_eq!(server.get(&format!("{ITEMS}/x"))["scores"]["a"], 2.0);
}

#[test]
fn bodies_without_end() {
    let server = Server::with_queue("bodies", &["--max-body", "100000", "--client-timeout", "2"]);
    let large = json!({"id": "x", "payload": "y".repeat(100_000)}).to_string();
    assert_eq!(server.ask("POST", ITEMS, &large).problem(413), "too_large");
    // A chunked body without a length is counted while it arrives.
    let mut chunked = b"POST /v1/queues/q/items HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n".to_vec();
    for _ in 0..200 {
        chunked.extend(b"400\r\n");
        chunked.extend([b' '; 1024]);
        chunked.extend(b"\r\n");
    }
    chunked.extend(b"0\r\n\r\n");
    assert_eq!(server.raw(&chunked).problem(413), "too_large");
    // A compressed body is refused unread.
    let bomb = [("Content-Encoding", "gzip")];
    assert_eq!(server.ask_with("POST", ITEMS, &bomb, "\u{1f}\u{8b}").problem(415), "unsupported_media_type");
    // A line that is too long.
    let line = [("Content-Type", "application/x-ndjson")];
    let endless = "x".repeat((1 << 20) + 70_000);
    let answer = server.ask_with("POST", ITEMS, &line, &endless).ok();
    assert_eq!(answer["rejected"], json!([{"id": "line 1", "why": "it has more than 1048576 bytes"}]));
    // A head that is too long.
    let mut head = b"GET / HTTP/1.1\r\nHost: localhost\r\n".to_vec();
    head.extend(format!("X: {}\r\n", "y".repeat(200_000)).into_bytes());
    let answer = server.raw(&head);
    assert!([400, 431, 0].contains(&answer.status), "{}", answer.status);
    // A head that is a little too long, sent at once.
    let head = format!("GET /v1/queues HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "y".repeat(70_000));
    assert_eq!(server.raw(head.as_bytes()).status, 431);
    // Clients that send a part and then wait: a part of the body, a part of the head, nothing.
    let waiting: Vec<TcpStream> = ["POST /v1/queues/q/items HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{", "GET / HTTP/1.1\r\nHo", ""]
        .iter()
        .map(|begin| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.write_all(begin.as_bytes()).unwrap();
            stream
        })
        .collect();
    assert_eq!(server.get("/v1/queues/q")["counts"]["items"], 0, "others are answered meanwhile");
    let ends: Vec<u16> = waiting.into_iter().map(|mut stream| read(&mut stream).status).collect();
    assert_eq!(ends[0], 408);
    assert!(ends[1..].iter().all(|status| [0, 400, 408].contains(status)), "{ends:?}");
}

#[test]
fn one_that_cannot_be_read_does_not_keep_the_others_out() {
    let server = Server::with_queue("batches", &[]);
    let bad = [
        (r#"{"id": 5}"#, "items[1]"),
        (r#"{"id": "big", "scores": {"a": 1e400}}"#, "big"),
        (r#"{"id": "text", "scores": {"a": "0.5"}}"#, "text"),
        (r#"{"id": "a\u0000b"}"#, "items[1]"),
        (r#"["list", {"a": 1}, null, {}, null]"#, "items[1]"),
        (r#"{"id": "two", "scores": {"a": 0.1, "a": 0.9}}"#, "two"),
        (r#"{"id": "tags", "tags": {"t": "x", "t": "x"}}"#, "tags"),
    ];
    for (at, (item, named)) in bad.into_iter().enumerate() {
        let body = format!(r#"{{"items": [{{"id": "before{at}"}}, {item}, {{"id": "after{at}"}}]}}"#);
        let answer = server.post(ITEMS, &body);
        assert_eq!((&answer["accepted"], &answer["rejected"][0]["id"]), (&json!(2), &json!(named)), "{item}");
    }
    // The error is about JSON, not about the types of the program.
    let answer = server.post(ITEMS, r#"{"items": [{"id": "text", "scores": {"a": "0.5"}}]}"#);
    let why = answer["rejected"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("items[0]: ") && why.contains("expected a number"), "{why}");
    // Items that cannot be read count towards the limit on items in a request.
    let many = format!(r#"{{"items": [{}{{"id": "last"}}]}}"#, r#"{"id": 5},"#.repeat(10_000));
    assert_eq!(server.ask("POST", ITEMS, &many).problem(422), "refused");
    let odd = server.ask("PATCH", "/v1/queues/q", r#"{"policy": 5}"#);
    assert_eq!(odd.problem(422), "refused");
    assert!(odd.body.contains("a policy is its name") && !odd.body.contains("enum"), "{odd:?}");
    let lines = format!(
        "{{\"id\": \"l1\"}}\n{{\"id\": \"{}\"}}\n[1]\n{{\"id\": \"l4\", \"scores\": 1}}\n{{\"id\": \"l5\"}}",
        "x".repeat(1 << 20)
    );
    let answer = server.ask_with("POST", ITEMS, &[("Content-Type", "application/x-ndjson")], &lines).ok();
    assert_eq!(answer["accepted"], 2);
    let rejected = answer["rejected"].as_array().unwrap();
    let ids: Vec<&str> = rejected.iter().map(|rejected| rejected["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["line 2", "line 3", "l4"]);
    assert!(rejected[2]["why"].as_str().unwrap().starts_with("line 4: "), "{answer}");
    let text = server.ask("POST", ITEMS, "5");
    assert!(!text.body.contains("struct"), "{text:?}");
    let verdicts = "/v1/queues/q/verdicts";
    let bad = [
        (r#"{"id": "none"}"#, "none"),
        (r#"{"id": "odd", "item": "before0", "reviewer": "r", "reward": "1"}"#, "odd"),
        (r#"{"id": "far", "item": "before0", "reviewer": "r", "reward": 1e400}"#, "far"),
        (r#"{"item": "before0", "reviewer": "r", "reward": 1}"#, "verdicts[0]"),
        ("5", "verdicts[0]"),
    ];
    for (at, (verdict, named)) in bad.into_iter().enumerate() {
        let good = format!(r#"{{"id": "v{at}", "item": "after{at}", "reviewer": "r", "reward": 1}}"#);
        let answer = server.post(verdicts, &format!(r#"{{"verdicts": [{verdict}, {good}]}}"#));
        assert_eq!(
            (&answer["accepted"], &answer["rejected"][0]["id"]),
            (&json!(1), &json!(named)),
            "{verdict}"
        );
    }
    for body in ["{}", r#"{"verdicts": 5}"#, r#"{"verdicts": [], "more": 1}"#, "[]"] {
        assert_eq!(server.ask("POST", verdicts, body).problem(422), "refused", "{body}");
    }
    // Unreadable items also count when they come between readable ones.
    let many = vec![r#"{"id": "m"}, {"id": 5}"#; 5_001].join(",");
    server.ask("POST", ITEMS, &format!(r#"{{"items": [{many}]}}"#)).problem(422);
}

/// A request is refused before its body was read. After a short body the connection can be used
/// again; otherwise the answer says that it is closed.
#[test]
fn what_a_refused_request_sends_is_not_taken_for_the_next_one() {
    let server = Server::with_queue("refused", &[]);
    let ron = server.key("ron", "read", &[]);
    let known = || server.ask_with("GET", "/v1/queues", &[("Authorization", &format!("Bearer {ron}"))], "");
    while known().status != 200 {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    for (status, key, path) in [
        (401, "none", ITEMS),
        (403, ron.as_str(), ITEMS),
        (404, ron.as_str(), "/nothing"),
        (405, ron.as_str(), "/healthz"),
        (415, ron.as_str(), "/v1/queues/q/rank"),
    ] {
        for (length, goes_on) in [(12, true), (60_000, true), (70_000, false), (10 << 20, false)] {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
            let head = format!(
                "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nContent-Type: text/plain\r\n"
            );
            let head = format!("{head}Content-Length: {length}\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            // Time for the answer to come before the body is sent.
            std::thread::sleep(std::time::Duration::from_millis(30));
            let _ = stream.write_all(&vec![b' '; length]);
            let next = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(next);
            let mut answers = Vec::new();
            let _ = std::io::Read::read_to_end(&mut stream, &mut answers);
            let answers = String::from_utf8_lossy(&answers).into_owned();
            let said = format!("{status} {length}: {answers}");
            assert!(answers.starts_with(&format!("HTTP/1.1 {status} ")), "{said}");
            let first = answers.split("HTTP/1.1 ").nth(1).unwrap().to_ascii_lowercase();
            assert_eq!(first.contains("connection: close"), !goes_on, "{said}");
            assert_eq!(answers.contains("HTTP/1.1 200 OK"), goes_on, "{said}");
        }
    }
    // A client that sends `Expect: 100-continue` is refused before it sends the body.
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let head =
        "POST /nothing HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 12\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let answer = read(&mut stream);
    assert!(answer.status == 404 && answer.head.contains("connection: close"), "{answer:?}");
}

#[test]
fn an_address_has_so_many_connections_and_gets_them_back() {
    let server = Server::with_queue("per-address", &["--max-connections-per-address", "3"]);
    let open = || {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let mut begin = [0; 15];
        let answered =
            std::io::Read::read_exact(&mut stream, &mut begin).is_ok() && &begin == b"HTTP/1.1 200 OK";
        (stream, answered)
    };
    // Connections of the setup that have just ended may still be counted.
    let began = std::time::Instant::now();
    let three = loop {
        let three = [open(), open(), open()];
        if three.iter().all(|(_, answered)| *answered) || began.elapsed().as_secs() > 20 {
            break three;
        }
    };
    assert!(three.iter().all(|(_, answered)| *answered));
    assert!(!open().1, "a fourth is closed");
    drop(three);
    while !open().1 {
        assert!(began.elapsed().as_secs() < 40, "those that have ended do not count");
    }
}

#[test]
fn strangers_at_the_door_take_no_room_from_those_who_have_a_key() {
    let server = Server::with_queue("strangers", &["--max-requests", "2"]);
    let key = format!("Bearer {}", server.key("ann", "admin", &[]));
    let listed = || server.ask_with("GET", "/v1/queues", &[("Authorization", &key)], "").status;
    // A running server learns of a new key within a second.
    for _ in 0..30 {
        if listed() == 200 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let origin = format!("http://{}", server.address);
    let form = [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", origin.as_str())];
    assert_eq!(server.ask_with("POST", "/login", &form, &format!("key={}", "x".repeat(20_000))).status, 413);
    // Eight slow requests without a key, more than --max-requests allows.
    let head = "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\nConnection: close\r\n\r\nkey=";
    let slow: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    std::thread::sleep(std::time::Duration::from_millis(300));
    for _ in 0..5 {
        assert_eq!(listed(), 200);
    }
    let began = std::time::Instant::now();
    for mut stream in slow {
        assert_eq!(read(&mut stream).status, 408);
    }
    assert!(began.elapsed().as_secs() < 20, "slow requests without a key end soon: {:?}", began.elapsed());
}

#[test]
fn an_evaluator_that_is_left_out_is_told_of() {
    let server = Server::with_queue("left-out", &[]);
    let with = |names: &str| {
        let set_up = format!(r#"{{"evaluators": [{names}]}}"#);
        server.ask("PUT", "/v1/queues/q", &set_up).ok()
    };
    assert_eq!(with(r#"{"name": "a"}, {"name": "b"}"#)["warnings"], json!(null));
    let told = with(r#"{"name": "a"}"#);
    assert!(told["warnings"][0].as_str().unwrap().starts_with("evaluator `b` was removed"), "{told}");
    assert_eq!(server.get("/v1/queues/q")["warnings"], json!(null));
}

#[test]
fn who_asks_and_never_reads_is_let_go() {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
    let server = Server::with_queue("unread", &["--client-timeout", "2"]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_write_timeout(Some(std::time::Duration::from_secs(40))).unwrap();
    let end = loop {
        if let Err(error) =
            stream.write_all(&b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100))
        {
            break error;
        }
    };
    assert!([BrokenPipe, ConnectionReset].contains(&end.kind()), "{end}");
    assert_eq!(server.get("/healthz")["status"], "ok");
}

#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    use std::io::{BufRead, BufReader};
    let folder = server::folder("unread-log");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_jurybox"))
        .args(["serve", "--port", "0", "--log", "json", "--data"])
        .arg(&folder)
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("listening on ") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "it listens");
    }
    let address = line.trim().rsplit('/').next().unwrap().to_string();
    // The log lines of 1,500 requests are several times what a pipe holds.
    for _ in 0..1500 {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        assert_eq!(read(&mut stream).status, 200);
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let began = std::time::Instant::now();
    let ended = loop {
        match child.try_wait().unwrap() {
            Some(ended) => break Some(ended),
            None if began.elapsed().as_secs() > 60 => break None,
            None => std::thread::sleep(std::time::Duration::from_millis(50)),
        }
    };
    let _ = child.kill();
    let _ = std::fs::remove_dir_all(&folder);
    assert!(ended.is_some_and(|ended| ended.success()), "{ended:?}");
    drop(lines);
}

#[test]
fn what_is_no_http() {
    let server = Server::with_queue("nonsense", &[]);
    for bytes in [&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"[..], b"GET\r\n\r\n", b"\0\0\0\0\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"] {
        let answer = server.raw(bytes);
        assert!(answer.status < 500, "{answer:?}");
    }
    assert_eq!(server.get("/healthz")["status"], "ok");
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

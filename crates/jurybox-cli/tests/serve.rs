//! `jurybox serve`, run as a program and asked over HTTP: requests and answers of the API, retries,
//! end and restart, errors.
#![cfg(unix)]

mod server;

use serde_json::json;
use server::{Server, folder, read};
use std::io::Write;
use std::net::TcpStream;

const Q: &str = "/v1/queues/q";
const SET_UP: &str =
    r#"{"evaluators": [{"name": "a"}, {"name": "b", "direction": "low"}], "k": 5, "lease_seconds": 60}"#;

fn started(name: &str) -> Server {
    let server = Server::start(name, &[]);
    assert_eq!(server.ask("PUT", Q, SET_UP).status, 201);
    server
}

#[test]
fn the_wire_is_as_it_is_written_down() {
    let server = started("wire");
    assert_eq!(server.ask("PUT", Q, SET_UP).status, 200, "the same again");
    let items = r#"{"items": [{"id": "x1", "scores": {"a": 0.3, "b": null}, "payload": {"text": "hi"}, "tags": {"language": "en"}},
                               {"id": "x2", "scores": {"nobody": 1}}, {"id": "x3", "scores": {"a": 0.9}}]}"#;
    let answer = server.post("/v1/queues/q/items", items);
    assert_eq!((&answer["accepted"], &answer["updated"]), (&json!(2), &json!(0)));
    assert_eq!(answer["rejected"][0]["id"], "x2");
    assert!(answer["rejected"][0]["why"].as_str().unwrap().contains("`nobody`"));

    let claimed =
        server.post("/v1/queues/q/claims", r#"{"reviewer": "r1", "k": 5, "tags": {"language": ["en"]}}"#);
    let [claim] = claimed["claims"].as_array().unwrap().as_slice() else { panic!("{claimed}") };
    assert_eq!(
        (&claim["item"], &claim["rank"], &claim["payload"]),
        (&json!("x1"), &json!(1), &json!({"text": "hi"}))
    );
    assert_eq!((&claim["probability"], &claim["random_check"]), (&json!(1.0), &json!(false)));
    assert!(claim["until"].as_str().unwrap().ends_with('Z'));
    assert!(claimed["model"].is_u64() && claim["value"].is_number());
    let token = claim["token"].as_u64().unwrap();

    let verdict = format!(
        r#"{{"verdicts": [{{"id": "v1", "item": "x1", "reviewer": "r1", "token": {token}, "reward": 1}}]}}"#
    );
    assert_eq!(
        server.post("/v1/queues/q/verdicts", &verdict),
        json!({"accepted": 1, "repeated": 0, "rejected": []})
    );
    assert_eq!(
        server.post("/v1/queues/q/verdicts", &verdict),
        json!({"accepted": 0, "repeated": 1, "rejected": []})
    );
    let counts = &server.get(Q)["counts"];
    assert_eq!(*counts, json!({"items": 2, "pending": 1, "leased": 0, "closed": 1, "verdicts": 1}));

    // Undo, revise, extend, skip and release.
    let undone = server.post("/v1/queues/q/verdicts/undo", r#"{"reviewer": "r1", "verdict": "v1"}"#);
    assert_eq!(undone["item"], "x1");
    assert_eq!(server.get("/v1/queues/q/claims?reviewer=r1")["claims"][0]["token"], undone["token"]);
    let again = r#"{"verdicts": [{"id": "v2", "item": "x1", "reviewer": "r1", "reward": 0}]}"#;
    assert_eq!(server.post("/v1/queues/q/verdicts", again)["accepted"], 1);
    let revised =
        r#"{"verdicts": [{"id": "v3", "item": "x1", "reviewer": "r1", "reward": 1, "revises": "v2"}]}"#;
    assert_eq!(server.post("/v1/queues/q/verdicts", revised)["accepted"], 1);
    assert_eq!(server.post("/v1/queues/q/claims", r#"{"reviewer": "r2"}"#)["claims"][0]["item"], "x3");
    assert_eq!(server.post("/v1/queues/q/claims/extend", r#"{"reviewer": "r2"}"#)["changed"], 1);
    assert_eq!(
        server.post("/v1/queues/q/claims/skip", r#"{"reviewer": "r2", "item": "x3", "reason": "mine"}"#)["changed"],
        1
    );
    assert_eq!(server.post("/v1/queues/q/claims", r#"{"reviewer": "r2"}"#)["claims"], json!([]));
    assert_eq!(server.post("/v1/queues/q/claims", r#"{"reviewer": "r3"}"#)["claims"][0]["item"], "x3");
    assert_eq!(
        server.post("/v1/queues/q/claims/release", r#"{"reviewer": "r3", "items": ["x3"]}"#)["changed"],
        1
    );
    look_at_it(&server);
    change_it(&server);
}

fn look_at_it(server: &Server) {
    let told = server.get("/v1/queues/q/items/x1?explain=true");
    assert_eq!(
        (&told["state"], &told["verdicts"][0]["id"], &told["scores"]["b"]),
        (&json!("closed"), &json!("v3"), &json!(null))
    );
    assert!(told["explanation"].is_object());
    assert_eq!(server.get("/v1/queues/q/items?order=rank")["items"][0]["id"], "x3");
    let all = server.get("/v1/queues/q/items?order=arrival&limit=1");
    assert_eq!((&all["items"][0]["id"], &all["next"]), (&json!("x1"), &json!(1)));
    assert_eq!(server.get("/v1/queues/q/items?order=arrival&after=1")["items"][0]["id"], "x3");
    let ranked = server
        .post("/v1/queues/q/rank", r#"{"items": [{"id": "m", "scores": {"a": 1}}, {"id": "n"}], "k": 1}"#);
    assert_eq!(ranked["order"].as_array().unwrap().len(), 1);
    let evaluators = server.get("/v1/queues/q/evaluators");
    assert_eq!(
        (&evaluators["evaluators"][1]["name"], &evaluators["evaluators"][1]["coverage"]),
        (&json!("b"), &json!(0.0))
    );
    let preview = server.post(
        "/v1/queues/q/preview",
        r#"{"change": {"policy": "average", "evaluators": [{"name": "a"}]}, "k": 1}"#,
    );
    assert_eq!((&preview["best"], &preview["enter"]), (&json!(["x3"]), &json!([])));
    assert_eq!(server.get(Q)["policy"], "adaptive", "a preview changes nothing");
    let report = server.get("/v1/queues/q/report");
    assert_eq!(
        (&report["reviewed"], &report["found"], &report["missed"]),
        (&json!(1), &json!(1.0), &json!(null))
    );
    let events = server.get("/v1/queues/q/events?limit=3");
    let kinds: Vec<_> =
        events["events"].as_array().unwrap().iter().map(|event| event["kind"].clone()).collect();
    assert_eq!((kinds, &events["next"]), (vec![json!("create"), json!("items"), json!("claim")], &json!(3)));
    let next = server.get("/v1/queues/q/events?after=3&limit=1");
    assert_eq!(next["events"][0]["verdicts"][0]["item"], "x1");
}

fn change_it(server: &Server) {
    let patched = server.ask("PATCH", Q, r#"{"mode": "paused", "payload_days": 3}"#).ok();
    assert_eq!(
        (&patched["mode"], &patched["payload_days"], &patched["k"]),
        (&json!("paused"), &json!(3), &json!(5))
    );
    assert_eq!(server.ask("POST", "/v1/queues/q/claims", r#"{"reviewer": "r2"}"#).problem(409), "conflict");
    assert_eq!(
        server.ask("PATCH", "/v1/queues/q/items/x3/scores", r#"{"scores": {"b": 0.2}}"#).ok()["updated"],
        1
    );
    assert_eq!(
        server.ask("PATCH", "/v1/queues/q/items/x1/scores", r#"{"scores": {"b": 0.2}}"#).problem(409),
        "conflict"
    );
    assert_eq!(
        server.ask("PATCH", "/v1/queues/q/items/x9/scores", r#"{"scores": {}}"#).problem(404),
        "no_item"
    );
    assert_eq!(server.ask("DELETE", "/v1/queues/q/items/x3", "").status, 204);
    assert_eq!(server.ask("GET", "/v1/queues/q/items/x3", "").problem(404), "no_item");
    assert_eq!(server.ask("DELETE", Q, "").status, 204);
    assert_eq!(server.ask("GET", Q, "").problem(404), "no_queue");
    assert_eq!(server.get("/v1/queues"), json!({"queues": []}));
    assert_eq!(server.ask("PUT", Q, SET_UP).status, 201, "made anew, it is empty");
    assert_eq!(server.get(Q)["counts"]["items"], 0);
}

#[test]
fn lines_are_added_and_a_bad_line_is_named() {
    let server = started("lines");
    let mut lines = (0..5000)
        .map(|i| format!("{{\"id\": \"i{i}\", \"scores\": {{\"a\": {i}}}}}\r\n"))
        .collect::<Vec<_>>()
        .concat();
    lines += "nonsense\n\n{\"id\": \"last\"}";
    let headers = [("Content-Type", "application/x-ndjson"), ("Idempotency-Key", "load")];
    let answer = server.ask_with("POST", "/v1/queues/q/items", &headers, &lines).ok();
    assert_eq!((&answer["accepted"], &answer["rejected"][0]["id"]), (&json!(5001), &json!("line 5001")));
    let again = server.ask_with("POST", "/v1/queues/q/items", &headers, &lines).ok();
    assert_eq!(again, answer, "with the same key, the same answer");
    let other = r#"{"id": "other", "scores": {"b": 1}}"#;
    let other = server.ask_with("POST", "/v1/queues/q/items", &[("Idempotency-Key", "load")], other);
    assert_eq!(other.problem(422), "key_reused");
    assert_eq!(server.get(Q)["counts"]["items"], 5001);
    let one = server.post("/v1/queues/q/items", r#"{"id": "one", "scores": {"b": 1}}"#);
    assert_eq!(one["accepted"], 1);
}

#[test]
fn an_item_may_be_named_like_a_path() {
    let server = started("close");
    server.post("/v1/queues/q/items", r#"{"id": "close", "scores": {"a": 1}}"#);
    let (close, item) = ("/v1/queues/q/items/close", "/v1/queues/q/items/%63lose");
    assert_eq!(server.get(item)["id"], "close");
    let scores = server.ask("PATCH", &format!("{item}/scores"), r#"{"scores": {"b": 1}}"#).ok();
    assert_eq!(scores["updated"], 1);
    assert_eq!(server.ask("DELETE", item, "").status, 204);
    assert_eq!(server.ask("GET", item, "").problem(404), "no_item");
    assert_eq!(server.post(close, r#"{"reason": "old"}"#)["changed"], 0);
}

#[test]
fn a_server_whose_file_is_deleted_says_so_and_takes_nothing_in() {
    let server = started("deleted");
    std::fs::remove_file(server.folder.join("jurybox.sqlite")).unwrap();
    assert_eq!(server.ask("GET", "/readyz", "").problem(503), "file_gone");
    assert_eq!(server.ask("POST", "/v1/queues/q/items", r#"{"id": "x"}"#).problem(503), "file_gone");
}

#[test]
fn every_error_is_a_problem() {
    let server = started("problems");
    let codes = [
        ("GET", "/nothing", "", 404, "no_route"),
        ("GET", "/v1/queues/none", "", 404, "no_queue"),
        ("POST", Q, "{}", 405, "method_not_allowed"),
        ("PUT", Q, "{", 400, "malformed"),
        ("PUT", Q, "{}", 422, "refused"),
        ("PUT", Q, r#"{"evaluators": []}"#, 422, "refused"),
        ("PUT", Q, r#"{"evaluators": [{"name": "a"}], "policy": "rand"}"#, 422, "refused"),
        ("PUT", Q, r#"{"evaluators": [{"name": "a"}], "policy": "nonsense"}"#, 422, "policy"),
        ("PATCH", Q, r#"{"colour": "red"}"#, 422, "refused"),
        ("PUT", "/v1/queues/a%20b", SET_UP, 422, "refused"),
        ("PUT", "/v1/queues/%2E%2E", SET_UP, 422, "refused"),
        ("POST", "/v1/queues/q/claims", r#"{"reviewer": ""}"#, 422, "refused"),
        ("POST", "/v1/queues/q/claims", r#"{"reviewer": "r", "k": 0}"#, 422, "refused"),
        ("GET", "/v1/queues/q/claims", "", 422, "refused"),
        ("GET", "/v1/queues/q/items?limit=0", "", 422, "refused"),
        ("GET", "/v1/queues/q/items/%FF", "", 400, "malformed"),
        ("POST", "/v1/queues/q/verdicts/undo", r#"{"reviewer": "r", "verdict": "none"}"#, 409, "conflict"),
    ];
    for (method, path, body, status, code) in codes {
        assert_eq!(server.ask(method, path, body).problem(status), code, "{method} {path} {body}");
    }
    let wrong = server.ask("DELETE", "/v1/queues/q/claims", "");
    assert_eq!(wrong.problem(405), "method_not_allowed");
    assert!(wrong.head.contains("allow: post,get,head"), "{wrong:?}");
    for (name, value) in [("Content-Type", "text/plain"), ("Content-Encoding", "gzip")] {
        let answer = server.ask_with("POST", "/v1/queues/q/items", &[(name, value)], "{}");
        assert_eq!(answer.problem(415), "unsupported_media_type");
    }
    let key = "k".repeat(201);
    let answer = server.ask_with("POST", "/v1/queues/q/items", &[("Idempotency-Key", &key)], "{}");
    assert_eq!(answer.problem(400), "malformed");
    let answer = server.ask_with("GET", Q, &[("X-Request-Id", "mine-1")], "");
    assert!(
        answer.head.contains("x-request-id: mine-1")
            && answer.head.contains("content-security-policy: default-src 'none'")
    );
    assert!(!answer.head.contains("access-control"), "no other site's page may read this");
}

/// Fifty concurrent requests with one key have one effect, and get the same answer.
#[test]
fn a_request_repeated_with_its_key_happens_once() {
    let server = started("once");
    let items: Vec<String> = (0..200).map(|i| format!("{{\"id\": \"i{i}\"}}")).collect();
    server.post("/v1/queues/q/items", &format!("{{\"items\": [{}]}}", items.join(",")));
    let body = r#"{"reviewer": "r1", "k": 3}"#;
    let ask = || server.ask_with("POST", "/v1/queues/q/claims", &[("Idempotency-Key", "k1")], body).ok();
    let answers: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..50).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(
        answers.iter().all(|answer| *answer == answers[0] && answer["claims"].as_array().unwrap().len() == 3)
    );
    assert_eq!(server.get(Q)["counts"]["leased"], 3);
    let other =
        server.ask_with("POST", "/v1/queues/q/claims", &[("Idempotency-Key", "k1")], r#"{"reviewer": "r2"}"#);
    assert_eq!(other.problem(422), "key_reused");
    assert!(other.json()["detail"].as_str().unwrap().contains("`k1`"));
}

/// A request may have verdicts of two reviewers on one item. It is sent twice with its key.
#[test]
fn verdicts_of_several_on_one_item_come_in_one_request() {
    let server = Server::start("several", &[]);
    let set_up = r#"{"evaluators": [{"name": "a"}], "quorum": 2}"#;
    assert_eq!(server.ask("PUT", Q, set_up).status, 201);
    server.post(
        "/v1/queues/q/items",
        r#"{"items": [{"id": "x1", "scores": {"a": 1}}, {"id": "x2", "scores": {"a": 2}}]}"#,
    );
    let verdicts = r#"{"verdicts": [{"id": "1", "item": "x1", "reviewer": "ann", "reward": 1}, {"id": "2", "item": "x2", "reviewer": "ann", "reward": 0},
                                     {"id": "3", "item": "x1", "reviewer": "bob", "reward": 1}]}"#;
    for _ in 0..2 {
        let headers = [("Content-Type", "application/json"), ("Idempotency-Key", "k")];
        let answer = server.ask_with("POST", "/v1/queues/q/verdicts", &headers, verdicts).ok();
        assert_eq!(
            (&answer["accepted"], &answer["repeated"], &answer["rejected"]),
            (&json!(3), &json!(0), &json!([]))
        );
    }
    let counts = &server.get(Q)["counts"];
    assert_eq!((&counts["verdicts"], &counts["closed"]), (&json!(3), &json!(1)));
    // A key is refused for another request, even if that begins with the verdicts of the first.
    let first = r#"{"verdicts": [{"id": "9", "item": "x2", "reviewer": "cyd", "reward": 0}]}"#;
    let more = r#"{"verdicts": [{"id": "9", "item": "x2", "reviewer": "cyd", "reward": 0}, {"id": "10", "item": "x2", "reviewer": "dan", "reward": 0}]}"#;
    let headers = [("Content-Type", "application/json"), ("Idempotency-Key", "other")];
    assert_eq!(server.ask_with("POST", "/v1/queues/q/verdicts", &headers, first).ok()["accepted"], 1);
    assert_eq!(server.ask_with("POST", "/v1/queues/q/verdicts", &headers, more).problem(422), "key_reused");
    // A key is also remembered if its request added nothing. Verdict 9 is known, and verdict 10
    // comes after two others have decided the item.
    let headers = [("Content-Type", "application/json"), ("Idempotency-Key", "third")];
    let answer = server.ask_with("POST", "/v1/queues/q/verdicts", &headers, more).ok();
    assert_eq!((&answer["accepted"], &answer["repeated"]), (&json!(0), &json!(1)), "{answer}");
    let another = r#"{"verdicts": [{"id": "11", "item": "x2", "reviewer": "eve", "reward": 0}]}"#;
    assert_eq!(
        server.ask_with("POST", "/v1/queues/q/verdicts", &headers, another).problem(422),
        "key_reused"
    );
    let one = |i: usize| json!({"id": i.to_string(), "item": "x2", "reviewer": format!("r{i}"), "reward": 1});
    let crowd = json!({"verdicts": (0..102).map(one).collect::<Vec<_>>()}).to_string();
    let answer = server.ask("POST", "/v1/queues/q/verdicts", &crowd);
    assert_eq!(answer.problem(422), "refused");
}

/// A server that ends on a signal answers the request under way. The next process finds its effect.
#[test]
fn it_ends_well_and_begins_where_it_ended() {
    let mut server = started("end");
    server.post("/v1/queues/q/items", r#"{"id": "x1", "scores": {"a": 1}}"#);
    let claim = server.post("/v1/queues/q/claims", r#"{"reviewer": "r1"}"#);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let body = r#"{"id": "x2"}"#;
    write!(
        stream,
        "POST /v1/queues/q/items HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
        body.len(),
        &body[..5]
    )
    .unwrap();
    // Once this later request is answered, the server has begun to read the first one.
    server.get("/readyz");
    std::thread::scope(|scope| {
        let ending = scope.spawn(|| server.terminate());
        std::thread::sleep(std::time::Duration::from_millis(300));
        stream.write_all(&body.as_bytes()[5..]).unwrap();
        assert_eq!(read(&mut stream).ok()["accepted"], 1);
        ending.join().unwrap();
    });
    assert!(server.log().contains("ending"));
    let folder = server.folder.clone();
    let next = Server::over(&folder, &[]);
    let counts = &next.get(Q)["counts"];
    assert_eq!((&counts["items"], &counts["leased"]), (&json!(2), &json!(1)));
    let held = next.get("/v1/queues/q/claims?reviewer=r1");
    assert_eq!(held["claims"][0]["token"], claim["claims"][0]["token"]);
    drop(next);
    drop(server);
}

#[test]
fn a_folder_has_one_server() {
    let server = Server::start("one", &[]);
    let data = server.folder.to_str().unwrap().to_string();
    let other = std::process::Command::new(env!("CARGO_BIN_EXE_jurybox"))
        .args(["serve", "--port", "0", "--wait", "0", "--data", &data])
        .output()
        .unwrap();
    assert!(!other.status.success());
    assert!(String::from_utf8_lossy(&other.stderr).contains("another process is using this folder"));
    assert!(!folder("one").join("never").exists());
}

#[test]
fn the_document_holds_together() {
    let server = Server::start("document", &[]);
    let document = server.get("/openapi.json");
    assert_eq!(document["openapi"], "3.1.0");
    let text = document.to_string();
    for part in text.split("#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
    let page = server.ask("GET", "/api", "");
    assert!(page.status == 200 && page.body.contains("POST /v1/queues/{queue}/claims"));
    assert!(!page.body.contains("<script") && !page.body.contains("://"), "it loads nothing from elsewhere");
    assert!(server.ask("GET", "/", "").body.contains("/api"));
    let metrics = server.ask("GET", "/metrics", "");
    assert!(metrics.body.contains("jurybox_requests_total{") && metrics.body.ends_with("# EOF\n"));
}

/// An idle queue of a thousand items gives memory back. It took nearly 9 MB before that was so.
#[cfg(target_os = "linux")]
#[test]
fn queues_that_nobody_asks_take_little_memory() {
    const QUEUES: usize = 21;
    // In KB. Measured: 4,829 in a debug build, and 9,000 before idle queues gave memory back.
    const MOST_KB: usize = 6000;
    let server = Server::start("memory", &["--log", "off"]);
    let resident = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
    };
    let mut first = 0;
    for queue in 0..QUEUES {
        let path = format!("/v1/queues/q{queue}");
        let names: Vec<_> = (0..5).map(|j| json!({"name": format!("e{j}")})).collect();
        assert_eq!(server.ask("PUT", &path, &json!({ "evaluators": names }).to_string()).status, 201);
        let item = |i: usize| {
            let scores: serde_json::Map<_, _> =
                (0..5).map(|j| (format!("e{j}"), json!((i * 37 + j * 61) % 997))).collect();
            json!({"id": format!("i{i}"), "scores": scores, "payload": {"text": "x".repeat(500)}})
        };
        let items: Vec<_> = (0..1000).map(item).collect();
        assert_eq!(
            server.post(&format!("{path}/items"), &json!({ "items": items }).to_string())["accepted"],
            1000
        );
        if queue == 0 {
            first = resident();
        }
    }
    let each = || resident().saturating_sub(first) / (QUEUES - 1);
    let began = std::time::Instant::now();
    while each() > MOST_KB && began.elapsed() < std::time::Duration::from_secs(20) {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(each() <= MOST_KB, "{} KB for each queue", each());
}

//! Access to a server: roles on every route, keys for single queues and reviewers, a proxy, rate
//! limits, and that no secret is disclosed.
#![cfg(unix)]

mod server;

use serde_json::json;
use server::{Answer, Server};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

const SET_UP: &str = r#"{"evaluators": [{"name": "a"}]}"#;

/// The role that each operation of the API needs; none if empty. An operation without an entry
/// fails the test.
const ROLES: &[(&str, &str)] = &[
    ("listQueues", "read"),
    ("putQueue", "admin"),
    ("patchQueue", "admin"),
    ("getQueue", "read"),
    ("deleteQueue", "admin"),
    ("postItems", "write"),
    ("closeItems", "admin"),
    ("eraseItem", "admin"),
    ("patchScores", "write"),
    ("claim", "review"),
    ("listClaims", "review"),
    ("extendClaims", "review"),
    ("releaseClaims", "review"),
    ("skipClaim", "review"),
    ("postVerdicts", "review"),
    ("undoVerdict", "review"),
    ("listItems", "read"),
    ("getItem", "read"),
    ("rank", "read"),
    ("listEvaluators", "read"),
    ("preview", "read"),
    ("report", "read"),
    ("export", "read"),
    ("listEvents", "read"),
    ("listWebhooks", "admin"),
    ("putWebhook", "admin"),
    ("deleteWebhook", "admin"),
    ("metrics", "read"),
    ("health", ""),
    ("readiness", ""),
];

/// The roles that each page and action needs. Where there are several, any of them will do.
const PAGES: &[(&str, &str, &[&str])] = &[
    ("GET", "/", &["read", "review"]),
    ("GET", "/live", &["read"]),
    ("GET", "/q/nowhere", &["read"]),
    ("GET", "/q/nowhere/activity", &["read"]),
    ("GET", "/q/nowhere/items/x", &["read"]),
    ("GET", "/q/nowhere/reviewers", &["read"]),
    ("GET", "/q/nowhere/mute?evaluator=a", &["read"]),
    ("POST", "/q/nowhere/mute/now", &["admin"]),
    ("GET", "/q/nowhere/desk", &["review"]),
    ("POST", "/q/nowhere/desk/who", &["review"]),
    ("POST", "/q/nowhere/desk/next", &["review"]),
    ("POST", "/q/nowhere/desk/verdict", &["review"]),
    ("POST", "/q/nowhere/desk/skip", &["review"]),
    ("POST", "/q/nowhere/desk/undo", &["review"]),
    ("POST", "/q/nowhere/desk/keep", &["review"]),
    ("POST", "/q/nowhere/desk/leave", &["review"]),
];

fn bearer(secret: &str) -> String {
    format!("Bearer {secret}")
}

/// Repeats a request until `known` accepts the answer, because a server notices keys late. Gives up
/// after five seconds.
fn once_known(ask: impl Fn() -> Answer, known: impl Fn(&Answer) -> bool) -> Answer {
    let began = Instant::now();
    loop {
        let answer = ask();
        if known(&answer) || began.elapsed() > Duration::from_secs(5) {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn every_role_on_every_route() {
    let server = Server::start("roles", &[]);
    let names = ["read", "write", "review", "admin"];
    let keys: Vec<(&str, String)> = names.iter().map(|role| (*role, server.key(role, role, &[]))).collect();
    let nobody = |method: &str, path: &str| server.ask(method, path, "{}");
    let closed = once_known(|| nobody("GET", "/v1/queues"), |answer| answer.status == 401);
    assert_eq!(closed.problem(401), "unauthorized");
    assert!(closed.head.contains("www-authenticate: bearer"));
    let document = server.get("/openapi.json");
    let meant: BTreeMap<&str, &str> = ROLES.iter().copied().collect();
    let mut seen = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            let role = meant.get(id).unwrap_or_else(|| panic!("{id} is not in the table"));
            let method = method.to_ascii_uppercase();
            // These queues, items and webhooks do not exist, so that nothing is changed.
            let path = path.replace("{queue}", "nowhere").replace("{item}", "x").replace("{webhook}", "w");
            seen += 1;
            if role.is_empty() {
                assert_eq!(nobody(&method, &path).status, 200, "{id}");
                continue;
            }
            assert_eq!(operation["x-role"], *role, "{id}");
            assert_eq!(nobody(&method, &path).problem(401), "unauthorized", "{id}");
            for (own, secret) in &keys {
                let answer = server.ask_with(&method, &path, &[("Authorization", &bearer(secret))], "{}");
                if own == role || *own == "admin" {
                    assert!(![401, 403].contains(&answer.status), "{own} {id}: {answer:?}");
                } else {
                    assert_eq!(answer.problem(403), "forbidden", "{own} {id}");
                }
            }
        }
    }
    assert_eq!(seen, ROLES.len());
    for (method, path, roles) in PAGES {
        assert_eq!(nobody(method, path).problem(401), "unauthorized", "{path}");
        for (own, secret) in &keys {
            // The stream of /live does not end, so that only refusals can be tested.
            if *path == "/live" && ["read", "admin"].contains(own) {
                continue;
            }
            let answer = server.ask_with(method, path, &[("Authorization", &bearer(secret))], "{}");
            if roles.contains(own) || *own == "admin" {
                assert!(![401, 403].contains(&answer.status), "{own} {path}: {answer:?}");
            } else {
                assert_eq!(answer.problem(403), "forbidden", "{own} {path}");
            }
        }
    }
    for page in ["/login", "/logout"] {
        assert_ne!(nobody(if page == "/login" { "GET" } else { "POST" }, page).status, 401, "{page}");
    }
    for said in ["Basic abc", "Bearer", "Bearer jury_0000", "bearer  "] {
        let answer = server.ask_with("GET", "/v1/queues", &[("Authorization", said)], "");
        assert_eq!(answer.problem(401), "unauthorized", "{said}");
    }
}

#[test]
fn a_key_is_for_its_queues_and_can_be_taken_away() {
    let server = Server::start("queues", &[]);
    for queue in ["one", "two"] {
        assert_eq!(server.ask("PUT", &format!("/v1/queues/{queue}"), SET_UP).status, 201);
    }
    let secret = bearer(&server.key("only-one", "read,write", &["--queue", "one"]));
    let ask = |method: &str, path: &str, body: &str| {
        server.ask_with(method, path, &[("Authorization", &secret)], body)
    };
    let listed = once_known(|| ask("GET", "/v1/queues", ""), |answer| answer.status == 200);
    assert_eq!(listed.ok(), json!({"queues": ["one"]}));
    assert_eq!(ask("GET", "/v1/queues/one", "").status, 200);
    assert_eq!(ask("GET", "/v1/queues/two", "").problem(403), "forbidden");
    let counted = ask("GET", "/metrics", "").body;
    assert!(counted.contains("queue=\"one\"") && !counted.contains("queue=\"two\""), "{counted}");
    assert_eq!(ask("GET", "/v1/queues/%74wo", "").problem(403), "forbidden");
    assert_eq!(ask("POST", "/v1/queues/one/items", r#"{"id": "x"}"#).status, 200);
    assert_eq!(ask("GET", "/v1/queues/one/events?after=1", "").ok()["events"][0]["actor"], "only-one");
    let data = server.folder.to_str().unwrap().to_string();
    let key = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_jurybox"))
            .args(["server", "key"])
            .args(arguments)
            .args(["--data", &data])
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (listed, line) = key(&["list"]);
    assert!(
        listed && line.starts_with("only-one  read,write  one  created 2") && line.contains("  last used 2"),
        "{line}"
    );
    assert!(!key(&["add", "only-one", "--role", "read"]).0, "a name in use is refused");
    assert!(key(&["revoke", "only-one"]).0 && !key(&["revoke", "only-one"]).0);
    // Without its last key the server is closed, to this machine too and after a restart.
    let refused = once_known(|| ask("GET", "/v1/queues", ""), |answer| answer.status == 401);
    assert_eq!(refused.problem(401), "unauthorized");
    let shut = |server: &Server| {
        let answer = server.ask("GET", "/v1/queues", "");
        assert_eq!(answer.problem(401), "unauthorized");
        assert!(answer.body.contains("all keys of this server have been revoked"), "{answer:?}");
    };
    shut(&server);
    let server = server.again(&[]);
    shut(&server);
    assert_eq!(server.again(&["--open"]).get("/v1/queues"), json!({"queues": ["one", "two"]}));
}

#[test]
fn rules_and_appeals_take_more_than_reviewing() {
    let server = Server::start("sources", &[]);
    assert_eq!(server.ask("PUT", "/v1/queues/q", SET_UP).status, 201);
    server.post("/v1/queues/q/items", r#"{"items": [{"id": "x"}, {"id": "y"}]}"#);
    let give = |secret: &str, item: &str, source: &str| {
        let verdict = json!({"id": format!("{item}-{source}"), "item": item, "reviewer": "r", "reward": 1, "source": source});
        let body = json!({ "verdicts": [verdict] }).to_string();
        let headers = [("Authorization", secret)];
        server.ask_with("POST", "/v1/queues/q/verdicts", &headers, &body)
    };
    let keys = ["review", "review,write", "review,admin"];
    let [review, rules, admin] = keys.map(|role| bearer(&server.key(&role.replace(',', "-"), role, &[])));
    once_known(|| give(&review, "x", "reviewer"), |answer| answer.status == 200);
    assert_eq!(give(&review, "y", "automatic").problem(403), "forbidden");
    assert_eq!(give(&review, "x", "appeal").problem(403), "forbidden");
    assert_eq!(give(&rules, "x", "appeal").problem(403), "forbidden");
    assert_eq!(give(&rules, "y", "automatic").ok()["accepted"], 1);
    assert_eq!(give(&admin, "x", "appeal").ok()["accepted"], 1);
}

/// The key of a reviewer cannot act as another reviewer, neither in the API nor on the pages.
#[test]
fn a_key_of_a_reviewer_opens_nothing_of_another() {
    let server = Server::start("reviewers", &[]);
    assert_eq!(
        server.ask("PUT", "/v1/queues/q", r#"{"evaluators": [{"name": "a"}], "quorum": 2}"#).status,
        201
    );
    let items: Vec<_> =
        (0..6).map(|i| json!({"id": format!("x{i}"), "scores": {"a": i}, "payload": {"n": i}})).collect();
    server.post("/v1/queues/q/items", &json!({ "items": items }).to_string());
    let tool = bearer(&server.key("tool", "review", &[]));
    let own = bearer(&server.key("anns", "review", &["--reviewer", "ann", "--expires", "2199-12-31"]));
    let chief = bearer(&server.key("chief", "admin", &["--reviewer", "cyd"]));
    let ask = |key: &str, method: &str, path: &str, body: &str| {
        server.ask_with(method, &format!("/v1/queues/q{path}"), &[("Authorization", key)], body)
    };
    let claim = |who: &str| json!({"reviewer": who, "k": 2}).to_string();
    let of_bob =
        once_known(|| ask(&tool, "POST", "/claims", &claim("bob")), |answer| answer.status == 200).ok();
    let item = of_bob["claims"][0]["item"].clone();
    let verdict = |who: &str, id: &str| {
        let verdict = json!({"id": id, "item": item, "reviewer": who, "reward": 1});
        json!({ "verdicts": [verdict] }).to_string()
    };
    once_known(|| ask(&own, "GET", "/claims?reviewer=ann", ""), |answer| answer.status == 200);
    for key in [&own, &chief] {
        for (method, path, body) in [
            ("POST", "/claims", claim("bob")),
            ("GET", "/claims?reviewer=bob", String::new()),
            ("POST", "/claims/extend", r#"{"reviewer": "bob"}"#.into()),
            ("POST", "/claims/release", r#"{"reviewer": "bob"}"#.into()),
            ("POST", "/claims/skip", json!({"reviewer": "bob", "item": item, "reason": "r"}).to_string()),
            ("POST", "/verdicts", verdict("bob", "v0")),
            ("POST", "/verdicts/undo", r#"{"reviewer": "bob", "verdict": "v1"}"#.into()),
        ] {
            let refused = ask(key, method, path, &body);
            assert_eq!(refused.problem(403), "forbidden", "{method} {path}");
        }
        let page = |step: &str, form: &str| {
            let headers =
                [("Authorization", key.as_str()), ("Content-Type", "application/x-www-form-urlencoded")];
            server.ask_with("POST", &format!("/q/q/desk/{step}"), &headers, form)
        };
        assert_eq!(page("next", "reviewer=bob").status, 403);
        assert_eq!(page("leave", "reviewer=bob").status, 403);
    }
    // On the review page, the key acts as its reviewer `ann`; its own name is `anns`.
    let desk = server.ask_with("GET", "/q/q/desk", &[("Authorization", &own)], "");
    assert!(desk.body.contains("ann · leave") && !desk.body.contains("anns · leave"), "{}", desk.body);
    // With a quorum of two, verdicts of two reviewers are accepted.
    assert_eq!(ask(&own, "POST", "/verdicts", &verdict("ann", "v1")).ok()["accepted"], 1);
    assert_eq!(ask(&tool, "POST", "/verdicts", &verdict("bob", "v2")).ok()["accepted"], 1);
    let list = Command::new(env!("CARGO_BIN_EXE_jurybox"))
        .args(["server", "key", "list", "--data", server.folder.to_str().unwrap()])
        .output()
        .unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("anns  review  all queues  as ann  created 2"), "{list}");
    assert!(list.contains("  expires after 2199-12-31  last used 2"), "{list}");
    assert!(list.contains("tool  review  all queues  as any reviewer"), "{list}");
}

/// A key that may only review sees no rank, value or probability of an item.
#[test]
fn claims_are_blind_and_bounded_for_those_who_only_review() {
    let server = Server::start("blind", &[]);
    assert_eq!(
        server.ask("PUT", "/v1/queues/q", r#"{"evaluators": [{"name": "a"}], "max_held": 1000}"#).status,
        201
    );
    let items: Vec<_> = (0..400).map(|i| json!({"id": format!("x{i:03}"), "scores": {"a": i}})).collect();
    server.post("/v1/queues/q/items", &json!({ "items": items }).to_string());
    let [review, both, admin] = ["review", "review,read", "admin"]
        .map(|role| bearer(&server.key(&role.replace(',', "-"), role, &[])));
    let claim = |key: &str, k: u32| {
        let body = json!({"reviewer": "ann", "k": k}).to_string();
        server.ask_with("POST", "/v1/queues/q/claims", &[("Authorization", key)], &body)
    };
    let blind = once_known(|| claim(&review, 120), |answer| answer.status == 200).ok();
    assert_eq!((blind["claims"].as_array().unwrap().len(), &blind["limited_by"]), (100, &json!("role")));
    let ids: Vec<&str> =
        blind["claims"].as_array().unwrap().iter().map(|one| one["item"].as_str().unwrap()).collect();
    assert!(!ids.is_sorted() && !ids.iter().rev().is_sorted(), "their order is not the rank: {ids:?}");
    for one in blind["claims"].as_array().unwrap() {
        let mut fields: Vec<&String> = one.as_object().unwrap().keys().collect();
        fields.sort();
        assert_eq!(fields, ["item", "token", "until"]);
    }
    for key in [&both, &admin] {
        let seen = once_known(|| claim(key, 101), |answer| answer.status == 200).ok();
        let all = seen["claims"].as_array().unwrap();
        assert_eq!((all.len(), seen["limited_by"].is_null()), (101, true));
        assert_eq!(
            (&all[0]["rank"], &all[0]["probability"], &all[0]["random_check"]),
            (&json!(1), &json!(1.0), &json!(false))
        );
        assert!(all[0]["value"].as_f64().unwrap() >= all[1]["value"].as_f64().unwrap());
    }
    let held = server.ask_with("GET", "/v1/queues/q/claims?reviewer=ann", &[("Authorization", &review)], "");
    assert!(!held.body.contains("value") && !held.body.contains("probability"), "{held:?}");
}

#[test]
fn an_answer_is_no_larger_than_its_limit() {
    let server = Server::with_queue("bytes", &[]);
    for part in 0..6 {
        let item = |i| json!({"id": format!("x{part}-{i}"), "payload": "x".repeat(250_000)});
        let items: Vec<_> = (0..10).map(item).collect();
        assert_eq!(server.post("/v1/queues/q/items", &json!({ "items": items }).to_string())["accepted"], 10);
    }
    let large = json!({"id": "large", "payload": "x".repeat(300_000)}).to_string();
    let refused = server.post("/v1/queues/q/items", &large);
    assert!(refused["rejected"][0]["why"].as_str().unwrap().contains("300002 bytes, more than 262144"));
    let claimed = server.ask("POST", "/v1/queues/q/claims", r#"{"reviewer": "ann", "k": 60}"#);
    assert!(claimed.body.len() < 9 << 20, "{} bytes", claimed.body.len());
    let claimed = claimed.ok();
    assert_eq!((claimed["claims"].as_array().unwrap().len(), &claimed["limited_by"]), (33, &json!("bytes")));
    assert_eq!(server.get("/v1/queues/q")["counts"]["leased"], 33);
    let rest = server.post("/v1/queues/q/claims", r#"{"reviewer": "ann", "k": 60}"#);
    assert_eq!((rest["claims"].as_array().unwrap().len(), rest["limited_by"].is_null()), (27, true));
    let held = server.get("/v1/queues/q/claims?reviewer=ann");
    assert_eq!((held["claims"].as_array().unwrap().len(), &held["left_out"]), (33, &json!(27)));
}

#[test]
fn without_keys_nobody_from_elsewhere_may_ask() {
    let folder = server::folder("public");
    let refused = Command::new(env!("CARGO_BIN_EXE_jurybox"))
        .args(["serve", "--listen", "0.0.0.0", "--port", "0", "--data", folder.to_str().unwrap()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("jurybox server key add"), "{said}");
    let server = Server::over(&folder, &[]);
    // DNS rebinding: a host name of a page elsewhere leads to this machine. Then a request from a
    // page elsewhere.
    let rebound = server.raw(b"GET /v1/queues HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert_eq!(rebound.problem(421), "misdirected");
    let form = [("Origin", "https://evil.example")];
    assert_eq!(server.ask_with("PUT", "/v1/queues/q", &form, SET_UP).problem(403), "cross_origin");
    assert_eq!(server.get("/v1/queues"), json!({"queues": []}));
}

#[test]
fn a_proxy_says_who_is_there() {
    let proxy =
        ["--proxy-header", "X-Forwarded-User", "--proxy-from", "127.0.0.1", "--proxy-roles", "review"];
    let server = Server::start("proxy", &proxy);
    let admin = bearer(&server.key("admin", "admin", &[]));
    let put = || server.ask_with("PUT", "/v1/queues/q", &[("Authorization", &admin)], SET_UP);
    assert_eq!(once_known(put, |answer| answer.status != 401).status, 201);
    let ann =
        |body: &str| server.ask_with("POST", "/v1/queues/q/claims", &[("X-Forwarded-User", "ann")], body);
    assert_eq!(ann(r#"{"reviewer": "ann"}"#).status, 200);
    assert_eq!(ann(r#"{"reviewer": "bob"}"#).problem(403), "forbidden");
    let two = [("X-Forwarded-User", "bob"), ("X-Forwarded-User", "ann")];
    let answer = server.ask_with("POST", "/v1/queues/q/claims", &two, r#"{"reviewer": "bob"}"#);
    assert_eq!(answer.problem(400), "malformed");
    assert_eq!(
        server.ask_with("GET", "/v1/queues/q", &[("X-Forwarded-User", "ann")], "").problem(403),
        "forbidden"
    );
    assert_eq!(server.ask("POST", "/v1/queues/q/claims", "{}").problem(401), "unauthorized");
    let elsewhere = ["--proxy-header", "X-Forwarded-User", "--proxy-from", "10.0.0.1"];
    let server = server.again(&elsewhere);
    let forged = server.ask_with("GET", "/v1/queues", &[("X-Forwarded-User", "ann")], "");
    assert_eq!(forged.problem(401), "unauthorized");
}

#[test]
fn who_asks_too_often_is_told_when_to_come_again() {
    let server = Server::start("rate", &["--rate", "5"]);
    let answers: Vec<Answer> = (0..30).map(|_| server.ask("GET", "/v1/queues", "")).collect();
    let refused: Vec<&Answer> = answers.iter().filter(|answer| answer.status != 200).collect();
    assert!(!refused.is_empty(), "thirty at once are more than five a second");
    for answer in refused {
        assert_eq!(answer.problem(429), "too_many_requests");
        assert!(answer.head.contains("retry-after: 1"), "{answer:?}");
    }
}

/// A secret planted wherever a client can put text comes back neither in answers nor in the log.
#[test]
fn no_secret_is_told() {
    let server = Server::start("secrets", &[]);
    let secret = server.key("admin", "admin", &[]);
    let planted = "PLANTED-SECRET-7f3a";
    let own = bearer(&secret);
    let put = || server.ask_with("PUT", "/v1/queues/q", &[("Authorization", &own)], SET_UP);
    once_known(put, |answer| answer.status == 201);
    let mut said = String::new();
    for headers in [
        vec![("Authorization", own.as_str())],
        vec![("Authorization", "Bearer PLANTED-SECRET-7f3a")],
        vec![("Authorization", own.as_str()), ("Cookie", "s=PLANTED-SECRET-7f3a")],
        vec![("Authorization", own.as_str()), ("X-Request-Id", "PLANTED SECRET\"7f3a")],
    ] {
        for path in ["/v1/queues", "/v1/queues/q/items?limit=PLANTED-SECRET-7f3a", "/PLANTED-SECRET-7f3a"] {
            let answer = server.ask_with("GET", path, &headers, "");
            // The answer about a wrong query may repeat it to the client.
            if !path.contains("limit") {
                said += &answer.head;
                said += &answer.body;
            }
        }
        let item = r#"{"id": "x", "scores": {"a": 1}, "payload": {"card": "PLANTED-SECRET-7f3a"}}"#;
        let answer = server.ask_with("POST", "/v1/queues/q/items", &headers, item);
        said += &answer.head;
        said += &answer.body;
    }
    let log = server.log();
    assert!(log.lines().count() >= 12 && log.contains("\"request_id\""), "{log}");
    for text in [&log, &said] {
        for secret in [secret.as_str(), planted, &planted.to_lowercase()] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
    // The local socket is not a file.
    let files = std::fs::read_dir(&server.folder).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.is_file()) {
        let bytes = std::fs::read(file).unwrap();
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "only the hash of a secret is stored");
    }
}

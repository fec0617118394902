//! Webhooks as a receiver gets them: signed, in order, retried, continued after a restart, and not
//! sent to private addresses.
#![cfg(unix)]

mod server;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use server::Server;
use sha2::Sha256;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const PRIVATE: &str = "--webhook-allow-private";
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A message that arrived.
#[derive(Debug)]
struct Arrived {
    head: String,
    body: String,
}

impl Arrived {
    fn header(&self, name: &str) -> &str {
        let line = self.head.lines().find(|line| line.starts_with(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("no {name}: {self:?}")).split_once(": ").unwrap().1
    }

    /// Checks the signature, and returns the numbers of the entries in the message.
    fn entries(&self, secret: &str) -> Vec<u64> {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        let (id, time) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        mac.update(format!("{id}.{time}.{}", self.body).as_bytes());
        let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        assert_eq!(self.header("webhook-signature"), signature, "{self:?}");
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
        assert!(now.abs_diff(time.parse().unwrap()) < 300, "{time}");
        let said: Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(said["queue"], "q");
        said["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect()
    }
}

/// Starts a receiver. It gives these answers in turn, and then repeats the last one.
fn listens(answers: &'static [&'static str]) -> (String, Receiver<Arrived>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/in?x=1", listener.local_addr().unwrap());
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for (at, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let (mut text, mut piece) = (String::new(), [0_u8; 8192]);
            let arrived = loop {
                let read = stream.read(&mut piece).unwrap_or(0);
                text += &String::from_utf8_lossy(&piece[..read]);
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let long = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
                if body.len() == long.unwrap().parse::<usize>().unwrap() {
                    break Arrived { head: head.into(), body: body.into() };
                }
            };
            let answer = answers[at.min(answers.len() - 1)];
            let _ = write!(stream, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
            if tell.send(arrived).is_err() {
                return;
            }
        }
    });
    (url, told)
}

fn next(told: &Receiver<Arrived>) -> Arrived {
    told.recv_timeout(Duration::from_mins(1)).expect("something arrives")
}

fn hook(server: &Server, body: &Value) -> (u16, Value) {
    let answer = server.ask("PUT", "/v1/queues/q/webhooks/crm", &body.to_string());
    (answer.status, answer.ok())
}

fn stands(server: &Server) -> Value {
    server.get("/v1/queues/q/webhooks")["webhooks"][0].clone()
}

/// Waits until the state of the webhook is as wanted, for at most a minute. Returns the last state.
fn until(server: &Server, so: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let now = stands(server);
        if so(&now) || began.elapsed() > Duration::from_mins(1) {
            return now;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn item(server: &Server, id: &str) {
    server.post("/v1/queues/q/items", &json!({"items": [{"id": id, "scores": {"a": 1}}]}).to_string());
}

#[test]
fn everything_arrives_in_order_and_again_where_it_went_wrong() {
    let server = Server::with_queue("hooks", &[PRIVATE]);
    let (elsewhere, never) = listens(&["200 OK"]);
    let moved: &str = format!("302 Found\r\nLocation: {elsewhere}").leak();
    let (url, told) = listens(vec!["503 Busy", moved, "200 OK", "500 Oh", "204 Fine"].leak());
    let (status, made) = hook(&server, &json!({"url": url, "after": 0}));
    let secret = made["secret"].as_str().unwrap().to_string();
    assert_eq!((status, made["seen"].as_u64(), made["behind"].as_u64()), (201, Some(0), Some(1)));
    for refused in 0..2 {
        assert_eq!(next(&told).entries(&secret)[0], 1, "{refused}");
    }
    let first = next(&told);
    assert_eq!(first.entries(&secret), [1]);
    assert!(first.head.starts_with("POST /in?x=1 HTTP/1.1"), "{first:?}");
    assert_eq!(until(&server, |hook| hook["seen"] == 1)["failures"], 0);
    for id in ["x", "y", "z"] {
        item(&server, id);
    }
    let mut got: Vec<u64> = Vec::new();
    loop {
        let all = stands(&server)["seen"] == 4;
        let Ok(some) = told.recv_timeout(Duration::from_millis(200)) else {
            if all {
                break;
            }
            continue;
        };
        let some = some.entries(&secret);
        // After an error the entries come again. None is left out, and none comes before its turn.
        let after = got.iter().copied().filter(|seq| *seq < some[0]).max().unwrap_or(1);
        assert_eq!(some[0], after + 1, "{got:?} {some:?}");
        got.extend(some);
    }
    assert_eq!(got.last(), Some(&4));
    assert!(never.try_recv().is_err(), "the redirect to {elsewhere} was followed");
    // The secret is shown only once.
    let (status, again) = hook(&server, &json!({"url": url}));
    assert_eq!((status, &again["secret"], &again["seen"]), (200, &Value::Null, &json!(4)));
    let bare = secret.strip_prefix("whsec_").unwrap();
    for text in [server.log(), stands(&server).to_string(), server.get("/v1/queues/q/events").to_string()] {
        assert!(!text.contains(bare), "{text}");
    }
    let counted = server.ask("GET", "/metrics", "").body;
    assert!(counted.contains(r#"jurybox_webhook_behind{queue="q",webhook="crm"} 0"#), "{counted}");
    assert!(counted.contains(r#"jurybox_webhook_deliveries_total{arrived="no"} 3"#), "{counted}");
    // A new process continues where the old one ended. It does so at once, because the old one has
    // released the webhook.
    let server = server.again(&[PRIVATE]);
    item(&server, "after");
    let soon = told.recv_timeout(Duration::from_secs(20)).expect("it does not wait for the old one's minute");
    assert_eq!(soon.entries(&secret), [5]);
    assert_eq!(server.ask("DELETE", "/v1/queues/q/webhooks/crm", "").status, 204);
    assert_eq!(server.ask("DELETE", "/v1/queues/q/webhooks/crm", "").problem(404), "no_webhook");
    item(&server, "unheard");
    assert!(told.recv_timeout(Duration::from_secs(2)).is_err());
}

#[test]
fn who_does_not_want_it_any_more_is_left_alone_and_that_is_told() {
    let server = Server::with_queue("gone", &[PRIVATE]);
    let (url, told) = listens(&["410 Gone"]);
    hook(&server, &json!({"url": url, "after": 0, "secret": SECRET}));
    assert_eq!(next(&told).entries(SECRET), [1]);
    let off = until(&server, |hook| hook["off"] == true);
    assert_eq!((&off["why"], &off["next_try"]), (&json!("it answered 410"), &Value::Null));
    item(&server, "x");
    assert!(told.recv_timeout(Duration::from_secs(2)).is_err());
    assert_eq!(server.get("/readyz")["webhooks_off"], 1);
    let counted = server.ask("GET", "/metrics", "").body;
    assert!(counted.contains(r#"jurybox_webhook_off{queue="q",webhook="crm"} 1"#), "{counted}");
    let (url, told) = listens(&["200 OK"]);
    assert_eq!(hook(&server, &json!({"url": url})).0, 200);
    assert_eq!(next(&told).entries(SECRET), [1, 2], "with the old secret, from the undelivered entry on");
}

#[test]
fn nothing_private_is_reached_unless_that_is_allowed() {
    let server = Server::with_queue("private-hooks", &[]);
    let put = |body: Value| server.ask("PUT", "/v1/queues/q/webhooks/crm", &body.to_string());
    for url in [
        "http://example.org/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://10.0.0.1/",
        "https://169.254.169.254/",
        "https://192.168.0.1/",
        "https://[::ffff:127.0.0.1]/",
        "https://a:b@example.org/",
        "file:///etc/passwd",
        "not a url",
        "",
    ] {
        assert_eq!(put(json!({"url": url})).problem(422), "refused", "{url}");
    }
    assert_eq!(
        put(json!({"url": "https://example.org/", "secret": "hunter2hunter2"})).problem(422),
        "refused"
    );
    assert_eq!(put(json!({"url": "https://example.org/", "after": 9})).problem(422), "refused");
    assert_eq!(
        server.ask("PUT", "/v1/queues/none/webhooks/crm", r#"{"url": "https://example.org/"}"#).status,
        404
    );
    let odd = server.ask("PUT", "/v1/queues/q/webhooks/a%20b", r#"{"url": "https://example.org/"}"#);
    assert_eq!(odd.problem(422), "refused");
    // A name is looked up before sending. This one leads to this machine.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    assert_eq!(put(json!({"url": format!("https://localhost:{port}/"), "after": 0})).status, 201);
    let failed = until(&server, |hook| hook["failures"].as_u64() > Some(0));
    assert!(failed["why"].as_str().unwrap().contains("private address"), "{failed}");
    assert!(listener.accept().is_err(), "the private address was contacted");
}

//! One of several nodes that serve a queue without HTTP, for `scripts/kill-test`.
//!
//! Arguments: a folder or database URL, and the configuration of the queue `q` as JSON. The first
//! output line, with id null, says that the node is ready. Each input line has an id and a call:
//! `{"id": 1, "call": {"actor": "ann", "idempotency": "k1", "request": {...}}}`. Its output line
//! has the same id, and an `answer` or an `error` with a `message`.

use jurybox_server::{Answer, Call, Config, Error, Service, StoreLocation};
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::time::Duration;

fn tell(id: &Value, said: Result<Answer, Error>) {
    let line = match said {
        Ok(answer) => json!({ "id": id, "answer": answer }),
        Err(error) => json!({ "id": id, "error": error.code(), "message": error.to_string() }),
    };
    let mut out = std::io::stdout().lock();
    // If nobody reads the output, nothing needs to be written.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(place), Some(config)) = (arguments.next(), arguments.next()) else {
        return Err("usage: node DIR|URL CONFIG".into());
    };
    let place = if place.contains("://") {
        StoreLocation::Database(place)
    } else {
        StoreLocation::Folder(place.into())
    };
    let config: Config = serde_json::from_str(&config)?;
    let service = Service::open(&place, Duration::from_secs(30))?;
    let queue = loop {
        match service.create("q", &config) {
            // The database went away again.
            Err(error) if error.is_transient() => std::thread::sleep(Duration::from_millis(100)),
            done => break done?,
        }
    };
    tell(&Value::Null, Ok(Answer::Changed { changed: 0 }));
    for line in std::io::stdin().lock().lines() {
        let mut line: Value = serde_json::from_str(&line?)?;
        let (id, call) = (line["id"].take(), serde_json::from_value::<Call>(line["call"].take())?);
        let answered = id.clone();
        if let Err(error) = queue.submit(call, move |said| tell(&answered, said)) {
            tell(&id, Err(error));
        }
    }
    Ok(())
}

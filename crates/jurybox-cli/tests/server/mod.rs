//! A running `jurybox serve`, and a client that speaks plain HTTP to it.
#![allow(dead_code, reason = "each test uses what it needs")]

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A server process and its folder. Dropping it ends the process, and deletes the folder unless
/// [`again`](Server::again) was called.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
    pub(crate) folder: PathBuf,
    log: Arc<Mutex<String>>,
    keeps: bool,
}

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body of a successful answer.
    pub(crate) fn ok(self) -> Value {
        assert!(self.status < 300, "{self:?}");
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// The code of an error. Checks its status, content type and required fields.
    pub(crate) fn problem(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.head.contains("content-type: application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], status);
        for field in ["type", "title", "detail", "advice", "request_id"] {
            assert!(!problem[field].as_str().unwrap().is_empty(), "{field}: {self:?}");
        }
        problem["code"].as_str().unwrap().into()
    }
}

pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("jurybox-serve-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

impl Server {
    pub(crate) fn start(name: &str, more: &[&str]) -> Server {
        Server::over(&folder(name), more)
    }

    /// Starts a server with a queue `q`, whose only evaluator is `a`.
    pub(crate) fn with_queue(name: &str, more: &[&str]) -> Server {
        let server = Server::start(name, more);
        let set_up = r#"{"evaluators": [{"name": "a"}]}"#;
        assert_eq!(server.ask("PUT", "/v1/queues/q", set_up).status, 201);
        server
    }

    pub(crate) fn over(folder: &Path, more: &[&str]) -> Server {
        Server::by(Command::new(env!("CARGO_BIN_EXE_jurybox")), folder, more)
    }

    /// Starts a server by a command that may have an environment of its own.
    pub(crate) fn by(mut command: Command, folder: &Path, more: &[&str]) -> Server {
        let mut child = command
            .args(["serve", "--port", "0", "--data"])
            .arg(folder)
            .args(more)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let address = loop {
            let line = lines.next().expect("it listens").unwrap();
            if let Some((_, address)) =
                line.strip_prefix("listening on ").and_then(|url| url.split_once("://"))
            {
                break address.to_string();
            }
            *log.lock().unwrap() += &(line + "\n");
        };
        let kept = log.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *kept.lock().unwrap() += &(line + "\n");
            }
        });
        Server { child, address, folder: folder.into(), log, keeps: false }
    }

    /// Ends this process, and starts a new one on the same folder, which is not deleted.
    pub(crate) fn again(mut self, more: &[&str]) -> Server {
        self.keeps = true;
        let folder = self.folder.clone();
        self.terminate();
        Server::over(&folder, more)
    }

    /// Sends SIGTERM, and waits for the process to end. It must end successfully.
    pub(crate) fn terminate(&mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success(), "{}", self.log());
    }

    /// Creates a key while the server runs, and returns its secret.
    pub(crate) fn key(&self, name: &str, role: &str, more: &[&str]) -> String {
        let made = Command::new(env!("CARGO_BIN_EXE_jurybox"))
            .args(["server", "key", "add", name, "--role", role, "--data"])
            .arg(&self.folder)
            .args(more)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        String::from_utf8(made.stdout).unwrap().trim().into()
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Sends bytes unchanged, and reads all of the answer.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        // A server may answer and close before it has read everything.
        let _ = stream.write_all(bytes);
        read(&mut stream)
    }

    pub(crate) fn ask_with(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        for (name, value) in headers {
            let _ = std::fmt::Write::write_fmt(&mut request, format_args!("{name}: {value}\r\n"));
        }
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            request += "Content-Type: application/json\r\n";
        }
        let _ = std::fmt::Write::write_fmt(
            &mut request,
            format_args!("Content-Length: {}\r\n\r\n{body}", body.len()),
        );
        self.raw(request.as_bytes())
    }

    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        self.ask_with(method, path, &[], body)
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.ask("GET", path, "").ok()
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Value {
        self.ask("POST", path, body).ok()
    }
}

/// Reads until the connection is closed. The head is in lower case. The status is 0 without an
/// answer.
pub(crate) fn read(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_ascii_lowercase(), body: body.into() }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !self.keeps {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

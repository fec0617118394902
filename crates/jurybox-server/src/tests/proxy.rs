//! A proxy between a client and a database that cuts the connection when a test says so.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The fate of the next COMMIT.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Commit {
    /// It arrives, and its answer is lost.
    Unanswered,
    /// It arrives after the client has given up.
    Late,
    /// It never arrives.
    Lost,
}

pub(crate) struct Proxy {
    pub(crate) url: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    next: Mutex<Option<Commit>>,
    down: AtomicBool,
    lines: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    pub(crate) fn before(url: &str) -> Self {
        let (user, rest) = url.strip_prefix("postgres://").unwrap().split_once('@').unwrap();
        let (host, database) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("postgres://{user}@{}/{database}", listener.local_addr().unwrap());
        let state: Arc<State> = Arc::default();
        let (shared, host) = (state.clone(), host.to_string());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.down.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&host) else { continue };
                shared
                    .lines
                    .lock()
                    .unwrap()
                    .extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                let (from_client, to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let state = shared.clone();
                std::thread::spawn(move || forward(from_client, to_server, Some(&state)));
                std::thread::spawn(move || forward(server, client, None));
            }
        });
        Proxy { url, state }
    }

    pub(crate) fn on_next_commit(&self, what: Commit) {
        *self.state.next.lock().unwrap() = Some(what);
    }

    /// Whether the COMMIT has come and the connection was cut.
    pub(crate) fn has_cut(&self) -> bool {
        self.state.next.lock().unwrap().is_none()
    }

    /// Cuts all connections and accepts no new ones.
    pub(crate) fn down(&self) {
        self.state.down.store(true, Ordering::SeqCst);
        for line in self.state.lines.lock().unwrap().drain(..) {
            let _ = line.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn up(&self) {
        self.state.down.store(false, Ordering::SeqCst);
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, state: Option<&State>) {
    let mut bytes = vec![0; 65536];
    while let Ok(many @ 1..) = from.read(&mut bytes) {
        let said = &bytes[..many];
        let commit = said.windows(7).any(|word| word == b"COMMIT\0");
        let what = state.filter(|_| commit).and_then(|state| state.next.lock().unwrap().take());
        let Some(what) = what else {
            if to.write_all(said).is_err() {
                break;
            }
            continue;
        };
        // The client gets no further bytes.
        let _ = from.shutdown(Shutdown::Both);
        if what == Commit::Late {
            std::thread::sleep(Duration::from_secs(1));
        }
        if what != Commit::Lost {
            let _ = to.write_all(said);
            std::thread::sleep(Duration::from_millis(300));
        }
        break;
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

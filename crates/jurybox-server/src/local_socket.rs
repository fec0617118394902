//! The local socket: a Unix socket in a server's folder, by which commands on the same machine
//! reach the server.
//!
//! Access is controlled by the permissions of the folder's files. Messages are lines of JSON. On
//! systems without Unix sockets there is none, and commands wait for the server to leave the
//! folder.

use crate::Error;
use crate::config::Config;
use crate::queue_writer::QueueWriter;
use crate::request::Call;
use crate::service::{Queue, Service};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The file name of the socket.
const SOCKET: &str = "jurybox.sock";
/// How long callers wait for the answer to their greeting, beyond the wait that they ask for. The
/// server may have to open a queue.
const GREETED: Duration = Duration::from_secs(5);
/// How long callers wait for other answers, beyond the wait that they ask for. A request may add
/// ten thousand items.
const WORKED: Duration = Duration::from_mins(1);

/// The first message of a client.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SocketGreeting {
    /// The queue's name; none for the only queue of the folder.
    pub(crate) queue: Option<String>,
    /// The configuration of the queue, if it is to be created.
    pub(crate) make: Option<Config>,
}

/// A request of a client, after the greeting.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum SocketRequest {
    Call(Box<Call>),
    Held { reviewer: String },
    LastVerdict { item: String, reviewer: String },
    Status,
    Jury,
    Exported { after: u64, many: u64 },
    TagNames,
}

/// An answer of the server, or an error.
#[derive(Debug, Serialize, Deserialize)]
enum SocketReply {
    Yes(Value),
    No { code: String, why: String },
}

impl SocketReply {
    fn of(answer: Result<Value, Error>) -> SocketReply {
        answer.map_or_else(
            |error| SocketReply::No { code: error.code().into(), why: error.to_string() },
            SocketReply::Yes,
        )
    }

    /// The answer, or an error with the server's message. Conflicts stay [`Error::Conflict`]; all
    /// others become [`Error::Refused`].
    fn into_result(self) -> Result<Value, Error> {
        match self {
            SocketReply::Yes(value) => Ok(value),
            SocketReply::No { code, why } if code == "conflict" => Err(Error::Conflict(why)),
            SocketReply::No { why, .. } => Err(Error::Refused(why)),
        }
    }
}

/// The error for a connection or message that is broken.
fn broken(what: impl std::fmt::Display) -> Error {
    Error::Open(format!("the server that has the folder: {what}"))
}

impl Queue {
    /// Answers a request from the local socket.
    fn answer_on_socket(&self, asked: SocketRequest) -> Result<Value, Error> {
        fn told<T: Serialize>(what: T) -> Result<Value, Error> {
            serde_json::to_value(what).map_err(broken)
        }
        match asked {
            SocketRequest::Call(call) => told(self.ask(*call)?),
            SocketRequest::Held { reviewer } => {
                told(self.read(move |writer| writer.look_up(|writer| writer.held(&reviewer, u64::MAX)))??.0)
            }
            SocketRequest::LastVerdict { item, reviewer } => told(
                self.read(move |writer| writer.look_up(|writer| writer.last_verdict(&item, &reviewer)))??,
            ),
            SocketRequest::Status => told(self.read(QueueWriter::status)??),
            SocketRequest::Jury => {
                told(self.read(|writer| writer.replica.learner.ranking().map(|jury| jury.to_json()))??)
            }
            SocketRequest::Exported { after, many } => told(self.export_page(after, many)?),
            SocketRequest::TagNames => told(self.tag_names()?),
        }
    }
}

/// An open local socket, closed when dropped.
#[derive(Debug)]
pub struct LocalSocket {
    socket: PathBuf,
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}

#[cfg(unix)]
mod unix {
    use super::{LocalSocket, SocketGreeting, SocketReply, SocketRequest, broken};
    use crate::Error;
    use crate::service::{Queue, Service};
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::Path;
    use std::sync::{Arc, Weak};
    use std::time::Duration;

    /// The longest message, in bytes.
    pub(super) const LONGEST: u64 = 256 << 20;
    /// The longest greeting, in bytes.
    const GREETING: u64 = 1 << 20;

    /// How often to look for new clients, and whether the service still exists.
    const LOOK: Duration = Duration::from_millis(100);

    /// One end of a connection.
    pub(super) struct SocketStream {
        to: UnixStream,
        from: BufReader<UnixStream>,
    }

    impl SocketStream {
        fn over(stream: UnixStream) -> std::io::Result<SocketStream> {
            Ok(SocketStream { from: BufReader::new(stream.try_clone()?), to: stream })
        }

        pub(super) fn connect(socket: &Path) -> Option<SocketStream> {
            UnixStream::connect(socket).and_then(SocketStream::over).ok()
        }

        pub(super) fn send(&mut self, what: &impl Serialize) -> Result<(), Error> {
            let mut text = serde_json::to_vec(what).map_err(broken)?;
            text.push(b'\n');
            if text.len() as u64 > LONGEST {
                return Err(broken(format_args!(
                    "a message of {} bytes is too large: send less at once",
                    text.len()
                )));
            }
            self.to.write_all(&text).map_err(late)
        }

        /// Sets the timeout of reads and writes.
        pub(super) fn wait_for(&mut self, patience: Duration) -> Result<(), Error> {
            let set = self.to.set_read_timeout(Some(patience));
            set.and_then(|()| self.to.set_write_timeout(Some(patience))).map_err(broken)
        }

        /// Reads a message, or none if the other end has closed. Errors if it has more than
        /// `longest` bytes.
        pub(super) fn receive<T: DeserializeOwned>(&mut self, longest: u64) -> Result<Option<T>, Error> {
            let mut text = Vec::new();
            let mut from = (&mut self.from).take(longest + 1);
            from.read_until(b'\n', &mut text).map_err(late)?;
            if text.len() as u64 > longest {
                return Err(broken(format_args!("a message of more than {longest} bytes")));
            }
            if text.is_empty() { Ok(None) } else { serde_json::from_slice(&text).map(Some).map_err(broken) }
        }
    }

    /// The error of a read or write, which may be a timeout.
    fn late(error: std::io::Error) -> Error {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => broken(
                "it does not answer: it is stopped or overloaded. The request may still be carried out; repeat it with the same idempotency key",
            ),
            _ => broken(error),
        }
    }

    pub(super) fn open(service: &Arc<Service>, socket: &Path) -> std::io::Result<LocalSocket> {
        // This process holds the folder, so nobody uses an older socket file.
        let _ = std::fs::remove_file(socket);
        let listener = UnixListener::bind(socket)?;
        std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let service = Arc::downgrade(service);
        std::thread::Builder::new().name("door".into()).spawn(move || {
            while service.strong_count() > 0 {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let service = service.clone();
                        std::thread::spawn(move || drop(serve_client(stream, &service)));
                    }
                    Err(_) => std::thread::sleep(LOOK),
                }
            }
        })?;
        Ok(LocalSocket { socket: socket.into() })
    }

    /// Answers one client until it leaves.
    fn serve_client(stream: UnixStream, service: &Weak<Service>) -> Result<(), Error> {
        stream.set_nonblocking(false).map_err(broken)?;
        let mut line = SocketStream::over(stream).map_err(broken)?;
        let Some(greeting) = line.receive::<SocketGreeting>(GREETING)? else { return Ok(()) };
        let queue = resolve_queue(service, &greeting);
        let name = match queue {
            Ok(name) => name,
            Err(error) => return line.send(&SocketReply::of(Err(error))),
        };
        line.send(&SocketReply::Yes(serde_json::Value::Null))?;
        while let Some(asked) = line.receive::<SocketRequest>(LONGEST)? {
            // Looked up for each request, so that a waiting client does not keep a queue open.
            let queue = service.upgrade().ok_or(Error::Closed).and_then(|service| service.queue(&name));
            line.send(&SocketReply::of(queue.and_then(|queue: Queue| queue.answer_on_socket(asked))))?;
        }
        Ok(())
    }

    fn resolve_queue(service: &Weak<Service>, greeting: &SocketGreeting) -> Result<String, Error> {
        let service = service.upgrade().ok_or(Error::Closed)?;
        match greeting {
            SocketGreeting { queue: Some(name), make: Some(config) } => {
                service.create_for("desk", name, config)?;
                Ok(name.clone())
            }
            SocketGreeting { queue, .. } => service.name_of(queue.as_deref()),
        }
    }
}

impl Service {
    /// Opens a local socket for commands while this process holds the folder. None if that fails,
    /// for example because the path is too long for a socket.
    #[cfg(unix)]
    pub fn open_local_socket(self: &Arc<Self>, folder: &Path) -> Option<LocalSocket> {
        unix::open(self, &folder.join(SOCKET)).ok()
    }

    /// Always none: this system has no Unix sockets.
    #[cfg(not(unix))]
    pub fn open_local_socket(self: &Arc<Self>, _: &Path) -> Option<LocalSocket> {
        None
    }

    /// The name of an existing queue; without a name, of the only one.
    fn name_of(&self, queue: Option<&str>) -> Result<String, Error> {
        Ok(self.reach(|store| crate::embedded_queue::find(store, queue))?.1)
    }
}

/// A queue on a server, used through the local socket.
pub(crate) struct RemoteQueue {
    #[cfg(unix)]
    line: unix::SocketStream,
}

#[cfg(unix)]
impl RemoteQueue {
    /// Connects to a folder's server; none if there is no server. Waits for the server's answer up
    /// to `wait` and five seconds more.
    pub(crate) fn connect(
        folder: &Path,
        greeting: &SocketGreeting,
        wait: Duration,
    ) -> Option<Result<RemoteQueue, Error>> {
        let mut line = unix::SocketStream::connect(&folder.join(SOCKET))?;
        let (began, patience) = (Instant::now(), wait.saturating_add(GREETED));
        line.wait_for(patience).ok()?;
        let answered = line.send(greeting).and_then(|()| line.receive::<SocketReply>(unix::LONGEST));
        match answered {
            Ok(Some(said)) => Some(said.into_result().and_then(|_| {
                line.wait_for(wait.saturating_add(WORKED))?;
                Ok(RemoteQueue { line })
            })),
            Err(late) if began.elapsed() >= patience => Some(Err(late)),
            // The server has just ended, so the folder is free.
            Ok(None) | Err(_) => None,
        }
    }

    pub(crate) fn ask<T: DeserializeOwned>(&mut self, asked: &SocketRequest) -> Result<T, Error> {
        self.line.send(asked)?;
        let said: SocketReply =
            self.line.receive(unix::LONGEST)?.ok_or_else(|| broken("it has closed the connection"))?;
        serde_json::from_value(said.into_result()?).map_err(broken)
    }
}

#[cfg(not(unix))]
impl RemoteQueue {
    pub(crate) fn connect(_: &Path, _: &SocketGreeting, _: Duration) -> Option<Result<RemoteQueue, Error>> {
        None
    }

    pub(crate) fn ask<T: DeserializeOwned>(&mut self, _: &SocketRequest) -> Result<T, Error> {
        Err(broken("this system has no Unix sockets"))
    }
}

//! A door for commands of this machine: while a server has a folder, they ask it instead, by a socket in the folder.
//!
//! Who may open the folder's files may do everything with them, so nobody is asked who they are. A message is a line of JSON, and so is its
//! answer. Where the system has no such sockets there is no door, and commands wait for the folder as they do for each other.

use crate::Error;
use crate::queue_writer::QueueWriter;
use crate::config::Config;
use crate::request::Call;
use crate::service::{Queue, Service};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The socket's name in its folder.
const SOCKET: &str = "jurybox.sock";
/// How much longer than they are told to wait callers wait for a server to greet them: it looks up a queue, or makes one.
const GREETED: Duration = Duration::from_secs(5);
/// And how much longer for an answer: there may be ten thousand items to take in, and others may be before them.
const WORKED: Duration = Duration::from_mins(1);

/// The first thing that is said.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SocketGreeting {
    /// The queue; the only one where none is named.
    pub(crate) queue: Option<String>,
    /// How it is to be set up where it is to be made.
    pub(crate) make: Option<Config>,
}

/// What is asked after that.
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

/// An answer, or why there is none.
#[derive(Debug, Serialize, Deserialize)]
enum SocketReply {
    Yes(Value),
    No { code: String, why: String },
}

impl SocketReply {
    fn of(answer: Result<Value, Error>) -> SocketReply {
        answer.map_or_else(|error| SocketReply::No { code: error.code().into(), why: error.to_string() }, SocketReply::Yes)
    }

    /// Errors keep their words; of their kinds, the one that callers tell from others.
    fn into_result(self) -> Result<Value, Error> {
        match self {
            SocketReply::Yes(value) => Ok(value),
            SocketReply::No { code, why } if code == "conflict" => Err(Error::Conflict(why)),
            SocketReply::No { why, .. } => Err(Error::Refused(why)),
        }
    }
}

/// A line cannot be had, or is none.
fn broken(what: impl std::fmt::Display) -> Error {
    Error::Open(format!("the server that has the folder: {what}"))
}

impl Queue {
    /// Answers what came in by the door.
    fn answer_on_socket(&self, asked: SocketRequest) -> Result<Value, Error> {
        fn told<T: Serialize>(what: T) -> Result<Value, Error> {
            serde_json::to_value(what).map_err(broken)
        }
        match asked {
            SocketRequest::Call(call) => told(self.ask(*call)?),
            SocketRequest::Held { reviewer } => {
                told(self.read(move |writer| writer.look_up(|writer| writer.held(&reviewer, u64::MAX)))??.0)
            }
            SocketRequest::LastVerdict { item, reviewer } => {
                told(self.read(move |writer| writer.look_up(|writer| writer.last_verdict(&item, &reviewer)))??)
            }
            SocketRequest::Status => told(self.read(QueueWriter::status)??),
            SocketRequest::Jury => {
                told(self.read(|writer| writer.replica.learner.ranking().map(|jury| jury.to_json()))??)
            }
            SocketRequest::Exported { after, many } => told(self.export_page(after, many)?),
            SocketRequest::TagNames => told(self.tag_names()?),
        }
    }
}

/// A door that is open. It is closed when this is dropped.
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
    use super::{SocketRequest, LocalSocket, SocketGreeting, SocketReply, broken};
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

    /// The longest line in bytes, here and there: some thousand items with what reviewers are shown, or a page of an export.
    pub(super) const LONGEST: u64 = 256 << 20;
    /// The longest greeting: a name, and how a queue is set up.
    const GREETING: u64 = 1 << 20;

    /// How often it is looked whether the service is still there.
    const LOOK: Duration = Duration::from_millis(100);

    /// The other end of a line.
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
                    "{} bytes are too many for one message: send less at once",
                    text.len()
                )));
            }
            self.to.write_all(&text).map_err(late)
        }

        /// Waits so long for the other, and then no more.
        pub(super) fn wait_for(&mut self, patience: Duration) -> Result<(), Error> {
            let set = self.to.set_read_timeout(Some(patience));
            set.and_then(|()| self.to.set_write_timeout(Some(patience))).map_err(broken)
        }

        /// What is said, in a line of so many bytes at the most; none where the other has gone.
        pub(super) fn receive<T: DeserializeOwned>(&mut self, longest: u64) -> Result<Option<T>, Error> {
            let mut text = Vec::new();
            let mut from = (&mut self.from).take(longest + 1);
            from.read_until(b'\n', &mut text).map_err(late)?;
            if text.len() as u64 > longest {
                return Err(broken(format_args!("a line of more than {longest} bytes")));
            }
            if text.is_empty() { Ok(None) } else { serde_json::from_slice(&text).map(Some).map_err(broken) }
        }
    }

    /// Who is there, and neither speaks nor listens.
    fn late(error: std::io::Error) -> Error {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => broken(
                "it does not answer: it is stopped, or has too much to do. What it was asked for may still happen; ask again with the same key",
            ),
            _ => broken(error),
        }
    }

    pub(super) fn open(service: &Arc<Service>, socket: &Path) -> std::io::Result<LocalSocket> {
        // Whoever left it there has the folder no more: this process has it.
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

    /// Answers one who has come until they leave.
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
            // Looked up anew each time: nobody who waits keeps a queue from being closed.
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
    /// Lets commands of this machine in while this process has the folder. None where the system has no such doors, or the folder's path is
    /// too long for one.
    #[cfg(unix)]
    pub fn open_local_socket(self: &Arc<Self>, folder: &Path) -> Option<LocalSocket> {
        unix::open(self, &folder.join(SOCKET)).ok()
    }

    /// There are no such doors on this system.
    #[cfg(not(unix))]
    pub fn open_local_socket(self: &Arc<Self>, _: &Path) -> Option<LocalSocket> {
        None
    }

    /// The name of a queue that is there; that of the only one where none is named.
    fn name_of(&self, queue: Option<&str>) -> Result<String, Error> {
        Ok(self.reach(|store| crate::embedded_queue::find(store, queue))?.1)
    }
}

/// A queue that a server has, asked by its door.
pub(crate) struct RemoteQueue {
    #[cfg(unix)]
    line: unix::SocketStream,
}

#[cfg(unix)]
impl RemoteQueue {
    /// Knocks at a folder's door; none where there is none, or nobody answers.
    /// One who is there and says nothing is waited for as long as is said, and a little for what there is to do.
    pub(crate) fn connect(folder: &Path, greeting: &SocketGreeting, wait: Duration) -> Option<Result<RemoteQueue, Error>> {
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
            // It has just gone: the folder is free.
            Ok(None) | Err(_) => None,
        }
    }

    pub(crate) fn ask<T: DeserializeOwned>(&mut self, asked: &SocketRequest) -> Result<T, Error> {
        self.line.send(asked)?;
        let said: SocketReply = self.line.receive(unix::LONGEST)?.ok_or_else(|| broken("it has ended"))?;
        serde_json::from_value(said.into_result()?).map_err(broken)
    }
}

#[cfg(not(unix))]
impl RemoteQueue {
    pub(crate) fn connect(_: &Path, _: &SocketGreeting, _: Duration) -> Option<Result<RemoteQueue, Error>> {
        None
    }

    pub(crate) fn ask<T: DeserializeOwned>(&mut self, _: &SocketRequest) -> Result<T, Error> {
        Err(broken("there are no doors on this system"))
    }
}

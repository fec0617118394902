//! How a server is set up.

use crate::demo::DemoControl;
use jurybox_server::Role;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// How a server is set up.
///
/// ```
/// let settings = jurybox_http::Settings::default();
/// assert!(settings.listen.ip().is_loopback());
/// ```
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// What it takes and how much of it.
    pub limits: Limits,
    /// A proxy that says who is there, if there is one.
    pub proxy: Option<Proxy>,
    /// Whether this machine may ask for anything while there are no keys, though there have been some.
    pub open: bool,
    /// What it writes to standard error about requests.
    pub log: LogFormat,
    /// The files with which it speaks TLS, where it does.
    pub tls: Option<Tls>,
    /// How it sends webhooks.
    pub webhooks: Webhooks,
    /// The demo behind it, where there is one.
    pub demo: Option<DemoControl>,
}

/// How webhooks are sent.
#[derive(Debug, Clone)]
pub struct Webhooks {
    /// Whether they may go to this machine and to private networks, and without encryption: for tests, and where only those who run the
    /// server can set up webhooks.
    pub allow_private: bool,
    /// For how long one may fail before it is left alone.
    pub give_up: Duration,
}

impl Default for Webhooks {
    fn default() -> Self {
        Webhooks { allow_private: false, give_up: Duration::from_hours(72) }
    }
}

/// A certificate and its key.
#[derive(Debug, Clone)]
pub struct Tls {
    /// The certificate with all that it stands on, as PEM.
    pub certificate: PathBuf,
    /// Its key, as PEM.
    pub key: PathBuf,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            listen: (Ipv4Addr::LOCALHOST, 8686).into(),
            limits: Limits::default(),
            proxy: None,
            open: false,
            log: LogFormat::Json,
            tls: None,
            webhooks: Webhooks::default(),
            demo: None,
        }
    }
}

/// What is too much.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The largest body, in bytes.
    pub body: usize,
    /// The largest body of lines (NDJSON), which is never held in memory as a whole.
    pub stream: u64,
    /// The longest line of those.
    pub line: usize,
    /// Requests that are answered at once; who comes then is told to come again.
    pub max_requests: usize,
    /// Connections that are open at once; who comes then waits.
    pub connections: usize,
    /// Of those, how many may come from one address, other than a proxy's; any number where nobody counts. Further ones are closed.
    pub max_connections_per_address: Option<usize>,
    /// Requests a second for each key, on average; none where nobody counts.
    pub per_second: Option<u32>,
    /// Whether those on this machine who need no key are counted too.
    pub count_local: bool,
    /// How long a client may take to send its headers, and then its body, and to take some of its answer. A body of lines has longer by as
    /// much as it has bytes: a second for every 64 KiB.
    pub client_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body: 16 << 20,
            stream: 4 << 30,
            line: 1 << 20,
            max_requests: 1024,
            connections: 4096,
            max_connections_per_address: Some(1024),
            per_second: Some(1000),
            count_local: false,
            client_timeout: Duration::from_secs(30),
        }
    }
}

/// A proxy in front that has let people log in.
#[derive(Debug, Clone)]
pub struct Proxy {
    /// The header in which it says who is there. It must remove what clients send under that name.
    pub header: String,
    /// The addresses it comes from; from elsewhere the header is not believed.
    pub from: Vec<IpAddr>,
    /// What people who come by it may do.
    pub roles: Vec<Role>,
}

/// Headers that say something else, to this server or to those between it and its clients.
const TAKEN: [&str; 45] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "date",
    "dnt",
    "expect",
    "forwarded",
    "from",
    "host",
    "idempotency-key",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "last-event-id",
    "origin",
    "pragma",
    "priority",
    "proxy-authorization",
    "range",
    "referer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-real-ip",
    "x-request-id",
    "x-requested-with",
];

impl Proxy {
    /// Whether somebody who asks from there is this proxy.
    pub(crate) fn is_at(&self, peer: Option<IpAddr>) -> bool {
        peer.is_some_and(|peer| self.from.contains(&peer.to_canonical()))
    }

    /// What is wrong with a header for a proxy to say in who is there, if anything is.
    ///
    /// ```
    /// use jurybox_http::Proxy;
    /// assert!(Proxy::refuses("X-Forwarded-User").is_none());
    /// assert!(Proxy::refuses("X User").unwrap().contains("no name"));
    /// assert!(Proxy::refuses("User-Agent").unwrap().contains("something else"));
    /// ```
    pub fn refuses(header: &str) -> Option<String> {
        match header.parse::<axum::http::HeaderName>() {
            Err(_) => Some(format!("{header:?} is no name of a header")),
            Ok(name) if TAKEN.contains(&name.as_str()) || name.as_str().starts_with("sec-") => {
                Some(format!("the header `{name}` says something else than who is there"))
            }
            Ok(_) => None,
        }
    }
}

/// What is written about requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// A line for people.
    Text,
    /// Nothing.
    Off,
}

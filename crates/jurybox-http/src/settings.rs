//! The settings of an HTTP server.

use crate::demo::DemoControl;
use jurybox_server::Role;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The settings of an HTTP server.
///
/// ```
/// let settings = jurybox_http::Settings::default();
/// assert!(settings.listen.ip().is_loopback());
/// ```
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Limits on requests and connections.
    pub limits: Limits,
    /// A proxy that authenticates people, if there is one.
    pub proxy: Option<Proxy>,
    /// Whether requests from this machine need no key once all keys have been revoked.
    pub open: bool,
    /// The format of the request log on standard error.
    pub log: LogFormat,
    /// The files of the TLS certificate; without it, the server speaks plain HTTP.
    pub tls: Option<Tls>,
    /// How webhooks are sent.
    pub webhooks: Webhooks,
    /// The control of the demo that feeds a queue of this server, if there is one.
    pub demo: Option<DemoControl>,
}

/// How webhooks are sent.
#[derive(Debug, Clone)]
pub struct Webhooks {
    /// Whether webhooks may use plain HTTP and private addresses, including this machine. For
    /// tests, and if only the server's administrators can set up webhooks.
    pub allow_private: bool,
    /// For how long deliveries must fail before a webhook is stopped. It also takes 13 failures in
    /// a row. An answer 410 stops it at once.
    pub give_up: Duration,
}

impl Default for Webhooks {
    fn default() -> Self {
        Webhooks { allow_private: false, give_up: Duration::from_hours(72) }
    }
}

/// The files of a TLS certificate and its private key.
#[derive(Debug, Clone)]
pub struct Tls {
    /// The certificate with its chain, as PEM.
    pub certificate: PathBuf,
    /// The private key, as PEM.
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

/// Limits on requests and connections.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The most bytes of a request's body, unless it is JSON lines.
    pub body: usize,
    /// The most bytes of a body of JSON lines, which is never held in memory as a whole.
    pub stream: u64,
    /// The most bytes of one JSON line.
    pub line: usize,
    /// The most requests answered at once; more get the status 503.
    pub max_requests: usize,
    /// The most open connections; more wait to be accepted.
    pub connections: usize,
    /// The most open connections per client address (for IPv6 per /64 network), proxies excepted.
    /// Further connections are closed. None for no limit.
    pub max_connections_per_address: Option<usize>,
    /// The most requests per second and caller, on average. None for no limit.
    pub per_second: Option<u32>,
    /// Whether `per_second` also holds for callers on this machine that need no key.
    pub count_local: bool,
    /// How long a client may take to send the head of a request, to send its body, and to accept a
    /// part of the answer. For JSON lines, a second per 64 KiB of the body is added.
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

/// A proxy in front of the server that has authenticated people.
#[derive(Debug, Clone)]
pub struct Proxy {
    /// The header with the person's name. The proxy must replace what clients send under this name.
    pub header: String,
    /// The proxy's addresses. From other addresses the header is ignored.
    pub from: Vec<IpAddr>,
    /// The roles of people who come through the proxy.
    pub roles: Vec<Role>,
}

/// Headers that cannot name a person, because they have another meaning. Headers that begin with
/// `sec-` are refused, too.
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
    /// Whether an address is the proxy's.
    pub(crate) fn is_at(&self, peer: Option<IpAddr>) -> bool {
        peer.is_some_and(|peer| self.from.contains(&peer.to_canonical()))
    }

    /// Why a header cannot name the person, if it cannot.
    ///
    /// ```
    /// use jurybox_http::Proxy;
    /// assert!(Proxy::refuses("X-Forwarded-User").is_none());
    /// assert!(Proxy::refuses("X User").unwrap().contains("not a valid"));
    /// assert!(Proxy::refuses("User-Agent").unwrap().contains("another meaning"));
    /// ```
    pub fn refuses(header: &str) -> Option<String> {
        match header.parse::<axum::http::HeaderName>() {
            Err(_) => Some(format!("{header:?} is not a valid header name")),
            Ok(name) if TAKEN.contains(&name.as_str()) || name.as_str().starts_with("sec-") => {
                Some(format!("the header `{name}` has another meaning and cannot name a person"))
            }
            Ok(_) => None,
        }
    }
}

/// The format of the request log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Readable text, a line per request.
    Text,
    /// No request log.
    Off,
}

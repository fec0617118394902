//! Access control: who makes a request (known by a key, a session, a proxy, or being on this
//! machine), with which role, and how often.

use crate::app::App;
use crate::handlers::queue_of;
use crate::origin::same_origin;
use crate::problem::Problem;
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use jurybox_server::{ApiKey, Error, Role, Service, hash_of_secret};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The age at which keys are read again, on the next request that needs them. While the database
/// answers, a revoked key works about this long at most. Also the delay of a wrong login.
const KNOWN_FOR: Duration = Duration::from_secs(1);
/// How long a request waits for the keys to be read. Afterwards it goes on with the keys known so
/// far.
const READ_WITHIN: Duration = Duration::from_secs(2);

/// The remote address of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// The authenticated caller of a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The caller's name in the activity log.
    pub(crate) actor: String,
    roles: Vec<Role>,
    /// The queues the caller may use; empty for all.
    queues: Vec<String>,
    /// The reviewer that the key, the proxy or the session names.
    reviewer: Option<String>,
    /// Whether the key names the reviewer. Then even an admin must act as that reviewer.
    is_bound: bool,
    /// The hash of the caller's key; None without a key.
    key: Option<[u8; 32]>,
    /// The hash of the session token, if the caller is logged in.
    session: Option<[u8; 32]>,
    /// Whether the caller is on this machine and needs no key, because no key exists.
    is_local: bool,
}

impl Caller {
    /// Refuses a caller without a role that this particular request needs.
    pub(crate) fn needs(&self, role: Role, what: &str) -> Result<(), Problem> {
        if self.may(role) {
            return Ok(());
        }
        Err(forbidden(format!(
            "{what} needs the role `{}`, which `{}` does not have",
            role.name(),
            self.actor
        )))
    }

    pub(crate) fn may(&self, role: Role) -> bool {
        self.roles.iter().any(|own| own.covers(role))
    }

    pub(crate) fn sees(&self, queue: &str) -> bool {
        self.queues.is_empty() || self.queues.iter().any(|own| own == queue)
    }

    /// Whether the caller has a login session that can be ended.
    pub(crate) fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// Whether the caller's access still holds: the key is valid, the session has not ended, and a
    /// caller who needed no key still needs none.
    pub(crate) async fn may_stay(&self, app: &App) -> bool {
        refresh_keys(app).await;
        let known = self.key.is_none_or(|key| app.0.keys.opens(&key));
        let there = self.session.is_none_or(|word| app.0.sessions.key_of(&word).is_some());
        known && there && (!self.is_local || app.is_open())
    }

    /// The name the caller reviews as: the reviewer, else the key's name. None for a caller without
    /// a key on this machine.
    pub(crate) fn reviews_as(&self) -> Option<&str> {
        self.reviewer.as_deref().or((!self.is_local).then_some(self.actor.as_str()))
    }

    /// Refuses a caller who is tied to a reviewer and names another one. An admin is tied only by a
    /// key that names a reviewer.
    pub(crate) fn is(&self, reviewer: &str) -> Result<(), Problem> {
        match &self.reviewer {
            Some(own) if own != reviewer && (self.is_bound || !self.may(Role::Admin)) => {
                let detail =
                    format!("the request is authenticated as `{own}`, and names the reviewer `{reviewer}`");
                Err(refused(detail, "Name the reviewer that the key, proxy or session belongs to."))
            }
            _ => Ok(()),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get().cloned().ok_or_else(unauthorized)
    }
}

/// The keys of the server, read again when they are older than a second.
pub(crate) struct Keys {
    by_hash: RwLock<Arc<HashMap<[u8; 32], LoadedKey>>>,
    /// Whether a key exists or ever existed; true until the keys have been read.
    had: AtomicBool,
    /// Whether the keys have been read at all. Before that, requests that need access get the
    /// status 503.
    known: AtomicBool,
    /// When the keys were last read, or when the last attempt began.
    read: Mutex<Option<Instant>>,
    /// Whether keys are being read now, which can take long if the database hangs.
    reading: AtomicBool,
    /// Whether the last use of a key is being stored now.
    noting: AtomicBool,
}

/// A key, and when its last use was stored, in microseconds since 1970 (0 for never).
struct LoadedKey {
    key: ApiKey,
    noted: AtomicI64,
}

/// The time by the system's clock, in microseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl Default for Keys {
    fn default() -> Self {
        Keys {
            by_hash: RwLock::default(),
            had: AtomicBool::new(true),
            known: AtomicBool::new(false),
            read: Mutex::default(),
            reading: AtomicBool::new(false),
            noting: AtomicBool::new(false),
        }
    }
}

impl Keys {
    pub(crate) fn load(&self, service: &Service) -> Result<(), Error> {
        self.reading.store(true, Ordering::Release);
        let loaded = self.load_now(service);
        self.reading.store(false, Ordering::Release);
        loaded
    }

    fn load_now(&self, service: &Service) -> Result<(), Error> {
        let keys = service
            .keys()?
            .into_iter()
            .map(|key| (key.hash, LoadedKey { noted: AtomicI64::new(key.used.unwrap_or(0)), key }));
        let keys = keys.collect();
        let had = service.had_keys()?;
        if let Ok(mut there) = self.by_hash.write() {
            *there = Arc::new(keys);
            self.had.store(had, Ordering::Release);
            self.known.store(true, Ordering::Release);
        }
        if let Ok(mut read) = self.read.lock() {
            *read = Some(Instant::now());
        }
        Ok(())
    }

    fn all(&self) -> Arc<HashMap<[u8; 32], LoadedKey>> {
        self.by_hash.read().map(|keys| keys.clone()).unwrap_or_default()
    }

    /// Whether a key with this hash exists and has not expired.
    fn opens(&self, hash: &[u8; 32]) -> bool {
        self.all().get(hash).is_some_and(|known| !known.key.has_expired(now()))
    }

    pub(crate) fn are_none(&self) -> bool {
        self.all().is_empty()
    }

    /// Whether no key has ever existed.
    pub(crate) fn never_existed(&self) -> bool {
        !self.had.load(Ordering::Acquire)
    }

    fn are_known(&self) -> bool {
        self.known.load(Ordering::Acquire)
    }

    /// Whether the keys should be read again. Of several callers at once only one gets true, and
    /// that one must read them.
    fn must_be_read(&self) -> bool {
        let Ok(mut read) = self.read.lock() else { return false };
        let old =
            read.is_none_or(|read| read.elapsed() >= KNOWN_FOR) && !self.reading.load(Ordering::Acquire);
        if old {
            *read = Some(Instant::now());
        }
        old
    }
}

/// The problem while a new server has not read its keys yet.
fn starting() -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "not_ready",
        "the server is starting and has not read its keys yet",
        "Try again after the time in Retry-After.",
    )
    .retry_after(1)
}

fn unauthorized() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "the request has no key, or one that is not valid here",
        "Send Authorization: Bearer SECRET; jurybox server key add makes one.",
    )
}

fn expired() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "the key has expired",
        "Make a new one with jurybox server key add; jurybox server key list shows when keys expire.",
    )
}

fn forbidden(detail: impl Into<String>) -> Problem {
    refused(detail, "Use a key with that role, for that queue: jurybox server key list shows them.")
}

fn refused(detail: impl Into<String>, advice: &'static str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "forbidden", detail, advice)
}

/// The access rule of a route.
#[derive(Clone)]
pub(crate) struct RouteAccess {
    pub(crate) app: App,
    /// The roles that give access: any one of them. Empty for a public route.
    pub(crate) roles: Vec<Role>,
    /// Whether a login session gives access, as on pages.
    pub(crate) page: bool,
}

/// Routes without a queue that a key for some queues may use: they show only the key's queues.
const ACROSS: [&str; 5] = ["/", "/go", "/live", "/metrics", "/v1/queues"];

/// Middleware: passes a request on if the caller has access.
pub(crate) async fn guard(State(need): State<RouteAccess>, mut request: Request, next: Next) -> Response {
    match authorize(&need, &mut request).await {
        Ok(()) => next.run(request).await,
        Err(problem) => axum::response::IntoResponse::into_response(problem),
    }
}

async fn authorize(need: &RouteAccess, request: &mut Request) -> Result<(), Problem> {
    let app = &need.app;
    if need.roles.is_empty() {
        return Ok(());
    }
    refresh_keys(app).await;
    if !app.0.keys.are_known() {
        return Err(starting());
    }
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip());
    let session = if need.page { session_caller(app, request) } else { None };
    // A request with a session cookie comes from a browser, which also sends the origin of its
    // page.
    same_origin(app, request.method(), request.headers(), peer, session.is_some())?;
    let caller = match session {
        Some(caller) => caller,
        None => authenticate(app, request.headers(), peer)?,
    };
    let counted = app.0.settings.limits.count_local || !caller.is_local;
    let taken = if counted { app.0.buckets.take(&caller.actor, Instant::now()) } else { Ok(()) };
    taken.map_err(|seconds| {
        Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_requests",
            format!("`{}` sends more requests than its limit allows", caller.actor),
            "Try again after the time in Retry-After, and send items in batches.",
        )
        .retry_after(seconds)
    })?;
    if !need.roles.iter().any(|role| caller.may(*role)) {
        let roles: Vec<String> = need.roles.iter().map(|role| format!("`{}`", role.name())).collect();
        return Err(forbidden(format!("`{}` does not have the role {}", caller.actor, roles.join(" or "))));
    }
    let route = request.extensions().get::<MatchedPath>().cloned();
    let within = match queue_of(request).await {
        Some(queue) => caller.sees(&queue),
        None => caller.queues.is_empty() || route.is_some_and(|route| ACROSS.contains(&route.as_str())),
    };
    if !within {
        return Err(forbidden(format!("`{}` has no access to this queue", caller.actor)));
    }
    note_use(app, &caller);
    request.extensions_mut().insert(caller);
    Ok(())
}

/// Stores in the background that a key was used, at most every ten minutes.
fn note_use(app: &App, caller: &Caller) {
    let (keys, now) = (app.0.keys.all(), now());
    let Some(known) = caller.key.and_then(|key| keys.get(&key)) else { return };
    let noted = known.noted.load(Ordering::Relaxed);
    if now < noted.saturating_add(ApiKey::USED_WITHIN) || app.0.keys.noting.swap(true, Ordering::AcqRel) {
        return;
    }
    known.noted.store(now, Ordering::Relaxed);
    let (app, name) = (app.clone(), known.key.name.clone());
    tokio::task::spawn_blocking(move || {
        // If this fails, it is tried again at a use after the keys have been read again.
        let _ = app.0.service.use_key(&name, now);
        app.0.keys.noting.store(false, Ordering::Release);
    });
}

/// Reads the keys again if they are too old.
pub(crate) async fn refresh_keys(app: &App) {
    if app.0.keys.must_be_read() {
        let again = app.clone();
        // If reading fails, the known keys stay.
        let read = app.wait(move || again.0.keys.load(&again.0.service));
        // If the database hangs, the request goes on with the known keys.
        let _ = tokio::time::timeout(READ_WITHIN, read).await;
    }
}

/// The caller of a login session; None if the request has an `Authorization` header.
fn session_caller(app: &App, request: &Request) -> Option<Caller> {
    let headers = request.headers();
    if headers.contains_key(header::AUTHORIZATION) {
        return None;
    }
    let (word, key) = app.0.sessions.known(headers)?;
    let caller = app.0.keys.all().get(&key).and_then(|known| caller_by_key(&known.key).ok())?;
    // A program with a key may act for many reviewers, a person at a page only as one.
    let reviewer = caller.reviewer.clone().unwrap_or_else(|| caller.actor.clone());
    Some(Caller { reviewer: Some(reviewer), session: Some(word), ..caller })
}

/// The caller that a key stands for.
///
/// # Errors
/// If the key has expired.
fn caller_by_key(key: &ApiKey) -> Result<Caller, Problem> {
    if key.has_expired(now()) {
        return Err(expired());
    }
    let ApiKey { name, roles, queues, reviewer, hash, .. } = key.clone();
    let is_bound = reviewer.is_some();
    Ok(Caller {
        actor: name,
        roles,
        queues,
        reviewer,
        is_bound,
        key: Some(hash),
        session: None,
        is_local: false,
    })
}

/// The hash of a secret, if a valid key has it. An unknown secret is looked up again after a
/// second, which finds new keys and slows down guessing.
pub(crate) async fn verify_secret(app: &App, secret: &str) -> Option<[u8; 32]> {
    let hash = hash_of_secret(secret);
    let is_known = async || {
        refresh_keys(app).await;
        app.0.keys.opens(&hash)
    };
    if is_known().await {
        return Some(hash);
    }
    tokio::time::sleep(KNOWN_FOR).await;
    is_known().await.then_some(hash)
}

fn authenticate(app: &App, headers: &HeaderMap, peer: Option<IpAddr>) -> Result<Caller, Problem> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let (scheme, secret) =
            value.to_str().ok().and_then(|value| value.split_once(' ')).ok_or_else(unauthorized)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(unauthorized());
        }
        // Keys are looked up by hash, so that the time taken reveals nothing about the secret.
        let keys = app.0.keys.all();
        let known = keys.get(&hash_of_secret(secret.trim())).ok_or_else(unauthorized)?;
        return caller_by_key(&known.key);
    }
    if let Some(proxy) = &app.0.settings.proxy
        && proxy.is_at(peer)
        && let Some(who) = headers.get(&proxy.header)
    {
        // If a proxy appends its header to the client's, the first value is the client's.
        if headers.get_all(&proxy.header).iter().count() > 1 {
            return Err(Problem::malformed(format!(
                "there are several `{}` headers: the proxy must replace what clients send under that name",
                proxy.header
            )));
        }
        // Names may contain any letters, as UTF-8.
        let who = std::str::from_utf8(who.as_bytes()).ok();
        let who = who
            .filter(|who| !who.is_empty() && who.len() <= 512 && !who.contains(char::is_control))
            .ok_or_else(unauthorized)?;
        let roles = proxy.roles.clone();
        return Ok(Caller {
            actor: who.into(),
            roles,
            queues: Vec::new(),
            reviewer: Some(who.into()),
            is_bound: false,
            key: None,
            session: None,
            is_local: false,
        });
    }
    if app.is_open() {
        local_host(headers)?;
        return Ok(Caller {
            actor: "local".into(),
            roles: vec![Role::Admin],
            queues: Vec::new(),
            reviewer: None,
            is_bound: false,
            key: None,
            session: None,
            is_local: true,
        });
    }
    Err(if app.0.settings.proxy.is_none() && app.0.keys.are_none() { no_keys() } else { unauthorized() })
}

/// The problem if no key exists and no proxy is set: the server is then closed to everybody.
fn no_keys() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "unauthorized",
        "all keys of this server have been revoked",
        "Add one with jurybox server key add; a running server accepts it within a second.",
    )
}

/// Refuses requests whose `Host` is not this machine, while the server is open without keys. By DNS
/// rebinding, a foreign page could otherwise reach the server.
fn local_host(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return Ok(()) };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let local = name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if local {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "misdirected",
        "without keys this server answers requests to localhost only",
        "Use http://127.0.0.1, or make a key with jurybox server key add.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_its_reviewer_alone_and_only_until_it_expires() {
        let key = ApiKey {
            name: "desk".into(),
            roles: vec![Role::Admin],
            queues: Vec::new(),
            reviewer: Some("ann".into()),
            made: 0,
            expires: None,
            used: None,
            hash: [0; 32],
        };
        let ann = caller_by_key(&key).unwrap();
        assert!(ann.is("ann").is_ok() && ann.is("bob").is_err());
        assert_eq!((ann.reviews_as(), ann.actor.as_str()), (Some("ann"), "desk"));
        let tool =
            caller_by_key(&ApiKey { reviewer: None, roles: vec![Role::Review], ..key.clone() }).unwrap();
        assert!(tool.is("ann").is_ok() && tool.is("bob").is_ok());
        assert!(caller_by_key(&ApiKey { expires: Some(now() + 60_000_000), ..key.clone() }).is_ok());
        assert!(caller_by_key(&ApiKey { expires: Some(now()), ..key }).is_err());
    }

    /// Before the keys are read, requests are answered with 503 and not with 401.
    #[tokio::test]
    async fn before_the_keys_are_read_everybody_is_told_to_come_again() {
        let folder = tempfile::tempdir().unwrap();
        let service = Service::open(folder.path(), Duration::ZERO).unwrap();
        let app = App::new(service, crate::Settings::default());
        // After this call, the request itself does not read the keys.
        assert!(app.0.keys.must_be_read());
        let need = RouteAccess { app: app.clone(), roles: vec![Role::Read], page: false };
        let ask = || Request::new(axum::body::Body::empty());
        let refused = authorize(&need, &mut ask()).await.unwrap_err();
        assert_eq!(
            axum::response::IntoResponse::into_response(refused).status(),
            StatusCode::SERVICE_UNAVAILABLE
        );
        app.0.keys.load(&app.0.service).unwrap();
        authorize(&need, &mut ask()).await.unwrap();
    }
}

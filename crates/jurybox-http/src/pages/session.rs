//! Login sessions: a random token in a cookie stands for a key. All sessions end with the server.

use crate::app::App;
use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The name of the session cookie.
pub(super) const COOKIE: &str = "jurybox-session";
/// How long a session lasts: a working day.
pub(super) const LASTS: Duration = Duration::from_hours(12);
/// The most sessions; the oldest ends when there are more.
const MOST: usize = 10_000;

/// The hash of a session's key, and when the session ends.
struct Session {
    key: [u8; 32],
    until: Instant,
}

/// All sessions, by the hash of their token. So the server's memory holds no token that gives
/// access.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<[u8; 32], Session>>);

fn hash_of(word: &str) -> [u8; 32] {
    Sha256::digest(word).into()
}

impl Sessions {
    /// Begins a session for a key, given by its hash, and returns the token. None if the system has
    /// no random numbers.
    pub(super) fn begin(&self, key: [u8; 32]) -> Option<String> {
        let mut random = [0_u8; 32];
        getrandom::fill(&mut random).ok()?;
        let word = super::format::hex(&random);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        all.retain(|_, session| session.until > now);
        if all.len() >= MOST
            && let Some(oldest) = all.iter().min_by_key(|(_, session)| session.until).map(|(hash, _)| *hash)
        {
            all.remove(&oldest);
        }
        all.insert(hash_of(&word), Session { key, until: now + LASTS });
        Some(word)
    }

    /// The hashes of a request's session token and of its key, if the session is valid.
    pub(crate) fn known(&self, headers: &HeaderMap) -> Option<([u8; 32], [u8; 32])> {
        let word = hash_of(&cookie(headers, COOKIE)?);
        Some((word, self.key_of(&word)?))
    }

    /// The hash of a session's key, until the session ends.
    pub(crate) fn key_of(&self, word: &[u8; 32]) -> Option<[u8; 32]> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(word).filter(|session| session.until > Instant::now()).map(|session| session.key)
    }

    /// Ends the session of a request.
    pub(super) fn end(&self, headers: &HeaderMap) {
        if let Some(word) = cookie(headers, COOKIE) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash_of(&word));
        }
    }
}

/// A `Set-Cookie` value for all pages. `Secure` is set if this server speaks TLS, or if the
/// `Origin` header says that a proxy before it does. A forged `Origin` only makes the sender's own
/// cookie stricter.
pub(super) fn set_cookie(
    app: &App,
    headers: &HeaderMap,
    (name, value): (&str, &str),
    seconds: u64,
) -> String {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok()).unwrap_or_default();
    let by_tls = app.0.settings.tls.is_some() || origin.starts_with("https://");
    let secure = if by_tls { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

/// The value of a request's cookie.
pub(super) fn cookie(headers: &HeaderMap, wanted: &str) -> Option<String> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|header| header.to_str().ok());
    let pairs = all.flat_map(|header| header.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == wanted).map(|(_, value)| value.to_string()).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_cookie(cookie: &str) -> HeaderMap {
        [(header::COOKIE, cookie.parse().unwrap())].into_iter().collect()
    }

    #[test]
    fn a_session_is_valid_until_it_ends() {
        let sessions = Sessions::default();
        let word = sessions.begin([7; 32]).unwrap();
        let other = sessions.begin([8; 32]).unwrap();
        assert_ne!(word, other);
        let headers = with_cookie(&format!("a=b; {COOKIE}={word}"));
        assert_eq!(sessions.known(&headers).map(|(_, key)| key), Some([7; 32]));
        assert_eq!(sessions.known(&with_cookie(&format!("{COOKIE}={}", "0".repeat(64)))), None);
        assert_eq!(sessions.known(&with_cookie(&format!("x{COOKIE}={word}"))), None);
        sessions.end(&headers);
        assert_eq!(sessions.known(&headers), None);
        assert_eq!(
            sessions.known(&with_cookie(&format!("{COOKIE}={other}"))).map(|(_, key)| key),
            Some([8; 32])
        );
    }
}

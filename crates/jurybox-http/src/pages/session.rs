//! Who has logged in on a page: a random word in a cookie, which is not the key and dies with the server.

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The cookie that a session is known by.
pub(super) const COOKIE: &str = "jurybox-session";
/// A session lasts a working day.
pub(super) const LASTS: Duration = Duration::from_hours(12);
/// Sessions that are kept; beyond, the oldest goes.
const MOST: usize = 10_000;

/// A key that was shown at the door, by its hash, and until when that counts.
struct Session {
    key: [u8; 32],
    until: Instant,
}

/// The sessions there are, by the hash of their words: who reads memory finds no word that opens anything.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<[u8; 32], Session>>);

fn hash_of(word: &str) -> [u8; 32] {
    Sha256::digest(word).into()
}

impl Sessions {
    /// Begins a session for a key, by its hash. None where there is no chance to be had.
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

    /// The hash of the key that a request's cookie stands for.
    pub(crate) fn key(&self, headers: &HeaderMap) -> Option<[u8; 32]> {
        let word = cookie(headers, COOKIE)?;
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&hash_of(&word)).filter(|session| session.until > Instant::now()).map(|session| session.key)
    }

    /// Ends the session of a request.
    pub(super) fn end(&self, headers: &HeaderMap) {
        if let Some(word) = cookie(headers, COOKIE) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash_of(&word));
        }
    }
}

/// A cookie of a request.
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
    fn a_session_is_known_by_its_word_until_it_ends() {
        let sessions = Sessions::default();
        let word = sessions.begin([7; 32]).unwrap();
        let other = sessions.begin([8; 32]).unwrap();
        assert_ne!(word, other);
        let headers = with_cookie(&format!("a=b; {COOKIE}={word}"));
        assert_eq!(sessions.key(&headers), Some([7; 32]));
        assert_eq!(sessions.key(&with_cookie(&format!("{COOKIE}={}", "0".repeat(64)))), None);
        assert_eq!(sessions.key(&with_cookie(&format!("x{COOKIE}={word}"))), None);
        sessions.end(&headers);
        assert_eq!(sessions.key(&headers), None);
        assert_eq!(sessions.key(&with_cookie(&format!("{COOKIE}={other}"))), Some([8; 32]));
    }
}

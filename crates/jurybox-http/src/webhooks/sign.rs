//! Signatures of webhooks by the Standard Webhooks specification: HMAC-SHA256 of id, time and body.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use jurybox_server::Secret;
use sha2::Sha256;

/// The prefix of a secret in text.
const PREFIX: &str = "whsec_";
/// The allowed lengths of a secret, in bytes.
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The signature header of a delivery.
pub(crate) fn signature(secret: &Secret, id: &str, seconds: i64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes()).expect("any key will do");
    mac.update(format!("{id}.{seconds}.").as_bytes());
    mac.update(body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

/// A secret as text: `whsec_` and base64.
pub(crate) fn to_text(secret: &Secret) -> String {
    format!("{PREFIX}{}", STANDARD.encode(secret.bytes()))
}

/// Parses a secret from text. The error does not contain the text.
pub(crate) fn from_text(text: &str) -> Result<Secret, String> {
    let bytes = text.strip_prefix(PREFIX).and_then(|text| STANDARD.decode(text).ok());
    bytes.filter(|bytes| BYTES.contains(&bytes.len())).map(Secret::of).ok_or_else(|| {
        format!("a secret is `{PREFIX}` followed by 24 to 64 bytes in base64; leave it out to get a new one")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_the_standard() {
        // The example is from the specification (standardwebhooks.com).
        let secret = from_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed =
            signature(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(from_text(&to_text(&secret)).unwrap(), secret);
    }

    #[test]
    fn a_malformed_or_short_secret_is_refused() {
        for text in ["", "hunter2", "whsec_", "whsec_MTI0", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!!!"]
        {
            let why = from_text(text).unwrap_err();
            assert!(text.len() < 3 || !why.contains(text) || text == "whsec_", "{why}");
        }
    }
}

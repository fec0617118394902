//! The targets of webhooks, and protection against requests to private addresses (SSRF).

use axum::http::Uri;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The most bytes of a URL.
const LONGEST: usize = 2048;

/// The parsed URL of a webhook.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WebhookTarget {
    pub(crate) secure: bool,
    /// The host name or address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The path with its query.
    pub(crate) path: String,
    /// The value of the `Host` header.
    pub(crate) authority: String,
}

impl WebhookTarget {
    /// Parses a URL, or says why it cannot be used. Unless `private`, it must be https, and an IP
    /// address in it must be public. Host names are checked by [`resolved`](Self::resolved).
    pub(crate) fn parse(url: &str, private: bool) -> Result<WebhookTarget, String> {
        if url.len() > LONGEST {
            return Err(format!("the URL has {} bytes, more than {LONGEST}", url.len()));
        }
        let uri: Uri = url.parse().map_err(|_| "it is not a valid URL".to_string())?;
        let secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") if private => false,
            _ => return Err("a webhook's URL must begin with https://".into()),
        };
        let authority = uri.authority().ok_or("the URL has no host")?;
        if authority.as_str().contains('@') {
            return Err(
                "the URL has a user name or password, which is not sent: receivers check the signature instead".into(),
            );
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_string();
        if host.is_empty() {
            return Err("the URL has no host".into());
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            check_public(address, private)?;
        }
        let after = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
        if !after.is_empty() && authority.port_u16().is_none() {
            return Err(format!("`{after}` is not a valid port"));
        }
        let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_string();
        Ok(WebhookTarget { secure, host, port, path, authority: authority.as_str().into() })
    }

    /// The addresses of the host, without private ones unless `private`. The caller connects to one
    /// of them without resolving the name again, which could give another address.
    pub(crate) async fn resolved(&self, private: bool) -> Result<Vec<SocketAddr>, String> {
        let found: Vec<SocketAddr> = match self.host.parse::<IpAddr>() {
            Ok(address) => vec![(address, self.port).into()],
            Err(_) => tokio::net::lookup_host((self.host.as_str(), self.port))
                .await
                .map_err(|_| "the host name cannot be resolved".to_string())?
                .collect(),
        };
        let mut why = "the host name has no address".to_string();
        let mut allowed = Vec::new();
        for address in found {
            match check_public(address.ip(), private) {
                Ok(()) => allowed.push(address),
                Err(refused) => why = refused,
            }
        }
        if allowed.is_empty() { Err(why) } else { Ok(allowed) }
    }
}

fn check_public(address: IpAddr, private: bool) -> Result<(), String> {
    if private || is_public(address) {
        return Ok(());
    }
    Err("the host is at a private address or on this machine".into())
}

/// Whether an address is on the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        || a == 0
        || (a == 100 && (64..128).contains(&b)) // carrier-grade NAT
        || (a, b, c) == (192, 0, 0) // protocol assignments
        || (a, b, c) == (192, 88, 99) // 6to4 relays
        || (a == 198 && (b == 18 || b == 19)) // benchmarking
        || a >= 240;
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // IPv4 addresses within IPv6 (compatible, mapped, NAT64, 6to4): the embedded address
        // counts.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => segments[6] != 0 && embedded(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
        // 2001::/23 is for protocol assignments and Teredo, 2001:db8::/32 and 3fff::/20 for
        // documentation.
        [0x2001, second, ..] => second >= 0x200 && second != 0xdb8,
        [0x3fff, second, ..] => second >= 0x1000,
        // Global unicast is 2000::/3. Loopback, link-local, unique local and multicast are outside
        // it.
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_internet_at_large_is_public() {
        for address in [
            "8.8.8.8",
            "100.63.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "198.20.0.1",
            "2606:4700::1111",
            "2a00:1450::1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "127.8.8.8",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2002:a00:1::",
            "2001:db8::1",
            "2001::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "3fff:1::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_target_is_a_url_that_may_be_reached() {
        let target = WebhookTarget::parse("https://hooks.example.org:8443/in?x=1", false).unwrap();
        assert_eq!(
            (target.host.as_str(), target.port, target.path.as_str()),
            ("hooks.example.org", 8443, "/in?x=1")
        );
        assert_eq!(target.authority, "hooks.example.org:8443");
        let v6 = WebhookTarget::parse("http://[::1]:81", true).unwrap();
        assert_eq!((v6.host.as_str(), v6.port, v6.path.as_str(), v6.secure), ("::1", 81, "/", false));
        for url in [
            "http://example.org/",
            "ftp://example.org/",
            "https://",
            "/in",
            "",
            "https://a:b@example.org/",
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://169.254.169.254/latest/meta-data",
            "https://10.1.2.3:8080/",
            "https://exa mple.org/",
            "https://example.org:99999/",
        ] {
            assert!(WebhookTarget::parse(url, false).is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn a_name_that_stands_for_this_machine_is_refused_too() {
        let target = WebhookTarget::parse("https://localhost/", false).unwrap();
        assert!(target.resolved(false).await.is_err());
        assert!(target.resolved(true).await.is_ok());
        // These notations of 127.0.0.1 are understood by the system's resolver only.
        for url in ["https://2130706433/", "https://0x7f.1/", "https://127.1/"] {
            if let Ok(target) = WebhookTarget::parse(url, false) {
                assert!(target.resolved(false).await.is_err(), "{url}");
            }
        }
    }
}

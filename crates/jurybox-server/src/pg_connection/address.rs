//! The address of a PostgreSQL database: parsing its URL, TLS settings and time-outs.

use crate::Error;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

/// An address with connection settings. If the connection uses TLS, the server's certificate is
/// always verified.
#[derive(Clone)]
pub(crate) struct Address {
    config: tokio_postgres::Config,
    tls: MakeRustlsConnect,
    shown: String,
}

impl Address {
    /// Parses a URL such as `postgres://user:password@host:5432/database?sslmode=require`.
    pub(crate) fn parse(url: &str) -> Result<Self, Error> {
        let shown = without_password(url);
        let (url, said) = take_out(url);
        let mut config: tokio_postgres::Config = url.parse().map_err(|error: tokio_postgres::Error| {
            let why = std::error::Error::source(&error).map(|why| format!(": {why}")).unwrap_or_default();
            Error::Open(format!(
                "{shown}: {error}{why}; it should look like postgres://user:password@host:5432/database"
            ))
        })?;
        if !url.contains("sslmode") && config.get_hosts().iter().all(is_here) {
            // A connection within one machine needs no TLS, and local servers rarely have a valid
            // certificate.
            config.ssl_mode(SslMode::Disable);
        }
        if config.get_application_name().is_none() {
            config.application_name(format!("jurybox {}", std::process::id()));
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(5));
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(Duration::from_secs(30));
        }
        config.keepalives_idle(Duration::from_secs(30)).target_session_attrs(TargetSessionAttrs::ReadWrite);
        let root = said.or_else(|| std::env::var("PGSSLROOTCERT").ok()).filter(|path| path != "system");
        Ok(Address { config, tls: tls(root.as_deref())?, shown })
    }

    pub(super) fn config(&self) -> &tokio_postgres::Config {
        &self.config
    }

    pub(super) fn tls(&self) -> MakeRustlsConnect {
        self.tls.clone()
    }
}

/// Shows the address without its password.
impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// The address with its password hidden or left out, for messages.
pub(crate) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        // The form with keywords, such as `host=db password=secret`.
        let words =
            url.split(' ').map(|word| if word.starts_with("password") { "password=***" } else { word });
        return words.collect::<Vec<_>>().join(" ");
    };
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let rest = match rest.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((user, _)) => format!("{user}:***@{host}"),
            None => format!("{user}@{host}"),
        },
        None => rest.to_string(),
    };
    let secret = |pair: &&str| !pair.starts_with("password=");
    let query = query.map(|query| query.split('&').filter(secret).collect::<Vec<_>>().join("&"));
    match query.filter(|query| !query.is_empty()) {
        Some(query) => format!("{scheme}://{rest}?{query}"),
        None => format!("{scheme}://{rest}"),
    }
}

/// Removes or replaces settings of libpq that the driver does not know. `sslrootcert` is removed
/// and returned. The modes `verify-ca` and `verify-full` become `require`, since certificates are
/// always verified; `allow` becomes `prefer`.
fn take_out(url: &str) -> (String, Option<String>) {
    let Some((head, query)) = url.split_once('?') else { return (url.into(), None) };
    let (mut kept, mut root) = (Vec::new(), None);
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslrootcert", path)) => root = Some(path.replace("%2F", "/")),
            Some(("sslmode", "verify-ca" | "verify-full")) => kept.push("sslmode=require"),
            Some(("sslmode", "allow")) => kept.push("sslmode=prefer"),
            _ => kept.push(pair),
        }
    }
    (if kept.is_empty() { head.into() } else { format!("{head}?{}", kept.join("&")) }, root)
}

fn tls(root: Option<&str>) -> Result<MakeRustlsConnect, Error> {
    let mut roots = RootCertStore::empty();
    match root {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            let refuse = |error: &dyn std::fmt::Display| {
                Error::Open(format!("{path}: not a root certificate: {error}"))
            };
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| refuse(&error))? {
                let certificate = certificate.map_err(|error| refuse(&error))?;
                roots.add(certificate).map_err(|error| refuse(&error))?;
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Open(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown_and_every_mode_that_verifies_is_one() {
        assert_eq!(
            without_password("postgres://u:p@ss@h:5/d?sslmode=require"),
            "postgres://u:***@h:5/d?sslmode=require"
        );
        assert_eq!(without_password("postgres://u@h/d?password=p"), "postgres://u@h/d");
        assert_eq!(without_password("host=h password=p"), "host=h password=***");
        let (url, root) =
            take_out("postgres://u@h/d?sslmode=verify-full&sslrootcert=%2Fca.pem&application_name=x");
        assert_eq!(
            (url.as_str(), root.as_deref()),
            ("postgres://u@h/d?sslmode=require&application_name=x", Some("/ca.pem"))
        );
    }

    #[test]
    fn what_is_no_address_is_refused_and_tls_is_left_out_on_the_machine_itself_alone() {
        let error = Address::parse("postgres://u:secret@h:port/d").unwrap_err().to_string();
        assert!(error.contains("postgres://u:***@h:port/d") && !error.contains("secret"), "{error}");
        let mode = |url: &str| Address::parse(url).unwrap().config.get_ssl_mode();
        assert_eq!(mode("postgres://u@127.0.0.1/d"), SslMode::Disable);
        assert_eq!(mode("postgres://u@localhost/d?sslmode=require"), SslMode::Require);
        assert_eq!(mode("postgres://u@db.example/d"), SslMode::Prefer);
        assert!(
            Address::parse("postgres://u@h/d?sslrootcert=/nowhere.pem")
                .unwrap_err()
                .to_string()
                .contains("/nowhere.pem")
        );
    }
}

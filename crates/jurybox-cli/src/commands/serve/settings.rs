//! The settings of a server. Options come before the environment, the environment before a file,
//! and a file before defaults.

use super::super::location;
use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use clap::builder::FalseyValueParser;
use jurybox_http::{Limits, Proxy, Settings, Tls, Webhooks};
use jurybox_server::{Role, StoreLocation};
use serde::Deserialize;
use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

/// Where the queues of a server are stored, and its settings file, which may name the place.
#[derive(clap::Args, Clone)]
pub(crate) struct StorageArgs {
    /// Folder of the queues, created if missing; or a PostgreSQL database that servers share, as
    /// env:VARIABLE or file:PATH with its URL, or postgres://user@host/database [default:
    /// jurybox-data]
    #[arg(long, value_name = "PLACE", env = "JURYBOX_DATA", hide_env_values = true, value_parser = location::parser())]
    data: Option<StoreLocation>,
    /// TOML file with settings by the names of the options; options and the environment override it
    #[arg(long, value_name = "FILE", env = "JURYBOX_CONFIG")]
    config: Option<PathBuf>,
}

impl StorageArgs {
    /// The location of the queues: by option or environment, else by the file, else `jurybox-data`.
    pub(crate) fn place(&self) -> anyhow::Result<StoreLocation> {
        Ok(self.resolve(self.in_file()?.remove("data"))?.0)
    }

    /// The settings in the file; empty without a file.
    fn in_file(&self) -> anyhow::Result<toml::Table> {
        let Some(file) = &self.config else { return Ok(toml::Table::new()) };
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        toml::from_str(&text).with_context(|| file.display().to_string())
    }

    /// The location, and the `--data` option for suggested commands. `in_file` is `data` in the
    /// file.
    fn resolve(&self, in_file: Option<toml::Value>) -> anyhow::Result<(StoreLocation, String)> {
        let place = match (&self.data, in_file) {
            (Some(place), _) => place.clone(),
            (None, Some(value)) => {
                let file = || self.config.iter().map(|file| file.display().to_string()).collect::<String>();
                let text = value.as_str().context("`data` is not text").with_context(file)?;
                location::parse(text.into()).map_err(anyhow::Error::msg).with_context(file)?
            }
            (None, None) => StoreLocation::Folder("jurybox-data".into()),
        };
        let option = format!(" --data {}", location::argument(&place));
        Ok((place, option))
    }
}

const SERVER: &str = "Server";

/// The settings of a server. In a settings file, they have the names of the options without the
/// dashes in front.
#[derive(clap::Args, Deserialize, Default, Clone)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ServeSettings {
    /// Address to listen on; other than this machine's own it needs keys [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", env = "JURYBOX_LISTEN", help_heading = SERVER)]
    listen: Option<IpAddr>,
    /// Port to listen on; 0 for any free one [default: 8686]
    #[arg(long, env = "JURYBOX_PORT", help_heading = SERVER)]
    port: Option<u16>,
    /// TLS certificate with its chain, as PEM
    #[arg(long, value_name = "FILE", env = "JURYBOX_TLS_CERTIFICATE", help_heading = SERVER)]
    tls_certificate: Option<PathBuf>,
    /// Private key of the certificate, as PEM
    #[arg(long, value_name = "FILE", env = "JURYBOX_TLS_KEY", help_heading = SERVER)]
    tls_key: Option<PathBuf>,
    /// Largest request body; NDJSON is not limited [default: 16777216]
    #[arg(long, value_name = "BYTES", env = "JURYBOX_MAX_BODY", help_heading = SERVER)]
    max_body: Option<usize>,
    /// Most requests at a time; further ones are asked to retry [default: 1024]
    #[arg(long, value_name = "N", env = "JURYBOX_MAX_REQUESTS", help_heading = SERVER)]
    max_requests: Option<usize>,
    /// Most connections per address (of 4096 in all), except the proxy's; 0 for no limit [default:
    /// 1024]
    #[arg(long, value_name = "N", env = "JURYBOX_MAX_CONNECTIONS_PER_ADDRESS", help_heading = SERVER)]
    max_connections_per_address: Option<usize>,
    /// Most requests per second and key, on average; 0 for no limit [default: 1000; without keys no
    /// limit]
    #[arg(long, value_name = "N", env = "JURYBOX_RATE", help_heading = SERVER)]
    rate: Option<u32>,
    /// Connections to PostgreSQL that all queues share, at least 2 [default: 10]
    #[arg(long, value_name = "N", env = "JURYBOX_CONNECTIONS", value_parser = clap::value_parser!(u16).range(2..), help_heading = SERVER)]
    connections: Option<u16>,
    /// Time for a client to send its headers, and then its body [default: 30]
    #[arg(long, value_name = "SECONDS", env = "JURYBOX_CLIENT_TIMEOUT", help_heading = SERVER)]
    client_timeout: Option<u64>,
    /// Header in which a proxy names the user; the proxy must remove it from client requests
    #[arg(long, value_name = "HEADER", env = "JURYBOX_PROXY_HEADER", help_heading = SERVER)]
    proxy_header: Option<String>,
    /// Addresses of the proxy, separated by commas; the header is ignored from elsewhere
    #[arg(long, value_name = "ADDRESSES", env = "JURYBOX_PROXY_FROM", value_delimiter = ',', help_heading = SERVER)]
    proxy_from: Vec<IpAddr>,
    /// Roles of users behind the proxy, separated by commas [default: read,review]
    #[arg(long, value_name = "ROLES", env = "JURYBOX_PROXY_ROLES", value_delimiter = ',', help_heading = SERVER)]
    proxy_roles: Vec<Role>,
    /// Allow every request from this machine although all keys were revoked; without keys from the
    /// start it is allowed anyway
    #[arg(long, env = "JURYBOX_OPEN", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = FalseyValueParser::new(), help_heading = SERVER)]
    open: Option<bool>,
    /// Allow webhooks to this machine, to private networks and without TLS, for tests
    #[arg(long, env = "JURYBOX_WEBHOOK_ALLOW_PRIVATE", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = FalseyValueParser::new(), help_heading = SERVER)]
    webhook_allow_private: Option<bool>,
    /// Stop retrying a webhook after this time of failures [default: 72]
    #[arg(long, value_name = "HOURS", env = "JURYBOX_WEBHOOK_GIVE_UP", help_heading = SERVER)]
    webhook_give_up: Option<u64>,
    /// Request log on standard error [default: text on a terminal, else json]
    #[arg(long, value_name = "FORMAT", env = "JURYBOX_LOG", help_heading = SERVER)]
    log: Option<LogFormat>,
}

/// Formats of the request log.
#[derive(Clone, Copy, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LogFormat {
    /// One JSON object per line
    Json,
    /// One line of text per request
    Text,
    /// No log
    Off,
}

/// The location of the queues, the `--data` option for suggested commands, and all other settings.
/// Options and environment come before the file.
pub(super) fn resolve(
    storage: &StorageArgs,
    given: ServeSettings,
) -> anyhow::Result<(StoreLocation, String, ServeSettings)> {
    let mut all = storage.in_file()?;
    let (place, option) = storage.resolve(all.remove("data"))?;
    let path = || storage.config.iter().map(|file| file.display().to_string()).collect::<String>();
    let file: ServeSettings = all.try_into().with_context(path)?;
    let or = |own: Vec<IpAddr>, other| if own.is_empty() { other } else { own };
    let settings = ServeSettings {
        listen: given.listen.or(file.listen),
        port: given.port.or(file.port),
        tls_certificate: given.tls_certificate.or(file.tls_certificate),
        tls_key: given.tls_key.or(file.tls_key),
        max_body: given.max_body.or(file.max_body),
        max_requests: given.max_requests.or(file.max_requests),
        max_connections_per_address: given.max_connections_per_address.or(file.max_connections_per_address),
        rate: given.rate.or(file.rate),
        connections: given.connections.or(file.connections),
        client_timeout: given.client_timeout.or(file.client_timeout),
        proxy_header: given.proxy_header.or(file.proxy_header),
        proxy_from: or(given.proxy_from, file.proxy_from),
        proxy_roles: if given.proxy_roles.is_empty() { file.proxy_roles } else { given.proxy_roles },
        open: given.open.or(file.open),
        webhook_allow_private: given.webhook_allow_private.or(file.webhook_allow_private),
        webhook_give_up: given.webhook_give_up.or(file.webhook_give_up),
        log: given.log.or(file.log),
    };
    Ok((place, option, settings))
}

impl ServeSettings {
    /// The number of connections to PostgreSQL that all queues share.
    pub(super) fn connections(&self) -> anyhow::Result<usize> {
        let connections = usize::from(self.connections.unwrap_or(10));
        ensure!(
            connections >= 2,
            "--connections {connections}: pass 2 or more, one for reading and one for writing"
        );
        Ok(connections)
    }

    /// The settings of the HTTP server. An option that needs another one is refused without it.
    pub(super) fn settings(self) -> anyhow::Result<Settings> {
        let (normal, standard) = (Settings::default(), Limits::default());
        let not_zero = |is_zero: bool, option: &str| {
            ensure!(!is_zero, "{option} 0: nothing could be answered; pass 1 or more, or leave it out");
            Ok(())
        };
        not_zero(self.max_body == Some(0), "--max-body")?;
        not_zero(self.max_requests == Some(0), "--max-requests")?;
        not_zero(self.client_timeout == Some(0), "--client-timeout")?;
        let rate = self.rate.map_or(standard.per_second, |rate| (rate > 0).then_some(rate));
        let per_address = self
            .max_connections_per_address
            .map_or(standard.max_connections_per_address, |limit| (limit > 0).then_some(limit));
        let tls = match (self.tls_certificate, self.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls { certificate, key }),
            (None, None) => None,
            _ => bail!("--tls-certificate and --tls-key need each other: pass both"),
        };
        let proxy = match self.proxy_header {
            Some(_) if self.proxy_from.is_empty() => {
                bail!("--proxy-header needs --proxy-from, the addresses from which the header is trusted")
            }
            Some(header) => Some(Proxy {
                header: match Proxy::refuses(&header) {
                    Some(why) => {
                        bail!("--proxy-header: {why}; choose a header of its own, such as X-Forwarded-User")
                    }
                    None => header,
                },
                from: self.proxy_from.iter().map(IpAddr::to_canonical).collect(),
                roles: if self.proxy_roles.is_empty() {
                    vec![Role::Read, Role::Review]
                } else {
                    self.proxy_roles
                },
            }),
            None if !self.proxy_from.is_empty() || !self.proxy_roles.is_empty() => {
                bail!("--proxy-from and --proxy-roles need --proxy-header, the header that names the user")
            }
            None => None,
        };
        let listen = self.listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        Ok(Settings {
            listen: (listen, self.port.unwrap_or(normal.listen.port())).into(),
            limits: Limits {
                body: self.max_body.unwrap_or(standard.body),
                max_requests: self.max_requests.unwrap_or(standard.max_requests),
                max_connections_per_address: per_address,
                per_second: rate,
                count_local: self.rate.is_some(),
                client_timeout: self.client_timeout.map_or(standard.client_timeout, Duration::from_secs),
                ..standard
            },
            proxy,
            open: self.open.unwrap_or(false),
            log: match self.log {
                Some(LogFormat::Text) => jurybox_http::LogFormat::Text,
                Some(LogFormat::Off) => jurybox_http::LogFormat::Off,
                None if std::io::stderr().is_terminal() => jurybox_http::LogFormat::Text,
                Some(LogFormat::Json) | None => jurybox_http::LogFormat::Json,
            },
            tls,
            webhooks: Webhooks {
                allow_private: self.webhook_allow_private.unwrap_or(false),
                give_up: self
                    .webhook_give_up
                    .map_or(normal.webhooks.give_up, |hours| Duration::from_secs(hours.saturating_mul(3600))),
            },
            demo: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `deploy/jurybox.toml` names `data` and every setting of [`ServeSettings`], and nothing else.
    #[test]
    fn the_example_has_every_setting() {
        let text = include_str!("../../../../../deploy/jurybox.toml");
        let all: String =
            text.lines().skip(1).map(|line| line.trim_start_matches("# ").to_owned() + "\n").collect();
        let mut all: toml::Table = toml::from_str(&all).unwrap();
        assert!(all.remove("data").is_some());
        let mut in_file: Vec<String> = all.keys().cloned().collect();
        let _: ServeSettings = all.try_into().unwrap();
        let command = <ServeSettings as clap::Args>::augment_args(clap::Command::new("serve"));
        let mut options: Vec<String> =
            command.get_arguments().filter_map(|arg| Some(arg.get_long()?.to_owned())).collect();
        in_file.sort();
        options.sort();
        assert_eq!(in_file, options);
    }

    #[test]
    fn zero_is_refused_where_nothing_could_be_answered() {
        let settings = ServeSettings { max_requests: Some(0), ..ServeSettings::default() };
        assert!(settings.settings().unwrap_err().to_string().starts_with("--max-requests 0"));
    }
}

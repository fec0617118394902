//! How a server is set up: by flags, else by the environment, else by a file, else by default.

use super::super::place;
use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use clap::builder::FalseyValueParser;
use jurybox_http::{Limits, Log, Proxy, Settings, Tls, Webhooks};
use jurybox_server::{Place, Role};
use serde::Deserialize;
use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

/// Where the records are, and the file that may say so.
#[derive(clap::Args, Clone)]
pub(crate) struct Records {
    /// The folder with the records, made where it is not there; or a PostgreSQL database that any number of servers share, as
    /// env:VARIABLE or file:PATH where its URL stands, or postgres://user@host/database [default: jurybox-data]
    #[arg(long, value_name = "PLACE", env = "JURYBOX_DATA", hide_env_values = true, value_parser = place::parser())]
    data: Option<Place>,
    /// The TOML file of the server, with settings under the names of the flags; flags and the environment come before it
    #[arg(long, value_name = "FILE", env = "JURYBOX_CONFIG")]
    config: Option<PathBuf>,
}

impl Records {
    /// Where they are: as it was said, else as the file says, else in a folder here.
    pub(crate) fn place(&self) -> anyhow::Result<Place> {
        Ok(self.placed_by(self.in_file()?.remove("data"))?.0)
    }

    /// What the file says, if there is one.
    fn in_file(&self) -> anyhow::Result<toml::Table> {
        let Some(file) = &self.config else { return Ok(toml::Table::new()) };
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        toml::from_str(&text).with_context(|| file.display().to_string())
    }

    /// Where they are, given what the file says of it; and how a command is told of the same records: the URL of a database may have a
    /// password in it, so that is left to whoever asks.
    fn placed_by(&self, in_file: Option<toml::Value>) -> anyhow::Result<(Place, String)> {
        let place = match (&self.data, in_file) {
            (Some(said), _) => said.clone(),
            (None, Some(said)) => {
                let file = || self.config.iter().map(|file| file.display().to_string()).collect::<String>();
                let said = said.as_str().context("`data` is no text").with_context(file)?;
                place::parse(said.into()).map_err(anyhow::Error::msg).with_context(file)?
            }
            (None, None) => Place::Folder("jurybox-data".into()),
        };
        let flag = match &place {
            Place::Folder(folder) => format!(" --data {}", folder.display()),
            Place::Database(_) => " --data env:VARIABLE".into(),
        };
        Ok((place, flag))
    }
}

/// What can be asked for. A file has the same names, without the dashes before them.
#[derive(clap::Args, Deserialize, Default, Clone)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Asked {
    /// The address to listen at; any but this machine's own takes a key [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", env = "JURYBOX_LISTEN")]
    listen: Option<IpAddr>,
    /// The port to listen at; 0 for any that is free [default: 8686]
    #[arg(long, env = "JURYBOX_PORT")]
    port: Option<u16>,
    /// The certificate to speak TLS with, and all that it stands on, as PEM
    #[arg(long, value_name = "FILE", env = "JURYBOX_TLS_CERTIFICATE")]
    tls_certificate: Option<PathBuf>,
    /// The key of the certificate, as PEM
    #[arg(long, value_name = "FILE", env = "JURYBOX_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// The largest body of a request, in bytes; lines (NDJSON) are taken however many there are [default: 16777216]
    #[arg(long, value_name = "BYTES", env = "JURYBOX_MAX_BODY")]
    max_body: Option<usize>,
    /// How many requests are answered at once; who comes then is told to come again [default: 1024]
    #[arg(long, value_name = "N", env = "JURYBOX_AT_ONCE")]
    at_once: Option<usize>,
    /// How many of its 4096 connections one address may have open, other than a proxy's; further ones are closed, and 0 is for any number [default: 1024]
    #[arg(long, value_name = "N", env = "JURYBOX_PER_ADDRESS")]
    per_address: Option<usize>,
    /// How many requests a second each key may send, on average; 0 for any number [default: 1000, and any number without keys]
    #[arg(long, value_name = "N", env = "JURYBOX_RATE")]
    rate: Option<u32>,
    /// How many connections to PostgreSQL all queues share, 2 at least; it counts for a database alone [default: 10]
    #[arg(long, value_name = "N", env = "JURYBOX_CONNECTIONS", value_parser = clap::value_parser!(u16).range(2..))]
    connections: Option<u16>,
    /// How many seconds a client may take to send its headers, and then its body [default: 30]
    #[arg(long, value_name = "SECONDS", env = "JURYBOX_PATIENCE")]
    patience: Option<u64>,
    /// The header in which a proxy says who has logged in; it must remove what clients send under that name
    #[arg(long, value_name = "HEADER", env = "JURYBOX_PROXY_HEADER")]
    proxy_header: Option<String>,
    /// The addresses of that proxy, separated by commas; from elsewhere the header is not believed
    #[arg(long, value_name = "ADDRESSES", env = "JURYBOX_PROXY_FROM", value_delimiter = ',')]
    proxy_from: Vec<IpAddr>,
    /// What those who come by that proxy may do, separated by commas [default: read,review]
    #[arg(long, value_name = "ROLES", env = "JURYBOX_PROXY_ROLES", value_delimiter = ',')]
    proxy_roles: Vec<Role>,
    /// Let anybody on this machine ask for anything while there are no keys, though there have been some: without this a server whose
    /// last key was revoked stays closed
    #[arg(long, env = "JURYBOX_OPEN", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = FalseyValueParser::new())]
    open: Option<bool>,
    /// Let webhooks go to this machine and to private networks, and without encryption: for tests, and where whoever can set up a
    /// webhook may reach all of those anyway
    #[arg(long, env = "JURYBOX_WEBHOOK_ALLOW_PRIVATE", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = FalseyValueParser::new())]
    webhook_allow_private: Option<bool>,
    /// For how many hours a webhook may fail before it is left alone [default: 72]
    #[arg(long, value_name = "HOURS", env = "JURYBOX_WEBHOOK_GIVE_UP")]
    webhook_give_up: Option<u64>,
    /// How requests are logged on standard error [default: text at a terminal, otherwise json]
    #[arg(long, value_name = "FORM", env = "JURYBOX_LOG")]
    log: Option<LogForm>,
}

/// What is written about requests.
#[derive(Clone, Copy, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LogForm {
    /// One JSON object a line
    Json,
    /// A line for people
    Text,
    /// Nothing
    Off,
}

/// All that a server is told: what flags and environment leave open is filled in from the file. With it, where the records are, and how
/// a command is told so.
pub(super) fn filled(records: &Records, asked: Asked) -> anyhow::Result<(Place, String, Asked)> {
    let mut all = records.in_file()?;
    let (place, flag) = records.placed_by(all.remove("data"))?;
    let file = || records.config.iter().map(|file| file.display().to_string()).collect::<String>();
    let said: Asked = all.try_into().with_context(file)?;
    let or = |own: Vec<IpAddr>, other| if own.is_empty() { other } else { own };
    let asked = Asked {
        listen: asked.listen.or(said.listen),
        port: asked.port.or(said.port),
        tls_certificate: asked.tls_certificate.or(said.tls_certificate),
        tls_key: asked.tls_key.or(said.tls_key),
        max_body: asked.max_body.or(said.max_body),
        at_once: asked.at_once.or(said.at_once),
        per_address: asked.per_address.or(said.per_address),
        rate: asked.rate.or(said.rate),
        connections: asked.connections.or(said.connections),
        patience: asked.patience.or(said.patience),
        proxy_header: asked.proxy_header.or(said.proxy_header),
        proxy_from: or(asked.proxy_from, said.proxy_from),
        proxy_roles: if asked.proxy_roles.is_empty() { said.proxy_roles } else { asked.proxy_roles },
        open: asked.open.or(said.open),
        webhook_allow_private: asked.webhook_allow_private.or(said.webhook_allow_private),
        webhook_give_up: asked.webhook_give_up.or(said.webhook_give_up),
        log: asked.log.or(said.log),
    };
    Ok((place, flag, asked))
}

impl Asked {
    /// How many connections to PostgreSQL all queues share.
    pub(super) fn connections(&self) -> anyhow::Result<usize> {
        let connections = usize::from(self.connections.unwrap_or(10));
        ensure!(
            connections >= 2,
            "--connections {connections}: at least 2, one for a read and one for a write"
        );
        Ok(connections)
    }

    /// What the server is told. Halves of what belongs together are refused.
    pub(super) fn settings(self) -> anyhow::Result<Settings> {
        let (normal, standard) = (Settings::default(), Limits::default());
        let none = |said: bool, flag: &str| {
            ensure!(
                !said,
                "{flag} 0: then nothing could be answered; leave it out for the default, or say how much"
            );
            Ok(())
        };
        none(self.max_body == Some(0), "--max-body")?;
        none(self.at_once == Some(0), "--at-once")?;
        none(self.patience == Some(0), "--patience")?;
        let rate = self.rate.map_or(standard.per_second, |rate| (rate > 0).then_some(rate));
        let per_address = self.per_address.map_or(standard.per_address, |many| (many > 0).then_some(many));
        let tls = match (self.tls_certificate, self.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls { certificate, key }),
            (None, None) => None,
            _ => bail!("a certificate and its key belong together: pass --tls-certificate and --tls-key"),
        };
        let proxy = match self.proxy_header {
            Some(_) if self.proxy_from.is_empty() => {
                bail!("--proxy-header needs --proxy-from: from anywhere else the header is not believed")
            }
            Some(header) => Some(Proxy {
                header: match Proxy::refuses(&header) {
                    Some(why) => {
                        bail!("--proxy-header: {why}; choose one of its own, such as X-Forwarded-User")
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
                bail!(
                    "--proxy-from and --proxy-roles need --proxy-header: the header in which the proxy says who is there"
                )
            }
            None => None,
        };
        let listen = self.listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        Ok(Settings {
            listen: (listen, self.port.unwrap_or(normal.listen.port())).into(),
            limits: Limits {
                body: self.max_body.unwrap_or(standard.body),
                at_once: self.at_once.unwrap_or(standard.at_once),
                per_address,
                per_second: rate,
                count_local: self.rate.is_some(),
                patience: self.patience.map_or(standard.patience, Duration::from_secs),
                ..standard
            },
            proxy,
            open: self.open.unwrap_or(false),
            log: match self.log {
                Some(LogForm::Text) => Log::Text,
                Some(LogForm::Off) => Log::Off,
                None if std::io::stderr().is_terminal() => Log::Text,
                Some(LogForm::Json) | None => Log::Json,
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

    /// The file that is given as an example names every setting, and none that there is not.
    #[test]
    fn the_example_has_every_setting() {
        let text = include_str!("../../../../../deploy/jurybox.toml");
        let all: String =
            text.lines().skip(1).map(|line| line.trim_start_matches("# ").to_owned() + "\n").collect();
        let mut all: toml::Table = toml::from_str(&all).unwrap();
        assert!(all.remove("data").is_some());
        let mut said: Vec<String> = all.keys().cloned().collect();
        let _: Asked = all.try_into().unwrap();
        let asked = <Asked as clap::Args>::augment_args(clap::Command::new("serve"));
        let mut there: Vec<String> =
            asked.get_arguments().filter_map(|arg| Some(arg.get_long()?.to_owned())).collect();
        said.sort();
        there.sort();
        assert_eq!(said, there);
    }

    #[test]
    fn nothing_that_would_answer_nobody_is_taken() {
        let asked = Asked { at_once: Some(0), ..Asked::default() };
        assert!(asked.settings().unwrap_err().to_string().starts_with("--at-once 0"));
    }
}

//! `jurybox server key`: who may ask a server for what.

use crate::messages::say;
use crate::output;
use anyhow::bail;
use clap::Subcommand;
use jurybox_server::{Key, Keyring, Role};
use serde_json::json;
use std::fmt::Write;

/// Make, show and take away the keys with which a server is asked.
///
/// A running server follows within a second. Secrets are kept as hashes: one that is lost is revoked and made anew.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Args)]
struct Place {
    #[command(flatten)]
    records: super::serve::Records,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Make a key; its secret is printed this once
    Add {
        /// What the log calls whoever uses it
        name: String,
        /// What it may do, separated by commas: read (look), write (send items), review (claim, give verdicts), admin (everything)
        #[arg(long, value_name = "ROLES", value_delimiter = ',', required = true)]
        role: Vec<Role>,
        /// In which queues, separated by commas [default: all]
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        queue: Vec<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Show the keys there are, without their secrets
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Take a key away
    Revoke {
        /// Its name
        name: String,
        #[command(flatten)]
        place: Place,
    },
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match &self.command {
            Command::Add { name, role, queue, place } => {
                let secret = Keyring::open(place.records.place()?)?.add(name, role, queue)?;
                if place.json {
                    return output::versioned(
                        "server-key",
                        json!({ "name": name, "roles": role, "queues": queue, "secret": secret }),
                    );
                }
                say(format_args!(
                    "the secret of `{name}`, shown this once; send it as Authorization: Bearer SECRET"
                ));
                output::text_to_stdout(&format!("{secret}\n"))
            }
            Command::List { place } => {
                let keys = Keyring::open_what_is_there(place.records.place()?)?.list()?;
                if place.json {
                    return output::versioned("server-keys", json!({ "keys": keys }));
                }
                let mut text = String::new();
                for Key { name, roles, queues, .. } in keys {
                    let roles: Vec<&str> = roles.into_iter().map(Role::name).collect();
                    let queues = if queues.is_empty() { "all queues".into() } else { queues.join(",") };
                    writeln!(text, "{name}  {}  {queues}", roles.join(","))?;
                }
                output::text_to_stdout(&text)
            }
            Command::Revoke { name, place } => {
                let mut keyring = Keyring::open_what_is_there(place.records.place()?)?;
                if !keyring.revoke(name)? {
                    bail!("there is no key `{name}`; jurybox server key list shows those there are");
                }
                say(format_args!(
                    "`{name}` opens nothing any more; a running server follows within a second"
                ));
                if keyring.list()?.is_empty() {
                    say(format_args!(
                        "it was the last: nobody can ask now, on this machine either, until there is another"
                    ));
                }
                Ok(())
            }
        }
    }
}

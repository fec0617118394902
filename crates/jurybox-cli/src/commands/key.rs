//! `jurybox server key`: the API keys of a server.

use super::columns::OUTPUT;
use crate::messages::{next, say, shell};
use crate::output;
use anyhow::bail;
use clap::Subcommand;
use jurybox_files::{date_of, days_from};
use jurybox_server::{ApiKey, Keyring, NewKey, Role};
use serde_json::json;
use std::fmt::Write;

const EXAMPLES: &str = "\
Examples:
  # A key for a system that sends items
  jurybox server key add intake --role write
  # The keys and when they were last used
  jurybox server key list";

const ADD_EXAMPLES: &str = "\
Examples:
  # Ann reviews one queue until the end of the year
  jurybox server key add ann --role review --reviewer ann --queue posts --expires 2027-12-31
  # The first key of a server that is open to others
  jurybox server key add boss --role admin";

const LIST_EXAMPLES: &str = "\
Examples:
  # The keys of ./jurybox-data
  jurybox server key list
  # For a program
  jurybox server key list --json";

const REVOKE_EXAMPLES: &str = "\
Examples:
  # Revoke a key of ./jurybox-data
  jurybox server key revoke ann
  # Revoke a key of another folder
  jurybox server key revoke intake --data jurybox-data";

/// Create, list and revoke the API keys of a server
///
/// A running server follows within a second. Only hashes of secrets are stored: replace a lost key.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(clap::Args)]
struct KeyringArgs {
    #[command(flatten)]
    storage: super::serve::StorageArgs,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

#[derive(Subcommand)]
enum KeyCommand {
    /// Create a key and print its secret, this once
    #[command(after_long_help = ADD_EXAMPLES)]
    Add {
        /// Name of the key, which the activity log records
        name: String,
        /// What the key may do: read (view), write (send items), review (claim, give verdicts),
        /// admin (everything); separated by commas
        #[arg(long, value_name = "ROLES", value_delimiter = ',', required = true)]
        role: Vec<Role>,
        /// Queues that it opens, separated by commas [default: all]
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        queue: Vec<String>,
        /// The only reviewer that it acts as [default: any, as the backend of a review tool needs]
        #[arg(long, value_name = "NAME")]
        reviewer: Option<String>,
        /// Its last day (UTC), such as 2027-12-31 [default: none]
        #[arg(long, value_name = "DATE", value_parser = end_of_day)]
        expires: Option<i64>,
        #[command(flatten)]
        keyring: KeyringArgs,
    },
    /// List the keys, without their secrets
    #[command(after_long_help = LIST_EXAMPLES)]
    List {
        #[command(flatten)]
        keyring: KeyringArgs,
    },
    /// Revoke a key
    #[command(after_long_help = REVOKE_EXAMPLES)]
    Revoke {
        /// Name of the key
        name: String,
        #[command(flatten)]
        keyring: KeyringArgs,
    },
}

/// A day in microseconds.
const DAY: i64 = 86_400_000_000;

/// The end of a day such as 2027-12-31, in microseconds since 1970 (UTC).
fn end_of_day(text: &str) -> Result<i64, String> {
    let number =
        |part: &str| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten();
    let parts: Option<Vec<i64>> = text.split('-').map(number).collect();
    match parts.as_deref() {
        Some(&[year @ 1970..=9999, month @ 1..=12, day])
            if date_of(days_from(year, month, day)) == (year, month, day) =>
        {
            Ok((days_from(year, month, day) + 1) * DAY)
        }
        _ => Err("write a day, such as 2027-12-31".into()),
    }
}

/// The UTC day of a time in microseconds since 1970, written as 2027-12-31.
fn day_of(at: i64) -> String {
    let (year, month, day) = date_of(at.div_euclid(DAY));
    format!("{year:04}-{month:02}-{day:02}")
}

/// A line about a key: name, roles, queues, reviewer, dates of creation and expiry, and last use.
fn about(key: &ApiKey, now: i64) -> String {
    let roles: Vec<&str> = key.roles.iter().copied().map(Role::name).collect();
    let queues = if key.queues.is_empty() { "all queues".into() } else { key.queues.join(",") };
    let speaks = match &key.reviewer {
        Some(reviewer) => format!("  as {reviewer}"),
        None if key.speaks_for_any() => "  as any reviewer".into(),
        None => String::new(),
    };
    let expires = match key.expires {
        Some(expires) if key.has_expired(now) => format!("  expired after {}", day_of(expires - 1)),
        Some(expires) => format!("  expires after {}", day_of(expires - 1)),
        None => String::new(),
    };
    let used = key.used.map_or("never used".into(), |used| format!("last used {}", day_of(used)));
    format!(
        "{}  {}  {queues}{speaks}  created {}{expires}  {used}",
        key.name,
        roles.join(","),
        day_of(key.made)
    )
}

/// The system's clock in microseconds since 1970.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match &self.command {
            KeyCommand::Add { name, role, queue, reviewer, expires, keyring } => {
                let key = NewKey {
                    name: name.clone(),
                    roles: role.clone(),
                    queues: queue.clone(),
                    reviewer: reviewer.clone(),
                    expires: *expires,
                };
                let secret = Keyring::open(keyring.storage.place()?)?.add(key)?;
                if keyring.json {
                    return output::versioned(
                        "server-key",
                        json!({
                            "name": name, "roles": role, "queues": queue, "reviewer": reviewer,
                            "expires": expires, "secret": secret,
                        }),
                    );
                }
                if reviewer.is_none() && role.contains(&Role::Review) {
                    say(format_args!(
                        "`{name}` acts as any reviewer, for the backend of a review tool; for a person, pass --reviewer."
                    ));
                }
                say(format_args!(
                    "The secret of `{name}`, shown this once; send it as `Authorization: Bearer SECRET`:"
                ));
                output::text_to_stdout(&format!("{secret}\n"))?;
                next(format_args!("serve"));
                Ok(())
            }
            KeyCommand::List { keyring } => {
                let keys = Keyring::open_existing(keyring.storage.place()?)?.list()?;
                if keyring.json {
                    return output::versioned("server-keys", json!({ "keys": keys }));
                }
                let mut text = String::new();
                for key in keys {
                    writeln!(text, "{}", about(&key, now()))?;
                }
                output::text_to_stdout(&text)?;
                next(format_args!("server key add NAME --role read,review"));
                Ok(())
            }
            KeyCommand::Revoke { name, keyring } => {
                let mut keys = Keyring::open_existing(keyring.storage.place()?)?;
                if !keys.revoke(name)? {
                    bail!("there is no key `{name}`; `jurybox server key list` lists the keys");
                }
                say(format_args!("Revoked `{}`; a running server follows within a second.", shell(name)));
                if keys.list()?.is_empty() {
                    say(format_args!(
                        "It was the last key: the server refuses every request, from this machine too, until there is another."
                    ));
                }
                next(format_args!("server key list"));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_opens_until_the_end_of_its_last_day() {
        assert_eq!(end_of_day("1970-01-01"), Ok(DAY));
        assert_eq!(day_of(end_of_day("2027-12-31").unwrap() - 1), "2027-12-31");
        for wrong in
            ["", "2027", "2027-13-01", "2027-02-30", "27-12-31", "2027-12-31T00:00:00Z", "-1-1-1", "+027-1-1"]
        {
            assert!(end_of_day(wrong).is_err(), "{wrong}");
        }
    }
}

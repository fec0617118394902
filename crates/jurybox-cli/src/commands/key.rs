//! `jurybox server key`: who may ask a server for what.

use crate::messages::say;
use crate::output;
use anyhow::bail;
use clap::Subcommand;
use jurybox_files::{date_of, days_from};
use jurybox_server::{Key, Keyring, NewKey, Role};
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
        /// The reviewer that it acts as, and nobody else; without this a key with the role review speaks for any reviewer, as the program
        /// behind a review tool does
        #[arg(long, value_name = "NAME")]
        reviewer: Option<String>,
        /// The last day on which it opens anything (UTC), such as 2027-12-31 [default: until it is revoked]
        #[arg(long, value_name = "DATE", value_parser = end_of_day)]
        expires: Option<i64>,
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

/// A day in microseconds.
const DAY: i64 = 86_400_000_000;

/// The end of a day that is written as 2027-12-31, in microseconds since 1970.
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
        _ => Err("a day is written as 2027-12-31".into()),
    }
}

/// The day of a time.
fn day_of(at: i64) -> String {
    let (year, month, day) = date_of(at.div_euclid(DAY));
    format!("{year:04}-{month:02}-{day:02}")
}

/// A line about a key: what it may do and where, for whom, since and until when, and when it was last used.
fn about(key: &Key, now: i64) -> String {
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
            Command::Add { name, role, queue, reviewer, expires, place } => {
                let key = NewKey {
                    name: name.clone(),
                    roles: role.clone(),
                    queues: queue.clone(),
                    reviewer: reviewer.clone(),
                    expires: *expires,
                };
                let secret = Keyring::open(place.records.place()?)?.add(key)?;
                if place.json {
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
                        "`{name}` speaks for any reviewer, as the program behind a review tool does; for a person pass --reviewer"
                    ));
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
                for key in keys {
                    writeln!(text, "{}", about(&key, now()))?;
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

//! `jurybox server`: keeping the database of a desk or a server.

use super::place;
use crate::messages::say;
use crate::output;
use anyhow::{Context, bail};
use clap::Subcommand;
use jurybox_files::{date_of, days_from};
use jurybox_server::{Keyring, Place, Proof, Since, archive, backup, log_times, prove, rebuild, restore};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Keep the records of a desk: prove them, rebuild what was learnt, copy them, put a copy back.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prove from the records alone that every pick was the best there was, that nothing was given out or counted twice, and that
    /// nothing is lost
    ///
    /// The proof shares no code with the program that picked; it may run while the desk is in use.
    Verify {
        #[command(flatten)]
        records: Records,
        /// Fail also where a claim cannot be proved: because an item was erased since, or because an earlier version made it by its own rules
        #[arg(long)]
        strict: bool,
        /// Try only the claims after this entry of the log; or, given a file that an earlier `verify --json` wrote, the claims that it did not prove
        ///
        /// All else is checked from the first entry on. With a file, the log up to there must be what it was then.
        #[arg(long, value_name = "ENTRY|FILE", value_parser = since)]
        since: Option<Since>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Fold the whole log again, and compare every checkpoint and what is kept of open items with it; whether the log itself was changed, `verify` says
    Rebuild {
        #[command(flatten)]
        records: Records,
        /// Which of its queues, where it has several
        #[arg(long, value_name = "NAME")]
        queue: Option<String>,
        /// Up to which entry of the log [default: the last]
        #[arg(long, value_name = "ENTRY")]
        to: Option<u64>,
        /// How many seconds to wait while another command or a server has the folder, or while the database cannot be reached
        #[arg(long, value_name = "SECONDS", default_value_t = 30)]
        wait: u64,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Write a copy of a desk into one file, while it is in use
    ///
    /// A desk in PostgreSQL is copied by pg_dump and put back by pg_restore: its schema is `jurybox`.
    #[command(allow_missing_positional = true)]
    Backup {
        /// The folder of the desk
        #[arg(value_name = "DIR", value_parser = place::parser(), required_unless_present = "data")]
        place: Option<Place>,
        /// The file to write; there must be none
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The folder of a server, where no DIR is given
        #[arg(long, value_name = "PLACE", env = "JURYBOX_DATA", hide_env_values = true, value_parser = place::parser())]
        data: Option<Place>,
    },
    /// Compare the time of each queue's log with the clock, and set logs back that a wrong clock
    /// has taken ahead
    ///
    /// While a log is ahead, work goes on, and its time passes at half speed until the clock has
    /// caught up.
    Clock {
        #[command(flatten)]
        records: Records,
        /// Set back each log that is ahead by more than a minute. Set the machine's clock right
        /// first. Leases end, and verdicts can no longer be undone
        #[arg(long)]
        repair: bool,
        /// How many seconds to wait while another command has the folder, or while the database
        /// cannot be reached
        #[arg(long, value_name = "SECONDS", default_value_t = 30)]
        wait: u64,
    },
    /// Move queues that are done into an archive: a folder of their own that `verify` and `desk
    /// export` read
    ///
    /// A queue is done when no item in it is open. Its copy is proved before anything is deleted,
    /// and deleted a few rows at a time, while a server goes on with the others.
    Archive {
        #[command(flatten)]
        records: Records,
        /// The folder of the archive; it is made where it is not there, and may have other queues
        /// already
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
        /// Only queues in which nothing happened on that day (UTC) or after it, as 2026-11-01
        #[arg(long, value_name = "DAY", value_parser = day)]
        before: i64,
        /// Only this queue
        #[arg(long, value_name = "NAME")]
        queue: Option<String>,
        /// How many seconds to wait while another command has the archive, or while the database
        /// cannot be reached
        #[arg(long, value_name = "SECONDS", default_value_t = 30)]
        wait: u64,
    },
    /// Make, show and take away the keys with which a server is asked
    Key(super::key::Args),
    /// Make a desk of a copy that `backup` wrote
    Restore {
        /// The copy
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The folder to make; it must have no desk
        #[arg(value_name = "DIR", value_parser = place::parser())]
        place: Place,
        /// It takes the place of the original, which is no more: its webhooks go on; without this they rest until each is put again
        #[arg(long)]
        webhooks: bool,
    },
}

/// Which records.
#[derive(clap::Args)]
struct Records {
    /// The folder of the desk; or a PostgreSQL database, as env:VARIABLE or file:PATH where its URL stands, or postgres://user@host/database
    #[arg(value_name = "DIR", value_parser = place::parser(), required_unless_present_any = ["data", "database"])]
    place: Option<Place>,
    /// The records of a server, where no DIR is given
    #[arg(long, value_name = "PLACE", env = "JURYBOX_DATA", hide_env_values = true, value_parser = place::parser())]
    data: Option<Place>,
    /// The database, where neither is given
    #[arg(long, value_name = "URL", env = "DATABASE_URL", hide_env_values = true, value_parser = place::parser())]
    database: Option<Place>,
}

impl Records {
    fn place(&self) -> anyhow::Result<&Place> {
        self.place
            .as_ref()
            .or(self.data.as_ref())
            .or(self.database.as_ref())
            .context("say which desk: pass its folder, or --database")
    }
}

/// The beginning of a day, in microseconds since 1970.
fn day(text: &str) -> Result<i64, String> {
    let parts: Vec<i64> = text.split('-').filter_map(|part| part.parse().ok()).collect();
    if let [year, month, day] = parts[..]
        && text.len() == 10
    {
        let days = days_from(year, month, day);
        if date_of(days) == (year, month, day) {
            return Ok(days * 86_400_000_000);
        }
    }
    Err("write a day, such as 2026-11-01".into())
}

/// The folder, or why there is none to copy.
fn folder(place: &Place) -> anyhow::Result<&Path> {
    match place {
        Place::Folder(folder) => Ok(folder),
        Place::Database(_) => bail!(
            "{place}: a PostgreSQL database is copied by its own tools: pg_dump --format=custom --schema=jurybox, and pg_restore to put it back"
        ),
    }
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match &self.command {
            Command::Verify { records, strict, since, json } => {
                let since = since.as_ref().unwrap_or(&Since::Beginning);
                proved(records.place()?, since, *strict, *json)
            }
            Command::Rebuild { records, queue, to, wait, json } => {
                let rebuilt = rebuild(records.place()?, queue.as_deref(), *to, Duration::from_secs(*wait))?;
                if *json {
                    output::versioned("server-rebuild", &rebuilt)?;
                } else {
                    output::text_to_stdout(&format!(
                        "{}: {} entries folded, {} checkpoints agree, {} did not and were replaced\n",
                        rebuilt.queue,
                        rebuilt.head,
                        rebuilt.checkpoints,
                        rebuilt.mismatches.len()
                    ))?;
                }
                if rebuilt.tables_agree == Some(false) {
                    bail!(
                        "the tables do not say what the log says: restore a backup, and keep these records for whoever looks into them"
                    );
                }
                Ok(())
            }
            Command::Backup { place, file, data } => {
                let place = place.as_ref().or(data.as_ref()).context("say which desk: pass its folder")?;
                backup(folder(place)?, file)?;
                say(format_args!("{}: a copy of {place}", file.display()));
                Ok(())
            }
            Command::Archive { records, to, before, queue, wait } => {
                let wait = Duration::from_secs(*wait);
                let moved = archive(records.place()?, to, *before, queue.as_deref(), wait)?;
                for queue in &moved {
                    let name = jurybox_files::plain(&queue.queue, false);
                    say(format_args!("{name}: {} entries moved to {}", queue.entries, to.display()));
                }
                if moved.is_empty() {
                    say(format_args!(
                        "no queue is done: each has open items, or something happened in it since"
                    ));
                } else {
                    say(format_args!(
                        "prove the archive again at any time: jurybox server verify {}",
                        to.display()
                    ));
                }
                Ok(())
            }
            Command::Clock { records, repair, wait } => {
                let times = log_times(records.place()?, *repair, Duration::from_secs(*wait))?;
                let mut text = String::new();
                for time in &times {
                    use std::fmt::Write;
                    let name = jurybox_files::plain(&time.queue, false);
                    let ahead = time.ahead_seconds;
                    match (time.set_back, ahead > 60) {
                        (true, _) => {
                            writeln!(
                                text,
                                "{name}: was {ahead} seconds ahead of the clock, and is set back"
                            )?;
                        }
                        (false, true) => writeln!(text, "{name}: {ahead} seconds ahead of the clock")?,
                        (false, false) => writeln!(text, "{name}: not ahead of the clock")?,
                    }
                }
                output::text_to_stdout(&text)?;
                if times.iter().any(|time| time.ahead_seconds > 60 && !time.set_back) {
                    say(format_args!("set the machine's clock right, then: jurybox server clock --repair"));
                }
                Ok(())
            }
            Command::Key(args) => args.run(),
            Command::Restore { file, place, webhooks } => {
                let resting = restore(file, folder(place)?, *webhooks)?;
                say(format_args!("{place}: the desk that was copied to {}", file.display()));
                if resting > 0 {
                    say(format_args!(
                        "its webhooks rest ({resting}): the original may still send; PUT one again to have it go on, or restore with --webhooks where this takes its place"
                    ));
                }
                let keys: Vec<String> =
                    Keyring::open(place)?.list()?.into_iter().map(|key| key.name).collect();
                if !keys.is_empty() {
                    say(format_args!(
                        "its keys open as they did when it was copied, also those revoked since: {}; jurybox server key revoke takes one away",
                        keys.join(", ")
                    ));
                }
                Ok(())
            }
        }
    }
}

/// An entry of the log, or the document of an earlier proof.
fn since(text: &str) -> Result<Since, String> {
    if let Ok(entry) = text.parse() {
        return Ok(Since::Entry(entry));
    }
    let told = |what: String| format!("{text}: {what}");
    let document = std::fs::read(text).map_err(|error| told(error.to_string()))?;
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap_or_default();
    if document["format"] != "jurybox-server-verify" {
        return Err(told(
            "it is neither the number of an entry nor what `server verify --json` wrote".into(),
        ));
    }
    let proof: Proof = serde_json::from_value(document).map_err(|error| told(error.to_string()))?;
    Ok(Since::Proof(Box::new(proof)))
}

fn proved(place: &Place, since: &Since, strict: bool, as_json: bool) -> anyhow::Result<()> {
    let proof = prove(place, since)?;
    let queues = &proof.queues;
    if proof.read_only {
        say(format_args!("{place}: it cannot be written to, and is read as it is"));
    }
    if as_json {
        output::versioned("server-verify", &proof)?;
    } else {
        let mut text = String::new();
        if let Some(why) = proof.integrity.strip_prefix("none: ") {
            text = format!("the database's own check was not run: {why}\n");
        }
        if queues.is_empty() {
            text += "there is no queue\n";
        }
        for queue in queues {
            use std::fmt::Write;
            // Records that somebody forged may have any name.
            let name = jurybox_files::plain(&queue.queue, false);
            writeln!(
                text,
                "{name}: {} entries, {} claims, {} of them exact under {} models, {} not provable since an erasure; lost {}, twice {}, double leases {}",
                queue.entries,
                queue.claims,
                queue.exact,
                queue.models,
                queue.unprovable,
                queue.lost,
                queue.twice,
                queue.double_leases
            )?;
            if queue.before > 0 {
                writeln!(
                    text,
                    "{name}: {} claims were proved before, and the log up to there is the same",
                    queue.before
                )?;
            }
            if queue.untried > 0 {
                writeln!(text, "{name}: {} claims were not tried, because of --since", queue.untried)?;
            }
            if queue.unsealed_payloads > 0 {
                writeln!(
                    text,
                    "{name}: {} payloads and notes are of entries of an earlier program, without a hash of them: whether they are as they were written is not proved",
                    queue.unsealed_payloads
                )?;
            }
            if queue.unsealed > 0 {
                writeln!(
                    text,
                    "{name}: {} entries have no seal, written by an earlier program or with a reason that was erased: what nothing was learnt from in them is not proved; from entry {} on every one must have it",
                    queue.unsealed, queue.sealed_from
                )?;
            }
            if queue.earlier > 0 {
                writeln!(
                    text,
                    "{name}: {} claims were made under an earlier version's rules and cannot be proved by this one, but for who could be given what, dates, audits and probabilities; from entry {} on every one must be proved",
                    queue.earlier, queue.rules_from
                )?;
            }
            if queue.unprovable > 0 {
                writeln!(
                    text,
                    "{name}: of the {} not provable, {} were ranked by a model that had learnt from an item erased since, and {} could have been given one",
                    queue.unprovable,
                    queue.model_gone,
                    queue.unprovable - queue.model_gone
                )?;
            }
        }
        output::text_to_stdout(&text)?;
    }
    if !proof.sound {
        let problems = proof.problems.iter().chain(queues.iter().flat_map(|queue| &queue.problems));
        let problems: Vec<&str> = problems.map(String::as_str).take(5).collect();
        bail!("the records do not hold: {}", problems.join("; "));
    }
    let unprovable: u64 = queues.iter().map(|queue| queue.unprovable).sum();
    if strict && unprovable > 0 {
        bail!("{unprovable} claims cannot be proved any more, because items were erased since");
    }
    let earlier: u64 = queues.iter().map(|queue| queue.earlier).sum();
    let untried: u64 = queues.iter().map(|queue| queue.untried).sum();
    if strict && untried > 0 {
        bail!("{untried} claims were not tried, because of --since");
    }
    if strict && earlier > 0 {
        bail!(
            "{earlier} claims cannot be proved by this program, because an earlier one made them by its own rules"
        );
    }
    Ok(())
}

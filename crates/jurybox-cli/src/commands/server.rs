//! `jurybox server`: verification, backups and maintenance of the database of queues.

use super::columns::OUTPUT;
use super::location;
use crate::messages::{next, say, shell};
use crate::output;
use anyhow::{Context, bail};
use clap::Subcommand;
use jurybox_files::{date_of, days_from};
use jurybox_server::{
    Keyring, StoreLocation, VerifyFrom, VerifyReport, archive, backup, log_times, prove, rebuild, restore,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  # Check the records of a queue
  jurybox server verify review
  # Copy a queue while it is in use
  jurybox server backup review review-copy.sqlite";

const VERIFY_EXAMPLES: &str = "\
Examples:
  # Check everything, and keep the proof
  jurybox server verify review --json > proof.json
  # Later: check only what the proof does not cover
  jurybox server verify review --since proof.json";

const REBUILD_EXAMPLES: &str = "\
Examples:
  # Compare checkpoints and tables with the log
  jurybox server rebuild review
  # For a program
  jurybox server rebuild review --json";

const BACKUP_EXAMPLES: &str = "\
Examples:
  # Copy a queue
  jurybox server backup review review-copy.sqlite
  # Copy the queues of a server
  jurybox server backup --data jurybox-data server-copy.sqlite";

const CLOCK_EXAMPLES: &str = "\
Examples:
  # Is a log ahead of the clock?
  jurybox server clock review
  # After the machine's clock was set right
  jurybox server clock review --repair";

const ARCHIVE_EXAMPLES: &str = "\
Examples:
  # Queues that ended before November
  jurybox server archive review --to archive --before 2026-11-01
  # Those of a server
  jurybox server archive --data jurybox-data --to archive --before 2026-11-01";

const RESTORE_EXAMPLES: &str = "\
Examples:
  # Try a copy in another folder
  jurybox server restore review-copy.sqlite restored
  # Replace the lost original, webhooks included
  jurybox server restore review-copy.sqlite replaced --webhooks";

/// Verify, back up and maintain the database of queues
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ServerCommand,
}

#[derive(Subcommand)]
enum ServerCommand {
    /// Verify from the records alone that every claim was right and nothing was lost
    ///
    /// Checks that each claim had the best items of its time, that nothing was claimed or counted
    /// twice, and that no entry is missing or changed. The verifier shares no code with the queue;
    /// it may run while the queue is in use.
    #[command(after_long_help = VERIFY_EXAMPLES)]
    Verify {
        #[command(flatten)]
        records: RecordsArgs,
        /// Fail also if a claim cannot be verified: an item was erased, or an earlier version made
        /// the claim by other rules
        #[arg(long)]
        strict: bool,
        /// Verify only claims after this entry of the activity log, or claims that an earlier
        /// `verify --json` did not verify
        ///
        /// All else is checked from the first entry on. With a file, the log up to its end must be
        /// the same.
        #[arg(long, value_name = "ENTRY|FILE", value_parser = since)]
        since: Option<VerifyFrom>,
        /// Print one JSON document
        #[arg(long, help_heading = OUTPUT)]
        json: bool,
    },
    /// Replay the activity log, and compare checkpoints and tables with it
    ///
    /// Checkpoints that differ are replaced. Whether the log itself was changed, `verify` checks.
    #[command(after_long_help = REBUILD_EXAMPLES)]
    Rebuild {
        #[command(flatten)]
        records: RecordsArgs,
        /// The queue, if there are several
        #[arg(long, value_name = "NAME")]
        queue: Option<String>,
        /// Last entry of the log to replay [default: the last]
        #[arg(long, value_name = "ENTRY")]
        to: Option<u64>,
        /// Seconds to wait for another process that has the folder, or for the database
        #[arg(long, value_name = "SECONDS", default_value_t = 30)]
        wait: u64,
        /// Print one JSON document
        #[arg(long, help_heading = OUTPUT)]
        json: bool,
    },
    /// Copy the queues of a folder into one file, while they are in use
    ///
    /// For PostgreSQL use pg_dump and pg_restore; the schema is `jurybox`.
    #[command(allow_missing_positional = true, after_long_help = BACKUP_EXAMPLES)]
    Backup {
        /// Folder of the queues
        #[arg(value_name = "DIR", value_parser = location::parser(), required_unless_present = "data")]
        place: Option<StoreLocation>,
        /// The file to create
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Folder of a server, if no DIR is given
        #[arg(long, value_name = "PLACE", env = "JURYBOX_DATA", hide_env_values = true, value_parser = location::parser())]
        data: Option<StoreLocation>,
    },
    /// Compare the logs' time with the clock, and repair logs that are ahead
    ///
    /// A clock that was wrong for a while leaves a log ahead. Work goes on; the log's time then
    /// runs at half speed until the clock has caught up.
    #[command(after_long_help = CLOCK_EXAMPLES)]
    Clock {
        #[command(flatten)]
        records: RecordsArgs,
        /// Set back logs that are more than a minute ahead. Set the machine's clock right first.
        /// Leases end, and verdicts can no longer be undone
        #[arg(long)]
        repair: bool,
        /// Seconds to wait for another process that has the folder, or for the database
        #[arg(long, value_name = "SECONDS", default_value_t = 30)]
        wait: u64,
    },
    /// Move finished queues into an archive folder
    ///
    /// A queue is finished when it has no open item. Its copy is verified before anything is
    /// deleted. Other queues stay in use meanwhile. `server verify` and `queue export` read the
    /// archive.
    #[command(after_long_help = ARCHIVE_EXAMPLES)]
    Archive {
        #[command(flatten)]
        records: RecordsArgs,
        /// Folder of the archive, created if missing; it may hold other queues
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
        /// Only queues without an entry on or after this day (UTC), such as 2026-11-01
        #[arg(long, value_name = "DAY", value_parser = day)]
        before: i64,
        /// Only this queue
        #[arg(long, value_name = "NAME")]
        queue: Option<String>,
        /// Seconds to wait for another process that has the archive, or for the database
        #[arg(long, value_name = "SECONDS", default_value_t = 30)]
        wait: u64,
    },
    Key(super::key::Args),
    /// Create a folder of queues from a copy that `backup` wrote
    #[command(after_long_help = RESTORE_EXAMPLES)]
    Restore {
        /// The copy
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The folder to create; it must have no queue
        #[arg(value_name = "DIR", value_parser = location::parser())]
        place: StoreLocation,
        /// Keep the webhooks active, because the original is gone; otherwise they rest until each
        /// is set again
        #[arg(long)]
        webhooks: bool,
    },
}

/// The location of the records of queues.
#[derive(clap::Args)]
struct RecordsArgs {
    /// Folder of the queues; or a PostgreSQL database, as env:VARIABLE or file:PATH with its URL,
    /// or postgres://user@host/database
    #[arg(value_name = "DIR", value_parser = location::parser(), required_unless_present_any = ["data", "database"])]
    place: Option<StoreLocation>,
    /// Folder or database of a server, if no DIR is given
    #[arg(long, value_name = "PLACE", env = "JURYBOX_DATA", hide_env_values = true, value_parser = location::parser())]
    data: Option<StoreLocation>,
    /// Database, if neither is given
    #[arg(long, value_name = "URL", env = "DATABASE_URL", hide_env_values = true, value_parser = location::parser())]
    database: Option<StoreLocation>,
}

impl RecordsArgs {
    fn place(&self) -> anyhow::Result<&StoreLocation> {
        self.place
            .as_ref()
            .or(self.data.as_ref())
            .or(self.database.as_ref())
            .context("pass the folder of the queues, or --database")
    }
}

/// The beginning of a UTC day such as 2026-11-01, in microseconds since 1970.
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

/// The folder of a location. A database is an error: PostgreSQL has its own tools for copies.
fn folder(place: &StoreLocation) -> anyhow::Result<&Path> {
    match place {
        StoreLocation::Folder(folder) => Ok(folder),
        StoreLocation::Database(_) => bail!(
            "{place}: a PostgreSQL database is copied by its own tools: pg_dump --format=custom --schema=jurybox, and pg_restore to put it back"
        ),
    }
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match &self.command {
            ServerCommand::Verify { records, strict, since, json } => {
                let since = since.as_ref().unwrap_or(&VerifyFrom::Beginning);
                verify(records.place()?, since, *strict, *json)
            }
            ServerCommand::Rebuild { records, queue, to, wait, json } => {
                let rebuilt = rebuild(records.place()?, queue.as_deref(), *to, Duration::from_secs(*wait))?;
                if *json {
                    output::versioned("server-rebuild", &rebuilt)?;
                } else {
                    output::text_to_stdout(&format!(
                        "{}: {} entries replayed, {} checkpoints agree, {} differed and were replaced\n",
                        rebuilt.queue,
                        rebuilt.head,
                        rebuilt.checkpoints,
                        rebuilt.mismatches.len()
                    ))?;
                }
                if rebuilt.tables_agree == Some(false) {
                    bail!(
                        "the tables differ from the log: restore a backup, and keep these records to find the cause"
                    );
                }
                next(format_args!("server verify {}", location::argument(records.place()?)));
                Ok(())
            }
            ServerCommand::Backup { place, file, data } => {
                let place = place.as_ref().or(data.as_ref()).context("pass the folder of the queues")?;
                backup(folder(place)?, file)?;
                say(format_args!("Wrote {}, a copy of {place}.", file.display()));
                next(format_args!("server restore {} DIR", shell(file.display())));
                Ok(())
            }
            ServerCommand::Archive { records, to, before, queue, wait } => {
                let wait = Duration::from_secs(*wait);
                let moved = archive(records.place()?, to, *before, queue.as_deref(), wait)?;
                for queue in &moved {
                    let name = jurybox_files::plain(&queue.queue, false);
                    say(format_args!("{name}: moved {} entries to {}.", queue.entries, to.display()));
                }
                if moved.is_empty() {
                    say(format_args!(
                        "No queue was moved: each has open items, or an entry on or after that day."
                    ));
                    next(format_args!("queue status {}", location::argument(records.place()?)));
                } else {
                    next(format_args!("server verify {}", shell(to.display())));
                }
                Ok(())
            }
            ServerCommand::Clock { records, repair, wait } => {
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
                                "{name}: was {ahead} seconds ahead of the clock, and was set back"
                            )?;
                        }
                        (false, true) => writeln!(text, "{name}: {ahead} seconds ahead of the clock")?,
                        (false, false) => writeln!(text, "{name}: not ahead of the clock")?,
                    }
                }
                output::text_to_stdout(&text)?;
                let place = location::argument(records.place()?);
                if times.iter().any(|time| time.ahead_seconds > 60 && !time.set_back) {
                    say(format_args!("Set the machine's clock right first."));
                    next(format_args!("server clock {place} --repair"));
                } else {
                    next(format_args!("server verify {place}"));
                }
                Ok(())
            }
            ServerCommand::Key(args) => args.run(),
            ServerCommand::Restore { file, place, webhooks } => {
                let resting = restore(file, folder(place)?, *webhooks)?;
                say(format_args!("Restored {} into {place}.", file.display()));
                if resting > 0 {
                    say(format_args!(
                        "{resting} webhooks rest, because the original may still send: PUT a webhook again to activate it, or restore with --webhooks if the original is gone."
                    ));
                }
                let keys: Vec<String> =
                    Keyring::open(place)?.list()?.into_iter().map(|key| key.name).collect();
                if !keys.is_empty() {
                    say(format_args!(
                        "Its keys are those of the copy, also keys revoked since then: {}. `jurybox server key revoke` revokes one.",
                        keys.join(", ")
                    ));
                }
                next(format_args!("server verify {}", location::argument(place)));
                Ok(())
            }
        }
    }
}

/// Parses `--since`: the number of an entry, or the path of an earlier `verify --json` document.
fn since(text: &str) -> Result<VerifyFrom, String> {
    if let Ok(entry) = text.parse() {
        return Ok(VerifyFrom::Entry(entry));
    }
    let in_file = |problem: String| format!("{text}: {problem}");
    let document = std::fs::read(text).map_err(|error| in_file(error.to_string()))?;
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap_or_default();
    if document["format"] != "jurybox-server-verify" {
        return Err(in_file(
            "neither the number of an entry nor a document of `server verify --json`".into(),
        ));
    }
    let proof: VerifyReport = serde_json::from_value(document).map_err(|error| in_file(error.to_string()))?;
    Ok(VerifyFrom::Report(Box::new(proof)))
}

/// Verifies the records and prints the result. Records that do not hold are an error. With
/// `strict`, so are claims that were not verified.
fn verify(place: &StoreLocation, since: &VerifyFrom, strict: bool, as_json: bool) -> anyhow::Result<()> {
    let proof = prove(place, since)?;
    let queues = &proof.queues;
    if proof.read_only {
        say(format_args!("{place}: read-only; it is read as it is"));
    }
    if as_json {
        output::versioned("server-verify", &proof)?;
    } else {
        output::text_to_stdout(&verification_text(&proof)?)?;
    }
    if !proof.ok {
        let problems = proof.problems.iter().chain(queues.iter().flat_map(|queue| &queue.problems));
        let problems: Vec<&str> = problems.map(String::as_str).take(5).collect();
        bail!("the records do not hold: {}", problems.join("; "));
    }
    let unprovable: u64 = queues.iter().map(|queue| queue.unprovable).sum();
    if strict && unprovable > 0 {
        bail!("{unprovable} claims cannot be verified any more, because items were erased");
    }
    let older_rules: u64 = queues.iter().map(|queue| queue.older_rules).sum();
    let not_checked: u64 = queues.iter().map(|queue| queue.not_checked).sum();
    if strict && not_checked > 0 {
        bail!("{not_checked} claims were not checked, because of --since");
    }
    if strict && older_rules > 0 {
        bail!("{older_rules} claims were made by the rules of an earlier version and cannot be verified");
    }
    match place {
        StoreLocation::Folder(folder) => {
            next(format_args!("server backup {} FILE", shell(folder.display())));
        }
        StoreLocation::Database(_) => next(format_args!("queue report {}", location::argument(place))),
    }
    Ok(())
}

/// The result of a verification for people. A queue has a line for its counts, and a line for each
/// thing that was not verified now.
fn verification_text(proof: &VerifyReport) -> Result<String, std::fmt::Error> {
    use std::fmt::Write;
    let mut text = String::new();
    if let Some(why) = proof.integrity.strip_prefix("none: ") {
        text = format!("the integrity check of the database was not run: {why}\n");
    }
    if proof.queues.is_empty() {
        text += "there is no queue\n";
    }
    for queue in &proof.queues {
        // A forged record may give the queue any name.
        let name = jurybox_files::plain(&queue.queue, false);
        writeln!(
            text,
            "{name}: {} log entries; {} claims, {} verified under {} models, {} not verifiable after an erasure; verdicts lost: {}, counted twice: {}; items leased twice: {}",
            queue.entries,
            queue.claims,
            queue.exact,
            queue.models,
            queue.unprovable,
            queue.lost,
            queue.double_verdicts,
            queue.double_leases
        )?;
        if queue.before > 0 {
            writeln!(
                text,
                "{name}: {} claims were verified before, and the log up to there is unchanged",
                queue.before
            )?;
        }
        if queue.not_checked > 0 {
            writeln!(text, "{name}: {} claims were not checked, because of --since", queue.not_checked)?;
        }
        if queue.unsealed_payloads > 0 {
            writeln!(
                text,
                "{name}: {} payloads and notes have no hash, because an earlier version wrote them: changes to them would not show",
                queue.unsealed_payloads
            )?;
        }
        if queue.unsealed > 0 {
            writeln!(
                text,
                "{name}: {} entries have no seal (written by an earlier version, or a reason was erased): parts of them that nothing was learnt from are not verified; from entry {} on every entry must have a seal",
                queue.unsealed, queue.sealed_from
            )?;
        }
        if queue.older_rules > 0 {
            writeln!(
                text,
                "{name}: {} claims were made by the rules of an earlier version: only eligibility, due dates, random checks and probabilities are verified; from entry {} on every claim must be verified",
                queue.older_rules, queue.rules_from
            )?;
        }
        if queue.unprovable > 0 {
            writeln!(
                text,
                "{name}: of the {} not verifiable, {} were ranked by a model that had learnt from an erased item, and {} could have had one",
                queue.unprovable,
                queue.model_gone,
                queue.unprovable - queue.model_gone
            )?;
        }
    }
    Ok(text)
}

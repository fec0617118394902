//! `jurybox queue status`: counts and settings of a queue.

use super::super::columns::OUTPUT;
use super::QueueAddress;
use crate::messages::next;
use crate::output;
use jurybox_server::{Config, EmbeddedStatus, QueueMode};
use serde_json::{Value, json};
use std::fmt::Write;

const EXAMPLES: &str = "\
Examples:
  # How many items wait
  jurybox queue status review
  # For a program
  jurybox queue status review --json";

/// Show how many items wait, are claimed and are done, and what has been learnt
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    address: QueueAddress,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let status = self.address.open()?.status()?;
        if self.json {
            output::versioned("queue-status", status_document(&status)?)?;
        } else {
            let (counts, config) = (status.counts, &status.config);
            let mut text = String::new();
            writeln!(text, "queue     {}", status.queue)?;
            writeln!(text, "policy    {}", config.policy)?;
            writeln!(text, "items     {}", counts.items)?;
            writeln!(text, "pending   {}", counts.pending)?;
            writeln!(text, "claimed   {}", counts.leased)?;
            writeln!(text, "closed    {}", counts.closed)?;
            writeln!(text, "verdicts  {}", counts.verdicts)?;
            writeln!(
                text,
                "learnt    {} verdicts; {} can still be undone",
                status.seen.used, status.waiting
            )?;
            match config.mode {
                QueueMode::Paused => writeln!(text, "mode      paused: no claims")?,
                QueueMode::Draining => writeln!(text, "mode      draining: no new items")?,
                QueueMode::Open => {}
            }
            if !config.muted.is_empty() {
                writeln!(text, "muted     {}", config.muted.join(", "))?;
            }
            if !config.weights.is_empty() {
                writeln!(text, "weights   fixed: {}", fixed_weights(config))?;
            }
            output::text_to_stdout(&text)?;
        }
        let address = self.address.argument();
        if status.counts.pending > 0 {
            next(format_args!("queue claim {address} --reviewer NAME"));
        } else {
            next(format_args!("queue report {address}"));
        }
        Ok(())
    }
}

/// The status as JSON. Three settings have other names there than in the database.
pub(super) fn status_document(status: &EmbeddedStatus) -> serde_json::Result<Value> {
    const SETTINGS: [(&str, &str); 3] =
        [("audit_rate", "random_check_rate"), ("audit_share", "random_check_share"), ("doors", "mode")];
    let mut document = json!(status);
    document["config"] = output::renamed(&status.config, &SETTINGS)?;
    Ok(document)
}

/// The fixed weights of a queue: `spam=0.7, abuse=0.3`.
pub(super) fn fixed_weights(config: &Config) -> String {
    let each: Vec<String> = config.weights.iter().map(|(name, weight)| format!("{name}={weight}")).collect();
    each.join(", ")
}

//! `jurybox server`: keeping the database of a desk or a server.

use crate::messages::say;
use crate::output;
use anyhow::bail;
use clap::Subcommand;
use jurybox_server::{backup, rebuild, restore, verify};
use serde_json::json;
use std::path::PathBuf;
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
        /// The folder of the desk
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Fold the whole log again, and compare every checkpoint and all tables with it
    Rebuild {
        /// The folder of the desk
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Which of its queues, where it has several
        #[arg(long, value_name = "NAME")]
        queue: Option<String>,
        /// Up to which entry of the log [default: the last]
        #[arg(long, value_name = "ENTRY")]
        to: Option<u64>,
        /// How many seconds to wait while another command or a server has the folder
        #[arg(long, value_name = "SECONDS", default_value_t = 30)]
        wait: u64,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Write a copy of a desk into one file, while it is in use
    Backup {
        /// The folder of the desk
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// The file to write; there must be none
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Make, show and take away the keys with which a server is asked
    Key(super::key::Args),
    /// Make a desk of a copy
    Restore {
        /// The copy
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The folder to make; it must have no desk
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match &self.command {
            Command::Verify { folder, json } => proved(folder, *json),
            Command::Rebuild { folder, queue, to, wait, json } => {
                let rebuilt = rebuild(folder, queue.as_deref(), *to, Duration::from_secs(*wait))?;
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
                        "the tables do not say what the log says: restore a backup, and keep this folder for whoever looks into it"
                    );
                }
                Ok(())
            }
            Command::Backup { folder, file } => {
                backup(folder, file)?;
                say(format_args!("{}: a copy of {}", file.display(), folder.display()));
                Ok(())
            }
            Command::Key(args) => args.run(),
            Command::Restore { file, folder } => {
                restore(file, folder)?;
                say(format_args!("{}: the desk that was copied to {}", folder.display(), file.display()));
                Ok(())
            }
        }
    }
}

fn proved(folder: &std::path::Path, as_json: bool) -> anyhow::Result<()> {
    let queues = verify(folder)?;
    let sound = queues.iter().all(jurybox_server::Checked::is_sound);
    if as_json {
        output::versioned("server-verify", json!({ "sound": sound, "queues": queues }))?;
    } else {
        let mut text = String::new();
        for queue in &queues {
            use std::fmt::Write;
            writeln!(
                text,
                "{}: {} entries, {} claims, {} of them exact under {} models, {} not provable since an erasure; lost {}, twice {}, double leases {}",
                queue.queue,
                queue.entries,
                queue.claims,
                queue.exact,
                queue.models,
                queue.unprovable,
                queue.lost,
                queue.twice,
                queue.double_leases
            )?;
        }
        output::text_to_stdout(&text)?;
    }
    if !sound {
        let problems: Vec<&str> =
            queues.iter().flat_map(|queue| &queue.problems).map(String::as_str).take(5).collect();
        bail!("the records do not hold: {}", problems.join("; "));
    }
    Ok(())
}

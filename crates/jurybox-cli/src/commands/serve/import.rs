//! `jurybox serve --import`: files whose items go into a queue while the server runs.

use super::super::columns::ColumnArgs;
use super::super::item_files::{ItemColumns, ItemFiles};
use super::super::queue_settings::QueueSettings;
use super::BackgroundWork;
use crate::messages::say;
use anyhow::{bail, ensure};
use jurybox_server::{Call, Config, ConfigChange, Queue, Request, Service, VerdictScale, check_new_queue};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The heading of the options `--import` and `--queue`.
pub(crate) const IMPORT: &str = "Import";

/// The files to import, and the queue that they go into.
#[derive(clap::Args)]
pub(super) struct ImportOptions {
    #[command(flatten)]
    columns: ColumnArgs,
    /// Queue for --import, created if missing [default: named after the first file]
    #[arg(long, value_name = "NAME", requires = "files", help_heading = IMPORT)]
    queue: Option<String>,
    #[command(flatten)]
    item_columns: ItemColumns,
    #[command(flatten)]
    settings: QueueSettings,
}

/// An import whose files are open.
pub(super) struct QueueImport {
    service: Arc<Service>,
    name: String,
    /// The queue; None until it is created with its first items.
    queue: Option<Queue>,
    /// The settings that the queue has, or will be created with.
    config: Config,
    files: ItemFiles,
    /// Whether the queue is new and its evaluators were chosen from the columns, not named.
    guessed: bool,
}

impl ImportOptions {
    /// Opens the files and the queue, so that errors show before the server starts. None if no file
    /// is given.
    pub(super) fn open(&self, service: &Arc<Service>) -> anyhow::Result<Option<QueueImport>> {
        let Some(first) = self.columns.files.first() else {
            ensure!(
                self.settings.is_empty() && self.columns.id().is_empty(),
                "--id and queue settings need --import FILE; `jurybox queue set` changes a queue"
            );
            return Ok(None);
        };
        let name = match &self.queue {
            Some(name) => name.clone(),
            None => name_of(first)?,
        };
        let queue = service.names()?.contains(&name).then(|| service.queue(&name)).transpose()?;
        let known = queue.as_ref().map(|queue| queue.status().map(|now| now.config)).transpose()?;
        let evaluators = known.as_ref().map(|config| config.evaluators.as_slice()).unwrap_or_default();
        let before = known.as_ref().and_then(|config| config.columns.as_ref());
        let files = ItemFiles::open(&self.columns, &self.item_columns, evaluators, before, true)?;
        let guessed = known.is_none() && !self.columns.names_evaluators();
        let config = match known {
            Some(config) => {
                let changed = self.settings.change(config.reward.as_ref()).onto(config.clone());
                ensure!(
                    changed == config,
                    "the queue `{name}` exists with other settings: leave the settings out, change them with `jurybox queue set`, or name another queue with --queue"
                );
                config
            }
            None => self.config(&files),
        };
        check_new_queue(&name, &config)?;
        Ok(Some(QueueImport { service: service.clone(), name, queue, config, files, guessed }))
    }

    /// The settings of a new queue. Without a reward scale, the verdicts are yes (1) and no (0).
    fn config(&self, files: &ItemFiles) -> Config {
        let yes_or_no = VerdictScale {
            lowest: 0.0,
            highest: 1.0,
            labels: [("no".to_string(), 0.0), ("yes".to_string(), 1.0)].into(),
        };
        let plain = Config::new(files.table.roles().evaluators().clone());
        let mut config = self.settings.change(None).onto(plain);
        config.reward.get_or_insert(yes_or_no);
        config.columns = Some(files.uses().clone());
        config
    }
}

impl QueueImport {
    /// The import as work that runs while the server answers.
    pub(super) fn in_background(self) -> BackgroundWork {
        let ending = Arc::<AtomicBool>::default();
        let flag = ending.clone();
        BackgroundWork { ending, work: Box::new(move |url| self.run(url, &flag)) }
    }

    /// Adds the items, and prints the address of the page where people review them. A new queue is
    /// created with its first items, so that unreadable files leave no queue behind.
    fn run(self, url: &str, ending: &AtomicBool) -> anyhow::Result<()> {
        let QueueImport { service, name, mut queue, config, files, guessed } = self;
        let desk = format!("{url}/q/{name}/desk");
        say(format_args!("Importing {} into the queue `{name}`.", files.table.path().display()));
        if guessed {
            let names: Vec<&str> = files.table.roles().evaluators().names().collect();
            say(format_args!(
                "note: all numeric columns without another use are scores: {}. If one is the answer or not a score, import again with --queue NAME and --golden COLUMN or --ignore COLUMN.",
                names.join(", ")
            ));
        }
        if !files.shown().is_empty() {
            say(format_args!("Reviewers see: {}.", files.shown().join(", ")));
        }
        if !files.answers().is_empty() {
            say(format_args!(
                "note: not used, because the name says answer: {}. Pass --golden COLUMN to measure reviewers by it, --show COLUMN to show it.",
                files.answers().join(", ")
            ));
        }
        if config.random_check_rate == 0.0 {
            say(format_args!(
                "note: without random checks nobody can tell what is missed. Pass --random-check-rate 0.02 with a new queue; `jurybox queue set` sets it for items to come."
            ));
        }
        let summary = files.add_to(|request| {
            if ending.load(Ordering::Relaxed) {
                bail!("the server ended during the import; run the command again for the remaining items")
            }
            let queue = match &mut queue {
                Some(queue) => queue,
                None => queue.insert(service.create(&name, &config)?),
            };
            Ok(queue.ask(Call::new("import", request))?)
        })?;
        if let Some(queue) = queue.filter(|_| config.columns.as_ref() != Some(files.uses())) {
            let columns = Some(files.uses().clone());
            queue.ask(Call::new(
                "import",
                Request::Configure(ConfigChange { columns, ..ConfigChange::default() }),
            ))?;
        }
        say(format_args!("{name}: {}.", summary.line()));
        summary.warn();
        let added = summary.accepted + summary.updated;
        if added + summary.refused == 0 {
            say(format_args!("The queue had all of these items: nothing has changed."));
        }
        ensure!(
            summary.refused == 0 || added + summary.unchanged + summary.closed > 0,
            "no item was added; the warnings say why"
        );
        say(format_args!("Next: review at {desk}"));
        Ok(())
    }
}

/// The name of a queue for a file: the file's name up to the first dot, at most 64 characters.
/// Other characters than ASCII letters, digits, `-` and `_` become `-`.
fn name_of(file: &str) -> anyhow::Result<String> {
    ensure!(file != "-", "standard input has no name: name the queue with --queue");
    let stem =
        Path::new(file).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = stem.split('.').next().unwrap_or_default();
    let fits = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_');
    let name: String = stem.chars().map(|sign| if fits(sign) { sign } else { '-' }).take(64).collect();
    ensure!(!name.trim_matches('-').is_empty(), "{file}: no queue can be named after it; pass --queue");
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn a_queue_is_named_after_its_file() {
        for (file, name) in [
            ("scores.csv", "scores"),
            ("/data/day 1.csv.gz", "day-1"),
            ("day-*.parquet", "day--"),
            ("Grüße.csv", "Gr--e"),
        ] {
            assert_eq!(name_of(file).unwrap(), name);
        }
        for file in ["-", "*.csv", "/"] {
            assert!(name_of(file).is_err(), "{file}");
        }
    }
}

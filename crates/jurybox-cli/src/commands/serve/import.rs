//! `jurybox serve --import`: a file to begin with.

use super::super::columns::Columns;
use super::super::intake::{Cells, Intake};
use super::super::set_up::SetUp;
use super::Beside;
use crate::messages::say;
use anyhow::{bail, ensure};
use jurybox_server::{Call, Change, Config, Queue, Request, Rewards, Service, check_new_queue};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which files are put into which queue, and how.
#[derive(clap::Args)]
#[command(next_help_heading = "A file to begin with")]
pub(super) struct Files {
    #[command(flatten)]
    columns: Columns,
    /// The queue that --import puts items into, made where it is not there [default: the name of the first file]
    #[arg(long, value_name = "NAME", requires = "files")]
    queue: Option<String>,
    #[command(flatten)]
    cells: Cells,
    #[command(flatten)]
    set_up: SetUp,
}

/// A file that is being put into a queue.
pub(super) struct Import {
    service: Arc<Service>,
    name: String,
    /// None where it is still to be made.
    queue: Option<Queue>,
    /// How it is set up, or is to be.
    config: Config,
    intake: Intake,
    /// Whether who scores was taken from the columns alone.
    guessed: bool,
}

impl Files {
    /// Opens the files, and the queue where there is one: what is wrong with either is said before anybody waits. None where there are
    /// no files.
    pub(super) fn open(&self, service: &Arc<Service>) -> anyhow::Result<Option<Import>> {
        let Some(first) = self.columns.files.first() else {
            ensure!(
                self.set_up.is_nothing() && self.columns.id().is_empty(),
                "these set up the queue of a file: pass --import FILE; a queue that is there is changed by `jurybox desk set`"
            );
            return Ok(None);
        };
        let name = match &self.queue {
            Some(name) => name.clone(),
            None => name_of(first)?,
        };
        let there = service.names()?.contains(&name).then(|| service.queue(&name)).transpose()?;
        let known = there.as_ref().map(|queue| queue.standing().map(|now| now.config)).transpose()?;
        let seated = known.as_ref().map(|config| config.evaluators.as_slice()).unwrap_or_default();
        let before = known.as_ref().and_then(|config| config.columns.as_ref());
        let intake = Intake::open(&self.columns, &self.cells, seated, before, true)?;
        let guessed = known.is_none() && !self.columns.names_evaluators();
        let config = match known {
            Some(config) => {
                let asked = self.set_up.change(config.reward.as_ref()).onto(config.clone());
                ensure!(
                    asked == config,
                    "there is a queue `{name}` already, and it is set up differently: leave its settings out, change them with `jurybox desk set`, or name another with --queue"
                );
                config
            }
            None => self.config(&intake),
        };
        check_new_queue(&name, &config)?;
        Ok(Some(Import { service: service.clone(), name, queue: there, config, intake, guessed }))
    }

    /// How a new queue is set up: where nobody has said what verdicts are worth, they are yes and no.
    fn config(&self, intake: &Intake) -> Config {
        let yes_or_no = Rewards {
            lowest: 0.0,
            highest: 1.0,
            labels: [("no".to_string(), 0.0), ("yes".to_string(), 1.0)].into(),
        };
        let plain = Config::new(intake.table.taken().evaluators().clone());
        let mut config = self.set_up.change(None).onto(plain);
        config.reward.get_or_insert(yes_or_no);
        config.columns = Some(intake.uses().clone());
        config
    }
}

impl Import {
    /// To be done while the server answers.
    pub(super) fn beside(self) -> Beside {
        let ending = Arc::<AtomicBool>::default();
        let told = ending.clone();
        Beside { ending, work: Box::new(move |url| self.run(url, &told)) }
    }

    /// Puts the items in, and says where they are to be reviewed. A queue is made with its first items: files that cannot be read leave
    /// none behind.
    fn run(self, url: &str, ending: &AtomicBool) -> anyhow::Result<()> {
        let Import { service, name, mut queue, config, intake, guessed } = self;
        let desk = format!("{url}/q/{name}/desk");
        say(format_args!(
            "{} goes into the queue `{name}`; review it at {desk}",
            intake.table.path().display()
        ));
        if guessed {
            let names: Vec<&str> = intake.table.taken().evaluators().names().collect();
            say(format_args!(
                "note: every column of numbers without another meaning scores here: {}; if one of them is the answer itself, or no score at all, import into another queue: --queue NAME --ignore COLUMN, or --golden COLUMN",
                names.join(", ")
            ));
        }
        if !intake.shown().is_empty() {
            say(format_args!("reviewers are shown: {}", intake.shown().join(", ")));
        }
        if !intake.answers().is_empty() {
            say(format_args!(
                "note: neither a score nor shown, for it looks like the answer: {}; pass --golden COLUMN to hold reviewers against it, --show COLUMN to show it",
                intake.answers().join(", ")
            ));
        }
        if config.audit_rate == 0.0 {
            say(format_args!(
                "note: no item is drawn whatever its scores (audit_rate is 0), so it will not be known what is missed: pass --audit-rate 0.02 with a new queue; in one that is there, `jurybox desk set` is for items that come in later"
            ));
        }
        let taken = intake.take(|request| {
            if ending.load(Ordering::Relaxed) {
                bail!("the server ends; what was put in so far is in: run it again for the rest")
            }
            let queue = match &mut queue {
                Some(queue) => queue,
                None => queue.insert(service.create(&name, &config)?),
            };
            Ok(queue.ask(Call::new("import", request))?)
        })?;
        if let Some(queue) = queue.filter(|_| config.columns.as_ref() != Some(intake.uses())) {
            let columns = Some(intake.uses().clone());
            queue.ask(Call::new("import", Request::Configure(Change { columns, ..Change::default() })))?;
        }
        say(format_args!("{name}: {}", taken.told()));
        taken.warn();
        if taken.accepted + taken.updated + taken.refused == 0 {
            say(format_args!("all of it was there already: nothing has changed"));
        }
        ensure!(
            taken.refused == 0 || taken.accepted + taken.updated + taken.unchanged + taken.closed > 0,
            "none of these items was taken"
        );
        say(format_args!("review them at {desk}"));
        Ok(())
    }
}

/// A queue's name out of a file's: what stands before the first dot, and no sign that a name cannot have.
fn name_of(file: &str) -> anyhow::Result<String> {
    ensure!(file != "-", "standard input has no name: name the queue with --queue");
    let stem =
        Path::new(file).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = stem.split('.').next().unwrap_or_default();
    let fits = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_');
    let name: String = stem.chars().map(|sign| if fits(sign) { sign } else { '-' }).take(64).collect();
    ensure!(
        !name.trim_matches('-').is_empty(),
        "{file}: its name is none for a queue: name one with --queue"
    );
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

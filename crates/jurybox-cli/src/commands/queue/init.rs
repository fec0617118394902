//! `jurybox queue init`: a new queue.

use super::super::names::{self, NameList};
use super::super::queue_settings::QueueSettings;
use super::QueueAddress;
use crate::messages::{next, say};
use jurybox::{Direction, Evaluator, Evaluators};
use jurybox_server::{Config, EmbeddedQueue};

/// The name of a queue that nobody named.
const DEFAULT_NAME: &str = "main";
/// The default name of earlier versions. It stays the default where such a queue exists.
const EARLIER_DEFAULT_NAME: &str = "desk";

const EXAMPLES: &str = "\
Examples:
  # Three evaluators; 2% of the items are checked at random
  jurybox queue init review --evaluators spam,abuse,reports --random-check-rate 0.02
  # Low trust means high risk; two reviewers per item
  jurybox queue init pairs --evaluators spam,trust --invert trust --quorum 2";

/// Create a queue in a folder or a database
///
/// Repeated with the same settings, it changes nothing. `jurybox queue set` changes a queue.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    address: QueueAddress,
    /// The evaluators, separated by commas
    #[arg(long, value_name = "NAMES", required = true)]
    evaluators: Vec<NameList>,
    /// Evaluators whose low scores mean high
    #[arg(long, value_name = "NAMES")]
    invert: Vec<NameList>,
    #[command(flatten)]
    settings: QueueSettings,
}

/// Evaluators of these names. For the names in `invert`, low scores mean high.
pub(super) fn evaluators_of(evaluators: &[NameList], invert: &[NameList]) -> anyhow::Result<Evaluators> {
    let mut all: Vec<Evaluator> = names::all(evaluators).into_iter().map(Evaluator::from).collect();
    for name in &names::all(invert) {
        let Some(evaluator) = all.iter_mut().find(|evaluator| evaluator.name == *name) else {
            anyhow::bail!("--invert {name}: there is no such evaluator");
        };
        evaluator.direction = Direction::Low;
    }
    Ok(Evaluators::new(all)?)
}

impl Args {
    fn queue_name(&self) -> &str {
        let exists = |name| {
            EmbeddedQueue::open(self.address.place.clone(), Some(name), self.address.timeout()).is_ok()
        };
        match &self.address.queue {
            Some(name) => name,
            None if exists(EARLIER_DEFAULT_NAME) => EARLIER_DEFAULT_NAME,
            None => DEFAULT_NAME,
        }
    }

    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let config = Config::new(evaluators_of(&self.evaluators, &self.invert)?);
        let config = self.settings.change(None).onto(config);
        EmbeddedQueue::create(&self.address.place, self.queue_name(), &config, self.address.timeout())?;
        say(format_args!(
            "{}: a queue with the evaluators {}, ranked by `{}`.",
            self.address.place, config.evaluators, config.policy
        ));
        next(format_args!("queue add {} FILE --id COLUMN", self.address.argument()));
        Ok(())
    }
}

//! `jurybox desk init`: a new desk.

use super::super::names::{self, Names};
use super::super::set_up::SetUp;
use super::Place;
use crate::messages::say;
use jurybox::{Direction, Evaluator, Evaluators};
use jurybox_server::{Config, Desk};

/// Make a desk: a folder with a queue in it, or a queue in a database.
///
/// Run again with the same settings, it changes nothing. `desk set` changes one that is there.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// The evaluators, separated by commas
    #[arg(long, value_name = "NAMES", required = true)]
    evaluators: Vec<Names>,
    /// Evaluators where low means high
    #[arg(long, value_name = "NAMES")]
    invert: Vec<Names>,
    #[command(flatten)]
    set_up: SetUp,
}

/// Evaluators by their names, with those turned round where low means high.
pub(super) fn seated(evaluators: &[Names], invert: &[Names]) -> anyhow::Result<Evaluators> {
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
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let config = Config::new(seated(&self.evaluators, &self.invert)?);
        let config = self.set_up.change(None).onto(config);
        let queue = self.place.queue.as_deref().unwrap_or("desk");
        Desk::create(&self.place.place, queue, &config, self.place.patience())?;
        say(format_args!(
            "{}: a desk over {}, ranked by {}",
            self.place.place, config.evaluators, config.policy
        ));
        Ok(())
    }
}

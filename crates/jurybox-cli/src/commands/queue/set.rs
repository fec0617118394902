//! `jurybox queue set`: changes to the settings of a queue.

use super::super::columns::OUTPUT;
use super::super::names::{self, NameList, NameNumbers};
use super::super::queue_settings::QueueSettings;
use super::QueueAddress;
use super::init::evaluators_of;
use super::status::status_document;
use crate::messages::{next, say};
use crate::output;
use anyhow::ensure;
use clap::ValueEnum;
use jurybox_server::{Call, ConfigChange, QueueMode, Request};

const EXAMPLES: &str = "\
Examples:
  # Larger claims, shorter leases
  jurybox queue set review -k 20 --lease 600
  # Rank without an evaluator, while its scores are still learnt about
  jurybox queue set review --mute reports";

/// Change the settings of a queue; settings that are not named stay
///
/// Learnt weights are kept as far as the new settings allow.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    address: QueueAddress,
    #[command(flatten)]
    settings: QueueSettings,
    /// All evaluators from now on, separated by commas
    #[arg(long, value_name = "NAMES")]
    evaluators: Vec<NameList>,
    /// Evaluators in --evaluators whose low scores mean high
    #[arg(long, value_name = "NAMES", requires = "evaluators")]
    invert: Vec<NameList>,
    /// Rank as if the scores of these evaluators were missing; learning goes on
    #[arg(long, value_name = "NAMES")]
    mute: Vec<NameList>,
    /// Use the scores of these muted evaluators again
    #[arg(long, value_name = "NAMES")]
    unmute: Vec<NameList>,
    /// Rank by fixed weights, such as spam=0.7,abuse=0.3; learning goes on
    #[arg(long, value_name = "NAME=WEIGHT")]
    weights: Vec<NameNumbers>,
    /// Rank by the learnt weights again
    #[arg(long, conflicts_with = "weights")]
    learnt_weights: bool,
    /// Whether the queue takes items in and gives items out
    #[arg(long, value_name = "MODE")]
    mode: Option<ModeArg>,
    /// Print one JSON document: the status of the queue afterwards
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

/// Values of `--mode`.
#[derive(Clone, Copy, ValueEnum)]
enum ModeArg {
    /// Take items in, and allow claims
    Open,
    /// Take items in; no claims
    Paused,
    /// Allow claims; no new items
    Draining,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut queue = self.address.open()?;
        let now = queue.status()?.config;
        let (mute, unmute) = (names::all(&self.mute), names::all(&self.unmute));
        if let Some(name) = unmute.iter().find(|name| !now.muted.contains(name)) {
            anyhow::bail!("--unmute {name}: it is not muted");
        }
        let muted = (!mute.is_empty() || !unmute.is_empty()).then(|| {
            let mut muted: Vec<String> =
                now.muted.iter().filter(|name| !unmute.contains(name)).cloned().collect();
            let new: Vec<String> = mute.into_iter().filter(|name| !muted.contains(name)).collect();
            muted.extend(new);
            muted
        });
        let weights = NameNumbers::all(&self.weights);
        let change = ConfigChange {
            evaluators: (!self.evaluators.is_empty())
                .then(|| evaluators_of(&self.evaluators, &self.invert))
                .transpose()?,
            muted,
            weights: (self.learnt_weights || !weights.is_empty()).then(|| weights.into_iter().collect()),
            mode: self.mode.map(|mode| match mode {
                ModeArg::Open => QueueMode::Open,
                ModeArg::Paused => QueueMode::Paused,
                ModeArg::Draining => QueueMode::Draining,
            }),
            ..self.settings.change(now.reward.as_ref())
        };
        ensure!(
            change != ConfigChange::default(),
            "pass at least one setting, such as -k 20; `--help` lists them"
        );
        let same = change.clone().onto(now.clone()) == now;
        if !same {
            queue.ask(&Call::new("desk", Request::Configure(change)))?;
        }
        let status = queue.status()?;
        say(format_args!(
            "{}: {}.",
            status.queue,
            if same { "these are its settings already" } else { "the settings are changed" }
        ));
        for warning in status.config.warnings_after(&now) {
            say(format_args!("warning: {warning}"));
        }
        if self.json {
            output::versioned("queue-status", status_document(&status)?)?;
        }
        next(format_args!("queue status {}", self.address.argument()));
        Ok(())
    }
}

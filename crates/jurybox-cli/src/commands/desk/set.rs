//! `jurybox desk set`: a desk that is there, set up otherwise.

use super::super::names::{self, Names, Pairs};
use super::super::set_up::SetUp;
use super::Place;
use super::init::seated;
use crate::messages::say;
use crate::output;
use anyhow::ensure;
use clap::ValueEnum;
use jurybox_server::{Call, Change, Doors, Request};

/// Change how a desk is set up: what is named changes, the rest stays. What was learnt is kept as far as it still means something.
///
///   jurybox desk set desk -k 20 --lease 600
///
///   jurybox desk set desk --mute 'spam rules'
///
///   jurybox desk set desk --label harmful=1 --label fine=0
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    set_up: SetUp,
    /// The evaluators from now on, all of them, separated by commas
    #[arg(long, value_name = "NAMES")]
    evaluators: Vec<Names>,
    /// Those of --evaluators where low means high
    #[arg(long, value_name = "NAMES", requires = "evaluators")]
    invert: Vec<Names>,
    /// Evaluators whose scores count as missing in the order; they are learnt about all the while
    #[arg(long, value_name = "NAMES")]
    mute: Vec<Names>,
    /// Evaluators that are heard again
    #[arg(long, value_name = "NAMES")]
    unmute: Vec<Names>,
    /// Rank by these weights instead of what was learnt: spam=0.7,abuse=0.3
    #[arg(long, value_name = "NAME=WEIGHT")]
    weights: Vec<Pairs>,
    /// Rank by what was learnt again
    #[arg(long, conflicts_with = "weights")]
    learnt_weights: bool,
    /// Whether items come in and go out
    #[arg(long, value_name = "HOW")]
    doors: Option<Said>,
    /// Print one JSON document: how the desk stands then
    #[arg(long)]
    json: bool,
}

/// Whether items come in and go out.
#[derive(Clone, Copy, ValueEnum)]
enum Said {
    /// Items come in and go out
    Open,
    /// Items come in; nobody gets one
    Paused,
    /// No item comes in; those there are go out
    Draining,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut desk = self.place.open()?;
        let now = desk.status()?.config;
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
        let weights = Pairs::all(&self.weights);
        let change = Change {
            evaluators: (!self.evaluators.is_empty())
                .then(|| seated(&self.evaluators, &self.invert))
                .transpose()?,
            muted,
            weights: (self.learnt_weights || !weights.is_empty()).then(|| weights.into_iter().collect()),
            doors: self.doors.map(|doors| match doors {
                Said::Open => Doors::Open,
                Said::Paused => Doors::Paused,
                Said::Draining => Doors::Draining,
            }),
            ..self.set_up.change(now.reward.as_ref())
        };
        ensure!(change != Change::default(), "say what is to change, such as -k 20; `--help` shows what can");
        let same = change.clone().onto(now.clone()) == now;
        if !same {
            desk.ask(&Call::new("desk", Request::Configure(change)))?;
        }
        let status = desk.status()?;
        say(format_args!(
            "{}: {}",
            status.queue,
            if same { "it is set up so already" } else { "it is set up so from now on" }
        ));
        for warning in status.config.warnings_after(&now) {
            say(format_args!("warning: {warning}"));
        }
        if self.json { output::versioned("desk-status", &status) } else { Ok(()) }
    }
}

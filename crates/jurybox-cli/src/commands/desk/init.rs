//! `jurybox desk init`: a new desk.

use super::super::names::{self, Names};
use super::Place;
use crate::messages::say;
use jurybox::{Direction, Evaluator, Evaluators, Spec};
use jurybox_server::{Config, Desk, Rewards};

/// Make a desk: a folder with a queue in it, or a queue in a database.
///
/// Run again with the same settings, it changes nothing.
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
    /// Which policy ranks; one that draws its picks is refused
    #[arg(long, default_value = "adaptive")]
    policy: Spec,
    /// How many items a pick gets that does not say
    #[arg(short, long, default_value_t = 10)]
    k: u32,
    /// How many seconds a picked item is the reviewer's own
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    lease: u32,
    /// How many distinct reviewers look at an item; where they disagree, more do
    #[arg(long, value_name = "N", default_value_t = 1)]
    quorum: u8,
    /// The share of items that are drawn on arrival to be looked at whatever their scores
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    audit_rate: f64,
    /// How much an item's value grows a day while it waits
    #[arg(long, value_name = "VALUE", default_value_t = 0.0)]
    ageing_per_day: f64,
    /// For how many seconds a verdict can still be taken back; then it is learnt from
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    undo: u32,
    /// After how many days what reviewers are shown is deleted [default: never]
    #[arg(long, value_name = "DAYS")]
    payload_days: Option<u32>,
    /// The lowest and the highest reward, such as 0..1; a verdict beyond them is refused [default: any number]
    #[arg(long, value_name = "LOWEST..HIGHEST", value_parser = ends, allow_hyphen_values = true)]
    reward_scale: Option<(f64, f64)>,
    /// A word that a verdict may say instead of a number, and what it is worth; may be said several times
    #[arg(long = "label", value_name = "WORD=REWARD", value_parser = label, requires = "reward_scale")]
    labels: Vec<(String, f64)>,
}

/// Two numbers with two dots between them.
fn ends(text: &str) -> Result<(f64, f64), String> {
    let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is no number"));
    let (low, high) =
        text.split_once("..").ok_or("two numbers with `..` between them are wanted, such as 0..1")?;
    Ok((number(low)?, number(high)?))
}

/// A word and a number with an equals sign between them.
fn label(text: &str) -> Result<(String, f64), String> {
    let (word, worth) = text.rsplit_once('=').ok_or("a word and a number are wanted, such as harmful=1")?;
    Ok((word.into(), worth.parse().map_err(|_| format!("`{worth}` is no number"))?))
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let low = names::all(&self.invert);
        let mut evaluators: Vec<Evaluator> =
            names::all(&self.evaluators).into_iter().map(Evaluator::from).collect();
        for name in &low {
            let Some(evaluator) = evaluators.iter_mut().find(|evaluator| evaluator.name == *name) else {
                anyhow::bail!("--invert {name}: there is no such evaluator");
            };
            evaluator.direction = Direction::Low;
        }
        let config = Config {
            policy: self.policy.clone(),
            k: self.k,
            lease_seconds: self.lease,
            quorum: self.quorum,
            audit_rate: self.audit_rate,
            ageing_per_day: self.ageing_per_day,
            undo_seconds: self.undo,
            payload_days: self.payload_days,
            reward: self.reward_scale.map(|(lowest, highest)| Rewards {
                lowest,
                highest,
                labels: self.labels.iter().cloned().collect(),
            }),
            ..Config::new(Evaluators::new(evaluators)?)
        };
        let queue = self.place.queue.as_deref().unwrap_or("desk");
        Desk::create(&self.place.place, queue, &config, self.place.patience())?;
        say(format_args!(
            "{}: a desk over {}, ranked by {}",
            self.place.place, config.evaluators, config.policy
        ));
        Ok(())
    }
}

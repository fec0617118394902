//! `jurybox desk status` and `report`: how the desk stands, and whom it trusts.

use super::super::state::summary;
use super::{Place, found};
use crate::output;
use jurybox::options::Fraction;
use serde_json::json;
use std::fmt::Write;

/// Say how a desk stands: how many items wait, are out and are done, and what has been learnt.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let status = self.place.open()?.status()?;
        if self.json {
            return output::versioned("desk-status", &status);
        }
        let counts = status.counts;
        let mut text = String::new();
        writeln!(text, "queue     {}", status.queue)?;
        writeln!(text, "policy    {}", status.config.policy)?;
        writeln!(text, "items     {}", counts.items)?;
        writeln!(text, "pending   {}", counts.pending)?;
        writeln!(text, "leased    {}", counts.leased)?;
        writeln!(text, "closed    {}", counts.closed)?;
        writeln!(text, "verdicts  {}", counts.verdicts)?;
        writeln!(
            text,
            "learnt    {} verdicts, {} can still be taken back",
            status.seen.used, status.waiting
        )?;
        let config = &status.config;
        if config.doors != jurybox_server::Doors::Open {
            let what = match config.doors {
                jurybox_server::Doors::Paused => "paused: nothing is given out",
                _ => "draining: nothing is taken in",
            };
            writeln!(text, "doors     {what}")?;
        }
        if !config.muted.is_empty() {
            writeln!(text, "muted     {}", config.muted.join(", "))?;
        }
        if !config.weights.is_empty() {
            writeln!(text, "weights   fixed: {}", fixed(config))?;
        }
        output::text_to_stdout(&text)
    }
}

/// The weights that were fixed, by name.
fn fixed(config: &jurybox_server::Config) -> String {
    let each: Vec<String> = config.weights.iter().map(|(name, weight)| format!("{name}={weight}")).collect();
    each.join(", ")
}

/// Report whom a desk trusts, and what it has found: the weight of each evaluator, and what it lies within with 95 % by what the policy knows
/// so far; what was caught, the mean worth of a pick beside that of picks by the plain mean and at random, and what may have been missed.
///
/// Weights are drawn towards nothing while verdicts are few, and the intervals with them: of an evaluator that counts, the least squares
/// of endless verdicts lie above the interval more often than in 5 of 100 cases.
#[derive(clap::Args)]
pub(crate) struct Report {
    #[command(flatten)]
    place: Place,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Report {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut desk = self.place.open()?;
        let jurybox_server::Status { counts, config, .. } = desk.status()?;
        let jury = desk.jury()?;
        let found = desk.found()?;
        let fitted = jury.fit();
        let level = Fraction::try_from(0.95).map_err(anyhow::Error::msg)?;
        // Before anything was learnt they have no width, which would read as if all were known.
        let intervals = fitted.weight_intervals(level);
        let interval = |at: usize| intervals.as_ref().map(|all| all[at]).filter(|one| one.low < one.high);
        if self.json {
            let mut document = summary(&jury, &serde_json::Value::Null);
            document["counts"] = json!(counts);
            document["found"] = jurybox_http::report_document(found);
            for at in 0..jury.evaluators().len() {
                let interval = interval(at).map(|one| json!({ "low": one.low, "high": one.high }));
                document["evaluators"][at]["interval"] = json!(interval);
            }
            return output::versioned("desk-report", document);
        }
        let width = jury.evaluators().names().map(|name| name.chars().count()).max().unwrap_or(0).max(9);
        let mut text = format!("{:width$}  weight\n", "evaluator");
        for (at, evaluator) in jury.evaluators().as_slice().iter().enumerate() {
            let weight = fitted.weights().map_or("unknown".into(), |weights| format!("{:.3}", weights[at]));
            let interval = interval(at).map(|one| format!("  {:.3} to {:.3}", one.low, one.high));
            let muted = if config.muted.contains(&evaluator.name) { "  (muted)" } else { "" };
            writeln!(text, "{:width$}  {weight}{}{muted}", evaluator.name, interval.unwrap_or_default())?;
        }
        if !config.weights.is_empty() {
            writeln!(text, "\nthe order goes by fixed weights, and not by these: {}", fixed(&config))?;
        }
        writeln!(
            text,
            "\nlearnt from {} verdicts and {} looks at items\n",
            jury.seen().used,
            jury.seen().items
        )?;
        found::tell(&mut text, &found)?;
        output::text_to_stdout(&text)
    }
}

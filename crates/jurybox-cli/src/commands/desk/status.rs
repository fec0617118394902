//! `jurybox desk status` and `report`: how the desk stands, and whom it trusts.

use super::super::state::summary;
use super::Place;
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
        output::text_to_stdout(&text)
    }
}

/// Report whom a desk trusts: the weight of each evaluator, with the interval that holds it with 95 % where the policy knows.
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
        let counts = desk.status()?.counts;
        let jury = desk.jury()?;
        let fitted = jury.fit();
        let level = Fraction::try_from(0.95).map_err(anyhow::Error::msg)?;
        // Before anything was learnt they have no width, which would read as if all were known.
        let intervals = fitted.weight_intervals(level).filter(|all| all.iter().any(|one| one.low < one.high));
        if self.json {
            let mut document = summary(&jury, &serde_json::Value::Null);
            document["counts"] = json!(counts);
            for at in 0..jury.evaluators().len() {
                let interval =
                    intervals.as_ref().map(|all| json!({ "low": all[at].low, "high": all[at].high }));
                document["evaluators"][at]["interval"] = json!(interval);
            }
            return output::versioned("desk-report", document);
        }
        let width = jury.evaluators().names().map(|name| name.chars().count()).max().unwrap_or(0).max(9);
        let mut text = format!("{:width$}  weight\n", "evaluator");
        for (at, evaluator) in jury.evaluators().as_slice().iter().enumerate() {
            let weight = fitted.weights().map_or("unknown".into(), |weights| format!("{:.3}", weights[at]));
            let interval =
                intervals.as_ref().map(|all| format!("  {:.3} to {:.3}", all[at].low, all[at].high));
            writeln!(text, "{:width$}  {weight}{}", evaluator.name, interval.unwrap_or_default())?;
        }
        writeln!(text, "\nlearnt from {} verdicts and {} items", jury.seen().used, jury.seen().items)?;
        output::text_to_stdout(&text)
    }
}

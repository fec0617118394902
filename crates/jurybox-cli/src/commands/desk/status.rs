//! `jurybox desk status` and `report`: how the desk stands, and whom it trusts.

use super::super::state::summary;
use super::{Place, found};
use crate::output;
use jurybox::Interval;
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

/// Report whom a desk trusts, and what it has found: what a unit of each evaluator's score adds to an item's value, with an interval; what was caught,
/// the mean worth of a pick beside that of picks by the plain mean and at random, and what may have been missed.
///
/// The weight is drawn towards a guess while verdicts are few. The interval is not: in 95 of 100 cases it holds what least squares would give
/// if every item judged had been judged endlessly often. It is about those items. Where they are the best ones, and verdicts bend with the scores, as
/// yes and no do, the line through all items is another one, which the interval need not hold.
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
        let intervals = fitted.weight_intervals(level);
        // Where the verdicts cannot tell yet, they have no ends.
        let bounded = |one: &Interval| one.low.is_finite() && one.high.is_finite();
        let interval = |at: usize| intervals.as_ref().map(|all| all[at]).filter(bounded);
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
        // A policy that knows how sure it is knows nothing before the first verdict.
        let guessed = intervals.is_some() && jury.seen().used == 0;
        let width = jury.evaluators().names().map(|name| name.chars().count()).max().unwrap_or(0).max(9);
        let mut text = format!("{:width$}  weight\n", "evaluator");
        for (at, evaluator) in jury.evaluators().as_slice().iter().enumerate() {
            let weight = fitted.weights().filter(|_| !guessed);
            let weight = weight.map_or("unknown".into(), |weights| format!("{:.3}", weights[at]));
            let interval = match interval(at) {
                Some(one) => format!("  {:.3} to {:.3}", one.low, one.high),
                None if guessed || intervals.is_none() => String::new(),
                None => "  unbounded".into(),
            };
            let muted = if config.muted.contains(&evaluator.name) { "  (muted)" } else { "" };
            writeln!(text, "{:width$}  {weight}{interval}{muted}", evaluator.name)?;
        }
        if guessed {
            writeln!(
                text,
                "\nnothing is known of them yet: no verdict was learnt from, and the order goes by a guess from the scores alone"
            )?;
        } else if intervals.is_some() && (0..jury.evaluators().len()).any(|at| interval(at).is_none()) {
            writeln!(
                text,
                "\nunbounded: the verdicts cannot tell yet. It takes two more of them than there are evaluators, rewards that differ, and scores \
                 that vary and do not follow from others'"
            )?;
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

//! `jurybox queue report`: which evaluators a queue trusts, what it found and what it may have
//! missed.

use super::super::columns::OUTPUT;
use super::super::state::summary;
use super::{QueueAddress, results, status};
use crate::messages::next;
use crate::output;
use jurybox::options::Fraction;
use jurybox::{Interval, Jury};
use jurybox_files::counted;
use jurybox_server::Config;
use serde_json::json;
use std::fmt::Write;

const EXAMPLES: &str = "\
Examples:
  # Weights, and what was found
  jurybox queue report review
  # For a program
  jurybox queue report review --json";

/// Report which evaluators a queue trusts, and how much it found and may have missed
///
/// The weight of an evaluator is what one unit of its score adds to an item's value, with its 95%
/// interval (least squares over the reviewed items). Results compare the queue with a plain average
/// and with random picks, where random checks (`--random-check-rate`) allow it.
///
/// Limits: few verdicts draw the weight towards a guess, not the interval. The interval is about
/// the reviewed items; if these are the best ones and verdicts are yes and no, weights over all
/// items differ.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    address: QueueAddress,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut queue = self.address.open()?;
        let jurybox_server::EmbeddedStatus { counts, config, .. } = queue.status()?;
        let jury = queue.jury()?;
        let found = queue.report()?;
        let level = Fraction::try_from(0.95).map_err(anyhow::Error::msg)?;
        let intervals = jury.fit().weight_intervals(level);
        if self.json {
            let mut document = summary(&jury, &serde_json::Value::Null);
            document["counts"] = json!(counts);
            document["found"] = jurybox_http::report_document(found);
            for at in 0..jury.evaluators().len() {
                let interval = bounded(intervals.as_deref(), at);
                let interval = interval.map(|one| json!({ "low": one.low, "high": one.high }));
                document["evaluators"][at]["interval"] = json!(interval);
            }
            output::versioned("queue-report", document)?;
        } else {
            let mut text = String::new();
            write_weights(&mut text, &jury, &config, intervals.as_deref())?;
            writeln!(
                text,
                "\nlearnt from {}; {} seen\n",
                counted(jury.seen().used, "verdict"),
                counted(jury.seen().items, "item")
            )?;
            results::write_results(&mut text, &found)?;
            output::text_to_stdout(&text)?;
        }
        next(format_args!("queue export {} --out reviewed.csv", self.address.argument()));
        Ok(())
    }
}

/// The interval of an evaluator's weight. None if it is unbounded: the verdicts do not determine
/// the weight yet.
fn bounded(intervals: Option<&[Interval]>, evaluator: usize) -> Option<Interval> {
    let interval = intervals?.get(evaluator).copied()?;
    (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
}

/// Writes the table of evaluators with their weights, and notes on what the weights mean.
fn write_weights(
    text: &mut String,
    jury: &Jury,
    config: &Config,
    intervals: Option<&[Interval]>,
) -> std::fmt::Result {
    let fitted = jury.fit();
    // A policy with intervals starts from a guess, which is not printed as a weight.
    let is_guess = intervals.is_some() && jury.seen().used == 0;
    let width = jury.evaluators().names().map(|name| name.chars().count()).max().unwrap_or(0).max(9);
    writeln!(text, "{:width$}  weight", "evaluator")?;
    let mut undetermined = false;
    for (at, evaluator) in jury.evaluators().as_slice().iter().enumerate() {
        let weight = fitted.weights().filter(|_| !is_guess);
        let weight = weight.map_or("unknown".into(), |weights| format!("{:.3}", weights[at]));
        let interval = match bounded(intervals, at) {
            Some(one) => format!("  ({:.2} to {:.2})", one.low, one.high),
            None if is_guess || intervals.is_none() => String::new(),
            None => {
                undetermined = true;
                "  (unbounded)".into()
            }
        };
        let muted = if config.muted.contains(&evaluator.name) { "  (muted)" } else { "" };
        writeln!(text, "{:width$}  {weight}{interval}{muted}", evaluator.name)?;
    }
    if is_guess {
        writeln!(
            text,
            "\nNo verdict has been learnt from: items are ranked by a guess from the scores alone."
        )?;
    } else if undetermined {
        writeln!(
            text,
            "\nunbounded: the verdicts do not determine the weight yet. It takes two more verdicts than\n\
             evaluators, rewards that differ, and scores that vary and do not follow from other scores."
        )?;
    }
    if !config.weights.is_empty() {
        writeln!(text, "\nItems are ranked by fixed weights instead: {}", status::fixed_weights(config))?;
    }
    Ok(())
}

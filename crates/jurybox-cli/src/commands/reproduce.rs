//! `jurybox reproduce`: the figures, tables and claims of the paper "Top K Ranking for Multi-Armed
//! Bandit with Noisy Evaluations".

use super::columns::OUTPUT;
use super::lab;
use crate::messages::{next, say, shell};
use crate::{advice, output};
use jurybox_lab::{PaperPart, Plan, ReproductionReport, Running, reproduce};
use std::fmt::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  # One theorem, in a few short runs
  jurybox reproduce theorem3 --out paper --quick --runs 2 --rounds 100
  # With more runs; finished ones are reused
  jurybox reproduce theorem3 --out paper --quick --runs 3 --rounds 100";

/// Reproduce the figures, tables and claims of the paper
///
/// Writes an SVG and a CSV per figure, a CSV per table, claims.json with the finding for each
/// claim, and report.html with all of it. Finished runs are kept in DIR/runs: after Ctrl-C, repeat
/// the command.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// fig1a, fig1b, fig1c, fig1d, appendix-linear, appendix-logistic, horizons, theorem3, tables,
    /// jester [default: all]
    #[arg(value_name = "NAME")]
    parts: Vec<PaperPart>,
    /// Folder for the results
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: PathBuf,
    /// Short simulations: 8 runs of 1,000 rounds instead of 80 of 10,000; tables and Jester in 4
    /// runs of 200 and 300 rounds instead of 20 of 2,000 and 50 of 6,000
    #[arg(long)]
    quick: bool,
    /// Number of runs of every part
    #[arg(long)]
    runs: Option<u64>,
    /// Number of rounds of every part
    #[arg(long)]
    rounds: Option<u64>,
    /// Seed of all draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder with content-review.csv, for tables 1 and 2
    #[arg(long)]
    data: Option<PathBuf>,
    /// Predictions of the Jester evaluators, from experiments/jester/train.py
    #[arg(long, value_name = "FILE")]
    jester: Option<PathBuf>,
    /// Threads; results do not depend on it [default: all cores]
    #[arg(long)]
    threads: Option<usize>,
    /// Print the claims as one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

impl Args {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut plan = Plan::new(self.parts, self.quick);
        (plan.runs, plan.rounds) = (self.runs, self.rounds);
        (plan.seed, plan.data, plan.jester) = (self.seed, self.data, self.jester);
        let (runs, rounds) = (plan.simulated_runs(), plan.simulated_rounds());
        anyhow::ensure!(runs > 1, "runs = {runs}: intervals need at least two");
        anyhow::ensure!(rounds >= 100, "rounds = {rounds}: slopes need at least 100");
        let out = lab::writable(&self.out)?;
        lab::use_threads(self.threads)?;

        let keep = out.join("runs");
        let bar = lab::progress_bar("reproducing");
        let progress = |done: usize, total: usize| {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        };
        let how = Running { keep: Some(&keep), progress: Some(&progress), stop: Some(lab::stop_flag()) };
        let report = reproduce(&plan, &how);
        bar.finish_and_clear();
        let report = match report {
            Err(error @ jurybox_lab::Error::Interrupted { .. }) => {
                anyhow::bail!("{error}; they are kept: repeat the command to go on")
            }
            other => other?,
        };
        for figure in &report.figures {
            lab::write(&out.join(format!("{}.svg", figure.name)), &figure.plot.to_svg())?;
            lab::write(&out.join(format!("{}.csv", figure.name)), &figure.csv)?;
        }
        for table in &report.tables {
            lab::write(&out.join(format!("{}.csv", table.name)), &table.to_csv())?;
        }
        lab::write(&out.join("claims.json"), &report.claims_json())?;
        lab::write(&out.join("report.html"), &report.to_html())?;
        for reason in &report.skipped {
            say(format_args!("skipped: {reason}; {}", advice::on_skipped(*reason)));
        }
        say(format_args!("Wrote {}.", out.join("report.html").display()));
        if self.json {
            output::versioned("reproduce", serde_json::json!({"claims": report.claims}))?;
        } else {
            output::text_to_stdout(&findings(&report)?)?;
        }
        next(format_args!("reproduce --out {}, for all parts", shell(out.display())));
        Ok(())
    }
}

fn findings(report: &ReproductionReport) -> anyhow::Result<String> {
    let mut text = String::new();
    for remark in &report.remarks {
        writeln!(text, "{remark}\n")?;
    }
    for claim in &report.claims {
        writeln!(text, "{:18}  {}\n{:18}  {}", claim.finding, claim.paper, "", claim.measured)?;
        if !claim.note.is_empty() {
            writeln!(text, "{:18}  ({})", "", claim.note)?;
        }
    }
    writeln!(text, "\n{}", report.tally())?;
    Ok(text)
}

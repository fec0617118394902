//! The paper, again: every figure and table, and what became of every claim.
//!
//! A [`Plan`] says what to do and how thoroughly; [`reproduce`] does it and gives a [`ReproductionReport`]: figures, tables, claims.
//! What the paper leaves open is settled as follows, and said in the report: K = 10 where K is not stated (the appendix's
//! value), ratio 1 for Figs. 1a to 1c, T = 10,000, and noise of the logistic link cut to keep scores in (0, 1), with the
//! other reading beside it in Figs. 1a to 1c.

mod claims;
mod data;
mod figures;
mod finding;
mod gap;
mod jester;
mod measures;
mod page;
mod parts;
mod remarks;
mod tables;
mod theorem;

pub use data::SkippedPart;
pub use figures::Figure;
pub use finding::{Finding, PaperClaim};
pub use parts::PaperPart;
pub use tables::PaperTable;

use crate::error::Error;
use crate::runner::{Experiment, Running, run_all};
use crate::summary::Summary;
use crate::trial::RunRecord;
use std::path::PathBuf;

/// What to reproduce, and how thoroughly.
///
/// ```
/// use jurybox_lab::{PaperPart, Plan};
///
/// let plan = Plan::new(vec![PaperPart::Fig1a], true);
/// assert!(plan.simulated_runs() < 80 && plan.simulated_rounds() < 10_000);
/// assert_eq!(Plan::new(vec![], false).parts, PaperPart::ALL); // nothing named: everything
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Which parts.
    pub parts: Vec<PaperPart>,
    /// A quick look instead of the paper's size.
    pub quick: bool,
    /// Runs of every part; where not given, as many as the part has in that size.
    pub runs: Option<u64>,
    /// Rounds of every part; where not given, as many as the part has in that size.
    pub rounds: Option<u64>,
    /// Seed of everything random.
    pub seed: u64,
    /// Folder with content-review.csv.
    pub data: Option<PathBuf>,
    /// Predictions of the seven evaluators, as written by experiments/jester/train.py.
    pub jester: Option<PathBuf>,
}

impl Plan {
    /// The paper's size (simulations of 80 runs, T = 10,000), or a quick look at the same.
    pub fn new(parts: Vec<PaperPart>, quick: bool) -> Plan {
        let parts = if parts.is_empty() { PaperPart::ALL.to_vec() } else { parts };
        Plan { parts, quick, runs: None, rounds: None, seed: 1, data: None, jester: None }
    }

    /// Runs of every simulation.
    pub fn simulated_runs(&self) -> u64 {
        self.size(SIMULATED, SIMULATED_QUICKLY).runs
    }

    /// Rounds of every simulation.
    pub fn simulated_rounds(&self) -> u64 {
        self.size(SIMULATED, SIMULATED_QUICKLY).rounds
    }

    /// The size of a part that has these two sizes of its own, but for the runs and rounds that were asked for.
    pub(crate) fn size(&self, full: Size, quick: Size) -> Size {
        let own = if self.quick { quick } else { full };
        Size { runs: self.runs.unwrap_or(own.runs), rounds: self.rounds.unwrap_or(own.rounds) }
    }

    fn has(&self, part: PaperPart) -> bool {
        self.parts.contains(&part)
    }
}

/// How many runs of how many rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) runs: u64,
    pub(crate) rounds: u64,
}

const SIMULATED: Size = Size { runs: 80, rounds: 10_000 };
const SIMULATED_QUICKLY: Size = Size { runs: 8, rounds: 1000 };

/// What came out.
///
/// ```
/// let report = jurybox_lab::ReproductionReport::default();
/// assert!(report.claims.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReproductionReport {
    /// Figures, in the paper's order.
    pub figures: Vec<Figure>,
    /// Tables, the paper's numbers beside ours.
    pub tables: Vec<PaperTable>,
    /// What to know before reading the claims.
    pub remarks: Vec<String>,
    /// Claims with what became of them.
    pub claims: Vec<PaperClaim>,
    /// What was left out, and why.
    pub skipped: Vec<SkippedPart>,
    /// How it was done, in one line.
    pub about: String,
}

impl ReproductionReport {
    /// One self-contained page with all of it.
    pub fn to_html(&self) -> String {
        page::html(self)
    }

    /// How many claims there are, and what became of them, in one line.
    ///
    /// ```
    /// let nothing = jurybox_lab::ReproductionReport::default();
    /// assert_eq!(nothing.tally(), "0 claims: 0 reproduced, 0 hold but say little, 0 not reproduced, 0 can't be told");
    /// ```
    pub fn tally(&self) -> String {
        let [reproduced, little, not, open] =
            Finding::ALL.map(|finding| self.claims.iter().filter(|claim| claim.finding == finding).count());
        format!(
            "{} claims: {reproduced} reproduced, {little} hold but say little, {not} not reproduced, {open} can't be told",
            self.claims.len()
        )
    }

    /// The claims as one JSON document.
    ///
    /// # Panics
    /// Never: claims are plain data.
    pub fn claims_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(&self.claims).expect("plain data");
        json.push('\n');
        json
    }
}

/// An experiment that has been run.
pub(crate) struct FinishedExperiment {
    pub(crate) experiment: Experiment,
    pub(crate) records: Vec<RunRecord>,
    pub(crate) summary: Summary,
}

/// Runs the plan.
///
/// ```no_run
/// use jurybox_lab::{Plan, Running, reproduce};
/// let report = reproduce(&Plan::new(vec![], true), &Running::default())?;
/// std::fs::write("report.html", report.to_html()).unwrap();
/// # Ok::<(), jurybox_lab::Error>(())
/// ```
pub fn reproduce(plan: &Plan, how: &Running<'_>) -> Result<ReproductionReport, Error> {
    // What is given is read first: a bad file is refused before minutes of work.
    let (content, predictions, skipped) = data::read(plan)?;
    let asked = parts::experiments(plan);
    let experiments: Vec<Experiment> = asked.iter().map(|(_, experiment)| experiment.clone()).collect();
    let records = run_all(&experiments, how)?;
    let done: Vec<(parts::SimulationKey, FinishedExperiment)> = asked
        .into_iter()
        .zip(records)
        .map(|((key, experiment), records)| {
            let summary = Summary::of(&experiment, &records);
            (key, FinishedExperiment { experiment, records, summary })
        })
        .collect();
    let mut report = ReproductionReport {
        about: format!("{} runs, T = {}, seed {}", plan.simulated_runs(), plan.simulated_rounds(), plan.seed),
        skipped,
        ..ReproductionReport::default()
    };
    gap::add(plan, &done, &mut report);
    figures::add(plan, &done, &mut report);
    claims::add(plan, &done, &mut report);
    if plan.has(PaperPart::Theorem3) {
        report.claims.push(theorem::third(plan)?);
    }
    if let Some(content) = content {
        tables::add(plan, &content, how, &mut report)?;
    }
    if let Some(predictions) = predictions {
        jester::add(plan, &predictions, how, &mut report)?;
    }
    report.remarks = remarks::before_the_table(&report.claims);
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::data::{JOKERS, SCORERS};
    use super::*;

    /// Runs and rounds that are asked for hold in every part, those on real data too.
    #[test]
    fn tables_and_jester_have_the_runs_and_rounds_that_were_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, header: Vec<&str>, first: &dyn Fn(usize) -> String| {
            let (mut text, scores) = (header.join(",") + "\n", header.len() - 1);
            for row in 0..900_usize {
                let cells = (0..scores).map(|j| format!(",{}", (row * (j + 7)) % 101));
                text = text + &first(row) + &cells.collect::<String>() + "\n";
            }
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let content = [&["post_id"][..], &SCORERS, &["offensiveness_score"]].concat();
        write("content-review.csv", content, &|row| format!("t{row}"));
        let jester = write("jester.csv", [&["rating"][..], &JOKERS].concat(), &|row| format!("{}", row % 10));
        let plan = Plan {
            runs: Some(2),
            rounds: Some(30),
            data: Some(folder.path().into()),
            jester: Some(jester),
            ..Plan::new(vec![PaperPart::Tables, PaperPart::Jester], false)
        };
        let report = reproduce(&plan, &Running::default()).unwrap();
        let played = report.tables.iter().filter(|table| table.caption.contains("over T = "));
        let captions: Vec<&str> = played.map(|table| table.caption.as_str()).collect();
        assert_eq!(captions.len(), 3);
        for caption in captions {
            assert!(caption.contains("T = 30,") && caption.contains(" 2 runs"), "{caption}");
        }
    }
}

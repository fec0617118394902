//! The reproduction of the paper: its figures and tables, and a finding on each of its claims.
//!
//! "The paper" is "Top K Ranking for Multi-Armed Bandit with Noisy Evaluations". A [`Plan`] names
//! parts and sizes; [`reproduce`] returns a [`ReproductionReport`]. Where the paper is silent, K is
//! 10 (the appendix's value), the ratio is 1 for Figs. 1a to 1c, and T is 10,000. Logistic noise is
//! truncated so that scores stay between 0 and 1, and symmetrically too for Figs. 1a to 1c and the
//! horizons.

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

/// The parts to reproduce, and their size.
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
    /// The parts.
    pub parts: Vec<PaperPart>,
    /// A quick look instead of the full size.
    pub quick: bool,
    /// Number of runs of every part; by default that of the part's size.
    pub runs: Option<u64>,
    /// Number of rounds of every part, but at most 100 in Fig. 1a and 2000 for Theorem 3; by
    /// default that of the part's size.
    pub rounds: Option<u64>,
    /// Seed of all random draws.
    pub seed: u64,
    /// Folder that holds content-review.csv.
    pub data: Option<PathBuf>,
    /// File with the predictions of the seven evaluators, from experiments/jester/train.py.
    pub jester: Option<PathBuf>,
}

impl Plan {
    /// A plan of the full size (simulations of 80 runs, T = 10,000), or of a quick look. No parts
    /// means all parts.
    pub fn new(parts: Vec<PaperPart>, quick: bool) -> Plan {
        let parts = if parts.is_empty() { PaperPart::ALL.to_vec() } else { parts };
        Plan { parts, quick, runs: None, rounds: None, seed: 1, data: None, jester: None }
    }

    /// Number of runs of every simulation.
    pub fn simulated_runs(&self) -> u64 {
        self.size(SIMULATED, SIMULATED_QUICKLY).runs
    }

    /// Number of rounds of every simulation, but at most 100 in Fig. 1a and 2000 for Theorem 3.
    pub fn simulated_rounds(&self) -> u64 {
        self.size(SIMULATED, SIMULATED_QUICKLY).rounds
    }

    /// The size of a part, from its full and its quick size. Runs and rounds that the plan sets
    /// replace those of the part.
    pub(crate) fn size(&self, full: Size, quick: Size) -> Size {
        let own = if self.quick { quick } else { full };
        Size { runs: self.runs.unwrap_or(own.runs), rounds: self.rounds.unwrap_or(own.rounds) }
    }

    fn has(&self, part: PaperPart) -> bool {
        self.parts.contains(&part)
    }
}

/// Number of runs, and number of rounds in each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) runs: u64,
    pub(crate) rounds: u64,
}

const SIMULATED: Size = Size { runs: 80, rounds: 10_000 };
const SIMULATED_QUICKLY: Size = Size { runs: 8, rounds: 1000 };

/// The result of a reproduction.
///
/// ```
/// let report = jurybox_lab::ReproductionReport::default();
/// assert!(report.claims.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReproductionReport {
    /// Figures: parts of Fig. 1, then the appendix's.
    pub figures: Vec<Figure>,
    /// Tables with the paper's numbers beside ours.
    pub tables: Vec<PaperTable>,
    /// Remarks on all claims together.
    pub remarks: Vec<String>,
    /// The claims with their findings.
    pub claims: Vec<PaperClaim>,
    /// Parts that were left out for lack of data.
    pub skipped: Vec<SkippedPart>,
    /// The size of the simulations, in one line.
    pub about: String,
}

impl ReproductionReport {
    /// The report as a self-contained page.
    pub fn to_html(&self) -> String {
        page::html(self)
    }

    /// The number of claims with each finding, in one line.
    ///
    /// ```
    /// let nothing = jurybox_lab::ReproductionReport::default();
    /// assert!(nothing.tally().starts_with("0 claims: 0 reproduced, 0 hold but say little"));
    /// ```
    pub fn tally(&self) -> String {
        let [reproduced, little, not, open] =
            Finding::ALL.map(|finding| self.claims.iter().filter(|claim| claim.finding == finding).count());
        format!(
            "{} claims: {reproduced} reproduced, {little} hold but say little, {not} not \
             reproduced, {open} can't be told",
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

/// An experiment with its records and summary.
pub(crate) struct FinishedExperiment {
    pub(crate) experiment: Experiment,
    pub(crate) records: Vec<RunRecord>,
    pub(crate) summary: Summary,
}

/// Reproduces the parts of a plan.
///
/// ```no_run
/// use jurybox_lab::{Plan, Running, reproduce};
/// let report = reproduce(&Plan::new(vec![], true), &Running::default())?;
/// std::fs::write("report.html", report.to_html()).unwrap();
/// # Ok::<(), jurybox_lab::Error>(())
/// ```
pub fn reproduce(plan: &Plan, how: &Running<'_>) -> Result<ReproductionReport, Error> {
    // Data is read first, so that a bad file is refused before minutes of work.
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
    use super::data::{CONTENT_EVALUATORS, JESTER_EVALUATORS};
    use super::*;

    /// The runs and rounds of a plan also apply to the parts on real data.
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
        let content = [&["post_id"][..], &CONTENT_EVALUATORS, &["offensiveness_score"]].concat();
        write("content-review.csv", content, &|row| format!("t{row}"));
        let jester = write("jester.csv", [&["rating"][..], &JESTER_EVALUATORS].concat(), &|row| {
            format!("{}", row % 10)
        });
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

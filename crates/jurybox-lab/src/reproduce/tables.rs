//! Tables 1 and 2: cumulative badness (reward) of the picks, the paper's numbers beside ours.

use super::data::ContentReviewData;
use super::finding::{Finding, PaperClaim, judge_sign, number};
use super::{Plan, ReproductionReport, Size};
use crate::error::Error;
use crate::replay::PaperReplay;
use crate::runner::Running;
use jurybox::Interval;
use jurybox::Spec;

/// A table of the report.
///
/// ```
/// // Read from `ReproductionReport::tables`; each goes to NAME.csv.
/// fn file(table: &jurybox_lab::PaperTable) -> String { format!("{}.csv", table.name) }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PaperTable {
    /// Base name of its file.
    pub name: String,
    /// Caption.
    pub caption: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
}

impl PaperTable {
    /// The table as CSV.
    pub fn to_csv(&self) -> String {
        let line = |cells: &[String]| {
            let quoted: Vec<String> =
                cells.iter().map(|c| if c.contains(',') { format!("\"{c}\"") } else { c.clone() }).collect();
            quoted.join(",") + "\n"
        };
        line(&self.header) + &self.rows.iter().map(|row| line(row)).collect::<String>()
    }
}

/// Policies with their values in the paper's Table 1 and Table 2.
const PAPER: [(&str, Option<f64>, Option<f64>); 14] = [
    ("uniform", None, None),
    ("rand", Some(30_076.18), Some(60_025.8)),
    ("glm-eps-greedy", Some(53_403.6), Some(105_965.8)),
    ("glm-eps-greedy-all", Some(53_419.0), Some(105_499.1)),
    ("glm-eval-ucb", Some(53_328.3), Some(105_545.4)),
    ("glm-lin-ucb", Some(30_910.5), Some(60_347.4)),
    ("glm-esag", Some(53_393.9), Some(106_237.5)),
    ("glm-greedy", Some(53_371.9), Some(105_264.3)),
    ("exp4p", Some(47_766.7), Some(88_979.4)),
    ("eval-ucb", Some(90_768.2), Some(138_230.1)),
    ("lin-ucb", Some(90_332.2), Some(144_009.4)),
    ("esag", Some(90_790.5), Some(141_172.1)),
    ("greedy", Some(69_956.3), Some(106_195.4)),
    ("average", None, None),
];

pub(super) fn add(
    plan: &Plan,
    content: &ContentReviewData,
    how: &Running<'_>,
    report: &mut ReproductionReport,
) -> Result<(), Error> {
    let Size { runs, rounds } = plan.size(Size { runs: 20, rounds: 2000 }, Size { runs: 4, rounds: 200 });
    let policies: Vec<Spec> = PAPER.iter().map(|row| Spec::new(row.0)).collect();
    for (at, half) in content.halves.iter().enumerate() {
        let seed = plan.seed + at as u64;
        let replay = PaperReplay { items: 200, k: 10, rounds, runs, seed, reward_noise: 0.0 };
        let rewards = replay.run(half, &policies, how)?;
        let picks = (rounds * 10) as f64;
        let of = |name: &str| &rewards[PAPER.iter().position(|row| row.0 == name).expect("a row")];
        let chance = Interval::of(of("rand")).mean;
        let rows = PAPER.iter().zip(&rewards).map(|(row, values)| {
            let ours = Interval::of(values);
            let printed = if at == 0 { row.1 } else { row.2 };
            let paper_chance = if at == 0 { 30_076.18 } else { 60_025.8 };
            let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
            vec![
                row.0.into(),
                format!("{:.0} ± {:.0}", ours.mean * picks, ours.half_width() * picks),
                format!("{:.3}", ours.mean / chance),
                or_dash(printed.map(|p| format!("{p:.0}"))),
                or_dash(printed.map(|p| format!("{:.3}", p / paper_chance))),
            ]
        });
        report.tables.push(PaperTable {
            name: format!("table{}", at + 1),
            caption: format!(
                "Table {}: cumulative badness over T = {rounds}, K = 10 of 200, {runs} runs. The paper's set is private; \
                 ours is one half of the threads of a public content-review set ({} comments), badness scaled to [0, 1]. \
                 Only the ratios to rand compare.",
                at + 1,
                half.len()
            ),
            header: ["policy", "badness", "of rand", "paper's badness", "of the paper's rand"].map(Into::into).to_vec(),
            rows: rows.collect(),
        });
        claims(report, at + 1, &of);
    }
    Ok(())
}

fn claims<'a>(report: &mut ReproductionReport, table: usize, of: &dyn Fn(&str) -> &'a Vec<f64>) {
    let learners =
        PAPER.iter().map(|row| row.0).filter(|name| !["uniform", "rand", "average"].contains(name));
    let leads: Vec<(&str, Interval)> =
        learners.clone().map(|name| (name, Interval::of_differences(of(name), of("uniform")))).collect();
    let worst = leads.iter().min_by(|a, b| a.1.mean.total_cmp(&b.1.mean)).expect("learners");
    let mut add = |id: String, paper: &str, measured: String, finding: Finding| {
        report.claims.push(PaperClaim { id, paper: paper.into(), measured, finding, note: String::new() });
    };
    add(
        format!("table{table}-learners-beat-chance"),
        "Sect. 6.2: all learning algorithms perform significantly better than the random strategy",
        format!("least lead over a uniform draw, per pick: {} by {}", number(worst.1), worst.0),
        judge_sign(worst.1),
    );
    for name in ["esag", "eval-ucb", "lin-ucb"] {
        let lead = Interval::of_differences(of(name), of(&format!("glm-{name}")));
        add(
            format!("table{table}-linear-beats-glm-{name}"),
            "Sect. 6.2: GLM-based algorithms do not perform as well as linear ones",
            format!("{name} minus glm-{name}, per pick: {}", number(lead)),
            judge_sign(lead),
        );
    }
    let best_three = ["esag", "eval-ucb", "lin-ucb"];
    let lead_over_rest: Vec<Interval> = best_three
        .iter()
        .flat_map(|best| {
            learners
                .clone()
                .filter(|other| !best_three.contains(other))
                .map(|other| Interval::of_differences(of(best), of(other)))
        })
        .collect();
    let least = lead_over_rest.iter().copied().min_by(|a, b| a.mean.total_cmp(&b.mean)).expect("pairs");
    add(
        format!("table{table}-best-three"),
        "Tables 1 and 2: esag, eval-ucb and lin-ucb perform best",
        format!("least lead of any of the three over any other learner, per pick: {}", number(least)),
        judge_sign(least),
    );
}

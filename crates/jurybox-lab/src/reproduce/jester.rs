//! The Jester experiment: the mean reward per pick of policies over seven trained evaluators.

use super::data::JESTER_EVALUATORS;
use super::finding::{PaperClaim, judge_sign, number};
use super::tables::PaperTable;
use super::{Plan, ReproductionReport, Size};
use crate::error::Error;
use crate::replay::{Dataset, PaperReplay};
use crate::runner::Running;
use jurybox::Interval;
use jurybox::Spec;

/// The paper's R2 and sigma of each evaluator, in the order of [`JESTER_EVALUATORS`].
const PAPER_FITS: [(f64, f64); 7] = [
    (0.864, 0.115),
    (0.448, 0.174),
    (0.348, 0.167),
    (0.440, 0.048),
    (0.917, 0.110),
    (0.936, 0.064),
    (0.309, 0.086),
];

/// Policies with the average rewards that the paper prints.
const POLICIES: [(&str, Option<f64>); 11] = [
    ("eval-ucb", Some(0.87)),
    ("esag", Some(0.86)),
    ("lin-ucb", Some(0.85)),
    ("glm-eval-ucb", Some(0.69)),
    ("glm-greedy", Some(0.69)),
    ("glm-esag", Some(0.69)),
    ("glm-eps-greedy", Some(0.69)),
    ("rand", Some(0.57)),
    ("glm-lin-ucb", Some(0.51)),
    ("average", None),
    ("uniform", None),
];

pub(super) fn add(
    plan: &Plan,
    data: &Dataset,
    how: &Running<'_>,
    report: &mut ReproductionReport,
) -> Result<(), Error> {
    report.tables.push(evaluators(data));
    let Size { runs, rounds } = plan.size(Size { runs: 50, rounds: 6000 }, Size { runs: 4, rounds: 300 });
    let policies: Vec<Spec> = POLICIES.iter().map(|row| Spec::new(row.0)).collect();
    let replay = PaperReplay { items: 60, k: 10, rounds, runs, seed: plan.seed, reward_noise: 0.5 };
    let rewards = replay.run(data, &policies, how)?;
    let rows = POLICIES.iter().zip(&rewards).map(|((name, paper), values)| {
        let ours = Interval::of(values);
        let paper = paper.map_or(String::from("-"), |value| format!("{value:.2}"));
        vec![(*name).into(), format!("{:.4} ± {:.4}", ours.mean, ours.half_width()), paper]
    });
    report.tables.push(PaperTable {
        name: "jester-rewards".into(),
        caption: format!(
            "Jester: average rating of the picks over T = {rounds}, {runs} runs. The paper states neither K nor K_t; ours \
             are 10 of 60. Verdicts carry noise of standard deviation 0.5."
        ),
        header: ["policy", "average reward", "the paper's"].map(Into::into).to_vec(),
        rows: rows.collect(),
    });
    let of = |name: &str| &rewards[POLICIES.iter().position(|row| row.0 == name).expect("a row")];
    let mut claim = |id: &str, paper: &str, better: &str, worse: &str| {
        let lead = Interval::of_differences(of(better), of(worse));
        report.claims.push(PaperClaim {
            id: format!("jester-{id}"),
            paper: paper.into(),
            measured: format!("{better} minus {worse}, per pick: {}", number(lead)),
            finding: judge_sign(lead),
            note: String::new(),
        });
    };
    for name in ["eval-ucb", "esag", "lin-ucb"] {
        let paper = "Jester: linear algorithms outperform the logistic algorithms";
        claim(&format!("linear-beats-glm-{name}"), paper, name, &format!("glm-{name}"));
    }
    for name in ["eval-ucb", "esag"] {
        let paper = "Jester: EvalBasedUCB and ESAG perform better than LinUCB";
        claim(&format!("{name}-beats-lin-ucb"), paper, name, "lin-ucb");
    }
    claim(
        "esag-beats-chance",
        "Jester, table: ESAG earns more than RAND (0.86 and 0.57 there)",
        "esag",
        "rand",
    );
    Ok(())
}

/// A table of each evaluator's R2, and of the largest standard deviation of its predictions within
/// one of 40 bins of the rating. Bins of fewer than 30 ratings do not count.
fn evaluators(data: &Dataset) -> PaperTable {
    let mean = data.rewards.iter().sum::<f64>() / data.len() as f64;
    let total: f64 = data.rewards.iter().map(|r| (r - mean).powi(2)).sum();
    let rows = JESTER_EVALUATORS.iter().enumerate().map(|(j, name)| {
        let column = || data.scores.iter().skip(j).step_by(JESTER_EVALUATORS.len());
        let residual: f64 = column().zip(&data.rewards).map(|(x, r)| (r - x).powi(2)).sum();
        let mut bins = [(0.0_f64, 0.0_f64, 0.0_f64); 40];
        for (x, r) in column().zip(&data.rewards) {
            let bin = &mut bins[((r * 40.0) as usize).min(39)];
            *bin = (bin.0 + 1.0, bin.1 + x, bin.2 + x * x);
        }
        let sd = |(n, sum, square): &(f64, f64, f64)| ((square - sum * sum / n) / (n - 1.0)).max(0.0).sqrt();
        let sigma = bins.iter().filter(|bin| bin.0 >= 30.0).map(sd).fold(0.0, f64::max);
        let (paper_r2, paper_sigma) = PAPER_FITS[j];
        vec![
            (*name).into(),
            format!("{:.3}", 1.0 - residual / total),
            format!("{paper_r2:.3}"),
            format!("{sigma:.3}"),
            format!("{paper_sigma:.3}"),
        ]
    });
    PaperTable {
        name: "jester-evaluators".into(),
        caption: format!("Jester: the seven evaluators on {} (user, joke) pairs.", data.len()),
        header: ["evaluator", "R2", "the paper's R2", "sigma", "the paper's sigma"].map(Into::into).to_vec(),
        rows: rows.collect(),
    }
}

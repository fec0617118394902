//! Fig. 1a: the rewards that the oracle and the plain average miss, compared with the best possible
//! picks, by number of evaluators.

use super::figures::Figure;
use super::finding::{Finding, PaperClaim, judge_sign, number};
use super::parts::{JURIES, READINGS, SimulationKey};
use super::{FinishedExperiment, Plan, ReproductionReport};
use crate::setting::Truncation;
use crate::statistics::log_slope;
use jurybox::Interval;
use jurybox::Link;
use jurybox_draw::{Curve, Plot, Scale};
use std::fmt::Write;

/// A number of evaluators, with the gaps of the oracle and of the average in each run.
type JuryGaps = (usize, (Vec<f64>, Vec<f64>));

/// The gap per round in each run: rewards of the best possible picks minus those of the oracle, and
/// minus those of the average.
fn gaps(outcome: &FinishedExperiment) -> (Vec<f64>, Vec<f64>) {
    let rounds = outcome.experiment.setting.rounds as f64;
    let end = |values: &[f64]| values.last().copied().unwrap_or(0.0);
    outcome
        .records
        .iter()
        .map(|record| {
            let best = end(&record.best);
            ((best - end(&record.oracle)) / rounds, (best - end(&record.tracks[0].reward)) / rounds)
        })
        .unzip()
}

pub(super) fn add(_: &Plan, done: &[(SimulationKey, FinishedExperiment)], report: &mut ReproductionReport) {
    let find = |key: SimulationKey| done.iter().find(|(k, _)| *k == key).map(|(_, outcome)| gaps(outcome));
    let mut curves = Vec::new();
    let mut csv = String::from("link,truncation,evaluators,strategy,gap,gap_low,gap_high\n");
    for (link, truncation) in READINGS {
        let by_jury: Vec<JuryGaps> = JURIES
            .into_iter()
            .filter_map(|jury| Some((jury, find(SimulationKey::Gap(link, truncation, jury))?)))
            .collect();
        if by_jury.is_empty() {
            return;
        }
        let name = label(link, truncation);
        for (strategy, pick) in [("oracle", 0), ("average", 1)] {
            let points: Vec<(f64, Interval)> = by_jury
                .iter()
                .map(|(jury, both)| (*jury as f64, Interval::of(if pick == 0 { &both.0 } else { &both.1 })))
                .collect();
            for (jury, e) in &points {
                let _ = writeln!(csv, "{name},{jury},{strategy},{},{},{}", e.mean, e.low, e.high);
            }
            let of = name.trim_end_matches(",none").replace(',', ", ");
            let points = points.iter().map(|(jury, e)| (*jury, e.mean, e.half_width()));
            curves.push(Curve::with_band(&format!("{strategy}, {of}"), points));
        }
        beats_average(report, link, truncation, &by_jury);
        shrinks(report, link, truncation, &by_jury);
    }
    let plot = Plot {
        title: "1a: distance from the best picks (ratio 1, K = 10 of 20)".into(),
        x_label: "evaluators J".into(),
        y_label: "suboptimality gap per round".into(),
        x_scale: Scale::Log,
        y_scale: Scale::Log,
        curves,
    };
    let caption = "Fig. 1a. The paper: the oracle beats the plain average; its gap goes to zero in the linear case and to \
                   a plateau in the logistic one.";
    report.figures.push(Figure { name: "fig1a".into(), caption: caption.into(), plot, csv });
}

fn label(link: Link, truncation: Truncation) -> &'static str {
    match (link, truncation) {
        (Link::Identity, _) => "linear,none",
        (_, Truncation::Interval) => "logistic,interval",
        (_, Truncation::Symmetric) => "logistic,symmetric",
    }
}

fn beats_average(report: &mut ReproductionReport, link: Link, truncation: Truncation, by_jury: &[JuryGaps]) {
    let Some((_, (oracle, average))) = by_jury.iter().find(|(jury, _)| *jury == 10) else { return };
    let lead = Interval::of_differences(average, oracle);
    report.claims.push(PaperClaim {
        id: format!("oracle-beats-average-{}", label(link, truncation).replace(',', "-")),
        paper: "Fig. 1a: the oracle strategies outperform the simple average in both settings".into(),
        measured: format!(
            "J = 10: gap of the average minus gap of the oracle, per round: {} (gaps {} and {})",
            number(lead),
            number(Interval::of(average)),
            number(Interval::of(oracle))
        ),
        finding: judge_sign(lead),
        note: match truncation {
            Truncation::Symmetric => {
                "the other reading of the truncated noise, which keeps its mean at zero".into()
            }
            Truncation::Interval => String::new(),
        },
    });
}

fn shrinks(report: &mut ReproductionReport, link: Link, truncation: Truncation, by_jury: &[JuryGaps]) {
    let slope_from = |from: usize| {
        let runs = by_jury[0].1.0.len();
        let slopes: Vec<f64> = (0..runs)
            .filter_map(|run| {
                let large = by_jury.iter().filter(|(jury, _)| *jury >= from);
                log_slope(large.map(|(jury, (oracle, _))| (*jury as f64, oracle[run])))
            })
            .collect();
        Interval::of(&slopes)
    };
    let (all, late) = (slope_from(1), slope_from(50));
    let ends = (&by_jury[0].1.0, &by_jury[by_jury.len() - 1].1.0);
    let (paper, finding) = if link == Link::Identity {
        let falling = if late.below(-0.1) { Finding::Reproduced } else { Finding::CannotTell };
        (
            "Fig. 1a, Lemma 2: the oracle's gap decreases with J, to zero in the linear case",
            if late.above(-0.1) { Finding::NotReproduced } else { falling },
        )
    } else {
        let flat = if all.below(0.0) && late.above(-0.1) { Finding::Reproduced } else { Finding::CannotTell };
        (
            "Fig. 1a, Lemma 1: the oracle's gap decreases with J and plateaus in the GLM case",
            if late.below(-0.1) || all.above(0.0) { Finding::NotReproduced } else { flat },
        )
    };
    report.claims.push(PaperClaim {
        id: format!("gap-against-evaluators-{}", label(link, truncation).replace(',', "-")),
        paper: paper.into(),
        measured: format!(
            "gap {} at J = 1, {} at J = 200; log-log slope {} over all J, {} from J = 50 on (steeper than -0.1 counts as \
             still falling, flatter as a plateau)",
            number(Interval::of(ends.0)),
            number(Interval::of(ends.1)),
            number(all),
            number(late)
        ),
        finding,
        note: String::new(),
    });
}

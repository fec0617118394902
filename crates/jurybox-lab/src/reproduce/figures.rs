//! The figures of regret and estimation error, with reference slopes and the theorems' bounds.

use super::parts::{HORIZON, RATIOS, SimulationKey};
use super::{FinishedExperiment, PaperPart, Plan, ReproductionReport};
use crate::runner::Experiment;
use crate::setting::{Setting, Truncation};
use crate::simulated_queue::SimulatedQueue;
use jurybox::Link;
use jurybox::bounds::Problem;
use jurybox_draw::{Curve, Plot, Scale};

/// A figure with the numbers behind it.
///
/// ```
/// // Read from `ReproductionReport::figures`; each goes to NAME.svg and NAME.csv.
/// fn files(figure: &jurybox_lab::Figure) -> [String; 2] {
///     [format!("{}.svg", figure.name), format!("{}.csv", figure.name)]
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Base name of its files.
    pub name: String,
    /// Caption: what it shows, and the paper's claim.
    pub caption: String,
    /// The plot.
    pub plot: Plot,
    /// The numbers as CSV.
    pub csv: String,
}

/// Policies whose regret is so large that the curves of the others could not be told apart.
const LARGE: [&str; 3] = ["rand", "exp4p", "uniform"];

pub(super) fn add(
    plan: &Plan,
    done: &[(SimulationKey, FinishedExperiment)],
    report: &mut ReproductionReport,
) {
    for (key, outcome) in done {
        match *key {
            SimulationKey::Main(Link::Identity, _) => linear_main(outcome, report),
            SimulationKey::Main(link, truncation) => logistic_main(plan, link, truncation, outcome, report),
            SimulationKey::Appendix(link, ratio) => appendix(link, ratio, outcome, report),
            SimulationKey::Gap(..) => {}
        }
    }
}

fn reading(truncation: Truncation) -> &'static str {
    match truncation {
        Truncation::Interval => "interval",
        Truncation::Symmetric => "symmetric",
    }
}

fn regret_curves(outcome: &FinishedExperiment, zoomed: bool) -> Vec<Curve> {
    let mut curves = outcome.summary.curves(&|point| Some(point.relative_regret));
    curves
        .retain(|curve| !(curve.name.starts_with(HORIZON) || zoomed && LARGE.contains(&curve.name.as_str())));
    curves
}

fn error_curves(outcome: &FinishedExperiment) -> Vec<Curve> {
    let mut curves = outcome.summary.curves(&|point| point.alpha_error);
    curves.retain(|curve| !curve.name.starts_with(HORIZON));
    curves
}

fn figure(name: String, caption: &str, plot: Plot, outcome: &FinishedExperiment) -> Figure {
    Figure { name, caption: caption.into(), plot, csv: outcome.summary.to_csv() }
}

fn regret_plot(title: String, scale: Scale, curves: Vec<Curve>) -> Plot {
    Plot {
        title,
        x_label: "round t".into(),
        y_label: "relative regret".into(),
        x_scale: scale,
        y_scale: scale,
        curves,
    }
}

fn error_plot(title: String, curves: Vec<Curve>) -> Plot {
    Plot {
        title,
        x_label: "round t".into(),
        y_label: "distance of the estimate from alpha".into(),
        x_scale: Scale::Log,
        y_scale: Scale::Log,
        curves,
    }
}

fn logistic_main(
    plan: &Plan,
    _: Link,
    truncation: Truncation,
    outcome: &FinishedExperiment,
    report: &mut ReproductionReport,
) {
    let cut = reading(truncation);
    if plan.has(PaperPart::Fig1b) {
        let mut curves = error_curves(outcome);
        curves.retain(|curve| curve.name.contains("eps-greedy"));
        report.figures.push(figure(
            format!("fig1b-{cut}"),
            "Fig. 1b. The paper: the error of glm-eps-greedy falls, that of glm-eps-greedy-all keeps a bias.",
            error_plot(format!("1b: estimation error, logistic, {cut} noise, ratio 1"), curves),
            outcome,
        ));
    }
    if plan.has(PaperPart::Fig1c) {
        report.figures.push(figure(
            format!("fig1c-{cut}"),
            "Fig. 1c. The paper: glm-esag and glm-lin-ucb have less regret, but it keeps growing; glm-eps-greedy is \
             sublinear over horizons. rand, exp4p, uniform and glm-greedy are left out, as there.",
            regret_plot(
                format!("1c: regret, logistic, {cut} noise, ratio 1"),
                Scale::Linear,
                regret_curves(outcome, true).into_iter().filter(|curve| curve.name != "glm-greedy").collect(),
            ),
            outcome,
        ));
    }
}

fn linear_main(outcome: &FinishedExperiment, report: &mut ReproductionReport) {
    report.figures.push(figure(
        "fig1d".into(),
        "Fig. 1d. The paper: esag is sublinear, the others are linear; eval-ucb beats lin-ucb.",
        regret_plot(
            "1d: regret, linear, high noise (ratio 0.1)".into(),
            Scale::Linear,
            regret_curves(outcome, true),
        ),
        outcome,
    ));
    log_axes("fig1d", "1d", outcome, report);
    bounds("fig1d", "1d", outcome, report);
}

/// Regret on log axes with a line of slope 1/2, without the policies in [`LARGE`].
fn log_axes(name: &str, title: &str, outcome: &FinishedExperiment, report: &mut ReproductionReport) {
    let glm = if outcome.experiment.setting.link == Link::Identity { "" } else { "glm-" };
    let mut curves = regret_curves(outcome, true);
    curves.extend(with_slope(&curves, &format!("{glm}esag"), 0.5, "slope 1/2"));
    report.figures.push(figure(
        format!("{name}-log"),
        "The same on log axes, with a line of slope 1/2 through the end of esag's curve.",
        regret_plot(format!("{title}, log axes"), Scale::Log, curves),
        outcome,
    ));
}

/// The policies of the theorems with their bounds, which lie far above and show the shape only.
fn bounds(name: &str, title: &str, outcome: &FinishedExperiment, report: &mut ReproductionReport) {
    let linear = outcome.experiment.setting.link == Link::Identity;
    let about = if linear { ["esag", "eps-greedy"] } else { ["glm-eps-greedy", ""] };
    let mut curves = regret_curves(outcome, true);
    curves.retain(|curve| about.contains(&curve.name.as_str()));
    if linear {
        curves.push(esag_bound(outcome).as_reference());
    }
    curves.push(eps_greedy_bound(outcome).as_reference());
    report.figures.push(figure(
        format!("{name}-bounds"),
        "The policies that the theorems are about, under their bounds (with probability 0.95; eps = t^(-1/3)).",
        regret_plot(format!("{title}, under the theorems' bounds"), Scale::Log, curves),
        outcome,
    ));
}

fn appendix(link: Link, ratio: f64, outcome: &FinishedExperiment, report: &mut ReproductionReport) {
    let form = if link == Link::Identity { "linear" } else { "logistic" };
    report.figures.push(figure(
        format!("appendix-{form}-regret-{ratio}"),
        "Appendix: regret with K = 10 of K_t = 60.",
        regret_plot(format!("Regret, {form}, ratio {ratio}"), Scale::Linear, regret_curves(outcome, false)),
        outcome,
    ));
    let (name, title) = (format!("appendix-{form}-regret-{ratio}"), format!("Regret, {form}, ratio {ratio}"));
    log_axes(&name, &title, outcome, report);
    bounds(&name, &title, outcome, report);
    report.figures.push(figure(
        format!("appendix-{form}-error-{ratio}"),
        "Appendix: error of the estimated gains; for esag the distance from E[r] alpha.",
        error_plot(format!("Estimation error, {form}, ratio {ratio}"), error_curves(outcome)),
        outcome,
    ));
    debug_assert!(RATIOS.contains(&ratio));
}

/// A line of the given slope on log axes, through the end of the named curve.
fn with_slope(curves: &[Curve], name: &str, slope: f64, label: &str) -> Option<Curve> {
    let curve = curves.iter().find(|curve| curve.name == name)?;
    let &(end, height) = curve.points.last()?;
    let points = curve.points.iter().map(|(x, _)| (*x, height * (x / end).powf(slope))).collect();
    Some(Curve::new(label, points).as_reference())
}

/// The constants of the theorems for each run.
pub(super) fn problems(outcome: &FinishedExperiment) -> Vec<Problem> {
    let Experiment { setting, seed, runs, .. } = &outcome.experiment;
    (0..*runs).map(|run| problem(setting, &SimulatedQueue::new(setting, *seed, run))).collect()
}

/// The mean of a bound over the runs, as a curve from round 2 on.
fn bound(outcome: &FinishedExperiment, name: &str, of: impl Fn(&Problem, u64) -> f64) -> Curve {
    let problems = problems(outcome);
    let mean = |t: u64| problems.iter().map(|p| of(p, t)).sum::<f64>() / problems.len() as f64;
    let rounds = &outcome.records[0].rounds;
    Curve::new(name, rounds.iter().filter(|t| **t > 1).map(|&t| (t as f64, mean(t))).collect())
}

fn esag_bound(outcome: &FinishedExperiment) -> Curve {
    bound(outcome, "Theorem 2", Problem::regret_esag)
}

fn eps_greedy_bound(outcome: &FinishedExperiment) -> Curve {
    let lambda = 1.0 / outcome.experiment.setting.evaluators as f64;
    bound(outcome, "Theorem 1", |p, t| p.regret_eps_greedy(t, (t as f64).powf(-1.0 / 3.0), lambda))
}

/// The constants of the theorems in one run. The largest reward is taken to be about the expected
/// maximum of all rewards of the run.
fn problem(setting: &Setting, queue: &SimulatedQueue) -> Problem {
    let truth = queue.truth();
    let max_reward = (2.0 * (setting.items as f64 * setting.rounds as f64).ln()).sqrt();
    let max_alpha = truth.alpha.iter().copied().fold(0.0, f64::max);
    let steepest = max_alpha * max_reward;
    Problem {
        alpha: truth.alpha.clone(),
        sigma: truth.sigma.clone(),
        k: setting.k,
        items: setting.items,
        delta: 0.05,
        mean_reward: setting.mean_reward(),
        mean_square_reward: 1.0,
        max_reward,
        max_score: steepest,
        min_slope: setting.link.derivative(steepest),
    }
}

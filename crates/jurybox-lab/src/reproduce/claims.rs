//! Claims: the paper's words in short, what was measured, and a verdict at 95% confidence.
//!
//! The rules. A comparison is paired run by run, and decided when its interval excludes zero. Whether regret keeps growing
//! linearly is judged by the exponent of what it grows by over two doublings of t, up to nearly T (the slope of the whole sum
//! would take a line after a costly start for a bend): linear when the interval lies above 0.9, sublinear when below. An
//! exponent is "about" x when the interval touches x ± 0.1. An error keeps a bias when its log-log slope over the last
//! decade of rounds lies above -0.1, and falls when below.
//!
//! Linear growth was first judged by the slope of the whole sum. That rule was replaced after a full run had been seen, so
//! both numbers are printed, and a claim on which the two rules disagree says so.

use super::figures::{eps_greedy_bound, esag_bound};
use super::parts::{HORIZON, Key, RATIOS};
use super::{Outcome, Part, Plan, Report};
use crate::setting::Truncation;
use crate::statistics::{Estimate, log_slope};
use jurybox::Link;
use serde::Serialize;

/// Whether a claim held up.
///
/// ```
/// assert_eq!(jurybox_lab::Verdict::CannotTell.to_string(), "can't be told");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It did.
    Reproduced,
    /// The opposite was measured.
    NotReproduced,
    /// The interval leaves both open.
    CannotTell,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Verdict::Reproduced => "reproduced",
            Verdict::NotReproduced => "not reproduced",
            Verdict::CannotTell => "can't be told",
        })
    }
}

/// A claim of the paper and what became of it.
///
/// ```
/// // Read from `Report::claims`.
/// fn held(claim: &jurybox_lab::Claim) -> bool { claim.verdict == jurybox_lab::Verdict::Reproduced }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// A name to refer to it by.
    pub id: String,
    /// The paper's words, in short, and where they stand.
    pub paper: String,
    /// What was measured, with 95% intervals.
    pub measured: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Anything a reader should know; may be empty.
    pub note: String,
}

/// `mean [low, high]`, with as many digits as a reader can use, and more where the interval is narrow.
pub(super) fn number(e: Estimate) -> String {
    let narrow = -e.half_width.log10().floor();
    let narrow = if narrow.is_finite() { narrow.clamp(0.0, 8.0) as usize } else { 0 };
    let digits = |x: f64| match x.abs() {
        size if size >= 100.0 => format!("{x:.0}"),
        size if size >= 1.0 => format!("{x:.*}", narrow.max(2)),
        _ => format!("{x:.*}", narrow.max(3)),
    };
    format!("{} [{}, {}]", digits(e.mean), digits(e.low()), digits(e.high()))
}

/// Reproduced when above zero, not when below.
pub(super) fn judge_sign(difference: Estimate) -> Verdict {
    if difference.above(0.0) {
        Verdict::Reproduced
    } else if difference.below(0.0) {
        Verdict::NotReproduced
    } else {
        Verdict::CannotTell
    }
}

const LINEAR: f64 = 0.9;

fn judge_linear(slope: Estimate) -> Verdict {
    judge_sign(Estimate { mean: slope.mean - LINEAR, ..slope })
}

fn judge_exponent(slope: Estimate, exponent: f64) -> Verdict {
    let near = slope.high() >= exponent - 0.1 && slope.low() <= exponent + 0.1;
    match (slope.below(LINEAR), near) {
        (true, true) => Verdict::Reproduced,
        (false, _) if !slope.above(LINEAR) => Verdict::CannotTell,
        _ => Verdict::NotReproduced,
    }
}

pub(super) fn add(plan: &Plan, done: &[(Key, Outcome)], report: &mut Report) {
    let find = |key: Key| done.iter().find(|(k, _)| *k == key).map(|(_, outcome)| outcome);
    let mut claims = Vec::new();
    for truncation in [Truncation::Interval, Truncation::Symmetric] {
        let reading = if truncation == Truncation::Interval { "interval" } else { "symmetric" };
        if let Some(outcome) = find(Key::Main(Link::Logistic, truncation)) {
            if plan.has(Part::Fig1b) {
                estimation_bias(&mut claims, outcome, reading);
            }
            if plan.has(Part::Fig1c) {
                logistic_growth(&mut claims, outcome, reading);
            }
            if plan.has(Part::Horizons) {
                claims.push(horizons(plan, outcome, reading));
            }
        }
    }
    if let Some(outcome) = find(Key::Main(Link::Identity, Truncation::Interval)) {
        linear_growth(&mut claims, outcome);
    }
    for link in [Link::Identity, Link::Logistic] {
        let regimes: Vec<&Outcome> = RATIOS.iter().filter_map(|r| find(Key::Appendix(link, *r))).collect();
        if let [noisy, middle, clear] = regimes[..] {
            fading_bias(&mut claims, link, [noisy, middle, clear]);
            clear_regime(&mut claims, link, clear);
            noisy_regime(&mut claims, link, noisy);
            bounds(&mut claims, link, &regimes);
        }
    }
    report.claims.append(&mut claims);
}

fn claim(id: String, paper: &str, measured: String, verdict: Verdict) -> Claim {
    Claim { id, paper: paper.into(), measured, verdict, note: String::new() }
}

/// A claim that a policy's regret keeps growing linearly. Says where the rule that was used first would judge otherwise.
fn linear_claim(id: String, paper: &str, outcome: &Outcome, name: &str, prefix: &str) -> Claim {
    let (verdict, first_rule) =
        (judge_linear(outcome.growth(name)), judge_linear(outcome.regret_slope(name)));
    let note = if verdict == first_rule {
        String::new()
    } else {
        format!(
            "by the slope of the whole sum, the rule used before the first full run was seen: {first_rule}"
        )
    };
    Claim { note, ..claim(id, paper, format!("{prefix}{}", outcome.growth_in_words(name)), verdict) }
}

fn estimation_bias(claims: &mut Vec<Claim>, outcome: &Outcome, reading: &str) {
    let (explored, all) = ("glm-eps-greedy", "glm-eps-greedy-all");
    let slope = outcome.error_slope(explored);
    claims.push(claim(
        format!("error-of-eps-greedy-falls-{reading}"),
        "Fig. 1b: the error of glm-eps-greedy's alpha decreases over time",
        format!(
            "log-log slope of the error over the last decade {}; error at T {}",
            number(slope),
            number(Estimate::of(&outcome.errors(explored)))
        ),
        judge_sign(Estimate { mean: -0.1 - slope.mean, ..slope }),
    ));
    let slope = outcome.error_slope(all);
    let more = Estimate::of_differences(&outcome.errors(all), &outcome.errors(explored));
    let verdict = match (slope.above(-0.1), judge_sign(more)) {
        (true, Verdict::Reproduced) => Verdict::Reproduced,
        (_, Verdict::NotReproduced) => Verdict::NotReproduced,
        _ if slope.below(-0.1) => Verdict::NotReproduced,
        _ => Verdict::CannotTell,
    };
    claims.push(claim(
        format!("error-of-all-samples-stays-{reading}"),
        "Fig. 1b: the error of glm-eps-greedy-all has a residual bias",
        format!(
            "slope of the error over the last decade {}; error at T above glm-eps-greedy's by {}",
            number(slope),
            number(more)
        ),
        verdict,
    ));
}

fn logistic_growth(claims: &mut Vec<Claim>, outcome: &Outcome, reading: &str) {
    for name in ["glm-esag", "glm-lin-ucb"] {
        let less = Estimate::of_differences(&outcome.regrets("glm-eps-greedy"), &outcome.regrets(name));
        claims.push(linear_claim(
            format!("{name}-keeps-growing-{reading}"),
            "Fig. 1c: glm-esag and glm-lin-ucb have linear regret that keeps increasing",
            outcome,
            name,
            "",
        ));
        claims.push(claim(
            format!("{name}-below-eps-greedy-{reading}"),
            "Fig. 1c: glm-esag and glm-lin-ucb have better regret than glm-eps-greedy (at the horizon shown)",
            format!("regret of glm-eps-greedy minus that of {name} at T: {}", number(less)),
            judge_sign(less),
        ));
    }
}

/// Within a run eps is constant, so regret grows linearly in t by construction: T^(2/3) is a statement over horizons.
fn horizons(plan: &Plan, outcome: &Outcome, reading: &str) -> Claim {
    let slopes: Vec<f64> = outcome
        .records
        .iter()
        .filter_map(|record| {
            let over_horizons = outcome.experiment.contenders.iter().zip(&record.tracks);
            let chosen = over_horizons.filter(|(contender, _)| {
                contender.label.starts_with(HORIZON) || contender.label == "glm-eps-greedy"
            });
            log_slope(chosen.map(|(contender, track)| {
                let horizon = contender.stop.unwrap_or(plan.rounds);
                (horizon as f64, track.relative_regret.last().copied().unwrap_or(0.0))
            }))
        })
        .collect();
    let slope = Estimate::of(&slopes);
    Claim {
        note: "eps = T^(-1/3) is constant within a run, so the exponent is over horizons, not over rounds"
            .into(),
        ..claim(
            format!("glm-eps-greedy-exponent-{reading}"),
            "Fig. 1c, Theorem 1: glm-eps-greedy is sublinear, of order T^(2/3)",
            format!(
                "exponent of R_T over horizons T = {} to {}, eps = T^(-1/3): {}",
                plan.rounds >> 4,
                plan.rounds,
                number(slope)
            ),
            judge_exponent(slope, 2.0 / 3.0),
        )
    }
}

fn linear_growth(claims: &mut Vec<Claim>, outcome: &Outcome) {
    let growth = outcome.growth("esag");
    let sublinear = judge_sign(Estimate { mean: LINEAR - growth.mean, ..growth });
    claims.push(claim(
        "esag-sublinear".into(),
        "Fig. 1d: esag has sublinear regret in the linear case with high noise",
        outcome.growth_in_words("esag"),
        sublinear,
    ));
    claims.push(Claim {
        note: "the theorem is an upper bound: slower growth does not contradict it".into(),
        ..claim(
            "esag-exponent".into(),
            "Theorem 2: esag's regret is of order sqrt(T)",
            outcome.growth_in_words("esag"),
            judge_exponent(growth, 0.5),
        )
    });
    for name in ["greedy", "eps-greedy-all", "lin-ucb", "eval-ucb"] {
        let paper = "Fig. 1d: the other algorithms have linear regret";
        claims.push(linear_claim(format!("{name}-linear"), paper, outcome, name, ""));
    }
    let lead = Estimate::of_differences(&outcome.regrets("lin-ucb"), &outcome.regrets("eval-ucb"));
    claims.push(claim(
        "eval-ucb-beats-lin-ucb-high-noise".into(),
        "Sect. 6.1.2: EvalBasedUCB outperforms LinUCB (linear, high noise)",
        format!("regret of lin-ucb minus that of eval-ucb at T: {}", number(lead)),
        judge_sign(lead),
    ));
}

fn prefix(link: Link) -> (&'static str, &'static str) {
    if link == Link::Identity { ("linear", "") } else { ("logistic", "glm-") }
}

fn fading_bias(claims: &mut Vec<Claim>, link: Link, regimes: [&Outcome; 3]) {
    let (form, glm) = prefix(link);
    let name = format!("{glm}greedy");
    let errors = regimes.map(|outcome| Estimate::of(&outcome.errors(&name)));
    let falls = |a: Estimate, b: Estimate| Estimate {
        mean: a.mean - b.mean,
        half_width: a.half_width.hypot(b.half_width),
    };
    let steps = [judge_sign(falls(errors[0], errors[1])), judge_sign(falls(errors[1], errors[2]))];
    let verdict = if steps.contains(&Verdict::NotReproduced) {
        Verdict::NotReproduced
    } else if steps.contains(&Verdict::CannotTell) {
        Verdict::CannotTell
    } else {
        Verdict::Reproduced
    };
    claims.push(claim(
        format!("bias-fades-{form}"),
        "App.: as alpha0/sigma0 grows, the effect of the noise correlation becomes less and less relevant",
        format!(
            "error of {name}'s alpha at T: {} at ratio 0.1, {} at 1, {} at 10",
            number(errors[0]),
            number(errors[1]),
            number(errors[2])
        ),
        verdict,
    ));
}

fn clear_regime(claims: &mut Vec<Claim>, link: Link, clear: &Outcome) {
    let (form, glm) = prefix(link);
    let lead = Estimate::of_differences(
        &clear.regrets(&format!("{glm}lin-ucb")),
        &clear.regrets(&format!("{glm}eval-ucb")),
    );
    claims.push(claim(
        format!("eval-ucb-beats-lin-ucb-low-noise-{form}"),
        "App.: at large alpha0/sigma0 EvalBasedUCB performs particularly well",
        format!("ratio 10: regret of {glm}lin-ucb minus that of {glm}eval-ucb at T: {}", number(lead)),
        judge_sign(lead),
    ));
}

fn noisy_regime(claims: &mut Vec<Claim>, link: Link, noisy: &Outcome) {
    let (form, glm) = prefix(link);
    for name in [format!("{glm}eps-greedy-all 0.1 T^-1/3"), format!("{glm}eval-ucb")] {
        claims.push(linear_claim(
            format!("{}-linear-high-noise-{form}", name.replace([' ', '^', '/'], "-")),
            "App.: at small alpha0/sigma0 the algorithms that use all samples suffer linear regret",
            noisy,
            &name,
            "ratio 0.1, ",
        ));
    }
}

fn bounds(claims: &mut Vec<Claim>, link: Link, regimes: &[&Outcome]) {
    let (form, glm) = prefix(link);
    let mut under = |id: &str, paper: &str, name: String, bound: &dyn Fn(&Outcome) -> f64| {
        let mut within = true;
        let parts: Vec<String> = regimes
            .iter()
            .map(|outcome| {
                let worst = outcome.regrets(&name).into_iter().fold(0.0, f64::max);
                let bound = bound(outcome);
                within &= worst <= bound;
                format!("{worst:.0} of {bound:.1e}")
            })
            .collect();
        claims.push(claim(
            format!("{id}-{form}"),
            paper,
            format!(
                "largest regret of {name} in any run, of the bound, at ratios 0.1, 1, 10: {}",
                parts.join(", ")
            ),
            if within { Verdict::Reproduced } else { Verdict::NotReproduced },
        ));
    };
    let last = |curve: jurybox_draw::Curve| curve.points.last().map_or(f64::INFINITY, |point| point.1);
    let one = |outcome: &Outcome| last(eps_greedy_bound(outcome));
    under("theorem-1-holds", "Theorem 1 bounds the regret of eps-greedy", format!("{glm}eps-greedy"), &one);
    if link == Link::Identity {
        let two = |outcome: &Outcome| last(esag_bound(outcome));
        under("theorem-2-holds", "Theorem 2 bounds the regret of esag", "esag".into(), &two);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slope(mean: f64, half_width: f64) -> Estimate {
        Estimate { mean, half_width }
    }

    #[test]
    fn numbers_show_what_can_be_told_from_zero() {
        assert_eq!(number(slope(0.163, 0.016)), "0.163 [0.147, 0.179]");
        assert_eq!(number(slope(2909.0, 44.5)), "2909 [2864, 2954]");
        assert_eq!(number(slope(-0.000_213, 0.000_018)), "-0.00021 [-0.00023, -0.00019]");
        assert_eq!(number(slope(0.9963, 0.0064)), "0.996 [0.990, 1.003]");
        assert_eq!(number(slope(0.25, 0.0)), "0.250 [0.250, 0.250]");
        assert_eq!(number(slope(0.0, f64::INFINITY)), "0.000 [-inf, inf]");
    }

    #[test]
    fn verdicts_follow_the_rules() {
        assert_eq!(judge_sign(slope(1.0, 0.5)), Verdict::Reproduced);
        assert_eq!(judge_sign(slope(-1.0, 0.5)), Verdict::NotReproduced);
        assert_eq!(judge_sign(slope(0.1, 0.5)), Verdict::CannotTell);
        assert_eq!(judge_linear(slope(1.0, 0.05)), Verdict::Reproduced);
        assert_eq!(judge_linear(slope(0.6, 0.1)), Verdict::NotReproduced);
        assert_eq!(judge_exponent(slope(0.7, 0.05), 2.0 / 3.0), Verdict::Reproduced);
        assert_eq!(judge_exponent(slope(0.2, 0.05), 0.5), Verdict::NotReproduced);
        assert_eq!(judge_exponent(slope(0.85, 0.2), 2.0 / 3.0), Verdict::CannotTell);
        assert_eq!(judge_exponent(slope(1.0, 0.01), 0.5), Verdict::NotReproduced);
    }
}

//! The paper's claims about simulations: measurements and findings. A *reading* is a way
//! to truncate the logistic noise, which the paper leaves open.
//!
//! Some rules changed after a first full run. Linear growth was first judged by the log-log slope
//! of the whole regret; both numbers are printed, and a note says where the two rules disagree.
//! Three rules are new. Slower growth does not contradict an upper bound (`esag-exponent`). An
//! error keeps a bias whatever other policies' errors are (`error-of-all-samples-stays`).
//! `eval-ucb` at low noise is judged from its second round on, because its first is a blind draw.
//!
//! Some claims blame an error on learning from all samples. They are compared with a policy that
//! learns from random picks alone; if that policy does no better, the claim holds and says little.

use super::finding::{Finding, LINEAR, PaperClaim, STAYS, judge_at_most, judge_linear, judge_sign, number};
use super::parts::{HORIZON, RATIOS, SimulationKey};
use super::{FinishedExperiment, PaperPart, Plan, ReproductionReport, theorem};
use crate::setting::Truncation;
use crate::statistics::log_slope;
use jurybox::Interval;
use jurybox::Link;

pub(super) fn add(
    plan: &Plan,
    done: &[(SimulationKey, FinishedExperiment)],
    report: &mut ReproductionReport,
) {
    let find = |key: SimulationKey| done.iter().find(|(k, _)| *k == key).map(|(_, outcome)| outcome);
    let mut claims = Vec::new();
    for truncation in [Truncation::Interval, Truncation::Symmetric] {
        let reading = if truncation == Truncation::Interval { "interval" } else { "symmetric" };
        if let Some(outcome) = find(SimulationKey::Main(Link::Logistic, truncation)) {
            if plan.has(PaperPart::Fig1b) {
                estimation_bias(&mut claims, outcome, reading);
            }
            if plan.has(PaperPart::Fig1c) {
                logistic_growth(&mut claims, outcome, reading);
            }
            if plan.has(PaperPart::Horizons) {
                claims.push(horizons(plan, outcome, reading));
            }
        }
    }
    if let Some(outcome) = find(SimulationKey::Main(Link::Identity, Truncation::Interval)) {
        linear_growth(&mut claims, outcome);
    }
    for link in [Link::Identity, Link::Logistic] {
        let regimes: Vec<&FinishedExperiment> =
            RATIOS.iter().filter_map(|r| find(SimulationKey::Appendix(link, *r))).collect();
        if let [noisy, middle, clear] = regimes[..] {
            fading_bias(&mut claims, link, [noisy, middle, clear]);
            clear_regime(&mut claims, link, clear);
            noisy_regime(&mut claims, link, noisy);
            theorem::bounds(&mut claims, link, &regimes);
        }
    }
    report.claims.append(&mut claims);
}

/// The claim that a policy's regret grows linearly, with a note if the log-log slope of the whole
/// regret (the first rule) gives another finding.
fn linear_claim(
    id: String,
    paper: &str,
    outcome: &FinishedExperiment,
    name: &str,
    prefix: &str,
) -> PaperClaim {
    let (finding, first_rule) =
        (judge_linear(outcome.growth(name)), judge_linear(outcome.regret_slope(name)));
    let note = if finding == first_rule {
        String::new()
    } else {
        format!(
            "by the slope of the whole sum, the rule used before the first full run was seen: {first_rule}"
        )
    };
    PaperClaim {
        note,
        ..PaperClaim::new(id, paper, format!("{prefix}{}", outcome.growth_in_words(name)), finding)
    }
}

/// Weakens a reproduced claim to "says little" if `too` is set; its note then says `why`.
fn but_chance_does_too(claim: PaperClaim, too: bool, why: String) -> PaperClaim {
    if !too || claim.finding != Finding::Reproduced {
        return claim;
    }
    let note = if claim.note.is_empty() { why } else { format!("{}; {why}", claim.note) };
    PaperClaim { note, finding: Finding::HoldsSaysLittle, ..claim }
}

/// Reproduced if an error falls with t over the last decade of rounds.
fn error_falls(outcome: &FinishedExperiment, name: &str) -> Finding {
    judge_sign(outcome.error_slope(name).plus(-STAYS).times(-1.0))
}

fn estimation_bias(claims: &mut Vec<PaperClaim>, outcome: &FinishedExperiment, reading: &str) {
    let (explored, all) = ("glm-eps-greedy", "glm-eps-greedy-all");
    let above = |slope: Interval| slope.plus(-STAYS);
    let error = |name: &str| number(Interval::of(&outcome.errors(name)));
    let slope = outcome.error_slope(explored);
    let falls = error_falls(outcome, explored);
    claims.push(PaperClaim::new(
        format!("error-of-eps-greedy-falls-{reading}"),
        "Fig. 1b: the error of glm-eps-greedy's alpha decreases over time",
        format!(
            "log-log slope of the error over the last decade {}; error at T {}",
            number(slope),
            error(explored)
        ),
        falls,
    ));
    let slope = outcome.error_slope(all);
    let more = Interval::of_differences(&outcome.errors(all), &outcome.errors(explored));
    // Sampling error would fall as t^(-1/2) with the round t; an error that stays is bias.
    let stays = PaperClaim::new(
        format!("error-of-all-samples-stays-{reading}"),
        "Fig. 1b: the error of glm-eps-greedy-all has a residual bias",
        format!(
            "slope of the error over the last decade {}; error at T {}, above glm-eps-greedy's by {}",
            number(slope),
            error(all),
            number(more)
        ),
        judge_sign(above(slope)),
    );
    let why = "the error of glm-eps-greedy, which learns from random picks alone, does not fall \
               either: under this reading the choice is not the only cause of the bias";
    claims.push(but_chance_does_too(stays, falls != Finding::Reproduced, why.into()));
}

fn logistic_growth(claims: &mut Vec<PaperClaim>, outcome: &FinishedExperiment, reading: &str) {
    for name in ["glm-esag", "glm-lin-ucb"] {
        let less = Interval::of_differences(&outcome.regrets("glm-eps-greedy"), &outcome.regrets(name));
        claims.push(linear_claim(
            format!("{name}-keeps-growing-{reading}"),
            "Fig. 1c: glm-esag and glm-lin-ucb have linear regret that keeps increasing",
            outcome,
            name,
            "",
        ));
        claims.push(PaperClaim::new(
            format!("{name}-below-eps-greedy-{reading}"),
            "Fig. 1c: glm-esag and glm-lin-ucb have better regret than glm-eps-greedy (at the horizon shown)",
            format!("regret of glm-eps-greedy minus that of {name} at T: {}", number(less)),
            judge_sign(less),
        ));
    }
}

/// Theorem 1's exponent over horizons, because eps, and so the growth of regret, is constant within
/// a run.
fn horizons(plan: &Plan, outcome: &FinishedExperiment, reading: &str) -> PaperClaim {
    let slopes: Vec<f64> = outcome
        .records
        .iter()
        .filter_map(|record| {
            let over_horizons = outcome.experiment.contenders.iter().zip(&record.tracks);
            let chosen = over_horizons.filter(|(contender, _)| {
                contender.label.starts_with(HORIZON) || contender.label == "glm-eps-greedy"
            });
            log_slope(chosen.map(|(contender, track)| {
                let horizon = contender.stop.unwrap_or(plan.simulated_rounds());
                (horizon as f64, track.relative_regret.last().copied().unwrap_or(0.0))
            }))
        })
        .collect();
    let slope = Interval::of(&slopes);
    PaperClaim {
        note: "eps = T^(-1/3) is constant within a run, so the exponent is over horizons, not over rounds"
            .into(),
        ..PaperClaim::new(
            format!("glm-eps-greedy-exponent-{reading}"),
            "Fig. 1c, Theorem 1: glm-eps-greedy is sublinear, of order T^(2/3)",
            format!(
                "exponent of R_T over horizons T = {} to {}, eps = T^(-1/3): {}",
                plan.simulated_rounds() >> 4,
                plan.simulated_rounds(),
                number(slope)
            ),
            judge_at_most(slope, 2.0 / 3.0),
        )
    }
}

fn linear_growth(claims: &mut Vec<PaperClaim>, outcome: &FinishedExperiment) {
    let growth = outcome.growth("esag");
    let sublinear = judge_sign(growth.times(-1.0).plus(LINEAR));
    claims.push(PaperClaim::new(
        "esag-sublinear".into(),
        "Fig. 1d: esag has sublinear regret in the linear case with high noise",
        outcome.growth_in_words("esag"),
        sublinear,
    ));
    let others = ["greedy", "eps-greedy-all", "lin-ucb", "eval-ucb"];
    let too: Vec<String> = others
        .into_iter()
        .filter(|name| judge_at_most(outcome.growth(name), 0.5) == Finding::Reproduced)
        .map(|name| format!("{name} ({:.2})", outcome.growth(name).mean))
        .collect();
    let too = if too.is_empty() {
        "no other policy passes this rule".into()
    } else {
        format!("policies without the theorem pass this rule too: {}", too.join(", "))
    };
    claims.push(PaperClaim {
        note: format!("the theorem is an upper bound: slower growth does not contradict it; {too}"),
        ..PaperClaim::new(
            "esag-exponent".into(),
            "Theorem 2: esag's regret is at most of order sqrt(T)",
            outcome.growth_in_words("esag"),
            judge_at_most(growth, 0.5),
        )
    });
    for name in others {
        let paper = "Fig. 1d: the other algorithms have linear regret";
        let claim = linear_claim(format!("{name}-linear"), paper, outcome, name, "");
        // Exploration costs as much in every round, so compare with the policy without exploration.
        let without = outcome.growth("greedy");
        let explores = name == "eps-greedy-all" && judge_linear(without) == Finding::NotReproduced;
        let why = format!(
            "without exploration it is greedy, whose regret grows with an exponent of {}: the \
             share of random picks grows linearly for every policy",
            number(without)
        );
        claims.push(but_chance_does_too(claim, explores, why));
    }
    let lead = Interval::of_differences(&outcome.regrets("lin-ucb"), &outcome.regrets("eval-ucb"));
    claims.push(PaperClaim::new(
        "eval-ucb-beats-lin-ucb-high-noise".into(),
        "Sect. 6.1.2: EvalBasedUCB outperforms LinUCB (linear, high noise)",
        format!("regret of lin-ucb minus that of eval-ucb at T: {}", number(lead)),
        judge_sign(lead),
    ));
}

fn prefix(link: Link) -> (&'static str, &'static str) {
    if link == Link::Identity { ("linear", "") } else { ("logistic", "glm-") }
}

fn fading_bias(claims: &mut Vec<PaperClaim>, link: Link, regimes: [&FinishedExperiment; 3]) {
    let (form, glm) = prefix(link);
    let name = format!("{glm}greedy");
    let errors = regimes.map(|outcome| Interval::of(&outcome.errors(&name)));
    let falls =
        |a: Interval, b: Interval| Interval::around(a.mean - b.mean, a.half_width().hypot(b.half_width()));
    let steps = [judge_sign(falls(errors[0], errors[1])), judge_sign(falls(errors[1], errors[2]))];
    let finding = if steps.contains(&Finding::NotReproduced) {
        Finding::NotReproduced
    } else if steps.contains(&Finding::CannotTell) {
        Finding::CannotTell
    } else {
        Finding::Reproduced
    };
    let explored = format!("{glm}eps-greedy");
    let chance = regimes.map(|outcome| number(Interval::of(&outcome.errors(&explored))));
    let biased = regimes
        .iter()
        .zip(RATIOS)
        .filter(|(outcome, _)| error_falls(outcome, &explored) != Finding::Reproduced);
    let biased: Vec<String> = biased.map(|(_, ratio)| ratio.to_string()).collect();
    let claim = PaperClaim::new(
        format!("bias-fades-{form}"),
        "App.: as alpha0/sigma0 grows, the effect of the noise correlation becomes less and less relevant",
        format!(
            "error of {name}'s alpha at T: {} at ratio 0.1, {} at 1, {} at 10; of {explored}, which learns from random \
             picks alone: {}",
            number(errors[0]),
            number(errors[1]),
            number(errors[2]),
            chance.join(", ")
        ),
        finding,
    );
    let why = format!(
        "the error of {explored} does not fall with t at ratio {}: the choice is not the only cause",
        biased.join(", ")
    );
    claims.push(but_chance_does_too(claim, !biased.is_empty(), why));
}

fn clear_regime(claims: &mut Vec<PaperClaim>, link: Link, clear: &FinishedExperiment) {
    let (form, glm) = prefix(link);
    let (ours, theirs) = (format!("{glm}eval-ucb"), format!("{glm}lin-ucb"));
    let later = Interval::of_differences(
        &clear.regrets_after_the_first(&theirs),
        &clear.regrets_after_the_first(&ours),
    );
    let whole = Interval::of_differences(&clear.regrets(&theirs), &clear.regrets(&ours));
    let first = Interval::of_differences(&clear.regrets(&ours), &clear.regrets_after_the_first(&ours));
    claims.push(PaperClaim {
        note: format!(
            "{ours} draws its first round blindly, before any reward is seen, while {theirs} begins with the largest \
             scores; over all rounds: {}",
            judge_sign(whole)
        ),
        ..PaperClaim::new(
            format!("eval-ucb-beats-lin-ucb-low-noise-{form}"),
            "App.: at large alpha0/sigma0 EvalBasedUCB performs particularly well",
            format!(
                "ratio 10: regret of {theirs} minus that of {ours} at T, from round 2 on: {}; over all rounds: {}; first \
                 round of {ours}: {}",
                number(later),
                number(whole),
                number(first)
            ),
            judge_sign(later),
        )
    });
}

fn noisy_regime(claims: &mut Vec<PaperClaim>, link: Link, noisy: &FinishedExperiment) {
    let (form, glm) = prefix(link);
    let explored = format!("{glm}eps-greedy 0.1 T^-1/3");
    let chance = noisy.growth(&explored);
    for name in [format!("{glm}eps-greedy-all 0.1 T^-1/3"), format!("{glm}eval-ucb")] {
        let claim = linear_claim(
            format!("{}-linear-high-noise-{form}", name.replace([' ', '^', '/'], "-")),
            "App.: at small alpha0/sigma0 the algorithms that use all samples suffer linear regret",
            noisy,
            &name,
            "ratio 0.1, ",
        );
        let measured = format!(
            "{}; growth exponent of {explored}, which learns from random picks alone, {}; regrets \
             at T {} and {}",
            claim.measured,
            number(chance),
            number(Interval::of(&noisy.regrets(&name))),
            number(Interval::of(&noisy.regrets(&explored)))
        );
        let why = format!(
            "the regret of {explored} is not seen to grow more slowly than linearly either: using all samples is not shown \
             to be the cause"
        );
        let claim = PaperClaim { measured, ..claim };
        claims.push(but_chance_does_too(claim, judge_linear(chance) != Finding::NotReproduced, why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_random_picks_may_do_as_well_says_little() {
        let claim = |finding| PaperClaim::new("x".into(), "", String::new(), finding);
        for (finding, too, expected) in [
            (Finding::Reproduced, true, Finding::HoldsSaysLittle),
            (Finding::Reproduced, false, Finding::Reproduced),
            (Finding::NotReproduced, true, Finding::NotReproduced),
            (Finding::CannotTell, true, Finding::CannotTell),
        ] {
            let judged = but_chance_does_too(claim(finding), too, "why".into());
            assert_eq!(
                (judged.finding, judged.note == "why"),
                (expected, expected == Finding::HoldsSaysLittle)
            );
        }
    }
}

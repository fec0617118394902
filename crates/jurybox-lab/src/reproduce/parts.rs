//! The parts of the paper, and the simulations that they need.

use super::Plan;
use crate::contender::Contender;
use crate::runner::Experiment;
use crate::setting::{Setting, Truncation};
use jurybox::{Link, Spec};

/// A part of the paper that can be reproduced by itself.
///
/// ```
/// use jurybox_lab::PaperPart;
/// assert_eq!("fig1c".parse::<PaperPart>(), Ok(PaperPart::Fig1c));
/// assert!("fig9".parse::<PaperPart>().unwrap_err().contains("fig1a"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaperPart {
    /// Fig. 1a: the oracle's gap by number of evaluators.
    Fig1a,
    /// Fig. 1b: error of the estimated gains, logistic.
    Fig1b,
    /// Fig. 1c: regret, logistic.
    Fig1c,
    /// Fig. 1d: regret, linear, high noise.
    Fig1d,
    /// The appendix's linear figures at three signal-to-noise ratios.
    AppendixLinear,
    /// The appendix's logistic figures at three signal-to-noise ratios.
    AppendixLogistic,
    /// Theorem 1's T^(2/3), over doubling horizons.
    Horizons,
    /// Theorem 3's certificate.
    Theorem3,
    /// Tables 1 and 2, on public content-review data.
    Tables,
    /// The Jester experiment.
    Jester,
}

impl PaperPart {
    /// All parts.
    pub const ALL: [PaperPart; 10] = [
        PaperPart::Fig1a,
        PaperPart::Fig1b,
        PaperPart::Fig1c,
        PaperPart::Fig1d,
        PaperPart::AppendixLinear,
        PaperPart::AppendixLogistic,
        PaperPart::Horizons,
        PaperPart::Theorem3,
        PaperPart::Tables,
        PaperPart::Jester,
    ];

    /// The part's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            PaperPart::Fig1a => "fig1a",
            PaperPart::Fig1b => "fig1b",
            PaperPart::Fig1c => "fig1c",
            PaperPart::Fig1d => "fig1d",
            PaperPart::AppendixLinear => "appendix-linear",
            PaperPart::AppendixLogistic => "appendix-logistic",
            PaperPart::Horizons => "horizons",
            PaperPart::Theorem3 => "theorem3",
            PaperPart::Tables => "tables",
            PaperPart::Jester => "jester",
        }
    }
}

impl std::str::FromStr for PaperPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        PaperPart::ALL.into_iter().find(|part| part.name() == text).ok_or_else(|| {
            let names: Vec<&str> = PaperPart::ALL.iter().map(|part| part.name()).collect();
            format!("there is no such part; there are {}", names.join(", "))
        })
    }
}

/// Identifies a simulation that reproduces a part of the paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SimulationKey {
    /// Fig. 1a with this number of evaluators.
    Gap(Link, Truncation, usize),
    /// The main text's size: 20 items in a round.
    Main(Link, Truncation),
    /// The appendix's size: 60 items in a round, at this signal-to-noise ratio.
    Appendix(Link, f64),
}

/// Numbers of evaluators in Fig. 1a.
pub(super) const JURIES: [usize; 8] = [1, 2, 5, 10, 20, 50, 100, 200];

/// Signal-to-noise ratios of the appendix.
pub(super) const RATIOS: [f64; 3] = [0.1, 1.0, 10.0];

/// The links, with both ways to truncate noise for the logistic one. The identity link truncates
/// nothing.
pub(super) const READINGS: [(Link, Truncation); 3] = [
    (Link::Identity, Truncation::Interval),
    (Link::Logistic, Truncation::Interval),
    (Link::Logistic, Truncation::Symmetric),
];

/// The simulations that a plan needs.
pub(super) fn experiments(plan: &Plan) -> Vec<(SimulationKey, Experiment)> {
    let mut all = Vec::new();
    let base = Setting { rounds: plan.simulated_rounds(), ..Setting::default() };
    let mut add = |key: SimulationKey, setting: Setting, contenders: Vec<Contender>| {
        all.push((key, Experiment { setting, contenders, seed: plan.seed, runs: plan.simulated_runs() }));
    };
    let main = |link, truncation| Setting {
        link,
        truncation,
        items: 20,
        ratio: if link == Link::Identity { 0.1 } else { 1.0 },
        ..base.clone()
    };
    if plan.has(PaperPart::Fig1a) {
        for (link, truncation) in READINGS {
            for evaluators in JURIES {
                let setting = Setting {
                    evaluators,
                    ratio: 1.0,
                    rounds: plan.simulated_rounds().min(100),
                    ..main(link, truncation)
                };
                add(SimulationKey::Gap(link, truncation, evaluators), setting, vec![named("average")]);
            }
        }
    }
    if [PaperPart::Fig1b, PaperPart::Fig1c, PaperPart::Horizons].into_iter().any(|part| plan.has(part)) {
        for truncation in [Truncation::Interval, Truncation::Symmetric] {
            let key = SimulationKey::Main(Link::Logistic, truncation);
            let mut line_up = contenders(Link::Logistic, false);
            line_up.extend(
                plan.has(PaperPart::Horizons)
                    .then(|| shorter_horizons(plan.simulated_rounds()))
                    .into_iter()
                    .flatten(),
            );
            add(key, main(Link::Logistic, truncation), line_up);
        }
    }
    if plan.has(PaperPart::Fig1d) {
        let (link, truncation) = READINGS[0];
        add(SimulationKey::Main(link, truncation), main(link, truncation), contenders(link, false));
    }
    for (part, link) in
        [(PaperPart::AppendixLinear, Link::Identity), (PaperPart::AppendixLogistic, Link::Logistic)]
    {
        for ratio in RATIOS.into_iter().filter(|_| plan.has(part)) {
            add(
                SimulationKey::Appendix(link, ratio),
                Setting { link, ratio, ..base.clone() },
                contenders(link, true),
            );
        }
    }
    all
}

/// `glm-eps-greedy` for horizons of a half, a quarter, an eighth and a sixteenth of T.
fn shorter_horizons(rounds: u64) -> Vec<Contender> {
    (1..5)
        .map(|halvings| rounds >> halvings)
        .map(|stop| Contender {
            stop: Some(stop),
            ..named("glm-eps-greedy").called(&format!("{HORIZON}{stop}"))
        })
        .collect()
}

/// Prefix of the labels of shorter horizons.
pub(super) const HORIZON: &str = "glm-eps-greedy for T = ";

fn named(name: &str) -> Contender {
    Contender::of(Spec::new(name))
}

/// The power p of an exploration rate `scale * T^-p`, and its text.
const THIRD: (f64, &str) = (1.0 / 3.0, "1/3");
const HALF: (f64, &str) = (0.5, "1/2");

/// The paper's policies, with the exploration rates of the main text or of the appendix.
fn contenders(link: Link, appendix: bool) -> Vec<Contender> {
    let glm = if link == Link::Identity { "" } else { "glm-" };
    let form = |name: &str| named(&format!("{glm}{name}"));
    let rate = |name: &str, scale: f64, (power, text): (f64, &str)| {
        let spec = Spec::new(format!("{glm}{name}")).with("scale", scale).with("power", power);
        Contender::of(spec).called(&format!("{glm}{name} {scale} T^-{text}"))
    };
    let mut all = vec![
        form("esag"),
        form("lin-ucb"),
        form("eval-ucb"),
        form("eps-greedy"),
        // In the same position in both line-ups, so that the policy has one colour in all figures.
        if appendix { rate("eps-greedy-all", 0.1, THIRD) } else { form("eps-greedy-all") },
    ];
    all.push(named("average"));
    // As in the paper, the main text leaves out most policies with a large regret.
    if appendix || link == Link::Identity {
        all.push(form("greedy"));
    }
    if appendix {
        all.extend(["rand", "exp4p", "uniform"].map(named));
        all.push(rate("eps-greedy", 0.1, THIRD));
        all.push(rate("eps-greedy", 0.1, HALF));
        all.push(rate("eps-greedy-all", 0.1, HALF));
    }
    all
}

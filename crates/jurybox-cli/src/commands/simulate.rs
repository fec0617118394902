//! `jurybox simulate`: policies compared on a simulated review queue. Its data are those of the
//! paper "Top K Ranking for Multi-Armed Bandit with Noisy Evaluations".

use super::columns::OUTPUT;
use super::lab;
use crate::messages::{next, say};
use crate::output;
use clap::ValueEnum;
use jurybox::Link;
use jurybox_lab::{
    Contender, Experiment, Extensions, Running, Setting, SimulatedDrift, Summary, Truncation, run_all,
};
use std::fmt::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  # Two policies on a small queue
  jurybox simulate --rounds 100 --runs 4 --policies esag,average
  # With figures, and an evaluator that scores against the reward
  jurybox simulate --rounds 100 --runs 4 --policies esag,average --inverted 1 --out curves";

/// Compare policies on a simulated review queue
///
/// The data are those of the paper's synthetic experiments; the options under "Extensions" add
/// the troubles of real data. All policies see the same items, and know what the paper gives them
/// (noise levels, horizon). Regret is against an oracle that knows every evaluator.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Link from rewards to scores
    #[arg(long, value_enum, default_value = "identity")]
    link: LinkArg,
    /// alpha0/sigma0, the signal-to-noise ratio of evaluators; 0.1 is very noisy
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true)]
    ratio: f64,
    /// J, the number of evaluators
    #[arg(long, default_value_t = 10)]
    evaluators: usize,
    /// K_t, the number of items per round
    #[arg(long, default_value_t = 60)]
    items: usize,
    /// K, the number of picks per round
    #[arg(long, default_value_t = 10)]
    k: usize,
    /// T, the number of rounds
    #[arg(long, default_value_t = 2000)]
    rounds: u64,
    /// Independent runs
    #[arg(long, default_value_t = 20)]
    runs: u64,
    /// Seed of all draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How noise is truncated with a bounded link: to keep scores in (0, 1), or symmetrically to
    /// keep its mean
    #[arg(long, value_enum, default_value = "interval")]
    truncation: TruncationArg,
    /// Policies with options, such as 'esag,eps-greedy(eps=0.1)' [default: all that fit the link]
    #[arg(long)]
    policies: Option<String>,
    /// Threads; results do not depend on it [default: all cores]
    #[arg(long)]
    threads: Option<usize>,
    /// Folder for curves.csv, relative-regret.svg, ..., and for finished runs, which are reused
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
    #[command(flatten)]
    extensions: ExtensionArgs,
}

/// Departures of the simulated data from the paper's.
#[derive(clap::Args)]
#[command(next_help_heading = "Extensions")]
struct ExtensionArgs {
    /// Evaluators add offsets drawn from U[-X, X]
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    intercepts: f64,
    /// Evaluators report in units drawn from 10^U[-X, X] (identity link)
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    units: f64,
    /// Number of evaluators whose scores do not depend on the reward
    #[arg(long, value_name = "N", default_value_t = 0)]
    useless: usize,
    /// Number of evaluators that score against the reward
    #[arg(long, value_name = "N", default_value_t = 0)]
    inverted: usize,
    /// Number of evaluators with a shared error; use with --rho
    #[arg(long, value_name = "M", default_value_t = 0)]
    correlated: usize,
    /// Correlation of the shared error
    #[arg(long, default_value_t = 0.0)]
    rho: f64,
    /// Noise grows with the reward: sigma * (1 + X r)
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    reward_noise_growth: f64,
    /// Evaluators see r^p, with ln p drawn from U[-X, X]
    #[arg(long, value_name = "X", default_value_t = 0.0)]
    curvature: f64,
    /// Each score is missing with this probability
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    missing: f64,
    /// The first evaluator gives no scores in these rounds, such as 500-800
    #[arg(long, value_name = "FIRST-LAST", value_parser = outage)]
    outage: Option<(u64, u64)>,
    /// Evaluators swap their qualities, half way through or slowly
    #[arg(long, value_enum, default_value = "none")]
    drift: DriftArg,
    /// Standard deviation of the noise in verdicts
    #[arg(long, value_name = "SD", default_value_t = 0.0)]
    reward_noise: f64,
    /// Delay of verdicts, in rounds
    #[arg(long, value_name = "ROUNDS", default_value_t = 0)]
    delay: u64,
    /// K_t varies between N and --items
    #[arg(long, value_name = "N")]
    items_min: Option<usize>,
    /// Items that were not picked stay in the pool
    #[arg(long)]
    persistent: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum LinkArg {
    Identity,
    Logistic,
    Probit,
}

#[derive(Clone, Copy, ValueEnum)]
enum TruncationArg {
    Interval,
    Symmetric,
}

#[derive(Clone, Copy, ValueEnum)]
enum DriftArg {
    None,
    Swap,
    Slow,
}

fn outage(text: &str) -> Result<(u64, u64), String> {
    text.split_once('-')
        .and_then(|(first, last)| Some((first.trim().parse().ok()?, last.trim().parse().ok()?)))
        .ok_or_else(|| "write FIRST-LAST, such as 500-800".into())
}

impl Args {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let experiment = self.experiment()?;
        experiment.check()?;
        let out = self.out.as_deref().map(lab::writable).transpose()?;
        lab::use_threads(self.threads)?;

        let keep = out.as_ref().map(|out| out.join("runs"));
        let bar = lab::progress_bar("simulating");
        let progress = |done: usize, total: usize| {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        };
        let how = Running { keep: keep.as_deref(), progress: Some(&progress), stop: Some(lab::stop_flag()) };
        let records = run_all(std::slice::from_ref(&experiment), &how);
        bar.finish_and_clear();
        let records = match records {
            Err(error @ jurybox_lab::Error::Interrupted { .. }) if keep.is_some() => {
                anyhow::bail!("{error}; they are kept: repeat the command to go on")
            }
            Err(error @ jurybox_lab::Error::Interrupted { .. }) => {
                anyhow::bail!("{error}; to keep finished runs, pass --out DIR")
            }
            other => other?,
        };
        let summary = Summary::of(&experiment, &records[0]);
        if let Some(out) = &out {
            lab::write(&out.join("curves.csv"), &summary.to_csv())?;
            lab::write(&out.join("summary.json"), &serde_json::to_string_pretty(&summary)?)?;
            for (name, plot) in summary.plots() {
                lab::write(&out.join(format!("{name}.svg")), &plot.to_svg())?;
            }
            say(format_args!("Wrote curves and figures to {}.", out.display()));
        }
        if self.json {
            output::versioned("simulate", &summary)?;
        } else {
            output::text_to_stdout(&table(&summary)?)?;
        }
        next(format_args!("replay FILE --reward COLUMN, the same comparison on your own history"));
        Ok(())
    }

    fn experiment(&self) -> anyhow::Result<Experiment> {
        let t = &self.extensions;
        let link = match self.link {
            LinkArg::Identity => Link::Identity,
            LinkArg::Logistic => Link::Logistic,
            LinkArg::Probit => Link::Probit,
        };
        let twists = Extensions {
            intercepts: t.intercepts,
            units: t.units,
            useless: t.useless,
            inverted: t.inverted,
            correlated: t.correlated,
            rho: t.rho,
            reward_noise_growth: t.reward_noise_growth,
            curvature: t.curvature,
            missing: t.missing,
            outage: t.outage,
            drift: match t.drift {
                DriftArg::None => SimulatedDrift::None,
                DriftArg::Swap => SimulatedDrift::Swap,
                DriftArg::Slow => SimulatedDrift::Slow,
            },
            reward_noise: t.reward_noise,
            delay: t.delay,
            items_min: t.items_min,
            persistent: t.persistent,
        };
        let setting = Setting {
            link,
            ratio: self.ratio,
            evaluators: self.evaluators,
            items: self.items,
            k: self.k,
            rounds: self.rounds,
            truncation: match self.truncation {
                TruncationArg::Interval => Truncation::Interval,
                TruncationArg::Symmetric => Truncation::Symmetric,
            },
            extensions: twists,
        };
        let contenders = match &self.policies {
            None => Contender::all_that_fit(link),
            Some(list) => Contender::list(list)?,
        };
        Ok(Experiment { setting, contenders, seed: self.seed, runs: self.runs })
    }
}

fn table(summary: &Summary) -> anyhow::Result<String> {
    let mut text = String::new();
    let width = summary.policies.iter().map(|policy| policy.name.len()).max().unwrap_or(0).max(6);
    writeln!(
        text,
        "oracle: reward {:.1}, {:.1}% of the best possible picks\n",
        summary.oracle.reward,
        100.0 * summary.oracle.share_of_best
    )?;
    writeln!(
        text,
        "{:width$}  {:>21}  {:>21}  {:>9}  {:>11}",
        "policy", "relative regret", "absolute regret", "of oracle", "alpha error"
    )?;
    let estimate = |e: jurybox::Interval| {
        if e.half_width().is_finite() {
            format!("{:.1} ± {:.1}", e.mean, e.half_width())
        } else {
            format!("{:.1}", e.mean)
        }
    };
    let mut best_first: Vec<_> = summary.policies.iter().collect();
    best_first.sort_by(|a, b| a.relative_regret.mean.total_cmp(&b.relative_regret.mean));
    for policy in best_first {
        writeln!(
            text,
            "{:width$}  {:>21}  {:>21}  {:>8.1}%  {:>11}",
            policy.name,
            estimate(policy.relative_regret),
            estimate(policy.absolute_regret),
            100.0 * policy.reward_share_of_oracle,
            policy.alpha_error.map_or(String::from("-"), |error| format!("{error:.4}"))
        )?;
    }
    Ok(text)
}

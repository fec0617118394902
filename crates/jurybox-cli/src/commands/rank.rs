//! `jurybox rank`: the K best rows of files.

use super::columns::{COLUMNS, ColumnArgs, CommandColumns, OUTPUT, warn};
use super::fit_warnings::{self, FitWarnings};
use super::names::NameNumbers;
use super::state::check_outputs;
use super::table_output::TableOutput;
use crate::messages::{next, shell, wrote};
use crate::{advice, messages, output};
use anyhow::Context;
use jurybox::{Evaluators, Jury, Spec};
use jurybox_files::{
    AllowedChange, EvaluatorChange, Format, PickNote, RankOptions, Ranker, Ranking, State, SurveyScope,
    SurveySize, Table, Warning, by_evaluator, counted, new_jury, rank, score_all, survey,
};
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  # The ten best posts, without any label
  jurybox rank posts.csv -k 10 --id post_id
  # By a learnt state, with the contribution of every evaluator
  jurybox rank posts.csv -k 10 --id post_id --state model.json --explain --out top.csv";

/// Rank the rows of files and write the K best, best first
///
/// Without a state, the policy first measures the scores themselves. With --state it ranks by what
/// `jurybox learn` has learnt. Other columns are written unchanged.
///
/// This is a plain list: it explores nothing and changes no state. To learn from the verdicts on
/// it, use `jurybox pick`.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    columns: ColumnArgs,
    /// How many rows to keep [default: 100; with --min-reward, no limit]
    #[arg(short, long)]
    k: Option<usize>,
    /// Keep the rows with at least this expected reward; needs the --state of a policy that expects
    /// rewards
    #[arg(long, value_name = "REWARD", allow_hyphen_values = true, conflicts_with = "all")]
    min_reward: Option<f64>,
    /// How to rank, such as 'esag' or 'average'; see `jurybox policies`
    #[arg(long)]
    policy: Option<Spec>,
    /// A state as written by `jurybox learn` or `pick`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policy", "weights", "sigma"])]
    state: Option<PathBuf>,
    /// Noise levels of evaluators, such as spam=0.1,abuse=0.3; the default policy is then esag
    /// [default: estimated]
    #[arg(long, value_name = "NAME=SIGMA", conflicts_with = "weights")]
    sigma: Vec<NameNumbers>,
    /// Measure the scores on every row; above 262144 rows of steady scores the policy takes a
    /// sample
    #[arg(long, conflicts_with_all = ["state", "weights"])]
    every_row: bool,
    /// Fixed weights instead of a policy, such as spam=0.2,abuse=0.5
    #[arg(long, value_name = "NAME=WEIGHT", conflicts_with = "policy")]
    weights: Vec<NameNumbers>,
    /// A column of past rewards: not an evaluator
    #[arg(long, value_name = "COLUMN", help_heading = COLUMNS)]
    reward: Option<String>,
    /// A column of rounds: not an evaluator
    #[arg(long, value_name = "COLUMN", help_heading = COLUMNS)]
    round: Option<String>,
    /// Keep the K best rows of each value of this column
    #[arg(long, value_name = "COLUMN", conflicts_with = "all", help_heading = COLUMNS)]
    group: Option<String>,
    /// Add the contribution of each evaluator: `base` and the columns `by_NAME` sum to the score
    #[arg(long, conflicts_with = "all", help_heading = OUTPUT)]
    explain: bool,
    /// Write every row with its score, in the order of the file
    #[arg(long, conflicts_with = "json", help_heading = OUTPUT)]
    all: bool,
    /// Output file; its name says the format: .csv, .jsonl or .parquet, with .gz or .zst [default:
    /// standard output]
    #[arg(long, short, value_name = "FILE", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    #[command(flatten)]
    table: TableOutput,
    /// Seed of the order of equal scores
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let options = RankOptions {
            k: limit(self.k, self.min_reward),
            min_reward: self.min_reward,
            seed: self.seed,
            explain: self.explain,
            grouped: self.group.is_some(),
        };
        options.check()?;
        output::uses_stdout(&self.out, self.json)?;
        let state = self.state.as_deref().map(State::read).transpose()?;
        let calibrated = self.min_reward.map(|_| state.as_ref().is_some_and(State::is_calibrated));
        let (state, memory) = state.map(|state| (state.jury, state.memory)).unzip();
        let known = state.as_ref().map_or(&[][..], |jury| jury.evaluators().as_slice());
        let one_pass = state.is_some() || !self.weights.is_empty() || !self.surveys_first();
        let table = self.columns.open(&CommandColumns {
            key: self.group.as_ref(),
            aside: self.reward.iter().chain(&self.round).cloned().collect(),
            known,
            memory: memory.as_ref(),
            again: !one_pass,
            ..CommandColumns::default()
        })?;
        check_outputs(&table, self.state.as_slice(), &self.out)?;
        if let Some(reward) = self.reward.as_ref().filter(|_| state.is_none() && self.weights.is_empty()) {
            messages::warn(&format!(
                "`{reward}` is not used: to rank by it, run `jurybox learn FILE --reward {reward} --state STATE` first, then rank with --state STATE"
            ));
        }
        let (judge, survey) = self.judge(&table, state)?;
        if let Ranker::Fitted(fitted) = &judge {
            fit_warnings::print(fitted);
        }
        if let Ranker::Fitted(fitted) = &judge
            && judge.explores()
        {
            self.columns.say(format_args!(
                "This is a plain list: `jurybox pick` explores as `{}` does.",
                fitted.spec()
            ));
        }
        if self.all {
            let out = self.out.clone().unwrap_or_else(|| "-".into());
            let rows = score_all(&table, &judge, &out, self.table.layout(text_format(table.format())))?;
            self.columns.say(format_args!("Scored {}.", counted(rows, "row")));
            self.finish();
            return Ok(());
        }
        let ranking = rank(&table, &judge, options)?;
        if !ranking.is_in_order() {
            warn(&Warning::NoOrder { path: table.path().into(), rows: ranking.rows() });
        }
        if let Some(least) = self.min_reward {
            let calibrated = calibrated == Some(true);
            self.columns.say(format_args!(
                "{} of {} with {} of {least} or more{}.",
                ranking.winners().len(),
                counted(ranking.rows(), "row"),
                if calibrated { "an expected reward" } else { "a value" },
                self.k.map_or(String::new(), |k| format!(", at most {k}"))
            ));
            if !calibrated {
                let advice = advice::ON_CHOSEN_LABELS;
                self.columns.say(format_args!("warning: {}; {advice}", PickNote::NotCalibrated));
            }
        } else if options.k as u64 > ranking.rows() {
            self.columns.say(format_args!(
                "warning: k = {}, but there are only {}: all are ranked",
                options.k,
                counted(ranking.rows(), "row")
            ));
        }
        if let Some(out) = &self.out {
            ranking.write(&table, out, self.table.layout(text_format(table.format())))?;
        }
        if self.json {
            self.document(&table, &judge, &ranking, survey, calibrated)?;
        } else if self.out.is_none() {
            ranking.write(&table, Path::new("-"), self.table.layout(Format::Csv))?;
        }
        self.finish();
        Ok(())
    }

    /// Names the file written and the next command: `learn` if a reward column but no state was
    /// given, else `pick`.
    fn finish(&self) {
        wrote(self.out.as_deref());
        let (files, id) = (self.columns.files_argument(), self.columns.id_argument());
        if let (Some(reward), None) = (&self.reward, &self.state) {
            return next(format_args!(
                "learn {files} --id {id} --reward {} --state model.json",
                shell(reward)
            ));
        }
        let state = self.state.as_ref().map_or("model.json".into(), |state| shell(state.display()));
        let k = self.k.map_or(String::new(), |k| format!(" -k {k}"));
        next(format_args!("pick {files} --id {id}{k} --state {state} --out picks.csv"));
    }

    /// Whether the policy surveys the scores before it ranks. A policy that cannot be made for a
    /// single evaluator is assumed to do so.
    fn surveys_first(&self) -> bool {
        let spec = self.policy.clone().unwrap_or_default();
        let alone = Evaluators::numbered(1).and_then(|evaluators| Jury::new(&spec, evaluators));
        alone.map_or(true, |jury| jury.learns_from_scores())
    }

    /// The fitted jury or the weights to rank by, and the survey of the scores if there was one.
    fn judge(&self, table: &Table, state: Option<Jury>) -> anyhow::Result<(Ranker, Option<SurveySize>)> {
        let evaluators = table.roles().evaluators();
        if !self.weights.is_empty() {
            let judge = Ranker::weights(evaluators, &NameNumbers::all(&self.weights)).context("--weights")?;
            return Ok((judge, None));
        }
        if let Some(mut jury) = state {
            for name in EvaluatorChange::apply(&mut jury, evaluators, AllowedChange::Subset)?.removed {
                self.columns.say(format_args!(
                    "warning: rows are ranked without `{name}`: it is not in --evaluators"
                ));
            }
            return Ok((Ranker::jury(&jury), None));
        }
        // With `--sigma` the policy must take noise levels, so the default is esag.
        let usual = || {
            if self.sigma.is_empty() {
                Spec::default()
            } else {
                Spec::new("esag").with("current_round", true)
            }
        };
        let mut spec = self.policy.clone().unwrap_or_else(usual);
        if !self.sigma.is_empty() {
            let sigma = by_evaluator(evaluators, &NameNumbers::all(&self.sigma), None).context("--sigma")?;
            spec = spec.with("sigma", sigma);
        }
        let mut jury = new_jury(&spec, evaluators)?;
        let look = if self.every_row { SurveyScope::EveryRow } else { SurveyScope::Sample };
        let surveyed = survey(table, &mut jury, look)?;
        self.columns.say(format_args!("Policy: {spec}."));
        self.say_survey(&surveyed);
        let fitted = jury.fit();
        if let Some((_, origin)) = fitted.sigma() {
            self.columns.say(format_args!("Noise levels: {origin}."));
        }
        Ok((Ranker::Fitted(fitted), Some(surveyed)))
    }

    /// Prints on which rows the scores were measured. Prints nothing if these are all rows and no
    /// change of the scores was found.
    fn say_survey(&self, survey: &SurveySize) {
        if survey.is_sample() {
            self.columns.say(format_args!(
                "Scores were measured on a sample: {} of {}, in {} evenly spread chunks; --every-row measures all.",
                survey.shown,
                counted(survey.rows, "row"),
                survey.chunks
            ));
        } else if survey.uneven {
            self.columns.say(format_args!(
                "Scores were measured on every row: they change over the file, so a sample would mislead."
            ));
        }
    }

    fn document(
        &self,
        table: &Table,
        judge: &Ranker,
        ranking: &Ranking,
        survey: Option<SurveySize>,
        calibrated: Option<bool>,
    ) -> anyhow::Result<()> {
        let weights = judge.present_weights();
        let known = match judge {
            Ranker::Fitted(fitted) => fitted.evaluators(),
            Ranker::Weights(_) => table.roles().evaluators(),
        };
        let evaluators = known.as_slice().iter().enumerate().map(|(at, evaluator)| {
            let weight = weights.as_ref().map(|weights| weights[at]);
            json!({"name": evaluator.name, "direction": evaluator.direction, "weight": weight})
        });
        let (policy, warnings) = match judge {
            Ranker::Fitted(fitted) => (json!(fitted.spec()), FitWarnings::of(fitted)),
            Ranker::Weights(_) => (json!(null), FitWarnings::default()),
        };
        output::versioned(
            "rank",
            warnings.after(json!({
                "rows": ranking.rows(),
                "k": given_limit(self.k, self.min_reward),
                "min_reward": self.min_reward,
                "calibrated": calibrated,
                "policy": policy,
                "fitted_on": survey.map(|survey| {
                    json!({"rows": survey.shown, "chunks": survey.chunks, "uneven": survey.uneven})
                }),
                "evaluators": evaluators.collect::<Vec<_>>(),
                "ranked": ranking.to_json(table)?,
            })),
        )
    }
}

/// The largest number of rows to keep or pick. It is `usize::MAX` where there is no limit.
pub(super) fn limit(k: Option<usize>, min_reward: Option<f64>) -> usize {
    given_limit(k, min_reward).unwrap_or(usize::MAX)
}

/// The number of `-k`, 100 by default. None if `--min-reward` is given without `-k`.
pub(super) fn given_limit(k: Option<usize>, min_reward: Option<f64>) -> Option<usize> {
    k.or(min_reward.is_none().then_some(100))
}

/// The format of an output whose name does not tell it: that of the input, but CSV for Parquet.
pub(super) fn text_format(format: Format) -> Format {
    if format == Format::Parquet { Format::Csv } else { format }
}

//! `jurybox rank`: the top K of a file.

use super::columns::{Columns, Special, warn};
use super::concerns::{self, Concerns};
use super::layout::Sheet;
use super::names::Pairs;
use super::state::check_outputs;
use crate::{advice, messages, output};
use anyhow::Context;
use jurybox::{Evaluators, Jury, Spec};
use jurybox_files::{
    Format, Judge, Look, May, RankOptions, Ranking, Remark, Seated, State, Surveyed, Table, Warning,
    by_evaluator, counted, rank, score_all, seat, survey,
};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Rank the rows of files and write the top K, best first.
///
/// Without labels, the policy looks at the scores themselves first. With --state it uses what `jurybox learn` has learnt.
/// The other columns of a row travel along untouched. This is a plain list: it explores nothing and remembers nothing. To learn
/// from what people find in it, use `jurybox pick`.
#[expect(clippy::struct_excessive_bools, reason = "each is one thing to say or not")]
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    columns: Columns,
    /// How many rows to keep [default: 100; with --worth, as many as there are]
    #[arg(short, long)]
    k: Option<usize>,
    /// Keep rows whose expected reward is at least that, however many they are: by the --state of a policy that expects rewards
    #[arg(long, value_name = "REWARD", allow_hyphen_values = true, conflicts_with = "all")]
    worth: Option<f64>,
    /// How to rank, such as 'esag' or 'average'; see `jurybox policies`
    #[arg(long)]
    policy: Option<Spec>,
    /// What was learnt, as written by `jurybox learn`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policy", "weights", "sigma"])]
    state: Option<PathBuf>,
    /// Noise levels of the evaluators, such as spam=0.1,abuse=0.3, for policies that take them [default: estimated; with
    /// it, the default policy is esag]
    #[arg(long, value_name = "NAME=SIGMA", conflicts_with = "weights")]
    sigma: Vec<Pairs>,
    /// Let the policy measure the scores on every row before it ranks; of more than 262144 rows it takes a sample, where the scores
    /// are the same all over
    #[arg(long, conflicts_with_all = ["state", "weights"])]
    every_row: bool,
    /// Fixed weights instead of a policy, such as spam=0.2,abuse=0.5
    #[arg(long, value_name = "NAME=WEIGHT", conflicts_with = "policy")]
    weights: Vec<Pairs>,
    /// The column of past rewards, where there is one: no evaluator, it travels along
    #[arg(long, value_name = "COLUMN")]
    reward: Option<String>,
    /// The column of rounds, where there is one: no evaluator, it travels along
    #[arg(long, value_name = "COLUMN")]
    round: Option<String>,
    /// Top K within each value of this column
    #[arg(long, value_name = "COLUMN", conflicts_with = "all")]
    group: Option<String>,
    /// Say what each evaluator adds to a row's score: `base` and the columns `by_NAME` sum to it
    #[arg(long, conflicts_with = "all")]
    explain: bool,
    /// Write every row with its score, in the order of the file
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// Where to write; the name tells the format (.csv, .jsonl, .parquet; .gz, .zst) [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    sheet: Sheet,
    /// Seed of the rule that orders equal scores
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let options = RankOptions {
            k: how_many(self.k, self.worth),
            worth: self.worth,
            seed: self.seed,
            explain: self.explain,
            grouped: self.group.is_some(),
        };
        options.check()?;
        output::is_given_away(&self.out, self.json)?;
        let state = self.state.as_deref().map(State::read).transpose()?;
        let calibrated = self.worth.map(|_| state.as_ref().is_some_and(State::is_calibrated));
        let (state, memory) = state.map(|state| (state.jury, state.memory)).unzip();
        let known = state.as_ref().map_or(&[][..], |jury| jury.evaluators().as_slice());
        let one_pass = state.is_some() || !self.weights.is_empty() || !self.looks_first();
        let table = self.columns.open(&Special {
            key: self.group.as_ref(),
            aside: self.reward.iter().chain(&self.round).cloned().collect(),
            known,
            memory: memory.as_ref(),
            again: !one_pass,
            ..Special::default()
        })?;
        check_outputs(&table, self.state.as_slice(), &self.out)?;
        if let Some(reward) = self.reward.as_ref().filter(|_| state.is_none() && self.weights.is_empty()) {
            messages::warn(&format!(
                "`{reward}` is left aside, and nothing is learnt from it: learn it first, by `jurybox learn FILE --reward {reward} --state STATE`, and rank with --state STATE"
            ));
        }
        let (judge, seen) = self.judge(&table, state)?;
        if let Judge::Fitted(fitted) = &judge {
            concerns::tell(fitted);
        }
        if let Judge::Fitted(fitted) = &judge
            && judge.explores()
        {
            self.columns.say(format_args!(
                "this is a plain list: `{}` would leave some picks to chance, as `jurybox pick` does",
                fitted.spec()
            ));
        }
        if self.all {
            let out = self.out.clone().unwrap_or_else(|| "-".into());
            let rows = score_all(&table, &judge, &out, self.sheet.layout(as_text(table.format())))?;
            self.columns.say(format_args!("{} scored", counted(rows, "row")));
            return Ok(());
        }
        let ranking = rank(&table, &judge, options)?;
        if !ranking.is_in_order() {
            warn(&Warning::NoOrder { path: table.path().into(), rows: ranking.rows() });
        }
        if let Some(worth) = self.worth {
            let calibrated = calibrated == Some(true);
            self.columns.say(format_args!(
                "{} of {} {} {worth} or more{}",
                ranking.winners().len(),
                counted(ranking.rows(), "row"),
                if calibrated { "expected to be worth" } else { "with a value of" },
                if self.k.is_some() { ", and among the best" } else { "" }
            ));
            if !calibrated {
                let advice = advice::ON_CHOSEN_LABELS;
                self.columns.say(format_args!("warning: {}; {advice}", Remark::NotCalibrated));
            }
        } else if options.k as u64 > ranking.rows() {
            self.columns.say(format_args!(
                "warning: k = {} is more than there are rows ({}): all of them are ranked",
                options.k,
                ranking.rows()
            ));
        }
        if let Some(out) = &self.out {
            ranking.write(&table, out, self.sheet.layout(as_text(table.format())))?;
        }
        if self.json {
            return self.document(&table, &judge, &ranking, seen, calibrated);
        }
        if self.out.is_none() {
            ranking.write(&table, Path::new("-"), self.sheet.layout(Format::Csv))?;
        }
        Ok(())
    }

    /// Whether the policy must see the scores before it can rank them. Where that cannot be told without the evaluators, it may.
    fn looks_first(&self) -> bool {
        let spec = self.policy.clone().unwrap_or_default();
        let alone = Evaluators::numbered(1).and_then(|evaluators| Jury::new(&spec, evaluators));
        alone.map_or(true, |jury| jury.learns_from_scores())
    }

    /// What to rank by, and what was seen first.
    fn judge(&self, table: &Table, state: Option<Jury>) -> anyhow::Result<(Judge, Option<Surveyed>)> {
        let evaluators = table.taken().evaluators();
        if !self.weights.is_empty() {
            let judge = Judge::weights(evaluators, &Pairs::all(&self.weights)).context("--weights")?;
            return Ok((judge, None));
        }
        if let Some(mut jury) = state {
            for name in Seated::again(&mut jury, evaluators, May::Lack)?.left {
                self.columns.say(format_args!("warning: `{name}` is not named: rows are ranked without it"));
            }
            return Ok((Judge::jury(&jury), None));
        }
        // Told noise levels are for the policies that take them; without a name, that is esag.
        let told = || {
            if self.sigma.is_empty() {
                Spec::default()
            } else {
                Spec::new("esag").with("current_round", true)
            }
        };
        let mut spec = self.policy.clone().unwrap_or_else(told);
        if !self.sigma.is_empty() {
            let sigma = by_evaluator(evaluators, &Pairs::all(&self.sigma), None).context("--sigma")?;
            spec = spec.with("sigma", sigma);
        }
        let mut jury = seat(&spec, evaluators)?;
        let look = if self.every_row { Look::EveryRow } else { Look::Sample };
        let seen = survey(table, &mut jury, look)?;
        self.columns.say(format_args!("policy: {spec}"));
        self.say_seen(&seen);
        let fitted = jury.fit();
        if let Some((_, origin)) = fitted.sigma() {
            self.columns.say(format_args!("noise levels: {origin}"));
        }
        Ok((Judge::Fitted(fitted), Some(seen)))
    }

    /// What the policy has measured the scores on, where that is not simply all of them.
    fn say_seen(&self, seen: &Surveyed) {
        if seen.is_sample() {
            self.columns.say(format_args!(
                "measured on a sample: {} of {}, in {} spread evenly; --every-row measures on all",
                seen.shown,
                counted(seen.rows, "row"),
                counted(seen.places, "place")
            ));
        } else if seen.uneven {
            self.columns.say(format_args!(
                "measured on every row: scores change over the rows, so that a sample would not do"
            ));
        }
    }

    fn document(
        &self,
        table: &Table,
        judge: &Judge,
        ranking: &Ranking,
        seen: Option<Surveyed>,
        calibrated: Option<bool>,
    ) -> anyhow::Result<()> {
        let weights = judge.present_weights();
        let known = match judge {
            Judge::Fitted(fitted) => fitted.evaluators(),
            Judge::Weights(_) => table.taken().evaluators(),
        };
        let evaluators = known.as_slice().iter().enumerate().map(|(at, evaluator)| {
            let weight = weights.as_ref().map(|weights| weights[at]);
            json!({"name": evaluator.name, "direction": evaluator.direction, "weight": weight})
        });
        let (policy, concerns) = match judge {
            Judge::Fitted(fitted) => (json!(fitted.spec()), Concerns::of(fitted)),
            Judge::Weights(_) => (json!(null), Concerns::default()),
        };
        output::versioned(
            "rank",
            concerns.behind(json!({
                "rows": ranking.rows(),
                "k": asked(self.k, self.worth),
                "worth": self.worth,
                "calibrated": calibrated,
                "policy": policy,
                "measured_on": seen.map(|seen| json!({"rows": seen.shown, "places": seen.places, "uneven": seen.uneven})),
                "evaluators": evaluators.collect::<Vec<_>>(),
                "ranked": ranking.to_json(table)?,
            })),
        )
    }
}

/// How many rows are kept or picked at the most.
pub(super) fn how_many(k: Option<usize>, worth: Option<f64>) -> usize {
    asked(k, worth).unwrap_or(usize::MAX)
}

/// How many were asked for; none where it is said what they must be worth, and nothing else.
pub(super) fn asked(k: Option<usize>, worth: Option<f64>) -> Option<usize> {
    k.or(worth.is_none().then_some(100))
}

/// What is written where the name does not say: text for text.
pub(super) fn as_text(format: Format) -> Format {
    if format == Format::Parquet { Format::Csv } else { format }
}

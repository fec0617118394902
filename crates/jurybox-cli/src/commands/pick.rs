//! `jurybox pick`: the rows to review next, with the receipts that `jurybox learn --picks` needs.

use super::columns::{COLUMNS, ColumnArgs, CommandColumns, OUTPUT};
use super::fit_warnings::{self, FitWarnings};
use super::names::{self, NameList};
use super::rank::{given_limit, limit, text_format};
use super::state::{LockWait, check_outputs, put_in_place, read_if_there};
use super::table_output::TableOutput;
use crate::advice;
use crate::messages::{next, shell, warn, wrote};
use crate::output::{self, is_closed_pipe};
use anyhow::bail;
use jurybox::Spec;
use jurybox_files::{
    EmptyFile, Error, FileLock, Format, PickNote, PickOptions, PickedRound, RankOptions, Role, State, Table,
    counted, expand, pick_rows, refuse_overwriting, split_empty_files,
};
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  # Twenty posts to review now; the state is created if it is missing
  jurybox pick hour.csv -k 20 --id post_id --state model.json --out picks.csv
  # Every post with an expected reward of 0.5 or more
  jurybox pick hour.csv --min-reward 0.5 --id post_id --state model.json --out picks.csv";

/// Pick the K rows to review now, and show all rows to the state
///
/// The policy of the state chooses, with exploration if it explores. All rows are one round. The
/// picks have all their columns and `rank`, `value`, `probability` (of being picked), `explored`,
/// `picked_at`, `round`, `row` and `receipt`. Keep them: `jurybox learn --picks` joins verdicts to
/// them, also late ones.
///
/// A round counts once: a repeated run makes the same draws. Scores and ids of all rows are held in
/// memory (8 bytes per score), other columns are not.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    columns: ColumnArgs,
    /// The state, created if it is missing
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    /// How many rows to pick [default: 100; with --min-reward, no limit]
    #[arg(short, long)]
    k: Option<usize>,
    /// Pick the rows with at least this expected reward, maybe none; the policy must expect rewards
    #[arg(long, value_name = "REWARD", allow_hyphen_values = true)]
    min_reward: Option<f64>,
    /// Columns with the group of an item, such as its language, for a new state: weights may differ
    /// by group
    #[arg(long, value_name = "COLUMNS", help_heading = COLUMNS)]
    context: Vec<NameList>,
    /// The policy of a new state [default: adaptive]
    #[arg(long)]
    policy: Option<Spec>,
    /// The time of the round, a whole number such as a timestamp, written into the picks [default:
    /// one after the latest time in the state]
    #[arg(long, value_name = "N")]
    at: Option<u64>,
    /// Only choose; leave the state unchanged
    #[arg(long)]
    no_observe: bool,
    /// Write every row in the order of the file with its probability: a log for `replay
    /// --probability`
    #[arg(long, help_heading = OUTPUT)]
    all: bool,
    /// Print one JSON document: the picks with their receipts, and how they were made
    #[arg(long, conflicts_with = "all", help_heading = OUTPUT)]
    json: bool,
    /// Output file; its name says the format: .csv, .jsonl or .parquet, with .gz or .zst [default:
    /// standard output]
    #[arg(long, short, value_name = "FILE", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    #[command(flatten)]
    table: TableOutput,
    /// Seed of the draws, which differ from round to round
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    lock: LockWait,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let k = limit(self.k, self.min_reward);
        RankOptions { k, min_reward: self.min_reward, ..RankOptions::default() }.check()?;
        let [id] = &self.columns.id()[..] else {
            bail!("pass one --id: verdicts are joined to the picks by this column");
        };
        output::uses_stdout(&self.out, self.json)?;
        // Reading needs no lock: a state file is replaced, never written in place.
        let _lock: Option<FileLock> =
            if self.no_observe { None } else { Some(self.lock.acquire(&self.state)?) };
        let before = read_if_there(&self.state)?;
        let (paths, quiet) = split_empty_files(expand(&self.columns.files)?, &self.columns.reading());
        for EmptyFile { path, .. } in &quiet {
            self.columns.say(format_args!("warning: {}: there are columns but no rows", path.display()));
        }
        if let Some(quiet) = quiet.first().filter(|_| paths.is_empty()) {
            return self.no_rows(quiet, id, before.as_ref());
        }
        let opened = self.columns.open_paths(
            &paths,
            &CommandColumns {
                key: Some(id),
                key_role: Role::Id,
                known: before.as_ref().map_or(&[][..], |state| state.jury.evaluators().as_slice()),
                memory: before.as_ref().map(|state| &state.memory),
                context: names::all(&self.context),
                again: true,
                ..CommandColumns::default()
            },
        );
        let table = match opened.map_err(anyhow::Error::downcast) {
            Ok(table) => table,
            // Only now is it known that a pipe has no rows.
            Err(Ok(Error::NoRows { path, columns })) if paths.len() == 1 => {
                let quiet = EmptyFile { path, columns };
                self.columns
                    .say(format_args!("warning: {}: there are columns but no rows", quiet.path.display()));
                return self.no_rows(&quiet, id, before.as_ref());
            }
            Err(Ok(error)) => return Err(error.into()),
            Err(Err(error)) => return Err(error),
        };
        let read: Vec<PathBuf> = quiet.iter().map(|of| of.path.clone()).chain([self.state.clone()]).collect();
        check_outputs(&table, &read, &self.out)?;
        let options = PickOptions {
            k,
            min_reward: self.min_reward,
            seed: self.seed,
            at: self.at,
            only_choose: self.no_observe,
        };
        let round = pick_rows(before.as_ref(), &table, self.policy.as_ref(), options)?;
        self.tell(&round);
        if self.no_observe {
            self.write(&table, &round)?;
            self.finish(false);
            return Ok(());
        }
        // The state is first written to a temporary file, so that a full disk is found before
        // anybody has the picks. If writing the picks fails, the state stays as it was, and the
        // round can be repeated.
        let ready = round.state.prepare(&self.state)?;
        if let Err(error) = self.write(&table, &round) {
            if is_closed_pipe(&error) {
                // For `rank`, a reader that leaves is no error. Here nobody has all picks, so the
                // round does not count.
                bail!("the reader of the picks left before the last one: the round is not counted");
            }
            return Err(error);
        }
        put_in_place(ready, &self.state, |message| self.columns.say(message))?;
        self.finish(true);
        Ok(())
    }

    /// Names the files written and the next command: `replay` after `--all`, else `learn --picks`.
    fn finish(&self, observed: bool) {
        wrote(self.out.as_deref().into_iter().chain(observed.then_some(&*self.state)));
        let is_file = |out: &&PathBuf| !output::is_stdout(out);
        let picks = self.out.as_ref().filter(is_file).map_or("PICKS".into(), |out| shell(out.display()));
        if self.all {
            return next(format_args!("replay {picks} --reward COLUMN --probability probability"));
        }
        next(format_args!(
            "learn --picks {picks} --verdicts VERDICTS --id {} --reward COLUMN --state {}",
            self.columns.id_argument(),
            shell(self.state.display())
        ));
    }

    fn write(&self, table: &Table, round: &PickedRound) -> anyhow::Result<()> {
        let picking = &round.picking;
        match &self.out {
            Some(out) => {
                picking.write(table, out, self.table.layout(text_format(table.format())), self.all)?;
            }
            None if self.json => {}
            None => picking.write(table, Path::new("-"), self.table.layout(Format::Csv), self.all)?,
        }
        if self.json {
            let warnings = FitWarnings::of(&round.state.jury.fit());
            output::versioned("pick", warnings.after(self.document(table, round)?))?;
        }
        Ok(())
    }

    /// Writes an empty list of picks for a file without rows; the state stays unchanged.
    fn no_rows(&self, quiet: &EmptyFile, id: &str, before: Option<&State>) -> anyhow::Result<()> {
        quiet.has(id)?;
        self.columns.say(format_args!("Picked 0 of 0 rows."));
        if let Some(out) = &self.out {
            refuse_overwriting(&[quiet.path.clone(), self.state.clone()], out)?;
            quiet.write_no_picks(out, self.table.layout(Format::Csv))?;
            wrote([&**out]);
        }
        if self.json {
            let given = || self.policy.clone().unwrap_or_default();
            let warnings =
                before.map_or_else(FitWarnings::default, |state| FitWarnings::of(&state.jury.fit()));
            let document = json!({
                "rows": 0,
                "k": given_limit(self.k, self.min_reward),
                "min_reward": self.min_reward,
                "calibrated": self.min_reward.map(|_| before.is_some_and(State::is_calibrated)),
                "policy": before.map_or_else(given, |state| state.jury.spec().clone()),
                "round": null,
                "picked_at": null,
                "observed_before": false,
                "notes": [],
                "picks": [],
            });
            output::versioned("pick", warnings.after(document))?;
        } else if self.out.is_none() {
            quiet.write_no_picks(Path::new("-"), self.table.layout(Format::Csv))?;
        }
        Ok(())
    }

    fn document(&self, table: &Table, round: &PickedRound) -> anyhow::Result<serde_json::Value> {
        let picking = &round.picking;
        Ok(json!({
            "rows": picking.rows,
            "k": given_limit(self.k, self.min_reward),
            "min_reward": self.min_reward,
            "calibrated": self.min_reward.map(|_| round.calibrated()),
            "policy": round.state.jury.spec(),
            "round": picking.round,
            "picked_at": picking.at,
            "observed_before": picking.observed_before,
            "notes": round.notes().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "picks": picking.to_json(table)?,
        }))
    }

    fn tell(&self, round: &PickedRound) {
        let picking = &round.picking;
        let explored = picking.picks.iter().filter(|pick| pick.receipt.explored).count();
        self.columns.say(format_args!(
            "Picked {} of {} with `{}`, {explored} for exploration. Round {}, time {}.",
            picking.picks.len(),
            counted(picking.rows, "row"),
            round.state.jury.spec(),
            picking.round,
            picking.at
        ));
        for remark in round.notes() {
            let advice = match remark {
                PickNote::NotCalibrated => format!("; {}", advice::ON_CHOSEN_LABELS),
                _ => String::new(),
            };
            if remark.is_warning() {
                warn(&format!("{remark}{advice}"));
            } else {
                self.columns.say(format_args!("{remark}{advice}"));
            }
        }
        fit_warnings::print(&round.state.jury.fit());
    }
}

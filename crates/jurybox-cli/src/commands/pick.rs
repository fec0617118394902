//! `jurybox pick`: whom a person should look at now, with what it takes to learn from it.

use super::columns::{Columns, Special};
use super::concerns::{self, Concerns};
use super::layout::Sheet;
use super::names::{self, Names};
use super::rank::{as_text, asked as asked_for, how_many};
use super::state::{Turn, check_outputs, put_in_place, read_if_there};
use crate::advice;
use crate::messages::warn;
use crate::output::{self, is_closed_pipe};
use anyhow::bail;
use jurybox::Spec;
use jurybox_files::{
    Error, Format, Lock, PickOptions, Quiet, RankOptions, Remark, Round, State, Table, counted, expand,
    part_quiet, pick_rows, refuse_overwriting,
};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Pick the K rows that a person should look at, as the policy does: with exploration, where it explores.
///
/// All rows are one round. The picks come out with `rank`, `value`, `probability` (of having been picked), `explored`, `picked_at`,
/// `round`, `row`, `receipt` and all their columns. Keep them: `jurybox learn --picks` joins the verdicts to them, whenever they come.
///
/// The items are shown to the state at the same time, each round once: a run that is repeated makes the same draws and counts
/// nothing twice. A state that is not there yet is begun.
///
///   jurybox pick hour.csv -k 20 --id post_id --state desk.json --out picks.csv
///
///   jurybox learn --picks picks.csv --verdicts verdicts.csv --id post_id --reward verdict --state desk.json
///
/// The scores of all rows and their ids are held in memory while choosing (8 bytes a score), the other columns are not.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    columns: Columns,
    /// The state to pick by, and to show the items to; begun if it is not there
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    /// How many rows to pick [default: 100; with --worth, as many as there are]
    #[arg(short, long)]
    k: Option<usize>,
    /// Pick as many rows as have an expected reward of at least that, which may be none; the state's policy must expect rewards
    #[arg(long, value_name = "REWARD", allow_hyphen_values = true)]
    worth: Option<f64>,
    /// Columns that say which group an item belongs to, such as its language, where the state is begun: weights differ by group as far as
    /// the verdicts say so
    #[arg(long, value_name = "COLUMNS")]
    context: Vec<Names>,
    /// Which policy picks, where the state is begun [default: the default policy]
    #[arg(long)]
    policy: Option<Spec>,
    /// The time of the round, a whole number: that of the round, or a timestamp in any unit. It travels with
    /// the picks [default: the number of rounds that the state has seen]
    #[arg(long, value_name = "N")]
    at: Option<u64>,
    /// Only choose: leave the state as it is
    #[arg(long)]
    no_observe: bool,
    /// Write every row in the order of the file, with the probability of having been picked: a log for `replay --probability`
    #[arg(long)]
    all: bool,
    /// Print one JSON document: the picks with their receipts, and how they were made
    #[arg(long, conflicts_with = "all")]
    json: bool,
    /// Where to write; the name tells the format (.csv, .jsonl, .parquet; .gz, .zst) [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    sheet: Sheet,
    /// Seed of the draws, which are other ones in every round all the same
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    turn: Turn,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let k = how_many(self.k, self.worth);
        RankOptions { k, worth: self.worth, ..RankOptions::default() }.check()?;
        let [id] = &self.columns.id()[..] else {
            bail!("verdicts will be joined to the picks by one column: pass one --id");
        };
        output::is_given_away(&self.out, self.json)?;
        // Whoever only reads the state finds it whole: it is replaced, never written over.
        let _lock: Option<Lock> = if self.no_observe { None } else { Some(self.turn.with(&self.state)?) };
        let before = read_if_there(&self.state)?;
        let (paths, quiet) = part_quiet(expand(&self.columns.files)?, &self.columns.reading());
        for Quiet { path, .. } in &quiet {
            self.columns.say(format_args!("warning: {}: there are columns but no rows", path.display()));
        }
        if let Some(quiet) = quiet.first().filter(|_| paths.is_empty()) {
            return self.nothing(quiet, id, before.as_ref());
        }
        let opened = self.columns.open_paths(
            &paths,
            &Special {
                key: Some(id),
                known: before.as_ref().map_or(&[][..], |state| state.jury.evaluators().as_slice()),
                memory: before.as_ref().map(|state| &state.memory),
                context: names::all(&self.context),
                again: true,
                ..Special::default()
            },
        );
        let table = match opened.map_err(anyhow::Error::downcast) {
            Ok(table) => table,
            // What can be read only once shows only now that it has no rows.
            Err(Ok(Error::NoRows { path, columns })) if paths.len() == 1 => {
                let quiet = Quiet { path, columns };
                self.columns
                    .say(format_args!("warning: {}: there are columns but no rows", quiet.path.display()));
                return self.nothing(&quiet, id, before.as_ref());
            }
            Err(Ok(error)) => return Err(error.into()),
            Err(Err(error)) => return Err(error),
        };
        let read: Vec<PathBuf> = quiet.iter().map(|of| of.path.clone()).chain([self.state.clone()]).collect();
        check_outputs(&table, &read, &self.out)?;
        let options =
            PickOptions { k, worth: self.worth, seed: self.seed, at: self.at, only_choose: self.no_observe };
        let round = pick_rows(before.as_ref(), &table, self.policy.as_ref(), options)?;
        self.tell(&round);
        if self.no_observe {
            return self.write(&table, &round);
        }
        // A state that cannot be written is found out before anybody has the picks. Then the picks: if that fails, the round has not been
        // seen, and can be picked from again.
        let ready = round.state.ready(&self.state)?;
        if let Err(error) = self.write(&table, &round) {
            if is_closed_pipe(&error) {
                // For a plain list that is the reader's good right. Here nobody has all of the picks, so there was no round.
                bail!("whoever read the picks left before the last of them: the round is not counted");
            }
            return Err(error);
        }
        put_in_place(ready, &self.state, |what| self.columns.say(what))
    }

    fn write(&self, table: &Table, round: &Round) -> anyhow::Result<()> {
        let picking = &round.picking;
        match &self.out {
            Some(out) => picking.write(table, out, self.sheet.layout(as_text(table.format())), self.all)?,
            None if self.json => {}
            None => picking.write(table, Path::new("-"), self.sheet.layout(Format::Csv), self.all)?,
        }
        if self.json {
            let concerns = Concerns::of(&round.state.jury.fit());
            output::versioned("pick", concerns.behind(self.document(table, round)?))?;
        }
        Ok(())
    }

    /// An hour in which nothing came: no picks, and the state stays as it is.
    fn nothing(&self, quiet: &Quiet, id: &str, before: Option<&State>) -> anyhow::Result<()> {
        quiet.has(id)?;
        self.columns.say(format_args!("0 of 0 rows picked"));
        if let Some(out) = &self.out {
            refuse_overwriting(&[quiet.path.clone(), self.state.clone()], out)?;
            quiet.write_no_picks(out, self.sheet.layout(Format::Csv))?;
        }
        if self.json {
            let asked = || self.policy.clone().unwrap_or_default();
            let concerns = before.map_or_else(Concerns::default, |state| Concerns::of(&state.jury.fit()));
            let document = json!({
                "rows": 0,
                "k": asked_for(self.k, self.worth),
                "worth": self.worth,
                "calibrated": self.worth.map(|_| before.is_some_and(State::is_calibrated)),
                "policy": before.map_or_else(asked, |state| state.jury.spec().clone()),
                "round": null,
                "picked_at": null,
                "observed_before": false,
                "remarks": [],
                "picks": [],
            });
            output::versioned("pick", concerns.behind(document))?;
        } else if self.out.is_none() {
            quiet.write_no_picks(Path::new("-"), self.sheet.layout(Format::Csv))?;
        }
        Ok(())
    }

    fn document(&self, table: &Table, round: &Round) -> anyhow::Result<serde_json::Value> {
        let picking = &round.picking;
        Ok(json!({
            "rows": picking.rows,
            "k": asked_for(self.k, self.worth),
            "worth": self.worth,
            "calibrated": self.worth.map(|_| round.calibrated()),
            "policy": round.state.jury.spec(),
            "round": picking.round,
            "picked_at": picking.at,
            "observed_before": picking.observed_before,
            "remarks": round.remarks().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "picks": picking.to_json(table)?,
        }))
    }

    fn tell(&self, round: &Round) {
        let picking = &round.picking;
        let explored = picking.picks.iter().filter(|pick| pick.receipt.explored).count();
        self.columns.say(format_args!(
            "{} of {} picked by {}, {explored} of them explored; round {} at {}",
            picking.picks.len(),
            counted(picking.rows, "row"),
            round.state.jury.spec(),
            picking.round,
            picking.at
        ));
        for remark in round.remarks() {
            let advice = match remark {
                Remark::NotCalibrated => format!("; {}", advice::ON_CHOSEN_LABELS),
                _ => String::new(),
            };
            if remark.is_warning() {
                warn(&format!("{remark}{advice}"));
            } else {
                self.columns.say(format_args!("{remark}{advice}"));
            }
        }
        concerns::tell(&round.state.jury.fit());
    }
}

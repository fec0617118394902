//! `jurybox pick`: whom a person should look at now, with what it takes to learn from it.

use super::columns::{Columns, Special};
use super::layout::Sheet;
use super::rank::as_text;
use super::state::{Turn, check_outputs, read_if_there, write_back};
use crate::output::{self, is_closed_pipe};
use anyhow::bail;
use jurybox::Spec;
use jurybox_files::{
    Format, Lock, May, PickOptions, Picking, RankOptions, Seated, State, Table, choose, counted, same_policy,
    seat,
};
use serde_json::json;
use std::collections::HashSet;
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
    /// How many rows to pick
    #[arg(short, long, default_value_t = 100)]
    k: usize,
    /// Which policy picks, where the state is begun [default: the default policy]
    #[arg(long)]
    policy: Option<Spec>,
    /// The time of the round, a whole number; with 'adaptive(forget=true,tick=3600)' it can be a timestamp in seconds. It travels with
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
        RankOptions { k: self.k, ..RankOptions::default() }.check()?;
        let [id] = &self.columns.id()[..] else {
            bail!("verdicts will be joined to the picks by one column: pass one --id");
        };
        output::is_given_away(&self.out, self.json)?;
        // Whoever only reads the state finds it whole: it is replaced, never written over.
        let _lock: Option<Lock> = if self.no_observe { None } else { Some(self.turn.with(&self.state)?) };
        let before = read_if_there(&self.state)?;
        let table = self.columns.open(&Special {
            key: Some(id),
            known: before.as_ref().map_or(&[][..], |state| state.jury.evaluators().as_slice()),
            again: true,
            ..Special::default()
        })?;
        check_outputs(&table, std::slice::from_ref(&self.state), &self.out)?;
        let mut state = self.seated(before, &table)?;
        let options = PickOptions { k: self.k, seed: self.seed, at: self.at, only_choose: self.no_observe };
        let picking = choose(&table, &mut state, options)?;
        self.tell(&state, &picking);
        // The picks first: if that fails, the round has not been seen, and can be picked from again.
        let written = self.write(&table, &state, &picking);
        if self.no_observe {
            return written;
        }
        if let Err(error) = written {
            if is_closed_pipe(&error) {
                // For a plain list that is the reader's good right. Here nobody has all of the picks, so there was no round.
                bail!("whoever read the picks left before the last of them: the round is not counted");
            }
            return Err(error);
        }
        write_back(&state, &self.state, |what| self.columns.say(what))
    }

    fn write(&self, table: &Table, state: &State, picking: &Picking) -> anyhow::Result<()> {
        match &self.out {
            Some(out) => picking.write(table, out, self.sheet.layout(as_text(table.format())), self.all)?,
            None if self.json => {}
            None => picking.write(table, Path::new("-"), self.sheet.layout(Format::Csv), self.all)?,
        }
        if self.json {
            output::versioned("pick", self.document(table, state, picking)?)?;
        }
        Ok(())
    }

    fn document(&self, table: &Table, state: &State, picking: &Picking) -> anyhow::Result<serde_json::Value> {
        Ok(json!({
            "rows": picking.rows,
            "k": self.k,
            "policy": state.jury.spec(),
            "round": picking.round,
            "picked_at": picking.at,
            "observed_before": picking.observed_before,
            "picks": picking.to_json(table)?,
        }))
    }

    fn seated(&self, before: Option<State>, table: &Table) -> anyhow::Result<State> {
        let evaluators = table.taken().evaluators();
        let Some(mut state) = before else {
            let spec = self.policy.clone().unwrap_or_default();
            return Ok(State::from(seat(&spec, evaluators)?));
        };
        if let Some(asked) = &self.policy {
            same_policy(&state.jury, asked)?;
        }
        Seated::again(&mut state.jury, evaluators, May::Same)?;
        Ok(state)
    }

    fn tell(&self, state: &State, picking: &Picking) {
        let explored = picking.picks.iter().filter(|pick| pick.receipt.explored).count();
        self.columns.say(format_args!(
            "{} of {} picked by {}, {explored} of them explored; round {} at {}",
            picking.picks.len(),
            counted(picking.rows, "row"),
            state.jury.spec(),
            picking.round,
            picking.at
        ));
        if picking.observed_before {
            self.columns.say(format_args!("these rows were picked from before, and are not counted again"));
        }
        if let Some(asked) = self.at.filter(|asked| *asked != picking.at) {
            self.columns.say(format_args!(
                "warning: the state has seen this round at {}, and there it stays: --at {asked} changes nothing",
                picking.at
            ));
        }
        if (self.k as u64) > picking.rows {
            self.columns.say(format_args!(
                "warning: k = {} is more than there are rows ({}): all of them are picked",
                self.k, picking.rows
            ));
        }
        let ids: HashSet<&str> = picking.picks.iter().map(|pick| &*pick.id).collect();
        if ids.len() < picking.picks.len() {
            self.columns.say(format_args!(
                "warning: {} with the id of another: a verdict will go to the first of them",
                counted((picking.picks.len() - ids.len()) as u64, "pick")
            ));
        }
    }
}

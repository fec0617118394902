//! `jurybox desk add`: items from files.

use super::super::columns::Columns;
use super::super::intake::{Cells, Intake};
use super::Place;
use crate::messages::say;
use crate::output;
use anyhow::{bail, ensure};
use jurybox_server::{Call, Change, Request};

/// Add items with their scores; those that are there already get the scores that are new.
///
/// Run twice with the same file, the second run changes nothing. Items that are closed are counted and left as they are. Where some are refused,
/// the others are taken, and the command ends with 1. Which columns are the id, tags and shown is remembered, and need not be said of the next file.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    cells: Cells,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut desk = self.place.open()?;
        let now = desk.status()?.config;
        let (evaluators, before) = (now.evaluators.as_slice(), now.columns.as_ref());
        let intake = Intake::open(&self.columns, &self.cells, evaluators, before, false)?;
        let taken = intake.take(|request| Ok(desk.ask(&Call::new("desk", request))?))?;
        if before != Some(intake.uses()) {
            let columns = Some(intake.uses().clone());
            desk.ask(&Call::new("desk", Request::Configure(Change { columns, ..Change::default() })))?;
        }
        say(format_args!("{}", taken.told()));
        taken.warn();
        if self.json {
            output::versioned("desk-add", taken.document())?;
        }
        let others = taken.accepted + taken.updated + taken.unchanged + taken.closed;
        let Some(first) = taken.rejected.first() else { return Ok(()) };
        ensure!(others > 0, "none of these items was taken; the first, {}: {}", first.id, first.why);
        let (refused, all) = (taken.refused, others + taken.refused);
        bail!(
            "{refused} of {all} items were refused; the others are taken; the first, {}: {}",
            first.id,
            first.why
        )
    }
}

//! `jurybox desk add`: items from files.

use super::super::columns::{Columns, Special};
use super::super::names::{self, Names};
use super::Place;
use crate::messages::say;
use crate::output;
use anyhow::{bail, ensure};
use jurybox_files::{Table, Want, expand};
use jurybox_server::{Answer, Call, NewItem, Rejected, Request};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Items that go into one entry of the log.
const TOGETHER: usize = 5000;
/// Rejected items that are named.
const NAMED: usize = 5;

/// Add items with their scores; those that are there already get the scores that are new.
///
/// Run twice with the same file, the second run changes nothing. Items that are closed are named and left as they are.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    columns: Columns,
    /// Columns that are tags, such as language: `pick --tag` chooses by them
    #[arg(long, value_name = "COLUMNS")]
    tag: Vec<Names>,
    /// Columns that the reviewer is shown
    #[arg(long, value_name = "COLUMNS")]
    show: Vec<Names>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let [id] = &self.columns.id()[..] else { bail!("items are known by one column: pass one --id") };
        let mut desk = self.place.open()?;
        let evaluators = desk.status()?.config.evaluators;
        let (tags, shown) = (names::all(&self.tag), names::all(&self.show));
        let paths = expand(&self.columns.files)?;
        ensure!(
            tags.is_empty() && shown.is_empty() || !paths.iter().any(|path| path.as_os_str() == "-"),
            "--tag and --show read a file once more for each column, and standard input can be read once: save it to a file"
        );
        let aside = [&tags[..], &shown[..]].concat();
        let special = Special {
            key: Some(id),
            known: evaluators.as_slice(),
            aside: aside.clone(),
            ..Special::default()
        };
        let table = self.columns.open_paths(&paths, &special)?;
        let mut items = items(&table, id)?;
        for column in &aside {
            let cells = self.cells(&paths, column, evaluators.as_slice())?;
            for (item, cell) in items.iter_mut().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
                if tags.contains(column) {
                    item.tags.insert(column.clone(), cell.clone());
                }
                if shown.contains(column) {
                    let payload = item.payload.get_or_insert_with(|| Value::Object(Map::new()));
                    payload[column] = Value::String(cell);
                }
            }
        }
        let (mut accepted, mut updated, mut unchanged, mut rejected): (u64, u64, u64, Vec<Rejected>) =
            Default::default();
        for some in items.chunks(TOGETHER) {
            let answer = desk.ask(&Call::new("desk", Request::Items(some.to_vec())))?;
            let Answer::Items { accepted: new, updated: more, unchanged: same, rejected: refused } = answer
            else {
                continue;
            };
            (accepted, updated, unchanged) = (accepted + new, updated + more, unchanged + same);
            rejected.extend(refused);
        }
        say(format_args!(
            "{accepted} new, {updated} updated, {unchanged} unchanged, {} refused",
            rejected.len()
        ));
        for Rejected { id, why } in rejected.iter().take(NAMED) {
            say(format_args!("warning: {id}: {why}"));
        }
        if self.json {
            let body = json!({ "accepted": accepted, "updated": updated, "unchanged": unchanged, "rejected": rejected });
            output::versioned("desk-add", body)?;
        }
        Ok(())
    }

    /// A column as text, row by row.
    fn cells(
        &self,
        paths: &[PathBuf],
        column: &String,
        known: &[jurybox::Evaluator],
    ) -> anyhow::Result<Vec<String>> {
        let special = Special { key: Some(column), known, ..Special::default() };
        let table = self.columns.open_quietly(paths, &special)?;
        let mut cells = Vec::new();
        let want = Want { key: true, ..Want::default() };
        table.scan(
            want,
            |part| Ok(part.batch.keys().to_vec()),
            |_, keys| {
                cells.extend(keys.into_iter().map(String::from));
                Ok(())
            },
        )?;
        Ok(cells)
    }
}

fn items(table: &Table, id: &str) -> anyhow::Result<Vec<NewItem>> {
    let names: Vec<String> = table.taken().evaluators().names().map(String::from).collect();
    let mut items: Vec<NewItem> = Vec::new();
    let want = Want { key: true, ..Want::default() };
    table.scan(
        want,
        |mut part| Ok((part.batch.scores().to_vec(), part.batch.keys().to_vec())),
        |_, (scores, keys)| {
            for (row, key) in keys.into_iter().enumerate() {
                let scores = names.iter().zip(&scores[row * names.len()..]);
                let scores = scores
                    .filter(|(_, score)| !score.is_nan())
                    .map(|(name, score)| (name.clone(), Some(*score)));
                items.push(NewItem { id: key.into(), scores: scores.collect(), ..NewItem::default() });
            }
            Ok(())
        },
    )?;
    if let Some(row) = items.iter().position(|item| item.id.is_empty()) {
        bail!("row {}: column `{id}` is empty; give every row an id of its own", row + 1);
    }
    Ok(items)
}

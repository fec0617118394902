//! Items out of files, on their way into a queue.

use super::columns::{Columns, Special};
use super::names::{self, Names};
use anyhow::{anyhow, bail};
use jurybox::Evaluator;
use jurybox_files::{Error, Records, Table, Want, expand, is_ours};
use jurybox_server::{Answer, NewItem, Rejected, Request};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Items that go into one entry of the log.
const TOGETHER: usize = 5000;
/// Rejected items that are kept, to be named.
const KEPT: usize = 1000;

/// Which columns are items' tags, and which the reviewer is shown.
#[derive(clap::Args)]
pub(crate) struct Cells {
    /// Columns that are tags, such as language: claims can ask for them
    #[arg(long, alias = "tags", value_name = "COLUMNS")]
    tag: Vec<Names>,
    /// Columns that the reviewer is shown
    #[arg(long, alias = "payload", value_name = "COLUMNS")]
    show: Vec<Names>,
}

/// Files that are open, to be taken in.
pub(crate) struct Intake {
    pub(crate) table: Table,
    id: String,
    tags: Vec<String>,
    shown: Vec<String>,
}

/// What became of items.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) accepted: u64,
    pub(crate) updated: u64,
    pub(crate) unchanged: u64,
    /// Those that were closed already.
    pub(crate) closed: u64,
    /// Scores of evaluators that were removed from the queue.
    pub(crate) ignored: u64,
    pub(crate) refused: u64,
    /// The first that were refused.
    pub(crate) rejected: Vec<Rejected>,
}

impl Intake {
    /// Opens files for a queue with these evaluators, or with those that the files have where it has none yet. Where nobody says
    /// what reviewers are shown, and they must be shown something, it is every column that has no other meaning.
    pub(crate) fn open(
        columns: &Columns,
        others: &Cells,
        known: &[Evaluator],
        must_show: bool,
    ) -> anyhow::Result<Intake> {
        let [id] = &columns.id()[..] else { bail!("items are known by one column: pass one --id") };
        let (tags, mut shown) = (names::all(&others.tag), names::all(&others.show));
        let paths: Vec<PathBuf> = expand(&columns.files)?;
        let special =
            Special { key: Some(id), known, aside: [&tags[..], &shown[..]].concat(), ..Special::default() };
        let table = columns.open_paths(&paths, &special)?;
        if shown.is_empty() && must_show {
            let ignored = columns.roles().ignore;
            let taken = |name: &String| {
                name == id
                    || tags.contains(name)
                    || ignored.contains(name)
                    || is_ours(name)
                    || table.taken().evaluators().position(name).is_some()
            };
            shown = table.whole_columns().filter(|name| !taken(name)).cloned().collect();
        }
        Ok(Intake { table, id: id.clone(), tags, shown })
    }

    /// What reviewers are shown.
    pub(crate) fn shown(&self) -> &[String] {
        &self.shown
    }

    /// Takes everything in, some thousand items at a time.
    pub(crate) fn take(
        &self,
        mut ask: impl FnMut(Request) -> anyhow::Result<Answer>,
    ) -> anyhow::Result<Taken> {
        let beside = [&self.tags[..], &self.shown[..]].concat();
        let names: Vec<String> = self.table.taken().evaluators().names().map(String::from).collect();
        let records = if beside.is_empty() { Records::None } else { Records::All };
        let (mut taken, mut waiting, mut failed) = (Taken::default(), Vec::new(), None);
        let mut hand_over = |items: Vec<NewItem>, taken: &mut Taken| taken.add(ask(Request::Items(items))?);
        let scanned = self.table.scan(
            Want { key: true, records, ..Want::default() },
            |mut part| {
                let cells = self.table.travelling(&part, &beside)?;
                Ok((part.batch.scores().to_vec(), part.batch.keys().to_vec(), cells))
            },
            |at, (scores, keys, cells)| {
                for (row, id) in keys.into_iter().enumerate() {
                    if id.is_empty() && failed.is_none() {
                        let number = at.row + row as u64 + 1;
                        failed = Some(anyhow!(
                            "row {number}: column `{}` is empty; give every row an id of its own",
                            self.id
                        ));
                    }
                    let scores = names.iter().zip(&scores[row * names.len()..]);
                    let scores = scores.filter(|(_, score)| !score.is_nan());
                    let scores = scores.map(|(name, score)| (name.clone(), Some(*score))).collect();
                    let mut item = NewItem { id: id.into(), scores, ..NewItem::default() };
                    for (at, name) in self.tags.iter().enumerate() {
                        let tag = cells.text(row, at);
                        if !tag.is_empty() {
                            item.tags.insert(name.clone(), tag);
                        }
                    }
                    let mut payload = Map::new();
                    for (at, name) in self.shown.iter().enumerate() {
                        let cell = cells.json(row, self.tags.len() + at);
                        if !matches!(&cell, Value::Null) && cell != "" {
                            payload.insert(name.clone(), cell);
                        }
                    }
                    item.payload = (!payload.is_empty()).then_some(Value::Object(payload));
                    waiting.push(item);
                }
                while failed.is_none() && waiting.len() >= TOGETHER {
                    let rest = waiting.split_off(TOGETHER);
                    failed = hand_over(std::mem::replace(&mut waiting, rest), &mut taken).err();
                }
                if failed.is_some() { Err(stopped(&self.table)) } else { Ok(()) }
            },
        );
        if let Some(error) = failed {
            return Err(error);
        }
        scanned?;
        if !waiting.is_empty() {
            hand_over(waiting, &mut taken)?;
        }
        Ok(taken)
    }
}

/// Ends a pass whose rows nobody takes any more. Why is known to whoever took them.
fn stopped(table: &Table) -> Error {
    let source = std::io::Error::other("its rows are not taken");
    Error::Io { path: table.path().into(), doing: "hand over", source }
}

impl Taken {
    fn add(&mut self, answer: Answer) -> anyhow::Result<()> {
        let Answer::Items { accepted, updated, unchanged, ignored, rejected } = answer else {
            bail!("the queue gave an answer to another question")
        };
        self.accepted += accepted;
        self.updated += updated;
        self.unchanged += unchanged;
        self.ignored += ignored;
        let (closed, refused): (Vec<_>, Vec<_>) = rejected.into_iter().partition(Rejected::is_closed);
        self.closed += closed.len() as u64;
        self.refused += refused.len() as u64;
        let room = KEPT.saturating_sub(self.rejected.len());
        self.rejected.extend(refused.into_iter().take(room));
        Ok(())
    }

    /// What became of them, in a line.
    pub(crate) fn told(&self) -> String {
        let Taken { accepted, updated, unchanged, closed, ignored, refused, .. } = self;
        let mut told = format!("{accepted} new, {updated} updated, {unchanged} unchanged");
        for (many, what) in
            [(closed, "closed already"), (ignored, "scores of evaluators that were removed passed over")]
        {
            if *many > 0 {
                told = format!("{told}, {many} {what}");
            }
        }
        format!("{told}, {refused} refused")
    }

    /// The same for programs.
    pub(crate) fn document(&self) -> Value {
        let Taken { accepted, updated, unchanged, closed, ignored, refused, rejected } = self;
        json!({
            "accepted": accepted,
            "updated": updated,
            "unchanged": unchanged,
            "closed": closed,
            "ignored_scores": ignored,
            "refused": refused,
            "rejected": rejected,
        })
    }
}

//! Reading the items of files into a queue.

use super::columns::{COLUMNS, ColumnArgs, CommandColumns};
use super::names::{self, NameList};
use crate::messages::say;
use anyhow::bail;
use jurybox::Evaluator;
use jurybox::toolbox::hash_text;
use jurybox_files::{Error, KeepRecords, Role, ScanRequest, Table, expand, is_output_name, is_verdict_name};
use jurybox_server::{Answer, FileColumns, GOLDEN, Json, NewItem, Rejected, Request};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

/// The most items in one request, and so in one entry of the activity log.
const ENTRY_LIMIT: usize = 5000;
/// The most refused items that messages list.
const LISTED: usize = 5;
/// The most refused items that the JSON document lists.
const LISTED_IN_JSON: usize = 1000;
/// The most ids that are remembered to count repeated rows.
const REMEMBERED_IDS: usize = 4_000_000;
/// The most unreadable rows that are skipped. One more ends the import.
const MAX_UNREADABLE: usize = 1000;

/// The columns of tags, of the payload that reviewers see, and of golden answers.
#[derive(clap::Args)]
pub(crate) struct ItemColumns {
    /// Columns of tags, such as language, by which claims can filter [default: those of the last
    /// file]
    #[arg(long, alias = "tags", value_name = "COLUMNS", help_heading = COLUMNS)]
    tag: Vec<NameList>,
    /// Columns that reviewers see [default: those of the last file]
    #[arg(long, alias = "payload", value_name = "COLUMNS", help_heading = COLUMNS)]
    show: Vec<NameList>,
    /// The column with the right label or reward of golden items (test questions), else empty;
    /// reviewers do not see it, and are measured by it [default: that of the last file]
    #[arg(long, value_name = "COLUMN", help_heading = COLUMNS)]
    golden: Option<String>,
}

impl ItemColumns {
    /// The use of each column: as given, else as in the last file. None if not exactly one id
    /// column is known.
    fn uses(&self, given_id: &[String], before: Option<&FileColumns>) -> Option<FileColumns> {
        let before = before.cloned().unwrap_or_default();
        let id = match given_id {
            [id] => id.clone(),
            [] if !before.id.is_empty() => before.id,
            _ => return None,
        };
        let (tags, mut shown) = (names::all(&self.tag), Vec::new());
        for column in names::all(&self.show) {
            if !shown.contains(&column) {
                shown.push(column);
            }
        }
        let kept = |tag: &str| {
            if tag == GOLDEN { self.golden.is_none() } else { tags.is_empty() }
        };
        let mut all: BTreeMap<String, String> =
            before.tags.into_iter().filter(|(tag, _)| kept(tag)).collect();
        all.extend(tags.iter().map(|column| (column.clone(), column.clone())));
        all.extend(self.golden.iter().map(|column| (GOLDEN.into(), column.clone())));
        Some(FileColumns { id, tags: all, shown: if shown.is_empty() { before.shown } else { shown } })
    }

    /// Whether an option names this column as a tag, as golden or as payload.
    fn names(&self, column: &String) -> bool {
        self.golden.as_ref() == Some(column)
            || self.tag.iter().chain(&self.show).any(|names| names.contains(column))
    }
}

/// Open files whose items go into a queue.
pub(crate) struct ItemFiles {
    pub(crate) table: Table,
    files: Vec<PathBuf>,
    /// The use of each column. Some of the columns may be only in an earlier file.
    uses: FileColumns,
    /// The columns of tags, in the order of `uses`, then those of the payload.
    other_columns: Vec<String>,
    /// Tag and payload columns of the last file that these files do not have.
    missing_columns: Vec<String>,
    /// Columns that are neither scores nor payload because they are named like an answer.
    answers: Vec<String>,
}

/// Counts of items added to a queue.
#[derive(Debug, Default)]
pub(crate) struct AddSummary {
    pub(crate) accepted: u64,
    pub(crate) updated: u64,
    pub(crate) unchanged: u64,
    /// Items that were closed before this command.
    pub(crate) closed: u64,
    /// Scores of evaluators that were removed from the queue.
    pub(crate) ignored: u64,
    pub(crate) refused: u64,
    /// Rows with an id of an earlier row of these files.
    pub(crate) repeated_rows: u64,
    /// Rows that bring no payload: no payload column has a value, or the files lack one of these
    /// columns.
    pub(crate) without_payload: u64,
    /// Tag and payload columns that these files do not have.
    pub(crate) missing_columns: Vec<String>,
    /// The payload columns that these files have, if they lack others. Known items then keep their
    /// earlier payload.
    pub(crate) partial_payload: Vec<String>,
    /// The first refused items, at most [`LISTED_IN_JSON`].
    pub(crate) rejected: Vec<Rejected>,
}

impl ItemFiles {
    /// Opens files for a queue with the evaluators `known`. If there are none, the evaluators are
    /// chosen from the columns of the files.
    ///
    /// `before` has the columns of the last file. With `must_show`, and without a payload column
    /// given or remembered, every free column becomes payload. A column is not free if it has
    /// another use, or is named like an answer or like a column that Jurybox writes.
    pub(crate) fn open(
        columns: &ColumnArgs,
        others: &ItemColumns,
        known: &[Evaluator],
        before: Option<&FileColumns>,
        must_show: bool,
    ) -> anyhow::Result<ItemFiles> {
        let Some(mut uses) = others.uses(&columns.id(), before) else { bail!(columns.which_id()?) };
        let files: Vec<PathBuf> = expand(&columns.files)?;
        let given = columns.roles();
        let guesses = known.is_empty() && must_show;
        let found = if guesses || before.is_some() { columns.found(&files, known)? } else { None };
        // A column of the last file may be missing in these files. A column named by an option may
        // not.
        let lacks = |column: &String| {
            !others.names(column) && found.as_ref().is_some_and(|found| !found.contains(column))
        };
        let present: Vec<String> =
            uses.tags.values().chain(&uses.shown).filter(|column| !lacks(column)).cloned().collect();
        let missing_columns: BTreeSet<&String> =
            uses.tags.values().chain(&uses.shown).filter(|column| lacks(column)).collect();
        let missing_columns: Vec<String> = missing_columns.into_iter().cloned().collect();
        if let Some(golden) = uses.tags.get(GOLDEN).filter(|golden| uses.shown.contains(golden)) {
            say(format_args!(
                "warning: reviewers see `{golden}`, the right answers of golden items: golden items measure nothing then"
            ));
        }
        let word = |tag: &str| if tag == GOLDEN { "golden" } else { "tag" };
        let called = uses.tags.iter().map(|(tag, column)| (column.clone(), word(tag)));
        let called = called.chain(uses.shown.iter().map(|column| (column.clone(), "shown"))).collect();
        // A score column may also be a tag or payload. The right answer is never a score.
        let scores = |column: &String| {
            let named = |name: &String| name == column || name.strip_prefix('-') == Some(column);
            let scores = given.evaluators.iter().any(named) || known.iter().any(|of| of.name == *column);
            scores && uses.tags.get(GOLDEN) != Some(column)
        };
        let mut aside: Vec<String> = present.iter().filter(|column| !scores(column)).cloned().collect();
        let answers: Vec<String> = if guesses {
            let free = |name: &String| {
                is_verdict_name(name) && !given.evaluators.contains(name) && !present.contains(name)
            };
            found.into_iter().flatten().filter(free).collect()
        } else {
            Vec::new()
        };
        aside.extend(answers);
        let special = CommandColumns {
            key: Some(&uses.id),
            key_role: Role::Id,
            known,
            aside,
            called,
            ..CommandColumns::default()
        };
        let table = columns.open_paths(&files, &special)?.skip_bad_rows(MAX_UNREADABLE);
        let is_tag = |name: &String| uses.tags.values().any(|column| column == name);
        let is_score = |name: &String| table.roles().evaluators().position(name).is_some();
        let free = |name: &&String| {
            **name != uses.id && !is_tag(name) && !given.ignore.contains(name) && !is_score(name)
        };
        let free: Vec<&String> = table.whole_columns().filter(free).collect();
        if uses.shown.is_empty() && must_show {
            let shown = free.iter().filter(|name| !is_verdict_name(name) && !is_output_name(name));
            uses.shown = shown.map(|name| (*name).clone()).collect();
        }
        let answers = free.iter().filter(|name| is_verdict_name(name) && !uses.shown.contains(name));
        let answers = answers.map(|name| (*name).clone()).collect();
        let other_columns = uses.tags.values().chain(&uses.shown).cloned().collect();
        Ok(ItemFiles { table, files, uses, other_columns, missing_columns, answers })
    }

    /// The use of each column, which the queue remembers for the next file.
    pub(crate) fn uses(&self) -> &FileColumns {
        &self.uses
    }

    /// The payload columns.
    pub(crate) fn shown(&self) -> &[String] {
        &self.uses.shown
    }

    /// Columns that reviewers do not see because they are named like an answer.
    pub(crate) fn answers(&self) -> &[String] {
        &self.answers
    }

    /// Adds all items to a queue, in requests of at most [`ENTRY_LIMIT`] items that `ask` sends.
    pub(crate) fn add_to(
        &self,
        mut ask: impl FnMut(Request) -> anyhow::Result<Answer>,
    ) -> anyhow::Result<AddSummary> {
        let names: Vec<String> = self.table.roles().evaluators().names().map(String::from).collect();
        let records = if self.other_columns.is_empty() { KeepRecords::None } else { KeepRecords::All };
        let (mut summary, mut waiting, mut failed) = (AddSummary::default(), Vec::new(), None);
        let (mut known, mut nameless): (HashSet<u64>, Vec<Rejected>) = Default::default();
        let (mut repeated_rows, mut without_id, mut without_payload) = (0, 0, 0);
        // A payload replaces the earlier one as a whole: a partial payload would delete fields.
        let is_whole = !self.uses.shown.iter().any(|column| self.missing_columns.contains(column));
        let mut send =
            |items: Vec<NewItem>, summary: &mut AddSummary| summary.add(ask(Request::Items(items))?);
        let scanned = self.table.scan(
            ScanRequest { key: true, records, ..ScanRequest::default() },
            |mut part| {
                let cells = self.table.other_columns(&part, &self.other_columns)?;
                Ok((part.batch.scores().to_vec(), part.batch.keys().to_vec(), cells))
            },
            |at, (scores, keys, cells)| {
                for (row, id) in keys.into_iter().enumerate() {
                    if id.is_empty() {
                        without_id += 1;
                        if nameless.len() < LISTED_IN_JSON {
                            nameless.push(self.nameless(at.file, at.row_in_file + row as u64 + 1));
                        }
                        continue;
                    }
                    let id_hash = hash_text(&id);
                    repeated_rows += u64::from(known.contains(&id_hash));
                    if known.len() < REMEMBERED_IDS {
                        known.insert(id_hash);
                    }
                    let scores = names.iter().zip(&scores[row * names.len()..]);
                    let scores = scores.filter(|(_, score)| !score.is_nan());
                    let scores = scores.map(|(name, score)| (name.clone(), Some(*score))).collect();
                    let mut item = NewItem { id: id.into(), scores, ..NewItem::default() };
                    for (at, name) in self.uses.tags.keys().enumerate() {
                        let tag = cells.text(row, at);
                        if !tag.is_empty() {
                            item.tags.insert(name.clone(), tag);
                        }
                    }
                    let mut payload = Vec::new();
                    for (at, name) in self.uses.shown.iter().enumerate() {
                        let cell = cells.json(row, self.uses.tags.len() + at);
                        if !matches!(&cell, Value::Null) && cell != "" {
                            payload.push((name.clone(), Json::from(cell)));
                        }
                    }
                    item.payload = (is_whole && !payload.is_empty()).then_some(Json::Fields(payload));
                    without_payload += u64::from(item.payload.is_none());
                    waiting.push(item);
                }
                while failed.is_none() && waiting.len() >= ENTRY_LIMIT {
                    let rest = waiting.split_off(ENTRY_LIMIT);
                    failed = send(std::mem::replace(&mut waiting, rest), &mut summary).err();
                }
                if failed.is_some() { Err(stopped(&self.table)) } else { Ok(()) }
            },
        );
        if let Some(error) = failed {
            return Err(error);
        }
        scanned?;
        if !waiting.is_empty() {
            send(waiting, &mut summary)?;
        }
        (summary.repeated_rows, summary.without_payload) = (repeated_rows, without_payload);
        summary.missing_columns.clone_from(&self.missing_columns);
        if !is_whole {
            let present = self.uses.shown.iter().filter(|column| !self.missing_columns.contains(column));
            summary.partial_payload = present.cloned().collect();
        }
        summary.refuse(without_id, nameless);
        let unreadable: Vec<Rejected> = self.table.skipped_rows().iter().map(unreadable).collect();
        summary.refuse(unreadable.len() as u64, unreadable);
        Ok(summary)
    }

    /// The refusal of a row without an id. The row number counts the readable rows of the file.
    fn nameless(&self, file: usize, row: u64) -> Rejected {
        let file = self.files.get(file).map(|file| file.display().to_string()).unwrap_or_default();
        let why = "it is empty; give every row an id of its own";
        Rejected::new(format!("{file}, row {row}, column `{}`", self.uses.id), why)
    }
}

/// The refusal of a row that cannot be read: its position, and the problem.
fn unreadable(error: &Error) -> Rejected {
    // The message of an error begins with the position and a colon, or has no position.
    let message = error.to_string();
    let (position, why) = message.split_once(": ").unwrap_or(("", &message));
    Rejected::new(position, why)
}

/// The error that ends reading after the queue has refused a request. The caller reports the
/// refusal itself.
fn stopped(table: &Table) -> Error {
    let source = std::io::Error::other("its rows are not taken");
    Error::Io { path: table.path().into(), doing: "hand over", source }
}

impl AddSummary {
    fn add(&mut self, answer: Answer) -> anyhow::Result<()> {
        let Answer::Items { accepted, updated, unchanged, ignored, rejected } = answer else {
            bail!("the queue did not answer with counts of items")
        };
        self.accepted += accepted;
        self.updated += updated;
        self.unchanged += unchanged;
        self.ignored += ignored;
        let (closed, refused): (Vec<_>, Vec<_>) = rejected.into_iter().partition(Rejected::is_closed);
        self.closed += closed.len() as u64;
        self.refuse(refused.len() as u64, refused);
        Ok(())
    }

    /// Adds `count` refused items. `refused` has the ones to list.
    fn refuse(&mut self, count: u64, refused: Vec<Rejected>) {
        self.refused += count;
        let room = LISTED_IN_JSON.saturating_sub(self.rejected.len());
        self.rejected.extend(refused.into_iter().take(room));
    }

    /// Prints the first refused items, and warnings about rows and columns.
    pub(crate) fn warn(&self) {
        for Rejected { id, why, .. } in self.rejected.iter().take(LISTED) {
            say(format_args!("warning: {id}: {why}"));
        }
        if self.refused > LISTED as u64 {
            say(format_args!("warning: {} more were refused", self.refused - LISTED as u64));
        }
        if self.repeated_rows > 0 {
            say(format_args!(
                "warning: {} rows repeat the id of an earlier row: they are the same items, with the scores and payload of the last row",
                self.repeated_rows
            ));
        }
        // Scores of known items may come in a file without the other columns.
        if self.accepted == 0 && self.partial_payload.is_empty() {
            return;
        }
        for column in &self.missing_columns {
            say(format_args!(
                "warning: these files have no column `{column}`, which this queue uses as a tag or shows to reviewers"
            ));
        }
        if !self.partial_payload.is_empty() {
            say(format_args!(
                "warning: reviewers see the earlier payload of these items; to show the columns of these files only, pass --show {}",
                self.partial_payload.join(",")
            ));
        }
        if self.accepted == 0 {
            return;
        }
        if self.without_payload > 0 {
            say(format_args!(
                "warning: {} rows have no payload: reviewers see only the ids; name the columns to show with --show",
                self.without_payload
            ));
        }
    }

    /// The counts in a line: `3 new, 0 updated, 1 unchanged, 0 refused`.
    pub(crate) fn line(&self) -> String {
        let AddSummary { accepted, updated, unchanged, closed, ignored, refused, .. } = self;
        let mut line = format!("{accepted} new, {updated} updated, {unchanged} unchanged");
        for (count, what) in [(closed, "already closed"), (ignored, "scores of removed evaluators ignored")] {
            if *count > 0 {
                line = format!("{line}, {count} {what}");
            }
        }
        format!("{line}, {refused} refused")
    }

    /// The counts and the refused items as JSON.
    pub(crate) fn document(&self) -> Value {
        json!({
            "accepted": self.accepted,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "closed": self.closed,
            "ignored_scores": self.ignored,
            "refused": self.refused,
            "repeated_rows": self.repeated_rows,
            "without_payload": self.without_payload,
            "missing_columns": self.missing_columns,
            "rejected": self.rejected,
        })
    }
}

//! Items out of files, on their way into a queue.

use super::columns::{Columns, Special};
use super::names::{self, Names};
use crate::messages::say;
use anyhow::bail;
use jurybox::Evaluator;
use jurybox::toolbox::hash_text;
use jurybox_files::{Error, Records, Table, Want, expand, is_answer, is_ours};
use jurybox_server::{Answer, FileColumns, GOLDEN, Json, NewItem, Rejected, Request};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

/// Items that go into one entry of the log.
const TOGETHER: usize = 5000;
/// Rejected items that are named, and that are kept to be named to programs.
const NAMED: usize = 5;
const KEPT: usize = 1000;
/// Ids that are remembered to know those that come again.
const COMPARED: usize = 4_000_000;
/// Rows that cannot be read before this is no file to go on with.
const UNREADABLE: usize = 1000;

/// Which columns are items' tags, and which the reviewer is shown.
#[derive(clap::Args)]
pub(crate) struct Cells {
    /// Columns that are tags, such as language: claims can ask for them [default: those of the file before]
    #[arg(long, alias = "tags", value_name = "COLUMNS")]
    tag: Vec<Names>,
    /// Columns that the reviewer is shown [default: those of the file before]
    #[arg(long, alias = "payload", value_name = "COLUMNS")]
    show: Vec<Names>,
    /// The column with the right label or reward of golden items, empty for all others: the page about reviewers says how often each
    /// finds it, and reviewers are not shown it [default: that of the file before]
    #[arg(long, value_name = "COLUMN")]
    golden: Option<String>,
}

impl Cells {
    /// What each column is used for: as it is said, and where nothing is said of a use, as in the file before.
    fn uses(&self, said_id: &[String], before: Option<&FileColumns>) -> Option<FileColumns> {
        let before = before.cloned().unwrap_or_default();
        let id = match said_id {
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

    /// Whether somebody has named this column as a tag, as golden or as shown.
    fn names(&self, column: &String) -> bool {
        self.golden.as_ref() == Some(column)
            || self.tag.iter().chain(&self.show).any(|names| names.contains(column))
    }
}

/// Files that are open, to be taken in.
pub(crate) struct Intake {
    pub(crate) table: Table,
    files: Vec<PathBuf>,
    /// What each column is used for, also those that only a file before had.
    uses: FileColumns,
    /// The columns with tags, in the order of `uses`, and then those that are shown.
    beside: Vec<String>,
    /// Those of them that the file before had, and these files do not.
    lacking: Vec<String>,
    /// Columns that look like answers, and are neither scores nor shown for that.
    answers: Vec<String>,
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
    /// Rows whose id had stood in the files before.
    pub(crate) again: u64,
    /// Rows with nothing in the columns that reviewers are shown.
    pub(crate) empty: u64,
    /// Columns of the queue's tags, or that reviewers are shown, that these files do not have.
    pub(crate) lacking: Vec<String>,
    /// The columns that reviewers are shown, where these files have only some of them: nothing of them is taken.
    pub(crate) in_part: Vec<String>,
    /// The first that were refused.
    pub(crate) rejected: Vec<Rejected>,
}

impl Intake {
    /// Opens files for a queue with these evaluators, or with those that the files have where it has none yet; `before` is how the file
    /// before was read. Where nobody says what reviewers are shown, and they must be shown something, it is every column that has no
    /// other meaning.
    pub(crate) fn open(
        columns: &Columns,
        others: &Cells,
        known: &[Evaluator],
        before: Option<&FileColumns>,
        must_show: bool,
    ) -> anyhow::Result<Intake> {
        let Some(mut uses) = others.uses(&columns.id(), before) else { bail!(columns.which_id()?) };
        let files: Vec<PathBuf> = expand(&columns.files)?;
        let said = columns.roles();
        let guesses = known.is_empty() && must_show;
        let found = if guesses || before.is_some() { columns.found(&files, known)? } else { None };
        // A column of the file before that this one lacks is no mistake of whoever named it then.
        let lacks = |column: &String| {
            !others.names(column) && found.as_ref().is_some_and(|found| !found.contains(column))
        };
        let beside: Vec<String> =
            uses.tags.values().chain(&uses.shown).filter(|column| !lacks(column)).cloned().collect();
        let lacking: BTreeSet<&String> =
            uses.tags.values().chain(&uses.shown).filter(|column| lacks(column)).collect();
        let lacking: Vec<String> = lacking.into_iter().cloned().collect();
        if let Some(golden) = uses.tags.get(GOLDEN).filter(|golden| uses.shown.contains(golden)) {
            say(format_args!(
                "warning: reviewers are shown `{golden}`, the right answer of golden items, which say nothing of them then"
            ));
        }
        let word = |tag: &str| if tag == GOLDEN { "golden" } else { "tag" };
        let called = uses.tags.iter().map(|(tag, column)| (column.clone(), word(tag)));
        let called = called.chain(uses.shown.iter().map(|column| (column.clone(), "shown"))).collect();
        // An evaluator may be a tag or shown as well, and goes on scoring; the right answer is never a score.
        let scores = |column: &String| {
            let named = |name: &String| name == column || name.strip_prefix('-') == Some(column);
            let scores = said.evaluators.iter().any(named) || known.iter().any(|of| of.name == *column);
            scores && uses.tags.get(GOLDEN) != Some(column)
        };
        let mut aside: Vec<String> = beside.iter().filter(|column| !scores(column)).cloned().collect();
        let answers: Vec<String> = if guesses {
            let free =
                |name: &String| is_answer(name) && !said.evaluators.contains(name) && !beside.contains(name);
            found.into_iter().flatten().filter(free).collect()
        } else {
            Vec::new()
        };
        aside.extend(answers);
        let special = Special { key: Some(&uses.id), known, aside, called, ..Special::default() };
        let table = columns.open_paths(&files, &special)?.sparing(UNREADABLE);
        let is_tag = |name: &String| uses.tags.values().any(|column| column == name);
        let is_score = |name: &String| table.taken().evaluators().position(name).is_some();
        let free = |name: &&String| {
            **name != uses.id && !is_tag(name) && !said.ignore.contains(name) && !is_score(name)
        };
        let free: Vec<&String> = table.whole_columns().filter(free).collect();
        if uses.shown.is_empty() && must_show {
            let shown = free.iter().filter(|name| !is_answer(name) && !is_ours(name));
            uses.shown = shown.map(|name| (*name).clone()).collect();
        }
        let answers = free.iter().filter(|name| is_answer(name) && !uses.shown.contains(name));
        let answers = answers.map(|name| (*name).clone()).collect();
        let beside = uses.tags.values().chain(&uses.shown).cloned().collect();
        Ok(Intake { table, files, uses, beside, lacking, answers })
    }

    /// What each column is used for, to be remembered for the next file.
    pub(crate) fn uses(&self) -> &FileColumns {
        &self.uses
    }

    /// What reviewers are shown.
    pub(crate) fn shown(&self) -> &[String] {
        &self.uses.shown
    }

    /// What reviewers are not shown because it looks like the answer.
    pub(crate) fn answers(&self) -> &[String] {
        &self.answers
    }

    /// Takes everything in, some thousand items at a time.
    pub(crate) fn take(
        &self,
        mut ask: impl FnMut(Request) -> anyhow::Result<Answer>,
    ) -> anyhow::Result<Taken> {
        let names: Vec<String> = self.table.taken().evaluators().names().map(String::from).collect();
        let records = if self.beside.is_empty() { Records::None } else { Records::All };
        let (mut taken, mut waiting, mut failed) = (Taken::default(), Vec::new(), None);
        let (mut known, mut nameless): (HashSet<u64>, Vec<Rejected>) = Default::default();
        let (mut again, mut without_id, mut empty) = (0, 0, 0);
        // A payload takes the place of the one before: a part of it would take away the rest.
        let whole = !self.uses.shown.iter().any(|column| self.lacking.contains(column));
        let mut hand_over = |items: Vec<NewItem>, taken: &mut Taken| taken.add(ask(Request::Items(items))?);
        let scanned = self.table.scan(
            Want { key: true, records, ..Want::default() },
            |mut part| {
                let cells = self.table.travelling(&part, &self.beside)?;
                Ok((part.batch.scores().to_vec(), part.batch.keys().to_vec(), cells))
            },
            |at, (scores, keys, cells)| {
                for (row, id) in keys.into_iter().enumerate() {
                    if id.is_empty() {
                        without_id += 1;
                        if nameless.len() < KEPT {
                            nameless.push(self.nameless(at.file, at.row_in_file + row as u64 + 1));
                        }
                        continue;
                    }
                    let id_hash = hash_text(&id);
                    again += u64::from(known.contains(&id_hash));
                    if known.len() < COMPARED {
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
                    item.payload = (whole && !payload.is_empty()).then_some(Json::Fields(payload));
                    empty += u64::from(item.payload.is_none());
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
        (taken.again, taken.empty, taken.lacking) = (again, empty, self.lacking.clone());
        if !whole {
            let there = self.uses.shown.iter().filter(|column| !self.lacking.contains(column));
            taken.in_part = there.cloned().collect();
        }
        taken.refuse(without_id, nameless);
        let unreadable: Vec<Rejected> = self.table.refused().iter().map(unreadable).collect();
        taken.refuse(unreadable.len() as u64, unreadable);
        Ok(taken)
    }

    /// A row without an id; its number counts the rows of its file that could be read.
    fn nameless(&self, file: usize, row: u64) -> Rejected {
        let file = self.files.get(file).map(|file| file.display().to_string()).unwrap_or_default();
        let why = "it is empty; give every row an id of its own".into();
        Rejected { id: format!("{file}, row {row}, column `{}`", self.uses.id), why }
    }
}

/// A row that cannot be read: where it stands, and why.
fn unreadable(error: &Error) -> Rejected {
    let told = error.to_string();
    let (place, why) = told.split_once(": ").unwrap_or(("", &told));
    Rejected { id: place.into(), why: why.into() }
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
        self.refuse(refused.len() as u64, refused);
        Ok(())
    }

    /// So many more are refused, these of them to be named.
    fn refuse(&mut self, many: u64, refused: Vec<Rejected>) {
        self.refused += many;
        let room = KEPT.saturating_sub(self.rejected.len());
        self.rejected.extend(refused.into_iter().take(room));
    }

    /// What a person should know beside that.
    pub(crate) fn warn(&self) {
        for Rejected { id, why } in self.rejected.iter().take(NAMED) {
            say(format_args!("warning: {id}: {why}"));
        }
        if self.refused > NAMED as u64 {
            say(format_args!("warning: {} more were refused", self.refused - NAMED as u64));
        }
        if self.again > 0 {
            say(format_args!(
                "warning: {} rows have an id that stood in the files before: they are the same items, and of each score and of what reviewers are shown the last one counts",
                self.again
            ));
        }
        // Scores that come later need nothing beside them.
        if self.accepted == 0 && self.in_part.is_empty() {
            return;
        }
        for column in &self.lacking {
            say(format_args!(
                "warning: there is no column `{column}` in these files, which is a tag or shown in this queue"
            ));
        }
        if !self.in_part.is_empty() {
            say(format_args!(
                "warning: what reviewers see of these items stays as it was; where they are to see nothing but what these files have, pass --show {}",
                self.in_part.join(",")
            ));
        }
        if self.accepted == 0 {
            return;
        }
        if self.empty > 0 {
            say(format_args!(
                "warning: {} rows have nothing to show: reviewers see the ids of these items alone; name the columns that they are to see with --show",
                self.empty
            ));
        }
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
        let Taken { accepted, updated, unchanged, closed, ignored, refused, again, empty, .. } = self;
        json!({
            "accepted": accepted,
            "updated": updated,
            "unchanged": unchanged,
            "closed": closed,
            "ignored_scores": ignored,
            "refused": refused,
            "again": again,
            "nothing_to_show": empty,
            "lacking": self.lacking,
            "rejected": self.rejected,
        })
    }
}

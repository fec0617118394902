//! Items out of files, on their way into a queue.

use super::columns::{Columns, Special};
use super::names::{self, Names};
use crate::messages::say;
use anyhow::bail;
use jurybox::Evaluator;
use jurybox::toolbox::hash_text;
use jurybox_files::{Error, Records, Table, Want, expand, is_ours};
use jurybox_server::{Answer, Json, NewItem, Rejected, Request};
use serde_json::{Value, json};
use std::collections::HashSet;
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
    /// Columns that are tags, such as language: claims can ask for them
    #[arg(long, alias = "tags", value_name = "COLUMNS")]
    tag: Vec<Names>,
    /// Columns that the reviewer is shown
    #[arg(long, alias = "payload", value_name = "COLUMNS")]
    show: Vec<Names>,
    /// The column with the right label or reward of golden items, empty for all others: the page about reviewers says how often each
    /// finds it, and reviewers are not shown it
    #[arg(long, value_name = "COLUMN")]
    golden: Option<String>,
}

/// Files that are open, to be taken in.
pub(crate) struct Intake {
    pub(crate) table: Table,
    files: Vec<PathBuf>,
    id: String,
    /// Columns that are tags, and what each is called.
    tags: Vec<(String, String)>,
    shown: Vec<String>,
    /// Columns that look like answers, and are neither scores nor shown for that.
    answers: Vec<String>,
}

/// Whether a column goes by a name under which answers are kept: what a reviewer is to find out, and no evaluator may know.
fn is_answer(name: &str) -> bool {
    const ANSWERS: [&str; 12] = [
        "verdict", "verdicts", "reward", "rewards", "label", "labels", "outcome", "decision", "truth",
        "target", "answer", "golden",
    ];
    let last = name.rsplit(['_', '-', ' ', '.', ':', '/']).next().unwrap_or(name);
    ANSWERS.iter().any(|answer| last.eq_ignore_ascii_case(answer))
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
        let [id] = &columns.id()[..] else { bail!(columns.which_id()?) };
        let mut tags: Vec<(String, String)> =
            names::all(&others.tag).into_iter().map(|column| (column.clone(), column)).collect();
        tags.extend(others.golden.iter().map(|column| (column.clone(), "golden".into())));
        let mut shown = names::all(&others.show);
        let paths: Vec<PathBuf> = expand(&columns.files)?;
        let word = |tag: &str| if tag == "golden" { "golden" } else { "tag" };
        let called = tags.iter().map(|(column, tag)| (column.clone(), word(tag)));
        let called = called.chain(shown.iter().map(|column| (column.clone(), "shown"))).collect();
        let mut aside = beside(&tags, &shown);
        let named = |name: &str| columns.roles().evaluators.iter().chain(&aside).any(|other| other == name);
        let answers: Vec<String> = if known.is_empty() && must_show {
            columns.found(&paths)?.into_iter().filter(|name| is_answer(name) && !named(name)).collect()
        } else {
            Vec::new()
        };
        aside.extend(answers.iter().cloned());
        let special = Special { key: Some(id), known, aside, called, ..Special::default() };
        let table = columns.open_paths(&paths, &special)?.sparing(UNREADABLE);
        if shown.is_empty() && must_show {
            let ignored = columns.roles().ignore;
            let taken = |name: &String| {
                name == id
                    || tags.iter().any(|(column, _)| column == name)
                    || ignored.contains(name)
                    || is_answer(name)
                    || is_ours(name)
                    || table.taken().evaluators().position(name).is_some()
            };
            shown = table.whole_columns().filter(|name| !taken(name)).cloned().collect();
        }
        let (ignored, tagged) =
            (columns.roles().ignore, |name: &str| tags.iter().any(|(tag, _)| tag == name));
        let hidden = |name: &&String| is_answer(name) && *name != id && !shown.contains(name);
        let answers = table.whole_columns().filter(hidden).filter(|name| {
            !tagged(name) && !ignored.contains(name) && table.taken().evaluators().position(name).is_none()
        });
        let answers = answers.cloned().collect();
        Ok(Intake { table, files: paths, id: id.clone(), tags, shown, answers })
    }

    /// What reviewers are shown.
    pub(crate) fn shown(&self) -> &[String] {
        &self.shown
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
        let beside = beside(&self.tags, &self.shown);
        let names: Vec<String> = self.table.taken().evaluators().names().map(String::from).collect();
        let records = if beside.is_empty() { Records::None } else { Records::All };
        let (mut taken, mut waiting, mut failed) = (Taken::default(), Vec::new(), None);
        let (mut known, mut nameless): (HashSet<u64>, Vec<Rejected>) = Default::default();
        let (mut again, mut without_id) = (0, 0);
        let mut hand_over = |items: Vec<NewItem>, taken: &mut Taken| taken.add(ask(Request::Items(items))?);
        let scanned = self.table.scan(
            Want { key: true, records, ..Want::default() },
            |mut part| {
                let cells = self.table.travelling(&part, &beside)?;
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
                    for (at, (_, name)) in self.tags.iter().enumerate() {
                        let tag = cells.text(row, at);
                        if !tag.is_empty() {
                            item.tags.insert(name.clone(), tag);
                        }
                    }
                    let mut payload = Vec::new();
                    for (at, name) in self.shown.iter().enumerate() {
                        let cell = cells.json(row, self.tags.len() + at);
                        if !matches!(&cell, Value::Null) && cell != "" {
                            payload.push((name.clone(), Json::from(cell)));
                        }
                    }
                    item.payload = (!payload.is_empty()).then_some(Json::Fields(payload));
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
        taken.again = again;
        taken.refuse(without_id, nameless);
        let unreadable: Vec<Rejected> = self.table.refused().iter().map(unreadable).collect();
        taken.refuse(unreadable.len() as u64, unreadable);
        Ok(taken)
    }

    /// A row without an id; its number counts the rows of its file that could be read.
    fn nameless(&self, file: usize, row: u64) -> Rejected {
        let file = self.files.get(file).map(|file| file.display().to_string()).unwrap_or_default();
        let why = "it is empty; give every row an id of its own".into();
        Rejected { id: format!("{file}, row {row}, column `{}`", self.id), why }
    }
}

/// A row that cannot be read: where it stands, and why.
fn unreadable(error: &Error) -> Rejected {
    let told = error.to_string();
    let (place, why) = told.split_once(": ").unwrap_or(("", &told));
    Rejected { id: place.into(), why: why.into() }
}

/// The columns that are no scores: those that are tags, and then those that are shown.
fn beside(tags: &[(String, String)], shown: &[String]) -> Vec<String> {
    tags.iter().map(|(column, _)| column).chain(shown).cloned().collect()
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
        let Taken { accepted, updated, unchanged, closed, ignored, refused, again, rejected } = self;
        json!({
            "accepted": accepted,
            "updated": updated,
            "unchanged": unchanged,
            "closed": closed,
            "ignored_scores": ignored,
            "refused": refused,
            "again": again,
            "rejected": rejected,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::is_answer;

    #[test]
    fn answers_are_known_by_their_names() {
        for name in ["verdict", "Reward", "human_label", "ground-truth", "final decision"] {
            assert!(is_answer(name), "{name}");
        }
        for name in ["labelled_by", "target_language", "score", "text", "rewarding"] {
            assert!(!is_answer(name), "{name}");
        }
    }
}

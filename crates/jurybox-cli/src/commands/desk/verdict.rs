//! `jurybox desk verdict`: what was found.

use super::super::columns::{Columns, warn};
use super::Place;
use crate::advice;
use crate::messages::say;
use crate::output;
use anyhow::{bail, ensure};
use jurybox_files::{Error, Records, Roles, Table, Want, expand};
use jurybox_server::{Answer, Call, NewVerdict, Rejected, Request, Source};
use serde_json::json;
use std::collections::HashMap;

/// Verdicts that go into one entry of the log.
const TOGETHER: usize = 5000;
/// Rejected verdicts that are named.
const NAMED: usize = 5;

/// Give verdicts: one with --item and --reward (or a --label that the desk's scale knows), or those of a file.
///
/// A verdict of a reviewer on an item counts once, however often it is given. Who has changed their mind says --revise. Verdicts that
/// come after the lease has run out count unless another reviewer has the item by then. Where some of a file are refused, the others are
/// taken, and the command fails.
///
///   jurybox desk verdict desk --reviewer ann --item p17 --reward 1
///
///   jurybox desk verdict desk verdicts.csv --id post_id --reward-column verdict --reviewer ann
///
///   jurybox desk verdict desk verdicts.csv --id post_id --label-column found --reviewer-column who
#[derive(clap::Args)]
#[command(mut_arg("files", |files| files.required(false).conflicts_with("item")))]
#[command(mut_arg("evaluators", |of_scores| of_scores.hide(true)))]
#[command(mut_arg("ignore", |of_scores| of_scores.hide(true)))]
#[command(mut_arg("invert", |of_scores| of_scores.hide(true)))]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// Who looked
    #[arg(long, value_name = "NAME", required_unless_present = "reviewer_column")]
    reviewer: Option<String>,
    /// The item, by its id
    #[arg(long, value_name = "ID")]
    item: Option<String>,
    /// What it was worth
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    reward: Option<f64>,
    /// A word for what was found; without --reward, one whose worth the desk knows
    #[arg(long, value_name = "WORD")]
    label: Option<String>,
    /// It replaces the reviewer's earlier verdict on the item; those of a file that say what stands already are left as they are
    #[arg(long)]
    revise: bool,
    /// It is a rule's or a program's: it closes items, and teaches nothing
    #[arg(long, conflicts_with = "revise")]
    automatic: bool,
    /// The column of the file that has the rewards
    #[arg(long, value_name = "COLUMN", requires = "files")]
    reward_column: Option<String>,
    /// The column of the file that has a word for what was found; without --reward-column, one whose worth the desk knows
    #[arg(long, value_name = "COLUMN", requires = "files", conflicts_with = "label")]
    label_column: Option<String>,
    /// The column of the file that says who looked
    #[arg(long, value_name = "COLUMN", requires = "files", conflicts_with = "reviewer")]
    reviewer_column: Option<String>,
    #[command(flatten)]
    columns: Columns,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// A verdict as it was said here.
struct Said {
    item: String,
    reviewer: String,
    reward: Option<f64>,
    label: Option<String>,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let said = match (&self.item, &self.reviewer) {
            (Some(item), Some(reviewer)) => {
                ensure!(
                    self.reward.is_some() || self.label.is_some(),
                    "pass --reward, or --label with a word of the desk's scale"
                );
                let (item, reviewer, label) = (item.clone(), reviewer.clone(), self.label.clone());
                vec![Said { item, reviewer, reward: self.reward, label }]
            }
            _ => self.in_files()?,
        };
        let mut desk = self.place.open()?;
        let scale = desk.status()?.config.reward;
        let mut verdicts = Vec::with_capacity(said.len());
        let (mut accepted, mut repeated, mut rejected): (u64, u64, Vec<Rejected>) = Default::default();
        // What stands once these have been taken: a file may revise a verdict more than once.
        let mut standing: HashMap<(String, String), (String, Option<f64>)> = HashMap::new();
        for said in said {
            let mut id = first_id(&said.item, &said.reviewer);
            let mut revises = None;
            if self.revise {
                // The verdict that stands is the last one; the new one is named after it.
                let of = (said.item.clone(), said.reviewer.clone());
                let last = match standing.get(&of) {
                    Some(last) => Some(last.clone()),
                    None => desk.last_verdict(&of.0, &of.1)?.map(|(id, reward)| (id, Some(reward))),
                };
                let Some((last, worth)) = last else {
                    bail!("{} has given no verdict on {}", said.reviewer, said.item)
                };
                // Run again after it was done, it is done.
                let labels = scale.as_ref().map(|scale| &scale.labels);
                let of_label = || labels?.get(said.label.as_ref()?).copied();
                let reward = said.reward.or_else(of_label);
                if reward.is_some() && reward == worth {
                    repeated += 1;
                    continue;
                }
                id = next_id(&id, &last);
                standing.insert(of, (id.clone(), reward));
                revises = Some(last);
            }
            let source = if self.automatic { Source::Automatic } else { Source::Reviewer };
            verdicts.push(NewVerdict {
                id,
                item: said.item,
                reviewer: said.reviewer,
                reward: said.reward.unwrap_or_default(),
                by_label: said.reward.is_none(),
                label: said.label,
                source,
                revises,
                ..NewVerdict::default()
            });
        }
        let actor = self.reviewer.as_deref().unwrap_or("desk");
        for some in NewVerdict::apart(verdicts, TOGETHER) {
            let answer = desk.ask(&Call::new(actor, Request::Verdicts(some)))?;
            let Answer::Verdicts { accepted: new, repeated: old, rejected: refused } = answer else {
                continue;
            };
            (accepted, repeated) = (accepted + new, repeated + old);
            rejected.extend(refused);
        }
        self.tell(accepted, repeated, &rejected)?;
        if let (Some(item), Some(reviewer), [refused]) = (&self.item, &self.reviewer, &rejected[..]) {
            let own = desk.last_verdict(item, reviewer)?.is_some() && !self.revise;
            let advice = format!("; pass --revise if {reviewer} has changed their mind");
            bail!("{}: {}{}", refused.id, refused.why, if own { &advice } else { "" });
        }
        Ok(())
    }

    fn tell(&self, accepted: u64, repeated: u64, rejected: &[Rejected]) -> anyhow::Result<()> {
        say(format_args!("{accepted} new, {repeated} given before, {} refused", rejected.len()));
        if self.json {
            output::versioned(
                "desk-verdict",
                json!({ "accepted": accepted, "repeated": repeated, "rejected": rejected }),
            )?;
        }
        if self.item.is_some() {
            return Ok(()); // A single one that is refused is an error.
        }
        for Rejected { id, why } in rejected.iter().take(NAMED) {
            say(format_args!("warning: {id}: {why}"));
        }
        if rejected.len() > NAMED {
            say(format_args!("warning: {} more were refused", rejected.len() - NAMED));
        }
        let Some(Rejected { id, why }) = rejected.first() else { return Ok(()) };
        let taken = accepted + repeated;
        ensure!(taken > 0, "none of these verdicts was taken; the first, {id}: {why}");
        let of = taken + rejected.len() as u64;
        bail!(
            "{} of {of} verdicts were refused; the others are taken; the first, {id}: {why}",
            rejected.len()
        )
    }

    fn in_files(&self) -> anyhow::Result<Vec<Said>> {
        let [id] = &self.columns.id()[..] else { bail!("pass --item and --reward, or a file with one --id") };
        ensure!(!self.columns.files.is_empty(), "pass --item and --reward, or a file");
        if let Some(flag) = self.columns.of_scores() {
            bail!(
                "{flag} says nothing here: a file of verdicts has no scores, and its rewards are on the queue's own scale"
            );
        }
        ensure!(
            self.reward_column.is_some() || self.label_column.is_some() || self.label.is_some(),
            "say which column has the rewards or the words for what was found: pass --reward-column or --label-column"
        );
        let texts: Vec<String> =
            [&self.label_column, &self.reviewer_column].into_iter().flatten().cloned().collect();
        // The rewards are the only numbers that are asked for; where there are none, the ids stand in for them, and are not read as such.
        let roles = Roles { key: Some(id.clone()), ignore: texts.clone(), ..Roles::default() };
        let roles = if let Some(reward) = &self.reward_column {
            Roles { evaluators: vec![reward.clone()], ..roles }
        } else {
            let stand_in = self.label_column.clone().unwrap_or_else(|| id.clone());
            let ignore = [roles.ignore, vec![stand_in.clone()]].concat();
            Roles { seated: vec![stand_in.into()], ignore, texts: true, ..roles }
        };
        let paths = expand(&self.columns.files)?;
        let table = Table::open_as(&paths, &self.columns.reading(), &roles, false)?;
        let table = self.columns.watched(table).heard(warn);
        if self.reward_column.is_some() {
            self.columns.warn(&table);
        }
        let mut found = Vec::new();
        let records = if texts.is_empty() { Records::None } else { Records::All };
        let scanned = table.scan(
            Want { key: true, records, ..Want::default() },
            |mut part| {
                let cells = table.travelling(&part, &texts)?;
                Ok((part.batch.keys().to_vec(), part.batch.scores().to_vec(), cells))
            },
            |_, (keys, rewards, cells)| {
                for (row, item) in keys.into_iter().enumerate() {
                    let text = |column: usize| Some(cells.text(row, column)).filter(|text| !text.is_empty());
                    let label = if self.label_column.is_some() { text(0) } else { self.label.clone() };
                    let who =
                        self.reviewer_column.as_ref().map(|_| text(usize::from(self.label_column.is_some())));
                    let reviewer = who.unwrap_or_else(|| self.reviewer.clone()).unwrap_or_default();
                    let reward = self.reward_column.as_ref().and(rewards.get(row).copied());
                    let reward = reward.filter(|reward| !reward.is_nan());
                    // Without a reward or a word nobody has looked yet.
                    let is_there = reward.is_some() || (self.reward_column.is_none() && label.is_some());
                    if is_there {
                        found.push(Said { item: item.into(), reviewer, reward, label });
                    }
                }
                Ok(())
            },
        );
        match scanned {
            // Advice on scores does not help here: there is nothing to leave out.
            Err(Error::OddCells(odd)) if !odd.may_be_two_numbers() && !odd.is_of_another_scale() => bail!(
                "{}; where these are words, pass --label-column {} in place of --reward-column; `jurybox desk set DESK {}` says what they are worth",
                Error::OddCells(odd.clone()),
                odd.column,
                advice::labels(&odd)
            ),
            scanned => {
                scanned?;
            }
        }
        if let Some(nobody) = found.iter().find(|said| said.reviewer.is_empty()) {
            bail!("{}: nobody is named who looked at it", nobody.item);
        }
        Ok(found)
    }
}

/// The id of a reviewer's first verdict on an item. An item's id may have slashes, so those of the reviewer's name are written as `~1`: no two pairs
/// have the same id.
fn first_id(item: &str, reviewer: &str) -> String {
    format!("{item}/{}", reviewer.replace('~', "~0").replace('/', "~1"))
}

/// The id of the verdict that replaces the last one: no name has `~r` in it. Earlier programs wrote a slash there.
fn next_id(first: &str, last: &str) -> String {
    let rest = last.strip_prefix(first);
    let turn = rest.and_then(|rest| rest.strip_prefix("~r").or_else(|| rest.strip_prefix('/')));
    let turn = turn.and_then(|turn| turn.parse::<u64>().ok());
    format!("{first}~r{}", turn.unwrap_or(1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_verdicts_have_one_id() {
        let names = ["a", "a/b", "a/b/", "b", "b/c", "c", "2", "b~r2", "~", "~1", "/", "a~1b"];
        let mut ids = HashSet::new();
        for item in names {
            for reviewer in names {
                let first = first_id(item, reviewer);
                let second = next_id(&first, &first);
                let third = next_id(&first, &second);
                for id in [first, second, third] {
                    assert!(ids.insert(id.clone()), "{id} comes twice, at last for {item} and {reviewer}");
                }
            }
        }
        assert_eq!(next_id("p/ann", "p/ann/2"), "p/ann~r3", "after what an earlier program has written");
    }
}

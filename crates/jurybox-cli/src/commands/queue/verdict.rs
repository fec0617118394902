//! `jurybox queue verdict`: one verdict, or the verdicts of a file.

use super::super::columns::{COLUMNS, ColumnArgs, OUTPUT, warn};
use super::QueueAddress;
use crate::advice::{self, Advised};
use crate::messages::{next, say, shell};
use crate::output;
use anyhow::{anyhow, bail, ensure};
use jurybox_files::{Error, KeepRecords, Roles, ScanRequest, Table, expand};
use jurybox_server::{Answer, Call, NewVerdict, Rejected, Request, VerdictScale, VerdictSource};
use serde_json::json;
use std::collections::HashMap;

/// The most verdicts in one request, and so in one entry of the activity log.
const ENTRY_LIMIT: usize = 5000;
/// The most refused verdicts that messages list.
const LISTED: usize = 5;

/// Advice on words that a queue has no reward for.
const SET_LABELS: &str =
    "`jurybox queue set DIR --label WORD=NUMBER`, once per word, sets the rewards of words";

const EXAMPLES: &str = "\
Examples:
  # One verdict
  jurybox queue verdict review --reviewer ann --item p17 --reward 1
  # The verdicts of a file
  jurybox queue verdict review verdicts.csv --id post_id --reward-column verdict --reviewer ann";

/// Give verdicts: one with --item and --reward or --label, or those of a file
///
/// A reviewer's verdict on an item counts once, however often it is given; --revise replaces it.
/// After the lease has ended, a verdict counts unless another reviewer has claimed the item. If
/// some verdicts of a file are refused, the others are taken and the command ends with exit code 1.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
#[command(mut_arg("files", |files| files.required(false).conflicts_with("item")))]
#[command(mut_arg("evaluators", |of_scores| of_scores.hide(true)))]
#[command(mut_arg("ignore", |of_scores| of_scores.hide(true)))]
#[command(mut_arg("invert", |of_scores| of_scores.hide(true)))]
pub(crate) struct Args {
    #[command(flatten)]
    address: QueueAddress,
    /// The reviewer
    #[arg(long, value_name = "NAME", required_unless_present = "reviewer_column")]
    reviewer: Option<String>,
    /// The id of the item
    #[arg(long, value_name = "ID")]
    item: Option<String>,
    /// The verdict as a number
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    reward: Option<f64>,
    /// The verdict as a word; without --reward, one that the queue has a reward for
    #[arg(long = "label", id = "verdict_label", value_name = "WORD")]
    label: Option<String>,
    /// Replace the reviewer's earlier verdict on the item
    #[arg(long)]
    revise: bool,
    /// The verdict is a rule's or a program's: it closes items, and nothing is learnt from it
    #[arg(long, conflicts_with = "revise")]
    automatic: bool,
    /// The column of the verdicts as numbers
    #[arg(long, value_name = "COLUMN", requires = "files", help_heading = COLUMNS)]
    reward_column: Option<String>,
    /// The column of the verdicts as words
    #[arg(long, value_name = "COLUMN", requires = "files", conflicts_with = "verdict_label", help_heading = COLUMNS)]
    label_column: Option<String>,
    /// The column of the reviewers
    #[arg(long, value_name = "COLUMN", requires = "files", conflicts_with = "reviewer", help_heading = COLUMNS)]
    reviewer_column: Option<String>,
    #[command(flatten)]
    columns: ColumnArgs,
    /// Print one JSON document
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

/// A verdict as given on the command line or in a file.
struct GivenVerdict {
    item: String,
    reviewer: String,
    reward: Option<f64>,
    label: Option<String>,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let given = match (&self.item, &self.reviewer) {
            (Some(item), Some(reviewer)) => {
                ensure!(
                    self.reward.is_some() || self.label.is_some(),
                    "pass --reward, or --label with a word that the queue has a reward for"
                );
                let (item, reviewer, label) = (item.clone(), reviewer.clone(), self.label.clone());
                vec![GivenVerdict { item, reviewer, reward: self.reward, label }]
            }
            _ => self.in_files()?,
        };
        let mut queue = self.address.open()?;
        let scale = queue.status()?.config.reward;
        let has_unknown_word = given.iter().any(|verdict| {
            verdict.reward.is_none() && reward_of(scale.as_ref(), verdict.label.as_deref()).is_none()
        });
        let mut verdicts = Vec::with_capacity(given.len());
        let (mut accepted, mut repeated, mut rejected): (u64, u64, Vec<Rejected>) = Default::default();
        // Id and reward of the latest verdict, by item and reviewer. A file may have several.
        let mut latest: HashMap<(String, String), (String, Option<f64>)> = HashMap::new();
        for verdict in given {
            let mut id = first_id(&verdict.item, &verdict.reviewer);
            let mut revises = None;
            if self.revise {
                // The id of the new verdict follows from the id of the one that it replaces.
                let of = (verdict.item.clone(), verdict.reviewer.clone());
                let last = match latest.get(&of) {
                    Some(last) => Some(last.clone()),
                    None => queue.last_verdict(&of.0, &of.1)?.map(|(id, reward)| (id, Some(reward))),
                };
                let Some((last, last_reward)) = last else {
                    bail!("{} has given no verdict on {}", verdict.reviewer, verdict.item)
                };
                // A revision to the same reward changes nothing, so that the command can be
                // repeated.
                let of_label = || reward_of(scale.as_ref(), verdict.label.as_deref());
                let reward = verdict.reward.or_else(of_label);
                if reward.is_some() && reward == last_reward {
                    repeated += 1;
                    continue;
                }
                id = next_id(&id, &last);
                latest.insert(of, (id.clone(), reward));
                revises = Some(last);
            }
            let source = if self.automatic { VerdictSource::Automatic } else { VerdictSource::Reviewer };
            verdicts.push(NewVerdict {
                id,
                item: verdict.item,
                reviewer: verdict.reviewer,
                reward: verdict.reward.unwrap_or_default(),
                by_label: verdict.reward.is_none(),
                label: verdict.label,
                source,
                revises,
                ..NewVerdict::default()
            });
        }
        let actor = self.reviewer.as_deref().unwrap_or("desk");
        for part in NewVerdict::into_parts(verdicts, ENTRY_LIMIT) {
            let answer = queue.ask(&Call::new(actor, Request::Verdicts(part)))?;
            let Answer::Verdicts { accepted: new, repeated: old, rejected: refused } = answer else {
                continue;
            };
            (accepted, repeated) = (accepted + new, repeated + old);
            rejected.extend(refused);
        }
        // The queue refuses a word that it has no reward for, among other things.
        let advised = |error| if has_unknown_word { Advised::error(error, SET_LABELS) } else { error };
        self.tell(accepted, repeated, &rejected).map_err(advised)?;
        if let (Some(item), Some(reviewer), [refused]) = (&self.item, &self.reviewer, &rejected[..]) {
            let error = anyhow!("{}: {}", refused.id, refused.why);
            if !has_unknown_word && !self.revise && queue.last_verdict(item, reviewer)?.is_some() {
                return Err(Advised::error(error, format!("pass --revise if {reviewer} changed their mind")));
            }
            return Err(advised(error));
        }
        let reviewer = self.reviewer.as_ref().map_or("NAME".into(), shell);
        next(format_args!("queue claim {} --reviewer {reviewer}", self.address.argument()));
        Ok(())
    }

    fn tell(&self, accepted: u64, repeated: u64, rejected: &[Rejected]) -> anyhow::Result<()> {
        say(format_args!("Verdicts: {accepted} new, {repeated} given before, {} refused.", rejected.len()));
        if self.json {
            output::versioned(
                "queue-verdict",
                json!({ "accepted": accepted, "repeated": repeated, "rejected": rejected }),
            )?;
        }
        if self.item.is_some() {
            return Ok(()); // The caller reports a single refused verdict as an error.
        }
        for Rejected { id, why, .. } in rejected.iter().take(LISTED) {
            say(format_args!("warning: {id}: {why}"));
        }
        if rejected.len() > LISTED {
            say(format_args!("warning: {} more were refused", rejected.len() - LISTED));
        }
        let Some(Rejected { id, why, .. }) = rejected.first() else { return Ok(()) };
        let taken = accepted + repeated;
        ensure!(taken > 0, "no verdict was taken; the first, {id}: {why}");
        let of = taken + rejected.len() as u64;
        bail!(
            "{} of {of} verdicts were refused, the others were taken; the first, {id}: {why}",
            rejected.len()
        )
    }

    /// The verdicts of the files on the command line.
    fn in_files(&self) -> anyhow::Result<Vec<GivenVerdict>> {
        let [id] = &self.columns.id()[..] else { bail!("pass --item and --reward, or a file with one --id") };
        ensure!(!self.columns.files.is_empty(), "pass --item and --reward, or a file");
        if let Some(flag) = self.columns.of_scores() {
            bail!(
                "{flag} does not apply: a file of verdicts has no scores, and its rewards use the scale of the queue"
            );
        }
        ensure!(
            self.reward_column.is_some() || self.label_column.is_some() || self.label.is_some(),
            "pass --reward-column or --label-column, the column of the verdicts"
        );
        let texts: Vec<String> =
            [&self.label_column, &self.reviewer_column].into_iter().flatten().cloned().collect();
        // A table needs a column of numbers: the rewards, or else a stand-in whose cells are not
        // parsed.
        let roles = Roles { key: Some(id.clone()), ignore: texts.clone(), ..Roles::default() };
        let roles = if let Some(reward) = &self.reward_column {
            Roles { evaluators: vec![reward.clone()], ..roles }
        } else {
            let stand_in = self.label_column.clone().unwrap_or_else(|| id.clone());
            let ignore = [roles.ignore, vec![stand_in.clone()]].concat();
            Roles { learnt_evaluators: vec![stand_in.into()], ignore, texts: true, ..roles }
        };
        let paths = expand(&self.columns.files)?;
        let table = Table::open_as(&paths, &self.columns.reading(), &roles, false)?;
        let table = self.columns.watched(table).on_warning(warn);
        if self.reward_column.is_some() {
            self.columns.warn(&table);
        }
        let mut found = Vec::new();
        let records = if texts.is_empty() { KeepRecords::None } else { KeepRecords::All };
        let scanned = table.scan(
            ScanRequest { key: true, records, ..ScanRequest::default() },
            |mut part| {
                let cells = table.other_columns(&part, &texts)?;
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
                    // A row without a reward has no verdict yet. Without a reward column, the word
                    // decides.
                    let has_verdict = reward.is_some() || (self.reward_column.is_none() && label.is_some());
                    if has_verdict {
                        found.push(GivenVerdict { item: item.into(), reviewer, reward, label });
                    }
                }
                Ok(())
            },
        );
        match scanned {
            // The general advice, to leave the column out, does not help here.
            Err(Error::OddCells(odd)) if !odd.may_be_two_numbers() && !odd.is_of_another_scale() => {
                let advice = format!(
                    "if these are words, pass --label-column {} in place of --reward-column; `jurybox queue set DIR {}` sets their rewards",
                    odd.column,
                    advice::labels(&odd)
                );
                return Err(Advised::error(Error::OddCells(odd), advice));
            }
            scanned => {
                scanned?;
            }
        }
        if let Some(verdict) = found.iter().find(|verdict| verdict.reviewer.is_empty()) {
            bail!("{}: the verdict has no reviewer", verdict.item);
        }
        Ok(found)
    }
}

/// The reward that the queue has for a word. None for an unknown word.
fn reward_of(scale: Option<&VerdictScale>, label: Option<&str>) -> Option<f64> {
    scale?.labels.get(label?).copied()
}

/// The id of a reviewer's first verdict on an item: `ITEM/REVIEWER`. In the reviewer's name, `~` is
/// written as `~0` and `/` as `~1`: ids of items may have slashes, and no two pairs share an id.
fn first_id(item: &str, reviewer: &str) -> String {
    format!("{item}/{}", reviewer.replace('~', "~0").replace('/', "~1"))
}

/// The id of the verdict that replaces `last`: `first`, followed by `~r2`, `~r3` and so on. No
/// escaped name has `~r` in it. Earlier versions wrote a slash in place of `~r`.
fn next_id(first: &str, last: &str) -> String {
    let rest = last.strip_prefix(first);
    let number = rest.and_then(|rest| rest.strip_prefix("~r").or_else(|| rest.strip_prefix('/')));
    let number = number.and_then(|number| number.parse::<u64>().ok());
    format!("{first}~r{}", number.unwrap_or(1) + 1)
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
                    assert!(ids.insert(id.clone()), "{id} repeats for {item} and {reviewer}");
                }
            }
        }
        assert_eq!(next_id("p/ann", "p/ann/2"), "p/ann~r3", "after an id of an earlier version");
    }
}

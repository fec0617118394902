//! `jurybox desk verdict`: what was found.

use super::super::columns::{Columns, warn};
use super::Place;
use crate::messages::say;
use crate::output;
use anyhow::{bail, ensure};
use jurybox_files::{Roles, Table, Want, expand};
use jurybox_server::{Answer, Call, NewVerdict, Rejected, Request, Source};
use serde_json::json;

/// Verdicts that go into one entry of the log.
const TOGETHER: usize = 5000;
/// Rejected verdicts that are named.
const NAMED: usize = 5;

/// Give verdicts: one with --item and --reward (or a --label that the desk's scale knows), or those of a file.
///
/// A verdict of a reviewer on an item counts once, however often it is given. Who has changed their mind says --revise. Verdicts that
/// come after the lease has run out count unless another reviewer has the item by then.
///
///   jurybox desk verdict desk --reviewer ann --item p17 --reward 1
///
///   jurybox desk verdict desk verdicts.csv --id post_id --reward-column verdict --reviewer ann
#[derive(clap::Args)]
#[command(mut_arg("files", |files| files.required(false).conflicts_with("item")))]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// Who looked
    #[arg(long, value_name = "NAME")]
    reviewer: String,
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
    #[command(flatten)]
    columns: Columns,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let found = match (&self.item, self.reward) {
            (Some(item), reward) => {
                ensure!(
                    reward.is_some() || self.label.is_some(),
                    "pass --reward, or --label with a word of the desk's scale"
                );
                vec![(item.clone(), reward)]
            }
            (None, _) => self.in_files()?,
        };
        let mut desk = self.place.open()?;
        let scale = desk.status()?.config.reward;
        let mut verdicts = Vec::with_capacity(found.len());
        let (mut accepted, mut repeated, mut rejected): (u64, u64, Vec<Rejected>) = Default::default();
        for (item, reward) in found {
            let mut id = format!("{item}/{}", self.reviewer);
            let mut revises = None;
            if self.revise {
                // The verdict that stands is the last one; the new one is named after it.
                let last = desk.last_verdict(&item, &self.reviewer)?;
                let Some((last, standing)) = last else {
                    bail!("{} has given no verdict on {item}", self.reviewer)
                };
                // Run again after it was done, it is done.
                let labels = scale.as_ref().map(|scale| &scale.labels);
                let of_label = || labels?.get(self.label.as_ref()?).copied();
                if reward.or_else(of_label) == Some(standing) {
                    repeated += 1;
                    continue;
                }
                // An id may have slashes of its own, so only what follows the name of the first verdict is a number.
                let turn =
                    last.strip_prefix(&id).and_then(|rest| rest.strip_prefix('/')?.parse::<u64>().ok());
                id = format!("{id}/{}", turn.unwrap_or(1) + 1);
                revises = Some(last);
            }
            let source = if self.automatic { Source::Automatic } else { Source::Reviewer };
            let (reviewer, label) = (self.reviewer.clone(), self.label.clone());
            verdicts.push(NewVerdict {
                id,
                item,
                reviewer,
                reward: reward.unwrap_or_default(),
                by_label: reward.is_none(),
                label,
                source,
                revises,
                ..NewVerdict::default()
            });
        }
        for some in verdicts.chunks(TOGETHER) {
            let answer = desk.ask(&Call::new(&self.reviewer, Request::Verdicts(some.to_vec())))?;
            let Answer::Verdicts { accepted: new, repeated: old, rejected: refused } = answer else {
                continue;
            };
            (accepted, repeated) = (accepted + new, repeated + old);
            rejected.extend(refused);
        }
        self.tell(accepted, repeated, &rejected)?;
        if let (Some(item), [refused]) = (&self.item, &rejected[..]) {
            let own = desk.last_verdict(item, &self.reviewer)?.is_some() && !self.revise;
            let advice = format!("; pass --revise if {} has changed their mind", self.reviewer);
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
        ensure!(rejected.is_empty() || accepted + repeated > 0, "none of these verdicts was taken");
        Ok(())
    }

    fn in_files(&self) -> anyhow::Result<Vec<(String, Option<f64>)>> {
        let [id] = &self.columns.id()[..] else { bail!("pass --item and --reward, or a file with one --id") };
        let Some(reward) = &self.reward_column else {
            bail!("say which column has the rewards: pass --reward-column")
        };
        ensure!(!self.columns.files.is_empty(), "pass --item and --reward, or a file");
        // The rewards are the only numbers that are asked for.
        let roles = Roles { key: Some(id.clone()), evaluators: vec![reward.clone()], ..Roles::default() };
        let paths = expand(&self.columns.files)?;
        let table = Table::open_as(&paths, &self.columns.reading(), &roles, false)?;
        let table = self.columns.watched(table).heard(warn);
        self.columns.warn(&table);
        let mut found = Vec::new();
        let want = Want { key: true, ..Want::default() };
        table.scan(
            want,
            |mut part| Ok((part.batch.keys().to_vec(), part.batch.scores().to_vec())),
            |_, (keys, rewards)| {
                let pairs = keys.into_iter().map(String::from).zip(rewards);
                found.extend(
                    pairs.filter(|(_, reward)| !reward.is_nan()).map(|(key, reward)| (key, Some(reward))),
                );
                Ok(())
            },
        )?;
        Ok(found)
    }
}

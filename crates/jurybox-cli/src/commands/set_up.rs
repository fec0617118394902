//! How a queue is set up, as far as it is said on a command line: for new ones, and for those that are there.

use jurybox::Spec;
use jurybox_server::{Change, Rewards};

/// What can be said of a queue besides who scores. What is not said stays, or has its default in a new one.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct SetUp {
    /// Which policy ranks; one that draws its picks is refused [a new one: adaptive]
    #[arg(long)]
    policy: Option<Spec>,
    /// How many items a claim gets that does not say [a new one: 10]
    #[arg(short, long)]
    k: Option<u32>,
    /// How many seconds an item is the reviewer's own [a new one: 900]
    #[arg(long, value_name = "SECONDS")]
    lease: Option<u32>,
    /// How many distinct reviewers look at an item; where they disagree, more do [a new one: 1]
    #[arg(long, value_name = "N")]
    quorum: Option<u8>,
    /// The share of items that are drawn on arrival to be looked at whatever their scores [a new one: 0]
    #[arg(long, value_name = "SHARE")]
    audit_rate: Option<f64>,
    /// How much of a claim those may take before the best come [a new one: 0.25]
    #[arg(long, value_name = "SHARE")]
    audit_share: Option<f64>,
    /// How much an item's value grows a day while it waits [a new one: 0]
    #[arg(long, value_name = "VALUE")]
    ageing_per_day: Option<f64>,
    /// For how many seconds a verdict can still be taken back; then it is learnt from [a new one: 20]
    #[arg(long, value_name = "SECONDS")]
    undo: Option<u32>,
    /// After how many seconds an item is learnt from though some of its scores are missing [a new one: 60]
    #[arg(long, value_name = "SECONDS")]
    settle: Option<u32>,
    /// After how many days what reviewers are shown is deleted; 0 for never [a new one: 0]
    #[arg(long, value_name = "DAYS")]
    payload_days: Option<u32>,
    /// The largest payload of an item, in bytes of JSON [a new one: 262144]
    #[arg(long, value_name = "BYTES")]
    max_payload: Option<u32>,
    /// How many items a reviewer can hold at once, or K where that is more [a new one: 100]
    #[arg(long, value_name = "N")]
    max_held: Option<u32>,
    /// The lowest and the highest reward, such as 0..1; a verdict beyond them is refused [without it: from 0 to 1, or what it has taken so far]
    #[arg(long, value_name = "LOWEST..HIGHEST", value_parser = ends, allow_hyphen_values = true)]
    reward_scale: Option<(f64, f64)>,
    /// A word that a verdict may say instead of a number, and what it is worth; may be said several times
    #[arg(long = "label", value_name = "WORD=REWARD", value_parser = label)]
    labels: Vec<(String, f64)>,
}

/// Two numbers with two dots between them.
fn ends(text: &str) -> Result<(f64, f64), String> {
    let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is no number"));
    let (low, high) =
        text.split_once("..").ok_or("two numbers with `..` between them are wanted, such as 0..1")?;
    Ok((number(low)?, number(high)?))
}

/// A word and a number with an equals sign between them.
fn label(text: &str) -> Result<(String, f64), String> {
    let (word, worth) = text.rsplit_once('=').ok_or("a word and a number are wanted, such as harmful=1")?;
    Ok((word.into(), worth.parse().map_err(|_| format!("`{worth}` is no number"))?))
}

impl SetUp {
    /// What that changes in a queue whose rewards have this scale so far.
    pub(crate) fn change(&self, before: Option<&Rewards>) -> Change {
        Change {
            policy: self.policy.clone(),
            k: self.k,
            lease_seconds: self.lease,
            quorum: self.quorum,
            audit_rate: self.audit_rate,
            audit_share: self.audit_share,
            ageing_per_day: self.ageing_per_day,
            undo_seconds: self.undo,
            settle_seconds: self.settle,
            payload_days: self.payload_days,
            max_payload: self.max_payload,
            max_held: self.max_held,
            reward: self.rewards(before).map(Some),
            ..Change::default()
        }
    }

    /// The scale of rewards: as it is said; else as far as there is one, else as far as the words go. New words are added to those there are.
    fn rewards(&self, before: Option<&Rewards>) -> Option<Rewards> {
        if self.reward_scale.is_none() && self.labels.is_empty() {
            return None;
        }
        let mut labels = before.map(|before| before.labels.clone()).unwrap_or_default();
        labels.extend(self.labels.iter().cloned());
        let ends = before.map(|before| (before.lowest, before.highest));
        let of_words = || {
            let worths = labels.values().copied();
            (worths.clone().fold(f64::INFINITY, f64::min), worths.fold(f64::NEG_INFINITY, f64::max))
        };
        let (lowest, highest) = self.reward_scale.or(ends).unwrap_or_else(of_words);
        Some(Rewards { lowest, highest, labels })
    }

    /// Whether nothing is said.
    pub(crate) fn is_nothing(&self) -> bool {
        self.change(None) == Change::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_bring_their_scale_and_are_added_to_those_there_are() {
        let said = |labels: &[(&str, f64)], reward_scale| SetUp {
            labels: labels.iter().map(|(word, worth)| ((*word).into(), *worth)).collect(),
            reward_scale,
            ..SetUp::default()
        };
        assert!(said(&[], None).is_nothing());
        let first = said(&[("harmful", 1.0), ("fine", 0.0)], None).rewards(None).unwrap();
        assert_eq!(first.to_string(), "from 0 to 1 (fine = 0, harmful = 1)");
        let more = said(&[("rude", 0.5)], None).rewards(Some(&first)).unwrap();
        assert_eq!(more.to_string(), "from 0 to 1 (fine = 0, harmful = 1, rude = 0.5)");
        let wider = said(&[], Some((0.0, 10.0))).rewards(Some(&more)).unwrap();
        assert_eq!((wider.highest, wider.labels.len()), (10.0, 3));
    }
}

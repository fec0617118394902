//! What a state was taught with, so that nothing is counted twice and no two rewards are mixed.

use crate::error::Error;
use jurybox::{Direction, Evaluator};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// How many files, and how many rounds of picks, are remembered: a round every hour for half a year.
const MOST: usize = 4096;

/// What a state was taught with: the reward, the files, and the rounds that were picked from.
///
/// ```
/// use jurybox::Evaluator;
/// let mut memory = jurybox_files::Memory::default();
/// memory.same_reward(&Evaluator::from("verdict"))?; // nothing was learnt yet: anything goes
/// memory.saw_rewards(&Evaluator::from("verdict"), 0.0, 1.0);
/// assert_eq!(memory.same_reward(&Evaluator::from("clicks")).unwrap_err().code(), "other-reward");
/// # Ok::<(), jurybox_files::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    reward: Option<Reward>,
    /// Fingerprints of the files that were learnt from, oldest first.
    files: VecDeque<String>,
    /// Rounds that were picked from, oldest first.
    rounds: VecDeque<Round>,
    /// The latest time of a round that has been forgotten, where there is one: what became of its picks is not known any more.
    forgotten: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reward {
    name: String,
    direction: Direction,
    /// The least and the greatest seen, in the direction in which high is good.
    least: f64,
    greatest: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Round {
    name: String,
    at: u64,
    /// Whether its items were observed.
    observed: bool,
    /// The rows of the picks whose verdicts were learnt.
    #[serde(with = "on_one_line")]
    learnt: BTreeSet<u64>,
}

/// What is known of the verdict on a pick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It has not been learnt.
    New,
    /// It has.
    Learnt,
    /// Its round has been forgotten.
    Forgotten,
}

impl Memory {
    /// The reward that was learnt, with its direction.
    pub fn reward(&self) -> Option<Evaluator> {
        let reward = self.reward.as_ref()?;
        Some(Evaluator { name: reward.name.clone(), direction: reward.direction })
    }

    /// Refuses another reward than the one that was learnt, or the same one turned round.
    pub fn same_reward(&self, reward: &Evaluator) -> Result<(), Error> {
        match self.reward() {
            Some(learnt) if learnt != *reward => {
                Err(Error::OtherReward { learnt: Box::new(learnt), asked: Box::new(reward.clone()) })
            }
            _ => Ok(()),
        }
    }

    /// Takes note of rewards; says the range seen before where these reach beyond it by more than its width.
    pub fn saw_rewards(&mut self, reward: &Evaluator, least: f64, greatest: f64) -> Option<(f64, f64)> {
        let Some(seen) = &mut self.reward else {
            let Evaluator { name, direction } = reward.clone();
            self.reward = Some(Reward { name, direction, least, greatest });
            return None;
        };
        let before = (seen.least, seen.greatest);
        let width = before.1 - before.0;
        seen.least = seen.least.min(least);
        seen.greatest = seen.greatest.max(greatest);
        // A single value, or a few alike, say nothing about the scale.
        let beyond = width > 0.0 && (least < before.0 - width || greatest > before.1 + width);
        beyond.then_some(before)
    }

    /// Whether a file was learnt from.
    pub fn knows_file(&self, fingerprint: &str) -> bool {
        self.files.iter().any(|known| known == fingerprint)
    }

    /// Remembers a file; the oldest makes room.
    pub fn learnt_file(&mut self, fingerprint: String) {
        if !self.knows_file(&fingerprint) {
            self.files.push_back(fingerprint);
        }
        while self.files.len() > MOST {
            self.files.pop_front();
        }
    }

    /// The time of a round that was picked from, and whether its items were observed.
    pub(crate) fn round(&self, name: &str) -> Option<(u64, bool)> {
        let round = self.rounds.iter().find(|round| round.name == name)?;
        Some((round.at, round.observed))
    }

    /// Remembers a round that was picked from; the oldest makes room.
    pub(crate) fn picked_from(&mut self, name: &str, at: u64, observed: bool) {
        if let Some(round) = self.rounds.iter_mut().find(|round| round.name == name) {
            round.observed |= observed;
            return;
        }
        self.rounds.push_back(Round { name: name.into(), at, observed, learnt: BTreeSet::new() });
        while self.rounds.len() > MOST
            && let Some(dropped) = self.rounds.pop_front()
        {
            self.forgotten = self.forgotten.max(Some(dropped.at));
        }
    }

    pub(crate) fn verdict(&self, round: &str, at: u64, row: u64) -> Known {
        match self.rounds.iter().find(|known| known.name == round) {
            Some(round) if round.learnt.contains(&row) => Known::Learnt,
            None if self.forgotten.is_some_and(|before| at < before) => Known::Forgotten,
            _ => Known::New,
        }
    }

    pub(crate) fn learnt_verdict(&mut self, round: &str, at: u64, row: u64) {
        self.picked_from(round, at, false);
        if let Some(round) = self.rounds.iter_mut().find(|known| known.name == round) {
            round.learnt.insert(row);
        }
    }

    /// How many files and rounds both were taught with.
    pub fn shared(&self, other: &Memory) -> usize {
        let files = self.files.iter().filter(|file| other.knows_file(file)).count();
        let both = |round: &&Round| {
            let twin = other.rounds.iter().find(|twin| twin.name == round.name);
            twin.is_some_and(|twin| {
                round.observed && twin.observed || !round.learnt.is_disjoint(&twin.learnt)
            })
        };
        files + self.rounds.iter().filter(both).count()
    }

    /// Adds what another remembers.
    pub fn merge(&mut self, other: &Memory) -> Result<(), Error> {
        if let Some(reward) = &other.reward {
            let named = Evaluator { name: reward.name.clone(), direction: reward.direction };
            self.same_reward(&named)?;
            self.saw_rewards(&named, reward.least, reward.greatest);
        }
        for file in &other.files {
            self.learnt_file(file.clone());
        }
        for round in &other.rounds {
            self.picked_from(&round.name, round.at, round.observed);
            for &row in &round.learnt {
                self.learnt_verdict(&round.name, round.at, row);
            }
        }
        self.forgotten = self.forgotten.max(other.forgotten);
        Ok(())
    }

    /// What is wrong with one that came from outside.
    pub(crate) fn fault(&self) -> Option<String> {
        if self.files.len() > MOST || self.rounds.len() > MOST {
            return Some(format!("it remembers more than {MOST} files or rounds"));
        }
        let reward = self.reward.as_ref()?;
        let sound =
            reward.least.is_finite() && reward.greatest.is_finite() && reward.least <= reward.greatest;
        (!sound).then(|| format!("its rewards cannot lie in {} to {}", reward.least, reward.greatest))
    }
}

/// Many small numbers in a document that people open: `"3 17 240"`.
mod on_one_line {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::collections::BTreeSet;

    pub(super) fn serialize<S: Serializer>(rows: &BTreeSet<u64>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&rows.iter().map(u64::to_string).collect::<Vec<_>>().join(" "))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeSet<u64>, D::Error> {
        let text = String::deserialize(from)?;
        text.split_whitespace().map(|row| row.parse().map_err(D::Error::custom)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_remembered_one_by_one_and_merge() {
        let (mut one, mut other) = (Memory::default(), Memory::default());
        one.picked_from("r1", 7, true);
        for row in [1, 64, 5] {
            one.learnt_verdict("r1", 7, row);
        }
        other.learnt_verdict("r1", 7, 2);
        assert_eq!(one.shared(&other), 0); // one has observed the round, the other has learnt of another pick
        one.merge(&other).unwrap();
        let learnt: Vec<u64> = (0..80).filter(|&at| one.verdict("r1", 7, at) == Known::Learnt).collect();
        assert_eq!(learnt, [1, 2, 5, 64]);
        assert_eq!(one.round("r1"), Some((7, true)));
        assert_eq!(one.shared(&other), 1);
        let text = serde_json::to_string(&one).unwrap();
        assert!(text.contains(r#""learnt":"1 2 5 64""#));
        assert_eq!(serde_json::from_str::<Memory>(&text).unwrap(), one);
    }

    #[test]
    fn what_is_forgotten_is_known_to_be() {
        let mut memory = Memory::default();
        for round in 0..MOST as u64 + 2 {
            memory.learnt_verdict(&format!("r{round}"), round, 1);
        }
        assert_eq!(memory.verdict("r0", 0, 1), Known::Forgotten);
        assert_eq!(memory.verdict("r2", 2, 1), Known::Learnt);
        assert_eq!(memory.verdict("new", 9999, 1), Known::New);
    }

    #[test]
    fn another_scale_is_noticed_and_a_wider_range_is_not() {
        let (mut memory, verdict) = (Memory::default(), Evaluator::from("verdict"));
        assert_eq!(memory.saw_rewards(&verdict, 0.0, 1.0), None);
        assert_eq!(memory.saw_rewards(&verdict, 0.0, 2.0), None);
        assert_eq!(memory.saw_rewards(&verdict, 1.0, 100.0), Some((0.0, 2.0)));
    }
}

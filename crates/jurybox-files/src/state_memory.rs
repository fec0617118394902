//! The record of what a state has learnt and picked from, so that nothing counts twice.

use crate::error::Error;
use crate::item_hash::{ItemHash, on_one_line};
use crate::table_fingerprint::BY_ROWS;
use jurybox::{Direction, Evaluator, Seen};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet, VecDeque};

/// Maximum number of files, and of rounds of picks, that are remembered: about half a year of
/// hourly rounds.
const MOST: usize = 4096;
/// Maximum number of fingerprints of files. Each file has two: of its bytes, and of its rows.
const MOST_NAMES: usize = 2 * MOST;
/// Maximum number of verdicts of tables that are remembered: about 26 bytes each in the state file.
pub(crate) const MOST_VERDICTS: usize = 1 << 16;

/// The record of what a state has learnt and picked from: its reward, files and rounds.
///
/// ```
/// use jurybox::Evaluator;
/// let mut memory = jurybox_files::StateMemory::default();
/// memory.same_reward(&Evaluator::from("verdict"))?; // nothing was learnt yet
/// memory.add_rewards(&Evaluator::from("verdict"), 0.0, 1.0);
/// assert_eq!(memory.same_reward(&Evaluator::from("clicks")).unwrap_err().code(), "other-reward");
/// # Ok::<(), jurybox_files::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateMemory {
    reward: Option<RememberedReward>,
    /// Fingerprints of the files that were learnt from, oldest first.
    files: VecDeque<String>,
    /// Fingerprints of the files that were picked from and whose items were observed then, oldest
    /// first.
    picked_files: VecDeque<String>,
    /// Rounds that were picked from, oldest first.
    rounds: VecDeque<RememberedRound>,
    /// The latest time of a round that was dropped to make room. Whether the verdicts on its picks
    /// were learnt is no longer known.
    forgotten: Option<u64>,
    /// Whether the evaluators were found by rule, among the columns of the first table.
    #[serde(default)]
    by_rule: bool,
    /// The verdicts that were learnt from tables, oldest first. Each has two hashes: of its id, and
    /// of its whole row.
    #[serde(default, with = "on_one_line")]
    verdicts: VecDeque<ItemHash>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RememberedReward {
    name: String,
    direction: Direction,
    /// The least learnt reward; like `greatest`, it is negated if low rewards are good.
    least: f64,
    greatest: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RememberedRound {
    name: String,
    at: u64,
    /// Whether its items were observed.
    observed: bool,
    /// Hashes of the items whose verdicts were learnt with a pick of this round. There are hashes
    /// of their ids, of their positions in the round, and of their rows.
    #[serde(with = "on_one_line")]
    learnt: BTreeSet<ItemHash>,
}

/// Whether the verdict on a picked item was learnt before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PickVerdict {
    /// It was not learnt.
    New,
    /// It was learnt with a pick of this round.
    Learnt,
    /// It was learnt with a pick of another round.
    Elsewhere,
    /// Unknown, because the state no longer remembers the round.
    Forgotten,
}

impl StateMemory {
    /// The reward that was learnt, with its direction.
    pub fn reward(&self) -> Option<Evaluator> {
        let reward = self.reward.as_ref()?;
        Some(Evaluator { name: reward.name.clone(), direction: reward.direction })
    }

    /// Errors if `reward` is not the learnt one, or has another direction.
    pub fn same_reward(&self, reward: &Evaluator) -> Result<(), Error> {
        match self.reward() {
            Some(learnt) if learnt != *reward => {
                Err(Error::OtherReward { learnt: Box::new(learnt), asked: Box::new(reward.clone()) })
            }
            _ => Ok(()),
        }
    }

    /// Extends the range of learnt rewards. Returns the previous range if the new rewards exceed it
    /// by more than its width.
    pub fn add_rewards(&mut self, reward: &Evaluator, least: f64, greatest: f64) -> Option<(f64, f64)> {
        let Some(seen) = &mut self.reward else {
            let Evaluator { name, direction } = reward.clone();
            self.reward = Some(RememberedReward { name, direction, least, greatest });
            return None;
        };
        let before = (seen.least, seen.greatest);
        let width = before.1 - before.0;
        seen.least = seen.least.min(least);
        seen.greatest = seen.greatest.max(greatest);
        // Rewards that are all the same say nothing about the scale.
        let beyond = width > 0.0 && (least < before.0 - width || greatest > before.1 + width);
        beyond.then_some(before)
    }

    /// Whether the evaluators were found by rule. A numeric column that is new may then be meant as
    /// an evaluator.
    pub fn took_evaluators_by_rule(&self) -> bool {
        self.by_rule
    }

    /// Sets whether the evaluators were found by rule.
    pub(crate) fn evaluators_by_rule(&mut self, by_rule: bool) {
        self.by_rule = by_rule;
    }

    /// Whether a file with this fingerprint was learnt, as far as the state remembers.
    pub fn knows_file(&self, fingerprint: &str) -> bool {
        self.files.iter().any(|known| known == fingerprint)
    }

    /// Remembers the fingerprint of a learnt file. Drops the oldest if there are too many.
    pub fn learnt_file(&mut self, fingerprint: String) {
        remember(&mut self.files, fingerprint);
    }

    /// Whether a file with this fingerprint was picked from, so that its items were observed.
    pub fn knows_picked_file(&self, fingerprint: &str) -> bool {
        self.picked_files.iter().any(|known| known == fingerprint)
    }

    /// Remembers the fingerprint of a file that was picked from. Drops the oldest if there are too
    /// many.
    pub(crate) fn picked_from_file(&mut self, fingerprint: String) {
        remember(&mut self.picked_files, fingerprint);
    }

    /// Whether the state has picked from any round.
    ///
    /// ```
    /// assert!(!jurybox_files::StateMemory::default().knows_rounds());
    /// ```
    pub fn knows_rounds(&self) -> bool {
        !self.rounds.is_empty()
    }

    /// The time of a remembered round, and whether its items were observed.
    pub(crate) fn round(&self, name: &str) -> Option<(u64, bool)> {
        let round = self.rounds.iter().find(|round| round.name == name)?;
        Some((round.at, round.observed))
    }

    /// Remembers a round that was picked from. Drops the oldest if there are too many.
    pub(crate) fn picked_from(&mut self, name: &str, at: u64, observed: bool) {
        if let Some(round) = self.rounds.iter_mut().find(|round| round.name == name) {
            round.observed |= observed;
            return;
        }
        self.rounds.push_back(RememberedRound { name: name.into(), at, observed, learnt: BTreeSet::new() });
        while self.rounds.len() > MOST
            && let Some(dropped) = self.rounds.pop_front()
        {
            self.forgotten = self.forgotten.max(Some(dropped.at));
        }
    }

    /// The hashes of all items whose verdicts were learnt with picks.
    pub(crate) fn items(&self) -> HashSet<ItemHash> {
        self.rounds.iter().flat_map(|round| &round.learnt).copied().collect()
    }

    /// Whether the verdict on a pick was learnt before. `items` are the hashes of all learnt items.
    pub(crate) fn verdict(
        &self,
        round: &str,
        at: u64,
        [item, place]: [ItemHash; 2],
        items: &HashSet<ItemHash>,
    ) -> PickVerdict {
        let round = self.rounds.iter().find(|known| known.name == round);
        // A spreadsheet may have changed the id (`007` to `7`), but not the position in the round.
        if round.is_some_and(|round| round.learnt.contains(&item) || round.learnt.contains(&place)) {
            PickVerdict::Learnt
        } else if items.contains(&item) {
            PickVerdict::Elsewhere
        } else if round.is_none() && self.forgotten.is_some_and(|latest| at <= latest) {
            // `<=`, because several rounds may have the time of the latest round that was dropped.
            PickVerdict::Forgotten
        } else {
            PickVerdict::New
        }
    }

    /// Remembers a learnt verdict by its hashes.
    pub(crate) fn learnt_verdict(&mut self, round: &str, at: u64, items: impl IntoIterator<Item = ItemHash>) {
        self.picked_from(round, at, false);
        if let Some(round) = self.rounds.iter_mut().find(|known| known.name == round) {
            round.learnt.extend(items);
        }
    }

    /// The hashes of verdicts that were learnt from tables.
    pub(crate) fn verdicts_of_tables(&self) -> HashSet<ItemHash> {
        self.verdicts.iter().copied().collect()
    }

    /// Remembers verdicts of a table, each by two hashes: of its id, and of its row. Drops the
    /// oldest if there are too many.
    pub(crate) fn learnt_verdicts_of_table(&mut self, verdicts: &[ItemHash]) {
        let mut known = self.verdicts_of_tables();
        for two in verdicts.chunks_exact(2) {
            if known.insert(two[1]) {
                self.verdicts.extend(two);
            }
        }
        let beyond = self.verdicts.len().saturating_sub(2 * MOST_VERDICTS);
        self.verdicts.drain(..beyond);
    }

    /// The number of verdicts that both states have learnt, at least one of them from a table.
    pub fn shared_verdicts(&self, other: &StateMemory) -> usize {
        let whole =
            |of: &StateMemory| of.verdicts.iter().skip(1).step_by(2).copied().collect::<HashSet<ItemHash>>();
        let (mine, theirs) = (whole(self), whole(other));
        let both = |a: &HashSet<ItemHash>, b: &HashSet<ItemHash>| a.intersection(b).count();
        both(&mine, &theirs) + both(&other.items(), &mine) + both(&self.items(), &theirs)
    }

    /// The number of files that both states have learnt, plus the number of shared rounds. A round
    /// is shared if both have observed it, or if both have learnt one of its verdicts with a pick.
    pub fn shared(&self, other: &StateMemory) -> usize {
        // A file has two fingerprints, and one may be missing: the larger count is that of the
        // files.
        let (by_rows, by_bytes): (Vec<&String>, Vec<&String>) = self
            .files
            .iter()
            .filter(|file| other.knows_file(file))
            .partition(|file| file.starts_with(BY_ROWS));
        let files = by_rows.len().max(by_bytes.len());
        let items = other.items();
        let both = |round: &&RememberedRound| {
            let same = || other.rounds.iter().find(|other| other.name == round.name);
            round.observed && same().is_some_and(|other| other.observed)
                || round.learnt.iter().any(|item| items.contains(item))
        };
        files + self.rounds.iter().filter(both).count()
    }

    /// Adds the record of another state. Errors if it has learnt another reward.
    pub fn merge(&mut self, other: &StateMemory) -> Result<(), Error> {
        if let Some(reward) = &other.reward {
            let named = Evaluator { name: reward.name.clone(), direction: reward.direction };
            self.same_reward(&named)?;
            self.add_rewards(&named, reward.least, reward.greatest);
        }
        for file in &other.files {
            self.learnt_file(file.clone());
        }
        for file in &other.picked_files {
            self.picked_from_file(file.clone());
        }
        for round in &other.rounds {
            self.picked_from(&round.name, round.at, round.observed);
            if !round.learnt.is_empty() {
                self.learnt_verdict(&round.name, round.at, round.learnt.iter().copied());
            }
        }
        self.learnt_verdicts_of_table(&other.verdicts.iter().copied().collect::<Vec<ItemHash>>());
        self.forgotten = self.forgotten.max(other.forgotten);
        self.by_rule &= other.by_rule;
        Ok(())
    }

    /// The problem of a record that was read from a file, or `None`.
    pub(crate) fn fault(&self) -> Option<String> {
        if self.files.len().max(self.picked_files.len()) > MOST_NAMES || self.rounds.len() > MOST {
            return Some(format!("it remembers more than {MOST} files or rounds"));
        }
        if self.verdicts.len() > 2 * MOST_VERDICTS || !self.verdicts.len().is_multiple_of(2) {
            return Some(format!(
                "it remembers verdicts by {} names; there are two of each, and at most {MOST_VERDICTS} verdicts",
                self.verdicts.len()
            ));
        }
        let mut times = self.rounds.iter().map(|round| round.at).chain(self.forgotten);
        if let Some(late) = times.find(|&at| at > Seen::LATEST) {
            return Some(format!("it remembers a round at {late}, later than 2^62, the latest there is"));
        }
        let reward = self.reward.as_ref()?;
        let sound =
            reward.least.is_finite() && reward.greatest.is_finite() && reward.least <= reward.greatest;
        (!sound).then(|| format!("its rewards cannot lie in {} to {}", reward.least, reward.greatest))
    }
}

/// Adds a fingerprint, and drops the oldest if there are too many.
fn remember(list: &mut VecDeque<String>, fingerprint: String) {
    if !list.contains(&fingerprint) {
        list.push_back(fingerprint);
    }
    while list.len() > MOST_NAMES {
        list.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(memory: &StateMemory, round: &str, at: u64, id: &str) -> PickVerdict {
        memory.verdict(round, at, [ItemHash::of(id), ItemHash::at(round, u64::MAX)], &memory.items())
    }

    #[test]
    fn verdicts_are_remembered_one_by_one_and_merge() {
        let (mut one, mut other) = (StateMemory::default(), StateMemory::default());
        one.picked_from("r1", 7, true);
        for id in ["p1", "p64", "p5"] {
            one.learnt_verdict("r1", 7, [ItemHash::of(id)]);
        }
        other.learnt_verdict("r1", 7, [ItemHash::of("p2")]);
        assert_eq!(one.shared(&other), 0); // one has observed the round, the other has learnt another pick
        one.merge(&other).unwrap();
        for id in ["p1", "p2", "p5", "p64"] {
            assert_eq!(known(&one, "r1", 7, id), PickVerdict::Learnt);
            assert_eq!(known(&one, "r2", 8, id), PickVerdict::Elsewhere);
        }
        assert_eq!(known(&one, "r1", 7, "p3"), PickVerdict::New);
        assert_eq!(one.round("r1"), Some((7, true)));
        assert_eq!(one.shared(&other), 1);
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<StateMemory>(&text).unwrap(), one);
    }

    /// Verdicts at the time of the latest dropped round are not taken for new ones.
    #[test]
    fn what_is_forgotten_is_known_to_be() {
        let mut memory = StateMemory::default();
        for round in 0..MOST as u64 + 2 {
            memory.learnt_verdict(&format!("r{round}"), round, [ItemHash::of(&round.to_string())]);
        }
        assert_eq!(known(&memory, "r0", 0, "0"), PickVerdict::Forgotten);
        assert_eq!(known(&memory, "r1", 1, "1"), PickVerdict::Forgotten);
        assert_eq!(known(&memory, "r2", 2, "2"), PickVerdict::Learnt);
        assert_eq!(known(&memory, "late", 2, "new"), PickVerdict::New);
        assert_eq!(known(&memory, "new", 9999, "new"), PickVerdict::New);
    }

    #[test]
    fn no_round_is_later_than_the_latest_time() {
        for (at, sound) in [(Seen::LATEST, true), (Seen::LATEST + 1, false)] {
            let mut memory = StateMemory::default();
            memory.picked_from("r", at, true);
            assert_eq!(memory.fault().is_none(), sound);
            let memory = StateMemory { forgotten: Some(at), ..StateMemory::default() };
            assert_eq!(memory.fault().is_none(), sound);
        }
    }

    #[test]
    fn another_scale_is_noticed_and_a_wider_range_is_not() {
        let (mut memory, verdict) = (StateMemory::default(), Evaluator::from("verdict"));
        assert_eq!(memory.add_rewards(&verdict, 0.0, 1.0), None);
        assert_eq!(memory.add_rewards(&verdict, 0.0, 2.0), None);
        assert_eq!(memory.add_rewards(&verdict, 1.0, 100.0), Some((0.0, 2.0)));
    }
}

//! The rows of the tables, and how log entries are put together from them.

use crate::Error;
use crate::error::corrupt;
use crate::evaluator_history::EvaluatorHistory;
use crate::event::{
    AddedItem, Body, ClaimPick, DecidedItem, GivenVerdict, LogEvent, RescoredItem, ReviewVerdict, Tags,
    VerdictPosition, VerdictSource,
};
use crate::stored_body::{StoredBody, StoredDecision};
use std::collections::HashMap;

/// A log entry to write, with the data of its rows.
#[derive(Debug, Clone)]
pub(crate) struct EntryWrite {
    pub(crate) event: LogEvent,
    /// The ids of new items in order, or of erased items.
    pub(crate) keys: Vec<String>,
    /// Payloads: item, JSON text, and when to delete it, in microseconds since 1970.
    pub(crate) payloads: Vec<(u64, String, Option<i64>)>,
    /// Comments that came with verdicts.
    pub(crate) notes: Vec<VerdictNote>,
    /// When the undo window of the entry's verdicts ends, in microseconds since 1970.
    pub(crate) stands_from: i64,
}

/// A reviewer's comment on a verdict.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VerdictNote {
    /// The verdict's index within its entry.
    pub(crate) i: u64,
    /// The item's number.
    pub(crate) n: u64,
    pub(crate) text: String,
}

/// The answer to a call with an idempotency key, as stored for repetitions of the call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredAnswer {
    pub(crate) key: String,
    pub(crate) hash: Vec<u8>,
    pub(crate) answer: String,
}

/// An item found by its id.
#[derive(Debug, Clone)]
pub(crate) struct FoundItem {
    pub(crate) n: u64,
}

/// An item with its present scores.
#[derive(Debug, Clone, Default)]
pub(crate) struct ItemRow {
    pub(crate) n: u64,
    pub(crate) arrived: i64,
    /// The entry that wrote the scores.
    pub(crate) seq: u64,
    pub(crate) scores: Vec<f64>,
    pub(crate) tags: Tags,
    pub(crate) random_check: Option<f64>,
    pub(crate) due: Option<i64>,
    pub(crate) closed: Option<u64>,
}

impl ItemRow {
    /// The item with its scores carried to the evaluators in force at entry `now`.
    pub(crate) fn into_added(mut self, history: &EvaluatorHistory, now: u64) -> AddedItem {
        if !self.scores.is_empty() {
            history.carry(&mut self.scores, history.at(self.seq), history.at(now));
        }
        AddedItem {
            n: self.n,
            scores: self.scores,
            tags: self.tags,
            random_check: self.random_check,
            due: self.due,
        }
    }
}

/// A row of the table of verdicts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VerdictRow {
    pub(crate) which: VerdictPosition,
    pub(crate) id: String,
    pub(crate) n: u64,
    pub(crate) slot: i16,
    pub(crate) reviewer: String,
    pub(crate) source: VerdictSource,
    pub(crate) label: Option<String>,
    pub(crate) reward: f64,
    pub(crate) observed_at: Option<i64>,
    pub(crate) claim: Option<u64>,
    pub(crate) supersedes: Option<VerdictPosition>,
    pub(crate) superseded_by: Option<u64>,
    pub(crate) decides: Option<f64>,
    pub(crate) probability: f64,
    pub(crate) explored: bool,
    /// When the verdict's undo window ends, in microseconds since 1970.
    pub(crate) stands_from: i64,
}

impl VerdictRow {
    pub(crate) fn of(given: &GivenVerdict, which: VerdictPosition, stands_from: i64) -> Self {
        let given = given.clone();
        VerdictRow {
            which,
            id: given.id,
            n: given.n,
            slot: given.slot,
            reviewer: given.reviewer,
            source: given.source,
            label: given.label,
            reward: given.reward,
            observed_at: given.observed_at,
            claim: given.claim,
            supersedes: given.supersedes,
            superseded_by: None,
            decides: given.decides,
            probability: given.probability,
            explored: given.explored,
            stands_from,
        }
    }

    /// The verdict as the live queue keeps it.
    pub(crate) fn earlier(&self) -> ReviewVerdict {
        ReviewVerdict { reviewer: self.reviewer.clone(), slot: self.slot, reward: self.reward }
    }

    fn into_given(self, item: AddedItem, arrived: i64, decides_first: bool) -> GivenVerdict {
        GivenVerdict {
            id: self.id,
            n: self.n,
            slot: self.slot,
            reviewer: self.reviewer,
            source: self.source,
            label: self.label,
            reward: self.reward,
            observed_at: self.observed_at,
            claim: self.claim,
            supersedes: self.supersedes,
            decides: self.decides,
            decides_first,
            probability: self.probability,
            explored: self.explored,
            arrived,
            scores: item.scores,
        }
    }
}

/// A row of the log: an entry without its rows in other tables.
#[derive(Debug)]
pub(crate) struct LogRow {
    pub(crate) seq: u64,
    pub(crate) at: i64,
    pub(crate) actor: String,
    pub(crate) kind: String,
    pub(crate) body: String,
}

/// Consecutive log rows, with all rows that belong to them.
#[derive(Debug, Default)]
pub(crate) struct LogChunk {
    pub(crate) log: Vec<LogRow>,
    /// New items by number, with their first scores.
    pub(crate) items: HashMap<u64, ItemRow>,
    /// Later scores by entry, with the items' numbers.
    pub(crate) rescored: HashMap<u64, Vec<(u64, Vec<f64>)>>,
    /// Claimed items by entry, in the order of the claim.
    pub(crate) picked: HashMap<u64, Vec<ClaimPick>>,
    /// Verdicts by entry, with their items at that time.
    pub(crate) given: HashMap<u64, Vec<(VerdictRow, ItemRow)>>,
    /// Items reopened by an undo or decided by a lower quorum, by entry and item.
    pub(crate) turned: HashMap<(u64, u64), ItemRow>,
}

impl LogChunk {
    /// The first and last number of the items added in these entries.
    pub(crate) fn numbers(&self) -> Result<Option<(u64, u64)>, Error> {
        let mut numbers: Option<(u64, u64)> = None;
        for row in self.log.iter().filter(|row| row.kind == "items") {
            if let StoredBody::Items { first, added, .. } = StoredBody::from_text(&row.body)?
                && added > 0
            {
                let (low, high) = numbers.unwrap_or((first, first));
                numbers = Some((low.min(first), high.max(first + added - 1)));
            }
        }
        Ok(numbers)
    }

    /// Entry and item of each undo, and of each decision by a lower quorum.
    pub(crate) fn turned(&self) -> Result<Vec<(u64, u64)>, Error> {
        let mut turned = Vec::new();
        for row in self.log.iter().filter(|row| row.kind == "undo" || row.kind == "configure") {
            match StoredBody::from_text(&row.body)? {
                StoredBody::Undo { n, .. } => turned.push((row.seq, n)),
                StoredBody::Configure { decided, .. } => {
                    turned.extend(decided.iter().map(|item| (row.seq, item.n)));
                }
                _ => {}
            }
        }
        Ok(turned)
    }

    /// Puts the entries together. `history` must reach at least the last entry.
    pub(crate) fn into_events(mut self, history: &EvaluatorHistory) -> Result<Vec<LogEvent>, Error> {
        let log = std::mem::take(&mut self.log);
        log.into_iter().map(|row| self.assemble(row, history)).collect()
    }

    fn assemble(&mut self, log: LogRow, history: &EvaluatorHistory) -> Result<LogEvent, Error> {
        let LogRow { seq, at, actor, body, .. } = log;
        let all = |what: &str, found: usize, said: u64| {
            let told = || corrupt(format!("entry {seq} has {said} {what}, and {found} are stored"));
            if found as u64 == said { Ok(()) } else { Err(told()) }
        };
        let gone = |n: u64| corrupt(format!("entry {seq} mentions item {n}, which is not stored"));
        let body = match StoredBody::from_text(&body)? {
            StoredBody::Create { config, secret, .. } => Body::Create { config: *config, secret },
            StoredBody::Configure { config, decided } => {
                let decided =
                    decided.into_iter().map(|StoredDecision { n, reward, probability, explored }| {
                        let item = self.turned.remove(&(seq, n)).ok_or_else(|| gone(n))?;
                        let arrived = item.arrived;
                        let scores = item.into_added(history, seq).scores;
                        Ok(DecidedItem { n, reward, probability, explored, arrived, scores })
                    });
                Body::Configure { config: *config, decided: decided.collect::<Result<_, Error>>()? }
            }
            StoredBody::Items { first, added, rescored, newly } => {
                let items: Vec<AddedItem> = (first..first + added)
                    .filter_map(|n| self.items.remove(&n))
                    .map(|row| AddedItem {
                        n: row.n,
                        scores: row.scores,
                        tags: row.tags,
                        random_check: row.random_check,
                        due: row.due,
                    })
                    .collect();
                all("items", items.len(), added)?;
                // There are fewer than `rescored` if items were erased since.
                let late =
                    if rescored > 0 { self.rescored.remove(&seq).unwrap_or_default() } else { Vec::new() };
                let late = late.into_iter().map(|(n, scores)| {
                    let newly = newly.as_ref().map(|ranges| {
                        let at = ranges.partition_point(|(_, last)| *last < n);
                        ranges.get(at).is_some_and(|(first, _)| *first <= n)
                    });
                    RescoredItem { n, scores, newly }
                });
                Body::Items { added: items, rescored: late.collect() }
            }
            StoredBody::Claim { reviewer, k, filter, model, until, random_checks, picked, .. } => {
                let picks = self.picked.remove(&seq).unwrap_or_default();
                all("picks", picks.len(), picked)?;
                Body::Claim { reviewer, k, filter, model, until, random_checks, picks }
            }
            StoredBody::Extend { reviewer, until, leases } => Body::Extend { reviewer, until, leases },
            StoredBody::Release { reviewer, leases, skip } => Body::Release { reviewer, leases, skip },
            StoredBody::Verdicts { given, decides_first } => {
                let found = self.given.remove(&seq).unwrap_or_default();
                all("verdicts", found.len(), given)?;
                let put = |(row, item): (VerdictRow, ItemRow)| {
                    let (arrived, first) = (item.arrived, decides_first.contains(&row.which.i));
                    row.into_given(item.into_added(history, seq), arrived, first)
                };
                Body::Verdicts { given: found.into_iter().map(put).collect() }
            }
            StoredBody::Undo { reviewer, verdict, n, slot, until, rest, skipped, probability, explored } => {
                let item = self.turned.remove(&(seq, n)).ok_or_else(|| gone(n))?;
                let arrived = item.arrived;
                let item = item.into_added(history, seq);
                Body::Undo {
                    reviewer,
                    verdict,
                    item,
                    arrived,
                    slot,
                    until,
                    rest,
                    skipped,
                    probability,
                    explored,
                }
            }
            StoredBody::Close { reason, items } => Body::Close { reason, items },
            StoredBody::Erase { items } => Body::Erase { items },
            StoredBody::Clock => Body::Clock,
            StoredBody::Settle => Body::Settle,
        };
        Ok(LogEvent { seq, at, actor, body })
    }
}

/// The stored form of scores: eight bytes each, little-endian.
pub(crate) fn scores_to_bytes(scores: &[f64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(scores.len() * 8);
    scores.iter().for_each(|score| bytes.extend_from_slice(&score.to_le_bytes()));
    bytes
}

/// Reads the bytes of [`scores_to_bytes`].
pub(crate) fn scores_from_bytes(bytes: &[u8]) -> Result<Vec<f64>, Error> {
    let (scores, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(corrupt(format!("scores of {} bytes", bytes.len())));
    }
    Ok(scores.iter().map(|score| f64::from_le_bytes(*score)).collect())
}

/// The stored name of a verdict's source.
pub(crate) fn source_to_text(source: VerdictSource) -> &'static str {
    match source {
        VerdictSource::Reviewer => "reviewer",
        VerdictSource::Appeal => "appeal",
        VerdictSource::Automatic => "automatic",
    }
}

/// Reads the name written by [`source_to_text`].
pub(crate) fn source_from_text(text: &str) -> Result<VerdictSource, Error> {
    match text {
        "reviewer" => Ok(VerdictSource::Reviewer),
        "appeal" => Ok(VerdictSource::Appeal),
        "automatic" => Ok(VerdictSource::Automatic),
        other => Err(corrupt(format!("a verdict's source is {other:?}"))),
    }
}

/// Reads stored tags.
pub(crate) fn tags_from_text(text: &str) -> Result<Tags, Error> {
    serde_json::from_str(text).map_err(|error| corrupt(format!("tags: {error}: {text}")))
}

//! Decisions on items: adding, rescoring, closing and erasing them.

use super::{Decider, Decision, check_name};
use crate::Error;
use crate::config::QueueMode;
use crate::event::{AddedItem, Body, RescoredItem};
use crate::live_queue::Filter;
use crate::live_queue::score_blocks::OPEN;
use crate::request::{Answer, MOST_AT_ONCE, NewItem, Rejected};
use crate::stored_body::ranges;
use jurybox::toolbox::{hash_number, hash_text};
use std::collections::{BTreeMap, HashMap};

/// The most tags of one item.
const MOST_TAGS: usize = 32;
/// A day in microseconds.
const DAY: i64 = 86_400_000_000;

impl Decider<'_> {
    /// The reason why a payload is too large, if it is.
    fn too_large(&self, payload: Option<&str>) -> Option<String> {
        let (bytes, most) = (payload.map_or(0, str::len), self.live.config.max_payload);
        (bytes > most as usize).then(|| {
            format!(
                "its payload has {bytes} bytes, more than {most}: store large content elsewhere and send a link, or raise the queue's `max_payload`"
            )
        })
    }

    pub(super) fn items(&self, items: &[NewItem]) -> Result<Decision, Error> {
        if items.len() > MOST_AT_ONCE {
            return Err(Error::Refused(format!(
                "{} items at once, more than {MOST_AT_ONCE}: send fewer at once",
                items.len()
            )));
        }
        let live = self.live;
        let (mut added, mut keys, mut payloads, mut rejected) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut rescored: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let mut here: HashMap<&str, usize> = HashMap::new();
        let (mut updated, mut unchanged, mut ignored) = (0, 0, 0);
        let mut columns = Vec::new();
        let expires = live.config.payload_days.map(|days| self.at + i64::from(days) * DAY);
        // A payload is only written if it differs from the present one. So a payload that is sent
        // again unchanged makes no entry, and its expiry stays.
        let mut newest: HashMap<u64, String> = HashMap::new();
        let mut show = |n: u64, payload: Option<String>| {
            let Some(payload) = payload else { return false };
            let before = newest.get(&n).map(String::as_str).or_else(|| self.facts.shown(n));
            let differs = before.is_none_or(|before| !crate::json::are_same(before, &payload));
            if differs {
                newest.insert(n, payload.clone());
                payloads.push((n, payload, expires));
            }
            differs
        };
        for item in items {
            let scores = match self.row(item, &mut columns) {
                Ok((scores, removed)) => {
                    ignored += removed;
                    scores
                }
                Err(why) => {
                    rejected.push(Rejected::new(&item.id, why));
                    continue;
                }
            };
            let payload = item.payload.as_ref().map(ToString::to_string);
            if let Some(why) = self.too_large(payload.as_deref()) {
                rejected.push(Rejected::new(&item.id, why));
                continue;
            }
            if let Some(&at) = here.get(item.id.as_str()) {
                // A new item that comes twice in one request: later scores are merged into the
                // earlier ones.
                let first: &mut AddedItem = &mut added[at];
                let changed = merge(&mut first.scores, &scores);
                let told = show(first.n, payload);
                *(if changed || told { &mut updated } else { &mut unchanged }) += 1;
                continue;
            }
            match self.facts.item(&item.id) {
                None if live.config.mode == QueueMode::Draining => {
                    rejected.push(Rejected::new(&item.id, "the queue is draining and accepts no new items"));
                }
                None => {
                    let n = live.next + added.len() as u64;
                    here.insert(&item.id, added.len());
                    show(n, payload);
                    keys.push(item.id.clone());
                    added.push(AddedItem {
                        n,
                        scores,
                        tags: item.tags.clone(),
                        random_check: self.random_check(&item.id),
                        due: item.due,
                    });
                }
                Some(found) if !live.is_open(found.n) => {
                    rejected.push(Rejected::closed(&item.id));
                }
                Some(found) => {
                    let n = found.n;
                    let before = rescored
                        .get(&n)
                        .cloned()
                        .unwrap_or_else(|| live.blocks.scores(n).unwrap_or_default().to_vec());
                    let mut after = before;
                    let changed = merge(&mut after, &scores);
                    if changed {
                        rescored.insert(n, after);
                    }
                    let told = show(n, payload);
                    if changed || told { updated += 1 } else { unchanged += 1 }
                }
            }
        }
        let answer = Answer::Items { accepted: added.len() as u64, updated, unchanged, ignored, rejected };
        let with_newly = |(n, scores): (u64, Vec<f64>)| {
            let before = live.blocks.scores(n).unwrap_or_default();
            let newly = before.iter().zip(&scores).any(|(before, now)| before.is_nan() && !now.is_nan());
            RescoredItem { n, scores, newly: Some(newly) }
        };
        let rescored: Vec<RescoredItem> = rescored.into_iter().map(with_newly).collect();
        let nothing = added.is_empty() && rescored.is_empty() && payloads.is_empty();
        let body = (!nothing).then_some(Body::Items { added, rescored });
        Ok(Decision { keys, payloads, ..Decision::new(body, answer) })
    }

    /// An item's scores in the order of the queue's evaluators. Also how many scores it has by
    /// evaluators that were removed. These are ignored, since senders may not know of the removal
    /// yet. `columns` caches the column of each name from the last item. Err names the fault.
    fn row(&self, item: &NewItem, columns: &mut Vec<usize>) -> Result<(Vec<f64>, u64), String> {
        check_name("the id", &item.id)?;
        if item.tags.len() > MOST_TAGS {
            return Err(format!("it has {} tags, more than {MOST_TAGS}", item.tags.len()));
        }
        for (name, value) in &item.tags {
            check_name("the name of a tag", name)?;
            check_name("the value of a tag", value)?;
        }
        let evaluators = self.live.history.current();
        let (mut row, mut removed) = (vec![f64::NAN; evaluators.len()], 0);
        for (at, (name, score)) in item.scores.iter().enumerate() {
            let as_before =
                columns.get(at).copied().filter(|column| evaluators.as_slice()[*column].name == *name);
            let column = as_before.or_else(|| evaluators.position(name));
            if column.is_none() && self.live.history.ever_had(name) {
                removed += u64::from(score.is_some());
                continue;
            }
            let column = column.ok_or_else(|| match jurybox::nearest(name, evaluators.names()) {
                Some(near) => format!("there is no evaluator `{name}`; did you mean `{near}`?"),
                None => format!("there is no evaluator `{name}`"),
            })?;
            row[column] = score.unwrap_or(f64::NAN);
            columns.resize(columns.len().max(at + 1), column);
            columns[at] = column;
        }
        match jurybox::Scores::new(&row, row.len()) {
            Ok(_) => Ok((row, removed)),
            Err(jurybox::Error::Score { evaluator, value, .. }) => Err(format!(
                "evaluator `{}`: score {value:e} is not usable; a score is a number within ±1e100, or null if it is missing",
                evaluators.names().nth(evaluator.column).unwrap_or_default()
            )),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The probability of an item's random check, if the item is drawn for one. The draw is a keyed
    /// hash of its id, so that neither scores nor time influence it.
    fn random_check(&self, id: &str) -> Option<f64> {
        let rate = self.live.config.random_check_rate;
        let drawn = hash_number(self.live.secret, hash_text(id)) as f64 / 2_f64.powi(64);
        (drawn < rate).then_some(rate)
    }

    pub(super) fn close(
        &self,
        filter: &Filter,
        before: Option<i64>,
        reason: &str,
    ) -> Result<Decision, Error> {
        check_name("the reason", reason).map_err(Error::Refused)?;
        let mut closed = Vec::new();
        for block in self.live.blocks.iter() {
            for row in 0..block.flags.len() {
                let n = block.number(row);
                let wanted = block.flags[row] & OPEN != 0
                    && before.is_none_or(|before| block.arrived[row] < before)
                    && self.live.tags(n).is_some_and(|tags| filter.takes(tags));
                if wanted {
                    closed.push(n);
                }
            }
        }
        let changed = closed.len() as u64;
        let items = ranges(closed.into_iter());
        let body = (changed > 0).then(|| Body::Close { reason: reason.into(), items });
        Ok(Decision::new(body, Answer::Changed { changed }))
    }

    pub(super) fn erase(&self, items: &[String]) -> Result<Decision, Error> {
        if items.len() > MOST_AT_ONCE {
            return Err(Error::Refused(format!("{} items at once, more than {MOST_AT_ONCE}", items.len())));
        }
        let mut numbers: Vec<u64> =
            items.iter().filter_map(|id| self.facts.item(id)).map(|found| found.n).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let changed = numbers.len() as u64;
        let body = (changed > 0).then_some(Body::Erase { items: numbers });
        let keys = items.iter().filter(|id| self.facts.item(id).is_some()).cloned().collect();
        Ok(Decision { keys, ..Decision::new(body, Answer::Changed { changed }) })
    }
}

/// Overwrites scores by the ones in `after` that are not missing. Returns whether any changed.
fn merge(before: &mut [f64], after: &[f64]) -> bool {
    let mut changed = false;
    for (before, after) in before.iter_mut().zip(after).filter(|(_, after)| !after.is_nan()) {
        changed |= before.to_bits() != after.to_bits();
        *before = *after;
    }
    changed
}

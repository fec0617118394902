//! What a claim should have been given, from a plain list of everything that is open.

use super::read::{Entry, Found, Pick};
use super::{Play, Problem};
use jurybox::toolbox::{hash_number, hash_text};
use jurybox::{Direction, Evaluator};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A pick as it should have been.
pub(super) struct Should {
    item: u64,
    slot: i64,
    value: f64,
    probability: f64,
    explored: bool,
    /// Whatever a model says of it.
    ahead: bool,
}

/// An item that the reviewer could have been given.
struct Candidate {
    item: u64,
    slot: i64,
    value: f64,
    key: f64,
    due: Option<i64>,
    audit: Option<f64>,
}

impl Candidate {
    fn picked(&self, audit: Option<f64>, ahead: bool) -> Should {
        let (probability, explored) = (audit.unwrap_or(1.0), audit.is_some());
        Should { item: self.item, slot: self.slot, value: self.value, probability, explored, ahead }
    }
}

impl Play<'_> {
    /// How many items of a claim may be audits: by its draw, or by the share rounded up where an entry of an earlier program says nothing of one.
    pub(super) fn room_for_audits(&self, entry: &Entry) -> Found<usize> {
        let k = entry.body["k"].as_u64().unwrap_or(0);
        let room = k as f64 * self.number("audit_share", 0.25);
        let Some(said) = entry.body["audits"].as_u64() else { return Ok(room.ceil() as usize) };
        let secret = self.records.log[0].body["secret"].as_u64().unwrap_or(0);
        let key = hash_number(secret, hash_text("audits of a claim"));
        let drawn = hash_number(key, entry.seq) as f64 / 2_f64.powi(64);
        let room = room.floor() as u64 + u64::from(drawn < room.fract());
        if said != room {
            return Err(Problem(format!("its draw leaves room for {room} audits, and {said} is written")));
        }
        Ok(room as usize)
    }

    /// What the claim should have been given, of all that is still there.
    pub(super) fn top(&mut self, entry: &Entry) -> Found<Vec<Should>> {
        let body = &entry.body;
        let model = body["model"].as_u64().unwrap_or(0);
        if model >= entry.seq {
            return Err(Problem(format!("model {model} has learnt from what comes later")));
        }
        if self.fitted.as_ref().is_none_or(|(of, _)| *of != model) {
            self.fitted = Some((model, self.models.fitted(model)?));
            self.values.clear();
        }
        let Some((_, fitted)) = &self.fitted else { return Err(Problem("there is no model".into())) };
        let setup = &self.records.setups[self.setup];
        let (k, reviewer) =
            (body["k"].as_u64().unwrap_or(0) as usize, body["reviewer"].as_str().unwrap_or_default());
        let filter: BTreeMap<String, Vec<String>> =
            serde_json::from_value(body["filter"].clone()).unwrap_or_default();
        let number = |name: &str, otherwise: f64| setup.config[name].as_f64().unwrap_or(otherwise);
        let (quorum, ageing) = (number("quorum", 1.0) as i64, number("ageing_per_day", 0.0));
        let start = self.records.log[0].at;
        let (seats, asked) = (setup.evaluators.as_slice(), fitted.evaluators().as_slice());
        let muted: Vec<&str> =
            setup.config["muted"].as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect();
        let mut candidates = Vec::new();
        for (&n, open) in &self.open {
            let Some(slot) = open.free(quorum) else { continue };
            if self.models.is_erased(n) || open.knows(reviewer) || !wanted(&filter, &open.tags) {
                continue;
            }
            let value = if let Some(value) = self.values.get(&n) {
                *value
            } else {
                let score = |seat: &Evaluator| {
                    let at = seats.iter().position(|other| other == seat && !muted.contains(&&*seat.name));
                    at.and_then(|at| open.row.get(at)).copied().unwrap_or(f64::NAN)
                };
                let value = if let Some(weights) = setup.config["weights"].as_object() {
                    by_weights(seats.iter().map(|seat| (seat, score(seat))), weights)
                } else {
                    let row: Vec<f64> = asked.iter().map(score).collect();
                    let told = |error: jurybox::Error| Problem(error.to_string());
                    fitted.values(&fitted.scores(&row).map_err(told)?).map_err(told)?[0]
                };
                // What cannot be valued is worth nothing.
                let value = if value.is_nan() { 0.0 } else { value };
                self.values.insert(n, value);
                value
            };
            let key = value - ageing * (open.arrived.saturating_sub(start) as f64 / 86_400e6);
            let due = open.due.filter(|due| *due <= entry.at);
            candidates.push(Candidate { item: n, slot, value, key, due, audit: open.audit });
        }
        let mut top: Vec<Should> = Vec::new();
        let mut due: Vec<&Candidate> = candidates.iter().filter(|c| c.due.is_some()).collect();
        due.sort_by_key(|c| (c.due, c.item));
        top.extend(due.into_iter().take(k).map(|c| c.picked(None, true)));
        let is_in = |top: &[Should], c: &Candidate| top.iter().any(|t| t.item == c.item);
        let room = (k - top.len()).min(self.room_for_audits(entry)?);
        let audits = candidates.iter().filter(|c| c.audit.is_some() && !is_in(&top, c)).take(room);
        let audits: Vec<Should> = audits.map(|c| c.picked(c.audit, true)).collect();
        top.extend(audits);
        let mut best: Vec<&Candidate> = candidates.iter().filter(|c| !is_in(&top, c)).collect();
        best.sort_by(|a, b| b.key.partial_cmp(&a.key).unwrap_or(Ordering::Equal).then(a.item.cmp(&b.item)));
        let rest = k - top.len();
        top.extend(best.into_iter().take(rest).map(|c| c.picked(None, false)));
        Ok(top)
    }
}

/// The mean of the scores that are there, by weights that somebody has fixed; those that point low the other way round.
fn by_weights<'a>(
    scores: impl Iterator<Item = (&'a Evaluator, f64)>,
    weights: &serde_json::Map<String, serde_json::Value>,
) -> f64 {
    let weighed = scores.filter(|(_, score)| !score.is_nan()).map(|(seat, score)| {
        let weight = weights.get(&seat.name).and_then(serde_json::Value::as_f64).unwrap_or(0.0);
        (weight, if seat.direction == Direction::Low { -score } else { score })
    });
    let weighed: Vec<(f64, f64)> = weighed.filter(|(weight, _)| *weight != 0.0).collect();
    if weighed.is_empty() {
        return f64::NEG_INFINITY;
    }
    let sum = weighed.iter().fold(0.0, |sum, (weight, score)| sum + weight * score);
    sum / weighed.iter().fold(0.0, |sum, (weight, _)| sum + weight.abs())
}

/// Whether the picks are what they should have been, to the last bit.
pub(super) fn compare(top: &[Should], picks: &[Pick]) -> Found<()> {
    if top.len() != picks.len() {
        return Err(Problem(format!("the top K had {} items, and {} were given", top.len(), picks.len())));
    }
    for (place, (should, is)) in top.iter().zip(picks).enumerate() {
        let wrong = if (should.item, should.slot) != (is.item, is.slot) {
            format!(
                "the top K had item {}, review {}, of value {}, and item {}, review {}, of value {} was given",
                should.item, should.slot, should.value, is.item, is.slot, is.value
            )
        } else if should.value.to_bits() != is.value.to_bits() {
            format!("item {} is worth {}, and {} is written", is.item, should.value, is.value)
        } else if (should.probability.to_bits(), should.explored) != (is.probability.to_bits(), is.explored) {
            format!(
                "item {} has the probability {}{}, and {}{} is written",
                is.item,
                should.probability,
                if should.explored { " as an audit" } else { "" },
                is.probability,
                if is.explored { " as an audit" } else { "" }
            )
        } else {
            continue;
        };
        return Err(Problem(format!("place {}: {wrong}", place + 1)));
    }
    Ok(())
}

/// Whether the picks are as many as they should have been, and those whose date had come and the audits, which go before the best, are the same.
pub(super) fn compare_ahead(top: &[Should], picks: &[Pick]) -> Found<()> {
    let ahead = top.iter().filter(|should| should.ahead).count();
    if let Some(late) = picks.iter().skip(ahead).find(|pick| pick.explored) {
        return Err(Problem(format!("item {} was given as an audit, and its turn had not come", late.item)));
    }
    let is_same = |(should, is): (&Should, &Pick)| {
        (should.item, should.slot, should.explored) == (is.item, is.slot, is.explored)
    };
    let wrong = top.iter().take(ahead).zip(picks).find(|pair| !is_same(*pair));
    match wrong {
        _ if top.len() != picks.len() => {
            Err(Problem(format!("the top K had {} items, and {} were given", top.len(), picks.len())))
        }
        Some((should, is)) => Err(Problem(format!(
            "item {}, review {}, went before all others, by its date or as an audit, and item {}, review {} was given",
            should.item, should.slot, is.item, is.slot
        ))),
        None => Ok(()),
    }
}

/// An item's tags against a filter of a claim.
pub(super) fn wanted(filter: &BTreeMap<String, Vec<String>>, tags: &BTreeMap<String, String>) -> bool {
    filter.iter().all(|(name, values)| tags.get(name).is_some_and(|tag| values.contains(tag)))
}

//! Computes the models that claims name, in another way than the server. The server keeps a queue
//! of due events. The checker lists for each item when it must have been observed and learnt, and
//! sorts these steps.

use super::Violation;
use super::read::{CheckResult, LoggedVerdict, QueueRecords};
use jurybox::{Example, Fitted, Jury, Receipt, Reviewer, Scores};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The sort key of a learning step: the entry that triggered it; 0 for effects of time and 1 for
/// effects of the entry; the due time; 0 for items and 1 for verdicts; the order within these.
type StepKey = (u64, u8, i64, u8, u64, u64);

enum LearningEvent {
    Seen { at: i64 },
    Taught { verdict: Box<LoggedVerdict> },
}

struct LearningStep {
    place: StepKey,
    item: u64,
    what: LearningEvent,
}

/// A decision on an item: its entry and position, the reward, and whether it revises an earlier
/// decision.
type ItemDecision = ((u64, u64), f64, bool);

/// The models of a queue, each named by the last entry it has learnt.
pub(super) struct Models<'a> {
    records: &'a QueueRecords,
    steps: Vec<LearningStep>,
    /// Entries that revise learnt facts, erase items, or change evaluators or policy.
    revisions: BTreeSet<u64>,
    /// People's decisions on each item, in log order.
    decided: HashMap<u64, Vec<ItemDecision>>,
    erased: HashMap<u64, u64>,
    /// The entry at which each item was observed, if it was.
    seen_with: HashMap<u64, u64>,
    /// Entries that set the clock.
    clock_set: Vec<u64>,
    /// For each entry, the number of items that existed then and were erased later.
    gone: Vec<i64>,
    going: Option<FoldProgress>,
    /// The models that the claims to check name, with the last entry that names each.
    named: BTreeMap<u64, u64>,
    /// Models that were computed and will be named again.
    made: BTreeMap<u64, Fitted>,
    /// For each checkpoint computed so far, whether it ends with the jury computed from the log.
    checkpoints: BTreeMap<u64, bool>,
}

/// A fold of the log that can be continued.
struct FoldProgress {
    model: u64,
    done: usize,
    round: Vec<f64>,
    many: usize,
    jury: Jury,
}

impl<'a> Models<'a> {
    pub(super) fn of(records: &'a QueueRecords) -> Self {
        let mut models = Models {
            records,
            steps: Vec::new(),
            revisions: BTreeSet::new(),
            decided: HashMap::new(),
            erased: HashMap::new(),
            seen_with: HashMap::new(),
            clock_set: (1..)
                .zip(&records.log)
                .filter(|(_, e)| e.kind == "clock")
                .map(|(seq, _)| seq)
                .collect(),
            gone: vec![0; records.log.len() + 2],
            going: None,
            named: BTreeMap::new(),
            made: BTreeMap::new(),
            checkpoints: BTreeMap::new(),
        };
        for entry in &records.log {
            match entry.kind.as_str() {
                "claim" if entry.seq > records.since => {
                    models.named.extend(entry.body["model"].as_u64().map(|model| (model, entry.seq)));
                }
                "erase" => {
                    models.revisions.insert(entry.seq);
                    for n in entry.body["items"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(serde_json::Value::as_u64)
                    {
                        models.erased.entry(n).or_insert(entry.seq);
                    }
                }
                "configure" => {
                    let (before, now) = (records.setup_before(entry.seq), records.setup_at(entry.seq));
                    let (before, now) = (&records.setups[before], &records.setups[now]);
                    if before.evaluators != now.evaluators || before.policy != now.policy {
                        models.revisions.insert(entry.seq);
                    }
                }
                _ => {}
            }
        }
        models.write_down_what_is_gone();
        models.write_down_sightings();
        models.write_down_lessons();
        models.steps.sort_by_key(|step| step.place);
        models
    }

    /// The first entry after `after` that has at least this time or sets the clock; one past the
    /// last entry if there is none.
    pub(super) fn entry_at(&self, time: i64, after: u64) -> u64 {
        let log = &self.records.log;
        let set = self.clock_set.get(self.clock_set.partition_point(|seq| *seq <= after));
        let end = set.map_or(log.len(), |seq| *seq as usize - 1);
        let first = (after as usize).min(end);
        (first + log[first..end].partition_point(|entry| entry.at < time)) as u64 + 1
    }

    /// Whether a verdict could still be taken back at an entry.
    pub(super) fn waits(&self, verdict: &LoggedVerdict, seq: u64) -> bool {
        self.entry_at(verdict.stands_from, verdict.seq) > seq
    }

    /// The time of an entry; 0 if there is none.
    fn at(&self, seq: u64) -> i64 {
        (seq as usize).checked_sub(1).and_then(|at| self.records.log.get(at)).map_or(0, |entry| entry.at)
    }

    /// Lists when each item was observed: when it was complete, claimed, judged, closed or old
    /// enough, whichever came first. It is observed again when an evaluator scores it for the first
    /// time. Other changes of its scores are counted anew after each decision or closing; it is
    /// observed again if the count is a power of two.
    fn write_down_sightings(&mut self) {
        let records = self.records;
        let mut touched: HashMap<u64, (u64, u64)> = HashMap::new();
        let mut done_with: HashMap<u64, Vec<u64>> = HashMap::new();
        let mut touch = |n: u64, seq: u64, order: u64| {
            touched.entry(n).or_insert((seq, order));
        };
        for entry in &records.log {
            match entry.kind.as_str() {
                "claim" => {
                    for (order, pick) in records.picks.get(&entry.seq).into_iter().flatten().enumerate() {
                        touch(pick.item, entry.seq, order as u64);
                    }
                }
                "verdicts" => {
                    for (order, verdict) in records.verdicts.get(&entry.seq).into_iter().flatten().enumerate()
                    {
                        touch(verdict.item, entry.seq, order as u64);
                        if verdict.decides.is_some() {
                            done_with.entry(verdict.item).or_default().push(entry.seq);
                        }
                    }
                }
                "close" => {
                    let mut order = 0;
                    for range in entry.body["items"].as_array().into_iter().flatten() {
                        let (Some(first), Some(last)) = (range[0].as_u64(), range[1].as_u64()) else {
                            continue;
                        };
                        for n in first..=last.min(records.items.len() as u64) {
                            touch(n, entry.seq, order);
                            done_with.entry(n).or_default().push(entry.seq);
                            order += 1;
                        }
                    }
                }
                "configure" => {
                    for item in entry.body["decided"].as_array().into_iter().flatten() {
                        if let Some(n) = item["n"].as_u64() {
                            done_with.entry(n).or_default().push(entry.seq);
                        }
                    }
                }
                _ => {}
            }
        }
        let full = |row: &[f64]| row.iter().all(|score| !score.is_nan());
        for item in &records.items {
            let Some(first) = &item.scores else { continue };
            let settle = records.setups[records.setup_before(item.seq)].config["settle_seconds"]
                .as_i64()
                .unwrap_or(60);
            let due = item.arrived.saturating_add(settle.saturating_mul(1_000_000));
            // The order within an entry: new items by number, then late scores.
            let mut moments: Vec<(u64, u64)> = Vec::new();
            if full(first) || settle == 0 {
                moments.push((item.seq, item.n));
            }
            let late = records.late_of.get(&item.n).into_iter().flatten();
            moments.extend(late.filter(|(_, row)| full(row)).map(|(seq, _)| (*seq, (1 << 40) + item.n)));
            moments.extend(touched.get(&item.n).copied());
            let by_entry = moments.into_iter().min();
            let by_time = self.entry_at(due, item.seq);
            let (place, at) = match by_entry {
                Some((seq, order)) if seq < by_time || settle == 0 => {
                    ((seq, 1, 0, 0, order, 0), self.at(seq))
                }
                _ if by_time <= records.log.len() as u64 => ((by_time, 0, due, 0, item.n, 0), due),
                _ => continue,
            };
            self.seen_with.insert(item.n, place.0);
            self.steps.push(LearningStep { place, item: item.n, what: LearningEvent::Seen { at } });
            let done_with = done_with.get(&item.n).map_or(&[][..], Vec::as_slice);
            let (mut others, mut since) = (0_u64, 0);
            for (seq, _) in records.late_of.get(&item.n).into_iter().flatten() {
                let again = (*seq, 1, 0, 0, (1 << 40) + item.n, 0);
                let Some(newly) = records.newly(*seq, item.n).filter(|_| again > place) else { continue };
                if done_with.iter().any(|done| (since..*seq).contains(done)) {
                    others = 0;
                }
                since = *seq;
                others += u64::from(!newly);
                if newly || others.is_power_of_two() {
                    let what = LearningEvent::Seen { at: self.at(*seq) };
                    self.steps.push(LearningStep { place: again, item: item.n, what });
                }
            }
        }
    }

    /// Lists when each decision was learnt: as soon as it could no longer be taken back.
    fn write_down_lessons(&mut self) {
        let records = self.records;
        let mut waiting: HashMap<u64, LoggedVerdict> = HashMap::new();
        let mut lessons: Vec<LoggedVerdict> = Vec::new();
        let mut last_on: HashMap<u64, &LoggedVerdict> = HashMap::new();
        // Items that have been decided; later verdicts on them may be revisions.
        let mut done: HashSet<u64> = HashSet::new();
        for entry in &records.log {
            if entry.kind == "undo"
                && let Some(n) = entry.body["n"].as_u64()
            {
                done.remove(&n);
                if waiting.get(&n).is_some_and(|verdict| self.waits(verdict, entry.seq)) {
                    waiting.remove(&n);
                }
            }
            // The entry that lowered the quorum decides the items that have enough verdicts now.
            let enough = entry.body["decided"].as_array().into_iter().flatten().enumerate();
            for (i, item) in enough.filter(|_| entry.kind == "configure") {
                let (Some(n), Some(worth)) = (item["n"].as_u64(), item["reward"].as_f64()) else { continue };
                let before = &records.setups[records.setup_before(entry.seq)].config;
                let undo = before["undo_seconds"].as_i64().unwrap_or(20).saturating_mul(1_000_000);
                let Some(last) = last_on.get(&n) else { continue };
                done.insert(n);
                self.decided.entry(n).or_default().push(((entry.seq, i as u64), worth, false));
                let lesson = LoggedVerdict {
                    seq: entry.seq,
                    i: i as u64,
                    stands_from: entry.at.saturating_add(undo),
                    decides: Some(worth),
                    probability: item["probability"].as_f64().unwrap_or(1.0),
                    explored: item["explored"].as_bool().unwrap_or(false),
                    ..(*last).clone()
                };
                waiting.insert(n, lesson);
            }
            for verdict in records.verdicts.get(&entry.seq).into_iter().flatten() {
                last_on.insert(verdict.item, verdict);
                let Some(worth) = verdict.decides else { continue };
                let first = done.insert(verdict.item);
                let before = waiting.remove(&verdict.item);
                let (pending, taught) = match before {
                    Some(before) if self.waits(&before, entry.seq) => (true, None),
                    other => (false, other),
                };
                lessons.extend(taught);
                if verdict.source == "automatic" {
                    continue;
                }
                let revises = verdict.replaces.is_some() || verdict.source == "appeal";
                self.decided.entry(verdict.item).or_default().push(((entry.seq, verdict.i), worth, revises));
                if revises && !pending && !first {
                    self.revisions.insert(entry.seq);
                } else {
                    waiting.insert(verdict.item, verdict.clone());
                }
            }
        }
        lessons.extend(waiting.into_values());
        for verdict in lessons {
            // At the next entry at the earliest, even if no time was allowed for taking it back.
            let entry = self.entry_at(verdict.stands_from, verdict.seq);
            let place = (entry, 0, verdict.stands_from, 1, verdict.seq, verdict.i);
            self.steps.push(LearningStep {
                place,
                item: verdict.item,
                what: LearningEvent::Taught { verdict: Box::new(verdict) },
            });
        }
    }

    /// Counts, for each entry, the items that may have been learnt and are erased later.
    fn write_down_what_is_gone(&mut self) {
        for (n, erased) in &self.erased {
            let item = (*n as usize).checked_sub(1).and_then(|at| self.records.items.get(at));
            let arrived = item.map_or(0, |item| item.seq);
            for (seq, step) in [(arrived, 1), (*erased, -1)] {
                if let Some(gone) = self.gone.get_mut(seq as usize) {
                    *gone += step;
                }
            }
        }
        let mut there = 0;
        for gone in &mut self.gone {
            there += *gone;
            *gone = there;
        }
    }

    /// Whether a model cannot be computed any more, because an item was erased since.
    pub(super) fn is_gone(&self, model: u64) -> bool {
        self.gone.get(model as usize).is_some_and(|there| *there > 0)
    }

    /// Whether an item was erased at any time.
    pub(super) fn is_erased(&self, n: u64) -> bool {
        self.erased.contains_key(&n)
    }

    /// The erased items.
    pub(super) fn erased(&self) -> impl Iterator<Item = &u64> {
        self.erased.keys()
    }

    /// The reward of an item with a revised verdict, as known at entry `model`, and the position of
    /// the decision it comes from; None without a revision.
    fn worth(&self, n: u64, model: u64) -> Option<((u64, u64), f64)> {
        let known = self.decided.get(&n)?.iter().take_while(|((seq, _), ..)| *seq <= model);
        let (last, revised) = known.fold((None, false), |(_, any), (place, worth, revises)| {
            (Some((*place, *worth)), any || *revises)
        });
        last.filter(|_| revised)
    }

    /// The reviewer to whom a verdict is attributed in learning: its reviewer if the quorum is one.
    /// Appeals and decisions by a lowered quorum are attributed to nobody.
    fn judge(&self, verdict: &LoggedVerdict) -> Option<Reviewer> {
        let given = self.records.verdicts.get(&verdict.seq).is_some_and(|all| !all.is_empty());
        let quorum = self.records.setups[self.records.setup_before(verdict.seq)].config["quorum"].as_u64();
        let alone = given && verdict.source == "reviewer" && quorum.unwrap_or(1) == 1;
        alone.then(|| Reviewer::named(&verdict.reviewer))
    }

    /// Whether a checkpoint ends with the jury computed from the log.
    pub(super) fn is_at(&mut self, checkpoint: u64) -> CheckResult<bool> {
        if !self.checkpoints.contains_key(&checkpoint) {
            self.fold(checkpoint)?;
        }
        Ok(self.checkpoints.get(&checkpoint).is_some_and(|same| *same))
    }

    /// The model that has learnt up to an entry, for a claim at entry `now`.
    ///
    /// A fold only goes forward, but a later claim may name an earlier model. So the models that
    /// later claims name are computed on the way, and checkpoints are compared.
    pub(super) fn fitted(&mut self, model: u64, now: u64) -> CheckResult<Fitted> {
        let is_needed = |of: &u64| self.named.get(of).is_some_and(|last| *last >= now);
        self.made.retain(|of, _| is_needed(of));
        if let Some(fitted) = self.made.get(&model) {
            return Ok(fitted.clone());
        }
        let from = self.going.as_ref().map_or(0, |going| going.model);
        let on_the_way = |of: &u64| from < *of && *of < model;
        let checkpoints =
            self.records.checkpoints.iter().map(|(seq, ..)| *seq).filter(|seq| !self.is_gone(*seq));
        let stops: BTreeSet<u64> =
            self.named.keys().copied().filter(is_needed).chain(checkpoints).filter(on_the_way).collect();
        for stop in stops {
            // If it fails, the claim that needs the model reports the error.
            if let Ok(fitted) = self.fold(stop) {
                self.made.insert(stop, fitted);
            }
        }
        let fitted = self.fold(model)?;
        self.made.insert(model, fitted.clone());
        Ok(fitted)
    }

    /// The model that has learnt up to an entry, from the facts known at that entry.
    fn fold(&mut self, model: u64) -> CheckResult<Fitted> {
        if model == 0 || model > self.records.log.len() as u64 {
            return Err(Violation(format!("model {model} does not exist: the log has no such entry")));
        }
        let goes_on = self.going.as_ref().is_some_and(|going| {
            let since = going.model + 1;
            going.model == model || (since <= model && self.revisions.range(since..=model).next().is_none())
        });
        let setup = self.records.setup_at(model);
        let mut going = match self.going.take() {
            Some(going) if goes_on => going,
            _ => {
                let setup = &self.records.setups[setup];
                let spec =
                    setup.policy.parse().map_err(|error: jurybox::Error| Violation(error.to_string()))?;
                let jury = Jury::new(&spec, setup.evaluators.clone())
                    .map_err(|error| Violation(error.to_string()))?;
                FoldProgress { model, done: 0, round: Vec::new(), many: 0, jury }
            }
        };
        going.model = model;
        while let Some(step) = self.steps.get(going.done).filter(|step| step.place.0 <= model) {
            going.done += 1;
            if self.erased.get(&step.item).is_some_and(|seq| *seq <= model) {
                continue;
            }
            self.take(&mut going, step, model, setup)
                .map_err(|error| Violation(format!("model {model}: {error}")))?;
        }
        let fitted = match self.first_look(&going, setup) {
            Ok(Some(jury)) => jury.fit(),
            Ok(None) => going.jury.fit(),
            Err(error) => return Err(Violation(format!("model {model}: {error}"))),
        };
        if let Some((_, state, _)) = self.records.checkpoints.iter().find(|(seq, ..)| *seq == model) {
            self.checkpoints.insert(model, state.ends_with(&going.jury.to_bytes()));
        }
        self.going = Some(going);
        Ok(fitted)
    }

    /// The model before 64 items are observed. It sees the items observed so far and the oldest
    /// others, at most 64 in all; the others with their scores at the entry. Later models do not
    /// build on it.
    fn first_look(&self, going: &FoldProgress, setup: usize) -> Result<Option<Jury>, jurybox::Error> {
        if going.jury.seen().items > 0 || !going.jury.learns_from_scores() {
            return Ok(None);
        }
        let (records, model) = (self.records, going.model);
        let mut table = going.round.clone();
        let there = records.items.iter().take_while(|item| item.seq <= model);
        let there = there.filter(|item| self.erased.get(&item.n).is_none_or(|seq| *seq > model));
        let unseen = there.filter(|item| self.seen_with.get(&item.n).is_none_or(|seq| *seq > model));
        let rows = unseen.filter_map(|item| records.scores_at(item.n, model));
        for (row, of) in rows.take(64 - going.many) {
            table.extend(records.moved(&row, of, setup));
        }
        if table.is_empty() {
            return Ok(None);
        }
        let mut jury = going.jury.clone();
        let at = u64::try_from(self.at(model) / 1_000_000).unwrap_or(0);
        jury.observe(&Scores::new(&table, jury.evaluators().len())?, at)?;
        Ok(Some(jury))
    }

    fn take(
        &self,
        going: &mut FoldProgress,
        step: &LearningStep,
        model: u64,
        setup: usize,
    ) -> Result<(), jurybox::Error> {
        let seconds = |micros: i64| u64::try_from(micros / 1_000_000).unwrap_or(0);
        // Effects of time precede the entry that triggers them.
        let known = |seq: u64, phase: u8| if phase == 0 { seq - 1 } else { seq };
        match &step.what {
            LearningEvent::Seen { at } => {
                let Some((row, of)) = self.records.scores_at(step.item, known(step.place.0, step.place.1))
                else {
                    return Ok(());
                };
                going.round.extend(self.records.moved(&row, of, setup));
                going.many += 1;
                if going.many == 64 {
                    let table = std::mem::take(&mut going.round);
                    going.jury.observe(&Scores::new(&table, going.jury.evaluators().len())?, seconds(*at))?;
                    going.many = 0;
                }
            }
            LearningEvent::Taught { verdict } => {
                let Some((row, of)) = self.records.scores_at(step.item, verdict.seq) else { return Ok(()) };
                let scores = self.records.moved(&row, of, setup);
                let receipt = Receipt {
                    inclusion_probability: verdict.probability,
                    explored: verdict.explored,
                    ..Receipt::default()
                };
                let last = self.worth(step.item, model);
                let said = || verdict.decides.unwrap_or(verdict.reward);
                let reward = last.map_or_else(said, |(_, worth)| worth);
                // The verdict is attributed to its reviewer only if no later decision replaced it.
                let own = last.is_none_or(|(place, _)| place == (verdict.seq, verdict.i));
                let who = self.judge(verdict).filter(|_| own);
                let arrived = self.records.items[step.item as usize - 1].arrived;
                let example = Example { scores: &scores, reward, receipt: Some(&receipt) };
                going.jury.learn_by(&[example], &[who], seconds(arrived))?;
            }
        }
        Ok(())
    }

    /// The number of entries that revised learnt facts, erased items, or changed evaluators or
    /// policy.
    pub(super) fn revisions(&self) -> u64 {
        self.revisions.len() as u64
    }
}

//! Items: listed, and one of them explained.

use crate::board::{Board, Filter};
use crate::clerk::Clerk;
use crate::reads::Told;
use crate::reads::report::clamped;
use crate::rows::{ItemRow, VerdictRow};
use crate::seatings::Seatings;
use crate::service::Queue;
use crate::store::{Store, set_up};
use crate::{Error, Tags};
use jurybox::options::Fraction;
use jurybox::{Contributions, Interval};
use std::collections::HashMap;

/// How an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// Open, and in nobody's hands.
    Pending,
    /// Open, and in somebody's hands.
    Leased,
    /// Closed.
    Closed,
}

/// An item as a list shows it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its number: the place to go on from.
    pub n: u64,
    /// Its id.
    pub id: String,
    /// When it came in, in microseconds since 1970.
    pub arrived: i64,
    /// How it stands.
    pub stands: Stands,
    /// What it is ranked by now, where it is open.
    pub value: Option<f64>,
    /// Its scores, by the evaluators of the queue.
    pub scores: Vec<Option<f64>>,
    /// Its tags.
    pub tags: Tags,
    /// From when on it goes first.
    pub due: Option<i64>,
}

/// A verdict that stands on an item.
#[derive(Debug, Clone)]
pub struct Judged {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub reviewer: String,
    /// What it was worth.
    pub reward: f64,
    /// A word for what was found.
    pub label: Option<String>,
    /// What was said beside it.
    pub note: Option<String>,
    /// Whether its reviewer had given a verdict on the item before, and may have seen what was thought of it since.
    pub seen: bool,
}

/// An item, and why it has its place.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The item.
    pub item: Listed,
    /// What reviewers are shown.
    pub payload: Option<crate::Json>,
    /// The verdicts that stand on it.
    pub verdicts: Vec<Judged>,
    /// Who has it, and until when.
    pub leases: Vec<(String, i64)>,
    /// The probability with which it was drawn for an audit, if it was.
    pub audit: Option<f64>,
    /// The entry up to which the model that ranks has learnt.
    pub model: u64,
    /// How many verdicts that model has learnt from.
    pub learnt_from: u64,
    /// What each evaluator adds to its value, where the policy can say.
    pub contributions: Option<Contributions>,
    /// The reward that is expected, with an interval that holds it with probability 0.9, where the policy can say.
    pub predicted: Option<Interval>,
}

impl Queue {
    /// Free items in the order in which they would be given out by value, from one place on, and the model that says so.
    pub fn ranked(&self, filter: Filter, from: usize, limit: usize) -> Result<(u64, Vec<Listed>), Error> {
        let (model, seen) = self.read(move |clerk| {
            clerk.as_of_now(|board, now| {
                let model = board.view.as_ref().map_or(0, |view| view.model);
                (model, Seen::new(board, board.in_turn(&filter, from, limit), now))
            })
        })?;
        Ok((model, self.filled(&seen)?))
    }

    /// Items in the order in which they came, after the one of that number; erased ones are left out.
    pub fn listed(&self, after: u64, limit: usize) -> Result<Vec<Listed>, Error> {
        let seen = self.read(move |clerk| {
            let now = clerk.now();
            let board = &clerk.replica.board;
            let last = board.next.min(after.saturating_add(limit as u64 + 1));
            Seen::new(board, (after + 1..last).collect(), now)
        })?;
        self.filled(&seen)
    }

    fn filled(&self, seen: &Seen) -> Result<Vec<Listed>, Error> {
        let rows = self.read_aside(|store, queue, head| {
            // The database may be a few entries ahead of the board that was looked at.
            let (seatings, _) = set_up(store, queue, head.seq)?;
            seen.filled(store, queue, (&seatings, head.seq))
        })?;
        Ok(rows.into_iter().map(|row| row.item).collect())
    }

    /// An item by its id, with the reasons for its place.
    pub fn explained(&self, id: &str) -> Result<Option<Explained>, Error> {
        let id = id.to_string();
        self.read(move |clerk| clerk.look_up(|clerk| clerk.explained(&id)))?
    }
}

/// What a board says of items: all that has to be seen on the clerk's thread. Their rows are read elsewhere.
struct Seen {
    /// Each item's number, whether somebody has it, and what it is ranked by.
    items: Vec<(u64, bool, Option<f64>)>,
}

/// An item with what is beside it in its row.
struct Row {
    item: Listed,
    /// What reviewers are shown.
    payload: Option<String>,
    /// The probability of its audit.
    audit: Option<f64>,
}

impl Seen {
    fn new(board: &Board, numbers: Vec<u64>, now: i64) -> Self {
        let item = |n: u64| {
            let leased = board.is_leased_at(n, now);
            let scores = board.blocks.scores(n).filter(|_| board.is_open(n));
            let value = match (&board.view, scores) {
                (Some(view), Some(scores)) => view.value(scores, board.seatings.current()).ok(),
                _ => None,
            };
            (n, leased, value)
        };
        Seen { items: numbers.into_iter().map(item).collect() }
    }

    /// The same items with their rows; those that have been erased are left out.
    fn filled(
        &self,
        store: &mut dyn Store,
        queue: i64,
        (seatings, seq): (&Seatings, u64),
    ) -> Result<Vec<Row>, Error> {
        let numbers: Vec<u64> = self.items.iter().map(|(n, ..)| *n).collect();
        let mut named: HashMap<u64, (String, Option<String>)> =
            store.shown(queue, &numbers)?.into_iter().map(|(n, id, payload)| (n, (id, payload))).collect();
        let mut filled = Vec::with_capacity(numbers.len());
        for (n, leased, value) in &self.items {
            let Some((id, payload)) = named.remove(n) else { continue };
            let Some(row) = store.item(queue, *n)? else { continue };
            let ItemRow { arrived, audit, closed, .. } = row;
            let item = row.into_added(seatings, seq + 1);
            let stands = match closed {
                Some(_) => Stands::Closed,
                None if *leased => Stands::Leased,
                None => Stands::Pending,
            };
            let value = value.filter(|_| closed.is_none());
            let scores = item.scores.iter().map(|score| (!score.is_nan()).then_some(*score)).collect();
            let (tags, due) = (item.tags, item.due);
            let item = Listed { n: *n, id, arrived, stands, value, scores, tags, due };
            filled.push(Row { item, payload, audit });
        }
        Ok(filled)
    }
}

impl Clerk {
    fn explained(&mut self, id: &str) -> Result<Option<Explained>, Error> {
        let Some(n) = self.number_of(id)? else { return Ok(None) };
        let now = self.now();
        let (board, queue) = (&self.replica.board, self.queue());
        let (seen, seatings, seq) = (Seen::new(board, vec![n], now), board.seatings.clone(), board.seq);
        let filled = seen.filled(self.store_to_read(), queue, (&seatings, seq))?.pop();
        let Some(Row { item, payload, audit }) = filled else {
            return Ok(None);
        };
        let told = self.store_to_read().told_of(queue, n - 1, n)?;
        let verdicts = told.into_iter().map(|Told { verdict, note, seen, .. }| {
            let VerdictRow { id, reviewer, reward, label, .. } = verdict;
            Judged { id, reviewer, reward, label, note, seen }
        });
        let verdicts = verdicts.collect();
        let board = &self.replica.board;
        let leases = board.work(n).map(|work| &work.leases[..]).unwrap_or_default();
        let leases = leases
            .iter()
            .filter(|lease| lease.until > now)
            .map(|lease| (lease.reviewer.to_string(), lease.until))
            .collect();
        let (mut contributions, mut predicted) = (None, None);
        if let Some(view) = &board.view {
            let row: Vec<f64> = item.scores.iter().map(|score| score.unwrap_or(f64::NAN)).collect();
            let fixed = view.valuing.contributions(&row, board.seatings.current());
            let row = view.valuing.heard(&row, board.seatings.current(), view.fitted.evaluators());
            contributions = view.fitted.contributions(&row)?;
            let level = Fraction::try_from(0.9).ok();
            let scores = view.fitted.scores(&row)?;
            predicted = match level {
                Some(level) => {
                    let one = view.fitted.predict(&scores, level)?.and_then(|mut all| all.pop());
                    // Before there are two rewards it may be anything, and then nothing is said.
                    let one = one.filter(|one| one.half_width().is_finite());
                    // A line knows no ends, and the scale has them.
                    one.map(|one| match &board.config.reward {
                        Some(scale) => clamped(one, scale.lowest, scale.highest),
                        None => one,
                    })
                }
                None => None,
            };
            // A fit made for other evaluators says nothing about those who sit now.
            if view.fitted.evaluators() != board.seatings.current() {
                contributions = None;
            }
            contributions = fixed.or(contributions);
        }
        let payload = payload.and_then(|text| serde_json::from_str(&text).ok());
        let model = board.view.as_ref().map_or(0, |view| view.model);
        let learnt_from = self.replica.learner.mark().0.used;
        Ok(Some(Explained {
            item,
            payload,
            verdicts,
            leases,
            audit,
            model,
            learnt_from,
            contributions,
            predicted,
        }))
    }
}

//! Items: listed, and one of them explained.

use crate::board::Filter;
use crate::clerk::Clerk;
use crate::rows::ItemRow;
use crate::service::Queue;
use crate::{Error, Tags};
use jurybox::options::Fraction;
use jurybox::{Contributions, Interval};

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

/// An item, and why it has its place.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The item.
    pub item: Listed,
    /// What reviewers are shown.
    pub payload: Option<serde_json::Value>,
    /// The verdicts that stand on it: id, reviewer, reward, label.
    pub verdicts: Vec<(String, String, f64, Option<String>)>,
    /// Who has it, and until when.
    pub leases: Vec<(String, i64)>,
    /// The probability with which it was drawn for an audit, if it was.
    pub audit: Option<f64>,
    /// The entry up to which the model that ranks has learnt.
    pub model: u64,
    /// What each evaluator adds to its value, where the policy can say.
    pub contributions: Option<Contributions>,
    /// The reward that is expected, with an interval that holds it with probability 0.9, where the policy can say.
    pub predicted: Option<Interval>,
}

impl Queue {
    /// Free items in the order in which they would be given out by value, from one place on, and the model that says so.
    pub fn ranked(&self, filter: Filter, from: usize, limit: usize) -> Result<(u64, Vec<Listed>), Error> {
        self.read(move |clerk| {
            let board = &clerk.replica.board;
            let Some(view) = &board.view else { return Ok((0, Vec::new())) };
            let wanted = |n: &u64| board.tags(*n).is_some_and(|tags| filter.takes(tags));
            let numbers: Vec<u64> = view.walk(&board.blocks).filter(wanted).skip(from).take(limit).collect();
            let model = view.model;
            Ok((model, clerk.listed(&numbers)?.into_iter().map(|(item, ..)| item).collect()))
        })?
    }

    /// Items in the order in which they came, after the one of that number; erased ones are left out.
    pub fn listed(&self, after: u64, limit: usize) -> Result<Vec<Listed>, Error> {
        self.read(move |clerk| {
            let last = clerk.replica.board.next.min(after.saturating_add(limit as u64 + 1));
            let numbers: Vec<u64> = (after + 1..last).collect();
            Ok(clerk.listed(&numbers)?.into_iter().map(|(item, ..)| item).collect())
        })?
    }

    /// An item by its id, with the reasons for its place.
    pub fn explained(&self, id: &str) -> Result<Option<Explained>, Error> {
        let id = id.to_string();
        self.read(move |clerk| clerk.explained(&id))?
    }
}

impl Clerk {
    /// Items by their numbers, with what reviewers are shown and the probability of their audit.
    #[expect(clippy::type_complexity, reason = "an item and two things beside it")]
    fn listed(&mut self, numbers: &[u64]) -> Result<Vec<(Listed, Option<String>, Option<f64>)>, Error> {
        let mut listed = Vec::with_capacity(numbers.len());
        for (n, id, payload) in self.named(numbers)? {
            let Some(row) = self.row(n)? else { continue };
            let board = &self.replica.board;
            let ItemRow { arrived, audit, closed, .. } = row;
            let item = row.into_added(&board.seatings, board.seq + 1);
            let leased = board.work(n).is_some_and(|work| !work.leases.is_empty());
            let stands = match closed {
                Some(_) => Stands::Closed,
                None if leased => Stands::Leased,
                None => Stands::Pending,
            };
            let value = match (&board.view, stands) {
                (_, Stands::Closed) | (None, _) => None,
                (Some(view), _) => view.value(&item.scores, board.seatings.current()).ok(),
            };
            let scores = item.scores.iter().map(|score| (!score.is_nan()).then_some(*score)).collect();
            let (tags, due) = (item.tags, item.due);
            listed.push((Listed { n, id, arrived, stands, value, scores, tags, due }, payload, audit));
        }
        Ok(listed)
    }

    fn explained(&mut self, id: &str) -> Result<Option<Explained>, Error> {
        let Some(n) = self.number_of(id)? else { return Ok(None) };
        let Some((item, payload, audit)) = self.listed(&[n])?.pop() else { return Ok(None) };
        let verdicts = self
            .verdicts_on(n)?
            .into_iter()
            .map(|row| (row.id, row.reviewer, row.reward, row.label))
            .collect();
        let board = &self.replica.board;
        let leases = board.work(n).map(|work| &work.leases[..]).unwrap_or_default();
        let leases = leases.iter().map(|lease| (lease.reviewer.clone(), lease.until)).collect();
        let (mut contributions, mut predicted) = (None, None);
        if let Some(view) = &board.view {
            let row: Vec<f64> = item.scores.iter().map(|score| score.unwrap_or(f64::NAN)).collect();
            let row = crate::seatings::project(&row, board.seatings.current(), view.fitted.evaluators());
            contributions = view.fitted.contributions(&row)?;
            let level = Fraction::try_from(0.9).ok();
            let scores = view.fitted.scores(&row)?;
            predicted = match level {
                Some(level) => view.fitted.predict(&scores, level)?.and_then(|mut all| all.pop()),
                None => None,
            };
            // A fit made for other evaluators says nothing about those who sit now.
            if view.fitted.evaluators() != board.seatings.current() {
                contributions = None;
            }
        }
        let payload = payload.and_then(|text| serde_json::from_str(&text).ok());
        let model = board.view.as_ref().map_or(0, |view| view.model);
        Ok(Some(Explained { item, payload, verdicts, leases, audit, model, contributions, predicted }))
    }
}

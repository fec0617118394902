//! A random life of a queue, for tests: items, claims, verdicts, revisions, changes of evaluators
//! and leases that end.

use super::fixture::{Home, Kind};
use crate::StoreLocation;
use crate::pg_connection::Address;
use crate::queue_writer::QueueWriter;
use crate::request::{Answer, Call, ConfigChange, NewItem, NewVerdict, Request};
use crate::store::postgres::Postgres;
use crate::store::sqlite::Sqlite;
use crate::store::{Fault, Store};
use crate::{Config, Error, Filter, VerdictSource};
use jurybox::Evaluators;
use jurybox::toolbox::hash_number;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// A queue with a clock that tests can move.
pub(crate) struct Life {
    pub(crate) writer: QueueWriter,
    pub(crate) ahead: Arc<AtomicI64>,
    pub(crate) home: Home,
    pub(crate) fault: Arc<std::sync::Mutex<Option<Fault>>>,
    seed: u64,
    draws: u64,
    items: u64,
    verdicts: u64,
    held: Vec<(String, u64, String)>,
    given: Vec<(String, String, String)>,
}

pub(crate) fn config() -> Config {
    Config {
        k: 3,
        lease_seconds: 30,
        random_check_rate: 0.1,
        ageing_per_day: 0.5,
        ..Config::new(Evaluators::new(["a", "b", "c"]).unwrap())
    }
}

/// A reviewer's verdict on an item.
pub(crate) fn verdict(id: &str, item: &str, reviewer: &str, reward: f64) -> NewVerdict {
    let (id, item, reviewer) = (id.into(), item.into(), reviewer.into());
    NewVerdict { id, item, reviewer, reward, ..NewVerdict::default() }
}

impl Life {
    pub(crate) fn new(kind: Kind, seed: u64, config: &Config) -> Self {
        let home = Home::new(kind);
        let (mut store, ahead, fault): (Box<dyn Store>, _, _) = match &home.place {
            StoreLocation::Folder(folder) => {
                let store = Sqlite::open(folder, Duration::ZERO).unwrap();
                let (ahead, fault) = (store.ahead(), store.fault.clone());
                (Box::new(store), ahead, fault)
            }
            StoreLocation::Database(url) => {
                let store = Postgres::open(Address::parse(url).unwrap(), Duration::ZERO).unwrap();
                let (ahead, fault) = (store.ahead(), store.fault.clone());
                (Box::new(store), ahead, fault)
            }
        };
        let now = store.now().unwrap();
        let queue = crate::create::create(store.as_mut(), "q", config, "test", now).unwrap();
        let writer = QueueWriter::open(store, queue.id).unwrap();
        Life {
            writer,
            ahead,
            home,
            fault,
            seed,
            draws: 0,
            items: 0,
            verdicts: 0,
            held: Vec::new(),
            given: Vec::new(),
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.draws += 1;
        hash_number(self.seed, self.draws) % below
    }

    fn share(&mut self) -> f64 {
        self.draw(1000) as f64 / 1000.0
    }

    pub(crate) fn ask(&mut self, request: Request) -> Result<Answer, Error> {
        self.writer.answer(&[Call::new("test", request)]).remove(0)
    }

    /// Moves the clock by some seconds, back if negative. The writer follows at once.
    pub(crate) fn pass(&mut self, seconds: i64) {
        self.ahead.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
        self.writer.trust_clock();
    }

    fn evaluators(&self) -> Vec<String> {
        self.writer.replica.live.config.evaluators.names().map(String::from).collect()
    }

    fn new_items(&mut self) -> Request {
        let many = 1 + self.draw(30);
        let names = self.evaluators();
        let items = (0..many).map(|_| {
            let id = if self.draw(8) == 0 && self.items > 0 {
                self.draw(self.items)
            } else {
                self.items += 1;
                self.items - 1
            };
            let merit = hash_number(7, id) as f64 / 2_f64.powi(64);
            let mut item = NewItem { id: format!("x{id}"), ..NewItem::default() };
            for name in &names {
                if self.draw(6) > 0 {
                    let score = (merit + self.share() - 0.5) * if name == "b" { 40.0 } else { 1.0 };
                    item.scores.insert(name.clone(), Some(score));
                }
            }
            let tongue = ["en", "de", "fr"][self.draw(3) as usize];
            item.tags.insert("language".into(), tongue.into());
            if self.draw(20) == 0 {
                item.due = Some(self.writer.replica.live.at + self.draw(60).cast_signed() * 1_000_000);
            }
            if self.draw(4) == 0 {
                item.payload = Some(serde_json::json!({ "text": id }).into());
            }
            item
        });
        Request::Items(items.collect())
    }

    fn new_verdict(&mut self) -> Option<NewVerdict> {
        if self.held.is_empty() {
            return None;
        }
        let at = self.draw(self.held.len() as u64) as usize;
        let (item, token, reviewer) = self.held.swap_remove(at);
        self.verdicts += 1;
        let id: u64 = item[1..].parse().unwrap();
        let merit = hash_number(7, id) as f64 / 2_f64.powi(64);
        let reward = f64::from(u8::from(self.share() < merit));
        let verdict = NewVerdict {
            id: format!("v{}", self.verdicts),
            item,
            reviewer,
            token: Some(token),
            reward,
            ..NewVerdict::default()
        };
        self.given.push((verdict.id.clone(), verdict.item.clone(), verdict.reviewer.clone()));
        Some(verdict)
    }

    fn next_request(&mut self) -> Option<Request> {
        let reviewer = format!("r{}", self.draw(4));
        Some(match self.draw(40) {
            0..=7 => self.new_items(),
            8..=17 => {
                let mut filter = Filter::default();
                if self.draw(3) == 0 {
                    filter.0.insert("language".into(), vec!["en".into(), "fr".into()]);
                }
                let k = Some(1 + self.draw(6) as u32);
                Request::Claim { reviewer, k, filter }
            }
            18..=28 => {
                let many = 1 + self.draw(4);
                let verdicts: Vec<NewVerdict> = (0..many).filter_map(|_| self.new_verdict()).collect();
                Request::Verdicts(verdicts)
            }
            29 => Request::Extend { reviewer, items: Vec::new() },
            30 => Request::Release { reviewer, items: Vec::new() },
            31 => {
                let (item, _, reviewer) = self.held.last()?.clone();
                Request::Skip { reviewer, item, reason: "cannot read it".into() }
            }
            32 | 33 if !self.given.is_empty() => {
                let at = self.draw(self.given.len() as u64) as usize;
                let (id, item, reviewer) = self.given[at].clone();
                self.verdicts += 1;
                let reward = self.draw(2) as f64;
                let new = format!("v{}", self.verdicts);
                Request::Verdicts(vec![NewVerdict {
                    id: new,
                    item,
                    reviewer,
                    reward,
                    revises: Some(id),
                    ..NewVerdict::default()
                }])
            }
            34 if !self.given.is_empty() => {
                let (verdict, _, reviewer) = self.given.last()?.clone();
                Request::Undo { reviewer, verdict }
            }
            35 if !self.given.is_empty() => {
                let at = self.draw(self.given.len() as u64) as usize;
                let (_, item, _) = self.given[at].clone();
                self.verdicts += 1;
                let (id, reward) = (format!("v{}", self.verdicts), self.draw(2) as f64);
                let source = if self.draw(2) == 0 { VerdictSource::Appeal } else { VerdictSource::Automatic };
                Request::Verdicts(vec![NewVerdict {
                    id,
                    item,
                    reviewer: "court".into(),
                    reward,
                    source,
                    ..NewVerdict::default()
                }])
            }
            36 if self.draw(6) == 0 => {
                let names: &[&str] = [&["a", "b", "c"][..], &["a", "b"], &["a", "b", "d"], &["d", "a", "c"]]
                    [self.draw(4) as usize];
                Request::Configure(ConfigChange {
                    evaluators: Some(Evaluators::new(names.iter().copied()).unwrap()),
                    ..ConfigChange::default()
                })
            }
            37 if self.draw(6) == 0 && self.items > 0 => {
                Request::Erase { items: vec![format!("x{}", self.draw(self.items))] }
            }
            38 if self.draw(6) == 0 => {
                let mut filter = Filter::default();
                filter.0.insert("language".into(), vec!["de".into()]);
                let before = Some(self.writer.replica.live.at - 40_000_000);
                Request::Close { filter, before, reason: "too old".into() }
            }
            39 if self.draw(4) == 0 => {
                let names = self.evaluators();
                let one = |life: &mut Life| names[life.draw(names.len() as u64) as usize].clone();
                let muted = if self.draw(2) == 0 { Vec::new() } else { vec![one(self)] };
                let weights = if self.draw(2) == 0 {
                    std::collections::BTreeMap::new()
                } else {
                    [(one(self), self.share()), (one(self), -1.0)].into()
                };
                Request::Configure(ConfigChange {
                    muted: Some(muted),
                    weights: Some(weights),
                    ..ConfigChange::default()
                })
            }
            _ => {
                let seconds = self.draw(25).cast_signed();
                self.pass(seconds);
                if self.draw(2) == 0 {
                    self.writer.settle().unwrap();
                }
                return None;
            }
        })
    }

    /// Carries out `many` random actions.
    pub(crate) fn live(&mut self, many: u64) {
        for step in 0..many {
            let Some(request) = self.next_request() else { continue };
            let reviewer = match &request {
                Request::Claim { reviewer, .. } => reviewer.clone(),
                _ => String::new(),
            };
            match self.ask(request.clone()) {
                Ok(Answer::Claims { claims, .. }) => {
                    self.held
                        .extend(claims.into_iter().map(|claim| (claim.item, claim.token, reviewer.clone())));
                }
                Ok(_) | Err(Error::Conflict(_) | Error::Refused(_)) => {}
                Err(error) => panic!("step {step}: {error}: {request:?}"),
            }
            if self.draw(7) == 0 {
                self.writer.refold_if_stale().unwrap();
            }
        }
    }
}

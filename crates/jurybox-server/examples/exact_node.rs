//! One node of `scripts/exact-test`, with callers who send, claim, judge, revise and let leases
//! end.
//!
//! `work PLACE NODE CLAIMS SEED` works on the queue in a folder or PostgreSQL database, and prints
//! counts of accepted requests. In a folder, nodes take turns, like a server that is restarted.
//! `prove PLACE` checks every claim, folds the log again, and prints the result.

use jurybox::Evaluators;
use jurybox::toolbox::hash_number;
use jurybox_server::{
    Answer, Call, Config, ConfigChange, Error, Filter, NewItem, NewVerdict, Queue, Request, Service,
    StoreLocation, VerdictSource, rebuild, verify,
};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

const CALLERS: u64 = 4;
/// How often each node opens the folder or database.
const TURNS: u64 = 12;

/// Counts of accepted items, verdicts, revisions and undone verdicts, and of claims that got items.
#[derive(Default)]
struct Accepted {
    items: u64,
    claims: u64,
    verdicts: u64,
    revisions: u64,
    undone: u64,
}

/// A caller, with the items and verdicts it remembers.
struct Caller {
    reviewer: String,
    seed: u64,
    draws: u64,
    made: u64,
    /// Items that lack a score, 50 at most.
    partial: Vec<String>,
    /// The last verdicts given, 200 at most, with their items.
    given: Vec<(String, String)>,
    accepted: Accepted,
}

impl Caller {
    fn draw(&mut self, below: u64) -> u64 {
        self.draws += 1;
        hash_number(self.seed, self.draws) % below
    }

    fn ask(&self, queue: &Queue, request: Request) -> Result<Answer, Error> {
        queue.ask(Call::new(&self.reviewer, request))
    }

    /// Makes a request that other callers' actions may have made invalid; none if it is refused.
    fn try_to(&self, queue: &Queue, request: Request) -> Result<Option<Answer>, Error> {
        match self.ask(queue, request) {
            Ok(answer) => Ok(Some(answer)),
            Err(Error::Conflict(_) | Error::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn new_items(&mut self, evaluators: &[String]) -> Vec<NewItem> {
        let mut items = Vec::new();
        for _ in 0..=self.draw(5) {
            self.made += 1;
            let id = format!("{}-{}", self.reviewer, self.made);
            let merit = self.draw(1000) as f64 / 1000.0;
            let mut item = NewItem { id, ..NewItem::default() };
            for name in evaluators {
                if self.draw(8) > 0 {
                    let noise = self.draw(1000) as f64 / 1000.0 - 0.5;
                    let scale = if name == "b" { 40.0 } else { 1.0 };
                    item.scores.insert(name.clone(), Some((merit + noise * 0.6) * scale));
                }
            }
            if item.scores.len() < evaluators.len() && self.partial.len() < 50 {
                self.partial.push(item.id.clone());
            }
            item.tags.insert("language".into(), ["en", "de", "fr"][self.draw(3) as usize].into());
            if self.draw(30) == 0 {
                // Due already, so before all others.
                item.due = Some(1 + self.draw(1000).cast_signed());
            }
            items.push(item);
        }
        if self.draw(3) == 0 && !self.partial.is_empty() {
            let which = self.draw(self.partial.len() as u64);
            let id = self.partial.swap_remove(which as usize);
            let score = Some(self.draw(1000) as f64 / 1000.0);
            let name = evaluators[self.draw(evaluators.len() as u64) as usize].clone();
            items.push(NewItem { id, scores: [(name, score)].into(), ..NewItem::default() });
        }
        items
    }

    /// Sends some items, claims some, and judges most of them.
    fn turn(&mut self, queue: &Queue) -> Result<(), Error> {
        let config = queue.status()?.config;
        let evaluators: Vec<String> = config.evaluators.names().map(String::from).collect();
        let items = self.new_items(&evaluators);
        if let Answer::Items { accepted, .. } = self.ask(queue, Request::Items(items))? {
            self.accepted.items += accepted;
        }
        let mut filter = Filter::default();
        if self.draw(3) == 0 {
            filter.0.insert("language".into(), vec!["en".into(), "fr".into()]);
        }
        let (reviewer, k) = (self.reviewer.clone(), Some(1 + self.draw(5) as u32));
        let Answer::Claims { claims, .. } = self.ask(queue, Request::Claim { reviewer, k, filter })? else {
            return Ok(());
        };
        self.accepted.claims += u64::from(!claims.is_empty());
        let mut verdicts = Vec::new();
        for claim in &claims {
            // About one in seven gets no verdict, so that its lease ends.
            if self.draw(7) > 0 {
                let reward = f64::from(u8::from(claim.value * 1000.0 > self.draw(1000) as f64));
                verdicts.push(NewVerdict {
                    id: format!("{}/{}", claim.item, self.reviewer),
                    item: claim.item.clone(),
                    reviewer: self.reviewer.clone(),
                    token: Some(claim.token),
                    reward,
                    ..NewVerdict::default()
                });
            }
        }
        let tried: Vec<(String, String)> = verdicts.iter().map(|v| (v.id.clone(), v.item.clone())).collect();
        let rejected = self.give(queue, verdicts)?;
        self.given.extend(tried.into_iter().filter(|(id, _)| !rejected.contains(id)));
        self.given.drain(..self.given.len().saturating_sub(200));
        self.second_thoughts(queue, claims.last().map(|claim| claim.item.clone()))
    }

    /// Gives verdicts, and returns the ids of refused ones.
    fn give(&mut self, queue: &Queue, verdicts: Vec<NewVerdict>) -> Result<Vec<String>, Error> {
        let Answer::Verdicts { accepted, rejected, .. } = self.ask(queue, Request::Verdicts(verdicts))?
        else {
            return Ok(Vec::new());
        };
        self.accepted.verdicts += accepted;
        Ok(rejected.into_iter().map(|rejected| rejected.id).collect())
    }

    /// Rarer requests, such as revisions and undo.
    fn second_thoughts(&mut self, queue: &Queue, held: Option<String>) -> Result<(), Error> {
        let reviewer = self.reviewer.clone();
        match self.draw(60) {
            0..=2 if !self.given.is_empty() => {
                let which = self.draw(self.given.len() as u64);
                let (revises, item) = self.given.swap_remove(which as usize);
                let (id, reward) = (format!("{revises}/again"), self.draw(2) as f64);
                let revises = Some(revises);
                let verdict = NewVerdict { id, item, reviewer, reward, revises, ..NewVerdict::default() };
                let before = self.accepted.verdicts;
                self.give(queue, vec![verdict])?;
                self.accepted.revisions += self.accepted.verdicts - before;
            }
            3..=5 => {
                if let Some((verdict, _)) = self.given.pop() {
                    let undone = self.try_to(queue, Request::Undo { reviewer, verdict })?;
                    self.accepted.undone += u64::from(undone.is_some());
                }
            }
            6 | 7 => {
                self.try_to(queue, Request::Extend { reviewer, items: Vec::new() })?;
            }
            8 | 9 => {
                self.try_to(queue, Request::Release { reviewer, items: Vec::new() })?;
            }
            10..=12 => {
                if let Some(item) = held {
                    let reason = "cannot read it".into();
                    self.try_to(queue, Request::Skip { reviewer, item, reason })?;
                }
            }
            13 if !self.given.is_empty() => {
                let which = self.draw(self.given.len() as u64);
                let (first, item) = self.given.swap_remove(which as usize);
                let (id, reward) = (format!("{first}/court"), self.draw(2) as f64);
                let source = if self.draw(2) == 0 { VerdictSource::Appeal } else { VerdictSource::Automatic };
                let verdict = NewVerdict { id, item, reviewer, reward, source, ..NewVerdict::default() };
                self.give(queue, vec![verdict])?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Changes evaluators or settings at certain turns of the first node.
fn change(queue: &Queue, turn: u64) -> Result<(), Error> {
    let seated = |names: &[&str]| Evaluators::new(names.iter().copied()).map(Some);
    let change = if turn == TURNS / 3 {
        ConfigChange { evaluators: seated(&["a", "c", "d"])?, ..ConfigChange::default() }
    } else if turn == TURNS / 2 {
        ConfigChange { quorum: Some(2), ..ConfigChange::default() }
    } else if turn == TURNS * 2 / 3 {
        ConfigChange {
            evaluators: seated(&["d", "a", "b", "e"])?,
            quorum: Some(1),
            ..ConfigChange::default()
        }
    } else {
        return Ok(());
    };
    queue.ask(Call::new("operator", Request::Configure(change))).map(drop)
}

fn run(place: &StoreLocation, node: u64, claims: u64, seed: u64) -> Result<Accepted, Error> {
    // Leases and undo windows are short, so that both end while the callers work.
    let config = Config {
        lease_seconds: 1,
        undo_seconds: 1,
        settle_seconds: 1,
        random_check_rate: 0.05,
        ageing_per_day: 0.5,
        ..Config::new(Evaluators::new(["a", "b", "c"])?)
    };
    let caller = |number: u64| Caller {
        reviewer: format!("r{node}-{number}"),
        seed: hash_number(seed, node * CALLERS + number),
        draws: 0,
        made: 0,
        partial: Vec::new(),
        given: Vec::new(),
        accepted: Accepted::default(),
    };
    let mut callers: Vec<Caller> = (0..CALLERS).map(caller).collect();
    for turn in 0..TURNS {
        let service = Service::open(place, Duration::from_mins(10))?;
        let queue = match service.queue("q") {
            Err(Error::NoQueue { .. }) => service.create("q", &config)?,
            found => found?,
        };
        if node == 0 {
            change(&queue, turn)?;
        }
        let enough = claims.div_ceil(TURNS * CALLERS) * (turn + 1);
        std::thread::scope(|scope| {
            let work = |caller: &'_ mut Caller| -> Result<(), Error> {
                while caller.accepted.claims < enough {
                    caller.turn(&queue)?;
                }
                Ok(())
            };
            let working: Vec<_> =
                callers.iter_mut().map(|caller| scope.spawn(move || work(caller))).collect();
            working.into_iter().try_for_each(|one| one.join().unwrap_or(Err(Error::Closed)))
        })?;
        let standing = queue.status()?;
        if standing.mismatches > 0 {
            return Err(Error::Corrupt(format!("{} checkpoints differ between nodes", standing.mismatches)));
        }
        drop((queue, service));
        // Another node that waits for the folder tries every ten milliseconds.
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut all = Accepted::default();
    for Caller { accepted, .. } in callers {
        all.items += accepted.items;
        all.claims += accepted.claims;
        all.verdicts += accepted.verdicts;
        all.revisions += accepted.revisions;
        all.undone += accepted.undone;
    }
    Ok(all)
}

fn work(
    place: &StoreLocation,
    node: &str,
    claims: &str,
    seed: &str,
) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    let accepted = run(place, node.parse()?, claims.parse()?, seed.parse()?)?;
    Ok(serde_json::json!({
        "items": accepted.items,
        "claims": accepted.claims,
        "verdicts": accepted.verdicts,
        "revisions": accepted.revisions,
        "undone": accepted.undone,
    }))
}

fn prove(place: &StoreLocation) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    let checked = verify(place)?;
    let rebuilt = rebuild(place, Some("q"), None, Duration::from_mins(1))?;
    Ok(serde_json::json!({
        "sound": checked.iter().all(jurybox_server::QueueVerification::is_ok),
        "checked": checked.first(),
        "rebuilt": rebuilt,
    }))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let place = |word: &str| {
        if word.contains("://") {
            StoreLocation::Database(word.into())
        } else {
            StoreLocation::from(Path::new(word))
        }
    };
    let told = match words.as_slice() {
        ["work", at, node, claims, seed] => work(&place(at), node, claims, seed)?,
        ["prove", at] => prove(&place(at))?,
        _ => return Err("usage: exact_node work PLACE NODE CLAIMS SEED | prove PLACE".into()),
    };
    writeln!(std::io::stdout(), "{told}")?;
    Ok(())
}

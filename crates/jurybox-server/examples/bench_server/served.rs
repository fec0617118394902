//! The speed of a served queue: intake, claims while the queue is ranked, and memory over time.

use super::{CLIENTS, Done, EVALUATORS, K, batches, memory, score};
use jurybox::Evaluators;
use jurybox_server::{
    Answer, Call, Config, Filter, NewItem, NewVerdict, Queue, Request, Service, StoreLocation,
};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_mins(1);

fn names() -> Vec<String> {
    (0..EVALUATORS).map(|j| format!("e{j}")).collect()
}

fn config() -> Done<Config> {
    Ok(Config {
        lease_seconds: 3600,
        undo_seconds: 0,
        max_held: 1_000_000,
        ..Config::new(Evaluators::new(names())?)
    })
}

fn item(n: u64, names: &[String]) -> NewItem {
    NewItem {
        id: format!("item-{n}"),
        scores: names.iter().enumerate().map(|(j, name)| (name.clone(), Some(score(n, j)))).collect(),
        ..NewItem::default()
    }
}

/// Sends items in batches, one after the other.
pub(crate) fn intake(place: &StoreLocation, items: u64) -> Done<Value> {
    let (service, names) = (Service::open(place, PATIENCE)?, names());
    let queue = service.create("q", &config()?)?;
    let mut took = Duration::ZERO;
    for batch in batches(items) {
        let new = batch.map(|n| item(n, &names)).collect();
        let began = Instant::now();
        queue.ask(Call::new("bench", Request::Items(new)))?;
        took += began.elapsed();
    }
    Ok(json!({ "rate": items as f64 / took.as_secs_f64() }))
}

fn claim(queue: &Queue, reviewer: &str, k: u32) -> Done<Vec<jurybox_server::ClaimedItem>> {
    let request = Request::Claim { reviewer: reviewer.into(), k: Some(k), filter: Filter::default() };
    let Answer::Claims { claims, .. } = queue.ask(Call::new(reviewer, request))? else {
        return Err("no claims".into());
    };
    Ok(claims)
}

fn verdict(queue: &Queue, reviewer: &str, item: &str, reward: f64) -> Done<()> {
    let (id, item, reviewer) = (item.to_string(), item.to_string(), reviewer.to_string());
    let verdict = NewVerdict { id, item, reviewer, reward, ..NewVerdict::default() };
    queue.ask(Call::new("bench", Request::Verdicts(vec![verdict])))?;
    Ok(())
}

/// The estimated start of a ranking, and the moment when it was noticed.
struct Ranking(Instant, Instant);

/// A cold start, then claims by many clients while rankings are made.
pub(crate) fn claims(place: &StoreLocation, claims: u64) -> Done<Value> {
    let empty = memory();
    let began = Instant::now();
    let service = Service::open(place, PATIENCE)?;
    let queue = service.queue("q")?;
    let cold = began.elapsed().as_secs_f64();
    let bytes = memory() - empty;

    let over = AtomicBool::new(false);
    let began = Instant::now();
    let (times, took, rankings) = std::thread::scope(|scope| -> Done<_> {
        let (queue, over) = (&queue, &over);
        let watch = scope.spawn(move || watch(queue, over));
        let client = |client: u64| scope.spawn(move || one_client(queue, client, claims / CLIENTS));
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        let mut times: Vec<(Instant, f64)> = Vec::new();
        for client in clients {
            times.extend(client.join().map_err(|_| "a client failed")??);
        }
        let took = began.elapsed().as_secs_f64();
        over.store(true, Ordering::Relaxed);
        let rankings = watch.join().map_err(|_| "the watch failed")??;
        Ok((times, took, rankings))
    })?;
    let during = |at: Instant| rankings.iter().any(|ranking| ranking.0 <= at && at <= ranking.1);
    let busy: Vec<f64> = times.iter().filter(|(at, _)| during(*at)).map(|(_, ms)| *ms).collect();
    let all: Vec<f64> = times.iter().map(|(_, ms)| *ms).collect();
    Ok(json!({
        "cold_start_seconds": cold,
        "bytes": bytes,
        "bytes_after": memory() - empty,
        "rate": all.len() as f64 / took,
        "p50_ms": quantile(all.clone(), 0.5),
        "p99_ms": quantile(all, 0.99),
        "p99_ms_while_ranking": quantile(busy, 0.99),
        "rankings": rankings.len(),
    }))
}

fn quantile(mut times: Vec<f64>, share: f64) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get((times.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN)
}

/// Watches for new rankings. A queue rests three times as long as its last ranking took. So a
/// ranking is taken to fill the last quarter of the time since the previous one.
fn watch(queue: &Queue, over: &AtomicBool) -> Result<Vec<Ranking>, jurybox_server::Error> {
    let mut rankings = Vec::new();
    let (mut seen, mut since) = (queue.status()?.rankings, Instant::now());
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(5));
        let now = queue.status()?.rankings;
        if now > seen {
            let (end, gap) = (Instant::now(), since.elapsed());
            rankings.push(Ranking(since + gap * 3 / 4, end));
            (seen, since) = (now, end);
        }
    }
    Ok(rankings)
}

fn one_client(queue: &Queue, client: u64, turns: u64) -> Result<Vec<(Instant, f64)>, String> {
    let mut times = Vec::new();
    for turn in 0..turns {
        let reviewer = format!("r{client}-{turn}");
        let asked = Instant::now();
        let claims = claim(queue, &reviewer, K).map_err(|error| error.to_string())?;
        times.push((Instant::now(), asked.elapsed().as_secs_f64() * 1e3));
        if claims.len() != K as usize {
            return Err(format!("{} of {K} items", claims.len()));
        }
        // Occasional verdicts keep the ranking going.
        if turn % 8 == client % 8 {
            verdict(queue, &reviewer, &claims[0].item, (turn % 2) as f64)
                .map_err(|error| error.to_string())?;
        }
    }
    Ok(times)
}

/// Memory over `requests` requests of callers who send, claim and judge.
pub(crate) fn flat(place: &StoreLocation, requests: u64) -> Done<Value> {
    const CALLERS: u64 = 64;
    const PENDING: u64 = 20_000;
    let (service, names) = (Service::open(place, PATIENCE)?, names());
    let queue = service.create("q", &config()?)?;
    // A queue with items continues an earlier run.
    let there = queue.status()?.counts.items;
    for batch in batches(PENDING).filter(|_| there == 0) {
        queue.ask(Call::new("bench", Request::Items(batch.map(|n| item(n, &names)).collect())))?;
    }
    let (done, next) = (AtomicU64::new(0), AtomicU64::new(PENDING.max(there)));
    let began = Instant::now();
    let bytes = std::thread::scope(|scope| -> Done<Vec<f64>> {
        let (queue, names, done, next) = (&queue, &names, &done, &next);
        let caller = |caller: u64| {
            scope.spawn(move || -> Result<(), String> {
                let reviewer = format!("r{caller}");
                let told = |error: Box<dyn std::error::Error>| error.to_string();
                while done.load(Ordering::Relaxed) < requests {
                    let new = item(next.fetch_add(1, Ordering::Relaxed), names);
                    queue
                        .ask(Call::new("bench", Request::Items(vec![new])))
                        .map_err(|error| error.to_string())?;
                    for claimed in claim(queue, &reviewer, 1).map_err(told)? {
                        verdict(queue, &reviewer, &claimed.item, f64::from(u8::from(claimed.value > 0.9)))
                            .map_err(told)?;
                    }
                    done.fetch_add(3, Ordering::Relaxed);
                }
                Ok(())
            })
        };
        let callers: Vec<_> = (0..CALLERS).map(caller).collect();
        // Memory is read at every tenth of the run.
        let mut bytes = Vec::new();
        while bytes.len() < 10 && !callers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            if done.load(Ordering::Relaxed) >= requests * (bytes.len() as u64 + 1) / 10 {
                bytes.push(memory());
                let so_far = done.load(Ordering::Relaxed);
                writeln!(std::io::stderr(), "{so_far} requests: {:.1} MB", memory() / 1e6)?;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        for caller in callers {
            caller.join().map_err(|_| "a caller failed")??;
        }
        Ok(bytes)
    })?;
    Ok(json!({
        "requests": done.load(Ordering::Relaxed),
        "seconds": began.elapsed().as_secs_f64(),
        "megabytes_at_every_tenth": bytes.iter().map(|bytes| (bytes / 1e5).round() / 10.0).collect::<Vec<_>>(),
    }))
}

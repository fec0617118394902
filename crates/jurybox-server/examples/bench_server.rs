//! Ratios of a served queue to the bare database, in one run on one machine: `scripts/bench-server` runs it.
//!
//! Beside each figure stands what the same database does when asked directly: claims against `ORDER BY priority LIMIT k` with an index and
//! an update, one transaction a claim; intake against plain inserts of the same rows in batches of the same size.
//!
//! Arguments: how many items are pending, how many claims to make, and `--json`.

use jurybox::Evaluators;
use jurybox::toolbox::hash_number;
use jurybox_server::{Answer, Call, Config, NewItem, NewVerdict, Request, Service};
use rusqlite::{Connection, params};
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

const EVALUATORS: usize = 10;
const CLIENTS: u64 = 16;
const K: u32 = 20;
const BATCH: u64 = 1000;

type Done<T> = Result<T, Box<dyn Error>>;

fn score(n: u64, j: usize) -> f64 {
    let merit = (hash_number(1, n) % 10_000) as f64 / 10_000.0;
    merit + (hash_number(2 + j as u64, n) % 10_000) as f64 / 10_000.0 * (0.2 + j as f64 / 10.0)
}

fn batches(items: u64) -> impl Iterator<Item = std::ops::Range<u64>> {
    (0..items).step_by(BATCH as usize).map(move |from| from..(from + BATCH).min(items))
}

/// The bare database: rows a second, and claims a second.
fn bare(folder: &Path, items: u64, claims: u64) -> Done<(f64, f64)> {
    let db = Connection::open(folder.join("bare.sqlite"))?;
    db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE items(n INTEGER PRIMARY KEY, key TEXT UNIQUE, arrived INTEGER, scores BLOB, tags TEXT, priority REAL, reviewer TEXT); CREATE INDEX next ON items(priority DESC) WHERE reviewer IS NULL")?;
    let began = Instant::now();
    for batch in batches(items) {
        db.execute_batch("BEGIN IMMEDIATE")?;
        let mut insert = db.prepare_cached(
            "INSERT INTO items(n, key, arrived, scores, tags, priority) VALUES (?1, ?2, ?3, ?4, '{}', ?5)",
        )?;
        for n in batch {
            let scores: Vec<u8> = (0..EVALUATORS).flat_map(|j| score(n, j).to_le_bytes()).collect();
            insert.execute(params![n, format!("item-{n}"), n, scores, score(n, 0)])?;
        }
        drop(insert);
        db.execute_batch("COMMIT")?;
    }
    let intake = items as f64 / began.elapsed().as_secs_f64();
    let began = Instant::now();
    for claim in 0..claims {
        db.execute_batch("BEGIN IMMEDIATE")?;
        let mut update = db.prepare_cached("UPDATE items SET reviewer = ?1 WHERE n IN (SELECT n FROM items WHERE reviewer IS NULL ORDER BY priority DESC LIMIT ?2) RETURNING key")?;
        let keys: Vec<String> =
            update.query_map(params![format!("r{claim}"), K], |row| row.get(0))?.collect::<Result<_, _>>()?;
        drop(update);
        db.execute_batch("COMMIT")?;
        assert_eq!(keys.len(), K as usize);
    }
    Ok((intake, claims as f64 / began.elapsed().as_secs_f64()))
}

/// Resident memory in bytes, where the system tells.
fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    line.and_then(|line| line.split_whitespace().nth(1)).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0)
        * 1024.0
}

fn main() -> Done<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |at: usize, otherwise: u64| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (items, claims) = (number(0, 1_000_000), number(1, 3200));
    let folder = tempfile::tempdir()?;
    let (bare_intake, bare_claims) = bare(folder.path(), items, claims.min(800))?;

    let desk = folder.path().join("desk");
    let names: Vec<String> = (0..EVALUATORS).map(|j| format!("e{j}")).collect();
    let config = Config { lease_seconds: 3600, undo_seconds: 0, ..Config::new(Evaluators::new(&names)?) };
    let empty = memory();
    let service = Service::open(&desk, Duration::ZERO)?;
    let queue = service.create("q", &config)?;
    let began = Instant::now();
    let mut making = Duration::ZERO;
    for batch in batches(items) {
        let made = Instant::now();
        let item = |n: u64| NewItem {
            id: format!("item-{n}"),
            scores: names.iter().enumerate().map(|(j, name)| (name.clone(), Some(score(n, j)))).collect(),
            ..NewItem::default()
        };
        let new = batch.map(item).collect();
        making += made.elapsed();
        queue.ask(Call::new("bench", Request::Items(new)))?;
    }
    let intake = items as f64 / began.elapsed().saturating_sub(making).as_secs_f64();
    drop((queue, service));

    let began = Instant::now();
    let service = Service::open(&desk, Duration::ZERO)?;
    let queue = service.queue("q")?;
    let cold = began.elapsed().as_secs_f64();
    let each = (memory() - empty) / items as f64 * 1e6 / 1e6;

    let before = queue.standing()?.rankings;
    let began = Instant::now();
    let mut times: Vec<f64> = std::thread::scope(|scope| {
        let client = |client: u64| {
            let queue = queue.clone();
            scope.spawn(move || {
                let mut times = Vec::new();
                for turn in 0..claims / CLIENTS {
                    let reviewer = format!("r{client}-{turn}");
                    let asked = Instant::now();
                    let claim = Request::Claim {
                        reviewer: reviewer.clone(),
                        k: Some(K),
                        filter: jurybox_server::Filter::default(),
                    };
                    let answer = queue.ask(Call::new(&reviewer, claim)).expect("a claim");
                    times.push(asked.elapsed().as_secs_f64() * 1e3);
                    let Answer::Claims { claims, .. } = answer else { panic!("no claims") };
                    assert_eq!(claims.len(), K as usize);
                    // A verdict now and then keeps the ranking going.
                    if turn % 8 == client % 8 {
                        let item = claims[0].item.clone();
                        let verdict = NewVerdict {
                            id: item.clone(),
                            item,
                            reviewer,
                            reward: 1.0,
                            ..NewVerdict::default()
                        };
                        queue.ask(Call::new("bench", Request::Verdicts(vec![verdict]))).expect("a verdict");
                    }
                }
                times
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        clients.into_iter().flat_map(|client| client.join().expect("a client")).collect()
    });
    let rate = times.len() as f64 / began.elapsed().as_secs_f64();
    let standing = queue.standing()?;
    times.sort_by(f64::total_cmp);
    let p99 = times[times.len() * 99 / 100];
    let report = serde_json::json!({
        "database": "sqlite",
        "pending": items,
        "claims_per_second": rate,
        "bare_claims_per_second": bare_claims,
        "claims_ratio": rate / bare_claims,
        "claims_p99_ms": p99,
        "rankings_during_claims": standing.rankings - before,
        "items_per_second": intake,
        "bare_items_per_second": bare_intake,
        "intake_ratio": intake / bare_intake,
        "cold_start_seconds": cold,
        "bytes_per_pending_item": each,
    });
    let text = if arguments.iter().any(|word| word == "--json") {
        report.to_string()
    } else {
        serde_json::to_string_pretty(&report)?
    };
    std::io::Write::write_all(&mut std::io::stdout(), format!("{text}\n").as_bytes())?;
    Ok(())
}

//! Benchmark of a served queue relative to the bare database, run by `scripts/bench-server`.
//!
//! Claims are compared with `ORDER BY priority LIMIT k` and an update, one transaction each (on
//! PostgreSQL with `FOR UPDATE SKIP LOCKED`). Intake is compared with plain inserts of the same
//! batches. Cold start and memory are measured in a process of their own.

mod bare;
mod served;

use jurybox::toolbox::hash_number;
use jurybox_server::StoreLocation;
use serde_json::{Value, json};
use std::error::Error;
use std::io::Write;
use std::process::Command;

pub(crate) const EVALUATORS: usize = 10;
pub(crate) const CLIENTS: u64 = 16;
pub(crate) const K: u32 = 20;
const BATCH: u64 = 1000;

pub(crate) type Done<T> = Result<T, Box<dyn Error>>;

/// The score of item `n` by evaluator `j`: the item's merit plus noise that grows with `j`.
pub(crate) fn score(n: u64, j: usize) -> f64 {
    let merit = (hash_number(1, n) % 10_000) as f64 / 10_000.0;
    merit + (hash_number(2 + j as u64, n) % 10_000) as f64 / 10_000.0 * (0.2 + j as f64 / 10.0)
}

/// The item numbers in batches.
pub(crate) fn batches(items: u64) -> impl Iterator<Item = std::ops::Range<u64>> {
    (0..items).step_by(BATCH as usize).map(move |from| from..(from + BATCH).min(items))
}

/// Resident memory in bytes, 0 where the system does not report it.
pub(crate) fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    line.and_then(|line| line.split_whitespace().nth(1)).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0)
        * 1024.0
}

/// Runs this program again with other arguments, in a process of its own.
fn aside(words: &[&str]) -> Done<Value> {
    let output = Command::new(std::env::current_exe()?).args(words).output()?;
    if !output.status.success() {
        return Err(format!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Measures the bare database and a served queue, and compares them.
fn compare(database: &str, items: u64, claims: u64) -> Done<Value> {
    let folder = tempfile::tempdir()?;
    let url = std::env::var("DATABASE_URL").unwrap_or_default();
    let (place, bare) = match database {
        "sqlite" => {
            let desk = folder.path().join("desk");
            (desk.display().to_string(), bare::sqlite(folder.path(), items, claims.min(800))?)
        }
        "postgres" => (url.clone(), bare::postgres(&url, items, claims)?),
        other => return Err(format!("there is no database `{other}`: sqlite or postgres").into()),
    };
    let _ = std::fs::remove_file(folder.path().join("bare.sqlite"));
    let intake = aside(&["intake", &place, &items.to_string()])?;
    let claimed = aside(&["claims", &place, &claims.to_string()])?;
    let (of, at) = (|from: &Value, name: &str| from[name].as_f64().unwrap_or(f64::NAN), &claimed);
    Ok(json!({
        "database": database,
        "pending": items,
        "clients": CLIENTS,
        "k": K,
        "evaluators": EVALUATORS,
        "claims_per_second": of(at, "rate"),
        "bare_claims_per_second": bare.claims,
        "claims_ratio": of(at, "rate") / bare.claims,
        "claims_p50_ms": of(at, "p50_ms"),
        "claims_p99_ms": of(at, "p99_ms"),
        "claims_p99_ms_while_ranking": of(at, "p99_ms_while_ranking"),
        "rankings": at["rankings"],
        "items_per_second": of(&intake, "rate"),
        "bare_items_per_second": bare.items,
        "intake_ratio": of(&intake, "rate") / bare.items,
        "cold_start_seconds": of(at, "cold_start_seconds"),
        "bytes_per_pending_item": of(at, "bytes") / items as f64,
        "bytes_per_pending_item_after_claims": of(at, "bytes_after") / items as f64,
    }))
}

/// Measures the bare database only, for `scripts/bench-http`.
fn bare_alone(database: &str, items: u64, claims: u64) -> Done<Value> {
    let bare = match database {
        "sqlite" => bare::sqlite(tempfile::tempdir()?.path(), items, claims.min(800))?,
        "postgres" => bare::postgres(&std::env::var("DATABASE_URL")?, items, claims)?,
        other => return Err(format!("there is no database `{other}`: sqlite or postgres").into()),
    };
    Ok(json!({ "items": bare.items, "claims": bare.claims }))
}

fn main() -> Done<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let place = |word: &str| {
        if word.contains("://") {
            StoreLocation::Database(word.into())
        } else {
            StoreLocation::from(std::path::Path::new(word))
        }
    };
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let report = match words.as_slice() {
        ["compare", database, items, claims] => compare(database, items.parse()?, claims.parse()?)?,
        ["bare", database, items, claims] => bare_alone(database, items.parse()?, claims.parse()?)?,
        ["intake", at, items] => served::intake(&place(at), items.parse()?)?,
        ["claims", at, claims] => served::claims(&place(at), claims.parse()?)?,
        ["flat", at, requests] => served::flat(&place(at), requests.parse()?)?,
        _ => return Err("usage: compare DATABASE ITEMS CLAIMS | bare DATABASE ITEMS CLAIMS | intake PLACE ITEMS | claims PLACE CLAIMS | flat PLACE REQUESTS".into()),
    };
    writeln!(std::io::stdout(), "{report}")?;
    Ok(())
}

//! The speed of the bare database: batched inserts, and claims by `ORDER BY priority LIMIT k`.

use super::{CLIENTS, Done, EVALUATORS, K, batches, score};
use rusqlite::{Connection, params};
use std::path::Path;
use std::time::Instant;

/// Rows and claims per second.
pub(crate) struct Bare {
    pub(crate) items: f64,
    pub(crate) claims: f64,
}

fn row(n: u64) -> Vec<u8> {
    (0..EVALUATORS).flat_map(|j| score(n, j).to_le_bytes()).collect()
}

/// Measures SQLite with one connection, since it allows one writer at a time.
pub(crate) fn sqlite(folder: &Path, items: u64, claims: u64) -> Done<Bare> {
    let db = Connection::open(folder.join("bare.sqlite"))?;
    db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE items(n INTEGER PRIMARY KEY, key TEXT UNIQUE, arrived INTEGER, scores BLOB, tags TEXT, priority REAL, reviewer TEXT); CREATE INDEX next ON items(priority DESC) WHERE reviewer IS NULL")?;
    let began = Instant::now();
    for batch in batches(items) {
        db.execute_batch("BEGIN IMMEDIATE")?;
        let mut insert = db.prepare_cached(
            "INSERT INTO items(n, key, arrived, scores, tags, priority) VALUES (?1, ?2, ?3, ?4, '{}', ?5)",
        )?;
        for n in batch {
            insert.execute(params![n, format!("item-{n}"), n, row(n), score(n, 0)])?;
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
    Ok(Bare { items: intake, claims: claims as f64 / began.elapsed().as_secs_f64() })
}

/// Measures PostgreSQL: inserts over one connection, then claims over one connection for each
/// client, skipping rows that others have locked.
pub(crate) fn postgres(url: &str, items: u64, claims: u64) -> Done<Bare> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let connect = async || -> Done<tokio_postgres::Client> {
            let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
            tokio::spawn(connection);
            Ok(client)
        };
        let client = connect().await?;
        client.batch_execute("DROP SCHEMA IF EXISTS bare CASCADE; CREATE SCHEMA bare; CREATE TABLE bare.items(n BIGINT PRIMARY KEY, key TEXT UNIQUE, arrived BIGINT, scores BYTEA, tags TEXT, priority FLOAT8, reviewer TEXT); CREATE INDEX next ON bare.items(priority DESC) WHERE reviewer IS NULL").await?;
        let insert = client.prepare("INSERT INTO bare.items(n, key, arrived, scores, tags, priority) SELECT n, key, n, scores, '{}', priority FROM unnest($1::BIGINT[], $2::TEXT[], $3::BYTEA[], $4::FLOAT8[]) AS new(n, key, scores, priority)").await?;
        let began = Instant::now();
        for batch in batches(items) {
            let numbers: Vec<i64> = batch.clone().map(u64::cast_signed).collect();
            let keys: Vec<String> = batch.clone().map(|n| format!("item-{n}")).collect();
            let scores: Vec<Vec<u8>> = batch.clone().map(row).collect();
            let priorities: Vec<f64> = batch.map(|n| score(n, 0)).collect();
            client.execute(&insert, &[&numbers, &keys, &scores, &priorities]).await?;
        }
        let intake = items as f64 / began.elapsed().as_secs_f64();
        client.batch_execute("ANALYZE bare.items").await?;
        let claim = "UPDATE bare.items SET reviewer = $1 WHERE n IN (SELECT n FROM bare.items WHERE reviewer IS NULL ORDER BY priority DESC LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING key";
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            let client = connect().await?;
            let claim = client.prepare(claim).await?;
            clients.push((client, claim));
        }
        let began = Instant::now();
        let mut working = tokio::task::JoinSet::new();
        for (number, (client, claim)) in clients.into_iter().enumerate() {
            working.spawn(async move {
                for turn in 0..claims / CLIENTS {
                    let keys = client.query(&claim, &[&format!("r{number}-{turn}"), &i64::from(K)]).await?;
                    assert_eq!(keys.len(), K as usize);
                }
                Ok::<(), tokio_postgres::Error>(())
            });
        }
        while let Some(done) = working.join_next().await {
            done??;
        }
        let rate = (claims / CLIENTS * CLIENTS) as f64 / began.elapsed().as_secs_f64();
        client.batch_execute("DROP SCHEMA bare CASCADE").await?;
        Ok(Bare { items: intake, claims: rate })
    })
}

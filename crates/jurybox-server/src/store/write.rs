//! The statements that write a log entry and its rows, for either database.

use super::seal::sealed;
use super::sql;
use super::value::{SqlWrite, values};
use crate::Error;
use crate::error::corrupt;
use crate::event::{Body, GivenVerdict};
use crate::rows::{EntryWrite, scores_to_bytes, source_to_text};
use crate::stored_body::StoredBody;

/// Appends the statements that write an entry and all its rows, in the order in which they must
/// run.
pub(crate) fn ops_of(
    queue: i64,
    batch: i64,
    write: &EntryWrite,
    ops: &mut Vec<SqlWrite>,
) -> Result<(), Error> {
    let event = &write.event;
    let first = ops.len();
    rows_of(queue, write, ops)?;
    let (seq, at, kind) = (event.seq, event.at, event.body.kind());
    let entry = values![seq, at, &event.actor, kind];
    let shows = matches!(event.body, Body::Items { .. } | Body::Verdicts { .. });
    let body = sealed(StoredBody::of(&event.body).to_text(), &entry, &ops[first..], shows);
    ops.push(SqlWrite {
        sql: sql::INSERT_LOG,
        values: values![queue, seq, at, &event.actor, kind, body, batch],
    });
    Ok(())
}

fn rows_of(queue: i64, write: &EntryWrite, ops: &mut Vec<SqlWrite>) -> Result<(), Error> {
    let event = &write.event;
    let (seq, at) = (event.seq, event.at);
    let mut op = |sql: &'static str, values: Vec<super::value::SqlValue>| ops.push(SqlWrite { sql, values });
    match &event.body {
        Body::Create { .. } | Body::Settle => {}
        Body::Clock => op(sql::DELETE_LEASES, values![queue, 0_i64, i64::MAX]),
        Body::Configure { decided, .. } => {
            for item in decided {
                op(sql::CLOSE, values![queue, item.n, item.n, seq]);
                op(sql::DELETE_LEASES, values![queue, item.n, item.n]);
            }
        }
        Body::Items { added, rescored } => {
            for (item, key) in added.iter().zip(&write.keys) {
                let tags = serde_json::to_string(&item.tags).map_err(corrupt)?;
                let scores = scores_to_bytes(&item.scores);
                op(
                    sql::INSERT_ITEM,
                    values![queue, item.n, key, seq, at, scores, tags, item.random_check, item.due],
                );
            }
            for item in rescored {
                op(sql::INSERT_RESCORED, values![queue, item.n, seq, scores_to_bytes(&item.scores)]);
            }
        }
        Body::Claim { reviewer, model, until, picks, .. } => {
            for (i, pick) in picks.iter().enumerate() {
                let (value, probability, explored) = (pick.value, pick.probability, pick.explored);
                let place = values![queue, seq, i as u64, pick.n, pick.slot, reviewer, *until, *model];
                op(sql::INSERT_CLAIM, [place, values![value, probability, explored]].concat());
            }
            for pick in picks {
                let lease = values![queue, pick.n, pick.slot, seq, reviewer, *until];
                op(sql::INSERT_LEASE, [lease, values![pick.probability, pick.explored]].concat());
            }
        }
        Body::Extend { until, leases, .. } => {
            for held in leases {
                op(sql::EXTEND_LEASE, values![queue, held.n, held.slot, *until]);
            }
        }
        Body::Release { reviewer, leases, skip } => {
            for held in leases {
                op(sql::DELETE_LEASE, values![queue, held.n, held.slot]);
                if let Some(reason) = skip {
                    op(sql::INSERT_SKIP, values![queue, held.n, seq, reviewer, reason]);
                }
            }
        }
        Body::Verdicts { given } => {
            for (i, verdict) in given.iter().enumerate() {
                verdict_ops(queue, seq, i as u64, verdict, write.stands_from, &mut op);
            }
        }
        Body::Undo { reviewer, verdict, item, slot, until, probability, explored, .. } => {
            op(sql::TAKE_BACK, values![queue, verdict.seq, verdict.i, seq]);
            op(sql::REOPEN, values![queue, item.n]);
            let lease = values![queue, item.n, *slot, seq, reviewer, *until, *probability, *explored];
            op(sql::INSERT_LEASE, lease);
        }
        Body::Close { items, .. } => {
            for (first, last) in items {
                op(sql::CLOSE, values![queue, *first, *last, seq]);
                op(sql::DELETE_LEASES, values![queue, *first, *last]);
            }
        }
        Body::Erase { items } => {
            for n in items {
                for statement in sql::ERASE {
                    op(statement, values![queue, *n, seq]);
                }
                op(sql::DELETE_LEASES, values![queue, *n, *n]);
            }
            for key in &write.keys {
                // An answer may contain the id as a JSON value, in backticks within a message, or
                // as the first part of a verdict id of the review page. Field names do not count.
                let quoted = serde_json::to_string(key).map_err(corrupt)?;
                let bare = &quoted[1..quoted.len() - 1];
                op(
                    sql::ERASE_ANSWERS,
                    values![queue, format!(":{quoted}"), format!("`{bare}`"), format!("\"{bare}/")],
                );
            }
            op(sql::FORGET_CHECKPOINTS, values![queue, seq]);
        }
    }
    for (n, body, expires) in &write.payloads {
        op(sql::UPSERT_PAYLOAD, values![queue, *n, body, *expires]);
    }
    for note in &write.notes {
        op(sql::INSERT_NOTE, values![queue, note.n, seq, note.i, &note.text]);
    }
    Ok(())
}

fn verdict_ops(
    queue: i64,
    seq: u64,
    i: u64,
    given: &GivenVerdict,
    stands_from: i64,
    op: &mut impl FnMut(&'static str, Vec<super::value::SqlValue>),
) {
    if let Some(old) = given.supersedes {
        op(sql::SUPERSEDE, values![queue, old.seq, old.i, seq]);
    }
    let (old_seq, old_i) = (given.supersedes.map(|old| old.seq), given.supersedes.map(|old| old.i));
    let row = [
        values![queue, seq, i, &given.id, given.n, given.slot, &given.reviewer],
        values![source_to_text(given.source), given.label.as_ref(), given.reward, given.observed_at],
        values![given.claim, old_seq, old_i, given.decides, given.probability, given.explored, stands_from],
    ];
    op(sql::INSERT_VERDICT, row.concat());
    if given.decides.is_some() {
        op(sql::CLOSE, values![queue, given.n, given.n, seq]);
        op(sql::DELETE_LEASES, values![queue, given.n, given.n]);
    } else {
        op(sql::DELETE_LEASE, values![queue, given.n, given.slot]);
    }
}

//! Entries into their tables.

use super::Sqlite;
use crate::Error;
use crate::error::corrupt;
use crate::event::{Body, Given, Picked, Stub};
use crate::rows::{Write, scores_to_bytes, source_to_text};
use crate::store::sql;
use rusqlite::params;

impl Sqlite {
    /// Writes an entry with all its rows.
    pub(super) fn write_one(&self, queue: i64, batch: i64, write: &Write) -> Result<(), Error> {
        let event = &write.event;
        let (seq, at) = (event.seq, event.at);
        let body = Stub::of(&event.body).to_text();
        self.execute(sql::INSERT_LOG, params![queue, seq, at, event.actor, event.body.kind(), body, batch])?;
        match &event.body {
            Body::Create { .. } | Body::Configure { .. } => {}
            Body::Items { added, rescored } => {
                for (item, key) in added.iter().zip(&write.keys) {
                    let tags = serde_json::to_string(&item.tags).map_err(corrupt)?;
                    let scores = scores_to_bytes(&item.scores);
                    self.execute(
                        sql::INSERT_ITEM,
                        params![queue, item.n, key, seq, at, scores, tags, item.audit, item.due],
                    )?;
                }
                for item in rescored {
                    self.execute(
                        sql::INSERT_RESCORED,
                        params![queue, item.n, seq, scores_to_bytes(&item.scores)],
                    )?;
                }
            }
            Body::Claim { reviewer, model, until, picks, .. } => {
                for (i, pick) in picks.iter().enumerate() {
                    let Picked { n, slot, value, probability, explored } = pick;
                    self.execute(
                        sql::INSERT_CLAIM,
                        params![
                            queue,
                            seq,
                            i as u64,
                            n,
                            slot,
                            reviewer,
                            until,
                            model,
                            value,
                            probability,
                            explored
                        ],
                    )?;
                    self.execute(
                        sql::INSERT_LEASE,
                        params![queue, n, slot, seq, reviewer, until, probability, explored],
                    )?;
                }
            }
            Body::Extend { until, leases, .. } => {
                for held in leases {
                    self.execute(sql::EXTEND_LEASE, params![queue, held.n, held.slot, until])?;
                }
            }
            Body::Release { reviewer, leases, skip } => {
                for held in leases {
                    self.execute(sql::DELETE_LEASE, params![queue, held.n, held.slot])?;
                    if let Some(reason) = skip {
                        self.execute(sql::INSERT_SKIP, params![queue, held.n, seq, reviewer, reason])?;
                    }
                }
            }
            Body::Verdicts { given } => {
                for (i, verdict) in given.iter().enumerate() {
                    self.write_verdict(queue, seq, i as u64, verdict, write.stands_from)?;
                }
            }
            Body::Undo { reviewer, verdict, item, slot, until, probability, explored, .. } => {
                self.execute(sql::SUPERSEDE, params![queue, verdict.seq, verdict.i, seq])?;
                self.execute(sql::REOPEN, params![queue, item.n])?;
                self.execute(
                    sql::INSERT_LEASE,
                    params![queue, item.n, slot, seq, reviewer, until, probability, explored],
                )?;
            }
            Body::Close { items, .. } => {
                for (first, last) in items {
                    self.execute(sql::CLOSE, params![queue, first, last, seq])?;
                    self.execute(sql::DELETE_LEASES, params![queue, first, last])?;
                }
            }
            Body::Erase { items } => {
                for n in items {
                    for statement in sql::ERASE {
                        self.execute(statement, params![queue, n, seq])?;
                    }
                    self.execute(sql::DELETE_LEASES, params![queue, n, n])?;
                }
                self.execute(sql::FORGET_CHECKPOINTS, params![queue, seq])?;
            }
        }
        for (n, body, expires) in &write.payloads {
            self.execute(sql::UPSERT_PAYLOAD, params![queue, n, body, expires])?;
        }
        Ok(())
    }

    fn write_verdict(
        &self,
        queue: i64,
        seq: u64,
        i: u64,
        given: &Given,
        stands_from: i64,
    ) -> Result<(), Error> {
        if let Some(old) = given.supersedes {
            self.execute(sql::SUPERSEDE, params![queue, old.seq, old.i, seq])?;
        }
        let (old_seq, old_i) = (given.supersedes.map(|old| old.seq), given.supersedes.map(|old| old.i));
        self.execute(
            sql::INSERT_VERDICT,
            params![
                queue,
                seq,
                i,
                given.id,
                given.n,
                given.slot,
                given.reviewer,
                source_to_text(given.source),
                given.label,
                given.reward,
                given.observed_at,
                given.claim,
                old_seq,
                old_i,
                given.decides,
                given.probability,
                given.explored,
                stands_from
            ],
        )?;
        if given.decides.is_some() {
            self.execute(sql::CLOSE, params![queue, given.n, given.n, seq])?;
            self.execute(sql::DELETE_LEASES, params![queue, given.n, given.n])?;
        } else {
            self.execute(sql::DELETE_LEASE, params![queue, given.n, given.slot])?;
        }
        Ok(())
    }
}

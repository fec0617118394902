//! Completes answers with item ids and payloads, and stores answers under idempotency keys, so that
//! repeated calls get the same answer.

use crate::Error;
use crate::error::corrupt;
use crate::event::Body;
use crate::request::{Answer, Call, Rejected};
use crate::rows::{EntryWrite, StoredAnswer};
use crate::store::Store;
use std::collections::HashMap;

/// The answer to a decided call, before [`name_items`] completes it.
pub(crate) struct PendingAnswer {
    /// The call's position in its batch.
    pub(crate) at: usize,
    pub(crate) answer: Answer,
}

/// Fills in the ids and payloads of claimed items, and the ids of items whose verdict was undone.
/// Errors if a claimed item has no row.
pub(crate) fn name_items(
    store: &mut dyn Store,
    queue: i64,
    open: &mut [PendingAnswer],
    writes: &[EntryWrite],
) -> Result<(), Error> {
    let mut items: Vec<u64> = Vec::new();
    for open in open.iter() {
        if let Answer::Claims { claims, .. } = &open.answer {
            items.extend(claims.iter().map(|claim| claim.n));
        }
    }
    for write in writes {
        if let Body::Undo { item, .. } = &write.event.body {
            items.push(item.n);
        }
    }
    if items.is_empty() {
        return Ok(());
    }
    let shown: HashMap<u64, (String, Option<String>)> =
        store.shown(queue, &items)?.into_iter().map(|(n, key, payload)| (n, (key, payload))).collect();
    for open in open {
        match &mut open.answer {
            Answer::Claims { claims, .. } => {
                for claim in claims {
                    let Some((key, payload)) = shown.get(&claim.n) else {
                        return Err(corrupt(format!("item {} has no id", claim.n)));
                    };
                    claim.item.clone_from(key);
                    claim.payload =
                        payload.as_deref().map(serde_json::from_str).transpose().map_err(corrupt)?;
                }
            }
            Answer::Undone { item, token, .. } => {
                let of = writes.iter().find(|write| write.event.seq == *token).map(|write| &write.event.body);
                if let Some(Body::Undo { item: undone, .. }) = of
                    && let Some((key, _)) = shown.get(&undone.n)
                {
                    item.clone_from(key);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The row to store for a call; none if the call has no idempotency key. `answer` is none for a
/// call that changed nothing; then only the request's fingerprint is stored.
pub(crate) fn remember(call: &Call, answer: Option<&Answer>) -> Option<StoredAnswer> {
    let (key, answer) = (call.idempotency.clone()?, serde_json::to_string(&answer).ok()?);
    Some(StoredAnswer { key, hash: call.fingerprint(), answer })
}

/// The answer stored under a call's idempotency key. None if that call changed nothing, so that it
/// is decided again. Errors if the key was used for another request, or if an item in the answer
/// was erased.
pub(crate) fn repeated(there: &StoredAnswer, call: &Call) -> Result<Option<Answer>, Error> {
    if there.hash != call.fingerprint() {
        return Err(Error::KeyReused { key: there.key.clone() });
    }
    if there.answer.is_empty() {
        return Err(Error::Conflict(
            "this request was carried out before; its answer cannot be repeated, because an item in it was erased since".into(),
        ));
    }
    let mut answer: Option<Answer> = serde_json::from_str(&there.answer).map_err(corrupt)?;
    if let Some(Answer::Items { rejected, .. }) = &mut answer {
        rejected.iter_mut().for_each(Rejected::add_code);
    }
    Ok(answer)
}

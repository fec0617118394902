//! One pass over all rows, in parallel, with results in the order of the rows.
//!
//! Threads take units of work (a block of text, a stretch of a row group) in order, parse them apart from each other, and
//! hand over what the caller's `work` made of them; the caller's `fold` then sees it all in the order of the rows. So
//! the result is the same whatever the number of threads, and the first error in the file is the one reported. How far
//! threads may run ahead of `fold` is bounded, and with it the memory.

use crate::ask::Batch;
use crate::error::Error;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What a unit came to: the results of its batches, each with its number of rows; and how many lines it had.
pub(crate) struct Done<T> {
    pub(crate) file: usize,
    pub(crate) lines: u64,
    pub(crate) parts: Vec<(usize, T)>,
    pub(crate) error: Option<Error>,
}

struct Gate<U> {
    units: U,
    next: u64,
    folded: u64,
    ended: bool,
}

/// Runs `take` (under a lock, in order) and `work` (on every thread), then `fold` in order on this thread.
pub(crate) fn in_order<U: Send, W: Default, T: Send>(
    threads: usize,
    units: U,
    take: impl Fn(&mut U, &mut W) -> Result<bool, Error> + Sync,
    work: impl Fn(&mut W) -> Done<T> + Sync,
    mut fold: impl FnMut(Done<T>) -> Result<(), Error>,
) -> Result<(), Error> {
    let threads = threads.max(1);
    let ahead = 4 * threads as u64;
    let gate = Mutex::new(Gate { units, next: 0, folded: 0, ended: false });
    let moved = Condvar::new();
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(threads);
        for _ in 0..threads {
            let (sender, gate, moved, take, work) = (sender.clone(), &gate, &moved, &take, &work);
            scope.spawn(move || {
                let mut unit = W::default();
                while let Some((number, taken)) = next(gate, moved, ahead, take, &mut unit) {
                    let done = taken.map(|()| work(&mut unit));
                    if sender.send((number, done)).is_err() {
                        break;
                    }
                }
            });
        }
        drop::<SyncSender<_>>(sender);
        let outcome = drain(&receiver, &gate, &moved, &mut fold);
        // Whatever happened, nobody is left waiting for work or for room.
        lock(&gate).ended = true;
        moved.notify_all();
        drop(receiver);
        outcome
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next unit's number, once there is room for it; an error in taking it ends the stream after it.
fn next<U, W>(
    gate: &Mutex<Gate<U>>,
    moved: &Condvar,
    ahead: u64,
    take: &impl Fn(&mut U, &mut W) -> Result<bool, Error>,
    unit: &mut W,
) -> Option<(u64, Result<(), Error>)> {
    let mut state = lock(gate);
    while !state.ended && state.next >= state.folded + ahead {
        state = moved.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    if state.ended {
        return None;
    }
    let taken = match take(&mut state.units, unit) {
        Ok(true) => Ok(()),
        Ok(false) => {
            state.ended = true;
            return None;
        }
        Err(error) => {
            state.ended = true;
            Err(error)
        }
    };
    state.next += 1;
    Some((state.next - 1, taken))
}

fn drain<U, T>(
    receiver: &Receiver<(u64, Result<Done<T>, Error>)>,
    gate: &Mutex<Gate<U>>,
    moved: &Condvar,
    fold: &mut impl FnMut(Done<T>) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut early, mut number) = (BTreeMap::new(), 0);
    for (at, done) in receiver {
        early.insert(at, done);
        while let Some(done) = early.remove(&number) {
            fold(done?)?;
            number += 1;
        }
        lock(gate).folded = number;
        moved.notify_all();
    }
    Ok(())
}

/// A batch with where it comes from: the text of its records, or the arrays.
#[derive(Debug)]
pub struct Part<'a> {
    /// The numbers.
    pub batch: Batch,
    pub(crate) text: &'a [u8],
    pub(crate) arrays: Option<arrow_array::RecordBatch>,
    pub(crate) file: usize,
}

impl Part<'_> {
    /// The text of a row's record, where rows are text.
    pub(crate) fn record(&self, row: usize) -> &[u8] {
        match self.batch.starts.get(row..row + 2) {
            // Blank lines after a record are no part of it.
            Some(&[start, end]) => {
                let record = &self.text[start..end];
                let length = record.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |at| at + 1);
                &record[..length]
            }
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(threads: usize, fail_at: u64) -> (Vec<usize>, Option<String>) {
        let mut seen = Vec::new();
        let outcome = in_order(
            threads,
            0_u64,
            |unit, taken: &mut u64| {
                *taken = *unit;
                *unit += 1;
                Ok(*taken < 100)
            },
            |&mut unit| {
                std::thread::sleep(std::time::Duration::from_micros((unit % 7) * 50));
                Done { file: 0, lines: 0, parts: vec![(unit as usize, ())], error: None }
            },
            |done| {
                if done.parts[0].0 as u64 == fail_at {
                    return Err(Error::Usage("stop".into()));
                }
                seen.push(done.parts[0].0);
                Ok(())
            },
        );
        (seen, outcome.err().map(|e| e.to_string()))
    }

    #[test]
    fn order_is_kept_and_an_error_ends_it_whatever_the_threads() {
        for threads in [1, 2, 7] {
            assert_eq!(run(threads, 1000), ((0..100).collect(), None));
            assert_eq!(run(threads, 40), ((0..40).collect(), Some("stop".into())));
        }
    }
}

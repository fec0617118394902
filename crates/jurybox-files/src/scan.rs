//! Parallel execution of a pass, with results in the order of the rows.
//!
//! Threads take units of work in order and run the caller's `work` on them independently. They send
//! back the results, which the caller's `fold` receives in order. The result is therefore the same
//! for any number of threads, and the first error in the file is the one reported. Threads may run
//! ahead of `fold` by a limited number of units, which bounds the memory.

use crate::error::Error;
use crate::format::{StoredRow, memory};
use crate::scan_plan::Batch;
use arrow_array::RecordBatch;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The queue of units, shared by the threads.
struct UnitQueue<U> {
    units: U,
    next: u64,
    folded: u64,
    ended: bool,
}

/// Runs `take` in order under a lock, `work` on every thread, and `fold` in order on this thread.
pub(crate) fn in_order<U: Send, W: Default, T: Send>(
    threads: usize,
    units: U,
    take: impl Fn(&mut U, &mut W) -> Result<bool, Error> + Sync,
    work: impl Fn(&mut W) -> T + Sync,
    mut fold: impl FnMut(T) -> Result<(), Error>,
) -> Result<(), Error> {
    let threads = threads.max(1);
    let ahead = 4 * threads as u64;
    let gate = Mutex::new(UnitQueue { units, next: 0, folded: 0, ended: false });
    let changed = Condvar::new();
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(threads);
        for _ in 0..threads {
            let (sender, gate, changed, take, work) = (sender.clone(), &gate, &changed, &take, &work);
            scope.spawn(move || {
                let mut unit = W::default();
                while let Some((number, taken)) = next(gate, changed, ahead, take, &mut unit) {
                    let done = taken.map(|()| work(&mut unit));
                    if sender.send((number, done)).is_err() {
                        break;
                    }
                }
            });
        }
        drop::<SyncSender<_>>(sender);
        let outcome = drain(&receiver, &gate, &changed, &mut fold);
        // Wakes all threads that wait for room.
        lock(&gate).ended = true;
        changed.notify_all();
        drop(receiver);
        outcome
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of the next unit, once there is room for it; `None` if there is no further unit. An
/// error in taking it ends the queue.
fn next<U, W>(
    gate: &Mutex<UnitQueue<U>>,
    changed: &Condvar,
    ahead: u64,
    take: &impl Fn(&mut U, &mut W) -> Result<bool, Error>,
    unit: &mut W,
) -> Option<(u64, Result<(), Error>)> {
    let mut state = lock(gate);
    while !state.ended && state.next >= state.folded + ahead {
        state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
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

/// Folds the results in order as they arrive, and makes room for more units.
fn drain<U, T>(
    receiver: &Receiver<(u64, Result<T, Error>)>,
    gate: &Mutex<UnitQueue<U>>,
    changed: &Condvar,
    fold: &mut impl FnMut(T) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut early, mut number) = (BTreeMap::new(), 0);
    for (at, done) in receiver {
        early.insert(at, done);
        while let Some(done) = early.remove(&number) {
            fold(done?)?;
            number += 1;
        }
        lock(gate).folded = number;
        changed.notify_all();
    }
    Ok(())
}

/// A value handed from unit to unit in their order, whichever threads process them.
pub(crate) struct OrderedHandoff<C> {
    state: Mutex<HandoffState<C>>,
    changed: Condvar,
}

struct HandoffState<C> {
    /// The number of the unit whose turn it is.
    next: u64,
    /// Whether a thread dropped its turn without taking it; then no further turn comes.
    dropped: bool,
    carried: C,
}

impl<C> OrderedHandoff<C> {
    pub(crate) fn new(carried: C) -> Self {
        OrderedHandoff {
            state: Mutex::new(HandoffState { next: 0, dropped: false, carried }),
            changed: Condvar::new(),
        }
    }

    /// The turn of a unit. Later units wait for it; if it is dropped untaken, their turns never
    /// come.
    pub(crate) fn turn(&self, number: u64) -> HandoffTurn<'_, C> {
        HandoffTurn { handoff: self, number, taken: false }
    }

    pub(crate) fn into_inner(self) -> C {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).carried
    }
}

/// The turn of one unit to use the handed-on value.
pub(crate) struct HandoffTurn<'a, C> {
    handoff: &'a OrderedHandoff<C>,
    number: u64,
    taken: bool,
}

impl<C> HandoffTurn<'_, C> {
    /// Waits for the turn and runs `act`. `None` if a turn was dropped untaken, as by a panic.
    pub(crate) fn take<R>(mut self, act: impl FnOnce(&mut C) -> R) -> Option<R> {
        let mut state = lock(&self.handoff.state);
        while state.next != self.number && !state.dropped {
            state = self.handoff.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.taken = true;
        if state.dropped {
            return None;
        }
        let result = act(&mut state.carried);
        state.next += 1;
        self.handoff.changed.notify_all();
        Some(result)
    }
}

impl<C> Drop for HandoffTurn<'_, C> {
    fn drop(&mut self) {
        if !self.taken {
            lock(&self.handoff.state).dropped = true;
            self.handoff.changed.notify_all();
        }
    }
}

/// A batch with its origin: the text of its records, or the arrays.
#[derive(Debug)]
pub struct ScanPart<'a> {
    /// The parsed rows.
    pub batch: Batch,
    pub(crate) text: &'a [u8],
    pub(crate) arrays: Option<RecordBatch>,
    pub(crate) source: usize,
}

impl ScanPart<'_> {
    /// The text of a row's record; empty if rows are not text.
    pub(crate) fn text_of(&self, row: usize) -> &[u8] {
        match self.batch.starts.get(row..row + 2) {
            // Blank lines after a record are not part of it.
            Some(&[start, end]) => {
                let record = &self.text[start..end];
                let length = record.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |at| at + 1);
                &record[..length]
            }
            _ => &[],
        }
    }

    /// Copies of the text, the record starts and the arrays, for callers that choose rows later.
    pub(crate) fn stored_rows(&self) -> (Vec<u8>, Vec<usize>, Option<RecordBatch>) {
        (self.text.to_vec(), self.batch.starts.clone(), self.arrays.clone())
    }

    /// The part of a row to keep for output; none if the row can be fetched by its number.
    pub(crate) fn record(&self, row: usize) -> Result<StoredRow, Error> {
        if let Some(arrays) = &self.arrays {
            // A copy, because a slice would keep the whole batch in memory.
            let one = arrow_array::UInt64Array::from(vec![row as u64]);
            let taken = arrow_select::take::take_record_batch(arrays, &one);
            let refused = |e: arrow_schema::ArrowError| Error::Arrow {
                path: memory::NAME.into(),
                reason: e.to_string(),
            };
            return taken.map(StoredRow::Row).map_err(refused);
        }
        Ok(if self.batch.starts.is_empty() {
            StoredRow::None
        } else {
            StoredRow::Text(self.text_of(row).into())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

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
                unit
            },
            |unit| {
                if unit == fail_at {
                    return Err(Error::NoFiles);
                }
                seen.push(unit as usize);
                Ok(())
            },
        );
        (seen, outcome.err().map(|e| e.to_string()))
    }

    #[test]
    fn order_is_kept_and_an_error_ends_the_pass() {
        for threads in [1, 2, 7] {
            assert_eq!(run(threads, 1000), ((0..100).collect(), None));
            assert_eq!(run(threads, 40), ((0..40).collect(), Some("no file is named".into())));
        }
    }

    #[test]
    fn a_handoff_keeps_order_and_a_panic_blocks_no_thread() {
        for panics in [None, Some(30)] {
            let handoff = OrderedHandoff::new(Vec::new());
            let counter = AtomicU64::new(0);
            let work = || {
                loop {
                    let number = counter.fetch_add(1, Ordering::Relaxed);
                    if number >= 100 {
                        break;
                    }
                    let turn = handoff.turn(number);
                    std::thread::sleep(std::time::Duration::from_micros((number % 7) * 50));
                    if panics == Some(number) {
                        // As after a panic: the turn is dropped.
                        break;
                    }
                    turn.take(|list: &mut Vec<u64>| list.push(number));
                }
            };
            std::thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(work))));
            let list = handoff.into_inner();
            assert!(list.iter().copied().eq(0..list.len() as u64));
            assert!(if panics.is_some() { list.len() <= 30 } else { list.len() == 100 });
        }
    }
}

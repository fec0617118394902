//! The pool of a process's connections to PostgreSQL, shared by all queues.
//!
//! A store borrows a connection for a transaction, or for one query outside of a transaction.
//! Requests that find none free wait in order of arrival, and fail after ten seconds. Reads can use
//! only part of the connections, so that some are always left for writes.

use crate::Error;
use crate::service::lock_mutex;
use crate::store::Purpose;
use std::collections::VecDeque;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The default number of connections of a process.
const CONNECTIONS: usize = 10;
/// How long a request waits for a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// A limited number of connections. Some may not be open yet.
pub(super) struct ConnectionPool<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    connections: usize,
    /// Connections in use: for any purpose, for reads of either length, for long reads.
    used: [usize; 3],
    idle: Vec<T>,
    waiting: VecDeque<Waiting<T>>,
    tickets: u64,
}

struct Waiting<T> {
    ticket: u64,
    purpose: Purpose,
    turn: Sender<Option<T>>,
}

impl<T> State<T> {
    fn has_room(&self, purpose: Purpose) -> bool {
        let most = [self.connections, (self.connections / 2).max(1), (self.connections / 3).max(1)];
        (0..=purpose as usize).all(|class| self.used[class] < most[class])
    }

    fn lend(&mut self, purpose: Purpose) -> Option<T> {
        self.used[..=purpose as usize].iter_mut().for_each(|used| *used += 1);
        self.idle.pop()
    }

    fn take_back(&mut self, connection: Option<T>, purpose: Purpose) {
        self.used[..=purpose as usize].iter_mut().for_each(|used| *used -= 1);
        // If the number of connections was lowered, the connection is closed.
        self.idle.extend(connection.filter(|_| self.used[0] + self.idle.len() < self.connections));
    }
}

/// A borrowed connection; None if it must still be opened.
pub(super) struct BorrowedConnection<T> {
    pub(super) connection: Option<T>,
    purpose: Purpose,
    pool: Arc<ConnectionPool<T>>,
}

impl<T> Drop for BorrowedConnection<T> {
    fn drop(&mut self) {
        self.pool.give_back(self.connection.take(), self.purpose);
    }
}

impl<T> ConnectionPool<T> {
    pub(super) fn new(idle: Vec<T>) -> Self {
        let (used, waiting, tickets) = ([0; 3], VecDeque::new(), 0);
        ConnectionPool { state: Mutex::new(State { connections: CONNECTIONS, used, idle, waiting, tickets }) }
    }

    /// Sets the number of connections, at least two, so that reads leave one for writes.
    pub(super) fn resize(&self, connections: usize) {
        lock_mutex(&self.state).connections = connections.max(2);
    }

    /// Waits for a connection. [`Error::Busy`] if none becomes free in time.
    pub(super) fn borrow(self: &Arc<Self>, purpose: Purpose) -> Result<BorrowedConnection<T>, Error> {
        self.borrow_within(PATIENCE, purpose)
    }

    fn borrow_within(
        self: &Arc<Self>,
        patience: Duration,
        purpose: Purpose,
    ) -> Result<BorrowedConnection<T>, Error> {
        let lent = |connection| Ok(BorrowedConnection { connection, purpose, pool: self.clone() });
        let (turn, came) = channel();
        let (ticket, connections) = {
            let mut state = lock_mutex(&self.state);
            // If there is room for this purpose, all waiting requests are for purposes without
            // room.
            if state.has_room(purpose) {
                return lent(state.lend(purpose));
            }
            state.tickets += 1;
            let ticket = state.tickets;
            state.waiting.push_back(Waiting { ticket, purpose, turn });
            (ticket, state.connections)
        };
        if let Ok(connection) = came.recv_timeout(patience) {
            return lent(connection);
        }
        lock_mutex(&self.state).waiting.retain(|waiting| waiting.ticket != ticket);
        // A connection may have been handed over after the wait ended.
        if let Ok(connection) = came.try_recv() {
            return lent(connection);
        }
        Err(Error::Busy(format!(
            "none of the {connections} connections to the database came free within {} seconds",
            patience.as_secs()
        )))
    }

    fn give_back(&self, connection: Option<T>, purpose: Purpose) {
        let mut state = lock_mutex(&self.state);
        state.take_back(connection, purpose);
        while let Some(next) = state.waiting.iter().position(|waiting| state.has_room(waiting.purpose)) {
            let Some(Waiting { purpose, turn, .. }) = state.waiting.remove(next) else { return };
            let connection = state.lend(purpose);
            if let Err(refused) = turn.send(connection) {
                state.take_back(refused.0, purpose);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(connections: usize) -> Arc<ConnectionPool<u32>> {
        let pool = Arc::new(ConnectionPool::new(vec![7]));
        pool.resize(connections);
        pool
    }

    fn at_once(pool: &Arc<ConnectionPool<u32>>, purpose: Purpose) -> Result<BorrowedConnection<u32>, Error> {
        pool.borrow_within(Duration::ZERO, purpose)
    }

    #[test]
    fn there_are_never_more_connections_than_were_asked_for_and_reads_leave_some_for_writes() {
        let pool = pool(6);
        let long: Vec<_> = (0..2).map(|_| at_once(&pool, Purpose::LongRead).unwrap()).collect();
        assert!(matches!(at_once(&pool, Purpose::LongRead), Err(Error::Busy(_))));
        let short = at_once(&pool, Purpose::Read).unwrap();
        assert!(matches!(at_once(&pool, Purpose::Read), Err(Error::Busy(_))));
        let writes: Vec<_> = (0..3).map(|_| at_once(&pool, Purpose::Write).unwrap()).collect();
        let error = at_once(&pool, Purpose::Write).err().unwrap();
        assert!(error.is_transient() && error.to_string().contains("6 connections"), "{error}");
        assert_eq!(long[0].connection, Some(7), "the open connection is lent first");
        drop((long, short, writes));
        assert_eq!(lock_mutex(&pool.state).used, [0; 3]);
        assert!(at_once(&pool, Purpose::LongRead).is_ok());
    }

    #[test]
    fn whoever_waits_is_served_in_order_and_no_read_waits_in_front_of_a_write() {
        let pool = pool(2);
        let (read, write) = (at_once(&pool, Purpose::Read).unwrap(), at_once(&pool, Purpose::Write).unwrap());
        let order = Mutex::new(Vec::new());
        let waiting = |many: usize| {
            while lock_mutex(&pool.state).waiting.len() < many {
                std::thread::yield_now();
            }
        };
        let work = |name: &'static str, purpose| {
            let lent = pool.borrow_within(Duration::from_mins(1), purpose).unwrap();
            lock_mutex(&order).push(name);
            drop(lent);
        };
        std::thread::scope(|scope| {
            for (at, (name, purpose)) in
                [("read", Purpose::Read), ("first", Purpose::Write), ("second", Purpose::Write)]
                    .into_iter()
                    .enumerate()
            {
                scope.spawn(move || work(name, purpose));
                waiting(at + 1);
            }
            // The waiting read must wait for the running one, and both writes overtake it.
            drop(write);
            waiting(1);
            while lock_mutex(&order).len() < 2 {
                std::thread::yield_now();
            }
            drop(read);
        });
        assert_eq!(*lock_mutex(&order), ["first", "second", "read"]);
    }
}

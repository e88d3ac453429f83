//! Connections to other databases that wait for their next user.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{Location, RecyclingMethod, isc};
use farbird_engine::session::Interrupt;
use farbird_engine::session::external::{ExternalPool, PoolChange};

use super::line::Watch;

/// What a connection is to. Only whoever knows all of it gets one that waits.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) place: Location,
    pub(super) user: String,
    pub(super) password: String,
    pub(super) role: Option<String>,
}

/// The connections of one server.
pub(super) struct Pool {
    state: Mutex<State>,
}

struct State {
    size: u32,
    lifetime: Duration,
    /// Those that wait, the longest first.
    idle: VecDeque<Idle>,
    active: usize,
}

struct Idle {
    since: Instant,
    key: Key,
    connection: Connection,
    watch: Arc<Watch>,
}

/// A connection in use. Dropped, it is closed; [`Lent::give_back`] keeps it for others.
pub(super) struct Lent {
    pub(super) connection: Connection,
    key: Key,
    watch: Arc<Watch>,
    pool: Arc<Pool>,
}

impl Pool {
    pub(super) fn new(size: u32, lifetime: Duration) -> Pool {
        Pool { state: Mutex::new(State { size, lifetime, idle: VecDeque::new(), active: 0 }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a new connection as one in use.
    pub(super) fn lend(pool: &Arc<Pool>, key: Key, connection: Connection, watch: Arc<Watch>) -> Lent {
        pool.lock().active += 1;
        Lent { connection, key, watch, pool: Arc::clone(pool) }
    }

    /// One that waits, the session on it made as it was at first. Those that turn out to be lost are closed.
    pub(super) fn take(pool: &Arc<Pool>, key: &Key, interrupt: &Arc<Interrupt>) -> Option<Lent> {
        loop {
            let found = {
                let mut state = pool.lock();
                state.close_old();
                let place = state.idle.iter().rposition(|idle| idle.key == *key)?;
                state.idle.remove(place)?
            };
            found.watch.lend(Arc::clone(interrupt));
            let recycled = match found.connection.recycle(RecyclingMethod::Clean) {
                // Servers before Firebird 4.
                Err(error) if error.has(isc::WISH_LIST) => {
                    found.connection.recycle(RecyclingMethod::Verified)
                }
                recycled => recycled,
            };
            if recycled.is_ok() {
                return Some(Pool::lend(pool, found.key, found.connection, found.watch));
            }
        }
    }

    pub(super) fn state(&self) -> ExternalPool {
        let mut state = self.lock();
        state.close_old();
        ExternalPool {
            size: state.size,
            idle: state.idle.len(),
            active: state.active,
            lifetime: state.lifetime,
        }
    }

    pub(super) fn change(&self, change: PoolChange) {
        let mut state = self.lock();
        match change {
            PoolChange::Size(size) => state.size = size,
            PoolChange::Lifetime(lifetime) => state.lifetime = lifetime,
            PoolChange::ClearAll => state.idle.clear(),
            PoolChange::ClearOldest => {}
        }
        state.close_old();
    }
}

impl State {
    /// Closes those whose time is up, and the longest waiting ones that are too many.
    fn close_old(&mut self) {
        let (now, lifetime) = (Instant::now(), self.lifetime);
        self.idle.retain(|idle| now.duration_since(idle.since) < lifetime);
        let surplus = self.idle.len().saturating_sub(usize::try_from(self.size).unwrap_or(usize::MAX));
        self.idle.drain(..surplus);
    }
}

impl Lent {
    /// Keeps the connection for others, if there is room.
    pub(super) fn give_back(self) {
        let mut state = self.pool.lock();
        state.idle.push_back(Idle {
            since: Instant::now(),
            key: self.key.clone(),
            connection: self.connection.clone(),
            watch: Arc::clone(&self.watch),
        });
        state.close_old();
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.pool.lock().active -= 1;
    }
}

//! Connections to other databases that wait for their next user.
//!
//! Those to this server itself do not wait: a database that nobody uses can be dropped, and a login here costs little. A thread
//! closes those whose time is up, as long as any wait.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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
    /// Whether the user is attached already, and lets nobody ask for a password.
    pub(super) is_own_login: bool,
    /// How many EXECUTE STATEMENTs are around it: its server has been told.
    pub(super) depth: u32,
}

/// The connections of one server.
pub(super) struct Pool {
    state: Mutex<State>,
    /// The lifetime is another.
    changed: Condvar,
}

struct State {
    size: u32,
    lifetime: Duration,
    /// Those that wait, the longest first.
    idle: VecDeque<Idle>,
    active: usize,
    /// Whether a thread closes those whose time is up.
    has_closer: bool,
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
    may_wait: bool,
}

impl Pool {
    pub(super) fn new(size: u32, lifetime: Duration) -> Pool {
        let state = State { size, lifetime, idle: VecDeque::new(), active: 0, has_closer: false };
        Pool { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a connection as one in use, which may wait for others afterwards.
    pub(super) fn lend(
        pool: &Arc<Pool>,
        key: Key,
        connection: Connection,
        watch: Arc<Watch>,
        may_wait: bool,
    ) -> Lent {
        pool.lock().active += 1;
        Lent { connection, key, watch, pool: Arc::clone(pool), may_wait }
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
                return Some(Pool::lend(pool, found.key, found.connection, found.watch, true));
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
        self.changed.notify_all();
    }

    /// Closes connections when their time is up, until none waits.
    fn close_in_time(&self) {
        let mut state = self.lock();
        loop {
            state.close_old();
            let Some(oldest) = state.idle.front() else { break };
            let left = state.lifetime.saturating_sub(oldest.since.elapsed());
            (state, _) = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
        state.has_closer = false;
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
        if !self.may_wait {
            return;
        }
        let mut state = self.pool.lock();
        state.idle.push_back(Idle {
            since: Instant::now(),
            key: self.key.clone(),
            connection: self.connection.clone(),
            watch: Arc::clone(&self.watch),
        });
        state.close_old();
        if !state.idle.is_empty() && !state.has_closer {
            let pool = Arc::clone(&self.pool);
            let closer = std::thread::Builder::new().name("external-pool".to_owned());
            match closer.spawn(move || pool.close_in_time()) {
                Ok(_) => state.has_closer = true,
                Err(error) => {
                    tracing::warn!(%error, "no thread for the pool: no connection waits");
                    state.idle.clear();
                }
            }
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.pool.lock().active -= 1;
    }
}

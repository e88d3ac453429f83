//! Failed logins are slowed and counted, by peer address.
//!
//! The first few failures of an address are answered at once; each further one doubles the delay of the answer, up to
//! Firebird's 8 seconds. A success, or a quiet while, forgets them. Knows no sockets and reads no clock but the one
//! handed in.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Failures that cost nothing.
const FREE_FAILURES: u32 = 4;
/// Delay after the first failure that costs.
const DELAY_FIRST: Duration = Duration::from_millis(500);
/// Longest delay (Firebird's).
const DELAY_MAX: Duration = Duration::from_secs(8);
/// After this long without failure an address is forgotten.
const MEMORY: Duration = Duration::from_secs(600);
/// Most addresses remembered; beyond it the oldest half is forgotten.
const ADDRESSES_MAX: usize = 10_000;

/// Remembers failed logins.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: HashMap<IpAddr, Failures>,
    total: u64,
}

#[derive(Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Throttle {
    /// Counts a failure; gives how long its answer must be held back.
    pub(crate) fn failed(&self, address: IpAddr, now: Instant) -> Duration {
        let mut state = self.state.lock();
        state.total += 1;
        if state.failures.len() >= ADDRESSES_MAX {
            state.forget_old(now);
        }
        let failures = state.failures.entry(address).or_insert(Failures { count: 0, last: now });
        if now.duration_since(failures.last) > MEMORY {
            failures.count = 0;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
        match failures.count.checked_sub(FREE_FAILURES + 1) {
            None => Duration::ZERO,
            Some(doublings) => DELAY_FIRST.saturating_mul(1 << doublings.min(16)).min(DELAY_MAX),
        }
    }

    /// Forgets the address's failures.
    pub(crate) fn succeeded(&self, address: IpAddr) {
        self.state.lock().failures.remove(&address);
    }

    /// Failed logins since the start.
    pub(crate) fn total(&self) -> u64 {
        self.state.lock().total
    }
}

impl State {
    fn forget_old(&mut self, now: Instant) {
        self.failures.retain(|_, failures| now.duration_since(failures.last) <= MEMORY);
        if self.failures.len() < ADDRESSES_MAX {
            return;
        }
        let mut times: Vec<Instant> = self.failures.values().map(|failures| failures.last).collect();
        times.sort_unstable();
        let middle = times[times.len() / 2];
        self.failures.retain(|_, failures| failures.last > middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_after_a_few_failures_and_end_with_a_success() {
        let throttle = Throttle::default();
        let (peer, now) = (IpAddr::from([127, 0, 0, 1]), Instant::now());
        let delays: Vec<u128> = (0..12).map(|_| throttle.failed(peer, now).as_millis()).collect();
        assert_eq!(delays, [0, 0, 0, 0, 500, 1000, 2000, 4000, 8000, 8000, 8000, 8000]);
        throttle.succeeded(peer);
        assert_eq!(throttle.failed(peer, now), Duration::ZERO);
        assert_eq!(throttle.total(), 13);
    }

    #[test]
    fn one_address_does_not_slow_another() {
        let throttle = Throttle::default();
        let now = Instant::now();
        for _ in 0..10 {
            throttle.failed(IpAddr::from([10, 0, 0, 1]), now);
        }
        assert_eq!(throttle.failed(IpAddr::from([10, 0, 0, 2]), now), Duration::ZERO);
    }

    #[test]
    fn memory_is_bounded() {
        let throttle = Throttle::default();
        let start = Instant::now();
        for n in 0..3 * ADDRESSES_MAX as u32 {
            throttle.failed(IpAddr::from(n.to_be_bytes()), start + Duration::from_millis(u64::from(n)));
        }
        assert!(throttle.state.lock().failures.len() <= ADDRESSES_MAX);
    }
}

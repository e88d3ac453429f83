//! Guesses of passwords are counted and slowed, by address and user.
//!
//! An attempt is counted before the password is looked at, so that any number of connections at a time make no more
//! guesses than one. The first few of a user from an address are answered at once. Each further one takes its turn: its
//! answer, be it yes or no, comes a while after that of the attempt before it, and the while doubles up to Firebird's 8
//! seconds. Whoever would wait longer than [`WAIT_MAX`] is refused without the password being looked at. A success
//! forgives the user's own failures from that address and nobody else's; a quiet while forgives all.
//!
//! All users together are counted for each address as well, with more attempts free: whoever has logged in from there
//! before does not wait for what others do.
//!
//! Knows no sockets and reads no clock but the one handed in.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Failures of a user from an address that cost nothing.
const FREE_OF_USER: u32 = 4;
/// Failures of all users from an address that cost nothing.
const FREE_OF_ADDRESS: u32 = 20;
/// Delay after the first failure that costs.
const DELAY_FIRST: Duration = Duration::from_millis(500);
/// Longest delay between two answers (Firebird's).
const DELAY_MAX: Duration = Duration::from_secs(8);
/// Longest time that an attempt waits for its turn.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// After this long without failure an address is forgotten.
const MEMORY: Duration = Duration::from_secs(600);
/// Most addresses remembered; beyond it the oldest half is forgotten.
const ADDRESSES_MAX: usize = 4_096;
/// Most users remembered for an address; further ones share one place.
const USERS_MAX: usize = 128;
/// Bits of an IPv6 address that one peer cannot choose: the rest is counted as one address.
const IPV6_NETWORK: u128 = !0 << 64;

/// Remembers attempts to log in.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    state: Mutex<State>,
    /// Users are remembered by a hash, which takes the same room whatever name is sent.
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct State {
    addresses: HashMap<IpAddr, Address>,
    total: u64,
}

#[derive(Debug, Default)]
struct Address {
    all: Failures,
    users: HashMap<u64, User>,
    /// Those for whom there was no place.
    others: User,
}

#[derive(Debug, Default)]
struct User {
    failures: Failures,
    /// Whether this user has logged in from here.
    is_known: bool,
}

/// Attempts that have failed, or are not answered yet.
#[derive(Debug, Default)]
struct Failures {
    count: u32,
    last: Option<Instant>,
    /// When the latest answer is due.
    answered: Option<Instant>,
}

impl Throttle {
    /// Counts an attempt; gives how long its answer must be held back, whatever it is. `None`: too many wait already; the
    /// password must not be looked at.
    pub(crate) fn begin(&self, address: IpAddr, user: &str, now: Instant) -> Option<Duration> {
        let user = self.hasher.hash_one(user);
        let mut state = self.state.lock();
        if state.addresses.len() >= ADDRESSES_MAX {
            state.forget_old(now);
        }
        let address = state.addresses.entry(network(address)).or_default();
        let Address { all, .. } = address;
        let shared = all.turn(now, FREE_OF_ADDRESS);
        let own = address.user(user, now);
        let turn = own.failures.turn(now, FREE_OF_USER);
        let is_known = own.is_known;
        let wait = if is_known { turn } else { turn.max(shared) };
        if wait > WAIT_MAX {
            return None;
        }
        address.user(user, now).failures.count(now, turn);
        address.all.count(now, shared.min(WAIT_MAX));
        Some(wait)
    }

    /// The attempt was no guess: it and the user's failures are forgotten.
    pub(crate) fn succeeded(&self, address: IpAddr, user: &str) {
        let user = self.hasher.hash_one(user);
        let mut state = self.state.lock();
        let Some(address) = state.addresses.get_mut(&network(address)) else { return };
        address.all.count = address.all.count.saturating_sub(1);
        // Whoever shares a place with others does not forgive what they have done.
        match address.users.get_mut(&user) {
            Some(own) => *own = User { failures: Failures::default(), is_known: true },
            None => address.others.failures.count = address.others.failures.count.saturating_sub(1),
        }
    }

    /// Counts a refused login; gives their number since the start.
    pub(crate) fn refused(&self) -> u64 {
        let mut state = self.state.lock();
        state.total += 1;
        state.total
    }
}

impl Address {
    fn user(&mut self, user: u64, now: Instant) -> &mut User {
        if self.users.len() >= USERS_MAX && !self.users.contains_key(&user) {
            self.users.retain(|_, user| user.is_known || !user.failures.is_forgotten(now));
            if self.users.len() >= USERS_MAX {
                return &mut self.others;
            }
        }
        self.users.entry(user).or_default()
    }

    fn last(&self) -> Option<Instant> {
        self.all.last
    }
}

impl Failures {
    fn is_forgotten(&self, now: Instant) -> bool {
        self.last.is_none_or(|last| now.saturating_duration_since(last) > MEMORY)
    }

    /// How long another attempt would have to wait for its answer.
    fn turn(&mut self, now: Instant, free: u32) -> Duration {
        if self.is_forgotten(now) {
            *self = Failures::default();
        }
        let Some(doublings) = self.count.checked_sub(free) else { return Duration::ZERO };
        let delay = DELAY_FIRST.saturating_mul(1 << doublings.min(16)).min(DELAY_MAX);
        let before = self.answered.map_or(Duration::ZERO, |due| due.saturating_duration_since(now));
        before + delay
    }

    fn count(&mut self, now: Instant, turn: Duration) {
        self.count = self.count.saturating_add(1);
        self.last = Some(now);
        self.answered = Some(now + turn);
    }
}

/// What is counted as one address.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => match six.to_ipv4_mapped() {
            Some(four) => IpAddr::V4(four),
            None => IpAddr::V6(Ipv6Addr::from_bits(six.to_bits() & IPV6_NETWORK)),
        },
    }
}

impl State {
    fn forget_old(&mut self, now: Instant) {
        self.addresses.retain(|_, address| !address.all.is_forgotten(now));
        if self.addresses.len() < ADDRESSES_MAX {
            return;
        }
        let mut times: Vec<Option<Instant>> = self.addresses.values().map(Address::last).collect();
        times.sort_unstable();
        let middle = times.get(times.len() / 2).copied().flatten();
        self.addresses.retain(|_, address| address.last() > middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 1));

    fn milliseconds(throttle: &Throttle, user: &str, now: Instant) -> Option<u128> {
        throttle.begin(PEER, user, now).map(|delay| delay.as_millis())
    }

    #[test]
    fn attempts_at_one_time_take_turns() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        let delays: Vec<_> = (0..200).map_while(|_| milliseconds(&throttle, "SYSDBA", now)).collect();
        assert_eq!(delays, [0, 0, 0, 0, 500, 1500, 3500, 7500, 15500, 23500]);
        assert_eq!(milliseconds(&throttle, "SYSDBA", now), None, "more do not wait: they are refused");
        // Later there is room for a few again, at the slowest pace.
        let later = now + Duration::from_secs(24);
        assert_eq!(milliseconds(&throttle, "SYSDBA", later), Some(8000));
    }

    #[test]
    fn a_success_forgives_only_its_own_user() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for _ in 0..6 {
            throttle.begin(PEER, "SYSDBA", now);
            throttle.begin(PEER, "EVE", now);
            throttle.succeeded(PEER, "EVE");
        }
        assert_eq!(milliseconds(&throttle, "SYSDBA", now), Some(3500));
        assert_eq!(milliseconds(&throttle, "EVE", now), Some(0));
        throttle.succeeded(PEER, "SYSDBA");
        assert_eq!(milliseconds(&throttle, "SYSDBA", now), Some(0));
    }

    #[test]
    fn an_address_that_tries_many_users_is_slowed_but_not_those_it_has_seen() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        throttle.begin(PEER, "ANN", now);
        throttle.succeeded(PEER, "ANN");
        let waits: Vec<_> = (0..100).filter_map(|n| milliseconds(&throttle, &format!("U{n}"), now)).collect();
        assert_eq!(waits.iter().filter(|wait| **wait == 0).count(), FREE_OF_ADDRESS as usize);
        assert!(waits.len() < 30, "{waits:?}");
        assert_eq!(milliseconds(&throttle, "ANN", now), Some(0));
        let other = IpAddr::from([10, 0, 0, 2]);
        assert_eq!(throttle.begin(other, "U1", now), Some(Duration::ZERO));
    }

    #[test]
    fn a_quiet_while_forgives() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for _ in 0..20 {
            throttle.begin(PEER, "SYSDBA", now);
        }
        let later = now + MEMORY + Duration::from_secs(1);
        assert_eq!(milliseconds(&throttle, "SYSDBA", later), Some(0));
    }

    #[test]
    fn neighbours_of_one_network_are_one_address() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for n in 0..10_u128 {
            throttle.begin(IpAddr::V6(Ipv6Addr::from_bits((0x2001 << 112) | n)), "SYSDBA", now);
        }
        let next = IpAddr::V6(Ipv6Addr::from_bits((0x2001 << 112) | 99));
        assert!(throttle.begin(next, "SYSDBA", now) != Some(Duration::ZERO));
    }

    #[test]
    fn memory_is_bounded() {
        let throttle = Throttle::default();
        let start = Instant::now();
        for n in 0..3 * ADDRESSES_MAX as u32 {
            let now = start + Duration::from_millis(u64::from(n));
            throttle.begin(IpAddr::from(n.to_be_bytes()), "SYSDBA", now);
            throttle.begin(PEER, &n.to_string(), now);
        }
        let state = throttle.state.lock();
        assert!(state.addresses.len() <= ADDRESSES_MAX);
        assert!(state.addresses.values().all(|address| address.users.len() <= USERS_MAX));
    }
}

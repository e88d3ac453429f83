//! Whose connections those are that this process makes to its own server: EXECUTE STATEMENT, and the status page.
//!
//! They come from this machine, but the passwords in them are guessed by whoever runs the statement, or stands before the page. So failed
//! logins are counted by that, apart from those of all real peers: nobody is locked out by what others guess from inside.
//!
//! Whoever connects says so in this process, by the address of its own end, before it writes anything. Nothing of it comes over the
//! line, where anybody could say it.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use farbird_engine::session::external::ExternalCaller;
use farbird_types::Result;
use parking_lot::Mutex;

use crate::security::random;
use crate::throttle::network;

/// How long a connection may take from here to its first packet.
const LIFETIME: Duration = Duration::from_secs(180);
/// Most connections that are awaited at a time.
const AWAITED_MAX: usize = 100_000;
/// Random bytes of a password that lets in once.
const SECRET_BYTES: usize = 16;

/// Who has a connection made from this process to its own server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnCaller {
    /// EXECUTE STATEMENT, of this session.
    Statement(ExternalCaller),
    /// Whoever logs in at the status page.
    StatusPage,
}

/// A password that lets a user in once, on one connection of this process: the user is attached already.
pub(crate) struct OneTimePassword {
    pub(crate) user: String,
    pub(crate) password: String,
}

/// A connection that is on its way.
struct Awaited {
    caller: OwnCaller,
    password: Option<OneTimePassword>,
    until: Instant,
}

/// Connections that are on their way, by the address that they come from.
#[derive(Default)]
pub struct ExternalCallers(Mutex<HashMap<SocketAddr, Awaited>>);

impl ExternalCallers {
    /// Says whose connection it is that comes from `local`; false if too many are awaited already.
    #[must_use]
    pub fn introduce(&self, local: SocketAddr, caller: OwnCaller) -> bool {
        self.expect(local, caller, None)
    }

    /// As [`ExternalCallers::introduce`], of somebody who is attached as `user`: gives a password by which this connection alone, and
    /// once, logs in as that user. `None` if too many are awaited already.
    ///
    /// # Errors
    /// Of the system's random numbers.
    pub fn introduce_as(&self, local: SocketAddr, caller: OwnCaller, user: &str) -> Result<Option<String>> {
        let secret: String = random::<SECRET_BYTES>()?.iter().map(|byte| format!("{byte:02x}")).collect();
        let password = OneTimePassword { user: user.to_owned(), password: secret.clone() };
        Ok(self.expect(local, caller, Some(password)).then_some(secret))
    }

    fn expect(&self, local: SocketAddr, caller: OwnCaller, password: Option<OneTimePassword>) -> bool {
        let (mut awaited, now) = (self.0.lock(), Instant::now());
        if awaited.len() >= AWAITED_MAX {
            awaited.retain(|_, awaited| awaited.until > now);
        }
        if awaited.len() >= AWAITED_MAX {
            return false;
        }
        awaited.insert(canonical(local), Awaited { caller, password, until: now + LIFETIME });
        true
    }

    /// Whose connection it is that comes from this address, if it is such a one, and the password that lets it in.
    pub(crate) fn take(&self, from: SocketAddr) -> Option<(OwnCaller, Option<OneTimePassword>)> {
        let Awaited { caller, password, until } = self.0.lock().remove(&canonical(from))?;
        (until > Instant::now()).then_some((caller, password))
    }
}

/// The address by which a caller's failed logins are counted, which no real peer has: one for each user from each address, and one for
/// the status page.
pub(crate) fn counted_as(caller: &OwnCaller) -> IpAddr {
    let by = match caller {
        OwnCaller::Statement(caller) => Some((caller.address.map(network), &caller.user)),
        OwnCaller::StatusPage => None,
    };
    let hash = u128::from(BuildHasherDefault::<DefaultHasher>::default().hash_one(by));
    // Of networks that nobody gives out; peers are counted by the first half.
    IpAddr::V6(Ipv6Addr::from_bits((0xfc << 120) | ((hash >> 8) << 64)))
}

/// An address of IPv4 however it is written. Nobody else can come from it while the caller's socket has it.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::throttle::Throttle;

    fn caller(user: &str) -> OwnCaller {
        statement(user, 1)
    }

    fn statement(user: &str, depth: u32) -> OwnCaller {
        let address = Some(Ipv4Addr::LOCALHOST.into());
        OwnCaller::Statement(ExternalCaller { depth, address, user: user.to_owned() })
    }

    #[test]
    fn guesses_from_inside_are_counted_by_who_makes_them() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        let eve = counted_as(&caller("EVE"));
        while throttle.begin(eve, "SYSDBA", now).is_some() {}
        assert_eq!(throttle.begin(eve, "SYSDBA", now), None);
        let page = counted_as(&OwnCaller::StatusPage);
        for other in [Ipv4Addr::LOCALHOST.into(), counted_as(&caller("ANN")), page] {
            assert_eq!(throttle.begin(other, "SYSDBA", now), Some(Duration::ZERO));
        }
        assert_eq!(counted_as(&statement("EVE", 7)), eve);
    }

    #[test]
    fn a_connection_is_somebodys_once() {
        let (callers, local) = (ExternalCallers::default(), SocketAddr::from(([127, 0, 0, 1], 4_000)));
        assert!(callers.introduce(local, caller("EVE")));
        assert!(callers.take(SocketAddr::from(([127, 0, 0, 1], 4_001))).is_none());
        let (taken, password) = callers.take(local).expect("the one that was introduced");
        assert_eq!(taken, caller("EVE"));
        assert!(password.is_none());
        assert!(callers.take(local).is_none());
        let secret = callers.introduce_as(local, caller("EVE"), "EVE").unwrap().expect("a password");
        let (_, password) = callers.take(local).expect("the one that was introduced");
        assert!(password.is_some_and(|it| it.user == "EVE" && it.password == secret));
    }
}

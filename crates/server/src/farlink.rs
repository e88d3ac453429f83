//! What an origin of a farlink in this process may do: it makes ordinary connections, and says whose they are.
//!
//! An origin's connection is for a program elsewhere, and stays in the process: a pair of Unix sockets ([`Farlink::connect`]). Of such a
//! connection the server shows the program's address, counts
//! failed logins by the edge that the program comes through, takes the farlink's encryption for the line's, hands over the session
//! key, and goes on with a login that was prepared in advance.
//!
//! # Prepared logins
//! A ticket is salt and server key of a user, made before the client has said anything. It serves one login, within
//! [`TICKET_LIFETIME`], of the user as the server knows it then; what is learned from it is what every client of SRP is told. A guess at the
//! password costs as much as without it: attempts are counted when the proof comes.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use farbird_engine::engine::CommitOutcome;
use farbird_engine::engine::{CommitName, CommitNews, CommitNumber, Engine};
use farbird_engine::users::UserDirectory;
use farbird_wire::auth::normalize_user_name;
use farbird_wire::auth::srp::{PRIVATE_KEY_BYTES, ProofHash, ServerLogin, Verifier};
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedSender;

use crate::location::Locations;
use crate::security::{Credentials, SecurityDatabase, own_options, random};

/// How long a prepared login may be used.
pub const TICKET_LIFETIME: Duration = Duration::from_secs(3_600);
/// Most prepared logins kept; beyond it the old ones go, and then no new ones are taken.
const KEPT_MAX: usize = 100_000;
/// A public key that a client could send: the server's own does not depend on it.
const ANY_PUBLIC_KEY: &[u8] = b"2";

/// An origin's way to the server: see the module's text.
#[derive(Clone)]
pub struct Farlink {
    arrivals: UnboundedSender<OriginConnection>,
    desk: Arc<Desk>,
    security: Arc<SecurityDatabase>,
    news: Arc<CommitNews>,
    /// The number of the security database.
    users: u32,
    engine: Arc<Engine>,
    locations: Arc<Locations>,
}

/// Whose a connection is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    /// The program's address, as its edge says.
    pub peer: String,
    /// The edge: failed logins are counted by it.
    pub edge: String,
    /// A prepared login.
    pub ticket: Option<u64>,
    /// A pass by which the edge logs a user in again.
    pub pass: Option<Vec<u8>>,
}

/// Takes what the server says on a connection, on the thread that says it.
pub trait TakesReplies: Send + Sync {
    /// Takes bytes behind `before` that have gone through the socket since the connection began; they may be changed. False: they are as they
    /// were, and go through the socket. Must not wait.
    fn take(&self, before: u64, bytes: &mut [u8]) -> bool;
}

/// A connection that an origin has made: the server's end, and whose it is.
pub(crate) struct OriginConnection {
    pub(crate) socket: UnixStream,
    pub(crate) introduction: Introduction,
    pub(crate) replies: Option<Arc<dyn TakesReplies>>,
}

/// What origins were given.
#[derive(Default)]
pub(crate) struct Desk {
    tickets: Mutex<HashMap<u64, (Ticket, Instant)>>,
}

/// A login that was prepared.
pub(crate) struct Ticket {
    user: String,
    verifier: Verifier,
    private_key: [u8; PRIVATE_KEY_BYTES],
}

impl Farlink {
    pub(crate) fn new(
        arrivals: UnboundedSender<OriginConnection>,
        desk: Arc<Desk>,
        security: Arc<SecurityDatabase>,
        engine: Arc<Engine>,
        locations: Arc<Locations>,
    ) -> Farlink {
        let (users, news) = (security.number(), Arc::clone(engine.commit_news()));
        Farlink { arrivals, desk, security, news, users, engine, locations }
    }

    /// Makes a connection to the server inside the process; gives the origin's end, which blocks. Both ends see at once when the other
    /// is dropped. What the server says goes to `replies`, if there is somebody who takes it, else through the socket.
    ///
    /// # Errors
    /// `ConnectionRefused`: the server is going down; otherwise there are no file descriptors.
    pub fn connect(
        &self,
        introduction: Introduction,
        replies: Option<Arc<dyn TakesReplies>>,
    ) -> io::Result<UnixStream> {
        let (origins, socket) = UnixStream::pair()?;
        socket.set_nonblocking(true)?;
        let sent = self.arrivals.send(OriginConnection { socket, introduction, replies });
        sent.map_err(|_| io::Error::new(io::ErrorKind::ConnectionRefused, "the server is going down"))?;
        Ok(origins)
    }

    /// Prepares a login of a user, as typed; gives its number, and salt and server key as op_cond_accept has them. `None` for who
    /// cannot log in.
    pub fn issue_ticket(&self, user: &str) -> Option<(u64, Vec<u8>)> {
        let user = normalize_user_name(user).ok()?;
        let credentials = self.security.credentials(&user).ok()?.filter(|known| known.active)?;
        let private_key = random::<PRIVATE_KEY_BYTES>().ok()?;
        let number = u64::from_le_bytes(random::<8>().ok()?);
        let verifier = credentials.verifier.clone();
        let login =
            ServerLogin::new(ProofHash::Sha256, &user, verifier.clone(), ANY_PUBLIC_KEY, private_key).ok()?;
        let ticket = Ticket { user, verifier, private_key };
        keep(&mut self.desk.tickets.lock(), number, ticket, TICKET_LIFETIME)
            .then(|| (number, login.challenge()))
    }

    /// Whether the database that commit news call so holds the users: then a commit there makes all tickets void that were issued before.
    pub fn holds_users(&self, database: u32) -> bool {
        database == self.users
    }

    /// What became of a commit that was named by item 245 of op_info_transaction (docs/wire.md), in a database as a program names it,
    /// whose GUID is `guid`; one that is later than the commit point `since`. May take long: it may open a database.
    pub fn commit_outcome(&self, file: &str, guid: &str, name: [u8; 16], since: u64) -> CommitOutcome {
        let outcome = self.locations.resolve(file).and_then(|path| {
            let users: Arc<dyn UserDirectory> = Arc::clone(&self.security) as Arc<dyn UserDirectory>;
            let (name, since) = (CommitName(name), CommitNumber(since));
            self.engine.commit_outcome(&path, guid, name, since, own_options(), users)
        });
        outcome.unwrap_or_else(|error| {
            tracing::warn!(%error, database = file, "nobody can tell what became of a commit");
            CommitOutcome::Unknown
        })
    }

    /// Commits of all databases.
    pub fn commit_news(&self) -> &Arc<CommitNews> {
        &self.news
    }
}

impl Desk {
    /// The private key of a prepared login, which is used up with it. `None` if it was another user's, or the user's password has
    /// changed since.
    pub(crate) fn take_ticket(
        &self,
        number: u64,
        user: &str,
        credentials: &Credentials,
    ) -> Option<[u8; PRIVATE_KEY_BYTES]> {
        let (ticket, until) = self.tickets.lock().remove(&number)?;
        let is_same = ticket.user == user
            && ticket.verifier.salt() == credentials.verifier.salt()
            && ticket.verifier.verifier() == credentials.verifier.verifier();
        (is_same && until > Instant::now()).then_some(ticket.private_key)
    }
}

impl Introduction {
    /// The address by which failed logins are counted: one for each edge, which no real peer has.
    pub(crate) fn counted_as(&self) -> IpAddr {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(&self.edge);
        let [a, b, c, d, e, f, g, h] = hash.to_be_bytes();
        let part = |high, low| u16::from_be_bytes([high, low]);
        // Of a network of site-local addresses, which peers are counted by.
        IpAddr::V6(Ipv6Addr::new(
            0xfd00 | u16::from(a),
            part(b, c),
            part(d, e),
            part(f, g),
            u16::from(h),
            0,
            0,
            0,
        ))
    }
}

/// Keeps something for a while; gives false if there is no room.
fn keep<K: Eq + std::hash::Hash, V>(
    kept: &mut HashMap<K, (V, Instant)>,
    key: K,
    value: V,
    lifetime: Duration,
) -> bool {
    let now = Instant::now();
    if kept.len() >= KEPT_MAX {
        kept.retain(|_, (_, until)| *until > now);
    }
    if kept.len() >= KEPT_MAX {
        return false;
    }
    kept.insert(key, (value, now + lifetime));
    true
}

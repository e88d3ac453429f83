//! What all connections and flows of a link share.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use super::options::LinkOptions;
use super::relay::{Channel, Lane};
use super::traffic::Recorder;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) target: SocketAddr,
    pub(super) options: LinkOptions,
    pub(super) epoch: Instant,
    pub(super) up: Arc<Lane>,
    pub(super) down: Arc<Lane>,
    pub(super) recorder: Arc<Mutex<Recorder>>,
    pub(super) is_stopping: AtomicBool,
    pub(super) connections: Mutex<Vec<Connection>>,
    /// Connections and flows of datagrams that have begun.
    pub(super) numbers: AtomicU64,
}

/// A connection, as far as it must be known to end it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) thread: JoinHandle<()>,
    pub(super) ends: Arc<Ends>,
}

/// What must be told that a connection is over.
#[derive(Debug, Default)]
pub(super) struct Ends(pub(super) Mutex<Vec<(TcpStream, Arc<Channel>)>>);

impl Shared {
    /// The number of the next connection or flow, from 1.
    pub(super) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }
}

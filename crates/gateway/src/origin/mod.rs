//! The origin's tasks: one for each link, one for each program's conversation with the server.
//!
//! # Queues
//! link -> [`farbird_farlink::origin::Conversation`] -> the server's stream, and back. A task stops reading its server's stream while much
//! of what it has said waits for the link; it takes nothing from the link while the server does not read, so that the edge
//! runs out of credit for that channel.

mod auxiliary;
mod conversation;
pub(crate) mod credentials;
mod knowledge;
mod session;
mod shared;
mod shown;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use farbird_farlink::link::{GREETING_BYTES_MAX, Greeting, Hello, LinkError, OriginLink};
use farbird_farlink::speculation::RunnerCounts;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::carry::Clock;
use crate::error::GatewayError;
use crate::pairing::Peer;
use crate::status;
use crate::stop::stopped;
use crate::transport::{Acceptor, Connection};

use shared::{Arrival, Shared};
use shown::OriginShown;

pub use credentials::CredentialsByUser;
pub use farbird_farlink::message;
pub use farbird_farlink::origin::Credentials;
pub use knowledge::{Introduction, IssuedTicket, Knowledge, News, ServerStream, TakesReplies};
pub use shared::OriginOptions;

/// How long an edge may take to say hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// An origin that runs.
pub struct Origin {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    accepting: JoinHandle<()>,
    status_address: Option<SocketAddr>,
    /// What ends when the origin does.
    others: JoinSet<()>,
}

/// How an origin is.
#[derive(Debug, Clone, Copy)]
pub struct OriginStatus {
    /// Edges with a session.
    pub sessions: usize,
    /// Programs, of all of them.
    pub programs: usize,
}

impl Origin {
    /// Listens for edges. The server is not looked at before a program comes.
    ///
    /// # Errors
    /// [`GatewayError`]: the address cannot be listened at, or the keys cannot be used.
    pub async fn start(options: OriginOptions) -> Result<Origin, GatewayError> {
        if options.keys.peers().is_empty() {
            return Err(GatewayError::Unpaired);
        }
        let acceptor = Acceptor::new(options.listen, &options.keys).await?;
        let address = acceptor.address();
        let stop = watch::Sender::new(false);
        let shared = Arc::new(Shared {
            sessions: Mutex::new(HashMap::new()),
            shown: Mutex::new(HashMap::new()),
            begun: AtomicU64::new(0),
            came: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            ahead: Mutex::new(RunnerCounts::default()),
            clock: Clock::new(),
            programs: AtomicUsize::new(0),
            programs_max: AtomicUsize::new(options.programs_max),
            changing: Mutex::new(options.changing()),
            options,
            stop: stop.subscribe(),
        });
        let accepting = tokio::spawn(accept(shared.clone(), acceptor));
        let mut others = JoinSet::new();
        let mut status_address = None;
        if let Some(address) = shared.options.status {
            let listen = |error| GatewayError::Listen { address, error };
            let listener = TcpListener::bind(address).await.map_err(listen)?;
            status_address = Some(listener.local_addr().map_err(listen)?);
            let names = shared.options.status_names.clone();
            others.spawn(status::serve(listener, names, OriginShown(shared.clone())));
        }
        Ok(Origin { shared, address, stop, accepting, status_address, others })
    }

    /// Where the status page is.
    pub fn status_address(&self) -> Option<SocketAddr> {
        self.status_address
    }

    /// Where edges connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How it is.
    pub fn status(&self) -> OriginStatus {
        OriginStatus {
            sessions: self.shared.sessions.lock().len(),
            programs: self.shared.programs.load(Ordering::Relaxed),
        }
    }

    /// Looks at the list of trusted ends now rather than within a second, and takes other settings but for where it listens and its
    /// server: gives the names of those that differ and hold only after a new start. Those of the link hold for new sessions, those of running ahead for new programs.
    pub fn reload(&self, options: &OriginOptions) -> Vec<&'static str> {
        self.shared.programs_max.store(options.programs_max, Ordering::Relaxed);
        *self.shared.changing.lock() = options.changing();
        if let Err(error) = self.shared.options.keys.reload() {
            tracing::error!("nobody is trusted: {error}");
        }
        options.fixed_changes(&self.shared.options)
    }

    /// Takes no more edges, gives programs that are there their time, and leaves the links.
    pub async fn shutdown(mut self) {
        let deadline = tokio::time::Instant::now() + self.shared.changing.lock().shutdown_grace;
        while self.shared.programs.load(Ordering::Relaxed) > 0 && tokio::time::Instant::now() < deadline {
            sleep(Duration::from_millis(20)).await;
        }
        self.stop.send_replace(true);
        drop(self.accepting.await);
        // Each session says goodbye, which takes a second at most.
        let deadline = tokio::time::Instant::now() + Duration::from_secs(2);
        while !self.shared.sessions.lock().is_empty() && tokio::time::Instant::now() < deadline {
            sleep(Duration::from_millis(10)).await;
        }
        self.others.shutdown().await;
    }
}

async fn accept(shared: Arc<Shared>, mut acceptor: Acceptor) {
    let mut stop = shared.stop.clone();
    loop {
        let connection = tokio::select! {
            connection = acceptor.accept() => connection,
            () = stopped(&mut stop) => return,
        };
        let Some(connection) = connection else { return };
        let Some(peer) = shared.options.keys.peer(connection.peer) else { continue };
        tokio::spawn(greet(shared.clone(), connection, peer));
    }
}

/// Listens to what an edge says first, and hands its connection to its session.
async fn greet(shared: Arc<Shared>, mut connection: Connection, peer: Peer) {
    let (name, address, kind) = (peer.name, connection.address, connection.kind);
    let (hello, unread) = match timeout(HELLO_TIMEOUT, read_hello(&mut connection)).await {
        Ok(Ok(read)) => read,
        Ok(Err(error)) => return tracing::warn!("{name} ({address}): {error}"),
        Err(_) => return tracing::warn!("{name} ({address}) has said nothing"),
    };
    tracing::info!("{name} ({address}) has connected by {kind}");
    let (key, session) = (connection.peer, hello.session);
    let arrival = Arrival { connection, hello, unread };
    let known = shared.sessions.lock().get(&(key, session)).cloned();
    let Some(arrival) = (match known {
        // The session may be about to end: the edge will try again.
        Some(session) => session.send(arrival).await.err().map(|refused| refused.0),
        None => Some(arrival),
    }) else {
        return;
    };
    let (sender, arrivals) = mpsc::channel(1);
    let refusal = {
        let mut sessions = shared.sessions.lock();
        let is_full = sessions.len() >= shared.changing.lock().sessions_max;
        if is_full && !shared.make_room(&mut sessions) {
            Some(format!("there are {} sessions already, which is the limit", sessions.len()))
        } else {
            sessions.insert((key, session), sender);
            None
        }
    };
    match refusal {
        None => session::serve(shared, name, arrival, arrivals).await,
        Some(reason) => {
            shared.refused.fetch_add(1, Ordering::Relaxed);
            tracing::warn!("{name} ({address}) was refused: {reason}");
            let (_reader, mut writer, keep) = arrival.connection.split();
            let said = async {
                writer.write_all(&OriginLink::refusal(&reason)).await?;
                writer.shutdown().await
            };
            drop(timeout(HELLO_TIMEOUT, said).await);
            drop(keep);
        }
    }
}

async fn read_hello(connection: &mut Connection) -> Result<(Hello, Vec<u8>), LinkError> {
    let mut unread = Vec::new();
    let mut buffer = [0; GREETING_BYTES_MAX];
    loop {
        let length = connection.reader.read(&mut buffer).await.unwrap_or(0);
        if length == 0 {
            return Err(LinkError::Left("it closed the connection before it said hello".to_owned()));
        }
        unread.extend_from_slice(&buffer[..length]);
        match Greeting::decode(&unread)? {
            None => {}
            Some((Greeting::Hello(hello), length)) => return Ok((hello, unread.split_off(length))),
            Some((Greeting::Refused(reason), _)) => return Err(LinkError::Refused(reason)),
        }
    }
}

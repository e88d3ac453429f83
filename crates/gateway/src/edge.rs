//! The edge's tasks: one for each program, one that keeps the link.
//!
//! # Queues
//! program's socket -> [`farbird_farlink::edge::Program`] -> link -> origin, and back. A task stops reading its program's socket
//! while the program does not take what it was answered, or while much of it waits for the link; it takes nothing from
//! the link while the program does not read, so that the origin runs out of credit for that channel.

mod auxiliary;
mod program;
mod shared;
mod shown;
mod spill;

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use farbird_farlink::edge::{Entry, Program, Site, Standing};
use farbird_farlink::link::{Event, Health, Link, Message, SessionId};
use farbird_farlink::message::{Channel, ToEdge};
use parking_lot::Mutex;
use tokio::io::DuplexStream;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use crate::carry::{Clock, Hub};
use crate::error::GatewayError;
use crate::link_state::LinkState;
use crate::status;
use crate::stop::stopped;
use crate::transport::Dialer;

use shared::{Begun, Item, Known, Shared};
use shown::EdgeShown;
use spill::SpillFile;

pub use shared::EdgeOptions;

/// Bytes that a program of the same process may send before they are taken, and the other way.
const INSIDE_BYTES: usize = 256 << 10;
/// No file of rules is longer.
const RULES_BYTES_MAX: u64 = 64 << 20;

/// Waits between attempts to reach the origin: at once, then longer and longer.
const RETRY: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
];

/// An edge that runs.
pub struct Edge {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    status_address: Option<SocketAddr>,
    accepting: JoinHandle<()>,
    /// What ends when the edge does.
    others: JoinSet<()>,
}

/// How an edge is.
#[derive(Debug, Clone, Copy)]
pub struct EdgeStatus {
    /// Programs that are connected.
    pub programs: usize,
    /// The link.
    pub link: Health,
}

impl Edge {
    /// Listens for programs, and reaches for the origin for as long as it runs.
    ///
    /// # Errors
    /// [`GatewayError`]: the address cannot be listened at, or the keys cannot be used. That the origin cannot be reached is none: it
    /// is tried again and again.
    pub async fn start(options: EdgeOptions) -> Result<Edge, GatewayError> {
        check_paired(&options)?;
        let listening = TcpListener::bind(options.listen).await;
        let listen = |error| GatewayError::Listen { address: options.listen, error };
        let listener = listening.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (shared, mut others) = Shared::start(options)?;
        let stop = watch::Sender::new(false);
        let mut status_address = None;
        if let Some(address) = shared.options.status {
            let listen = |error| GatewayError::Listen { address, error };
            let listener = TcpListener::bind(address).await.map_err(listen)?;
            status_address = Some(listener.local_addr().map_err(listen)?);
            let names = shared.options.status_names.clone();
            others.spawn(status::serve(listener, names, EdgeShown(shared.clone())));
        }
        let accepting = tokio::spawn(accept(shared.clone(), listener, stop.subscribe()));
        Ok(Edge { shared, address, stop, status_address, accepting, others })
    }

    /// Where programs connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the status page is.
    pub fn status_address(&self) -> Option<SocketAddr> {
        self.status_address
    }

    /// What all programs share.
    pub fn site(&self) -> &Arc<Site> {
        &self.shared.site
    }

    /// How it is.
    pub fn status(&self) -> EdgeStatus {
        EdgeStatus { programs: self.shared.programs.lock().len(), link: self.shared.hub.health() }
    }

    /// The time by which [`Edge::entries`] tell theirs.
    pub fn now(&self) -> Duration {
        self.shared.hub.now()
    }

    /// What programs did lately, each in its order; those that have gone lately too.
    pub fn entries(&self) -> Vec<Entry> {
        let programs = self.shared.programs.lock();
        let gone = self.shared.gone.lock();
        let records =
            programs.values().map(|known| &known.record).chain(gone.iter().map(|gone| &gone.record));
        records.flat_map(|record| record.entries()).collect()
    }

    /// Looks at the list of trusted ends now rather than within a second, and takes other settings but for where it listens, what it
    /// is connected with, and its link: gives the names of those that differ and hold only after a new start.
    pub fn reload(&self, options: &EdgeOptions) -> Vec<&'static str> {
        self.shared.programs_max.store(options.programs_max, Ordering::Relaxed);
        self.shared.site.set_limits(options.limits);
        *self.shared.graces.lock() = options.graces();
        if let Err(error) = self.shared.options.keys.reload() {
            tracing::error!("nobody is trusted: {error}");
        }
        options.fixed_changes(&self.shared.options)
    }

    /// Takes no more programs, gives those that are there their time, and leaves the link.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        drop(self.accepting.await);
        let deadline = tokio::time::Instant::now() + self.shared.graces.lock().shutdown;
        while !self.shared.programs.lock().is_empty() && tokio::time::Instant::now() < deadline {
            sleep(Duration::from_millis(20)).await;
        }
        self.shared.tell_all(|| Item::Over("the edge is shut down"));
        self.shared.hub.leave("the edge is shut down").await;
        self.others.shutdown().await;
        self.shared.save_rules();
    }
}

/// An edge inside of a program: it listens nowhere, and connections of the same process are served.
pub struct InnerEdge {
    shared: Arc<Shared>,
    others: JoinSet<()>,
}

impl InnerEdge {
    /// Reaches for the origin for as long as it lives. [`EdgeOptions::listen`] and [`EdgeOptions::status`] count for nothing.
    ///
    /// # Errors
    /// [`GatewayError`]: the keys cannot be used.
    ///
    /// # Panics
    /// Outside of a tokio runtime, which must run as long as it.
    pub fn start(options: EdgeOptions) -> Result<InnerEdge, GatewayError> {
        let (shared, others) = Shared::start(options)?;
        Ok(InnerEdge { shared, others })
    }

    /// Where connections find the second one that they ask for (op_connect_request).
    pub const FURTHER_HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// A connection, as if with the server: what is written to it are packets of Firebird's protocol. `None` if there are too many.
    /// `name` is what the server shows as the client's address.
    ///
    /// # Panics
    /// As [`InnerEdge::start`].
    pub fn connect(&self, name: &str) -> Option<DuplexStream> {
        let (near, far) = tokio::io::duplex(INSIDE_BYTES);
        let (reader, writer) = tokio::io::split(far);
        let begun =
            self.shared.begin(name.to_owned(), Some((InnerEdge::FURTHER_HOST, InnerEdge::FURTHER_HOST)))?;
        tokio::spawn(program::serve(self.shared.clone(), begun, reader, writer));
        Some(near)
    }

    /// What all connections share.
    pub fn site(&self) -> &Arc<Site> {
        &self.shared.site
    }

    /// How the link is.
    pub fn health(&self) -> Health {
        self.shared.hub.health()
    }

    /// The connection with the origin, and the news of it.
    pub fn link(&self) -> watch::Receiver<LinkState> {
        self.shared.link.subscribe()
    }

    /// Leaves the link: connections that are open are lost.
    pub async fn leave(mut self) {
        self.shared.tell_all(|| Item::Over("the link is left"));
        self.shared.hub.leave("the program ends").await;
        self.others.shutdown().await;
        self.shared.save_rules();
    }
}

async fn accept(shared: Arc<Shared>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut stop) => return,
        };
        match accepted {
            Ok((stream, peer)) => serve_socket(&shared, stream, peer),
            Err(error) => {
                tracing::warn!("cannot take a connection: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

fn check_paired(options: &EdgeOptions) -> Result<(), GatewayError> {
    if options.keys.peers().is_empty() { Err(GatewayError::Unpaired) } else { Ok(()) }
}

fn serve_socket(shared: &Arc<Shared>, stream: TcpStream, peer: SocketAddr) {
    let ends = stream.local_addr().ok().map(|here| (here.ip(), peer.ip()));
    let peer = peer.to_string();
    program::tune(&stream, &peer);
    let Some(begun) = shared.begin(peer, ends) else { return };
    let (reader, writer) = stream.into_split();
    tokio::spawn(program::serve(shared.clone(), begun, reader, writer));
}

impl Shared {
    /// What an edge is without those that connect to it, and its tasks.
    fn start(options: EdgeOptions) -> Result<(Arc<Shared>, JoinSet<()>), GatewayError> {
        let dialer = Dialer::new(&options.origin, options.transport, &options.keys)?;
        check_paired(&options)?;
        let mut session = [0; 16];
        getrandom::fill(&mut session).map_err(|_| GatewayError::Random)?;
        let mut names = [0; 16];
        getrandom::fill(&mut names).map_err(|_| GatewayError::Random)?;
        let clock = Clock::new();
        let link = Link::edge(options.link.clone(), options.keys.name(), SessionId(session), clock.now());
        let shared = Arc::new(Shared {
            hub: Hub::new(link, clock),
            site: Site::new(options.limits),
            programs: Mutex::new(HashMap::new()),
            gone: Mutex::new(VecDeque::new()),
            link: watch::Sender::new(LinkState::default()),
            channels: AtomicU32::new(1),
            programs_max: AtomicUsize::new(options.programs_max),
            is_lost: watch::Sender::new(false),
            graces: Mutex::new(options.graces()),
            options,
        });
        shared.site.name_commits_from(u128::from_le_bytes(names));
        if let Some(folder) = &shared.options.spill_folder {
            shared.site.spill_to(Arc::new(SpillFile::new(folder)));
        }
        shared.load_rules();
        let mut others = JoinSet::new();
        others.spawn(shared.clone().keep_linked(dialer));
        others.spawn(shared.clone().keep_rules());
        Ok((shared, others))
    }

    /// A program has connected; `None` if there are too many.
    fn begin(&self, peer: String, ends: Option<(IpAddr, IpAddr)>) -> Option<Begun> {
        let channel = Channel(self.channels.fetch_add(1, Ordering::Relaxed));
        let (sender, inbox) = mpsc::unbounded_channel();
        let mut programs = self.programs.lock();
        if programs.len() >= self.programs_max.load(Ordering::Relaxed) {
            tracing::warn!(
                "{peer} was turned away: there are {} programs, which is the limit",
                programs.len()
            );
            return None;
        }
        let program = Program::new(self.site.clone(), channel, peer.clone());
        let standing = Arc::new(Mutex::new(Standing::default()));
        let known = Known {
            inbox: sender,
            peer,
            since: self.hub.now(),
            standing: standing.clone(),
            record: program.record(),
        };
        programs.insert(channel, known);
        Some(Begun { program, channel, standing, inbox, ends })
    }

    fn tell_all(&self, item: impl Fn() -> Item) {
        for program in self.programs.lock().values() {
            let _ = program.inbox.send(item());
        }
    }

    /// Begins with what programs have taught before.
    fn load_rules(&self) {
        let path = &self.options.rules;
        let bytes = match std::fs::metadata(path).map(|metadata| metadata.len()) {
            Ok(length) if length <= RULES_BYTES_MAX => std::fs::read(path).unwrap_or_default(),
            _ => return,
        };
        match self.site.rules().load(&bytes) {
            Ok(()) => tracing::debug!("read rules from {}", path.display()),
            // Programs teach them again.
            Err(error) => tracing::warn!("goes on without the rules in {}: {error}", path.display()),
        }
    }

    fn save_rules(&self) {
        let path = &self.options.rules;
        let bytes = self.site.rules().to_bytes();
        // Several processes may have the same folder.
        let beside = path.with_extension(format!("new-{}", std::process::id()));
        let written = std::fs::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path));
        if let Err(error) = written {
            tracing::warn!("cannot keep rules in {}: {error}", path.display());
        }
    }

    async fn keep_rules(self: Arc<Shared>) {
        let mut saved = 0;
        loop {
            sleep(self.options.rules_saved_every).await;
            let active = self.site.rules().active();
            if std::mem::replace(&mut saved, active) != active {
                self.save_rules();
            }
        }
    }

    async fn keep_linked(self: Arc<Shared>, dialer: Dialer) {
        let mut attempt = 0;
        tokio::join!(self.watch_for_loss(), async {
            loop {
                sleep(RETRY[attempt.min(RETRY.len() - 1)]).await;
                attempt += 1;
                match self.dial(&dialer).await {
                    Ok(connection) => {
                        let (kind, address) = (connection.kind, connection.address);
                        tracing::info!("connected with {} ({address}) by {kind}", dialer.host());
                        self.link.send_modify(|state| state.connected(&connection));
                        self.hub.with_link(|link| link.connected(self.hub.now()));
                        let before = self.hub.health().messages;
                        let end =
                            self.hub.carry(connection, &[], &self.options.keys, || self.deliver()).await;
                        tracing::warn!("the link is lost: {end}");
                        self.link.send_modify(|state| state.ended(end.to_string()));
                        if self.hub.health().messages != before {
                            attempt = 0;
                        }
                    }
                    Err(error) => {
                        tracing::warn!("cannot reach the origin {}: {error}", dialer.host());
                        self.link.send_modify(|state| state.failed(error.to_string()));
                    }
                }
            }
        });
    }

    /// Dials, and meanwhile lets the session end when its time has come.
    async fn dial(
        &self,
        dialer: &Dialer,
    ) -> Result<crate::transport::Connection, crate::transport::TransportError> {
        let connecting = dialer.connect();
        tokio::pin!(connecting);
        loop {
            let rest = self.hub.rest();
            self.deliver();
            tokio::select! {
                connection = &mut connecting => return connection,
                () = sleep(rest) => {}
            }
        }
    }

    /// Tells programs when they have waited for the link long enough; that it is back they hear with it.
    async fn watch_for_loss(&self) {
        let mut gone = Duration::ZERO;
        const STEP: Duration = Duration::from_millis(200);
        loop {
            sleep(STEP).await;
            let is_linked = self.hub.health().is_established;
            gone = if is_linked { Duration::ZERO } else { gone + STEP };
            let is_lost = !is_linked && gone >= self.graces.lock().transaction;
            if self.is_lost.send_replace(is_lost) != is_lost {
                self.tell_all(|| if is_lost { Item::LinkLost } else { Item::LinkRestored });
            }
        }
    }

    /// Hands on what the link has.
    fn deliver(&self) {
        let events: Vec<Event> = std::iter::from_fn(|| self.hub.take_event()).collect();
        // Before they hear that the session is over: a program that attaches again must not take the link for lost.
        let is_linked = events.iter().any(|event| matches!(event, Event::Established { .. }));
        if is_linked && self.is_lost.send_replace(false) {
            self.tell_all(|| Item::LinkRestored);
        }
        for event in events {
            match event {
                Event::Established { peer, is_resumed } => {
                    let how = if is_resumed { " again, nothing is lost" } else { "" };
                    tracing::info!("linked with {peer}{how}");
                    self.link.send_modify(|state| state.established(self.hub.now()));
                }
                Event::Over => {
                    tracing::warn!(
                        "the session with the origin is over; programs that have something open there must connect again"
                    );
                    self.tell_all(|| Item::SessionOver);
                }
            }
        }
        while let Some((message, charge)) = self.hub.take_message() {
            self.site.message(&message);
            let asked = match &message {
                ToEdge::Outcome { channel, .. } => Some(*channel),
                _ => None,
            };
            if let Some(channel) = message.channel().or(asked)
                && let Some(program) = self.programs.lock().get(&channel)
            {
                let _ = program.inbox.send(Item::Message(Box::new(message), charge));
            }
        }
    }
}

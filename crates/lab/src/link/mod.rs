//! A long link inside the process: a proxy on loopback that gives what passes it the delay, bandwidth, losses and jitter of
//! a distance, in front of any server, without root, on every operating system. Datagrams of UDP pass at the same address.
//!
//! ```no_run
//! use farbird_lab::link::{Link, LinkOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options: LinkOptions = "rtt=200ms,rate=35mbit".parse()?;
//! let link = Link::start("127.0.0.1:3050".parse()?, &options)?;
//! println!("connect to {}", link.address());
//! // ... run the program ...
//! for burst in link.take_timeline() {
//!     println!("{:?}: {} bytes left at {:?}", burst.direction, burst.bytes, burst.sent_from);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Promises
//! - TCP's behaviour over a distance is modelled where it is seen in the figures: the round trip before the first byte,
//!   slow start and what a pause does to it, what a lost segment costs. `docs/lab.md` says what is and what is not, and
//!   how far the figures agree with the kernel's TCP ([`crate::kernel`]).
//! - Bytes arrive complete and in order, within 0.2 ms of their time where the operating system wakes threads so exactly.
//! - Memory is bounded: a connection holds at most twice [`LinkOptions::window`] in each direction.
//! - The same seed loses and delays the same bytes.

mod chance;
mod datagrams;
mod options;
mod path;
mod relay;
mod shared;
mod timeout;
mod traffic;
mod window;

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub use options::{LinkOptions, OptionError, PathOptions, Rate, Share, parse_bytes, parse_delay, parse_rate};
pub use traffic::{Burst, Direction, Passed, Traffic};

use chance::Chance;
use datagrams::Datagrams;
use path::{Line, Sender};
use relay::{Channel, Lane, lock};
use shared::{Connection, Ends, Shared};
use traffic::Recorder;

/// How long Linux waits before it sends the first packet of a connection again; twice as long the next time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Most times that the first packet is lost.
const CONNECT_LOSSES_MAX: u32 = 4;
/// How often another port is tried.
const PORT_ATTEMPTS: u32 = 8;
/// How long to wait after a failure to accept, such as too many open files.
const ACCEPT_PATIENCE: Duration = Duration::from_millis(50);

/// A link that runs. Dropping it closes all its connections.
#[derive(Debug)]
pub struct Link {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
    datagrams: Option<Datagrams>,
}

impl Link {
    /// A link to `target` with an address of its own on loopback.
    ///
    /// # Errors
    /// No address is free.
    pub fn start(target: SocketAddr, options: &LinkOptions) -> io::Result<Link> {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        // A port that is free for TCP may be taken for UDP.
        for _ in 0..PORT_ATTEMPTS {
            if let Ok(link) = Link::listen(any, target, options) {
                return Ok(link);
            }
        }
        Link::listen(any, target, options)
    }

    /// A link to `target` that listens on this address, for connections of TCP and for datagrams.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn listen(address: SocketAddr, target: SocketAddr, options: &LinkOptions) -> io::Result<Link> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let lane = |direction, path: &PathOptions| {
            Arc::new(Lane { direction, line: Mutex::new(Line::new(path.clone())) })
        };
        let shared = Arc::new(Shared {
            target,
            options: options.clone(),
            epoch: Instant::now(),
            up: lane(Direction::Up, &options.up),
            down: lane(Direction::Down, &options.down),
            recorder: Arc::new(Mutex::new(Recorder::new(options.round_trip()))),
            is_stopping: AtomicBool::new(false),
            connections: Mutex::new(Vec::new()),
            numbers: AtomicU64::new(0),
        });
        let datagrams = Datagrams::start(address, Arc::clone(&shared))?;
        let acceptor = {
            let shared = Arc::clone(&shared);
            thread::Builder::new().name("link accept".to_owned()).spawn(move || shared.accept(&listener))?
        };
        Ok(Link { address, shared, acceptor: Some(acceptor), datagrams: Some(datagrams) })
    }

    /// Where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the link is like.
    pub fn options(&self) -> &LinkOptions {
        &self.shared.options
    }

    /// Time since the start of the link, as the timeline counts it.
    pub fn now(&self) -> Duration {
        self.shared.epoch.elapsed()
    }

    /// What has passed since the start.
    pub fn traffic(&self) -> Traffic {
        lock(&self.shared.recorder).traffic
    }

    /// What has left since the last call, by the time at which it left; at most 200,000 bursts are kept.
    pub fn take_timeline(&self) -> Vec<Burst> {
        lock(&self.shared.recorder).take_bursts()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::Release);
        // The acceptor sits in accept: a connection wakes it. If that fails it has ended already.
        let mut wake = self.address;
        if wake.ip().is_unspecified() {
            wake.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        let _ = TcpStream::connect(wake);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        if let Some(datagrams) = self.datagrams.take() {
            datagrams.join();
        }
        for connection in lock(&self.shared.connections).drain(..) {
            connection.ends.close();
            // It has no result.
            let _ = connection.thread.join();
        }
    }
}

impl Shared {
    fn accept(self: Arc<Shared>, listener: &TcpListener) {
        loop {
            let client = listener.accept();
            if self.is_stopping.load(Ordering::Acquire) {
                return;
            }
            match client {
                Ok((client, _)) => self.serve(self.next_number(), client),
                Err(_) => thread::sleep(ACCEPT_PATIENCE),
            }
        }
    }

    /// Starts the threads of a connection.
    fn serve(self: &Arc<Shared>, number: u64, client: TcpStream) {
        let ends = Arc::new(Ends::default());
        let (shared, known) = (Arc::clone(self), Arc::clone(&ends));
        let thread = thread::Builder::new()
            .name(format!("link {number}"))
            // A connection that fails ends; its client sees that.
            .spawn(move || drop(shared.carry(number, &client, &known)));
        let mut connections = lock(&self.connections);
        connections.retain(|connection| !connection.thread.is_finished());
        if let Ok(thread) = thread {
            lock(&self.recorder).traffic.connections += 1;
            connections.push(Connection { thread, ends });
        }
    }

    /// Carries a connection to its end.
    fn carry(&self, number: u64, client: &TcpStream, ends: &Ends) -> io::Result<()> {
        let accepted = self.epoch.elapsed();
        let options = &self.options;
        client.set_nodelay(true)?;
        // The client's first packet: the server hears of it one way later, the client of the answer one way after that.
        let connect_losses = self.connect_losses(number);
        let asked =
            accepted + (0..connect_losses).map(|attempt| CONNECT_TIMEOUT * (1 << attempt)).sum::<Duration>();
        let known_at_server = asked + options.up.delay;
        let known_at_client = asked + options.round_trip();
        self.wait_until(known_at_server);
        let server = match TcpStream::connect(self.target) {
            Ok(server) => server,
            Err(error) => {
                self.wait_until(known_at_client);
                return Err(error);
            }
        };
        server.set_nodelay(true)?;
        let up = self.channel(number, &self.up, known_at_client);
        // The server takes a connection when the client's second packet is there.
        let down = self.channel(number, &self.down, known_at_client + options.up.delay);
        ends.watch(client.try_clone()?, &up);
        ends.watch(server.try_clone()?, &down);
        if self.is_stopping.load(Ordering::Acquire) {
            ends.close();
        }
        thread::scope(|scope| {
            scope.spawn(|| up.read(client));
            scope.spawn(|| up.write(&server, client));
            scope.spawn(|| down.read(&server));
            down.write(client, &server);
        });
        ends.forget();
        Ok(())
    }

    fn channel(&self, number: u64, lane: &Arc<Lane>, opens_at: Duration) -> Arc<Channel> {
        let options = &self.options;
        let (path, back, code) = match lane.direction {
            Direction::Up => (&options.up, &options.down, 0),
            Direction::Down => (&options.down, &options.up, 1),
        };
        let chance = Chance::new(options.seed, number, code);
        let sender = Sender::new(path.clone(), back.delay, options.window, chance, opens_at);
        let (lane, recorder) = (Arc::clone(lane), Arc::clone(&self.recorder));
        Arc::new(Channel::new(number, self.epoch, lane, recorder, options.window * 2, sender))
    }

    /// How often the first packet of a connection is lost.
    fn connect_losses(&self, number: u64) -> u32 {
        let chance = Chance::new(self.options.seed, number, 2);
        (0..CONNECT_LOSSES_MAX)
            .take_while(|attempt| {
                let up = chance.happens(0, *attempt, self.options.up.loss);
                up || chance.happens(1, *attempt, self.options.down.loss)
            })
            .count() as u32
    }

    /// Sleeps, in pieces so that the end of the link is noticed.
    fn wait_until(&self, time: Duration) {
        const PIECE: Duration = Duration::from_millis(100);
        while !self.is_stopping.load(Ordering::Acquire) {
            let rest = time.saturating_sub(self.epoch.elapsed());
            if rest.is_zero() {
                return;
            }
            thread::sleep(rest.min(PIECE));
        }
    }
}

impl Ends {
    fn watch(&self, stream: TcpStream, channel: &Arc<Channel>) {
        lock(&self.0).push((stream, Arc::clone(channel)));
    }

    /// Lets go of the sockets.
    fn forget(&self) {
        lock(&self.0).clear();
    }

    fn close(&self) {
        for (stream, channel) in lock(&self.0).iter() {
            channel.stop();
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

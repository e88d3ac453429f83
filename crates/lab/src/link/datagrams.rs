//! Datagrams over the link: what QUIC is made of.
//!
//! There is no model of a sender here: whoever sends datagrams has its own control of congestion, and meets a line with a delay, a
//! bandwidth, losses and a queue in front that drops what it has no room for. Datagrams share the line with the connections of TCP.
//!
//! Each address that sends is a flow with a socket of its own towards the server, so that answers find back.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::chance::Chance;
use super::path::Delivery;
use super::relay::{Lane, lock};
use super::shared::Shared;
use super::traffic::Direction;

/// The longest that a reader sits without a look at whether the link ends.
const LOOK: Duration = Duration::from_millis(100);
/// A flow that says nothing for so long is over.
const FLOW_IDLE: Duration = Duration::from_secs(120);
/// Flows at a time; datagrams of others are dropped.
const FLOWS_MAX: usize = 256;
/// No datagram is longer.
const DATAGRAM_BYTES_MAX: usize = 65_535;

/// The threads of a link's datagrams.
pub(super) struct Datagrams {
    thread: JoinHandle<()>,
}

impl std::fmt::Debug for Datagrams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Datagrams")
    }
}

impl Datagrams {
    /// Listens at the link's own address.
    pub(super) fn start(address: SocketAddr, shared: Arc<Shared>) -> io::Result<Datagrams> {
        let near = UdpSocket::bind(address)?;
        near.set_read_timeout(Some(LOOK))?;
        let near = Arc::new(near);
        let thread = thread::Builder::new().name("link datagrams".to_owned());
        Ok(Datagrams { thread: thread.spawn(move || accept(&shared, &near))? })
    }

    /// Waits for the threads, which see that the link ends.
    pub(super) fn join(self) {
        // It has no result.
        let _ = self.thread.join();
    }
}

/// Datagrams of one flow and direction that are under way.
struct Lagging {
    number: u64,
    lane: Arc<Lane>,
    chance: Chance,
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Default)]
struct State {
    under_way: VecDeque<Delivery>,
    /// How many have come.
    count: u64,
    last_arrival: Duration,
    is_over: bool,
}

/// The near end of a flow.
struct Flow {
    up: Arc<Lagging>,
    /// When it last said something.
    heard: Arc<Mutex<Instant>>,
    threads: Vec<JoinHandle<()>>,
}

fn accept(shared: &Arc<Shared>, near: &Arc<UdpSocket>) {
    let mut flows: HashMap<SocketAddr, Flow> = HashMap::new();
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    while !shared.is_stopping() {
        flows.retain(|_, flow| !lock(&flow.up.state).is_over);
        let Ok((length, peer)) = near.recv_from(&mut buffer) else { continue };
        if !flows.contains_key(&peer) {
            if flows.len() >= FLOWS_MAX {
                continue;
            }
            match begin(shared, near, peer) {
                Ok(flow) => flows.insert(peer, flow),
                // As if it had been lost: it will be sent again.
                Err(_) => continue,
            };
        }
        if let (Some(flow), Some(bytes)) = (flows.get(&peer), buffer.get(..length)) {
            *lock(&flow.heard) = Instant::now();
            flow.up.push(shared, bytes.to_vec());
        }
    }
    for (_, flow) in flows {
        flow.up.end();
        for thread in flow.threads {
            // It has no result.
            let _ = thread.join();
        }
    }
}

/// Begins a flow: a socket towards the server, and threads that read from it and write to both ends.
fn begin(shared: &Arc<Shared>, near: &Arc<UdpSocket>, peer: SocketAddr) -> io::Result<Flow> {
    let any: SocketAddr = match shared.target {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let far = UdpSocket::bind(any)?;
    far.connect(shared.target)?;
    far.set_read_timeout(Some(LOOK))?;
    let far = Arc::new(far);
    let number = shared.next_number();
    lock(&shared.recorder).traffic.connections += 1;
    let lagging = |lane: &Arc<Lane>| Arc::new(Lagging::new(number, lane, shared.options.seed));
    let (up, down) = (lagging(&shared.up), lagging(&shared.down));
    let heard = Arc::new(Mutex::new(Instant::now()));
    let mut threads = Vec::new();
    let mut spawn = |work: Box<dyn FnOnce() + Send>| -> io::Result<()> {
        threads.push(thread::Builder::new().name(format!("link {number}")).spawn(work)?);
        Ok(())
    };
    let (of, to, socket) = (Arc::clone(shared), Arc::clone(&up), Arc::clone(&far));
    // What cannot be sent is lost, as datagrams are.
    spawn(Box::new(move || to.write(&of, |bytes| drop(socket.send(bytes)))))?;
    let (of, to, socket) = (Arc::clone(shared), Arc::clone(&down), Arc::clone(near));
    spawn(Box::new(move || to.write(&of, |bytes| drop(socket.send_to(bytes, peer)))))?;
    let (of, ends, last) = (Arc::clone(shared), Arc::clone(&up), Arc::clone(&heard));
    spawn(Box::new(move || {
        read(&of, &far, &down, &last);
        ends.end();
        down.end();
    }))?;
    Ok(Flow { up, heard, threads })
}

/// Reads what the server sends, until the link ends or the flow has long been silent.
fn read(shared: &Shared, far: &UdpSocket, down: &Lagging, heard: &Mutex<Instant>) {
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    while !shared.is_stopping() {
        match far.recv(&mut buffer) {
            Ok(length) => {
                *lock(heard) = Instant::now();
                down.push(shared, buffer.get(..length).unwrap_or_default().to_vec());
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if lock(heard).elapsed() > FLOW_IDLE {
                    return;
                }
            }
            // Nobody listens there now; somebody may later.
            Err(_) => thread::sleep(LOOK),
        }
    }
}

impl Lagging {
    fn new(number: u64, lane: &Arc<Lane>, seed: u64) -> Lagging {
        let code = match lane.direction {
            Direction::Up => 0,
            Direction::Down => 1,
        };
        Lagging {
            number,
            lane: Arc::clone(lane),
            chance: Chance::new(seed, number, code),
            state: Mutex::default(),
            came: Condvar::new(),
        }
    }

    /// A datagram leaves now.
    fn push(&self, shared: &Shared, bytes: Vec<u8>) {
        let mut state = lock(&self.state);
        let place = state.count;
        state.count += 1;
        let passed = {
            let mut line = lock(&self.lane.line);
            // Flows share the line: what passes it later is not to have left sooner.
            line.datagram(shared.epoch.elapsed(), place, &self.chance, bytes)
        };
        let Some(mut delivery) = passed else {
            let dropped = match self.lane.direction {
                Direction::Up => &mut lock(&shared.recorder).traffic.up.lost,
                Direction::Down => &mut lock(&shared.recorder).traffic.down.lost,
            };
            *dropped += 1;
            return;
        };
        delivery.arrives = delivery.arrives.max(state.last_arrival);
        state.last_arrival = delivery.arrives;
        lock(&shared.recorder).record(self.number, self.lane.direction, &delivery);
        state.under_way.push_back(delivery);
        drop(state);
        self.came.notify_one();
    }

    fn end(&self) {
        lock(&self.state).is_over = true;
        self.came.notify_all();
    }

    /// Sends each datagram when its time has come.
    fn write(&self, shared: &Shared, send: impl Fn(&[u8])) {
        let mut state = lock(&self.state);
        while !state.is_over && !shared.is_stopping() {
            let now = shared.epoch.elapsed();
            match state.under_way.front().map(|delivery| delivery.arrives) {
                Some(arrives) if arrives <= now => {
                    let delivery = state.under_way.pop_front();
                    drop(state);
                    if let Some(delivery) = delivery {
                        send(&delivery.bytes);
                    }
                    state = lock(&self.state);
                }
                arrives => {
                    let wait = arrives.map_or(LOOK, |arrives| (arrives - now).min(LOOK));
                    state = match self.came.wait_timeout(state, wait) {
                        Ok((state, _)) => state,
                        Err(poisoned) => poisoned.into_inner().0,
                    };
                }
            }
        }
        drop(state);
        lock(&shared.recorder).finish(self.number, self.lane.direction);
    }
}

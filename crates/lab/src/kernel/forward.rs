//! The thread between the two devices: it takes packets from one and gives them to the other, when it is time.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::devices::Plan;
use super::packet::readdress;
use super::tun::Tun;
use crate::link::{LinkOptions, Passed, PathOptions, Traffic};
use crate::random::{Random, fraction};

/// Largest packet of IPv4.
const PACKET_BYTES_MAX: usize = 65_535;
/// Packets taken from one device before it is the other's turn.
const TURN: usize = 256;
/// Bytes of packets under way in one direction, at any delay: beyond it they are dropped.
const UNDER_WAY_MAX: usize = 256 * 1024 * 1024;

/// The thread. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Forwarder {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    counts: Arc<[Counts; 2]>,
}

#[derive(Debug, Default)]
struct Counts {
    bytes: AtomicU64,
    packets: AtomicU64,
    dropped: AtomicU64,
}

impl Forwarder {
    pub(super) fn start(near: Tun, far: Tun, plan: Plan, options: &LinkOptions) -> io::Result<Forwarder> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let counts = Arc::new([Counts::default(), Counts::default()]);
        let pipe = |path: &PathOptions, source, destination, seed| Pipe {
            // netem does the rest.
            path: if plan.delays { path.clone() } else { PathOptions::default() },
            source,
            destination,
            chance: Random(seed),
            under_way: VecDeque::new(),
            bytes: 0,
            line_free: Duration::ZERO,
        };
        let addresses = plan.addresses;
        let mut carrier = Carrier {
            start: Instant::now(),
            near: near.file,
            far: far.file,
            up: pipe(&options.up, addresses.peer, Ipv4Addr::LOCALHOST, options.seed),
            down: pipe(&options.down, addresses.host, addresses.client, !options.seed),
            counts: Arc::clone(&counts),
        };
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new().name("link kernel".to_owned()).spawn(move || {
            // It fails when the devices are taken away by somebody else: connections then stall, as on a broken line.
            let _ = carrier.run(&stopped);
        })?;
        Ok(Forwarder { stop, thread: Some(thread), counts })
    }

    pub(super) fn traffic(&self) -> Traffic {
        let [up, down] = &*self.counts;
        Traffic { connections: 0, up: up.get(), down: down.get() }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        // Counting up an eventfd fails only at 2^64.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // It has no result.
            let _ = thread.join();
        }
    }
}

impl Counts {
    fn get(&self) -> Passed {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Passed {
            bytes: of(&self.bytes),
            segments: of(&self.packets),
            lost: of(&self.dropped),
            ..Passed::default()
        }
    }
}

/// A packet under way.
#[derive(Debug)]
struct Packet {
    due: Duration,
    bytes: Vec<u8>,
}

/// One direction.
#[derive(Debug)]
struct Pipe {
    path: PathOptions,
    /// The addresses that packets get.
    source: Ipv4Addr,
    destination: Ipv4Addr,
    chance: Random,
    under_way: VecDeque<Packet>,
    bytes: usize,
    line_free: Duration,
}

#[derive(Debug)]
struct Carrier {
    start: Instant,
    near: File,
    far: File,
    up: Pipe,
    down: Pipe,
    counts: Arc<[Counts; 2]>,
}

impl Carrier {
    fn run(&mut self, stop: &OwnedFd) -> io::Result<()> {
        let mut buffer = vec![0; PACKET_BYTES_MAX];
        loop {
            let next = [&self.up, &self.down].into_iter().filter_map(Pipe::next_due).min();
            let wait = next.map(|due| due.saturating_sub(self.start.elapsed()));
            if is_ready(&self.near, &self.far, stop, wait)? {
                return Ok(());
            }
            let [up, down] = &*self.counts;
            self.up.take(&mut self.near, self.start, &mut buffer, up)?;
            self.down.take(&mut self.far, self.start, &mut buffer, down)?;
            let now = self.start.elapsed();
            self.up.give(&mut self.far, now)?;
            self.down.give(&mut self.near, now)?;
        }
    }
}

/// Waits for a packet or for this long; true if it is over.
fn is_ready(near: &File, far: &File, stop: &OwnedFd, wait: Option<Duration>) -> io::Result<bool> {
    let wait = wait
        .map(|wait| Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() });
    let mut files =
        [PollFd::new(stop, PollFlags::IN), PollFd::new(near, PollFlags::IN), PollFd::new(far, PollFlags::IN)];
    match poll(&mut files, wait.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(files.first().is_some_and(|stop| !stop.revents().is_empty()))
}

impl Pipe {
    fn next_due(&self) -> Option<Duration> {
        self.under_way.front().map(|packet| packet.due)
    }

    /// Takes what the device has.
    fn take(
        &mut self,
        from: &mut File,
        start: Instant,
        buffer: &mut [u8],
        counts: &Counts,
    ) -> io::Result<()> {
        for _ in 0..TURN {
            let count = match from.read(buffer) {
                Ok(count) => count,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            let Some(packet) = buffer.get_mut(..count) else { return Ok(()) };
            // Neighbour discovery of IPv6 and the like have nowhere to go.
            if !readdress(packet, self.source, self.destination) {
                continue;
            }
            counts.packets.fetch_add(1, Ordering::Relaxed);
            counts.bytes.fetch_add(count as u64, Ordering::Relaxed);
            if !self.push(start.elapsed(), packet) {
                counts.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Puts a packet on its way; false if it is lost.
    fn push(&mut self, now: Duration, packet: &[u8]) -> bool {
        let is_lost = self.path.loss.get() > 0.0 && fraction(self.chance.next()) < self.path.loss.get();
        let start = self.line_free.max(now);
        let is_full = start - now > self.path.line_time(self.path.queue);
        if is_lost || (self.path.rate.is_some() && is_full) || self.bytes + packet.len() > UNDER_WAY_MAX {
            return false;
        }
        self.line_free = start + self.path.line_time(packet.len());
        let late = if self.path.jitter.is_zero() {
            Duration::ZERO
        } else {
            self.path.jitter.mul_f64(fraction(self.chance.next()))
        };
        // None overtakes another.
        let due = self.line_free + self.path.delay + late;
        let due = self.under_way.back().map_or(due, |last| last.due.max(due));
        self.bytes += packet.len();
        self.under_way.push_back(Packet { due, bytes: packet.to_vec() });
        true
    }

    /// Gives the device what is due.
    fn give(&mut self, to: &mut File, now: Duration) -> io::Result<()> {
        while let Some(packet) = self.under_way.front()
            && packet.due <= now
        {
            match to.write(&packet.bytes) {
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    return Ok(());
                }
                // What the kernel does not want, it may refuse; the line goes on.
                Err(error) if error.kind() == ErrorKind::InvalidInput => {}
                Err(error) => return Err(error),
            }
            if let Some(packet) = self.under_way.pop_front() {
                self.bytes -= packet.bytes.len();
            }
        }
        Ok(())
    }
}

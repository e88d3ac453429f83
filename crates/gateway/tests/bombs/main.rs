//! Compressed bombs on real sockets: little that comes and claims to be much, from a program at an edge and at a server, from an edge at an
//! origin and from an origin at an edge. Whoever sends one is turned away or waits; memory is bounded, and others go on.
//!
//! One test after the other, in a process of their own: it is the process whose memory is looked at. Where the system does not tell it
//! (it does on Linux), the rest is still tested.

#[path = "../../../server/tests/common/mod.rs"]
mod common;
mod links;
mod programs;
mod site;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

const ANYWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// No step takes as long on any machine; one that would wait for ever fails instead.
const PATIENCE: Duration = Duration::from_secs(120);
/// What a bomb of long packets is in plain bytes.
const BOMB_BYTES: usize = 1 << 30;
/// The same of short ones, each of which takes its time.
const SWARM_BYTES: usize = 16 << 20;

/// What a bomb may cost at most: a packet of 64 MiB, as those have that are logged in, is there as it came, understood, and as it is handed on,
/// and grows by doubling.
const BOMB_COSTS_MAX: u64 = 512 << 20;

static ALONE: Mutex<()> = Mutex::new(());

/// The memory of this process while it is alone.
struct Memory {
    before: Option<u64>,
    _alone: MutexGuard<'static, ()>,
}

impl Memory {
    fn watch() -> Memory {
        Memory { _alone: ALONE.lock(), before: Memory::begin() }
    }

    /// Peaks count from here on; gives what there is now.
    fn begin() -> Option<u64> {
        let is_reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
        Memory::peak().filter(|_| is_reset)
    }

    /// Most memory that the process had at a time.
    fn peak() -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(peak.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
    }

    /// What was done since then has cost no more than a bomb may.
    fn is_bounded(&mut self, what: &str) {
        let taken = self.tell(what);
        assert!(taken < BOMB_COSTS_MAX, "{what}: {} MiB were taken", taken >> 20);
    }

    /// Tells what was taken since then, and begins anew.
    fn tell(&mut self, what: &str) -> u64 {
        let (Some(before), Some(peak)) = (self.before, Memory::peak()) else { return 0 };
        println!("{what}: {} MiB", peak.saturating_sub(before) >> 20);
        self.before = Memory::begin();
        peak.saturating_sub(before)
    }
}

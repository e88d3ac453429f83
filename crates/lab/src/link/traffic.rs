//! What has passed a link: counters, and a timeline from which a waterfall can be drawn.

use std::collections::HashMap;
use std::ops::Sub;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::path::Delivery;

/// Bytes that leave within so long of each other are one burst, unless the link is shorter than that.
const BURST_GAP: Duration = Duration::from_millis(2);
/// Most bursts that are kept; later ones are only counted.
const BURSTS_MAX: usize = 200_000;

/// Where something goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

/// What has passed since the link was started. The difference of two is what passed between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Traffic {
    /// Connections that were made.
    pub connections: u64,
    /// From the clients to the server.
    pub up: Passed,
    /// From the server to the clients.
    pub down: Passed,
}

/// What has passed in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Passed {
    /// Bytes of the programs; headers of packets are not counted.
    pub bytes: u64,
    /// Segments of TCP (in the process), packets (in the kernel, where acknowledgements are packets, too).
    pub segments: u64,
    /// How many of them were lost and sent again (in the process), or dropped (in the kernel).
    pub lost: u64,
    /// Bursts: see [`Burst`]. The kernel's link knows none.
    pub bursts: u64,
    /// How long anything was under way, from its departure to its arrival; what was under way together counts once.
    /// Serialized as milliseconds. The kernel's link does not know it.
    #[serde(serialize_with = "milliseconds")]
    pub under_way: Duration,
}

impl Sub for Traffic {
    type Output = Traffic;

    fn sub(self, before: Traffic) -> Traffic {
        Traffic {
            connections: self.connections.saturating_sub(before.connections),
            up: self.up - before.up,
            down: self.down - before.down,
        }
    }
}

impl Sub for Passed {
    type Output = Passed;

    fn sub(self, before: Passed) -> Passed {
        Passed {
            bytes: self.bytes.saturating_sub(before.bytes),
            segments: self.segments.saturating_sub(before.segments),
            lost: self.lost.saturating_sub(before.lost),
            bursts: self.bursts.saturating_sub(before.bursts),
            under_way: self.under_way.saturating_sub(before.under_way),
        }
    }
}

/// Bytes of one connection and direction that left together: a bar of a waterfall. Times are since the start of the
/// link, and are serialized as milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Burst {
    /// The connection's number, from 1.
    pub connection: u64,
    /// Where it went.
    pub direction: Direction,
    /// When its first byte left.
    #[serde(serialize_with = "milliseconds")]
    pub sent_from: Duration,
    /// When its last byte left.
    #[serde(serialize_with = "milliseconds")]
    pub sent_until: Duration,
    /// When its first bytes arrived.
    #[serde(serialize_with = "milliseconds")]
    pub received_from: Duration,
    /// When its last byte arrived.
    #[serde(serialize_with = "milliseconds")]
    pub received_until: Duration,
    /// How many bytes it is.
    pub bytes: u64,
}

fn milliseconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64() * 1e3)
}

/// Keeps what has passed.
#[derive(Debug)]
pub(super) struct Recorder {
    gap: Duration,
    pub(super) traffic: Traffic,
    bursts: Vec<Burst>,
    /// The burst of each connection and direction that may still go on.
    open: HashMap<(u64, Direction), Burst>,
    /// Until when anything is under way, there and back.
    up_until: Duration,
    down_until: Duration,
}

impl Recorder {
    pub(super) fn new(round_trip: Duration) -> Recorder {
        Recorder {
            gap: BURST_GAP.min(round_trip / 2),
            traffic: Traffic::default(),
            bursts: Vec::new(),
            open: HashMap::new(),
            up_until: Duration::ZERO,
            down_until: Duration::ZERO,
        }
    }

    /// Something has left.
    pub(super) fn record(&mut self, connection: u64, direction: Direction, delivery: &Delivery) {
        let (passed, until) = match direction {
            Direction::Up => (&mut self.traffic.up, &mut self.up_until),
            Direction::Down => (&mut self.traffic.down, &mut self.down_until),
        };
        passed.under_way += delivery.arrives.saturating_sub(delivery.left.max(*until));
        *until = delivery.arrives.max(*until);
        let bytes = delivery.bytes.len() as u64;
        passed.bytes += bytes;
        passed.segments += u64::from(delivery.segments);
        passed.lost += u64::from(delivery.lost);
        if let Some(burst) = self.open.get_mut(&(connection, direction))
            && delivery.left.saturating_sub(burst.sent_until) <= self.gap
        {
            burst.sent_until = delivery.left;
            burst.received_until = delivery.arrives;
            burst.bytes += bytes;
            return;
        }
        passed.bursts += 1;
        let burst = Burst {
            connection,
            direction,
            sent_from: delivery.left,
            sent_until: delivery.left,
            received_from: delivery.arrives,
            received_until: delivery.arrives,
            bytes,
        };
        if let Some(done) = self.open.insert((connection, direction), burst) {
            self.keep(done);
        }
    }

    /// Nothing more comes of this connection's direction.
    pub(super) fn finish(&mut self, connection: u64, direction: Direction) {
        if let Some(done) = self.open.remove(&(connection, direction)) {
            self.keep(done);
        }
    }

    fn keep(&mut self, burst: Burst) {
        if self.bursts.len() < BURSTS_MAX {
            self.bursts.push(burst);
        }
    }

    /// All bursts by the time at which they left; forgets those that are over.
    pub(super) fn take_bursts(&mut self) -> Vec<Burst> {
        let mut bursts = std::mem::take(&mut self.bursts);
        bursts.extend(self.open.drain().map(|(_, burst)| burst));
        bursts.sort_by_key(|burst| (burst.sent_from, burst.connection));
        bursts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(left: u64, arrives: u64) -> Delivery {
        Delivery {
            left: Duration::from_millis(left),
            arrives: Duration::from_millis(arrives),
            segments: 1,
            lost: 0,
            bytes: vec![0; 100],
        }
    }

    #[test]
    fn what_leaves_together_is_one_burst() {
        let mut recorder = Recorder::new(Duration::from_millis(20));
        recorder.record(1, Direction::Up, &unit(0, 10));
        recorder.record(1, Direction::Down, &unit(10, 20));
        recorder.record(1, Direction::Down, &unit(11, 21));
        recorder.record(2, Direction::Down, &unit(11, 21));
        recorder.record(1, Direction::Down, &unit(30, 40));
        recorder.finish(1, Direction::Down);
        assert_eq!((recorder.traffic.up.bursts, recorder.traffic.down.bursts), (1, 3));
        assert_eq!(recorder.traffic.down.bytes, 400);
        // From 10 to 21 and from 30 to 40.
        assert_eq!(recorder.traffic.down.under_way, Duration::from_millis(21));
        let bursts = recorder.take_bursts();
        let shown: Vec<_> = bursts.iter().map(|burst| (burst.connection, burst.bytes)).collect();
        assert_eq!(shown, [(1, 100), (1, 200), (2, 100), (1, 100)]);
        assert_eq!(bursts[1].received_until, Duration::from_millis(21));
        assert!(recorder.take_bursts().is_empty());
    }
}

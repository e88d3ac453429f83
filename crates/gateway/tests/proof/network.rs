//! A connection on paper: two directions of bytes with delay, bandwidth, jitter and loss, and its cuts.
//!
//! It behaves as TCP does for those above it: bytes arrive in order and whole, or the connection is over. What is lost on the way is sent
//! again by the transport, so it comes late, and so does everything behind it. Times are handed in.

use std::collections::VecDeque;
use std::time::Duration;

use crate::random::Random;

/// What the way between edge and origin is like.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Conditions {
    pub(crate) one_way: Duration,
    /// Bits a second in each direction.
    pub(crate) rate: Option<u64>,
    /// Each chunk takes up to so much longer.
    pub(crate) jitter: Duration,
    /// One chunk in so many is lost and sent again; 0: none.
    pub(crate) loss: u64,
}

impl Conditions {
    /// Delay and nothing else.
    pub(crate) fn delay(one_way: Duration) -> Conditions {
        Conditions { one_way, ..Conditions::default() }
    }
}

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    ToOrigin,
    ToEdge,
}

/// One direction.
#[derive(Debug, Default)]
struct Pipe {
    /// What is under way, and when it arrives.
    chunks: VecDeque<(Duration, Vec<u8>)>,
    free: Duration,
    last: Duration,
}

/// A cut that is to come.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// So many chunks pass before.
    chunks: u64,
    /// For so long.
    outage: Duration,
}

/// Both directions.
#[derive(Debug)]
pub(crate) struct Network {
    conditions: Conditions,
    random: Random,
    pipes: [Pipe; 2],
    /// `None` while there is a connection; else when there may be one again.
    down_until: Option<Duration>,
    cut: Option<Cut>,
    /// Chunks that were sent since the beginning.
    pub(crate) sent: u64,
    pub(crate) cuts: u64,
}

impl Network {
    pub(crate) fn new(conditions: Conditions, seed: u64) -> Network {
        Network {
            conditions,
            random: Random(seed),
            pipes: Default::default(),
            down_until: Some(Duration::ZERO),
            cut: None,
            sent: 0,
            cuts: 0,
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.down_until.is_none()
    }

    /// When there may be a connection again, if there is none.
    pub(crate) fn down_until(&self) -> Option<Duration> {
        self.down_until
    }

    /// A new connection.
    pub(crate) fn connect(&mut self) {
        self.pipes = Default::default();
        self.down_until = None;
    }

    /// The connection breaks when so many more chunks have been sent; the one that would be next is lost, with all that is under way.
    pub(crate) fn cut_after(&mut self, chunks: u64, outage: Duration) {
        self.cut = Some(Cut { chunks, outage });
    }

    /// Whether a cut is still to come.
    pub(crate) fn has_cut(&self) -> bool {
        self.cut.is_some()
    }

    pub(crate) fn spare_cut(&mut self) {
        self.cut = None;
    }

    /// The connection breaks.
    pub(crate) fn cut(&mut self, now: Duration, outage: Duration) {
        self.pipes = Default::default();
        self.down_until = Some(now + outage);
        self.cut = None;
        self.cuts += 1;
    }

    /// Whether a direction takes bytes now.
    pub(crate) fn has_room(&self, direction: Direction, now: Duration) -> bool {
        self.is_up() && self.pipes[direction as usize].free <= now
    }

    /// When a direction takes bytes again.
    pub(crate) fn free(&self, direction: Direction) -> Duration {
        self.pipes[direction as usize].free
    }

    /// Sends a chunk; gives false if the connection breaks.
    pub(crate) fn send(&mut self, direction: Direction, now: Duration, bytes: Vec<u8>) -> bool {
        if let Some(cut) = &mut self.cut {
            if cut.chunks == 0 {
                let outage = cut.outage;
                self.cut(now, outage);
                return false;
            }
            cut.chunks -= 1;
        }
        self.sent += 1;
        let Conditions { one_way, rate, jitter, loss } = self.conditions;
        let pipe = &mut self.pipes[direction as usize];
        let nanoseconds = rate.map_or(0, |rate| bytes.len() as u64 * 8_000_000_000 / rate);
        pipe.free = pipe.free.max(now) + Duration::from_nanos(nanoseconds);
        let mut arrival = pipe.free + one_way;
        if !jitter.is_zero() {
            arrival += jitter.mul_f64(self.random.below(1_000) as f64 / 1_000.0);
        }
        let mut again = Duration::from_millis(200) + 2 * one_way;
        while loss > 0 && self.random.one_in(loss) {
            arrival += again;
            again *= 2;
        }
        pipe.last = pipe.last.max(arrival);
        pipe.chunks.push_back((pipe.last, bytes));
        true
    }

    /// The next chunk that has arrived.
    pub(crate) fn arrived(&mut self, direction: Direction, now: Duration) -> Option<Vec<u8>> {
        let chunks = &mut self.pipes[direction as usize].chunks;
        let is_here = chunks.front().is_some_and(|(at, _)| *at <= now);
        if is_here { chunks.pop_front().map(|(_, bytes)| bytes) } else { None }
    }

    /// When the next chunk arrives.
    pub(crate) fn next_arrival(&self) -> Option<Duration> {
        self.pipes.iter().filter_map(|pipe| pipe.chunks.front().map(|(at, _)| *at)).min()
    }
}

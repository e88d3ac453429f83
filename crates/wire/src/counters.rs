//! Wire statistics as fbclient counts them (fb_info_wire_*).
//!
//! The owner of the socket calls the methods; nothing here measures. Source: wire-protocol.md, 10.

use std::ops::Sub;

use crate::info::database;

/// Which way bytes last went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Direction {
    #[default]
    None,
    Send,
    Receive,
}

/// Counts of one connection, from its first byte on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Packets encoded (150).
    pub out_packets: u64,
    /// Packets decoded (151).
    pub in_packets: u64,
    /// Bytes before compression (152).
    pub out_bytes: u64,
    /// Bytes after decompression (153).
    pub in_bytes: u64,
    /// Writes to the socket (154).
    pub send_packets: u64,
    /// Reads from the socket (155).
    pub receive_packets: u64,
    /// Bytes written to the socket (156).
    pub send_bytes: u64,
    /// Bytes read from the socket (157).
    pub receive_bytes: u64,
    /// Times that a receive followed a send (158).
    pub round_trips: u64,
    direction: Direction,
}

impl Counters {
    /// The counts with the items of database information that ask for them.
    pub fn items(&self) -> [(u8, u64); 9] {
        [
            (database::WIRE_OUT_PACKETS, self.out_packets),
            (database::WIRE_IN_PACKETS, self.in_packets),
            (database::WIRE_OUT_BYTES, self.out_bytes),
            (database::WIRE_IN_BYTES, self.in_bytes),
            (database::WIRE_SND_PACKETS, self.send_packets),
            (database::WIRE_RCV_PACKETS, self.receive_packets),
            (database::WIRE_SND_BYTES, self.send_bytes),
            (database::WIRE_RCV_BYTES, self.receive_bytes),
            (database::WIRE_ROUNDTRIPS, self.round_trips),
        ]
    }

    /// A packet was encoded.
    pub fn packet_out(&mut self) {
        self.out_packets += 1;
    }

    /// So many packets were encoded.
    pub fn packets_out(&mut self, packets: u64) {
        self.out_packets += packets;
    }

    /// A packet was decoded.
    pub fn packet_in(&mut self) {
        self.in_packets += 1;
    }

    /// So many packets were decoded: rows come many at a time.
    pub fn packets_in(&mut self, packets: u64) {
        self.in_packets += packets;
    }

    /// Bytes were handed to compression, or straight to the socket.
    pub fn bytes_out(&mut self, bytes: usize) {
        self.out_bytes += bytes as u64;
    }

    /// Bytes came out of decompression, or straight from the socket.
    pub fn bytes_in(&mut self, bytes: usize) {
        self.in_bytes += bytes as u64;
    }

    /// One write to the socket succeeded.
    pub fn sent(&mut self, bytes: usize) {
        self.send_packets += 1;
        self.send_bytes += bytes as u64;
        self.direction = Direction::Send;
    }

    /// One read from the socket gave bytes.
    pub fn received(&mut self, bytes: usize) {
        self.receive_packets += 1;
        self.receive_bytes += bytes as u64;
        if self.direction == Direction::Send {
            self.round_trips += 1;
        }
        self.direction = Direction::Receive;
    }
}

/// What was counted between two moments of one connection: `later - earlier`. A count that is smaller in the later one (of
/// another connection, or the wrong way round) gives 0. A round trip under way at the earlier moment, sent but not answered,
/// counts in the difference.
impl Sub for Counters {
    type Output = Counters;

    fn sub(self, earlier: Counters) -> Counters {
        Counters {
            out_packets: self.out_packets.saturating_sub(earlier.out_packets),
            in_packets: self.in_packets.saturating_sub(earlier.in_packets),
            out_bytes: self.out_bytes.saturating_sub(earlier.out_bytes),
            in_bytes: self.in_bytes.saturating_sub(earlier.in_bytes),
            send_packets: self.send_packets.saturating_sub(earlier.send_packets),
            receive_packets: self.receive_packets.saturating_sub(earlier.receive_packets),
            send_bytes: self.send_bytes.saturating_sub(earlier.send_bytes),
            receive_bytes: self.receive_bytes.saturating_sub(earlier.receive_bytes),
            round_trips: self.round_trips.saturating_sub(earlier.round_trips),
            direction: Direction::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_sends_and_a_run_of_receives_are_one_round_trip() {
        let mut counters = Counters::default();
        counters.received(1);
        assert_eq!(counters.round_trips, 0);
        for _ in 0..2 {
            counters.sent(10);
            counters.sent(10);
            counters.received(100);
            counters.received(50);
        }
        assert_eq!(counters.round_trips, 2);
        assert_eq!((counters.send_packets, counters.send_bytes), (4, 40));
        assert_eq!((counters.receive_packets, counters.receive_bytes), (5, 301));
        assert_eq!(counters.items()[8], (158, 2));
        let earlier = counters;
        counters.sent(7);
        counters.received(1);
        let between = counters - earlier;
        assert_eq!((between.round_trips, between.send_bytes, between.receive_packets), (1, 7, 1));
        assert_eq!(earlier - counters, Counters::default());
    }
}

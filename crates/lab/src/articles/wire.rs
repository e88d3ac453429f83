//! Wire statistics of a piece of work.

use farbird_client::Counters;
use serde::Serialize;

/// What went over the wire, counted as fbclient counts it: logical packets are those of the protocol, with bytes before
/// compression; physical packets are writes to and reads from the socket, with bytes as they travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct WireFigure {
    /// Packets encoded.
    pub logical_packets_sent: u64,
    /// Packets decoded.
    pub logical_packets_received: u64,
    /// Bytes before compression.
    pub logical_bytes_sent: u64,
    /// Bytes after decompression.
    pub logical_bytes_received: u64,
    /// Writes to the socket.
    pub physical_packets_sent: u64,
    /// Reads from the socket.
    pub physical_packets_received: u64,
    /// Bytes written to the socket.
    pub physical_bytes_sent: u64,
    /// Bytes read from the socket.
    pub physical_bytes_received: u64,
    /// Times that the client began to read after it had written.
    pub round_trips: u64,
}

impl WireFigure {
    /// What was counted between two moments of a connection.
    pub fn between(before: &Counters, after: &Counters) -> WireFigure {
        WireFigure {
            logical_packets_sent: after.out_packets - before.out_packets,
            logical_packets_received: after.in_packets - before.in_packets,
            logical_bytes_sent: after.out_bytes - before.out_bytes,
            logical_bytes_received: after.in_bytes - before.in_bytes,
            physical_packets_sent: after.send_packets - before.send_packets,
            physical_packets_received: after.receive_packets - before.receive_packets,
            physical_bytes_sent: after.send_bytes - before.send_bytes,
            physical_bytes_received: after.receive_bytes - before.receive_bytes,
            round_trips: after.round_trips - before.round_trips,
        }
    }
}

//! Limits of a conversation, each with its default.

use farbird_wire::decoder::PACKET_BYTES_MAX;

use crate::speculation::RunnerLimits;

/// What one conversation may take of the origin, whatever edge and server do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest packet, of the edge or of the server.
    pub packet_bytes: usize,
    /// Most bytes of packets that wait to be sent to the server: an edge that asks faster than the server answers is cut off.
    pub waiting_bytes: usize,
    /// Most bytes of replies to one request: they travel in one message.
    pub reply_bytes: usize,
    /// Bytes of rows that travel in one message, if that many come at a time.
    pub push_bytes: usize,
    /// Rows that travel in one message if they name BLOBs: none of them leaves before all of their BLOBs are read.
    pub rows_with_blobs: usize,
    /// Rows asked of the server at a time.
    pub fetch_rows: u16,
    /// Bytes that one op_fetch may bring if each of its rows is as long as it can be, BLOBs that come inline included. A single row is
    /// always asked for.
    pub fetch_bytes: usize,
    /// op_fetch packets of one cursor under way.
    pub fetches_ahead: usize,
    /// Cursors and BLOBs pushed at a time.
    pub pushes: usize,
    /// BLOBs of rows opened at the server at a time.
    pub blobs_at_once: usize,
    /// What running statements ahead may take.
    pub ahead: RunnerLimits,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            packet_bytes: PACKET_BYTES_MAX,
            waiting_bytes: 128 * 1024 * 1024,
            reply_bytes: 128 * 1024 * 1024,
            push_bytes: 64 * 1024,
            rows_with_blobs: 8,
            fetch_rows: 10_000,
            fetch_bytes: 8 * 1024 * 1024,
            fetches_ahead: 2,
            pushes: 1_000,
            blobs_at_once: 64,
            ahead: RunnerLimits::default(),
        }
    }
}

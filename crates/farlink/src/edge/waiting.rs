//! Requests that have come and whose turn it is not yet.
//!
//! Promises: no more than [`REQUESTS_MAX`] requests, and no more bytes of them than may wait unread. Whose turn it is says `order`.

use std::collections::VecDeque;

use farbird_wire::packet::Request;

/// Bytes that may wait before the program is not read from any more.
pub(super) const UNREAD_BYTES_MAX: usize = 1 << 20;

/// Requests that are looked at before their turn: as many as a server takes in advance.
const REQUESTS_MAX: usize = 1024;

/// Requests that were understood and not taken yet, with the bytes that each had.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    requests: VecDeque<(Request, usize)>,
    bytes: usize,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Bytes that they had when they came.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn clear(&mut self) {
        *self = Waiting::default();
    }

    pub(super) fn front(&self) -> Option<&Request> {
        self.requests.front().map(|(request, _)| request)
    }

    pub(super) fn pop(&mut self) -> Option<Request> {
        let (request, bytes) = self.requests.pop_front()?;
        self.bytes -= bytes;
        Some(request)
    }

    pub(super) fn push(&mut self, request: Request, bytes: usize) {
        self.bytes += bytes;
        self.requests.push_back((request, bytes));
    }

    /// Whether what has come behind the last of them is to be read in another way.
    pub(super) fn changes_layers(&self) -> bool {
        matches!(self.requests.back(), Some((Request::Crypt { .. }, _)))
    }

    pub(super) fn has_room(&self) -> bool {
        self.requests.len() < REQUESTS_MAX && self.bytes < UNREAD_BYTES_MAX
    }
}

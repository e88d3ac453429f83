//! BLOBs that are pushed: those of rows before their rows, others from their start to their end while credit lasts.
//!
//! A BLOB is opened, asked for its size, read and closed by requests of the origin's own, many at a time: what one needs to know for
//! the next step comes with one flight for all of them.

use farbird_types::{BlobId, isc};
use farbird_wire::info::blob as tag;
use farbird_wire::packet::{OpenBlob, Reply, Request, Segment};
use farbird_wire::protocol::{Handle, segment_state};
use farbird_wire::status::StatusVector;

use super::blob_reading::{BlobKey, BlobReading, BlobStep, SEGMENTS_BYTES, content_bytes, facts};
use super::conversation::Conversation;
use super::objects::Named;
use super::work::{Purpose, information};
use crate::message::{Cursor, RequestId, Tell};

impl Conversation {
    /// Opens a BLOB for the edge.
    pub(super) fn open_blob(&mut self, id: RequestId, cursor: Cursor, request: &Request, named: Named) {
        let key = BlobKey { cursor, number: 0 };
        if let Some(reading) = self.blobs.get_mut(&key) {
            reading.is_sent = true;
        }
        self.transmit(request, named, Purpose::Blob(key, BlobStep::OpenFor(id)));
    }

    /// Opens a BLOB that a row names.
    pub(super) fn read_blob(&mut self, key: BlobKey, mut reading: BlobReading) {
        let Some(transaction) = self.objects.at_server(reading.transaction) else {
            return self.blob_of_row(key, None);
        };
        let open = OpenBlob { bpb: Vec::new(), transaction, blob: BlobId(reading.blob) };
        reading.is_sent = true;
        self.blobs.insert(key, reading);
        self.transmit(&Request::OpenBlob2(open), Named::default(), Purpose::Blob(key, BlobStep::Open));
    }

    pub(super) fn blobs_of_rows(&self) -> usize {
        self.blobs.keys().filter(|key| key.number != 0).count()
    }

    /// Asks for more of all BLOBs that have credit.
    pub(super) fn go_on_reading(&mut self) {
        let mut reads = Vec::new();
        for (key, reading) in &mut self.blobs {
            let Some(blob) = reading.server else { continue };
            while reading.wants_segments() {
                reading.reads += 1;
                reads.push((*key, Segment { blob, length: SEGMENTS_BYTES, data: Vec::new() }));
            }
        }
        for (key, segment) in reads {
            let purpose = Purpose::Blob(key, BlobStep::Segments);
            self.transmit(&Request::GetSegment(segment), Named::default(), purpose);
        }
    }

    /// A step of reading a BLOB is answered.
    pub(super) fn blob_replied(&mut self, key: BlobKey, step: BlobStep, reply: &Reply, server: Handle) {
        let Reply::Response(response) = reply else { return };
        let is_success = response.status.is_success();
        match step {
            BlobStep::OpenFor(_) | BlobStep::Open => {
                if let BlobStep::OpenFor(id) = step {
                    let mut packets = Vec::new();
                    reply.encode(self.line.version(), &mut packets);
                    self.tell(Tell::Reply { id, packets });
                }
                match self.blobs.get_mut(&key) {
                    // Nobody wants it any more.
                    None if is_success => self.close_at_server(server),
                    None => {}
                    Some(_) if !is_success => self.give_up_blob(key),
                    Some(reading) => {
                        reading.server = Some(server);
                        let items = vec![tag::NUM_SEGMENTS, tag::MAX_SEGMENT, tag::TOTAL_LENGTH, tag::TYPE];
                        let information = information(server, items, 128);
                        let purpose = Purpose::Blob(key, BlobStep::Information);
                        self.transmit(&Request::BlobInformation(information), Named::default(), purpose);
                        self.go_on_reading();
                    }
                }
            }
            BlobStep::Information => {
                let Some(reading) = self.blobs.get_mut(&key) else { return };
                reading.facts = facts(&response.data);
                let is_too_large = reading
                    .facts
                    .is_none_or(|facts| reading.bytes_max.is_some_and(|most| facts.length > most));
                if !is_success || (is_too_large && reading.bytes_max.is_some()) {
                    self.give_up_blob(key);
                }
            }
            BlobStep::Segments if is_success => self.segments_came(key, response.object.0, &response.data),
            BlobStep::Segments => self.segments_failed(key, &response.status),
        }
    }

    /// A BLOB cannot be read. What the program has read of it already cannot be taken back, and what is missing cannot be said: it
    /// loses its connection, unless it has asked for that itself by op_cancel.
    fn segments_failed(&mut self, key: BlobKey, status: &StatusVector) {
        let Some(reading) = self.blobs.get_mut(&key) else { return };
        reading.reads = reading.reads.saturating_sub(1);
        let is_cancelled = status.error().is_some_and(|error| error.has(isc::CANCELLED));
        if key.number == 0 && !reading.is_ended && !reading.is_paused {
            if !is_cancelled {
                self.end("a BLOB that is being pushed cannot be read");
            }
            // What was cancelled is asked for once more: the program meant something of its own.
            return;
        }
        if !reading.is_ended {
            self.give_up_blob(key);
        }
    }

    fn segments_came(&mut self, key: BlobKey, state: u16, data: &[u8]) {
        let Some(reading) = self.blobs.get_mut(&key) else { return };
        reading.reads = reading.reads.saturating_sub(1);
        if reading.is_ended {
            return;
        }
        let segments = reading.take_segments(data, state);
        let content = content_bytes(&segments);
        let offset = reading.offset;
        reading.offset = offset.saturating_add(content);
        reading.credit = reading.credit.saturating_sub(i64::try_from(segments.len()).unwrap_or(i64::MAX));
        reading.is_ended = state == segment_state::END_OF_BLOB;
        let is_last = reading.is_ended;
        let (blob, server) = (reading.blob, reading.server);
        match reading.bytes_max {
            Some(_) => {
                reading.segments.extend_from_slice(&segments);
                if is_last {
                    let segments = std::mem::take(&mut reading.segments);
                    let information = reading.facts;
                    self.blobs.remove(&key);
                    let bytes = segments.len();
                    let cursor = key.cursor;
                    let tell = Tell::Blob { cursor, blob, information, offset: 0, segments, is_last };
                    self.blob_of_row(key, Some((tell, bytes)));
                }
            }
            None => {
                let information =
                    reading.facts.filter(|_| !std::mem::replace(&mut reading.has_told_facts, true));
                if is_last {
                    self.blobs.remove(&key);
                }
                self.tell(Tell::Blob { cursor: key.cursor, blob, information, offset, segments, is_last });
            }
        }
        if let (true, Some(server)) = (is_last, server) {
            self.close_at_server(server);
        }
    }

    /// A BLOB cannot be read, or is not to be pushed.
    fn give_up_blob(&mut self, key: BlobKey) {
        let Some(reading) = self.blobs.remove(&key) else { return };
        if let Some(server) = reading.server.filter(|_| !reading.is_paused) {
            self.close_at_server(server);
        }
        if key.number != 0 {
            return self.blob_of_row(key, None);
        }
        // The program waits for it: shorter than it was said to be, it is known to be broken.
        let (cursor, blob, offset) = (key.cursor, reading.blob, reading.offset);
        let (information, segments) = (None, Vec::new());
        self.tell(Tell::Blob { cursor, blob, information, offset, segments, is_last: true });
    }

    fn close_at_server(&mut self, blob: Handle) {
        self.transmit(&Request::CloseBlob(blob), Named::default(), Purpose::Ignored);
    }

    /// The edge wants no more of a BLOB, or of the BLOBs of a cursor's rows.
    pub(super) fn close_blob(&mut self, cursor: Cursor) {
        let of_cursor = BlobKey { cursor, number: 0 }..=BlobKey { cursor, number: u32::MAX };
        let keys: Vec<BlobKey> = self.blobs.range(of_cursor).map(|(key, _)| *key).collect();
        for key in keys {
            self.give_up_blob(key);
        }
    }

    /// The transaction is being ended: the server's handles of its BLOBs may name others soon.
    pub(super) fn pause_blobs(&mut self, transaction: u16) {
        for reading in self.blobs.values_mut().filter(|reading| reading.is_in(transaction)) {
            reading.is_paused = true;
        }
    }

    pub(super) fn resume_blobs(&mut self, transaction: u16) {
        for reading in self.blobs.values_mut().filter(|reading| reading.is_in(transaction)) {
            reading.is_paused = false;
        }
    }

    pub(super) fn drop_blobs(&mut self, transaction: u16) {
        self.blobs.retain(|_, reading| !reading.is_in(transaction));
    }
}

//! A BLOB that is being read: what has come of it, and whether more is to be asked for.

use farbird_wire::info::InfoReader;
use farbird_wire::info::blob as tag;
use farbird_wire::packet::Request;
use farbird_wire::protocol::{Handle, segment_state};

use crate::message::{BlobFacts, Cursor, RequestId};

/// Bytes asked for at a time.
pub(super) const SEGMENTS_BYTES: u16 = 65_000;
/// op_get_segment packets of one BLOB under way.
const READS_AHEAD: usize = 2;

/// A BLOB being read: of a row of the cursor, or with number 0 the opening itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BlobKey {
    pub(super) cursor: Cursor,
    pub(super) number: u32,
}

/// What was asked about a BLOB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlobStep {
    /// The request of the edge is answered with it.
    OpenFor(RequestId),
    Open,
    Information,
    Segments,
}

/// A BLOB that is being read.
#[derive(Debug)]
pub(super) struct BlobReading {
    pub(super) transaction: u16,
    pub(super) blob: u64,
    /// Of a row: the largest that is pushed.
    pub(super) bytes_max: Option<u32>,
    pub(super) credit: i64,
    pub(super) server: Option<Handle>,
    pub(super) facts: Option<BlobFacts>,
    pub(super) has_told_facts: bool,
    /// op_get_segment packets under way.
    pub(super) reads: usize,
    pub(super) is_ended: bool,
    /// Whether its opening has been sent. Until then its transaction's handle may name an earlier one, whose end waits as well.
    pub(super) is_sent: bool,
    pub(super) is_paused: bool,
    /// Bytes of contents before what comes next.
    pub(super) offset: u32,
    /// The beginning of a segment that goes on with the next reply.
    pub(super) begun: Vec<u8>,
    /// Of a row: what has come.
    pub(super) segments: Vec<u8>,
}

impl BlobReading {
    fn new(transaction: u16, blob: u64, bytes_max: Option<u32>, credit: i64) -> BlobReading {
        BlobReading {
            transaction,
            blob,
            bytes_max,
            credit,
            server: None,
            facts: None,
            has_told_facts: false,
            reads: 0,
            is_ended: false,
            is_sent: false,
            is_paused: false,
            offset: 0,
            begun: Vec::new(),
            segments: Vec::new(),
        }
    }

    /// One that the edge opens; `None` if the request is none.
    pub(super) fn of_edge(request: &Request, credit: u32) -> Option<BlobReading> {
        let (transaction, blob) = match request {
            Request::OpenBlob { transaction, blob } => (*transaction, *blob),
            Request::OpenBlob2(open) => (open.transaction, open.blob),
            _ => return None,
        };
        Some(BlobReading::new(transaction.0, blob.0, None, i64::from(credit)))
    }

    /// One that a row names.
    pub(super) fn of_row(transaction: u16, blob: u64, bytes_max: u32) -> BlobReading {
        BlobReading::new(transaction, blob, Some(bytes_max), i64::from(bytes_max) + i64::from(SEGMENTS_BYTES))
    }

    /// Whether it is being read in the transaction that has this handle now. What has not been sent waits behind the requests that
    /// are: if one of them ends that transaction, it belongs to the next with the same handle.
    pub(super) fn is_in(&self, transaction: u16) -> bool {
        self.is_sent && self.transaction == transaction
    }

    pub(super) fn credit(&mut self, bytes: u32) {
        self.credit = self.credit.saturating_add(i64::from(bytes));
    }

    pub(super) fn wants_segments(&self) -> bool {
        let promised =
            i64::try_from(self.reads).unwrap_or(i64::MAX).saturating_mul(i64::from(SEGMENTS_BYTES));
        // The first read of a BLOB brings most of them whole.
        let ahead = if self.facts.is_some() { READS_AHEAD } else { 1 };
        let is_all_asked = self.facts.is_some_and(|facts| {
            self.reads > 0 && i64::from(facts.length) < i64::from(self.offset) + promised / 2
        });
        !self.is_ended && !self.is_paused && self.reads < ahead && !is_all_asked && self.credit > promised
    }

    /// Takes the data of a reply to op_get_segment; gives whole segments.
    pub(super) fn take_segments(&mut self, data: &[u8], state: u16) -> Vec<u8> {
        let mut whole = Vec::with_capacity(data.len());
        let mut rest = data;
        while let Some((length, after)) = rest.split_first_chunk::<2>() {
            let length = usize::from(u16::from_le_bytes(*length)).min(after.len());
            let (segment, after) = after.split_at(length);
            rest = after;
            let goes_on = rest.is_empty() && state == segment_state::INCOMPLETE;
            self.begun.extend_from_slice(segment);
            if !goes_on {
                let segment = std::mem::take(&mut self.begun);
                for part in parts(&segment) {
                    whole.extend_from_slice(&u16::try_from(part.len()).unwrap_or(u16::MAX).to_le_bytes());
                    whole.extend_from_slice(part);
                }
            }
        }
        whole
    }
}

/// A segment as it is, or in pieces if it was too long for one.
fn parts(segment: &[u8]) -> impl Iterator<Item = &[u8]> {
    segment.chunks(usize::from(u16::MAX)).chain(segment.is_empty().then_some(segment))
}

/// How many bytes of contents there are in segments.
pub(super) fn content_bytes(segments: &[u8]) -> u32 {
    let mut bytes = 0_u32;
    let mut rest = segments;
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let length = u16::from_le_bytes(*length);
        bytes = bytes.saturating_add(u32::from(length));
        rest = after.get(usize::from(length)..).unwrap_or_default();
    }
    bytes
}

/// What op_info_blob says of a BLOB.
pub(super) fn facts(reply: &[u8]) -> Option<BlobFacts> {
    let find = |wanted: u8| {
        let item = InfoReader::new(reply).map_while(Result::ok).find(|item| item.item == wanted)?;
        item.integer()
    };
    let number = |item| find(item).and_then(|number| u32::try_from(number).ok());
    Some(BlobFacts {
        segments: number(tag::NUM_SEGMENTS)?,
        longest_segment: number(tag::MAX_SEGMENT)?,
        length: number(tag::TOTAL_LENGTH)?,
        is_stream: number(tag::TYPE)? != 0,
    })
}

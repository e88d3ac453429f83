//! Rows that are pushed, on their way to the program.

use std::collections::VecDeque;
use std::sync::Arc;

use farbird_wire::message::{MessageForm, MessageFormat, measure_rows};
use farbird_wire::packet::{FetchResponse, Reply, encode_fetch_row};
use farbird_wire::protocol::ProtocolVersion;
use farbird_wire::xdr::{DecodeError, Reader};

use super::spill::HeldRows;
use super::statement_cache::Shape;
use crate::message::{Cursor, End};

/// Bytes in front of the row in an op_fetch_response: operation, status, count.
const FETCH_HEAD_BYTES: usize = 12;

/// A batch ends before it has all rows that were asked for only when it has so many bytes and rows, as Firebird's do (16 packets
/// of 32 KiB): a program that asks for 1,000 numbers has never seen fewer.
const SHORT_BATCH_BYTES_MIN: usize = 512 << 10;
const SHORT_BATCH_ROWS_MIN: usize = 10;

/// A cursor whose rows are pushed.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) cursor: Cursor,
    pub(super) transaction: u16,
    /// How its rows are pushed; `None` until the program has fetched.
    pub(super) shape: Option<Arc<Shape>>,
    /// The rows as the program wants them, if that is not how they are pushed.
    pub(super) wanted: Option<Arc<MessageFormat>>,
    chunks: VecDeque<Chunk>,
    /// BLOBs that came before the rows that are to come next.
    blob_bytes: usize,
    /// What the program has of the batch that it waits for.
    batch: Batch,
    end: Option<End>,
    /// Whether the program was told that fetching has failed.
    has_told_failure: bool,
    /// Bytes that the origin was allowed to send and the program has not taken.
    pub(super) granted: usize,
    /// Bytes taken since credit was given last.
    taken: usize,
    /// Whether they were run ahead: the origin has no such cursor.
    pub(super) is_local: bool,
}

#[derive(Debug)]
struct Chunk {
    packets: HeldRows,
    /// How much of them the program has.
    at: usize,
    blob_bytes: usize,
}

/// The part of a batch that has been given.
#[derive(Debug, Default)]
struct Batch {
    rows: usize,
    bytes: usize,
}

/// What a fetch led to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fetched {
    /// How many rows were given now.
    pub(super) rows: usize,
    /// Whether what ends the batch was given, too; if not, further rows are to come.
    pub(super) is_done: bool,
}

/// Why rows that are here cannot be given.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotGiven {
    /// The origin's packets are damaged.
    Damaged(DecodeError),
    /// They were not in memory, and cannot be read.
    Lost,
}

impl From<DecodeError> for NotGiven {
    fn from(error: DecodeError) -> NotGiven {
        NotGiven::Damaged(error)
    }
}

impl Rows {
    pub(super) fn new(cursor: Cursor, transaction: u16, shape: Option<Arc<Shape>>) -> Rows {
        Rows {
            cursor,
            transaction,
            shape,
            wanted: None,
            chunks: VecDeque::new(),
            blob_bytes: 0,
            batch: Batch::default(),
            end: None,
            has_told_failure: false,
            granted: 0,
            taken: 0,
            is_local: false,
        }
    }

    /// BLOBs came that belong to rows to come.
    pub(super) fn add_blob(&mut self, bytes: usize) {
        self.blob_bytes += bytes;
    }

    /// Rows came.
    pub(super) fn add(&mut self, packets: HeldRows, end: Option<End>) {
        let blob_bytes = std::mem::take(&mut self.blob_bytes);
        if !packets.is_empty() || blob_bytes > 0 {
            self.chunks.push_back(Chunk { packets, at: 0, blob_bytes });
        }
        if end.is_some() {
            self.end = end;
        }
    }

    /// Whether the program has come to the end.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some() && self.chunks.is_empty()
    }

    /// Whether the program was told that fetching has failed: what comes next only the server knows.
    pub(super) fn has_failed(&self) -> bool {
        self.has_told_failure
    }

    /// Gives the program what is here of a batch of `count` rows, and what ends the batch once it is whole: is called again with the
    /// same `count` until then.
    ///
    /// # Errors
    /// [`NotGiven`].
    pub(super) fn fetch(
        &mut self,
        count: usize,
        version: ProtocolVersion,
        out: &mut Vec<u8>,
    ) -> Result<Fetched, NotGiven> {
        let rows = self.give_rows(count.saturating_sub(self.batch.rows), version, out)?;
        let is_done = self.end_batch(count, version, out);
        if is_done {
            self.batch = Batch::default();
        }
        Ok(Fetched { rows, is_done })
    }

    /// Gives up to `count` rows of what is here.
    fn give_rows(
        &mut self,
        count: usize,
        version: ProtocolVersion,
        out: &mut Vec<u8>,
    ) -> Result<usize, NotGiven> {
        let form = MessageForm::of_sql(version);
        let mut given = 0;
        while given < count
            && let (Some(chunk), Some(shape)) = (self.chunks.front_mut(), &self.shape)
        {
            let packets = chunk.packets.bring().map_err(|_| NotGiven::Lost)?;
            let (whole, rest) = (packets.len(), packets.get(chunk.at..).unwrap_or_default());
            let (bytes, rows) = measure_rows(rest, &shape.format, form, count - given)?;
            let packets = rest.get(..bytes).unwrap_or_default();
            match &self.wanted {
                None => out.extend_from_slice(packets),
                Some(wanted) => convert(packets, &shape.format, wanted, version, out)?,
            }
            given += rows;
            chunk.at += bytes;
            self.taken += bytes;
            self.batch.rows += rows;
            self.batch.bytes += bytes;
            if chunk.at < whole {
                if rows == 0 {
                    return Err(DecodeError::BadValue { offset: chunk.at, value: 0 }.into());
                }
                continue;
            }
            self.taken += chunk.blob_bytes;
            self.chunks.pop_front();
        }
        Ok(given)
    }

    /// Gives what ends a batch of `count` rows; false if rows must come first.
    fn end_batch(&mut self, count: usize, version: ProtocolVersion, out: &mut Vec<u8>) -> bool {
        let is_full = self.batch.rows >= count.max(1) || count == 0;
        let mark = match &self.end {
            _ if is_full || !self.chunks.is_empty() => FetchResponse::END_OF_BATCH,
            Some(End::Complete) => FetchResponse::END_OF_CURSOR,
            Some(End::Failed(response)) => {
                self.has_told_failure = true;
                out.extend_from_slice(response);
                return true;
            }
            None if self.batch.bytes >= SHORT_BATCH_BYTES_MIN && self.batch.rows >= SHORT_BATCH_ROWS_MIN => {
                FetchResponse::END_OF_BATCH
            }
            None => return false,
        };
        Reply::FetchResponse(mark).encode(version, out);
        true
    }

    /// Credit to be given: what was taken, as soon as it is a good part of the window.
    pub(super) fn take_credit(&mut self, window: usize) -> Option<usize> {
        if self.end.is_some() || self.taken < window / 4 {
            return None;
        }
        Some(std::mem::take(&mut self.taken))
    }
}

/// Rows in another format: the program describes them in another way than it did last time.
fn convert(
    packets: &[u8],
    from: &MessageFormat,
    to: &MessageFormat,
    version: ProtocolVersion,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let form = MessageForm::of_sql(version);
    let mut rest = packets;
    while !rest.is_empty() {
        let (bytes, _) = measure_rows(rest, from, form, 1)?;
        let (packet, behind) = rest.split_at_checked(bytes).unwrap_or((rest, &[]));
        // Inline BLOBs are never asked for together with this.
        let row = packet.get(FETCH_HEAD_BYTES..).unwrap_or_default();
        let mut values = Vec::new();
        let damaged = DecodeError::BadValue { offset: 0, value: 0 };
        from.decode_row(form, &mut Reader::new(row), &mut values).map_err(|_| damaged)?;
        encode_fetch_row(to, version, &values, out).map_err(|_| damaged)?;
        rest = behind;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_types::Value;
    use farbird_wire::message::MessageType;

    const VERSION: ProtocolVersion = ProtocolVersion::V13;

    fn rows_of(numbers: &[i32], format: &MessageFormat) -> Vec<u8> {
        let mut packets = Vec::new();
        for number in numbers {
            encode_fetch_row(format, VERSION, &[Value::integer(i64::from(*number))], &mut packets).unwrap();
        }
        packets
    }

    fn opened() -> (Rows, Arc<MessageFormat>) {
        let format = Arc::new(MessageFormat::from_columns([MessageType::Long { scale: 0 }]));
        let shape = Shape { blr: format.to_blr(), format: Arc::clone(&format) };
        (Rows::new(Cursor(1), 1, Some(Arc::new(shape))), format)
    }

    fn fetched(rows: &mut Rows, count: usize) -> (Fetched, Vec<u8>) {
        let mut out = Vec::new();
        let fetched = rows.fetch(count, VERSION, &mut out).unwrap();
        (fetched, out)
    }

    fn done(rows: usize) -> Fetched {
        Fetched { rows, is_done: true }
    }

    fn waiting(rows: usize) -> Fetched {
        Fetched { rows, is_done: false }
    }

    const END_OF_BATCH: [u8; 12] = [0, 0, 0, 66, 0, 0, 0, 0, 0, 0, 0, 0];
    const END_OF_CURSOR: [u8; 12] = [0, 0, 0, 66, 0, 0, 0, 100, 0, 0, 0, 0];

    #[test]
    fn as_many_rows_as_asked_for_and_no_more() {
        let (mut rows, format) = opened();
        assert_eq!(fetched(&mut rows, 2), (waiting(0), Vec::new()));
        rows.add(HeldRows::uncounted(rows_of(&[1, 2, 3], &format)), None);
        let expected = [rows_of(&[1, 2], &format), END_OF_BATCH.to_vec()].concat();
        assert_eq!(fetched(&mut rows, 2), (done(2), expected));
        rows.add(HeldRows::uncounted(rows_of(&[4], &format)), Some(End::Complete));
        let expected = [rows_of(&[3, 4], &format), END_OF_CURSOR.to_vec()].concat();
        assert_eq!(fetched(&mut rows, 10), (done(2), expected));
        assert_eq!(fetched(&mut rows, 10), (done(0), END_OF_CURSOR.to_vec()));
    }

    #[test]
    fn a_batch_is_whole_however_its_rows_come() {
        let (mut rows, format) = opened();
        rows.add(HeldRows::uncounted(rows_of(&[1, 2], &format)), None);
        assert_eq!(fetched(&mut rows, 4), (waiting(2), rows_of(&[1, 2], &format)));
        assert_eq!(fetched(&mut rows, 4), (waiting(0), Vec::new()));
        rows.add(HeldRows::uncounted(rows_of(&[3, 4, 5], &format)), None);
        let expected = [rows_of(&[3, 4], &format), END_OF_BATCH.to_vec()].concat();
        assert_eq!(fetched(&mut rows, 4), (done(2), expected));
        assert_eq!(fetched(&mut rows, 4), (waiting(1), rows_of(&[5], &format)));
        rows.add(HeldRows::uncounted(Vec::new()), Some(End::Complete));
        assert_eq!(fetched(&mut rows, 4), (done(0), END_OF_CURSOR.to_vec()));
    }

    #[test]
    fn a_batch_of_many_bytes_may_end_early() {
        let (mut rows, format) = opened();
        let numbers: Vec<i32> = (0..40_000).collect();
        rows.add(HeldRows::uncounted(rows_of(&numbers, &format)), None);
        assert_eq!(fetched(&mut rows, 65_535).0, done(40_000));
        rows.add(HeldRows::uncounted(rows_of(&[1], &format)), None);
        assert_eq!(fetched(&mut rows, 65_535).0, waiting(1));
    }

    #[test]
    fn an_error_comes_behind_the_rows_before_it() {
        let (mut rows, format) = opened();
        rows.add(HeldRows::uncounted(rows_of(&[1], &format)), Some(End::Failed(vec![0, 0, 0, 9])));
        let expected = [rows_of(&[1], &format), vec![0, 0, 0, 9]].concat();
        assert_eq!(fetched(&mut rows, 10), (done(1), expected));
        assert!(rows.has_failed());
    }

    #[test]
    fn credit_comes_back_with_what_the_program_takes() {
        let (mut rows, format) = opened();
        let packets = rows_of(&[1, 2, 3, 4], &format);
        let row = packets.len() / 4;
        rows.add_blob(100);
        rows.add(HeldRows::uncounted(packets), None);
        fetched(&mut rows, 2);
        assert_eq!(rows.take_credit(8 * row), Some(2 * row));
        fetched(&mut rows, 2);
        assert_eq!(rows.take_credit(8 * row), Some(2 * row + 100));
        assert_eq!(rows.take_credit(8 * row), None);
    }

    #[test]
    fn rows_come_in_the_format_that_the_program_asks_for_now() {
        let (mut rows, format) = opened();
        let wanted = Arc::new(MessageFormat::from_columns([MessageType::Int64 { scale: 0 }]));
        rows.wanted = Some(Arc::clone(&wanted));
        rows.add(HeldRows::uncounted(rows_of(&[7], &format)), None);
        let mut expected = Vec::new();
        encode_fetch_row(&wanted, VERSION, &[Value::integer(7)], &mut expected).unwrap();
        expected.extend_from_slice(&END_OF_BATCH);
        assert_eq!(fetched(&mut rows, 1), (done(1), expected));
    }

    #[test]
    fn damaged_packets_are_an_error() {
        let (mut rows, format) = opened();
        let mut packets = rows_of(&[1], &format);
        packets.pop();
        rows.add(HeldRows::uncounted(packets), None);
        assert!(rows.fetch(1, VERSION, &mut Vec::new()).is_err());
        let (mut rows, _) = opened();
        rows.add(HeldRows::uncounted(vec![0; 40]), None);
        assert!(rows.fetch(1, VERSION, &mut Vec::new()).is_err());
    }
}

//! Rows that are pushed, on their way to the program.

use std::collections::VecDeque;
use std::sync::Arc;

use farbird_wire::message::{MessageForm, MessageFormat, measure_rows};
use farbird_wire::packet::{FetchResponse, Reply, encode_fetch_row};
use farbird_wire::protocol::ProtocolVersion;
use farbird_wire::xdr::{DecodeError, Reader};

use super::statement_cache::Shape;
use crate::message::{Cursor, End};

/// Bytes in front of the row in an op_fetch_response: operation, status, count.
const FETCH_HEAD_BYTES: usize = 12;

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
    packets: Vec<u8>,
    /// How much of them the program has.
    at: usize,
    blob_bytes: usize,
}

/// What a fetch led to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fetched {
    /// Nothing yet: rows are to come.
    Waiting,
    /// So many rows, and what ends the batch.
    Done(usize),
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
    pub(super) fn add(&mut self, packets: Vec<u8>, end: Option<End>) {
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

    /// Gives the program up to `count` rows of what is here, and what ends the batch.
    ///
    /// # Errors
    /// The origin's packets are damaged.
    pub(super) fn fetch(
        &mut self,
        count: usize,
        version: ProtocolVersion,
        out: &mut Vec<u8>,
    ) -> Result<Fetched, DecodeError> {
        let form = MessageForm::of_sql(version);
        let mut given = 0;
        while given < count
            && let (Some(chunk), Some(shape)) = (self.chunks.front_mut(), &self.shape)
        {
            let rest = chunk.packets.get(chunk.at..).unwrap_or_default();
            let (bytes, rows) = measure_rows(rest, &shape.format, form, count - given)?;
            let packets = rest.get(..bytes).unwrap_or_default();
            match &self.wanted {
                None => out.extend_from_slice(packets),
                Some(wanted) => convert(packets, &shape.format, wanted, version, out)?,
            }
            given += rows;
            chunk.at += bytes;
            self.taken += bytes;
            if chunk.at < chunk.packets.len() {
                if rows == 0 {
                    return Err(DecodeError::BadValue { offset: chunk.at, value: 0 });
                }
                continue;
            }
            self.taken += chunk.blob_bytes;
            self.chunks.pop_front();
        }
        let is_drained = self.chunks.is_empty();
        if given == 0 && count > 0 && is_drained && self.end.is_none() {
            return Ok(Fetched::Waiting);
        }
        let mark = match &self.end {
            Some(End::Complete) if is_drained && given < count.max(1) => FetchResponse::END_OF_CURSOR,
            Some(End::Failed(response)) if is_drained && given < count.max(1) => {
                self.has_told_failure = true;
                out.extend_from_slice(response);
                return Ok(Fetched::Done(given));
            }
            _ => FetchResponse::END_OF_BATCH,
        };
        Reply::FetchResponse(mark).encode(version, out);
        Ok(Fetched::Done(given))
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

    const END_OF_BATCH: [u8; 12] = [0, 0, 0, 66, 0, 0, 0, 0, 0, 0, 0, 0];
    const END_OF_CURSOR: [u8; 12] = [0, 0, 0, 66, 0, 0, 0, 100, 0, 0, 0, 0];

    #[test]
    fn as_many_rows_as_asked_for_and_no_more() {
        let (mut rows, format) = opened();
        assert_eq!(fetched(&mut rows, 2).0, Fetched::Waiting);
        rows.add(rows_of(&[1, 2, 3], &format), None);
        let expected = [rows_of(&[1, 2], &format), END_OF_BATCH.to_vec()].concat();
        assert_eq!(fetched(&mut rows, 2), (Fetched::Done(2), expected));
        rows.add(rows_of(&[4], &format), Some(End::Complete));
        let expected = [rows_of(&[3, 4], &format), END_OF_CURSOR.to_vec()].concat();
        assert_eq!(fetched(&mut rows, 10), (Fetched::Done(2), expected));
        assert_eq!(fetched(&mut rows, 10), (Fetched::Done(0), END_OF_CURSOR.to_vec()));
    }

    #[test]
    fn an_error_comes_behind_the_rows_before_it() {
        let (mut rows, format) = opened();
        rows.add(rows_of(&[1], &format), Some(End::Failed(vec![0, 0, 0, 9])));
        let expected = [rows_of(&[1], &format), vec![0, 0, 0, 9]].concat();
        assert_eq!(fetched(&mut rows, 10), (Fetched::Done(1), expected));
        assert!(rows.has_failed());
    }

    #[test]
    fn credit_comes_back_with_what_the_program_takes() {
        let (mut rows, format) = opened();
        let packets = rows_of(&[1, 2, 3, 4], &format);
        let row = packets.len() / 4;
        rows.add_blob(100);
        rows.add(packets, None);
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
        rows.add(rows_of(&[7], &format), None);
        let mut expected = Vec::new();
        encode_fetch_row(&wanted, VERSION, &[Value::integer(7)], &mut expected).unwrap();
        expected.extend_from_slice(&END_OF_BATCH);
        assert_eq!(fetched(&mut rows, 1), (Fetched::Done(1), expected));
    }

    #[test]
    fn damaged_packets_are_an_error() {
        let (mut rows, format) = opened();
        let mut packets = rows_of(&[1], &format);
        packets.pop();
        rows.add(packets, None);
        assert!(rows.fetch(1, VERSION, &mut Vec::new()).is_err());
        let (mut rows, _) = opened();
        rows.add(vec![0; 40], None);
        assert!(rows.fetch(1, VERSION, &mut Vec::new()).is_err());
    }
}

//! Runs of rows: what consecutive op_fetch_response packets carry, in one buffer.
//!
//! A client that decoded each row into a value of its own would spend its time in the allocator. A run keeps the packets
//! as they came, checked while they were walked, and says where each row ends; values are read where they lie.
//!
//! Promises: no allocation per row; a run is bounded by [`RunLimits`]; what [`RowRun::read`] accepted has all its values.
//! Uses [`super::layout`]. Source: wire-protocol.md, 6.2 and 7.2 to 7.4.

use std::sync::Arc;

use farbird_types::Value;

use super::codec;
use super::descriptor::MessageType;
use super::format::MessageFormat;
use super::layout::Place;
use super::{Message, MessageForm, whole};
use crate::operation::Operation;
use crate::xdr::{DecodeError, Reader, Stop};

/// What stands in front of each row: the operation, status 0, one message.
pub(crate) const FETCH_HEAD: [u8; 12] = {
    let [a, b, c, d] = Operation::FetchResponse.code().to_be_bytes();
    [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 1]
};

/// How much goes into one run. A run ends with the packets that are here, so these only bound what is handed out at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Most rows.
    pub rows: usize,
    /// Bytes of packets after which no further row is taken.
    pub bytes: usize,
}

impl Default for RunLimits {
    fn default() -> RunLimits {
        RunLimits { rows: 16_384, bytes: 256 * 1024 }
    }
}

/// Rows of one format that came one behind the other.
#[derive(Debug, Clone, PartialEq)]
pub struct RowRun {
    format: Arc<MessageFormat>,
    form: MessageForm,
    /// The packets as they came.
    bytes: Vec<u8>,
    /// Bytes in front of each row.
    head: usize,
    /// Where each row ends.
    ends: Vec<u32>,
}

impl RowRun {
    /// Takes the rows at the front of the reader, whole packets only. `None`, and nothing is read, if something else
    /// stands there.
    ///
    /// # Errors
    /// [`Stop`] if not even one row could be taken. What is damaged behind whole rows is met by the next call.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        format: &Arc<MessageFormat>,
        form: MessageForm,
        limits: RunLimits,
    ) -> Result<Option<RowRun>, Stop> {
        let bytes = reader.rest();
        let (taken, ends) = walk(bytes, format, form, limits)?;
        if ends.is_empty() {
            return Ok(None);
        }
        let bytes = reader.raw(taken)?.to_vec();
        Ok(Some(RowRun { format: Arc::clone(format), form, bytes, head: FETCH_HEAD.len(), ends }))
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The format of the rows.
    pub fn format(&self) -> &Arc<MessageFormat> {
        &self.format
    }

    /// The packets as they travelled. (Of a run made of a [`Message`] that is the message alone.)
    pub fn wire(&self) -> &[u8] {
        &self.bytes
    }

    /// Memory that it takes, in bytes.
    pub fn memory(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<u32>()
    }

    /// The row at `index`; `None` past the end.
    #[inline]
    pub fn row(&self, index: usize) -> Option<RowRef<'_>> {
        let end = *self.ends.get(index)? as usize;
        let start = match index.checked_sub(1) {
            None => 0,
            Some(before) => *self.ends.get(before)? as usize,
        };
        let bytes = self.bytes.get(start + self.head..end)?;
        Some(RowRef { format: &self.format, form: self.form, bytes })
    }

    /// The rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = RowRef<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let end = *end as usize;
            let bytes = self.bytes.get(start + self.head..end).unwrap_or_default();
            start = end;
            RowRef { format: &self.format, form: self.form, bytes }
        })
    }
}

impl From<Message> for RowRun {
    /// The run of one row.
    fn from(message: Message) -> RowRun {
        let Message { format, form, wire } = message;
        let ends = vec![u32::try_from(wire.len()).unwrap_or(u32::MAX)];
        RowRun { format, form, bytes: wire, head: 0, ends }
    }
}

/// Finds the ends of the rows at the front of `bytes`; gives how many bytes they take.
fn walk(
    bytes: &[u8],
    format: &MessageFormat,
    form: MessageForm,
    limits: RunLimits,
) -> Result<(usize, Vec<u32>), Stop> {
    let layout = format.layout();
    // The packet of a row without NULLs, if all those have one length, and how many of its first bytes are known.
    let uniform = layout.packed_length().filter(|_| form == MessageForm::Packed);
    let uniform = uniform.map(|length| (FETCH_HEAD.len() + length, layout.null_bytes()));
    let mut ends = Vec::new();
    if let Some((length, _)) = uniform {
        ends.reserve((bytes.len() / length).min(limits.rows).min(limits.bytes / length + 1));
    }
    let mut at = 0;
    while ends.len() < limits.rows && at < limits.bytes {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = match uniform {
            Some((length, nulls)) if rest.len() >= length && starts_without_nulls(rest, nulls) => length,
            _ => match packet_length(rest, format, form) {
                Ok(Some(length)) => length,
                Ok(None) => break,
                Err(stop) if ends.is_empty() => return Err(stop),
                Err(_) => break,
            },
        };
        at += length;
        let Ok(end) = u32::try_from(at) else { break };
        ends.push(end);
    }
    Ok((ends.last().map_or(0, |end| *end as usize), ends))
}

/// How much of `bytes` the first rows take: op_fetch_response packets with a row each, and op_inline_blob packets before them. Gives
/// bytes and rows; it ends behind a row, at `rows_max` or before what is none.
///
/// # Errors
/// [`DecodeError`] where a packet is damaged or not whole.
pub fn measure_rows(
    bytes: &[u8],
    format: &MessageFormat,
    form: MessageForm,
    rows_max: usize,
) -> Result<(usize, usize), DecodeError> {
    let layout = format.layout();
    let uniform = layout.packed_length().filter(|_| form == MessageForm::Packed);
    let uniform = uniform.map(|length| (FETCH_HEAD.len() + length, layout.null_bytes()));
    let (mut at, mut end, mut rows) = (0, 0, 0);
    while rows < rows_max && at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        if rest.starts_with(&Operation::InlineBlob.code().to_be_bytes()) {
            let mut reader = Reader::new(rest);
            inline_blob(&mut reader).map_err(whole)?;
            at += reader.offset();
            continue;
        }
        at += match uniform {
            Some((length, nulls)) if rest.len() >= length && starts_without_nulls(rest, nulls) => length,
            _ => match packet_length(rest, format, form).map_err(whole)? {
                Some(length) => length,
                None => break,
            },
        };
        (end, rows) = (at, rows + 1);
    }
    Ok((end, rows))
}

fn inline_blob(reader: &mut Reader<'_>) -> Result<(), Stop> {
    // Operation, transaction, BLOB.
    reader.raw(16)?;
    for _ in 0..2 {
        reader.counted(reader.remaining())?;
    }
    Ok(())
}

/// Whether a row's packet begins here, none of whose columns is NULL.
#[inline]
fn starts_without_nulls(packet: &[u8], null_bytes: usize) -> bool {
    match packet.split_first_chunk::<12>() {
        Some((head, rest)) => {
            *head == FETCH_HEAD
                && rest.get(..null_bytes).is_some_and(|bits| bits.iter().all(|bits| *bits == 0))
        }
        None => false,
    }
}

/// Length of the row's packet that begins here; `None` if another packet does.
fn packet_length(bytes: &[u8], format: &MessageFormat, form: MessageForm) -> Result<Option<usize>, Stop> {
    let here = bytes.get(..bytes.len().min(FETCH_HEAD.len())).unwrap_or_default();
    if !FETCH_HEAD.starts_with(here) {
        return Ok(None);
    }
    let mut reader = Reader::new(bytes);
    reader.raw(FETCH_HEAD.len())?;
    format.skip(form, &mut reader)?;
    Ok(Some(reader.offset()))
}

/// One row of a run.
#[derive(Debug, Clone, Copy)]
pub struct RowRef<'a> {
    format: &'a MessageFormat,
    form: MessageForm,
    bytes: &'a [u8],
}

/// A place in a row up to which somebody has walked: values behind it are found without walking again. 0 is the first
/// column. Only for the row that gave it; with another one, columns are found wrong or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark(u64);

impl Mark {
    /// As a number, to be kept.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// From [`Mark::to_bits`].
    pub fn from_bits(bits: u64) -> Mark {
        Mark(bits)
    }

    fn place(self) -> Option<Place> {
        let (column, offset) = ((self.0 >> 32) as usize, (self.0 & 0xFFFF_FFFF) as usize);
        (column > 0).then_some(Place { column, offset })
    }

    fn of(place: Place) -> Mark {
        match (u32::try_from(place.column), u32::try_from(place.offset)) {
            (Ok(column), Ok(offset)) => Mark(u64::from(column) << 32 | u64::from(offset)),
            _ => Mark::default(),
        }
    }
}

impl<'a> RowRef<'a> {
    /// The format.
    pub fn format(&self) -> &'a MessageFormat {
        self.format
    }

    /// The bytes as they travel.
    pub fn wire(&self) -> &'a [u8] {
        self.bytes
    }

    /// The value of a column, from 0; `None` past the last.
    ///
    /// Direct if no text of variable length and no NULL is before it, else the row is walked up to it: use
    /// [`RowRef::values`] for many.
    #[inline]
    pub fn value(&self, column: usize) -> Option<WireValue<'a>> {
        self.value_from(column, &mut Mark::default())
    }

    /// As [`RowRef::value`], walking from `mark` on if the column is not before it. The mark is moved behind the column.
    #[inline]
    pub fn value_from(&self, column: usize, mark: &mut Mark) -> Option<WireValue<'a>> {
        let layout = self.format.layout();
        let kind = self.format.column_type(column)?;
        if let Some(offset) = layout.direct_offset(self.form, column, self.bytes) {
            let (content, _) = layout.value_at(kind, self.form, self.bytes, Place { column, offset })?;
            return Some(WireValue { kind: *kind, content });
        }
        let mut place = match mark.place() {
            Some(place) if place.column <= column => place,
            _ => layout.first(self.form),
        };
        loop {
            let kind = self.format.column_type(place.column)?;
            let (content, next) = layout.value_at(kind, self.form, self.bytes, place)?;
            if place.column == column {
                *mark = Mark::of(next);
                return Some(WireValue { kind: *kind, content });
            }
            place = next;
        }
    }

    /// The values in order.
    pub fn values(&self) -> impl Iterator<Item = WireValue<'a>> {
        let (form, bytes, layout) = (self.form, self.bytes, self.format.layout());
        let mut place = layout.first(form);
        self.format.columns().map_while(move |kind| {
            let (content, next) = layout.value_at(kind, form, bytes, place)?;
            place = next;
            Some(WireValue { kind: *kind, content })
        })
    }

    /// The values in order, as SQL values.
    pub fn to_values(&self) -> Vec<Value> {
        let mut values = Vec::with_capacity(self.format.column_count());
        values.extend(self.values().map(|value| value.to_value()));
        values
    }
}

/// A value where it lies in its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireValue<'a> {
    kind: MessageType,
    content: Option<&'a [u8]>,
}

impl<'a> WireValue<'a> {
    /// Its type.
    #[inline]
    pub fn kind(&self) -> MessageType {
        self.kind
    }

    /// Its bytes, unless it is NULL: of texts the text, without length and padding to words (a CHAR has its declared
    /// length in bytes); of other types all bytes of the wire form, big-endian.
    #[inline]
    pub fn content(&self) -> Option<&'a [u8]> {
        self.content
    }

    /// Whether it is NULL.
    pub fn is_null(&self) -> bool {
        self.content.is_none()
    }

    /// As an SQL value.
    pub fn to_value(&self) -> Value {
        match self.content {
            None => Value::Null,
            Some(content) => codec::value_of(&self.kind, content),
        }
    }
}

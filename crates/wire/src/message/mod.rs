//! SQL messages: rows and parameter sets as they travel, and the formats that describe them.
//!
//! A message has no description of its own: BLR that was sent earlier (or earlier in the same packet) says how it is
//! laid out. [`MessageFormat`] is that BLR understood; [`MessageType`] one item of it; [`Message`] the bytes of one
//! message together with its format. Messages are kept as the bytes that travel and become
//! [`farbird_types::Value`]s only on request, so relaying one costs a copy and loses nothing.
//!
//! Promises: no panic on any bytes; encoding a row allocates nothing but room in the output buffer.
//! Uses [`crate::xdr`] and `farbird_types`. Source: wire-protocol.md, 7.

mod codec;
mod columns;
mod descriptor;
mod format;
mod layout;
mod run;

pub(crate) use codec::skip_values;
pub use codec::{EncodeError, EncodeFault};
pub use columns::{ColumnData, ColumnSlice, RowsWritten};
pub use descriptor::{DYNAMIC_CHARACTER_SET, MessageType, SqlDescription, sql_type};
pub use format::{MessageFormat, parse_message_formats};
pub use run::{Mark, RowRef, RowRun, RunLimits, WireValue, measure_rows};

use std::sync::Arc;

use farbird_types::Value;

use crate::protocol::ProtocolVersion;
use crate::xdr::{DecodeError, Reader, Stop};

/// How the values of a message are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageForm {
    /// A bitmap of NULLs, then the values that are not NULL (protocol 13 and later).
    Packed,
    /// Every value, each with an indicator word; always so in op_send and its relatives.
    Unpacked,
}

impl MessageForm {
    /// The form of SQL messages in a protocol version.
    pub fn of_sql(version: ProtocolVersion) -> MessageForm {
        if version.has_packed_messages() { MessageForm::Packed } else { MessageForm::Unpacked }
    }
}

/// Most room that is made for a row before its length is known.
const ROW_BYTES_GUESSED: usize = 128;

/// One message: its bytes on the wire and the format that explains them.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    format: Arc<MessageFormat>,
    form: MessageForm,
    wire: Vec<u8>,
}

impl Message {
    /// Encodes one row of values, already converted to the types of the format.
    ///
    /// # Errors
    /// [`EncodeError`] names the column that does not fit its type.
    pub fn new(
        format: Arc<MessageFormat>,
        form: MessageForm,
        values: &[Value],
    ) -> Result<Message, EncodeError> {
        let mut wire = Vec::with_capacity((format.length() as usize).min(ROW_BYTES_GUESSED));
        format.encode_row(form, values, &mut wire)?;
        Ok(Message { format, form, wire })
    }

    /// Encodes one value per descriptor: the messages of BLR requests, whose descriptors need not come in pairs of
    /// value and indicator.
    ///
    /// # Errors
    /// [`EncodeError`] names the descriptor that does not fit its type.
    pub fn from_descriptor_values(
        format: Arc<MessageFormat>,
        values: &[Value],
    ) -> Result<Message, EncodeError> {
        let mut wire = Vec::new();
        format.encode_descriptors(values, &mut wire)?;
        Ok(Message { format, form: MessageForm::Unpacked, wire })
    }

    /// Takes one message off the reader.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        format: &Arc<MessageFormat>,
        form: MessageForm,
    ) -> Result<Message, Stop> {
        let start = reader.offset();
        format.skip(form, reader)?;
        Ok(Message { format: Arc::clone(format), form, wire: reader.since(start).to_vec() })
    }

    /// The format.
    pub fn format(&self) -> &Arc<MessageFormat> {
        &self.format
    }

    /// The layout.
    pub fn form(&self) -> MessageForm {
        self.form
    }

    /// The bytes as they travel.
    pub fn wire(&self) -> &[u8] {
        &self.wire
    }

    /// The row's values, one per column (pair of descriptors).
    ///
    /// # Errors
    /// [`DecodeError`] if the format has no value-and-indicator pairs; the bytes were checked when they came in.
    pub fn values(&self) -> Result<Vec<Value>, DecodeError> {
        let mut values = Vec::with_capacity(self.format.column_count());
        self.format.decode_row(self.form, &mut Reader::new(&self.wire), &mut values).map_err(whole)?;
        Ok(values)
    }

    /// One value per descriptor, indicators included, of an unpacked message.
    ///
    /// # Errors
    /// [`DecodeError`] for a packed message.
    pub fn descriptor_values(&self) -> Result<Vec<Value>, DecodeError> {
        if self.form != MessageForm::Unpacked {
            return Err(DecodeError::BadValue { offset: 0, value: 0 });
        }
        let mut values = Vec::with_capacity(self.format.types().len());
        self.format.decode_descriptors(&mut Reader::new(&self.wire), &mut values).map_err(whole)?;
        Ok(values)
    }
}

/// A run of packed messages of one format, as op_batch_msg carries them.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRun {
    format: Arc<MessageFormat>,
    count: u32,
    wire: Vec<u8>,
}

impl MessageRun {
    /// An empty run.
    pub fn new(format: Arc<MessageFormat>) -> MessageRun {
        MessageRun { format, count: 0, wire: Vec::new() }
    }

    pub(crate) fn from_checked(format: Arc<MessageFormat>, count: u32, wire: Vec<u8>) -> MessageRun {
        MessageRun { format, count, wire }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`EncodeError`] names the column that does not fit its type; the run is then unchanged.
    pub fn push(&mut self, values: &[Value]) -> Result<(), EncodeError> {
        self.format.encode_row(MessageForm::Packed, values, &mut self.wire)?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// The format of the rows.
    pub fn format(&self) -> &Arc<MessageFormat> {
        &self.format
    }

    /// How many rows there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The bytes as they travel.
    pub fn wire(&self) -> &[u8] {
        &self.wire
    }

    /// The rows, decoded one by one into `values` of the caller through [`RunReader::next_row`].
    pub fn rows(&self) -> RunReader<'_> {
        RunReader { run: self, reader: Reader::new(&self.wire), left: self.count }
    }
}

/// Walks the rows of a [`MessageRun`].
#[derive(Debug)]
pub struct RunReader<'a> {
    run: &'a MessageRun,
    reader: Reader<'a>,
    left: u32,
}

impl RunReader<'_> {
    /// Replaces `values` by the next row; false when there is none.
    ///
    /// # Errors
    /// [`DecodeError`] cannot happen for a run that came through a decoder.
    pub fn next_row(&mut self, values: &mut Vec<Value>) -> Result<bool, DecodeError> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        values.clear();
        self.run.format.decode_row(MessageForm::Packed, &mut self.reader, values).map_err(whole)?;
        Ok(true)
    }
}

/// Turns "more bytes needed" into an error where there can be no more.
pub(crate) fn whole(stop: Stop) -> DecodeError {
    match stop {
        Stop::NeedMore => DecodeError::Truncated { offset: 0 },
        Stop::Bad(error) => error,
    }
}

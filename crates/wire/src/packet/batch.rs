//! Packets about batches: many rows for one statement, with their blobs.
//!
//! Source: wire-protocol.md, 6.11.

use std::sync::Arc;

use super::{Context, Field};
use crate::blob_stream::BlobStreamPortion;
use crate::message::{MessageForm, MessageFormat, MessageRun};
use crate::protocol::{Handle, ProtocolVersion};
use crate::xdr::{DecodeError, Reader, Stop, Writer};

/// Starts a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchCreate {
    /// The statement.
    pub statement: Handle,
    /// BLR of the rows.
    pub blr: Vec<u8>,
    /// What the client thinks [`MessageFormat::length`] is; Firebird refuses a difference with SQLCODE -804.
    pub message_length: u32,
    /// Batch parameter block.
    pub parameters: Vec<u8>,
    /// The BLR understood.
    pub format: Arc<MessageFormat>,
}

impl Field for BatchCreate {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let statement = Handle(reader.u16()?);
        let blr = Vec::read(reader, context)?;
        let format = MessageFormat::parse(&blr)?.ok_or(DecodeError::NoFormat { object: statement.0 })?;
        Ok(BatchCreate {
            statement,
            blr,
            message_length: reader.u32()?,
            parameters: Vec::read(reader, context)?,
            format: Arc::new(format),
        })
    }

    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.short(self.statement.0);
        writer.counted(&self.blr);
        writer.u32(self.message_length);
        writer.counted(&self.parameters);
    }
}

/// Adds rows to a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchMessages {
    /// The statement.
    pub statement: Handle,
    /// The rows.
    pub rows: MessageRun,
}

impl Field for BatchMessages {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let statement = Handle(reader.u16()?);
        let offset = reader.offset();
        let count = reader.u32()?;
        let format = context.memory.batch_format(statement)?;
        if format.column_count() == 0 && count > 0 {
            // Rows without a byte could be any number.
            return Err(DecodeError::BadValue { offset, value: count }.into());
        }
        let start = reader.offset();
        // A packet of many rows may come in many pieces: go on where the last attempt stopped.
        let mut done = context.memory.take_batch_progress(reader)?;
        while done < count {
            let row = reader.offset();
            match format.skip(MessageForm::Packed, reader) {
                Ok(()) => done += 1,
                Err(Stop::NeedMore) => {
                    context.memory.keep_batch_progress(done, row - start);
                    return Err(Stop::NeedMore);
                }
                Err(bad) => return Err(bad),
            }
        }
        let rows = MessageRun::from_checked(format, count, reader.since(start).to_vec());
        Ok(BatchMessages { statement, rows })
    }

    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.short(self.statement.0);
        writer.u32(self.rows.count());
        writer.raw(self.rows.wire());
    }
}

/// Sends blobs of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchBlobs {
    /// The statement.
    pub statement: Handle,
    /// A portion of the stream.
    pub portion: BlobStreamPortion,
}

impl Field for BatchBlobs {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let statement = Handle(reader.u16()?);
        let stream = context.memory.blob_stream(statement)?;
        let progress = &mut context.memory.stream_progress;
        let (portion, state) = stream.read(reader, context.string_bytes_max, progress)?;
        context.memory.set_blob_stream(statement, state);
        Ok(BatchBlobs { statement, portion })
    }

    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.short(self.statement.0);
        self.portion.write(writer);
    }
}

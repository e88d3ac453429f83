//! Packets about SQL statements: their text, parameters and rows.
//!
//! Source: wire-protocol.md, 6.5, 8.4 and 8.5.

use std::sync::Arc;

use farbird_types::Value;

use super::field::fields;
use super::{BufferLength, Context, Field};
use crate::message::{Message, MessageForm, MessageFormat};
use crate::protocol::{Handle, ProtocolVersion};
use crate::xdr::{DecodeError, Reader, Stop, Writer};

/// A statement's text, to be prepared or executed at once.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementText {
    /// The transaction.
    pub transaction: Handle,
    /// The statement; for op_exec_immediate the attachment.
    pub statement: Handle,
    /// SQL dialect, 1 to 3.
    pub dialect: u16,
    /// The text, in the connection's character set.
    pub sql: Vec<u8>,
    /// What is asked about the statement.
    pub items: Vec<u8>,
    /// Room for the answer.
    pub buffer_length: BufferLength,
    /// Prepare flags (protocol 20).
    pub flags: u16,
}

impl Field for StatementText {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        Ok(StatementText {
            transaction: Handle(reader.u16()?),
            statement: Handle(reader.u16()?),
            dialect: reader.u16()?,
            sql: Vec::read(reader, context)?,
            items: Vec::read(reader, context)?,
            buffer_length: BufferLength::read(reader, context)?,
            flags: if context.version.has_prepare_flags() { reader.u16()? } else { 0 },
        })
    }

    fn write(&self, writer: &mut Writer<'_>, version: ProtocolVersion) {
        writer.short(self.transaction.0);
        writer.short(self.statement.0);
        writer.short(self.dialect);
        writer.counted(&self.sql);
        writer.counted(&self.items);
        self.buffer_length.write(writer, version);
        if version.has_prepare_flags() {
            writer.short(self.flags);
        }
    }
}

/// The row that a client expects from a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// BLR of the row; empty for none, or for the same as before.
    pub blr: Vec<u8>,
    /// Number of the message, 0.
    pub message_number: u16,
    /// The BLR understood.
    pub format: Option<Arc<MessageFormat>>,
}

impl Output {
    /// Asks for rows of this format.
    pub fn new(format: Option<Arc<MessageFormat>>) -> Output {
        let blr = format.as_ref().map(|format| format.to_blr()).unwrap_or_default();
        Output { blr, message_number: 0, format }
    }
}

impl Field for Output {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let blr = Vec::read(reader, context)?;
        let message_number = reader.u16()?;
        let format = context.memory.row_format(&blr)?;
        Ok(Output { blr, message_number, format })
    }

    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.counted(&self.blr);
        writer.short(self.message_number);
    }
}

/// Executes a prepared statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Execute {
    /// The statement.
    pub statement: Handle,
    /// The transaction.
    pub transaction: Handle,
    /// BLR of the parameters; empty for none, or for the same as before.
    pub input_blr: Vec<u8>,
    /// Number of the message, 0.
    pub message_number: u16,
    /// The parameters.
    pub message: Option<Message>,
    /// Timeout in milliseconds, 0 for none (protocol 16).
    pub timeout_ms: u32,
    /// Cursor flags (protocol 18).
    pub cursor_flags: u32,
    /// Largest blob wanted inline, 0 for none (protocol 19).
    pub inline_blob_bytes: u32,
}

impl Execute {
    /// The parameters' values; none if there are no parameters.
    ///
    /// # Errors
    /// [`DecodeError`] cannot happen for a packet that came through a decoder.
    pub fn parameters(&self) -> Result<Vec<Value>, DecodeError> {
        self.message.as_ref().map_or(Ok(Vec::new()), Message::values)
    }

    fn read_head(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let (statement, transaction) = (Handle(reader.u16()?), Handle(reader.u16()?));
        let input_blr = Vec::read(reader, context)?;
        let message_number = reader.u16()?;
        let message = match reader.u16()? {
            0 => None,
            _ => {
                let format = context.memory.input_format(statement, &input_blr)?;
                Some(Message::read(reader, &format, MessageForm::of_sql(context.version))?)
            }
        };
        Ok(Execute {
            statement,
            transaction,
            input_blr,
            message_number,
            message,
            timeout_ms: 0,
            cursor_flags: 0,
            inline_blob_bytes: 0,
        })
    }

    fn read_tail(&mut self, reader: &mut Reader<'_>, version: ProtocolVersion) -> Result<(), Stop> {
        if version.has_statement_timeout() {
            self.timeout_ms = reader.u32()?;
        }
        if version.has_scrollable_cursors() {
            self.cursor_flags = reader.u32()?;
        }
        if version.has_inline_blobs() {
            self.inline_blob_bytes = reader.u32()?;
        }
        Ok(())
    }

    fn write_head(&self, writer: &mut Writer<'_>) {
        writer.short(self.statement.0);
        writer.short(self.transaction.0);
        writer.counted(&self.input_blr);
        writer.short(self.message_number);
        write_message(self.message.as_ref(), writer);
    }

    fn write_tail(&self, writer: &mut Writer<'_>, version: ProtocolVersion) {
        if version.has_statement_timeout() {
            writer.u32(self.timeout_ms);
        }
        if version.has_scrollable_cursors() {
            writer.u32(self.cursor_flags);
        }
        if version.has_inline_blobs() {
            writer.u32(self.inline_blob_bytes);
        }
    }
}

/// A count of messages, 0 or 1, and the message.
pub(super) fn write_message(message: Option<&Message>, writer: &mut Writer<'_>) {
    writer.short(u16::from(message.is_some()));
    if let Some(message) = message {
        writer.raw(message.wire());
    }
}

impl Field for Execute {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let mut execute = Execute::read_head(reader, context)?;
        execute.read_tail(reader, context.version)?;
        Ok(execute)
    }

    fn write(&self, writer: &mut Writer<'_>, version: ProtocolVersion) {
        self.write_head(writer);
        self.write_tail(writer, version);
    }
}

/// Executes a prepared statement that gives one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Execute2 {
    /// The statement and its parameters.
    pub execute: Execute,
    /// The row wanted.
    pub output: Output,
}

impl Field for Execute2 {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let mut execute = Execute::read_head(reader, context)?;
        let output = Output::read(reader, context)?;
        execute.read_tail(reader, context.version)?;
        Ok(Execute2 { execute, output })
    }

    fn write(&self, writer: &mut Writer<'_>, version: ProtocolVersion) {
        self.execute.write_head(writer);
        self.output.write(writer, version);
        self.execute.write_tail(writer, version);
    }
}

/// Prepares and executes with parameters and one row of results.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecuteImmediate2 {
    /// BLR of the parameters.
    pub input_blr: Vec<u8>,
    /// Number of the message, 0.
    pub message_number: u16,
    /// The parameters.
    pub message: Option<Message>,
    /// The row wanted.
    pub output: Output,
    /// Largest blob wanted inline, 0 for none (protocol 19). It stands in the middle of the packet.
    pub inline_blob_bytes: u32,
    /// The statement.
    pub text: StatementText,
}

impl Field for ExecuteImmediate2 {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let input_blr = Vec::read(reader, context)?;
        let message_number = reader.u16()?;
        let message = match reader.u16()? {
            0 => None,
            _ => {
                let format = MessageFormat::parse(&input_blr)?.ok_or(DecodeError::NoFormat { object: 0 })?;
                Some(Message::read(reader, &Arc::new(format), MessageForm::of_sql(context.version))?)
            }
        };
        let output = Output::read(reader, context)?;
        let inline_blob_bytes = if context.version.has_inline_blobs() { reader.u32()? } else { 0 };
        let text = StatementText::read(reader, context)?;
        Ok(ExecuteImmediate2 { input_blr, message_number, message, output, inline_blob_bytes, text })
    }

    fn write(&self, writer: &mut Writer<'_>, version: ProtocolVersion) {
        writer.counted(&self.input_blr);
        writer.short(self.message_number);
        write_message(self.message.as_ref(), writer);
        self.output.write(writer, version);
        if version.has_inline_blobs() {
            writer.u32(self.inline_blob_bytes);
        }
        self.text.write(writer, version);
    }
}

fields! {
    /// Asks for the next rows.
    pub struct Fetch {
        /// The statement.
        statement: Handle,
        /// The rows wanted; empty BLR for the same as before.
        output: Output,
        /// How many.
        count: u16,
    }
}

fields! {
    /// Asks for rows anywhere.
    pub struct FetchScroll {
        /// What and how many.
        fetch: Fetch,
        /// [`crate::protocol::scroll`].
        operation: u16,
        /// Position of absolute and relative.
        position: i32,
    }
}

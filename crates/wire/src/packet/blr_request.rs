//! Packets about compiled requests: programs in BLR that take and give messages.
//!
//! Their messages are unpacked in every protocol version, in formats that op_compile declared.
//! Source: wire-protocol.md, 6.10.

use super::field::fields;
use super::statement::write_message;
use super::{Context, Field};
use crate::message::{Message, MessageForm, parse_message_formats};
use crate::protocol::{Handle, ProtocolVersion};
use crate::xdr::{DecodeError, Reader, Stop, Writer};

fields! {
    /// Names a message of a running BLR request.
    pub struct RequestCall {
        /// The request.
        request: Handle,
        /// Its instance.
        incarnation: u16,
        /// The transaction.
        transaction: Handle,
        /// The message.
        message_number: u16,
        /// How many messages: wanted, or still to come.
        messages: u16,
    }
}

/// A message of a BLR request on its way to it or from it.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestMessage {
    /// Which.
    pub call: RequestCall,
    /// The message, unpacked in every protocol version.
    pub message: Message,
}

impl Field for RequestMessage {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let call = RequestCall::read(reader, context)?;
        let format = context.memory.request_format(call.request, call.message_number)?;
        Ok(RequestMessage { message: Message::read(reader, &format, MessageForm::Unpacked)?, call })
    }

    fn write(&self, writer: &mut Writer<'_>, version: ProtocolVersion) {
        self.call.write(writer, version);
        writer.raw(self.message.wire());
    }
}

/// op_transact
#[derive(Debug, Clone, PartialEq)]
pub struct Transact {
    /// The attachment.
    pub database: Handle,
    /// The transaction.
    pub transaction: Handle,
    /// The request; it travels twice.
    pub blr: Vec<u8>,
    /// Message 0, if the request takes one.
    pub message: Option<Message>,
}

impl Field for Transact {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let (database, transaction) = (Handle(reader.u16()?), Handle(reader.u16()?));
        let blr = Vec::read(reader, context)?;
        Vec::<u8>::read(reader, context)?;
        let message = match reader.u16()? {
            0 => None,
            _ => {
                let formats = parse_message_formats(&blr)?;
                let input = formats.iter().find(|format| format.number() == 0);
                let format = input.ok_or(DecodeError::NoFormat { object: 0 })?;
                Some(Message::read(reader, format, MessageForm::Unpacked)?)
            }
        };
        Ok(Transact { database, transaction, blr, message })
    }

    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.short(self.database.0);
        writer.short(self.transaction.0);
        writer.counted(&self.blr);
        writer.counted(&self.blr);
        write_message(self.message.as_ref(), writer);
    }
}

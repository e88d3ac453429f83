//! BLR requests: compile, start, messages both ways, unwind, release.
//!
//! Messages travel unpacked in every protocol version, in the formats that the BLR declares. A client that receives says
//! how many messages it takes; a batch of them ends where the request waits for something else, and its last packet says
//! so. Source: wire-protocol.md, 6.10; Firebird's server.cpp, receive_msg and receive_after_start.

use std::sync::Arc;

use farbird_engine::api::{RequestHandle, RequestState};
use farbird_types::{CharacterSet, Error, Result, Text, Value, isc};
use farbird_wire::info::{InfoWriter, common, request};
use farbird_wire::message::{Message, MessageFormat, MessageType, parse_message_formats};
use farbird_wire::packet::{Information, Reply, RequestCall, RequestMessage, Response};
use farbird_wire::protocol::Handle;

use super::Session;
use super::convert;
use super::objects::Object;

/// Longest message of a request, in bytes. Longer than any record: those of Firebird have 65,535.
const MESSAGE_BYTES_MAX: u32 = 1 << 20;

/// A compiled request of a connection.
pub(crate) struct CompiledRequest {
    engine: RequestHandle,
    formats: Vec<Arc<MessageFormat>>,
}

impl CompiledRequest {
    fn format(&self, message: u16) -> Result<Arc<MessageFormat>> {
        let format = self.formats.iter().find(|format| u16::from(format.number()) == message);
        format.cloned().ok_or_else(|| Error::new(isc::BADMSGNUM))
    }
}

impl Session {
    pub(super) fn compile_request(&mut self, blr: &[u8]) -> Result<Response> {
        self.objects.forget_latest();
        let engine = self.attachment()?.compile_request(blr)?;
        match self.name_request(engine, blr) {
            Ok(handle) => Ok(Response::object(handle)),
            Err(error) => {
                self.attachment()?.release_request(engine)?;
                Err(error)
            }
        }
    }

    /// Gives a request a handle, by which its messages are known from now on.
    fn name_request(&mut self, engine: RequestHandle, blr: &[u8]) -> Result<Handle> {
        let formats = parse_message_formats(blr).map_err(super::undecodable)?;
        if formats.iter().any(|format| format.length() > MESSAGE_BYTES_MAX) {
            return Err(Error::new(isc::IMP_EXC).and(isc::BLKTOOBIG));
        }
        let compiled = CompiledRequest { engine, formats };
        let handle = self.objects.insert(Object::Request(Box::new(compiled)))?;
        if let Err(error) = self.output.input().request_compiled(handle, blr) {
            self.objects.remove(handle);
            return Err(super::undecodable(error));
        }
        Ok(handle)
    }

    /// op_start
    pub(super) fn start_request(&mut self, call: &RequestCall) -> Result<Response> {
        let engine = self.objects.request(call.request)?.engine;
        let transaction = self.objects.transaction(call.transaction)?;
        self.attachment()?.start_request(engine, call.incarnation, transaction)?;
        Ok(Response::success())
    }

    /// op_start_and_send
    pub(super) fn start_request_and_send(&mut self, send: &RequestMessage) -> Result<Response> {
        self.start_request(&send.call)?;
        self.send_to_request(send)
    }

    /// op_send
    pub(super) fn send_to_request(&mut self, send: &RequestMessage) -> Result<Response> {
        let engine = self.objects.request(send.call.request)?.engine;
        let number = message_number(send.call.message_number)?;
        let connection = self.character_set;
        let values = send.message.descriptor_values().map_err(super::undecodable)?;
        let types = send.message.format().types();
        let values = values
            .into_iter()
            .zip(types)
            .map(|(value, item)| received(value, item, connection))
            .collect::<Result<_>>()?;
        self.attachment()?.send_to_request(engine, send.call.incarnation, number, values)?;
        Ok(Response::success())
    }

    /// What comes behind the start of op_start_and_receive and op_start_send_and_receive: the number of the message that the
    /// request hands out, and the messages.
    pub(super) fn receive_after_start(&mut self, call: &RequestCall) -> Result<()> {
        let compiled = self.objects.request(call.request)?;
        let engine = compiled.engine;
        match self.attachment()?.request_facts(engine, call.incarnation)?.state {
            RequestState::Sending(number) => {
                let message_number = u16::from(number);
                let format = self.objects.request(call.request)?.format(message_number)?;
                self.output.reply(&Reply::ResponsePiggyback(Response::object(Handle(message_number))));
                let messages = format.fetch_count(false);
                self.receive_from_request(&RequestCall { message_number, messages, ..*call })
            }
            RequestState::Inactive | RequestState::Receiving(_) => {
                self.output.reply(&Reply::Response(Response::success()));
                Ok(())
            }
        }
    }

    /// op_receive: as many messages as the client takes, if the request has them.
    ///
    /// # Errors
    /// What is met in place of the next message.
    pub(super) fn receive_from_request(&mut self, call: &RequestCall) -> Result<()> {
        let compiled = self.objects.request(call.request)?;
        let engine = compiled.engine;
        let format = compiled.format(call.message_number)?;
        let number = message_number(call.message_number)?;
        let mut left = call.messages.max(1);
        loop {
            left -= 1;
            let connection = self.character_set;
            let attachment = self.attachment()?;
            let values = attachment.receive_from_request(engine, call.incarnation, number)?;
            let more = left > 0 && attachment.hands_out(engine, call.incarnation, number);
            let context = attachment.cast_context();
            let values = values
                .into_iter()
                .zip(format.types())
                .map(|(value, item)| convert::message_item(&value, item, connection, &context))
                .collect::<Result<Vec<_>>>()?;
            let message = Message::from_descriptor_values(Arc::clone(&format), &values)?;
            let call = RequestCall { messages: u16::from(more), ..*call };
            self.output.reply(&Reply::Send(RequestMessage { call, message }));
            if !more {
                return Ok(());
            }
            if self.output.is_broken() {
                return Err(Error::new(isc::ATT_SHUTDOWN));
            }
        }
    }

    /// op_unwind
    pub(super) fn unwind_request(&mut self, handle: Handle) -> Result<Response> {
        let engine = self.objects.request(handle)?.engine;
        self.attachment()?.unwind_request(engine, 0)?;
        Ok(Response::success())
    }

    /// op_release
    pub(super) fn release_request(&mut self, handle: Handle) -> Result<Response> {
        let handle = self.objects.resolve(handle);
        let engine = self.objects.request(handle)?.engine;
        self.objects.remove(handle);
        self.attachment()?.release_request(engine)?;
        Ok(Response::success())
    }

    /// op_info_request
    pub(super) fn request_information(&mut self, information: &Information) -> Result<Response> {
        /// isc_info_req_*: what a request is doing.
        const INACTIVE: i64 = 3;
        const SENDING: i64 = 4;
        const RECEIVING: i64 = 5;
        const SELECTING: i64 = 6;
        let compiled = self.objects.request(information.object)?;
        let (engine, formats) = (compiled.engine, compiled.formats.clone());
        let facts = self.attachment()?.request_facts(engine, information.incarnation)?;
        let (state, message) = match &facts.state {
            RequestState::Inactive => (INACTIVE, None),
            RequestState::Sending(number) => (SENDING, Some(*number)),
            RequestState::Receiving(numbers) => match numbers.as_slice() {
                [number] => (RECEIVING, Some(*number)),
                _ => (SELECTING, None),
            },
        };
        let format = formats.iter().find(|format| Some(format.number()) == message);
        let longest = formats.iter().map(|format| format.length()).max().unwrap_or(0);
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let mut writer = InfoWriter::new(information.buffer_length);
        for item in &information.items {
            match *item {
                common::END => break,
                request::NUMBER_MESSAGES => writer.integer(*item, number(formats.len() as u64)),
                request::MAX_MESSAGE => {
                    let highest = formats.iter().map(|format| format.number()).max();
                    writer.integer(*item, highest.map_or(0, i64::from));
                }
                request::MAX_SEND | request::MAX_RECEIVE => writer.integer(*item, i64::from(longest)),
                request::STATE => writer.integer(*item, state),
                request::MESSAGE_NUMBER if let Some(message) = message => {
                    writer.integer(*item, i64::from(message));
                }
                request::MESSAGE_SIZE if let Some(format) = format => {
                    writer.integer(*item, i64::from(format.length()));
                }
                request::REQ_SELECT_COUNT => writer.integer(*item, number(facts.counts.selected)),
                request::REQ_INSERT_COUNT => writer.integer(*item, number(facts.counts.inserted)),
                request::REQ_UPDATE_COUNT => writer.integer(*item, number(facts.counts.updated)),
                request::REQ_DELETE_COUNT => writer.integer(*item, number(facts.counts.deleted)),
                // Nobody waits for a message.
                request::MESSAGE_NUMBER | request::MESSAGE_SIZE => writer.failed(*item, isc::INFINAP),
                item => writer.unknown(item),
            }
        }
        Ok(Response::data(information.object, writer.finish()))
    }
}

/// A value that came in a message, its text in the character set that it is meant in.
fn received(value: Value, item: &MessageType, connection: CharacterSet) -> Result<Value> {
    let (Value::Text(text), Some(character_set)) = (&value, convert::text_character_set(item, connection))
    else {
        return Ok(value);
    };
    // A zero ends the texts of programs in C.
    let bytes = match item {
        MessageType::Cstring { .. } => text.bytes().split(|byte| *byte == 0).next().unwrap_or_default(),
        _ => text.bytes(),
    };
    character_set.check(bytes)?;
    Ok(Value::Text(Text::new(bytes, character_set)))
}

fn message_number(number: u16) -> Result<u8> {
    u8::try_from(number).map_err(|_| Error::new(isc::BADMSGNUM))
}

//! The client's decoder.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Limits, Memory, Stream};
use crate::message::{MessageForm, MessageFormat, MessageType, RowRun, RunLimits, parse_message_formats};
use crate::operation::Operation;
use crate::packet::{Reply, Request};
use crate::protocol::ProtocolVersion;
use crate::slice::element_type;
use crate::xdr::DecodeError;

/// A request whose answer is outstanding.
#[derive(Debug)]
struct Expected {
    operation: Operation,
    row: Option<Arc<MessageFormat>>,
    element: Option<MessageType>,
    /// Messages of a request being compiled.
    formats: Vec<Arc<MessageFormat>>,
}

/// A packet from the server and what it answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The packet.
    pub reply: Reply,
    /// The request it answers; none for what comes unasked (op_dummy, op_event).
    pub to: Option<Operation>,
    /// Whether the request is answered with this.
    pub is_last: bool,
}

/// Turns what a server sends into replies. Replies carry no mark of their request and come in the order of the
/// requests, so the client tells each request as it sends it.
#[derive(Debug)]
pub struct ReplyDecoder {
    stream: Stream,
    memory: Memory,
    expected: VecDeque<Expected>,
}

impl ReplyDecoder {
    /// A decoder at the start of a connection. A client trusts its server with large packets from the start.
    pub fn new(limits: Limits) -> ReplyDecoder {
        ReplyDecoder {
            stream: Stream::new(limits.packet_bytes),
            memory: Memory::default(),
            expected: VecDeque::new(),
        }
    }

    /// The version that replies are read by, where it was agreed without this decoder.
    pub fn set_version(&mut self, version: ProtocolVersion) {
        self.stream.version = version;
    }

    /// The client sends this request now, after those told before.
    ///
    /// # Errors
    /// [`DecodeError`] for a request that describes messages that cannot be understood, or too many of them.
    pub fn expect(&mut self, request: &Request) -> Result<(), DecodeError> {
        self.memory.note(request)?;
        let (mut row, mut element, mut formats) = (None, None, Vec::new());
        match request {
            Request::Disconnect
            | Request::Cancel { .. }
            | Request::AbortAuxConnection
            | Request::CryptKeyCallback(_)
            | Request::Dummy => return Ok(()),
            Request::Fetch(fetch) => row = self.memory.output_format(fetch.statement),
            Request::FetchScroll(scroll) => row = self.memory.output_format(scroll.fetch.statement),
            Request::Execute2(execute) => row = execute.output.format.clone(),
            Request::ExecuteImmediate2(execute) => row = execute.output.format.clone(),
            Request::GetSlice(slice) => element = Some(element_type(&slice.sdl)?),
            Request::Compile { blr, .. } => formats = parse_message_formats(blr)?,
            Request::Transact(transact) => {
                row = parse_message_formats(&transact.blr)?.into_iter().find(|format| format.number() == 1);
            }
            _ => {}
        }
        self.expected.push_back(Expected { operation: request.operation(), row, element, formats });
        Ok(())
    }

    /// How many requests are not answered yet.
    pub fn outstanding(&self) -> usize {
        self.expected.len()
    }

    /// Adds bytes from the server.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.stream.feed(bytes);
    }

    /// As [`ReplyDecoder::feed`] with the bytes that `append` adds to the buffer: a layer decrypts straight into it.
    ///
    /// # Errors
    /// Those of `append`; what it added until then counts as fed.
    pub fn feed_by<E>(&mut self, append: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        append(self.stream.room())
    }

    /// The next packet; `None` if it is not all here.
    ///
    /// # Errors
    /// The server broke the protocol, for good: the same error comes again.
    pub fn next_reply(&mut self) -> Result<Option<Answer>, DecodeError> {
        if let Some(oldest) = self.expected.front() {
            self.memory.row.clone_from(&oldest.row);
            self.memory.element = oldest.element;
        }
        let Some(reply) = self.stream.next(&mut self.memory, Reply::read)? else { return Ok(None) };
        self.answer(reply).map(Some).map_err(|error| self.stream.fail(error))
    }

    /// The rows that are here of the op_fetch or op_fetch_scroll whose turn it is, as far as they stand one behind the
    /// other. `None` if something else comes next, or not even one row is whole: then [`ReplyDecoder::next_reply`] knows.
    ///
    /// Each row is a packet. The request is answered by what comes behind the rows.
    ///
    /// # Errors
    /// As [`ReplyDecoder::next_reply`].
    pub fn next_run(&mut self, limits: RunLimits) -> Result<Option<RowRun>, DecodeError> {
        let Some(oldest) = self.expected.front() else { return Ok(None) };
        let (Operation::Fetch | Operation::FetchScroll, Some(format)) = (oldest.operation, &oldest.row)
        else {
            return Ok(None);
        };
        let run = self.stream.next(&mut self.memory, |reader, context| {
            RowRun::read(reader, format, MessageForm::of_sql(context.version), limits)
        });
        run.map(Option::flatten)
    }

    fn answer(&mut self, reply: Reply) -> Result<Answer, DecodeError> {
        if matches!(reply, Reply::Dummy | Reply::Event(_)) {
            return Ok(Answer { reply, to: None, is_last: false });
        }
        let unasked = DecodeError::Unasked { code: reply.operation().code() };
        let oldest = self.expected.front().ok_or(unasked)?;
        let operation = oldest.operation;
        let is_last = match (&reply, operation) {
            (Reply::FetchResponse(fetch), Operation::Fetch | Operation::FetchScroll) => {
                fetch.message.is_none()
            }
            (Reply::FetchResponse(_), _) => return Err(unasked),
            (
                Reply::Send(send),
                Operation::Receive | Operation::StartAndReceive | Operation::StartSendAndReceive,
            ) => send.call.messages == 0,
            (Reply::Send(_), _) => return Err(unasked),
            (Reply::ResponsePiggyback(_), Operation::StartAndReceive | Operation::StartSendAndReceive) => {
                false
            }
            (Reply::SqlResponse(_) | Reply::InlineBlob(_) | Reply::CryptKeyCallback(_), _) => false,
            _ => true,
        };
        if let Reply::Accept(accept) = &reply {
            self.accepted(accept.protocol_version());
        }
        if let Reply::AcceptWithData(accept) | Reply::ConditionalAccept(accept) = &reply {
            self.accepted(accept.accept.protocol_version());
        }
        if is_last
            && let Some(oldest) = self.expected.pop_front()
            && let (Operation::Compile, Reply::Response(response)) = (operation, &reply)
            && response.status.is_success()
        {
            self.memory.set_request(response.object, oldest.formats)?;
        }
        Ok(Answer { reply, to: Some(operation), is_last })
    }

    fn accepted(&mut self, version: Option<ProtocolVersion>) {
        if let Some(version) = version {
            self.stream.version = version;
        }
    }

    /// The version that the server chose; the newest before it did.
    pub fn version(&self) -> ProtocolVersion {
        self.stream.version
    }

    /// Bytes fed and not yet part of a reply.
    pub fn unread(&self) -> &[u8] {
        self.stream.unread()
    }

    /// Takes the bytes not yet part of a reply: after an accept with compression they are compressed.
    pub fn take_unread(&mut self) -> Vec<u8> {
        self.stream.take_unread()
    }
}

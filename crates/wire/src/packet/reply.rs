//! Packets from server to client.
//!
//! Most requests are answered by one [`Response`]; wire-protocol.md, 6.2, says which by what else. Rows have a short
//! way out that builds no packet value: [`encode_fetch_row`], [`encode_sql_row`].

use farbird_types::{BlobId, Value};

use super::blr_request::RequestMessage;
use super::field::{fields, packets};
use super::request::{ContinueAuthentication, CryptKeyCallback, QueueEvents};
use super::statement::write_message;
use super::{Context, Field};
use crate::message::{EncodeError, Message, MessageForm, MessageFormat};
use crate::operation::Operation;
use crate::protocol::{ARCHITECTURE_GENERIC, FETCH_END_OF_CURSOR, FLAG_COMPRESS, Handle, ProtocolVersion};
use crate::slice::SliceElements;
use crate::status::StatusVector;
use crate::xdr::{Reader, Stop, Writer};

packets! {
    /// What a server answers.
    pub enum Reply {
        /// Answers op_connect: no authentication data is needed at this stage.
        Accept = Accept(accept: Accept),
        /// Answers op_connect (protocol 13 and later).
        AcceptWithData = AcceptData(accept: AcceptWithData),
        /// Answers op_connect; authentication goes on by op_cont_auth.
        ConditionalAccept = ConditionalAccept(accept: AcceptWithData),
        /// Answers op_connect: no common protocol.
        Reject = Reject,
        /// Answers most requests.
        Response = Response(response: Response),
        /// Answers op_start_and_receive and op_start_send_and_receive, its object the number of the message that
        /// follows; then come the messages. (A request that has no message to give answers [`Reply::Response`].)
        ResponsePiggyback = ResponsePiggyback(response: Response),
        /// A message of a BLR request.
        Send = Send(send: RequestMessage),
        /// A row, or the end of a batch of rows.
        FetchResponse = FetchResponse(fetch: FetchResponse),
        /// The row of a statement that gives one; precedes the response.
        SqlResponse = SqlResponse(row: SqlResponse),
        /// The message of op_transact.
        TransactResponse = TransactResponse(row: TransactResponse),
        /// A small blob of the row that follows.
        InlineBlob = InlineBlob(blob: InlineBlob),
        /// Elements of an array.
        Slice = Slice(slice: SliceResponse),
        /// Outcome of a batch.
        BatchCompletion = BatchCompletion(completion: BatchCompletion),
        /// Events have come to pass (second connection).
        Event = Event(events: QueueEvents),
        /// Authentication goes on.
        ContinueAuthentication = ContinueAuthentication(authentication: ContinueAuthentication),
        /// Authentication goes on (protocols 11 and 12).
        TrustedAuthentication = TrustedAuthentication(data: Vec<u8>),
        /// Question about the key of an encrypted database.
        CryptKeyCallback = CryptKeyCallback(callback: CryptKeyCallback),
        /// Keeps the line busy.
        Dummy = Dummy,
    }
}

/// The protocol that a server chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accept {
    /// Wire value of the version.
    pub version: u16,
    /// Architecture; always [`ARCHITECTURE_GENERIC`] from us.
    pub architecture: u32,
    /// Connection type with flags.
    pub connection_type: u16,
}

impl Accept {
    /// Whether everything after this packet is compressed.
    pub fn is_compressed(&self) -> bool {
        self.connection_type & FLAG_COMPRESS != 0
    }

    /// The version, if we speak it.
    pub fn protocol_version(&self) -> Option<ProtocolVersion> {
        ProtocolVersion::from_wire(self.version)
    }

    pub(crate) fn generic(version: ProtocolVersion, connection_type: u16) -> Accept {
        Accept { version: version.to_wire(), architecture: ARCHITECTURE_GENERIC, connection_type }
    }
}

impl Field for Accept {
    fn read(reader: &mut Reader<'_>, _: &mut Context<'_>) -> Result<Self, Stop> {
        Ok(Accept { version: reader.u16()?, architecture: reader.u32()?, connection_type: reader.u16()? })
    }

    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.short(self.version);
        writer.u32(self.architecture);
        writer.unsigned_short(self.connection_type);
    }
}

/// The protocol that a server chose, with authentication.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptWithData {
    /// The protocol.
    pub accept: Accept,
    /// What the plugin says.
    pub data: Vec<u8>,
    /// The plugin.
    pub plugin: Vec<u8>,
    /// Whether the client is authenticated already.
    pub authenticated: bool,
    /// Keys: [`crate::crypt::keys`].
    pub keys: Vec<u8>,
}

impl Field for AcceptWithData {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        Ok(AcceptWithData {
            accept: Accept::read(reader, context)?,
            data: Vec::read(reader, context)?,
            plugin: Vec::read(reader, context)?,
            authenticated: reader.u16()? != 0,
            keys: Vec::read(reader, context)?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>, version: ProtocolVersion) {
        self.accept.write(writer, version);
        writer.counted(&self.data);
        writer.counted(&self.plugin);
        writer.unsigned_short(u16::from(self.authenticated));
        writer.counted(&self.keys);
    }
}

fields! {
    /// The general answer.
    pub struct Response {
        /// A handle or a small number, depending on the request.
        object: Handle,
        /// A blob, an array, or a position in a blob.
        blob: BlobId,
        /// Information, keys, segments ...
        data: Vec<u8>,
        /// The outcome.
        status: StatusVector,
    }
}

impl Response {
    /// Success, nothing else to say.
    pub fn success() -> Response {
        Response { object: Handle(0), blob: BlobId(0), data: Vec::new(), status: StatusVector::success() }
    }

    /// Success with a handle.
    pub fn object(object: Handle) -> Response {
        Response { object, ..Response::success() }
    }

    /// Success with data.
    pub fn data(object: Handle, data: Vec<u8>) -> Response {
        Response { object, data, ..Response::success() }
    }

    /// Failure.
    pub fn error(error: &farbird_types::Error) -> Response {
        Response { status: error.into(), ..Response::success() }
    }
}

/// A row, or the end of a batch of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct FetchResponse {
    /// 0, or [`FETCH_END_OF_CURSOR`].
    pub status: u32,
    /// The row; none at the end.
    pub message: Option<Message>,
}

impl FetchResponse {
    /// The end of a batch; more rows may follow with the next fetch.
    pub const END_OF_BATCH: FetchResponse = FetchResponse { status: 0, message: None };
    /// The end of the cursor.
    pub const END_OF_CURSOR: FetchResponse = FetchResponse { status: FETCH_END_OF_CURSOR, message: None };
}

impl Field for FetchResponse {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let status = reader.u32()?;
        Ok(FetchResponse { status, message: read_row(reader, context)? })
    }

    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.u32(self.status);
        write_message(self.message.as_ref(), writer);
    }
}

/// The row of a statement that gives one.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlResponse {
    /// The row; none if there is none, or the statement failed.
    pub message: Option<Message>,
}

impl Field for SqlResponse {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        Ok(SqlResponse { message: read_row(reader, context)? })
    }

    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        write_message(self.message.as_ref(), writer);
    }
}

fn read_row(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Option<Message>, Stop> {
    if reader.u16()? == 0 {
        return Ok(None);
    }
    let format = context.memory.expected_row()?;
    Message::read(reader, &format, MessageForm::of_sql(context.version)).map(Some)
}

/// The message of op_transact.
#[derive(Debug, Clone, PartialEq)]
pub struct TransactResponse {
    /// Message 1, unpacked in every protocol version.
    pub message: Option<Message>,
}

impl Field for TransactResponse {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        if reader.u16()? == 0 {
            return Ok(TransactResponse { message: None });
        }
        let format = context.memory.expected_row()?;
        Ok(TransactResponse { message: Some(Message::read(reader, &format, MessageForm::Unpacked)?) })
    }

    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        write_message(self.message.as_ref(), writer);
    }
}

fields! {
    /// A small blob, sent before the row that names it.
    ///
    /// fbclient gives up on information of more than 64 bytes, on data above 65,535, on a transaction that ended.
    pub struct InlineBlob {
        /// The transaction.
        transaction: Handle,
        /// The blob, as in the row.
        blob: BlobId,
        /// Items 4 to 7 of blob information.
        information: Vec<u8>,
        /// The blob: segments with little-endian 16-bit lengths.
        data: Vec<u8>,
    }
}

/// Elements of an array.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceResponse {
    /// Bytes of the slice in memory.
    pub length: u32,
    /// The elements.
    pub elements: SliceElements,
}

impl Field for SliceResponse {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let length = reader.u32()?;
        let limit = context.string_bytes_max;
        let memory = &*context.memory;
        let elements = SliceElements::read(reader, || memory.expected_element(), limit)?;
        Ok(SliceResponse { length, elements })
    }

    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.u32(self.length);
        self.elements.write(writer);
    }
}

/// Outcome of a batch, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchCompletion {
    /// The statement.
    pub statement: Handle,
    /// Rows processed.
    pub record_count: u32,
    /// Per row: how many records it changed, -1 failed, -2 success without a count. Empty unless asked for.
    pub update_counts: Vec<i32>,
    /// Failed rows (index from 0) with their errors.
    pub errors: Vec<(u32, StatusVector)>,
    /// Failed rows whose errors were too many to keep.
    pub errors_without_detail: Vec<u32>,
}

impl Field for BatchCompletion {
    fn read(reader: &mut Reader<'_>, _: &mut Context<'_>) -> Result<Self, Stop> {
        let (statement, record_count) = (Handle(reader.u16()?), reader.u32()?);
        let (updates, vectors, errors) = (reader.u32()?, reader.u32()?, reader.u32()?);
        // Nothing is reserved by these counts: each item takes bytes, which end the loops when they run out.
        let mut completion = BatchCompletion {
            statement,
            record_count,
            update_counts: Vec::new(),
            errors: Vec::new(),
            errors_without_detail: Vec::new(),
        };
        for _ in 0..updates {
            completion.update_counts.push(reader.i32()?);
        }
        for _ in 0..vectors {
            completion.errors.push((reader.u32()?, StatusVector::read(reader)?));
        }
        for _ in 0..errors {
            completion.errors_without_detail.push(reader.u32()?);
        }
        Ok(completion)
    }

    fn write(&self, writer: &mut Writer<'_>, version: ProtocolVersion) {
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        writer.short(self.statement.0);
        writer.u32(self.record_count);
        writer.u32(count(self.update_counts.len()));
        writer.u32(count(self.errors.len()));
        writer.u32(count(self.errors_without_detail.len()));
        for update in &self.update_counts {
            writer.i32(*update);
        }
        for (row, status) in &self.errors {
            writer.u32(*row);
            status.write(writer, version);
        }
        for row in &self.errors_without_detail {
            writer.u32(*row);
        }
    }
}

/// Appends op_fetch_response with a row.
///
/// # Errors
/// [`EncodeError`] names the column that does not fit; `out` is then as before.
pub fn encode_fetch_row(
    format: &MessageFormat,
    version: ProtocolVersion,
    values: &[Value],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    encode_row(&[Operation::FetchResponse.code(), 0, 1], format, version, values, out)
}

/// Appends op_sql_response with a row.
///
/// # Errors
/// [`EncodeError`] names the column that does not fit; `out` is then as before.
pub fn encode_sql_row(
    format: &MessageFormat,
    version: ProtocolVersion,
    values: &[Value],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    encode_row(&[Operation::SqlResponse.code(), 1], format, version, values, out)
}

fn encode_row(
    head: &[u32],
    format: &MessageFormat,
    version: ProtocolVersion,
    values: &[Value],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let start = out.len();
    let mut writer = Writer::new(out);
    head.iter().for_each(|word| writer.u32(*word));
    let encoded = format.encode_row(MessageForm::of_sql(version), values, out);
    if encoded.is_err() {
        out.truncate(start);
    }
    encoded
}

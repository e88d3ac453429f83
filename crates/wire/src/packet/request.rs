//! Packets from client to server.
//!
//! Names and layouts: wire-protocol.md, 2.1 and 6.2. A `database` handle is what the reply to op_attach gave, 0 with
//! most peers; `incarnation` is the instance of a BLR request.

use std::sync::Arc;

use farbird_types::{BlobId, Value};

use super::field::{fields, packets};
use super::{BufferLength, Context, Field};
use crate::blob_stream::BlobStreamPortion;
use crate::message::{Message, MessageForm, MessageFormat, MessageRun, parse_message_formats};
use crate::protocol::{Handle, ProtocolVersion};
use crate::slice::{SliceElements, element_type};
use crate::xdr::{DecodeError, Reader, Stop, Writer};

packets! {
    /// What a client asks.
    pub enum Request {
        /// The first packet of a connection.
        Connect = Connect(connect: Connect),
        /// The client leaves; no reply.
        Disconnect = Disconnect,
        /// Attach a database.
        Attach = Attach(attach: Attach),
        /// Create a database and attach it.
        Create = Create(attach: Attach),
        /// Detach the database.
        Detach = Detach(database: Handle),
        /// Drop the attached database.
        DropDatabase = DropDatabase(database: Handle),
        /// Attach the services manager; the file is `service_mgr`, the block an SPB.
        ServiceAttach = ServiceAttach(attach: Attach),
        /// Detach the services manager.
        ServiceDetach = ServiceDetach(service: Handle),
        /// Ask a running service.
        ServiceInformation = ServiceInfo {
            /// The service.
            service: Handle,
            /// Unused.
            incarnation: u16,
            /// What is sent to the service (SPB without version).
            send_items: Vec<u8>,
            /// What is asked of it.
            receive_items: Vec<u8>,
            /// Room for the answer.
            buffer_length: BufferLength,
        },
        /// Start an action of the services manager.
        ServiceStart = ServiceStart {
            /// The service.
            service: Handle,
            /// Unused.
            incarnation: u16,
            /// Action and arguments (SPB without version).
            spb: Vec<u8>,
        },

        /// Compile a BLR request.
        Compile = Compile {
            /// The attachment.
            database: Handle,
            /// The request.
            blr: Vec<u8>,
        },
        /// Start a BLR request.
        Start = Start(call: RequestCall),
        /// Start a BLR request and send it a message.
        StartAndSend = StartAndSend(send: RequestMessage),
        /// Start a BLR request and receive messages.
        StartAndReceive = StartAndReceive(call: RequestCall),
        /// Start a BLR request, send it a message, receive messages.
        StartSendAndReceive = StartSendAndReceive(send: RequestMessage),
        /// Send a message to a BLR request.
        Send = Send(send: RequestMessage),
        /// Receive messages of a BLR request.
        Receive = Receive(call: RequestCall),
        /// Stop a BLR request.
        Unwind = Unwind(request: Handle),
        /// Forget a BLR request.
        Release = Release(request: Handle),
        /// Compile and run a request of at most one message each way.
        Transact = Transact(transact: Transact),
        /// Run dynamic DDL.
        Ddl = Ddl {
            /// The attachment.
            database: Handle,
            /// The transaction.
            transaction: Handle,
            /// DYN.
            dyn_string: Vec<u8>,
        },

        /// Start a transaction.
        StartTransaction = Transaction {
            /// The attachment.
            database: Handle,
            /// TPB.
            tpb: Vec<u8>,
        },
        /// Take over a transaction in limbo.
        Reconnect = Reconnect {
            /// The attachment.
            database: Handle,
            /// Number of the transaction, little-endian.
            transaction_id: Vec<u8>,
        },
        /// Commit.
        Commit = Commit(transaction: Handle),
        /// Roll back.
        Rollback = Rollback(transaction: Handle),
        /// Commit and go on with the same handle.
        CommitRetaining = CommitRetaining(transaction: Handle),
        /// Roll back and go on with the same handle.
        RollbackRetaining = RollbackRetaining(transaction: Handle),
        /// First phase of a two-phase commit.
        PrepareTransaction = PrepareTransaction(transaction: Handle),
        /// First phase of a two-phase commit, with a note for recovery.
        PrepareTransaction2 = PrepareTransaction2 {
            /// The transaction.
            transaction: Handle,
            /// The note.
            message: Vec<u8>,
        },

        /// Create a blob, without parameters.
        CreateBlob = CreateBlob {
            /// The transaction.
            transaction: Handle,
            /// Zero.
            blob: BlobId,
        },
        /// Create a blob.
        CreateBlob2 = CreateBlob2(open: OpenBlob),
        /// Open a blob, without parameters.
        OpenBlob = OpenBlob {
            /// The transaction.
            transaction: Handle,
            /// Which.
            blob: BlobId,
        },
        /// Open a blob.
        OpenBlob2 = OpenBlob2(open: OpenBlob),
        /// Read from a blob; the segment is empty.
        GetSegment = GetSegment(segment: Segment),
        /// Write one segment.
        PutSegment = PutSegment(segment: Segment),
        /// Write segments, each with its little-endian 16-bit length.
        BatchSegments = BatchSegments(segment: Segment),
        /// Move in a stream blob.
        SeekBlob = SeekBlob {
            /// The open blob.
            blob: Handle,
            /// 0 from the start, 1 from here, 2 from the end.
            mode: u16,
            /// How far.
            offset: i32,
        },
        /// Close a blob.
        CloseBlob = CloseBlob(blob: Handle),
        /// Throw an open blob away.
        CancelBlob = CancelBlob(blob: Handle),

        /// Ask about the attachment.
        DatabaseInformation = InfoDatabase(information: Information),
        /// Ask about a BLR request.
        RequestInformation = InfoRequest(information: Information),
        /// Ask about a transaction.
        TransactionInformation = InfoTransaction(information: Information),
        /// Ask about an open blob.
        BlobInformation = InfoBlob(information: Information),
        /// Ask about a statement.
        StatementInformation = InfoSql(information: Information),
        /// Ask about a statement's batch.
        BatchInformation = InfoBatch(information: Information),
        /// Ask about a statement's cursor.
        CursorInformation = InfoCursor(information: Information),

        /// Make a statement.
        AllocateStatement = AllocateStatement(database: Handle),
        /// Prepare a statement.
        Prepare = PrepareStatement(text: StatementText),
        /// Execute a prepared statement, or open its cursor.
        Execute = Execute(execute: Execute),
        /// Execute a prepared statement that gives one row.
        Execute2 = Execute2(execute: Execute2),
        /// Prepare and execute.
        ExecuteImmediate = ExecuteImmediate(text: StatementText),
        /// Prepare and execute with parameters and one row of results.
        ExecuteImmediate2 = ExecuteImmediate2(execute: ExecuteImmediate2),
        /// Ask for the next rows of a cursor.
        Fetch = Fetch(fetch: Fetch),
        /// Ask for rows anywhere in a scrollable cursor.
        FetchScroll = FetchScroll(fetch: FetchScroll),
        /// Close a cursor or drop a statement.
        FreeStatement = FreeStatement {
            /// The statement.
            statement: Handle,
            /// Bits: [`crate::protocol::free_statement`].
            option: u16,
        },
        /// Name a cursor.
        SetCursor = SetCursor {
            /// The statement.
            statement: Handle,
            /// The name, with a closing NUL from most clients.
            name: Vec<u8>,
            /// Zero.
            kind: u16,
        },

        /// Start a batch of a statement.
        BatchCreate = BatchCreate(batch: BatchCreate),
        /// Add rows to a batch.
        BatchMessages = BatchMessages(messages: BatchMessages),
        /// Run a batch.
        BatchExecute = BatchExecute {
            /// The statement.
            statement: Handle,
            /// The transaction.
            transaction: Handle,
        },
        /// Forget a batch.
        BatchRelease = BatchRelease(statement: Handle),
        /// Drop what a batch has gathered.
        BatchCancel = BatchCancel(statement: Handle),
        /// Asks for all deferred replies.
        BatchSync = BatchSync,
        /// Lets messages of a batch refer to an existing blob.
        BatchRegisterBlob = BatchRegisterBlob {
            /// The statement.
            statement: Handle,
            /// The blob.
            existing: BlobId,
            /// Its name in messages.
            batch_id: BlobId,
        },
        /// Sends blobs of a batch.
        BatchBlobStream = BatchBlobStream(stream: BatchBlobs),
        /// Default parameters of the blobs that follow.
        BatchSetBpb = BatchSetBpb {
            /// The statement.
            statement: Handle,
            /// BPB.
            bpb: Vec<u8>,
        },

        /// Read a slice of an array; it carries no elements.
        GetSlice = GetSlice(slice: Slice),
        /// Write a slice of an array.
        PutSlice = PutSlice(slice: Slice),

        /// Wait for events.
        QueueEvents = QueueEvents(events: QueueEvents),
        /// Wait no longer.
        CancelEvents = CancelEvents {
            /// The attachment.
            database: Handle,
            /// The client's number of the wait.
            id: i32,
        },
        /// Ask for a second connection.
        ConnectRequest = ConnectRequest {
            /// 1: for events.
            kind: u16,
            /// The attachment.
            database: Handle,
            /// Zero.
            partner: i32,
        },
        /// First packet of a second connection; unused over TCP.
        AuxConnect = AuxConnect {
            /// 1: for events.
            kind: u16,
            /// The attachment.
            database: Handle,
            /// Zero.
            partner: i32,
        },
        /// Close the second connection; no reply.
        AbortAuxConnection = AbortAuxConnection,

        /// Authentication goes on.
        ContinueAuthentication = ContinueAuthentication(authentication: ContinueAuthentication),
        /// Authentication goes on (protocols 11 and 12).
        TrustedAuthentication = TrustedAuthentication(data: Vec<u8>),
        /// Encrypt from here.
        Crypt = Crypt {
            /// The cipher.
            plugin: Vec<u8>,
            /// The key's type.
            key: Vec<u8>,
        },
        /// Answer about the key of an encrypted database.
        CryptKeyCallback = CryptKeyCallback(callback: CryptKeyCallback),
        /// Obsolete; to be answered "not implemented".
        UpdateAccountInfo = UpdateAccountInfo {
            /// The attachment.
            database: Handle,
            /// The account.
            account: Vec<u8>,
        },
        /// Obsolete; to be answered "not implemented".
        AuthenticateUser = AuthenticateUser {
            /// The attachment.
            database: Handle,
            /// DPB.
            dpb: Vec<u8>,
            /// What is asked.
            items: Vec<u8>,
            /// Room for the answer.
            buffer_length: u16,
        },

        /// Cancel what is running; no reply.
        Cancel = Cancel {
            /// [`crate::protocol::cancel`].
            kind: u16,
        },
        /// Is anybody there?
        Ping = Ping,
        /// Keeps the line busy; a server answers the same.
        Dummy = Dummy,
        /// Changes of a replicated database; empty data ends.
        ReplicationData = ReplicationData {
            /// The attachment.
            database: Handle,
            /// A block of changes.
            data: Vec<u8>,
        },
    }
}

/// op_connect: who the client is and which protocols it speaks.
#[derive(Debug, Clone, PartialEq)]
pub struct Connect {
    /// Unused by servers; 0 or 19.
    pub operation: u32,
    /// 3, or 2 from old clients.
    pub version: u16,
    /// Architecture of the client.
    pub architecture: u32,
    /// Database or `service_mgr`.
    pub file: Vec<u8>,
    /// User identification: [`crate::negotiation::UserIdentification`].
    pub user_identification: Vec<u8>,
    /// The protocols, all of them.
    pub offers: Vec<ProtocolOffer>,
}

/// A protocol that a client offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtocolOffer {
    /// Wire value of the version.
    pub version: u16,
    /// Architecture of its messages; only [`crate::protocol::ARCHITECTURE_GENERIC`] is of use.
    pub architecture: u32,
    /// Least connection type.
    pub type_min: u16,
    /// Greatest connection type, with flags.
    pub type_max: u16,
    /// The higher, the better.
    pub weight: u16,
}

/// Most protocols in one op_connect that we read; Firebird clients offer 11.
pub const OFFERS_MAX: usize = 256;

impl Field for Connect {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let (operation, version, architecture) = (reader.u32()?, reader.u16()?, reader.u32()?);
        let file = Vec::read(reader, context)?;
        let offset = reader.offset();
        let count = usize::from(reader.u16()?);
        if count > OFFERS_MAX {
            return Err(DecodeError::TooMany { offset, count, limit: OFFERS_MAX }.into());
        }
        let user_identification = Vec::read(reader, context)?;
        let mut offers = Vec::with_capacity(count);
        for _ in 0..count {
            offers.push(ProtocolOffer {
                version: reader.u16()?,
                architecture: reader.u32()?,
                type_min: reader.u16()?,
                type_max: reader.u16()?,
                weight: reader.u16()?,
            });
        }
        Ok(Connect { operation, version, architecture, file, user_identification, offers })
    }

    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.u32(self.operation);
        writer.short(self.version);
        writer.u32(self.architecture);
        writer.counted(&self.file);
        writer.short(u16::try_from(self.offers.len()).unwrap_or(u16::MAX));
        writer.counted(&self.user_identification);
        for offer in self.offers.iter().take(usize::from(u16::MAX)) {
            writer.short(offer.version);
            writer.u32(offer.architecture);
            writer.unsigned_short(offer.type_min);
            writer.unsigned_short(offer.type_max);
            writer.short(offer.weight);
        }
    }
}

fields! {
    /// Where to attach.
    pub struct Attach {
        /// Zero.
        database: Handle,
        /// Database or `service_mgr`.
        file: Vec<u8>,
        /// DPB, or SPB for the services manager.
        parameters: Vec<u8>,
    }
}

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

fields! {
    /// Opens or creates a blob.
    pub struct OpenBlob {
        /// BPB.
        bpb: Vec<u8>,
        /// The transaction.
        transaction: Handle,
        /// The blob; zero to create one.
        blob: BlobId,
    }
}

fields! {
    /// Reads from or writes to an open blob.
    pub struct Segment {
        /// The open blob.
        blob: Handle,
        /// Bytes wanted or given.
        length: u16,
        /// Bytes given.
        data: Vec<u8>,
    }
}

fields! {
    /// Asks about an object.
    pub struct Information {
        /// The object.
        object: Handle,
        /// Instance of a BLR request; else 0.
        incarnation: u16,
        /// What is asked.
        items: Vec<u8>,
        /// Room for the answer.
        buffer_length: BufferLength,
    }
}

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
        let format = MessageFormat::parse(&blr)?.map(Arc::new);
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

/// Reads or writes a slice of an array.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    /// The transaction.
    pub transaction: Handle,
    /// The array; zero to make one.
    pub array: BlobId,
    /// Bytes of the slice in memory.
    pub length: u32,
    /// What the slice is: [`crate::slice::SliceDescription`].
    pub sdl: Vec<u8>,
    /// Values of the SDL's variables.
    pub parameters: Vec<u32>,
    /// Elements to write.
    pub elements: SliceElements,
}

impl Field for Slice {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let (transaction, array, length) = (Handle(reader.u16()?), BlobId(reader.u64()?), reader.u32()?);
        let sdl: Vec<u8> = Vec::read(reader, context)?;
        let offset = reader.offset();
        let bytes = reader.length()? as usize;
        let limit = context.string_bytes_max;
        if bytes > limit {
            return Err(DecodeError::TooLong { offset, length: bytes, limit }.into());
        }
        let mut parameters = Vec::new();
        for _ in 0..bytes / 4 {
            parameters.push(reader.u32()?);
        }
        let elements = SliceElements::read(reader, || element_type(&sdl), limit)?;
        Ok(Slice { transaction, array, length, sdl, parameters, elements })
    }

    fn write(&self, writer: &mut Writer<'_>, _: ProtocolVersion) {
        writer.short(self.transaction.0);
        writer.u64(self.array.0);
        writer.u32(self.length);
        writer.counted(&self.sdl);
        writer.u32(u32::try_from(self.parameters.len().saturating_mul(4)).unwrap_or(u32::MAX));
        for parameter in &self.parameters {
            writer.u32(*parameter);
        }
        self.elements.write(writer);
    }
}

fields! {
    /// Events: waited for, or come to pass.
    pub struct QueueEvents {
        /// The attachment.
        database: Handle,
        /// Names and counts: [`crate::event`].
        epb: Vec<u8>,
        /// A word of the client's own.
        ast: u32,
        /// Another.
        argument: u32,
        /// The client's number of the wait.
        id: i32,
    }
}

fields! {
    /// A step of authentication, either way.
    pub struct ContinueAuthentication {
        /// What the plugin says.
        data: Vec<u8>,
        /// The plugin.
        plugin: Vec<u8>,
        /// All plugins, the first time.
        plugin_list: Vec<u8>,
        /// Keys: [`crate::crypt::keys`].
        keys: Vec<u8>,
    }
}

/// About the key of an encrypted database, either way.
#[derive(Debug, Clone, PartialEq)]
pub struct CryptKeyCallback {
    /// What the key holder says.
    pub data: Vec<u8>,
    /// Room for the answer (protocol 14).
    pub reply_length: u16,
}

impl Field for CryptKeyCallback {
    fn read(reader: &mut Reader<'_>, context: &mut Context<'_>) -> Result<Self, Stop> {
        let data = Vec::read(reader, context)?;
        let reply_length = if context.version.has_callback_size() { reader.u16()? } else { 0 };
        Ok(CryptKeyCallback { data, reply_length })
    }

    fn write(&self, writer: &mut Writer<'_>, version: ProtocolVersion) {
        writer.counted(&self.data);
        if version.has_callback_size() {
            writer.short(self.reply_length);
        }
    }
}

//! Packets from client to server.
//!
//! Names and layouts: wire-protocol.md, 2.1 and 6.2. A `database` handle is what the reply to op_attach gave, 0 with
//! most peers; `incarnation` is the instance of a BLR request.

use farbird_types::BlobId;

use super::batch::{BatchBlobs, BatchCreate, BatchMessages};
use super::blr_request::{RequestCall, RequestMessage, Transact};
use super::field::{fields, packets};
use super::statement::{Execute, Execute2, ExecuteImmediate2, Fetch, FetchScroll, StatementText};
use super::{BufferLength, Context, Field};
use crate::protocol::{Handle, ProtocolVersion};
use crate::slice::{SDL_BYTES_MAX, SliceElements, element_type};
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
        let limit = context.string_bytes_max;
        let sdl = reader.counted(limit.min(SDL_BYTES_MAX))?.to_vec();
        let offset = reader.offset();
        let (bytes, bytes_max) = (reader.length()? as usize, limit.min(SDL_BYTES_MAX));
        if bytes > bytes_max {
            return Err(DecodeError::TooLong { offset, length: bytes, limit: bytes_max }.into());
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

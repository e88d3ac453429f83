//! Objects of a conversation: the handles that the edge gave to programs, and what they stand for at the server.
//!
//! Transactions, statements, BLOBs and BLR requests share one space of numbers on either side. An object may be named by the edge
//! before it exists at the server: what names it waits until it does.
//!
//! Promises: no more objects than [`OBJECTS_MAX`].

use farbird_types::{Error, isc};
use farbird_wire::operation::Operation;
use farbird_wire::packet::Request;
use farbird_wire::protocol::{HANDLES_MAX, Handle};
use farbird_wire::status::StatusVector;

use crate::message::Fingerprint;
use crate::quick_hash::QuickMap;

/// Most objects that one conversation has: as many as a server gives handles.
pub(super) const OBJECTS_MAX: usize = HANDLES_MAX as usize;

/// Where an object is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Place {
    /// At the server, under this handle.
    At(Handle),
    /// The request that makes it is under way.
    Coming,
    /// A statement that is made at the server when it is first needed.
    Later,
    /// It could not be made; the edge has told its program otherwise.
    Failed(StatusVector),
}

/// A preparation that the edge has answered from its cache.
#[derive(Debug, Clone)]
pub(super) enum Preparation {
    /// Nothing to be done before it is used.
    Done,
    /// To be prepared when it is first needed.
    Later {
        /// The op_prepare_statement, in the edge's handles.
        request: Box<Request>,
        /// What the program was told.
        described: Fingerprint,
    },
    /// Being prepared.
    Underway,
    /// It is no longer what the program was told it is.
    Failed(StatusVector),
}

/// What kind of object a handle names: only what ends its kind ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Transaction,
    Statement,
    /// An open BLOB or a BLR request.
    Other,
}

impl Kind {
    /// What an operation makes.
    pub(super) fn made_by(operation: Operation) -> Kind {
        match operation {
            Operation::Transaction | Operation::Reconnect => Kind::Transaction,
            Operation::AllocateStatement => Kind::Statement,
            _ => Kind::Other,
        }
    }
}

/// What a handle of the edge stands for.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) place: Place,
    pub(super) kind: Kind,
    /// Of a statement.
    pub(super) preparation: Preparation,
    /// The transaction of a statement's cursor, of a BLOB, or in which a BLR request runs: the edge's handle; 0 for none.
    pub(super) cursor_transaction: u16,
    /// Of a transaction: a request that the edge has answered with success, and that failed.
    pub(super) failure: Option<StatusVector>,
    /// How many such requests of the transaction are not answered yet.
    pub(super) quiet: u32,
    /// Of a transaction: why a write has failed that the edge has answered as done.
    pub(super) failed_write: Option<StatusVector>,
    /// How many writes of the transaction, and what undoes them, are not answered yet.
    pub(super) writes: u32,
}

impl Object {
    pub(super) fn new(kind: Kind, place: Place) -> Object {
        Object {
            place,
            kind,
            preparation: Preparation::Done,
            cursor_transaction: 0,
            failure: None,
            quiet: 0,
            failed_write: None,
            writes: 0,
        }
    }
}

/// All objects of a conversation, by the edge's handles.
#[derive(Debug, Default)]
pub(super) struct Objects {
    objects: QuickMap<u16, Object>,
}

impl Objects {
    /// Whether any of them is a transaction that may be open at the server.
    pub(super) fn has_transaction(&self) -> bool {
        let is_open = |object: &Object| {
            object.kind == Kind::Transaction && matches!(object.place, Place::At(_) | Place::Coming)
        };
        self.objects.values().any(is_open)
    }

    /// Whether a handle names something of another kind.
    pub(super) fn is_another(&self, kind: Kind, handle: u16) -> bool {
        self.objects.get(&handle).is_some_and(|object| object.kind != kind)
    }

    pub(super) fn get(&self, handle: u16) -> Option<&Object> {
        self.objects.get(&handle)
    }

    pub(super) fn get_mut(&mut self, handle: u16) -> Option<&mut Object> {
        self.objects.get_mut(&handle)
    }

    /// Gives a handle a meaning; what it meant before is forgotten. Gives false if there are too many.
    pub(super) fn insert(&mut self, handle: u16, object: Object) -> bool {
        if handle == 0 {
            return true;
        }
        self.objects.insert(handle, object);
        self.objects.len() <= OBJECTS_MAX
    }

    pub(super) fn remove(&mut self, handle: u16) -> Option<Object> {
        self.objects.remove(&handle)
    }

    /// The server's handle, if the object is there.
    pub(super) fn at_server(&self, handle: u16) -> Option<Handle> {
        match self.objects.get(&handle)?.place {
            Place::At(handle) => Some(handle),
            _ => None,
        }
    }

    /// Some transaction that is open at the server.
    pub(super) fn any_transaction(&self) -> Option<Handle> {
        let open = |object: &Object| match object.place {
            Place::At(handle) if object.kind == Kind::Transaction => Some(handle),
            _ => None,
        };
        self.objects.values().find_map(open)
    }

    /// The cursors of a transaction are closed with it.
    pub(super) fn transaction_ended(&mut self, transaction: u16) {
        self.objects.remove(&transaction);
        for object in self.objects.values_mut() {
            if object.cursor_transaction == transaction {
                object.cursor_transaction = 0;
            }
        }
    }
}

/// What a handle in a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Transaction,
    Statement,
    /// An open BLOB or a BLR request.
    Other,
    /// A transaction that the server does not look at.
    Ignored,
}

/// Calls `visit` with each handle of a request that names an object; not with those of attachments and services, of which
/// there is one.
pub(super) fn visit_handles(request: &mut Request, mut visit: impl FnMut(Role, &mut Handle)) {
    match request {
        Request::Start(call) | Request::StartAndReceive(call) => {
            visit(Role::Other, &mut call.request);
            visit(Role::Transaction, &mut call.transaction);
        }
        Request::StartAndSend(send) | Request::StartSendAndReceive(send) => {
            visit(Role::Other, &mut send.call.request);
            visit(Role::Transaction, &mut send.call.transaction);
        }
        Request::Send(send) => {
            visit(Role::Other, &mut send.call.request);
            visit(Role::Ignored, &mut send.call.transaction);
        }
        Request::Receive(call) => {
            visit(Role::Other, &mut call.request);
            visit(Role::Ignored, &mut call.transaction);
        }
        Request::Unwind(request) | Request::Release(request) => visit(Role::Other, request),
        Request::Transact(transact) => visit(Role::Transaction, &mut transact.transaction),
        Request::Ddl { transaction, .. }
        | Request::Commit(transaction)
        | Request::Rollback(transaction)
        | Request::CommitRetaining(transaction)
        | Request::RollbackRetaining(transaction)
        | Request::PrepareTransaction(transaction)
        | Request::PrepareTransaction2 { transaction, .. }
        | Request::CreateBlob { transaction, .. }
        | Request::OpenBlob { transaction, .. } => visit(Role::Transaction, transaction),
        Request::CreateBlob2(open) | Request::OpenBlob2(open) => {
            visit(Role::Transaction, &mut open.transaction);
        }
        Request::GetSegment(segment) | Request::PutSegment(segment) | Request::BatchSegments(segment) => {
            visit(Role::Other, &mut segment.blob);
        }
        Request::SeekBlob { blob, .. } | Request::CloseBlob(blob) | Request::CancelBlob(blob) => {
            visit(Role::Other, blob);
        }
        Request::TransactionInformation(information) => visit(Role::Transaction, &mut information.object),
        Request::RequestInformation(information) | Request::BlobInformation(information) => {
            visit(Role::Other, &mut information.object);
        }
        Request::StatementInformation(information)
        | Request::BatchInformation(information)
        | Request::CursorInformation(information) => visit(Role::Statement, &mut information.object),
        Request::Prepare(text) => {
            visit(Role::Transaction, &mut text.transaction);
            visit(Role::Statement, &mut text.statement);
        }
        Request::Execute(execute) => {
            visit(Role::Transaction, &mut execute.transaction);
            visit(Role::Statement, &mut execute.statement);
        }
        Request::Execute2(execute) => {
            visit(Role::Transaction, &mut execute.execute.transaction);
            visit(Role::Statement, &mut execute.execute.statement);
        }
        Request::ExecuteImmediate(text) => visit(Role::Transaction, &mut text.transaction),
        Request::ExecuteImmediate2(execute) => visit(Role::Transaction, &mut execute.text.transaction),
        Request::Fetch(fetch) => visit(Role::Statement, &mut fetch.statement),
        Request::FetchScroll(scroll) => visit(Role::Statement, &mut scroll.fetch.statement),
        Request::FreeStatement { statement, .. }
        | Request::SetCursor { statement, .. }
        | Request::BatchRelease(statement)
        | Request::BatchCancel(statement)
        | Request::BatchRegisterBlob { statement, .. }
        | Request::BatchSetBpb { statement, .. } => visit(Role::Statement, statement),
        Request::BatchCreate(batch) => visit(Role::Statement, &mut batch.statement),
        Request::BatchMessages(messages) => visit(Role::Statement, &mut messages.statement),
        Request::BatchBlobStream(stream) => visit(Role::Statement, &mut stream.statement),
        Request::BatchExecute { statement, transaction } => {
            visit(Role::Transaction, transaction);
            visit(Role::Statement, statement);
        }
        Request::GetSlice(slice) | Request::PutSlice(slice) => {
            visit(Role::Transaction, &mut slice.transaction);
        }
        Request::Connect(_)
        | Request::Disconnect
        | Request::Attach(_)
        | Request::Create(_)
        | Request::Detach(_)
        | Request::DropDatabase(_)
        | Request::ServiceAttach(_)
        | Request::ServiceDetach(_)
        | Request::ServiceInformation { .. }
        | Request::ServiceStart { .. }
        | Request::Compile { .. }
        | Request::StartTransaction { .. }
        | Request::Reconnect { .. }
        | Request::DatabaseInformation(_)
        | Request::AllocateStatement(_)
        | Request::BatchSync
        | Request::QueueEvents(_)
        | Request::CancelEvents { .. }
        | Request::ConnectRequest { .. }
        | Request::AuxConnect { .. }
        | Request::AbortAuxConnection
        | Request::ContinueAuthentication(_)
        | Request::TrustedAuthentication(_)
        | Request::Crypt { .. }
        | Request::CryptKeyCallback(_)
        | Request::UpdateAccountInfo { .. }
        | Request::AuthenticateUser { .. }
        | Request::Cancel { .. }
        | Request::Ping
        | Request::Dummy
        | Request::ReplicationData { .. } => {}
    }
}

/// The edge's handles that a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Named {
    /// What it makes.
    pub(super) made: u16,
    /// The transaction.
    pub(super) transaction: u16,
    /// The statement.
    pub(super) statement: u16,
    /// The BLOB or the BLR request.
    pub(super) other: u16,
}

impl Named {
    pub(super) fn of(request: &mut Request, made: u16) -> Named {
        let mut named = Named { made, ..Named::default() };
        visit_handles(request, |role, handle| match role {
            Role::Transaction => named.transaction = handle.0,
            Role::Statement => named.statement = handle.0,
            Role::Other => named.other = handle.0,
            Role::Ignored => {}
        });
        named
    }

    /// What information is asked of.
    pub(super) fn target(&self) -> u16 {
        match (self.statement, self.other) {
            (0, 0) => self.transaction,
            (0, other) => other,
            (statement, _) => statement,
        }
    }
}

/// What a server says of a handle that means nothing.
pub(super) fn unknown(role: Role) -> StatusVector {
    let code = match role {
        Role::Transaction | Role::Ignored => isc::BAD_TRANS_HANDLE,
        Role::Statement => isc::BAD_STMT_HANDLE,
        Role::Other => isc::BAD_SEGSTR_HANDLE,
    };
    StatusVector::from_error(&Error::new(code))
}

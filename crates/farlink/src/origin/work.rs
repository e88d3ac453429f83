//! What waits to be sent to the server, and what was sent and is not answered.

use farbird_wire::operation::Operation;
use farbird_wire::packet::{BufferLength, Information, Request};
use farbird_wire::protocol::Handle;

use super::ahead_state::AheadStep;
use super::blob_reading::{BlobKey, BlobStep};
use super::definitions::{DefinitionStep, Query};
use super::objects::Named;
use crate::message::{Ask, AskAhead, Cursor, Fingerprint, GivenParameters, RequestId};

/// What waits for its turn: the edge's asks, in their order. Requests are in the edge's handles.
#[derive(Debug)]
pub(super) enum Work {
    /// To be answered to the edge.
    Relay { id: RequestId, request: Box<Request>, named: Named },
    /// The edge has answered it.
    Quiet { request: Box<Request>, named: Named },
    /// A write that the edge has answered as done.
    Write { id: RequestId, request: Box<Request>, named: Named },
    /// To be answered to the edge: it undoes what its transaction has written.
    Undo { id: RequestId, request: Box<Request>, named: Named },
    /// A statement that the edge has described to its program.
    Prepared { request: Box<Request>, named: Named, described: Fingerprint },
    /// To attach ahead of the program.
    AttachAhead { id: RequestId, request: Box<Request> },
    /// The program has taken that.
    Attached { process_id: Option<i32> },
    /// It has not.
    DetachAhead,
    /// To name the next commit of a transaction.
    NameCommit { request: Box<Request>, named: Named },
    /// The opening of a cursor.
    Open { id: RequestId, cursor: Cursor, request: Box<Request>, named: Named, ahead: Vec<AskAhead> },
    /// The opening of a BLOB.
    OpenBlob { id: RequestId, cursor: Cursor, request: Box<Request>, named: Named },
    /// The end of either.
    CloseCursor(Cursor),
    /// About statements to be run ahead.
    Ahead(Box<Ask>),
}

/// Why a request was sent.
#[derive(Debug)]
pub(super) enum Purpose {
    /// The edge waits for its replies.
    Relay(RequestId),
    /// The edge has answered it. If it fails, so does this transaction; 0 for none.
    Quiet { home: u16 },
    /// The end of a transaction that the edge has answered. It must not stay open at the server.
    QuietEnd(Handle),
    /// The edge has answered it as done. If it fails, so does its transaction.
    Write(RequestId),
    /// The edge waits for its replies; if it succeeds, its transaction has no failed write any more.
    Undo(RequestId),
    /// It opens a cursor whose rows may be pushed.
    Open(RequestId, Cursor),
    /// It brings rows of a cursor.
    Fetch(Cursor),
    /// A statement that was to be made later is being made.
    Allocate(u16),
    /// A statement that the edge has described is being prepared.
    Prepare(u16, Fingerprint),
    /// What does this statement read?
    Reads(u16),
    /// What kind of database is it?
    Facts,
    /// It is attached ahead of the program.
    AttachAhead(RequestId),
    /// What kind of database was attached ahead? The reply to the attaching.
    AheadFacts(RequestId, Vec<u8>),
    /// A BLOB is being read.
    Blob(BlobKey, BlobStep),
    /// A statement is run ahead.
    Ahead(AheadStep),
    /// The catalogue is asked.
    Definitions(DefinitionStep),
    /// A step of a login that the origin performs itself.
    OwnLogin,
    /// Nobody asks what became of it.
    Ignored,
}

/// What is to be done about the second connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuxiliaryStep {
    /// Make it, to this port of the server.
    Connect(u16),
    /// Close it.
    Close,
}

/// How far attaching ahead of the program is.
#[derive(Debug, Default)]
pub(super) struct AttachingAhead {
    /// Whether the server has let the program in, before any attach.
    pub(super) is_logged_in: bool,
    /// Whether something is attached that the program has not asked for.
    pub(super) is_open: bool,
}

/// A request at the server.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) operation: Operation,
    pub(super) named: Named,
    pub(super) purpose: Purpose,
    /// The text of a query that is being prepared for the edge, if its definitions are to be looked up.
    pub(super) query: Option<Query>,
    /// The replies so far, in the edge's handles.
    pub(super) packets: Vec<u8>,
}

/// Whether a request is sent only when nothing runs ahead: it may change definitions, or end the attachment.
pub(super) fn needs_rest(work: &Work) -> bool {
    let (Work::Relay { request, .. }
    | Work::Quiet { request, .. }
    | Work::Write { request, .. }
    | Work::Undo { request, .. }) = work
    else {
        return false;
    };
    matches!(
        **request,
        Request::ExecuteImmediate(_)
            | Request::ExecuteImmediate2(_)
            | Request::Ddl { .. }
            | Request::Detach(_)
            | Request::DropDatabase(_)
    )
}

/// Whether an edge may answer a request as done.
pub(super) fn may_be_written(request: &Request, named: &Named) -> bool {
    matches!(request, Request::Execute(_) | Request::ExecuteImmediate(_)) && named.transaction != 0
}

/// Whether a request can undo what its transaction has written.
pub(super) fn may_undo(request: &Request, named: &Named) -> bool {
    let is_statement = matches!(
        request,
        Request::Execute(_)
            | Request::Execute2(_)
            | Request::ExecuteImmediate(_)
            | Request::ExecuteImmediate2(_)
    );
    (is_statement || matches!(request, Request::RollbackRetaining(_))) && named.transaction != 0
}

/// An information request.
pub(super) fn information(object: Handle, items: Vec<u8>, room: u32) -> Information {
    Information { object, incarnation: 0, items, buffer_length: BufferLength(room) }
}

/// The bytes of packets in an ask.
pub(super) fn ask_bytes(ask: &Ask) -> usize {
    let packet = match ask {
        Ask::Open { packet, question, ahead, .. } => {
            let question = question.as_ref().map_or(0, |question| question.packet.len());
            packet.len() + question + ahead.iter().map(ahead_bytes).sum::<usize>()
        }
        Ask::Ahead { statements, parameters, .. } => {
            let given = |given: &GivenParameters| {
                given.blr.len() + given.message.len() + size_of::<GivenParameters>()
            };
            statements.iter().map(ahead_bytes).sum::<usize>() + parameters.iter().map(given).sum::<usize>()
        }
        Ask::Relay { packet, .. }
        | Ask::Quiet { packet, .. }
        | Ask::Write { packet, .. }
        | Ask::Undo { packet, .. }
        | Ask::Prepared { packet, .. }
        | Ask::AttachAhead { packet, .. }
        | Ask::OpenBlob { packet, .. } => packet.len(),
        _ => 0,
    };
    packet + size_of::<Ask>()
}

fn ahead_bytes(ask: &AskAhead) -> usize {
    let own = ask.prepare.len() + ask.input_blr.len() + ask.output_blr.len() + size_of::<AskAhead>();
    ask.ahead.iter().map(ahead_bytes).fold(own, usize::saturating_add)
}

//! Replies of the server in the edge's handles.
//!
//! A reply says little about what it answers, so what the request named is kept for it: [`Named`].

use farbird_types::{BlobId, Error};
use farbird_wire::operation::Operation;
use farbird_wire::packet::{Reply, Response, SqlResponse};
use farbird_wire::protocol::{Handle, ProtocolVersion};
use farbird_wire::status::StatusVector;

use super::objects::Named;

/// The handle that a reply to op_free_statement has when the statement is no more.
const GONE: Handle = Handle(0xFFFF);

/// Puts the edge's handles into a reply.
pub(super) fn to_edge(reply: &mut Reply, operation: Operation, named: &Named) {
    match reply {
        Reply::Response(response) => response.object = object(response, operation, named),
        Reply::Send(send) => {
            send.call.request = Handle(named.other);
            if named.transaction != 0 {
                send.call.transaction = Handle(named.transaction);
            }
        }
        Reply::InlineBlob(blob) => blob.transaction = Handle(named.transaction),
        Reply::BatchCompletion(completion) => completion.statement = Handle(named.statement),
        _ => {}
    }
}

fn object(response: &Response, operation: Operation, named: &Named) -> Handle {
    let object = response.object;
    match operation {
        _ if makes_object(operation) => Handle(if response.status.is_success() { named.made } else { 0 }),
        // The transaction after the statement: the same, none, or a new one.
        Operation::Execute
        | Operation::Execute2
        | Operation::ExecuteImmediate
        | Operation::ExecuteImmediate2
        | Operation::Start
        | Operation::StartAndSend => match (object.0, named.transaction) {
            (0, _) => Handle(0),
            (_, 0) => Handle(named.made),
            (_, transaction) => Handle(transaction),
        },
        Operation::FreeStatement => match object {
            GONE | Handle(0) => object,
            _ => Handle(named.statement),
        },
        Operation::InfoTransaction
        | Operation::InfoRequest
        | Operation::InfoBlob
        | Operation::InfoSql
        | Operation::InfoBatch
        | Operation::InfoCursor => match object {
            Handle(0) => object,
            _ => Handle(named.target()),
        },
        _ => object,
    }
}

/// Whether the reply to an operation gives the handle of a new object.
pub(super) fn makes_object(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Transaction
            | Operation::Reconnect
            | Operation::AllocateStatement
            | Operation::Compile
            | Operation::CreateBlob
            | Operation::CreateBlob2
            | Operation::OpenBlob
            | Operation::OpenBlob2
    )
}

/// The packets that answer a request which has not been sent, and has failed.
pub(super) fn failure(operation: Operation, status: StatusVector, version: ProtocolVersion) -> Vec<u8> {
    let mut packets = Vec::new();
    // Some drivers take no other answer to these.
    if matches!(operation, Operation::Execute2 | Operation::ExecuteImmediate2) {
        Reply::SqlResponse(SqlResponse { message: None }).encode(version, &mut packets);
    }
    let response = Response { object: Handle(0), blob: BlobId(0), data: Vec::new(), status };
    Reply::Response(response).encode(version, &mut packets);
    packets
}

/// The status of an error.
pub(super) fn status(code: u32) -> StatusVector {
    StatusVector::from_error(&Error::new(code))
}

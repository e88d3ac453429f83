//! Writes that the edge has answered as done (its setting `optimistic-writes`).
//!
//! Promises: of a transaction nothing is sent before its writes are answered, and behind one that has failed nothing but what ends
//! the transaction without committing it, or undoes the write. So what a program would not have done had it been told of the failure
//! is not done, and a transaction of which a write has failed is not committed.

use farbird_types::isc;
use farbird_wire::packet::{Reply, Request};
use farbird_wire::status::StatusVector;

use super::conversation::Conversation;
use super::objects::Named;
use super::requests::Hindrance;
use super::translate;
use super::work::Purpose;
use crate::message::{RequestId, Tell};

impl Conversation {
    /// Puts the server's handles into a request if what its transaction has written is done, or says why it cannot be sent.
    pub(super) fn admitted(&mut self, request: &mut Request, named: &Named) -> Result<(), Hindrance> {
        let works_in = |handle: u16| self.objects.get(handle).map_or(0, |object| object.cursor_transaction);
        let transaction = match request {
            // They ask about an execution.
            Request::Fetch(_)
            | Request::FetchScroll(_)
            | Request::StatementInformation(_)
            | Request::CursorInformation(_) => works_in(named.statement),
            // They go on with a BLR request that runs.
            Request::Send(_) | Request::Receive(_) => works_in(named.other),
            _ => named.transaction,
        };
        if let Some(transaction) = self.objects.get(transaction) {
            if transaction.writes > 0 {
                return Err(Hindrance::Wait);
            }
            if let Some(status) = transaction.failed_write.as_ref()
                && !matches!(request, Request::Rollback(_))
            {
                return Err(Hindrance::Fail(status.clone()));
            }
        }
        self.at_server(request, named)
    }

    /// Sends a write, or gives it back if it must wait.
    pub(super) fn write(&mut self, id: RequestId, request: &mut Request, named: Named) -> Result<(), ()> {
        match self.admitted(request, &named) {
            Ok(()) => {
                self.before(request, &named);
                self.expect_write(&named);
                self.transmit(request, named, Purpose::Write(id));
                Ok(())
            }
            Err(Hindrance::Fail(status)) => {
                // Whoever asks about this execution must not hear of the one before.
                if let Some(statement) = self.objects.get_mut(named.statement) {
                    statement.cursor_transaction = named.transaction;
                }
                self.fail_write(&named, &status);
                self.fail(request.operation(), id, status);
                Ok(())
            }
            Err(hindrance) => {
                self.prepare_way(&hindrance, named.transaction);
                Err(())
            }
        }
    }

    /// Sends what undoes writes, or gives it back if it must wait.
    pub(super) fn undo(&mut self, id: RequestId, request: &mut Request, named: Named) -> Result<(), ()> {
        if self.objects.get(named.transaction).is_some_and(|transaction| transaction.writes > 0) {
            return Err(());
        }
        match self.at_server(request, &named) {
            Ok(()) => {
                self.before(request, &named);
                self.expect_write(&named);
                self.transmit(request, named, Purpose::Undo(id));
                Ok(())
            }
            Err(Hindrance::Fail(status)) => {
                self.fail(request.operation(), id, status);
                Ok(())
            }
            Err(hindrance) => {
                self.prepare_way(&hindrance, named.transaction);
                Err(())
            }
        }
    }

    /// What comes behind in the transaction waits for the answer.
    fn expect_write(&mut self, named: &Named) {
        if let Some(transaction) = self.objects.get_mut(named.transaction) {
            transaction.writes += 1;
        }
    }

    fn write_answered(&mut self, named: &Named) {
        if let Some(transaction) = self.objects.get_mut(named.transaction) {
            transaction.writes = transaction.writes.saturating_sub(1);
        }
    }

    fn fail_write(&mut self, named: &Named, status: &StatusVector) {
        if let Some(transaction) = self.objects.get_mut(named.transaction) {
            transaction.failed_write.get_or_insert_with(|| status.clone());
        }
    }

    /// The server has answered a write.
    pub(super) fn written(&mut self, id: RequestId, named: &Named, reply: &Reply, packets: Vec<u8>) {
        self.write_answered(named);
        match reply {
            Reply::Response(response) if response.status.is_success() => {}
            Reply::Response(response) => self.fail_write(named, &response.status),
            _ => self.fail_write(named, &translate::status(isc::NET_READ_ERR)),
        }
        self.tell(Tell::Reply { id, packets });
    }

    /// The server has answered what undoes writes.
    pub(super) fn undone(&mut self, id: RequestId, named: &Named, is_success: bool, packets: Vec<u8>) {
        self.write_answered(named);
        if is_success && let Some(transaction) = self.objects.get_mut(named.transaction) {
            transaction.failed_write = None;
        }
        self.tell(Tell::Reply { id, packets });
    }
}

//! Transactions: start by a TPB, commit, roll back.
//!
//! Source: wire-protocol.md, 1.5 and 6.4.

use farbird_types::{Error, Result, isc};
use farbird_wire::packet::Response;
use farbird_wire::protocol::Handle;

use super::Session;
use super::objects::Object;
use super::tpb;

impl Session {
    pub(super) fn start_transaction(&mut self, block: &[u8]) -> Result<Response> {
        self.objects.forget_latest();
        let parameters = tpb::parse(block)?;
        let transaction = self.attachment()?.start_transaction(parameters)?;
        let handle = self.objects.insert(Object::Transaction(transaction))?;
        Ok(Response::object(handle))
    }

    pub(super) fn commit(&mut self, handle: Handle) -> Result<Response> {
        let handle = self.objects.resolve(handle);
        let transaction = self.objects.transaction(handle)?;
        let result = self.attachment()?.commit(transaction);
        self.forget_if_ended(handle);
        result.map(|()| Response::success())
    }

    pub(super) fn rollback(&mut self, handle: Handle) -> Result<Response> {
        let handle = self.objects.resolve(handle);
        let transaction = self.objects.transaction(handle)?;
        let result = self.attachment()?.rollback(transaction);
        self.forget_if_ended(handle);
        result.map(|()| Response::success())
    }

    pub(super) fn commit_retaining(&mut self, handle: Handle) -> Result<Response> {
        let transaction = self.objects.transaction(handle)?;
        self.attachment()?.commit_retaining(transaction)?;
        Ok(Response::success())
    }

    pub(super) fn rollback_retaining(&mut self, handle: Handle) -> Result<Response> {
        let transaction = self.objects.transaction(handle)?;
        self.attachment()?.rollback_retaining(transaction)?;
        Ok(Response::success())
    }

    /// op_prepare: two-phase commit is not built. The transaction goes on, as it does in Firebird after a failure.
    pub(super) fn prepare_transaction(&mut self, handle: Handle) -> Result<Response> {
        self.objects.transaction(handle)?;
        Err(Error::new(isc::WISH_LIST))
    }

    /// After an error the transaction may still be there: then its handle stays.
    fn forget_if_ended(&mut self, handle: Handle) {
        let alive = match (self.objects.transaction(handle), &self.attachment) {
            (Ok(transaction), Some(attachment)) => attachment.has_transaction(transaction),
            _ => false,
        };
        if !alive {
            self.objects.end_transaction(handle);
        }
    }
}

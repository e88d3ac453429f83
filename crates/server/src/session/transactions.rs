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
        result?;
        let mut response = Response::success();
        if let Some(warnings) = self.attachment()?.take_restore_warnings() {
            response.status = response.status.with_warnings(&warnings);
        }
        Ok(response)
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

    /// op_prepare and op_prepare2: after a failure the transaction goes on.
    pub(super) fn prepare_transaction(&mut self, handle: Handle, description: &[u8]) -> Result<Response> {
        let transaction = self.objects.transaction(handle)?;
        self.attachment()?.prepare_transaction(transaction, description)?;
        Ok(Response::success())
    }

    /// op_reconnect: the number comes in as many bytes as the client likes, the lowest first.
    pub(super) fn reconnect(&mut self, number: &[u8]) -> Result<Response> {
        self.objects.forget_latest();
        let (low, high) = number.split_at(number.len().min(size_of::<u64>()));
        if low.is_empty() || high.iter().any(|byte| *byte != 0) {
            let why = "the number of a transaction has 1 to 8 bytes";
            return Err(Error::new(isc::NO_RECON).and(isc::RANDOM).with(why));
        }
        let number = low.iter().rev().fold(0, |number: u64, byte| number << 8 | u64::from(*byte));
        let transaction = self.attachment()?.reconnect_transaction(number)?;
        let handle = self.objects.insert(Object::Transaction(transaction))?;
        Ok(Response::object(handle))
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

//! The handle on a transaction that runs.

use farbird_types::{Error, Result, isc};
use farbird_wire::packet::Request;
use farbird_wire::protocol::Handle;

use crate::core::{Kind, Object, ObjectRef, Shared};
use crate::transaction_options::TransactionOptions;

/// A running transaction of one connection. Dropped before its end it is rolled back with the next flight.
#[derive(Debug)]
pub struct Transaction {
    object: Object,
}

impl Transaction {
    /// Starts one; that it was refused shows when it is used.
    pub(crate) fn start(shared: &Shared, options: &TransactionOptions) -> Result<Transaction> {
        Transaction::start_by(
            shared,
            &Request::StartTransaction { database: Handle::NONE, tpb: options.to_tpb()? },
        )
    }

    /// Starts one by a request whose answer names it.
    pub(crate) fn start_by(shared: &Shared, request: &Request) -> Result<Transaction> {
        Ok(Transaction { object: shared.send_for(Kind::Transaction, request)? })
    }

    /// The one that the server has given by this name.
    pub(crate) fn of(object: Object) -> Transaction {
        Transaction { object }
    }

    /// The number by which requests on this connection name it.
    pub(crate) async fn handle(&self, shared: &Shared) -> Result<Handle> {
        if !self.object.shared().is(shared) {
            return Err(Error::new(isc::BAD_TRANS_HANDLE));
        }
        self.object.handle().await
    }

    pub(crate) fn object(&self) -> &ObjectRef {
        &self.object
    }

    /// Why a request on this transaction failed: perhaps because the transaction did not start.
    pub(crate) fn explain<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| self.object.explain(error))
    }
}

//! Transactions: how they begin, and the handle on one that runs.

use std::time::Duration;

use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::{ClumpletWriter, tpb};
use farbird_wire::packet::Request;
use farbird_wire::protocol::Handle;

use crate::core::{Kind, Object, ObjectRef, Shared};

/// How much a transaction sees of others' commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// SNAPSHOT: the database as of the transaction's start.
    #[default]
    Snapshot,
    /// SNAPSHOT TABLE STABILITY: that, and nobody else writes to the tables it touches.
    TableStability,
    /// READ COMMITTED: each statement sees what was committed before it (READ CONSISTENCY where the server has it).
    ReadCommitted,
}

/// What to do about a row that another transaction has changed and not committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wait {
    /// Wait for the other transaction's end.
    #[default]
    Forever,
    /// Fail at once.
    No,
    /// Wait for so long; whole seconds.
    Timeout(Duration),
}

/// How a transaction begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransactionOptions {
    /// What it sees.
    pub isolation: Isolation,
    /// Whether it may write.
    pub read_only: bool,
    /// What it does about others' locks.
    pub wait: Wait,
}

impl TransactionOptions {
    /// The parameter block.
    pub(crate) fn to_tpb(self) -> Vec<u8> {
        let mut items = ClumpletWriter::tpb();
        match self.isolation {
            Isolation::Snapshot => items.flag(tpb::CONCURRENCY),
            Isolation::TableStability => items.flag(tpb::CONSISTENCY),
            // Servers with read consistency take the record version for it unless told otherwise.
            Isolation::ReadCommitted => items.flag(tpb::READ_COMMITTED).flag(tpb::REC_VERSION),
        };
        items.flag(if self.read_only { tpb::READ } else { tpb::WRITE });
        match self.wait {
            Wait::Forever => items.flag(tpb::WAIT),
            Wait::No => items.flag(tpb::NOWAIT),
            Wait::Timeout(time) => {
                let seconds = u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
                items.flag(tpb::WAIT).bytes(tpb::LOCK_TIMEOUT, &seconds.to_le_bytes())
            }
        };
        items.into_bytes()
    }
}

/// A running transaction of one connection. Dropped before its end it is rolled back with the next flight.
#[derive(Debug)]
pub struct Transaction {
    object: Object,
}

impl Transaction {
    /// Starts one; that it was refused shows when it is used.
    pub(crate) fn start(shared: &Shared, options: &TransactionOptions) -> Result<Transaction> {
        let request = Request::StartTransaction { database: Handle::NONE, tpb: options.to_tpb() };
        Ok(Transaction { object: shared.send_for(Kind::Transaction, &request)? })
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

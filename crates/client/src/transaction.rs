//! Transactions: how they begin, and the handle on one that runs.

use std::time::Duration;

use farbird_wire::clumplet::{ClumpletWriter, tpb};
use farbird_wire::packet::Request;
use farbird_wire::protocol::Handle;

use crate::releases::Releases;

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
    handle: Handle,
    releases: Releases,
    has_ended: bool,
}

impl Transaction {
    pub(crate) fn new(handle: Handle, releases: &Releases) -> Transaction {
        Transaction { handle, releases: releases.clone(), has_ended: false }
    }

    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }

    /// The server knows it no more.
    pub(crate) fn forget(mut self) {
        self.has_ended = true;
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.has_ended {
            self.releases.add(Request::Rollback(self.handle));
        }
    }
}

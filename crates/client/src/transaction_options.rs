//! How a transaction begins: every option that a transaction parameter block can carry.
//!
//! Source: wire-protocol 11.3 (isc_tpb_).

use std::time::Duration;

use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::{ClumpletWriter, tpb};

/// Bytes of the longest name that the block can carry.
const NAME_BYTES_MAX: usize = 255;

/// How much a transaction sees of others' commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// SNAPSHOT: the database as of the transaction's start.
    #[default]
    Snapshot,
    /// SNAPSHOT AT NUMBER: the database as another transaction, which still runs, sees it. Its number is
    /// [`TransactionInformation::snapshot_number`](crate::TransactionInformation::snapshot_number). Firebird 4 and later.
    SnapshotAt(u64),
    /// SNAPSHOT TABLE STABILITY: as of the start, and nobody else writes to the tables it touches.
    TableStability,
    /// READ COMMITTED RECORD_VERSION: each statement sees what was committed before it. Servers with read consistency
    /// (Firebird 4 and later, unless configured otherwise) take it for [`Isolation::ReadConsistency`].
    ReadCommitted,
    /// READ COMMITTED NO RECORD_VERSION: a row with an uncommitted change is waited for. As for
    /// [`Isolation::ReadCommitted`], newer servers take it for [`Isolation::ReadConsistency`].
    ReadCommittedNoRecordVersion,
    /// READ COMMITTED READ CONSISTENCY: each statement sees a snapshot of its own. Firebird 4 and later.
    ReadConsistency,
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

/// What a reserved table is reserved for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableAccess {
    /// FOR READ.
    Read,
    /// FOR WRITE.
    Write,
}

/// What others may do to a reserved table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableSharing {
    /// SHARED: read and write.
    Shared,
    /// PROTECTED: read.
    Protected,
    /// EXCLUSIVE: nothing that locks it.
    Exclusive,
}

/// A table that the transaction locks when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableReservation {
    /// Name of the table, as it stands in the catalog.
    pub table: String,
    /// What for.
    pub access: TableAccess,
    /// What others may do.
    pub sharing: TableSharing,
}

/// How a transaction begins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransactionOptions {
    /// What it sees.
    pub isolation: Isolation,
    /// Whether it may only read.
    pub read_only: bool,
    /// What it does about others' locks.
    pub wait: Wait,
    /// Tables that it locks when it starts.
    pub reservations: Vec<TableReservation>,
    /// Each statement is committed (retaining the transaction) when it succeeds.
    pub auto_commit: bool,
    /// Rows of transactions in limbo are passed over rather than refused.
    pub ignore_limbo: bool,
    /// The server keeps no log to undo the transaction with: for bulk loads.
    pub no_auto_undo: bool,
    /// Requests that the attachment has active are restarted in this transaction.
    pub restart_requests: bool,
    /// The id of a temporary BLOB is freed as soon as the BLOB is stored in a row. Firebird 5 and later.
    pub release_temporary_blob_ids: bool,
}

impl TransactionOptions {
    /// The parameter block.
    ///
    /// # Errors
    /// `isc_bad_tpb_form` for a name of a table that is too long.
    pub(crate) fn to_tpb(&self) -> Result<Vec<u8>> {
        let mut items = ClumpletWriter::tpb();
        match self.isolation {
            Isolation::Snapshot => items.flag(tpb::CONCURRENCY),
            Isolation::SnapshotAt(number) => {
                items.flag(tpb::CONCURRENCY).bytes(tpb::AT_SNAPSHOT_NUMBER, &number.to_le_bytes())
            }
            Isolation::TableStability => items.flag(tpb::CONSISTENCY),
            Isolation::ReadCommitted => items.flag(tpb::READ_COMMITTED).flag(tpb::REC_VERSION),
            Isolation::ReadCommittedNoRecordVersion => {
                items.flag(tpb::READ_COMMITTED).flag(tpb::NO_REC_VERSION)
            }
            Isolation::ReadConsistency => items.flag(tpb::READ_COMMITTED).flag(tpb::READ_CONSISTENCY),
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
        let flags = [
            (self.auto_commit, tpb::AUTOCOMMIT),
            (self.ignore_limbo, tpb::IGNORE_LIMBO),
            (self.no_auto_undo, tpb::NO_AUTO_UNDO),
            (self.restart_requests, tpb::RESTART_REQUESTS),
            (self.release_temporary_blob_ids, tpb::AUTO_RELEASE_TEMP_BLOBID),
        ];
        for (_, flag) in flags.iter().filter(|(is_set, _)| *is_set) {
            items.flag(*flag);
        }
        for reservation in &self.reservations {
            reservation.write(&mut items)?;
        }
        Ok(items.into_bytes())
    }
}

impl TableReservation {
    fn write(&self, items: &mut ClumpletWriter) -> Result<()> {
        if self.table.len() > NAME_BYTES_MAX {
            return Err(Error::new(isc::BAD_TPB_FORM));
        }
        let access = match self.access {
            TableAccess::Read => tpb::LOCK_READ,
            TableAccess::Write => tpb::LOCK_WRITE,
        };
        items.text(access, &self.table);
        items.flag(match self.sharing {
            TableSharing::Shared => tpb::SHARED,
            TableSharing::Protected => tpb::PROTECTED,
            TableSharing::Exclusive => tpb::EXCLUSIVE,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_the_block_that_servers_understand() {
        let block = |options: TransactionOptions| options.to_tpb().unwrap();
        assert_eq!(block(TransactionOptions::default()), [3, 2, 9, 6]);
        let options = TransactionOptions {
            isolation: Isolation::TableStability,
            wait: Wait::No,
            reservations: vec![TableReservation {
                table: "T".to_owned(),
                access: TableAccess::Write,
                sharing: TableSharing::Protected,
            }],
            auto_commit: true,
            ..TransactionOptions::default()
        };
        assert_eq!(block(options), [3, 1, 9, 7, 16, 11, 1, b'T', 4]);
        let table = "T".repeat(256);
        let reservation =
            TableReservation { table, access: TableAccess::Read, sharing: TableSharing::Shared };
        let options = TransactionOptions { reservations: vec![reservation], ..TransactionOptions::default() };
        assert!(options.to_tpb().is_err());
    }
}

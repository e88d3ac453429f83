//! What a server says of a transaction.
//!
//! Source: wire-protocol 11.6 (isc_info_tra_); FirebirdSQL/firebird `src/include/firebird/impl/inf_pub.h`.

use std::time::Duration;

use farbird_types::Result;
use farbird_wire::info::{InfoReader, transaction};
use farbird_wire::packet::Request;

use crate::connection::{Connection, information};
use crate::error;
use crate::transaction::Transaction;
use crate::transaction_options::{Isolation, Wait};

/// Values of the items.
mod value {
    pub(super) const CONSISTENCY: u8 = 1;
    pub(super) const CONCURRENCY: u8 = 2;
    pub(super) const READ_COMMITTED: u8 = 3;
    pub(super) const NO_REC_VERSION: u8 = 0;
    pub(super) const READ_CONSISTENCY: u8 = 2;
    pub(super) const READ_ONLY: i64 = 0;
}

/// A transaction as its server sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransactionInformation {
    /// Its number.
    pub id: u64,
    /// The oldest transaction that was not committed when it started.
    pub oldest_interesting: u64,
    /// The oldest snapshot that was in use.
    pub oldest_snapshot: u64,
    /// The oldest transaction that ran.
    pub oldest_active: u64,
    /// What it sees; [`Isolation::SnapshotAt`] is told as [`Isolation::Snapshot`].
    pub isolation: Isolation,
    /// Whether it may only read.
    pub read_only: bool,
    /// What it does about others' locks.
    pub wait: Wait,
    /// Path of the database; servers before Firebird 3 do not tell.
    pub database: Option<String>,
    /// Number of its snapshot, for [`Isolation::SnapshotAt`]; servers before Firebird 4 do not tell.
    pub snapshot_number: Option<u64>,
}

/// What is asked.
const ITEMS: &[u8] = &[
    transaction::TRA_ID,
    transaction::TRA_OLDEST_INTERESTING,
    transaction::TRA_OLDEST_SNAPSHOT,
    transaction::TRA_OLDEST_ACTIVE,
    transaction::TRA_ISOLATION,
    transaction::TRA_ACCESS,
    transaction::TRA_LOCK_TIMEOUT,
    transaction::TRA_DBPATH,
    transaction::TRA_SNAPSHOT_NUMBER,
];

impl Connection {
    /// Asks about a transaction.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn transaction_information(&self, transaction: &Transaction) -> Result<TransactionInformation> {
        let handle = transaction.handle(&self.shared).await?;
        let request = Request::TransactionInformation(information(handle, ITEMS.to_vec()));
        let response = transaction.explain(self.response(&request).await)?;
        TransactionInformation::parse(&response.data)
    }
}

impl TransactionInformation {
    fn parse(reply: &[u8]) -> Result<TransactionInformation> {
        let mut told = TransactionInformation::default();
        for item in InfoReader::new(reply) {
            let item = item.map_err(|error| error::broken(&error))?;
            // Negative only if the server is confused.
            let number = || item.integer().and_then(|number| u64::try_from(number).ok());
            match item.item {
                transaction::TRA_ID => told.id = number().unwrap_or_default(),
                transaction::TRA_OLDEST_INTERESTING => told.oldest_interesting = number().unwrap_or_default(),
                transaction::TRA_OLDEST_SNAPSHOT => told.oldest_snapshot = number().unwrap_or_default(),
                transaction::TRA_OLDEST_ACTIVE => told.oldest_active = number().unwrap_or_default(),
                transaction::TRA_ISOLATION => told.isolation = isolation(item.value),
                transaction::TRA_ACCESS => told.read_only = item.integer() == Some(value::READ_ONLY),
                transaction::TRA_LOCK_TIMEOUT => told.wait = wait(item.integer()),
                transaction::TRA_DBPATH => {
                    told.database = Some(String::from_utf8_lossy(item.value).into_owned());
                }
                transaction::TRA_SNAPSHOT_NUMBER => told.snapshot_number = number(),
                // Older servers do not know the newest items; some add a sum of lengths (isc_info_length).
                _ => {}
            }
        }
        Ok(told)
    }
}

fn isolation(told: &[u8]) -> Isolation {
    match *told {
        [value::CONSISTENCY, ..] => Isolation::TableStability,
        [value::READ_COMMITTED, value::NO_REC_VERSION, ..] => Isolation::ReadCommittedNoRecordVersion,
        [value::READ_COMMITTED, value::READ_CONSISTENCY, ..] => Isolation::ReadConsistency,
        [value::READ_COMMITTED, ..] => Isolation::ReadCommitted,
        [value::CONCURRENCY, ..] | [..] => Isolation::Snapshot,
    }
}

fn wait(told: Option<i64>) -> Wait {
    match told {
        Some(0) => Wait::No,
        Some(seconds @ 1..) => Wait::Timeout(Duration::from_secs(seconds.unsigned_abs())),
        _ => Wait::Forever,
    }
}

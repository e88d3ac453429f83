//! COMMIT, ROLLBACK, SAVEPOINT and SET TRANSACTION as SQL.

use std::time::Duration;

use farbird_sql::ast::{IsolationLevel, SetTransaction, TransactionAccess, TransactionStatement};
use farbird_types::{Error, Result, isc};

use crate::api::{
    Execution, Isolation, StatementKind, TableReservation, TransactionHandle, TransactionParameters,
};
use crate::attachment::Attachment;

/// What clients are told such a statement is.
pub(super) fn kind(statement: &TransactionStatement) -> StatementKind {
    match statement {
        TransactionStatement::Set(_) => StatementKind::StartTransaction,
        TransactionStatement::Commit { .. } => StatementKind::Commit,
        TransactionStatement::Rollback { .. } => StatementKind::Rollback,
        TransactionStatement::RollbackToSavepoint(_)
        | TransactionStatement::Savepoint(_)
        | TransactionStatement::ReleaseSavepoint { .. } => StatementKind::Savepoint,
    }
}

impl Attachment {
    pub(super) fn execute_transaction_statement(
        &mut self,
        statement: &TransactionStatement,
        transaction: Option<TransactionHandle>,
    ) -> Result<Execution> {
        if let TransactionStatement::Set(set) = statement {
            return Ok(Execution::TransactionStarted(self.start_transaction(parameters(set)?)?));
        }
        let transaction = transaction.ok_or_else(|| Error::new(isc::BAD_TRANS_HANDLE))?;
        match statement {
            TransactionStatement::Set(_) => {}
            TransactionStatement::Commit { retain: true } => self.commit_retaining(transaction)?,
            TransactionStatement::Rollback { retain: true } => self.rollback_retaining(transaction)?,
            TransactionStatement::Commit { retain: false } => {
                self.commit(transaction)?;
                return Ok(Execution::TransactionEnded);
            }
            TransactionStatement::Rollback { retain: false } => {
                self.rollback(transaction)?;
                return Ok(Execution::TransactionEnded);
            }
            TransactionStatement::Savepoint(name) => self.set_savepoint(transaction, &name.text)?,
            TransactionStatement::RollbackToSavepoint(name) => {
                self.rollback_to_savepoint(transaction, &name.text)?
            }
            TransactionStatement::ReleaseSavepoint { name, only } => {
                self.release_savepoint(transaction, &name.text, *only)?;
            }
        }
        Ok(Execution::Done)
    }
}

/// SET TRANSACTION's parameters; what was not written is as Firebird has it: SNAPSHOT, READ WRITE, WAIT.
///
/// # Errors
/// `isc_bad_tpb_content` for a time to wait of a transaction that does not wait, and for one of no seconds.
fn parameters(set: &SetTransaction) -> Result<TransactionParameters> {
    const LOCK_TIMEOUT: &str = "isc_tpb_lock_timeout";
    let refused = |code: u32| Error::new(isc::BAD_TPB_CONTENT).and(code);
    let lock_timeout = match (set.wait, set.lock_timeout) {
        (Some(false), Some(_)) => {
            return Err(refused(isc::TPB_CONFLICTING_OPTIONS).with(LOCK_TIMEOUT).with("isc_tpb_nowait"));
        }
        (_, Some(0)) => return Err(refused(isc::TPB_INVALID_VALUE).with(0).with(LOCK_TIMEOUT)),
        (Some(false), None) => Some(Duration::ZERO),
        (_, Some(seconds)) => Some(Duration::from_secs(u64::from(seconds))),
        (_, None) => None,
    };
    let (isolation, at_snapshot) = match set.isolation {
        None => (Isolation::Snapshot, None),
        Some(IsolationLevel::Snapshot { at_number }) => {
            (Isolation::Snapshot, at_number.and_then(|number| u64::try_from(number).ok()))
        }
        Some(IsolationLevel::SnapshotTableStability) => (Isolation::TableStability, None),
        Some(IsolationLevel::ReadCommitted(_) | IsolationLevel::ReadUncommitted) => {
            (Isolation::ReadCommitted, None)
        }
    };
    Ok(TransactionParameters {
        isolation,
        read_only: set.access == Some(TransactionAccess::ReadOnly),
        lock_timeout,
        at_snapshot,
        auto_commit: set.auto_commit,
        no_auto_undo: set.no_auto_undo,
        ignore_limbo: set.ignore_limbo,
        reservations: set
            .reserving
            .iter()
            .flat_map(|reservation| {
                reservation.tables.iter().map(|table| TableReservation {
                    relation: table.text.clone(),
                    write: reservation.write,
                    protected: reservation.protected,
                })
            })
            .collect(),
    })
}

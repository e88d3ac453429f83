//! Two-phase commit: transactions that are prepared, and those of others that are taken over to be ended.
//!
//! What a prepared transaction is to others, and what a crash leaves of it, is the store's affair ([`farbird_store::PreparedTransaction`]).
//! Here are the handles. Firebird 5.0.4 was asked: a statement in a prepared transaction is isc_req_no_trans, preparing once more does
//! nothing, and the end of its session leaves it in limbo.

use std::sync::Arc;

use farbird_sql::ast::DatabaseEvent;
use farbird_store::{StoreError, StoreStatistics, TransactionId};
use farbird_types::{Error, Result, isc};

use super::prepared_slot::PreparedSlot;
use super::transactions::bad_handle;
use crate::api::{TransactionHandle, TransactionParameters};
use crate::attachment::{Attachment, HANDLES_MAX};
use crate::psql::has_external;
use crate::transaction::Transaction;

impl Attachment {
    /// The first phase of a two-phase commit: makes sure that the transaction can be committed, whatever happens, and keeps it
    /// beyond the end of the session until somebody commits it or rolls it back. Fires ON TRANSACTION COMMIT. `description` is kept with it
    /// (RDB$TRANSACTIONS) and may be empty. Nothing happens if it is prepared already.
    ///
    /// # Durability
    /// All of its work is on the disk when this returns.
    ///
    /// # Errors
    /// `isc_wish_list` if it has changed definitions, users, other databases, or rows that its session keeps in temporary tables;
    /// `isc_imp_exc` for a description that is too long and for too many prepared transactions; from the triggers.
    /// The transaction goes on then as it was, with its cursors and savepoints; if a write has failed it can only be rolled back
    /// ([`Attachment::is_transaction_lost`]).
    pub fn prepare_transaction(&mut self, handle: TransactionHandle, description: &[u8]) -> Result<()> {
        self.check_open()?;
        if self.is_prepared(handle) {
            return Ok(());
        }
        let transaction = self.transaction(handle)?;
        self.check_can_prepare(transaction, description)?;
        self.fire_before_prepare(transaction, description)?;
        self.close_cursors_of(handle);
        self.forget_blobs_of(handle);
        let slot = self.transactions.remove(&handle).ok_or_else(bad_handle)?;
        let transaction = &slot.transaction;
        let (posted, snapshot) = (transaction.store.posted_events(), transaction.store.snapshot());
        match transaction.store.prepare(description) {
            Ok(id) => {
                let prepared = PreparedSlot {
                    id,
                    parameters: transaction.parameters.clone(),
                    snapshot_number: snapshot.0,
                    posted,
                    name: None,
                    is_taken_over: false,
                };
                self.prepared.insert(handle, prepared);
                Ok(())
            }
            Err(error) => {
                self.transactions.insert(handle, slot);
                Err(self.database().status(error))
            }
        }
    }

    /// Fires ON TRANSACTION COMMIT; what the triggers do is undone if the transaction cannot be prepared any more because of it.
    fn fire_before_prepare(&self, transaction: &Transaction, description: &[u8]) -> Result<()> {
        let definitions = transaction.catalog.lock().mark();
        let user_changes = transaction.user_changes.lock().len();
        let before = transaction.store.savepoint();
        let fired = self.fire(DatabaseEvent::TransactionCommit, transaction);
        let checked = fired.and_then(|()| self.check_can_prepare(transaction, description));
        if checked.is_ok() {
            transaction.store.release(before);
            return Ok(());
        }
        transaction.store.rollback_to(before).map_err(|error| self.database().status(error))?;
        transaction.catalog.lock().restore(&definitions);
        transaction.user_changes.lock().truncate(user_changes);
        checked
    }

    /// Refuses what a prepared transaction does not keep.
    fn check_can_prepare(&self, transaction: &Transaction, description: &[u8]) -> Result<()> {
        if !transaction.user_changes.lock().is_empty() {
            return Err(Error::from(StoreError::CannotPrepare("users")));
        }
        if has_external(transaction) {
            return Err(Error::from(StoreError::CannotPrepare("other databases by EXECUTE STATEMENT")));
        }
        transaction.store.check_can_prepare(description).map_err(|error| self.database().status(error))
    }

    /// Takes a transaction over that is prepared, by whomever, to commit it or roll it back.
    ///
    /// # Errors
    /// `isc_no_recon` with what it is instead.
    pub fn reconnect_transaction(&mut self, id: u64) -> Result<TransactionHandle> {
        self.check_open()?;
        if self.transactions.len() + self.prepared.len() >= HANDLES_MAX {
            return Err(Error::new(isc::TOO_MANY_HANDLES));
        }
        let store = &self.database().store;
        if !store.prepared().iter().any(|known| known.id.0 == id) {
            return Err(not_prepared(id, &store.statistics()));
        }
        let handle = TransactionHandle(self.new_handle());
        let taken = PreparedSlot {
            id: TransactionId(id),
            parameters: TransactionParameters::default(),
            snapshot_number: 0,
            posted: Vec::new(),
            name: None,
            is_taken_over: true,
        };
        self.prepared.insert(handle, taken);
        Ok(handle)
    }

    /// The numbers of the transactions that are prepared, oldest first (isc_info_limbo).
    pub fn prepared_transactions(&self) -> Vec<u64> {
        self.database().store.prepared().iter().map(|prepared| prepared.id.0).collect()
    }

    /// Whether it can only be committed or rolled back any more.
    pub(super) fn is_prepared(&self, handle: TransactionHandle) -> bool {
        self.prepared.contains_key(&handle)
    }

    /// The second phase. After an error of writing it is still prepared.
    pub(super) fn commit_prepared(&mut self, handle: TransactionHandle) -> Result<()> {
        let slot = self.prepared.get(&handle).ok_or_else(bad_handle)?;
        let database = Arc::clone(self.database());
        let outcome = database.store.commit_prepared(slot.id, slot.name, |_| ());
        if outcome.is_ok() {
            database.events.post(&slot.posted);
        }
        self.note_decided(handle, outcome.map(|_| ()))
    }

    pub(super) fn roll_back_prepared(&mut self, handle: TransactionHandle) -> Result<()> {
        let slot = self.prepared.get(&handle).ok_or_else(bad_handle)?;
        let outcome = self.database().store.roll_back_prepared(slot.id);
        self.note_decided(handle, outcome)
    }

    /// Forgets the handle, unless the transaction can still be ended.
    fn note_decided(&mut self, handle: TransactionHandle, outcome: farbird_store::Result<()>) -> Result<()> {
        let database = Arc::clone(self.database());
        let failure = match outcome {
            Ok(()) => None,
            Err(StoreError::NotPrepared { transaction }) => {
                Some(not_prepared(transaction.0, &database.store.statistics()))
            }
            Err(error) => return Err(database.status(error)),
        };
        if let Some(slot) = self.prepared.remove(&handle) {
            self.session.activity.lock().transactions.remove(&slot.id.0);
        }
        failure.map_or(Ok(()), Err)
    }

    /// The session ends: what it has prepared stays, in limbo.
    pub(super) fn leave_prepared(&mut self) {
        let own = std::mem::take(&mut self.prepared).into_values().filter(|slot| !slot.is_taken_over);
        let Some(database) = &self.database else { return };
        own.for_each(|slot| database.store.leave_in_limbo(slot.id));
    }
}

/// isc_no_recon, with what the transaction is instead of being in limbo.
fn not_prepared(id: u64, statistics: &StoreStatistics) -> Error {
    let state = if statistics.active.iter().any(|active| active.id.0 == id) {
        "active"
    } else if id >= statistics.next_transaction.0 {
        "in an ill-defined state"
    } else {
        "committed or rolled back"
    };
    // A status has whole numbers of 32 bits; Firebird sends larger ones as text.
    let error = Error::new(isc::NO_RECON).and(isc::TRA_STATE);
    let error = match i32::try_from(id) {
        Ok(number) => error.with(number),
        Err(_) => error.with(id.to_string()),
    };
    error.with(state)
}

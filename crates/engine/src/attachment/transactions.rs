//! Transactions of an attachment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use farbird_sql::ast::DatabaseEvent;
use farbird_store::{
    Access, CommitName, CommitNumber, Isolation as StoreIsolation, LockLevel, SessionRelations, Tally,
    TransactionOptions, Wait,
};
use farbird_types::{Error, Result, isc};
use parking_lot::Mutex;

use crate::api::{Isolation, TransactionHandle, TransactionParameters};
use crate::attachment::transaction_slot::{NamedSavepoint, TransactionFacts, TransactionSlot};
use crate::attachment::{Attachment, HANDLES_MAX};
use crate::catalog::{self, CatalogChanges, Slots};
use crate::clock;
use crate::psql::{End, end_external, has_lost_external};
use crate::session::TransactionActivity;
use crate::transaction::{Transaction, TransactionCatalog};
use crate::users::PreparedUsers;

impl Attachment {
    /// Starts a transaction, and fires ON TRANSACTION START in it.
    ///
    /// # Errors
    /// From taking the reserved tables, and from the triggers; nothing is left then.
    pub fn start_transaction(&mut self, parameters: TransactionParameters) -> Result<TransactionHandle> {
        let handle = self.begin_transaction(parameters)?;
        if let Err(error) = self.fire(DatabaseEvent::TransactionStart, self.transaction(handle)?) {
            self.rollback_quietly(handle)?;
            return Err(error);
        }
        Ok(handle)
    }

    /// Starts a transaction without firing triggers.
    pub(super) fn begin_transaction(
        &mut self,
        parameters: TransactionParameters,
    ) -> Result<TransactionHandle> {
        self.check_open()?;
        self.check_may_begin()?;
        if self.transactions.len() + self.prepared.len() >= HANDLES_MAX {
            return Err(Error::new(isc::TOO_MANY_HANDLES));
        }
        let options = TransactionOptions {
            isolation: match parameters.isolation {
                Isolation::Snapshot => StoreIsolation::Snapshot,
                Isolation::TableStability => StoreIsolation::TableStability,
                Isolation::ReadCommitted => StoreIsolation::ReadCommitted,
            },
            access: match parameters.read_only || self.database().catalog().database.read_only {
                true => Access::ReadOnly,
                false => Access::ReadWrite,
            },
            wait: match parameters.lock_timeout {
                None => Wait::Forever,
                Some(timeout) if timeout.is_zero() => Wait::No,
                Some(timeout) => Wait::Timeout(timeout),
            },
            snapshot_at: parameters.at_snapshot.map(CommitNumber),
            ignore_limbo: parameters.ignore_limbo,
        };
        let cancel = self.session.interrupt.cancel.clone();
        let database = Arc::clone(self.database());
        let (store, current) = database
            .store
            .begin_with(options, cancel, |_| database.catalog())
            .map_err(|error| database.status(error))?;
        let temporary =
            self.temporary.get_or_insert_with(|| Arc::new(SessionRelations::new(&database.store)));
        let transaction = Transaction {
            store: store.of_session(Arc::clone(temporary)).counted_by(&Tally::below(&self.session.tally)),
            parameters,
            catalog: Mutex::new(TransactionCatalog { current, changes: CatalogChanges::default() }),
            user_changes: Mutex::new(Vec::new()),
            kept: Slots::default(),
            context_variables: Mutex::new(BTreeMap::new()),
        };
        reserve_tables(&transaction).map_err(|error| database.status(error))?;
        self.session.activity.lock().transactions.insert(
            transaction.store.id().0,
            TransactionActivity {
                started_at: clock::now(self.session.settings.lock().time_zone),
                initial_id: transaction.store.id().0,
                parameters: transaction.parameters.clone(),
                tally: Arc::clone(transaction.store.tally()),
            },
        );
        let handle = TransactionHandle(self.new_handle());
        self.transactions.insert(handle, TransactionSlot::new(Box::new(transaction)));
        self.tell_begun(handle);
        Ok(handle)
    }

    /// Commits. After an error the transaction is still there, as in Firebird: it goes on, or if a write has failed, or a
    /// commit in another database, can only be rolled back ([`Attachment::is_transaction_lost`]).
    ///
    /// # Durability
    /// Everything is on the disk when this returns.
    pub fn commit(&mut self, handle: TransactionHandle) -> Result<()> {
        self.check_open()?;
        if self.is_prepared(handle) {
            return self.commit_prepared(handle);
        }
        if self.restoring.is_some() {
            self.restore_before_commit(handle)?;
        }
        self.fire(DatabaseEvent::TransactionCommit, self.transaction(handle)?)?;
        self.commit_quietly(handle)?;
        if self.restoring.is_some() {
            self.restore_behind_commit(handle);
        }
        Ok(())
    }

    /// Commits without firing triggers.
    pub(super) fn commit_quietly(&mut self, handle: TransactionHandle) -> Result<()> {
        self.end_and_tell("COMMIT_TRANSACTION", handle, |attachment| attachment.commit_untold(handle))
    }

    fn commit_untold(&mut self, handle: TransactionHandle) -> Result<()> {
        let database = Arc::clone(self.database());
        let users = self.transaction(handle)?.prepare_users(&database)?;
        self.close_cursors_of(handle);
        self.forget_blobs_of(handle);
        let transaction = self.transaction(handle)?;
        end_external(transaction, End::Commit)?;
        let Transaction { store, catalog, .. } = transaction;
        if users.is_some() {
            store.goes_on_behind_commit().map_err(|error| self.database().status(error))?;
        }
        let id = store.id().0;
        let publish = catalog::publication(self.database(), &catalog.lock().changes);
        let posted = store.posted_events();
        store.commit_with(publish).map_err(|error| self.database().status(error))?;
        database.events.post(&posted);
        self.transactions.remove(&handle);
        self.session.activity.lock().transactions.remove(&id);
        users.map_or(Ok(()), PreparedUsers::commit)
    }

    /// Names the next commit of a transaction: [`crate::engine::Engine::commit_outcome`] tells what became of it.
    ///
    /// # Errors
    /// `isc_bad_trans_handle`.
    pub fn name_commit(&mut self, handle: TransactionHandle, name: CommitName) -> Result<()> {
        if let Some(slot) = self.prepared.get_mut(&handle) {
            slot.name = Some(name);
            return Ok(());
        }
        let store = &self.transaction(handle)?.store;
        store.name_commit(name).map_err(|error| self.database().status(error))
    }

    /// Commits and goes on with the same snapshot.
    pub fn commit_retaining(&mut self, handle: TransactionHandle) -> Result<()> {
        self.check_open()?;
        if self.restoring.is_some() {
            self.restore_before_commit(handle)?;
        }
        self.fire(DatabaseEvent::TransactionCommit, self.transaction(handle)?)?;
        self.end_and_tell("COMMIT_RETAINING", handle, |attachment| {
            attachment.commit_retaining_untold(handle)
        })?;
        if self.restoring.is_some() {
            self.restore_behind_commit(handle);
        }
        Ok(())
    }

    fn commit_retaining_untold(&mut self, handle: TransactionHandle) -> Result<()> {
        let slot = self.transactions.get_mut(&handle).ok_or_else(bad_handle)?;
        slot.savepoints.clear();
        let slot = self.transactions.get(&handle).ok_or_else(bad_handle)?;
        let database = Arc::clone(self.database());
        let users = slot.transaction.prepare_users(&database)?;
        end_external(&slot.transaction, End::Commit)?;
        if users.is_some() {
            slot.transaction.store.goes_on_behind_commit().map_err(|error| database.status(error))?;
        }
        let old_id = slot.transaction.store.id().0;
        let changes = std::mem::take(&mut slot.transaction.catalog.lock().changes);
        let publish = catalog::publication(&database, &changes);
        let posted = slot.transaction.store.posted_events();
        slot.transaction.store.commit_retaining_with(publish).map_err(|error| database.status(error))?;
        database.events.post(&posted);
        slot.transaction.user_changes.lock().clear();
        self.rename_activity(old_id, handle);
        users.map_or(Ok(()), PreparedUsers::commit)
    }

    /// Undoes everything.
    pub fn rollback(&mut self, handle: TransactionHandle) -> Result<()> {
        if self.is_prepared(handle) {
            return self.roll_back_prepared(handle);
        }
        self.fire_regardless(DatabaseEvent::TransactionRollback, self.transaction(handle)?);
        self.rollback_quietly(handle)?;
        if self.restoring.is_some() {
            self.restore_behind_rollback(handle);
        }
        Ok(())
    }

    /// Undoes everything without firing triggers.
    pub(super) fn rollback_quietly(&mut self, handle: TransactionHandle) -> Result<()> {
        self.end_and_tell("ROLLBACK_TRANSACTION", handle, |attachment| attachment.rollback_untold(handle))
    }

    fn rollback_untold(&mut self, handle: TransactionHandle) -> Result<()> {
        if !self.transactions.contains_key(&handle) {
            return Err(bad_handle());
        }
        self.close_cursors_of(handle);
        self.forget_blobs_of(handle);
        let slot = self.transactions.remove(&handle).ok_or_else(bad_handle)?;
        end_external(&slot.transaction, End::Rollback)?;
        self.session.activity.lock().transactions.remove(&slot.transaction.store.id().0);
        slot.transaction.store.rollback().map_err(|error| self.database().status(error))
    }

    /// Undoes everything and goes on.
    pub fn rollback_retaining(&mut self, handle: TransactionHandle) -> Result<()> {
        self.fire_regardless(DatabaseEvent::TransactionRollback, self.transaction(handle)?);
        self.end_and_tell("ROLLBACK_RETAINING", handle, |attachment| {
            attachment.rollback_retaining_untold(handle)
        })
    }

    fn rollback_retaining_untold(&mut self, handle: TransactionHandle) -> Result<()> {
        self.close_cursors_of(handle);
        let database = Arc::clone(self.database());
        let committed = database.catalog();
        let slot = self.transactions.get_mut(&handle).ok_or_else(bad_handle)?;
        slot.savepoints.clear();
        let old_id = slot.transaction.store.id().0;
        end_external(&slot.transaction, End::Rollback)?;
        slot.transaction.store.rollback_retaining().map_err(|error| database.status(error))?;
        let mut catalog = slot.transaction.catalog.lock();
        catalog.changes = CatalogChanges::default();
        catalog.current = committed;
        drop(catalog);
        slot.transaction.user_changes.lock().clear();
        self.rename_activity(old_id, handle);
        Ok(())
    }

    /// Facts about a transaction.
    pub fn transaction_facts(&self, handle: TransactionHandle) -> Result<TransactionFacts> {
        if let Some(slot) = self.prepared.get(&handle) {
            return Ok(slot.facts(&self.database().store.statistics()));
        }
        let transaction = self.transaction(handle)?;
        let statistics = self.database().store.statistics();
        Ok(TransactionFacts {
            id: transaction.store.id().0,
            oldest_interesting: statistics.oldest_transaction.0,
            oldest_snapshot: statistics.oldest_snapshot.0,
            oldest_active: statistics.oldest_active.0,
            snapshot_number: transaction.store.snapshot().0,
            parameters: transaction.parameters.clone(),
        })
    }

    /// How many transactions are open that an end of the session would roll back.
    pub fn transaction_count(&self) -> usize {
        self.transactions.len()
    }

    /// Whether the handle names a live transaction, or a prepared one.
    pub fn has_transaction(&self, handle: TransactionHandle) -> bool {
        self.transactions.contains_key(&handle) || self.is_prepared(handle)
    }

    /// Whether a failed write, or a failed commit in another database, has taken the transaction's work away, so that only rolling it back
    /// is left; or there is no such transaction any more.
    pub fn is_transaction_lost(&self, handle: TransactionHandle) -> bool {
        let is_lost =
            |slot: &TransactionSlot| slot.transaction.store.is_lost() || has_lost_external(&slot.transaction);
        !self.is_prepared(handle) && self.transactions.get(&handle).is_none_or(is_lost)
    }

    /// A transaction by handle.
    pub(super) fn transaction(&self, handle: TransactionHandle) -> Result<&Transaction> {
        let slot = self.transactions.get(&handle).ok_or_else(|| match self.is_prepared(handle) {
            true => Error::new(isc::REQ_NO_TRANS),
            false => bad_handle(),
        });
        slot.map(|slot| &*slot.transaction)
    }

    /// SAVEPOINT: a name used again moves to the new place.
    pub fn set_savepoint(&mut self, handle: TransactionHandle, name: &str) -> Result<()> {
        let slot = self.transactions.get_mut(&handle).ok_or_else(bad_handle)?;
        slot.savepoints.retain(|savepoint| savepoint.name != name);
        let catalog = slot.transaction.catalog.lock().mark();
        let store = slot.transaction.store.savepoint();
        let user_changes = slot.transaction.user_changes.lock().len();
        slot.savepoints.push(NamedSavepoint { name: name.to_owned(), store, catalog, user_changes });
        Ok(())
    }

    /// ROLLBACK TO SAVEPOINT: the savepoint stays, later ones go.
    pub fn rollback_to_savepoint(&mut self, handle: TransactionHandle, name: &str) -> Result<()> {
        let database = Arc::clone(self.database());
        let slot = self.transactions.get_mut(&handle).ok_or_else(bad_handle)?;
        let at = slot.savepoints.iter().position(|s| s.name == name).ok_or_else(|| no_savepoint(name))?;
        let target = slot.savepoints.drain(at..).next().ok_or_else(|| no_savepoint(name))?;
        slot.transaction.store.rollback_to(target.store).map_err(|error| database.status(error))?;
        slot.transaction.catalog.lock().restore(&target.catalog);
        slot.transaction.user_changes.lock().truncate(target.user_changes);
        let store = slot.transaction.store.savepoint();
        slot.savepoints.push(NamedSavepoint { store, ..target });
        Ok(())
    }

    /// `RELEASE SAVEPOINT [ONLY]`.
    pub fn release_savepoint(&mut self, handle: TransactionHandle, name: &str, only: bool) -> Result<()> {
        let slot = self.transactions.get_mut(&handle).ok_or_else(bad_handle)?;
        let at = slot.savepoints.iter().position(|s| s.name == name).ok_or_else(|| no_savepoint(name))?;
        if only {
            // The store's savepoint stays as part of the one before it: it costs nothing and undoes nothing.
            slot.savepoints.remove(at);
        } else if let Some(released) = slot.savepoints.drain(at..).next() {
            slot.transaction.store.release(released.store);
        }
        Ok(())
    }

    /// A retained transaction has a new number.
    fn rename_activity(&self, old_id: u64, handle: TransactionHandle) {
        if let Some(slot) = self.transactions.get(&handle) {
            let mut activity = self.session.activity.lock();
            if let Some(line) = activity.transactions.remove(&old_id) {
                activity.transactions.insert(slot.transaction.store.id().0, line);
            }
        }
    }
}

/// RESERVING: locks that are taken before anything else; a view's are those of the tables under it.
fn reserve_tables(transaction: &Transaction) -> Result<()> {
    let catalog = transaction.current_catalog();
    for reservation in &transaction.parameters.reservations {
        let level = match (reservation.write, reservation.protected) {
            (false, false) => LockLevel::SharedRead,
            (false, true) => LockLevel::ProtectedRead,
            (true, false) => LockLevel::SharedWrite,
            (true, true) => LockLevel::ProtectedWrite,
        };
        let mut names = vec![reservation.relation.clone()];
        let mut reserved = BTreeSet::new();
        while let Some(name) = names.pop() {
            let Some(relation) = catalog.relations.get(&name) else {
                // A view's procedure is no table; what was named must be one.
                if name != reservation.relation {
                    continue;
                }
                let option = if reservation.write { "isc_tpb_lock_write" } else { "isc_tpb_lock_read" };
                return Err(Error::new(isc::BAD_TPB_CONTENT)
                    .and(isc::TPB_RESERV_RELNOTFOUND)
                    .with(name)
                    .with(option));
            };
            if relation.is_temporary() && reservation.protected {
                return Err(Error::new(isc::BAD_TPB_CONTENT)
                    .and(isc::TPB_RESERV_TEMPTBL)
                    .with("isc_tpb_protected")
                    .with("isc_tpb_exclusive")
                    .with(name));
            }
            if reserved.insert(relation.id.0) {
                transaction.store.reserve_relation(farbird_store::RelationId(relation.id.0), level)?;
                names.extend(relation.view_contexts.iter().map(|context| context.relation.clone()));
            }
        }
    }
    Ok(())
}

pub(super) fn bad_handle() -> Error {
    Error::new(isc::BAD_TRANS_HANDLE)
}

fn no_savepoint(name: &str) -> Error {
    Error::new(isc::INVALID_SAVEPOINT).with(name)
}

//! A SQL transaction: the store's transaction with the catalog it sees.

use std::collections::BTreeMap;
use std::sync::Arc;

use farbird_store::StoreError;
use farbird_types::{Error, Result, isc};
use parking_lot::Mutex;

use crate::database::Database;
use crate::{Catalog, CatalogChanges, RelationId, Slots};
use farbird_session::trace::TracedTransaction;
use farbird_session::users::{PreparedUsers, UserChange};
use farbird_session::{Session, TransactionParameters};

/// A SQL transaction of one attachment.
///
/// Shared by reference between the statements and cursors that run in it; one thread at a time.
pub struct Transaction {
    /// Its rows, locks and savepoints.
    pub store: farbird_store::Transaction,
    /// How it was started.
    pub parameters: TransactionParameters,
    /// The catalog it sees, and what its own DDL has made of it.
    pub catalog: Mutex<TransactionCatalog>,
    /// What its CREATE, ALTER and DROP USER ask for; applied when it commits.
    pub user_changes: Mutex<Vec<UserChange>>,
    /// RDB$SET_CONTEXT('USER_TRANSACTION', ...).
    pub context_variables: Mutex<BTreeMap<String, Vec<u8>>>,
    /// What upper floors keep as long as it lasts.
    pub kept: Slots,
}

/// The catalog as one transaction sees it.
///
/// `catalog` provides what the facade (`attachment::transactions`) calls on it: `TransactionCatalog::mark(&self) ->
/// CatalogMark` and `restore(&mut self, &CatalogMark)` for savepoints, and `catalog::publication(&Arc<Database>,
/// &CatalogChanges) -> impl FnOnce(CommitNumber) + Send + 'static` for commits.
pub struct TransactionCatalog {
    /// What statements bind against.
    pub current: Arc<Catalog>,
    /// Objects that this transaction's DDL replaced or removed; empty for most.
    pub changes: CatalogChanges,
}

impl Transaction {
    /// What trace sessions are told of it.
    pub fn traced(&self, session: &Session) -> TracedTransaction {
        let id = self.store.id().0;
        let initial_id = session.activity.lock().transactions.get(&id).map_or(id, |known| known.initial_id);
        TracedTransaction { id, initial_id, parameters: self.parameters.clone() }
    }

    /// The catalog as this transaction sees it now.
    pub fn current_catalog(&self) -> Arc<Catalog> {
        self.catalog.lock().current.clone()
    }

    /// Makes the changes of users that it has asked for, to be committed when its rows are.
    ///
    /// # Errors
    /// Those of the changes; the transaction goes on, with its list as it was.
    pub fn prepare_users<'d>(&self, database: &'d Database) -> Result<Option<Box<dyn PreparedUsers + 'd>>> {
        let changes = self.user_changes.lock().clone();
        if changes.is_empty() { Ok(None) } else { database.users.prepare(&changes).map(Some) }
    }

    /// The status of a failure in the store: with the name of the table, if it is one that others have locked.
    pub fn status_of(&self, error: StoreError) -> Error {
        let locked = match &error {
            StoreError::LockConflict { relation, .. } | StoreError::LockTimeout { relation, .. } => *relation,
            _ => None,
        };
        let status = Error::from(error);
        let catalog = self.current_catalog();
        let table = locked.and_then(|id| catalog.relation_by_id(RelationId(id.0)));
        match table {
            Some(table) => {
                status.and(isc::RANDOM).with(format!("Acquire lock for relation ({}) failed", table.name))
            }
            None => status,
        }
    }
}

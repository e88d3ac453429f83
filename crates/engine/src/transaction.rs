//! A SQL transaction: the store's transaction with the catalog it sees.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::api::TransactionParameters;
use crate::catalog::{Catalog, CatalogChanges};

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
    /// RDB$SET_CONTEXT('USER_TRANSACTION', ...).
    pub context_variables: Mutex<BTreeMap<String, String>>,
}

/// The catalog as one transaction sees it.
pub struct TransactionCatalog {
    /// What statements bind against.
    pub current: Arc<Catalog>,
    /// Objects that this transaction's DDL replaced or removed; empty for most.
    pub changes: CatalogChanges,
}

impl Transaction {
    /// The catalog as this transaction sees it now.
    pub fn current_catalog(&self) -> Arc<Catalog> {
        self.catalog.lock().current.clone()
    }
}

//! IN AUTONOMOUS TRANSACTION.

use std::collections::BTreeMap;

use farbird_store::TransactionOptions;
use farbird_types::{Error, Result, isc};
use parking_lot::Mutex;

use crate::catalog::CatalogChanges;
use crate::execute::context::ExecutionContext;
use crate::psql::execution::{Execution, Stop};
use crate::transaction::{Transaction, TransactionCatalog};

/// Begins a transaction with the parameters of the context's, but a snapshot of its own.
pub(super) fn begin(context: &ExecutionContext<'_>) -> Result<Transaction> {
    let outer = context.transaction;
    let options = TransactionOptions { snapshot_at: None, ..outer.store.options() };
    let cancel = context.session.interrupt.cancel.clone();
    let (store, current) =
        context.database.store.begin_with(options, cancel, |_| context.database.catalog())?;
    Ok(Transaction {
        store,
        parameters: outer.parameters.clone(),
        catalog: Mutex::new(TransactionCatalog { current, changes: CatalogChanges::new() }),
        user_changes: Mutex::new(Vec::new()),
        context_variables: Mutex::new(BTreeMap::new()),
    })
}

/// Runs in a transaction: the context is the same but for it and what belongs to it. Commits if `run` succeeds.
pub(super) fn within<T>(
    transaction: Transaction,
    context: &mut ExecutionContext<'_>,
    run: impl FnOnce(&mut ExecutionContext<'_>) -> Result<T>,
) -> Result<T> {
    let view = transaction.store.view()?;
    let parameters = std::mem::take(&mut context.parameters);
    let mut inner =
        ExecutionContext::new(context.database, context.session, &transaction, view, context.now, parameters);
    inner.depth = context.depth;
    std::mem::swap(&mut inner.routine, &mut context.routine);
    let result = run(&mut inner);
    std::mem::swap(&mut inner.routine, &mut context.routine);
    context.parameters = std::mem::take(&mut inner.parameters);
    drop(inner);
    let changes_catalog = !transaction.catalog.lock().changes.is_empty();
    match result {
        // Publishing a catalog is the attachment's matter, which does not know of this transaction.
        Ok(_) if changes_catalog => {
            transaction.store.rollback()?;
            Err(Error::new(isc::WISH_LIST).and(isc::RANDOM).with("DDL in an autonomous transaction"))
        }
        Ok(value) => {
            transaction.store.commit()?;
            Ok(value)
        }
        Err(error) => {
            transaction.store.rollback()?;
            Err(error)
        }
    }
}

impl Execution {
    /// Runs the statement after IN AUTONOMOUS TRANSACTION up to its `EndAutonomous`.
    pub(super) fn autonomous(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let transaction = begin(context)?;
        let (base, blocks) = (self.handler_depth(), self.block_depth());
        let result = within(transaction, context, |inner| self.run(inner, base));
        self.forget_blocks(blocks);
        let stop = result?;
        debug_assert_eq!(stop, Stop::AutonomousEnded, "the compiler ends what it begins");
        Ok(())
    }
}

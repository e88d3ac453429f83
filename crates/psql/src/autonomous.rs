//! IN AUTONOMOUS TRANSACTION, and EXECUTE STATEMENT WITH AUTONOMOUS TRANSACTION.
//!
//! Such a transaction fires the triggers of the database at its start and end, as those that clients start do (Firebird 4
//! does so too, if the documentation does not say it). What it defines is there for those that begin later: the rest of the
//! statement that has started it goes on with the catalog that it began with.

use std::collections::BTreeMap;
use std::sync::Arc;

use farbird_catalog::database::Database;
use farbird_catalog::transaction::{Transaction, TransactionCatalog};
use farbird_catalog::{CatalogChanges, Slots, publication};
use farbird_expression::ExecutionContext;
use farbird_session::users::PreparedUsers;
use farbird_sql::ast::DatabaseEvent;
use farbird_store::TransactionOptions;
use farbird_types::Result;
use parking_lot::Mutex;

use crate::execution::{Execution, Stop};
use crate::external::{End, end_external};
use crate::{fire_database_triggers, has_database_triggers};

/// Begins a transaction with the parameters of the context's, but a snapshot of its own.
pub(super) fn begin(context: &ExecutionContext<'_>) -> Result<Transaction> {
    let outer = context.transaction;
    let options = TransactionOptions { snapshot_at: None, ..outer.store.options() };
    let cancel = context.session.interrupt.cancel.clone();
    let (store, current) =
        context.database.store.begin_with(options, cancel, |_| context.database.catalog())?;
    let store = store.counted_by(outer.store.tally());
    Ok(Transaction {
        store: match outer.store.session() {
            Some(session) => store.of_session(Arc::clone(session)),
            None => store,
        },
        parameters: outer.parameters.clone(),
        catalog: Mutex::new(TransactionCatalog { current, changes: CatalogChanges::default() }),
        user_changes: Mutex::new(Vec::new()),
        kept: Slots::default(),
        context_variables: Mutex::new(BTreeMap::new()),
    })
}

/// Runs in a transaction: the context is the same but for it and what belongs to it. Commits if `run` succeeds.
pub(super) fn within<T>(
    transaction: Transaction,
    context: &mut ExecutionContext<'_>,
    run: impl FnOnce(&mut ExecutionContext<'_>) -> Result<T>,
) -> Result<T> {
    let result = inside(&transaction, context, |inner| {
        let result = start(inner).and_then(|()| run(inner));
        ending(result, inner)
    })?;
    end(transaction, context.database, result)
}

/// Fires the triggers of a transaction's start.
pub(super) fn start(context: &mut ExecutionContext<'_>) -> Result<()> {
    fire(context, DatabaseEvent::TransactionStart)
}

/// Fires the triggers of the end that a result leads to: one that fails makes a commit a rollback.
pub(super) fn ending<T>(result: Result<T>, context: &mut ExecutionContext<'_>) -> Result<T> {
    let result = result.and_then(|value| {
        fire(context, DatabaseEvent::TransactionCommit)?;
        Ok(value)
    });
    if result.is_err()
        && let Err(error) = fire(context, DatabaseEvent::TransactionRollback)
    {
        tracing::warn!(attachment = context.session.id, %error, "a trigger ON TRANSACTION ROLLBACK failed");
    }
    result
}

/// Commits a transaction, or rolls it back if there is an error.
pub(super) fn end<T>(transaction: Transaction, database: &Arc<Database>, result: Result<T>) -> Result<T> {
    match result {
        Ok(value) => {
            let users = transaction.prepare_users(database)?;
            end_external(&transaction, End::Commit)?;
            let posted = transaction.store.posted_events();
            let publish = publication(database, &transaction.catalog.lock().changes);
            transaction.store.commit_with(publish)?;
            database.events.post(&posted);
            users.map_or(Ok(()), PreparedUsers::commit)?;
            Ok(value)
        }
        Err(error) => {
            end_external(&transaction, End::Rollback)?;
            transaction.store.rollback()?;
            Err(error)
        }
    }
}

/// Runs in a transaction that goes on: the context is the same but for it and what belongs to it.
///
/// # Errors
/// If the transaction gives no view; what `run` gives is handed on as it is.
pub(super) fn inside<T>(
    transaction: &Transaction,
    context: &mut ExecutionContext<'_>,
    run: impl FnOnce(&mut ExecutionContext<'_>) -> T,
) -> Result<T> {
    let view = transaction.store.view()?;
    let parameters = std::mem::take(&mut context.parameters);
    let (database, session, budget) = (context.database, context.session, Arc::clone(&context.budget));
    let mut inner = ExecutionContext::new(
        context.above,
        database,
        session,
        transaction,
        view,
        context.now,
        parameters,
        budget,
    );
    inner.cast = context.cast;
    inner.depth = context.depth;
    inner.executed_texts = context.executed_texts;
    std::mem::swap(&mut inner.routine, &mut context.routine);
    inner.definer.clone_from(&context.definer);
    inner.measurements.clone_from(&context.measurements);
    inner.counts = context.counts;
    let result = run(&mut inner);
    context.counts = inner.counts;
    context.changed_by_others = context.changed_by_others.wrapping_add(inner.changed_by_others);
    std::mem::swap(&mut inner.routine, &mut context.routine);
    context.parameters = std::mem::take(&mut inner.parameters);
    Ok(result)
}

/// Fires the triggers of an event in the context's transaction.
fn fire(context: &mut ExecutionContext<'_>, event: DatabaseEvent) -> Result<()> {
    let catalog = context.transaction.current_catalog();
    if context.session.options.no_database_triggers || !has_database_triggers(&catalog, event) {
        return Ok(());
    }
    context.view = context.transaction.store.view_again(&context.view)?;
    fire_database_triggers(context, event)
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

//! Running statements, in a given transaction or in one of their own.

use std::sync::Arc;

use farbird_engine::api::{ExecuteOptions, Execution, RowsWanted, Scroll, StatementKind, TransactionHandle};
use farbird_engine::attachment::Attachment;
use farbird_types::isc;

use super::connection::Shared;
use super::error::{Error, Fault, Result};
use super::parameters::{Parameters, values};
use super::prepared::Prepared;
use super::rows::{FromRow, Held, Row, Rows};

/// Where a prepared statement runs: in a [`crate::Transaction`], or on a [`crate::Connection`] in a transaction of its
/// own.
pub trait Executor: sealed::InScope {}

pub(super) mod sealed {
    /// What an executor is to this library.
    pub trait InScope {
        /// Its session and transaction.
        fn scope(&self) -> super::Scope<'_>;
    }
}

/// A session and the transaction to run in; `None`: one for each statement.
pub struct Scope<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) transaction: Option<TransactionHandle>,
}

/// The transaction of one statement; rolled back when dropped.
pub(super) struct OwnTransaction {
    shared: Arc<Shared>,
    handle: Option<TransactionHandle>,
}

impl OwnTransaction {
    fn start(shared: &Arc<Shared>) -> Result<(OwnTransaction, TransactionHandle)> {
        let handle = shared.with(|attachment| Ok(attachment.start_transaction(Default::default())?))?;
        Ok((OwnTransaction { shared: Arc::clone(shared), handle: Some(handle) }, handle))
    }

    pub(super) fn commit(mut self) -> Result<()> {
        let Some(handle) = self.handle else { return Ok(()) };
        self.shared.with(|attachment| Ok(attachment.commit(handle)?))?;
        self.handle = None;
        Ok(())
    }
}

impl Drop for OwnTransaction {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        self.shared.with_if_open(|attachment| {
            if attachment.has_transaction(handle)
                && let Err(error) = attachment.rollback(handle)
            {
                tracing::warn!(%error, "rollback of a statement's own transaction failed");
            }
        });
    }
}

/// Calls with a transaction: the scope's, or one that is committed if the call succeeds.
fn in_scope<T>(scope: &Scope<'_>, call: impl FnOnce(TransactionHandle) -> Result<T>) -> Result<T> {
    match scope.transaction {
        Some(transaction) => call(transaction),
        None => {
            let (own, transaction) = OwnTransaction::start(scope.shared)?;
            let result = call(transaction)?;
            own.commit()?;
            Ok(result)
        }
    }
}

/// Runs a statement given as text; gives how many rows it changed.
pub(super) fn execute_text(executor: &impl Executor, sql: &str, parameters: &dyn Parameters) -> Result<u64> {
    let scope = executor.scope();
    in_scope(&scope, |transaction| {
        let mut prepared = scope.shared.prepare(sql, Some(transaction))?;
        if prepared.description.kind == StatementKind::Ddl {
            prepared.spoil();
        }
        run_to_end(&mut prepared, transaction, parameters)
    })
}

/// The one row of a query given as text, if there is one.
pub(super) fn query_text_optional<T: FromRow>(
    executor: &impl Executor,
    sql: &str,
    parameters: &dyn Parameters,
) -> Result<Option<T>> {
    let scope = executor.scope();
    in_scope(&scope, |transaction| {
        let mut prepared = scope.shared.prepare(sql, Some(transaction))?;
        single_row(&mut prepared, transaction, parameters)
    })
}

/// Opens a query given as text.
pub(super) fn query_text<'r>(
    executor: &'r impl Executor,
    sql: &str,
    parameters: &dyn Parameters,
) -> Result<Rows<'r>> {
    let scope = executor.scope();
    open_query(&scope, parameters, |transaction| {
        Ok(Held::Owned(scope.shared.prepare(sql, Some(transaction))?))
    })
}

/// Runs a prepared statement; gives how many rows it changed.
pub(super) fn execute_prepared(
    executor: &impl Executor,
    prepared: &mut Prepared,
    parameters: &dyn Parameters,
) -> Result<u64> {
    let scope = scope_of(executor, prepared)?;
    in_scope(&scope, |transaction| run_to_end(prepared, transaction, parameters))
}

/// The one row of a prepared query, if there is one.
pub(super) fn query_prepared_optional<T: FromRow>(
    executor: &impl Executor,
    prepared: &mut Prepared,
    parameters: &dyn Parameters,
) -> Result<Option<T>> {
    let scope = scope_of(executor, prepared)?;
    in_scope(&scope, |transaction| single_row(prepared, transaction, parameters))
}

/// Opens a prepared query.
pub(super) fn query_prepared<'r>(
    executor: &'r impl Executor,
    prepared: &'r mut Prepared,
    parameters: &dyn Parameters,
) -> Result<Rows<'r>> {
    let scope = scope_of(executor, prepared)?;
    open_query(&scope, parameters, |_| Ok(Held::Borrowed(prepared)))
}

/// Opens a query of the scope's own connection; the rows take the statement with them.
pub(super) fn query_owned<'r>(
    scope: &Scope<'r>,
    prepared: Prepared,
    parameters: &dyn Parameters,
) -> Result<Rows<'r>> {
    open_query(scope, parameters, |_| Ok(Held::Owned(prepared)))
}

/// The executor's scope, which must be of the statement's connection.
fn scope_of<'e>(executor: &'e impl Executor, prepared: &Prepared) -> Result<Scope<'e>> {
    let scope = executor.scope();
    match Arc::ptr_eq(scope.shared, &prepared.shared) {
        true => Ok(scope),
        false => Err(Fault::OtherConnection.into()),
    }
}

/// Executes a statement. One that was kept is prepared again if what it names has become something else since.
fn start(
    prepared: &mut Prepared,
    transaction: TransactionHandle,
    parameters: &dyn Parameters,
    options: ExecuteOptions,
) -> Result<Execution> {
    let result = start_once(prepared, transaction, parameters, options);
    let outdated = |error: &Error| error.status().is_some_and(|status| status.has(isc::DSQL_SQLDA_ERR));
    match result {
        Err(error) if outdated(&error) && prepared.is_kept() => {
            prepared.renew(transaction)?;
            start_once(prepared, transaction, parameters, options)
        }
        result => result,
    }
}

fn start_once(
    prepared: &Prepared,
    transaction: TransactionHandle,
    parameters: &dyn Parameters,
    options: ExecuteOptions,
) -> Result<Execution> {
    prepared.shared.with(|attachment| {
        let values = values(parameters, &prepared.description.parameters, || attachment.cast_context())?;
        Ok(attachment.execute(prepared.handle, Some(transaction), values, options)?)
    })
}

fn run_to_end(
    prepared: &mut Prepared,
    transaction: TransactionHandle,
    parameters: &dyn Parameters,
) -> Result<u64> {
    let execution = start(prepared, transaction, parameters, ExecuteOptions::default())?;
    prepared.shared.with(|attachment| {
        if execution == Execution::CursorOpened {
            let drained = drain(attachment, prepared);
            attachment.close_cursor(prepared.handle)?;
            drained?;
        }
        let counts = attachment.record_counts(prepared.handle)?;
        Ok(counts.inserted + counts.updated + counts.deleted)
    })
}

/// Fetches to the end what nobody wants to see: a procedure that is selected from may do its work on the way.
fn drain(attachment: &mut Attachment, prepared: &Prepared) -> Result<()> {
    while attachment.fetch_scroll(prepared.handle, Scroll::Next)?.is_some() {}
    Ok(())
}

fn single_row<T: FromRow>(
    prepared: &mut Prepared,
    transaction: TransactionHandle,
    parameters: &dyn Parameters,
) -> Result<Option<T>> {
    let options = ExecuteOptions { rows: RowsWanted::AtMostOne, ..ExecuteOptions::default() };
    let values = match start(prepared, transaction, parameters, options) {
        Ok(Execution::Row(values)) => values,
        Ok(Execution::CursorOpened) => prepared.shared.with(|attachment| {
            let row = only_row(attachment, prepared);
            attachment.close_cursor(prepared.handle)?;
            row
        })?,
        Ok(_) => None,
        Err(error) if error.status().is_some_and(|status| status.gds_code() == isc::SING_SELECT_ERR) => {
            return Err(Fault::SeveralRows.into());
        }
        Err(error) => return Err(error),
    };
    let Some(values) = values else { return Ok(None) };
    let row = Row::new(&prepared.shared, transaction, Arc::clone(&prepared.description), values);
    T::from_row(&row).map(Some)
}

fn only_row(attachment: &mut Attachment, prepared: &Prepared) -> Result<Option<Vec<farbird_types::Value>>> {
    let first = attachment.fetch_scroll(prepared.handle, Scroll::Next)?;
    if first.is_some() && attachment.fetch_scroll(prepared.handle, Scroll::Next)?.is_some() {
        return Err(Fault::SeveralRows.into());
    }
    Ok(first)
}

fn open_query<'r>(
    scope: &Scope<'r>,
    parameters: &dyn Parameters,
    statement: impl FnOnce(TransactionHandle) -> Result<Held<'r>>,
) -> Result<Rows<'r>> {
    let (own, transaction) = match scope.transaction {
        Some(transaction) => (None, transaction),
        None => OwnTransaction::start(scope.shared).map(|(own, handle)| (Some(own), handle))?,
    };
    let mut held = statement(transaction)?;
    let execution = start(held.prepared(), transaction, parameters, ExecuteOptions::default())?;
    let mut rows = Rows::new(scope.shared, held, transaction);
    match execution {
        Execution::CursorOpened => rows.opened(own)?,
        Execution::Row(row) => {
            rows.hold(row);
            own.map_or(Ok(()), OwnTransaction::commit)?;
        }
        _ => own.map_or(Ok(()), OwnTransaction::commit)?,
    }
    Ok(rows)
}

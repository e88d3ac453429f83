//! Executing prepared statements: once whole or not at all, again where others' changes demand it.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird_sql::ast;
use farbird_store::{Counted, ReadView};
use farbird_types::{Error, Result, TimestampTz, Value, isc};

use crate::above::ABOVE;
use crate::api::{ExecuteOptions, Execution, RecordCounts, RowsWanted, StatementHandle, TransactionHandle};
use crate::attachment::open_cursor::{OpenCursor, RowSource};
use crate::attachment::scroll::ScrollBuffer;
use crate::attachment::statement_slot::{
    Body, Prepared, StatementSlot, bad_handle, bad_transaction, unprepared,
};
use crate::attachment::{Attachment, blob_text, session_statement};
use crate::bind::Action;
use crate::catalog::{CatalogChanges, Footprint};
use crate::execute::{BufferedRows, Cursor};
use crate::expression::{ExecutionContext, Restart};
use crate::session::trace::Event;
use crate::session::{Deadline, SessionSettings, StatementActivity, StatementState, StopReason};
use crate::{clock, ddl, psql, watchdog};

/// How often a statement runs again because others' DDL came between its binding and its first lock.
const METADATA_RESTARTS_MAX: usize = 100;

impl Attachment {
    /// Runs a prepared statement, or opens its cursor. `parameters` are of the described types.
    ///
    /// # Errors
    /// Those of the statement; it is then undone whole.
    pub fn execute(
        &mut self,
        handle: StatementHandle,
        transaction: Option<TransactionHandle>,
        parameters: Vec<Value>,
        options: ExecuteOptions,
    ) -> Result<Execution> {
        let tracer = &self.session.tracer;
        match tracer.wants(Event::StatementStart) || tracer.wants(Event::StatementFinish) {
            true => self.execute_and_tell(handle, transaction, parameters, options),
            false => self.execute_prepared(handle, transaction, parameters, options),
        }
    }

    /// As [`Attachment::execute`], with nobody told.
    pub(super) fn execute_prepared(
        &mut self,
        handle: StatementHandle,
        transaction: Option<TransactionHandle>,
        parameters: Vec<Value>,
        options: ExecuteOptions,
    ) -> Result<Execution> {
        self.check_open()?;
        let slot = self.statements.get(&handle).ok_or_else(bad_handle)?;
        if slot.open.is_some() {
            return Err(Error::new(isc::DSQL_ERROR)
                .and(isc::SQLERR)
                .with(-502)
                .and(isc::DSQL_CURSOR_OPEN_ERR));
        }
        let prepared = slot.prepared.as_ref().ok_or_else(unprepared)?;
        let expected = prepared.description.parameters.len();
        if parameters.len() != expected {
            let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
            return Err(Error::new(isc::DSQL_ERROR)
                .and(isc::DSQL_SQLDA_ERR)
                .and(isc::DSQL_WRONG_PARAM_NUM)
                .with(number(expected))
                .with(number(parameters.len())));
        }
        if matches!(prepared.body, Body::Transaction | Body::Session) {
            let tree = Arc::clone(&prepared.tree);
            return self.execute_control(&tree, transaction);
        }
        let transaction = transaction.ok_or_else(|| Error::new(isc::BAD_TRANS_HANDLE))?;
        let execution = self.execute_current(handle, transaction, parameters, options);
        let execution = execution.map_err(|error| self.database().status(error))?;
        let running = self.transaction(transaction)?;
        let commits = || execution != Execution::CursorOpened || running.store.has_changes();
        if running.parameters.auto_commit && commits() {
            self.commit_retaining(transaction)?;
        }
        Ok(execution)
    }

    /// Runs a statement about transactions or the session.
    fn execute_control(
        &mut self,
        tree: &ast::Statement,
        transaction: Option<TransactionHandle>,
    ) -> Result<Execution> {
        match &tree.kind {
            ast::StatementKind::Transaction(statement) => {
                self.execute_transaction_statement(statement, transaction)
            }
            ast::StatementKind::Session(statement) => {
                session_statement::execute(self, statement)?;
                Ok(Execution::Done)
            }
            _ => Err(Error::new(isc::WISH_LIST)),
        }
    }

    /// Runs a statement bound against the latest catalog; again if others' DDL comes between.
    fn execute_current(
        &mut self,
        handle: StatementHandle,
        transaction: TransactionHandle,
        mut parameters: Vec<Value>,
        options: ExecuteOptions,
    ) -> Result<Execution> {
        let given = parameters.len();
        for _ in 0..METADATA_RESTARTS_MAX {
            self.bind_again_if_stale(handle, transaction)?;
            match self.execute_in(handle, transaction, &mut parameters, options) {
                Err(error) if error.has(isc::OBSOLETE_METADATA) => {
                    parameters.truncate(given);
                    let prepared = self.statements.get_mut(&handle).and_then(|slot| slot.prepared.as_mut());
                    // The store has seen a change of what the statement uses: no other evidence counts against that.
                    if let Some(prepared) = prepared {
                        prepared.footprint = OnceCell::from(Footprint::of_everything());
                    }
                }
                execution => return execution,
            }
        }
        self.bind_again_if_stale(handle, transaction)?;
        self.execute_in(handle, transaction, &mut parameters, options)
    }

    /// Runs a statement once. The parameters are there again if it fails.
    fn execute_in(
        &mut self,
        handle: StatementHandle,
        transaction_handle: TransactionHandle,
        parameters: &mut Vec<Value>,
        options: ExecuteOptions,
    ) -> Result<Execution> {
        let slot = self.statements.get(&handle).ok_or_else(bad_handle)?;
        let prepared = slot.prepared.as_ref().ok_or_else(unprepared)?;
        if prepared.takes_blobs {
            self.take_blob_parameters(prepared, transaction_handle, parameters)?;
        }
        self.append_row_numbers(prepared, parameters)?;
        // As in Firebird, changes of definitions have all the time they need.
        let is_timed = !matches!(prepared.body, Body::Ddl);
        let (zone, timeout) = {
            let settings = self.session.settings.lock();
            (settings.time_zone, timeout(&settings, options.timeout).filter(|_| is_timed))
        };
        let database = Arc::clone(self.database());
        let deadline = timeout.map(|(timeout, reason)| Deadline { at: Instant::now() + timeout, reason });
        self.session.interrupt.begin(deadline);
        if let Some(deadline) = deadline {
            watchdog::watch(&self.session.interrupt, deadline.at);
        }
        let now = clock::now(zone);
        let timer = timeout.map(|(timeout, _)| clock::later(now.utc, timeout));
        let slot = self.statements.get_mut(&handle).ok_or_else(bad_handle)?;
        let prepared = slot.prepared.as_ref().ok_or_else(unprepared)?;
        let transaction = self.transactions.get_mut(&transaction_handle).ok_or_else(bad_transaction)?;
        let own = transaction.transaction.catalog.get_mut();
        // Most transactions change no definitions: what the statement was bound to is all there is to go back to.
        let mut watch = prepared.watch(&self.session, &database, &slot.budget)?;
        let is_changed = !own.changes.is_empty() || !Arc::ptr_eq(&own.current, &prepared.catalog);
        let mark = is_changed.then(|| own.mark());
        let user_changes = transaction.transaction.user_changes.get_mut().len();
        let transaction = &*transaction.transaction;
        let (view, savepoint) = transaction.store.begin_statement()?;
        transaction.store.begin_run();
        if let Some(activity) = &slot.activity {
            activity.set_timeout(options.timeout);
            activity.begin(view.transaction().0, now, timer);
        }
        let given = std::mem::take(parameters);
        let budget = Arc::clone(&slot.budget);
        let mut context =
            ExecutionContext::new(&ABOVE, &database, &self.session, transaction, view, now, given, budget)
                .in_dialect(prepared.dialect);
        psql::write_if_due(&mut context);
        let mut savepoint = savepoint;
        let mut restarts = 0;
        let result = loop {
            context.restart = Restart::after(restarts);
            let ran = psql::within(&mut watch, &mut context, |context| run(prepared, context, options));
            let error = match ran {
                Ok(outcome) => {
                    transaction.store.release(savepoint);
                    break Ok(outcome);
                }
                Err(error) => error,
            };
            context.undo_to(savepoint)?;
            transaction.user_changes.lock().truncate(user_changes);
            {
                let mut own = transaction.catalog.lock();
                match &mark {
                    Some(mark) => own.restore(mark),
                    None => {
                        own.current = Arc::clone(&prepared.catalog);
                        own.changes = CatalogChanges::default();
                    }
                }
            }
            if !context.is_restarting() {
                break Err(self.session.interrupt.check().err().unwrap_or(error));
            }
            restarts += 1;
            context.counts = RecordCounts::default();
            (context.view, savepoint) = transaction.store.begin_statement()?;
        };
        psql::write_if_due(&mut context);
        slot.counts = context.counts;
        transaction.store.end_run(|run| count_run(run, slot.activity.as_deref(), &mut slot.told_counts));
        *parameters = context.parameters;
        let view = context.view;
        let result = result
            .and_then(|outcome| finish(slot, outcome, transaction_handle, view, now, deadline, options));
        if let Some(open) = &mut slot.open {
            open.watch = watch;
        }
        let is_open = matches!(result, Ok(Execution::CursorOpened));
        match &slot.activity {
            Some(activity) if is_open => activity.set_state(StatementState::Stalled),
            Some(activity) => activity.end(),
            None => {}
        }
        // A cancel that comes while a cursor is opened is for its rows.
        if is_open {
            self.session.interrupt.pause()
        } else {
            self.session.interrupt.end()
        }
        if let (Ok(Execution::Row(Some(row))), Some(prepared)) = (&result, &slot.prepared)
            && prepared.gives_blobs
        {
            self.known_blobs.note_row(row, &prepared.blob_source(transaction_handle));
        }
        result
    }

    /// BLOB parameters become BLOBs in their columns' character sets.
    fn take_blob_parameters(
        &self,
        prepared: &Prepared,
        transaction: TransactionHandle,
        parameters: &mut [Value],
    ) -> Result<()> {
        for value in parameters.iter() {
            if let Value::Blob(id) = value {
                self.check_may_open_blob(transaction, *id)?;
            }
        }
        let transaction = self.transaction(transaction)?;
        let connection = self.session.options.character_set;
        for (value, parameter) in parameters.iter_mut().zip(&prepared.description.parameters) {
            blob_text::parameter(value, &parameter.column_type.sql_type, connection, transaction)?;
        }
        Ok(())
    }

    /// The row numbers that WHERE CURRENT OF refers to follow the parameters.
    fn append_row_numbers(&self, prepared: &Prepared, parameters: &mut Vec<Value>) -> Result<()> {
        for (cursor, relation) in &prepared.cursors {
            let number = self
                .statements
                .values()
                .filter(|slot| slot.cursor_name.as_deref() == Some(cursor))
                .find_map(|slot| slot.open.as_ref()?.row_number(relation))
                .ok_or_else(|| Error::new(isc::NO_CUR_REC))?;
            parameters.push(number.clone());
        }
        Ok(())
    }
}

/// How long a statement may run, and whose limit that is: its own timeout or else the session's, but never more than the
/// server's.
pub(super) fn timeout(settings: &SessionSettings, own: Option<Duration>) -> Option<(Duration, StopReason)> {
    let set = |timeout: Option<Duration>, reason| {
        timeout.filter(|timeout| !timeout.is_zero()).map(|timeout| (timeout, reason))
    };
    let own = set(own, StopReason::StatementTimeout)
        .or_else(|| set(settings.statement_timeout, StopReason::SessionTimeout));
    let most = set(settings.default_statement_timeout, StopReason::ServerTimeout);
    [own, most].into_iter().flatten().min_by_key(|(timeout, _)| *timeout)
}

/// What running a statement gave.
enum Outcome {
    Cursor(RowSource),
    Rows(BufferedRows),
    /// The row of a singleton, or none.
    Row(Option<Vec<Value>>),
    Done,
}

fn run(prepared: &Prepared, context: &mut ExecutionContext<'_>, options: ExecuteOptions) -> Result<Outcome> {
    match &prepared.body {
        Body::Plan(bound) => match &bound.action {
            Action::Select(plan) => {
                let parameters = std::mem::take(&mut context.parameters);
                let mut cursor = Cursor::new(plan, context.view.clone(), parameters);
                let row = cursor.start(context).and_then(|()| {
                    let mut next = || {
                        let row = cursor.next_row(context)?;
                        Ok(row.map(|mut row| {
                            row.truncate(bound.columns.len());
                            row
                        }))
                    };
                    only_row(options.rows, &mut next)
                });
                match row {
                    Ok(None) => Ok(Outcome::Cursor(RowSource::Query(Box::new(cursor)))),
                    Ok(Some(row)) => Ok(Outcome::Row(row)),
                    Err(error) => {
                        context.parameters = cursor.into_parameters();
                        Err(error)
                    }
                }
            }
            Action::Modify(plan) => {
                let modified = crate::execute::modify(plan, context)?;
                if bound.columns.is_empty() {
                    return Ok(Outcome::Done);
                }
                if !bound.has_cursor {
                    return Ok(Outcome::Rows(modified.returned));
                }
                let mut rows = modified.returned;
                match only_row(options.rows, &mut || rows.next_row())? {
                    Some(row) => Ok(Outcome::Row(row)),
                    None => Ok(Outcome::Rows(rows)),
                }
            }
        },
        Body::Explained(explained) => {
            let mut rows = explained.run(context)?;
            match only_row(options.rows, &mut || rows.next_row())? {
                Some(row) => Ok(Outcome::Row(row)),
                None => Ok(Outcome::Rows(rows)),
            }
        }
        Body::Routine(_) => {
            let inputs = context.parameters.clone();
            let outcome = run_routine(prepared, context, options);
            if outcome.is_err() {
                context.parameters = inputs;
            }
            outcome
        }
        Body::Ddl => match &prepared.tree.kind {
            ast::StatementKind::Ddl(statement) => {
                ddl::execute(context, statement, &prepared.sql)?;
                Ok(Outcome::Done)
            }
            _ => Err(Error::new(isc::WISH_LIST)),
        },
        Body::Transaction | Body::Session => Err(Error::new(isc::WISH_LIST)),
    }
}

/// Runs EXECUTE PROCEDURE or EXECUTE BLOCK; the context's parameters are its inputs, and gone afterwards.
fn run_routine(
    prepared: &Prepared,
    context: &mut ExecutionContext<'_>,
    options: ExecuteOptions,
) -> Result<Outcome> {
    let Body::Routine(compiled) = &prepared.body else { return Err(unprepared()) };
    let columns = &prepared.description.columns;
    if prepared.description.has_cursor {
        let inputs = context.parameters.clone();
        let mut execution = psql::Execution::start(compiled, context)?;
        return Ok(match only_row(options.rows, &mut || execution.resume(context))? {
            Some(row) => Outcome::Row(row),
            None => Outcome::Cursor(RowSource::Routine(Box::new(execution), inputs)),
        });
    }
    let row = psql::Execution::start(compiled, context)?.finish(context)?;
    Ok(if columns.is_empty() { Outcome::Done } else { Outcome::Rows(vec![row].into()) })
}

/// The row of a caller that wants only one (or none, if he takes that); `None` if he wants a cursor.
fn only_row(
    wanted: RowsWanted,
    next: &mut impl FnMut() -> Result<Option<Vec<Value>>>,
) -> Result<Option<Option<Vec<Value>>>> {
    if wanted == RowsWanted::Cursor {
        return Ok(None);
    }
    let first = next()?;
    match &first {
        None if wanted == RowsWanted::One => Err(Error::new(isc::STREAM_EOF)),
        Some(_) if next()?.is_some() => Err(Error::new(isc::SING_SELECT_ERR)),
        _ => Ok(Some(first)),
    }
}

fn finish(
    slot: &mut StatementSlot,
    outcome: Outcome,
    transaction: TransactionHandle,
    view: ReadView,
    now: TimestampTz,
    deadline: Option<Deadline>,
    options: ExecuteOptions,
) -> Result<Execution> {
    let has_cursor = slot.prepared.as_ref().is_some_and(|prepared| prepared.description.has_cursor);
    let source = match outcome {
        Outcome::Done => return Ok(Execution::Done),
        Outcome::Row(mut row) => {
            if let (Some(row), Some(prepared)) = (&mut row, &slot.prepared) {
                prepared.blob_texts.mark(row);
            }
            return Ok(Execution::Row(row));
        }
        Outcome::Rows(mut rows) if !has_cursor => {
            let mut row = rows.next_row()?;
            if let (Some(row), Some(prepared)) = (&mut row, &slot.prepared) {
                prepared.blob_texts.mark(row);
            }
            return match rows.next_row()? {
                None => Ok(Execution::Row(row)),
                Some(_) => Err(Error::new(isc::SING_SELECT_ERR)),
            };
        }
        Outcome::Rows(rows) => RowSource::Finished(rows),
        Outcome::Cursor(source) => source,
    };
    slot.open = Some(OpenCursor {
        transaction,
        source,
        now,
        row_numbers: Vec::new(),
        view,
        scroll: options.scrollable.then(|| ScrollBuffer::new(&slot.budget)),
        deadline,
        has_given: false,
        watch: None,
    });
    Ok(Execution::CursorOpened)
}

/// Adds what a run of a statement has done with rows to what is shown of the statement.
pub(super) fn count_run(run: &Counted, activity: Option<&StatementActivity>, told: &mut Option<Counted>) {
    if let Some(activity) = activity {
        activity.counted.lock().add_all(run);
    }
    if let Some(told) = told {
        told.add_all(run);
    }
}

//! Statements of an attachment: prepared once, executed often, fetched from as the client likes.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird_sql::{Dialect, ParseOptions, ast};
use farbird_store::{Counted, ReadView};
use farbird_types::convert::CastContext;
use farbird_types::{ColumnType, Error, Result, SqlType, Value, isc};

use crate::above::ABOVE;
use crate::api::{
    ColumnDescription, ExecuteOptions, Execution, FetchEnd, FetchedRows, RecordCounts, Rows, RowsWanted,
    Scroll, StatementDescription, StatementHandle, StatementKind, TransactionHandle,
};
use crate::attachment::blob_text::{self, BlobTexts};
use crate::attachment::client_cursors::ClientCursors;
use crate::attachment::explain::{self, Explained};
use crate::attachment::known_blobs::Source;
use crate::attachment::scroll::ScrollBuffer;
use crate::attachment::table_sizes::TableSizes;
use crate::attachment::traced::TracedRun;
use crate::attachment::{Attachment, HANDLES_MAX, session_statement, transaction_statement};
use crate::bind::{self, Access, Action, Environment};
use crate::budget::{Charge, StatementBudget, prepared_bytes};
use crate::catalog::privileges::Actor;
use crate::catalog::{Catalog, CatalogChanges, Footprint};
use crate::clock;
use crate::database::Database;
use crate::ddl;
use crate::execute::ByColumns;
use crate::execute::{BufferedRows, ColumnRows, Cursor};
use crate::expression::{ExecutionContext, Restart};
use crate::psql;
use crate::psql::{WatchedBody, authority};
use crate::session::binding::ShownType;
use crate::session::trace::{self, Event};
use crate::session::{Deadline, Session, SessionSettings, StatementActivity, StatementState, StopReason};
use crate::watchdog;

/// How often a statement runs again because others' DDL came between its binding and its first lock.
const METADATA_RESTARTS_MAX: usize = 100;
/// Rows that are fetched at a time where they do not come by columns: what is fetched is held in memory.
const ROWS_AT_A_TIME: usize = 200;

/// A statement and what it is doing.
pub(super) struct StatementSlot {
    /// MON$STATEMENT_ID.
    pub(super) id: u64,
    /// Whether a client has written it.
    pub(super) is_written: bool,
    /// Its run, if trace sessions are to be told of the end.
    pub(super) traced: Option<TracedRun>,
    /// What its run has done with rows, if trace sessions are to be told of that.
    pub(super) told_counts: Option<Counted>,
    /// What MON$STATEMENTS shows of it, once it is prepared.
    pub(super) activity: Option<Arc<StatementActivity>>,
    pub(super) prepared: Option<Prepared>,
    pub(super) open: Option<OpenCursor>,
    pub(super) cursor_name: Option<String>,
    pub(super) counts: RecordCounts,
    /// What it takes while it is prepared.
    prepared_memory: Option<Charge>,
    /// What its runs and its cursor have taken.
    pub(super) budget: Arc<StatementBudget>,
}

/// A statement bound to a catalog.
pub(super) struct Prepared {
    tree: Arc<ast::Statement>,
    pub(super) sql: Arc<str>,
    pub(super) dialect: u8,
    /// The catalog it was bound to; one in which its footprint is another means binding again.
    catalog: Arc<Catalog>,
    /// What it depends on, found when the catalog has changed for the first time.
    footprint: OnceCell<Footprint>,
    /// How large its tables were.
    sizes: TableSizes,
    pub(super) body: Body,
    /// Cursors of other statements that it refers to (WHERE CURRENT OF): their row numbers follow the parameters.
    cursors: Vec<(String, String)>,
    pub(super) description: Arc<StatementDescription>,
    /// Whether a parameter is a BLOB.
    takes_blobs: bool,
    /// Whether a column is a BLOB.
    gives_blobs: bool,
    blob_texts: BlobTexts,
    /// What its user must be allowed.
    accesses: Arc<[Access]>,
}

/// What binding a statement gives.
struct Compiled {
    body: Body,
    description: StatementDescription,
    /// As [`Prepared::cursors`].
    cursors: Vec<(String, String)>,
}

pub(super) enum Body {
    Plan(bind::Prepared),
    Explained(Explained),
    Routine(psql::CompiledStatement),
    Ddl,
    Transaction,
    Session,
}

impl Body {
    /// What its user must be allowed.
    fn accesses(&self) -> &[bind::Access] {
        match self {
            Body::Plan(bound) => &bound.accesses,
            Body::Routine(compiled) => compiled.accesses(),
            Body::Explained(explained) => match &explained.statement {
                explain::Statement::Plan(bound) => &bound.accesses,
                explain::Statement::Routine(compiled) => compiled.accesses(),
            },
            Body::Ddl | Body::Transaction | Body::Session => &[],
        }
    }
}

/// Rows to be fetched.
pub(super) struct OpenCursor {
    transaction: TransactionHandle,
    source: RowSource,
    /// The view that it was opened with.
    view: ReadView,
    now: farbird_types::TimestampTz,
    /// Row numbers of the row fetched last, in the order of the plan's: for WHERE CURRENT OF.
    row_numbers: Vec<Value>,
    scroll: Option<ScrollBuffer>,
    /// When its last row must have been fetched, until it has.
    deadline: Option<Deadline>,
    /// Whether it has given a row, or has met its end: it cannot begin again.
    has_given: bool,
    /// Of what the profiler is told of.
    watch: Option<psql::Watch>,
}

/// How far a cursor has come in one run.
#[derive(Default)]
struct Progress {
    /// Rows that it gave.
    rows: u64,
    /// Whether it is at its end.
    ended: bool,
}

enum RowSource {
    Query(Box<Cursor>),
    /// With what it was called with.
    Routine(Box<psql::Execution>, Vec<Value>),
    Finished(BufferedRows),
}

impl Attachment {
    /// Makes a statement, to be prepared.
    pub fn allocate_statement(&mut self) -> Result<StatementHandle> {
        if self.statements.len() >= HANDLES_MAX {
            return Err(Error::new(isc::TOO_MANY_HANDLES));
        }
        let slot = StatementSlot {
            id: self.database().next_statement_id(),
            is_written: false,
            traced: None,
            activity: None,
            prepared: None,
            open: None,
            cursor_name: None,
            counts: RecordCounts::default(),
            told_counts: None,
            prepared_memory: None,
            budget: self.session.budget.statement(),
        };
        let handle = StatementHandle(self.new_handle());
        self.statements.insert(handle, slot);
        Ok(handle)
    }

    /// Parses and binds a statement. What was prepared under the handle before is forgotten.
    ///
    /// Statements that start transactions and those of the session need none.
    ///
    /// # Errors
    /// Syntax, unknown names, types that do not go together, privileges that are missing.
    pub fn prepare(
        &mut self,
        handle: StatementHandle,
        transaction: Option<TransactionHandle>,
        sql: &str,
        dialect: u8,
    ) -> Result<Arc<StatementDescription>> {
        let begun = self.session.tracer.wants(Event::Prepare).then(Instant::now);
        let prepared = self.prepare_text(handle, transaction, sql, dialect, false);
        self.session.tally.take_pages();
        if let Some(begun) = begun {
            self.tell_prepared(handle, transaction, sql, begun.elapsed(), trace::Outcome::of(&prepared));
        }
        prepared
    }

    /// As [`Attachment::prepare`], for a definition of a database that is being restored: it may have types that its dialect does
    /// not, since the database may have been of another one before.
    ///
    /// # Errors
    /// As [`Attachment::prepare`].
    pub(crate) fn prepare_restored(
        &mut self,
        handle: StatementHandle,
        transaction: TransactionHandle,
        sql: &str,
        dialect: u8,
    ) -> Result<Arc<StatementDescription>> {
        self.prepare_text(handle, Some(transaction), sql, dialect, true)
    }

    fn prepare_text(
        &mut self,
        handle: StatementHandle,
        transaction: Option<TransactionHandle>,
        sql: &str,
        dialect: u8,
        any_type: bool,
    ) -> Result<Arc<StatementDescription>> {
        self.check_open()?;
        self.unprepare(handle)?;
        self.statements.get_mut(&handle).ok_or_else(bad_handle)?.is_written = true;
        let memory = self.session.budget.charge(prepared_bytes(sql))?;
        let options = ParseOptions {
            dialect: Dialect::numbered(dialect),
            database: Dialect::numbered(self.database().catalog().database.dialect),
            any_type,
        };
        let mut tree = Arc::new(farbird_sql::parse_statement(sql, &options)?);
        if self.restoring.is_some() {
            self.make_inserted_table(transaction, &tree.kind)?;
            if self.sets_number_of_names(sql, &tree.kind) {
                tree = Arc::new(farbird_sql::parse_statement("EXECUTE BLOCK AS BEGIN END", &options)?);
            }
        }
        self.prepare_parsed(handle, transaction, tree, sql.into(), dialect, memory)
    }

    /// As [`Attachment::prepare`], with a tree that nobody has written: its text is for those who look at what runs.
    ///
    /// # Errors
    /// As [`Attachment::prepare`].
    pub(super) fn prepare_tree(
        &mut self,
        handle: StatementHandle,
        transaction: TransactionHandle,
        tree: Arc<ast::Statement>,
        sql: Arc<str>,
    ) -> Result<Arc<StatementDescription>> {
        self.check_open()?;
        self.unprepare(handle)?;
        let memory = self.session.budget.charge(prepared_bytes(&sql))?;
        self.prepare_parsed(handle, Some(transaction), tree, sql, 3, memory)
    }

    fn prepare_parsed(
        &mut self,
        handle: StatementHandle,
        transaction: Option<TransactionHandle>,
        tree: Arc<ast::Statement>,
        sql: Arc<str>,
        dialect: u8,
        memory: Charge,
    ) -> Result<Arc<StatementDescription>> {
        let prepared = self.bind(tree, Arc::clone(&sql), dialect, transaction);
        let prepared = prepared.map_err(|error| self.database().status(error))?;
        let description = Arc::clone(&prepared.description);
        let slot = self.statements.get_mut(&handle).ok_or_else(bad_handle)?;
        let plan = description.explained_plan.clone();
        let activity = StatementActivity::new(sql.as_ref().to_owned(), plan, Arc::clone(&slot.budget));
        let activity = Arc::new(activity);
        self.session.activity.lock().statements.insert(slot.id, Arc::clone(&activity));
        slot.activity = Some(activity);
        slot.prepared = Some(prepared);
        slot.prepared_memory = Some(memory);
        Ok(description)
    }

    /// What prepare found out.
    pub fn describe(&self, handle: StatementHandle) -> Result<Arc<StatementDescription>> {
        let slot = self.statements.get(&handle).ok_or_else(bad_handle)?;
        slot.prepared.as_ref().map(|prepared| Arc::clone(&prepared.description)).ok_or_else(unprepared)
    }

    /// What the client of a prepared statement is warned of: what means something else in another dialect, and common tables that are
    /// not read.
    pub fn statement_warnings(&self, handle: StatementHandle) -> Option<Error> {
        let prepared = self.statements.get(&handle)?.prepared.as_ref()?;
        let of_query = match &prepared.body {
            Body::Plan(bound) => bound.warnings.clone(),
            _ => None,
        };
        match (prepared.tree.warnings.clone(), of_query) {
            (Some(of_dialect), Some(of_query)) => Some(of_dialect.and_all(of_query)),
            (of_dialect, of_query) => of_dialect.or(of_query),
        }
    }

    /// The relations that a prepared query reads, by number, if that is all it does: see `farbird_catalog::purity`.
    pub fn statement_reads(&self, handle: StatementHandle) -> Option<Vec<u32>> {
        let prepared = self.statements.get(&handle)?.prepared.as_ref()?;
        if !prepared.description.has_cursor {
            return None;
        }
        let read = farbird_catalog::purity::reads(&prepared.catalog, &prepared.sql)?;
        Some(read.into_iter().map(|relation| relation.0).collect())
    }

    /// Whether beginning or ending a transaction does more than that: triggers ON TRANSACTION.
    pub fn has_transaction_triggers(&self) -> bool {
        use farbird_sql::ast::DatabaseEvent::{TransactionCommit, TransactionRollback, TransactionStart};
        let catalog = self.database().catalog();
        !self.session.options.no_database_triggers
            && [TransactionStart, TransactionCommit, TransactionRollback]
                .into_iter()
                .any(|event| crate::psql::has_database_triggers(&catalog, event))
    }

    /// Rows that the statement's latest run has touched so far.
    pub fn record_counts(&self, handle: StatementHandle) -> Result<RecordCounts> {
        Ok(self.statements.get(&handle).ok_or_else(bad_handle)?.counts)
    }

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

    /// Fills `rows` with up to `rows_max` rows of the statement's cursor. On an error the rows before it are there.
    pub fn fetch(&mut self, handle: StatementHandle, rows_max: usize, rows: &mut Rows) -> Result<FetchEnd> {
        if !self.may_fetch_many(handle)? {
            return self.fetch_many(handle, Scroll::Next, rows_max, rows);
        }
        self.run_cursor(handle, Scroll::Next, |open, width, context, progress| {
            open.append_rows(width, rows_max, context, rows, progress)
        })
    }

    /// As [`Attachment::fetch`], but the rows may come by columns, and fewer than asked for (though some) if more are to
    /// come. What is in `rows` is forgotten.
    ///
    /// # Errors
    /// As [`Attachment::fetch`].
    pub fn fetch_by_columns(
        &mut self,
        handle: StatementHandle,
        rows_max: usize,
        rows: &mut FetchedRows,
    ) -> Result<FetchEnd> {
        rows.reset(self.describe(handle)?.columns.len());
        if !self.may_fetch_many(handle)? {
            return self.fetch_many(handle, Scroll::Next, rows_max, &mut rows.rows);
        }
        let end = self.run_cursor(handle, Scroll::Next, |open, width, context, progress| {
            match open.next_columns(rows_max, context, &mut rows.columns, progress)? {
                // One row, and what came with it: those behind may come by columns.
                ByColumns::Unavailable => {
                    match open.append_rows(width, 1, context, &mut rows.rows, progress)? {
                        FetchEnd::EndOfCursor => Ok(FetchEnd::EndOfCursor),
                        FetchEnd::MoreToCome => {
                            let more =
                                open.rows_at_hand().min(rows_max.min(ROWS_AT_A_TIME).saturating_sub(1));
                            open.append_rows(width, more, context, &mut rows.rows, progress)
                        }
                    }
                }
                ByColumns::Rows => Ok(FetchEnd::MoreToCome),
                ByColumns::End => Ok(FetchEnd::EndOfCursor),
            }
        })?;
        if rows.by_columns() && !self.are_as_described(handle, &rows.columns)? {
            rows.make_rows(0)?;
        }
        Ok(end)
    }

    /// Whether columns are of the types that the statement's description gives.
    fn are_as_described(&self, handle: StatementHandle, columns: &ColumnRows) -> Result<bool> {
        let description = self.describe(handle)?;
        let mut described = description.columns.iter().enumerate();
        Ok(described.all(|(index, described)| {
            columns.column(index).is_some_and(|(sql_type, _)| *sql_type == described.column_type.sql_type)
        }))
    }

    /// Whether nothing has to be done for each row of the open cursor but to fetch it.
    fn may_fetch_many(&self, handle: StatementHandle) -> Result<bool> {
        let slot = self.statements.get(&handle).ok_or_else(bad_handle)?;
        let open = slot.open.as_ref().ok_or_else(cursor_not_open)?;
        let transaction = self.transactions.get(&open.transaction).ok_or_else(bad_transaction)?;
        Ok(matches!(open.source, RowSource::Query(_))
            && open.scroll.is_none()
            && !transaction.transaction.parameters.auto_commit
            && slot.prepared.as_ref().is_some_and(|prepared| !prepared.gives_blobs))
    }

    /// As [`Attachment::fetch`], backwards: the end is before the first row.
    ///
    /// # Errors
    /// `isc_invalid_fetch_option` for a cursor that cannot scroll.
    pub fn fetch_prior(
        &mut self,
        handle: StatementHandle,
        rows_max: usize,
        rows: &mut Rows,
    ) -> Result<FetchEnd> {
        self.fetch_many(handle, Scroll::Prior, rows_max, rows)
    }

    fn fetch_many(
        &mut self,
        handle: StatementHandle,
        to: Scroll,
        rows_max: usize,
        rows: &mut Rows,
    ) -> Result<FetchEnd> {
        for _ in 0..rows_max {
            match self.fetch_row(handle, to)? {
                Some(row) => rows.push(&row),
                None => return Ok(FetchEnd::EndOfCursor),
            }
        }
        Ok(FetchEnd::MoreToCome)
    }

    /// Moves a scrollable cursor and gives the row it comes to; `None` before the first and after the last.
    ///
    /// # Errors
    /// `isc_invalid_fetch_option` for anything but the next row of a cursor that cannot scroll.
    pub fn fetch_scroll(&mut self, handle: StatementHandle, to: Scroll) -> Result<Option<Vec<Value>>> {
        self.fetch_row(handle, to)
    }

    /// How many rows a scrollable cursor has; it is read to its end for that.
    ///
    /// # Errors
    /// `isc_infunk`-like refusal for a cursor that cannot scroll.
    pub fn cursor_rows(&mut self, handle: StatementHandle) -> Result<usize> {
        let position = self.scroll_buffer(handle)?.position;
        self.fetch_row(handle, Scroll::Last)?;
        let buffer = self.scroll_buffer(handle)?;
        buffer.position = position;
        Ok(buffer.rows.row_count())
    }

    fn scroll_buffer(&mut self, handle: StatementHandle) -> Result<&mut ScrollBuffer> {
        let open = self.statements.get_mut(&handle).ok_or_else(bad_handle)?.open.as_mut();
        open.ok_or_else(cursor_not_open)?.scroll.as_mut().ok_or_else(|| Error::new(isc::INFUNK))
    }

    /// Closes the statement's cursor; nothing happens if none is open.
    pub fn close_cursor(&mut self, handle: StatementHandle) -> Result<()> {
        let slot = self.statements.get_mut(&handle).ok_or_else(bad_handle)?;
        if slot.open.is_some() {
            slot.tell_closed(&self.session.tracer);
        }
        if slot.open.take().is_some()
            && let Some(activity) = &slot.activity
        {
            activity.end();
        }
        Ok(())
    }

    /// Names the cursor that the statement will open, for WHERE CURRENT OF in others. As in SQL, a name without quotes
    /// stands for its capitals; what follows a space is left out.
    ///
    /// # Errors
    /// `isc_dsql_decl_err` with `isc_dsql_cursor_invalid` for no name, and with `isc_dsql_cursor_redefined` if another
    /// statement's cursor has that name or the statement's cursor is open under another one.
    pub fn set_cursor_name(&mut self, handle: StatementHandle, name: &str) -> Result<()> {
        let wrong =
            |code| Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-502).and(isc::DSQL_DECL_ERR).and(code);
        let name = match name.strip_prefix('"') {
            Some(quoted) => quoted.strip_suffix('"').unwrap_or(quoted).replace("\"\"", "\""),
            None => name.split(' ').next().unwrap_or_default().to_uppercase(),
        };
        let name = name.trim_end_matches(' ');
        if name.is_empty() {
            return Err(wrong(isc::DSQL_CURSOR_INVALID));
        }
        let slot = self.statements.get(&handle).ok_or_else(bad_handle)?;
        if slot.cursor_name.as_deref() == Some(name) {
            return Ok(());
        }
        if self.statements.values().any(|slot| slot.cursor_name.as_deref() == Some(name)) {
            return Err(wrong(isc::DSQL_CURSOR_REDEFINED).with(name));
        }
        if let (Some(own), Some(_)) = (&slot.cursor_name, &slot.open) {
            return Err(wrong(isc::DSQL_CURSOR_REDEFINED).with(own.as_str()));
        }
        self.statements.get_mut(&handle).ok_or_else(bad_handle)?.cursor_name = Some(name.to_owned());
        Ok(())
    }

    /// Forgets what was prepared; the handle stays.
    pub fn unprepare(&mut self, handle: StatementHandle) -> Result<()> {
        self.close_cursor(handle)?;
        let slot = self.statements.get_mut(&handle).ok_or_else(bad_handle)?;
        slot.tell_freed(&self.session.tracer);
        slot.prepared = None;
        slot.is_written = false;
        slot.prepared_memory = None;
        slot.activity = None;
        slot.cursor_name = None;
        self.session.activity.lock().statements.remove(&slot.id);
        Ok(())
    }

    /// What a statement is charged to: for whoever keeps something for it.
    pub fn statement_budget(&self, handle: StatementHandle) -> Result<Arc<StatementBudget>> {
        Ok(Arc::clone(&self.statements.get(&handle).ok_or_else(bad_handle)?.budget))
    }

    /// Forgets a statement.
    pub fn drop_statement(&mut self, handle: StatementHandle) -> Result<()> {
        self.unprepare(handle)?;
        self.statements.remove(&handle);
        Ok(())
    }

    /// What conversions of this session's values need.
    pub fn cast_context(&self) -> CastContext {
        let settings = self.session.settings.lock();
        let (session_zone, decimal) = (settings.time_zone, settings.decimal);
        let month_names = self.session.options.dialect == 1;
        CastContext { session_zone, now: clock::utc, decimal, month_names }
    }

    /// As which type the client is to be shown a type: SET BIND.
    pub fn shown_type(&self, column_type: ColumnType) -> ShownType {
        self.session.settings.lock().bindings.shown(column_type)
    }

    /// The rules of `isc_dpb_set_bind`, which hold from the attach on.
    ///
    /// # Errors
    /// `isc_bind_err` for a rule that is none.
    pub fn set_initial_bindings(&self, rules: &str) -> Result<()> {
        let catalog = self.database().catalog();
        self.session.settings.lock().bindings.set_initial(&*catalog, rules)
    }

    /// Closes the cursors that are open in a transaction which ends.
    pub(super) fn close_cursors_of(&mut self, transaction: TransactionHandle) {
        for slot in self.statements.values_mut() {
            if slot.open.as_ref().is_some_and(|open| open.transaction == transaction) {
                slot.tell_closed(&self.session.tracer);
                slot.open = None;
                if let Some(activity) = &slot.activity {
                    activity.end();
                }
            }
        }
    }

    fn bind(
        &self,
        tree: Arc<ast::Statement>,
        sql: Arc<str>,
        dialect: u8,
        transaction: Option<TransactionHandle>,
    ) -> Result<Prepared> {
        let catalog = match transaction {
            Some(transaction) => {
                let transaction = self.transaction(transaction)?;
                let mut own = transaction.catalog.lock();
                own.refresh(&self.database().catalog());
                Arc::clone(&own.current)
            }
            None => self.database().catalog(),
        };
        let mut environment = Environment {
            catalog: Arc::clone(&catalog),
            character_set: self.session.options.character_set,
            dialect,
            first_rows: self.session.settings.lock().hurries_to_first_rows(),
            package: None,
        };
        let has_transaction = transaction.is_some();
        let mut compiled = self.compile(&environment, &tree, has_transaction)?;
        let mut sizes = TableSizes::default();
        if let (Body::Plan(_) | Body::Explained(_), Some(transaction)) = (&compiled.body, transaction) {
            let rows = &self.transaction(transaction)?.store;
            sizes = TableSizes::of(&catalog, compiled.body.accesses(), rows);
            let seen = sizes.seen_otherwise(&catalog.statistics, rows);
            if !seen.is_empty() {
                let mut as_seen = Catalog::clone(&catalog);
                as_seen.statistics = catalog.statistics.with(&seen);
                environment.catalog = Arc::new(as_seen);
                compiled = self.compile(&environment, &tree, has_transaction)?;
            }
        }
        let Compiled { body, description, cursors } = compiled;
        let accesses = body.accesses();
        authority::verify(&catalog, &Actor::of(&self.session), None, accesses)?;
        let is_blob = |parameter: &ColumnDescription| {
            matches!(parameter.column_type.sql_type, SqlType::Blob { .. } | SqlType::Array)
        };
        let takes_blobs = description.parameters.iter().any(is_blob);
        let gives_blobs = description.columns.iter().any(is_blob);
        let accesses = if gives_blobs { accesses.into() } else { Arc::from([]) };
        let blob_texts = BlobTexts::of(&description.columns, self.session.options.character_set);
        Ok(Prepared {
            tree,
            sql,
            dialect,
            catalog,
            footprint: OnceCell::new(),
            sizes,
            body,
            cursors,
            description: Arc::new(description),
            takes_blobs,
            gives_blobs,
            blob_texts,
            accesses,
        })
    }

    /// Binds a statement in an environment.
    fn compile(
        &self,
        environment: &Environment,
        tree: &ast::Statement,
        has_transaction: bool,
    ) -> Result<Compiled> {
        let mut cursors = Vec::new();
        let (body, description) = match &tree.kind {
            ast::StatementKind::Transaction(statement) => {
                (Body::Transaction, plain_description(transaction_statement::kind(statement)))
            }
            ast::StatementKind::Session(_) => (Body::Session, plain_description(StatementKind::Ddl)),
            _ if !has_transaction => return Err(Error::new(isc::BAD_TRANS_HANDLE)),
            ast::StatementKind::Ddl(statement) => (Body::Ddl, plain_description(ddl_kind(statement))),
            ast::StatementKind::ExecuteBlock(_) | ast::StatementKind::ExecuteProcedure(_) => {
                let compiled = psql::compile_statement(environment, tree)?;
                let description = compiled.description.clone();
                (Body::Routine(compiled), description)
            }
            ast::StatementKind::Explain(explain) => {
                let (statement, mut description) = match &explain.statement.kind {
                    ast::StatementKind::ExecuteBlock(_) | ast::StatementKind::ExecuteProcedure(_) => {
                        let compiled = psql::compile_statement(environment, &explain.statement)?;
                        let description = compiled.description.clone();
                        (explain::Statement::Routine(compiled), description)
                    }
                    _ => {
                        let (bound, description) =
                            self.bind_plan(environment, &explain.statement, &mut cursors)?;
                        (explain::Statement::Plan(bound), description)
                    }
                };
                description.kind = StatementKind::Select;
                description.columns = explain::columns(explain.analyze);
                description.has_cursor = true;
                (Body::Explained(Explained { statement, analyze: explain.analyze }), description)
            }
            _ => {
                let (bound, description) = self.bind_plan(environment, tree, &mut cursors)?;
                (Body::Plan(bound), description)
            }
        };
        Ok(Compiled { body, description, cursors })
    }

    /// Binds a statement that has a plan of its own, and tells which cursors it refers to.
    fn bind_plan(
        &self,
        environment: &Environment,
        tree: &ast::Statement,
        cursors: &mut Vec<(String, String)>,
    ) -> Result<(bind::Prepared, StatementDescription)> {
        let scope = ClientCursors::new(self, tree.parameter_count);
        let bound = bind::bind_statement(environment, tree, &scope)?;
        *cursors = scope.used.into_inner();
        let description = StatementDescription {
            kind: bound.kind,
            parameters: bound.parameters.clone(),
            columns: bound.columns.clone(),
            has_cursor: bound.has_cursor,
            plan: bound.plan.clone(),
            explained_plan: bound.explained_plan.clone(),
        };
        Ok((bound, description))
    }

    /// Binds again if the catalog has changed since, or the tables are of another size.
    ///
    /// # Errors
    /// Those of binding; and `isc_dsql_sqlda_err` if the statement's columns or parameters are not what its client
    /// was told.
    pub(super) fn bind_again_if_stale(
        &mut self,
        handle: StatementHandle,
        transaction: TransactionHandle,
    ) -> Result<()> {
        let committed = self.database().catalog_version();
        let database = self.database.as_deref();
        let own = self.transactions.get_mut(&transaction).ok_or_else(bad_transaction)?;
        let farbird_catalog::transaction::Transaction { catalog: own, store: rows, .. } =
            &mut *own.transaction;
        let own = own.get_mut();
        if let Some(database) = database.filter(|_| own.current.base_version != committed) {
            own.refresh(&database.catalog());
        }
        let slot = self.statements.get_mut(&handle).ok_or_else(bad_handle)?;
        let prepared = slot.prepared.as_mut().ok_or_else(unprepared)?;
        let is_resized = prepared.sizes.have_changed(rows);
        if !is_resized && prepared.catalog.version == own.current.version {
            return Ok(());
        }
        let footprint = prepared.footprint.get_or_init(|| Footprint::of(&prepared.catalog, &prepared.sql));
        if !is_resized && footprint.is_same_in(&prepared.catalog, &own.current) {
            prepared.catalog = Arc::clone(&own.current);
            return Ok(());
        }
        let (tree, sql, dialect) = (Arc::clone(&prepared.tree), Arc::clone(&prepared.sql), prepared.dialect);
        let told = Arc::clone(&prepared.description);
        let again = self.bind(tree, sql, dialect, Some(transaction))?;
        let changed = types_of(&again.description.columns) != types_of(&told.columns)
            || types_of(&again.description.parameters) != types_of(&told.parameters);
        if changed {
            return Err(Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-804).and(isc::DSQL_SQLDA_ERR));
        }
        self.statements.get_mut(&handle).ok_or_else(bad_handle)?.prepared = Some(again);
        Ok(())
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

    /// The row that a move leads to. What a routine did on the way is committed if the transaction commits by itself
    /// (`isc_tpb_autocommit`): Firebird does so each time the routine stops.
    fn fetch_row(&mut self, handle: StatementHandle, to: Scroll) -> Result<Option<Vec<Value>>> {
        let row = self.move_cursor(handle, to)?;
        let open = self.statements.get(&handle).and_then(|slot| slot.open.as_ref());
        let Some(handle) = open.map(|open| open.transaction) else { return Ok(row) };
        let transaction = self.transaction(handle)?;
        if transaction.parameters.auto_commit && transaction.store.has_changes() {
            self.commit_retaining(handle)?;
        }
        Ok(row)
    }

    fn move_cursor(&mut self, handle: StatementHandle, to: Scroll) -> Result<Option<Vec<Value>>> {
        let mut row = self.run_cursor(handle, to, |open, width, context, progress| {
            let mut next = || next_row(&mut open.source, width, context);
            let row = match &mut open.scroll {
                None => next(),
                Some(buffer) => buffer.go(to, next),
            }?;
            progress.ended = row.is_none();
            progress.rows = u64::from(row.is_some());
            Ok(row.map(|mut row| {
                open.row_numbers = row.split_off(width.min(row.len()));
                row
            }))
        })?;
        let slot = self.statements.get(&handle).ok_or_else(bad_handle)?;
        if let (Some(row), Some(prepared), Some(open)) = (&mut row, &slot.prepared, &slot.open) {
            prepared.blob_texts.mark(row);
            if prepared.gives_blobs {
                self.known_blobs.note_row(row, &prepared.blob_source(open.transaction));
            }
        }
        Ok(row)
    }

    /// Lets an open cursor run, and tells trace sessions of its end.
    fn run_cursor<T>(
        &mut self,
        handle: StatementHandle,
        to: Scroll,
        run: impl FnMut(&mut OpenCursor, usize, &mut ExecutionContext<'_>, &mut Progress) -> Result<T>,
    ) -> Result<T> {
        let is_traced = self.statements.get(&handle).is_some_and(|slot| slot.traced.is_some());
        let begun = is_traced.then(Instant::now);
        let result = self.run_open_cursor(handle, to, run);
        if let Some(begun) = begun {
            self.tell_fetched(handle, begun.elapsed(), trace::Outcome::of(&result));
        }
        result
    }

    /// Lets an open cursor run, in its transaction and with its view.
    fn run_open_cursor<T>(
        &mut self,
        handle: StatementHandle,
        to: Scroll,
        mut run: impl FnMut(&mut OpenCursor, usize, &mut ExecutionContext<'_>, &mut Progress) -> Result<T>,
    ) -> Result<T> {
        let database = Arc::clone(self.database());
        let slot = self.statements.get_mut(&handle).ok_or_else(bad_handle)?;
        let open = slot.open.as_mut().ok_or_else(cursor_not_open)?;
        let width = slot.prepared.as_ref().ok_or_else(unprepared)?.description.columns.len();
        let transaction = self.transactions.get(&open.transaction).ok_or_else(bad_transaction)?;
        let transaction = &*transaction.transaction;
        if open.scroll.is_none() && to != Scroll::Next {
            return Err(Error::new(isc::INVALID_FETCH_OPTION).with(scroll_name(to)));
        }
        self.session.interrupt.begin(open.deadline);
        if let Err(stopped) = self.session.interrupt.check() {
            self.session.interrupt.end();
            return Err(stopped);
        }
        if let Some(activity) = &slot.activity {
            activity.set_state(StatementState::Active);
        }
        transaction.store.begin_run();
        // A query goes on with the view that it was opened with; what a routine does next sees what it did before.
        let view = match &open.source {
            RowSource::Routine(..) => transaction.store.view()?,
            RowSource::Query(_) | RowSource::Finished(_) => open.view.clone(),
        };
        let (given, budget) = (Vec::new(), Arc::clone(&slot.budget));
        let mut context = ExecutionContext::new(
            &ABOVE,
            &database,
            &self.session,
            transaction,
            view,
            open.now,
            given,
            budget,
        )
        .in_dialect(slot.prepared.as_ref().map_or(3, |prepared| prepared.dialect));
        context.cast.session_zone = self.session.settings.lock().time_zone;
        context.counts = slot.counts;
        let mut progress = Progress::default();
        let mut restarts = 0;
        let mut watch = open.watch.take();
        let mut run = |open: &mut OpenCursor, context: &mut ExecutionContext<'_>, progress: &mut Progress| {
            psql::within(&mut watch, context, |context| run(open, width, context, progress))
        };
        let result = loop {
            if open.has_given {
                context.restart = Restart::Never;
                break run(open, &mut context, &mut progress);
            }
            // Nothing was given yet: all that it has done can be done again.
            context.restart = Restart::after(restarts);
            let savepoint = transaction.store.savepoint();
            let result = run(open, &mut context, &mut progress);
            open.has_given |= result.is_ok() || progress.rows > 0;
            if !context.is_restarting() || open.has_given {
                transaction.store.release(savepoint);
                break result;
            }
            context.undo_to(savepoint)?;
            restarts += 1;
            context.counts = slot.counts;
            context.view = transaction.store.view()?;
            open.begin_again(slot.prepared.as_ref().ok_or_else(unprepared)?, &mut context)?;
        };
        // What was told of ends with the last row, or with an error.
        open.watch = watch.filter(|_| result.is_ok() && !progress.ended);
        slot.counts = context.counts;
        slot.counts.selected += progress.rows;
        transaction.store.end_run(|run| count_run(run, slot.activity.as_deref(), &mut slot.told_counts));
        if let Some(traced) = &mut slot.traced {
            traced.has_ended |= progress.ended;
        }
        if let Some(activity) = &slot.activity {
            activity.set_state(StatementState::Stalled);
        }
        match result {
            Ok(result) => {
                self.session.interrupt.pause();
                if progress.ended
                    && open.deadline.take().is_some()
                    && let Some(activity) = &slot.activity
                {
                    activity.stop_timer();
                }
                Ok(result)
            }
            Err(error) => {
                let interrupted = self.session.interrupt.check();
                self.session.interrupt.end();
                Err(interrupted.err().unwrap_or_else(|| database.status(error)))
            }
        }
    }
}

impl Prepared {
    /// A watch of a run of it, if the profiler listens.
    fn watch(
        &self,
        session: &Session,
        database: &Database,
        budget: &Arc<StatementBudget>,
    ) -> Result<Option<psql::Watch>> {
        let body = match &self.body {
            Body::Plan(bound) => WatchedBody::Plan(&bound.action),
            Body::Routine(compiled) => WatchedBody::Routine(compiled),
            Body::Explained(_) | Body::Ddl | Body::Transaction | Body::Session => return Ok(None),
        };
        psql::Watch::of_statement(session, database, budget, &self.sql, body)
    }

    /// What was done with the rows of tables, by their names.
    pub(super) fn table_work(&self, counted: &Counted) -> Vec<trace::TableWork> {
        self.catalog.table_work(counted)
    }

    /// Where the BLOBs of its rows come from.
    fn blob_source(&self, transaction: TransactionHandle) -> Source {
        Source { transaction, accesses: Arc::clone(&self.accesses) }
    }
}

impl OpenCursor {
    /// Goes back before the first row, with the context's view.
    ///
    /// # Errors
    /// As opening it.
    fn begin_again(&mut self, prepared: &Prepared, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.view = context.view.clone();
        self.scroll = self.scroll.take().map(|_| ScrollBuffer::new(&context.budget));
        match &mut self.source {
            RowSource::Query(cursor) => cursor.begin_again(context)?,
            RowSource::Routine(execution, inputs) => {
                let Body::Routine(compiled) = &prepared.body else { return Err(unprepared()) };
                context.parameters.clone_from(inputs);
                **execution = psql::Execution::start(compiled, context)?;
            }
            RowSource::Finished(_) => {}
        }
        Ok(())
    }

    /// Appends the next rows of a query.
    fn append_rows(
        &mut self,
        width: usize,
        rows_max: usize,
        context: &mut ExecutionContext<'_>,
        rows: &mut Rows,
        progress: &mut Progress,
    ) -> Result<FetchEnd> {
        let RowSource::Query(cursor) = &mut self.source else { return Err(cursor_not_open()) };
        let plan = Arc::clone(cursor.plan());
        for _ in 0..rows_max {
            context.check_interrupt()?;
            let Some(row) = cursor.next_mut(context)? else {
                progress.ended = true;
                return Ok(FetchEnd::EndOfCursor);
            };
            self.row_numbers.clear();
            self.row_numbers.extend(
                plan.row_numbers.iter().map(|column| row.get(column.position).cloned().unwrap_or_default()),
            );
            rows.take(row.get_mut(..width).unwrap_or_default());
            progress.rows += 1;
            context.restart = Restart::Never;
        }
        Ok(FetchEnd::MoreToCome)
    }

    /// How many rows of a query wait to be handed out row by row.
    fn rows_at_hand(&self) -> usize {
        match &self.source {
            RowSource::Query(cursor) => cursor.rows_at_hand(),
            RowSource::Routine(..) | RowSource::Finished(_) => 0,
        }
    }

    /// The next rows of a query by columns, if they are at hand so.
    fn next_columns(
        &mut self,
        rows_max: usize,
        context: &mut ExecutionContext<'_>,
        rows: &mut ColumnRows,
        progress: &mut Progress,
    ) -> Result<ByColumns> {
        let RowSource::Query(cursor) = &mut self.source else { return Ok(ByColumns::Unavailable) };
        let found = cursor.next_columns(context, rows_max, rows)?;
        match found {
            ByColumns::Unavailable => {}
            ByColumns::End => progress.ended = true,
            ByColumns::Rows => {
                progress.rows = rows.len() as u64;
                let numbers = cursor.plan().row_numbers.iter();
                self.row_numbers.clear();
                self.row_numbers.extend(numbers.map(|column| rows.last_value(column.position)));
            }
        }
        Ok(found)
    }

    /// The number of a relation's row that was fetched last.
    fn row_number(&self, relation: &str) -> Option<&Value> {
        let RowSource::Query(cursor) = &self.source else { return None };
        let position = cursor.plan().row_numbers.iter().position(|column| column.relation == relation)?;
        self.row_numbers.get(position)
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
    now: farbird_types::TimestampTz,
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

/// The next row: its columns, and behind them the numbers of the rows that it was made of.
fn next_row(
    source: &mut RowSource,
    width: usize,
    context: &mut ExecutionContext<'_>,
) -> Result<Option<Vec<Value>>> {
    match source {
        RowSource::Query(cursor) => {
            let Some(mut row) = cursor.next_row(context)? else { return Ok(None) };
            let columns = &cursor.plan().row_numbers;
            let number = |position: usize| row.get(position).cloned().unwrap_or_default();
            let numbers: Vec<Value> = columns.iter().map(|column| number(column.position)).collect();
            row.truncate(width);
            row.extend(numbers);
            Ok(Some(row))
        }
        RowSource::Routine(execution, _) => execution.resume(context),
        RowSource::Finished(rows) => rows.next_row(),
    }
}

fn ddl_kind(statement: &ast::DdlStatement) -> StatementKind {
    match statement {
        ast::DdlStatement::DefineSequence(sequence) if sequence.set_generator => StatementKind::SetGenerator,
        _ => StatementKind::Ddl,
    }
}

fn types_of(columns: &[ColumnDescription]) -> Vec<SqlType> {
    columns.iter().map(|column| column.column_type.sql_type).collect()
}

fn plain_description(kind: StatementKind) -> StatementDescription {
    StatementDescription {
        kind,
        parameters: Vec::new(),
        columns: Vec::new(),
        has_cursor: false,
        plan: String::new(),
        explained_plan: String::new(),
    }
}

fn scroll_name(to: Scroll) -> &'static str {
    match to {
        Scroll::Next => "NEXT",
        Scroll::Prior => "PRIOR",
        Scroll::First => "FIRST",
        Scroll::Last => "LAST",
        Scroll::Absolute(_) => "ABSOLUTE",
        Scroll::Relative(_) => "RELATIVE",
    }
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

pub(super) fn bad_handle() -> Error {
    Error::new(isc::BAD_STMT_HANDLE)
}

pub(super) fn bad_transaction() -> Error {
    Error::new(isc::BAD_TRANS_HANDLE)
}

fn unprepared() -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-901).and(isc::UNPREPARED_STMT)
}

fn cursor_not_open() -> Error {
    Error::new(isc::DSQL_ERROR)
        .and(isc::SQLERR)
        .with(-504)
        .and(isc::DSQL_CURSOR_ERR)
        .and(isc::CURSOR_NOT_OPEN)
}

//! Statements: allocate, prepare, execute, free. Their rows are fetched in `cursors`.
//!
//! Source: wire-protocol.md, 6.5, 8.3 and 9.3; Firebird's own order of checks: server.cpp, execute_statement.

use std::sync::Arc;
use std::time::Duration;

use farbird_engine::api::{
    ExecuteOptions, Execution, RowsWanted, StatementHandle, StatementKind, TransactionHandle,
};
use farbird_types::{BlobId, ColumnType, Error, Result, Value, isc};
use farbird_wire::message::{Message, MessageFormat};
use farbird_wire::packet::{
    Execute, Execute2, ExecuteImmediate2, InlineBlob, Output as WantedRow, Reply, Response, SqlResponse,
    StatementText, encode_sql_row,
};
use farbird_wire::protocol::{CURSOR_SCROLLABLE, Handle, free_statement, prepare_reply};

use super::Session;
use super::batches::Batch;
use super::convert::{self, RowConversion};
use super::crossing::Crossing;
use super::cursors::OpenCursor;
use super::information;
use super::objects::Object;

/// A statement of a connection.
pub(crate) struct Statement {
    pub(crate) engine: StatementHandle,
    /// What the engine said about it; none before prepare.
    pub(crate) prepared: Option<Prepared>,
    /// Format of the last rows asked for.
    pub(super) row: Option<RowFormat>,
    pub(super) cursor: Option<OpenCursor>,
    pub(crate) batch: Option<Batch>,
}

/// What is known of a prepared statement.
///
/// Types are the engine's; what the client was told may differ (see `convert::described`).
pub(crate) struct Prepared {
    pub(crate) kind: StatementKind,
    has_cursor: bool,
    pub(crate) columns: Vec<ColumnType>,
    pub(crate) parameters: Vec<ColumnType>,
}

pub(super) struct RowFormat {
    pub(super) format: Arc<MessageFormat>,
    pub(super) conversion: RowConversion,
    /// Columns that may hold BLOB ids.
    blobs: Vec<usize>,
    /// Columns that are BLOBs here and texts to the client, or the other way round.
    pub(super) crossings: Vec<Crossing>,
    /// Whether rows that the engine has by columns may go out so: nothing is converted, and no BLOB goes with them.
    pub(super) goes_by_columns: bool,
}

impl Statement {
    fn new(engine: StatementHandle) -> Statement {
        Statement { engine, prepared: None, row: None, cursor: None, batch: None }
    }

    /// The transaction of its cursor has ended, and the cursor with it.
    pub(crate) fn transaction_ended(&mut self, transaction: Handle) {
        if self.cursor.as_ref().is_some_and(|cursor| cursor.is_of(transaction)) {
            self.cursor = None;
        }
    }

    pub(super) fn prepared(&self) -> Result<&Prepared> {
        self.prepared.as_ref().ok_or_else(|| Error::new(isc::UNPREPARED_STMT))
    }
}

impl Session {
    pub(super) fn allocate_statement(&mut self) -> Result<Response> {
        self.objects.forget_latest();
        let statement = Statement::new(self.attachment()?.allocate_statement()?);
        let handle = self.objects.insert(Object::Statement(Box::new(statement)))?;
        self.output.input().statement_allocated(handle);
        Ok(Response::object(handle))
    }

    pub(super) fn prepare(&mut self, text: &StatementText) -> Result<Response> {
        let transaction = self.objects.transaction_or_none(text.transaction)?;
        let engine = self.objects.statement(text.statement)?.engine;
        let sql = self.decode_text(&text.sql)?;
        self.forget_prepared(text.statement)?;
        let prepared = self.prepare_engine(engine, transaction, &sql, text.dialect)?;
        let mut flags = 0;
        if self.lazy {
            match prepared.kind {
                StatementKind::Select => flags |= prepare_reply::DEFER_EXECUTE,
                StatementKind::SelectForUpdate => {
                    flags |= prepare_reply::DEFER_EXECUTE | prepare_reply::NO_BATCH
                }
                _ => {}
            }
        }
        self.objects.statement(text.statement)?.prepared = Some(prepared);
        let data = self.statement_information(engine, &text.items, text.buffer_length.0)?;
        let mut response = Response::data(Handle(flags), data);
        if let Some(warnings) = self.attachment()?.statement_warnings(engine) {
            response.status = response.status.with_warnings(&warnings);
        }
        Ok(response)
    }

    fn prepare_engine(
        &mut self,
        engine: StatementHandle,
        transaction: Option<TransactionHandle>,
        sql: &str,
        dialect: u16,
    ) -> Result<Prepared> {
        let dialect = u8::try_from(dialect).unwrap_or(3);
        let description = self.attachment()?.prepare(engine, transaction, sql, dialect)?;
        let types = |columns: &[farbird_engine::api::ColumnDescription]| {
            columns.iter().map(|column| column.column_type).collect()
        };
        Ok(Prepared {
            kind: description.kind,
            has_cursor: description.has_cursor,
            columns: types(&description.columns),
            parameters: types(&description.parameters),
        })
    }

    pub(super) fn statement_information(
        &mut self,
        engine: StatementHandle,
        items: &[u8],
        buffer_length: u32,
    ) -> Result<Vec<u8>> {
        let character_set = self.character_set;
        let attachment = self.attachment()?;
        information::statement(attachment, engine, items, buffer_length, character_set)
    }

    /// op_execute: the reply's object is the transaction as it is afterwards.
    pub(super) fn execute(&mut self, execute: &Execute) -> Result<Response> {
        let (transaction, execution) = self.run(execute, None)?;
        let object = self.transaction_after(transaction, &execution)?;
        Ok(Response::object(object))
    }

    /// op_execute2: the row, if there is one, precedes the response; a failure too is announced by an empty row.
    pub(super) fn execute2(&mut self, execute: &Execute2) -> Result<Response> {
        let outcome = self.run(&execute.execute, Some(&execute.output));
        let (transaction, execution) = self.unless_failed(outcome)?;
        let object = self.transaction_after(transaction, &execution)?;
        let sent = match execution {
            Execution::Row(row) => self.send_row(
                execute.execute.statement,
                execute.execute.transaction,
                execute.execute.inline_blob_bytes,
                row.as_deref(),
            ),
            _ => self.send_no_row(),
        };
        self.unless_failed(sent)?;
        Ok(Response::object(object))
    }

    /// On a failure the client of op_execute2 still expects the packet of the row.
    fn unless_failed<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() {
            self.send_no_row()?;
        }
        outcome
    }

    fn run(&mut self, execute: &Execute, output: Option<&WantedRow>) -> Result<(Handle, Execution)> {
        let transaction_handle = self.objects.resolve(execute.transaction);
        let transaction = self.objects.transaction_or_none(transaction_handle)?;
        let character_set = self.character_set;
        let statement = self.objects.statement(execute.statement)?;
        let prepared = statement.prepared()?;
        let format = execute.message.as_ref().map(Message::format);
        let values = execute.parameters().map_err(super::undecodable)?;
        let crossings = Crossing::of_parameters(&values, &prepared.parameters);
        let values = match self.crossed(&crossings, transaction_handle, &values)? {
            Some(crossed) => crossed,
            None => values,
        };
        let attachment = self.attachment.as_ref().ok_or_else(|| Error::new(isc::BAD_DB_HANDLE))?;
        let statement = self.objects.statement(execute.statement)?;
        let prepared = statement.prepared()?;
        let values =
            convert::parameters(values, format.map(|f| &**f), &prepared.parameters, character_set, || {
                attachment.cast_context()
            })?;
        if statement.cursor.is_some() || statement.batch.is_some() {
            return Err(Error::new(isc::SQLERR).with(-502).and(isc::DSQL_CURSOR_OPEN_ERR));
        }
        if let Some(format) = output.and_then(|output| output.format.clone()) {
            statement.set_row_format(format, character_set)?;
        }
        let options = ExecuteOptions {
            timeout: (execute.timeout_ms > 0).then(|| Duration::from_millis(u64::from(execute.timeout_ms))),
            rows: wanted(output),
            scrollable: execute.cursor_flags & CURSOR_SCROLLABLE != 0,
        };
        let engine = statement.engine;
        let execution = self.attachment()?.execute(engine, transaction, values, options)?;
        if execution == Execution::CursorOpened {
            let inline_blob_bytes = self.inline_limit(execute.inline_blob_bytes);
            let statement = self.objects.statement(execute.statement)?;
            let width = statement.prepared()?.columns.len();
            statement.cursor =
                Some(OpenCursor::new(transaction_handle, width, options.scrollable, inline_blob_bytes));
        }
        Ok((transaction_handle, execution))
    }

    /// The handle that the reply carries: 0 after COMMIT and ROLLBACK as SQL, a new one after SET TRANSACTION.
    fn transaction_after(&mut self, before: Handle, execution: &Execution) -> Result<Handle> {
        match execution {
            Execution::TransactionEnded => {
                self.objects.end_transaction(before);
                Ok(Handle::NONE)
            }
            Execution::TransactionStarted(transaction) => {
                self.objects.insert(Object::Transaction(*transaction))
            }
            _ => Ok(before),
        }
    }

    pub(super) fn execute_immediate(&mut self, text: &StatementText) -> Result<Response> {
        self.immediate(text, Vec::new(), None, None, 0)
    }

    pub(super) fn execute_immediate2(&mut self, execute: &ExecuteImmediate2) -> Result<Response> {
        let outcome = execute
            .message
            .as_ref()
            .map_or(Ok(Vec::new()), Message::values)
            .map_err(super::undecodable)
            .and_then(|values| {
                let format = execute.message.as_ref().map(Message::format);
                self.immediate(
                    &execute.text,
                    values,
                    format.map(|format| &**format),
                    Some(&execute.output),
                    execute.inline_blob_bytes,
                )
            });
        self.unless_failed(outcome)
    }

    /// Prepares and executes in one go, with a statement of its own that is dropped again.
    fn immediate(
        &mut self,
        text: &StatementText,
        values: Vec<Value>,
        format: Option<&MessageFormat>,
        output: Option<&WantedRow>,
        inline_blob_bytes: u32,
    ) -> Result<Response> {
        let transaction_handle = self.objects.resolve(text.transaction);
        let transaction = self.objects.transaction_or_none(transaction_handle)?;
        let sql = self.decode_text(&text.sql)?;
        let engine = self.attachment()?.allocate_statement()?;
        let result = self.immediate_in(
            engine,
            transaction,
            &sql,
            text.dialect,
            values,
            format,
            output.and_then(|output| output.format.clone()),
        );
        self.attachment()?.drop_statement(engine)?;
        let (execution, row) = result?;
        let object = self.transaction_after(transaction_handle, &execution)?;
        if output.is_some() {
            match (&execution, &row) {
                (Execution::Row(values), Some(row)) => {
                    let inline = self.inline_limit(inline_blob_bytes);
                    self.encode_singleton(row, transaction_handle, inline, values.as_deref())?;
                }
                _ => self.send_no_row()?,
            }
        }
        Ok(Response::object(object))
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of one packet, taken apart once")]
    fn immediate_in(
        &mut self,
        engine: StatementHandle,
        transaction: Option<TransactionHandle>,
        sql: &str,
        dialect: u16,
        values: Vec<Value>,
        format: Option<&MessageFormat>,
        row_format: Option<Arc<MessageFormat>>,
    ) -> Result<(Execution, Option<RowFormat>)> {
        let character_set = self.character_set;
        let prepared = self.prepare_engine(engine, transaction, sql, dialect)?;
        if prepared.has_cursor && row_format.is_none() {
            return Err(Error::new(isc::DSQL_ERROR).and(isc::DSQL_SQLDA_ERR).and(isc::DSQL_NO_OUTPUT_SQLDA));
        }
        let row = row_format.map(|f| RowFormat::new(f, &prepared.columns, character_set)).transpose()?;
        let attachment = self.attachment()?;
        let values = convert::parameters(values, format, &prepared.parameters, character_set, || {
            attachment.cast_context()
        })?;
        let rows = if row.is_some() { RowsWanted::One } else { RowsWanted::Cursor };
        let options = ExecuteOptions { rows, ..ExecuteOptions::default() };
        let execution = self.attachment()?.execute(engine, transaction, values, options)?;
        Ok((execution, row))
    }

    /// op_sql_response with the row of a statement that gave one.
    fn send_row(
        &mut self,
        statement: Handle,
        transaction: Handle,
        inline_blob_bytes: u32,
        values: Option<&[Value]>,
    ) -> Result<()> {
        let inline = self.inline_limit(inline_blob_bytes);
        let transaction = self.objects.resolve(transaction);
        let Some(row) = self.objects.statement(statement)?.row.take() else { return self.send_no_row() };
        let result = self.encode_singleton(&row, transaction, inline, values);
        self.objects.statement(statement)?.row = Some(row);
        result
    }

    fn encode_singleton(
        &mut self,
        row: &RowFormat,
        transaction: Handle,
        inline_blob_bytes: u32,
        values: Option<&[Value]>,
    ) -> Result<()> {
        let Some(values) = values else { return self.send_no_row() };
        let context = self.attachment()?.cast_context();
        let mut scratch = Vec::new();
        let crossed = self.crossed(&row.crossings, transaction, values)?;
        let values = crossed.as_deref().unwrap_or(values);
        let converted = row.conversion.apply(values, &context, &mut scratch)?;
        self.inline_blobs(row, transaction, inline_blob_bytes, values);
        let version = self.output.version();
        self.output
            .encode(|out| encode_sql_row(&row.format, version, converted, out).map(|()| 1))
            .map_err(Error::from)
    }

    fn send_no_row(&mut self) -> Result<()> {
        self.output.reply(&Reply::SqlResponse(SqlResponse { message: None }));
        Ok(())
    }

    /// Sends the small BLOBs of a row in front of it. A BLOB that cannot be opened ends that for the row.
    pub(super) fn inline_blobs(
        &mut self,
        row: &RowFormat,
        transaction: Handle,
        bytes_max: u32,
        values: &[Value],
    ) {
        if bytes_max == 0 || row.blobs.is_empty() {
            return;
        }
        let Ok(engine_transaction) = self.objects.transaction(transaction) else { return };
        for index in &row.blobs {
            let Some(Value::Blob(id)) = values.get(*index) else { continue };
            if *id == BlobId(0) {
                continue;
            }
            let Some(attachment) = &self.attachment else { return };
            match attachment.small_blob(engine_transaction, *id, bytes_max as usize) {
                Ok(Some((facts, data))) => {
                    let information = information::inline_blob(&facts);
                    self.output.reply(&Reply::InlineBlob(InlineBlob {
                        transaction,
                        blob: *id,
                        information,
                        data,
                    }));
                }
                Ok(None) => {}
                Err(_) => return,
            }
        }
    }

    pub(super) fn free_statement(&mut self, handle: Handle, option: u16) -> Result<Response> {
        let handle = self.objects.resolve(handle);
        let statement = self.objects.statement(handle)?;
        let engine = statement.engine;
        if option & free_statement::DROP != 0 {
            self.objects.remove(handle);
            self.attachment()?.drop_statement(engine)?;
            return Ok(Response::object(Handle::LATEST));
        }
        if option & free_statement::UNPREPARE != 0 {
            self.forget_prepared(handle)?;
            self.attachment()?.unprepare(engine)?;
        } else if option & free_statement::CLOSE != 0 {
            // Closing closes what is open: a batch or a cursor.
            if statement.batch.take().is_none() && statement.cursor.take().is_none() {
                return Err(Error::new(isc::DSQL_CURSOR_CLOSE_ERR));
            }
            self.attachment()?.close_cursor(engine)?;
        }
        Ok(Response::object(handle))
    }

    fn forget_prepared(&mut self, handle: Handle) -> Result<()> {
        let statement = self.objects.statement(handle)?;
        let engine = statement.engine;
        statement.prepared = None;
        statement.row = None;
        statement.batch = None;
        if statement.cursor.take().is_some() {
            self.attachment()?.close_cursor(engine)?;
        }
        Ok(())
    }

    pub(super) fn set_cursor_name(&mut self, handle: Handle, name: &[u8]) -> Result<Response> {
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = self.decode_text(name)?;
        let engine = self.objects.statement(handle)?.engine;
        self.attachment()?.set_cursor_name(engine, &name)?;
        Ok(Response::success())
    }

    /// The inline size of a request within what the attachment allows.
    fn inline_limit(&self, asked: u32) -> u32 {
        asked.min(self.inline_blob_bytes_max).min(u32::from(u16::MAX))
    }
}

impl Statement {
    pub(super) fn set_row_format(
        &mut self,
        format: Arc<MessageFormat>,
        character_set: farbird_types::CharacterSet,
    ) -> Result<()> {
        if self.row.as_ref().is_some_and(|row| Arc::ptr_eq(&row.format, &format) || row.format == format) {
            return Ok(());
        }
        let row = RowFormat::new(format, &self.prepared()?.columns, character_set)?;
        self.row = Some(row);
        Ok(())
    }
}

/// A client that says how the row shall look gets one row instead of a cursor.
fn wanted(output: Option<&WantedRow>) -> RowsWanted {
    if output.is_some_and(|output| output.format.is_some()) { RowsWanted::One } else { RowsWanted::Cursor }
}

impl RowFormat {
    fn new(
        format: Arc<MessageFormat>,
        columns: &[ColumnType],
        character_set: farbird_types::CharacterSet,
    ) -> Result<RowFormat> {
        let conversion = RowConversion::new(columns, &format, character_set)?;
        let blobs: Vec<usize> =
            format.columns().enumerate().filter(|(_, t)| t.is_blob()).map(|(index, _)| index).collect();
        let crossings = Crossing::all(columns, &format);
        let goes_by_columns = conversion.is_identity() && crossings.is_empty() && blobs.is_empty();
        Ok(RowFormat { format, conversion, blobs, crossings, goes_by_columns })
    }

    /// Bytes of a row, about: the length of its message in memory.
    pub(super) fn bytes(&self) -> usize {
        usize::try_from(self.format.length()).unwrap_or(usize::MAX).max(1)
    }
}

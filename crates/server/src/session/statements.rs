//! Statements: allocate, prepare, execute, fetch, free.
//!
//! Rows go from the engine straight into the output buffer, a few hundred at a time. When a batch has been answered
//! and the client is silent, the next rows are fetched ahead.
//! Source: wire-protocol.md, 6.5, 8.3 to 8.5 and 9.3.

use std::sync::Arc;
use std::time::Duration;

use farbird_engine::api::{
    ExecuteOptions, Execution, FetchEnd, Rows, Scroll, StatementHandle, StatementKind, TransactionHandle,
};
use farbird_types::{BlobId, ColumnType, Error, Result, Value, isc};
use farbird_wire::message::{Message, MessageFormat};
use farbird_wire::packet::{
    Execute, Execute2, ExecuteImmediate2, Fetch, FetchResponse, FetchScroll, InlineBlob, Output as WantedRow,
    Reply, Response, SqlResponse, StatementText, encode_fetch_row, encode_sql_row,
};
use farbird_wire::protocol::{CURSOR_SCROLLABLE, Handle, free_statement, prepare_reply, scroll};

use super::Session;
use super::batches::Batch;
use super::convert::{self, RowConversion};
use super::information;
use super::objects::Object;
use super::output::FLUSH_BYTES;

/// Rows taken from the engine at a time.
const ROWS_AT_A_TIME: usize = 200;
/// Rows answered at least before a batch may end early because much has been sent (Firebird's rule).
const ROWS_BEFORE_EARLY_END: usize = 10;
/// Buffers sent after which a batch may end early (Firebird's rule).
const SENDS_BEFORE_EARLY_END: usize = 16;
/// Memory for rows fetched ahead, per cursor, in bytes; an estimate from the message's length.
const READ_AHEAD_BYTES_MAX: usize = 1 << 20;

/// A statement of a connection.
pub(crate) struct Statement {
    pub(crate) engine: StatementHandle,
    /// What the engine said about it; none before prepare.
    pub(crate) prepared: Option<Prepared>,
    /// Format of the last rows asked for.
    row: Option<RowFormat>,
    cursor: Option<OpenCursor>,
    pub(crate) batch: Option<Batch>,
}

/// What is known of a prepared statement.
///
/// Types are the engine's; what the client was told may differ (see `convert::described`).
pub(crate) struct Prepared {
    pub(crate) kind: StatementKind,
    pub(crate) columns: Vec<ColumnType>,
    pub(crate) parameters: Vec<ColumnType>,
}

struct RowFormat {
    format: Arc<MessageFormat>,
    conversion: RowConversion,
    /// Columns that may hold BLOB ids.
    blobs: Vec<usize>,
}

struct OpenCursor {
    transaction: Handle,
    inline_blob_bytes: u32,
    /// Fetched, not yet sent.
    ahead: Rows,
    /// Rows of `ahead` already sent.
    sent: usize,
    /// What came after the rows ahead: the end, or an error; none if more may come.
    after: Option<Result<FetchEnd>>,
}

impl Statement {
    fn new(engine: StatementHandle) -> Statement {
        Statement { engine, prepared: None, row: None, cursor: None, batch: None }
    }

    /// The transaction of its cursor has ended, and the cursor with it.
    pub(crate) fn transaction_ended(&mut self, transaction: Handle) {
        if self.cursor.as_ref().is_some_and(|cursor| cursor.transaction == transaction) {
            self.cursor = None;
        }
    }

    fn prepared(&self) -> Result<&Prepared> {
        self.prepared.as_ref().ok_or_else(|| Error::new(isc::UNPREPARED_STMT))
    }
}

impl Session {
    pub(super) fn allocate_statement(&mut self) -> Result<Response> {
        self.objects.forget_latest();
        let statement = Statement::new(self.attachment()?.allocate_statement()?);
        let handle = self.objects.insert(Object::Statement(Box::new(statement)))?;
        self.output.line().statement_allocated(handle);
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
        Ok(Response::data(Handle(flags), data))
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
        let attachment = self.attachment.as_ref().ok_or_else(|| Error::new(isc::BAD_DB_HANDLE))?;
        let statement = self.objects.statement(execute.statement)?;
        let prepared = statement.prepared()?;
        let format = execute.message.as_ref().map(Message::format);
        let values = execute.parameters().map_err(super::undecodable)?;
        let values =
            convert::parameters(values, format.map(|f| &**f), &prepared.parameters, character_set, || {
                attachment.cast_context()
            })?;
        let singleton = output.is_some_and(|output| output.format.is_some());
        if let Some(format) = output.and_then(|output| output.format.clone()) {
            statement.set_row_format(format, character_set)?;
        }
        let options = ExecuteOptions {
            timeout: (execute.timeout_ms > 0).then(|| Duration::from_millis(u64::from(execute.timeout_ms))),
            singleton,
            scrollable: execute.cursor_flags & CURSOR_SCROLLABLE != 0,
        };
        let engine = statement.engine;
        let execution = self.attachment()?.execute(engine, transaction, values, options)?;
        if execution == Execution::CursorOpened {
            let inline_blob_bytes = self.inline_limit(execute.inline_blob_bytes);
            let statement = self.objects.statement(execute.statement)?;
            let width = statement.prepared()?.columns.len();
            let mut ahead = Rows::default();
            ahead.reset(width);
            statement.cursor = Some(OpenCursor {
                transaction: transaction_handle,
                inline_blob_bytes,
                ahead,
                sent: 0,
                after: None,
            });
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
        let row = row_format.map(|f| RowFormat::new(f, &prepared.columns, character_set)).transpose()?;
        let attachment = self.attachment()?;
        let values = convert::parameters(values, format, &prepared.parameters, character_set, || {
            attachment.cast_context()
        })?;
        let options = ExecuteOptions { singleton: row.is_some(), ..ExecuteOptions::default() };
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
        let converted = row.conversion.apply(values, &context, &mut scratch)?;
        self.inline_blobs(row, transaction, inline_blob_bytes, values);
        let version = self.output.version();
        self.output
            .encode(|out| encode_sql_row(&row.format, version, converted, out).map(|()| 1))
            .map_err(super::unencodable)
    }

    fn send_no_row(&mut self) -> Result<()> {
        self.output.reply(&Reply::SqlResponse(SqlResponse { message: None }));
        Ok(())
    }

    /// op_fetch: rows, then the end marker; an error takes the place of the next row and of the marker.
    pub(super) fn fetch(&mut self, fetch: &Fetch) -> Result<()> {
        self.remember_row_format(fetch)?;
        let no_batch =
            self.objects.statement(fetch.statement)?.prepared()?.kind == StatementKind::SelectForUpdate;
        let wanted = if no_batch { 1 } else { usize::from(fetch.count) };
        let (rows, end) = self.send_rows(fetch.statement, wanted)?;
        self.output.reply(&Reply::FetchResponse(match end {
            FetchEnd::MoreToCome => FetchResponse::END_OF_BATCH,
            FetchEnd::EndOfCursor => FetchResponse::END_OF_CURSOR,
        }));
        self.output.flush();
        if end == FetchEnd::MoreToCome && !no_batch {
            self.read_ahead(fetch.statement, rows);
        }
        Ok(())
    }

    /// op_fetch_scroll: as op_fetch for the next rows; one row for the other operations.
    pub(super) fn fetch_scroll(&mut self, fetch: &FetchScroll) -> Result<()> {
        let to = match fetch.operation {
            scroll::NEXT => return self.fetch(&fetch.fetch),
            scroll::PRIOR => Scroll::Prior,
            scroll::FIRST => Scroll::First,
            scroll::LAST => Scroll::Last,
            scroll::ABSOLUTE => Scroll::Absolute(i64::from(fetch.position)),
            scroll::RELATIVE => Scroll::Relative(i64::from(fetch.position)),
            _ => return Err(Error::new(isc::INVALID_FETCH_OPTION).with("UNKNOWN")),
        };
        self.remember_row_format(&fetch.fetch)?;
        let handle = fetch.fetch.statement;
        let statement = self.objects.statement(handle)?;
        let engine = statement.engine;
        let width = statement.prepared()?.columns.len();
        let cursor = statement.cursor.as_mut().ok_or_else(cursor_not_open)?;
        // Rows fetched ahead have moved the engine's cursor past the client's place: tell it how far to go back.
        let unsent = cursor.ahead.len() - cursor.sent;
        cursor.discard_ahead(width);
        let to = match to {
            Scroll::Prior => Scroll::Relative(-1 - offset(unsent)),
            Scroll::Relative(distance) => Scroll::Relative(distance - offset(unsent)),
            other => other,
        };
        let row = self.attachment()?.fetch_scroll(engine, to)?;
        let end = match row {
            Some(values) => {
                // fbclient's corrective fetches take no blobs: none go with a relative move (wire-protocol.md, 8.5).
                self.send_one(handle, &values, !matches!(to, Scroll::Relative(_)))?;
                FetchResponse::END_OF_BATCH
            }
            None => FetchResponse::END_OF_CURSOR,
        };
        self.output.reply(&Reply::FetchResponse(end));
        Ok(())
    }

    fn remember_row_format(&mut self, fetch: &Fetch) -> Result<()> {
        let character_set = self.character_set;
        let statement = self.objects.statement(fetch.statement)?;
        if let Some(format) = fetch.output.format.clone() {
            statement.set_row_format(format, character_set)?;
        }
        if statement.cursor.is_none() {
            return Err(cursor_not_open());
        }
        if statement.row.is_none() {
            return Err(Error::new(isc::DSQL_ERROR)
                .and(isc::SQLERR)
                .with(-502)
                .and(isc::DSQL_CURSOR_OPEN_ERR));
        }
        Ok(())
    }

    /// Sends up to `wanted` rows. Gives how many they were, and whether the cursor has ended.
    fn send_rows(&mut self, handle: Handle, wanted: usize) -> Result<(usize, FetchEnd)> {
        let mut sent = 0;
        let mut bytes_before = self.output.sent_bytes();
        let mut sends = 0;
        loop {
            let statement = self.objects.statement(handle)?;
            let cursor = statement.cursor.as_mut().ok_or_else(cursor_not_open)?;
            if cursor.sent < cursor.ahead.len() {
                sent += self.send_ahead(handle, wanted - sent)?;
                sends += usize::try_from((self.output.sent_bytes() - bytes_before) / FLUSH_BYTES as u64)
                    .unwrap_or(0);
                bytes_before = self.output.sent_bytes();
            } else {
                match cursor.after.take() {
                    Some(Ok(FetchEnd::EndOfCursor)) => {
                        cursor.after = Some(Ok(FetchEnd::EndOfCursor));
                        return Ok((sent, FetchEnd::EndOfCursor));
                    }
                    Some(Err(error)) => return Err(error),
                    Some(Ok(FetchEnd::MoreToCome)) | None => {
                        self.fetch_rows(handle, (wanted - sent).min(ROWS_AT_A_TIME))?
                    }
                }
                continue;
            }
            let early = sends >= SENDS_BEFORE_EARLY_END && sent >= ROWS_BEFORE_EARLY_END;
            if sent >= wanted || early {
                return Ok((sent, FetchEnd::MoreToCome));
            }
            if self.output.is_broken() {
                return Err(Error::new(isc::ATT_SHUTDOWN));
            }
        }
    }

    /// Takes up to `count` rows from the engine into the cursor's rows ahead; what came after them is kept there.
    fn fetch_rows(&mut self, handle: Handle, count: usize) -> Result<()> {
        let statement = self.objects.statement(handle)?;
        let engine = statement.engine;
        let width = statement.prepared()?.columns.len();
        let cursor = statement.cursor.as_mut().ok_or_else(cursor_not_open)?;
        let mut rows = std::mem::take(&mut cursor.ahead);
        rows.reset(width);
        let end = self.attachment()?.fetch(engine, count.max(1), &mut rows);
        let statement = self.objects.statement(handle)?;
        let cursor = statement.cursor.as_mut().ok_or_else(cursor_not_open)?;
        cursor.ahead = rows;
        cursor.sent = 0;
        cursor.after = match end {
            Ok(FetchEnd::MoreToCome) => None,
            other => Some(other),
        };
        Ok(())
    }

    /// Encodes up to `count` of the rows ahead; gives how many.
    fn send_ahead(&mut self, handle: Handle, count: usize) -> Result<usize> {
        let context = self.attachment()?.cast_context();
        let statement = self.objects.statement(handle)?;
        let (Some(row), Some(mut cursor)) = (statement.row.take(), statement.cursor.take()) else {
            return Err(cursor_not_open());
        };
        let mut scratch = Vec::new();
        let mut result = Ok(());
        let end = cursor.ahead.len().min(cursor.sent.saturating_add(count));
        let first = cursor.sent;
        while cursor.sent < end && result.is_ok() {
            let values = cursor.ahead.row(cursor.sent);
            result = row.conversion.apply(values, &context, &mut scratch).and_then(|converted| {
                self.inline_blobs(&row, cursor.transaction, cursor.inline_blob_bytes, values);
                let version = self.output.version();
                self.output
                    .encode(|out| encode_fetch_row(&row.format, version, converted, out).map(|()| 1))
                    .map_err(super::unencodable)
            });
            cursor.sent += 1;
        }
        let sent = cursor.sent - first;
        let statement = self.objects.statement(handle)?;
        statement.row = Some(row);
        statement.cursor = Some(cursor);
        result.map(|()| sent)
    }

    fn send_one(&mut self, handle: Handle, values: &[Value], with_blobs: bool) -> Result<()> {
        let width = values.len();
        let statement = self.objects.statement(handle)?;
        let cursor = statement.cursor.as_mut().ok_or_else(cursor_not_open)?;
        cursor.discard_ahead(width);
        cursor.ahead.push(values);
        let limit = cursor.inline_blob_bytes;
        if !with_blobs {
            cursor.inline_blob_bytes = 0;
        }
        let sent = self.send_ahead(handle, 1);
        if let Some(cursor) = &mut self.objects.statement(handle)?.cursor {
            cursor.inline_blob_bytes = limit;
            cursor.discard_ahead(width);
        }
        sent.map(|_| ())
    }

    /// Fetches the next rows while the client is busy with the last ones. Stops when the client asks for something.
    fn read_ahead(&mut self, handle: Handle, rows: usize) {
        if self.is_input_waiting() {
            return;
        }
        let Ok(statement) = self.objects.statement(handle) else { return };
        let (Some(row), Some(cursor)) = (&statement.row, &statement.cursor) else { return };
        if cursor.sent < cursor.ahead.len() || cursor.after.is_some() {
            return;
        }
        let per_row = usize::try_from(row.format.length()).unwrap_or(usize::MAX).max(1);
        let count = rows.min(ROWS_AT_A_TIME).min(READ_AHEAD_BYTES_MAX / per_row);
        if count > 0 {
            // An error is kept with the cursor and reported in its place; a missing cursor fails again on fetch.
            let _ = self.fetch_rows(handle, count);
        }
    }

    /// Sends the small BLOBs of a row in front of it. A BLOB that cannot be opened ends that for the row.
    fn inline_blobs(&mut self, row: &RowFormat, transaction: Handle, bytes_max: u32, values: &[Value]) {
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
            if statement.cursor.take().is_none() {
                return Err(Error::new(isc::DSQL_ERROR)
                    .and(isc::SQLERR)
                    .with(-501)
                    .and(isc::DSQL_CURSOR_CLOSE_ERR));
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
    fn set_row_format(
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

impl RowFormat {
    fn new(
        format: Arc<MessageFormat>,
        columns: &[ColumnType],
        character_set: farbird_types::CharacterSet,
    ) -> Result<RowFormat> {
        let conversion = RowConversion::new(columns, &format, character_set)?;
        let blobs =
            format.columns().enumerate().filter(|(_, t)| t.is_blob()).map(|(index, _)| index).collect();
        Ok(RowFormat { format, conversion, blobs })
    }
}

impl OpenCursor {
    fn discard_ahead(&mut self, width: usize) {
        self.ahead.reset(width);
        self.sent = 0;
        self.after = None;
    }
}

fn offset(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

fn cursor_not_open() -> Error {
    Error::new(isc::DSQL_ERROR)
        .and(isc::SQLERR)
        .with(-504)
        .and(isc::DSQL_CURSOR_ERR)
        .and(isc::CURSOR_NOT_OPEN)
}

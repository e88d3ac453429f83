//! Cursors: fetching rows, in whatever direction.
//!
//! Rows go from the engine straight into the output buffer, a few hundred at a time: by columns where the engine has them so
//! and the client takes them as they are, else by a row of values each. When a batch has been answered and
//! the client is silent, the next rows are fetched ahead; a client that then turns round must not notice, so that a cursor
//! knows how far the engine is ahead of what its client was told.
//! Source: wire-protocol.md, 8.3 to 8.5; the order of checks: Firebird's server.cpp, rem_port::fetch.

use farbird_engine::api::{ColumnRows, ColumnValues, FetchEnd, FetchedRows, Scroll, StatementKind};
use farbird_types::{Error, Result, Value, isc};
use farbird_wire::message::{ColumnData, ColumnSlice, RowsWritten};
use farbird_wire::packet::{Fetch, FetchResponse, FetchScroll, Reply, encode_fetch_row};
use farbird_wire::protocol::{Handle, scroll};

use super::Session;
use super::output::FLUSH_BYTES;

/// Rows taken from the engine at a time, and sent before it is looked whether the batch is to end.
const ROWS_AT_A_TIME: usize = 200;
/// Memory for rows taken from the engine by columns at a time, in bytes; an estimate from the message's length.
const COLUMNS_BYTES_MAX: usize = 1 << 20;
/// Rows answered at least before a batch may end early because much has been sent (Firebird's rule).
const ROWS_BEFORE_EARLY_END: usize = 10;
/// Buffers sent after which a batch may end early (Firebird's rule).
const SENDS_BEFORE_EARLY_END: usize = 16;
/// Memory for rows fetched ahead, per cursor, in bytes; an estimate from the message's length.
const READ_AHEAD_BYTES_MAX: usize = 1 << 20;

/// A statement's open cursor, with the rows that its client has not got yet.
pub(crate) struct OpenCursor {
    transaction: Handle,
    scrollable: bool,
    inline_blob_bytes: u32,
    /// Which way the rows ahead were fetched.
    direction: Direction,
    /// Fetched, not yet sent.
    ahead: FetchedRows,
    /// Rows of `ahead` already sent.
    sent: usize,
    /// What came after the rows ahead: the end, or an error; none if more may come.
    after: Option<Result<FetchEnd>>,
    /// Whether the client knows of the end after the rows ahead.
    end_told: bool,
}

/// The two operations that give many rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Next,
    Prior,
}

impl OpenCursor {
    /// A cursor before its first row, whose rows have `width` columns.
    pub(super) fn new(
        transaction: Handle,
        width: usize,
        scrollable: bool,
        inline_blob_bytes: u32,
    ) -> OpenCursor {
        let mut ahead = FetchedRows::default();
        ahead.reset(width);
        OpenCursor {
            transaction,
            scrollable,
            inline_blob_bytes,
            direction: Direction::Next,
            ahead,
            sent: 0,
            after: None,
            end_told: false,
        }
    }

    /// Whether it was opened in this transaction, and ends with it.
    pub(super) fn is_of(&self, transaction: Handle) -> bool {
        self.transaction == transaction
    }

    /// Whether it was opened to be scrolled.
    pub(super) fn can_scroll(&self) -> bool {
        self.scrollable
    }

    /// How many rows the engine's cursor has to move to stand where the client believes it to be.
    fn back_to_client(&self) -> i64 {
        let end_ahead = matches!(self.after, Some(Ok(FetchEnd::EndOfCursor))) && !self.end_told;
        let rows = self.ahead.len() - self.sent + usize::from(end_ahead);
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        match self.direction {
            Direction::Next => -rows,
            Direction::Prior => rows,
        }
    }

    fn discard_ahead(&mut self, width: usize) {
        self.ahead.reset(width);
        self.sent = 0;
        self.after = None;
        self.end_told = false;
    }
}

impl Session {
    /// op_fetch: rows, then the end marker; an error takes the place of the next row and of the marker.
    pub(super) fn fetch(&mut self, fetch: &Fetch) -> Result<()> {
        self.remember_row_format(fetch)?;
        self.fetch_many(fetch, Direction::Next)
    }

    /// op_fetch_scroll: as op_fetch for the next and for the prior rows; one row for the other operations.
    pub(super) fn fetch_scroll(&mut self, fetch: &FetchScroll) -> Result<()> {
        self.remember_row_format(&fetch.fetch)?;
        let position = i64::from(fetch.position);
        let (to, name) = match fetch.operation {
            scroll::NEXT => return self.fetch_many(&fetch.fetch, Direction::Next),
            scroll::PRIOR => (Scroll::Prior, "PRIOR"),
            scroll::FIRST => (Scroll::First, "FIRST"),
            scroll::LAST => (Scroll::Last, "LAST"),
            scroll::ABSOLUTE => (Scroll::Absolute(position), "ABSOLUTE"),
            scroll::RELATIVE => (Scroll::Relative(position), "RELATIVE"),
            _ => return Err(Error::new(isc::INVALID_FETCH_OPTION).with("UNKNOWN")),
        };
        if !self.cursor(fetch.fetch.statement)?.scrollable {
            return Err(Error::new(isc::INVALID_FETCH_OPTION).with(name));
        }
        match to {
            Scroll::Prior => self.fetch_many(&fetch.fetch, Direction::Prior),
            to => self.fetch_one(fetch.fetch.statement, to),
        }
    }

    /// Up to as many rows as are asked for, in one direction.
    fn fetch_many(&mut self, fetch: &Fetch, direction: Direction) -> Result<()> {
        let statement = self.objects.statement(fetch.statement)?;
        let no_batch = statement.prepared()?.kind == StatementKind::SelectForUpdate;
        let wanted = if no_batch { 1 } else { usize::from(fetch.count) };
        if statement.cursor.as_ref().is_some_and(|cursor| cursor.end_told && !cursor.scrollable) {
            // As Firebird 3 to 5 answer, also what was under way when the end was met.
            return Err(Error::new(isc::REQ_SYNC));
        }
        if self.cursor(fetch.statement)?.direction != direction {
            let back = self.turn(fetch.statement)?;
            if back != 0 {
                let engine = self.objects.statement(fetch.statement)?.engine;
                self.attachment()?.fetch_scroll(engine, Scroll::Relative(back))?;
            }
            self.cursor(fetch.statement)?.direction = direction;
        }
        let (rows, end) = self.send_rows(fetch.statement, wanted)?;
        if end == FetchEnd::EndOfCursor {
            self.cursor(fetch.statement)?.end_told = true;
        }
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

    /// The one row that a move leads to, if there is one.
    fn fetch_one(&mut self, handle: Handle, to: Scroll) -> Result<()> {
        let back = self.turn(handle)?;
        let to = match to {
            Scroll::Relative(distance) => Scroll::Relative(distance.saturating_add(back)),
            other => other,
        };
        let engine = self.objects.statement(handle)?.engine;
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

    /// Forgets the rows ahead. Gives how far the engine's cursor is from the client's place.
    ///
    /// # Errors
    /// The one that was met ahead of the client: it is told now, and the next fetch goes on from there, as in Firebird.
    fn turn(&mut self, handle: Handle) -> Result<i64> {
        let statement = self.objects.statement(handle)?;
        let width = statement.prepared()?.columns.len();
        let cursor = statement.cursor.as_mut().ok_or_else(cursor_not_open)?;
        let back = cursor.back_to_client();
        if let Some(Err(error)) = cursor.after.take_if(|after| after.is_err()) {
            return Err(error);
        }
        cursor.discard_ahead(width);
        cursor.direction = Direction::Next;
        Ok(back)
    }

    fn cursor(&mut self, handle: Handle) -> Result<&mut OpenCursor> {
        self.objects.statement(handle)?.cursor.as_mut().ok_or_else(cursor_not_open)
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
            let cursor = self.cursor(handle)?;
            if cursor.sent < cursor.ahead.len() {
                sent += self.send_ahead(handle, (wanted - sent).min(ROWS_AT_A_TIME))?;
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
                    Some(Ok(FetchEnd::MoreToCome)) | None => self.fetch_rows(handle, wanted - sent)?,
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
        let version = self.output.version();
        let statement = self.objects.statement(handle)?;
        let engine = statement.engine;
        let width = statement.prepared()?.columns.len();
        let row = statement.row.as_ref();
        let by_columns = row.filter(|row| row.goes_by_columns && version.has_packed_messages());
        let columns_max = by_columns.map(|row| (COLUMNS_BYTES_MAX / row.bytes()).max(1));
        let cursor = statement.cursor.as_mut().ok_or_else(cursor_not_open)?;
        let direction = cursor.direction;
        let mut rows = std::mem::take(&mut cursor.ahead);
        rows.reset(width);
        let attachment = self.attachment()?;
        let rows_max = count.clamp(1, ROWS_AT_A_TIME);
        let end = match (direction, columns_max) {
            (Direction::Next, Some(most)) => {
                attachment.fetch_by_columns(engine, count.clamp(1, most), &mut rows)
            }
            (Direction::Next, None) => attachment.fetch(engine, rows_max, &mut rows.rows),
            (Direction::Prior, _) => attachment.fetch_prior(engine, rows_max, &mut rows.rows),
        };
        let cursor = self.cursor(handle)?;
        cursor.ahead = rows;
        cursor.sent = 0;
        cursor.after = match end {
            Ok(FetchEnd::MoreToCome) => None,
            other => Some(other),
        };
        cursor.end_told = false;
        Ok(())
    }

    /// Encodes up to `count` of the rows ahead; gives how many.
    fn send_ahead(&mut self, handle: Handle, count: usize) -> Result<usize> {
        match self.cursor(handle)?.ahead.by_columns() {
            true => self.send_columns_ahead(handle, count),
            false => self.send_rows_ahead(handle, count),
        }
    }

    /// As [`Session::send_ahead`], with rows by columns. One that does not fit becomes a row of values, and those behind it.
    fn send_columns_ahead(&mut self, handle: Handle, count: usize) -> Result<usize> {
        let Session { objects, output, .. } = self;
        let statement = objects.statement(handle)?;
        let (Some(row), Some(cursor)) = (&statement.row, &mut statement.cursor) else {
            return Err(cursor_not_open());
        };
        let columns: Vec<ColumnSlice<'_>> =
            (0..row.format.column_count()).map_while(|index| slice(&cursor.ahead.columns, index)).collect();
        let end = cursor.ahead.len().min(cursor.sent.saturating_add(count));
        let first = cursor.sent;
        while cursor.sent < end {
            let places = cursor.ahead.columns.places().get(cursor.sent..end).unwrap_or_default();
            let mut written = RowsWritten { rows: 0, error: None };
            let room = output.room();
            output.encode(|out| {
                written = row.format.encode_fetch_columns(&columns, places, room, out);
                Ok::<_, Error>(written.rows as u64)
            })?;
            cursor.sent += written.rows;
            if written.error.is_some() || written.rows == 0 {
                let sent = cursor.sent - first;
                cursor.ahead.make_rows(cursor.sent)?;
                cursor.sent = 0;
                return Ok(sent);
            }
        }
        Ok(cursor.sent - first)
    }

    /// As [`Session::send_ahead`], with rows of values.
    fn send_rows_ahead(&mut self, handle: Handle, count: usize) -> Result<usize> {
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
            let values = cursor.ahead.rows.row(cursor.sent);
            let crossed = match self.crossed(&row.crossings, cursor.transaction, values) {
                Ok(crossed) => crossed,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            };
            let values = crossed.as_deref().unwrap_or(values);
            result = row.conversion.apply(values, &context, &mut scratch).and_then(|converted| {
                self.inline_blobs(&row, cursor.transaction, cursor.inline_blob_bytes, values);
                let version = self.output.version();
                self.output
                    .encode(|out| encode_fetch_row(&row.format, version, converted, out).map(|()| 1))
                    .map_err(Error::from)
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
        let cursor = self.cursor(handle)?;
        cursor.discard_ahead(width);
        cursor.ahead.rows.push(values);
        let limit = cursor.inline_blob_bytes;
        if !with_blobs {
            cursor.inline_blob_bytes = 0;
        }
        let sent = self.send_ahead(handle, 1);
        let cursor = self.cursor(handle)?;
        cursor.inline_blob_bytes = limit;
        cursor.discard_ahead(width);
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
        let count = rows.min(ROWS_AT_A_TIME).min(READ_AHEAD_BYTES_MAX / row.bytes());
        if count > 0 {
            // An error is kept with the cursor and reported in its place; a missing cursor fails again on fetch.
            let _ = self.fetch_rows(handle, count);
        }
    }
}

/// A column for the wire.
fn slice(columns: &ColumnRows, index: usize) -> Option<ColumnSlice<'_>> {
    let (_, column) = columns.column(index)?;
    let values = match column.values() {
        ColumnValues::Numbers(numbers) => ColumnData::Numbers(numbers),
        ColumnValues::Doubles(doubles) => ColumnData::Doubles(doubles),
        ColumnValues::Values(values) => ColumnData::Values(values),
    };
    Some(ColumnSlice { values, nulls: column.nulls().words() })
}

fn cursor_not_open() -> Error {
    Error::new(isc::DSQL_ERROR)
        .and(isc::SQLERR)
        .with(-504)
        .and(isc::DSQL_CURSOR_ERR)
        .and(isc::CURSOR_NOT_OPEN)
}

//! Fetching from the cursors of statements: row by row, many at a time, by columns, and to and fro.

use std::sync::Arc;
use std::time::Instant;

use farbird_types::{Error, Result, Value, isc};

use crate::above::ABOVE;
use crate::api::{FetchEnd, FetchedRows, Rows, Scroll, StatementHandle, TransactionHandle};
use crate::attachment::Attachment;
use crate::attachment::execution::count_run;
use crate::attachment::open_cursor::{OpenCursor, Progress, RowSource, cursor_not_open, next_row};
use crate::attachment::scroll::ScrollBuffer;
use crate::attachment::statement_slot::{bad_handle, bad_transaction, unprepared};
use crate::execute::{ByColumns, ColumnRows};
use crate::expression::{ExecutionContext, Restart};
use crate::psql;
use crate::session::StatementState;
use crate::session::trace;

/// Rows that are fetched at a time where they do not come by columns: what is fetched is held in memory.
const ROWS_AT_A_TIME: usize = 200;

impl Attachment {
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
            let prepared = slot.prepared.as_ref().ok_or_else(unprepared)?;
            open.begin_again(prepared.routine(), &mut context)?;
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
